/* normalize.c - Implements normalize: makes the loops around a block its iterators.
 *
 *   for i in 64..N, k in 8                     for i in 64..N, k in 8
 *       block y(reduce p in N = 56 + k,            block y(i in 64..N = i, reduce k in 8 = k) {
 *               q in p + 1..N = i) {       =>          y[i] += x[56 + k];
 *           y[q] += x[p];                          }
 *       }
 *
 * Steps that split and cut loops leave iterators their domains, which may be larger than what the
 * loops have, and may depend on each other where the loops do not. What the ranges of loops do not
 * say of the old domains bounds the new iterators, or is a condition.
 *
 * Legal: no loop gives values both to a spatial iterator and to one of a reduction, and an init
 * runs for the same elements.
 * Invariant: every iteration of the loops runs what it ran, in the same place. */
#include "passes/schedule/blocks/normalize.h"

#include "passes/shared/rebuild.h"

/* ---- the iterators --------------------------------------------------------------------------- */

static bool uses_loop(const Normal *x, const Expr *e)
{
    for (int i = 0; i < x->path.n; i++)
        if (x->path.items[i]->kind == ST_FOR && expr_uses_var(e, x->path.items[i]->u.loop.var))
            return true;
    return false;
}

/* An iterator with the values of the loop, whose range is that of the iterators before. */
static bool add_iter(Normal *x, const Stmt *loop, IterKind kind)
{
    Context *c = x->s->ctx;
    const ForStmt *of = &loop->u.loop;
    REQUIRE_AT(x->s, E0908, x->span, of->step == 1, loop, "loop '%s' has step %lld", of->var->name,
               (long long)of->step);
    Expr *lo = expr_subst(c, of->lo, x->loops, x->n), *hi = expr_subst(c, of->hi, x->loops, x->n);
    REQUIRE_AT(x->s, E0908, x->span, !uses_loop(x, lo) && !uses_loop(x, hi), loop,
               "the range of loop '%s' depends on a loop that gives no iterator of block '%s' its "
               "values",
               of->var->name, x->block->name);
    Var *var = var_new(c, of->var->name, DT_INDEX, VAR_ITER, x->stmt->span);
    x->iters[x->n] = (BlockIter){var, lo, hi, expr_var(c, of->var, span_none()), kind};
    x->loops[x->n++] = (Subst){of->var, expr_var(c, var, span_none())};
    return true;
}

static bool find_iters(Normal *x)
{
    Context *c = x->s->ctx;
    x->iters = ARENA_ARRAY(c->arena, BlockIter, x->path.n + 1);
    x->loops = ARENA_ARRAY(c->arena, Subst, x->path.n + 1);
    for (int i = 0; i < x->path.n; i++) {
        const Stmt *loop = x->path.items[i];
        if (loop->kind != ST_FOR || !block_uses_var(x->block, loop->u.loop.var))
            continue;
        bool reduces = block_uses_loop(x->block, ITER_REDUCE, loop->u.loop.var);
        bool both = reduces && block_uses_loop(x->block, ITER_SPATIAL, loop->u.loop.var);
        REQUIRE_AT(x->s, E0908, x->span, !both, loop,
                   "loop '%s' gives values to a spatial iterator of block '%s' and to one of its "
                   "reduction",
                   loop->u.loop.var->name, x->block->name);
        if (!add_iter(x, loop, reduces ? ITER_REDUCE : ITER_SPATIAL))
            return false;
        x->reduces |= reduces;
    }
    REQUIRE(x->s, E0908, x->span, !x->block->init || x->reduces,
            "no loop around block '%s' gives values to an iterator of its reduction",
            x->block->name);
    return true;
}

/* ---- the conditions -------------------------------------------------------------------------- */

/* Adds a condition, an equation of indices as two bounds, which can be compared with others. */
static void add_condition(Normal *x, Expr *cond)
{
    Context *c = x->s->ctx;
    if (cond->kind != EX_EQ || cond->u.arg[0]->type != DT_INDEX) {
        VEC_PUSH(c->arena, &x->where, cond);
        return;
    }
    Expr *a = cond->u.arg[0], *b = cond->u.arg[1];
    VEC_PUSH(c->arena, &x->where, expr_binary(c, EX_GE, a, b, cond->span));
    VEC_PUSH(c->arena, &x->where, expr_binary(c, EX_LE, a, b, cond->span));
}

static bool is_of_reduction(const Normal *x, const Stmt *s)
{
    return s->kind == ST_FOR && block_uses_loop(x->block, ITER_REDUCE, s->u.loop.var);
}

static bool uses_reduction(const Normal *x, const Expr *e)
{
    for (int i = 0; i < x->path.n; i++)
        if (is_of_reduction(x, x->path.items[i]) && expr_uses_var(e, x->path.items[i]->u.loop.var))
            return true;
    return false;
}

/* What holds where an element has its init: also where the loops of the reduction are empty. */
static Facts *facts_of_init(const Normal *x)
{
    Facts *facts = facts_of_kernel(x->s->ctx, x->s->kernel);
    for (int i = 0; i + 1 < x->path.n; i++)
        if (!is_of_reduction(x, x->path.items[i]))
            facts_enter_item(facts, &x->path, i);
    return facts;
}

