/* rewrite.c - Rewrites trees: rewriters, substitution, fresh copies.
 *
 * Everything rests on two functions that map the children of one node: when no child changes they
 * give back the node itself, so unchanged subtrees stay shared and "nothing happened" is pointer
 * equality.  A node that is rebuilt because of a child keeps its span, ids and step; only nodes
 * that a callback makes are new. */
#include "ir/instruction.h"
#include "ir/ir.h"

typedef Expr *MapExpr(void *user, Expr *e);
typedef Stmt *MapStmt(void *user, Stmt *s); /* NULL: removed */

typedef struct {
    Context *ctx;
    void *user;
    MapExpr *expr; /* NULL: expressions stay as they are */
    MapStmt *stmt;
    bool drops_empty; /* loops, conditions and sequences that lose all that is in them */
} Map;

/* ---- children of one node -------------------------------------------------------------------- */

/* The mapped array, or `items` itself if nothing changed. */
static Expr *const *map_exprs(const Map *m, Expr *const *items, int n)
{
    Expr **mapped = NULL;
    for (int i = 0; i < n; i++) {
        Expr *e = m->expr(m->user, items[i]);
        if (e == items[i])
            continue;
        if (!mapped) {
            mapped = ARENA_ARRAY(m->ctx->arena, Expr *, n);
            for (int j = 0; j < n; j++)
                mapped[j] = items[j];
        }
        mapped[i] = e;
    }
    return mapped ? mapped : items;
}

static Expr *copy_expr(Context *c, const Expr *e)
{
    Expr *copy = ARENA_NEW(c->arena, Expr);
    *copy = *e;
    return copy;
}

static Stmt *copy_stmt(Context *c, const Stmt *s)
{
    Stmt *copy = ARENA_NEW(c->arena, Stmt);
    *copy = *s;
    return copy;
}

static Expr *map_args(const Map *m, Expr *e)
{
    Expr *arg[3] = {NULL, NULL, NULL};
    int n = expr_arity(e->kind);
    bool same = true;
    for (int i = 0; i < n; i++) {
        arg[i] = m->expr(m->user, e->u.arg[i]);
        same = same && arg[i] == e->u.arg[i];
    }
    if (same)
        return e;
    if (e->kind == EX_NEG) /* of what may have become a literal */
        return expr_unary(m->ctx, EX_NEG, arg[0], e->span);
    Expr *copy = copy_expr(m->ctx, e);
    for (int i = 0; i < n; i++)
        copy->u.arg[i] = arg[i];
    return copy;
}

static const AxisAccess *map_axes(const Map *m, const AxisAccess *axes)
{
    Expr *const *index = axes ? map_exprs(m, axes->index, axes->buffer->rank) : NULL;
    if (!axes || index == axes->index)
        return axes;
    AxisAccess *mapped = ARENA_NEW(m->ctx->arena, AxisAccess);
    *mapped = (AxisAccess){axes->buffer, index};
    return mapped;
}

static Expr *map_expr_children(const Map *m, Expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_FLOAT:
    case EX_VAR:
    case EX_AXIS: return e;
    case EX_LOAD: {
        Expr *const *index = map_exprs(m, e->u.load.index, e->u.load.buffer->rank);
        const AxisAccess *axes = map_axes(m, e->u.load.axes);
        if (index == e->u.load.index && axes == e->u.load.axes)
            return e;
        Expr *copy = copy_expr(m->ctx, e);
        copy->u.load.index = index;
        copy->u.load.axes = axes;
        return copy;
    }
    case EX_CALL: {
        Expr *const *arg = map_exprs(m, e->u.call.arg, call_info(e->u.call.call)->arity);
        if (arg == e->u.call.arg)
            return e;
        Expr *copy = copy_expr(m->ctx, e);
        copy->u.call.arg = arg;
        return copy;
    }
    default: return map_args(m, e);
    }
}

/* Of an expression of a statement. */
static Expr *map_expr(const Map *m, Expr *e)
{
    return m->expr && e ? m->expr(m->user, e) : e;
}

/* Of a statement where one must stand. */
static Stmt *map_body(const Map *m, Stmt *s)
{
    Stmt *mapped = m->stmt(m->user, s);
    return mapped ? mapped : stmt_seq(m->ctx, NULL, 0, s->span);
}

