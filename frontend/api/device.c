/* device.c - Implements the calls that open a device, compile for it, and run on it. */
#include "frontend/api/internal.h"
#include "passes/analysis/threads/idle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/target/target.h"
#include "passes/lower/lower.h"
#include "runtime/values.h"

/* ---- devices --------------------------------------------------------------------------------- */

static bool set_arch(tirc *t, const char *arch)
{
    if (target_parse(arch, &t->ctx->target))
        return true;
    diag_error(t->ctx, E0606, span_none(), TARGET_EXPECTED, arch);
    return false;
}

tirc_status tirc_set_arch(tirc *t, const char *arch)
{
    API_GUARDED(t, set_arch(t, arch));
}

static bool open_device(tirc *t, tirc_device_kind kind, int ordinal, const char *arch,
                        tirc_device **device)
{
    static const DeviceKind kinds[] = {DEVICE_AUTO, DEVICE_CUDA, DEVICE_SIM};
    if ((int)kind < 0 || kind > TIRC_DEVICE_SIM || ordinal < 0) {
        diag_error(t->ctx, E0704, span_none(), "unknown device: kind %d, number %d", (int)kind,
                   ordinal);
        return false;
    }
    DeviceOptions options = {kinds[kind], ordinal, arch, t->cache_dir};
    tirc_device *d = ARENA_NEW(t->ctx->arena, tirc_device);
    VEC_PUSH(t->ctx->arena, &t->devices, d);
    d->device = device_open(t->ctx, &options);
    *device = d;
    if (d->device && (arch || d->device->info.kind == DEVICE_CUDA))
        target_parse(d->device->info.arch, &t->ctx->target);
    return d->device != NULL;
}

tirc_status tirc_device_open(tirc *t, tirc_device_kind kind, int ordinal, const char *arch,
                             tirc_device **device)
{
    API_GUARDED(t, open_device(t, kind, ordinal, arch, device));
}

static void free_temps(tirc_program *p)
{
    Device *d = p->device->device;
    for (int i = 0; p->temps && i < p->module->n_buffers; i++)
        if (p->temps[i])
            d->ops->free(d, p->temps[i]);
    p->temps = NULL;
}

static bool close_device(tirc_device *device)
{
    Device *d = device->device;
    if (!d)
        return true;
    for (int i = 0; i < device->programs.n; i++) {
        free_temps(device->programs.items[i]);
        d->ops->unload(d, device->programs.items[i]->loaded);
    }
    device->programs.n = 0;
    device->device = NULL;
    d->ops->close(d);
    return true;
}

static tirc_status close_guarded(tirc *t, tirc_device *device)
{
    API_GUARDED(t, close_device(device));
}

void tirc_device_close(tirc *t, tirc_device *device)
{
    if (device)
        close_guarded(t, device);
}

tirc_device_info tirc_device_describe(const tirc_device *device)
{
    const DeviceInfo *info = &device->device->info;
    return (tirc_device_info){device_kind_name(info->kind), info->name,         info->arch,
                              info->multiprocessors,        info->memory_bytes, info->l2_bytes};
}

/* "matmul.tir:6:13", or NULL. */
static const char *where_text(tirc *t, Span span)
{
    const Source *source = source_get(t->ctx, span.source);
    if (!source || t->dead)
        return NULL;
    int line, column;
    source_position(source, span.begin, &line, &column);
    return arena_printf(t->texts, "%s:%d:%d", source->path, line, column);
}

bool tirc_fault_at(tirc *t, const tirc_device *device, size_t i, tirc_fault *fault)
{
    const VmFault *f = device && device->device ? &device->device->fault : NULL;
    if (!f || i > 0 || f->kind == FAULT_NONE || f->kind == FAULT_STOPPED)
        return false;
    *fault = (tirc_fault){.kind = fault_name(f->kind),
                          .message = f->message,
                          .where = where_text(t, f->span),
                          .has_other = f->other.known};
    if (t->dead || !device->ran)
        return true;
    fault->origin = api_origin(t, device->ran, (Origin){f->span, f->step});
    memcpy(fault->block, f->block, sizeof f->block);
    memcpy(fault->thread, f->thread, sizeof f->thread);
    if (f->other.known) {
        fault->other_where = where_text(t, f->other.span);
        fault->other = api_origin(t, device->ran, (Origin){f->other.span, f->other.step});
        memcpy(fault->other_block, f->other.block, sizeof f->other.block);
        memcpy(fault->other_thread, f->other.thread, sizeof f->other.thread);
    }
    return true;
}

