/* Calls of primitives: their arguments, what a refusal leaves as it was, annotations, the steps
 * that are kept, and traces that run again to the same kernel. Refusals stand in
 * tests/legality/steps/trace.tir. */
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

static void annotations_come_and_go(void **state)
{
    (void)state;
    expect_body(COPY100,
                "let [i] = loops(y); annotate(i, \"hint\", [1, -2]); annotate(y, flag); "
                "annotate(y, \"text\", \"a\"); annotate(y, flag, 7);",
                "    for i in 100 @hint([1, -2])\n"
                "        block y(i in 100 = i) @flag(7) @text(\"a\") {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY100,
                "let [i] = loops(y); annotate(i, \"hint\", 3); annotate(i, other, 4); "
                "unannotate(i, hint);",
                "    for i in 100 @other(4)\n"
                "        y[i] = x[i];\n");
}

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

/* The trace of the steps, and that it runs again to the same kernel and the same trace. */
static void trace(const char *program, const char *steps, const char *expected)
{
    Case r;
    case_run(&r, program, steps);
    if (!r.schedule)
        fail_msg("%s", text_report(&r.text));
    StrBuf text = strbuf_new(r.text.ctx->arena);
    schedule_trace(r.schedule, ctx_name(r.text.ctx, "s"), &text);
    char *open = strstr(text.text, "\n{\n");
    assert_non_null(open);
    char *body = arena_strndup(r.text.ctx->arena, open + 3, strlen(open + 3) - 2);
    if (expected)
        assert_string_equal(body, expected);
    Case again;
    case_run(&again, program, body);
    if (!again.schedule)
        fail_msg("%s", text_report(&again.text));
    assert_string_equal(text_print(&again.text, schedule_kernel(again.schedule)),
                        text_print(&r.text, schedule_kernel(r.schedule)));
    StrBuf second = strbuf_new(again.text.ctx->arena);
    schedule_trace(again.schedule, ctx_name(again.text.ctx, "s"), &second);
    assert_string_equal(second.text, text.text);
    text_close(&again.text);
    text_close(&r.text);
}

static void traces_run_again(void **state)
{
    (void)state;
    trace(MATMUL, BAND,
          "    let [[i, j]] = bands();\n"
          "    let f = fuse(i, j);\n"
          "    let [b, t] = split(f, [_, 32]);\n"
          "    bind(b, blockIdx.x);\n"
          "    bind(t, threadIdx.x);\n");
    trace(TWO,
          "for b in blocks() { let l = loops(b)[-1]; let [x, y] = split(l, [_, 4]); unroll(y); }",
          NULL);
    trace(RANGES,
          "for b in blocks() { let [a, c] = split(loops(b)[0], [_, 8]); vectorize(c); unroll(a); }",
          "    let [i] = loops(y);\n"
          "    let [a, c] = split(i, [_, 8]);  // a guard leaves 7 of 56 iterations idle (12%)\n"
          "    vectorize(c);\n"
          "    unroll(a);\n"
          "    let [j] = loops(z);\n"
          "    let [a, c] = split(j, [_, 8]);  // a guard leaves 3 of 48 iterations idle (6.2%)\n"
          "    vectorize(c);\n"
          "    unroll(a);\n");
    trace(MATMUL,
          IJK "split(i, [_, 4]); annotate(C, note, \"a\\\"b\"); let [a, b, c, d] = loops(C);",
          "    let [i, _, _] = loops(C);\n"
          "    let [i_0, i_1] = split(i, [_, 4]);\n"
          "    annotate(C, \"note\", \"a\\\"b\");\n");
}

/* A variable that is bound anew while its loop is still needed keeps the loop under another
 * name. */
static void traces_keep_hidden_loops(void **state)
{
    (void)state;
    trace(RANGES,
          "let [p] = loops(y); let [q] = loops(z);\n"
          "let [a, b] = split(p, [_, 8]); let c = a; let [a, b] = split(q, [_, 8]); unroll(c); "
          "unroll(a);",
          "    let [i] = loops(y);\n"
          "    let [j] = loops(z);\n"
          "    let [a, b] = split(i, [_, 8]);  // a guard leaves 7 of 56 iterations idle (12%)\n"
          "    let a_1 = a;\n"
          "    let [a, b] = split(j, [_, 8]);  // a guard leaves 3 of 48 iterations idle (6.2%)\n"
          "    unroll(a_1);\n"
          "    unroll(a);\n");
    /* The name under which the second `a` is kept is not the one by which the call at work takes
     * the first. */
    trace(RANGES,
          "let [p] = loops(y); let [q] = loops(z);\n"
          "let [a, b] = split(p, [_, 8]); let c = a; let [a, b] = split(q, [_, 8]); let d = a;\n"
          "let [a, b] = split(c, [_, 2]); annotate(d, \"second\");",
          NULL);
    trace(COPY100,
          "let [split_1] = loops(y); let [y_1, loops] = split(split_1, [_, 8]); unroll(loops);",
          NULL);
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
        cmocka_unit_test(annotations_come_and_go),  cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(steps_are_kept),           cmocka_unit_test(traces_run_again),
        cmocka_unit_test(traces_keep_hidden_loops), cmocka_unit_test(many_steps_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
