/* schedule_case.h - a program under a few steps: what they make of it, how they are refused, and whether it still computes the
 * same, as it stands and lowered. */
#ifndef TIRC_TESTS_SCHEDULE_CASE_H
#define TIRC_TESTS_SCHEDULE_CASE_H

#include "frontend/script.h"
#include "parse_text.h"
#include "passes/lower/lower.h"

#include "run_ir.h"

typedef struct {
    Text text;
    Kernel *kernel;
    Schedule *schedule; /* NULL where it was refused */
} Case;

static inline void case_run(Case *k, const char *program, const char *steps)
{
    text_open(&k->text);
    Context *c = k->text.ctx;
    k->schedule = NULL;
    if (setjmp(k->text.guard)) {
        fail_msg("fatal: %s", c->fatal_message);
        return;
    }
    char *text = arena_printf(c->arena, "%sschedule s for any {\n%s\n}\n", program, steps);
    AstFile *file = parse_text(c, source_add(c, "test.tir", text, strlen(text)));
    k->kernel = file ? resolve_kernel(c, file->kernels[0], NULL, 0) : NULL;
    FoundSchedule found;
    if (k->kernel && script_find(c, file, k->kernel->name, "s", &found))
        k->schedule = script_run(c, k->kernel, &found, NULL, 0);
}

/* The kernel after the steps, lowered. */
static inline Kernel *case_lowered(Case *k)
{
    LowerOptions options = {.limits = limits_default()};
    Kernel *kernel = k->schedule ? lower_kernel(k->text.ctx, schedule_kernel(k->schedule), &options) : NULL;
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

/* The last step is refused with this code and a message that has this piece. */
static inline void refuse(const char *program, const char *steps, ErrorCode code, const char *piece)
{
    Case k;
    case_run(&k, program, steps);
    const Diag *first = k.text.ctx->first;
    if (k.schedule || !first)
        fail_msg("not refused: %s", steps);
    if (first->code != code || !strstr(text_report(&k.text), piece))
        fail_msg("expected %s with '%s', got:\n%s", error_info(code)->id, piece,
                 text_report(&k.text));
    text_close(&k.text);
}

static inline void same_results(const Kernel *k, const char *form, const Run *before, const Run *after,
                                int size)
{
    if (before->fault || after->fault)
        fail_msg("%s at %d: before: %s; after: %s", form, size, before->fault ? before->fault : "fine",
                 after->fault ? after->fault : "fine");
    for (int i = 0; i < k->n_params; i++)
        for (int64_t e = 0; e < before->buffers[i].size; e++)
            if (before->buffers[i].data[e] != after->buffers[i].data[e])
                fail_msg("%s at %d: element %d of '%s' is %g, and was %g before", form, size, (int)e,
                         k->params[i].buffer->name, after->buffers[i].data[e],
                         before->buffers[i].data[e]);
}

/* The program computes the same after the steps, and lowered; every symbolic size takes each of `sizes`. */
static inline void expect_same(const char *program, const char *steps, const int *sizes, int n)
{
    Case k;
    case_run(&k, program, steps);
    Kernel *lowered = case_lowered(&k);
    for (int i = 0; i < n; i++) {
        Run *before = run_kernel(k.text.ctx, k.kernel, sizes[i]);
        same_results(k.kernel, "scheduled", before,
                     run_kernel(k.text.ctx, schedule_kernel(k.schedule), sizes[i]), sizes[i]);
        same_results(k.kernel, "lowered", before, run_kernel(k.text.ctx, lowered, sizes[i]), sizes[i]);
    }
    text_close(&k.text);
}

#endif
