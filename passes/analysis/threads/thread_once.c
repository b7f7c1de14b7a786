/* thread_once.c - Decides whether a statement that a binding runs once, instead of in each
 * iteration of a loop, still computes the same.
 *
 * A block that does not depend on a bound loop around it runs once for all iterations of the loop,
 * unless it fills memory that each of them has its own of. The program runs it in each iteration:
 *
 *   for t in 4 bind threadIdx.x            the launch: b = a once, by thread 0, and behind a
 *       { b = a;  a = 5;  y[t] = x[t]; }   barrier a = 5 once; the program: b = 5 in the end,
 *                                          since the second run of b = a finds the 5
 *
 * The first run may replace all runs if the later ones read the same values, and if no other
 * statement writes the block's elements in between. A statement that depends on the loop writes
 * other elements in each iteration. One that does not depend on it repeats itself, so only a
 * loop-carried anti-dependence matters: it overwrites an element after a read, and nothing writes
 * the element again before that read in the next iteration. And if the first run reads what only
 * the first iteration wrote, no statement that repeats itself may bring back the older value. */
#include "passes/analysis/threads/threads.h"

/* A unit that runs once for all iterations of its loop number `at`, and one under the same loop
 * that may come between two of its runs. */
typedef struct {
    Threads *t;
    Poly *p;
    int at;
    int again, other; /* units: the one that runs again in the program, the one in between */
    const Access *access, *written; /* an access of each to one buffer */
    const char *reason;
    Conflict *why;
} Between;

/* Rows: the instance is not in the first iteration of its loop `at`. */
static void run_after_first(Poly *p, const Instance *one, int at)
{
    poly_at_most(p, &p->top, instance_first_turn(p, one, at), one->turns[at], -1);
}

/* ---- between two runs ------------------------------------------------------------------------ */

/* Within an iteration of loop `at`; a unit does not come before itself, but its reads before its
 * writes. */
static Precedence inside(int at)
{
    return (Precedence){.from = at + 1, .level = at + 1, .ties = true};
}

/* Both in one iteration of the loops around loop `at`, the one that runs again in a later one of
 * that than its first. */
static AccessPair enter_both(const Between *b, Instance *again, Instance *other)
{
    Poly *p = b->p;
    *again = instance_new(p, thread_unit(b->t, b->again));
    *other = instance_within(p, thread_unit(b->t, b->other), again, b->at);
    AccessPair pair = {other, b->written, again, b->access};
    pair_collide(p, pair);
    run_after_first(p, again, b->at);
    return pair;
}

/* Nothing of the first iteration is written behind the place of what runs again. */
static bool none_behind(const Between *b)
{
    Poly *p = b->p;
    PolyMark start = poly_mark(p);
    Instance again, other;
    AccessPair pair = enter_both(b, &again, &other);
    poly_equal(p, &p->top, other.turns[b->at], instance_first_turn(p, &again, b->at));
    Precedence behind = inside(b->at);
    behind.back = true;
    bool none = conflict_none_before(p, pair, behind, b->reason, b->why);
    poly_reset(p, start);
    return none;
}

/* Nothing of the iterations after the first is written in front of what runs again. */
static bool none_in_front(const Between *b)
{
    Poly *p = b->p;
    PolyMark start = poly_mark(p);
    Instance again, other;
    AccessPair pair = enter_both(b, &again, &other);
    run_after_first(p, &other, b->at);
    PolyMark mark = poly_mark(p);
    instance_precedes(p, &other, &again, (Precedence){.from = b->at, .level = b->at});
    bool none = conflict_none(p, pair, b->reason, b->why);
    poly_reset(p, mark);
    poly_equal(p, &p->top, other.turns[b->at], again.turns[b->at]);
    none = none && conflict_none_before(p, pair, inside(b->at), b->reason, b->why);
    poly_reset(p, start);
    return none;
}

/* ---- the runs are one ------------------------------------------------------------------------ */

/* Why the runs are not one because of this access. */
static const char *between_reason(const Between *b)
{
    Context *c = b->t->ctx;
    const Unit *u = thread_unit(b->t, b->again);
    const ForStmt *loop = u->loops[b->at];
    if (b->other == b->again)
        return arena_printf(c->arena,
                            "block '%s' updates an element that it reads, in each iteration of "
                            "loop '%s'; with the loop bound to %s it would run only once, because "
                            "its iterators do not depend on the loop",
                            u->block->name, loop->var->name, axis_name(loop->axis));
    return arena_printf(c->arena,
                        "block '%s' would run once for all iterations of loop '%s', because its "
                        "iterators do not depend on the loop, but an element that it %s in between",
                        u->block->name, loop->var->name,
                        b->access->reads ? "reads is written" : "writes is overwritten");
}

