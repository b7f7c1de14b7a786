/* thread_bind.c - Decides whether a loop may be bound to an axis of a launch.
 *
 * Iterations of bound loops have no order. Serial loops and the text still order statements, and
 * barriers can keep that order between the threads of one block. A binding is legal if - a block
 * that it makes run once in the place of many times changes nothing by that (thread_once.c), - what
 * the loops ordered in the program is still ordered so where threads of one block meet, - different
 * blocks of the grid never meet in global memory, nor two threads in one run of an init, - what is
 * read from local memory was written by the same thread, and from shared memory by the same block,
 * with no write by another one between (own_copy.c). */
#include "passes/analysis/threads/threads.h"

enum { GRID_AXES = AXIS_RANK + 1 }; /* those that tell blocks */

/* ---- the order that is left ------------------------------------------------------------------ */

/* The second in an iteration of loop `level` no later, though the first comes before it there:
 * orders from loop `level` + 1 on. */
static Precedence turned(const Meeting *m, int level)
{
    int common = units_common(thread_unit(m->t, m->pair.a), thread_unit(m->t, m->pair.b));
    return (Precedence){.from = level + 1,
                        .level = level + 1,
                        .serial = true,
                        .ties = true,
                        .back = true,
                        .distance = distance_reversed(m->t->ctx, m->distance, common)};
}

/* The second may come before the first among the serial loops further in than `level` and in the
 * text, by the distance alone. */
static bool may_turn(const Meeting *m, int level)
{
    const Unit *a = thread_unit(m->t, m->pair.a), *b = thread_unit(m->t, m->pair.b);
    if (!units_may_precede(a, b, (Precedence){.level = level, .distance = m->distance}))
        return false;
    for (Precedence by = turned(m, level); by.level <= units_common(a, b); by.level++)
        if (units_may_precede(b, a, by))
            return true;
    return false;
}

/* Conflicts that loop `level` of both, which has no order among threads, ordered in the program:
 * the serial loops further in and the text must order them the same way. `apart`: they run on
 * different threads. */
static bool level_ordered(Meeting *m, int level, bool apart, Conflict *why)
{
    Poly *p = m->p;
    const ForStmt *loop = thread_unit(m->t, m->pair.a)->loops[level];
    const char *reason =
        arena_printf(p->ctx->arena,
                     "the two run on %sthreads of one block, and with '%s' %s%s neither a serial "
                     "loop nor the order of statements puts the first before the second",
                     apart ? "different " : "", loop->var->name,
                     loop->axis == AXIS_NONE ? "in parallel" : "bound to ",
                     loop->axis == AXIS_NONE ? "" : axis_name(loop->axis));
    instance_precedes(p, &m->at_a.at, &m->at_b.at,
                      (Precedence){.level = level, .distance = m->distance});
    return conflict_none_before(p, meeting_pair(m), turned(m, level), reason, why);
}

/* The coordinate of both is loop `level`, so that it has equal values in what one thread runs. */
static bool tells_threads(const Meeting *m, int level, const ForStmt *loop)
{
    return loop->kind == LOOP_BIND && m->t->places[m->pair.a].loop[loop->axis] == level &&
           m->t->places[m->pair.b].loop[loop->axis] == level;
}

/* With loop `level`, the two may run on different threads. */
static bool is_apart(const Meeting *m, int level, const ForStmt *loop)
{
    return loop->kind != LOOP_BIND || tells_threads(m, level, loop);
}

/* The distance leaves conflicts that loop `level` ordered in the program, and nothing does now. */
static bool may_clash(const Meeting *m, int level)
{
    const ForStmt *loop = thread_unit(m->t, m->pair.a)->loops[level];
    if (loop_has_order(loop) || m->distance[level].max <= 0)
        return false;
    Axis first = meeting_first_axis(m);
    if (tells_threads(m, level, loop) && loop->axis < first) /* no barrier for both */
        return false;
    return !(is_apart(m, level, loop) && meeting_stays(m, first, AXIS_COUNT - first)) &&
           may_turn(m, level);
}

