/* cuda_fake.h - a GPU in host memory behind the function tables of runtime/cuda, whose n-th call
 * can be made to fail.
 *
 * It counts what it hands out, so that a test sees leaks; a function that releases does so even
 * when it says that it failed. Its one kernel, "scale", is that of scale_module.h. */
#ifndef TIRC_TESTS_CUDA_FAKE_H
#define TIRC_TESTS_CUDA_FAKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda.h"

typedef struct {
    /* what to do */
    int fail_at; /* the number of the call that fails, from 1; 0: none */
    int failure; /* with this error */
    bool sticky; /* and so does every later one */
    int devices, count_status, driver_version, major, minor, compile_status;
    const char *log; /* of a compilation */
    bool wide;       /* the kernel's indices have 64 bits */
    bool no_maps;    /* the driver makes no tensor maps */
    /* what was seen */
    int calls, live, compiles, launches, max_dynamic;
    float constant[2];  /* the symbol "table" */
    int fills;          /* copies into it */
    const char *failed; /* the function that failed first, or NULL */
    char option[64];
    CudaDim3 grid, block;
    void *stream; /* of the last launch */
    size_t shared, flushed;
    int64_t n, t;  /* of the last launch */
    char map[128]; /* the last tensor map */
} Fake;

/* Launches of more elements than this compute nothing. */
enum { FAKE_ELEMENTS = 1000 };

static Fake fake;

static void fake_reset(void)
{
    fake = (Fake){.failure = 999, .devices = 2, .driver_version = 13000, .major = 9};
}

