/* function.c - Evaluates the functions of expressions on numbers.
 *
 * Functions of f32 are evaluated in f64 and rounded once more, which is right but for rare ties. */
#include <math.h>
#include <string.h>

#include "runtime/sim/internal.h"

static double least_or_nan(double x, double y)
{
    return isnan(x) ? x : isnan(y) ? y : vm_least_f64(x, y);
}

static double largest_or_nan(double x, double y)
{
    return isnan(x) ? x : isnan(y) ? y : vm_largest_f64(x, y);
}

/* x with TF32's 11 digits and the exponents of f32, as `whole` rounds to integers. */
static double tf32(double x, double (*whole)(double))
{
    enum { DIGITS = 11, LEAST_EXPONENT = -126 };
    int exponent = x == 0 || !isfinite(x) ? LEAST_EXPONENT : ilogb(x);
    double step = ldexp(1, (exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent) - DIGITS + 1);
    return whole(x / step) * step;
}

static double tf32_nearest(double x)
{
    double nearest = tf32(x, round);
    return fabs(nearest) < 0x1p128 ? nearest : isnan(x) ? x : copysign(INFINITY, x);
}

static double tf32_towards_0(double x)
{
    const double largest = 0x1.ffcp127;
    return isinf(x) || !(fabs(x) > largest) ? tf32(x, trunc) : copysign(largest, x);
}

double function_f64(int function, const double *x)
{
    switch ((CallKind)function) {
    case CALL_EXP:
    case CALL_FAST_EXP: return exp(x[0]);
    case CALL_EXP2:
    case CALL_FAST_EXP2: return exp2(x[0]);
    case CALL_EXPM1: return expm1(x[0]);
    case CALL_LOG: return log(x[0]);
    case CALL_LOG2: return log2(x[0]);
    case CALL_LOG10: return log10(x[0]);
    case CALL_LOG1P: return log1p(x[0]);
    case CALL_SQRT: return sqrt(x[0]);
    case CALL_RSQRT: return 1 / sqrt(x[0]);
    case CALL_SIN: return sin(x[0]);
    case CALL_COS: return cos(x[0]);
    case CALL_TAN: return tan(x[0]);
    case CALL_TANH: return tanh(x[0]);
    case CALL_ERF: return erf(x[0]);
    case CALL_ABS: return fabs(x[0]);
    case CALL_FLOOR: return floor(x[0]);
    case CALL_CEIL: return ceil(x[0]);
    case CALL_ROUND: return rint(x[0]);
    case CALL_TRUNC: return trunc(x[0]);
    case CALL_TF32: return tf32_nearest(x[0]);
    case CALL_TF32_RZ: return tf32_towards_0(x[0]);
    case CALL_POW: return pow(x[0], x[1]);
    case CALL_FMOD: return fmod(x[0], x[1]);
    case CALL_FMA: return fma(x[0], x[1], x[2]);
    case CALL_MINIMUM: return least_or_nan(x[0], x[1]);
    case CALL_MAXIMUM: return largest_or_nan(x[0], x[1]);
    case CALL_ISNAN: return isnan(x[0]);
    case CALL_ISINF: return isinf(x[0]) != 0;
    case CALL_POPCOUNT:
    case CALL_CLZ:
    case CALL_DP4A:
    case CALL_BITCAST:
    case CALL_AWAIT:
    case CALL_COUNT: break;
    }
    return NAN;
}

/* x * y + z of 16-bit floats, whose product f64 holds. A sum that f32 does not hold becomes the
 * neighbour with an odd significand, which a second rounding, to far fewer digits, takes for the
 * sum itself (Boldo and Melquiond 2008). */
static float fma_to_odd(float x, float y, float z)
{
    double product = (double)x * y, sum = product + z, back = sum - product;
    float near = (float)sum;
    double error = (product - (sum - back)) + (z - back), rest = (sum - near) + error;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (!isfinite(near) || rest == 0 || bits & 1)
        return near;
    return nextafterf(near, rest > 0 ? INFINITY : -INFINITY);
}

/* Exact in f32: fma rounds once, fmod not at all. */
float function_f32(int function, const float *x)
{
    if (function == VM_FMA_TO_ODD)
        return fma_to_odd(x[0], x[1], x[2]);
    if (function == CALL_FMA)
        return fmaf(x[0], x[1], x[2]);
    if (function == CALL_FMOD)
        return fmodf(x[0], x[1]);
    return (float)function_f64(function, (const double[]){x[0], x[1], x[2]});
}

static uint64_t byte_products(DType type, uint64_t x, uint64_t y)
{
    uint64_t sum = 0;
    for (int shift = 0; shift < 32; shift += 8) {
        uint64_t a = x >> shift & 0xff, b = y >> shift & 0xff;
        sum += type == DT_I32 ? (uint64_t)((int64_t)(int8_t)a * (int8_t)b) : a * b;
    }
    return sum;
}

int64_t function_integer(int function, DType type, const int64_t *x)
{
    int bits = type_info(type)->bits, leading = 0;
    uint64_t v = (uint64_t)x[0] & ~(uint64_t)0 >> (64 - bits);
    switch ((CallKind)function) {
    case CALL_POPCOUNT: return __builtin_popcountll(v);
    case CALL_CLZ:
        while (leading < bits && !(v >> (bits - 1 - leading) & 1))
            leading++;
        return leading;
    case CALL_DP4A:
        v = byte_products(type, (uint64_t)x[0], (uint64_t)x[1]) + (uint64_t)x[2];
        return type == DT_I32 ? (int32_t)(uint32_t)v : (int64_t)(uint32_t)v;
    default: return 0;
    }
}

static uint64_t bits_of(DType type, VmValue x)
{
    switch (type) {
    case DT_F16: return f16_from_f32(x.f32);
    case DT_BF16: return bf16_from_f32(x.f32);
    case DT_F8E4M3: return f8e4m3_from_f32(x.f32);
    case DT_F8E5M2: return f8e5m2_from_f32(x.f32);
    default: return type_info(type)->bits == 64 ? x.u64 : x.u32;
    }
}

VmValue function_bitcast(DType from, DType to, VmValue x)
{
    uint64_t bits = bits_of(from, x);
    switch (to) {
    case DT_F16: return (VmValue){.f32 = f32_from_f16((uint16_t)bits)};
    case DT_BF16: return (VmValue){.f32 = f32_from_bf16((uint16_t)bits)};
    case DT_F8E4M3: return (VmValue){.f32 = f32_from_f8e4m3((uint8_t)bits)};
    case DT_F8E5M2: return (VmValue){.f32 = f32_from_f8e5m2((uint8_t)bits)};
    case DT_I16: return (VmValue){.i32 = (int16_t)bits};
    case DT_U16: return (VmValue){.i32 = (uint16_t)bits};
    case DT_I8: return (VmValue){.i32 = (int8_t)bits};
    case DT_U8: return (VmValue){.i32 = (uint8_t)bits};
    default: return (VmValue){.u64 = bits};
    }
}

int function_flops(int function)
{
    if (function == VM_FMA_TO_ODD)
        return 2;
    switch ((CallKind)function) {
    case CALL_FMA: return 2;
    case CALL_POPCOUNT:
    case CALL_CLZ:
    case CALL_DP4A:
    case CALL_BITCAST:
    case CALL_AWAIT:
    case CALL_TF32:
    case CALL_TF32_RZ:
    case CALL_ISNAN:
    case CALL_ISINF: return 0;
    default: return 1;
    }
}
