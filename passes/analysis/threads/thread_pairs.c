/* thread_pairs.c - Enumerates pairs of accesses by threads of one launch that can conflict, and
 * their order. See threads.h. */
#include "passes/analysis/threads/threads.h"

Poly *threads_question(Threads *t)
{
    Poly *p = poly_new(t->ctx);
    model_enter(t->model, p);
    return p;
}

static bool may_clash(const Access *x, const Access *y)
{
    return x->buffer->scope != SCOPE_LOCAL && !(x->atomic && y->atomic && accesses_commute(x, y));
}

Meeting meetings_all(Threads *t, Poly *p)
{
    return (Meeting){.t = t, .p = p, .pair = pairs_all(t->model), .part = poly_begin(p)};
}

Meeting meetings_of(Threads *t, Poly *p, int a, int b)
{
    return (Meeting){.t = t, .p = p, .pair = pairs_of(t->model, a, b), .part = poly_begin(p)};
}

void meeting_end(Meeting *m)
{
    poly_end(m->p, &m->part);
}

bool meeting_next(Meeting *m)
{
    meeting_end(m);
    bool some = pairs_next(&m->pair);
    while (some && !may_clash(m->pair.x, m->pair.y))
        some = pairs_next(&m->pair);
    m->part = poly_begin(m->p); /* behind the list of units that the next pair may have made */
    return some;
}

void meeting_enter(Meeting *m)
{
    unit_assume_runs(m->p, thread_unit(m->t, m->pair.a));
    unit_assume_runs(m->p, thread_unit(m->t, m->pair.b));
    m->at_a = thread_first_run(m->t, m->p, m->pair.a);
    m->at_b = thread_first_run(m->t, m->p, m->pair.b);
    instances_collide(m->p, &m->at_a.at, m->pair.x, &m->at_b.at, m->pair.y);
}

bool meeting_measure(Meeting *m)
{
    meeting_enter(m);
    int n = units_common(thread_unit(m->t, m->pair.a), thread_unit(m->t, m->pair.b));
    Affine *forms = ARENA_ARRAY(m->p->ctx->arena, Affine, n + AXIS_COUNT);
    Bounds *ranges = ARENA_ARRAY(m->p->ctx->arena, Bounds, n + AXIS_COUNT);
    for (int i = 0; i < n; i++)
        forms[i] = poly_add(m->p, m->at_b.at.turns[i], m->at_a.at.turns[i], -1);
    for (int i = 0; i < AXIS_COUNT; i++)
        forms[n + i] = poly_add(m->p, m->at_b.axis[i], m->at_a.axis[i], -1);
    bool some = poly_ranges(m->p, forms, n + AXIS_COUNT, ranges);
    m->distance = ranges;
    for (int i = 0; i < AXIS_COUNT; i++)
        m->apart[i] = ranges[n + i];
    return some;
}

bool meeting_stays(const Meeting *m, Axis first, int n)
{
    for (int i = first; i < (int)first + n; i++)
        if (m->apart[i].min != 0 || m->apart[i].max != 0)
            return false;
    return true;
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
    const Unit *a = thread_unit(m->t, m->pair.a);
    int level = 0, common = units_common(a, thread_unit(m->t, m->pair.b));
    while (level < common && a->loops[level] != carrier)
        level++;
    return level;
}

bool meeting_is_later(Meeting *m, const ForStmt *carrier)
{
    int level = meeting_level(m, carrier);
    int common = units_common(thread_unit(m->t, m->pair.a), thread_unit(m->t, m->pair.b));
    return (!carrier || level < common) &&
           instance_precedes(m->p, &m->at_a.at, &m->at_b.at,
                             (Precedence){.level = level, .serial = true, .carried = true});
}

Hazard meeting_hazard(const Meeting *m)
{
    return (Hazard){.first_block = thread_unit(m->t, m->pair.a)->block->id,
                    .second_block = thread_unit(m->t, m->pair.b)->block->id,
                    .buffer = m->pair.x->buffer,
                    .kind = accesses_hazard(m->pair.x, m->pair.y),
                    .first_span = m->pair.x->span,
                    .second_span = m->pair.y->span};
}
