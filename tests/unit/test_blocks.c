/* Blocks of loops, paddings and epilogues: every refusal with its text. What the results mean is
 * tested with tests/programs/blocks.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "include/tirc.h"

/* The schedule of `steps` on the program is refused with the code, and a message that holds
 * `words`. */
static void refuse(const char *program, const char *steps, const char *code, const char *words)
{
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *scheduled;
    char text[4096];
    assert_true(snprintf(text, sizeof text,
                         "%s\n"
                         "schedule s for any { %s }\n",
                         program, steps) < (int)sizeof text);
    assert_int_equal(tirc_parse_text(t, "test.tir", text, strlen(text), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    if (tirc_apply(t, file, kernel, "s", NULL, 0, &scheduled) != TIRC_REFUSED)
        fail_msg("not refused: %s", steps);
    tirc_diagnostic d = tirc_diagnostic_at(t, 0);
    if (strcmp(d.code, code) || !strstr(d.message, words))
        fail_msg("expected %s with '%s', found\n%s", code, words, tirc_diagnostics(t, false));
    tirc_free(t);
}

#define TWO                                                                                        \
    "kernel k<N = 8>(x: f32[N]) -> y: f32[N], z: f32[N] { for i in N { y[i] = x[i]; z[i] = x[i]; " \
    "} }"
#define TEMP                                                                                       \
    "kernel k<N = 8>(x: f32[N]) -> y: f32[N] { for i in N { temp t: f32[1]; t[0] = x[i]; y[i] = "  \
    "t[0]; } }"
#define HIST                                                                                       \
    "kernel k(c: u8[64], inout h: i32[256]) -> n: i32[64] { for i in 64 { h[c[i]] += 1; n[i] = "   \
    "1; } }"
#define SUM(type, value)                                                                           \
    "kernel k(A: " type "[60, 30], b: " type "[60]) -> y: " type "[60] { temp t: " type            \
    "[60]; for i in 60 { t[i] = 0; "                                                               \
    "for k in 30 t[i] += A[i, k]; } for i in 60 y[i] = " value "; }"
#define EINSUM(value)                                                                              \
    "kernel k(A: f32[60, 30], B: f32[30], s: f32[60]) -> y: f32[60] { for i in 60 { y[i] = 0; "    \
    "for k in 30 y[i] += " value "; } }"
#define PAD(value) "kernel k(x: f32[64]) -> y: f32[66] { for i in 66 y[i] = " value "; }"

static void blockize_refuses(void **state)
{
    (void)state;
    refuse(TWO, "blockize(z, y);", "E0810", "'y' does not follow 'z'");
    refuse(TWO, "let [i] = loops(y); unroll(i); blockize(i);", "E0410", "");
    refuse(TEMP, "let [i] = loops(y); blockize(i);", "E0810", "temp 't' is declared in it");
    refuse(TWO, "annotate(y, note); let [i] = loops(y); blockize(i);", "E0810",
           "annotation 'note', which would be lost");
    refuse(HIST, "atomic(h); let [i] = loops(h); blockize(i);", "E0810",
           "some of its blocks are atomic and some are not");
}

#define PRODUCT                                                                                    \
    "kernel k<K = 4>(A: f32[6, K], B: f32[K]) -> y: f32[6] { for i in 6 { y[i] = 0; for k in K "   \
    "y[i] += A[i, k] * B[k]; } }"
#define RESTS                                                                                      \
    "kernel k<N = 32>(x: i32[N, N]) -> s: i32[N] { for j in N { s[j] = 0; for i in j + 1..N s[j] " \
    "+= x[i, j]; } }"

/* The steps are accepted, and what the program prints as then holds `words`. */
static void expect(const char *program, const char *steps, const char *words)
{
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel, *scheduled;
    char text[4096];
    assert_true(snprintf(text, sizeof text,
                         "%s\n"
                         "schedule s for any { %s }\n",
                         program, steps) < (int)sizeof text);
    assert_int_equal(tirc_parse_text(t, "test.tir", text, strlen(text), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    if (tirc_apply(t, file, kernel, "s", NULL, 0, &scheduled) != TIRC_OK)
        fail_msg("refused: %s", tirc_diagnostics(t, false));
    const char *out;
    size_t length;
    assert_int_equal(tirc_emit(t, scheduled, TIRC_TIR, NULL, (const void **)&out, &length),
                     TIRC_OK);
    if (!strstr(out, words))
        fail_msg("expected '%s' in\n%s", words, out);
    tirc_free(t);
}

/* The init of the new block runs for each element, whatever the loops outside are: one that takes
 * no value, or none at all where the reduction is empty, is an iterator too; one that says which
 * element it is as well has no place for an init. */
static void inits_of_blocks_stay(void **state)
{
    (void)state;
    expect("kernel k(A: f32[6, 1]) -> y: f32[6] { for i in 6 { y[i] = 0; for k in 1 y[i] += A[i, "
           "k]; } }",
           "blockize(y);", "for i in 6, k in 1\n        y_o: {\n            init y[i] = 0.0;");
    expect(RESTS, "let [j, i] = loops(s); let [io, im, ii] = split(i, [_, 16, 5]); blockize(ii);",
           "reduce io in (110 - j) / 80 = io, reduce im in 16 = im) {\n            init s[j] = 0;");
    refuse(PRODUCT, "let [i, k] = loops(y); fuse(i, k); blockize(y);", "E0810",
           "iterator 'i' of block 'y', 'i_k_fused / 4', and its reduction both depend on loop "
           "'i_k_fused'");
}

/* A block that never runs stays with its bounds as they are read: 1..1, and not 0 + 1..1. */
static void bounds_are_numbers(void **state)
{
    (void)state;
    expect("kernel k(s: u8[1], inout t: i32[1, 1]) { for i in 0..0 step -1, j in i + 1..1 { left: "
           "t[i, j] max= t[i, j - 1]; if i + 1 < 1 t[i, j] max= t[i + 1, j - 1]; for k in i + 1..j "
           "t[i, j] max= t[i, k]; } }",
           "let [i, j] = loops(left); blockize(j); bind(i, blockIdx.x); blockize(t_o);",
           "for j in 1..1 {");
}

static void epilogues_are_exact(void **state)
{
    (void)state;
    refuse(SUM("f32", "t[i] + b[i]"), "fuse_reduction_epilogue(t, y);", "E0820",
           "(16777216 + 1) + 1 is 16777216");
    refuse(SUM("f32", "max(t[i], 0)"), "fuse_reduction_epilogue(t, y);", "E0821",
           "for the terms 1, -2, 3 the sum is 2");
    refuse(SUM("i32", "min(t[i], 6)"), "fuse_reduction_epilogue(t, y);", "E0821",
           "applies min to the complete sum");
    refuse(SUM("i32", "t[i] * b[i]"), "fuse_reduction_epilogue(t, y);", "E0821",
           "the reduction's own '+'");
    refuse(SUM("i32", "t[i] + t[i]"), "fuse_reduction_epilogue(t, y);", "E0821",
           "the reduction's own '+'");
    refuse(SUM("i32", "t[59 - i] + b[i]"), "fuse_reduction_epilogue(t, y);", "E0822",
           "at their own iterators");
    refuse(SUM("i32", "b[i]"), "fuse_reduction_epilogue(t, y);", "E0822",
           "is not a single plain store");
    refuse(SUM("i32", "t[i] + b[i]"), "fuse_reduction_epilogue(y, t);", "E0822",
           "is not a reduction with one update into a temp");
}

static void padding_refuses(void **state)
{
    (void)state;
    refuse(PAD("i < 64 ? x[i] : x[0]"), "let [i] = loops(y); decompose_padding(y, i);", "E0830",
           "not one store that selects a value");
    refuse(PAD("x[i % 64] > 0 ? x[i % 64] : 0"), "let [i] = loops(y); decompose_padding(y, i);",
           "E0830", "not one store that selects a value");
    refuse("kernel k(x: f32[64]) -> y: f32[33], z: f32[33] { for i in 66 y[i / 2] = i < 64 ? x[i] "
           ": 0; for j in 33 z[j] = 0; }",
           "decompose_padding(y, loops(y)[0]);", "E0830", "does not write");
    refuse("kernel k(x: f32[64]) -> y: f32[66], z: f32[66] { for i in 66 { y[i] = i < 64 ? x[i] : "
           "0; z[i] = y[i]; } }",
           "let [i] = loops(y); decompose_padding(y, i);", "E0830",
           "block 'z' in loop 'i' also accesses 'y'");
    refuse("kernel k(x: f32[64]) -> y: f32[66], z: f32[8] { for i in 66 y[i] = i < 64 ? x[i] : 0; "
           "for j in 8 z[j] = x[j]; }",
           "decompose_padding(y, loops(z)[0]);", "E0830",
           "the loop does not enclose the block 'y'");
}

#define FILL(value, t, rest)                                                                       \
    "kernel k(x: f32[100], w: f32[128]) -> y: f32[100] { temp t: f32[100]; fill: for i in 100 "    \
    "t[" t "] = " value "; " rest " for i in 100 y[i] = t[i]; }"

static void padded_tails_are_not_seen(void **state)
{
    (void)state;
    const char *pad = "split(loops(fill)[0], [_, 32], tail = pad);";
    refuse(FILL("2.0", "i", ""), "split(loops(y)[0], [_, 32], tail = pad);", "E0811",
           "they would write 'y', which is not a temp");
    refuse(FILL("x[i]", "i", ""), pad, "E0811",
           "they would read x[.. i ..], past the end of axis 0, which has 100 elements");
    refuse(FILL("w[i + 1]", "i", ""), pad, "E0811", "they would read w[.. i + 1 ..]");
    refuse(FILL("2.0", "99 - i", ""), pad, "E0811", "no axis has 'i' alone as subscript");
    refuse(FILL("2.0", "i", ""),
           "let [i] = loops(fill); shift(i, 1); split(i, [_, 32], tail = pad);", "E0811",
           "from 0 with step 1");
    refuse("kernel k(x: f32[100]) -> y: f32 { temp t: f32; t = 0; for i in 100 t += x[i]; y = t; }",
           "split(loops(t)[0], [_, 32], tail = pad);", "E0811",
           "is not a complete spatial iterator of block 't'");
}

static void einsums_only(void **state)
{
    (void)state;
    refuse(EINSUM("A[i, k] * s[i]"), "pad_einsum(y, [1, 8]);", "E0832",
           "0 times infinity is not 0");
    refuse(EINSUM("A[i, k] + 1"), "pad_einsum(y, [1, 8]);", "E0832",
           "may be nonzero where 'k' is padded");
    refuse(EINSUM("A[i, k] * B[29 - k]"), "pad_einsum(y, [1, 8]);", "E0832", "");
    refuse(EINSUM("A[59 - i, k] * B[k]"), "pad_einsum(y, [8, 1]);", "E0831",
           "subscripts of an einsum are single iterators");
    refuse(EINSUM("A[i, k] * B[k]"), "pad_einsum(y, [8]);", "E0831",
           "2 iterators, found 1 paddings");
    refuse(EINSUM("A[i, k] * B[k]"), "pad_einsum(y, [8, 0]);", "E0831", "at least 1, found 0");
    refuse(EINSUM("A[i, k] * B[k]"), "split(loops(y)[0], [_, 4]); pad_einsum(y, [8, 8]);", "E0831",
           "before its loops are split");
    refuse(EINSUM("A[i, k] * B[k]"), "unroll(loops(y)[1]); pad_einsum(y, [8, 8]);", "E0410", "");
    refuse("kernel k(A: f32[70, 30]) -> y: f32[60] { for i in 60 { y[i] = 0; for k in 30 y[i] += "
           "A[i, k] * A[i, k]; } }",
           "pad_einsum(y, [8, 8]);", "E0831", "axis 0 of 'A' has 70 elements");
    refuse("kernel k(A: f32[60, 30]) -> y: f32[60] { for i in 60 { y[i] = 1; for k in 30 y[i] *= "
           "A[i, k]; } }",
           "pad_einsum(y, [1, 8]);", "E0832", "in a sum that starts from a literal");
    refuse("kernel k(A: f32[1, 30]) -> y: f32[1] { for i in 1 { y[i] = 0; for k in 30 y[i] += A[i, "
           "k] * A[i, k]; } }",
           "transform_block_layout(y, [i, k] -> [i / 5, k]); pad_einsum(y, [4, 1]);", "E0831",
           "would update the same elements");
    refuse(EINSUM("A[i, k] * B[k]"), "pad_einsum(y, [8, 8], zeros = above);", "E0831",
           "'before' or 'behind'");
    refuse("kernel k(A: i32[60, 30]) -> y: i32[60] { for i in 60 { y[i] = 0; for k in 30 y[i] += "
           "A[i, k] * i32(k); } }",
           "pad_einsum(y, [1, 8], zeros = before);", "E0832", "whose value depends on 'k' itself");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blockize_refuses),     cmocka_unit_test(bounds_are_numbers),
        cmocka_unit_test(inits_of_blocks_stay), cmocka_unit_test(epilogues_are_exact),
        cmocka_unit_test(padding_refuses),      cmocka_unit_test(padded_tails_are_not_seen),
        cmocka_unit_test(einsums_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
