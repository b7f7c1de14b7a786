/* test_schedule_widen.c - widen: what it makes of bounds of each form. What the results mean is
 * tested with tests/programs/widen.tir. Refusals stand in tests/legality/steps/widen.tir. */
#include "schedule_case.h"

#define LOWER                                                                                      \
    "kernel lower<N = 8>(x: f32[N, N]) -> y: f32[N, N]\n"                                          \
    "{ for i in N, j in i + 1 y[i, j] = x[i, j]; }\n"
/* A block whose domain says nothing of the range. */
#define SQUARE                                                                                     \
    "kernel square<N = 8>(x: f32[64]) -> y: f32[64]\n"                                             \
    "{ for i in N, j in i..N block y(v in 64 = i * 8 + j) { y[v] = x[v]; } }\n"
#define STEPS                                                                                      \
    "kernel steps<N = 8>(x: f32[N, N]) -> y: f32[N, N]\n"                                          \
    "{ for i in N, j in i..N step 2 y[i, j] = x[i, j]; }\n"
#define TIME                                                                                       \
    "kernel time<N = 8>(inout y: f32[N, N])\n"                                                     \
    "{ for t in N, i in t..N, j in i..N y[i, j] += 1; }\n"

static void domains_say_what_runs(void **state)
{
    (void)state;
    expect(LOWER, "let [i, j] = loops(y); widen(j, i);",
           "    for i in 8, j in 8\n"
           "        block y(i in 8 = i, j in i + 1 = j) {\n"
           "            y[i, j] = x[i, j];\n"
           "        }\n}\n");
}

static void else_a_condition_does(void **state)
{
    (void)state;
    expect(SQUARE, "let [i, j] = loops(y); widen(j, i);",
           "    for i in 8, j in 8\n"
           "        block y(v in 64 = i * 8 + j) where j >= i {\n"
           "            y[v] = x[v];\n"
           "        }\n}\n");
}

static void steps_are_counted(void **state)
{
    (void)state;
    expect(STEPS, "let [i, j] = loops(y); widen(j, i);",
           "    for i in 8, j in 4\n"
           "        block y(i in 8 = i, j in i..8 = j * 2 + i) {\n"
           "            y[i, j] = x[i, j];\n"
           "        }\n}\n");
}

static void loops_outside_stay(void **state)
{
    (void)state;
    expect(TIME, "let [t, i, j] = loops(y); widen(j, i);",
           "    for t in 8, i in t..8, j in t..8\n"
           "        block y(reduce t in 8 = t, i in t..8 = i, j in i..8 = j) {\n"
           "            y[i, j] += 1.0;\n"
           "        }\n}\n");
}

static void what_depends_on_nothing_stays(void **state)
{
    (void)state;
    expect(LOWER, "let [i, j] = loops(y); widen(j, i); widen(j, i);",
           "    for i in 8, j in 8\n"
           "        block y(i in 8 = i, j in i + 1 = j) {\n"
           "            y[i, j] = x[i, j];\n"
           "        }\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_say_what_runs),
        cmocka_unit_test(else_a_condition_does),
        cmocka_unit_test(steps_are_counted),
        cmocka_unit_test(loops_outside_stay),
        cmocka_unit_test(what_depends_on_nothing_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
