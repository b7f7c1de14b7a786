/* poly_squares.c - Relates the values of polynomials of second degree.
 *
 *   z[i * (i - 1) / 2 + j] for j in 0..i        a triangle whose rows stand one behind the other
 *
 * A product of two multiples of one form x, but for numbers, is a x^2 + b x + c. The columns x^2
 * and p = a x^2 + b x have what lines around a parabola say of them: it lies above the lines
 * through its values at adjacent numbers, and below the one through its values at the ends of a
 * range.
 *
 * Where p never falls on the range of x and y, x > y says p(x) >= p(y + 1), and that is p(y) and a
 * linear form, 2 a y + a + b. So two rows of a triangle have no element in common, as row y has
 * p(y + 1) - p(y) of them. The same holds for one that never rises.
 *
 * Numbers stay below 2^20, so that nothing overflows. All of it is true of every integer, so that
 * no solution is lost. */
#include "passes/analysis/polyhedral/poly_reduce.h"

enum { LARGEST_FACTOR = 1 << 20 };

/* factor * form + constant */
typedef struct {
    int64_t factor, constant;
} Multiple;

static bool is_small(int64_t v)
{
    return v >= -LARGEST_FACTOR && v <= LARGEST_FACTOR;
}

/* The form without its constant, divided by what its factors have in common, the first of them
 * positive. */
static Affine primitive(Context *c, Affine a, int64_t *by)
{
    Affine form = a;
    form.constant = 0;
    *by = affine_gcd(form);
    if (a.terms[0].factor < 0)
        *by = -*by;
    return affine_divide(c, form, *by);
}

/* The same where the form has the terms of `of`, times a number. */
static bool multiple_of(Poly *p, Affine a, Affine of, Multiple *out)
{
    int64_t factor = a.terms[0].factor / of.terms[0].factor;
    Affine rest = poly_add(p, a, of, -factor);
    *out = (Multiple){factor, a.constant};
    return rest.n == 0 && factor != 0 && is_small(factor) && is_small(a.constant);
}

/* ---- x * x ----------------------------------------------------------------------------------- */

/* sign * (x^2 - slope * x + less) >= 0 */
static void add_line(Poly *p, const Square *of, int64_t slope, int64_t less, int64_t sign)
{
    Affine above = poly_add(p, poly_term(p, 1, of->column), of->at, -slope);
    above.constant += less;
    poly_not_negative(p, &p->top, poly_add(p, affine_const(0), above, sign));
}

static void add_lines(Poly *p, const Square *of)
{
    Bounds x = of->range;
    bool low = bounds_has_min(x) && is_small(x.min), high = bounds_has_max(x) && is_small(x.max);
    if (low)
        add_line(p, of, 2 * x.min + 1, x.min * (x.min + 1), 1);
    if (high)
        add_line(p, of, 2 * x.max - 1, x.max * (x.max - 1), 1);
    if (low && high)
        add_line(p, of, x.min + x.max, x.min * x.max, -1);
}

/* By the bounds of columns, and by the rows where these say that a remainder, say, is not
 * negative. */
static Bounds range_of(Poly *p, Affine x)
{
    Bounds range = affine_range(p, x);
    if (range.min < 0 && poly_implied(p, &p->top.rows, -1, x))
        range.min = 0;
    return range;
}

/* The column of x * x, made when it is first met. Its index. */
static int square_of(Poly *p, Affine x)
{
    for (int i = 0; i < p->squares.n; i++)
        if (affine_equal(p->squares.items[i].at, x))
            return i;
    Bounds range = range_of(p, x), square = bounds_multiply(range, range);
    square.min = square.min < 0 ? 0 : square.min;
    Affine column = poly_free_column(p, square.min, square.max);
    Square made = {x, range, column.terms[0].column};
    poly_not_negative(p, &p->top, column);
    add_lines(p, &made);
    VEC_PUSH(p->ctx->arena, &p->squares, made);
    return p->squares.n - 1;
}

/* ---- a x^2 + b x ----------------------------------------------------------------------------- */

/* p(x + 1) - p(x) at a number. */
static int64_t growth_at(const Quadratic *q, int64_t x)
{
    return q->factor * (2 * x + 1) + q->linear;
}

/* The same as a form. */
static Affine growth(Poly *p, const Quadratic *q)
{
    Affine at = p->squares.items[q->square].at;
    Affine form = poly_add(p, affine_const(0), at, 2 * q->factor);
    form.constant += q->factor + q->linear;
    return form;
}

