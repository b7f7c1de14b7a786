/* dead.c - Drops what no output depends on: temporaries whose values nothing uses, with the blocks
 * that compute them, stores that nothing reads, and those that the next statements overwrite.
 *
 *   temp t: f32[8];              drop_dead_blocks              a[0] = x[i];     drop_dead_stores
 *   for i in 8 {                 =>  for i in 8                a[0] = 3.0;      =>  a[0] = 3.0;
 *       t[i] = x[i];                     y[i] = 2.0 * x[i];    y[i] = a[0];         y[i] = a[0];
 *       y[i] = 2.0 * x[i];
 *   }
 *
 * A block is needed if it writes a parameter, or a temporary that a needed block reads. Blocks are
 * kept or dropped as a whole; nothing outside of blocks reads a temporary. So a dead copy in shared
 * memory leaves no barrier, and a dead array in global memory needs no workspace. Of a block that
 * is kept, stores to memory of a launch go if nothing reads it: of a tuple, the program may use
 * one component alone. */
#include "passes/lower/pass.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    VEC(const Buffer *) needed; /* temporaries */
    StmtList undecided, kept;   /* blocks */
} Dead;

static bool is_needed(const Dead *d, const Buffer *b)
{
    for (int i = 0; i < d->needed.n; i++)
        if (d->needed.items[i]->id == b->id)
            return true;
    return b->role != ROLE_TEMP;
}

static void need(Dead *d, const Buffer *b)
{
    if (!is_needed(d, b))
        VEC_PUSH(d->c->arena, &d->needed, b);
}

static bool writes_needed(const Dead *d, const Stmt *block)
{
    for (Cursor at = cursor_stmts(d->c, block); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && is_needed(d, at.stmt->u.store.buffer))
            return true;
    return false;
}

static void keep(Dead *d, Stmt *block)
{
    VEC_PUSH(d->c->arena, &d->kept, block);
    for (Cursor at = cursor_stmt(d->c, block); cursor_next(&at);)
        if (at.expr && at.expr->kind == EX_LOAD)
            need(d, at.expr->u.load.buffer);
        else if (at.stmt && at.stmt->kind == ST_STORE)
            need(d, at.stmt->u.store.buffer);
}

/* One round: keeps the undecided blocks that write what is needed by now. */
static bool keep_more(Dead *d)
{
    StmtList later = {0};
    bool more = false;
    for (int i = 0; i < d->undecided.n; i++) {
        Stmt *block = d->undecided.items[i];
        if (!writes_needed(d, block)) {
            VEC_PUSH(d->c->arena, &later, block);
            continue;
        }
        keep(d, block);
        more = true;
    }
    d->undecided = later;
    return more;
}

static Stmt *sweep(void *user, Stmt *s)
{
    Dead *d = user;
    if (s->kind == ST_TEMP)
        return is_needed(d, s->u.temp) ? s : NULL;
    for (int i = 0; s->kind == ST_BLOCK && i < d->undecided.n; i++)
        if (d->undecided.items[i] == s)
            return NULL;
    return stmt_map_children(d->c, s, sweep, d);
}

