/* float.c - Converts 16- and 8-bit floats, bit for bit as the hardware does.
 *
 * All four conversions from f32 are one algorithm: cut the significand to the digits that the
 * exponent leaves, and add one in the last place where the rest is more than half, or half and the
 * result odd.  A carry runs into the exponent by itself. */
#include <math.h>
#include <string.h>

#include "runtime/vm.h"

/* A binary format below f32: sign, exponent, fraction, from the most significant bit. */
typedef struct {
    int exponent_bits, fraction_bits;
    /* bits of the largest finite value, of what is beyond it, and of NaN */
    uint32_t largest, overflow, nan;
} Format;

static const Format f16_format = {5, 10, 0x7bff, 0x7c00, 0x7fff};
static const Format bf16_format = {8, 7, 0x7f7f, 0x7f80, 0x7fff};
static const Format f8e4m3_format = {4, 3, 0x7e, 0x7e, 0x7f};
static const Format f8e5m2_format = {5, 2, 0x7b, 0x7b, 0x7f};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t shift_round(uint32_t value, int shift)
{
    if (shift > 25)
        return 0;
    uint32_t half = 1u << (shift - 1), rest = value & ((1u << shift) - 1);
    uint32_t kept = value >> shift;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static inline uint32_t narrow(const Format *format, float x)
{
    uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
    uint32_t sign = (bits >> 31) << (format->exponent_bits + format->fraction_bits);
    if (magnitude > 0x7f800000)
        return format->nan;
    if (magnitude == 0x7f800000)
        return sign | format->overflow;
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = (int)(magnitude >> 23) - 127 + bias; /* in the narrow format */
    int shift = 23 - format->fraction_bits;
    uint32_t result;
    if (exponent > 0) {
        result = shift_round(magnitude & 0x7fffff, shift) +
                 ((uint32_t)exponent << format->fraction_bits);
    } else if (magnitude >> 23 == 0) { /* subnormal here and there: bf16, else it is far below */
        result = exponent == 0 ? shift_round(magnitude, shift) : 0;
    } else {
        result = shift_round((magnitude & 0x7fffff) | 0x800000, shift + 1 - exponent);
    }
    return sign | (result > format->largest ? format->overflow : result);
}

/* Not of infinities and NaNs.  The fraction and the exponent move to their places; the product,
 * which is exact, makes up for the other bias. */
static inline float widen(const Format *format, uint32_t bits)
{
    int width = format->exponent_bits + format->fraction_bits;
    uint32_t sign = bits >> width << 31, magnitude = bits & ((1u << width) - 1);
    uint32_t bias = (1u << (format->exponent_bits - 1)) - 1;
    return float_of(sign | magnitude << (23 - format->fraction_bits)) *
           float_of((127 + 127 - bias) << 23);
}

uint16_t f16_from_f32(float x)
{
    return (uint16_t)narrow(&f16_format, x);
}

uint16_t bf16_from_f32(float x)
{
    return (uint16_t)narrow(&bf16_format, x);
}

uint8_t f8e4m3_from_f32(float x)
{
    return (uint8_t)narrow(&f8e4m3_format, x);
}

uint8_t f8e5m2_from_f32(float x)
{
    return (uint8_t)narrow(&f8e5m2_format, x);
}

float f32_from_f8e4m3(uint8_t bits)
{
    return (bits & 0x7f) == 0x7f ? NAN : widen(&f8e4m3_format, bits);
}

float f32_from_f8e5m2(uint8_t bits)
{
    return f32_from_f16((uint16_t)((unsigned)bits << 8));
}

double float_round(DType type, double x)
{
    double rounded = type_round(type, x);
    if (type == DT_F8E4M3 && !isnan(x) && !(fabs(rounded) <= 448))
        return copysign(448, x);
    if (type == DT_F8E5M2 && !isnan(x) && !(fabs(rounded) <= 57344))
        return copysign(57344, x);
    return rounded;
}
