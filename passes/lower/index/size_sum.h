/* size_sum.h - Bounds index arithmetic by sums of products of symbolic sizes with rational factors.
 *
 *   (by * 32 + ty) * N + j     is at most  M*N + 31*N - 1
 *       where  0 <= by < (M + 31) / 32,  0 <= ty < 32,  0 <= j < N
 *
 * Sizes are at least 0, so a sum is at most that of its terms that are not negative. NULL means
 * "not known", and operations pass it on. A sum that does not fit 64 bits or has too many terms is
 * not known. */
#ifndef TIRC_PASSES_LOWER_INDEX_SIZE_SUM_H
#define TIRC_PASSES_LOWER_INDEX_SIZE_SUM_H

#include "passes/analysis/symbolic/linear.h"

/* form / by, where by > 0 has no divisor in common with all numbers of the form, and its atoms are
 * sizes and products of sizes. */
typedef struct {
    Affine form;
    int64_t by;
} SizeSum;

const SizeSum *size_sum_int(Context *c, int64_t value);
const SizeSum *size_sum_of(Context *c, const Var *size);
const SizeSum *size_sum_add(Context *c, const SizeSum *a, const SizeSum *b);
const SizeSum *size_sum_sub(Context *c, const SizeSum *a, const SizeSum *b);
const SizeSum *size_sum_mul(Context *c, const SizeSum *a, const SizeSum *b);
/* a * num / den; den is not 0. */
const SizeSum *size_sum_scale(Context *c, const SizeSum *a, int64_t num, int64_t den);
/* At least a / size, where size >= 1: terms that have the size lose it, others stay unless they are
 * negative. */
const SizeSum *size_sum_div_size(Context *c, const SizeSum *a, Expr *size);
/* At least a and b, and at most both: term by term. */
const SizeSum *size_sum_above(Context *c, const SizeSum *a, const SizeSum *b);
const SizeSum *size_sum_below(Context *c, const SizeSum *a, const SizeSum *b);
/* The terms that are not negative: at least a, and at least 0. */
const SizeSum *size_sum_positive(Context *c, const SizeSum *a);
/* No term of `a` is larger than that of `b`; both are positive. */
bool size_sum_within(Context *c, const SizeSum *a, const SizeSum *b);

#endif
