/* test_lower.c - the text of lowered kernels, what each pass is told about, and every refusal of
 * the pipeline. */
#include "parse_text.h"
#include "passes/lower/lower.h"

/* ---- the tiled matmul ------------------------------------------------------------------------ */

static const char matmul_1024[] =
    "kernel matmul(A: f32[1024, 1024], B: f32[1024, 1024]) -> C: f32[1024, 1024] {\n"
    "    temp A_shared: f32[1024, 1024] in shared;\n"
    "    temp B_shared: f32[1024, 1024] in shared;\n"
    "    for by in 32 bind blockIdx.y for bx in 32 bind blockIdx.x for ty in 32 bind threadIdx.y "
    "for tx in 32 bind threadIdx.x\n"
    "        for ko in 32 {\n"
    "            for each in 1 for y in 32 bind threadIdx.y for x in 32 bind threadIdx.x\n"
    "                block A_shared(i in 1024 = by * 32 + y, k in 1024 = ko * 32 + x) { "
    "A_shared[i, k] = A[i, k]; }\n"
    "            for each in 1 for y in 32 bind threadIdx.y for x in 32 bind threadIdx.x\n"
    "                block B_shared(k in 1024 = ko * 32 + y, j in 1024 = bx * 32 + x) { "
    "B_shared[k, j] = B[k, j]; }\n"
    "            for ki in 32\n"
    "                block C(i in 1024 = by * 32 + ty, j in 1024 = bx * 32 + tx, reduce k in 1024 "
    "= ko * 32 + ki) {\n"
    "                    init C[i, j] = 0;\n"
    "                    C[i, j] += A_shared[i, k] * B_shared[k, j];\n"
    "                }\n"
    "        }\n"
    "}\n";

static const char lowered_1024[] =
    "kernel matmul(A: f32[1024, 1024], B: f32[1024, 1024]) -> C: f32[1024, 1024]\n"
    "{\n"
    "    launch matmul grid(32, 32, 1) block(32, 32, 1) {\n"
    "        temp A_shared: f32[32, 32] in shared;\n"
    "        temp B_shared: f32[32, 32] in shared;\n"
    "        let by = blockIdx.y;\n"
    "        let bx = blockIdx.x;\n"
    "        let ty = threadIdx.y;\n"
    "        let tx = threadIdx.x;\n"
    "        let i = by * 32 + ty;\n"
    "        let j = bx * 32 + tx;\n"
    "        temp C_acc: f32[1] in local;\n"
    "        C_acc[0] = 0.0;\n"
    "        for ko in 32 {\n"
    "            A_shared[ty, tx] = A[i * 1024 + ko * 32 + tx];\n"
    "            B_shared[ty, tx] = B[(ko * 32 + ty) * 1024 + j];\n"
    "            barrier \"A_shared, B_shared: written above by other threads, read below\";\n"
    "            for ki in 32\n"
    "                C_acc[0] += A_shared[ty, ki] * B_shared[ki, tx];\n"
    "            barrier \"A_shared, B_shared: read above, overwritten in the next iteration of ko "
    "by other threads\";\n"
    "        }\n"
    "        C[i * 1024 + j] = C_acc[0];\n"
    "    }\n"
    "}\n";

static const char matmul_997[] =
    "kernel matmul(A: f32[1000, 997], B: f32[997, 999]) -> C: f32[1000, 999] {\n"
    "    temp A_shared: f32[1000, 997] in shared;\n"
    "    temp B_shared: f32[997, 999] in shared;\n"
    "    for by in 32 bind blockIdx.y for bx in 32 bind blockIdx.x for ty in 32 bind threadIdx.y "
    "for tx in 32 bind threadIdx.x\n"
    "        for ko in 32 {\n"
    "            for each in 1 for y in 32 bind threadIdx.y for x in 32 bind threadIdx.x\n"
    "                block A_shared(i in 1000 = by * 32 + y, k in 997 = ko * 32 + x) { A_shared[i, "
    "k] = A[i, k]; }\n"
    "            for each in 1 for y in 32 bind threadIdx.y for x in 32 bind threadIdx.x\n"
    "                block B_shared(k in 997 = ko * 32 + y, j in 999 = bx * 32 + x) { B_shared[k, "
    "j] = B[k, j]; }\n"
    "            for ki in 32\n"
    "                block C(i in 1000 = by * 32 + ty, j in 999 = bx * 32 + tx, reduce k in 997 = "
    "ko * 32 + ki) {\n"
    "                    init C[i, j] = 0;\n"
    "                    C[i, j] += A_shared[i, k] * B_shared[k, j];\n"
    "                }\n"
    "        }\n"
    "}\n";

