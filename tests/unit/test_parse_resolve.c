/* test_parse_resolve.c - what programs mean: the IR of a text, shown by the printer.
 *
 * Each case is a program and the text that its IR prints as; the round trip, parse(print(k)) == k,
 * is checked for each, and the verifier runs on each. */
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

typedef struct {
    /* what the body prints as, without indentation of the kernel */
    const char *head, *body, *expected;
} Case;

static void check_case(const Case *k)
{
    Text t;
    text_open(&t);
    const char *text = arena_printf(t.ctx->arena, "%s\n{\n%s}\n", k->head, k->body);
    const char *printed = round_trip(&t, text, 0);
    const char *body = strstr(printed, "\n{\n");
    if (!body || strcmp(body + 3, arena_printf(t.ctx->arena, "%s}\n", k->expected)) != 0)
        fail_msg("expected\n%sfound\n%s", k->expected, body ? body + 3 : printed);
    text_close(&t);
}

static void check_cases(const Case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_case(&cases[i]);
}
#define CHECK_CASES(cases) check_cases((cases), sizeof(cases) / sizeof *(cases))

#define HEAD                                                                                       \
    "kernel k<N = 8, M>(x: f32[N, N], idx: i32[N], c: u8[N], h: f16[N], d: f64[N], a: f32) -> y: " \
    "f32[N], "                                                                                     \
    "z: i32[N], s: f64[N]"
/* What HEAD leaves to be written. */
#define REST "    for r in 8 {\n        z[r] = 0;\n        s[r] = 0.0;\n    }\n"

/* ---- blocks ---- */

static void test_reductions(void **state)
{
    (void)state;
    static const Case cases[] = {
        {HEAD, REST "for i in N { y[i] = 0; for k in M y[i] += x[i, k % 8]; }",
         REST "    for i in 8, k in M {\n"
              "        init y[i] = 0.0;\n"
              "        y[i] += x[i, k % 8];\n"
              "    }\n"},
        {HEAD, REST "sum: for i in N { y[i] = 0; for k in 0..N, l in k + 1..N y[i] max= x[k, l]; }",
         REST "    for i in 8, k in 8, l in k + 1..8\n"
              "        sum: {\n"
              "            init y[i] = 0.0;\n"
              "            y[i] max= x[k, l];\n"
              "        }\n"},
        /* the element is set once for each t, so it is not the init of a reduction over t */
        {HEAD, REST "for t in N { y[0] = 0; for k in N y[0] += x[t, k]; }",
         REST "    for t in 8 {\n"
              "        block y(t in 8 = t) {\n"
              "            y[0] = 0.0;\n"
              "        }\n"
              "        for k in 8\n"
              "            y_1: y[0] += x[t, k];\n"
              "    }\n"},
        /* the first value depends on the element itself */
        {HEAD, REST "for i in N { y[i] = y[i] + 1; for k in N y[i] += x[i, k]; }",
         REST "    for i in 8 {\n"
              "        block y(i in 8 = i) {\n"
              "            y[i] = y[i] + 1.0;\n"
              "        }\n"
              "        for k in 8\n"
              "            y_1: y[i] += x[i, k];\n"
              "    }\n"},
        /* two labels ask for two blocks */
        {HEAD, REST "for i in N { first: y[i] = 0; for k in N second: y[i] += x[i, k]; }",
         REST "    for i in 8 {\n"
              "        block first(i in 8 = i) {\n"
              "            y[i] = 0.0;\n"
              "        }\n"
              "        for k in 8\n"
              "            second: y[i] += x[i, k];\n"
              "    }\n"},
        {HEAD, REST "for k in N { init y[0] = 1; y[0] *= x[k, k]; }",
         REST "    for k in 8 {\n        init y[0] = 1.0;\n        y[0] *= x[k, k];\n    }\n"},
    };
    CHECK_CASES(cases);
}

