/* test_tune.c - the space that a schedule declares: its defaults, its points, and what may be
 * set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "include/tirc.h"

static const char TEXT[] = "kernel copy<N = 12, M = 96>(x: f32[N, M]) -> y: f32[N, M] { for i in "
                           "N, j in M y[i, j] = x[i, j]; }\n"
                           "schedule tiled for copy(U = 4)\n"
                           "{\n"
                           "    tune U in [1, 4];\n"
                           "    let [i, j] = loops(y);\n"
                           "    tune tile in sample_perfect_tile(i, 3, max_innermost = 3);\n"
                           "    tune mode in sample_categorical([guard, peel], probs = [1, 3]);\n"
                           "    split(i, tile);\n"
                           "    split(j, [_, U], tail = mode);\n"
                           "}\n";

typedef struct {
    tirc *t;
    tirc_file *file;
    tirc_kernel *kernel, *scheduled;
} Run;

static tirc_status run_text(Run *r, const char *text, const char *const *defines, size_t n_defines,
                            const char *const *settings, size_t n_settings)
{
    r->t = tirc_new(NULL);
    tirc_status status = tirc_parse_text(r->t, "test.tir", text, strlen(text), &r->file);
    if (!status)
        status = tirc_resolve(r->t, r->file, NULL, defines, n_defines, &r->kernel);
    if (!status)
        status = tirc_apply(r->t, r->file, r->kernel, "tiled", settings, n_settings, &r->scheduled);
    return status;
}

static void expect_knob(Run *r, size_t i, const char *name, const char *value, size_t n)
{
    tirc_knob knob;
    assert_true(tirc_knob_at(r->t, r->scheduled, i, &knob));
    assert_string_equal(knob.name, name);
    assert_string_equal(knob.value, value);
    assert_int_equal(knob.n_choices, n);
}

static void a_run_says_what_it_left_open(void **state)
{
    (void)state;
    Run r;
    tirc_knob knob;
    assert_int_equal(run_text(&r, TEXT, NULL, 0, NULL, 0), TIRC_OK);
    expect_knob(&r, 0, "U", "4", 2);
    expect_knob(&r, 1, "tile", "[2, 2, 3]", 13);
    expect_knob(&r, 2, "mode", "peel", 2);
    assert_false(tirc_knob_at(r.t, r.scheduled, 3, &knob));
    assert_null(tirc_knob_choice(r.t, r.scheduled, 1, 13));
    assert_null(tirc_knob_choice(r.t, r.scheduled, 3, 0));
    assert_string_equal(tirc_knob_choice(r.t, r.scheduled, 2, 1), "guard");
    assert_non_null(strstr(tirc_trace(r.t, r.scheduled), "split(i, [2, 2, 3])"));
    tirc_free(r.t);
}

/* Each choice is a product of the extent, the last factor small, no two alike; and each can be
 * set. */
static void every_tile_can_be_set(void **state)
{
    (void)state;
    Run all;
    assert_int_equal(run_text(&all, TEXT, NULL, 0, NULL, 0), TIRC_OK);
    for (size_t i = 0; i < 13; i++) {
        const char *choice = tirc_knob_choice(all.t, all.scheduled, 1, i);
        long a, b, c;
        assert_int_equal(sscanf(choice, "[%ld, %ld, %ld]", &a, &b, &c), 3);
        assert_int_equal(a * b * c, 12);
        assert_true(c <= 3);
        for (size_t before = 0; before < i; before++)
            assert_string_not_equal(choice, tirc_knob_choice(all.t, all.scheduled, 1, before));
        char setting[64];
        snprintf(setting, sizeof setting, "tile=%s", choice);
        Run one;
        assert_int_equal(run_text(&one, TEXT, NULL, 0, (const char *[]){setting}, 1), TIRC_OK);
        expect_knob(&one, 1, "tile", choice, 13);
        tirc_free(one.t);
    }
    tirc_free(all.t);
}

static void expect_refusal(const char *text, const char *define, const char *setting,
                           const char *code, const char *words)
{
    Run r;
    tirc_status wanted = strcmp(code, "E0312") ? TIRC_REFUSED : TIRC_USAGE;
    assert_int_equal(run_text(&r, text, &define, define != NULL, &setting, setting != NULL),
                     wanted);
    tirc_diagnostic d = tirc_diagnostic_at(r.t, 0);
    assert_string_equal(d.code, code);
    if (!strstr(d.message, words))
        fail_msg("expected '%s' in: %s", words, d.message);
    tirc_free(r.t);
}

#define COPY(steps)                                                                                \
    "kernel copy<N = 64>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"                    \
    "schedule tiled for copy(P = 3) { let [i] = loops(y); " steps " }\n"

