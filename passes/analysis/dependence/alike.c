/* alike.c - Decides whether two stores store one value wherever they store to one element.
 *
 *   for i in N {
 *       y[i, 0] = x[i, 0];        both are  y[r, c] = x[r, c]
 *       y[0, i] = x[0, i];
 *   }
 *
 * Such stores may change places: borders of a grid are often written in one loop, corners twice. */
#include "passes/analysis/dependence/model.h"

/* A number or a name that is the same in all iterations. */
static bool is_constant(const Expr *e)
{
    return e->kind == EX_INT || e->kind == EX_FLOAT ||
           (e->kind == EX_VAR && (e->u.var->kind == VAR_SIZE || e->u.var->kind == VAR_SCALAR));
}

/* The values of `a` at x and `b` at y are the same where the subscripts of x and y are. */
static bool same_value(const Access *x, const Expr *a, const Access *y, const Expr *b)
{
    for (int i = 0; i < x->buffer->rank; i++)
        if (expr_equal(a, x->index[i]) && expr_equal(b, y->index[i]))
            return true;
    if (is_constant(a) || is_constant(b))
        return expr_equal(a, b);
    int n = expr_operands(a);
    if (a->kind != b->kind || a->type != b->type || n == 0 || n != expr_operands(b))
        return false;
    if (a->kind == EX_LOAD &&
        (a->u.load.buffer->id != b->u.load.buffer->id || a->u.load.buffer->role != ROLE_IN))
        return false;
    if (a->kind == EX_CALL && a->u.call.call != b->u.call.call)
        return false;
    for (int i = 0; i < n; i++)
        if (!same_value(x, expr_operand(a, i), y, expr_operand(b, i)))
            return false;
    return true;
}

bool accesses_store_alike(const Access *x, const Access *y)
{
    return x->store && y->store && !x->reads && !y->reads && x->op == STORE_SET &&
           y->op == STORE_SET && same_value(x, x->store->u.store.value, y, y->store->u.store.value);
}
