/* threads.h - Shares work among the processors that this process may use. */
#ifndef TIRC_RUNTIME_THREADS_H
#define TIRC_RUNTIME_THREADS_H

#include <stdint.h>

/* How many processors that is; at least 1. */
int threads_usable(void);

/* Calls `run` once for each part from 0 to parts - 1, each on some thread, in any order; returns
 * when all are done. The parts must not touch each other's data. */
void threads_share(int64_t parts, void (*run)(void *user, int64_t part), void *user);

#endif
