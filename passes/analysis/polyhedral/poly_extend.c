/* poly_extend.c - Finds witnesses: for every solution of a system, values of further columns that
 * satisfy further rows.
 *
 * "Each element read was written" means that for every iteration that reads there is one that
 * writes. The loops of the latter are computed from the equalities. Tiles make these mixed-radix
 * numbers:
 *
 *   x == 4 q + r                       digits in the place of the number (poly_expr.c)
 *   16 q + r == 16 m + t               q = m, r = t               where r and t lie in 0..16
 *   32 w + l == y                      w = y / 32, l = y - 32 (y / 32)
 *   w < v, w >= 0                      w = v - 1 or 0, whichever suits more rows
 *
 * The proof does not depend on how the values were found: each row is then proved with them, for
 * every solution. */
#include "passes/analysis/polyhedral/poly.h"

typedef struct {
    Poly *p;
    RowList rows;
    bool *open; /* [n_open] of the columns from `from` on: no value yet */
    int from, n_open;
} Extension;

/* ---- columns and rows ------------------------------------------------------------------------ */

static bool is_open(const Extension *e, int column)
{
    return column >= e->from && column - e->from < e->n_open && e->open[column - e->from];
}

static int64_t magnitude(int64_t a)
{
    return a == INT64_MIN ? INT64_MAX : a < 0 ? -a : a;
}

static void give_value(Extension *e, int column, Affine value)
{
    Affine change = poly_add(e->p, value, poly_term(e->p, 1, column), -1);
    for (int i = 0; i < e->rows.n; i++) {
        Affine *form = &e->rows.items[i].form;
        int64_t factor = affine_factor(*form, column);
        if (factor)
            *form = poly_add(e->p, *form, change, factor);
    }
    e->open[column - e->from] = false;
}

/* The column gets the value that the row gives it; its factor there is 1 or -1. */
static void solve_for(Extension *e, Affine form, Term t)
{
    give_value(e, t.column, poly_add(e->p, poly_term(e->p, 1, t.column), form, -t.factor));
}

static bool has_open(const Extension *e, Affine a)
{
    for (int i = 0; i < a.n; i++)
        if (is_open(e, a.terms[i].column))
            return true;
    return false;
}

/* The terms whose columns are open. */
static Affine open_part(const Extension *e, Affine a)
{
    Affine part = affine_const(0);
    for (int i = 0; i < a.n; i++)
        if (is_open(e, a.terms[i].column))
            affine_append(e->p->ctx, &part, a.terms[i]);
    return part;
}

/* ---- values from equalities ------------------------------------------------------------------ */

/* Digits take the place of open columns that are told apart, and of the others. */
static void use_digits(Extension *e)
{
    for (int i = 0; i < e->rows.n; i++) {
        Row row = e->rows.items[i];
        for (int k = 0; k < row.form.n && row.digits; k++)
            if (row.form.terms[k].factor == -1 && is_open(e, row.form.terms[k].column))
                solve_for(e, row.form, row.form.terms[k]);
    }
    for (int i = 0; i < e->rows.n; i++)
        e->rows.items[i].form = poly_digits(e->p, e->rows.items[i].form);
}

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

/* f x + g open + known == 0: open = y / g for y = -a - known, where f x is at least a, and x from
 * the remainder. */
static bool split_row(Extension *e, int row, Term x, int64_t g, int64_t a)
{
    Poly *p = e->p;
    Affine form = e->rows.items[row].form, open = open_part(e, form), q;
    Affine known = poly_add(p, form, open, -1);
    if (!poly_floor(p, poly_add(p, affine_const(-a), known, -1), g, &q))
        return false;
    Affine low = poly_add(p, known, q, g);
    if (x.factor)
        low = poly_add(p, low, poly_term(p, 1, x.column), x.factor);
    e->rows.items[row].form = poly_add(p, affine_multiples(p->ctx, open, g), q, -1);
    VEC_PUSH(p->ctx->arena, &e->rows, ((Row){.form = low, .equal = true}));
    return true;
}

