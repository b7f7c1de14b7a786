/* threads.c - the threads of a launch: who runs what, and where two of them meet.
 *
 * Loops bound to axes have no order among their iterations; the order that is left is that of
 * serial loops and of the text, which barriers can keep between the threads of one block. A
 * binding is legal when
 *   - what the loops ordered in the program is still ordered so where threads of one block meet,
 *   - different blocks of the grid never meet in global memory,
 *   - what is read from local memory was written by the same thread, and from shared memory by the
 *     same block, with no write by another one between (which the program, having one copy of the
 *     buffer, would see). A block that runs again with the same iterators because no bound loop
 *     around it tells its instances apart counts for its first run: it writes the same values each
 *     time. */
#include "passes/analysis/threads.h"

#include <stdlib.h>

/* ---- who runs a block ------------------------------------------------------------------------ */

static bool note_scope(Visitor *v, Stmt *s)
{
    if (s->kind == ST_STORE)
        *(unsigned *)v->user |= 1u << s->u.store.buffer->scope;
    return true;
}

/* A bit per Scope that the block writes. */
static unsigned written_scopes(const BlockStmt *b)
{
    unsigned scopes = 0;
    Visitor v = {.user = &scopes, .stmt = note_scope};
    visit_stmt(&v, b->body);
    if (b->init)
        visit_stmt(&v, b->init);
    return scopes;
}

/* The bindings or predicate of the block at the end of the path, or a bound or condition below
 * `from`, use `var`. */
static bool path_uses(const Stmt *const *path, int n, int from, const Var *var)
{
    const BlockStmt *b = &path[n - 1]->u.block;
    if (b->predicate && expr_uses_var(b->predicate, var))
        return true;
    for (int i = 0; i < b->n_iters; i++)
        if (expr_uses_var(b->iters[i].binding, var))
            return true;
    for (int i = from + 1; i < n - 1; i++) {
        const Stmt *s = path[i];
        if (s->kind == ST_IF && expr_uses_var(s->u.cond.cond, var))
            return true;
        if (s->kind == ST_FOR &&
            (expr_uses_var(s->u.loop.lo, var) || expr_uses_var(s->u.loop.hi, var)))
            return true;
    }
    return false;
}

/* Every copy of the memory that the block writes needs its own run, on this axis. */
static bool runs_on_all(unsigned scopes, Axis axis)
{
    if (scopes & (1u << SCOPE_GLOBAL | 1u << SCOPE_CONSTANT))
        return false;
    return !(scopes & 1u << SCOPE_SHARED) || axis_is_block(axis);
}

static bool is_bound_to(const Stmt *s, Axis axis)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND && s->u.loop.axis == axis;
}

static const Stmt *coordinate_loop(const Stmt *const *path, int n, Axis axis, bool *every)
{
    unsigned scopes = written_scopes(&path[n - 1]->u.block);
    bool all = runs_on_all(scopes, axis);
    *every = false;
    for (int i = n - 2; i >= 0; i--)
        if (is_bound_to(path[i], axis) && (all || path_uses(path, n, i, path[i]->u.loop.var)))
            return path[i];
    *every = all;
    return NULL;
}

const Stmt *thread_loop(const StmtPath *path, Axis axis, bool *every)
{
    return coordinate_loop((const Stmt *const *)path->items, path->n, axis, every);
}

/* ---- the model of a launch ------------------------------------------------------------------- */

static void place_unit(Threads *t, const Unit *u, Place *place)
{
    Arena *arena = t->ctx->arena;
    const Stmt **path = ARENA_ARRAY(arena, const Stmt *, u->n_scopes + 1);
    for (int i = 0; i < u->n_scopes; i++)
        path[i] = u->scopes[i].stmt;
    path[u->n_scopes] = u->stmt;
    unsigned scopes = written_scopes(u->block);
    for (Axis axis = 0; axis < AXIS_COUNT; axis++) {
        const Stmt *loop = coordinate_loop(path, u->n_scopes + 1, axis, &place->every[axis]);
        place->loop[axis] = -1;
        for (int i = 0; i < u->n_loops; i++)
            if (loop && u->loops[i] == &loop->u.loop && !u->absent[i])
                place->loop[axis] = i;
    }
    place->used = ARENA_ARRAY(arena, bool, u->n_loops);
    place->rerun = ARENA_ARRAY(arena, bool, u->n_loops);
    for (int i = 0, n = 0; i < u->n_scopes; i++) {
        if (path[i]->kind != ST_FOR)
            continue;
        const ForStmt *loop = &path[i]->u.loop;
        bool bound = loop->kind == LOOP_BIND && !u->absent[n];
        place->used[n] = bound && path_uses(path, u->n_scopes + 1, i, loop->var);
        place->rerun[n] = bound && !place->used[n] && !runs_on_all(scopes, loop->axis);
        n++;
    }
}

