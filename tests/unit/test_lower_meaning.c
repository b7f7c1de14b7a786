/* test_lower_meaning.c - a kernel means the same before and after lowering, at sizes that divide
 * and sizes that do not. */
#include "parse_text.h"
#include "passes/lower/lower.h"

#include "run_ir.h"

/* Scheduled kernels; symbolic sizes are set by the test. */
static const char *const kernels[] = {
    "kernel matmul<M, N, K>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {"
    "    temp S: f32[M, K] in shared; temp T: f32[K, N] in shared pad(0, 1);"
    "    for by in (M + 3) / 4 bind blockIdx.y for bx in (N + 3) / 4 bind blockIdx.x"
    "    for ty in 4 bind threadIdx.y for tx in 4 bind threadIdx.x"
    "        for ko in (K + 3) / 4 {"
    "            for y in 4 bind threadIdx.y for x in 4 bind threadIdx.x"
    "                block S(i in M = by * 4 + y, k in K = ko * 4 + x) { S[i, k] = A[i, k]; }"
    "            for y in 4 bind threadIdx.y for x in 4 bind threadIdx.x"
    "                block T(k in K = ko * 4 + y, j in N = bx * 4 + x) { T[k, j] = B[k, j]; }"
    "            for ki in 4"
    "                block C(i in M = by * 4 + ty, j in N = bx * 4 + tx, reduce k in K = ko * 4 + "
    "ki) {"
    "                    init C[i, j] = 0; C[i, j] += S[i, k] * T[k, j]; }"
    "        } }",
    /* spatial loops inside the reduction, registers, an epilogue */
    "kernel tile<M, K>(A: f32[M, K], b: f32[M]) -> C: f32[M, M] {"
    "    temp R: f32[M, M] in local;"
    "    for by in (M + 3) / 4 bind blockIdx.y for bx in (M + 3) / 4 bind blockIdx.x"
    "    for ty in 2 bind threadIdx.y for tx in 2 bind threadIdx.x {"
    "        for k in K for ii in 2 unroll for jj in 2 unroll"
    "            block R(i in M = by * 4 + ty * 2 + ii, j in M = bx * 4 + tx * 2 + jj, reduce k in "
    "K = k) {"
    "                init R[i, j] = 0; R[i, j] += A[i, k] * A[j, k]; }"
    "        for ii in 2 for jj in 2 vectorize"
    "            block C(i in M = by * 4 + ty * 2 + ii, j in M = bx * 4 + tx * 2 + jj) {"
    "                C[i, j] = max(R[i, j] - b[j], 0); }"
    "    } }",
    "kernel transpose<R, C>(in: f32[R, C]) -> out: f32[C, R] {"
    "    temp S: f32[R, C] in shared pad(1, 1);"
    "    for by in (R + 7) / 8 bind blockIdx.y for bx in (C + 7) / 8 bind blockIdx.x {"
    "        for e in 2 for y in 4 bind threadIdx.y for x in 8 bind threadIdx.x"
    "            block S(r in R = by * 8 + e * 4 + y, c in C = bx * 8 + x) { S[r, c] = in[r, c]; }"
    "        for e in 2 for y in 4 bind threadIdx.y for x in 8 bind threadIdx.x"
    "            block out(c in C = bx * 8 + e * 4 + y, r in R = by * 8 + x) { out[c, r] = S[r, "
    "c]; }"
    "    } }",
    "kernel triangle<N>(A: f32[N, N], x: f32[N]) -> y: f32[N] {"
    "    for b in (N + 3) / 4 bind blockIdx.x for t in 4 bind threadIdx.x for k in 0..b * 4 + t + 1"
    "        block y(i in N = b * 4 + t, reduce k in 0..i + 1 = k) { init y[i] = 0; y[i] += A[i, "
    "k] * x[k]; } }",
    "kernel down<N>(inout x: f32[N]) { for i in N - 1..1 step -1 x[i] = x[i] + x[i - 1]; }",
    "kernel steps<N>(inout u: f32[N]) { temp v: f32[N]; for t in 3 {"
    "    for b in (N + 3) / 4 bind blockIdx.x for x in 4 bind threadIdx.x"
    "        block v(i in N = b * 4 + x) { v[i] = i > 0 ? u[i - 1] + u[i] : u[i]; }"
    "    for b in (N + 3) / 4 bind blockIdx.x for x in 4 bind threadIdx.x"
    "        block u(i in N = b * 4 + x) { u[i] = v[i]; } } }",
    /* a block without a thread loop, after one with */
    "kernel rowsum<N>(x: f32[N, 8]) -> s: f32[N] { temp row: f32[N, 8] in shared;"
    "    for b in N bind blockIdx.x { for t in 8 bind threadIdx.x"
    "        block row(i in N = b, t in 8 = t) { row[i, t] = x[i, t] * 2.0; }"
    "    for k in 8 block s(i in N = b, reduce k in 8 = k) { init s[i] = 0; s[i] += row[i, k]; } } "
    "}",
    /* several nests on one axis; registers and shared memory between them */
    "kernel nests<N>(A: f32[N, 8]) -> C: f32[N, 8] {"
    "    temp S: f32[N, 8] in shared; temp R: f32[N, 8] in local;"
    "    for b in 1 bind blockIdx.x for o in N {"
    "        for tx in 8 bind threadIdx.x block R(i in N = o, j in 8 = tx) { R[i, j] = A[i, j]; }"
    "        for x in 8 bind threadIdx.x block S(i in N = o, j in 8 = x) { S[i, j] = R[i, j] * "
    "2.0; }"
    "        for y in 8 bind threadIdx.x block C(i in N = o, j in 8 = y) { C[i, j] = S[i, 7 - j] + "
    "R[i, j]; }"
    "    } }",
    /* what an iteration reads comes from an earlier one: the buffer may not shrink to the
     * iteration */
    "kernel carried(x: f32[64]) -> y: f32[64] { temp s: f32[64] in shared;"
    "    for b in 1 bind blockIdx.x for o in 4 {"
    "        for t in 16 bind threadIdx.x block s(i in 64 = o * 16 + t) { s[i] = x[i]; }"
    "        for t in 16 bind threadIdx.x block y(i in 64 = o * 16 + t) { y[i] = i > 0 ? s[i - 1] "
    ": s[0]; } } }",
    "kernel fused<N>(A: f32[N, 4]) -> y: f32[N] {"
    "    for f in N * 4 block y(i in N = f / 4, reduce k in 4 = f % 4) { init y[i] = 0; y[i] += "
    "A[i, k]; } }",
    "kernel fused_blocks(A: f32[6, 4]) -> y: f32[6] { for b in 2 bind threadIdx.x for f in 12"
    "    block y(i in 6 = b * 3 + f / 4, reduce k in 4 = f % 4) { init y[i] = 0; y[i] += A[i, k]; "
    "} }",
    "kernel two<N>(A: f32[N, N]) -> C: f32[N], D: f32[N] { for b in (N + 3) / 4 bind blockIdx.x"
    "    for t in 4 bind threadIdx.x for k in N {"
    "        block C(i in N = b * 4 + t, reduce k in N = k) { init C[i] = 0; C[i] += A[i, k]; }"
    "        block D(i in N = b * 4 + t, reduce k in N = k) { init D[i] = 0; D[i] max= A[k, i]; } "
    "} }",
    "kernel scatter<N>(x: i32[N]) -> h: i32[11] { for b in 11 bind threadIdx.x h[b] = 0;"
    "    for g in (N + 3) / 4 bind blockIdx.x for t in 4 bind threadIdx.x"
    "        block h2(i in N = g * 4 + t) atomic { h[x[i]] += 1; } }",
    "kernel halo<N>(x: f32[N]) -> y: f32[N] { temp s: f32[N] in shared;"
    "    for b in (N + 7) / 8 bind blockIdx.x {"
    "        for e in 2 for t in 8 bind threadIdx.x"
    "            block s(i in N = b * 8 + e * 8 + t - 1) where e * 8 + t < 10 { s[i] = x[i]; }"
    "        for t in 8 bind threadIdx.x block y(i in N = b * 8 + t) {"
    "            y[i] = (i > 0 ? s[i - 1] : 0.0) + s[i] + (i < N - 1 ? s[i + 1] : 0.0); } } }",
    "kernel flag<N>(x: f32[N]) -> y: f32[N] { for b in (N + 3) / 4 bind blockIdx.x"
    "    if b > 0 for t in 4 bind threadIdx.x block y(i in N = b * 4 + t) { y[i] = x[i]; }"
    "    for i in 4 bind threadIdx.x block z(i in N = i) { y[i] = 1.0; } }",
    "kernel vector<N>(a: f32[N, 10]) -> c: f32[N, 10] { for g in N bind blockIdx.x for t in 4 bind "
    "threadIdx.x"
    "    for v in 4 vectorize block c(i in N = g, j in 10 = t * 4 + v) { c[i, j] = a[i, j]; } }",
    "kernel vector_fits<N>(a: f32[N, 12]) -> c: f32[N, 12] { for g in N bind blockIdx.x for t in 4 "
    "bind threadIdx.x"
    "    for v in 4 vectorize block c(i in N = g, j in 12 = t * 4 + v) { c[i, j] = a[i, j]; } }",
};

