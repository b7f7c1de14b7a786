/* fake_cuda.c - A shared library that stands in for NVIDIA's: the GPU of cuda_fake.h, in host
 * memory. Its kernels compute nothing; a launch calls back, so that a test sees the arguments. */
#include "tests/unit/cuda_fake.h"

typedef void Launched(void **arguments, void *stream);
static Launched *launched;
void fake_on_launch(Launched *callback);

void fake_on_launch(Launched *callback)
{
    launched = callback;
}

__attribute__((constructor)) static void begin(void)
{
    fake_reset();
}

static int any_kernel(void **kernel, void *library, const char *name)
{
    *kernel = &fake;
    return library && name ? 0 : 500;
}

static int call_back(const void *kernel, CudaDim3 grid, CudaDim3 block, void **arguments,
                     size_t shared, void *stream)
{
    (void)kernel, (void)grid, (void)block, (void)shared;
    if (launched)
        launched(arguments, stream);
    return 0;
}

#define fake_cudaLibraryGetKernel any_kernel
#define fake_cudaLaunchKernel     call_back
#define TEXT_OF(name)             #name
#define EXPORT(result, name, arguments, function)                                                  \
    result name arguments __attribute__((alias(TEXT_OF(function))));
#define CUDART(result, name, arguments) EXPORT(result, name, arguments, fake_##name)
#define NVRTC(result, name, arguments)  EXPORT(result, name, arguments, fake_##name)
#include "runtime/cuda/api.def"
