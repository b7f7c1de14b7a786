/* poly_extend.c - Finds witnesses: for every solution of a system, values of further columns that
 * satisfy further rows.
 *
 * "Each element read was written": for every iteration that reads, there is one that writes. Its
 * loops are computed from the equalities as a person would do it, because numbers of tiles are
 * numbers with digits:
 *
 *   x / 4 = q                          x = 4 q + r with r in 0..4: the digit in place of the number
 *   16 q + r == 16 m + t               q = m, r = t               where r and t lie in 0..16
 *   32 w + l == y                      w = y / 32, l = y - 32 (y / 32)
 *   w < v, w >= 0                      w = v - 1 or 0, whichever suits more rows
 *
 * How the values were found does not matter: each row is then proved to hold with them, for every
 * solution. */
#include "passes/analysis/polyhedral/poly.h"

typedef struct {
    Poly *p;
    VEC(Row) rows;
    VEC(Quotient) quotients, whole; /* all there are, in terms of digits; and as they were */
    VEC(bool) open;                 /* of the columns from `from` on: no value yet */
    int from;
} Extension;

/* ---- columns and rows ------------------------------------------------------------------------ */

static bool is_open(const Extension *e, int column)
{
    return column >= e->from && column - e->from < e->open.n && e->open.items[column - e->from];
}

static Affine open_column(Extension *e, int64_t min, int64_t max)
{
    Affine column = poly_free_column(e->p, min, max);
    while (e->open.n <= column.terms[0].column - e->from)
        VEC_PUSH(e->p->ctx->arena, &e->open, false);
    e->open.items[column.terms[0].column - e->from] = true;
    return column;
}

static int64_t magnitude(int64_t a)
{
    return a == INT64_MIN ? INT64_MAX : a < 0 ? -a : a;
}

/* column += change, in all rows and dividends. */
static void shift_column(Extension *e, int column, Affine change)
{
    for (int i = 0; i < e->rows.n; i++) {
        Affine *form = &e->rows.items[i].form;
        *form = poly_add(e->p, *form, change, affine_factor(*form, column));
    }
    for (int i = 0; i < e->quotients.n; i++) {
        Affine *form = &e->quotients.items[i].dividend;
        *form = poly_add(e->p, *form, change, affine_factor(*form, column));
    }
}

static void give_value(Extension *e, int column, Affine value)
{
    shift_column(e, column, poly_add(e->p, value, poly_term(e->p, 1, column), -1));
    e->open.items[column - e->from] = false;
}

static Affine some_terms(const Extension *e, Affine a, bool open)
{
    Affine part = {0};
    for (int i = 0; i < a.n; i++)
        if (is_open(e, a.terms[i].column) == open)
            affine_append(e->p->ctx, &part, a.terms[i]);
    return part;
}

/* The terms of `a` whose columns are open. */
static Affine open_part(const Extension *e, Affine a)
{
    return some_terms(e, a, true);
}

/* The others, and the constant. */
static Affine known_part(const Extension *e, Affine a)
{
    Affine part = some_terms(e, a, false);
    part.constant = a.constant;
    return part;
}

/* The terms whose factors `g` does not divide; no constant. */
static Affine remainders_of(const Extension *e, Affine a, int64_t g)
{
    Affine part = {0};
    for (int i = 0; i < a.n; i++)
        if (a.terms[i].factor % g != 0)
            affine_append(e->p->ctx, &part, a.terms[i]);
    return part;
}

/* ---- digits in place of numbers -------------------------------------------------------------- */

