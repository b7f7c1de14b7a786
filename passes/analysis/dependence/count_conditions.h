/* count_conditions.h - Declares what is known of a statement by the conditions that it runs under
 * (internal to passes/analysis/dependence). */
#ifndef TIRC_PASSES_ANALYSIS_DEPENDENCE_COUNT_CONDITIONS_H
#define TIRC_PASSES_ANALYSIS_DEPENDENCE_COUNT_CONDITIONS_H

#include "ir/search.h"
#include "passes/analysis/polyhedral/poly.h"

typedef struct {
    Expr *cond;
    Truth truth;
} Known;
typedef VEC(Known) KnownList;

/* Adds that a condition holds, or does not, as the parts that this is made of. */
void known_add(Context *c, KnownList *list, Expr *cond, Truth truth);

/* Conditions that hold, and what may have changed since they did. */
typedef struct {
    Context *c;
    const Kernel *kernel;
    KnownList known;
    /* nothing writes the buffer from the place of one statement to that of the other */
    bool (*is_stable)(void *user, const Buffer *buffer);
    void *user;
} Conditions;

/* The conditions imply that `cond` holds, or does not, where another statement asks for it. */
bool conditions_imply(const Conditions *of, Expr *cond, Truth truth);
/* They imply that the term, an integer that is never negative, is at least 1. */
bool conditions_count(const Conditions *of, Expr *term);
/* They imply that the term is 0. */
bool conditions_leave_out(const Conditions *of, Expr *term);
/* The values of an integer, by its type and the `where` clause. */
Bounds term_range(const Kernel *kernel, const Expr *e);

#endif
