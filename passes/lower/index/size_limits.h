/* size_limits.h - what the sizes of a run must keep, gathered while arithmetic is given its
 * width. */
#ifndef TIRC_PASSES_LOWER_INDEX_SIZE_LIMITS_H
#define TIRC_PASSES_LOWER_INDEX_SIZE_LIMITS_H

#include "passes/lower/index/size_sum.h"

typedef struct {
    Context *c;
    VEC(const SizeSum *) items; /* positive; none within another */
} SizeLimits;

/* bound <= INT32_MAX; a NULL, or a limit that others imply, adds nothing. */
void size_limits_add(SizeLimits *l, const SizeSum *bound);
/* Becomes the limits of the kernel. */
void size_limits_give(const SizeLimits *l, Kernel *kernel);

#endif
