/* Loops and their kinds: what each primitive makes of a small kernel, and every refusal with its text.
 * Programs and steps are text; the wrong ones expect a code and a piece of the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "schedule_steps.h"

#define MATMUL                                                                                     \
    "kernel matmul<M = 100, N = 64, K = 32>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"         \
    "{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }\n"
#define COPY     "kernel copy<N>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define COPY100  "kernel copy<N = 100>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define COPY4096 "kernel copy<N = 4096>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define MATRIX                                                                                     \
    "kernel copy<M, N>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N y[i, j] = x[i, j]; }\n"
#define TRIANGLE                                                                                   \
    "kernel lower<N = 16>(x: f32[N]) -> y: f32[N, N] { for i in N, j in 0..i + 1 y[i, j] = x[j]; " \
    "}\n"
#define TWO                                                                                        \
    "kernel two<N = 64>(x: f32[N, N]) -> y: f32[N, N], z: f32[N, N] { for i in N {\n"              \
    "for j in N y[i, j] = x[i, j]; for k in 32 z[i, k] = x[i, k]; } }\n"
#define SCAN                                                                                       \
    "kernel scan<N = 100>(x: f32[N]) -> y: f32[N]\n"                                               \
    "{ for i in N y[i] = i > 0 ? y[i - 1] + x[i] : x[i]; }\n"
#define RANGES                                                                                     \
    "kernel ranges(x: f32[100]) -> y: f32[100], z: f32[100]\n"                                     \
    "{ for i in 99..3 step -2 y[i] = x[i]; for j in 5..50 z[j] = x[j]; }\n"
#define PART                                                                                       \
    "kernel part(x: f32[100]) -> y: f32[100]\n"                                                    \
    "{ for i in 50 block b(v in 100 = i + 25) { y[v] = x[v]; } }\n"
#define DIFFERENCE                                                                                 \
    "kernel difference<M, N>(x: f32[M, N]) -> y: f32[M, N]\n"                                      \
    "{ for i in M - 1, j in N - 1 y[i, j] = x[i + 1, j] - x[i, j + 1]; }\n"
#define WAVE                                                                                       \
    "kernel wave<N = 16>(x: f32[N]) -> y: f32[N, N]\n"                                             \
    "{ for i in N, j in N y[i, j] = i > 0 ? y[i - 1, j] + 1 : x[j]; }\n"
#define BAND                                                                                       \
    "for band in bands() { let f = fuse(band); let [b, t] = split(f, [_, 32]); "                   \
    "bind(b, blockIdx.x); bind(t, threadIdx.x); }"
#define HISTOGRAM                                                                                  \
    "kernel histogram(color: u8[64]) -> hist: i32[256]\n"                                          \
    "{ for b in 256 hist[b] = 0; for i in 64 hist[color[i]] += 1; }\n"
#define COOPERATIVE                                                                                \
    "kernel k(x: f32[8]) -> y: f32[8, 8] { for b in 8 bind blockIdx.x { temp s: f32[8] in "        \
    "shared;\n"                                                                                    \
    "for t in 8 bind threadIdx.x { for c in 8 block load(v in 8 = c) { s[v] = x[v]; }\n"           \
    "block out(i in 8 = b, j in 8 = t) { y[i, j] = s[j]; } } } }\n"
#define IJK "let [i, j, k] = loops(C); "

/* The body that the steps make of the program. */
static void expect(const char *program, const char *steps, const char *body)
{
    Case k;
    case_run(&k, program, steps);
    assert_string_equal(case_made(&k), body);
    text_close(&k.text);
}

/* ---- what primitives make ---------------------------------------------------------------------- */

static void split_covers_every_iteration(void **state)
{
    (void)state;
    expect(COPY100, "let [i] = loops(y); split(i, [5, 20]);",
           "    for i_0 in 5, i_1 in 20\n"
           "        block y(i in 100 = i_0 * 20 + i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100, "let [i] = loops(y); split(i, [_, 32]);",
           "    for i_0 in 4, i_1 in 32\n"
           "        block y(i in 100 = i_0 * 32 + i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100, "let [i] = loops(y); split(i, 4, _, 8);",
           "    for i_0 in 4, i_1 in 4, i_2 in 8\n"
           "        block y(i in 100 = i_0 * 32 + i_1 * 8 + i_2) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100, "let [i] = loops(y); split(i, [_, 200]);",
           "    for i_0 in 1, i_1 in 200\n"
           "        block y(i in 100 = i_1) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY, "let [i] = loops(y); let [o, t] = split(i, [_, 256]);",
           "    for o in (N + 255) / 256, t in 256\n"
           "        block y(i in N = o * 256 + t) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY,
           "let [i] = loops(y); let [a, b] = split(i, [_, 32]); let [c, d] = split(a, [_, "
           "4]);",
           "    for c in ((N + 31) / 32 + 3) / 4, d in 4, b in 32\n"
           "        block y(i in N = c * 128 + d * 32 + b) {\n"
           "            y[i] = x[i];\n"
           "        }\n");
}

