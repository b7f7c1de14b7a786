/* affine_bounds.c - Says which expressions the bounds of loops may be.
 *
 * The analysis knows which iterations there are only where bounds are piecewise affine, so programs
 * and steps have no others. */
#include "passes/analysis/regions/affine_bounds.h"

static bool is_size(const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return true;
    case EX_VAR: return e->u.var->kind == VAR_SIZE;
    case EX_NEG: return is_size(e->u.arg[0]);
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX: return is_size(e->u.arg[0]) && is_size(e->u.arg[1]);
    default: return false;
    }
}

/* An integer of an input, at a place that no data decide. */
static bool is_given(const Expr *e)
{
    const Buffer *buffer = e->u.load.buffer;
    bool given = type_is_int(e->type) && buffer_defined(buffer)->role == ROLE_IN;
    for (int i = 0; i < buffer->rank; i++)
        given = given && !expr_has_load(e->u.load.index[i]) && expr_is_affine(e->u.load.index[i]);
    return given;
}

bool expr_is_affine(const Expr *e)
{
    const Expr *a = expr_arity(e->kind) > 0 ? e->u.arg[0] : NULL;
    const Expr *b = expr_arity(e->kind) > 1 ? e->u.arg[1] : NULL;
    switch (e->kind) {
    case EX_INT: return true;
    case EX_VAR: return e->u.var->kind != VAR_SCALAR && e->u.var->kind != VAR_LET;
    case EX_LOAD: return is_given(e);
    case EX_CAST: return a->kind == EX_LOAD && is_given(a);
    case EX_NEG: return expr_is_affine(a);
    case EX_ADD:
    case EX_SUB:
    case EX_MIN:
    case EX_MAX: return expr_is_affine(a) && expr_is_affine(b);
    case EX_MUL: return (is_size(a) && expr_is_affine(b)) || (expr_is_affine(a) && is_size(b));
    case EX_DIV:
    case EX_MOD: return expr_is_affine(a) && is_size(b);
    default: return false;
    }
}
