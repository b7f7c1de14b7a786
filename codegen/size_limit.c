/* size_limit.c - see size_limit.h. */
#include "codegen/size_limit.h"

const char *size_limit_text(Context *c, const SizeLimit *limit)
{
    Expr *whole = limit->by == 1
                      ? limit->sum
                      : expr_binary(c, EX_DIV, limit->sum, expr_index(c, limit->by), span_none());
    return expr_text(c, whole);
}

/* Sums and products of numbers and sizes. */
static Expr *sum_in_f64(Context *c, Expr *e)
{
    int64_t value;
    if (expr_is_const(e, &value))
        return expr_float(c, DT_F64, (double)value, e->span);
    if (e->kind == EX_VAR)
        return expr_cast(c, DT_F64, e, e->span);
    return expr_binary(c, e->kind, sum_in_f64(c, e->u.arg[0]), sum_in_f64(c, e->u.arg[1]), e->span);
}

Expr *size_limit_value(Context *c, const SizeLimit *limit)
{
    Expr *sum = sum_in_f64(c, limit->sum);
    return limit->by == 1
               ? sum
               : expr_binary(c, EX_DIV, sum, expr_float(c, DT_F64, (double)limit->by, span_none()),
                             span_none());
}
