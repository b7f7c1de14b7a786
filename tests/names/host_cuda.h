/* host_cuda.h - enough of CUDA for a C++ compiler to run emitted text one thread after the other:
 * no barriers.
 *
 * Beside the host's own headers, so that names are tried where they clash most. */
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __shared__ static
#define __constant__
#define __align__(n)    __attribute__((aligned(n)))
#define __syncthreads() abort()

struct dim3 {
    unsigned x, y, z;
    dim3(long long x_ = 1, long long y_ = 1, long long z_ = 1)
        : x((unsigned)x_), y((unsigned)y_), z((unsigned)z_)
    {
    }
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

#define VECTOR(T, name)                                                                            \
    struct alignas(2 * sizeof(T)) name##2                                                          \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct alignas(16) name##4                                                                     \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    static inline name##2 make_##name##2(T x, T y)                                                 \
    {                                                                                              \
        return {x, y};                                                                             \
    }                                                                                              \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                       \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
VECTOR(float, float)
VECTOR(int, int)
VECTOR(unsigned, uint)
#undef VECTOR
using std::max;
using std::min;
static inline float atomicAdd(float *to, float value)
{
    return *to += value;
}
static inline float __int_as_float(int bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One launch: `call` runs the kernel for the thread at hand. */
template <class Call> static void host_launch(dim3 grid, dim3 block, Call call)
{
    for (long long n :
         {(int)grid.x, (int)grid.y, (int)grid.z, (int)block.x, (int)block.y, (int)block.z})
        if (n < 1)
            exit(3); /* as CUDA refuses it */
    gridDim = grid;
    blockDim = block;
    for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
                for (threadIdx.z = 0; threadIdx.z < block.z; threadIdx.z++)
                    for (threadIdx.y = 0; threadIdx.y < block.y; threadIdx.y++)
                        for (threadIdx.x = 0; threadIdx.x < block.x; threadIdx.x++)
                            call();
}

/* What the host side of a complete program calls. */
typedef enum { cudaSuccess, cudaErrorMemoryAllocation } cudaError_t;
typedef enum {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
} cudaMemcpyKind;
static inline const char *cudaGetErrorString(cudaError_t)
{
    return "an error";
}
static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}
template <class T> static cudaError_t cudaMalloc(T **to, size_t bytes)
{
    *to = (T *)malloc(bytes + 16);
    return *to ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}
typedef enum { cudaFuncAttributeMaxDynamicSharedMemorySize } cudaFuncAttribute;
template <class Kernel> static cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
template <class T>
static cudaError_t cudaMemcpyToSymbol(T &to, const void *from, size_t bytes, size_t offset,
                                      cudaMemcpyKind)
{
    memcpy((char *)&to + offset, from, bytes);
    return cudaSuccess;
}
