/* whole.c - Decides whether a block runs exactly once for each value of its iterators' domains
 * (flow.h).
 *
 * Domains say what may run; loops with steps, with other bounds and under conditions run a part of
 * it, or something more than once. */
#include "passes/schedule/flow.h"

Stmt *flow_whole_nest(Schedule *s, const Stmt *stmt)
{
    Context *c = s->ctx;
    BlockStmt block = stmt->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, block.n_iters + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, block.n_iters + 1);
    for (int i = 0; i < block.n_iters; i++) {
        loops[i] = flow_loop(s, iters[i].var->name, expr_subst(c, iters[i].lo, map, i),
                             expr_subst(c, iters[i].hi, map, i));
        iters[i].binding = expr_var(c, loops[i].var, span_none());
        map[i] = (Subst){iters[i].var, iters[i].binding};
    }
    block.predicate = NULL;
    return stmt_in_loops(c, loops, block.n_iters, stmt_block(c, &block, stmt->span), stmt->span);
}

bool flow_runs_whole(Schedule *s, const Stmt *block, Conflict *why)
{
    return dependence_instances_kept(
        s->ctx, (Rewrite){s->kernel, s->kernel->body, flow_whole_nest(s, block)}, block->u.block.id,
        why);
}

bool flow_runs_once(Schedule *s, const Stmt *block, Conflict *why)
{
    return dependence_instances_kept(
        s->ctx, (Rewrite){s->kernel, flow_whole_nest(s, block), s->kernel->body}, block->u.block.id,
        why);
}
