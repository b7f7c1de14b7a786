/* test_schedule_rotate.c - rotate: what it makes, the pipelines that it joins with their barriers
 * and waits, every refusal with its text, and the same results at sizes that divide and at sizes
 * that do not. Refusals stand in tests/legality/steps/rotate.tir. */
#include "schedule_case.h"

#define TWICE                                                                                      \
    "kernel twice<N = 64>(x: f32[N]) -> y: f32[N]\n"                                               \
    "{ temp t: f32[N]; for i in N { t[i] = x[i]; y[i] = t[i] * 2; } }\n"
#define MATMUL                                                                                     \
    "kernel matmul<M, N, K>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]\n"                         \
    "{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }\n"
#define MATMUL_BY(rows, depth)                                                                     \
    "kernel matmul<M = " rows ", N = " rows ", K = " depth ">(A: f32[M, K], B: f32[K, N]) -> C: "  \
    "f32[M, N]\n{ for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } "   \
    "}\n"
#define MATMUL_OF(size) MATMUL_BY(size, size)
/* Tiles of 8 x 8 come asynchronously through shared memory, and from there through registers. */
#define TILES                                                                                      \
    "let [i, j, k] = loops(C);\n"                                                                  \
    "let [by, ty] = split(i, [_, 8]); let [bx, tx] = split(j, [_, 8]);\n"                          \
    "let [ko, ki] = split(k, [_, 8]); reorder(by, bx, ty, tx, ko, ki);\n"                          \
    "bind(by, blockIdx.y); bind(bx, blockIdx.x); bind(ty, threadIdx.y); bind(tx, threadIdx.x);\n"  \
    "for buffer in [A, B] {\n"                                                                     \
    "    let s = cache_read(C, buffer, shared); compute_at(s, ko);\n"                              \
    "    let [e, y, x] = split(fuse(loops(s)[-2:]), [_, 8, 8]);\n"                                 \
    "    bind(y, threadIdx.y); bind(x, threadIdx.x); copy_async(s);\n"                             \
    "    compute_at(cache_read(C, s, local), ki);\n}\n"
#define JOINED(stages) TILES "pipeline(ko, " stages "); rotate(ko, pipeline(ki, 2));\n"

/* ---- what it makes --------------------------------------------------------------------------- */

static void begins_in_the_iteration_before(void **state)
{
    (void)state;
    expect(TWICE, "let [i] = loops(t); let [first] = rotate(i, t); annotate(first, hint);",
           "    temp t: f32[64];\n"
           "    block t_first(i in 64 = 0) @hint(1) {\n"
           "        t[i] = x[i];\n"
           "    }\n"
           "    for i in 64 {\n"
           "        y[i] = t[i] * 2.0;\n"
           "        if i < 63\n"
           "            block t(i in 64 = i + 1) {\n"
           "                t[i] = x[i];\n"
           "            }\n"
           "    }\n"
           "}\n");
}

/* Statements from the middle of the body, in their order, under one condition; the others keep
 * theirs. */
static void takes_statements_from_the_middle(void **state)
{
    (void)state;
    expect("kernel four<N = 9>(x: f32[N]) -> y: f32[N], z: f32[N]\n"
           "{ temp t: f32[N]; temp u: f32[N]; for i in N - 1..0 step -1 { z[i] = x[i]; for a in 1 "
           "t[i] = x[i]; u[i] = t[i] + 1; y[i] = u[i]; } }\n",
           "rotate(loops(t)[0], u, loops(t)[1]);",
           "    temp t: f32[9];\n"
           "    temp u: f32[9];\n"
           "    for a in 1\n"
           "        block t_first(i in 9 = 8, a in 1 = a) {\n"
           "            t[i] = x[i];\n"
           "        }\n"
           "    block u_first(i in 9 = 8) {\n"
           "        u[i] = t[i] + 1.0;\n"
           "    }\n"
           "    for i in 9 {\n"
           "        block z(i in 9 = 8 - i) {\n"
           "            z[i] = x[i];\n"
           "        }\n"
           "        block y(i in 9 = 8 - i) {\n"
           "            y[i] = u[i];\n"
           "        }\n"
           "        if i < 8 {\n"
           "            for a in 1\n"
           "                block t(i in 9 = 7 - i, a in 1 = a) {\n"
           "                    t[i] = x[i];\n"
           "                }\n"
           "            block u(i in 9 = 7 - i) {\n"
           "                u[i] = t[i] + 1.0;\n"
           "            }\n"
           "        }\n"
           "    }\n"
           "}\n");
}

