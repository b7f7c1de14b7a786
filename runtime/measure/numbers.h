/* numbers.h - A set of numbers that is emptied at once: a hash table with linear probing, of whose
 * entries those count that have the present stamp. */
#ifndef TIRC_RUNTIME_MEASURE_NUMBERS_H
#define TIRC_RUNTIME_MEASURE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Empty when all zero. */
typedef struct {
    uint64_t *keys;
    uint32_t *stamps, stamp;
    size_t capacity, used; /* capacity is a power of two, or 0 */
} NumberSet;

/* Sets *fresh to whether the number was not there; false without memory. */
bool numbers_add(NumberSet *s, uint64_t key, bool *fresh);
void numbers_clear(NumberSet *s);
void numbers_free(NumberSet *s);

#endif
