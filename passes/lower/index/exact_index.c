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
    if (op_info(e->kind)->class == OP_LANES) /* data: its second operand only names a lane */
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

static Expr *exact_index_expr(Context *c, Expr *e, Var *const *axes)
{
    return rewrite_expr(&(Rewriter){.ctx = c, .user = (void *)axes, .expr = exact_node}, e);
}

Expr *const *exact_index_exprs(Context *c, Expr *const *e, int n, Var *const *axes)
{
    Expr **exact = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        exact[i] = to_index(c, exact_index_expr(c, e[i], axes));
    return exact;
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

/* The scopes with their own expressions mapped; what is inside of their statements stays. */
static EnclosingList map_scopes(const EnclosingList *scopes, MapScope m,
                                Expr *(*map)(void *user, Expr *e))
{
    EnclosingList mapped = {0};
    for (int i = 0; i < scopes->n; i++) {
        Stmt *s = ARENA_NEW(m.c->arena, Stmt);
        *s = *scopes->items[i].stmt;
        if (s->kind == ST_FOR) {
            s->u.loop.lo = map(&m, s->u.loop.lo);
            s->u.loop.hi = map(&m, s->u.loop.hi);
        } else if (s->kind == ST_IF) {
            s->u.cond.cond = map(&m, s->u.cond.cond);
        } else if (s->kind == ST_LET) {
            s->u.let.value = map(&m, s->u.let.value);
        }
        VEC_PUSH(m.c->arena, &mapped, ((Enclosing){s, scopes->items[i].otherwise}));
    }
    return mapped;
}

EnclosingList exact_index_scopes(Context *c, const EnclosingList *path, Var *const *axes)
{
    return map_scopes(path, (MapScope){.c = c, .axes = axes}, exact_of_scope);
}

EnclosingList scopes_subst(Context *c, const EnclosingList *scopes, const Subst *map, int n)
{
    return map_scopes(scopes, (MapScope){.c = c, .map = map, .n = n}, subst_of_scope);
}

void exact_index_axes(Context *c, const Stmt *launch, Var **axes, EnclosingList *path)
{
    for (int k = 0; k < AXIS_COUNT; k++) {
        axes[k] = var_new(c, ctx_name(c, axis_name((Axis)k)), DT_INDEX, VAR_LOOP, launch->span);
        ForStmt loop = {.var = axes[k], .lo = expr_index(c, 0), .step = 1, .axis = AXIS_NONE};
        loop.hi = launch_extent(c, &launch->u.launch, (Axis)k);
        loop.body = stmt_empty(c, launch->span);
        VEC_PUSH(c->arena, path, ((Enclosing){stmt_for(c, &loop, launch->span), false}));
    }
}