static void split_keeps_ranges_that_start_elsewhere(void **state)
{
    (void)state;
    expect(RANGES, "let [i] = loops(y); split(i, [_, 8]);",
           "    for i_0 in 7, i_1 in 8\n"
           "        block y(i in 3..100 = 99 - i_0 * 16 - i_1 * 2) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for j in 5..50\n"
           "        z[j] = x[j];\n");
    expect(RANGES, "let [j] = loops(z); split(j, [4, _]);",
           "    for i in 99..3 step -2\n"
           "        y[i] = x[i];\n"
           "    for j_0 in 4, j_1 in 12\n"
           "        block z(j in 5..50 = j_0 * 12 + j_1 + 5) {\n"
           "            z[j] = x[j];\n"
           "        }\n");
    expect(TRIANGLE, "let [i, j] = loops(y); split(i, [_, 5]);",
           "    for i_0 in 4, i_1 in 5, j in i_0 * 5 + i_1 + 1\n"
           "        block y(i in 16 = i_0 * 5 + i_1, j in i + 1 = j) {\n"
           "            y[i, j] = x[j];\n"
           "        }\n");
    expect(TRIANGLE, "let [i, j] = loops(y); split(j, [_, 5]);",
           "    for i in 16, j_0 in i / 5 + 1, j_1 in 5\n"
           "        block y(i in 16 = i, j in i + 1 = j_0 * 5 + j_1) {\n"
           "            y[i, j] = x[j];\n"
           "        }\n");
}

/* The condition is on the loops where the domain of no iterator excludes the extra iterations. */
static void split_guards_blocks_that_do_not_know_better(void **state)
{
    (void)state;
    expect(MATRIX, "let [i, j] = loops(y); let f = fuse(i, j); let [b, t] = split(f, [_, 256]);",
           "    for b in (M * N + 255) / 256, t in 256\n"
           "        block y(i in M = (b * 256 + t) / N, j in N = (b * 256 + t) % N) where b * 256 "
           "+ t < M * N {\n"
           "            y[i, j] = x[i, j];\n"
           "        }\n");
    expect(PART, "let [i] = loops(b); split(i, [_, 16]);",
           "    for i_0 in 4, i_1 in 16\n"
           "        block b(v in 100 = i_0 * 16 + i_1 + 25) where i_0 * 16 + i_1 < 50 {\n"
           "            y[v] = x[v];\n"
           "        }\n");
}

static void fuse_divides(void **state)
{
    (void)state;
    expect(MATMUL, IJK "fuse(i, j);",
           "    for i_j_fused in 6400, k in 32\n"
           "        block C(i in 100 = i_j_fused / 64, j in 64 = i_j_fused % 64, reduce k in 32 = "
           "k) {\n"
           "            init C[i, j] = 0.0;\n"
           "            C[i, j] += A[i, k] * B[k, j];\n"
           "        }\n");
    expect(
        MATMUL, IJK "let f = fuse(i, j, k);",
        "    for f in 204800\n"
        "        block C(i in 100 = f / 2048, j in 64 = f / 32 % 64, reduce k in 32 = f % 32) {\n"
        "            init C[i, j] = 0.0;\n"
        "            C[i, j] += A[i, k] * B[k, j];\n"
        "        }\n");
    expect(MATMUL, IJK "let [a, b] = split(i, [_, 32]); fuse(a, b);",
           "    for a_b_fused in 128, j in 64, k in 32\n"
           "        block C(i in 100 = a_b_fused, j in 64 = j, reduce k in 32 = k) {\n"
           "            init C[i, j] = 0.0;\n"
           "            C[i, j] += A[i, k] * B[k, j];\n"
           "        }\n");
    expect(DIFFERENCE, "let [i, j] = loops(y); fuse(i, j);",
           "    for i_j_fused in max(M - 1, 0) * max(N - 1, 0)\n"
           "        block y(i in M - 1 = i_j_fused / (N - 1), j in N - 1 = i_j_fused % (N - 1)) {\n"
           "            y[i, j] = x[i + 1, j] - x[i, j + 1];\n"
           "        }\n");
    expect(RANGES, "let [i] = loops(y); let u = add_unit_loop(i); fuse(u, i);",
           "    for u_i_fused in 49\n"
           "        block y(i in 3..100 = 99 - u_i_fused * 2) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for j in 5..50\n"
           "        z[j] = x[j];\n");
}

static void reorder_permutes(void **state)
{
    (void)state;
    expect(MATMUL, IJK "reorder(k, i);",
           "    for k in 32, j in 64, i in 100\n"
           "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
           "            init C[i, j] = 0.0;\n"
           "            C[i, j] += A[i, k] * B[k, j];\n"
           "        }\n");
    expect(MATMUL, IJK "reorder([j, k, i]);",
           "    for j in 64, k in 32, i in 100\n"
           "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
           "            init C[i, j] = 0.0;\n"
           "            C[i, j] += A[i, k] * B[k, j];\n"
           "        }\n");
}