/* Asked by the distance that bounds give, and where that leaves a doubt, by rows. */
static bool order_left(Meeting *m, Conflict *why)
{
    const Unit *a = thread_unit(m->t, m->pair.a), *b = thread_unit(m->t, m->pair.b);
    bool ordered = true;
    for (int level = 0; level < units_common(a, b) && ordered; level++) {
        if (!may_clash(m, level))
            continue;
        if (!meeting_solve(m))
            return true;
        if (!may_clash(m, level))
            continue;
        bool apart = is_apart(m, level, a->loops[level]);
        PolyMark mark = poly_mark(m->p);
        meeting_in_block(m);
        if (apart)
            meeting_apart(m);
        ordered = level_ordered(m, level, apart, why);
        poly_reset(m->p, mark);
    }
    return ordered;
}

/* The first of the two waits for the other one, which stores the element in another block. */
static bool is_awaited(const Meeting *m)
{
    return m->pair.x->awaits && m->pair.y->writes && !m->pair.y->reads;
}

/* The hardware starts blocks along x first, then y, then z. A block waits for those before it only,
 * so that some block can always go on. */
static bool awaits_earlier(Meeting *m, Conflict *why)
{
    static const Axis outer_first[GRID_AXES] = {AXIS_BLOCK_Z, AXIS_BLOCK_Y, AXIS_BLOCK_X,
                                                AXIS_RANK};
    const Affine *reader = m->at_a.axis, *writer = m->at_b.axis;
    PolyMark mark = poly_mark(m->p);
    bool earlier = true;
    for (int i = 0; i < GRID_AXES && earlier; i++) {
        Axis axis = outer_first[i];
        PolyMark equal = poly_mark(m->p);
        poly_at_most(m->p, &m->p->top, reader[axis], writer[axis], -1);
        earlier = conflict_none(m->p, meeting_pair(m),
                                "the one that reads awaits the other one, which runs in a later "
                                "block of the grid",
                                why);
        poly_reset(m->p, equal);
        poly_equal(m->p, &m->p->top, reader[axis], writer[axis]);
    }
    poly_reset(m->p, mark);
    return earlier;
}

/* Different blocks of the grid never meet, but where one awaits what an earlier one stores. Those
 * of a cluster meet in its memory alone. */
static bool grid_apart(Meeting *m, Conflict *why)
{
    if (!scope_outlives_launch(m->pair.x->buffer->scope) ||
        meeting_stays(m, AXIS_BLOCK_X, GRID_AXES) || !meeting_solve(m) ||
        meeting_stays(m, AXIS_BLOCK_X, GRID_AXES))
        return true;
    Meeting back = meeting_reversed(m);
    if (is_awaited(m) || is_awaited(&back))
        return awaits_earlier(is_awaited(m) ? m : &back, why);
    PolyMark mark = poly_mark(m->p);
    poly_differ(m->p, &m->p->top, &m->at_a.axis[AXIS_BLOCK_X], &m->at_b.axis[AXIS_BLOCK_X],
                GRID_AXES);
    bool apart = conflict_none(m->p, meeting_pair(m),
                               "the two run in different blocks of the grid, which have no order "
                               "within one launch",
                               why);
    poly_reset(m->p, mark);
    return apart;
}

static bool some_await(const Threads *t, const Buffer *buffer)
{
    for (BufferAccesses at = accesses_of(t->model, buffer); accesses_next(&at);)
        if (at.access->awaits)
            return true;
    return false;
}

/* What blocks await is stored once: they would go on with the first of several values. */
static bool stored_once(Meeting *m, Conflict *why)
{
    const Access *x = m->pair.x, *y = m->pair.y;
    if (!x->writes || !y->writes || !some_await(m->t, x->buffer) || !meeting_solve(m))
        return true;
    const char *reason = "both store an element that other blocks of the grid await";
    Meeting back = meeting_reversed(m);
    Precedence first = {.distance = m->distance, .ties = x != y},
               second = {.distance = back.distance, .ties = x != y};
    return conflict_none_before(m->p, meeting_pair(m), first, reason, why) &&
           conflict_none_before(m->p, meeting_pair(&back), second, reason, why);
}

