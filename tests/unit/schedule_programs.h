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
#define THREE                                                                                      \
    "kernel three(x: f32[8, 9]) -> a: f32[8, 9], b: f32[8, 9], c: f32[9]\n"                        \
    "{ for i in 8, j in 9 a[i, j] = x[i, j]; for p in 2..6, q in 9 b[p, q] = a[p, q];\n"           \
    "for r in 9 c[r] = x[0, r]; }\n"
#define DOWN                                                                                       \
    "kernel down(x: f32[9]) -> a: f32[9], b: f32[9], c: f32[9]\n"                                  \
    "{ for i in 8..0 step -1 a[i] = x[i]; for j in 8..0 step -1 b[j] = a[j]; for k in 8 c[k] = "   \
    "x[k]; }\n"
#define TEMPS                                                                                      \
    "kernel temps<N = 64>(x: f32[N]) -> y: f32[N], z: f32[N]\n"                                    \
    "{ for i in N { temp t: f32[i + 1]; t: for j in 0..i + 1 t[j] = x[j]; y[i] = t[i]; }\n"        \
    "for j in N { temp s: f32[1]; s[0] = x[j]; z[j] = s[0]; } }\n"

#endif
