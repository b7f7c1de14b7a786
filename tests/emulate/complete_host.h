/* complete_host.h - what a complete program (--emit cu) asks of the C++ library and of the CUDA
 * runtime. */
#ifndef COMPLETE_HOST_H
#define COMPLETE_HOST_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda_host.h"

typedef int cudaError_t;
enum { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };

template <class T> cudaError_t cudaMalloc(T **at, size_t bytes)
{
    *at = (T *)emulator::device_memory((long long)bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaFree(void *)
{
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset,
                               cudaMemcpyKind)
{
    memcpy((char *)&symbol + offset, from, bytes);
    return cudaSuccess;
}
template <class F> cudaError_t cudaFuncSetAttribute(F *, int, long long bytes)
{
    return bytes > 227 << 10;
}
static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}
static inline const char *cudaGetErrorString(cudaError_t)
{
    return "an error";
}

/* ---- narrow floats of the runtime's headers ---- */

struct __half_raw {
    unsigned short x;
};
struct __half {
    unsigned short bits;
    __half(__half_raw raw) : bits(raw.x)
    {
    }
    operator __half_raw() const
    {
        return {bits};
    }
};
static inline float __half2float(__half h)
{
    return (float)narrow_value(f16_format, h.bits);
}
static inline __half __float2half_rn(float f)
{
    return __half(__half_raw{(unsigned short)narrow_bits(f16_format, f)});
}
struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x)
    {
    }
    operator __nv_bfloat16_raw() const
    {
        return {bits};
    }
};
static inline float __bfloat162float(__nv_bfloat16 h)
{
    return (float)narrow_value(bf16_format, h.bits);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float f)
{
    return __nv_bfloat16(__nv_bfloat16_raw{(unsigned short)narrow_bits(bf16_format, f)});
}
#define BYTE(name, format)                                                                         \
    struct name {                                                                                  \
        unsigned char __x;                                                                         \
        name()                                                                                     \
        {                                                                                          \
        }                                                                                          \
        explicit name(float f) : __x((unsigned char)narrow_bits(format, f))                        \
        {                                                                                          \
        }                                                                                          \
        explicit operator float() const                                                            \
        {                                                                                          \
            return (float)narrow_value(format, __x);                                               \
        }                                                                                          \
    };
BYTE(__nv_fp8_e4m3, f8e4m3_format)
BYTE(__nv_fp8_e5m2, f8e5m2_format)
#undef BYTE

#endif
