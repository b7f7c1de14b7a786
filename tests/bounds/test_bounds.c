/* Accesses stay inside their buffers: each program with each of its schedules is lowered, with
 * symbolic sizes where it takes them and with literal ones, and each access of the text is asked
 * about (passes/lower/proofs/in_bounds.h).
 *
 *     test_bounds FOLDER...                      all programs
 *     test_bounds FOLDER... --short PROGRAM      one of them
 *     test_bounds ... --list                     with what is not proved
 *
 * No access leaves its buffer, and 98% are proved. What is left depends on data.
 *
 * Then each 11th place of the texts of tests/programs with symbolic sizes is made wrong: a guard or
 * a loop ends one later, or a subscript is one more. The answer has to change, but where a buffer
 * has room (a halo, a tile that a loop does not fill) or the loop is about something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "passes/lower/lower.h"
#include "passes/lower/proofs/in_bounds.h"
#include "support/program.h"

enum { FOLDERS = 32, EACH = 11 }; /* of the places that can be made wrong, each 11th is */

/* What a run has seen; the only state of this file. */
typedef struct {
    Program *programs[FOLDERS];
    int n_programs[FOLDERS], n_folders;
    int count[BOUNDS_UNPROVED + 1]; /* of each answer */
    int changes, noticed;
    bool list;
} Tests;

typedef struct {
    Tests *tests;
    const Program *program;
    int schedule;
    int failures;
} Case;

static void complain(Case *k, const char *sizes, const char *why)
{
    print_error("%s, schedule %s, sizes %s: %s\n", k->program->name,
                k->program->schedules[k->schedule], sizes, why);
    k->failures++;
}

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

static void ask_changed(Tests *t, const Use *use, const Kernel *lowered)
{
    for (int at = t->changes % EACH;; at += EACH) {
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

/* Programs of tests/programs say which sizes they are tested at; examples have their own. */
static bool is_example(const Program *p)
{
    return !strstr(p->path, "tests/programs");
}

/* ---- programs -------------------------------------------------------------------------------- */

static void count_answers(Case *k, const MemoryBounds *found, const char *sizes)
{
    for (int i = 0; i < found->accesses.n; i++) {
        const AccessBounds *a = &found->accesses.items[i];
        k->tests->count[a->answer]++;
        if (a->answer == BOUNDS_UNPROVED || a->answer == BOUNDS_LEAVES) {
            print_error("%s: ", a->element);
            complain(k, sizes, a->why);
        }
        if (k->tests->list && a->answer != BOUNDS_PROVED)
            print_message("%s, schedule %s, sizes %s: %s: %s\n", k->program->name,
                          k->program->schedules[k->schedule], sizes, a->element, a->why);
    }
}

static void ask(Case *k, Use *use, const char *sizes)
{
    LowerOptions options = {.limits = limits_default()};
    const Kernel *lowered = lower_kernel(use->c, schedule_kernel(use->schedule), &options);
    if (!lowered) {
        complain(k, sizes, use_messages(use));
        return;
    }
    MemoryBounds found = accesses_in_bounds(use->c, lowered, NULL);
    count_answers(k, &found, sizes);
    if (sizes[0] == '?' && !is_example(k->program) &&
        found.count[BOUNDS_PROVED] == found.accesses.n)
        ask_changed(k->tests, use, lowered);
}

/* With one value for all sizes, "?" for symbolic ones; NULL: those of the file. */
static void ask_at(Case *k, const char *value)
{
    const Program *p = k->program;
    char text[8][48];
    const char *overrides[8] = {0};
    for (int i = 0; value && i < p->n_sizes; i++) {
        snprintf(text[i], sizeof text[i], "%s=%s", p->sizes[i], value);
        overrides[i] = text[i];
    }
    Use use;
    jmp_buf guard;
    if (!program_use(p, p->schedules[k->schedule], overrides, value ? p->n_sizes : 0, &use)) {
        complain(k, value ? value : "of the file", use_messages(&use));
    } else if (setjmp(guard)) {
        complain(k, value ? value : "of the file", use_messages(&use));
    } else {
        use.c->guard = &guard;
        ask(k, &use, value ? value : "of the file");
    }
    ctx_free(use.c);
}

static void stays_inside(void **state)
{
    Case *k = *state;
    const Program *p = k->program;
    char first[24], last[24];
    snprintf(first, sizeof first, "%lld", (long long)p->values[0]);
    snprintf(last, sizeof last, "%lld", (long long)p->values[p->n_values - 1]);
    for (k->schedule = 0; k->schedule < p->n_schedules; k->schedule++) {
        if (!p->literal[k->schedule])
            ask_at(k, "?");
        if (is_example(p)) {
            ask_at(k, NULL);
            continue;
        }
        ask_at(k, first);
        ask_at(k, last);
    }
    assert_int_equal(k->failures, 0);
}

static void most_is_proved(void **state)
{
    const Tests *t = *state;
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
    struct CMUnitTest *tests = calloc(1000, sizeof *tests);
    Case *cases = calloc(1000, sizeof *cases);
    int n = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) {
            t.list = true;
        } else if (!strcmp(argv[i], "--short") && i + 1 < argc) {
            cmocka_set_test_filter(argv[++i]);
        } else {
            int f = t.n_folders++;
            t.n_programs[f] = programs_read(argv[i], &t.programs[f]);
            for (int k = 0; k < t.n_programs[f]; k++, n++) {
                cases[n] = (Case){.tests = &t, .program = &t.programs[f][k]};
                tests[n] =
                    (struct CMUnitTest){t.programs[f][k].name, stays_inside, NULL, NULL, &cases[n]};
            }
        }
    }
    tests[n] = (struct CMUnitTest){"most_is_proved", most_is_proved, NULL, NULL, &t};
    int failed = _cmocka_run_group_tests("bounds", tests, (size_t)n + 1, NULL, NULL);
    free(tests);
    free(cases);
    for (int i = 0; i < t.n_folders; i++)
        programs_free(t.programs[i], t.n_programs[i]);
    return failed;
}
