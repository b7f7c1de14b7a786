/* running_count.h - Proves that a block stores to other elements in each iteration, because a
 * running count gives the places. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_RUNNING_COUNT_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_RUNNING_COUNT_H

#include "ir/ir.h"

/* How many of the block's last iterators count: two instances that differ in these alone never
 * store to one element. 0: not proved, for the reason `*why`. */
int running_count_distinct(Context *c, const Kernel *kernel, const Stmt *block, const char **why);

#endif
