/* test_schedule_layout.c - index maps, and layouts that follow them: what the steps make, and the
 * same results at sizes that divide and at sizes that do not. Refusals stand in
 * tests/legality/steps/layout.tir. */
#include "schedule_case.h"

#define TURN                                                                                       \
    "kernel turn<M = 10, N = 6>(x: f32[M, N]) -> y: f32[N, M]\n"                                   \
    "{ temp t: f32[M, N]; for i in M, j in N t[i, j] = x[i, j] + 1;\n"                             \
    "for j in N, i in M y[j, i] = t[i, j] * 2; }\n"
#define TURN_ANY                                                                                   \
    "kernel turn<M, N>(x: f32[M, N]) -> y: f32[N, M]\n"                                            \
    "{ temp t: f32[M, N]; for i in M, j in N t[i, j] = x[i, j] + 1;\n"                             \
    "for j in N, i in M y[j, i] = t[i, j] * 2; }\n"

/* ---- index maps as values -------------------------------------------------------------------- */

static void maps_are_values(void **state)
{
    (void)state;
    expect("kernel turn(x: f32[4, 6]) -> y: f32[4, 6]\n"
           "{ temp t: f32[4, 6]; for i in 4, j in 6 t[i, j] = x[i, j];\n"
           "for i in 4, j in 6 y[i, j] = t[i, j]; }\n",
           "let i = 3; let k = i; let half = [i, j] -> [j % (k - 1), (2 - 1) * i]; let turn = [[a, "
           "b] -> [b, a]];\n"
           "transform_layout(t, turn[0]);",
           "    temp t: f32[6, 4];\n"
           "    for i in 4, j in 6\n"
           "        t[j, i] = x[i, j];\n"
           "    for i in 4, j in 6\n"
           "        y[i, j] = t[j, i];\n"
           "}\n");
}

static void maps_stand_in_the_trace(void **state)
{
    Case k;
    (void)state;
    case_run(&k, TURN_ANY,
             "let T = 4; transform_layout(t, [i, j] -> [(i + T - 4) / T, i % T + N * 0, j + N - 2 "
             "- N + 2], 1);");
    assert_non_null(k.schedule);
    StrBuf trace = strbuf_new(k.text.ctx->arena);
    schedule_trace(k.schedule, "s", &trace);
    assert_string_equal(trace.text, "schedule s for turn\n"
                                    "{\n"
                                    "    transform_layout(t, [i, j] -> [i / 4, i % 4, j], 1);\n"
                                    "}\n");
    text_close(&k.text);
}

/* ---- transform_layout ------------------------------------------------------------------------ */

static void elements_go_where_the_map_says(void **state)
{
    (void)state;
    expect(TURN, "transform_layout(t, [i, j] -> [i / 4, j, i % 4]);",
           "    temp t: f32[3, 6, 4];\n"
           "    for i in 10, j in 6\n"
           "        t[i / 4, j, i % 4] = x[i, j] + 1.0;\n"
           "    for j in 6, i in 10\n"
           "        y[j, i] = t[i / 4, j, i % 4] * 2.0;\n"
           "}\n");
    expect(TURN_ANY, "transform_layout(t, [i, j] -> [i * N + j]);",
           "    temp t: f32[(M - 1) * N + N];\n"
           "    for i in M, j in N\n"
           "        t[i * N + j] = x[i, j] + 1.0;\n"
           "    for j in N, i in M\n"
           "        y[j, i] = t[i * N + j] * 2.0;\n"
           "}\n");
}

/* Where elements stand apart, subscripts simplify under the block's domains; an init has no
 * reduction iterator to go by. */
static void inits_follow(void **state)
{
    (void)state;
    expect("kernel sums<K>(A: f32[8, K]) -> y: f32[8]\n"
           "{ temp s: f32[8]; for i in 8 { s[i] = 0; for k in K s[i] += A[i, k]; } for i in 8 y[i] "
           "= s[i]; }\n",
           "transform_layout(s, [i] -> [i % 4, i / 4]);",
           "    temp s: f32[4, 2];\n"
           "    for i in 8, k in K {\n"
           "        init s[i % 4, i / 4] = 0.0;\n"
           "        s[i % 4, i / 4] += A[i, k];\n"
           "    }\n"
           "    for i in 8\n"
           "        y[i] = s[i % 4, i / 4];\n"
           "}\n");
}

static void padding_is_filled_where_it_is(void **state)
{
    (void)state;
    expect(TURN, "transform_layout(t, [i, j] -> [i / 4, i % 4, j], 3);",
           "    temp t: f32[3, 4, 6];\n"
           "    for ax0 in 3, ax1 in 4, ax2 in 6\n"
           "        block t_pad(v0 in 3 = ax0, v1 in 4 = ax1, v2 in 6 = ax2) where ax0 * 4 + ax1 > "
           "9 {\n"
           "            t[v0, v1, v2] = 3.0;\n"
           "        }\n"
           "    for i in 10, j in 6\n"
           "        t[i / 4, i % 4, j] = x[i, j] + 1.0;\n"
           "    for j in 6, i in 10\n"
           "        y[j, i] = t[i / 4, i % 4, j] * 2.0;\n"
           "}\n");
    /* A map that is onto leaves none. */
    expect(TURN, "transform_layout(t, [i, j] -> [i / 5, i % 5, j], 3);",
           "    temp t: f32[2, 5, 6];\n"
           "    for i in 10, j in 6\n"
           "        t[i / 5, i % 5, j] = x[i, j] + 1.0;\n"
           "    for j in 6, i in 10\n"
           "        y[j, i] = t[i / 5, i % 5, j] * 2.0;\n"
           "}\n");
}

