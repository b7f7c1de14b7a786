/* test_schedule_pipeline.c - the barriers and waits of pipelines: one an iteration, and why. What
 * pipeline makes and refuses stands in tests/legality/steps/pipeline.tir. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_barrier_an_iteration),
        cmocka_unit_test(waits_let_later_groups_go_on),
        cmocka_unit_test(waits_without_a_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