static bool find_conditions(Normal *x)
{
    Context *c = x->s->ctx;
    Facts *inside = sched_facts(x->s, &x->path),
          *outside = x->block->init ? facts_of_init(x) : inside;
    ExprList all = block_runs_where(c, x->block);
    for (int i = 0; i < all.n; i++) {
        if (prove(uses_reduction(x, all.items[i]) ? inside : outside, all.items[i]))
            continue;
        REQUIRE(x->s, E0908, x->span, !expr_has_load(all.items[i]),
                "data decide in which iterations block '%s' runs", x->block->name);
        add_condition(x, all.items[i]);
    }
    return true;
}

bool normal_find(Normal *x, const Value *block)
{
    x->stmt = sched_node(x->s, block, &x->path);
    x->block = &x->stmt->u.block;
    REQUIRE(x->s, E0908, x->span,
            !x->block->instruction && !x->block->elements && !x->block->lanes_alike,
            "block '%s' is an instruction, which has iterators of its own", x->block->name);
    return find_iters(x) && find_conditions(x);
}

/* ---- build ----------------------------------------------------------------------------------- */

/* `cond` bounds iterator k alone, by iterators before it: its domain takes the bound. */
static bool bound_iter(Normal *x, int k, const Expr *cond)
{
    Context *c = x->s->ctx;
    const Var *loop = x->loops[k].var;
    bool less = cond->kind == EX_LT || cond->kind == EX_LE;
    bool next = cond->kind == EX_LE || cond->kind == EX_GT;
    if ((!less && cond->kind != EX_GE && !next) || !expr_is_var(cond->u.arg[0], loop) ||
        expr_uses_var(cond->u.arg[1], loop))
        return false;
    Expr *bound = expr_subst(c, cond->u.arg[1], x->loops, k);
    bound = next ? index_add(c, bound, expr_index(c, 1)) : bound;
    if (uses_loop(x, bound))
        return false;
    Facts *facts = facts_of_kernel(c, x->s->kernel);
    for (int i = 0; i < k; i++)
        facts_range(facts, x->iters[i].var, x->iters[i].lo, x->iters[i].hi);
    BlockIter *iter = &x->iters[k];
    if (less)
        iter->hi = simplify(facts, index_min(c, iter->hi, bound));
    else
        iter->lo = simplify(facts, index_max(c, iter->lo, bound));
    return true;
}

/* What no domain takes of the conditions; NULL: nothing is left. */
static Expr *bound_iters(Normal *x)
{
    Context *c = x->s->ctx;
    Expr *rest = NULL;
    for (int i = 0; i < x->where.n; i++) {
        bool taken = false;
        for (int k = 0; k < x->n && !taken; k++)
            taken = bound_iter(x, k, x->where.items[i]);
        rest = taken ? rest : cond_and(c, rest, x->where.items[i]);
    }
    return rest;
}

/* An init runs for each value of the spatial iterators, whatever the reduction has. */
static bool check_init(const Normal *x, const Expr *predicate)
{
    REQUIRE(x->s, E0908, x->span, !x->block->init || !predicate,
            "block '%s' has an init, and would have the condition %s; use decompose_reduction "
            "first",
            x->block->name, expr_text(x->s->ctx, predicate));
    for (int i = 0; i < x->n && x->block->init; i++)
        for (int k = 0; k < i; k++)
            REQUIRE(x->s, E0908, x->span,
                    x->iters[i].kind == ITER_REDUCE || x->iters[k].kind == ITER_SPATIAL ||
                        !iter_uses_var(&x->iters[i], x->iters[k].var),
                    "loop '%s' has iterations that depend on the reduction, and block '%s' an "
                    "init; use decompose_reduction first",
                    x->iters[i].var->name, x->block->name);
    return true;
}

Stmt *normal_build(Normal *x)
{
    Context *c = x->s->ctx;
    BlockStmt block = *x->block;
    Subst *old = block_bindings(c, x->block);
    block.predicate = bound_iters(x);
    if (!check_init(x, block.predicate))
        return NULL;
    for (int i = 0; i < x->block->n_iters; i++)
        old[i].value = expr_subst(c, old[i].value, x->loops, x->n);
    if (block.init)
        block.init = stmt_subst(c, block.init, old, x->block->n_iters);
    block.body = stmt_subst(c, block.body, old, x->block->n_iters);
    block.iters = x->iters;
    block.n_iters = x->n;
    return stmt_stamp(stmt_block(c, &block, x->stmt->span), x->stmt);
}

bool prim_normalize(Schedule *s, const PrimCall *call, Value *result)
{
    Normal x = {.s = s, .span = call->span};
    if (!normal_find(&x, &call->normalize.block))
        return false;
    Stmt *now = normal_build(&x);
    Stmt *body = now ? stmt_replace(s->ctx, s->kernel->body, x.stmt, now) : NULL;
    if (!body || !flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