/* (g a + b) / d == a / (d / g) where b lies in 0..g and g divides d. */
static void shorten_quotient(Extension *e, Quotient *q)
{
    Affine *form = &q->dividend;
    for (int i = 0; i < form->n; i++) {
        int64_t g = magnitude(form->terms[i].factor);
        if (g < 2 || q->divisor.constant % g != 0)
            continue;
        Affine low = remainders_of(e, *form, g);
        low.constant = form->constant - g * floor_div64(form->constant, g);
        Bounds range = affine_range(e->p, low);
        if (range.min < 0 || range.max >= g)
            continue;
        Affine high = affine_multiples(e->p->ctx, *form, g);
        high.constant = floor_div64(form->constant, g);
        *form = high;
        q->divisor.constant /= g;
        i = -1;
    }
}

/* The column that the remainder of a quotient replaces: a part of the dividend with factor 1 or -1,
 * the last one that is as open as the quotient. */
static int replaced_column(const Extension *e, const Quotient *q)
{
    for (int i = q->dividend.n - 1; i >= 0; i--) {
        Term t = q->dividend.terms[i];
        if (magnitude(t.factor) == 1 && is_open(e, t.column) == is_open(e, q->column))
            return t.column;
    }
    return -1;
}

static void name_remainder(Extension *e, int i)
{
    Poly *p = e->p;
    Quotient *q = &e->quotients.items[i];
    if (q->divisor.n > 0 || q->divisor.constant < 2 ||
        affine_range(p, e->whole.items[i].dividend).min < 0)
        return;
    bool open = is_open(e, q->column);
    if (open && open_part(e, q->dividend).n == 0) {
        if (affine_range(p, q->dividend).min >= 0)
            give_value(e, q->column, poly_quotient(p, q->dividend, q->divisor.constant));
        return;
    }
    shorten_quotient(e, q);
    int64_t d = q->divisor.constant;
    int at = replaced_column(e, q);
    if (affine_factor(q->dividend, q->column) != 0) /* known by another name already */
        return;
    if (d == 1 && open)
        give_value(e, q->column, q->dividend);
    if (d == 1 || at < 0)
        return;
    Affine digit = open ? open_column(e, 0, d - 1) : poly_free_column(p, 0, d - 1);
    Affine rest = poly_add(p, q->dividend, poly_term(e->p, 1, q->column), -d);
    rest = poly_add(p, rest, digit, -1);
    if (!open)
        poly_zero(p, &p->top, rest);
    /* rest == 0 gives the column: column - factor * rest */
    int64_t factor = affine_factor(q->dividend, at);
    Affine change = poly_add(p, affine_const(0), rest, -factor);
    if (open)
        e->open.items[at - e->from] = false;
    shift_column(e, at, change);
}

/* ---- values from equalities ------------------------------------------------------------------ */

/* The open term with the least factor of several; its factor 0 where there is one term, which has
 * no lower digits. */
static Term low_term(Affine open)
{
    Term low = {.column = -1};
    for (int i = 0; i < open.n && open.n > 1; i++)
        if (low.column < 0 || magnitude(open.terms[i].factor) < magnitude(low.factor))
            low = open.terms[i];
    return low;
}

/* f x + low + c + g (open + high + m) == 0 with f x + low + c == 0 for the x that there are. */
static bool split_by_terms(Extension *e, int row, Term x, int64_t g, int64_t a, int64_t b)
{
    Poly *p = e->p;
    Affine form = e->rows.items[row].form;
    Affine known = known_part(e, form);
    Affine low = remainders_of(e, known, g), high = affine_multiples(e->p->ctx, form, g);
    int64_t least, greatest;
    Bounds range = affine_range(p, low);
    if (!bounds_are_finite(range) || !checked_add(b, range.min, &least) ||
        !checked_add(known.constant, least, &least))
        return false;
    high.constant = floor_div64(least, g);
    low.constant = known.constant - g * high.constant; /* c, the least that is >= -b - min */
    if (!checked_add(low.constant, range.max, &greatest) || !checked_add(greatest, a, &greatest) ||
        greatest > 0)
        return false;
    if (x.factor)
        low = poly_add(p, low, poly_term(e->p, 1, x.column), x.factor);
    e->rows.items[row].form = high;
    VEC_PUSH(p->ctx->arena, &e->rows, ((Row){low, true}));
    return true;
}

