/* subst.c - Substitutes the variables of a rewritten loop in the statements below it, and guards
 * added iterations.
 *
 * Variables of loops stand in the bounds of inner loops, in conditions, and in the bindings and
 * predicates of blocks; the bodies of blocks speak of iterators and stay. A rewrite that adds
 * iterations guards blocks, but only those whose iterators would not leave their domains in these
 * iterations:
 *
 *   for i in 100              for i_0 in 4, i_1 in 32
 *       S(i in 100 = i)  =>       S(i in 100 = i_0 * 32 + i_1)
 *
 * No guard is needed here: where one would be, i is outside 0..100. */
#include "passes/analysis/regions/inits.h"
#include "passes/analysis/symbolic/zero_divisor.h"
#include "passes/schedule/sched.h"
#include "passes/shared/rebuild.h"

/* Facts for what `e` becomes. One place of an input is in the same words wherever it decides a
 * range: those of the iterators, which need not know the ranges of loops. */
static Facts *facts_for(Below *b, const Expr *e)
{
    return expr_has_load(e) ? facts_of_kernel(b->s->ctx, b->s->kernel) : b->facts;
}

static Expr *replaced(Below *b, Expr *e)
{
    Expr *now = expr_subst(b->s->ctx, e, b->map, b->n_map);
    return now == e ? e : simplify(facts_for(b, now), now);
}

static BlockStmt with_replaced_bindings(Below *b, const BlockStmt *block)
{
    BlockStmt now = *block;
    BlockIter *iters = block_own_iters(b->s->ctx, &now, 0);
    for (int i = 0; i < block->n_iters; i++)
        iters[i].binding = expr_subst(b->s->ctx, iters[i].binding, b->map, b->n_map);
    return now;
}

static bool data_decide(const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_has_load(block->iters[i].lo) || expr_has_load(block->iters[i].hi))
            return true;
    return false;
}

/* Facts for what an init shares with the updates of its block, which are those of the place, but
 * where the loops of the reduction may have no iteration: that one of them runs is not known of the
 * init. */
static Facts *facts_for_init(Below *b, const BlockStmt *block)
{
    if (!block->init)
        return b->facts;
    BlockStmt now = with_replaced_bindings(b, block);
    if (!reduction_may_be_empty(b->s->ctx, block))
        return facts_at_init(b->facts, &now);
    return data_decide(block) ? facts_of_kernel(b->s->ctx, b->s->kernel)
                              : facts_of_literal_loops(b->facts, b->s->kernel);
}

/* A condition on a loop of the reduction would become one on other loops, as where its only value
 * is 0. */
static bool leaves_reduction(Context *c, Facts *facts, const BlockStmt *block, Expr *predicate)
{
    ExprList conds = {0};
    cond_split(c, predicate, &conds);
    for (int i = 0; i < conds.n; i++) {
        Expr *simple = simplify(facts, conds.items[i]);
        int64_t truth;
        if (reduction_decides(c, block, conds.items[i]) && !expr_is_const(simple, &truth) &&
            !reduction_decides(c, block, simple))
            return true;
    }
    return false;
}

/* A predicate restricts the init, too, except for its conditions on loops of the reduction: those
 * keep speaking of them, even where no value of a loop meets them. */
static Expr *replaced_predicate(Below *b, const BlockStmt *block)
{
    Expr *now = expr_subst(b->s->ctx, block->predicate, b->map, b->n_map);
    if (now == block->predicate)
        return now;
    Facts *facts = facts_for_init(b, block);
    Expr *simple = simplify(facts, now);
    int64_t truth;
    bool decided = expr_is_const(simple, &truth) && (facts != b->facts || (block->init && !truth));
    bool leaves = block->init && leaves_reduction(b->s->ctx, facts, block, now);
    return decided || leaves ? now : simple;
}

/* A condition that the reduction of a block below it decides would become one on the block's
 * elements, as where it never holds: the init would not run. */
