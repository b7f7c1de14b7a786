/* compute_at.c - compute_at: a block computes what its readers need in an iteration of a loop,
 * there.
 *
 *   block B: b[i] = f(a[i])  (i in N)                   for io in N / 32
 *   for io in N / 32                                        for ax0 in 32
 *       for ii in 32                                =>          block B: b[io * 32 + ax0] = f(a[io * 32 + ax0])
 *           block C: c[..] = b[io * 32 + ii]                for ii in 32
 *                                                               block C: c[..] = b[io * 32 + ii] */
#include "passes/analysis/inits.h"
#include "passes/schedule/blocks/place.h"
#include "passes/schedule/copies/stage.h"

/* Registers hold only what is read: a wide access of memory may as well bring more, and threads
 * share their copies by boxes. */
static Part part_read(Schedule *s, Facts *facts, Stmt *loop, const Buffer *buffer, Interval *box)
{
    Part part = {box, ARENA_ARRAY(s->ctx->arena, Run, buffer->rank * REGION_RUNS + 1),
                 ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1)};
    for (int axis = 0; axis < buffer->rank && buffer->scope == SCOPE_LOCAL; axis++)
        part.n_runs[axis] = region_runs(facts, loop->u.loop.body, buffer, ACCESS_READ, axis,
                                        &box[axis], &part.runs[axis * REGION_RUNS]);
    return part;
}

static bool is_recomputable(Schedule *s, const PrimCall *call, Stmt *block, const Stmt *store,
                            const Buffer *buffer)
{
    Span span = call->compute_at.block.span;
    BlockList writers = {0};
    REQUIRE(s, E0452, span, buffer->role == ROLE_TEMP,
            "'%s' is an output, which must be written whole and once; only a producer of a temp "
            "can be computed piece by piece",
            buffer->name);
    flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE, &writers);
    REQUIRE(s, E0452, span, writers.n == 1,
            "'%s' is also written by block '%s', so block '%s' alone does not make its values",
            buffer->name, writers.items[writers.items[0] == block]->u.block.name,
            block->u.block.name);
    REQUIRE(s, E0452, span, flow_starts_anew(s->ctx, block, store, buffer),
            "block '%s' continues from what '%s' held before, so running it again would change the "
            "result; give the reduction its start (%s[...] = 0) in the same loops",
            block->u.block.name, buffer->name, buffer->name);
    return true;
}

static bool consumers_are_under(Schedule *s, const PrimCall *call, const Buffer *buffer,
                                const Stmt *loop)
{
    BlockList readers = {0}, under = {0};
    flow_blocks(s, s->kernel->body, buffer, ACCESS_READ, &readers);
    flow_blocks(s, (Stmt *)loop, buffer, ACCESS_READ, &under);
    REQUIRE(s, E0453, call->compute_at.loop.span, under.n > 0,
            "nothing under loop '%s' reads '%s'; name a loop around a block that does",
            loop->u.loop.var->name, buffer->name);
    for (int i = 0; i < readers.n; i++) {
        bool found = flow_single_store(readers.items[i]) &&
                     flow_single_store(readers.items[i])->u.store.buffer->id == buffer->id;
        for (int u = 0; u < under.n; u++)
            found |= under.items[u] == readers.items[i];
        if (found)
            continue;
        sched_refuse(s, E0453, call->compute_at.loop.span,
                     "block '%s' reads '%s' too, but stands outside loop '%s', where '%s' would "
                     "not be complete; choose a loop around all its readers",
                     readers.items[i]->u.block.name, buffer->name, loop->u.loop.var->name,
                     buffer->name);
        sched_note_at(s, readers.items[i], "it is read here");
        return false;
    }
    return true;
}

/* A reduction under the loop whose init reads the buffer and runs before the loop; NULL if there is
 * none. */
static const Stmt *init_before(Schedule *s, const Buffer *buffer, const Stmt *loop)
{
    for (Cursor at = cursor_outer(s->ctx, loop->u.loop.body); cursor_next(&at);) {
        StmtPath path = {0};
        int place = 0;
        if (at.stmt->kind != ST_BLOCK || !at.stmt->u.block.init ||
            !stmt_touches(at.stmt->u.block.init, buffer, ACCESS_READ))
            continue;
        state_path(s, at.stmt->u.block.id, &path);
        while (path.items[place] != loop)
            place++;
        if (reduction_start(s->ctx, &path) <= place)
            return at.stmt;
    }
    return NULL;
}

/* What an init reads must be there before the reduction's loops begin. */
static bool inits_come_after(Schedule *s, const PrimCall *call, const Buffer *buffer, Stmt *loop)
{
    const Stmt *block = init_before(s, buffer, loop);
    REQUIRE(s, E0458, call->compute_at.loop.span, !block,
            "the init of block '%s' reads '%s', and it runs before the loops of its reduction, of "
            "which loop '%s' is one or stands inside of one; choose a loop further out, or use "
            "decompose_reduction first",
            block->u.block.name, buffer->name, loop->u.loop.var->name);
    return true;
}

/* In an iteration of the loops around both, the block computes nothing that it did not compute
 * there before: what it reads may not be made yet. */
