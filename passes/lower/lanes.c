/* lanes.c - Evaluates a condition for all lanes of an access at once.
 *
 *   for v in 4   x * 4 + v < 1000       all lanes agree: x * 4 < 1000
 *   for v in 4   x * 4 + v < 1001       all lanes pass where the last one does: x * 4 + 3 < 1001
 *
 * In the first case the access can always be wide; in the second there is an edge, where lanes run
 * one by one. */
#include "passes/lower/lanes.h"

static Expr *in_lane(const Lanes *l, Expr *cond, int64_t lane)
{
    Subst at = {l->var, expr_index(l->c, lane)};
    return simplify(l->facts, expr_subst(l->c, cond, &at, 1));
}

static bool compares(const Expr *cond)
{
    return (cond->kind == EX_LT || cond->kind == EX_LE || cond->kind == EX_GT ||
            cond->kind == EX_GE) &&
           cond->u.arg[0]->type == DT_INDEX;
}

/* side = coefficient * var + rest */
static bool linear(const Lanes *l, Expr *side, int64_t *coefficient, Expr **rest)
{
    return split_linear(l->facts, simplify(l->facts, expr_expand(l->c, side, l->lets)), l->var,
                        coefficient, rest);
}

/* cond is  coefficient * var + rest  op  bound  with an index comparison. */
static bool comparison(const Lanes *l, Expr *cond, int64_t *coefficient, Expr **rest)
{
    return compares(cond) && !expr_uses_var(cond->u.arg[1], l->var) &&
           linear(l, cond->u.arg[0], coefficient, rest);
}

/* v + rest < bound, where rest and bound are multiples of the number of lanes. */
static bool same_for_all(const Lanes *l, Expr *cond)
{
    int64_t coefficient;
    Expr *rest, *bound = cond->u.arg[1];
    if (!comparison(l, cond, &coefficient, &rest) || coefficient != 1)
        return false;
    if (cond->kind == EX_LE || cond->kind == EX_GT)
        bound = index_add(l->c, bound, expr_index(l->c, 1));
    return prove_divisible(l->facts, simplify(l->facts, rest), l->count) &&
           prove_divisible(l->facts, simplify(l->facts, expr_expand(l->c, bound, l->lets)),
                           l->count);
}

Expr *lanes_agree(const Lanes *l, Expr *cond)
{
    if (!expr_uses_var(cond, l->var))
        return cond;
    if (cond->kind == EX_AND || cond->kind == EX_OR) {
        Expr *a = lanes_agree(l, cond->u.arg[0]), *b = a ? lanes_agree(l, cond->u.arg[1]) : NULL;
        return b ? expr_binary(l->c, cond->kind, a, b, cond->span) : NULL;
    }
    return same_for_all(l, cond) ? in_lane(l, cond, 0) : NULL;
}

Expr *lanes_all(const Lanes *l, Expr *cond)
{
    int64_t left, right;
    Expr *rest;
    if (!expr_uses_var(cond, l->var))
        return cond;
    if (cond->kind == EX_AND) {
        Expr *a = lanes_all(l, cond->u.arg[0]), *b = a ? lanes_all(l, cond->u.arg[1]) : NULL;
        return b ? expr_binary(l->c, EX_AND, a, b, cond->span) : NULL;
    }
    if (!compares(cond) || !linear(l, cond->u.arg[0], &left, &rest) ||
        !linear(l, cond->u.arg[1], &right, &rest))
        return NULL;
    bool above = cond->kind == EX_LT || cond->kind == EX_LE;
    return in_lane(l, cond, above == (left > right) ? l->count - 1 : 0);
}
