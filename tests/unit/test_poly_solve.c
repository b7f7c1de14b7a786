/* What a question to the solver takes (polyhedral/poly_solve.c): memory that it gives back
 * after each case, and work that it stops at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <isl/ctx.h>
#include <isl/set.h>

#include "ir/ir.h"
#include "passes/analysis/polyhedral/poly_reduce.h"

/* Sizes M and N, and e = q N + r in each of CHOICES choices between e < M and e >= M. */
enum { CHOICES = 6, DIMENSIONS = 3 };

typedef struct {
    Context *c;
    Poly *p;
    Affine forms[DIMENSIONS];
    jmp_buf guard;
} Question;

static Affine within(Poly *p, Affine width)
{
    Affine digit = poly_free_column(p, 0, INT64_MAX);
    poly_not_negative(p, &p->top, digit);
    poly_at_most(p, &p->top, digit, width, -1);
    return digit;
}

static Expr *variable(Question *q, Env *env, const char *name, Affine value)
{
    Var *var = var_new(q->c, ctx_name(q->c, name), DT_INDEX, VAR_LOOP, (Span){0});
    VEC_PUSH(q->c->arena, env, ((Meaning){var, value, false}));
    return expr_var(q->c, var, (Span){0});
}

/* The solutions are told by numbers of symbolic width; each choice doubles the cases. */
static void put(Question *q, size_t memory)
{
    q->c = ctx_new(memory);
    q->c->guard = &q->guard;
    q->p = poly_new(q->c);
    Env env = {0};
    Var *m = var_new(q->c, ctx_name(q->c, "M"), DT_INDEX, VAR_SIZE, (Span){0});
    Var *n = var_new(q->c, ctx_name(q->c, "N"), DT_INDEX, VAR_SIZE, (Span){0});
    q->forms[0] = poly_size(q->p, m);
    q->forms[1] = poly_size(q->p, n);
    for (int i = 0; i < CHOICES; i++) {
        Expr *high = variable(q, &env, "high", within(q->p, q->forms[0]));
        Expr *low = variable(q, &env, "low", within(q->p, q->forms[1]));
        Expr *row = expr_binary(q->c, EX_MUL, high, expr_var(q->c, n, (Span){0}), (Span){0});
        Affine e = poly_value(q->p, &env, expr_binary(q->c, EX_ADD, row, low, (Span){0}));
        q->forms[2] = i == 0 ? e : poly_add(q->p, q->forms[2], e, 1);
        Conj **either = poly_choice(q->p, &q->p->top, 2);
        poly_at_most(q->p, either[0], e, q->forms[0], -1);
        poly_at_most(q->p, either[1], q->forms[0], e, 0);
    }
    assert_true(q->p->products.n > 0);
}

static isl_set *image(Question *q)
{
    bool exact;
    return poly_image(q->p, q->forms, DIMENSIONS, &exact);
}

static void questions_leave_nothing(void **state)
{
    (void)state;
    Question q;
    put(&q, 0);
    size_t before = arena_used(q.c->arena);
    isl_set_free(image(&q));
    assert_int_equal(arena_used(q.c->arena), before);
    assert_int_equal(poly_solve(q.p, NULL, 0, NULL), POLY_SOME);
    assert_int_equal(arena_used(q.c->arena), before);
    ctx_free(q.c);
}

static void cases_give_back_their_memory(void **state)
{
    (void)state;
    Question q;
    put(&q, 1 << 20);
    if (setjmp(q.guard)) {
        print_error("%s\n", q.c->fatal_message);
        fail();
    }
    isl_set *set = image(&q);
    assert_non_null(set);
    isl_set_free(set);
    ctx_free(q.c);
}

static void spent_budgets_end_the_search(void **state)
{
    (void)state;
    Question q;
    put(&q, 0);
    q.c->solver->work_left = 0;
    isl_set *set = image(&q);
    assert_null(set);
    isl_set_free(set);
    assert_in_range(-q.c->solver->work_left, 0, 1000000);
    ctx_free(q.c);
}

static void assert_range(Bounds range, int64_t min, int64_t max)
{
    assert_int_equal(range.min, min);
    assert_int_equal(range.max, max);
}

/* 32 x + t == 32 y + u with t and u in 0..32 says x == y, for which tiles are told apart; x is in
 * 2..8, and nothing bounds z from above. A row in a choice does not count. */
