/* cuda_host.h - CUDA C for a C++ compiler: the words, types and functions that emitted text speaks
 * of.
 *
 * `asm` of PTX becomes a call of the function of its opcode (cuda_text.py): asm("cvt.f32.f16 %0,
 * %1;" : "=f"(f) : "h"(h)) is ptx_cvt_f32_f16(f, h). */
#ifndef CUDA_HOST_H
#define CUDA_HOST_H

#include <math.h>
#include <string.h>

#include "emulator.h"
#include "narrow.h"

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(n)      __attribute__((aligned(n)))
#define __constant__      static
#define EMULATOR_TEXT_(x) #x
#define EMULATOR_TEXT(x)  EMULATOR_TEXT_(x)
#define __shared__        static __attribute__((section(EMULATOR_TEXT(SHARED_SECTION))))
static const int warpSize = 32;

/* ---- threads ---- */

#define __syncthreads()                    emulator::barrier(__LINE__)
#define __syncwarp(...)                    emulator::warp_barrier(__LINE__)
#define __shfl_xor_sync(mask, value, lane) emulator::shuffle_xor(__LINE__, value, lane)
#define __shfl_sync(mask, value, lane)     emulator::shuffle(__LINE__, value, lane)
#define __nanosleep(ns)                    ((void)(ns))

/* ---- types ---- */

#define VECTORS(name, T, size)                                                                     \
    struct __attribute__((aligned(2 * size))) name##2                                              \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    struct __attribute__((aligned(4 * size > 16 ? 16 : 4 * size))) name##4                         \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    static inline name##2 make_##name##2(T x, T y)                                                 \
    {                                                                                              \
        return name##2 {x, y};                                                                     \
    }                                                                                              \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                       \
    {                                                                                              \
        return name##4 {x, y, z, w};                                                               \
    }
VECTORS(char, signed char, 1)
VECTORS(uchar, unsigned char, 1)
VECTORS(short, short, 2)
VECTORS(ushort, unsigned short, 2)
VECTORS(int, int, 4)
VECTORS(uint, unsigned, 4)
VECTORS(float, float, 4)
VECTORS(longlong, long long, 8)
VECTORS(ulonglong, unsigned long long, 8)
VECTORS(double, double, 8)
#undef VECTORS

/* ---- bits ---- */

#define BITS(name, To, From)                                                                       \
    static inline To name(From x)                                                                  \
    {                                                                                              \
        To to;                                                                                     \
        memcpy(&to, &x, sizeof to);                                                                \
        return to;                                                                                 \
    }
BITS(__float_as_uint, unsigned, float)
BITS(__float_as_int, int, float)
BITS(__uint_as_float, float, unsigned)
BITS(__int_as_float, float, int)
BITS(__double_as_longlong, long long, double)
BITS(__longlong_as_double, double, long long)
#undef BITS
static inline float __double2float_rz(double x)
{
    float f = (float)x; /* to nearest; then back towards zero */
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0) : f;
}

/* cvt.rzi: saturates; NaN gives 0, but the least value, or 2^(n - 1), where one of the two types
 * has 64 bits. */
template <class T>
static inline T convert_float(double x, double least, double above, T low, T high, T nan)
{
    return x != x ? nan : x <= least ? low : x >= above ? high : (T)x;
}
#define TO_INT(name, From, nan)                                                                    \
    static inline int name(From x)                                                                 \
    {                                                                                              \
        return convert_float<int>(x, -0x1p31, 0x1p31, -2147483647 - 1, 2147483647, nan);           \
    }
#define TO_UINT(name, From, nan)                                                                   \
    static inline unsigned name(From x)                                                            \
    {                                                                                              \
        return convert_float<unsigned>(x, 0, 0x1p32, 0, 4294967295u, nan);                         \
    }
#define TO_LONG(name, From)                                                                        \
    static inline long long name(From x)                                                           \
    {                                                                                              \
        return convert_float<long long>(x, -0x1p63, 0x1p63, 1ll << 63, ~(1ll << 63), 1ll << 63);   \
    }
