/* test_indexed.c - programs whose subscripts, bounds or scalars are data: each verifies as written,
 * under `default` and a schedule of its own, at sizes of 1, at primes, and symbolic; and what they
 * compute is compared with plain loops over C arrays. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tirc.h"

typedef struct {
    const char *name, *sizes, *text; /* the sizes in the order of the text */
} Program;

#define THREADS(block)                                                                             \
    "let i = loops(" block                                                                         \
    ")[0]; let [b, t] = split(i, [_, 4]); bind(b, blockIdx.x); bind(t, threadIdx.x);"

static const Program embedding = {
    "embedding", "BVD",
    "kernel embedding<B, V, D>(table: f32[V, D], id: i32[B]) -> y: f32[B, D] { for b in B, d in D "
    "y[b, d] = table[id[b], d]; }schedule own for embedding() { " THREADS("y") " }"};

static const Program cross_entropy = {
    "cross_entropy", "BC",
    "kernel cross_entropy<B, C>(x: f32[B, C], label: i64[B]) -> loss: f32[B] {"
    " temp top: f32[B]; temp sum: f32[B];"
    " for b in B { top[b] = -inf; for c in C top[b] max= x[b, c]; }"
    " for b in B { sum[b] = 0; for c in C sum[b] += exp(x[b, c] - top[b]); }"
    " for b in B loss[b] = log(sum[b]) + top[b] - x[b, label[b]]; }"
    "schedule own for cross_entropy() { " THREADS("loss") " }"};

static const Program csr = {
    "csr", "RNC",
    "kernel csr<R, N, C>(ptr: i32[R + 1], col: i32[N], a: f32[N], x: f32[C]) -> y: f32[R] {"
    " for i in R { y[i] = 0; for j in ptr[i]..ptr[i + 1] y[i] += a[j] * x[col[j]]; } }"
    "schedule own for csr() { " THREADS("y") " }"};

static const Program histogram = {
    "histogram", "NPK",
    "kernel histogram<N, P, K>(key: i32[N]) -> h: i32[K] {"
    " temp part: i32[P, K]; for p in P, k in K part[p, k] = 0;"
    " count: for i in N part[i % P, key[i]] += 1;"
    " for k in K { h[k] = 0; for p in P h[k] += part[p, k]; } }"
    "schedule own for histogram() { atomic(count); " THREADS("count") " }"};

static const Program one_hot = {
    "one_hot", "BC",
    "kernel one_hot<B, C>(label: u8[B]) -> y: f32[B, C] {"
    " for b in B, c in C y[b, c] = 0; mark: for b in B y[b, label[b]] = 1; }"
    "schedule own for one_hot() { " THREADS("mark") " }"};

static const Program smoothing = {
    "smoothing", "BC",
    "kernel smoothing<B, C>(x: f32[B, C], label: i32[B], eps: f32) -> y: f32[B] where 0 < eps < 1 {"
    " temp all: f32[B]; for b in B { all[b] = 0; for c in C all[b] += x[b, c]; }"
    " for b in B y[b] = (1 - eps) * x[b, label[b]] + eps / C * all[b]; }"
    "schedule own for smoothing() { " THREADS("y") " }"};

static const Program shifted = {
    "shifted", "NM",
    "kernel shifted<N, M>(x: f32[N, 2 * M + 3], id: i32[N], k: i32, v: f32[N], eps: f32) -> y: "
    "f32[N] { temp at: i32[N]; for i in N at[i] = id[i] + 1; for i in N y[i] = x[N - 1 - i, 2 * "
    "at[i] + 1] / sqrt(v[i] + eps) + x[k, 0]; }schedule own for shifted() { " THREADS("y") " }"};

static const Program *const programs[] = {&embedding, &cross_entropy, &csr,    &histogram,
                                          &one_hot,   &smoothing,     &shifted};

/* ---- compiling ------------------------------------------------------------------------------- */

static const char *last_message(const tirc *t)
{
    size_t n = tirc_diagnostic_count(t);
    return n ? tirc_diagnostic_at(t, n - 1).message : "";
}

