/* term_value.c - Evaluates a term where some of its elements are known (term_value.h).
 *
 * Floats are evaluated as long as they are small integers, infinities or NaN, so that no operation
 * rounds and the GPU computes the same. Other results are not known. Integers wrap around. */
#include "passes/schedule/blocks/term_value.h"

#include <math.h>

typedef struct {
    Context *c;
    ElementValue element;
    const void *user;
} Terms;

static Expr *value_of(const Terms *t, const Expr *e);

/* ---- literals -------------------------------------------------------------------------------- */

/* The low bits of an integer, as its type reads them. */
static Expr *integer(const Terms *t, DType type, uint64_t v)
{
    const TypeInfo *info = type_info(type);
    if (info->bits < 64) {
        uint64_t low = v & (((uint64_t)1 << info->bits) - 1);
        bool negative = info->class == CLASS_INT && low >> (info->bits - 1);
        v = negative ? low | ~(uint64_t)0 << info->bits : low;
    }
    return expr_int(t->c, type, (int64_t)v, span_none());
}

static Expr *truth(const Terms *t, bool holds)
{
    return expr_int(t->c, DT_BOOL, holds, span_none());
}

/* NULL where a type may round the number, or has no infinity or NaN, as those of 8 bits. */
static Expr *floating(const Terms *t, DType type, double v)
{
    enum { LARGEST = 8 };
    bool small = fabs(v) <= LARGEST && v == trunc(v);
    if (!small && !(!isfinite(v) && type_info(type)->bits > 8))
        return NULL;
    return expr_float(t->c, type, v, span_none());
}

static bool is_nan(const Expr *e)
{
    return e && e->kind == EX_FLOAT && isnan(e->u.f);
}

static bool is_number(const Expr *e, double v)
{
    return e &&
           ((e->kind == EX_INT && (double)e->u.i == v) || (e->kind == EX_FLOAT && e->u.f == v));
}

/* ---- operators ------------------------------------------------------------------------------- */

static Expr *float_binary(const Terms *t, const Expr *e, double x, double y)
{
    bool minus = signbit(x) && !signbit(y); /* -0 is less than +0, and NaN is ignored */
    bool less = isnan(y) || x < y || (x == y && minus),
         more = isnan(y) || x > y || (x == y && !minus);
    switch (e->kind) {
    case EX_ADD: return floating(t, e->type, x + y);
    case EX_SUB: return floating(t, e->type, x - y);
    case EX_MUL: return floating(t, e->type, x * y);
    case EX_DIV: return y != 0 && !isinf(y) ? floating(t, e->type, x / y) : NULL;
    case EX_MIN: return floating(t, e->type, less ? x : y);
    case EX_MAX: return floating(t, e->type, more ? x : y);
    default: return NULL;
    }
}

static Expr *int_binary(const Terms *t, const Expr *e, int64_t x, int64_t y)
{
    uint64_t u = (uint64_t)x, v = (uint64_t)y;
    bool is_signed = type_info(e->type)->class != CLASS_UINT;
    switch (e->kind) {
    case EX_ADD: return integer(t, e->type, u + v);
    case EX_SUB: return integer(t, e->type, u - v);
    case EX_MUL: return integer(t, e->type, u * v);
    case EX_MIN: return integer(t, e->type, (is_signed ? x < y : u < v) ? u : v);
    case EX_MAX: return integer(t, e->type, (is_signed ? x > y : u > v) ? u : v);
    case EX_BITAND:
    case EX_AND: return integer(t, e->type, u & v);
    case EX_BITOR:
    case EX_OR: return integer(t, e->type, u | v);
    case EX_BITXOR: return integer(t, e->type, u ^ v);
    default: return NULL;
    }
}

static Expr *comparison(const Terms *t, ExprKind kind, const Expr *a, const Expr *b)
{
    if (a->type == DT_U64)
        return NULL;
    if (is_nan(a) || is_nan(b))
        return truth(t, kind == EX_NE);
    bool is_float = a->kind == EX_FLOAT;
    bool less = is_float ? a->u.f < b->u.f : a->u.i < b->u.i;
    bool equal = is_float ? a->u.f == b->u.f : a->u.i == b->u.i;
    switch (kind) {
    case EX_LT: return truth(t, less);
    case EX_LE: return truth(t, less || equal);
    case EX_GT: return truth(t, !less && !equal);
    case EX_GE: return truth(t, !less);
    case EX_EQ: return truth(t, equal);
    default: return truth(t, !equal);
    }
}

/* The operand alone is the value, whatever the other one is: 0 that of a product of integers, but
 * of floats 0 times infinity is no number; NaN that of arithmetic; -inf the smaller of two
 * floats. */
