/* test_simplify.c - what the simplifier can see, case by case, and how it writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/simplify_text.h"

static World tiled(void)
{
    World w = world_new();
    const char *names[] = {"N", "M", "by", "io", "a", "x", "y", "f",
                           "k", "c", "ii", "ty", "i", "j", "z"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        world_var(&w, names[k]);
    world_range(&w, "by", "0", "(M + 31) / 32");
    world_range(&w, "io", "0", "32");
    world_range(&w, "a", "0", "1000");
    world_range(&w, "x", "0", "32");
    world_range(&w, "y", "0", "32");
    world_range(&w, "f", "0", "1048576");
    world_range(&w, "k", "0", "32");
    world_range(&w, "c", "0", "8");
    world_range(&w, "ii", "0", "32");
    world_range(&w, "ty", "0", "32");
    world_range(&w, "i", "0", "N");
    world_range(&w, "j", "0", "N");
    return w;
}

static void expect(World *w, const char *text, const char *want)
{
    Expr *e = text_expr(w, text), *once = simplify(w->f, e);
    const char *got = text_of(w, once);
    if (strcmp(got, want) != 0)
        fail_msg("%s: got %s, want %s", text, got, want);
    if (simplify(w->f, once) != once)
        fail_msg("%s: %s becomes %s when simplified again", text, got,
                 text_of(w, simplify(w->f, once)));
}

typedef struct {
    const char *text, *want;
} Case;

static void expect_all(const Case *cases, size_t n)
{
    World w = tiled();
    for (size_t k = 0; k < n; k++)
        expect(&w, cases[k].text, cases[k].want);
    ctx_free(w.c);
}
#define EXPECT_ALL(cases) expect_all(cases, sizeof cases / sizeof *cases)

static void test_sums(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"ii + io * 32", "io * 32 + ii"},
        {"i + 0", "i"},
        {"1 * i - i", "0"},
        {"N - 1 - i", "N - i - 1"},
        {"-1 + N", "N - 1"},
        {"31 - x", "31 - x"},
        {"-x", "-x"},
        {"(x + y) * 4 + 1", "(x + y) * 4 + 1"},
        {"x * 4 - y * 4", "(x - y) * 4"},
        {"i * 1024 + k", "i * 1024 + k"},
        {"k + 1024 * i", "i * 1024 + k"},
        {"(by * 32 + ty) * N + x", "(by * 32 + ty) * N + x"},
        {"N * i + j", "i * N + j"},
        {"i * N * 4 + j * 4", "i * N * 4 + j * 4"},
        {"3 * (i + 2) - 6", "i * 3"},
        {"by * 32 + ty - by * 32", "ty"},
    };
    EXPECT_ALL(cases);
}

static void test_quotients(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"(io * 32 + ii) / 32", "io"},
        {"(io * 32 + ii) % 32", "ii"},
        {"f / 32 * 32 + f % 32", "f"},
        {"f / 1024 * 1024 + f / 32 % 32 * 32 + f % 32", "f"},
        {"f / 1024 * 32 + f / 32 % 32", "f / 32"},
        {"(f + 40) % 64 / 8 * 8 + (f + 3) % 8", "(f + 40) % 64 / 8 * 8 + (f + 3) % 8"},
        {"(f + 43) % 70 / 7 * 7 + (f + 1) % 7", "(f + 43) % 70"},
        {"(z + 43) % 70 / 7 * 7 + (z + 1) % 7", "(z + 43) % 70 / 7 * 7 + (z + 1) % 7"},
        {"(a * 64 + x * 8 + c) / 8", "a * 8 + x"},
        {"(a * 64 + x * 8 + c) % 8", "c"},
        {"(f * 1024 + y * 32 + x) / 32", "f * 32 + y"},
        {"(f * 1024 + y * 32 + x) % 32", "x"},
        {"(f * 1024 + y * 32 + x) / 1024", "f"},
        {"(f * 1024 + y * 32 + x) / 32 % 32", "y"},
        {"(a * 6 + x) / 4", "(a * 6 + x) / 4"},
        {"(f / 5 + 6) / 6", "f / 30 + 1"},
        {"z % 4 % 0", "z % 4 % 0"},
        {"f / 4 / 8", "f / 32"},
        {"f % 32 % 8", "f % 8"},
        {"f % 32 / 8", "f % 32 / 8"},
        {"f - f / 32 * 32", "f % 32"},
        {"x / 32", "0"},
        {"x % 32", "x"},
        {"(x + 32) / 32", "1"},
        {"(a * 8 + c) / 32", "a / 4"},
        {"(i * N + j) / N", "i"},
        {"(i * N + j) % N", "j"},
        {"(N + 32) / 32", "N / 32 + 1"},
        {"(N + 31) / 32", "(N + 31) / 32"},
        {"i * 8 / 4", "i * 2"},
        {"7 / -2", "-3"},
        {"z / 4 / 8", "z / 32"},
        {"(z * 32 + x) / 32", "(z * 32 + x) / 32"},
        {"z * 32 / 32", "z"},
        {"z - z / 4 * 4", "z % 4"},
        {"f / N * N + f % N", "f"},
        {"z / N * N + z % N + x", "x + z"},
        {"z / N / M * (N * M) + z / N % M * N + z % N", "z"},
        {"(z / N / M * M + z / N % M) * N + z % N", "z"},
        {"((i * M + z / N / M) * M + z / N % M) * N + z % N", "i * N * M * M + z"},
        {"(i + z / N) * N + z % N", "i * N + z"},
        {"z / N % M * N + z % N", "z % (N * M)"},
        {"(i * M + z / N % M) * N + z % N", "i * N * M + z % (N * M)"},
        {"z / N % M * N * 2 + z % N * 2", "z % (N * M) * 2"},
        {"z / N % M * M + z % N", "z / N % M * M + z % N"},
        {"(i + z / N * 2) * N + z % N", "(z / N * 2 + i) * N + z % N"},
        {"z / (N * 4) * N * 4 + z % (N * 4)", "z"},
        {"z / M * N + z % N", "z / M * N + z % N"},
        {"z / N * N * 2 + z % N", "z / N * N * 2 + z % N"},
    };
    EXPECT_ALL(cases);
}

static void test_bits(void **state)
{
    static const Case cases[] = {
        {"f << 5", "f * 32"},
        {"f >> 5", "f / 32"},
        {"f >> 5 << 5 | f & 31", "f"},
        {"f & 31", "f % 32"},
        {"31 & f", "f % 32"},
        {"f & 96", "f / 32 % 4 * 32"},
        {"f & -32", "f / 32 * 32"},
        {"f & 5", "f & 5"},
        {"f & 0", "0"},
        {"a << 5 | x", "a * 32 + x"},
        {"x | a << 5", "a * 32 + x"},
        {"a << 5 ^ x", "a * 32 + x"},
        {"a << 4 | x", "a * 16 | x"},
        {"a << 6 | x | 32", "a * 64 + x + 32"},
        {"a << 6 | f & 63 | 32", "a * 64 + f % 64 | 32"},
        {"x ^ 32", "x + 32"},
        {"(x + 32) ^ 32", "x"},
        {"f ^ 32", "f - f / 32 % 2 * 64 + 32"},
        {"f ^ 48", "f ^ 48"},
        {"z >> 5", "z >> 5"},
        {"z & 31", "z & 31"},
        {"z << 5", "z * 32"},
        {"f >> 63", "f >> 63"},
        {"f << k", "f << k"},
    };
    (void)state;
    EXPECT_ALL(cases);
}

static void test_comparisons(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"io * 32 + ii < 1024", "true"},
        {"by * 32 + ty < M", "by * 32 + ty < M"},
        {"M > ty + by * 32", "by * 32 + ty < M"},
        {"by * 32 + ty <= M - 1", "by * 32 + ty < M"},
        {"by * 32 < M", "true"},
        {"i < 1000", "i < 1000"},
        {"i - 1000 < 0", "i < 1000"},
        {"by * 32 + ty < 1000", "by * 32 + ty < 1000"},
        {"a * 32 < 1000", "a < 32"},
        {"i > 0", "i > 0"},
        {"i - 1 >= 0", "i > 0"},
        {"z >= 0", "z >= 0"},
        {"N <= z", "z >= N"},
        {"(N + 31) / 32 * 32 >= N", "true"},
        {"(N + 31) / 32 * 32 < N", "false"},
        {"N - i - 1 >= 0", "true"},
        {"N >= 1", "true"},
        {"i + 1 <= N", "true"},
        {"i == j + 1", "i == j + 1"},
        {"x * 2 == 5", "false"},
        {"x == 40", "false"},
        {"x != y", "x != y"},
        {"i < 5 && i < 5", "i < 5"},
        {"i < 5 && i < 7", "i < 5"},
        {"i < 5 || i < 5", "i < 5"},
        {"!(i < 5)", "i > 4"},
        {"!(z > 1 || 12 <= z)", "z < 2"},
        {"z < N && z < N + 1", "z < N"},
        {"x >= 0 && z < 3", "z < 3"},
        {"N >= 0", "true"},
        {"(z < 4 ? x : 0) < 32", "true"},
    };
    EXPECT_ALL(cases);
}

static void test_minima(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"min(x, 31)", "x"},
        {"min(32, x)", "x"},
        {"max(x, 0)", "x"},
        {"min(N, i)", "i"},
        {"min(32, N - z)", "min(N - z, 32)"},
        {"min(min(z, 4), min(z, 7))", "min(z, 4)"},
        {"max(z, z + 1)", "z + 1"},
        {"x < 5 ? 1 : 1", "1"},
        {"x < 40 ? x : y", "x"},
    };
    EXPECT_ALL(cases);
}

static void expect_proved(World *w, const char *text, bool want)
{
    if (prove(w->f, text_expr(w, text)) != want)
        fail_msg("%s: %s", text, want ? "not proved" : "proved");
}

/* `text` < `end` is proved, and no smaller bound. */
static void expect_bound(World *w, const char *text, const char *end)
{
    char bound[256];
    snprintf(bound, sizeof bound, "%s < %s", text, end);
    expect_proved(w, bound, true);
    snprintf(bound, sizeof bound, "%s + 1 < %s", text, end);
    expect_proved(w, bound, false);
}

