/* test_inputs.c - random inputs: what is derived from a program, whether the data obey it and the
 * `where` clause, and which arguments a run refuses. Data are checked here by plain loops over C
 * arrays. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdio.h>

#include "frontend/api/internal.h"
#include "runtime/values.h"
#include "tests/unit/parse_text.h"

/* ---- what is derived ------------------------------------------------------------------------- */

typedef struct {
    const char *clause, *body, *derived; /* the facts, in order; "" for none */
} Derivation;

#define HEAD                                                                                       \
    "kernel k<N, M, C = 10>(x: f32[N, C], v: f32[M], id: i32[N], at: i64[N, M], ptr: i32[N], s: "  \
    "f32, eps: f32, n: i32) -> y: f32[N]"

static const Derivation derivations[] = {
    {"", "for i in N y[i] = x[i, 0] * s;", ""},
    {"", "for i in N y[i] = x[i, id[i]];", "id >= 0, id < 10"},
    {"", "for i in N y[i] = x[id[i], 0];", "id >= 0, id < N"},
    {"", "for i in N y[i] = x[i, id[i] + 1];", "id >= -1, id < 9"},
    {"", "for i in N y[i] = x[i, id[i] - 2];", "id >= 2, id < 12"},
    {"", "for i in N y[i] = x[i, 2 * id[i] + 1];", "id >= 0, id < 5"},
    {"", "for i in N y[i] = x[i, 9 - id[i]];", "id < 10, id >= 0"},
    {"", "for i in N y[i] = v[M - 1 - id[i]];", "id < M, id >= 0"},
    {"", "for i in N y[i] = v[M - 2 * id[i]];", "id < M / 2 + 1, id >= 1"},
    {"", "for i in N, c in 3 y[i] = x[i, id[i] + c];", "id >= 0, id < 8"},
    {"", "for i in N y[i] = x[i, id[i]] + v[id[i]];", "id >= 0, id < 10, id < M"},
    {"", "for i in N, j in M y[i] = v[at[i, j]];", "at >= 0, at < M"},
    {"", "for i in N y[i] = v[id[ptr[i]]];", "id >= 0, id < M, ptr >= 0, ptr < N"},
    {"", "for i in N y[i] = v[min(id[i], M - 1)];", "id >= 0, id < M"},
    {"", "for i in N y[i] = v[id[i] % 4];", "id >= 0, id < M"},
    {"", "for i in N y[i] = x[i, n];", "n >= 0, n < 10"},
    {"", "for i in N y[id[i]] = 1;", "id >= 0, id < N"},
    {"", "temp t: i32[N]; for i in N t[i] = id[i] + 1; for j in N y[j] = x[j, t[j] + 2];",
     "id >= -3, id < 7"},
    {"", "for i in N - 1 { y[i] = 0; for j in ptr[i]..ptr[i + 1] y[i] += v[j]; }",
     "ptr is nondecreasing, ptr >= 0, ptr < M + 1"},
    {"", "for i in N { y[i] = 0; for j in 0..id[i] y[i] += v[j + 1]; }", "id < M"},
    {"where id in -1..M", "for i in N y[i] = x[i, id[i]];", ""},
    {"where id >= -1", "for i in N y[i] = x[i, id[i]];", "id < 10"},
    {"", "for i in N y[i] = x[i, 0] / (s + eps);", "s in 0.0625..1.0, eps in 0.0625..1.0"},
    {"where eps > 0", "for i in N y[i] = x[i, 0] / (s + eps);", "s in 0.0625..1.0"},
    {"", "for i in N y[i] = log(v[0] * s);", "v in 0.0625..1.0, s in 0.0625..1.0"},
    {"", "for i in N y[i] = sqrt(s * s + eps) + rsqrt(s * s);", "eps in 0.0625..1.0"},
    {"", "for i in N y[i] = log(exp(s) + 1.0);", ""},
    {"", "for i in N y[i] = log(1.0 - s);", ""},
    {"", "for i in N y[i] = 8 / n + 7 % id[i];", "n >= 1, id >= 1"},
};

static const char *derived(Text *t, const Kernel *kernel)
{
    StrBuf out = strbuf_new(t->ctx->arena);
    for (int i = 0; i < kernel->n_draws; i++) {
        strbuf_add(&out, i ? ", " : "");
        print_fact(&kernel->draws[i], &out);
    }
    return out.text;
}

static void ranges_follow_from_uses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof derivations / sizeof *derivations; i++) {
        const Derivation *d = &derivations[i];
        Text t;
        text_open(&t);
        text_parse(&t, arena_printf(t.ctx->arena, HEAD " %s { %s }", d->clause, d->body));
        Kernel *kernel = text_kernel(&t, 0);
        const char *found = derived(&t, kernel);
        if (strcmp(found ? found : "", d->derived) != 0)
            fail_msg("%s %s\nexpected %s\nfound    %s", d->clause, d->body, d->derived, found);
        text_close(&t);
    }
}

