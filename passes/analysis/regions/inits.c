/* inits.c - Finds where the init of a reduction runs, as lowering places it and as dependences and
 * primitives assume. */
#include "passes/analysis/regions/inits.h"

#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/affine.h"

static bool changes_with(const BlockIter *iter, const BlockIter *others, int n)
{
    for (int k = 0; k < n; k++)
        if (iter_uses_var(iter, others[k].var))
            return true;
    return false;
}

/* The first reduce iterator from number `from` on that is not known to take a value, or n_iters. */
static int next_empty(Context *c, const BlockStmt *block, int from)
{
    Facts *f = facts_new(c);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (i >= from && iter->kind == ITER_REDUCE && !prove_compare(f, iter->lo, EX_LT, iter->hi))
            return i;
        facts_range(f, iter->var, iter->lo, iter->hi);
    }
    return block->n_iters;
}

bool reduction_may_be_empty(Context *c, const BlockStmt *block)
{
    return next_empty(c, block, 0) < block->n_iters;
}

const BlockIter *reduction_empty_for_some(Context *c, const BlockStmt *block)
{
    for (int i = next_empty(c, block, 0); i < block->n_iters; i = next_empty(c, block, i + 1))
        if (changes_with(&block->iters[i], block->iters, i))
            return &block->iters[i];
    return NULL;
}

const BlockIter *reduction_empty_for_all(Context *c, const BlockStmt *block)
{
    Facts *f = facts_new(c);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (iter->kind == ITER_REDUCE && prove_compare(f, iter->lo, EX_GE, iter->hi))
            return iter;
        facts_range(f, iter->var, iter->lo, iter->hi);
    }
    return NULL;
}

static bool is_single(const Stmt *s)
{
    int64_t extent;
    return s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent == 1;
}

/* The init writes elements of the block only: the values that loops around `path->items[depth]`
 * give the spatial iterators lie in their domains, also with loops further in that have one. */
static void assume_point(Facts *f, Context *c, const BlockStmt *block, const StmtPath *path,
                         int depth)
{
    ExprList domains = {0};
    for (int k = depth; k < path->n; k++)
        if (is_single(path->items[k]))
            facts_enter(f, path->items[k]);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        bool known = iter->kind == ITER_SPATIAL;
        for (int k = depth; k < path->n && known; k++)
            known = path->items[k]->kind != ST_FOR || is_single(path->items[k]) ||
                    !expr_uses_var(iter->binding, path->items[k]->u.loop.var);
        if (known)
            iter_add_domain(c, block, iter, &domains);
    }
    for (int i = 0; i < domains.n; i++)
        facts_assume(f, domains.items[i]);
}

/* How often the loop at `depth` runs is another number for other elements of the block. */
static bool changes_with_elements(const BlockStmt *block, const StmtPath *path, int depth)
{
    const ForStmt *loop = &path->items[depth]->u.loop;
    for (int i = 0; i < depth; i++) {
        const Stmt *outer = path->items[i];
        if (outer->kind == ST_FOR && block_uses_loop(block, ITER_SPATIAL, outer->u.loop.var) &&
            loop_uses_var(loop, outer->u.loop.var))
            return true;
    }
    return false;
}

/* The loop has no iteration where a range of the reduction, of which no loop gives the values, is
 * empty: one value was left of that range, and a step wrote it for the loop's variable. */
static bool stands_for_range(Facts *f, const BlockStmt *block, Expr *runs)
{
    Context *c = f->c;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        int64_t value;
        Expr *extent =
            index_sub(c, iters_to_loops(c, block, iter->hi), iters_to_loops(c, block, iter->lo));
        if (iter->kind == ITER_REDUCE && expr_is_const(iter->binding, &value) &&
            prove_compare(f, extent, EX_EQ, runs))
            return true;
    }
    return false;
}

/* No iterator takes values from the loop at `depth`, which runs once at most; and not at all, it
 * may be, for elements whose reduction is empty, which have their init nevertheless. (A loop that
 * runs more often computes the block anew each time, and one that runs as often for all elements
 * does so whatever the reduction is, but where it stands for a range of that.) */
static bool may_skip_init(Context *c, const BlockStmt *block, const StmtPath *path, int depth)
{
    const ForStmt *loop = &path->items[depth]->u.loop;
    if (block_uses_loop(block, ITER_SPATIAL, loop->var) ||
        block_uses_loop(block, ITER_REDUCE, loop->var) || !reduction_may_be_empty(c, block))
        return false;
    Facts *f = facts_new(c);
    for (int i = 0; i < depth; i++)
        if (path->items[i]->kind == ST_FOR)
            facts_enter(f, path->items[i]);
    assume_point(f, c, block, path, depth);
    Expr *runs = loop_extent(c, loop), *one = expr_index(c, 1);
    if (prove_compare(f, runs, EX_LT, one)) /* it runs for no element */
        return false;
    if (stands_for_range(f, block, runs))
        return !prove_at_least(f, runs, 1);
    return changes_with_elements(block, path, depth) && reduction_empty_for_some(c, block) &&
           prove_compare(f, runs, EX_LE, one) && !prove_at_least(f, runs, 1);
}

