/* test_reference_lanes.c - Loops of references that run in lanes: which they are, and that every
 * buffer holds the same bits as where their iterations run one after the other. */
#include "tests/unit/vm_run.h"

typedef struct {
    const char *text, *parallel; /* the loops in lanes, in the order of the text */
} Case;

static const Case cases[] = {
    /* the inner one of two, or the one with enough iterations */
    {"kernel matmul<M = 9, N = 150, K = 5>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {"
     " for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }",
     "j "},
    {"kernel thin<M = 150, N = 20, K = 5>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {"
     " for i in M, j in N { C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; } }",
     "i "},
    {"kernel few<N = 7>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i] * x[i]; }", ""},
    {"kernel many<N>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i] * x[i]; }", "i "},
    /* single elements that each iteration sets are each lane's own */
    {"kernel rows<M = 70, N = 33>(x: f32[M, N]) -> y: f32[M, N] { for i in M { temp m: f32; temp s:"
     " f32; m = -inf; for j in N m max= x[i, j]; s = 0; for j in N s += exp(x[i, j] - m);"
     " for j in N y[i, j] = exp(x[i, j] - m) / s; } }",
     "i "},
    {"kernel pairs<M = 11, N = 70>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N { temp t: "
     "f32;"
     " temp u: f32; t = x[i, j]; u = t; t += u; y[i, j] = t * u; } }",
     "j "},
    /* others are those of all iterations */
    {"kernel running<N = 100>(x: f32[N]) -> y: f32[N] { temp s: f32; s = 0; for i in N { s += x[i];"
     " y[i] = s; } }",
     ""},
    {"kernel later<N = 100>(x: f32[N]) -> y: f32[N] { temp s: f32; for i in N { s = x[i]; y[i] = s"
     " + 1.0; } for i in N y[i] += s; }",
     "i "},
    {"kernel unset<N = 100>(x: f32[N]) -> y: f32[N] { for i in N { temp s: f32; if (i % 3 == 0) s ="
     " x[i]; y[i] = s; } }",
     ""},
    {"kernel added<N = 100>(x: f32[N]) -> y: f32[N] { for i in N { temp s: i32; s += i32(x[i]);"
     " y[i] = f32(s); } }",
     ""},
    /* elements that other iterations have */
    {"kernel scan<N = 100>(x: f32[N]) -> y: f32[N] { for i in N { if (i == 0) y[i] = x[i]; else"
     " y[i] = y[i - 1] + x[i]; } }",
     ""},
    {"kernel turned<N = 100>(inout x: f32[N, N]) { for i in N, j in N x[i, j] += x[j, i]; }",
     "x1 "},
    {"kernel columns<M = 30, N = 90>(x: f32[M, N]) -> y: f32[M, N] { for i in M, j in N { if (i =="
     " 0) y[i, j] = x[i, j]; else y[i, j] = y[i - 1, j] + x[i, j]; } }",
     "j "},
    {"kernel histogram<N = 500>(color: u8[N]) -> hist: i32[256] { for b in 256 hist[b] = 0; for i"
     " in N hist[color[i]] += 1; }",
     "b "},
    {"kernel halves<N = 100>(x: f32[N]) -> y: f32[2 * N] { for i in N { y[i] = x[i]; y[i + N] ="
     " -x[i]; } }",
     ""},
    /* a triangle, and rows whose lengths are data */
    {"kernel triangle<N = 100>(A: f32[N, N]) -> L: f32[N] { for i in N { L[i] = 0; for j in i +"
     " 1..N L[i] += A[j, i]; } }",
     "i "},
    {"kernel ragged<N = 70, M = 300>(p: i32[N + 1], x: f32[M]) -> y: f32[N] where p in 0..M + 1, p"
     " is nondecreasing { for i in N { y[i] = 0; for k in p[i]..p[i + 1] y[i] += x[k]; } }",
     ""},
    {"kernel counted<N = 70, M = 300>(p: i32[N + 1], x: f32[M]) -> y: f32[N] { for i in N { y[i] = "
     "0;"
     " for k in p[i] y[i] += x[k]; } }",
     ""},
    {"kernel rest<N = 70, M = 300>(p: i32[N + 1], x: f32[M]) -> y: f32[N] { for i in N { y[i] = 0;"
     " for k in p[i]..M y[i] += x[k]; } }",
     ""},
    {"kernel even<N = 100>(x: f32[N]) -> y: f32[N] { for i in 0..N step 2 y[i] = x[i] +"
     " 1.0; }",
     ""},
    {"kernel swish<N = 300>(x: f16[N], b: i32[N]) -> y: f16[N], t: i32[N] { for i in N { let e = "
     "x[i]"
     " > f16(0.5) ? f32(x[i]) : exp(-f32(x[i])); y[i] = f16(e / (1.0 + e)); t[i] = b[i] / 3 % 7; }"
     " }",
     "i "},
};

