/* threads.c - Turns bound loops into the axes of launches.
 *
 *   for by in 32 bind blockIdx.y                  launch matmul grid(1, 32, 1) block(1, 32, 1) {
 *       for ty in 32 bind threadIdx.y                 let by = blockIdx.y;
 *           for y in 32 bind threadIdx.y              let ty = threadIdx.y;
 *               block copy(i = by * 32 + y)   =>      block copy(i = by * 32 + ty)
 *           block sum(i = by * 32 + ty)               block sum(i = by * 32 + ty)
 *
 * The first loop of an axis names its coordinate; the other loops of the axis use the same name. A
 * loop with fewer iterations than its axis has coordinates gets a guard, and so does a block that
 * has no loop on an axis and runs on its coordinate 0. Shared memory is declared at the top of the
 * launch: it is the block's. */
#include "ir/copies/roles.h"
#include "passes/lower/pass.h"

typedef struct {
    Var *var;       /* its let, or NULL where only loops that do not start at 0 are bound to it */
    Expr *extent;   /* INDEX; NULL: no loop is bound to it */
    const Stmt *by; /* the loop that gave the extent */
} AxisUse;

typedef struct {
    Context *c;
    Facts *facts; /* outside the launch */
    AxisUse axis[AXIS_COUNT];
    StmtList lets, shared;
    StmtPath path;
    SubstList bound;    /* loop variables to coordinates */
    StmtPath inner;     /* loops around, inside the launch */
    const Stmt *remap;  /* a loop that asks for another order of the blocks, or NULL */
    int64_t min_blocks; /* that a loop asks for; 0: none does */
    bool in_producer;   /* the statement is part of it */
    bool failed;
} Mapper;

/* There is one coordinate, 0, on the axis. */
static bool is_single(const AxisUse *use)
{
    return use->extent && expr_is(use->extent, 1);
}

static bool in_clusters(const Mapper *m)
{
    return m->axis[AXIS_RANK].extent && !is_single(&m->axis[AXIS_RANK]);
}

/* The coordinate on an axis. The blocks of a cluster are adjacent along x. */
static Expr *axis_value(Mapper *m, Axis axis)
{
    Expr *x = expr_axis(m->c, AXIS_BLOCK_X), *blocks = m->axis[AXIS_RANK].extent;
    if (axis == AXIS_RANK)
        return index_mod(m->c, x, blocks);
    return axis == AXIS_BLOCK_X && in_clusters(m) ? index_div(m->c, x, blocks)
                                                  : expr_axis(m->c, axis);
}

/* The largest number of iterations that `loop` can have, in terms of what is fixed outside the
 * launch. */
static Expr *axis_extent(Mapper *m, const ForStmt *loop)
{
    Expr *extent = loop_extent(m->c, loop);
    FactsMark mark = facts_mark(m->facts);
    VEC(const Var *) over = {0};
    for (int i = 0; i < m->inner.n; i++) {
        facts_enter(m->facts, m->inner.items[i]);
        VEC_PUSH(m->c->arena, &over, m->inner.items[i]->u.loop.var);
    }
    bool exact;
    extent = simplify(m->facts, extent);
    bool inside = false;
    for (int i = 0; i < over.n; i++)
        inside |= expr_uses_var(extent, over.items[i]);
    if (inside)
        extent = largest_over(m->facts, extent, over.items, over.n, &exact);
    facts_reset(m->facts, mark);
    return extent;
}

static bool refuse_symbolic(Mapper *m, const Stmt *s, Axis axis)
{
    diag_error(m->c, E0506, s->span,
               "loop '%s' is bound to %s, which needs a literal number of iterations up to the "
               "hardware's limit, but "
               "it has %s",
               s->u.loop.var->name, axis_name(axis),
               expr_text(m->c, loop_extent(m->c, &s->u.loop)));
    diag_note(m->c, s->span, "split it by a constant first and bind the inner loop");
    m->failed = true;
    return false;
}

static void refuse_unequal(Mapper *m, const Stmt *s, const AxisUse *use, Expr *extent)
{
    diag_error(m->c, E0505, s->span,
               "loops bound to one axis of a launch must have equal extents: '%s' has %s "
               "iterations on %s, but '%s' has %s",
               s->u.loop.var->name, expr_text(m->c, extent), axis_name(s->u.loop.axis),
               use->by->u.loop.var->name, expr_text(m->c, use->extent));
    diag_note(m->c, use->by->span, "'%s' is bound to %s here", use->by->u.loop.var->name,
              axis_name(s->u.loop.axis));
    diag_note(m->c, s->span, "split one of them so that both have the same number of iterations");
    m->failed = true;
}

