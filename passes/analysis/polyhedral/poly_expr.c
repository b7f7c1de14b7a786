/* poly_expr.c - Translates expressions and conditions of the program into rows of a system.
 *
 * A variable that is divided by a number becomes a mixed-radix number: x / 4 makes the columns q
 * and r with x == 4 q + r, and r in 0..4, and x / 32 then divides q by 8. So x / 4 / 8 and x / 32
 * are one column, x % 4 is r, and a tile's subscripts, 16 (x / 4) + x % 4, are sums of digits. A
 * sum that is divided, such as 256 a + 32 b + c, is such a number too: a column that equals it.
 *
 * Helper columns are defined at the top of the system, also where the expression stands in one
 * alternative of a choice. They are total functions, so no solution is lost, and equal quotients
 * share a column. Only INDEX arithmetic is translated, and sums of i32, which wrap around: only
 * kernels whose `where` clause states an order of an input use them, to relate places in their
 * rows. */
#include "passes/analysis/polyhedral/poly_reduce.h"
#include "passes/analysis/symbolic/affine.h"
#include "passes/analysis/symbolic/mixed_radix.h"

static const Meaning *find_meaning(const Env *env, const Var *var)
{
    for (int i = env->n - 1; i >= 0; i--)
        if (env->items[i].var == var)
            return &env->items[i];
    return NULL;
}

const Affine *env_find(const Env *env, const Var *var)
{
    const Meaning *known = find_meaning(env, var);
    return known ? &known->value : NULL;
}

/* A size or scalar is the same for every instance: one column, made when it is first met. */
Affine poly_size(Poly *p, const Var *var)
{
    Affine column = poly_fixed_column(p, var->kind == VAR_SIZE ? 0 : INT64_MIN, INT64_MAX);
    VEC_PUSH(p->ctx->arena, &p->fixed, ((Meaning){var, column, false}));
    if (var->kind == VAR_SIZE)
        poly_not_negative(p, &p->top, column);
    return column;
}

static Affine variable_value(Poly *p, const Env *env, const Var *var)
{
    const Meaning *known = find_meaning(env, var);
    if (!known)
        known = find_meaning(&p->fixed, var);
    if (known && known->unknown)
        p->inexact = p->lost = true;
    if (known)
        return known->value;
    if (var->kind != VAR_SIZE && (var->kind != VAR_SCALAR || !type_is_int(var->type)))
        return poly_unknown(p);
    return poly_size(p, var);
}

/* ---- quotients and products ------------------------------------------------------------------ */

/* 0 <= sign * (e - d q) <= d - 1 */
static void row_quotient(Poly *p, Conj *into, Affine e, Affine q, int64_t d, int sign)
{
    Affine rest = poly_add(p, affine_const(0), poly_add(p, e, q, -d), sign);
    poly_not_negative(p, into, rest);
    poly_at_most(p, into, rest, affine_const(d), -1);
}

static const Quotient *find_quotient(const Poly *p, Affine dividend, Affine divisor)
{
    for (int i = 0; i < p->quotients.n; i++) {
        const Quotient *known = &p->quotients.items[i];
        if (affine_equal(known->dividend, dividend) && affine_equal(known->divisor, divisor))
            return known;
    }
    return NULL;
}

Affine poly_digits(Poly *p, Affine e)
{
    for (int i = 0; i < p->quotients.n && e.n > 0; i++) {
        const Quotient *q = &p->quotients.items[i];
        int64_t factor = q->number < 0 ? 0 : affine_factor(e, q->number);
        if (factor)
            e = poly_add(p, e, q->digits, factor);
    }
    return e;
}

static Bounds range_of(void *user, const Affine *a, int64_t width)
{
    (void)width;
    return affine_range(user, *a);
}

static Radix radix_of(Poly *p)
{
    return (Radix){.c = p->ctx, .user = p, .range = range_of};
}

/* (g a + b) / d == a / (d / g) where b lies in 0..g and g divides d. */
static void shorten(Poly *p, Affine *e, int64_t *d)
{
    Radix r = radix_of(p);
    Affine high, low;
    for (int64_t g = 0; g != 1 && *d > 1;) {
        g = radix_take_low(&r, e, *d, &high, &low) ? *d : radix_coarsen(&r, e, *d, &high, &low);
        if (g > 1)
            *e = high;
        *d /= g;
    }
}

