/* guarded.h - Declares the form of a body that stores under conditions on what is there: if x[i] >
 * best { best = x[i]; at = i; }. */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_GUARDED_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_GUARDED_H

#include "passes/shared/rebuild.h"

/* Conditions, and stores under them, in terms of the block's iterators: the values of lets are
 * written out. */
typedef struct {
    ExprList conds;  /* all of them hold where the stores happen, the outermost first */
    StmtList stores; /* `=` */
} GuardedStores;

/* Reads the body: conditions without `else`, lets, and stores inside of them all. `x = c ? e : x`
 * alone is a store of e under the condition c. False where it has another form. */
bool guarded_stores(Context *c, const Stmt *body, GuardedStores *out);

#endif
