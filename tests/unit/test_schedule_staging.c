/* test_schedule_staging.c - copies with a layout or a place of their own: what the steps make,
 * every refusal with its text, and the same results. */
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
    refuse(CONV,
           "reindex_cache_read(out, in, shared, [y, x, dy, dx] -> [x + dx, y + dy - dy % 2]);",
           E0911, "two elements of 'in' would share a place in the copy: those of block 'out' at");
}

/* What an init reads has a place that does not change with the reduction; and where a copy leaves
 * something out, nothing can be put in its place. */
static void refuses_places_that_an_init_has_not(void **state)
{
    (void)state;
    refuse("kernel k(A: f32[4, 3], b: f32[4]) -> y: f32[4] { for i in 4 { y[i] = b[i]; for j in 3 "
           "y[i] += A[i, j]; } }\n",
           "reindex_cache_read(y, b, global, [i, j] -> [j, i]);", E0911,
           "the init of block 'y' reads 'b', but its place depends on 'j'");
    refuse("kernel solve<N = 7>(L: i32[N, N], b: i32[N]) -> x: i32[N]\n"
           "{\n"
           "    for i in N {\n"
           "        x[i] = b[i];\n"
           "        for j in i\n"
           "            x[i] -= L[i, j] * x[j];\n"
           "    }\n"
           "}\n",
           "reindex_cache_read(x, b, global, [i, j] -> [i]);", E0911,
           "even for empty ranges of 'j'");
    refuse(BACK, "reindex(y, x); compute_inline(x_reindex);", E0460,
           "block 'x_reindex' has a condition");
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

static void refuses_several_elements(void **state)
{
    (void)state;
    refuse("kernel k(x: f32[9]) -> y: f32[8] { for i in 8 y[i] = x[i] + x[i + 1]; }\n",
           "reindex(y, x);", E0910, "block 'y' accesses 'x' at 'i' and at 'i + 1' along axis 0");
    refuse("kernel k(x: f32[9], n: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 s: y[i] = 0; for i in 8 t: for j in n[i] y[i] += x[j]; }\n",
           "reindex(t, x);", E0910, "which depends on loop 'j' inside the block");
    refuse(BACK, "reindex(y, y); reindex(y_reindex, x);", E0442,
           "block 'y_reindex' does not access 'x'");
    refuse(BACK, "reindex_cache_read(y, y, shared, [i] -> [i]);", E0442,
           "block 'y' does not read 'y'");
    refuse(BACK, "reindex_cache_write(y, x, shared, [i] -> [i]);", E0442,
           "block 'y' does not write 'x'");
}

static void refuses_maps_that_do_not_fit(void **state)
{
    (void)state;
    refuse(CONV, "reindex_cache_read(out, in, shared, [y, x] -> [x, y]);", E0901,
           "block 'out' has 4 iterators");
    refuse(CONV, "reindex_cache_read(out, in, shared, [y, x, dy, dx] -> [y - dy, x - dx]);", E0902,
           "the place 'y - dy' along axis 0 is negative");
    refuse(CONV, "reindex_cache_write(out, out, local, [y, x, dy, dx] -> [y, x, dy]);", E0913,
           "'dy' is a reduction iterator");
    refuse(CONV, "reindex_cache_write(out, out, local, [y, x, dy, dx] -> [x]);", E0911,
           "two elements of 'out' would share a place in the copy: those of block 'out' at with H "
           "= 4, W = 3: y = 0, x = 0, and y = 1, x = 0");
    refuse("kernel k(x: f32[8, 4]) -> y: f32[8] { for i in 8, j in 4 y[i] = x[i, j]; }\n",
           "reindex_cache_write(y, y, local, [i, j] -> [i, j]);", E0913,
           "an element of 'y' would have two places in the copy: those of block 'y' at i = 0, j = "
           "0, and i = 0, j = 1");
}

static void refuses_gathers_under_conditions(void **state)
{
    (void)state;
    refuse("kernel k(x: f32[8], at: i32[8]) -> y: f32[8] { for i in 8 y[i] = at[i] >= 0 ? x[at[i]] "
           ": 0; }\n",
           "reindex(y, x);", E0912, "block 'y' does not evaluate it for every place");
    refuse("kernel k<K>(x: f32[8], at: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 { y[i] = 0; for k in K y[i] += x[at[i]]; } }\n",
           "reindex(y, x);", E0912, "block 'y' does not evaluate it for every place");
}

static void refuses_copies_that_would_miss_a_write(void **state)
{
    (void)state;
    refuse("kernel k(inout x: f32[9]) { for i in 8 x[i] = x[i] * 2; }\n",
           "reindex_cache_read(x, x, local, [i] -> [i]);", E0443, "block 'x' also writes 'x'");
    refuse("kernel k(x: f32[8], inout at: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 { y: y[i] = x[at[i]]; at: at[i] = 0; } }\n",
           "reindex(y, x); reindex(y, x);", E0442, "block 'y' does not access 'x'");
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
    refuse(ROWS, "let [i, j] = loops(y); read_at(i, y, y, shared);", E0442,
           "read_at: block 'y' does not read 'y'");
    refuse(ROWS, "let [i, j] = loops(y); write_at(i, y, x, shared);", E0442,
           "write_at: block 'y' does not write 'x'");
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
    refuse(ROWS, "cache_inplace(y, x, shared);", E0914,
           "block 'y' only reads 'x'; use cache_read instead");
    refuse("kernel sum<N>(x: f32[4, N]) -> y: f32[4] { for i in 4 { y[i] = 0; for j in N y[i] += "
           "x[i, j]; } }\n",
           "let [i, j] = loops(y); cache_inplace(y, y, local, j);", E0914,
           "block 'y' initializes 'y' itself");
    refuse("kernel k(x: f32[4]) -> y: f32[4] { for i in 4 a: y[i] = x[i]; for i in 2 b: y[i] += 1; "
           "}\n",
           "cache_inplace(b, y, local);", E0914, "'y' is not an inout parameter");
    refuse(ROWS, "cache_inplace(y, y, shared);", E0914,
           "block 'y' only writes 'y'; use cache_write instead");
    refuse("kernel two<N>(inout u: f32[N]) -> y: f32[N] { for i in N { a: u[i] = u[i] * 2; b: y[i] "
           "= u[i]; } }\n",
           "let [i] = loops(a); cache_inplace(a, u, local, i);", E0914,
           "block 'b' also accesses 'u' in loop 'i'");
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
    refuse("kernel k<N>(inout u: f32[N, N]) { for i in N for j in i + 1 u[i, j] = u[i, j] * 2; }\n",
           "cache_inplace(u, u, global);", E0914,
           "block 'u' writes only some elements of the region of 'u' that would be copied back");
    refuse("kernel k<N>(inout u: f32[N]) { for i in N { if u[i] > 0 u[i] = -u[i]; } }\n",
           "cache_inplace(u, u, global);", E0914, "writes only some elements");
}

/* Iterations on different blocks that touch each other's part. */
static void copies_of_neighbours_clash(void **state)
{
    (void)state;
    refuse("kernel odd<N = 8>(inout u: f32[N + 1]) { for b in 4, i in 2 u[b * 2 + i] = u[b * 2 + i "
           "+ 0] * 2; }\n",
           "let [b, i] = loops(u); let [io, ii] = split(i, [2, 1]); bind(b, blockIdx.x); bind(io, "
           "threadIdx.x);\n"
           "cache_inplace(u, u, local, b);",
           E0441, "which would no longer be legal");
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
    refuse(ROWS, "cache_index(y, global);", E0915, "no read subscript of block 'y' multiplies");
    refuse("kernel k(x: f32[8]) -> y: f32[8] { for i in 8 y[i] = x[i / 2]; }\n",
           "cache_index(y, global, 2);", E0915, "at least 2 times");
    refuse("kernel k(x: f32[8]) -> y: f32[16] { for i in 8 z: y[i * 2 + 1] = 0; for i in 8 y[i * "
           "2] = x[i]; }\n",
           "cache_index(y, global);", E0915, "subscripts of writes, are not cached");
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

static void refuses_producers_that_are_no_functions(void **state)
{
    (void)state;
    refuse(STAGES, "set_scope(a, local); rolling_buffer(a);", E0920,
           "no loop encloses block 'a' and all readers of 'a'");
    refuse(STAGES, "rolling_buffer(y);", E0920, "it is not a single store to a temp");
    refuse(STAGES,
           "let [i] = loops(y); let [io, ii] = split(i, [_, 4]); compute_at(a, io); "
           "rolling_buffer(a);",
           E0920, "'a' is in global memory");
    refuse(STAGES, ROLL "rolling_buffer(a); rolling_buffer(a);", E0920,
           "axis 0 of 'a' is already circular");
    refuse(STAGES, ROLL "rolling_buffer(a, 1);", E0920,
           "the regions of 'a' move along axis 0, not along axis 1");
    refuse(STAGES, ROLL "bind(io, blockIdx.x); rolling_buffer(a);", E0920,
           "loop 'io', which encloses block 'a' and all accesses of 'a', is not serial");
    refuse("kernel moving<N>(x: f32[N + 2], inout s: f32[1]) -> y: f32[N]\n"
           "{ temp t: f32[N + 2] in local; for i in N { for a in 3 block t(v in N + 2 = i + a) { "
           "t[v] = x[v] * s[0]; }\n"
           "y: y[i] = t[i] + t[i + 2]; s: s[0] = s[0] + 1; } }\n",
           "rolling_buffer(t);", E0922, "block 't' reads 's', which block 's' writes in loop 'i'");
}

static void refuses_parts_that_do_not_overlap(void **state)
{
    (void)state;
    refuse("kernel k<N>(x: f32[N * 4]) -> y: f32[N * 4] { temp a: f32[N * 4]; for i in N * 4 a[i] "
           "= x[i];\n"
           "for i in N, j in 4 y[i * 4 + j] = a[i * 4 + j]; }\n",
           "let [i, j] = loops(y); compute_at(a, i); set_scope(a, local); rolling_buffer(a);",
           E0921, "4 elements from i * 4. Along axis 0 it moves by 4 per iteration");
    refuse("kernel k(x: f32[66, 66]) -> y: f32[64] { temp a: f32[66, 66]; for i in 66, j in 66 "
           "a[i, j] = x[i, j];\n"
           "for i in 64 y[i] = a[i, i] + a[i + 2, i + 2]; }\n",
           "let [i] = loops(y); compute_at(a, i); set_scope(a, local); rolling_buffer(a);", E0921,
           "The region moves along two axes");
}

/* What a read needs must have been made: here it runs ahead of the box. */
static void refuses_reads_of_what_is_not_made(void **state)
{
    (void)state;
    refuse(
        "kernel early<N>(x: f32[N + 4]) -> y: f32[N] { temp t: f32[N + 4] in local; for i in N {\n"
        "for a in 3 block t(v in N + 4 = i + a) { t[v] = x[v]; } y: y[i] = t[i] + t[i + 3]; } }\n",
        "rolling_buffer(t);", E0923, "could not prove that");
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
        cmocka_unit_test(refuses_places_that_an_init_has_not),
        cmocka_unit_test(results_come_back),
        cmocka_unit_test(refuses_several_elements),
        cmocka_unit_test(refuses_maps_that_do_not_fit),
        cmocka_unit_test(refuses_gathers_under_conditions),
        cmocka_unit_test(refuses_copies_that_would_miss_a_write),
        cmocka_unit_test(reindexed_means_the_same),
        cmocka_unit_test(copies_have_their_place),
        cmocka_unit_test(half_a_step_is_none),
        cmocka_unit_test(blocks_work_in_copies),
        cmocka_unit_test(only_what_is_written_goes_back),
        cmocka_unit_test(copies_of_neighbours_clash),
        cmocka_unit_test(subscripts_are_computed_once),
        cmocka_unit_test(staged_means_the_same),
        cmocka_unit_test(only_the_new_part_is_made),
        cmocka_unit_test(refuses_producers_that_are_no_functions),
        cmocka_unit_test(refuses_parts_that_do_not_overlap),
        cmocka_unit_test(refuses_reads_of_what_is_not_made),
        cmocka_unit_test(rolled_means_the_same),
        cmocka_unit_test(consumers_run_where_something_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
