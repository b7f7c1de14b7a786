/* Nests of loops: what split, fuse, reorder, add_unit_loop, bands and fusable make of a small
 * kernel. Programs and steps are text; the wrong ones expect a code and a piece of the message.
 * Refusals stand in tests/legality/steps/loops.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule_programs.h"
#include "schedule_steps.h"

#define MATRIX                                                                                     \
    "kernel copy<M, N>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N y[i, j] = x[i, j]; }\n"
#define PART                                                                                       \
    "kernel part(x: f32[100]) -> y: f32[100]\n"                                                    \
    "{ for i in 50 block b(v in 100 = i + 25) { y[v] = x[v]; } }\n"
#define DIFFERENCE                                                                                 \
    "kernel difference<M, N>(x: f32[M, N]) -> y: f32[M, N]\n"                                      \
    "{ for i in M - 1, j in N - 1 y[i, j] = x[i + 1, j] - x[i, j + 1]; }\n"
#define WAVE                                                                                       \
    "kernel wave<N = 16>(x: f32[N]) -> y: f32[N, N]\n"                                             \
    "{ for i in N, j in N y[i, j] = i > 0 ? y[i - 1, j] + 1 : x[j]; }\n"
#define SHRINKING                                                                                  \
    "kernel shrinking<N = 16>(inout A: f32[N, N], inout B: f32[N, N, 4])\n{\n"                     \
    "    for t in N {\n"                                                                           \
    "        a: for i in t + 1..N, j in t..N\n            A[i, j] += 1;\n"                         \
    "        b: for i in t..N, j in 2, k in 4\n            B[i, j, k] += 1;\n"                     \
    "    }\n}\n"

static void split_covers_every_iteration(void **state)
{
    (void)state;
    expect_body(COPY100, "let [i] = loops(y); split(i, [5, 20]);",
                "    for i_0 in 5, i_1 in 20\n"
                "        block y(i in 100 = i_0 * 20 + i_1) {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY100, "let [i] = loops(y); split(i, [_, 32]);",
                "    for i_0 in 4, i_1 in 32\n"
                "        block y(i in 100 = i_0 * 32 + i_1) {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY100, "let [i] = loops(y); split(i, 4, _, 8);",
                "    for i_0 in 4, i_1 in 4, i_2 in 8\n"
                "        block y(i in 100 = i_0 * 32 + i_1 * 8 + i_2) {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY100, "let [i] = loops(y); split(i, [_, 200]);",
                "    for i_0 in 1, i_1 in 200\n"
                "        block y(i in 100 = i_1) {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY, "let [i] = loops(y); let [o, t] = split(i, [_, 256]);",
                "    for o in (N + 255) / 256, t in 256\n"
                "        block y(i in N = o * 256 + t) {\n"
                "            y[i] = x[i];\n"
                "        }\n");
    expect_body(COPY,
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
    expect_body(RANGES, "let [i] = loops(y); split(i, [_, 8]);",
                "    for i_0 in 7, i_1 in 8\n"
                "        block y(i in 3..100 = 99 - i_0 * 16 - i_1 * 2) {\n"
                "            y[i] = x[i];\n"
                "        }\n"
                "    for j in 5..50\n"
                "        z[j] = x[j];\n");
    expect_body(RANGES, "let [j] = loops(z); split(j, [4, _]);",
                "    for i in 99..3 step -2\n"
                "        y[i] = x[i];\n"
                "    for j_0 in 4, j_1 in 12\n"
                "        block z(j in 5..50 = j_0 * 12 + j_1 + 5) {\n"
                "            z[j] = x[j];\n"
                "        }\n");
    expect_body(TRIANGLE, "let [i, j] = loops(y); split(i, [_, 5]);",
                "    for i_0 in 4, i_1 in 5, j in i_0 * 5 + i_1 + 1\n"
                "        block y(i in 16 = i_0 * 5 + i_1, j in i + 1 = j) {\n"
                "            y[i, j] = x[j];\n"
                "        }\n");
    expect_body(TRIANGLE, "let [i, j] = loops(y); split(j, [_, 5]);",
                "    for i in 16, j_0 in i / 5 + 1, j_1 in 5\n"
                "        block y(i in 16 = i, j in i + 1 = j_0 * 5 + j_1) {\n"
                "            y[i, j] = x[j];\n"
                "        }\n");
}

/* The condition is on the loops where the domain of no iterator excludes the extra iterations. */
static void split_guards_blocks_that_do_not_know_better(void **state)
{
    (void)state;
    expect_body(
        MATRIX, "let [i, j] = loops(y); let f = fuse(i, j); let [b, t] = split(f, [_, 256]);",
        "    for b in (M * N + 255) / 256, t in 256\n"
        "        block y(i in M = (b * 256 + t) / N, j in N = (b * 256 + t) % N) where b * 256 "
        "+ t < M * N {\n"
        "            y[i, j] = x[i, j];\n"
        "        }\n");
    expect_body(PART, "let [i] = loops(b); split(i, [_, 16]);",
                "    for i_0 in 4, i_1 in 16\n"
                "        block b(v in 100 = i_0 * 16 + i_1 + 25) where i_0 * 16 + i_1 < 50 {\n"
                "            y[v] = x[v];\n"
                "        }\n");
}

