/* The 30 kernels of PolyBench/C 4.2 (examples/polybench) against plain C (reference.inc): run in
 * order on the virtual machine, and with schedule `default` on the simulator, with literal and
 * symbolic sizes, in f64 and f32. Integers and floats must agree bit for bit, unless the
 * schedule adds in another order (doitgen); also, the functions that the C library and the machine
 * compute for themselves (deriche: exp, pow) leave a last digit open.
 *
 *     test_polybench FOLDER           the mini data set and sizes 1, 2, 3: as symbols in f32, as
 *                                     numbers in f64 or f32, in turn
 *     test_polybench FOLDER --sweep   the same in the other type
 *     test_polybench FOLDER --long    the small data set, too, and all for both types
 *     test_polybench FOLDER --cuda    the small data set on a GPU, as scheduled by `default` and by
 *                                     the schedules of the folder: products and sums are contracted
 *                                     there, so that the difference from plain C has to be small
 *                                     beside the largest element of the output */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/cuda/cuda.h"
#include "passes/lower/lower.h"
#include "polybench/reference.h"
#include "runtime/device.h"
#include "support/program.h"

enum { MAX_BUFFERS = 24 };

/* Kernels with a schedule of their own in another file. */
static const struct {
    const char *name, *schedule;
} tiled[] = {{"2mm", "two_mm_tiled"},
             {"gemm", "gemm_tiled"},
             {"jacobi-2d", "jacobi_2d_tiled"},
             {"mvt", "mvt_tiled"},
             {"syrk", "syrk_tiled"}};

typedef struct {
    const Program *program;
    const Reference *reference;
    bool usual, sweep; /* the runs of the default, and the rest */
    bool with_small, on_gpu;
    int failures;
} Case;

enum { MOST_SETS = 5 };

/* One run: which program form, which sizes, and where it stands. */
typedef struct {
    Case *at;
    const char *type; /* "f32", "f64", or NULL */
    const int64_t *sizes;
    /* the sizes that symbols stand for, one after the other; else `sizes` alone */
    const int64_t *const *sets;
    int n_sets;
    const char *form;
    Use use;
    bool reordered; /* the schedule adds in another order */
} Trial;

