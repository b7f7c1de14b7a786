/* poly_products.c - numbers with digits of symbolic width.
 *
 * Loops of symbolic extents that were fused make numbers like q N + r with r in 0..N, and quotients of tiled loops by N. What a
 * set of rows says of such a number it says of its digits, and then no product is left:
 *
 *   e = 256 b + t, t in 0..256, b in 0..G                e in 0..256 G               e in the place of b and t
 *   0 <= 256 G - S < 256, G nowhere else                 (nothing)                   there is one such G
 *   0 <= e - q N < N                                     r in 0..N                   r = e - q N in the place of e
 *   q N + r < M N, r in 0..N                             q < M                       the high digits decide
 *
 * A row that says h w + low >= 0 says h >= 0 where low lies in 0..w, and h + m >= 0 where low - m w does: here w is a number or
 * a size. All steps keep the values that the forms of the image take. Products are polynomials on the way: a column for each
 * monomial, so that (H - 2) W F divides by W however it was written. */
#include "passes/analysis/poly_reduce.h"

enum { MAX_DEGREE = 5, MAX_ROUNDS = 200, MOST_CASES = 16 };

/* The product of degree >= 2 of base columns, ascending. */
typedef struct {
    int column, degree, base[MAX_DEGREE];
} Monomial;

typedef struct {
    int column;
    Affine value;
} Expansion;

/* A column with rows `column >= 0` and `column <= width - 1`. */
typedef struct {
    int column, lower, upper; /* the rows */
    Affine width;
} Digit;

typedef struct {
    Poly *p;
    RowList *rows;
    Affine *forms;
    int n_forms;
    VEC(Monomial) monomials;
    VEC(Expansion) expansions;
    int n_given; /* columns that there were */
    bool failed; /* a number or a degree does not fit */
} Radix;

/* ---- polynomials ----------------------------------------------------------------------------- */

static const Monomial *find_monomial(const Radix *r, int column)
{
    for (int i = 0; i < r->monomials.n; i++)
        if (r->monomials.items[i].column == column)
            return &r->monomials.items[i];
    return NULL;
}

static Monomial monomial_of(const Radix *r, int column)
{
    const Monomial *m = find_monomial(r, column);
    return m ? *m : (Monomial){column, 1, {column}};
}

static Affine term_form(Radix *r, int64_t factor, int column)
{
    Term *term = ARENA_NEW(r->p->ctx->arena, Term);
    *term = (Term){column, factor};
    return (Affine){0, term, 1};
}

/* The column that stands for the product of these. */
static int monomial_column(Radix *r, const int *base, int degree)
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
    m.column = poly_column(r->p, INT64_MIN, INT64_MAX, false).terms[0].column;
    for (int k = 0; k < degree; k++)
        m.base[k] = base[k];
    VEC_PUSH(r->p->ctx->arena, &r->monomials, m);
    return m.column;
}

static int times_column(Radix *r, int a, int b)
{
    Monomial x = monomial_of(r, a), y = monomial_of(r, b);
    int base[2 * MAX_DEGREE], n = 0, i = 0, j = 0;
    if (x.degree + y.degree > MAX_DEGREE) {
        r->failed = true;
        return a;
    }
    while (i < x.degree || j < y.degree)
        base[n++] = j == y.degree || (i < x.degree && x.base[i] <= y.base[j]) ? x.base[i++] : y.base[j++];
    return monomial_column(r, base, n);
}

static Affine multiply(Radix *r, Affine a, Affine b)
{
    Affine sum = poly_add(r->p, affine_const(0), b, a.constant);
    for (int i = 0; i < a.n; i++) {
        for (int k = 0; k < b.n; k++) {
            int column = times_column(r, a.terms[i].column, b.terms[k].column);
            int64_t factor;
            if (!checked_mul(a.terms[i].factor, b.terms[k].factor, &factor))
                r->failed = true;
            else
                sum = poly_add(r->p, sum, term_form(r, factor, column), 1);
        }
        sum = poly_add(r->p, sum, term_form(r, a.terms[i].factor, a.terms[i].column), b.constant);
    }
    return sum;
}

