/* test_schedule_staging.c - copies with a layout or a place of their own: what the steps make, and
 * the same results. Refusals stand in tests/legality/steps/staging.tir. */
#include "schedule_case.h"

#define CONV                                                                                       \
    "kernel conv<H, W>(in: f32[H, W], w: f32[3, 3]) -> out: f32[H - 2, W - 2]\n"                   \
    "{ for y in H - 2, x in W - 2 { out[y, x] = 0; for dy in 3, dx in 3\n"                         \
    "out[y, x] += in[y + dy, x + dx] * w[dy, dx]; } }\n"
#define BACK                                                                                       \
    "kernel back<N = 8>(x: f32[N]) -> y: f32[N] { for i in N y[i] = i > 0 ? x[i - 1] : 0; }\n"

/* ---- reindex --------------------------------------------------------------------------------- */

static void iterators_become_subscripts(void **state)
{
    (void)state;
    expect("kernel k(x: f32[64]) -> y: f32[8, 4] { for i in 8, j in 2..6 y[i, j - 2] = x[i + j * 8 "
           "- 16]; }\n",
           "reindex(y, x);",
           "    temp x_reindex: f32[8, 4];\n"
           "    for ax0 in 8, ax1 in 4\n"
           "        block x_reindex(i in 8 = ax0, v1 in 4 = ax1) {\n"
           "            x_reindex[i, v1] = x[v1 * 8 + i];\n"
           "        }\n"
           "    for i in 8, j in 2..6\n"
           "        y[i, j - 2] = x_reindex[i, j - 2];\n"
           "}\n");
}

/* Elements that the block reads under a condition do not exist for all iterations. */
static void copies_leave_out_what_does_not_exist(void **state)
{
    (void)state;
    expect(BACK, "reindex(y, x);",
           "    temp x_reindex: f32[8];\n"
           "    for ax0 in 8\n"
           "        block x_reindex(i in 8 = ax0) where ax0 > 0 {\n"
           "            x_reindex[i] = x[i - 1];\n"
           "        }\n"
           "    for i in 8\n"
           "        y[i] = i > 0 ? x_reindex[i] : 0.0;\n"
           "}\n");
}

/* A place for each element is enough: TVM wants a map of exactly the iterators that the subscripts
 * use. */
static void places_need_only_tell_elements(void **state)
{
    (void)state;
    expect(CONV, "reindex_cache_read(out, in, shared, [y, x, dy, dx] -> [x + dx, y + dy]);",
           "    temp in_shared: f32[W, H] in shared;\n"
           "    for ax0 in W, ax1 in H\n"
           "        block in_shared(v0 in W = ax0, v1 in H = ax1) {\n"
           "            in_shared[v0, v1] = in[v1, v0];\n"
           "        }\n"
           "    for y in H - 2, x in W - 2, dy in 3, dx in 3 {\n"
           "        init out[y, x] = 0.0;\n"
           "        out[y, x] += in_shared[x + dx, y + dy] * w[dy, dx];\n"
           "    }\n"
           "}\n");
}

/* Sums in a layout of their own; only the places that an element has are copied out. */
static void results_come_back(void **state)
{
    (void)state;
    expect("kernel sum<M = 6, K>(A: f32[M, K]) -> y: f32[M]\n"
           "{ for i in M { y[i] = 0; for k in K y[i] += A[i, k]; } }\n",
           "reindex_cache_write(y, y, global, [i, k] -> [i % 4, i / 4]);",
           "    temp y_global: f32[4, 2];\n"
           "    for i in 6, k in K\n"
           "        y: {\n"
           "            init y_global[i % 4, i / 4] = 0.0;\n"
           "            y_global[i % 4, i / 4] += A[i, k];\n"
           "        }\n"
           "    for ax0 in 4, ax1 in 2\n"
           "        block y_global(v0 in 4 = ax0, v1 in 2 = ax1) where ax1 * 4 + ax0 < 6 {\n"
           "            y[v1 * 4 + v0] = y_global[v0, v1];\n"
           "        }\n"
           "}\n");
}

