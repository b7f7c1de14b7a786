/* check_threads.c - Re-checks the bindings of every launch.
 *
 * A step proves a binding when it makes it, or moves a block below it. This check covers copies
 * that later steps added, and bindings that came as text. It examines the kernel before lowering,
 * but runs after the passes, so that more specific refusals come first. One question covers all
 * threads of a launch. */
#include "passes/lower/pass.h"

static Stmt *check_root(LaunchWalk *w, Stmt *s)
{
    Conflict why = {0};
    const Stmt *loop = stmt_bound_loop(w->c, s);
    /* what the launch costs to ask about does not grow with the program */
    Kernel around = *w->kernel;
    around.body = w->nest;
    if (!loop || threads_loop_kind_legal(w->c, &around, &loop->u.loop, &why))
        return s;
    diag_error(
        w->c, E0514, loop->span,
        "the launch that starts at loop '%s' would not preserve the result of the program: %s",
        loop->u.loop.var->name, why.reason ? why.reason : "their accesses depend on each other");
    if (why.second && why.buffer)
        diag_note(w->c, why.second_span, "block '%s' at %s accesses %s", why.second->name,
                  why.second_at, why.element);
    if (why.first && why.buffer)
        diag_note(w->c, why.first_span, "so does block '%s'%s%s", why.first->name,
                  *why.first_at ? " at " : "", why.first_at);
    w->failed = true;
    return NULL;
}

bool threads_proved(Context *c, const Kernel *kernel)
{
    LaunchWalk w = {
        .c = c, .kernel = kernel, .facts = facts_of_kernel(c, kernel), .root = check_root};
    launch_roots_map(&w, kernel->body);
    return !w.failed;
}
