/* outside.h - accesses of a program that certainly leave their buffer. */
#ifndef TIRC_PASSES_ANALYSIS_OUTSIDE_H
#define TIRC_PASSES_ANALYSIS_OUTSIDE_H

#include "ir/ir.h"

/* Warns (E0232) of each access of a program with a subscript that some iteration certainly takes out of its axis, with that iteration.
 * What conditions, data or sizes without a value decide is left to the simulator, which finds it in a run. */
void warn_outside(Context *c, const Kernel *program);

#endif
