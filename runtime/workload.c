/* workload.c - Generates the data of a run: reproducible random inputs and poisoned outputs. */
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"
#include "runtime/values.h"

enum { POISON = 0xff }; /* NaN in every floating type, -1 or the largest value in the others */

typedef struct {
    const int64_t *dims;
    int64_t elements;
    size_t bytes;
    void *host;       /* inputs and inouts: their data, */
    bool shared;      /* ... of another workload, else owned */
    DevicePtr device; /* owned */
} Data;

struct Workload {
    Device *d;
    const Module *m;
    uint64_t seed;
    const SmallIntegers *small; /* while it is made: what the data are drawn from; or NULL */
    bool gentle;                /* while it is made: reals are scaled, matrices near the identity */
    bool on_host;               /* the device has none of it */
    const Workload *like;       /* while it is made: whose data are the same; or NULL */
    const RunArguments *given;  /* while it is made: data that are not random; or NULL */
    int64_t *sizes;
    const void **scalars;
    DevicePtr *pointers;
    Data *data;
    RunArguments args;
};

static bool has_input(BufferRole role)
{
    return role == BUFFER_IN || role == BUFFER_INOUT;
}

static bool size_data(Workload *w, int index)
{
    const ModuleBuffer *b = &w->m->buffers[index];
    Data *data = &w->data[index];
    Context *c = w->d->ctx;
    int64_t *dims = ARENA_ARRAY(c->arena, int64_t, b->rank + 1), bytes;
    bool fits = vm_eval_shape(b->shape, w->sizes, dims);
    data->elements = 1;
    for (int i = 0; fits && i < b->rank; i++)
        fits = dims[i] >= 0 && checked_mul(data->elements, dims[i], &data->elements);
    if (!fits || !checked_mul(data->elements, type_bytes(b->type), &bytes)) {
        diag_error(c, E0633, span_none(),
                   "buffer '%s' does not fit in memory for these sizes: a dimension is negative, "
                   "or it has more than 2^63 bytes",
                   b->name);
        return false;
    }
    data->dims = dims;
    data->bytes = (size_t)bytes;
    return true;
}

/* Does the program say which values the buffer has? */
static bool is_spoken_of(const Module *m, int buffer)
{
    bool found = false;
    for (int i = 0; i < m->n_facts; i++)
        found |= m->facts[i].buffer == buffer;
    return found;
}

static void make_gentle(const ModuleBuffer *b, Data *data)
{
    int64_t columns = b->rank > 0 ? data->dims[b->rank - 1] : 1;
    double scale = 1;
    while (scale < (double)columns)
        scale *= 2;
    char *at = data->host;
    for (int64_t i = 0; i < data->elements; i++, at += type_bytes(b->type)) {
        bool diagonal = b->rank == 2 && i / columns == i % columns;
        double value = vm_value_double(b->type, vm_value_load(b->type, at)) / scale + diagonal;
        VmValue gentle = {0};
        if (b->type == DT_F64)
            gentle.f64 = value;
        else
            gentle.f32 = (float)value;
        vm_value_store(b->type, gentle, at);
    }
}

/* Takes the data of the workload that this one is like. */
static bool share_input(const Workload *w, int index)
{
    const Workload *like = w->like;
    Data *data = &w->data[index];
    if (!like || index >= like->m->n_buffers || like->data[index].bytes != data->bytes)
        return false;
    data->host = like->data[index].host;
    data->shared = data->host != NULL;
    return data->shared;
}

static bool make_input(Workload *w, int index)
{
    const ModuleBuffer *b = &w->m->buffers[index];
    Data *data = &w->data[index];
    if (share_input(w, index))
        return true;
    data->host = malloc(data->bytes + 1);
    if (!data->host) {
        diag_error(w->d->ctx, E0600, span_none(), "out of memory for %.1f MB of input '%s'",
                   (double)data->bytes / 1e6, b->name);
        return false;
    }
    if (w->given && w->given->buffers[index]) {
        memcpy(data->host, (const void *)(uintptr_t)w->given->buffers[index], data->bytes);
        return true;
    }
    Random r = random_new(w->seed, (uint64_t)index);
    bool filled = values_fill(&r, &(RandomData){.type = b->type,
                                                .to = data->host,
                                                .n = data->elements,
                                                .values = b->values,
                                                .sizes = w->sizes,
                                                .small = w->small});
    if (!filled)
        diag_error(w->d->ctx, E0653, span_none(),
                   "no random data for '%s' satisfy the order that '%s' requires", b->name,
                   w->m->name);
    if (filled && w->gentle && type_is_float(b->type) && !is_spoken_of(w->m, index))
        make_gentle(b, data);
    return filled;
}

