/* pairs.h - two primitives one after the other in one schedule. Draws of single calls seldom bring
 * two rare ones together, and what is wrong is often a step that makes what another did not expect;
 * so one trial in four is after a pair that is drawn among all alike. */
#ifndef TIRC_TESTS_PAIRS_H
#define TIRC_TESTS_PAIRS_H

#include "fuzz/draw.h"
#include "fuzz/tally.h"

/* What a trial is after. NULL: nothing (any more). */
typedef struct {
    const Primitive *first, *second;
} Pair;

Pair pair_draw(Random *r);
/* The primitive to draw a call of now, or NULL: any. */
const Primitive *pair_wanted(const Pair *pair, Random *r);
/* A call was accepted. */
void pair_made(Pair *pair, const Primitive *primitive);

/* Counts the pairs of steps that ran in one schedule. */
void pairs_count(Tally *t, const Step *steps, int n);
/* Prints how many pairs ran, and the primitives that most others have never come before. */
void pairs_report(const Tally *t);

#endif
