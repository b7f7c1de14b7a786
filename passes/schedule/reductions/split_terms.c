/* split_terms.c - Implements split_terms: adds the terms of what a sum adds one after the other.
 *
 *   c[i] += a[i, k] * x[k] - b[i, k] * y[k];     =>     c[i] += a[i, k] * x[k];
 *                                                       c[i] += -(b[i, k] * y[k]);
 *
 * Each update by a product is one instruction, a fused multiply-add. The difference of two products
 * and the update would be three.
 *
 * Legal: the block is one update by + of floats, that is no atomic one, by a sum or a difference
 * which does not read what it updates.
 * Invariant: each element gets the same terms. Results change by rounding; partial results may
 * leave the range of their type where a difference would not. */
#include "passes/schedule/flow.h"

typedef enum { ADDED, SUBTRACTED } Sign;

static Sign opposite(Sign sign)
{
    return sign == ADDED ? SUBTRACTED : ADDED;
}

/* Adds the terms of a value, which is added or subtracted, to `out`. */
static void find_terms(Context *c, Expr *e, Sign sign, ExprList *out)
{
    switch (e->kind) {
    case EX_ADD:
    case EX_SUB:
        find_terms(c, e->u.arg[0], sign, out);
        find_terms(c, e->u.arg[1], e->kind == EX_SUB ? opposite(sign) : sign, out);
        break;
    case EX_NEG: find_terms(c, e->u.arg[0], opposite(sign), out); break;
    default: VEC_PUSH(c->arena, out, sign == ADDED ? e : expr_unary(c, EX_NEG, e, e->span));
    }
}

static bool check_update(Schedule *s, Span span, const Stmt *block, const StmtList *stores)
{
    const BlockStmt *b = &block->u.block;
    const StoreStmt *store = stores->n == 1 ? &stores->items[0]->u.store : NULL;
    REQUIRE(s, E0876, span, store && store->op == STORE_ADD && type_is_float(store->buffer->type),
            "block '%s' is not one update of floats by +", b->name);
    REQUIRE(s, E0876, span, !b->instruction && !store->atomic && !b->atomic,
            "block '%s' is %s, which adds a value at once", b->name,
            b->instruction ? "an instruction" : "atomic");
    REQUIRE(s, E0876, span, !expr_reads(store->value, store->buffer),
            "block '%s' reads '%s', which the first of several updates would change", b->name,
            store->buffer->name);
    return true;
}

/* The updates by each term of an update by several. */
static Stmt *updates_by(Context *c, const Stmt *store, const ExprList *terms)
{
    Stmt **updates = ARENA_ARRAY(c->arena, Stmt *, terms->n);
    for (int i = 0; i < terms->n; i++)
        updates[i] =
            stmt_store_like(c, store, store->u.store.buffer, store->u.store.index, terms->items[i]);
    return stmt_seq(c, updates, terms->n, store->span);
}

bool prim_split_terms(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Stmt *block = sched_node(s, &call->split_terms.block, NULL);
    StmtList stores = stmts_of_kind(c, block->u.block.body, ST_STORE);
    ExprList terms = {0};
    (void)result;
    if (!check_update(s, call->span, block, &stores))
        return false;
    find_terms(c, stores.items[0]->u.store.value, ADDED, &terms);
    REQUIRE(s, E0876, call->span, terms.n > 1, "block '%s' adds %s, which is no sum",
            block->u.block.name, expr_text(c, stores.items[0]->u.store.value));
    BlockStmt now = block->u.block;
    now.body = stmt_replace(c, now.body, stores.items[0], updates_by(c, stores.items[0], &terms));
    sched_replace(s, block, stmt_stamp(stmt_block(c, &now, block->span), block));
    s->reassociates = true;
    return true;
}
