/* Reductions taken apart: across the threads of a block, and by rfactor.
 *
 * What they become as text, that they compute the same on the simulator at sizes that divide and
 * sizes that do not, that NVRTC compiles them, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tirc.h"

#define ROWS                                                                                       \
    "kernel row_sum<R = 64, C = 100>(x: f32[R, C]) -> y: f32[R]\n"                                 \
    "{ for r in R { y[r] = 0; for c in C y[r] += x[r, c]; } }\n"
#define RC "let [r, c] = loops(y); "
#define MATMUL                                                                                     \
    "kernel matmul<M = 8, N = 8, K = 40>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"            \
    "{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }\n"
#define IJK "let [i, j, k] = loops(C); "

/* ---- running texts --------------------------------------------------------------------------- */

typedef struct {
    tirc *t;
    tirc_file *file;
    tirc_kernel *program, *scheduled, *lowered;
} Case;

/* The first kernel of `program` under a schedule of `steps`, as far as it comes without an
 * error. */
static Case open_case(const char *program, const char *steps, const char *const *defines, size_t n)
{
    static char text[1 << 14];
    Case k = {.t = tirc_new(NULL)};
    size_t length =
        (size_t)snprintf(text, sizeof text, "%sschedule s for any {\n%s\n}\n", program, steps);
    assert_true(length < sizeof text);
    tirc_lower_options options = {0};
    if (tirc_parse_text(k.t, "test.tir", text, length, &k.file) ||
        tirc_resolve(k.t, k.file, NULL, defines, n, &k.program) ||
        tirc_apply(k.t, k.file, k.program, "s", NULL, 0, &k.scheduled) ||
        tirc_lower(k.t, k.scheduled, &options, &k.lowered))
        k.lowered = NULL;
    return k;
}

static Case expect_lowered(const char *program, const char *steps, const char *const *defines,
                           size_t n)
{
    Case k = open_case(program, steps, defines, n);
    if (!k.lowered)
        fail_msg("%s: %s", steps, tirc_diagnostics(k.t, false));
    return k;
}

static const char *emitted(Case *k, const tirc_kernel *kernel, tirc_format format)
{
    const void *data;
    size_t length;
    if (tirc_emit(k->t, kernel, format, NULL, &data, &length))
        fail_msg("%s", tirc_diagnostics(k->t, false));
    return data;
}

/* What stands between the braces of the kernel, or of the function. */
static void expect_body(const char *text, const char *body)
{
    const char *open = strstr(text, "\n{\n");
    assert_non_null(open);
    size_t length = strlen(open + 3) - strlen("}\n");
    if (length != strlen(body) || strncmp(open + 3, body, length) != 0)
        fail_msg("expected\n%sgot\n%s", body, open + 3);
}

static void expect_scheduled(const char *program, const char *steps, const char *body)
{
    Case k = expect_lowered(program, steps, NULL, 0);
    expect_body(emitted(&k, k.scheduled, TIRC_TIR), body);
    tirc_free(k.t);
}

