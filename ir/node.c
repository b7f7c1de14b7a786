/* node.c - Reads properties of single nodes: operands, constants, extents. */
#include "ir/instruction.h"
#include "ir/packed.h"

int stmt_items(const Stmt *body)
{
    return body->kind == ST_SEQ ? body->u.seq.n : 1;
}

Stmt *stmt_item(const Stmt *body, int i)
{
    return body->kind == ST_SEQ ? body->u.seq.items[i] : (Stmt *)body;
}

int stmt_operands(const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return 2;
    case ST_IF:
    case ST_LET: return 1;
    case ST_BLOCK: return 3 * s->u.block.n_iters + (s->u.block.predicate != NULL);
    case ST_STORE: return s->u.store.buffer->rank + 1;
    case ST_LAUNCH: return 3;
    case ST_INSTRUCTION: return s->u.instruction.of->n_elements;
    case ST_SEQ:
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BREAK:
    case ST_ROLES: break;
    }
    return 0;
}

Expr *stmt_operand(const Stmt *s, int k)
{
    switch (s->kind) {
    case ST_FOR: return k == 0 ? s->u.loop.lo : s->u.loop.hi;
    case ST_IF: return s->u.cond.cond;
    case ST_LET: return s->u.let.value;
    case ST_BLOCK: {
        if (k == 3 * s->u.block.n_iters)
            return s->u.block.predicate;
        const BlockIter *iter = &s->u.block.iters[k / 3];
        return k % 3 == 0 ? iter->lo : k % 3 == 1 ? iter->hi : iter->binding;
    }
    case ST_STORE: return k < s->u.store.buffer->rank ? s->u.store.index[k] : s->u.store.value;
    case ST_INSTRUCTION: return s->u.instruction.elements[k];
    default: return s->u.launch.grid[k];
    }
}

bool expr_is_const(const Expr *e, int64_t *value)
{
    if (e->kind == EX_INT)
        *value = e->u.i;
    return e->kind == EX_INT;
}

bool expr_is(const Expr *e, int64_t value)
{
    int64_t literal;
    return expr_is_const(e, &literal) && literal == value;
}

static bool is_integer_choice(const Expr *e)
{
    if (e->kind == EX_INT)
        return e->type != DT_U64 || e->u.i >= 0; /* no index holds what is above */
    return e->kind == EX_SELECT && is_integer_choice(e->u.arg[1]) && is_integer_choice(e->u.arg[2]);
}

bool expr_is_integer_choice(const Expr *e)
{
    return e->kind == EX_SELECT && is_integer_choice(e);
}

bool stmt_is_reduction(const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_REDUCE)
            return true;
    return false;
}

bool block_in_order(const BlockStmt *block)
{
    return annotation_find(block->annotations, ANNOTATION_IN_ORDER) != NULL;
}

int block_distinct(const BlockStmt *block)
{
    int64_t n = annotation_int(block->annotations, ANNOTATION_DISTINCT);
    return n < block->n_iters ? (int)n : block->n_iters;
}

bool loop_is_serpentine(const ForStmt *loop)
{
    return annotation_find(loop->annotations, ANNOTATION_SERPENTINE) != NULL;
}

bool loop_counts_from_zero(const ForStmt *loop)
{
    return loop->step == 1 && expr_is(loop->lo, 0);
}

bool loop_const_extent(const ForStmt *loop, int64_t *extent)
{
    int64_t lo, hi, span, stride = loop->step;
    if (loop->kind == LOOP_BREAKS || !expr_is_const(loop->lo, &lo) ||
        !expr_is_const(loop->hi, &hi) || stride == INT64_MIN)
        return false;
    bool up = stride > 0;
    if (!(up ? checked_sub(hi, lo, &span)
             : checked_sub(lo, hi, &span) && checked_add(span, 1, &span)))
        return false;
    stride = up ? stride : -stride;
    *extent = span <= 0 ? 0 : (span - 1) / stride + 1;
    return true;
}

bool tuple_update_of(Context *c, const Stmt *s, TupleUpdate *out)
{
    if (!s || s->kind != ST_SEQ || !s->u.seq.combiner)
        return false;
    const Combiner *combiner = s->u.seq.combiner;
    int n = combiner->n, first = s->u.seq.n - n;
    BufferElement *targets = ARENA_ARRAY(c->arena, BufferElement, n);
    Expr **values = ARENA_ARRAY(c->arena, Expr *, n);
    for (int k = 0; k < n; k++) {
        const Stmt *let = s->u.seq.items[k], *store = s->u.seq.items[first + k];
        if (first < n || let->kind != ST_LET || store->kind != ST_STORE)
            return false;
        values[k] = let->u.let.value;
        targets[k] = (BufferElement){store->u.store.buffer, store->u.store.index};
    }
    *out = (TupleUpdate){combiner, targets, values};
    return true;
}

/* ---- packed operations ----------------------------------------------------------------------- */

bool packed_type(DType type)
{
    return type == DT_F16 || type == DT_BF16;
}

static PackedOp packed_call(CallKind call)
{
    switch (call) {
    case CALL_ABS: return PACKED_ABS;
    case CALL_FMA: return PACKED_FMA;
    case CALL_MINIMUM: return PACKED_MINIMUM;
    case CALL_MAXIMUM: return PACKED_MAXIMUM;
    default: return PACKED_COUNT;
    }
}

PackedOp packed_op(const Expr *e)
{
    if (!packed_type(e->type))
        return PACKED_COUNT;
    switch (e->kind) {
    case EX_ADD: return PACKED_ADD;
    case EX_SUB: return PACKED_SUB;
    case EX_MUL: return PACKED_MUL;
    case EX_MIN: return PACKED_MIN;
    case EX_MAX: return PACKED_MAX;
    case EX_NEG: return PACKED_NEG;
    case EX_CALL: return packed_call(e->u.call.call);
    default: return PACKED_COUNT;
    }
}

bool packed_or_chosen(const Expr *e)
{
    return packed_op(e) != PACKED_COUNT || (e->kind == EX_SELECT && packed_type(e->type));
}

bool packed_is_missing(const Expr *e)
{
    if (!packed_type(e->type) || packed_op(e) != PACKED_COUNT)
        return false;
    switch (e->kind) {
    case EX_FLOAT:
    case EX_VAR:
    case EX_LOAD:
    case EX_CAST:
    case EX_SELECT:
    case EX_SHUFFLE_XOR:
    case EX_SHUFFLE: return false;
    case EX_CALL: return e->u.call.call != CALL_BITCAST;
    default: return true;
    }
}

int packed_certain_operands(const Expr *e)
{
    bool lazy = e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR;
    return lazy ? 1 : expr_operands(e);
}

bool expr_reads_certainly(const Expr *e, const Expr *load)
{
    if (e->kind == EX_LOAD)
        return expr_equal(e, load);
    for (int i = 0; i < packed_certain_operands(e); i++)
        if (expr_reads_certainly(expr_operand(e, i), load))
            return true;
    return false;
}
