/* The answers of dependence/dependence.h about random subscripts, against all pairs of
 * iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nest_build.h"

typedef struct {
    uint32_t state;
} Random;

static int64_t random_in(Random *r, int64_t lo, int64_t hi)
{
    r->state = r->state * 1664525u + 1013904223u;
    return lo + (int64_t)((r->state >> 8) % (uint32_t)(hi - lo + 1));
}

/* A subscript: a i + b j + c, then perhaps / d, % d, min or a choice. */
typedef struct {
    int64_t a, b, c, d;
    int how;
} Subscript;

static Subscript random_subscript(Random *r)
{
    return (Subscript){random_in(r, -2, 3), random_in(r, -2, 3), random_in(r, -4, 4),
                       random_in(r, 2, 5), (int)random_in(r, 0, 6)};
}

static int64_t subscript_value(Subscript s, int64_t i, int64_t j)
{
    int64_t e = s.a * i + s.b * j + s.c;
    switch (s.how) {
    case 0: return e / s.d;
    case 1: return e % s.d;
    case 2: return e < i ? e : i;
    case 3: return i < s.d ? e : j;
    default: return e;
    }
}

static Expr *subscript_expr(Context *c, Subscript s, Expr *i, Expr *j)
{
    Expr *e =
        add(c, op(c, EX_ADD, op(c, EX_MUL, num(c, s.a), i), op(c, EX_MUL, j, num(c, s.b))), s.c);
    switch (s.how) {
    case 0: return op(c, EX_DIV, e, num(c, s.d));
    case 1: return op(c, EX_MOD, e, num(c, s.d));
    case 2: return op(c, EX_MIN, e, i);
    case 3: return expr_select(c, op(c, EX_LT, i, num(c, s.d)), e, j, span_none());
    default: return e;
    }
}

enum { SIDE = 5 };

/* x[write] = x[read] for i in 0..SIDE, j in (triangular ? i : 0)..SIDE by `step`. */
typedef struct {
    Subscript write, read;
    bool triangular;
    int64_t step;
} Sample;

/* Calls `see` on all pairs of iterations that touch one element, one of them writing; true if one
 * says so. */
static bool any_pair(Sample s, bool (*see)(int64_t i, int64_t j, int64_t k, int64_t l))
{
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = s.triangular ? i : 0; j < SIDE; j += s.step)
            for (int64_t k = 0; k < SIDE; k++)
                for (int64_t l = s.triangular ? k : 0; l < SIDE; l += s.step) {
                    int64_t w = subscript_value(s.write, i, j);
                    if ((w == subscript_value(s.write, k, l) ||
                         w == subscript_value(s.read, k, l)) &&
                        see(i, j, k, l))
                        return true;
                }
    return false;
}

static bool outer_carries(int64_t i, int64_t j, int64_t k, int64_t l)
{
    (void)j, (void)l;
    return i != k;
}

static bool inner_carries(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return i == k && j != l;
}

/* The order of two iterations when the loops change places. */
static bool swap_breaks(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return (i < k && j > l) || (i > k && j < l);
}

/* The order of two iterations when i is a thread and j a serial loop of it. */
static bool threads_break(int64_t i, int64_t j, int64_t k, int64_t l)
{
    return (i < k && j >= l) || (i > k && j <= l);
}

static void test_enumeration(void **state)
{
    Context *c = *state;
    Conflict why;
    Random r = {12345};
    for (int n_samples = 0; n_samples < 400; n_samples++) {
        Sample s = {random_subscript(&r), random_subscript(&r), random_in(&r, 0, 2) == 0,
                    random_in(&r, 1, 2)};
        Nest n = nest_new(c);
        Buffer *x = buffer(c, "x", 1, 100);
        Expr *i = enter(&n, "i", SIDE);
        Expr *j = enter_range(&n, "j", s.triangular ? i : num(c, 0), num(c, SIDE), s.step);
        Stmt *block = plain(&n, "x",
                            store(c, x, subscript_expr(c, s.write, i, j), NULL, STORE_SET,
                                  load(c, x, subscript_expr(c, s.read, i, j), NULL)));
        Nest swapped = n;
        swap_loops(&swapped);
        Stmt *body = leave_all(&n, block);
        assert_int_equal(parallel(&n, body, 0, &why), !any_pair(s, outer_carries));
        assert_int_equal(parallel(&n, body, 1, &why), !any_pair(s, inner_carries));
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_BLOCK_X, &why),
                         !any_pair(s, outer_carries));
        assert_int_equal(legal(&n, body, 0, LOOP_BIND, AXIS_THREAD_X, &why),
                         !any_pair(s, threads_break));
        if (s.triangular)
            continue;
        bool reassociates = false;
        Kernel k = kernel_of(&n, body);
        Stmt *after = leave_all(&swapped, block);
        assert_int_equal(dependence_order_kept(c, (Rewrite){&k, body, after}, &reassociates, &why),
                         !any_pair(s, swap_breaks));
        assert_true(dependence_instances_kept(c, (Rewrite){&k, body, after}, 0, &why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_enumeration, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
