/* mixed_radix.h - Splits integers as numbers in mixed radix: sums of digits, each with a
 * coefficient and a range of its own.
 *
 *   64 * by + 8 * w + t       digits t (coefficient 1, in 0..8), w (8, in 0..8) and by (64)
 *   = 8 * (8 * by + w) + t    high and low part for the width 8
 *
 * Tiles make such numbers. Their quotients and remainders by a width are sums of their digits,
 * over atoms (divmod.c) as well as over columns (poly_expr.c). */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_MIXED_RADIX_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_MIXED_RADIX_H

#include "passes/analysis/symbolic/interval.h"
#include "passes/analysis/symbolic/linear.h"

/* ---- digits ---------------------------------------------------------------------------------- */

/* coefficient * value */
typedef struct {
    int64_t coefficient;
    Expr *value;
    Bounds range; /* of the value */
} Digit;
typedef VEC(Digit) DigitList;

/* Sorts digits by coefficient, the smallest first. */
void digits_sort(DigitList *digits);
/* Sorts the digits. True where each coefficient is larger than what the digits with smaller ones
 * together can differ by, so that the sum determines each digit. */
bool digits_are_apart(DigitList *digits);

/* ---- high and low parts of linear forms ------------------------------------------------------ */

/* Answers questions about the terms and values of forms. */
typedef struct {
    Context *c;
    void *user;
    /* The atom divided by a number, NULL where it may be no multiple. NULL: not known of any. */
    Expr *(*divided)(void *user, Expr *atom, int64_t by);
    /* Bounds of a form, tight enough to find floor(a / width) where that is one number. */
    Bounds (*range)(void *user, const Affine *a, int64_t width);
} Radix;

/* a = width * high + low, by terms; the constant of `low` is in (-width, width). False where a
 * number does not fit. */
bool radix_split(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low);
/* The same with low in 0..width; false where it is not known to be there. */
bool radix_take_low(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low);
/* The same with the least low that is never negative; false where low has no least value. */
bool radix_take_least(const Radix *r, const Affine *a, int64_t width, Affine *high, Affine *low);
/* Takes the low part off for a width that divides `d`, so that a / d = high / (d / width). Returns
 * the width, or 1 where there is none. */
int64_t radix_coarsen(const Radix *r, const Affine *a, int64_t d, Affine *high, Affine *low);

#endif