static void test_assumptions(void **state)
{
    (void)state;
    World w = world_new();
    FactsMark mark = facts_mark(w.f);
    facts_assume(w.f, text_expr(&w, "i < N && j <= i && !(k >= M || k < 2)"));
    expect_proved(&w, "i < N + 1", true);
    expect_proved(&w, "i * 1 < N", true);
    expect_bound(&w, "j", "N");
    expect_proved(&w, "k < M", true);
    expect_proved(&w, "k >= 1", true);
    expect_proved(&w, "M > 2", true);
    expect_proved(&w, "N >= 0", true);
    facts_reset(w.f, mark);
    expect_proved(&w, "i < N + 1", false);
    world_range(&w, "i", "0", "M");
    world_range(&w, "j", "i + 1", "N");
    expect_proved(&w, "i + 1 < N", true);
    expect_proved(&w, "i * N + j < M * N", true);
    expect_proved(&w, "j >= 2", false);
    expect_proved(&w, "max(i, j) < max(N, M)", true);
    expect_proved(&w, "min(i, j) < min(N, M)", true);
    ctx_free(w.c);
}

/* The rows and columns of elements that a fused loop goes through. */
static void test_fused_rows(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "f", "0", "(N * M + 255) / 256 * 256");
    world_range(&w, "p", "0", "4097");
    FactsMark mark = facts_mark(w.f);
    expect_proved(&w, "f / M < N", false);
    facts_assume(w.f, text_expr(&w, "f < N * M && p < 4073 && z <= 6000 && -4000 < z"));
    expect_bound(&w, "f / M", "N");
    expect_proved(&w, "f / M / 4 < N", true);
    expect_proved(&w, "f / M * 5 / N < 5", true);
    expect_proved(&w, "f / M * 5 / N < 4", false);
    expect_proved(&w, "f / M >= 0", true);
    expect_bound(&w, "f % M", "M");
    expect_bound(&w, "p / 4", "1019");
    expect_proved(&w, "z / M < N", false);
    expect_proved(&w, "z / 1000 <= 6", true);
    expect_proved(&w, "z / 1000 < 6", false);
    expect_proved(&w, "z / 1000 > -4", true);
    expect_proved(&w, "z / 1000 > -3", false);
    facts_reset(w.f, mark);
    facts_assume(w.f, text_expr(&w, "z > -5 * M && z <= 6 * M"));
    expect_proved(&w, "z / M <= 6", true);
    expect_proved(&w, "z / M < 6", false);
    expect_proved(&w, "z / M >= -5", true);
    expect_proved(&w, "z / M > -4", false);
    ctx_free(w.c);
}

