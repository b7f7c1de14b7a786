/* reindex_element.c - Finds the element that a block accesses in each iteration, and its place in a
 * copy by an index map (reindex.c).
 *
 *   y[i, j] += x[i, k, 0] * x[i, k, 1];     with the place [k, i] of x[i, k, 0]
 *
 * An element may have parts, as a complex number has two: accesses that differ by a number on one
 * axis, which is short. The copy has all parts, on an axis of its own behind the others. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/reindex.h"

enum { MAX_PARTS = 8 }; /* on an axis */

/* ---- what the block touches ------------------------------------------------------------------ */

/* The subscripts read no memory and are made of iterators that the place uses. */
static bool is_of_place(const Reindex *r, Expr *const *at)
{
    const BlockStmt *block = &r->stmt->u.block;
    for (int d = 0; d < r->from->rank; d++)
        if (expr_has_load(at[d]))
            return false;
    for (int i = 0; i < block->n_iters; i++)
        if (exprs_use_var(at, r->from->rank, block->iters[i].var) &&
            !exprs_use_var(r->to, r->n_to, block->iters[i].var))
            return false;
    return true;
}

/* The accesses that are meant: all, or where they differ and the block only reads, those of the
 * place, if there are some. */
static AccessList meant(Reindex *r)
{
    AccessList all = access_list(r->s->ctx, r->stmt, r->from, ACCESS_ANY), some = {0};
    bool differ = false, reads = r->to != NULL;
    for (int i = 0; i < all.n; i++) {
        differ |= !exprs_equal(all.items[i].index, all.items[0].index, r->from->rank);
        reads &= !all.items[i].writes;
        if (reads && is_of_place(r, all.items[i].index))
            VEC_PUSH(r->s->ctx->arena, &some, all.items[i]);
    }
    r->among = differ && reads && some.n > 0;
    return r->among ? some : all;
}

/* Elements may have parts along the axis. */
static bool may_have_parts(const Reindex *r, int axis)
{
    int64_t parts;
    return r->part_axis == axis ||
           (r->part_axis < 0 && r->takes_parts && expr_is_const(r->from->shape[axis], &parts) &&
            parts <= MAX_PARTS);
}

/* The subscripts lead to the element, or to another part of it, whose axis is then known. */
static bool leads_to(Reindex *r, Expr *const *index, Expr *const *at)
{
    int64_t one, other;
    int parts = r->part_axis;
    for (int d = 0; d < r->from->rank; d++) {
        if (expr_equal(index[d], at[d]))
            continue;
        if (!expr_is_const(index[d], &one) || !expr_is_const(at[d], &other) ||
            !may_have_parts(r, d) || (parts >= 0 && parts != d))
            return false;
        parts = d;
    }
    r->part_axis = parts;
    return true;
}

/* All accesses that are meant have the same subscripts, made of iterators, but for numbers on an
 * axis. */
bool reindex_find_element(Reindex *r)
{
    Context *c = r->s->ctx;
    AccessList accesses = meant(r);
    r->at = accesses.items[0].index;
    for (int i = 1; i < accesses.n; i++) {
        Expr *const *index = accesses.items[i].index;
        int d = 0;
        if (leads_to(r, index, r->at))
            continue;
        while (expr_equal(index[d], r->at[d]))
            d++;
        return sched_refuse(
            r->s, E0910, r->span,
            "block '%s' accesses '%s' at '%s' and at '%s' along axis %d, but an iteration must "
            "access a single element; use cache_read or cache_write, which copy the whole buffer",
            r->stmt->u.block.name, r->from->name, expr_text(c, r->at[d]), expr_text(c, index[d]),
            d);
    }
    for (int d = 0; d < r->from->rank; d++) {
        const Var *inner = stage_other_var(c, &r->stmt->u.block, r->at[d]);
        REQUIRE(r->s, E0910, r->span, !inner,
                "block '%s' accesses '%s' at '%s', which depends on loop '%s' inside the block",
                r->stmt->u.block.name, r->from->name, expr_text(r->s->ctx, r->at[d]), inner->name);
    }
    return true;
}

bool reindex_is_part(const Reindex *r, Expr *const *index, Expr *const *at)
{
    for (int d = 0; d < r->from->rank; d++)
        if (d == r->part_axis ? index[d]->kind != EX_INT : !expr_equal(index[d], at[d]))
            return false;
    return true;
}

/* Adds an axis of the parts to the place, if there are several. */
void reindex_place_parts(Reindex *r)
{
    Context *c = r->s->ctx;
    if (r->part_axis < 0)
        return;
    Expr **at = ARENA_ARRAY(c->arena, Expr *, r->from->rank + 1);
    Expr **to = ARENA_ARRAY(c->arena, Expr *, r->n_to + 2);
    for (int d = 0; d < r->from->rank; d++)
        at[d] = r->at[d];
    for (int k = 0; k < r->n_to; k++)
        to[k] = r->to[k];
    r->part = var_new(c, ctx_name(c, "part"), DT_INDEX, VAR_ITER, r->span);
    at[r->part_axis] = to[r->n_to++] = expr_var(c, r->part, r->span);
    r->at = at;
    r->to = to;
}

/* ---- other readers --------------------------------------------------------------------------- */

