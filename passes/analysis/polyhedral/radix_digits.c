/* radix_digits.c - Replaces q N + r by one number where rows and forms use it only as a whole. See
 * radix.h.
 *
 *   e = 256 b + t, t in 0..256, b in 0..G       =>       e in 0..256 G */
#include "passes/analysis/polyhedral/radix.h"

bool radix_next_digit(Polynomials *r, int *k, DigitColumn *d)
{
    for (; *k < r->rows->n * r->rows->n; ++*k) {
        int lower = *k / r->rows->n, upper = *k % r->rows->n;
        Affine low = r->rows->items[lower].form, high = r->rows->items[upper].form;
        if (r->rows->items[lower].equal || r->rows->items[upper].equal || low.n != 1 ||
            low.constant != 0 || low.terms[0].factor != 1)
            continue;
        int column = low.terms[0].column;
        if (affine_factor(high, column) != -1 || radix_monomial(r, column) ||
            r->p->columns.items[column].fixed)
            continue;
        Affine width = poly_add(r->p, high, low, 1);
        width = poly_add(r->p, width, affine_const(1), 1);
        if (!radix_is_width(width) || radix_mentions(r, width, column))
            continue;
        *d = (DigitColumn){column, lower, upper, width};
        ++*k;
        return true;
    }
    return false;
}

/* How a row or form speaks of the digit d and of column b: not at all, as k (width b + d), or
 * otherwise. */
typedef enum { APART, TOGETHER, MIXED } Mention;

static Mention mention_of(Polynomials *r, Affine form, const DigitColumn *d, int b, Affine high)
{
    bool has_d = radix_mentions(r, form, d->column), has_b = radix_mentions(r, form, b);
    if (!has_d)
        return has_b ? MIXED : APART;
    Affine rest =
        poly_add(r->p, form, poly_term(r->p, 1, d->column), -affine_factor(form, d->column));
    rest = poly_add(r->p, rest, high, -affine_factor(form, d->column));
    return radix_mentions(r, rest, d->column) || radix_mentions(r, rest, b) ? MIXED : TOGETHER;
}

/* A row that bounds b: b or -b plus terms without the digit. */
static bool bounds_high(const Polynomials *r, Row row, const DigitColumn *d, int b)
{
    int64_t factor = affine_factor(row.form, b);
    Affine rest = row.form;
    if (row.equal || (factor != 1 && factor != -1) || radix_mentions(r, rest, d->column))
        return false;
    for (int i = 0; i < rest.n; i++)
        if (rest.terms[i].column != b && radix_has_base(r, rest.terms[i].column, b))
            return false;
    return true;
}

static bool may_merge(Polynomials *r, const DigitColumn *d, int b, Affine high)
{
    for (int i = 0; i < r->n_forms; i++)
        if (mention_of(r, r->forms[i], d, b, high) == MIXED)
            return false;
    for (int i = 0; i < r->rows->n; i++)
        if (i != d->lower && i != d->upper && !bounds_high(r, r->rows->items[i], d, b) &&
            mention_of(r, r->rows->items[i].form, d, b, high) == MIXED)
            return false;
    return true;
}

/* The digit becomes width b + digit, and b goes: b >= x says number >= width x, b <= x says number
 * <= width x + width - 1. */
static void merge(Polynomials *r, const DigitColumn *d, int b, Affine high)
{
    Poly *p = r->p;
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < old.n; i++) {
        Affine form = old.items[i].form;
        if (i == d->lower || i == d->upper)
            continue;
        if (bounds_high(r, old.items[i], d, b)) {
            int64_t sign = affine_factor(form, b);
            Affine rest = poly_add(p, form, poly_term(r->p, 1, b), -sign);
            form =
                poly_add(p, radix_multiply(r, rest, d->width), poly_term(r->p, 1, d->column), sign);
            if (sign < 0)
                form = poly_add(p, poly_add(p, form, d->width, 1), affine_const(-1), 1);
        } else {
            form = poly_add(p, form, high, -affine_factor(form, d->column));
        }
        radix_add_row(r, form, old.items[i].equal);
    }
    radix_not_negative(r, poly_add(p, d->width, affine_const(-1), 1));
    VEC_PUSH(p->ctx->arena, &r->merged, d->column);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = poly_add(p, r->forms[i], high, -affine_factor(r->forms[i], d->column));
}

static bool merge_in(Polynomials *r, const DigitColumn *d, Affine form)
{
    int64_t factor = affine_factor(form, d->column);
    for (int i = 0; i < form.n && factor; i++) {
        Term t = form.terms[i];
        Affine part;
        if (t.factor % factor != 0 ||
            !radix_divide_term(r, (Term){t.column, t.factor / factor, NULL}, d->width, &part) ||
            part.n != 1 || part.terms[0].factor != 1 || radix_monomial(r, part.terms[0].column))
            continue;
        int b = part.terms[0].column;
        Affine high = radix_multiply(r, d->width, poly_term(r->p, 1, b));
        if (b == d->column || r->p->columns.items[b].fixed || !may_merge(r, d, b, high))
            continue;
        merge(r, d, b, high);
        return true;
    }
    return false;
}

/* Merges the digit in the first form that mentions it. */
static bool merge_in_forms(Polynomials *r, const DigitColumn *d)
{
    for (int i = 0; i < r->n_forms; i++)
        if (radix_mentions(r, r->forms[i], d->column))
            return merge_in(r, d, r->forms[i]);
    return false;
}

/* The same in the first row, but for those of its range. */
static bool merge_in_rows(Polynomials *r, const DigitColumn *d)
{
    for (int i = 0; i < r->rows->n; i++)
        if (i != d->lower && i != d->upper && radix_mentions(r, r->rows->items[i].form, d->column))
            return merge_in(r, d, r->rows->items[i].form);
    return false;
}

bool radix_merge_digits(Polynomials *r)
{
    DigitColumn d;
    for (int k = 0; radix_next_digit(r, &k, &d);)
        if (merge_in_forms(r, &d) || merge_in_rows(r, &d))
            return true;
    return false;
}
