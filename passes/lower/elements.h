/* elements.h - Finds the elements of operands that the text of a block's instruction names. */
#ifndef TIRC_PASSES_LOWER_ELEMENTS_H
#define TIRC_PASSES_LOWER_ELEMENTS_H

#include "ir/instruction.h"
#include "passes/analysis/symbolic/simplify.h"

/* Loads of elements, as many as the block's instruction names, in terms of its iterators. `thread`
 * is threadIdx.x where the block stands, NULL if nothing is it; `value` replaces iterators in the
 * proof of alignment. NULL after an error. */
Expr *const *instruction_elements(Context *c, Facts *facts, const Stmt *s, const Var *thread,
                                  const SubstList *value);

#endif
