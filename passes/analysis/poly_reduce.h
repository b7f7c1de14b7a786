/* poly_reduce.h - most systems are decided without a solver. */
#ifndef TIRC_PASSES_ANALYSIS_POLY_REDUCE_H
#define TIRC_PASSES_ANALYSIS_POLY_REDUCE_H

#include "passes/analysis/poly.h"

/* POLY_NONE or POLY_SOME where it is plain, POLY_SPENT where a solver must decide.  Rows speak of
 * columns, which `dimension` numbers from 0 to n - 1.  Without `find`, POLY_SOME is not tried. */
Answer poly_reduce(Context *c, const Row *rows, int n_rows, const int *dimension, int n, bool find);

#endif