/* Rows of a tile, whose numbers have a quotient of a thread's, times the length of a row. */
static void test_guarded_rows(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "a", "0", "3");
    world_range(&w, "x", "0", "128");
    facts_assume(w.f, text_expr(&w, "M >= 1"));
    facts_assume(w.f, text_expr(&w, "z >= 0 && z + j < M * 3 && j >= 0"));
    expect_proved(&w, "x / 2 * M < M * 64", true);
    expect_proved(&w, "x / 2 * M < M * 63", false);
    expect_proved(&w, "(a * 64 + x / 2) * M * 3 + z + j < M * 576", true);
    expect_proved(&w, "(a * 64 + x / 2) * M * 3 + z + j < M * 575", false);
    FactsMark mark = facts_mark(w.f);
    world_range(&w, "i", "0", "(N + 63) / 64");
    facts_assume(w.f, text_expr(&w, "i * 64 + x / 2 < N"));
    expect_proved(&w, "(i * 64 + x / 2) * M * 3 + z + j < N * M * 3", false);
    facts_scale(w.f);
    expect_proved(&w, "(i * 64 + x / 2) * M * 3 + z + j < N * M * 3", true);
    expect_proved(&w, "(i * 64 + x / 2) * M * 3 + z + j + 1 < N * M * 3", false);
    facts_reset(w.f, mark);
    expect_proved(&w, "(i * 64 + x / 2) * M * 3 + z + j < N * M * 3", false);
    ctx_free(w.c);
}

