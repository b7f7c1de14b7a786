/* profile.c - libFuzzer target of device profiles, the one file of data that a user may give.
 * What is refused has said why. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/measure/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Context *c = ctx_new((size_t)64 << 20);
    jmp_buf guard;
    Profile profile;
    if (setjmp(guard) == 0) {
        c->guard = &guard;
        bool good = profile_parse(c, source_add(c, "fuzz", (const char *)data, size), &profile);
        StrBuf report = strbuf_new(c->arena);
        diag_render_all(c, DIAG_PLAIN, &report);
        if (!good && c->n_errors == 0)
            abort();
    } else if (c->fatal == FATAL_BUG) {
        fprintf(stderr, "%s\n", c->fatal_message);
        abort();
    }
    ctx_free(c);
    return 0;
}
