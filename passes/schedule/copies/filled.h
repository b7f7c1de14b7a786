/* filled.h - What buffers hold before a nest runs, for primitives that read more of them there
 * (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_COPIES_FILLED_H
#define TIRC_PASSES_SCHEDULE_COPIES_FILLED_H

#include "passes/schedule/flow.h"

/* A nest on the path to a block: the one at this index of it. */
typedef struct {
    const StmtPath *path;
    int top;
} NestPlace;

/* Is nest `a` in the same sequence as nest `b`, and before it? */
bool filled_stands_before(NestPlace a, NestPlace b);

/* All elements of the buffer have their values when the nest runs: an input, or what one block
 * before it sets, and no others but blocks before it change. */
bool filled_before(Schedule *s, NestPlace nest, const Buffer *buffer);

/* Elements with subscripts lo..hi on an axis. */
typedef struct {
    int axis;
    Expr *lo, *hi;
} AxisPart;

/* Are these elements of a buffer, which one block sets, all this literal? */
bool filled_with(Schedule *s, const Buffer *buffer, AxisPart part, const Expr *fill);

#endif
