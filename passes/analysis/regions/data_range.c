/* data_range.c - Bounds what expressions compute from data, and tells which types have their
 * values. */
#include "passes/analysis/regions/data_range.h"

#include <math.h>

/* A float type has all whole numbers up to this. */
static int64_t largest_whole(DType type)
{
    return (int64_t)1 << type_info(type)->digits;
}

/* The bounds, if no result beyond them wraps around or rounds; else what the type says. */
static Bounds in_type(DType type, Bounds b)
{
    if (type_is_float(type)) {
        int64_t most = largest_whole(type);
        return bounds_are_finite(b) && b.min >= -most && b.max <= most ? b : bounds_none();
    }
    if (!type_is_int(type))
        return bounds_none();
    return bounds_are_finite(b) && type_holds(type, b.min) && type_holds(type, b.max)
               ? b
               : bounds_of_type(type);
}

static Bounds of_float(double value)
{
    bool whole = value == floor(value) && fabs(value) <= (double)largest_whole(DT_F64);
    return whole ? bounds_exactly((int64_t)value) : bounds_none();
}

/* `b` is a number of bits that an integer of 32 bits can be shifted by. */
static Bounds shifted(ExprKind kind, Bounds a, Bounds b)
{
    if (!bounds_are_exact(b) || b.min < 0 || b.min > 31 || !bounds_are_finite(a) || a.min < 0)
        return bounds_none();
    return kind == EX_SHL ? bounds_scale(a, (int64_t)1 << b.min)
                          : (Bounds){a.min >> b.min, a.max >> b.min};
}

static Bounds of_binary(const Expr *e)
{
    Bounds a = data_range(e->u.arg[0]), b = data_range(e->u.arg[1]);
    if (type_is_float(e->type) && !(bounds_are_finite(a) && bounds_are_finite(b)))
        return bounds_none(); /* NaN * 0 is not 0 */
    switch (e->kind) {
    case EX_ADD: return bounds_add(a, b);
    case EX_SUB: return bounds_add(a, bounds_scale(b, -1));
    case EX_MUL: return bounds_multiply(a, b);
    case EX_MIN:
    case EX_MAX: return bounds_minmax(e->kind, a, b);
    case EX_MOD: return bounds_remainder(a, b);
    case EX_BITAND:
    case EX_BITOR:
    case EX_BITXOR: return bounds_bits(e->kind, a, b);
    case EX_SHL:
    case EX_SHR: return shifted(e->kind, a, b);
    default: return bounds_none();
    }
}

Bounds data_range(const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return bounds_exactly(e->u.i);
    case EX_FLOAT: return of_float(e->u.f);
    case EX_CAST: return in_type(e->type, data_range(e->u.arg[0]));
    case EX_NEG: return in_type(e->type, bounds_scale(data_range(e->u.arg[0]), -1));
    case EX_SELECT: return bounds_join(data_range(e->u.arg[1]), data_range(e->u.arg[2]));
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_MIN:
    case EX_MAX:
    case EX_MOD:
    case EX_BITAND:
    case EX_BITOR:
    case EX_BITXOR:
    case EX_SHL:
    case EX_SHR: return in_type(e->type, of_binary(e));
    default: return in_type(e->type, bounds_none());
    }
}

bool float_is_not_negative(const Expr *e)
{
    switch (e->kind) {
    case EX_FLOAT: return e->u.f >= 0;
    case EX_INT: return e->u.i >= 0;
    case EX_VAR: return e->u.var->kind == VAR_SIZE;
    case EX_CAST: return float_is_not_negative(e->u.arg[0]);
    case EX_ADD:
    case EX_MUL:
    case EX_DIV:
        return type_is_float(e->type) && float_is_not_negative(e->u.arg[0]) &&
               float_is_not_negative(e->u.arg[1]);
    case EX_CALL:
        return e->u.call.call == CALL_SQRT || e->u.call.call == CALL_RSQRT ||
               e->u.call.call == CALL_EXP || e->u.call.call == CALL_EXP2;
    default: return false;
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

/* The float type has all digits and all exponents of the other one: the bits that are left for
 * them are those beside the digits. */
static bool is_within(DType narrow, DType wide)
{
    const TypeInfo *a = type_info(narrow), *b = type_info(wide);
    return a->digits <= b->digits && a->bits - a->digits <= b->bits - b->digits;
}

bool type_has_values(DType type, const Expr *e)
{
    Bounds b = data_range(e);
    if (e->type == type)
        return true;
    if (bounds_are_finite(b) && type_is_int(type))
        return type_is_int(e->type) && type_holds(type, b.min) && type_holds(type, b.max);
    if (!type_is_float(type))
        return false;
    if (bounds_are_finite(b) && -b.min <= largest_whole(type) && b.max <= largest_whole(type))
        return true;
    if (type_is_float(e->type) && is_within(e->type, type))
        return true;
    switch (e->kind) {
    case EX_CAST:
        return type_has_values(e->type, e->u.arg[0]) && type_has_values(type, e->u.arg[0]);
    case EX_NEG: return type_is_float(e->type) && type_has_values(type, e->u.arg[0]);
    case EX_SELECT: return type_has_values(type, e->u.arg[1]) && type_has_values(type, e->u.arg[2]);
    default: return false;
    }
}