bool api_run(tirc *t, const tirc_program *program, const RunArguments *args)
{
    Device *d = program->device->device;
    program->device->ran = program->kernel;
    if (d->ops->run(d, program->loaded, args))
        return true;
    const VmFault *f = &d->fault;
    if (f->kind == FAULT_NONE || f->kind == FAULT_STOPPED)
        return false;
    bool same = f->other.known && f->other.step == f->step;
    api_note_step(t, program->kernel, f->step, same ? "each of the two" : "the access");
    if (f->other.known && !same)
        api_note_step(t, program->kernel, f->other.step, "the other access");
    return false;
}

/* ---- programs -------------------------------------------------------------------------------- */

static bool compile(tirc *t, tirc_device *device, const tirc_kernel *lowered,
                    tirc_program **program)
{
    Context *c = t->ctx;
    t->subject = lowered->command;
    if (!api_require_lowered(t, lowered, "tirc_compile"))
        return false;
    Device *d = device->device;
    bool is_cuda = d->info.kind == DEVICE_CUDA;
    Module *module = is_cuda ? module_build(c, lowered->kernel, api_cuda_text(t, lowered))
                             : module_build(c, api_checked_kernel(t, lowered->kernel), NULL);
    if (!module)
        return false;
    module_allow_partial(c, module, lowered->program);
    tirc_program *p = ARENA_NEW(c->arena, tirc_program);
    *p = (tirc_program){.device = device, .kernel = lowered, .module = module};
    p->loaded = d->ops->load(d, module);
    if (!p->loaded)
        return false;
    VEC_PUSH(c->arena, &device->programs, p);
    *program = p;
    return true;
}

const tirc_kernel *api_with_index64(tirc *t, const tirc_kernel *lowered)
{
    LowerOptions options = {.limits = limits_of(t->ctx->target), .index64 = true};
    return api_kernel_new(t, lower_kernel(t->ctx, lowered->kernel, &options), lowered);
}

tirc_program *api_for_sizes(tirc *t, tirc_program *program, const int64_t *sizes)
{
    if (!module_broken_limit(program->module, sizes))
        return program;
    if (!program->wide &&
        !compile(t, program->device, api_with_index64(t, program->kernel), &program->wide))
        return NULL;
    program->wide->inputs = program->inputs;
    return program->wide;
}

tirc_status tirc_compile(tirc *t, tirc_device *device, const tirc_kernel *lowered,
                         tirc_program **program)
{
    API_GUARDED(t, compile(t, device, lowered, program));
}

