/* partial.h - Decides whether a reduction can be computed from partial results, also where its terms
 * read other elements of the buffer that it updates. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_PARTIAL_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_PARTIAL_H

#include "passes/analysis/dependence/dependence.h"
#include "passes/analysis/regions/reducer.h"

/* reducer_of (reducer.h) of a block of the kernel, in one run of `path->items[from]`, whose terms
 * may also read elements that no instance of the block in that run updates or initializes. */
bool partial_results_of(Context *c, const Kernel *kernel, const StmtPath *path, int from,
                        Reducer *out, const char **why);

#endif
