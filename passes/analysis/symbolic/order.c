/* order.c - Defines a total order of expressions.
 *
 * The order makes canonical forms canonical: terms, factors, minima and conditions are sorted by
 * it.  It depends on structure and on the age of variables only, never on addresses. */
#include <string.h>

#include "passes/analysis/symbolic/affine.h"

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Outer first: blocks before threads, z before x. */
static int axis_place(Axis axis)
{
    return axis_is_block(axis) ? AXIS_BLOCK_Z - axis : AXIS_COUNT - (axis - AXIS_THREAD_X);
}

static int kind_place(const Expr *e)
{
    switch (e->kind) {
    case EX_AXIS: return 0;
    case EX_VAR: return 1;
    case EX_INT:
    case EX_FLOAT: return 2 + EX_COUNT;
    default: return 2 + (int)e->kind;
    }
}

/* Two expressions of the same kind and type, without their operands. */
static int node_order(const Expr *a, const Expr *b)
{
    switch (a->kind) {
    case EX_INT: return compare(a->u.i, b->u.i);
    case EX_FLOAT: {
        int64_t x, y;
        memcpy(&x, &a->u.f, sizeof x);
        memcpy(&y, &b->u.f, sizeof y);
        return compare(x, y);
    }
    case EX_AXIS: return compare(axis_place(a->u.axis), axis_place(b->u.axis));
    case EX_VAR: return compare(a->u.var->id, b->u.var->id);
    case EX_LOAD: return compare(a->u.load.buffer->id, b->u.load.buffer->id);
    case EX_CALL: return compare(a->u.call.call, b->u.call.call);
    default: return 0;
    }
}

int expr_order(const Expr *a, const Expr *b)
{
    if (a == b)
        return 0;
    int order = compare(kind_place(a), kind_place(b));
    if (order == 0)
        order = compare(a->kind, b->kind);
    if (order == 0)
        order = compare(a->type, b->type);
    if (order == 0)
        order = node_order(a, b);
    if (order == 0)
        order = compare(expr_operands(a), expr_operands(b));
    for (int k = 0, n = expr_operands(a); order == 0 && k < n; k++)
        order = expr_order(expr_operand(a, k), expr_operand(b, k));
    return order;
}

static bool is_size(const Expr *e)
{
    return e->kind == EX_VAR && e->u.var->kind == VAR_SIZE;
}

int factor_order(const Expr *a, const Expr *b)
{
    int order = compare(is_size(a), is_size(b));
    return order ? order : expr_order(a, b);
}

Expr *expr_settle(Expr *a, Expr *b)
{
    return expr_same(a, b) ? b : a;
}
