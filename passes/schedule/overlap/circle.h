/* circle.h - Makes a buffer that each iteration of a loop fills anew a circle of the parts of some
 * iterations (internal to passes/schedule).
 *
 * Buffers are whole arrays at this level. In a circle, the part of an iteration takes the place of
 * the one that was filled `stages` iterations before. */
#ifndef TIRC_PASSES_SCHEDULE_OVERLAP_CIRCLE_H
#define TIRC_PASSES_SCHEDULE_OVERLAP_CIRCLE_H

#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    Stmt *loop;           /* from 0 in steps of 1 (loop_from_zero) */
    const StmtPath *path; /* to the loop as it was */
    int64_t stages;
} CircleLoop;

typedef struct {
    Stmt *item; /* of the loop's body, which fills the buffer */
    Buffer *buffer;
    int axis;     /* that moves with the loop ... */
    int64_t step; /* ... by this many elements an iteration */
} Circle;

/* Beside those in use, which are `pending` and one more, at least `ahead` stages are left. False
 * after a refusal (E0474). */
bool circle_stages_can(Schedule *s, const Value *stages, const Value *pending, int ahead);
/* The buffer is filled by this statement and read in the loop, nowhere else. False after a refusal
 * (E0472). */
bool circle_users_can(const CircleLoop *l, const Circle *a);
/* Fills in axis and step: each iteration fills a part of its own, and reads only that. False after
 * a refusal. */
bool circle_measure(const CircleLoop *l, Circle *a);
/* The buffer as a circle. */
Buffer *circle_folded(Context *c, const Circle *a, int64_t stages);

#endif