/* 1 where p never falls in the range, -1 where it never rises, 0 where neither is known. Growth is
 * linear: its least value is at one end. */
static int direction(const Quadratic *q, Bounds x)
{
    bool low = bounds_has_min(x) && is_small(x.min), high = bounds_has_max(x) && is_small(x.max);
    bool rises = q->factor > 0;
    if (low && (growth_at(q, x.min) >= 0) == rises)
        return rises ? 1 : -1;
    if (high && (growth_at(q, x.max - 1) <= 0) == rises)
        return rises ? -1 : 1;
    return 0;
}

static int64_t value_at(const Quadratic *q, int64_t x)
{
    return (q->factor * x + q->linear) * x;
}

static Bounds bounds_of(Poly *p, const Quadratic *q)
{
    Bounds x = p->squares.items[q->square].range;
    Bounds square = affine_range(p, poly_term(p, 1, p->squares.items[q->square].column));
    int way = direction(q, x);
    if (way == 0 || !bounds_are_finite(x) || !is_small(x.min) || !is_small(x.max))
        return bounds_add(bounds_scale(square, q->factor), bounds_scale(x, q->linear));
    return (Bounds){value_at(q, way > 0 ? x.min : x.max), value_at(q, way > 0 ? x.max : x.min)};
}

/* x > y, and p(x) lies beyond p(y + 1). */
static void assume_beyond(Poly *p, Conj *into, const Quadratic *x, const Quadratic *y, int way)
{
    Affine above = poly_add(p, p->squares.items[x->square].at, p->squares.items[y->square].at, -1);
    above.constant -= 1;
    poly_not_negative(p, into, above);
    Affine next = poly_add(p, poly_term(p, 1, y->column), growth(p, y), 1);
    Affine beyond = poly_add(p, poly_term(p, 1, x->column), next, -1);
    poly_not_negative(p, into, poly_add(p, affine_const(0), beyond, way));
}

/* The values of one polynomial at two forms. */
static void relate(Poly *p, const Quadratic *a, const Quadratic *b)
{
    const Square *x = &p->squares.items[a->square], *y = &p->squares.items[b->square];
    int way = direction(a, bounds_join(x->range, y->range));
    if (way == 0)
        return;
    Conj **order = poly_choice(p, &p->top, 3);
    poly_equal(p, order[0], x->at, y->at);
    poly_equal(p, order[0], poly_term(p, 1, a->column), poly_term(p, 1, b->column));
    assume_beyond(p, order[1], a, b, way);
    assume_beyond(p, order[2], b, a, way);
}

/* The column of the polynomial, made when it is first met. */
static Affine quadratic(Poly *p, Quadratic q)
{
    for (int i = 0; i < p->quadratics.n; i++) {
        const Quadratic *known = &p->quadratics.items[i];
        if (known->square == q.square && known->factor == q.factor && known->linear == q.linear)
            return poly_term(p, 1, known->column);
    }
    Square of = p->squares.items[q.square];
    Bounds range = bounds_of(p, &q);
    Affine value = poly_free_column(p, range.min, range.max);
    q.column = value.terms[0].column;
    Affine sum = poly_add(p, affine_const(0), poly_term(p, 1, of.column), q.factor);
    poly_equal(p, &p->top, value, poly_add(p, sum, of.at, q.linear));
    for (int i = 0; i < p->quadratics.n; i++) {
        Quadratic other = p->quadratics.items[i];
        if (other.factor == q.factor && other.linear == q.linear)
            relate(p, &q, &other);
    }
    VEC_PUSH(p->ctx->arena, &p->quadratics, q);
    return value;
}

bool poly_multiply_alike(Poly *p, Affine a, Affine b, Affine *product)
{
    int64_t by;
    Multiple first, second;
    if (a.n == 0 || b.n == 0)
        return false;
    Affine x = primitive(p->ctx, a, &by);
    if (!multiple_of(p, a, x, &first) || !multiple_of(p, b, x, &second))
        return false;
    Quadratic q = {.factor = first.factor * second.factor,
                   .linear = first.factor * second.constant + second.factor * first.constant};
    if (!is_small(q.factor) || !is_small(q.linear))
        return false;
    q.square = square_of(p, x);
    *product = quadratic(p, q);
    product->constant += first.constant * second.constant;
    p->inexact = p->lost = true; /* not all that is true of the columns is known */
    return true;
}
