/* cache.c - Implements cache_read, cache_write and set_scope: keeps the same values in another
 * memory.
 *
 * Legal: all accesses of the buffer that the copy stands for come after (a read) or before (a
 * write) the copy, and nothing else changes the buffer between them.
 * Invariant: every access finds the value that it found in the buffer itself. */
#include "passes/schedule/copies/stage.h"

/* ---- cache_read ------------------------------------------------------------------------------ */

typedef struct {
    const Buffer *from;
    Buffer *to;
    const BlockList *blocks;
    Expr *const *only; /* the subscripts of the loads that change; NULL: of all */
} Redirect;

static Expr *redirect_load(Rewriter *r, Expr *e)
{
    Redirect *d = r->user;
    if (e->kind != EX_LOAD || e->u.load.buffer->id != d->from->id ||
        (d->only && !exprs_equal(e->u.load.index, d->only, d->from->rank)))
        return e;
    return expr_load(r->ctx, d->to, e->u.load.index, e->span);
}

/* Blocks are rewritten whole, so that loads outside the consumers stay. */
static Stmt *redirect_block(Rewriter *r, Stmt *stmt)
{
    Redirect *d = r->user;
    if (stmt->kind != ST_BLOCK)
        return stmt;
    for (int i = 0; i < d->blocks->n; i++)
        if (d->blocks->items[i]->u.block.id == stmt->u.block.id) {
            Rewriter loads = {.ctx = r->ctx, .user = d, .expr = redirect_load};
            return rewrite_stmt(&loads, stmt);
        }
    return stmt;
}

/* A copy for the reads of some blocks. */
typedef struct {
    Schedule *s;
    const PrimCall *call;
    Stmt *block;
    Buffer *buffer;
    BlockList consumers;
    Expr *const *only; /* the subscripts of the reads that use it; NULL: all do */
    StagePlace place;
} CacheRead;

static bool find_consumers(CacheRead *r)
{
    Schedule *s = r->s;
    StmtPath path = {0};
    const Value *given = &r->call->cache_read.consumers;
    if (given->kind == VALUE_NONE) {
        flow_blocks(s, s->kernel->body, r->buffer, ACCESS_READ, &r->consumers);
        return true;
    }
    for (int i = 0; i < given->u.list.n; i++) {
        const Value *v = &given->u.list.items[i];
        Stmt *block = sched_block(s, v, &path);
        REQUIRE(s, E0442, v->span, stmt_accesses(s->ctx, block, r->buffer, ACCESS_READ),
                "block '%s' does not read '%s', so it cannot read its copy", block->u.block.name,
                r->buffer->name);
        VEC_PUSH(s->ctx->arena, &r->consumers, block);
    }
    return true;
}

/* The n-th of the different subscripts that the block reads the buffer at, in the order of the
 * text. */
static bool find_subscripts(CacheRead *r)
{
    Schedule *s = r->s;
    AccessList reads = {0};
    VEC(Expr *const *) different = {0};
    const Value *access = &r->call->cache_read.access;
    if (access->kind == VALUE_NONE)
        return true;
    REQUIRE(s, E0442, access->span, r->consumers.n == 1 && r->consumers.items[0] == r->block,
            "access selects subscripts of one block, but %d blocks would use the copy; give "
            "consumers = [%s]",
            r->consumers.n, r->block->u.block.name);
    access_collect(s->ctx, r->block, r->buffer, ACCESS_READ, &reads);
    for (int i = 0; i < reads.n; i++) {
        bool known = false;
        for (int k = 0; k < different.n; k++)
            known |= exprs_equal(reads.items[i].index, different.items[k], r->buffer->rank);
        if (!known)
            VEC_PUSH(s->ctx->arena, &different, reads.items[i].index);
    }
    int64_t n = access->u.i;
    REQUIRE(s, E0442, access->span, n >= 0 && n < different.n,
            "block '%s' reads '%s' at %d different subscripts, numbered from 0; %lld is out of "
            "range",
            r->block->u.block.name, r->buffer->name, different.n, (long long)n);
    r->only = different.items[n];
    return true;
}

/* One copy, made before the first consumer, has what all of them read. */
static bool find_place(CacheRead *r)
{
    Schedule *s = r->s;
    Span span = r->call->cache_read.buffer.span;
    BufferSet staged = {0};
    for (int i = 0; i < r->consumers.n; i++)
        REQUIRE(s, E0443, span,
                !stmt_accesses(s->ctx, r->consumers.items[i], r->buffer, ACCESS_WRITE),
                "block '%s' also writes '%s', so a copy made before it would miss what it writes",
                r->consumers.items[i]->u.block.name, r->buffer->name);
    VEC_PUSH(s->ctx->arena, &staged, r->buffer);
    REQUIRE(s, E0443, span, stage_place(s, &r->consumers, &staged, ACCESS_WRITE, &r->place),
            "'%s' is written between the blocks that read it, so no single copy serves all of "
            "them; select readers with consumers = [...]",
            r->buffer->name);
    return true;
}

