/* outside.h - Refuses accesses that are certainly out of bounds. */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_OUTSIDE_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_OUTSIDE_H

#include "ir/ir.h"

/* False, with E0232 for each, where a program has accesses that leave an axis in every run that
 * gets to them: for all values of symbolic sizes for which they run at all, some iteration does,
 * and it is shown. Accesses under conditions, and what data decides, are left to the proof about
 * the emitted text (passes/lower/proofs/in_bounds.h) and to the simulator. */
bool no_access_leaves(Context *c, const Kernel *program);

#endif
