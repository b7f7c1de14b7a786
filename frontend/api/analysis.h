/* analysis.h - Defines the data behind tirc_analysis. */
#ifndef TIRC_FRONTEND_API_ANALYSIS_H
#define TIRC_FRONTEND_API_ANALYSIS_H

#include "frontend/api/internal.h"
#include "runtime/measure/census.h"
#include "runtime/measure/occupancy.h"
#include "runtime/measure/roofline.h"
#include "runtime/measure/verdict.h"

struct tirc_analysis {
    tirc_analysis_summary summary;
    VEC(tirc_access) accesses;
    VEC(tirc_barrier) barriers;
    VEC(tirc_kernel_use) kernels;
    tirc_limit limits[ROOFS];
};

/* The shared state of the parts of an analysis in progress. */
typedef struct {
    tirc *t;
    Context *c;
    const tirc_kernel *kernel;
    const Module *module;
    const char *arch;
    Profile profile;
    Device *sim, *own; /* the simulator; the same if the analysis has opened it */
    bool sampled;      /* as in CensusRun */
    Census census;
    tirc_analysis *out;
} Analyst;

/* analysis_access.c: rows for the accesses of all kernels. */
void analysis_accesses(Analyst *a);
/* analysis_use.c: barriers; registers and occupancy. */
void analysis_barriers(Analyst *a);
void analysis_kernels(Analyst *a);

#endif
