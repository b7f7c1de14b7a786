/* census.h - Runs a module on the simulator once, and counts its accesses.
 *
 * It counts every block if that takes at most a given number of requests, or arithmetic of the same
 * duration; otherwise it counts evenly spaced blocks and extrapolates. Where blocks await each
 * other, these are the first ones. Blocks that are not counted still run if a later launch can read
 * their results. */
#ifndef TIRC_RUNTIME_MEASURE_CENSUS_H
#define TIRC_RUNTIME_MEASURE_CENSUS_H

#include "runtime/device.h"
#include "runtime/measure/counters.h"

typedef struct {
    int64_t launches;
    int64_t grid[3];         /* of the first launch */
    int64_t blocks, counted; /* of all launches */
} KernelCensus;

typedef struct {
    Counters *counters;
    KernelCensus *kernels; /* [n_kernels]; launches is 0 for one that these sizes never launch */
} Census;

/* The run that is counted. */
typedef struct {
    LoadedModule *loaded;
    const Module *module;
    const RunArguments *args;
    /* blocks that are not counted do not run, so later launches read data that nothing wrote */
    bool sampled;
} CensusRun;

/* `sim` is a simulator on which the module is loaded, `args` are arguments there.  `budget`: how
 * many requests to count, roughly. False after a diagnostic: a fault of the kernel, no memory. */
bool census_take(Device *sim, const CensusRun *run, int64_t budget, Census *out);
void census_free(Census *c);

/* A sum over the counted blocks of a kernel, for all of its blocks. */
int64_t census_scale(const Census *c, int kernel, int64_t counted);

#endif
