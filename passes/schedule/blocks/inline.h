/* inline.h - Checks blocks that are substituted into others (internal to passes/schedule;
 * inline.c, reverse_compute_inline.c). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_INLINE_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_INLINE_H

#include "passes/schedule/flow.h"

/* The block at the end of the path is one plain store, the only writer of a temp, under nothing but
 * loops; `what` says what it is. False after E0460. */
bool inline_is_producer(Schedule *s, Span span, const StmtPath *path, const char *what);

/* The expression that replaces reads of the buffer has a number of nodes that may grow again. False
 * after E0460. */
bool inline_is_bounded(Schedule *s, Span span, const Buffer *buffer, const Expr *value);

/* The block runs for each value of its iterators' domains, as it will in the place of block `what`,
 * which does: no step of a loop and no condition leaves some out. False after E0462. */
bool inline_runs_whole(Schedule *s, Name what, const Stmt *block, Span span);

/* The block's store moves up to its producer: nothing from there to the block writes what it reads,
 * or touches what it writes, or declares either. False after E0461. */
bool inline_order_kept(Schedule *s, Span span, const StmtPath *block_path,
                       const StmtPath *producer_path, Stmt *block);

#endif
