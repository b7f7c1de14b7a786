/* block_stores.c - Rewrites the stores in the body of a block: those of tuples, asynchronous ones,
 * atomic updates (block_stores.h). */
#include "passes/lower/block_stores.h"

static bool is_short(const Expr *e)
{
    return e->kind == EX_VAR || e->kind == EX_INT || e->kind == EX_FLOAT ||
           (e->kind == EX_CAST && is_short(e->u.arg[0]));
}

/* What is short needs no name. */
static Stmt *dissolve_update(Rewriter *r, Stmt *s)
{
    Context *c = r->ctx;
    if (s->kind != ST_SEQ || !s->u.seq.combiner)
        return s;
    StmtList items = {0};
    SubstList map = {0};
    for (int i = 0; i < s->u.seq.n; i++) {
        Stmt *item = stmt_subst(c, s->u.seq.items[i], map.items, map.n);
        if (item->kind == ST_LET && is_short(item->u.let.value))
            VEC_PUSH(c->arena, &map, ((Subst){item->u.let.var, item->u.let.value}));
        else
            VEC_PUSH(c->arena, &items, item);
    }
    return stmt_stamp(stmt_seq(c, items.items, items.n, s->span), s);
}

Stmt *updates_dissolved(Context *c, Stmt *s)
{
    return rewrite_stmt(&(Rewriter){.ctx = c, .stmt = dissolve_update}, s);
}

static Stmt *make_async(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_STORE || s->u.store.op != STORE_SET)
        return s;
    return stmt_stamp(stmt_assign(r->ctx, (BufferElement){s->u.store.buffer, s->u.store.index},
                                  STORE_ASYNC, s->u.store.value, s->span),
                      s);
}

Stmt *stores_made_async(Context *c, Stmt *s)
{
    return rewrite_stmt(&(Rewriter){.ctx = c, .stmt = make_async}, s);
}

static Stmt *make_atomic(Rewriter *r, Stmt *s)
{
    if (s->kind != ST_STORE || s->u.store.op == STORE_SET || s->u.store.atomic ||
        s->u.store.buffer->scope == SCOPE_LOCAL)
        return s;
    s = stmt_store_like(r->ctx, s, s->u.store.buffer, s->u.store.index, s->u.store.value);
    s->u.store.atomic = true;
    return s;
}

Stmt *stores_made_atomic(Context *c, Stmt *s)
{
    return rewrite_stmt(&(Rewriter){.ctx = c, .stmt = make_atomic}, s);
}
