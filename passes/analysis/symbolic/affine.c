/* affine.c - Translates INDEX expressions to linear forms: sums of factor * atom + constant.
 *
 *   (i + 2) * 4 - j + i    ->    5 * i - 1 * j + 8
 *
 * Terms are pushed in any order and sorted once, so a sum of n terms costs n log n.  A product
 * of two atoms is an atom itself, its factors in canonical order. */
#include <stdlib.h>

#include "passes/analysis/symbolic/affine.h"

bool affine_push(Context *c, Affine *a, int64_t factor, Expr *atom)
{
    if (atom->kind == EX_INT)
        return checked_mul(factor, atom->u.i, &factor) &&
               checked_add(a->constant, factor, &a->constant);
    affine_append(c, a, (Term){.factor = factor, .atom = atom});
    return true;
}

void expr_chain(Context *c, Expr *e, ExprKind kind, ExprList *out)
{
    if (e->kind != kind) {
        VEC_PUSH(c->arena, out, e);
        return;
    }
    expr_chain(c, e->u.arg[0], kind, out);
    expr_chain(c, e->u.arg[1], kind, out);
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

Expr *product_divide(Context *c, Expr *atom, Expr *divisor)
{
    ExprList factors = {0}, by = {0};
    expr_chain(c, atom, EX_MUL, &factors);
    expr_chain(c, divisor, EX_MUL, &by);
    for (int k = 0; k < by.n; k++) {
        int at = 0;
        while (at < factors.n && !expr_same(factors.items[at], by.items[k]))
            at++;
        if (at == factors.n)
            return NULL;
        factors.items[at] = factors.items[--factors.n];
    }
    return factors.n ? product_build(c, &factors, atom->span) : expr_index(c, 1);
}

static Expr *atom_product(Context *c, Expr *a, Expr *b, Span span)
{
    ExprList factors = {0};
    expr_chain(c, a, EX_MUL, &factors);
    expr_chain(c, b, EX_MUL, &factors);
    return product_build(c, &factors, span);
}

static bool push_multiplied(Context *c, Affine *out, const Affine *a, const Affine *b,
                            int64_t scale, Span span)
{
    int64_t k;
    for (int s = 0; s < a->n; s++)
        for (int t = 0; t < b->n; t++)
            if (!checked_mul(a->terms[s].factor, b->terms[t].factor, &k) ||
                !checked_mul(k, scale, &k) ||
                !affine_push(c, out, k, atom_product(c, a->terms[s].atom, b->terms[t].atom, span)))
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
