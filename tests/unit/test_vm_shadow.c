/* test_vm_shadow.c - races, undefined reads and outputs that are not written: what the simulator
 * finds, and what it leaves alone. Each kernel is as small as its fault. */
#include "tests/unit/vm_run.h"

typedef struct {
    const char *name, *body; /* of a launch of 4 blocks of 64 threads */
    FaultKind kind;
    const char *message; /* a part of it */
} Sample;

/* x: in, y: out of 256 elements each; z: inout, t: temp. Outputs that a sample is not about are
 * written in full. */
static const Sample samples[] = {
    {"reads what another thread writes", "s[tx] = x[at]; y[at] = s[63 - tx];", FAULT_RACE,
     "element 63 of 's' in shared memory, which thread (63, 0, 0) writes, too; no barrier "
     "separates the two"},
    {"a barrier orders them", "s[tx] = x[at]; barrier \"s\"; y[at] = s[63 - tx];", FAULT_NONE,
     NULL},
    {"overwrites what another thread reads",
     "s[tx] = x[at]; barrier \"s\"; y[at] = s[63 - tx]; s[tx] = 0.0;", FAULT_RACE,
     "writes element 0 of 's' in shared memory, which thread (63, 0, 0) reads, too"},
    {"in the next iteration",
     "temp a: f32[1] in local; a[0] = 0.0;\n"
     "for k in 2 { s[tx] = x[at]; barrier \"s\"; a[0] += s[63 - tx]; } y[at] = a[0];",
     FAULT_RACE, "writes element 0 of 's' in shared memory, which thread (63, 0, 0) reads, too"},
    {"lanes of one warp are not ordered either",
     "s[tx] = 0.0; if (tx < 32) s[tx] = s[tx ^ 1]; y[at] = 0.0;", FAULT_RACE,
     "reads element 1 of 's'"},
    {"adjacent lanes read what the first of them writes", "s[tx] = x[at]; y[at] = s[tx - tx % 4];",
     FAULT_RACE, "reads element 0 of 's' in shared memory, which thread (0, 0, 0) writes, too"},
    {"each second lane does", "s[tx] = x[at]; y[at] = s[tx - tx % 4 + tx % 2];", FAULT_RACE,
     "reads element 0 of 's' in shared memory, which thread (0, 0, 0) writes, too"},
    {"the second of them writes it", "if (tx % 4 == 1) s[tx - 1] = 0.0; y[at] = s[tx - tx % 4];",
     FAULT_RACE, "reads element 0 of 's' in shared memory, which thread (1, 0, 0) writes, too"},
    {"each fourth lane reads what the first of them writes", "s[tx] = x[at]; y[at] = s[tx % 4];",
     FAULT_RACE, "reads element 0 of 's' in shared memory, which thread (0, 0, 0) writes, too"},
    {"all but the readers of a group overwrite it",
     "s[tx] = x[at]; barrier \"s\"; y[at] = s[tx - tx % 4]; if (tx % 4 == 1) s[tx - 1] = 0.0;",
     FAULT_RACE, "writes element 0 of 's' in shared memory, which thread (0, 0, 0) reads, too"},
    {"copies by adjacent lanes of what nothing wrote",
     "temp a: f32[1] in local; if (tx % 4 > 0) s[tx] = x[at]; barrier \"s\"; a[0] = s[tx - tx % "
     "4]; y[at] = tx % 4 == 3 ? a[0] : 0.0;",
     FAULT_UNINITIALIZED, "reads element 0 of 'a' in local memory, which holds a copy"},
    {"all threads write one element", "s[0] = 1.0; y[at] = 0.0;", FAULT_RACE,
     "writes element 0 of 's' in shared memory, which thread (0, 0, 0) writes, too"},
    {"one thread's own accesses are ordered", "s[tx] = 1.0; s[tx] += 1.0; y[at] = s[tx];",
     FAULT_NONE, NULL},
    {"atomics do not race",
     "if (tx == 0) s[0] = 0.0; barrier \"s\"; s[0] atomic += 1.0; barrier \"s\"; y[at] = s[0];",
     FAULT_NONE, NULL},
    {"atomics race with reads",
     "if (tx == 0) s[0] = 0.0; barrier \"s\"; s[0] atomic += 1.0; y[at] = s[0];", FAULT_RACE,
     "reads element 0 of 's' in shared memory, which thread (1, 0, 0) updates, too"},
    {"atomics race with writes", "if (tx == 0) s[0] = 0.0; s[0] atomic += 1.0; y[at] = 0.0;",
     FAULT_RACE, "updates element 0 of 's' in shared memory, which thread (0, 0, 0) writes, too"},
    {"reads race with later atomics",
     "if (tx == 0) s[0] = 0.0; barrier \"s\"; y[at] = s[0]; s[0] atomic += 1.0;", FAULT_RACE,
     "updates element 0 of 's'"},
    {"two blocks write one element", "y[tx * 4] = 0.0;", FAULT_WRITTEN_TWICE,
     "writes element 0 of 'y', which thread (0, 0, 0) of another block writes, too; blocks of a "
     "launch have no order"},
    {"two threads compute one element", "y[at / 2] = 0.0;", FAULT_WRITTEN_TWICE,
     "writes element 0 of 'y', which thread (0, 0, 0) writes, too"},
    {"a block reads what another writes", "z[at] = 1.0; y[at] = z[(at + 64) % 256];", FAULT_RACE,
     "of another block"},
    {"a block reads what another has updated", "z[at] atomic += 1.0; y[at] = z[(at + 64) % 256];",
     FAULT_RACE, "of another block"},
    {"blocks update one element", "z[tx] atomic += 1.0; y[at] = 0.0;", FAULT_NONE, NULL},
    {"in place, each thread its own", "z[at] += 1.0; y[at] = z[at];", FAULT_NONE, NULL},
    {"in place, its neighbour's", "z[at] = z[(at + 1) % 256]; y[at] = 0.0;", FAULT_RACE,
     "element 1 of 'z'"},
    {"a barrier orders global memory in a block", "z[at] = 1.0; barrier \"z\"; y[at] = z[at ^ 1];",
     FAULT_NONE, NULL},
    {"shared memory that nothing wrote", "y[at] = s[tx];", FAULT_UNINITIALIZED,
     "reads element 0 of 's' in shared memory, which was never written"},
    {"a halo that nothing wrote",
     "s[tx] = x[at]; barrier \"s\"; y[at] = tx > 0 ? s[tx - 1] : s[64];", FAULT_UNINITIALIZED,
     "element 64 of 's'"},
    {"local memory that nothing wrote", "temp a: f32[2] in local; a[tx % 2] = 0.0; y[at] = a[0];",
     FAULT_UNINITIALIZED, "reads element 0 of 'a' in local memory"},
    {"local memory of an earlier iteration",
     "for k in 2 { temp a: f32[1] in local; if (k == 0) a[0] = 1.0; y[at] = a[0]; }",
     FAULT_UNINITIALIZED, "reads element 0 of 'a' in local memory"},
    {"a temp that nothing wrote", "y[at] = t[at];", FAULT_UNINITIALIZED,
     "reads element 0 of 't', which was never written"},
    {"a copy of what nothing wrote, which nobody uses",
     "temp a: f32[4] in local; temp b: f32[4] in local; a[1] = 1.0; for k in 4 b[k] = a[k]; y[at] "
     "= b[1];",
     FAULT_NONE, NULL},
    {"a copy of what nothing wrote, in an output",
     "temp a: f32[4] in local; temp b: f32[4] in local; a[1] = 1.0; for k in 4 b[k] = a[k]; y[at] "
     "= b[2];",
     FAULT_UNINITIALIZED,
     "reads element 2 of 'b' in local memory, which holds a copy of an element that was never "
     "written"},
    {"a copy in shared memory of what nothing wrote, which nobody uses",
     "if (tx > 0) s[tx] = x[at]; barrier \"s\"; t[at] = s[tx]; y[at] = tx > 0 ? t[at] : 0.0;",
     FAULT_NONE, NULL},
    {"a copy by all threads of one element that nothing wrote",
     "temp a: f32[1] in local; a[0] = s[64]; y[at] = a[0];", FAULT_UNINITIALIZED,
     "reads element 0 of 'a' in local memory, which holds a copy"},
    {"a copy into shared memory of what nothing wrote",
     "temp a: f32[2] in local; a[0] = 1.0; s[tx] = a[1]; y[at] = s[tx];", FAULT_UNINITIALIZED,
     "element 0 of 's' in shared memory, which holds a copy of an element that was never written"},
    {"a copy that is overwritten",
     "temp a: f32[2] in local; s[tx] = a[1]; s[tx] = x[at]; y[at] = s[tx];", FAULT_NONE, NULL},
    {"a copy into a temp of what nothing wrote",
     "temp a: f32[2] in local; t[at] = a[1]; y[at] = t[at] * 2.0;", FAULT_UNINITIALIZED,
     "reads element 0 of 't', which holds a copy of an element that was never written"},
    {"a value that is copied and used",
     "temp a: f32[1] in local; let v = s[tx]; a[0] = v; y[at] = v;", FAULT_UNINITIALIZED,
     "reads element 0 of 's'"},
    {"read only, what the launch has written", "z[at] = 1.0; y[at] = z.read_only[at];",
     FAULT_READ_ONLY, "reads element 0 of 'z' as read-only, but has written it in this launch"},
    {"read only, what the launch writes later", "y[at] = z.read_only[at]; z[at] = 1.0;",
     FAULT_READ_ONLY, "writes element 0 of 'z', which was read as read-only in this launch"},
    {"read only, what the launch updates later", "y[at] = z.read_only[at]; z[at] atomic += 1.0;",
     FAULT_READ_ONLY, "writes element 0 of 'z', which was read as read-only"},
    {"read only, what another block writes", "y[at] = z.read_only[at]; z[(at + 64) % 256] = 1.0;",
     FAULT_RACE, "of another block"},
    {"read only, another part of what the launch writes",
     "if (at < 128) z[at] = z.read_only[at + 128]; y[at] = 0.0;", FAULT_NONE, NULL},
    {"a hint that claims nothing", "z[at] = 1.0; y.streaming[at] = z.evict_last[at];", FAULT_NONE,
     NULL},
    {"an output that nothing wrote", "y[at] += 1.0;", FAULT_UNINITIALIZED,
     "reads element 0 of 'y'"},
    {"an output that is not written", "if (at != 77) y[at] = 1.0;", FAULT_NEVER_WRITTEN,
     "element 77 of output 'y' was never written (and 0 more of its 256 elements)"},
};

