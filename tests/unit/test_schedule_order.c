/* Other orders, of the iterators of a block and of the blocks of a grid: what
 * reorder_block_iter_var and remap make of small kernels. What the results mean is tested with
 * tests/programs/partition.tir. Refusals stand in tests/legality/steps/order.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_programs.h"
#include "schedule_steps.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remap_computes_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
