/* kind.c - Implements the primitives that set how a loop runs: bind, parallel, unroll.
 *
 * A launch is the statement under an outermost bound loop. All its loops on one axis run on the
 * same blocks or threads, so bind looks at the whole launch: equal extents, no block on two values
 * of one axis, and the limits of the machine are checked at the line that breaks them, and not when
 * the kernel is lowered.
 *
 * Legal: iterations that run at the same time do not clash, and a launch has one extent for each
 * axis that the machine can hold.
 * Invariant: every instance of a block runs exactly once, or once for all threads where that is the
 * same. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

/* ---- shared conditions ----------------------------------------------------------------------- */

static const char *kind_text(Schedule *s, const ForStmt *loop)
{
    switch (loop->kind) {
    case LOOP_BREAKS:
    case LOOP_SERIAL: return "serial";
    case LOOP_PARALLEL: return "parallel";
    case LOOP_VECTORIZE: return "vectorized";
    case LOOP_UNROLL: return "unrolled";
    case LOOP_BIND: return arena_printf(s->ctx->arena, "bound to %s", axis_name(loop->axis));
    }
    return "";
}

bool sched_require_serial(Schedule *s, const Stmt *stmt, Span span)
{
    const ForStmt *loop = &stmt->u.loop;
    const char *primitive = s->running ? s->running->name : "this step", *kind = kind_text(s, loop);
    REQUIRE_AT(s, E0410, span, loop->kind == LOOP_SERIAL, stmt,
               "loop '%s' is already %s, but %s takes a serial loop; call %s before the loop is %s",
               loop->var->name, kind, primitive, primitive, kind);
    return true;
}

static bool require_literal(Schedule *s, const StmtPath *path, const char *what, Span span,
                            int64_t *extent)
{
    const Stmt *loop = path_end(path);
    Expr *count = sched_extent(s, path);
    REQUIRE_AT(s, E0414, span, expr_is_const(count, extent), loop,
               "loop '%s' has %s iterations, but %s needs a literal extent; split it first, as "
               "in  split(%s, [_, 32])",
               stmt_label(loop), expr_text(s->ctx, count), what, stmt_label(loop));
    return true;
}

const BlockStmt *sched_reduced_by(Context *c, const Stmt *loop)
{
    for (Cursor at = cursor_outer(c, loop->u.loop.body); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK &&
            block_uses_loop(&at.stmt->u.block, ITER_REDUCE, loop->u.loop.var))
            return &at.stmt->u.block;
    return NULL;
}

static bool has_plain_store(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && at.stmt->u.store.op == STORE_SET)
            return true;
    return false;
}

/* ", or ...": blocks of a cluster reduce parts, and read the results of each other. */
static const char *cluster_remedy(Schedule *s, const Stmt *loop)
{
    return arena_printf(s->ctx->arena,
                        ", or give each block of the cluster a partial result, with  let part = "
                        "rfactor(%s, 0); set_scope(part, cluster);",
                        stmt_label(loop));
}

/* ", or ...": what a loop of threads of the block needs, whose iterations also give spatial
 * iterators their values, to reduce in groups. */
static const char *groups_remedy(Schedule *s, const Stmt *loop, const BlockStmt *block,
                                 const ForStmt *as)
{
    if (as->kind != LOOP_BIND || !axis_is_thread(as->axis) || !block->init ||
        !reduction_uses(s->ctx, block, ITER_SPATIAL, loop))
        return "";
    return arena_printf(
        s->ctx->arena,
        ", or let groups of lanes reduce along threadIdx.x: of a power of two up "
        "to 32, W, in whole warps, where spatial iterators use %s / W, and those of "
        "the reduction %s %% W",
        stmt_label(loop), stmt_label(loop));
}