/* Channels in groups of C / G, whose elements are in one row: f = ((n G + g) C / G + c) H + j. */
/* Rows of sums of sizes, such as the points of a convolution: H - 2 and W - 2 of an image. */
static void test_products_of_sums(void **state)
{
    static const Case cases[] = {
        {"(n * (H - 2) + r) * (W - 2) + s >= 0", "true"},
        {"(n * (H - 2) + r) * (W - 2) + s < N * (H - 2) * (W - 2)", "true"},
        {"(n * (H - 2) + r) * (W - 2) + s < N * (H - 2) * (W - 2) - 1",
         "(n * (H - 2) + r) * (W - 2) + s + 1 < (H - 2) * (W - 2) * N"},
        {"N * (H - 2) * (W - 2) >= 0", "true"},
        {"(N * (H - 2) * (W - 2) + 63) / 64 * 64 / 64", "((H - 2) * (W - 2) * N + 63) / 64"},
        {"N * (H - 2) * (W - 4) >= 0", "(H - 2) * (W - 4) * N >= 0"},
        {"q / (W - 2) * (W - 2) + q % (W - 2)", "q"},
        {"(q / (W - 2) / (H - 2) * (H - 2) + q / (W - 2) % (H - 2)) * (W - 2) + q % (W - 2)", "q"},
        {"q / (W - 2) * (W - 3) + q % (W - 2)", "q / (W - 2) * (W - 3) + q % (W - 2)"},
        {"q / (W - 2) / (H - 2) < N", "true"},
    };
    (void)state;
    World w = world_new();
    world_range(&w, "n", "0", "N");
    facts_assume(w.f, text_expr(&w, "H >= 2"));
    facts_assume(w.f, text_expr(&w, "W >= 2"));
    world_range(&w, "r", "0", "H - 2");
    world_range(&w, "s", "0", "W - 2");
    world_range(&w, "q", "0", "N * (H - 2) * (W - 2)");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        expect(&w, cases[k].text, cases[k].want);
    ctx_free(w.c);
}

static void test_groups(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "g", "0", "N * G");
    world_range(&w, "e", "0", "C / G * H");
    world_range(&w, "k", "0", "8 * H");
    expect_bound(&w, "C / G * (g % G) + e / H", "C");
    expect_proved(&w, "C / G * (g % G + 1) <= C", true);
    expect_proved(&w, "C / G * (g % G + 1) < C", false);
    expect_bound(&w, "g % 8 * 8 + k / H", "64");
    expect_proved(&w, "C / G * G * H <= C * H", true);
    expect_proved(&w, "C / G * G * H >= C * H", false);
    expect_proved(&w, "C / G * G * H + G * H >= C * H + H", true);
    expect_proved(&w, "C / G * G * H + G * H > C * H + H", false);
    expect_proved(&w, "g % G * H <= G * H", true);
    expect_proved(&w, "g % G * z <= G * z", false);
    ctx_free(w.c);
}