static void refuse(const char *program, const char *steps, const char *code, const char *piece)
{
    Case k = open_case(program, steps, NULL, 0);
    if (k.lowered || tirc_diagnostic_count(k.t) == 0)
        fail_msg("not refused: %s", steps);
    const char *text = tirc_diagnostics(k.t, false);
    if (strcmp(tirc_diagnostic_at(k.t, 0).code, code) != 0 || !strstr(text, piece))
        fail_msg("expected %s with '%s', got:\n%s", code, piece, text);
    tirc_free(k.t);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void a_warp_combines_by_shuffles(void **state)
{
    (void)state;
    const char *steps = RC "let [ro, ri] = split(r, [_, 8]); let [co, ci] = split(c, [_, 32]);"
                           "bind(ro, blockIdx.x); bind(ri, threadIdx.y); bind(ci, threadIdx.x);";
    Case k = expect_lowered(ROWS, steps, NULL, 0);
    expect_body(emitted(&k, k.lowered, TIRC_TIR),
                "    launch row_sum grid(8, 1, 1) block(32, 8, 1) {\n"
                "        let ro = blockIdx.x;\n"
                "        let ri = threadIdx.y;\n"
                "        let ci = threadIdx.x;\n"
                "        temp y_part: f32[1, 1] in local;\n"
                "        let r = ro * 8 + ri;\n"
                "        y_part[0, 0] = 0.0;\n"
                "        for co in 4 {\n"
                "            let c = co * 32 + ci;\n"
                "            if c < 100\n"
                "                y_part[0, 0] += x[r * 100 + c];\n"
                "        }\n"
                "        y_part[0, 0] += shuffle_xor(y_part[0, 0], 16);\n"
                "        y_part[0, 0] += shuffle_xor(y_part[0, 0], 8);\n"
                "        y_part[0, 0] += shuffle_xor(y_part[0, 0], 4);\n"
                "        y_part[0, 0] += shuffle_xor(y_part[0, 0], 2);\n"
                "        y_part[0, 0] += shuffle_xor(y_part[0, 0], 1);\n"
                "        if ci == 0\n"
                "            y[r] = y_part[0, 0];\n"
                "    }\n");
    tirc_free(k.t);
}

static void warps_hand_over_in_shared_memory(void **state)
{
    (void)state;
    Case k = expect_lowered(
        ROWS, RC "let [co, ci] = split(c, [_, 96]); bind(r, blockIdx.x); bind(ci, threadIdx.x);",
        NULL, 0);
    expect_body(emitted(&k, k.lowered, TIRC_CUDA),
                "    __shared__ float y_warps[3];\n"
                "    const int r = blockIdx.x;\n"
                "    const int ci = threadIdx.x;\n"
                "    float y_part = 0.0f;\n"
                "    for (int co = 0; co < 2; ++co) {\n"
                "        const int c = co * 96 + ci;\n"
                "        if (c < 100)\n"
                "            y_part += x[r * 100 + c];\n"
                "    }\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 16);\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 8);\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 4);\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 2);\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 1);\n"
                "    if (ci % 32 == 0)\n"
                "        y_warps[ci / 32] = y_part;\n"
                "    __syncthreads();  // y_warps: written above by other threads, read below\n"
                "    y_part = ci % 32 < 3 ? y_warps[ci % 32] : 0.0f;\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 2);\n"
                "    y_part += __shfl_xor_sync(0xffffffff, y_part, 1);\n"
                "    if (ci == 0)\n"
                "        y[r] = y_part;\n");
    tirc_free(k.t);
}

static void other_threads_halve_in_shared_memory(void **state)
{
    (void)state;
    Case k = expect_lowered(
        ROWS, RC "let [co, ci] = split(c, [_, 6]); bind(r, blockIdx.x); bind(ci, threadIdx.x);",
        NULL, 0);
    expect_body(emitted(&k, k.lowered, TIRC_CUDA),
                "    __shared__ float y_threads[6];\n"
                "    const int r = blockIdx.x;\n"
                "    const int ci = threadIdx.x;\n"
                "    float y_part = 0.0f;\n"
                "    for (int co = 0; co < 17; ++co) {\n"
                "        const int c = co * 6 + ci;\n"
                "        if (c < 100)\n"
                "            y_part += x[r * 100 + c];\n"
                "    }\n"
                "    y_threads[ci] = y_part;\n"
                "    __syncthreads();  // y_threads: written above by other threads, read below\n"
                "    if (ci < 2) {\n"
                "        y_threads[ci] += y_threads[ci + 4];\n"
                "        y_threads[ci] += y_threads[ci + 2];\n"
                "    }\n"
                "    __syncthreads();  // y_threads: written above by other threads, read below\n"
                "    if (ci < 1)\n"
                "        y_threads[ci] += y_threads[ci + 1];\n"
                "    if (ci == 0)\n"
                "        y[r] = y_threads[0];\n");
    tirc_free(k.t);
}

static void rfactor_makes_two_blocks(void **state)
{
    (void)state;
    expect_scheduled(ROWS, RC "let [co, ci] = split(c, [_, 32]); rfactor(ci, 0);",
                     "    temp y_rf: f32[32, 64];\n"
                     "    for r in 64, co in 4, ci in 32\n"
                     "        block y_rf(r in 64 = r, ci in 32 = ci, reduce co in 4 = co) where co "
                     "* 32 + ci < 100 {\n"
                     "            init y_rf[ci, r] = 0.0;\n"
                     "            y_rf[ci, r] += x[r, co * 32 + ci];\n"
                     "        }\n"
                     "    for r in 64, ci in 32 {\n"
                     "        init y[r] = 0.0;\n"
                     "        y[r] += y_rf[ci, r];\n"
                     "    }\n");
    /* the whole reduction: nothing is left to sum up before */
    expect_scheduled(ROWS, RC "rfactor(c, -1);",
                     "    temp y_rf: f32[64, 100];\n"
                     "    for r in 64, c in 100\n"
                     "        y_rf[r, c] = x[r, c];\n"
                     "    for r in 64, c in 100 {\n"
                     "        init y[r] = 0.0;\n"
                     "        y[r] += y_rf[r, c];\n"
                     "    }\n");
    /* what the outer loop leaves out belongs to no other loop of the reduction */
    expect_scheduled("kernel s(x: f32[20]) -> y: f32[1] { y[0] = 1; for c in 20 y[0] += x[c]; }\n",
                     "let [c] = loops(y); let [co, ci] = split(c, [_, 32]); rfactor(ci, 0);",
                     "    temp y_rf: f32[32, 1];\n"
                     "    for co in 1, ci in 32\n"
                     "        block y_rf(ci in 32 = ci) {\n"
                     "            y_rf[ci, 0] = ci < 20 ? x[ci] : 0.0;\n"
                     "        }\n"
                     "    for ci in 32 {\n"
                     "        init y[0] = 1.0;\n"
                     "        y[0] += y_rf[ci, 0];\n"
                     "    }\n");
    /* under a bound loop, beside others: the results stay in the block of the grid */
    expect_scheduled(MATMUL, IJK "bind(i, blockIdx.x); rfactor(k, 0);",
                     "    temp C_rf: f32[40, 8, 8];\n"
                     "    for i in 8 bind blockIdx.x {\n"
                     "        for j in 8, k in 40\n"
                     "            C_rf[k, i, j] = A[i, k] * B[k, j];\n"
                     "        for j in 8, k in 40 {\n"
                     "            init C[i, j] = 0.0;\n"
                     "            C[i, j] += C_rf[k, i, j];\n"
                     "        }\n"
                     "    }\n");
}

static void traces_say_what_rounds_otherwise(void **state)
{
    (void)state;
    const char *mark = ";  // changes the order of floating-point additions\n";
    Case k = expect_lowered(ROWS,
                            RC "let [co, ci] = split(c, [_, 32]); reorder(ci, co); rfactor(ci, 0);"
                               "let [r2, c2] = loops(y); bind(c2, threadIdx.x);",
                            NULL, 0);
    const char *trace = tirc_trace(k.t, k.scheduled);
    int marks = 0;
    for (const char *at = trace; (at = strstr(at, mark)); at++)
        marks++;
    assert_int_equal(marks, 3);
    assert_null(strstr(trace, "split(c, [_, 32]);  // changes"));
    tirc_free(k.t);
    k = expect_lowered(
        "kernel s(x: i32[64]) -> y: i32[1] { y[0] = 0; for c in 64 y[0] += x[c]; }\n",
        "let [c] = loops(y); bind(c, threadIdx.x);", NULL, 0);
    assert_null(strstr(tirc_trace(k.t, k.scheduled), "//"));
    tirc_free(k.t);
    /* the loops of a new place follow the iterators */
    const char *squares =
        "kernel q(x: f32[4, 8, 8]) -> y: f32[4] { temp s: f32[4]; for i in 4 { s[i] = 0;\n"
        "    for a in 8, b in 8 s[i] += x[i, a, b]; } for i in 4 y[i] = s[i]; }\n";
    k = expect_lowered(squares, "compute_at(s, loops(y)[0]);", NULL, 0);
    assert_null(strstr(tirc_trace(k.t, k.scheduled), "//"));
    tirc_free(k.t);
    k = expect_lowered(squares, "reorder_block_iter_var(s, [0, 2, 1]); compute_at(s, loops(y)[0]);",
                       NULL, 0);
    assert_non_null(
        strstr(tirc_trace(k.t, k.scheduled),
               "compute_at(s, i);  // changes the order of floating-point additions\n"));
    tirc_free(k.t);
}

/* ---- meaning --------------------------------------------------------------------------------- */

#define SUM_OF(type, op, start)                                                                    \
    "kernel k<N>(x: " type "[N]) -> y: " type "[1] { y[0] = " start "; for i in N y[0] " op        \
    " x[i]; }\n",                                                                                  \
        "let [i] = loops(y); let [o, t] = split(i, [_, 64]); bind(t, threadIdx.x);"
#define SOFTMAX                                                                                    \
    "kernel softmax<N>(x: f32[N, N]) -> y: f32[N, N] { temp m: f32[N]; temp d: f32[N];\n"          \
    "    for r in N { m[r] = -inf; for c in N m[r] max= x[r, c];\n"                                \
    "        d[r] = 0; for c in N d[r] += exp(x[r, c] - m[r]);\n"                                  \
    "        for c in N y[r, c] = exp(x[r, c] - m[r]) / d[r]; } }\n"
#define EACH(threads)                                                                              \
    "for b in [m, d, y] { let [r, c] = loops(b); let [co, ci] = split(c, [_, " threads "]); "      \
    "bind(ci, threadIdx.x); }"
#define ROWS_N                                                                                     \
    "kernel row_sum<N>(x: f32[N, N]) -> y: f32[N]\n"                                               \
    "{ for r in N { y[r] = 0; for c in N y[r] += x[r, c]; } }\n"
#define MATMUL_N                                                                                   \
    "kernel matmul<N>(A: f32[N, N], B: f32[N, N]) -> C: f32[N, N]\n"                               \
    "{ for i in N, j in N { C[i, j] = 0; for k in N C[i, j] += A[i, k] * B[k, j]; } }\n"

static const struct {
    const char *program, *steps;
} cases[] = {
    /* a row a warp, part of a warp, several warps, the largest block, no warps */
    {ROWS_N, RC "let [ro, ri] = split(r, [_, 8]); let [co, ci] = split(c, [_, 32]);"
                "bind(ro, blockIdx.x); bind(ri, threadIdx.y); bind(ci, threadIdx.x);"},
    {ROWS_N, RC "let [ro, ri] = split(r, [_, 8]); let [co, ci] = split(c, [_, 4]);"
                "bind(ci, threadIdx.x); bind(ri, threadIdx.y); bind(ro, blockIdx.x);"},
    {ROWS_N, RC "let [co, ci] = split(c, [_, 96]); bind(r, blockIdx.x); bind(ci, threadIdx.x);"},
    {ROWS_N, RC "let [co, ci] = split(c, [_, 1024]); bind(r, blockIdx.x); bind(ci, threadIdx.x);"},
    {ROWS_N, RC "let [co, ci] = split(c, [_, 7]); bind(r, blockIdx.x); bind(ci, threadIdx.x);"},
    {ROWS_N,
     RC "let [ro, ri] = split(r, [_, 3]); let [co, ci] = split(c, [_, 64]); reorder(ri, ci, co);"
        "bind(ro, blockIdx.x); bind(ri, threadIdx.y); bind(ci, threadIdx.x);"},
    /* consecutive elements for each thread; threads along y; rows one after the other */
    {ROWS_N, RC "let [ci, co] = split(c, [32, _]); bind(ci, threadIdx.x); bind(r, blockIdx.x);"},
    {ROWS_N, RC "let [ro, ri] = split(r, [_, 4]); let [co, ci] = split(c, [_, 8]);"
                "bind(ri, threadIdx.x); bind(ci, threadIdx.y); bind(ro, blockIdx.x);"},
    {ROWS_N, RC "let [ro, ri] = split(r, [_, 4]); let [co, ci] = split(c, [_, 64]); bind(ci, "
                "threadIdx.x); bind(ro, blockIdx.x);"},
    {ROWS_N, RC "cache_write(y, local); let [co, ci] = split(c, [_, 64]); bind(ci, threadIdx.x);"
                "reverse_compute_at(y_local, r); bind(r, blockIdx.x);"},
    {ROWS_N, RC "let [ro, ri] = split(r, [_, 4]); let [co, ci] = split(c, [_, 64]); bind(ci, "
                "threadIdx.x); bind(ro, blockIdx.x);"
                "reorder(ri, co);"},
    /* spatial loops inside the reduction, serial and of threads */
    {MATMUL_N, IJK "let [jo, ji] = split(j, [_, 4]); let [ko, ki] = split(k, [_, 8]); let [io, ii] "
                   "= split(i, [_, 16]);"
                   "reorder(io, jo, ii, ko, ki, ji); bind(ki, threadIdx.x); bind(ii, threadIdx.y); "
                   "bind(io, blockIdx.y);"
                   "bind(jo, blockIdx.x);"},
    {MATMUL_N, IJK "let [jo, ji] = split(j, [_, 8]); let [ko, ki] = split(k, [_, 12]); reorder(i, "
                   "jo, ki, ko, ji);"
                   "bind(ki, threadIdx.y); bind(ji, threadIdx.x); bind(jo, blockIdx.x);"},
    /* tiles in shared memory inside the reduction */
    {MATMUL_N,
     IJK "let [ko, ki] = split(k, [_, 32]); bind(i, blockIdx.y); bind(j, blockIdx.x); bind(ki, "
         "threadIdx.x);"
         "let s = cache_read(C, A, shared); compute_at(s, ko); let copy = fuse(loops(s)[-2:]);"
         "let [each, x] = split(copy, [_, 32]); bind(x, threadIdx.x);"},
    /* one element, in a launch of one block */
    {SUM_OF("f32", "+=", "0")},
    {SUM_OF("f32", "+=", "1.5")},
    {SUM_OF("f64", "*=", "1")},
    {SUM_OF("f16", "+=", "0")},
    {SUM_OF("bf16", "max=", "-inf")},
    {SUM_OF("i32", "+=", "7")},
    {SUM_OF("i32", "min=", "2147483647")},
    {SUM_OF("i64", "max=", "-100")},
    {SUM_OF("u64", "^=", "0")},
    {SUM_OF("i8", "+=", "0")},
    {SUM_OF("u8", "max=", "0")},
    {SUM_OF("i16", "&=", "-1")},
    {SUM_OF("u32", "|=", "0")},
    {SUM_OF("bool", "&&=", "true")},
    {SUM_OF("bool", "||=", "false")},
    {SUM_OF("i32", "min=", "5")},
    /* what it starts from is data; the range is a triangle's */
    {"kernel k<N>(x: f32[N, N], b: f32[N]) -> y: f32[N]\n"
     "{ for r in N { y[r] = b[r]; for c in 0..r + 1 y[r] += x[r, c]; } }\n",
     RC "let [co, ci] = split(c, [_, 32]); bind(r, blockIdx.x); bind(ci, threadIdx.x);"},
    /* results that all threads need, in each memory */
    {SOFTMAX, EACH("64") "let [r, co, ci] = loops(y); bind(r, blockIdx.x);"},
    {SOFTMAX, EACH("64") "set_scope(m, shared); set_scope(d, shared); let [r, co, ci] = loops(y); "
                         "bind(r, blockIdx.x);"},
    {SOFTMAX, EACH("32") "set_scope(m, local); set_scope(d, local); let [r, co, ci] = loops(y); "
                         "bind(r, blockIdx.x);"},
    {SOFTMAX, EACH("10") "set_scope(m, local); set_scope(d, local); let [r, co, ci] = loops(y); "
                         "bind(r, blockIdx.x);"},
    /* two reductions in one nest */
    {"kernel two<N>(x: f32[N, N]) -> y: f32[N], z: f32[N]\n{ for r in N { y[r] = 0; z[r] = -inf;\n"
     "for o in (N + 31) / 32, t in 32 { block a(r in N = r, reduce c in N = o * 32 + t) { init "
     "y[r] = 0; y[r] += x[r, c]; }\n"
     "block b(r in N = r, reduce c in N = o * 32 + t) { init z[r] = -inf; z[r] max= x[r, c]; } } } "
     "}\n",
     "let [r, o, t] = loops(a); bind(t, threadIdx.x); bind(r, blockIdx.x);"},
    /* rfactor: each loop, both ways round, then threads, then again */
    {ROWS_N, RC "let [co, ci] = split(c, [_, 32]); rfactor(ci, 1);"},
    {ROWS_N, RC "let [co, ci] = split(c, [_, 32]); rfactor(co, -1);"},
    {ROWS_N, RC "rfactor(c, 0);"},
    {ROWS_N, RC "let [co, ci] = split(c, [_, 32]); reorder(ci, r, co); rfactor(ci, 1);"},
    {ROWS_N, RC
     "let [co, ci] = split(c, [_, 32]); reorder(ci, co); let rf = rfactor(ci, 1); let [r1, c1, o] "
     "= loops(rf);"
     "bind(r1, blockIdx.x); bind(c1, threadIdx.x); let [r2, c2] = loops(y); bind(r2, blockIdx.x);"
     "bind(c2, threadIdx.x);"},
    {ROWS_N, RC "let [co, cm, ci] = split(c, [_, 4, 8]); let rf = rfactor(ci, 0); rfactor(cm, 0); "
                "bind(r, blockIdx.x);"
                "bind(ci, threadIdx.x);"},
    {MATMUL_N, IJK "let [ko, ki] = split(k, [_, 8]); reorder(ko, i, j, ki); rfactor(ko, 0); "
                   "bind(ko, blockIdx.z); bind(i, blockIdx.y);"},
    {"kernel k<N>(x: i32[N, N], b: i32[N]) -> y: i32[N]\n"
     "{ for r in N { y[r] = b[r]; for c in 0..r + 1 y[r] min= x[r, c]; } }\n",
     RC "let [co, ci] = split(c, [_, 5]); rfactor(ci, 0);"},
};

static void verify(Case *k, const int64_t *sizes, const char *steps, int size)
{
    tirc_device *device;
    tirc_program *program;
    tirc_verification result = {0};
    if (tirc_device_open(k->t, TIRC_DEVICE_SIM, 0, NULL, &device) ||
        tirc_compile(k->t, device, k->lowered, &program) ||
        tirc_verify(k->t, program, sizes, 1, &result) || !result.ok) {
        tirc_fault fault = {0};
        bool faulty = tirc_fault_at(k->t, device, 0, &fault);
        fail_msg("%s at %d: off by %g, bound %g\n%s\n%s%s", steps, size, result.max_error,
                 result.bound, faulty ? fault.message : "", tirc_diagnostics(k->t, false),
                 emitted(k, k->lowered, TIRC_CUDA));
    }
}

/* One kernel for every size, and one for a size that tiles divide and one that they do not. */
static void results_are_right(void **state)
{
    static const int64_t sizes[] = {1, 7, 31, 32, 33, 65};
    static const char *const fixed[] = {"N=32", "N=33"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *open = "N=?";
        Case k = expect_lowered(cases[i].program, cases[i].steps, &open, 1);
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            verify(&k, &sizes[n], cases[i].steps, (int)sizes[n]);
        tirc_free(k.t);
        for (size_t n = 0; n < 2; n++) {
            k = expect_lowered(cases[i].program, cases[i].steps, &fixed[n], 1);
            verify(&k, NULL, cases[i].steps, 32 + (int)n);
            tirc_free(k.t);
        }
    }
}

static void nvrtc_compiles_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *define = "N=33";
        const void *data;
        size_t length;
        Case k = expect_lowered(cases[i].program, cases[i].steps, &define, 1);
        tirc_status status = tirc_emit(k.t, k.lowered, TIRC_CUBIN, NULL, &data, &length);
        if (status == TIRC_UNAVAILABLE) {
            tirc_free(k.t);
            print_message("SKIPPED: no usable libnvrtc on this machine\n");
            skip();
        }
        if (status)
            fail_msg("%s\n%s", cases[i].steps, tirc_diagnostics(k.t, false));
        tirc_free(k.t);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

#define THREADS "let [co, ci] = split(c, [_, 32]); bind(ci, threadIdx.x);"

static void reductions_that_threads_cannot_share(void **state)
{
    (void)state;
    refuse(ROWS,
           RC "let [a, b] = split(c, [_, 4]); let [o, d] = split(a, [_, 4]); bind(b, threadIdx.x); "
              "bind(d, threadIdx.y);",
           "E0480", "would reduce over two thread loops");
    refuse(ROWS, RC "let f = fuse(r, c); let [o, t] = split(f, [_, 32]); bind(t, threadIdx.x);",
           "E0424", "is a reduction loop of block 'y'");
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f32[N]\n{ for r in N { y[r] = 1; for c in N y[r] "
           "+= y[r] * x[r, c]; } }\n",
           RC THREADS, "E0480", "the value it adds depends on 'y' itself");
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f8e4m3[N]\n{ for r in N { y[r] = 0; for c in N "
           "y[r] += f8e4m3(x[r, c]); } }\n",
           RC THREADS, "E0480", "'+=' on f8e4m3 cannot be computed from partial results");
    refuse("kernel k<N>(x: f32[N, N]) -> y: f32[N]\n{ for r in N { y[r] = 0; for c in 64 y[r] += "
           "x[r, c]; } }\n",
           RC "reorder(c, r); bind(c, threadIdx.x);", "E0480",
           "the number of iterations must be a literal");
    refuse(ROWS,
           RC "let [co, ci] = split(c, [_, 32]); reorder(co, r, ci); bind(r, blockIdx.x); bind(ci, "
              "threadIdx.x);",
           "E0480", "loop 'r' is bound to blocks inside the reduction");
    refuse("kernel k<N = 8>(x: f32[N, 64]) -> y: f32[N], z: f32[N, 64]\n"
           "{ for r in N { for c in 64 { block y(r in N = r, reduce c in 64 = c) { init y[r] = 0; "
           "y[r] += x[r, c]; }\n"
           "block z(r in N = r, c in 64 = c) { z[r, c] = y[r]; } } } }\n",
           RC "bind(c, threadIdx.x);", "E0480",
           "'y' is also accessed by block 'z' inside the reduction");
    refuse("kernel k<N = 8>(inout b: f32[N], x: f32[N, 64]) -> y: f32[N]\n"
           "{ for r in N { for c in 64 { block y(r in N = r, reduce c in 64 = c) { init y[r] = "
           "b[r]; y[r] += x[r, c]; }\n"
           "block z(r in N = r, c in 64 = c) where c == 63 { b[r] = 0; } } } }\n",
           RC "bind(c, threadIdx.x);", "E0480", "the init reads 'b', which the reduction writes");
    refuse(
        "kernel k<N = 64>(x: f32[N, N]) -> y: f32[N]\n"
        "{ for o in 8, t in 8 if t < 5 for c in N block y(r in N = o * 8 + t, reduce c in N = c) "
        "{ init y[r] = 0; y[r] += x[r, c]; } }\n",
        "let [o, t, c] = loops(y); bind(t, threadIdx.y); " THREADS, "E0480",
        "around it differs between threads");
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f32[N]\n"
           "{ for r in N for c in N block y(r in N = r, reduce c in N = c) { init y[r / 2] = 0; "
           "y[r / 2] += x[r, c]; } }\n",
           RC THREADS, "E0480", "iterator 'r' is not by itself a subscript of 'y'");
    /* without an init nobody knows what the threads start from */
    refuse("kernel k<N = 64>(inout y: f32[N], x: f32[N, N])\n{ for r in N, c in N y[r] += x[r, c]; "
           "}\n",
           RC THREADS, "E0424", "is a reduction loop of block 'y'");
    refuse(ROWS, RC "bind(c, blockIdx.x);", "E0424", "is a reduction loop of block 'y'");
    refuse(ROWS, RC THREADS "decompose_reduction(y, co);", "E0481",
           "which needs its init for that");
    /* the same in text that no primitive has looked at */
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f32[N]\n{ for r in N bind blockIdx.x for a in 8 "
           "bind threadIdx.x "
           "for b in 8 bind threadIdx.y\n"
           "block y(r in N = r, reduce c in N = a * 8 + b) { init y[r] = 0; y[r] += x[r, c]; } }\n",
           "", "E0480", "would reduce over two thread loops, 'a' and 'b'");
}

static void loops_that_rfactor_cannot_take(void **state)
{
    (void)state;
    refuse(ROWS, RC "rfactor(r, 0);", "E0475",
           "no reduction iterator of block 'y' depends on loop 'r'");
    refuse(ROWS, RC "unroll(c); rfactor(c, 0);", "E0410", "loop 'c' is already unrolled");
    refuse(ROWS, RC "let f = fuse(r, c); rfactor(f, 0);", "E0475",
           "carries both the reduction and spatial iterators of 'y'");
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f32[N]\n{ for r in N { y[r] = 0; for c in 0..r + "
           "1 y[r] += x[r, c]; } }\n",
           RC "rfactor(c, 0);", "E0475", "the range of loop 'c' depends on loop 'r'");
    refuse("kernel k<N = 64>(x: f32[N]) -> y: f32[1]\n{ y[0] = 0; for c in 0..N step 2 y[0] += "
           "x[c]; }\n",
           "let [c] = loops(y); rfactor(c, 0);", "E0475", "has step 2");
    refuse("kernel k<N = 64>(x: f32[N, N]) -> y: f32[N], z: f32[N, N]\n{ for r in N for c in N {\n"
           "block y(r in N = r, reduce c in N = c) { init y[r] = 0; y[r] += x[r, c]; }\n z[r, c] = "
           "x[r, c]; } }\n",
           RC "rfactor(c, 0);", "E0475", "does not contain exactly one block");
    refuse(ROWS, RC "decompose_reduction(y, c); rfactor(c, 0);", "E0476", "it has no init");
    refuse(ROWS, RC "atomic(y); rfactor(c, 0);", "E0476", "its updates are atomic");
    refuse(ROWS, RC "rfactor(c, 2);", "E0477", "the new axis is from -2 to 1, not 2");
    refuse(ROWS, RC "rfactor(c, -3);", "E0477", "not -3");
}

/* An exchange of values stands in launches only, at a literal distance, and all lanes come to
 * it. */
static void shuffles_are_checked(void **state)
{
    (void)state;
    refuse("kernel k(x: f32[32]) -> y: f32[32] { for i in 32 y[i] = shuffle_xor(x[i], 1); }\n", "",
           "E0222", "reads a value of another lane, at a literal distance of 1 to 31");
    refuse("kernel k(x: f32[32]) -> y: f32[32] { launch k grid(1, 1, 1) block(32, 1, 1) {\n"
           "let t = threadIdx.x; y[t] = shuffle_xor(x[t], 32); } }\n",
           "", "E0222", "reads a value of another lane, at a literal distance of 1 to 31");
    const char *program =
        "kernel k(x: f32[32]) -> y: f32[32] { launch k grid(1, 1, 1) block(32, 1, 1) {\n"
        "let t = threadIdx.x; if t < 31 y[t] = shuffle_xor(x[t], 1); } }\n";
    tirc *t = tirc_new(NULL);
    tirc_file *file;
    tirc_kernel *kernel;
    tirc_device *device;
    tirc_program *compiled;
    float x[32] = {0}, y[32] = {0};
    void *arguments[2] = {x, y};
    assert_int_equal(tirc_parse_text(t, "k.tir", program, strlen(program), &file), TIRC_OK);
    assert_int_equal(tirc_resolve(t, file, NULL, NULL, 0, &kernel), TIRC_OK);
    assert_int_equal(tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device), TIRC_OK);
    assert_int_equal(tirc_compile(t, device, kernel, &compiled), TIRC_OK);
    assert_int_equal(tirc_run(t, compiled, NULL, arguments), TIRC_WRONG);
    tirc_fault fault;
    assert_true(tirc_fault_at(t, device, 0, &fault));
    assert_string_equal(fault.kind, "divergent_shuffle");
    assert_string_equal(fault.message, "1 of the 32 threads of a warp do not reach this shuffle");
    tirc_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warp_combines_by_shuffles),
        cmocka_unit_test(warps_hand_over_in_shared_memory),
        cmocka_unit_test(other_threads_halve_in_shared_memory),
        cmocka_unit_test(rfactor_makes_two_blocks),
        cmocka_unit_test(traces_say_what_rounds_otherwise),
        cmocka_unit_test(results_are_right),
        cmocka_unit_test(nvrtc_compiles_them),
        cmocka_unit_test(reductions_that_threads_cannot_share),
        cmocka_unit_test(loops_that_rfactor_cannot_take),
        cmocka_unit_test(shuffles_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
