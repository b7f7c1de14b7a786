/* carry.h - Declares what carry would compute (internal to passes/schedule; carry.c). */
#ifndef TIRC_PASSES_SCHEDULE_LOOPS_CARRY_H
#define TIRC_PASSES_SCHEDULE_LOOPS_CARRY_H

#include "passes/schedule/flow.h"

/* The store by which the temporary of carry(loop, buffer) gets its next value; NULL where carry
 * would be refused. Changes nothing. */
Stmt *carry_next(Schedule *s, const Value *loop, const Value *buffer);

#endif
