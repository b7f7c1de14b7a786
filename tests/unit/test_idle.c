/* test_idle.c - threads that guards leave without work, counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "include/tirc.h"

/* The idle threads of the first launch of the text under its schedule `s`; -1: not known. */
static int64_t idle(const char *text, const char *define)
{
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_device *device;
    tirc_program *program;
    tirc_launch_info launch;
    int64_t sizes[] = {100};
    assert_int_equal(tirc_parse_text(t, "test.tir", text, strlen(text), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, &define, define != NULL, &kernel), TIRC_OK);
    assert_int_equal(tirc_apply(t, file, kernel, "s", NULL, 0, &scheduled), TIRC_OK);
    assert_int_equal(tirc_lower(t, scheduled, NULL, &lowered), TIRC_OK);
    assert_int_equal(tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device), TIRC_OK);
    assert_int_equal(tirc_compile(t, device, lowered, &program), TIRC_OK);
    assert_true(tirc_launch_at(t, program, sizes, 0, &launch));
    tirc_free(t);
    return launch.idle_threads;
}

#define COPY(steps)                                                                                \
    "kernel copy<N = 1000>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"                  \
    "schedule s for copy() { let [i] = loops(y); " steps " }\n"
#define TILE                                                                                       \
    "kernel tile<N = 4001>(x: f32[N, N]) -> y: f32[N, N] { for i in N, j in N y[i, j] = x[j, i]; " \
    "}\n"                                                                                          \
    "schedule s for tile() { let [i, j] = loops(y); let [io, ii] = split(i, [_, 32]); let [jo, "   \
    "ji] = split(j, [_, 32]); "                                                                    \
    "reorder(io, jo, ii, ji); bind(io, blockIdx.y); bind(jo, blockIdx.x); bind(ii, threadIdx.y); " \
    "bind(ji, threadIdx.x); }\n"
#define ROWS                                                                                       \
    "kernel rows<N = 40>(x: f32[N, N]) -> y: f32[N, N] { for i in N, j in 0..i y[i, j] = x[i, "    \
    "j]; }\n"                                                                                      \
    "schedule s for rows() { let [i, j] = loops(y); bind(i, threadIdx.x); }\n"
#define TRIANGLE                                                                                   \
    "kernel triangle<N = 40>(x: f32[N, N]) -> y: f32[N, N] { for i in N, j in N if j < i y[i, j] " \
    "= x[i, j]; }\n"                                                                               \
    "schedule s for triangle() { let [i, j] = loops(y); bind(i, blockIdx.x); bind(j, "             \
    "threadIdx.x); }\n"
/* A warp for each row, of which one lane stores the sum of all. */
#define WARPS(columns)                                                                             \
    "kernel sum<R = 50, C = " #columns                                                             \
    ">(x: f32[R, C]) -> y: f32[R] { for r in R { y[r] = 0; for c in C y[r] += x[r, c]; } }\n"      \
    "schedule s for sum() { let [r, c] = loops(y); let [block, row] = split(r, [_, 8]); let "      \
    "[step, lane] = split(c, [_, 32]); "                                                           \
    "bind(block, blockIdx.x); bind(row, threadIdx.y); bind(lane, threadIdx.x); }\n"

static void tails_leave_threads_over(void **state)
{
    (void)state;
    assert_int_equal(
        idle(COPY("let [b, t] = split(i, [_, 128]); bind(b, blockIdx.x); bind(t, threadIdx.x);"),
             NULL),
        24);
    assert_int_equal(
        idle(COPY("let [b, t] = split(i, [_, 125]); bind(b, blockIdx.x); bind(t, threadIdx.x);"),
             NULL),
        0);
    /* Each thread does four elements, 256 apart: all of them have some. */
    assert_int_equal(idle(COPY("let [e, t] = split(i, [_, 256]); bind(t, threadIdx.x);"), NULL), 0);
    /* Four in a row: six threads have none. */
    assert_int_equal(idle(COPY("let [t, e] = split(i, [256, 4]); bind(t, threadIdx.x);"), NULL), 6);
    /* 126 x 126 tiles of 32 x 32. */
    assert_int_equal(idle(TILE, NULL), 4032 * 4032 - 4001 * 4001);
    assert_int_equal(idle(ROWS, NULL), 1);
    assert_int_equal(idle(TRIANGLE, NULL), 40 * 41 / 2);
}

static void lanes_that_read_for_others_are_busy(void **state)
{
    (void)state;
    assert_int_equal(idle(WARPS(4096), NULL), 6 * 32);
    assert_int_equal(idle(WARPS(20), NULL), 6 * 32 + 50 * 12);
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    assert_int_equal(
        idle(COPY("let [b, t] = split(i, [_, 128]); bind(b, blockIdx.x); bind(t, threadIdx.x);"),
             "N=?"),
        -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_leave_threads_over),
        cmocka_unit_test(lanes_that_read_for_others_are_busy),
        cmocka_unit_test(what_is_not_known_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
