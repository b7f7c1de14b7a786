/* tie.c - Inverts the subscripts of a block: finds the iterations that access an element. */
#include "passes/schedule/blocks/tie.h"

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/stage.h"

static void make_places(Schedule *s, const Stmt *block, const Buffer *buffer, Tie *out)
{
    Context *c = s->ctx;
    out->buffer = buffer;
    out->place = ARENA_ARRAY(c->arena, Var *, buffer->rank + 1);
    for (int axis = 0; axis < buffer->rank; axis++)
        out->place[axis] = var_new(c, ctx_namef(c, "ax%d", axis), DT_INDEX, VAR_ITER, block->span);
    out->back = ARENA_ARRAY(c->arena, Expr *, block->u.block.n_iters + 1);
    out->taken = NULL;
    out->covers = true;
    out->tiles = false;
}

/* Facts: each place is in the buffer. */
static Facts *facts_of_places(Schedule *s, const Buffer *buffer, const Tie *tie)
{
    Facts *f = facts_of_kernel(s->ctx, s->kernel);
    for (int axis = 0; axis < buffer->rank; axis++)
        facts_range(f, tie->place[axis], expr_index(s->ctx, 0), buffer->shape[axis]);
    return f;
}

/* The iterators are the subscripts: an element outside of the buffer is one outside of a domain. */
static bool tie_plainly(Schedule *s, const Stmt *block, const Buffer *buffer, Expr *const *index,
                        Tie *out)
{
    Context *c = s->ctx;
    int *iters = ARENA_ARRAY(c->arena, int, buffer->rank + 1);
    if (!flow_pure_index(&block->u.block, buffer, index, iters))
        return false;
    for (int axis = 0; axis < buffer->rank; axis++)
        out->back[iters[axis]] = expr_var(c, out->place[axis], block->span);
    return true;
}

/* Fills in out->taken and out->covers: a place beyond the buffer must not stand for another one. */
static void find_taken(Schedule *s, const IndexMap *map, const PointBox *points, Expr *const *back,
                       Tie *out)
{
    Context *c = s->ctx;
    const Buffer *buffer = out->buffer;
    Facts *f = facts_of_places(s, buffer, out);
    out->taken = index_map_taken(f, map, points, back, out->place);
    out->covers = !out->taken;
    for (int axis = 0; axis < buffer->rank; axis++) {
        Expr *at = expr_var(c, out->place[axis], span_none()), *end = buffer->shape[axis];
        Expr *from = expr_binary(c, EX_GE, at, expr_index(c, 0), span_none());
        out->taken = cond_and(c, out->taken, from);
        out->taken = cond_and(c, out->taken, expr_binary(c, EX_LT, at, end, span_none()));
    }
}

/* Fills in out->back from the way back to the points, which are iterators, and maybe loops. */
static void find_iters(Schedule *s, const BlockStmt *block, const PointBox *points,
                       Expr *const *back, Tie *out)
{
    Facts *f = facts_of_places(s, out->buffer, out);
    for (int i = 0; i < block->n_iters; i++)
        for (int p = 0; p < points->n; p++)
            if (block->iters[i].var == points->var[p])
                out->back[i] = simplify(f, back[p]);
}

bool tie_find(Schedule *s, const Stmt *block, const Buffer *buffer, Expr *const *index, Tie *out)
{
    Context *c = s->ctx;
    const BlockStmt *b = &block->u.block;
    make_places(s, block, buffer, out);
    if (tie_plainly(s, block, buffer, index, out))
        return true;
    for (int axis = 0; axis < buffer->rank; axis++)
        if (stage_other_var(c, b, index[axis]))
            return false;
    PointBox points = stage_points(s, b, index, buffer->rank);
    Expr **back = ARENA_ARRAY(c->arena, Expr *, points.n + 1);
    if (!index_map_back(facts_of_kernel(c, s->kernel), &points, index, buffer->rank, out->place,
                        back))
        return false;
    find_iters(s, b, &points, back, out);
    IndexMap map = {points.var, points.n, index, buffer->rank};
    find_taken(s, &map, &points, back, out);
    return true;
}

/* ---- an access in loops of the block --------------------------------------------------------- */

typedef VEC(const ForStmt *) InnerLoops;

/* The loops around the access whose variables its subscripts, or the ranges of such loops, use;
 * *used: these subscripts and ranges. False where data decide a range. */
static bool find_inner_loops(Context *c, const Access *access, InnerLoops *loops, ExprList *used)
{
    VEC_APPEND(c->arena, used, access->index, access->buffer->rank);
    for (int i = access->path.n - 1; i >= 0; i--) {
        const Stmt *stmt = access->path.items[i].stmt;
        if (stmt->kind != ST_FOR || !exprs_use_var(used->items, used->n, stmt->u.loop.var))
            continue;
        const ForStmt *loop = &stmt->u.loop;
        if (loop->step != 1 || expr_has_load(loop->lo) || expr_has_load(loop->hi))
            return false;
        VEC_PUSH(c->arena, used, loop->lo);
        VEC_PUSH(c->arena, used, loop->hi);
        VEC_PUSH(c->arena, loops, loop);
    }
    return true;
}

/* A variable of `e` that is neither an iterator of the block nor one of the loops. */
static bool uses_other(Context *c, const BlockStmt *block, const Expr *e, const InnerLoops *loops)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        const Var *var = at.expr->kind == EX_VAR ? at.expr->u.var : NULL;
        bool known = !var || var->kind == VAR_SIZE || block_iter(block, var);
        for (int i = 0; i < loops->n && !known; i++)
            known = loops->items[i]->var == var;
        if (!known)
            return true;
    }
    return false;
}

/* The block's iterators that are used, and then the loops, outermost first. */
static PointBox points_of(Schedule *s, const BlockStmt *block, const InnerLoops *loops,
                          const ExprList *used)
{
    Arena *arena = s->ctx->arena;
    PointBox iters = stage_points(s, block, used->items, used->n);
    int n = iters.n + loops->n;
    Var **var = ARENA_ARRAY(arena, Var *, n + 1);
    Expr **lo = ARENA_ARRAY(arena, Expr *, n + 1), **hi = ARENA_ARRAY(arena, Expr *, n + 1);
    for (int i = 0; i < n; i++) {
        const ForStmt *loop = i < iters.n ? NULL : loops->items[n - 1 - i];
        var[i] = loop ? loop->var : iters.var[i];
        lo[i] = loop ? loop->lo : iters.lo[i];
        hi[i] = loop ? loop->hi : iters.hi[i];
    }
    return (PointBox){var, lo, hi, n};
}

bool tie_find_tiles(Schedule *s, const Stmt *block, const Access *access, Tie *out)
{
    Context *c = s->ctx;
    InnerLoops loops = {0};
    ExprList used = {0};
    make_places(s, block, access->buffer, out);
    if (!find_inner_loops(c, access, &loops, &used))
        return false;
    for (int i = 0; i < used.n; i++)
        if (uses_other(c, &block->u.block, used.items[i], &loops))
            return false;
    PointBox points = points_of(s, &block->u.block, &loops, &used);
    Expr **back = ARENA_ARRAY(c->arena, Expr *, points.n + 1);
    if (!index_map_back(facts_of_kernel(c, s->kernel), &points, access->index, access->buffer->rank,
                        out->place, back))
        return false;
    find_iters(s, &block->u.block, &points, back, out);
    out->tiles = true;
    return true;
}
