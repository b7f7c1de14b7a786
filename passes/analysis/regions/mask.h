/* mask.h - Finds conditions without which a value changes nothing that it is combined with. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_MASK_H
#define TIRC_PASSES_ANALYSIS_REGIONS_MASK_H

#include "ir/ir.h"

/* Adds comparisons of indices (<, <=, > and >=) to `out`. Where one of them does not hold, `value`
 * is `neutral`, such as 0 or an infinity, or NaN. They are in terms of what `value` is. Elements of
 * temps stand for the values that the kernel's blocks store there. */
void mask_conditions(Context *c, const Kernel *kernel, const Expr *value, const Expr *neutral,
                     ExprList *out);

#endif
