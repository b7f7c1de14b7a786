/* cleanup.c - Simplifies the whole kernel, as a pass.
 *
 * It also removes unused names and empty launches, and moves variables to where they are used. One
 * walk from the last statement to the first finds unused names, because it visits all remaining
 * uses of a name before its definition. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    uint32_t n_ids;
    bool *used; /* [n_ids] by the id of the variable */
} Drop;

static void mark_at(Drop *d, Cursor at)
{
    while (cursor_next(&at))
        if (at.expr && at.expr->kind == EX_VAR && at.expr->u.var->id < d->n_ids)
            d->used[at.expr->u.var->id] = true;
}

static void mark(Drop *d, Expr *e)
{
    mark_at(d, cursor_expr(d->c, e));
}

static Stmt *drop_unused(void *user, Stmt *s);

static Stmt *drop_in_seq(Drop *d, Stmt *s)
{
    int n = s->u.seq.n, kept = n;
    bool changed = false;
    Stmt **items = ARENA_ARRAY(d->c->arena, Stmt *, n + 1);
    for (int i = n - 1; i >= 0; i--) {
        Stmt *item = drop_unused(d, s->u.seq.items[i]);
        if (item)
            items[--kept] = item;
        changed |= item != s->u.seq.items[i];
    }
    if (!changed)
        return s;
    return kept < n ? stmt_seq(d->c, items + kept, n - kept, s->span) : NULL;
}

/* NULL for what nothing needs. */
static Stmt *drop_unused(void *user, Stmt *s)
{
    Drop *d = user;
    Stmt *kept = s;
    switch (s->kind) {
    case ST_SEQ: return drop_in_seq(d, s);
    case ST_LET:
        if (!d->used[s->u.let.var->id])
            return NULL;
        mark(d, s->u.let.value);
        break;
    case ST_FOR:
        kept = stmt_map_children(d->c, s, drop_unused, d);
        mark(d, s->u.loop.lo);
        mark(d, s->u.loop.hi);
        break;
    case ST_IF:
        kept = stmt_map_children(d->c, s, drop_unused, d);
        mark(d, s->u.cond.cond);
        break;
    case ST_LAUNCH:
        kept = stmt_map_children(d->c, s, drop_unused, d);
        for (int i = 0; i < 3; i++)
            mark(d, s->u.launch.grid[i]);
        break;
    case ST_ROLES: kept = stmt_map_children(d->c, s, drop_unused, d); break;
    case ST_BLOCK:
    case ST_STORE:
    case ST_TEMP:
    case ST_INSTRUCTION:
    case ST_BARRIER:
    case ST_BREAK: mark_at(d, cursor_stmt(d->c, s)); break;
    }
    return kept;
}

Stmt *drop_unused_names(Context *c, Stmt *body)
{
    Drop d = {c, c->next_id, ARENA_ARRAY(c->arena, bool, c->next_id)};
    return drop_unused(&d, body);
}

static bool is_idle(const Stmt *s)
{
    return s->kind == ST_LAUNCH && stmt_is_empty(s->u.launch.body);
}

static bool is_busy(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_LAUNCH && !is_idle(at.stmt))
            return true;
    return false;
}

static Stmt *drop_idle(Rewriter *r, Stmt *s)
{
    (void)r;
    return is_idle(s) ? NULL : s;
}

/* Without the launches that do nothing; but a kernel that does nothing at all keeps them. */
static Stmt *drop_launches(Context *c, Stmt *body)
{
    return is_busy(c, body) ? rewrite_stmt(&(Rewriter){.ctx = c, .stmt = drop_idle}, body) : body;
}

Kernel *pass_simplify(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Stmt *body = simplify_stmt(facts_of_kernel(c, kernel), kernel->body);
    if (body)
        body = drop_unused_names(c, body);
    if (body)
        body = sink_variables(c, drop_launches(c, body));
    return names_settle(c, kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span)));
}