/* Takes in one bound loop: its axis gets an extent, or already has the same. */
static void use_axis(Mapper *m, const Stmt *s)
{
    const ForStmt *loop = &s->u.loop;
    AxisUse *use = &m->axis[loop->axis];
    Expr *extent = axis_extent(m, loop);
    int64_t n;
    if (!extent || (loop->axis >= AXIS_RANK && !expr_is_const(extent, &n))) {
        refuse_symbolic(m, s, loop->axis);
        return;
    }
    if (!use->extent) {
        use->extent = extent;
        use->by = s;
    } else if (!expr_equal(use->extent, extent) &&
               !prove_compare(m->facts, use->extent, EX_EQ, extent)) {
        refuse_unequal(m, s, use, extent);
    }
    if (loop->axis == AXIS_BLOCK_X && !m->remap && annotations_remap(loop->annotations))
        m->remap = s;
    if (use->var || !loop_counts_from_zero(loop) || is_single(use))
        return;
    use->var = var_new(m->c, loop->var->name, DT_INDEX, VAR_LET, loop->var->span);
    Stmt *let = stmt_let(m->c, use->var, axis_value(m, loop->axis), s->span);
    VEC_PUSH(m->c->arena, &m->lets, stmt_stamp(let, s));
}

/* A loop may ask how many blocks should fit onto a multiprocessor. */
static void note_min_blocks(Mapper *m, const Stmt *s)
{
    AnnotationList said = s->u.loop.annotations;
    int64_t blocks = annotation_int(said, ANNOTATION_MIN_BLOCKS);
    if (blocks > m->min_blocks)
        m->min_blocks = blocks;
    if (blocks || !annotation_find(said, ANNOTATION_MIN_BLOCKS))
        return;
    const AnnotationInfo *info = annotation_info(ANNOTATION_MIN_BLOCKS);
    diag_error(m->c, E0518, s->span, "min_blocks of loop '%s' must be a number from %d to %d",
               s->u.loop.var->name, (int)info->least, (int)info->most);
    m->failed = true;
}

/* The loop over the blocks of a cluster, which says how blockIdx.x is shared out. */
static void collect_ranks(Mapper *m, const Stmt *root)
{
    for (Cursor at = cursor_with_path(cursor_outer(m->c, root), NULL); cursor_next(&at);) {
        if (!stmt_is_bound(at.stmt) || at.stmt->u.loop.axis != AXIS_RANK)
            continue;
        m->inner = enclosing_loops(m->c, &at.path);
        use_axis(m, at.stmt);
    }
}

/* The requirements of every loop of the launch, outermost first. */
static void collect_axes(Mapper *m, const Stmt *root)
{
    collect_ranks(m, root);
    for (Cursor at = cursor_with_path(cursor_outer(m->c, root), NULL); cursor_next(&at);) {
        if (at.stmt->kind != ST_FOR)
            continue;
        m->inner = enclosing_loops(m->c, &at.path);
        if (at.stmt->u.loop.kind == LOOP_BIND && at.stmt->u.loop.axis != AXIS_RANK)
            use_axis(m, at.stmt);
        note_min_blocks(m, at.stmt);
    }
}

static void push_coordinate(Mapper *m, StmtList *lets, Axis axis, Expr *value)
{
    AxisUse *use = &m->axis[axis];
    const ForStmt *loop = &use->by->u.loop;
    if (!use->var)
        use->var = var_new(m->c, loop->var->name, DT_INDEX, VAR_LET, loop->var->span);
    Stmt *let = stmt_let(m->c, use->var, value, use->by->span);
    VEC_PUSH(m->c->arena, lets, stmt_stamp(let, m->remap));
}

/* blockIdx.x counts clusters there. */
static Expr *of_clusters(void *user, Expr *e)
{
    Mapper *m = user;
    return expr_replace_axis(m->c, e, AXIS_BLOCK_X, axis_value(m, AXIS_BLOCK_X));
}

/* The coordinates of the grid's blocks in the order that a loop asks for. */
static void remap_blocks(Mapper *m)
{
    const AxisUse *y = &m->axis[AXIS_BLOCK_Y], *x = &m->axis[AXIS_BLOCK_X];
    if (!m->remap || !y->extent || is_single(x))
        return;
    bool reversed = annotation_int(m->remap->u.loop.annotations, ANNOTATION_REMAP_REVERSED);
    if (is_single(y) && !reversed)
        return;
    Remap r = {
        .ctx = m->c, .facts = m->facts, .loop = m->remap, .rows = y->extent, .columns = x->extent};
    remap_coordinates(&r);
    push_coordinate(m, &r.lets, AXIS_BLOCK_Y, r.row);
    push_coordinate(m, &r.lets, AXIS_BLOCK_X, r.column);
    for (int i = 0; i < r.lets.n; i++)
        r.lets.items[i] = stmt_map_exprs(m->c, r.lets.items[i], of_clusters, m);
    for (int i = 0; i < m->lets.n; i++)
        if (m->lets.items[i]->u.let.var != y->var && m->lets.items[i]->u.let.var != x->var)
            VEC_PUSH(m->c->arena, &r.lets, m->lets.items[i]);
    m->lets = r.lets;
}

