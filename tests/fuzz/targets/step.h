/* step.h - a step of the library in a libFuzzer target, which succeeds or gives its reasons. */
#ifndef TIRC_TESTS_FUZZ_TARGETS_STEP_H
#define TIRC_TESTS_FUZZ_TARGETS_STEP_H

#include <stdio.h>
#include <stdlib.h>

#include "tirc.h"

/* True if the step succeeded. A failure without a diagnostic, or a bug of tirc's own, aborts. */
static inline bool step_done(tirc *t, tirc_status status, const char *step)
{
    if (status == TIRC_OK)
        return true;
    const char *words = tirc_diagnostics(t, false);
    if (status == TIRC_BUG || tirc_diagnostic_count(t) == 0) {
        const char *report = tirc_bug_report(t);
        fprintf(stderr, "%s: status %d\n%s\n%s\n", step, (int)status, words, report ? report : "");
        abort();
    }
    tirc_clear_diagnostics(t);
    return false;
}

#endif
