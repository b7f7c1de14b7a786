/* test_vm.c - the machine: arithmetic of every type against C, lazy operands, masks, barriers,
 * atomics, faults. */
#include "codegen/cuda/cuda.h"
#include "tests/unit/vm_run.h"

#include <math.h>
#include <stdio.h>

/* Runs `y[i] = expr` over a[i], b[i] of a type; the caller compares. */
static Run elementwise(Context *c, const char *in, const char *out, const char *expr)
{
    char text[512];
    snprintf(text, sizeof text,
             "kernel t<N = 500>(a: %s[N], b: %s[N]) -> y: %s[N] { for i in N y[i] = %s; }", in, in,
             out, expr);
    Run r = run_open(c, parsed(c, text));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    return r;
}

#define CHECK_ELEMENTWISE(c, tir_in, tir_out, In, Out, tir_expr, c_expr)                           \
    do {                                                                                           \
        Run r = elementwise(c, tir_in, tir_out, tir_expr);                                         \
        const In *pa = data_of(&r, "a"), *pb = data_of(&r, "b");                                   \
        const Out *py = data_of(&r, "y");                                                          \
        for (int i = 0; i < 500; i++) {                                                            \
            const In a = pa[i], b = pb[i];                                                         \
            (void)b;                                                                               \
            if (py[i] != (Out)(c_expr))                                                            \
                fail_msg("%s: element %d is %g, not %g", tir_expr, i, (double)py[i],               \
                         (double)(Out)(c_expr));                                                   \
        }                                                                                          \
        run_close(&r);                                                                             \
    } while (0)

static void test_arithmetic_is_cs(void **state)
{
    Context *c = *state;
    GUARD(c);
    CHECK_ELEMENTWISE(c, "i32", "i32", int32_t, int32_t, "a[i] * b[i] - a[i]", a * b - a);
    CHECK_ELEMENTWISE(c, "i32", "i32", int32_t, int32_t, "a[i] % 7 + b[i] / 3", a % 7 + b / 3);
    CHECK_ELEMENTWISE(c, "i32", "i32", int32_t, int32_t, "(a[i] & 15) << 3 | b[i] >> 2",
                      ((a & 15) << 3) | (b >> 2));
    CHECK_ELEMENTWISE(c, "i64", "i64", int64_t, int64_t, "min(a[i], b[i]) * max(a[i], b[i])",
                      (a < b ? a : b) * (a > b ? a : b));
    CHECK_ELEMENTWISE(c, "u32", "u32", uint32_t, uint32_t, "a[i] - b[i]", a - b);
    CHECK_ELEMENTWISE(c, "u8", "u8", uint8_t, uint8_t, "u8(i32(a[i]) + i32(b[i]))", a + b);
    CHECK_ELEMENTWISE(c, "i16", "i16", int16_t, int16_t, "i16(a[i] * b[i] * 37)", a * b * 37);
    CHECK_ELEMENTWISE(c, "f32", "f32", float, float, "a[i] / b[i] + a[i]", a / b + a);
    CHECK_ELEMENTWISE(c, "f64", "f64", double, double, "sqrt(abs(a[i])) * b[i]", sqrt(fabs(a)) * b);
    CHECK_ELEMENTWISE(c, "f32", "i32", float, int32_t, "i32(a[i] * 1000.0)", a * 1000.0f);
    CHECK_ELEMENTWISE(c, "f32", "bool", float, uint8_t, "a[i] < b[i] || a[i] > 0.5",
                      a<b || a> 0.5f);
}

static void test_casts_saturate(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r =
        run_open(c, parsed(c, "kernel t(x: f32[4]) -> y: i32[4] { for i in 4 y[i] = i32(x[i]); }"));
    const float x[4] = {1e20f, -1e20f, NAN, -2.9f};
    memcpy(data_of(&r, "x"), x, sizeof x);
    assert_true(run_once(&r));
    const int32_t *y = data_of(&r, "y");
    assert_int_equal(y[0], INT32_MAX);
    assert_int_equal(y[1], INT32_MIN);
    assert_int_equal(y[2], 0);
    assert_int_equal(y[3], -2);
    run_close(&r);
}

