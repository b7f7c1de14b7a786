/* reduce.c - decompose_reduction: the init of a reduction becomes a block of its own, before a loop. */
#include "passes/analysis/inits.h"
#include "passes/lower/reductions.h"
#include "passes/schedule/flow.h"

static bool carries(Context *c, const BlockStmt *block, const Stmt *loop)
{
    return loop->kind == ST_FOR && block_reduces_over(c, block, loop->u.loop.var);
}

/* A reduction loop on the path that is bound to threads, or NULL. */
static const Stmt *threads_reduced(Context *c, const StmtPath *path)
{
    const BlockStmt *block = &path->items[path->n - 1]->u.block;
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *loop = path->items[i];
        if (loop->kind == ST_FOR && loop->u.loop.kind == LOOP_BIND && carries(c, block, loop))
            return loop;
    }
    return NULL;
}

/* Further out than the reduction itself, the init runs before all that the loop does: nothing there may write what it reads, or
 * touch what it writes but the block's own updates. */
static bool init_may_run_first(Schedule *s, const PrimCall *call, Stmt *block, Stmt *loop)
{
    BufferSet read = {0};
    BlockList others = {0};
    Buffer *written = flow_written(s, block);
    BlockStmt alone = block->u.block;
    alone.body = alone.init;
    alone.init = NULL;
    flow_buffers(s, stmt_block(s->ctx, &alone, block->span), ACCESS_READ, &read);
    for (int i = 0; i < read.n; i++)
        flow_blocks(s, loop, read.items[i], ACCESS_WRITE, &others);
    flow_blocks(s, loop, written, ACCESS_ANY, &others);
    for (int i = 0; i < others.n; i++)
        REQUIRE(s, E0470, call->decompose_reduction.loop.span, others.items[i] == block,
                "block '%s' in loop '%s' touches what the init of '%s' reads or writes, so the init cannot "
                "run before all of the loop; choose a loop further in",
                others.items[i]->u.block.name, loop->u.loop.var->name, block->u.block.name);
    const Stmt *store = flow_single_store(block);
    AccessList reads = {0};
    if (store)
        access_collect_expr(s->ctx, store->u.store.value, written, &reads);
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, store && reads.n == 0,
            "block '%s' computes from elements of '%s' that it has made before, so its init cannot run "
            "before all of loop '%s'; choose a loop further in",
            block->u.block.name, written->name, loop->u.loop.var->name);
    return true;
}

bool prim_decompose_reduction(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->decompose_reduction.block, &path), *nest, *update;
    int anchor = -1, first = reduction_start(c, &path);
    REQUIRE(s, E0470, call->decompose_reduction.block.span, block->u.block.init != NULL,
            "block '%s' has no init to take out: it is no reduction, or its init is a block already",
            block->u.block.name);
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR && path.items[i]->u.loop.id == call->decompose_reduction.loop.u.id)
            anchor = i;
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, anchor >= 0, "the loop is not around block '%s'",
            block->u.block.name);
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, anchor <= first,
            "loop '%s' is inside '%s', which carries the reduction, so the init would run again in the "
            "middle of it; choose '%s' or a loop outside it",
            path.items[anchor]->u.loop.var->name, path.items[first]->u.loop.var->name,
            path.items[first]->u.loop.var->name);
    const Stmt *threads = threads_reduced(c, &path);
    REQUIRE(s, E0481, call->span, !threads,
            "loop '%s' is bound to %s, and its threads combine what block '%s' reduces; for that it keeps its init",
            stmt_label(threads), axis_name(threads->u.loop.axis), block->u.block.name);
    if (anchor < first && !init_may_run_first(s, call, block, path.items[anchor]))
        return false;
    if (!reduction_take_init(c, s->kernel, &path, anchor, &nest, &update))
        return false;
    Stmt *loop = path.items[anchor];
    Stmt *pair[2] = {nest, stmt_replace(c, loop, block, update)};
    sched_replace(s, loop, stmt_seq(c, pair, 2, loop->span));
    *result = value_block(stmt_nest_block(nest));
    return true;
}
