/* spread.h - Finds which elements along an axis of a register array are in use (internal to
 * passes/lower). */
#ifndef TIRC_PASSES_LOWER_MEMORY_SPREAD_H
#define TIRC_PASSES_LOWER_MEMORY_SPREAD_H

#include "passes/lower/pass.h"

/* The first `width` of every `period` elements; {1, 1} means all of them. */
typedef struct {
    int64_t period, width;
} Spread;

/* One way of several, while it is sought: subscripts suggest periods, then all of them are measured
 * under each. */
enum { SPREAD_CHOICES = 12 };
typedef struct {
    Spread choices[SPREAD_CHOICES];
    int n;
    int64_t common; /* what all suggestions are multiples of, 0 before the first */
} SpreadSearch;

/* `offset` is a subscript from 0 to `last`. All subscripts suggest first, then the search is
 * closed, then all are measured. */
void spread_suggest(Context *c, SpreadSearch *s, Expr *offset, int64_t last);
void spread_close(SpreadSearch *s);
void spread_measure(Context *c, Facts *f, SpreadSearch *s, Expr *offset);
/* The choice that keeps the fewest elements of 0 to `last`. */
Spread spread_choose(const SpreadSearch *s, int64_t last);

/* How many elements are kept of 0 to `last`, and where one of them is then. */
int64_t spread_extent(Spread s, int64_t last);
Expr *spread_pack(Context *c, Facts *f, Spread s, Expr *offset);

#endif