static void ranges_follow_from_rows(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine x = poly_free_column(p, 0, INT64_MAX), y = poly_free_column(p, 0, INT64_MAX);
    Affine t = within(p, affine_const(32)), u = within(p, affine_const(32)),
           z = poly_free_column(p, 0, INT64_MAX);
    poly_not_negative(p, &p->top, z);
    poly_equal(p, &p->top, poly_add(p, t, x, 32), poly_add(p, u, y, 32));
    poly_at_most(p, &p->top, affine_const(2), x, 0);
    poly_at_most(p, &p->top, y, affine_const(7), 0);
    poly_at_most(p, poly_choice(p, &p->top, 1)[0], x, affine_const(3), 0);
    Affine forms[] = {poly_add(p, y, x, -1), x, poly_add(p, x, t, -2), poly_add(p, z, t, 1)};
    Bounds ranges[4], again[4];
    size_t before = arena_used(c->arena);
    assert_true(poly_ranges(p, forms, 4, ranges));
    assert_true(poly_ranges(p, forms, 4, again));
    assert_int_equal(arena_used(c->arena), before);
    for (int i = 0; i < 4; i++)
        assert_range(again[i], ranges[i].min, ranges[i].max);
    assert_range(ranges[0], 0, 0);
    assert_range(ranges[1], 2, 7);
    assert_range(ranges[2], 2 - 2 * 31, 7);
    assert_range(ranges[3], 0, INT64_MAX);
    poly_at_most(p, &p->top, x, y, -1);
    assert_false(poly_ranges(p, forms, 4, ranges));
    assert_false(poly_ranges(p, forms, 4, ranges));
    ctx_free(c);
}

/* e / high % width */
static Affine digit(Poly *p, Affine e, int64_t high, int64_t width)
{
    Affine q = poly_quotient(p, e, high);
    return poly_add(p, q, poly_quotient(p, q, width), -width);
}

/* Each 256 a + 32 b + c has its own digits e / 432, e / 27 % 16, e / 9 % 3, e / 3 % 3 and e % 3:
 * equal digits are equal sums. Few of isl's operations say so; the threads of a convolution that
 * copy its weights took a tenth of a second for each pair. */
static void sums_have_digits(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine tile[2], sum[2];
    for (int i = 0; i < 2; i++) {
        tile[i] = within(p, affine_const(14));
        Affine warp = within(p, affine_const(8)), lane = within(p, affine_const(32));
        sum[i] = poly_add(p, poly_add(p, lane, warp, 32), tile[i], 256);
    }
    poly_equal(p, &p->top, poly_quotient(p, sum[0], 432), poly_quotient(p, sum[1], 432));
    static const int64_t parts[][2] = {{27, 16}, {9, 3}, {3, 3}, {1, 3}};
    for (int k = 0; k < 4; k++)
        poly_equal(p, &p->top, digit(p, sum[0], parts[k][0], parts[k][1]),
                   digit(p, sum[1], parts[k][0], parts[k][1]));
    poly_at_most(p, &p->top, tile[0], tile[1], -1);
    isl_ctx_set_max_operations(p->isl, 1000);
    assert_int_equal(poly_solve(p, NULL, 0, NULL), POLY_NONE);
    ctx_free(c);
}

/* The blocks b and threads t of a pooling: b / 29791 makes b a number, and what 256 b + t has below
 * its multiples is one number for all quotients. It took isl 10 ms for each pair. */
static void rests_have_digits(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    static const int64_t parts[][2] = {{238328, 32}, {3844, 62}, {62, 62}, {1, 62}};
    Affine block[2], all[2][5];
    for (int i = 0; i < 2; i++) {
        block[i] = within(p, affine_const(476656));
        all[i][4] = poly_quotient(p, block[i], 29791);
        Affine sum = poly_add(p, within(p, affine_const(256)), block[i], 256);
        for (int k = 0; k < 4; k++)
            all[i][k] = digit(p, sum, parts[k][0], parts[k][1]);
    }
    for (int k = 0; k < 5; k++)
        poly_equal(p, &p->top, all[0][k], all[1][k]);
    poly_at_most(p, &p->top, block[0], block[1], -1);
    isl_ctx_set_max_operations(p->isl, 1000);
    assert_int_equal(poly_solve(p, NULL, 0, NULL), POLY_NONE);
    ctx_free(c);
}

/* The results of a transposed convolution in steps of 2: twice each digit of 256 b + t, and a
 * residue. Where two of the digits are equal, what is left of the other rows is digits, too. */
static void equal_digits_leave_digits(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine block[2], all[2][3];
    for (int i = 0; i < 2; i++) {
        block[i] = within(p, affine_const(73));
        Affine sum = poly_add(p, within(p, affine_const(256)), block[i], 256);
        Affine digits[] = {poly_quotient(p, sum, 1089), digit(p, sum, 33, 33),
                           poly_add(p, sum, poly_quotient(p, sum, 33), -33)};
        for (int k = 0; k < 3; k++)
            all[i][k] = poly_add(p, within(p, affine_const(2)), digits[k], 2);
    }
    for (int k = 0; k < 3; k++)
        poly_equal(p, &p->top, all[0][k], all[1][k]);
    Affine distance = poly_add(p, block[1], block[0], -1);
    Bounds range;
    assert_true(poly_ranges(p, &distance, 1, &range));
    assert_range(range, 0, 0);
    ctx_free(c);
}