static bool condition_leaves_reduction(Below *b, const Stmt *branch, Expr *cond, const Expr *simple)
{
    Context *c = b->s->ctx;
    int64_t truth;
    bool never = expr_is_const(simple, &truth) && !truth;
    for (Cursor at = cursor_stmts(c, (Stmt *)branch); cursor_next(&at);) {
        if (at.stmt->kind != ST_BLOCK || !at.stmt->u.block.init)
            continue;
        BlockStmt block = with_replaced_bindings(b, &at.stmt->u.block);
        if (never ? reduction_decides(c, &block, cond)
                  : leaves_reduction(c, b->facts, &block, cond))
            return true;
    }
    return false;
}

static Stmt *replaced_condition(Below *b, Stmt *branch)
{
    Context *c = b->s->ctx;
    Expr *cond = branch->u.cond.cond, *now = expr_subst(c, cond, b->map, b->n_map);
    if (now == cond)
        return branch;
    Expr *simple = simplify(facts_for(b, now), now);
    bool leaves = condition_leaves_reduction(b, branch, now, simple);
    return stmt_stamp(stmt_if(c, leaves ? now : simple, branch->u.cond.then,
                              branch->u.cond.otherwise, branch->span),
                      branch);
}

/* A variable of `e` that `without` does not use, and whose range is not literal. */
static bool loses_var(Below *b, const Expr *e, const Expr *without)
{
    for (Cursor at = cursor_expr(b->s->ctx, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && !expr_uses_var(without, at.expr->u.var) &&
            !facts_range_is_literal(b->facts, at.expr->u.var))
            return true;
    return false;
}

/* v, v + 1 or v - 1: a loop, as shift leaves it. */
static bool is_shifted_var(const Expr *e)
{
    int64_t by;
    bool shifted = (e->kind == EX_ADD || e->kind == EX_SUB) && expr_is_const(e->u.arg[1], &by);
    return e->kind == EX_VAR || (shifted && e->u.arg[0]->kind == EX_VAR);
}

/* What is known of the binding of an iterator. What a condition says of a loop of the reduction
 * leaves such loops in the bindings: the condition still speaks of the reduction then, and does not
 * hold for the init. */
static Facts *facts_for_binding(Below *b, const BlockStmt *block, const BlockIter *iter,
                                const Expr *now)
{
    if (iter->kind != ITER_REDUCE)
        return facts_for_init(b, block);
    BlockStmt mapped = with_replaced_bindings(b, block);
    return block->init ? facts_at_init(facts_for(b, now), &mapped) : facts_for(b, now);
}

/* The binding of an iterator. An init stands before the loops that reduction iterators speak of,
 * and runs also where those have no iterations; so a loop that may have none keeps its place in the
 * binding even where its only value is 0. */
static Expr *replaced_binding(Below *b, const BlockStmt *block, const BlockIter *iter)
{
    Expr *now = expr_subst(b->s->ctx, iter->binding, b->map, b->n_map);
    if (now == iter->binding)
        return now;
    Expr *simple = simplify(facts_for_binding(b, block, iter, now), now);
    int64_t value;
    bool reduces = iter->kind == ITER_REDUCE && block->init;
    /* the loop stays one of the reduction, for steps such as rfactor, as at other sizes */
    bool leaves_loop = is_shifted_var(now) && expr_is_const(simple, &value);
    return reduces && (leaves_loop || loses_var(b, now, simple)) ? now : simple;
}

/* distance = coefficient * var + rest reaches `end` and beyond on the side of `sign` only: it is at
 * least 0 (sign 1), or below 0 (sign -1), from `end` on. */
static bool stays_beyond(Below *b, Expr *distance, int sign)
{
    Context *c = b->s->ctx;
    int64_t coefficient;
    Expr *rest;
    if (!split_linear(b->facts, distance, b->map[0].var, &coefficient, &rest))
        return false;
    if (coefficient == 0 || (coefficient > 0 ? 1 : -1) * b->direction != sign)
        return false;
    Expr *at_end = index_add(c, index_mul(c, expr_index(c, coefficient), b->end), rest);
    ExprKind kind = sign > 0 ? EX_GE : EX_LT;
    return prove(b->facts, expr_binary(c, kind, at_end, expr_index(c, 0), span_none()));
}

/* Some iterator is outside its domain from `end` on. */
static bool leaves_domain(Below *b, const BlockStmt *block)
{
    Context *c = b->s->ctx;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!expr_uses_var(iter->binding, b->map[0].var))
            continue;
        Expr *lo = iters_to_loops(c, block, iter->lo), *hi = iters_to_loops(c, block, iter->hi);
        if (stays_beyond(b, index_sub(c, iter->binding, hi), 1) ||
            stays_beyond(b, index_sub(c, iter->binding, lo), -1))
            return true;
    }
    return false;
}

