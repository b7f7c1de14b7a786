/* test_verify.c - bounds that hold for every order of summation, tight enough to see one wrong
 * term; samples that agree with the whole; what a wrong, a missing and an extra element look
 * like. */
#include "tests/unit/vm_run.h"

#include <math.h>

#include "runtime/random.h"

static const char matmul[] =
    "kernel matmul<M = 33, N = 29, K = 301>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {"
    " for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }";

/* C = A * B in f32 with the terms in random order, term `skip` of element 0 left out. */
static void shuffled_matmul(const Run *r, int skip)
{
    enum { M = 33, N = 29, K = 301 };
    const float *a = data_of(r, "A"), *b = data_of(r, "B");
    float *c = data_of(r, "C");
    Random random = random_new(11, 0);
    for (int e = 0; e < M * N; e++) {
        int order[K];
        for (int k = 0; k < K; k++) {
            int other = (int)random_below(&random, (uint64_t)k + 1);
            order[k] = order[other];
            order[other] = k;
        }
        c[e] = 0;
        for (int k = 0; k < K; k++)
            if (e != 0 || order[k] != skip)
                c[e] += a[e / N * K + order[k]] * b[order[k] * N + e % N];
    }
}

static void test_any_order_is_within_the_bound(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(c, matmul);
    Run r = run_open(c, k);
    shuffled_matmul(&r, -1);
    VerifyResult v = verified(c, &r, k, 0);
    assert_true(v.ok);
    assert_int_equal(v.checked, 33 * 29);
    assert_true(v.worst_ratio > 0 && v.worst_ratio < 1);
    run_close(&r);
}

static void test_one_missing_term_is_seen(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(c, matmul);
    Run r = run_open(c, k);
    shuffled_matmul(&r, 17);
    VerifyResult v = verified(c, &r, k, 0);
    assert_false(v.ok);
    assert_int_equal(v.wrong, 1);
    assert_string_equal(v.first[0].buffer, "C");
    assert_int_equal(v.first[0].index[0] + v.first[0].index[1], 0);
    run_close(&r);
}

/* Fused multiply-add rounds once where the reference rounds twice; what the sum began with is part
 * of its bound. */
static void test_a_sum_that_goes_on_has_a_bound(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(c, "kernel go_on<N = 1000>(a: f64[N], b: f64[N], inout x: f64[N])"
                          " { for i in N x[i] += a[i] * b[i]; }");
    Run r = run_open(c, k);
    const double *a = data_of(&r, "a"), *b = data_of(&r, "b");
    double *x = data_of(&r, "x");
    int different = 0;
    for (int i = 0; i < 1000; i++) {
        double fused = fma(a[i], b[i], x[i]);
        different += fused != x[i] + a[i] * b[i];
        x[i] = fused;
    }
    VerifyResult v = verified(c, &r, k, 0);
    assert_true(different > 0);
    assert_true(v.ok);
    run_close(&r);
}

/* Atomic additions of a GPU flush subnormal numbers to 0; elsewhere that is wrong. */
static void test_flushed_sums(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(c, "kernel tiny<N = 10>(x: f32[N]) -> s: f32[1]"
                          " { s[0] = 0; for i in N s[0] += x[i] * x[i] * 1e-39; }");
    Run r = run_open(c, k);
    float *s = data_of(&r, "s");
    s[0] = 0;
    assert_int_equal(verified(c, &r, k, 0).wrong, 1);
    VerifyOptions options = {.seed = 7, .flushes = true};
    assert_true(verified_with(c, &r, k, &options).ok);
    s[0] = 1e-36f; /* what ten additions cannot lose */
    assert_int_equal(verified_with(c, &r, k, &options).wrong, 1);
    run_close(&r);
}

static void test_missing_and_extra_elements(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k =
        parsed(c, "kernel copy<N = 100>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }");
    Run r = run_open(c, k);
    float *y = data_of(&r, "y");
    memcpy(y, data_of(&r, "x"), 400);
    memset(&y[42], 0xff, 4);
    VerifyResult v = verified(c, &r, k, 0);
    assert_int_equal(v.wrong, 1);
    assert_true(v.first[0].never_written);
    assert_int_equal(v.first[0].index[0], 42);
    run_close(&r);
    Kernel *part =
        parsed(c, "kernel half<N = 100>(x: i32[N]) -> y: i32[N] { for i in 50 y[i] = x[i]; }");
    r = run_open(c, part);
    int32_t *z = data_of(&r, "y");
    memcpy(z, data_of(&r, "x"), 200);
    assert_true(verified(c, &r, part, 0).ok);
    z[70] = 5;
    v = verified(c, &r, part, 0);
    assert_int_equal(v.wrong, 1);
    assert_int_equal(v.first[0].index[0], 70);
    run_close(&r);
}

