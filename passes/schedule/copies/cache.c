/* cache.c - Implements cache_read, cache_write and set_scope: keeps the same values in another
 * memory.
 *
 * Legal: all accesses of the buffer that the copy stands for come after (a read) or before (a
 * write) the copy, and nothing else changes the buffer between them.
 * Invariant: every access finds the value that it found in the buffer itself. */
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/enter.h"

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
    if (!expr_is_load(e, d->from) ||
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
            return rewrite_stmt(&(Rewriter){.ctx = r->ctx, .user = d, .expr = redirect_load}, stmt);
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
    bool behind;  /* the copy stands behind the writer, not before the first consumer */
    bool earlier; /* the consumer writes the buffer, but reads what was there before the copy */
    Stmt *writer; /* then */
} CacheRead;

static bool find_consumers(CacheRead *r)
{
    Schedule *s = r->s;
    const Value *given = &r->call->cache_read.consumers;
    if (given->kind == VALUE_NONE) {
        r->consumers = flow_blocks(s, s->kernel->body, r->buffer, ACCESS_READ);
        return true;
    }
    for (int i = 0; i < given->u.list.n; i++) {
        const Value *v = &given->u.list.items[i];
        Stmt *block = sched_node(s, v, NULL);
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
    VEC(Expr *const *) different = {0};
    const Value *access = &r->call->cache_read.access;
    if (access->kind == VALUE_NONE)
        return true;
    REQUIRE(s, E0442, access->span, r->consumers.n == 1 && r->consumers.items[0] == r->block,
            "access selects subscripts of one block, but %d blocks would use the copy; give "
            "consumers = [%s]",
            r->consumers.n, r->block->u.block.name);
    AccessList reads = access_list(s->ctx, r->block, r->buffer, ACCESS_READ);
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

/* The buffer has one writer, and no values from before the kernel: a copy of what that writes, made
 * behind it, has what all consumers read. */
static bool find_writer(CacheRead *r)
{
    Schedule *s = r->s;
    BufferSet staged = {0};
    BlockList writers = flow_blocks(s, s->kernel->body, r->buffer, ACCESS_WRITE);
    if (writers.n != 1 || r->buffer->role == ROLE_INOUT)
        return false;
    VEC_PUSH(s->ctx->arena, &staged, r->buffer);
    r->place = (StagePlace){0};
    stage_place(s, &writers, &staged, ACCESS_ANY, &r->place);
    r->writer = writers.items[0];
    return true;
}

/* The block reads the buffer not only to update what it stores. */
static bool has_loads(const CacheRead *r, Stmt *block)
{
    AccessList reads = access_list(r->s->ctx, block, r->buffer, ACCESS_READ);
    for (int i = 0; i < reads.n; i++)
        if (reads.items[i].load)
            return true;
    return false;
}

/* The only consumer writes the buffer, too, but its loads find what was there before the whole nest
 * around it, where the copy stands. */
static bool find_earlier(CacheRead *r, Span span)
{
    Schedule *s = r->s;
    Conflict why = {0};
    Stmt *block = r->consumers.items[0];
    const ReadsOf reads = {block->u.block.id, r->buffer, r->only};
    r->place = stage_outermost(s, block);
    Stmt *nest = stmt_item(r->place.parent, r->place.first);
    r->earlier =
        r->consumers.n == 1 && has_loads(r, block) && !stmt_declares(s->ctx, nest, r->buffer);
    REQUIRE(s, E0443, span, r->earlier,
            "block '%s' also writes '%s', so a copy made before it would miss what it writes",
            block->u.block.name, r->buffer->name);
    REQUIRE_KEPT(s, E0443, span, dependence_reads_earlier(s->ctx, s->kernel, nest, &reads, &why),
                 &why,
                 "block '%s' also writes '%s', and a copy made before it would miss what it writes",
                 block->u.block.name, r->buffer->name);
    return true;
}

/* One copy, made before the first consumer or behind the writer, has what all of them read. */
static bool find_place(CacheRead *r)
{
    Schedule *s = r->s;
    Span span = r->call->cache_read.buffer.span;
    BufferSet staged = {0};
    for (int i = 0; i < r->consumers.n; i++)
        if (!flow_require_no_range(s, r->consumers.items[i], r->buffer, span))
            return false;
    for (int i = 0; i < r->consumers.n; i++)
        if (stmt_accesses(s->ctx, r->consumers.items[i], r->buffer, ACCESS_WRITE))
            return find_earlier(r, span);
    VEC_PUSH(s->ctx->arena, &staged, r->buffer);
    r->behind = !stage_place(s, &r->consumers, &staged, ACCESS_WRITE, &r->place);
    REQUIRE(s, E0443, span, !r->behind || find_writer(r),
            "'%s' is written between the blocks that read it, so no single copy serves all of "
            "them; select readers with consumers = [...]",
            r->buffer->name);
    return true;
}

static Stmt *copy_for_reads(const CacheRead *r, Buffer *cache)
{
    Schedule *s = r->s;
    StmtPath path = {0};
    if (!r->behind)
        return stage_copy_box(
            s, r->consumers.items[0],
            &(BoxCopy){
                .block = cache->name, .to = cache, .from = r->buffer, .span = r->block->span});
    WrittenCopy copy = {
        cache->name, r->buffer, cache, r->buffer, E0443, r->call->cache_read.buffer.span, NULL};
    stmt_find(s->ctx, s->kernel->body, r->writer->u.block.id, &path);
    return stage_copy_written(s, &copy, &path, &r->place);
}

bool prim_cache_read(Schedule *s, const PrimCall *call, Value *result)
{
    CacheRead r = {.s = s, .call = call};
    Stmt *block = r.block = sched_node(s, &call->cache_read.block, NULL);
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
    Stmt *nest = copy_for_reads(&r, cache);
    if (!nest)
        return false;
    Redirect d = {buffer, cache, &r.consumers, r.only};
    Rewriter rewriter = {.ctx = s->ctx, .user = &d, .stmt = redirect_block};
    Stmt *copied = stage_insert(s, &r.place, r.behind ? NULL : nest, r.behind ? nest : NULL);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, r.place.parent, copied);
    body = flow_declare_beside(s, rewrite_stmt(&rewriter, body), buffer, cache);
    REQUIRE(
        s, E0443, call->cache_read.buffer.span, !r.earlier || enter_has_values(s, body, buffer),
        "some elements of '%s' may have no value where the copy would read them; initialize the "
        "whole buffer first",
        buffer->name);
    if ((r.behind || r.earlier) && !flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);

    *result = value_block(stmt_nest_block(nest));
    return true;
}

/* ---- cache_write ----------------------------------------------------------------------------- */

/* The copy for the writes of a block, and for the reads of some others. */
typedef struct {
    Schedule *s;
    const PrimCall *call;
    Stmt *block;
    Buffer *buffer;
    BlockList consumers;
    Start start;
} CacheWrite;

/* The buffer that is asked for, or the only one that the block writes. */
static bool find_written(CacheWrite *w)
{
    Schedule *s = w->s;
    const Value *given = &w->call->cache_write.buffer;
    if (given->kind == VALUE_NONE) {
        w->buffer = flow_written(s, w->block);
        REQUIRE(s, E0444, w->call->cache_write.block.span, w->buffer,
                "block '%s' writes several buffers; choose one with buffer = ...",
                w->block->u.block.name);
        return true;
    }
    w->buffer = sched_buffer(s, given->u.id);
    REQUIRE(s, E0444, given->span, stmt_accesses(s->ctx, w->block, w->buffer, ACCESS_WRITE),
            "block '%s' does not write '%s'; name a buffer that it writes", w->block->u.block.name,
            w->buffer->name);
    return true;
}

static bool find_readers(CacheWrite *w)
{
    Schedule *s = w->s;
    const Value *given = &w->call->cache_write.consumers;
    int n = given->kind == VALUE_NONE ? 0 : given->u.list.n;
    for (int i = 0; i < n; i++) {
        const Value *v = &given->u.list.items[i];
        Stmt *block = sched_node(s, v, NULL);
        REQUIRE(s, E0444, v->span,
                block != w->block && stmt_accesses(s->ctx, block, w->buffer, ACCESS_READ),
                "block '%s' does not read '%s' behind block '%s', so it cannot read its copy",
                block->u.block.name, w->buffer->name, w->block->u.block.name);
        REQUIRE(s, E0444, v->span, w->buffer->role != ROLE_INOUT,
                "'%s' has values before the kernel, which block '%s' might read and the copy would "
                "lack",
                w->buffer->name, block->u.block.name);
        VEC_PUSH(s->ctx->arena, &w->consumers, block);
    }
    return true;
}

/* A loop that holds nothing else, and does not carry the reduction of the block. */
static Stmt *lone_loop(const Stmt *block, const StagePlace *place)
{
    Stmt *only = stmt_item(place->parent, place->first);
    bool lone = only->kind == ST_FOR && place->first == place->last &&
                !block_uses_loop(&block->u.block, ITER_REDUCE, only->u.loop.var);
    return lone ? only : NULL;
}

/* Below the outermost statement in which no other block accesses the buffer; partial results, where
 * their terms read other elements of it, in the outermost one that updates none of these. */
static void find_write_place(const CacheWrite *w, const StmtPath *path, StagePlace *place)
{
    Schedule *s = w->s;
    BlockList users = {0};
    BufferSet staged = {0};
    VEC_PUSH(s->ctx->arena, &users, w->start.block);
    VEC_PUSH(s->ctx->arena, &staged, w->buffer);
    for (;;) {
        stage_place(s, &users, &staged, ACCESS_ANY, place);
        Stmt *loop = lone_loop(w->start.block, place);
        if (!loop || stage_has_parts(s, &w->start, path, stage_place_on(path, place)))
            return;
        place->parent = loop->u.loop.body;
    }
}

/* The copy stands behind the outermost statement in which no block but the writer, and those that
 * read the copy, accesses the buffer, or further inside where results are partial. */
static Stmt *write_behind(const CacheWrite *w, Buffer *cache, Stmt **nest)
{
    Schedule *s = w->s;
    Context *c = s->ctx;
    Span span = w->call->cache_write.block.span;
    StmtPath path = {0};
    Redirect d = {w->buffer, cache, &w->consumers, NULL};
    Rewriter rewriter = {.ctx = c, .user = &d, .stmt = redirect_block};
    Stmt *begun = stmt_replace(c, s->kernel->body, w->block, w->start.block);
    Stmt *body = rewrite_stmt(&rewriter, begun);
    StagePlace place = {.parent = body};
    stmt_find(c, body, w->block->u.block.id, &path);
    find_write_place(w, &path, &place);
    if (!stage_start_within(s, &w->start, &path, stage_place_on(&path, &place), span))
        return NULL;
    WrittenCopy copy = {cache->name,
                        w->buffer,
                        w->buffer,
                        cache,
                        E0444,
                        span,
                        w->start.op == STORE_SET ? NULL : &w->start};
    *nest = stage_copy_written(s, &copy, &path, &place);
    if (!*nest)
        return NULL;
    Stmt *copied = stage_insert(s, &place, NULL, *nest);
    body = stmt_replace(c, body, place.parent, copied);
    Stmt *redirected = stage_redirected(c, &w->start, w->buffer, cache);
    return stmt_replace(c, body, w->start.block, redirected);
}

/* Where the copy updates elements, each has a value, also those that the block leaves alone. */
static bool is_valued(const CacheWrite *w, Stmt *body)
{
    return w->start.op == STORE_SET || w->start.init || enter_has_values(w->s, body, w->buffer);
}

bool prim_cache_write(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    CacheWrite w = {.s = s, .call = call};
    Span span = call->cache_write.block.span;
    Scope scope = scope_find(call->cache_write.scope.u.s);
    w.block = sched_node(s, &call->cache_write.block, &path);
    if (!find_written(&w) || !find_readers(&w))
        return false;
    bool partial = call->cache_write.partial.kind == VALUE_BOOL && call->cache_write.partial.u.i;
    WriteOf of = {w.buffer, partial, w.consumers.n > 0, span};
    REQUIRE(s, E0444, call->cache_write.partial.span, !partial || w.consumers.n == 0,
            "the copy has partial results, which its consumers would read; omit consumers");
    if (!flow_require_fixed_shape(s, w.buffer, E0444, span) ||
        !stage_start(s, &path, &of, &w.start))
        return false;

    Stmt *nest;
    Buffer *cache = stage_buffer(s, w.buffer, scope_name(scope), scope, call->span);
    Stmt *body = write_behind(&w, cache, &nest);
    if (!body)
        return false;
    body = flow_declare_beside(s, body, w.buffer, cache);
    REQUIRE(s, E0444, span, is_valued(&w, body),
            "some elements of '%s' may have no value before block '%s', and all are updated behind "
            "it; initialize the whole buffer first",
            w.buffer->name, w.block->u.block.name);
    if (w.consumers.n > 0 && !flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
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
    if (!flow_recheck_moved(s, body, moved, call->span))
        return false;
    sched_replace_body(s, body);
    (void)result;
    return true;
}
