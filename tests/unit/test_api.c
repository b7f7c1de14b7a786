/* test_api.c - the library as its users see it: statuses, diagnostics, memory that runs out, bugs,
 * repeated runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/api/internal.h"

static const char TEXT[] =
    "kernel matmul<M = 20, N = 33, K = 17>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"
    "{\n"
    "    for i in M, j in N {\n"
    "        C[i, j] = 0;\n"
    "        for k in K\n"
    "            C[i, j] += A[i, k] * B[k, j];\n"
    "    }\n"
    "}\n";

/* The whole way, stopping at the first refusal. */
static tirc_status lower_text(tirc *t, const char *text, const char *schedule,
                              tirc_kernel **lowered)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled;
    tirc_status status = tirc_parse_text(t, "test.tir", text, strlen(text), &file);
    if (!status)
        status = tirc_resolve(t, file, NULL, NULL, 0, &kernel);
    if (!status)
        status = tirc_apply(t, file, kernel, schedule, NULL, 0, &scheduled);
    return status ? status : tirc_lower(t, scheduled, NULL, lowered);
}

static tirc_status compile(tirc *t, const char *text, const char *schedule, tirc_program **program)
{
    tirc_kernel *lowered;
    tirc_device *device;
    tirc_status status = lower_text(t, text, schedule, &lowered);
    if (!status)
        status = tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device);
    return status ? status : tirc_compile(t, device, lowered, program);
}

static void the_whole_way(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_verification v;
    tirc_parameter p;
    tirc_launch_info launch;
    assert_int_equal(compile(t, TEXT, "tiled32", &program), TIRC_OK);
    assert_int_equal(tirc_verify(t, program, NULL, 1, &v), TIRC_OK);
    assert_true(v.ok);
    assert_int_equal(v.checked, 20 * 33);
    assert_true(tirc_parameter_at(t, program, NULL, 2, &p));
    assert_string_equal(p.name, "C");
    assert_true(p.is_output && !p.is_input && p.bytes == 20 * 33 * 4);
    assert_false(tirc_parameter_at(t, program, NULL, 3, &p));
    assert_true(tirc_launch_at(t, program, NULL, 0, &launch));
    assert_int_equal(launch.grid[0], 2);
    assert_false(tirc_launch_at(t, program, NULL, 1, &launch));
    assert_int_equal(tirc_diagnostic_count(t), 0);
    tirc_free(t);
}

static void refusals_have_a_place(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    assert_int_equal(compile(t,
                             "kernel f<N = 4>(x: f32[N]) -> y: f32[N]\n"
                             "{\n"
                             "    for i in N y[i] = z[i];\n"
                             "}\n",
                             NULL, &program),
                     TIRC_REFUSED);
    tirc_diagnostic d = tirc_diagnostic_at(t, 0);
    assert_int_equal(d.severity, TIRC_ERROR);
    assert_string_equal(d.code, "E0201");
    assert_string_equal(d.path, "test.tir");
    assert_int_equal(d.line, 3);
    assert_int_equal(d.column, 23);
    tirc_clear_diagnostics(t);
    assert_int_equal(compile(t, TEXT, NULL, &program), TIRC_OK); /* a refusal spoils nothing */
    tirc_free(t);
}

static void wrong_calls_are_usage(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *lowered;
    const void *data;
    size_t length;
    const char *const bad_define[] = {"Q=4"};
    assert_int_equal(tirc_parse_text(t, "test.tir", TEXT, strlen(TEXT), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, "nosuch", NULL, 0, &kernel), TIRC_USAGE);
    assert_int_equal(tirc_resolve(t, file, NULL, bad_define, 1, &kernel), TIRC_USAGE);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    assert_int_equal(tirc_emit(t, kernel, TIRC_CUDA, NULL, &data, &length), TIRC_USAGE);
    assert_int_equal(tirc_lower(t, kernel, NULL, &lowered), TIRC_OK);
    assert_int_equal(tirc_emit(t, lowered, (tirc_format)99, NULL, &data, &length), TIRC_USAGE);
    tirc_prepare(t, (tirc_format)99, NULL);
    assert_null(tirc_trace(t, kernel));
    assert_null(tirc_step_text(kernel, 1));
    assert_null(tirc_file_signature(t, file, "nosuch"));
    assert_null(tirc_explain(t, "nonsense"));
    tirc_free(t);
}

