/* remap.c - Implements remap and reorder_block_iter_var: changes the order of a grid's blocks, or
 * of a block's iterators.
 *
 * Blocks of a grid run in no order that a program could rely on, so which of them computes which
 * tile is free. The hardware starts them row by row (blockIdx.x fastest); remap lets the ones that
 * run together share what they read:
 *
 *   grouped, 2:   0  2  4  6       diagonal:   0  1  2  3       reversed:   3  2  1  0
 *                 1  3  5  7                   7  4  5  6                   7  6  5  4
 *
 * (4 columns; numbers are the order of the start.) The reversed order starts with the last columns,
 * such as those of a triangle that have most to do: what starts last should not take longest.
 *
 * The loops stay as they are and the inner one is annotated; lowering computes their values from
 * blockIdx. So nothing that is known about the loops is lost to divisions.
 *
 * Legal: the two loops are the blocks of a grid, one directly in the other; the new order has each
 * iterator once.
 * Invariant: every instance runs exactly once; blocks of a grid have no order. */
#include <string.h>

#include "passes/schedule/sched.h"

/* ---- remap ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    AnnotationKey key;
} orders[] = {{"diagonal", ANNOTATION_REMAP_DIAGONAL},
              {"reversed", ANNOTATION_REMAP_REVERSED},
              {"grouped", ANNOTATION_REMAP_GROUPED}};
enum { ORDERS = sizeof orders / sizeof *orders };

/* The number of the order of that name, or ORDERS. */
static int order_named(const char *word)
{
    int i = 0;
    while (i < ORDERS && strcmp(orders[i].name, word) != 0)
        i++;
    return i;
}

static const char *similar_order(const char *word)
{
    const char *names[ORDERS];
    for (int i = 0; i < ORDERS; i++)
        names[i] = orders[i].name;
    return diag_suggest(word, names, ORDERS);
}

