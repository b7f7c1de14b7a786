/* waste.c - Warns of schedules that leave threads idle or annotations without effect.
 *
 *   for b in 2 bind blockIdx.x {
 *       for j in 32                           -- W0003: one of 32 threads copies
 *           x_shared[j] = x[b * 32 + j];
 *       for t in 32 bind threadIdx.x
 *           y[b * 32 + t] = x_shared[31 - t];
 *   } */
#include "passes/lower/pass.h"

/* A kernel is lowered several times in one context: each warning is given once. */
static bool is_reported(const Context *c, ErrorCode code, Span span)
{
    for (const Diag *d = c->first; d; d = d->next)
        if (d->code == code && d->span.source == span.source && d->span.begin == span.begin)
            return true;
    return false;
}

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND && !axis_is_block(s->u.loop.axis);
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

/* Another block of the loop reads what `update` writes. */
static bool is_read_beside(Context *c, const StmtList *blocks, const Stmt *update)
{
    AccessList written = {0};
    access_collect(c, update, NULL, ACCESS_WRITE, &written);
    for (int i = 0; i < blocks->n; i++)
        for (int k = 0; k < written.n; k++)
            if (blocks->items[i] != update &&
                stmt_accesses(c, blocks->items[i], written.items[k].buffer, ACCESS_READ))
                return true;
    return false;
}

/* The loop is a scan: its iterations update a value, and read it in between, so that only one
 * thread can run them. */
static bool is_scan(Context *c, const Stmt *loop)
{
    StmtList blocks = stmts_of_kind(c, loop, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        if (!block->init && block_reduces_over(c, block, loop->u.loop.var) &&
            is_read_beside(c, &blocks, blocks.items[i]))
            return true;
    }
    return false;
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

/* Does a thread run several instances of the block, of which others could run some? */
static bool is_serial_stage(Context *c, const StmtPath *path)
{
    bool every, repeats = false;
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        if (!axis_is_block((Axis)axis) && (thread_loop(c, path, (Axis)axis, &every) || every))
            return false;
    for (int i = 0; i < path->n; i++) {
        int64_t extent;
        const Stmt *s = path->items[i];
        if (s->kind == ST_FOR && s->u.loop.kind != LOOP_BIND)
            repeats |= (!loop_const_extent(&s->u.loop, &extent) || extent > 1) && !is_scan(c, s) &&
                       !holds_threads(c, s);
    }
    return repeats;
}

static Stmt *warn_of_stages(LaunchWalk *w, Stmt *root)
{
    int64_t threads = threads_of(w->c, root);
    StmtList blocks = threads > 1 ? stmts_of_kind(w->c, root, ST_BLOCK) : (StmtList){0};
    for (int i = 0; i < blocks.n; i++) {
        StmtPath path = {0};
        const Stmt *block = blocks.items[i];
        if (block_is_bulk(&block->u.block) || !stmt_path_to(w->c, root, block, &path) ||
            !is_serial_stage(w->c, &path) || is_reported(w->c, W0003, block->span))
            continue;
        diag_warning(w->c, W0003, block->span,
                     "block '%s' runs on one thread while the other %lld of its thread block wait; "
                     "bind one of its loops to threadIdx.x",
                     block->u.block.name, (long long)threads - 1);
    }
    return root;
}

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
    LaunchWalk w = {.c = c, .kernel = kernel, .root = warn_of_stages};
    warn_of_hints(c, kernel->body);
    launch_roots_map(&w, kernel->body);
}
