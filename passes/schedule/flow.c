/* flow.c - Finds the writers and readers of buffers, and makes small rewrites that several
 * primitives share. */
#include "passes/schedule/flow.h"

#include "passes/analysis/regions/affine_bounds.h"
#include "passes/analysis/regions/inits.h"
#include "passes/analysis/regions/private.h"
#include "passes/shared/reductions.h"

BlockList flow_blocks(Schedule *s, Stmt *root, const Buffer *buffer, AccessMode mode)
{
    return blocks_accessing(s->ctx, root, buffer, mode);
}

const Stmt *flow_other_block(Schedule *s, Stmt *root, const Stmt *of, const Buffer *buffer,
                             AccessMode mode)
{
    BlockList users = flow_blocks(s, root, buffer, mode);
    for (int i = 0; i < users.n; i++)
        if (users.items[i] != of)
            return users.items[i];
    return NULL;
}

void flow_add_buffers(Schedule *s, Stmt *block, AccessMode mode, BufferSet *out)
{
    AccessList all = access_list(s->ctx, block, NULL, mode);
    for (int i = 0; i < all.n; i++) {
        bool seen = false;
        for (int j = 0; j < out->n && !seen; j++)
            seen = out->items[j]->id == all.items[i].buffer->id;
        if (!seen)
            VEC_PUSH(s->ctx->arena, out, all.items[i].buffer);
    }
}

BufferSet flow_buffers(Schedule *s, Stmt *block, AccessMode mode)
{
    BufferSet out = {0};
    flow_add_buffers(s, block, mode, &out);
    return out;
}

Buffer *flow_written(Schedule *s, Stmt *block)
{
    BufferSet written = flow_buffers(s, block, ACCESS_WRITE);
    return written.n == 1 ? sched_buffer(s, written.items[0]->id) : NULL;
}

const Stmt *flow_single_store(Context *c, const Stmt *block)
{
    return stmt_written_out(c, block->u.block.body);
}

const char *flow_no_single_store(Context *c, const Stmt *block)
{
    return stmts_of_kind(c, block->u.block.body, ST_STORE).n > 1
               ? "has several stores"
               : "has its store in a loop or condition of its own";
}

static bool uses_let(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && at.expr->u.var->kind == VAR_LET)
            return true;
    return false;
}

Stmt *flow_write_out_subscripts(Schedule *s, Stmt *block, StmtPath *path, const Buffer *buffer)
{
    Context *c = s->ctx;
    bool found = false;
    AccessList all = access_list(c, block, buffer, ACCESS_ANY);
    for (int i = 0; i < all.n; i++)
        for (int d = 0; d < buffer->rank; d++)
            found |= uses_let(c, all.items[i].index[d]);
    return found ? flow_write_out(s, block, path) : block;
}

Stmt *flow_write_out(Schedule *s, Stmt *block, StmtPath *path)
{
    Context *c = s->ctx;
    const Stmt *store = flow_single_store(c, block);
    if (!store || store == block->u.block.body)
        return block;
    BlockStmt now = block->u.block;
    now.body = (Stmt *)store;
    sched_replace(s, block, stmt_stamp(stmt_block(c, &now, block->span), block));
    return stmt_find(c, s->kernel->body, now.id, path);
}

bool flow_reads_other_element(Context *c, const Stmt *store)
{
    const Buffer *buffer = store->u.store.buffer;
    for (Cursor at = cursor_stmt(c, store); cursor_next(&at);)
        if (at.expr && expr_is_load(at.expr, buffer) &&
            !exprs_equal(at.expr->u.load.index, store->u.store.index, buffer->rank))
            return true;
    return false;
}

bool flow_starts_anew(Context *c, Stmt *block, const Stmt *store, const Buffer *buffer)
{
    if (store->u.store.op == STORE_SET)
        return !stmt_accesses(c, block, buffer, ACCESS_READ);
    return block_has_one_element(c, &block->u.block) &&
           !stmt_accesses(c, block->u.block.init, buffer, ACCESS_READ) &&
           !flow_reads_other_element(c, store);
}

