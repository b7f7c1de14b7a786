/* test_count.c - how many operations programs ask for, against numbers worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"
#include "passes/analysis/regions/count.h"

static const Kernel *resolve(Context *c, const char *text, const AstFile **file)
{
    const AstFile *ast = parse_text(c, source_add(c, "test.tir", text, strlen(text)));
    assert_non_null(ast);
    if (file)
        *file = ast;
    const Kernel *kernel = resolve_kernel(c, ast->kernels[0], NULL, 0);
    assert_non_null(kernel);
    return kernel;
}

static int64_t count(const char *text, const int64_t *sizes)
{
    Context *c = ctx_new(0);
    int64_t flops, constants[8] = {0};
    const Kernel *kernel = resolve(c, text, NULL);
    for (int i = 0; i < kernel->n_sizes; i++)
        constants[i] = sizes ? sizes[i] : kernel->sizes[i].value;
    assert_true(count_flops(c, kernel, constants, &flops));
    ctx_free(c);
    return flops;
}

#define MATMUL                                                                                     \
    "kernel matmul<M = 30, N = 20, K = 10>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {"          \
    " for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }"

static void nests_multiply(void **state)
{
    (void)state;
    assert_int_equal(count(MATMUL, NULL), 2 * 30 * 20 * 10);
}

static void large_nests_are_not_walked(void **state)
{
    (void)state;
    const int64_t sizes[] = {1000000};
    assert_int_equal(count("kernel cube<N>(x: f32[N]) -> y: f32[N] {"
                           " for i in N { y[i] = 0; for j in N, k in N y[i] += x[j] * x[k]; } }",
                           sizes),
                     2 * INT64_C(1000000000000000000));
}

static void triangles_are_summed(void **state)
{
    (void)state;
    assert_int_equal(count("kernel t<N = 100>(x: f64[N]) -> y: f64[N] {"
                           " for i in N { y[i] = 0; for j in i + 1..N y[i] += x[j]; } }",
                           NULL),
                     100 * 99 / 2);
}

static void steps_and_directions(void **state)
{
    (void)state;
    assert_int_equal(count("kernel s<N = 10>(x: f32[N]) -> y: f32[N] {"
                           " for i in N y[i] = 0; for i in 0..N step 3 y[i] = x[i] + 1;"
                           " for i in N - 1..0 step -1 y[i] = -x[i]; }",
                           NULL),
                     4 + 10);
}

static void conditions_on_loops_are_decided(void **state)
{
    (void)state;
    assert_int_equal(count("kernel c<N = 10>(x: f32[N]) -> y: f32[N] {"
                           " for i in N { if i < 3 y[i] = x[i] + 1; else y[i] = x[i] * 2 - 1; } }",
                           NULL),
                     3 + 2 * 7);
}

static void what_counts(void **state)
{
    (void)state;
    assert_int_equal(count("kernel w<N = 1>(x: f32[N], k: i32[N]) -> y: f32[N], n: i32[N] {"
                           " for i in N { y[i] = fma(x[i], x[i], exp(-x[i])) + max(x[i], 0); }"
                           " for i in N { n[i] = k[i] * 3 + 1; } }",
                           NULL),
                     2 + 1 + 1 + 1 + 1);
}

/* Staging and guards of a schedule are no work of the program. */
static void schedules_do_not_change_the_number(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    const AstFile *file;
    const Kernel *kernel = resolve(c, MATMUL, &file);
    FoundSchedule found;
    assert_true(script_find(c, file, kernel->name, "tiled32", &found));
    const Schedule *schedule = script_run(c, kernel, &found, NULL, 0);
    assert_non_null(schedule);
    const int64_t sizes[] = {30, 20, 10};
    int64_t flops;
    assert_true(count_flops(c, schedule_kernel(schedule), sizes, &flops));
    assert_int_equal(flops, 2 * 30 * 20 * 10);
    ctx_free(c);
}

static void too_many_is_no_number(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    const Kernel *kernel = resolve(c,
                                   "kernel h<N>(x: f32[N]) -> y: f32[N] { for i in N { y[i] = 0; "
                                   "for j in N, k in N y[i] += x[j] * x[k]; } }",
                                   NULL);
    const int64_t sizes[] = {INT64_C(1) << 32};
    int64_t flops;
    assert_false(count_flops(c, kernel, sizes, &flops));
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nests_multiply),
        cmocka_unit_test(large_nests_are_not_walked),
        cmocka_unit_test(triangles_are_summed),
        cmocka_unit_test(steps_and_directions),
        cmocka_unit_test(conditions_on_loops_are_decided),
        cmocka_unit_test(what_counts),
        cmocka_unit_test(schedules_do_not_change_the_number),
        cmocka_unit_test(too_many_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
