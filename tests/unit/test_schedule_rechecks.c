/* Launches that a step leaves as they are: they are asked about again if the loops or conditions
 * around them change, which can make them illegal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "passes/schedule/flow.h"
#include "schedule_steps.h"

/* `around` has a launch that is legal only where t is 0, once the steps have run. */
static void run_shifted(Case *k, const char *around, const char *steps)
{
    char program[512];
    snprintf(program, sizeof program,
             "kernel k<N = 8>(inout A: f32[N + 1]) {\n"
             "    %s\n"
             "    for i in N last: A[i] += 1.0;\n"
             "}\n",
             around);
    case_run(k, program, steps);
    if (!k->schedule)
        fail_msg("refused:\n%s", text_report(&k->text));
}

static Stmt *body_of(const Case *k)
{
    return schedule_kernel(k->schedule)->body;
}

/* The kernel's first loop or condition. */
static const Stmt *first_of(const Case *k, StmtKind kind)
{
    return stmts_of_kind(k->text.ctx, body_of(k), kind).items[0];
}

/* The step that makes `to` of a statement is refused for the launch in it. */
static void expect_asked(Case *k, const Stmt *from, Stmt *to)
{
    Stmt *body = stmt_replace(k->text.ctx, body_of(k), from, to);
    assert_false(flow_recheck_all(k->schedule, body, span_none()));
    assert_int_equal(k->text.ctx->first->code, E0441);
    text_close(&k->text);
}

static void a_loop_around_counts(void **state)
{
    (void)state;
    Case k;
    run_shifted(&k, "for t in 2 { for i in N s: A[i] = A[i + t] + 1.0; }",
                "loop_partition(loops(s)[0], [1, _]); bind(loops(s_1)[1], threadIdx.x);");
    const Stmt *first = first_of(&k, ST_FOR);
    ForStmt loop = first->u.loop;
    assert_true(expr_is(loop.hi, 1));
    Stmt *same =
        stmt_replace(k.text.ctx, body_of(&k), first, stmt_for(k.text.ctx, &loop, span_none()));
    assert_true(flow_recheck_all(k.schedule, same, span_none()));
    loop.hi = expr_index(k.text.ctx, 2);
    expect_asked(&k, first, stmt_for(k.text.ctx, &loop, span_none()));
}

static void a_condition_around_counts(void **state)
{
    (void)state;
    Case k;
    run_shifted(&k, "for t in 2 { if t < 1 { for i in N s: A[i] = A[i + t] + 1.0; } }",
                "bind(loops(s)[1], threadIdx.x);");
    const Stmt *cond = first_of(&k, ST_IF);
    Expr *const *arg = cond->u.cond.cond->u.arg;
    Expr *longer = expr_binary(k.text.ctx, EX_LE, arg[0], arg[1], span_none());
    expect_asked(&k, cond, stmt_if(k.text.ctx, longer, cond->u.cond.then, NULL, span_none()));
}

static void its_branch_counts(void **state)
{
    (void)state;
    Case k;
    run_shifted(&k,
                "for t in 2 { if t > 0 { for j in N u: A[j] = 2.0; }\n"
                "             else { for i in N s: A[i] = A[i + t] + 1.0; } }",
                "bind(loops(s)[1], threadIdx.x);");
    const Stmt *cond = first_of(&k, ST_IF);
    expect_asked(&k, cond,
                 stmt_if(k.text.ctx, cond->u.cond.cond, cond->u.cond.otherwise, cond->u.cond.then,
                         span_none()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_around_counts),
        cmocka_unit_test(a_condition_around_counts),
        cmocka_unit_test(its_branch_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