/* Counts a call; not 0 when it must fail. */
static int tick(const char *name)
{
    fake.calls++;
    bool fails = fake.calls == fake.fail_at ||
                 (fake.sticky && fake.fail_at > 0 && fake.calls > fake.fail_at);
    if (fails && !fake.failed)
        fake.failed = name;
    return fails ? fake.failure : 0;
}
#define TICK()                                                                                     \
    do {                                                                                           \
        int status_ = tick(__func__);                                                              \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

static int take(void **handle, size_t bytes)
{
    *handle = malloc(bytes ? bytes : 1);
    fake.live++;
    return 0;
}

static int release(const char *name, void *handle)
{
    free(handle);
    fake.live--;
    return tick(name);
}

/* ---- cudart ------------------------------------------------------------------------------------
 */

static const char *fake_cudaGetErrorName(int error)
{
    return error == 700 ? "cudaErrorIllegalAddress"
           : error == 2 ? "cudaErrorMemoryAllocation"
                        : "cudaErrorX";
}
static const char *fake_cudaGetErrorString(int error)
{
    return error == 700 ? "an illegal memory access was encountered" : "something failed";
}
static int fake_cudaGetLastError(void)
{
    return 0;
}
static int fake_cudaRuntimeGetVersion(int *version)
{
    TICK();
    *version = 13000;
    return 0;
}
static int fake_cudaDriverGetVersion(int *version)
{
    TICK();
    *version = fake.driver_version;
    return 0;
}
static int fake_cudaGetDeviceCount(int *count)
{
    TICK();
    *count = fake.devices;
    return fake.count_status;
}
static int fake_cudaSetDevice(int device)
{
    TICK();
    return device < fake.devices ? 0 : 101;
}
static int fake_cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    TICK();
    (void)device;
    switch (attribute) {
    case CUDA_ATTR_WARP_SIZE: *value = 32; return 0;
    case CUDA_ATTR_CLOCK_KHZ: *value = 1980000; return 0;
    case CUDA_ATTR_MULTIPROCESSORS: *value = 132; return 0;
    case CUDA_ATTR_L2_BYTES: *value = 1 << 16; return 0;
    case CUDA_ATTR_MAJOR: *value = fake.major; return 0;
    case CUDA_ATTR_MINOR: *value = fake.minor; return 0;
    case CUDA_ATTR_SHARED_OPTIN: *value = 227 * 1024; return 0;
    case CUDA_ATTR_MULTIPROCESSOR_SHARED: *value = 228 * 1024; return 0;
    case CUDA_ATTR_SHARED_RESERVED: *value = 1024; return 0;
    case CUDA_ATTR_MULTIPROCESSOR_THREADS: *value = 2048; return 0;
    case CUDA_ATTR_MULTIPROCESSOR_BLOCKS: *value = 32; return 0;
    case CUDA_ATTR_MULTIPROCESSOR_REGISTERS: *value = 65536; return 0;
    case CUDA_ATTR_MEMORY_CLOCK_KHZ: *value = 3201000; return 0;
    case CUDA_ATTR_MEMORY_BUS_BITS: *value = 6016; return 0;
    default: return 1;
    }
}
static int fake_cudaMemGetInfo(size_t *unused, size_t *total)
{
    TICK();
    *unused = 3u << 20;
    *total = 128u << 20;
    return 0;
}
static int fake_cudaMalloc(void **pointer, size_t bytes)
{
    TICK();
    return bytes > 128u << 20 ? CUDA_ERROR_MEMORY : take(pointer, bytes);
}
static int fake_cudaFree(void *pointer)
{
    return release(__func__, pointer);
}
static int fake_cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    TICK();
    memcpy(to, from, bytes);
    fake.fills += to == (void *)fake.constant;
    return stream && kind >= 1 && kind <= 3 ? 0 : 1;
}
static int fake_cudaMemsetAsync(void *to, int byte, size_t bytes, void *stream)
{
    TICK();
    memset(to, byte, bytes);
    fake.flushed = bytes;
    return stream ? 0 : 1;
}
static int fake_cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    TICK();
    return flags == 1 ? take(stream, 1) : 1;
}
static int fake_cudaStreamSynchronize(void *stream)
{
    TICK();
    return stream ? 0 : 1;
}
static int fake_cudaStreamDestroy(void *stream)
{
    return release(__func__, stream);
}
static int fake_cudaEventCreate(void **event)
{
    TICK();
    return take(event, 1);
}
static int fake_cudaEventRecord(void *event, void *stream)
{
    TICK();
    return event && stream ? 0 : 1;
}
static int fake_cudaEventSynchronize(void *event)
{
    TICK();
    return event ? 0 : 1;
}
static int fake_cudaEventElapsedTime(float *ms, void *begin, void *end)
{
    TICK();
    *ms = 0.25f;
    return begin != end ? 0 : 1;
}
static int fake_cudaEventDestroy(void *event)
{
    return release(__func__, event);
}
static int fake_cudaLibraryLoadData(void **library, const void *code, int *jit_options,
                                    void **jit_values, unsigned n_jit, int *options, void **values,
                                    unsigned n_options)
{
    TICK();
    if (memcmp(code, "image", 5) != 0 || jit_options || jit_values || n_jit || options || values ||
        n_options)
        return 1;
    return take(library, 1);
}
static int fake_cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    TICK();
    *kernel = &fake;
    return library && strcmp(name, "scale") == 0 ? 0 : 500;
}
static int fake_cudaLibraryGetGlobal(void **pointer, size_t *bytes, void *library, const char *name)
{
    TICK();
    *pointer = fake.constant;
    *bytes = sizeof fake.constant;
    return library && strcmp(name, "table") == 0 ? 0 : 500;
}
static int fake_cudaLibraryUnload(void *library)
{
    return release(__func__, library);
}
static int fake_cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    TICK();
    fake.max_dynamic = value;
    return kernel == &fake && attribute == CUDA_FUNC_MAX_DYNAMIC_SHARED ? 0 : 1;
}

/* Notes what a tensor map is made of. */
static int fake_encode(void *map, int type, unsigned rank, void *tensor, const uint64_t *extents,
                       const uint64_t *pitches, const unsigned *box, const unsigned *steps,
                       int interleave, int swizzle, int promotion, int fill)
{
    TICK();
    fake.map[0] = '\0';
    for (unsigned i = 0; i < rank; i++)
        snprintf(fake.map + strlen(fake.map), sizeof fake.map - strlen(fake.map), "%d:%d/%d*%u ",
                 (int)extents[i], (int)pitches[i], (int)steps[i], box[i]);
    snprintf(fake.map + strlen(fake.map), sizeof fake.map - strlen(fake.map), "type %d swizzle %d",
             type, swizzle);
    memset(map, 0, 128);
    return tensor && interleave == 0 && promotion == 2 && fill == 0 ? 0 : 1;
}
static int fake_cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                 unsigned version, unsigned long long flags,
                                                 int *found)
{
    int (*encode)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                  const unsigned *, const unsigned *, int, int, int, int) = fake_encode;
    TICK();
    *found = 0;
    if (!fake.no_maps)
        memcpy(function, &encode, sizeof encode);
    return strcmp(symbol, "cuTensorMapEncodeTiled") == 0 && version == 12000 && flags == 0 ? 0 : 1;
}

