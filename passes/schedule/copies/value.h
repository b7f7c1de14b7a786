/* value.h - Builds the nest that computes a part of a block's value in front of it, in a buffer
 * (internal to passes/schedule; shared by cache_value and cache_factor). */
#ifndef TIRC_PASSES_SCHEDULE_COPIES_VALUE_H
#define TIRC_PASSES_SCHEDULE_COPIES_VALUE_H

#include "passes/schedule/copies/stage.h"

typedef struct {
    const char *name; /* of the buffer, behind the block's */
    StmtPath path;    /* to the block */
    Expr *value;      /* of its iterators */
    Var *const *var;  /* [n] those that the value uses, in the order of the buffer's axes */
    int n;
    Scope scope;
    Span origin; /* of the step */

    /* what value_place and value_nest find */
    StmtPath outside; /* the loops around the nest */
    Buffer *buffer;
    Stmt *compute; /* the block that fills it */
} ValueNest;

/* The place in front of the users, the block and others, where nothing has yet written what the
 * value reads, up to the last of them. False where there is none. */
bool value_place(Schedule *s, ValueNest *v, const BlockList *users, StagePlace *place);
/* An iterator of the block that the loops around the nest decide: no axis of the buffer. */
bool value_is_outside(Context *c, const ValueNest *v, const BlockIter *iter);
/* The block runs for all values of its iterators, as the nest will, and no loop around the nest
 * writes what values of its later iterations are made of. Refuses (E0917) otherwise. */
bool value_require_all(Schedule *s, const ValueNest *v, Span span);
/* The nest that fills the buffer, for all values of the iterators. NULL after a refusal (E0917):
 * the range of one does not start at 0, or is none of sizes. */
Stmt *value_nest(Schedule *s, ValueNest *v, Span span);
/* The kernel's body with the nest in its place, and with the buffer. */
Stmt *value_insert(Schedule *s, const ValueNest *v, const StagePlace *place, Stmt *nest);
/* The element of the buffer for iterators of a user, [n] in the place of the block's. */
Expr *value_load(Context *c, const ValueNest *v, const Var *const *own, Span span);

#endif
