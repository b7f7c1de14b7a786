/* rfactor.c - Implements rfactor: computes a reduction through a buffer of partial results.
 *
 *   for i in 8, ko in 4, ki in 32               for i in 8, ko in 4, ki in 32
 *       block y(i in 8 = i, reduce k in 128         block y_rf(i in 8 = i, ki in 32 = ki,
 *               = ko * 32 + ki) {                              reduce ko in 4 = ko) {
 *           init y[i] = 0;               =>             init y_rf[ki, i] = 0;
 *           y[i] += A[i, k]; }                          y_rf[ki, i] += A[i, ko * 32 + ki]; }
 *                                               for i in 8, ki in 32
 *                                                   block y(i in 8 = i, reduce ki in 32 = ki) {
 *                                                       init y[i] = 0;
 *                                                       y[i] += y_rf[ki, i]; }
 *
 * Legal: the loop carries a reduction whose operator is associative and commutative and has an
 * identity. Other statements in the loops of the reduction do not access what it reduces, and
 * conditions in them leave out no partial result. Of a reducer that is declared ordered, the loop
 * is the outermost of the reduction.
 * Invariant: each value is added to one partial result, and each partial result to one element. */
#include "passes/schedule/reductions/factor.h"

/* The block whose reduction the loop carries, or the only one below it. NULL: there are several. */
static Stmt *reducing_block(Context *c, Stmt *loop)
{
    Stmt *one = NULL, *reducing = NULL;
    int n = 0, n_reducing = 0;
    for (Cursor at = cursor_stmts(c, loop); cursor_next(&at);) {
        if (at.stmt->kind != ST_BLOCK)
            continue;
        one = at.stmt;
        n++;
        if (reduction_uses(c, &one->u.block, ITER_REDUCE, loop)) {
            reducing = one;
            n_reducing++;
        }
    }
    return n == 1 ? one : n_reducing == 1 ? reducing : NULL;
}

static bool find_block(Factor *f, const PrimCall *call)
{
    Context *c = f->s->ctx;
    Span span = call->rfactor.loop.span;
    const Value *given = &call->rfactor.block;
    f->loop = sched_node(f->s, &call->rfactor.loop, &f->path);
    Stmt *loop = path_end(&f->path);
    f->node = given->kind == VALUE_NONE ? reducing_block(c, loop) : sched_node(f->s, given, NULL);
    REQUIRE(f->s, E0475, span, f->node,
            "loop '%s' carries the reduction of no block or of several, so there is no single "
            "reduction to decompose; 'block' names one of several",
            stmt_label(loop));
    f->block = &f->node->u.block;
    StmtPath inside = stmt_path_to(c, loop, f->node);
    REQUIRE(f->s, E0475, given->span, inside.n > 0, "block '%s' is not in loop '%s'",
            f->block->name, stmt_label(loop));
    f->path = path_joined(c, &f->path, f->path.n - 1, inside);
    f->among_others = true;
    return true;
}

/* The outermost reduction loop. */
static void find_anchor(Factor *f)
{
    while (f->path.items[f->anchor] != f->loop &&
           !factor_uses(f, ITER_REDUCE, f->path.items[f->anchor]))
        f->anchor++;
}

/* The values of one partial result are consecutive, and partial results come in their order. */
static bool check_order(const Factor *f, Span span)
{
    const Stmt *outer = f->path.items[f->anchor];
    Name loop = stmt_label(f->loop);
    if (!reducer_is_ordered(&f->r))
        return true;
    REQUIRE(f->s, E0475, span, outer == f->loop,
            "reducer '%s' is ordered, so a partial result is one of consecutive values, but those "
            "of an iteration of loop '%s' are apart: loop '%s' of the reduction is around it; "
            "rfactor(%s, ...) has the parts in order",
            f->r.combiner->name, loop, stmt_label(outer), stmt_label(outer));
    REQUIRE(f->s, E0475, span, f->loop->u.loop.step > 0,
            "reducer '%s' is ordered, and loop '%s' counts down, but partial results are combined "
            "upwards",
            f->r.combiner->name, loop);
    return true;
}

static bool check_axis(Factor *f, const PrimCall *call)
{
    const Buffer *of = f->r.parts[0].target.buffer;
    int64_t axis = call->rfactor.axis.u.i, at = axis < 0 ? axis + of->rank + 1 : axis;
    REQUIRE(f->s, E0477, call->rfactor.axis.span, at >= 0 && at <= of->rank,
            "the partial results of '%s' have %d axes, so the new axis is from %d to %d, not %lld",
            of->name, of->rank + 1, -of->rank - 1, of->rank, (long long)axis);
    for (int k = 1; k < f->r.n; k++) {
        const Buffer *other = f->r.parts[k].target.buffer;
        REQUIRE(f->s, E0477, call->rfactor.axis.span, other->rank == of->rank,
                "'%s' has %d axes and '%s' has %d, so the partial results have no axis in common; "
                "use rfactor before transform_layout",
                of->name, of->rank, other->name, other->rank);
    }
    f->axis = (int)at;
    return true;
}

/* The nest that reduces the partial results: what the init's nest is, with a loop over them. It
 * holds the init and the update. */
static Stmt *final_nest(Factor *f, int top)
{
    Context *c = f->s->ctx;
    Span span = f->r.update->span;
    Var *part = var_new(c, f->part->name, DT_INDEX, VAR_ITER, span);
    Stmt *both[2] = {f->block->init, factor_update_by(f, part)}, *bottom;
    Stmt *nest = factor_spread(f, top, stmt_seq(c, both, 2, span), &bottom);
    if (!nest)
        return NULL;

    BlockStmt final = bottom->u.block;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    ForStmt loop = flow_loop(f->s, f->loop->u.loop.var->name, lo, hi);
    BlockIter *iters = block_own_iters(c, &final, 1);
    iters[final.n_iters++] = (BlockIter){part, lo, hi, expr_var(c, loop.var, span), ITER_REDUCE};
    final.name = f->block->name;
    final.id = f->block->id;
    Stmt *const *items = bottom->u.block.body->u.seq.items;
    final.init = stmt_seq(c, items, f->r.n, f->block->init->span);
    final.body = items[f->r.n];
    loop.body = stmt_block(c, &final, f->node->span);
    return stmt_replace(c, nest, bottom, stmt_for(c, &loop, f->node->span));
}

bool prim_rfactor(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Factor f = {.s = s};
    Span span = call->rfactor.loop.span;
    if (!find_block(&f, call))
        return false;
    find_anchor(&f);
    if (!factor_check_reducer(&f, span) || !factor_check_loops(&f, span) ||
        !check_order(&f, span) || !check_axis(&f, call) || !factor_find_iters(&f, span))
        return false;

    int at = factor_top(&f);
    f.name = factor_name(&f, "rf");
    f.rf = factor_buffers(&f, f.name, call->span);
    Stmt *partial = factor_block(&f), *top = f.path.items[at], *nest = final_nest(&f, at);
    if (!nest)
        return false;
    Stmt *body = stmt_replace(c, s->kernel->body, top,
                              stmt_then(c, stmt_replace(c, top, f.node, partial), nest));
    for (int k = f.r.n - 1; k >= 0; k--)
        body = flow_declare_beside(s, body, f.r.parts[k].target.buffer, f.rf[k]);
    if (!flow_recheck_kinds(s, body, f.loop->u.loop.id, call->span))
        return false;
    s->reassociates = f.r.rounds;
    sched_replace_body(s, body);
    *result = value_block(partial);
    return true;
}
