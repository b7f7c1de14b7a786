/* reductions.c - Implements the passes that decompose reductions: across threads
 * (thread_reduction.c), and their init (init.c). */
#include "passes/shared/reductions.h"
#include "passes/lower/pass.h"

Kernel *pass_lower_thread_reductions(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    ThreadReduction refused;
    const Kernel *apart = thread_reductions_apart(c, kernel, &refused);
    if (apart)
        return kernel_with_body(c, apart, apart->body);
    diag_error(c, E0480, refused.lanes->span, "%s", refused.why);
    return NULL;
}

Kernel *pass_lower_init(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    return inits_apart(c, kernel);
}