static const char frame[] = "kernel t(x: f32[256], inout z: f32[256]) -> y: f32[256] {\n"
                            "  temp t: f32[256];\n"
                            "  launch t grid(4, 1, 1) block(64, 1, 1) {\n"
                            "    temp s: f32[65] in shared;\n"
                            "    let tx = threadIdx.x;\n"
                            "    let at = blockIdx.x * 64 + threadIdx.x;\n    ";

static VmFault fault_of(Context *c, const Sample *sample)
{
    Run r = run_open(c, parsed(c, arena_printf(c->arena, "%s%s\n  }\n}\n", frame, sample->body)));
    bool ok = run_once(&r);
    VmFault fault = r.d->fault;
    run_close(&r);
    assert_int_equal(ok, fault.kind == FAULT_NONE);
    return fault;
}

static void test_sample(const Sample *sample)
{
    Context *c = ctx_new(0);
    GUARD(c);
    VmFault f = fault_of(c, sample);
    if (f.kind != sample->kind)
        fail_msg("%s: %s %s", sample->name, fault_name(f.kind), f.message);
    if (sample->message && !strstr(f.message, sample->message))
        fail_msg("%s: %s", sample->name, f.message);
    ctx_free(c);
}

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        test_sample(&samples[i]);
}

/* Both accesses are named: this one and the other one, each with its text. */
static void test_a_race_names_both(void **state)
{
    Context *c = *state;
    GUARD(c);
    VmFault f = fault_of(c, &samples[0]);
    const Source *source = source_get(c, f.span.source);
    assert_true(f.other.known);
    assert_int_equal(strncmp(source->text + f.span.begin, "s[63 - tx]", 10), 0);
    assert_int_equal(strncmp(source->text + f.other.span.begin, "s[tx] = x[at];", 14), 0);
    assert_int_equal(f.thread[0], 0);
    assert_int_equal(f.other.thread[0], 63);
    assert_non_null(strstr(messages(c), "thread (63, 0, 0) of block (0, 0, 0) writes it here"));
}

