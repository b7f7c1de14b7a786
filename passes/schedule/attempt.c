/* attempt.c - Goes back to an earlier state of a schedule, and remembers which step was refused
 * there.
 *
 * Invariant: the kernel, the steps and the names are those of the mark; handles of loops that were
 * made since then are dead. */
#include "passes/schedule/sched.h"

ScheduleMark schedule_mark(const Schedule *s)
{
    return (ScheduleMark){s->kernel, s->first_new_id, s->steps.n, s->calls.n, s->knobs.n};
}

void schedule_go_back(Schedule *s, const ScheduleMark *mark, const char *why)
{
    s->refused = false;
    s->steps.n = mark->steps;
    s->calls.n = mark->calls;
    s->knobs.n = mark->knobs;
    s->first_new_id = mark->first_new_id;
    while (s->refusals.n > 0 && s->refusals.items[s->refusals.n - 1].call > mark->calls)
        s->refusals.n--; /* of attempts that are taken back, too */
    if (why)
        VEC_PUSH(s->ctx->arena, &s->refusals, ((Refusal){mark->calls, why}));
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
