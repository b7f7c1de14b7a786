/* cuda.h - Declares the CUDA device (internal to runtime). */
#ifndef TIRC_RUNTIME_CUDA_CUDA_H
#define TIRC_RUNTIME_CUDA_CUDA_H

#include "runtime/cache.h"
#include "runtime/cuda/api.h"
#include "runtime/device.h"

typedef struct {
    Device base;
    CudaApi api;
    Cache cache;
    int ordinal;
    bool lost; /* a kernel failed: every later call of this process on this GPU fails, too */
    void *stream;
    void *marks[2];
    void *flush; /* memory that flush_l2 overwrites, or NULL */
    size_t flush_bytes;
} CudaDevice;

/* Opens the device with functions that were loaded already; with those of api->nvrtc missing, NVRTC
 * is looked for when it is needed.  Tests pass tables of their own. */
Device *cuda_open_with(Context *ctx, const DeviceOptions *options, const CudaApi *api);

/* ---- error.c --------------------------------------------------------------------------------- */

/* True when `status` is success; else false after the diagnostic of a call of the CUDA runtime. */
bool cuda_check(CudaDevice *d, int status, const char *call);
/* The same for calls that release memory: silent if the device is lost, which was reported
 * before. */
void cuda_check_release(CudaDevice *d, int status, const char *call);
/* The diagnostic of a cudaMalloc of `bytes` that found no room. */
void cuda_refuse_alloc(CudaDevice *d, size_t bytes);
/* The diagnostic of a status before there is a device: no driver, no GPU. */
void cuda_refuse_open(Context *ctx, const CudartApi *rt, int status);

#define CUDA_TRY(d, name, ...)     cuda_check((d), (d)->api.rt.name(__VA_ARGS__), #name)
#define CUDA_RELEASE(d, name, ...) cuda_check_release((d), (d)->api.rt.name(__VA_ARGS__), #name)

/* ---- launch.c: DeviceOps --------------------------------------------------------------------- */

LoadedModule *cuda_load(Device *device, const Module *module);
void cuda_unload(Device *device, LoadedModule *loaded);
bool cuda_run(Device *device, LoadedModule *loaded, const RunArguments *args);

#endif
