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

/* The only block that writes the buffer, if that sets all of it; NULL. */
static Stmt *only_setter(Schedule *s, const Buffer *buffer, const StoreStmt **store)
{
    Conflict why = {0};
    BlockList writers = flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE);
    const Stmt *found = writers.n == 1 ? flow_single_store(s->ctx, writers.items[0]) : NULL;
    if (!found || !sets_all(s->ctx, &writers.items[0]->u.block, &found->u.store) ||
        !flow_runs_whole(s, writers.items[0], &why))
        return NULL;
    *store = &found->u.store;
    return writers.items[0];
}

bool filled_before(Schedule *s, NestPlace nest, const Buffer *buffer)
{
    const StoreStmt *store;
    StmtPath path = {0};
    const Stmt *block = buffer->role == ROLE_IN ? NULL : only_setter(s, buffer, &store);
    return buffer->role == ROLE_IN ||
           (block && stmt_find(s->ctx, s->kernel->body, block->u.block.id, &path) &&
            filled_stands_before((NestPlace){&path, nest.top}, nest));
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