bool flow_pure_index(const BlockStmt *block, const Buffer *buffer, Expr *const *index, int *iters)
{
    for (int axis = 0; axis < buffer->rank; axis++) {
        iters[axis] = -1;
        for (int i = 0; i < block->n_iters; i++)
            if (expr_is_var(index[axis], block->iters[i].var))
                iters[axis] = i;
        if (iters[axis] < 0)
            return false;
        for (int before = 0; before < axis; before++)
            if (iters[before] == iters[axis])
                return false;
    }
    return true;
}

int flow_common(const StmtPath *a, const StmtPath *b)
{
    int n = 0;
    while (n < a->n && n < b->n && a->items[n] == b->items[n])
        n++;
    return n;
}

/* A block of the tree, and not the reader, that writes an element of the buffer that it reads. */
static const Stmt *overwrites(Schedule *s, Stmt *tree, BlockIn reader, const Buffer *buffer)
{
    BlockList writers = flow_blocks(s, tree, buffer, ACCESS_WRITE);
    for (int i = 0; i < writers.n; i++)
        if (writers.items[i]->u.block.id != reader.block->u.block.id &&
            dependence_may_meet(s->ctx, reader.kernel, writers.items[i], reader.block, buffer))
            return writers.items[i];
    return NULL;
}

const Stmt *flow_overwritten(Schedule *s, SeqRange range, BlockIn reader, const Buffer **buffer)
{
    BufferSet read = flow_buffers(s, reader.block, ACCESS_READ);
    const Stmt *writer = NULL;
    for (int r = 0; r < read.n && !writer; r++) {
        *buffer = read.items[r];
        for (int i = range.from; i <= range.to && !writer; i++)
            writer = overwrites(s, range.seq->u.seq.items[i], reader, *buffer);
    }
    return writer;
}

/* What the init of a block of `tree`, which is in the place of the end of `outer`, stands before,
 * counted from the block; below 0: the tree (-1), or what is further out, counted from there. */
static int place_of_init(Schedule *s, const StmtPath *outer, Stmt *tree, const Stmt *block)
{
    StmtPath path = {0};
    stmt_find(s->ctx, tree, block->u.block.id, &path);
    StmtPath whole = path_joined(s->ctx, outer, outer->n - 1, path);
    int start = reduction_start(s->ctx, &whole);
    return start < outer->n ? start - outer->n : whole.n - start;
}

