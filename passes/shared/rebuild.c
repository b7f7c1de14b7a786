/* rebuild.c - see rebuild.h. */
#include "passes/shared/rebuild.h"

Stmt *loop_with_body(Context *c, const Stmt *loop, Stmt *body)
{
    ForStmt copy = loop->u.loop;
    copy.body = body;
    return stmt_stamp(stmt_for(c, &copy, loop->span), loop);
}

Stmt *stmt_then(Context *c, Stmt *s1, Stmt *s2)
{
    if (!s1)
        return s2;
    if (!s2)
        return s1;
    Stmt *items[2] = {s1, s2};
    return stmt_seq(c, items, 2, span_join(s1->span, s2->span));
}

Stmt *stmt_empty(Context *c, Span span)
{
    return stmt_seq(c, NULL, 0, span);
}

static Stmt *map_seq(Context *c, Stmt *s, Stmt *(*fn)(void *, Stmt *), void *user)
{
    StmtList items = {0};
    bool changed = false;
    for (int i = 0; i < s->u.seq.n; i++) {
        Stmt *item = fn(user, s->u.seq.items[i]);
        changed |= item != s->u.seq.items[i];
        if (item)
            VEC_PUSH(c->arena, &items, item);
    }
    if (!changed)
        return s;
    return items.n ? stmt_seq(c, items.items, items.n, s->span) : NULL;
}

/* The condition with other branches. */
static Stmt *with_branches(Context *c, Stmt *s, Stmt *then, Stmt *otherwise)
{
    if (then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    if (!then && !otherwise)
        return NULL;
    if (!then)
        then = stmt_empty(c, s->span);
    return stmt_stamp(stmt_if(c, s->u.cond.cond, then, otherwise, s->span), s);
}

static Stmt *map_if(Context *c, Stmt *s, Stmt *(*fn)(void *, Stmt *), void *user)
{
    Stmt *then = fn(user, s->u.cond.then);
    Stmt *otherwise = s->u.cond.otherwise ? fn(user, s->u.cond.otherwise) : NULL;
    return with_branches(c, s, then, otherwise);
}

Stmt *stmt_map_children(Context *c, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user)
{
    switch (s->kind) {
    case ST_SEQ: return map_seq(c, s, fn, user);
    case ST_IF: return map_if(c, s, fn, user);
    case ST_FOR: {
        Stmt *body = fn(user, s->u.loop.body);
        return body == s->u.loop.body ? s : body ? loop_with_body(c, s, body) : NULL;
    }
    case ST_LAUNCH: {
        LaunchStmt launch = s->u.launch;
        launch.body = fn(user, s->u.launch.body);
        if (launch.body == s->u.launch.body)
            return s;
        if (!launch.body)
            launch.body = stmt_empty(c, s->span);
        return stmt_stamp(stmt_launch(c, &launch, s->span), s);
    }
    case ST_BLOCK:
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER: return s;
    }
    return s;
}

/* fn(user, branch) where the condition holds, or not. */
static Stmt *map_branch(Facts *f, const Stmt *s, Branch which, Stmt *(*fn)(void *, Stmt *),
                        void *user)
{
    Stmt *branch = which == BRANCH_ELSE ? s->u.cond.otherwise : s->u.cond.then;
    if (!branch)
        return NULL;
    FactsMark mark = facts_mark(f);
    facts_enter_enclosing(f, (Enclosing){s, which == BRANCH_ELSE});
    Stmt *done = fn(user, branch);
    facts_reset(f, mark);
    return done;
}

Stmt *stmt_map_inside(Context *c, Facts *f, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user)
{
    if (s->kind == ST_IF) {
        Stmt *then = map_branch(f, s, BRANCH_THEN, fn, user);
        return with_branches(c, s, then, map_branch(f, s, BRANCH_ELSE, fn, user));
    }
    FactsMark mark = facts_mark(f);
    if (s->kind == ST_FOR || s->kind == ST_LAUNCH)
        facts_enter(f, s);
    Stmt *done = stmt_map_children(c, s, fn, user);
    facts_reset(f, mark);
    return done;
}

Kernel *kernel_with_body(Context *c, const Kernel *kernel, Stmt *body)
{
    Kernel *k = ARENA_NEW(c->arena, Kernel);
    *k = *kernel;
    k->body = body;
    return k;
}

void cond_split(Context *c, Expr *cond, ExprList *out)
{
    if (!cond)
        return;
    if (cond->kind == EX_AND) {
        cond_split(c, cond->u.arg[0], out);
        cond_split(c, cond->u.arg[1], out);
        return;
    }
    VEC_PUSH(c->arena, out, cond);
}

Expr *cond_join(Context *c, const ExprList *conds)
{
    Expr *all = NULL;
    for (int i = 0; i < conds->n; i++)
        all = cond_and(c, all, conds->items[i]);
    return all;
}

bool expr_list_has(const ExprList *list, const Expr *e)
{
    for (int i = 0; i < list->n; i++)
        if (expr_equal(list->items[i], e))
            return true;
    return false;
}

bool expr_uses_any(const Expr *e, Var *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses_var(e, vars[i]))
            return true;
    return false;
}

static bool eval_binary(ExprKind kind, int64_t a, int64_t b, int64_t *v)
{
    switch ((int)kind) {
    case EX_ADD: return checked_add(a, b, v);
    case EX_SUB: return checked_sub(a, b, v);
    case EX_MUL: return checked_mul(a, b, v);
    case EX_DIV: *v = b ? a / b : 0; return b > 0;
    case EX_MOD: *v = b ? a % b : 0; return b > 0;
    case EX_MIN: *v = a < b ? a : b; return true;
    case EX_MAX: *v = a > b ? a : b; return true;
    case EX_LT: *v = a < b; return true;
    case EX_LE: *v = a <= b; return true;
    case EX_GT: *v = a > b; return true;
    case EX_GE: *v = a >= b; return true;
    case EX_EQ: *v = a == b; return true;
    case EX_NE: *v = a != b; return true;
    case EX_AND: *v = a && b; return true;
    case EX_OR: *v = a || b; return true;
    default: return false;
    }
}

bool expr_eval(const Expr *e, const VarValue *env, int n, int64_t *value)
{
    int64_t a, b;
    if (e->kind == EX_INT) {
        *value = e->u.i;
        return true;
    }
    if (e->kind == EX_VAR) {
        for (int i = 0; i < n; i++)
            if (env[i].var == e->u.var) {
                *value = env[i].value;
                return true;
            }
        return false;
    }
    if (e->kind == EX_NOT && expr_eval(e->u.arg[0], env, n, &a)) {
        *value = !a;
        return true;
    }
    if (e->kind == EX_NEG)
        return expr_eval(e->u.arg[0], env, n, &a) && checked_sub(0, a, value);
    return expr_is_binary(e->kind) && expr_eval(e->u.arg[0], env, n, &a) &&
           expr_eval(e->u.arg[1], env, n, &b) && eval_binary(e->kind, a, b, value);
}
