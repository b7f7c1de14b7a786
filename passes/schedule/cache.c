/* cache.c - cache_read, cache_write, set_scope: the same values in another memory. */
#include "passes/schedule/flow.h"

/* ---- where a copy stands --------------------------------------------------------------------------- */

/* A place in a statement list: before or after item `index` of `parent` (a seq, or a lone statement with index 0). */
typedef struct {
    Stmt *parent;
    int first, last; /* the items that touch the buffer */
} Place;

/* The items of `stmt` (itself, if it is no seq) that touch `buffer` through one of `blocks`. */
static Place place_of(Stmt *stmt, const BlockList *blocks, Context *c)
{
    Place place = {stmt, -1, -1};
    int n = stmt->kind == ST_SEQ ? stmt->u.seq.n : 1;
    for (int i = 0; i < n; i++) {
        Stmt *item = stmt->kind == ST_SEQ ? stmt->u.seq.items[i] : stmt;
        for (int b = 0; b < blocks->n; b++) {
            StmtPath path = {0};
            if (!stmt_find(c, item, blocks->items[b]->u.block.id, &path))
                continue;
            place.first = place.first < 0 ? i : place.first;
            place.last = i;
        }
    }
    return place;
}

static Stmt *place_item(const Place *place, int i)
{
    return place->parent->kind == ST_SEQ ? place->parent->u.seq.items[i] : place->parent;
}

/* The outermost place such that no statement from the first to the last user touches `buffer` in `mode` but the
 * users themselves. False where only a block's own statement is left. */
static bool find_place(Schedule *s, const BlockList *users, const Buffer *buffer, AccessMode mode,
                       Place *place)
{
    Stmt *at = s->kernel->body;
    for (;;) {
        *place = place_of(at, users, s->ctx);
        bool clean = true;
        for (int i = place->first; i <= place->last && clean; i++) {
            BlockList others = {0};
            flow_blocks(s, place_item(place, i), buffer, mode, &others);
            for (int o = 0; o < others.n && clean; o++) {
                clean = false;
                for (int u = 0; u < users->n; u++)
                    clean |= others.items[o] == users->items[u] && mode == ACCESS_ANY;
            }
        }
        if (clean)
            return true;
        Stmt *only = place_item(place, place->first);
        if (place->first != place->last || only->kind == ST_BLOCK)
            return false;
        if (only->kind == ST_FOR)
            at = only->u.loop.body;
        else if (only->kind == ST_IF)
            at = only->u.cond.then;
        else
            return false;
    }
}

/* `place` with `extra` before the first user or after the last. */
static Stmt *insert_at(Schedule *s, const Place *place, Stmt *extra, bool before)
{
    VEC(Stmt *) items = {0};
    int n = place->parent->kind == ST_SEQ ? place->parent->u.seq.n : 1;
    for (int i = 0; i < n; i++) {
        if (before && i == place->first)
            VEC_PUSH(s->ctx->arena, &items, extra);
        VEC_PUSH(s->ctx->arena, &items, place_item(place, i));
        if (!before && i == place->last)
            VEC_PUSH(s->ctx->arena, &items, extra);
    }
    return stmt_seq(s->ctx, items.items, items.n, place->parent->span);
}

/* ---- the copying block ------------------------------------------------------------------------------ */

typedef struct {
    Name block;
    Buffer *to, *from;
    int n;                 /* iterators */
    const Name *iter_name; /* [n] */
    const Name *loop_name; /* [n] */
    Expr *const *lo;       /* [n], of the variables in `iters` before */
    Expr *const *hi;
    Var **iters;           /* [n] filled in */
} Copy;

/* loops over the domain, around a block that stores from[index] to to[index]. */
static Stmt *copy_nest(Schedule *s, const Copy *copy, Expr *const *index, Span span)
{
    Context *c = s->ctx;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, copy->n + 1);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, copy->n + 1);
    Subst *to_loops = ARENA_ARRAY(c->arena, Subst, copy->n + 1);
    for (int i = 0; i < copy->n; i++) {
        loops[i] = flow_loop(s, copy->loop_name[i], expr_subst(c, copy->lo[i], to_loops, i),
                             expr_subst(c, copy->hi[i], to_loops, i));
        iters[i] = (BlockIter){.var = copy->iters[i],
                               .lo = copy->lo[i],
                               .hi = copy->hi[i],
                               .binding = expr_var(c, loops[i].var, span),
                               .kind = ITER_SPATIAL};
        to_loops[i] = (Subst){copy->iters[i], iters[i].binding};
    }
    Expr *value = expr_load(c, copy->from, index, span);
    BlockStmt block = {.name = copy->block,
                       .iters = iters,
                       .n_iters = copy->n,
                       .body = stmt_store(c, copy->to, index, STORE_SET, value, false, span)};
    Stmt *nest = stmt_block(c, &block, span);
    for (int i = copy->n - 1; i >= 0; i--) {
        loops[i].body = nest;
        nest = stmt_for(c, &loops[i], span);
    }
    return nest;
}