/* The column that digits replace: with it all other terms are multiples of the divisor; or -1. */
static int number_of(Affine e, int64_t d)
{
    int number = -1;
    for (int i = 0; i < e.n; i++) {
        if (e.terms[i].factor % d == 0)
            continue;
        if (e.terms[i].factor != 1 || number >= 0)
            return -1;
        number = e.terms[i].column;
    }
    return number;
}

/* A column that equals e, for digits to replace. The quotient e / 1 finds it again. */
static Affine make_number(Poly *p, Affine e)
{
    Bounds range = affine_range(p, e);
    Affine name = poly_column(p, range.min, range.max, affine_is_fixed(p, e));
    VEC_PUSH(p->ctx->arena, &p->quotients,
             ((Quotient){e, affine_const(1), name.terms[0].column, -1, -1, {0}}));
    poly_equal(p, &p->top, name, e);
    return name;
}

/* e / d for e >= 0: e == d q + r, where digits replace a column, which may stand for all of e. */
static Affine define_quotient(Poly *p, Affine e, int64_t d)
{
    Affine q;
    const Quotient *same = find_quotient(p, e, affine_const(d));
    if (same)
        return poly_term(p, 1, same->column);
    int number = number_of(e, d);
    if (number < 0) {
        e = make_number(p, e);
        number = e.terms[0].column;
    }
    Bounds range = bounds_divide(affine_range(p, e), bounds_exactly(d));
    q = poly_column(p, range.min, range.max, affine_is_fixed(p, e));
    Quotient known = {e, affine_const(d), q.terms[0].column, -1, number, {0}};
    Affine r = poly_column(p, 0, d - 1, affine_is_fixed(p, e));
    known.digits = poly_add(p, poly_add(p, r, q, d), e, -1);
    VEC_PUSH(p->ctx->arena, &p->top.rows,
             ((Row){.form = known.digits, .equal = true, .digits = true}));
    poly_not_negative(p, &p->top, r);
    poly_at_most(p, &p->top, r, affine_const(d), -1);
    VEC_PUSH(p->ctx->arena, &p->quotients, known);
    return q;
}

/* e in digits: as a whole, where it is a number, or term by term. */
static Affine in_digits(Poly *p, Affine e)
{
    const Quotient *number = find_quotient(p, e, affine_const(1));
    return poly_digits(p, number ? poly_term(p, 1, number->column) : e);
}

/* What is left below a quotient of digits may be a number with digits, too. These have columns
 * that are newer than the number's, so this ends. */
bool poly_floor(Poly *p, Affine e, int64_t d, Affine *q)
{
    Radix r = radix_of(p);
    Affine high, rest = e;
    *q = affine_const(0);
    do {
        shorten(p, &rest, &d);
        e = in_digits(p, rest);
        shorten(p, &e, &d);
        if (!radix_take_least(&r, &e, d, &high, &rest))
            return false;
        *q = poly_add(p, *q, high, 1);
    } while (rest.n > 0 && find_quotient(p, rest, affine_const(1)));
    if (rest.n > 0)
        *q = poly_add(p, *q, define_quotient(p, rest, d), 1);
    return true;
}

static bool divides(int64_t d, Affine e)
{
    return e.constant % d == 0 && affine_gcd(e) % d == 0;
}

/* One case where d divides e, or e is not negative, as the rows may say; else two. */
Affine poly_quotient(Poly *p, Affine e, int64_t d)
{
    Affine q, digits = poly_digits(p, e);
    if (e.n == 0)
        return affine_const(e.constant / d);
    if (divides(d, digits))
        return affine_divide(p->ctx, digits, d);
    Bounds range = affine_range(p, e), quotient = bounds_divide(range, bounds_exactly(d));
    const Quotient *known = find_quotient(p, e, affine_const(d));
    if (known)
        return poly_term(p, 1, known->column);
    if ((range.min >= 0 || poly_implied(p, &p->top.rows, -1, e)) && poly_floor(p, e, d, &q))
        return q;
    q = poly_column(p, quotient.min, quotient.max, affine_is_fixed(p, e));
    VEC_PUSH(p->ctx->arena, &p->quotients,
             ((Quotient){e, affine_const(d), q.terms[0].column, -1, -1, {0}}));
    Conj **sign = poly_choice(p, &p->top, 2);
    poly_not_negative(p, sign[0], e);
    row_quotient(p, sign[0], e, q, d, 1);
    poly_at_most(p, sign[1], e, affine_const(0), -1);
    row_quotient(p, sign[1], e, q, d, -1);
    return q;
}

