/* Who writes the outputs of a lowered kernel: proofs, and what widened, narrowed and missing guards
 * lead to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse_text.h"
#include "passes/lower/proofs/written.h"

#define COPY   "kernel copy<N>(x: f32[N]) -> y: f32[N]\n{\n"
#define COPIES COPY "    for i in N\n        y[i] = x[i];\n}\n"
/* One element a thread, where `guard` holds. */
#define BY_THREADS(guard)                                                                          \
    COPY "    launch copy grid((N + 31) / 32, 1, 1) block(32, 1, 1) {\n"                           \
         "        let i = blockIdx.x * 32 + threadIdx.x;\n"                                        \
         "        " guard "\n            y[i] = x[i];\n    }\n}\n"

static Kernel *read_kernel(Text *t, const char *text)
{
    AstFile *file = parse_text(t->ctx, source_add(t->ctx, "test.tir", text, strlen(text)));
    Kernel *kernel = file ? resolve_kernel(t->ctx, file->kernels[0], NULL, 0) : NULL;
    if (!kernel)
        fail_msg("%s", text_report(t));
    return kernel;
}

/* The answer, and a piece of the reason. */
static void expect(const char *program, const char *lowered, Written answer, const char *piece)
{
    Text t;
    text_open(&t);
    if (setjmp(t.guard)) {
        fail_msg("fatal: %s", t.ctx->fatal_message);
        return;
    }
    const Kernel *first = read_kernel(&t, program), *last = read_kernel(&t, lowered);
    WrittenProof proof = outputs_written_once(t.ctx, first, last);
    if (proof.answer != answer || (piece && !strstr(proof.why, piece)))
        fail_msg("%d, '%s'", proof.answer, proof.why ? proof.why : "");
    text_close(&t);
}

static void guards_that_fit(void **state)
{
    (void)state;
    expect(COPIES, BY_THREADS("if i < N"), WRITTEN_ONCE, NULL);
    expect(COPIES, BY_THREADS("if blockIdx.x * 32 + threadIdx.x < N && i >= 0"), WRITTEN_ONCE,
           NULL);
}

/* A size that the fault does not depend on is not 0 in its witness, of which nobody could run
 * it. */
static void witnesses_have_sizes(void **state)
{
    (void)state;
    expect("kernel copies<M, N>(x: f32[N], z: f32[M]) -> y: f32[N] { for i in N y[i] = x[i]; }",
           "kernel copies<M, N>(x: f32[N], z: f32[M]) -> y: f32[N] {"
           " launch copies grid((N + 31) / 32, 1, 1) block(32, 1, 1) {"
           " let i = blockIdx.x * 32 + threadIdx.x; if i < N + 1 y[i] = x[0]; } }",
           WRITTEN_WRONG, "at M = 1, N = 1");
}

static void guards_that_do_not(void **state)
{
    (void)state;
    expect(COPIES, BY_THREADS("if i < N + 1"), WRITTEN_WRONG,
           "element y[1] at N = 1 is written, but the program does not write it");
    expect(COPIES, BY_THREADS("if i <= N"), WRITTEN_WRONG, "element y[1] at N = 1 is written");
    expect(COPIES, BY_THREADS("if true"), WRITTEN_WRONG, "element y[1] at N = 1 is written");
    expect(COPIES, BY_THREADS("if i < N - 1"), WRITTEN_WRONG,
           "element y[0] at N = 1 is never written");
    expect(COPIES, BY_THREADS("if i >= 1 && i < N"), WRITTEN_WRONG,
           "element y[0] at N = 1 is never written");
}

/* Each version for its own sizes, also where its condition has a product of them. */
static void versions(void **state)
{
#define VERSIONS(condition, most)                                                                  \
    COPY "    if " condition "\n        launch copy grid(N / 4, 1, 1) block(4, 1, 1) {\n"          \
         "            y[blockIdx.x * 4 + threadIdx.x] = x[0];\n        }\n"                        \
         "    else\n        launch copy grid(1, 1, 1) block(1, 1, 1) {\n"                          \
         "            for i in " most "\n                y[i] = x[i];\n        }\n}\n"
    (void)state;
    expect(COPIES, VERSIONS("N % 4 == 0", "N"), WRITTEN_ONCE, NULL);
    expect(COPIES, VERSIONS("N % 4 == 0 && N * N > 100", "N"), WRITTEN_ONCE, NULL);
    expect(COPIES, VERSIONS("N * N > 100", "N"), WRITTEN_WRONG, "is never written");
    expect(COPIES, VERSIONS("N % 4 == 0", "N - 1"), WRITTEN_WRONG, "is never written");
}