const Stmt *flow_moved_init(Schedule *s, Stmt *old, Stmt *now)
{
    StmtPath outer = {0};
    state_path(s, old->u.loop.id, &outer);
    StmtList blocks = stmts_of_kind(s->ctx, old, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (blocks.items[i]->u.block.init && place_of_init(s, &outer, old, blocks.items[i]) !=
                                                 place_of_init(s, &outer, now, blocks.items[i]))
            return blocks.items[i];
    return NULL;
}

bool flow_require_inits(Schedule *s, Stmt *old, Stmt *now, Span span)
{
    StmtPath outer = {0};
    Conflict why = {0};
    bool moved = flow_moved_init(s, old, now);
    state_path(s, old->u.loop.id, &outer);
    const Kernel *kernel = moved ? sched_kernel_around(s, s->kernel, &outer) : NULL;
    REQUIRE_KEPT(
        s, E0419, span,
        !moved ||
            dependence_order_kept(s->ctx, (Rewrite){kernel, old, now}, &s->reassociates, &why),
        &why, "the init of a reduction would move before or after a statement that it depends on");
    return true;
}

Stmt *flow_declare(Schedule *s, Stmt *body, Buffer *buffer)
{
    int temps = 0;
    while (body->kind == ST_SEQ && temps < stmt_items(body) &&
           stmt_item(body, temps)->kind == ST_TEMP)
        temps++;
    return stmt_insert(s->ctx, body, temps, stmt_temp(s->ctx, buffer, buffer->span));
}

typedef struct {
    const Buffer *of;
    Buffer *buffer;
} Beside;

static Stmt *add_beside(Rewriter *r, Stmt *stmt)
{
    const Beside *beside = r->user;
    if (stmt->kind != ST_TEMP || stmt->u.temp->id != beside->of->id)
        return stmt;
    return stmt_then(r->ctx, stmt, stmt_temp(r->ctx, beside->buffer, stmt->span));
}

/* How many loops the buffer is declared in: each of their iterations has its own. */
static int loops_around_temp(Context *c, Stmt *body, const Buffer *buffer)
{
    EnclosingList around = {0};
    for (Cursor at = cursor_outer(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == buffer->id) {
            stmt_enclosing(c, body, at.stmt, &around);
            return enclosing_loops(c, &around).n;
        }
    return 0;
}

Stmt *flow_declare_beside(Schedule *s, Stmt *body, const Buffer *of, Buffer *buffer)
{
    Beside beside = {of, buffer};
    Rewriter r = {.ctx = s->ctx, .user = &beside, .stmt = add_beside};
    return loops_around_temp(s->ctx, body, of) > 0 ? rewrite_stmt(&r, body)
                                                   : flow_declare(s, body, buffer);
}

/* A loop whose variable the shape uses; NULL if there is none. */
static const Stmt *loop_of_shape(Schedule *s, const Buffer *buffer)
{
    for (Cursor at = cursor_outer(s->ctx, s->kernel->body); cursor_next(&at);)
        for (int i = 0; at.stmt->kind == ST_FOR && i < buffer->rank; i++)
            if (expr_uses_var(buffer->shape[i], at.stmt->u.loop.var))
                return at.stmt;
    return NULL;
}

bool flow_require_fixed_shape(Schedule *s, const Buffer *buffer, ErrorCode code, Span span)
{
    const Stmt *loop = loop_of_shape(s, buffer);
    if (loop)
        sched_refuse(s, code, span,
                     "the shape of '%s' depends on loop '%s', and a buffer of the same shape is "
                     "filled outside it; declare '%s' outside the loop, with its largest shape",
                     buffer->name, stmt_label(loop), buffer->name);
    return !loop;
}

bool flow_require_no_range(Schedule *s, const Stmt *block, const Buffer *buffer, Span span)
{
    const BlockStmt *b = &block->u.block;
    bool decides = b->predicate && expr_reads(b->predicate, buffer);
    for (int i = 0; i < b->n_iters; i++)
        decides = decides || expr_reads(b->iters[i].lo, buffer) ||
                  expr_reads(b->iters[i].hi, buffer) || expr_reads(b->iters[i].binding, buffer);
    REQUIRE(s, E0442, span, !decides,
            "'%s' decides the range of loops around block '%s', which read it before the loops; "
            "so it cannot be read from a copy",
            buffer->name, b->name);
    return true;
}

Stmt *flow_remove_end(Schedule *s, Stmt *body, const StmtPath *path)
{
    int at = path->n - 1; /* the outermost node that holds nothing else */
    while (at > 0 &&
           (path->items[at - 1]->kind == ST_FOR ||
            (path->items[at - 1]->kind == ST_IF && !path->items[at - 1]->u.cond.otherwise)))
        at--;
    return stmt_replace(s->ctx, body, path->items[at], NULL);
}

Stmt *flow_remove(Schedule *s, Stmt *body, const Stmt *block)
{
    StmtPath path = {0};
    return stmt_find(s->ctx, body, block->u.block.id, &path) ? flow_remove_end(s, body, &path)
                                                             : body;
}

static Stmt *drop_temp(Rewriter *r, Stmt *stmt)
{
    const Buffer *buffer = r->user;
    return stmt->kind == ST_TEMP && stmt->u.temp->id == buffer->id ? NULL : stmt;
}

Stmt *flow_undeclare(Schedule *s, Stmt *body, const Buffer *buffer)
{
    Rewriter r = {.ctx = s->ctx, .user = (void *)buffer, .stmt = drop_temp};
    return rewrite_stmt(&r, body);
}

Stmt *flow_declare_in(Schedule *s, Stmt *body, const Stmt *loop, Buffer *buffer)
{
    Stmt *now = loop_with_body(s->ctx, loop, flow_declare(s, loop->u.loop.body, buffer));
    return stmt_replace(s->ctx, flow_undeclare(s, body, buffer), loop, now);
}

static bool has_kind(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind != LOOP_SERIAL && s->u.loop.kind != LOOP_UNROLL;
}

/* The loops around and below the end of `path` whose kind has to be legal, from the outside in. */
static StmtList kinds_around_and_below(Context *c, const StmtPath *path)
{
    StmtList kinds = {0}, below = stmts_of_kind(c, path_end(path), ST_FOR);
    for (int i = 0; i + 1 < path->n; i++)
        if (has_kind(path->items[i]))
            VEC_PUSH(c->arena, &kinds, path->items[i]);
    for (int i = 0; i < below.n; i++)
        if (has_kind(below.items[i]))
            VEC_PUSH(c->arena, &kinds, below.items[i]);
    return kinds;
}

/* The question about one bound loop is the question about all loops of its launch. */
static bool is_asked_with(const StmtList *launch, const Stmt *loop)
{
    for (int i = 0; loop->u.loop.kind == LOOP_BIND && i < launch->n; i++)
        if (launch->items[i] == loop)
            return true;
    return false;
}

/* The kernel with a copy of the temp for each block of the grid, or each thread. */
static Kernel *with_own_copies(Schedule *s, const Kernel *kernel, const Buffer *temp, Axis axis)
{
    Buffer *own = buffer_copy(s->ctx, temp);
    own->scope = axis_is_block(axis) ? SCOPE_SHARED : SCOPE_LOCAL;
    return kernel_with_body(s->ctx, kernel, stmt_replace_buffer(s->ctx, kernel->body, temp, own));
}

/* The innermost loop of the kernel that declares the temp, at or below `outer`; NULL if none. */
static const Stmt *declaring_loop(Context *c, Stmt *outer, const Buffer *temp)
{
    const Stmt *found = NULL;
    StmtList loops = stmts_of_kind(c, outer, ST_FOR);
    for (int i = 0; i < loops.n; i++) {
        StmtList temps = stmts_of_kind(c, loops.items[i]->u.loop.body, ST_TEMP);
        for (int k = 0; k < temps.n; k++)
            found = temps.items[k]->u.temp->id == temp->id ? loops.items[i] : found;
    }
    return found;
}

/* ", or ...": the way for a temp of an iteration that is too large for memory of its own, or of
 * symbolic size; "" for others. */
static const char *expand_remedy(Context *c, Stmt *outer, const Buffer *temp, Axis axis)
{
    const Stmt *loop =
        private_scope(temp, axis) == SCOPE_GLOBAL ? declaring_loop(c, outer, temp) : NULL;
    if (!loop)
        return "";
    return arena_printf(c->arena,
                        " where the part in use has a small constant size, or each iteration "
                        "elements of its own in global memory, with expand(%s)",
                        stmt_label(loop));
}

const char *flow_scope_remedy(Schedule *s, const Kernel *kernel, const ForStmt *loop,
                              const Conflict *why)
{
    const Buffer *temp = why->buffer;
    if (!temp || temp->role != ROLE_TEMP || temp->scope != SCOPE_GLOBAL || loop->kind != LOOP_BIND)
        return "";
    const Kernel *own = with_own_copies(s, kernel, temp, loop->axis);
    Stmt *outer = stmt_find(s->ctx, own->body, loop->id, NULL);
    if (!outer ||
        flow_blocks(s, outer, temp, ACCESS_ANY).n !=
            flow_blocks(s, s->kernel->body, temp, ACCESS_ANY).n ||
        !threads_loop_kind_legal(s->ctx, own, &outer->u.loop, &(Conflict){0}))
        return "";
    bool block = axis_is_block(loop->axis);
    return arena_printf(s->ctx->arena, "give each %s a copy of '%s', with set_scope(%s, %s)%s",
                        block ? "block of the grid" : "thread", temp->name, temp->name,
                        block ? "shared" : "local", expand_remedy(s->ctx, outer, temp, loop->axis));
}

static bool is_changed(Context *c, const StmtPath *path, LaunchChange change)
{
    if (change.block && path_end(path)->u.block.id == change.block->id)
        return true;
    for (int i = 0; change.bound && i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.id == change.bound->id)
            return true;
    return change.moved && stmt_accesses(c, path->items[path->n - 1], change.moved, ACCESS_ANY);
}

/* One of the blocks accesses what the block writes. */
static bool any_access_results(Context *c, const StmtList *blocks, const Stmt *block)
{
    AccessList results = {0};
    access_collect(c, block, NULL, ACCESS_WRITE, &results);
    for (int k = 0; k < results.n; k++)
        for (int b = 0; b < blocks->n; b++)
            if (stmt_accesses(c, blocks->items[b], results.items[k].buffer, ACCESS_ANY))
                return true;
    return false;
}

/* A reduction across threads leaves its result where its readers can read it, so that a change
 * of one may change the other. */
LaunchChange flow_change_apart(Context *c, const Kernel *kernel, LaunchChange change)
{
    StmtList changed = {0}, across = {0};
    for (Cursor at = cursor_with_path(cursor_outer(c, kernel->body), NULL); cursor_next(&at);) {
        StmtPath path = {0};
        if (at.stmt->kind != ST_BLOCK)
            continue;
        cursor_way(&at, &path);
        if (is_changed(c, &path, change))
            VEC_PUSH(c->arena, &changed, at.stmt);
        if (reduction_is_across_threads(c, &path))
            VEC_PUSH(c->arena, &across, at.stmt);
    }
    for (int i = 0; i < across.n; i++)
        if (any_access_results(c, &changed, across.items[i]))
            return (LaunchChange){0};
    return change;
}

/* What holds below item number i of a path, a loop or condition, holds below item k of another. */
static bool same_scope(const StmtPath *a, int i, const StmtPath *b, int k)
{
    const Stmt *s = a->items[i], *t = b->items[k];
    const ForStmt *x = &s->u.loop, *y = &t->u.loop;
    if (s->kind != t->kind)
        return false;
    if (s->kind == ST_IF)
        return s->u.cond.cond == t->u.cond.cond &&
               (a->items[i + 1] == s->u.cond.then) == (b->items[k + 1] == t->u.cond.then);
    return s->kind == ST_FOR && x->var == y->var && x->lo == y->lo && x->hi == y->hi &&
           x->step == y->step && x->kind == y->kind && x->axis == y->axis &&
           x->annotations.n == y->annotations.n &&
           (x->annotations.n == 0 || x->annotations.items == y->annotations.items);
}

/* The same loops and conditions are around the ends of the paths. */
static bool same_around(const StmtPath *a, const StmtPath *b)
{
    for (int i = 0, k = 0;; i++, k++) {
        while (i + 1 < a->n && a->items[i]->kind == ST_SEQ)
            i++;
        while (k + 1 < b->n && b->items[k]->kind == ST_SEQ)
            k++;
        if (i + 1 == a->n || k + 1 == b->n)
            return i + 1 == a->n && k + 1 == b->n;
        if (!same_scope(a, i, b, k))
            return false;
    }
}

/* The kernel has the very loop in the same place, and its kind is legal: statements are immutable,
 * and nothing outside of the loop but the loops and conditions around it takes part in the
 * question; for a bound one, outside of its launch. */
static bool is_unchanged(Schedule *s, const StmtPath *now)
{
    StmtPath before = {0};
    const Stmt *loop = path_end(now);
    return state_find(s, loop->u.loop.id, &before) == loop && same_around(&before, now);
}

Stmt *flow_changed_launches(Schedule *s, Stmt *nest)
{
    StmtList unchanged = {0};
    for (Cursor at = cursor_outer(s->ctx, nest); cursor_next(&at);) {
        StmtPath path = {0};
        if (at.stmt->kind != ST_FOR || !has_kind(at.stmt))
            continue;
        cursor_way(&at, &path);
        if (stmt_is_bound(at.stmt) && is_unchanged(s, &path))
            VEC_PUSH(s->ctx->arena, &unchanged, at.stmt);
        cursor_prune(&at);
    }
    for (int i = 0; nest && i < unchanged.n; i++)
        nest = stmt_replace(s->ctx, nest, unchanged.items[i], NULL);
    return nest;
}

/* Asks about one loop of the kernel, which has reductions across threads in the form that they run
 * in. */
static bool recheck_kind(Schedule *s, const Kernel *kernel, const ForStmt *f, LaunchChange change,
                         Span span)
{
    Conflict why;
    bool legal = threads_loop_kind_kept(s->ctx, kernel, f, change, &why);
    const char *remedy = legal ? "" : flow_scope_remedy(s, kernel, f, &why);
    REQUIRE_KEPT(s, E0441, span, legal, &why,
                 "loop '%s' is %s, which would no longer be legal: %s%s%s", f->var->name,
                 f->kind == LOOP_BIND ? axis_name(f->axis) : loop_kind_name(f->kind), why.reason,
                 *remedy ? "; " : "", remedy);
    return true;
}

static bool recheck_kinds(Schedule *s, Stmt *body, uint32_t loop, LaunchChange change, Span span)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    StmtList launch = {0}; /* the loops of the launch asked about last */
    stmt_find(c, body, loop, &path);
    Kernel *nest = sched_kernel_around(s, kernel_with_body(c, s->kernel, body), &path);
    nest->body = flow_changed_launches(s, nest->body);
    if (!nest->body)
        return true;
    const Kernel *kernel = flow_threads_apart(s, nest, span);
    if (!kernel)
        return false;
    if (!stmt_find(c, kernel->body, loop, &path))
        return true;
    if (change.moved || change.block)
        change = flow_change_apart(c, nest, change);
    StmtList kinds = kinds_around_and_below(c, &path);
    for (int i = 0; i < kinds.n; i++) {
        if (is_asked_with(&launch, kinds.items[i]))
            continue;
        if (stmt_is_bound(kinds.items[i]))
            launch = stmts_of_kind(c, kinds.items[i], ST_FOR);
        if (!recheck_kind(s, kernel, &kinds.items[i]->u.loop, change, span))
            return false;
    }
    return true;
}

bool flow_recheck_kinds(Schedule *s, Stmt *body, uint32_t loop, Span span)
{
    return recheck_kinds(s, body, loop, (LaunchChange){0}, span);
}

/* Launches below the loop stay as they are, each in the iterations that it ran in. */
bool flow_recheck_order(Schedule *s, Stmt *body, uint32_t loop, Span span)
{
    StmtPath path = {0};
    bool around = false;
    stmt_find(s->ctx, body, loop, &path);
    for (int i = 0; i + 1 < path.n && !around; i++)
        around = has_kind(path.items[i]);
    return !around || recheck_kinds(s, body, loop, (LaunchChange){.order = true}, span);
}

/* The loops that the block loses are serial, so the launch keeps its bound loops. */
bool flow_recheck_block(Schedule *s, Stmt *body, uint32_t loop, const BlockStmt *block, Span span)
{
    return recheck_kinds(s, body, loop, (LaunchChange){.block = block}, span);
}

static bool recheck_all(Schedule *s, Stmt *body, LaunchChange change, Span span)
{
    for (Cursor at = cursor_outer(s->ctx, body); cursor_next(&at);) {
        StmtPath path = {0};
        if (at.stmt->kind != ST_FOR)
            continue;
        cursor_way(&at, &path);
        if (!is_unchanged(s, &path) && !recheck_kinds(s, body, at.stmt->u.loop.id, change, span))
            return false;
        cursor_prune(&at);
    }
    return true;
}

bool flow_recheck_all(Schedule *s, Stmt *body, Span span)
{
    return recheck_all(s, body, (LaunchChange){0}, span);
}

bool flow_recheck_moved(Schedule *s, Stmt *body, const Buffer *moved, Span span)
{
    return recheck_all(s, body, (LaunchChange){.moved = moved}, span);
}

const Kernel *flow_threads_apart(Schedule *s, const Kernel *kernel, Span span)
{
    ThreadReduction refused;
    const Kernel *apart = thread_reductions_apart(s->ctx, kernel, &refused);
    if (!apart) {
        sched_refuse(s, E0480, span, "%s", refused.why);
        sched_note_at(s, refused.lanes, "loop '%s' would be", stmt_label(refused.lanes));
    }
    return apart;
}

Threads *flow_threads(Schedule *s, Stmt *body, const StmtPath *path, Span span)
{
    const Stmt *root = NULL;
    const Kernel *kernel = flow_threads_apart(s, kernel_with_body(s->ctx, s->kernel, body), span);
    if (!kernel)
        return NULL;
    for (int i = 0; !root; i++)
        root = path->items[i]->kind == ST_FOR ? path->items[i] : NULL;
    return threads_model(s->ctx, kernel, stmt_find(s->ctx, kernel->body, root->u.loop.id, NULL));
}

static Stmt *serial_loop(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_FOR || s->u.loop.kind == LOOP_SERIAL)
        return s;
    ForStmt loop = s->u.loop;
    loop.kind = LOOP_SERIAL;
    loop.axis = AXIS_NONE;
    return stmt_stamp(stmt_for(r->ctx, &loop, s->span), s);
}

