/* kernel.c - Answers shared questions about a kernel: is it lowered, which step made a part of it,
 * and which parameters have another layout than in the program? */
#include "frontend/api/internal.h"
#include "passes/shared/relayout.h"

bool api_require_lowered(tirc *t, const tirc_kernel *kernel, const char *what)
{
    if (kernel->level == LEVEL_LOWERED ||
        kernel->apart) /* lowered: to nothing, where no loop runs */
        return true;
    diag_error(t->ctx, E0702, span_none(),
               "%s takes a lowered kernel, and '%s' has no launches; call tirc_lower first", what,
               kernel->kernel->name);
    return false;
}

void api_note_step(tirc *t, const tirc_kernel *kernel, int step, const char *what)
{
    const Schedule *s = kernel->schedule;
    if (s && step >= 1 && step <= schedule_steps(s))
        diag_note(t->ctx, schedule_step_span(s, step), "%s was made by step %d of the schedule, %s",
                  what, step, schedule_step_text(s, step));
}

static bool layout_at(tirc *t, const tirc_kernel *kernel, size_t i, tirc_layout *layout)
{
    if (i >= (size_t)kernel->kernel->n_relayouts)
        return false;
    const Relayout *of = &kernel->kernel->relayouts[i];
    *layout = (tirc_layout){of->from->name, relayout_text(t->ctx, of)};
    return true;
}

bool tirc_layout_at(tirc *t, const tirc_kernel *kernel, size_t i, tirc_layout *layout)
{
    API_ANSWER(t, layout_at(t, kernel, i, layout));
}
