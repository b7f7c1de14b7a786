/* agree.c - Compares whole outputs with a second run under another schedule, when the reference can
 * compute only a sample: `default`, or where that makes the same kernel, `naive`.
 *
 * A result lies within its bound of the true value, so two results lie within two bounds of each
 * other. The bounds of elements outside the sample are not known; the largest of the sample stands
 * for them. This finds tiles that were missed, swapped or written twice, which a sample may miss;
 * the sample checks the rounding of single elements. On small integers (structure.c) the tolerance
 * is 0, and the exact reference decides about elements that differ. */
#include "frontend/api/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/script/script.h"
#include "passes/lower/lower.h"

static Module *peer_module(Context *c, const tirc_program *program, const Kernel *scheduled,
                           LowerOptions *options, Peer *out)
{
    out->lowered = lower_kernel(c, scheduled, options);
    StrBuf cuda = strbuf_new(c->arena);
    if (out->lowered && program->module->source)
        cuda_emit(c, out->lowered, &cuda, NULL);
    return out->lowered ? module_build(c, out->lowered, program->module->source ? cuda.text : NULL)
                        : NULL;
}

static bool make_peer(tirc *t, const tirc_program *program, const int64_t *sizes, const char *name,
                      Peer *out)
{
    Context *c = t->ctx;
    const Kernel *kernel = program->kernel->program;
    LowerOptions options = {.limits = limits_default()};
    DiagMark mark = diag_mark(c);
    FoundSchedule found;
    Schedule *s = script_find(c, NULL, kernel->name, name, &found)
                      ? script_run(c, kernel, &found, NULL, 0)
                      : NULL;
    out->module = s ? peer_module(c, program, schedule_kernel(s), &options, out) : NULL;
    options.index64 = out->module && module_broken_limit(out->module, sizes);
    if (options.index64)
        out->module = peer_module(c, program, schedule_kernel(s), &options, out);
    if (out->module) {
        module_allow_partial(c, out->module, kernel);
        diag_forget(c, mark); /* warnings of a schedule that is not the user's */
    }
    return out->module != NULL;
}

static const char *text_of(Context *c, const Kernel *lowered)
{
    StrBuf text = strbuf_new(c->arena);
    print_kernel(c, lowered, &text);
    return text.text;
}

/* The text is that of the peer, so a run of it would show nothing. */
static bool is_same(Context *c, const tirc_program *program, const Peer *peer)
{
    return !strcmp(text_of(c, program->kernel->kernel), text_of(c, peer->lowered));
}

typedef struct {
    const Module *module;
    double fewest;
} Threads;

/* Of all launches, the fewest threads. */
static bool count_threads(void *user, const VmLaunch *launch)
{
    Threads *t = user;
    double threads = 1;
    for (int axis = 0; axis < 3; axis++)
        threads *=
            (double)launch->grid[axis] * (double)t->module->kernels[launch->kernel].block[axis];
    if (threads > 0 && threads < t->fewest)
        t->fewest = threads;
    return true;
}

/* No thread of the peer works for more than seconds. */
static bool is_affordable(tirc *t, const tirc_program *program, const Workload *w, const Peer *peer)
{
    static const double MOST = 4e6; /* stores by one thread of a GPU */
    Context *c = t->ctx;
    const Kernel *in_order = sequential_kernel(c, program->kernel->program);
    Threads threads = {peer->module, INFINITY};
    VmFault fault;
    if (!in_order)
        return false;
    vm_run_host(peer->module, workload_arguments(w), count_threads, &threads, &fault);
    return reference_work(c, in_order, workload_arguments(w)->sizes, INT64_MAX) <=
           MOST * threads.fewest;
}

/* `naive` may be refused, and adds the terms of long sums one by one: it serves where no rounding
 * may differ. */
