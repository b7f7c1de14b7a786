/* thread_bind.c - may a loop be bound to an axis of a launch?
 *
 * Loops bound to axes have no order among their iterations; the order that is left is that of
 * serial loops and of the text, which barriers can keep between the threads of one block. A
 * binding is legal when
 *   - a block that it makes run once in the place of many times changes nothing by that,
 *   - what the loops ordered in the program is still ordered so where threads of one block meet,
 *   - different blocks of the grid never meet in global memory,
 *   - what is read from local memory was written by the same thread, and from shared memory by the
 *     same block, with no write by another one between (own_copy.c). */
#include "passes/analysis/threads.h"

/* ---- the order that is left ------------------------------------------------------------------ */

/* Conflicts that loop `level` of both, which has no order among threads, ordered in the program:
 * the serial loops further in and the text must order them the same way. */
static bool level_ordered(Meeting *m, int level)
{
    Poly *p = m->p;
    const Unit *a = thread_unit(m->t, m->a), *b = thread_unit(m->t, m->b);
    const Affine *from = m->at_a.at.loops, *to = m->at_b.at.loops;
    int common = units_common(a, b);
    const ForStmt *loop = a->loops[level];
    const char *reason =
        arena_printf(p->ctx->arena,
                     "the two run on different threads of one block, and with '%s' "
                     "%s%s no serial loop and no order of statements puts the first before "
                     "the second",
                     loop->var->name, loop->axis == AXIS_NONE ? "in parallel" : "bound to ",
                     loop->axis == AXIS_NONE ? "" : axis_name(loop->axis));
    instance_before(p, &p->top, &m->at_a.at, &m->at_b.at, level);
    PolyMark mark = poly_mark(p);
    bool ordered = true;
    for (int k = level + 1; k <= common && ordered; k++) {
        poly_reset(p, mark);
        if (k < common && !loop_has_order(a->loops[k]))
            continue;
        if (k == common && a->order < b->order)
            continue;
        for (int i = level + 1; i < k; i++)
            if (loop_has_order(a->loops[i]))
                poly_equal(p, &p->top, from[i], to[i]);
        bool up = k < common && a->loops[k]->step > 0;
        if (k < common)
            poly_at_most(p, &p->top, up ? to[k] : from[k], up ? from[k] : to[k], -1);
        ordered = conflict_none(p, &m->at_a.at, m->x, &m->at_b.at, m->y, reason, m->user);
    }
    return ordered;
}

static bool order_left(Meeting *m)
{
    const Unit *a = thread_unit(m->t, m->a), *b = thread_unit(m->t, m->b);
    bool ordered = true;
    for (int level = 0; level < units_common(a, b) && ordered; level++) {
        const ForStmt *loop = a->loops[level];
        if (loop_has_order(loop))
            continue;
        if (loop->kind == LOOP_BIND && axis_is_block(loop->axis) &&
            m->t->places[m->a].loop[loop->axis] == level &&
            m->t->places[m->b].loop[loop->axis] == level)
            continue; /* different blocks of the grid */
        PolyMark mark = poly_mark(m->p);
        meeting_of_threads(m);
        ordered = level_ordered(m, level);
        poly_reset(m->p, mark);
    }
    return ordered;
}

/* Different blocks of the grid never meet. */
static bool grid_apart(Meeting *m)
{
    if (!scope_outlives_launch(m->x->buffer->scope) || m->a > m->b)
        return true;
    PolyMark mark = poly_mark(m->p);
    meeting_enter(m);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[AXIS_BLOCK_X], &m->at_b.axis[AXIS_BLOCK_X], 3);
    bool apart = conflict_none(m->p, &m->at_a.at, m->x, &m->at_b.at, m->y,
                               "the two run in different blocks of the grid, which nothing orders "
                               "within one launch",
                               m->user);
    poly_reset(m->p, mark);
    return apart;
}

/* ---- what runs once in the place of many times ------------------------------------------------ */

static void describe_unit(const Unit *u, const char *reason, Conflict *why)
{
    *why = (Conflict){.first = u->block,
                      .second = u->block,
                      .buffer = u->touches.n ? u->touches.items[u->touches.n - 1].buffer : NULL,
                      .first_span = u->stmt->span,
                      .second_span = u->stmt->span,
                      .kind = "",
                      .first_at = "",
                      .second_at = "",
                      .element = "",
                      .reason = reason};
}

/* Instances of the unit lie in more than the first iteration of its loop `at`. */
static bool runs_after_first(Poly *p, const Unit *u, int at)
{
    PolyMark mark = poly_mark(p);
    Instance one = instance_new(p, u);
    poly_at_most(p, &p->top, poly_value(p, &one.env, u->loops[at]->lo), one.loops[at], -1);
    bool some = poly_solve(p, NULL, 0, NULL) != POLY_NONE;
    poly_reset(p, mark);
    return some;
}

/* No write of the one comes after the first iteration of loop `at` of both and before a later run of the other, which reads there. */
static bool none_between(Meeting *m, int at, const char *reason)
{
    Poly *p = m->p;
    PolyMark mark = poly_mark(p);
    const Unit *w = thread_unit(m->t, m->a), *r = thread_unit(m->t, m->b);
    bool up = r->loops[at]->step > 0, behind = w->order > r->order;
    Instance write = instance_new(p, w), read = instance_new(p, r);
    instances_collide(p, &write, m->x, &read, m->y);
    for (int i = 0; i < at; i++)
        poly_equal(p, &p->top, write.loops[i], read.loops[i]);
    Affine lo = poly_value(p, &read.env, r->loops[at]->lo), written = write.loops[at], again = read.loops[at];
    poly_at_most(p, &p->top, up ? lo : written, up ? written : lo, behind ? 0 : -1);
    poly_at_most(p, &p->top, up ? written : again, up ? again : written, behind ? -1 : 0);
    bool none = conflict_none(p, &write, m->x, &read, m->y, reason, m->user);
    poly_reset(p, mark);
    return none;
}