#define TO_ULONG(name, From)                                                                       \
    static inline unsigned long long name(From x)                                                  \
    {                                                                                              \
        return convert_float<unsigned long long>(x, 0, 0x1p64, 0, ~0ull, 1ull << 63);              \
    }
TO_INT(__float2int_rz, float, 0)
TO_INT(__double2int_rz, double, -2147483647 - 1)
TO_UINT(__float2uint_rz, float, 0)
TO_UINT(__double2uint_rz, double, 1u << 31)
TO_LONG(__float2ll_rz, float)
TO_LONG(__double2ll_rz, double)
TO_ULONG(__float2ull_rz, float)
TO_ULONG(__double2ull_rz, double)
#undef TO_INT
#undef TO_UINT
#undef TO_LONG
#undef TO_ULONG

/* ---- numbers: as PTX ISA has them, where C leaves it open ---- */

#define MIN_MAX(T, R)                                                                              \
    static inline R min(T a, T b)                                                                  \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static inline R max(T a, T b)                                                                  \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }
MIN_MAX(int, int)
MIN_MAX(unsigned, unsigned)
MIN_MAX(long, long)
MIN_MAX(unsigned long, unsigned long)
MIN_MAX(long long, long long)
MIN_MAX(unsigned long long, unsigned long long)
#undef MIN_MAX
static inline unsigned min(int a, unsigned b)
{
    return min((unsigned)a, b);
}
static inline unsigned min(unsigned a, int b)
{
    return min(a, (unsigned)b);
}
static inline unsigned max(int a, unsigned b)
{
    return max((unsigned)a, b);
}
static inline unsigned max(unsigned a, int b)
{
    return max(a, (unsigned)b);
}
namespace emulator
{
/* The number where the other is NaN; -0 is below +0 (PTX ISA, min). */
template <class T> T least(T a, T b)
{
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
template <class T> T greatest(T a, T b)
{
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
} // namespace emulator
#define fminf(a, b) emulator::least<float>(a, b)
#define fmaxf(a, b) emulator::greatest<float>(a, b)
#define fmin(a, b)  emulator::least<double>(a, b)
#define fmax(a, b)  emulator::greatest<double>(a, b)
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
static inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    unsigned long long bytes = low | (unsigned long long)high << 32;
    unsigned chosen = 0;
    for (int k = 0; k < 4; k++)
        chosen |= (unsigned)(bytes >> 8 * (selector >> 4 * k & 7) & 255) << 8 * k;
    return chosen;
}
static inline int __dp4a(int a, int b, int c)
{
    unsigned sum = (unsigned)c;
    for (int k = 0; k < 4; k++)
        sum +=
            (unsigned)((signed char)((unsigned)a >> 8 * k) * (signed char)((unsigned)b >> 8 * k));
    return (int)sum;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int k = 0; k < 4; k++)
        c += (a >> 8 * k & 255) * (b >> 8 * k & 255);
    return c;
}
static inline float rsqrtf(float x)
{
    return (float)(1 / sqrt((double)x));
}
static inline double rsqrt(double x)
{
    return 1 / sqrt(x);
}

/* ---- memory ---- */

namespace emulator
{
template <class T> struct Same {
    typedef T type;
};
template <class T> T load(const T *from)
{
    check_aligned(from, sizeof(T));
    return *from;
}
template <class T> void store(T *to, typename Same<T>::type value)
{
    check_aligned(to, sizeof(T));
    *to = value;
}
} // namespace emulator
#define __ldg  emulator::load
#define __ldcs emulator::load
#define __ldcg emulator::load
#define __stcs emulator::store
#define __stcg emulator::store
#define __stwt emulator::store
static inline size_t __cvta_generic_to_shared(const void *p)
{
    return emulator::shared_address(p);
}