static bool read_order(Schedule *s, const PrimCall *call, Annotation *order)
{
    const char *word = call->remap.order.u.s;
    const Value *size = &call->remap.size;
    int named = order_named(word);
    const char *near = similar_order(word);
    REQUIRE_WORD(s, E0495, call->span, named < ORDERS,
                 "unknown order '%s'%s%s%s (orders: diagonal, reversed, grouped)", word,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    bool grouped = orders[named].key == ANNOTATION_REMAP_GROUPED;
    REQUIRE_WORD(s, E0495, call->span, grouped || size->kind == VALUE_NONE,
                 "the %s order has no size; omit %lld", word, (long long)size->u.i);
    REQUIRE_WORD(
        s, E0495, call->span, !grouped || size->kind == VALUE_INT,
        "the grouped order needs the number of rows in a group, as in  remap(by, bx, grouped, 8)");
    REQUIRE(s, E0495, call->span, !grouped || (size->u.i >= 1 && size->u.i <= 65535),
            "a group has 1 to 65535 rows, the limit of a grid; found %lld", (long long)size->u.i);
    order->key = ctx_name(s->ctx, annotation_info(orders[named].key)->name);
    order->kind = ANNOTATION_INT;
    order->i = grouped ? size->u.i : 1;
    return true;
}

static bool require_axis(Schedule *s, const PrimCall *call, const Stmt *loop, Axis axis)
{
    const ForStmt *f = &loop->u.loop;
    REQUIRE_AT(s, E0494, call->span, f->kind == LOOP_BIND && f->axis == axis, loop,
               "loop '%s' is not bound to %s; remap needs the axes of a grid: the outer loop on "
               "blockIdx.y (rows), the inner one on blockIdx.x (columns)",
               f->var->name, axis_name(axis));
    return true;
}

/* A grid has one order: no other loop of the launch may ask for one. */
static bool require_one_order(Schedule *s, const PrimCall *call, const StmtPath *path)
{
    const Stmt *inner = path_end(path);
    int top = 0;
    while (!stmt_is_bound(path->items[top]))
        top++;
    for (Cursor at = cursor_outer(s->ctx, path->items[top]); cursor_next(&at);) {
        bool other = at.stmt != inner && at.stmt->kind == ST_FOR;
        REQUIRE_AT(s, E0494, call->span, !other || !annotations_remap(at.stmt->u.loop.annotations),
                   at.stmt, "the blocks of this launch are already remapped, at loop '%s'",
                   stmt_label(at.stmt));
    }
    return true;
}

bool prim_remap(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath to_outer = {0}, path = {0};
    Annotation order = {0};
    const Stmt *outer = sched_node(s, &call->remap.outer, &to_outer);
    const Stmt *inner = sched_node(s, &call->remap.inner, &path);
    if (!read_order(s, call, &order) || !require_axis(s, call, outer, AXIS_BLOCK_Y) ||
        !require_axis(s, call, inner, AXIS_BLOCK_X))
        return false;
    REQUIRE(s, E0494, call->span, to_outer.n < path.n && path.items[to_outer.n - 1] == outer,
            "loop '%s' is not inside loop '%s', so they are not rows and columns of a grid",
            stmt_label(inner), stmt_label(outer));
    if (!require_one_order(s, call, &path))
        return false;
    ForStmt loop = inner->u.loop;
    for (int i = 0; i < ORDERS; i++)
        loop.annotations = annotations_without(
            s->ctx, loop.annotations, ctx_name(s->ctx, annotation_info(orders[i].key)->name));
    loop.annotations = annotations_with(s->ctx, loop.annotations, order);
    sched_replace(s, inner, stmt_for(s->ctx, &loop, inner->span));
    (void)result;
    return true;
}

/* ---- reorder_block_iter_var ------------------------------------------------------------------ */

/* order[i] is which of the old iterators comes at place i. */
static bool require_permutation(Schedule *s, const PrimCall *call, const BlockStmt *block)
{
    const Value *order = call->reorder_block_iter_var.order.u.list.items;
    int n = call->reorder_block_iter_var.order.u.list.n;
    bool *seen = ARENA_ARRAY(s->ctx->arena, bool, block->n_iters + 1);
    REQUIRE(s, E0492, call->span, n == block->n_iters,
            "block '%s' has %d iterators, but the order lists %d; list each once, counting from 0",
            block->name, block->n_iters, n);
    for (int i = 0; i < n; i++) {
        REQUIRE(s, E0492, call->span, order[i].u.i >= 0 && order[i].u.i < n,
                "block '%s' has iterators 0 to %d; %lld is out of range", block->name, n - 1,
                (long long)order[i].u.i);
        REQUIRE(s, E0492, call->span, !seen[order[i].u.i],
                "duplicate iterator %lld of block '%s'; list each once", (long long)order[i].u.i,
                block->name);
        seen[order[i].u.i] = true;
    }
    return true;
}

bool prim_reorder_block_iter_var(Schedule *s, const PrimCall *call, Value *result)
{
    Stmt *stmt = sched_node(s, &call->reorder_block_iter_var.block, NULL);
    BlockStmt block = stmt->u.block;
    const Value *order = call->reorder_block_iter_var.order.u.list.items;
    if (!require_permutation(s, call, &block))
        return false;
    BlockIter *iters = ARENA_ARRAY(s->ctx->arena, BlockIter, block.n_iters);
    bool same = true;
    for (int i = 0; i < block.n_iters; i++) {
        iters[i] = block.iters[order[i].u.i];
        same &= order[i].u.i == i;
    }
    for (int i = 0; i < block.n_iters; i++)
        for (int later = i; later < block.n_iters; later++)
            REQUIRE(s, E0493, call->span,
                    !expr_uses_var(iters[i].lo, iters[later].var) &&
                        !expr_uses_var(iters[i].hi, iters[later].var),
                    "the domain of iterator '%s' of block '%s' depends on '%s', which must come "
                    "before it",
                    iters[i].var->name, block.name, iters[later].var->name);
    (void)result;
    if (same)
        return true;
    block.iters = iters;
    sched_replace(s, stmt, stmt_block(s->ctx, &block, stmt->span));
    return true;
}