static bool find_product(Poly *p, Affine a, Affine b, Affine *found)
{
    for (int i = 0; i < p->products.n; i++) {
        const Product *known = &p->products.items[i];
        if (affine_equal(known->factor, a) && affine_equal(known->size, b)) {
            *found = poly_term(p, 1, known->column);
            return true;
        }
    }
    return false;
}

/* By the bounds of columns or, of sizes, by the rows: M + N - 1 where a loop runs so often. */
static bool is_not_negative(Poly *p, Affine a)
{
    return affine_range(p, a).min >= 0 ||
           (affine_is_fixed(p, a) && poly_implied(p, &p->top.rows, -1, a));
}

/* Whether `a` may be the size of a Product. */
static bool is_size(Poly *p, Affine a)
{
    return affine_is_fixed(p, a) && is_not_negative(p, a);
}

/* factor * size for a form of fixed columns, or the product of a form and itself; unknown where it
 * is neither. */
static Affine times_size(Poly *p, Affine a, Affine b)
{
    Affine product;
    if (a.n == 0)
        return poly_add(p, affine_const(0), b, a.constant);
    if (b.n == 0)
        return poly_add(p, affine_const(0), a, b.constant);
    if (!is_size(p, a) && !is_size(p, b))
        return poly_multiply_alike(p, a, b, &product) ? product : poly_unknown(p);
    if (find_product(p, a, b, &product) || find_product(p, b, a, &product))
        return product;
    bool positive = is_not_negative(p, a) && is_not_negative(p, b);
    product = poly_column(p, positive ? 0 : INT64_MIN, INT64_MAX,
                          affine_is_fixed(p, a) && affine_is_fixed(p, b));
    int column = product.terms[0].column;
    if (positive)
        poly_not_negative(p, &p->top, product);
    if (is_size(p, b))
        VEC_PUSH(p->ctx->arena, &p->products, ((Product){a, b, column}));
    if (is_size(p, a))
        VEC_PUSH(p->ctx->arena, &p->products, ((Product){b, a, column}));
    p->inexact = true;
    return product;
}

/* e / size: the program divides, so the size is not 0. */
static Affine quotient_size(Poly *p, Affine e, Affine size)
{
    const Quotient *known = find_quotient(p, e, size);
    if (known)
        return poly_term(p, 1, known->column);
    bool positive = affine_range(p, e).min >= 0 || poly_implied(p, &p->top.rows, -1, e);
    if (!positive || !is_size(p, size))
        return poly_unknown(p);
    Affine q = poly_column(p, 0, INT64_MAX, affine_is_fixed(p, e));
    VEC_PUSH(p->ctx->arena, &p->quotients, ((Quotient){e, size, q.terms[0].column, -1, -1, {0}}));
    poly_not_negative(p, &p->top, q);
    Affine rest = poly_add(p, e, times_size(p, q, size), -1);
    poly_not_negative(p, &p->top, rest);
    poly_at_most(p, &p->top, rest, size, -1);
    return q;
}

void poly_quotient_below(Poly *p, Affine q, Affine hi)
{
    for (int i = 0; i < p->quotients.n; i++) {
        Quotient known = p->quotients.items[i];
        if (known.divisor.n == 0 || !affine_is_fixed(p, known.divisor) ||
            !affine_equal(q, poly_term(p, 1, known.column)))
            continue;
        poly_at_most(p, &p->top, known.dividend, times_size(p, hi, known.divisor), -1);
        return;
    }
}

/* Divisors that are not the same in all instances are looked at number by number: the height of the
 * last of the groups that blocks of a grid go in. */
enum { MOST_DIVISORS = 8 };