static void same_results(const Text *t, const Kernel *k, Run *before, Run *after, int64_t size)
{
    if (before->fault || after->fault)
        fail_msg("%s at %d: before: %s; after: %s", k->name, (int)size,
                 before->fault ? before->fault : "fine", after->fault ? after->fault : "fine");
    for (int i = 0; i < k->n_params; i++)
        for (int64_t e = 0; e < before->buffers[i].size; e++) {
            double x = before->buffers[i].data[e], y = after->buffers[i].data[e];
            if (x != y && !(isnan(x) && isnan(y)))
                fail_msg("%s at %d: element %d of '%s' is %g, and was %g before", k->name,
                         (int)size, (int)e, k->params[i].buffer->name, y, x);
        }
    (void)t;
}

static void check_kernel(const char *text)
{
    static const int sizes[] = {1, 2, 4, 5, 7, 8, 13, 16};
    Text t;
    text_open(&t);
    text_parse(&t, text);
    Kernel *k = text_kernel(&t, 0);
    if (setjmp(t.guard))
        fail_msg("%s: fatal: %s", text, t.ctx->fatal_message);
    LowerOptions options = {.limits = limits_default()};
    Kernel *lowered = lower_kernel(t.ctx, k, &options);
    if (!lowered)
        fail_msg("%s: refused:\n%s", k->name, text_report(&t));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        same_results(&t, k, run_kernel(t.ctx, k, sizes[i]), run_kernel(t.ctx, lowered, sizes[i]),
                     sizes[i]);
    text_close(&t);
}

static void test_same_meaning(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof kernels / sizeof kernels[0]; n++)
        check_kernel(kernels[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_meaning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
