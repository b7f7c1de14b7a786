/* test_vm_observe.c - what an observer of the machine sees: requests of warps with their addresses,
 * wide ones whole. */
#include "tests/unit/vm_run.h"

typedef struct {
    int requests, loads, barriers;
    int64_t flops;
    VmRequest first[2]; /* of loads, of stores */
} Seen;

static void note_request(void *user, const VmRequest *r)
{
    Seen *seen = user;
    int store = r->op == VM_STORE;
    if (store ? seen->requests == seen->loads : seen->loads == 0)
        seen->first[store] = *r;
    seen->requests++;
    seen->loads += !store;
}

static void note_execution(void *user, const VmExecution *e)
{
    Seen *seen = user;
    const VmInst *inst = &e->function->code[e->inst];
    seen->barriers += inst->op == VM_BARRIER;
    seen->flops += (int64_t)vm_flops(inst) * e->lanes;
}

typedef struct {
    Run *run;
    const VmRunOptions *options;
} Launching;

static bool launch(void *user, const VmLaunch *l)
{
    const Launching *la = user;
    VmFault fault;
    return vm_run_kernel(la->run->m, workload_arguments(la->run->w), l, la->options, &fault);
}

static Seen observed(Context *c, const char *text, const int64_t *blocks, int n_blocks)
{
    Seen seen = {0};
    Run r = run_open(c, parsed(c, text));
    VmObserver observer = {&seen, note_request, note_execution};
    VmRunOptions options = {
        .threads = 1, .observer = &observer, .clusters = blocks, .n_clusters = n_blocks};
    Launching la = {&r, &options};
    VmFault fault;
    if (!vm_run_host(r.m, workload_arguments(r.w), launch, &la, &fault))
        fail_msg("%s", fault.message);
    run_close(&r);
    return seen;
}

#define KERNEL(body)                                                                               \
    "kernel t(x: f32[4096]) -> y: f32[4096] {\n"                                                   \
    "  launch t grid(4, 1, 1) block(48, 1, 1) {\n" body "\n  }\n}\n"

static void test_requests_are_those_of_warps(void **state)
{
    Context *c = *state;
    GUARD(c);
    Seen seen = observed(
        c, KERNEL("y[blockIdx.x * 48 + threadIdx.x] = x[blockIdx.x * 48 + threadIdx.x] * 2;"), NULL,
        0);
    assert_int_equal(seen.requests, 4 * 2 * 2);
    assert_int_equal(seen.loads, 4 * 2);
    assert_int_equal(seen.flops, 4 * 48);
    assert_int_equal(seen.first[0].bytes, 4);
    assert_int_equal(seen.first[0].active, UINT32_MAX);
    assert_int_equal(seen.first[0].address[31], 31 * 4);
    assert_string_equal(seen.first[0].buffer->name, "x");
    assert_string_equal(seen.first[1].buffer->name, "y");
    int64_t third = 2;
    seen = observed(c, KERNEL("if (threadIdx.x < 5) y[blockIdx.x * 48 + threadIdx.x] = 1;"), &third,
                    1);
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.first[1].active, 31);
    assert_int_equal(seen.first[1].block, 2);
    assert_int_equal(seen.first[1].address[4], (2 * 48 + 4) * 4);
}

static void test_wide_accesses_are_one_request(void **state)
{
    Context *c = *state;
    GUARD(c);
    Seen seen = observed(
        c,
        KERNEL("temp s: f32[192] in shared;\n"
               "for v in 4 vectorize s[threadIdx.x * 4 + v] = x[threadIdx.x * 4 + v];\n"
               "barrier \"s\";\n"
               "for v in 2 vectorize y[threadIdx.x * 2 + v] = s[190 - threadIdx.x * 2 + v] + 1;"),
        NULL, 0);
    assert_int_equal(seen.requests, 4 * 2 * 4);
    assert_int_equal(seen.barriers, 4);
    assert_int_equal(seen.flops, 4 * 48 * 2);
    assert_int_equal(seen.first[0].bytes, 16);
    assert_int_equal(seen.first[0].address[1], 16);
    assert_int_equal(seen.first[1].bytes, 16);
}

static void test_wide_accesses_move_every_element(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(
        c, parsed(c, KERNEL("for v in 4 vectorize\n"
                            "  y[blockIdx.x * 192 + threadIdx.x * 4 + v] = x[blockIdx.x * 192 + "
                            "threadIdx.x * 4 + v] - x[threadIdx.x];\n"
                            "for i in 18 if (768 + (i * 4 + blockIdx.x) * 48 + threadIdx.x < 4096) "
                            "y[768 + (i * 4 + blockIdx.x) * 48 + threadIdx.x] = 0;")));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    const float *x = data_of(&r, "x"), *y = data_of(&r, "y");
    for (int i = 0; i < 4 * 192; i++)
        assert_true(y[i] == x[i] - x[i % 192 / 4]);
    run_close(&r);
}

/* The part of x that starts 8 elements before its end, in shared memory, and from there to y. */
#define FILLED(value)                                                                              \
    KERNEL("temp s: f32[192] in shared;\n"                                                         \
           "for v in 4 vectorize s[threadIdx.x * 4 + v] async= " value ";\n"                       \
           "commit \"s\"; wait 0 \"s\"; barrier \"s\";\n"                                          \
           "if blockIdx.x == 0 && threadIdx.x == 0 for i in 4096 y[i] = s[i % 192];")

/* What a condition leaves out is not read: only two threads have anything to read. */
static void test_wide_accesses_under_a_condition(void **state)
{
    Context *c = *state;
    GUARD(c);
    static const char *const kernels[] = {
        FILLED("threadIdx.x < 2 ? x[4088 + threadIdx.x * 4 + v] : 0.0"),
        FILLED("threadIdx.x >= 2 ? 0.0 : x[4088 + threadIdx.x * 4 + v]"),
        FILLED("threadIdx.x > 7 ? 0.0 : threadIdx.x < 2 ? x[4088 + threadIdx.x * 4 + v] : 0.0"),
    };
    for (int k = 0; k < 3; k++) {
        Run r = run_open(c, parsed(c, kernels[k]));
        if (!run_once(&r))
            fail_msg("%s: %s", kernels[k], r.d->fault.message);
        const float *x = data_of(&r, "x"), *y = data_of(&r, "y");
        for (int i = 0; i < 192; i++)
            assert_true(y[i] == (i < 8 ? x[4088 + i] : 0));
        run_close(&r);
    }
}

static void test_misaligned_accesses_are_faults(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(
        c,
        parsed(
            c,
            KERNEL("for v in 4 vectorize y[threadIdx.x * 4 + v] = x[threadIdx.x * 4 + v + 2];")));
    assert_false(run_once(&r));
    assert_int_equal(r.d->fault.kind, FAULT_MISALIGNED);
    assert_string_equal(
        r.d->fault.message,
        "reads 4 elements of 'x' at once from element 2 on, which is not a multiple of 4");
    run_close(&r);
    r = run_open(c, parsed(c, KERNEL("for v in 4 vectorize y[threadIdx.x * 4 + v] = x[4092 - "
                                     "threadIdx.x * 4 + v + 4];")));
    assert_false(run_once(&r));
    assert_int_equal(r.d->fault.kind, FAULT_OUT_OF_BOUNDS);
    assert_string_equal(r.d->fault.message, "reads element 4099 of 'x', which has 4096");
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_are_those_of_warps, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_wide_accesses_are_one_request, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_wide_accesses_move_every_element, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_wide_accesses_under_a_condition, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_misaligned_accesses_are_faults, new_context,
                                        free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
