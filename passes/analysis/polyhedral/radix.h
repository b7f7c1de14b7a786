/* radix.h - Declares rows over mixed-radix numbers with digits of symbolic width (internal to
 * passes/analysis; poly_products.c uses them). */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_RADIX_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_RADIX_H

#include "passes/analysis/polyhedral/poly_reduce.h"

enum { MAX_DEGREE = 5 };

/* The product of degree >= 2 of base columns, ascending. */
typedef struct {
    int column, degree, base[MAX_DEGREE];
} Monomial;

/* The replacement of a column that the system had for a product or a size: `value` stands for
 * column * by. */
typedef struct {
    int column;
    int64_t by;
    Affine value;
} Expansion;

/* A column with rows `column >= 0` and `column <= width - 1`. */
typedef struct {
    int column, lower, upper; /* the rows */
    Affine width;
} DigitColumn;

/* The rows and forms at work, and what their columns stand for. */
typedef struct {
    Poly *p;
    RowList *rows;
    Affine *forms;
    int n_forms;
    VEC(Monomial) monomials;
    VEC(Expansion) expansions;
    VEC(Affine) unimplied; /* forms of which integer points told that they may be negative */
    VEC(int) merged;       /* columns that stand for a number by now, of which they were a digit */
    int n_given;           /* columns that there were */
    bool failed;           /* a number or a degree does not fit */
} Polynomials;

/* ---- polynomials (radix_polynomial.c) -------------------------------------------------------- */

/* The value of a column; NULL: the column itself. */
const Monomial *radix_monomial(const Polynomials *r, int column);
/* The same, and of degree 1 for itself. */
Monomial radix_monomial_of(const Polynomials *r, int column);
/* The product, with a column for each monomial. Sets r->failed where a number or a degree does not
 * fit. */
Affine radix_multiply(Polynomials *r, Affine a, Affine b);
/* The column, or one of what it is the product of, is `base`; */
bool radix_has_base(const Polynomials *r, int column, int base);
/* so is one of the form. */
bool radix_mentions(const Polynomials *r, Affine form, int base);
/* Some column of the form is a product. */
bool radix_has_product(const Polynomials *r, Affine form);
/* The term divided by the width, a number or a number times a base column. */
bool radix_divide_term(Polynomials *r, Term t, Affine width, Affine *out);
/* form = width * high + low. */
void radix_divide(Polynomials *r, Affine form, Affine width, Affine *high, Affine *low);
/* Bounds of the form from those that its columns have had since they were made. */
Bounds radix_range(const Polynomials *r, Affine form);
/* A width that forms divide by: at least 1, or a positive number of a size. */
bool radix_is_width(Affine width);

/* ---- rows (radix_rows.c) --------------------------------------------------------------------- */

/* The term is a column with factor 1 or -1 that occurs nowhere else in the form: an equation gives
 * it a value. */
bool radix_is_solvable(const Polynomials *r, Affine form, Term t);
/* Adds a row, with its factors made coprime, unless it is there or says nothing. */
void radix_add_row(Polynomials *r, Affine form, bool equal);
/* The same for form >= 0, and form == 0. */
void radix_not_negative(Polynomials *r, Affine form);
void radix_zero(Polynomials *r, Affine form);
/* The last row takes the place of row `at`. */
void radix_drop_row(Polynomials *r, int at);
/* The column becomes the value everywhere; the value may speak of it, with another meaning. */
void radix_substitute(Polynomials *r, int column, Affine value);
/* All rows but `without` imply form >= 0, where products are any numbers. */
bool radix_implied(Polynomials *r, Affine form, int without);

/* Looks on from the k-th pair of rows for x >= 0 and x <= width - 1 of one column x; false behind
 * the last (radix_digits.c). */
bool radix_next_digit(Polynomials *r, int *k, DigitColumn *d);

/* ---- steps, each true where it has changed something ----------------------------------------- */

/* An equality of numbers becomes one of their digits, by bounds of columns: 32 a + b == 32 c + d
 * with b and d in 0..32 (radix_high.c). Before equalities are used, which mixes the digits. */
bool radix_split_numbers(Polynomials *r);
/* The same of row `at` by a size in its products: N a + b == N c + d with b and d in 0..N. */
bool radix_split_equality(Polynomials *r, int at);
/* A digit and the number that it is the low part of become one column (radix_digits.c). */
bool radix_merge_digits(Polynomials *r);
/* 0 <= x <= width - 1 forgets a quotient that there is once for each x, or gives x a name; 0 <= x
 * <= 0 becomes an equality (radix_pairs.c). */
bool radix_use_pairs(Polynomials *r);
/* A row of a number with digits becomes one of its high digits (radix_high.c). By sizes that are in
 * products, then by the widths of digits. */
bool radix_split_rows(Polynomials *r);

#endif