/* What the program itself makes too large for its type has no bound; a finite number in its place
 * is wrong, and so is an element that is not written. */
static void test_what_overflows_has_no_bound(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(c, "kernel grow<N = 100>(x: f32[N]) -> y: f32[N]"
                          " { for i in N y[i] = i < 90 ? x[i] : (x[i] + 2.0) * 1e38 * 1e5; }");
    Run r = run_open(c, k);
    float *y = data_of(&r, "y");
    memcpy(y, data_of(&r, "x"), 360);
    for (int i = 90; i < 100; i++)
        y[i] = INFINITY;
    VerifyResult v = verified(c, &r, k, 0);
    assert_true(v.ok);
    assert_int_equal(v.overflown, 10);
    y[7] = INFINITY;
    memset(&y[97], 0xff, 4);
    v = verified(c, &r, k, 0);
    assert_int_equal(v.wrong, 2);
    run_close(&r);
}

/* ---- programs of every kind, run by the machine and checked against their references --------- */

static const char *const programs[] = {
    matmul,
    "kernel softmax<R = 17, N = 65>(x: f16[R, N]) -> y: f16[R, N] {"
    " temp m: f32[R]; temp s: f32[R];"
    " for r in R { m[r] = -inf; for i in N m[r] max= f32(x[r, i]); }"
    " for r in R { s[r] = 0; for i in N s[r] += exp(f32(x[r, i]) - m[r]); }"
    " for r in R, i in N y[r, i] = f16(exp(f32(x[r, i]) - m[r]) / s[r]); }",
    "kernel norm<R = 9, N = 100>(x: f32[R, N], g: f32[N], eps: f32) -> y: f32[R, N] {"
    " temp s: f32[R]; for r in R { s[r] = 0; for i in N s[r] += x[r, i] * x[r, i]; }"
    " for r in R, i in N y[r, i] = x[r, i] * rsqrt(s[r] / 100.0 + abs(eps)) * g[i]; }",
    "kernel relu<M = 16, N = 24, K = 8>(A: bf16[M, K], B: bf16[K, N], bias: f32[N]) -> C: bf16[M, "
    "N] { temp acc: f32[M, N]; for i in M, j in N { acc[i, j] = 0; for k in K acc[i, j] += "
    "f32(A[i, k]) * f32(B[k, j]); } epilogue: for i in M, j in N C[i, j] = bf16(max(acc[i, j] + "
    "bias[j], 0)); }",
    "kernel histogram<N = 5000>(color: u8[N]) -> hist: i32[256] {"
    " for b in 256 hist[b] = 0; for i in N hist[color[i]] += 1; }",
    "kernel difference<N = 1000>(x: f32[N]) -> y: f32[N] { for i in N y[i] = i > 0 ? x[i] - x[i - "
    "1] : x[i]; }",
    "kernel scan<N = 200>(x: f32[N]) -> y: f32[N] {"
    " for i in N { if (i == 0) y[i] = x[i]; else y[i] = y[i - 1] + x[i]; } }",
    "kernel product<N = 40>(x: f64[N]) -> p: f64[1] { p[0] = 1; for i in N p[0] *= x[i]; }",
    "kernel quantise<N = 300>(x: f32[N], s: f32[N]) -> q: i32[N] { for i in N q[i] = i32(x[i] * "
    "s[i] * 50.0); }",
    "kernel clamp<N = 300>(x: f32[N], s: f32[N]) -> y: f32[N] {"
    " for i in N y[i] = x[i] * s[i] > 0.25 ? x[i] : 0.0; }",
    "kernel gelu<N = 300>(x: f16[N]) -> y: f16[N] {"
    " for i in N y[i] = f16(0.5 * f32(x[i]) * (1.0 + erf(f32(x[i]) * 0.7071067811865476))); }",
    "kernel scale<N = 70>(inout x: f32[N], a: f32) -> y: f32[N] {"
    " for i in N x[i] = x[i] * a; for i in N y[i] = x[i] + 1.0; }",
    "kernel shares<M = 5, N = 14>(x: f32[M, N]) -> y: f32[M, N] { for i in M { temp sum: f32; temp "
    "z: f32[N]; sum = 1; for j in N z[j] = exp(x[i, j]); for j in N sum += z[j]; for j in N y[i, "
    "j] = "
    "z[j] / sum; } }",
    "kernel triangle<N = 20>(A: f32[N, N]) -> L: f32[N, N] {"
    " for i in N, j in N { L[i, j] = 0; } for i in N, j in i + 1..N { L[i, j] = A[j, i]; } }",
};