const int64_t *api_sizes(tirc *t, const tirc_program *program, const int64_t *values)
{
    const Module *m = program->module;
    int64_t *sizes = ARENA_ARRAY(t->ctx->arena, int64_t, m->n_sizes + 1);
    int next = 0;
    for (int i = 0; i < m->n_sizes; i++) {
        const ModuleSize *size = &m->sizes[i];
        if (size->symbolic && !values) {
            diag_error(t->ctx, E0703, span_none(),
                       "size '%s' of '%s' is symbolic; a run needs its value", size->name, m->name);
            return NULL;
        }
        sizes[i] = size->symbolic ? values[next++] : size->value;
        if (sizes[i] < 0) {
            diag_error(t->ctx, E0703, span_none(),
                       "size '%s' of '%s' cannot be %lld; the minimum is 0", size->name, m->name,
                       (long long)sizes[i]);
            return NULL;
        }
    }
    return api_sizes_fit(t, m, sizes) ? sizes : NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The number of a parameter in its table of the module. */
static int table_index(const Kernel *kernel, size_t parameter)
{
    bool is_buffer = kernel->params[parameter].buffer != NULL;
    int index = 0;
    for (size_t i = 0; i < parameter; i++)
        index += (kernel->params[i].buffer != NULL) == is_buffer;
    return index;
}

/* Dimensions and bytes of a buffer; false after E0633. */
static bool measure_buffer(tirc *t, const ModuleBuffer *b, const int64_t *sizes, int64_t *dims,
                           int64_t *bytes)
{
    bool fits = vm_eval_shape(b->shape, sizes, dims);
    *bytes = type_bytes(b->type);
    for (int i = 0; fits && i < b->rank; i++)
        fits = dims[i] >= 0 && checked_mul(*bytes, dims[i], bytes);
    if (!fits)
        diag_error(t->ctx, E0633, span_none(),
                   "buffer '%s' does not fit in memory for these sizes: a dimension is negative, "
                   "or it has more than 2^63 bytes",
                   b->name);
    return fits;
}

size_t tirc_parameter_count(const tirc_program *program)
{
    return (size_t)program->kernel->kernel->n_params;
}

static bool parameter_at(tirc *t, const tirc_program *program, const int64_t *values, size_t i,
                         tirc_parameter *out)
{
    const Kernel *kernel = program->kernel->kernel;
    if (i >= (size_t)kernel->n_params)
        return false;
    int index = table_index(kernel, i);
    if (!kernel->params[i].buffer) {
        const ModuleScalar *s = &program->module->scalars[index];
        *out = (tirc_parameter){.name = s->name,
                                .type = type_info(s->type)->name,
                                .is_input = true,
                                .bytes = (size_t)type_bytes(s->type)};
        return true;
    }
    const ModuleBuffer *b = &program->module->buffers[index];
    const int64_t *sizes = api_sizes(t, program, values);
    int64_t *dims = ARENA_ARRAY(t->ctx->arena, int64_t, b->rank + 1), bytes;
    if (!sizes || !measure_buffer(t, b, sizes, dims, &bytes))
        return false;
    *out = (tirc_parameter){b->name,
                            type_info(b->type)->name,
                            true,
                            b->role != BUFFER_OUT,
                            b->role != BUFFER_IN,
                            b->rank,
                            dims,
                            (size_t)bytes};
    return true;
}

bool tirc_parameter_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                       tirc_parameter *parameter)
{
    API_ANSWER(t, parameter_at(t, program, sizes, i, parameter));
}

static bool fill_random(tirc *t, const tirc_program *program, const int64_t *values, uint64_t seed,
                        size_t i, void *data)
{
    tirc_parameter p;
    const int64_t *sizes = api_sizes(t, program, values);
    if (!sizes || !parameter_at(t, program, values, i, &p))
        return false;
    const Module *m = program->module;
    int index = table_index(program->kernel->kernel, i);
    DType type = type_find(p.type);
    if (!p.is_buffer) {
        Random r = random_new(seed, UINT64_MAX - (uint64_t)index);
        values_scalar(
            &r, &(RandomData){
                    .type = type, .to = data, .values = m->scalars[index].values, .sizes = sizes});
        return true;
    }
    Random r = random_new(seed, (uint64_t)index);
    if (values_fill(&r, &(RandomData){.type = type,
                                      .to = data,
                                      .n = (int64_t)(p.bytes / (size_t)type_bytes(type)),
                                      .values = m->buffers[index].values,
                                      .sizes = sizes}))
        return true;
    diag_error(t->ctx, E0653, span_none(),
               "no random data for '%s' satisfy the order that '%s' requires", p.name, m->name);
    return false;
}

tirc_status tirc_fill_random(tirc *t, const tirc_program *program, const int64_t *sizes,
                             uint64_t seed, size_t i, void *data)
{
    API_GUARDED(t, fill_random(t, program, sizes, seed, i, data));
}

/* ---- launches -------------------------------------------------------------------------------- */

typedef struct {
    int wanted;
    int64_t *grid;
} LaunchProbe;

/* Stops the host part at the first launch of the kernel that is asked for. */
static bool probe_launch(void *user, const VmLaunch *launch)
{
    LaunchProbe *probe = user;
    if (launch->kernel != probe->wanted)
        return true;
    memcpy(probe->grid, launch->grid, sizeof launch->grid);
    return false;
}

static int64_t idle_threads(tirc *t, const tirc_program *program, size_t i)
{
    int64_t threads, idle;
    LaunchUseList uses = {0};
    launch_uses(t->ctx, program->kernel->kernel, &uses);
    bool known =
        i < (size_t)uses.n && count_idle(t->ctx, &uses.items[i].launch->u.launch, &threads, &idle);
    return known ? idle : -1;
}

