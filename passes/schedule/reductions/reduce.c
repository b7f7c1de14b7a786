/* reduce.c - Implements decompose_reduction: moves the init of a reduction into a block of its own,
 * before a loop.
 *
 * Legal: the loop is one that carries the reduction, or stands around all that do.
 * Invariant: each init runs once, before the first update of its element. */
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/sched.h"
#include "passes/shared/rebuild.h"
#include "passes/shared/reductions.h"

/* A reduction loop on the path that is bound to threads, or NULL. */
static const Stmt *threads_reduced(Context *c, const StmtPath *path)
{
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *loop = path->items[i];
        if (stmt_is_bound(loop) && reduction_uses(c, block, ITER_REDUCE, loop))
            return loop;
    }
    return NULL;
}

/* A temp below `loop` that the init touches, which it could not do from in front of the loop; or
 * NULL. */
static const Buffer *temp_of_init(Schedule *s, const Stmt *block, Stmt *loop)
{
    StmtList temps = stmts_of_kind(s->ctx, loop, ST_TEMP);
    for (int i = 0; i < temps.n; i++)
        if (stmt_accesses(s->ctx, block->u.block.init, temps.items[i]->u.temp, ACCESS_ANY))
            return temps.items[i]->u.temp;
    return NULL;
}

/* The init runs before all that the loop does. Where the loop carries the reduction, that is its
 * place already, but those of blocks before this one run earlier. */
static bool init_may_run_first(Schedule *s, const PrimCall *call, const Stmt *block, Stmt *loop)
{
    Conflict why = {0};
    Name name = block->u.block.name, around = loop->u.loop.var->name;
    bool loop_carries = reduction_uses(s->ctx, &block->u.block, ITER_REDUCE, loop);
    const Buffer *temp = temp_of_init(s, block, loop);
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, !temp,
            "'%s' is declared in loop '%s', but the init of '%s' would access it before the loop; "
            "choose an inner loop",
            temp->name, around, name);
    if (dependence_init_may_run_first(s->ctx, s->kernel, loop, block, &why))
        return true;
    if (why.first && why.first->id != block->u.block.id && loop_carries)
        sched_refuse(s, E0470, call->decompose_reduction.block.span,
                     "the init of block '%s' is also before loop '%s' and accesses data of the "
                     "init of '%s', so it must stay before that; decompose '%s' first",
                     why.first->name, around, name, why.first->name);
    else if (why.first && why.first->id != block->u.block.id)
        sched_refuse(s, E0470, call->decompose_reduction.loop.span,
                     "block '%s' in loop '%s' accesses data of the init of '%s', so the init "
                     "cannot run before the whole loop; choose an inner loop",
                     why.first->name, around, name);
    else
        sched_refuse(s, E0470, call->decompose_reduction.loop.span,
                     "block '%s' accesses data of its init at another point, so the init cannot "
                     "run before the whole loop '%s'; choose an inner loop",
                     name, around);
    sched_note_conflict(s, &why);
    return false;
}

bool prim_decompose_reduction(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Context *c = s->ctx;
    Stmt *block = sched_node(s, &call->decompose_reduction.block, &path), *nest, *update;
    int anchor = path_loop(&path, call->decompose_reduction.loop.u.id);
    int first = reduction_start(c, &path);
    REQUIRE(
        s, E0470, call->decompose_reduction.block.span, block->u.block.init != NULL,
        "block '%s' has no init to separate: it is not a reduction, or its init is already a block",
        block->u.block.name);
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, anchor >= 0,
            "the loop does not enclose the block '%s'", block->u.block.name);
    REQUIRE(s, E0470, call->decompose_reduction.loop.span, anchor <= first,
            "loop '%s' is inside '%s', which carries the reduction, so the init would run again "
            "within it; choose '%s' or an outer loop",
            path.items[anchor]->u.loop.var->name, path.items[first]->u.loop.var->name,
            path.items[first]->u.loop.var->name);
    const Stmt *threads = threads_reduced(c, &path);
    REQUIRE(s, E0481, call->span, !threads,
            "loop '%s' is bound to %s, and its threads combine the partial results of block '%s', "
            "which needs its init for that",
            stmt_label(threads), axis_name(threads->u.loop.axis), block->u.block.name);
    if (!init_may_run_first(s, call, block, path.items[anchor]))
        return false;
    if (!reduction_take_init(
            c, &(ReductionPlace){.kernel = s->kernel, .path = &path, .anchor = anchor}, &nest,
            &update))
        return false;
    Stmt *loop = path.items[anchor];
    sched_replace(s, loop, stmt_then(c, nest, stmt_replace(c, loop, block, update)));
    *result = value_block(stmt_nest_block(nest));
    return true;
}
