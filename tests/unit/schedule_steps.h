/* schedule_steps.h - a program under a few steps, which run or are refused. */
#ifndef TIRC_TESTS_SCHEDULE_STEPS_H
#define TIRC_TESTS_SCHEDULE_STEPS_H

#include "frontend/script/script.h"
#include "parse_text.h"

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

/* What stands between the braces of a kernel. */
static inline const char *case_body(Case *k, const Kernel *kernel)
{
    const char *open = strstr(text_print(&k->text, kernel), "\n{\n");
    assert_non_null(open);
    return arena_strndup(k->text.ctx->arena, open + 3, strlen(open + 3) - 2);
}

/* The same of the kernel after the steps, which have to run. */
static inline const char *case_made(Case *k)
{
    if (!k->schedule)
        fail_msg("refused:\n%s", text_report(&k->text));
    return case_body(k, schedule_kernel(k->schedule));
}

/* The body that the steps make of the program. */
static inline void expect_body(const char *program, const char *steps, const char *body)
{
    Case k;
    case_run(&k, program, steps);
    assert_string_equal(case_made(&k), body);
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

#endif
