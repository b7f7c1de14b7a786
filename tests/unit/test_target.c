/* test_target.c - names of architectures, and which GPUs have the instructions of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/target/target.h"

static Target target(const char *name)
{
    Target t;
    if (!target_parse(name, &t))
        fail_msg("'%s' is no architecture", name);
    return t;
}

static void names_are_read(void **state)
{
    (void)state;
    Context *c = ctx_new(0);
    static const char *const wrong[] = {"",      "sm_",     "sm_9",  "90a",   "sm_90b", "sm_90aa",
                                        "SM_90", "sm_9000", "sm_ 9", "sm_-9", "volta"};
    Target t = {7, 'x'};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(target_parse(wrong[i], &t));
    assert_true(t.number == 7 && t.feature == 'x');
    assert_string_equal(target_name(c, target("sm_75")), "sm_75");
    assert_string_equal(target_name(c, target("compute_90a")), "sm_90a");
    assert_string_equal(target_name(c, target("sm_120f")), "sm_120f");
    assert_string_equal(target_suffix("compute_100"), "100");
    assert_string_equal(target_name(c, c->target), "sm_90a");
    ctx_free(c);
}

static void features_are_of_one_architecture(void **state)
{
    (void)state;
    assert_true(target_has(target("sm_75"), (Target){0}));
    assert_true(target_has(target("sm_80"), target("sm_80")));
    assert_true(target_has(target("sm_120f"), target("sm_90")));
    assert_false(target_has(target("sm_75"), target("sm_80")));
    assert_true(target_has(target("sm_90a"), target("sm_90a")));
    assert_false(target_has(target("sm_90"), target("sm_90a")));
    assert_false(target_has(target("sm_100a"), target("sm_90a")));
}

static void shared_memory_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int kilobytes;
    } rows[] = {{"sm_61", 48}, {"sm_75", 64},   {"sm_80", 163},   {"sm_86", 99}, {"sm_87", 163},
                {"sm_89", 99}, {"sm_90a", 227}, {"sm_103a", 227}, {"sm_121", 99}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(target_max_shared(target(rows[i].name)), rows[i].kilobytes * 1024);
}

static void expect_first(const char *line, const char *more, const char *first)
{
    Context *c = ctx_new(0);
    const char *lines[] = {"int mma_i = 0;", line, more};
    Target found = target_of_template(lines, 3);
    assert_string_equal(target_name(c, found), first);
    ctx_free(c);
}

static void opcodes_have_a_first_architecture(void **state)
{
    (void)state;
    static const char half[] = "asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \"";
    expect_first("{c} = __dp4a({a: int}, {b: int}, {c});", "", "sm_0");
    expect_first("asm(\"fma.rn.f16x2 %0, %1, %2, %0;\"", "", "sm_0");
    expect_first("asm(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \"", "", "sm_0");
    expect_first(half, "", "sm_80");
    expect_first("asm(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 \"", "", "sm_80");
    expect_first("asm(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 \"", "", "sm_89");
    expect_first("asm(\"wgmma.fence.sync.aligned;\"", half, "sm_90a");
    expect_first(half, "asm(\"stmatrix.sync.aligned.m8n8.x4.shared.b16 \"", "sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(features_are_of_one_architecture),
        cmocka_unit_test(shared_memory_is_limited),
        cmocka_unit_test(opcodes_have_a_first_architecture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
