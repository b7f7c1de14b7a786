/* inits.h - Finds where the init of a reduction runs. Lowering places it there; dependences and
 * primitives assume that place. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_INITS_H
#define TIRC_PASSES_ANALYSIS_REGIONS_INITS_H

#include "passes/analysis/symbolic/simplify.h"

/* The reduce iterator that takes no value for some values of the block's other iterators, perhaps,
 * and values for others: some elements have only their init. NULL: there is none. */
const BlockIter *reduction_empty_for_some(Context *c, const BlockStmt *block);

/* The reduce iterator that takes no value for any element: the block has its inits alone. NULL:
 * there is none. */
const BlockIter *reduction_empty_for_all(Context *c, const BlockStmt *block);

/* Some reduce iterator is not known to take a value: of some elements, or of all. */
bool reduction_may_be_empty(Context *c, const BlockStmt *block);

/* The init of `block` stands before the loop path->items[depth], if no loop around that one is
 * such: it carries the reduction on, or it may run not at all where the reduction is empty. */
bool reduction_starts_at(Context *c, const BlockStmt *block, const StmtPath *path, int depth);

/* The index on the path of the statement that the block's init stands before: the outermost loop
 * of the reduction, or the block. */
int reduction_start(Context *c, const StmtPath *path);

/* Of the facts at `block`, those that its init has, too, which stands outside of loops of the
 * reduction: that such a loop has an iteration is not known of it, nor what was learnt inside. */
Facts *facts_at_init(Facts *f, const BlockStmt *block);

/* Of the facts, those of the kernel and of loops with literal ranges: these have an iteration. */
Facts *facts_of_literal_loops(const Facts *f, const Kernel *kernel);

#endif
