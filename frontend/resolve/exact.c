/* exact.c - Takes arithmetic of typed integers for that of indices, where it does not wrap around.
 *
 *   2 * len[b] + 1    with len in 0..S + 1    =>    2 * index(len[b]) + 1    of an i32 `len`
 *
 * The analysis knows ranges of loops whose bounds are affine in indices. Each operation is proved
 * to have a result that its type holds, so that both are the same number. */
#include "frontend/resolve/internal.h"

/* The type holds each value of an INDEX expression. */
static bool holds(Facts *f, DType type, Expr *e)
{
    const TypeInfo *info = type_info(type);
    int64_t min, max;
    int digits = info->class == CLASS_UINT ? info->bits : info->bits - 1;
    int64_t end = INT64_C(1) << (digits < 62 ? digits : 62);
    int64_t least = info->class == CLASS_UINT ? 0 : -end;
    return bounds_const(f, e, &min, &max) && min >= least && max < end;
}

/* The operation gives one of its operands, or what is not larger than one. */
static bool stays_in_type(Facts *f, ExprKind kind, Expr *right)
{
    if (kind == EX_DIV || kind == EX_MOD)
        return prove_at_least(f, right, 1);
    return kind == EX_MIN || kind == EX_MAX;
}

static Expr *exact_operation(Facts *f, Context *c, Expr *e)
{
    Expr *a = expr_exact(f, c, e->u.arg[0]);
    Expr *b = a ? expr_exact(f, c, e->u.arg[1]) : NULL;
    if (!b)
        return NULL;
    bool stays = stays_in_type(f, e->kind, b);
    if (!stays && (e->kind == EX_DIV || e->kind == EX_MOD))
        return NULL;
    Expr *out = expr_binary(c, e->kind, a, b, e->span);
    return stays || holds(f, e->type, out) ? out : NULL;
}

Expr *expr_exact(Facts *f, Context *c, Expr *e)
{
    int64_t value;
    switch (e->kind) {
    case EX_INT: return expr_is_const(e, &value) ? expr_int(c, DT_INDEX, value, e->span) : NULL;
    case EX_LOAD: return expr_cast(c, DT_INDEX, e, e->span);
    case EX_CAST:
        return e->u.arg[0]->type == DT_INDEX && holds(f, e->type, e->u.arg[0]) ? e->u.arg[0] : NULL;
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX: return exact_operation(f, c, e);
    default: return NULL;
    }
}
