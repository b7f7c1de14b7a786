/* verdict.h - Explains why an access costs more than the minimum, and suggests a remedy. */
#ifndef TIRC_RUNTIME_MEASURE_VERDICT_H
#define TIRC_RUNTIME_MEASURE_VERDICT_H

#include "runtime/measure/counters.h"

/* The accesses of one kernel that touch one buffer. */
typedef struct {
    const AccessCounter *const *items;
    int n;
} AccessGroup;

/* Explains the cost of accesses->items[which] by its most expensive request; NULL at the minimum
 * cost. The text is in the context's arena. */
const char *verdict_of(Context *ctx, const AccessGroup *accesses, int which);

#endif
