/* cache_value.c - Implements cache_value: computes once what several blocks compute.
 *
 *   for j in N                                   for j in N
 *       s += exp(x[j] - m);                          e[j] = exp(x[j] - m);
 *   for j in N                            =>     for j in N
 *       y[j] = exp(x[j] - m) * 2;                    s += e[j];
 *                                                for j in N
 *                                                    y[j] = e[j] * 2;
 *
 * The expression is the largest one of the block that reads memory and is in each of the other
 * blocks, with other iterators in the place of its own. It is computed for all values of the
 * iterators that it uses, in front of the outermost statements that hold the blocks and write
 * nothing that it reads.
 *
 * Legal: the block computes it in all its iterations, and nothing that it reads changes before the
 * last of the blocks.
 * Invariant: each block reads the value that it computed. */
#include "passes/schedule/copies/value.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    BlockList users; /* the block, and the others */
    ValueNest nest;  /* computes what they have alike, once it is placed */
    const Var **own; /* [nest.n] those of the block at work that take their place */
    bool placed;
} Shared;

/* ---- the expression -------------------------------------------------------------------------- */

/* The iterator of the user that takes the place of the value's variable `var`, where this is the
 * first to do so. False where `var` is an iterator of the value, and `own` none of the user. */
static bool match_iter(Shared *v, const BlockStmt *user, const Var *var, const Var *own)
{
    for (int i = 0; i < v->nest.n; i++)
        if (v->nest.var[i] == var && !v->own[i]) {
            v->own[i] = own;
            return block_iter(user, own) != NULL;
        }
    return true;
}

/* Matches an expression of a user with the value: the same but for iterators, each of which takes
 * the place of one. Both are walked in the same order. */
static bool is_value(Shared *v, const BlockStmt *user, const Expr *e)
{
    Context *c = v->s->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, v->nest.n + 1);
    for (int i = 0; i < v->nest.n; i++)
        v->own[i] = NULL;
    Cursor here = cursor_expr(c, e), there = cursor_expr(c, v->nest.value);
    while (cursor_next(&there)) {
        if (!cursor_next(&here) || here.expr->kind != there.expr->kind)
            return false;
        if (there.expr->kind == EX_VAR && !match_iter(v, user, there.expr->u.var, here.expr->u.var))
            return false;
    }
    int n = 0;
    for (int i = 0; i < v->nest.n; i++)
        if (v->own[i])
            map[n++] = (Subst){v->nest.var[i], expr_var(c, (Var *)v->own[i], e->span)};
    return !cursor_next(&here) && expr_equal(expr_subst(c, v->nest.value, map, n), e);
}

/* The iterators of a user, which take the place of the block's, have the same ranges, and those
 * that the loops around the nest decide, the same values. */
static bool has_value(const Shared *v, const BlockStmt *user)
{
    Context *c = v->s->ctx;
    const BlockStmt *block = &path_end(&v->nest.path)->u.block;
    Subst *map = ARENA_ARRAY(c->arena, Subst, v->nest.n + 1);
    for (int i = 0; i < v->nest.n; i++) {
        const BlockIter *a = block_iter(block, v->nest.var[i]);
        const BlockIter *b = v->own[i] ? block_iter(user, v->own[i]) : NULL;
        if (!b || !expr_equal(expr_subst(c, a->lo, map, i), b->lo) ||
            !expr_equal(expr_subst(c, a->hi, map, i), b->hi) ||
            (v->placed && value_is_outside(c, &v->nest, a) && !expr_equal(a->binding, b->binding)))
            return false;
        map[i] = (Subst){a->var, expr_var(c, b->var, a->var->span)};
    }
    return true;
}

/* The value stands in another block. */
static bool is_in(Shared *v, const Stmt *user)
{
    for (Cursor at = cursor_stmt(v->s->ctx, user->u.block.body); cursor_next(&at);)
        if (at.expr && is_value(v, &user->u.block, at.expr) && has_value(v, &user->u.block))
            return true;
    return false;
}

/* It computes a number from what it reads, which the block does not write. */
static bool is_computed(const Shared *v, const Expr *e)
{
    Stmt *block = path_end(&v->nest.path);
    bool loads = false;
    if (e->kind == EX_LOAD || e->type == DT_INDEX || e->type == DT_BOOL ||
        (e->kind == EX_CAST && e->u.arg[0]->kind == EX_LOAD) ||
        stage_other_var(v->s->ctx, &block->u.block, e))
        return false;
    for (Cursor at = cursor_expr(v->s->ctx, e); cursor_next(&at);) {
        if (expr_awaits(at.expr))
            return false;
        if (at.expr->kind != EX_LOAD)
            continue;
        loads = true;
        if (stmt_accesses(v->s->ctx, block, at.expr->u.load.buffer, ACCESS_WRITE))
            return false;
    }
    return loads;
}

