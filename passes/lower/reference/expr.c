/* expr.c - Translates expressions to double precision, with a bound on their rounding error.
 *
 * Each rule is |fl(x' op y') - x op y| <= (error that comes through the operands) + (rounding of
 * this operation), after Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 and 3.
 *  Values and bounds are named by lets, so that a program stays as long as its source. 
 * docs/verification.md lists the rules. */
#include <math.h>

#include "passes/lower/reference/reference.h"

enum { REGROUPED = 8 };

/* ---- small constructors -------------------------------------------------------------------- */

static Expr *pick(RefBuilder *b, Expr *cond, Expr *x, Expr *y)
{
    return expr_select(b->c, cond, x, y, span_none());
}

static Expr *magnitude(RefBuilder *b, Expr *x)
{
    return ref_call(b, CALL_ABS, x);
}

static Expr *times(RefBuilder *b, Expr *x, Expr *y)
{
    return !x || !y ? NULL : ref_op(b, EX_MUL, x, y);
}

/* The larger error; none if one of them is NaN, which `max` would drop. */
static Expr *larger(RefBuilder *b, Expr *x, Expr *y)
{
    if (!x || !y)
        return x ? x : y;
    Expr *numbers = ref_op(b, EX_LT, ref_op(b, EX_ADD, x, y), ref_float(b, INFINITY));
    return pick(b, numbers, ref_op(b, EX_MAX, x, y), ref_float(b, INFINITY));
}

static Expr *either(RefBuilder *b, Expr *x, Expr *y)
{
    return !x ? y : !y ? x : ref_op(b, EX_OR, x, y);
}

static Expr *zero_or(RefBuilder *b, Expr *x)
{
    return x ? x : ref_float(b, 0);
}

static Ref named(RefBuilder *b, Ref r)
{
    r.v = ref_let(b, r.v);
    r.err = ref_let(b, r.err);
    r.unsure = ref_let(b, r.unsure);
    return r;
}

/* ---- rounding ------------------------------------------------------------------------------ */

/* The unit roundoff of a type, and of the reference itself, which also rounds once. */
static double roundoff(DType type)
{
    return ldexp(1, -type_info(type)->digits) + 0x1p-53;
}

double ref_roundoff(DType type)
{
    return roundoff(type);
}

/* The roundoff of an operation of the program. The operands of an ordered combiner are partial
 * results of some grouping, which may be larger than those in the order of the program, so there
 * each operation may round more. */
static double roundoff_here(const RefBuilder *b, DType type)
{
    return (b->combining ? REGROUPED : 1) * roundoff(type);
}

/* Half the smallest number: what rounding loses where nothing is left to be relative to. Of f64
 * there is no half. */
static double underflow(DType type)
{
    return type == DT_F64 ? type_smallest(type) : type_smallest(type) / 2;
}

double ref_underflow(DType type)
{
    return underflow(type);
}

static Expr *is_zero(RefBuilder *b, Expr *err)
{
    return err ? ref_op(b, EX_EQ, err, ref_float(b, 0)) : NULL;
}

/* A result v that comes through its operands with error `err` and is then rounded. */
typedef struct {
    DType type;
    double u, eta; /* rounding: relative, and absolute where results are subnormal */
    Expr *v, *err;
    Expr *certain; /* when v is infinite or NaN: the device has the same; NULL: always */
} Rounding;

/* If v and its error exceed the largest value of the type, the device certainly has an infinity,
 * and so has the reference. */
static Expr *beyond_error(RefBuilder *b, const Rounding *r)
{
    double most = type_largest(r->type) * (1 + 2 * r->u);
    Expr *least = r->err ? ref_op(b, EX_SUB, magnitude(b, r->v), r->err) : magnitude(b, r->v);
    Expr *finite = ref_op(b, EX_LT, magnitude(b, r->v), ref_float(b, INFINITY));
    Expr *sure = r->certain ? r->certain : expr_true(b->c);
    if (type_info(r->type)->bits > 8)
        sure = pick(b, finite, ref_op(b, EX_GT, least, ref_float(b, most)), sure);
    else
        sure = ref_op(b, EX_AND, expr_unary(b->c, EX_NOT, finite, span_none()), sure);
    return pick(b, sure, ref_float(b, 0), ref_float(b, INFINITY));
}

/* The value with its error; none beyond the largest value of the type, where the device may have an
 * infinity. Programs that use infinities are checked more closely. A value whose error has no bound
 * stays what it is: other values follow from it, also subscripts. */
