/* loop.h - Declares helpers of primitives that reshape loop nests (internal to passes/schedule;
 * loop.c). */
#ifndef TIRC_PASSES_SCHEDULE_LOOPS_LOOP_H
#define TIRC_PASSES_SCHEDULE_LOOPS_LOOP_H

#include "passes/schedule/flow.h"

/* Room for `added` more loops on the paths through the last node of `path`; false after E0431. */
bool loop_require_depth(Schedule *s, const StmtPath *path, int added, Span span);
/* No loop is named twice; false after an error. */
bool loop_require_distinct(Schedule *s, const PrimCall *call, const Value *loops, int n);
/* `loop`, whose values are `by` more than those of `old`, with the body of that. `facts` hold
 * there. */
Stmt *loop_offset(Schedule *s, Facts *facts, const Stmt *old, ForStmt loop, Expr *by);
/* The loop, whose iterations are to run on an axis of a launch, with its temporaries of a scope in
 * memory that each iteration has for itself; what moved is the remark of the step (private.c). */
Stmt *loop_with_private_temps(Schedule *s, Stmt *loop, Scope of, Axis axis);
/* The most elements of a vector. */
#define MAX_VECTOR 16

/* Gives a loop that has a kind back its serial one, for another kind to replace it; *loop and *path
 * are then of that loop. The rest of a launch may need a bound loop: false after an error. */
bool loop_make_serial(Schedule *s, Stmt **loop, StmtPath *path, Span span);
/* The iterations of the loop side by side in the loops below it, unrolled (virtual.c). */
Stmt *loop_interleaved(Schedule *s, const Stmt *loop);
/* Vectorizes a serial loop; false after an error. */
bool loop_vectorize(Schedule *s, Stmt *loop, const StmtPath *path, Span span);

#endif
