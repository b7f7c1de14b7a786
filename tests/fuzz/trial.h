/* trial.h - a program at some sizes, random calls of primitives, and whether what they make of it
 * means the same. */
#ifndef TIRC_TESTS_TRIAL_H
#define TIRC_TESTS_TRIAL_H

#include <stdio.h>

#include "fuzz/draw.h"
#include "fuzz/tally.h"
#include "support/program.h"

enum { TRIAL_STEPS = 32, TRIAL_SIZES = 8 };

/* Plain data, so that a process can leave it for another one. */
typedef struct {
    const Program *program;
    char overrides[TRIAL_SIZES + 1][64];
    int n_overrides;
    int64_t sizes[TRIAL_SIZES];
    bool begun;           /* with a schedule of the program ... */
    int schedule, behind; /* ... without the last ones of its steps (start.h) */
    Step steps[TRIAL_STEPS];
    int n_steps, width;
    bool reversed;
    uint64_t seed;
} Trial;

/* A program's sizes, literal or symbolic, its type, and how threads take turns. */
Trial trial_draw(const Program *p, Random *r, uint64_t seed);
/* Runs a trial, drawing its steps from `random`, or with the steps that it has (NULL); true if it
 * is right. A drawn schedule that lowering refuses loses the later half of its steps until it is
 * lowered. What is wrong, and the schedule that shows it, goes to `show` (or nowhere: NULL). */
bool trial_run(Trial *t, Tally *tally, Random *random, FILE *show);
/* Draws a trial's steps from `random`, too, but writes the schedule and what tirc emits for it to
 * `to` (record.h; `complete`: also --emit cu) where trial_run runs it. False where there is nothing
 * to write. */
bool trial_write(Trial *t, Tally *tally, Random *random, bool complete, FILE *to);
/* The program, the sizes and the steps as they were drawn: what can be said of a trial that does
 * not come back. */
void trial_print(const Trial *t, FILE *to);

#endif