/* e / by and e % by for `by` in 1..MOST_DIVISORS + 1. A program does not divide by 0. */
static bool divide_cases(Poly *p, Affine e, Affine by, Affine *q, Affine *rest)
{
    Bounds range = affine_range(p, e);
    int64_t by_min = affine_range(p, by).min, by_max = affine_range(p, by).max;
    if (by_max > MOST_DIVISORS || by_max < 1 || affine_is_fixed(p, by))
        return false;
    const Quotient *known = find_quotient(p, e, by);
    if (known && known->remainder >= 0) {
        *q = poly_term(p, 1, known->column);
        *rest = poly_term(p, 1, known->remainder);
        return true;
    }
    if (range.min < 0 && !poly_implied(p, &p->top.rows, -1, e))
        return false;
    *q = poly_free_column(p, by_min < 1 ? INT64_MIN : 0, range.max);
    *rest = poly_free_column(p, by_min < 1 ? INT64_MIN : 0, by_min < 1 ? INT64_MAX : by_max - 1);
    VEC_PUSH(p->ctx->arena, &p->quotients,
             ((Quotient){e, by, q->terms[0].column, rest->terms[0].column, -1, {0}}));
    Conj **cases = poly_choice(p, &p->top, (int)by_max + (by_min < 1));
    for (int64_t d = 1; d <= by_max; d++) {
        Conj *here = cases[d - 1];
        poly_equal(p, here, by, affine_const(d));
        poly_equal(p, here, e, poly_add(p, *rest, *q, d));
        poly_not_negative(p, here, *rest);
        poly_at_most(p, here, *rest, affine_const(d), -1);
    }
    if (by_min < 1) {
        Affine lost = poly_free_column(p, 0, INT64_MAX);
        p->columns.items[lost.terms[0].column].lost = true;
        poly_not_negative(p, cases[by_max], lost);
        poly_at_most(p, cases[by_max], by, affine_const(0), -1);
        p->inexact = true;
    }
    return true;
}

static Affine quotient(Poly *p, Affine e, Affine by)
{
    Affine q, rest;
    if (by.n > 0)
        return divide_cases(p, e, by, &q, &rest) ? q : quotient_size(p, e, by);
    if (by.constant == 0 || by.constant == INT64_MIN)
        return poly_unknown(p);
    if (by.constant < 0)
        return poly_add(p, affine_const(0), poly_quotient(p, e, -by.constant), -1);
    return poly_quotient(p, e, by.constant);
}

