/* poly_memo.h - Memoizes decided sets of rows (internal to passes/analysis).
 *
 * Each step of a schedule repeats the questions of earlier steps: does each pair of accesses of a
 * launch keep its order, does each thread read only its own writes? Most of these questions are
 * equal to the last number. */
#ifndef TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_MEMO_H
#define TIRC_PASSES_ANALYSIS_POLYHEDRAL_POLY_MEMO_H

#include "passes/analysis/polyhedral/poly.h"

typedef struct PolyMemo PolyMemo;

/* NULL where there is no memory. Out of memory later unwinds to the context's guard. */
PolyMemo *memo_new(Context *c);
void memo_free(PolyMemo *m); /* NULL is allowed */

/* A question: rows that speak of columns, whose names are their numbers in `dimension`. Two
 * questions are the same when their rows are, in order. */
typedef struct {
    const Row *rows;
    int n;
    const int *dimension; /* of each column in use, 0 .. n_dimensions - 1 */
    int n_dimensions;
    int n_forms; /* the last rows are no constraints: their ranges are asked for */
} Asked;

/* A question as bytes: two are equal exactly where these are. */
typedef struct {
    uint64_t hash;
    const uint8_t *bytes;
    size_t n;
    int n_forms;
} MemoKey;
/* In the arena. */
MemoKey memo_key(Arena *arena, Asked asked);

/* The answer, if the question was kept; else POLY_SPENT. Fills in ranges[n_forms]. */
Answer memo_find(PolyMemo *m, const MemoKey *key, Bounds *ranges);
/* Only what is decided is worth keeping: nothing happens for POLY_SPENT. */
void memo_keep(PolyMemo *m, const MemoKey *key, Answer answer, const Bounds *ranges);

#endif
