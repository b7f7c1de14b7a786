/* Loops joined, shifted and taken apart: what merge, shift and fission make of small kernels, that
 * traces run again to the same text, and every refusal with its text. What the results mean is
 * tested with tests/programs/partition.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_programs.h"
#include "schedule_trace.h"

#define PAIR                                                                                       \
    "kernel pair<N = 64>(x: f32[N]) -> y: f32[N]\n"                                                \
    "{ temp t: f32[N]; for i in N t[i] = x[i]; for j in N y[j] = t[j]; }\n"
/* The consumer reads one element ahead. */
#define AHEAD                                                                                      \
    "kernel ahead<N = 64>(x: f32[N]) -> y: f32[N]\n"                                               \
    "{ temp t: f32[N]; for i in N t[i] = x[i]; for j in N - 1 y[j] = t[j + 1]; }\n"
#define PART                                                                                       \
    "kernel part(x: f32[100]) -> y: f32[100], z: f32[100]\n"                                       \
    "{ for i in 50 y[i] = x[i]; for i in 60 block b(v in 100 = i + 25) { z[v] = x[v]; } }\n"
#define GUARDED                                                                                    \
    "kernel guarded(x: f32[100]) -> y: f32[100], z: f32[100]\n"                                    \
    "{ for i in 70 y[i] = x[i]; for i in 1..60 block b(v in 100 = i + 25) { z[v] = x[v]; } }\n"
/* A temp of the first nest has the name of a loop of the second. */
#define NAMES                                                                                      \
    "kernel names(x: f32[64]) -> y: f32[64], z: f32[64]\n"                                         \
    "{ for i in 64 { temp j: f32[1]; first: j[0] = x[i]; y[i] = j[0]; }\n"                         \
    "for i in 64, j in 1 z[i] = x[j]; }\n"
#define BODY                                                                                       \
    "kernel body<N = 64>(x: f32[N]) -> y: f32[N], z: f32[N], w: f32[N]\n"                          \
    "{ for i in N { y[i] = x[i]; z[i] = y[i] + 1; w[i] = i > 0 ? z[i - 1] : 0; } }\n"

