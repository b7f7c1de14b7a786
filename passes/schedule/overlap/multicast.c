/* multicast.c - Implements multicast: the blocks of a cluster share a bulk copy.
 *
 * The block is marked. What it means does not change: each block of the cluster has the whole copy.
 * Lowering divides it among them, and has their consumers release what it fills to the producers of
 * all blocks (passes/lower/threads/roles.c).
 *
 * Legal: the block is a bulk copy, in a loop bound to cluster.rank on which nothing of it depends.
 * Invariant: every access finds the value that it found before. */
#include "passes/shared/multicast.h"
#include "ir/copies/bulk_copy.h"
#include "passes/schedule/sched.h"

bool prim_multicast(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = sched_node(s, &call->multicast.block, &path);
    BlockStmt block = node->u.block;
    *result = (Value){.kind = VALUE_NONE};
    REQUIRE(s, E0862, call->span, block_is_bulk(&block),
            "block '%s' is no bulk copy; apply copy_bulk to its loops first", block.name);
    const char *obstacle = multicast_obstacle(s->ctx, &path);
    REQUIRE(s, E0862, call->span, !obstacle,
            "the blocks of a cluster cannot share the copy of block '%s': %s", block.name,
            obstacle);
    block.annotations = annotations_mark(s->ctx, block.annotations, ANNOTATION_MULTICAST);
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
