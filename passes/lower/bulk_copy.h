/* bulk_copy.h - Lowers bulk copies (internal to passes/lower). */
#ifndef TIRC_PASSES_LOWER_BULK_COPY_H
#define TIRC_PASSES_LOWER_BULK_COPY_H

#include "passes/lower/pass.h"

/* The bulk copy that a block marked by copy_bulk is, as an instruction, under the facts of its
 * place. `shown` replaces its iterators in the text. NULL after E0860. */
Stmt *bulk_copy_lower(Context *c, Facts *f, const Stmt *s, const SubstList *shown);

#endif
