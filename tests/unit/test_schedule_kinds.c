/* How loops run: what bind, parallel, vectorize, unroll and atomic make of a small kernel, and
 * every refusal with its text. Programs and steps are text; the wrong ones expect a code and a
 * piece of the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule_programs.h"
#include "schedule_steps.h"

#define COPY4096 "kernel copy<N = 4096>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
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

static void bind_refuses(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "bind(i, blockIdx.x); bind(i, blockIdx.y);", E0410,
           "already bound to blockIdx.x");
    refuse(MATMUL, IJK "let [a, b] = split(j, [_, 8]); bind(a, threadIdx.x); bind(b, threadIdx.x);",
           E0420,
           "loop 'a' is already bound to threadIdx.x, and the body of loop 'b' (block 'C') still "
           "uses");
    refuse(MATMUL, IJK "let [a, b] = split(j, [_, 8]); bind(b, threadIdx.x); bind(a, threadIdx.x);",
           E0420, "loop 'b' is already bound to threadIdx.x");
    refuse(TWO,
           "let [i, j] = loops(y); let [_, k] = loops(z);\n"
           "bind(i, blockIdx.x); bind(j, threadIdx.x); bind(k, threadIdx.x);",
           E0421, "threadIdx.x would have extent 64 at loop 'j' and 32 at loop 'k'");
    refuse(TWO,
           "let [i, j] = loops(y); let [_, k] = loops(z);\n"
           "bind(j, threadIdx.x); bind(k, threadIdx.x); bind(i, blockIdx.x);",
           E0421, "threadIdx.x would have extent 64 at loop 'j' and 32 at loop 'k'");
    refuse(COPY, "let [i] = loops(y); bind(i, threadIdx.x);", E0414,
           "loop 'i' has N iterations, but threadIdx.x needs a literal extent");
    refuse(COPY4096, "let [i] = loops(y); bind(i, threadIdx.x);", E0422,
           "loop 'i' has 4096 iterations, but threadIdx.x has at most 1024");
    refuse(MATMUL, IJK "bind(i, threadIdx.z);", E0422, "threadIdx.z has at most 64");
    refuse(MATMUL, IJK "bind(j, threadIdx.x); bind(i, threadIdx.y);", E0422,
           "64 x 100 x 1 = 6400 threads, but the limit is 1024");
    refuse(MATMUL, IJK "bind(fuse(i, j), threadIdx.x);", E0422, "has at most 1024");
    refuse("kernel tall(x: f32[70000]) -> y: f32[70000] { for i in 70000 y[i] = x[i]; }\n",
           "let [i] = loops(y); bind(i, blockIdx.y);", E0422, "blockIdx.y has at most 65535");
    refuse("kernel none() -> y: f32[4] { for i in 4..4 y[i] = 1; }\n",
           "let [i] = loops(y); bind(i, threadIdx.x);", E0422, "loop 'i' has no iterations");
    refuse(TRIANGLE, "let [i, j] = loops(y); bind(i, blockIdx.y); bind(j, blockIdx.x);", E0428,
           "loop 'j' has i + 1 iterations, which depends on loop 'i' inside the launch");
    refuse(SCAN, "let [i] = loops(y); bind(i, threadIdx.x);", E0423, "block 'y' at i = 1");
    refuse(SCAN, "let [i] = loops(y); bind(i, blockIdx.x);", E0423, "depend on each other");
    refuse(MATMUL, IJK "bind(k, blockIdx.x);", E0424, "loop 'k' is a reduction loop of block 'C'");
}

static void other_kinds_are_checked(void **state)
{
    (void)state;
    refuse(MATMUL, IJK "unroll(k); parallel(k);", E0410, "loop 'k' is already unrolled");
    refuse(MATMUL, IJK "parallel(i); vectorize(i);", E0410, "loop 'i' is already parallel");
    refuse(SCAN, "let [i] = loops(y); parallel(i);", E0423, "depend on each other");
    refuse(MATMUL, IJK "parallel(k);", E0424, "is a reduction loop");
    refuse(COPY, "let [i] = loops(y); vectorize(i);", E0414, "a vector needs a literal extent");
    refuse(COPY100, "let [i] = loops(y); vectorize(i);", E0425, "a vector has 2 to 16");
    refuse(COPY100, "let [i] = loops(y); let [_, v] = split(i, [_, 1]); vectorize(v);", E0425,
           "loop 'v' has 1 iterations");
    refuse(MATMUL, IJK "let [_, b] = split(j, [_, 4]); vectorize(b);", E0426, "reorder it inwards");
    refuse(SCAN, "let [i] = loops(y); let [_, v] = split(i, [_, 4]); vectorize(v);", E0423,
           "depend on each other");
    refuse(MATMUL, IJK "let [_, v] = split(k, [_, 4]); vectorize(v);", E0424,
           "is a reduction loop");
    refuse(COPY, "let [i] = loops(y); unroll(i);", E0414,
           "an unrolled loop needs a literal extent");
    refuse(COPY4096, "let [i] = loops(y); unroll(i);", E0427, "the limit for unrolling is 1024");
    refuse(MATMUL, IJK "bind(i, blockIdx.x); unroll(i);", E0410, "already bound to blockIdx.x");
    refuse(MATMUL, "unannotate(C, note);", E0429, "block 'C' has no annotation 'note'");
    refuse(MATMUL, "annotate(C, other); unannotate(C, note);", E0429, "it has 'other'");
    refuse(MATMUL, "annotate(C, note, [\"a\"]);", E0430, "'note' is a list of other values");
    refuse(MATMUL, IJK "annotate(C, note, i);", E0430, "'note' is a loop");
    refuse(MATMUL, IJK "annotate(j, serpentine);", E0498, "call serpentine instead");
    refuse(MATMUL, IJK "annotate(C, copy_async);", E0498, "call copy_async instead");
    refuse(MATMUL, IJK "annotate(i, remap_grouped, 2);", E0498, "call remap instead");
    refuse(MATMUL, IJK "reorder(k, i, j); serpentine(i, j); serpentine(i, j);", E0499,
           "'j' is already a serpentine loop");
}

/* Updates that collide may run at the same time once they are atomic. */
static void atomic_updates_may_collide(void **state)
{
    (void)state;
    refuse(HISTOGRAM, "let [i] = loops(hist_1); bind(i, blockIdx.x);", E0423,
           "keep the loop serial, or make its updates atomic with atomic(hist_1)");
    refuse(MATMUL, IJK "atomic(C); bind(k, blockIdx.x);", E0424, "is a reduction loop");
    refuse(MATMUL, IJK "bind(k, blockIdx.x);", E0424,
           "with decompose_reduction and then atomic(C)");
    expect_body(HISTOGRAM,
                "let [i] = loops(hist_1); atomic(hist_1); bind(i, blockIdx.x); atomic(hist_1);",
                "    for b in 256\n"
                "        hist[b] = 0;\n"
                "    for i in 64 bind blockIdx.x\n"
                "        block hist_1(i in 64 = i) atomic {\n"
                "            hist[color[i]] += 1;\n"
                "        }\n");
    refuse(HISTOGRAM, "atomic(hist);", E0432,
           "block 'hist' updates with 'hist =' elements of type i32");
    refuse("kernel h(x: u8[8], inout y: u8[8]) { for i in 8 y[0] += x[i]; }\n", "atomic(y);", E0432,
           "updates with 'y +=' elements of type u8");
    refuse("kernel h(inout y: f32[8]) { for i in 8 y[0] += y[i]; }\n", "atomic(y);", E0432,
           "block 'y' updates 'y' and also reads it elsewhere");
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
    refuse(COOPERATIVE,
           "let [b, t, c] = loops(load); let [d, e] = split(c, [_, 4]); bind(e, threadIdx.x);",
           E0421, "threadIdx.x would have extent 8 at loop 't' and 4 at loop 'e'");
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
        cmocka_unit_test(bind_refuses),
        cmocka_unit_test(other_kinds_are_checked),
        cmocka_unit_test(atomic_updates_may_collide),
        cmocka_unit_test(cooperative_copies_bind_an_axis_again),
        cmocka_unit_test(registers_of_fused_rows_are_each_threads_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