static void merge_brings_equal_values_together(void **state)
{
    (void)state;
    expect_traced(PAIR, "let [i] = loops(t); let [j] = loops(y); let n = merge(i, j);",
                  "    temp t: f32[64];\n"
                  "    for n in 64 {\n"
                  "        block t(i in 64 = n) {\n"
                  "            t[i] = x[i];\n"
                  "        }\n"
                  "        block y(j in 64 = n) {\n"
                  "            y[j] = t[j];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); merge(j, q);",
                  "    for i_m in 8, j_m in 9 {\n"
                  "        block a(i in 8 = i_m, j in 9 = j_m) {\n"
                  "            a[i, j] = x[i, j];\n"
                  "        }\n"
                  "        block b(p in 2..6 = i_m, q in 9 = j_m) {\n"
                  "            b[p, q] = a[p, q];\n"
                  "        }\n"
                  "    }\n"
                  "    for r in 9\n"
                  "        c[r] = x[0, r];\n");
    expect_traced(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); let o = merge(p, i);",
                  "    for o in 8 {\n"
                  "        for j in 9\n"
                  "            block a(i in 8 = o, j in 9 = j) {\n"
                  "                a[i, j] = x[i, j];\n"
                  "            }\n"
                  "        for q in 9\n"
                  "            block b(p in 2..6 = o, q in 9 = q) {\n"
                  "                b[p, q] = a[p, q];\n"
                  "            }\n"
                  "    }\n"
                  "    for r in 9\n"
                  "        c[r] = x[0, r];\n");
    expect_traced(DOWN, "merge(loops(b)[0], loops(a)[0]);",
                  "    for i_m in 8..0 step -1 {\n"
                  "        block a(i in 9 = i_m) {\n"
                  "            a[i] = x[i];\n"
                  "        }\n"
                  "        block b(j in 9 = i_m) {\n"
                  "            b[j] = a[j];\n"
                  "        }\n"
                  "    }\n"
                  "    for k in 8\n"
                  "        c[k] = x[k];\n");
    expect_traced(PART, "let m = merge(loops(y)[0], loops(b)[0]); unroll(m);",
                  "    for m in 60 unroll {\n"
                  "        block y(i in 50 = m) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "        block b(v in 100 = m + 25) {\n"
                  "            z[v] = x[v];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(GUARDED, "merge(loops(y)[0], loops(b)[0]);",
                  "    for i_m in 70 {\n"
                  "        block y(i in 70 = i_m) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "        block b(v in 100 = i_m + 25) where i_m > 0 && i_m < 60 {\n"
                  "            z[v] = x[v];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(NAMES, "merge(loops(y)[0], loops(z)[0]);",
                  "    for i_m in 64 {\n"
                  "        temp j_1: f32[1];\n"
                  "        block first(i in 64 = i_m) {\n"
                  "            j_1[0] = x[i];\n"
                  "        }\n"
                  "        block y(i in 64 = i_m) {\n"
                  "            y[i] = j_1[0];\n"
                  "        }\n"
                  "        for j in 1\n"
                  "            block z(i in 64 = i_m, j in 1 = j) {\n"
                  "                z[i] = x[j];\n"
                  "            }\n"
                  "    }\n");
    expect_traced(TEMPS, "merge(loops(y)[0], loops(z)[0]);",
                  "    for i_m in 64 {\n"
                  "        temp t: f32[i_m + 1];\n"
                  "        for j in i_m + 1\n"
                  "            block t(i in 64 = i_m, j in i + 1 = j) {\n"
                  "                t[j] = x[j];\n"
                  "            }\n"
                  "        block y(i in 64 = i_m) {\n"
                  "            y[i] = t[i];\n"
                  "        }\n"
                  "        temp s: f32[1];\n"
                  "        block s(j in 64 = i_m) {\n"
                  "            s[0] = x[j];\n"
                  "        }\n"
                  "        block z(j in 64 = i_m) {\n"
                  "            z[j] = s[0];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(PAIR, "let [i] = loops(t); merge(i);",
                  "    temp t: f32[64];\n"
                  "    for i in 64\n"
                  "        t[i] = x[i];\n"
                  "    for j in 64\n"
                  "        y[j] = t[j];\n");
}

static void shift_lets_a_consumer_lag(void **state)
{
    (void)state;
    expect_traced(COPY, "let [i] = loops(y); shift(i, -1); shift(i, 3);",
                  "    for i in 2..N + 2\n"
                  "        block y(i in N = i - 2) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(AHEAD,
                  "let [i] = loops(t); let [j] = loops(y); shift(j, 1); let m = merge(i, j);",
                  "    temp t: f32[64];\n"
                  "    for m in 64 {\n"
                  "        block t(i in 64 = m) {\n"
                  "            t[i] = x[i];\n"
                  "        }\n"
                  "        block y(j in 63 = m - 1) {\n"
                  "            y[j] = t[j + 1];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(AHEAD,
                  "let [i] = loops(t); let [j] = loops(y); shift(j, 2); let m = merge(i, j);",
                  "    temp t: f32[64];\n"
                  "    for m in 65 {\n"
                  "        block t(i in 64 = m) {\n"
                  "            t[i] = x[i];\n"
                  "        }\n"
                  "        block y(j in 63 = m - 2) {\n"
                  "            y[j] = t[j + 1];\n"
                  "        }\n"
                  "    }\n");
    expect_traced(PART, "let [i] = loops(b); shift(i, 1); shift(i, 0);",
                  "    for i in 50\n"
                  "        y[i] = x[i];\n"
                  "    for i in 1..61\n"
                  "        block b(v in 100 = i + 24) {\n"
                  "            z[v] = x[v];\n"
                  "        }\n");
    expect_traced(TEMPS, "shift(loops(y)[0], 1);",
                  "    for i in 1..65 {\n"
                  "        temp t: f32[i];\n"
                  "        for j in i\n"
                  "            block t(i in 64 = i - 1, j in i + 1 = j) {\n"
                  "                t[j] = x[j];\n"
                  "            }\n"
                  "        block y(i in 64 = i - 1) {\n"
                  "            y[i] = t[i];\n"
                  "        }\n"
                  "    }\n"
                  "    for j in 64 {\n"
                  "        temp s: f32[1];\n"
                  "        s[0] = x[j];\n"
                  "        z[j] = s[0];\n"
                  "    }\n");
}

static void fission_cuts_behind_a_statement(void **state)
{
    (void)state;
    expect_traced(
        BODY,
        "let [i] = loops(y); let r = fission(i, y); let q = fission(r, z); unroll(i); unroll(q);",
        "    for i in 64 unroll\n"
        "        y[i] = x[i];\n"
        "    for r in 64\n"
        "        block z(i in 64 = r) {\n"
        "            z[i] = y[i] + 1.0;\n"
        "        }\n"
        "    for q in 64 unroll\n"
        "        block w(i in 64 = q) {\n"
        "            w[i] = i > 0 ? z[i - 1] : 0.0;\n"
        "        }\n");
    expect_traced(SUM,
                  "let [i, k] = loops(y); let init = decompose_reduction(y, k); fission(i, init);",
                  "    for i in 64\n"
                  "        y_init: y[i] = 0.0;\n"
                  "    for i in 64, k in 100\n"
                  "        y[i] += A[i, k];\n");
    expect_traced(SUM, "let [i, k] = loops(y); let init = decompose_reduction(y, i);",
                  "    for i in 64\n"
                  "        y_init: y[i] = 0.0;\n"
                  "    for i in 64, k in 100\n"
                  "        y[i] += A[i, k];\n");
}

/* A loop whose variable nothing uses gets another name, too, where the value of an iterator has
 * it. */
static void names_mean_one_thing(void **state)
{
    (void)state;
    Case r;
    case_run(&r,
             "kernel k(x: i32[7]) -> y: i32[7, 1], z: i32[7, 7]\n"
             "{ for j in 7 z[j, j] = x[j]; for i in 7, j in 1 y[i, j] = x[i]; }\n",
             "merge(loops(z)[0], loops(y)[0]); shift(loops(z)[0], -2);");
    assert_non_null(r.schedule);
    LowerOptions options = {.limits = limits_default()};
    assert_non_null(lower_kernel(r.text.ctx, schedule_kernel(r.schedule), &options));
    text_close(&r.text);
}

static void merge_refuses(void **state)
{
    (void)state;
    refuse(THREE, "let [i, j] = loops(a); merge(i, j);", E0433,
           "merge: loops 'i' and 'j' are nested; merge takes adjacent loops");
    refuse(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); merge(i, q);", E0433,
           "loops 'i' and 'q' have different numbers of enclosing loops to be merged");
    refuse(THREE, "let [i, j] = loops(a); let [r] = loops(c); merge(i, r);", E0433,
           "loops 'i' and 'r' are separated by other statements; merge takes adjacent loops");
    refuse("kernel k(x: f32[8]) -> y: f32[8, 8], z: f32[8, 8], w: f32[8]\n"
           "{ for i in 8 { for j in 8 y[i, j] = x[i]; w[i] = x[i]; } for p in 8, q in 8 z[p, q] = "
           "x[p]; }\n",
           "merge(loops(y)[1], loops(z)[1]);", E0433,
           "loop 'j' is not the only statement in its enclosing loops, which would be merged, too");
    refuse("kernel k<N>(x: f32[8]) -> y: f32[8], z: f32[8]\n"
           "{ if N > 3 { for i in 8 y[i] = x[i]; } for j in 8 z[j] = x[j]; }\n",
           "merge(loops(y)[0], loops(z)[0]);", E0433, "is not the only statement");
    refuse(PAIR, "let [i] = loops(t); merge(i, i);", E0418, "duplicate loop 'i'");
    refuse(PAIR, "let [i] = loops(t); unroll(i); merge(i, loops(y)[0]);", E0410,
           "already unrolled");
    refuse(DOWN, "merge(loops(b)[0], loops(c)[0]);", E0434,
           "loops 'j' and 'k' have different ranges, and not all steps are 1");
    refuse(AHEAD, "merge(loops(t)[0], loops(y)[0]);", E0435,
           "merge: the step would swap two dependent iterations");
    refuse(AHEAD, "merge(loops(t)[0], loops(y)[0]);", E0435, "'y' at j = 0");
    refuse(AHEAD, "let [j] = loops(y); shift(j, 1); shift(j, -1); merge(loops(t)[0], j);", E0435,
           "'t' at i = 1 runs first and accesses t[1]");
}