static void layouts_mean_the_same(void **state)
{
    static const int sizes[] = {1, 2, 7, 8, 9, 17};
    static const char *const maps[] = {
        "[i, j] -> [j, i]",
        "[i, j] -> [i / 4, j, i % 4]",
        "[i, j] -> [j / 3, i / 2, i % 2, j % 3]",
        "[i, j] -> [i * N + j]",
        "[i, j] -> [2 * j + 1, i + 3]",
        "[i, j] -> [i, i + j]",
        "[i, j] -> [j - j % 4 + i % 1, i, j % 4]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        char steps[160];
        snprintf(steps, sizeof steps, "transform_layout(t, %s);", maps[i]);
        expect_same(TURN_ANY, steps, sizes, 6);
    }
    expect_same(TURN_ANY, "transform_layout(t, [i, j] -> [i / 4, j * 2, i % 4], 5);", sizes, 6);
    /* No output has digits of one variable alone. */
    expect_same(TURN_ANY,
                "transform_layout(t, [i, j] -> [i / 2, (j * 2 + i) % 5, (j * 2 + i) / 5], 5);",
                sizes, 6);
}

/* ---- transform_block_layout ------------------------------------------------------------------ */

#define COPY                                                                                       \
    "kernel copy<M = 10, N = 6>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N y[i, j] = "     \
    "x[i, j]; }\n"
#define COPY_ANY                                                                                   \
    "kernel copy<M, N>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N y[i, j] = x[i, j]; }\n"
#define SUM                                                                                        \
    "kernel sum<M, K>(A: f32[M, K]) -> y: f32[M]\n"                                                \
    "{ for i in M { y[i] = 0; for k in K y[i] += A[i, k]; } }\n"
#define SCAN                                                                                       \
    "kernel scan<N>(x: f32[N, N], inout y: f32[N, N])\n"                                           \
    "{ for i in 1..N, j in 1..N y[i, j] = y[i - 1, j] + y[i, j - 1] + x[i, j]; }\n"

static void blocks_run_in_other_spaces(void **state)
{
    (void)state;
    expect(COPY, "transform_block_layout(y, [i, j] -> [i / 4, j, i % 4]);",
           "    for i in 3, j in 6, i_1 in 4\n"
           "        block y(i in 3 = i, j in 6 = j, i_1 in 4 = i_1) where i * 4 + i_1 < 10 {\n"
           "            y[i * 4 + i_1, j] = x[i * 4 + i_1, j];\n"
           "        }\n"
           "}\n");
    expect(COPY, "let [ij] = transform_block_layout(y, [i, j] -> [i * 6 + j]);",
           "    for ij in 60\n"
           "        block y(i in 60 = ij) {\n"
           "            y[i / 6, i % 6] = x[i / 6, i % 6];\n"
           "        }\n"
           "}\n");
    expect(SUM, "transform_block_layout(y, [i, k] -> [k % 2, i, k / 2, 0]);",
           "    for k in 2, i in M, k_1 in (K - 1) / 2 + 1, u in 1\n"
           "        block y(reduce k in 2 = k, i in M = i, reduce k_1 in (K - 1) / 2 + 1 = k_1,\n"
           "                u in 1 = u) where k_1 * 2 + k < K {\n"
           "            init y[i] = 0.0;\n"
           "            y[i] += A[i, k_1 * 2 + k];\n"
           "        }\n"
           "}\n");
}

/* Iterations that wait for two neighbours run by diagonals: TVM's block is no pattern that it
 * knows, here it is another order that keeps what depends on each other. */
static void dependences_allow_skews(void **state)
{
    (void)state;
    expect(SCAN, "transform_block_layout(y, [i, j] -> [i + j, i]);",
           "    for i in max(N * 2 - 1, 0), i_1 in N\n"
           "        block y(i in max(N * 2 - 1, 0) = i,\n"
           "                i_1 in N = i_1) where i_1 > 0 && i_1 < i && i < N + i_1 {\n"
           "            y[i_1, i - i_1] = y[i_1 - 1, i - i_1] + y[i_1, i - i_1 - 1] + x[i_1, i - "
           "i_1];\n"
           "        }\n"
           "}\n");
}

static void spaces_mean_the_same(void **state)
{
    static const int sizes[] = {0, 1, 2, 7, 8, 9, 17};
    static const char *const maps[] = {
        "[i, j] -> [j, i]",
        "[i, j] -> [i / 4, j, i % 4]",
        "[i, j] -> [j / 6, i / 2, j / 3 % 2, i % 2, j % 3]",
        "[i, j] -> [i + j, j]",
        "[i, j] -> [2 * j + 1, i + 3]",
        "[i, j] -> [i, i / 3 + j]",
        "[i, j] -> [M - i, 0, N - j]",
        "[i, j] -> [j - j % 4 + i % 1, i, j % 4]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        char steps[160];
        snprintf(steps, sizeof steps, "transform_block_layout(y, %s);", maps[i]);
        expect_same(COPY_ANY, steps, sizes, 7);
    }
    expect_same(SCAN, "transform_block_layout(y, [i, j] -> [i + j, i]);", sizes, 7);
    expect_same(SUM, "transform_block_layout(y, [i, k] -> [k / 4, i % 2, k % 4, i / 2]);", sizes,
                7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_values),
        cmocka_unit_test(maps_stand_in_the_trace),
        cmocka_unit_test(elements_go_where_the_map_says),
        cmocka_unit_test(inits_follow),
        cmocka_unit_test(padding_is_filled_where_it_is),
        cmocka_unit_test(layouts_mean_the_same),
        cmocka_unit_test(blocks_run_in_other_spaces),
        cmocka_unit_test(dependences_allow_skews),
        cmocka_unit_test(spaces_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
