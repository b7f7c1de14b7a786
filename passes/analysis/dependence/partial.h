/* partial.h - Decides whether a reduction can be computed from partial results, also where its
 * terms read other elements of the buffer that it updates. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_PARTIAL_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_PARTIAL_H

#include "passes/analysis/dependence/dependence.h"
#include "passes/analysis/regions/reducer.h"

/* One run of a statement of the kernel: `path->items[from]`, on the path to a block. */
typedef struct {
    const Kernel *kernel;
    const StmtPath *path;
    int from;
} RunOf;

/* reducer_of (reducer.h) of the block, whose terms may also read elements that no instance of the
 * block in that run updates or initializes. */
bool partial_results_of(Context *c, RunOf run, Reducer *out, const char **why);

#endif
