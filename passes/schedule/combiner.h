/* combiner.h - Makes reducers for steps (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_COMBINER_H
#define TIRC_PASSES_SCHEDULE_COMBINER_H

#include "ir/tuple.h"
#include "passes/schedule/sched.h"

/* A component whose operands are called x and y, without a combined value. */
CombinerPart combiner_part(Context *c, const char *name, Expr *identity);
/* The combiner, whose operands are called x and y, under the name `base`, or base_1, base_2 ...
 * where another reducer of the program has that; one that it has already, if they are equal. */
const Combiner *combiner_named(const Schedule *s, const char *base, Combiner *made);
/* `a` updated by `b`, of the same type, as the text of a program has it: small integers are
 * computed in 32 bits, whose lower ones are the same. */
Expr *combiner_update(Context *c, StoreOp op, Expr *a, Expr *b);

#endif
