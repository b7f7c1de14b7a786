/* poly_digits.c - Splits equations between mixed-radix numbers, which tiles make, into equations
 * between their digits.
 *
 * Loops that were split and fused make subscripts like 64 wy + 16 m + 4 ly + t, in which each
 * variable is a digit: the part behind one is smaller than its factor. Two such numbers are equal
 * only where all digits are:
 *
 *   lane == 8 q + r, r in 0..8  (nothing)                    the digits replace the number
 *   16 a - 16 b + t - u == 0    a - b == 0,  t - u == 0      where t - u lies in -15..16
 *
 * All steps keep the integer solutions. They run before equalities are eliminated, which would mix
 * the digits; but a == b is at once: the digits of further equations may be those of a - b.
 *
 *   x == 8 a + b,  x == 8 c + d       8 a + b == 8 c + d          where numbers are joined
 *   63 x == 4 a + b,  63 x == 4 c + d     4 a + b == 4 c + d
 *
 * That mixes the digits of some numbers, and finds those of others. */
#include "passes/analysis/polyhedral/poly_reduce.h"

/* Rows of `least` to `most` variables, as bounds. */
static void read_bounds(System *s, int least, int most)
{
    for (int k = 0; k < s->n_lines && !s->impossible; k++) {
        const Line *l = &s->lines[k];
        if (!l->gone && l->n_terms >= least && l->n_terms <= most)
            system_bound(s, l);
    }
}

/* g high + low == 0, where only m of all multiples m g is a value that low can have. */
static bool split_equality(System *s, Line *l, int64_t g)
{
    Bounds low = system_range(s, l, g);
    int64_t m = ceil_div64(low.min, g);
    if (s->n_lines == s->capacity || !bounds_are_finite(low))
        return false;
    s->impossible |= m > floor_div64(low.max, g);
    if (m != floor_div64(low.max, g) || !add_product(&l->factor[s->n], m, -g))
        return false;
    Line *high = &s->lines[s->n_lines++];
    *high = (Line){.factor = ARENA_ARRAY(s->arena, int64_t, s->n + 1),
                   .term = ARENA_ARRAY(s->arena, int, s->n),
                   .equal = true};
    high->factor[s->n] = m;
    for (int t = 0; t < l->n_terms; t++) {
        int i = l->term[t];
        if (l->factor[i] % g == 0) {
            high->term[high->n_terms++] = i;
            high->factor[i] = l->factor[i] / g;
            l->factor[i] = 0;
        }
    }
    system_drop_zeros(l);
    system_normalize(s, l);
    system_normalize(s, high);
    return true;
}

/* Tries each factor of the equality as the value of a digit. */
static bool try_digits(System *s, Line *l)
{
    for (int t = 0; t < l->n_terms && !s->impossible && !s->overflow; t++) {
        int64_t factor = l->factor[l->term[t]], g = factor < 0 ? -factor : factor;
        bool other = false;
        for (int k = 0; k < l->n_terms && g > 1 && !other; k++)
            other = l->factor[l->term[k]] % g != 0;
        if (other && split_equality(s, l, g))
            return true;
    }
    return false;
}

/* Eliminates numbers that have digits, x == 8 q + r. */
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

static bool is_unit(int64_t factor)
{
    return factor == 1 || factor == -1;
}

/* x == y + c, x == c */
static bool is_renaming(const Line *l)
{
    bool units = l->n_terms > 0 && l->n_terms <= 2;
    for (int t = 0; t < l->n_terms && units; t++)
        units = is_unit(l->factor[l->term[t]]);
    return units;
}

/* Eliminates a variable that equals another one. That mixes no digits, and leaves fewer of them. */
static bool rename_equal(System *s, Line *l)
{
    bool renames = is_renaming(l);
    if (renames)
        system_eliminate(s, l, l->term[0]);
    return renames;
}

/* x == 64 a + 16 b + c: each factor exceeds all that the terms below it can differ by. */
static bool is_number(const System *s, const Line *l, int x)
{
    for (int t = 0; t < l->n_terms; t++) {
        int64_t factor = magnitude64(l->factor[l->term[t]]), below = 0, span;
        for (int u = 0; u < l->n_terms && l->term[t] != x; u++) {
            int i = l->term[u];
            if (u == t || i == x || magnitude64(l->factor[i]) > factor)
                continue;
            if (!checked_sub(s->max[i], s->min[i], &span) ||
                !add_product(&below, span, magnitude64(l->factor[i])))
                return false;
        }
        if (below >= factor)
            return false;
    }
    return true;
}

/* Another equality has x with a factor of 1 or -1. */
static bool is_shared(const System *s, const Line *l, int x)
{
    bool shared = false;
    for (int k = 0; k < s->n_lines && !shared; k++) {
        const Line *other = &s->lines[k];
        shared = other != l && other->equal && !other->gone && is_unit(other->factor[x]);
    }
    return shared;
}

/* Eliminates a number by the equality that takes it apart, or that it shares with another; false
 * where the equality has none. */
static bool join_number(System *s, Line *l)
{
    for (int t = 0; t < l->n_terms && l->n_terms > 2; t++) {
        int x = l->term[t];
        if (!is_unit(l->factor[x]) || (!is_shared(s, l, x) && !is_number(s, l, x)))
            continue;
        system_eliminate(s, l, x);
        return true;
    }
    return false;
}

/* The variable with the greatest factor. */
static int leading(const Line *l)
{
    int x = l->term[0];
    for (int t = 1; t < l->n_terms; t++)
        if (magnitude64(l->factor[l->term[t]]) > magnitude64(l->factor[x]))
            x = l->term[t];
    return x;
}

/* Two equalities take one multiple of a variable apart: their difference does without it. */
static bool take_same_apart(const Line *a, const Line *b)
{
    bool equalities = a->equal && !a->gone && a->n_terms > 0 && b->n_terms > 0;
    int x = equalities ? leading(a) : -1;
    return equalities && leading(b) == x && !is_unit(a->factor[x]) &&
           magnitude64(a->factor[x]) == magnitude64(b->factor[x]);
}

/* Subtracts from an equality those before it that take the same multiple apart. */
static bool join_multiple(System *s, Line *l)
{
    bool any = false;
    for (Line *other = s->lines; other < l && !l->gone && !s->overflow; other++) {
        if (!take_same_apart(other, l))
            continue;
        int x = leading(l);
        system_add(s, l, other, l->factor[x] == other->factor[x] ? -1 : 1);
        system_normalize(s, l);
        any = true;
    }
    return any;
}

/* Takes the step with each equality; true if it has changed one. */
static bool with_equalities(System *s, bool (*step)(System *s, Line *l))
{
    bool any = false;
    for (int k = 0; k < s->n_lines && !s->impossible && !s->overflow; k++)
        if (s->lines[k].equal && !s->lines[k].gone)
            any |= step(s, &s->lines[k]);
    return any;
}

void system_split_digits(System *s, Numbers numbers)
{
    use_digits(s);
    read_bounds(s, 1, 1);
    int least = 2; /* until rows change, those of one variable have said all */
    for (bool again = true; again && !s->impossible && !s->overflow; least = 1) {
        read_bounds(s, least, 3);
        with_equalities(s, rename_equal);
        again = numbers == NUMBERS_JOINED &&
                (with_equalities(s, join_number) || with_equalities(s, join_multiple));
        again |= with_equalities(s, try_digits);
    }
}