static void test_narrow_operations_round_each_time(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = elementwise(c, "f16", "f16", "a[i] * b[i] + a[i]");
    const uint16_t *a = data_of(&r, "a"), *b = data_of(&r, "b"), *y = data_of(&r, "y");
    for (int i = 0; i < 500; i++) {
        float product = f32_from_f16(f16_from_f32(f32_from_f16(a[i]) * f32_from_f16(b[i])));
        assert_int_equal(y[i], f16_from_f32(product + f32_from_f16(a[i])));
    }
    run_close(&r);
}

static void test_lazy_operands_do_not_run(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, "kernel d<N = 100>(x: i32[N]) -> y: i32[N] { for i in N y[i] = i "
                                  "> 0 && x[i - 1] > 0 ? x[i - 1] : 100 / (i32(i) + 1); }"));
    assert_true(run_once(&r));
    const int32_t *x = data_of(&r, "x"), *y = data_of(&r, "y");
    for (int i = 0; i < 100; i++)
        assert_int_equal(y[i], i > 0 && x[i - 1] > 0 ? x[i - 1] : 100 / (i + 1));
    run_close(&r);
}

/* ---- launches -------------------------------------------------------------------------------- */

static const char divergent_loop[] =
    "kernel t(n: i32[64]) -> y: i32[64] {\n"
    "  launch t grid(2, 1, 1) block(32, 1, 1) {\n"
    "    let i = blockIdx.x * 32 + threadIdx.x;\n"
    "    y[i] = 0;\n"
    "    for k in 0..i if (k % 2 == 0) y[i] += i32(k); else y[i] -= 1;\n"
    "  }\n}\n";

static void test_lanes_diverge(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, divergent_loop));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    const int32_t *y = data_of(&r, "y");
    for (int i = 0; i < 64; i++) {
        int32_t expected = 0;
        for (int k = 0; k < i; k++)
            expected += k % 2 == 0 ? k : -1;
        assert_int_equal(y[i], expected);
    }
    run_close(&r);
}

static const char powers_of_two[] =
    "kernel t(x: i64[64]) -> q: i64[64], r: i64[64], one: i64[64] {\n"
    "  launch t grid(1, 1, 1) block(64, 1, 1) {\n"
    "    let i = threadIdx.x;\n"
    "    q[i] = x[i] / 8;\n"
    "    r[i] = x[i] % 8;\n"
    "    one[i] = x[i] / 1 + x[i] % 1;\n"
    "  }\n}\n";

static void test_lanes_divide_by_powers_of_two(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run run = run_open(c, parsed(c, powers_of_two));
    int64_t *x = data_of(&run, "x");
    for (int i = 0; i < 62; i++)
        x[i] = i - 31;
    x[62] = INT64_MIN;
    x[63] = INT64_MAX;
    assert_true(run_once(&run));
    const int64_t *q = data_of(&run, "q"), *r = data_of(&run, "r"), *one = data_of(&run, "one");
    for (int i = 0; i < 64; i++) {
        assert_int_equal(q[i], x[i] / 8);
        assert_int_equal(r[i], x[i] % 8);
        assert_int_equal(one[i], x[i]);
    }
    run_close(&run);
}

static const char breaking_loops[] =
    "kernel t(n: i32[64]) -> y: i32[64], z: i32[2] {\n"
    "  launch t grid(2, 1, 1) block(32, 1, 1) {\n"
    "    let i = blockIdx.x * 32 + threadIdx.x;\n"
    "    y[i] = 0;\n"
    "    for k in 0..50 {\n"
    "      if k > i { if k % 2 == 0 break; y[i] += 100; } else y[i] += 1;\n"
    "      if y[i] > 90 break;\n"
    "      y[i] += i32(k);\n"
    "    }\n"
    "    if threadIdx.x == 0 {\n"
    "      z[blockIdx.x] = 0;\n"
    "      while true {\n"
    "        if z[blockIdx.x] > 4 { if blockIdx.x < 5 break; z[blockIdx.x] = 1000; }\n"
    "        z[blockIdx.x] += 2;\n"
    "      }\n"
    "    }\n"
    "  }\n}\n";

static int32_t breaking_loop(int i)
{
    int32_t y = 0;
    for (int k = 0; k < 50; k++) {
        if (k > i && k % 2 == 0)
            break;
        y += k > i ? 100 : 1;
        if (y > 90)
            break;
        y += k;
    }
    return y;
}

