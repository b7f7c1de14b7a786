/* stage.c - see stage.h. */
#include "passes/schedule/copies/stage.h"

#include "passes/schedule/loops/loop.h"

/* ---- where a copy stands --------------------------------------------------------------------- */

/* The items of `stmt` (itself, if it is no seq) that hold one of `blocks`. */
static StagePlace place_of(Stmt *stmt, const BlockList *blocks, Context *c)
{
    StagePlace place = {.parent = stmt, .first = -1, .last = -1};
    for (int i = 0; i < stmt_items(stmt); i++)
        for (int b = 0; b < blocks->n; b++) {
            if (!stmt_find(c, stmt_item(stmt, i), blocks->items[b]->u.block.id, NULL))
                continue;
            place.first = place.first < 0 ? i : place.first;
            place.last = i;
        }
    return place;
}

/* What may touch a buffer around a copy. */
typedef struct {
    const BlockList *users;
    AccessMode mode;
    const StoreStmt *of; /* StagePlace */
} Touching;

/* Nothing in `item` declares the buffer, or touches it in the mode but, where that is allowed, the
 * users. */
static bool is_clean(Schedule *s, Stmt *item, const Touching *t, const Buffer *buffer)
{
    bool clean = !stmt_declares(s->ctx, item, buffer);
    BlockList others = flow_blocks(s, item, buffer, t->mode);
    for (int o = 0; o < others.n && clean; o++) {
        clean = t->of && !stmt_may_access(s->ctx, others.items[o],
                                          (BufferElement){t->of->buffer, t->of->index}, t->mode);
        for (int u = 0; u < t->users->n; u++)
            clean |= others.items[o] == t->users->items[u] && t->mode == ACCESS_ANY;
    }
    return clean;
}

/* The branch that holds all of the blocks; NULL where both hold some. */
static Stmt *branch_of(const Stmt *cond, const BlockList *blocks, Context *c)
{
    Stmt *then = cond->u.cond.then, *otherwise = cond->u.cond.otherwise;
    bool second = otherwise && place_of(otherwise, blocks, c).first >= 0;
    if (!second)
        return then;
    return place_of(then, blocks, c).first >= 0 ? NULL : otherwise;
}

bool stage_place(Schedule *s, const BlockList *users, const BufferSet *buffers, AccessMode mode,
                 StagePlace *place)
{
    Stmt *at = place->parent ? place->parent : s->kernel->body;
    Touching touching = {users, mode, place->of};
    for (;;) {
        *place = place_of(at, users, s->ctx);
        bool clean = true;
        for (int i = place->first; i <= place->last && clean; i++)
            for (int b = 0; b < buffers->n && clean; b++)
                clean = is_clean(s, stmt_item(place->parent, i), &touching, buffers->items[b]);
        if (clean)
            return true;
        Stmt *only = stmt_item(place->parent, place->first);
        if (place->first != place->last || only->kind == ST_BLOCK)
            return false;
        if (only->kind == ST_FOR)
            at = only->u.loop.body;
        else if (only->kind == ST_IF)
            at = branch_of(only, users, s->ctx);
        else
            return false;
        if (!at)
            return false;
    }
}

StagePlace stage_outermost(Schedule *s, Stmt *block)
{
    BlockList blocks = {0};
    VEC_PUSH(s->ctx->arena, &blocks, block);
    return place_of(s->kernel->body, &blocks, s->ctx);
}

Stmt *stage_insert(Schedule *s, const StagePlace *place, Stmt *before, Stmt *after)
{
    Stmt *list = place->parent;
    if (after)
        list = stmt_insert(s->ctx, list, place->last + 1, after);
    return before ? stmt_insert(s->ctx, list, place->first, before) : list;
}

/* ---- the copying block ----------------------------------------------------------------------- */

Buffer *stage_buffer(Schedule *s, const Buffer *of, const char *suffix, Scope scope, Span origin)
{
    Name name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_%s", of->name, suffix));
    return buffer_new(s->ctx, &(Buffer){.name = name,
                                        .type = of->type,
                                        .digits = of->digits,
                                        .shape = of->shape,
                                        .rank = of->rank,
                                        .scope = scope,
                                        .role = ROLE_TEMP,
                                        .span = of->span,
                                        .origin = origin});
}

Stmt *stage_copy(Schedule *s, BufferElement to, BufferElement from, Span span)
{
    return stmt_set(s->ctx, to, expr_load(s->ctx, from.buffer, from.index, span), span);
}

StageNest stage_over(Schedule *s, const Buffer *buffer, const Name *names, Span span, Expr ***index)
{
    Context *c = s->ctx;
    int n = buffer->rank;
    Var **vars = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n + 1);
    *index = ARENA_ARRAY(c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++) {
        Name name = names ? names[i] : sched_iter_name(s, i);
        vars[i] = var_new(c, name, DT_INDEX, VAR_ITER, span);
        (*index)[i] = expr_var(c, vars[i], span);
        lo[i] = expr_index(c, 0);
    }
    return (StageNest){.n = n, .iters = vars, .lo = lo, .hi = buffer->shape};
}

