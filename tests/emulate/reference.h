/* reference.h - what the operations of .tir mean, in C++, for the functions that evaluate.py
 * writes.
 *
 * Integers wrap, floats become the nearest integer that there is. Where a program has no meaning (a
 * subscript outside of its axis, a division by 0) undefined() ends the evaluation. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdlib.h>
#include <string.h>

#include "narrow.h"

[[noreturn]] void undefined(const char *why);

struct f16_bits {
    unsigned short bits;
};
struct bf16_bits {
    unsigned short bits;
};
struct f8e4m3_bits {
    unsigned char bits;
};
struct f8e5m2_bits {
    unsigned char bits;
};

/* Memory of a temporary, filled with ones: NaN, -1. */
struct Temp {
    void *data;
    explicit Temp(long long bytes) : data(malloc(bytes > 0 ? (size_t)bytes : 1))
    {
        memset(data, 0xff, (size_t)bytes);
    }
    ~Temp()
    {
        free(data);
    }
};

static inline long long within(long long at, long long extent)
{
    if (at < 0 || at >= extent)
        undefined("a subscript outside of its axis");
    return at;
}

/* ---- conversions ---- */

#define NARROW(t)                                                                                  \
    static inline float to_##t(double x)                                                           \
    {                                                                                              \
        return (float)narrow_value(t##_format, narrow_bits(t##_format, x));                        \
    }                                                                                              \
    static inline float to_##t(float x)                                                            \
    {                                                                                              \
        return to_##t((double)x);                                                                  \
    }                                                                                              \
    static inline float to_##t(int x)                                                              \
    {                                                                                              \
        return to_##t((double)x);                                                                  \
    }                                                                                              \
    static inline float to_##t(unsigned x)                                                         \
    {                                                                                              \
        return to_##t((double)x);                                                                  \
    }                                                                                              \
    static inline float to_##t(long long x)                                                        \
    {                                                                                              \
        return to_##t((double)x);                                                                  \
    }                                                                                              \
    static inline float to_##t(unsigned long long x)                                               \
    {                                                                                              \
        return to_##t((double)x);                                                                  \
    }                                                                                              \
    static inline float load(t##_bits x)                                                           \
    {                                                                                              \
        return (float)narrow_value(t##_format, x.bits);                                            \
    }                                                                                              \
    static inline void store(t##_bits &to, float x)                                                \
    {                                                                                              \
        to.bits = (decltype(to.bits))narrow_bits(t##_format, x);                                   \
    }
NARROW(f16)
NARROW(bf16)
NARROW(f8e4m3)
NARROW(f8e5m2)
#undef NARROW

#define PLAIN(T)                                                                                   \
    static inline T load(const T &x)                                                               \
    {                                                                                              \
        return x;                                                                                  \
    }                                                                                              \
    static inline void store(T &to, T x)                                                           \
    {                                                                                              \
        to = x;                                                                                    \
    }
PLAIN(double)
PLAIN(float)
PLAIN(long long)
PLAIN(int)
PLAIN(short)
PLAIN(signed char)
PLAIN(unsigned long long)
PLAIN(unsigned)
PLAIN(unsigned short)
PLAIN(unsigned char)
static inline bool load(const bool &x)
{
    unsigned char byte;
    memcpy(&byte, &x, 1);
    if (byte > 1)
        undefined("a truth value that nothing has written");
    return byte != 0;
}
static inline void store(bool &to, bool x)
{
    to = x;
}
#undef PLAIN

#define TO_FLOAT(name, T)                                                                          \
    template <class From> static inline T to_##name(From x)                                        \
    {                                                                                              \
        return (T)x;                                                                               \
    }
TO_FLOAT(f64, double)
TO_FLOAT(f32, float)
#undef TO_FLOAT
#define TO_INTEGER(name, T, low, above, least, most)                                               \
    static inline T to_##name(double x)                                                            \
    {                                                                                              \
        return x != x ? 0 : x <= low ? least : x >= above ? most : (T)x;                           \
    }                                                                                              \
    TO_FROM_OTHERS(name, T)
#define TO_SMALL_INTEGER(name, T)                                                                  \
    static inline T to_##name(double x)                                                            \
    {                                                                                              \
        return (T)to_i32(x);                                                                       \
    }                                                                                              \
    TO_FROM_OTHERS(name, T)
#define TO_FROM_OTHERS(name, T)                                                                    \
    static inline T to_##name(float x)                                                             \
    {                                                                                              \
        return to_##name((double)x);                                                               \
    }                                                                                              \
    static inline T to_##name(int x)                                                               \
    {                                                                                              \
        return (T)x;                                                                               \
    }                                                                                              \
    static inline T to_##name(unsigned x)                                                          \
    {                                                                                              \
        return (T)x;                                                                               \
    }                                                                                              \
    static inline T to_##name(long long x)                                                         \
    {                                                                                              \
        return (T)x;                                                                               \
    }                                                                                              \
    static inline T to_##name(unsigned long long x)                                                \
    {                                                                                              \
        return (T)x;                                                                               \
    }
TO_INTEGER(i32, int, -0x1p31, 0x1p31, -2147483647 - 1, 2147483647)
TO_INTEGER(u32, unsigned, 0, 0x1p32, 0, 4294967295u)
TO_INTEGER(i64, long long, -0x1p63, 0x1p63, -9223372036854775807ll - 1, 9223372036854775807ll)
TO_INTEGER(u64, unsigned long long, 0, 0x1p64, 0, ~0ull)
TO_INTEGER(index, long long, -0x1p63, 0x1p63, -9223372036854775807ll - 1, 9223372036854775807ll)
TO_SMALL_INTEGER(i8, signed char)
TO_SMALL_INTEGER(i16, short)
TO_SMALL_INTEGER(u8, unsigned char)
TO_SMALL_INTEGER(u16, unsigned short)
#undef TO_SMALL_INTEGER
#undef TO_FROM_OTHERS
#undef TO_INTEGER
template <class From> static inline bool to_bool(From x)
{
    return x != 0;
}

/* ---- arithmetic ---- */

#define FLOATS(T)                                                                                  \
    static inline T add(T a, T b)                                                                  \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    static inline T sub(T a, T b)                                                                  \
    {                                                                                              \
        return a - b;                                                                              \
    }                                                                                              \
    static inline T mul(T a, T b)                                                                  \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    static inline T quotient(T a, T b)                                                             \
    {                                                                                              \
        return a / b;                                                                              \
    }                                                                                              \
    static inline T minimum(T a, T b)                                                              \
    {                                                                                              \
        return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;                  \
    }                                                                                              \
    static inline T maximum(T a, T b)                                                              \
    {                                                                                              \
        return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;                 \
    }
FLOATS(float)
FLOATS(double)
#undef FLOATS

static inline void check_divisor(bool other_than_0)
{
    if (!other_than_0)
        undefined("a division by 0");
}
#define INTEGERS(T, U)                                                                             \
    static inline T add(T a, T b)                                                                  \
    {                                                                                              \
        return (T)((U)a + (U)b);                                                                   \
    }                                                                                              \
    static inline T sub(T a, T b)                                                                  \
    {                                                                                              \
        return (T)((U)a - (U)b);                                                                   \
    }                                                                                              \
    static inline T mul(T a, T b)                                                                  \
    {                                                                                              \
        return (T)((U)a * (U)b);                                                                   \
    }                                                                                              \
    static inline T negate(T a)                                                                    \
    {                                                                                              \
        return (T)(0 - (U)a);                                                                      \
    }                                                                                              \
    static inline T bit_and(T a, T b)                                                              \
    {                                                                                              \
        return a & b;                                                                              \
    }                                                                                              \
    static inline T bit_or(T a, T b)                                                               \
    {                                                                                              \
        return a | b;                                                                              \
    }                                                                                              \
    static inline T bit_xor(T a, T b)                                                              \
    {                                                                                              \
        return a ^ b;                                                                              \
    }                                                                                              \
    static inline T quotient(T a, T b)                                                             \
    {                                                                                              \
        check_divisor(b != 0);                                                                     \
        return (T)-1 < 0 && b == (T)-1 ? negate(a) : a / b;                                        \
    }                                                                                              \
    static inline T remainder_of(T a, T b)                                                         \
    {                                                                                              \
        check_divisor(b != 0);                                                                     \
        return (T)-1 < 0 && b == (T)-1 ? 0 : a % b;                                                \
    }                                                                                              \
    static inline T absolute(T a)                                                                  \
    {                                                                                              \
        return a < 0 ? negate(a) : a;                                                              \
    }                                                                                              \
    static inline T shift_left(T a, long long by)                                                  \
    {                                                                                              \
        return (U)by < 8 * sizeof(T) ? (T)((U)a << (U)by) : 0;                                     \
    }                                                                                              \
    static inline T shift_right(T a, long long by)                                                 \
    {                                                                                              \
        return (U)by < 8 * sizeof(T) ? a >> (U)by : a >> (8 * sizeof(T) - 1) >> 1;                 \
    }
static inline void check_shift(long long by, unsigned long long bits)
{
    if (by < 0 || (unsigned long long)by >= bits)
        undefined("a shift by more than the digits");
}
INTEGERS(int, unsigned)
INTEGERS(unsigned, unsigned)
INTEGERS(long long, unsigned long long)
INTEGERS(unsigned long long, unsigned long long)
#undef INTEGERS
template <class T> static inline T minimum(T a, T b)
{
    return a < b ? a : b;
}
template <class T> static inline T maximum(T a, T b)
{
    return a > b ? a : b;
}

#define INDEX(name, builtin)                                                                       \
    static inline long long index_##name(long long a, long long b)                                 \
    {                                                                                              \
        long long result;                                                                          \
        if (builtin(a, b, &result))                                                                \
            undefined("index arithmetic beyond 63 bits");                                          \
        return result;                                                                             \
    }
INDEX(add, __builtin_add_overflow)
INDEX(sub, __builtin_sub_overflow)
INDEX(mul, __builtin_mul_overflow)
#undef INDEX
static inline long long index_quotient(long long a, long long b)
{
    return quotient(a, b);
}
static inline long long index_remainder_of(long long a, long long b)
{
    return remainder_of(a, b);
}
static inline long long index_bit_and(long long a, long long b)
{
    return a & b;
}
static inline long long index_bit_or(long long a, long long b)
{
    return a | b;
}
static inline long long index_bit_xor(long long a, long long b)
{
    return a ^ b;
}
static inline long long index_shift_left(long long a, long long b)
{
    check_shift(b, 63);
    return index_mul(a, 1ll << b);
}
static inline long long index_shift_right(long long a, long long b)
{
    return shift_right(a, b);
}

/* ---- functions ---- */

#define FUNCTION(name, f32, f64)                                                                   \
    static inline float call_##name(float x)                                                       \
    {                                                                                              \
        return f32(x);                                                                             \
    }                                                                                              \
    static inline double call_##name(double x)                                                     \
    {                                                                                              \
        return f64(x);                                                                             \
    }
FUNCTION(exp, expf, exp)
FUNCTION(exp2, exp2f, exp2)
FUNCTION(fast_exp, expf, exp)
FUNCTION(fast_exp2, exp2f, exp2)
FUNCTION(expm1, expm1f, expm1)
FUNCTION(log1p, log1pf, log1p)
FUNCTION(log, logf, log)
FUNCTION(log2, log2f, log2)
FUNCTION(log10, log10f, log10)
FUNCTION(sqrt, sqrtf, sqrt)
FUNCTION(sin, sinf, sin)
FUNCTION(cos, cosf, cos)
FUNCTION(tan, tanf, tan)
FUNCTION(tanh, tanhf, tanh)
FUNCTION(erf, erff, erf)
FUNCTION(abs, fabsf, fabs)
FUNCTION(floor, floorf, floor)
FUNCTION(ceil, ceilf, ceil)
FUNCTION(round, rintf, rint)
FUNCTION(trunc, truncf, trunc)
#undef FUNCTION
/* Half of the last digit that stays is added to the magnitude; what is behind it goes. */
static inline double call_tf32(double x)
{
    const double least = 0x1p-126;
    if (isnan(x) || isinf(x))
        return x;
    if (fabs(x) < least) /* all have the spacing of the least normal number */
        return copysign(call_tf32(fabs(x) + least) - least, x);
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (1ull << 41)) >> 42 << 42;
    memcpy(&x, &bits, sizeof x);
    return fabs(x) < 0x1p128 ? x : copysign(INFINITY, x);
}
static inline float call_tf32(float x)
{
    return (float)call_tf32((double)x);
}
static inline double call_tf32_rz(double x)
{
    const double least = 0x1p-126, largest = 0x1.ffcp127;
    if (isnan(x) || isinf(x))
        return x;
    if (fabs(x) < least)
        return copysign(call_tf32_rz(fabs(x) + least) - least, x);
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits >> 42 << 42;
    memcpy(&x, &bits, sizeof x);
    return fabs(x) <= largest ? x : copysign(largest, x);
}
static inline float call_tf32_rz(float x)
{
    return (float)call_tf32_rz((double)x);
}
static inline float call_rsqrt(float x)
{
    return (float)(1 / sqrt((double)x));
}
static inline double call_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static inline float call_pow(float x, float y)
{
    return powf(x, y);
}
static inline double call_pow(double x, double y)
{
    return pow(x, y);
}
static inline float call_fmod(float x, float y)
{
    return fmodf(x, y);
}
static inline double call_fmod(double x, double y)
{
    return fmod(x, y);
}
static inline float call_fma(float x, float y, float z)
{
    return fmaf(x, y, z);
}
static inline double call_fma(double x, double y, double z)
{
    return fma(x, y, z);
}

static inline float call_fma_f16(float x, float y, float z)
{
    return (float)narrow_value(f16_format, narrow_fma(f16_format, x, y, z));
}
static inline float call_fma_bf16(float x, float y, float z)
{
    return (float)narrow_value(bf16_format, narrow_fma(bf16_format, x, y, z));
}

/* IEEE 754-2019 minimum and maximum: NaN if one is. */
#define OR_NAN(T)                                                                                  \
    static inline T call_minimum(T a, T b)                                                         \
    {                                                                                              \
        return a != a || b != b ? (T)NAN : minimum(a, b);                                          \
    }                                                                                              \
    static inline T call_maximum(T a, T b)                                                         \
    {                                                                                              \
        return a != a || b != b ? (T)NAN : maximum(a, b);                                          \
    }                                                                                              \
    static inline bool call_isnan(T x)                                                             \
    {                                                                                              \
        return x != x;                                                                             \
    }                                                                                              \
    static inline bool call_isinf(T x)                                                             \
    {                                                                                              \
        return x == (T)INFINITY || x == -(T)INFINITY;                                              \
    }
OR_NAN(float)
OR_NAN(double)
#undef OR_NAN

/* ---- bits ---- */

template <class T> static inline int call_popcount(T x)
{
    int n = 0;
    for (unsigned long long rest = (unsigned long long)x; rest; rest &= rest - 1)
        n++;
    return n - (sizeof(T) == 4 && (long long)x < 0 ? 32 : 0); /* digits of the sign */
}
template <class T> static inline int call_clz(T x)
{
    int n = 0;
    for (int bit = 8 * (int)sizeof(T) - 1; bit >= 0 && !(x >> bit & 1); bit--)
        n++;
    return n;
}
static inline int call_dp4a(int a, int b, int c)
{
    for (int k = 0; k < 32; k += 8)
        c = add(c, (int)(signed char)(a >> k) * (signed char)(b >> k));
    return c;
}
static inline unsigned call_dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int k = 0; k < 32; k += 8)
        c += (a >> k & 255) * (b >> k & 255);
    return c;
}

#define STORED(name, T)                                                                            \
    template <class From> static inline T stored_##name(From x)                                    \
    {                                                                                              \
        T to;                                                                                      \
        store(to, x);                                                                              \
        return to;                                                                                 \
    }
STORED(f64, double)
STORED(f32, float)
STORED(f16, f16_bits)
STORED(bf16, bf16_bits)
STORED(f8e4m3, f8e4m3_bits)
STORED(f8e5m2, f8e5m2_bits)
STORED(i64, long long)
STORED(i32, int)
STORED(i16, short)
STORED(i8, signed char)
STORED(u64, unsigned long long)
STORED(u32, unsigned)
STORED(u16, unsigned short)
STORED(u8, unsigned char)
#undef STORED
template <class To, class From> static inline To bits_as(From x)
{
    static_assert(sizeof(To) == sizeof(From), "types of one width");
    To to;
    memcpy(&to, &x, sizeof to);
    return to;
}

#endif
