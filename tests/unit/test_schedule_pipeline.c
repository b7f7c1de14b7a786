/* test_schedule_pipeline.c - pipeline: what it makes, one barrier an iteration and why, the check
 * of folds in lowering, and the same results at sizes that divide and at sizes that do not.
 * Refusals stand in tests/legality/steps/pipeline.tir. */
#include "schedule_case.h"

#define FETCH                                                                                      \
    "proc fetch(copy) { let [e, y, x] = split(fuse(loops(copy)[-2:]), [_, 8, 8]);\n"               \
    "bind(y, threadIdx.y); bind(x, threadIdx.x); }\n"
#define SCALE                                                                                      \
    "kernel scale<N = 64>(x: f32[N], f: f32[4]) -> y: f32[N]\n"                                    \
    "{ for i in N y[i] = x[i] * f[i % 4]; }\n"
#define STAGED                                                                                     \
    "let [i] = loops(y); let [io, ii] = split(i, [_, 8]);\n"                                       \
    "let s = cache_read(y, x, shared); compute_at(s, io);\n"
#define MATMUL                                                                                     \
    "kernel matmul<M, N, K>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"                         \
    "{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }\n" FETCH
#define MATMUL_BY(rows, depth)                                                                     \
    "kernel matmul<M = " rows ", N = " rows ", K = " depth ">(A: f32[M, K], B: f32[K, N]) -> C: "  \
    "f32[M, N]\n{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } "   \
    "}\n" FETCH
#define MATMUL_OF(size) MATMUL_BY(size, size)
/* T x T tiles, a thread for each element. */
#define TILES                                                                                      \
    "let [i, j, k] = loops(C);\n"                                                                  \
    "let [by, ty] = split(i, [_, 8]); let [bx, tx] = split(j, [_, 8]);\n"                          \
    "let [ko, ki] = split(k, [_, 8]); reorder(by, bx, ty, tx, ko, ki);\n"                          \
    "bind(by, blockIdx.y); bind(bx, blockIdx.x); bind(ty, threadIdx.y); bind(tx, threadIdx.x);\n"  \
    "for buffer in [A, B] { let s = cache_read(C, buffer, shared); compute_at(s, ko); fetch(s); "  \
    "}\n"
#define ASYNC "copy_async(A_shared); copy_async(B_shared);\n"
/* The same by way of registers. */
#define BY_REGISTERS                                                                               \
    "let [i, j, k] = loops(C);\n"                                                                  \
    "let [by, ty] = split(i, [_, 8]); let [bx, tx] = split(j, [_, 8]);\n"                          \
    "let [ko, ki] = split(k, [_, 8]); reorder(by, bx, ty, tx, ko, ki);\n"                          \
    "bind(by, blockIdx.y); bind(bx, blockIdx.x); bind(ty, threadIdx.y); bind(tx, threadIdx.x);\n"  \
    "for buffer in [A, B] { let s = cache_read(C, buffer, shared); compute_at(s, ko); fetch(s);\n" \
    "let r = cache_read(s, buffer, local); compute_at(r, ko); fetch(r); }\n"

/* ---- what it makes --------------------------------------------------------------------------- */

static void copies_run_ahead(void **state)
{
    (void)state;
    expect(SCALE, STAGED "pipeline(io, 2);",
           "    temp x_shared: f32[64] in shared fold(0, 16);\n"
           "    for ax0 in 8\n"
           "        block x_shared_first(i in 64 = ax0) {\n"
           "            x_shared[i] = x[i];\n"
           "        }\n"
           "    for io in 8 {\n"
           "        if io < 7\n"
           "            for ax0 in 8\n"
           "                block x_shared(i in 64 = io * 8 + ax0 + 8) {\n"
           "                    x_shared[i] = x[i];\n"
           "                }\n"
           "        for ii in 8\n"
           "            block y(i in 64 = io * 8 + ii) {\n"
           "                y[i] = x_shared[i] * f[i % 4];\n"
           "            }\n"
           "    }\n"
           "}\n");
}

