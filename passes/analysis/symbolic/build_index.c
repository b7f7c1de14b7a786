/* build_index.c - Builds INDEX expressions the way a person writes them.
 *
 * The text of a linear form, and constructors that fold literals and drop zeros and ones.
 *
 *   {i: -1, N: 1, -1}               ->  N - i - 1
 *   {ty: 1, by: 32}                 ->  by * 32 + ty
 *   {a: 4, b: 4, c: 1}              ->  (a + b) * 4 + c
 */
#include <stdlib.h>

#include "passes/analysis/symbolic/affine.h"

static int degree(const Expr *atom)
{
    return atom->kind == EX_MUL ? degree(atom->u.arg[0]) + degree(atom->u.arg[1]) : 1;
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Products first, then larger strides, then older variables. */
static int written_order(const void *x, const void *y)
{
    const Term *a = x, *b = y;
    int da = degree(a->atom), db = degree(b->atom);
    if (da != db)
        return db - da;
    uint64_t ma = magnitude(a->factor), mb = magnitude(b->factor);
    if (ma != mb)
        return ma < mb ? 1 : -1;
    return expr_order(a->atom, b->atom);
}

static Expr *literal(Context *c, int64_t value, Span span)
{
    return expr_int(c, DT_INDEX, value, span);
}

/* Adds (EX_ADD) or subtracts (EX_SUB) `item`; an empty sum is NULL. */
static Expr *append(Context *c, Expr *sum, ExprKind how, Expr *item, Span span)
{
    if (!sum)
        return how == EX_SUB ? expr_unary(c, EX_NEG, item, span) : item;
    return expr_binary(c, how, sum, item, span);
}

/* The sum of the atoms of terms with equal magnitude, those of sign `first` before the others. */
static Expr *group_sum(Context *c, const Term *terms, int n, bool first_negative, Span span)
{
    Expr *sum = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < n; t++)
            if ((terms[t].factor < 0) == (first_negative ^ (pass == 1)))
                sum = append(c, sum, pass == 1 ? EX_SUB : EX_ADD, terms[t].atom, span);
    return sum;
}

typedef struct {
    const Term *terms;
    int n;
    bool negative; /* all of them */
} Group;

/* `lead`: it opens the sum, so that its sign has to be in the literal. */
static Expr *group_expr(Context *c, const Group *g, bool lead, Span span)
{
    Expr *sum = group_sum(c, g->terms, g->n, g->negative, span);
    int64_t factor = g->terms[0].factor;
    if (factor == INT64_MIN)
        return expr_binary(c, EX_MUL, sum, literal(c, factor, span), span);
    factor = factor < 0 ? -factor : factor;
    if (g->negative && lead)
        factor = -factor;
    if (factor == 1)
        return sum;
    if (factor == -1)
        return expr_unary(c, EX_NEG, sum, span);
    return expr_binary(c, EX_MUL, sum, literal(c, factor, span), span);
}

/* The next terms that are written together: of one magnitude other than 1. */
static Group group_next(const Term *terms, int n)
{
    Group g = {terms, 1, terms[0].factor < 0 && terms[0].factor != INT64_MIN};
    if (magnitude(terms[0].factor) == 1 || terms[0].factor == INT64_MIN)
        return g;
    while (g.n < n && magnitude(terms[g.n].factor) == magnitude(terms[0].factor) &&
           degree(terms[g.n].atom) == degree(terms[0].atom)) {
        g.negative = g.negative && terms[g.n].factor < 0;
        g.n++;
    }
    return g;
}

/* The constant at the end of a sum. */
static Expr *append_constant(Context *c, Expr *sum, int64_t value, Span span)
{
    if (value == 0)
        return sum;
    if (value > 0 || value == INT64_MIN)
        return append(c, sum, EX_ADD, literal(c, value, span), span);
    return append(c, sum, EX_SUB, literal(c, -value, span), span);
}

Expr *affine_expr(Context *c, const Affine *a, Span span)
{
    if (a->n == 0)
        return literal(c, a->constant, span);
    Term *terms = ARENA_COPY(c->arena, Term, a->terms, a->n, 0);
    qsort(terms, (size_t)a->n, sizeof *terms, written_order);
    Expr *sum = NULL;
    int64_t constant = a->constant;
    for (int negative = 0; negative < 2; negative++) {
        if (negative && !sum && constant > 0) {
            sum = literal(c, constant, span);
            constant = 0;
        }
        for (int t = 0; t < a->n;) {
            Group g = group_next(terms + t, a->n - t);
            t += g.n;
            if (g.negative != (negative == 1))
                continue;
            Expr *item = group_expr(c, &g, !sum, span);
            sum = sum ? append(c, sum, negative ? EX_SUB : EX_ADD, item, span) : item;
        }
    }
    return append_constant(c, sum, constant, span);
}

/* ---- constructors ---------------------------------------------------------------------------- */

static bool both_const(const Expr *a, const Expr *b, int64_t *x, int64_t *y)
{
    return expr_is_const(a, x) && expr_is_const(b, y);
}

static Expr *binary(Context *c, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(c, kind, a, b, span_join(a->span, b->span));
}