static void make_scalars(Workload *w)
{
    Context *c = w->d->ctx;
    w->scalars = ARENA_ARRAY(c->arena, const void *, w->m->n_scalars + 1);
    for (int i = 0; i < w->m->n_scalars; i++) {
        Random r = random_new(w->seed, UINT64_MAX - (uint64_t)i);
        void *value = arena_alloc(c->arena, sizeof(int64_t));
        const void *known = w->like ? w->like->scalars[i] : w->given ? w->given->scalars[i] : NULL;
        DType type = w->m->scalars[i].type;
        w->scalars[i] = value;
        if (known) {
            memcpy(value, known, (size_t)type_bytes(type));
            continue;
        }
        SmallIntegers dense = {w->small ? w->small->magnitude : 0, 1};
        values_scalar(&r, &(RandomData){.type = type,
                                        .to = value,
                                        .values = w->m->scalars[i].values,
                                        .sizes = w->sizes,
                                        .small = w->small ? &dense : NULL});
    }
}

static bool make_buffers(Workload *w)
{
    for (int i = 0; i < w->m->n_buffers; i++) {
        if (!size_data(w, i))
            return false;
        if (!w->on_host)
            w->data[i].device = w->pointers[i] = w->d->ops->alloc(w->d, w->data[i].bytes);
        if ((!w->on_host && !w->pointers[i]) ||
            (has_input(w->m->buffers[i].role) && !make_input(w, i)))
            return false;
    }
    return true;
}

/* Makes the workload for these sizes, with the device, module and options of `plan`. */
static Workload *make_workload(const int64_t *sizes, Workload plan)
{
    Arena *arena = plan.d->ctx->arena;
    const Module *m = plan.m;
    Workload *w = ARENA_NEW(arena, Workload);
    *w = plan;
    w->sizes = ARENA_ARRAY(arena, int64_t, m->n_sizes + 1);
    w->pointers = ARENA_ARRAY(arena, DevicePtr, m->n_buffers + 1);
    w->data = ARENA_ARRAY(arena, Data, m->n_buffers + 1);
    if (m->n_sizes)
        memcpy(w->sizes, sizes, sizeof *sizes * (size_t)m->n_sizes);
    make_scalars(w);
    w->args = (RunArguments){w->sizes, w->scalars, w->pointers};
    bool made = make_buffers(w) && (w->on_host || workload_reset(w));
    w->like = NULL;
    w->small = NULL;
    w->given = NULL;
    if (made)
        return w;
    workload_free(w);
    return NULL;
}

Workload *workload_new(Device *d, const Module *m, const int64_t *sizes, uint64_t seed)
{
    return make_workload(sizes, (Workload){.d = d, .m = m, .seed = seed});
}

Workload *workload_new_given(Device *d, const Module *m, const RunArguments *given, uint64_t seed)
{
    return make_workload(given->sizes, (Workload){.d = d, .m = m, .seed = seed, .given = given});
}

Workload *workload_new_small(Device *d, const Module *m, const int64_t *sizes, uint64_t seed,
                             const SmallIntegers *from)
{
    return make_workload(sizes, (Workload){.d = d, .m = m, .seed = seed, .small = from});
}

Workload *workload_on_host(Device *d, const Module *m, const int64_t *sizes, uint64_t seed,
                           const SmallIntegers *from)
{
    return make_workload(sizes,
                         (Workload){.d = d, .m = m, .seed = seed, .small = from, .on_host = true});
}

Workload *workload_new_gentle(Device *d, const Module *m, const int64_t *sizes, uint64_t seed)
{
    return make_workload(sizes, (Workload){.d = d, .m = m, .seed = seed, .gentle = true});
}

Workload *workload_like(const Workload *of, const Module *m)
{
    return make_workload(of->sizes, (Workload){.d = of->d, .m = m, .seed = of->seed, .like = of});
}

void workload_free(Workload *w)
{
    if (!w)
        return;
    for (int i = 0; i < w->m->n_buffers; i++) {
        if (!w->data[i].shared)
            free(w->data[i].host);
        if (w->data[i].device)
            w->d->ops->free(w->d, w->data[i].device);
        w->data[i] = (Data){0};
    }
}

bool workload_reset(Workload *w)
{
    for (int i = 0; i < w->m->n_buffers; i++) {
        const Data *data = &w->data[i];
        if (data->host ? !w->d->ops->write(w->d, data->device, data->host, data->bytes)
                       : !w->d->ops->fill(w->d, data->device, POISON, data->bytes))
            return false;
    }
    return true;
}

const RunArguments *workload_arguments(const Workload *w)
{
    return &w->args;
}

int64_t workload_elements(const Workload *w, int index)
{
    return w->data[index].elements;
}

const int64_t *workload_dims(const Workload *w, int index)
{
    return w->data[index].dims;
}

const void *workload_input(const Workload *w, int index)
{
    return w->data[index].host;
}

int64_t workload_bytes(const Workload *w)
{
    int64_t bytes = 0;
    for (int i = 0; i < w->m->n_buffers; i++) {
        BufferRole role = w->m->buffers[i].role;
        if (role != BUFFER_TEMP)
            bytes += (int64_t)w->data[i].bytes * (role == BUFFER_INOUT ? 2 : 1);
    }
    return bytes;
}
