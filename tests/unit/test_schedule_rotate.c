/* test_schedule_rotate.c - the barriers and waits of pipelines that rotate joins. What it makes and
 * refuses stands in tests/legality/steps/rotate.tir. */
#include "schedule_case.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_an_iteration_earlier),
        cmocka_unit_test(nests_wait_in_the_inner_loop),
        cmocka_unit_test(one_barrier_for_two_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