static void unit_loops_stand_where_asked(void **state)
{
    (void)state;
    expect(MATMUL, IJK "add_unit_loop(C); add_unit_loop(i); add_unit_loop(C);",
           "    for u_1 in 1, i in 100, j in 64, k in 32, u in 1, u_2 in 1\n"
           "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
           "            init C[i, j] = 0.0;\n"
           "            C[i, j] += A[i, k] * B[k, j];\n"
           "        }\n");
}

static void kinds_are_set(void **state)
{
    (void)state;
    expect(MATMUL,
           IJK "let [by, ty] = split(i, [_, 32]); let [bx, tx] = split(j, [_, 32]); let [ko, "
               "ki] = split(k, [_, 8]); reorder(by, bx, ty, tx, ko, ki); bind(by, blockIdx.y); "
               "bind(bx, blockIdx.x); bind(ty, threadIdx.y); bind(tx, threadIdx.x); unroll(ki);",
           "    for by in 4 bind blockIdx.y\n"
           "        for bx in 2 bind blockIdx.x\n"
           "            for ty in 32 bind threadIdx.y\n"
           "                for tx in 32 bind threadIdx.x\n"
           "                    for ko in 4\n"
           "                        for ki in 8 unroll\n"
           "                            block C(i in 100 = by * 32 + ty, j in 64 = bx * 32 + tx,\n"
           "                                    reduce k in 32 = ko * 8 + ki) {\n"
           "                                init C[i, j] = 0.0;\n"
           "                                C[i, j] += A[i, k] * B[k, j];\n"
           "                            }\n");
    expect(RANGES,
           "let [i] = loops(y); bind(i, threadIdx.x); let [j] = loops(z); bind(j, "
           "\"threadIdx.x\");",
           "    for i in 49 bind threadIdx.x\n"
           "        block y(i in 3..100 = 99 - i * 2) {\n"
           "            y[i] = x[i];\n"
           "        }\n"
           "    for j in 45 bind threadIdx.x\n"
           "        block z(j in 5..50 = j + 5) {\n"
           "            z[j] = x[j];\n"
           "        }\n");
    expect(RANGES, "let [j] = loops(z); let [a, v] = split(j, [_, 8]); vectorize(v); parallel(a);",
           "    for i in 99..3 step -2\n"
           "        y[i] = x[i];\n"
           "    for a in 6 parallel\n"
           "        for v in 8 vectorize\n"
           "            block z(j in 5..50 = a * 8 + v + 5) {\n"
           "                z[j] = x[j];\n"
           "            }\n");
}

static void annotations_come_and_go(void **state)
{
    (void)state;
    expect(COPY100,
           "let [i] = loops(y); annotate(i, \"hint\", [1, -2]); annotate(y, flag); "
           "annotate(y, \"text\", \"a\"); annotate(y, flag, 7);",
           "    for i in 100 @hint([1, -2])\n"
           "        block y(i in 100 = i) @flag(7) @text(\"a\") {\n"
           "            y[i] = x[i];\n"
           "        }\n");
    expect(COPY100,
           "let [i] = loops(y); annotate(i, \"hint\", 3); annotate(i, other, 4); "
           "unannotate(i, hint);",
           "    for i in 100 @other(4)\n"
           "        y[i] = x[i];\n");
}

static void bands_are_what_may_run_in_parallel(void **state)
{
    (void)state;
    expect(MATMUL, BAND,
           "    for b in 200 bind blockIdx.x\n"
           "        for t in 32 bind threadIdx.x\n"
           "            for k in 32\n"
           "                block C(i in 100 = b / 2, j in 64 = b % 2 * 32 + t, reduce k in 32 "
           "= k) {\n"
           "                    init C[i, j] = 0.0;\n"
           "                    C[i, j] += A[i, k] * B[k, j];\n"
           "                }\n");
    expect(TWO, BAND,
           "    for b in 2 bind blockIdx.x\n"
           "        for t in 32 bind threadIdx.x {\n"
           "            for j in 64\n"
           "                block y(i in 64 = b * 32 + t, j in 64 = j) {\n"
           "                    y[i, j] = x[i, j];\n"
           "                }\n"
           "            for k in 32\n"
           "                block z(i in 64 = b * 32 + t, k in 32 = k) {\n"
           "                    z[i, k] = x[i, k];\n"
           "                }\n"
           "        }\n");
    expect(SCAN, BAND,
           "    for i in 100\n"
           "        y[i] = i > 0 ? y[i - 1] + x[i] : x[i];\n");
    expect(TRIANGLE, BAND,
           "    for b in 1 bind blockIdx.x\n"
           "        for t in 32 bind threadIdx.x\n"
           "            for j in t + 1\n"
           "                block y(i in 16 = t, j in i + 1 = j) {\n"
           "                    y[i, j] = x[j];\n"
           "                }\n");
    expect(WAVE, BAND,
           "    for i in 16\n"
           "        for b in 1 bind blockIdx.x\n"
           "            for t in 32 bind threadIdx.x\n"
           "                block y(i in 16 = i, j in 16 = t) {\n"
           "                    y[i, j] = i > 0 ? y[i - 1, j] + 1.0 : x[j];\n"
           "                }\n");
    expect(TWO, "let [i, j] = loops(y); bind(j, threadIdx.x); assert len(bands()) == 1;",
           "    for i in 64 {\n"
           "        for j in 64 bind threadIdx.x\n"
           "            y[i, j] = x[i, j];\n"
           "        for k in 32\n"
           "            z[i, k] = x[i, k];\n"
           "    }\n");
}

