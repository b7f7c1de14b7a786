/* guarded.c - Reads a body that stores under conditions. See guarded.h. */
#include "passes/schedule/reductions/guarded.h"

enum { MOST_NODES = 500 };

typedef struct {
    Context *c;
    SubstList lets; /* their values, written out */
    GuardedStores *out;
} Reading;

static bool read_body(Reading *r, const Stmt *s);

/* The expression with values of lets written out; NULL where its text would grow beyond bounds. */
static Expr *written_out(Reading *r, Expr *e)
{
    Expr *out = expr_subst(r->c, e, r->lets.items, r->lets.n);
    return expr_nodes(out, MOST_NODES) <= MOST_NODES ? out : NULL;
}

static bool read_let(Reading *r, const Stmt *s)
{
    Expr *value = written_out(r, s->u.let.value);
    if (value)
        VEC_PUSH(r->c->arena, &r->lets, ((Subst){s->u.let.var, value}));
    return value != NULL;
}

static bool read_store(Reading *r, const Stmt *s)
{
    const StoreStmt *store = &s->u.store;
    Expr *value = written_out(r, store->value);
    Expr **index = exprs_subst(r->c, store->index, store->buffer->rank, r->lets.items, r->lets.n);
    if (!value || store->op != STORE_SET || store->atomic)
        return false;
    VEC_PUSH(r->c->arena, &r->out->stores, stmt_store_like(r->c, s, store->buffer, index, value));
    return true;
}

static bool read_if(Reading *r, const Stmt *s)
{
    Expr *cond = written_out(r, s->u.cond.cond);
    if (!cond || s->u.cond.otherwise)
        return false;
    cond_split(r->c, cond, &r->out->conds);
    return read_body(r, s->u.cond.then);
}

/* A condition holds for all that its sequence still has. */
static bool read_items(Reading *r, const Stmt *s)
{
    for (int i = 0; i < s->u.seq.n; i++) {
        const Stmt *item = s->u.seq.items[i];
        bool guards = item->kind == ST_IF && (r->out->stores.n > 0 || i + 1 < s->u.seq.n);
        if (guards || !read_body(r, item))
            return false;
    }
    return true;
}

static bool read_body(Reading *r, const Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return !s->u.seq.combiner && read_items(r, s);
    case ST_LET: return read_let(r, s);
    case ST_IF: return read_if(r, s);
    case ST_STORE: return read_store(r, s);
    default: return false;
    }
}

/* The only store, of `c ? e : x` to x, as one of e under the condition c. */
static void take_choice(Context *c, GuardedStores *out)
{
    const Stmt *s = out->stores.items[0];
    const StoreStmt *store = &s->u.store;
    const Expr *value = store->value;
    if (out->stores.n != 1 || value->kind != EX_SELECT)
        return;
    const Expr *old = value->u.arg[2];
    if (!expr_is_load(old, store->buffer) ||
        !exprs_equal(old->u.load.index, store->index, store->buffer->rank))
        return;
    cond_split(c, value->u.arg[0], &out->conds);
    out->stores.items[0] = stmt_store_like(c, s, store->buffer, store->index, value->u.arg[1]);
}

bool guarded_stores(Context *c, const Stmt *body, GuardedStores *out)
{
    *out = (GuardedStores){0};
    Reading r = {.c = c, .out = out};
    if (!read_body(&r, body) || out->stores.n == 0)
        return false;
    take_choice(c, out);
    return out->conds.n > 0;
}
