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

/* 0 plus a value is the value, except for -0. The minimum or maximum of an infinity and a value
 * is the value, except for NaN, which any other value replaces. */
static bool is_special(StoreOp op, const Expr *start)
{
    return !start || start->kind != EX_FLOAT ||
           (op == STORE_ADD ? start->u.f == 0 && signbit(start->u.f) : isnan(start->u.f));
}

/* What partial results of a reduction that starts from `start` (NULL: not known) begin with; NULL
 * for a plain store. */
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

Expr *reducer_neutral_from(Context *c, StoreOp op, DType type, const Expr *start, Span span)
{
    return identity_of(c, op, type, start, span);
}

Expr *reducer_neutral(Context *c, StoreOp op, DType type, Span span)
{
    return identity_of(c, op, type, NULL, span);
}

bool reducer_is_ordered(const Reducer *r)
{
    return r->combiner && r->combiner->ordered;
}

bool reducer_rounds(StoreOp op, DType type)
{
    return type_is_float(type) && (op == STORE_ADD || op == STORE_MUL);
}

bool stmt_update_rounds(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE &&
            reducer_rounds(at.stmt->u.store.op, at.stmt->u.store.buffer->type))
            return true;
    return false;
}

Expr *reducer_combine(Context *c, const Reducer *r, Expr *a, Expr *b)
{
    ExprKind kind = store_op_kind(r->op, a->type);
    if (kind == EX_COUNT)
        TIRC_BUG(c, "a plain store combines nothing");
    return expr_binary(c, kind, a, b, a->span);
}

/* ---- stores ---------------------------------------------------------------------------------- */

static Stmt *store(Context *c, const Reducer *r, ReducerStore to, int k, StoreOp op)
{
    return stmt_assign(c, to.elements[k], op, to.values[k], r->update->span);
}

Stmt *reducer_set(Context *c, const Reducer *r, ReducerStore to)
{
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, r->n);
    for (int k = 0; k < r->n; k++)
        items[k] = store(c, r, to, k, STORE_SET);
    return stmt_seq(c, items, r->n, r->update->span);
}

Stmt *reducer_update(Context *c, const Reducer *r, ReducerStore to)
{
    if (!r->combiner)
        return store(c, r, to, 0, r->op);
    return tuple_update(c, &(TupleUpdate){r->combiner, to.elements, to.values}, r->update->span);
}

BufferElement *reducer_targets(Context *c, const Reducer *r)
{
    BufferElement *out = ARENA_ARRAY(c->arena, BufferElement, r->n);
    for (int k = 0; k < r->n; k++)
        out[k] = r->parts[k].target;
    return out;
}

Expr *const *reducer_load(Context *c, const Reducer *r, const BufferElement *elements)
{
    Expr **out = ARENA_ARRAY(c->arena, Expr *, r->n);
    for (int k = 0; k < r->n; k++)
        out[k] = expr_load(c, elements[k].buffer, elements[k].index, r->update->span);
    return out;
}

Expr *const *reducer_identities(Context *c, const Reducer *r)
{
    Expr **out = ARENA_ARRAY(c->arena, Expr *, r->n);
    for (int k = 0; k < r->n; k++)
        out[k] = r->parts[k].identity;
    return out;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool same_element(const BufferElement *a, const Stmt *b)
{
    return a->buffer->id == b->u.store.buffer->id &&
           exprs_equal(a->index, b->u.store.index, a->buffer->rank);
}

static bool is_single(const BlockIter *iter)
{
    int64_t lo, hi;
    return expr_is_const(iter->lo, &lo) && expr_is_const(iter->hi, &hi) && hi - lo == 1;
}

/* How many subscripts are the iterator alone; -1 where one holds it inside an expression. */
static int subscripts_of(const BufferElement *target, const Var *var)
{
    int n = 0;
    for (int d = 0; d < target->buffer->rank; d++) {
        const Expr *at = target->index[d];
        bool alone = expr_is_var(at, var);
        if (!alone && expr_uses_var(at, var))
            return -1;
        n += alone;
    }
    return n;
}

/* The iterator may have several values while `path->items[from]` runs once. */
static bool changes_within(const BlockIter *iter, const StmtPath *path, int from)
{
    for (int i = from; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR &&
            expr_uses_var(iter->binding, path->items[i]->u.loop.var))
            return !is_single(iter);
    return false;
}

/* Different values of the spatial iterators write different elements, and the others none:
 * otherwise the reason. */
static const char *element_apart(Context *c, const StmtPath *path, int from,
                                 const BufferElement *target)
{
    const BlockStmt *block = &path_end(path)->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        int n = subscripts_of(target, iter->var);
        if (iter->kind == ITER_REDUCE && n != 0)
            return arena_printf(c->arena, "reduction iterator '%s' is part of a subscript of '%s'",
                                iter->var->name, target->buffer->name);
        if (iter->kind == ITER_SPATIAL && n < 1 && changes_within(iter, path, from))
            return arena_printf(c->arena,
                                "iterator '%s' is not by itself a subscript of '%s', so several of "
                                "its values may update one element",
                                iter->var->name, target->buffer->name);
    }
    for (int d = 0; d < target->buffer->rank; d++)
        if (expr_has_load(target->index[d]))
            return arena_printf(c->arena, "a subscript of '%s' depends on data",
                                target->buffer->name);
    return NULL;
}

