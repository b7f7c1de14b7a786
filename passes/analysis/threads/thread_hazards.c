/* thread_hazards.c - Finds pairs of accesses by different threads of a block that only a barrier
 * orders.
 *
 * Between two lists of blocks, such as what stands before a place and what stands after it. A
 * barrier that lies in a loop of either orders what its iterations do, so what is left are the last
 * iteration before the place and the first after it. */
#include "passes/analysis/threads/threads.h"

/* ---- two accesses ---------------------------------------------------------------------------- */

/* What is asked of a pair: across which loop, and which loops pass a barrier in each iteration. */
typedef struct {
    const ForStmt *carrier;
    Stmt *const *passed;
    int n_passed;
} Across;

static bool passes_barrier(const Across *across, const ForStmt *loop)
{
    for (int i = 0; i < across->n_passed; i++)
        if (&across->passed[i]->u.loop == loop)
            return true;
    return false;
}

/* Rows: the instance is in the last (or first) iteration of the loops from `level` on that pass a
 * barrier in each. */
static void at_end(Poly *p, const Across *across, const Instance *at, int level, bool last)
{
    const Unit *u = at->unit;
    for (int i = level; i < u->n_loops; i++) {
        const ForStmt *loop = u->loops[i];
        if (u->absent[i] || !passes_barrier(across, loop))
            continue;
        if (!last)
            poly_equal(p, &p->top, at->turns[i], instance_first_turn(p, at, i));
        else if (loop->step == 1 || loop->step == -1)
            poly_equal(p, &p->top, poly_add(p, at->loops[i], affine_const(loop->step == 1), 1),
                       poly_value(p, &at->env, loop->hi));
    }
}

/* Rows: no barrier in a loop lies between the two. */
static void run_unparted(Meeting *m, const Across *across)
{
    int level = meeting_level(m, across->carrier);
    if (across->carrier) {
        int64_t step = across->carrier->step;
        if (passes_barrier(across, across->carrier))
            poly_equal(
                m->p, &m->p->top, m->at_b.at.turns[level],
                poly_add(m->p, m->at_a.at.turns[level], affine_const(1), step < 0 ? -step : step));
        level++;
    }
    at_end(m->p, across, &m->at_a.at, level, true);
    at_end(m->p, across, &m->at_b.at, level, false);
}

/* A hazard. */
static bool is_unparted(Meeting *m, const Across *across)
{
    if (!meeting_of_threads(m) || !meeting_is_later(m, across->carrier))
        return false;
    run_unparted(m, across);
    return poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
}

typedef struct {
    Threads *t;
    Poly *p;
    Across across;
    HazardFound *found;
    void *user;
} HazardSearch;

/* ---- lists of blocks ------------------------------------------------------------------------- */

/* Is the unit's block in the list, which is in the order of the text? */
static bool list_has(const Threads *t, Stmt *const *blocks, int n, int unit)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (thread_unit_of(t, blocks[middle]) <= unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && blocks[low - 1]->u.block.id == thread_unit(t, unit)->block->id;
}

static void search_pair(HazardSearch *h, int a, int b)
{
    Meeting m = meetings_of(h->t, h->p, a, b);
    bool found = false;
    while (!found && meeting_next(&m))
        found = is_unparted(&m, &h->across);
    meeting_end(&m);
    if (found) {
        Hazard hazard = meeting_hazard(&m);
        h->found(h->user, &hazard);
    }
}

/* Hazards between the units of one block and a list; `after` says on which side the list stands. */
static void search_list(HazardSearch *h, const Stmt *block, Stmt *const *list, int n, bool after)
{
    Threads *t = h->t;
    for (int u = thread_unit_of(t, block); u < t->model->units.n; u++) {
        if (thread_unit(t, u)->block->id != block->u.block.id)
            break;
        UnitList met = model_neighbours(t->model, u);
        for (int i = 0; i < met.n; i++)
            if (list_has(t, list, n, met.items[i]))
                search_pair(h, after ? u : met.items[i], after ? met.items[i] : u);
    }
}

void threads_hazards(Threads *t, Stmt *const *before, int n_before, Stmt *const *after, int n_after,
                     const Stmt *carrier, Stmt *const *passed, int n_passed, HazardFound *found,
                     void *user)
{
    HazardSearch h = {.t = t,
                      .p = threads_question(t),
                      .across = {carrier ? &carrier->u.loop : NULL, passed, n_passed},
                      .found = found,
                      .user = user};
    if (n_before <= n_after)
        for (int i = 0; i < n_before; i++)
            search_list(&h, before[i], after, n_after, true);
    else
        for (int i = 0; i < n_after; i++)
            search_list(&h, after[i], before, n_before, false);
}
