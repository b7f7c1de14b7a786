/* poly_reduce.h - Decides most systems without a solver. */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_REDUCE_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_REDUCE_H

#include "passes/analysis/polyhedral/poly_memo.h"

/* POLY_NONE or POLY_SOME where it is plain, POLY_SPENT where a solver must decide. */
Answer poly_reduce(Context *c, Asked asked);
/* It is plain that the rows have no solution. */
bool poly_refuted(Context *c, Asked asked);
/* The ranges of the forms over all solutions. False where it is plain that there is none. */
bool poly_reduce_ranges(Context *c, Asked asked, Bounds *ranges);

/* A solution of the rows is found at once (poly_guess.c). */
bool poly_guess(const Poly *p, const Row *rows, int n);

/* ---- what poly_reduce.c, poly_digits.c and poly_sums.c share --------------------------------- */

/* Most factors of a row are 0, and nearly all work is looking at rows: they say where the others
 * are. */
typedef struct {
    int64_t *factor;    /* [n] then the constant */
    int *term, n_terms; /* the variables whose factor is not 0 */
    bool equal, digits, gone;
} Line;

typedef struct {
    Arena *arena;
    Line *lines; /* [n_lines of capacity] */
    int n_lines, capacity, n;
    Line *watched; /* [n_watched] forms that follow each change of variables, and say nothing */
    int n_watched;
    int64_t *min, *max; /* INT64_MIN, INT64_MAX: none */
    bool overflow, impossible;
    bool tighter;  /* a bound has moved */
    int64_t *left; /* of the question's budget; a spent one counts as an overflow */
} System;

/* Larger numbers end the attempt, so that the sum or negation of two always fits. */
#define LARGEST (INT64_MAX / 4)
static inline bool is_far(int64_t number)
{
    return number > LARGEST || number < -LARGEST;
}

static inline int64_t magnitude64(int64_t number)
{
    return number < 0 ? -number : number;
}

/* n empty lines. */
Line *system_new_lines(System *s, int n);
/* to += factor * from */
void system_add(System *s, Line *to, const Line *from, int64_t factor);
/* Forgets the terms of a row whose factors have become 0. */
void system_drop_zeros(Line *l);
/* Divides a row by the divisor of its factors; settles rows without variables. */
void system_normalize(System *s, Line *l);
/* Removes variable `at`, whose factor in the equality `l` is 1 or -1, from all other rows, and the
 * row. */
void system_eliminate(System *s, Line *l, int at);
/* Bounds each variable of a row by the maximum of its other terms. */
void system_bound(System *s, const Line *l);
/* What the constant and the terms that `g` does not divide (0: all) can be, from the bounds of
 * variables. */
Bounds system_range(System *s, const Line *l, int64_t g);
/* Are numbers that several rows have replaced by what they equal, so that those rows meet? */
typedef enum { NUMBERS_KEPT, NUMBERS_JOINED } Numbers;
/* Splits numbers of tiles into their digits (poly_digits.c); rows and variables change, integer
 * solutions stay. */
void system_split_digits(System *s, Numbers numbers);
/* Adds sums of two rows in which variables go away (poly_sums.c). */
void system_add_sums(System *s);

/* The rows but number `without` imply form >= 0, where products of sizes are any numbers
 * (poly_solve.c). */
bool poly_implied(Poly *p, const RowList *rows, int without, Affine form);
/* The same where elimination finds it, without the search of integer points that tells where rows
 * do not imply it. */
bool poly_implied_plainly(Poly *p, const RowList *rows, Affine form);
/* Splits numbers with digits of symbolic width, so that the forms take the same values over all
 * solutions of rows without products; or of none at all, where there is no solution. False where
 * that is not found. Rows and forms are written over; columns that come are new. */
bool poly_split_products(Poly *p, RowList *rows, Affine *forms, int n_forms);

#endif
