/* contraction.h - Recognizes a program that is one matmul, so that a library routine can be
 * compared with it. */
#ifndef TIRC_PASSES_ANALYSIS_REGIONS_CONTRACTION_H
#define TIRC_PASSES_ANALYSIS_REGIONS_CONTRACTION_H

#include "ir/ir.h"

/* C[b.., i, j] = sum over k of A[b.., i, k] * B[b.., k, j], with the last two axes of each in
 * either order. */
typedef struct {
    const Buffer *a, *b, *c;
    bool a_transposed;   /* its last axes are [k, i] */
    bool b_transposed;   /* [j, k] */
    bool c_transposed;   /* [j, i] */
    int n_batch;         /* axes before the last two, the same in all three */
    DType type;          /* of the sums */
    bool a_tf32, b_tf32; /* elements are rounded to TF32 */
    const Buffer *bias;  /* [j], added to each row of the result; NULL: none */
    bool relu;           /* then what is below 0 becomes 0 */
} Contraction;

/* The same of one block, which is in a program of its own or among others, and may cast the
 * elements that it multiplies, or round them to TF32. */
bool contraction_of_block(Context *c, const BlockStmt *block, Contraction *out, const char **why);
/* Decides by subscripts: one reduction block whose iterators, each alone, are the subscripts and
 * run over the whole of the axes; and perhaps one more, C[i, j] = max(sum[i, j] + bias[j], 0), with
 * or without the max, or one that casts each sum to the type of c. Both operands have one type.
 * Else false, with what is different in words. */
bool contraction_of(Context *c, const Kernel *program, Contraction *out, const char **why);

#endif
