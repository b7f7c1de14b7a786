/* interval.h - Computes with literal bounds of integers (interval arithmetic).
 *
 * Ends are inclusive; INT64_MIN and INT64_MAX stand for no end. Values are exact integers: a result
 * beyond 64 bits loses the end that does not fit, so bounds are always true. */
#ifndef TIRC_PASSES_ANALYSIS_SYMBOLIC_INTERVAL_H
#define TIRC_PASSES_ANALYSIS_SYMBOLIC_INTERVAL_H

#include "ir/ir.h"

typedef struct {
    int64_t min, max;
} Bounds;

/* The two ends of what a value can be. */
typedef enum { END_LEAST, END_LARGEST, ENDS } End;
static inline End end_opposite(End end)
{
    return end == END_LEAST ? END_LARGEST : END_LEAST;
}

static inline bool bounds_has_min(Bounds b)
{
    return b.min != INT64_MIN;
}
static inline bool bounds_has_max(Bounds b)
{
    return b.max != INT64_MAX;
}
static inline bool bounds_are_finite(Bounds b)
{
    return bounds_has_min(b) && bounds_has_max(b);
}
/* One value, known. */
static inline bool bounds_are_exact(Bounds b)
{
    return b.min == b.max && bounds_are_finite(b);
}
/* Nothing is known. */
static inline Bounds bounds_none(void)
{
    return (Bounds){INT64_MIN, INT64_MAX};
}
static inline Bounds bounds_exactly(int64_t value)
{
    return (Bounds){value == INT64_MAX ? value - 1 : value, value == INT64_MIN ? value + 1 : value};
}
Bounds bounds_of_type(DType type);          /* an integer type; none for 64 bits */
bool type_holds(DType type, int64_t value); /* it is a value of the integer type */

/* Bounds of a value that lies in one of the two; in both. */
Bounds bounds_join(Bounds a, Bounds b);
Bounds bounds_meet(Bounds a, Bounds b);

Bounds bounds_add(Bounds a, Bounds b);
Bounds bounds_scale(Bounds a, int64_t k);
/* sum + k * a */
Bounds bounds_add_scaled(Bounds sum, Bounds a, int64_t k);
Bounds bounds_multiply(Bounds a, Bounds b);
/* a / b and a % b, truncating; b is not 0. */
Bounds bounds_divide(Bounds a, Bounds b);
Bounds bounds_remainder(Bounds a, Bounds b);
/* Bounds of the minimum (EX_MIN) or maximum. */
Bounds bounds_minmax(ExprKind kind, Bounds a, Bounds b);
/* Bounds of EX_BITAND, EX_BITOR and EX_BITXOR. */
Bounds bounds_bits(ExprKind kind, Bounds a, Bounds b);

#endif
