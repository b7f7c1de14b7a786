/* roofline.h - Computes the minimum time of a kernel on a device, and the bottleneck.
 *
 * The roofline model of Williams, Waterman and Patterson (2009) with a roof for each part of the
 * device that could be the bottleneck: the work that a part has to do over the rate at which it
 * can.  No kernel is faster than its slowest part; how near it comes depends on what the model
 * leaves out (latency, the order of accesses, contention). */
#ifndef TIRC_RUNTIME_MEASURE_ROOFLINE_H
#define TIRC_RUNTIME_MEASURE_ROOFLINE_H

#include "runtime/measure/profile.h"
#include "runtime/measure/work.h"

typedef enum { ROOF_ARITHMETIC, ROOF_TENSOR, ROOF_DRAM, ROOF_L2, ROOF_L1, ROOFS } RoofKind;

typedef struct {
    const char *name; /* "device memory" */
    const char *unit; /* of the amount: "flop", "byte", "pass" */
    double amount;
    double rate; /* units a second; 0: not known */
    double ms;   /* 0 where the rate is not known */
} Roof;

/* Flops a second of tensor cores, for elements of the size; 0: not known. */
double roofline_tensor_rate(const Profile *profile, TensorRate of);

/* Fills the roofs; the number of the one that binds, or -1 where none is known. */
int roofline_of(const Profile *profile, const Work *work, Roof roofs[ROOFS]);

#endif
