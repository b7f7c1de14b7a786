/* warps.h - Declares the check that warps run their instructions together, and the question whether
 * they share memory. */
#ifndef TIRC_PASSES_LOWER_THREADS_WARPS_H
#define TIRC_PASSES_LOWER_THREADS_WARPS_H

#include "passes/lower/pass.h"

/* False after a refusal: some instruction of a warp stands in no loop over threads. The pass that
 * places the instruction sees to the number of iterations. */
bool warps_bound(Context *c, const Stmt *root);
/* False after a refusal: some instruction of a warp in the launch is not run by all its threads. */
bool warps_together(Context *c, const Stmt *launch);
/* The threads that meet at the barriers of a launch: those of a warp, or of a warpgroup, where no
 * memory joins two of them; else all of a block. */
SyncKind warps_meet(Threads *t);

#endif