static int64_t index_argument(const void *from)
{
    int64_t wide;
    int32_t narrow;
    memcpy(&wide, from, sizeof wide);
    memcpy(&narrow, from, sizeof narrow);
    return fake.wide ? wide : narrow;
}

static int fake_cudaLaunchKernel(const void *kernel, CudaDim3 grid, CudaDim3 block, void **a,
                                 size_t shared, void *stream)
{
    TICK();
    if (kernel != &fake || !stream)
        return 1;
    float *y = *(float **)a[0], alpha = *(float *)a[2];
    const float *x = *(const float **)a[1];
    int64_t threads = (int64_t)grid.x * block.x;
    fake.n = index_argument(a[3]);
    fake.t = index_argument(a[4]);
    for (int64_t i = 0; i < threads && i < fake.n && fake.n <= FAKE_ELEMENTS; i++)
        y[i] = alpha * x[i] + (float)fake.t;
    fake.grid = grid;
    fake.stream = stream;
    fake.block = block;
    fake.shared = shared;
    fake.launches++;
    return 0;
}

/* ---- NVRTC and the driver ----------------------------------------------------------------------
 */

static const char *fake_nvrtcGetErrorString(int error)
{
    return error ? "NVRTC_ERROR_X" : "NVRTC_SUCCESS";
}
static int fake_nvrtcVersion(int *major, int *minor)
{
    TICK();
    *major = 13;
    *minor = 0;
    return 0;
}
static int fake_nvrtcGetNumSupportedArchs(int *count)
{
    TICK();
    *count = 2;
    return 0;
}
static int fake_nvrtcGetSupportedArchs(int *archs)
{
    TICK();
    archs[0] = 80;
    archs[1] = 90;
    return 0;
}
static int fake_nvrtcCreateProgram(void **program, const char *source, const char *name,
                                   int n_headers, const char *const *headers,
                                   const char *const *include_names)
{
    TICK();
    if (!source || !name || n_headers || headers || include_names)
        return 3;
    return take(program, 1);
}
static int fake_nvrtcCompileProgram(void *program, int n_options, const char *const *options)
{
    TICK();
    fake.compiles++;
    snprintf(fake.option, sizeof fake.option, "%s", n_options > 0 ? options[0] : "");
    return program ? fake.compile_status : 4;
}
static int fake_nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    TICK();
    *bytes = fake.log ? strlen(fake.log) + 1 : 1;
    return program ? 0 : 4;
}
static int fake_nvrtcGetProgramLog(void *program, char *log)
{
    TICK();
    strcpy(log, fake.log ? fake.log : "");
    return program ? 0 : 4;
}
static int fake_nvrtcGetPTXSize(void *program, size_t *bytes)
{
    TICK();
    *bytes = 4;
    return program ? 0 : 4;
}
static int fake_nvrtcGetPTX(void *program, char *ptx)
{
    TICK();
    memcpy(ptx, "ptx", 4);
    return program ? 0 : 4;
}
static int fake_nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    TICK();
    *bytes = 5;
    return program ? 0 : 4;
}
static int fake_nvrtcGetCUBIN(void *program, char *cubin)
{
    TICK();
    memcpy(cubin, "image", 5);
    return program ? 0 : 4;
}
static int fake_nvrtcDestroyProgram(void **program)
{
    void *handle = *program;
    *program = NULL;
    return release(__func__, handle);
}
static int fake_cuInit(unsigned flags)
{
    return (int)flags;
}
static int fake_cuDeviceGet(int *device, int ordinal)
{
    TICK();
    *device = ordinal + 10;
    return 0;
}
static int fake_cuDeviceGetName(char *name, int length, int device)
{
    TICK();
    snprintf(name, (size_t)length, "Fake GPU %d", device - 10);
    return 0;
}

static inline CudaApi fake_api(void)
{
    CudaApi api = {0};
#define CUDART(result, name, arguments) api.rt.name = fake_##name;
#define NVRTC(result, name, arguments)  api.nvrtc.name = fake_##name;
#define DRIVER(result, name, arguments) api.driver.name = fake_##name;
#include "runtime/cuda/api.def"
    api.rt.path = "libfakert.so";
    api.nvrtc.path = "libfakenvrtc.so";
    return api;
}

#endif
