/* Other orders, of the iterators of a block and of the blocks of a grid: what
 * reorder_block_iter_var and remap make of small kernels, that traces run again to the same text,
 * and every refusal with its text. What the results mean is tested with
 * tests/programs/partition.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_programs.h"
#include "schedule_trace.h"

#define LOWER                                                                                      \
    "kernel lower<N = 64>(x: f32[N]) -> y: f32[N, N] { for i in N, j in 0..i + 1 y[i, j] = x[j]; " \
    "}\n"
#define GRID                                                                                       \
    "kernel grid<M = 25, N = 128>(x: f32[M, N]) -> y: f32[M, N]\n"                                 \
    "{ for i in M, j in N y[i, j] = x[i, j]; }\n"
#define BOUND "let [i, j] = loops(y); bind(i, blockIdx.y); bind(j, blockIdx.x); "

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

static void block_iterators_change_places(void **state)
{
    (void)state;
    expect_traced(THREE, "reorder_block_iter_var(a, [1, 0]);",
                  "    for i in 8, j in 9\n"
                  "        block a(j in 9 = j, i in 8 = i) {\n"
                  "            a[i, j] = x[i, j];\n"
                  "        }\n"
                  "    for p in 2..6, q in 9\n"
                  "        b[p, q] = a[p, q];\n"
                  "    for r in 9\n"
                  "        c[r] = x[0, r];\n");
    expect_traced(SUM, "reorder_block_iter_var(y, [1, 0]); reorder_block_iter_var(y, [0, 1]);",
                  "    for i in 64, k in 100\n"
                  "        block y(reduce k in 100 = k, i in 64 = i) {\n"
                  "            init y[i] = 0.0;\n"
                  "            y[i] += A[i, k];\n"
                  "        }\n");
}

static void remap_is_said_of_the_loops(void **state)
{
    (void)state;
    expect_traced(GRID, BOUND "remap(i, j, grouped, 8);",
                  "    for i in 25 bind blockIdx.y\n"
                  "        for j in 128 bind blockIdx.x @remap_grouped(8)\n"
                  "            y[i, j] = x[i, j];\n");
    expect_traced(GRID, BOUND "remap(i, j, grouped, 8); remap(i, j, diagonal);",
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

static void orders_are_checked(void **state)
{
    (void)state;
    refuse(SUM, "reorder_block_iter_var(y, [1]);", E0492,
           "block 'y' has 2 iterators, but the order lists 1");
    refuse(SUM, "reorder_block_iter_var(y, [0, 2]);", E0492,
           "block 'y' has iterators 0 to 1; 2 is out of range");
    refuse(SUM, "reorder_block_iter_var(y, [1, 1]);", E0492, "duplicate iterator 1 of block 'y'");
    refuse(LOWER, "reorder_block_iter_var(y, [1, 0]);", E0493,
           "the domain of iterator 'j' of block 'y' depends on 'i', which must come before it");
    refuse(GRID, "let [i, j] = loops(y); bind(i, blockIdx.y); remap(i, j, diagonal);", E0494,
           "loop 'j' is not bound to blockIdx.x; remap needs the axes of a grid");
    refuse(GRID, BOUND "remap(j, i, diagonal);", E0494, "loop 'j' is not bound to blockIdx.y");
    refuse(GRID,
           "let [i, j] = loops(y); reorder(j, i); bind(i, blockIdx.y); bind(j, blockIdx.x); "
           "remap(i, j, diagonal);",
           E0494, "loop 'j' is not inside loop 'i', so they are not rows and columns");
    refuse("kernel k(x: f32[8, 8]) -> y: f32[8, 8], z: f32[8, 8]\n"
           "{ for i in 8 { for j in 8 y[i, j] = x[i, j]; for q in 8 z[i, q] = x[i, q]; } }\n",
           BOUND "let [p, q] = loops(z); bind(q, blockIdx.x); remap(i, j, diagonal); remap(i, q, "
                 "grouped, 2);",
           E0494, "the blocks of this launch are already remapped, at loop 'j'");
    refuse(GRID, BOUND "remap(i, j, diagnal);", E0495,
           "unknown order 'diagnal'; did you mean 'diagonal'?");
    refuse(GRID, BOUND "remap(i, j, grouped);", E0495,
           "the grouped order needs the number of rows in a group");
    refuse(GRID, BOUND "remap(i, j, grouped, 0);", E0495, "a group has 1 to 65535 rows");
    refuse(GRID, BOUND "remap(i, j, diagonal, 4);", E0495,
           "the diagonal order has no size; omit 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_iterators_change_places),
        cmocka_unit_test(remap_is_said_of_the_loops),
        cmocka_unit_test(remap_computes_coordinates),
        cmocka_unit_test(orders_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
