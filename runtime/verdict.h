/* verdict.h - why an access costs more than it must, in words, and what to do. */
#ifndef TIRC_RUNTIME_VERDICT_H
#define TIRC_RUNTIME_VERDICT_H

#include "runtime/counters.h"

/* The accesses of one kernel that touch one buffer. */
typedef struct {
    const AccessCounter *const *items;
    int n;
} AccessGroup;

/* About accesses->items[which]; NULL where it costs what it must.  It speaks of the costliest request.  In the context's
 * arena. */
const char *verdict_of(Context *ctx, const AccessGroup *accesses, int which);

/* The least pad of the rows, in elements and beyond the one they have, after which the costliest requests of all accesses
 * together take the fewest wavefronts; 0: no pad helps, or the buffer has no rows.  *wavefronts: of `which` then. */
int verdict_pad(const AccessGroup *accesses, int which, int *wavefronts);

#endif
