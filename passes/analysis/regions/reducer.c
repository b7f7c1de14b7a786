/* reducer.c - Recognizes blocks that are reductions which can be computed from partial results. See
 * reducer.h. */
#include "passes/analysis/regions/reducer.h"

#include <math.h>

#include "passes/analysis/symbolic/interval.h"

/* ---- operators ------------------------------------------------------------------------------- */

/* The value of a type at one end. */
static Expr *extreme(Context *c, DType type, End end, Span span)
{
    const TypeInfo *info = type_info(type);
    bool largest = end == END_LARGEST;
    if (type_is_float(type))
        return expr_float(c, type, largest ? INFINITY : -INFINITY, span);
    if (info->class == CLASS_UINT) {
        uint64_t most = info->bits == 64 ? UINT64_MAX : ((uint64_t)1 << info->bits) - 1;
        return expr_int(c, type, largest ? (int64_t)most : 0, span);
    }
    int64_t most = (int64_t)(((uint64_t)1 << (info->bits - 1)) - 1);
    return expr_int(c, type, largest ? most : -most - 1, span);
}

static Expr *number(Context *c, DType type, int value, Span span)
{
    return type_is_float(type) ? expr_float(c, type, value, span) : expr_int(c, type, value, span);
}

/* Every bit set. */
static Expr *ones(Context *c, DType type, Span span)
{
    if (type == DT_BOOL)
        return expr_int(c, type, 1, span);
    return type_info(type)->class == CLASS_UINT ? extreme(c, type, END_LARGEST, span)
                                                : expr_int(c, type, -1, span);
}

/* Sums of 0 are 0 whatever starts them, but for -0; minima and maxima of infinities are those, but
 * for NaN, which all else replaces. */
static bool is_special(StoreOp op, const Expr *start)
{
    return start->kind != EX_FLOAT ||
           (op == STORE_ADD ? start->u.f == 0 && signbit(start->u.f) : isnan(start->u.f));
}

/* What partial results of a reduction that starts from `start` begin with; NULL for a plain
 * store. */
static Expr *identity_of(Context *c, StoreOp op, DType type, const Expr *start, Span span)
{
    bool special = type_is_float(type) && is_special(op, start);
    switch (op) {
    case STORE_SET:
    case STORE_ASYNC: return NULL;
    case STORE_ADD: return special ? expr_float(c, type, -0.0, span) : number(c, type, 0, span);
    case STORE_OR:
    case STORE_XOR: return number(c, type, 0, span);
    case STORE_MUL: return number(c, type, 1, span);
    case STORE_MIN:
        return special ? expr_float(c, type, NAN, span) : extreme(c, type, END_LARGEST, span);
    case STORE_MAX:
        return special ? expr_float(c, type, NAN, span) : extreme(c, type, END_LEAST, span);
    case STORE_AND: return ones(c, type, span);
    }
    return NULL;
}

Expr *reducer_combine(Context *c, const Reducer *r, Expr *a, Expr *b)
{
    ExprKind kind = store_op_kind(r->op, a->type);
    if (kind == EX_COUNT)
        TIRC_BUG(c, "a plain store combines nothing");
    return expr_binary(c, kind, a, b, a->span);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool same_element(const Stmt *a, const Stmt *b)
{
    if (a->u.store.buffer->id != b->u.store.buffer->id)
        return false;
    for (int d = 0; d < a->u.store.buffer->rank; d++)
        if (!expr_equal(a->u.store.index[d], b->u.store.index[d]))
            return false;
    return true;
}

static bool is_single(const BlockIter *iter)
{
    int64_t lo, hi;
    return expr_is_const(iter->lo, &lo) && expr_is_const(iter->hi, &hi) && hi - lo == 1;
}

/* How many subscripts are the iterator alone; -1 where one holds it inside an expression. */
static int subscripts_of(const Stmt *store, const Var *var)
{
    int n = 0;
    for (int d = 0; d < store->u.store.buffer->rank; d++) {
        const Expr *at = store->u.store.index[d];
        bool alone = at->kind == EX_VAR && at->u.var == var;
        if (!alone && expr_uses_var(at, var))
            return -1;
        n += alone;
    }
    return n;
}

/* Different values of the spatial iterators write different elements, and the others none:
 * otherwise the reason. */
static const char *element_apart(Context *c, const BlockStmt *block, const Stmt *store)
{
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        int n = subscripts_of(store, iter->var);
        if (iter->kind == ITER_REDUCE && n != 0)
            return arena_printf(c->arena, "reduction iterator '%s' is part of a subscript of '%s'",
                                iter->var->name, store->u.store.buffer->name);
        if (iter->kind == ITER_SPATIAL && n < 1 && !is_single(iter))
            return arena_printf(c->arena,
                                "iterator '%s' is not by itself a subscript of '%s', so several of "
                                "its values may update one element",
                                iter->var->name, store->u.store.buffer->name);
    }
    for (int d = 0; d < store->u.store.buffer->rank; d++)
        if (expr_has_load(store->u.store.index[d]))
            return arena_printf(c->arena, "a subscript of '%s' depends on data",
                                store->u.store.buffer->name);
    return NULL;
}

static const char *refusal(Context *c, const BlockStmt *block, Reducer *r)
{
    const Stmt *update = stmt_written_out(c, block->body), *init = stmt_single_store(block->init);
    if (block->atomic)
        return "its updates are atomic";
    if (!stmt_is_reduction(block) || !block->init)
        return "it has no init: a separate block initializes the sum, or none does";
    if (!update || !init || init->u.store.op != STORE_SET || !same_element(update, init))
        return "its body is not a single update of the element that its init sets";
    const Buffer *buffer = update->u.store.buffer;
    /* 8-bit floats have no infinity that is stored as one, and nobody adds in them */
    bool tiny = type_is_float(buffer->type) && type_info(buffer->type)->bits == 8;
    r->identity =
        identity_of(c, update->u.store.op, buffer->type, init->u.store.value, update->span);
    if (tiny || !r->identity)
        return arena_printf(c->arena, "'%s' on %s cannot be computed from partial results",
                            store_op_token(update->u.store.op), type_info(buffer->type)->name);
    if (expr_reads(update->u.store.value, buffer) || expr_reads(init->u.store.value, buffer))
        return arena_printf(c->arena, "the value it adds depends on '%s' itself", buffer->name);
    r->update = update;
    r->value = stmt_valued_store(block->body)->u.store.value;
    r->op = update->u.store.op;
    r->start = init->u.store.value;
    r->from_identity = expr_equal(r->start, r->identity);
    r->rounds = type_is_float(buffer->type) && (r->op == STORE_ADD || r->op == STORE_MUL);
    return element_apart(c, block, update);
}

bool reducer_of(Context *c, const BlockStmt *block, Reducer *out, const char **why)
{
    *why = refusal(c, block, out);
    return !*why;
}
