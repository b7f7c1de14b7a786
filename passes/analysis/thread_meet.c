/* thread_meet.c - what an asynchronous store is waited for: an access of its element that comes
 * soon after it, by any thread of the block, also by its own. */
#include "passes/analysis/threads.h"

/* Loops from `carrier` to `counted`, a perfect nest, and how far apart two iterations of it may
 * be. */
typedef struct {
    const ForStmt *carrier, *counted;
    int64_t distance;
} Soon;

/* How many iterations of `counted` one of its loop `level` has; 0 where that is not literal. */
static int64_t iterations_of(const Unit *u, int level, const ForStmt *counted)
{
    int64_t weight = 1, extent;
    for (int i = level; u->loops[i] != counted; i++)
        if (i + 1 >= u->n_loops || !loop_const_extent(u->loops[i + 1], &extent) ||
            !checked_mul(weight, extent, &weight))
            return 0;
    return weight;
}

/* Rows: the second runs at most `distance` iterations after the first. */
static void run_soon(Meeting *m, const Soon *soon)
{
    const Unit *a = thread_unit(m->t, m->a), *b = thread_unit(m->t, m->b);
    const Affine *from = m->at_a.at.turns, *to = m->at_b.at.turns;
    Affine apart = affine_const(0);
    for (int i = meeting_level(m, soon->carrier); i < units_common(a, b); i++) {
        int64_t weight = iterations_of(a, i, soon->counted), most;
        int64_t step = a->loops[i]->step < 0 ? -a->loops[i]->step : a->loops[i]->step;
        if (weight == 0 || (step != 1 && soon->carrier != soon->counted))
            return;
        apart = poly_add(m->p, apart, poly_add(m->p, to[i], from[i], -1), weight);
        if (a->loops[i] == soon->counted && checked_mul(soon->distance, step, &most)) {
            poly_at_most(m->p, &m->p->top, apart, affine_const(0), most);
            return;
        }
    }
}

typedef struct {
    Soon soon;
    Hazard *hazard;
} SoonSearch;

/* The two do not meet; if they do, how stays with the search. */
static bool keeps_apart(Meeting *m)
{
    SoonSearch *search = m->user;
    const Soon *soon = &search->soon;
    PolyMark mark = poly_mark(m->p);
    meeting_enter(m);
    meeting_in_block(m);
    bool later = meeting_is_later(m, soon->carrier);
    if (later && soon->carrier)
        run_soon(m, soon);
    bool apart = !later || poly_solve(m->p, NULL, 0, NULL) == POLY_NONE;
    poly_reset(m->p, mark);
    if (!apart)
        *search->hazard = meeting_hazard(m);
    return apart;
}

bool threads_meet(Threads *t, Stmt *const *before, int n_before, Stmt *const *after, int n_after,
                  const Stmt *carrier, const Stmt *counted, int64_t distance, Hazard *hazard)
{
    SoonSearch search = {{.distance = distance}, hazard};
    if (carrier) {
        search.soon.carrier = &carrier->u.loop;
        search.soon.counted = &counted->u.loop;
    }
    ArenaMark mark = arena_mark(t->ctx->arena);
    poly_new(t->ctx);
    bool apart = true;
    for (int i = 0; i < n_before && apart; i++)
        for (int k = 0; k < n_after && apart; k++)
            apart = threads_pair_holds(t, thread_unit_of(t, before[i]), thread_unit_of(t, after[k]),
                                       keeps_apart, &search);
    arena_reset(t->ctx->arena, mark);
    return !apart;
}
