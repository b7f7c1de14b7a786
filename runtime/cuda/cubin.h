/* cubin.h - what machine code says about a kernel: its registers and its stack. */
#ifndef TIRC_RUNTIME_CUDA_CUBIN_H
#define TIRC_RUNTIME_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    int registers;   /* of a thread */
    int stack_bytes; /* of a thread: spilled registers, and arrays that are not in registers */
} CubinKernel;

/* Reads them for the kernel `name` from an image that NVRTC made: records of its section .nv.info,
 * which the ELF file of every architecture since compute capability 5.0 has.  False where the image
 * does not say. */
bool cubin_kernel(const void *image, size_t bytes, const char *name, CubinKernel *out);

#endif
