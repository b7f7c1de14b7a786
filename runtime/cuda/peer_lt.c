/* peer_lt.c - see peer_lt.h. The algorithm is the first that cuBLASLt's heuristic names, as a user
 * would take it. */
#include "runtime/cuda/peer_lt.h"

/* Of cublasLt.h and library_types.h, whose values are part of the binary interface. */
enum { COMPUTE_32F = 68, REAL_32F = 0 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS_POINTER = 8 };
enum { EPILOGUE_BIAS = 4, EPILOGUE_RELU_BIAS = 6, PREFERENCE_MAX_WORKSPACE = 1 };
enum { WORKSPACE_BYTES = 32 << 20 };

struct LtProduct {
    CudaDevice *d;
    CublasLtApi api;
    void *handle, *desc, *preference, *layout[3];
    LtMatrix matrix[3]; /* b, a, c */
    CublasLtAlgorithm found;
    DevicePtr workspace;
};

static bool check(LtProduct *p, int status, const char *call)
{
    if (status == 0)
        return true;
    diag_error(p->d->base.ctx, E0641, span_none(),
               "%s of '%s' failed with status %d (cublasStatus_t)", call, p->api.path, status);
    return false;
}

#define LT_TRY(p, name, ...) check(p, (p)->api.name(__VA_ARGS__), #name)

static bool set_attribute(LtProduct *p, int attribute, const void *value, size_t bytes)
{
    return LT_TRY(p, cublasLtMatmulDescSetAttribute, p->desc, attribute, value, bytes);
}

static bool describe(LtProduct *p, const void *bias, bool relu)
{
    int epilogue = relu ? EPILOGUE_RELU_BIAS : EPILOGUE_BIAS;
    bool ok = LT_TRY(p, cublasLtMatmulDescCreate, &p->desc, COMPUTE_32F, REAL_32F) &&
              set_attribute(p, DESC_TRANSA, &p->matrix[0].op, sizeof p->matrix[0].op) &&
              set_attribute(p, DESC_TRANSB, &p->matrix[1].op, sizeof p->matrix[1].op) &&
              set_attribute(p, DESC_EPILOGUE, &epilogue, sizeof epilogue) &&
              set_attribute(p, DESC_BIAS_POINTER, &bias, sizeof bias);
    for (int i = 0; i < 3 && ok; i++)
        ok = LT_TRY(p, cublasLtMatrixLayoutCreate, &p->layout[i], REAL_32F,
                    (uint64_t)p->matrix[i].rows, (uint64_t)p->matrix[i].columns, p->matrix[i].rows);
    return ok;
}

static bool choose(LtProduct *p)
{
    size_t most = WORKSPACE_BYTES;
    int n = 0;
    if (!LT_TRY(p, cublasLtMatmulPreferenceCreate, &p->preference) ||
        !LT_TRY(p, cublasLtMatmulPreferenceSetAttribute, p->preference, PREFERENCE_MAX_WORKSPACE,
                &most, sizeof most) ||
        !LT_TRY(p, cublasLtMatmulAlgoGetHeuristic, p->handle, p->desc, p->layout[0], p->layout[1],
                p->layout[2], p->layout[2], p->preference, 1, &p->found, &n))
        return false;
    if (n < 1)
        diag_error(p->d->base.ctx, E0641, span_none(),
                   "'%s' has no algorithm for this matmul with a bias", p->api.path);
    return n >= 1;
}

LtProduct *lt_open(CudaDevice *d, const LtTask *task)
{
    LtProduct *p = ARENA_NEW(d->base.ctx->arena, LtProduct);
    *p = (LtProduct){.d = d, .matrix = {task->b, task->a, task->c}};
    p->workspace = d->base.ops->alloc(&d->base, WORKSPACE_BYTES);
    if (p->workspace && cublaslt_load(d->base.ctx, &p->api) &&
        LT_TRY(p, cublasLtCreate, &p->handle) && describe(p, task->bias, task->relu) && choose(p))
        return p;
    lt_close(p);
    return NULL;
}

bool lt_run(LtProduct *p)
{
    float one = 1, zero = 0;
    return LT_TRY(p, cublasLtMatmul, p->handle, p->desc, &one, p->matrix[0].data, p->layout[0],
                  p->matrix[1].data, p->layout[1], &zero, p->matrix[2].data, p->layout[2],
                  p->matrix[2].data, p->layout[2], p->found.algorithm,
                  (void *)(uintptr_t)p->workspace, WORKSPACE_BYTES, p->d->stream);
}

void lt_close(LtProduct *p)
{
    if (!p)
        return;
    for (int i = 0; i < 3; i++)
        if (p->layout[i])
            (void)p->api.cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p->preference)
        (void)p->api.cublasLtMatmulPreferenceDestroy(p->preference);
    if (p->desc)
        (void)p->api.cublasLtMatmulDescDestroy(p->desc);
    if (p->handle)
        (void)p->api.cublasLtDestroy(p->handle);
    if (p->workspace)
        p->d->base.ops->free(&p->d->base, p->workspace);
    *p = (LtProduct){.d = p->d};
}
