/* cuda.c - Implements the CUDA device: memory, order and time on one GPU, through the CUDA runtime.
 *
 * Everything is queued on one stream, so a run may be asynchronous while reads and writes, which
 * wait for it, stay in order. One thread uses a device at a time; a process may have several. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static CudaDevice *of(Device *device)
{
    return (CudaDevice *)device;
}

static void *address(DevicePtr p)
{
    return (void *)(uintptr_t)p;
}

/* The runtime's current device belongs to the thread, not to us. */
static bool select_device(CudaDevice *d)
{
    return CUDA_TRY(d, cudaSetDevice, d->ordinal);
}

static DevicePtr cuda_alloc(Device *device, size_t bytes)
{
    CudaDevice *d = of(device);
    void *p = NULL;
    if (!select_device(d))
        return 0;
    int status = d->api.rt.cudaMalloc(&p, bytes ? bytes : 1); /* 0 bytes would give no address */
    if (status == CUDA_ERROR_MEMORY && !d->lost)
        cuda_refuse_alloc(d, bytes);
    else
        (void)cuda_check(d, status, "cudaMalloc");
    return status == CUDA_OK ? (DevicePtr)(uintptr_t)p : 0;
}

static void cuda_free(Device *device, DevicePtr p)
{
    CudaDevice *d = of(device);
    CUDA_RELEASE(d, cudaSetDevice, d->ordinal);
    if (p)
        CUDA_RELEASE(d, cudaFree, address(p));
}

static bool cuda_sync(Device *device)
{
    CudaDevice *d = of(device);
    return select_device(d) && CUDA_TRY(d, cudaStreamSynchronize, d->stream);
}

static void cuda_use_stream(Device *device, void **stream)
{
    CudaDevice *d = of(device);
    void *before = d->stream;
    d->stream = *stream;
    *stream = before;
}

/* Waits, so that the caller's memory is free again. */
static bool copy(CudaDevice *d, void *to, const void *from, size_t bytes, int kind)
{
    return bytes == 0 ||
           (select_device(d) && CUDA_TRY(d, cudaMemcpyAsync, to, from, bytes, kind, d->stream) &&
            CUDA_TRY(d, cudaStreamSynchronize, d->stream));
}

static bool cuda_write(Device *device, DevicePtr to, const void *from, size_t bytes)
{
    return copy(of(device), address(to), from, bytes, CUDA_TO_DEVICE);
}

static bool cuda_read(Device *device, void *to, DevicePtr from, size_t bytes)
{
    return copy(of(device), to, address(from), bytes, CUDA_TO_HOST);
}

