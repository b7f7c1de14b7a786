/* promote_scan.c - what all accesses of one buffer in a loop have in common: the element, and the
 * conditions around them. See promote.h. */
#include "passes/lower/memory/promote.h"

bool promote_is_invariant(const Scan *scan, const Expr *e)
{
    return !expr_uses_any(e, scan->inside.items, scan->inside.n) && !expr_has_load(e);
}

/* The conditions of the path that hold at an access: those that do not change in the loop are its
 * guards. */
static ExprList guards_of(Scan *scan)
{
    Context *c = scan->p->c;
    ExprList guards = {0};
    const EnclosingList *path = &scan->walk.path;
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i].stmt;
        ExprList parts = {0};
        if (s->kind == ST_FOR) {
            VEC_PUSH(c->arena, &scan->varying, s->u.loop.lo);
            VEC_PUSH(c->arena, &scan->varying, s->u.loop.hi);
        } else if (path->items[i].otherwise) {
            VEC_PUSH(c->arena, &parts, expr_unary(c, EX_NOT, s->u.cond.cond, s->span));
        } else if (s->kind == ST_IF) {
            cond_split(c, s->u.cond.cond, &parts);
        }
        for (int k = 0; k < parts.n; k++)
            VEC_PUSH(c->arena,
                     promote_is_invariant(scan, parts.items[k]) ? &guards : &scan->varying,
                     parts.items[k]);
    }
    return guards;
}

static void note_access(Scan *scan, Expr *const *index)
{
    ExprList guards = guards_of(scan);
    if (!scan->seen) {
        scan->seen = true;
        scan->index = index;
        scan->guards = guards;
        for (int d = 0; d < scan->buffer->rank; d++)
            scan->ok &= promote_is_invariant(scan, index[d]);
    } else {
        for (int d = 0; d < scan->buffer->rank; d++)
            scan->ok &= expr_equal(index[d], scan->index[d]);
        scan->ok &= guards.n == scan->guards.n;
        for (int i = 0; i < guards.n; i++)
            scan->ok &= expr_list_has(&scan->guards, guards.items[i]);
    }
}

static bool scan_expr(Visitor *v, Expr *e)
{
    Scan *scan = v->user;
    if (e->kind == EX_LOAD && e->u.load.buffer == scan->buffer) {
        note_access(scan, e->u.load.index);
        scan->read = true;
    }
    return scan->ok;
}

static void scan_exprs(Scan *scan, Expr *e)
{
    Visitor v = {.user = scan, .expr = scan_expr};
    visit_expr(&v, e);
}

static void scan_store(Scan *scan, const Stmt *s)
{
    if (s->u.store.buffer == scan->buffer) {
        scan->ok &= !s->u.store.atomic && s->u.store.op != STORE_ASYNC;
        scan->written = true;
        scan->update = s->span;
        scan->hint = s->u.store.hint;
        scan->read |= s->u.store.op != STORE_SET;
        note_access(scan, s->u.store.index);
    }
    for (int d = 0; d < s->u.store.buffer->rank; d++)
        scan_exprs(scan, s->u.store.index[d]);
    scan_exprs(scan, s->u.store.value);
}

static bool scan_stmt(Walker *w, Stmt *s)
{
    Scan *scan = w->user;
    int64_t extent;
    if (s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent < 1)
        return false; /* what never runs needs no register */
    if (s->kind == ST_FOR) {
        scan_exprs(scan, s->u.loop.lo);
        scan_exprs(scan, s->u.loop.hi);
    }
    if (s->kind == ST_IF)
        scan_exprs(scan, s->u.cond.cond);
    if (s->kind == ST_STORE)
        scan_store(scan, s);
    if (s->kind == ST_LET) {
        VEC_PUSH(w->ctx->arena, &scan->lets, ((Subst){s->u.let.var, s->u.let.value}));
        scan_exprs(scan, s->u.let.value);
    }
    if (s->kind == ST_TEMP) /* a buffer that begins in the loop has no element before it */
        scan->ok &= s->u.temp != scan->buffer;
    return scan->ok;
}

bool promote_scan(Scan *scan, Stmt *loop)
{
    scan->walk = (Walker){.ctx = scan->p->c, .user = scan, .stmt = scan_stmt};
    walk_stmt(&scan->walk, loop);
    return scan->ok && scan->read && scan->written;
}