/* Of the body of what may go with it. */
static Stmt *map_only_body(const Map *m, Stmt *s)
{
    return m->drops_empty ? m->stmt(m->user, s) : map_body(m, s);
}

static Stmt *map_seq(const Map *m, Stmt *s)
{
    int n = s->u.seq.n, n_mapped = 0;
    Stmt **mapped = NULL;
    for (int i = 0; i < n; i++) {
        Stmt *item = m->stmt(m->user, s->u.seq.items[i]);
        if (!mapped && item == s->u.seq.items[i])
            continue;
        if (!mapped) {
            mapped = ARENA_ARRAY(m->ctx->arena, Stmt *, n);
            for (; n_mapped < i; n_mapped++)
                mapped[n_mapped] = s->u.seq.items[n_mapped];
        }
        if (item)
            mapped[n_mapped++] = item;
    }
    if (mapped && n_mapped == 0 && m->drops_empty)
        return NULL;
    return mapped ? stmt_seq_like(m->ctx, s, mapped, n_mapped) : s;
}

static Stmt *map_for(const Map *m, Stmt *s)
{
    Expr *lo = map_expr(m, s->u.loop.lo), *hi = map_expr(m, s->u.loop.hi);
    Stmt *body = map_only_body(m, s->u.loop.body);
    if (!body)
        return NULL;
    if (lo == s->u.loop.lo && hi == s->u.loop.hi && body == s->u.loop.body)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.loop.lo = lo;
    copy->u.loop.hi = hi;
    copy->u.loop.body = body;
    return copy;
}

static Stmt *map_if(const Map *m, Stmt *s)
{
    Stmt *otherwise = s->u.cond.otherwise;
    Expr *cond = map_expr(m, s->u.cond.cond);
    Stmt *then = map_only_body(m, s->u.cond.then);
    if (otherwise)
        otherwise = m->stmt(m->user, otherwise);
    if (!then && !otherwise)
        return NULL;
    if (!then)
        then = stmt_seq(m->ctx, NULL, 0, s->span);
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.cond.cond = cond;
    copy->u.cond.then = then;
    copy->u.cond.otherwise = otherwise;
    return copy;
}

/* The mapped iterators, or `iters` itself if nothing changed. */
static const BlockIter *map_iters(const Map *m, const BlockIter *iters, int n)
{
    BlockIter *mapped = NULL;
    for (int i = 0; i < n; i++) {
        BlockIter iter = iters[i];
        iter.lo = map_expr(m, iter.lo);
        iter.hi = map_expr(m, iter.hi);
        iter.binding = map_expr(m, iter.binding);
        if (iter.lo == iters[i].lo && iter.hi == iters[i].hi && iter.binding == iters[i].binding)
            continue;
        if (!mapped) {
            mapped = ARENA_ARRAY(m->ctx->arena, BlockIter, n);
            for (int j = 0; j < n; j++)
                mapped[j] = iters[j];
        }
        mapped[i] = iter;
    }
    return mapped ? mapped : iters;
}

static Expr *const *map_elements(const Map *m, const BlockStmt *block)
{
    return m->expr && block->elements
               ? map_exprs(m, block->elements, block->instruction->n_elements)
               : block->elements;
}

static Stmt *map_block(const Map *m, Stmt *s)
{
    const BlockStmt *block = &s->u.block;
    const BlockIter *iters = m->expr ? map_iters(m, block->iters, block->n_iters) : block->iters;
    Expr *predicate = map_expr(m, block->predicate);
    Stmt *init = block->init ? m->stmt(m->user, block->init) : NULL;
    Stmt *body = map_body(m, block->body);
    Expr *const *elements = map_elements(m, block);
    if (iters == block->iters && predicate == block->predicate && init == block->init &&
        body == block->body && elements == block->elements)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.block.iters = iters;
    copy->u.block.elements = elements;
    copy->u.block.predicate = predicate;
    copy->u.block.init = init;
    copy->u.block.body = body;
    return copy;
}

static Stmt *map_store(const Map *m, Stmt *s)
{
    if (!m->expr)
        return s;
    Expr *const *index = map_exprs(m, s->u.store.index, s->u.store.buffer->rank);
    Expr *value = m->expr(m->user, s->u.store.value);
    const AxisAccess *axes = map_axes(m, s->u.store.axes);
    if (index == s->u.store.index && value == s->u.store.value && axes == s->u.store.axes)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.store.index = index;
    copy->u.store.axes = axes;
    copy->u.store.value = value;
    return copy;
}

