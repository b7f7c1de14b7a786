/* Images of numbers with digits of symbolic width (polyhedral/poly_products.c): exact, and
 * point for point what counting out gives, at all small sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <isl/set.h>

#include "ir/ir.h"
#include "passes/analysis/polyhedral/poly.h"

enum { SIZES = 5, DIMENSIONS = 4 };

/* A nest: sizes M and N, loops x in 0..x_end and y in 0..y_end, a guard, and the two values that
 * are asked for. */
typedef struct {
    const char *name;
    Expr *(*x_end)(Context *c, Expr *m, Expr *n), *(*y_end)(Context *c, Expr *m, Expr *n);
    Expr *(*guard)(Context *c, Expr **v), *(*first)(Context *c, Expr **v),
        *(*second)(Context *c, Expr **v);
} Nest;

enum { M, N, X, Y, VALUES };

static Expr *op(Context *c, ExprKind kind, Expr *a, Expr *b)
{
    return expr_binary(c, kind, a, b, (Span){0});
}

static Expr *num(Context *c, int64_t value)
{
    return expr_index(c, value);
}

static Expr *ceil_div(Context *c, Expr *e, int64_t d)
{
    return op(c, EX_DIV, op(c, EX_ADD, e, num(c, d - 1)), num(c, d));
}

/* ---- e = 4 x + y < M N, as e / N and e % N --------------------------------------------------- */

static Expr *tiles_of_all(Context *c, Expr *m, Expr *n)
{
    return ceil_div(c, op(c, EX_MUL, m, n), 4);
}

static Expr *four(Context *c, Expr *m, Expr *n)
{
    (void)m;
    (void)n;
    return num(c, 4);
}

static Expr *tiled(Context *c, Expr **v)
{
    return op(c, EX_ADD, op(c, EX_MUL, v[X], num(c, 4)), v[Y]);
}

static Expr *inside(Context *c, Expr **v)
{
    return op(c, EX_LT, tiled(c, v), op(c, EX_MUL, v[M], v[N]));
}

static Expr *row(Context *c, Expr **v)
{
    return op(c, EX_DIV, tiled(c, v), v[N]);
}

static Expr *column(Context *c, Expr **v)
{
    return op(c, EX_MOD, tiled(c, v), v[N]);
}

/* ---- i = x G + y < N with G = (N + 2) / 3 ---------------------------------------------------- */

static Expr *three(Context *c, Expr *m, Expr *n)
{
    (void)m;
    (void)n;
    return num(c, 3);
}

static Expr *third(Context *c, Expr *m, Expr *n)
{
    (void)m;
    return ceil_div(c, n, 3);
}

static Expr *in_thirds(Context *c, Expr **v)
{
    return op(c, EX_ADD, op(c, EX_MUL, v[X], third(c, v[M], v[N])), v[Y]);
}

static Expr *below_n(Context *c, Expr **v)
{
    return op(c, EX_LT, in_thirds(c, v), v[N]);
}

static Expr *nothing(Context *c, Expr **v)
{
    (void)v;
    return num(c, 0);
}

/* ---- (x + y) % N for x < N, y < M ------------------------------------------------------------ */

static Expr *all_n(Context *c, Expr *m, Expr *n)
{
    (void)c;
    (void)m;
    return n;
}

static Expr *all_m(Context *c, Expr *m, Expr *n)
{
    (void)c;
    (void)n;
    return m;
}

static Expr *always(Context *c, Expr **v)
{
    return op(c, EX_GE, v[X], num(c, 0));
}

static Expr *y_itself(Context *c, Expr **v)
{
    (void)c;
    return v[Y];
}

static Expr *diagonal(Context *c, Expr **v)
{
    return op(c, EX_MOD, op(c, EX_ADD, v[X], v[Y]), v[N]);
}

static const Nest nests[] = {
    {"tiles of a fused nest", tiles_of_all, four, inside, row, column},
    {"thirds", three, third, below_n, in_thirds, nothing},
    {"diagonals", all_n, all_m, always, y_itself, diagonal},
};

/* ---- counting out ---------------------------------------------------------------------------- */

/* The value, or false where a divisor is 0. */
static bool value_of(const Expr *e, Var *const *vars, const int64_t *values, int64_t *out)
{
    int64_t a = 0, b = 0;
    if (e->kind == EX_INT)
        return *out = e->u.i, true;
    if (e->kind == EX_VAR) {
        for (int i = 0; i < VALUES; i++)
            if (vars[i] == e->u.var)
                *out = values[i];
        return true;
    }
    if (!value_of(e->u.arg[0], vars, values, &a) || !value_of(e->u.arg[1], vars, values, &b))
        return false;
    if ((e->kind == EX_DIV || e->kind == EX_MOD) && b == 0)
        return false;
    *out = e->kind == EX_ADD   ? a + b
           : e->kind == EX_MUL ? a * b
           : e->kind == EX_DIV ? a / b
           : e->kind == EX_MOD ? a % b
           : e->kind == EX_LT  ? a < b
                               : a >= b;
    return true;
}

