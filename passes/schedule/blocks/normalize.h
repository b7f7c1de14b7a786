/* normalize.h - A block whose iterators are the loops around it (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_NORMALIZE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_NORMALIZE_H

#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    Span span;
    StmtPath path;
    Stmt *stmt;
    const BlockStmt *block;
    ExprList where;   /* of loops: what their ranges do not say of the iterations that it runs in */
    BlockIter *iters; /* [n] the new ones */
    Subst *loops;     /* [n] from loops to them */
    int n;
    bool reduces; /* one of them is of a reduction */
} Normal;

/* Finds the loops that give iterators of the block values, and the conditions. Refuses where the
 * loops cannot be iterators. */
bool normal_find(Normal *x, const Value *block);
/* The block in its loops, where the conditions x->where hold. NULL after a refusal: it has an
 * init, which conditions on the reduction would restrict. */
Stmt *normal_build(Normal *x);

#endif
