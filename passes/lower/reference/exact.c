/* exact.c - Decides which values are the same in every order of evaluation.
 *
 *   s[0] += x[i] * y[i];   =>   s[0] += r;               let r = f64(x[i]) * f64(y[i]);
 *                               s_err[0] += f64(f32(r)) == r ? 0.0 : inf;
 *                               s_abs[0] += abs(r);  s_bits[0] |= i64(r * 1048576.0);
 *
 * A value is known bit for bit where its operands are and where its operation rounds in one way
 * only. Operands in the combiner of a reducer never are: they are partial results of some order.
 * Elsewhere that holds for +, -, / and sqrt on known operands (IEEE 754 rounds them correctly, and
 * 53 digits hide a second rounding to 24 and fewer: Figueroa, When is double rounding innocuous?,
 * SIGNUM 1995), and for a product that is a number of its type, so that a fused multiply-add gives
 * the same.  A sum in any order is exact where all partial sums are numbers of its type: let every
 * term be a multiple of q; then so is every partial sum, and it is one where sum |t| <= 2^digits q,
 * for the digits that sums keep. Terms are gathered in fixed point; the lowest bit of them all is
 * q. */
#include <math.h>

#include "passes/lower/reference/reference.h"

/* Terms are multiples of 2^-20, below 2^42. */
enum { FRACTION_BITS = 20 };
#define LARGEST_FIXED 0x1p62

/* ---- small constructors -------------------------------------------------------------------- */

/* 0 where `good` holds, no bound elsewhere. */
static Expr *unless(RefBuilder *b, Expr *good)
{
    return expr_select(b->c, good, ref_float(b, 0), ref_float(b, INFINITY), span_none());
}

/* The value of the type that is nearest to v. */
static Expr *nearest(RefBuilder *b, DType type, Expr *v)
{
    if (type == DT_F64)
        return v;
    return ref_let(b, expr_cast(b->c, DT_F64, expr_cast(b->c, type, v, span_none()), span_none()));
}

/* ---- operations ---------------------------------------------------------------------------- */

/* Is the product x * y, which is v in f64, a number of the type? */
static Expr *product_is_exact(RefBuilder *b, DType type, Expr *v, Ref x, Ref y)
{
    if (type != DT_F64)
        return ref_op(b, EX_EQ, nearest(b, type, v), v);
    Expr *of[3] = {x.v, y.v, expr_unary(b->c, EX_NEG, v, span_none())};
    return ref_op(b, EX_EQ, expr_call(b->c, CALL_FMA, of, span_none()), ref_float(b, 0));
}

/* Beyond the largest value 8-bit types differ in what they do; an infinity of a wider one is a
 * value like others. */
static Expr *in_range(RefBuilder *b, DType type, Expr *v)
{
    if (type_info(type)->bits > 8)
        return NULL;
    return unless(b, ref_op(b, EX_LE, ref_call(b, CALL_ABS, v), ref_float(b, type_largest(type))));
}

Ref ref_exact_binary(RefBuilder *b, const RefOperation *o, Expr *v)
{
    Ref r = {.v = v, .err = ref_add(b, o->x.err, o->y.err)};
    if (o->kind == EX_MIN || o->kind == EX_MAX)
        return r;
    if (b->combining)
        return (Ref){.v = v, .err = ref_float(b, INFINITY)};
    if (o->kind == EX_MUL) {
        r.err = ref_add(b, r.err, unless(b, product_is_exact(b, o->type, v, o->x, o->y)));
        return r;
    }
    if (o->kind == EX_DIV) /* by a zero, whose sign is not known */
        r.err = ref_add(b, r.err, unless(b, ref_op(b, EX_NE, o->y.v, ref_float(b, 0))));
    r.v = nearest(b, o->type, v);
    r.err = ref_add(b, r.err, in_range(b, o->type, v));
    return r;
}

/* The condition under which CUDA documents the exact value of a function with an ulp bound; NULL:
 * never. */
static Expr *special_argument(RefBuilder *b, CallKind call, const Ref *arg)
{
    switch (call) {
    case CALL_EXP:
    case CALL_EXP2:
    case CALL_FAST_EXP:
    case CALL_FAST_EXP2:
    case CALL_EXPM1:
    case CALL_LOG1P:
    case CALL_SIN:
    case CALL_COS:
    case CALL_TAN:
    case CALL_TANH:
    case CALL_ERF: return ref_op(b, EX_EQ, arg[0].v, ref_float(b, 0));
    case CALL_LOG:
    case CALL_LOG2:
    case CALL_LOG10: return ref_op(b, EX_EQ, arg[0].v, ref_float(b, 1));
    case CALL_POW:
        return ref_op(b, EX_OR, ref_op(b, EX_EQ, arg[0].v, ref_float(b, 1)),
                      ref_op(b, EX_EQ, arg[1].v, ref_float(b, 0)));
    default: return NULL;
    }
}

