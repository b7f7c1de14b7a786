/* contraction.c - Recognizes a program or a block that is one matmul. */
#include "passes/analysis/regions/contraction.h"

static bool is_zero(const Expr *e)
{
    return (e->kind == EX_FLOAT && e->u.f == 0) || (e->kind == EX_INT && e->u.i == 0);
}

static bool calls(const Expr *e, CallKind function)
{
    return e->kind == EX_CALL && e->u.call.call == function;
}

static bool rounds_to_tf32(const Expr *factor)
{
    return calls(factor, CALL_TF32) || calls(factor, CALL_TF32_RZ);
}

/* The element of a matrix, where it is cast to the type of the sums, rounded, or neither. */
static const Expr *element_of(const Expr *factor)
{
    if (rounds_to_tf32(factor))
        return factor->u.call.arg[0];
    return factor->kind == EX_CAST ? factor->u.arg[0] : factor;
}

/* `C += A * B`, from 0. */
static const char *read_statement(const BlockStmt *block, Contraction *out, const Expr **a,
                                  const Expr **b)
{
    const Stmt *update = block->body, *init = block->init;
    if (!init || update->kind != ST_STORE || update->u.store.op != STORE_ADD ||
        init->kind != ST_STORE || init->u.store.op != STORE_SET || !is_zero(init->u.store.value))
        return "its statement is not 'C = 0' followed by 'C += ...'";
    const Expr *product = update->u.store.value;
    if (product->kind != EX_MUL || element_of(product->u.arg[0])->kind != EX_LOAD ||
        element_of(product->u.arg[1])->kind != EX_LOAD)
        return "what it adds is not a product of two elements";
    *a = element_of(product->u.arg[0]);
    *b = element_of(product->u.arg[1]);
    out->a_tf32 = rounds_to_tf32(product->u.arg[0]);
    out->b_tf32 = rounds_to_tf32(product->u.arg[1]);
    out->a = (*a)->u.load.buffer;
    out->b = (*b)->u.load.buffer;
    out->c = update->u.store.buffer;
    out->type = out->c->type;
    return NULL;
}

/* The iterator that stands alone in each subscript and runs over the whole axis; -1 where there is
 * none. */
static int iterator_of(const BlockStmt *block, const Buffer *buffer, const Expr *subscript,
                       int axis)
{
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (expr_is_var(subscript, iter->var))
            return expr_is(iter->lo, 0) && expr_equal(iter->hi, buffer->shape[axis]) ? i : -1;
    }
    return -1;
}

/* The iterators of a matrix: its last two axes. */
typedef struct {
    int row, column;
} Axes;

/* The axes before them must be the batch's. */
static bool read_axes(const BlockStmt *block, const Buffer *buffer, Expr *const *index, Axes *out,
                      int *batch)
{
    int n = buffer->rank - 2;
    if (n < 0)
        return false;
    for (int d = 0; d < n; d++) {
        int at = iterator_of(block, buffer, index[d], d);
        if (at < 0 || (batch[d] >= 0 && batch[d] != at))
            return false;
        batch[d] = at;
    }
    out->row = iterator_of(block, buffer, index[n], n);
    out->column = iterator_of(block, buffer, index[n + 1], n + 1);
    return out->row >= 0 && out->column >= 0 && out->row != out->column;
}

static const char *read_subscripts(Context *ctx, const BlockStmt *block, const Expr *a,
                                   const Expr *b, Contraction *out)
{
    static const char wrong[] = "it is not C[.., i, j] += A[.., i, k] * B[.., k, j] over whole "
                                "matrices, with the last two subscripts of each in either order";
    int rank = out->c->rank;
    Axes at_a, at_b, at_c;
    if (out->a->rank != rank || out->b->rank != rank || rank < 2 || block->n_iters != rank + 1)
        return wrong;
    int *batch = ARENA_ARRAY(ctx->arena, int, rank);
    for (int d = 0; d < rank; d++)
        batch[d] = -1;
    if (!read_axes(block, out->a, a->u.load.index, &at_a, batch) ||
        !read_axes(block, out->b, b->u.load.index, &at_b, batch) ||
        !read_axes(block, out->c, block->body->u.store.index, &at_c, batch))
        return wrong;
    /* what A and B share */
    int k = at_a.row == at_b.row || at_a.row == at_b.column ? at_a.row : at_a.column;
    out->a_transposed = k == at_a.row;
    out->b_transposed = k == at_b.column;
    int i = k == at_a.row ? at_a.column : at_a.row, j = k == at_b.row ? at_b.column : at_b.row;
    out->c_transposed = at_c.row == j;
    out->n_batch = rank - 2;
    bool sums =
        (k == at_b.row || k == at_b.column) && block->iters[k].kind == ITER_REDUCE && i != j;
    bool fits = out->c_transposed ? at_c.column == i : at_c.row == i && at_c.column == j;
    return sums && fits ? NULL : wrong;
}