static Affine remainder_of(Poly *p, Affine e, Affine by)
{
    Affine q, rest;
    if (by.n > 0 && divide_cases(p, e, by, &q, &rest))
        return rest;
    return poly_digits(p, poly_add(p, e, times_size(p, quotient(p, e, by), by), -1));
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A column for one of two values. */
static Affine either(Poly *p, Affine a, Affine b, Bounds bounds)
{
    return poly_column(p, bounds.min, bounds.max, affine_is_fixed(p, a) && affine_is_fixed(p, b));
}

/* The column that has it already; NULL if there is none. */
static const Extreme *find_extreme(const Poly *p, ExprKind kind, Affine a, Affine b)
{
    for (int i = 0; i < p->extremes.n; i++) {
        const Extreme *known = &p->extremes.items[i];
        if (known->kind == kind && affine_equal(known->a, a) && affine_equal(known->b, b))
            return known;
    }
    return NULL;
}

static Affine extreme(Poly *p, ExprKind kind, Affine a, Affine b)
{
    bool least = kind == EX_MIN;
    if (is_not_negative(p, poly_add(p, b, a, -1)))
        return least ? a : b;
    if (is_not_negative(p, poly_add(p, a, b, -1)))
        return least ? b : a;
    const Extreme *known = find_extreme(p, kind, a, b);
    if (known)
        return known->value;
    Affine m = either(p, a, b, bounds_minmax(kind, affine_range(p, a), affine_range(p, b)));
    VEC_PUSH(p->ctx->arena, &p->extremes, ((Extreme){kind, a, b, m}));
    Conj **which = poly_choice(p, &p->top, 2);
    poly_at_most(p, which[0], a, b, 0);
    poly_equal(p, which[0], m, least ? a : b);
    poly_at_most(p, which[1], b, a, -1);
    poly_equal(p, which[1], m, least ? b : a);
    return m;
}

/* An unknown value in 0..n. */
static Affine unknown_below(Poly *p, int64_t n)
{
    Affine value = poly_unknown(p);
    poly_not_negative(p, &p->top, value);
    poly_at_most(p, &p->top, value, affine_const(n), -1);
    return value;
}

/* a ^ b for a >= 0 and b in 0..n, n a power of two: n (a / n), and something below n; at most
 * a + b. */
static Affine exclusive(Poly *p, Affine a, Affine b)
{
    if (a.n == 0 && a.constant == 0)
        return b;
    if (b.n == 0 && b.constant == 0)
        return a;
    Bounds wide = affine_range(p, a), narrow = affine_range(p, b);
    if (wide.max < narrow.max)
        return exclusive(p, b, a);
    if (wide.min < 0 || narrow.min < 0 || narrow.max > INT64_MAX / 2)
        return poly_unknown(p);
    int64_t n = 1;
    while (n <= narrow.max)
        n *= 2;
    Affine value = unknown_below(p, n);
    if (wide.max >= n)
        value = poly_add(p, value, poly_quotient(p, a, n), n);
    poly_at_most(p, &p->top, value, poly_add(p, a, b, 1), 0);
    return value;
}

static Affine selected(Poly *p, const Env *env, const Expr *e)
{
    Affine a = poly_value(p, env, e->u.arg[1]);
    Affine b = poly_value(p, env, e->u.arg[2]);
    Affine m = either(p, a, b, bounds_join(affine_range(p, a), affine_range(p, b)));
    if (!affine_is_fixed(p, a) || !affine_is_fixed(p, b) || e->u.arg[0]->kind != EX_INT)
        p->columns.items[m.terms[0].column].fixed = false;
    Conj **which = poly_choice(p, &p->top, 2);
    poly_assume(p, which[0], env, e->u.arg[0], HOLDS);
    poly_equal(p, which[0], m, a);
    poly_assume(p, which[1], env, e->u.arg[0], HOLDS_NOT);
    poly_equal(p, which[1], m, b);
    return m;
}

/* The i32 value that `exact` wraps to: w == exact - 2^32 k for some k, and -2^31 <= w < 2^31. The
 * rows determine w, and cost columns with large factors. */
static Affine wrapped(Poly *p, Affine exact)
{
    Bounds type = bounds_of_type(DT_I32), range = affine_range(p, exact);
    if (range.min >= type.min && range.max <= type.max)
        return exact;
    Affine value = poly_free_column(p, type.min, type.max);
    Affine times = poly_free_column(p, INT64_MIN, INT64_MAX);
    poly_at_most(p, &p->top, affine_const(type.min), value, 0);
    poly_at_most(p, &p->top, value, affine_const(type.max), 0);
    poly_equal(p, &p->top, exact, poly_add(p, value, times, type.max - type.min + 1));
    p->inexact = true;
    return value;
}

/* The value of a sum or conversion, as if no number were too large for it. */
static Affine exact_sum(Poly *p, const Env *env, const Expr *e)
{
    Expr *const *arg = e->u.arg;
    switch (e->kind) {
    case EX_NEG: return poly_add(p, affine_const(0), poly_value(p, env, arg[0]), -1);
    case EX_ADD: return poly_add(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]), 1);
    case EX_SUB: return poly_add(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]), -1);
    case EX_CAST: return type_is_int(arg[0]->type) ? poly_value(p, env, arg[0]) : poly_unknown(p);
    default: return poly_unknown(p);
    }
}

