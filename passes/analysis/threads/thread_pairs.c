/* thread_pairs.c - Enumerates pairs of accesses by threads of one launch that can conflict, and
 * their order. See threads.h. */
#include "ir/instruction.h"
#include "passes/analysis/threads/threads.h"

#include <string.h>

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
    m->entered = false;
    m->distance = NULL;
    bool some = pairs_next(&m->pair);
    while (some && !may_clash(m->pair.x, m->pair.y))
        some = pairs_next(&m->pair);
    m->part = poly_begin(m->p); /* behind the list of units that the next pair may have made */
    return some;
}

bool meeting_is_first(const Meeting *m)
{
    return m->pair.a < m->pair.b || (m->pair.a == m->pair.b && m->pair.x <= m->pair.y);
}

Meeting meeting_reversed(const Meeting *m)
{
    int n = units_common(thread_unit(m->t, m->pair.a), thread_unit(m->t, m->pair.b));
    Pairs pair = {.a = m->pair.b, .b = m->pair.a, .x = m->pair.y, .y = m->pair.x};
    return (Meeting){.t = m->t,
                     .p = m->p,
                     .pair = pair,
                     .entered = m->entered,
                     .at_a = m->at_b,
                     .at_b = m->at_a,
                     .distance = distance_reversed(m->p->ctx, m->distance, n)};
}

AccessPair meeting_pair(const Meeting *m)
{
    return (AccessPair){&m->at_a.at, m->pair.x, &m->at_b.at, m->pair.y};
}

void meeting_enter(Meeting *m)
{
    unit_assume_runs(m->p, thread_unit(m->t, m->pair.a));
    unit_assume_runs(m->p, thread_unit(m->t, m->pair.b));
    m->at_a = thread_first_run(m->t, m->p, m->pair.a);
    m->at_b = thread_first_run(m->t, m->p, m->pair.b);
    pair_collide(m->p, meeting_pair(m));
    m->entered = true;
}

static AccessOf first_run_of(const Threads *t, int unit, const Access *access)
{
    return (AccessOf){thread_unit(t, unit), access, t->places[unit].rerun};
}

bool meeting_measure(Meeting *m)
{
    AccessOf a = first_run_of(m->t, m->pair.a, m->pair.x),
             b = first_run_of(m->t, m->pair.b, m->pair.y);
    m->distance = accesses_distance(m->t->ctx, &a, &b);
    return m->distance != NULL;
}

bool meeting_solve(Meeting *m)
{
    if (!m->entered) {
        meeting_enter(m);
        m->distance = instances_distance(m->p, &m->at_a.at, &m->at_b.at);
    }
    return m->distance != NULL;
}

/* Both coordinates are 0, or one loop in which the two have no distance. */
static bool same_coordinate(const Meeting *m, Axis axis)
{
    const Unit *a = thread_unit(m->t, m->pair.a), *b = thread_unit(m->t, m->pair.b);
    int loop = m->t->places[m->pair.a].loop[axis];
    if (thread_on_zero(m->t, m->pair.a, axis) && thread_on_zero(m->t, m->pair.b, axis))
        return true;
    return loop >= 0 && loop == m->t->places[m->pair.b].loop[axis] && loop < units_common(a, b) &&
           m->distance[loop].min == 0 && m->distance[loop].max == 0 &&
           expr_is_const(a->loops[loop]->lo, &(int64_t){0});
}

bool meeting_stays(const Meeting *m, Axis first, int n)
{
    for (int i = first; i < (int)first + n; i++)
        if (!same_coordinate(m, (Axis)i))
            return false;
    return true;
}

Axis meeting_first_axis(const Meeting *m)
{
    return m->pair.x->buffer->scope == SCOPE_CLUSTER ? AXIS_RANK : AXIS_THREAD_X;
}

void meeting_apart(Meeting *m)
{
    Axis first = meeting_first_axis(m);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[first], &m->at_b.axis[first], AXIS_COUNT - first);
}

void meeting_in_block(Meeting *m)
{
    Scope scope = m->pair.x->buffer->scope;
    for (Axis axis = 0; axis < AXIS_COUNT; axis++)
        if (scope_outlives_launch(scope) ? axis_is_block(axis) : !scope_shared_along(scope, axis))
            poly_equal(m->p, &m->p->top, m->at_a.axis[axis], m->at_b.axis[axis]);
}

/* A warp runs the unit together: any of its threads accesses what one of them needs. */
static bool is_of_warp(const Threads *t, int unit)
{
    const Instruction *of = thread_unit(t, unit)->block->instruction;
    return of && of->lanes > 1;
}

void meeting_coordinates(const Meeting *m, Affine a[AXIS_COUNT], Affine b[AXIS_COUNT])
{
    memcpy(a, m->at_a.axis, sizeof m->at_a.axis);
    memcpy(b, m->at_b.axis, sizeof m->at_b.axis);
    if (is_of_warp(m->t, m->pair.a))
        a[AXIS_THREAD_X] = thread_any_coordinate(m->t, m->p, AXIS_THREAD_X);
    if (is_of_warp(m->t, m->pair.b))
        b[AXIS_THREAD_X] = thread_any_coordinate(m->t, m->p, AXIS_THREAD_X);
}

bool meeting_of_threads(Meeting *m)
{
    Threads *t = m->t;
    bool warp_a = is_of_warp(t, m->pair.a), warp_b = is_of_warp(t, m->pair.b);
    Axis first = meeting_first_axis(m);
    if (!warp_a && !warp_b && meeting_stays(m, first, AXIS_COUNT - first))
        return false;
    meeting_enter(m);
    meeting_in_block(m);
    Affine a[AXIS_COUNT], b[AXIS_COUNT];
    meeting_coordinates(m, a, b);
    poly_differ(m->p, &m->p->top, &a[first], &b[first], AXIS_COUNT - first);
    return true;
}

int meeting_level(const Meeting *m, const ForStmt *carrier)
{
    const Unit *a = thread_unit(m->t, m->pair.a);
    int level = 0, common = units_common(a, thread_unit(m->t, m->pair.b));
    while (level < common && a->loops[level] != carrier)
        level++;
    return level;
}

static Precedence later(const Meeting *m, const ForStmt *carrier)
{
    return (Precedence){.level = meeting_level(m, carrier),
                        .serial = true,
                        .carried = true,
                        .distance = m->distance};
}

bool meeting_may_be_later(const Meeting *m, const ForStmt *carrier)
{
    const Unit *a = thread_unit(m->t, m->pair.a), *b = thread_unit(m->t, m->pair.b);
    Precedence by = later(m, carrier);
    return (!carrier || by.level < units_common(a, b)) && units_may_precede(a, b, by);
}

bool meeting_is_later(Meeting *m, const ForStmt *carrier)
{
    return meeting_may_be_later(m, carrier) &&
           instance_precedes(m->p, &m->at_a.at, &m->at_b.at, later(m, carrier));
}

Hazard meeting_hazard(const Meeting *m)
{
    return (Hazard){.buffer = m->pair.x->buffer,
                    .kind = accesses_hazard(m->pair.x, m->pair.y),
                    .first_span = m->pair.x->span,
                    .second_span = m->pair.y->span};
}
