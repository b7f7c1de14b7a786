/* waste.c - Warns of schedules that leave threads idle or annotations without effect.
 *
 *   for b in 2 bind blockIdx.x {
 *       for j in 32                           -- W0003: one of 32 threads copies
 *           x_shared[j] = x[b * 32 + j];
 *       for t in 32 bind threadIdx.x
 *           y[b * 32 + t] = x_shared[31 - t];
 *   }
 *   for i in N                                -- W0003: a launch of one thread
 *       z[i] = y[i] + 1;
 *
 * Only loops that threads can share count: there is nothing to do about the others. */
#include "passes/analysis/regions/reducer.h"
#include "passes/lower/pass.h"

/* A kernel is lowered several times in one context: each warning is given once. */
static bool is_reported(const Context *c, ErrorCode code, Span span)
{
    for (const Diag *d = c->first; d; d = d->next)
        if (d->code == code && d->span.source == span.source && d->span.begin == span.begin)
            return true;
    return false;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_thread_loop(const Stmt *s)
{
    return stmt_is_bound(s) && !axis_is_block(s->u.loop.axis);
}

/* The most threads that a block of the grid has, by literal extents. */
static int64_t threads_of(Context *c, Stmt *root)
{
    int64_t most[AXIS_COUNT] = {0}, threads = 1, extent;
    StmtList loops = stmts_of_kind(c, root, ST_FOR);
    for (int i = 0; i < loops.n; i++) {
        const ForStmt *loop = &loops.items[i]->u.loop;
        if (is_thread_loop(loops.items[i]) && loop_const_extent(loop, &extent) &&
            extent > most[loop->axis])
            most[loop->axis] = extent;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        threads *= most[axis] > 1 ? most[axis] : 1;
    return threads;
}

/* ---- what threads can share ------------------------------------------------------------------ */

typedef enum { KEEPS_ORDER, SHARES_ITERATIONS, SHARES_REDUCTION, SHARES_SCAN } Sharing;

/* Another of the blocks accesses what `update` writes. */
static bool is_used_beside(Context *c, const StmtList *blocks, const Stmt *update, AccessMode mode)
{
    AccessList written = access_list(c, update, NULL, ACCESS_WRITE);
    for (int i = 0; i < blocks->n; i++)
        for (int k = 0; k < written.n; k++)
            if (blocks->items[i] != update &&
                stmt_accesses(c, blocks->items[i], written.items[k].buffer, mode))
                return true;
    return false;
}

/* How threads share a loop that updates a value and reads it in between: SHARES_ITERATIONS if it
 * does not. */
static Sharing scan_sharing(Context *c, const Stmt *loop)
{
    StmtList blocks = stmts_of_kind(c, loop, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        if (!block->init && block_reduces_over(c, block, loop->u.loop.var) &&
            is_used_beside(c, &blocks, blocks.items[i], ACCESS_READ))
            return stmt_guarded_update(block->body) &&
                           !is_used_beside(c, &blocks, blocks.items[i], ACCESS_WRITE)
                       ? SHARES_SCAN
                       : KEEPS_ORDER;
    }
    return SHARES_ITERATIONS;
}

/* Can threads share the loop, of which they share nothing yet? `block` is in it. */
static Sharing loop_sharing(const LaunchWalk *w, const Stmt *loop, const BlockStmt *block)
{
    Reducer reducer;
    Conflict why;
    Sharing scan = scan_sharing(w->c, loop);
    if (scan != SHARES_ITERATIONS ||
        dependence_loop_is_parallel(w->c, w->kernel, loop->u.loop.id, LOOP_PARALLEL, &why))
        return scan;
    return block_reduces_over(w->c, block, loop->u.loop.var) &&
                   reducer_of_block(w->c, block, &reducer)
               ? SHARES_REDUCTION
               : KEEPS_ORDER;
}

/* Threads share what an iteration of the loop does. */
static bool holds_threads(Context *c, const Stmt *loop)
{
    StmtList inner = stmts_of_kind(c, loop, ST_FOR);
    for (int i = 0; i < inner.n; i++)
        if (is_thread_loop(inner.items[i]))
            return true;
    return false;
}

static bool is_loop(const Stmt *s)
{
    int64_t extent;
    return s->kind == ST_FOR && (!loop_const_extent(&s->u.loop, &extent) || extent > 1);
}

static bool is_serial_loop(const Stmt *s)
{
    return is_loop(s) && s->u.loop.kind != LOOP_BIND;
}

/* The outermost loop around the block that threads can share, and how; NULL if there is none. */
static const Stmt *loop_to_share(const LaunchWalk *w, const StmtPath *path, Sharing *how)
{
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i];
        *how =
            is_serial_loop(s) && !holds_threads(w->c, s) ? loop_sharing(w, s, block) : KEEPS_ORDER;
        if (*how != KEEPS_ORDER)
            return s;
    }
    return NULL;
}

/* ---- a stage of a thread block --------------------------------------------------------------- */

