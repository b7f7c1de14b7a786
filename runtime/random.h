/* random.h - Generates reproducible random data: xoshiro256** seeded by splitmix64 (Blackman and
 * Vigna, 2018). */
#ifndef TIRC_RUNTIME_RANDOM_H
#define TIRC_RUNTIME_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "ir/type.h"

typedef struct {
    uint64_t s[4];
} Random;

/* Generators of different streams of one seed are independent of each other. */
Random random_new(uint64_t seed, uint64_t stream);
/* In [0, n), without bias that could be noticed; 0 for n = 0. */
uint64_t random_below(Random *r, uint64_t n);

/* `n` elements of a type: floats uniform in [-1, 1) rounded to it, u8 and bool over all their
 * values, other integers in [-100, 100] or [0, 200], small enough that sums of a few million fit
 * 32 bits. values.h has ranges. */
void random_fill(Random *r, DType type, void *to, int64_t n);

/* Small integers, whose sums and products are exact in floating types, too. */
typedef struct {
    /* uniform in 1..magnitude, of either sign in signed types; 0: all elements are 0 */
    int magnitude;
    double share; /* of the elements that are not 0 */
} SmallIntegers;

/* `n` elements of a type, drawn so; bool over both values. */
void random_fill_small(Random *r, DType type, void *to, int64_t n, const SmallIntegers *from);

#endif
