/* inputs.h - Computes the values that an input may have, from the `where` clause and from its
 * uses. */
#ifndef TIRC_CODEGEN_INPUTS_H
#define TIRC_CODEGEN_INPUTS_H

#include "ir/ir.h"

typedef struct {
    bool limited;           /* there is a range or an order at all */
    Expr *least, *greatest; /* integers: INDEX expressions of sizes, inclusive; NULL: open */
    double lo, hi;          /* floats */
    bool has_lo, has_hi, excludes_lo, excludes_hi;
    Order order; /* ORDER_COUNT: none */
} InputValues;

/* The combined range of one parameter from facts[0..n). */
InputValues input_values(Context *c, const Fact *facts, int n, const Param *param);
/* The range of random data for a parameter of the kernel. */
InputValues input_draw(Context *c, const Kernel *kernel, const Param *param);

#endif
