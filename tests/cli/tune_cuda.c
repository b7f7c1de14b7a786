/* tune_cuda.c - A shared library that stands in for NVIDIA's: the GPU of cuda_fake.h, in host
 * memory, whose kernels all compute the program `twice` of test_tune.py.
 *
 * Its clock says 0.1 ms for blocks of 128 threads and more for others. $TUNE_WRONG is a number of
 * threads with which results are wrong, $TUNE_KILL one with which the process is killed. */
#include "tests/unit/cuda_fake.h"

#include <signal.h>

enum { ELEMENTS = 1000 };

static unsigned threads; /* of the last launch */

__attribute__((constructor)) static void begin(void)
{
    fake_reset();
}

static int any_kernel(void **kernel, void *library, const char *name)
{
    *kernel = &fake;
    return library && name ? 0 : 500;
}

static bool is_chosen(const char *variable)
{
    const char *value = getenv(variable);
    return value && (unsigned)atoi(value) == threads;
}

static int twice(const void *kernel, CudaDim3 grid, CudaDim3 block, void **a, size_t shared,
                 void *stream)
{
    const float *x = *(const float **)a[0];
    float *y = *(float **)a[1];
    (void)kernel, (void)grid, (void)shared;
    threads = block.x;
    if (is_chosen("TUNE_KILL"))
        raise(SIGKILL);
    for (int i = 0; i < ELEMENTS; i++)
        y[i] = 2 * x[i];
    if (is_chosen("TUNE_WRONG"))
        y[7] += 1;
    return stream ? 0 : 1;
}

static int clock_of_threads(float *ms, void *from, void *to)
{
    *ms = threads == 128 ? 0.1f : 0.1f + (float)threads / 1000;
    return from != to ? 0 : 1;
}

#define fake_cudaLibraryGetKernel any_kernel
#define fake_cudaLaunchKernel     twice
#define fake_cudaEventElapsedTime clock_of_threads
#define TEXT_OF(name)             #name
#define EXPORT(result, name, arguments, function)                                                  \
    result name arguments __attribute__((alias(TEXT_OF(function))));
#define CUDART(result, name, arguments) EXPORT(result, name, arguments, fake_##name)
#define NVRTC(result, name, arguments)  EXPORT(result, name, arguments, fake_##name)
#include "runtime/cuda/api.def"