/* Wherever memory runs out, the call says so, and the messages can still be had. */
static void memory_runs_out(void **state)
{
    (void)state;
    tirc_status last = TIRC_UNAVAILABLE;
    for (size_t limit = 40000; limit < 4000000; limit += limit / 12) {
        tirc *t = tirc_new(&(tirc_options){.memory_limit = limit});
        tirc_program *program;
        if (!t)
            continue;
        last = compile(t, TEXT, "tiled32", &program);
        if (last != TIRC_OK) {
            assert_int_equal(last, TIRC_UNAVAILABLE);
            assert_non_null(strstr(tirc_diagnostics(t, false), "error[E0600]: out of memory"));
            assert_int_equal(compile(t, TEXT, NULL, &program), TIRC_UNAVAILABLE);
            assert_int_equal(tirc_diagnostic_count(t), 1);
        }
        tirc_free(t);
    }
    assert_int_equal(last, TIRC_OK);
}

static void break_a_rule(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                         double seconds)
{
    (void)kernel, (void)changed, (void)seconds;
    tirc *t = user;
    if (!strcmp(pass, "flatten"))
        TIRC_BUG(t->ctx, "the test broke a rule after %s", pass);
}

static void bugs_leave_a_report(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_lower_options options = {.after_pass = break_a_rule, .user = t};
    const char *const defines[] = {"M=5"};
    tirc_parse_text(t, "test.tir", TEXT, strlen(TEXT), &file);
    assert_int_equal(tirc_resolve(t, file, NULL, defines, 1, &kernel), TIRC_OK);
    assert_int_equal(tirc_apply(t, file, kernel, "naive", NULL, 0, &scheduled), TIRC_OK);
    assert_null(tirc_bug_report(t));
    assert_int_equal(tirc_lower(t, scheduled, &options, &lowered), TIRC_BUG);
    const char *report = tirc_bug_report(t);
    assert_non_null(report);
    assert_non_null(strstr(report, "the test broke a rule after flatten"));
    assert_non_null(strstr(report, "tirc test.tir --kernel matmul -D 'M=5' --schedule naive"));
    assert_non_null(strstr(report, TEXT));
    assert_non_null(strstr(tirc_diagnostics(t, false), "error[E0699]: the test broke a rule"));
    assert_int_equal(tirc_lower(t, scheduled, NULL, &lowered), TIRC_BUG);
    tirc_free(t);
}

/* A callback may use the library that calls it. */
static void print_kernel_text(void *user, const char *pass, const tirc_kernel *kernel, bool changed,
                              double seconds)
{
    (void)pass, (void)changed, (void)seconds;
    const void *text;
    size_t length;
    assert_int_equal(tirc_emit(user, kernel, TIRC_TIR, NULL, &text, &length), TIRC_OK);
    assert_int_equal(strlen(text), length);
}

static void calls_nest(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *lowered;
    tirc_lower_options options = {.after_pass = print_kernel_text, .user = t};
    tirc_parse_text(t, "test.tir", TEXT, strlen(TEXT), &file);
    tirc_resolve(t, file, NULL, NULL, 0, &kernel);
    assert_int_equal(tirc_lower(t, kernel, &options, &lowered), TIRC_OK);
    tirc_free(t);
}

