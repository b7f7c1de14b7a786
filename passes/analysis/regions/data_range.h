/* data_range.h - Bounds what expressions compute from data, and tells which types have their
 * values.
 *
 * Of an element only its type is known. Arithmetic is followed as the hardware does it: integers
 * wrap around, floats round. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_DATA_RANGE_H
#define TIRC_PASSES_ANALYSIS_REGIONS_DATA_RANGE_H

#include "ir/ir.h"
#include "passes/analysis/symbolic/interval.h"

/* Bounds of an expression whose values are whole numbers; none where they may be others, or are
 * not bounded. */
Bounds data_range(const Expr *e);
/* A float that is made of literals, sizes, and functions whose results are not negative, so that it
 * is none either; or NaN. */
bool float_is_not_negative(const Expr *e);
/* All values of an expression are values of the type, -0, infinities and NaN included. */
bool type_has_values(DType type, const Expr *e);

#endif
