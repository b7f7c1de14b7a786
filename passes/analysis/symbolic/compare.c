/* compare.c - Simplifies conditions: decides comparisons or normalizes them, and combines and, or,
 * not.
 *
 * A comparison of INDEX values is a form that is at least 0.  Where it cannot be decided, terms
 * that are added stand on one side and terms that are subtracted on the other, so nothing is
 * negative:
 *
 *   0 <= N - i * 32 - j - 1     ->  i * 32 + j < N
 *   i - 1 >= 0                  ->  i > 0
 *   i * 32 < 1000               ->  i < 32 */
#include "passes/analysis/symbolic/affine.h"

/* The terms of a form with one sign, 1 or -1, times the sign. */
static bool side(Context *c, const Affine *a, int sign, Affine *out)
{
    *out = (Affine){0};
    for (int t = 0; t < a->n; t++) {
        int64_t factor = a->terms[t].factor;
        if ((factor < 0) != (sign < 0))
            continue;
        if (!checked_mul(factor, sign, &factor))
            return false;
        if (!affine_push(c, out, factor, a->terms[t].atom))
            return false;
    }
    return true;
}

static bool only_sizes(const Affine *a)
{
    for (int t = 0; t < a->n; t++)
        if (a->terms[t].atom->kind != EX_VAR || a->terms[t].atom->u.var->kind != VAR_SIZE)
            return false;
    return true;
}

static Expr *compare(Context *c, ExprKind kind, const Affine *a, const Affine *b, Span span)
{
    return expr_binary(c, kind, affine_expr(c, a, span), affine_expr(c, b, span), span);
}

/* high >= low with a constant: text for  high - low + k >= 0, neither side negative. */
static Expr *order_expr(Context *c, Affine *low, Affine *high, int64_t k, Span span)
{
    int64_t up;
    if (low->n == 0) {
        if (k >= 0 || k == INT64_MIN) {
            low->constant = k == INT64_MIN ? k : -k;
            return compare(c, EX_GE, high, low, span);
        }
        low->constant = -k - 1;
        return compare(c, EX_GT, high, low, span);
    }
    if (high->n == 0 && checked_add(k, 1, &up)) {
        high->constant = up;
        return compare(c, EX_LT, low, high, span);
    }
    bool swap = only_sizes(low) && !only_sizes(high);
    bool strict = k < 0;
    if (k > 0)
        high->constant = k;
    else if (k < 0 && k != INT64_MIN)
        low->constant = -k - 1;
    else if (k == INT64_MIN)
        return NULL;
    if (swap)
        return compare(c, strict ? EX_GT : EX_GE, high, low, span);
    return compare(c, strict ? EX_LT : EX_LE, low, high, span);
}

/* form >= 0. Of a condition that is to be assumed, bounds are enough: it holds whether or not the
 * other facts imply it. */
static bool decided_nonneg(Facts *f, const Affine *form)
{
    return f->assuming ? bounds_of_affine(f, form).min >= 0 : prove_nonneg(f, form);
}

/* form >= 0: a literal, its canonical text, or NULL where numbers do not fit. */
static Expr *order_canonical(Facts *f, const Affine *form, Span span)
{
    Context *c = f->c;
    Affine opposite = {0}, reduced, low, high;
    if (decided_nonneg(f, form))
        return expr_true(c);
    if (affine_push_scaled(c, &opposite, form, -1) &&
        checked_sub(opposite.constant, 1, &opposite.constant) && decided_nonneg(f, &opposite))
        return expr_false(c);
    if (form->n == 0)
        return NULL;
    reduced = affine_divide(c, *form, affine_gcd(*form));
    if (!side(c, &reduced, -1, &low) || !side(c, &reduced, 1, &high))
        return NULL;
    return order_expr(c, &low, &high, reduced.constant, span);
}

/* form == 0, the side of the first term on the left. */
static Expr *equality_canonical(Facts *f, const Affine *form, bool equal, Span span)
{
    Context *c = f->c;
    Affine opposite = {0}, above, below, reduced, left, right;
    if (!affine_push_scaled(c, &opposite, form, -1))
        return NULL;
    int64_t g = affine_gcd(*form);
    if (g == 0 || form->constant % g != 0)
        return expr_bool(c, (g == 0 && form->constant == 0) == equal);
    above = *form;
    below = opposite;
    if (!checked_sub(above.constant, 1, &above.constant) ||
        !checked_sub(below.constant, 1, &below.constant))
        return NULL;
    if (decided_nonneg(f, &above) || decided_nonneg(f, &below))
        return expr_bool(c, !equal);
    if (decided_nonneg(f, form) && decided_nonneg(f, &opposite))
        return expr_bool(c, equal);
    reduced = affine_divide(c, *form, g);
    int64_t k = reduced.constant;
    int sign = reduced.terms[0].factor < 0 ? -1 : 1;
    if (!side(c, &reduced, sign, &left) || !side(c, &reduced, -sign, &right))
        return NULL;
    int64_t up;
    if (k == INT64_MIN)
        return NULL;
    up = sign < 0 ? k : -k; /* left = right + up */
    if (right.n == 0 || up > 0)
        right.constant = up;
    else
        left.constant = -up;
    return compare(c, equal ? EX_EQ : EX_NE, &left, &right, span);
}

