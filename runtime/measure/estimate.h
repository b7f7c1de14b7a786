/* estimate.h - Estimates the time of a module from its counters, to rank candidates of a tuner. */
#ifndef TIRC_RUNTIME_MEASURE_ESTIMATE_H
#define TIRC_RUNTIME_MEASURE_ESTIMATE_H

#include "runtime/measure/census.h"
#include "runtime/measure/profile.h"

/* Returns milliseconds on the device of the profile. least_bytes: of all parameters, each once. */
double estimate_ms(const Profile *profile, const Module *m, const Census *census,
                   int64_t least_bytes);

#endif