/* The store of the element in an init, which is nothing but stores; NULL: there is none. */
static const Stmt *start_of(const Stmt *init, const BufferElement *target)
{
    const Stmt *found = NULL;
    for (int i = 0; i < stmt_items(init); i++) {
        const Stmt *s = stmt_item(init, i);
        if (s->kind != ST_STORE || s->u.store.op != STORE_SET)
            return NULL;
        if (same_element(target, s))
            found = s;
    }
    return found;
}

/* The way from the body of a block to its update: lets, in order, and the conditions. */
typedef struct {
    VEC(Subst) lets;
    ExprList conds;
} Guards;

static Guards guards_of(Context *c, const Stmt *body, const Stmt *update)
{
    Guards g = {0};
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at) && at.stmt != update;) {
        if (at.stmt->kind == ST_LET)
            VEC_PUSH(c->arena, &g.lets, ((Subst){at.stmt->u.let.var, at.stmt->u.let.value}));
        if (at.stmt->kind == ST_IF)
            VEC_PUSH(c->arena, &g.conds, at.stmt->u.cond.cond);
    }
    return g;
}

/* An expression behind the lets of a body, with their values written out; NULL where its text would
 * grow beyond bounds. */
static Expr *written_out(Context *c, const Guards *g, Expr *e)
{
    enum { MOST_NODES = 2000 };
    for (int k = g->lets.n - 1; e && k >= 0; k--) {
        e = expr_subst(c, e, &g->lets.items[k], 1);
        e = expr_nodes(e, MOST_NODES) <= MOST_NODES ? e : NULL;
    }
    return e;
}

/* Where the update happens; false where the text would be too long. */
static bool find_guard(Context *c, const Guards *g, Reducer *r)
{
    for (int k = 0; k < g->conds.n; k++) {
        Expr *cond = written_out(c, g, g->conds.items[k]);
        if (!cond)
            return false;
        r->guard = r->guard ? expr_binary(c, EX_AND, r->guard, cond, r->update->span) : cond;
    }
    return true;
}

/* The element as the block's iterators make it; false where its text would be too long. */
static bool find_target(Context *c, const Guards *g, BufferElement own, BufferElement *out)
{
    Expr **index = ARENA_ARRAY(c->arena, Expr *, own.buffer->rank + 1);
    *out = (BufferElement){own.buffer, index};
    for (int d = 0; d < own.buffer->rank; d++) {
        index[d] = written_out(c, g, own.index[d]);
        if (!index[d])
            return false;
    }
    return true;
}

/* Fills in the parts of the update; false if the body is none, or the init does not go with it. */
static bool find_parts(Context *c, const BlockStmt *block, Reducer *r)
{
    TupleUpdate update;
    const Stmt *valued = stmt_guarded_update(block->body);
    bool tuple = valued && tuple_update_of(c, valued, &update);
    r->update = valued;
    r->n = tuple ? update.combiner->n : 1;
    r->combiner = tuple ? update.combiner : NULL;
    ReducerPart *parts = ARENA_ARRAY(c->arena, ReducerPart, r->n);
    Guards guards = valued ? guards_of(c, block->body, valued) : (Guards){0};
    r->parts = parts;
    if (!find_guard(c, &guards, r))
        return false;
    for (int k = 0; valued && k < r->n; k++) {
        ReducerPart *part = &parts[k];
        BufferElement own = tuple ? update.targets[k]
                                  : (BufferElement){valued->u.store.buffer, valued->u.store.index};
        part->value = tuple ? update.values[k] : valued->u.store.value;
        part->written = written_out(c, &guards, part->value);
        if (!part->written || !find_target(c, &guards, own, &part->target))
            return false;
        const Stmt *start = start_of(block->init, &part->target);
        part->start = start ? start->u.store.value : NULL;
        if (!start)
            return false;
    }
    return valued != NULL;
}