Kernel *pass_drop_dead_blocks(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Dead d = {.c = c};
    for (Cursor at = cursor_outer(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK)
            VEC_PUSH(c->arena, &d.undecided, at.stmt);
    while (keep_more(&d))
        ;
    Stmt *body = sweep(&d, kernel->body);
    return kernel_with_body(c, kernel, body ? body : stmt_seq(c, NULL, 0, kernel->span));
}

/* ---- stores ---------------------------------------------------------------------------------- */

static bool stmt_reads(const Stmt *s, const Buffer *b)
{
    for (int k = 0; k < stmt_operands(s); k++)
        if (expr_reads(stmt_operand(s, k), b))
            return true;
    return s->kind == ST_STORE && s->u.store.buffer->id == b->id && store_updates(s->u.store.op);
}

/* Its element is the same until another statement writes what its subscripts read. */
static bool has_fixed_element(const StoreStmt *store)
{
    for (int axis = 0; axis < store->buffer->rank; axis++)
        if (expr_loads_change(store->index[axis]))
            return false;
    return true;
}

static bool overwrites(const Stmt *later, const StoreStmt *store)
{
    const StoreStmt *by = &later->u.store;
    return later->kind == ST_STORE && by->buffer->id == store->buffer->id &&
           exprs_equal(by->index, store->index, store->buffer->rank);
}

/* One of the statements behind the store overwrites its element, and none before that reads the
 * buffer, or is more than a name or a store. No other thread can rely on the value, which only a
 * barrier would let it see. */
static bool is_overwritten(const StoreStmt *store, Stmt *const *behind, int n)
{
    for (int i = 0; has_fixed_element(store) && i < n; i++) {
        bool passes =
            behind[i]->kind == ST_LET || behind[i]->kind == ST_STORE || behind[i]->kind == ST_TEMP;
        if (!passes || stmt_reads(behind[i], store->buffer))
            return false;
        if (overwrites(behind[i], store))
            return true;
    }
    return false;
}

/* From the last statement to the first: what a dropped store reads is not needed for it. */
static Stmt *drop_overwritten(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_SEQ)
        return s;
    int n = s->u.seq.n, kept = n;
    Stmt **items = ARENA_ARRAY(r->ctx->arena, Stmt *, n + 1);
    for (int k = n - 1; k >= 0; k--) {
        Stmt *item = s->u.seq.items[k];
        if (item->kind != ST_STORE || !is_overwritten(&item->u.store, items + kept, n - kept))
            items[--kept] = item;
    }
    return kept > 0 ? stmt_seq(r->ctx, items + kept, n - kept, s->span) : s;
}

/* ---- values that nothing reads --------------------------------------------------------------- */

typedef struct {
    const bool *read; /* [id of a buffer] */
    bool (*goes)(const Buffer *b);
} Unread;

/* Loads read, and so do instructions; a copy under way may be what a wait is for. */
static bool *buffers_read(Context *c, const Stmt *body)
{
    bool *read = ARENA_ARRAY(c->arena, bool, c->next_id);
    for (Cursor at = cursor_stmt(c, body); cursor_next(&at);)
        if (at.expr && at.expr->kind == EX_LOAD)
            read[at.expr->u.load.buffer->id] = true;
        else if (at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.op == STORE_ASYNC)
            read[at.stmt->u.store.buffer->id] = true;
    return read;
}

static Stmt *drop_unread(Rewriter *r, Stmt *s)
{
    const Unread *u = r->user;
    const Buffer *b = s->kind == ST_STORE  ? s->u.store.buffer
                      : s->kind == ST_TEMP ? s->u.temp
                                           : NULL;
    if (b)
        return u->goes(b) && !u->read[b->id] ? NULL : s;
    return s->kind == ST_BLOCK && stmt_is_empty(s->u.block.body) ? NULL : s;
}

static Stmt *without_unread(Context *c, Stmt *body, bool (*goes)(const Buffer *b))
{
    Unread u = {buffers_read(c, body), goes};
    return rewrite_stmt(&(Rewriter){.ctx = c, .user = &u, .stmt = drop_unread}, body);
}

/* Memory of a launch: no other launch reads it. */
static bool is_of_launch(const Buffer *b)
{
    return b->role == ROLE_TEMP && !scope_outlives_launch(b->scope);
}

static bool is_of_thread(const Buffer *b)
{
    return b->role == ROLE_TEMP && b->scope == SCOPE_LOCAL;
}

Kernel *pass_drop_unread_stores(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    return kernel_with_body(c, kernel, without_unread(c, kernel->body, is_of_launch));
}

/* A value that only a dropped store has read goes with it, and what that has read. */
Kernel *pass_drop_dead_stores(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Rewriter r = {.ctx = c, .stmt = drop_overwritten};
    Stmt *body = rewrite_stmt(&r, kernel->body), *before;
    do {
        before = body;
        body = without_unread(c, body, is_of_thread);
        body = body == before ? body : drop_unused_names(c, body);
    } while (body && body != before);
    return kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span));
}
