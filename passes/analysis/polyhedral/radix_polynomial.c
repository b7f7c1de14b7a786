/* radix_polynomial.c - Represents linear forms with products of columns as polynomials, and divides
 * them by a width. See radix.h. */
#include "passes/analysis/polyhedral/radix.h"

const Monomial *radix_monomial(const Polynomials *r, int column)
{
    for (int i = 0; i < r->monomials.n; i++)
        if (r->monomials.items[i].column == column)
            return &r->monomials.items[i];
    return NULL;
}

Monomial radix_monomial_of(const Polynomials *r, int column)
{
    const Monomial *m = radix_monomial(r, column);
    return m ? *m : (Monomial){column, 1, {column}};
}

/* The column that stands for the product of these. */
static int monomial_column(Polynomials *r, const int *base, int degree)
{
    if (degree == 1)
        return base[0];
    for (int i = 0; i < r->monomials.n; i++) {
        const Monomial *m = &r->monomials.items[i];
        bool same = m->degree == degree;
        for (int k = 0; k < degree && same; k++)
            same = m->base[k] == base[k];
        if (same)
            return m->column;
    }
    Monomial m = {.degree = degree};
    m.column = poly_free_column(r->p, INT64_MIN, INT64_MAX).terms[0].column;
    for (int k = 0; k < degree; k++)
        m.base[k] = base[k];
    VEC_PUSH(r->p->ctx->arena, &r->monomials, m);
    return m.column;
}

static int times_column(Polynomials *r, int a, int b)
{
    Monomial x = radix_monomial_of(r, a), y = radix_monomial_of(r, b);
    int base[2 * MAX_DEGREE], n = 0, i = 0, j = 0;
    if (x.degree + y.degree > MAX_DEGREE) {
        r->failed = true;
        return a;
    }
    while (i < x.degree || j < y.degree)
        base[n++] =
            j == y.degree || (i < x.degree && x.base[i] <= y.base[j]) ? x.base[i++] : y.base[j++];
    return monomial_column(r, base, n);
}

Affine radix_multiply(Polynomials *r, Affine a, Affine b)
{
    Affine sum = poly_add(r->p, affine_const(0), b, a.constant);
    for (int i = 0; i < a.n; i++) {
        for (int k = 0; k < b.n; k++) {
            int column = times_column(r, a.terms[i].column, b.terms[k].column);
            int64_t factor;
            if (!checked_mul(a.terms[i].factor, b.terms[k].factor, &factor))
                r->failed = true;
            else
                sum = poly_add(r->p, sum, poly_term(r->p, factor, column), 1);
        }
        sum =
            poly_add(r->p, sum, poly_term(r->p, a.terms[i].factor, a.terms[i].column), b.constant);
    }
    return sum;
}

bool radix_has_base(const Polynomials *r, int column, int base)
{
    Monomial m = radix_monomial_of(r, column);
    for (int k = 0; k < m.degree; k++)
        if (m.base[k] == base)
            return true;
    return false;
}

bool radix_mentions(const Polynomials *r, Affine form, int base)
{
    for (int i = 0; i < form.n; i++)
        if (radix_has_base(r, form.terms[i].column, base))
            return true;
    return false;
}

bool radix_has_product(const Polynomials *r, Affine form)
{
    for (int i = 0; i < form.n; i++)
        if (radix_monomial(r, form.terms[i].column))
            return true;
    return false;
}

bool radix_divide_term(Polynomials *r, Term t, Affine width, Affine *out)
{
    int64_t by = width.n ? width.terms[0].factor : width.constant;
    if (t.factor % by != 0)
        return false;
    if (!width.n) {
        *out = poly_term(r->p, t.factor / by, t.column);
        return true;
    }
    Monomial m = radix_monomial_of(r, t.column);
    int at = 0;
    while (at < m.degree && m.base[at] != width.terms[0].column)
        at++;
    if (at == m.degree)
        return false;
    for (int k = at + 1; k < m.degree; k++)
        m.base[k - 1] = m.base[k];
    *out = m.degree == 1 ? affine_const(t.factor / by)
                         : poly_term(r->p, t.factor / by, monomial_column(r, m.base, m.degree - 1));
    return true;
}

void radix_divide(Polynomials *r, Affine form, Affine width, Affine *high, Affine *low)
{
    *high = affine_const(0);
    *low = affine_const(form.constant);
    for (int i = 0; i < form.n; i++) {
        Affine part;
        if (radix_divide_term(r, form.terms[i], width, &part))
            *high = poly_add(r->p, *high, part, 1);
        else
            *low = poly_add(r->p, *low, poly_term(r->p, form.terms[i].factor, form.terms[i].column),
                            1);
    }
}

Bounds radix_range(const Polynomials *r, Affine form)
{
    Bounds range = affine_range(r->p, form);
    for (int i = 0; i < r->merged.n; i++)
        if (affine_factor(form, r->merged.items[i]) != 0)
            range = bounds_none();
    return range;
}

bool radix_is_width(Affine width)
{
    return width.n == 0 ? width.constant >= 1
                        : width.n == 1 && width.constant == 0 && width.terms[0].factor >= 1;
}
