/* reducer.h - Describes reductions that can be computed as partial results, each over some of the
 * values, and then combined.
 *
 * Such operators are associative and have an identity, the result for no values. They are
 * commutative, too, but for reducers that are declared `ordered`: of these a partial result is one
 * of consecutive values, and partial results are combined in their order.
 * Floating-point sums and products then round in another order. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_REDUCER_H
#define TIRC_PASSES_ANALYSIS_REGIONS_REDUCER_H

#include "ir/ir.h"

/* One component of a reduction: a reduction of a tuple has one for each buffer. */
typedef struct {
    BufferElement target;
    Expr *value;    /* that is combined with it, behind the block's lets */
    Expr *written;  /* the same with the values of the lets written out */
    Expr *start;    /* what the init stores, in terms of the block's spatial iterators */
    Expr *identity; /* a literal e with e op x == x */
} ReducerPart;

typedef struct {
    const Stmt *update; /* a store, or an update of a tuple; somewhere in the body */
    Expr *guard; /* where it happens, with the values of lets written out; NULL: everywhere */
    const Combiner *combiner; /* of a tuple; NULL: `op` */
    StoreOp op;
    const ReducerPart *parts;
    int n;
    bool from_identity; /* it starts from the identity */
    bool rounds;        /* another order gives another result */
    const Buffer *own;  /* one that it updates, of which its values read elements; NULL: none */
} Reducer;

/* Recognizes the reduction of the block at the end of the path, in one run of
 * `path->items[from]`: one update of the form above for each value of the spatial iterators, of
 * elements that nothing else in the block reads, and an init of the same elements. False if it
 * is no reduction, with the reason as a clause ("it has no init ..."). */
bool reducer_of(Context *c, const StmtPath *path, int from, Reducer *out, const char **why);

/* The same, where values may read elements of what the block updates: `out->own`. Partial results
 * are then legal where these are other elements than all of the updated ones (partial.h). */
bool reducer_but_for_reads(Context *c, const StmtPath *path, int from, Reducer *out,
                           const char **why);

/* Elements, one for each part, and a value for each. */
typedef struct {
    const BufferElement *elements;
    Expr *const *values;
} ReducerStore;

/* The same, where several instances of the block may update one element. */
bool reducer_of_block(Context *c, const BlockStmt *block, Reducer *out);

/* Values keep their order: they may be grouped otherwise, and no more. */
bool reducer_is_ordered(const Reducer *r);
/* elements = values. */
Stmt *reducer_set(Context *c, const Reducer *r, ReducerStore to);
/* elements = elements op values. */
Stmt *reducer_update(Context *c, const Reducer *r, ReducerStore to);
/* The elements of the parts, as a new array. */
BufferElement *reducer_targets(Context *c, const Reducer *r);
/* The values of elements, one for each part. */
Expr *const *reducer_load(Context *c, const Reducer *r, const BufferElement *elements);
/* The literals that the parts have as identities. */
Expr *const *reducer_identities(Context *c, const Reducer *r);
/* The literal e with e op x == x for every x of the type; NULL for a plain store. */
Expr *reducer_neutral(Context *c, StoreOp op, DType type, Span span);
/* The same for every x that the update can get to from `start`: 0 for a sum of floats from a
 * literal that is not -0, and an infinity for a minimum from one that is a number. */
Expr *reducer_neutral_from(Context *c, StoreOp op, DType type, const Expr *start, Span span);
/* Another order of the values gives another result. */
bool reducer_rounds(StoreOp op, DType type);
/* The same of some update in the statement. */
bool stmt_update_rounds(Context *c, const Stmt *s);
/* a op b, of a reduction that is no tuple. */
Expr *reducer_combine(Context *c, const Reducer *r, Expr *a, Expr *b);

#endif