/* Two threads write the same element, whose number in each dimension is a residue and twice a digit
 * of 256 b + t: the blocks are the same, though the element stands between the two. */
static void numbers_meet_in_an_element(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine block[2], all[2][3];
    for (int i = 0; i < 2; i++) {
        block[i] = within(p, affine_const(73));
        Affine sum = poly_add(p, within(p, affine_const(256)), block[i], 256);
        Affine digits[] = {poly_quotient(p, sum, 1089), digit(p, sum, 33, 33),
                           poly_add(p, sum, poly_quotient(p, sum, 33), -33)};
        for (int k = 0; k < 3; k++)
            all[i][k] = poly_add(p, within(p, affine_const(2)), digits[k], 2);
    }
    for (int k = 0; k < 3; k++) {
        Affine element = within(p, affine_const(65));
        poly_equal(p, &p->top, all[0][k], element);
        poly_equal(p, &p->top, all[1][k], element);
    }
    poly_at_most(p, &p->top, block[0], block[1], -1);
    isl_ctx_set_max_operations(p->isl, 1);
    assert_int_equal(poly_solve(p, NULL, 0, NULL), POLY_NONE);
    ctx_free(c);
}

/* Two threads read the same element of a row of 65535, in fours that start at a multiple of 4: both
 * take 65535 times the row apart, so the quotients are the same, and then the threads. */
static void multiples_have_the_same_digits(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine row[2], part[2], at[2];
    for (int i = 0; i < 2; i++) {
        row[i] = within(p, affine_const(32768));
        part[i] = within(p, affine_const(4));
        Affine begin = poly_term(p, 65535, row[i].terms[0].column);
        Affine four = poly_add(p, within(p, affine_const(256)), part[i], 256);
        four = poly_add(p, four, within(p, affine_const(17)), 1024);
        four = poly_add(p, four, poly_quotient(p, begin, 4), 1);
        at[i] = poly_add(p, poly_add(p, within(p, affine_const(4)), four, 4), begin, -1);
    }
    poly_equal(p, &p->top, row[0], row[1]);
    poly_equal(p, &p->top, at[0], at[1]);
    poly_at_most(p, &p->top, part[0], part[1], -1);
    isl_ctx_set_max_operations(p->isl, 1);
    assert_int_equal(poly_solve(p, NULL, 0, NULL), POLY_NONE);
    ctx_free(c);
}

/* 256 p <= x <= 256 q + 255 with q < p: neither bound of x says it alone. */
static void rows_add_up(void **state)
{
    (void)state;
    for (int64_t least = 0; least <= 1; least++) {
        Context *c = ctx_new(0);
        Poly *p = poly_new(c);
        Affine a = within(p, affine_const(73)), b = within(p, affine_const(73));
        Affine x = within(p, affine_const(20000));
        poly_at_most(p, &p->top, poly_term(p, 256, a.terms[0].column), x, 0);
        poly_at_most(p, &p->top, x, poly_term(p, 256, b.terms[0].column), 255);
        poly_at_most(p, &p->top, b, a, -least);
        isl_ctx_set_max_operations(p->isl, 1);
        assert_int_equal(poly_solve(p, NULL, 0, NULL), least ? POLY_NONE : POLY_SOME);
        ctx_free(c);
    }
}

/* x is 0 or 1, and x is 0 and 1: the same rows, of which a choice makes another question. A
 * question that was asked takes none of isl's operations. */
static void choices_belong_to_a_question(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    static const Answer answers[] = {POLY_SOME, POLY_NONE, POLY_SOME, POLY_NONE};
    for (int round = 0; round < 4; round++) {
        Poly *p = poly_new(c);
        Affine x = within(p, affine_const(4)), odd = within(p, affine_const(9));
        poly_equal(p, &p->top, poly_add(p, x, odd, 3), affine_const(4));
        Conj *all[] = {&p->top, &p->top}, **into = all;
        if (answers[round] == POLY_SOME)
            into = poly_choice(p, &p->top, 2);
        poly_equal(p, into[0], x, affine_const(0));
        poly_equal(p, into[1], x, affine_const(1));
        if (round >= 2)
            isl_ctx_set_max_operations(p->isl, 1);
        assert_int_equal(poly_solve(p, NULL, 0, NULL), answers[round]);
    }
    ctx_free(c);
}

