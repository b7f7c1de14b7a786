/* relation.h - Decides whether one list of integer expressions, the key, functionally determines
 * another, the value.
 *
 *   points        key               value
 *   i in 0..64    [i / 4, i % 4]    [i]      the key tells the value: key0 * 4 + key1
 *   i in 0..64    [i / 4]           [i]      it does not: at i = 0 and i = 1
 *
 * An index map is injective if its outputs determine its parameters. A copy in another layout holds
 * what a block reads if the place in the copy determines the element. Answers are exact for
 * expressions of + - * / % min max whose factors and divisors are literals, over points between
 * bounds of that kind, with any sizes; products with a symbolic size are understood as digits of
 * symbolic width. */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_RELATION_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_RELATION_H

#include "ir/ir.h"

/* Points: lo <= var < hi, where the ends are of sizes and of variables before. */
typedef struct {
    Var *const *var;
    Expr *const *lo, *const *hi;
    int n;
} PointBox;

typedef struct {
    const PointBox *points;
    Expr *const *key, *const *value; /* of the points' variables and sizes */
    int n_key, n_value;
} Relation;

typedef enum {
    TELLS,
    TELLS_NOT,
    TELLS_UNKNOWN, /* not of the form above, or too hard */
} Tells;

/* Do points with equal keys have equal values? Where they do not, *clash names two that show it: "i
 * = 0 and i = 1". */
Tells relation_tells(Context *c, const Relation *r, const char **clash);

/* out[n_value]: the values as expressions of the variables `place` [n_key], which stand for the
 * keys, valid for the key of every point. False if the key does not determine the value, or if
 * no single formula holds for all keys. */
bool relation_solve(Context *c, const Relation *r, Var *const *place, Expr **out);

#endif