/* Both blocks have iterators with the same domains. */
static bool pair_iters(const Reindex *r, const BlockStmt *other, Subst *iters)
{
    Context *c = r->s->ctx;
    const BlockStmt *block = &r->stmt->u.block;
    if (other->n_iters != block->n_iters)
        return false;
    for (int i = 0; i < block->n_iters; i++) {
        if (!expr_equal(expr_subst(c, block->iters[i].lo, iters, i), other->iters[i].lo) ||
            !expr_equal(expr_subst(c, block->iters[i].hi, iters, i), other->iters[i].hi))
            return false;
        iters[i] =
            (Subst){block->iters[i].var, expr_var(c, other->iters[i].var, other->body->span)};
    }
    return true;
}

/* The block reads the element, or a part of it, and may read others. */
static bool reads_same(Reindex *r, const Reader *reader)
{
    Context *c = r->s->ctx;
    int n = r->stmt->u.block.n_iters;
    Expr **at = exprs_subst(c, r->at, r->from->rank, reader->iters, n);
    AccessList reads = access_list(c, reader->stmt, r->from, ACCESS_ANY);
    bool same = false, writes = false;
    for (int i = 0; i < reads.n; i++) {
        writes |= reads.items[i].writes;
        same |= leads_to(r, reads.items[i].index, at);
    }
    return same && !writes;
}

bool reindex_find_readers(Reindex *r, const Value *given)
{
    Context *c = r->s->ctx;
    for (int i = 0; i < (given->kind == VALUE_NONE ? 0 : given->u.list.n); i++) {
        Stmt *stmt = sched_node(r->s, &given->u.list.items[i], NULL);
        Reader reader = {stmt, ARENA_ARRAY(c->arena, Subst, r->stmt->u.block.n_iters + 1)};
        if (stmt == r->stmt)
            continue;
        REQUIRE(r->s, E0910, given->u.list.items[i].span,
                pair_iters(r, &stmt->u.block, reader.iters) && reads_same(r, &reader),
                "block '%s' does not read the element of '%s' that block '%s' reads in the same "
                "iteration; give blocks with the same iterators and subscripts",
                stmt->u.block.name, r->from->name, r->stmt->u.block.name);
        VEC_PUSH(c->arena, &r->readers, reader);
    }
    return true;
}

/* Finds `inside`: the block's only access is the element of `inside ? element : 0`, and the
 * condition is made of iterators and reads no memory. */
void reindex_find_condition(Reindex *r)
{
    Context *c = r->s->ctx;
    AccessList accesses = access_list(c, r->stmt, r->from, ACCESS_ANY);
    for (Cursor at = cursor_stmt(c, r->stmt->u.block.body); cursor_next(&at);) {
        Expr *where = NULL;
        const Expr *load = at.expr ? expr_copied(at.expr, &where) : NULL;
        if (load && where && load->u.load.buffer->id == r->from->id && accesses.n == 1 &&
            !expr_has_load(where) && !stage_other_var(c, &r->stmt->u.block, where))
            r->inside = where;
    }
    if (r->inside)
        r->stmt = flow_write_out(r->s, r->stmt, &r->path);
}

/* ---- the iterators that matter --------------------------------------------------------------- */

/* Adds the part to the points. */
static void add_point(Reindex *r)
{
    Context *c = r->s->ctx;
    PointBox of = r->points;
    Var **var = ARENA_ARRAY(c->arena, Var *, of.n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, of.n + 1),
         **hi = ARENA_ARRAY(c->arena, Expr *, of.n + 1);
    for (int i = 0; i < of.n; i++) {
        var[i] = of.var[i];
        lo[i] = of.lo[i];
        hi[i] = of.hi[i];
    }
    var[of.n] = r->part;
    lo[of.n] = expr_index(c, 0);
    hi[of.n] = r->from->shape[r->part_axis];
    r->points = (PointBox){var, lo, hi, of.n + 1};
}

/* Those that the element, its condition or the place uses. */
void reindex_find_points(Reindex *r)
{
    Context *c = r->s->ctx;
    int n = 0;
    Expr **all = ARENA_ARRAY(c->arena, Expr *, r->from->rank + r->n_to + 2);
    for (int d = 0; d < r->from->rank; d++)
        all[n++] = r->at[d];
    for (int k = 0; k < r->n_to; k++)
        all[n++] = r->to[k];
    if (r->inside)
        all[n++] = r->inside;
    r->points = stage_points(r->s, &r->stmt->u.block, all, n);
    if (r->part)
        add_point(r);
}

/* The place of plain reindex: the iterators that the element uses, each from 0. */
void reindex_place_by_iterators(Reindex *r)
{
    Context *c = r->s->ctx;
    const BlockStmt *block = &r->stmt->u.block;
    r->to = ARENA_ARRAY(c->arena, Expr *, block->n_iters + 1);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!exprs_use_var(r->at, r->from->rank, iter->var))
            continue;
        /* its range begins elsewhere for other values of the iterators before */
        bool moves = false;
        for (int before = 0; before < i; before++)
            moves |= expr_uses_var(iter->lo, block->iters[before].var);
        Expr *value = expr_var(c, iter->var, span_none());
        r->to[r->n_to++] = moves ? value : index_sub(c, value, iter->lo);
    }
}

bool reindex_place_by_map(Reindex *r, const IndexMap *map)
{
    Context *c = r->s->ctx;
    const BlockStmt *block = &r->stmt->u.block;
    REQUIRE(r->s, E0901, r->map_span, map->n_from == block->n_iters,
            "block '%s' has %d iterator%s, but the index map takes %d", block->name, block->n_iters,
            block->n_iters == 1 ? "" : "s", map->n_from);
    Expr **iters = exprs_of_vars(c, block_points(c, block).var, block->n_iters);
    r->to = index_map_apply(c, map, iters);
    r->n_to = map->n_to;
    return true;
}
