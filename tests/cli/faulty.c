/* faulty.c - makes tirc break one of its own rules: linked into a command of its own (tirc_faulty)
 * in place of tirc_lower, it stops after the pass that $TIRC_BREAK names. */
#include <stdlib.h>
#include <string.h>

#include "frontend/api/internal.h"

tirc_status __real_tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                              tirc_kernel **lowered);
tirc_status __wrap_tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                              tirc_kernel **lowered);

static void break_a_rule(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                         double seconds)
{
    tirc *t = user;
    const char *wanted = getenv("TIRC_BREAK");
    (void)changed, (void)seconds;
    if (wanted && !strcmp(pass, wanted))
        TIRC_BUG(t->ctx, "a rule is broken in kernel '%s' after %s, on purpose",
                 kernel->kernel->name, pass);
}

tirc_status __wrap_tirc_lower(tirc *t, const tirc_kernel *kernel, const tirc_lower_options *options,
                              tirc_kernel **lowered)
{
    tirc_lower_options broken = options ? *options : (tirc_lower_options){0};
    broken.after_pass = break_a_rule;
    broken.user = t;
    return __real_tirc_lower(t, kernel, &broken, lowered);
}
