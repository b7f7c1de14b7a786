/* test_poly_order.c - what dependences take from the order of an input (polyhedral/poly_order.c):
 * which iterations write elements of their own. */
#include "passes/analysis/threads/launch.h"
#include "tests/unit/parse_text.h"

typedef struct {
    const char *clause, *statement; /* in `for i in N` */
    bool wanted;                    /* the iterations may run at once */
} Case;

#define RUN "for p in ptr[i]..ptr[i + 1] "

static const Case cases[] = {
    /* runs */
    {"ptr is nondecreasing", RUN "z[p] = 1;", true},
    {"ptr is increasing", RUN "z[p] = 1;", true},
    {"ptr in 0..9", RUN "z[p] = 1;", false},
    {"ptr is distinct", RUN "z[p] = 1;", false},
    {"id is nondecreasing", RUN "z[p] = 1;", false},
    {"ptr is nondecreasing", RUN "z[p + 3] = 1;", true},
    {"ptr is nondecreasing", RUN "z[2 * p + 1] = 1;", true},
    {"ptr is nondecreasing", RUN "z[p / 2] = 1;", false},
    {"ptr is nondecreasing", RUN "{ z[p] = 1; z[p + 1] = 2; }", false},
    {"ptr is nondecreasing",
     "for p in index(ptr[i])..index(ptr[i + 1]) - 1 { z[p] = 1; z[p + 1] = 2; }", true},
    {"ptr is nondecreasing", RUN "z[p] = z[p] + 1;", true},
    {"ptr is nondecreasing", "for p in ptr[i + 1]..ptr[i + 2] z[p] = z[index(ptr[i])];", false},
    {"ptr is nondecreasing", "for p in ptr[i]..ptr[i + 2] z[p] = 1;", false},
    {"ptr is nondecreasing", "for p in ptr[i + 1]..ptr[i] z[p] = 1;", true}, /* never runs */
    {"ptr is nondecreasing", "for p in 0..ptr[i] z[p] = 1;", false},
    {"ptr is nondecreasing", "for l in index(ptr[i + 1]) - index(ptr[i]) z[index(ptr[i]) + l] = 1;",
     true},
    {"ptr is nondecreasing",
     "for l in index(ptr[i + 1]) - index(ptr[i]) z[index(ptr[i + 1]) - 1 - l] = 1;", true},
    {"ptr is nondecreasing",
     "for l in index(ptr[i + 1]) - index(ptr[i]) + 1 z[index(ptr[i]) + l] = 1;", false},
    /* subscripts of the list */
    {"ptr is nondecreasing", "for p in ptr[2 * i]..ptr[2 * i + 2] z[p] = 1;", true},
    {"ptr is nondecreasing", "for p in ptr[2 * i]..ptr[2 * i + 3] z[p] = 1;", false},
    {"ptr is nondecreasing", "for p in ptr[N - 1 - i]..ptr[N - i] z[p] = 1;", true},
    {"ptr is nondecreasing", "for p in ptr[N - 1 - i]..ptr[N + 1 - i] z[p] = 1;", false},
    {"ptr is nondecreasing", "for j in 4 for p in ptr[4 * i + j]..ptr[4 * i + j + 1] z[p] = 1;",
     true},
    {"ptr is nondecreasing", "for j in 5 for p in ptr[4 * i + j]..ptr[4 * i + j + 1] z[p] = 1;",
     false},
    {"ptr is nondecreasing", "for p in ptr[i / 2]..ptr[i / 2 + 1] z[p] = 1;", false},
    /* single elements */
    {"id is nondecreasing", "z[id[i]] = 1;", false},
    {"id is increasing", "z[id[i]] = 1;", true},
    {"id is distinct", "z[id[i]] = 1;", true},
    {"id is permutation", "z[id[i]] = 1;", true},
    {"id is distinct", "z[N - index(id[i])] = 1;", true},
    {"id is distinct", "z[id[i / 2]] = 1;", false},
    {"id is distinct, id in 0..9", "z[i / 2 * 10 + index(id[i / 2]) + i % 2] = 1;", true},
    {"id in 0..9", "z[i / 2 * 10 + index(id[i / 2]) + i % 2] = 1;", false},
    {"id is increasing, id in 0..N",
     "z[i == 0 ? index(id[0]) : i == 1 ? index(id[1]) : N + i] = 1;", true},
    {"id is nondecreasing, id in 0..N",
     "z[i == 0 ? index(id[0]) : i == 1 ? index(id[1]) : N + i] = 1;", false},
    {"id is distinct", "{ z[2 * index(id[i])] = 1; z[2 * index(id[i]) + 1] = 2; }", true},
    {"id is distinct", "{ z[index(id[i])] = 1; z[index(id[i]) + 1] = 2; }", false},
    {"id is increasing", "{ z[index(id[i])] = 1; z[index(id[i]) + 1] = 2; }", false},
    {"ptr is increasing", "for l in 3 z[index(ptr[3 * i]) + l] = 1;", true},
    {"ptr is increasing", "for l in 4 z[index(ptr[3 * i]) + l] = 1;", false},
    {"ptr is nondecreasing", "for l in 3 z[index(ptr[3 * i]) + l] = 1;", false},
    /* `id` can be 0, 1, .. N - 1, which leaves no element behind the last: the iterations N - 2 and
     * N - 1 write the same element, but only one of them reads `id` */
    {"id is increasing, id in 0..N", "z[i + 1 < N ? index(id[i + 1]) : N - 1] = 1;", false},
    {"id is distinct, id in 0..N", "z[i + 1 < N ? index(id[i + 1]) : index(id[0])] = 1;", true},
    {"id is permutation, id in 0..N", "z[i + 1 < N ? index(id[i + 1]) : N - 1] = 1;", false},
    {"id is increasing, id in 0..N", "z[i > 0 ? index(id[i - 1]) : 0] = 1;", false},
    {"id is distinct, id in 0..2", "z[i + 1 < N ? index(id[i]) + index(id[i + 1]) : 1] = 1;",
     false},
    /* i32 arithmetic, which wraps */
    {"ptr is nondecreasing, ptr >= 0", "for l in ptr[i + 1] - ptr[i] z[ptr[i] + l] = 1;", true},
    {"ptr is nondecreasing, ptr >= 0", "for l in ptr[i + 1] - ptr[i] z[ptr[i + 1] - l - 1] = 1;",
     true},
    {"ptr is nondecreasing, ptr >= 0", "for l in ptr[i + 1] - ptr[i] z[ptr[i + 1] - l] = 1;",
     true}, /* the ends of runs, in place of their beginnings */
    {"ptr is nondecreasing, ptr >= 0", "for l in ptr[i + 1] - ptr[i] + 1 z[ptr[i] + l] = 1;",
     false},
    {"ptr is nondecreasing, ptr >= 0", "for l in ptr[i + 2] - ptr[i] z[ptr[i] + l] = 1;", false},
    {"ptr in 0..9", "for l in ptr[i + 1] - ptr[i] z[ptr[i] + l] = 1;", false},
    {"ptr is nondecreasing, ptr >= 0", "for l in 9 if l < ptr[i + 1] - ptr[i] z[ptr[i] + l] = 1;",
     true},
    {"ptr is nondecreasing, ptr >= 0, M <= 2147483648",
     "for l in M if l < ptr[i + 1] - ptr[i] z[ptr[i] + l] = 1;", true},
    /* l == 2^32 - 1 is -1 as an i32, and the element is one of the row before */
    {"ptr is nondecreasing, ptr >= 0, M <= 4294967296",
     "for l in M if l < ptr[i + 1] - ptr[i] z[ptr[i] + l] = 1;", false},
    {"id is distinct", "z[N - id[i]] = 1;", true},
    {"id is distinct", "z[-id[i]] = 1;", true},
    {"id is distinct", "z[id[i] * 4] = 1;", false},
    {"id is distinct", "z[id[i] % 4] = 1;", false},
    {"id is distinct", "z[u8(id[i])] = 1;", false},
    {"id is distinct", "z[i32(id[i] / 2)] = 1;", false},
    /* no order of this kind, or of two lists */
    {"ptr is nondecreasing, id is nondecreasing", "for p in id[i]..ptr[i + 1] z[p] = 1;", false},
    {"ptr is nondecreasing, id is nondecreasing", "for p in ptr[i]..id[i] z[p] = 1;", false},
    {"q is nondecreasing", "for p in q[i]..q[i + 1] { z[p] = 1; }", false},
    {"q is distinct", "z[q[i]] = 1;", false},
    {"w is nondecreasing", "for p in index(w[i])..index(w[i + 1]) z[p] = 1;", false},
};

static bool may_run_at_once(Text *t, const Case *k)
{
    Conflict why;
    text_parse(t, arena_printf(t->ctx->arena,
                               "kernel k<N, M>(ptr: i32[4 * N + 8], id: i32[N], w: u64[N + 1], "
                               "inout q: i32[N + 1], inout z: i32[M]) where %s { for i in N %s }",
                               k->clause, k->statement));
    Kernel *kernel = text_kernel(t, 0);
    ForStmt as = kernel->body->u.loop;
    as.kind = LOOP_PARALLEL;
    return threads_loop_kind_legal(t->ctx, kernel, &as, &why);
}

static void dependences_use_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Text t;
        text_open(&t);
        if (may_run_at_once(&t, &cases[i]) != cases[i].wanted)
            fail_msg("where %s: %s should be %s", cases[i].clause, cases[i].statement,
                     cases[i].wanted ? "legal" : "refused");
        text_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dependences_use_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
