/* radix_rows.c - Adds polynomial rows, substitutes values for columns, and drops rows that follow
 * from others. See radix.h. */
#include "passes/analysis/polyhedral/radix.h"

void radix_drop_row(Polynomials *r, int at)
{
    r->rows->items[at] = r->rows->items[--r->rows->n];
}

bool radix_is_solvable(const Polynomials *r, Affine form, Term t)
{
    int n = 0;
    for (int m = 0; m < form.n; m++)
        n += radix_has_base(r, form.terms[m].column, t.column);
    return n == 1 && (t.factor == 1 || t.factor == -1) && !radix_monomial(r, t.column);
}

static void add_row(Polynomials *r, Row row)
{
    row.form = affine_reduced(r->p->ctx, row.form, row.equal);
    if (row.form.n == 0 && (row.equal ? row.form.constant == 0 : row.form.constant >= 0))
        return;
    for (int i = 0; i < r->rows->n; i++)
        if (r->rows->items[i].equal == row.equal && affine_equal(r->rows->items[i].form, row.form))
            return;
    VEC_PUSH(r->p->ctx->arena, r->rows, row);
}

void radix_add_row(Polynomials *r, Affine form, bool equal)
{
    add_row(r, (Row){.form = form, .equal = equal});
}

void radix_not_negative(Polynomials *r, Affine form)
{
    add_row(r, (Row){.form = form});
}

void radix_zero(Polynomials *r, Affine form)
{
    add_row(r, (Row){.form = form, .equal = true});
}

static Affine with_value(Polynomials *r, Affine form, int column, Affine value)
{
    Affine sum = affine_const(form.constant);
    for (int i = 0; i < form.n; i++) {
        Term t = form.terms[i];
        Affine part = poly_term(r->p, 1, t.column);
        if (radix_has_base(r, t.column, column)) {
            Affine rest = affine_const(1);
            Monomial m = radix_monomial_of(r, t.column);
            for (int k = 0; k < m.degree; k++)
                rest = radix_multiply(r, rest,
                                      m.base[k] == column ? value : poly_term(r->p, 1, m.base[k]));
            part = rest;
        }
        sum = poly_add(r->p, sum, part, t.factor);
    }
    return sum;
}

void radix_substitute(Polynomials *r, int column, Affine value)
{
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < old.n; i++)
        radix_add_row(r, with_value(r, old.items[i].form, column, value), old.items[i].equal);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = with_value(r, r->forms[i], column, value);
}

bool radix_implied(Polynomials *r, Affine form, int without)
{
    return poly_implied(r->p, r->rows, without, form);
}
