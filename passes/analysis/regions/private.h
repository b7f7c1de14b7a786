/* private.h - Decides which temporaries each iteration of a loop can have for itself. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_PRIVATE_H
#define TIRC_PASSES_ANALYSIS_REGIONS_PRIVATE_H

#include "ir/ir.h"

/* The scope in which a temporary declared in a loop bound to `axis` is private to each
 * iteration: local memory for threads, shared memory for blocks. Its present scope if that is
 * private already, if its shape is not literal, or if it is too large: above 4 KiB for a thread,
 * 48 KiB for a block. */
Scope private_scope(const Buffer *temp, Axis axis);

#endif
