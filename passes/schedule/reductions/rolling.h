/* rolling.h - What the files of rolling_update have in common. */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_ROLLING_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_ROLLING_H

#include "passes/schedule/loops/loop.h"
#include "passes/schedule/reductions/power.h"

/* What one of the loops behind that of the maximum computes: weights, or a sum. */
typedef struct RollingPart RollingPart;
struct RollingPart {
    StmtPath loop, path; /* to the loop, and to the block */
    Stmt *block;
    const Stmt *store;
    const RollingPart *weights; /* of a sum: the part that computes its weights; NULL: itself */
    PowerFactor power;          /* of other parts */
    Expr **row; /* [rank of the maximum] the subscripts of its element, for each term */
};

typedef struct {
    Schedule *s;
    Span span;
    StmtPath loop;       /* that of the maximum */
    const Stmt *seq;     /* which holds all loops */
    StmtPath path;       /* to the block whose result the terms subtract */
    Stmt *maximum;       /* that block */
    Buffer *largest;     /* which it writes */
    const Stmt *combine; /* its nest, behind the loop; NULL: it is in the loop */
    StmtPath taking;     /* to the block of the loop that takes elements in */
    const Stmt *taken;   /* its store */
    RollingPart *parts;
    int n;
    int from, to; /* the places of the first loop and the last one */
    bool *behind; /* [to - from + 1] what stands between them runs behind them */
    Buffer *before, *scale;
} Rolling;

/* The only block below the loop that accesses the buffer in that way, or NULL. */

/* Finds what loop `k` behind that of the maximum computes, and checks its form. Reports why it has
 * none. */
bool rolling_find_part(Rolling *r, int k);

/* Does each iteration of the loop take in what the terms of the part subtract the maximum from? */
bool rolling_takes_in(Rolling *r, const RollingPart *part);

/* It adds up terms; other parts compute weights. */
bool rolling_is_sum(const RollingPart *part);
/* The buffer of the sum, or of the weights. */
const Buffer *rolling_written_by(const RollingPart *part);
/* The block with another body, and without its init. */
Stmt *rolling_with_body(Context *c, const Stmt *block, Stmt *body);

#endif
