/* combiner.h - Declares how steps make reducers of their own. */
#ifndef TIRC_PASSES_SHARED_COMBINER_H
#define TIRC_PASSES_SHARED_COMBINER_H

#include "ir/tuple.h"

/* A component whose operands are called x and y, without a combined value. */
CombinerPart combiner_part(Context *c, const char *name, Expr *identity);
/* The combiner, whose operands are called x and y, under the name `base`, or base_1, base_2 ...
 * where `body` has another reducer of that name; one that it has already, if they are equal. */
const Combiner *combiner_named(Context *c, const Stmt *body, const char *base, Combiner *made);

#endif
