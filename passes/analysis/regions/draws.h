/* draws.h - Derives the values that random inputs of a program are drawn from. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_DRAWS_H
#define TIRC_PASSES_ANALYSIS_REGIONS_DRAWS_H

#include "ir/ir.h"

/* Ranges and orders of inputs that follow from how the program uses them, where its `where` clause
 * says nothing: integers that are subscripts lie in the axis that they index, bounds of loops
 * ascend, and what a logarithm is taken of is positive. They are no assumptions: only generated
 * inputs obey them. *n is their number. */
const Fact *input_draws(Context *c, const Kernel *program, int *n);

#endif
