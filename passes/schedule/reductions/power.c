/* power.c - Finds the factor exp(F(x - m)) of a value, and what moves sums of such values to
 * another center. */
#include "passes/schedule/reductions/power.h"

#include <float.h>
#include <math.h>

#include "ir/rewrite.h"
#include "passes/analysis/symbolic/simplify.h"

/* The same for all terms: it is made of literals, sizes and scalars. */
static bool is_uniform(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_VAR &&
             (at.expr->u.var->kind == VAR_ITER || at.expr->u.var->kind == VAR_LOOP)))
            return false;
    return true;
}

/* The only operand of a product, or the numerator, that reads the buffer; NULL for all else. */
static const Expr *factor_reading(const Expr *e, const Buffer *buffer)
{
    bool left = expr_arity(e->kind) > 0 && expr_reads(e->u.arg[0], buffer);
    bool right = expr_arity(e->kind) > 1 && expr_reads(e->u.arg[1], buffer);
    if (left == right || (e->kind != EX_MUL && (e->kind != EX_DIV || right)))
        return NULL;
    return e->u.arg[left ? 0 : 1];
}

static bool is_zero(const Expr *e)
{
    return e->kind == EX_FLOAT && e->u.f == 0;
}

/* The value that is chosen where a mask holds, c ? x : 0 or c ? 0 : x; NULL for all else. */
static const Expr *unmasked(const Expr *e, const Buffer *buffer)
{
    if (e->kind != EX_SELECT || expr_reads(e->u.arg[0], buffer) ||
        is_zero(e->u.arg[1]) == is_zero(e->u.arg[2]))
        return NULL;
    return e->u.arg[is_zero(e->u.arg[1]) ? 2 : 1];
}

const Expr *power_innermost_factor(Context *c, const Expr *e, const Buffer *buffer, Expr **where)
{
    const Expr *chosen = unmasked(e, buffer), *inner = chosen ? chosen : factor_reading(e, buffer);
    if (chosen && where) {
        Expr *cond = e->u.arg[0];
        if (chosen == e->u.arg[2])
            cond = expr_unary(c, EX_NOT, cond, e->span);
        *where = cond_and(c, *where, cond);
    }
    return inner ? power_innermost_factor(c, inner, buffer, where) : e;
}

const Expr *power_unmasked(const Expr *e, const Buffer *buffer)
{
    const Expr *chosen = unmasked(e, buffer);
    return chosen ? power_unmasked(chosen, buffer) : e;
}

/* The least finite number of its type. */
static bool is_least(const Expr *e)
{
    return e->kind == EX_FLOAT && e->u.f == (e->type == DT_F32 ? -FLT_MAX : -DBL_MAX);
}

/* Finds x - m in what exp is taken of: F(x - m), for F as above. */
static bool find_difference(Context *c, const Expr *e, const Buffer *center, PowerFactor *out)
{
    const Expr *inner = factor_reading(e, center);
    if (inner)
        return is_uniform(c, e->u.arg[inner == e->u.arg[0]]) &&
               find_difference(c, inner, center, out);
    if (e->kind != EX_SUB || expr_reads(e->u.arg[0], center))
        return false;
    const Expr *m = e->u.arg[1];
    out->difference = e;
    out->center = m->kind == EX_MAX && is_least(m->u.arg[1]) ? m->u.arg[0] : m;
    return expr_is_load(out->center, center);
}

bool power_factor_of(Context *c, const Expr *value, const Buffer *center, PowerFactor *out)
{
    *out = (PowerFactor){0};
    out->call = power_innermost_factor(c, value, center, &out->where);
    return out->call->kind == EX_CALL && call_is_power(out->call->u.call.call) &&
           find_difference(c, out->call->u.call.arg[0], center, out);
}

typedef struct {
    const Expr *from;
    Expr *to;
} Exchange;

static Expr *exchanged(Rewriter *w, Expr *e)
{
    const Exchange *exchange = w->user;
    return e == exchange->from ? exchange->to : e;
}

Expr *power_exchange(Context *c, const Expr *in, const Expr *from, Expr *to)
{
    Rewriter rewriter = {.ctx = c, .user = &(Exchange){from, to}, .expr = exchanged};
    return rewrite_expr(&rewriter, (Expr *)in);
}

Expr *power_shift(Context *c, const PowerFactor *power, Expr *from, Expr *to, Span span)
{
    Expr *moved =
        power_exchange(c, power->call, power->difference, expr_binary(c, EX_SUB, from, to, span));
    Expr *lowest = expr_float(c, from->type, -INFINITY, span);
    Expr *none = expr_binary(c, EX_EQ, from, lowest, span);
    return expr_select(c, none, expr_float(c, from->type, 1, span), moved, span);
}

Expr *power_finite_center(Context *c, Expr *m, Span span)
{
    Expr *least = expr_float(c, m->type, m->type == DT_F32 ? -FLT_MAX : -DBL_MAX, span);
    return expr_binary(c, EX_MAX, m, least, span);
}

Expr *power_around(Context *c, const Expr *value, const PowerFactor *power, Expr *m, Span span)
{
    Expr *center = power_finite_center(c, m, span);
    return power_exchange(c, value, power->difference,
                          expr_binary(c, EX_SUB, power->difference->u.arg[0], center, span));
}

bool power_match_integers(Context *c, const Expr *x, const Expr *y, ExprList *of_x, ExprList *of_y)
{
    if (x->type != y->type)
        return false;
    if (x->type == DT_INDEX) {
        VEC_PUSH(c->arena, of_x, (Expr *)x);
        VEC_PUSH(c->arena, of_y, (Expr *)y);
        return true;
    }
    int n = expr_operands(x);
    if (x->kind != y->kind || n != expr_operands(y) ||
        (x->kind == EX_LOAD && x->u.load.buffer->id != y->u.load.buffer->id) ||
        (x->kind == EX_CALL && x->u.call.call != y->u.call.call) || (n == 0 && !expr_equal(x, y)))
        return false;
    for (int i = 0; i < n; i++)
        if (!power_match_integers(c, expr_operand(x, i), expr_operand(y, i), of_x, of_y))
            return false;
    return true;
}