/* All that the launch does stands inside a loop bound to the axis. */
static bool all_inside(const Stmt *root, Axis axis)
{
    for (; root->kind == ST_FOR; root = root->u.loop.body)
        if (root->u.loop.kind == LOOP_BIND && root->u.loop.axis == axis)
            return true;
    return false;
}

/* A grid without blocks runs nothing, also not what stands beside an empty loop: such an axis has
 * one coordinate at least, which the loop's own range then excludes. */
static void fill_empty_axes(Mapper *m, const Stmt *root)
{
    for (Axis axis = AXIS_BLOCK_X; axis <= AXIS_BLOCK_Z; axis++) {
        Expr **extent = &m->axis[axis].extent;
        if (*extent && !all_inside(root, axis))
            *extent = index_at_least(m->facts, *extent, 1);
    }
}

static Expr *coordinate(Mapper *m, Axis axis)
{
    const AxisUse *use = &m->axis[axis];
    return is_single(use) ? expr_index(m->c, 0)
           : use->var     ? expr_var(m->c, use->var, span_none())
                          : axis_value(m, axis);
}

static Expr *guarded_by(void *user, Expr *e)
{
    const Mapper *m = user;
    return expr_subst(m->c, e, m->bound.items, m->bound.n);
}

static Stmt *map_stmt(void *user, Stmt *s);

/* The guards of a block's missing axes. */
static Stmt *map_block(Mapper *m, Stmt *s)
{
    Context *c = m->c;
    Expr *guard = NULL;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        bool every = m->in_producer && axis_is_thread((Axis)axis);
        if (every || !m->axis[axis].extent || is_single(&m->axis[axis]) ||
            thread_loop(m->c, &m->path, (Axis)axis, &every) || every)
            continue;
        guard = cond_and(
            c, guard, expr_binary(c, EX_EQ, coordinate(m, (Axis)axis), expr_index(c, 0), s->span));
    }
    Stmt *block = stmt_subst(c, s, m->bound.items, m->bound.n);
    return guard ? stmt_stamp(stmt_if(c, guard, block, NULL, s->span), s) : block;
}

/* The producer is one thread, which no guard chooses. */
static Stmt *map_roles(Mapper *m, Stmt *s)
{
    m->in_producer = true;
    Stmt *producer = map_stmt(m, s->u.roles.producer);
    m->in_producer = false;
    Stmt *consumers = map_stmt(m, s->u.roles.consumers);
    return stmt_stamp(stmt_roles(m->c, producer, consumers, s->u.roles.turn, s->span), s);
}

static Stmt *map_bound_loop(Mapper *m, Stmt *s)
{
    Context *c = m->c;
    const ForStmt *loop = &s->u.loop;
    Expr *at = coordinate(m, loop->axis);
    Expr *lo = guarded_by(m, loop->lo), *hi = guarded_by(m, loop->hi);
    Expr *value = index_add(c, lo, index_mul(c, at, expr_index(c, loop->step)));
    Subst to = {loop->var, value};
    VEC_PUSH(c->arena, &m->bound, to);
    Stmt *body = map_stmt(m, loop->body);
    if (!body || expr_equal(simplify(m->facts, loop_extent(c, loop)), m->axis[loop->axis].extent))
        return body;
    Expr *inside = expr_binary(c, loop->step > 0 ? EX_LT : EX_GE, value, hi, s->span);
    if (loop->axis >= AXIS_RANK && stmt_has_barrier(m->c, body)) {
        diag_error(c, E0503, s->span,
                   "loop '%s' needs a barrier inside, but not all threads of the block run it",
                   loop->var->name);
        m->failed = true;
    }
    return stmt_stamp(stmt_if(c, inside, body, NULL, s->span), s);
}