static void two_threads(void **state)
{
    (void)state;
    expect(COPIES,
           COPY "    launch copy grid(N, 1, 1) block(2, 1, 1) {\n        y[blockIdx.x] = "
                "x[blockIdx.x];\n    }\n}\n",
           WRITTEN_WRONG, "two threads of a launch write the same element of 'y'");
    expect(COPIES,
           COPY "    launch copy grid(N, 1, 1) block(2, 1, 1) {\n        if threadIdx.x == 0\n"
                "            y[blockIdx.x] = x[blockIdx.x];\n    }\n}\n",
           WRITTEN_ONCE, NULL);
    /* The barrier stands in front of the store in the text, but behind it in all iterations that
     * write the element. */
    expect(COPIES,
           COPY "    launch copy grid(1, 1, 1) block(2, 1, 1) {\n"
                "        for o in N {\n"
                "            barrier \"y\";\n"
                "            if o < N - 1 && threadIdx.x == 1\n"
                "                y[o] = x[o];\n"
                "        }\n"
                "        if threadIdx.x == 0\n"
                "            for i in N\n"
                "                y[i] = x[i];\n"
                "    }\n"
                "}\n",
           WRITTEN_OPEN, "not proved: exactly one thread writes each element of 'y'");
    /* A full part, and a rest that begins one too early. */
#define PARTS(rest)                                                                                \
    COPY "    launch copy grid(1, 1, 1) block(4, 1, 1) {\n        for o in N / 4\n"                \
         "            y[o * 4 + threadIdx.x] = x[o * 4 + threadIdx.x];\n"                          \
         "        let r = " rest                                                                   \
         " + threadIdx.x;\n        if r < N\n            y[r] = x[r];\n    }\n}\n"
    expect(COPIES, PARTS("N / 4 * 4"), WRITTEN_ONCE, NULL);
    expect(COPIES, PARTS("max(N / 4 * 4 - 1, 0)"), WRITTEN_WRONG,
           "two threads of a launch write the same element of 'y'");
}

/* Loops whose ends depend on the thread: each thread goes through its own. `body` is what thread t
 * of 4 does. */
#define STRIDED(of, body)                                                                          \
    "kernel k<N>(x: f32[N]) -> y: f32[" of                                                         \
    "] {\n    launch k grid(1, 1, 1) block(4, 1, 1) {\n        let t = threadIdx.x;\n" body        \
    "    }\n}\n"
#define ALL(of) "kernel k<N>(x: f32[N]) -> y: f32[" of "] { for i in " of " y[i] = x[0]; }"

static void threads_with_loops_of_their_own(void **state)
{
    static const struct {
        const char *of, *program, *lowered;
        Written answer;
    } cases[] = {
        {"8", ALL("8"), STRIDED("8", "for c in 2 * t..2 * t + 2 y[c] = x[0];\n"), WRITTEN_ONCE},
        {"8", ALL("8"), STRIDED("8", "for c in 2 * t..2 * t + 3 if c < 8 y[c] = x[0];\n"),
         WRITTEN_WRONG},
        {"8", ALL("8"),
         STRIDED("8", "for c in 2 * t + 1..2 * t - 1 step -1 if c >= 2 * t y[c] = x[0];\n"),
         WRITTEN_ONCE},
        {"64", ALL("64"), STRIDED("64", "for c in t..64 step 4 y[c] = x[0];\n"), WRITTEN_ONCE},
        {"64", ALL("64"), STRIDED("64", "for c in t..64 step 3 y[c] = x[0];\n"), WRITTEN_WRONG},
        {"64", ALL("64"), STRIDED("64", "for c in 60 + t..0 step -4 y[c] = x[0];\n"), WRITTEN_ONCE},
        {"64", ALL("64"), STRIDED("64", "for c in 60 + t..0 step -2 y[c] = x[0];\n"),
         WRITTEN_WRONG},
        {"N", ALL("N"), STRIDED("N", "for c in t..N step 4 y[c] = x[0];\n"), WRITTEN_ONCE},
        {"N", ALL("N"), STRIDED("N", "for c in t..N step 2 y[c] = x[0];\n"), WRITTEN_WRONG},
        {"N", ALL("N"), STRIDED("N", "for c in N - 1 - t..0 step -4 y[c] = x[0];\n"), WRITTEN_ONCE},
        /* Different iterations of the two loops meet. */
        {"8", ALL("8"), STRIDED("8", "for c in t..t + 5 y[c - t + t] = x[0];\n"), WRITTEN_WRONG},
        {"10", ALL("10"), STRIDED("10", "for c in 3 * t..3 * t + t + 1 if c < 10 y[c] = x[0];\n"),
         WRITTEN_WRONG},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].program, cases[i].lowered, cases[i].answer, NULL);
}

