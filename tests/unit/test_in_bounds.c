/* Which accesses of a lowered kernel are proved to stay inside, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse_text.h"
#include "passes/lower/proofs/in_bounds.h"

#define COPY "kernel copy<N>(x: f32[N]) -> y: f32[N]\n{\n"
/* One element a thread: `statement`, which speaks of i. */
#define BY_THREADS(head, statement)                                                                \
    head "    launch copy grid((N + 31) / 32, 1, 1) block(32, 1, 1) {\n"                           \
         "        let i = blockIdx.x * 32 + threadIdx.x;\n        " statement "\n    }\n}\n"

/* The answer for access number `at`, and a piece of the reason. */
static void expect(const char *text, int at, BoundsAnswer answer, const char *piece)
{
    Text t;
    text_open(&t);
    if (setjmp(t.guard)) {
        fail_msg("fatal: %s", t.ctx->fatal_message);
        return;
    }
    AstFile *file = parse_text(t.ctx, source_add(t.ctx, "test.tir", text, strlen(text)));
    Kernel *kernel = file ? resolve_kernel(t.ctx, file->kernels[0], NULL, 0) : NULL;
    if (!kernel)
        fail_msg("%s", text_report(&t));
    MemoryBounds found = accesses_in_bounds(t.ctx, kernel, NULL);
    assert_true(at < found.accesses.n);
    const AccessBounds *a = &found.accesses.items[at];
    if (a->answer != answer || (piece && (!a->why || !strstr(a->why, piece))))
        fail_msg("'%s': %d, '%s'", a->element, a->answer, a->why ? a->why : "");
    text_close(&t);
}

static void guards(void **state)
{
    (void)state;
    expect(BY_THREADS(COPY, "if i < N y[i] = x[i];"), 0, BOUNDS_PROVED, NULL);
    expect(BY_THREADS(COPY, "if i < N y[i] = x[i];"), 1, BOUNDS_PROVED, NULL);
    expect(BY_THREADS(COPY, "if i < N + 1 y[i] = x[i];"), 1, BOUNDS_LEAVES,
           "at N = 1, blockIdx.x = 0, threadIdx.x = 1 the subscript i is 1, but the axis has 1 "
           "elements");
    expect(BY_THREADS(COPY, "y[i] = x[i];"), 0, BOUNDS_LEAVES, "at N = 1, ");
    expect(BY_THREADS(COPY, "if i < N y[i] = x[i - 1];"), 0, BOUNDS_LEAVES,
           "the subscript i - 1 is -1");
    expect(BY_THREADS(COPY, "if i < N && i > 0 y[i] = x[i - 1];"), 0, BOUNDS_PROVED, NULL);
}

static void conditions_of_expressions(void **state)
{
    (void)state;
    expect(BY_THREADS(COPY, "if i < N y[i] = i > 0 ? x[i - 1] : x[i];"), 0, BOUNDS_PROVED, NULL);
    expect(BY_THREADS(COPY, "if i < N y[i] = i > 0 ? x[i] : x[i - 1];"), 1, BOUNDS_LEAVES, "is -1");
    expect(BY_THREADS(COPY, "if i < N if i > 0 && x[i - 1] > 0.0 y[i] = 0.0;"), 0, BOUNDS_PROVED,
           NULL);
    expect(BY_THREADS(COPY, "if i < N if i == 0 || x[i - 1] > 0.0 y[i] = 0.0;"), 0, BOUNDS_PROVED,
           NULL);
    expect(BY_THREADS(COPY, "if i < N if x[i - 1] > 0.0 && i > 0 y[i] = 0.0;"), 0, BOUNDS_LEAVES,
           "is -1");
}

/* Sizes are at least 1. */
static void sizes_of_one(void **state)
{
    (void)state;
    expect("kernel k<N>(x: f32[N]) -> y: f32[1]\n{\n    launch k grid(1, 1, 1) block(1, 1, 1) {\n"
           "        y[0] = x[0];\n    }\n}\n",
           0, BOUNDS_PROVED, NULL);
}