static Stmt *map_let(const Map *m, Stmt *s)
{
    Expr *value = map_expr(m, s->u.let.value);
    if (value == s->u.let.value)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.let.value = value;
    return copy;
}

static Stmt *map_launch(const Map *m, Stmt *s)
{
    LaunchStmt launch = s->u.launch;
    bool same = true;
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = map_expr(m, launch.grid[i]);
        same = same && launch.grid[i] == s->u.launch.grid[i];
    }
    launch.body = map_body(m, launch.body);
    if (same && launch.body == s->u.launch.body)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.launch = launch;
    return copy;
}

static Stmt *map_instruction(const Map *m, Stmt *s)
{
    Expr *const *elements = s->u.instruction.elements;
    if (m->expr)
        elements = map_exprs(m, elements, s->u.instruction.of->n_elements);
    Stmt *body = map_body(m, s->u.instruction.body);
    if (elements == s->u.instruction.elements && body == s->u.instruction.body)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.instruction.elements = elements;
    copy->u.instruction.body = body;
    return copy;
}

static Stmt *map_roles(const Map *m, Stmt *s)
{
    Stmt *producer = map_body(m, s->u.roles.producer),
         *consumers = map_body(m, s->u.roles.consumers);
    if (producer == s->u.roles.producer && consumers == s->u.roles.consumers)
        return s;
    Stmt *copy = copy_stmt(m->ctx, s);
    copy->u.roles.producer = producer;
    copy->u.roles.consumers = consumers;
    return copy;
}

static Stmt *map_stmt_children(const Map *m, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return map_seq(m, s);
    case ST_FOR: return map_for(m, s);
    case ST_IF: return map_if(m, s);
    case ST_BLOCK: return map_block(m, s);
    case ST_STORE: return map_store(m, s);
    case ST_LET: return map_let(m, s);
    case ST_LAUNCH: return map_launch(m, s);
    case ST_INSTRUCTION: return map_instruction(m, s);
    case ST_ROLES: return map_roles(m, s);
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BREAK: return s;
    }
    return s;
}

Stmt *stmt_map_children(Context *c, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user)
{
    Map m = {.ctx = c, .user = user, .stmt = fn, .drops_empty = true};
    return s->kind == ST_BLOCK ? s : map_stmt_children(&m, s);
}

Expr *expr_map_children(Context *c, Expr *e, Expr *(*fn)(void *user, Expr *e), void *user)
{
    Map m = {.ctx = c, .user = user, .expr = fn};
    return map_expr_children(&m, e);
}

static Stmt *keep_stmt(void *user, Stmt *s)
{
    (void)user;
    return s;
}

Stmt *stmt_map_exprs(Context *c, Stmt *s, Expr *(*fn)(void *user, Expr *e), void *user)
{
    Map m = {.ctx = c, .user = user, .expr = fn, .stmt = keep_stmt};
    return map_stmt_children(&m, s);
}

/* ---- the rewriter ---------------------------------------------------------------------------- */

static Expr *rewriter_expr(void *user, Expr *e)
{
    return rewrite_expr(user, e);
}

/* As rewrite_stmt, but a removed statement is NULL. */
static Stmt *rewriter_stmt(void *user, Stmt *s)
{
    Rewriter *r = user;
    Map m = {.ctx = r->ctx, .user = r, .stmt = rewriter_stmt};
    m.expr = r->expr ? rewriter_expr : NULL;
    Stmt *rebuilt = map_stmt_children(&m, s);
    return r->stmt ? r->stmt(r, rebuilt) : rebuilt;
}

Expr *rewrite_expr(Rewriter *r, Expr *e)
{
    if (!r->expr)
        return e;
    Map m = {.ctx = r->ctx, .user = r, .expr = rewriter_expr, .stmt = rewriter_stmt};
    return r->expr(r, map_expr_children(&m, e));
}

Stmt *rewrite_stmt(Rewriter *r, Stmt *s)
{
    Stmt *rewritten = rewriter_stmt(r, s);
    return rewritten ? rewritten : stmt_seq(r->ctx, NULL, 0, s->span);
}

/* ---- substitution ---------------------------------------------------------------------------- */

