/* Loops cut, joined and shifted, and other orders: what each primitive makes of a small kernel, that traces run again to
 * the same text, and every refusal with its text. What the results mean is tested with tests/programs/partition.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_steps.h"

#define COPY    "kernel copy<N>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define COPY100 "kernel copy<N = 100>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define SUM                                                                                        \
    "kernel sum<N = 64, K = 100>(A: f32[N, K]) -> y: f32[N]\n"                                     \
    "{ for i in N { y[i] = 0; for k in K y[i] += A[i, k]; } }\n"
#define PAIR                                                                                       \
    "kernel pair<N = 64>(x: f32[N]) -> y: f32[N]\n"                                                \
    "{ temp t: f32[N]; for i in N t[i] = x[i]; for j in N y[j] = t[j]; }\n"
/* The consumer reads one element ahead. */
#define AHEAD                                                                                      \
    "kernel ahead<N = 64>(x: f32[N]) -> y: f32[N]\n"                                               \
    "{ temp t: f32[N]; for i in N t[i] = x[i]; for j in N - 1 y[j] = t[j + 1]; }\n"
#define THREE                                                                                      \
    "kernel three(x: f32[8, 9]) -> a: f32[8, 9], b: f32[8, 9], c: f32[9]\n"                        \
    "{ for i in 8, j in 9 a[i, j] = x[i, j]; for p in 2..6, q in 9 b[p, q] = a[p, q];\n"          \
    "for r in 9 c[r] = x[0, r]; }\n"
#define DOWN                                                                                       \
    "kernel down(x: f32[9]) -> a: f32[9], b: f32[9], c: f32[9]\n"                                  \
    "{ for i in 8..0 step -1 a[i] = x[i]; for j in 8..0 step -1 b[j] = a[j]; for k in 8 c[k] = "   \
    "x[k]; }\n"
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
#define TEMPS                                                                                      \
    "kernel temps<N = 64>(x: f32[N]) -> y: f32[N], z: f32[N]\n"                                    \
    "{ for i in N { temp t: f32[i + 1]; t: for j in 0..i + 1 t[j] = x[j]; y[i] = t[i]; }\n"        \
    "for j in N { temp s: f32[1]; s[0] = x[j]; z[j] = s[0]; } }\n"
#define LOWER                                                                                      \
    "kernel lower<N = 64>(x: f32[N]) -> y: f32[N, N] { for i in N, j in 0..i + 1 y[i, j] = x[j]; " \
    "}\n"
#define GRID                                                                                       \
    "kernel grid<M = 25, N = 128>(x: f32[M, N]) -> y: f32[M, N]\n"                                 \
    "{ for i in M, j in N y[i, j] = x[i, j]; }\n"
#define BOUND "let [i, j] = loops(y); bind(i, blockIdx.y); bind(j, blockIdx.x); "

/* The trace of the run, as the steps of another one. */
static const char *trace_steps(Case *k)
{
    Context *c = k->text.ctx;
    StrBuf text = strbuf_new(c->arena);
    schedule_trace(k->schedule, ctx_name(c, "s"), &text);
    const char *open = strstr(text.text, "{\n") + 2;
    return arena_strndup(c->arena, open, strlen(open) - 2);
}

/* The body that the steps make of the program, and that their trace makes of it. */
static void expect(const char *program, const char *steps, const char *body)
{
    Case k, again;
    case_run(&k, program, steps);
    assert_string_equal(case_made(&k), body);
    case_run(&again, program, trace_steps(&k));
    if (!again.schedule)
        fail_msg("the trace is refused: %s\n%s", text_report(&again.text), trace_steps(&k));
    assert_string_equal(case_made(&again), body);
    text_close(&again.text);
    text_close(&k.text);
}

/* A piece of the lowered kernel. */
static void expect_lowered(const char *program, const char *steps, const char *piece)
{
    Case k;
    case_run(&k, program, steps);
    if (!k.schedule)
        fail_msg("%s", text_report(&k.text));
    LowerOptions options = {.limits = limits_default()};
    const Kernel *lowered = lower_kernel(k.text.ctx, schedule_kernel(k.schedule), &options);
    assert_non_null(lowered);
    const char *text = case_body(&k, lowered);
    if (!strstr(text, piece))
        fail_msg("expected '%s' in:\n%s", piece, text);
    text_close(&k.text);
}

