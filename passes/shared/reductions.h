/* reductions.h - Declares how lowering decomposes reductions, for its passes and for primitives
 * that do it earlier or need to know the result. */
#ifndef TIRC_PASSES_SHARED_REDUCTIONS_H
#define TIRC_PASSES_SHARED_REDUCTIONS_H

#include "ir/ir.h"

/* A reduction block at the end of `path`, and a statement around it, the anchor: item
 * `anchor` of the path. */
typedef struct {
    const Kernel *kernel;
    const StmtPath *path;
    int anchor;
} ReductionPlace;

/* Splits the init off the block: returns a nest that runs it for the values of its spatial
 * iterators inside the anchor, to place before the anchor, and the remaining block. The lower_init
 * pass does this for all reductions, decompose_reduction for one. False after a diagnostic. */
bool reduction_take_init(Context *c, const ReductionPlace *at, Stmt **init_nest, Stmt **update);

/* The kernel with the init of every reduction as a block of its own; NULL after a diagnostic. */
Kernel *inits_apart(Context *c, const Kernel *kernel);

/* The kernel with every reduction across threads - a block with an init, one of whose reduction
 * loops is bound to a thread axis - taken apart into partial results of the threads and their
 * combination (thread_reduction.c): what the lower_thread_reductions pass does, and what primitives
 * ask of when a loop is bound. The kernel itself where there is none; NULL, with the block, the
 * loop and a sentence, where one cannot be taken apart. */
typedef struct {
    const BlockStmt *block;
    const Stmt *lanes;
    const char *why;
} ThreadReduction;
const Kernel *thread_reductions_apart(Context *c, const Kernel *kernel, ThreadReduction *refused);
/* The block at the end of the path is such a reduction. */
bool reduction_is_across_threads(Context *c, const StmtPath *path);

#endif
