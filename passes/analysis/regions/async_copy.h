/* async_copy.h - Decides whether a block is a copy that the hardware can do asynchronously. A
 * block with the annotation (copy_async) is checked again when it is lowered, because later
 * steps may have changed it. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_ASYNC_COPY_H
#define TIRC_PASSES_ANALYSIS_REGIONS_ASYNC_COPY_H

#include "ir/ir.h"

/* NULL: the block is one store of an element of a buffer in global memory, or of `condition ?
 * element : literal`, to one of the same type in shared memory. Else the reason why it is no such
 * copy, as a sentence that begins with the block. */
const char *async_copy_obstacle(Context *c, const BlockStmt *block);

#endif
