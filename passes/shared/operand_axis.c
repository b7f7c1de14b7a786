/* operand_axis.c - Finds the loop, or the lanes, that go along an axis of an instruction's operand.
 *
 *   s[u * 8 + lane / 4, lane % 4 * 2 + v]      axis 0: loop u, 8 elements an iteration
 *                                              axis 1: loop v, 1 element
 *   s[lane / 4, lane % 4 * 2 + v]              axis 0: every 4 lanes, 1 element
 *
 * Such a step tells how far apart neighbours along the axis lie in the buffer of the operand. Lanes
 * are taken from 0 on: whether the others lie as these do is for unification to see. */
#include "passes/shared/unify.h"

static bool moves_alone(Context *c, Facts *facts, AxisStep *of)
{
    for (int k = 0; k < of->rank; k++) {
        int64_t by = 0;
        bool known = operand_axis_moves(c, facts, of->index[k], of->var, of->apart, &by);
        if (!known || (by != 0) != (k == of->axis))
            return false;
        of->factor = k == of->axis ? by : of->factor;
    }
    return true;
}

static bool find_loop(Context *c, Facts *facts, AxisStep *of)
{
    of->apart = 1;
    for (Cursor at = cursor_expr(c, of->index[of->axis]); cursor_next(&at);) {
        if (at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LOOP)
            continue;
        of->var = at.expr->u.var;
        if (moves_alone(c, facts, of))
            return true;
    }
    return false;
}

static bool find_lanes(Context *c, Facts *facts, AxisStep *of)
{
    of->var = of->lane;
    for (of->apart = 1; of->lane && of->apart < of->lanes; of->apart *= 2)
        if (moves_alone(c, facts, of))
            return true;
    return false;
}

bool operand_axis_step(Context *c, Facts *facts, AxisStep *of)
{
    return find_loop(c, facts, of) || find_lanes(c, facts, of);
}

/* The value of the expression where the variable is a number. */
static Expr *at_number(Context *c, Expr *e, const Var *var, int64_t number)
{
    Subst to = {(Var *)var, expr_index(c, number)};
    return expr_subst(c, e, &to, 1);
}

bool operand_axis_moves(Context *c, Facts *facts, Expr *e, const Var *var, int64_t apart,
                        int64_t *by)
{
    Expr *rest;
    if (apart == 1 && split_linear(facts, e, var, by, &rest))
        return true;
    Expr *from = at_number(c, e, var, 0), *to = at_number(c, e, var, apart);
    return var->kind != VAR_LOOP && expr_is_const(simplify(facts, index_sub(c, to, from)), by);
}
