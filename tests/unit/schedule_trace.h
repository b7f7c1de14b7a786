/* schedule_trace.h - what steps make of a program, and that their trace makes the same. */
#ifndef TIRC_TESTS_SCHEDULE_TRACE_H
#define TIRC_TESTS_SCHEDULE_TRACE_H

#include <string.h>

#include "schedule_steps.h"

/* The trace of the run, as the steps of another one. */
static inline const char *trace_steps(Case *k)
{
    Context *c = k->text.ctx;
    StrBuf text = strbuf_new(c->arena);
    schedule_trace(k->schedule, ctx_name(c, "s"), &text);
    const char *open = strstr(text.text, "{\n") + 2;
    return arena_strndup(c->arena, open, strlen(open) - 2);
}

/* The body that the steps make of the program, and that their trace makes of it. */
static inline void expect_traced(const char *program, const char *steps, const char *body)
{
    Case k, again;
    case_run(&k, program, steps);
    assert_string_equal(case_made(&k), body);
    case_run(&again, program, trace_steps(&k));
    if (!again.schedule)
        fail_msg("the trace is refused: %s\n%s", text_report(&again.text), trace_steps(&k));
    assert_string_equal(case_made(&again), body);
    text_close(&again.text);
    text_close(&k.text);
}

#endif