/* What is right is not refused: reductions may meet their readers only where they are complete. */
static void merge_knows_reductions(void **state)
{
    (void)state;
    const char *norm =
        "kernel norm<N = 8, K = 9>(x: f32[N, K]) -> s: f32[N], y: f32[N]\n"
        "{ for i in N { s[i] = 0; for k in K s[i] += x[i, k]; } for j in N y[j] = s[j] * 2; }\n";
    expect_traced(norm, "merge(loops(s)[0], loops(y)[0]);",
                  "    for i_m in 8 {\n"
                  "        for k in 9\n"
                  "            block s(i in 8 = i_m, reduce k in 9 = k) {\n"
                  "                init s[i] = 0.0;\n"
                  "                s[i] += x[i, k];\n"
                  "            }\n"
                  "        block y(j in 8 = i_m) {\n"
                  "            y[j] = s[j] * 2.0;\n"
                  "        }\n"
                  "    }\n");
    refuse(norm, "let [i, k] = loops(s); reorder(k, i); merge(k, loops(y)[0]);", E0435,
           "accesses s[");
}

static void shift_refuses(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); unroll(i); shift(i, 1);", E0410,
           "shift: loop 'i' is already unrolled");
    refuse(COPY100, "let [i] = loops(y); shift(i, 2147483648);", E0496,
           "shift: the shift is at most 2147483647 iterations, found 2147483648");
}

