/* peer.c - Runs cuBLAS and cudaMemcpy as peers.
 *
 * cuBLAS counts columns first. A row-major matrix is its transpose there, so c = a b is computed as
 * c' = b' a'. Products in f32 use no tensor cores, unless the program rounds to TF32 itself. */
#include "runtime/peer.h"

#include <string.h>

#include "runtime/cuda/cuda.h"
#include "runtime/cuda/peer_lt.h"

struct LibraryPeer {
    CudaDevice *d;
    PeerTask task;
    const Workload *w;
    CublasApi api;
    void *handle;  /* of cuBLAS, or NULL */
    LtProduct *lt; /* of a product with a bias, or NULL */
};

enum { NOT_TRANSPOSED = 0, TRANSPOSED = 1 }; /* cublasOperation_t */

static void *buffer_of(const LibraryPeer *p, int buffer)
{
    return (void *)(uintptr_t)workload_arguments(p->w)->buffers[buffer];
}

static bool check(LibraryPeer *p, int status, const char *call)
{
    if (status == 0)
        return true;
    diag_error(p->d->base.ctx, E0641, span_none(),
               "%s of '%s' failed with status %d (cublasStatus_t)", call, p->api.path, status);
    return false;
}

/* A matrix as cuBLAS takes it: its operation, the distance between columns, and between
 * matrices. */
typedef struct {
    void *data;
    int op, distance;
    long long stride;
} Operand;

static Operand operand(const LibraryPeer *p, PeerMatrix m, int64_t rows, int64_t columns)
{
    return (Operand){buffer_of(p, m.buffer), m.transposed ? TRANSPOSED : NOT_TRANSPOSED,
                     (int)(m.transposed ? rows : columns), rows * columns};
}

/* cudaDataType of library_types.h. */
static int data_type(DType type)
{
    switch (type) {
    case DT_F64: return 1;
    case DT_F16: return 2;
    case DT_I8: return 3;
    case DT_I32: return 10;
    case DT_BF16: return 14;
    default: return 0; /* CUDA_R_32F */
    }
}

/* cublasComputeType_t */
static int compute_type(const PeerProduct *x)
{
    enum { COMPUTE_32F = 68, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };
    return x->types.sums == DT_I32 ? COMPUTE_32I : x->tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
}

/* Products with sums of another type than the operands', or in TF32. */
static bool multiply_mixed(LibraryPeer *p, const PeerProduct *x)
{
    enum { ALGORITHM_DEFAULT = -1 };
    bool integers = x->types.sums == DT_I32;
    const void *one = integers ? (const void *)&(int32_t){1} : &(float){1};
    const void *zero = integers ? (const void *)&(int32_t){0} : &(float){0};
    Operand a = operand(p, x->a, x->rows, x->depth), b = operand(p, x->b, x->depth, x->columns);
    Operand c = operand(p, x->c, x->rows, x->columns);
    int m = (int)x->columns, n = (int)x->rows, k = (int)x->depth;
    int in = data_type(x->types.operands), out = data_type(x->types.result);
    int sums = compute_type(x);
    if (x->batch > 1)
        return check(p,
                     p->api.cublasGemmStridedBatchedEx(
                         p->handle, b.op, a.op, m, n, k, one, b.data, in, b.distance, b.stride,
                         a.data, in, a.distance, a.stride, zero, c.data, out, c.distance, c.stride,
                         (int)x->batch, sums, ALGORITHM_DEFAULT),
                     "cublasGemmStridedBatchedEx");
    return check(p,
                 p->api.cublasGemmEx(p->handle, b.op, a.op, m, n, k, one, b.data, in, b.distance,
                                     a.data, in, a.distance, zero, c.data, out, c.distance, sums,
                                     ALGORITHM_DEFAULT),
                 "cublasGemmEx");
}

/* c' = b' a' with rows first is c with its last axes in the other order. */
static PeerProduct with_rows_first(PeerProduct x)
{
    if (!x.c.transposed)
        return x;
    PeerProduct turned = x;
    turned.a = (PeerMatrix){x.b.buffer, !x.b.transposed};
    turned.b = (PeerMatrix){x.a.buffer, !x.a.transposed};
    turned.rows = x.columns;
    turned.columns = x.rows;
    turned.c.transposed = false;
    return turned;
}