static void test_control(void **state)
{
    (void)state;
    static const Case cases[] = {
        {HEAD, REST "for i in N - 1..0 step -1 y[i] = a; for i in 0..N step 3 y[i] = 1;",
         REST "    for i in 7..0 step -1\n"
              "        y[i] = a;\n"
              "    for i in 8 step 3\n"
              "        y_1: y[i] = 1.0;\n"},
        {HEAD, REST "if M > 3 { for i in N y[i] = 1; } else y[0] = 2;",
         REST "    if M > 3\n"
              "        for i in 8\n"
              "            y[i] = 1.0;\n"
              "    else\n"
              "        y_1: y[0] = 2.0;\n"},
        /* data decide: one block with all that is in it */
        {HEAD, REST "for i in N if x[i, i] > 0.5 { y[i] = 1; for k in i y[k] += 1; }",
         REST "    for i in 8\n"
              "        block y(i in 8 = i) {\n"
              "            if x[i, i] > 0.5 {\n"
              "                y[i] = 1.0;\n"
              "                for k in i\n"
              "                    y[k] += 1.0;\n"
              "            }\n"
              "        }\n"},
        {HEAD,
         REST
         "for i in N y[i] = 0; rows: for i in N - 1 for k in idx[i]..idx[i + 1] y[i] += x[i, k];",
         REST "    for i in 8\n"
              "        y[i] = 0.0;\n"
              "    for i in 7\n"
              "        block rows(i in 7 = i) {\n"
              "            for k in idx[i]..idx[i + 1]\n"
              "                y[i] += x[i, k];\n"
              "        }\n"},
        {HEAD, REST "for i in N y[i] = 0; for i in N less: y[c[i]] -= 2;",
         REST "    for i in 8\n"
              "        y[i] = 0.0;\n"
              "    for i in 8\n"
              "        less: y[c[i]] += -2.0;\n"},
        {HEAD, REST "for i in N y[i] /= 2;", REST "    for i in 8\n        y[i] = y[i] / 2.0;\n"},
    };
    CHECK_CASES(cases);
}

static void test_written_blocks(void **state)
{
    (void)state;
    static const Case cases[] = {
        {HEAD,
         REST "for b in 3 bind blockIdx.x, l in 4 unroll @key, k in N @t(\"x\") @l([1, -2])\n"
              "block B(i in N = b * 4 + l, reduce k in i..N = k) where l < N atomic @p(3) {\n"
              "init y[i] = 0; y[i] += x[i, k]; }",
         REST "    for b in 3 bind blockIdx.x\n"
              "        for l in 4 unroll @key(1)\n"
              "            for k in 8 @t(\"x\") @l([1, -2])\n"
              "                block B(i in 8 = b * 4 + l, reduce k in i..8 = k) where l < 8 "
              "atomic @p(3) {\n"
              "                    init y[i] = 0.0;\n"
              "                    y[i] += x[i, k];\n"
              "                }\n"},
        {HEAD,
         REST "temp t: f32[N, 2 * N] in shared pad(0, 1) align(1, 32, 8);\n"
              "for i in N { t[i, 0] = a; y[i] = t[i, 0]; }",
         REST "    temp t: f32[8, 16] in shared pad(0, 1) align(1, 32, 8);\n    for i in 8 {\n"
              "        t[i, 0] = a;\n        y[i] = t[i, 0];\n    }\n"},
    };
    CHECK_CASES(cases);
}

/* ---- types ---- */

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
        const char *text = arena_printf(
            t.ctx->arena,
            "kernel k<N = 8, T: type = %s>(a: T, x: T[N], inout w: T[N]) -> y: T[N] {\n"
            "for i in N { y[i] = i > 0 ? x[i] : a; w[i] %s x[i]; }\n"
            "for i in N { w[i] = %s; for k in N y[i] %s T(f32(x[k]) + 1); } }",
            name, truth ? "&&=" : "+=", truth ? "true" : "1", truth ? "||=" : "max=");
        round_trip(&t, text, 0);
        text_close(&t);
    }
}

/* ---- sizes ---- */

