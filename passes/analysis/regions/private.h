/* private.h - Decides which temporaries each iteration of a loop can have for itself. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_PRIVATE_H
#define TIRC_PASSES_ANALYSIS_REGIONS_PRIVATE_H

#include "ir/ir.h"

/* Where a temporary that is declared in a loop bound to `axis` is one for each iteration: local
 * memory for threads, at least shared memory for blocks. The scope that it has where it is private
 * already, where its shape is not literal, and where it is too large: above 4 KiB for a thread,
 * 48 KiB for a block. */
Scope private_scope(const Buffer *temp, Axis axis);

#endif
