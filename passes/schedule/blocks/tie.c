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
    if (!index_map_back(c, &points, index, buffer->rank, out->place, back))
        return false;
    for (int i = 0; i < b->n_iters; i++)
        for (int p = 0; p < points.n; p++)
            if (b->iters[i].var == points.var[p])
                out->back[i] = simplify(facts_of_places(s, buffer, out), back[p]);
    IndexMap map = {points.var, points.n, index, buffer->rank};
    find_taken(s, &map, &points, back, out);
    return true;
}