static void one_iteration_stays(void **state)
{
    (void)state;
    expect("kernel one(x: f32[1]) -> y: f32[1] { temp t: f32[1]; for i in 1 { t[i] = x[i]; y[i] = "
           "t[i] * 2; } }\n",
           "rotate(loops(t)[0], t);",
           "    temp t: f32[1];\n"
           "    for i in 1 {\n"
           "        t[i] = x[i];\n"
           "        y[i] = t[i] * 2.0;\n"
           "    }\n"
           "}\n");
}

/* ---- barriers -------------------------------------------------------------------------------- */

typedef struct {
    /* barriers in loops; groups that the last wait there lets go on; how deep it stands */
    int inside, pending, depth, deepest;
} Barriers;

static void count_barriers(const Stmt *s, Barriers *b)
{
    if (s->kind == ST_SEQ)
        for (int i = 0; i < s->u.seq.n; i++)
            count_barriers(s->u.seq.items[i], b);
    if (s->kind == ST_LAUNCH)
        count_barriers(s->u.launch.body, b);
    if (s->kind == ST_FOR) {
        b->depth++;
        count_barriers(s->u.loop.body, b);
        b->depth--;
    }
    if (s->kind != ST_BARRIER || b->depth == 0)
        return;
    if (s->u.barrier.kind == SYNC_WAIT)
        b->pending = s->u.barrier.pending;
    if (s->u.barrier.kind == SYNC_THREADS) {
        b->inside++;
        b->deepest = b->depth;
    }
}

static Barriers barriers_of(const char *steps)
{
    Case k;
    case_run(&k, MATMUL_OF("96"), steps);
    Barriers b = {.pending = -1};
    count_barriers(case_lowered(&k)->body, &b);
    text_close(&k.text);
    return b;
}

/* One barrier an iteration, and a copy has an iteration less before its first element is
 * fetched. */
static void waits_an_iteration_earlier(void **state)
{
    (void)state;
    Barriers three = barriers_of(JOINED("3")), four = barriers_of(JOINED("4"));
    assert_int_equal(three.inside, 1);
    assert_int_equal(three.pending, 0);
    assert_int_equal(four.inside, 1);
    assert_int_equal(four.pending, 1);
}

/* The loop written out in part: groups are counted through both loops, and the outer one waits for
 * nothing. */
static void nests_wait_in_the_inner_loop(void **state)
{
    static const char *const ways[] = {
        TILES "pipeline(ko, 4); unroll(split(ko, [_, 4])[1]);",
        JOINED("5") "unroll(split(ko, [_, 4])[1]);",
        TILES "pipeline(ko, 4); let [_, a, b] = split(ko, [_, 2, 2]); unroll(b);",
    };
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        Barriers b = barriers_of(ways[i]);
        assert_int_equal(b.inside, 1);
        assert_int_equal(b.deepest, i == 2 ? 3 : 2);
        assert_int_equal(b.pending, 2);
    }
}

/* With two stages the barrier stands before what is fetched of the next tile, and covers what is
 * overwritten, too: in the loop that is written out, between its last iteration and the first one
 * of the next iteration outside, and before the loop. */
