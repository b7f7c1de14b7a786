/* bulk_place.h - Proves that a bulk copy puts each element where the program has it. */
#ifndef TIRC_PASSES_SHARED_BULK_PLACE_H
#define TIRC_PASSES_SHARED_BULK_PLACE_H

#include "passes/analysis/regions/bulk_copy.h"

/* The mode in which the hardware makes the layout that the buffer has, under the facts of the
 * block. BULK_NONE: `why` says why there is none, as a sentence without its beginning. */
BulkMode bulk_place(Context *c, Facts *f, const BulkForm *form, const char **why);

#endif