static void runs_take_no_memory(void **state)
{
    (void)state;
    static float a[20 * 17], b[17 * 33], c[20 * 33];
    void *const arguments[] = {a, b, c};
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    assert_int_equal(compile(t, TEXT, "tiled32", &program), TIRC_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tirc_fill_random(t, program, NULL, 7, i, arguments[i]), TIRC_OK);
    assert_int_equal(tirc_run(t, program, NULL, arguments), TIRC_OK);
    size_t used = arena_used(t->ctx->arena);
    for (int i = 0; i < 10; i++)
        assert_int_equal(tirc_run(t, program, NULL, arguments), TIRC_OK);
    assert_int_equal(arena_used(t->ctx->arena), used);
    float expected = 0;
    for (int k = 0; k < 17; k++)
        expected += a[k] * b[k * 33];
    assert_float_equal(c[0], expected, 1e-5);
    tirc_free(t);
}

static void launches_use_memory_of_the_device(void **state)
{
    (void)state;
    static _Alignas(16) float a[20 * 17], b[17 * 33], c[20 * 33 + 4];
    void *const arguments[] = {a, b, c}, *const misaligned[] = {a, b, c + 1};
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    assert_int_equal(compile(t, TEXT, "tiled32", &program), TIRC_OK);
    a[0] = b[0] = 2;
    for (int i = 0; i < 3; i++)
        assert_int_equal(tirc_launch(t, program, NULL, arguments), TIRC_OK);
    assert_int_equal(tirc_synchronize(t, program), TIRC_OK);
    assert_float_equal(c[0], 4, 0);
    assert_int_equal(tirc_launch(t, program, NULL, misaligned), TIRC_USAGE);
    tirc_free(t);
}

static void symbolic_sizes_need_values(void **state)
{
    (void)state;
    static const char text[] = "kernel copy<N>(x: i32[N]) -> y: i32[N] { for i in N y[i] = x[i]; }";
    const int64_t seven[] = {7}, negative[] = {-1};
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_parameter p;
    tirc_verification v;
    assert_int_equal(compile(t, text, NULL, &program), TIRC_OK);
    assert_int_equal(tirc_verify(t, program, NULL, 0, &v), TIRC_USAGE);
    assert_int_equal(tirc_verify(t, program, negative, 0, &v), TIRC_USAGE);
    assert_int_equal(tirc_verify(t, program, seven, 0, &v), TIRC_OK);
    assert_int_equal(v.total, 7);
    assert_true(tirc_parameter_at(t, program, seven, 0, &p));
    assert_int_equal(p.dims[0], 7);
    tirc_free(t);
}

static void accesses_that_are_not_proved(void **state)
{
    (void)state;
    static const char text[] =
        "kernel k<N>(id: u8[N], x: f32[9]) -> y: f32[N] { for i in N y[i] = x[index(id[i])]; }";
    tirc *t = tirc_new(NULL);
    tirc_kernel *lowered;
    tirc_memory memory;
    tirc_open_access access;
    assert_int_equal(lower_text(t, text, NULL, &lowered), TIRC_OK);
    assert_int_equal(tirc_memory_bounds(t, lowered, &memory), TIRC_OK);
    assert_int_equal(memory.accesses, 3);
    assert_int_equal(memory.proved, 2);
    assert_int_equal(memory.data, 1);
    assert_true(tirc_open_access_at(t, lowered, 0, &access));
    assert_string_equal(access.answer, "data");
    assert_non_null(strstr(access.why, "it depends on id["));
    assert_int_equal(access.origin.line, 1);
    assert_false(tirc_open_access_at(t, lowered, 1, &access));
    tirc_free(t);
}

