/* mixed_radix.c - Splits linear forms as numbers in mixed radix, and decides whether digits are
 * apart. */
#include "passes/analysis/symbolic/mixed_radix.h"

#include <stdlib.h>

/* A term that the width divides goes to `high`, divided: because of its factor, or because its atom
 * is known to be a multiple. */
static void split_term(const Radix *r, Term t, int64_t width, Affine *high, Affine *low)
{
    int64_t g = gcd64(t.factor, width);
    Expr *part = NULL;
    if (g > 0 && g != width && r->divided)
        part = r->divided(r->user, t.atom, width / g);
    if (g == width)
        affine_append(r->c, high, (Term){t.column, t.factor / width, t.atom});
    else if (part)
        affine_append(r->c, high, (Term){.factor = t.factor / g, .atom = part});
    else
        affine_append(r->c, low, t);
}

bool radix_split(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low)
{
    *high = affine_const(a->constant / width);
    *low = affine_const(a->constant % width);
    for (int t = 0; t < a->n; t++)
        split_term(r, a->terms[t], width, high, low);
    return affine_normalize(high);
}

/* Adds `quotient` to high, and takes it off low; neither where a number does not fit. */
static bool carry(int64_t width, int64_t quotient, Affine *high, Affine *low)
{
    int64_t more, rest = low->constant;
    if (!checked_add(high->constant, quotient, &more) || !add_product(&rest, quotient, -width))
        return false;
    high->constant = more;
    low->constant = rest;
    return true;
}

bool radix_take_low(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low)
{
    if (!radix_split(r, a, width, high, low))
        return false;
    Bounds range = r->range(r->user, low, width);
    int64_t quotient = floor_div64(range.min, width);
    return bounds_are_finite(range) && floor_div64(range.max, width) == quotient &&
           carry(width, quotient, high, low);
}

bool radix_take_least(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low)
{
    if (!radix_split(r, a, width, high, low))
        return false;
    int64_t least = r->range(r->user, low, width).min;
    return least != INT64_MIN && carry(width, floor_div64(least, width), high, low);
}

int64_t radix_coarsen(const Radix *r, const Affine *a, int64_t d, Affine *high, Affine *low)
{
    for (int t = 0; t < a->n; t++) {
        int64_t width = gcd64(a->terms[t].factor, d);
        if (width > 1 && radix_take_low(r, a, width, high, low))
            return width;
    }
    return 1;
}

static int by_coefficient(const void *a, const void *b)
{
    int64_t x = ((const Digit *)a)->coefficient, y = ((const Digit *)b)->coefficient;
    return (x > y) - (x < y);
}

void digits_sort(DigitList *digits)
{
    if (digits->n > 1)
        qsort(digits->items, (size_t)digits->n, sizeof *digits->items, by_coefficient);
}

bool digits_are_apart(DigitList *digits)
{
    int64_t reach = 0, span; /* how far apart two sums of the digits so far can be */
    digits_sort(digits);
    for (int i = 0; i < digits->n; i++) {
        Digit d = digits->items[i];
        if (d.coefficient <= reach)
            return false;
        if (i + 1 < digits->n &&
            (!bounds_are_finite(d.range) || !checked_sub(d.range.max, d.range.min, &span) ||
             !add_product(&reach, span, d.coefficient)))
            return false;
    }
    return true;
}
