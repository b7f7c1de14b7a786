/* reasons.h - Declares why barriers and waits are needed, and what makes them. */
#ifndef TIRC_PASSES_LOWER_THREADS_REASONS_H
#define TIRC_PASSES_LOWER_THREADS_REASONS_H

#include "passes/lower/threads/async.h"

/* Why a barrier or a wait is needed: buffers by kind of hazard. */
typedef struct {
    Context *c;
    VEC(Name) buffers[HAZARD_KINDS];
    Hazard example;
    bool any;                  /* it is a barrier, too */
    int pending[FLIGHT_KINDS]; /* groups that may stay in flight; -1: no wait */
    Name registers;            /* of instructions in flight, in the way of the code below */
} Reasons;

/* Where barriers and waits stand. */
typedef struct {
    SyncKind kind;            /* of the barrier */
    const Instruction *queue; /* of the groups of instructions */
    const Stmt *carrier;      /* the loop whose next iteration has to wait, or NULL */
    const Stmt *at;           /* what they stand in front of, for its place in the program */
} SyncPlace;

/* No barrier, and no wait. */
Reasons reasons_none(Context *c);
/* Adds a hazard to the Reasons `user`: a callback of threads_hazards. */
void reasons_add(void *user, const Hazard *h);
/* Appends waits, and a barrier behind them. They come from the access that has to wait, and from
 * the step that made the buffer. */
void reasons_append(Reasons *r, const SyncPlace *place, StmtList *out);

#endif
