/* lanes.h - Evaluates one condition for all lanes of an access (internal to passes/lower). */
#ifndef TIRC_PASSES_LOWER_LANES_H
#define TIRC_PASSES_LOWER_LANES_H

#include "passes/lower/pass.h"

/* The iterations of a loop over `var` from 0 to `count`, whose conditions may use named values
 * (`lets`, innermost last; may be empty). */
typedef struct {
    Context *c;
    Facts *facts;
    const SubstList *lets;
    Var *var;
    int64_t count;
} Lanes;

/* `cond` without `var` where all lanes agree on it; NULL where that is not proved. */
Expr *lanes_agree(const Lanes *l, Expr *cond);

/* A condition without `var` under which every lane passes `cond`; NULL where there is none of a
 * simple form. */
Expr *lanes_all(const Lanes *l, Expr *cond);

#endif