/* ", or ...": how the updates of `block` could collide safely; "" where they cannot. */
static const char *atomic_remedy(Schedule *s, const BlockStmt *block, LoopKind kind)
{
    bool at_once = kind == LOOP_BIND || kind == LOOP_PARALLEL;
    if (!block || block->atomic || !at_once || has_plain_store(s->ctx, block->body))
        return "";
    return arena_printf(s->ctx->arena, ", or make its updates atomic with %satomic(%s)",
                        block->init ? "decompose_reduction and then " : "", block->name);
}

/* Another block of the loop that reads what the block updates in it: the two are a scan. NULL:
 * none. */
static const BlockStmt *scanned_by(Schedule *s, Stmt *loop, const BlockStmt *reduction)
{
    for (Cursor at = cursor_stmts(s->ctx, reduction->body); cursor_next(&at);) {
        if (at.stmt->kind != ST_STORE)
            continue;
        BlockList readers = flow_blocks(s, loop, at.stmt->u.store.buffer, ACCESS_READ);
        for (int i = 0; i < readers.n; i++)
            if (readers.items[i]->u.block.id != reduction->id)
                return &readers.items[i]->u.block;
    }
    return NULL;
}

static void refuse_reduction(Schedule *s, Stmt *loop, const BlockStmt *reduction, const ForStmt *as,
                             Span span)
{
    const BlockStmt *reader = scanned_by(s, loop, reduction);
    Name name = stmt_label(loop);
    if (reader)
        sched_refuse(s, E0424, span,
                     "loop '%s' is a scan: block '%s' updates the same element in all its "
                     "iterations, and block '%s' reads it in between; compute it by chunks first, "
                     "as in  let [chunk, each] = split(%s, [_, 32]); scan_chunks(chunk);",
                     name, reduction->name, reader->name, name);
    else
        sched_refuse(s, E0424, span,
                     "loop '%s' is a reduction loop of block '%s': all its iterations update the "
                     "same element; keep it serial and choose a spatial loop%s%s",
                     name, reduction->name, groups_remedy(s, loop, reduction, as),
                     as->axis == AXIS_RANK ? cluster_remedy(s, loop)
                                           : atomic_remedy(s, reduction, as->kind));
}

/* The kernel to ask about a loop: for a binding with the loop bound, and reductions across threads
 * in the form that they run in. NULL after an error. */
static const Kernel *kernel_in_question(Schedule *s, const Stmt *loop, const ForStmt *as,
                                        LaunchChange *change, Span span)
{
    *change = (LaunchChange){0};
    StmtPath path = {0};
    state_path(s, loop->u.loop.id, &path);
    Kernel *nest = sched_kernel_around(s, s->kernel, &path);
    if (as->kind != LOOP_BIND)
        return nest;
    Stmt *bound = stmt_replace(s->ctx, nest->body, loop, stmt_for(s->ctx, as, loop->span));
    nest->body = flow_changed_launches(s, bound);
    *change = flow_change_apart(s->ctx, nest, (LaunchChange){.bound = as});
    return flow_threads_apart(s, nest, span);
}

/* The block is one of the two that clash, or none is known. */
static bool is_about(const Conflict *why, const BlockStmt *block)
{
    return !why->first || why->first->id == block->id ||
           (why->second && why->second->id == block->id);
}

/* "; if ...": what makes a scan of a loop whose block reads elements that it has written; "" where
 * the clash is another one. */
static const char *scan_remedy(Schedule *s, const Stmt *loop, const Conflict *why)
{
    bool same = why->first && why->second && why->first->id == why->second->id;
    if (!same || why->kind != HAZARD_RAW || why->first->init)
        return "";
    return arena_printf(s->ctx->arena,
                        "; if each iteration reads what the one before has written, carry(%s, %s) "
                        "makes it a scan, for scan_chunks",
                        stmt_label(loop), why->buffer->name);
}

static bool has_order(const Kernel *kernel, const Buffer *buffer)
{
    for (int i = 0; i < kernel->n_facts; i++)
        if (kernel->facts[i].kind == FACT_ORDER &&
            kernel->facts[i].subject.buffer->id == buffer->id)
            return true;
    return false;
}

/* "; if ...": the promise that makes rows apart whose ends are read from an input; "" where no loop
 * in `loop` has such ends. */