#define LABELS "kernel k<N, C>(label: i32[N], x: f32[N * C]) -> y: f32[N]\n{\n"
static void data(void **state)
{
    (void)state;
    expect(BY_THREADS(LABELS, "if i < N y[i] = x[index(label[i])];"), 1, BOUNDS_DATA,
           "it depends on label[i]");
    expect(BY_THREADS(LABELS, "if i < N { let at = index(label[i]); y[i] = x[at]; }"), 1,
           BOUNDS_DATA, "it depends on label[i]");
    expect(
        BY_THREADS(LABELS,
                   "if i < N { let at = index(label[i]); if at >= 0 && at < N * C y[i] = x[at]; }"),
        1, BOUNDS_PROVED, NULL);
    expect(BY_THREADS(LABELS, "if i < N y[i] = x[i + C];"), 0, BOUNDS_LEAVES, "at N = 1, C = 1, ");
}

/* Two names of one place, which holds something else in between, are two values. */
static void memory_that_changes(void **state)
{
    (void)state;
    expect("kernel k<N>(inout n: i32[1], x: f32[N]) -> y: f32[1]\n{\n"
           "    launch k grid(1, 1, 1) block(1, 1, 1) {\n"
           "        let a = index(n[0]);\n        n[0] = 3;\n        let b = index(n[0]);\n"
           "        y[0] = x[b - a];\n    }\n}\n",
           3, BOUNDS_DATA, "it depends on n[0]");
}

/* What a guard says of a name holds for its value, and a remainder by a positive number is one. */
static void names_of_guards(void **state)
{
    (void)state;
    expect("kernel k<N>(x: f32[N]) -> y: f32[N]\n{\n"
           "    launch k grid((N + 7) / 8, 1, 1) block(8, 1, 1) {\n"
           "        let first = blockIdx.x / 4 * 4;\n"
           "        let height = min((N + 7) / 8 - first, 4);\n"
           "        let at = (first + blockIdx.x % height) * 8 + threadIdx.x;\n"
           "        if at < N\n"
           "            y[at] = x[(first + blockIdx.x % height) * 8 + threadIdx.x];\n    }\n}\n",
           0, BOUNDS_PROVED, NULL);
}

#define CLASSES                                                                                    \
    "kernel k<N, C>(label: i32[N], s: i32, x: f32[N, C], z: f32[8]) -> y: f32[N]\n    where "
#define PICK "\n{\n    launch k grid(N, 1, 1) block(1, 1, 1) {\n        y[blockIdx.x] = "
static void where_clauses(void **state)
{
    (void)state;
    expect(CLASSES "label in 0..C" PICK "x[blockIdx.x * C + index(label[blockIdx.x])];\n"
                   "    }\n"
                   "}\n",
           1, BOUNDS_PROVED, NULL);
    expect(CLASSES "label in 0..C + 1" PICK "x[blockIdx.x * C + index(label[blockIdx.x])];\n"
                   "    }\n"
                   "}\n",
           1, BOUNDS_DATA, "label[blockIdx.x]");
    expect(CLASSES "s in 0..8" PICK "z[index(s)];\n    }\n}\n", 0, BOUNDS_PROVED, NULL);
    expect(CLASSES "s in 0..9" PICK "z[index(s)];\n    }\n}\n", 0, BOUNDS_DATA, "the argument 's'");
    expect(CLASSES "N <= 8" PICK "z[blockIdx.x];\n    }\n}\n", 0, BOUNDS_PROVED, NULL);
    expect(CLASSES "N <= 9" PICK "z[blockIdx.x];\n    }\n}\n", 0, BOUNDS_LEAVES, "at N = 9, ");
}

/* Of x[i + C] for i in N: outside at these values of N and C, with a buffer of N * C elements. */
static bool leaves_at(int64_t n, int64_t classes)
{
    const char *text = BY_THREADS(LABELS, "if i < N y[i] = x[i + C];");
    const int64_t sizes[] = {n, classes};
    Text t;
    text_open(&t);
    text_parse(&t, text);
    MemoryBounds found = accesses_in_bounds(t.ctx, text_kernel(&t, 0), sizes);
    bool always = found.accesses.items[0].always;
    text_close(&t);
    return always;
}

static void sizes_of_a_run(void **state)
{
    (void)state;
    assert_true(leaves_at(1, 1));
    assert_true(leaves_at(5, 1));
    assert_false(leaves_at(2, 2));
    assert_false(leaves_at(3, 5));
}

#define TILE                                                                                       \
    "kernel k<N>(x: f32[64]) -> y: f32[64]\n{\n    launch k grid(1, 1, 1) block(16, 1, 1) {\n"     \
    "        temp s: f32[16, 6] in shared;\n"
