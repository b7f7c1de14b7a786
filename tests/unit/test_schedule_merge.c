/* Loops joined, shifted and taken apart: what merge, shift and fission make of small kernels. What
 * the results mean is tested with tests/programs/partition.tir. Refusals stand in
 * tests/legality/steps/merge.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_programs.h"
#include "schedule_steps.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mean_one_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