/* Whether the subscripts are all iterators of the block, in their order. */
static bool visits_in_order(const BlockStmt *block, const Buffer *buffer, Expr *const *index)
{
    for (int d = 0; d < buffer->rank; d++)
        if (iterator_of(block, buffer, index[d], d) != d)
            return false;
    return block->n_iters == buffer->rank;
}

/* C[.., i, j] = TYPE(sum[.., i, j]) over all elements. */
static bool read_cast(const BlockStmt *block, Contraction *out)
{
    const StoreStmt *store = &block->body->u.store;
    if (store->value->kind != EX_CAST || store->value->u.arg[0]->kind != EX_LOAD)
        return false;
    const Expr *sum = store->value->u.arg[0];
    if (sum->u.load.buffer != out->c || !visits_in_order(block, out->c, sum->u.load.index) ||
        !visits_in_order(block, store->buffer, store->index))
        return false;
    out->c = store->buffer;
    return true;
}

/* C[i, j] = sum[i, j] + bias[j], or the larger of that and 0. */
static bool read_bias(const BlockStmt *block, Contraction *out)
{
    const StoreStmt *store = &block->body->u.store;
    const Expr *sum = store->value;
    out->relu = sum->kind == EX_MAX && is_zero(sum->u.arg[1]);
    sum = out->relu ? sum->u.arg[0] : sum;
    if (sum->kind != EX_ADD || sum->u.arg[0]->kind != EX_LOAD || sum->u.arg[1]->kind != EX_LOAD)
        return false;
    const Expr *product = sum->u.arg[0], *bias = sum->u.arg[1];
    const Buffer *c = store->buffer;
    if (product->u.load.buffer != out->c || c->rank != 2 || c->type != out->type ||
        bias->u.load.buffer->rank != 1 || bias->u.load.buffer->type != out->type)
        return false;
    if (out->c_transposed || !visits_in_order(block, c, store->index) ||
        !visits_in_order(block, out->c, product->u.load.index) ||
        iterator_of(block, bias->u.load.buffer, bias->u.load.index[0], 0) != 1)
        return false;
    out->bias = bias->u.load.buffer;
    out->c = c;
    return true;
}

/* C[i, j] = sum[i, j] + bias[j], or the larger of that and 0, or a cast of the sum. */
static const char *read_epilogue(const BlockStmt *block, Contraction *out)
{
    static const char wrong[] = "the statement after the matmul is not C[i, j] = sum[i, j] + "
                                "bias[j], or its max with 0, or a cast of sum[i, j]";
    const Stmt *store = block->body;
    if (block->init || out->c->role != ROLE_TEMP || store->kind != ST_STORE ||
        store->u.store.op != STORE_SET)
        return wrong;
    if (read_cast(block, out))
        return NULL;
    return read_bias(block, out) ? NULL : wrong;
}

bool contraction_of_block(Context *c, const BlockStmt *block, Contraction *out, const char **why)
{
    const Expr *a, *b;
    *out = (Contraction){0};
    *why = read_statement(block, out, &a, &b);
    if (!*why)
        *why = read_subscripts(c, block, a, b, out);
    return !*why;
}

bool contraction_of(Context *c, const Kernel *program, Contraction *out, const char **why)
{
    StmtList blocks = stmts_of_kind(c, program->body, ST_BLOCK);
    *why = "it is neither a single matmul nor a matmul followed by adding a bias";
    if (blocks.n != 1 && blocks.n != 2)
        return false;
    contraction_of_block(c, &blocks.items[0]->u.block, out, why);
    if (!*why && out->a->type != out->b->type)
        *why = "its operands differ in type";
    if (!*why && out->a_tf32 != out->b_tf32)
        *why = "it rounds one operand to TF32, but not the other";
    if (!*why && blocks.n == 2)
        *why = read_epilogue(&blocks.items[1]->u.block, out);
    return !*why;
}