static void reindexed_means_the_same(void **state)
{
    static const int sizes[] = {3, 4, 7, 10};
    static const char *const steps[] = {
        "reindex(out, in); reindex(out, w); reindex(out, out);",
        "reindex_cache_read(out, in, global, [y, x, v, u] -> [x + u, (y + v) / 4, (y + v) % 4]);",
        "reindex_cache_write(out, out, global, [y, x, dy, dx] -> [x / 4, y, x % 4]);",
        "reindex_cache_read(out, in, global, [y, x, dy, dx] -> [y + 2 * dy, dy, x * 3 + dx]);",
    };
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        expect_same(CONV, steps[i], sizes, 4);
    expect_same(BACK, "reindex(y, x);", sizes, 1);
    expect_same("kernel low(x: f32[8, 8]) -> y: f32[8, 8] { for i in 8, j in 8 z: y[i, j] = 0;\n"
                "for i in 8, j in i..8 y: y[i, j] = x[j, i]; }\n",
                "reindex(y, x);", sizes, 1);
}

/* ---- read_at, write_at, cache_inplace, cache_index ------------------------------------------- */

#define ROWS                                                                                       \
    "kernel rows<N>(x: f32[4, N]) -> y: f32[4, N] { for i in 4, j in N y[i, j] = x[i, j] * 2; }\n"
#define TWICE "kernel twice<N>(inout u: f32[4, N]) { for i in 4, j in N u[i, j] = u[i, j] * 2; }\n"

/* One step, which the trace shows as one. */
static void copies_have_their_place(void **state)
{
    Case k;
    (void)state;
    case_run(&k, ROWS,
             "let [i, j] = loops(y); read_at(i, y, x, shared); write_at(i, y, y, local);");
    assert_non_null(k.schedule);
    assert_int_equal(schedule_steps(k.schedule), 2);
    StrBuf trace = strbuf_new(k.text.ctx->arena);
    schedule_trace(k.schedule, "s", &trace);
    assert_non_null(strstr(trace.text, "    read_at(i, y, x, shared);\n"
                                       "    write_at(i, y, y, local);\n"));
    text_close(&k.text);
    expect(ROWS, "let [i, j] = loops(y); read_at(i, y, x, shared);",
           "    temp x_shared: f32[4, N] in shared;\n"
           "    for i in 4 {\n"
           "        for ax0 in 1, ax1 in N\n"
           "            block x_shared(i in 4 = i + ax0, j in N = ax1) {\n"
           "                x_shared[i, j] = x[i, j];\n"
           "            }\n"
           "        for j in N\n"
           "            y[i, j] = x_shared[i, j] * 2.0;\n"
           "    }\n"
           "}\n");
}

/* Where the second half is refused, the first has not happened. */
static void half_a_step_is_none(void **state)
{
    Case k;
    (void)state;
    static const char sum[] = "kernel sum<N>(x: f32[4, N]) -> y: f32[4]\n"
                              "{ for i in 4 { y[i] = 0; for j in N y[i] += x[i, j]; } }\n";
    case_run(&k, sum, "let [i, j] = loops(y);\n");
    assert_non_null(k.schedule);
    Schedule *s = k.schedule;
    const Kernel *before = schedule_kernel(s);
    Value block = {.kind = VALUE_WORD}, loops, ignored;
    block.u.s = ctx_name(k.text.ctx, "y");
    assert_true(schedule_call(s, primitive_find("loops"),
                              &(GivenArgs){.args = &block, .n = 1, .span = span_none()}, &loops));
    Value scope = {.kind = VALUE_WORD};
    scope.u.s = ctx_name(k.text.ctx, "local");
    Value args[] = {loops.u.list.items[1], block, block, scope};
    assert_false(schedule_call(s, primitive_find("write_at"),
                               &(GivenArgs){.args = args, .n = 4, .span = span_none()}, &ignored));
    assert_ptr_equal(schedule_kernel(s), before);
    assert_non_null(strstr(text_report(&k.text), "error[E0456]: write_at: "));
    text_close(&k.text);
}

