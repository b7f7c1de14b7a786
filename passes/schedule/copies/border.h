/* border.h - Reads the border of an axis from subscripts (internal to passes/schedule). */
#ifndef TIRC_PASSES_SCHEDULE_COPIES_BORDER_H
#define TIRC_PASSES_SCHEDULE_COPIES_BORDER_H

#include "passes/analysis/symbolic/simplify.h"

/* A subscript of an axis of `extent` elements, where choices are written as what they are equal to
 * for all values that the facts allow: a minimum, a maximum, or a remainder. */
Expr *border_of_choices(Context *c, Facts *f, Expr *e, Expr *extent);

#endif