/* False for a parameter that does not fit is not the end of the list. */
static void parameters_that_do_not_fit_are_no_end(void **state)
{
    (void)state;
    static const char text[] =
        "kernel copy<N>(x: i32[N - 5], z: i32[N]) -> y: i32[N] { for i in N y[i] = z[i]; }";
    const int64_t two[] = {2};
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_parameter p;
    assert_int_equal(compile(t, text, NULL, &program), TIRC_OK);
    tirc_clear_diagnostics(t); /* x is not used */
    assert_int_equal(tirc_parameter_count(program), 3);
    assert_false(tirc_parameter_at(t, program, two, 0, &p));
    assert_int_equal(tirc_diagnostic_count(t), 1);
    assert_true(tirc_parameter_at(t, program, two, 1, &p));
    assert_false(tirc_parameter_at(t, program, two, 3, &p));
    assert_int_equal(tirc_diagnostic_count(t), 1);
    tirc_free(t);
}

#define SUMS(x, at)                                                                                \
    "kernel sums<N = 3000, K = 40>(x: f32" x ") -> y: f32[N] {"                                    \
    " for i in N { y[i] = 0; for k in K y[i] += x" at "; } }"

/* Verifies `text` under a schedule, with a reference that has no time for all elements. */
static void verify_sample(tirc *t, const char *text, const char *schedule, tirc_verification *v)
{
    tirc_program *program;
    t->full_work = 1000;
    assert_int_equal(compile(t, text, schedule, &program), TIRC_OK);
    assert_int_equal(tirc_verify(t, program, NULL, 0, v), TIRC_OK);
    assert_true(v->ok && v->checked < 3000);
}

/* Only a sample of so many sums is computed by the reference; the rest is compared with another
 * schedule. */
static void large_outputs_are_sampled(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    verify_sample(t, SUMS("[K]", "[k]"), "naive", &v);
    assert_true(v.checked > 1 && v.checked <= 64); /* of sums that take long */
    assert_non_null(strstr(v.method, "all agree with schedule 'default' within"));
    tirc_free(t);
}

/* Elements that overflow in the program have no bound, and neither have those that differ from the
 * ones of another schedule before they do. */
static void overflowing_rows_are_not_compared(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    verify_sample(t,
                  "kernel k<B = 64, T = 512>(x: f32[B, T], a: f32) -> h: f32[B, T]\n"
                  "    where 3 <= a, a <= 4\n"
                  "{\n"
                  "    for b in B {\n"
                  "        h[b, 0] = x[b, 0];\n"
                  "        for t in 1..T\n"
                  "            h[b, t] = a * h[b, t - 1] + x[b, t];\n"
                  "    }\n"
                  "}\n",
                  "default", &v);
    assert_true(v.overflown > 0);
    tirc_free(t);
}

/* It would be compared with itself. */
static void default_is_compared_with_another_schedule(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    verify_sample(t, SUMS("[N, K]", "[i, k]"), "default", &v);
    assert_non_null(strstr(v.structure, "; all equal those of schedule 'naive'"));
    assert_null(strstr(v.method, "agree with schedule"));
    tirc_free(t);
}