/* t1 = t0 + t0, t2 = t1 + t1, ...: what is too long to follow is kept in the axis, soon. */
static void doubled_temps_are_soon_done(void **state)
{
    enum { LEVELS = 60 };
    (void)state;
    Text t;
    text_open(&t);
    StrBuf text = strbuf_new(t.ctx->arena);
    strbuf_add(&text, "kernel k<N>(x: f32[N], id: i32[N]) -> y: f32[N] { temp t0: i32[N]; for i in "
                      "N t0[i] = id[i] + id[i];");
    for (int k = 1; k < LEVELS; k++)
        strbuf_addf(&text, " temp t%d: i32[N]; for i in N t%d[i] = t%d[i] + t%d[i];", k, k, k - 1,
                    k - 1);
    strbuf_addf(&text, " for i in N y[i] = x[t2[i]] + x[t%d[i]]; }", LEVELS - 1);
    text_parse(&t, text.text);
    assert_string_equal(derived(&t, text_kernel(&t, 0)), "id >= 0, id < (N - 1) / 8 + 1");
    text_close(&t);
}

/* ---- data ------------------------------------------------------------------------------------ */

enum { N = 50 };

static tirc_status compile(tirc *t, const char *text, tirc_program **program)
{
    tirc_file *file;
    tirc_kernel *kernel, *scheduled, *lowered;
    tirc_device *device;
    tirc_status status = tirc_parse_text(t, "test.tir", text, strlen(text), &file);
    if (!status)
        status = tirc_resolve(t, file, NULL, NULL, 0, &kernel);
    if (!status)
        status = tirc_apply(t, file, kernel, NULL, NULL, 0, &scheduled);
    if (!status)
        status = tirc_lower(t, scheduled, NULL, &lowered);
    if (!status)
        status = tirc_device_open(t, TIRC_DEVICE_SIM, 0, NULL, &device);
    return status ? status : tirc_compile(t, device, lowered, program);
}

static const char ORDERS[] =
    "kernel k<N>(a: i32[N], b: u8[N], c: i64[N], d: i16[N], f: f32[N], g: f16[N], h: f32[N], e: "
    "f32, n: i32, m: i32) -> y: f32[N]\n"
    "    where a in 3..10, a is nondecreasing, b is increasing, c is distinct, -5 <= c < N, d is "
    "permutation, f is increasing,\n"
    "        g >= 5, 0 < h < 1e-3, 0 < e <= 1, n in 1..4, m <= -200\n"
    "{ for i in N y[i] = f[i] + a[i] + b[i] + c[i] + d[i] + g[i] + h[i] + e + n + m; }";

static void data_obey_the_clause(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    int64_t size = N, seen[N] = {0};
    int32_t a[N], n, m;
    uint8_t b[N];
    int64_t c[N];
    int16_t d[N];
    float f[N], h[N], e;
    uint16_t g[N];
    void *data[] = {a, b, c, d, f, g, h, &e, &n, &m};
    assert_int_equal(compile(t, ORDERS, &program), TIRC_OK);
    for (uint64_t seed = 0; seed < 20; seed++) {
        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < sizeof data / sizeof *data; i++)
            assert_int_equal(tirc_fill_random(t, program, &size, seed, i, data[i]), TIRC_OK);
        assert_true(e > 0 && e <= 1 && n >= 1 && n < 4 && m <= -200);
        for (int i = 0; i < N; i++) {
            assert_true(a[i] >= 3 && a[i] < 10 && (i == 0 || a[i] >= a[i - 1]));
            assert_true(i == 0 || b[i] > b[i - 1]);
            assert_true(i == 0 || f[i] > f[i - 1]);
            assert_true(d[i] >= 0 && d[i] < N && seen[d[i]]++ == 0);
            assert_true(c[i] >= -5 && c[i] < N);
            for (int j = 0; j < i; j++)
                assert_true(c[i] != c[j]);
            assert_true(tirc_element("f16", g, (size_t)i) >= 5);
            assert_true(h[i] > 0 && h[i] < 1e-3f);
        }
    }
    tirc_free(t);
}

