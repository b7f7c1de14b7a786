/* copy_async.c - copy_async: a copy into shared memory that goes on while the threads do something else.
 *
 * The step only says so, in an annotation of the block: what a copy means does not change, because lowering puts a wait in
 * front of every access that may meet it (passes/lower/async.c). */
#include <string.h>

#include "passes/analysis/async_copy.h"
#include "passes/schedule/sched.h"

bool prim_copy_async(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = sched_block(s, &call->copy_async.block, &path);
    BlockStmt block = node->u.block;
    const char *obstacle = async_copy_obstacle(s->ctx, &block);
    REQUIRE(s, E0440, call->span, !obstacle, "%s", obstacle);
    Annotation *items = ARENA_ARRAY(s->ctx->arena, Annotation, block.n_annotations + 1);
    *result = (Value){.kind = VALUE_NONE};
    for (int i = 0; i < block.n_annotations; i++) {
        items[i] = block.annotations[i];
        if (!strcmp(items[i].key, "copy_async"))
            return true;
    }
    items[block.n_annotations++] =
        (Annotation){.key = ctx_name(s->ctx, "copy_async"), .kind = ANNOTATION_INT, .i = 1};
    block.annotations = items;
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    return true;
}
