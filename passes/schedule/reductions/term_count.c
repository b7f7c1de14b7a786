/* term_count.c - Counts the terms that a block adds to one element (term_count.h).
 *
 *   for p in 3, e in 8  block (reduce e in 8 = e) where p * 8 + e < 20 { s[p] += x[p * 8 + e]; }
 *
 * has max(0, min(8, 20 - p * 8)) terms. Conditions limit one iterator from above, so that it takes
 * its first values. Iterators that are the last digits of what is compared do not count in it:
 * e * 4 + d < 20 holds for all d in 4 or for none. */
#include "passes/schedule/reductions/term_count.h"
#include "passes/shared/rebuild.h"

typedef struct {
    Schedule *s;
    Facts *facts;
    const BlockStmt *block;
    Span span;
    const BlockIter *limited; /* the one that conditions are about, or NULL */
    Expr *most;               /* of its values, so far */
    ExprList uniform;         /* conditions on none */
} Count;

static Expr *binary(Count *n, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(n->s->ctx, kind, a, b, n->span);
}

static Expr *extent(Count *n, const BlockIter *iter)
{
    return simplify(n->facts, binary(n, EX_SUB, iter->hi, iter->lo));
}

static bool is_not_negative(Count *n, Expr *e)
{
    return prove(n->facts, binary(n, EX_GE, e, expr_index(n->s->ctx, 0)));
}

static bool is_reduced(const BlockIter *iter)
{
    return iter->kind == ITER_REDUCE;
}

/* a / d < b is a < b * d where a is not negative; no term exists where d is 0. */
static bool without_quotient(Count *n, Expr **a, Expr **b)
{
    while ((*a)->kind == EX_DIV) {
        Expr *d = (*a)->u.arg[1];
        if (block_uses_reduced(n->block, d) || !is_not_negative(n, d) ||
            !is_not_negative(n, (*a)->u.arg[0]))
            return false;
        *b = binary(n, EX_MUL, *b, d);
        *a = (*a)->u.arg[0];
    }
    return !block_uses_reduced(n->block, *b);
}

/* The iterator is the last digit of a - b, which is a multiple of a digit's range but for it. Then
 * `rest` is `a` without it. */
static bool is_last_digit(Count *n, const BlockIter *iter, Expr *a, Expr *b, Expr **rest)
{
    int64_t factor, lo, count;
    return expr_is_const(iter->lo, &lo) && lo == 0 && expr_is_const(iter->hi, &count) &&
           split_linear(n->facts, a, iter->var, &factor, rest) && factor > 0 &&
           factor <= INT32_MAX && count <= INT32_MAX &&
           prove_divisible(n->facts, binary(n, EX_SUB, *rest, b), factor * count);
}

static void drop_last_digits(Count *n, Expr **a, Expr *b)
{
    for (int i = n->block->n_iters - 1; i >= 0; i--) {
        const BlockIter *iter = &n->block->iters[i];
        Expr *rest;
        if (is_reduced(iter) && expr_uses_var(*a, iter->var) &&
            is_last_digit(n, iter, *a, b, &rest))
            *a = rest;
    }
}

/* The only reduction iterator in `e`, or NULL. */
static const BlockIter *only_reduced(const Count *n, const Expr *e)
{
    const BlockIter *only = NULL;
    for (int i = 0; i < n->block->n_iters; i++) {
        const BlockIter *iter = &n->block->iters[i];
        if (!is_reduced(iter) || !expr_uses_var(e, iter->var))
            continue;
        if (only)
            return NULL;
        only = iter;
    }
    return only;
}

/* factor * iterator + rest < b limits the iterator to the least (b - rest) / factor, rounded up. */
static bool add_limit(Count *n, Expr *a, Expr *b)
{
    Context *c = n->s->ctx;
    if (!without_quotient(n, &a, &b))
        return false;
    drop_last_digits(n, &a, b);
    if (!block_uses_reduced(n->block, a)) {
        VEC_PUSH(c->arena, &n->uniform, binary(n, EX_LT, a, b));
        return true;
    }
    const BlockIter *iter = only_reduced(n, a);
    int64_t factor;
    Expr *rest;
    if (!iter || (n->limited && n->limited != iter) ||
        !split_linear(n->facts, a, iter->var, &factor, &rest) || factor < 1 ||
        block_uses_reduced(n->block, rest))
        return false;
    Expr *room = binary(n, EX_SUB, b, binary(n, EX_ADD, rest, expr_index(c, 1 - factor)));
    Expr *limit = simplify(n->facts, binary(n, EX_DIV, room, expr_index(c, factor)));
    n->most = n->limited ? binary(n, EX_MIN, n->most, limit) : limit;
    n->limited = iter;
    return true;
}

