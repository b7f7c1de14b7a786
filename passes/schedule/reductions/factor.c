/* factor.c - Builds the block of the partial results of a reduction, one for each iteration of a
 * loop. See factor.h.
 *
 * Every other loop of the reduction gives an iterator of its own, as in TVM. What the domains of
 * the old iterators forbid becomes a predicate where it speaks of such a loop, since an init runs
 * whatever happens in the loops of its reduction; else the value added there is the identity. */
#include "passes/schedule/reductions/factor.h"

/* ---- check ----------------------------------------------------------------------------------- */

bool factor_uses(const Factor *f, IterKind kind, const Stmt *loop)
{
    return reduction_uses(f->s->ctx, f->block, kind, loop);
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
                  !factor_uses(f, ITER_SPATIAL, f->loop); /* what a split leaves of a short loop */
    REQUIRE(
        s, E0475, span, single || factor_uses(f, ITER_REDUCE, f->loop),
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

bool factor_check_reducer(Factor *f, Span span)
{
    const char *why;
    REQUIRE(f->s, E0476, span,
            partial_results_of(f->s->ctx, (RunOf){f->s->kernel, &f->path, f->anchor}, &f->r, &why),
            "block '%s' cannot be decomposed into partial results: %s", f->block->name, why);
    return true;
}

/* Each conjunct of the condition speaks of a loop of the reduction that stays one: it keeps terms
 * away, and no partial result. */
static bool is_on_terms(const Factor *f, Expr *cond)
{
    Context *c = f->s->ctx;
    ExprList all = {0};
    cond_split(c, cond, &all);
    for (int k = 0; k < all.n; k++) {
        bool terms = false;
        for (int i = f->anchor; i + 1 < f->path.n; i++) {
            const Stmt *at = f->path.items[i];
            terms |= at != f->loop && at->kind == ST_FOR && factor_uses(f, ITER_REDUCE, at) &&
                     expr_uses_var(all.items[k], at->u.loop.var);
        }
        if (!terms)
            return false;
    }
    return true;
}

/* An item of the path that the block may be in, below the anchor. */
static bool may_hold(const Factor *f, int i)
{
    const Stmt *at = f->path.items[i];
    bool branch = at->kind == ST_IF && at->u.cond.then == f->path.items[i + 1];
    return at->kind == ST_FOR ||
           (f->among_others && (at->kind == ST_SEQ || (branch && is_on_terms(f, at->u.cond.cond))));
}

/* Nothing else in the reduction's loops accesses what it reduces, which is known behind them. */
static bool check_others(Factor *f, Span span)
{
    Context *c = f->s->ctx;
    Stmt *anchor = f->path.items[f->anchor];
    Stmt *others = stmt_replace(c, anchor, f->node, stmt_empty(c, f->node->span));
    for (int k = 0; k < f->r.n; k++) {
        const Buffer *buffer = f->r.parts[k].target.buffer;
        REQUIRE(f->s, E0475, span,
                !stmt_accesses(c, others, buffer, ACCESS_ANY) &&
                    !stmt_declares_inside(c, others, buffer),
                "another statement in loop '%s' accesses '%s', which block '%s' reduces in it; "
                "fission can give the block a loop of its own",
                stmt_label(anchor), buffer->name, f->block->name);
    }
    return true;
}

/* The reduction's loops hold nothing but the block, or what does not matter to it, and no loop is
 * both spatial and of the reduction. */
static bool check_nest(Factor *f, Span span)
{
    Schedule *s = f->s;
    for (int i = 0; i + 1 < f->path.n; i++) {
        const Stmt *at = f->path.items[i];
        REQUIRE(
            s, E0475, span, i < f->anchor || may_hold(f, i),
            "loop '%s', which carries the reduction, contains more than the loops of block '%s'",
            stmt_label(f->path.items[f->anchor]), f->block->name);
        REQUIRE(s, E0475, span,
                !factor_uses(f, ITER_REDUCE, at) || !factor_uses(f, ITER_SPATIAL, at),
                "loop '%s' carries both the reduction and spatial iterators of '%s'; split it to "
                "separate them",
                stmt_label(at), f->r.parts[0].target.buffer->name);
    }
    return true;
}

bool factor_check_loops(Factor *f, Span span)
{
    return check_loop(f, span) && check_nest(f, span) &&
           (!f->among_others || check_others(f, span));
}

/* The loop repeats the block under a condition: an iteration that computes nothing combines
 * nothing. */
static bool repeats_under_condition(const Factor *f, const ForStmt *loop)
{
    const Expr *cond = f->block->predicate;
    for (int i = 0; i < f->block->n_iters; i++)
        if (expr_uses_var(f->block->iters[i].binding, loop->var))
            return false;
    return cond && expr_uses_var(cond, loop->var);
}

/* The partial results of all iterations of the statement around `top` can be computed before they
 * are combined: each element has its own. */
static bool may_be_top(Factor *f, int top)
{
    Reducer r;
    const char *why;
    const Stmt *s = f->path.items[top];
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_SERIAL &&
           !repeats_under_condition(f, &s->u.loop) &&
           partial_results_of(f->s->ctx, (RunOf){f->s->kernel, &f->path, top}, &r, &why);
}

int factor_top(Factor *f)
{
    int top = f->anchor;
    while (top > 0 && may_be_top(f, top - 1))
        top--;
    return top;
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

/* An iterator of the reduction that `domain`, an end of the range of another one, depends on; NULL:
 * none. */
static const BlockIter *reduced_in(const Factor *f, const Expr *domain)
{
    for (int i = 0; i < f->block->n_iters; i++)
        if (f->block->iters[i].kind == ITER_REDUCE && expr_uses_var(domain, f->block->iters[i].var))
            return &f->block->iters[i];
    return NULL;
}

/* Spatial iterators stay; where one is just a loop, it stands for the loop. */
static bool keep_spatial(Factor *f, Span span)
{
    Context *c = f->s->ctx;
    VEC(Subst) renamed = {0};
    for (int i = 0; i < f->block->n_iters; i++) {
        BlockIter iter = f->block->iters[i];
        if (iter.kind != ITER_SPATIAL)
            continue;
        const BlockIter *reduced = reduced_in(f, iter.lo);
        reduced = reduced ? reduced : reduced_in(f, iter.hi);
        REQUIRE(f->s, E0475, span, !reduced,
                "the range of iterator '%s' of block '%s' depends on '%s', which the reduction "
                "runs over, but the elements of a partial result are the same in all of its "
                "iterations",
                iter.var->name, f->block->name, reduced->var->name);
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
    f->n_spatial = f->iters.n;
    return true;
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
    /* a loop that a step made is where the loop stood that it was made of */
    Span origin = loop->var->span.source ? loop->var->span : stmt->span;
    iter.var = var_new(c, iter_name(f, loop->var->name), DT_INDEX, VAR_ITER, origin);
    map_var(f, loop->var, expr_var(c, iter.var, loop->var->span));
    f->part = stmt == f->loop ? iter.var : f->part;
    VEC_PUSH(c->arena, &f->iters, iter);
    return true;
}

/* Loops that carry the reduction from one run of the anchor to another come first, and the loop of
 * the partial results before others that depend on it. */
static bool add_reduction_loops(Factor *f, Span span)
{
    for (int i = 0; i < f->anchor; i++)
        if (factor_uses(f, ITER_REDUCE, f->path.items[i])) {
            if (!add_iter(f, f->path.items[i], ITER_SPATIAL, span))
                return false;
            f->n_outer++;
        }
    if (!add_iter(f, f->loop, ITER_SPATIAL, span))
        return false;
    for (int i = f->anchor; i + 1 < f->path.n; i++) {
        const Stmt *at = f->path.items[i];
        if (at == f->loop || !factor_uses(f, ITER_REDUCE, at))
            continue;
        f->reduces = true;
        if (!add_iter(f, at, ITER_REDUCE, span))
            return false;
    }
    return true;
}

/* `cond` mentions a loop from items[from] to items[to] of the path that carries the reduction, and
 * is not the loop of the partial results. */
static bool on_reduction(const Factor *f, const Expr *cond, int from, int to)
{
    for (int i = from; i < to; i++)
        if (f->path.items[i] != f->loop && factor_uses(f, ITER_REDUCE, f->path.items[i]) &&
            expr_uses_var(cond, f->path.items[i]->u.loop.var))
            return true;
    return false;
}

/* One that stays a loop of the reduction. */
static bool on_other_reduction(const Factor *f, const Expr *cond)
{
    return on_reduction(f, cond, f->anchor, f->path.n - 1);
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
    bool reduces =
        expr_uses_var(cond, f->loop->u.loop.var) || on_reduction(f, cond, 0, f->path.n - 1);
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
        ExprList domain = {0};
        iter_add_domain(c, f->block, iter, &domain);
        for (int k = 0; k < domain.n; k++)
            if (!add_condition(f, facts, domain.items[k], span))
                return false;
    }
    return !f->block->predicate || add_condition(f, facts, f->block->predicate, span);
}

bool factor_find_iters(Factor *f, Span span)
{
    return keep_spatial(f, span) && add_reduction_loops(f, span) && map_reduction(f, span);
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A list of the old axes of a component with `item` as the new one. */
static Expr **with_axis(const Factor *f, const ReducerPart *part, Expr *const *old, Expr *item)
{
    int rank = part->target.buffer->rank;
    Expr **all = ARENA_ARRAY(f->s->ctx->arena, Expr *, rank + 1);
    for (int i = 0; i <= rank; i++)
        all[i] = i == f->axis ? item : old[i - (i > f->axis)];
    return all;
}

Name factor_name(Factor *f, const char *suffix)
{
    Name of = f->r.combiner ? f->block->name : f->r.parts[0].target.buffer->name;
    return sched_fresh_name(f->s, arena_printf(f->s->ctx->arena, "%s_%s", of, suffix));
}

Buffer *factor_buffer(const Factor *f, int k, Name name, const Buffer *shaped)
{
    Context *c = f->s->ctx;
    const Combiner *combiner = f->r.combiner;
    const Buffer *old = f->r.parts[k].target.buffer;
    return buffer_new(
        c,
        &(Buffer){.name = combiner ? sched_fresh_name(f->s, arena_printf(c->arena, "%s_%s", name,
                                                                         combiner->parts[k].name))
                                   : name,
                  .type = old->type,
                  .digits = old->digits,
                  .shape = shaped->shape,
                  .rank = shaped->rank,
                  .scope = old->scope,
                  .role = ROLE_TEMP,
                  .span = old->span,
                  .origin = shaped->origin});
}

Buffer **factor_buffers(Factor *f, Name name, Span origin)
{
    Context *c = f->s->ctx;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    Expr *extent = simplify(facts_new(c), index_sub(c, hi, lo));
    Buffer **out = ARENA_ARRAY(c->arena, Buffer *, f->r.n);
    for (int k = 0; k < f->r.n; k++) {
        const ReducerPart *part = &f->r.parts[k];
        const Buffer *old = part->target.buffer;
        out[k] = factor_buffer(
            f, k, name,
            &(Buffer){.shape = with_axis(f, part, old->shape, *stage_shape(f->s, &extent, 1)),
                      .rank = old->rank + 1,
                      .origin = origin});
    }
    return out;
}

static BufferElement factor_element(const Factor *f, Buffer *const *buffers, int k, Var *part)
{
    Context *c = f->s->ctx;
    Expr *lo, *hi;
    loop_domain(c, &f->loop->u.loop, &lo, &hi);
    Expr *at = index_sub(c, expr_var(c, part, part->span), lo);
    const ReducerPart *own = &f->r.parts[k];
    return (BufferElement){buffers[k], with_axis(f, own, own->target.index, at)};
}

BufferElement *factor_elements(const Factor *f, Buffer *const *buffers, Var *part)
{
    BufferElement *out = ARENA_ARRAY(f->s->ctx->arena, BufferElement, f->r.n);
    for (int k = 0; k < f->r.n; k++)
        out[k] = factor_element(f, buffers, k, part);
    return out;
}

Stmt *factor_update_by(const Factor *f, Var *part)
{
    Context *c = f->s->ctx;
    Expr *const *partial = reducer_load(c, &f->r, factor_elements(f, f->rf, part));
    return reducer_update(c, &f->r, (ReducerStore){reducer_targets(c, &f->r), partial});
}

/* The partial results in terms of the new iterators. */
static const BufferElement *mapped_elements(Factor *f)
{
    BufferElement *out = factor_elements(f, f->rf, f->part);
    for (int k = 0; k < f->r.n; k++)
        for (int i = 0; i < f->rf[k]->rank; i++)
            ((Expr **)out[k].index)[i] = mapped(f, out[k].index[i]);
    return out;
}

/* What makes the values of an update exist: where it does not, they are the identity. */
static Expr *existence(Factor *f)
{
    bool needs_guard = f->r.guard && (f->exists || !f->reduces);
    return needs_guard ? cond_and(f->s->ctx, f->exists, mapped(f, f->r.guard)) : f->exists;
}

Stmt *factor_block(Factor *f)
{
    Context *c = f->s->ctx;
    const BufferElement *elements = mapped_elements(f);
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

/* The block's init is replaced for a moment, so that its nest is that of the init, and iterators
 * are replaced alike. */
Stmt *factor_spread(Factor *f, int top, Stmt *body, Stmt **bottom)
{
    Context *c = f->s->ctx;
    BlockStmt block = *f->block;
    block.init = body;
    Stmt *node = stmt_block(c, &block, f->node->span), *nest, *rest;
    StmtPath path = path_joined(c, &f->path, f->path.n - 1, (StmtPath){&node, 1, 1});
    if (!reduction_take_init(
            c, &(ReductionPlace){.kernel = f->s->kernel, .path = &path, .anchor = top}, &nest,
            &rest))
        return NULL;
    *bottom = stmt_nest_block(nest);
    return nest;
}
