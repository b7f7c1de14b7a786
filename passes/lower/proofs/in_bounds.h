/* in_bounds.h - Proves that the accesses of a lowered kernel stay inside their buffers.
 *
 * The proof reads the kernel as emitted: launches, loops, names, guards, conditions inside
 * expressions, and final subscripts. It uses no results of earlier passes. It examines each access
 * of global, constant, shared and local memory separately, for all symbolic sizes of at least 1,
 * and omits buffers without axes. An access in a vectorized loop stands for all elements of the
 * wide access, whose first index must also be a multiple of its width.
 *
 * Linearized subscripts (flatten.c) are delinearized. The original subscripts serve as a guess: the
 * proof first shows that they give the same element. */
#ifndef TIRC_PASSES_LOWER_PROOFS_IN_BOUNDS_H
#define TIRC_PASSES_LOWER_PROOFS_IN_BOUNDS_H

#include "ir/ir.h"

typedef enum {
    BOUNDS_PROVED,
    BOUNDS_LEAVES,   /* some iteration accesses what the buffer does not have */
    BOUNDS_DATA,     /* it depends on what memory or a scalar argument holds */
    BOUNDS_UNPROVED, /* products of sizes, or too hard a question */
} BoundsAnswer;

/* One access in the text. */
typedef struct {
    const Stmt *store; /* what it is: a store, or NULL ... */
    const Expr *load;  /* ... and a load */
    BoundsAnswer answer;
    const char *element; /* "x[i + 1]" */
    /* of all answers but the first, a sentence; with the witness of BOUNDS_LEAVES; in the arena */
    const char *why;
    bool always; /* BOUNDS_LEAVES: also at the sizes that were asked about */
} AccessBounds;

typedef struct {
    VEC(AccessBounds) accesses;     /* in the order of the text */
    int count[BOUNDS_UNPROVED + 1]; /* of each answer */
} MemoryBounds;

/* `sizes` [kernel->n_sizes] are those of a run, or NULL: then no answer is `always`. */
MemoryBounds accesses_in_bounds(Context *c, const Kernel *lowered, const int64_t *sizes);

/* The kernel in which only accesses that are not proved keep the subscripts of their axes, which
 * the virtual machine checks. */
Kernel *keep_unproved_axes(Context *c, const Kernel *lowered, const MemoryBounds *found);

#endif
