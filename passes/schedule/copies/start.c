/* start.c - Decides what a block begins with whose results are copied out (stage.h): values of its
 * own, or, if the copy is of partial results, the identity of the operator, and the copy combines
 * them with what the block would have begun with:
 *
 *   for i in 8, k in 32                         for i in 8, k in 32
 *       y[i] += A[i, k];                            y: {
 *                                       =>              init t[i] = 0;
 *                                                       t[i] += A[i, k]; }
 *                                               for ax0 in 8
 *                                                   y[ax0] += t[ax0]; */
#include "passes/analysis/dependence/partial.h"
#include "passes/analysis/regions/region.h"
#include "passes/schedule/copies/stage.h"

/* The block has an init that sets the one element of the buffer that it accesses. */
static bool has_own_init(Context *c, Stmt *block, const Buffer *buffer)
{
    const Stmt *init = stmt_single_store(block->u.block.init);
    if (!init || init->u.store.buffer->id != buffer->id || expr_reads(init->u.store.value, buffer))
        return false;
    AccessList all = access_list(c, block, buffer, ACCESS_ANY);
    for (int i = 0; i < all.n; i++)
        if (!exprs_equal(all.items[i].index, init->u.store.index, buffer->rank))
            return false;
    return true;
}

/* Each element that the block reads has a value that it set itself. */
static bool starts_anew(Schedule *s, Stmt *block, const Buffer *buffer)
{
    const Stmt *store = flow_single_store(s->ctx, block);
    if (store && store->u.store.buffer->id == buffer->id)
        return flow_starts_anew(s->ctx, block, store, buffer);
    return !stmt_accesses(s->ctx, block, buffer, ACCESS_READ) ||
           has_own_init(s->ctx, block, buffer);
}

/* The same of the only writer of the buffer: also where it goes on with what it wrote itself. */
static bool starts_itself(Schedule *s, const StmtPath *path, const Buffer *buffer)
{
    Stmt *block = path_end(path);
    const Stmt *store = flow_single_store(s->ctx, block);
    bool carries_on = store && store->u.store.buffer->id == buffer->id &&
                      store_updates(store->u.store.op) &&
                      block_has_one_element(s->ctx, &block->u.block);
    return starts_anew(s, block, buffer) ||
           (carries_on && flow_written_before_read(s, path, buffer));
}

/* Another block that may write the element (NULL: any) of the buffer; or NULL. */
static const Stmt *other_writer(Schedule *s, const Stmt *block, const Buffer *buffer,
                                const StoreStmt *element)
{
    BlockList writers = flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE);
    for (int i = 0; i < writers.n; i++) {
        const Stmt *other = writers.items[i];
        if (other != block &&
            (!element ||
             stmt_may_access(s->ctx, other, (BufferElement){element->buffer, element->index},
                             ACCESS_WRITE)))
            return other;
    }
    return NULL;
}

bool stage_starts_alone(Schedule *s, const StmtPath *path, const Buffer *buffer,
                        const StoreStmt *element, Span span)
{
    const Stmt *block = path_end(path), *other = other_writer(s, block, buffer, element);
    REQUIRE(s, E0444, span, !other,
            "'%s' is also written by block '%s', whose result the copy would overwrite",
            buffer->name, stmt_label(other));
    REQUIRE(s, E0444, span, starts_itself(s, path, buffer),
            "block '%s' reads earlier contents of '%s', which the copy would lack; initialize the "
            "reduction (%s[...] = 0) in the same loops",
            block->u.block.name, buffer->name, buffer->name);
    return true;
}

/* ---- partial results ------------------------------------------------------------------------- */

/* Of a sum it is 0, with which every block that starts from 0 begins, though -0 + 0 is 0. */
static Expr *identity(Context *c, const Stmt *update)
{
    DType type = update->u.store.buffer->type;
    if (update->u.store.op == STORE_ADD && type_is_float(type))
        return expr_float(c, type, 0, update->span);
    return reducer_neutral(c, update->u.store.op, type, update->span);
}

/* Fills in *out for the block of a reduction, which then begins with the identity. False if it is
 * not a single update of the buffer. */
static bool from_identity(Context *c, const Stmt *stmt, const Buffer *buffer, Start *out)
{
    BlockStmt block = stmt->u.block;
    const Stmt *update = stmt_is_reduction(&block) ? stmt_guarded_update(block.body) : NULL;
    if (!update || update->kind != ST_STORE || update->u.store.buffer->id != buffer->id)
        return false;
    StoreStmt start = update->u.store;
    start.op = STORE_SET;
    start.value = identity(c, update);
    *out = (Start){.init = block.init, .op = update->u.store.op, .within = true};
    block.init = stmt_store(c, &start, update->span);
    out->block = stmt_block(c, &block, stmt->span);
    return true;
}

bool stage_start(Schedule *s, const StmtPath *path, const WriteOf *of, Start *out)
{
    Stmt *block = path_end(path);
    *out = (Start){.block = block, .op = STORE_SET};
    if (of->partial) {
        REQUIRE(s, E0444, of->span, from_identity(s->ctx, block, of->buffer, out),
                "block '%s' is not a reduction with a single update of '%s', so it has no partial "
                "results",
                block->u.block.name, of->buffer->name);
        return true;
    }
    bool shared = flow_other_block(s, s->kernel->body, block, of->buffer, ACCESS_WRITE);
    out->within = shared && !of->alone && starts_anew(s, block, of->buffer);
    return out->within || stage_starts_alone(s, path, of->buffer, NULL, of->span);
}

/* Has the block at the end of the path partial results in one run of its item `first`? The path
 * begins with the body of a program that the step makes. */
static bool has_parts(Schedule *s, const StmtPath *path, int first, Reducer *r, const char **why)
{
    Kernel model = *s->kernel;
    model.body = path->items[0];
    return partial_results_of(s->ctx, (RunOf){&model, path, first}, r, why);
}

bool stage_has_parts(Schedule *s, const Start *start, const StmtPath *path, int first)
{
    Reducer r;
    const char *why;
    return start->op == STORE_SET || has_parts(s, path, first, &r, &why) || !r.own;
}

bool stage_start_within(Schedule *s, const Start *start, const StmtPath *path, int first, Span span)
{
    const BlockStmt *block = &start->block->u.block;
    for (int i = 0; start->within && i < first; i++)
        REQUIRE(s, E0444, span,
                path->items[i]->kind != ST_FOR ||
                    !block_uses_loop(block, ITER_REDUCE, path->items[i]->u.loop.var),
                "the copy would stand in loop '%s', which carries the reduction of block '%s', so "
                "that each of its iterations would begin anew",
                stmt_label(path->items[i]), block->name);
    Reducer r = {0};
    const char *why;
    bool known = start->op == STORE_SET || has_parts(s, path, first, &r, &why);
    REQUIRE(s, E0444, span, known, "block '%s' has no partial results: %s", block->name, why);
    s->reassociates = r.rounds;
    return true;
}

Stmt *stage_redirected(Context *c, const Start *start, const Buffer *from, Buffer *to)
{
    if (start->op == STORE_SET)
        return stmt_replace_buffer(c, start->block, from, to);
    BlockStmt block = start->block->u.block;
    const Stmt *update = stmt_guarded_update(block.body);
    StoreStmt store = update->u.store;
    store.buffer = to;
    block.init = stmt_replace_buffer(c, block.init, from, to);
    block.body = stmt_replace(c, block.body, update, stmt_store(c, &store, update->span));
    return stmt_stamp(stmt_block(c, &block, start->block->span), start->block);
}
