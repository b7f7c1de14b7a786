/* size_sum.c - Bounds index arithmetic by sums of products of symbolic sizes with rational
 * factors. */
#include "passes/lower/index/size_sum.h"

#include "passes/analysis/symbolic/affine.h"

enum { SIZE_SUM_TERMS = 24 };

/* form / by in lowest terms. */
static const SizeSum *fraction(Context *c, Affine form, int64_t by)
{
    int64_t gcd = gcd64(gcd64(affine_gcd(form), form.constant), by);
    if (by == INT64_MIN || form.n > SIZE_SUM_TERMS)
        return NULL;
    if (gcd > 1)
        form = affine_divide(c, form, gcd);
    SizeSum *sum = ARENA_NEW(c->arena, SizeSum);
    *sum = (SizeSum){form, by / gcd};
    return sum;
}

const SizeSum *size_sum_int(Context *c, int64_t value)
{
    return fraction(c, affine_const(value), 1);
}

const SizeSum *size_sum_of(Context *c, const Var *size)
{
    Affine form = {0};
    affine_append(c, &form, (Term){.factor = 1, .atom = expr_var(c, (Var *)size, span_none())});
    return fraction(c, form, 1);
}

const SizeSum *size_sum_scale(Context *c, const SizeSum *a, int64_t num, int64_t den)
{
    int64_t by;
    Affine form;
    bool fits = a && den != INT64_MIN && checked_mul(a->by, den < 0 ? -den : den, &by) &&
                (den > 0 || checked_mul(num, -1, &num)) &&
                affine_combine(c, a->form, num, affine_const(0), 0, &form);
    return fits ? fraction(c, form, by) : NULL;
}

/* a + b * k */
static const SizeSum *add_scaled(Context *c, const SizeSum *a, const SizeSum *b, int64_t k)
{
    if (!a || !b)
        return NULL;
    int64_t gcd = gcd64(a->by, b->by), by, kb;
    Affine form;
    bool fits = checked_mul(a->by, b->by / gcd, &by) && checked_mul(k, a->by / gcd, &kb) &&
                affine_combine(c, a->form, b->by / gcd, b->form, kb, &form);
    return fits ? fraction(c, form, by) : NULL;
}

const SizeSum *size_sum_add(Context *c, const SizeSum *a, const SizeSum *b)
{
    return add_scaled(c, a, b, 1);
}

const SizeSum *size_sum_sub(Context *c, const SizeSum *a, const SizeSum *b)
{
    return add_scaled(c, a, b, -1);
}

const SizeSum *size_sum_mul(Context *c, const SizeSum *a, const SizeSum *b)
{
    int64_t by;
    Affine form = {0};
    bool fits =
        a && b && (a->form.n + 1) * (b->form.n + 1) <= PRODUCT_TERMS &&
        checked_mul(a->by, b->by, &by) &&
        affine_push_product(c, &form, &a->form, &b->form, 1, PRODUCTS_EXPANDED, span_none()) &&
        affine_normalize(&form);
    return fits ? fraction(c, form, by) : NULL;
}

const SizeSum *size_sum_div_size(Context *c, const SizeSum *a, Expr *size)
{
    Affine form = {0};
    if (!a)
        return NULL;
    if (a->form.constant > 0)
        form.constant = a->form.constant;
    for (int i = 0; i < a->form.n; i++) {
        Term t = a->form.terms[i];
        Expr *left = product_divide(c, t.atom, size);
        if ((left || t.factor > 0) && !affine_push(c, &form, t.factor, left ? left : t.atom))
            return NULL;
    }
    return affine_normalize(&form) ? fraction(c, form, a->by) : NULL;
}

const SizeSum *size_sum_positive(Context *c, const SizeSum *a)
{
    if (!a)
        return NULL;
    Affine form = affine_const(a->form.constant > 0 ? a->form.constant : 0);
    for (int i = 0; i < a->form.n; i++)
        if (a->form.terms[i].factor > 0)
            affine_append(c, &form, a->form.terms[i]);
    return fraction(c, form, a->by);
}

const SizeSum *size_sum_above(Context *c, const SizeSum *a, const SizeSum *b)
{
    return size_sum_add(c, b, size_sum_positive(c, size_sum_sub(c, a, b)));
}

const SizeSum *size_sum_below(Context *c, const SizeSum *a, const SizeSum *b)
{
    return size_sum_sub(c, a, size_sum_positive(c, size_sum_sub(c, a, b)));
}

bool size_sum_within(Context *c, const SizeSum *a, const SizeSum *b)
{
    const SizeSum *more = size_sum_positive(c, size_sum_sub(c, a, b));
    return more && more->form.n == 0 && more->form.constant == 0;
}
