/* Long lists of statements under schedules: older kernels stay what they were, a step that is
 * refused leaves nothing behind, and a step takes the memory of what it changes, however long the
 * list is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "passes/schedule/sched.h"
#include "schedule_steps.h"

/* A kernel of n nests with the blocks b0, b1, ... inside of `around`, and steps for it. */
static void run_nests(Case *k, int n, const char *around, const char *steps)
{
    enum { LINE = 64, HEAD = 256 };
    char *program = malloc((size_t)n * LINE + HEAD);
    size_t at = (size_t)sprintf(program,
                                "kernel k<N = 64>(x: f32[N]) -> y: f32[%d, N]\n"
                                "{ %s {\n",
                                n, around);
    for (int i = 0; i < n; i++)
        at += (size_t)sprintf(program + at, "for i in N b%d: y[%d, i] = x[i] * %d;\n", i, i, i + 1);
    strcpy(program + at, "} }\n");
    case_run(k, program, steps);
    free(program);
    if (!k->schedule)
        fail_msg("refused:\n%s", text_report(&k->text));
}

/* ---- older kernels --------------------------------------------------------------------------- */

/* Statements that change once and twice, in a list that gets longer in between; @ is the number of
 * a nest's first loop. */
static const char *const steps[] = {
    "split(loops(b3)[@], [_, 8]);", "annotate(b70, tag, 1);",
    "split(loops(b3)[@], [_, 2]);", "split(loops(b10)[@], [_, 7], tail = peel);",
    "unroll(loops(b11)[@]);",       "annotate(b70, tag, 2);",
    "unroll(loops(b3)[@]);",
};
enum { STEPS = sizeof steps / sizeof steps[0] };

static void run_first(Case *k, const char *around, char loop, int n)
{
    char script[512] = "";
    for (int i = 0; i < n; i++)
        strcat(script, steps[i]);
    for (char *at = script; (at = strchr(at, '@'));)
        *at = loop;
    run_nests(k, 80, around, script);
    assert_int_equal(schedule_steps(k->schedule), n);
}

/* The kernel after each step is the one that a schedule of the first steps makes. */
static void expect_older_kernels(const char *around, char loop)
{
    Case all;
    run_first(&all, around, loop, STEPS);
    for (int round = 0; round < 2; round++)
        for (int n = STEPS; n >= 0; n--) {
            Case first;
            run_first(&first, around, loop, n);
            assert_string_equal(text_print(&all.text, schedule_kernel_after(all.schedule, n)),
                                text_print(&first.text, schedule_kernel(first.schedule)));
            text_close(&first.text);
        }
    assert_ptr_equal(schedule_kernel_after(all.schedule, STEPS), schedule_kernel(all.schedule));
    assert_ptr_equal(schedule_kernel_after(all.schedule, 0), all.kernel);
    text_close(&all.text);
}

static void older_kernels_come_back(void **state)
{
    (void)state;
    expect_older_kernels("", '0');
    expect_older_kernels("for t in 4", '1');
    expect_older_kernels("if N > 3", '0');
}

/* What an attempt did to a long list is taken back with it, in older kernels, too. */
static void attempts_leave_nothing(void **state)
{
    (void)state;
    static const char given_up[] =
        "split(loops(b3)[0], [_, 8]); try { split(loops(b3)[0], [_, 2]); unroll(loops(b10)[0]); "
        "bind(loops(b11)[0], blockIdx.x); split(loops(b11)[0], [_, 2]); } "
        "unroll(loops(b11)[0]);";
    static const char without[] = "split(loops(b3)[0], [_, 8]); unroll(loops(b11)[0]);";
    Case tried, plain;
    run_nests(&tried, 80, "", given_up);
    run_nests(&plain, 80, "", without);
    assert_int_equal(schedule_steps(tried.schedule), 2);
    for (int n = 2; n >= 0; n--)
        assert_string_equal(text_print(&tried.text, schedule_kernel_after(tried.schedule, n)),
                            text_print(&plain.text, schedule_kernel_after(plain.schedule, n)));
    text_close(&tried.text);
    text_close(&plain.text);
}

/* ---- steps by hand --------------------------------------------------------------------------- */

static Value outer_loop(Case *k, int block)
{
    Context *c = k->text.ctx;
    Value name = {.kind = VALUE_WORD}, loops;
    name.u.s = ctx_namef(c, "b%d", block);
    assert_true(schedule_call(k->schedule, primitive_find("loops"),
                              &(GivenArgs){.args = &name, .n = 1, .span = span_none()}, &loops));
    return loops.u.list.items[0];
}

static bool unroll_and_refuse(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *loop = sched_node(s, &call->arg[0], NULL);
    ForStmt unrolled = loop->u.loop;
    (void)result;
    unrolled.kind = LOOP_UNROLL;
    sched_replace(s, loop, stmt_for(s->ctx, &unrolled, loop->span));
    return sched_refuse(s, E0412, call->span, "not this one");
}

static void a_refused_step_leaves_nothing(void **state)
{
    (void)state;
    static const PrimParam loop_param = {.name = "loop", .kind = PARAM_LOOP};
    static const Primitive refuses = {
        .name = "refuses", .params = &loop_param, .n_params = 1, .run = unroll_and_refuse};
    Case k;
    run_nests(&k, 80, "", "unroll(loops(b7)[0]);");
    char *before = strdup(text_print(&k.text, schedule_kernel(k.schedule)));
    Value loop = outer_loop(&k, 5), result;
    assert_false(schedule_call(k.schedule, &refuses,
                               &(GivenArgs){.args = &loop, .n = 1, .span = span_none()}, &result));
    assert_string_equal(text_print(&k.text, schedule_kernel(k.schedule)), before);
    assert_true(schedule_call(k.schedule, primitive_find("unroll"),
                              &(GivenArgs){.args = &loop, .n = 1, .span = span_none()}, &result));
    assert_string_equal(text_print(&k.text, schedule_kernel_after(k.schedule, 1)), before);
    assert_string_not_equal(text_print(&k.text, schedule_kernel(k.schedule)), before);
    free(before);
    text_close(&k.text);
}

/* The memory of a step in a kernel of n nests, where the list has been changed before. */
static size_t bytes_of_a_step(int n)
{
    enum { TIMES = 32 };
    Case k;
    Value result;
    run_nests(&k, n, "", "unroll(loops(b0)[0]);");
    size_t before = arena_used(k.text.ctx->arena);
    for (int i = 1; i <= TIMES; i++) {
        Value loop = outer_loop(&k, i);
        assert_true(schedule_call(k.schedule, primitive_find("unroll"),
                                  &(GivenArgs){.args = &loop, .n = 1, .span = span_none()},
                                  &result));
    }
    size_t bytes = (arena_used(k.text.ctx->arena) - before) / TIMES;
    text_close(&k.text);
    return bytes;
}

static void a_step_takes_what_it_changes(void **state)
{
    (void)state;
    size_t few = bytes_of_a_step(250), many = bytes_of_a_step(4000);
    if (many > few + few / 4)
        fail_msg("a step takes %zu bytes among 250 nests, and %zu among 4000", few, many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_kernels_come_back),
        cmocka_unit_test(attempts_leave_nothing),
        cmocka_unit_test(a_refused_step_leaves_nothing),
        cmocka_unit_test(a_step_takes_what_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
