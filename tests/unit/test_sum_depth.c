/* The height of the tree in which lowered kernels add: of chains, accumulators, threads, atomic
 * updates; against a count by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "parse_text.h"
#include "passes/lower/reference/sum_depth.h"

/* The depth of the only output y of a kernel with 1024 terms. */
static void expect(const char *body, double depth)
{
    Text t;
    int64_t sizes[] = {1024};
    double found[2];
    text_open(&t);
    if (setjmp(t.guard)) {
        fail_msg("fatal: %s", t.ctx->fatal_message);
        return;
    }
    const char *text = arena_printf(t.ctx->arena,
                                    "kernel sum<N>(x: f32[N]) -> y: f32[64] {\n"
                                    "%s\n"
                                    "}\n",
                                    body);
    AstFile *file = parse_text(t.ctx, source_add(t.ctx, "test.tir", text, strlen(text)));
    Kernel *kernel = file ? resolve_kernel(t.ctx, file->kernels[0], NULL, 0) : NULL;
    if (!kernel)
        fail_msg("%s", text_report(&t));
    sum_depths(t.ctx, kernel, sizes, found);
    if (found[1] != depth)
        fail_msg("%g, not %g:\n%s", found[1], depth, body);
    text_close(&t);
}

#define LAUNCH(body) "launch sum grid(1, 1, 1) block(32, 1, 1) {\n" body "\n}"
#define ACC          "temp acc: f32[4] in local;\n"

static void chains(void **state)
{
    (void)state;
    expect(LAUNCH("if threadIdx.x == 0 { y[0] = 0.0; for i in N y[0] += x[i]; }"), 1024);
    expect(
        LAUNCH("if threadIdx.x == 0 { y[0] = 0.0; for i in N / 4, u in 4 y[0] += x[i * 4 + u]; }"),
        1024);
    expect(LAUNCH("if threadIdx.x == 0 { y[0] = 0.0; for i in N y[0] = y[0] + x[i] * x[i]; }"),
           1024);
    expect(LAUNCH("if threadIdx.x == 0 { for r in 8 { y[0] = 0.0; for i in N y[0] += x[i]; } }"),
           8 * 1024);
    /* each row a sum of its own, in one accumulator that begins anew */
    expect(LAUNCH("temp s: f32[1] in local; for r in 8 { s[0] = 0.0; for i in N s[0] += x[i]; y[r] "
                  "= s[0]; }"),
           1024);
}

static void a_value_that_is_handed_on_late(void **state)
{
    (void)state;
    expect(LAUNCH("temp a: f32[1] in local; temp b: f32[1] in local; a[0] = 0.0; b[0] = 0.0; y[0] "
                  "= 0.0; for i in 16 { y[0] = b[0]; b[0] = a[0]; a[0] += x[i]; }"),
           15);
    expect(LAUNCH("for i in 63 y[i + 1] = y[i] + x[i];"), 63);
}

static void accumulators(void **state)
{
    (void)state;
    static const char folded[] = "y[0] = acc[0] + acc[1] + (acc[2] + acc[3]);";
    char text[512];
    snprintf(
        text, sizeof text,
        LAUNCH(ACC "for u in 4 acc[u] = 0.0; for i in N / 4, u in 4 acc[u] += x[i * 4 + u]; %s"),
        folded);
    expect(text, 256 + 2);
    snprintf(text, sizeof text,
             LAUNCH(ACC "for u in 4 acc[u] = 0.0; for i in N / 4 { acc[0] += x[i * 4]; acc[1] += "
                        "x[i * 4 + 1]; acc[2] += x[i * 4 + 2]; acc[3] += x[i * 4 + 3]; } %s"),
             folded);
    expect(text, 1024 + 2); /* written out they are not told apart */
    /* two loops over four elements that meet in some */
    snprintf(
        text, sizeof text,
        LAUNCH(ACC "for u in 4 acc[u] = 0.0; for a in 2, b in 3 acc[a + b] += x[a * 3 + b]; %s"),
        folded);
    expect(text, 2 + 2);
    expect(LAUNCH("for a in 4, b in 4 y[a * 4 + b] += x[b];"), 1);
    expect(LAUNCH("temp s: f32[64] in shared; for a in 4 { s[a + threadIdx.x] += x[a]; barrier "
                  "\"\"; } y[0] = s[3];"),
           4);
    expect(LAUNCH("for a in 4, b in 5 y[a * 4 + b] += x[b];"), 4);
}

static void partial_buffers(void **state)
{
    (void)state;
    expect("temp rf: f32[16];\n"
           "launch parts grid(1, 1, 1) block(16, 1, 1) { let p = threadIdx.x;\n"
           " rf[p] = 0.0; for i in N / 16 rf[p] += x[p * 64 + i]; }\n"
           "launch sum grid(1, 1, 1) block(1, 1, 1) { y[0] = 0.0; for p in 16 y[0] += rf[p]; }",
           64 + 16);
}

static void threads(void **state)
{
    (void)state;
    expect(LAUNCH("let t = threadIdx.x; temp p: f32[1] in local; p[0] = 0.0; for i in N / 32 p[0] "
                  "+= x[i * 32 + t]; p[0] += shuffle_xor(p[0], 16); p[0] += shuffle_xor(p[0], 8); "
                  "p[0] += shuffle_xor(p[0], 4); p[0] += shuffle_xor(p[0], 2); p[0] += "
                  "shuffle_xor(p[0], 1); if t == 0 y[0] = p[0];"),
           32 + 5);
    expect(LAUNCH("temp s: f32[32] in shared; let t = threadIdx.x; s[t] = x[t]; for k in 5 { "
                  "barrier \"\"; if t < 16 s[t] += s[t + 16]; } if t == 0 y[0] = s[0];"),
           5);
}

static void atomic_updates(void **state)
{
    (void)state;
    expect("launch zero grid(1, 1, 1) block(1, 1, 1) { y[0] = 0.0; }\n"
           "launch sum grid(N / 64, 1, 1) block(32, 1, 1) { y[0] atomic += x[threadIdx.x] + "
           "x[threadIdx.x + 32]; }",
           16 * 32 + 1);
    expect("launch sum grid(1, 1, 1) block(32, 1, 1) { for i in 32 y[i] atomic += x[i * 32 + "
           "threadIdx.x]; }",
           32);
    expect("launch sum grid(1, 1, 1) block(32, 1, 1) { for i in 32 y[0] atomic += x[i * 32 + "
           "threadIdx.x]; }",
           1024);
}

/* Loops and subscripts in 64 bits: nothing is known, or nothing told apart. */
static void wide_arithmetic(void **state)
{
    (void)state;
    expect(LAUNCH("for i in i64(N) * i64(N) y[0] += x[0];"), INFINITY);
    expect(LAUNCH("for i in 4, j in i64(N) * i64(N) y[i] += x[0];"), INFINITY);
    expect(LAUNCH("for i in 4 y[i64(i) * 2] += x[i];"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),          cmocka_unit_test(a_value_that_is_handed_on_late),
        cmocka_unit_test(accumulators),    cmocka_unit_test(partial_buffers),
        cmocka_unit_test(threads),         cmocka_unit_test(atomic_updates),
        cmocka_unit_test(wide_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
