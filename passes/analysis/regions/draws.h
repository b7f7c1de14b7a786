/* draws.h - Derives the values that random inputs of a program are drawn from. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_DRAWS_H
#define TIRC_PASSES_ANALYSIS_REGIONS_DRAWS_H

#include "ir/ir.h"

/* Ranges and orders of inputs that follow from how the program uses them and that its `where`
 * clause does not give: subscripts lie in their axis, bounds of loops ascend, and arguments of
 * logarithms are positive. The compiler does not assume them; only generated inputs obey them.
 * *n is their number. */
const Fact *input_draws(Context *c, const Kernel *program, int *n);

#endif