static void three_stages_start_with_two(void **state)
{
    (void)state;
    expect(SCALE, STAGED "let [first] = pipeline(io, 3); annotate(first, hint);",
           "    temp x_shared: f32[64] in shared fold(0, 24);\n"
           "    for io_first in 2, ax0 in 8\n"
           "        block x_shared_first(i in 64 = io_first * 8 + ax0) @hint(1) {\n"
           "            x_shared[i] = x[i];\n"
           "        }\n"
           "    for io in 8 {\n"
           "        if io < 6\n"
           "            for ax0 in 8\n"
           "                block x_shared(i in 64 = io * 8 + ax0 + 16) {\n"
           "                    x_shared[i] = x[i];\n"
           "                }\n"
           "        for ii in 8\n"
           "            block y(i in 64 = io * 8 + ii) {\n"
           "                y[i] = x_shared[i] * f[i % 4];\n"
           "            }\n"
           "    }\n"
           "}\n");
}

/* Statements of the body in order: registers are filled, used is what is there, registers are
 * emptied. */
static void registers_are_emptied_last(void **state)
{
    (void)state;
    expect("kernel scale(x: f32[64]) -> y: f32[64] { for i in 64 y[i] = x[i] * 2; }\n",
           STAGED "let r = cache_read(s, x, local); compute_at(r, io); pipeline(io, 2);",
           "    temp x_shared: f32[64] in shared fold(0, 16);\n"
           "    temp x_local: f32[64] in local;\n"
           "    temp x_local_first: f32[64] in local;\n"
           "    for ax0_1 in 8\n"
           "        block x_local_first(i in 64 = ax0_1) {\n"
           "            x_local_first[i] = x[i];\n"
           "        }\n"
           "    for ax0 in 8\n"
           "        block x_shared_first(i in 64 = ax0) {\n"
           "            x_shared[i] = x_local_first[i];\n"
           "        }\n"
           "    for io in 8 {\n"
           "        if io < 7\n"
           "            for ax0_1 in 8\n"
           "                block x_local(i in 64 = io * 8 + ax0_1 + 8) {\n"
           "                    x_local[i] = x[i];\n"
           "                }\n"
           "        for ii in 8\n"
           "            block y(i in 64 = io * 8 + ii) {\n"
           "                y[i] = x_shared[i] * 2.0;\n"
           "            }\n"
           "        if io < 7\n"
           "            for ax0 in 8\n"
           "                block x_shared(i in 64 = io * 8 + ax0 + 8) {\n"
           "                    x_shared[i] = x_local[i];\n"
           "                }\n"
           "    }\n"
           "}\n");
}

static void one_iteration_stays(void **state)
{
    (void)state;
    expect("kernel scale(x: f32[8]) -> y: f32[8] { for i in 8 y[i] = x[i] * 2; }\n",
           "let [i] = loops(y); let u = add_unit_loop(i);\n"
           "let s = cache_read(y, x, shared); compute_at(s, u); pipeline(u, 2);",
           "    temp x_shared: f32[8] in shared;\n"
           "    for u in 1 {\n"
           "        for ax0 in 8\n"
           "            block x_shared(i in 8 = ax0) {\n"
           "                x_shared[i] = x[i];\n"
           "            }\n"
           "        for i in 8\n"
           "            block y(i in 8 = i) {\n"
           "                y[i] = x_shared[i] * 2.0;\n"
           "            }\n"
           "    }\n"
           "}\n");
}

/* ---- barriers -------------------------------------------------------------------------------- */

typedef struct {
    int outside, inside, depth, commits;
    int pending[2]; /* groups that the last wait outside and inside of loops lets go on */
    const char *last;
} Barriers;

