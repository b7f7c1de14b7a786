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
#include "passes/analysis/polyhedral/poly.h"
#include "passes/schedule/copies/stage.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path;   /* to the block */
    BlockList users; /* the block, and the others */
    Expr *value;
    PointBox points; /* the block's iterators in the value, */
    const Var **own; /* [points.n] those of the block at work that take their place */
    bool placed;
    StmtPath outside; /* if so: the loops around the nest that computes the value */
    Buffer *buffer;
} Shared;

/* ---- the expression -------------------------------------------------------------------------- */

/* Matches an expression of a user with the value: the same but for iterators, each of which takes
 * the place of one. Both are walked in the same order. */
static bool is_value(Shared *v, const BlockStmt *user, const Expr *e)
{
    Context *c = v->s->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, v->points.n + 1);
    for (int i = 0; i < v->points.n; i++)
        v->own[i] = NULL;
    Cursor here = cursor_expr(c, e), there = cursor_expr(c, v->value);
    int n = 0;
    while (cursor_next(&there)) {
        if (!cursor_next(&here) || here.expr->kind != there.expr->kind)
            return false;
        for (int i = 0; there.expr->kind == EX_VAR && i < v->points.n; i++)
            if (there.expr->u.var == v->points.var[i] && !v->own[i]) {
                v->own[i] = here.expr->u.var;
                if (!block_iter(user, v->own[i]))
                    return false;
                map[n++] = (Subst){v->points.var[i], expr_var(c, here.expr->u.var, e->span)};
            }
    }
    return !cursor_next(&here) && expr_equal(expr_subst(c, v->value, map, n), e);
}

/* An iterator of the block that the loops around the nest decide. */
static bool is_outside(const Shared *v, const BlockIter *iter)
{
    for (Cursor at = cursor_expr(v->s->ctx, iter->binding); cursor_next(&at);) {
        bool found = at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LOOP;
        for (int i = 0; i < v->outside.n && !found; i++)
            found = v->outside.items[i]->kind == ST_FOR &&
                    v->outside.items[i]->u.loop.var == at.expr->u.var;
        if (!found)
            return false;
    }
    return true;
}

/* The iterators of a user, which take the place of the block's, have the same ranges, and those
 * that the loops around the nest decide, the same values. */