static void refusals(void **state)
{
    (void)state;
    expect_refusal(TEXT, NULL, "tile=[2, 2, 4]", "E0317",
                   "choose one of [2, 2, 3], [1, 4, 3], [1, 6, 2]");
    expect_refusal(TEXT, NULL, "tile=12", "E0317", "'tile' cannot be 12");
    expect_refusal(TEXT, NULL, "tile=[2, 2", "E0312", "write a list as [4, 8]");
    expect_refusal(TEXT, NULL, "tile=[]", "E0312", "write a list as [4, 8]");
    expect_refusal(TEXT, NULL, "tike=[2]", "E0312", "no parameter 'tike'");
    expect_refusal(TEXT, "N=?", NULL, "E0800", "loop 'i' has N iterations");
    expect_refusal(COPY("tune a in sample_perfect_tile(i, 1);"), NULL, NULL, "E0801",
                   "cannot cover");
    expect_refusal(COPY("tune a in sample_perfect_tile(i, 17);"), NULL, NULL, "E0801",
                   "expected 1 to 16 factors");
    expect_refusal(COPY("tune a in sample_perfect_tile(i, 2, 0);"), NULL, NULL, "E0801",
                   "each at least 1");
    expect_refusal(COPY("tune a in sample_perfect_tile(i, 16);"), "N=4096", NULL, "E0801",
                   "exceed the limit of 65536");
    expect_refusal(COPY("tune a in sample_categorical([1, 2], [1]);"), NULL, NULL, "E0802",
                   "2 candidates and 1 probability");
    expect_refusal(COPY("tune a in sample_categorical([1, 2], [1, -1]);"), NULL, NULL, "E0802",
                   "candidate 2 is -1");
    expect_refusal(COPY("tune a in [1]; tune a in [2];"), NULL, NULL, "E0315",
                   "already has a value");
    expect_refusal(COPY("for n in [1, 2] { tune a in [1]; }"), NULL, NULL, "E0315",
                   "'a' is tuned twice");
    expect_refusal(COPY("p(); ") "proc p() { tune a in [1]; }", NULL, NULL, "E0315",
                   "tuned in a proc");
    expect_refusal(COPY("tune a in sample_compute_location(y);"), NULL, NULL, "E0806",
                   "at none of the 0 loops around");
    expect_refusal(COPY("let [o, n] = split(i, [_, 4]); let [k] = split(n, [_]); "
                        "tune a in [o, k]; loop_partition(a, [2, _]);"),
                   NULL, "a=i", "E0317", "choose one of o, k");
    expect_refusal(COPY("tune a in [];"), NULL, NULL, "E0304", "an empty list");
}

static const char PLACES[] = "kernel copy<N = 32>(x: f32[N, N]) -> y: f32[N, N] {\n"
                             "    temp t: f32[N, N];\n"
                             "    for i in N, j in N t[i, j] = x[i, j] + 1;\n"
                             "    for i in N, j in N y[i, j] = t[i, j] * t[i, 0];\n"
                             "}\n"
                             "schedule tiled for copy()\n"
                             "{\n"
                             "    let [i, j] = loops(y);\n"
                             "    let [io, ii] = split(i, [_, 8]);\n"
                             "    tune place in sample_compute_location(t);\n"
                             "    compute_at(t, place);\n"
                             "}\n";

/* A place is a loop, which a setting names; nothing stays of the attempts. */
static void a_place_is_chosen_by_the_name_of_its_loop(void **state)
{
    (void)state;
    const char *const names[] = {"io", "ii", "j"};
    for (size_t i = 0; i < 3; i++) {
        char setting[64], step[64];
        snprintf(setting, sizeof setting, "place=%s", names[i]);
        snprintf(step, sizeof step, "    compute_at(t, %s);\n", names[i]);
        Run r;
        assert_int_equal(run_text(&r, PLACES, NULL, 0, (const char *[]){setting}, i > 0), TIRC_OK);
        expect_knob(&r, 0, "place", names[i], 3);
        for (size_t k = 0; k < 3; k++)
            assert_string_equal(tirc_knob_choice(r.t, r.scheduled, 0, k), names[k]);
        assert_non_null(strstr(tirc_trace(r.t, r.scheduled), step));
        assert_int_equal(tirc_step_count(r.scheduled), 2);
        tirc_free(r.t);
    }
}

static void choices_of_one_name_cannot_be_told_apart(void **state)
{
    (void)state;
    expect_refusal("kernel copy<N = 8>(x: f32[N]) -> y: f32[N], z: f32[N] {\n"
                   "    for i in N y[i] = x[i];\n"
                   "    for i in N z[i] = x[i];\n"
                   "}\n"
                   "schedule tiled for copy() { tune a in [loops(y)[0], loops(z)[0]]; }\n",
                   NULL, NULL, "E0315", "two of the choices are loops named 'i'");
}

static void the_list_shows_the_space(void **state)
{
    (void)state;
    Run r;
    tirc_schedule_info info;
    assert_int_equal(run_text(&r, TEXT, NULL, 0, NULL, 0), TIRC_OK);
    assert_true(tirc_schedule_at(r.t, r.file, "copy", 0, &info));
    assert_int_equal(info.n_parameters, 3);
    assert_string_equal(info.defaults[0], "4");
    assert_string_equal(info.tune[0], "[1, 4]");
    assert_string_equal(info.parameters[1], "tile");
    assert_null(info.defaults[1]);
    assert_string_equal(info.tune[1], "sample_perfect_tile(i, 3, max_innermost = 3)");
    tirc_free(r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_says_what_it_left_open),
        cmocka_unit_test(every_tile_can_be_set),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_place_is_chosen_by_the_name_of_its_loop),
        cmocka_unit_test(choices_of_one_name_cannot_be_told_apart),
        cmocka_unit_test(the_list_shows_the_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