static const char *order_remedy(Schedule *s, const Stmt *loop)
{
    StmtList loops = stmts_of_kind(s->ctx, loop->u.loop.body, ST_FOR);
    for (int i = 0; i < loops.n; i++)
        for (Cursor at = cursor_expr(s->ctx, loops.items[i]->u.loop.lo); cursor_next(&at);) {
            const Buffer *ends = at.expr->kind == EX_LOAD ? at.expr->u.load.buffer : NULL;
            if (ends && ends->role == ROLE_IN && ends->rank == 1 && !has_order(s->kernel, ends))
                return arena_printf(s->ctx->arena,
                                    "; if no element of '%s' is less than the one before, say so, "
                                    "and rows are apart: where %s is nondecreasing",
                                    ends->name, ends->name);
        }
    return "";
}

/* What else may be done about the clash of iterations of a loop that is to become `as`. An init
 * that they all run would undo atomic updates. */
static const char *dependence_remedy(Schedule *s, const Kernel *kernel, const Stmt *loop,
                                     const ForStmt *as, const Conflict *why)
{
    bool same = why->first && why->second && why->first->id == why->second->id;
    const char *scope = flow_scope_remedy(s, kernel, as, why);
    if (*scope)
        return arena_printf(s->ctx->arena, ", or %s", scope);
    return arena_printf(s->ctx->arena, "%s%s%s",
                        atomic_remedy(s, same && !why->first->init ? why->first : NULL, as->kind),
                        scan_remedy(s, loop, why), order_remedy(s, loop));
}

/* Whether `loop` may become `as`. */
static bool require_legal(Schedule *s, const Stmt *loop, const ForStmt *as, Span span)
{
    Conflict why = {0};
    LaunchChange change;
    const Kernel *kernel = kernel_in_question(s, loop, as, &change, span);
    if (!kernel)
        return false;
    if (threads_loop_kind_kept(s->ctx, kernel, as, change, &why))
        return true;
    const BlockStmt *reduction = sched_reduced_by(s->ctx, loop);
    if (reduction && !is_about(&why, reduction))
        reduction = NULL;
    if (reduction)
        refuse_reduction(s, (Stmt *)loop, reduction, as, span);
    else
        sched_refuse(s, E0423, span,
                     "iterations of loop '%s' depend on each other, so they cannot run "
                     "concurrently; keep the loop serial%s",
                     stmt_label(loop), dependence_remedy(s, kernel, loop, as, &why));
    sched_note_conflict(s, &why);
    return false;
}

/* A floating-point sum below the loop will be one of partial sums. */
static bool rounds_apart(Schedule *s, const Stmt *loop)
{
    for (Cursor at = cursor_outer(s->ctx, loop->u.loop.body); cursor_next(&at);) {
        Reducer reducer;
        const char *why;
        StmtPath path = {0};
        if (at.stmt->kind != ST_BLOCK ||
            !block_uses_loop(&at.stmt->u.block, ITER_REDUCE, loop->u.loop.var))
            continue;
        cursor_way(&at, &path);
        if (reducer_but_for_reads(s->ctx, &path, 0, &reducer, &why) && reducer.rounds)
            return true;
    }
    return false;
}

static ForStmt of_kind(const Stmt *loop, LoopKind kind, Axis axis)
{
    ForStmt as = loop->u.loop;
    as.kind = kind;
    as.axis = axis;
    return as;
}

static void set_kind(Schedule *s, const Stmt *old, const ForStmt *as)
{
    sched_replace(s, old, stmt_for(s->ctx, as, old->span));
}

bool loop_make_serial(Schedule *s, Stmt **loop, StmtPath *path, Span span)
{
    LoopKind kind = (*loop)->u.loop.kind;
    ForStmt serial = of_kind(*loop, LOOP_SERIAL, AXIS_NONE);
    if (kind == LOOP_SERIAL)
        return true;
    Stmt *as = stmt_for(s->ctx, &serial, (*loop)->span);
    if (kind == LOOP_BIND &&
        !flow_recheck_all(s, stmt_replace(s->ctx, s->kernel->body, *loop, as), span))
        return false;
    set_kind(s, *loop, &serial);
    *path = (StmtPath){0};
    state_path(s, serial.id, path);
    *loop = path_end(path);
    return true;
}

