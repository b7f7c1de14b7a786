/* cache_factor.c - Implements cache_factor: computes a factor of the products that a block adds up
 * in front of it, in a type that has its values.
 *
 *   for i in M, j in N, k in K                   for j in N, k in K
 *       y[i, j] += x[i, k] * f32(q[j, k]);  =>       f[j, k] = bf16(q[j, k]);
 *                                                for i in M, j in N, k in K
 *                                                    y[i, j] += x[i, k] * f32(f[j, k]);
 *
 * The factor is computed for all values of the iterators that it uses. Its elements lie as those
 * that it is made of do: like the element with most iterators in its subscripts.
 *
 * Legal: the factor is made of more than an element of that type, which nothing changes from the
 * nest to the block, and the type has all values of it.
 * Invariant: the block adds the same products. */
#include "passes/analysis/regions/data_range.h"
#include "passes/schedule/copies/value.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    const Stmt *store; /* of the block, with the values of its lets written out */
    Expr *factor;
    ValueNest nest;
} Factor;

/* The expression that is converted last, of those that the factor is a conversion of without
 * rounding; that of the type itself, if there is one. */
static Expr *before_conversion(Expr *e, DType type)
{
    while (e->kind == EX_CAST && e->type != type && type_is_float(e->type) &&
           type_has_values(e->type, e->u.arg[0]))
        e = e->u.arg[0];
    return e;
}

static bool check_factor(Factor *f)
{
    Schedule *s = f->s;
    const Value *number = &f->call->cache_factor.factor, *given = &f->call->cache_factor.type;
    const BlockStmt *block = &path_end(&f->nest.path)->u.block;
    DType type = type_find(given->u.s);
    f->store = flow_single_store(s->ctx, path_end(&f->nest.path));
    REQUIRE(s, E0918, f->call->cache_factor.block.span,
            f->store && !block->predicate && f->store->u.store.op == STORE_ADD &&
                f->store->u.store.value->kind == EX_MUL,
            "block '%s' adds no products", block->name);
    REQUIRE(s, E0918, number->span, number->u.i == 0 || number->u.i == 1,
            "a product has factors 0 and 1");
    REQUIRE(s, E0918, given->span, type != DT_COUNT && type != DT_INDEX && type != DT_BOOL,
            "'%s' is no type of numbers in memory", given->u.s);
    f->factor = f->store->u.store.value->u.arg[number->u.i];
    REQUIRE(s, E0918, given->span, type_has_values(type, f->factor),
            "type %s does not have all values of factor %d of block '%s': convert it to "
            "%s in the program, which rounds",
            given->u.s, (int)number->u.i, block->name, given->u.s);
    Expr *e = before_conversion(f->factor, type);
    f->nest.value = e->type == type ? e : expr_cast(s->ctx, type, e, e->span);
    REQUIRE(s, E0918, number->span, f->nest.value->kind != EX_LOAD,
            "factor %d of block '%s' is an element of type %s; copy it with cache_read",
            (int)number->u.i, block->name, given->u.s);
    return true;
}

/* How many of the iterators the subscripts of an element use. */
static int iterators_of(const PointBox *points, const Expr *load)
{
    int n = 0;
    for (int i = 0; i < points->n; i++)
        n += exprs_use_var(load->u.load.index, load->u.load.buffer->rank, points->var[i]);
    return n;
}

/* The element with most iterators in its subscripts; NULL: the value is made of none. */
static const Expr *widest_load(Context *c, const Expr *value, const PointBox *points)
{
    const Expr *widest = NULL;
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD &&
            (!widest || iterators_of(points, at.expr) > iterators_of(points, widest)))
            widest = at.expr;
    return widest;
}

static void add_axis(ValueNest *v, Var **axes, Var *var)
{
    for (int i = 0; i < v->n; i++)
        if (axes[i] == var)
            return;
    axes[v->n++] = var;
}

/* Those of the loops around the nest, then the others as the subscripts of that element have them,
 * then all that are left. */
static void find_axes(Factor *f)
{
    Context *c = f->s->ctx;
    ValueNest *v = &f->nest;
    PointBox points = stage_points(f->s, &path_end(&v->path)->u.block, &v->value, 1);
    Var **axes = ARENA_ARRAY(c->arena, Var *, points.n + 1);
    const Expr *widest = widest_load(c, v->value, &points);
    v->var = axes;
    for (int i = 0; i < points.n; i++)
        if (value_is_outside(c, v, block_iter(&path_end(&v->path)->u.block, points.var[i])))
            add_axis(v, axes, points.var[i]);
    for (int d = 0; widest && d < widest->u.load.buffer->rank; d++)
        for (int i = 0; i < points.n; i++)
            if (expr_uses_var(widest->u.load.index[d], points.var[i]))
                add_axis(v, axes, points.var[i]);
    for (int i = 0; i < points.n; i++)
        add_axis(v, axes, points.var[i]);
}

static bool awaits(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (expr_awaits(at.expr))
            return true;
    return false;
}

/* Finds the place of the nest. */
static bool find_place(Factor *f, StagePlace *place)
{
    Schedule *s = f->s;
    Span span = f->call->cache_factor.block.span;
    Stmt *stmt = path_end(&f->nest.path);
    BlockList users = {0};
    VEC_PUSH(s->ctx->arena, &users, stmt);
    REQUIRE(s, E0917, span,
            !stage_other_var(s->ctx, &stmt->u.block, f->nest.value) &&
                !awaits(s->ctx, f->nest.value) && value_place(s, &f->nest, &users, place),
            "a factor of block '%s' is made of what is written where it is used, or of loops, so "
            "there is no place to compute it before",
            stmt->u.block.name);
    return true;
}

/* The block with the element of the buffer in the place of the factor. */
static Stmt *with_element(const Factor *f)
{
    Context *c = f->s->ctx;
    const Stmt *old = path_end(&f->nest.path);
    Expr *element = value_load(c, &f->nest, (const Var *const *)f->nest.var, f->factor->span);
    if (element->type != f->factor->type)
        element = expr_cast(c, f->factor->type, element, f->factor->span);
    const Expr *product = f->store->u.store.value;
    bool first = f->call->cache_factor.factor.u.i == 0;
    StoreStmt store = f->store->u.store;
    store.value = expr_binary(c, EX_MUL, first ? element : product->u.arg[0],
                              first ? product->u.arg[1] : element, product->span);
    BlockStmt block = old->u.block;
    block.body = stmt_store(c, &store, f->store->span);
    return stmt_stamp(stmt_block(c, &block, old->span), old);
}

bool prim_cache_factor(Schedule *s, const PrimCall *call, Value *result)
{
    Factor f = {.s = s,
                .call = call,
                .nest = {.name = "factor",
                         .scope = scope_find(call->cache_factor.scope.u.s),
                         .origin = call->span}};
    Stmt *block = sched_node(s, &call->cache_factor.block, &f.nest.path);
    StagePlace place = {0};
    if (!check_factor(&f) || !find_place(&f, &place))
        return false;
    find_axes(&f);
    Span span = call->cache_factor.block.span;
    Stmt *nest = value_require_all(s, &f.nest, span) ? value_nest(s, &f.nest, span) : NULL;
    if (!nest)
        return false;
    Stmt *body = value_insert(s, &f.nest, &place, nest);
    body = stmt_replace(s->ctx, body, block, with_element(&f));
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(f.nest.compute);
    return true;
}
