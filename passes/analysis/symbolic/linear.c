/* linear.c - see linear.h. */
#include "passes/analysis/symbolic/linear.h"

#include <stdlib.h>

/* Columns by number, atoms by expr_order; factors do not count. */
static inline int term_order(const Term *a, const Term *b)
{
    return a->atom ? expr_order(a->atom, b->atom)
                   : (a->column > b->column) - (a->column < b->column);
}

Affine affine_const(int64_t value)
{
    return (Affine){.constant = value};
}

void affine_append(Context *c, Affine *a, Term term)
{
    if (term.factor == 0)
        return;
    if (a->n == a->capacity)
        a->terms = vec_grow(c->arena, a->terms, a->n, &a->capacity, sizeof *a->terms);
    a->terms[a->n++] = term;
}

static int compare_terms(const void *a, const void *b)
{
    return term_order(a, b);
}

/* Most sums have few terms, most of them in order. */
static void sort_terms(Affine *a)
{
    enum { FEW = 8 };
    if (a->n > FEW) {
        qsort(a->terms, (size_t)a->n, sizeof *a->terms, compare_terms);
        return;
    }
    for (int t = 1; t < a->n; t++) {
        Term term = a->terms[t];
        int at = t;
        for (; at > 0 && term_order(&a->terms[at - 1], &term) > 0; at--)
            a->terms[at] = a->terms[at - 1];
        if (at < t)
            a->terms[at] = term;
    }
}

bool affine_normalize(Affine *a)
{
    sort_terms(a);
    int n = 0;
    for (int t = 0; t < a->n;) {
        Term sum = a->terms[t++];
        while (t < a->n && term_order(&a->terms[t], &sum) == 0)
            if (!checked_add(sum.factor, a->terms[t++].factor, &sum.factor))
                return false;
        if (sum.factor != 0)
            a->terms[n++] = sum;
    }
    a->n = n;
    return true;
}

bool affine_push_scaled(Context *c, Affine *out, const Affine *a, int64_t scale)
{
    bool fits = add_product(&out->constant, a->constant, scale);
    for (int t = 0; t < a->n && fits; t++) {
        Term term = a->terms[t];
        term.factor = 0;
        fits = add_product(&term.factor, a->terms[t].factor, scale);
        affine_append(c, out, term);
    }
    return fits;
}

bool affine_combine(Context *c, Affine a, int64_t ka, Affine b, int64_t kb, Affine *out)
{
    Affine sum = {.capacity = a.n + b.n};
    bool fits =
        add_product(&sum.constant, a.constant, ka) && add_product(&sum.constant, b.constant, kb);
    sum.terms = arena_room(c->arena, sizeof(Term) * (size_t)sum.capacity);
    for (int i = 0, j = 0; fits && (i < a.n || j < b.n);) {
        int order = i == a.n ? 1 : j == b.n ? -1 : term_order(&a.terms[i], &b.terms[j]);
        Term term = order <= 0 ? a.terms[i] : b.terms[j];
        term.factor = 0;
        if (order <= 0)
            fits = add_product(&term.factor, a.terms[i++].factor, ka);
        if (order >= 0)
            fits = fits && add_product(&term.factor, b.terms[j++].factor, kb);
        if (term.factor != 0)
            sum.terms[sum.n++] = term;
    }
    *out = sum;
    return fits;
}

Affine affine_without(Context *c, Affine a, int at)
{
    Affine rest = affine_const(a.constant);
    for (int t = 0; t < a.n; t++)
        if (t != at)
            affine_append(c, &rest, a.terms[t]);
    return rest;
}

Affine affine_multiples(Context *c, Affine a, int64_t g)
{
    Affine out = {0};
    for (int t = 0; t < a.n; t++)
        if (a.terms[t].factor % g == 0)
            affine_append(c, &out,
                          (Term){a.terms[t].column, a.terms[t].factor / g, a.terms[t].atom});
    return out;
}

Affine affine_divide(Context *c, Affine a, int64_t g)
{
    Affine out = affine_multiples(c, a, g);
    out.constant = floor_div64(a.constant, g);
    return out;
}

Affine affine_reduced(Context *c, Affine form, bool equal)
{
    int64_t g = affine_gcd(form);
    return g < 2 || (equal && form.constant % g != 0) ? form : affine_divide(c, form, g);
}

static bool same_term(const Term *a, const Term *b)
{
    return a->atom ? expr_same(a->atom, b->atom) : a->column == b->column;
}

int affine_find(Affine a, const Term *term)
{
    for (int t = 0; t < a.n; t++)
        if (same_term(&a.terms[t], term))
            return t;
    return -1;
}

int64_t affine_factor(Affine a, int column)
{
    int at = affine_find(a, &(Term){.column = column});
    return at < 0 ? 0 : a.terms[at].factor;
}

bool affine_equal(Affine a, Affine b)
{
    bool same = a.n == b.n && a.constant == b.constant;
    for (int t = 0; t < a.n && same; t++)
        same = a.terms[t].factor == b.terms[t].factor && same_term(&a.terms[t], &b.terms[t]);
    return same;
}

int64_t affine_gcd(Affine a)
{
    int64_t g = 0;
    for (int t = 0; t < a.n && g != 1; t++)
        g = gcd64(g, a.terms[t].factor);
    return g;
}