static const char *parallel_loops(Context *c, const Kernel *k)
{
    StrBuf names = strbuf_new(c->arena);
    for (Cursor at = cursor_stmts(c, k->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.kind == LOOP_PARALLEL)
            strbuf_addf(&names, "%s ", at.stmt->u.loop.var->name);
    return names.text ? names.text : "";
}

static int64_t *sizes_of(Context *c, const Kernel *k)
{
    int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, k->n_sizes + 1);
    for (int i = 0; i < k->n_sizes; i++)
        sizes[i] = k->sizes[i].symbolic ? 131 : k->sizes[i].value;
    return sizes;
}

static void test_loops_in_lanes(void **state)
{
    Context *c = *state;
    GUARD(c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Kernel *k = sequential_kernel(c, reference_kernel(c, parsed(c, cases[i].text)));
        Kernel *lanes = reference_in_lanes(c, k, sizes_of(c, k), INT64_MAX);
        assert_null(ir_verify(c, lanes));
        if (strcmp(parallel_loops(c, lanes), cases[i].parallel) != 0)
            fail_msg("%s: %s", k->name, parallel_loops(c, lanes));
        assert_int_equal(module_build_in_lanes(c, lanes)->host->lanes,
                         *cases[i].parallel ? VM_HOST_LANES : 0);
    }
}

/* Of a sample, the loop with the most indices that are wanted. */
static void test_loops_of_samples(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k = sequential_kernel(c, reference_kernel_sampled(c, parsed(c, cases[0].text)));
    assert_string_equal(parallel_loops(c, reference_in_lanes(c, k, sizes_of(c, k), 4)), "");
    assert_string_equal(parallel_loops(c, reference_in_lanes(c, k, sizes_of(c, k), 8)), "j ");
}

/* Runs a reference on the same data as each time, of which it needs every third index. Its facts
 * are gone, so ascending subscripts are made here. */
static Run ran(Context *c, const Module *m, int64_t *sizes)
{
    Run r = {.d = simulator(c), .m = (Module *)m};
    VmFault fault;
    r.w = workload_new(r.d, m, sizes, 1);
    if (!r.w)
        fail_msg("%s", messages(c));
    for (int i = 0; i < m->n_buffers; i++) {
        uint8_t *need = data_of(&r, m->buffers[i].name);
        for (int64_t k = 0; m->buffers[i].part == PART_NEED && k < workload_dims(r.w, i)[0]; k++)
            need[k] = k % 3 == 1;
        int32_t *p = !strcmp(m->buffers[i].name, "p") ? data_of(&r, "p") : NULL;
        for (int k = 0; p && k < workload_dims(r.w, i)[0]; k++)
            p[k] = k + k / 2;
    }
    if (!vm_run_host(m, workload_arguments(r.w), NULL, NULL, &fault))
        fail_msg("%s", fault.message);
    return r;
}

static void same_bits(Context *c, Kernel *reference)
{
    Kernel *k = sequential_kernel(c, reference);
    int64_t *sizes = sizes_of(c, k);
    Kernel *lanes = reference_in_lanes(c, k, sizes, INT64_MAX);
    Run one = ran(c, module_build(c, k, NULL), sizes);
    Run many = ran(c, module_build_in_lanes(c, lanes), sizes);
    for (int i = 0; i < one.m->n_buffers; i++) {
        const ModuleBuffer *b = &one.m->buffers[i];
        int64_t n = type_bytes(b->type);
        for (int axis = 0; axis < b->rank; axis++)
            n *= workload_dims(one.w, i)[axis];
        if (b->rank > 0 && memcmp(data_of(&one, b->name), data_of(&many, b->name), (size_t)n) != 0)
            fail_msg("%s of %s differs", b->name, k->name);
    }
    run_close(&one);
    run_close(&many);
}

static void test_lanes_compute_the_same(void **state)
{
    Context *c = *state;
    GUARD(c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        same_bits(c, reference_kernel(c, parsed(c, cases[i].text)));
        same_bits(c, reference_kernel_sampled(c, parsed(c, cases[i].text)));
        same_bits(c, reference_kernel_exact(c, parsed(c, cases[i].text)));
    }
}

static void test_faults_are_found(void **state)
{
    Context *c = *state;
    GUARD(c);
    Kernel *k =
        parsed(c, "kernel gather<N = 100>(x: f32[2 * N], p: i32[N]) -> y: f32[N] where p in "
                  "0..2 * N { for i in N y[i] = x[p[i]]; }");
    k = sequential_kernel(c, reference_kernel(c, k));
    int64_t sizes[] = {100};
    const Module *m = module_build_in_lanes(c, reference_in_lanes(c, k, sizes, INT64_MAX));
    Run r = ran(c, m, sizes);
    ((int32_t *)data_of(&r, "p"))[71] = 200;
    VmFault fault;
    assert_false(vm_run_host(m, workload_arguments(r.w), NULL, NULL, &fault));
    assert_string_equal(fault.message, "reads element 200 of 'x', which has 200");
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_loops_in_lanes, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_loops_of_samples, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_lanes_compute_the_same, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_faults_are_found, new_context, free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
