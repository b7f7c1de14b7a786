/* numbers.c - see numbers.h. */
#include "runtime/measure/numbers.h"

#include <stdlib.h>
#include <string.h>

enum { SET_FIRST = 1024 };

static size_t slot_of(const NumberSet *s, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (s->capacity - 1);
    while (s->stamps[at] == s->stamp && s->keys[at] != key)
        at = (at + 1) & (s->capacity - 1);
    return at;
}

static bool grow(NumberSet *s)
{
    NumberSet larger = {.stamp = 1, .capacity = s->capacity ? 2 * s->capacity : SET_FIRST};
    larger.keys = malloc(larger.capacity * sizeof *larger.keys);
    larger.stamps = calloc(larger.capacity, sizeof *larger.stamps);
    if (!larger.keys || !larger.stamps) {
        free(larger.keys);
        free(larger.stamps);
        return false;
    }
    for (size_t i = 0; i < s->capacity; i++)
        if (s->stamps[i] == s->stamp) {
            size_t at = slot_of(&larger, s->keys[i]);
            larger.keys[at] = s->keys[i];
            larger.stamps[at] = larger.stamp;
        }
    larger.used = s->used;
    free(s->keys);
    free(s->stamps);
    *s = larger;
    return true;
}

bool numbers_add(NumberSet *s, uint64_t key, bool *fresh)
{
    if (2 * s->used >= s->capacity && !grow(s))
        return false;
    size_t at = slot_of(s, key);
    *fresh = s->stamps[at] != s->stamp;
    s->keys[at] = key;
    s->stamps[at] = s->stamp;
    s->used += *fresh;
    return true;
}

void numbers_clear(NumberSet *s)
{
    s->used = 0;
    if (++s->stamp == 0 && s->stamps) {
        memset(s->stamps, 0, s->capacity * sizeof *s->stamps);
        s->stamp = 1;
    }
}

void numbers_free(NumberSet *s)
{
    free(s->keys);
    free(s->stamps);
    *s = (NumberSet){0};
}