/* An equality whose open columns are told apart as digits, or the only one gets its value. */
static bool solve_row(Extension *e, int row)
{
    Affine form = e->rows.items[row].form;
    if (!e->rows.items[row].equal || !has_open(e, form))
        return false;
    Affine open = open_part(e, form);
    if (open.n == 1 && magnitude(open.terms[0].factor) == 1) {
        solve_for(e, form, open.terms[0]);
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
    return split_row(e, row, x, g, of.min);
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
            solve_for(e, row.form, t);
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

/* The factor by which the form has all terms of the row; 0: it has others of these columns. */
static int64_t times_in(Affine form, Affine row)
{
    int64_t times = 0;
    for (int i = 0; i < row.n; i++) {
        int64_t factor = affine_factor(form, row.terms[i].column), by = row.terms[i].factor;
        if (factor == 0 || factor % by != 0 || (i > 0 && factor / by != times))
            return 0;
        times = factor / by;
    }
    return times;
}

/* The form is at least 0: bounds say so where multiples of rows take the place of their terms. */
static bool is_sum_of_rows(Poly *p, Affine form)
{
    for (int i = 0; i < p->top.rows.n; i++) {
        Row row = p->top.rows.items[i];
        int64_t times = row.form.n > 1 ? times_in(form, row.form) : 0;
        if (times > 0 || (times < 0 && row.equal))
            form = poly_add(p, form, row.form, -times);
    }
    return affine_range(p, form).min >= 0;
}

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
    Affine signed_form = poly_add(p, affine_const(0), form, sign);
    if (is_sum_of_rows(p, signed_form))
        return true;
    PolyMark mark = poly_mark(p);
    poly_at_most(p, &p->top, signed_form, affine_const(-1), 0); /* the contrary */
    bool none = poly_solve(p, NULL, 0, NULL) == POLY_NONE;
    poly_reset(p, mark);
    return none;
}

static bool row_holds(Poly *p, Row row)
{
    return implied(p, row.form, 1) && (!row.equal || implied(p, row.form, -1));
}

/* Marks the rows that every solution of `p` satisfies, and returns how many these are. One
 * elimination bounds all of them; only rows that this leaves open are asked about one by one. */
static int mark_holding(Poly *p, const RowList *rows, bool *holds)
{
    Arena *arena = p->ctx->arena;
    Affine *forms = ARENA_ARRAY(arena, Affine, rows->n);
    Bounds *ranges = ARENA_ARRAY(arena, Bounds, rows->n);
    int n = 0, n_forms = 0;
    for (int i = 0; i < rows->n; i++) {
        holds[i] = holds_plainly(p, rows->items[i]);
        if (!holds[i])
            forms[n_forms++] = rows->items[i].form;
    }
    bool none = n_forms > 0 && !poly_ranges(p, forms, n_forms, ranges);
    for (int i = 0, at = 0; i < rows->n; i++) {
        Row row = rows->items[i];
        if (!holds[i]) {
            Bounds range = ranges[at++];
            holds[i] = none || (range.min >= 0 && (!row.equal || range.max <= 0)) ||
                       (range.max >= 0 && row_holds(p, row));
        }
        n += holds[i];
    }
    return n;
}

/* ---- values from bounds ---------------------------------------------------------------------- */

/* The only open column of the row; -1 for none or several. */
static int only_open(const Extension *e, Affine form)
{
    int column = -1;
    for (int i = 0; i < form.n; i++) {
        if (!is_open(e, form.terms[i].column))
            continue;
        if (column >= 0)
            return -1;
        column = form.terms[i].column;
    }
    return column;
}

/* How many of the rows that leave only this column open hold with the value. *all: so many. */
static int count_holding(Extension *e, int column, Affine value, int *all)
{
    RowList rows = {0};
    Affine change = poly_add(e->p, value, poly_term(e->p, 1, column), -1);
    for (int i = 0; i < e->rows.n; i++) {
        Row row = e->rows.items[i];
        if (only_open(e, row.form) != column)
            continue;
        row.form = poly_add(e->p, row.form, change, affine_factor(row.form, column));
        VEC_PUSH(e->p->ctx->arena, &rows, row);
    }
    *all = rows.n;
    return mark_holding(e->p, &rows, ARENA_ARRAY(e->p->ctx->arena, bool, rows.n));
}

/* Gives a column that only bounds speak of one of them; of equally good ones, one that is no
 * number: the iteration before a read, not the first one of all. */
static bool choose_bound(Extension *e)
{
    for (int i = 0; i < e->rows.n; i++) {
        int column = only_open(e, e->rows.items[i].form), most = -1, all = 0;
        Affine best = {0};
        /* none is better than a value for all rows that is no number */
        for (int k = i; k < e->rows.n && column >= 0 && !(most == all && best.n > 0); k++) {
            Affine form = affine_reduced(e->p->ctx, e->rows.items[k].form, e->rows.items[k].equal);
            int64_t factor = affine_factor(form, column);
            if (only_open(e, form) != column || magnitude(factor) != 1)
                continue;
            Affine value = poly_add(e->p, poly_term(e->p, 1, column), form, -factor);
            if (most >= 0 && affine_equal(value, best))
                continue;
            int n = count_holding(e, column, value, &all);
            if (n > most || (n == most && best.n == 0 && value.n > 0)) {
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

/* ---- rows that are left ---------------------------------------------------------------------- */

/* g a + b >= 0 says that a + b / g >= 0: the form with the greatest g for which b / g, rounded
 * down, has one value. */
static Affine tightened(Poly *p, Affine form)
{
    Affine tight = form;
    int64_t most = 1;
    for (int i = 0; i < form.n; i++) {
        int64_t g = magnitude(form.terms[i].factor);
        if (g <= most)
            continue;
        Affine high = affine_multiples(p->ctx, form, g);
        Bounds low = affine_range(p, poly_add(p, form, high, -g));
        if (!bounds_are_finite(low) || floor_div64(low.min, g) != floor_div64(low.max, g))
            continue;
        most = g;
        tight = high;
        tight.constant = floor_div64(low.min, g);
    }
    return tight;
}

/* `row` says no more than `other`. */
static bool follows_from(Poly *p, Row row, Row other)
{
    return !row.equal && affine_range(p, poly_add(p, row.form, other.form, -1)).min >= 0;
}

/* Adds a row to those that are left, unless it follows from one of them. False where it never
 * holds, or they would be more than `most`. */
static bool add_left(Poly *p, Row row, RowList *left, int most)
{
    int n = 0;
    if (!row.equal)
        row.form = tightened(p, row.form);
    if (affine_range(p, row.form).max < 0)
        return false;
    for (int i = 0; i < left->n; i++)
        if (follows_from(p, row, left->items[i]))
            return true;
    for (int i = 0; i < left->n; i++)
        if (!follows_from(p, left->items[i], row))
            left->items[n++] = left->items[i];
    left->n = n;
    VEC_PUSH(p->ctx->arena, left, row);
    return left->n <= most;
}

/* ---- the question ---------------------------------------------------------------------------- */

static bool all_known(const Extension *e)
{
    for (int i = 0; i < e->rows.n; i++)
        if (has_open(e, e->rows.items[i].form))
            return false;
    return true;
}

int poly_extend(Poly *p, const Row *rows, int n, int from, Row *left, int most)
{
    Arena *arena = p->ctx->arena;
    Extension e = {.p = p, .from = from, .n_open = p->columns.n - from};
    e.open = ARENA_ARRAY(arena, bool, e.n_open);
    for (int i = 0; i < e.n_open; i++)
        e.open[i] = true;
    VEC_APPEND(arena, &e.rows, rows, n);
    while (p->quotients.n > 0 && is_open(&e, p->quotients.items[p->quotients.n - 1].column))
        p->quotients.n--; /* an open column must not count as a known quotient */
    use_digits(&e);
    do
        solve_equalities(&e);
    while (choose_bound(&e));
    if (!all_known(&e) || p->inexact)
        return -1;
    RowList open = {0};
    bool *holds = ARENA_ARRAY(arena, bool, e.rows.n);
    mark_holding(p, &e.rows, holds);
    for (int i = 0; i < e.rows.n; i++)
        if (!holds[i] && !add_left(p, e.rows.items[i], &open, most))
            return -1;
    for (int i = 0; i < open.n; i++)
        left[i] = open.items[i];
    return open.n;
}