static void fission_refuses(void **state)
{
    (void)state;
    refuse(BODY, "let [i] = loops(y); fission(i, w);", E0436,
           "fission: 'w' is the last statement in the body of loop 'i', so there is nothing to "
           "separate");
    refuse(SUM, "let [i, k] = loops(y); fission(i, y);", E0436, "'y' is the last statement");
    refuse(THREE, "let [i, j] = loops(a); fission(i, b);", E0436, "'b' is the last statement");
    refuse(TEMPS, "let [i] = loops(y); fission(i, t);", E0437,
           "fission: temp 't' is made anew in each iteration of loop 'i' and used on both sides of "
           "the cut");
    refuse("kernel k(x: f32[8]) -> y: f32[8], z: f32[9]\n"
           "{ for i in 8 { y[i] = i > 0 ? z[i] : x[i]; z[i + 1] = y[i]; } }\n",
           "let [i] = loops(y); fission(i, y);", E0435,
           "fission: the step would swap two dependent iterations");
    refuse(BODY, "let [i] = loops(y); annotate(i, note, 1); fission(i, y);", E0411,
           "has the annotation 'note'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_brings_equal_values_together),
        cmocka_unit_test(shift_lets_a_consumer_lag),
        cmocka_unit_test(fission_cuts_behind_a_statement),
        cmocka_unit_test(names_mean_one_thing),
        cmocka_unit_test(merge_refuses),
        cmocka_unit_test(merge_knows_reductions),
        cmocka_unit_test(shift_refuses),
        cmocka_unit_test(fission_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
