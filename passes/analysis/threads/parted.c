/* parted.c - Proves that no memory joins two parts of the threads of a block: two warps, or two
 * warpgroups.
 *
 * A part is a number of threads that follow each other, x first. Only a barrier of the whole block
 * orders accesses by threads of two parts, in whichever order they run; so neither order nor the
 * place of barriers is asked about. */
#include "passes/analysis/threads/threads.h"

/* The extents of a launch's threads, if they are literal and its loops on an axis agree. */
static bool find_extents(const Threads *t, int64_t extents[3])
{
    for (int i = 0; i < 3; i++)
        extents[i] = 1;
    for (int u = 0; u < t->model->units.n; u++)
        for (int i = 0; i < thread_unit(t, u)->n_loops; i++) {
            const ForStmt *loop = thread_unit(t, u)->loops[i];
            int64_t extent, first;
            if (loop->kind != LOOP_BIND || !axis_is_thread(loop->axis))
                continue;
            const ForStmt *last = t->axis[loop->axis];
            if (!loop_const_extent(loop, &extent) || !loop_const_extent(last, &first) ||
                extent != first)
                return false;
            extents[loop->axis - AXIS_THREAD_X] = extent;
        }
    return true;
}

/* The part of a thread. */
static Affine part_of(Poly *p, const Affine axis[AXIS_COUNT], const int64_t extents[3],
                      int64_t size)
{
    Affine number = affine_const(0);
    int64_t before = 1;
    for (int i = 0; i < 3; before *= extents[i++])
        number = poly_add(p, number, axis[AXIS_THREAD_X + i], before);
    return poly_quotient(p, number, size);
}

/* Threads of two parts touch one element of shared memory. A cluster has barriers of its own. */
static bool joins(Meeting *m, const int64_t extents[3], int64_t size)
{
    Affine a[AXIS_COUNT], b[AXIS_COUNT];
    if (m->pair.x->buffer->scope != SCOPE_SHARED || !meeting_measure(m))
        return false;
    meeting_enter(m);
    meeting_in_block(m);
    meeting_coordinates(m, a, b);
    Affine part_a = part_of(m->p, a, extents, size), part_b = part_of(m->p, b, extents, size);
    poly_differ(m->p, &m->p->top, &part_a, &part_b, 1);
    return poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
}

/* Two threads of a block touch one element of global memory. */
static bool joins_globally(Meeting *m)
{
    return scope_outlives_launch(m->pair.x->buffer->scope) && meeting_measure(m) &&
           meeting_of_threads(m) && poly_solve(m->p, NULL, 0, NULL) != POLY_NONE;
}

/* ---- without rows ---------------------------------------------------------------------------- */

/* Variables whose value differs between iterations of a loop. */
typedef VEC(const Var *) Differing;

static bool differs(const Expr *e, const Differing *in)
{
    for (int i = 0; i < in->n; i++)
        if (expr_uses_var(e, in->items[i]))
            return true;
    return false;
}

static void note_value(Context *c, const Stmt *s, Differing *in)
{
    if (s->kind == ST_LET && differs(s->u.let.value, in))
        VEC_PUSH(c->arena, in, s->u.let.var);
    if (s->kind == ST_FOR && (differs(s->u.loop.lo, in) || differs(s->u.loop.hi, in)))
        VEC_PUSH(c->arena, in, s->u.loop.var);
}

/* Which iteration of loop `at` of its unit runs the access may tell the element. */
static bool tells_element(Context *c, const Unit *u, const Access *x, int at)
{
    Differing in = {0};
    VEC_PUSH(c->arena, &in, u->loops[at]->var);
    for (int i = 0; i < u->scopes.n; i++)
        note_value(c, u->scopes.items[i].stmt, &in);
    for (int i = 0; i < u->block->n_iters; i++)
        if (differs(u->block->iters[i].binding, &in))
            VEC_PUSH(c->arena, &in, u->block->iters[i].var);
    for (int i = 0; i < x->path.n; i++)
        note_value(c, x->path.items[i].stmt, &in);
    for (int d = 0; d < x->buffer->rank; d++)
        if (differs(x->index[d], &in))
            return true;
    return false;
}

/* Threads with all coordinates on the axis make the access, of one element. */
static bool made_by_all(const Threads *t, int unit, const Access *x, Axis axis)
{
    int loop = t->places[unit].loop[axis];
    return loop >= 0 && !tells_element(t->ctx, thread_unit(t, unit), x, loop);
}

/* Parts share memory, as most tiles show at once: threads that differ in their last coordinate, and
 * so in their part, access one element. `shared`: some is in shared memory. */
static bool are_joined(Threads *t, Poly *p, const int64_t extents[3], bool *shared)
{
    Axis last = extents[2] > 1 ? AXIS_THREAD_Z : extents[1] > 1 ? AXIS_THREAD_Y : AXIS_THREAD_X;
    bool joined = false;
    *shared = false;
    for (Meeting m = meetings_all(t, p); !joined && meeting_next(&m);) {
        if (m.pair.x->buffer->scope != SCOPE_SHARED)
            continue;
        *shared = true;
        joined =
            made_by_all(t, m.pair.a, m.pair.x, last) || made_by_all(t, m.pair.b, m.pair.y, last);
    }
    return joined;
}

/* ---- the question ---------------------------------------------------------------------------- */

/* No two parts of this size share memory that is written. */
static bool are_parted(Threads *t, Poly *p, const int64_t extents[3], int64_t size)
{
    bool parted = true;
    for (Meeting m = meetings_all(t, p); parted && meeting_next(&m);)
        parted = !joins(&m, extents, size);
    return parted;
}

int64_t threads_parted(Threads *t, const int64_t *sizes, int n)
{
    int64_t extents[3], part = 0;
    Poly *p = threads_question(t);
    bool shared;
    if (!find_extents(t, extents) || are_joined(t, p, extents, &shared) || !shared)
        return 0;
    int64_t threads = extents[0] * extents[1] * extents[2];
    for (int i = 0; i < n; i++) {
        if (threads <= sizes[i] || threads % sizes[i] != 0)
            continue;
        if (!are_parted(t, p, extents, sizes[i]))
            break;
        part = sizes[i];
    }
    for (Meeting m = meetings_all(t, p); part > 0 && meeting_next(&m);)
        if (joins_globally(&m))
            part = 0;
    return part;
}