bool api_find_peer(tirc *t, const tirc_program *program, double tolerance, Peer *out)
{
    const int64_t *sizes = workload_arguments(t->workload)->sizes;
    *out = (Peer){0};
    if (kernel_level(t->ctx, program->kernel->program) != LEVEL_PROGRAM)
        return true;
    if (!make_peer(t, program, sizes, "default", out))
        return false;
    if (!is_same(t->ctx, program, out)) {
        out->with = "default";
        return true;
    }
    DiagMark mark = diag_mark(t->ctx);
    if (tolerance == 0 && make_peer(t, program, sizes, "naive", out) &&
        is_affordable(t, program, t->workload, out))
        out->with = "naive";
    diag_forget(t->ctx, mark);
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

enum { COMPARED_AT_ONCE = 1 << 20 }; /* bytes of each output */

static bool is_different(DType type, const char *a, const char *b, double tolerance)
{
    if (!memcmp(a, b, (size_t)type_bytes(type)))
        return false;
    if (!type_is_float(type))
        return true;
    double x = vm_value_double(type, vm_value_load(type, a));
    double y = vm_value_double(type, vm_value_load(type, b));
    return !(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance);
}

static VerifyElement element_at(int buffer, int rank, const int64_t *dims, int64_t at)
{
    VerifyElement e = {.buffer = buffer};
    for (int axis = rank - 1; axis >= 0; axis--) {
        e.index[axis] = at % dims[axis];
        at /= dims[axis];
    }
    return e;
}

/* "C[3, 17] is 0.5, and 0.75 there". */
static const char *describe(Context *c, const ModuleBuffer *b, const VerifyElement *e,
                            const char *x, const char *y)
{
    StrBuf place = strbuf_new(c->arena);
    const char *type = type_info(b->type)->name;
    for (int axis = 0; axis < b->rank; axis++)
        strbuf_addf(&place, axis ? ", %lld" : "%lld", (long long)e->index[axis]);
    return arena_printf(c->arena, "%s[%s] is %.9g here and %.9g there", b->name, place.text,
                        tirc_element(type, x, 0), tirc_element(type, y, 0));
}

/* An output of two runs. */
typedef struct {
    Context *c;
    const ModuleBuffer *buffer;
    int number; /* of the buffer */
    const Workload *workload;
    double tolerance;
} TwoOutputs;

static void note_difference(const TwoOutputs *of, const VerifyElement *e, const char *x,
                            const char *y, Agreement *out)
{
    if (out->different++ == 0)
        out->first = describe(of->c, of->buffer, e, x, y);
    if ((out->different & (out->different - 1)) == 0 && out->n_shown < AGREEMENT_SHOWN)
        out->shown[out->n_shown++] = *e;
}

/* `n` elements, of which the first is number `first` of the output. */
typedef struct {
    const char *x, *y;
    int64_t first, n;
} Part;

static void compare(const TwoOutputs *of, Part part, Agreement *out)
{
    enum { BLOCK = 1024 };
    const ModuleBuffer *b = of->buffer;
    const char *x = part.x, *y = part.y;
    int step = type_bytes(b->type);
    for (int64_t i = 0; i < part.n; i++, x += step, y += step) {
        while (part.n - i > BLOCK && !memcmp(x, y, (size_t)(BLOCK * step))) {
            i += BLOCK;
            x += BLOCK * step;
            y += BLOCK * step;
        }
        if (!is_different(b->type, x, y, of->tolerance))
            continue;
        const int64_t *dims = workload_dims(of->workload, of->number);
        VerifyElement e = element_at(of->number, b->rank, dims, part.first + i);
        note_difference(of, &e, x, y, out);
    }
}

/* Reads the two outputs part by part: they may be larger than the host's memory has room for. */
static bool compare_parts(Device *d, const TwoOutputs *of, const TwoRuns *runs, char *room,
                          Agreement *out)
{
    int64_t step = type_bytes(of->buffer->type), each = COMPARED_AT_ONCE / step;
    int64_t elements = workload_elements(of->workload, of->number);
    DevicePtr one = workload_arguments(runs->one)->buffers[of->number];
    DevicePtr other = workload_arguments(runs->other)->buffers[of->number];
    for (int64_t i = 0; i < elements; i += each) {
        int64_t n = elements - i < each ? elements - i : each;
        size_t bytes = (size_t)(n * step);
        DevicePtr at = (DevicePtr)(i * step);
        if (!d->ops->read(d, room, one + at, bytes) ||
            !d->ops->read(d, room + COMPARED_AT_ONCE, other + at, bytes))
            return false;
        compare(of, (Part){room, room + COMPARED_AT_ONCE, i, n}, out);
    }
    out->elements += elements;
    return true;
}

static bool compare_buffer(tirc *t, const tirc_program *program, const TwoRuns *runs, int i,
                           Agreement *out)
{
    const ModuleBuffer *b = &program->module->buffers[i];
    char *room = malloc(2 * COMPARED_AT_ONCE);
    if (!room)
        diag_error(t->ctx, E0600, span_none(), "out of memory while comparing '%s'", b->name);
    bool ok = room && compare_parts(program->device->device,
                                    &(TwoOutputs){t->ctx, b, i, runs->one, runs->tolerance}, runs,
                                    room, out);
    free(room);
    return ok;
}

bool api_compare_outputs(tirc *t, const tirc_program *program, const TwoRuns *runs, Agreement *out)
{
    *out = (Agreement){0};
    for (int i = 0; i < program->module->n_buffers; i++) {
        BufferRole role = program->module->buffers[i].role;
        bool is_output = role == BUFFER_OUT || role == BUFFER_INOUT;
        if (is_output && !compare_buffer(t, program, runs, i, out))
            return false;
    }
    out->compared = true;
    return true;
}

bool api_agree(tirc *t, const tirc_program *program, const Peer *peer, double tolerance,
               Agreement *out)
{
    Device *d = program->device->device;
    *out = (Agreement){0};
    if (!peer->with)
        return true;
    LoadedModule *loaded = d->ops->load(d, peer->module);
    if (!loaded)
        return false;
    t->other = workload_like(t->workload, peer->module);
    const TwoRuns runs = {.one = t->workload, .other = t->other, .tolerance = tolerance};
    bool ok = t->other && d->ops->run(d, loaded, workload_arguments(t->other)) && d->ops->sync(d) &&
              api_compare_outputs(t, program, &runs, out);
    workload_free(t->other);
    t->other = NULL;
    d->ops->unload(d, loaded);
    out->with = peer->with;
    return ok;
}