/* a + k, for an `a` that may itself end in a literal. */
static Expr *add_literal(Context *c, Expr *a, int64_t k, Span span)
{
    int64_t tail, sum;
    if ((a->kind == EX_ADD || a->kind == EX_SUB) && expr_is_const(a->u.arg[1], &tail)) {
        bool fits = a->kind == EX_ADD ? checked_add(k, tail, &sum) : checked_sub(k, tail, &sum);
        if (fits)
            return add_literal(c, a->u.arg[0], sum, span);
    }
    if (expr_is_const(a, &tail) && checked_add(tail, k, &sum))
        return literal(c, sum, span);
    return append_constant(c, a, k, span);
}

Expr *index_add(Context *c, Expr *a, Expr *b)
{
    int64_t k;
    Span span = span_join(a->span, b->span);
    if (expr_is_const(b, &k))
        return add_literal(c, a, k, span);
    if (expr_is_const(a, &k))
        return add_literal(c, b, k, span);
    return binary(c, EX_ADD, a, b);
}

Expr *index_sub(Context *c, Expr *a, Expr *b)
{
    int64_t k;
    if (expr_is_const(b, &k) && k != INT64_MIN)
        return add_literal(c, a, -k, span_join(a->span, b->span));
    if (expr_same(a, b))
        return literal(c, 0, a->span);
    if (expr_is(a, 0))
        return expr_unary(c, EX_NEG, b, b->span);
    return binary(c, EX_SUB, a, b);
}

Expr *index_mul(Context *c, Expr *a, Expr *b)
{
    int64_t x, y, product;
    if (both_const(a, b, &x, &y) && checked_mul(x, y, &product))
        return literal(c, product, span_join(a->span, b->span));
    if (expr_is_const(a, &x) && !expr_is_const(b, &y))
        return index_mul(c, b, a);
    if (expr_is(b, 0) || expr_is(a, 1))
        return b;
    if (expr_is(b, 1) || expr_is(a, 0))
        return a;
    if (a->kind == EX_MUL && both_const(a->u.arg[1], b, &x, &y) && checked_mul(x, y, &product))
        return binary(c, EX_MUL, a->u.arg[0], literal(c, product, b->span));
    return binary(c, EX_MUL, a, b);
}

/* x / y and x % y exist and fit. */
static bool divides(int64_t x, int64_t y)
{
    return y != 0 && !(x == INT64_MIN && y == -1);
}

Expr *index_div(Context *c, Expr *a, Expr *b)
{
    int64_t x, y;
    if (both_const(a, b, &x, &y) && divides(x, y))
        return literal(c, x / y, span_join(a->span, b->span));
    return expr_is(b, 1) ? a : binary(c, EX_DIV, a, b);
}

Expr *index_mod(Context *c, Expr *a, Expr *b)
{
    int64_t x, y;
    if (both_const(a, b, &x, &y) && divides(x, y))
        return literal(c, x % y, span_join(a->span, b->span));
    return expr_is(b, 1) ? literal(c, 0, a->span) : binary(c, EX_MOD, a, b);
}

Expr *index_min(Context *c, Expr *a, Expr *b)
{
    int64_t x, y;
    if (both_const(a, b, &x, &y))
        return x <= y ? a : b;
    return expr_same(a, b) ? a : binary(c, EX_MIN, a, b);
}

Expr *index_max(Context *c, Expr *a, Expr *b)
{
    int64_t x, y;
    if (both_const(a, b, &x, &y))
        return x >= y ? a : b;
    return expr_same(a, b) ? a : binary(c, EX_MAX, a, b);
}

Expr *shape_extent(Context *c, Expr *extent)
{
    int64_t literal;
    return expr_is_const(extent, &literal) && literal < 1 ? expr_index(c, 1) : extent;
}

Expr *index_ceildiv(Context *c, Expr *a, Expr *b)
{
    int64_t x, y;
    if (both_const(a, b, &x, &y) && divides(x, y))
        return literal(c, x / y + (x % y > 0), span_join(a->span, b->span));
    if (expr_is(b, 1))
        return a;
    return index_div(c, index_add(c, a, index_sub(c, b, literal(c, 1, b->span))), b);
}

/* a - b with equal terms cancelled. */
static Expr *difference(Context *c, Expr *a, Expr *b)
{
    Affine x, y, d;
    if (expr_is(b, 0))
        return a;
    if (affine_of(c, a, PRODUCTS_KEPT, &x) && affine_of(c, b, PRODUCTS_KEPT, &y) &&
        affine_combine(c, x, 1, y, -1, &d))
        return affine_expr(c, &d, a->span);
    return index_sub(c, a, b);
}

Expr *loop_extent(Context *c, const ForStmt *loop)
{
    if (loop->step > 0)
        return index_ceildiv(c, difference(c, loop->hi, loop->lo), expr_index(c, loop->step));
    Expr *last = difference(c, loop->lo, loop->hi);
    int64_t down;
    if (!checked_mul(loop->step, -1, &down))
        down = INT64_MAX;
    return index_ceildiv(c, index_add(c, last, expr_index(c, 1)), expr_index(c, down));
}

Expr *cond_and(Context *c, Expr *a, Expr *b)
{
    if (!a || cond_is_true(a))
        return b;
    if (!b || cond_is_true(b))
        return a;
    return expr_same(a, b) ? a : binary(c, EX_AND, a, b);
}
