/* sum_depth.h - Counts the longest chain of rounded additions behind a value of a lowered kernel:
 * the height of the tree in which the schedule adds. */
#ifndef TIRC_PASSES_LOWER_REFERENCE_SUM_DEPTH_H
#define TIRC_PASSES_LOWER_REFERENCE_SUM_DEPTH_H

#include "ir/ir.h"

/* For each parameter of `lowered` at these sizes ([n_sizes], all of them) at least that number, of
 * any element; INFINITY where it is not known, as where the bound of a loop depends on data. A
 * kernel without races never has more. */
void sum_depths(Context *c, const Kernel *lowered, const int64_t *sizes, double *depth);

#endif
