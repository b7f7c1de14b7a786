/* reference.h - plain C for every kernel of examples/polybench (reference.inc), in double and in
 * float. */
#ifndef TIRC_TESTS_POLYBENCH_REFERENCE_H
#define TIRC_TESTS_POLYBENCH_REFERENCE_H

#include <stdint.h>

/* n: sizes in the order of the kernel's header; b: its buffers in the order of its parameters.
 * Scalars are 0.25, 1.25. */
typedef void ReferenceFn(const int64_t *n, void *const *b);

enum { POLYBENCH_SIZES = 5 };

typedef struct {
    const char *name;       /* of the file: "2mm" */
    ReferenceFn *f64, *f32; /* the same function where the kernel has no element type */
    int64_t mini[POLYBENCH_SIZES], small[POLYBENCH_SIZES]; /* the data sets of PolyBench/C 4.2 */
    const char *dominant; /* a matrix that needs a dominant diagonal, or NULL */
} Reference;

const Reference *reference_table(int *n);

#endif