static bool launch_at(tirc *t, const tirc_program *program, const int64_t *values, size_t i,
                      tirc_launch_info *out)
{
    const Module *m = program->module;
    const int64_t *sizes = i < (size_t)m->n_kernels ? api_sizes(t, program, values) : NULL;
    if (!sizes)
        return false;
    const ModuleKernel *k = &m->kernels[i];
    *out = (tirc_launch_info){.name = k->name,
                              .shared_bytes = k->shared_static + k->shared_dynamic,
                              .barriers = k->barriers};
    memcpy(out->block, k->block, sizeof out->block);
    out->idle_threads = idle_threads(t, program, i);
    const void **scalars = ARENA_ARRAY(t->ctx->arena, const void *, m->n_scalars + 1);
    for (int s = 0; s < m->n_scalars; s++)
        scalars[s] = ARENA_NEW(t->ctx->arena, uint64_t);
    DevicePtr *none = ARENA_ARRAY(t->ctx->arena, DevicePtr, m->n_buffers + 1);
    RunArguments args = {sizes, scalars, none};
    LaunchProbe probe = {(int)i, out->grid};
    VmFault fault;
    vm_run_host(m, &args, probe_launch, &probe, &fault);
    return true;
}

bool tirc_launch_at(tirc *t, const tirc_program *program, const int64_t *sizes, size_t i,
                    tirc_launch_info *launch)
{
    API_ANSWER(t, launch_at(t, program, sizes, i, launch));
}

/* ---- running --------------------------------------------------------------------------------- */

/* A run may be repeated forever, so what it took from the context is given back, unless a message
 * holds on to it. */
static void release_scratch(tirc *t, ArenaMark mark, const Diag *last)
{
    if (t->ctx->last == last)
        arena_reset(t->ctx->arena, mark);
}

/* Splits the arguments of a call into the module's tables; temps stay 0. */
static RunArguments split_arguments(tirc *t, const tirc_program *program, const int64_t *sizes,
                                    void *const *arguments, DevicePtr *buffers)
{
    const Kernel *kernel = program->kernel->kernel;
    const void **scalars = ARENA_ARRAY(t->ctx->arena, const void *, program->module->n_scalars + 1);
    for (int i = 0; i < kernel->n_params; i++) {
        int index = table_index(kernel, (size_t)i);
        if (kernel->params[i].buffer)
            buffers[index] = (DevicePtr)(uintptr_t)arguments[i];
        else
            scalars[index] = arguments[i];
    }
    return (RunArguments){sizes, scalars, buffers};
}

/* Room on the device for each buffer, and the inputs in it. `host` and `device` are by the module's
 * table. */
static bool to_device(tirc *t, const tirc_program *program, const int64_t *sizes,
                      const DevicePtr *host, DevicePtr *device, int64_t *bytes)
{
    const Module *m = program->module;
    Device *d = program->device->device;
    for (int i = 0; i < m->n_buffers; i++) {
        const ModuleBuffer *b = &m->buffers[i];
        int64_t *dims = ARENA_ARRAY(t->ctx->arena, int64_t, b->rank + 1);
        if (!measure_buffer(t, b, sizes, dims, &bytes[i]))
            return false;
        device[i] = d->ops->alloc(d, (size_t)bytes[i]);
        if (!device[i])
            return false;
        bool is_input = b->role == BUFFER_IN || b->role == BUFFER_INOUT;
        if (is_input &&
            !d->ops->write(d, device[i], (const void *)(uintptr_t)host[i], (size_t)bytes[i]))
            return false;
    }
    return true;
}

static bool to_host(const tirc_program *program, const DevicePtr *host, const DevicePtr *device,
                    const int64_t *bytes)
{
    const Module *m = program->module;
    Device *d = program->device->device;
    for (int i = 0; i < m->n_buffers; i++) {
        bool is_output = m->buffers[i].role == BUFFER_OUT || m->buffers[i].role == BUFFER_INOUT;
        if (is_output && !d->ops->read(d, (void *)(uintptr_t)host[i], device[i], (size_t)bytes[i]))
            return false;
    }
    return true;
}