static void test_programs_agree_with_their_references(void **state)
{
    Context *c = *state;
    GUARD(c);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (int sampled = 0; sampled < 2; sampled++) {
            Kernel *k = parsed(c, programs[i]);
            Run r = run_open(c, k);
            if (!run_once(&r))
                fail_msg("%s", messages(c));
            VerifyResult v = verified(c, &r, k, sampled ? 5 : 0);
            StrBuf words = strbuf_new(c->arena);
            verify_describe(&v, &words);
            if (!v.ok || v.unchecked > v.checked)
                fail_msg("%s: %s", k->name, words.text);
            assert_true(sampled ? v.checked <= 25 * 2 : v.checked + v.unchecked == v.total);
            run_close(&r);
        }
}

static void test_references_print_and_parse(void **state)
{
    Context *c = *state;
    GUARD(c);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        Kernel *reference = reference_kernel_sampled(c, parsed(c, programs[i]));
        StrBuf text = strbuf_new(c->arena);
        print_kernel(c, reference, &text);
        Kernel *again = parsed(c, text.text);
        if (!kernel_equal(reference, again)) {
            StrBuf second = strbuf_new(c->arena);
            print_kernel(c, again, &second);
            fail_msg("%s\nbecame\n%s", text.text, second.text);
        }
    }
}

static void test_a_large_matmul_is_sampled_quickly(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(
        c, "kernel matmul<M = 4096, N = 4096, K = 4096>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, "
           "N] { for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }");
    Kernel *reference = reference_kernel_sampled(c, k);
    int64_t sizes[3] = {4096, 4096, 4096};
    assert_true(reference_work(c, reference, sizes, 32) < 5e7);
    assert_true(reference_work(c, reference, sizes, INT64_MAX) > 1e11);
}

/* A temp of one iteration does not keep the others from being skipped. */
static void test_rows_with_temps_are_sampled_quickly(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(
        c, "kernel shares<M = 16384, N = 8192>(x: f32[M, N]) -> y: f32[M, N] { for i in M { temp "
           "sum: f32; sum = 0; for j in N sum += x[i, j]; for j in N y[i, j] = x[i, j] / sum; } }");
    Kernel *reference = reference_kernel_sampled(c, k);
    int64_t sizes[2] = {16384, 8192};
    assert_true(reference_work(c, reference, sizes, 8) < 1e6);
    assert_true(reference_work(c, reference, sizes, INT64_MAX) > 1e8);
}

/* What the next iteration reads is no temp of one: no iteration is skipped. */
static void test_rows_that_go_on_are_computed_whole(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = parsed(
        c, "kernel sums<M = 16384, N = 8192>(x: f32[M, N]) -> y: f32[M, N] { temp sum: f32; sum = "
           "0; for i in M { for j in N sum += x[i, j]; for j in N y[i, j] = x[i, j] / sum; } }");
    Kernel *reference = reference_kernel_sampled(c, k);
    int64_t sizes[2] = {16384, 8192};
    assert_true(reference_work(c, reference, sizes, 8) > 1e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_order_is_within_the_bound, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_one_missing_term_is_seen, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_a_sum_that_goes_on_has_a_bound, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_flushed_sums, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_missing_and_extra_elements, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_what_overflows_has_no_bound, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_programs_agree_with_their_references, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_references_print_and_parse, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_a_large_matmul_is_sampled_quickly, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_rows_with_temps_are_sampled_quickly, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_rows_that_go_on_are_computed_whole, new_context,
                                        free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