static bool multiply(LibraryPeer *p)
{
    PeerProduct x = with_rows_first(p->task.product);
    if (x.types.sums != x.types.operands || x.tf32)
        return multiply_mixed(p, &x);
    Operand a = operand(p, x.a, x.rows, x.depth), b = operand(p, x.b, x.depth, x.columns);
    Operand c = operand(p, x.c, x.rows, x.columns);
    int m = (int)x.columns, n = (int)x.rows, k = (int)x.depth, batch = (int)x.batch;
    if (x.types.sums == DT_F64) {
        double one = 1, zero = 0;
        return check(p,
                     p->api.cublasDgemmStridedBatched(
                         p->handle, b.op, a.op, m, n, k, &one, b.data, b.distance, b.stride, a.data,
                         a.distance, a.stride, &zero, c.data, c.distance, c.stride, batch),
                     "cublasDgemmStridedBatched");
    }
    float one = 1, zero = 0;
    if (batch > 1)
        return check(p,
                     p->api.cublasSgemmStridedBatched(
                         p->handle, b.op, a.op, m, n, k, &one, b.data, b.distance, b.stride, a.data,
                         a.distance, a.stride, &zero, c.data, c.distance, c.stride, batch),
                     "cublasSgemmStridedBatched");
    return check(p,
                 p->api.cublasSgemm_v2(p->handle, b.op, a.op, m, n, k, &one, b.data, b.distance,
                                       a.data, a.distance, &zero, c.data, c.distance),
                 "cublasSgemm");
}

bool peer_is_comparable(const LibraryPeer *p)
{
    return (p->handle || p->lt) && !p->task.product.tf32;
}

bool peer_run(LibraryPeer *p)
{
    enum { DEVICE_TO_DEVICE = 3 }; /* cudaMemcpyKind */
    if (!CUDA_TRY(p->d, cudaSetDevice, p->d->ordinal))
        return false;
    if (p->lt)
        return lt_run(p->lt);
    if (p->handle)
        return multiply(p);
    return CUDA_TRY(p->d, cudaMemcpyAsync, buffer_of(p, p->task.to), buffer_of(p, p->task.from),
                    (size_t)p->task.bytes, DEVICE_TO_DEVICE, p->d->stream);
}

/* The last axis of what is in memory are cuBLAS' rows. */
static LtMatrix lt_matrix(const LibraryPeer *p, PeerMatrix m, int64_t rows, int64_t columns)
{
    return (LtMatrix){buffer_of(p, m.buffer), m.transposed ? TRANSPOSED : NOT_TRANSPOSED,
                      m.transposed ? rows : columns, m.transposed ? columns : rows};
}

static bool open_lt(LibraryPeer *p)
{
    const PeerProduct *x = &p->task.product;
    if (!CUDA_TRY(p->d, cudaSetDevice, p->d->ordinal))
        return false;
    LtTask task = {.b = lt_matrix(p, x->b, x->depth, x->columns),
                   .a = lt_matrix(p, x->a, x->rows, x->depth),
                   .c = lt_matrix(p, x->c, x->rows, x->columns),
                   .bias = buffer_of(p, x->bias),
                   .relu = x->relu};
    p->lt = lt_open(p->d, &task);
    return p->lt != NULL;
}

static bool open_cublas(LibraryPeer *p)
{
    const PeerProduct *x = &p->task.product;
    if (x->rows > INT32_MAX || x->columns > INT32_MAX || x->depth > INT32_MAX ||
        x->batch > INT32_MAX) {
        diag_error(p->d->base.ctx, E0641, span_none(), "cuBLAS takes sizes up to 2147483647");
        return false;
    }
    return x->bias >= 0 ? open_lt(p)
                        : cublas_load(p->d->base.ctx, &p->api) &&
                              CUDA_TRY(p->d, cudaSetDevice, p->d->ordinal) &&
                              check(p, p->api.cublasCreate_v2(&p->handle), "cublasCreate") &&
                              check(p, p->api.cublasSetStream_v2(p->handle, p->d->stream),
                                    "cublasSetStream");
}

static const char *const names[PEER_KINDS] = {[PEER_CUBLAS] = "cublas", [PEER_MEMCPY] = "memcpy"};

const char *peer_name(PeerKind kind)
{
    return names[kind];
}

PeerKind peer_find(const char *name)
{
    PeerKind kind = 0;
    while (kind < PEER_KINDS && strcmp(names[kind], name) != 0)
        kind++;
    return kind;
}

LibraryPeer *peer_open(Device *d, const PeerTask *task, const Workload *w)
{
    if (d->info.kind != DEVICE_CUDA) {
        diag_error(d->ctx, E0640, span_none(),
                   "'%s' needs a GPU, and this is the simulator; use --device cuda",
                   peer_name(task->kind));
        return NULL;
    }
    LibraryPeer *p = ARENA_NEW(d->ctx->arena, LibraryPeer);
    *p = (LibraryPeer){.d = (CudaDevice *)d, .task = *task, .w = w};
    if (task->kind != PEER_CUBLAS || open_cublas(p))
        return p;
    peer_close(p);
    return NULL;
}

void peer_close(LibraryPeer *p)
{
    if (p && p->handle)
        (void)p->api.cublasDestroy_v2(p->handle);
    if (p) {
        lt_close(p->lt);
        p->lt = NULL;
        p->handle = NULL;
    }
}