#define SHRINKING                                                                                   \
    "kernel shrinking<N = 16>(inout A: f32[N, N], inout B: f32[N, N, 4])\n{\n"                      \
    "    for t in N {\n"                                                                            \
    "        a: for i in t + 1..N, j in t..N\n            A[i, j] += 1;\n"                          \
    "        b: for i in t..N, j in 2, k in 4\n            B[i, j, k] += 1;\n"                       \
    "    }\n}\n"

static void parts_are_what_fuse_takes(void **state)
{
    (void)state;
    const char *as_it_is = "    for t in 16 {\n"
                           "        for i in t + 1..16, j in t..16\n"
                           "            a: A[i, j] += 1.0;\n"
                           "        for i in t..16, j in 2, k in 4\n"
                           "            b: B[i, j, k] += 1.0;\n"
                           "    }\n";
    expect(SHRINKING, "let [t, i, j] = loops(a); assert fusable(i, j) == [[i], [j]];", as_it_is);
    expect(SHRINKING, "let [t, i, j, k] = loops(b); assert fusable(t, i, j, k) == [[t], [i, j, k]];", as_it_is);
    expect(SHRINKING, "let [t, i, j, k] = loops(b); assert fusable(k, j) == [[k], [j]];", as_it_is);
}

/* ---- what primitives refuse -------------------------------------------------------------------- */

static void calls_are_checked(void **state)
{
    (void)state;
    refuse(MATMUL, "split();", E0400,
           "argument 'loop' is missing; the call is split(loop, factors..., tail (optional))");
    refuse(MATMUL, IJK "split(i, factor = [4, _]);", E0400, "did you mean 'factors'?");
    refuse(MATMUL, IJK "split(i, [_, 4], factors = [2]);", E0400,
           "argument 'factors' is given twice");
    refuse(MATMUL, IJK "bind(i, blockIdx.x, 4);", E0400, "it takes 2 arguments, and here are 3");
    refuse("kernel t(x: f32[8]) -> y: f32[4, 8]\n{\n    for i in 4, j in 8\n        y[i, j] = x[j];\n}\n",
           "let [i, j] = loops(y); serpentine(i, j); serpentine(i, j);", E0499, "runs forwards and backwards in turn already");
    refuse(MATMUL, "fuse([]);", E0400, "the list is empty");
    refuse(MATMUL, "fuse(i);", E0401, "no variable is called 'i'; take loops from a block first");
    refuse(MATMUL, "loops(4);", E0401, "argument 'block' takes a block, and here is 4");
    refuse(MATMUL, IJK "split(i, [i]);", E0401,
           "takes an integer of at least 1, or _, and here is a loop");
    refuse(MATMUL, "annotate(C, \"a b\");", E0401,
           "a key of letters, digits and _, and here is 'a b'");
    refuse(MATMUL, IJK "bind(i, 4);", E0401, "an axis such as blockIdx.x");
    refuse(MATMUL, IJK "split(i, [_, 4]);\nsplit(i, [_, 8]);", E0402,
           "'i' was consumed by step 1, split(i, [_, 4]), at line 4; use its results");
    refuse(MATMUL, "loops(D);", E0403, "no block called 'D' (it has: C)");
    refuse(TWO, "loops(yy);", E0403, "(it has: y, z)");
    refuse(MATMUL, IJK "bind(i, threadIdx.w);", E0406, "did you mean 'threadIdx.x'?");
    refuse(MATMUL, IJK "split(i, [_, 0]);", E0407, "here is 0; write _");
    refuse("kernel copy<N = 64>(x: f32[N]) -> y: f32[N] { launch copy grid(1, 1, 1) block(64, 1, "
           "1) {\n"
           "y[threadIdx.x] = x[threadIdx.x]; } }\n",
           "blocks();", E0408, "kernel 'copy' is lowered already");
}

static void split_refuses(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "bind(i, blockIdx.x); split(i, [_, 4]);", E0410,
           "loop 'i' is bound to blockIdx.x already");
    refuse(MATMUL, IJK "unroll(k); split(k, [_, 4]);", E0410, "    for k in 32 unroll\n    ^^^^");
    refuse(MATMUL, IJK "annotate(i, note); split(i, [_, 4]);", E0411, "has the annotation 'note'");
    refuse(MATMUL, IJK "split(i, [_, _, 4]);", E0412, "[_, _, 4] have more than one _");
    refuse(MATMUL, IJK "split(k, [3, 5]);", E0413,
           "factors [3, 5] cover 15 iterations but loop 'k' has 32; write _ for one factor");
    refuse(COPY, "let [i] = loops(y); split(i, [8, 4]);", E0414, "loop 'i' has N iterations");
    refuse(MATMUL, IJK "split(i, [_, 65536, 65536]);", E0415, "more than 2147483647 iterations");
    refuse("kernel big(x: f32[4]) -> y: f32[4] { for a in 9223372036854775807 y[0] = x[0]; }\n",
           "let [a] = loops(y); split(a, [_, 4]);", E0415, "too many to split");
    refuse(MATMUL, "for n in 0..200 { split(loops(C)[0], [_, 1]); }", E0431,
           "129 loops around it, and 128 are allowed");
    refuse(MATMUL, "for n in 0..200 { add_unit_loop(C); }", E0431, "129 loops around it");
}

