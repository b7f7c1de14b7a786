/* test_schedule_staging.c - copies with a layout or a place of their own: what the steps make, every refusal with its text, and
 * the same results. */
#include "schedule_case.h"

#define CONV                                                                                       \
    "kernel conv<H, W>(in: f32[H, W], w: f32[3, 3]) -> out: f32[H - 2, W - 2]\n"                   \
    "{ for y in H - 2, x in W - 2 { out[y, x] = 0; for dy in 3, dx in 3\n"                         \
    "out[y, x] += in[y + dy, x + dx] * w[dy, dx]; } }\n"
#define BACK "kernel back<N = 8>(x: f32[N]) -> y: f32[N] { for i in N y[i] = i > 0 ? x[i - 1] : 0; }\n"

/* ---- reindex ------------------------------------------------------------------------------------------ */

static void iterators_become_subscripts(void **state)
{
    (void)state;
    expect("kernel k(x: f32[64]) -> y: f32[8, 4] { for i in 8, j in 2..6 y[i, j - 2] = x[i + j * 8 - 16]; }\n",
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

/* A place for each element is enough: TVM wants a map of exactly the iterators that the subscripts use. */
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
    refuse(CONV, "reindex_cache_read(out, in, shared, [y, x, dy, dx] -> [x + dx, y + dy - dy % 2]);", E0911,
           "two elements of 'in' would share a place in the copy: those of block 'out' at");
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
    refuse("kernel k(x: f32[9]) -> y: f32[8] { for i in 8 y[i] = x[i] + x[i + 1]; }\n", "reindex(y, x);", E0910,
           "block 'y' touches 'x' at 'i' and at 'i + 1' along axis 0");
    refuse("kernel k(x: f32[9], n: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 s: y[i] = 0; for i in 8 t: for j in n[i] y[i] += x[j]; }\n",
           "reindex(t, x);", E0910, "which changes with 'j' inside of the block");
    refuse(BACK, "reindex(y, y); reindex(y_reindex, x);", E0442, "block 'y_reindex' does not touch 'x'");
    refuse(BACK, "reindex_cache_read(y, y, shared, [i] -> [i]);", E0442, "block 'y' does not read 'y'");
    refuse(BACK, "reindex_cache_write(y, x, shared, [i] -> [i]);", E0442, "block 'y' does not write 'x'");
}

static void refuses_maps_that_do_not_fit(void **state)
{
    (void)state;
    refuse(CONV, "reindex_cache_read(out, in, shared, [y, x] -> [x, y]);", E0901, "block 'out' has 4 iterators");
    refuse(CONV, "reindex_cache_read(out, in, shared, [y, x, dy, dx] -> [y - dy, x - dx]);", E0902,
           "the place 'y - dy' along axis 0 is below 0");
    refuse(CONV, "reindex_cache_write(out, out, local, [y, x, dy, dx] -> [y, x, dy]);", E0913,
           "'dy' is an iterator of a reduction");
    refuse(CONV, "reindex_cache_write(out, out, local, [y, x, dy, dx] -> [x]);", E0911,
           "two elements of 'out' would share a place in the copy: those of block 'out' at with H = 4, W = 3: y = 0, x = 0, and y = 1, x = 0");
    refuse("kernel k(x: f32[8, 4]) -> y: f32[8] { for i in 8, j in 4 y[i] = x[i, j]; }\n",
           "reindex_cache_write(y, y, local, [i, j] -> [i, j]);", E0913,
           "an element of 'y' would have two places in the copy: those of block 'y' at i = 0, j = 0, and i = 0, j = 1");
}

static void refuses_gathers_under_conditions(void **state)
{
    (void)state;
    refuse("kernel k(x: f32[8], at: i32[8]) -> y: f32[8] { for i in 8 y[i] = at[i] >= 0 ? x[at[i]] : 0; }\n",
           "reindex(y, x);", E0912, "block 'y' may not evaluate it for every place");
    refuse("kernel k<K>(x: f32[8], at: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 { y[i] = 0; for k in K y[i] += x[at[i]]; } }\n",
           "reindex(y, x);", E0912, "block 'y' may not evaluate it for every place");
}

static void refuses_copies_that_would_miss_a_write(void **state)
{
    (void)state;
    refuse("kernel k(inout x: f32[9]) { for i in 8 x[i] = x[i] * 2; }\n",
           "reindex_cache_read(x, x, local, [i] -> [i]);", E0443, "block 'x' also writes 'x'");
    refuse("kernel k(x: f32[8], inout at: i32[8]) -> y: f32[8]\n"
           "{ for i in 8 { y: y[i] = x[at[i]]; at: at[i] = 0; } }\n",
           "reindex(y, x); reindex(y, x);", E0442, "block 'y' does not touch 'x'");
}

static void reindexed_means_the_same(void **state)
{
    static const int sizes[] = {3, 4, 7, 10};
    static const char *const steps[] = {
        "reindex(out, in); reindex(out, w); reindex(out, out);",
        "reindex_cache_read(out, in, global, [y, x, dy, dx] -> [x + dx, (y + dy) / 4, (y + dy) % 4]);",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterators_become_subscripts),
        cmocka_unit_test(copies_leave_out_what_does_not_exist),
        cmocka_unit_test(places_need_only_tell_elements),
        cmocka_unit_test(results_come_back),
        cmocka_unit_test(refuses_several_elements),
        cmocka_unit_test(refuses_maps_that_do_not_fit),
        cmocka_unit_test(refuses_gathers_under_conditions),
        cmocka_unit_test(refuses_copies_that_would_miss_a_write),
        cmocka_unit_test(reindexed_means_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