/* ---- bind: one value of an axis for each block ----------------------------------------------- */

/* The first block below that uses the variable, or NULL. */
static Name block_using(Context *c, const Stmt *below, const Var *var)
{
    for (Cursor at = cursor_outer(c, below); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && stmt_head_uses_var(at.stmt, var))
            return at.stmt->u.block.name;
    return NULL;
}

/* What runs inside `inner` speaks of the variable of `outer`: in a block, or in a bound or
 * condition on the way (path leads to `inner`). */
static bool speaks_of(Context *c, const StmtPath *path, const Stmt *outer)
{
    const Var *var = outer->u.loop.var;
    bool inside = false;
    for (int i = 0; i < path->n; i++) {
        const Stmt *stmt = path->items[i];
        if (inside && stmt_head_uses_var(stmt, var))
            return true;
        inside |= stmt == outer;
    }
    return stmt_uses_var(c, path_end(path)->u.loop.body, var);
}

/* The loop at the end of the path does not speak of `outer`; `other`, one of the two, is bound. */
static bool require_apart(Schedule *s, const StmtPath *path, const Stmt *outer, const Stmt *other,
                          Span span)
{
    Stmt *inner = path_end(path);
    if (!speaks_of(s->ctx, path, outer))
        return true;
    Name block = block_using(s->ctx, inner->u.loop.body, outer->u.loop.var);
    sched_refuse(s, E0420, span,
                 "loop '%s' is already bound to %s, and the body of loop '%s'%s%s%s still uses "
                 "loop '%s'; bind one of them to another axis, or fuse them",
                 stmt_label(other), axis_name(other->u.loop.axis), stmt_label(inner),
                 block ? " (block '" : "", block ? block : "", block ? "')" : "",
                 stmt_label(outer));
    sched_note_now(s, other);
    return false;
}

static bool require_free_axis(Schedule *s, const StmtPath *path, Axis axis, Span span)
{
    Stmt *loop = path_end(path);
    for (int i = 0; i + 1 < path->n; i++) {
        const Stmt *outer = path->items[i];
        if (stmt_is_bound(outer) && outer->u.loop.axis == axis &&
            !require_apart(s, path, outer, outer, span))
            return false;
    }
    StmtList below = stmts_of_kind(s->ctx, loop->u.loop.body, ST_FOR);
    for (int i = 0; i < below.n; i++) {
        const ForStmt *other = &below.items[i]->u.loop;
        if (other->kind != LOOP_BIND || other->axis != axis)
            continue;
        StmtPath inner = {0};
        state_path(s, other->id, &inner);
        if (!require_apart(s, &inner, loop, below.items[i], span))
            return false;
    }
    return true;
}

/* ---- bind: the launch ------------------------------------------------------------------------ */

/* The launch as it will be, with `loop` bound to `axis`. */
typedef struct {
    Schedule *s;
    const Stmt *loop;
    Axis axis;
    Stmt *root;
    StmtPath bound[AXIS_COUNT]; /* its loops by axis */
} Launch;

static Launch launch_around(Schedule *s, const StmtPath *path, Axis axis)
{
    Launch launch = {.s = s, .loop = path_end(path), .axis = axis};
    int at = 0;
    while (at < path->n - 1 && (!stmt_is_bound(path->items[at])))
        at++;
    launch.root = path->items[at];
    for (Cursor below = cursor_outer(s->ctx, launch.root); cursor_next(&below);) {
        bool is_new = below.stmt == launch.loop;
        if (is_new || (stmt_is_bound(below.stmt)))
            VEC_PUSH(s->ctx->arena, &launch.bound[is_new ? axis : below.stmt->u.loop.axis],
                     below.stmt);
    }
    return launch;
}