bool prim_cache_read(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    CacheRead r = {.s = s, .call = call};
    Stmt *block = r.block = sched_block(s, &call->cache_read.block, &path);
    Buffer *buffer = r.buffer = sched_buffer(s, call->cache_read.buffer.u.id);
    Scope scope = scope_find(call->cache_read.scope.u.s);
    REQUIRE(s, E0442, call->cache_read.buffer.span,
            stmt_accesses(s->ctx, block, buffer, ACCESS_READ),
            "block '%s' does not read '%s'; name a buffer that it reads", block->u.block.name,
            buffer->name);
    if (!flow_require_fixed_shape(s, buffer, E0443, call->cache_read.buffer.span) ||
        !find_consumers(&r) || !find_subscripts(&r) || !find_place(&r))
        return false;

    Buffer *cache = stage_buffer(s, buffer, scope_name(scope), scope, call->span);
    Stmt *nest = stage_copy_box(
        s, r.consumers.items[0],
        &(BoxCopy){.block = cache->name, .to = cache, .from = buffer, .span = block->span});
    Redirect d = {buffer, cache, &r.consumers, r.only};
    Rewriter rewriter = {.ctx = s->ctx, .user = &d, .stmt = redirect_block};
    Stmt *copied = rewrite_stmt(&rewriter, stage_insert(s, &r.place, nest, NULL));
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, r.place.parent, copied);
    sched_replace_body(s, flow_declare_beside(s, body, buffer, cache));

    *result = value_block(stmt_nest_block(nest));
    return true;
}

/* ---- cache_write ----------------------------------------------------------------------------- */

static Stmt *write_nest(Schedule *s, Stmt *block, const Stmt *store, Buffer *from, Span span)
{
    Context *c = s->ctx;
    Buffer *to = store->u.store.buffer;
    int *used = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    int n = stage_written_iters(block, store, used);
    Var **vars = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n + 1), **hi = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, n + 1);
    for (int i = 0; i < n; i++) {
        const BlockIter *iter = &block->u.block.iters[used[i]];
        vars[i] = var_new(c, iter->var->name, DT_INDEX, VAR_ITER, span);
        lo[i] = expr_subst(c, iter->lo, map, i);
        hi[i] = expr_subst(c, iter->hi, map, i);
        map[i] = (Subst){iter->var, expr_var(c, vars[i], span)};
    }
    Expr **index = ARENA_ARRAY(c->arena, Expr *, to->rank + 1);
    for (int axis = 0; axis < to->rank; axis++)
        index[axis] = expr_subst(c, store->u.store.index[axis], map, n);
    StageNest copy = {from->name,
                      n,
                      vars,
                      lo,
                      hi,
                      NULL,
                      stage_copy(s, (BufferElement){.buffer = to, .index = index},
                                 (BufferElement){.buffer = from, .index = index}, span),
                      NULL};
    return stage_nest(s, &copy, span);
}

/* The domains of the iterators that index the buffer speak of each other only: the copy has no
 * others. */
static bool require_own_domains(Schedule *s, const Stmt *block, const Stmt *store, Span span)
{
    const BlockStmt *b = &block->u.block;
    int *used = ARENA_ARRAY(s->ctx->arena, int, b->n_iters + 1);
    int n = stage_written_iters(block, store, used);
    for (int i = 0; i < b->n_iters; i++) {
        bool indexes = false;
        for (int k = 0; k < n; k++)
            indexes |= used[k] == i;
        for (int k = 0; k < n && !indexes; k++)
            REQUIRE(s, E0444, span,
                    !expr_uses_var(b->iters[used[k]].lo, b->iters[i].var) &&
                        !expr_uses_var(b->iters[used[k]].hi, b->iters[i].var),
                    "the elements that block '%s' writes depend on its iterator '%s', which is not "
                    "a subscript of '%s', so a single copy cannot hold them",
                    b->name, b->iters[i].var->name, store->u.store.buffer->name);
    }
    return true;
}

bool prim_cache_write(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *block = sched_block(s, &call->cache_write.block, &path);
    Scope scope = scope_find(call->cache_write.scope.u.s);
    const Stmt *store = flow_single_store(s->ctx, block);
    StagePlace place;
    REQUIRE(s, E0444, call->cache_write.block.span, store && flow_written(s, block),
            "block '%s' %s; give it one store to redirect", block->u.block.name,
            flow_no_single_store(s->ctx, block));
    Buffer *buffer = sched_buffer(s, store->u.store.buffer->id);
    if (!flow_require_fixed_shape(s, buffer, E0444, call->cache_write.block.span) ||
        !require_own_domains(s, block, store, call->cache_write.block.span) ||
        !stage_can_write(s, &path, store, call->cache_write.block.span, &place))
        return false;

    Buffer *cache = stage_buffer(s, buffer, scope_name(scope), scope, call->span);
    Stmt *nest = write_nest(s, block, store, cache, block->span);
    Stmt *redirected = stmt_replace_buffer(s->ctx, block, buffer, cache);
    Stmt *copied = stage_insert(s, &place, NULL, nest);
    copied = stmt_replace(s->ctx, copied, block, redirected);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, place.parent, copied);
    sched_replace_body(s, flow_declare_beside(s, body, buffer, cache));
    *result = value_block(stmt_nest_block(nest));
    return true;
}

/* ---- set_scope ------------------------------------------------------------------------------- */

bool prim_set_scope(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->set_scope.buffer.u.id);
    Scope scope = scope_find(call->set_scope.scope.u.s);
    REQUIRE(s, E0445, call->set_scope.buffer.span, buffer->role == ROLE_TEMP,
            "'%s' is a parameter, which is in global memory; copy it with cache_read or "
            "cache_write instead",
            buffer->name);
    REQUIRE(s, E0445, call->set_scope.scope.span, !scope_outlives_launch(scope) || !buffer->layout,
            "'%s' is padded, and buffers in %s memory have no padding", buffer->name,
            scope_name(scope));
    Buffer *moved = buffer_copy(s->ctx, buffer);
    moved->scope = scope;
    moved->origin = call->span;
    Stmt *body = stmt_replace_buffer(s->ctx, s->kernel->body, buffer, moved);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    (void)result;
    return true;
}