/* The path leads from the body of the kernel; in the same iteration of its first n loops. */
static bool written_within(Context *c, const Kernel *kernel, const StmtPath *path,
                           const Buffer *buffer, int n)
{
    int at = 0;
    while (path->items[at]->kind != ST_FOR)
        at++;
    Stmt *root = rewrite_stmt(&(Rewriter){.ctx = c, .stmt = serial_loop}, path->items[at]);
    Stmt *body = stmt_replace(c, kernel->body, path->items[at], root);
    Threads *threads = threads_model(c, kernel_with_body(c, kernel, body), root);
    return threads_reads_covered(threads, buffer, n);
}

bool flow_written_before_read(Schedule *s, const StmtPath *path, const Buffer *buffer)
{
    return written_within(s->ctx, s->kernel, path, buffer, 0);
}

bool flow_written_in_iteration(Schedule *s, Stmt *body, const StmtPath *path, const Buffer *buffer)
{
    const Kernel *kernel = kernel_with_body(s->ctx, s->kernel, body);
    return written_within(s->ctx, kernel, path, buffer, sched_loops_on(s, path, NULL));
}

bool flow_kernel_writes_before_use(Schedule *s, const Kernel *kernel, const Buffer *buffer)
{
    Context *c = s->ctx;
    ForStmt once = flow_loop(s, "once", expr_index(c, 0), expr_index(c, 1));
    once.body = kernel->body;
    Stmt *root = stmt_for(c, &once, kernel->body->span);
    StmtPath path = {0};
    VEC_PUSH(c->arena, &path, root);
    return written_within(c, kernel_with_body(c, kernel, root), &path, buffer,
                          loops_around_temp(c, root, buffer));
}