/* Verifies what `text` becomes against `program`, with references of samples. */
static tirc_status verify_sampled(tirc *t, const char *program, const char *text,
                                  tirc_verification *v)
{
    tirc_file *file;
    tirc_kernel *kernel, *lowered, *both;
    tirc_device *device;
    tirc_program *compiled;
    t->full_work = 1000;
    assert_int_equal(tirc_parse_text(t, "program.tir", program, strlen(program), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    assert_int_equal(lower_text(t, text, "naive", &lowered), TIRC_OK);
    assert_int_equal(tirc_against(t, lowered, kernel, &both), TIRC_OK);
    assert_int_equal(tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device), TIRC_OK);
    assert_int_equal(tirc_compile(t, device, both, &compiled), TIRC_OK);
    return tirc_verify(t, compiled, NULL, 0, v);
}

#define ROWS(type, k, term)                                                                        \
    "kernel sums<N = 6000, K = 90>(x: " type "[N, K]) -> y: " type "[N] { for i in N { y[i] = 0;"  \
    " for k in K y[i] += x[i, " k "]" term "; } }"

/* One term of a row outside of the sample, which no bound of rounding errors shows. */
static void a_term_outside_of_the_sample_is_noticed(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    assert_int_equal(verify_sampled(t, ROWS("bf16", "k", ""), ROWS("bf16", "K - 1 - k", ""), &v),
                     TIRC_OK);
    assert_true(v.ok);
    assert_non_null(strstr(v.structure, "; all equal those of schedule 'default'"));
    assert_int_equal(verify_sampled(t, ROWS("bf16", "k", ""),
                                    ROWS("bf16", "k", "* (i == 2002 && k == 7 ? 0 : 1)"), &v),
                     TIRC_WRONG);
    assert_false(v.ok);
    assert_non_null(strstr(tirc_diagnostic_at(t, 0).message, "on small integers"));
    assert_non_null(strstr(tirc_diagnostic_at(t, 0).message, "y[2002] = "));
    assert_int_equal(tirc_diagnostic_count(t), 1); /* whose run it was, the simulator forgot */
    tirc_free(t);
}

/* Outputs are compared part by part: each has its place. */
static void an_element_of_a_large_output_is_named(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    assert_int_equal(
        verify_sampled(t,
                       "kernel f(x: u8[2500000]) -> y: u8[2500000]"
                       " { for i in 2500000 y[i] = min(x[i], u8(200)); }",
                       "kernel f(x: u8[2500000]) -> y: u8[2500000]"
                       " { for i in 2500000 y[i] = i == 2400007 ? 255 : min(x[i], u8(200)); }",
                       &v),
        TIRC_WRONG);
    assert_non_null(strstr(tirc_diagnostic_at(t, 0).message, "1 of 2500000 elements differ"));
    assert_non_null(strstr(tirc_diagnostic_at(t, 0).message, "y[2400007] is 255 here"));
    tirc_free(t);
}

/* Sums of one row are rounded: in another order it may be another number, and both are right. */
static void elements_that_are_not_exact_may_differ(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_verification v;
    assert_int_equal(verify_sampled(t, ROWS("f32", "k", "* (i == 2002 ? 0.3 : 1)"),
                                    ROWS("f32", "K - 1 - k", "* (i == 2002 ? 0.3 : 1)"), &v),
                     TIRC_OK);
    assert_true(v.ok);
    assert_non_null(strstr(v.structure, "; 1 of all elements differ from those of schedule "
                                        "'default', and none of the 1 examined is exact"));
    tirc_free(t);
}

/* What is measured in turn after a verification has to compute the same. */
static void peers_compute_the_same(void **state)
{
    (void)state;
    static const char one[] = "kernel f(x: f32[9]) -> y: f32[9] { for i in 9 y[i] = x[i] + 1; }";
    static const char other[] =
        "kernel f(x: f32[9]) -> y: f32[9] { for i in 9 y[i] = i == 7 ? 0 : x[i] + 1; }";
    tirc *t = tirc_new(NULL);
    tirc_program *programs[2];
    tirc_kernel *lowered;
    tirc_verification v;
    tirc_measurement m[2];
    assert_int_equal(compile(t, one, "default", &programs[0]), TIRC_OK);
    assert_int_equal(lower_text(t, one, "naive", &lowered), TIRC_OK);
    assert_int_equal(tirc_compile(t, programs[0]->device, lowered, &programs[1]), TIRC_OK);
    assert_int_equal(tirc_bench(t, programs, 2, NULL, m), TIRC_OK);
    assert_false(m[1].agrees);
    assert_int_equal(tirc_verify(t, programs[0], NULL, 0, &v), TIRC_OK);
    assert_int_equal(tirc_bench(t, programs, 2, NULL, m), TIRC_OK);
    assert_true(m[0].agrees && m[1].agrees);
    assert_int_equal(lower_text(t, other, "naive", &lowered), TIRC_OK);
    assert_int_equal(tirc_compile(t, programs[0]->device, lowered, &programs[1]), TIRC_OK);
    assert_int_equal(tirc_bench(t, programs, 2, NULL, m), TIRC_WRONG);
    tirc_diagnostic d = tirc_diagnostic_at(t, tirc_diagnostic_count(t) - 1);
    assert_string_equal(d.code, "E0643");
    assert_non_null(
        strstr(d.message, "1 of 9 elements computed by 'naive' differ from those of 'default'"));
    assert_non_null(strstr(d.message, "y[7] is 0 here and"));
    tirc_free(t);
}

/* Before a GPU runs it, which would not notice. */
static void an_access_that_leaves_is_found_before_a_gpu_runs_it(void **state)
{
    (void)state;
    static const char text[] =
        "kernel late<N, M>(x: f32[N]) -> y: f32[M] { for i in M y[i] = x[i + 1]; }";
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_verification v;
    assert_int_equal(compile(t, text, "default", &program), TIRC_OK);
    program->device->device->info.kind = DEVICE_CUDA; /* the simulator in a GPU's place */
    assert_int_equal(tirc_verify(t, program, (int64_t[]){6, 5}, 0, &v), TIRC_OK);
    assert_true(v.ok);
    assert_int_equal(tirc_verify(t, program, (int64_t[]){5, 5}, 0, &v), TIRC_WRONG);
    assert_int_equal(tirc_diagnostic_count(t), 1); /* nothing ran */
    tirc_diagnostic d = tirc_diagnostic_at(t, 0);
    assert_string_equal(d.code, "E0639");
    assert_int_equal(d.column, 63);
    assert_non_null(strstr(d.message, "'x[i + 1]' is out of bounds: at N = 5, M = 5, "));
    assert_non_null(strstr(d.message, "the subscript i + 1 is 5, but the axis has 5 elements"));
    tirc_free(t);
}

static void lines_have_origins(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    const tirc_origin *lines;
    const void *cuda;
    size_t n, length, split = 0, update = 0, newlines = 0;
    assert_int_equal(compile(t, TEXT, "naive", &program), TIRC_OK);
    assert_int_equal(tirc_emit(t, program->kernel, TIRC_CUDA, NULL, &cuda, &length), TIRC_OK);
    for (size_t i = 0; i < length; i++)
        newlines += ((const char *)cuda)[i] == '\n';
    assert_int_equal(tirc_origins(t, program->kernel, &lines, &n), TIRC_OK);
    assert_int_equal(n, newlines);
    assert_null(lines[0].path); /* a comment */
    for (size_t i = 0; i < n; i++) {
        if (lines[i].step && !strcmp(lines[i].step_text, "split(j, [_, 32])")) {
            split++;
            assert_string_equal(lines[i].step_path, "library/naive.sched");
            assert_int_equal(lines[i].line, 3);
        }
        update += lines[i].path && !lines[i].step && lines[i].line == 6 && lines[i].column == 13;
    }
    assert_int_equal(split, 3);  /* the value of j, its guard, the end of that */
    assert_int_equal(update, 2); /* of the register, and the store of it */
    tirc_kernel *kernel;
    tirc_file *file;
    assert_int_equal(tirc_parse_text(t, "test.tir", TEXT, strlen(TEXT), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    assert_int_equal(tirc_origins(t, kernel, &lines, &n), TIRC_USAGE); /* it has no lines yet */
    tirc_free(t);
}

static bool shows(tirc *t, const char *arch)
{
    tirc_clear_diagnostics(t);
    tirc_kernel *kernel, *scheduled;
    tirc_file *file;
    static const char text[] = "kernel k<N = 64>(x: f32[N]) -> y: f32[N]\n{\n    for i in N\n"
                               "        y[i] = x[i];\n}\nschedule pairs for k()\n{\n"
                               "    bind(split(loops(y)[0], [_, 2])[1], cluster.rank);\n}\n";
    assert_int_equal(tirc_parse_text(t, "k.tir", text, strlen(text), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    tirc_status status = tirc_apply(t, file, kernel, "pairs", NULL, 0, &scheduled);
    return status && strstr(tirc_diagnostics(t, false), arch);
}

static void schedules_are_for_an_architecture(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_device *device;
    assert_false(shows(t, ""));
    assert_int_equal(tirc_set_arch(t, "sm_80"), TIRC_OK);
    assert_true(shows(t, "the kernel is for sm_80;"));
    assert_int_equal(tirc_set_arch(t, "turing"), TIRC_USAGE);
    assert_true(shows(t, "the kernel is for sm_80;"));
    assert_int_equal(tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device), TIRC_OK);
    assert_true(shows(t, "the kernel is for sm_80;")); /* any of them is simulated */
    assert_int_equal(tirc_device_open(t, TIRC_DEVICE_SIM, 0, "sm_75", &device), TIRC_OK);
    assert_true(shows(t, "the kernel is for sm_75;"));
    assert_int_equal(tirc_set_arch(t, "sm_90a"), TIRC_OK);
    assert_false(shows(t, ""));
    tirc_free(t);
}

static void analyses_are_data(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    tirc_analysis *analysis;
    tirc_access access;
    tirc_kernel_use use;
    tirc_limit limit;
    tirc_barrier barrier;
    assert_int_equal(compile(t, TEXT, "tiled32", &program), TIRC_OK);
    tirc_analyze_options options = {.profile = "a100"};
    assert_int_equal(tirc_analyze(t, program->kernel, NULL, &options, &analysis), TIRC_OK);
    tirc_analysis_summary s = tirc_analysis_describe(analysis);
    assert_string_equal(s.profile, "NVIDIA A100 80GB");
    assert_int_equal(s.blocks, s.counted_blocks);
    size_t n = 0, limits = 0, binding = 0;
    while (tirc_access_at(analysis, n, &access)) {
        assert_non_null(access.origin.path);
        assert_true(access.requests > 0 && access.active != 0 && access.ideal > 0);
        n++;
    }
    assert_int_equal(n, 7);
    assert_false(tirc_access_at(analysis, n, &access));
    assert_true(tirc_kernel_use_at(analysis, 0, &use) && use.block[0] == 32 &&
                !tirc_kernel_use_at(analysis, 1, &use));
    assert_true(tirc_barrier_at(analysis, 0, &barrier) && barrier.reason);
    for (; tirc_limit_at(analysis, limits, &limit); limits++)
        binding += limit.binds;
    assert_int_equal(limits, 5);
    assert_int_equal(binding, 1);
    options.profile = "a1000";
    assert_int_equal(tirc_analyze(t, program->kernel, NULL, &options, &analysis), TIRC_REFUSED);
    tirc_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_way),
        cmocka_unit_test(schedules_are_for_an_architecture),
        cmocka_unit_test(refusals_have_a_place),
        cmocka_unit_test(wrong_calls_are_usage),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(bugs_leave_a_report),
        cmocka_unit_test(calls_nest),
        cmocka_unit_test(runs_take_no_memory),
        cmocka_unit_test(launches_use_memory_of_the_device),
        cmocka_unit_test(symbolic_sizes_need_values),
        cmocka_unit_test(accesses_that_are_not_proved),
        cmocka_unit_test(parameters_that_do_not_fit_are_no_end),
        cmocka_unit_test(overflowing_rows_are_not_compared),
        cmocka_unit_test(large_outputs_are_sampled),
        cmocka_unit_test(default_is_compared_with_another_schedule),
        cmocka_unit_test(a_term_outside_of_the_sample_is_noticed),
        cmocka_unit_test(an_element_of_a_large_output_is_named),
        cmocka_unit_test(elements_that_are_not_exact_may_differ),
        cmocka_unit_test(peers_compute_the_same),
        cmocka_unit_test(an_access_that_leaves_is_found_before_a_gpu_runs_it),
        cmocka_unit_test(lines_have_origins),
        cmocka_unit_test(analyses_are_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
