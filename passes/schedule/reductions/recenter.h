/* recenter.h - The form of recenter for sums that share weights, which recenter.c hands on. */
#ifndef TIRC_PASSES_SCHEDULE_REDUCTIONS_RECENTER_H
#define TIRC_PASSES_SCHEDULE_REDUCTIONS_RECENTER_H

#include "passes/schedule/loops/loop.h"

/* The block stores values, and adds up nothing: they may be weights. */
bool recenter_is_of_weights(Schedule *s, const Stmt *block);
/* recenter(weights, pivots). */
bool recenter_weights(Schedule *s, const PrimCall *call);

#endif