bool flow_written_before_use(Schedule *s, Stmt *body, const Buffer *buffer)
{
    return flow_kernel_writes_before_use(s, kernel_with_body(s->ctx, s->kernel, body), buffer);
}

/* The largest value of a subscript of the access: its iterators are in their domains, and have the
 * values that loops give them. NULL: it is not known. */
static Expr *largest_subscript(Context *c, Facts *facts, const Access *access, Expr *at)
{
    VEC(const Var *) loops = {0}, iters = {0};
    Expr *of_loops = at;
    for (int k = access->path.n - 1; k >= 0; k--)
        if (access->path.items[k].stmt->kind == ST_BLOCK)
            of_loops = iters_to_loops(c, &access->path.items[k].stmt->u.block, of_loops);
    for (int k = 0; k < access->path.n; k++) {
        const Stmt *stmt = access->path.items[k].stmt;
        facts_enter_enclosing(facts, access->path.items[k]);
        if (stmt->kind == ST_FOR)
            VEC_PUSH(c->arena, &loops, stmt->u.loop.var);
        for (int i = 0; stmt->kind == ST_BLOCK && i < stmt->u.block.n_iters; i++)
            VEC_PUSH(c->arena, &iters, stmt->u.block.iters[i].var);
    }
    bool exact;
    Expr *by_loops = largest_over(facts, simplify(facts, of_loops), loops.items, loops.n, &exact);
    Expr *by_domain = largest_over(facts, simplify(facts, at), iters.items, iters.n, &exact);
    return !by_loops || !by_domain ? by_loops ? by_loops : by_domain
                                   : index_min(c, by_loops, by_domain);
}

Expr *flow_end_of_accesses(Schedule *s, const Buffer *buffer, int axis, AccessMode mode)
{
    Context *c = s->ctx;
    AccessList all = access_list(c, s->kernel->body, buffer, mode);
    Expr *end = expr_index(c, 0);
    for (int i = 0; i < all.n; i++) {
        const Access *access = &all.items[i];
        Facts *facts = facts_of_kernel(c, s->kernel);
        Expr *most = largest_subscript(c, facts, access, access->index[axis]);
        if (!most)
            return NULL;
        end = index_max(c, end, index_add(c, most, expr_index(c, 1)));
    }
    return end;
}

ForStmt flow_loop(Schedule *s, Name name, Expr *lo, Expr *hi)
{
    return (ForStmt){
        .var = var_new(s->ctx, name, DT_INDEX, VAR_LOOP, span_none()),
        .lo = lo,
        .hi = hi,
        .step = 1,
        .kind = LOOP_SERIAL,
        .axis = AXIS_NONE,
        .id = ctx_new_id(s->ctx),
    };
}
