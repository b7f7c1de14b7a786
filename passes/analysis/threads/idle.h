/* idle.h - threads of a launch that do nothing. */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_IDLE_H
#define TIRC_PASSES_ANALYSIS_THREADS_IDLE_H

#include "ir/ir.h"

/* How many threads `launch`, of a lowered kernel, starts, and how many of them store nothing to
 * global or shared memory and, where lanes hand values to each other, read nothing from there,
 * because of guards: what tails leave over. Threads whose guards read memory count as busy. False
 * where the grid is no literal, or the count would take too long. */
bool count_idle(Context *c, const LaunchStmt *launch, int64_t *threads, int64_t *idle);

#endif
