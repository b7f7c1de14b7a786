/* filled.c - Finds what buffers hold before a nest runs: whether all of their elements are set, and
 * which are a given literal (filled.h). */
#include "passes/schedule/copies/filled.h"

#include "passes/analysis/symbolic/simplify.h"

bool filled_stands_before(NestPlace a, NestPlace b)
{
    const Stmt *seq = b.top > 0 ? b.path->items[b.top - 1] : NULL;
    if (!seq || a.top == 0 || a.path->n <= a.top || seq->kind != ST_SEQ ||
        a.path->items[a.top - 1] != seq)
        return false;
    return stmt_place(seq, a.path->items[a.top]) < stmt_place(seq, b.path->items[b.top]);
}

/* The block's domains have each element of the buffer, to which it gives a value: one of its own,
 * or with its init the first one of a reduction. */
static bool sets_all(Context *c, const BlockStmt *block, const StoreStmt *store)
{
    int *axes = ARENA_ARRAY(c->arena, int, store->buffer->rank + 1);
    bool all = (store->op == STORE_SET || block->init) &&
               flow_pure_index(block, store->buffer, store->index, axes);
    for (int axis = 0; axis < store->buffer->rank && all; axis++) {
        const BlockIter *iter = &block->iters[axes[axis]];
        Expr *extent = store->buffer->shape[axis];
        /* the axis has no element where the range is empty */
        all =
            expr_is(iter->lo, 0) && (expr_equal(extent, iter->hi) ||
                                     expr_equal(extent, index_max(c, iter->hi, expr_index(c, 0))));
    }
    return all;
}

/* The store of a block that sets all of the buffer, in one run; NULL: it does not. */
static const StoreStmt *setting_store(Schedule *s, const Stmt *block)
{
    Conflict why = {0};
    const Stmt *store = flow_single_store(s->ctx, block);
    return store && sets_all(s->ctx, &block->u.block, &store->u.store) &&
                   flow_runs_whole(s, block, &why)
               ? &store->u.store
               : NULL;
}

/* The only block that writes the buffer, if that sets all of it; NULL. */
static Stmt *only_setter(Schedule *s, const Buffer *buffer, const StoreStmt **store)
{
    BlockList writers = flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE);
    *store = writers.n == 1 ? setting_store(s, writers.items[0]) : NULL;
    return *store ? writers.items[0] : NULL;
}

bool filled_before(Schedule *s, NestPlace nest, const Buffer *buffer)
{
    BlockList writers = flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE);
    bool filled = false, before = true;
    for (int i = 0; i < writers.n && before; i++) {
        StmtPath path = {0};
        before = stmt_find(s->ctx, s->kernel->body, writers.items[i]->u.block.id, &path) &&
                 filled_stands_before((NestPlace){&path, nest.top}, nest);
        filled = filled || (before && setting_store(s, writers.items[i]));
    }
    return buffer->role == ROLE_IN || (filled && before);
}

bool filled_with(Schedule *s, const Buffer *buffer, AxisPart part, const Expr *fill)
{
    const StoreStmt *store;
    const Stmt *block = only_setter(s, buffer, &store);
    if (!block || store->op != STORE_SET)
        return false;
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    for (int i = 0; i < block->u.block.n_iters; i++) {
        const BlockIter *iter = &block->u.block.iters[i];
        bool beyond = store->index[part.axis]->u.var == iter->var;
        facts_range(facts, iter->var, beyond ? part.lo : iter->lo, beyond ? part.hi : iter->hi);
    }
    return expr_equal(simplify(facts, store->value), fill);
}