Affine poly_value(Poly *p, const Env *env, const Expr *e)
{
    if (e->kind == EX_INT)
        return e->type == DT_U64 && e->u.i < 0 ? poly_unknown(p) : affine_const(e->u.i);
    if (e->kind == EX_VAR)
        return variable_value(p, env, e->u.var);
    if (e->kind == EX_LOAD && type_is_int(e->type))
        return poly_element(p, env, e);
    bool sum = e->kind == EX_NEG || e->kind == EX_ADD || e->kind == EX_SUB || e->kind == EX_CAST;
    if (sum && e->type == DT_I32 && p->has_order)
        return wrapped(p, exact_sum(p, env, e));
    if (e->type != DT_INDEX)
        return poly_unknown(p);
    Expr *const *arg = e->u.arg;
    switch (e->kind) {
    case EX_MUL: return times_size(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    case EX_DIV: return quotient(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    case EX_MOD: return remainder_of(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    case EX_MIN:
    case EX_MAX: return extreme(p, e->kind, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    case EX_SELECT: return selected(p, env, e);
    case EX_BITXOR: return exclusive(p, poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    default: return exact_sum(p, env, e);
    }
}

/* ---- what follows from an extent ------------------------------------------------------------- */

/* A value that is never negative, as it stands in the program. */
static bool size_not_negative(Poly *p, const Expr *e)
{
    int64_t value;
    if (e->kind == EX_MAX)
        return (expr_is_const(e->u.arg[0], &value) && value >= 0) ||
               (expr_is_const(e->u.arg[1], &value) && value >= 0);
    if (e->kind == EX_MUL)
        return size_not_negative(p, e->u.arg[0]) && size_not_negative(p, e->u.arg[1]);
    return affine_range(p, poly_value(p, &p->fixed, e)).min >= 0;
}

/* max(e, 0) >= 1 says e >= 1; one that is at least 1 anyway says nothing of the other. */
static void assume_one(Poly *p, const Expr *e, const Expr *other)
{
    int64_t value;
    if (expr_is_const(other, &value) && value < 1)
        poly_assume_positive(p, e);
}

void poly_assume_positive(Poly *p, const Expr *e)
{
    if (e->type != DT_INDEX || !expr_of_sizes(e))
        return;
    Expr *const *arg = e->u.arg;
    int64_t add, by;
    if (e->kind == EX_MUL && size_not_negative(p, arg[0]) && size_not_negative(p, arg[1])) {
        poly_assume_positive(p, arg[0]);
        poly_assume_positive(p, arg[1]);
    } else if (e->kind == EX_DIV && arg[0]->kind == EX_ADD && expr_is_const(arg[1], &by) &&
               expr_is_const(arg[0]->u.arg[1], &add) && add >= 0 && add < by) {
        poly_assume_positive(p, arg[0]->u.arg[0]);
    } else if (e->kind == EX_MAX) {
        assume_one(p, arg[0], arg[1]);
        assume_one(p, arg[1], arg[0]);
    } else if (e->kind == EX_VAR || e->kind == EX_ADD || e->kind == EX_SUB) {
        poly_raise_positive(p, poly_value(p, &p->fixed, e));
    }
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void assume_comparison(Poly *p, Conj *into, ExprKind kind, Affine a, Affine b)
{
    switch (kind) {
    case EX_LT: poly_at_most(p, into, a, b, -1); break;
    case EX_LE: poly_at_most(p, into, a, b, 0); break;
    case EX_GT: poly_at_most(p, into, b, a, -1); break;
    case EX_GE: poly_at_most(p, into, b, a, 0); break;
    case EX_EQ: poly_equal(p, into, a, b); break;
    default: poly_differ(p, into, &a, &b, 1); break;
    }
}

static bool divides_something(const Expr *e)
{
    bool found = e->kind == EX_DIV || e->kind == EX_MOD;
    for (int i = 0; i < expr_arity(e->kind) && !found; i++)
        found = divides_something(e->u.arg[i]);
    return found;
}

/* Both hold, or do not. Signs come before quotients, which have one case where the sign is known:
 * (p - r) / 2 < H && p >= r. */
static void assume_both(Poly *p, Conj *into, const Env *env, const Expr *cond, Truth truth)
{
    int first = divides_something(cond->u.arg[0]);
    poly_assume(p, into, env, cond->u.arg[first], truth);
    poly_assume(p, into, env, cond->u.arg[1 - first], truth);
}

void poly_assume(Poly *p, Conj *into, const Env *env, const Expr *cond, Truth truth)
{
    Expr *const *arg = cond->u.arg;
    if (cond->kind == EX_INT) {
        if ((cond->u.i != 0) != (truth == HOLDS))
            poly_not_negative(p, into, affine_const(-1));
    } else if (cond->kind == EX_NOT) {
        poly_assume(p, into, env, arg[0], !truth);
    } else if (cond->kind == EX_AND || cond->kind == EX_OR) {
        if ((cond->kind == EX_AND) == (truth == HOLDS)) {
            assume_both(p, into, env, cond, truth);
            return;
        }
        Conj **branch = poly_choice(p, into, 2);
        poly_assume(p, branch[0], env, arg[0], truth);
        poly_assume(p, branch[1], env, arg[1], truth);
    } else if (op_info(cond->kind) && op_info(cond->kind)->class == OP_COMPARE &&
               type_is_int(arg[0]->type) && type_is_int(arg[1]->type)) {
        assume_comparison(p, into, truth == HOLDS ? cond->kind : compare_opposite(cond->kind),
                          poly_value(p, env, arg[0]), poly_value(p, env, arg[1]));
    } else {
        p->inexact = p->lost = true;
    }
}