static bool has_base(const Radix *r, int column, int base)
{
    Monomial m = monomial_of(r, column);
    for (int k = 0; k < m.degree; k++)
        if (m.base[k] == base)
            return true;
    return false;
}

static bool mentions(const Radix *r, Affine form, int base)
{
    for (int i = 0; i < form.n; i++)
        if (has_base(r, form.terms[i].column, base))
            return true;
    return false;
}

static int64_t factor_of(Affine a, int column)
{
    for (int i = 0; i < a.n; i++)
        if (a.terms[i].column == column)
            return a.terms[i].factor;
    return 0;
}

static bool has_product(const Radix *r, Affine form)
{
    for (int i = 0; i < form.n; i++)
        if (find_monomial(r, form.terms[i].column))
            return true;
    return false;
}

/* The term divided by the width, a number or a number times a base column. */
static bool divide_term(Radix *r, Term t, Affine width, Affine *out)
{
    int64_t by = width.n ? width.terms[0].factor : width.constant;
    if (t.factor % by != 0)
        return false;
    if (!width.n) {
        *out = term_form(r, t.factor / by, t.column);
        return true;
    }
    Monomial m = monomial_of(r, t.column);
    int at = 0;
    while (at < m.degree && m.base[at] != width.terms[0].column)
        at++;
    if (at == m.degree)
        return false;
    for (int k = at + 1; k < m.degree; k++)
        m.base[k - 1] = m.base[k];
    *out = m.degree == 1 ? affine_const(t.factor / by)
                         : term_form(r, t.factor / by, monomial_column(r, m.base, m.degree - 1));
    return true;
}

/* form = width * high + low. */
static void divide(Radix *r, Affine form, Affine width, Affine *high, Affine *low)
{
    *high = affine_const(0);
    *low = affine_const(form.constant);
    for (int i = 0; i < form.n; i++) {
        Affine part;
        if (divide_term(r, form.terms[i], width, &part))
            *high = poly_add(r->p, *high, part, 1);
        else
            *low = poly_add(r->p, *low, term_form(r, form.terms[i].factor, form.terms[i].column), 1);
    }
}

/* A width that forms divide by: at least 1, or a positive number of a size. */
static bool is_width(Affine width)
{
    return width.n == 0 ? width.constant >= 1
                        : width.n == 1 && width.constant == 0 && width.terms[0].factor >= 1;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void drop_row(Radix *r, int at)
{
    r->rows->items[at] = r->rows->items[--r->rows->n];
}

/* The form divided by what its factors have in common, where that is the same row. */
static Affine reduced(Radix *r, Affine form, bool equal)
{
    int64_t g = 0;
    for (int i = 0; i < form.n; i++)
        for (int64_t a = form.terms[i].factor < 0 ? -form.terms[i].factor : form.terms[i].factor; a;) {
            int64_t rest = g % a;
            g = a;
            a = rest;
        }
    if (g < 2 || (equal && form.constant % g != 0))
        return form;
    Term *terms = ARENA_ARRAY(r->p->ctx->arena, Term, form.n);
    for (int i = 0; i < form.n; i++)
        terms[i] = (Term){form.terms[i].column, form.terms[i].factor / g};
    return (Affine){form.constant / g - (form.constant % g < 0), terms, form.n};
}

static void add_row(Radix *r, Affine form, bool equal)
{
    form = reduced(r, form, equal);
    if (form.n == 0 && (equal ? form.constant == 0 : form.constant >= 0))
        return;
    for (int i = 0; i < r->rows->n; i++)
        if (r->rows->items[i].equal == equal && poly_affine_equal(r->rows->items[i].form, form))
            return;
    VEC_PUSH(r->p->ctx->arena, r->rows, ((Row){form, equal}));
}

static Affine with_value(Radix *r, Affine form, int column, Affine value)
{
    Affine sum = affine_const(form.constant);
    for (int i = 0; i < form.n; i++) {
        Term t = form.terms[i];
        Affine part = term_form(r, 1, t.column);
        if (has_base(r, t.column, column)) {
            Affine rest = affine_const(1);
            Monomial m = monomial_of(r, t.column);
            bool taken = false;
            for (int k = 0; k < m.degree; k++) {
                bool here = m.base[k] == column && !taken;
                taken |= here;
                rest = multiply(r, rest, here ? value : term_form(r, 1, m.base[k]));
            }
            part = rest;
        }
        sum = poly_add(r->p, sum, part, t.factor);
    }
    return sum;
}

/* The column becomes the value everywhere; the value may speak of it, with another meaning. */
static void substitute(Radix *r, int column, Affine value)
{
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < old.n; i++)
        add_row(r, with_value(r, old.items[i].form, column, value), old.items[i].equal);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = with_value(r, r->forms[i], column, value);
}