/* What the unit writes may differ between iterations of its loop `at`: it depends on the loop, or
 * it fills copies that the iterations have of their own from values that differ. */
static bool unit_varies(const Threads *t, int unit, int at, bool *seen)
{
    const Unit *u = thread_unit(t, unit);
    if (t->places[unit].used[at])
        return true;
    if (t->places[unit].rerun[at] || seen[unit])
        return false;
    seen[unit] = true;
    for (int i = 0; i < u->accesses.n; i++)
        for (BufferAccesses x = accesses_of(t->model, u->accesses.items[i].buffer);
             u->accesses.items[i].reads && accesses_next(&x);)
            if (x.access->writes && units_common(u, thread_unit(t, x.unit)) > at &&
                unit_varies(t, x.unit, at, seen))
                return true;
    return false;
}

static bool other_varies(const Between *b)
{
    bool *seen = ARENA_ARRAY(b->t->ctx->arena, bool, b->t->model->units.n);
    return unit_varies(b->t, b->other, b->at, seen);
}

static bool may_disturb(const Between *b)
{
    return b->written->writes && (b->access->reads || other_varies(b));
}

/* The first iteration may write the element. */
static bool writes_first(const Between *b)
{
    Poly *p = b->p;
    PolyMark start = poly_mark(p);
    Instance again, other;
    AccessPair pair = enter_both(b, &again, &other);
    poly_equal(p, &p->top, other.turns[b->at], instance_first_turn(p, &again, b->at));
    bool none = conflict_none(p, pair, b->reason, &(Conflict){0});
    poly_reset(p, start);
    return !none;
}

/* What the first run reads may be of that iteration only: a unit that varies writes it there. */
static bool first_differs(const Between *b)
{
    for (Pairs of = pairs_with(b->t->model, b->again); pairs_next(&of);) {
        Between first = *b;
        first.other = of.b;
        first.written = of.y;
        if (of.x == b->access && of.y->writes &&
            units_common(thread_unit(b->t, of.b), thread_unit(b->t, b->again)) > b->at &&
            other_varies(&first) && writes_first(&first))
            return true;
    }
    return false;
}

static bool access_is_steady(Between *b)
{
    b->reason = between_reason(b);
    if (!other_varies(b))
        return (none_behind(b) ||
                threads_read_renewed(b->t, b->p, b->again, b->access, b->at + 1)) &&
               (!first_differs(b) || none_in_front(b));
    return none_behind(b) && none_in_front(b);
}

/* Nothing between the runs of the unit changes what they read, or what they leave. */
static bool runs_are_one(Threads *t, Poly *p, int unit, int at, Conflict *why)
{
    for (Pairs of = pairs_with(t->model, unit); pairs_next(&of);) {
        Between b = {.t = t,
                     .p = p,
                     .at = at,
                     .again = unit,
                     .other = of.b,
                     .access = of.x,
                     .written = of.y,
                     .why = why};
        if (units_common(thread_unit(t, of.b), thread_unit(t, unit)) <= at || !may_disturb(&b))
            continue;
        if (!access_is_steady(&b))
            return false;
    }
    return true;
}

/* The unit takes its coordinate on an axis from one loop. */
static bool one_loop_counts(Threads *t, int unit, int at, Conflict *why)
{
    const Unit *u = thread_unit(t, unit);
    const Place *place = &t->places[unit];
    const ForStmt *loop = u->loops[at];
    int inner = loop->kind == LOOP_BIND ? place->loop[loop->axis] : -1;
    if (!place->used[at] || inner < 0 || inner == at)
        return true;
    *why = conflict_of_unit(
        u, "",
        arena_printf(t->ctx->arena,
                     "block '%s' depends on loops '%s' and '%s', but both bound to %s "
                     "they are the same coordinate",
                     u->block->name, loop->var->name, u->loops[inner]->var->name,
                     axis_name(loop->axis)));
    why->buffer = u->accesses.n ? u->accesses.items[u->accesses.n - 1].buffer : NULL;
    return false;
}

static bool loop_places(Threads *t, Poly *p, int unit, int at, Conflict *why)
{
    return one_loop_counts(t, unit, at, why) &&
           (!t->places[unit].rerun[at] || !threads_loop_changed(t, unit, at) ||
            runs_are_one(t, p, unit, at, why));
}

bool threads_run_alike(Threads *t, Poly *p, Conflict *why)
{
    for (int i = 0; i < t->model->units.n; i++)
        for (int k = 0; k < thread_unit(t, i)->n_loops; k++)
            if (!loop_places(t, p, i, k, why))
                return false;
    return true;
}
