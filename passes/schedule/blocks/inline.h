/* inline.h - Checks blocks that are substituted into others (internal to passes/schedule;
 * inline.c). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_INLINE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_INLINE_H

#include "passes/schedule/flow.h"

/* A block, and the iterator that each axis of a buffer has for a subscript in it. */
typedef struct {
    Stmt *block;
    int rank; /* of the buffer */
    int *axes;
} IndexedBlock;
IndexedBlock indexed_block(Context *c, Stmt *block, int rank);

/* Every load of `between` in the block is at its iterators alone, each of them once; fills in the
 * axes. */
bool inline_reads_at_iterators(Schedule *s, const Buffer *between, IndexedBlock *at);

/* The iterators of both blocks run over the same ranges, axis by axis. */
bool inline_same_domains(Schedule *s, IndexedBlock a, IndexedBlock b);
/* Each axis' iterator of `from` in terms of that of `to`. [rank] */
Subst *inline_axis_map(Context *c, IndexedBlock from, IndexedBlock to);

/* The block runs for each value of its iterators' domains, as it will in the place of block `what`,
 * which does: no step of a loop and no condition leaves some out. False after E0462. */
bool inline_runs_whole(Schedule *s, Name what, const Stmt *block, Span span);

/* The block's store moves up to its producer: nothing from there to the block writes what it reads,
 * or touches what it writes. False after E0461. */
bool inline_order_kept(Schedule *s, Span span, const StmtPath *block_path,
                       const StmtPath *producer_path, Stmt *block);

#endif
