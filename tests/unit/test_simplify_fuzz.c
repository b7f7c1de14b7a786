/* test_simplify_fuzz.c - random expressions: what is rewritten keeps its value, what is proved
 * is true.
 *
 * Every expression is evaluated at every point of a small world (ranges may depend on outer
 * variables and on a size) and compared with its simplified form, its bounds, and the proofs
 * about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "passes/analysis/symbolic/affine.h"
#include "tests/unit/simplify_text.h"

enum { ROUNDS = 400, EXPRESSIONS = 50, WORLD_POINTS = 160, VARS = 5 };

typedef struct {
    World w;
    uint64_t seed;
    int64_t points[WORLD_POINTS][VARS]; /* N, then a, b, c, d */
    int n_points;
    Var *vars[VARS];
} Fuzz;

static uint64_t next_random(Fuzz *z)
{
    z->seed ^= z->seed << 13;
    z->seed ^= z->seed >> 7;
    z->seed ^= z->seed << 17;
    return z->seed;
}

static int pick(Fuzz *z, int n)
{
    return (int)((next_random(z) >> 11) % (uint64_t)n);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct {
    const Fuzz *z;
    const int64_t *point;
    bool undefined; /* a division by zero */
} Eval;

static int64_t eval(Eval *v, const Expr *e);

static int64_t eval_divided(Eval *v, const Expr *e)
{
    int64_t a = eval(v, e->u.arg[0]), b = eval(v, e->u.arg[1]);
    if (b == 0) {
        v->undefined = true;
        return 0;
    }
    return e->kind == EX_DIV ? a / b : a % b;
}

static int64_t eval_binary(Eval *v, const Expr *e)
{
    int64_t a = eval(v, e->u.arg[0]), b = eval(v, e->u.arg[1]);
    switch (e->kind) {
    case EX_ADD: return a + b;
    case EX_SUB: return a - b;
    case EX_MUL: return a * b;
    case EX_MIN: return a < b ? a : b;
    case EX_MAX: return a > b ? a : b;
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_GT: return a > b;
    case EX_GE: return a >= b;
    case EX_BITAND: return a & b;
    case EX_BITOR: return a | b;
    case EX_BITXOR: return a ^ b;
    case EX_SHL: return a * (INT64_C(1) << b);
    case EX_SHR: return a >> b;
    case EX_EQ: return a == b;
    default: assert_int_equal(e->kind, EX_NE); return a != b;
    }
}

static int64_t eval(Eval *v, const Expr *e)
{
    switch (e->kind) {
    case EX_INT: return e->u.i;
    case EX_VAR:
        for (int k = 0; k < VARS; k++)
            if (v->z->vars[k] == e->u.var)
                return v->point[k];
        fail_msg("a variable from nowhere");
        return 0;
    case EX_NEG: return -eval(v, e->u.arg[0]);
    case EX_NOT: return !eval(v, e->u.arg[0]);
    case EX_AND: return eval(v, e->u.arg[0]) && eval(v, e->u.arg[1]);
    case EX_OR: return eval(v, e->u.arg[0]) || eval(v, e->u.arg[1]);
    case EX_SELECT: return eval(v, e->u.arg[0]) ? eval(v, e->u.arg[1]) : eval(v, e->u.arg[2]);
    case EX_CAST: return e->type == DT_I8 ? (int8_t)eval(v, e->u.arg[0]) : eval(v, e->u.arg[0]);
    case EX_DIV:
    case EX_MOD: return eval_divided(v, e);
    default: return eval_binary(v, e);
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static Expr *random_index(Fuzz *z, int depth);

static Expr *random_bool(Fuzz *z, int depth)
{
    static const ExprKind compare[] = {EX_LT, EX_LE, EX_GT, EX_GE, EX_EQ, EX_NE};
    Context *c = z->w.c;
    Span s = span_none();
    int kind = depth <= 0 ? 0 : pick(z, 8);
    if (kind < 5)
        return expr_binary(c, compare[pick(z, 6)], random_index(z, depth - 1),
                           random_index(z, depth - 1), s);
    if (kind == 5)
        return expr_unary(c, EX_NOT, random_bool(z, depth - 1), s);
    return expr_binary(c, kind == 6 ? EX_AND : EX_OR, random_bool(z, depth - 1),
                       random_bool(z, depth - 1), s);
}

static Expr *random_leaf(Fuzz *z)
{
    static const int64_t literals[] = {0, 1, 2, 3, 4, 6, 8, 12, 32, -1, -3};
    if (pick(z, 3) == 0)
        return expr_index(z->w.c, literals[pick(z, 11)]);
    return expr_var(z->w.c, z->vars[pick(z, VARS)], span_none());
}

/* A bit operation of `a` and of a shift, a mask, a bit or another number. */
static Expr *random_bits(Fuzz *z, int depth, Expr *a)
{
    static const ExprKind kinds[] = {EX_BITAND, EX_BITOR, EX_BITXOR};
    static const int64_t masks[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 31, -1, -2, -8};
    Context *c = z->w.c;
    Span s = span_none();
    if (pick(z, 3) == 0)
        return expr_binary(c, pick(z, 2) ? EX_SHL : EX_SHR, a, expr_index(c, pick(z, 4)), s);
    Expr *b = pick(z, 3) ? expr_index(c, masks[pick(z, 14)]) : random_index(z, depth - 1);
    Expr *high = expr_binary(c, EX_SHL, a, expr_index(c, 1 + pick(z, 4)), s);
    return expr_binary(c, kinds[pick(z, 3)], pick(z, 2) ? a : high, b, s);
}

static Expr *random_index(Fuzz *z, int depth)
{
    static const ExprKind kinds[] = {EX_ADD, EX_ADD, EX_SUB, EX_MIN, EX_MAX};
    static const int64_t factors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32, -2, -4};
    Context *c = z->w.c;
    Span s = span_none();
    if (depth <= 0)
        return random_leaf(z);
    Expr *a = random_index(z, depth - 1), *b = expr_index(c, factors[pick(z, 12)]);
    if (pick(z, 5) == 0)
        return random_bits(z, depth, a);
    switch (pick(z, 14)) {
    case 0:
    case 1: return expr_binary(c, EX_MUL, a, b, s);
    case 2:
    case 3: return expr_binary(c, EX_DIV, a, b, s);
    case 4:
    case 5: return expr_binary(c, EX_MOD, a, b, s);
    case 6: return expr_binary(c, EX_MUL, a, random_leaf(z), s);
    case 7: return expr_binary(c, pick(z, 2) ? EX_DIV : EX_MOD, a, expr_var(c, z->vars[0], s), s);
    case 8: return expr_select(c, random_bool(z, depth - 1), a, random_index(z, depth - 1), s);
    case 9:
        if (pick(z, 3))
            return random_leaf(z);
        return expr_cast(c, DT_INDEX, expr_cast(c, DT_I8, a, s), s);
    default: return expr_binary(c, kinds[pick(z, 5)], a, random_index(z, depth - 1), s);
    }
}

/* The ends of one variable's range, in terms of what stands before it. */
static void random_range(Fuzz *z, int k, Expr **lo, Expr **hi)
{
    Context *c = z->w.c;
    static const int64_t extents[] = {1, 2, 4, 5, 8, 12};
    *lo = expr_index(c, pick(z, 4) ? 0 : pick(z, 7) - 3);
    *hi = index_add(c, *lo, expr_index(c, extents[pick(z, 6)]));
    int shape = pick(z, 4);
    if (shape == 0)
        *hi = expr_var(c, z->vars[0], span_none());
    if (shape == 1 && k > 1) {
        *lo = index_mul(c, expr_var(c, z->vars[k - 1], span_none()), expr_index(c, 4));
        *hi = index_add(c, *lo, expr_index(c, extents[pick(z, 6)]));
    }
}

/* All points in the ranges, as far as there is room. */
static void fill_points(Fuzz *z, Expr *const *lo, Expr *const *hi, Expr *cond, int64_t *point,
                        int k)
{
    if (k == VARS) {
        Eval v = {z, point, false};
        if (eval(&v, cond) && !v.undefined && z->n_points < WORLD_POINTS && pick(z, 4) == 0)
            memcpy(z->points[z->n_points++], point, sizeof *z->points);
        return;
    }
    Eval v = {z, point, false};
    int64_t from = eval(&v, lo[k]), to = eval(&v, hi[k]);
    for (point[k] = from; point[k] < to; point[k]++)
        fill_points(z, lo, hi, cond, point, k + 1);
}

static void make_world(Fuzz *z)
{
    static const char *const names[VARS] = {"N", "a", "b", "c", "d"};
    Expr *lo[VARS], *hi[VARS];
    int64_t point[VARS] = {0};
    z->w = world_new();
    z->n_points = 0;
    for (int k = 0; k < VARS; k++)
        z->vars[k] = world_var(&z->w, names[k]);
    lo[0] = expr_index(z->w.c, 0);
    hi[0] = expr_index(z->w.c, 7);
    for (int k = 1; k < VARS; k++) {
        random_range(z, k, &lo[k], &hi[k]);
        facts_range(z->w.f, z->vars[k], lo[k], hi[k]);
    }
    Expr *cond = pick(z, 2) ? random_bool(z, 1) : expr_bool(z->w.c, true);
    facts_assume(z->w.f, cond);
    fill_points(z, lo, hi, cond, point, 0);
}

/* ---- checking -------------------------------------------------------------------------------- */

static void complain(Fuzz *z, const char *what, const Expr *e, const Expr *got,
                     const int64_t *point)
{
    fail_msg("%s: %s -> %s at N=%d a=%d b=%d c=%d d=%d", what, text_of(&z->w, e),
             text_of(&z->w, got), (int)point[0], (int)point[1], (int)point[2], (int)point[3],
             (int)point[4]);
}

static void check_value(Fuzz *z, Expr *e, Expr *got)
{
    for (int k = 0; k < z->n_points; k++) {
        Eval a = {z, z->points[k], false}, b = a;
        int64_t want = eval(&a, e);
        if (!a.undefined && (eval(&b, got) != want || b.undefined))
            complain(z, "value", e, got, z->points[k]);
    }
}

static void check_bounds(Fuzz *z, Expr *e)
{
    int64_t min, max;
    if (!bounds_const(z->w.f, e, &min, &max))
        return;
    for (int k = 0; k < z->n_points; k++) {
        Eval v = {z, z->points[k], false};
        int64_t value = eval(&v, e);
        if (!v.undefined && (value < min || value > max))
            complain(z, "bounds", e, expr_index(z->w.c, value < min ? min : max), z->points[k]);
    }
}

static void check_over(Fuzz *z, Expr *e, bool upper)
{
    const Var *over[VARS];
    int n = 0;
    for (int k = 1; k < VARS; k++)
        if (pick(z, 2))
            over[n++] = z->vars[k];
    Expr *bound = (upper ? largest_over : least_over)(z->w.f, e, over, n, NULL);
    for (int k = 0; k < n && bound; k++)
        assert_false(expr_uses_var(bound, over[k]));
    Expr *ends[2];
    if (range_over(z->w.f, simplify(z->w.f, e), over, n, ends))
        assert_true(expr_equal(bound, ends[upper]));
    for (int k = 0; k < z->n_points && bound; k++) {
        Eval v = {z, z->points[k], false}, u = v;
        int64_t value = eval(&v, e), end = eval(&u, bound);
        if (!v.undefined && !u.undefined && (upper ? value > end : value < end))
            complain(z, upper ? "upper" : "lower", e, bound, z->points[k]);
    }
}

static void check_divisible(Fuzz *z, Expr *e)
{
    int64_t by = 2 + pick(z, 7);
    if (!prove_divisible(z->w.f, e, by))
        return;
    for (int k = 0; k < z->n_points; k++) {
        Eval v = {z, z->points[k], false};
        int64_t value = eval(&v, e);
        if (!v.undefined && value % by != 0)
            complain(z, "divisible", e, expr_index(z->w.c, by), z->points[k]);
    }
}

static void check(Fuzz *z, Expr *e)
{
    Expr *got = simplify(z->w.f, e);
    check_value(z, e, got);
    Expr *again = simplify(z->w.f, got);
    if (again != got)
        fail_msg("not a fixed point: %s -> %s -> %s", text_of(&z->w, e), text_of(&z->w, got),
                 text_of(&z->w, again));
    if (e->type == DT_INDEX) {
        check_bounds(z, e);
        check_over(z, e, true);
        check_over(z, e, false);
        check_divisible(z, e);
    } else if (prove(z->w.f, e)) {
        check_value(z, e, expr_bool(z->w.c, true));
    }
}

static void test_random_expressions(void **state)
{
    (void)state;
    static Fuzz z;
    const char *seed = getenv("TIRC_FUZZ_SEED");
    z.seed = seed ? strtoull(seed, NULL, 10) : 20231;
    for (int round = 0; round < ROUNDS; round++) {
        make_world(&z);
        for (int k = 0; k < EXPRESSIONS; k++)
            check(&z, k % 3 ? random_index(&z, 1 + k % 4) : random_bool(&z, 1 + k % 3));
        ctx_free(z.w.c);
    }
}

/* An exact bound is reached: everything is relaxed, so that the bound is a literal. */
static void test_exact_bounds_are_reached(void **state)
{
    (void)state;
    static Fuzz z;
    z.seed = 77;
    for (int round = 0; round < ROUNDS * 8; round++) {
        z.w = world_new();
        const char *const names[VARS] = {"N", "a", "b", "c", "d"};
        const Var *over[VARS - 1];
        Expr *lo[VARS] = {expr_index(z.w.c, 3)}, *hi[VARS] = {expr_index(z.w.c, 4)};
        for (int k = 0; k < VARS; k++)
            z.vars[k] = world_var(&z.w, names[k]);
        for (int k = 1; k < VARS; k++) {
            random_range(&z, k, &lo[k], &hi[k]);
            facts_range(z.w.f, z.vars[k], lo[k], hi[k]);
            over[k - 1] = z.vars[k];
        }
        Expr *e = random_index(&z, 2);
        bool exact, upper = pick(&z, 2), met = false, some = false;
        Expr *bound = (upper ? largest_over : least_over)(z.w.f, e, over, VARS - 1, &exact);
        int64_t p[VARS] = {3}, end[VARS];
        Eval v = {&z, p, false};
#define EACH(k) for (p[k] = eval(&v, lo[k]), end[k] = eval(&v, hi[k]); p[k] < end[k]; p[k]++)
        EACH(1)
        EACH(2)
        EACH(3)
        EACH(4)
        {
            some = true;
            met = met || (bound && eval(&v, e) == eval(&v, bound));
        }
#undef EACH
        if (exact && some && !met && !v.undefined)
            fail_msg("not reached: %s of %s", text_of(&z.w, bound), text_of(&z.w, e));
        ctx_free(z.w.c);
    }
}

/* ---- points ---------------------------------------------------------------------------------- */

typedef struct {
    Expr *lo[VARS], *hi[VARS], *cond;
} Box;

/* `e` is negative at some point of the box from variable number k on. */
static bool is_negative(Fuzz *z, const Box *box, const Expr *e, int64_t *point, int k)
{
    Eval v = {z, point, false};
    if (k == VARS)
        return eval(&v, box->cond) && !v.undefined && eval(&v, e) < 0 && !v.undefined;
    int64_t to = eval(&v, box->hi[k]);
    bool found = false;
    for (point[k] = eval(&v, box->lo[k]); point[k] < to && !found; point[k]++)
        found = is_negative(z, box, e, point, k + 1);
    return found;
}

/* What a point refutes is negative somewhere, unless the box is empty; most of what is negative
 * somewhere is refuted. */
static void test_points_refute_what_fails(void **state)
{
    (void)state;
    static Fuzz z;
    z.seed = 4711;
    int n_negative = 0, n_refuted = 0;
    for (int round = 0; round < ROUNDS * 8; round++) {
        static const char *const names[VARS] = {"N", "a", "b", "c", "d"};
        z.w = world_new();
        Box box = {.lo = {expr_index(z.w.c, 3)}, .hi = {expr_index(z.w.c, 4)}};
        for (int k = 0; k < VARS; k++) {
            z.vars[k] = world_var(&z.w, names[k]);
            if (k > 0)
                random_range(&z, k, &box.lo[k], &box.hi[k]);
            facts_range(z.w.f, z.vars[k], box.lo[k], box.hi[k]);
        }
        box.cond = pick(&z, 2) ? random_bool(&z, 1) : expr_bool(z.w.c, true);
        facts_assume(z.w.f, box.cond);
        Expr *e = random_index(&z, 2);
        Affine form, zero = {0};
        int64_t point[VARS];
        FactsMark mark = facts_mark(z.w.f);
        facts_range(z.w.f, world_var(&z.w, "inner"), expr_index(z.w.c, 0), e);
        assert_false(points_refute(z.w.f, &zero)); /* the inner range leaves other points */
        facts_reset(z.w.f, mark);
        if (is_negative(&z, &box, expr_index(z.w.c, -1), point, 0) &&
            affine_of(z.w.c, e, PRODUCTS_EXPANDED, &form)) {
            bool negative = is_negative(&z, &box, e, point, 0);
            bool refuted = points_refute(z.w.f, &form);
            if (refuted && !negative)
                fail_msg("not negative: %s", text_of(&z.w, e));
            n_negative += negative;
            n_refuted += refuted;
        }
        ctx_free(z.w.c);
    }
    assert_true(n_negative > 100);
    assert_true(n_refuted * 4 > n_negative * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_expressions),
        cmocka_unit_test(test_exact_bounds_are_reached),
        cmocka_unit_test(test_points_refute_what_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