static const char lowered_997[] =
    "kernel matmul(A: f32[1000, 997], B: f32[997, 999]) -> C: f32[1000, 999]\n"
    "{\n"
    "    launch matmul grid(32, 32, 1) block(32, 32, 1) {\n"
    "        temp A_shared: f32[32, 32] in shared;\n"
    "        temp B_shared: f32[32, 32] in shared;\n"
    "        let by = blockIdx.y;\n"
    "        let bx = blockIdx.x;\n"
    "        let ty = threadIdx.y;\n"
    "        let tx = threadIdx.x;\n"
    "        let i = by * 32 + ty;\n"
    "        let j = bx * 32 + tx;\n"
    "        temp C_acc: f32[1] in local;\n"
    "        C_acc[0] = 0.0;\n"
    "        for ko in 32 {\n"
    "            let k = ko * 32 + tx;\n"
    "            let k_1 = ko * 32 + ty;\n"
    "            if i < 1000 && k < 997\n"
    "                A_shared[ty, tx] = A[i * 997 + k];\n"
    "            if k_1 < 997 && j < 999\n"
    "                B_shared[ty, tx] = B[k_1 * 999 + j];\n"
    "            barrier \"A_shared, B_shared: written above by other threads, read below\";\n"
    "            if i < 1000 && j < 999\n"
    "                for ki in 32 {\n"
    "                    let k_2 = ko * 32 + ki;\n"
    "                    if k_2 < 997\n"
    "                        C_acc[0] += A_shared[ty, ki] * B_shared[ki, tx];\n"
    "                }\n"
    "            barrier \"A_shared, B_shared: read above, overwritten in the next iteration of ko "
    "by other threads\";\n"
    "        }\n"
    "        if i < 1000 && j < 999\n"
    "            C[i * 999 + j] = C_acc[0];\n"
    "    }\n"
    "}\n";

static Kernel *lower(Text *t, Kernel *kernel, LowerOptions *options)
{
    if (setjmp(t->guard)) {
        fail_msg("fatal: %s", t->ctx->fatal_message);
        return NULL;
    }
    return lower_kernel(t->ctx, kernel, options);
}

static void expect_text(const char *source, const char *expected)
{
    Text t;
    text_open(&t);
    text_parse(&t, source);
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = lower(&t, text_kernel(&t, 0), &options);
    if (!lowered)
        fail_msg("refused:\n%s", text_report(&t));
    const char *text = text_print(&t, lowered);
    assert_string_equal(text, expected);
    text_parse(&t, text);
    assert_true(kernel_equal(text_kernel(&t, 0), lowered));
    text_close(&t);
}

static void test_matmul(void **state)
{
    (void)state;
    expect_text(matmul_1024, lowered_1024);
    expect_text(matmul_997, lowered_997);
}

static void test_lowered_passes_through(void **state)
{
    (void)state;
    expect_text(lowered_1024, lowered_1024);
}

/* ---- one behaviour each ---------------------------------------------------------------------- */

/* The lowered text of `source` holds `wanted`, and does not hold `unwanted` (NULL: anything). */
static void expect_part(const char *source, const char *wanted, const char *unwanted)
{
    Text t;
    text_open(&t);
    text_parse(&t, source);
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = lower(&t, text_kernel(&t, 0), &options);
    if (!lowered)
        fail_msg("refused:\n%s", text_report(&t));
    const char *text = text_print(&t, lowered);
    if (!strstr(text, wanted))
        fail_msg("expected '%s' in:\n%s", wanted, text);
    if (unwanted && strstr(text, unwanted))
        fail_msg("did not expect '%s' in:\n%s", unwanted, text);
    text_close(&t);
}