/* Blocks take tiles in turn, the last time not all of them. Threads are outside of the turns. */
static void test_turns_that_end_early(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "b", "0", "132");
    world_range(&w, "g", "0", "2");
    world_range(&w, "x", "0", "128");
    world_range(&w, "t", "0", "(709 - b) / 132");
    world_range(&w, "u", "0", "2");
    expect_bound(&w, "(t * 132 + b) / 17 * 128 + g * 64 + x / 32 * 16 + u * 8 + x / 4 % 8", "4352");
    ctx_free(w.c);
}

/* A number between multiples of four says as much as the next one of them. */
static void test_rounded_conditions(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "f", "0", "1000");
    world_range(&w, "p", "0", "4");
    FactsMark mark = facts_mark(w.f);
    facts_assume(w.f, text_expr(&w, "f * 4 + 5 < N * M"));
    expect_proved(&w, "f * 4 + 7 < N * M", false);
    facts_reset(w.f, mark);
    facts_assume(w.f, text_expr(&w, "M % 4 == 0"));
    facts_assume(w.f, text_expr(&w, "f * 4 + 5 < N * M"));
    expect_proved(&w, "f * 4 + 7 < N * M", true);
    expect_proved(&w, "f * 4 + 8 < N * M", false);
    expect_proved(&w, "(f * 4 + 4 + p) / M < N", true);
    facts_reset(w.f, mark);
    facts_assume(w.f, text_expr(&w, "M % 2 == 0"));
    facts_assume(w.f, text_expr(&w, "f * 4 + 6 < N * M"));
    expect_proved(&w, "f * 4 + 7 < N * M", true);
    expect_proved(&w, "f * 4 + 8 < N * M", false);
    ctx_free(w.c);
}

/* The loops of a tile of 128 in a grid of as many as N needs, their variables split into digits and
 * put together. */
static void test_tiles_of_a_padded_size(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "b", "0", "(N + 127) / 128");
    world_range(&w, "x", "0", "8");
    world_range(&w, "z", "0", "32");
    world_range(&w, "f", "0", "8");
    expect_bound(&w, "b * 128 + x / 2 * 32 + f / 4 * 16 + z / 2 % 4 * 4 + f % 4",
                 "(N + 127) / 128 * 128");
    expect_proved(&w, "b * 128 + x / 2 * 32 < N", false);
    ctx_free(w.c);
}

/* Blocks at `x` take turns `k` with 800 tiles, in groups of 8 of 40 rows. The last digit is no
 * larger than its literal end, and the quotient than that of the last tile. */
static void test_turns(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "x", "0", "132");
    world_range(&w, "k", "0", "(931 - x) / 132");
    world_range(&w, "z", "0", "128");
    expect_proved(&w, "k * 132 + x < 800", true);
    expect_proved(&w, "(k * 132 + x) / 160 * 1024 + (k * 132 + x) % 8 * 128 + z < 5120", true);
    expect_proved(&w, "(k * 132 + x) % 8 * 128 + (k * 132 + x) / 160 * 1024 + z < 5120", true);
    expect_proved(&w, "(k * 132 + x) / 160 * 1024 + (k * 132 + x) % 8 * 128 + z < 5119", false);
    ctx_free(w.c);
}

/* What the order of a grid calls its coordinates: names of a minimum, a remainder, a quotient of
 * names. */
static void test_named_minimum(void **state)
{
    (void)state;
    World w = world_new();
    world_range(&w, "y", "0", "N");
    world_let(&w, "f", "y / 8 * 8");
    world_let(&w, "h", "min(N - f, 8)");
    expect_proved(&w, "h >= 1", true);
    expect_proved(&w, "h <= 8", true);
    world_range(&w, "z", "0", "M");
    world_let(&w, "q", "min(f + z % h, N - 1)");
    expect_proved(&w, "q >= 0", true);
    expect_proved(&w, "q < N", true);
    expect_proved(&w, "z / h >= 0", true);
    expect_proved(&w, "z % (N - M) >= 0", true);
    ctx_free(w.c);
}

static void expect_bounds(World *w, const char *text, int64_t min, int64_t max)
{
    int64_t low, high;
    if (!bounds_const(w->f, text_expr(w, text), &low, &high))
        fail_msg("%s: no bounds", text);
    if (low != min || high != max)
        fail_msg("%s: %lld..%lld", text, (long long)low, (long long)high);
}

