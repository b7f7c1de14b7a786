/* Arenas, strings, checked arithmetic, contexts and the tables made from the .def files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ir/ir.h"

static void test_arena_zeroes_aligns_and_resets(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    unsigned char *first = arena_alloc(c->arena, 3);
    ArenaMark mark = arena_mark(c->arena);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 200000; size = size * 3 + 1) {
            unsigned char *room = arena_room(c->arena, size);
            assert_int_equal((uintptr_t)room % 16, 0);
            memset(room, 0xab, size);
            unsigned char *bytes = arena_alloc(c->arena, size);
            assert_int_equal((uintptr_t)bytes % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(bytes[i], 0);
            memset(bytes, 0xab, size);
        }
        arena_reset(c->arena, mark);
        assert_int_equal(arena_used(c->arena), mark.total);
    }
    assert_int_equal(first[0] | first[2], 0);
    ctx_free(c);
}

static void test_memory_limit_unwinds(void **state)
{
    (void)state;
    Context *c = ctx_new(1 << 20);
    jmp_buf guard;
    volatile int rounds = 0;
    if (!setjmp(guard)) {
        c->guard = &guard;
        for (;; rounds++)
            arena_alloc(c->arena, 1 << 16);
    }
    assert_int_equal(c->fatal, FATAL_OUT_OF_MEMORY);
    assert_non_null(strstr(c->fatal_message, "65536 more"));
    assert_in_range(rounds, 14, 16);
    ctx_free(c);
    assert_null(ctx_new(16));
}

static void test_interner_gives_one_pointer_for_one_text(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Name names[1000];
    for (int i = 0; i < 1000; i++)
        names[i] = ctx_namef(c, "name_%d", i);
    for (int i = 0; i < 1000; i++)
        assert_ptr_equal(names[i], ctx_namef(c, "name_%d", i));
    assert_ptr_equal(interner_get(c->names, "name_1x", 6), names[1]);
    assert_ptr_not_equal(interner_get(c->names, "a\0b", 3), interner_get(c->names, "a\0c", 3));
    ctx_free(c);
}

static void test_strbuf_grows(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    StrBuf s = strbuf_new(c->arena);
    for (int i = 0; i < 100; i++)
        strbuf_addf(&s, "%02d|", i);
    assert_int_equal(s.length, 300);
    assert_int_equal(strlen(s.text), 300);
    assert_memory_equal(s.text + 294, "98|99|", 7);
    ctx_free(c);
}

static void test_decimals_are_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {
        {20, 1, "20.0"},
        {0.1, 1, "0.1"},
        {-2.5, 2, "-2.5"},
        {1e-4, 1, "0.0001"},
        {1e-5, 1, "1e-5"},
        {1.25e-7, 3, "1.25e-7"},
        {1e14, 1, "100000000000000.0"},
        {1e15, 1, "1e15"},
        {-3.4e38, 2, "-3.4e38"},
        {0, 1, "0.0"},
        {5e-324, 1, "5e-324"},
        {123456, 6, "123456.0"},
    };
    Context *c = ctx_new(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        StrBuf s = strbuf_new(c->arena);
        strbuf_add_decimal(&s, cases[i].value, cases[i].digits);
        assert_string_equal(s.text, cases[i].text);
    }
    ctx_free(c);
}

static void test_vec_grows(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        VEC_PUSH(c->arena, &v, i);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i);
    ctx_free(c);
}

static void test_checked_arithmetic(void **state)
{
    (void)state;
    int64_t r;
    assert_true(checked_add(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    assert_false(checked_add(INT64_MAX, 1, &r));
    assert_true(checked_sub(INT64_MIN + 1, 1, &r) && r == INT64_MIN);
    assert_false(checked_sub(INT64_MIN, 1, &r));
    assert_true(checked_mul(INT64_C(1) << 31, INT64_C(1) << 31, &r) && r == INT64_C(1) << 62);
    assert_false(checked_mul(INT64_C(1) << 32, INT64_C(1) << 31, &r));
}

static void test_divisors(void **state)
{
    (void)state;
    assert_int_equal(gcd64(-12, 18), 6);
    assert_int_equal(gcd64(0, -5), 5);
    assert_int_equal(gcd64(0, 0), 0);
    assert_int_equal(gcd64(INT64_MIN, 0), 1); /* 2^63 does not fit */
    for (int64_t a = -9; a <= 9; a++) {
        assert_true(floor_div64(a, 4) * 4 <= a && a - floor_div64(a, 4) * 4 < 4);
        assert_int_equal(ceil_div64(a, 4), -floor_div64(-a, 4));
    }
}

static void test_tables_agree(void **state)
{
    (void)state;
    for (int i = 0; i < DT_COUNT; i++)
        assert_int_equal(type_find(type_info((DType)i)->name), i);
    for (int i = 0; i < CALL_COUNT; i++)
        assert_int_equal(call_find(call_info((CallKind)i)->name), i);
    for (int i = 0; i < AXIS_COUNT; i++)
        assert_int_equal(axis_find(axis_name((Axis)i)), i);
    for (int i = 0; i < SCOPE_COUNT; i++)
        assert_int_equal(scope_find(scope_name((Scope)i)), i);
    assert_int_equal(type_find("float"), DT_COUNT);
    assert_int_equal(axis_find("blockIdx.w"), AXIS_NONE);
    assert_true(expr_is_unary(EX_NEG) && expr_is_binary(EX_MIN) && !expr_is_binary(EX_SELECT));
}

static void test_errors_are_unique_and_explained(void **state)
{
    (void)state;
    for (int i = 0; i < ERROR_COUNT; i++) {
        const ErrorInfo *info = error_info((ErrorCode)i);
        assert_int_equal(error_find(info->id), i);
        assert_true(strlen(info->id) == 5 && strlen(info->title) > 0 &&
                    strlen(info->explanation) > 0);
    }
    assert_int_equal(error_find("E9999"), ERROR_COUNT);
}

static void test_floats_round_to_their_type(void **state)
{
    (void)state;
    assert_true(type_round(DT_F32, 0.1) == (double)0.1f);
    assert_true(type_round(DT_F32, 1e-45) == (double)1e-45f);
    assert_true(type_round(DT_F32, 1e39) == INFINITY);
    assert_true(type_round(DT_F16, 2049.0) == 2048.0 && type_round(DT_F16, 2051.0) == 2052.0);
    assert_true(type_round(DT_F16, 65520.0) == INFINITY && type_round(DT_F16, 65519.0) == 65504.0);
    assert_true(type_round(DT_F16, ldexp(1.5, -24)) == ldexp(1, -23));
    assert_true(type_round(DT_BF16, 257.0) == 256.0);
    assert_true(type_round(DT_F8E4M3, 460.0) == 448.0 && isnan(type_round(DT_F8E4M3, 480.0)));
    assert_true(type_round(DT_F8E5M2, -1e9) == -INFINITY);
    assert_true(signbit(type_round(DT_F16, -0.0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_zeroes_aligns_and_resets),
        cmocka_unit_test(test_memory_limit_unwinds),
        cmocka_unit_test(test_interner_gives_one_pointer_for_one_text),
        cmocka_unit_test(test_strbuf_grows),
        cmocka_unit_test(test_decimals_are_short),
        cmocka_unit_test(test_vec_grows),
        cmocka_unit_test(test_checked_arithmetic),
        cmocka_unit_test(test_divisors),
        cmocka_unit_test(test_tables_agree),
        cmocka_unit_test(test_errors_are_unique_and_explained),
        cmocka_unit_test(test_floats_round_to_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