static Stmt *map_stmt(void *user, Stmt *s)
{
    Mapper *m = user;
    Context *c = m->c;
    Stmt *done = s;
    VEC_PUSH(c->arena, &m->path, s);
    if (s->kind == ST_BLOCK) {
        done = map_block(m, s);
    } else if (s->kind == ST_ROLES) {
        done = map_roles(m, s);
    } else if (stmt_is_bound(s)) {
        done = map_bound_loop(m, s);
    } else if (s->kind == ST_TEMP && scope_is_shared(s->u.temp->scope)) {
        VEC_PUSH(c->arena, &m->shared, s);
        done = NULL;
    } else {
        done = stmt_map_children(c, s, map_stmt, m);
        if (done && (done->kind == ST_FOR || done->kind == ST_IF))
            done = stmt_map_exprs(c, done, guarded_by, m);
    }
    m->path.n--;
    return done;
}

/* ---- the launch ------------------------------------------------------------------------------ */

typedef struct {
    Names launches;
} MapWalk;

/* The producer's warpgroup has a place behind the consumers. */
static bool roles_can(Context *c, const Stmt *launch)
{
    const Stmt *roles = launch_roles(launch);
    if (!roles || roles_fit(&launch->u.launch))
        return true;
    const int64_t *block = launch->u.launch.block;
    diag_error(
        c, E0861, roles->span,
        "a warpgroup of %d threads cannot stand behind blocks of (%lld, %lld, %lld) threads: "
        "they must fill warps of %d, and the extents of a block but for the last divide %d",
        ROLE_WARPGROUP, (long long)block[0], (long long)block[1], (long long)block[2], ROLE_WARP,
        ROLE_WARPGROUP);
    return false;
}

static Stmt *make_launch(LaunchWalk *w, Mapper *m, Stmt *root, Stmt *body)
{
    Context *c = w->c;
    MapWalk *all = w->user;
    for (int i = m->lets.n - 1; i >= 0; i--)
        body = stmt_then(c, m->lets.items[i], body);
    for (int i = m->shared.n - 1; i >= 0; i--)
        body = stmt_then(c, m->shared.items[i], body);
    LaunchStmt launch = {.name = names_fresh(&all->launches, w->kernel->name),
                         .cluster = in_clusters(m) ? m->axis[AXIS_RANK].extent->u.i : 0,
                         .min_blocks = m->min_blocks,
                         .body = body};
    for (int d = 0; d < 3; d++) {
        Expr *grid = m->axis[AXIS_BLOCK_X + d].extent, *block = m->axis[AXIS_THREAD_X + d].extent;
        launch.grid[d] = grid ? grid : expr_index(c, 1);
        if (d == 0 && in_clusters(m))
            launch.grid[d] =
                simplify(m->facts, index_mul(c, launch.grid[d], m->axis[AXIS_RANK].extent));
        launch.block[d] = block ? block->u.i : 1;
    }
    Stmt *done = stmt_stamp(stmt_launch(c, &launch, root->span), root);
    return roles_can(c, done) ? done : NULL;
}

/* The host's loops around the launch become serial where they were parallel; nothing else changes
 * there. */
static Stmt *map_root(LaunchWalk *w, Stmt *root)
{
    Mapper m = {.c = w->c, .facts = w->facts};
    collect_axes(&m, root);
    if (m.failed)
        return NULL;
    fill_empty_axes(&m, root);
    remap_blocks(&m);
    Stmt *body = map_stmt(&m, root);
    if (m.failed)
        return NULL;
    return make_launch(w, &m, root, body ? body : stmt_empty(w->c, root->span));
}

/* Registers and tiles that a serial nest, now a launch, had declared before it become the launch's
 * own. */
static Stmt *take_temps_in(void *user, Stmt *s)
{
    Context *c = user;
    if (s->kind == ST_LAUNCH)
        return s;
    s = stmt_map_children(c, s, take_temps_in, c);
    StmtList items = {0}, temps = {0};
    bool moved = false;
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++) {
        Stmt *item = s->u.seq.items[i];
        if (item->kind == ST_TEMP && !scope_outlives_launch(item->u.temp->scope)) {
            VEC_PUSH(c->arena, &temps, item);
            continue;
        }
        if (item->kind == ST_LAUNCH && temps.n > 0) {
            LaunchStmt launch = item->u.launch;
            while (temps.n > 0)
                launch.body = stmt_then(c, temps.items[--temps.n], launch.body);
            item = stmt_stamp(stmt_launch(c, &launch, item->span), item);
            moved = true;
        }
        VEC_PUSH(c->arena, &items, item);
    }
    return moved ? stmt_seq(c, items.items, items.n, s->span) : s;
}

Kernel *pass_map_threads(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    MapWalk all = {.launches = {.c = c}};
    LaunchWalk w = {.c = c, .kernel = kernel, .user = &all, .root = map_root};
    Stmt *body = launch_roots_map(&w, kernel->body);
    return body ? kernel_with_body(c, kernel, take_temps_in(c, body)) : NULL;
}
