/* Every element of every output is written exactly once: each program with each of its schedules is
 * lowered, with symbolic sizes where it takes them and with literal ones, and asked who writes what
 * (passes/lower/proofs/written.h).
 *
 * Then each third guard (--long: each) around a store to an output is made one wider and one
 * narrower. The answer has to change, but where other stores write the same elements (the init of a
 * sum), or where the guard is about something else (the loop of the sum).
 *
 * tests/support/sweep.h has the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "passes/lower/proofs/written.h"
#include "support/sweep.h"

enum { EACH = 3 }; /* of the guards */

/* What a run has seen; the only state of this file. */
typedef struct {
    int once, open, edges, noticed;
} Tests;

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

static void ask_edges(Tests *t, const Use *use, const Kernel *lowered, int each)
{
    for (int k = t->edges % each;; k += each) {
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

/* The kernel before its subscripts become one. */
static void keep_simplified(void *user, const char *pass, const Kernel *kernel, bool changed,
                            double seconds)
{
    (void)changed;
    (void)seconds;
    if (strcmp(pass, "simplify") == 0)
        *(const Kernel **)user = kernel;
}

static void ask(Question *q, Use *use)
{
    Tests *t = q->sweep->user;
    const Kernel *lowered = NULL;
    LowerOptions options = {
        .limits = limits_default(), .after_pass = keep_simplified, .user = &lowered};
    if (!lower_kernel(use->c, schedule_kernel(use->schedule), &options) || !lowered) {
        question_complain(q, use_messages(use));
        return;
    }
    WrittenProof proof = outputs_written_once(use->c, use->kernel, lowered);
    t->once += proof.answer == WRITTEN_ONCE;
    t->open += proof.answer == WRITTEN_OPEN;
    if (proof.answer == WRITTEN_WRONG)
        question_complain(q, proof.why);
    if (proof.answer == WRITTEN_ONCE && q->sizes[0] == '?')
        ask_edges(t, use, lowered, q->sweep->every ? 1 : EACH);
}

static void most_is_proved(void **state)
{
    const Sweep *sweep = *state;
    const Tests *t = sweep->user;
    print_message("%d proved, %d not; %d of %d moved edges write something else\n", t->once,
                  t->open, t->noticed, t->edges);
    /* Most of the others store where data says, or in loops that unswitch takes apart; three are
     * scans of rows that a version knows to be aligned. */
    assert_true(t->once > 9 * t->open);
    assert_true(t->noticed * 4 > t->edges * 3);
}

int main(int argc, char **argv)
{
    Tests t = {0};
    Sweep sweep = {.name = "once", .ask = ask, .last = most_is_proved, .user = &t};
    return sweep_main(&sweep, argc, argv);
}
