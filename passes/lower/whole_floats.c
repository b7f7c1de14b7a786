/* whole_floats.c - Pass convert_whole: turns integers of few values into floats without
 * conversions.
 *
 *   f32((q & 15) - 8)   =>   bitcast(f32, u32((q & 15) - 8) + 8 | 0x4b000000) - 8388616.0
 *
 * A multiprocessor starts 16 conversions in a cycle, and many more of these operations. The last
 * 23 bits of a float from 2^23 on are a whole number, here 8 more than the value. Bytes become
 * floats in a like way when the text is emitted (codegen/cuda/int.c).
 *
 * Invariant: the value is that of the conversion, bit for bit. */
#include "passes/analysis/regions/data_range.h"
#include "passes/lower/pass.h"

enum { WHOLE_BITS = 23 };                   /* that follow the exponent of a float */
static const int64_t exponent = 0x4b000000; /* of 2^23 */

/* An integer of 32 bits at most, of fewer than 2^23 values and more than one, and no byte. */
static bool has_few_values(const Expr *e, Bounds b)
{
    return type_is_int(e->type) && e->type != DT_INDEX && !type_is_byte(e->type) &&
           type_info(e->type)->bits <= 32 && bounds_are_finite(b) && b.min < b.max &&
           b.max < (int64_t)1 << WHOLE_BITS && b.min > -((int64_t)1 << WHOLE_BITS) &&
           b.max - b.min < (int64_t)1 << WHOLE_BITS;
}

static Expr *as_float(Context *c, Expr *e, int64_t below)
{
    Span span = e->span;
    Expr *number = e->type == DT_U32 ? e : expr_cast(c, DT_U32, e, span);
    if (below > 0)
        number = expr_binary(c, EX_ADD, number, expr_int(c, DT_U32, below, span), span);
    Expr *bits = expr_binary(c, EX_BITOR, number, expr_int(c, DT_U32, exponent, span), span);
    double above = (double)(((int64_t)1 << WHOLE_BITS) + below);
    return expr_binary(c, EX_SUB, expr_bitcast(c, DT_F32, bits, span),
                       expr_float(c, DT_F32, above, span), span);
}

static Expr *convert(Rewriter *r, Expr *e)
{
    if (e->kind != EX_CAST || (e->type != DT_F32 && e->type != DT_F16 && e->type != DT_BF16))
        return e;
    Expr *from = e->u.arg[0];
    Bounds b = data_range(from);
    if (!has_few_values(from, b))
        return e;
    Expr *value = as_float(r->ctx, from, b.min < 0 ? -b.min : 0);
    return e->type == DT_F32 ? value : expr_cast(r->ctx, e->type, value, e->span);
}

Kernel *pass_convert_whole(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Rewriter r = {.ctx = c, .expr = convert};
    return kernel_with_body(c, kernel, rewrite_stmt(&r, kernel->body));
}
