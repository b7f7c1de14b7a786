/* sums.h - Declares the scan of the sums of chunks that scan_chunks makes, as lookback and
 * scan_steps read it (internal to passes/schedule/scans). */
#ifndef TIRC_PASSES_SCHEDULE_SCANS_SUMS_H
#define TIRC_PASSES_SCHEDULE_SCANS_SUMS_H

#include "ir/tuple.h"
#include "passes/schedule/sched.h"

/* A component of the value, with subscripts in terms of the loops: before[p] = s; s += total[p]. */
typedef struct {
    Buffer *value, *before;
    Expr *read;   /* s */
    Expr **store; /* the subscripts of before[p] */
    Expr *total;
} SumsPart;

typedef struct {
    Schedule *s;
    Span span;
    ErrorCode code; /* of refusals */
    StmtPath path;  /* to the block of what stands before a chunk; then: to the loop */
    Stmt *loop, *before, *update;
    StmtPath loops; /* those around, and the loop */
    StoreOp op;
    const Combiner *combiner; /* of a tuple; NULL: `op` */
    SumsPart *parts;
    int n_parts;
} Sums;

/* The loop that holds two blocks, the given one first, and nothing else. False after a refusal. */
bool sums_find(Sums *sums, const Value *before);
/* Fills in the parts; false where the blocks are not  before[p] = s; s += total[p]; */
bool sums_read(Sums *sums);
/* The component whose value is in `value`; -1: none. */
int sums_part_of(const Sums *sums, const Buffer *value);
/* Refuses a loop that is not serial, and updates that keep their order. */
bool sums_require_free(const Sums *sums);
/* Refuses a value of which each iteration of the loop has an element of its own. */
bool sums_require_carried(const Sums *sums, const Stmt *loop);

/* The iterators of a new block: one for each of the loops, and one more that the block may add. */
typedef struct {
    BlockIter *iters;
    int n;
    Subst *of_loops; /* [n_loops] the loops in terms of iterators */
    int n_loops;
} SumsIters;

/* Those of the first `n` loops, which are bound to the variables `at`; NULL: their own. */
SumsIters sums_iters(const Sums *sums, int n, Var *const *at);
/* An expression of the loops in terms of the iterators. */
Expr *sums_inside(const Sums *sums, const SumsIters *iters, Expr *e);
/* The same of s, and of total[p], of all components. */
Expr **sums_values(const Sums *sums, const SumsIters *iters);
Expr **sums_totals(const Sums *sums, const SumsIters *iters);
/* `of` with the iterators, and a fresh name like `name`. */
Stmt *sums_block(const Sums *sums, const SumsIters *iters, Name name, BlockStmt of);
/* The block that stores what stands before a chunk, with these values where `predicate` holds. */
Stmt *sums_before(const Sums *sums, const SumsIters *iters, Expr *const *values, Expr *predicate);
/* A temp for component `k` that has shape, rank and scope of `shaped`. */
Buffer *sums_buffer(const Sums *sums, int k, const char *suffix, const Buffer *shaped);

/* The literal e with e op x == x of component `k`. */
Expr *sums_identity(const Sums *sums, int k);
/* a op b, of all components. */
Expr **sums_combined(const Sums *sums, Expr *const *a, Expr *const *b);
/* targets = targets op values. */
Stmt *sums_combine_into(const Sums *sums, const BufferElement *targets, Expr *const *values);
/* Another order of the sums gives another result. */
bool sums_round(const Sums *sums);
/* The name of the value: "best" of a tuple of best_value and best_index. */
Name sums_name(const Sums *sums);

#endif