/* All values of a range turn up, its ends too. */
static void data_cover_their_range(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    static int32_t id[COUNT];
    int seen[11] = {0};
    assert_int_equal(compile(t,
                             "kernel k<N = 2000>(x: f32[N, 11], id: i32[N]) -> y: f32[N] { for i "
                             "in N y[i] = x[i, id[i]]; }",
                             &program),
                     TIRC_OK);
    assert_int_equal(tirc_fill_random(t, program, NULL, 0, 1, id), TIRC_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_true(id[i] >= 0 && id[i] < 11);
        seen[id[i]]++;
    }
    for (int k = 0; k < 11; k++)
        assert_true(seen[k] > COUNT / 11 / 2 && seen[k] < COUNT / 11 * 2);
    tirc_free(t);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void expect(tirc *t, tirc_status status, const char *code, const char *words)
{
    tirc_diagnostic last = tirc_diagnostic_at(t, tirc_diagnostic_count(t) - 1);
    assert_int_not_equal(status, TIRC_OK);
    assert_string_equal(last.code, code);
    if (!strstr(last.message, words))
        fail_msg("expected '%s' in: %s", words, last.message);
}

static const char PICK[] =
    "kernel pick<N, V>(x: f32[V], id: i32[N], ptr: i32[N], e: f32) -> y: f32[N]\n"
    "    where N % 4 == 0, V <= 100, id in 0..V, ptr is increasing, e > 0\n"
    "{ for i in N y[i] = x[id[i]] * e + ptr[i]; }";

static void runs_refuse_other_arguments(void **state)
{
    (void)state;
    tirc *t = tirc_new(NULL);
    tirc_program *program;
    _Alignas(16) float x[3] = {1, 2, 3}, y[4]; /* tirc_launch takes aligned memory */
    _Alignas(16) int32_t id[4] = {0, 2, 1, 2}, ptr[4] = {1, 2, 3, 9};
    float e = 1;
    void *arguments[] = {x, id, ptr, &e, y};
    int64_t sizes[] = {4, 3}, odd[] = {3, 3}, large[] = {4, 101};
    assert_int_equal(compile(t, PICK, &program), TIRC_OK);
    assert_int_equal(tirc_run(t, program, sizes, arguments), TIRC_OK);
    assert_true(y[1] == 5 && y[3] == 12);
    expect(t, tirc_run(t, program, odd, arguments), "E0652",
           "requires N % 4 == 0, but the sizes are N = 3, V = 3");
    expect(t, tirc_run(t, program, large, arguments), "E0652", "V <= 100");
    id[2] = 3;
    expect(t, tirc_run(t, program, sizes, arguments), "E0652",
           "id in 0..V, but element 2 of 'id' is 3");
    id[2] = 0;
    id[0] = -1;
    expect(t, tirc_run(t, program, sizes, arguments), "E0652", "element 0 of 'id' is -1");
    id[0] = 0;
    ptr[2] = 2;
    expect(t, tirc_run(t, program, sizes, arguments), "E0652",
           "ptr is increasing, but element 2 of 'ptr' is 2");
    ptr[2] = 3;
    e = 0;
    expect(t, tirc_run(t, program, sizes, arguments), "E0652", "e > 0.0, but 'e' is 0");
    expect(t, tirc_launch(t, program, sizes, arguments), "E0652", "'e' is 0");
    e = NAN;
    expect(t, tirc_run(t, program, sizes, arguments), "E0652", "'e' is nan");
    e = 2;
    assert_int_equal(tirc_run(t, program, sizes, arguments), TIRC_OK);
    tirc_free(t);
}

/* Fills on one processor, and leaves the affinity as it was. */
static void fill_alone(const Random *r, const RandomData *d)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(values_fill(r, d));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* Whether no two of the first numbers of four parts are equal. */
static bool parts_differ(const float *data, int64_t n)
{
    for (int64_t i = 0; i < 4; i++)
        for (int64_t k = 0; k < i; k++)
            if (data[i * n / 4] == data[k * n / 4])
                return false;
    return true;
}

static void data_are_the_same_on_any_number_of_processors(void **state)
{
    enum { PARTS = 4, ALL = PARTS << 18, LESS = ALL / 2 + 77 };
    static float alone[ALL], shared[ALL], fewer[LESS];
    ModuleValues range = {.has_lo = true, .has_hi = true, .hi = 8, .order = ORDER_COUNT};
    const ModuleValues *const values[] = {NULL, &range};
    Random r = random_new(7, 0);
    (void)state;
    for (int i = 0; i < 2; i++) {
        RandomData d = {.type = DT_F32, .to = alone, .n = ALL, .values = values[i]};
        fill_alone(&r, &d);
        d.to = shared;
        assert_true(values_fill(&r, &d));
        assert_memory_equal(alone, shared, sizeof alone);
        d.to = fewer;
        d.n = LESS;
        assert_true(values_fill(&r, &d));
        assert_memory_equal(alone, fewer, sizeof fewer);
        assert_true(parts_differ(alone, ALL));
    }
}

static void orders_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *type, *clause;
        int64_t n;
    } cases[] = {{"u8", "a is increasing", 257},
                 {"i32", "a is distinct, a in 0..5", 6},
                 {"i8", "a is permutation", 129},
                 {"i32", "a is increasing, a in N..N + 3", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tirc *t = tirc_new(NULL);
        tirc_program *program;
        char text[200];
        int64_t data[300], one_less = cases[i].n - 1;
        snprintf(text, sizeof text,
                 "kernel k<N>(a: %s[N]) -> y: f32[N] where %s { for i in N y[i] = a[i]; }",
                 cases[i].type, cases[i].clause);
        assert_int_equal(compile(t, text, &program), TIRC_OK);
        assert_int_equal(tirc_fill_random(t, program, &one_less, 0, 0, data), TIRC_OK);
        expect(t, tirc_fill_random(t, program, &cases[i].n, 0, 0, data), "E0653",
               "no random data for 'a'");
        tirc_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_follow_from_uses),
        cmocka_unit_test(doubled_temps_are_soon_done),
        cmocka_unit_test(data_obey_the_clause),
        cmocka_unit_test(data_cover_their_range),
        cmocka_unit_test(data_are_the_same_on_any_number_of_processors),
        cmocka_unit_test(runs_refuse_other_arguments),
        cmocka_unit_test(orders_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
