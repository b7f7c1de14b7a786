/* api.h - Declares NVIDIA's libraries as tables of function pointers.
 *
 * tirc is built without CUDA's headers and linked without its libraries.  Each table is filled from
 * the shared library that is found when it is first needed (find.c), or by a test with functions of
 * its own.  Constants are those of the CUDA headers, whose values are part of their binary
 * interface. */
#ifndef TIRC_RUNTIME_CUDA_API_H
#define TIRC_RUNTIME_CUDA_API_H

#include "ir/diag.h"

/* dim3 of vector_types.h. */
typedef struct {
    unsigned x, y, z;
} CudaDim3;

/* enum cudaError of driver_types.h */
enum {
    CUDA_OK = 0,
    CUDA_ERROR_MEMORY = 2,
    CUDA_ERROR_INITIALIZATION = 3,
    CUDA_ERROR_CONFIGURATION = 9,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_OLD_DRIVER = 35,
    CUDA_ERROR_UNAVAILABLE = 46,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_NO_IMAGE = 209,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_RESOURCES = 701,
    CUDA_ERROR_TIMEOUT = 702,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_STACK = 714,
    CUDA_ERROR_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED = 716,
    CUDA_ERROR_ADDRESS_SPACE = 717,
    CUDA_ERROR_PC = 718,
    CUDA_ERROR_LAUNCH = 719,
    CUDA_ERROR_DRIVER_MISMATCH = 803,
};

/* enum cudaDeviceAttr, enum cudaFuncAttribute, enum cudaMemcpyKind, stream flags */
enum {
    CUDA_ATTR_WARP_SIZE = 10,
    CUDA_ATTR_CLOCK_KHZ = 13,
    CUDA_ATTR_MULTIPROCESSORS = 16,
    CUDA_ATTR_MEMORY_CLOCK_KHZ = 36,
    CUDA_ATTR_MEMORY_BUS_BITS = 37,
    CUDA_ATTR_L2_BYTES = 38,
    CUDA_ATTR_MULTIPROCESSOR_THREADS = 39,
    CUDA_ATTR_MAJOR = 75,
    CUDA_ATTR_MINOR = 76,
    CUDA_ATTR_MULTIPROCESSOR_SHARED = 81,
    CUDA_ATTR_MULTIPROCESSOR_REGISTERS = 82,
    CUDA_ATTR_SHARED_OPTIN = 97,
    CUDA_ATTR_MULTIPROCESSOR_BLOCKS = 106,
    CUDA_ATTR_SHARED_RESERVED = 111,
    CUDA_FUNC_MAX_DYNAMIC_SHARED = 8,
    CUDA_TO_DEVICE = 1,
    CUDA_TO_HOST = 2,
    CUDA_WITHIN_DEVICE = 3,
    CUDA_STREAM_NON_BLOCKING = 1,
};

/* cublasLtMatmulHeuristicResult_t of cublasLt.h: an opaque algorithm, then what it needs. */
typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} CublasLtAlgorithm;

/* nvrtcResult of nvrtc.h */
enum { NVRTC_OK = 0, NVRTC_ERROR_COMPILATION = 6 };

#define API_POINTER(result, name, arguments) result(*name) arguments;

typedef struct {
#define CUDART API_POINTER
#include "runtime/cuda/api.def"
    const char *path; /* of the library, for messages */
} CudartApi;

typedef struct {
#define NVRTC API_POINTER
#include "runtime/cuda/api.def"
    const char *path;
} NvrtcApi;

typedef struct {
#define CUBLAS API_POINTER
#include "runtime/cuda/api.def"
    const char *path;
} CublasApi;

typedef struct {
#define CUBLASLT API_POINTER
#include "runtime/cuda/api.def"
    const char *path;
} CublasLtApi;

typedef struct {
#define DRIVER API_POINTER
#include "runtime/cuda/api.def"
} DriverApi;

/* Everything that the CUDA device calls. */
typedef struct {
    CudartApi rt;
    NvrtcApi nvrtc; /* nvrtc.nvrtcVersion is NULL until it is first needed */
    DriverApi driver;
} CudaApi;

/* Fill a table.  False after E0610/E0601 (there is no library) or E0611/E0602 (there is one that
 * cannot be used).  Libraries once loaded stay in the process: unloading them while their threads
 * live is not safe. */
bool cudart_load(Context *ctx, CudartApi *api);
bool nvrtc_load(Context *ctx, NvrtcApi *api);
bool cublas_load(Context *ctx, CublasApi *api);     /* E0640, E0641 */
bool cublaslt_load(Context *ctx, CublasLtApi *api); /* the same */
/* Missing functions stay NULL; false when there is no driver at all. */
bool driver_load(DriverApi *api);

/* A search for a shared library in the loader's path, CUDA toolkits and Python environments. */
typedef struct {
    Context *ctx;
    const char *stem;     /* "nvrtc" of libnvrtc.so.13 */
    const char *variable; /* the environment variable that names the file instead */
    const char *path;     /* out: where it was found */
    const char *failure;  /* out: the loader's complaint about a file that is there, or NULL */
    StrBuf searched;      /* out: the places, one a line */
} LibrarySearch;

/* The library's handle, or NULL. */
void *library_find(LibrarySearch *search);

#endif
