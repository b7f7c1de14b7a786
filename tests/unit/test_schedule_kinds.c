/* How loops run: what bind, parallel, vectorize, unroll and atomic make of a small kernel. Programs
 * and steps are text; the wrong ones expect a code and a piece of the message. Refusals stand in
 * tests/legality/steps/kinds.tir. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule_programs.h"
#include "schedule_steps.h"

#define HISTOGRAM                                                                                  \
    "kernel histogram(color: u8[64]) -> hist: i32[256]\n"                                          \
    "{ for b in 256 hist[b] = 0; for i in 64 hist[color[i]] += 1; }\n"
#define COOPERATIVE                                                                                \
    "kernel k(x: f32[8]) -> y: f32[8, 8] { for b in 8 bind blockIdx.x { temp s: f32[8] in "        \
    "shared;\n"                                                                                    \
    "for t in 8 bind threadIdx.x { for c in 8 block load(v in 8 = c) { s[v] = x[v]; }\n"           \
    "block out(i in 8 = b, j in 8 = t) { y[i, j] = s[j]; } } } }\n"
/* Which thread has which results takes a division by a size to say, the same where they are written
 * and read. */
#define REGISTERS(from)                                                                            \
    "kernel k<M, N>(x: f32[M, N]) -> y: f32[M, N] { temp s: f32[M, N] in local;\n"                 \
    "for i in M, jo in (N + 3) / 4 {\n"                                                            \
    "for a in 4 block w(i in M = i, j in N = jo * 4 + a) { s[i, j] = x[i, j]; }\n"                 \
    "for c in 4 block r(i in M = i, j in N = jo * 4 + c) { y[i, j] = s[i, " from "]; } } }\n"

static void kinds_are_set(void **state)
{
    (void)state;
    expect_body(
        MATMUL,
        IJK "let [by, ty] = split(i, [_, 32]); let [bx, tx] = split(j, [_, 32]); let [ko, "
            "ki] = split(k, [_, 8]); reorder(by, bx, ty, tx, ko, ki); bind(by, blockIdx.y); "
            "bind(bx, blockIdx.x); bind(ty, threadIdx.y); bind(tx, threadIdx.x); unroll(ki);",
        "    for by in 4 bind blockIdx.y\n"
        "        for bx in 2 bind blockIdx.x\n"
        "            for ty in 32 bind threadIdx.y\n"
        "                for tx in 32 bind threadIdx.x\n"
        "                    for ko in 4\n"
        "                        for ki in 8 unroll\n"
        "                            block C(i in 100 = by * 32 + ty, j in 64 = bx * 32 + tx,\n"
        "                                    reduce k in 32 = ko * 8 + ki) {\n"
        "                                init C[i, j] = 0.0;\n"
        "                                C[i, j] += A[i, k] * B[k, j];\n"
        "                            }\n");
    expect_body(RANGES,
                "let [i] = loops(y); bind(i, threadIdx.x); let [j] = loops(z); bind(j, "
                "\"threadIdx.x\");",
                "    for i in 49 bind threadIdx.x\n"
                "        block y(i in 3..100 = 99 - i * 2) {\n"
                "            y[i] = x[i];\n"
                "        }\n"
                "    for j in 45 bind threadIdx.x\n"
                "        block z(j in 5..50 = j + 5) {\n"
                "            z[j] = x[j];\n"
                "        }\n");
    expect_body(RANGES,
                "let [j] = loops(z); let [a, v] = split(j, [_, 8]); vectorize(v); parallel(a);",
                "    for i in 99..3 step -2\n"
                "        y[i] = x[i];\n"
                "    for a in 6 parallel\n"
                "        for v in 8 vectorize\n"
                "            block z(j in 5..50 = a * 8 + v + 5) {\n"
                "                z[j] = x[j];\n"
                "            }\n");
}

/* Updates that collide may run at the same time once they are atomic. */
static void atomic_updates_may_collide(void **state)
{
    (void)state;
    expect_body(HISTOGRAM,
                "let [i] = loops(hist_1); atomic(hist_1); bind(i, blockIdx.x); atomic(hist_1);",
                "    for b in 256\n"
                "        hist[b] = 0;\n"
                "    for i in 64 bind blockIdx.x\n"
                "        block hist_1(i in 64 = i) atomic {\n"
                "            hist[color[i]] += 1;\n"
                "        }\n");
}

/* Loops of one axis inside one another: the copy's instances do not depend on the outer one. */
static void cooperative_copies_bind_an_axis_again(void **state)
{
    (void)state;
    expect_body(COOPERATIVE, "let [b, t, c] = loops(load); bind(c, threadIdx.x);",
                "    for b in 8 bind blockIdx.x {\n"
                "        temp s: f32[8] in shared;\n"
                "        for t in 8 bind threadIdx.x {\n"
                "            for c in 8 bind threadIdx.x\n"
                "                block load(v in 8 = c) {\n"
                "                    s[v] = x[v];\n"
                "                }\n"
                "            block out(i in 8 = b, j in 8 = t) {\n"
                "                y[i, j] = s[j];\n"
                "            }\n"
                "        }\n"
                "    }\n");
}

static void registers_of_fused_rows_are_each_threads_own(void **state)
{
    (void)state;
    const char steps[] = "let [i, jo, c] = loops(r); let [b, t] = split(fuse(i, jo), [_, 32]);"
                         "bind(b, blockIdx.x); bind(t, threadIdx.x);";
    Case r;
    case_run(&r, REGISTERS("j"), steps);
    if (!r.schedule)
        fail_msg("%s", text_report(&r.text));
    text_close(&r.text);
    refuse(REGISTERS("max(j - 1, 0)"), steps, E0423, "private to each thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_set),
        cmocka_unit_test(atomic_updates_may_collide),
        cmocka_unit_test(cooperative_copies_bind_an_axis_again),
        cmocka_unit_test(registers_of_fused_rows_are_each_threads_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