static void test_missing_axis_runs_on_coordinate_0(void **state)
{
    (void)state;
    expect_part("kernel k(x: f32[64, 8]) -> s: f32[64, 8] { for b in 64 bind blockIdx.x { for t in "
                "8 bind threadIdx.x block y(i in 64 = b, j in 8 = t) { s[i, j] = x[i, j]; } block "
                "z(i in 64 = b) { s[i, 0] = 1.0; } } }",
                "if t == 0", NULL);
}

/* The rest of a copy by 64 threads is guarded, so 100 elements are all that is there. */
static void test_guarded_copies_fill_their_tile(void **state)
{
    (void)state;
    expect_part("kernel k<C, N>(x: f32[C, N, N]) -> y: f32[C, N, N] {"
                " temp s: f32[C, N, N] in shared;"
                " for b in (N + 9) / 10 bind blockIdx.x for d in (N + 9) / 10 bind blockIdx.y"
                " for c in C {"
                " for each in 2 for t in 64 bind threadIdx.x"
                " block s(c in C = c, i in N = b * 10 + (each * 64 + t) / 10,"
                " j in N = d * 10 + (each * 64 + t) % 10) where each * 64 + t < 100"
                " { s[c, i, j] = x[c, i, j]; }"
                " for e in 2 for u in 64 bind threadIdx.x"
                " block y(c in C = c, i in N = b * 10 + (e * 64 + u) % 10,"
                " j in N = d * 10 + (e * 64 + u) / 10) where e * 64 + u < 100"
                " { y[c, i, j] = s[c, i, j]; } } }",
                "temp s: f32[1, 10, 10] in shared", NULL);
}

/* Loops that make the start of a reduction do not carry it: the init stays where the sum is. */
static void test_init_of_a_split_triangle(void **state)
{
    (void)state;
    expect_part("kernel k<N>(x: i32[N, N]) -> sums: i32[N] {"
                " for jo in (N + 7) / 8 bind blockIdx.x for ji in 8 bind threadIdx.x"
                " for io in (N - jo * 8 - ji + 2) / 4 for ii in 4"
                " block sums(j in N = jo * 8 + ji,"
                " reduce i in j + 1..N = jo * 8 + io * 4 + ji + ii + 1)"
                " { init sums[j] = 0; sums[j] += x[i, j]; } }",
                "            sums_acc[0] = 0;\n            for io in", "launch k_1");
}

static void test_shape_of_an_outer_loop(void **state)
{
    (void)state;
    expect_part("kernel k<N = 16>(x: f32[N, N]) -> y: f32[N, N] { for i in N { temp s: f32[i + 1];"
                " for a in i + 1 block w(u in N = i, v in 0..u + 1 = a) { s[v] = x[u, v]; }"
                " for c in i + 1 block r(u in N = i, v in 0..u + 1 = c) { y[u, v] = s[v]; } } }",
                "for i in 16 {\n            temp s: f32[16];\n", NULL);
}

static void test_threads_of_one_row_need_no_barrier(void **state)
{
    (void)state;
    expect_part("kernel k(x: f32[64]) -> y: f32[64] { temp s: f32[64] in shared;"
                " for b in 2 bind blockIdx.x { for t in 32 bind threadIdx.x block s(i in 64 = b * "
                "32 + t) { s[i] = x[i]; }"
                " for u in 32 bind threadIdx.x block y(i in 64 = b * 32 + u) { y[i] = s[i]; } } }",
                "temp s: f32[32] in shared", "barrier");
}

static void test_guard_of_a_whole_vector(void **state)
{
    (void)state;
    expect_part(
        "kernel k(a: f32[8, 1000]) -> c: f32[8, 1000] { for g in 8 bind blockIdx.x for t in 256 "
        "bind threadIdx.x"
        " for v in 4 vectorize block c(i in 8 = g, j in 1000 = t * 4 + v) { c[i, j] = a[i, j]; } }",
        "for v in 4 vectorize\n", "unroll");
}

#define FILLED(cond)                                                                               \
    "kernel k(a: f32[8, 1000]) -> c: f32[8, 1024] { for g in 8 bind blockIdx.x for t in 256 bind " \
    "threadIdx.x for v in 4 vectorize "                                                            \
    "block c(i in 8 = g, j in 1024 = t * 4 + v) { c[i, j] = " cond " ? a[i, j] : 0; } }"

/* What a condition keeps from being read is not read: all lanes agree, or those at the edge ask one
 * by one. */
