/* schedule_programs.h - small programs that the tests of several families of primitives begin
 * with. */
#ifndef TIRC_TESTS_SCHEDULE_PROGRAMS_H
#define TIRC_TESTS_SCHEDULE_PROGRAMS_H

#define COPY    "kernel copy<N>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define COPY100 "kernel copy<N = 100>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
#define MATMUL                                                                                     \
    "kernel matmul<M = 100, N = 64, K = 32>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"         \
    "{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }\n"
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
#define BAND                                                                                       \
    "for band in bands() { let f = fuse(band); let [b, t] = split(f, [_, 32]); "                   \
    "bind(b, blockIdx.x); bind(t, threadIdx.x); }"
#define IJK "let [i, j, k] = loops(C); "
#define SUM                                                                                        \
    "kernel sum<N = 64, K = 100>(A: f32[N, K]) -> y: f32[N]\n"                                     \
    "{ for i in N { y[i] = 0; for k in K y[i] += A[i, k]; } }\n"

#endif
