/* pairs.c - see pairs.h. */
#include "fuzz/pairs.h"

#include <stdio.h>

/* A primitive that changes the program, all alike. */
static const Primitive *any_primitive(Random *r)
{
    int n;
    const Primitive *table = primitive_table(&n), *found;
    do
        found = &table[random_below(r, (uint64_t)n)];
    while (found->is_query);
    return found;
}

Pair pair_draw(Random *r)
{
    if (random_below(r, 4))
        return (Pair){0};
    const Primitive *first = any_primitive(r);
    return (Pair){first, any_primitive(r)};
}

const Primitive *pair_wanted(const Pair *pair, Random *r)
{
    const Primitive *next = pair->first ? pair->first : pair->second;
    return next && random_below(r, 2) ? next : NULL;
}

void pair_made(Pair *pair, const Primitive *primitive)
{
    if (pair->first == primitive)
        pair->first = NULL;
    else if (!pair->first && pair->second == primitive)
        pair->second = NULL;
}

static int place_of(const Primitive *primitive)
{
    int n;
    return (int)(primitive - primitive_table(&n));
}

void pairs_count(Tally *t, const Step *steps, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            t->pairs[place_of(steps[i].primitive)][place_of(steps[k].primitive)]++;
}

/* How many primitives never came before number `second`, which changes the program. */
static int missing_before(const Tally *t, const Primitive *table, int n, int second)
{
    int missing = 0;
    for (int first = 0; first < n; first++)
        missing += !table[first].is_query && t->pairs[first][second] == 0;
    return missing;
}

void pairs_report(const Tally *t)
{
    int n, all = 0, ran = 0, often = 0;
    const Primitive *table = primitive_table(&n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            bool change = !table[i].is_query && !table[k].is_query;
            all += change;
            ran += change && t->pairs[i][k] > 0;
            often += change && t->pairs[i][k] >= 10;
        }
    printf("of %d pairs of primitives, one after the other, %d ran in a schedule, %d in ten or "
           "more; never after so many others:",
           all, ran, often);
    for (int missing = n; missing > n / 10; missing--)
        for (int second = 0; second < n; second++)
            if (!table[second].is_query && missing_before(t, table, n, second) == missing)
                printf(" %s %d", table[second].name, missing);
    printf("\n");
}
