/* node.c - what can be read off one node: operands, constants, extents. */
#include "ir/ir.h"

int expr_arity(ExprKind kind)
{
    if (kind == EX_SELECT)
        return 3;
    if (kind == EX_CAST || expr_is_unary(kind))
        return 1;
    return expr_is_binary(kind) ? 2 : 0;
}

int expr_operands(const Expr *e)
{
    if (e->kind == EX_CALL)
        return call_info(e->u.call.call)->arity;
    return e->kind == EX_LOAD ? e->u.load.buffer->rank : expr_arity(e->kind);
}

Expr *expr_operand(const Expr *e, int k)
{
    if (e->kind == EX_CALL)
        return e->u.call.arg[k];
    return e->kind == EX_LOAD ? e->u.load.index[k] : e->u.arg[k];
}

bool expr_is_const(const Expr *e, int64_t *value)
{
    if (e->kind == EX_INT)
        *value = e->u.i;
    return e->kind == EX_INT;
}

bool stmt_is_reduction(const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_REDUCE)
            return true;
    return false;
}

bool loop_const_extent(const ForStmt *loop, int64_t *extent)
{
    int64_t lo, hi, span, stride = loop->step;
    if (!expr_is_const(loop->lo, &lo) || !expr_is_const(loop->hi, &hi) || stride == INT64_MIN)
        return false;
    bool up = stride > 0;
    if (!(up ? checked_sub(hi, lo, &span)
             : checked_sub(lo, hi, &span) && checked_add(span, 1, &span)))
        return false;
    stride = up ? stride : -stride;
    *extent = span <= 0 ? 0 : (span - 1) / stride + 1;
    return true;
}
