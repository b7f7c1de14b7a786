/* promote_scan.c - what all accesses of one buffer in a loop have in common: the element, and the conditions around them. See promote.h. */
#include "passes/lower/promote.h"

bool promote_is_invariant(const Scan *scan, const Expr *e)
{
    return !expr_uses_any(e, scan->inside.items, scan->inside.n) && !expr_has_load(e);
}

static void note_access(Scan *scan, Expr *const *index)
{
    Context *c = scan->p->c;
    ExprList guards = {0};
    for (int i = 0; i < scan->conds.n; i++) {
        ExprList *to = promote_is_invariant(scan, scan->conds.items[i]) ? &guards : &scan->varying;
        VEC_PUSH(c->arena, to, scan->conds.items[i]);
    }
    for (int i = 0; i < scan->control.n; i++)
        VEC_PUSH(c->arena, &scan->varying, scan->control.items[i]);
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

static void scan_stmt(Scan *scan, const Stmt *s)
{
    Context *c = scan->p->c;
    int conds = scan->conds.n, control = scan->control.n;
    int64_t extent;
    if (s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent < 1)
        return; /* what never runs needs no register */
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n && scan->ok; i++)
            scan_stmt(scan, s->u.seq.items[i]);
        break;
    case ST_FOR:
        scan_exprs(scan, s->u.loop.lo);
        scan_exprs(scan, s->u.loop.hi);
        VEC_PUSH(c->arena, &scan->control, s->u.loop.lo);
        VEC_PUSH(c->arena, &scan->control, s->u.loop.hi);
        scan_stmt(scan, s->u.loop.body);
        break;
    case ST_IF:
        scan_exprs(scan, s->u.cond.cond);
        if (s->u.cond.otherwise) {
            Expr *negated = expr_unary(c, EX_NOT, s->u.cond.cond, s->span);
            VEC_PUSH(c->arena, &scan->conds, negated);
            scan_stmt(scan, s->u.cond.otherwise);
            scan->conds.n = conds;
        }
        cond_split(c, s->u.cond.cond, &scan->conds);
        scan_stmt(scan, s->u.cond.then);
        break;
    case ST_STORE:
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
        break;
    case ST_LET: {
        Subst to = {s->u.let.var, s->u.let.value};
        VEC_PUSH(c->arena, &scan->lets, to);
        scan_exprs(scan, s->u.let.value);
        break;
    }
    case ST_TEMP: /* a buffer that begins in the loop has no element before it */
        scan->ok &= s->u.temp != scan->buffer;
        break;
    case ST_BLOCK:
    case ST_BARRIER:
    case ST_LAUNCH:
        break;
    }
    scan->conds.n = conds;
    scan->control.n = control;
}

bool promote_scan(Scan *scan, const Stmt *loop)
{
    scan_stmt(scan, loop);
    return scan->ok && scan->read && scan->written;
}