/* An iterator of the reduction takes values from the loop, not just from what that reads. */
static bool counts_with(Context *c, const BlockStmt *block, const Var *loop)
{
    bool counts = false;
    for (int i = 0; i < block->n_iters; i++)
        for (Cursor at = cursor_expr(c, block->iters[i].binding); cursor_next(&at);) {
            counts |= block->iters[i].kind == ITER_REDUCE && expr_is_var(at.expr, loop);
            if (at.expr->kind == EX_LOAD)
                cursor_prune(&at);
        }
    return counts;
}

/* The loop declares an element that the init sets: each iteration has a reduction of its own, of
 * which only the range is one that the loop reads. */
static bool declares_result(Context *c, const BlockStmt *block, const Stmt *loop)
{
    bool declares = false;
    for (Cursor at = cursor_stmts(c, block->init); block->init && !declares && cursor_next(&at);)
        declares = at.stmt->kind == ST_STORE && stmt_declares(c, loop, at.stmt->u.store.buffer);
    return declares && !counts_with(c, block, loop->u.loop.var);
}

/* A spatial iterator is the loop's variable: each iteration has elements of its own, whose
 * reduction begins inside, though ranges of it may count from that variable. */
static bool tells_element(const BlockStmt *block, const Var *loop)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_SPATIAL && expr_is_var(block->iters[i].binding, loop))
            return true;
    return false;
}

bool reduction_starts_at(Context *c, const BlockStmt *block, const StmtPath *path, int depth)
{
    const Stmt *s = path->items[depth];
    return s->kind == ST_FOR && !declares_result(c, block, s) &&
           !tells_element(block, s->u.loop.var) &&
           (block_reduces_over(c, block, s->u.loop.var) || may_skip_init(c, block, path, depth));
}

int reduction_start(Context *c, const StmtPath *path)
{
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = 0; i < path->n; i++)
        if (reduction_starts_at(c, block, path, i))
            return i;
    return path->n - 1;
}

/* The init stands in no loop that counts for the reduction, nor, it may be, in one that counts for
 * nothing. */
static bool is_left_out(const BlockStmt *block, const Var *loop)
{
    return block_uses_loop(block, ITER_REDUCE, loop) || !block_uses_loop(block, ITER_SPATIAL, loop);
}

/* The range says that a loop has an iteration which the init may run without. */
static bool may_lack_range(const Facts *f, const Range *range, const BlockStmt *block)
{
    if (!range->var || range->var->kind != VAR_LOOP || facts_range_is_literal(f, range->var) ||
        !is_left_out(block, range->var))
        return false;
    int place = (int)(range - f->ranges.items);
    Facts before = facts_outside(f, (FactsMark){place, range->conditions_before});
    return !prove_compare(&before, range->lo, EX_LT, range->hi);
}

/* The condition restricts the reduction, of which the init is not a part. */
static bool may_lack_condition(const Facts *f, const Condition *known, const BlockStmt *block)
{
    return known->expr && !known->derived && reduction_decides(f->c, block, known->expr);
}

Facts *facts_at_init(Facts *f, const BlockStmt *block)
{
    FactsMark shared = facts_mark(f);
    for (int i = f->conditions.n - 1; i >= 0; i--)
        if (may_lack_condition(f, &f->conditions.items[i], block))
            shared.conditions = i;
    for (int i = f->ranges.n - 1; i >= 0; i--)
        if (f->ranges.items[i].conditions_before > shared.conditions)
            shared.ranges = i;
        else if (may_lack_range(f, &f->ranges.items[i], block))
            shared = (FactsMark){i, f->ranges.items[i].conditions_before};
    if (shared.ranges == f->ranges.n && shared.conditions == f->conditions.n)
        return f;
    Facts *outside = ARENA_NEW(f->c->arena, Facts);
    *outside = facts_outside(f, shared);
    return outside;
}

Facts *facts_of_literal_loops(const Facts *f, const Kernel *kernel)
{
    Facts *known = facts_of_kernel(f->c, kernel);
    for (int i = 0; i < f->ranges.n; i++) {
        const Range *range = &f->ranges.items[i];
        if (range->var && range->var->kind == VAR_LOOP && facts_range_is_literal(f, range->var))
            facts_range(known, range->var, range->lo, range->hi);
    }
    return known;
}