static bool is_shared(Shared *v, Expr *e)
{
    v->nest.value = e;
    PointBox points = stage_points(v->s, &path_end(&v->nest.path)->u.block, &e, 1);
    v->nest.var = points.var;
    v->nest.n = points.n;
    v->own = ARENA_ARRAY(v->s->ctx->arena, const Var *, v->nest.n + 1);
    if (v->nest.n == 0 || !is_computed(v, e))
        return false;
    for (int i = 1; i < v->users.n; i++)
        if (!is_in(v, v->users.items[i]))
            return false;
    return true;
}

/* Its first operand decides whether the others are computed. */
static bool is_lazy(const Expr *e)
{
    return e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR;
}

/* Finds the largest such expression of those that are computed in each iteration. */
static bool find_value(Shared *v, Expr *e)
{
    if (is_shared(v, e))
        return true;
    int n = e->kind == EX_LOAD ? 0 : is_lazy(e) ? 1 : expr_operands(e);
    for (int i = 0; i < n; i++)
        if (find_value(v, expr_operand(e, i)))
            return true;
    return false;
}

/* ---- the blocks ------------------------------------------------------------------------------ */

typedef struct {
    Shared *v;
    const BlockStmt *user;
} Reader;

static Expr *read_value(Rewriter *r, Expr *e)
{
    const Reader *reader = r->user;
    Shared *v = reader->v;
    if (!is_value(v, reader->user, e) || !has_value(v, reader->user))
        return e;
    return value_load(r->ctx, &v->nest, v->own, e->span);
}

static Stmt *with_value(Shared *v, Stmt *user)
{
    Reader reader = {v, &user->u.block};
    Rewriter r = {.ctx = v->s->ctx, .user = &reader, .expr = read_value};
    return stmt_without_unused_lets(v->s->ctx, rewrite_stmt(&r, user));
}

static void find_users(Shared *v)
{
    Schedule *s = v->s;
    const Value *others = &v->call->cache_value.others;
    VEC_PUSH(s->ctx->arena, &v->users, sched_node(s, &v->call->cache_value.block, &v->nest.path));
    for (int i = 0; i < others->u.list.n; i++) {
        Stmt *block = sched_node(s, &others->u.list.items[i], NULL);
        if (block != v->users.items[0])
            VEC_PUSH(s->ctx->arena, &v->users, block);
    }
}

/* Finds the place of the nest: what it reads is there, and does not change before the last user. */
static bool find_place(Shared *v, StagePlace *place)
{
    Schedule *s = v->s;
    const BlockStmt *block = &path_end(&v->nest.path)->u.block;
    Span span = v->call->cache_value.block.span;
    REQUIRE(s, E0917, span, value_place(s, &v->nest, &v->users, place),
            "what block '%s' and the others compute alike is made of what is written between them, "
            "so there is no place to compute it once",
            block->name);
    if (!value_require_all(s, &v->nest, span))
        return false;
    v->placed = true;
    for (int i = 1; i < v->users.n; i++)
        REQUIRE(s, E0917, span, is_in(v, v->users.items[i]),
                "the loops around blocks '%s' and '%s' give the same value to iterators that the "
                "one has, and the other one has not in the place of these",
                block->name, v->users.items[i]->u.block.name);
    return true;
}

bool prim_cache_value(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Shared v = {.s = s,
                .call = call,
                .nest = {.name = "value",
                         .scope = scope_find(call->cache_value.scope.u.s),
                         .origin = call->span}};
    Span span = call->cache_value.block.span;
    find_users(&v);
    const BlockStmt *block = &path_end(&v.nest.path)->u.block;
    const Stmt *store = stmt_single_store(block->body);
    REQUIRE(s, E0916, span, store && !block->predicate && find_value(&v, store->u.store.value),
            "block '%s' computes nothing in each of its iterations that all of the others compute, "
            "too; they need the same expression of elements, with other iterators over the same "
            "ranges",
            block->name);
    StagePlace place = {0};
    if (!find_place(&v, &place))
        return false;
    Stmt *nest = value_nest(s, &v.nest, span);
    if (!nest)
        return false;
    Stmt *body = value_insert(s, &v.nest, &place, nest);
    for (int i = 0; i < v.users.n; i++)
        body = stmt_replace(c, body, v.users.items[i], with_value(&v, v.users.items[i]));
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(v.nest.compute);
    return true;
}
