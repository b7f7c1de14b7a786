/* carry_choice.h - Declares the join of two blocks into a choice (internal to
 * passes/schedule/loops; carry_choice.c). */
#ifndef TIRC_PASSES_SCHEDULE_LOOPS_CARRY_CHOICE_H
#define TIRC_PASSES_SCHEDULE_LOOPS_CARRY_CHOICE_H

#include "passes/schedule/flow.h"

/* The last loop of the path with one block where it has `if`, `else` and two blocks that store to
 * the same element; the loop as it is where it has another form. */
Stmt *loop_with_choice(Schedule *s, const StmtPath *path);

#endif
