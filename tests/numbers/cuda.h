/* cuda.h - what the expressions of emitted text need of CUDA C, for a C++ compiler: conversions as
 * the PTX ISA has them. */
#include <math.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

/* cvt.rzi: saturates; NaN gives 0, but the least value where one of the two types has 64 bits. */
template <class T> static T convert(double x, double least, double above, T low, T high, T nan)
{
    return x != x ? nan : x <= least ? low : x >= above ? high : (T)x;
}
#define INT(x, nan)  convert<int>(x, -0x1p31, 0x1p31, -2147483647 - 1, 2147483647, nan)
#define UINT(x, nan) convert<unsigned>(x, 0, 0x1p32, 0, 4294967295u, nan)
#define LONG(x)      convert<long long>(x, -0x1p63, 0x1p63, 1ll << 63, ~(1ll << 63), 1ll << 63)
#define ULONG(x)     convert<unsigned long long>(x, 0, 0x1p64, 0, ~0ull, 1ull << 63)
static inline int __float2int_rz(float x)
{
    return INT(x, 0);
}
static inline unsigned __float2uint_rz(float x)
{
    return UINT(x, 0);
}
static inline long long __float2ll_rz(float x)
{
    return LONG(x);
}
static inline unsigned long long __float2ull_rz(float x)
{
    return ULONG(x);
}
static inline int __double2int_rz(double x)
{
    return INT(x, -2147483647 - 1);
}
static inline unsigned __double2uint_rz(double x)
{
    return UINT(x, 1u << 31);
}
static inline long long __double2ll_rz(double x)
{
    return LONG(x);
}
static inline unsigned long long __double2ull_rz(double x)
{
    return ULONG(x);
}

template <class T> static T min(T a, T b)
{
    return a < b ? a : b;
}
template <class T> static T max(T a, T b)
{
    return a > b ? a : b;
}

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
/* T and B: int and signed char, or unsigned and unsigned char. */
template <class T, class B> static T products(T a, T b, T sum)
{
    unsigned s = (unsigned)sum;
    for (int shift = 0; shift < 32; shift += 8)
        s += (unsigned)((B)((unsigned)a >> shift) * (B)((unsigned)b >> shift));
    return (T)s;
}
static inline int __dp4a(int a, int b, int c)
{
    return products<int, signed char>(a, b, c);
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    return products<unsigned, unsigned char>(a, b, c);
}