static void test_wide_value_under_a_condition(void **state)
{
    (void)state;
    expect_part(FILLED("j < 1000"), "if t < 250\n", "unroll");
    expect_part(FILLED("j < 1000"), "c[g * 1024 + t * 4 + v] = 0.0;\n", "?");
    expect_part(FILLED("j < 999"), "if t < 249\n", NULL);
    expect_part(FILLED("j < 999"), "else\n            for v in 4 unroll\n", NULL);
    expect_part(FILLED("j >= 3 && j < 998"), "if t > 0 && t < 249\n", NULL);
    expect_part(FILLED("i <= j && j < 1000"), "if g <= t * 4 &&", NULL);
    expect_part(FILLED("i * 3 < j && j < 1000"), "if g * 3 < t * 4 &&", NULL);
    expect_part(FILLED("2 * j <= i + j"), "if t * 4 + 2 < g\n", NULL);
    expect_part(FILLED("j % 3 == 0 && j < 1000"), "for v in 4 unroll\n", "vectorize");
}

static void test_strided_vector_unrolls(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    text_parse(&t, "kernel k(a: f32[64, 64]) -> c: f32[64, 64] { for i in 64 bind threadIdx.x"
                   " for w in 16 for v in 4 vectorize"
                   " block c(i in 64 = i, j in 64 = w * 4 + v) { c[i, j] = a[j, i]; } }");
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = lower(&t, text_kernel(&t, 0), &options);
    assert_non_null(lowered);
    assert_non_null(strstr(text_print(&t, lowered), "for v in 4 unroll"));
    assert_int_equal(t.ctx->n_warnings, 1);
    assert_int_equal(t.ctx->first->code, E0511);
    assert_non_null(strstr(t.ctx->first->message, "'a' is strided by 64 elements along v"));
    text_close(&t);
}

/* A thread keeps some of x in registers, and writes it out again. */
#define KEPT(loops, mine)                                                                          \
    "kernel k(x: f32[64]) -> y: f32[64] { temp R: f32[64] in local; for t in 4 bind threadIdx.x {" \
    " " loops " block R(i in 64 = " mine ") { R[i] = x[i]; }"                                      \
    " " loops " block y(i in 64 = " mine ") { y[i] = R[i]; } } }"

static void test_registers_without_gaps(void **state)
{
    (void)state;
    const char *groups = KEPT("for g in 8 for e in 2", "g * 8 + t * 2 + e");
    expect_part(groups, "temp R: f32[16] in local", NULL);
    expect_part(groups, "R[g * 2 + e] = x[g * 8 + t * 2 + e]", NULL);
    expect_part(groups, "y[g * 8 + t * 2 + e] = R[g * 2 + e]", NULL);
    expect_part(KEPT("for f in 16", "f / 2 * 8 + t * 2 + f % 2"), "R[f] = x[", NULL);
    expect_part(KEPT("for g in 16", "g * 4 + t"), "temp R: f32[16] in local", NULL);
    expect_part(KEPT("for g in 3 for h in 2", "g * 16 + h * 12 + t"), "temp R: f32[12] in local",
                NULL);
    expect_part(KEPT("for g in 5 for h in 2", "g * 12 + h * 7 + t"), "R[g * 8 + h * 7] = x[", NULL);
}

/* Groups that overlap; and one of two blocks that touches what lies between. */
static void test_registers_in_no_groups(void **state)
{
    (void)state;
    expect_part(KEPT("for g in 4 for e in 4", "t * 16 + g * 3 + e"), "R[g * 3 + e] = x[", NULL);
    expect_part("kernel k(x: f32[64]) -> y: f32[64] { temp R: f32[64] in local;"
                " for t in 4 bind threadIdx.x {"
                " for g in 61 block R(i in 64 = g + t) { R[i] = x[i]; }"
                " for g in 16 block y(i in 64 = g * 4 + t) { y[i] = R[i]; } } }",
                "R[g] = x[", "f32[16]");
}