typedef struct {
    const Subst *map;
    int n;
} SubstMap;

static Expr *subst_expr(Rewriter *r, Expr *e)
{
    const SubstMap *map = r->user;
    for (int i = 0; e->kind == EX_VAR && i < map->n; i++)
        if (map->map[i].var == e->u.var)
            return map->map[i].value;
    return e;
}

Expr *expr_subst(Context *c, Expr *e, const Subst *map, int n)
{
    SubstMap all = {map, n};
    return n > 0 ? rewrite_expr(&(Rewriter){c, &all, subst_expr, NULL}, e) : e;
}

Stmt *stmt_subst(Context *c, Stmt *s, const Subst *map, int n)
{
    SubstMap all = {map, n};
    return n > 0 ? rewrite_stmt(&(Rewriter){c, &all, subst_expr, NULL}, s) : s;
}

Expr **exprs_subst(Context *c, Expr *const *items, int n_items, const Subst *map, int n)
{
    Expr **out = ARENA_ARRAY(c->arena, Expr *, n_items + 1);
    for (int i = 0; i < n_items; i++)
        out[i] = expr_subst(c, items[i], map, n);
    return out;
}

Buffer *buffer_subst(Context *c, const Buffer *buffer, const Subst *map, int n)
{
    Buffer *copy = buffer_copy(c, buffer);
    copy->shape = exprs_subst(c, buffer->shape, buffer->rank, map, n);
    return copy;
}

typedef struct {
    const Buffer *from;
    Buffer *to;
} BufferPair;

static Expr *replace_buffer_expr(Rewriter *r, Expr *e)
{
    const BufferPair *pair = r->user;
    if (e->kind != EX_LOAD || e->u.load.buffer != pair->from)
        return e;
    Expr *copy = copy_expr(r->ctx, e);
    copy->u.load.buffer = pair->to;
    return copy;
}

static Stmt *replace_buffer_stmt(Rewriter *r, Stmt *s)
{
    const BufferPair *pair = r->user;
    bool stores = s->kind == ST_STORE && s->u.store.buffer == pair->from;
    bool defines = s->kind == ST_TEMP && s->u.temp == pair->from;
    if (!stores && !defines)
        return s;
    Stmt *copy = copy_stmt(r->ctx, s);
    if (stores)
        copy->u.store.buffer = pair->to;
    else
        copy->u.temp = pair->to;
    return copy;
}

Stmt *stmt_replace_buffer(Context *c, Stmt *s, const Buffer *from, Buffer *to)
{
    BufferPair pair = {from, to};
    return rewrite_stmt(&(Rewriter){c, &pair, replace_buffer_expr, replace_buffer_stmt}, s);
}

/* ---- replacing one node ---------------------------------------------------------------------- */

typedef struct {
    Map map;
    const Stmt *from;
    Stmt *to;
    bool done;
} Replace;

static Stmt *replace_node(void *user, Stmt *s)
{
    Replace *replace = user;
    if (replace->done)
        return s;
    if (s == replace->from) {
        replace->done = true;
        return replace->to;
    }
    return map_stmt_children(&replace->map, s);
}

Stmt *stmt_replace(Context *c, Stmt *root, const Stmt *from, Stmt *to)
{
    Replace replace = {{.ctx = c, .stmt = replace_node}, from, to, false};
    replace.map.user = &replace;
    return map_body(&replace.map, root);
}

/* ---- fresh copies ---------------------------------------------------------------------------- */

typedef struct {
    const Buffer *from;
    Buffer *to;
} BufferCopy;

/* Old variables and their copies, as an open hash table by id. */
typedef struct {
    Context *ctx;
    Subst *slots; /* var NULL: free */
    uint32_t n_slots, n_used;
    VEC(BufferCopy) buffers; /* whose shapes use copied variables */
} Fresh;

static Subst *fresh_slot(const Fresh *fresh, const Var *var)
{
    for (uint32_t at = var->id * 2654435761u >> 7;; at++) {
        Subst *slot = &fresh->slots[at & (fresh->n_slots - 1)];
        if (!slot->var || slot->var == var)
            return slot;
    }
}

