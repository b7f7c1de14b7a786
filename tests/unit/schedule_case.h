/* schedule_case.h - a program under a few steps: what they make of it, how they are refused, and
 * whether it still computes the same, as it stands and lowered. */
#ifndef TIRC_TESTS_SCHEDULE_CASE_H
#define TIRC_TESTS_SCHEDULE_CASE_H

#include "passes/lower/lower.h"
#include "run_ir.h"
#include "schedule_steps.h"

/* The kernel after the steps, lowered. */
static inline Kernel *case_lowered(Case *k)
{
    LowerOptions options = {.limits = limits_default()};
    Kernel *kernel =
        k->schedule ? lower_kernel(k->text.ctx, schedule_kernel(k->schedule), &options) : NULL;
    if (!kernel)
        fail_msg("refused:\n%s", text_report(&k->text));
    return kernel;
}

/* The body of the kernel after the steps. */
static inline void expect(const char *program, const char *steps, const char *body)
{
    Case k;
    case_run(&k, program, steps);
    if (!k.schedule)
        fail_msg("refused:\n%s", text_report(&k.text));
    const char *text = text_print(&k.text, schedule_kernel(k.schedule));
    const char *open = strstr(text, "\n{\n");
    assert_non_null(open);
    assert_string_equal(open + 3, body);
    text_close(&k.text);
}

static inline void same_results(const Kernel *k, const char *form, const Run *before,
                                const Run *after, int size)
{
    if (before->fault || after->fault)
        fail_msg("%s at %d: before: %s; after: %s", form, size,
                 before->fault ? before->fault : "fine", after->fault ? after->fault : "fine");
    for (int i = 0; i < k->n_params; i++)
        for (int64_t e = 0; e < before->buffers[i].size; e++)
            if (before->buffers[i].data[e] != after->buffers[i].data[e])
                fail_msg("%s at %d: element %d of '%s' is %g, and was %g before", form, size,
                         (int)e, k->params[i].buffer->name, after->buffers[i].data[e],
                         before->buffers[i].data[e]);
}

/* The program computes the same after the steps, and lowered; every symbolic size takes each of
 * `sizes`. */
static inline void expect_same(const char *program, const char *steps, const int *sizes, int n)
{
    Case k;
    case_run(&k, program, steps);
    Kernel *lowered = case_lowered(&k);
    for (int i = 0; i < n; i++) {
        Run *before = run_kernel(k.text.ctx, k.kernel, sizes[i]);
        same_results(k.kernel, "scheduled", before,
                     run_kernel(k.text.ctx, schedule_kernel(k.schedule), sizes[i]), sizes[i]);
        same_results(k.kernel, "lowered", before, run_kernel(k.text.ctx, lowered, sizes[i]),
                     sizes[i]);
    }
    text_close(&k.text);
}

#endif
