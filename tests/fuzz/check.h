/* check.h - does a scheduled kernel still mean what its program means? */
#ifndef TIRC_TESTS_CHECK_H
#define TIRC_TESTS_CHECK_H

#include "passes/schedule/schedule.h"

typedef enum {
    CHECK_OK,
    CHECK_REFUSED, /* lowering refuses the schedule: its diagnostics are in the context */
    CHECK_WRONG,
    CHECK_LONG, /* not run: it would take too long (work.h); with *why */
} CheckAnswer;

/* The kernel verifies, and its text reads back to the same text. NULL, or what is broken. */
const char *check_text(Context *c, const Kernel *kernel);

/* How a scheduled kernel runs beside its program. */
typedef struct {
    /* its blocks and loops one after the other, too: loops that go far beyond a block's domain take
     * long so */
    bool in_order;
    bool reorders; /* floats may be added in another order than the program's */
    int width;     /* of the groups of threads that take turns */
    bool reversed; /* the last group first */
} CheckManner;

/* Runs the program, and the scheduled kernel in order, lowered, and lowered with groups of threads
 * taking turns, at the given sizes; outputs must be equal bit for bit, or lie within the bound of
 * verification where floats may have been added in another order. CHECK_WRONG with *why. */
CheckAnswer check_run(Context *c, const Kernel *program, const Kernel *scheduled,
                      const int64_t *sizes, CheckManner manner, const char **why);

#endif
