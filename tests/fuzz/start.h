/* start.h - begins a trial with a part of a schedule that its program has, so that random calls
 * come behind steps which are never drawn by chance, such as those before `multicast`. */
#ifndef TIRC_TESTS_START_H
#define TIRC_TESTS_START_H

#include "fuzz/trial.h"

/* The steps behind those that a trial begins with, to be made again, changed. */
typedef struct {
    Step *items;
    int n, at;
} StartRest;

/* The program has a schedule with steps that draws alone do not reach: copies in bulk, tensor
 * instructions, roles of warps. */
bool start_is_rare(const Program *p);
/* Whether the trial begins with a schedule of its program's file, and with which: one in eight
 * does, and all that are to be `rare`. */
void start_draw(Trial *t, Random *r, bool rare);
/* The program with its first steps, and those behind them in *rest; false where the schedule is not
 * for these sizes. */
bool start_use(const Trial *t, const char *const *overrides, Use *use, StartRest *rest);
/* The next of the rest: some are left out, made twice, changed, or come before their time. False at
 * the end. */
bool start_next(StartRest *rest, Random *r, Step *step);

#endif
