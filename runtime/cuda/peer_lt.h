/* peer_lt.h - Runs a matmul with a bias and an activation, in one routine of cuBLASLt. */
#ifndef TIRC_RUNTIME_CUDA_PEER_LT_H
#define TIRC_RUNTIME_CUDA_PEER_LT_H

#include "runtime/cuda/cuda.h"
#include "runtime/peer.h"

/* One matrix as cuBLAS sees it, columns first: the transpose of the row-major one. */
typedef struct {
    void *data;
    int op; /* cublasOperation_t, of cuBLAS' matrix */
    int64_t rows, columns;
} LtMatrix;

/* c = b * a in cuBLAS' order, plus `bias` along its rows, max 0 with `relu`, all f32. */
typedef struct {
    LtMatrix b, a, c;
    const void *bias;
    bool relu;
} LtTask;

typedef struct LtProduct LtProduct;
/* NULL after E0640 or E0641. */
LtProduct *lt_open(CudaDevice *d, const LtTask *task);
bool lt_run(LtProduct *p);
void lt_close(LtProduct *p);

#endif
