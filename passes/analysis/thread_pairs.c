/* thread_pairs.c - two accesses by threads of one launch: can they touch one element, and in which
 * order? See threads.h. */
#include "passes/analysis/threads.h"

/* The two access one buffer that threads share, one of them writing; updates by one operator that
 * are atomic may meet. */
static bool may_clash(const Touch *x, const Touch *y)
{
    return touches_meet(x, y) && x->buffer->scope != SCOPE_LOCAL &&
           !(x->atomic && y->atomic && touches_commute(x, y));
}

bool threads_pair_holds(Threads *t, int a, int b, bool (*holds)(Meeting *), void *user)
{
    const Unit *ua = thread_unit(t, a), *ub = thread_unit(t, b);
    ArenaMark mark = arena_mark(t->ctx->arena);
    Poly *p = poly_part(t->ctx);
    model_enter(t->model, p);
    for (int i = 0; i < ua->touches.n; i++)
        for (int j = 0; j < ub->touches.n; j++) {
            const Touch *x = &ua->touches.items[i], *y = &ub->touches.items[j];
            Meeting m = {.t = t, .p = p, .a = a, .b = b, .x = x, .y = y, .user = user};
            if (may_clash(x, y) && !holds(&m))
                return false;
        }
    arena_reset(t->ctx->arena, mark);
    return true;
}

void meeting_enter(Meeting *m)
{
    unit_assume_runs(m->p, thread_unit(m->t, m->a));
    unit_assume_runs(m->p, thread_unit(m->t, m->b));
    m->at_a = thread_first_run(m->t, m->p, m->a);
    m->at_b = thread_first_run(m->t, m->p, m->b);
    instances_collide(m->p, &m->at_a.at, m->x, &m->at_b.at, m->y);
}

void meeting_in_block(Meeting *m)
{
    for (Axis axis = AXIS_BLOCK_X; axis <= AXIS_BLOCK_Z; axis++)
        poly_equal(m->p, &m->p->top, m->at_a.axis[axis], m->at_b.axis[axis]);
}

void meeting_of_threads(Meeting *m)
{
    meeting_enter(m);
    meeting_in_block(m);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[AXIS_THREAD_X], &m->at_b.axis[AXIS_THREAD_X], 3);
}

int meeting_level(const Meeting *m, const ForStmt *carrier)
{
    const Unit *a = thread_unit(m->t, m->a);
    int level = 0, common = units_common(a, thread_unit(m->t, m->b));
    while (level < common && a->loops[level] != carrier)
        level++;
    return level;
}

bool meeting_is_later(Meeting *m, const ForStmt *carrier)
{
    int level = meeting_level(m, carrier);
    int common = units_common(thread_unit(m->t, m->a), thread_unit(m->t, m->b));
    return (!carrier || level < common) &&
           instance_precedes(m->p, &m->at_a.at, &m->at_b.at,
                             (Precedence){.level = level, .serial = true});
}

Hazard meeting_hazard(const Meeting *m)
{
    return (Hazard){.first_block = thread_unit(m->t, m->a)->block->id,
                    .second_block = thread_unit(m->t, m->b)->block->id,
                    .buffer = m->x->buffer,
                    .kind = touches_hazard(m->x, m->y),
                    .first_span = m->x->span,
                    .second_span = m->y->span};
}