static void count_barriers(const Stmt *s, Barriers *b)
{
    if (s->kind == ST_SEQ)
        for (int i = 0; i < s->u.seq.n; i++)
            count_barriers(s->u.seq.items[i], b);
    if (s->kind == ST_LAUNCH)
        count_barriers(s->u.launch.body, b);
    if (s->kind == ST_IF)
        count_barriers(s->u.cond.then, b);
    if (s->kind == ST_FOR) {
        b->depth++;
        count_barriers(s->u.loop.body, b);
        b->depth--;
    }
    if (s->kind == ST_BARRIER && s->u.barrier.kind != SYNC_THREADS) {
        b->commits += s->u.barrier.kind == SYNC_COMMIT;
        if (s->u.barrier.kind == SYNC_WAIT)
            b->pending[b->depth > 0] = s->u.barrier.pending;
    } else if (s->kind == ST_BARRIER) {
        b->inside += b->depth > 0;
        b->outside += b->depth == 0;
        b->last = b->depth > 0 ? s->u.barrier.why : b->last;
    }
}

static void expect_barriers(const char *steps)
{
    Case k;
    case_run(&k, MATMUL_OF("64"), steps);
    Barriers b = {0};
    count_barriers(case_lowered(&k)->body, &b);
    assert_int_equal(b.outside, 1);
    assert_int_equal(b.inside, 1);
    assert_string_equal(
        b.last,
        "A_shared, B_shared: written above, read in the next iteration of ko by other threads; "
        "A_shared, B_shared: read above, overwritten in the next iteration of ko by other threads");
    text_close(&k.text);
}

static void one_barrier_an_iteration(void **state)
{
    (void)state;
    expect_barriers(TILES "pipeline(ko, 2);");
    expect_barriers(BY_REGISTERS "pipeline(ko, 2);");
}

/* Copies of later iterations go on while one is waited for. */
static void waits_let_later_groups_go_on(void **state)
{
    (void)state;
    for (int stages = 2; stages <= 5; stages++) {
        Case k;
        char steps[1000];
        snprintf(steps, sizeof steps, TILES ASYNC "pipeline(ko, %d);", stages);
        case_run(&k, MATMUL_OF("64"), steps);
        Barriers b = {.pending = {-1, -1}};
        count_barriers(case_lowered(&k)->body, &b);
        assert_int_equal(b.commits, 2);
        assert_int_equal(b.outside, 1);
        assert_int_equal(b.inside, 1);
        assert_int_equal(b.pending[0], 0);
        assert_int_equal(b.pending[1], stages - 2);
        text_close(&k.text);
    }
}

