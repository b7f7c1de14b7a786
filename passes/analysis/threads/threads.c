/* threads.c - Models the threads of a launch: which of them runs an instance of a block.
 *
 * A block's coordinate on an axis is the innermost loop around it that is bound to the axis and
 * tells its instances apart. Where it has none, every copy of the memory that it writes needs its
 * own run: what writes local memory runs on every thread, what writes shared memory in every block
 * of the grid, and everything else on coordinate 0. A block in whose bound loops its iterators are
 * invariant runs redundantly with equal iterators. Only its first run counts, since it writes the
 * same values each time. */
#include "passes/analysis/threads/threads.h"

#include <stdlib.h>

/* ---- who runs a block ------------------------------------------------------------------------ */

/* A bit per Scope that the block writes. */
static unsigned written_scopes(Context *c, const Stmt *block)
{
    unsigned scopes = 0;
    for (Cursor at = cursor_stmts(c, block); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            scopes |= 1u << at.stmt->u.store.buffer->scope;
    return scopes;
}

/* The bindings or predicate of the block at the end of the path, or a bound or condition below
 * `from`, use `var`. */
static bool path_uses(const Stmt *const *path, int n, int from, const Var *var)
{
    const BlockStmt *b = &path[n - 1]->u.block;
    if (block_uses_var(b, var) || (b->predicate && expr_uses_var(b->predicate, var)))
        return true;
    for (int i = from + 1; i < n - 1; i++)
        if (stmt_head_uses_var(path[i], var))
            return true;
    return false;
}

/* Every copy of the memory that the block writes needs its own run, on this axis. */
static bool runs_on_all(unsigned scopes, Axis axis)
{
    for (Scope scope = 0; scope < SCOPE_COUNT; scope++)
        if (scopes & 1u << scope && scope_shared_along(scope, axis))
            return false;
    return true;
}

static bool is_bound_to(const Stmt *s, Axis axis)
{
    return stmt_is_bound(s) && s->u.loop.axis == axis;
}

/* The loop that gives the block at the end of the path, which writes `scopes`, its coordinate. */
static const Stmt *coordinate_loop(unsigned scopes, const Stmt *const *path, int n, Axis axis,
                                   bool *every)
{
    bool all = runs_on_all(scopes, axis);
    *every = false;
    for (int i = n - 2; i >= 0; i--)
        if (is_bound_to(path[i], axis) && (all || path_uses(path, n, i, path[i]->u.loop.var)))
            return path[i];
    *every = all;
    return NULL;
}

const Stmt *thread_loop(Context *c, const StmtPath *path, Axis axis, bool *every)
{
    unsigned scopes = written_scopes(c, path_end(path));
    return coordinate_loop(scopes, (const Stmt *const *)path->items, path->n, axis, every);
}

/* ---- the model of a launch ------------------------------------------------------------------- */

static void place_unit(Threads *t, const Unit *u, Place *place)
{
    Arena *arena = t->ctx->arena;
    const Stmt **path = ARENA_ARRAY(arena, const Stmt *, u->scopes.n + 1);
    for (int i = 0; i < u->scopes.n; i++)
        path[i] = u->scopes.items[i].stmt;
    path[u->scopes.n] = u->stmt;
    unsigned scopes = written_scopes(t->ctx, u->stmt);
    for (Axis axis = 0; axis < AXIS_COUNT; axis++) {
        const Stmt *loop =
            coordinate_loop(scopes, path, u->scopes.n + 1, axis, &place->every[axis]);
        place->loop[axis] = -1;
        for (int i = 0; i < u->n_loops; i++)
            if (loop && u->loops[i] == &loop->u.loop && !u->absent[i])
                place->loop[axis] = i;
    }
    place->used = ARENA_ARRAY(arena, bool, u->n_loops);
    place->rerun = ARENA_ARRAY(arena, bool, u->n_loops);
    for (int i = 0, n = 0; i < u->scopes.n; i++) {
        if (path[i]->kind != ST_FOR)
            continue;
        const ForStmt *loop = &path[i]->u.loop;
        bool bound = loop->kind == LOOP_BIND && !u->absent[n];
        place->used[n] = bound && path_uses(path, u->scopes.n + 1, i, loop->var);
        place->rerun[n] = bound && !place->used[n] && place->loop[loop->axis] != n;
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
    Facts *f = facts_of_kernel(c, t->model->kernel);
    for (Axis axis = 0; axis < AXIS_COUNT; axis++) {
        int64_t extent;
        if (!t->axis[axis])
            continue;
        t->may_be_empty[axis] = loop_const_extent(t->axis[axis], &extent)
                                    ? extent < 1
                                    : !prove_at_least(f, loop_extent(c, t->axis[axis]), 1);
    }
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

bool thread_on_zero(const Threads *t, int unit, Axis axis)
{
    const Place *place = &t->places[unit];
    return place->loop[axis] < 0 && !(place->every[axis] && t->axis[axis]);
}

/* Blocks outside of the loops of the axis run on coordinate 0, also if these loops have no
 * iteration. */
Affine thread_any_coordinate(Threads *t, Poly *p, Axis axis)
{
    const ForStmt *loop = t->axis[axis];
    Affine any = poly_free_column(p, 0, INT64_MAX);
    Affine lo = poly_value(p, &p->fixed, loop->lo),
           extent = poly_add(p, poly_value(p, &p->fixed, loop->hi), lo, -1);
    poly_not_negative(p, &p->top, any);
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
    return place->every[axis] && t->axis[axis] ? thread_any_coordinate(t, p, axis)
                                               : affine_const(0);
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
    Instance instance = instance_within(p, thread_unit(t, unit), &other->at, n);
    return place_instance(t, p, unit, instance);
}

ThreadInstance thread_instance(Threads *t, Poly *p, int unit)
{
    return place_instance(t, p, unit, instance_new(p, thread_unit(t, unit)));
}

void thread_be_first_run(Threads *t, Poly *p, int unit, const ThreadInstance *at)
{
    for (int i = 0; i < at->at.n_loops; i++)
        if (t->places[unit].rerun[i])
            poly_equal(p, &p->top, at->at.turns[i], instance_first_turn(p, &at->at, i));
}

ThreadInstance thread_first_run(Threads *t, Poly *p, int unit)
{
    ThreadInstance at = thread_instance(t, p, unit);
    thread_be_first_run(t, p, unit, &at);
    return at;
}

int thread_unit_of(const Threads *t, const Stmt *block)
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