static void test_64_bits_where_needed(void **state)
{
    (void)state;
    expect_part(
        "kernel k(x: f32[65536, 65536]) -> y: f32[65536, 65536] { for i in 65536 bind blockIdx.x"
        " for t in 256 bind threadIdx.x for w in 256"
        " block y(i in 65536 = i, j in 65536 = w * 256 + t) { y[i, j] = x[i, j]; } }",
        "y[i64(i) * 65536 +", NULL);
    expect_part("kernel k(x: f32[256, 256]) -> y: f32[256, 256] { for i in 256 bind blockIdx.x"
                " for t in 256 bind threadIdx.x y[i, t] = x[i, t]; }",
                "y[i * 256 + t] = x[i * 256 + t]", "i64");
}

#define COPIED(row, column)                                                                        \
    "kernel k(a: f32[64, 4096]) -> c: f32[64, 16] { temp s: f32[64, 4096] in shared; for t in "    \
    "256 bind threadIdx.x for ko in 128 {"                                                         \
    " for each in 4 unroll for u in 256 bind threadIdx.x"                                          \
    " block s(i in 64 = " row ", k in 4096 = ko * 32 + " column                                    \
    ") @copy_async(1) { s[i, k] = a[i, k]; }"                                                      \
    " for w in 4 block c(i in 64 = t / 4, j in 16 = t % 4 * 4 + w, reduce q in 4096 = ko * 32 + "  \
    "w)"                                                                                           \
    " { init c[i, j] = 0.0; c[i, j] += s[i, q]; } } }"

/* What is a number once loops are written out is no part of what advances, in whatever form; what
 * mixes both does not advance. */
static void test_addresses_that_advance(void **state)
{
    (void)state;
    expect_part(COPIED("each * 16 + u / 16", "u % 16"),
                "a[i64(t / 16 * 4096 + t % 16) + i64(ko) * 32 + i64(each * 65536)]", NULL);
    expect_part(
        COPIED("each % 2 * 32 + u / 8", "each / 2 * 8 + u % 8"),
        "a[i64(t / 8 * 4096 + t % 8) + i64(ko) * 32 + i64(each % 2 * 131072 + each / 2 * 8)]",
        NULL);
    expect_part(COPIED("each % 2 * 32 + u / 8", "each / 2 * 8 + (u + each) % 8"), "= a[", "i64");
}

#define TILE(rows)                                                                                 \
    "kernel k(a: f32[64]) -> c: f32[64, 64] { for t in 64 bind threadIdx.x for r in " rows         \
    " unroll for w in 2 unroll"                                                                    \
    " block c(i in 64 = t / 16 * " rows " + r, j in 64 = t % 16 * 2 + w) { c[i, j] = a[j]; } }"

static void test_stores_that_are_written_out_often(void **state)
{
    (void)state;
    expect_part(TILE("8"), "c[i64(t / 16 * 512 + t % 16 * 2) + i64(r * 64 + w)] = ", NULL);
    expect_part(TILE("4"), "c[(t / 16 * 4 + r) * 64 + j] = ", "i64");
}

static void test_several_launches(void **state)
{
    (void)state;
    expect_part("kernel k<T>(inout u: f32[64]) { for s in T { for i in 64 bind threadIdx.x u[i] = "
                "u[i] + 1.0;"
                " for i in 64 bind threadIdx.x u[i] = u[i] * 2.0; } }",
                "launch k_1 grid(1, 1, 1) block(64, 1, 1)", NULL);
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
    text_parse(&t, matmul_1024);
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
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_lowered_passes_through),
        cmocka_unit_test(test_missing_axis_runs_on_coordinate_0),
        cmocka_unit_test(test_guarded_copies_fill_their_tile),
        cmocka_unit_test(test_init_of_a_split_triangle),
        cmocka_unit_test(test_shape_of_an_outer_loop),
        cmocka_unit_test(test_threads_of_one_row_need_no_barrier),
        cmocka_unit_test(test_guard_of_a_whole_vector),
        cmocka_unit_test(test_wide_value_under_a_condition),
        cmocka_unit_test(test_strided_vector_unrolls),
        cmocka_unit_test(test_registers_without_gaps),
        cmocka_unit_test(test_registers_in_no_groups),
        cmocka_unit_test(test_64_bits_where_needed),
        cmocka_unit_test(test_addresses_that_advance),
        cmocka_unit_test(test_stores_that_are_written_out_often),
        cmocka_unit_test(test_several_launches),
        cmocka_unit_test(test_runner_reports_every_pass),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