/* ---- inits ----------------------------------------------------------------------------------- */

/* One run of an init sets no element on two threads. */
static bool sets_once(Meeting *m, Conflict *why)
{
    Poly *p = m->p;
    const Unit *u = thread_unit(m->t, m->pair.a);
    bool everywhere = scope_outlives_launch(m->pair.x->buffer->scope);
    Axis first = everywhere ? AXIS_BLOCK_X : meeting_first_axis(m);
    int n_axes = AXIS_COUNT - first;
    if (!meeting_measure(m) || meeting_stays(m, first, n_axes) || !meeting_solve(m) ||
        meeting_stays(m, first, n_axes))
        return true;
    for (int i = 0; i < u->n_time; i++)
        poly_equal(p, &p->top, m->at_a.at.turns[i], m->at_b.at.turns[i]);
    if (!everywhere)
        meeting_in_block(m);
    poly_differ(p, &p->top, &m->at_a.axis[first], &m->at_b.axis[first], n_axes);
    const char *reason = arena_printf(p->ctx->arena,
                                      "the init of block '%s' runs before the loops of its "
                                      "reduction, where two threads would set the same element",
                                      u->block->name);
    return conflict_none(p, meeting_pair(m), reason, why);
}

static bool inits_set_once(Threads *t, Conflict *why)
{
    Poly *p = threads_question(t);
    for (int i = 0; i < t->model->units.n; i++)
        for (Meeting m = meetings_of(t, p, i, i);
             thread_unit(t, i)->init && threads_unit_changed(t, i) && meeting_next(&m);)
            if (!sets_once(&m, why))
                return false;
    return true;
}

/* ---- the questions --------------------------------------------------------------------------- */

/* A pair of accesses that clash is ordered in the launch, and, in a grid, never in different
 * blocks. */
static bool pair_ordered(Meeting *m, bool grid, Conflict *why)
{
    if (!order_left(m, why) ||
        (grid && m->distance && !(grid_apart(m, why) && stored_once(m, why))))
        return false;
    if (!m->distance) /* the rows leave no such pair */
        return true;
    Meeting back = meeting_reversed(m);
    return order_left(&back, why);
}

/* How many loops all accesses of the buffer share. */
static int loops_of_all(const Threads *t, const Buffer *buffer)
{
    int n = 0;
    const Unit *first = NULL;
    for (BufferAccesses x = accesses_of(t->model, buffer); accesses_next(&x);) {
        const Unit *u = thread_unit(t, x.unit);
        int common = units_common(first ? first : u, u);
        n = first && n < common ? n : common;
        first = first ? first : u;
    }
    return n;
}

/* Only pairs within one iteration of the serial loops around all accesses of the buffer matter, and
 * they are ordered. The buffer is private to threads or blocks, and each read finds a write in the
 * same iteration of all these loops. The launch runs the iterations of the serial ones in order, so
 * the last write before a read is one of its own iteration, whatever other iterations write. */
static bool ordered_in_iteration(Meeting *m)
{
    const Buffer *buffer = m->pair.x->buffer;
    const Unit *a = thread_unit(m->t, m->pair.a);
    int n = loops_of_all(m->t, buffer);
    Conflict ignored;
    if (scope_outlives_launch(buffer->scope) || !threads_reads_covered(m->t, buffer, n))
        return false;
    if (!meeting_solve(m))
        return true;
    for (int i = 0; i < n; i++)
        if (loop_has_order(a->loops[i]))
            poly_equal(m->p, &m->p->top, m->at_a.at.turns[i], m->at_b.at.turns[i]);
    m->distance = instances_distance(m->p, &m->at_a.at, &m->at_b.at);
    if (!m->distance)
        return true;
    Meeting back = meeting_reversed(m);
    return order_left(m, &ignored) && order_left(&back, &ignored);
}