/* The copied buffer's own: same shape and type, in another scope. */
static Buffer *cache_buffer(Schedule *s, const Buffer *of, Scope scope, Span origin)
{
    Name name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_%s", of->name, scope_name(scope)));
    Buffer *b = buffer_new(s->ctx, name, of->type, of->shape, of->rank, scope, ROLE_TEMP, of->span);
    b->origin = origin;
    return b;
}

/* ---- cache_read -------------------------------------------------------------------------------------- */

typedef struct {
    const Buffer *from;
    Buffer *to;
    const BlockList *blocks;
    int depth;
} Redirect;

static Expr *redirect_load(Rewriter *r, Expr *e)
{
    Redirect *d = r->user;
    if (e->kind != EX_LOAD || e->u.load.buffer->id != d->from->id)
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

/* The names of a copy's iterators: those that the reader uses alone as subscripts, where it does. */
static void read_names(Schedule *s, Stmt *reader, const Buffer *buffer, Name *iter, Name *loop)
{
    AccessList reads = {0};
    access_collect(s->ctx, reader, buffer, ACCESS_READ, &reads);
    for (int axis = 0; axis < buffer->rank; axis++) {
        loop[axis] = sched_fresh_name(s, arena_printf(s->ctx->arena, "ax%d", axis));
        iter[axis] = ctx_namef(s->ctx, "v%d", axis);
        Expr *subscript = reads.n ? reads.items[0].index[axis] : NULL;
        bool taken = !subscript || subscript->kind != EX_VAR;
        for (int before = 0; before < axis && !taken; before++)
            taken = iter[before] == subscript->u.var->name;
        if (!taken)
            iter[axis] = subscript->u.var->name;
    }
}

static Stmt *read_nest(Schedule *s, Stmt *reader, Buffer *from, Buffer *to, Span span)
{
    Context *c = s->ctx;
    int n = from->rank;
    Name *iter = ARENA_ARRAY(c->arena, Name, n + 1), *loop = ARENA_ARRAY(c->arena, Name, n + 1);
    Var **vars = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **index = ARENA_ARRAY(c->arena, Expr *, n + 1), **lo = ARENA_ARRAY(c->arena, Expr *, n + 1);
    read_names(s, reader, from, iter, loop);
    for (int i = 0; i < n; i++) {
        vars[i] = var_new(c, iter[i], DT_INDEX, VAR_ITER, span);
        index[i] = expr_var(c, vars[i], span);
        lo[i] = expr_index(c, 0);
    }
    Copy copy = {to->name, to, from, n, iter, loop, lo, from->shape, vars};
    return copy_nest(s, &copy, index, span);
}

static bool read_consumers(Schedule *s, const PrimCall *call, const Buffer *buffer, BlockList *out)
{
    StmtPath path = {0};
    if (call->arg[3].kind == VALUE_NONE) {
        flow_blocks(s, s->kernel->body, buffer, ACCESS_READ, out);
        return true;
    }
    for (int i = 0; i < call->arg[3].u.list.n; i++) {
        const Value *v = &call->arg[3].u.list.items[i];
        Stmt *block = sched_block(s, v, &path);
        REQUIRE(s, E0442, v->span, flow_touches(s, block, buffer, ACCESS_READ),
                "block '%s' does not read '%s', so it cannot read its copy", block->u.block.name,
                buffer->name);
        VEC_PUSH(s->ctx->arena, out, block);
    }
    return true;
}

bool prim_cache_read(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *block = sched_block(s, &call->arg[0], &path);
    Buffer *buffer = sched_buffer(s, call->arg[1].u.id);
    Scope scope = scope_find(call->arg[2].u.s);
    BlockList consumers = {0};
    Place place;
    REQUIRE(s, E0442, call->arg[1].span, flow_touches(s, block, buffer, ACCESS_READ),
            "block '%s' does not read '%s'; name a buffer that it reads", block->u.block.name,
            buffer->name);
    if (!read_consumers(s, call, buffer, &consumers))
        return false;
    for (int i = 0; i < consumers.n; i++)
        REQUIRE(s, E0443, call->arg[1].span,
                !flow_touches(s, consumers.items[i], buffer, ACCESS_WRITE),
                "block '%s' also writes '%s', so a copy made before it would miss what it writes",
                consumers.items[i]->u.block.name, buffer->name);
    REQUIRE(s, E0443, call->arg[1].span,
            find_place(s, &consumers, buffer, ACCESS_WRITE, &place),
            "'%s' is written between the blocks that read it, so no single copy holds what all of them "
            "read; name the ones that should with consumers = [...]",
            buffer->name);

    Buffer *cache = cache_buffer(s, buffer, scope, call->span);
    Stmt *nest = read_nest(s, consumers.items[0], buffer, cache, block->span);
    Redirect d = {buffer, cache, &consumers, 0};
    Rewriter r = {.ctx = s->ctx, .user = &d, .stmt = redirect_block};
    Stmt *copied = rewrite_stmt(&r, insert_at(s, &place, nest, true));
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, place.parent, copied);
    sched_replace_body(s, flow_declare(s, body, cache));

    while (nest->kind == ST_FOR)
        nest = nest->u.loop.body;
    *result = value_block(nest);
    return true;
}