static void blocks_work_in_copies(void **state)
{
    (void)state;
    expect(TWICE, "cache_inplace(u, u, global);",
           "    temp u_global: f32[4, N];\n"
           "    for ax0 in 4, ax1 in N\n"
           "        block u_global(i in 4 = ax0, j in N = ax1) {\n"
           "            u_global[i, j] = u[i, j];\n"
           "        }\n"
           "    for i in 4, j in N\n"
           "        u: u_global[i, j] = u_global[i, j] * 2.0;\n"
           "    for ax0 in 4, ax1 in N\n"
           "        block u_global_back(i in 4 = ax0, j in N = ax1) {\n"
           "            u[i, j] = u_global[i, j];\n"
           "        }\n"
           "}\n");
    refuse(TWICE "kernel k<N>(inout u: f32[4, N], inout v: f32[4]) {}",
           "cache_inplace(u, u, local, 3);", E0401, "takes a loop");
}

/* No element is written that the program leaves alone, not even as it was. */
static void only_what_is_written_goes_back(void **state)
{
    (void)state;
    expect("kernel k<N>(inout u: f32[N]) { for i in 1..N u[i] = u[i - 1] * 2; }\n",
           "cache_inplace(u, u, global);",
           "    temp u_global: f32[N];\n"
           "    for ax0 in N\n"
           "        block u_global(v0 in N = ax0) {\n"
           "            u_global[v0] = u[v0];\n"
           "        }\n"
           "    for i in 1..N\n"
           "        u: u_global[i] = u_global[i - 1] * 2.0;\n"
           "    for ax0 in N - 1\n"
           "        block u_global_back(v0 in N = ax0 + 1) {\n"
           "            u[v0] = u_global[v0];\n"
           "        }\n"
           "}\n");
}

static void subscripts_are_computed_once(void **state)
{
    (void)state;
    expect("kernel k(x: f32[8, 6]) -> y: f32[8, 6] { for i in 8, j in 6 y[i, j] = x[i * 3 % 8, j] "
           "+ x[i * 3 % 8, j / 2]; }\n",
           "cache_index(y, global, 2);",
           "    temp y_index: i32[8];\n"
           "    for ax0 in 8\n"
           "        block y_index(i in 8 = ax0) {\n"
           "            y_index[i] = i32(i * 3 % 8);\n"
           "        }\n"
           "    for i in 8, j in 6\n"
           "        y[i, j] = x[y_index[i], j] + x[y_index[i], j / 2];\n"
           "}\n");
}

static void staged_means_the_same(void **state)
{
    static const int sizes[] = {1, 2, 7, 8, 17};
    (void)state;
    expect_same(ROWS,
                "let [i, j] = loops(y); read_at(i, y, x, global); let [jo, ji] = split(j, [_, 4]); "
                "write_at(i, y, y, global);",
                sizes, 5);
    expect_same(TWICE, "cache_inplace(u, u, global);", sizes, 5);
    expect_same(TWICE,
                "let [i, j] = loops(u); let [jo, ji] = split(j, [_, 4]); cache_inplace(u, u, "
                "local, jo); bind(i, blockIdx.x); bind(jo, blockIdx.y);",
                sizes, 5);
    expect_same("kernel k<N>(x: f32[2 * N + 2]) -> y: f32[N] { for i in N y[i] = x[i * 2 % 7] + "
                "x[2 * i + 1]; }\n",
                "let [a, b] = cache_index(y, global);", sizes + 2, 3);
}

/* ---- rolling_buffer -------------------------------------------------------------------------- */

#define STAGES                                                                                     \
    "kernel stages<N>(x: f32[N + 4]) -> y: f32[N]\n"                                               \
    "{ temp a: f32[N + 2]; for i in N + 2 a[i] = x[i] + x[i + 1] + x[i + 2];\n"                    \
    "for i in N y[i] = a[i] + a[i + 1] * 2 + a[i + 2]; }\n"
#define ROLL                                                                                       \
    "let [i] = loops(y); let [io, ii] = split(i, [_, 4]); compute_at(a, io); set_scope(a, "        \
    "local);\n"

