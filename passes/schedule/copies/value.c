/* value.c - Builds the nest that computes a part of a block's value in front of it, in a buffer.
 *
 * Invariant: the buffer has the value for all iterations of the block. */
#include "passes/schedule/copies/value.h"

#include "passes/analysis/polyhedral/poly.h"

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
    for (Cursor at = cursor_expr(c, iter->binding); cursor_next(&at);) {
        bool found = at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LOOP;
        for (int i = 0; i < v->outside.n && !found; i++)
            found = v->outside.items[i]->kind == ST_FOR &&
                    v->outside.items[i]->u.loop.var == at.expr->u.var;
        if (!found)
            return false;
    }
    return true;
}

static bool starts_at_zero(const BlockIter *iter)
{
    int64_t lo;
    return expr_is_const(iter->lo, &lo) && lo == 0 && expr_of_sizes(iter->hi);
}

Stmt *value_nest(Schedule *s, ValueNest *v)
{
    Context *c = s->ctx;
    const BlockStmt *block = &path_end(&v->path)->u.block;
    int n = v->n, axes = 0;
    Span span = v->value->span;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, n + 1);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, n + 1);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, n + 1),
         **index = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, n + 1);
    for (int i = 0; i < n; i++) {
        const BlockIter *old = block_iter(block, v->var[i]);
        iters[i] = *old;
        iters[i].kind = ITER_SPATIAL;
        iters[i].var = var_new(c, old->var->name, DT_INDEX, VAR_ITER, span);
        iters[i].lo = expr_subst(c, old->lo, map, i);
        iters[i].hi = expr_subst(c, old->hi, map, i);
        map[i] = (Subst){old->var, expr_var(c, iters[i].var, span)};
        if (value_is_outside(c, v, old))
            continue;
        if (!starts_at_zero(old))
            return NULL;
        Name name = sched_fresh_name(s, arena_printf(c->arena, "ax%d", axes));
        loops[axes] = flow_loop(s, name, old->lo, old->hi);
        iters[i].binding = expr_var(c, loops[axes].var, span);
        shape[axes] = old->hi;
        index[axes++] = map[i].value;
    }
    Name name = sched_fresh_name(s, arena_printf(c->arena, "%s_%s", block->name, v->name));
    v->buffer = buffer_new(c, &(Buffer){.name = name,
                                        .type = v->value->type,
                                        .shape = stage_shape(s, shape, axes),
                                        .rank = axes,
                                        .scope = v->scope,
                                        .role = ROLE_TEMP,
                                        .span = span,
                                        .origin = v->origin});
    Stmt *store =
        stmt_set(c, (BufferElement){v->buffer, index}, expr_subst(c, v->value, map, n), span);
    v->compute = stmt_block(
        c, &(BlockStmt){.name = name, .iters = iters, .n_iters = n, .body = store}, span);
    return stmt_in_loops(c, loops, axes, v->compute, span);
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
