/* cuda.h - Emits readable CUDA C from a lowered kernel.
 *
 * One __global__ function for each launch, in order, self-contained: no header is included, so
 * NVRTC and nvcc compile it alike. 16- and 8-bit floats are stored as integers and computed in f32,
 * each operation rounded to its type, by small helper functions that are emitted where they are
 * used. */
#ifndef TIRC_CODEGEN_CUDA_CUDA_H
#define TIRC_CODEGEN_CUDA_CUDA_H

#include "ir/ir.h"

/* The origin of each line of a text; none for lines outside of launches: comments, helper
 * functions. */
typedef VEC(Origin) LineOrigins;

/* The kernels of `lowered` with a comment that says how to launch them, appended to `out`; where
 * their lines come from, appended to `lines` (may be NULL). */
void cuda_emit(Context *c, const Kernel *lowered, StrBuf *out, LineOrigins *lines);

/* `text` as it may stand in a comment to the end of a line, or in the name of a file: one line of
 * UTF-8 that shows what it is. A backslash at its end, which would make the next line a part of the
 * comment, gets company. */
const char *cuda_comment(Context *c, const char *text);

/* The kernels and references of a complete program. */
typedef struct {
    const Kernel *lowered;
    const Kernel *expected; /* reference_kernel of the unscheduled program */
    const Kernel *exact;    /* reference_kernel_exact; NULL: the program rounds nothing */
} CuKernels;

/* A complete program for nvcc: `kernels`, the text of cuda_emit, and a host main that fills the
 * inputs, launches, compares with the references, and exits 0 when no element is wrong. Symbolic
 * sizes are command-line arguments. */
void cu_emit(Context *c, const CuKernels *k, const char *kernels, StrBuf *out);

#endif
