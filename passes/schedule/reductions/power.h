/* power.h - Describes values with a factor exp(F(x - m)), such as the terms of a softmax, whose
 * center m may change: exp(a - c) = exp(a - b) exp(b - c). F multiplies and divides by what is the
 * same for all terms. */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_POWER_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_POWER_H

#include "ir/ir.h"

typedef struct {
    const Expr *call;       /* exp(F(x - m)), */
    const Expr *difference; /* x - m in it, */
    const Expr *center;     /* and m, an element of a buffer, also in max(m, least finite number) */
    Expr *where;            /* where the value is not 0, as masks say; NULL: everywhere */
} PowerFactor;

/* Finds the factor of a value that depends on the buffer. False if that has another form. */
bool power_factor_of(Context *c, const Expr *value, const Buffer *center, PowerFactor *out);

/* The only factor of a product that reads the buffer, in masks or not, as in c ? v * x : 0; the
 * expression itself if it is none. The conditions of the masks are added to `where`, unless that is
 * NULL. */
const Expr *power_innermost_factor(Context *c, const Expr *e, const Buffer *buffer, Expr **where);

/* The value where masks, which do not read the buffer, do not make it 0: x in c ? x : 0. */
const Expr *power_unmasked(const Expr *e, const Buffer *buffer);

/* What moves a sum of such terms from a center to another one. A sum around -inf is 0, which
 * stays. */
Expr *power_shift(Context *c, const PowerFactor *power, Expr *from, Expr *to, Span span);

/* A center that no term exceeds, for terms that do not exceed m. No value exceeds -inf, but
 * -inf - -inf is no number; the least finite one does as well. */
Expr *power_finite_center(Context *c, Expr *m, Span span);

/* The value of that factor around a finite center for another m. */
Expr *power_around(Context *c, const Expr *value, const PowerFactor *power, Expr *m, Span span);

/* The expression with another one in the place of a node of it. */
Expr *power_exchange(Context *c, const Expr *in, const Expr *from, Expr *to);

/* Adds the subscripts and other integers of two expressions that are the same apart from them.
 * False if they are not. */
bool power_match_integers(Context *c, const Expr *x, const Expr *y, ExprList *of_x, ExprList *of_y);

#endif