static void test_bounds(void **state)
{
    (void)state;
    World w = world_new();
    int64_t low, high;
    world_range(&w, "b", "0", "N");
    world_range(&w, "t", "b * 32", "b * 32 + 32");
    world_range(&w, "f", "0", "1024");
    expect_bounds(&w, "t - b * 32", 0, 31);
    expect_bounds(&w, "f / 32", 0, 31);
    expect_bounds(&w, "f % 32", 0, 31);
    expect_bounds(&w, "5 - f", -1018, 5);
    expect_bounds(&w, "min(f, N)", 0, 1023);
    expect_bounds(&w, "(b * 30 + 31) / 4 - b * 30 / 4", 7, 8);
    assert_false(bounds_const(w.f, text_expr(&w, "t"), &low, &high));
    assert_false(bounds_const(w.f, text_expr(&w, "q"), &low, &high));
    assert_true(prove_divisible(w.f, text_expr(&w, "b * 32 + N * 8"), 4));
    assert_false(prove_divisible(w.f, text_expr(&w, "b * 32 + f"), 4));
    assert_true(prove_divisible(w.f, text_expr(&w, "(b * 32 + q) * 37 + f * 8 - q * 37 % 16"), 8));
    assert_true(prove_divisible(w.f, text_expr(&w, "q * N - q * N % 8"), 8));
    assert_false(prove_divisible(w.f, text_expr(&w, "q * 37 + f * 8 - q * 37 % 12"), 8));
    assert_false(prove_divisible(w.f, text_expr(&w, "q * 37 - q * 36 % 16"), 8));
    ctx_free(w.c);
}

/* Quotients and remainders of multiples whose sign is not known. */
static void test_multiples(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"(i + 1 - (i * 3 + 3) % 5 * 2) % 5", "0"},
        {"(i + 1 - (i * 3 + 3) % 7 * 2) % 5", "(i - (i * 3 + 3) % 7 * 2 + 1) % 5"},
        {"(i * 2 + 1 - (k + 1) % 2 - k - N * 2) / 2", "i + (1 - k - (k + 1) % 2) / 2 - N"},
        {"(i * 2 - (k + 1) % 2 - k - N * 2) / 2", "((i - N) * 2 - k - (k + 1) % 2) / 2"},
    };
    EXPECT_ALL(cases);
}

static void expect_over(World *w, const char *text, const char *const *names, int n, bool upper,
                        const char *want, bool want_exact)
{
    const Var *over[8];
    bool exact;
    for (int k = 0; k < n; k++)
        over[k] = world_var(w, names[k]);
    Expr *bound = (upper ? largest_over : least_over)(w->f, text_expr(w, text), over, n, &exact);
    const char *got = bound ? text_of(w, bound) : "none";
    if (strcmp(got, want) != 0 || exact != want_exact)
        fail_msg("%s: got %s%s, want %s", text, got, exact ? " (exact)" : "", want);
}

static void test_bound_over(void **state)
{
    (void)state;
    World w = world_new();
    const char *ty[] = {"ty"}, *f[] = {"f"}, *ij[] = {"i", "j"}, *td[] = {"ty", "d"};
    world_range(&w, "b", "0", "(N + 31) / 32");
    world_range(&w, "ty", "0", "32");
    world_range(&w, "d", "-1", "2");
    world_range(&w, "f", "0", "1024");
    world_range(&w, "i", "0", "8");
    world_range(&w, "j", "i", "8");
    expect_over(&w, "b * 32 + ty", ty, 1, false, "b * 32", true);
    expect_over(&w, "b * 32 + ty", ty, 1, true, "b * 32 + 31", true);
    expect_over(&w, "b * 32 + ty + d", td, 2, false, "b * 32 - 1", true);
    expect_over(&w, "b * 32 + ty + d", td, 2, true, "b * 32 + 32", true);
    expect_over(&w, "b * 32 - ty", ty, 1, true, "b * 32", true);
    expect_over(&w, "f / 32", f, 1, true, "31", true);
    expect_over(&w, "f % 32", f, 1, true, "31", true);
    expect_over(&w, "f % 32 - f / 32", f, 1, true, "31", false);
    expect_over(&w, "j - i", ij, 2, true, "7", true);
    expect_over(&w, "i - j", ij, 2, true, "0", true);
    expect_over(&w, "min(ty, N)", ty, 1, true, "min(N, 31)", true);
    expect_over(&w, "q", (const char *[]){"q"}, 1, true, "none", false);
    expect_over(&w, "b", ty, 1, true, "b", true);
    ctx_free(w.c);
}

