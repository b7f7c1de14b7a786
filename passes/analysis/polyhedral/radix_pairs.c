/* radix_pairs.c - Eliminates a sum of columns that two rows 0 <= x <= width - 1 constrain. See
 * radix.h.
 *
 *   0 <= 256 G - S < 256, G nowhere else        =>       (nothing): there is one such G
 *   0 <= e - q N < N                            =>       r in 0..N, for r = e - q N in the place of
 * e */
#include "passes/analysis/polyhedral/radix.h"

/* Rows i and j say 0 <= x <= width - 1 for x = form of i, which is more than a column. */
static bool is_pair(Polynomials *r, int i, int j, Affine *width)
{
    const Row *a = &r->rows->items[i], *b = &r->rows->items[j];
    if (i == j || a->equal || b->equal || a->form.n < 2)
        return false;
    *width = poly_add(r->p, poly_add(r->p, a->form, b->form, 1), affine_const(1), 1);
    return radix_is_width(*width);
}

static bool in_forms(const Polynomials *r, int column)
{
    for (int i = 0; i < r->n_forms; i++)
        if (radix_mentions(r, r->forms[i], column))
            return true;
    return false;
}

/* All rows that speak of the column, but i and j, follow from the others. */
static bool only_implied(Polynomials *r, int column, int i, int j)
{
    for (int k = 0; k < r->rows->n; k++)
        if (k != i && k != j && radix_mentions(r, r->rows->items[k].form, column) &&
            (r->rows->items[k].equal || !radix_implied(r, r->rows->items[k].form, k)))
            return false;
    return true;
}

/* 0 <= x - width q < width has one q for each x. */
static bool forget_quotient(Polynomials *r, int i, int j, Affine width)
{
    Affine form = r->rows->items[i].form, part;
    for (int t = 0; t < form.n; t++) {
        Term term = form.terms[t];
        if (!radix_divide_term(r, term, width, &part) || part.n != 1 ||
            (part.terms[0].factor != 1 && part.terms[0].factor != -1))
            continue;
        int q = part.terms[0].column, n = 0;
        for (int k = 0; k < form.n; k++)
            n += radix_has_base(r, form.terms[k].column, q);
        if (n != 1 || radix_monomial(r, q) || radix_mentions(r, width, q) || in_forms(r, q))
            continue;
        /* Rows that follow from others are dropped one after the other: two may follow from each
         * other. */
        if (!only_implied(r, q, i, j))
            continue;
        Affine lower = r->rows->items[i].form, upper = r->rows->items[j].form;
        bool dropped = true;
        for (int k = 0; k < r->rows->n && dropped; k++) {
            Affine row = r->rows->items[k].form;
            if (!radix_mentions(r, row, q) || affine_equal(row, lower) || affine_equal(row, upper))
                continue;
            dropped = radix_implied(r, row, k);
            if (dropped)
                radix_drop_row(r, k--);
        }
        for (int k = 0; k < r->rows->n && dropped; k++)
            if (radix_mentions(r, r->rows->items[k].form, q))
                radix_drop_row(r, k--);
        if (dropped)
            radix_not_negative(r, poly_add(r->p, width, affine_const(-1), 1));
        return true;
    }
    return false;
}

/* How many rows and forms speak of the column. */
static int uses_of(const Polynomials *r, int column)
{
    int n = 0;
    for (int i = 0; i < r->rows->n; i++)
        n += radix_mentions(r, r->rows->items[i].form, column);
    for (int i = 0; i < r->n_forms; i++)
        n += radix_mentions(r, r->forms[i], column);
    return n;
}

/* 0 <= x < width: introduces a column for x, and eliminates one of the columns that it adds.
 * Columns introduced here are not eliminated, or two could replace each other forever. */
static bool name_remainder(Polynomials *r, int i, Affine width)
{
    Affine form = r->rows->items[i].form, high, low;
    int at = -1;
    radix_divide(r, form, width, &high, &low);
    if (high.n == 0)
        return false;
    for (int k = 0; k < low.n; k++) {
        int column = low.terms[k].column;
        if (radix_is_solvable(r, form, low.terms[k]) && !r->p->columns.items[column].fixed &&
            column < r->n_given && (at < 0 || uses_of(r, column) < uses_of(r, at)))
            at = column;
    }
    if (at < 0)
        return false;
    int64_t factor = affine_factor(form, at);
    Affine digit = poly_free_column(r->p, 0, INT64_MAX);
    Affine rest = poly_add(r->p, form, poly_term(r->p, 1, at), -factor);
    Affine value = poly_add(r->p, digit, rest, -1); /* factor x = digit - rest */
    radix_substitute(r, at, poly_add(r->p, affine_const(0), value, factor));
    return true;
}

/* 0 <= x <= 0 is an equality, if that gives a column a value that varies. */
static bool join_opposites(Polynomials *r, int i, int j, Affine width)
{
    Affine form = r->rows->items[i].form;
    bool varies = false;
    for (int k = 0; k < form.n; k++)
        varies |= !r->p->columns.items[form.terms[k].column].fixed &&
                  radix_is_solvable(r, form, form.terms[k]);
    if (!varies || width.n > 0 || width.constant != 1)
        return false;
    radix_drop_row(r, i > j ? i : j);
    radix_drop_row(r, i > j ? j : i);
    radix_zero(r, form);
    return true;
}

bool radix_use_pairs(Polynomials *r)
{
    Affine width;
    for (int i = 0; i < r->rows->n; i++)
        for (int j = 0; j < r->rows->n; j++)
            if (is_pair(r, i, j, &width) &&
                (join_opposites(r, i, j, width) || forget_quotient(r, i, j, width) ||
                 name_remainder(r, i, width)))
                return true;
    return false;
}