/* exp(-inf) and its like */
static Expr *is_infinite(RefBuilder *b, CallKind call, Ref x)
{
    bool has_limit =
        call_is_power(call) || call == CALL_EXPM1 || call == CALL_TANH || call == CALL_ERF;
    return has_limit ? ref_op(b, EX_EQ, ref_call(b, CALL_ABS, x.v), ref_float(b, INFINITY)) : NULL;
}

Ref ref_exact_call(RefBuilder *b, const Expr *e, Expr *v, const Ref *arg)
{
    CallKind call = e->u.call.call;
    const CallInfo *info = call_info(call);
    Ref r = {.v = v};
    for (int i = 0; i < info->arity; i++)
        r.err = ref_add(b, r.err, arg[i].err);
    if (b->combining && (call == CALL_FMA || call == CALL_SQRT || call == CALL_TF32 ||
                         call == CALL_TF32_RZ || info->ulp != 0))
        return (Ref){.v = v, .err = ref_float(b, INFINITY)};
    if (call == CALL_FMA) {
        if (e->type != DT_F64)
            r.err = ref_add(b, r.err, unless(b, ref_op(b, EX_EQ, nearest(b, e->type, v), v)));
        return r;
    }
    if (info->ulp == 0) {
        r.v = nearest(b, e->type, v);
        return r;
    }
    Expr *known = special_argument(b, call, arg), *limit = is_infinite(b, call, arg[0]);
    if (limit)
        known = ref_op(b, EX_OR, known, limit);
    r.err = ref_add(b, r.err, known ? unless(b, known) : ref_float(b, INFINITY));
    return r;
}

Ref ref_exact_narrowed(RefBuilder *b, DType from, DType type, Expr *v, Expr *err)
{
    if (b->combining)
        return (Ref){.v = v, .err = ref_float(b, INFINITY)};
    Ref r = {.v = nearest(b, type, v), .err = err};
    Expr *largest = ref_float(b, type_largest(type));
    Expr *fits = ref_op(b, EX_OR, ref_op(b, EX_LE, ref_call(b, CALL_ABS, r.v), largest),
                        ref_op(b, EX_EQ, r.v, v));
    if (!type_is_float(from)) /* it is v rounded to 53 digits already */
        fits = ref_op(b, EX_LE, ref_call(b, CALL_ABS, v), ref_float(b, 0x1p53));
    r.err = ref_add(b, err, unless(b, fits));
    return r;
}

/* ---- sums ---------------------------------------------------------------------------------- */

Expr *ref_exact_bits(RefBuilder *b, Expr *term, Expr **err)
{
    Context *c = b->c;
    Expr *scaled = ref_let(b, ref_op(b, EX_MUL, term, ref_float(b, ldexp(1, FRACTION_BITS))));
    Expr *fits =
        ref_let(b, ref_op(b, EX_LT, ref_call(b, CALL_ABS, scaled), ref_float(b, LARGEST_FIXED)));
    Expr *inside = expr_select(c, fits, scaled, ref_float(b, 0), span_none());
    Expr *fixed = ref_let(b, expr_cast(c, DT_I64, inside, span_none()));
    Expr *same = ref_op(b, EX_EQ, expr_cast(c, DT_F64, fixed, span_none()), scaled);
    *err = ref_add(b, *err, unless(b, same));
    return fixed;
}

static Expr *lowest_bit(RefBuilder *b, Expr *fixed)
{
    return ref_op(b, EX_BITAND, fixed, expr_unary(b->c, EX_NEG, fixed, span_none()));
}

/* The factor has at most so many digits. */
static void bound_digits(RefBuilder *b, Expr *factor, int digits, Expr **err)
{
    Expr *fixed = ref_let(b, ref_exact_bits(b, factor, err));
    Expr *room = ref_op(b, EX_MUL, expr_cast(b->c, DT_F64, lowest_bit(b, fixed), span_none()),
                        ref_float(b, ldexp(1, digits)));
    Expr *size = ref_call(b, CALL_ABS, expr_cast(b->c, DT_F64, fixed, span_none()));
    *err = ref_add(b, *err, unless(b, ref_op(b, EX_LE, size, room)));
}

void ref_exact_product(RefBuilder *b, int digits, const RefOperation *o, Expr **err)
{
    int each = (digits + 3) / 2;
    bound_digits(b, o->x.v, each, err);
    bound_digits(b, o->y.v, each, err);
}

Expr *ref_exact_sum(RefBuilder *b, const Buffer *of, Expr *abs, Expr *n, Expr *bits)
{
    Context *c = b->c;
    Expr *lowest = lowest_bit(b, bits);
    double digits = ldexp(1, buffer_sum_digits(of) - FRACTION_BITS);
    Expr *room = ref_op(b, EX_MUL, expr_cast(c, DT_F64, lowest, span_none()), ref_float(b, digits));
    Expr *fits = ref_op(b, EX_AND, ref_op(b, EX_LE, abs, room),
                        ref_op(b, EX_LE, abs, ref_float(b, type_largest(of->type))));
    return unless(b, ref_op(b, EX_OR, ref_op(b, EX_EQ, n, ref_float(b, 0)), fits));
}