static void test_split_linear(void **state)
{
    (void)state;
    World w = tiled();
    int64_t k;
    Expr *rest;
    assert_true(
        split_linear(w.f, text_expr(&w, "(x + 2) * 4 + y - x"), world_var(&w, "x"), &k, &rest));
    assert_int_equal(k, 3);
    assert_string_equal(text_of(&w, rest), "y + 8");
    assert_false(split_linear(w.f, text_expr(&w, "f / 4 + f"), world_var(&w, "f"), &k, &rest));
    ctx_free(w.c);
}

static bool has_no_x(const void *x, Expr *factor)
{
    return !expr_uses_var(factor, x);
}

static void test_split_terms(void **state)
{
    (void)state;
    World w = tiled();
    Expr *chosen, *rest;
    Expr *e = text_expr(&w, "(x + f / 4 + 2) * 4 + y - x");
    assert_true(split_terms(w.f, e, has_no_x, world_var(&w, "x"), &chosen, &rest));
    assert_string_equal(text_of(&w, chosen), "f / 4 * 4 + y");
    assert_string_equal(text_of(&w, rest), "x * 3 + 8");
    assert_true(
        split_terms(w.f, text_expr(&w, "x + 1"), has_no_x, world_var(&w, "x"), &chosen, &rest));
    assert_string_equal(text_of(&w, chosen), "0");
    ctx_free(w.c);
}

static void test_overflow_is_left_alone(void **state)
{
    (void)state;
    World w = world_new();
    const char *big = "9223372036854775807 * i + 9223372036854775807 * i";
    Expr *e = text_expr(&w, big);
    assert_ptr_equal(simplify(w.f, e), e);
    e = text_expr(&w, "9223372036854775807 + 1 > 0");
    assert_ptr_equal(simplify(w.f, e), e);
    ctx_free(w.c);
}

/* 64 bits hold every index that there is; 32 only one that is known to fit. */
static void test_casts_and_back(void **state)
{
    (void)state;
    World w = world_new();
    Context *c = w.c;
    Expr *n = text_expr(&w, "N"), *wide = expr_cast(c, DT_I64, n, span_none()),
         *narrow = expr_cast(c, DT_I32, n, span_none());
    assert_ptr_equal(simplify(w.f, expr_cast(c, DT_INDEX, wide, span_none())), n);
    assert_int_equal(simplify(w.f, expr_cast(c, DT_INDEX, narrow, span_none()))->kind, EX_CAST);
    ctx_free(w.c);
}

static void test_constructors(void **state)
{
    (void)state;
    World w = world_new();
    Context *c = w.c;
    Expr *n = text_expr(&w, "N"), *one = expr_index(c, 1), *four = expr_index(c, 4);
    assert_ptr_equal(index_add(c, n, expr_index(c, 0)), n);
    assert_ptr_equal(index_mul(c, one, n), n);
    assert_string_equal(text_of(&w, index_sub(c, index_add(c, n, four), one)), "N + 3");
    assert_string_equal(text_of(&w, index_ceildiv(c, n, four)), "(N + 3) / 4");
    assert_string_equal(text_of(&w, index_mul(c, index_mul(c, four, n), four)), "N * 16");
    assert_ptr_equal(cond_and(c, NULL, n), n);
    ForStmt loop = {.lo = four, .hi = index_add(c, n, four), .step = 3};
    assert_string_equal(text_of(&w, loop_extent(c, &loop)), "(N + 2) / 3");
    loop = (ForStmt){.lo = index_sub(c, n, one), .hi = expr_index(c, 0), .step = -1};
    assert_string_equal(text_of(&w, loop_extent(c, &loop)), "N");
    ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_minima),
        cmocka_unit_test(test_assumptions),
        cmocka_unit_test(test_fused_rows),
        cmocka_unit_test(test_guarded_rows),
        cmocka_unit_test(test_products_of_sums),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_turns_that_end_early),
        cmocka_unit_test(test_rounded_conditions),
        cmocka_unit_test(test_tiles_of_a_padded_size),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_named_minimum),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_multiples),
        cmocka_unit_test(test_bound_over),
        cmocka_unit_test(test_split_linear),
        cmocka_unit_test(test_split_terms),
        cmocka_unit_test(test_casts_and_back),
        cmocka_unit_test(test_constructors),
        cmocka_unit_test(test_overflow_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
