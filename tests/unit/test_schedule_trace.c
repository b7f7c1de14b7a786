/* Calls of primitives: what a refusal leaves as it was, and the steps that are kept. Annotations,
 * traces and refusals stand in tests/legality/steps/trace.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "schedule_programs.h"
#include "schedule_steps.h"

static Value word(Context *c, const char *text)
{
    Value value = {.kind = VALUE_WORD};
    value.u.s = ctx_name(c, text);
    return value;
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    Case r;
    case_run(&r, MATMUL, IJK "split(i, [_, 4]);");
    const Kernel *before = schedule_kernel(r.schedule);
    const char *text = text_print(&r.text, schedule_kernel(r.schedule));
    Value args[2] = {word(r.text.ctx, "C"), word(r.text.ctx, "blockIdx.x")}, loops, result;
    assert_true(schedule_call(r.schedule, primitive_find("loops"),
                              &(GivenArgs){.args = args, .n = 1, .span = span_none()}, &loops));
    assert_int_equal(loops.u.list.n, 4);
    args[0] = loops.u.list.items[3];
    assert_false(schedule_call(r.schedule, primitive_find("bind"),
                               &(GivenArgs){.args = args, .n = 2, .span = span_none()}, &result));
    assert_ptr_equal(schedule_kernel(r.schedule), before);
    assert_string_equal(text_print(&r.text, schedule_kernel(r.schedule)), text);
    assert_int_equal(schedule_steps(r.schedule), 1);
    args[0].u.id = UINT32_MAX;
    assert_false(schedule_call(r.schedule, primitive_find("bind"),
                               &(GivenArgs){.args = args, .n = 2, .span = span_none()}, &result));
    assert_non_null(strstr(text_report(&r.text), "a loop of another schedule"));
    text_close(&r.text);
}

static void steps_are_kept(void **state)
{
    (void)state;
    Case r;
    case_run(&r, MATMUL,
             IJK "let [a, b] = split(i, [_, 4]); fuse(a); annotate(C, tag, [1, 2]); unroll(b);");
    assert_non_null(r.schedule);
    assert_int_equal(schedule_steps(r.schedule), 3);
    assert_string_equal(schedule_step_text(r.schedule, 1), "split(i, [_, 4])");
    assert_string_equal(schedule_step_text(r.schedule, 2), "annotate(C, \"tag\", [1, 2])");
    assert_string_equal(schedule_step_text(r.schedule, 3), "unroll(b)");
    assert_string_equal(schedule_step_name(r.schedule, 3), "unroll");
    assert_ptr_equal(schedule_kernel_after(r.schedule, 0), r.kernel);
    assert_ptr_equal(schedule_kernel_after(r.schedule, 3), schedule_kernel(r.schedule));
    assert_ptr_equal(schedule_context(r.schedule), r.text.ctx);
    text_close(&r.text);
}

/* Where the second half is refused, the first has not happened. */
static void half_a_step_is_none(void **state)
{
    Case k;
    (void)state;
    static const char sum[] = "kernel sum<N>(x: f32[4, N]) -> y: f32[4]\n"
                              "{ for i in 4 { y[i] = 0; for j in N y[i] += x[i, j]; } }\n";
    case_run(&k, sum, "let [i, j] = loops(y);\n");
    assert_non_null(k.schedule);
    Schedule *s = k.schedule;
    const Kernel *before = schedule_kernel(s);
    Value block = {.kind = VALUE_WORD}, loops, ignored;
    block.u.s = ctx_name(k.text.ctx, "y");
    assert_true(schedule_call(s, primitive_find("loops"),
                              &(GivenArgs){.args = &block, .n = 1, .span = span_none()}, &loops));
    Value scope = {.kind = VALUE_WORD};
    scope.u.s = ctx_name(k.text.ctx, "local");
    Value args[] = {loops.u.list.items[1], block, block, scope};
    assert_false(schedule_call(s, primitive_find("write_at"),
                               &(GivenArgs){.args = args, .n = 4, .span = span_none()}, &ignored));
    assert_ptr_equal(schedule_kernel(s), before);
    assert_non_null(strstr(text_report(&k.text), "error[E0456]: write_at: "));
    text_close(&k.text);
}

/* Ten thousand steps on a small kernel: time and memory in proportion to the steps. */
static void many_steps_are_cheap(void **state)
{
    (void)state;
    clock_t begin = clock();
    Case r;
    case_run(&r, MATMUL,
             "for n in 0..5000 { let [a, b] = split(loops(C)[0], [_, 4]); fuse(a, b); }");
    assert_non_null(r.schedule);
    assert_int_equal(schedule_steps(r.schedule), 10000);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("10,000 steps: %.3f s, %zu bytes a step\n", seconds,
           arena_used(r.text.ctx->arena) / 10000);
    assert_true(arena_used(r.text.ctx->arena) < 200u << 20);
    text_close(&r.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(half_a_step_is_none),
        cmocka_unit_test(steps_are_kept),
        cmocka_unit_test(many_steps_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