/* ---- cache_write ------------------------------------------------------------------------------------- */

/* The spatial iterators that the stored subscripts use, in the block's order; -1 where one is a reduction's. */
static int written_iters(const Stmt *block, const Stmt *store, int *out)
{
    int n = 0;
    for (int i = 0; i < block->u.block.n_iters; i++) {
        const BlockIter *iter = &block->u.block.iters[i];
        bool used = false;
        for (int axis = 0; axis < store->u.store.buffer->rank; axis++)
            used |= expr_uses_var(store->u.store.index[axis], iter->var);
        if (used && iter->kind == ITER_REDUCE)
            return -1;
        if (used)
            out[n++] = i;
    }
    return n;
}

static bool under_condition(const StmtPath *path)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_IF ||
            (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.step != 1))
            return true;
    return path->items[path->n - 1]->u.block.predicate != NULL;
}

/* The loop around the place of the copy in whose iterations the block writes different elements, or NULL: there the copy
 * would take what later iterations have yet to write. */
static const Stmt *partial_loop(const StmtPath *path, const Place *place, const int *used, int n)
{
    const BlockStmt *block = &path->items[path->n - 1]->u.block;
    for (int i = 0; i < path->n && path->items[i] != place->parent; i++)
        for (int k = 0; k < n && path->items[i]->kind == ST_FOR; k++)
            if (expr_uses_var(block->iters[used[k]].binding, path->items[i]->u.loop.var))
                return path->items[i];
    return NULL;
}

static bool has_plain_quotient(const Expr *e)
{
    if (e->kind == EX_ADD || e->kind == EX_SUB)
        return has_plain_quotient(e->u.arg[0]) || has_plain_quotient(e->u.arg[1]);
    return e->kind == EX_DIV || e->kind == EX_MOD;
}

/* The binding may take only every n-th value: each loop in it counts in larger steps than 1. What fusing has made, quotients
 * and remainders, takes all. */
static bool skips_values(Schedule *s, const StmtPath *path, Expr *binding)
{
    bool steps = false, other = false;
    Facts *facts = sched_facts(s, path);
    for (int i = 0; i < path->n; i++) {
        int64_t factor;
        Expr *rest;
        if (path->items[i]->kind != ST_FOR || !expr_uses_var(binding, path->items[i]->u.loop.var))
            continue;
        bool linear = split_linear(facts, binding, path->items[i]->u.loop.var, &factor, &rest);
        if (linear && (factor == 1 || factor == -1))
            return false;
        steps |= linear && factor != 0;
        other |= !linear;
    }
    return steps || (other && !has_plain_quotient(binding));
}

static bool some_skips(Schedule *s, const StmtPath *path, const int *used, int n)
{
    for (int i = 0; i < n; i++)
        if (skips_values(s, path, path->items[path->n - 1]->u.block.iters[used[i]].binding))
            return true;
    return false;
}

static Stmt *write_nest(Schedule *s, Stmt *block, const Stmt *store, Buffer *from, Span span)
{
    Context *c = s->ctx;
    Buffer *to = store->u.store.buffer;
    int *used = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    int n = written_iters(block, store, used);
    Name *names = ARENA_ARRAY(c->arena, Name, n + 1), *loops = ARENA_ARRAY(c->arena, Name, n + 1);
    Var **vars = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n + 1), **hi = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, n + 1);
    for (int i = 0; i < n; i++) {
        const BlockIter *iter = &block->u.block.iters[used[i]];
        names[i] = iter->var->name;
        loops[i] = sched_fresh_name(s, arena_printf(c->arena, "ax%d", i));
        vars[i] = var_new(c, names[i], DT_INDEX, VAR_ITER, span);
        lo[i] = expr_subst(c, iter->lo, map, i);
        hi[i] = expr_subst(c, iter->hi, map, i);
        map[i] = (Subst){iter->var, expr_var(c, vars[i], span)};
    }
    Expr **index = ARENA_ARRAY(c->arena, Expr *, to->rank + 1);
    for (int axis = 0; axis < to->rank; axis++)
        index[axis] = expr_subst(c, store->u.store.index[axis], map, n);
    Copy copy = {from->name, to, from, n, names, loops, lo, hi, vars};
    return copy_nest(s, &copy, index, span);
}