/* With the sizes as constants, or as arguments where `sizes` is NULL. */
static tirc_program *compile(tirc *t, const Program *p, const char *schedule, const int64_t *sizes)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_device *device;
    tirc_program *program = NULL;
    char text[4][32];
    const char *defines[4];
    size_t n = strlen(p->sizes);
    for (size_t i = 0; i < n; i++) {
        if (sizes)
            snprintf(text[i], sizeof text[i], "%c=%lld", p->sizes[i], (long long)sizes[i]);
        else
            snprintf(text[i], sizeof text[i], "%c=?", p->sizes[i]);
        defines[i] = text[i];
    }
    if (tirc_parse_text(t, "test.tir", p->text, strlen(p->text), &file) ||
        tirc_resolve(t, file, NULL, defines, n, &kernel) ||
        tirc_apply(t, file, kernel, schedule, NULL, 0, &scheduled) ||
        tirc_lower(t, scheduled, NULL, &lowered) ||
        tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device) ||
        tirc_compile(t, device, lowered, &program))
        fail_msg("%s, schedule %s: %s", p->name, schedule ? schedule : "default", last_message(t));
    return program;
}

static const int64_t sizes[][3] = {{1, 1, 1}, {7, 13, 5}, {1, 11, 3}, {31, 3, 2}};

/* Every program, under both schedules, at all sizes, given both ways. */
static void all_verify(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int way = 0; way < 4; way++) {
                tirc *t = tirc_new(NULL);
                tirc_verification v;
                const char *schedule = way & 1 ? "own" : NULL;
                tirc_program *program =
                    compile(t, programs[k], schedule, way & 2 ? sizes[s] : NULL);
                if (tirc_verify(t, program, way & 2 ? NULL : sizes[s], s, &v) || !v.ok)
                    fail_msg("%s, schedule %s, sizes number %zu: %s", programs[k]->name,
                             schedule ? schedule : "default", s, last_message(t));
                tirc_free(t);
            }
}

static tirc_kernel *resolve(tirc *t, const char *text, const Program *p)
{
    tirc_file *file;
    tirc_kernel *kernel = NULL;
    const char *open[] = {"B=?", "V=?", "D=?", "C=?", "R=?", "N=?"}, *defines[4];
    size_t n = 0;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (strchr(p->sizes, open[i][0]))
            defines[n++] = open[i];
    if (tirc_parse_text(t, "test.tir", text, strlen(text), &file) ||
        tirc_resolve(t, file, NULL, defines, n, &kernel))
        fail_msg("%s: %s", p->name, last_message(t));
    return kernel;
}

/* Lowered text has flat subscripts, table[id[b] * D + d], so that its inputs are drawn as those of
 * the program. */
static void lowered_text_verifies_against_its_program(void **state)
{
    static const Program *const indexed[] = {&embedding, &cross_entropy, &csr, &smoothing};
    static const int64_t seven[] = {7, 5, 6};
    (void)state;
    for (size_t k = 0; k < sizeof indexed / sizeof *indexed; k++) {
        tirc *t = tirc_new(NULL);
        const char *text;
        size_t length;
        tirc_kernel *program = resolve(t, indexed[k]->text, indexed[k]), *scheduled, *lowered,
                    *both;
        tirc_device *device;
        tirc_program *compiled;
        tirc_verification v;
        if (tirc_apply(t, NULL, program, NULL, NULL, 0, &scheduled) ||
            tirc_lower(t, scheduled, NULL, &lowered) ||
            tirc_emit(t, lowered, TIRC_TIR, NULL, (const void **)&text, &length) ||
            tirc_against(t, resolve(t, text, indexed[k]), program, &both) ||
            tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device) ||
            tirc_compile(t, device, both, &compiled) || tirc_verify(t, compiled, seven, 1, &v))
            fail_msg("%s: %s", indexed[k]->name, last_message(t));
        tirc_free(t);
    }
}

/* ---- plain loops ----------------------------------------------------------------------------- */

enum { MOST = 8 };

