/* bulk_copy.h - Decides whether a block copies a box of a tensor, so that the hardware can do it. A
 * block with the annotation (copy_bulk) is checked again when it is lowered, because later steps
 * may have changed it. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_BULK_COPY_H
#define TIRC_PASSES_ANALYSIS_REGIONS_BULK_COPY_H

#include "ir/copies/bulk_copy.h"
#include "passes/analysis/symbolic/simplify.h"

/* The element of a buffer that a copy accesses. */
typedef struct {
    const Buffer *buffer;
    Expr *const *index;
} BulkSide;

/* The parts of such a block. */
typedef struct {
    bool stores;  /* from shared memory to the tensor */
    bool updates; /* and it combines each element with what is there */
    const Stmt *store;
    BulkSide tensor, shared;
    Expr *guard; /* NULL, or what holds inside of the tensor: other elements are 0, or not stored */
    int n;       /* loops of several iterations, outermost first */
    const ForStmt *loops[BULK_MAX_RANK];
    int axis[BULK_MAX_RANK];       /* of the tensor, along which each goes in steps of 1 */
    int64_t extent[BULK_MAX_RANK]; /* of each */
} BulkForm;

/* NULL: the block is a nest of loops over one store of an element of an input or a temp, or of 0
 * where there is none, to a buffer of the same type in shared memory, or of an element in shared
 * memory to an output or a temp if there is one, or over one update of such an element by one in
 * shared memory, and they go through a box of the tensor row by row. Else the reason why it is no
 * such copy, as a sentence that begins with the block. */
const char *bulk_copy_obstacle(Context *c, Facts *f, const BlockStmt *block, BulkForm *form);

#endif
