/* attempt.c - Goes back to an earlier state of a schedule, and remembers which step was refused
 * there.
 *
 * Invariant: the kernel, the steps and the names are those of the mark; handles of loops that were
 * made since then are dead. */
#include "passes/schedule/sched.h"

ScheduleMark schedule_mark(const Schedule *s)
{
    return (ScheduleMark){s->kernel,  s->first_new_id, s->steps.n,
                          s->calls.n, s->knobs.n,      s->comments.n};
}

void schedule_go_back(Schedule *s, const ScheduleMark *mark, const char *why)
{
    s->refused = false;
    s->steps.n = mark->steps;
    s->calls.n = mark->calls;
    s->knobs.n = mark->knobs;
    s->first_new_id = mark->first_new_id;
    s->comments.n = mark->comments;
    if (why)
        trace_comment(s, arena_printf(s->ctx->arena, "refused: %s", why));
    if (s->kernel == mark->kernel)
        return;
    s->kernel = mark->kernel;
    versions_take_back(s, mark->steps);
    state_rebuild(s);
}

bool schedule_refused(const Schedule *s)
{
    return s->refused;
}
