/* lookback.h - Declares what the parts of lookback share: the scan, the words in which blocks of a
 * grid publish values to each other, and the blocks that do so (internal to
 * passes/schedule/blocks). */
#ifndef TIRC_PASSES_SCHEDULE_BLOCKS_LOOKBACK_H
#define TIRC_PASSES_SCHEDULE_BLOCKS_LOOKBACK_H

#include "ir/tuple.h"
#include "passes/schedule/sched.h"

/* A component of the value, with subscripts in terms of the loops: before[p] = s; s += total[p]. */
typedef struct {
    Buffer *value, *before;
    Expr *read;   /* s */
    Expr *start;  /* the literal that s starts from; NULL: another value */
    Expr **store; /* the subscripts of before[p] */
    Expr *total;
    int first_word;
    Buffer *near, *far; /* sums of words */
} LookbackPart;

typedef struct {
    Schedule *s;
    Span span;
    StmtPath path; /* to the block of what stands before a chunk; then: to the loop */
    Stmt *loop, *before, *update;
    StmtPath loops; /* those around, and the loop */
    StoreOp op;
    const Combiner *combiner; /* of a tuple; NULL: `op` */
    LookbackPart *parts;
    int n_parts, n_words;
    Name base;                    /* that the names of new buffers begin with */
    Expr *n, *n_groups, *members; /* iterations, groups, iterations of a group */
    Buffer *sums, *groups;        /* words */
} Lookback;

/* ---- words (lookback_words.c) ---- */

/* How many words a value of the type takes. */
int words_of(DType type);
/* Word `number` of a value: a part of its bits, and the flag. */
Expr *word_of(Context *c, Expr *value, int number);
/* The value of the type in elements [words_of(type)], once all of them are there. */
Expr *value_of_words(Context *c, DType type, Expr *const *elements);

/* ---- blocks (lookback_blocks.c) ---- */

/* Makes the words and the sums of words. */
void lookback_buffers(Lookback *l);
/* A nest that stores 0 to all words. */
Stmt *lookback_clear(const Lookback *l, Buffer *words);
/* The loop with the new blocks in it. block[0] publishes the sum of a chunk; block[1] and block[2]
 * add up those of chunks and of groups before it. */
Stmt *lookback_loop(const Lookback *l, Stmt **block);

#endif
