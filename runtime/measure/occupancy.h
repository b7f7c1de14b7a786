/* occupancy.h - Computes how many blocks are resident on a multiprocessor, and what limits them. */
#ifndef TIRC_RUNTIME_MEASURE_OCCUPANCY_H
#define TIRC_RUNTIME_MEASURE_OCCUPANCY_H

#include <stdint.h>

#include "runtime/measure/profile.h"

typedef enum {
    LIMIT_THREADS,
    LIMIT_BLOCKS,
    LIMIT_SHARED,
    LIMIT_REGISTERS,
    OCCUPANCY_LIMITS
} OccupancyLimit;
/* "threads", "blocks", "shared memory", "registers". */
const char *occupancy_limit_name(OccupancyLimit limit);

/* The resources that a launch needs. */
typedef struct {
    int64_t threads;      /* of a block */
    int64_t shared_bytes; /* of a block */
    int64_t registers;    /* of a thread; 0: not known */
} OccupancyNeed;

typedef struct {
    int64_t blocks, threads; /* that a multiprocessor holds */
    /* blocks that each limit alone would allow; INT64_MAX: no limit, or not known */
    int64_t by[OCCUPANCY_LIMITS];
    /* the one that binds: the smallest, in the order of the enum */
    OccupancyLimit limit;
    /* threads of the most that it can hold, 0 to 1; 0 where that is not known */
    double share;
} Occupancy;

/* The rules of the CUDA occupancy calculator for compute capability 5.0 and later: registers are
 * given to warps in units of 256 and belong to one of 4 schedulers, shared memory is given in units
 * of 128 bytes. */
Occupancy occupancy_of(const Profile *profile, const OccupancyNeed *need);

#endif