/* ---- random rows ----------------------------------------------------------------------------- */

enum { VALUES = 4, VARIABLES = 5, ROWS = 6 };

static int64_t draw(uint64_t *seed, int64_t min, int64_t max)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return min + (int64_t)((*seed >> 11) % (uint64_t)(max - min + 1));
}

static bool has_solution(const Poly *p)
{
    for (int at = 0; at < VALUES * VALUES * VALUES * VALUES * VALUES; at++) {
        int64_t point[VARIABLES];
        bool holds = true;
        for (int i = 0, rest = at; i < VARIABLES; i++, rest /= VALUES)
            point[i] = rest % VALUES;
        for (int k = 0; k < p->top.rows.n && holds; k++) {
            int64_t value = affine_at(p->top.rows.items[k].form, point);
            holds = p->top.rows.items[k].equal ? value == 0 : value >= 0;
        }
        if (holds)
            return true;
    }
    return false;
}

/* What is decided without isl is right, counted out; and most is. */
static void random_rows_are_decided(void **state)
{
    (void)state;
    static const int64_t factors[] = {1, -1, 1, -1, 4, -4, 8, -16, 2, 3};
    uint64_t seed = 99;
    int n_decided = 0, n_none = 0;
    enum { ROUNDS = 2000 };
    for (int round = 0; round < ROUNDS; round++) {
        Context *c = ctx_new(0);
        Poly *p = poly_new(c);
        Affine x[VARIABLES];
        for (int i = 0; i < VARIABLES; i++)
            x[i] = within(p, affine_const(VALUES));
        Affine form = affine_const(0);
        for (int k = (int)draw(&seed, 2, ROWS); k > 0; k--) {
            /* many rows are nearly the opposite of the one before */
            form = poly_add(p, affine_const(draw(&seed, -6, 6)), form, -draw(&seed, 0, 1));
            for (int n = (int)draw(&seed, 1, 3); n > 0; n--)
                form =
                    poly_add(p, form, x[draw(&seed, 0, VARIABLES - 1)], factors[draw(&seed, 0, 9)]);
            if (draw(&seed, 0, 3) == 0)
                poly_zero(p, &p->top, form);
            else
                poly_not_negative(p, &p->top, form);
        }
        int names[VARIABLES] = {0, 1, 2, 3, 4};
        Answer answer =
            poly_reduce(c, (Asked){p->top.rows.items, p->top.rows.n, names, VARIABLES, 0});
        if (answer != POLY_SPENT)
            assert_int_equal(answer == POLY_SOME, has_solution(p));
        n_decided += answer != POLY_SPENT;
        n_none += answer == POLY_NONE;
        ctx_free(c);
    }
    assert_true(n_decided * 10 > ROUNDS * 9);
    assert_true(n_none > 100 && n_decided - n_none > 100);
}

/* A tap u = (y + 1) % 2 + 2 m of a result y divides y + 1 - u, which may be negative: one case. */
static void exact_quotients_have_one_case(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine y = within(p, affine_const(2)), m = within(p, affine_const(4));
    Affine next = poly_add(p, y, affine_const(1), 1), half = poly_quotient(p, next, 2);
    Affine tap = poly_add(p, poly_add(p, next, half, -2), m, 2);
    Affine q = poly_quotient(p, poly_add(p, next, tap, -1), 2);
    assert_true(affine_equal(q, poly_add(p, half, m, -1)));
    assert_int_equal(p->top.choices.n, 0);
    ctx_free(c);
}

/* Numbers that do not fit give no bounds, and no answer that there is no solution. */
static void far_numbers_have_no_ranges(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Affine x = within(p, affine_const(4)), y = within(p, affine_const(4));
    Bounds range;
    poly_equal(p, &p->top, poly_term(p, INT64_MAX / 2, x.terms[0].column), y);
    assert_true(poly_ranges(p, &x, 1, &range));
    assert_true(range.min == INT64_MIN && range.max == INT64_MAX);
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_leave_nothing),
        cmocka_unit_test(cases_give_back_their_memory),
        cmocka_unit_test(spent_budgets_end_the_search),
        cmocka_unit_test(ranges_follow_from_rows),
        cmocka_unit_test(sums_have_digits),
        cmocka_unit_test(rests_have_digits),
        cmocka_unit_test(equal_digits_leave_digits),
        cmocka_unit_test(numbers_meet_in_an_element),
        cmocka_unit_test(multiples_have_the_same_digits),
        cmocka_unit_test(rows_add_up),
        cmocka_unit_test(choices_belong_to_a_question),
        cmocka_unit_test(random_rows_are_decided),
        cmocka_unit_test(exact_quotients_have_one_case),
        cmocka_unit_test(far_numbers_have_no_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
