/* test_profile.c - device profiles, what they refuse, and the occupancy that follows from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/measure/occupancy.h"
#include "runtime/measure/roofline.h"

static bool parse(Context *c, const char *text, Profile *out)
{
    return profile_parse(c, source_add(c, "my.profile", text, strlen(text)), out);
}

/* ---- profiles ------------------------------------------------------------------------------ */

static void shipped_profiles_are_complete(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    for (int i = 0; i < profile_file_count; i++) {
        Profile p;
        assert_true(parse(c, profile_files[i].text, &p));
#define KEY(field, meaning) assert_true(p.field > 0);
#include "runtime/measure/profile.def"
#undef KEY
    }
    assert_string_equal(profile_names(c), "a100, h200");
    assert_non_null(profile_shipped("H200"));
    assert_null(profile_shipped("h200.profile"));
    assert_null(profile_shipped("h"));
    ctx_free(c);
}

static void what_is_not_said_is_not_known(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Profile p;
    assert_true(parse(c, "# mine\nname = My card  # the old one\n\n  dram_gbps=112\n", &p));
    assert_string_equal(p.name, "My card");
    assert_true(p.dram_gbps == 112 && p.f32_gflops == 0);
    assert_true(parse(c, "", &p));
    assert_string_equal(p.name, "my.profile");
    ctx_free(c);
}

static void expect_refusal(const char *text, const char *message, int line, int column)
{
    Context *c = ctx_new(0);
    Profile p;
    assert_false(parse(c, text, &p));
    assert_non_null(c->first);
    assert_int_equal(c->first->code, E0651);
    assert_non_null(strstr(c->first->message, message));
    int at, in;
    source_position(source_get(c, c->first->span.source), c->first->span.begin, &at, &in);
    assert_int_equal(at, line);
    assert_int_equal(in, column);
    ctx_free(c);
}

static void bad_lines_are_refused(void **state)
{
    (void)state;
    expect_refusal("dram_gbps 5", "found a line without '='", 1, 1);
    expect_refusal("\n dram_gpbs = 5", "did you mean 'dram_gbps'?", 2, 2);
    expect_refusal("= 5", "unknown key ''", 1, 1);
    expect_refusal("dram_gbps =", "found ''", 1, 12);
    expect_refusal("dram_gbps = fast", "found 'fast'", 1, 13);
    expect_refusal("dram_gbps = -1", "takes a nonnegative number", 1, 13);
    expect_refusal("dram_gbps = nan", "takes a nonnegative number", 1, 13);
    expect_refusal("dram_gbps = 1\ndram_gbps = 2", "'dram_gbps' is set twice", 2, 1);
}

static void a_gpu_describes_itself(void **state)
{
    (void)state;
    DeviceInfo info = {.name = "NVIDIA H200",
                       .capability = 90,
                       .multiprocessors = 132,
                       .clock_khz = 1980000,
                       .memory_clock_khz = 3201000,
                       .memory_bus_bits = 6016,
                       .threads_per_multiprocessor = 2048};
    Profile p = profile_of_device(&info);
    assert_int_equal(p.f32_gflops, 66908);
    assert_int_equal(p.f64_gflops, 33454);
    assert_int_equal(p.dram_gbps, 4814);
    info.capability = 1;
    assert_true(profile_of_device(&info).f32_gflops == 0);
}

/* ---- occupancy ----------------------------------------------------------------------------- */

static Profile shipped(Context *c, const char *name)
{
    Profile p;
    assert_true(parse(c, profile_shipped(name)->text, &p));
    return p;
}

static void expect(const Profile *p, OccupancyNeed need, int64_t blocks, OccupancyLimit limit)
{
    Occupancy o = occupancy_of(p, &need);
    assert_int_equal(o.blocks, blocks);
    assert_int_equal(o.limit, limit);
}

