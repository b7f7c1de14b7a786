/* narrow.h - floats of 16 and 8 bits, and TF32, as numbers, by their definition (IEEE 754; OCP
 * 8-bit floating point; PTX). Rounds to nearest, ties to even; the 8-bit types saturate, as the
 * conversions of PTX with .satfinite do. */
#ifndef NARROW_H
#define NARROW_H

#include <math.h>
#include <string.h>

struct NarrowFormat {
    int exponent_bits, fraction_bits;
    bool has_infinity, saturates;
};
static constexpr NarrowFormat f16_format = {5, 10, true, false}, bf16_format = {8, 7, true, false};
static constexpr NarrowFormat f8e4m3_format = {4, 3, false, true},
                              f8e5m2_format = {5, 2, true, true};

/* 2 to the power of an exponent that a normal double has; scalbn takes much longer. */
static inline double power_of_two(int exponent)
{
    unsigned long long bits = (unsigned long long)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static inline double narrow_value(NarrowFormat f, unsigned bits)
{
    int top = (1 << f.exponent_bits) - 1, bias = top >> 1;
    int exponent = bits >> f.fraction_bits & top, fraction = bits & ((1 << f.fraction_bits) - 1);
    double sign = bits >> (f.exponent_bits + f.fraction_bits) & 1 ? -1 : 1;
    if (exponent == top && f.has_infinity)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == top && fraction == (1 << f.fraction_bits) - 1)
        return NAN;
    int lead = exponent ? 1 << f.fraction_bits : 0;
    return sign * (lead + fraction) *
           power_of_two((exponent ? exponent : 1) - bias - f.fraction_bits);
}

/* Raises FE_INEXACT where it rounds. */
static inline unsigned narrow_bits(NarrowFormat f, double x)
{
    int top = (1 << f.exponent_bits) - 1, bias = top >> 1, m = f.fraction_bits;
    unsigned sign = (signbit(x) ? 1u : 0u) << (f.exponent_bits + m);
    unsigned infinity = (unsigned)top << m;
    unsigned largest = f.has_infinity ? infinity - 1 : infinity + (1u << m) - 2;
    if (x != x)
        return sign | (infinity + (1u << m) - 1);
    double a = fabs(x);
    if (a == 0)
        return sign;
    int exponent = isinf(a) || ilogb(a) > top - bias ? top - bias + 1 : ilogb(a);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    double digits = isinf(a) ? INFINITY : rint(scalbn(a, m - exponent));
    unsigned bits = digits > 4.0 * (1 << m)
                        ? infinity + (2u << m)
                        : (unsigned)((exponent - 1 + bias) << m) + (unsigned)digits;
    if (bits > largest)
        bits = f.saturates ? largest : infinity;
    return sign | bits;
}

/* a * b + c, rounded once. Products of 16-bit floats are exact in double; a sum that is not becomes
 * its odd neighbour, which rounds as the sum does. */
static inline unsigned narrow_fma(NarrowFormat f, double a, double b, double c)
{
    double product = a * b, sum = product + c, back = sum - product;
    double error = (product - (sum - back)) + (c - back);
    long long bits = 0;
    memcpy(&bits, &sum, sizeof bits);
    if (isfinite(sum) && error != 0 && bits % 2 == 0)
        sum = nextafter(sum, error > 0 ? INFINITY : -INFINITY);
    return narrow_bits(f, sum);
}

/* TF32: the hardware ignores the digits of f32 that it does not have. */
static inline double tf32_value(unsigned bits)
{
    float value;
    bits &= 0xffffe000;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