static void nests_are_checked(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "fuse(i, k);", E0416, "'k' has to stand directly inside loop 'i'");
    refuse(MATMUL, IJK "fuse(j, i);", E0416, "'i' has to stand directly inside loop 'j'");
    refuse(TWO, "let [i, j] = loops(y); fuse(i, j);", E0416, "as its only statement");
    refuse(MATMUL, IJK "bind(i, blockIdx.x); fuse(i, j);", E0410, "bound to blockIdx.x already");
    refuse(MATMUL, IJK "annotate(j, note); fuse(i, j);", E0411, "has the annotation 'note'");
    refuse(TRIANGLE, "let [i, j] = loops(y); fuse(i, j);", E0417, "the nest is no rectangle");
    refuse("kernel big(x: f32[4]) -> y: f32[4] { for a in 4294967296, b in 4294967296 y[0] = x[0]; "
           "}\n",
           "let [a, b] = loops(y); fuse(a, b);", E0415, "more than 2^63 iterations");
    refuse(MATMUL, IJK "fuse(i, i);", E0418, "loop 'i' is given twice");
    refuse(MATMUL, IJK "reorder(j, i, j);", E0418, "loop 'j' is given twice");
    refuse(TWO, "let [_, j] = loops(y); let [_, k] = loops(z); reorder(j, k);", E0416,
           "are not inside one another");
    refuse(TWO, "let [i, j] = loops(y); reorder(j, i);", E0416,
           "stand other statements than loops");
    refuse(TRIANGLE, "let [i, j] = loops(y); reorder(j, i);", E0417,
           "the range of loop 'j' depends on loop 'i', which has to stay outside of it");
    refuse("kernel wave<N = 16>() -> y: f32[N, N]\n"
           "{ for i in 1..N, j in 0..N - 1 y[i, j] = y[i - 1, j + 1] + 1; }\n",
           "let [i, j] = loops(y); reorder(j, i);", E0419, "block 'y' at i = 2, j = 0");
}

static void bind_refuses(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "bind(i, blockIdx.x); bind(i, blockIdx.y);", E0410,
           "bound to blockIdx.x already");
    refuse(MATMUL, IJK "let [a, b] = split(j, [_, 8]); bind(a, threadIdx.x); bind(b, threadIdx.x);",
           E0420,
           "loop 'a' is bound to threadIdx.x already, and what is inside of loop 'b' (block 'C')");
    refuse(MATMUL, IJK "let [a, b] = split(j, [_, 8]); bind(b, threadIdx.x); bind(a, threadIdx.x);",
           E0420, "loop 'b' is bound to threadIdx.x already");
    refuse(TWO,
           "let [i, j] = loops(y); let [_, k] = loops(z);\n"
           "bind(i, blockIdx.x); bind(j, threadIdx.x); bind(k, threadIdx.x);",
           E0421, "threadIdx.x would have 64 iterations at loop 'j' and 32 at loop 'k'");
    refuse(TWO,
           "let [i, j] = loops(y); let [_, k] = loops(z);\n"
           "bind(j, threadIdx.x); bind(k, threadIdx.x); bind(i, blockIdx.x);",
           E0421, "threadIdx.x would have 64 iterations at loop 'j' and 32 at loop 'k'");
    refuse(COPY, "let [i] = loops(y); bind(i, threadIdx.x);", E0414,
           "loop 'i' has N iterations, and threadIdx.x needs a literal number");
    refuse(COPY4096, "let [i] = loops(y); bind(i, threadIdx.x);", E0422,
           "loop 'i' has 4096 iterations, and threadIdx.x has at most 1024");
    refuse(MATMUL, IJK "bind(i, threadIdx.z);", E0422, "threadIdx.z has at most 64");
    refuse(MATMUL, IJK "bind(j, threadIdx.x); bind(i, threadIdx.y);", E0422,
           "64 x 100 x 1 = 6400 threads, and at most 1024 are possible");
    refuse(MATMUL, IJK "bind(fuse(i, j), threadIdx.x);", E0422, "has at most 1024");
    refuse("kernel tall(x: f32[70000]) -> y: f32[70000] { for i in 70000 y[i] = x[i]; }\n",
           "let [i] = loops(y); bind(i, blockIdx.y);", E0422, "blockIdx.y has at most 65535");
    refuse("kernel none() -> y: f32[4] { for i in 4..4 y[i] = 1; }\n",
           "let [i] = loops(y); bind(i, threadIdx.x);", E0422, "loop 'i' has no iterations");
    refuse(TRIANGLE, "let [i, j] = loops(y); bind(i, blockIdx.y); bind(j, blockIdx.x);", E0428,
           "loop 'j' has i + 1 iterations, which changes with loop 'i' inside the launch");
    refuse(SCAN, "let [i] = loops(y); bind(i, threadIdx.x);", E0423, "block 'y' at i = 1");
    refuse(SCAN, "let [i] = loops(y); bind(i, blockIdx.x);", E0423, "depend on each other");
    refuse(MATMUL, IJK "bind(k, blockIdx.x);", E0424, "loop 'k' is a reduction loop of block 'C'");
}

