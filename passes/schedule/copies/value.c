/* value.c - Builds the nest that computes a part of a block's value in front of it, in a buffer.
 *
 * Invariant: the buffer has the value for all iterations of the block. */
#include "passes/schedule/copies/value.h"

bool value_place(Schedule *s, ValueNest *v, const BlockList *users, StagePlace *place)
{
    BufferSet read = {0};
    for (Cursor at = cursor_expr(s->ctx, v->value); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD)
            VEC_PUSH(s->ctx->arena, &read, at.expr->u.load.buffer);
    if (!stage_place(s, users, &read, ACCESS_WRITE, place))
        return false;
    v->outside = stmt_path_to(s->ctx, s->kernel->body, place->parent);
    v->outside.n--; /* the list, or the statement behind the nest */
    return true;
}

bool value_is_outside(Context *c, const ValueNest *v, const BlockIter *iter)
{
    return !expr_loop_outside(c, iter->binding, &v->outside);
}

/* The statement writes what the value is made of. */
static bool writes_operand(Context *c, const ValueNest *v, const Stmt *s)
{
    for (Cursor at = cursor_expr(c, v->value); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && stmt_accesses(c, s, at.expr->u.load.buffer, ACCESS_WRITE))
            return true;
    return false;
}

/* The loop decides a part of an iterator of the value. */
static bool decides_part(Context *c, const ValueNest *v, const Var *loop)
{
    for (int k = 0; k < v->n; k++) {
        const BlockIter *iter = block_iter(&path_end(&v->path)->u.block, v->var[k]);
        if (expr_uses_var(iter->binding, loop) && !value_is_outside(c, v, iter))
            return true;
    }
    return false;
}

/* A loop around the nest that writes what the value is made of, and that decides a part of an
 * iterator of it, so that the nest would compute values of later iterations, too. NULL: there is
 * none. */
static const Stmt *early_loop(Schedule *s, const ValueNest *v)
{
    for (int i = 0; i < v->outside.n; i++) {
        const Stmt *loop = v->outside.items[i];
        if (loop->kind == ST_FOR && decides_part(s->ctx, v, loop->u.loop.var) &&
            writes_operand(s->ctx, v, loop))
            return loop;
    }
    return NULL;
}

bool value_require_all(Schedule *s, const ValueNest *v, Span span)
{
    const Stmt *block = path_end(&v->path), *early = early_loop(s, v);
    Conflict why;
    REQUIRE_KEPT(s, E0917, span, flow_runs_whole(s, block, &why), &why,
                 "block '%s' does not run over the full domains of its iterators, but the block "
                 "that computes its %s would: %s",
                 block->u.block.name, v->name, why.reason);
    REQUIRE_AT(s, E0917, span, !early, early,
               "each iteration of loop '%s' writes a part of what block '%s' computes its %ss "
               "from, and all of them would be computed there; call this step before the loop is "
               "split, or give what the loop writes a loop of its own",
               stmt_label(early), block->u.block.name, v->name);
    return true;
}

static bool starts_at_zero(const BlockIter *iter)
{
    int64_t lo;
    return expr_is_const(iter->lo, &lo) && lo == 0 && expr_of_sizes(iter->hi);
}

/* The nest under construction. */
typedef struct {
    BlockIter *iters; /* [n of the value] */
    Subst *map;       /* to them */
    ForStmt *loops;   /* for each axis of the buffer */
    Expr **shape, **index;
    int axes;
} NewNest;

/* Iterator `k` of the nest; one that no loop around decides gets a loop and an axis. False where
 * its range does not start at 0, or is none of sizes. */