static Expr *extent_of(Schedule *s, const Stmt *loop)
{
    StmtPath path = {0};
    state_path(s, loop->u.loop.id, &path);
    return sched_extent(s, &path);
}

static bool is_bound(Context *c, const Kernel *kernel, uint32_t loop)
{
    for (Cursor at = cursor_outer(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.id == loop)
            return at.stmt->u.loop.kind == LOOP_BIND;
    return false;
}

/* The step that bound the loop; 0 if it is not bound, or came so. */
static int step_that_bound(const Schedule *s, const Stmt *loop)
{
    for (int step = 0; step <= schedule_steps(s); step++)
        if (is_bound(s->ctx, schedule_kernel_after(s, step), loop->u.loop.id))
            return step;
    return 0;
}

static void note_extent(Schedule *s, const Stmt *loop)
{
    int step = step_that_bound(s, loop);
    if (step > 0)
        diag_note(s->ctx, schedule_step_span(s, step), "loop '%s' was bound here",
                  stmt_label(loop));
    sched_note_now(s, loop);
}

static bool require_equal_extents(const Launch *launch, Axis axis, Span span)
{
    Schedule *s = launch->s;
    const StmtPath *loops = &launch->bound[axis];
    for (int i = 1; i < loops->n; i++) {
        const Stmt *first = loops->items[0], *other = loops->items[i];
        Expr *a = extent_of(s, first), *b = extent_of(s, other);
        Expr *equal = expr_binary(s->ctx, EX_EQ, a, b, span_none());
        if (expr_equal(a, b) || prove(facts_of_kernel(s->ctx, s->kernel), equal))
            continue;
        sched_refuse(s, E0421, span,
                     "%s would have extent %s at loop '%s' and %s at loop '%s' of the same launch; "
                     "split one of them so that both have the same extent",
                     axis_name(axis), expr_text(s->ctx, a), stmt_label(first), expr_text(s->ctx, b),
                     stmt_label(other));
        note_extent(s, first);
        note_extent(s, other);
        return false;
    }
    return true;
}

/* A loop of the launch that the extent changes with; NULL if there is none. */
static const Var *loop_inside(const Launch *launch, const Expr *extent)
{
    StmtPath path = {0};
    state_path(launch->s, launch->root->u.loop.id, &path);
    path.n--; /* the loops of the host */
    return expr_loop_outside(launch->s->ctx, extent, &path);
}

/* The extents of block axes are known where the launch starts. */
static bool require_fixed_grid(const Launch *launch, Span span)
{
    Schedule *s = launch->s;
    for (int axis = AXIS_BLOCK_X; axis <= AXIS_BLOCK_Z; axis++)
        for (int i = 0; i < launch->bound[axis].n; i++) {
            const Stmt *loop = launch->bound[axis].items[i];
            Expr *extent = extent_of(s, loop);
            const Var *inside = loop_inside(launch, extent);
            REQUIRE(s, E0428, span, !expr_has_load(extent),
                    "loop '%s' has %s iterations, which data decide; the size of a grid is fixed "
                    "before the launch, so bind a loop whose range depends on sizes only",
                    stmt_label(loop), expr_text(s->ctx, extent));
            REQUIRE(s, E0428, span, !inside,
                    "loop '%s' has %s iterations, which depends on loop '%s' inside the launch; "
                    "the size of a grid is fixed, so bind a loop whose range depends on sizes only",
                    stmt_label(loop), expr_text(s->ctx, extent), inside->name);
        }
    return true;
}

/* Most threads or blocks along an axis (CUDA C++ Programming Guide, compute capabilities). */
static int64_t axis_limit(Axis axis)
{
    static const int64_t limits[AXIS_COUNT] = {INT32_MAX, 65535, 65535, MAX_CLUSTER,
                                               1024,      1024,  64};
    return limits[axis];
}

static bool require_axis_limit(Schedule *s, const StmtPath *path, Axis axis, Span span)
{
    int64_t extent;
    Name name = stmt_label(path_end(path));
    bool literal = axis >= AXIS_RANK; /* a constant of the kernel */
    if (literal) {
        if (!require_literal(s, path, axis_name(axis), span, &extent))
            return false;
    } else if (!expr_is_const(sched_extent(s, path), &extent)) {
        return true;
    }
    REQUIRE(s, E0422, span, extent >= 1 || !literal, "loop '%s' has no iterations, but %s", name,
            axis == AXIS_RANK ? "a cluster has at least one block"
                              : "a block has at least one thread");
    REQUIRE(s, E0422, span, extent <= axis_limit(axis),
            "loop '%s' has %lld iterations, but %s has at most %lld; split the loop and bind the "
            "smaller part",
            name, (long long)extent, axis_name(axis), (long long)axis_limit(axis));
    return true;
}

#define MAX_BLOCK_THREADS 1024

static bool require_thread_limit(const Launch *launch, Span span)
{
    Schedule *s = launch->s;
    int64_t threads = 1, extents[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        const StmtPath *loops = &launch->bound[AXIS_THREAD_X + i];
        if (loops->n > 0 && expr_is_const(extent_of(s, loops->items[0]), &extents[i]))
            threads *= extents[i];
    }
    REQUIRE(s, E0422, span, threads <= MAX_BLOCK_THREADS,
            "a block would have %lld x %lld x %lld = %lld threads, but the limit is %d; bind "
            "smaller loops to the thread axes",
            (long long)extents[0], (long long)extents[1], (long long)extents[2], (long long)threads,
            MAX_BLOCK_THREADS);
    return true;
}

static bool is_legal(Schedule *s, const Stmt *loop, const ForStmt *as)
{
    Conflict why = {0};
    LaunchChange change;
    DiagMark mark = diag_mark(s->ctx);
    const Kernel *kernel = kernel_in_question(s, loop, as, &change, span_none());
    bool legal = kernel && threads_loop_kind_kept(s->ctx, kernel, as, change, &why);
    diag_forget(s->ctx, mark);
    return legal;
}

/* A temporary of threads that share it stands in a loop that has more iterations for some of them:
 * they cannot wait for each other there. */
static bool threads_part(Schedule *s, const Stmt *loop)
{
    for (Cursor at = cursor_with_path(cursor_stmts(s->ctx, loop->u.loop.body), NULL);
         cursor_next(&at);)
        for (int i = 0;
             at.stmt->kind == ST_TEMP && at.stmt->u.temp->scope == SCOPE_SHARED && i < at.path.n;
             i++) {
            const Stmt *around = at.path.items[i].stmt;
            if (around->kind == ST_FOR && (expr_uses_var(around->u.loop.lo, loop->u.loop.var) ||
                                           expr_uses_var(around->u.loop.hi, loop->u.loop.var)))
                return true;
        }
    return false;
}

/* The loop, bound, with its own temporaries. Threads share those in shared memory if they can. */
static ForStmt bound_loop(Schedule *s, const Stmt *loop, Stmt *from_zero, Axis axis)
{
    Stmt *own = loop_with_private_temps(s, from_zero, SCOPE_GLOBAL, axis);
    ForStmt shares = of_kind(own, LOOP_BIND, axis);
    const char *remark = s->remark;
    Stmt *all = loop_with_private_temps(s, own, SCOPE_SHARED, axis);
    if (all != own && (threads_part(s, own) || !is_legal(s, loop, &shares)))
        return of_kind(all, LOOP_BIND, axis);
    s->remark = remark;
    return shares;
}

#define MAX_UNROLL 1024

static bool require_short(Schedule *s, const StmtPath *path, Span span)
{
    int64_t extent;
    if (!require_literal(s, path, "an unrolled loop", span, &extent))
        return false;
    REQUIRE(s, E0427, span, extent <= MAX_UNROLL,
            "loop '%s' has %lld iterations, but the limit for unrolling is %d; split it and unroll "
            "the inner loop",
            stmt_label(path_end(path)), (long long)extent, MAX_UNROLL);
    return true;
}

static bool bind_virtual(Schedule *s, Stmt *loop, StmtPath *path, Span span)
{
    if (!loop_make_serial(s, &loop, path, span) || !require_short(s, path, span))
        return false;
    ForStmt apart = of_kind(loop, LOOP_PARALLEL, AXIS_NONE);
    if (!require_legal(s, loop, &apart, span))
        return false;
    sched_replace(s, loop, loop_interleaved(s, loop));
    return true;
}

bool prim_bind(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->bind.loop, &path);
    *result = (Value){.kind = VALUE_NONE};
    if (axis_is_virtual(call->bind.axis.u.s))
        return bind_virtual(s, loop, &path, call->span);
    Axis axis = axis_find(call->bind.axis.u.s);
    if (!loop_make_serial(s, &loop, &path, call->span) ||
        (axis == AXIS_RANK && !sched_require_target(s, call->span, (Target){90, 0}, "clusters")) ||
        !require_axis_limit(s, &path, axis, call->span) ||
        !require_free_axis(s, &path, axis, call->span))
        return false;
    Launch launch = launch_around(s, &path, axis);
    for (int i = 0; i < AXIS_COUNT; i++)
        if (!require_equal_extents(&launch, (Axis)i, call->span))
            return false;
    if (!require_thread_limit(&launch, call->span) || !require_fixed_grid(&launch, call->span))
        return false;
    Stmt *from_zero = loop_from_zero(s, &path);
    ForStmt bound = bound_loop(s, loop, from_zero, axis);
    if (!require_legal(s, loop, &bound, call->span))
        return false;
    int64_t extent;
    s->reassociates = axis_is_thread(axis) && rounds_apart(s, loop) &&
                      expr_is_const(sched_extent(s, &path), &extent) && extent > 1;
    set_kind(s, loop, &bound);
    return true;
}

