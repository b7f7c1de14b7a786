/* common.c - rebuilding trees, finding launches and naming things, for the lowering passes. */
#include "passes/lower/pass.h"

#include <string.h>

/* ---- rebuilding ------------------------------------------------------------------------------ */

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
static Stmt *map_branch(Facts *f, const Stmt *s, bool otherwise, Stmt *(*fn)(void *, Stmt *),
                        void *user)
{
    Stmt *branch = otherwise ? s->u.cond.otherwise : s->u.cond.then;
    if (!branch)
        return NULL;
    FactsMark mark = facts_mark(f);
    facts_enter_enclosing(f, (Enclosing){s, otherwise});
    Stmt *done = fn(user, branch);
    facts_reset(f, mark);
    return done;
}

Stmt *stmt_map_inside(Context *c, Facts *f, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user)
{
    if (s->kind == ST_IF) {
        Stmt *then = map_branch(f, s, false, fn, user);
        return with_branches(c, s, then, map_branch(f, s, true, fn, user));
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

/* ---- searching ------------------------------------------------------------------------------- */

bool block_is_async(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_COPY_ASYNC) != NULL;
}

static bool find_barrier(Visitor *v, Stmt *s)
{
    bool *found = v->user;
    *found |= s->kind == ST_BARRIER;
    return !*found && s->kind != ST_BLOCK;
}

bool stmt_has_barrier(Stmt *s)
{
    bool found = false;
    Visitor v = {.user = &found, .stmt = find_barrier};
    visit_stmt(&v, s);
    return found;
}

typedef struct {
    Context *c;
    VarList *out;
} Defined;

static bool collect_defined(Visitor *v, Stmt *s)
{
    Defined *d = v->user;
    if (s->kind == ST_FOR)
        VEC_PUSH(d->c->arena, d->out, s->u.loop.var);
    else if (s->kind == ST_LET)
        VEC_PUSH(d->c->arena, d->out, s->u.let.var);
    return true;
}

void vars_defined_in(Context *c, Stmt *s, VarList *out)
{
    Defined d = {c, out};
    Visitor v = {.user = &d, .stmt = collect_defined};
    visit_stmt(&v, s);
}

typedef struct {
    Axis axis;
    Expr *value;
} AxisValue;

static Expr *replace_axis(Rewriter *r, Expr *e)
{
    const AxisValue *x = r->user;
    return e->kind == EX_AXIS && e->u.axis == x->axis ? x->value : e;
}

Expr *expr_replace_axis(Context *c, Expr *e, Axis axis, Expr *value)
{
    AxisValue x = {axis, value};
    Rewriter r = {.ctx = c, .user = &x, .expr = replace_axis};
    return rewrite_expr(&r, e);
}

bool expr_uses_any(const Expr *e, Var *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses_var(e, vars[i]))
            return true;
    return false;
}

static Stmt *to_axes(void *user, Stmt *s)
{
    Context *c = user;
    Stmt *done = stmt_map_children(c, s, to_axes, c);
    if (done->kind != ST_FOR || done->u.loop.kind != LOOP_BIND)
        return done;
    const ForStmt *loop = &done->u.loop;
    Expr *at = index_mul(c, expr_axis(c, loop->axis), expr_index(c, loop->step));
    Subst to = {loop->var, index_add(c, loop->lo, at)};
    return loop_with_body(c, done, stmt_subst(c, loop->body, &to, 1));
}

Stmt *bound_to_axes(Context *c, Stmt *s)
{
    return to_axes(c, s);
}

void axis_facts(Facts *f, Context *c, Stmt *s)
{
    if (s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND)
        facts_axis(f, s->u.loop.axis, loop_extent(c, &s->u.loop));
    if (s->kind == ST_FOR)
        axis_facts(f, c, s->u.loop.body);
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        axis_facts(f, c, s->u.seq.items[i]);
    if (s->kind == ST_IF) {
        axis_facts(f, c, s->u.cond.then);
        if (s->u.cond.otherwise)
            axis_facts(f, c, s->u.cond.otherwise);
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

bool stmt_is_launch_root(Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return s->u.loop.kind == LOOP_BIND || !stmt_bound_loop(s);
    case ST_IF: return !stmt_bound_loop(s);
    case ST_BLOCK: return true;
    case ST_SEQ:
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER:
    case ST_LAUNCH: return false;
    }
    return false;
}

static Stmt *walk_host(void *user, Stmt *s)
{
    LaunchWalk *w = user;
    if (w->failed)
        return s;
    Stmt *outside = w->nest, *done;
    if (!outside && s->kind != ST_SEQ)
        w->nest = s;
    if (stmt_is_launch_root(s)) {
        FactsMark mark = facts_mark(w->facts);
        done = w->root(w, s);
        w->failed |= !done;
        facts_reset(w->facts, mark);
    } else {
        done = stmt_map_inside(w->c, w->facts, s, walk_host, w);
    }
    w->nest = outside;
    return done;
}

Stmt *launch_roots_map(LaunchWalk *w, Stmt *s)
{
    w->facts = facts_of_kernel(w->c, w->kernel);
    Stmt *done = walk_host(w, s);
    return w->failed ? NULL : done;
}

/* ---- numbers --------------------------------------------------------------------------------- */

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
