/* Ranges of loops that are cut: what loop_partition and the tails of split make of small kernels.
 * What the results mean is tested with tests/programs/partition.tir. Refusals stand in
 * tests/legality/steps/partition.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "schedule_programs.h"
#include "schedule_steps.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_parts_vanish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
