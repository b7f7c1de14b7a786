/* Bounds of what expressions compute from data, and which types have their values: against a count
 * by hand. */
#include <stdio.h>

#include "vm_run.h"

#include "passes/analysis/regions/data_range.h"

/* The value that a program of one statement stores. */
static const Expr *value(Context *c, const char *type, const char *text)
{
    const Kernel *kernel = parsed(
        c, arena_printf(
               c->arena,
               "kernel t<N = 8>(a: i8[N], b: u8[N], w: u32[N], l: i64[N], m: u64[N], h: f16[N], "
               "e: f8e5m2[N], f: f32[N]) -> y: %s[N] { for i in N { y[i] = %s; } }",
               type, text));
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            return at.stmt->u.store.value;
    return NULL;
}

static const char *range(Context *c, const char *type, const char *text)
{
    Bounds b = data_range(value(c, type, text));
    if (!bounds_are_finite(b))
        return "none";
    return arena_printf(c->arena, "%lld..%lld", (long long)b.min, (long long)b.max);
}

static void test_integers(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_string_equal(range(c, "i32", "(i32(b[i]) & 15) - 8"), "-8..7");
    assert_string_equal(range(c, "i32", "i32(b[i]) >> 4"), "0..15");
    assert_string_equal(range(c, "i32", "i32(w[i] >> u32(i * 4) & 15)"), "0..15");
    assert_string_equal(range(c, "i32", "-i32(a[i]) * 3"), "-381..384");
    assert_string_equal(range(c, "i32", "i32(b[i]) << 4"), "0..4080");
    assert_string_equal(range(c, "i32", "i32(a[i]) % 16"), "-15..15");
    assert_string_equal(range(c, "i32", "max(min(i32(a[i]), 7), i32(b[i]) & 3)"), "0..7");
    assert_string_equal(range(c, "i32", "i % 2 == 0 ? i32(a[i]) : 300"), "-128..300");
    /* it wraps around, or nothing is known */
    assert_string_equal(range(c, "i8", "i8(a[i] + a[i])"), "-128..127");
    assert_string_equal(range(c, "u8", "u8(i32(b[i]) - 1)"), "0..255");
    assert_string_equal(range(c, "i32", "i32(a[i]) >> 1"), "-2147483648..2147483647");
    assert_string_equal(range(c, "i64", "l[i] - 1"), "none");
    assert_string_equal(range(c, "u64", "m[i] & 7"), "0..7");
    assert_string_equal(range(c, "u64", "u64(b[i]) - 1"), "none");
}

static void test_floats(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_string_equal(range(c, "f32", "f32(a[i]) * 2 - 1"), "-257..253");
    assert_string_equal(range(c, "f32", "f32(f16(i32(a[i]) * 16))"), "-2048..2032");
    assert_string_equal(range(c, "f32", "f32(f16(i32(a[i]) * 17))"), "none"); /* may round */
    assert_string_equal(range(c, "f32", "f32(a[i]) * 0.5"), "none");
    assert_string_equal(range(c, "f32", "f[i] * 0"), "none"); /* NaN, or -0 */
    assert_string_equal(range(c, "f32", "min(f[i], 3)"), "none");
    assert_string_equal(range(c, "f32", "f32(b[i]) / 2"), "none");
    assert_string_equal(range(c, "i32", "i32(f[i])"), "-2147483648..2147483647");
}

static bool has(Context *c, DType type, const char *text)
{
    return type_has_values(type, value(c, "f32", text));
}

static void test_types(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_true(has(c, DT_BF16, "f32(a[i])"));
    assert_true(has(c, DT_BF16, "f32(i32(b[i]) + 1)"));
    assert_false(has(c, DT_BF16, "f32(i32(b[i]) + 2)")); /* 257 */
    assert_true(has(c, DT_F16, "f32(i32(b[i]) + 2)"));
    assert_true(has(c, DT_F8E4M3, "f32((b[i] & 31) / 1 & 15)"));
    assert_false(has(c, DT_F8E4M3, "f32(b[i] & 31)"));
    assert_true(has(c, DT_F16, "f32(e[i])"));
    assert_true(has(c, DT_BF16, "f32(f16(e[i]))"));
    assert_false(has(c, DT_BF16, "f32(h[i])"));
    assert_false(has(c, DT_F16, "f32(bf16(f[i]))"));
    assert_true(has(c, DT_BF16, "f32(bf16(f[i] * 3))"));
    assert_true(has(c, DT_BF16, "i > 2 ? -f32(bf16(f[i])) : 0"));
    assert_false(has(c, DT_BF16, "i > 2 ? f32(bf16(f[i])) : 0.3"));
    assert_false(has(c, DT_BF16, "f32(bf16(f[i])) * 2"));
    assert_false(has(c, DT_I8, "f32(a[i])")); /* -0 is none, in general */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_integers, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_floats, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_types, new_context, free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
