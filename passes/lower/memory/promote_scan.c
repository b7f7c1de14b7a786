/* promote_scan.c - Finds what all accesses of one buffer in a loop have in common: the element, and
 * the conditions around them. See promote.h. */
#include "passes/lower/memory/promote.h"

bool promote_is_invariant(const Scan *scan, const Expr *e)
{
    return !expr_uses_any(e, scan->inside.items, scan->inside.n) && !expr_has_load(e);
}

Expr *promote_expanded(const Scan *scan, Expr *e)
{
    Context *c = scan->p->c;
    return expr_expand(c, expr_expand(c, e, &scan->lets), &scan->p->lets);
}

/* The conditions of the path that hold at an access: those that do not change in the loop are its
 * guards. */
static ExprList guards_of(Scan *scan, const EnclosingList *path)
{
    Context *c = scan->p->c;
    ExprList guards = {0};
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

/* Takes in an access; false where it differs from those before in the element or its guards. */
static bool same_access(Scan *scan, Expr *const *index, const EnclosingList *path)
{
    ExprList guards = guards_of(scan, path);
    if (!scan->seen) {
        scan->seen = true;
        scan->index = index;
        scan->guards = guards;
    }
    for (int d = 0; d < scan->buffer->rank; d++)
        if (!promote_is_invariant(scan, index[d]) || !expr_equal(index[d], scan->index[d]))
            return false;
    for (int i = 0; i < guards.n; i++)
        if (!expr_list_has(&scan->guards, guards.items[i]))
            return false;
    return guards.n == scan->guards.n;
}

static bool scan_stmt(Scan *scan, const Stmt *s, const EnclosingList *path)
{
    if (s->kind == ST_LET)
        VEC_PUSH(scan->p->c->arena, &scan->lets, ((Subst){s->u.let.var, s->u.let.value}));
    if (s->kind == ST_TEMP) /* a buffer that begins in the loop has no element before it */
        return s->u.temp != scan->buffer;
    if (s->kind != ST_STORE || s->u.store.buffer != scan->buffer)
        return true;
    scan->written = true;
    scan->update = s->span;
    scan->hint = s->u.store.hint;
    scan->read |= s->u.store.op != STORE_SET;
    for (int i = 0; i < path->n; i++)
        scan->chosen |= path->items[i].stmt->kind == ST_IF &&
                        !promote_is_invariant(scan, path->items[i].stmt->u.cond.cond);
    return !s->u.store.atomic && s->u.store.op != STORE_ASYNC &&
           same_access(scan, s->u.store.index, path);
}

static bool scan_expr(Scan *scan, const Expr *e, const EnclosingList *path)
{
    if (e->kind != EX_LOAD || e->u.load.buffer != scan->buffer)
        return true;
    scan->read = true;
    return same_access(scan, e->u.load.index, path);
}

static bool never_runs(const Stmt *s)
{
    int64_t extent;
    return s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent < 1;
}

bool promote_scan(Scan *scan, Stmt *loop)
{
    Cursor at = cursor_with_path(cursor_stmt(scan->p->c, loop), NULL);
    while (cursor_next(&at))
        if (at.stmt && never_runs(at.stmt)) /* needs no register */
            cursor_prune(&at);
        else if (at.stmt ? !scan_stmt(scan, at.stmt, &at.path)
                         : !scan_expr(scan, at.expr, &at.path))
            return false;
    return scan->written && (scan->read || scan->chosen);
}
