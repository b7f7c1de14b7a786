/* test_bind.c - sizes and types of a kernel from the arrays of a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "include/tirc.h"

static const char TEXT[] =
    "kernel f<M = 8, N, K = 4, T: type = f32>(A: T[M, 2 * K + 1], B: f32[K, N - 2], inout s: i32[],"
    " alpha: f32)\n"
    "    -> C: T[M, min(N, K)]\n"
    "{\n"
    "    for i in M, j in min(N, K) C[i, j] = A[i, j];\n"
    "    s = 1;\n"
    "}\n";

typedef struct {
    tirc *t;
    tirc_file *file;
} Fixture;

static int start(void **state)
{
    static Fixture f;
    f.t = tirc_new(NULL);
    assert_int_equal(tirc_parse_text(f.t, "f.tir", TEXT, strlen(TEXT), &f.file), TIRC_OK);
    *state = &f;
    return 0;
}

static int stop(void **state)
{
    tirc_free(((Fixture *)*state)->t);
    return 0;
}

static tirc_argument array(const char *name, const char *type, int64_t m, int64_t n)
{
    static int64_t dims[8][2];
    static int next;
    int64_t *d = dims[next++ % 8];
    d[0] = m;
    d[1] = n;
    return (tirc_argument){name, type, 2, d};
}

static tirc_status bind(Fixture *f, const char *define, const tirc_argument *arguments, size_t n,
                        tirc_binding *out)
{
    tirc_arguments a = {&define, define ? 1 : 0, arguments, n};
    tirc_clear_diagnostics(f->t);
    return tirc_bind(f->t, f->file, NULL, &a, out);
}

static void expect_refusal(Fixture *f, const char *code, const char *message)
{
    tirc_diagnostic d = tirc_diagnostic_at(f->t, 0);
    assert_string_equal(d.code, code);
    assert_string_equal(d.message, message);
}

static void declarations_are_as_written(void **state)
{
    Fixture *f = *state;
    tirc_declaration d;
    assert_true(tirc_declaration_at(f->t, f->file, NULL, 0, &d));
    assert_string_equal(d.name, "A");
    assert_string_equal(d.type, "T");
    assert_true(d.is_buffer && d.is_input && !d.is_output && d.rank == 2);
    assert_string_equal(d.dims[1], "2 * K + 1");
    assert_true(tirc_declaration_at(f->t, f->file, "f", 2, &d));
    assert_true(d.is_buffer && d.is_input && d.is_output && d.rank == 0);
    assert_true(tirc_declaration_at(f->t, f->file, NULL, 3, &d));
    assert_true(!d.is_buffer && d.is_input && !d.is_output);
    assert_true(tirc_declaration_at(f->t, f->file, NULL, 4, &d));
    assert_true(d.is_buffer && !d.is_input && d.is_output);
    assert_false(tirc_declaration_at(f->t, f->file, NULL, 5, &d));
    assert_int_equal(tirc_diagnostic_count(f->t), 0);
    assert_false(tirc_declaration_at(f->t, f->file, "g", 0, &d));
    assert_string_equal(tirc_diagnostic_at(f->t, 0).code, "E0701");
}

static void shapes_say_sizes_and_types(void **state)
{
    Fixture *f = *state;
    tirc_binding b;
    const tirc_argument arguments[] = {array("A", "f16", 20, 7), array("B", "f32", 3, 9)};
    assert_int_equal(bind(f, NULL, arguments, 2, &b), TIRC_OK);
    assert_int_equal(b.n_defines, 3);
    assert_string_equal(b.defines[0], "M=20");
    assert_string_equal(b.defines[1], "K=3");
    assert_string_equal(b.defines[2], "T=f16");
    assert_int_equal(b.n_sizes, 1); /* N has no default, so it is symbolic */
    assert_int_equal(b.sizes[0], 11);
}

static void what_no_array_says_stays_open(void **state)
{
    Fixture *f = *state;
    tirc_binding b;
    const tirc_argument a = array("A", "f32", 20, 9);
    assert_int_equal(bind(f, "K=?", &a, 1, &b), TIRC_OK);
    assert_int_equal(b.n_sizes, 2);
    assert_int_equal(b.sizes[0], -1); /* N */
    assert_int_equal(b.sizes[1], 4);  /* K */
    assert_string_equal(b.defines[0], "K=?");
    assert_int_equal(bind(f, NULL, NULL, 0, &b), TIRC_OK);
    assert_int_equal(b.n_defines, 0);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    Fixture *f = *state;
    tirc_binding b;
    tirc_argument a = array("a", "f32", 20, 7);
    assert_int_equal(bind(f, NULL, &a, 1, &b), TIRC_USAGE);
    expect_refusal(f, "E0707", "kernel 'f' has no parameter 'a'");
    a = array("B", "f64", 20, 7);
    assert_int_equal(bind(f, NULL, &a, 1, &b), TIRC_REFUSED);
    expect_refusal(f, "E0708", "'B' has elements of type f32, but the array has f64");
    a = array("A", "f32", 20, 7);
    assert_int_equal(bind(f, "T=f16", &a, 1, &b), TIRC_REFUSED);
    expect_refusal(f, "E0708", "'A' has elements of type f16, but the array has f32");
    a.rank = 1;
    assert_int_equal(bind(f, NULL, &a, 1, &b), TIRC_REFUSED);
    expect_refusal(f, "E0709", "'A' has 2 axes, but the array f32[20] has 1");
    a.rank = 2;
    assert_int_equal(bind(f, "M=21", &a, 1, &b), TIRC_REFUSED);
    expect_refusal(f, "E0709",
                   "axis 0 of 'A' has extent M, here 21, but the array f32[20, 7] has 20");
    assert_string_equal(tirc_diagnostic_at(f->t, 1).message, "M = 21 is given");
    a = array("A", "f32", 20, 8);
    assert_int_equal(bind(f, NULL, &a, 1, &b), TIRC_REFUSED);
    expect_refusal(f, "E0709",
                   "axis 1 of 'A' has extent 2 * K + 1, here 9, but the array f32[20, 8] has 8");
    assert_string_equal(tirc_diagnostic_at(f->t, 1).message, "K = 4 is the default");
    assert_int_equal(bind(f, "K=?", &a, 1, &b), TIRC_REFUSED);
    expect_refusal(
        f, "E0709",
        "axis 1 of 'A' has extent 2 * K + 1, which is never 8, as in the array f32[20, 8]");
}

static void two_arrays_must_agree(void **state)
{
    Fixture *f = *state;
    tirc_binding b;
    const tirc_argument arguments[] = {array("A", "f32", 20, 7), array("B", "f32", 4, 9)};
    assert_int_equal(bind(f, NULL, arguments, 2, &b), TIRC_REFUSED);
    expect_refusal(f, "E0709", "axis 0 of 'B' has extent K, here 3, but the array f32[4, 9] has 4");
    assert_string_equal(tirc_diagnostic_at(f->t, 1).message, "K = 3 follows from 'A'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(declarations_are_as_written, start, stop),
        cmocka_unit_test_setup_teardown(shapes_say_sizes_and_types, start, stop),
        cmocka_unit_test_setup_teardown(what_no_array_says_stays_open, start, stop),
        cmocka_unit_test_setup_teardown(arrays_that_do_not_fit_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(two_arrays_must_agree, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
