/* factor.h - Computes a reduction in parts: one partial result for each iteration of a loop
 * (internal to passes/schedule/blocks; shared by rfactor and scan_chunks, and by factor_out, which
 * computes a result in two steps). */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_FACTOR_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_FACTOR_H

#include "passes/analysis/dependence/partial.h"
#include "passes/schedule/copies/stage.h"
#include "passes/shared/reductions.h"

typedef struct {
    Schedule *s;
    StmtPath path; /* to the block */
    Stmt *node;
    const BlockStmt *block;
    Reducer r;
    const Stmt *loop;     /* whose iterations get results of their own */
    int anchor;           /* on the path: the outermost loop that is computed in parts */
    int axis;             /* of the loop, in buffers of partial results */
    Buffer **rf;          /* of partial results, one for each component */
    Name name;            /* of their block */
    VEC(BlockIter) iters; /* of the block of partial results */
    VEC(Subst) map;       /* loops and old iterators in terms of these */
    int n_spatial;        /* how many of `iters` are the block's own; they come first */
    int n_outer;          /* ... then those of loops that carry the reduction around the anchor */
    Var *part;            /* the one of `loop` */
    Expr *predicate;      /* on loops, or NULL */
    Expr *exists;         /* on iterators, or NULL: elsewhere the identity is added */
    bool reduces;         /* there is another reduction loop */
    bool among_others;    /* the loops may hold other statements, too */
} Factor;

/* The spatial iterators use the statement, a loop, or the reduction runs over it. */
bool factor_uses(const Factor *f, IterKind kind, const Stmt *loop);

/* Fills in f->r, for the reduction in one run of the anchor; false after a refusal (E0476). */
bool factor_check_reducer(Factor *f, Span span);
/* The loop may become an axis, and the loops from the anchor to the block hold nothing else, or
 * with f->among_others nothing else that accesses what the block reduces. False after a refusal
 * (E0410, E0475). */
bool factor_check_loops(Factor *f, Span span);
/* Fills in the iterators of the block of partial results; false after a refusal (E0475). */
bool factor_find_iters(Factor *f, Span span);

/* The item of the path that the nest of the results may follow: of the loops from there to the
 * anchor, each holds nothing but the next, and each element belongs to one iteration. */
int factor_top(Factor *f);

/* A name for a block, which a tuple's buffers are named after: "y_rf", and "y_rf_value". */
Name factor_name(Factor *f, const char *suffix);
/* A buffer for component `k` that has shape, rank and origin of `shaped`. A tuple's is called after
 * its component, too. */
Buffer *factor_buffer(const Factor *f, int k, Name name, const Buffer *shaped);
/* One buffer for each component, which has the loop as a new axis. */
Buffer **factor_buffers(Factor *f, Name name, Span origin);
/* For each component, the element of its buffer, made by factor_buffers, that belongs to the
 * component's element and value `part` of the loop. */
BufferElement *factor_elements(const Factor *f, Buffer *const *buffers, Var *part);
/* The update of the reduction's elements by the partial results of `part`. */
Stmt *factor_update_by(const Factor *f, Var *part);
/* The block of partial results, with the loops as they are. */
Stmt *factor_block(Factor *f);

/* A nest of the loops that the item `top` of the path would have for the block's init, around a
 * block `*bottom` that runs `body` (of the block's spatial iterators) and has these iterators. NULL
 * after a diagnostic. */
Stmt *factor_spread(Factor *f, int top, Stmt *body, Stmt **bottom);

#endif
