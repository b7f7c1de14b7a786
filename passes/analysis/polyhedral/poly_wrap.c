/* poly_wrap.c - Translates sums of i32 values, which wrap around.
 *
 *   y[off[i] + l]    the i32 value is w == off[i] + l - 2^32 k for some k, and -2^31 <= w < 2^31
 *
 * The rows determine w, so they say all of the wrapping. They cost columns with large factors:
 * only kernels whose `where` clause states an order of an input use them, to relate places in
 * their rows. */
#include "passes/analysis/polyhedral/poly.h"

/* The i32 value that `exact` wraps to. */
static Affine wrap(Poly *p, Affine exact)
{
    Bounds type = bounds_of_type(DT_I32), range = affine_range(p, exact);
    if (range.min >= type.min && range.max <= type.max)
        return exact;
    Affine value = poly_free_column(p, type.min, type.max);
    Affine times = poly_free_column(p, INT64_MIN, INT64_MAX);
    poly_at_most(p, &p->top, affine_const(type.min), value, 0);
    poly_at_most(p, &p->top, value, affine_const(type.max), 0);
    poly_equal(p, &p->top, exact, poly_add(p, value, times, type.max - type.min + 1));
    p->inexact = true;
    return value;
}

Affine poly_wrapped(Poly *p, const Env *env, const Expr *e)
{
    Expr *const *arg = e->u.arg;
    switch (e->kind) {
    case EX_NEG: return wrap(p, poly_add(p, affine_const(0), poly_value(p, env, arg[0]), -1));
    case EX_ADD:
        return wrap(p, poly_add(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]), 1));
    case EX_SUB:
        return wrap(p, poly_add(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]), -1));
    case EX_CAST:
        return type_is_int(arg[0]->type) ? wrap(p, poly_value(p, env, arg[0])) : poly_unknown(p);
    default: return poly_unknown(p);
    }
}