/* All rows but `without` imply form >= 0, where products are any numbers. */
static bool implied(Radix *r, Affine form, int without)
{
    Context *c = r->p->ctx;
    ArenaMark mark = arena_mark(c->arena);
    int n = 0;
    Row *rows = ARENA_ARRAY(c->arena, Row, r->rows->n + 1);
    for (int i = 0; i < r->rows->n; i++)
        if (i != without)
            rows[n++] = r->rows->items[i];
    rows[n++] = (Row){poly_add(r->p, affine_const(-1), form, -1), false};
    bool holds = poly_rows(r->p, rows, n) == POLY_NONE;
    arena_reset(c->arena, mark);
    return holds;
}

/* ---- polynomials in the place of products ---------------------------------------------------- */

static Affine expanded(Radix *r, Affine form)
{
    for (int i = 0; i < r->expansions.n; i++) {
        Expansion e = r->expansions.items[i];
        int64_t factor = factor_of(form, e.column);
        if (factor) {
            form = poly_add(r->p, form, term_form(r, 1, e.column), -factor);
            form = poly_add(r->p, form, e.value, factor);
        }
    }
    return form;
}

/* What follows from the meaning of the column is no row: x N >= 0, e / N >= 0. */
static bool is_of_definition(const Radix *r, Row row)
{
    const Poly *p = r->p;
    if (row.equal || row.form.n != 1 || row.form.constant != 0 || row.form.terms[0].factor < 0 ||
        p->columns.items[row.form.terms[0].column].min < 0)
        return false;
    int column = row.form.terms[0].column;
    for (int i = 0; i < p->products.n; i++)
        if (p->products.items[i].column == column)
            return true;
    for (int i = 0; i < p->quotients.n; i++)
        if (p->quotients.items[i].column == column && p->quotients.items[i].divisor.n > 0)
            return true;
    return false;
}

/* N becomes n + 2 where a product has N - 2: polynomials then divide by it. */
static void shift_size(Radix *r, Affine a)
{
    if (a.n != 1 || a.terms[0].factor != 1 || a.constant == 0 || !affine_is_fixed(r->p, a))
        return;
    for (int i = 0; i < r->expansions.n; i++)
        if (r->expansions.items[i].column == a.terms[0].column)
            return;
    Affine size = poly_column(r->p, 0, INT64_MAX, true);
    VEC_PUSH(r->p->ctx->arena, &r->expansions,
             ((Expansion){a.terms[0].column, poly_add(r->p, size, affine_const(a.constant), -1)}));
}

static void expand_products(Radix *r)
{
    for (int i = 0; i < r->p->products.n; i++)
        shift_size(r, r->p->products.items[i].size);
    for (int i = 0; i < r->p->products.n; i++) {
        Product product = r->p->products.items[i];
        bool known = false;
        for (int k = 0; k < r->expansions.n && !known; k++)
            known = r->expansions.items[k].column == product.column;
        if (known)
            continue;
        Affine value = multiply(r, expanded(r, product.factor), expanded(r, product.size));
        VEC_PUSH(r->p->ctx->arena, &r->expansions, ((Expansion){product.column, value}));
    }
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < old.n; i++)
        if (!is_of_definition(r, old.items[i]))
            add_row(r, expanded(r, old.items[i].form), old.items[i].equal);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = expanded(r, r->forms[i]);
}

