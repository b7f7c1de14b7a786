/* test_lower.c - the runner of the passes, and every refusal of the pipeline. What lowering makes
 * of kernels stands in tests/legality/lowered. */
#include "parse_text.h"
#include "passes/lower/lower.h"

static Kernel *lower(Text *t, Kernel *kernel, LowerOptions *options)
{
    if (setjmp(t->guard)) {
        fail_msg("fatal: %s", t->ctx->fatal_message);
        return NULL;
    }
    return lower_kernel(t->ctx, kernel, options);
}

/* ---- the runner ------------------------------------------------------------------------------ */

typedef struct {
    int n;
    const char *names[32];
} Seen;

static void note_pass(void *user, const char *pass, const Kernel *kernel, bool changed,
                      double seconds)
{
    Seen *seen = user;
    (void)changed;
    assert_non_null(kernel->body);
    assert_true(seconds >= 0);
    seen->names[seen->n++] = pass;
}

static void test_runner_reports_every_pass(void **state)
{
    (void)state;
    Text t;
    Seen seen = {0};
    static const char *const passes[] = {
#define PASS(name, leaves, why) #name,
#include "passes/lower/pipeline.def"
#undef PASS
    };
    int n = (int)(sizeof passes / sizeof *passes);
    text_open(&t);
    text_parse(&t, "kernel k(x: f32[8]) -> y: f32[8] { for i in 8 y[i] = x[i]; }");
    LowerOptions options = {limits_default(), false, note_pass, &seen};
    assert_non_null(lower(&t, text_kernel(&t, 0), &options));
    assert_int_equal(seen.n, n);
    for (int i = 0; i < n; i++)
        assert_string_equal(seen.names[i], passes[i]);
    text_close(&t);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* The program of each row of lower.def that needs no schedule is refused with that row's code. */
static void test_refusals(void **state)
{
    (void)state;
    for (int code = E0501; code <= E0512; code++) {
        const ErrorInfo *info = error_info((ErrorCode)code);
        Text t;
        text_open(&t);
        assert_non_null(info->program);
        text_parse(&t, info->program);
        LowerOptions options = {.limits = limits_default()};
        Kernel *lowered = lower(&t, text_kernel(&t, 0), &options);
        if (!t.ctx->first || (int)t.ctx->first->code != code ||
            (lowered != NULL) != (code == E0511))
            fail_msg("%s: its program reports:\n%s", info->id, text_report(&t));
        text_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runner_reports_every_pass),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
