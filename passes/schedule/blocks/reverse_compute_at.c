/* reverse_compute_at.c - reverse_compute_at: a block does, in an iteration of a loop, what it can
 * do with what is made there.
 *
 *   for io in N / 32                                    for io in N / 32
 *       for ii in 32                                        for ii in 32
 *           block B: b[io * 32 + ii] = ...          =>          block B: b[io * 32 + ii] = ...
 *   block C: c[i] = f(b[i])  (i in N)                       for ax0 in 32
 *                                                               block C: c[io * 32 + ax0] = f(b[io * 32 +
 * ax0]) */
#include "passes/analysis/inits.h"
#include "passes/schedule/blocks/place.h"
#include "passes/schedule/copies/stage.h"

/* A buffer that the block reads at its iterators alone and that is written under the loop; axis_of
 * filled in. */
static const Buffer *made_under(Schedule *s, Stmt *block, Stmt *loop, int *axis_of)
{
    AccessList reads = {0};
    int n = block->u.block.n_iters;
    access_collect(s->ctx, block, NULL, ACCESS_READ, &reads);
    for (int r = 0; r < reads.n; r++) {
        const Buffer *b = reads.items[r].buffer;
        int *axes = ARENA_ARRAY(s->ctx->arena, int, b->rank + 1);
        if (!stmt_touches(loop, b, ACCESS_WRITE) ||
            !flow_pure_index(&block->u.block, b, reads.items[r].index, axes))
            continue;
        for (int i = 0; i < n; i++)
            axis_of[i] = -1;
        for (int axis = 0; axis < b->rank; axis++)
            axis_of[axes[axis]] = axis;
        return b;
    }
    return NULL;
}

/* An init runs for elements without any update, too, which no instance of the block stands for:
 * where there may be some among others, it is not known that the loops of the new place go through
 * them. */
static bool inits_are_kept(Schedule *s, const PrimCall *call, const BlockStmt *block)
{
    const BlockIter *empty = block->init ? reduction_empty_for_some(s->ctx, block) : NULL;
    REQUIRE(s, E0456, call->reverse_compute_at.block.span, !empty,
            "some elements of block '%s' may have no value of '%s' to reduce, only an init, and "
            "whether that runs under the loop is not known; use decompose_reduction first",
            block->name, empty->var->name);
    return true;
}

/* `e` speaks of a loop that is not on the path. */
static bool uses_other_loop(Context *c, const Expr *e, const StmtPath *path)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        bool on_path = at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LOOP;
        for (int i = 0; i < path->n && !on_path; i++)
            on_path =
                path->items[i]->kind == ST_FOR && path->items[i]->u.loop.var == at.expr->u.var;
        if (!on_path)
            return true;
    }
    return false;
}

/* The condition under which the one writer of the buffer under the loop runs, where the loops on
 * the path decide it; NULL: none. An iteration that makes nothing has nothing to consume. */
static Expr *producer_condition(Schedule *s, const StmtPath *target, const Buffer *buffer)
{
    BlockList writers = {0};
    flow_blocks(s, target->items[target->n - 1], buffer, ACCESS_WRITE, &writers);
    Expr *cond = writers.n == 1 ? writers.items[0]->u.block.predicate : NULL;
    return cond && uses_other_loop(s->ctx, cond, target) ? NULL : cond;
}

static Stmt *under_condition(Schedule *s, Stmt *nest, Expr *cond)
{
    Stmt *old = stmt_nest_block(nest);
    BlockStmt block = old->u.block;
    block.predicate = cond_and(s->ctx, block.predicate, cond);
    return stmt_replace(s->ctx, nest, old, stmt_block(s->ctx, &block, old->span));
}

static bool runs_as_before(Schedule *s, const Stmt *block, Stmt *body, Conflict *why)
{
    return dependence_instances_kept(s->ctx, s->kernel, s->kernel->body, body, block->u.block.id,
                                     why) &&
           dependence_order_kept(s->ctx, s->kernel, s->kernel->body, body, &s->reassociates, why);
}

bool prim_reverse_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, target = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->reverse_compute_at.block, &path);
    Stmt *loop = sched_loop(s, &call->reverse_compute_at.loop, &target);
    const Stmt *seq;
    Conflict why;
    int block_item = 0, loop_item = 0;
    if (!place_sequence(s, call, &path, &target, &seq, &block_item, &loop_item) ||
        !place_own_loops_plain(s, call, &path, flow_common(&path, &target)))
        return false;
    REQUIRE(s, E0450, call->reverse_compute_at.loop.span, block_item > loop_item,
            "loop '%s' runs after block '%s' in the program", loop->u.loop.var->name,
            block->u.block.name);
    if (!inits_are_kept(s, call, &block->u.block))
        return false;
    int *axis_of = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    const Buffer *buffer = made_under(s, block, loop, axis_of);
    REQUIRE(s, E0453, call->reverse_compute_at.loop.span, buffer != NULL,
            "block '%s' reads nothing at its iterators alone that loop '%s' writes, so what it "
            "could do in one iteration is not known",
            block->u.block.name, loop->u.loop.var->name);
    Facts *facts = sched_facts(s, &target);
    facts_enter(facts, loop);
    Interval *box = ARENA_ARRAY(c->arena, Interval, buffer->rank + 1);
    REQUIRE(
        s, E0455, call->reverse_compute_at.loop.span,
        region_reached(facts, loop->u.loop.body, buffer, ACCESS_WRITE, 0, box),
        "the part of '%s' that one iteration of loop '%s' writes has no bounds that tirc can find",
        buffer->name, loop->u.loop.var->name);

    Stmt *nest = place_nest(s, facts, &target, block, axis_of, &(Part){.box = box});
    Stmt *body = place_after_writers(s, block, loop, buffer, nest);
    Expr *cond = producer_condition(s, &target, buffer);
    bool kept = runs_as_before(s, block, body, &why);
    if (!kept && cond) {
        nest = under_condition(s, nest, cond);
        body = place_after_writers(s, block, loop, buffer, nest);
        kept = runs_as_before(s, block, body, &why);
    }
    if (!kept) {
        sched_refuse(s, E0456, call->reverse_compute_at.loop.span,
                     "under loop '%s', block '%s' would not do what it does now: %s",
                     loop->u.loop.var->name, block->u.block.name, why.reason);
        sched_note_conflict(s, &why);
        return false;
    }
    (void)result;
    return place_finish(s, call, loop, body);
}
