/* stride.h - Finds which iterations of a loop change anything (internal to passes/schedule;
 * stride.c). */
#ifndef TIRC_PASSES_SCHEDULE_RANGES_STRIDE_H
#define TIRC_PASSES_SCHEDULE_RANGES_STRIDE_H

#include "passes/schedule/sched.h"

/* The block at the end of the path changes nothing but in iterations of `loop` that solve the
 * congruence, in which the loop occurs. False if none is known. */
bool stride_of(Schedule *s, const StmtPath *path, const Var *loop, Congruence *out);

#endif