bool prim_cache_write(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *block = sched_block(s, &call->arg[0], &path);
    Scope scope = scope_find(call->arg[1].u.s);
    const Stmt *store = flow_single_store(block);
    Span span = call->arg[0].span;
    REQUIRE(s, E0444, span, store && flow_written(s, block),
            "block '%s' has more than one store, so there is no one buffer to write elsewhere",
            block->u.block.name);
    Buffer *buffer = sched_buffer(s, store->u.store.buffer->id);
    BlockList writers = {0}, users = {0};
    Place place;
    flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE, &writers);
    REQUIRE(s, E0444, span, writers.n == 1,
            "'%s' is also written by block '%s', so the copy would undo its work", buffer->name,
            writers.items[writers.items[0] == block]->u.block.name);
    REQUIRE(s, E0444, span,
            store->u.store.op == STORE_SET
                ? !flow_touches(s, block, buffer, ACCESS_READ)
                : block->u.block.init != NULL,
            "block '%s' reads what '%s' held before, which its copy would not hold; give the reduction "
            "its start (%s[...] = 0) in the same loops",
            block->u.block.name, buffer->name, buffer->name);
    int *used = ARENA_ARRAY(s->ctx->arena, int, block->u.block.n_iters + 1);
    int n_used = written_iters(block, store, used);
    REQUIRE(s, E0444, span, n_used >= 0 && !under_condition(&path) && !some_skips(s, &path, used, n_used),
            "block '%s' writes only the elements that a condition, a step or a reduction chooses, so "
            "what to copy out is not known; use cache_write before splitting its loops",
            block->u.block.name);
    VEC_PUSH(s->ctx->arena, &users, block);
    REQUIRE(s, E0444, span, find_place(s, &users, buffer, ACCESS_ANY, &place),
            "'%s' is read inside the loops of block '%s', before a copy could be complete",
            buffer->name, block->u.block.name);
    const Stmt *loop = partial_loop(&path, &place, used, n_used);
    REQUIRE(s, E0444, span, !loop,
            "the copy would have to stand inside loop '%s', where others touch '%s', too, and block '%s' writes "
            "only a part of '%s' in each of its iterations",
            stmt_label(loop), buffer->name, block->u.block.name, buffer->name);

    Buffer *cache = cache_buffer(s, buffer, scope, call->span);
    Stmt *nest = write_nest(s, block, store, cache, block->span);
    Stmt *redirected = stmt_replace_buffer(s->ctx, block, buffer, cache);
    Stmt *copied = insert_at(s, &place, nest, false);
    copied = stmt_replace(s->ctx, copied, block, redirected);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, place.parent, copied);
    sched_replace_body(s, flow_declare(s, body, cache));

    while (nest->kind == ST_FOR)
        nest = nest->u.loop.body;
    *result = value_block(nest);
    return true;
}

/* ---- set_scope --------------------------------------------------------------------------------------- */

/* Every nest of bound loops is looked at again. */
static bool recheck_all(Schedule *s, const Kernel *kernel, const Stmt *stmt, Span span)
{
    if (stmt->kind == ST_SEQ) {
        for (int i = 0; i < stmt->u.seq.n; i++)
            if (!recheck_all(s, kernel, stmt->u.seq.items[i], span))
                return false;
        return true;
    }
    if (stmt->kind == ST_IF)
        return recheck_all(s, kernel, stmt->u.cond.then, span) &&
               (!stmt->u.cond.otherwise || recheck_all(s, kernel, stmt->u.cond.otherwise, span));
    return stmt->kind != ST_FOR || flow_recheck_kinds(s, kernel, stmt->u.loop.id, span);
}

bool prim_set_scope(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->arg[0].u.id);
    Scope scope = scope_find(call->arg[1].u.s);
    REQUIRE(s, E0445, call->arg[0].span, buffer->role == ROLE_TEMP,
            "'%s' is a parameter, which lives in global memory; cache_read or cache_write gives it a "
            "copy elsewhere",
            buffer->name);
    REQUIRE(s, E0445, call->arg[1].span, scope != SCOPE_GLOBAL || !buffer->layout,
            "'%s' is padded, and a buffer in global memory is not", buffer->name);
    Buffer *moved = buffer_copy(s->ctx, buffer);
    moved->scope = scope;
    moved->origin = call->span;
    Stmt *body = stmt_replace_buffer(s->ctx, s->kernel->body, buffer, moved);
    if (!recheck_all(s, flow_kernel_with(s, body), body, call->span))
        return false;
    sched_replace_body(s, body);
    (void)result;
    return true;
}
