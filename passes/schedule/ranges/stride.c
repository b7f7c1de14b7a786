/* stride.c - Finds which iterations of a loop change anything, and implements the query stride.
 *
 *   y[i] += (i + 1 - k) % 2 == 0 ? x[(i + 1 - k) / 2] * w[k] : 0.0
 *
 * For one i every second k adds 0, and for one k every second i. The other value of the selection
 * is the identity of the reduction, so these iterations may be left out. That is exact: a product
 * of 0 and an element is no identity, since the element may be infinite.
 *
 * Legal: always.
 * Invariant: the kernel stays as it is. */
#include "passes/schedule/ranges/stride.h"

#include "passes/analysis/regions/reducer.h"

/* The conditions without which the block updates nothing, or adds the identity. */
static ExprList conditions_of(Context *c, const BlockStmt *block)
{
    Reducer r;
    ExprList conditions = {0};
    if (!reducer_of_block(c, block, &r))
        return conditions;
    if (r.guard)
        expr_chain(c, r.guard, EX_AND, &conditions);
    Expr *value = r.parts[0].written;
    if (r.n == 1 && value->kind == EX_SELECT && expr_equal(value->u.arg[2], r.parts[0].identity))
        expr_chain(c, value->u.arg[0], EX_AND, &conditions);
    return conditions;
}

bool stride_of(Schedule *s, const StmtPath *path, const Var *loop, Congruence *out)
{
    const BlockStmt *block = &path_end(path)->u.block;
    ExprList conditions = conditions_of(s->ctx, block);
    Facts *facts = sched_facts(s, path);
    for (int i = 0; i < conditions.n; i++)
        if (congruence_of(facts, iters_to_loops(s->ctx, block, conditions.items[i]), loop, out) &&
            out->factor != 0)
            return true;
    return false;
}

bool prim_stride(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Congruence which;
    sched_node(s, &call->stride.block, &path);
    const ForStmt *loop = &sched_node(s, &call->stride.loop, NULL)->u.loop;
    bool strided = loop->step == 1 && stride_of(s, &path, loop->var, &which);
    *result = value_int(strided ? congruence_stride(&which) : 1);
    return true;
}
