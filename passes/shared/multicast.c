/* multicast.c - Decides whether the blocks of a cluster can share a bulk copy, and divides it among
 * them.
 *
 *   for rank in 2 bind cluster.rank                 for rank in 2 bind cluster.rank
 *       block t(k in 8 = ko) {                          block t(k in 8 = ko, part in 2 = rank) {
 *           for i in 64, j in 64              =>            for i in 32, j in 64
 *               t[i, j] = B[k * 64 + i, j];                     t[part * 32 + i, j] =
 *       }                                                           B[k * 64 + part * 32 + i, j];
 *                                                       }
 *
 * On the left each block fills its own t, and all with the same elements. On the right it copies a
 * part, which the hardware writes to the t of every block. */
#include "passes/shared/multicast.h"

#include "passes/shared/rebuild.h"

bool block_is_multicast(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_MULTICAST) != NULL;
}

const ForStmt *multicast_ranks(const StmtPath *path)
{
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i];
        if (stmt_is_bound(s) && s->u.loop.axis == AXIS_RANK)
            return &s->u.loop;
    }
    return NULL;
}

/* What runs, how often, or with which elements differs between the iterations of a loop over
 * `rank`. */
static bool depends_on(const Stmt *s, const Var *rank)
{
    if (s->kind == ST_FOR)
        return loop_uses_var(&s->u.loop, rank);
    if (s->kind == ST_IF)
        return expr_uses_var(s->u.cond.cond, rank);
    if (s->kind != ST_BLOCK)
        return false;
    const BlockStmt *block = &s->u.block;
    bool depends = block->predicate && expr_uses_var(block->predicate, rank);
    for (int i = 0; i < block->n_iters; i++)
        depends |= expr_uses_var(block->iters[i].binding, rank);
    return depends;
}

/* The outermost loop of several iterations in the nest of the copy; NULL: it copies one element. */
static const ForStmt *loop_to_divide(const Stmt *copy)
{
    const Stmt *s = copy->u.block.body;
    for (int64_t extent; s->kind == ST_FOR; s = s->u.loop.body)
        if (!loop_const_extent(&s->u.loop, &extent) || extent > 1)
            return &s->u.loop;
    return NULL;
}

static const char *ranks_obstacle(Context *c, const ForStmt *ranks, int64_t *blocks)
{
    if (!ranks)
        return "no loop around it is bound to cluster.rank";
    if (loop_const_extent(ranks, blocks) && loop_counts_from_zero(ranks))
        return NULL;
    return arena_printf(c->arena, "loop '%s' does not count the ranks from 0", ranks->var->name);
}

const char *multicast_obstacle(Context *c, const StmtPath *path)
{
    const ForStmt *ranks = multicast_ranks(path);
    int64_t blocks = 1, extent;
    const char *obstacle = ranks_obstacle(c, ranks, &blocks);
    if (obstacle)
        return obstacle;
    for (int i = 0; i < path->n; i++)
        if (depends_on(path->items[i], ranks->var))
            return arena_printf(c->arena,
                                "what the blocks of loop '%s' copy, or when, depends on their rank",
                                ranks->var->name);
    const ForStmt *rows = loop_to_divide(path_end(path));
    if (rows && loop_const_extent(rows, &extent) && extent % blocks == 0)
        return NULL;
    return arena_printf(c->arena,
                        "its outermost loop has no multiple of %lld iterations, as many as the "
                        "cluster has blocks",
                        (long long)blocks);
}

/* ---- the part of a block --------------------------------------------------------------------- */

typedef struct {
    Context *c;
    const ForStmt *rows;
    Var *part;
    int64_t extent; /* of the rows of a part */
} Division;

static Stmt *divide_rows(const Division *d, Stmt *s)
{
    if (&s->u.loop != d->rows)
        return loop_with_body(d->c, s, divide_rows(d, s->u.loop.body));
    Context *c = d->c;
    Expr *row = expr_var(c, s->u.loop.var, s->span), *part = expr_var(c, d->part, s->span);
    Expr *whole = index_add(c, index_mul(c, part, expr_index(c, d->extent)), row);
    ForStmt rows = s->u.loop;
    rows.hi = expr_index(c, d->extent);
    rows.body = stmt_subst(c, rows.body, &(Subst){rows.var, whole}, 1);
    return stmt_stamp(stmt_for(c, &rows, s->span), s);
}

Stmt *multicast_part(Context *c, Stmt *copy, const ForStmt *ranks)
{
    int64_t blocks = 1, extent = 1;
    BlockStmt block = copy->u.block;
    Division d = {.c = c,
                  .rows = loop_to_divide(copy),
                  .part = var_new(c, ctx_name(c, "part"), DT_INDEX, VAR_ITER, copy->span)};
    loop_const_extent(ranks, &blocks);
    loop_const_extent(d.rows, &extent);
    d.extent = extent / blocks;
    BlockIter *iters = block_own_iters(c, &block, 1);
    iters[block.n_iters++] = (BlockIter){.var = d.part,
                                         .lo = expr_index(c, 0),
                                         .hi = expr_index(c, blocks),
                                         .binding = expr_var(c, ranks->var, copy->span)};
    block.body = divide_rows(&d, block.body);
    return stmt_stamp(stmt_block(c, &block, copy->span), copy);
}

Stmt *multicast_alone(Context *c, Stmt *copy)
{
    BlockStmt block = copy->u.block;
    Name key = ctx_name(c, annotation_info(ANNOTATION_MULTICAST)->name);
    block.annotations = annotations_without(c, block.annotations, key);
    return stmt_stamp(stmt_block(c, &block, copy->span), copy);
}
