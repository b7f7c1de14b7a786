/* copy_async.c - Implements copy_async: makes a copy into shared memory asynchronous.
 *
 * The step only says so, in an annotation of the block: what a copy means does not change, because
 * lowering puts a wait in front of every access that may meet it (passes/lower/threads/async.c).
 *
 * Legal: the block is one plain copy from global into shared memory, of elements that the hardware
 * copies.
 * Invariant: every access finds the value that it found before. */
#include "passes/analysis/regions/async_copy.h"
#include "passes/schedule/sched.h"

bool prim_copy_async(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *node = sched_node(s, &call->copy_async.block, NULL);
    BlockStmt block = node->u.block;
    const char *obstacle = async_copy_obstacle(s->ctx, &block);
    REQUIRE(s, E0440, call->span, !obstacle, "%s", obstacle);
    *result = (Value){.kind = VALUE_NONE};
    if (annotation_find(block.annotations, ANNOTATION_COPY_ASYNC))
        return true;
    block.annotations = annotations_mark(s->ctx, block.annotations, ANNOTATION_COPY_ASYNC);
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