static Expr *compare_index(Facts *f, Expr *e)
{
    Affine a, b, form;
    bool less = e->kind == EX_LT || e->kind == EX_LE;
    if (!simplify_affine(f, e->u.arg[0], &a) || !simplify_affine(f, e->u.arg[1], &b) ||
        !affine_combine(f->c, a, less ? -1 : 1, b, less ? 1 : -1, &form))
        return e;
    Expr *out;
    affine_recombine(f, &form, e->span);
    if (e->kind == EX_EQ || e->kind == EX_NE) {
        out = equality_canonical(f, &form, e->kind == EX_EQ, e->span);
    } else {
        bool strict = e->kind == EX_LT || e->kind == EX_GT;
        if (strict && !checked_sub(form.constant, 1, &form.constant))
            return e;
        out = order_canonical(f, &form, e->span);
    }
    return out ? out : e;
}

/* ---- boolean operators ----------------------------------------------------------------------- */

bool cond_is_true(const Expr *e)
{
    return e->kind == EX_INT && e->type == DT_BOOL && e->u.i != 0;
}

bool cond_is_false(const Expr *e)
{
    return e->kind == EX_INT && e->type == DT_BOOL && e->u.i == 0;
}

ExprKind compare_opposite(ExprKind kind)
{
    switch (kind) {
    case EX_LT: return EX_GE;
    case EX_GE: return EX_LT;
    case EX_LE: return EX_GT;
    case EX_GT: return EX_LE;
    case EX_EQ: return EX_NE;
    default: return EX_EQ;
    }
}

Expr *cond_negate(Context *c, Expr *e)
{
    if (e->kind == EX_INT)
        return expr_bool(c, e->u.i == 0);
    if (e->kind == EX_NOT)
        return e->u.arg[0];
    bool exact = op_info(e->kind)->class == OP_COMPARE && !type_is_float(e->u.arg[0]->type);
    if (exact)
        return expr_binary(c, compare_opposite(e->kind), e->u.arg[0], e->u.arg[1], e->span);
    return expr_unary(c, EX_NOT, e, e->span);
}

static bool contains(const Expr *chain, ExprKind kind, const Expr *part)
{
    while (chain && chain->kind == kind) {
        if (expr_same(chain->u.arg[1], part))
            return true;
        chain = chain->u.arg[0];
    }
    return chain && expr_same(chain, part);
}

/* Each part is simplified where the parts before it are true (of an or: false). */
static Expr *simplify_chain(Facts *f, Expr *e)
{
    Context *c = f->c;
    bool is_and = e->kind == EX_AND;
    ExprList parts = {0};
    expr_chain(c, e, e->kind, &parts);
    FactsMark mark = facts_mark(f);
    Expr *out = NULL;
    for (int k = 0; k < parts.n; k++) {
        Expr *part = simplify_bool(f, parts.items[k]);
        if (is_and ? cond_is_false(part) : cond_is_true(part)) {
            facts_reset(f, mark);
            return part;
        }
        if (cond_is_true(part) || cond_is_false(part) || contains(out, e->kind, part))
            continue;
        out = out ? expr_binary(c, e->kind, out, part, e->span) : part;
        facts_assume_canonical(f, is_and ? part : cond_negate(c, part));
    }
    facts_reset(f, mark);
    return out ? out : expr_bool(c, is_and);
}

/* A comparison is turned round before it is simplified, and one that comes out is simplified. */
static Expr *simplify_not(Facts *f, Expr *e)
{
    Expr *inner = e->u.arg[0];
    Expr *turned = cond_negate(f->c, inner);
    if (turned->kind != EX_NOT)
        return simplify_bool(f, turned);
    turned = cond_negate(f->c, simplify_bool(f, inner));
    return turned->kind == EX_NOT ? turned : simplify_bool(f, turned);
}

/* The number that a literal of f32 or f64 stands for. */
static bool float_value(const Expr *e, double *value)
{
    *value = e->kind != EX_FLOAT ? 0 : e->type == DT_F32 ? (float)e->u.f : e->u.f;
    return e->kind == EX_FLOAT && (e->type == DT_F32 || e->type == DT_F64);
}

/* A comparison of two literals, such as functions and reducers make of arguments; else `e`. */
static Expr *compare_literals(Facts *f, Expr *e)
{
    double a, b;
    if (!float_value(e->u.arg[0], &a) || !float_value(e->u.arg[1], &b))
        return e;
    switch (e->kind) {
    case EX_LT: return expr_bool(f->c, a < b);
    case EX_LE: return expr_bool(f->c, a <= b);
    case EX_GT: return expr_bool(f->c, a > b);
    case EX_GE: return expr_bool(f->c, a >= b);
    case EX_EQ: return expr_bool(f->c, a == b);
    default: return expr_bool(f->c, a != b);
    }
}

static Expr *simplify_comparison(Facts *f, Expr *e)
{
    Context *c = f->c;
    if (e->u.arg[0]->type == DT_INDEX)
        return compare_index(f, e);
    Expr *a = simplify_once(f, e->u.arg[0]), *b = simplify_once(f, e->u.arg[1]);
    bool same = a == e->u.arg[0] && b == e->u.arg[1];
    return compare_literals(f, same ? e : expr_binary(c, e->kind, a, b, e->span));
}

Expr *simplify_bool(Facts *f, Expr *e)
{
    Expr *out = e;
    switch (op_info(e->kind)->class) {
    case OP_LOGIC: out = simplify_chain(f, e); break;
    case OP_COMPARE: out = simplify_comparison(f, e); break;
    default: out = e->kind == EX_NOT ? simplify_not(f, e) : simplify_once(f, e);
    }
    if (out->kind == EX_INT)
        return out;
    out = expr_settle(out, e);
    if (facts_know(f, out))
        return expr_true(f->c);
    if (facts_know(f, cond_negate(f->c, out)))
        return expr_false(f->c);
    return out;
}
