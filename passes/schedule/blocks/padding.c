/* padding.c - Implements decompose_padding and can_decompose_padding: replaces a conditional copy
 * by a fill and a copy.
 *
 *   for i in 66                                        for i in 66
 *       p[i] = i >= 1 && i < 65 ? x[i - 1] : 0;  =>        block p_pad(..) { p[i] = 0; }
 *                                                      for i in 66
 *                                                          block p(..) where i >= 1 && i < 65 {
 *                                                              p[i] = x[i - 1]; }
 *
 * Legal: the block stores a selection between a value and a constant, and its condition speaks of
 * its iterators alone; other blocks in the loop read only what its iteration has written.
 * Invariant: every element gets the same value; the fill comes before the copy. */
#include "passes/schedule/copies/stage.h"
#include "passes/shared/reductions.h"

/* ---- decompose_padding ----------------------------------------------------------------------- */

/* The block's store, taken apart:  buffer[..] = cond ? value : fill. */
typedef struct {
    const Stmt *store;
    Expr *cond, *value, *fill;
} Padding;

static bool is_literal(const Expr *e)
{
    return e->kind == EX_INT || e->kind == EX_FLOAT ||
           (e->kind == EX_CAST && is_literal(e->u.arg[0]));
}

static bool find_padding(Schedule *s, const Stmt *block, Span span, Padding *p)
{
    Context *c = s->ctx;
    p->store = flow_single_store(c, block);
    const Expr *e = p->store ? p->store->u.store.value : NULL;
    bool chosen = e && p->store->u.store.op == STORE_SET && !block->u.block.init &&
                  e->kind == EX_SELECT && !expr_has_load(e->u.arg[0]) &&
                  is_literal(e->u.arg[1]) != is_literal(e->u.arg[2]);
    REQUIRE(s, E0830, span, chosen,
            "block '%s' is not one store that selects a value or a literal by a condition on its "
            "iterators: p[i] = i < N ? x[i] : 0",
            block->u.block.name);
    bool fills_else = is_literal(e->u.arg[2]);
    p->cond = fills_else ? e->u.arg[0] : expr_unary(c, EX_NOT, e->u.arg[0], e->span);
    p->value = e->u.arg[fills_else ? 1 : 2];
    p->fill = e->u.arg[fills_else ? 2 : 1];
    return true;
}

/* The other block in the loop only reads what the same iteration has written before: the copy has
 * been there already, or the element is padding. */
static bool sees_no_padding(Schedule *s, const StmtPath *path, int anchor, const Stmt *other,
                            const Padding *p)
{
    const Buffer *buffer = p->store->u.store.buffer;
    StmtPath loop = *path;
    loop.n = anchor + 1;
    return !stmt_accesses(s->ctx, other, buffer, ACCESS_WRITE) &&
           flow_written_in_iteration(s, s->kernel->body, &loop, buffer);
}

/* The fill and the copy together do what the block does only if each element is written once, and
 * nothing in the loop sees it in between. */
static bool check_padding(Schedule *s, const PrimCall *call, const StmtPath *path, int anchor,
                          const Padding *p)
{
    const Stmt *block = path_end(path);
    Buffer *buffer = p->store->u.store.buffer;
    int *axes = ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1);
    REQUIRE(s, E0830, call->span, anchor >= 0, "the loop does not enclose the block '%s'",
            block->u.block.name);
    REQUIRE(s, E0830, call->span,
            flow_pure_index(&block->u.block, buffer, p->store->u.store.index, axes) &&
                block->u.block.n_iters == buffer->rank && !stmt_is_reduction(&block->u.block) &&
                !block->u.block.predicate,
            "block '%s' does not write '%s' unconditionally, with all its iterators as subscripts",
            block->u.block.name, buffer->name);
    BlockList others = flow_blocks(s, path->items[anchor], buffer, ACCESS_ANY);
    for (int i = 0; i < others.n; i++)
        REQUIRE(s, E0830, call->span,
                others.items[i] == block || sees_no_padding(s, path, anchor, others.items[i], p),
                "block '%s' in loop '%s' also accesses '%s', and would see the padding too early; "
                "choose an inner loop",
                others.items[i]->u.block.name, stmt_label(path->items[anchor]), buffer->name);
    REQUIRE(s, E0830, call->span,
            !stmt_accesses(s->ctx, path_end(path)->u.block.body, buffer, ACCESS_READ),
            "block '%s' reads '%s'", block->u.block.name, buffer->name);
    return true;
}

bool prim_can_decompose_padding(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Padding p;
    DiagMark mark = diag_mark(s->ctx);
    Stmt *block = sched_node(s, &call->can_decompose_padding.block, &path);
    bool can =
        find_padding(s, block, call->span, &p) &&
        check_padding(s, call, &path, path_loop(&path, call->can_decompose_padding.loop.u.id), &p);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}

static Stmt *store_value(Context *c, const Stmt *like, Expr *value)
{
    return stmt_set(c, (BufferElement){like->u.store.buffer, like->u.store.index}, value,
                    like->span);
}

/* The block as a fill, its init, and a copy. The path becomes the one that leads to it, as it would
 * be: ifs know the branch by the statement. */
static void put_apart(Context *c, const Padding *p, StmtPath *path)
{
    const Stmt *block = path_end(path);
    BlockStmt apart = block->u.block;
    apart.init = store_value(c, p->store, p->fill);
    apart.body = store_value(c, p->store, p->value);
    Stmt *now = stmt_block(c, &apart, block->span);
    for (int i = path->n - 1; i >= 0; i--) {
        Stmt *old = path->items[i];
        path->items[i] = now;
        now = i > 0 ? stmt_replace(c, path->items[i - 1], old, now) : NULL;
    }
}

/* The nest of the fill as a block of another name. */
static Stmt *named_fill(Schedule *s, Stmt *nest, Name copy, Span span)
{
    Stmt *old = stmt_nest_block(nest);
    BlockStmt fill = old->u.block;
    fill.name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_pad", copy));
    return stmt_replace(s->ctx, nest, old, stmt_block(s->ctx, &fill, span));
}

bool prim_decompose_padding(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Padding p;
    Stmt *block = sched_node(s, &call->decompose_padding.block, &path), *nest, *copy;
    int anchor = path_loop(&path, call->decompose_padding.loop.u.id);
    if (!find_padding(s, block, call->decompose_padding.block.span, &p) ||
        !check_padding(s, call, &path, anchor, &p))
        return false;
    Stmt *loop = path.items[anchor];
    put_apart(c, &p, &path);
    ReductionPlace place = {.kernel = s->kernel, .path = &path, .anchor = anchor};
    if (!reduction_take_init(c, &place, &nest, &copy))
        return false;
    BlockStmt inside = copy->u.block;
    nest = named_fill(s, nest, inside.name, block->span);
    Expr *cond = simplify(sched_facts(s, &path), iters_to_loops(c, &inside, p.cond));
    inside.predicate = cond->kind == EX_INT && cond->u.i ? NULL : cond;
    Stmt *pair[2] = {nest, stmt_replace(c, loop, block, stmt_block(c, &inside, block->span))};
    sched_replace(s, loop, stmt_seq(c, pair, 2, loop->span));
    *result = value_block(stmt_nest_block(nest));
    return true;
}
