/* Which programs are one product of matrices, and which axes lie how. */
#include <stdio.h>

#include "vm_run.h"

#include "passes/analysis/regions/contraction.h"

/* "nn", "tn" ...: how A and B lie, and C where it is transposed; or why it is none. */
static const char *form(Context *c, const char *shapes, const char *body)
{
    char text[1000];
    Contraction x;
    const char *why;
    snprintf(text, sizeof text, "kernel t<P = 2, M = 3, N = 4, K = 5>(%s { %s }", shapes, body);
    if (!contraction_of(c, parsed(c, text), &x, &why))
        return why;
    return arena_printf(c->arena, "%c%c%s%d%s%s%s", x.a_transposed ? 't' : 'n',
                        x.b_transposed ? 't' : 'n', x.c_transposed ? "'" : "", x.n_batch,
                        x.bias ? "+" : "", x.relu ? "relu" : "", x.a_tf32 ? " tf32" : "");
}

#define F32(a, b, c) "A: f32[" a "], B: f32[" b "]) -> C: f32[" c "]"

static void test_axes(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_string_equal(
        form(c, F32("M, K", "K, N", "M, N"),
             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; }"),
        "nn0");
    assert_string_equal(
        form(c, F32("K, M", "N, K", "M, N"),
             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[k, i] * B[j, k]; }"),
        "tt0");
    assert_string_equal(form(c, F32("M, K", "K, N", "M, N"),
                             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += tf32(A[i, "
                             "k]) * tf32(B[k, j]); }"),
                        "nn0 tf32");
    assert_string_equal(form(c, F32("M, K", "N, K", "M, N"),
                             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += "
                             "tf32_rz(A[i, k]) * tf32_rz(B[j, k]); }"),
                        "nt0 tf32");
    assert_non_null(strstr(form(c, F32("M, K", "K, N", "M, N"),
                                "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * "
                                "tf32(B[k, j]); }"),
                           "it rounds one operand to TF32, but not the other"));
    assert_non_null(strstr(form(c, F32("M, K", "K, N", "M, N"),
                                "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += abs(A[i, "
                                "k]) * B[k, j]; }"),
                           "not a product of two elements"));
    assert_string_equal(
        form(c, F32("M, K", "N, K", "N, M"),
             "for j in N, i in M { C[j, i] = 0; for k in K C[j, i] += A[i, k] * B[j, k]; }"),
        "nt'0");
    assert_string_equal(form(c, F32("P, M, K", "P, K, N", "P, M, N"),
                             "for b in P, i in M, j in N { C[b, i, j] = 0; for k in K C[b, i, j] "
                             "+= A[b, i, k] * B[b, k, j]; }"),
                        "nn1");
}

#define SUM                                                                                        \
    "temp s: f32[M, N]; for i in M, j in N { s[i, j] = 0; for k in K s[i, j] += A[i, k] * B[k, "   \
    "j]; } "
#define BIAS(axis) "A: f32[M, K], B: f32[K, N], x: f32[" axis "]) -> C: f32[M, N]"

static void test_epilogues(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_string_equal(
        form(c, BIAS("N"), SUM "e: for i in M, j in N C[i, j] = max(s[i, j] + x[j], 0);"),
        "nn0+relu");
    assert_string_equal(form(c, BIAS("N"), SUM "e: for i in M, j in N C[i, j] = s[i, j] + x[j];"),
                        "nn0+");
    static const char *const others[] = {"s[i, j] - x[j]", "max(s[i, j] + x[j], 1)", "x[j] + 1",
                                         "s[i, j] + x[0]"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_non_null(strstr(
            form(c, BIAS("N"),
                 arena_printf(c->arena, SUM "e: for i in M, j in N C[i, j] = %s;", others[i])),
            "the statement after the matmul is not C[i, j] = sum[i, j] + bias[j], or its max with "
            "0"));
    assert_non_null(
        strstr(form(c, BIAS("M"), SUM "e: for i in M, j in N C[i, j] = s[i, j] + x[i];"),
               "after the matmul"));
}

/* Sums of another type than the operands', which are stored or converted. */
static void test_types(void **state)
{
    Context *c = *state;
    GUARD(c);
#define MIXED(c) "A: f16[M, K], B: f16[N, K]) -> " c
#define MIXED_SUM                                                                                  \
    "temp s: f32[M, N]; for i in M, j in N { s[i, j] = 0; for k in K s[i, j] += f32(A[i, k]) * "   \
    "f32(B[j, k]); } "
    assert_string_equal(form(c, MIXED("C: f32[M, N]"),
                             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += f32(A[i, k]) "
                             "* f32(B[j, k]); }"),
                        "nt0");
    assert_string_equal(
        form(c, MIXED("C: f16[M, N]"), MIXED_SUM "for i in M, j in N C[i, j] = f16(s[i, j]);"),
        "nt0");
    static const char *const others[][2] = {
        {"C: f16[N, M]", MIXED_SUM "for j in N, i in M C[j, i] = f16(s[i, j]);"},
        {"C: f16[M, N]", MIXED_SUM "for i in M, j in N C[i, j] = f16(s[i, N - 1 - j]);"},
        {"C: f16[M, N]", MIXED_SUM "for i in M, j in N C[i, j] = f16(s[i, j] * 2);"},
        {"C: f16[M, N, P]", MIXED_SUM "for i in M, j in N, p in P C[i, j, p] = f16(s[i, j]);"},
        {"C: f16[M, N], s: f32[M, N]",
         "for i in M, j in N { s[i, j] = 0; for k in K s[i, j] += f32(A[i, k]) * f32(B[j, k]); } "
         "for i in M, j in N C[i, j] = f16(s[i, j]);"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_non_null(
            strstr(form(c, arena_printf(c->arena, MIXED("%s"), others[i][0]), others[i][1]),
                   "after the matmul"));
    assert_string_equal(form(c, "A: f16[M, K], B: bf16[K, N]) -> C: f32[M, N]",
                             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += f32(A[i, k]) "
                             "* f32(B[k, j]); }"),
                        "its operands differ in type");
}

static void test_others(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_non_null(
        strstr(form(c, F32("M, K", "K, N", "M, N"),
                    "for i in M, j in N { C[i, j] = 1; for k in K C[i, j] += A[i, k] * B[k, j]; }"),
               "C = 0"));
    assert_non_null(
        strstr(form(c, F32("M, K", "K, N", "M, N"),
                    "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] + B[k, j]; }"),
               "product"));
    assert_non_null(strstr(
        form(
            c, F32("M, K", "K, N", "M, N"),
            "for i in M, j in N { C[i, j] = 0; for k in K - 1 C[i, j] += A[i, k] * B[k + 1, j]; }"),
        "subscripts"));
    assert_non_null(strstr(
        form(c, F32("M, K", "K, N", "M, N"),
             "for i in M, j in N { C[i, j] = 0; for k in K - 1 C[i, j] += A[i, k] * B[k, j]; }"),
        "whole matrices"));
    assert_non_null(strstr(
        form(c, "A: f32[M, K], B: f32[K, N]) -> C: f64[M, N]",
             "for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += f64(A[i, k] * B[k, j]); }"),
        "product"));
    assert_non_null(strstr(form(c, "x: f32[M]) -> y: f32[M]", "for i in M y[i] = x[i];"), "C = 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_axes, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_epilogues, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_types, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_others, new_context, free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
