/* cu.h - Declares the parts of a complete program's host side (internal to codegen). */
#ifndef TIRC_CODEGEN_CUDA_CU_H
#define TIRC_CODEGEN_CUDA_CU_H

#include "codegen/cuda/text.h"

/* A reference, and the name of its function in the text. */
typedef struct {
    const Kernel *kernel;
    const char *function;
} CuReference;

/* Is it a float of 16 or 8 bits, which the host keeps as bits? */
bool cu_is_narrow(DType type);
/* The host's array of a buffer; the buffer's name is that of the device's. */
const char *cu_host_name(CudaWriter *w, const Buffer *b);
/* A name of something that only the text has. */
const char *cu_made_name(CudaWriter *w, const char *base);
/* The number of a buffer's elements, as text. */
void cu_elements(CudaWriter *w, const Buffer *b);

/* The function that computes a reference. */
void cu_reference(CudaWriter *w, const CuReference *r);
/* Statements that compute the reference for the inputs of a run, and compare its outputs. */
void cu_check(CudaWriter *w, const Kernel *lowered, const CuReference *r);

#endif