/* ---- what primitives make ---------------------------------------------------------------------- */

static void merge_brings_equal_values_together(void **state)
{
    (void)state;
    expect(PAIR, "let [i] = loops(t); let [j] = loops(y); let n = merge(i, j);",
           "    temp t: f32[64];\n"
           "    for n in 64 {\n"
           "        block t(i in 64 = n) {\n"
           "            t[i] = x[i];\n"
           "        }\n"
           "        block y(j in 64 = n) {\n"
           "            y[j] = t[j];\n"
           "        }\n"
           "    }\n");
    expect(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); merge(j, q);",
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
    expect(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); let o = merge(p, i);",
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
    expect(DOWN, "merge(loops(b)[0], loops(a)[0]);",
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
    expect(PART, "let m = merge(loops(y)[0], loops(b)[0]); unroll(m);",
           "    for m in 60 unroll {\n"
           "        block y(i in 50 = m) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "        block b(v in 100 = m + 25) {\n"
           "            z[v] = x[v];\n"
           "        }\n"
           "    }\n");
    expect(GUARDED, "merge(loops(y)[0], loops(b)[0]);",
           "    for i_m in 70 {\n"
           "        block y(i in 70 = i_m) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "        block b(v in 100 = i_m + 25) where i_m > 0 && i_m < 60 {\n"
           "            z[v] = x[v];\n"
           "        }\n"
           "    }\n");
    expect(NAMES, "merge(loops(y)[0], loops(z)[0]);",
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
    expect(TEMPS, "merge(loops(y)[0], loops(z)[0]);",
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
    expect(PAIR, "let [i] = loops(t); merge(i);",
           "    temp t: f32[64];\n"
           "    for i in 64\n"
           "        t[i] = x[i];\n"
           "    for j in 64\n"
           "        y[j] = t[j];\n");
}

static void shift_lets_a_consumer_lag(void **state)
{
    (void)state;
    expect(COPY, "let [i] = loops(y); shift(i, -1); shift(i, 3);",
           "    for i in 2..N + 2\n"
           "        block y(i in N = i - 2) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(AHEAD, "let [i] = loops(t); let [j] = loops(y); shift(j, 1); let m = merge(i, j);",
           "    temp t: f32[64];\n"
           "    for m in 64 {\n"
           "        block t(i in 64 = m) {\n"
           "            t[i] = x[i];\n"
           "        }\n"
           "        block y(j in 63 = m - 1) {\n"
           "            y[j] = t[j + 1];\n"
           "        }\n"
           "    }\n");
    expect(AHEAD, "let [i] = loops(t); let [j] = loops(y); shift(j, 2); let m = merge(i, j);",
           "    temp t: f32[64];\n"
           "    for m in 65 {\n"
           "        block t(i in 64 = m) {\n"
           "            t[i] = x[i];\n"
           "        }\n"
           "        block y(j in 63 = m - 2) {\n"
           "            y[j] = t[j + 1];\n"
           "        }\n"
           "    }\n");
    expect(PART, "let [i] = loops(b); shift(i, 1); shift(i, 0);",
           "    for i in 50\n"
           "        y[i] = x[i];\n"
           "    for i in 1..61\n"
           "        block b(v in 100 = i + 24) {\n"
           "            z[v] = x[v];\n"
           "        }\n");
    expect(TEMPS, "shift(loops(y)[0], 1);",
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
    expect(BODY,
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
    expect(SUM, "let [i, k] = loops(y); let init = decompose_reduction(y, k); fission(i, init);",
           "    for i in 64\n"
           "        y_init: y[i] = 0.0;\n"
           "    for i in 64, k in 100\n"
           "        y[i] += A[i, k];\n");
    expect(SUM, "let [i, k] = loops(y); let init = decompose_reduction(y, i);",
           "    for i in 64\n"
           "        y_init: y[i] = 0.0;\n"
           "    for i in 64, k in 100\n"
           "        y[i] += A[i, k];\n");
}

static void loop_partition_cuts_a_range(void **state)
{
    (void)state;
    expect(COPY100, "let [i] = loops(y); let [a, b, c] = loop_partition(i, [1, _, 4]); unroll(a);",
           "    for a in 1 unroll\n"
           "        block y_1(i in 100 = a) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for b in 1..96\n"
           "        block y(i in 100 = b) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for c in 96..100\n"
           "        block y_2(i in 100 = c) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100, "let [i] = loops(y); loop_partition(i, 60, 30, 20);",
           "    for i_0 in 60\n"
           "        block y(i in 100 = i_0) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_1 in 60..90\n"
           "        block y_1(i in 100 = i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_2 in 90..100\n"
           "        block y_2(i in 100 = i_2) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY, "let [i] = loops(y); loop_partition(i, [1, _]);",
           "    for i_0 in min(N, 1)\n"
           "        block y_1(i in N = i_0) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_1 in min(N, 1)..N\n"
           "        block y(i in N = i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY, "let [i] = loops(y); loop_partition(i, [_, 4]);",
           "    for i_0 in max(N - 4, 0)\n"
           "        block y(i in N = i_0) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_1 in max(N - 4, 0)..N\n"
           "        block y_1(i in N = i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(DOWN, "let [i] = loops(a); let [h, l] = loop_partition(i, [3, _]);",
           "    for h in 3\n"
           "        block a_1(i in 9 = 8 - h) {\n"
           "            a[i] = x[i];\n"
           "        }\n"
           "    for l in 3..9\n"
           "        block a(i in 9 = 8 - l) {\n"
           "            a[i] = x[i];\n"
           "        }\n"
           "    for j in 8..0 step -1\n"
           "        b[j] = a[j];\n"
           "    for k in 8\n"
           "        c[k] = x[k];\n");
    expect(SUM, "let [i, k] = loops(y); loop_partition(i, [_, 10]);",
           "    for i_0 in 54, k in 100\n"
           "        block y(i in 64 = i_0, reduce k in 100 = k) {\n"
           "            init y[i] = 0.0;\n"
           "            y[i] += A[i, k];\n"
           "        }\n"
           "    for i_1 in 54..64, k in 100\n"
           "        block y_1(i in 64 = i_1, reduce k in 100 = k) {\n"
           "            init y[i] = 0.0;\n"
           "            y[i] += A[i, k];\n"
           "        }\n");
    expect(TEMPS, "loop_partition(loops(y)[0], [_, 10]);",
           "    for i_0 in 54 {\n"
           "        temp t: f32[i_0 + 1];\n"
           "        for j in i_0 + 1\n"
           "            block t(i in 64 = i_0, j in i + 1 = j) {\n"
           "                t[j] = x[j];\n"
           "            }\n"
           "        block y(i in 64 = i_0) {\n"
           "            y[i] = t[i];\n"
           "        }\n"
           "    }\n"
           "    for i_1 in 54..64 {\n"
           "        temp t_1: f32[i_1 + 1];\n"
           "        for j in i_1 + 1\n"
           "            block t_2(i in 64 = i_1, j in i + 1 = j) {\n"
           "                t_1[j] = x[j];\n"
           "            }\n"
           "        block y_1(i in 64 = i_1) {\n"
           "            y[i] = t_1[i];\n"
           "        }\n"
           "    }\n"
           "    for j in 64 {\n"
           "        temp s: f32[1];\n"
           "        s[0] = x[j];\n"
           "        z[j] = s[0];\n"
           "    }\n");
    expect(COPY100,
           "let [i] = loops(y); loop_partition(i, [_]); loop_partition(loop_partition(i, [30, _])[1], [_, 10]);",
           "    for i_0 in 30\n"
           "        block y_1(i in 100 = i_0) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_1_0 in 30..90\n"
           "        block y(i in 100 = i_1_0) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_1_1 in 90..100\n"
           "        block y_2(i in 100 = i_1_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
}

static void split_peels_a_rest(void **state)
{
    (void)state;
    expect(COPY100,
           "let [i] = loops(y); let [o, n, r] = split(i, [_, 32], tail = peel); unroll(r);",
           "    for o in 3, n in 32\n"
           "        block y(i in 100 = o * 32 + n) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for r in 96..100 unroll\n"
           "        block y_1(i in 100 = r) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100, "let [i] = loops(y); split(i, [_, 25], tail = peel);",
           "    for i_0 in 4, i_1 in 25\n"
           "        block y(i in 100 = i_0 * 25 + i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY, "let [i] = loops(y); split(i, [4, _, 8], tail = \"peel\");",
           "    for i_0 in 4, i_1 in N / 32, i_2 in 8\n"
           "        block y(i in N = i_0 * (N / 32) * 8 + i_1 * 8 + i_2) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for i_rest in N / 32 * 32..N\n"
           "        block y_1(i in N = i_rest) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY, "let [i] = loops(y); split(i, [_, 32], tail = guard);",
           "    for i_0 in (N + 31) / 32, i_1 in 32\n"
           "        block y(i in N = i_0 * 32 + i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(DOWN, "let [i] = loops(a); split(i, [_, 4], tail = peel);",
           "    for i_0 in 2, i_1 in 4\n"
           "        block a(i in 9 = 8 - i_0 * 4 - i_1) {\n"
           "            a[i] = x[i];\n"
           "        }\n"
           "    for i_rest in 8..9\n"
           "        block a_1(i in 9 = 8 - i_rest) {\n"
           "            a[i] = x[i];\n"
           "        }\n"
           "    for j in 8..0 step -1\n"
           "        b[j] = a[j];\n"
           "    for k in 8\n"
           "        c[k] = x[k];\n");
    expect(SUM, "let [i, k] = loops(y); decompose_reduction(y, k); split(k, [_, 32], tail = peel);",
           "    for i in 64 {\n"
           "        block y_init(i in 64 = i) {\n"
           "            y[i] = 0.0;\n"
           "        }\n"
           "        for k_0 in 3, k_1 in 32\n"
           "            block y(i in 64 = i, reduce k in 100 = k_0 * 32 + k_1) {\n"
           "                y[i] += A[i, k];\n"
           "            }\n"
           "        for k_rest in 96..100\n"
           "            block y_1(i in 64 = i, reduce k in 100 = k_rest) {\n"
           "                y[i] += A[i, k];\n"
           "            }\n"
           "    }\n");
}

static void block_iterators_change_places(void **state)
{
    (void)state;
    expect(THREE, "reorder_block_iter_var(a, [1, 0]);",
           "    for i in 8, j in 9\n"
           "        block a(j in 9 = j, i in 8 = i) {\n"
           "            a[i, j] = x[i, j];\n"
           "        }\n"
           "    for p in 2..6, q in 9\n"
           "        b[p, q] = a[p, q];\n"
           "    for r in 9\n"
           "        c[r] = x[0, r];\n");
    expect(SUM, "reorder_block_iter_var(y, [1, 0]); reorder_block_iter_var(y, [0, 1]);",
           "    for i in 64, k in 100\n"
           "        block y(reduce k in 100 = k, i in 64 = i) {\n"
           "            init y[i] = 0.0;\n"
           "            y[i] += A[i, k];\n"
           "        }\n");
}

static void remap_is_said_of_the_loops(void **state)
{
    (void)state;
    expect(GRID, BOUND "remap(i, j, grouped, 8);",
           "    for i in 25 bind blockIdx.y\n"
           "        for j in 128 bind blockIdx.x @remap_grouped(8)\n"
           "            y[i, j] = x[i, j];\n");
    expect(GRID, BOUND "remap(i, j, grouped, 8); remap(i, j, diagonal);",
           "    for i in 25 bind blockIdx.y\n"
           "        for j in 128 bind blockIdx.x @remap_diagonal(1)\n"
           "            y[i, j] = x[i, j];\n");
}

/* The group is walked down its rows; the last group has 1 row. */
static void remap_computes_coordinates(void **state)
{
    (void)state;
    expect_lowered(GRID, BOUND "remap(i, j, grouped, 8);",
                   "        let first = blockIdx.y / 8 * 8;\n"
                   "        let place = blockIdx.y % 8 * 128 + blockIdx.x;\n"
                   "        let height = min(25 - first, 8);\n"
                   "        let i = min(first + place % height, 24);\n"
                   "        let j = min(place / height, 127);\n");
    expect_lowered(GRID, BOUND "remap(i, j, grouped, 5);",
                   "        let first = blockIdx.y / 5 * 5;\n"
                   "        let place = blockIdx.y % 5 * 128 + blockIdx.x;\n"
                   "        let i = first + place % 5;\n"
                   "        let j = place / 5;\n");
    expect_lowered(GRID, BOUND "remap(i, j, grouped, 100);",
                   "        let place = blockIdx.y * 128 + blockIdx.x;\n"
                   "        let i = place % 25;\n"
                   "        let j = place / 25;\n");
    expect_lowered(GRID, BOUND "remap(i, j, diagonal);",
                   "        let j = (blockIdx.y + blockIdx.x) % 128;\n");
}

/* A part that is known to be empty leaves no launch behind. */
static void empty_parts_vanish(void **state)
{
    (void)state;
    Case r;
    case_run(&r, COPY100, "let [i] = loops(y); let [a, b] = loop_partition(i, [100, _]); bind(a, blockIdx.x);");
    assert_non_null(r.schedule);
    LowerOptions options = {.limits = limits_default()};
    const char *text = case_body(&r, lower_kernel(r.text.ctx, schedule_kernel(r.schedule), &options));
    assert_string_equal(text, "    launch copy grid(100, 1, 1) block(1, 1, 1) {\n"
                              "        let a = blockIdx.x;\n"
                              "        y[a] = x[a];\n"
                              "    }\n");
    text_close(&r.text);
}

/* A loop whose variable nothing uses gets another name, too, where the value of an iterator has it. */
static void names_mean_one_thing(void **state)
{
    (void)state;
    Case r;
    case_run(&r, "kernel k(x: i32[7]) -> y: i32[7, 1], z: i32[7, 7]\n"
             "{ for j in 7 z[j, j] = x[j]; for i in 7, j in 1 y[i, j] = x[i]; }\n",
             "merge(loops(z)[0], loops(y)[0]); shift(loops(z)[0], -2);");
    assert_non_null(r.schedule);
    LowerOptions options = {.limits = limits_default()};
    assert_non_null(lower_kernel(r.text.ctx, schedule_kernel(r.schedule), &options));
    text_close(&r.text);
}

/* ---- refusals --------------------------------------------------------------------------------- */

static void merge_refuses(void **state)
{
    (void)state;
    refuse(THREE, "let [i, j] = loops(a); merge(i, j);", E0433,
           "merge: loops 'i' and 'j' are one inside the other; merge takes loops that follow one another");
    refuse(THREE, "let [i, j] = loops(a); let [p, q] = loops(b); merge(i, q);", E0433,
           "loops 'i' and 'q' have different numbers of loops around them that would become one");
    refuse(THREE, "let [i, j] = loops(a); let [r] = loops(c); merge(i, r);", E0433,
           "loops 'i' and 'r' have other statements between them; merge takes neighbours");
    refuse("kernel k(x: f32[8]) -> y: f32[8, 8], z: f32[8, 8], w: f32[8]\n"
           "{ for i in 8 { for j in 8 y[i, j] = x[i]; w[i] = x[i]; } for p in 8, q in 8 z[p, q] = x[p]; }\n",
           "merge(loops(y)[1], loops(z)[1]);", E0433,
           "loop 'j' is not the only statement in the loops around it, which would become one loop as well");
    refuse("kernel k<N>(x: f32[8]) -> y: f32[8], z: f32[8]\n"
           "{ if N > 3 { for i in 8 y[i] = x[i]; } for j in 8 z[j] = x[j]; }\n",
           "merge(loops(y)[0], loops(z)[0]);", E0433, "is not the only statement");
    refuse(PAIR, "let [i] = loops(t); merge(i, i);", E0418, "loop 'i' is given twice");
    refuse(PAIR, "let [i] = loops(t); unroll(i); merge(i, loops(y)[0]);", E0410, "unrolled already");
    refuse(DOWN, "merge(loops(b)[0], loops(c)[0]);", E0434,
           "loops 'j' and 'k' have different ranges, and not all of them go in steps of 1");
    refuse(AHEAD, "merge(loops(t)[0], loops(y)[0]);", E0435,
           "merge: two iterations that depend on each other would change places");
    refuse(AHEAD, "merge(loops(t)[0], loops(y)[0]);", E0435, "'y' at j = 0");
    refuse(AHEAD, "let [j] = loops(y); shift(j, 1); shift(j, -1); merge(loops(t)[0], j);", E0435,
           "'t' at i = 1 comes first and touches t[1]");
}

/* What is right is not refused: reductions may meet their readers only where they are complete. */
static void merge_knows_reductions(void **state)
{
    (void)state;
    const char *norm = "kernel norm<N = 8, K = 9>(x: f32[N, K]) -> s: f32[N], y: f32[N]\n"
                       "{ for i in N { s[i] = 0; for k in K s[i] += x[i, k]; } for j in N y[j] = s[j] * 2; }\n";
    expect(norm, "merge(loops(s)[0], loops(y)[0]);",
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
    refuse(norm, "let [i, k] = loops(s); reorder(k, i); merge(k, loops(y)[0]);", E0435, "touches s[");
}

static void shift_refuses(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); unroll(i); shift(i, 1);", E0410, "shift: loop 'i' is unrolled already");
    refuse(COPY100, "let [i] = loops(y); shift(i, 2147483648);", E0496,
           "shift: a loop is shifted by at most 2147483647 iterations, and here are 2147483648");
}

static void fission_refuses(void **state)
{
    (void)state;
    refuse(BODY, "let [i] = loops(y); fission(i, w);", E0436,
           "fission: nothing stands behind 'w' in the body of loop 'i', so there is nothing to cut off");
    refuse(SUM, "let [i, k] = loops(y); fission(i, y);", E0436, "nothing stands behind 'y'");
    refuse(THREE, "let [i, j] = loops(a); fission(i, b);", E0436, "nothing stands behind 'b'");
    refuse(TEMPS, "let [i] = loops(y); fission(i, t);", E0437,
           "fission: temp 't' is made anew in each iteration of loop 'i' and used on both sides of the cut");
    refuse("kernel k(x: f32[8]) -> y: f32[8], z: f32[9]\n"
           "{ for i in 8 { y[i] = i > 0 ? z[i] : x[i]; z[i + 1] = y[i]; } }\n",
           "let [i] = loops(y); fission(i, y);", E0435,
           "fission: two iterations that depend on each other would change places");
    refuse(BODY, "let [i] = loops(y); annotate(i, note, 1); fission(i, y);", E0411, "has the annotation 'note'");
}

static void loop_partition_refuses(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); loop_partition(i, [60, 30]);", E0438,
           "loop_partition: the parts have 90 iterations together, and loop 'i' has 100; write _ for the part");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [60, 30]);", E0438, "and loop 'i' has N");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [_, 30, _]);", E0412,
           "parts 1 and 3 are both _, and tirc can compute only one");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [2147483647, 1, _]);", E0415,
           "the parts have more than 2147483647 iterations together");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [0, _]);", E0407, "a factor is at least 1");
    refuse(COPY, "let [i] = loops(y); parallel(i); loop_partition(i, [1, _]);", E0410, "parallel already");
    refuse(SUM, "let [i, k] = loops(y); loop_partition(k, [1, _]);", E0439,
           "block 'y' is a reduction that loop 'k', or a loop around it, carries on, so its init would run again "
           "for each part; give the init a block of its own first, with decompose_reduction(y, LOOP)");
    refuse(SUM, "let [i, k] = loops(y); reorder(k, i); loop_partition(i, [1, _]);", E0439, "that loop 'i', or");
}

static void split_refuses_tails(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); split(i, [_, 32], tail = shift);", E0491,
           "split: there is no tail 'shift'; iterations that do not fill the last tile get a guard (tail = guard), a loop of "
           "their own (tail = peel), or room to run in vain (tail = pad)");
    refuse(COPY100, "let [i] = loops(y); split(i, [4, 32], tail = peel);", E0490,
           "factors [4, 32] leave no room for a rest of loop 'i'; write _ for the factor");
    refuse(SUM, "let [i, k] = loops(y); split(k, [_, 32], tail = peel);", E0439, "split: block 'y' is a reduction");
    refuse(COPY100, "let [i] = loops(y); split(i, [_, 32], tail = 3);", E0401, "argument 'tail' takes a key");
}