static bool add_iter(Schedule *s, const ValueNest *v, int k, NewNest *nest)
{
    Context *c = s->ctx;
    const BlockIter *old = block_iter(&path_end(&v->path)->u.block, v->var[k]);
    BlockIter *iter = &nest->iters[k];
    *iter = *old;
    iter->kind = ITER_SPATIAL;
    iter->var = var_new(c, old->var->name, DT_INDEX, VAR_ITER, v->value->span);
    iter->lo = expr_subst(c, old->lo, nest->map, k);
    iter->hi = expr_subst(c, old->hi, nest->map, k);
    nest->map[k] = (Subst){old->var, expr_var(c, iter->var, v->value->span)};
    if (value_is_outside(c, v, old))
        return true;
    if (!starts_at_zero(old))
        return false;
    int axis = nest->axes++;
    Name name = sched_fresh_name(s, arena_printf(c->arena, "ax%d", axis));
    nest->loops[axis] = flow_loop(s, name, old->lo, old->hi);
    iter->binding = expr_var(c, nest->loops[axis].var, v->value->span);
    nest->shape[axis] = old->hi;
    nest->index[axis] = nest->map[k].value;
    return true;
}

static Stmt *nest_of(Schedule *s, ValueNest *v)
{
    Context *c = s->ctx;
    Span span = v->value->span;
    NewNest nest = {.iters = ARENA_ARRAY(c->arena, BlockIter, v->n + 1),
                    .map = ARENA_ARRAY(c->arena, Subst, v->n + 1),
                    .loops = ARENA_ARRAY(c->arena, ForStmt, v->n + 1),
                    .shape = ARENA_ARRAY(c->arena, Expr *, v->n + 1),
                    .index = ARENA_ARRAY(c->arena, Expr *, v->n + 1)};
    for (int k = 0; k < v->n; k++)
        if (!add_iter(s, v, k, &nest))
            return NULL;
    Name name = sched_fresh_name(
        s, arena_printf(c->arena, "%s_%s", path_end(&v->path)->u.block.name, v->name));
    v->buffer = buffer_new(c, &(Buffer){.name = name,
                                        .type = v->value->type,
                                        .shape = stage_shape(s, nest.shape, nest.axes),
                                        .rank = nest.axes,
                                        .scope = v->scope,
                                        .role = ROLE_TEMP,
                                        .span = span,
                                        .origin = v->origin});
    Stmt *store = stmt_set(c, (BufferElement){v->buffer, nest.index},
                           expr_subst(c, v->value, nest.map, v->n), span);
    v->compute = stmt_block(
        c, &(BlockStmt){.name = name, .iters = nest.iters, .n_iters = v->n, .body = store}, span);
    return stmt_in_loops(c, nest.loops, nest.axes, v->compute, span);
}

Stmt *value_nest(Schedule *s, ValueNest *v, Span span)
{
    Stmt *nest = nest_of(s, v);
    if (!nest)
        sched_refuse(s, E0917, span,
                     "the ranges of the iterators of block '%s' do not start at 0, or depend on "
                     "loops or data, so its %ss have no box",
                     path_end(&v->path)->u.block.name, v->name);
    return nest;
}

/* Outside of all loops the declaration stands with the others, so that the nests around stay
 * neighbours. */
Stmt *value_insert(Schedule *s, const ValueNest *v, const StagePlace *place, Stmt *nest)
{
    Context *c = s->ctx;
    bool inside = false;
    for (int i = 0; i < v->outside.n; i++)
        inside |= v->outside.items[i]->kind == ST_FOR;
    if (inside)
        nest = stmt_then(c, stmt_temp(c, v->buffer, nest->span), nest);
    Stmt *body =
        stmt_replace(c, s->kernel->body, place->parent, stage_insert(s, place, nest, NULL));
    return inside ? body : flow_declare(s, body, v->buffer);
}

Expr *value_load(Context *c, const ValueNest *v, const Var *const *own, Span span)
{
    const BlockStmt *block = &path_end(&v->path)->u.block;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, v->n + 1);
    int axes = 0;
    for (int i = 0; i < v->n; i++)
        if (!value_is_outside(c, v, block_iter(block, v->var[i])))
            index[axes++] = expr_var(c, (Var *)own[i], span);
    return expr_load(c, v->buffer, index, span);
}