static void test_overrides(void **state)
{
    (void)state;
    static const char text[] = "kernel k<N = 8, M = 4, T: type = f32>(x: T[N * M]) -> y: T[N] {\n"
                               "for i in N y[i] = x[i * M]; }";
    static const char *const args[] = {"N=16", "M=?", "T=f16", "N=32"};
    SizeOverride overrides[4];
    Text t;
    text_open(&t);
    AstFile *file = text_parse(&t, text);
    for (int i = 0; i < 4; i++)
        assert_true(size_override_parse(t.ctx, args[i], &overrides[i]));
    Kernel *kernel = resolve_kernel(t.ctx, file->kernels[0], overrides, 4);
    assert_non_null(kernel);
    assert_string_equal(text_print(&t, kernel),
                        "kernel k<N = 32, M>(x: f16[32 * M]) -> y: f16[32]\n{\n"
                        "    for i in 32\n        y[i] = x[i * M];\n}\n");
    text_close(&t);
}

/* ---- lowered kernels ---- */

static const char lowered[] = "kernel low<N>(x: f32[N], idx: i32[N]) -> y: f32[N]\n{\n"
                              "    temp g: f32[64];\n"
                              "    for h in 2\n"
                              "        launch f grid(N / 4, 1, 1) block(32, 2, 1) {\n"
                              "            temp s: f32[4, 4] in shared pad(0, 1) align(0, 4, 1);\n"
                              "            temp r: f32[4] in local;\n"
                              "            let i = blockIdx.x * 4 + threadIdx.x;\n"
                              "            for k in 4 unroll\n"
                              "                if i + k < N && idx[i] > 0 {\n"
                              "                    s[k, i] = x[i];\n"
                              "                    r[k] = s[k, i];\n"
                              "                }\n"
                              "            barrier \"s: written above by \\\"others\\\"\";\n"
                              "            y[idx[i]] atomic += s[0, 1];\n"
                              "            let q = x[0] + 1.0;\n"
                              "            y[i] = q;\n"
                              "            y[i64(i) * 3] = y[i64(5)];\n"
                              "            y[index(i64(i) * 3)] = 0.0;\n"
                              "        }\n"
                              "}\n";

static void test_lowered(void **state)
{
    (void)state;
    Text t;
    text_open(&t);
    assert_string_equal(round_trip(&t, lowered, 0), lowered);
    text_close(&t);
}

/* ---- the programs of the design ---- */

static const char design[] =
    "kernel matmul<M = 1024, N = 1024, K = 1024>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"
    "{\n"
    "    for i in M, j in N {\n"
    "        C[i, j] = 0;\n"
    "        for k in K\n"
    "            C[i, j] += A[i, k] * B[k, j];\n"
    "    }\n"
    "}\n"
    "kernel transpose<R = 4096, C = 4096, T: type = f32>(in: T[R, C]) -> out: T[C, R]\n"
    "{\n"
    "    for r in R, c in C\n"
    "        out[c, r] = in[r, c];\n"
    "}\n"
    "kernel histogram<N = 1048576>(color: u8[N]) -> hist: i32[256]\n"
    "{\n"
    "    for b in 256\n"
    "        hist[b] = 0;\n"
    "    for i in N\n"
    "        hist[color[i]] += 1;\n"
    "}\n"
    "kernel adjacent_difference<N = 1048576>(x: f32[N]) -> y: f32[N]\n"
    "{\n"
    "    for i in N\n"
    "        y[i] = i > 0 ? x[i] - x[i - 1] : x[i];\n"
    "}\n"
    "kernel matmul_bias_relu<M = 1024, N = 1024, K = 1024>\n"
    "    (A: f32[M, K], B: f32[K, N], bias: f32[N]) -> C: f32[M, N]\n"
    "{\n"
    "    temp acc: f32[M, N];\n"
    "    for i in M, j in N {\n"
    "        acc[i, j] = 0;\n"
    "        for k in K\n"
    "            acc[i, j] += A[i, k] * B[k, j];\n"
    "    }\n"
    "    epilogue: for i in M, j in N\n"
    "        C[i, j] = max(acc[i, j] + bias[j], 0);\n"
    "}\n";

static void test_design(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        Text t;
        text_open(&t);
        const char *printed = round_trip(&t, design, i);
        if (i == 4)
            assert_non_null(strstr(printed, "epilogue: C[i, j] = max(acc[i, j] + bias[j], 0.0);"));
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
        cmocka_unit_test(test_reductions),      cmocka_unit_test(test_control),
        cmocka_unit_test(test_written_blocks),  cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_every_type),      cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_lowered),         cmocka_unit_test(test_design),
        cmocka_unit_test(test_many_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