static void other_kinds_are_checked(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "unroll(k); parallel(k);", E0410, "loop 'k' is unrolled already");
    refuse(MATMUL, IJK "parallel(i); vectorize(i);", E0410, "loop 'i' is parallel already");
    refuse(SCAN, "let [i] = loops(y); parallel(i);", E0423, "depend on each other");
    refuse(MATMUL, IJK "parallel(k);", E0424, "is a reduction loop");
    refuse(COPY, "let [i] = loops(y); vectorize(i);", E0414, "a vector needs a literal number");
    refuse(COPY100, "let [i] = loops(y); vectorize(i);", E0425, "a vector has 2 to 16");
    refuse(COPY100, "let [i] = loops(y); let [_, v] = split(i, [_, 1]); vectorize(v);", E0425,
           "loop 'v' has 1 iterations");
    refuse(MATMUL, IJK "let [_, b] = split(j, [_, 4]); vectorize(b);", E0426, "reorder it inwards");
    refuse(SCAN, "let [i] = loops(y); let [_, v] = split(i, [_, 4]); vectorize(v);", E0423,
           "depend on each other");
    refuse(MATMUL, IJK "let [_, v] = split(k, [_, 4]); vectorize(v);", E0424,
           "is a reduction loop");
    refuse(COPY, "let [i] = loops(y); unroll(i);", E0414,
           "an unrolled loop needs a literal number");
    refuse(COPY4096, "let [i] = loops(y); unroll(i);", E0427, "at most 1024 can be written out");
    refuse(MATMUL, IJK "bind(i, blockIdx.x); unroll(i);", E0410, "bound to blockIdx.x already");
    refuse(MATMUL, "unannotate(C, note);", E0429, "block 'C' has no annotation 'note'");
    refuse(MATMUL, "annotate(C, other); unannotate(C, note);", E0429, "it has 'other'");
    refuse(MATMUL, "annotate(C, note, [\"a\"]);", E0430, "'note' is a list of other things");
    refuse(MATMUL, IJK "annotate(C, note, i);", E0430, "'note' is a loop");
    refuse(MATMUL, IJK "annotate(j, serpentine);", E0498, "call serpentine instead");
    refuse(MATMUL, IJK "annotate(C, copy_async);", E0498, "call copy_async instead");
    refuse(MATMUL, IJK "annotate(i, remap_grouped, 2);", E0498, "call remap instead");
    refuse(MATMUL, IJK "reorder(k, i, j); serpentine(i, j); serpentine(i, j);", E0499, "'j' runs forwards and backwards in turn already");
}

/* Updates that collide may run at the same time once they are atomic. */
static void atomic_updates_may_collide(void **state)
{
    (void)state;
    refuse(HISTOGRAM, "let [i] = loops(hist_1); bind(i, blockIdx.x);", E0423,
           "keep it serial, or let its updates collide with atomic(hist_1)");
    refuse(MATMUL, IJK "atomic(C); bind(k, blockIdx.x);", E0424, "is a reduction loop");
    refuse(MATMUL, IJK "bind(k, blockIdx.x);", E0424,
           "with decompose_reduction and then atomic(C)");
    expect(HISTOGRAM,
           "let [i] = loops(hist_1); atomic(hist_1); bind(i, blockIdx.x); atomic(hist_1);",
           "    for b in 256\n"
           "        hist[b] = 0;\n"
           "    for i in 64 bind blockIdx.x\n"
           "        block hist_1(i in 64 = i) atomic {\n"
           "            hist[color[i]] += 1;\n"
           "        }\n");
    refuse(HISTOGRAM, "atomic(hist);", E0432, "block 'hist' has 'hist =' on elements of type i32");
    refuse("kernel h(x: u8[8], inout y: u8[8]) { for i in 8 y[0] += x[i]; }\n", "atomic(y);", E0432,
           "has 'y +=' on elements of type u8");
    refuse("kernel h(inout y: f32[8]) { for i in 8 y[0] += y[i]; }\n", "atomic(y);", E0432,
           "block 'y' updates 'y' and reads it elsewhere");
}

