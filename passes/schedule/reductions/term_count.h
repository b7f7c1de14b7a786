/* term_count.h - Counts the terms that a block adds to one element (internal to
 * passes/schedule/blocks). */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_TERM_COUNT_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_TERM_COUNT_H

#include "passes/schedule/flow.h"

/* The number of values of the block's reduction iterators for which its predicate and `exists` (on
 * its iterators; NULL: always) hold, as an expression of its other iterators. NULL where the
 * conditions do not say how many. */
Expr *term_count(Schedule *s, const StmtPath *path, Expr *exists, Span span);

/* Each iteration of the loops below `depth` on the path is another value of the iterators of the
 * block at its end, all of which occur, so that the predicate alone chooses. */
bool term_loops_are_iterators(const StmtPath *path, int depth);

#endif
