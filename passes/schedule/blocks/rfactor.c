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
 * Every other loop of the reduction gives an iterator of its own, as in TVM. What the domains of
 * the old iterators forbid becomes a predicate where it speaks of such a loop, since an init runs
 * whatever happens in the loops of its reduction; else the value added there is the identity.
 *
 * Legal: the loop carries a reduction whose operator is associative and commutative and has an
 * identity.
 * Invariant: each value is added to one partial result, and each partial result to one element. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/copies/stage.h"
#include "passes/shared/reductions.h"

typedef struct {
    Schedule *s;
    StmtPath path; /* to the block */
    Stmt *node;
    const BlockStmt *block;
    Reducer r;
    const Stmt *loop;     /* whose iterations get results of their own */
    int anchor;           /* on the path: the outermost reduction loop */
    int top;              /* on the path: the outermost loop that holds nothing but the block */
    int axis;             /* of the new buffer */
    Buffer **rf;          /* of partial results, one for each component */
    Name name;            /* of their block */
    VEC(BlockIter) iters; /* of the block of partial results */
    VEC(Subst) map;       /* loops and old iterators in terms of these */
    Var *part;            /* the one of `loop` */
    Expr *predicate;      /* on loops, or NULL */
    Expr *exists;         /* on iterators, or NULL: elsewhere the identity is added */
    bool reduces;         /* there is another reduction loop */
} Factor;

/* ---- check ----------------------------------------------------------------------------------- */

/* The spatial iterators use the statement, a loop, or the reduction runs over it. */
static bool uses(const Factor *f, IterKind kind, const Stmt *loop)
{
    if (loop->kind != ST_FOR)
        return false;
    return kind == ITER_REDUCE ? block_reduces_over(f->s->ctx, f->block, loop->u.loop.var)
                               : block_uses_loop(f->block, kind, loop->u.loop.var);
}

/* Below the loop there is one block and nothing but loops. */
static bool find_block(Factor *f, const PrimCall *call)
{
    Stmt *at = sched_loop(f->s, &call->rfactor.loop, &f->path);
    f->loop = at;
    while (at->kind == ST_FOR) {
        at = at->u.loop.body;
        VEC_PUSH(f->s->ctx->arena, &f->path, at);
    }
    REQUIRE(f->s, E0475, call->rfactor.loop.span, at->kind == ST_BLOCK,
            "loop '%s' does not contain exactly one block in a nest of loops, so there is no "
            "single reduction to decompose",
            stmt_label(f->loop));
    f->node = at;
    f->block = &at->u.block;
    return true;
}

static bool check_loop(Factor *f, Span span)
{
    Schedule *s = f->s;
    const ForStmt *loop = &f->loop->u.loop;
    Name name = loop->var->name;
    if (!sched_require_serial(s, f->loop, span))
        return false;
    int64_t extent;
    bool single = loop_const_extent(loop, &extent) && extent == 1 &&
                  !uses(f, ITER_SPATIAL, f->loop); /* what a split leaves of a short loop */
    REQUIRE(
        s, E0475, span, single || uses(f, ITER_REDUCE, f->loop),
        "no reduction iterator of block '%s' depends on loop '%s'; name a loop of the reduction",
        f->block->name, name);
    REQUIRE(s, E0475, span, loop->step == 1 || loop->step == -1,
            "loop '%s' has step %lld, but its iterations become the elements of an axis; split it "
            "instead",
            name, (long long)loop->step);
    const Var *depends = expr_loop_var(s->ctx, loop->lo);
    depends = depends ? depends : expr_loop_var(s->ctx, loop->hi);
    REQUIRE(s, E0475, span, !depends,
            "the range of loop '%s' depends on loop '%s', but an axis has one length; split the "
            "loop and use the inner one",
            name, depends->name);
    REQUIRE(s, E0475, span, !expr_has_load(loop->lo) && !expr_has_load(loop->hi),
            "data decide the range of loop '%s', but an axis has one length; split the loop and "
            "use the inner one",
            name);
    return true;
}