/* x == a form without x takes its place. */
static bool use_equality(Radix *r)
{
    for (int i = 0; i < r->rows->n; i++) {
        Affine form = r->rows->items[i].form;
        int at = -1;
        for (int k = 0; k < form.n && r->rows->items[i].equal; k++) {
            int column = form.terms[k].column, n = 0;
            if (find_monomial(r, column) || (form.terms[k].factor != 1 && form.terms[k].factor != -1))
                continue;
            for (int m = 0; m < form.n; m++)
                n += has_base(r, form.terms[m].column, column);
            if (n == 1 && (at < 0 || !r->p->columns.items[column].fixed))
                at = column;
        }
        if (at < 0)
            continue;
        int64_t factor = factor_of(form, at);
        Affine rest = poly_add(r->p, form, term_form(r, 1, at), -factor);
        substitute(r, at, poly_add(r->p, affine_const(0), rest, -factor));
        return true;
    }
    return false;
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* The k-th pair of rows x >= 0, x <= width - 1 of a column x; false after the last. */
static bool next_digit(Radix *r, int *k, Digit *d)
{
    for (; *k < r->rows->n * r->rows->n; ++*k) {
        int lower = *k / r->rows->n, upper = *k % r->rows->n;
        Affine low = r->rows->items[lower].form, high = r->rows->items[upper].form;
        if (r->rows->items[lower].equal || r->rows->items[upper].equal || low.n != 1 ||
            low.constant != 0 || low.terms[0].factor != 1)
            continue;
        int column = low.terms[0].column;
        if (factor_of(high, column) != -1 || find_monomial(r, column) || r->p->columns.items[column].fixed)
            continue;
        Affine width = poly_add(r->p, high, low, 1);
        width = poly_add(r->p, width, affine_const(1), 1);
        if (!is_width(width) || mentions(r, width, column))
            continue;
        *d = (Digit){column, lower, upper, width};
        ++*k;
        return true;
    }
    return false;
}

/* How a row or form speaks of the digit d and of column b: not at all, as k (width b + d), or otherwise. */
typedef enum { APART, TOGETHER, MIXED } Mention;

static Mention mention_of(Radix *r, Affine form, const Digit *d, int b, Affine high)
{
    bool has_d = mentions(r, form, d->column), has_b = mentions(r, form, b);
    if (!has_d)
        return has_b ? MIXED : APART;
    Affine rest = poly_add(r->p, form, term_form(r, 1, d->column), -factor_of(form, d->column));
    rest = poly_add(r->p, rest, high, -factor_of(form, d->column));
    return mentions(r, rest, d->column) || mentions(r, rest, b) ? MIXED : TOGETHER;
}

/* A row that bounds b alone: b or -b and what does not speak of the digit. */
static bool bounds_high(const Radix *r, Row row, const Digit *d, int b)
{
    int64_t factor = factor_of(row.form, b);
    Affine rest = row.form;
    if (row.equal || (factor != 1 && factor != -1) || mentions(r, rest, d->column))
        return false;
    for (int i = 0; i < rest.n; i++)
        if (rest.terms[i].column != b && has_base(r, rest.terms[i].column, b))
            return false;
    return true;
}

static bool may_merge(Radix *r, const Digit *d, int b, Affine high)
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

/* The digit becomes width b + digit, and b goes: b >= x says number >= width x, b <= x says number <= width x + width - 1. */
static void merge(Radix *r, const Digit *d, int b, Affine high)
{
    Poly *p = r->p;
    RowList old = *r->rows;
    *r->rows = (RowList){0};
    for (int i = 0; i < old.n; i++) {
        Affine form = old.items[i].form;
        if (i == d->lower || i == d->upper)
            continue;
        if (bounds_high(r, old.items[i], d, b)) {
            int64_t sign = factor_of(form, b);
            Affine rest = poly_add(p, form, term_form(r, 1, b), -sign);
            form = poly_add(p, multiply(r, rest, d->width), term_form(r, 1, d->column), sign);
            if (sign < 0)
                form = poly_add(p, poly_add(p, form, d->width, 1), affine_const(-1), 1);
        } else {
            form = poly_add(p, form, high, -factor_of(form, d->column));
        }
        add_row(r, form, old.items[i].equal);
    }
    add_row(r, poly_add(p, d->width, affine_const(-1), 1), false);
    for (int i = 0; i < r->n_forms; i++)
        r->forms[i] = poly_add(p, r->forms[i], high, -factor_of(r->forms[i], d->column));
}

/* Drops a bound of b that follows from other rows, and would become one by products. */
static bool drop_bound(Radix *r, const Digit *d, int b)
{
    for (int i = 0; i < r->rows->n; i++) {
        Row row = r->rows->items[i];
        if (row.form.n > 1 && d->width.n > 0 && bounds_high(r, row, d, b) && implied(r, row.form, i)) {
            drop_row(r, i);
            return true;
        }
    }
    return false;
}

static bool merge_in(Radix *r, const Digit *d, Affine form)
{
    int64_t factor = factor_of(form, d->column);
    for (int i = 0; i < form.n && factor; i++) {
        Term t = form.terms[i];
        Affine part;
        if (t.factor % factor != 0 || !divide_term(r, (Term){t.column, t.factor / factor}, d->width, &part) ||
            part.n != 1 || part.terms[0].factor != 1 || find_monomial(r, part.terms[0].column))
            continue;
        int b = part.terms[0].column;
        Affine high = multiply(r, d->width, term_form(r, 1, b));
        if (b == d->column || r->p->columns.items[b].fixed || !may_merge(r, d, b, high))
            continue;
        if (!drop_bound(r, d, b))
            merge(r, d, b, high);
        return true;
    }
    return false;
}

static bool merge_digits(Radix *r)
{
    Digit d;
    for (int k = 0; next_digit(r, &k, &d);) {
        for (int i = 0; i < r->n_forms; i++)
            if (mentions(r, r->forms[i], d.column)) {
                if (merge_in(r, &d, r->forms[i]))
                    return true;
                break;
            }
        for (int i = 0; i < r->rows->n; i++)
            if (i != d.lower && i != d.upper && mentions(r, r->rows->items[i].form, d.column)) {
                if (merge_in(r, &d, r->rows->items[i].form))
                    return true;
                break;
            }
    }
    return false;
}

/* ---- quotients ------------------------------------------------------------------------------- */

/* Rows i and j say 0 <= x <= width - 1 for x = form of i, which is more than a column. */
static bool is_pair(Radix *r, int i, int j, Affine *width)
{
    const Row *a = &r->rows->items[i], *b = &r->rows->items[j];
    if (i == j || a->equal || b->equal || a->form.n < 2)
        return false;
    *width = poly_add(r->p, poly_add(r->p, a->form, b->form, 1), affine_const(1), 1);
    return is_width(*width);
}

static bool in_forms(const Radix *r, int column)
{
    for (int i = 0; i < r->n_forms; i++)
        if (mentions(r, r->forms[i], column))
            return true;
    return false;
}

/* All rows that speak of the column, but i and j, follow from the others. */
static bool only_implied(Radix *r, int column, int i, int j)
{
    for (int k = 0; k < r->rows->n; k++)
        if (k != i && k != j && mentions(r, r->rows->items[k].form, column) &&
            (r->rows->items[k].equal || !implied(r, r->rows->items[k].form, k)))
            return false;
    return true;
}

/* 0 <= x - width q < width has one q for each x. */
static bool forget_quotient(Radix *r, int i, int j, Affine width)
{
    Affine form = r->rows->items[i].form, part;
    for (int t = 0; t < form.n; t++) {
        Term term = form.terms[t];
        if (!divide_term(r, term, width, &part) || part.n != 1 ||
            (part.terms[0].factor != 1 && part.terms[0].factor != -1))
            continue;
        int q = part.terms[0].column, n = 0;
        for (int k = 0; k < form.n; k++)
            n += has_base(r, form.terms[k].column, q);
        if (n != 1 || find_monomial(r, q) || mentions(r, width, q) || in_forms(r, q))
            continue;
        /* Rows that follow from others are dropped one after the other: two may follow from each other. */
        if (!only_implied(r, q, i, j))
            continue;
        Affine lower = r->rows->items[i].form, upper = r->rows->items[j].form;
        bool dropped = true;
        for (int k = 0; k < r->rows->n && dropped; k++) {
            Affine row = r->rows->items[k].form;
            if (!mentions(r, row, q) || poly_affine_equal(row, lower) || poly_affine_equal(row, upper))
                continue;
            dropped = implied(r, row, k);
            if (dropped)
                drop_row(r, k--);
        }
        for (int k = 0; k < r->rows->n && dropped; k++)
            if (mentions(r, r->rows->items[k].form, q))
                drop_row(r, k--);
        if (dropped)
            add_row(r, poly_add(r->p, width, affine_const(-1), 1), false);
        return true;
    }
    return false;
}

/* How many rows and forms speak of the column. */
static int uses_of(const Radix *r, int column)
{
    int n = 0;
    for (int i = 0; i < r->rows->n; i++)
        n += mentions(r, r->rows->items[i].form, column);
    for (int i = 0; i < r->n_forms; i++)
        n += mentions(r, r->forms[i], column);
    return n;
}

/* 0 <= x < width: a name for x in the place of one of the columns that it adds, but of no other such name: two could be named by
 * each other for ever. */
static bool name_remainder(Radix *r, int i, Affine width)
{
    Affine form = r->rows->items[i].form, high, low;
    int at = -1;
    divide(r, form, width, &high, &low);
    if (high.n == 0)
        return false;
    for (int k = 0; k < low.n; k++) {
        int column = low.terms[k].column, n = 0;
        if (find_monomial(r, column) || r->p->columns.items[column].fixed ||
            (low.terms[k].factor != 1 && low.terms[k].factor != -1))
            continue;
        for (int m = 0; m < form.n; m++)
            n += has_base(r, form.terms[m].column, column);
        if (n == 1 && column < r->n_given && (at < 0 || uses_of(r, column) < uses_of(r, at)))
            at = column;
    }
    if (at < 0)
        return false;
    int64_t factor = factor_of(form, at);
    Affine digit = poly_column(r->p, 0, INT64_MAX, false);
    Affine rest = poly_add(r->p, form, term_form(r, 1, at), -factor);
    Affine value = poly_add(r->p, digit, rest, -1); /* factor x = digit - rest */
    substitute(r, at, poly_add(r->p, affine_const(0), value, factor));
    return true;
}

static bool use_pairs(Radix *r)
{
    Affine width;
    for (int i = 0; i < r->rows->n; i++)
        for (int j = 0; j < r->rows->n; j++)
            if (is_pair(r, i, j, &width) && (forget_quotient(r, i, j, width) || name_remainder(r, i, width)))
                return true;
    return false;
}

/* ---- high digits decide ---------------------------------------------------------------------- */

/* low - m width lies in 0..width, as all rows but `row` say. */
static bool within(Radix *r, Affine low, Affine width, int64_t m, int row)
{
    Affine shifted = poly_add(r->p, low, width, -m);
    return implied(r, shifted, row) &&
           implied(r, poly_add(r->p, poly_add(r->p, width, shifted, -1), affine_const(-1), 1), row);
}

/* high >= m and m width + low >= 0: the row says nothing. */
static bool is_plain(Radix *r, Affine high, Affine low, Affine width, int row)
{
    if (width.n == 0 || !implied(r, poly_add(r->p, low, width, MOST_CASES), row))
        return false;
    for (int64_t m = 0; m <= MOST_CASES; m = m ? 2 * m : 1)
        if (implied(r, poly_add(r->p, low, width, m), row))
            return implied(r, poly_add(r->p, high, affine_const(-m), 1), row);
    return false;
}

/* width high + low >= 0, or == 0, with low between two multiples of the width. */
static bool split_row(Radix *r, int at, Affine width)
{
    Row row = r->rows->items[at];
    Affine high, low;
    divide(r, row.form, width, &high, &low);
    if (high.n == 0 || (width.n == 0 && low.n == 0) || has_product(r, low))
        return false;
    if (row.equal) {
        Affine both = poly_add(r->p, width, affine_const(-1), 1);
        if (!implied(r, poly_add(r->p, both, low, 1), at) || !implied(r, poly_add(r->p, both, low, -1), at))
            return false;
        drop_row(r, at);
        add_row(r, high, true);
        add_row(r, low, true);
        return true;
    }
    if (is_plain(r, high, low, width, at)) {
        drop_row(r, at);
        return true;
    }
    int64_t about = width.n ? 0 : low.constant / width.constant;
    for (int64_t m = about - 1; m <= about + 1; m++)
        if (within(r, low, width, m, at)) {
            drop_row(r, at);
            add_row(r, poly_add(r->p, high, affine_const(m), 1), false);
            return true;
        }
    return false;
}

/* By sizes that are in products, then by the widths of digits. */
static bool split_rows(Radix *r)
{
    VEC(int) met = {0};
    for (int i = 0; i < r->monomials.n; i++)
        for (int k = 0; k < r->monomials.items[i].degree; k++) {
            int base = r->monomials.items[i].base[k], m = 0;
            while (m < met.n && met.items[m] != base)
                m++;
            if (m < met.n)
                continue;
            VEC_PUSH(r->p->ctx->arena, &met, base);
            Affine width = term_form(r, 1, base);
            if (!implied(r, width, -1))
                continue;
            for (m = 0; m < r->rows->n; m++)
                if (has_product(r, r->rows->items[m].form) && split_row(r, m, width))
                    return true;
        }
    Digit d;
    for (int k = 0; next_digit(r, &k, &d);)
        for (int m = 0; m < r->rows->n; m++)
            if (m != d.lower && m != d.upper && mentions(r, r->rows->items[m].form, d.column) &&
                r->rows->items[m].form.n > 1 && split_row(r, m, d.width))
                return true;
    return false;
}

static bool in_use(const Radix *r, int column)
{
    for (int i = 0; i < r->rows->n; i++)
        if (factor_of(r->rows->items[i].form, column))
            return true;
    for (int i = 0; i < r->n_forms; i++)
        if (factor_of(r->forms[i], column))
            return true;
    return false;
}

/* A column of products that has few values: the numbers of blocks in a group. */
static bool find_cases(Radix *r, Digit *d)
{
    for (int k = 0; next_digit(r, &k, d);)
        for (int i = 0; i < r->monomials.n && d->width.n == 0 && d->width.constant <= MOST_CASES; i++)
            if (has_base(r, r->monomials.items[i].column, d->column) &&
                in_use(r, r->monomials.items[i].column))
                return true;
    return false;
}

static bool any_product(const Radix *r)
{
    for (int i = 0; i < r->rows->n; i++)
        if (has_product(r, r->rows->items[i].form))
            return true;
    for (int i = 0; i < r->n_forms; i++)
        if (has_product(r, r->forms[i]))
            return true;
    return false;
}

static bool split(Radix *r, PolySplit visit, void *user);

/* For each value of the column by itself. */
static bool split_cases(Radix *r, Digit d, PolySplit visit, void *user)
{
    Arena *arena = r->p->ctx->arena;
    Affine *forms = r->forms;
    RowList *rows = r->rows;
    bool done = true;
    for (int64_t value = 0; value < d.width.constant && done; value++) {
        RowList here = {0};
        for (int i = 0; i < rows->n; i++)
            VEC_PUSH(arena, &here, rows->items[i]);
        r->rows = &here;
        r->forms = ARENA_ARRAY(arena, Affine, r->n_forms + 1);
        for (int i = 0; i < r->n_forms; i++)
            r->forms[i] = forms[i];
        substitute(r, d.column, affine_const(value));
        done = split(r, visit, user);
    }
    r->rows = rows;
    r->forms = forms;
    return done;
}

static bool split(Radix *r, PolySplit visit, void *user)
{
    bool again = true;
    for (int round = 0; again && round < MAX_ROUNDS && !r->failed && r->p->ctx->work_left > 0; round++)
        again = use_equality(r) || merge_digits(r) || use_pairs(r) || split_rows(r);
    if (r->failed)
        return false;
    if (!any_product(r))
        return visit(user, r->rows, r->forms);
    if (poly_rows(r->p, r->rows->items, r->rows->n) == POLY_NONE)
        return true;
    Digit d;
    return find_cases(r, &d) && split_cases(r, d, visit, user);
}

bool poly_split_products(Poly *p, RowList *rows, Affine *forms, int n_forms, PolySplit visit, void *user)
{
    Radix r = {.p = p, .rows = rows, .forms = forms, .n_forms = n_forms, .n_given = p->columns.n};
    bool lost = p->lost;
    p->lost = false; /* of numbers that do not fit */
    expand_products(&r);
    bool done = split(&r, visit, user) && !p->lost;
    p->lost = lost;
    return done;
}