/* Loops of one axis inside one another: the copy's instances do not depend on the outer one. */
static void cooperative_copies_bind_an_axis_again(void **state)
{
    (void)state;
    expect(COOPERATIVE, "let [b, t, c] = loops(load); bind(c, threadIdx.x);",
           "    for b in 8 bind blockIdx.x {\n"
           "        temp s: f32[8] in shared;\n"
           "        for t in 8 bind threadIdx.x {\n"
           "            for c in 8 bind threadIdx.x\n"
           "                block load(v in 8 = c) {\n"
           "                    s[v] = x[v];\n"
           "                }\n"
           "            block out(i in 8 = b, j in 8 = t) {\n"
           "                y[i, j] = s[j];\n"
           "            }\n"
           "        }\n"
           "    }\n");
    refuse(COOPERATIVE,
           "let [b, t, c] = loops(load); let [d, e] = split(c, [_, 4]); bind(e, threadIdx.x);",
           E0421, "threadIdx.x would have 8 iterations at loop 't' and 4 at loop 'e'");
}

/* Which thread has which results takes a division by a size to say, the same where they are written and read. */
#define REGISTERS(from)                                                                            \
    "kernel k<M, N>(x: f32[M, N]) -> y: f32[M, N] { temp s: f32[M, N] in local;\n"                 \
    "for i in M, jo in (N + 3) / 4 {\n"                                                            \
    "for a in 4 block w(i in M = i, j in N = jo * 4 + a) { s[i, j] = x[i, j]; }\n"                 \
    "for c in 4 block r(i in M = i, j in N = jo * 4 + c) { y[i, j] = s[i, " from "]; } } }\n"

static void registers_of_fused_rows_are_each_threads_own(void **state)
{
    (void)state;
    const char steps[] = "let [i, jo, c] = loops(r); let [b, t] = split(fuse(i, jo), [_, 32]);"
                         "bind(b, blockIdx.x); bind(t, threadIdx.x);";
    Case r;
    case_run(&r, REGISTERS("j"), steps);
    if (!r.schedule)
        fail_msg("%s", text_report(&r.text));
    text_close(&r.text);
    refuse(REGISTERS("max(j - 1, 0)"), steps, E0423, "each thread has its own");
}

/* ---- handles, steps, the trace ----------------------------------------------------------------- */

static Value word(Context *c, const char *text)
{
    Value value = {.kind = VALUE_WORD};
    value.u.s = ctx_name(c, text);
    return value;
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    Case r;
    case_run(&r, MATMUL, IJK "split(i, [_, 4]);");
    const Kernel *before = schedule_kernel(r.schedule);
    const char *text = text_print(&r.text, schedule_kernel(r.schedule));
    Value args[2] = {word(r.text.ctx, "C"), word(r.text.ctx, "blockIdx.x")}, loops, result;
    assert_true(
        schedule_call(r.schedule, primitive_find("loops"), args, NULL, 1, span_none(), &loops));
    assert_int_equal(loops.u.list.n, 4);
    args[0] = loops.u.list.items[3];
    assert_false(
        schedule_call(r.schedule, primitive_find("bind"), args, NULL, 2, span_none(), &result));
    assert_ptr_equal(schedule_kernel(r.schedule), before);
    assert_string_equal(text_print(&r.text, schedule_kernel(r.schedule)), text);
    assert_int_equal(schedule_steps(r.schedule), 1);
    args[0].u.id = UINT32_MAX;
    assert_false(
        schedule_call(r.schedule, primitive_find("bind"), args, NULL, 2, span_none(), &result));
    assert_non_null(strstr(text_report(&r.text), "a loop of another schedule"));
    text_close(&r.text);
}

static void steps_are_kept(void **state)
{
    (void)state;
    Case r;
    case_run(&r, MATMUL,
             IJK "let [a, b] = split(i, [_, 4]); fuse(a); annotate(C, tag, [1, 2]); unroll(b);");
    assert_non_null(r.schedule);
    assert_int_equal(schedule_steps(r.schedule), 3);
    assert_string_equal(schedule_step_text(r.schedule, 1), "split(i, [_, 4])");
    assert_string_equal(schedule_step_text(r.schedule, 2), "annotate(C, \"tag\", [1, 2])");
    assert_string_equal(schedule_step_text(r.schedule, 3), "unroll(b)");
    assert_string_equal(schedule_step_name(r.schedule, 3), "unroll");
    assert_ptr_equal(schedule_kernel_after(r.schedule, 0), r.kernel);
    assert_ptr_equal(schedule_kernel_after(r.schedule, 3), schedule_kernel(r.schedule));
    assert_ptr_equal(schedule_context(r.schedule), r.text.ctx);
    text_close(&r.text);
}