static void only_the_new_part_is_made(void **state)
{
    (void)state;
    expect(STAGES, ROLL "rolling_buffer(a);",
           "    temp a: f32[N + 2] in local fold(0, 6);\n"
           "    for io in (N + 3) / 4 {\n"
           "        for ax0 in 6\n"
           "            block a(i in N + 2 = io * 4 + ax0) where io < 1 || ax0 > 1 {\n"
           "                a[i] = x[i] + x[i + 1] + x[i + 2];\n"
           "            }\n"
           "        for ii in 4\n"
           "            block y(i in N = io * 4 + ii) {\n"
           "                y[i] = a[i] + a[i + 1] * 2.0 + a[i + 2];\n"
           "            }\n"
           "    }\n"
           "}\n");
    /* Boxes that move downwards have their new part in front. */
    expect("kernel down(x: f32[66]) -> y: f32[64] { temp a: f32[66]; for i in 66 a[i] = x[i] * 2;\n"
           "for i in 64 y[63 - i] = a[63 - i] + a[65 - i]; }\n",
           "let [i] = loops(y); compute_at(a, i); set_scope(a, local); rolling_buffer(a, -1);",
           "    temp a: f32[66] in local fold(0, 3);\n"
           "    for i in 64 {\n"
           "        for ax0 in 3\n"
           "            block a(i in 66 = 63 - i + ax0) where i < 1 || ax0 < 1 {\n"
           "                a[i] = x[i] * 2.0;\n"
           "            }\n"
           "        y[63 - i] = a[63 - i] + a[65 - i];\n"
           "    }\n"
           "}\n");
}

static void rolled_means_the_same(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, 8, 9, 17};
    (void)state;
    expect_same(STAGES, ROLL "rolling_buffer(a); bind(add_unit_loop(io), blockIdx.x);", sizes, 7);
    expect_same(STAGES,
                "let [i] = loops(y); compute_at(a, i); set_scope(a, local); rolling_buffer(a); "
                "bind(add_unit_loop(i), blockIdx.x);",
                sizes, 7);
    expect_same("kernel down<N>(x: f32[N + 2]) -> y: f32[N] { temp a: f32[N + 2]; for i in N + 2 "
                "a[i] = x[i] * 2;\n"
                "for i in N y[N - 1 - i] = a[N - 1 - i] + a[N + 1 - i]; }\n",
                "let [i] = loops(y); compute_at(a, i); set_scope(a, local); rolling_buffer(a); "
                "bind(add_unit_loop(i), blockIdx.x);",
                sizes, 7);
}

/* ---- reverse_compute_at ---------------------------------------------------------------------- */

/* A loop that has been split further than it runs makes something in its first iteration alone, and
 * there it is consumed. */
static void consumers_run_where_something_is_made(void **state)
{
    static const int none = 0;
    static const char one[] =
        "kernel one(x: f32[1, 1]) -> y: f32[1, 1] { temp t: f32[1, 1];\n"
        "for i in 1, j in 1 t[i, j] = x[i, j] + 1; for i in 1, j in 1 y[i, j] = t[i, j] * 2; }\n";
    (void)state;
    expect(one,
           "let [i, j] = loops(t); let [fo, fi] = split(fuse(i, j), [_, 4]); reverse_compute_at(y, "
           "fi);",
           "    temp t: f32[1, 1];\n"
           "    for fo in 1, fi in 4 {\n"
           "        block t(i in 1 = 0, j in 1 = 0) where fo * 4 + fi < 1 {\n"
           "            t[i, j] = x[i, j] + 1.0;\n"
           "        }\n"
           "        for ax0 in 1, ax1 in 1\n"
           "            block y(i in 1 = ax0, j in 1 = ax1) where fo * 4 + fi < 1 {\n"
           "                y[i, j] = t[i, j] * 2.0;\n"
           "            }\n"
           "    }\n"
           "}\n");
    expect_same(one,
                "let [i, j] = loops(t); let [fo, fi] = split(fuse(i, j), [_, 4]); "
                "reverse_compute_at(y, fi);",
                &none, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterators_become_subscripts),
        cmocka_unit_test(copies_leave_out_what_does_not_exist),
        cmocka_unit_test(places_need_only_tell_elements),
        cmocka_unit_test(results_come_back),
        cmocka_unit_test(reindexed_means_the_same),
        cmocka_unit_test(copies_have_their_place),
        cmocka_unit_test(half_a_step_is_none),
        cmocka_unit_test(blocks_work_in_copies),
        cmocka_unit_test(only_what_is_written_goes_back),
        cmocka_unit_test(subscripts_are_computed_once),
        cmocka_unit_test(staged_means_the_same),
        cmocka_unit_test(only_the_new_part_is_made),
        cmocka_unit_test(rolled_means_the_same),
        cmocka_unit_test(consumers_run_where_something_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
