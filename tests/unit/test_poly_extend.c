/* Whether each solution of a system extends to further columns (polyhedral/poly.h): what tiles
 * ask is proved, and no random system is said to extend that does not, counted out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/analysis/polyhedral/poly.h"

enum { MAX_COLUMNS = 9, MAX_ROWS = 24, MAX_LEFT = 4 };

typedef struct {
    Context *c;
    Poly *p;
    Affine column[MAX_COLUMNS];
    int64_t min[MAX_COLUMNS], max[MAX_COLUMNS];
    int n, from; /* columns, and the first open one */
    Row rows[MAX_ROWS];
    int n_rows;
} Case;

static Case case_new(void)
{
    Case k = {.c = ctx_new(0)};
    k.p = poly_new(k.c);
    return k;
}

/* A column in min..=max, which stands in rows: of the system, or where it is open of the
 * question. */
static Affine add_column(Case *k, int64_t min, int64_t max)
{
    Affine column = poly_free_column(k->p, min, max);
    Conj rows = {0};
    poly_at_most(k->p, &rows, affine_const(min), column, 0);
    poly_at_most(k->p, &rows, column, affine_const(max), 0);
    for (int i = 0; i < rows.rows.n; i++)
        if (k->from)
            k->rows[k->n_rows++] = rows.rows.items[i];
        else
            poly_not_negative(k->p, &k->p->top, rows.rows.items[i].form);
    k->min[k->n] = min;
    k->max[k->n] = max;
    return k->column[k->n++] = column;
}

static Affine sum(Case *k, Affine a, int64_t factor, Affine b)
{
    return poly_add(k->p, a, b, factor);
}

static void ask_equal(Case *k, Affine a, Affine b)
{
    k->rows[k->n_rows++] = (Row){.form = sum(k, a, -1, b), .equal = true};
}

/* The rows that defining a quotient of open columns adds to the system belong to the question. */
static Affine ask_quotient(Case *k, Affine a, int64_t d)
{
    int before = k->p->top.rows.n;
    Affine q = poly_quotient(k->p, a, d);
    for (int i = before; i < k->p->top.rows.n; i++)
        k->rows[k->n_rows++] = k->p->top.rows.items[i];
    k->p->top.rows.n = before;
    return q;
}

static int extend_or(Case *k, Row *left)
{
    return poly_extend(k->p, k->rows, k->n_rows, k->from, left, MAX_LEFT);
}

static int extend(Case *k)
{
    Row left[MAX_LEFT];
    return extend_or(k, left);
}

static void end(Case *k)
{
    ctx_free(k->c);
}

/* 16 m + t, written by a row of 64: 16 (row / 4) + row % 4 with t in 0..4. */
static void finds_digits_of_a_fused_loop(void **state)
{
    (void)state;
    Case k = case_new();
    Affine m = add_column(&k, 0, 15), t = add_column(&k, 0, 3);
    k.from = k.n;
    Affine row = add_column(&k, 0, 63), q = ask_quotient(&k, row, 4);
    Affine rest = sum(&k, row, -4, q);
    ask_equal(&k, sum(&k, rest, 16, q), sum(&k, t, 16, m));
    assert_int_equal(extend(&k), 0);
    end(&k);
}

/* Each of 1024 elements is one of 8 warps of 32 lanes of 4. */
static void takes_a_number_apart(void **state)
{
    (void)state;
    for (int64_t warps = 7; warps <= 8; warps++) {
        Case k = case_new();
        Affine x = add_column(&k, 0, 1023);
        k.from = k.n;
        Affine w = add_column(&k, 0, warps - 1), l = add_column(&k, 0, 31),
               v = add_column(&k, 0, 3);
        ask_equal(&k, x, sum(&k, sum(&k, v, 4, l), 128, w));
        assert_int_equal(extend(&k) == 0, warps == 8);
        end(&k);
    }
}

/* (lane / 2) / 4 is lane / 8, however it is written. */
static void knows_a_quotient_of_a_quotient(void **state)
{
    (void)state;
    Case k = case_new();
    Affine lane = add_column(&k, 0, 31);
    Affine q = poly_quotient(k.p, poly_quotient(k.p, lane, 2), 4);
    assert_true(affine_equal(q, poly_quotient(k.p, lane, 8)));
    end(&k);
}

