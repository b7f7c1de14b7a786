/* test_parse_resolve.c - which types expressions have, shown by the printer. The round trip,
 * parse(print(k)) == k, is checked for each, and the verifier runs on each. What statements mean
 * stands in tests/legality/steps/programs.tir. */
#include <stdio.h>

#include "tests/unit/parse_text.h"

/* Parses, resolves, prints, and does it again with what was printed. */
static const char *round_trip(Text *t, const char *text, int i)
{
    text_parse(t, text);
    Kernel *kernel = text_kernel(t, i);
    const char *printed = text_print(t, kernel);
    text_parse(t, printed);
    Kernel *again = text_kernel(t, 0);
    if (!kernel_equal(kernel, again))
        fail_msg("not the same after the round trip:\n%s\n%s", printed, text_print(t, again));
    return printed;
}

#define HEAD                                                                                       \
    "kernel k<N = 8, M>(x: f32[N, N], idx: i32[N], c: u8[N], h: f16[N], d: f64[N], a: f32) -> y: " \
    "f32[N], "                                                                                     \
    "z: i32[N], s: f64[N]"
static void test_conversions(void **state)
{
    (void)state;
    static const struct {
        const char *written, *printed; /* the right side of `s[i] = ...` (f64) */
    } cases[] = {
        {"1", "1.0"},
        {"0.1", "0.1"},
        {"0.1 + d[i]", "0.1 + d[i]"},
        {"i", "f64(i)"},
        {"x[i, 0] * i", "f64(x[i, 0] * f32(i))"},
        {"x[i, 0] / N", "f64(x[i, 0] / 8.0)"},
        {"x[i, 0] / M", "f64(x[i, 0] / f32(M))"},
        {"h[i] + 1", "f64(h[i] + 1.0)"},
        {"h[i] + x[0, 0]", "f64(f32(h[i]) + x[0, 0])"},
        {"c[i] + 1", "f64(i32(c[i]) + 1)"},
        {"c[i] + c[0]", "f64(i32(c[i]) + i32(c[0]))"},
        {"max(c[i], 1)", "f64(max(c[i], 1))"},
        {"-c[i]", "f64(-i32(c[i]))"},
        {"idx[i] << 2", "f64(idx[i] << 2)"},
        {"idx[i] + d[i]", "f64(idx[i]) + d[i]"},
        {"idx[i] > 3 ? 1 : d[i]", "idx[i] > 3 ? 1.0 : d[i]"},
        {"idx[i] > 3 ? 1 : idx[i] > 2 ? -1 : N", "idx[i] > 3 ? 1.0 : idx[i] > 2 ? f64(-1.0) : 8.0"},
        {"idx[i] > 3 ? 1 : i", "f64(idx[i] > 3 ? 1 : i)"},
        {"idx[i] == c[i] ? 1 : d[i]", "idx[i] == i32(c[i]) ? 1.0 : d[i]"},
        {"u32(idx[i]) + idx[i]", "f64(u32(idx[i]) + u32(idx[i]))"},
        {"i64(idx[i]) + u32(1)", "f64(i64(idx[i]) + i64(u32(1)))"},
        {"select(i < 3, 2, 3.5)", "f64(i < 3 ? 2.0 : 3.5)"},
        {"exp(d[i])", "exp(d[i])"},
        {"exp(i)", "f64(exp(f32(i)))"},
        {"pow(x[i, 0], 2)", "f64(pow(x[i, 0], 2.0))"},
        {"fma(h[i], 2, 3.5)", "f64(fma(h[i], 2.0, 3.5))"},
        {"abs(idx[i])", "f64(idx[i] < 0 ? -idx[i] : idx[i])"},
        {"f32(0.1)", "f64(f32(0.1))"},
        {"i32(2.5)", "f64(i32(f32(2.5)))"},
        {"d[i] * (1 / 2)", "d[i] * f64(1 / 2)"},
        {"inf - nan", "f64(inf - nan)"},
        {"idx[i] - -1", "f64(idx[i] - -1)"},
        {"(idx[i] & 3) | 1", "f64(idx[i] & 3 | 1)"},
        {"!(i < 3 && true) ? 1 : d[i]", "!(i < 3 && true) ? 1.0 : d[i]"},
        {"f64(x[i, 0])", "f64(x[i, 0])"},
        {"d[idx[i] + i]", "d[idx[i] + i32(i)]"},
        {"u64(18446744073709551615)", "f64(u64(18446744073709551615))"},
        {"i64(-9223372036854775808)", "f64(i64(-9223372036854775808))"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        Text t;
        text_open(&t);
        const char *text =
            arena_printf(t.ctx->arena, "%s { for i in N { s[i] = %s; z[i] = 0; y[i] = 0; } }", HEAD,
                         cases[n].written);
        const char *printed = round_trip(&t, text, 0);
        const char *wanted = arena_printf(t.ctx->arena, "s[i] = %s;\n", cases[n].printed);
        if (!strstr(printed, wanted))
            fail_msg("%s: expected %sfound\n%s", cases[n].written, wanted, printed);
        text_close(&t);
    }
}

/* Each type is stored, loaded, updated and converted. */
static void test_every_type(void **state)
{
    (void)state;
    for (int type = 0; type < DT_INDEX; type++) {
        Text t;
        text_open(&t);
        const char *name = type_info((DType)type)->name;
        bool truth = type == DT_BOOL;
        const char *one = truth ? "true" : "1", *zero = truth ? "false" : "0";
        const char *text = arena_printf(
            t.ctx->arena,
            "kernel k<N = 8, T: type = %s>(a: T, x: T[N], inout w: T[N]) -> y: T[N] {\n"
            "for i in N { y[i] = i > 0 ? x[i] : a; w[i] %s x[i]; }\n"
            "for i in N { w[i] = %s; for k in N y[i] %s T(f32(x[k]) + 1); }\n"
            "for i in N w[i] = i > 3 ? %s : i > 2 ? %s : w[i] == y[i] ? %s : %s; }",
            name, truth ? "&&=" : "+=", one, truth ? "||=" : "max=", one, zero, zero, one);
        round_trip(&t, text, 0);
        text_close(&t);
    }
}

/* Names, numbers and time in proportion: a thousand writers of one buffer. */
static void test_many_statements(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    StrBuf s = strbuf_new(t.ctx->arena);
    strbuf_add(&s, "kernel k<N = 8>() -> y: f32[N] {\n");
    for (int i = 0; i < 5000; i++)
        strbuf_addf(&s, "for i in N y[i] = %d;\n", i);
    strbuf_add(&s, "}\n");
    assert_non_null(strstr(round_trip(&t, s.text, 0), "y_4999: y[i] = 4999.0;"));
    text_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_many_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
