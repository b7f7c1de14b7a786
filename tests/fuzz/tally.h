/* tally.h - what random schedules came to, and the report of it. Plain data: each process counts in
 * a tally of its own, in memory that it shares with the one that adds them up. */
#ifndef TIRC_TESTS_TALLY_H
#define TIRC_TESTS_TALLY_H

#include <stdint.h>

#include "ir/diag.h"
#include "passes/schedule/schedule.h"

enum {
    TALLY_PRIMITIVES = 0
#define PRIM(...) +1
#include "passes/schedule/tables/prim.def"
#undef PRIM
    ,
    /* a primitive that accepts fewer of its calls says nothing about what it accepts */
    TALLY_PERCENT = 5,
    TALLY_CALLS = 500, /* of which there are at least as many */
};

/* Calls of one primitive. drawn = accepted + refused + inapplicable */
typedef struct {
    long drawn, accepted;
    long inapplicable;         /* the kernel had nothing that the arguments could be drawn from */
    long run;                  /* accepted ones of schedules that were lowered and ran right */
    long wrong;                /* in reduced schedules that are wrong */
    long refused[ERROR_COUNT]; /* by code */
} CallTally;

typedef struct {
    long trials, lowered, unlowered;
    long shortened; /* of those that lowering refused: lowered and right without their last steps */
    long right, wrong, crashed, hung;  /* one of them for each trial */
    long not_lowered[ERROR_COUNT];     /* by code, of lowering */
    CallTally calls[TALLY_PRIMITIVES]; /* by the primitive's place in the table */
    /* schedules that ran with the one before the other (pairs.h) */
    unsigned pairs[TALLY_PRIMITIVES][TALLY_PRIMITIVES];
    double slowest; /* seconds of CPU of one trial */
    uint64_t slowest_seed;
    long memory; /* the most that a process held, in KiB */
} Tally;

CallTally *tally_of(Tally *t, const Primitive *primitive);
/* Counts the first error among the diagnostics. */
void tally_refusal(long *by_code, const Context *c);
void tally_add(Tally *sum, const Tally *t);
/* Names to stderr the primitives that were never called, or refuse nearly all of their calls:
 * either the draw (fit.c, draw.c) or the primitive is to blame. How many. */
int tally_lacking(const Tally *t);
/* Prints all of it to stdout, with a line for each primitive; `planned` trials were asked for. */
void tally_report(const Tally *t, long planned);

#endif