#define ATOMICS(T)                                                                                 \
    static inline T atomicAdd(T *p, T v)                                                           \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = add_wrapping(old, v);                                                                 \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicCAS(T *p, T seen, T v)                                                   \
    {                                                                                              \
        T old = *p;                                                                                \
        if (old == seen)                                                                           \
            *p = v;                                                                                \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicMin(T *p, T v)                                                           \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = v < old ? v : old;                                                                    \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicMax(T *p, T v)                                                           \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = v > old ? v : old;                                                                    \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicAnd(T *p, T v)                                                           \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = old & v;                                                                              \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicOr(T *p, T v)                                                            \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = old | v;                                                                              \
        return old;                                                                                \
    }                                                                                              \
    static inline T atomicXor(T *p, T v)                                                           \
    {                                                                                              \
        T old = *p;                                                                                \
        *p = old ^ v;                                                                              \
        return old;                                                                                \
    }
static inline int add_wrapping(int a, int b)
{
    return (int)((unsigned)a + (unsigned)b);
}
static inline unsigned add_wrapping(unsigned a, unsigned b)
{
    return a + b;
}
static inline long long add_wrapping(long long a, long long b)
{
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
static inline unsigned long long add_wrapping(unsigned long long a, unsigned long long b)
{
    return a + b;
}
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(long long)
ATOMICS(unsigned long long)
static inline unsigned short atomicCAS(unsigned short *p, unsigned short seen, unsigned short v)
{
    unsigned short old = *p;
    if (old == seen)
        *p = v;
    return old;
}
#undef ATOMICS
static inline float atomicAdd(float *p, float v)
{
    float old = *p;
    *p = old + v;
    return old;
}
static inline double atomicAdd(double *p, double v)
{
    double old = *p;
    *p = old + v;
    return old;
}

/* ---- PTX ---- */

static inline void ptx_cvt_f32_f16(float &to, unsigned short h)
{
    to = (float)narrow_value(f16_format, h);
}
static inline void ptx_cvt_rn_f16_f32(unsigned short &to, float f)
{
    to = (unsigned short)narrow_bits(f16_format, f);
}
static inline void ptx_red_add_noftz_f16(unsigned short *p, unsigned short h)
{
    *p = (unsigned short)narrow_bits(f16_format,
                                     narrow_value(f16_format, *p) + narrow_value(f16_format, h));
}
static inline void ptx_red_add_noftz_bf16(unsigned short *p, unsigned short h)
{
    *p = (unsigned short)narrow_bits(bf16_format,
                                     narrow_value(bf16_format, *p) + narrow_value(bf16_format, h));
}
static inline unsigned fma_pair(const NarrowFormat &format, unsigned a, unsigned b, unsigned c)
{
    unsigned pair = 0;
    for (int at = 0; at < 32; at += 16)
        pair |= narrow_fma(format, narrow_value(format, a >> at & 0xffff),
                           narrow_value(format, b >> at & 0xffff),
                           narrow_value(format, c >> at & 0xffff))
                << at;
    return pair;
}
static inline void ptx_fma_rn_f16(unsigned short &to, unsigned a, unsigned b, unsigned c)
{
    to = (unsigned short)fma_pair(f16_format, a, b, c);
}
static inline void ptx_fma_rn_bf16(unsigned short &to, unsigned a, unsigned b, unsigned c)
{
    to = (unsigned short)fma_pair(bf16_format, a, b, c);
}
static inline void ptx_fma_rn_f16x2(unsigned &to, unsigned a, unsigned b, unsigned c)
{
    to = fma_pair(f16_format, a, b, c);
}
static inline void ptx_fma_rn_bf16x2(unsigned &to, unsigned a, unsigned b, unsigned c)
{
    to = fma_pair(bf16_format, a, b, c);
}
template <class Operation>
static inline unsigned each_half(const NarrowFormat &format, unsigned a, unsigned b,
                                 Operation operation)
{
    unsigned pair = 0;
    for (int at = 0; at < 32; at += 16)
        pair |= narrow_bits(format, operation(narrow_value(format, a >> at & 0xffff),
                                              narrow_value(format, b >> at & 0xffff)))
                << at;
    return pair;
}
template <class Condition>
static inline unsigned where_half(const NarrowFormat &format, unsigned a, unsigned b,
                                  Condition holds)
{
    unsigned pair = 0;
    for (int at = 0; at < 32; at += 16)
        if (holds(narrow_value(format, a >> at & 0xffff), narrow_value(format, b >> at & 0xffff)))
            pair |= 0xffffu << at;
    return pair;
}
#define PACKED(name, suffix, format, value)                                                        \
    static inline void ptx_##name##_##suffix(unsigned &to, unsigned x, unsigned y)                 \
    {                                                                                              \
        to = each_half(format, x, y, [](double a, double b) -> double { return value; });          \
    }
#define COMPARED(name, suffix, format, holds)                                                      \
    static inline void ptx_set_##name##_u32_##suffix(unsigned &to, unsigned x, unsigned y)         \
    {                                                                                              \
        to = where_half(format, x, y, [](double a, double b) -> bool { return holds; });           \
    }
#define PACKED_TYPE(suffix, format)                                                                \
    COMPARED(gt, suffix, format, a > b)                                                            \
    COMPARED(ge, suffix, format, a >= b)                                                           \
    COMPARED(eq, suffix, format, a == b)                                                           \
    COMPARED(neu, suffix, format, a != b)                                                          \
    PACKED(add_rn, suffix, format, a + b)                                                          \
    PACKED(sub_rn, suffix, format, a - b)                                                          \
    PACKED(mul_rn, suffix, format, a *b)                                                           \
    PACKED(min, suffix, format, emulator::least<double>(a, b))                                     \
    PACKED(max, suffix, format, emulator::greatest<double>(a, b))                                  \
    PACKED(min_NaN, suffix, format, a != a || b != b ? NAN : emulator::least<double>(a, b))        \
    PACKED(max_NaN, suffix, format, a != a || b != b ? NAN : emulator::greatest<double>(a, b))     \
    static inline void ptx_neg_##suffix(unsigned &to, unsigned pair)                               \
    {                                                                                              \
        to = pair ^ 0x80008000u;                                                                   \
    }                                                                                              \
    static inline void ptx_abs_##suffix(unsigned &to, unsigned pair)                               \
    {                                                                                              \
        to = pair & 0x7fff7fffu;                                                                   \
    }                                                                                              \
    static inline void ptx_cvt_rn_##suffix##_f32(unsigned &to, float high, float low)              \
    {                                                                                              \
        to = narrow_bits(format, low) | narrow_bits(format, high) << 16;                           \
    }
PACKED_TYPE(f16x2, f16_format)
PACKED_TYPE(bf16x2, bf16_format)
#undef PACKED_TYPE
#undef COMPARED
#undef PACKED
static inline void ptx_add_rn_f32(float &to, float a, float b)
{
    to = a + b;
}
/* A NaN keeps its upper bits. */
static inline void ptx_cvt_rna_tf32_f32(unsigned &to, float f)
{
    memcpy(&to, &f, sizeof to);
    to = (fabsf(f) < INFINITY ? to + 0x1000 : to) & 0xffffe000;
}
static inline void ptx_ex2_approx_ftz_f32(float &to, float x)
{
    float y = exp2f(fabsf(x) < 0x1p-126f ? 0 : x);
    to = y < 0x1p-126f ? 0 : y;
}
static inline void ptx_cvt_rn_bf16_f32(unsigned short &to, float f)
{
    to = (unsigned short)narrow_bits(bf16_format, f);
}
static inline void ptx_cvt_rn_f16x2_e4m3x2(unsigned &to, unsigned short pair)
{
    to = narrow_bits(f16_format, narrow_value(f8e4m3_format, pair & 0xff)) |
         narrow_bits(f16_format, narrow_value(f8e4m3_format, pair >> 8)) << 16;
}
static inline void ptx_cvt_rn_satfinite_e4m3x2_f32(unsigned short &to, float high, float low)
{
    to = (unsigned short)(narrow_bits(f8e4m3_format, low) | narrow_bits(f8e4m3_format, high) << 8);
}
static inline void ptx_cvt_rn_satfinite_e5m2x2_f32(unsigned short &to, float high, float low)
{
    to = (unsigned short)(narrow_bits(f8e5m2_format, low) | narrow_bits(f8e5m2_format, high) << 8);
}
static inline void ptx_cp_async_ca_shared_global(unsigned at, const void *from, int bytes,
                                                 int given)
{
    emulator::copy_async(emulator::shared_pointer(at), from, bytes, given);
}
static inline void ptx_cp_async_ca_shared_global(unsigned at, const void *from, int bytes)
{
    ptx_cp_async_ca_shared_global(at, from, bytes, bytes);
}
static inline void ptx_cp_async_cg_shared_global(unsigned at, const void *from, int bytes,
                                                 int given)
{
    ptx_cp_async_ca_shared_global(at, from, bytes, given);
}
static inline void ptx_cp_async_cg_shared_global(unsigned at, const void *from, int bytes)
{
    ptx_cp_async_ca_shared_global(at, from, bytes, bytes);
}
static inline void ptx_cp_async_commit_group()
{
    emulator::copy_commit();
}
static inline void ptx_cp_async_wait_group(int pending)
{
    emulator::copy_wait(pending);
}

#include "cuda_bulk.h"
#include "cuda_warp.h"
#include "cuda_warpgroup.h"

/* Accesses with hints; a policy is a number that says nothing. */
namespace emulator
{
template <class T> void load_words(T *const *to, int n, const void *from)
{
    check_aligned(from, n * sizeof(T));
    for (int i = 0; i < n; i++)
        memcpy(to[i], (const char *)from + i * sizeof(T), sizeof(T));
}
template <class T> void store_words(void *to, const T *const *from, int n)
{
    check_aligned(to, n * sizeof(T));
    for (int i = 0; i < n; i++)
        memcpy((char *)to + i * sizeof(T), from[i], sizeof(T));
}
} // namespace emulator
static inline void ptx_ld_global_L1_no_allocate_v4_u32(unsigned &x, unsigned &y, unsigned &z,
                                                       unsigned &w, const void *from)
{
    unsigned *const to[] = {&x, &y, &z, &w};
    emulator::load_words(to, 4, from);
}
static inline void ptx_ld_global_L1_no_allocate_v2_u32(unsigned &x, unsigned &y, const void *from)
{
    unsigned *const to[] = {&x, &y};
    emulator::load_words(to, 2, from);
}
static inline void ptx_ld_global_L1_no_allocate_u32(unsigned &x, const void *from)
{
    unsigned *const to[] = {&x};
    emulator::load_words(to, 1, from);
}
static inline void ptx_ld_global_L1_no_allocate_u16(unsigned short &x, const void *from)
{
    x = emulator::load((const unsigned short *)from);
}
static inline void ptx_ld_global_L1_no_allocate_u8(unsigned short &x, const void *from)
{
    x = *(const unsigned char *)from;
}
static inline void ptx_st_global_L1_no_allocate_v4_u32(void *to, unsigned x, unsigned y, unsigned z,
                                                       unsigned w)
{
    const unsigned *const from[] = {&x, &y, &z, &w};
    emulator::store_words(to, from, 4);
}
static inline void ptx_st_global_L1_no_allocate_v2_u32(void *to, unsigned x, unsigned y)
{
    const unsigned *const from[] = {&x, &y};
    emulator::store_words(to, from, 2);
}
static inline void ptx_st_global_L1_no_allocate_u32(void *to, unsigned x)
{
    const unsigned *const from[] = {&x};
    emulator::store_words(to, from, 1);
}
static inline void ptx_st_global_L1_no_allocate_u16(void *to, unsigned short x)
{
    emulator::store((unsigned short *)to, x);
}
static inline void ptx_st_global_L1_no_allocate_u8(void *to, unsigned short x)
{
    *(unsigned char *)to = (unsigned char)x;
}
/* A policy changes no result; it has to be one that createpolicy made. */
static inline const void *__nv_associate_access_property(const void *at, unsigned long long policy)
{
    if (policy != 1 && policy != 2)
        abort();
    return at;
}
static inline void *__nv_associate_access_property(void *at, unsigned long long policy)
{
    return (void *)__nv_associate_access_property((const void *)at, policy);
}
static inline void ptx_createpolicy_fractional_L2_evict_first_b64(unsigned long long &policy,
                                                                  double)
{
    policy = 1;
}
static inline void ptx_createpolicy_fractional_L2_evict_last_b64(unsigned long long &policy, double)
{
    policy = 2;
}

#endif
