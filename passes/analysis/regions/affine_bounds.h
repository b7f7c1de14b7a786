/* affine_bounds.h - Declares which expressions the bounds of loops may be. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_AFFINE_BOUNDS_H
#define TIRC_PASSES_ANALYSIS_REGIONS_AFFINE_BOUNDS_H

#include "ir/ir.h"

/* Whether the expression is piecewise affine in loops, iterators and integers of inputs, with
 * coefficients and divisors of sizes. */
bool expr_is_affine(const Expr *e);

#endif