/* A quotient by 0 has no value, so no domain excludes an iteration that has one. */
static bool may_have_no_value(Below *b, Expr *binding)
{
    Context *c = b->s->ctx;
    ExprList extents = {0};
    for (Cursor at = cursor_expr(c, b->map[0].value); cursor_next(&at);) {
        bool exact;
        if (at.expr->kind != EX_VAR)
            continue;
        const Var *over[] = {at.expr->u.var};
        Expr *lo = least_over(b->facts, at.expr, over, 1, &exact);
        Expr *hi = lo && exact ? largest_over(b->facts, at.expr, over, 1, &exact) : NULL;
        if (hi && exact)
            VEC_PUSH(c->arena, &extents, index_add(c, index_sub(c, hi, lo), expr_index(c, 1)));
    }
    return may_divide_by_zero(b->facts, binding, extents.items, extents.n);
}

/* The guard follows from the domains and the predicate of the rewritten block. */
static bool guard_follows(Below *b, const BlockStmt *block)
{
    Context *c = b->s->ctx;
    FactsMark mark = facts_mark(b->facts);
    for (int i = 0; i < block->n_iters; i++)
        if (may_have_no_value(b, block->iters[i].binding))
            return false;
    block_assume_domains(b->facts, c, block);
    if (block->predicate)
        facts_assume(b->facts, block->predicate);
    bool follows = prove(b->facts, b->guard);
    facts_reset(b->facts, mark);
    return follows;
}

static Stmt *rewrite_block(Below *b, Stmt *stmt)
{
    Context *c = b->s->ctx;
    BlockStmt block = stmt->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    bool changed = false;
    for (int i = 0; i < block.n_iters; i++) {
        iters[i].binding = replaced_binding(b, &stmt->u.block, &stmt->u.block.iters[i]);
        changed |= iters[i].binding != stmt->u.block.iters[i].binding;
    }
    if (block.predicate) {
        block.predicate = replaced_predicate(b, &block);
        changed |= block.predicate != stmt->u.block.predicate;
    }
    if (b->guard && !leaves_domain(b, &stmt->u.block) && !guard_follows(b, &block)) {
        block.predicate = cond_and(c, block.predicate, b->guard);
        changed = true;
    }
    return changed ? stmt_stamp(stmt_block(c, &block, stmt->span), stmt) : stmt;
}

/* The temps of a seq whose shapes speak of replaced variables, with their accesses. */
static Stmt *rewrite_shapes(Below *b, Stmt *seq)
{
    Context *c = b->s->ctx;
    for (int i = 0; i < seq->u.seq.n; i++) {
        if (seq->u.seq.items[i]->kind != ST_TEMP)
            continue;
        const Buffer *old = seq->u.seq.items[i]->u.temp;
        Expr **shape = ARENA_ARRAY(c->arena, Expr *, old->rank);
        bool changed = false;
        for (int axis = 0; axis < old->rank; axis++) {
            shape[axis] = replaced(b, old->shape[axis]);
            changed |= shape[axis] != old->shape[axis];
        }
        if (!changed)
            continue;
        Buffer *now = buffer_copy(c, old);
        now->shape = shape;
        seq = stmt_replace_buffer(c, seq, old, now);
    }
    return seq;
}