/* What the block reduces with, in its outermost reduction loop. */
static bool check_reducer(Factor *f, Span span)
{
    const char *why;
    while (f->path.items[f->anchor] != f->loop && !uses(f, ITER_REDUCE, f->path.items[f->anchor]))
        f->anchor++;
    REQUIRE(f->s, E0476, span, reducer_of(f->s->ctx, &f->path, f->anchor, &f->r, &why),
            "block '%s' cannot be decomposed into partial results: %s", f->block->name, why);
    return true;
}

/* The partial results of all iterations of the statement around `top` can be computed before they
 * are combined: each element has its own. */
static bool may_be_top(Factor *f, int top)
{
    Reducer r;
    const char *why;
    const Stmt *s = f->path.items[top];
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_SERIAL &&
           reducer_of(f->s->ctx, &f->path, top, &r, &why);
}

/* The reduction's loops hold nothing but the block, and no loop is both spatial and of the
 * reduction. */
static bool check_nest(Factor *f, Span span)
{
    Schedule *s = f->s;
    for (int i = f->anchor; i + 1 < f->path.n; i++) {
        const Stmt *at = f->path.items[i];
        REQUIRE(
            s, E0475, span, at->kind == ST_FOR,
            "loop '%s', which carries the reduction, contains more than the loops of block '%s'",
            stmt_label(f->path.items[f->anchor]), f->block->name);
        REQUIRE(s, E0475, span, !uses(f, ITER_REDUCE, at) || !uses(f, ITER_SPATIAL, at),
                "loop '%s' carries both the reduction and spatial iterators of '%s'; split it to "
                "separate them",
                stmt_label(at), f->r.parts[0].target.buffer->name);
    }
    f->top = f->anchor;
    while (f->top > 0 && may_be_top(f, f->top - 1))
        f->top--;
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

/* ---- the iterators of partial results -------------------------------------------------------- */

static Name iter_name(Factor *f, Name name)
{
    for (int i = 0; i < f->iters.n; i++)
        if (f->iters.items[i].var->name == name)
            return iter_name(f, ctx_namef(f->s->ctx, "%s_", name));
    return name;
}

static Expr *mapped(Factor *f, Expr *e)
{
    return expr_subst(f->s->ctx, e, f->map.items, f->map.n);
}

static void map_var(Factor *f, Var *from, Expr *to)
{
    VEC_PUSH(f->s->ctx->arena, &f->map, ((Subst){from, to}));
}

/* Spatial iterators stay; where one is just a loop, it stands for the loop. */
static void keep_spatial(Factor *f)
{
    Context *c = f->s->ctx;
    VEC(Subst) renamed = {0};
    for (int i = 0; i < f->block->n_iters; i++) {
        BlockIter iter = f->block->iters[i];
        if (iter.kind != ITER_SPATIAL)
            continue;
        Var *old = iter.var;
        iter.var = var_new(c, old->name, old->type, VAR_ITER, old->span);
        iter.lo = expr_subst(c, iter.lo, renamed.items, renamed.n);
        iter.hi = expr_subst(c, iter.hi, renamed.items, renamed.n);
        VEC_PUSH(c->arena, &f->iters, iter);
        Expr *value = expr_var(c, iter.var, old->span);
        VEC_PUSH(c->arena, &renamed, ((Subst){old, value}));
        map_var(f, old, value);
        if (iter.binding->kind == EX_VAR && iter.binding->u.var->kind == VAR_LOOP)
            map_var(f, iter.binding->u.var, value);
    }
}

/* An iterator for a loop of the reduction. */
static bool add_iter(Factor *f, const Stmt *stmt, IterKind kind, Span span)
{
    Context *c = f->s->ctx;
    const ForStmt *loop = &stmt->u.loop;
    BlockIter iter = {.kind = kind, .binding = expr_var(c, loop->var, loop->var->span)};
    loop_domain(c, loop, &iter.lo, &iter.hi);
    iter.lo = mapped(f, iter.lo);
    iter.hi = mapped(f, iter.hi);
    const Var *depends = expr_loop_var(f->s->ctx, iter.lo);
    depends = depends ? depends : expr_loop_var(f->s->ctx, iter.hi);
    REQUIRE(f->s, E0475, span, !depends,
            "the range of loop '%s' depends on loop '%s', which is no iterator of block '%s'",
            loop->var->name, depends->name, f->block->name);
    iter.var = var_new(c, iter_name(f, loop->var->name), DT_INDEX, VAR_ITER, loop->var->span);
    map_var(f, loop->var, expr_var(c, iter.var, loop->var->span));
    f->part = stmt == f->loop ? iter.var : f->part;
    VEC_PUSH(c->arena, &f->iters, iter);
    return true;
}

/* The loop of the partial results comes before others that depend on it, and the others in their
 * order. */
static bool add_reduction_loops(Factor *f, Span span)
{
    if (!add_iter(f, f->loop, ITER_SPATIAL, span))
        return false;
    for (int i = f->anchor; i + 1 < f->path.n; i++) {
        const Stmt *at = f->path.items[i];
        if (at == f->loop || !uses(f, ITER_REDUCE, at))
            continue;
        f->reduces = true;
        if (!add_iter(f, at, ITER_REDUCE, span))
            return false;
    }
    return true;
}

/* `cond` mentions a loop of the reduction that stays one. */
static bool on_other_reduction(const Factor *f, const Expr *cond)
{
    for (int i = f->anchor; i + 1 < f->path.n; i++)
        if (f->path.items[i] != f->loop && uses(f, ITER_REDUCE, f->path.items[i]) &&
            expr_uses_var(cond, f->path.items[i]->u.loop.var))
            return true;
    return false;
}

/* `cond`, on loops, says which instances there are. One on the reduction keeps updates away but no
 * init, which stays so where it is known to fail: then it is no predicate of a block without a
 * reduction, but adds the identity. */
static bool add_condition(Factor *f, Facts *facts, Expr *cond, Span span)
{
    Context *c = f->s->ctx;
    if (cond->kind == EX_AND)
        return add_condition(f, facts, cond->u.arg[0], span) &&
               add_condition(f, facts, cond->u.arg[1], span);
    if (prove(facts, cond))
        return true;
    bool reduces = expr_uses_var(cond, f->loop->u.loop.var) || on_other_reduction(f, cond);
    cond = simplify(facts, cond);
    if (!reduces || on_other_reduction(f, cond)) {
        f->predicate = cond_and(c, f->predicate, cond);
        return true;
    }
    cond = mapped(f, cond);
    const Var *depends = expr_loop_var(f->s->ctx, cond);
    REQUIRE(f->s, E0475, span, !depends,
            "the iterations of loop '%s' depend on loop '%s', which is no iterator of block '%s'",
            stmt_label(f->loop), depends->name, f->block->name);
    f->exists = cond_and(c, f->exists, cond);
    return true;
}

/* The old reduction iterators in terms of loops, and what their domains and the predicate
 * forbid. */
static bool map_reduction(Factor *f, Span span)
{
    Context *c = f->s->ctx;
    Facts *facts = sched_facts(f->s, &f->path);
    for (int i = 0; i < f->block->n_iters; i++) {
        const BlockIter *iter = &f->block->iters[i];
        if (iter->kind != ITER_REDUCE)
            continue;
        Expr *value = simplify(facts, mapped(f, iter->binding));
        const Var *depends = expr_loop_var(f->s->ctx, value);
        REQUIRE(f->s, E0475, span, !depends,
                "iterator '%s' depends on loop '%s', which is no other iterator of block '%s'",
                iter->var->name, depends->name, f->block->name);
        map_var(f, iter->var, value);
        Expr *lo = iters_to_loops(c, f->block, iter->lo),
             *hi = iters_to_loops(c, f->block, iter->hi);
        if (!add_condition(f, facts, expr_binary(c, EX_GE, iter->binding, lo, span), span) ||
            !add_condition(f, facts, expr_binary(c, EX_LT, iter->binding, hi, span), span))
            return false;
    }
    return !f->block->predicate || add_condition(f, facts, f->block->predicate, span);
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A list of the old axes of a component with `item` as the new one. */
static Expr **with_axis(Factor *f, const ReducerPart *part, Expr *const *old, Expr *item)
{
    int rank = part->target.buffer->rank;
    Expr **all = ARENA_ARRAY(f->s->ctx->arena, Expr *, rank + 1);
    for (int i = 0; i <= rank; i++)
        all[i] = i == f->axis ? item : old[i - (i > f->axis)];
    return all;
}

static void make_buffers(Factor *f, Span origin)
{
    Context *c = f->s->ctx;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    Expr *extent = simplify(facts_new(c), index_sub(c, hi, lo));
    Name of = f->r.combiner ? f->block->name : f->r.parts[0].target.buffer->name;
    f->name = sched_fresh_name(f->s, arena_printf(c->arena, "%s_rf", of));
    f->rf = ARENA_ARRAY(c->arena, Buffer *, f->r.n);
    for (int k = 0; k < f->r.n; k++) {
        const ReducerPart *part = &f->r.parts[k];
        const Buffer *old = part->target.buffer;
        const char *name =
            f->r.combiner ? arena_printf(c->arena, "%s_%s", f->name, f->r.combiner->parts[k].name)
                          : NULL;
        f->rf[k] = buffer_new(
            c, &(Buffer){.name = name ? sched_fresh_name(f->s, name) : f->name,
                         .type = old->type,
                         .shape = with_axis(f, part, old->shape, *stage_shape(f->s, &extent, 1)),
                         .rank = old->rank + 1,
                         .scope = old->scope,
                         .role = ROLE_TEMP,
                         .span = old->span});
        f->rf[k]->origin = origin;
    }
}

/* The element of the new buffer of component `k` that belongs to an element of the old one and
 * value `part` of the loop. */
static TupleElement partial_element(Factor *f, int k, Var *part)
{
    Context *c = f->s->ctx;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    Expr *at = index_sub(c, expr_var(c, part, part->span), lo);
    const ReducerPart *own = &f->r.parts[k];
    return (TupleElement){f->rf[k], with_axis(f, own, own->target.index, at)};
}

/* The partial results in terms of the new iterators. */
static const TupleElement *mapped_elements(Factor *f)
{
    TupleElement *out = ARENA_ARRAY(f->s->ctx->arena, TupleElement, f->r.n);
    for (int k = 0; k < f->r.n; k++) {
        out[k] = partial_element(f, k, f->part);
        for (int i = 0; i < f->rf[k]->rank; i++)
            ((Expr **)out[k].index)[i] = mapped(f, out[k].index[i]);
    }
    return out;
}

/* What makes the values of an update exist: where it does not, they are the identity. */
static Expr *existence(Factor *f)
{
    bool needs_guard = f->r.guard && (f->exists || !f->reduces);
    return needs_guard ? cond_and(f->s->ctx, f->exists, mapped(f, f->r.guard)) : f->exists;
}

/* The block that reduces for each iteration of the loop on its own. */
static Stmt *partial_block(Factor *f)
{
    Context *c = f->s->ctx;
    const TupleElement *elements = mapped_elements(f);
    Expr **values = ARENA_ARRAY(c->arena, Expr *, f->r.n), *exists = existence(f);
    for (int k = 0; k < f->r.n; k++) {
        const ReducerPart *part = &f->r.parts[k];
        values[k] = mapped(f, exists ? part->written : part->value);
        if (exists) /* lets would be evaluated for values that do not exist */
            values[k] = expr_select(c, exists, values[k], part->identity, f->r.update->span);
    }
    BlockStmt block = {.name = f->name,
                       .iters = f->iters.items,
                       .n_iters = f->iters.n,
                       .predicate = f->predicate,
                       .annotations = f->block->annotations};
    ReducerStore to = {elements, values}, init = {elements, reducer_identities(c, &f->r)};
    if (f->reduces)
        block.init = reducer_set(c, &f->r, init);
    Stmt *store = f->reduces ? reducer_update(c, &f->r, to) : reducer_set(c, &f->r, to);
    block.body = exists ? store
                        : stmt_subst(c, stmt_replace(c, f->block->body, f->r.update, store),
                                     f->map.items, f->map.n);
    return stmt_block(c, &block, f->node->span);
}

/* The update of the reduction's elements by the partial results. */
static Stmt *final_update(Factor *f, Var *part)
{
    Context *c = f->s->ctx;
    TupleElement *targets = ARENA_ARRAY(c->arena, TupleElement, f->r.n);
    Expr **loads = ARENA_ARRAY(c->arena, Expr *, f->r.n);
    for (int k = 0; k < f->r.n; k++) {
        TupleElement from = partial_element(f, k, part);
        targets[k] = f->r.parts[k].target;
        loads[k] = expr_load(c, from.buffer, from.index, f->r.update->span);
    }
    return reducer_update(c, &f->r, (ReducerStore){targets, loads});
}

/* The nest that reduces the partial results: what the init's nest is, with a loop over them. The
 * init of the block that it is asked of holds the update, too, so that their iterators are replaced
 * alike. */
static Stmt *final_nest(Factor *f)
{
    Context *c = f->s->ctx;
    Span span = f->r.update->span;
    Var *part = var_new(c, f->part->name, DT_INDEX, VAR_ITER, span);
    Stmt *both[2] = {f->block->init, final_update(f, part)};
    BlockStmt block = *f->block;
    block.init = stmt_seq(c, both, 2, span);
    StmtPath path = {0};
    for (int i = 0; i + 1 < f->path.n; i++)
        VEC_PUSH(c->arena, &path, f->path.items[i]);
    VEC_PUSH(c->arena, &path, stmt_block(c, &block, f->node->span));
    Stmt *nest, *rest;
    if (!reduction_take_init(
            c, &(ReductionPlace){.kernel = f->s->kernel, .path = &path, .anchor = f->top}, &nest,
            &rest))
        return NULL;
    Stmt *bottom = stmt_nest_block(nest);

    BlockStmt final = bottom->u.block;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    ForStmt loop = flow_loop(f->s, f->loop->u.loop.var->name, lo, hi);
    VEC(BlockIter) iters = {0};
    for (int i = 0; i < final.n_iters; i++)
        VEC_PUSH(c->arena, &iters, final.iters[i]);
    BlockIter last = {part, lo, hi, expr_var(c, loop.var, span), ITER_REDUCE};
    VEC_PUSH(c->arena, &iters, last);
    final.name = f->block->name;
    final.id = f->block->id;
    final.iters = iters.items;
    final.n_iters = iters.n;
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
    if (!find_block(&f, call) || !check_reducer(&f, span) || !check_loop(&f, span) ||
        !check_nest(&f, span) || !check_axis(&f, call))
        return false;
    keep_spatial(&f);
    if (!add_reduction_loops(&f, span) || !map_reduction(&f, span))
        return false;

    make_buffers(&f, call->span);
    Stmt *partial = partial_block(&f), *top = f.path.items[f.top], *nest = final_nest(&f);
    if (!nest)
        return false;
    Stmt *pair[2] = {stmt_replace(c, top, f.node, partial), nest};
    Stmt *body = stmt_replace(c, s->kernel->body, top, stmt_seq(c, pair, 2, top->span));
    for (int k = f.r.n - 1; k >= 0; k--)
        body = flow_declare_beside(s, body, f.r.parts[k].target.buffer, f.rf[k]);
    if (!flow_recheck_kinds(s, body, f.loop->u.loop.id, call->span))
        return false;
    s->reassociates = f.r.rounds;
    sched_replace_body(s, body);
    *result = value_block(partial);
    return true;
}