/* Some iteration before this one: there is none before the first, and the answer says so. */
static void says_what_is_left(void **state)
{
    (void)state;
    Case k = case_new();
    Affine i = add_column(&k, 0, 9);
    k.from = k.n;
    Affine before = add_column(&k, 0, 9);
    k.rows[k.n_rows++] = (Row){.form = sum(&k, sum(&k, i, -1, before), 1, affine_const(-1))};
    assert_int_equal(extend(&k), 1);
    end(&k);
}

/* 8 i + j is one of the first 8, and 8 i + j + 8 n one of the first 32: i is 0, which says both. */
static void says_it_once(void **state)
{
    (void)state;
    Case k = case_new();
    Row left[MAX_LEFT];
    Affine i = add_column(&k, 0, 9), j = add_column(&k, 0, 7), n = add_column(&k, 0, 3);
    k.from = k.n;
    Affine copied = add_column(&k, 0, 7), part = add_column(&k, 0, 31);
    ask_equal(&k, copied, sum(&k, j, 8, i));
    ask_equal(&k, part, sum(&k, sum(&k, j, 8, i), 8, n));
    assert_int_equal(extend_or(&k, left), 1);
    assert_true(affine_equal(left[0].form, sum(&k, affine_const(0), -1, i)));
    end(&k);
}

/* No iteration of 8 to 15 is one of the first 8. */
static void says_that_none_is_covered(void **state)
{
    (void)state;
    Case k = case_new();
    Affine i = add_column(&k, 8, 15);
    k.from = k.n;
    ask_equal(&k, add_column(&k, 0, 7), i);
    assert_int_equal(extend(&k), -1);
    end(&k);
}

/* 3 (5 a - 3 b) + (5 c - 3 d) is at least 4 where both sums are at least 1, and not at least 5. */
static void adds_rows(void **state)
{
    (void)state;
    for (int64_t least = 4; least <= 5; least++) {
        Case k = case_new();
        Affine sums[2], w;
        for (int i = 0; i < 2; i++) {
            Affine a = add_column(&k, 0, 3), b = add_column(&k, 0, 4);
            sums[i] = sum(&k, poly_add(k.p, affine_const(0), a, 5), -3, b);
            poly_at_most(k.p, &k.p->top, affine_const(1), sums[i], 0);
        }
        k.from = k.n;
        w = add_column(&k, least, 100);
        ask_equal(&k, w, sum(&k, sums[1], 3, sums[0]));
        assert_int_equal(extend(&k) == 0, least == 4);
        end(&k);
    }
}

/* A copy two turns ahead, in loops of 2: what is used in 4 i was copied in 4 k + 2 t + 2 for an
 * earlier k. The first k is earlier, too, and does not do. */
static void takes_the_iteration_before(void **state)
{
    (void)state;
    Case k = case_new();
    Affine i = add_column(&k, 1, 41);
    k.from = k.n;
    Affine before = add_column(&k, 0, 41), t = add_column(&k, 0, 1);
    Affine lead = sum(&k, poly_add(k.p, affine_const(0), i, 4), -4, before);
    lead = sum(&k, lead, -2, t);
    k.rows[k.n_rows++] = (Row){.form = sum(&k, lead, 1, affine_const(-2))};
    k.rows[k.n_rows++] = (Row){.form = sum(&k, affine_const(5), -1, lead)};
    k.rows[k.n_rows++] = (Row){.form = sum(&k, sum(&k, i, -1, before), 1, affine_const(-1))};
    assert_int_equal(extend(&k), 0);
    end(&k);
}

/* ---- random systems -------------------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static int64_t draw(uint64_t *seed, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(next(seed) % (uint64_t)(hi - lo + 1));
}

/* A column that the system has got, in 0..=max. */
static void know_column(Case *k, int64_t max)
{
    k->min[k->n] = 0;
    k->max[k->n] = max;
    k->column[k->n] = poly_term(k->p, 1, k->n);
    k->n++;
}

/* A quotient of one of the columns, as a column, and one for the remainder. */
static void add_quotient(Case *k, uint64_t *seed, int from)
{
    int of = (int)draw(seed, from, k->n - 1), n = k->p->columns.n;
    int64_t d = draw(seed, 2, 4);
    if (k->min[of] < 0)
        return;
    if (k->from)
        ask_quotient(k, k->column[of], d);
    else
        poly_quotient(k->p, k->column[of], d);
    if (k->p->columns.n == n)
        return;
    know_column(k, k->max[of] / d);
    know_column(k, d - 1);
}