/* Both of a pair write all elements; a barrier orders the threads of one block. */
#define REVERSED "kernel reversed(x: f32[8]) -> y: f32[8]\n{\n"
#define PAIR(grid, between)                                                                        \
    REVERSED "    launch reversed grid(" grid ", 1, 1) block(8, 1, 1) {\n"                         \
             "        y[threadIdx.x] = x[threadIdx.x];\n" between                                  \
             "        y[7 - threadIdx.x] = x[threadIdx.x];\n    }\n}\n"

static void barriers_order(void **state)
{
    (void)state;
    const char *program = REVERSED "    first: for i in 8\n        y[i] = x[i];\n    for i in 8\n  "
                                   "      y[7 - i] = x[i];\n}\n";
    expect(program, PAIR("1", "        barrier \"y\";\n"), WRITTEN_ONCE, NULL);
    expect(program, PAIR("1", ""), WRITTEN_WRONG, "two threads");
    expect(program, PAIR("2", "        barrier \"y\";\n"), WRITTEN_WRONG, "two threads");
}

/* A barrier holds threads in one iteration only if both have that one: blocks, and warps whose
 * barriers are of their own, may go through loops of different ends. */
static void barriers_in_loops_of_different_ends(void **state)
{
    (void)state;
#define IN_LOOP(grid, block, loop, when, barrier)                                                  \
    "kernel k(x: f32[8]) -> y: f32[8]\n{\n    launch k grid(" grid ", 1, 1) block(" block          \
    ", 1, 1) {\n        let b = blockIdx.x;\n        let t = threadIdx.x;\n        for " loop      \
    " {\n            if " when                                                                     \
    "\n                y[c * 4 + t % 4] = x[0];\n            barrier \"\"" barrier                 \
    ";\n        }\n    }\n}\n"
    const char *program = "kernel k(x: f32[8]) -> y: f32[8] { for i in 8 y[i] = x[0]; }";
    expect(program, IN_LOOP("2", "4", "c in 2 - b * 2", "t >= 0", ""), WRITTEN_ONCE, NULL);
    expect(program, IN_LOOP("2", "4", "c in 2 - b", "t >= 0", ""), WRITTEN_WRONG, "two threads");
    expect(program, IN_LOOP("1", "64", "c in t / 32..2 step 2", "t % 32 < 4", " warp"),
           WRITTEN_ONCE, NULL);
    expect(program, IN_LOOP("1", "64", "c in t / 32..2", "t % 32 < 4", " warp"), WRITTEN_WRONG,
           "two threads");
}

static void data_leave_it_open(void **state)
{
    (void)state;
#define SCATTER "kernel scatter<N>(at: i32[N], x: f32[N], inout y: f32[N])\n{\n"
    expect(SCATTER "    for i in N\n        y[at[i]] = x[i];\n}\n",
           SCATTER "    launch scatter grid(N, 1, 1) block(1, 1, 1) {\n        y[at[blockIdx.x]] = "
                   "x[blockIdx.x];\n    }\n}\n",
           WRITTEN_OPEN, "depend on data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_that_fit),
        cmocka_unit_test(witnesses_have_sizes),
        cmocka_unit_test(guards_that_do_not),
        cmocka_unit_test(versions),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(barriers_order),
        cmocka_unit_test(data_leave_it_open),
        cmocka_unit_test(threads_with_loops_of_their_own),
        cmocka_unit_test(barriers_in_loops_of_different_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