static void fuse_divides(void **state)
{
    (void)state;
    expect_body(
        MATMUL, IJK "fuse(i, j);",
        "    for i_j_fused in 6400, k in 32\n"
        "        block C(i in 100 = i_j_fused / 64, j in 64 = i_j_fused % 64, reduce k in 32 = "
        "k) {\n"
        "            init C[i, j] = 0.0;\n"
        "            C[i, j] += A[i, k] * B[k, j];\n"
        "        }\n");
    expect_body(
        MATMUL, IJK "let f = fuse(i, j, k);",
        "    for f in 204800\n"
        "        block C(i in 100 = f / 2048, j in 64 = f / 32 % 64, reduce k in 32 = f % 32) {\n"
        "            init C[i, j] = 0.0;\n"
        "            C[i, j] += A[i, k] * B[k, j];\n"
        "        }\n");
    expect_body(MATMUL, IJK "let [a, b] = split(i, [_, 32]); fuse(a, b);",
                "    for a_b_fused in 128, j in 64, k in 32\n"
                "        block C(i in 100 = a_b_fused, j in 64 = j, reduce k in 32 = k) {\n"
                "            init C[i, j] = 0.0;\n"
                "            C[i, j] += A[i, k] * B[k, j];\n"
                "        }\n");
    expect_body(
        DIFFERENCE, "let [i, j] = loops(y); fuse(i, j);",
        "    for i_j_fused in max(M - 1, 0) * max(N - 1, 0)\n"
        "        block y(i in M - 1 = i_j_fused / (N - 1), j in N - 1 = i_j_fused % (N - 1)) {\n"
        "            y[i, j] = x[i + 1, j] - x[i, j + 1];\n"
        "        }\n");
    expect_body(RANGES, "let [i] = loops(y); let u = add_unit_loop(i); fuse(u, i);",
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
    expect_body(MATMUL, IJK "reorder(k, i);",
                "    for k in 32, j in 64, i in 100\n"
                "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
                "            init C[i, j] = 0.0;\n"
                "            C[i, j] += A[i, k] * B[k, j];\n"
                "        }\n");
    expect_body(MATMUL, IJK "reorder([j, k, i]);",
                "    for j in 64, k in 32, i in 100\n"
                "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
                "            init C[i, j] = 0.0;\n"
                "            C[i, j] += A[i, k] * B[k, j];\n"
                "        }\n");
}

static void unit_loops_stand_where_asked(void **state)
{
    (void)state;
    expect_body(MATMUL, IJK "add_unit_loop(C); add_unit_loop(i); add_unit_loop(C);",
                "    for u_1 in 1, i in 100, j in 64, k in 32, u in 1, u_2 in 1\n"
                "        block C(i in 100 = i, j in 64 = j, reduce k in 32 = k) {\n"
                "            init C[i, j] = 0.0;\n"
                "            C[i, j] += A[i, k] * B[k, j];\n"
                "        }\n");
}

static void bands_are_what_may_run_in_parallel(void **state)
{
    (void)state;
    expect_body(
        MATMUL, BAND,
        "    for b in 200 bind blockIdx.x\n"
        "        for t in 32 bind threadIdx.x\n"
        "            for k in 32\n"
        "                block C(i in 100 = b / 2, j in 64 = b % 2 * 32 + t, reduce k in 32 "
        "= k) {\n"
        "                    init C[i, j] = 0.0;\n"
        "                    C[i, j] += A[i, k] * B[k, j];\n"
        "                }\n");
    expect_body(TWO, BAND,
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
    expect_body(SCAN, BAND,
                "    for i in 100\n"
                "        y[i] = i > 0 ? y[i - 1] + x[i] : x[i];\n");
    expect_body(TRIANGLE, BAND,
                "    for b in 1 bind blockIdx.x\n"
                "        for t in 32 bind threadIdx.x\n"
                "            for j in t + 1\n"
                "                block y(i in 16 = t, j in i + 1 = j) {\n"
                "                    y[i, j] = x[j];\n"
                "                }\n");
    expect_body(WAVE, BAND,
                "    for i in 16\n"
                "        for b in 1 bind blockIdx.x\n"
                "            for t in 32 bind threadIdx.x\n"
                "                block y(i in 16 = i, j in 16 = t) {\n"
                "                    y[i, j] = i > 0 ? y[i - 1, j] + 1.0 : x[j];\n"
                "                }\n");
    expect_body(TWO, "let [i, j] = loops(y); bind(j, threadIdx.x); assert len(bands()) == 1;",
                "    for i in 64 {\n"
                "        for j in 64 bind threadIdx.x\n"
                "            y[i, j] = x[i, j];\n"
                "        for k in 32\n"
                "            z[i, k] = x[i, k];\n"
                "    }\n");
}

static void parts_are_what_fuse_takes(void **state)
{
    (void)state;
    const char *as_it_is = "    for t in 16 {\n"
                           "        for i in t + 1..16, j in t..16\n"
                           "            a: A[i, j] += 1.0;\n"
                           "        for i in t..16, j in 2, k in 4\n"
                           "            b: B[i, j, k] += 1.0;\n"
                           "    }\n";
    expect_body(SHRINKING, "let [t, i, j] = loops(a); assert fusable(i, j) == [[i], [j]];",
                as_it_is);
    expect_body(SHRINKING,
                "let [t, i, j, k] = loops(b); assert fusable(t, i, j, k) == [[t], [i, j, k]];",
                as_it_is);
    expect_body(SHRINKING, "let [t, i, j, k] = loops(b); assert fusable(k, j) == [[k], [j]];",
                as_it_is);
}

static void split_refuses(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "unroll(k); split(k, [_, 4]);", E0410, "    for k in 32 unroll\n    ^^^^");
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
        cmocka_unit_test(bands_are_what_may_run_in_parallel),
        cmocka_unit_test(parts_are_what_fuse_takes),
        cmocka_unit_test(split_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
