/* warp_parts.c - Finds which lane of a warp has which elements of its memory, in which register.
 *
 *   w[k * 32 + lane] = x[..];      along axis 0, with chunks of 1: register k of each lane
 *   w[lane * 2 + v] = x[..];       with chunks of 2: register v
 *
 * A write whose subscript goes along with the lane gives the axis and the chunk, if all writes are
 * then to the part of the lane that runs them. */
#include "passes/lower/memory/warp_parts.h"

/* ---- places ---------------------------------------------------------------------------------- */

bool warp_is_lane_loop(const Stmt *s)
{
    return stmt_is_bound(s) && s->u.loop.axis == AXIS_THREAD_X;
}

Expr *warp_coordinate(const WarpMemory *w)
{
    bool every;
    const Stmt *loop = thread_loop(w->c, &w->path, AXIS_THREAD_X, &every);
    if (!loop || !loop_counts_from_zero(&loop->u.loop))
        return NULL;
    return expr_var(w->c, loop->u.loop.var, loop->span);
}

Expr *warp_lane_of(const WarpMemory *w, Expr *e)
{
    const Parts *p = &w->parts;
    Expr *chunk = index_div(w->c, e, expr_index(w->c, p->chunk));
    return simplify(w->facts, index_mod(w->c, chunk, expr_index(w->c, p->lanes)));
}

Expr *warp_register_of(const WarpMemory *w, Expr *e)
{
    Context *c = w->c;
    if (expr_is(w->parts.to->shape[w->parts.axis], 1))
        return expr_index(c, 0);
    Expr *chunk = expr_index(c, w->parts.chunk);
    Expr *row = index_div(c, e, expr_index(c, w->parts.lanes * w->parts.chunk));
    return simplify(w->facts, index_add(c, index_mul(c, row, chunk), index_mod(c, e, chunk)));
}

void warp_assume_inside(WarpMemory *w, Expr *e)
{
    Context *c = w->c;
    Expr *extent = w->parts.from->shape[w->parts.axis];
    facts_assume(w->facts, expr_binary(c, EX_GE, e, expr_index(c, 0), e->span));
    facts_assume(w->facts, expr_binary(c, EX_LT, e, extent, e->span));
}

bool warp_is_own(WarpMemory *w, Expr *e, Expr *self)
{
    return self && prove_compare(w->facts, warp_lane_of(w, e), EX_EQ, self);
}

void warp_refuse(WarpMemory *w, ErrorCode code, Span span, const char *why)
{
    if (!w->failed)
        diag_error(w->c, code, span, "'%s' is in the memory of a warp, but %s", w->parts.from->name,
                   why);
    w->failed = true;
}

/* ---- a walk over the blocks of a launch ------------------------------------------------------ */

Stmt *warp_walk(void *user, Stmt *s)
{
    WarpMemory *w = user;
    VEC_PUSH(w->c->arena, &w->path, s);
    Stmt *done = s;
    if (s->kind != ST_BLOCK)
        done = stmt_map_inside(w->c, w->facts, s, warp_walk, w);
    else if (!w->failed && stmt_accesses(w->c, s, w->parts.from, ACCESS_ANY))
        done = w->at_block(w, s);
    w->path.n--;
    return done;
}

/* ---- which lane has which elements ----------------------------------------------------------- */

/* Each write of the block is to the part of the lane that runs it. */
static Stmt *check_writes(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    const BlockStmt *block = &s->u.block;
    Expr *self = warp_coordinate(w);
    FactsMark mark = facts_mark(w->facts);
    block_assume_domains(w->facts, c, block);
    for (Cursor at = cursor_stmts(c, block->body); cursor_next(&at);) {
        if (at.stmt->kind == ST_FOR)
            facts_enter(w->facts, at.stmt);
        if (at.stmt->kind != ST_STORE || at.stmt->u.store.buffer != w->parts.from)
            continue;
        FactsMark inside = facts_mark(w->facts);
        Expr *e = iters_to_loops(c, block, at.stmt->u.store.index[w->parts.axis]);
        warp_assume_inside(w, e);
        if (!w->refused && !warp_is_own(w, e, self))
            w->refused = at.stmt;
        facts_reset(w->facts, inside);
    }
    facts_reset(w->facts, mark);
    return s;
}

static bool own_writes(WarpMemory *w, Stmt *root)
{
    w->at_block = check_writes;
    w->refused = NULL;
    warp_walk(w, root);
    return !w->refused;
}

/* Keeps, as the chunk, the factor of the lane in the first write's subscript. */
static Stmt *measure_chunk(WarpMemory *w, Stmt *s)
{
    Context *c = w->c;
    Expr *self = warp_coordinate(w), *rest;
    int64_t factor;
    AccessList writes = access_list(c, s, w->parts.from, ACCESS_WRITE);
    for (int i = 0; i < writes.n && self && w->parts.chunk == 0; i++) {
        Expr *e = iters_to_loops(c, &s->u.block, writes.items[i].index[w->parts.axis]);
        if (split_linear(w->facts, e, self->u.var, &factor, &rest) && factor > 0)
            w->parts.chunk = factor;
    }
    return s;
}

bool warp_find_parts(WarpMemory *w, Stmt *root)
{
    Parts *p = &w->parts;
    const Stmt *refused = NULL;
    for (p->axis = p->from->rank - 1; p->axis >= 0; p->axis--) {
        p->chunk = 0;
        w->at_block = measure_chunk;
        warp_walk(w, root);
        if (p->chunk == 0)
            p->chunk = 1;
        if (own_writes(w, root))
            return true;
        refused = refused ? refused : w->refused;
    }
    warp_refuse(
        w, E0523, refused ? refused->span : p->from->span,
        "this may write an element that another lane keeps: along one axis, lane t has to write "
        "the elements t * n + 0..n of every 32 * n, or 128 * n of a warpgroup");
    return false;
}
