/* Ranges of loops that are cut: what loop_partition and the tails of split make of small kernels,
 * that traces run again to the same text, and every refusal with its text. What the results mean is
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

static void loop_partition_cuts_a_range(void **state)
{
    (void)state;
    expect_traced(COPY100,
                  "let [i] = loops(y); let [a, b, c] = loop_partition(i, [1, _, 4]); unroll(a);",
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
    expect_traced(COPY100, "let [i] = loops(y); loop_partition(i, 60, 30, 20);",
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
    expect_traced(COPY, "let [i] = loops(y); loop_partition(i, [1, _]);",
                  "    for i_0 in min(N, 1)\n"
                  "        block y_1(i in N = i_0) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "    for i_1 in min(N, 1)..N\n"
                  "        block y(i in N = i_1) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(COPY, "let [i] = loops(y); loop_partition(i, [_, 4]);",
                  "    for i_0 in max(N - 4, 0)\n"
                  "        block y(i in N = i_0) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "    for i_1 in max(N - 4, 0)..N\n"
                  "        block y_1(i in N = i_1) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(DOWN, "let [i] = loops(a); let [h, l] = loop_partition(i, [3, _]);",
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
    expect_traced(SUM, "let [i, k] = loops(y); loop_partition(i, [_, 10]);",
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
    expect_traced(TEMPS, "loop_partition(loops(y)[0], [_, 10]);",
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
    expect_traced(COPY100,
                  "let [i] = loops(y); loop_partition(i, [_]); loop_partition(loop_partition(i, "
                  "[30, _])[1], [_, 10]);",
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
    expect_traced(COPY100,
                  "let [i] = loops(y); let [o, n, r] = split(i, [_, 32], tail = peel); unroll(r);",
                  "    for o in 3, n in 32\n"
                  "        block y(i in 100 = o * 32 + n) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "    for r in 96..100 unroll\n"
                  "        block y_1(i in 100 = r) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(COPY100, "let [i] = loops(y); split(i, [_, 25], tail = peel);",
                  "    for i_0 in 4, i_1 in 25\n"
                  "        block y(i in 100 = i_0 * 25 + i_1) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(COPY, "let [i] = loops(y); split(i, [4, _, 8], tail = \"peel\");",
                  "    for i_0 in 4, i_1 in N / 32, i_2 in 8\n"
                  "        block y(i in N = i_0 * (N / 32) * 8 + i_1 * 8 + i_2) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n"
                  "    for i_rest in N / 32 * 32..N\n"
                  "        block y_1(i in N = i_rest) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(COPY, "let [i] = loops(y); split(i, [_, 32], tail = guard);",
                  "    for i_0 in (N + 31) / 32, i_1 in 32\n"
                  "        block y(i in N = i_0 * 32 + i_1) {\n"
                  "            y[i] = x[i];\n"
                  "        }\n");
    expect_traced(DOWN, "let [i] = loops(a); split(i, [_, 4], tail = peel);",
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
    expect_traced(
        SUM, "let [i, k] = loops(y); decompose_reduction(y, k); split(k, [_, 32], tail = peel);",
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

/* A part that is known to be empty leaves no launch behind. */
static void empty_parts_vanish(void **state)
{
    (void)state;
    Case r;
    case_run(&r, COPY100,
             "let [i] = loops(y); let [a, b] = loop_partition(i, [100, _]); bind(a, blockIdx.x);");
    assert_non_null(r.schedule);
    LowerOptions options = {.limits = limits_default()};
    const char *text =
        case_body(&r, lower_kernel(r.text.ctx, schedule_kernel(r.schedule), &options));
    assert_string_equal(text, "    launch copy grid(100, 1, 1) block(1, 1, 1) {\n"
                              "        let a = blockIdx.x;\n"
                              "        y[a] = x[a];\n"
                              "    }\n");
    text_close(&r.text);
}

static void loop_partition_refuses(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); loop_partition(i, [60, 30]);", E0438,
           "loop_partition: the parts together have 90 iterations, but loop 'i' has 100; write _ "
           "for the part");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [60, 30]);", E0438, "but loop 'i' has N");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [_, 30, _]);", E0412,
           "parts 1 and 3 are both _, but tirc can compute only one");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [2147483647, 1, _]);", E0415,
           "the parts together have more than 2147483647 iterations");
    refuse(COPY, "let [i] = loops(y); loop_partition(i, [0, _]);", E0407, "a factor is at least 1");
    refuse(COPY, "let [i] = loops(y); parallel(i); loop_partition(i, [1, _]);", E0410,
           "already parallel");
    refuse(SUM, "let [i, k] = loops(y); loop_partition(k, [1, _]);", E0439,
           "block 'y' is a reduction carried by loop 'k' or an outer loop, so its init would run "
           "again for each part; separate the init first, with decompose_reduction(y, LOOP)");
    refuse(SUM, "let [i, k] = loops(y); reorder(k, i); loop_partition(i, [1, _]);", E0439,
           "carried by loop 'i' or");
}

static void split_refuses_tails(void **state)
{
    (void)state;
    refuse(COPY100, "let [i] = loops(y); split(i, [_, 32], tail = shift);", E0491,
           "split: unknown tail mode 'shift'; tail = guard guards the iterations of a partial last "
           "tile, tail = peel gives them a loop of their own, and tail = pad runs them if they "
           "have no effect");
    refuse(COPY100, "let [i] = loops(y); split(i, [4, 32], tail = peel);", E0490,
           "factors [4, 32] leave no remainder of loop 'i' to peel; write _ for the number");
    refuse(SUM, "let [i, k] = loops(y); split(k, [_, 32], tail = peel);", E0439,
           "split: block 'y' is a reduction");
    refuse(COPY100, "let [i] = loops(y); split(i, [_, 32], tail = 3);", E0401,
           "argument 'tail' takes an identifier");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop_partition_cuts_a_range), cmocka_unit_test(split_peels_a_rest),
        cmocka_unit_test(empty_parts_vanish),          cmocka_unit_test(loop_partition_refuses),
        cmocka_unit_test(split_refuses_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
