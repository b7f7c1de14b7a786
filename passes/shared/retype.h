/* retype.h - Rewrites the accesses of a buffer that gets another type. */
#ifndef TIRC_PASSES_SHARED_RETYPE_H
#define TIRC_PASSES_SHARED_RETYPE_H

#include "ir/ir.h"

/* The kernel with the temp `of->from`, known by its id, in a narrower floating type: loads convert
 * to the type that it had, stores and updates convert to the new one. Recorded in `retypes`. A
 * kernel without the temp stays as it is. */
const Kernel *retype_temp(Context *c, const Kernel *kernel, const Retype *of);

#endif