/* How a store reduces, or the reason why it does not. */
static const char *find_operator(Context *c, Reducer *r, ReducerPart *part)
{
    const Buffer *buffer = part->target.buffer;
    /* 8-bit floats have no infinity that is stored as one, and nobody adds in them */
    bool tiny = type_is_float(buffer->type) && type_info(buffer->type)->bits == 8;
    r->op = r->update->u.store.op;
    part->identity = identity_of(c, r->op, buffer->type, part->start, r->update->span);
    if (tiny || !part->identity)
        return arena_printf(c->arena, "'%s' on %s cannot be computed from partial results",
                            store_op_token(r->op), type_info(buffer->type)->name);
    r->from_identity = expr_equal(part->start, part->identity);
    r->rounds = reducer_rounds(r->op, buffer->type);
    return NULL;
}

static const char *find_combiner(Context *c, Reducer *r, ReducerPart *parts)
{
    r->from_identity = true;
    for (int k = 0; k < r->n; k++) {
        parts[k].identity = r->combiner->parts[k].identity;
        r->rounds |= type_is_float(r->combiner->parts[k].type);
        if (!expr_equal(parts[k].start, parts[k].identity))
            return arena_printf(c->arena, "its init is not that of reducer '%s'",
                                r->combiner->name);
    }
    return NULL;
}

static const char *reads_itself(Context *c, const Buffer *buffer)
{
    return arena_printf(c->arena, "the value it adds depends on '%s' itself", buffer->name);
}

/* No condition and no init reads a buffer that is updated. Finds one that values read. */
static const char *find_reads(Context *c, Reducer *r)
{
    for (int k = 0; r->guard && k < r->n; k++)
        if (expr_reads(r->guard, r->parts[k].target.buffer))
            return arena_printf(c->arena, "the condition of its update depends on '%s' itself",
                                r->parts[k].target.buffer->name);
    for (int k = 0; k < r->n; k++)
        for (int i = 0; i < r->n; i++) {
            const Buffer *buffer = r->parts[i].target.buffer;
            if (expr_reads(r->parts[k].start, buffer))
                return reads_itself(c, buffer);
            if (expr_reads(r->parts[k].written, buffer))
                r->own = buffer;
        }
    return NULL;
}

/* Without a look at which elements other instances of the block update, and its values read. */
static const char *refusal_of_block(Context *c, const BlockStmt *block, Reducer *r)
{
    if (block->atomic)
        return "its updates are atomic";
    if (!stmt_is_reduction(block) || !block->init)
        return "it has no init: a separate block initializes the sum, or none does";
    *r = (Reducer){0};
    if (!find_parts(c, block, r))
        return "its body is not a single update of the element that its init sets";
    const char *why = r->combiner ? find_combiner(c, r, (ReducerPart *)r->parts)
                                  : find_operator(c, r, (ReducerPart *)r->parts);
    return why ? why : find_reads(c, r);
}

/* The same, but for values that read other elements of what the block updates. */
static const char *refusal_but_for_reads(Context *c, const StmtPath *path, int from, Reducer *r)
{
    const BlockStmt *block = &path_end(path)->u.block;
    const char *why = block_in_order(block) ? "its updates keep their order (@in_order)"
                                            : refusal_of_block(c, block, r);
    for (int k = 0; !why && k < r->n; k++)
        why = element_apart(c, path, from, &r->parts[k].target);
    return why;
}

bool reducer_of_block(Context *c, const BlockStmt *block, Reducer *out)
{
    return refusal_of_block(c, block, out) == NULL && !out->own;
}

bool reducer_but_for_reads(Context *c, const StmtPath *path, int from, Reducer *out,
                           const char **why)
{
    *why = refusal_but_for_reads(c, path, from, out);
    return !*why;
}

bool reducer_of(Context *c, const StmtPath *path, int from, Reducer *out, const char **why)
{
    if (reducer_but_for_reads(c, path, from, out, why) && out->own)
        *why = reads_itself(c, out->own);
    return !*why;
}
