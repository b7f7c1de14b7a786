/* recurrence.c - Bounds linear recurrences whose iterations a schedule may compose in any grouping.
 *
 *   s = a * s + o    =>    s_err = |a| s_err + max(local, e(a) s_abs + e(o) + eta (1 + s_abs)
 *                                                         + u |a| (s_abs + s_err))
 *                          s_abs = (1 + u) |a| s_abs + |o|          with |x| + e(x) for |x|
 *                          s_n += 1
 *
 * s_abs is the sum of the magnitudes of what all offsets have come to. Whatever is grouped, each of
 * them is multiplied once by each scale behind it, of which products may be made before. So s_err
 * gathers what products round, and additions round as those of a sum of s_n terms, s_n u s_abs. The
 * value of s in between does not count: where offsets cancel, it is smaller than what a grouping
 * adds up. `local` is what the expression of the program rounds for an exact s: a recurrence that
 * no step has taken apart is computed so. */
#include <math.h>

#include "passes/lower/reference/reference.h"

/* What is kept of the element that the store reads, and of its scale and offset. */
typedef struct {
    Expr *const *from;
    Ref scale, offset;
    Expr *local;     /* error of the value where that of the element is 0; NULL: none */
    Expr *abs, *err; /* of the element */
} Composed;

/* Values in between may be larger than what they add up to, so they all have to be in range. */
static void store_bounded(RefBuilder *b, Twin *t, const RefPlace *at, const Composed *f)
{
    DType type = t->from->type;
    double u = ref_roundoff(type);
    Expr *scale = ref_let(b, ref_size(b, f->scale));
    Expr *grown = ref_op(b, EX_MUL, scale, f->abs);
    Expr *through = ref_op(b, EX_MUL, scale, f->err);
    Expr *parts = f->offset.err;
    if (f->scale.err)
        parts = ref_add(b, parts, ref_op(b, EX_MUL, f->scale.err, f->abs));
    Expr *rounded =
        ref_op(b, EX_MUL, ref_float(b, u), ref_add(b, grown, ref_op(b, EX_MUL, scale, f->err)));
    Expr *tiny =
        ref_op(b, EX_MUL, ref_float(b, ref_underflow(type)), ref_add(b, ref_float(b, 1), f->abs));
    parts = ref_add(b, parts, ref_add(b, rounded, tiny));
    if (f->local)
        parts = ref_op(b, EX_MAX, parts, f->local);
    Expr *err = ref_add(b, through, parts);
    Expr *abs = ref_op(b, EX_MUL, ref_float(b, 1 + u), grown);
    abs = ref_let(b, f->offset.v ? ref_add(b, abs, ref_size(b, f->offset)) : abs);
    Expr *in_range = ref_op(b, EX_LE, abs, ref_float(b, type_largest(type)));
    ref_put(b, at, t->err, STORE_SET,
            expr_select(b->c, in_range, err, ref_float(b, INFINITY), at->span));
    ref_put(b, at, t->abs, STORE_SET, abs);
}

/* With scales of -1, 0 and 1, each grouping adds offsets or their negatives. */
static void store_exactly(RefBuilder *b, Twin *t, const RefPlace *at, const Composed *f)
{
    Context *c = b->c;
    Expr *square = ref_op(b, EX_MUL, f->scale.v, f->scale.v);
    Expr *is_sign = ref_op(b, EX_OR, ref_op(b, EX_EQ, square, ref_float(b, 0)),
                           ref_op(b, EX_EQ, square, ref_float(b, 1)));
    Expr *err = expr_select(c, is_sign, ref_float(b, 0), ref_float(b, INFINITY), at->span);
    err = ref_add(b, ref_add(b, f->err, err), ref_add(b, f->scale.err, f->offset.err));
    err = ref_add(b, err, f->local);
    Expr *bits = expr_load(c, t->bits, f->from, at->span);
    if (f->offset.v) {
        Expr *more = ref_exact_bits(b, f->offset.v, &err);
        bits = expr_binary(c, EX_BITOR, bits, more, at->span);
    }
    ref_put(b, at, t->err, STORE_SET, err);
    ref_put(b, at, t->bits, STORE_SET, bits);
    ref_put(b, at, t->abs, STORE_SET,
            f->offset.v ? ref_add(b, f->abs, ref_size(b, f->offset)) : f->abs);
}

void ref_store_composed(RefBuilder *b, Twin *t, const RefPlace *at, const RefFunction *function)
{
    Composed f = {.from = function->from, .scale = ref_expr(b, function->form->scale)};
    if (function->form->offset)
        f.offset = ref_expr(b, function->form->offset);
    b->known = t;
    Ref value = ref_expr(b, function->value);
    b->known = NULL;
    f.local = value.err;
    if (b->dry)
        return;
    f.abs = ref_let(b, expr_load(b->c, t->abs, f.from, at->span));
    f.err = ref_let(b, expr_load(b->c, t->err, f.from, at->span));
    Expr *terms = ref_let(b, expr_load(b->c, t->n, f.from, at->span));
    (b->exact ? store_exactly : store_bounded)(b, t, at, &f);
    ref_put(b, at, t->value, STORE_SET, value.v);
    ref_put(b, at, t->n, STORE_SET, ref_add(b, terms, ref_float(b, 1)));
}
