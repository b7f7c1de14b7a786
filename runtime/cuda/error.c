/* error.c - Explains error codes of the CUDA runtime to users of tirc. */
#include "runtime/cuda/cuda.h"

typedef struct {
    int status;
    ErrorCode code;
    bool lost; /* the process cannot use the GPU any more */
    const char *advice;
} StatusText;

#define RUN_ON_SIM "run the same command with --device sim, which finds the access and names it"

static const StatusText STATUS_TEXTS[] = {
    {CUDA_ERROR_MEMORY, E0614, false,
     "other programs may use the GPU's memory (nvidia-smi lists them); choose smaller sizes"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_MISALIGNED, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_ADDRESS_SPACE, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_PC, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_STACK, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_INSTRUCTION, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_ASSERT, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_LAUNCH, E0615, true, RUN_ON_SIM},
    {CUDA_ERROR_TIMEOUT, E0615, true,
     "the kernel exceeded the driver's time limit for a GPU with a display; choose smaller sizes"},
    {CUDA_ERROR_RESOURCES, E0617, false,
     "the threads need more registers than a multiprocessor has; bind fewer threads, or compute "
     "less in each"},
    {CUDA_ERROR_CONFIGURATION, E0617, false,
     "the grid, the block or its shared memory exceeds the limits of the GPU"},
    {CUDA_ERROR_NO_IMAGE, E0619, false, "omit --arch to compile for this GPU"},
    {CUDA_ERROR_UNAVAILABLE, E0616, false,
     "another process uses the GPU exclusively (compute mode)"},
};

static const StatusText *find_status(int status)
{
    static const StatusText other = {0, E0616, false, NULL};
    for (size_t i = 0; i < sizeof STATUS_TEXTS / sizeof *STATUS_TEXTS; i++)
        if (STATUS_TEXTS[i].status == status)
            return &STATUS_TEXTS[i];
    return &other;
}

bool cuda_check(CudaDevice *d, int status, const char *call)
{
    if (status == CUDA_OK)
        return true;
    const CudartApi *rt = &d->api.rt;
    const StatusText *text = find_status(status);
    (void)rt->cudaGetLastError(); /* not for the next user of CUDA in this process to find */
    diag_error(d->base.ctx, text->code, span_none(), "'%s' failed on '%s': %s (%s)", call,
               d->base.info.name, rt->cudaGetErrorString(status), rt->cudaGetErrorName(status));
    if (d->lost)
        diag_note(d->base.ctx, span_none(),
                  "an earlier kernel failed, so this process can no longer use the GPU");
    else if (text->advice)
        diag_note(d->base.ctx, span_none(), "%s", text->advice);
    d->lost = d->lost || text->lost;
    return false;
}

void cuda_check_release(CudaDevice *d, int status, const char *call)
{
    if (!d->lost)
        (void)cuda_check(d, status, call);
}

void cuda_refuse_alloc(CudaDevice *d, size_t bytes)
{
    const double mib = 1 << 20;
    size_t unused = 0, total = 0;
    (void)d->api.rt.cudaGetLastError();
    if (d->api.rt.cudaMemGetInfo(&unused, &total) == CUDA_OK)
        diag_error(d->base.ctx, E0614, span_none(),
                   "cannot allocate %.1f MiB on '%s': %.1f of its %.1f MiB are free",
                   (double)bytes / mib, d->base.info.name, (double)unused / mib,
                   (double)total / mib);
    else
        diag_error(d->base.ctx, E0614, span_none(), "cannot allocate %.1f MiB on '%s'",
                   (double)bytes / mib, d->base.info.name);
    diag_note(d->base.ctx, span_none(), "%s", find_status(CUDA_ERROR_MEMORY)->advice);
}

/* The driver is older than the runtime, or there is none. */
static void refuse_driver(Context *ctx, const CudartApi *rt)
{
    int driver = 0, runtime = 0;
    (void)rt->cudaRuntimeGetVersion(&runtime);
    if (rt->cudaDriverGetVersion(&driver) == CUDA_OK && driver > 0)
        diag_error(ctx, E0612, span_none(),
                   "the NVIDIA driver supports CUDA up to %d.%d, but '%s' is the runtime of CUDA "
                   "%d.%d; update the driver, or name an older libcudart in $TIRC_CUDART; --device "
                   "sim works without a GPU",
                   driver / 1000, driver % 1000 / 10, rt->path, runtime / 1000,
                   runtime % 1000 / 10);
    else
        diag_error(
            ctx, E0612, span_none(),
            "there is no NVIDIA driver (libcuda.so.1) on this machine; --device sim runs the "
            "same kernel without a GPU");
}

void cuda_refuse_open(Context *ctx, const CudartApi *rt, int status)
{
    (void)rt->cudaGetLastError();
    switch (status) {
    case CUDA_ERROR_OLD_DRIVER:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_DRIVER_MISMATCH: refuse_driver(ctx, rt); return;
    case CUDA_ERROR_NO_DEVICE:
        diag_error(ctx, E0613, span_none(),
                   "the NVIDIA driver lists no GPU ($CUDA_VISIBLE_DEVICES can hide them); --device "
                   "sim runs the same kernel without one");
        return;
    default:
        diag_error(ctx, E0616, span_none(),
                   "CUDA does not start: %s (%s); --device sim works without it",
                   rt->cudaGetErrorString(status), rt->cudaGetErrorName(status));
    }
}