/* All pairs of accesses that clash are ordered, or need no order. The second is asked of the pair
 * as it was measured: the first leaves rows of the pair in either direction. */
static bool pairs_legal(Threads *t, Poly *p, Conflict *why)
{
    bool grid = t->axis[AXIS_BLOCK_X] || t->axis[AXIS_BLOCK_Y] || t->axis[AXIS_BLOCK_Z] ||
                t->axis[AXIS_RANK];
    for (Meeting m = meetings_all(t, p); meeting_next(&m);) {
        if (!meeting_is_first(&m) || !threads_use_changed(t, m.pair.x->buffer) ||
            !meeting_measure(&m))
            continue;
        PolyMark mark = poly_mark(p);
        Meeting measured = m;
        if (pair_ordered(&m, grid, why))
            continue;
        poly_reset(p, mark);
        if (!ordered_in_iteration(&measured))
            return false;
    }
    return true;
}

static bool is_loop(const Stmt *s)
{
    return s->kind == ST_FOR;
}

/* The outermost statement of a kind around loop `id`. */
static Stmt *outermost(Context *c, const Kernel *kernel, uint32_t id, bool (*is)(const Stmt *))
{
    StmtPath path = {0};
    int i = 0;
    stmt_find(c, kernel->body, id, &path);
    while (!is(path.items[i]))
        i++;
    return path.items[i];
}

static bool bind_legal(Context *c, const Kernel *kernel, const ForStmt *as, LaunchChange change,
                       Conflict *why)
{
    const Stmt *loop = stmt_find(c, kernel->body, as->id, NULL);
    ForStmt bound = loop->u.loop;
    bound.kind = LOOP_BIND;
    bound.axis = as->axis;
    Kernel changed = *kernel;
    changed.body = stmt_replace(c, kernel->body, loop, stmt_for(c, &bound, loop->span));
    Stmt *root = outermost(c, &changed, bound.id, stmt_is_bound);
    Stmt *nest = outermost(c, &changed, bound.id, is_loop);
    Threads *t = threads_model(c, &changed, root);
    threads_mark_changes(t, change);
    Poly *p = threads_question(t);
    if (!threads_run_alike(t, p, why) || !pairs_legal(t, p, why))
        return false;
    /* in another order, the last write of an element by the owner that reads it stays the last */
    if (!change.order && !threads_copies_own(t, p, why))
        return false;
    /* an init is a launch of its own where the reduction begins outside of the bound loops */
    if (nest == root)
        return inits_set_once(t, why);
    return !block_with_init(c, nest) || inits_set_once(threads_model(c, &changed, nest), why);
}

bool threads_grid_conflict(Threads *t, Conflict *why)
{
    ArenaMark mark = arena_mark(t->ctx->arena);
    bool apart = true;
    for (Meeting m = meetings_all(t, threads_question(t)); apart && meeting_next(&m);)
        apart = !meeting_is_first(&m) || !meeting_measure(&m) || grid_apart(&m, why);
    if (apart)
        arena_reset(t->ctx->arena, mark);
    return !apart;
}

bool threads_loop_kind_legal(Context *c, const Kernel *kernel, const ForStmt *as, Conflict *why)
{
    return threads_loop_kind_kept(c, kernel, as, (LaunchChange){0}, why);
}

bool threads_loop_kind_kept(Context *c, const Kernel *kernel, const ForStmt *as,
                            LaunchChange change, Conflict *why)
{
    if (as->kind == LOOP_SERIAL || as->kind == LOOP_UNROLL)
        return true;
    if (as->kind != LOOP_BIND)
        return dependence_loop_is_parallel(c, kernel, as->id, as->kind, why);
    ArenaMark mark = arena_mark(c->arena);
    bool legal = bind_legal(c, kernel, as, change, why);
    if (legal)
        arena_reset(c->arena, mark);
    return legal;
}