/* A copy that is read at once, also by the thread that made it, is waited for. */
static void waits_without_a_pipeline(void **state)
{
    (void)state;
    Case k;
    case_run(&k, SCALE,
             STAGED "bind(io, blockIdx.x); bind(ii, threadIdx.x);\n"
                    "bind(loops(s)[-1], threadIdx.x); copy_async(s);");
    Barriers b = {.pending = {-1, -1}};
    count_barriers(case_lowered(&k)->body, &b);
    assert_int_equal(b.commits, 1);
    assert_int_equal(b.pending[0], 0);
    text_close(&k.text);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuses_what_later_iterations_need(void **state)
{
    (void)state;
    static const char carried[] =
        "kernel steps<N = 64>(inout x: f32[N]) { temp t: f32[N] in shared;\n"
        "for i in N - 8 { t: t[i] = x[i]; x: x[i + 1] = t[i]; } }\n";
    refuse(
        carried, "let [i] = loops(t); pipeline(i, 2);", E0473,
        "iterations of loop 'i' cannot overlap in 2 stages: the second would run before the first");
    refuse(carried, "let [i] = loops(t); pipeline(i, 2);", E0473,
           "block 'x' at i = 0 runs first and accesses x[1]");
}

/* ---- folds in lowering ----------------------------------------------------------------------- */

#define FOLDED(fold)                                                                               \
    "kernel k(x: f32[64]) -> y: f32[64] { temp t: f32[64] in shared fold(0, " fold ");\n"          \
    "for b in 1 bind blockIdx.x { for a in 8 block first(i in 64 = a) { t[i] = x[i]; }\n"          \
    "for o in 8 { for a in 8 block next(i in 64 = o * 8 + a + 8) { t[i] = x[i]; }\n"               \
    "for a in 8 block y(i in 64 = o * 8 + a) { y[i] = t[i]; } } } }\n"

static void lowering_checks_folds(void **state)
{
    (void)state;
    Case k;
    case_run(&k, FOLDED("16"), "annotate(block(\"y\"), hint);");
    assert_true(strstr(text_print(&k.text, case_lowered(&k)), "temp t: f32[16] in shared;") !=
                NULL);
    text_close(&k.text);

    case_run(&k, FOLDED("15"), "annotate(block(\"y\"), hint);");
    LowerOptions options = {.limits = limits_default()};
    assert_non_null(k.schedule);
    assert_null(lower_kernel(k.text.ctx, schedule_kernel(k.schedule), &options));
    const char *report = text_report(&k.text);
    if (k.text.ctx->first->code != E0513 ||
        !strstr(report, "axis 0 of 't' is circular with 15 elements"))
        fail_msg("%s", report);
    text_close(&k.text);
}

/* ---- meaning --------------------------------------------------------------------------------- */

static const char *const ways[] = {
    TILES ASYNC "pipeline(ko, 2);",  TILES ASYNC "pipeline(ko, 4);",
    TILES "pipeline(ko, 2);",        TILES "pipeline(ko, 3);",
    TILES "pipeline(ko, 5);",        BY_REGISTERS "pipeline(ko, 2);",
    BY_REGISTERS "pipeline(ko, 3);",
};

/* One kernel for all sizes: none, one, two and more iterations. */
static void symbolic_sizes_mean_the_same(void **state)
{
    static const int sizes[] = {1, 7, 8, 9, 17, 25};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_same(MATMUL, ways[i], sizes, 6);
}

/* Sizes that are known, where loops and boxes are clipped: fewer iterations than stages, too. */
static void constant_sizes_mean_the_same(void **state)
{
    static const char *const programs[] = {
        MATMUL_OF("1"),       MATMUL_OF("7"),       MATMUL_OF("8"),       MATMUL_OF("9"),
        MATMUL_BY("9", "16"), MATMUL_BY("9", "20"), MATMUL_BY("9", "33"),
    };
    static const int none = 0;
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            expect_same(programs[p], ways[i], &none, 1);
}

/* A serial loop outside: each of its iterations starts the circle anew. */
static void circles_start_anew(void **state)
{
    static const int none = 0;
    (void)state;
    expect_same(
        "kernel rows(x: f32[4, 40]) -> y: f32[4, 40]\n"
        "{ for r in 4, i in 40 y[r, i] = x[r, i] * 2; }\n",
        "let [r, i] = loops(y); let u = add_unit_loop(r); let [io, ii] = split(i, [_, 8]);\n"
        "let s = cache_read(y, x, shared); compute_at(s, io); bind(u, blockIdx.x);\n"
        "pipeline(io, 3);",
        &none, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_run_ahead),
        cmocka_unit_test(three_stages_start_with_two),
        cmocka_unit_test(registers_are_emptied_last),
        cmocka_unit_test(one_iteration_stays),
        cmocka_unit_test(one_barrier_an_iteration),
        cmocka_unit_test(waits_let_later_groups_go_on),
        cmocka_unit_test(waits_without_a_pipeline),
        cmocka_unit_test(refuses_what_later_iterations_need),
        cmocka_unit_test(lowering_checks_folds),
        cmocka_unit_test(symbolic_sizes_mean_the_same),
        cmocka_unit_test(constant_sizes_mean_the_same),
        cmocka_unit_test(circles_start_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
