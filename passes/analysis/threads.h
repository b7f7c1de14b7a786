/* threads.h - what dependence.c asks of threads.c. */
#ifndef TIRC_PASSES_ANALYSIS_THREADS_H
#define TIRC_PASSES_ANALYSIS_THREADS_H

#include "passes/analysis/dependence.h"

/* dependence_loop_kind_legal for LOOP_BIND. `loop` is in the kernel. */
bool threads_bind_legal(Context *c, const Kernel *kernel, const Stmt *loop, Axis axis,
                        Conflict *why);

#endif
