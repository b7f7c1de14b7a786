/* thread_hazards.c - Finds pairs of accesses by different threads of a block that only a barrier
 * orders.
 *
 * The pairs join two lists of blocks, such as the blocks before and after a place. A barrier inside
 * a loop of either list orders its iterations. So a barrier-free path starts in the last iteration
 * before the place and ends in the first one after it. */
#include "passes/analysis/threads/threads.h"

/* ---- two accesses ---------------------------------------------------------------------------- */

/* The question about a pair: across which loop, and which loops pass a barrier each iteration. */
typedef struct {
    const ForStmt *carrier;
    const StmtList *passed;
    SyncKind by;
} Across;

static bool passes_barrier(const Across *across, const ForStmt *loop)
{
    for (int i = 0; i < across->passed->n; i++)
        if (&across->passed->items[i]->u.loop == loop)
            return true;
    return false;
}

/* The instance runs through loop `i`, and passes a barrier in each iteration of it. */
static bool passes_in(const Across *across, const Instance *at, int i)
{
    return !at->unit->absent[i] && passes_barrier(across, at->unit->loops[i]);
}

/* Rows: the instance is in the first iteration of the loops from `level` on that pass a barrier in
 * each. */
static void at_start(Poly *p, const Across *across, const Instance *at, int level)
{
    for (int i = level; i < at->unit->n_loops; i++)
        if (passes_in(across, at, i))
            poly_equal(p, &p->top, at->turns[i], instance_first_turn(p, at, i));
}

/* Rows: it is in the last iteration of them, where that is known: with steps of 1 and -1. */
static void at_end(Poly *p, const Across *across, const Instance *at, int level)
{
    for (int i = level; i < at->unit->n_loops; i++) {
        const ForStmt *loop = at->unit->loops[i];
        if (passes_in(across, at, i) && (loop->step == 1 || loop->step == -1))
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
    at_end(m->p, across, &m->at_a.at, level);
    at_start(m->p, across, &m->at_b.at, level);
}

/* A hazard. */
static bool is_unparted(Meeting *m, const Across *across)
{
    bool cluster = m->pair.x->buffer->scope == SCOPE_CLUSTER;
    if (cluster != (across->by == SYNC_CLUSTER) || !meeting_measure(m) ||
        !meeting_may_be_later(m, across->carrier) || !meeting_of_threads(m) ||
        !meeting_is_later(m, across->carrier))
        return false;
    run_unparted(m, across);
    return poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
}

typedef struct {
    Threads *t;
    Poly *p;
    Across across;
    bool others_first; /* the second list of a search is that of the first accesses */
    HazardFound *found;
    void *user;
} HazardSearch;

/* ---- lists of blocks ------------------------------------------------------------------------- */

/* Is the unit's block in the list, which is in the order of the text? */
static bool list_has(const Threads *t, const StmtList *blocks, int unit)
{
    int low = 0, high = blocks->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (thread_unit_of(t, blocks->items[middle]) <= unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && blocks->items[low - 1]->u.block.id == thread_unit(t, unit)->block->id;
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

/* Hazards between a unit and those of a list. */
static void search_unit(HazardSearch *h, int unit, const StmtList *others)
{
    UnitList met = model_neighbours(h->t->model, unit);
    for (int i = 0; i < met.n; i++)
        if (list_has(h->t, others, met.items[i]))
            search_pair(h, h->others_first ? met.items[i] : unit,
                        h->others_first ? unit : met.items[i]);
}

/* Between the units of the blocks of one list and those of another. */
static void search_lists(HazardSearch *h, const StmtList *blocks, const StmtList *others)
{
    const Threads *t = h->t;
    for (int i = 0; i < blocks->n; i++)
        for (int u = thread_unit_of(t, blocks->items[i]); u < t->model->units.n; u++) {
            if (thread_unit(t, u)->block->id != blocks->items[i]->u.block.id)
                break;
            search_unit(h, u, others);
        }
}

void threads_hazards(Threads *t, const BlockPairs *pairs, const StmtList *passed,
                     HazardFound *found, void *user)
{
    HazardSearch h = {
        .t = t,
        .p = threads_question(t),
        .across = {pairs->carrier ? &pairs->carrier->u.loop : NULL, passed, pairs->by},
        .others_first = pairs->before->n > pairs->after->n,
        .found = found,
        .user = user};
    if (h.others_first)
        search_lists(&h, pairs->after, pairs->before);
    else
        search_lists(&h, pairs->before, pairs->after);
}
