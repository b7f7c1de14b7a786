/* affine.c - sums of coefficient * atom + constant.
 *
 *   (i + 2) * 4 - j + i    ->    5 * i - 1 * j + 8
 *
 * Terms are pushed in any order and sorted once, so a sum of n terms costs n log n.  A product
 * of two atoms is an atom itself, its factors in canonical order. */
#include <stdlib.h>

#include "passes/analysis/symbolic/affine.h"

bool affine_push(Context *c, Affine *a, int64_t coef, Expr *atom)
{
    if (atom->kind == EX_INT)
        return checked_mul(coef, atom->u.i, &coef) && checked_add(a->constant, coef, &a->constant);
    if (coef != 0)
        VEC_PUSH(c->arena, a, ((Term){coef, atom}));
    return true;
}

bool affine_push_scaled(Context *c, Affine *out, const Affine *a, int64_t scale)
{
    int64_t k;
    for (int t = 0; t < a->n; t++)
        if (!checked_mul(a->items[t].coef, scale, &k) || !affine_push(c, out, k, a->items[t].atom))
            return false;
    return checked_mul(a->constant, scale, &k) && checked_add(out->constant, k, &out->constant);
}

static int term_order(const void *a, const void *b)
{
    return expr_order(((const Term *)a)->atom, ((const Term *)b)->atom);
}

bool affine_normalize(Affine *a)
{
    if (a->n > 1)
        qsort(a->items, (size_t)a->n, sizeof *a->items, term_order);
    int n = 0;
    for (int t = 0; t < a->n;) {
        Term sum = a->items[t++];
        while (t < a->n && expr_order(a->items[t].atom, sum.atom) == 0)
            if (!checked_add(sum.coef, a->items[t++].coef, &sum.coef))
                return false;
        if (sum.coef != 0)
            a->items[n++] = sum;
    }
    a->n = n;
    return true;
}

void product_factors(Context *c, Expr *atom, ExprList *out)
{
    if (atom->kind == EX_MUL) {
        product_factors(c, atom->u.arg[0], out);
        product_factors(c, atom->u.arg[1], out);
    } else {
        VEC_PUSH(c->arena, out, atom);
    }
}

static int factor_order_qsort(const void *a, const void *b)
{
    return factor_order(*(Expr *const *)a, *(Expr *const *)b);
}

Expr *product_build(Context *c, ExprList *factors, Span span)
{
    if (factors->n == 0)
        return NULL;
    qsort(factors->items, (size_t)factors->n, sizeof *factors->items, factor_order_qsort);
    Expr *product = factors->items[0];
    for (int k = 1; k < factors->n; k++)
        product = expr_binary(c, EX_MUL, product, factors->items[k], span);
    return product;
}

static Expr *atom_product(Context *c, Expr *a, Expr *b, Span span)
{
    ExprList factors = {0};
    product_factors(c, a, &factors);
    product_factors(c, b, &factors);
    return product_build(c, &factors, span);
}

/* Products of sums are multiplied out only as long as they stay small. */
enum { PRODUCT_TERMS = 64 };

static bool push_multiplied(Context *c, Affine *out, const Affine *a, const Affine *b,
                            int64_t scale, Span span)
{
    int64_t k;
    for (int s = 0; s < a->n; s++)
        for (int t = 0; t < b->n; t++)
            if (!checked_mul(a->items[s].coef, b->items[t].coef, &k) ||
                !checked_mul(k, scale, &k) ||
                !affine_push(c, out, k, atom_product(c, a->items[s].atom, b->items[t].atom, span)))
                return false;
    Affine rest_a = *a, rest_b = *b;
    rest_a.constant = 0;
    if (!checked_mul(a->constant, scale, &k) || !affine_push_scaled(c, out, &rest_b, k))
        return false;
    return checked_mul(b->constant, scale, &k) && affine_push_scaled(c, out, &rest_a, k);
}

bool affine_push_product(Context *c, Affine *out, const Affine *a, const Affine *b, int64_t scale,
                         Products products, Span span)
{
    int64_t k;
    if (a->n == 0)
        return checked_mul(a->constant, scale, &k) && affine_push_scaled(c, out, b, k);
    if (b->n == 0)
        return checked_mul(b->constant, scale, &k) && affine_push_scaled(c, out, a, k);
    bool single = a->n == 1 && a->constant == 0 && b->n == 1 && b->constant == 0;
    if (single || (products == PRODUCTS_EXPANDED && (a->n + 1) * (b->n + 1) <= PRODUCT_TERMS))
        return push_multiplied(c, out, a, b, scale, span);
    return affine_push(c, out, scale,
                       atom_product(c, affine_expr(c, a, span), affine_expr(c, b, span), span));
}

bool affine_collect(Context *c, Expr *e, int64_t scale, Products products, Affine *out)
{
    int64_t negated;
    switch (e->kind) {
    case EX_ADD:
        return affine_collect(c, e->u.arg[0], scale, products, out) &&
               affine_collect(c, e->u.arg[1], scale, products, out);
    case EX_SUB:
        return checked_mul(scale, -1, &negated) &&
               affine_collect(c, e->u.arg[0], scale, products, out) &&
               affine_collect(c, e->u.arg[1], negated, products, out);
    case EX_NEG:
        return checked_mul(scale, -1, &negated) &&
               affine_collect(c, e->u.arg[0], negated, products, out);
    case EX_MUL: {
        Affine a, b;
        return affine_of(c, e->u.arg[0], products, &a) && affine_of(c, e->u.arg[1], products, &b) &&
               affine_push_product(c, out, &a, &b, scale, products, e->span);
    }
    default: return affine_push(c, out, scale, e);
    }
}

bool affine_of(Context *c, Expr *e, Products products, Affine *out)
{
    *out = (Affine){0};
    return affine_collect(c, e, 1, products, out) && affine_normalize(out);
}

bool affine_combine(Context *c, const Affine *a, int64_t ka, const Affine *b, int64_t kb,
                    Affine *out)
{
    Affine sum = {0};
    if (!affine_push_scaled(c, &sum, a, ka) || !affine_push_scaled(c, &sum, b, kb) ||
        !affine_normalize(&sum))
        return false;
    *out = sum;
    return true;
}

int affine_find(const Affine *a, const Expr *atom)
{
    for (int t = 0; t < a->n; t++)
        if (expr_order(a->items[t].atom, atom) == 0)
            return t;
    return -1;
}

bool affine_equal(const Affine *a, const Affine *b)
{
    if (a->n != b->n || a->constant != b->constant)
        return false;
    for (int t = 0; t < a->n; t++)
        if (a->items[t].coef != b->items[t].coef ||
            expr_order(a->items[t].atom, b->items[t].atom) != 0)
            return false;
    return true;
}

int64_t affine_gcd(const Affine *a)
{
    int64_t g = 0;
    for (int t = 0; t < a->n; t++)
        g = gcd64(g, a->items[t].coef);
    return g;
}