static void memory_of_blocks(void **state)
{
    (void)state;
    expect(TILE "        s[threadIdx.x, 5] = 0.0;\n    }\n}\n", 0, BOUNDS_PROVED, NULL);
    expect(TILE "        s[threadIdx.x, 6] = 0.0;\n"
                "    }\n"
                "}\n",
           0, BOUNDS_LEAVES, "the subscript 6 is 6");
    expect(TILE "        s[threadIdx.x + 1, 0] = 0.0;\n"
                "    }\n"
                "}\n",
           0, BOUNDS_LEAVES, "threadIdx.x = 15 the subscript");
}

/* Rows of 6 elements: the second one begins at no multiple of 4. */
static void wide_accesses(void **state)
{
    (void)state;
    expect(TILE "        for v in 4 vectorize\n"
                "            y[threadIdx.x * 4 + v] = x[threadIdx.x * 4 + v];\n"
                "    }\n"
                "}\n",
           0, BOUNDS_PROVED, NULL);
    expect(TILE "        for v in 4 vectorize\n"
                "            y[threadIdx.x * 4 + v] = x[threadIdx.x * 2 + v];\n"
                "    }\n"
                "}\n",
           0, BOUNDS_LEAVES,
           "threadIdx.x = 1, v = 0 a wide access of 4 elements starts at threadIdx.x * 2 = 2");
    expect(TILE "        for v in 4 vectorize\n"
                "            s[threadIdx.x, v] = x[v];\n"
                "    }\n"
                "}\n",
           1, BOUNDS_LEAVES, "starts at threadIdx.x * 6 = 6, which is not a multiple of its width");
    expect(TILE "        for v in 4 vectorize\n"
                "            y[threadIdx.x * 4 + 4 + v] = x[v];\n"
                "    }\n"
                "}\n",
           1, BOUNDS_LEAVES, "the subscript threadIdx.x * 4 + 4 + v is 64");
}

#define TABLE "kernel copy<N, M>(x: f32[N, M]) -> y: f32[N, M]\n{\n"
static void one_subscript_for_two_axes(void **state)
{
    (void)state;
    expect(BY_THREADS(TABLE, "if i < N for j in M y[i * M + j] = x[i * M + j];"), 0, BOUNDS_PROVED,
           NULL);
    expect(BY_THREADS(TABLE, "if i < N for j in M y[i * M + j] = x[i * M + j];"), 1, BOUNDS_PROVED,
           NULL);
}

/* Elements of x that swizzles of rows read, in a block of a x b threads. */
#define SWIZZLED(block, extent, guard, subscript)                                                  \
    "kernel k(x: f32[" extent "]) -> y: f32[256]\n{\n"                                             \
    "    launch k grid(1, 1, 1) block(" block ", 1) {\n"                                           \
    "        let a = threadIdx.x;\n        let b = threadIdx.y;\n"                                 \
    "        if " guard " y[a * 8 + b] = x[" subscript "];\n    }\n}\n"
static void swizzles_of_guarded_rows(void **state)
{
    (void)state;
    expect(SWIZZLED("32, 8", "8", "a * 4 + b < 32", "a ^ b"), 0, BOUNDS_PROVED, NULL);
    expect(SWIZZLED("8, 32", "8", "b * 4 + a < 32", "a ^ b"), 0, BOUNDS_PROVED, NULL);
    expect(SWIZZLED("32, 8", "16", "a < 9", "a ^ b"), 0, BOUNDS_PROVED, NULL);
    expect(SWIZZLED("32, 8", "15", "a < 9", "a ^ b"), 0, BOUNDS_UNPROVED, NULL);
    expect(SWIZZLED("32, 8", "3", "a + b < 3", "a ^ b"), 0, BOUNDS_PROVED, NULL);
    expect(SWIZZLED("32, 8", "3", "a + b < 4", "a ^ b"), 0, BOUNDS_UNPROVED, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards),
        cmocka_unit_test(conditions_of_expressions),
        cmocka_unit_test(sizes_of_one),
        cmocka_unit_test(data),
        cmocka_unit_test(memory_that_changes),
        cmocka_unit_test(names_of_guards),
        cmocka_unit_test(where_clauses),
        cmocka_unit_test(sizes_of_a_run),
        cmocka_unit_test(memory_of_blocks),
        cmocka_unit_test(wide_accesses),
        cmocka_unit_test(one_subscript_for_two_axes),
        cmocka_unit_test(swizzles_of_guarded_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
