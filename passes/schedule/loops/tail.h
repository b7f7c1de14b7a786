/* tail.h - Extends loops past their end (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_LOOPS_TAIL_H
#define TIRC_PASSES_SCHEDULE_LOOPS_TAIL_H

#include "passes/schedule/flow.h"

/* A temp that needs room behind its end, on one axis. */
typedef struct {
    const Buffer *from;
    int axis;
    Buffer *to; /* once it has it (tail_grow) */
} TailBuffer;
typedef VEC(TailBuffer) TailBuffers;

/* The loop from 0 up to `end`, which is at least where it ends now, with blocks that run there too,
 * and the temps that need room for it. NULL after E0811 where that would be seen. */
Stmt *tail_padded(Schedule *s, Stmt *loop, Expr *end, Span span, TailBuffers *grown);

/* `body` with that room, up to `end`. */
Stmt *tail_grow(Schedule *s, Stmt *body, const TailBuffers *grown, Expr *end);

#endif
