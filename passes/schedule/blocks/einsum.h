/* einsum.h - Declares an einsum that pad_einsum pads, and its padded buffers (internal to
 * passes/schedule/blocks; pad_einsum.c). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_EINSUM_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_EINSUM_H

#include "passes/schedule/flow.h"

/* An element that a padded reduction reads, with all of its parts, and the literal that stands in
 * its padding. */
typedef struct {
    const Buffer *operand;
    Expr *const *index;
    Expr *value;
} Fill;

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path;
    int top;                /* index on it of the outermost loop of the nest */
    const BlockStmt *block; /* with all rows where a range is not one of sizes */
    const Stmt *update;
    Expr **padded; /* [n_iters] the extent that an iterator gets, or NULL */
    /* [n_iters] how much padding stands before the first element, or NULL: it stands behind the
     * last */
    Expr **shift;
    VEC(Fill) fills;        /* einsum_find_fills */
    const BlockStmt *given; /* with its own ranges */
} Einsum;

/* A temp of the einsum that needs no padded copy. */
typedef struct {
    const Buffer *from;
    Buffer *to;          /* with room behind its edges */
    Stmt *nest, *filled; /* of an operand: the nest that computes it, and what that becomes */
} Growth;

/* The iterator that an expression is, alone; -1. */
int einsum_iter(const BlockStmt *block, const Expr *e);
/* The subscripts are the same, but for numbers, as those of a[i, k, 0] and a[i, k, 1]: parts of one
 * element, whose padding is alike. */
bool einsum_are_parts(Expr *const *a, Expr *const *b, int rank);
/* The axis has an element for each value of the iterator: none, too, where its range is empty. */
bool einsum_is_axis(Context *c, const Expr *extent, const BlockIter *iter);
/* The iterators of the block at the end of the path are the loops of a perfect nest that holds it
 * alone; `*top` is the index of the outermost one. */
bool einsum_is_nest(const StmtPath *path, const BlockStmt *block, int *top);
/* All iterators of the block start at 0. */
bool einsum_is_from_zero(const BlockStmt *block);
/* All that the expression reads exists. */
bool einsum_loads_exist(Context *c, Facts *facts, const Expr *e);
/* An integer is divided by what may be 0. */
bool einsum_divides_integers(const Expr *e);
/* The shape of the accessed buffer, with the axes that padded iterators are subscripts of as long
 * as those become. */
Expr **einsum_shape(Einsum *e, const Access *a);
/* How much padding stands before the elements on each axis of the accessed buffer; NULL where it
 * stands behind, or there is none. */
Expr **einsum_shifts(Einsum *e, const Access *a);
/* Decides what stands in the padding of operands so that padded terms leave the result as it is, or
 * refuses (E0832). */
bool einsum_find_fills(Einsum *e);
/* What stands in the padding of the buffer: 0 where no term counts. */
Expr *einsum_fill(const Einsum *e, const Buffer *operand);
/* to[v] = from[v] over the shape of `to`; if it pads (`shift` is not NULL), with what stands in the
 * padding where that is larger. */
Stmt *einsum_copy(Einsum *e, Expr *const *shift, Buffer *to, Buffer *from, Name name);
/* The nest that ends in the block at the end of the path, with iterators as long as they become
 * (NULL: as they are). */
Stmt *einsum_nest(Context *c, const StmtPath *path, int top, Stmt *block, Expr *const *extent);
/* Can the temp behind this access have what is beyond the edge itself? */
bool einsum_growth(Einsum *e, const Access *a, bool written, Growth *g);

#endif