/* Also a store of one value for all lanes is left out where every lane has left the loop. */
static void test_lanes_leave_loops(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, breaking_loops));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    const int32_t *y = data_of(&r, "y"), *z = data_of(&r, "z");
    for (int i = 0; i < 64; i++)
        assert_int_equal(y[i], breaking_loop(i));
    assert_int_equal(z[0], 6);
    assert_int_equal(z[1], 6);
    run_close(&r);
}

static const char reverse_tile[] = "kernel t(x: f32[1024]) -> y: f32[1024] {\n"
                                   "  launch t grid(16, 1, 1) block(64, 1, 1) {\n"
                                   "    temp s: f32[64] in shared;\n"
                                   "    s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];\n"
                                   "    barrier \"s: written above, read below\";\n"
                                   "    y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];\n"
                                   "  }\n}\n";

static void test_shared_memory(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, reverse_tile));
    assert_true(run_once(&r));
    const float *x = data_of(&r, "x"), *y = data_of(&r, "y");
    for (int i = 0; i < 1024; i++)
        assert_true(y[i] == x[i / 64 * 64 + 63 - i % 64]);
    run_close(&r);
}

static void test_atomics_do_not_lose_updates(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(
        c, parsed(c, "kernel t(color: u8[65536]) -> hist: i32[256] {\n"
                     "  launch clear grid(1, 1, 1) block(256, 1, 1) { hist[threadIdx.x] = 0; }\n"
                     "  launch count grid(64, 1, 1) block(1024, 1, 1) {\n"
                     "    hist[color[blockIdx.x * 1024 + threadIdx.x]] atomic += 1;\n"
                     "  }\n"
                     "}\n"));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    const uint8_t *color = data_of(&r, "color");
    const int32_t *hist = data_of(&r, "hist");
    int32_t expected[256] = {0};
    for (int i = 0; i < 65536; i++)
        expected[color[i]]++;
    assert_memory_equal(hist, expected, sizeof expected);
    run_close(&r);
}

/* ---- asynchronous stores --------------------------------------------------------------------- */

/* What a kernel does wrong that copies in two groups, waits as `wait` says, and uses the first;
 * without fault its result is right. */
static FaultKind copied(Context *c, const char *wait)
{
    char text[900];
    snprintf(text, sizeof text,
             "kernel t(x: f32[64]) -> y: f32[32] {\n"
             "  launch t grid(1, 1, 1) block(32, 1, 1) {\n"
             "    temp s: f32[2, 32] in shared;\n"
             "    s[0, threadIdx.x] async= x[threadIdx.x];\n    commit \"one\";\n"
             "    s[1, threadIdx.x] async= x[threadIdx.x + 32];\n    commit \"two\";\n"
             "    %s\n    barrier \"all\";\n"
             "    y[threadIdx.x] = s[0, 31 - threadIdx.x];\n  }\n}\n",
             wait);
    Run r = run_open(c, parsed(c, text));
    bool ok = run_once(&r);
    FaultKind kind = r.d->fault.kind;
    if (ok)
        assert_true(((const float *)data_of(&r, "y"))[0] == ((const float *)data_of(&r, "x"))[31]);
    run_close(&r);
    return kind;
}

