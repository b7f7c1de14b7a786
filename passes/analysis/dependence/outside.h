/* outside.h - Refuses accesses that are certainly out of bounds. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_OUTSIDE_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_OUTSIDE_H

#include "ir/ir.h"

/* Returns false, with E0232 for each, if a program has accesses that are out of bounds in every
 * run that reaches them: for all symbolic sizes for which they run, some iteration leaves the
 * axis. The message shows it. The proof about the emitted text (passes/lower/proofs/in_bounds.h)
 * and the simulator check accesses under conditions and data-dependent ones. */
bool no_access_leaves(Context *c, const Kernel *program);

#endif
