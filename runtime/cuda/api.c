/* api.c - Loads NVIDIA's libraries and fills the function tables of api.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "runtime/cuda/api.h"
#include "runtime/device.h"

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that the
 * bytes serve. */
_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym's result holds a function pointer");

static bool load_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* How to report that a library is missing. */
typedef struct {
    ErrorCode none, unusable;
    const char *what, *needs, *install, *without;
} LibraryText;

static const LibraryText CUDART_TEXT = {
    E0610,
    E0611,
    "libcudart, the CUDA runtime",
    "12.8",
    "`pip install nvidia-cuda-runtime` (CUDA 12: nvidia-cuda-runtime-cu12) or a CUDA toolkit",
    "--device sim runs the same kernel without it"};
static const LibraryText NVRTC_TEXT = {
    E0601,
    E0602,
    "libnvrtc, the CUDA compiler",
    "12.0",
    "`pip install nvidia-cuda-nvrtc` (CUDA 12: nvidia-cuda-nvrtc-cu12) or a CUDA toolkit",
    "--emit cuda and --device sim work without it"};

static const LibraryText CUBLAS_TEXT = {
    E0640,
    E0641,
    "libcublas, the peer 'cublas'",
    "12.0",
    "`pip install nvidia-cublas` (CUDA 12: nvidia-cublas-cu12) or a CUDA toolkit",
    "--bench without --versus works without it"};

static const LibraryText CUBLASLT_TEXT = {
    E0640,
    E0641,
    "libcublasLt, the peer 'cublas' of products with a bias",
    "12.0",
    "`pip install nvidia-cublas` (CUDA 12: nvidia-cublas-cu12) or a CUDA toolkit",
    "--bench without --versus works without it"};

static void *open_library(LibrarySearch *s, const LibraryText *text)
{
    void *library = library_find(s);
    if (library)
        return library;
    if (s->failure) {
        diag_error(s->ctx, text->unusable, span_none(), "%s was found but cannot be loaded: %s",
                   text->what, s->failure);
        diag_note(s->ctx, span_none(), "install %s, or name the file in $%s; %s", text->install,
                  s->variable, text->without);
        return NULL;
    }
    diag_error(s->ctx, text->none, span_none(),
               "%s was not found; install %s, or name the file in $%s; %s", text->what,
               text->install, s->variable, text->without);
    diag_note(s->ctx, span_none(), "searched:%s", s->searched.text);
    return NULL;
}

static bool refuse_old(LibrarySearch *s, const LibraryText *text, const char *missing)
{
    diag_error(s->ctx, text->unusable, span_none(),
               "'%s' has no function '%s'; it must be %s of CUDA %s or newer: install %s, or name "
               "another file in $%s",
               s->path, missing, text->what, text->needs, text->install, s->variable);
    return false;
}

/* The name of the first function that is not there, or NULL. */
#define LOAD_ROW(result, name, arguments)                                                          \
    if (!load_symbol(library, #name, &api->name) && !missing)                                      \
        missing = #name;

bool cudart_load(Context *ctx, CudartApi *api)
{
    LibrarySearch s = {.ctx = ctx, .stem = "cudart", .variable = "TIRC_CUDART"};
    void *library = open_library(&s, &CUDART_TEXT);
    if (!library)
        return false;
    const char *missing = NULL;
#define CUDART LOAD_ROW
#include "runtime/cuda/api.def"
    api->path = s.path;
    return !missing || refuse_old(&s, &CUDART_TEXT, missing);
}

bool nvrtc_load(Context *ctx, NvrtcApi *api)
{
    LibrarySearch s = {.ctx = ctx, .stem = "nvrtc", .variable = "TIRC_NVRTC"};
    void *library = open_library(&s, &NVRTC_TEXT);
    if (!library)
        return false;
    const char *missing = NULL;
#define NVRTC LOAD_ROW
#include "runtime/cuda/api.def"
    api->path = s.path;
    return !missing || refuse_old(&s, &NVRTC_TEXT, missing);
}

bool cublas_load(Context *ctx, CublasApi *api)
{
    LibrarySearch s = {.ctx = ctx, .stem = "cublas", .variable = "TIRC_CUBLAS"};
    void *library = open_library(&s, &CUBLAS_TEXT);
    if (!library)
        return false;
    const char *missing = NULL;
#define CUBLAS LOAD_ROW
#include "runtime/cuda/api.def"
    api->path = s.path;
    return !missing || refuse_old(&s, &CUBLAS_TEXT, missing);
}

bool cublaslt_load(Context *ctx, CublasLtApi *api)
{
    LibrarySearch s = {.ctx = ctx, .stem = "cublasLt", .variable = "TIRC_CUBLASLT"};
    void *library = open_library(&s, &CUBLASLT_TEXT);
    if (!library)
        return false;
    const char *missing = NULL;
#define CUBLASLT LOAD_ROW
#include "runtime/cuda/api.def"
    api->path = s.path;
    return !missing || refuse_old(&s, &CUBLASLT_TEXT, missing);
}

bool driver_load(DriverApi *api)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return false;
    const char *missing = NULL;
#define DRIVER LOAD_ROW
#include "runtime/cuda/api.def"
    return !missing;
}

bool cuda_gpu_is_likely(void)
{
    DriverApi driver = {0};
    int handle;
    return driver_load(&driver) && driver.cuInit(0) == 0 && driver.cuDeviceGet(&handle, 0) == 0;
}