static bool decides(ExprKind kind, const Expr *operand)
{
    if (!operand)
        return false;
    if (is_nan(operand))
        return kind == EX_ADD || kind == EX_SUB || kind == EX_MUL || kind == EX_DIV;
    switch (kind) {
    case EX_MUL:
    case EX_BITAND:
    case EX_AND: return operand->kind == EX_INT && operand->u.i == 0;
    case EX_OR: return operand->u.i != 0;
    case EX_MIN: return operand->kind == EX_FLOAT && is_number(operand, -INFINITY);
    case EX_MAX: return operand->kind == EX_FLOAT && is_number(operand, INFINITY);
    default: return false;
    }
}

static Expr *binary(const Terms *t, const Expr *e)
{
    Expr *a = value_of(t, e->u.arg[0]), *b = value_of(t, e->u.arg[1]);
    if (decides(e->kind, a) || decides(e->kind, b))
        return decides(e->kind, a) ? a : b;
    if (!a || !b)
        return NULL;
    if (op_info(e->kind)->class == OP_COMPARE)
        return comparison(t, e->kind, a, b);
    return a->kind == EX_FLOAT ? float_binary(t, e, a->u.f, b->u.f)
                               : int_binary(t, e, a->u.i, b->u.i);
}

static Expr *unary(const Terms *t, const Expr *e)
{
    const Expr *a = value_of(t, e->u.arg[0]);
    if (!a)
        return NULL;
    if (a->kind == EX_FLOAT)
        return floating(t, e->type, -a->u.f);
    uint64_t v = (uint64_t)a->u.i;
    return e->kind == EX_NOT ? truth(t, !v) : integer(t, e->type, e->kind == EX_NEG ? 0 - v : ~v);
}

/* Of floats that fit, so that no conversion rounds or meets an end of the type. */
static Expr *cast(const Terms *t, const Expr *e)
{
    const Expr *a = value_of(t, e->u.arg[0]);
    if (!a || (a->kind == EX_FLOAT && !type_is_float(e->type) && !isfinite(a->u.f)))
        return NULL;
    if (a->kind == EX_FLOAT)
        return type_is_float(e->type) ? floating(t, e->type, a->u.f)
                                      : integer(t, e->type, (uint64_t)(int64_t)a->u.f);
    if (type_is_float(e->type))
        return a->type == DT_U64 && a->u.i < 0 ? NULL : floating(t, e->type, (double)a->u.i);
    return e->type == DT_BOOL ? truth(t, a->u.i != 0) : integer(t, e->type, (uint64_t)a->u.i);
}

static Expr *choice(const Terms *t, const Expr *e)
{
    const Expr *where = value_of(t, e->u.arg[0]);
    if (where)
        return value_of(t, e->u.arg[where->u.i ? 1 : 2]);
    Expr *a = value_of(t, e->u.arg[1]), *b = value_of(t, e->u.arg[2]);
    return a && b && expr_equal(a, b) ? a : NULL;
}

static Expr *call(const Terms *t, const Expr *e)
{
    Expr *x = value_of(t, e->u.call.arg[0]);
    if (!x)
        return NULL;
    if (is_nan(x) && call_info(e->u.call.call)->arity == 1)
        return e->type == x->type ? x : NULL;
    if (call_is_power(e->u.call.call)) /* exp and the like */
        return is_number(x, -INFINITY) ? floating(t, e->type, 0)
               : is_number(x, 0)       ? floating(t, e->type, 1)
                                       : NULL;
    switch (e->u.call.call) {
    case CALL_ABS: return floating(t, e->type, fabs(x->u.f));
    case CALL_TF32:
    case CALL_TF32_RZ: return floating(t, e->type, x->u.f);
    case CALL_SQRT: return x->u.f < 0 ? NULL : floating(t, e->type, sqrt(x->u.f));
    case CALL_POPCOUNT:
        return integer(t, e->type,
                       (uint64_t)__builtin_popcountll(x->type == DT_I32 ? (uint32_t)x->u.i
                                                                        : (uint64_t)x->u.i));
    default: return NULL;
    }
}

static Expr *load(const Terms *t, const Expr *e)
{
    Expr *known = t->element(t->user, e);
    return known && known->kind == EX_FLOAT ? floating(t, e->type, known->u.f) : known;
}

static Expr *value_of(const Terms *t, const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return expr_int(t->c, e->type, e->u.i, e->span);
    case EX_FLOAT: return floating(t, e->type, e->u.f);
    case EX_LOAD: return load(t, e);
    case EX_VAR:
    case EX_AXIS: return NULL;
    case EX_SELECT: return choice(t, e);
    case EX_CAST: return cast(t, e);
    case EX_CALL: return call(t, e);
    default: return expr_is_unary(e->kind) ? unary(t, e) : binary(t, e);
    }
}

Expr *term_value(Context *c, const Expr *e, ElementValue element, const void *user)
{
    return value_of(&(Terms){c, element, user}, e);
}
