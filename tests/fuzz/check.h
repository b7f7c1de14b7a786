/* check.h - does a scheduled kernel still mean what its program means? */
#ifndef TIRC_TESTS_CHECK_H
#define TIRC_TESTS_CHECK_H

#include "passes/schedule/schedule.h"

typedef enum {
    CHECK_OK,
    CHECK_REFUSED, /* lowering refuses the schedule: its diagnostics are in the context */
    CHECK_WRONG,
} CheckAnswer;

/* The kernel verifies, and its text reads back to the same text. NULL, or what is broken. */
const char *check_text(Context *c, const Kernel *kernel);

/* Runs the program, and the scheduled kernel in order, lowered, and lowered with groups of `width` threads taking turns,
 * at the given sizes; outputs must be equal bit for bit, or lie within the bound of verification where `reorders` says that
 * floats may have been added in another order. CHECK_WRONG with *why. */
CheckAnswer check_run(Context *c, const Kernel *program, const Kernel *scheduled, const int64_t *sizes,
                      bool reorders, int width, bool reversed, const char **why);

#endif
