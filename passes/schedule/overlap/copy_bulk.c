/* copy_bulk.c - Implements copy_bulk: has the hardware copy a box of a tensor to shared memory, or
 * from there.
 *
 * The loop is blockized, and the block is marked. What it means does not change: lowering puts a
 * wait in front of every access that may meet it (passes/lower/threads/async.c), as for copy_async.
 * Layouts may still change, so lowering proves where the box lies (passes/shared/bulk_place.h).
 *
 * Legal: the block goes through a box of an input or of a global temp row by row, and copies each
 * element, or 0 where there is none, to shared memory, or goes through a box of an output or of a
 * global temp and copies each element that there is from shared memory.
 * Invariant: every access finds the value that it found before. */
#include "passes/analysis/regions/bulk_copy.h"
#include "passes/schedule/sched.h"

bool prim_copy_bulk(Schedule *s, const PrimCall *call, Value *result)
{
    PrimCall inner = {.primitive = call->primitive, .span = call->span};
    const Value *loop = &call->copy_bulk.loop;
    inner.blockize.nodes = value_of_items(loop, 1, loop->span);
    if (!sched_require_target(s, call->span, (Target){90, 0}, "bulk copies") ||
        !prim_blockize(s, &inner, result))
        return false;
    StmtPath path = {0};
    BulkForm form;
    Stmt *node = sched_node(s, result, &path);
    BlockStmt block = node->u.block;
    Facts *facts = sched_facts(s, &path);
    facts_enter(facts, node);
    const char *obstacle = bulk_copy_obstacle(s->ctx, facts, &block, &form);
    REQUIRE(s, E0860, call->span, !obstacle, "%s", obstacle);
    block.annotations = annotations_mark(
        s->ctx, block.annotations, form.stores ? ANNOTATION_STORE_BULK : ANNOTATION_COPY_BULK);
    Stmt *done = stmt_block(s->ctx, &block, node->span);
    sched_replace(s, node, done);
    *result = value_block(done);
    return true;
}