static Affine draw_form(Case *k, uint64_t *seed, int from, int to)
{
    static const int64_t factors[] = {0, 1, 2, 3, 4, 8, -1, -4};
    Affine form = affine_const(draw(seed, -2, 2) * (int64_t)(next(seed) % 2));
    for (int i = from; i < to; i++)
        form = sum(k, form, factors[next(seed) % 8], k->column[i]);
    return form;
}

static bool rows_hold(const Row *rows, int n, const int64_t *point)
{
    bool hold = true;
    for (int i = 0; i < n && hold; i++) {
        int64_t value = affine_at(rows[i].form, point);
        hold = rows[i].equal ? value == 0 : value >= 0;
    }
    return hold;
}

/* There are values of the columns from `at` on with which the rows hold. */
static bool some_hold(const Case *k, int64_t *point, int at)
{
    if (at == k->n)
        return rows_hold(k->rows, k->n_rows, point);
    bool found = false;
    for (point[at] = k->min[at]; point[at] <= k->max[at] && !found; point[at]++)
        found = some_hold(k, point, at + 1);
    return found;
}

/* For all solutions of the system, and of the rows `left`. The rows of both are of the columns
 * before `from`. */
static bool always_extends(const Case *k, const Row *left, int n_left, int64_t *point, int at)
{
    if (at == k->from)
        return !rows_hold(k->p->top.rows.items, k->p->top.rows.n, point) ||
               !rows_hold(left, n_left, point) || some_hold(k, point, at);
    bool all = true;
    for (point[at] = k->min[at]; point[at] <= k->max[at] && all; point[at]++)
        all = always_extends(k, left, n_left, point, at + 1);
    return all;
}

static bool is_of_known(const Case *k, const Row *rows, int n)
{
    bool known = true;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < rows[i].form.n; t++)
            known &= rows[i].form.terms[t].column < k->from;
    return known;
}

static void is_never_wrong(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int n_true = 0, n_proved = 0, n_partly = 0;
    for (int round = 0; round < 8000; round++) {
        Case k = case_new();
        int64_t point[MAX_COLUMNS];
        int n_known = (int)draw(&seed, 1, 2), n_open = (int)draw(&seed, 1, 3);
        for (int i = 0; i < n_known; i++)
            add_column(&k, 0, draw(&seed, 0, 9));
        if (next(&seed) % 3 == 0)
            add_quotient(&k, &seed, 0);
        if (next(&seed) % 3 == 0)
            poly_not_negative(k.p, &k.p->top, draw_form(&k, &seed, 0, k.n));
        k.from = k.n;
        for (int i = 0; i < n_open; i++)
            add_column(&k, -(int64_t)(next(&seed) % 5 == 0), draw(&seed, 0, 9));
        if (next(&seed) % 3 == 0)
            add_quotient(&k, &seed, k.from);
        for (int i = (int)draw(&seed, 1, 2); i > 0; i--)
            ask_equal(&k, draw_form(&k, &seed, 0, k.from), draw_form(&k, &seed, k.from, k.n));
        if (next(&seed) % 2)
            k.rows[k.n_rows++] = (Row){.form = draw_form(&k, &seed, 0, k.n)};
        bool extends = always_extends(&k, NULL, 0, point, 0);
        Row left[MAX_LEFT];
        int n_rows = k.p->top.rows.n, n_left = extend_or(&k, left);
        assert_true(extends || n_left != 0);
        k.p->top.rows.n = n_rows;
        if (n_left > 0 && is_of_known(&k, left, n_left)) {
            assert_true(always_extends(&k, left, n_left, point, 0));
            n_partly++;
        }
        n_true += extends;
        n_proved += n_left == 0;
        end(&k);
    }
    assert_true(n_true > 100 && n_partly > 100);
    assert_true(n_proved * 2 >= n_true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_digits_of_a_fused_loop),
        cmocka_unit_test(takes_a_number_apart),
        cmocka_unit_test(knows_a_quotient_of_a_quotient),
        cmocka_unit_test(says_what_is_left),
        cmocka_unit_test(takes_the_iteration_before),
        cmocka_unit_test(says_it_once),
        cmocka_unit_test(says_that_none_is_covered),
        cmocka_unit_test(adds_rows),
        cmocka_unit_test(is_never_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