static Expr *replaced_in(void *user, Expr *e)
{
    return replaced(user, e);
}

static Stmt *rewrite_inside(void *user, Stmt *stmt)
{
    return below_rewrite(user, stmt);
}

/* A condition, for the blocks of a branch. */
typedef struct {
    Context *c;
    Expr *cond;
} Where;

static Stmt *restricted(void *user, Stmt *stmt)
{
    const Where *where = user;
    if (stmt->kind != ST_BLOCK)
        return stmt_map_children(where->c, stmt, restricted, user);
    BlockStmt block = stmt->u.block;
    block.predicate = cond_and(where->c, where->cond, block.predicate);
    return stmt_stamp(stmt_block(where->c, &block, stmt->span), stmt);
}

/* The branch, whose condition has come to read inputs: only blocks have such conditions. */
static Stmt *branch_in_blocks(Context *c, Stmt *branch)
{
    Stmt *then = branch->u.cond.then, *otherwise = branch->u.cond.otherwise;
    Expr *cond = branch->u.cond.cond;
    Where holds = {c, cond}, fails = {c, expr_unary(c, EX_NOT, cond, cond->span)};
    then = restricted(&holds, then);
    return otherwise ? stmt_then(c, then, restricted(&fails, otherwise)) : then;
}

static Stmt *rewrite_branch(Below *b, Stmt *stmt)
{
    Context *c = b->s->ctx;
    Stmt *now = stmt_map_inside(c, b->facts, replaced_condition(b, stmt), rewrite_inside, b);
    bool reads = now && now->kind == ST_IF && expr_has_load(now->u.cond.cond);
    return reads && !expr_has_load(stmt->u.cond.cond) ? branch_in_blocks(c, now) : now;
}

Stmt *below_rewrite(Below *b, Stmt *stmt)
{
    Context *c = b->s->ctx;
    switch (stmt->kind) {
    case ST_SEQ: return rewrite_shapes(b, stmt_map_children(c, stmt, rewrite_inside, b));
    case ST_IF: return rewrite_branch(b, stmt);
    case ST_FOR:
        stmt = stmt_map_exprs(c, stmt, replaced_in, b);
        return stmt_map_inside(c, b->facts, stmt, rewrite_inside, b);
    case ST_BLOCK: return rewrite_block(b, stmt);
    default: return stmt;
    }
}

/* ---- extents --------------------------------------------------------------------------------- */

Expr *sched_extent(Schedule *s, const StmtPath *path)
{
    const Stmt *loop = path_end(path);
    int64_t extent;
    if (loop_const_extent(&loop->u.loop, &extent))
        return expr_index(s->ctx, extent);
    return simplify(sched_facts(s, path), loop_extent(s->ctx, &loop->u.loop));
}

Stmt *loop_from_zero(Schedule *s, const StmtPath *path)
{
    Context *c = s->ctx;
    Stmt *stmt = path_end(path);
    ForStmt loop = stmt->u.loop;
    if (loop_counts_from_zero(&loop))
        return stmt;
    loop.hi = sched_extent(s, path);
    loop.lo = expr_index(c, 0);
    loop.step = 1;
    loop.var = var_new(c, loop.var->name, DT_INDEX, VAR_LOOP, loop.var->span);
    Expr *count =
        index_mul(c, expr_index(c, stmt->u.loop.step), expr_var(c, loop.var, span_none()));
    Subst subst = {stmt->u.loop.var, index_add(c, stmt->u.loop.lo, count)};
    Below below = {.s = s, .facts = sched_facts(s, path), .map = &subst, .n_map = 1};
    facts_range(below.facts, loop.var, loop.lo, loop.hi);
    loop.body = below_rewrite(&below, loop.body);
    return stmt_for(c, &loop, stmt->span);
}