typedef struct {
    tirc *t;
    tirc_program *program;
    void *data[MOST];
} Arrays;

/* A run on the random data of a seed. */
static Arrays run(const Program *p, const int64_t *n, uint64_t seed)
{
    Arrays a = {.t = tirc_new(NULL)};
    tirc_parameter parameter;
    a.program = compile(a.t, p, NULL, NULL);
    for (size_t i = 0; tirc_parameter_at(a.t, a.program, n, i, &parameter); i++) {
        a.data[i] = calloc(parameter.bytes + 1, 1);
        if (parameter.is_input)
            assert_int_equal(tirc_fill_random(a.t, a.program, n, seed, i, a.data[i]), TIRC_OK);
    }
    if (tirc_run(a.t, a.program, n, a.data))
        fail_msg("%s: %s", p->name, last_message(a.t));
    return a;
}

static void release(Arrays *a)
{
    for (int i = 0; i < MOST; i++)
        free(a->data[i]);
    tirc_free(a->t);
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))))
        fail_msg("%.9g, expected %.9g", got, want);
}

static void embedding_picks_rows(void **state)
{
    (void)state;
    const int64_t n[] = {17, 5, 3};
    Arrays a = run(&embedding, n, 1);
    const float *table = a.data[0], *y = a.data[2];
    const int32_t *id = a.data[1];
    bool other = false;
    for (int b = 0; b < 17; b++) {
        assert_true(id[b] >= 0 && id[b] < 5);
        other |= id[b] != id[0];
        for (int d = 0; d < 3; d++)
            assert_true(y[b * 3 + d] == table[id[b] * 3 + d]);
    }
    assert_true(other);
    release(&a);
}

static void cross_entropy_is_the_logarithm_of_a_share(void **state)
{
    (void)state;
    const int64_t n[] = {13, 7};
    Arrays a = run(&cross_entropy, n, 2);
    const float *x = a.data[0], *loss = a.data[2];
    const int64_t *label = a.data[1];
    for (int b = 0; b < 13; b++) {
        double sum = 0;
        assert_true(label[b] >= 0 && label[b] < 7);
        for (int c = 0; c < 7; c++)
            sum += exp((double)x[b * 7 + c]);
        near(loss[b], -log(exp((double)x[b * 7 + label[b]]) / sum));
    }
    release(&a);
}

static void csr_is_a_product_with_a_dense_matrix(void **state)
{
    (void)state;
    enum { R = 11, N = 41, C = 6 };
    const int64_t n[] = {R, N, C};
    Arrays a = run(&csr, n, 3);
    const int32_t *ptr = a.data[0], *col = a.data[1];
    const float *value = a.data[2], *x = a.data[3], *y = a.data[4];
    double dense[R][C] = {{0}};
    int terms = 0;
    for (int i = 0; i < R; i++) {
        assert_true(ptr[i] >= 0 && ptr[i] <= ptr[i + 1] && ptr[i + 1] <= N);
        for (int j = ptr[i]; j < ptr[i + 1]; j++, terms++)
            dense[i][col[j]] += (double)value[j];
    }
    for (int i = 0; i < R; i++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
            sum += dense[i][c] * (double)x[c];
        near(y[i], sum);
    }
    assert_true(terms > N / 2);
    release(&a);
}

static void histogram_counts(void **state)
{
    (void)state;
    enum { N = 100, K = 9 };
    const int64_t n[] = {N, 4, K};
    Arrays a = run(&histogram, n, 4);
    const int32_t *key = a.data[0], *h = a.data[1];
    int count[K] = {0};
    for (int i = 0; i < N; i++)
        count[key[i]]++;
    for (int k = 0; k < K; k++)
        assert_true(h[k] == count[k] && h[k] > 0);
    release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_verify),
        cmocka_unit_test(lowered_text_verifies_against_its_program),
        cmocka_unit_test(embedding_picks_rows),
        cmocka_unit_test(cross_entropy_is_the_logarithm_of_a_share),
        cmocka_unit_test(csr_is_a_product_with_a_dense_matrix),
        cmocka_unit_test(histogram_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