static bool has_value(const Shared *v, const BlockStmt *user)
{
    Context *c = v->s->ctx;
    const BlockStmt *block = &path_end(&v->path)->u.block;
    Subst *map = ARENA_ARRAY(c->arena, Subst, v->points.n + 1);
    for (int i = 0; i < v->points.n; i++) {
        const BlockIter *a = block_iter(block, v->points.var[i]);
        const BlockIter *b = v->own[i] ? block_iter(user, v->own[i]) : NULL;
        if (!b || !expr_equal(expr_subst(c, a->lo, map, i), b->lo) ||
            !expr_equal(expr_subst(c, a->hi, map, i), b->hi) ||
            (v->placed && is_outside(v, a) && !expr_equal(a->binding, b->binding)))
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
    Stmt *block = path_end(&v->path);
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
    v->value = e;
    v->points = stage_points(v->s, &path_end(&v->path)->u.block, &e, 1);
    v->own = ARENA_ARRAY(v->s->ctx->arena, const Var *, v->points.n + 1);
    if (v->points.n == 0 || !is_computed(v, e))
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

/* ---- the nest that computes it --------------------------------------------------------------- */

static bool starts_at_zero(const BlockIter *iter)
{
    int64_t lo;
    return expr_is_const(iter->lo, &lo) && lo == 0 && expr_of_sizes(iter->hi);
}

/* Declares the buffer, and fills it. NULL where an iterator has no axis. */
static Stmt *make_nest(Shared *v, Stmt **compute)
{
    Schedule *s = v->s;
    Context *c = s->ctx;
    const BlockStmt *block = &path_end(&v->path)->u.block;
    int n = v->points.n, axes = 0;
    Span span = v->value->span;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, n + 1);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, n + 1);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, n + 1),
         **index = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, n + 1);
    for (int i = 0; i < n; i++) {
        const BlockIter *old = block_iter(block, v->points.var[i]);
        iters[i] = *old;
        iters[i].kind = ITER_SPATIAL;
        iters[i].var = var_new(c, old->var->name, DT_INDEX, VAR_ITER, span);
        iters[i].lo = expr_subst(c, old->lo, map, i);
        iters[i].hi = expr_subst(c, old->hi, map, i);
        map[i] = (Subst){old->var, expr_var(c, iters[i].var, span)};
        if (is_outside(v, old))
            continue;
        if (!starts_at_zero(old))
            return NULL;
        Name name = sched_fresh_name(s, arena_printf(c->arena, "ax%d", axes));
        loops[axes] = flow_loop(s, name, old->lo, old->hi);
        iters[i].binding = expr_var(c, loops[axes].var, span);
        shape[axes] = old->hi;
        index[axes++] = map[i].value;
    }
    Name name = sched_fresh_name(s, arena_printf(c->arena, "%s_value", block->name));
    v->buffer = buffer_new(c, &(Buffer){.name = name,
                                        .type = v->value->type,
                                        .shape = stage_shape(s, shape, axes),
                                        .rank = axes,
                                        .scope = scope_find(v->call->cache_value.scope.u.s),
                                        .role = ROLE_TEMP,
                                        .span = span});
    v->buffer->origin = v->call->span;
    Stmt *store = stmt_store(c,
                             &(StoreStmt){.buffer = v->buffer,
                                          .index = index,
                                          .op = STORE_SET,
                                          .value = expr_subst(c, v->value, map, n)},
                             span);
    *compute = stmt_block(
        c, &(BlockStmt){.name = name, .iters = iters, .n_iters = n, .body = store}, span);
    Stmt *both[] = {stmt_temp(c, v->buffer, span), stmt_in_loops(c, loops, axes, *compute, span)};
    return stmt_seq(c, both, 2, span);
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
    Context *c = r->ctx;
    if (!is_value(v, reader->user, e) || !has_value(v, reader->user))
        return e;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, v->points.n + 1);
    int axes = 0;
    for (int i = 0; i < v->points.n; i++)
        if (!is_outside(v, block_iter(&path_end(&v->path)->u.block, v->points.var[i])))
            index[axes++] = expr_var(c, (Var *)v->own[i], e->span);
    return expr_load(c, v->buffer, index, e->span);
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
    VEC_PUSH(s->ctx->arena, &v->users, sched_node(s, &v->call->cache_value.block, &v->path));
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
    const BlockStmt *block = &path_end(&v->path)->u.block;
    Span span = v->call->cache_value.block.span;
    BufferSet read = {0};
    Conflict why;
    for (Cursor at = cursor_expr(s->ctx, v->value); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD)
            VEC_PUSH(s->ctx->arena, &read, at.expr->u.load.buffer);
    REQUIRE(s, E0917, span, stage_place(s, &v->users, &read, ACCESS_WRITE, place),
            "what block '%s' and the others compute alike is made of what is written between them, "
            "so there is no place to compute it once",
            block->name);
    REQUIRE_KEPT(s, E0917, span, flow_runs_whole(s, path_end(&v->path), &why), &why,
                 "block '%s' does not run over the full domains of its iterators, but the block "
                 "that computes its value would: %s",
                 block->name, why.reason);
    v->outside = stmt_path_to(s->ctx, s->kernel->body, place->parent);
    v->outside.n--; /* the list, or the statement behind the nest */
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
    Shared v = {.s = s, .call = call};
    Span span = call->cache_value.block.span;
    find_users(&v);
    const BlockStmt *block = &path_end(&v.path)->u.block;
    const Stmt *store = stmt_single_store(block->body);
    REQUIRE(s, E0916, span, store && !block->predicate && find_value(&v, store->u.store.value),
            "block '%s' computes nothing in each of its iterations that all of the others compute, "
            "too; they need the same expression of elements, with other iterators over the same "
            "ranges",
            block->name);
    StagePlace place = {0};
    Stmt *compute;
    if (!find_place(&v, &place))
        return false;
    Stmt *nest = make_nest(&v, &compute);
    REQUIRE(s, E0917, span, nest,
            "the ranges of the iterators of block '%s' do not start at 0, or depend on loops or "
            "data, so its values have no box",
            block->name);
    Stmt *body =
        stmt_replace(c, s->kernel->body, place.parent, stage_insert(s, &place, nest, NULL));
    for (int i = 0; i < v.users.n; i++)
        body = stmt_replace(c, body, v.users.items[i], with_value(&v, v.users.items[i]));
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(compute);
    return true;
}