static int compare_places(const void *a, const void *b)
{
    const UnitOf *x = a, *y = b;
    return x->block != y->block ? (x->block < y->block ? -1 : 1) : x->unit - y->unit;
}

static void index_units(Threads *t)
{
    int n = t->model->units.n;
    t->unit_of = ARENA_ARRAY(t->ctx->arena, UnitOf, n);
    for (int i = 0; i < n; i++)
        t->unit_of[i] = (UnitOf){thread_unit(t, i)->block->id, i};
    if (n > 0)
        qsort(t->unit_of, (size_t)n, sizeof *t->unit_of, compare_places);
}

static void find_empty_axes(Threads *t)
{
    Context *c = t->ctx;
    Facts *f = facts_new(c);
    for (Axis axis = 0; axis < AXIS_COUNT; axis++)
        t->may_be_empty[axis] =
            t->axis[axis] && !prove(f, expr_binary(c, EX_GE, loop_extent(c, t->axis[axis]), expr_index(c, 1), span_none()));
}

Threads *threads_model(Context *c, const Kernel *kernel, Stmt *root)
{
    Threads *t = ARENA_NEW(c->arena, Threads);
    t->ctx = c;
    t->kernel = kernel;
    t->model = model_new(c, kernel, root, root);
    int n = t->model->units.n;
    t->places = ARENA_ARRAY(c->arena, Place, n);
    for (int i = 0; i < n; i++) {
        const Unit *u = t->model->units.items[i];
        for (int k = 0; k < u->n_loops; k++)
            if (u->loops[k]->kind == LOOP_BIND)
                t->axis[u->loops[k]->axis] = u->loops[k];
        place_unit(t, u, &t->places[i]);
    }
    find_empty_axes(t);
    index_units(t);
    return t;
}

/* Any coordinate that the launch has on an axis: what stands outside of the axis' loops runs on coordinate 0 also where those
 * have no iteration. */
static Affine any_coordinate(Threads *t, Poly *p, Axis axis)
{
    const ForStmt *loop = t->axis[axis];
    Affine any = poly_column(p, 0, INT64_MAX, false);
    Affine lo = poly_value(p, &p->fixed, loop->lo), extent = poly_add(p, poly_value(p, &p->fixed, loop->hi), lo, -1);
    poly_row(p, &p->top, any, false);
    if (!t->may_be_empty[axis]) {
        poly_at_most(p, &p->top, any, extent, -1);
        return any;
    }
    Conj **either = poly_choice(p, &p->top, 2);
    poly_at_most(p, either[0], any, extent, -1);
    poly_at_most(p, either[1], any, affine_const(0), 0);
    return any;
}

/* The coordinate on an axis: loop value - lo, 0, or any that the launch has. */
static Affine coordinate(Threads *t, Poly *p, const Place *place, const Instance *at, Axis axis)
{
    if (place->loop[axis] >= 0) {
        const ForStmt *loop = at->unit->loops[place->loop[axis]];
        return poly_add(p, at->loops[place->loop[axis]], poly_value(p, &at->env, loop->lo), -1);
    }
    return place->every[axis] && t->axis[axis] ? any_coordinate(t, p, axis) : affine_const(0);
}

static ThreadInstance place_instance(Threads *t, Poly *p, int unit, Instance instance)
{
    ThreadInstance at = {.at = instance};
    for (Axis axis = 0; axis < AXIS_COUNT; axis++)
        at.axis[axis] = coordinate(t, p, &t->places[unit], &at.at, axis);
    return at;
}

ThreadInstance thread_instance_within(Threads *t, Poly *p, int unit, const ThreadInstance *other,
                                      int n)
{
    Instance instance = instance_within(p, thread_unit(t, unit), other->at.loops, n);
    return place_instance(t, p, unit, instance);
}