static void test_asynchronous_stores_are_seen_after_a_wait(void **state)
{
    Context *c = *state;
    GUARD(c);
    assert_int_equal(copied(c, "wait 0 \"both\";"), FAULT_NONE);
    assert_int_equal(copied(c, "wait 1 \"the first\";"), FAULT_NONE);
    assert_int_equal(copied(c, "wait 2 \"none\";"), FAULT_IN_FLIGHT);
    assert_int_equal(copied(c, "if threadIdx.x < 16 wait 1 \"the first, of half of them\";"),
                     FAULT_IN_FLIGHT);
    assert_int_equal(copied(c, ""), FAULT_IN_FLIGHT);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static VmFault faulty(Context *c, const char *body)
{
    char text[600];
    snprintf(text, sizeof text,
             "kernel t(x: i32[100]) -> y: i32[100] {\n"
             "  launch t grid(4, 1, 1) block(32, 1, 1) {\n%s\n  }\n}\n",
             body);
    Run r = run_open(c, parsed(c, text));
    assert_false(run_once(&r));
    VmFault fault = r.d->fault;
    run_close(&r);
    return fault;
}

static void test_faults_are_found(void **state)
{
    Context *c = *state;
    GUARD(c);
    VmFault f = faulty(c, "y[blockIdx.x * 32 + threadIdx.x] = 1;");
    assert_int_equal(f.kind, FAULT_OUT_OF_BOUNDS);
    assert_int_equal(f.block[0], 3);
    assert_int_equal(f.thread[0], 4);
    assert_string_equal(f.message, "writes element 100 of 'y', which has 100");
    f = faulty(c, "y[threadIdx.x] = 0; if (threadIdx.x < 7) barrier \"none\";");
    assert_int_equal(f.kind, FAULT_DIVERGENT_BARRIER);
    assert_int_equal(f.thread[0], 7);
    f = faulty(c, "y[threadIdx.x] = 5 / (i32(threadIdx.x) - 20);");
    assert_int_equal(f.kind, FAULT_DIVIDE_BY_ZERO);
    assert_int_equal(f.thread[0], 20);
    f = faulty(c, "if (threadIdx.x != 20) y[threadIdx.x] = 5 / (i32(threadIdx.x) - 20);\n"
                  "    y[threadIdx.x] = x[i64(threadIdx.x) - 1];");
    assert_int_equal(f.kind, FAULT_OUT_OF_BOUNDS);
    assert_int_equal(f.thread[0], 0);
}

/* The text of the program that instruction `i` comes from. */
static const char *text_of(Context *c, const VmFunction *f, int i)
{
    const Source *source = source_get(c, f->spans[i].source);
    return arena_strndup(c->arena, source->text + f->spans[i].begin,
                         f->spans[i].end - f->spans[i].begin);
}

static void test_accesses_know_their_text_and_step(void **state)
{
    Context *c = *state;
    GUARD(c);
    c->step = 7; /* as if a schedule had made it */
    Kernel *kernel = parsed(
        c, "kernel t<N = 100>(p: i32[N], x: i32[N]) -> y: i32[N] { for i in N y[i] = x[p[i]]; }");
    c->step = 0;
    const VmFunction *f = module_build(c, kernel, NULL)->host;
    const char *loads[2] = {NULL, NULL}, *store = NULL;
    for (int i = 0, n = 0; i < f->n_code; i++) {
        if (f->code[i].op == VM_LOAD)
            loads[n++] = text_of(c, f, i);
        if (f->code[i].op == VM_STORE)
            store = text_of(c, f, i);
        assert_int_equal(f->steps[i], f->code[i].op == VM_STOP ? 0 : 7);
    }
    assert_string_equal(loads[0], "p[i]");
    assert_string_equal(loads[1], "x[p[i]]");
    assert_string_equal(store, "y[i] = x[p[i]];");
}

/* No text and no code of a kernel that uses a name where it is not defined: here a size of another
 * kernel. */
static void test_what_is_written_out_is_defined(void **state)
{
    Context *c = *state;
    const char *text = "kernel t<N>(x: f32[4]) -> y: f32[4] { launch f grid(N, 1, 1) block(1, 1, "
                       "1) { y[0] = x[0]; } }";
    for (int as_code = 0; as_code < 2; as_code++) {
        Kernel *kernel = parsed(c, text);
        kernel->n_sizes = 0;
        jmp_buf guard;
        c->guard = &guard;
        c->fatal = FATAL_NONE;
        StrBuf out = strbuf_new(c->arena);
        if (!setjmp(guard)) {
            if (as_code)
                module_build(c, kernel, NULL);
            else
                cuda_emit(c, kernel, &out, NULL);
        }
        assert_int_equal(c->fatal, FATAL_BUG);
        assert_string_equal(
            c->fatal_message,
            "kernel 't' cannot be written out: 'N' is used where it is not defined");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arithmetic_is_cs, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_casts_saturate, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_narrow_operations_round_each_time, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_lazy_operands_do_not_run, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_lanes_diverge, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_lanes_divide_by_powers_of_two, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_lanes_leave_loops, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_shared_memory, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_atomics_do_not_lose_updates, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_asynchronous_stores_are_seen_after_a_wait, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_faults_are_found, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_accesses_know_their_text_and_step, new_context,
                                        free_context),
        cmocka_unit_test_setup_teardown(test_what_is_written_out_is_defined, new_context,
                                        free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
