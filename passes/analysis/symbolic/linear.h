/* linear.h - Represents linear forms over integers: a constant plus a sum of factor * term.
 *
 *   N - i * 32 - 1       over atoms, for the simplifier: INDEX expressions that the form does not
 *                        look into, a variable, an axis, a quotient, a minimum, a product of atoms
 *   c3 - 32 * c7 - 1     over columns, for systems of constraints: numbers of unknowns
 *
 * Equal linear expressions have equal normal forms, so sameness is decided by subtraction. Every
 * operation on factors is checked: a false says that a number did not fit. */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_LINEAR_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_LINEAR_H

#include "ir/ir.h"

/* Of a column, or of an atom where that is not NULL. */
typedef struct {
    int column;
    int64_t factor;
    Expr *atom;
} Term;

/* Normal: terms sorted by column, or by expr_order of their atoms; each once, no zero factor. A
 * form of columns is always normal, and never changes: forms share their terms. */
typedef struct {
    int64_t constant;
    Term *terms;
    int n, capacity;
} Affine;

/* A total order of expressions by structure; 0 only for equal ones.  Axes first, then variables
 * by age, then other expressions, literals last (order.c). */
int expr_order(const Expr *a, const Expr *b);
/* The two are equal by expr_order; most that are compared are variables, or of different kinds. */
static inline bool expr_same(const Expr *a, const Expr *b)
{
    if (a == b || a->kind != b->kind || a->type != b->type)
        return a == b;
    return a->kind == EX_VAR ? a->u.var->id == b->u.var->id : expr_order(a, b) == 0;
}

/* *sum += a * k; false where a number does not fit. */
static inline bool add_product(int64_t *sum, int64_t a, int64_t k)
{
    int64_t product;
    return checked_mul(a, k, &product) && checked_add(*sum, product, sum);
}

Affine affine_const(int64_t value);
/* Adds to the end of a form, which is normal only after affine_normalize: a term, */
void affine_append(Context *c, Affine *a, Term term);
/* a * scale. */
bool affine_push_scaled(Context *c, Affine *out, const Affine *a, int64_t scale);
/* Sorts the terms and adds up equal ones. */
bool affine_normalize(Affine *a);
/* out = a * ka + b * kb, of normal forms. */
bool affine_combine(Context *c, Affine a, int64_t ka, Affine b, int64_t kb, Affine *out);
/* The form without its term number `at`. */
Affine affine_without(Context *c, Affine a, int at);
/* All numbers divided by `g`, which divides the factors; the constant is rounded down. */
Affine affine_divide(Context *c, Affine a, int64_t g);
/* The row form >= 0 (`equal`: == 0) divided by what its factors have in common, where integers keep
 * it. */
Affine affine_reduced(Context *c, Affine form, bool equal);
/* The terms whose factors `g` divides, divided by it; no constant. */
Affine affine_multiples(Context *c, Affine a, int64_t g);
/* The position of the same atom or column in a form, or -1. */
int affine_find(Affine a, const Term *term);
/* The factor of a column; 0 where it is not there. */
int64_t affine_factor(Affine a, int column);
bool affine_equal(Affine a, Affine b);
/* The greatest common divisor of all factors, 0 if there are none. */
int64_t affine_gcd(Affine a);

#endif