ThreadInstance thread_instance(Threads *t, Poly *p, int unit, bool first_run)
{
    const Unit *u = thread_unit(t, unit);
    const Place *place = &t->places[unit];
    ThreadInstance at = place_instance(t, p, unit, instance_new(p, u));
    for (int i = 0; i < u->n_loops && first_run; i++)
        if (place->rerun[i] && (u->idempotent || u->block->init))
            poly_equal(p, &p->top, at.at.loops[i], poly_value(p, &at.at.env, u->loops[i]->lo));
    return at;
}

/* ---- two threads meet ------------------------------------------------------------------------ */

static void same_block(Poly *p, const ThreadInstance *a, const ThreadInstance *b)
{
    for (Axis axis = AXIS_BLOCK_X; axis <= AXIS_BLOCK_Z; axis++)
        poly_equal(p, &p->top, a->axis[axis], b->axis[axis]);
}

/* Atomic updates by one operator may meet. */
static bool may_clash(const Touch *x, const Touch *y)
{
    return touches_meet(x, y) && x->buffer->scope != SCOPE_LOCAL &&
           !(x->atomic && y->atomic && touches_commute(x, y));
}

typedef struct {
    Threads *t;
    Poly *p;
    int a, b; /* units */
    ThreadInstance at_a, at_b;
    const Touch *x, *y;
    Conflict *why;
} Meeting;

/* Rows: x by one thread and y by another touch one element. */
static void meet_element(Meeting *m)
{
    unit_assume_runs(m->p, thread_unit(m->t, m->a));
    unit_assume_runs(m->p, thread_unit(m->t, m->b));
    m->at_a = thread_instance(m->t, m->p, m->a, true);
    m->at_b = thread_instance(m->t, m->p, m->b, true);
    instances_collide(m->p, &m->at_a.at, m->x, &m->at_b.at, m->y);
}

static void meet_threads(Meeting *m)
{
    meet_element(m);
    same_block(m->p, &m->at_a, &m->at_b);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[AXIS_THREAD_X], &m->at_b.axis[AXIS_THREAD_X], 3);
}

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
        ordered = conflict_none(p, &m->at_a.at, m->x, &m->at_b.at, m->y, reason, m->why);
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
        meet_threads(m);
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
    meet_element(m);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[AXIS_BLOCK_X], &m->at_b.axis[AXIS_BLOCK_X], 3);
    bool apart = conflict_none(m->p, &m->at_a.at, m->x, &m->at_b.at, m->y,
                               "the two run in different blocks of the grid, which nothing orders "
                               "within one launch",
                               m->why);
    poly_reset(m->p, mark);
    return apart;
}

static bool pairs_hold(Threads *t, int a, int b, bool (*check)(Meeting *), Conflict *why)
{
    const Unit *ua = thread_unit(t, a), *ub = thread_unit(t, b);
    ArenaMark mark = arena_mark(t->ctx->arena);
    Poly *p = poly_part(t->ctx);
    model_enter(t->model, p);
    for (int i = 0; i < ua->touches.n; i++)
        for (int j = 0; j < ub->touches.n; j++) {
            const Touch *x = &ua->touches.items[i], *y = &ub->touches.items[j];
            Meeting m = {.t = t, .p = p, .a = a, .b = b, .x = x, .y = y, .why = why};
            if (may_clash(x, y) && !check(&m))
                return false;
        }
    arena_reset(t->ctx->arena, mark);
    return true;
}

/* `check` holds for all pairs of touches that may clash: part of the question at hand. */
static bool all_pairs(Threads *t, bool (*check)(Meeting *), Conflict *why)
{
    for (int a = 0; a < t->model->units.n; a++) {
        UnitList met = model_neighbours(t->model, a);
        for (int b = 0; b < met.n; b++)
            if (!pairs_hold(t, a, met.items[b], check, why))
                return false;
    }
    return true;
}

/* ---- questions ------------------------------------------------------------------------------- */

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
    bool none = conflict_none(p, &write, m->x, &read, m->y, reason, m->why);
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
                Meeting m = {.t = t, .p = p, .a = i, .b = unit, .x = x, .y = y, .why = why};
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

