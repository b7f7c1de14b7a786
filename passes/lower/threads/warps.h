/* warps.h - Declares the check that warps run their instructions together. */
#ifndef TIRC_PASSES_LOWER_THREADS_WARPS_H
#define TIRC_PASSES_LOWER_THREADS_WARPS_H

#include "passes/lower/pass.h"

/* False after a refusal: some instruction of a warp in the launch is not run by all its threads. */
bool warps_together(Context *c, const Stmt *launch);

#endif