/* The program that runs for these sizes. What is made for that stays: scratch begins behind it. */
static tirc_program *choose_width(tirc *t, tirc_program *program, const int64_t *sizes,
                                  ArenaMark *mark)
{
    const tirc_program *before = program->wide;
    tirc_program *chosen = api_for_sizes(t, program, sizes);
    if (program->wide != before)
        *mark = arena_mark(t->ctx->arena);
    return chosen;
}

static bool run(tirc *t, tirc_program *program, const int64_t *values, void *const *arguments)
{
    Device *d = program->device->device;
    int n = program->module->n_buffers;
    ArenaMark mark = arena_mark(t->ctx->arena);
    const Diag *last = t->ctx->last;
    const int64_t *sizes = api_sizes(t, program, values);
    program = sizes ? choose_width(t, program, sizes, &mark) : NULL;
    if (!program)
        return false;
    DevicePtr *host = ARENA_ARRAY(t->ctx->arena, DevicePtr, n + 1);
    DevicePtr *device = ARENA_ARRAY(t->ctx->arena, DevicePtr, n + 1);
    int64_t *bytes = ARENA_ARRAY(t->ctx->arena, int64_t, n + 1);
    RunArguments args = split_arguments(t, program, sizes, arguments, host);
    args.buffers = device;
    bool ok = api_scalars_fit(t, program->module, sizes, args.scalars) &&
              to_device(t, program, sizes, host, device, bytes) &&
              api_elements_fit(t, program->module, sizes, host, bytes) &&
              api_run(t, program, &args) && d->ops->sync(d) &&
              to_host(program, host, device, bytes);
    for (int i = 0; i < n; i++)
        if (device[i])
            d->ops->free(d, device[i]);
    release_scratch(t, mark, last);
    return ok;
}

tirc_status tirc_run(tirc *t, tirc_program *program, const int64_t *sizes, void *const *arguments)
{
    API_GUARDED(t, run(t, program, sizes, arguments));
}

/* ---- inputs of measurements ------------------------------------------------------------------ */

static bool set_inputs(tirc *t, tirc_program *program, const void *const *data)
{
    const Kernel *kernel = program->kernel->kernel;
    void **inputs = ARENA_ARRAY(t->ctx->arena, void *, kernel->n_params + 1);
    int first_output = kernel->n_params - kernel->n_outputs;
    for (int i = 0; data && i < first_output; i++)
        inputs[i] = (void *)(uintptr_t)data[i]; /* only read */
    program->inputs = data ? inputs : NULL;
    return true;
}

tirc_status tirc_set_inputs(tirc *t, tirc_program *program, const void *const *data)
{
    API_GUARDED(t, set_inputs(t, program, data));
}

static bool given_fit(tirc *t, const Module *m, const Workload *w)
{
    const RunArguments *args = workload_arguments(w);
    DevicePtr *host = ARENA_ARRAY(t->ctx->arena, DevicePtr, m->n_buffers + 1);
    int64_t *bytes = ARENA_ARRAY(t->ctx->arena, int64_t, m->n_buffers + 1);
    for (int i = 0; i < m->n_buffers; i++) {
        host[i] = (DevicePtr)(uintptr_t)workload_input(w, i);
        bytes[i] = host[i] ? workload_elements(w, i) * type_bytes(m->buffers[i].type) : 0;
    }
    return api_scalars_fit(t, m, args->sizes, args->scalars) &&
           api_elements_fit(t, m, args->sizes, host, bytes);
}

Workload *api_workload(tirc *t, const tirc_program *program, const int64_t *sizes, uint64_t seed)
{
    Device *d = program->device->device;
    const Module *m = program->module;
    if (!program->inputs)
        return workload_new(d, m, sizes, seed);
    DevicePtr *buffers = ARENA_ARRAY(t->ctx->arena, DevicePtr, m->n_buffers + 1);
    RunArguments given = split_arguments(t, program, sizes, program->inputs, buffers);
    Workload *w = workload_new_given(d, m, &given, seed);
    if (!w || given_fit(t, m, w))
        return w;
    workload_free(w);
    return NULL;
}

/* ---- launching on memory of the device ------------------------------------------------------- */