static void one_barrier_for_two_stages(void **state)
{
    (void)state;
    Case k;
    case_run(&k, MATMUL_OF("96"), JOINED("2") "unroll(split(ko, [_, 2])[1]);");
    Barriers b = {.pending = -1};
    Kernel *lowered = case_lowered(&k);
    count_barriers(lowered->body, &b);
    assert_int_equal(b.inside, 1);
    assert_int_equal(b.deepest, 2);
    assert_int_equal(b.pending, 0);
    const char *text = text_print(&k.text, lowered), *first = strstr(text, "barrier");
    assert_non_null(first);
    assert_true(strstr(first + 1, "barrier") > strstr(text, "for ko_0"));
    text_close(&k.text);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuses_what_needs_its_own_iteration(void **state)
{
    (void)state;
    /* What the iteration before has written is there, what this one writes first is not. */
}

#define AHEAD                                                                                      \
    "let [u, i] = loops(y); let [io, ii] = split(i, [_, 8]); let t = cache_read(y, x, shared); "   \
    "compute_at(t, io);\n"                                                                         \
    "bind(u, blockIdx.x);\n"                                                                       \
    "pipeline(io, 2); rotate(io, t);\n"

/* Lowering asks whether circles still hold what is read: a copy two iterations early takes the
 * place of what is read next. */
static void lowering_checks_folds(void **state)
{
    static const char program[] =
        "kernel scale<N = 64>(x: f32[N]) -> y: f32[N] { for u in 1, i in N y[i] = x[i] * 2; }\n";
    (void)state;
    Case k;
    LowerOptions options = {.limits = limits_default()};
    case_run(&k, program, AHEAD);
    assert_non_null(case_lowered(&k));
    text_close(&k.text);
    case_run(&k, program, AHEAD "rotate(io, t);");
    assert_non_null(k.schedule);
    assert_null(lower_kernel(k.text.ctx, schedule_kernel(k.schedule), &options));
    assert_int_equal(k.text.ctx->first->code, E0513);
    text_close(&k.text);
}

/* ---- the same results ------------------------------------------------------------------------ */

static const char *const ways[] = {
    JOINED("3"),
    JOINED("4") "unroll(split(ko, [_, 4])[1]);",
    TILES "pipeline(ko, 2); rotate(ko, pipeline(ki, 3)); unroll(ki);",
};

static void symbolic_sizes_mean_the_same(void **state)
{
    static const int sizes[] = {1, 8, 9, 17, 25};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        expect_same(MATMUL, ways[i], sizes, 5);
}

static void constant_sizes_mean_the_same(void **state)
{
    static const char *const programs[] = {MATMUL_OF("2"), MATMUL_OF("8"), MATMUL_BY("9", "20"),
                                           MATMUL_BY("9", "33")};
    static const int none = 0;
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++)
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            expect_same(programs[p], ways[i], &none, 1);
}

/* No iterations at all: what is done before the loop asks whether there is a first one. */
static void empty_loops_begin_with_nothing(void **state)
{
    static const int sizes[] = {0, 1, 2, 5};
    (void)state;
    expect_same("kernel twice<N>(x: f32[N + 1], inout z: f32[N + 1]) -> y: f32[N + 1]\n"
                "{ temp t: f32[N + 1]; y[N] = 0; for i in N { t[i] = x[i]; z[i] += 1; y[i] = t[i] "
                "* 2; } }\n",
                "rotate(loops(t)[0], t, z);", sizes, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_in_the_iteration_before),
        cmocka_unit_test(takes_statements_from_the_middle),
        cmocka_unit_test(one_iteration_stays),
        cmocka_unit_test(waits_an_iteration_earlier),
        cmocka_unit_test(nests_wait_in_the_inner_loop),
        cmocka_unit_test(one_barrier_for_two_stages),
        cmocka_unit_test(refuses_what_needs_its_own_iteration),
        cmocka_unit_test(lowering_checks_folds),
        cmocka_unit_test(symbolic_sizes_mean_the_same),
        cmocka_unit_test(constant_sizes_mean_the_same),
        cmocka_unit_test(empty_loops_begin_with_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
