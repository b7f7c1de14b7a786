/* exact_index.c - Translates index arithmetic of a lowered kernel to exact integers, for proofs.
 *
 *   i64(blockIdx.x * 64 + y) * 4096 + i64(k) * 32 + 96   =>   (b * 64 + y) * 4096 + k * 32 + 96 */
#include "passes/lower/index/exact_index.h"

#include "passes/lower/pass.h"

static Expr *to_index(Context *c, Expr *e)
{
    int64_t value;
    if (e->type == DT_INDEX)
        return e;
    return expr_is_const(e, &value) ? expr_index(c, value) : expr_cast(c, DT_INDEX, e, e->span);
}

/* A leaf of 64 bits that is no index may stand beside one: `i64(i) + n`. */
static bool has_index(const Expr *e, int from)
{
    bool has = false;
    for (int i = from; i < expr_arity(e->kind); i++)
        has |= e->u.arg[i]->type == DT_INDEX;
    return has;
}

static Expr *exact_node(Rewriter *r, Expr *e)
{
    Context *c = r->ctx;
    Var *const *axes = r->user;
    Expr *const *arg = e->u.arg;
    if (e->kind == EX_SHUFFLE_XOR) /* data: its second operand only names a lane */
        return e;
    if (e->kind == EX_AXIS)
        return expr_var(c, axes[e->u.axis], e->span);
    if (e->kind == EX_VAR && e->type == DT_I64 &&
        (e->u.var->kind == VAR_LOOP || e->u.var->kind == VAR_LET))
        return expr_cast(c, DT_INDEX, e, e->span);
    if (e->kind == EX_CAST && (e->type == DT_I64 || e->type == DT_INDEX) &&
        arg[0]->type == DT_INDEX)
        return arg[0];
    if (expr_is_binary(e->kind) && arg[0]->type != arg[1]->type && has_index(e, 0))
        return expr_binary(c, e->kind, to_index(c, arg[0]), to_index(c, arg[1]), e->span);
    if (expr_is_binary(e->kind) && e->type == DT_I64 && has_index(e, 0))
        return expr_binary(c, e->kind, arg[0], arg[1], e->span);
    if (expr_is_unary(e->kind) && e->type == DT_I64 && has_index(e, 0))
        return expr_unary(c, e->kind, arg[0], e->span);
    if (e->kind == EX_SELECT && e->type == DT_I64 && has_index(e, 1))
        return expr_select(c, arg[0], to_index(c, arg[1]), to_index(c, arg[2]), e->span);
    return e;
}

Expr *exact_index_expr(Context *c, Expr *e, Var *const *axes)
{
    Rewriter r = {.ctx = c, .user = (void *)axes, .expr = exact_node};
    return rewrite_expr(&r, e);
}

Expr *const *exact_index_exprs(Context *c, Expr *const *e, int n, Var *const *axes)
{
    Expr **exact = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        exact[i] = to_index(c, exact_index_expr(c, e[i], axes));
    return exact;
}

/* The statement of a scope with its own expressions mapped; what is inside stays. */
static Stmt *map_scope(Context *c, const Stmt *s, Expr *(*map)(void *user, Expr *e), void *user)
{
    Stmt *scope = ARENA_NEW(c->arena, Stmt);
    *scope = *s;
    if (s->kind == ST_FOR) {
        scope->u.loop.lo = map(user, s->u.loop.lo);
        scope->u.loop.hi = map(user, s->u.loop.hi);
    } else if (s->kind == ST_IF) {
        scope->u.cond.cond = map(user, s->u.cond.cond);
    } else if (s->kind == ST_LET) {
        scope->u.let.value = map(user, s->u.let.value);
    }
    return scope;
}

typedef struct {
    Context *c;
    Var *const *axes;
    const Subst *map;
    int n;
} MapScope;

/* Bounds of loops that count in 64 bits are indices, too. */
static Expr *exact_of_scope(void *user, Expr *e)
{
    const MapScope *m = user;
    Expr *exact = exact_index_expr(m->c, e, m->axes);
    return exact->type == DT_I64 ? to_index(m->c, exact) : exact;
}

static Expr *subst_of_scope(void *user, Expr *e)
{
    const MapScope *m = user;
    return expr_subst(m->c, e, m->map, m->n);
}

EnclosingList exact_index_scopes(Context *c, const EnclosingList *path, Var *const *axes)
{
    EnclosingList exact = {0};
    MapScope m = {.c = c, .axes = axes};
    for (int i = 0; i < path->n; i++) {
        Enclosing around = path->items[i];
        around.stmt = map_scope(c, around.stmt, exact_of_scope, &m);
        VEC_PUSH(c->arena, &exact, around);
    }
    return exact;
}

EnclosingList scopes_subst(Context *c, const EnclosingList *scopes, const Subst *map, int n)
{
    EnclosingList replaced = {0};
    MapScope m = {.c = c, .map = map, .n = n};
    for (int i = 0; i < scopes->n; i++) {
        Enclosing around = scopes->items[i];
        around.stmt = map_scope(c, around.stmt, subst_of_scope, &m);
        VEC_PUSH(c->arena, &replaced, around);
    }
    return replaced;
}

void exact_index_axes(Context *c, const Stmt *launch, Var **axes, EnclosingList *path)
{
    for (int k = 0; k < AXIS_COUNT; k++) {
        axes[k] = var_new(c, ctx_name(c, axis_name((Axis)k)), DT_INDEX, VAR_LOOP, launch->span);
        ForStmt loop = {.var = axes[k], .lo = expr_index(c, 0), .step = 1, .axis = AXIS_NONE};
        loop.hi = k < AXIS_THREAD_X ? launch->u.launch.grid[k]
                                    : expr_index(c, launch->u.launch.block[k - AXIS_THREAD_X]);
        loop.body = stmt_empty(c, launch->span);
        VEC_PUSH(c->arena, path, ((Enclosing){stmt_for(c, &loop, launch->span), false}));
    }
}
