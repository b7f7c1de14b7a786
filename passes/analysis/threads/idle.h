/* idle.h - Counts the threads of a launch that do nothing. */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_IDLE_H
#define TIRC_PASSES_ANALYSIS_THREADS_IDLE_H

#include "ir/ir.h"

/* Counts the threads that `launch` of a lowered kernel starts, and the idle ones: because of
 * guards they store nothing to global or shared memory and, where lanes exchange values, read
 * nothing from there. Tails leave such threads. Threads whose guards read memory count as busy.
 * False if the grid is not literal, or the count would take too long. */
bool count_idle(Context *c, const LaunchStmt *launch, int64_t *threads, int64_t *idle);

#endif