static Var *fresh_var(Fresh *fresh, Var *var)
{
    if (fresh->n_used * 2 >= fresh->n_slots) {
        Fresh grown = *fresh;
        grown.n_slots *= 2;
        grown.slots = ARENA_ARRAY(fresh->ctx->arena, Subst, grown.n_slots);
        for (uint32_t i = 0; i < fresh->n_slots; i++)
            if (fresh->slots[i].var)
                *fresh_slot(&grown, fresh->slots[i].var) = fresh->slots[i];
        *fresh = grown;
    }
    Var *copy = var_new(fresh->ctx, var->name, var->type, var->kind, var->span);
    *fresh_slot(fresh, var) = (Subst){var, expr_var(fresh->ctx, copy, var->span)};
    fresh->n_used++;
    return copy;
}

static Buffer *fresh_buffer(const Fresh *fresh, Buffer *buffer)
{
    for (int i = fresh->buffers.n - 1; i >= 0; i--)
        if (fresh->buffers.items[i].from == buffer)
            return fresh->buffers.items[i].to;
    return buffer;
}

static Expr *fresh_expr(void *user, Expr *e)
{
    Fresh *fresh = user;
    if (e->kind != EX_VAR) {
        Map m = {.ctx = fresh->ctx, .user = fresh, .expr = fresh_expr};
        Expr *now = map_expr_children(&m, e);
        Buffer *buffer = e->kind == EX_LOAD ? fresh_buffer(fresh, e->u.load.buffer) : NULL;
        if (!buffer || buffer == e->u.load.buffer)
            return now;
        now = copy_expr(fresh->ctx, now);
        now->u.load.buffer = buffer;
        return now;
    }
    const Subst *slot = fresh_slot(fresh, e->u.var);
    if (!slot->var)
        return e;
    Expr *copy = copy_expr(fresh->ctx, e);
    copy->u.var = slot->value->u.var;
    return copy;
}

static void fresh_block(Fresh *fresh, BlockStmt *block)
{
    BlockIter *iters = ARENA_ARRAY(fresh->ctx->arena, BlockIter, block->n_iters);
    for (int i = 0; i < block->n_iters; i++) {
        iters[i] = block->iters[i];
        iters[i].var = fresh_var(fresh, iters[i].var);
    }
    block->iters = iters;
    block->id = ctx_new_id(fresh->ctx);
}

static Buffer *fresh_temp(Fresh *fresh, Buffer *buffer)
{
    Expr **shape = ARENA_ARRAY(fresh->ctx->arena, Expr *, buffer->rank + 1);
    bool changed = false;
    for (int i = 0; i < buffer->rank; i++) {
        shape[i] = fresh_expr(fresh, buffer->shape[i]);
        changed |= shape[i] != buffer->shape[i];
    }
    if (!changed)
        return buffer;
    Buffer *copy = buffer_copy(fresh->ctx, buffer);
    copy->shape = shape;
    VEC_PUSH(fresh->ctx->arena, &fresh->buffers, ((BufferCopy){buffer, copy}));
    return copy;
}

/* Definitions first, so that the uses below find them. */
static Stmt *fresh_stmt(void *user, Stmt *s)
{
    Fresh *fresh = user;
    Map m = {.ctx = fresh->ctx, .user = fresh, .expr = fresh_expr, .stmt = fresh_stmt};
    Stmt *copy = copy_stmt(fresh->ctx, s);
    switch (s->kind) {
    case ST_FOR:
        copy->u.loop.var = fresh_var(fresh, s->u.loop.var);
        copy->u.loop.id = ctx_new_id(fresh->ctx);
        break;
    case ST_BLOCK: fresh_block(fresh, &copy->u.block); break;
    case ST_LET: copy->u.let.var = fresh_var(fresh, s->u.let.var); break;
    case ST_TEMP:
        copy->u.temp = fresh_temp(fresh, s->u.temp);
        return copy->u.temp == s->u.temp ? s : copy;
    case ST_STORE:
        copy->u.store.buffer = fresh_buffer(fresh, s->u.store.buffer);
        copy = copy->u.store.buffer == s->u.store.buffer ? s : copy;
        break;
    default: copy = s;
    }
    return map_stmt_children(&m, copy);
}

Stmt *stmt_clone_fresh(Context *c, Stmt *s)
{
    Fresh fresh = {.ctx = c, .slots = ARENA_ARRAY(c->arena, Subst, 32), .n_slots = 32};
    return fresh_stmt(&fresh, s);
}
