/* lookback.h - Declares what the parts of lookback share: the scan, and the blocks that publish
 * sums and wait for them (internal to passes/schedule/scans). */
#ifndef TIRC_PASSES_SCHEDULE_SCANS_LOOKBACK_H
#define TIRC_PASSES_SCHEDULE_SCANS_LOOKBACK_H

#include "passes/schedule/scans/sums.h"
#include "passes/schedule/scans/words.h"

/* What the step adds to a component of the value. */
typedef struct {
    Expr *start; /* the literal that the value starts from; NULL: another value */
    int first_word;
    Buffer *near, *far; /* sums of words */
} LookbackPart;

typedef struct {
    Sums of;
    LookbackPart *parts; /* [of.n_parts] */
    int n_words;
    bool is_read;                 /* the value, behind the loop */
    Name base;                    /* that the names of new buffers begin with */
    Name group;                   /* what counts groups */
    Expr *n, *n_groups, *members; /* iterations, groups, iterations of a group */
    Buffer *sums, *groups;        /* words */
} Lookback;

/* ---- blocks (lookback_blocks.c) ---- */

/* Makes the words and the sums of words. */
void lookback_buffers(Lookback *l);
/* The loop with the new blocks in it. block[0] publishes the sum of a chunk; block[1] and block[2]
 * add up those of chunks and of groups before it. */
Stmt *lookback_loop(const Lookback *l, Stmt **block);

#endif
