/* poly_products.c - Splits mixed-radix numbers whose digits have symbolic width.
 *
 * Fused loops of symbolic extents make numbers like q N + r with r in 0..N, and quotients of tiled
 * loops by N. Rows about such a number become rows about its digits, without products:
 *
 *   e = 256 b + t, t in 0..256, b in 0..G   e in 0..256 G    e replaces b and t
 *   0 <= 256 G - S < 256, G nowhere else    (nothing)        there is one such G
 *   0 <= e - q N < N                        r in 0..N        r = e - q N replaces e
 *   q N + r < M N, r in 0..N                q < M            the high digits decide
 *   g N + c == h N + d, c and d in 0..N     g == h, c == d   N may be C / G, a column of its own
 *
 * A row that says h w + low >= 0 says h >= 0 where low lies in 0..w, and h + m >= 0 where low - m w
 * does: here w is a number or a size. All steps keep the values that the forms of the image take.
 * Products are polynomials on the way: a column for each monomial, so that (H - 2) W F divides by W
 * however it was written. */
#include "passes/analysis/polyhedral/radix.h"

enum { MAX_ROUNDS = 200 };

/* ---- polynomials in the place of products ---------------------------------------------------- */

static Affine expanded(Polynomials *r, Affine form)
{
    for (int i = 0; i < r->expansions.n; i++) {
        Expansion e = r->expansions.items[i];
        int64_t factor = affine_factor(form, e.column);
        if (factor && factor % e.by == 0) {
            form = poly_add(r->p, form, poly_term(r->p, 1, e.column), -factor);
            form = poly_add(r->p, form, e.value, factor / e.by);
        }
    }
    return form;
}

static bool is_product(const Poly *p, int column)
{
    for (int i = 0; i < p->products.n; i++)
        if (p->products.items[i].column == column)
            return true;
    return false;
}

/* True for a row that the meaning of the column implies: x N >= 0, e / N >= 0. */
static bool is_of_definition(const Polynomials *r, Row row)
{
    const Poly *p = r->p;
    if (row.equal || row.form.n != 1 || row.form.constant != 0 || row.form.terms[0].factor < 0 ||
        p->columns.items[row.form.terms[0].column].min < 0)
        return false;
    int column = row.form.terms[0].column;
    if (is_product(p, column))
        return true;
    for (int i = 0; i < p->quotients.n; i++)
        if (p->quotients.items[i].column == column && p->quotients.items[i].divisor.n > 0)
            return true;
    return false;
}

static bool has_expansion(const Polynomials *r, int column)
{
    for (int i = 0; i < r->expansions.n; i++)
        if (r->expansions.items[i].column == column)
            return true;
    return false;
}

/* The term of a size for which a column of the whole size makes room; NULL: there is none. */
static const Term *term_to_replace(const Polynomials *r, Affine a)
{
    const Term *best = NULL;
    for (int i = 0; i < a.n; i++) {
        const Term *t = &a.terms[i];
        if (t->factor > 0 && !has_expansion(r, t->column) && !is_product(r->p, t->column) &&
            (!best || t->factor < best->factor))
            best = t;
    }
    return best;
}

/* Rows: size == a. No equality, which would take the column out again. */
static void tie_size(Polynomials *r, Affine size, Affine a)
{
    Affine gap = poly_add(r->p, size, a, -1);
    radix_not_negative(r, gap);
    radix_not_negative(r, poly_add(r->p, affine_const(0), gap, -1));
}

/* A column takes the place of a size such as N - 2, 2 N - 1 or M + N - 1, since polynomials divide
 * by columns: N becomes n + 2, 2 N becomes n + 1, and N becomes n - M + 1. */
static void name_size(Polynomials *r, Affine a)
{
    Context *c = r->p->ctx;
    int64_t g = gcd64(affine_gcd(a), a.constant);
    if (a.n == 0 || (a.n == 1 && a.constant == 0) || !affine_is_fixed(r->p, a))
        return;
    a = affine_divide(c, a, g);
    const Term *t = term_to_replace(r, a);
    if (!t)
        return;
    int64_t min = affine_range(r->p, a).min;
    Affine size = poly_fixed_column(r->p, min < 0 ? 0 : min, INT64_MAX);
    Affine rest = poly_add(r->p, a, poly_term(r->p, 1, t->column), -t->factor);
    Affine value = poly_add(r->p, size, rest, -1);
    VEC_PUSH(c->arena, &r->expansions, ((Expansion){t->column, t->factor, value}));
    if (t->factor != 1)
        tie_size(r, size, a);
}

static void expand_products(Polynomials *r)
{
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < r->p->products.n; i++)
        name_size(r, r->p->products.items[i].size);
    for (int i = 0; i < r->p->products.n; i++) {
        Product product = r->p->products.items[i];
        if (has_expansion(r, product.column))
            continue;
        Affine value = radix_multiply(r, expanded(r, product.factor), expanded(r, product.size));
        VEC_PUSH(r->p->ctx->arena, &r->expansions, ((Expansion){product.column, 1, value}));
    }
    for (int i = 0; i < old.n; i++)
        if (!is_of_definition(r, old.items[i]))
            radix_add_row(r, expanded(r, old.items[i].form), old.items[i].equal);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = expanded(r, r->forms[i]);
}