static bool add_condition(Count *n, Expr *cond)
{
    if (expr_has_load(cond))
        return false;
    if (block_uses_reduced(n->block, cond))
        return cond->kind == EX_LT && add_limit(n, cond->u.arg[0], cond->u.arg[1]);
    VEC_PUSH(n->s->ctx->arena, &n->uniform, cond);
    return true;
}

static void know_iterators(Count *n)
{
    for (int i = 0; i < n->block->n_iters; i++) {
        const BlockIter *iter = &n->block->iters[i];
        Expr *value = expr_var(n->s->ctx, iter->var, span_none());
        facts_assume(n->facts, binary(n, EX_LE, iter->lo, value));
        facts_assume(n->facts, binary(n, EX_LT, value, iter->hi));
    }
}

/* The predicate on the block's iterators in place of the loops that they follow, and `exists`. */
static bool add_conditions(Count *n, Expr *exists)
{
    Context *c = n->s->ctx;
    ExprList all = {0};
    SubstList map = {0};
    for (int i = 0; i < n->block->n_iters; i++) {
        const BlockIter *iter = &n->block->iters[i];
        if (iter->binding->kind == EX_VAR)
            VEC_PUSH(c->arena, &map,
                     ((Subst){iter->binding->u.var, expr_var(c, iter->var, span_none())}));
    }
    if (n->block->predicate)
        cond_split(c, expr_subst(c, n->block->predicate, map.items, map.n), &all);
    if (exists)
        cond_split(c, exists, &all);
    for (int i = 0; i < all.n; i++)
        if (!add_condition(n, all.items[i]))
            return false;
    return true;
}

/* How many values an iterator takes. */
static Expr *values_of(Count *n, const BlockIter *iter)
{
    Context *c = n->s->ctx;
    if (iter != n->limited)
        return extent(n, iter);
    Expr *most = binary(n, EX_MIN, iter->hi, n->most);
    return binary(n, EX_MAX, binary(n, EX_SUB, most, iter->lo), expr_index(c, 0));
}

Expr *term_count(Schedule *s, const StmtPath *path, Expr *exists, Span span)
{
    const BlockStmt *block = &path_end(path)->u.block;
    Count n = {.s = s, .facts = sched_facts(s, path), .block = block, .span = span};
    Expr *count = expr_index(s->ctx, 1);
    know_iterators(&n);
    if (!add_conditions(&n, exists))
        return NULL;
    for (int i = 0; i < block->n_iters; i++)
        if (is_reduced(&block->iters[i]))
            count = binary(&n, EX_MUL, count, values_of(&n, &block->iters[i]));
    for (int i = 0; i < n.uniform.n; i++)
        count = expr_select(s->ctx, n.uniform.items[i], count, expr_index(s->ctx, 0), span);
    return simplify(n.facts, count);
}

static bool is_iterator(const BlockStmt *block, const ForStmt *loop)
{
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (expr_is_var(iter->binding, loop->var))
            return loop->step == 1 && expr_equal(loop->lo, iter->lo) &&
                   expr_equal(loop->hi, iter->hi);
    }
    return false;
}

/* It has one iteration, of which no condition speaks. */
static bool does_nothing(const BlockStmt *block, const ForStmt *loop)
{
    int64_t lo, hi;
    return expr_is_const(loop->lo, &lo) && expr_is_const(loop->hi, &hi) && hi - lo == 1 &&
           loop->step == 1 && (!block->predicate || !expr_uses_var(block->predicate, loop->var));
}

/* A reduction iterator that follows no loop has one value. */
static bool is_followed(const StmtPath *path, int depth, const BlockIter *iter)
{
    for (int i = depth; i + 1 < path->n; i++)
        if (expr_is_var(iter->binding, path->items[i]->u.loop.var))
            return true;
    int64_t lo, hi;
    return expr_is_const(iter->lo, &lo) && expr_is_const(iter->hi, &hi) && hi - lo == 1;
}

bool term_loops_are_iterators(const StmtPath *path, int depth)
{
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = depth; i + 1 < path->n; i++) {
        const ForStmt *loop = &path->items[i]->u.loop;
        if (path->items[i]->kind != ST_FOR ||
            (!is_iterator(block, loop) && !does_nothing(block, loop)))
            return false;
    }
    for (int i = 0; i < block->n_iters; i++)
        if (is_reduced(&block->iters[i]) && !is_followed(path, depth, &block->iters[i]))
            return false;
    return true;
}
