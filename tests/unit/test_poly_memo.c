/* What the dependence analysis keeps of its questions (polyhedral/poly_memo.h): rows are found
 * again by what they say, under other names of columns too, and by nothing less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/analysis/polyhedral/poly_memo.h"

static const int names[] = {0, 1, 2, 3};

/* a >= x, 3 y == b, by the columns x and y. */
typedef struct {
    Term terms[2];
    Row rows[2];
} Pair;

static void make_pair(Pair *p, int x, int y, int64_t a, int64_t b)
{
    p->terms[0] = (Term){x, -1, NULL};
    p->terms[1] = (Term){y, 3, NULL};
    p->rows[0] = (Row){.form = {a, &p->terms[0], 1, 1}};
    p->rows[1] = (Row){.form = {-b, &p->terms[1], 1, 1}, .equal = true};
}

static Answer find_asked(Context *c, PolyMemo *m, Asked asked, Bounds *ranges)
{
    MemoKey key = memo_key(c->arena, asked);
    return memo_find(m, &key, ranges);
}

static void keep(Context *c, PolyMemo *m, Asked asked, Answer answer, const Bounds *ranges)
{
    MemoKey key = memo_key(c->arena, asked);
    memo_keep(m, &key, answer, ranges);
}

static Answer find(Context *c, PolyMemo *m, const Pair *p)
{
    return find_asked(c, m, (Asked){p->rows, 2, names, 4, 0}, NULL);
}

static void test_same_rows(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    PolyMemo *m = memo_new(c);
    Pair p;
    for (int i = 0; i < 5000; i++) {
        make_pair(&p, 0, 1, i % 70, i / 70);
        assert_int_equal(find(c, m, &p), POLY_SPENT);
        keep(c, m, (Asked){p.rows, 2, names, 4, 0},
             i % 3 == 0   ? POLY_NONE
             : i % 3 == 1 ? POLY_SOME
                          : POLY_SPENT,
             NULL);
    }
    for (int i = 0; i < 5000; i++) {
        make_pair(&p, 0, 1, i % 70, i / 70);
        assert_int_equal(find(c, m, &p), i % 3 == 0   ? POLY_NONE
                                         : i % 3 == 1 ? POLY_SOME
                                                      : POLY_SPENT);
    }
    make_pair(&p, 7, 9, 0, 0);
    int other_names[10] = {[7] = 0, [9] = 1};
    assert_int_equal(find_asked(c, m, (Asked){p.rows, 2, other_names, 10, 0}, NULL), POLY_NONE);
    memo_free(m);
    ctx_free(c);
}

static void test_other_rows(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    PolyMemo *m = memo_new(c);
    Pair p;
    make_pair(&p, 0, 1, 5, 6);
    keep(c, m, (Asked){p.rows, 2, names, 4, 0}, POLY_SOME, NULL);
    assert_int_equal(find_asked(c, m, (Asked){p.rows, 1, names, 4, 0}, NULL), POLY_SPENT);
    assert_int_equal(find_asked(c, m, (Asked){p.rows, 2, names + 1, 4, 0}, NULL), POLY_SPENT);
    p.rows[0].equal = true;
    assert_int_equal(find(c, m, &p), POLY_SPENT);
    p.rows[0].equal = false;
    p.terms[1].factor = 4;
    assert_int_equal(find(c, m, &p), POLY_SPENT);
    p.terms[1].factor = 3;
    p.rows[1].form.n = 0;
    assert_int_equal(find(c, m, &p), POLY_SPENT);
    p.rows[1].form.n = 1;
    assert_int_equal(find(c, m, &p), POLY_SOME);
    memo_free(m);
    ctx_free(c);
}

/* Numbers of any length are told apart, and each from what begins like it. */
static void test_numbers(void **state)
{
    (void)state;
    static const int64_t numbers[] = {
        0,         1,        -1, 63, 64, -64, -65, 128, 192, 8191, 8192, INT32_MAX, INT64_MAX - 1,
        INT64_MAX, INT64_MIN};
    enum { N = sizeof numbers / sizeof *numbers };
    Context *c = ctx_new(0);
    PolyMemo *m = memo_new(c);
    Pair p;
    for (int i = 0; i < N * N; i++) {
        make_pair(&p, 0, 1, numbers[i % N], 0);
        p.terms[1].factor = numbers[i / N];
        assert_int_equal(find(c, m, &p), POLY_SPENT);
        keep(c, m, (Asked){p.rows, 2, names, 4, 0}, POLY_SOME, NULL);
        assert_int_equal(find(c, m, &p), POLY_SOME);
    }
    memo_free(m);
    ctx_free(c);
}

/* Ranges of forms are kept with the rows that they belong to, and are no constraints. */
static void test_ranges(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    PolyMemo *m = memo_new(c);
    Bounds found = {0};
    Pair p;
    make_pair(&p, 0, 1, 5, 6);
    keep(c, m, (Asked){p.rows, 2, names, 4, 1}, POLY_SOME, &(Bounds){-3, INT64_MAX});
    assert_int_equal(find(c, m, &p), POLY_SPENT);
    assert_int_equal(find_asked(c, m, (Asked){p.rows, 2, names, 4, 1}, &found), POLY_SOME);
    assert_int_equal(found.min, -3);
    assert_true(found.max == INT64_MAX);
    memo_free(m);
    ctx_free(c);
}

/* The table never holds more than some 8 MiB. */
static void test_forgets(void **state)
{
    (void)state;
    enum { MANY = 2000, ENOUGH = 2500 };
    static Row rows[MANY];
    Context *c = ctx_new(0);
    PolyMemo *m = memo_new(c);
    int found = 0;
    for (int i = 0; i < ENOUGH; i++) {
        rows[0].form.constant = i;
        keep(c, m, (Asked){rows, MANY, names, 4, 0}, POLY_NONE, NULL);
    }
    for (int i = 0; i < ENOUGH; i++) {
        rows[0].form.constant = i;
        found += find_asked(c, m, (Asked){rows, MANY, names, 4, 0}, NULL) == POLY_NONE;
    }
    assert_in_range(found, 1, ENOUGH - 1);
    assert_int_equal(find_asked(c, m, (Asked){rows, MANY, names, 4, 0}, NULL), POLY_NONE);
    memo_free(m);
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rows), cmocka_unit_test(test_other_rows),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