/* A launch orders what comes before and after it. */
static void test_launches_are_ordered(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(
        c,
        parsed(
            c,
            "kernel t(x: f32[256]) -> y: f32[256] {\n"
            "  temp t: f32[256];\n"
            "  launch a grid(4, 1, 1) block(64, 1, 1) {\n"
            "    t[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x]; }\n"
            "  for k in 3 {\n"
            "  launch b grid(4, 1, 1) block(64, 1, 1) {\n"
            "    y[blockIdx.x * 64 + threadIdx.x] = t[255 - blockIdx.x * 64 - threadIdx.x]; }\n"
            "  launch c grid(1, 1, 1) block(256, 1, 1) { t[threadIdx.x] = y[threadIdx.x ^ 1]; }\n"
            "  } }\n"));
    if (!run_once(&r))
        fail_msg("%s", messages(c));
    run_close(&r);
}

/* Text that writes an input does not resolve, so this one is made one afterwards. */
static void test_inputs_are_read_only(void **state)
{
    Context *c = *state;
    GUARD(c);
    Run r = run_open(c, parsed(c, arena_printf(c->arena,
                                               "%s%s\n"
                                               "  }\n"
                                               "}\n",
                                               frame, "y[at] = 0.0; z[at] = 1.0;")));
    ((ModuleBuffer *)r.m->buffers)[buffer_named(&r, "z")].role = BUFFER_IN;
    assert_false(run_once(&r));
    assert_int_equal(r.d->fault.kind, FAULT_READ_ONLY);
    assert_string_equal(r.d->fault.message, "writes 'z', which is an input");
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test_setup_teardown(test_a_race_names_both, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_inputs_are_read_only, new_context, free_context),
        cmocka_unit_test_setup_teardown(test_launches_are_ordered, new_context, free_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
