/* test_vm_single.c - blocks of one thread, whose steps are those of single values: they compute,
 * check and report what the steps of many lanes do. */
#include "tests/unit/vm_run.h"

static const char *kernel_text(Context *c, int threads, const char *body)
{
    return arena_printf(
        c->arena,
        "kernel t(p: i64[8], m: i32[16, 16], a: i32[256], b: i32[256], u: u64[256], f: f32[256],\n"
        "         d: f64[256]) -> y: i32[256], w: u64[256], g: f32[256],\n"
        "         e: f64[256], t: bool[256] {\n"
        "  launch t grid(%d, 1, 1) block(%d, 1, 1) {\n"
        "    let i = blockIdx.x * %d + threadIdx.x;\n    %s\n  }\n}\n",
        256 / threads, threads, threads, body);
}

typedef struct {
    const Run *run;
    const VmRunOptions *options;
} Launching;

static bool launch(void *user, const VmLaunch *l)
{
    const Launching *la = user;
    VmFault fault;
    return vm_run_kernel(la->run->m, workload_arguments(la->run->w), l, la->options, &fault);
}

/* Runs it without the checks of the simulator (VmShadow), as references are run. */
static void run_plainly(const Run *r, const VmObserver *observer)
{
    VmRunOptions options = {.threads = 1, .observer = observer};
    VmFault fault;
    if (!vm_run_host(r->m, workload_arguments(r->w), launch, &(Launching){r, &options}, &fault))
        fail_msg("%s", fault.message);
}

static void test_values_are_those_of_many_threads(void **state)
{
    Context *c = *state;
    GUARD(c);
    static const char body[] =
        "y[i] = (a[i] * b[i] - a[i] / 7 + b[i] % (a[i] | 1)) ^ (a[i] << 3) & ~(b[i] >> 2);\n"
        "y[i] += min(a[i], b[i]) - max(a[i], -b[i]) + i32(f[i] * 1000.0);\n"
        "w[i] = u[i] / (u[i] >> 60 | 1) + u[i] % 1000 + min(u[i], 5);\n"
        "g[i] = f[i] / (f[i] - 2.0) + max(f[i], 0.1) * sqrt(abs(f[i])) + f32(a[i]);\n"
        "e[i] = -d[i] * d[i] + (d[i] < 0.3 ? exp(d[i]) : f64(f[i])) - min(d[i], 0.0);\n"
        "t[i] = (a[i] < b[i]) == (d[i] != 0.0) || !(f[i] <= 0.5);";
    Run many = run_open(c, parsed(c, kernel_text(c, 256, body)));
    Run one = run_open(c, parsed(c, kernel_text(c, 1, body)));
    run_plainly(&many, NULL);
    run_plainly(&one, NULL);
    static const struct {
        const char *name;
        size_t bytes;
    } outputs[] = {{"y", 4}, {"w", 8}, {"g", 4}, {"e", 8}, {"t", 1}};
    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
        assert_memory_equal(data_of(&one, outputs[k].name), data_of(&many, outputs[k].name),
                            256 * outputs[k].bytes);
    run_close(&one);
    run_close(&many);
}

static const char *fault_of(Context *c, const char *body)
{
    Run r = run_open(c, parsed(c, kernel_text(c, 1, body)));
    int64_t *p = data_of(&r, "p");
    const int64_t given[8] = {256, -1, 0, INT64_C(1) << 31, 255};
    memcpy(p, given, sizeof given);
    bool ok = run_once(&r);
    const char *message = ok ? "none" : arena_printf(c->arena, "%s", r.d->fault.message);
    run_close(&r);
    return message;
}

static void test_faults_are_found(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_string_equal(fault_of(c, "y[p[4]] = a[p[4]]; y[i] = 0;"),
                        "writes element 255 of 'y', which thread (0, 0, 0) of another block "
                        "writes, too; blocks of a launch have no order");
    assert_string_equal(fault_of(c, "y[i] = a[p[0]];"), "reads element 256 of 'a', which has 256");
    assert_string_equal(fault_of(c, "y[i] = a[p[1]];"), "reads element -1 of 'a', which has 256");
    assert_string_equal(fault_of(c, "y[p[0]] = 1;"), "writes element 256 of 'y', which has 256");
    assert_string_equal(fault_of(c, "y[p[1]] = 1;"), "writes element -1 of 'y', which has 256");
    assert_string_equal(fault_of(c, "y[i] = a[i] / i32(p[2]);"), "integer division by zero");
    assert_string_equal(fault_of(c, "y[i] = a[i] % i32(p[2]);"), "integer division by zero");
    assert_string_equal(fault_of(c, "y[i] = m[0, p[0]];"),
                        "subscript 2 of 'm' is 256, but the extent of this axis is 16");
    assert_string_equal(fault_of(c, "y[i] = m[p[1], 1];"),
                        "subscript 1 of 'm' is -1, but the extent of this axis is 16");
    assert_string_equal(fault_of(c, "y[i] = a[(i + 8000000) * 8000000 % 3];"),
                        "an index is 64000000000000, which an int cannot hold");
    assert_string_equal(fault_of(c, "temp s: i32[4] in local; y[i] = s[3];"),
                        "reads element 3 of 's' in local memory, which was never written");
}

/* A store behind a `break` is left out for the only lane, too. */
static void test_the_only_lane_leaves_a_loop(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, kernel_text(c, 1,
                                              "y[i] = 0;\n"
                                              "while true {\n"
                                              "  if y[i] > 4 { if i < 256 break; y[i] = 1000; }\n"
                                              "  y[i] += 2;\n"
                                              "}")));
    run_plainly(&r, NULL);
    const int32_t *y = data_of(&r, "y");
    for (int i = 0; i < 256; i++)
        assert_int_equal(y[i], 6);
    run_close(&r);
}

static void count_request(void *user, const VmRequest *r)
{
    assert_int_equal(r->active, 1);
    ++*(int *)user;
}

static void test_accesses_are_observed(void **state)
{
    Context *c = *state;
    GUARD(c);
    int requests = 0;
    Run r = run_open(c, parsed(c, kernel_text(c, 1, "y[i] = a[i] + b[i];")));
    run_plainly(&r, &(VmObserver){.user = &requests, .request = count_request});
    assert_int_equal(requests, 3 * 256);
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values_are_those_of_many_threads, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_faults_are_found, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_the_only_lane_leaves_a_loop, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_accesses_are_observed, new_context, free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