/* The trace of the steps, and that it runs again to the same kernel and the same trace. */
static void trace(const char *program, const char *steps, const char *expected)
{
    Case r;
    case_run(&r, program, steps);
    if (!r.schedule)
        fail_msg("%s", text_report(&r.text));
    StrBuf text = strbuf_new(r.text.ctx->arena);
    schedule_trace(r.schedule, ctx_name(r.text.ctx, "s"), &text);
    char *open = strstr(text.text, "\n{\n");
    assert_non_null(open);
    char *body = arena_strndup(r.text.ctx->arena, open + 3, strlen(open + 3) - 2);
    if (expected)
        assert_string_equal(body, expected);
    Case again;
    case_run(&again, program, body);
    if (!again.schedule)
        fail_msg("%s", text_report(&again.text));
    assert_string_equal(text_print(&again.text, schedule_kernel(again.schedule)), text_print(&r.text, schedule_kernel(r.schedule)));
    StrBuf second = strbuf_new(again.text.ctx->arena);
    schedule_trace(again.schedule, ctx_name(again.text.ctx, "s"), &second);
    assert_string_equal(second.text, text.text);
    text_close(&again.text);
    text_close(&r.text);
}

static void traces_run_again(void **state)
{
    (void)state;
    trace(MATMUL, BAND,
          "    let [[i, j]] = bands();\n"
          "    let f = fuse(i, j);\n"
          "    let [b, t] = split(f, [_, 32]);\n"
          "    bind(b, blockIdx.x);\n"
          "    bind(t, threadIdx.x);\n");
    trace(TWO,
          "for b in blocks() { let l = loops(b)[-1]; let [x, y] = split(l, [_, 4]); unroll(y); }",
          NULL);
    trace(RANGES,
          "for b in blocks() { let [a, c] = split(loops(b)[0], [_, 8]); vectorize(c); unroll(a); }",
          "    let [i] = loops(y);\n"
          "    let [a, c] = split(i, [_, 8]);  // a guard leaves 7 of 56 iterations idle (12%)\n"
          "    vectorize(c);\n"
          "    unroll(a);\n"
          "    let [j] = loops(z);\n"
          "    let [a, c] = split(j, [_, 8]);  // a guard leaves 3 of 48 iterations idle (6.2%)\n"
          "    vectorize(c);\n"
          "    unroll(a);\n");
    trace(MATMUL,
          IJK "split(i, [_, 4]); annotate(C, note, \"a\\\"b\"); let [a, b, c, d] = loops(C);",
          "    let [i, _, _] = loops(C);\n"
          "    let [i_0, i_1] = split(i, [_, 4]);\n"
          "    annotate(C, \"note\", \"a\\\"b\");\n");
}

/* A variable that is bound anew while its loop is still needed keeps the loop under another name. */
static void traces_keep_hidden_loops(void **state)
{
    (void)state;
    trace(RANGES,
          "let [p] = loops(y); let [q] = loops(z);\n"
          "let [a, b] = split(p, [_, 8]); let c = a; let [a, b] = split(q, [_, 8]); unroll(c); "
          "unroll(a);",
          "    let [i] = loops(y);\n"
          "    let [j] = loops(z);\n"
          "    let [a, b] = split(i, [_, 8]);  // a guard leaves 7 of 56 iterations idle (12%)\n"
          "    let a_1 = a;\n"
          "    let [a, b] = split(j, [_, 8]);  // a guard leaves 3 of 48 iterations idle (6.2%)\n"
          "    unroll(a_1);\n"
          "    unroll(a);\n");
    trace(COPY100,
          "let [split_1] = loops(y); let [y_1, loops] = split(split_1, [_, 8]); unroll(loops);",
          NULL);
}

/* Ten thousand steps on a small kernel: time and memory in proportion to the steps. */
static void many_steps_are_cheap(void **state)
{
    (void)state;
    clock_t begin = clock();
    Case r;
    case_run(&r, MATMUL, "for n in 0..5000 { let [a, b] = split(loops(C)[0], [_, 4]); fuse(a, b); }");
    assert_non_null(r.schedule);
    assert_int_equal(schedule_steps(r.schedule), 10000);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("10,000 steps: %.3f s, %zu bytes a step\n", seconds, arena_used(r.text.ctx->arena) / 10000);
    assert_true(arena_used(r.text.ctx->arena) < 200u << 20);
    text_close(&r.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_covers_every_iteration),
        cmocka_unit_test(split_keeps_ranges_that_start_elsewhere),
        cmocka_unit_test(split_guards_blocks_that_do_not_know_better),
        cmocka_unit_test(fuse_divides),
        cmocka_unit_test(reorder_permutes),
        cmocka_unit_test(unit_loops_stand_where_asked),
        cmocka_unit_test(kinds_are_set),
        cmocka_unit_test(annotations_come_and_go),
        cmocka_unit_test(bands_are_what_may_run_in_parallel),
        cmocka_unit_test(parts_are_what_fuse_takes),
        cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(split_refuses),
        cmocka_unit_test(nests_are_checked),
        cmocka_unit_test(bind_refuses),
        cmocka_unit_test(other_kinds_are_checked),
        cmocka_unit_test(atomic_updates_may_collide),
        cmocka_unit_test(cooperative_copies_bind_an_axis_again),
        cmocka_unit_test(registers_of_fused_rows_are_each_threads_own),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(steps_are_kept),
        cmocka_unit_test(traces_run_again),
        cmocka_unit_test(traces_keep_hidden_loops),
        cmocka_unit_test(many_steps_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
