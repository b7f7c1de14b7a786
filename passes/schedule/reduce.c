/* reduce.c - decompose_reduction: the init of a reduction becomes a block of its own, before a loop. */
#include "passes/lower/lower.h"
#include "passes/schedule/flow.h"

static bool carries(Context *c, const BlockStmt *block, const Stmt *loop)
{
    return loop->kind == ST_FOR && block_reduces_over(c, block, loop->u.loop.var);
}

/* The outermost loop on the path that carries the reduction; the block itself if none does. */
static int first_reduction_loop(Context *c, const StmtPath *path)
{
    const BlockStmt *block = &path->items[path->n - 1]->u.block;
    for (int i = 0; i < path->n; i++)
        if (carries(c, block, path->items[i]))
            return i;
    return path->n - 1;
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

bool prim_decompose_reduction(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->arg[0], &path), *nest, *update;
    int anchor = -1, first = first_reduction_loop(c, &path);
    REQUIRE(s, E0470, call->arg[0].span, block->u.block.init != NULL,
            "block '%s' has no init to take out: it is no reduction, or its init is a block already",
            block->u.block.name);
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR && path.items[i]->u.loop.id == call->arg[1].u.id)
            anchor = i;
    REQUIRE(s, E0470, call->arg[1].span, anchor >= 0, "the loop is not around block '%s'",
            block->u.block.name);
    REQUIRE(s, E0470, call->arg[1].span, anchor <= first,
            "loop '%s' is inside '%s', which carries the reduction, so the init would run again in the "
            "middle of it; choose '%s' or a loop outside it",
            path.items[anchor]->u.loop.var->name, path.items[first]->u.loop.var->name,
            path.items[first]->u.loop.var->name);
    const Stmt *threads = threads_reduced(c, &path);
    REQUIRE(s, E0481, call->span, !threads,
            "loop '%s' is bound to %s, and its threads combine what block '%s' reduces; for that it keeps its init",
            stmt_label(threads), axis_name(threads->u.loop.axis), block->u.block.name);
    if (!reduction_take_init(c, s->kernel, &path, anchor, &nest, &update))
        return false;
    Stmt *loop = path.items[anchor];
    Stmt *pair[2] = {nest, stmt_replace(c, loop, block, update)};
    sched_replace(s, loop, stmt_seq(c, pair, 2, loop->span));
    while (nest->kind != ST_BLOCK)
        nest = nest->kind == ST_FOR ? nest->u.loop.body : nest->u.cond.then;
    *result = value_block(nest);
    return true;
}