/* How well a value takes the place of a column: a size that products divide by is to stay whole,
 * where N - 1 == 64 q + t could take it apart. */
enum { IN_PRODUCTS, OTHER_FIXED, FREE };

static int replaceable(const Polynomials *r, int column)
{
    if (!r->p->columns.items[column].fixed)
        return FREE;
    for (int i = 0; i < r->monomials.n; i++)
        if (radix_has_base(r, r->monomials.items[i].column, column))
            return IN_PRODUCTS;
    return OTHER_FIXED;
}

/* x == a form without x takes its place, where the form is no number whose digits are equal. */
static bool use_equality(Polynomials *r)
{
    for (int i = 0; i < r->rows->n; i++) {
        Affine form = r->rows->items[i].form;
        int at = -1;
        for (int k = 0; k < form.n && r->rows->items[i].equal; k++) {
            int column = form.terms[k].column;
            if (radix_is_solvable(r, form, form.terms[k]) &&
                (at < 0 || replaceable(r, column) > replaceable(r, at) ||
                 replaceable(r, column) == FREE))
                at = column;
        }
        if (at < 0)
            continue;
        if (radix_has_product(r, form) && radix_split_equality(r, i))
            return true;
        int64_t factor = affine_factor(form, at);
        Affine rest = poly_add(r->p, form, poly_term(r->p, 1, at), -factor);
        radix_substitute(r, at, poly_add(r->p, affine_const(0), rest, -factor));
        return true;
    }
    return false;
}

/* ---- equal quotients ------------------------------------------------------------------------- */

/* The form with the first of two columns that a row says to be equal. */
static Affine renamed(const Polynomials *r, Affine form)
{
    for (int i = 0; i < r->rows->n; i++) {
        Affine row = r->rows->items[i].form;
        bool units = row.n == 2 && (row.terms[0].factor == 1 || row.terms[0].factor == -1);
        if (!r->rows->items[i].equal || row.constant != 0 || !units ||
            row.terms[1].factor != -row.terms[0].factor)
            continue;
        Affine change = poly_add(r->p, poly_term(r->p, 1, row.terms[0].column),
                                 poly_term(r->p, 1, row.terms[1].column), -1);
        form = poly_add(r->p, form, change, affine_factor(form, row.terms[1].column));
    }
    return form;
}

/* Rows: equal numbers have equal quotients by one size. Two threads of a block have the same
 * blockIdx.x, and so the same blockIdx.x / N. */
static void equate_quotients(Polynomials *r)
{
    const Poly *p = r->p;
    int n = p->quotients.n;
    Affine *dividend = ARENA_ARRAY(p->ctx->arena, Affine, n + 1);
    for (int i = 0; i < n; i++) {
        const Quotient *q = &p->quotients.items[i];
        dividend[i] = renamed(r, q->dividend);
        for (int k = 0; k < i; k++)
            if (q->divisor.n > 0 && affine_equal(dividend[i], dividend[k]) &&
                affine_equal(q->divisor, p->quotients.items[k].divisor)) {
                radix_zero(r, poly_add(r->p, poly_term(r->p, 1, q->column),
                                       poly_term(r->p, 1, p->quotients.items[k].column), -1));
                break;
            }
    }
}

/* ---- all steps ------------------------------------------------------------------------------- */

static bool any_product(const Polynomials *r)
{
    for (int i = 0; i < r->rows->n; i++)
        if (radix_has_product(r, r->rows->items[i].form))
            return true;
    for (int i = 0; i < r->n_forms; i++)
        if (radix_has_product(r, r->forms[i]))
            return true;
    return false;
}

static bool split(Polynomials *r)
{
    bool again = true;
    for (int round = 0;
         again && round < MAX_ROUNDS && !r->failed && r->p->ctx->solver->work_left > 0; round++)
        again = radix_split_numbers(r) || use_equality(r) || radix_merge_digits(r) ||
                radix_use_pairs(r) || radix_split_rows(r);
    if (r->failed || r->p->ctx->solver->work_left < 0)
        return false;
    if (!any_product(r))
        return true;
    bool none = radix_implied(r, affine_const(-1), -1); /* whatever the products are */
    if (none)
        radix_not_negative(r, affine_const(-1));
    return none;
}

bool poly_split_products(Poly *p, RowList *rows, Affine *forms, int n_forms)
{
    Polynomials r = {
        .p = p, .rows = rows, .forms = forms, .n_forms = n_forms, .n_given = p->columns.n};
    bool lost = p->lost;
    p->lost = false; /* of numbers that do not fit */
    equate_quotients(&r);
    expand_products(&r);
    bool done = split(&r) && !p->lost;
    p->lost = lost;
    return done;
}