static void limits(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Profile h200 = shipped(c, "h200");
    expect(&h200, (OccupancyNeed){1024, 0, 32}, 2, LIMIT_THREADS);
    expect(&h200, (OccupancyNeed){32, 0, 0}, 32, LIMIT_BLOCKS);
    expect(&h200, (OccupancyNeed){33, 0, 0}, 32, LIMIT_THREADS); /* two warps */
    /* 8 * 17408 bytes fit, 13 of them would */
    expect(&h200, (OccupancyNeed){256, 16384, 32}, 8, LIMIT_THREADS);
    expect(&h200, (OccupancyNeed){256, 48 * 1024, 32}, 4, LIMIT_SHARED);
    expect(&h200, (OccupancyNeed){256, 232448, 32}, 1, LIMIT_SHARED);
    expect(&h200, (OccupancyNeed){256, 0, 255}, 1, LIMIT_REGISTERS); /* 8192 a warp: 8 warps */
    expect(&h200, (OccupancyNeed){256, 0, 128}, 2, LIMIT_REGISTERS);
    /* 1280 a warp: 12 for each scheduler */
    expect(&h200, (OccupancyNeed){256, 0, 40}, 6, LIMIT_REGISTERS);
    expect(&h200, (OccupancyNeed){1024, 0, 65}, 0, LIMIT_REGISTERS);
    Occupancy o = occupancy_of(&h200, &(OccupancyNeed){256, 48 * 1024, 32});
    assert_int_equal(o.threads, 1024);
    assert_true(o.share == 0.5);
    ctx_free(c);
}

/* The first GPUs held 768 threads: three blocks of 16x16. */
static void three_blocks_of_an_old_gpu(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    Profile old;
    assert_true(parse(c, "max_threads = 768\nmax_blocks = 8\n", &old));
    expect(&old, (OccupancyNeed){256, 2048, 10}, 3, LIMIT_THREADS);
    Occupancy o = occupancy_of(&old, &(OccupancyNeed){256, 2048, 10});
    assert_int_equal(o.threads, 768);
    assert_true(o.share == 1);
    ctx_free(c);
}

static void nothing_known_is_no_limit(void **state)
{
    (void)state;
    Profile none = {.name = "none"};
    Occupancy o = occupancy_of(&none, &(OccupancyNeed){256, 1024, 32});
    assert_int_equal(o.blocks, 0);
    assert_true(o.share == 0);
    assert_int_equal(o.by[LIMIT_SHARED], INT64_MAX);
}

/* ---- the roofline -------------------------------------------------------------------------- */

static void the_slowest_part_binds(void **state)
{
    (void)state;
    Profile p = {.name = "p",
                 .multiprocessors = 10,
                 .clock_mhz = 1000,
                 .dram_gbps = 100,
                 .l2_gbps = 400,
                 .f32_gflops = 1000,
                 .f64_gflops = 500};
    Roof roofs[ROOFS];
    Work work = {.f32_flops = 1e9,
                 .f64_flops = 1e9,
                 .least_bytes = 1e8,
                 .beyond_l1_bytes = 8e8,
                 .passes = 1e7};
    assert_int_equal(roofline_of(&p, &work, roofs), ROOF_ARITHMETIC);
    assert_true(roofs[ROOF_ARITHMETIC].ms > 2.999 && roofs[ROOF_ARITHMETIC].ms < 3.001);
    assert_true(roofs[ROOF_DRAM].ms > 0.999 && roofs[ROOF_DRAM].ms < 1.001);
    assert_true(roofs[ROOF_L2].ms > 1.999 && roofs[ROOF_L2].ms < 2.001);
    assert_true(roofs[ROOF_L1].ms > 0.999 && roofs[ROOF_L1].ms < 1.001);
    work.tensor_flops[TENSOR_16] = work.tensor_flops[TENSOR_64] = 8e9;
    assert_int_equal(roofline_of(&p, &work, roofs), ROOF_ARITHMETIC);
    assert_true(roofs[ROOF_TENSOR].rate == 0 && roofs[ROOF_TENSOR].amount == 16e9);
    p.tensor_16_gflops = 4000;
    p.tensor_64_gflops = 2000;
    assert_int_equal(roofline_of(&p, &work, roofs), ROOF_TENSOR);
    assert_true(roofs[ROOF_TENSOR].ms > 5.999 && roofs[ROOF_TENSOR].ms < 6.001);
    work.tensor_flops[TENSOR_16] = work.tensor_flops[TENSOR_64] = 0;
    work.f64_flops = 0;
    assert_int_equal(roofline_of(&p, &work, roofs), ROOF_L2);
    p.l2_gbps = 0;
    work.least_bytes = 2e8;
    assert_int_equal(roofline_of(&p, &work, roofs), ROOF_DRAM);
    assert_true(roofs[ROOF_L2].ms == 0);
    p = (Profile){.name = "nothing"};
    assert_int_equal(roofline_of(&p, &work, roofs), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_profiles_are_complete),
        cmocka_unit_test(what_is_not_said_is_not_known),
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test(a_gpu_describes_itself),
        cmocka_unit_test(limits),
        cmocka_unit_test(three_blocks_of_an_old_gpu),
        cmocka_unit_test(nothing_known_is_no_limit),
        cmocka_unit_test(the_slowest_part_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