/* Rows: the second runs later, in one iteration of the shared loops or in a later one of `carrier`. */
static bool run_later(Meeting *m, const ForStmt *carrier)
{
    Poly *p = m->p;
    const Unit *a = thread_unit(m->t, m->a), *b = thread_unit(m->t, m->b);
    const Affine *from = m->at_a.at.loops, *to = m->at_b.at.loops;
    for (int i = 0; i < units_common(a, b); i++) {
        if (a->loops[i] == carrier) {
            bool up = carrier->step > 0;
            poly_at_most(p, &p->top, up ? from[i] : to[i], up ? to[i] : from[i], -1);
            return true;
        }
        if (loop_has_order(a->loops[i]))
            poly_equal(p, &p->top, from[i], to[i]);
    }
    return !carrier && a->order < b->order;
}

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

/* Rows: the instance is in the last (or first) iteration of the loops from `level` on that pass a barrier in each. */
static void at_end(Poly *p, const Across *across, const Instance *at, int level, bool last)
{
    const Unit *u = at->unit;
    for (int i = level; i < u->n_loops; i++) {
        const ForStmt *loop = u->loops[i];
        if (u->absent[i] || !passes_barrier(across, loop) || (last && loop->step != 1 && loop->step != -1))
            continue;
        bool up = loop->step == 1;
        Affine end = poly_value(p, &at->env, last ? loop->hi : loop->lo);
        poly_equal(p, &p->top, at->loops[i], last && up ? poly_add(p, end, affine_const(1), -1) : end);
    }
}

/* Rows: no barrier in a loop lies between the two. */
static void run_unparted(Meeting *m, const Across *across)
{
    const Unit *a = thread_unit(m->t, m->a), *b = thread_unit(m->t, m->b);
    const Affine *from = m->at_a.at.loops, *to = m->at_b.at.loops;
    int level = 0;
    while (level < units_common(a, b) && a->loops[level] != across->carrier)
        level++;
    if (level < units_common(a, b)) {
        if (passes_barrier(across, across->carrier))
            poly_equal(m->p, &m->p->top, to[level], poly_add(m->p, from[level], affine_const(1), across->carrier->step));
        level++;
    }
    at_end(m->p, across, &m->at_a.at, level, true);
    at_end(m->p, across, &m->at_b.at, level, false);
}

static bool pair_hazard(Meeting *m, const Across *across)
{
    PolyMark mark = poly_mark(m->p);
    meet_threads(m);
    bool hazard = run_later(m, across->carrier);
    if (hazard)
        run_unparted(m, across);
    hazard = hazard && poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
    poly_reset(m->p, mark);
    return hazard;
}

static bool units_hazard(Threads *t, Poly *p, int a, int b, const Across *across, Hazard *hazard)
{
    const Unit *ua = thread_unit(t, a), *ub = thread_unit(t, b);
    for (int i = 0; i < ua->touches.n; i++)
        for (int j = 0; j < ub->touches.n; j++) {
            const Touch *x = &ua->touches.items[i], *y = &ub->touches.items[j];
            Meeting m = {.t = t, .p = p, .a = a, .b = b, .x = x, .y = y};
            if (!may_clash(x, y) || !pair_hazard(&m, across))
                continue;
            *hazard = (Hazard){ua->block->id,      ub->block->id, x->buffer,
                               touches_kind(x, y), x->span,       y->span};
            return true;
        }
    return false;
}

/* ---- hazards between lists of blocks --------------------------------------------------------- */

/* The first unit of a block of the launch. */
static int unit_of(const Threads *t, const Stmt *block)
{
    int low = 0, high = t->model->units.n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (t->unit_of[middle].block < block->u.block.id)
            low = middle + 1;
        else
            high = middle;
    }
    return t->unit_of[low].unit;
}

/* Is the unit's block in the list, which is in the order of the text? */
static bool list_has(const Threads *t, Stmt *const *blocks, int n, int unit)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (unit_of(t, blocks[middle]) <= unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && blocks[low - 1]->u.block.id == thread_unit(t, unit)->block->id;
}

typedef struct {
    Threads *t;
    Across across;
    HazardFound *found;
    void *user;
} HazardSearch;

static void report_hazard(HazardSearch *h, int a, int b)
{
    Threads *t = h->t;
    Hazard hazard;
    ArenaMark mark = arena_mark(t->ctx->arena);
    Poly *p = poly_part(t->ctx);
    model_enter(t->model, p);
    bool some = units_hazard(t, p, a, b, &h->across, &hazard);
    arena_reset(t->ctx->arena, mark);
    if (some)
        h->found(h->user, &hazard);
}