static Ref rounded(RefBuilder *b, const Rounding *r)
{
    Expr *most = ref_float(b, type_largest(r->type));
    Expr *size = ref_let(b, ref_add(b, magnitude(b, r->v), r->err));
    Expr *loss = ref_op(b, EX_MUL, ref_float(b, r->u), size);
    Expr *after = ref_add(b, ref_add(b, loss, ref_float(b, r->eta)), r->err);
    Expr *fits = ref_let(b, ref_op(b, EX_LE, size, most));
    if (!b->infinities)
        return (Ref){.v = r->v, .err = pick(b, fits, after, ref_float(b, INFINITY))};
    Expr *stays = r->err ? ref_op(b, EX_LE, magnitude(b, r->v), most) : fits;
    return (Ref){.v = pick(b, stays, r->v, ref_op(b, EX_MUL, r->v, ref_float(b, INFINITY))),
                 .err = pick(b, fits, after, beyond_error(b, r))};
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

static Expr *product_error(RefBuilder *b, Ref x, Ref y)
{
    Expr *through_y = y.err ? times(b, magnitude(b, x.v), y.err) : NULL;
    Expr *through_x = x.err ? times(b, x.err, ref_add(b, magnitude(b, y.v), y.err)) : NULL;
    return ref_add(b, through_y, through_x);
}

static Expr *quotient_error(RefBuilder *b, Expr *v, Ref x, Ref y)
{
    if (!x.err && !y.err)
        return NULL;
    Expr *top = ref_add(b, x.err, times(b, y.err ? magnitude(b, v) : NULL, y.err));
    if (!y.err)
        return ref_op(b, EX_DIV, top, magnitude(b, y.v));
    Expr *left = ref_let(b, ref_op(b, EX_SUB, magnitude(b, y.v), y.err));
    return pick(b, ref_op(b, EX_GT, left, ref_float(b, 0)), ref_op(b, EX_DIV, top, left),
                ref_float(b, INFINITY));
}

/* Integers that come from floats: sums and products carry their error, all else loses it. */
static Expr *integer_error(RefBuilder *b, ExprKind kind, Ref x, Ref y)
{
    if (!x.err && !y.err)
        return NULL;
    if (kind == EX_ADD || kind == EX_SUB)
        return ref_add(b, x.err, y.err);
    if (kind == EX_MIN || kind == EX_MAX)
        return larger(b, x.err, y.err);
    Expr *either_err = ref_add(b, x.err, y.err);
    return pick(b, ref_op(b, EX_GT, either_err, ref_float(b, 0)), ref_float(b, INFINITY),
                ref_float(b, 0));
}

static Ref compare(RefBuilder *b, ExprKind kind, Ref x, Ref y)
{
    Ref r = {.v = ref_op(b, kind, x.v, y.v)};
    Expr *err = ref_let(b, ref_add(b, x.err, y.err));
    if (x.v->type == DT_BOOL) {
        r.unsure = either(b, x.unsure, y.unsure);
    } else if (err) {
        Expr *distance = type_is_float(x.v->type)
                             ? ref_op(b, EX_SUB, x.v, y.v)
                             : ref_op(b, EX_SUB, expr_cast(b->c, DT_F64, x.v, span_none()),
                                      expr_cast(b->c, DT_F64, y.v, span_none()));
        /* Written so that a NaN counts as unsure, but where both are known. */
        Expr *apart = ref_op(b, EX_GT, magnitude(b, distance), err);
        r.unsure = expr_unary(b->c, EX_NOT, ref_op(b, EX_OR, apart, is_zero(b, err)), span_none());
    }
    return r;
}

/* The smaller (EX_LT) or larger (EX_GT) of two values. Where they are further apart than their
 * errors, the device takes the same one, with its error. */
static Expr *extremum_error(RefBuilder *b, ExprKind first, Ref x, Ref y)
{
    Expr *most = larger(b, x.err, y.err);
    if (!most)
        return NULL;
    Expr *distance = magnitude(b, ref_op(b, EX_SUB, x.v, y.v));
    Expr *sure = ref_op(b, EX_GT, distance, ref_add(b, x.err, y.err));
    Expr *its = pick(b, ref_op(b, first, x.v, y.v), zero_or(b, x.err), zero_or(b, y.err));
    return pick(b, sure, its, most);
}

/* The sign of a value is that of the device. */
static Expr *has_sign(RefBuilder *b, Ref x)
{
    return ref_op(b, EX_GT, magnitude(b, x.v), x.err ? x.err : ref_float(b, 0));
}

/* A product or quotient of an infinity: it is one where the signs are certain, as those of masked
 * scores are that a positive number scales. */
static Expr *stays_infinite(RefBuilder *b, const RefOperation *o)
{
    Expr *infinity = ref_float(b, INFINITY);
    Expr *infinite = ref_op(b, EX_EQ, magnitude(b, o->x.v), infinity);
    if (o->kind == EX_MUL)
        infinite = ref_op(b, EX_OR, infinite, ref_op(b, EX_EQ, magnitude(b, o->y.v), infinity));
    return ref_op(b, EX_AND, infinite, ref_op(b, EX_AND, has_sign(b, o->x), has_sign(b, o->y)));
}

/* A sum, difference, product or quotient v. */
static Ref rounded_binary(RefBuilder *b, const RefOperation *o, Expr *v)
{
    Rounding r = {
        .type = o->type, .u = roundoff_here(b, o->type), .eta = underflow(o->type), .v = v};
    Expr *both = ref_add(b, o->x.err, o->y.err);
    if (o->kind == EX_MUL)
        r.err = ref_let(b, product_error(b, o->x, o->y));
    else if (o->kind == EX_DIV)
        r.err = ref_let(b, quotient_error(b, v, o->x, o->y));
    else
        r.err = ref_let(b, both);
    if (both) /* an infinity stays one, whatever finite is added to it */
        r.certain = o->kind == EX_MUL || o->kind == EX_DIV || o->type == DT_F64
                        ? is_zero(b, both)
                        : ref_op(b, EX_LT, r.err, ref_float(b, INFINITY));
    if (both && (o->kind == EX_MUL || o->kind == EX_DIV))
        r.certain = ref_op(b, EX_OR, r.certain, stays_infinite(b, o));
    if (o->kind == EX_DIV) { /* by a zero, whose sign is not known */
        Expr *known = ref_op(b, EX_NE, o->y.v, ref_float(b, 0));
        r.certain = r.certain ? ref_op(b, EX_AND, r.certain, known) : known;
    }
    return rounded(b, &r);
}

Ref ref_binary(RefBuilder *b, const RefOperation *o, Span span)
{
    OpClass class = op_info(o->kind)->class;
    if (class == OP_COMPARE)
        return named(b, compare(b, o->kind, o->x, o->y));
    Ref r = {.v = expr_binary(b->c, o->kind, o->x.v, o->y.v, span)};
    if (r.v->type == DT_BOOL) {
        r.unsure = either(b, o->x.unsure, o->y.unsure);
        return named(b, r);
    }
    if (!type_is_float(o->type)) {
        r.err = integer_error(b, o->kind, o->x, o->y);
        return named(b, r);
    }
    r.v = ref_let(b, r.v);
    if (b->exact)
        return named(b, ref_exact_binary(b, o, r.v));
    if (o->kind == EX_MIN || o->kind == EX_MAX)
        r.err = extremum_error(b, o->kind == EX_MIN ? EX_LT : EX_GT, o->x, o->y);
    else
        r = rounded_binary(b, o, r.v);
    return named(b, r);
}

/* ---- functions ----------------------------------------------------------------------------- */

/* `good` where the argument is larger than its error, else no bound. */
static Expr *where_positive(RefBuilder *b, Expr *least, Expr *good)
{
    return pick(b, ref_op(b, EX_GT, least, ref_float(b, 0)), good, ref_float(b, INFINITY));
}

static Expr *scaled(RefBuilder *b, double by, Expr *e)
{
    return ref_op(b, EX_MUL, ref_float(b, by), e);
}

/* |tan(x +- e) - tan x| = (1 + t^2) tan e / (1 - |t| tan e) where e and that divisor are in (0,
 * 1). */
static Expr *tangent_error(RefBuilder *b, Expr *v, Expr *err)
{
    Expr *turn = ref_let(b, ref_call(b, CALL_TAN, err));
    Expr *least =
        ref_let(b, ref_op(b, EX_SUB, ref_float(b, 1), ref_op(b, EX_MUL, magnitude(b, v), turn)));
    Expr *slope = ref_op(b, EX_ADD, ref_float(b, 1), ref_op(b, EX_MUL, v, v));
    Expr *good = where_positive(b, least, ref_op(b, EX_DIV, ref_op(b, EX_MUL, slope, turn), least));
    return pick(b, ref_op(b, EX_LT, err, ref_float(b, 1)), good, ref_float(b, INFINITY));
}

/* |f(x +- e) - f(x)|, where f rounds: it does not decrease, so no more than from one end to the
 * other. */
static Expr *step_error(RefBuilder *b, CallKind call, Ref x)
{
    Expr *least = ref_let(b, ref_call(b, call, ref_op(b, EX_SUB, x.v, x.err)));
    Expr *largest = ref_let(b, ref_call(b, call, ref_op(b, EX_ADD, x.v, x.err)));
    Expr *range = ref_let(b, ref_op(b, EX_SUB, largest, least));
    return pick(b, ref_op(b, EX_EQ, largest, least), ref_float(b, 0),
                where_positive(b, range, range));
}

/* Error of f(x) that comes through an inexact x. */
static Expr *through_call(RefBuilder *b, CallKind call, Expr *v, Ref x)
{
    if (!x.err)
        return NULL;
    Expr *least = NULL, *one = ref_float(b, 1);
    switch (call) {
    case CALL_EXP:
    case CALL_EXP2:
    case CALL_FAST_EXP:
    case CALL_FAST_EXP2:
        return ref_op(b, EX_MUL, v, ref_op(b, EX_SUB, ref_call(b, call, x.err), one));
    case CALL_EXPM1: /* the derivative is v + 1 */
        return ref_op(b, EX_MUL, ref_op(b, EX_ADD, v, one), ref_call(b, call, x.err));
    case CALL_LOG1P:
        least = ref_let(b, ref_op(b, EX_SUB, ref_op(b, EX_ADD, x.v, one), x.err));
        return where_positive(b, least, ref_op(b, EX_DIV, x.err, least));
    case CALL_LOG:
    case CALL_LOG2:
    case CALL_LOG10:
        least = ref_let(b, ref_op(b, EX_SUB, x.v, x.err));
        return where_positive(
            b, least,
            scaled(b, call == CALL_LOG2 ? 1.4426950408889636 : 1, ref_op(b, EX_DIV, x.err, least)));
    case CALL_SQRT:
        least = ref_let(b, ref_op(b, EX_SUB, x.v, x.err));
        return pick(b, ref_op(b, EX_GT, least, ref_float(b, 0)),
                    ref_op(b, EX_DIV, scaled(b, 0.5, x.err), ref_call(b, CALL_SQRT, least)),
                    ref_call(b, CALL_SQRT, ref_op(b, EX_ADD, magnitude(b, x.v), x.err)));
    case CALL_RSQRT:
        least = ref_let(b, ref_op(b, EX_SUB, x.v, x.err));
        return where_positive(b, least,
                              ref_op(b, EX_DIV, scaled(b, 0.5, x.err),
                                     ref_op(b, EX_MUL, least, ref_call(b, CALL_SQRT, least))));
    case CALL_SIN:
    case CALL_COS:
    case CALL_TANH:
    case CALL_ABS: return x.err;
    case CALL_ERF: return scaled(b, 1.1283791670955126, x.err); /* 2 / sqrt(pi) */
    case CALL_TAN: return tangent_error(b, v, x.err);
    case CALL_TF32:
    case CALL_TF32_RZ: return step_error(b, call, x);
    default: /* steps */
        return pick(b,
                    ref_op(b, EX_EQ, ref_call(b, call, ref_op(b, EX_SUB, x.v, x.err)),
                           ref_call(b, call, ref_op(b, EX_ADD, x.v, x.err))),
                    ref_float(b, 0), ref_op(b, EX_ADD, x.err, one));
    }
}

/* The device takes 2 to the power of x log2(e), of which the constant and the product are rounded:
 * that is exp of an argument which is off by |x| times two roundoffs. */
static Ref fast_argument(RefBuilder *b, const Expr *e, Ref x)
{
    if (e->u.call.call == CALL_FAST_EXP && e->type != DT_F64)
        x.err = ref_let(b, ref_add(b, x.err, scaled(b, 2 * roundoff(DT_F32), magnitude(b, x.v))));
    return x;
}

/* |x'^y' - x^y| <= v (exp((|y| + ey) ex / (x - ex) + |log x| ey) - 1), for x > ex. */
static Expr *power_error(RefBuilder *b, Expr *v, Ref x, Ref y)
{
    if (!x.err && !y.err)
        return NULL;
    Expr *least = x.err ? ref_let(b, ref_op(b, EX_SUB, x.v, x.err)) : x.v;
    Expr *by_x = x.err ? ref_op(b, EX_MUL, ref_add(b, magnitude(b, y.v), y.err),
                                ref_op(b, EX_DIV, x.err, least))
                       : NULL;
    Expr *by_y = y.err ? ref_op(b, EX_MUL, magnitude(b, ref_call(b, CALL_LOG, x.v)), y.err) : NULL;
    Expr *factor =
        ref_op(b, EX_SUB, ref_call(b, CALL_EXP, ref_add(b, by_x, by_y)), ref_float(b, 1));
    return where_positive(b, least, ref_op(b, EX_MUL, magnitude(b, v), factor));
}

static Expr *through_many(RefBuilder *b, CallKind call, Expr *v, const Ref *arg)
{
    if (call == CALL_FMA)
        return ref_add(b, product_error(b, arg[0], arg[1]), arg[2].err);
    if (call == CALL_POW)
        return power_error(b, v, arg[0], arg[1]);
    if (call == CALL_MINIMUM || call == CALL_MAXIMUM)
        return extremum_error(b, call == CALL_MINIMUM ? EX_LT : EX_GT, arg[0], arg[1]);
    return arg[0].err || arg[1].err ? ref_float(b, INFINITY) : NULL;
}

static bool is_exact_call(CallKind call)
{
    return call == CALL_ABS || call == CALL_FLOOR || call == CALL_CEIL || call == CALL_ROUND ||
           call == CALL_TRUNC || call == CALL_FMOD || call == CALL_TF32 || call == CALL_TF32_RZ ||
           call == CALL_MINIMUM || call == CALL_MAXIMUM;
}

/* The value of a function. K ulp are at most 2 K unit roundoffs, of f32 for narrow types, which
 * then round once more. */
static Ref rounded_call(RefBuilder *b, const Expr *e, Expr *v, Expr *through, const Ref *arg)
{
    const CallInfo *info = call_info(e->u.call.call);
    DType computed = e->type == DT_F64 ? DT_F64 : DT_F32;
    double ulps = info->ulp ? 2 * info->ulp : 1;
    Rounding r = {.type = e->type,
                  .u = ulps * roundoff_here(b, computed) + 0x1p-52,
                  .eta = ulps * underflow(computed),
                  .v = v,
                  .err = through};
    if (call_flushes(e->u.call.call) && computed == DT_F32)
        r.eta = 0x1p-126;
    if (computed != e->type) {
        r.u += roundoff(e->type);
        r.eta += underflow(e->type);
    }
    Expr *err = NULL;
    for (int i = 0; i < info->arity; i++)
        err = ref_add(b, err, arg[i].err);
    r.certain = is_zero(b, err);
    return rounded(b, &r);
}

/* isnan and isinf are sure where the error has a bound. */
static Ref class_of_float(RefBuilder *b, const Expr *e)
{
    Ref x = ref_expr(b, e->u.call.arg[0]);
    Ref r = {.v = expr_call(b->c, e->u.call.call, &x.v, e->span)};
    if (x.err)
        r.unsure =
            expr_unary(b->c, EX_NOT, ref_op(b, EX_LT, x.err, ref_float(b, INFINITY)), e->span);
    return named(b, r);
}

/* popcount, clz, dp4a and bitcast: the bits of the arguments are known, or nothing is. */
static Ref bits_call(RefBuilder *b, const Expr *e)
{
    const Expr *first = e->u.call.arg[0];
    Expr *values[3], *known = NULL;
    for (int i = 0; i < call_info(e->u.call.call)->arity; i++) {
        Ref x = ref_expr(b, e->u.call.arg[i]);
        values[i] = type_is_float(first->type) ? expr_cast(b->c, first->type, x.v, e->span) : x.v;
        Expr *is = is_zero(b, x.err);
        known = !known || !is ? (known ? known : is) : ref_op(b, EX_AND, known, is);
    }
    Ref r = {.v = expr_call_like(b->c, e, values)};
    if (type_is_float(e->type))
        r.v = expr_cast(b->c, DT_F64, r.v, e->span);
    if (known)
        r.err = pick(b, known, ref_float(b, 0), ref_float(b, INFINITY));
    return named(b, r);
}

static Ref call(RefBuilder *b, const Expr *e)
{
    const CallInfo *info = call_info(e->u.call.call);
    Ref arg[3] = {{0}}, r = {0};
    Expr *values[3];
    if (info->gives == GIVES_BOOL)
        return class_of_float(b, e);
    if (info->takes != OF_FLOAT)
        return bits_call(b, e);
    for (int i = 0; i < info->arity; i++) {
        arg[i] = ref_expr(b, e->u.call.arg[i]);
        values[i] = arg[i].v;
    }
    r.v = ref_let(b, expr_call(b->c, e->u.call.call, values, e->span));
    if (b->exact)
        return named(b, ref_exact_call(b, e, r.v, arg));
    r.err = info->arity == 1 ? through_call(b, e->u.call.call, r.v, fast_argument(b, e, arg[0]))
                             : through_many(b, e->u.call.call, r.v, arg);
    if (!is_exact_call(e->u.call.call))
        r = rounded_call(b, e, r.v, ref_let(b, r.err), arg);
    return named(b, r);
}

/* ---- conversions --------------------------------------------------------------------------- */

/* v with error `err`, rounded to a narrower type. */
static Ref narrowed(RefBuilder *b, DType from, DType type, Expr *v, Expr *err)
{
    if (b->exact)
        return ref_exact_narrowed(b, from, type, v, err);
    Rounding r = {type, roundoff(type), underflow(type), v, err, is_zero(b, err)};
    return rounded(b, &r);
}

/* The error of a truth value as a number. */
static Expr *unsure_error(RefBuilder *b, Expr *unsure)
{
    return pick(b, unsure, ref_float(b, b->exact ? INFINITY : 1), ref_float(b, 0));
}

static int exact_bits(DType type)
{
    const TypeInfo *info = type_info(type);
    return info->class == CLASS_BOOL ? 1 : info->class == CLASS_UINT ? info->bits : info->bits - 1;
}

static Ref cast_to_float(RefBuilder *b, DType from, DType to, Ref x, Span span)
{
    Ref r = {.v = ref_let(b, type_is_float(from) ? x.v : expr_cast(b->c, DT_F64, x.v, span)),
             .err = x.err};
    if (from == DT_BOOL && x.unsure)
        r.err = unsure_error(b, x.unsure);
    bool exact = type_is_float(from) ? type_info(from)->digits <= type_info(to)->digits &&
                                           type_largest(from) <= type_largest(to) &&
                                           underflow(from) >= underflow(to)
                                     : exact_bits(from) <= type_info(to)->digits;
    if (!exact)
        r = narrowed(b, from, to, r.v, r.err);
    return named(b, r);
}

static Ref cast_to_int(RefBuilder *b, DType from, DType to, Ref x, Span span)
{
    Ref r = {.v = expr_cast(b->c, to, x.v, span)};
    if (from == DT_BOOL && x.unsure)
        r.err = unsure_error(b, x.unsure);
    if (!x.err)
        return named(b, r);
    Expr *same = type_is_float(from)
                     ? ref_op(b, EX_EQ, ref_call(b, CALL_TRUNC, ref_op(b, EX_SUB, x.v, x.err)),
                              ref_call(b, CALL_TRUNC, ref_op(b, EX_ADD, x.v, x.err)))
                     : ref_op(b, EX_EQ, x.err, ref_float(b, 0));
    bool wider = !type_is_float(from) && type_info(to)->bits >= type_info(from)->bits;
    Expr *bound = type_is_float(from) ? ref_op(b, EX_ADD, x.err, ref_float(b, 1))
                  : wider             ? x.err
                                      : ref_float(b, INFINITY);
    r.err = pick(b, same, ref_float(b, 0), bound);
    return named(b, r);
}

static Ref cast(RefBuilder *b, const Expr *e)
{
    DType from = e->u.arg[0]->type;
    Ref x = ref_expr(b, e->u.arg[0]);
    if (type_is_float(e->type))
        return cast_to_float(b, from, e->type, x, e->span);
    if (e->type != DT_BOOL)
        return cast_to_int(b, from, e->type, x, e->span);
    Ref r = {.v = expr_cast(b->c, DT_BOOL, x.v, e->span), .unsure = x.unsure};
    if (x.err)
        r.unsure = ref_op(b, EX_GT, x.err, ref_float(b, 0));
    return named(b, r);
}

/* ---- reads --------------------------------------------------------------------------------- */

Twin *ref_twin(RefBuilder *b, const Buffer *buffer)
{
    for (int i = 0; i < b->twins.n; i++)
        if (b->twins.items[i].from->id == buffer->id)
            return &b->twins.items[i];
    TIRC_BUG(b->c, "buffer '%s' has no twin", buffer->name);
}

static Expr *zero_of(RefBuilder *b, DType type)
{
    return expr_number(b->c, type, 0, span_none());
}

/* A load, under the condition that leads to it. */
static Expr *read(RefBuilder *b, Buffer *buffer, Expr *const *index, Span span)
{
    Expr *load = expr_load(b->c, buffer, index, span);
    if (b->path)
        load = pick(b, b->path, load, zero_of(b, buffer->type));
    return ref_let(b, load);
}

/* What an addition to an element loses, relative to the magnitudes that were added. Where sums keep
 * fewer digits than their type has, the rest of an operand is cut off, and that of the result. */
static double sum_roundoff(const Buffer *buffer)
{
    return buffer->digits.sums ? ldexp(1, 2 - buffer->digits.sums) + 0x1p-53
                               : roundoff(buffer->type);
}

/* n u |x|, which holds for every order of n additions, and every n. */
static Expr *sum_error(RefBuilder *b, const Buffer *buffer, Expr *abs, Expr *n)
{
    return ref_op(b, EX_MUL, scaled(b, sum_roundoff(buffer), n), abs);
}

/* What a product that keeps so many digits loses; an infinity may become NaN. */
static Expr *product_loss(RefBuilder *b, int digits, Expr *product)
{
    Expr *size = ref_let(b, magnitude(b, product));
    return pick(b, ref_op(b, EX_LT, size, ref_float(b, INFINITY)),
                scaled(b, ldexp(1, 1 - digits), size), ref_float(b, INFINITY));
}

/* Factors that are rounded to f16 are multiples of 2^-24 near 0. */
static Expr *factor_loss(RefBuilder *b, const RefOperation *product)
{
    Expr *sizes = ref_op(b, EX_ADD, magnitude(b, product->x.v), magnitude(b, product->y.v));
    return scaled(b, 0x1p-25, sizes);
}

Ref ref_term(RefBuilder *b, const Buffer *to, Expr *e)
{
    int digits = to->digits.products;
    if (!digits || e->kind != EX_MUL)
        return ref_expr(b, e);
    RefOperation product = {EX_MUL, e->type, ref_expr(b, e->u.arg[0]), ref_expr(b, e->u.arg[1])};
    Ref r = ref_binary(b, &product, e->span);
    if (b->exact)
        ref_exact_product(b, digits, &product, &r.err);
    else
        r.err = ref_add(b, r.err, product_loss(b, digits, r.v));
    if (!b->exact && digits <= 11)
        r.err = ref_add(b, r.err, factor_loss(b, &product));
    return named(b, r);
}

Ref ref_element(RefBuilder *b, const Twin *t, Expr *const *index, Span span)
{
    Ref r = {.v = read(b, t->value, index, span)};
    DType type = t->from->type;
    if (b->dry) {
        if (t->has_err || t->has_sum || t->has_unsure)
            r.err = ref_float(b, 1);
    } else {
        if (b->known == t)
            return named(b, r);
        r.err = t->err ? read(b, t->err, index, span) : NULL;
        if (t->abs) {
            Expr *abs = read(b, t->abs, index, span), *n = read(b, t->n, index, span);
            r.err =
                ref_add(b, r.err,
                        t->bits ? ref_exact_sum(b, t->from, abs, n, read(b, t->bits, index, span))
                                : sum_error(b, t->from, abs, n));
        }
        if (t->unsure) {
            Expr *zero = expr_index(b->c, 0);
            Expr *flag = read(b, t->unsure, &zero, span);
            r.err = ref_add(b, r.err,
                            pick(b, ref_op(b, EX_NE, flag, zero_of(b, DT_U8)),
                                 ref_float(b, INFINITY), ref_float(b, 0)));
        }
    }
    if (type == DT_BOOL && r.err) {
        r.unsure = ref_op(b, EX_GT, r.err, ref_float(b, 0));
        r.err = NULL;
    }
    return named(b, r);
}

Expr *ref_index(RefBuilder *b, const Buffer *buffer, Expr *const *index, Expr **out)
{
    Expr *unsure = NULL;
    for (int i = 0; i < buffer->rank; i++) {
        Ref at = ref_expr(b, index[i]);
        out[i] = at.v;
        if (at.err)
            unsure = either(b, unsure, ref_op(b, EX_GT, at.err, ref_float(b, 0)));
    }
    return ref_let(b, unsure);
}

static Ref load(RefBuilder *b, const Expr *e)
{
    Twin *t = ref_twin(b, e->u.load.buffer);
    Expr **index = ARENA_ARRAY(b->c->arena, Expr *, t->from->rank + 1);
    Expr *unsure = ref_index(b, t->from, e->u.load.index, index);
    Ref r = ref_element(b, t, index, e->span);
    if (type_is_float(t->from->type) && t->from->type != DT_F64 && t->value->type != DT_F64)
        r.v = ref_let(b, expr_cast(b->c, DT_F64, r.v, e->span));
    if (unsure && t->from->type == DT_BOOL)
        r.unsure = either(b, r.unsure, unsure);
    else if (unsure)
        r.err = ref_add(b, r.err, pick(b, unsure, ref_float(b, INFINITY), ref_float(b, 0)));
    return named(b, r);
}

/* ---- lazy operands ------------------------------------------------------------------------- */

static Ref under(RefBuilder *b, Expr *cond, Expr *e)
{
    Expr *outer = b->path;
    b->path = outer ? ref_let(b, ref_op(b, EX_AND, outer, cond)) : cond;
    Ref r = ref_expr(b, e);
    b->path = outer;
    return r;
}

static Ref logic(RefBuilder *b, const Expr *e)
{
    Ref x = ref_expr(b, e->u.arg[0]);
    Expr *cond = e->kind == EX_AND ? x.v : ref_let(b, expr_unary(b->c, EX_NOT, x.v, e->span));
    Ref y = under(b, cond, e->u.arg[1]);
    Ref r = {.v = ref_op(b, e->kind, x.v, y.v), .unsure = either(b, x.unsure, y.unsure)};
    return named(b, r);
}

static Ref selection(RefBuilder *b, const Expr *e)
{
    Ref cond = ref_expr(b, e->u.arg[0]);
    Ref x = under(b, cond.v, e->u.arg[1]);
    Ref y = under(b, ref_let(b, expr_unary(b->c, EX_NOT, cond.v, e->span)), e->u.arg[2]);
    Ref r = {.v = ref_let(b, pick(b, cond.v, x.v, y.v))};
    if (r.v->type == DT_BOOL) {
        r.unsure = either(b, cond.unsure, either(b, x.unsure, y.unsure));
        return named(b, r);
    }
    if (x.err || y.err)
        r.err = pick(b, cond.v, zero_or(b, x.err), zero_or(b, y.err));
    /* The device may have taken the other arm, which was not evaluated here if it is lazy. */
    if (cond.unsure) {
        bool known =
            !expr_has_load(e->u.arg[1]) && !expr_has_load(e->u.arg[2]) && type_is_float(e->type);
        known = known && !b->exact;
        Expr *apart =
            known ? ref_add(b, magnitude(b, ref_op(b, EX_SUB, x.v, y.v)), ref_add(b, x.err, y.err))
                  : ref_float(b, INFINITY);
        r.err = pick(b, cond.unsure, apart, zero_or(b, r.err));
    }
    return named(b, r);
}

/* ---- all of them --------------------------------------------------------------------------- */

static Ref unary(RefBuilder *b, const Expr *e)
{
    Ref x = ref_expr(b, e->u.arg[0]);
    Ref r = {.v = expr_unary(b->c, e->kind, x.v, e->span), .err = x.err, .unsure = x.unsure};
    if (e->kind == EX_BITNOT && x.err)
        r.err = integer_error(b, EX_BITXOR, x, x);
    return named(b, r);
}

/* x / y of integers where the path leads here, else 0. */
static Ref divide(RefBuilder *b, const Expr *e)
{
    Ref x = ref_expr(b, e->u.arg[0]), y = ref_expr(b, e->u.arg[1]);
    if (!b->path || type_is_float(e->type))
        return ref_binary(b, &(RefOperation){.kind = e->kind, .type = e->type, .x = x, .y = y},
                          e->span);
    Ref r = {.v = pick(b, b->path, ref_op(b, e->kind, x.v, y.v), zero_of(b, e->type)),
             .err = integer_error(b, e->kind, x, y)};
    return named(b, r);
}

static Ref variable(RefBuilder *b, Expr *e)
{
    for (int i = b->lets.n - 1; i >= 0; i--)
        if (b->lets.items[i].var == e->u.var)
            return (Ref){b->lets.items[i].value, e->type == DT_BOOL ? NULL : b->let_err.items[i],
                         e->type == DT_BOOL ? b->let_err.items[i] : NULL};
    if (type_is_float(e->type) && e->type != DT_F64)
        return (Ref){.v = ref_let(b, expr_cast(b->c, DT_F64, e, e->span))};
    return (Ref){.v = e};
}

Ref ref_expr(RefBuilder *b, Expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_AXIS: return (Ref){.v = e};
    case EX_FLOAT: return (Ref){.v = ref_float(b, e->u.f)};
    case EX_VAR: return variable(b, e);
    case EX_LOAD: return load(b, e);
    case EX_SELECT: return selection(b, e);
    case EX_CAST: return cast(b, e);
    case EX_CALL: return call(b, e);
    case EX_AND:
    case EX_OR: return logic(b, e);
    case EX_DIV:
    case EX_MOD: return divide(b, e);
    default: {
        if (expr_is_unary(e->kind))
            return unary(b, e);
        Ref x = ref_expr(b, e->u.arg[0]), y = ref_expr(b, e->u.arg[1]);
        return ref_binary(b, &(RefOperation){.kind = e->kind, .type = e->type, .x = x, .y = y},
                          e->span);
    }
    }
}
