/* poly_digits.c - Splits equations between mixed-radix numbers, which tiles make, into equations
 * between their digits.
 *
 * Loops that were split and fused make subscripts like 64 wy + 16 m + 4 ly + t, in which each
 * variable is a digit: the part behind one is smaller than its factor. Two such numbers are equal
 * only where all digits are:
 *
 *   lane == 8 q + r, r in 0..8  (nothing)                    the digits replace the number
 *   16 a - 16 b + t - u == 0    a - b == 0,  t - u == 0      where t - u lies in -15..16
 *   8 a - 8 b + t in 0..8       a - b == 0                   where t lies in 0..8
 *
 * All steps keep the integer solutions. They run before equalities are used up, which would mix the
 * digits. */
#include "passes/analysis/polyhedral/poly_reduce.h"

/* ---- bounds of single variables -------------------------------------------------------------- */

/* Rows of at most n variables, as bounds. */
static void read_bounds(System *s, int n)
{
    for (int k = 0; k < s->n_lines && !s->impossible; k++) {
        const Line *l = &s->lines[k];
        if (!l->gone && l->n_terms <= n)
            system_bound(s, l);
    }
}

/* The least and greatest value of the terms that `g` does not divide (0: of all), and the
 * constant. */
static bool rest_range(System *s, const Line *l, int64_t g, int64_t *min, int64_t *max)
{
    *min = *max = l->factor[s->n];
    system_work(s);
    for (int t = 0; t < l->n_terms; t++) {
        int i = l->term[t];
        int64_t f = l->factor[i], a, b;
        if (g && f % g == 0)
            continue;
        if (s->min[i] == INT64_MIN || s->max[i] == INT64_MAX ||
            !checked_mul(f, f > 0 ? s->min[i] : s->max[i], &a) ||
            !checked_mul(f, f > 0 ? s->max[i] : s->min[i], &b) || !checked_add(*min, a, min) ||
            !checked_add(*max, b, max))
            return false;
    }
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The line with the same terms, negated; with it the terms are bounded from both sides. */
static Line *opposite(System *s, const Line *l)
{
    for (int k = 0; k < s->n_lines; k++) {
        Line *other = &s->lines[k];
        bool same = other->key + l->key == 0 && other != l && !other->gone && !other->equal &&
                    other->n_terms == l->n_terms;
        for (int t = 0; t < l->n_terms && same; t++)
            same = other->factor[l->term[t]] == -l->factor[l->term[t]];
        if (same)
            return other;
    }
    return NULL;
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* Another line: the multiples of `g` in `from`, divided by it, and `constant`. */
static void add_high(System *s, const Line *from, int64_t g, int64_t constant)
{
    if (s->n_lines == s->capacity)
        return;
    Line *high = &s->lines[s->n_lines++];
    *high = (Line){.factor = ARENA_ARRAY(s->arena, int64_t, s->n + 1),
                   .term = ARENA_ARRAY(s->arena, int, s->n),
                   .equal = true};
    for (int t = 0; t < from->n_terms; t++) {
        int i = from->term[t];
        high->factor[i] = from->factor[i] % g == 0 ? from->factor[i] / g : 0;
    }
    high->factor[s->n] = constant;
    system_find_terms(s, high);
}

/* g high + low == 0, where only m of all multiples m g is a value that low can have. */
static bool split_equality(System *s, Line *l, int64_t g)
{
    int64_t min, max;
    if (s->n_lines == s->capacity || !rest_range(s, l, g, &min, &max))
        return false;
    int64_t m = ceil_div64(min, g), product;
    s->impossible |= m > floor_div64(max, g);
    if (m != floor_div64(max, g) || !checked_mul(m, g, &product) ||
        !checked_sub(l->factor[s->n], product, &l->factor[s->n]))
        return false;
    add_high(s, l, g, m);
    for (int i = 0; i < s->n; i++)
        if (l->factor[i] % g == 0)
            l->factor[i] = 0;
    system_find_terms(s, l);
    system_normalize(s, l);
    system_normalize(s, &s->lines[s->n_lines - 1]);
    return true;
}

/* 0 <= g high + low <= width, which `other` says, with one value left for high. */
static bool find_equality(System *s, Line *l, const Line *other, int64_t g)
{
    int64_t min, max, width, low, high;
    if (s->n_lines == s->capacity || !rest_range(s, l, g, &min, &max) ||
        !checked_add(l->factor[s->n], other->factor[s->n], &width) || is_far(min) || is_far(max) ||
        is_far(width))
        return false;
    low = ceil_div64(-max, g);
    high = floor_div64(width - min, g);
    s->impossible |= low > high;
    if (low != high)
        return false;
    add_high(s, l, g, -low);
    system_normalize(s, &s->lines[s->n_lines - 1]);
    return true;
}

/* Tries each factor of the line as the value of a digit. */
static bool try_digits(System *s, Line *l)
{
    const Line *other_side = l->equal ? NULL : opposite(s, l);
    if (!l->equal && !other_side)
        return false;
    for (int t = 0; t < l->n_terms && !s->impossible && !s->overflow; t++) {
        int64_t factor = l->factor[l->term[t]], g = factor < 0 ? -factor : factor;
        bool other = false;
        for (int k = 0; k < l->n_terms && g > 1 && !other; k++)
            other = l->factor[l->term[k]] % g != 0;
        if (other && (l->equal ? split_equality(s, l, g) : find_equality(s, l, other_side, g)))
            return true;
    }
    return false;
}

/* x == y + constant: uses it up, which mixes no digits. */
static bool use_short_equality(System *s, Line *l)
{
    int at = -1;
    for (int t = 0; t < l->n_terms; t++)
        if (l->factor[l->term[t]] == 1 || l->factor[l->term[t]] == -1)
            at = l->term[t];
    if (l->n_terms > 2 || at < 0)
        return false;
    system_eliminate(s, l, at);
    return true;
}

/* Numbers that quotients tell apart, x == 8 q + r, go. */
static void use_digits(System *s)
{
    for (int k = 0; k < s->n_lines && !s->overflow; k++) {
        Line *l = &s->lines[k];
        int at = 0;
        if (!l->digits || l->gone)
            continue;
        while (at < s->n && l->factor[at] != -1)
            at++;
        if (at < s->n)
            system_eliminate(s, l, at);
    }
}

void system_split_digits(System *s)
{
    use_digits(s);
    read_bounds(s, 1);
    bool *tried = ARENA_ARRAY(s->arena, bool, s->capacity);
    for (bool again = true; again && !s->impossible && !s->overflow;) {
        again = false;
        read_bounds(s, 3);
        for (int k = 0; k < s->n_lines && !s->impossible && !s->overflow; k++) {
            Line *l = &s->lines[k];
            if (l->gone)
                continue;
            if (l->equal)
                again |= use_short_equality(s, l) || try_digits(s, l);
            else if (!tried[k] && l->n_terms > 1)
                again |= tried[k] = try_digits(s, l);
        }
    }
}