static void orders_are_checked(void **state)
{
    (void)state;
    refuse(SUM, "reorder_block_iter_var(y, [1]);", E0492, "block 'y' has 2 iterators, and the order names 1");
    refuse(SUM, "reorder_block_iter_var(y, [0, 2]);", E0492, "block 'y' has iterators 0 to 1, and no 2");
    refuse(SUM, "reorder_block_iter_var(y, [1, 1]);", E0492, "iterator 1 of block 'y' is named twice");
    refuse(LOWER, "reorder_block_iter_var(y, [1, 0]);", E0493,
           "the domain of iterator 'j' of block 'y' depends on 'i', which has to come before it");
    refuse(GRID, "let [i, j] = loops(y); bind(i, blockIdx.y); remap(i, j, diagonal);", E0494,
           "loop 'j' is not bound to blockIdx.x, and remap chooses which blocks of a grid compute what");
    refuse(GRID, BOUND "remap(j, i, diagonal);", E0494, "loop 'j' is not bound to blockIdx.y");
    refuse(GRID, "let [i, j] = loops(y); reorder(j, i); bind(i, blockIdx.y); bind(j, blockIdx.x); "
                 "remap(i, j, diagonal);",
           E0494, "loop 'j' is not inside loop 'i', so they are no rows and columns");
    refuse("kernel k(x: f32[8, 8]) -> y: f32[8, 8], z: f32[8, 8]\n"
           "{ for i in 8 { for j in 8 y[i, j] = x[i, j]; for q in 8 z[i, q] = x[i, q]; } }\n",
           BOUND "let [p, q] = loops(z); bind(q, blockIdx.x); remap(i, j, diagonal); remap(i, q, grouped, 2);",
           E0494, "the blocks of this launch have an order already, from loop 'j'");
    refuse(GRID, BOUND "remap(i, j, diagnal);", E0495, "there is no order 'diagnal'; did you mean 'diagonal'?");
    refuse(GRID, BOUND "remap(i, j, grouped);", E0495, "the grouped order needs the number of rows in a group");
    refuse(GRID, BOUND "remap(i, j, grouped, 0);", E0495, "a group has 1 to 65535 rows");
    refuse(GRID, BOUND "remap(i, j, diagonal, 4);", E0495, "the diagonal order has no size; leave out 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_brings_equal_values_together),
        cmocka_unit_test(shift_lets_a_consumer_lag),
        cmocka_unit_test(fission_cuts_behind_a_statement),
        cmocka_unit_test(loop_partition_cuts_a_range),
        cmocka_unit_test(split_peels_a_rest),
        cmocka_unit_test(block_iterators_change_places),
        cmocka_unit_test(remap_is_said_of_the_loops),
        cmocka_unit_test(remap_computes_coordinates),
        cmocka_unit_test(empty_parts_vanish),
        cmocka_unit_test(names_mean_one_thing),
        cmocka_unit_test(merge_refuses),
        cmocka_unit_test(merge_knows_reductions),
        cmocka_unit_test(shift_refuses),
        cmocka_unit_test(fission_refuses),
        cmocka_unit_test(loop_partition_refuses),
        cmocka_unit_test(split_refuses_tails),
        cmocka_unit_test(orders_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
