/* index_range.h - Computes the range of index arithmetic in a lowered kernel, as numbers and as
 * sums of products of its sizes.
 *
 * Interval arithmetic from the ranges of loops, axes, names and guards. It follows the emitted text
 * in either width, so it also bounds intermediate values, which a canonical form would cancel. */
#ifndef TIRC_PASSES_LOWER_INDEX_INDEX_RANGE_H
#define TIRC_PASSES_LOWER_INDEX_INDEX_RANGE_H

#include "passes/analysis/symbolic/interval.h"
#include "passes/lower/index/size_sum.h"

/* The ends are known in two ways, which both hold. */
typedef struct {
    Bounds number;
    const SizeSum *lo, *hi; /* NULL: not known, or a number */
} IndexRange;

typedef struct IndexRanges IndexRanges;

/* No names are known yet but the sizes. */
IndexRanges *index_ranges_new(Context *c, const Kernel *kernel);

/* What holds below the loop, launch or name, or where the if's condition holds. */
void index_ranges_enter(IndexRanges *v, const Stmt *s);
/* Forgets everything entered since a mark. */
typedef struct {
    int vars, guards;
} IndexRangesMark;
IndexRangesMark index_ranges_mark(const IndexRanges *v);
void index_ranges_reset(IndexRanges *v, IndexRangesMark mark);

/* The values of an expression of index or integer type where it stands. */
IndexRange index_range_of(IndexRanges *v, Expr *e);
/* The values of a + b; of a, where a + b is `sum`. */
IndexRange index_range_sum(Context *c, IndexRange a, IndexRange b);
IndexRange index_range_rest(Context *c, IndexRange sum, IndexRange b);
IndexRange index_range_int(int64_t min, int64_t max);
/* From 0 to below the number of elements of the buffer. */
IndexRange index_range_elements(IndexRanges *v, const Buffer *b);
/* The range of a value that lies in both. */
IndexRange index_range_meet(IndexRanges *v, IndexRange a, IndexRange b);

/* About how large a positive sum is in a program of a usual size: sizes of a million, buffers of
 * 2^30 elements. */
double index_ranges_usual(const IndexRanges *v, const SizeSum *p);

#endif
