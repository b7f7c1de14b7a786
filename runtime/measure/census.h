/* census.h - Runs a module on the simulator once, and counts its accesses.
 *
 * Every block is counted where that takes at most a given number of requests, or as much arithmetic
 * as they take time; else blocks at even distances are, and what was counted stands for the rest.
 * Blocks that are not counted still run where a later launch may read what they write. */
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
} CensusRun;

/* `sim` is a simulator on which the module is loaded, `args` are arguments there.  `budget`: how
 * many requests to count, roughly. False after a diagnostic: a fault of the kernel, no memory. */
bool census_take(Device *sim, const CensusRun *run, int64_t budget, Census *out);
void census_free(Census *c);

/* A sum over the counted blocks of a kernel, for all of its blocks. */
int64_t census_scale(const Census *c, int kernel, int64_t counted);

#endif