/* ---- parallel, vectorize, unroll ------------------------------------------------------------- */

bool prim_parallel(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->parallel.loop, &path);
    if (!loop_make_serial(s, &loop, &path, call->span))
        return false;
    ForStmt parallel = of_kind(loop, LOOP_PARALLEL, AXIS_NONE);
    if (!require_legal(s, loop, &parallel, call->span))
        return false;
    set_kind(s, loop, &parallel);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

bool prim_can_parallel(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Conflict why;
    uint32_t id = sched_node(s, &call->can_parallel.loop, &path)->u.loop.id;
    const Kernel *kernel = sched_kernel_around(s, s->kernel, &path);
    bool can = dependence_loop_is_parallel(s->ctx, kernel, id, LOOP_PARALLEL, &why);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}

bool loop_vectorize(Schedule *s, Stmt *loop, const StmtPath *path, Span span)
{
    int64_t extent;
    if (!require_literal(s, path, "a vector", span, &extent))
        return false;
    REQUIRE(s, E0425, span, extent >= 2 && extent <= MAX_VECTOR,
            "loop '%s' has %lld iterations, but a vector has 2 to %d elements; split it and "
            "vectorize the inner loop",
            stmt_label(loop), (long long)extent, MAX_VECTOR);
    REQUIRE_AT(s, E0426, span, loop->u.loop.body->kind == ST_BLOCK, loop,
               "loop '%s' does not directly enclose a single block; reorder it inwards",
               stmt_label(loop));
    ForStmt vector = of_kind(loop_from_zero(s, path), LOOP_VECTORIZE, AXIS_NONE);
    if (!require_legal(s, loop, &vector, span))
        return false;
    set_kind(s, loop, &vector);
    return true;
}

bool prim_unroll(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->unroll.loop, &path);
    if (!loop_make_serial(s, &loop, &path, call->span) || !require_short(s, &path, call->span))
        return false;
    ForStmt unrolled = of_kind(loop, LOOP_UNROLL, AXIS_NONE);
    set_kind(s, loop, &unrolled);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