/* f x + g open == y: open = (y - a) / g, where f x is at least a, and x from the remainder. */
static bool split_by_quotient(Extension *e, int row, Term x, int64_t g, int64_t a)
{
    Poly *p = e->p;
    Affine form = e->rows.items[row].form, known = known_part(e, form);
    Affine y = poly_add(p, affine_const(-a), known, -1);
    int64_t min = affine_range(p, y).min;
    if (min == INT64_MIN)
        return false;
    int64_t m = min < 0 ? -floor_div64(min, g) : 0; /* quotients are of what is at least 0 */
    Affine q = poly_quotient(p, poly_add(p, y, affine_const(m), g), g);
    q = poly_add(p, q, affine_const(m), -1);
    Affine low = poly_add(p, known, q, g);
    if (x.factor)
        low = poly_add(p, low, poly_term(e->p, 1, x.column), x.factor);
    Affine high = affine_multiples(e->p->ctx, open_part(e, form), g);
    e->rows.items[row].form = poly_add(p, high, q, -1);
    VEC_PUSH(p->ctx->arena, &e->rows, ((Row){low, true}));
    return true;
}

/* An equality whose open columns are told apart as digits, or the only one gets its value. */
static bool solve_row(Extension *e, int row)
{
    Affine form = e->rows.items[row].form, open = open_part(e, form);
    if (!e->rows.items[row].equal || open.n == 0)
        return false;
    if (open.n == 1 && magnitude(open.terms[0].factor) == 1) {
        Term t = open.terms[0];
        Affine known = known_part(e, form);
        give_value(e, t.column, poly_add(e->p, affine_const(0), known, -t.factor));
        return true;
    }
    Term x = low_term(open);
    int64_t g = 0, span;
    for (int i = 0; i < open.n; i++)
        if (open.terms[i].column != x.column)
            g = gcd64(g, open.terms[i].factor);
    Bounds of = affine_range(e->p, (Affine){.terms = &x, .n = x.factor != 0});
    if (!bounds_are_finite(of) || !checked_sub(of.max, of.min, &span) || span >= g || g < 2)
        return false;
    return split_by_terms(e, row, x, g, of.min, of.max) || split_by_quotient(e, row, x, g, of.min);
}

/* x from an equality in which it has factor 1 or -1, beside other open columns. */
static bool eliminate_one(Extension *e)
{
    for (int i = 0; i < e->rows.n; i++) {
        Row row = e->rows.items[i];
        for (int k = 0; k < row.form.n && row.equal; k++) {
            Term t = row.form.terms[k];
            if (!is_open(e, t.column) || magnitude(t.factor) != 1)
                continue;
            Affine value = poly_add(e->p, poly_term(e->p, 1, t.column), row.form, -t.factor);
            give_value(e, t.column, value);
            return true;
        }
    }
    return false;
}

enum { MAX_STEPS = 200 };

