/* normal_form.c - Brings a statement into a form in which it can be compared with another.
 *
 *   for i in 2..6 {                         for i in 4
 *       let v = x[i];               =>          y[i + 2] = x[i + 2] * x[i + 2];
 *       y[i] = v * v;
 *   }
 *
 * Loops begin at 0 and have more than one iteration; values are written where they are used. */
#include "passes/shared/normal_form.h"

#include "passes/shared/rebuild.h"

typedef struct {
    Context *c;
    const Stmt *whole;
} Normal;

/* The value may be written where it is used: nothing in the whole changes what it reads. */
static bool stays(const Normal *n, const Expr *value)
{
    for (Cursor at = cursor_stmts(n->c, n->whole); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE && expr_reads(value, at.stmt->u.store.buffer))
            return false;
    return true;
}

static Stmt *normal(void *user, Stmt *s);

static Stmt *normal_seq(Normal *n, Stmt *s)
{
    SubstList map = {0};
    StmtList items = {0};
    for (int i = 0; i < s->u.seq.n; i++) {
        Stmt *item = normal(n, stmt_subst(n->c, s->u.seq.items[i], map.items, map.n));
        if (item->kind == ST_LET && stays(n, item->u.let.value))
            VEC_PUSH(n->c->arena, &map, ((Subst){item->u.let.var, item->u.let.value}));
        else
            VEC_PUSH(n->c->arena, &items, item);
    }
    return stmt_stamp(stmt_seq(n->c, items.items, items.n, s->span), s);
}

/* From 0 in steps of 1; the body alone where there is one iteration. */
static Stmt *normal_for(Normal *n, Stmt *s)
{
    ForStmt loop = s->u.loop;
    int64_t lo, extent;
    if (loop.step == 1 && expr_is_const(loop.lo, &lo) && loop_const_extent(&loop, &extent) &&
        (lo != 0 || extent == 1)) {
        Expr *at = expr_var(n->c, loop.var, loop.var->span);
        Subst to = {loop.var, extent == 1 ? loop.lo : index_add(n->c, at, loop.lo)};
        loop.body = stmt_subst(n->c, loop.body, &to, 1);
        loop.lo = expr_index(n->c, 0);
        loop.hi = expr_index(n->c, extent);
        if (extent == 1)
            return normal(n, loop.body);
    }
    loop.body = normal(n, loop.body);
    return stmt_stamp(stmt_for(n->c, &loop, s->span), s);
}

static Stmt *normal(void *user, Stmt *s)
{
    Normal *n = user;
    if (s->kind == ST_SEQ && !s->u.seq.combiner)
        return normal_seq(n, s);
    return s->kind == ST_FOR ? normal_for(n, s) : stmt_map_children(n->c, s, normal, n);
}

Stmt *normal_form(Context *c, Stmt *s)
{
    Normal n = {c, s};
    return normal(&n, s);
}
