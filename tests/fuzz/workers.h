/* workers.h - trials in processes of their own, so that one that crashes, hangs or eats the memory
 * is a failure like any other: it is named, reduced and counted, and the others go on. */
#ifndef TIRC_TESTS_WORKERS_H
#define TIRC_TESTS_WORKERS_H

#include "fuzz/trial.h"

enum {
    WORKERS_MOST = 256,
    WORKERS_SLOW = 8,         /* seconds from which a trial is named, without being a failure */
    WORKERS_MEBIBYTES = 4096, /* of address space for a process */
    WORKERS_WRONG = 200,      /* failures after which no new trial begins */
};

typedef struct {
    long count;
    uint64_t seed;
    int n;        /* processes */
    int seconds;  /* after which no trial begins; 0: no such time */
    double limit; /* seconds of CPU for one trial; more is a hang */
    /* The trial of a seed, before its steps; `r` goes on with those. */
    Trial (*draw)(void *user, uint64_t seed, Random *r);
    void *user;
} WorkPlan;

/* Trials seed, seed + 1, ..., `count` of them; failures go to stderr. False unless each is
 * accounted for as right, wrong, crashed or hung, but those that did not begin in time or after too
 * many failures. */
bool workers_run(const WorkPlan *plan, Tally *tally);

#endif
