/* Accesses stay inside their buffers: each program with each of its schedules is lowered, with
 * symbolic sizes where it takes them and with literal ones, and each access of the text is asked
 * about (passes/lower/proofs/in_bounds.h).
 *
 * No access leaves its buffer, and 98% are proved. What is left depends on data.
 *
 * Then each 67th place of the texts of tests/programs with symbolic sizes (--long: each 5th) is
 * made wrong: a guard or a loop ends one later, or a subscript is one more. The answer has to
 * change, but where a buffer has room (a halo, a tile that a loop does not fill) or the loop is
 * about something else.
 *
 * tests/support/sweep.h has the command line; --list prints what is not proved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "passes/lower/proofs/in_bounds.h"
#include "support/sweep.h"

enum { EACH = 67, EACH_LONG = 5 }; /* of the places that can be made wrong */

/* What a run has seen; the only state of this file. */
typedef struct {
    int count[BOUNDS_UNPROVED + 1]; /* of each answer */
    int changes, noticed;
} Tests;

/* ---- wrong texts ----------------------------------------------------------------------------- */

/* Place number `at` of those that can be made wrong. */
typedef struct {
    int at, met;
    bool changed;
} Change;

static bool is_chosen(Change *change)
{
    if (change->met++ != change->at)
        return false;
    change->changed = true;
    return true;
}

static Expr *one_more(Context *c, Expr *e)
{
    Expr *one = e->type == DT_INDEX ? expr_index(c, 1) : expr_int(c, e->type, 1, e->span);
    return expr_binary(c, EX_ADD, e, one, e->span);
}

/* The subscripts with the last one more; NULL: not this place. */
static Expr *const *move_index(Context *c, Change *change, const Buffer *buffer, Expr *const *index)
{
    if (buffer->rank == 0 || !is_chosen(change))
        return NULL;
    Expr **moved = ARENA_ARRAY(c->arena, Expr *, buffer->rank);
    memcpy(moved, index, (size_t)buffer->rank * sizeof *moved);
    moved[buffer->rank - 1] = one_more(c, index[buffer->rank - 1]);
    return moved;
}

static Expr *change_load(Rewriter *r, Expr *e)
{
    Expr *const *moved =
        e->kind == EX_LOAD ? move_index(r->ctx, r->user, e->u.load.buffer, e->u.load.index) : NULL;
    return moved ? expr_load_like(r->ctx, e, e->u.load.buffer, moved) : e;
}

static Stmt *change_stmt(Rewriter *r, Stmt *s)
{
    Context *c = r->ctx;
    if (s->kind == ST_STORE) {
        Expr *const *moved = move_index(c, r->user, s->u.store.buffer, s->u.store.index);
        return moved ? stmt_store_like(c, s, s->u.store.buffer, moved, s->u.store.value) : s;
    }
    if (s->kind == ST_IF && !s->u.cond.otherwise && s->u.cond.cond->kind == EX_LT &&
        s->u.cond.cond->u.arg[0]->type == DT_INDEX && is_chosen(r->user)) {
        Expr *const *side = s->u.cond.cond->u.arg;
        return stmt_if(c, expr_binary(c, EX_LT, side[0], one_more(c, side[1]), s->span),
                       s->u.cond.then, NULL, s->span);
    }
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_SERIAL && s->u.loop.step == 1 &&
        is_chosen(r->user)) {
        ForStmt loop = s->u.loop;
        loop.hi = one_more(c, loop.hi);
        return stmt_for(c, &loop, s->span);
    }
    return s;
}

static void ask_changed(Tests *t, const Use *use, const Kernel *lowered, int each)
{
    for (int at = t->changes % each;; at += each) {
        Change change = {.at = at};
        Rewriter r = {.ctx = use->c, .user = &change, .expr = change_load, .stmt = change_stmt};
        Kernel changed = *lowered;
        changed.body = rewrite_stmt(&r, lowered->body);
        if (!change.changed)
            return;
        MemoryBounds found = accesses_in_bounds(use->c, &changed, NULL);
        t->changes++;
        t->noticed += found.count[BOUNDS_PROVED] < found.accesses.n;
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void count_answers(Question *q, const MemoryBounds *found)
{
    Tests *t = q->sweep->user;
    for (int i = 0; i < found->accesses.n; i++) {
        const AccessBounds *a = &found->accesses.items[i];
        t->count[a->answer]++;
        if (a->answer == BOUNDS_UNPROVED || a->answer == BOUNDS_LEAVES) {
            print_error("%s: ", a->element);
            question_complain(q, a->why);
        }
        if (q->sweep->list && a->answer != BOUNDS_PROVED)
            print_message("%s, schedule %s, sizes %s: %s: %s\n", q->program->name,
                          q->program->schedules[q->schedule], q->sizes, a->element, a->why);
    }
}

static void ask(Question *q, Use *use)
{
    LowerOptions options = {.limits = limits_default()};
    const Kernel *lowered = lower_kernel(use->c, schedule_kernel(use->schedule), &options);
    if (!lowered) {
        question_complain(q, use_messages(use));
        return;
    }
    MemoryBounds found = accesses_in_bounds(use->c, lowered, NULL);
    count_answers(q, &found);
    if (q->sizes[0] == '?' && !program_is_example(q->program) &&
        found.count[BOUNDS_PROVED] == found.accesses.n)
        ask_changed(q->sweep->user, use, lowered, q->sweep->every ? EACH_LONG : EACH);
}

static void most_is_proved(void **state)
{
    const Sweep *sweep = *state;
    const Tests *t = sweep->user;
    const int *n = t->count;
    int left = n[BOUNDS_DATA] + n[BOUNDS_UNPROVED] + n[BOUNDS_LEAVES];
    print_message("%d accesses proved, %d depend on data, %d others; %d of %d changes noticed\n",
                  n[BOUNDS_PROVED], n[BOUNDS_DATA], left - n[BOUNDS_DATA], t->noticed, t->changes);
    assert_int_equal(left, n[BOUNDS_DATA]);
    assert_true(n[BOUNDS_PROVED] > 49 * left);
    assert_true(t->noticed * 4 > t->changes * 3);
}

int main(int argc, char **argv)
{
    Tests t = {0};
    Sweep sweep = {.name = "bounds", .ask = ask, .last = most_is_proved, .user = &t};
    return sweep_main(&sweep, argc, argv);
}
