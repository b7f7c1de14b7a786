/* reducer.h - Describes reductions that can be computed as partial results, each over some of the
 * values, and then combined.
 *
 * That is right for operators that are commutative and associative and have an identity, which
 * stands for the result of no values at all. Floating-point sums and products then round in another
 * order. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_REDUCER_H
#define TIRC_PASSES_ANALYSIS_REGIONS_REDUCER_H

#include "ir/ir.h"

typedef struct {
    /* buffer[index] op= value, with the values of the block's lets written out */
    const Stmt *update;
    Expr *value; /* of the update behind the lets */
    StoreOp op;
    Expr *start;        /* what the init stores, in terms of the block's spatial iterators */
    Expr *identity;     /* a literal e with e op x == x */
    bool from_identity; /* start is that literal */
    bool rounds;        /* another order gives another result */
} Reducer;

/* What `block` reduces with: one update of one element for each value of the spatial iterators, of
 * the form above, that nothing else in it reads, beside an init of the same element. False where it
 * is none, with the reason as a clause ("it has no init ..."). */
bool reducer_of(Context *c, const BlockStmt *block, Reducer *out, const char **why);

/* a op b. */
Expr *reducer_combine(Context *c, const Reducer *r, Expr *a, Expr *b);

#endif
