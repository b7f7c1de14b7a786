/* test_vm_float.c - 16- and 8-bit floats: every value there and back, every rounding against
 * nearest-even arithmetic in f64. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/random.h"
#include "runtime/vm.h"

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_every_value_comes_back(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float h = f32_from_f16((uint16_t)bits), b = f32_from_bf16((uint16_t)bits);
        if (!isnan(h))
            assert_int_equal(f16_from_f32(h), bits);
        if (!isnan(b))
            assert_int_equal(bf16_from_f32(b), bits);
    }
    for (uint32_t bits = 0; bits < 256; bits++) {
        float x = f32_from_f8e4m3((uint8_t)bits), y = f32_from_f8e5m2((uint8_t)bits);
        if (!isnan(x))
            assert_int_equal(f8e4m3_from_f32(x), bits);
        if (isfinite(y))
            assert_int_equal(f8e5m2_from_f32(y), bits);
    }
}

static void check(float x)
{
    assert_true(f32_from_f16(f16_from_f32(x)) == (float)float_round(DT_F16, x));
    assert_true(f32_from_bf16(bf16_from_f32(x)) == (float)float_round(DT_BF16, x));
    assert_true(f32_from_f8e4m3(f8e4m3_from_f32(x)) == (float)float_round(DT_F8E4M3, x));
    assert_true(f32_from_f8e5m2(f8e5m2_from_f32(x)) == (float)float_round(DT_F8E5M2, x));
}

static void test_rounding_is_to_nearest_even(void **state)
{
    (void)state;
    /* All exponents with the fractions around every tie of every format, and random ones. */
    Random r = random_new(3, 0);
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t high = 0; high < 2048; high++) {
            uint32_t base = exponent << 23 | high << 12;
            check(from_bits(base));
            check(-from_bits(base | 1));
            check(from_bits(base | 0xfff));
        }
        for (int i = 0; i < 1000; i++)
            check(from_bits(exponent << 23 | (uint32_t)random_below(&r, 1 << 23)));
    }
}

static void test_ends_of_the_range(void **state)
{
    (void)state;
    assert_int_equal(f16_from_f32(65519.0f), 0x7bff);
    assert_int_equal(f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(f16_from_f32(-INFINITY), 0xfc00);
    assert_int_equal(f16_from_f32(0x1p-25f), 0);
    assert_int_equal(f16_from_f32(0x1.8p-25f), 1);
    assert_int_equal(f8e4m3_from_f32(1e9f), 0x7e);
    assert_int_equal(f8e4m3_from_f32(-INFINITY), 0xfe);
    assert_int_equal(f8e5m2_from_f32(1e9f), 0x7b);
    assert_true(isnan(f32_from_f16(f16_from_f32(NAN))));
    assert_true(isnan(f32_from_f8e4m3(f8e4m3_from_f32(NAN))));
    assert_true(isnan(f32_from_f8e5m2(f8e5m2_from_f32(NAN))));
}

/* Of the bits of an f32: half of the last digit that stays is added, and what is behind it goes. */
static void check_tf32(uint32_t bits)
{
    const float x[3] = {from_bits(bits)};
    float expected = from_bits((bits + 0x1000) & 0xffffe000);
    float found = function_f32(CALL_TF32, x);
    assert_memory_equal(&found, &expected, sizeof found);
    double wide = function_f64(CALL_TF32, (const double[3]){x[0]});
    assert_true(wide == expected && !signbit(wide) == !signbit(expected));
    expected = from_bits(bits & 0xffffe000);
    found = function_f32(CALL_TF32_RZ, x);
    assert_memory_equal(&found, &expected, sizeof found);
}

static void test_tf32_has_11_digits(void **state)
{
    (void)state;
    Random r = random_new(5, 0);
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t high = 0; high < 64; high++) {
            uint32_t bits = (exponent & 1) << 31 | exponent << 23 | high << 12;
            check_tf32(bits);
            check_tf32(bits | 0xfff);
            check_tf32(bits | 1);
            check_tf32(exponent << 23 | (uint32_t)random_below(&r, 1 << 23));
        }
    check_tf32(0x7f7fefff);
    check_tf32(0x7f7ff000); /* to an infinity */
    check_tf32(0xff7fffff);
    check_tf32(0x7f800000);
    const double half = 1 + 0x1p-11;
    assert_true(function_f64(CALL_TF32, (const double[3]){half}) == 1 + 0x1p-10);
    assert_true(function_f64(CALL_TF32, (const double[3]){half - 0x1p-52}) == 1);
    assert_true(function_f64(CALL_TF32, (const double[3]){-1e300}) == -INFINITY);
    assert_true(function_f64(CALL_TF32, (const double[3]){0x1p-137}) == 0x1p-136);
    assert_true(isnan(function_f64(CALL_TF32, (const double[3]){NAN})));
    assert_true(function_f64(CALL_TF32_RZ, &half) == 1);
    assert_true(function_f64(CALL_TF32_RZ, (const double[3]){-1e300}) == -0x1.ffcp127);
    assert_true(function_f64(CALL_TF32_RZ, (const double[3]){0x1.8p-136}) == 0x1p-136);
    assert_true(function_f64(CALL_TF32_RZ, (const double[3]){INFINITY}) == INFINITY);
    assert_true(isnan(function_f64(CALL_TF32_RZ, (const double[3]){NAN})));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_comes_back),
        cmocka_unit_test(test_rounding_is_to_nearest_even),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_tf32_has_11_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
