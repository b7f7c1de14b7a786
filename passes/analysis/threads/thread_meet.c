/* thread_meet.c - Finds the accesses that force a wait on an asynchronous store, by any thread of
 * the block, including its own. */
#include "passes/analysis/threads/threads.h"

/* Loops from `carrier` to `counted`, a perfect nest, and how far apart two iterations of it may
 * be. */
typedef struct {
    const ForStmt *carrier, *counted;
    int64_t distance;
} Soon;

/* How many iterations of `counted` one of its loop `level` has in a thread; 0 where that is not
 * literal. */
static int64_t iterations_of(const Unit *u, int level, const ForStmt *counted)
{
    int64_t weight = 1, extent;
    for (int i = level; u->loops[i] != counted; i++) {
        if (i + 1 >= u->n_loops)
            return 0;
        if (u->loops[i + 1]->kind != LOOP_BIND &&
            (!loop_const_extent(u->loops[i + 1], &extent) || !checked_mul(weight, extent, &weight)))
            return 0;
    }
    return weight;
}

/* Rows: the second runs at most `distance` iterations after the first. */
static void run_soon(Meeting *m, const Soon *soon)
{
    const Unit *a = thread_unit(m->t, m->pair.a), *b = thread_unit(m->t, m->pair.b);
    const Affine *from = m->at_a.at.turns, *to = m->at_b.at.turns;
    Affine apart = affine_const(0);
    for (int i = meeting_level(m, soon->carrier); i < units_common(a, b); i++) {
        if (a->loops[i]->kind == LOOP_BIND) /* threads go through it side by side */
            continue;
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

static bool meets_soon(Meeting *m, const Soon *soon)
{
    meeting_enter(m);
    meeting_in_block(m);
    if (!meeting_is_later(m, soon->carrier))
        return false;
    if (soon->carrier)
        run_soon(m, soon);
    return poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
}

static bool units_meet(Meeting m, const Soon *soon, Hazard *hazard)
{
    while (meeting_next(&m))
        if (meets_soon(&m, soon)) {
            *hazard = meeting_hazard(&m);
            return true;
        }
    return false;
}

bool threads_meet(Threads *t, const BlockPairs *pairs, const Stmt *counted, int64_t distance,
                  Hazard *hazard)
{
    Soon soon = {.distance = distance};
    if (pairs->carrier) {
        soon.carrier = &pairs->carrier->u.loop;
        soon.counted = &counted->u.loop;
    }
    ArenaMark mark = arena_mark(t->ctx->arena);
    Poly *p = threads_question(t);
    bool meet = false;
    for (int i = 0; i < pairs->before->n && !meet; i++)
        for (int k = 0; k < pairs->after->n && !meet; k++) {
            int before = thread_unit_of(t, pairs->before->items[i]);
            int after = thread_unit_of(t, pairs->after->items[k]);
            meet = units_meet(meetings_of(t, p, before, after), &soon, hazard);
        }
    arena_reset(t->ctx->arena, mark);
    return meet;
}
