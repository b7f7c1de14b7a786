/* zero_divisor.h - Decides whether a divisor can be 0 in an iteration that runs.
 *
 * A program does not divide by 0: where N is 0, the loops that divide by N have no iteration. A
 * step that adds iterations, or hoists a quotient out of its condition, must check that this still
 * holds. */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_ZERO_DIVISOR_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_ZERO_DIVISOR_H

#include "passes/analysis/symbolic/simplify.h"

/* Some divisor in `e` may be 0 while loops with these extents all run. False is certain, true is
 * not. */
bool may_divide_by_zero(Facts *f, Expr *e, Expr *const *extents, int n);

#endif
