/* Every element of every output is written exactly once: each program with each of its schedules is
 * lowered, with symbolic sizes where it takes them and with literal ones, and asked who writes what
 * (passes/lower/proofs/written.h).
 *
 *     test_once FOLDER [--short PROGRAM]      all programs, or one
 *
 * Then each guard around a store to an output is made one wider and one narrower. The answer has to
 * change, but where other stores write the same elements (the init of a sum), or where the guard is
 * about something else (the loop of the sum). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "passes/lower/proofs/written.h"
#include "support/program.h"

/* What a run has seen; the only state of this file. */
typedef struct {
    Program *programs;
    int n_programs;
    int once, open, edges, noticed;
} Tests;

typedef struct {
    Tests *tests;
    const Program *program;
    int schedule;
    int failures;
} Case;

/* ---- wrong edges ----------------------------------------------------------------------------- */

/* Guard number `at` of those around stores to outputs ends `by` later. */
typedef struct {
    int at, met;
    int64_t by;
    bool changed;
} Edge;

static bool writes_output(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && buffer_defined(at.stmt->u.store.buffer)->role != ROLE_TEMP)
            return true;
    return false;
}

static bool is_edge(Context *c, const Stmt *s)
{
    return s->kind == ST_IF && !s->u.cond.otherwise && s->u.cond.cond->kind == EX_LT &&
           s->u.cond.cond->u.arg[0]->type == DT_INDEX && writes_output(c, s->u.cond.then);
}

static Stmt *move_edge(Rewriter *r, Stmt *s)
{
    Edge *edge = r->user;
    if (!is_edge(r->ctx, s) || edge->met++ != edge->at)
        return s;
    Expr *const *side = s->u.cond.cond->u.arg;
    Expr *end = expr_binary(r->ctx, EX_ADD, side[1], expr_index(r->ctx, edge->by), s->span);
    edge->changed = true;
    return stmt_if(r->ctx, expr_binary(r->ctx, EX_LT, side[0], end, s->span), s->u.cond.then, NULL,
                   s->span);
}

static void ask_edges(Tests *t, const Use *use, const Kernel *lowered)
{
    for (int k = 0;; k++) {
        Edge edge = {.at = k / 2, .by = k % 2 ? 1 : -1};
        Rewriter r = {.ctx = use->c, .user = &edge, .stmt = move_edge};
        Kernel moved = *lowered;
        moved.body = rewrite_stmt(&r, lowered->body);
        if (!edge.changed)
            return;
        t->edges++;
        t->noticed += outputs_written_once(use->c, use->kernel, &moved).answer == WRITTEN_WRONG;
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void complain(Case *k, const char *sizes, const char *why)
{
    print_error("%s, schedule %s, sizes %s: %s\n", k->program->name,
                k->program->schedules[k->schedule], sizes, why);
    k->failures++;
}

/* The kernel before its subscripts become one. */
static void keep_simplified(void *user, const char *pass, const Kernel *kernel, bool changed,
                            double seconds)
{
    (void)changed;
    (void)seconds;
    if (strcmp(pass, "simplify") == 0)
        *(const Kernel **)user = kernel;
}

static void ask(Case *k, Use *use, const char *sizes)
{
    Tests *t = k->tests;
    const Kernel *lowered = NULL;
    LowerOptions options = {
        .limits = limits_default(), .after_pass = keep_simplified, .user = &lowered};
    if (!lower_kernel(use->c, schedule_kernel(use->schedule), &options) || !lowered) {
        complain(k, sizes, use_messages(use));
        return;
    }
    WrittenProof proof = outputs_written_once(use->c, use->kernel, lowered);
    t->once += proof.answer == WRITTEN_ONCE;
    t->open += proof.answer == WRITTEN_OPEN;
    if (proof.answer == WRITTEN_WRONG)
        complain(k, sizes, proof.why);
    if (proof.answer == WRITTEN_ONCE && sizes[0] == '?')
        ask_edges(t, use, lowered);
}

/* With one value for all sizes; "?" for symbolic ones. */
static void ask_at(Case *k, const char *value)
{
    const Program *p = k->program;
    char text[8][48];
    const char *overrides[8];
    for (int i = 0; i < p->n_sizes; i++) {
        snprintf(text[i], sizeof text[i], "%s=%s", p->sizes[i], value);
        overrides[i] = text[i];
    }
    Use use;
    jmp_buf guard;
    if (!program_use(p, p->schedules[k->schedule], overrides, p->n_sizes, &use)) {
        complain(k, value, use_messages(&use));
    } else if (setjmp(guard)) {
        complain(k, value, use_messages(&use));
    } else {
        use.c->guard = &guard;
        ask(k, &use, value);
    }
    ctx_free(use.c);
}

static void writes_once(void **state)
{
    Case *k = *state;
    const Program *p = k->program;
    char first[24], last[24];
    snprintf(first, sizeof first, "%lld", (long long)p->values[0]);
    snprintf(last, sizeof last, "%lld", (long long)p->values[p->n_values - 1]);
    for (k->schedule = 0; k->schedule < p->n_schedules; k->schedule++) {
        if (!p->literal[k->schedule])
            ask_at(k, "?");
        ask_at(k, first);
        ask_at(k, last);
    }
    assert_int_equal(k->failures, 0);
}

static void most_is_proved(void **state)
{
    const Tests *t = *state;
    print_message("%d proved, %d not; %d of %d moved edges write something else\n", t->once,
                  t->open, t->noticed, t->edges);
    assert_true(t->once > 14 * t->open);
    assert_true(t->noticed * 4 > t->edges * 3);
}

int main(int argc, char **argv)
{
    Tests t = {0};
    if (argc < 2)
        return fputs("usage: test_once FOLDER [--short PROGRAM]\n", stderr), 2;
    t.n_programs = programs_read(argv[1], &t.programs);
    Case *cases = calloc((size_t)t.n_programs, sizeof *cases);
    struct CMUnitTest *tests = calloc((size_t)t.n_programs + 1, sizeof *tests);
    for (int i = 0; i < t.n_programs; i++) {
        cases[i] = (Case){.tests = &t, .program = &t.programs[i]};
        tests[i] = (struct CMUnitTest){t.programs[i].name, writes_once, NULL, NULL, &cases[i]};
    }
    tests[t.n_programs] = (struct CMUnitTest){"most_is_proved", most_is_proved, NULL, NULL, &t};
    if (argc > 3)
        cmocka_set_test_filter(argv[3]);
    int failed = _cmocka_run_group_tests("once", tests, (size_t)t.n_programs + 1, NULL, NULL);
    free(tests);
    free(cases);
    programs_free(t.programs, t.n_programs);
    return failed > 0;
}