Stmt *stage_nest(Schedule *s, const StageNest *nest, Span span)
{
    Context *c = s->ctx;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, nest->n + 1);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, nest->n + 1);
    Subst *to_loops = ARENA_ARRAY(c->arena, Subst, nest->n + 1);
    for (int i = 0; i < nest->n; i++) {
        Name name = sched_fresh_name(s, arena_printf(c->arena, "ax%d", i));
        Expr *lo = nest->box ? expr_index(c, 0) : expr_subst(c, nest->lo[i], to_loops, i);
        Expr *hi = nest->box ? nest->box[i].extent : expr_subst(c, nest->hi[i], to_loops, i);
        loops[i] = flow_loop(s, name, lo, hi);
        Expr *value = expr_var(c, loops[i].var, span);
        if (nest->box)
            value = index_add(c, nest->box[i].min, value);
        iters[i] = (BlockIter){nest->iters[i], nest->lo[i], nest->hi[i], value, ITER_SPATIAL};
        to_loops[i] = (Subst){nest->iters[i], value};
    }
    BlockStmt block = {.name = nest->block, .iters = iters, .n_iters = nest->n, .body = nest->body};
    block.predicate = nest->where ? expr_subst(c, nest->where, to_loops, nest->n) : NULL;
    return stmt_in_loops(c, loops, nest->n, stmt_block(c, &block, span), span);
}

static bool is_among(const Name *names, int n, Name name)
{
    for (int i = 0; i < n; i++)
        if (names[i] == name)
            return true;
    return false;
}

/* The names of a copy's iterators: those that the user has alone for subscripts of one of the
 * buffers. */
static void iterator_names(Schedule *s, Stmt *user, const Buffer *to, const Buffer *from,
                           Name *iter)
{
    AccessList found = access_list(s->ctx, user, from, ACCESS_ANY);
    if (found.n == 0)
        access_collect(s->ctx, user, to, ACCESS_ANY, &found);
    for (int axis = 0; axis < from->rank; axis++) {
        const Expr *subscript = found.n ? found.items[0].index[axis] : NULL;
        bool alone = subscript && subscript->kind == EX_VAR && subscript->u.var->kind == VAR_ITER;
        iter[axis] = alone ? subscript->u.var->name : sched_iter_name(s, axis);
        for (int next = axis; is_among(iter, axis, iter[axis]); next++)
            iter[axis] = sched_iter_name(s, next);
    }
}

Stmt *stage_copy_box(Schedule *s, Stmt *user, const BoxCopy *copy)
{
    Context *c = s->ctx;
    Name *names = ARENA_ARRAY(c->arena, Name, copy->from->rank + 1);
    Expr **index;
    iterator_names(s, user, copy->to, copy->from, names);
    StageNest nest = stage_over(s, copy->from, names, copy->span, &index);
    nest.block = copy->block;
    nest.box = copy->box;
    nest.body = stage_copy(s, (BufferElement){.buffer = copy->to, .index = index},
                           (BufferElement){.buffer = copy->from, .index = index}, copy->span);
    return stage_nest(s, &nest, copy->span);
}

/* An axis for `extent` elements: sizes for which the extent is negative have none. */
static Expr *axis_for(Schedule *s, Expr *extent)
{
    if (expr_of_sizes(extent))
        extent = index_at_least(facts_of_kernel(s->ctx, s->kernel), extent, 0);
    return shape_extent(s->ctx, extent);
}

Expr **stage_shape(Schedule *s, Expr *const *extent, int n)
{
    Expr **shape = ARENA_ARRAY(s->ctx->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++)
        shape[i] = axis_for(s, extent[i]);
    return shape;
}

const Var *stage_other_var(Context *c, const BlockStmt *block, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        const Var *var = at.expr->kind == EX_VAR ? at.expr->u.var : NULL;
        if (var && (var->kind == VAR_LOOP || var->kind == VAR_LET ||
                    (var->kind == VAR_ITER && !block_iter(block, var))))
            return var;
    }
    return NULL;
}

PointBox stage_points(Schedule *s, const BlockStmt *block, Expr *const *e, int n)
{
    Context *c = s->ctx;
    int n_iters = block->n_iters;
    bool *used = ARENA_ARRAY(c->arena, bool, n_iters + 1);
    for (int i = n_iters - 1; i >= 0; i--) {
        const Var *var = block->iters[i].var;
        used[i] = exprs_use_var(e, n, var);
        for (int later = i + 1; later < n_iters; later++)
            used[i] |= used[later] && iter_uses_var(&block->iters[later], var);
    }
    Var **var = ARENA_ARRAY(c->arena, Var *, n_iters + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n_iters + 1),
         **hi = ARENA_ARRAY(c->arena, Expr *, n_iters + 1);
    PointBox points = {var, lo, hi, 0};
    for (int i = 0; i < n_iters; i++) {
        if (!used[i])
            continue;
        var[points.n] = block->iters[i].var;
        lo[points.n] = block->iters[i].lo;
        hi[points.n++] = block->iters[i].hi;
    }
    return points;
}

/* ---- blocks whose results are copied out ----------------------------------------------------- */

bool stage_can_write(Schedule *s, const StmtPath *path, const Stmt *store, Span span,
                     StagePlace *place)
{
    Stmt *block = path_end(path);
    const Buffer *buffer = store->u.store.buffer;
    BlockList users = {0};
    BufferSet staged = {0};
    Conflict why;
    *place = (StagePlace){.of = &store->u.store};
    if (!stage_starts_alone(s, path, buffer, &store->u.store, span))
        return false;
    VEC_PUSH(s->ctx->arena, &users, block);
    VEC_PUSH(s->ctx->arena, &staged, buffer);
    stage_place(s, &users, &staged, ACCESS_ANY, place); /* the block itself at the latest */
    Rewrite whole = {s->kernel, stmt_item(place->parent, place->first), flow_whole_nest(s, block)};
    REQUIRE_KEPT(s, E0444, span, dependence_instances_kept(s->ctx, whole, block->u.block.id, &why),
                 &why,
                 "where the copy would stand, block '%s' has not run for all values of its "
                 "iterators, so the copy would take elements of '%s' that are not computed: %s",
                 block->u.block.name, buffer->name, why.reason);
    return true;
}
