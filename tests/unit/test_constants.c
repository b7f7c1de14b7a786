/* test_constants.c - constant memory: what is refused, and which reads are the same for all lanes
 * of a warp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "include/tirc.h"

/* Lowers the only kernel of the text with its schedule `s`, or as it stands; the diagnostics are
 * left in *t. */
static tirc_status lower(tirc **t, const char *text)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    *t = tirc_new(NULL);
    tirc_status status = tirc_parse_text(*t, "test.tir", text, strlen(text), &file);
    if (!status)
        status = tirc_resolve(*t, file, NULL, NULL, 0, &kernel);
    if (!status && strstr(text, "schedule s "))
        status = tirc_apply(*t, file, kernel, "s", NULL, 0, &scheduled);
    else
        scheduled = kernel;
    return status ? status : tirc_lower(*t, scheduled, NULL, &lowered);
}

static void expect(const char *text, tirc_status wanted, const char *code, const char *words)
{
    tirc *t;
    tirc_status status = lower(&t, text);
    if (status != wanted)
        fail_msg("status %d:\n%s", status, tirc_diagnostics(t, false));
    if (!code) {
        if (tirc_diagnostic_count(t))
            fail_msg("expected nothing, found\n%s", tirc_diagnostics(t, false));
    } else {
        assert_true(tirc_diagnostic_count(t) > 0);
        assert_string_equal(tirc_diagnostic_at(t, 0).code, code);
        if (!strstr(tirc_diagnostic_at(t, 0).message, words))
            fail_msg("expected '%s' in\n%s", words, tirc_diagnostics(t, false));
    }
    tirc_free(t);
}

/* A launch of 4 x 16 x 4 threads in which every one reads c at `subscript`. */
#define READS(subscript)                                                                           \
    "kernel k(c: f32[4096]) -> y: f32[4, 16, 4] { temp t: f32[4096] in constant;"                  \
    " for i in 4096 block t(u in 4096 = i) { t[u] = c[u]; }"                                       \
    " for z in 4 bind threadIdx.z for a in 16 bind threadIdx.y for b in 4 bind threadIdx.x"        \
    " block y(i in 4 = z, j in 16 = a, k in 4 = b) { y[i, j, k] = t[" subscript "]; } }"

static void reads_of_a_warp(void **state)
{
    (void)state;
    expect(READS("7"), TIRC_OK, NULL, NULL);
    expect(READS("j / 8"), TIRC_OK, NULL, NULL); /* 8 rows of 4 are a warp */
    expect(READS("j / 4"), TIRC_OK, "E0805",
           "2 different elements of 't': lane 0 t[0], lane 16 t[1]");
    expect(READS("k"), TIRC_OK, "E0805", "4 different elements of 't': lane 0 t[0], lane 1 t[1]");
    expect(READS("(j * 4 + k) / 32"), TIRC_OK, NULL, NULL);
    expect(READS("j * 4 + k"), TIRC_OK, "E0805", "32 different elements");
    expect(READS("k - k"), TIRC_OK, NULL, NULL);
}

static void refusals(void **state)
{
    (void)state;
    expect("kernel k<N>(c: f32[N]) -> y: f32[32] { for i in 32 y[i] = c[0]; }\n"
           "schedule s for k() { cache_read(y, c, constant); }",
           TIRC_REFUSED, "E0803", "needs constant sizes");
    expect("kernel k(c: f32[16385]) -> y: f32[32] { for i in 32 y[i] = c[0]; }\n"
           "schedule s for k() { cache_read(y, c, constant); }",
           TIRC_REFUSED, "E0803",
           "take 65540 bytes, including 'c_constant', but the limit is 65536");
    expect("kernel k(c: f32[16384]) -> y: f32[32] { for i in 32 y[i] = c[0]; }\n"
           "schedule s for k() { cache_read(y, c, constant); }",
           TIRC_OK, NULL, NULL);
    expect("kernel k(c: f32[4]) -> y: f32[64] { temp t: f32[4] in constant; for b in 1 bind "
           "blockIdx.x { for i in 4 t[i] = c[i] * 2; for i in 64 y[i] = t[0]; } }",
           TIRC_REFUSED, "E0804", "one launch would write and read it");
    expect("kernel k(c: f32[4]) -> y: f32[64] { temp t: f32[4] in constant pad(0, 1); for i in 4 "
           "t[i] = c[i]; for i in 64 y[i] = t[0]; }",
           TIRC_REFUSED, "E0223", "in constant memory, where buffers are dense");
    expect("kernel k(c: f32[4]) -> y: f32[64] { temp t: f32[5] in constant of(c); launch k grid(1, "
           "1, 1) block(1, 1, 1) { for i in 64 y[i] = t[0]; } }",
           TIRC_REFUSED, "E0223", "of the same type and shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_a_warp),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