/* What runs once in the place of each iteration of loop `at` reads the same in all of them, as far as others write another part of it in
 * each. */
static bool reads_are_steady(Threads *t, Poly *p, int unit, int at, Conflict *why)
{
    const Unit *u = thread_unit(t, unit);
    const char *reason = arena_printf(t->ctx->arena, "block '%s' would run once for all iterations of loop '%s', on which its iterators "
                                      "do not depend, but what it reads is written in between", u->block->name, u->loops[at]->var->name);
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *w = thread_unit(t, i);
        if (i == unit || units_common(w, u) <= at || !t->places[i].used[at])
            continue;
        for (int k = 0; k < w->touches.n; k++)
            for (int r = 0; r < u->touches.n; r++) {
                const Touch *x = &w->touches.items[k], *y = &u->touches.items[r];
                Meeting m = {.t = t, .p = p, .a = i, .b = unit, .x = x, .y = y, .user = why};
                if (x->writes && y->reads && x->buffer->id == y->buffer->id && !none_between(&m, at, reason))
                    return false;
            }
    }
    return true;
}

/* A unit under a bound loop runs on one thread for each of its iterations, or once for all. */
static bool loop_places(Threads *t, Poly *p, int unit, int at, Conflict *why)
{
    Context *c = t->ctx;
    const Unit *u = thread_unit(t, unit);
    const Place *place = &t->places[unit];
    const ForStmt *loop = u->loops[at];
    int inner = loop->kind == LOOP_BIND ? place->loop[loop->axis] : -1;
    if (place->used[at] && inner >= 0 && inner != at) {
        describe_unit(u,
                      arena_printf(c->arena,
                                   "block '%s' depends on loops '%s' and '%s', which "
                                   "are one and the same coordinate when both are bound to %s",
                                   u->block->name, loop->var->name, u->loops[inner]->var->name,
                                   axis_name(loop->axis)),
                      why);
        return false;
    }
    if (place->rerun[at] && !u->idempotent && !u->block->init && runs_after_first(p, u, at)) {
        describe_unit(u,
                      arena_printf(c->arena,
                                   "block '%s' updates what it reads, in each "
                                   "iteration of loop '%s'; bound to %s it would run once, as "
                                   "its iterators do not depend on the loop",
                                   u->block->name, loop->var->name, axis_name(loop->axis)),
                      why);
        return false;
    }
    return !place->rerun[at] || !runs_after_first(p, u, at) || reads_are_steady(t, p, unit, at, why);
}

static bool units_placed(Threads *t, Poly *p, Conflict *why)
{
    for (int i = 0; i < t->model->units.n; i++)
        for (int k = 0; k < thread_unit(t, i)->n_loops; k++)
            if (!loop_places(t, p, i, k, why))
                return false;
    return true;
}

/* ---- the questions --------------------------------------------------------------------------- */

/* `holds` for all pairs of accesses in the launch. */
static bool all_pairs(Threads *t, bool (*holds)(Meeting *), Conflict *why)
{
    for (int a = 0; a < t->model->units.n; a++) {
        UnitList met = model_neighbours(t->model, a);
        for (int b = 0; b < met.n; b++)
            if (!threads_pair_holds(t, a, met.items[b], holds, why))
                return false;
    }
    return true;
}

static Poly *new_question(Threads *t)
{
    Poly *p = poly_new(t->ctx);
    model_enter(t->model, p);
    return p;
}

static Stmt *launch_root(Context *c, const Kernel *kernel, uint32_t id)
{
    StmtPath path = {0};
    if (!stmt_find(c, kernel->body, id, &path))
        return NULL;
    for (int i = 0; i < path.n; i++)
        if (path.items[i]->kind == ST_FOR && path.items[i]->u.loop.kind == LOOP_BIND)
            return path.items[i];
    return NULL;
}

bool threads_bind_legal(Context *c, const Kernel *kernel, const Stmt *loop, Axis axis,
                        Conflict *why)
{
    ForStmt bound = loop->u.loop;
    bound.kind = LOOP_BIND;
    bound.axis = axis;
    Kernel changed = *kernel;
    changed.body = stmt_replace(c, kernel->body, loop, stmt_for(c, &bound, loop->span));
    Threads *t = threads_model(c, &changed, launch_root(c, &changed, bound.id));
    Poly *p = new_question(t);
    bool grid = t->axis[AXIS_BLOCK_X] || t->axis[AXIS_BLOCK_Y] || t->axis[AXIS_BLOCK_Z];
    return units_placed(t, p, why) && all_pairs(t, order_left, why) &&
           (!grid || all_pairs(t, grid_apart, why)) && threads_copies_own(t, p, why);
}

bool threads_grid_conflict(Threads *t, Conflict *why)
{
    ArenaMark mark = arena_mark(t->ctx->arena);
    poly_new(t->ctx);
    bool apart = all_pairs(t, grid_apart, why);
    if (apart)
        arena_reset(t->ctx->arena, mark);
    return !apart;
}
