/* tie.h - Finds the iterations of a block that access an element of a buffer (internal to
 * passes/schedule).
 *
 *   t[i, j]             i = p0, j = p1
 *   t[63 - i]           i = 63 - p0
 *   t[k / 16, k % 16]   k = p0 * 16 + p1
 *   t[b * 8 + a]        b = p0 / 8          (a: a loop of the block) */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_TIE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_TIE_H

#include "passes/schedule/flow.h"

typedef struct {
    const Buffer *buffer;
    Var **place; /* [rank] stand for the element's subscripts */
    Expr **back; /* of each iterator of the block: its value at that element, NULL: any */
    Expr *taken; /* the elements that iterations access; NULL: those whose iterators are in their
                    domains */
    bool covers; /* every element of the buffer is accessed, or `taken` is NULL */
    bool tiles;  /* an iteration accesses several elements; `taken` is NULL */
} Tie;

/* The tie of a block to a buffer that it accesses at `index`. False where the subscripts do not
 * decide the iterators that they use, or tirc finds no formula. */
bool tie_find(Schedule *s, const Stmt *block, const Buffer *buffer, Expr *const *index, Tie *out);

/* The same for an access in loops of the block, which also are what an element decides. */
bool tie_find_tiles(Schedule *s, const Stmt *block, const Access *access, Tie *out);

#endif