static bool cuda_fill(Device *device, DevicePtr to, int byte, size_t bytes)
{
    CudaDevice *d = of(device);
    return bytes == 0 ||
           (select_device(d) && CUDA_TRY(d, cudaMemsetAsync, address(to), byte, bytes, d->stream));
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool cuda_mark(Device *device, int which)
{
    CudaDevice *d = of(device);
    return select_device(d) && CUDA_TRY(d, cudaEventRecord, d->marks[which != 0], d->stream);
}

static bool cuda_elapsed(Device *device, double *ms)
{
    CudaDevice *d = of(device);
    float elapsed = 0;
    if (!select_device(d) || !CUDA_TRY(d, cudaEventSynchronize, d->marks[1]) ||
        !CUDA_TRY(d, cudaEventElapsedTime, &elapsed, d->marks[0], d->marks[1]))
        return false;
    *ms = (double)elapsed;
    return true;
}

/* Writes twice the size of the L2 cache, to flush it. */
static bool cuda_flush_l2(Device *device)
{
    CudaDevice *d = of(device);
    if (!d->flush) {
        d->flush_bytes = 2 * (size_t)d->base.info.l2_bytes;
        d->flush = address(cuda_alloc(device, d->flush_bytes));
    }
    return d->flush && cuda_fill(device, (DevicePtr)(uintptr_t)d->flush, 0, d->flush_bytes);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void cuda_close(Device *device)
{
    CudaDevice *d = of(device);
    if (d->stream)
        CUDA_RELEASE(d, cudaSetDevice, d->ordinal);
    for (int i = 0; i < 2; i++)
        if (d->marks[i])
            CUDA_RELEASE(d, cudaEventDestroy, d->marks[i]);
    if (d->flush)
        CUDA_RELEASE(d, cudaFree, d->flush);
    if (d->stream)
        CUDA_RELEASE(d, cudaStreamDestroy, d->stream);
    cache_close(&d->cache);
    free(d);
}

static const DeviceOps CUDA_OPS = {
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .write = cuda_write,
    .read = cuda_read,
    .fill = cuda_fill,
    .load = cuda_load,
    .unload = cuda_unload,
    .run = cuda_run,
    .sync = cuda_sync,
    .use_stream = cuda_use_stream,
    .mark = cuda_mark,
    .elapsed = cuda_elapsed,
    .flush_l2 = cuda_flush_l2,
};

static bool read_attribute(CudaDevice *d, int attribute, int *value)
{
    return CUDA_TRY(d, cudaDeviceGetAttribute, value, attribute, d->ordinal);
}

/* The name comes from the driver, because the runtime gives it only in a struct that changes from
 * version to version. */
static void read_name(CudaDevice *d)
{
    const DriverApi *driver = &d->api.driver;
    int handle = 0;
    snprintf(d->base.info.name, sizeof d->base.info.name, "CUDA device %d", d->ordinal);
    if (driver->cuDeviceGet && driver->cuDeviceGetName &&
        driver->cuDeviceGet(&handle, d->ordinal) == 0)
        (void)driver->cuDeviceGetName(d->base.info.name, (int)sizeof d->base.info.name, handle);
}

static bool choose_arch(CudaDevice *d, const char *given)
{
    DeviceInfo *info = &d->base.info;
    int major = 0, minor = 0;
    if (!read_attribute(d, CUDA_ATTR_MAJOR, &major) || !read_attribute(d, CUDA_ATTR_MINOR, &minor))
        return false;
    /* sm_90a has Hopper's tensor cores and runs on nothing else; the other plain names have all
     * that is used. */
    snprintf(info->arch, sizeof info->arch, "sm_%d%d%s", major, minor,
             major == 9 && minor == 0 ? "a" : "");
    if (given && strlen(given) >= sizeof info->arch) {
        diag_error(d->base.ctx, E0606, span_none(),
                   "'%s' is not a GPU architecture; that of this GPU is '%s'", given, info->arch);
        return false;
    }
    if (given)
        strcpy(info->arch, given);
    info->capability = 10 * major + minor;
    return true;
}

/* The attributes that an analysis needs. */
static bool read_profile(CudaDevice *d)
{
    DeviceInfo *info = &d->base.info;
    int shared = 0;
    const struct {
        int attribute, *value;
    } wanted[] = {
        {CUDA_ATTR_MEMORY_CLOCK_KHZ, &info->memory_clock_khz},
        {CUDA_ATTR_MEMORY_BUS_BITS, &info->memory_bus_bits},
        {CUDA_ATTR_MULTIPROCESSOR_THREADS, &info->threads_per_multiprocessor},
        {CUDA_ATTR_MULTIPROCESSOR_BLOCKS, &info->blocks_per_multiprocessor},
        {CUDA_ATTR_MULTIPROCESSOR_REGISTERS, &info->registers_per_multiprocessor},
        {CUDA_ATTR_SHARED_RESERVED, &info->shared_reserved_per_block},
        {CUDA_ATTR_MULTIPROCESSOR_SHARED, &shared},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!read_attribute(d, wanted[i].attribute, wanted[i].value))
            return false;
    info->shared_per_multiprocessor = shared;
    return true;
}

static bool read_info(CudaDevice *d, const char *arch)
{
    DeviceInfo *info = &d->base.info;
    int l2 = 0, shared = 0;
    size_t unused = 0, total = 0;
    info->kind = DEVICE_CUDA;
    if (!choose_arch(d, arch) ||
        !read_attribute(d, CUDA_ATTR_MULTIPROCESSORS, &info->multiprocessors) ||
        !read_attribute(d, CUDA_ATTR_CLOCK_KHZ, &info->clock_khz) ||
        !read_attribute(d, CUDA_ATTR_WARP_SIZE, &info->warp_size) ||
        !read_attribute(d, CUDA_ATTR_L2_BYTES, &l2) ||
        !read_attribute(d, CUDA_ATTR_SHARED_OPTIN, &shared) ||
        !CUDA_TRY(d, cudaMemGetInfo, &unused, &total))
        return false;
    info->l2_bytes = l2;
    info->max_shared_per_block = shared;
    info->memory_bytes = (int64_t)total;
    return read_profile(d);
}

static bool check_ordinal(Context *ctx, const CudartApi *rt, int ordinal)
{
    int count = 0;
    int status = rt->cudaGetDeviceCount(&count);
    if (status == CUDA_OK && count <= 0)
        status = CUDA_ERROR_NO_DEVICE;
    if (status != CUDA_OK) {
        cuda_refuse_open(ctx, rt, status);
        return false;
    }
    if (ordinal < 0 || ordinal >= count) {
        diag_error(ctx, E0613, span_none(),
                   "unknown GPU number %d; the driver lists %d, numbered from 0", ordinal, count);
        return false;
    }
    return true;
}

Device *cuda_open_with(Context *ctx, const DeviceOptions *options, const CudaApi *api)
{
    if (!check_ordinal(ctx, &api->rt, options->ordinal))
        return NULL;
    CudaDevice *d = calloc(1, sizeof *d);
    if (!d) {
        diag_error(ctx, E0600, span_none(), "out of memory while opening a device");
        return NULL;
    }
    d->base.ops = &CUDA_OPS;
    d->base.ctx = ctx;
    d->api = *api;
    d->ordinal = options->ordinal;
    read_name(d);
    if (select_device(d) && read_info(d, options->arch) &&
        CUDA_TRY(d, cudaStreamCreateWithFlags, &d->stream, CUDA_STREAM_NON_BLOCKING) &&
        CUDA_TRY(d, cudaEventCreate, &d->marks[0]) && CUDA_TRY(d, cudaEventCreate, &d->marks[1])) {
        cache_open(&d->cache, options->cache_dir);
        return &d->base;
    }
    cuda_close(&d->base);
    return NULL;
}

Device *device_open_cuda(Context *ctx, const DeviceOptions *options)
{
    CudaApi api = {0};
    if (!cudart_load(ctx, &api.rt))
        return NULL;
    (void)driver_load(&api.driver);
    return cuda_open_with(ctx, options, &api);
}