static void complain(Trial *t, const char *why)
{
    print_error("%s %s, sizes %lld %lld %lld %lld %lld, %s: %s\n", t->at->program->name,
                t->type ? t->type : "", (long long)t->sizes[0], (long long)t->sizes[1],
                (long long)t->sizes[2], (long long)t->sizes[3], (long long)t->sizes[4], t->form,
                why);
    t->at->failures++;
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct {
    const Module *m;
    int64_t elements[MAX_BUFFERS];
    void *memory[MAX_BUFFERS];
} Data;

static double mixed(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(x >> 40) / (double)(1 << 24);
}

static void put(DType type, void *memory, int64_t at, double value)
{
    if (type == DT_F64)
        ((double *)memory)[at] = value;
    else if (type == DT_F32)
        ((float *)memory)[at] = (float)value;
    else if (type == DT_I32)
        ((int32_t *)memory)[at] = (int32_t)(value * 100);
    else
        ((int8_t *)memory)[at] = (int8_t)(value * 4);
}

/* Numbers in 0..1; a matrix that is divided by its diagonal gets a large one, and a vector one that
 * falls off. */
static void fill(const Reference *r, const ModuleBuffer *b, int number, int64_t elements,
                 int64_t row, void *memory)
{
    bool dominant = r->dominant && strcmp(r->dominant, b->name) == 0;
    for (int64_t i = 0; i < elements; i++) {
        double value = 0.125 + 0.75 * mixed((uint64_t)(i + 100003 * number));
        if (dominant && b->rank == 2 && i / row == i % row)
            value += (double)row;
        if (dominant && b->rank == 1)
            value /= (double)(2 * i + 3);
        put(b->type, memory, i, value);
    }
}

static void data_make(Data *d, const Module *m, const Reference *r, const int64_t *sizes)
{
    *d = (Data){.m = m};
    for (int i = 0; i < m->n_buffers; i++) {
        const ModuleBuffer *b = &m->buffers[i];
        int64_t dims[8] = {1}, elements = 1;
        assert_true(i < MAX_BUFFERS && vm_eval_shape(b->shape, sizes, dims));
        for (int k = 0; k < b->rank; k++)
            elements *= dims[k];
        size_t bytes = (size_t)(elements * type_bytes(b->type));
        d->elements[i] = elements;
        d->memory[i] = malloc(bytes + 1);
        memset(d->memory[i], 0xaa, bytes);
        if (b->role == BUFFER_IN || b->role == BUFFER_INOUT)
            fill(r, b, i, elements, b->rank ? dims[b->rank - 1] : 1, d->memory[i]);
    }
}

static void data_free(Data *d)
{
    for (int i = 0; i < d->m->n_buffers; i++)
        free(d->memory[i]);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double get(DType type, const void *memory, int64_t at)
{
    if (type == DT_F64)
        return ((const double *)memory)[at];
    if (type == DT_F32)
        return (double)((const float *)memory)[at];
    return type == DT_I32 ? (double)((const int32_t *)memory)[at]
                          : (double)((const int8_t *)memory)[at];
}

static double largest(const Data *d, int buffer)
{
    double most = 0;
    for (int64_t e = 0; e < d->elements[buffer]; e++)
        most = fmax(most, fabs(get(d->m->buffers[buffer].type, d->memory[buffer], e)));
    return most;
}

/* A matrix of M rows has M independent columns at most: what is left of the others is the rounding
 * of the first, and gramschmidt gives it length 1. Where sums are contracted or reordered that is
 * another direction. */
static bool is_noise(const Trial *t, const ModuleBuffer *b, int64_t element)
{
    return (t->at->on_gpu || t->reordered) && strcmp(t->at->reference->name, "gramschmidt") == 0 &&
           strcmp(b->name, "Q") == 0 && element % t->sizes[1] >= t->sizes[0];
}

static void compare(Trial *t, const Data *got, const Data *expected)
{
    bool library = strcmp(t->at->reference->name, "deriche") == 0;
    for (int i = 0; i < got->m->n_buffers; i++) {
        const ModuleBuffer *b = &got->m->buffers[i];
        if (b->role == BUFFER_TEMP)
            continue;
        bool f32 = b->type == DT_F32;
        double slack = !library ? 0 : f32 ? 1e-4 : 1e-12;
        bool rounds_otherwise = t->at->on_gpu || t->reordered;
        double contracted = rounds_otherwise ? largest(expected, i) * (f32 ? 1e-4 : 1e-12) : 0;
        for (int64_t e = 0; e < got->elements[i]; e++) {
            double x = get(b->type, got->memory[i], e), y = get(b->type, expected->memory[i], e);
            if (is_noise(t, b, e))
                continue;
            if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= slack * fabs(y) + contracted)
                continue;
            char why[160];
            snprintf(why, sizeof why, "%s, element %lld of %lld, is %.17g and not %.17g", b->name,
                     (long long)e, (long long)got->elements[i], x, y);
            complain(t, why);
            return;
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* Copies the buffers into the device's memory, or back. False after an error. */
static bool move_buffers(Device *device, const DevicePtr *buffers, Data *d, bool back)
{
    bool ok = true;
    for (int i = 0; ok && i < d->m->n_buffers; i++) {
        size_t bytes = (size_t)(d->elements[i] * type_bytes(d->m->buffers[i].type));
        ok = buffers[i] && (back ? device->ops->read(device, d->memory[i], buffers[i], bytes)
                                 : device->ops->write(device, buffers[i], d->memory[i], bytes));
    }
    return ok;
}

static bool run(Trial *t, const Module *m, Data *d)
{
    static const double f64[2] = {0.25, 1.25};
    static const float f32[2] = {0.25f, 1.25f};
    const void *scalars[2];
    DevicePtr buffers[MAX_BUFFERS];
    for (int i = 0; i < m->n_scalars && i < 2; i++)
        scalars[i] = m->scalars[i].type == DT_F64 ? (const void *)&f64[i] : (const void *)&f32[i];
    Device *device =
        device_open(t->use.c, &(DeviceOptions){.kind = t->at->on_gpu ? DEVICE_CUDA : DEVICE_SIM});
    for (int i = 0; device && i < m->n_buffers; i++)
        buffers[i] = device->ops->alloc(
            device, (size_t)(d->elements[i] * type_bytes(m->buffers[i].type)) + 1);
    bool ok = device && move_buffers(device, buffers, d, false);
    LoadedModule *loaded = ok ? device->ops->load(device, m) : NULL;
    RunArguments args = {t->sizes, scalars, buffers};
    ok = loaded && device->ops->run(device, loaded, &args) && device->ops->sync(device) &&
         move_buffers(device, buffers, d, true);
    for (int i = 0; device && i < m->n_buffers; i++)
        device->ops->free(device, buffers[i]);
    if (device)
        device->ops->close(device);
    return ok;
}

static void run_at_sizes(Trial *t, const Module *m)
{
    Data got, expected;
    data_make(&got, m, t->at->reference, t->sizes);
    data_make(&expected, m, t->at->reference, t->sizes);
    const Reference *r = t->at->reference;
    (t->type && strcmp(t->type, "f32") == 0 ? r->f32 : r->f64)(t->sizes, expected.memory);
    if (run(t, m, &got))
        compare(t, &got, &expected);
    else
        complain(t, use_messages(&t->use));
    data_free(&got);
    data_free(&expected);
}

static void run_module(Trial *t, const Module *m)
{
    if (!m)
        complain(t, use_messages(&t->use));
    for (int i = 0; m && i < t->n_sets; i++) {
        t->sizes = t->sets[i];
        run_at_sizes(t, m);
    }
}

static void run_forms(Trial *t, const char *schedule, const char *const *overrides, int n,
                      bool symbolic)
{
    jmp_buf guard;
    if (!program_use(t->at->program, schedule, overrides, n, &t->use)) {
        complain(t, use_messages(&t->use));
    } else if (setjmp(guard)) {
        complain(t, use_messages(&t->use));
    } else {
        Context *c = t->use.c;
        c->guard = &guard;
        t->reordered = false;
        if (!symbolic && !t->at->on_gpu) {
            t->form = "in order";
            Kernel *program = sequential_kernel(c, t->use.kernel);
            run_module(t, program ? module_build(c, program, NULL) : NULL);
        }
        LowerOptions options = {.limits = limits_default()};
        t->form =
            arena_printf(c->arena, "schedule %s%s", schedule, symbolic ? ", symbolic sizes" : "");
        for (int step = 1; step <= schedule_steps(t->use.schedule); step++)
            t->reordered |= schedule_step_reassociates(t->use.schedule, step);
        Kernel *lowered = lower_kernel(c, schedule_kernel(t->use.schedule), &options);
        StrBuf cuda = strbuf_new(c->arena);
        if (lowered)
            cuda_emit(c, lowered, &cuda, NULL);
        Module *module = lowered ? module_build(c, lowered, cuda.text) : NULL;
        if (module)
            module_allow_partial(c, module, t->use.kernel);
        run_module(t, module);
    }
    ctx_free(t->use.c);
}

/* With `default`, and with the kernel's own schedules. */
static void run_schedules(Case *k, const char *type, const int64_t *const *sets, int n_sets,
                          bool symbolic)
{
    const Program *p = k->program;
    char text[POLYBENCH_SIZES + 1][48];
    const char *overrides[POLYBENCH_SIZES + 1];
    Trial t = {.at = k, .type = type, .sizes = sets[0], .sets = sets, .n_sets = n_sets, .form = ""};
    int n = 0;
    for (int i = 0; i < p->n_sizes; i++)
        if (symbolic)
            snprintf(text[n++], sizeof text[0], "%s=?", p->sizes[i]);
        else
            snprintf(text[n++], sizeof text[0], "%s=%lld", p->sizes[i], (long long)t.sizes[i]);
    if (type)
        snprintf(text[n++], sizeof text[0], "%s=%s", p->type, type);
    for (int i = 0; i < n; i++)
        overrides[i] = text[i];
    run_forms(&t, "default", overrides, n, symbolic);
    for (int i = 0; i < p->n_schedules; i++)
        if (!program_ships(p, i) && !(symbolic && p->literal[i]))
            run_forms(&t, p->schedules[i], overrides, n, symbolic);
    for (size_t i = 0; i < sizeof tiled / sizeof *tiled; i++)
        if (strcmp(tiled[i].name, k->reference->name) == 0)
            run_forms(&t, tiled[i].schedule, overrides, n, symbolic);
}

/* With a symbolic size, a thousand blocks add up each short sum of ludcmp: at the mini data set the
 * simulator takes as long as for all other kernels together. The default has it as numbers. */
static bool is_dear(const Case *k)
{
    return strcmp(k->program->name, "ludcmp") == 0 && !k->sweep;
}

static void agrees_with_c(void **state)
{
    Case *k = *state;
    const Program *p = k->program;
    const int64_t tiny[3][POLYBENCH_SIZES] = {{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}};
    const int64_t *sets[MOST_SETS];
    int n = 0;
    for (; n < 3 && !k->on_gpu; n++)
        sets[n] = tiny[n];
    if (!k->on_gpu)
        sets[n++] = k->reference->mini;
    if (k->with_small)
        sets[n++] = k->reference->small;
    for (int i = 0; i < (p->n_types ? p->n_types : 1); i++) {
        const char *type = p->n_types ? p->types[i] : NULL;
        if (i == 1 || p->n_types < 2 ? k->usual : k->sweep)
            run_schedules(k, type, sets, is_dear(k) ? n - 1 : n, true);
        for (int set = 0; set < n; set++)
            if (p->n_types == 0 || set % p->n_types == i ? k->usual : k->sweep)
                run_schedules(k, type, &sets[set], 1, false);
    }
    if (k->failures > 0)
        fail_msg("%s: %d runs went wrong", p->name, k->failures);
}

int main(int argc, char **argv)
{
    Program *programs;
    if (argc < 2)
        return fputs("usage: test_polybench FOLDER [--sweep | --long | --cuda]\n", stderr), 2;
    const char *part = argc > 2 ? argv[2] : "";
    bool on_gpu = strcmp(part, "--cuda") == 0;
    Case given = {.usual = strcmp(part, "--sweep") != 0,
                  .sweep = argc > 2,
                  .with_small = on_gpu || strcmp(part, "--long") == 0,
                  .on_gpu = on_gpu};
    int n = programs_read(argv[1], &programs), n_references, failed = 0;
    const Reference *references = reference_table(&n_references);
    Case *cases = calloc((size_t)n_references, sizeof *cases);
    struct CMUnitTest *tests = calloc((size_t)n_references, sizeof *tests);
    for (int i = 0; i < n_references; i++) {
        cases[i] = given;
        cases[i].reference = &references[i];
        for (int k = 0; k < n; k++)
            if (strcmp(programs[k].name, references[i].name) == 0)
                cases[i].program = &programs[k];
        failed |= !cases[i].program;
        tests[i] = (struct CMUnitTest){references[i].name, agrees_with_c, NULL, NULL, &cases[i]};
    }
    if (failed || n != n_references)
        fputs("the programs of the folder are not those of the table\n", stderr), failed = 1;
    else
        failed = _cmocka_run_group_tests("polybench", tests, (size_t)n_references, NULL, NULL);
    free(tests);
    free(cases);
    programs_free(programs, n);
    return failed > 0;
}