/* Does a thread run several instances of the block, of which others could run some? */
static bool is_serial_stage(const LaunchWalk *w, const StmtPath *path)
{
    Sharing how;
    bool every;
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        if (!axis_is_block((Axis)axis) && (thread_loop(w->c, path, (Axis)axis, &every) || every))
            return false;
    return loop_to_share(w, path, &how) && how != SHARES_SCAN;
}

static void warn_of_stages(LaunchWalk *w, Stmt *root, int64_t threads)
{
    StmtList blocks = stmts_of_kind(w->c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const Stmt *block = blocks.items[i];
        StmtPath path = stmt_path_to(w->c, root, block);
        if (block_is_bulk(&block->u.block) || block_stores_bulk(&block->u.block) || path.n == 0 ||
            !is_serial_stage(w, &path) || is_reported(w->c, W0003, block->span))
            continue;
        diag_warning(w->c, W0003, block->span,
                     "block '%s' runs on one thread while the other %lld of its thread block wait; "
                     "bind one of its loops to threadIdx.x",
                     block->u.block.name, (long long)threads - 1);
    }
}

/* ---- a launch of one thread ------------------------------------------------------------------ */

enum { HANDFUL = 32 }; /* iterations: a warp would run them at once */

static bool is_many(const StmtPath *path)
{
    int64_t all = 1, extent;
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR &&
            (!loop_const_extent(&path->items[i]->u.loop, &extent) ||
             !checked_mul(all, extent, &all)))
            return true;
    return all > HANDFUL;
}

static const char *sharing_remedy(const LaunchWalk *w, const Stmt *loop, Sharing how)
{
    const char *name = loop->u.loop.var->name;
    if (how == SHARES_SCAN)
        return arena_printf(w->c->arena, "scan_chunks of a split of loop '%s' shares its scan",
                            name);
    if (how == SHARES_REDUCTION)
        return arena_printf(w->c->arena, "split loop '%s' and bind a part to threadIdx.x", name);
    return arena_printf(w->c->arena,
                        "split loop '%s' and bind its parts to blockIdx.x and threadIdx.x", name);
}

static bool is_distributed(Context *c, Stmt *root)
{
    StmtList loops = stmts_of_kind(c, root, ST_FOR);
    for (int i = 0; i < loops.n; i++)
        if (is_loop(loops.items[i]) && !is_serial_loop(loops.items[i]))
            return true;
    return false;
}

/* The host makes the copies in constant memory. */
static bool runs_on_host(Context *c, const Stmt *block)
{
    AccessList written = access_list(c, block, NULL, ACCESS_WRITE);
    for (int i = 0; i < written.n; i++)
        if (written.items[i].buffer->scope == SCOPE_CONSTANT)
            return true;
    return false;
}

/* One warning for the launch, at the first block that threads can share. */
static void warn_of_lone_thread(LaunchWalk *w, Stmt *root)
{
    StmtList blocks = stmts_of_kind(w->c, root, ST_BLOCK);
    const Stmt *loop = NULL;
    for (int i = 0; i < blocks.n && !loop; i++) {
        Sharing how;
        const Stmt *block = blocks.items[i];
        StmtPath path = stmt_path_to(w->c, root, block);
        if (path.n > 0 && is_many(&path) && !runs_on_host(w->c, block))
            loop = loop_to_share(w, &path, &how);
        if (loop && !is_reported(w->c, W0003, block->span))
            diag_warning(w->c, W0003, block->span,
                         "block '%s' runs on the only thread of its launch; %s",
                         block->u.block.name, sharing_remedy(w, loop, how));
    }
}

static Stmt *warn_of_launch(LaunchWalk *w, Stmt *root)
{
    int64_t threads = threads_of(w->c, root);
    if (threads > 1)
        warn_of_stages(w, root, threads);
    else if (!is_distributed(w->c, root))
        warn_of_lone_thread(w, root);
    return root;
}

/* ---- annotations ----------------------------------------------------------------------------- */

static void warn_of_hints(Context *c, Stmt *body)
{
    StmtList loops = stmts_of_kind(c, body, ST_FOR);
    for (int i = 0; i < loops.n; i++) {
        const ForStmt *loop = &loops.items[i]->u.loop;
        if (loop->kind == LOOP_SERIAL ||
            !annotation_find(loop->annotations, ANNOTATION_UNROLL_HINT) ||
            is_reported(c, W0002, loops.items[i]->span))
            continue;
        diag_warning(c, W0002, loops.items[i]->span,
                     "'unroll_hint' has no effect on loop '%s', which is %s%s; annotate a serial "
                     "loop",
                     loop->var->name, loop->kind == LOOP_BIND ? "bound to " : "",
                     loop->kind == LOOP_BIND ? axis_name(loop->axis) : loop_kind_name(loop->kind));
    }
}

void warn_of_waste(Context *c, const Kernel *kernel)
{
    LaunchWalk w = {.c = c, .kernel = kernel, .root = warn_of_launch};
    warn_of_hints(c, kernel->body);
    launch_roots_map(&w, kernel->body);
}
