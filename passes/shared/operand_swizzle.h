/* operand_swizzle.h - See operand_swizzle.c. */
#ifndef TIRC_PASSES_SHARED_OPERAND_SWIZZLE_H
#define TIRC_PASSES_SHARED_OPERAND_SWIZZLE_H

#include "passes/shared/unify.h"

/* Why the operand's chunks lie in other places than its instruction expects; NULL: they do not, or
 * the instruction expects no swizzle. */
const char *swizzle_mismatch(Context *c, Facts *facts, const Operand *operand,
                             const OperandPlace *at);

#endif