static bool holds_point(isl_set *set, const int64_t *point)
{
    isl_set *at = isl_set_copy(set);
    for (int i = 0; i < DIMENSIONS; i++)
        at = isl_set_fix_si(at, isl_dim_set, (unsigned)i, (int)point[i]);
    bool holds = isl_set_is_empty(at) == isl_bool_false;
    isl_set_free(at);
    return holds;
}

static void compare(const Nest *nest, isl_set *set, Var **vars, Expr *x_end, Expr *y_end,
                    Expr **asked, int64_t m, int64_t n)
{
    enum { LEAST = -1, MOST = SIZES + 1, SPAN = MOST - LEAST + 1 };
    bool counted[SPAN][SPAN] = {{false}};
    int64_t values[VALUES] = {m, n, 0, 0}, x_most, y_most, holds, i, j;
    assert_true(value_of(x_end, vars, values, &x_most) && value_of(y_end, vars, values, &y_most));
    for (values[X] = 0; values[X] < x_most; values[X]++)
        for (values[Y] = 0; values[Y] < y_most; values[Y]++)
            if (value_of(asked[0], vars, values, &holds) && holds &&
                value_of(asked[1], vars, values, &i) && value_of(asked[2], vars, values, &j))
                counted[i - LEAST][j - LEAST] = true;
    for (i = LEAST; i <= MOST; i++)
        for (j = LEAST; j <= MOST; j++) {
            int64_t point[DIMENSIONS] = {m, n, i, j};
            if (holds_point(set, point) != counted[i - LEAST][j - LEAST])
                fail_msg("%s: (%d, %d) at M = %d, N = %d", nest->name, (int)i, (int)j, (int)m,
                         (int)n);
        }
}

static void ask(const Nest *nest)
{
    Context *c = ctx_new(0);
    static const char *const names[] = {"M", "N", "x", "y"};
    Var *vars[VALUES];
    Expr *v[VALUES];
    Poly *p = poly_new(c);
    Env env = {0};
    for (int i = 0; i < VALUES; i++) {
        vars[i] =
            var_new(c, ctx_name(c, names[i]), DT_INDEX, i < X ? VAR_SIZE : VAR_LOOP, (Span){0});
        v[i] = expr_var(c, vars[i], (Span){0});
    }
    Expr *end[2] = {nest->x_end(c, v[M], v[N]), nest->y_end(c, v[M], v[N])};
    Affine forms[DIMENSIONS] = {poly_size(p, vars[M]), poly_size(p, vars[N])};
    for (int i = 0; i < 2; i++) {
        Affine value = poly_free_column(p, 0, INT64_MAX);
        poly_not_negative(p, &p->top, value);
        poly_at_most(p, &p->top, value, poly_value(p, &env, end[i]), -1);
        VEC_PUSH(c->arena, &env, ((Meaning){vars[X + i], value, false}));
    }
    Expr *asked[3] = {nest->guard(c, v), nest->first(c, v), nest->second(c, v)};
    forms[2] = poly_value(p, &env, asked[1]);
    forms[3] = poly_value(p, &env, asked[2]);
    poly_assume(p, &p->top, &env, asked[0], HOLDS);
    assert_true(p->products.n > 0);
    bool exact = false;
    isl_set *set = poly_image(p, forms, DIMENSIONS, &exact);
    assert_non_null(set);
    assert_true(exact);
    for (int64_t m = 0; m < SIZES; m++)
        for (int64_t n = 0; n < SIZES; n++)
            compare(nest, set, vars, end[0], end[1], asked, m, n);
    isl_set_free(set);
    ctx_free(c);
}

static void images_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
        ask(&nests[i]);
}

/* What cannot be said without products stays inexact: N x, the places of rows. */
static void rows_alone_are_not(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Poly *p = poly_new(c);
    Env env = {0};
    Var *n = var_new(c, ctx_name(c, "N"), DT_INDEX, VAR_SIZE, (Span){0});
    Var *x = var_new(c, ctx_name(c, "x"), DT_INDEX, VAR_LOOP, (Span){0});
    Affine value = poly_free_column(p, 0, INT64_MAX);
    poly_not_negative(p, &p->top, value);
    VEC_PUSH(c->arena, &env, ((Meaning){x, value, false}));
    Affine forms[2] = {
        poly_size(p, n),
        poly_value(p, &env, op(c, EX_MUL, expr_var(c, x, (Span){0}), expr_var(c, n, (Span){0})))};
    bool exact = true;
    isl_set_free(poly_image(p, forms, 2, &exact));
    assert_false(exact);
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_exact),
        cmocka_unit_test(rows_alone_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