/* Hazards between the units of one block and a list; `after` says on which side the list stands. */
static void search_list(HazardSearch *h, const Stmt *block, Stmt *const *list, int n, bool after)
{
    Threads *t = h->t;
    for (int u = unit_of(t, block); u < t->model->units.n; u++) {
        if (thread_unit(t, u)->block->id != block->u.block.id)
            break;
        UnitList met = model_neighbours(t->model, u);
        for (int i = 0; i < met.n; i++)
            if (list_has(t, list, n, met.items[i]))
                report_hazard(h, after ? u : met.items[i], after ? met.items[i] : u);
    }
}

void threads_hazards(Threads *t, Stmt *const *before, int n_before, Stmt *const *after, int n_after,
                     const Stmt *carrier, Stmt *const *passed, int n_passed, HazardFound *found, void *user)
{
    HazardSearch h = {t, {carrier ? &carrier->u.loop : NULL, passed, n_passed}, found, user};
    poly_new(t->ctx);
    if (n_before <= n_after)
        for (int i = 0; i < n_before; i++)
            search_list(&h, before[i], after, n_after, true);
    else
        for (int i = 0; i < n_after; i++)
            search_list(&h, after[i], before, n_before, false);
}

/* ---- asynchronous stores ---------------------------------------------------------------------- */

/* Loops from `carrier` to `counted`, a perfect nest, and how far apart two iterations of it may be. */
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
    const Affine *from = m->at_a.at.loops, *to = m->at_b.at.loops;
    Affine apart = affine_const(0);
    bool inside = false;
    for (int i = 0; i < units_common(a, b); i++) {
        const ForStmt *loop = a->loops[i];
        inside |= loop == soon->carrier;
        if (!inside)
            continue;
        int64_t weight = iterations_of(a, i, soon->counted), step = loop->step;
        if (weight == 0 || (step != 1 && step != -1 && soon->carrier != soon->counted))
            return;
        apart = poly_add(m->p, apart, poly_add(m->p, to[i], from[i], -1), step > 0 ? weight : -weight);
        int64_t most;
        if (loop == soon->counted && checked_mul(soon->distance, step < 0 ? -step : step, &most)) {
            poly_at_most(m->p, &m->p->top, apart, affine_const(0), most);
            return;
        }
    }
}

static bool pair_meets(Meeting *m, const Soon *soon)
{
    PolyMark mark = poly_mark(m->p);
    meet_element(m);
    same_block(m->p, &m->at_a, &m->at_b);
    bool later = run_later(m, soon->carrier);
    if (later && soon->carrier)
        run_soon(m, soon);
    bool meets = later && poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
    poly_reset(m->p, mark);
    return meets;
}

static bool units_meet(Threads *t, int a, int b, const Soon *soon, Hazard *hazard)
{
    const Unit *ua = thread_unit(t, a), *ub = thread_unit(t, b);
    ArenaMark mark = arena_mark(t->ctx->arena);
    Poly *p = poly_part(t->ctx);
    bool meets = false;
    model_enter(t->model, p);
    for (int i = 0; i < ua->touches.n && !meets; i++)
        for (int j = 0; j < ub->touches.n && !meets; j++) {
            const Touch *x = &ua->touches.items[i], *y = &ub->touches.items[j];
            Meeting m = {.t = t, .p = p, .a = a, .b = b, .x = x, .y = y};
            meets = may_clash(x, y) && pair_meets(&m, soon);
            if (meets)
                *hazard = (Hazard){ua->block->id,      ub->block->id, x->buffer,
                                   touches_kind(x, y), x->span,       y->span};
        }
    arena_reset(t->ctx->arena, mark);
    return meets;
}

bool threads_meet(Threads *t, Stmt *const *before, int n_before, Stmt *const *after, int n_after,
                  const Stmt *carrier, const Stmt *counted, int64_t distance, Hazard *hazard)
{
    Soon soon = {.distance = distance};
    if (carrier) {
        soon.carrier = &carrier->u.loop;
        soon.counted = &counted->u.loop;
    }
    poly_new(t->ctx);
    for (int i = 0; i < n_before; i++)
        for (int k = 0; k < n_after; k++)
            if (units_meet(t, unit_of(t, before[i]), unit_of(t, after[k]), &soon, hazard))
                return true;
    return false;
}
