/* work.h - Adds up the work of kernels that the simulator has counted. */
#ifndef TIRC_RUNTIME_MEASURE_WORK_H
#define TIRC_RUNTIME_MEASURE_WORK_H

#include "runtime/measure/census.h"

/* Elements that tensor cores multiply, by their size: 1, 2, 4 (TF32) or 8 bytes. */
typedef enum { TENSOR_8, TENSOR_16, TENSOR_TF32, TENSOR_64, TENSOR_RATES } TensorRate;

typedef struct {
    /* executed by threads; 16- and 8-bit floats are computed in f32 */
    double f64_flops, f32_flops;
    double tensor_flops[TENSOR_RATES]; /* by tensor cores, in all passes */
    /* parameters, each once: what must come from and go to device memory */
    double least_bytes;
    double beyond_l1_bytes; /* counters_beyond_l1 */
    double passes;          /* lines of global memory and wavefronts of shared memory */
} Work;

/* Adds what all blocks of a kernel do; not least_bytes, which are those of the parameters. */
void work_add(Work *work, const Module *m, const Census *census, int kernel);
/* By tensor cores, of all sizes. */
double work_tensor_flops(const Work *work);

#endif
