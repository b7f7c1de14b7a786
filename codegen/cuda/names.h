/* names.h - Chooses all names of a CUDA text (internal to codegen).
 *
 * In a lowered kernel a name means one thing on a path. To preserve this in the text, all names of
 * a text are chosen together and are distinct. A name stays unchanged unless it has another meaning
 * in CUDA C; its replacement is an unused name. */
#ifndef TIRC_CODEGEN_CUDA_NAMES_H
#define TIRC_CODEGEN_CUDA_NAMES_H

#include "codegen/cuda/cuda.h"
#include "ir/names.h"

typedef struct CudaNames CudaNames;

/* The names of the kernels of `lowered`: the same each time. */
CudaNames *cuda_names_new(Context *c, const Kernel *lowered);
/* The names of a complete program's host side: the launching code, which uses the lowered kernel,
 * and the references. Kernels and constant arrays keep their names from `device`. */
CudaNames *cuda_names_host(const CudaNames *device, const CuKernels *k);

/* The name of a __global__ function. */
Name cuda_names_launch(const CudaNames *n, Name launch);
/* The name of a buffer: of an array in constant memory, the symbol. */
Name cuda_names_buffer(const CudaNames *n, const Buffer *b);
/* The name of a size, parameter, loop, named value, or temporary that is not in constant memory. */
Name cuda_names_value(const CudaNames *n, Name name);
/* A name for something that only the text has, like `base`; the same each time for the same `what`
 * and base: the host's array of a buffer want_y and the wanted values of a buffer y_host are two
 * things. */
Name cuda_names_made(CudaNames *n, const char *what, const char *base);

#endif