static bool runs_no_more(Schedule *s, const PrimCall *call, const StmtPath *path, int common,
                         Stmt *body)
{
    const Stmt *block = path->items[path->n - 1];
    Stmt *before = s->kernel->body, *after = body;
    StmtPath now = {0};
    for (int i = 0; i < common; i++)
        if (path->items[i]->kind == ST_FOR &&
            stmt_find(s->ctx, body, path->items[i]->u.loop.id, &now)) {
            before = path->items[i]->u.loop.body;
            after = now.items[now.n - 1]->u.loop.body;
            now.n = 0;
        }
    Conflict why;
    if (dependence_instances_within(s->ctx, s->kernel, before, flow_whole_nest(s, block),
                                    block->u.block.id, &why) ||
        dependence_instances_within(s->ctx, s->kernel, before, after, block->u.block.id, &why))
        return true;
    sched_refuse(s, E0459, call->compute_at.loop.span,
                 "block '%s' would compute what it does not compute where it stands: %s",
                 block->u.block.name, why.reason);
    sched_note_conflict(s, &why);
    return false;
}

/* Which axis of the buffer each iterator of the block is the subscript of, -1: of none. */
static bool find_axes(Schedule *s, const PrimCall *call, const BlockStmt *block,
                      const Buffer *buffer, const Stmt *store, int *axis_of)
{
    int *axes = ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1);
    REQUIRE(s, E0455, call->compute_at.block.span,
            flow_pure_index(block, buffer, store->u.store.index, axes),
            "block '%s' does not write '%s' at its iterators alone, so which iterations make an "
            "element is not known",
            block->name, buffer->name);
    for (int i = 0; i < block->n_iters; i++)
        axis_of[i] = -1;
    for (int axis = 0; axis < buffer->rank; axis++)
        axis_of[axes[axis]] = axis;
    return true;
}

/* The block alone in its loops. */
static Stmt *alone(Schedule *s, const StmtPath *path)
{
    Stmt *body = path->items[path->n - 1];
    for (int i = path->n - 2; i >= 0; i--)
        if (path->items[i]->kind == ST_FOR) {
            ForStmt loop = path->items[i]->u.loop;
            loop.body = body;
            body = stmt_for(s->ctx, &loop, path->items[i]->span);
        }
    return body;
}

/* The loops of the new place follow the iterators, and may add the floats of a reduction in another
 * order than the old ones. */
static void note_order(Schedule *s, const StmtPath *path)
{
    Stmt *block = path->items[path->n - 1], *before = alone(s, path);
    bool reassociates = false;
    Conflict why;
    if (!block->u.block.init || !type_is_float(flow_single_store(block)->u.store.buffer->type))
        return;
    bool kept = dependence_order_kept(s->ctx, flow_kernel_with(s, before), before,
                                      flow_whole_nest(s, block), &reassociates, &why);
    s->reassociates |= !kept || reassociates;
}

bool prim_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, target = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->compute_at.block, &path);
    Stmt *loop = sched_loop(s, &call->compute_at.loop, &target);
    const Stmt *store = flow_single_store(block), *seq;
    const Buffer *overwritten;
    int block_item = 0, loop_item = 0;
    REQUIRE(
        s, E0452, call->compute_at.block.span, store != NULL,
        "block '%s' holds more than one store, so tirc does not know how to compute a part of it",
        block->u.block.name);
    Buffer *buffer = sched_buffer(s, store->u.store.buffer->id);
    if (!place_sequence(s, call, &path, &target, &seq, &block_item, &loop_item) ||
        !is_recomputable(s, call, block, store, buffer) ||
        !consumers_are_under(s, call, buffer, loop) || !inits_come_after(s, call, buffer, loop) ||
        !place_own_loops_plain(s, call, &path, flow_common(&path, &target)))
        return false;
    REQUIRE(s, E0450, call->compute_at.loop.span, block_item < loop_item,
            "loop '%s' runs before block '%s' in the program", loop->u.loop.var->name,
            block->u.block.name);
    const Stmt *writer = flow_overwritten(s, seq, block_item, loop_item, block, &overwritten);
    REQUIRE(s, E0454, call->compute_at.block.span, !writer,
            "block '%s' writes '%s', which block '%s' reads, before loop '%s' is done, so the "
            "block would read other values there",
            writer->u.block.name, overwritten->name, block->u.block.name, loop->u.loop.var->name);
    int *axis_of = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    if (!find_axes(s, call, &block->u.block, buffer, store, axis_of))
        return false;

    Facts *facts = sched_facts(s, &target);
    facts_enter(facts, loop);
    Interval *box = ARENA_ARRAY(c->arena, Interval, buffer->rank + 1);
    REQUIRE(
        s, E0455, call->compute_at.loop.span,
        stage_box(s, facts, &target, buffer, ACCESS_READ, buffer->scope, box),
        "the part of '%s' that one iteration of loop '%s' reads has no bounds that tirc can find",
        buffer->name, loop->u.loop.var->name);
    Part part = part_read(s, facts, loop, buffer, box);
    Stmt *nest = place_nest(s, facts, &target, block, axis_of, &part);
    Stmt *body = place_before_readers(s, block, loop, buffer, nest);
    if (!runs_no_more(s, call, &path, flow_common(&path, &target), body))
        return false;
    note_order(s, &path);
    (void)result;
    return place_finish(s, call, loop, body);
}