enum { ALIGNMENT = 16 };

static bool check_pointers(tirc *t, const tirc_program *program, const DevicePtr *buffers)
{
    const Module *m = program->module;
    for (int i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].role != BUFFER_TEMP && buffers[i] % ALIGNMENT != 0) {
            diag_error(
                t->ctx, E0704, span_none(),
                "the pointer for '%s' is not aligned to %d bytes, which vector accesses require",
                m->buffers[i].name, ALIGNMENT);
            return false;
        }
    return true;
}

/* Temps stay allocated while their sizes are the same; *fresh: they had to be made. */
static bool provide_temps(tirc *t, tirc_program *p, const int64_t *sizes, DevicePtr *buffers,
                          bool *fresh)
{
    const Module *m = p->module;
    Device *d = p->device->device;
    int64_t *bytes = ARENA_ARRAY(t->ctx->arena, int64_t, m->n_buffers + 1);
    bool same = p->temps != NULL;
    for (int i = 0; i < m->n_buffers; i++) {
        if (m->buffers[i].role != BUFFER_TEMP)
            continue;
        int64_t *dims = ARENA_ARRAY(t->ctx->arena, int64_t, m->buffers[i].rank + 1);
        if (!measure_buffer(t, &m->buffers[i], sizes, dims, &bytes[i]))
            return false;
        same = same && bytes[i] == p->dims[i];
    }
    *fresh = !same;
    if (!same) {
        free_temps(p);
        p->dims = bytes;
        p->temps = ARENA_ARRAY(t->ctx->arena, DevicePtr, m->n_buffers + 1);
    }
    for (int i = 0; i < m->n_buffers; i++) {
        if (m->buffers[i].role != BUFFER_TEMP)
            continue;
        if (!same)
            p->temps[i] = d->ops->alloc(d, (size_t)bytes[i]);
        if (!p->temps[i]) {
            free_temps(p);
            return false;
        }
        buffers[i] = p->temps[i];
    }
    return true;
}

static bool launch(tirc *t, tirc_program *program, const int64_t *values, void *const *arguments)
{
    ArenaMark mark = arena_mark(t->ctx->arena);
    const Diag *last = t->ctx->last;
    const int64_t *sizes = api_sizes(t, program, values);
    program = sizes ? choose_width(t, program, sizes, &mark) : NULL;
    if (!program)
        return false;
    DevicePtr *buffers = ARENA_ARRAY(t->ctx->arena, DevicePtr, program->module->n_buffers + 1);
    RunArguments args = split_arguments(t, program, sizes, arguments, buffers);
    bool fresh = true;
    bool ok = check_pointers(t, program, buffers) &&
              api_scalars_fit(t, program->module, sizes, args.scalars) &&
              provide_temps(t, program, sizes, buffers, &fresh) && api_run(t, program, &args);
    if (!fresh)
        release_scratch(t, mark, last);
    return ok;
}

tirc_status tirc_launch(tirc *t, tirc_program *program, const int64_t *sizes,
                        void *const *arguments)
{
    API_GUARDED(t, launch(t, program, sizes, arguments));
}

static bool launch_on(tirc *t, tirc_program *program, const int64_t *values, void *const *arguments,
                      void *stream)
{
    Device *d = program->device->device;
    if (d->ops->use_stream)
        d->ops->use_stream(d, &stream);
    bool ok = launch(t, program, values, arguments);
    if (d->ops->use_stream)
        d->ops->use_stream(d, &stream);
    return ok;
}

tirc_status tirc_launch_on(tirc *t, tirc_program *program, const int64_t *sizes,
                           void *const *arguments, void *stream)
{
    API_GUARDED(t, launch_on(t, program, sizes, arguments, stream));
}

bool tirc_has_temporaries(const tirc_program *program)
{
    const Module *m = program->module;
    for (int i = 0; i < m->n_buffers; i++)
        if (m->buffers[i].role == BUFFER_TEMP)
            return true;
    return false;
}

static bool synchronize(const tirc_program *program)
{
    Device *d = program->device->device;
    return d->ops->sync(d);
}

tirc_status tirc_synchronize(tirc *t, tirc_program *program)
{
    API_GUARDED(t, synchronize(program));
}
