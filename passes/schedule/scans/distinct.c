/* distinct.c - Implements distinct: marks a block that stores to other elements in each iteration,
 * because a running count gives the places.
 *
 *   for i in N                                 for i in N
 *       block y(i in N = i) {                      block y(i in N = i) @distinct(1) {
 *           if x[i] > 0                    =>          if x[i] > 0
 *               y[at[i]] = x[i];                           y[at[i]] = x[i];
 *       }                                          }
 *
 * Data choose the places, so no subscript tells that iterations do not meet. Later steps, which
 * take the count apart, no longer show why; the mark says it.
 *
 * Legal: running_count_distinct proves it.
 * Invariant: what the program computes does not change. The mark is dropped with what it is about
 * (marks.c). */
#include "passes/analysis/dependence/running_count.h"
#include "passes/schedule/sched.h"

bool prim_distinct(Schedule *s, const PrimCall *call, Value *result)
{
    const char *why = NULL;
    Stmt *node = sched_node(s, &call->distinct.block, NULL);
    int inner = running_count_distinct(s->ctx, s->kernel, node, &why);
    REQUIRE(s, E0813, call->span, inner > 0,
            "block '%s' is not known to store to other elements in each iteration: %s",
            stmt_label(node), why);
    Annotation mark = {.key = ctx_name(s->ctx, annotation_info(ANNOTATION_DISTINCT)->name),
                       .kind = ANNOTATION_INT,
                       .i = inner};
    BlockStmt block = node->u.block;
    block.annotations = annotations_with(s->ctx, block.annotations, mark);
    s->has_distinct = s->proves_distinct = true;
    sched_replace(s, node, stmt_block(s->ctx, &block, node->span));
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
