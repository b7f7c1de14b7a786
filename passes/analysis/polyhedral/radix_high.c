/* radix_high.c - Replaces comparisons of mixed-radix numbers by comparisons of their high digits.
 * See radix.h.
 *
 *   q N + r < M N, r in 0..N                    =>       q < M */
#include "passes/analysis/polyhedral/radix.h"

/* low - m width lies in 0..width, as all rows but `row` say. */
static bool within(Polynomials *r, Affine low, Affine width, int64_t m, int row)
{
    Affine shifted = poly_add(r->p, low, width, -m);
    return radix_implied(r, shifted, row) &&
           radix_implied(r, poly_add(r->p, poly_add(r->p, width, shifted, -1), affine_const(-1), 1),
                         row);
}

/* All rows but `row`, and least values of the columns, imply form >= 0: no row says of a quotient
 * that it is not negative (is_of_definition). To find that they do not takes a search of integer
 * points, a hundred times as long as elimination. It is done once: the rows that follow from these
 * have the same points, and where they let elimination find more, that is enough. */
static bool implied_by_ranges(Polynomials *r, Affine form, int row)
{
    RowList with = {0};
    for (int i = 0; i < r->rows->n; i++)
        if (i != row)
            VEC_PUSH(r->p->ctx->arena, &with, r->rows->items[i]);
    for (int i = 0; i < form.n; i++) {
        Affine column = poly_term(r->p, 1, form.terms[i].column);
        if (radix_range(r, column).min >= 0)
            VEC_PUSH(r->p->ctx->arena, &with, ((Row){.form = column}));
    }
    for (int i = 0; i < r->unimplied.n; i++)
        if (affine_equal(r->unimplied.items[i], form))
            return poly_implied_plainly(r->p, &with, form);
    if (poly_implied(r->p, &with, -1, form))
        return true;
    VEC_PUSH(r->p->ctx->arena, &r->unimplied, form);
    return false;
}

/* -width < low < width, as ranges of columns say, */
static bool ranges_between(const Polynomials *r, Affine low, Affine width)
{
    Affine most = poly_add(r->p, width, affine_const(-1), 1);
    return radix_range(r, poly_add(r->p, most, low, -1)).min >= 0 &&
           radix_range(r, poly_add(r->p, most, low, 1)).min >= 0;
}

/* or all rows but `row`. */
static bool lies_between(Polynomials *r, Affine low, Affine width, int row)
{
    Affine most = poly_add(r->p, width, affine_const(-1), 1);
    return ranges_between(r, low, width) ||
           (implied_by_ranges(r, poly_add(r->p, most, low, -1), row) &&
            implied_by_ranges(r, poly_add(r->p, most, low, 1), row));
}

/* width high + low >= 0, or == 0, with low between two multiples of the width. */
static bool split_row(Polynomials *r, int at, Affine width)
{
    Row row = r->rows->items[at];
    Affine high, low;
    radix_divide(r, row.form, width, &high, &low);
    if (high.n == 0 || (width.n == 0 && low.n == 0) || radix_has_product(r, low))
        return false;
    if (row.equal) {
        if (!lies_between(r, low, width, at))
            return false;
        radix_drop_row(r, at);
        radix_zero(r, high);
        radix_zero(r, low);
        return true;
    }
    int64_t about = width.n ? 0 : low.constant / width.constant;
    for (int64_t m = about - 1; m <= about + 1; m++)
        if (within(r, low, width, m, at)) {
            radix_drop_row(r, at);
            radix_not_negative(r, poly_add(r->p, high, affine_const(m), 1));
            return true;
        }
    return false;
}

/* g high + low == 0 with low in -g + 1..g says that both are 0. */
static bool split_equality(Polynomials *r, int at, int64_t g)
{
    Affine high, low, form = r->rows->items[at].form;
    radix_divide(r, form, affine_const(g), &high, &low);
    if (high.n == 0 || low.n == 0 ||
        !(radix_has_product(r, form) ? lies_between(r, low, affine_const(g), at)
                                     : ranges_between(r, low, affine_const(g))))
        return false;
    radix_drop_row(r, at);
    radix_zero(r, high);
    radix_zero(r, low);
    return true;
}

bool radix_split_equality(Polynomials *r, int at)
{
    Affine form = r->rows->items[at].form;
    for (int i = 0; i < form.n; i++) {
        const Monomial *m = radix_monomial(r, form.terms[i].column);
        for (int k = 0; m && k < m->degree; k++) {
            Affine width = poly_term(r->p, 1, m->base[k]);
            if (r->p->columns.items[m->base[k]].fixed && split_row(r, at, width))
                return true;
        }
    }
    return false;
}

bool radix_split_numbers(Polynomials *r)
{
    for (int i = 0; i < r->rows->n; i++) {
        Row row = r->rows->items[i];
        for (int k = 0; k < row.form.n && row.equal; k++) {
            int64_t factor = row.form.terms[k].factor, g = factor < 0 ? -factor : factor;
            if (g > 1 && split_equality(r, i, g))
                return true;
        }
    }
    return false;
}

/* Splits the first row with a product that can be split by the width of a digit. */
static bool split_product(Polynomials *r, Affine width)
{
    for (int m = 0; m < r->rows->n; m++)
        if (radix_has_product(r, r->rows->items[m].form) && split_row(r, m, width))
            return true;
    return false;
}

/* The same of rows that mention the digit and something else, but for those of its range. */
static bool split_mention(Polynomials *r, const DigitColumn *d)
{
    for (int m = 0; m < r->rows->n; m++)
        if (m != d->lower && m != d->upper &&
            radix_mentions(r, r->rows->items[m].form, d->column) && r->rows->items[m].form.n > 1 &&
            split_row(r, m, d->width))
            return true;
    return false;
}

typedef VEC(int) ColumnList;

/* By a column of the product that is at least 1, and not among those that were tried. */
static bool split_by_bases(Polynomials *r, Monomial m, ColumnList *tried)
{
    for (int k = 0; k < m.degree; k++) {
        Affine width = poly_term(r->p, 1, m.base[k]);
        int known = 0;
        while (known < tried->n && tried->items[known] != m.base[k])
            known++;
        if (known < tried->n)
            continue;
        VEC_PUSH(r->p->ctx->arena, tried, m.base[k]);
        if (radix_implied(r, width, -1) && split_product(r, width))
            return true;
    }
    return false;
}

bool radix_split_rows(Polynomials *r)
{
    DigitColumn d;
    ColumnList tried = {0};
    for (int i = 0; i < r->monomials.n; i++)
        if (split_by_bases(r, r->monomials.items[i], &tried))
            return true;
    for (int k = 0; radix_next_digit(r, &k, &d);)
        if (split_mention(r, &d))
            return true;
    return false;
}