static void solve_equalities(Extension *e)
{
    bool again = true;
    for (int step = 0; again && step < MAX_STEPS; step++) {
        again = false;
        for (int i = 0; i < e->rows.n && !again; i++)
            again = solve_row(e, i);
        again = again || eliminate_one(e);
    }
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static bool holds_plainly(const Poly *p, Row row)
{
    Bounds range = affine_range(p, row.form);
    if (range.min >= 0 && (!row.equal || range.max == 0))
        return true;
    for (int i = 0; i < p->top.rows.n; i++)
        if (p->top.rows.items[i].equal >= row.equal &&
            affine_equal(p->top.rows.items[i].form, row.form))
            return true;
    return false;
}

/* Every solution of `p` has sign * form >= 0. */
static bool implied(Poly *p, Affine form, int64_t sign)
{
    PolyMark mark = poly_mark(p);
    /* the contrary: sign * form <= -1 */
    poly_at_most(p, &p->top, poly_add(p, affine_const(0), form, sign), affine_const(-1), 0);
    bool none = poly_solve(p, NULL, 0, NULL) == POLY_NONE;
    poly_reset(p, mark);
    return none;
}

static bool row_holds(Poly *p, Row row)
{
    return holds_plainly(p, row) ||
           (implied(p, row.form, 1) && (!row.equal || implied(p, row.form, -1)));
}

/* ---- values from bounds ---------------------------------------------------------------------- */

/* The only open column of the row; -1 for none or several. */
static int only_open(const Extension *e, Affine form)
{
    Affine open = open_part(e, form);
    return open.n == 1 ? open.terms[0].column : -1;
}

/* Divides a row by what its factors have in common. */
static Row normal_row(const Extension *e, Row row)
{
    int64_t g = affine_gcd(row.form);
    if (g < 2 || row.equal)
        return row;
    Affine form = affine_multiples(e->p->ctx, row.form, g);
    form.constant = floor_div64(row.form.constant, g);
    return (Row){form, false};
}

/* How many of the rows that leave only this column open hold with the value. */
static int count_holding(Extension *e, int column, Affine value)
{
    int n = 0;
    Affine change = poly_add(e->p, value, poly_term(e->p, 1, column), -1);
    for (int i = 0; i < e->rows.n; i++) {
        Row row = e->rows.items[i];
        if (only_open(e, row.form) != column)
            continue;
        row.form = poly_add(e->p, row.form, change, affine_factor(row.form, column));
        n += row_holds(e->p, row);
    }
    return n;
}

/* Gives a column that only bounds speak of one of them. */
static bool choose_bound(Extension *e)
{
    for (int i = 0; i < e->rows.n; i++) {
        int column = only_open(e, e->rows.items[i].form), most = -1;
        Affine best = {0};
        for (int k = i; k < e->rows.n && column >= 0; k++) {
            Row row = normal_row(e, e->rows.items[k]);
            int64_t factor = affine_factor(row.form, column);
            if (only_open(e, row.form) != column || magnitude(factor) != 1)
                continue;
            Affine value = poly_add(e->p, poly_term(e->p, 1, column), row.form, -factor);
            int n = count_holding(e, column, value);
            if (n > most) {
                most = n;
                best = value;
            }
        }
        if (most >= 0) {
            give_value(e, column, best);
            return true;
        }
    }
    return false;
}

/* ---- the question ---------------------------------------------------------------------------- */

static bool all_known(const Extension *e)
{
    for (int i = 0; i < e->rows.n; i++)
        if (open_part(e, e->rows.items[i].form).n > 0)
            return false;
    return true;
}

int poly_extend(Poly *p, const Row *rows, int n, int from, Row *left, int most)
{
    Extension e = {.p = p, .from = from};
    Arena *arena = p->ctx->arena;
    for (int i = 0; i < n; i++)
        VEC_PUSH(arena, &e.rows, rows[i]);
    for (int i = from; i < p->columns.n; i++)
        VEC_PUSH(arena, &e.open, true);
    for (int i = 0; i < p->quotients.n; i++) {
        VEC_PUSH(arena, &e.quotients, p->quotients.items[i]);
        VEC_PUSH(arena, &e.whole, p->quotients.items[i]);
    }
    while (p->quotients.n > 0 && is_open(&e, p->quotients.items[p->quotients.n - 1].column))
        p->quotients.n--; /* what is open is no known quotient of anything */
    for (int i = 0; i < e.quotients.n; i++)
        name_remainder(&e, i);
    do
        solve_equalities(&e);
    while (choose_bound(&e));
    if (!all_known(&e) || p->inexact)
        return -1;
    int n_left = 0;
    for (int i = 0; i < e.rows.n; i++) {
        if (row_holds(p, e.rows.items[i]))
            continue;
        if (n_left == most)
            return -1;
        left[n_left++] = e.rows.items[i];
    }
    return n_left;
}
