/* launch.c - Runs a module on the GPU: compiles it or takes it from the cache, loads it, and
 * launches its kernels.
 *
 * The host part of a module is a program of the virtual machine, the same for every device; it
 * calls back for each launch, and the arguments that the kernel declares are gathered here. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/tensor_map.h"

enum { SHARED_WITHOUT_ASKING = 48 * 1024 };

struct LoadedModule {
    const Module *module; /* outlives this */
    void *library;        /* NULL when there are no kernels */
    void **symbols;       /* [n_constants] where each is on the device */
    bool *filled;         /* [n_constants] in the run at work */
    uint64_t *slots;      /* [most arguments of a kernel] their values ... */
    void **pointers;      /* ... and where each is, as cudaLaunchKernel wants */
    TensorMap *maps;      /* [n_maps] */
    void *kernels[];
};

/* ---- loading --------------------------------------------------------------------------------- */

static bool need_nvrtc(CudaDevice *d)
{
    return d->api.nvrtc.nvrtcVersion || nvrtc_load(d->base.ctx, &d->api.nvrtc);
}

/* The machine code of the module in memory that the caller frees. */
static void *get_image(CudaDevice *d, const Module *m, size_t *bytes)
{
    Context *ctx = d->base.ctx;
    const char *arch = d->base.info.arch;
    NvrtcSettings settings;
    if (!need_nvrtc(d) || !nvrtc_settings(ctx, &d->api.nvrtc, arch, NVRTC_CUBIN, &settings))
        return NULL;
    const char *parts[3 + NVRTC_OPTIONS] = {"cubin", settings.version, m->source};
    for (int i = 0; i < NVRTC_OPTIONS; i++)
        parts[3 + i] = settings.options[i];
    CacheKey key = cache_key(parts, 3 + NVRTC_OPTIONS);
    void *image = cache_get(&d->cache, key, bytes);
    if (image)
        return image;
    NvrtcJob job = {m->source, arena_printf(ctx->arena, "%s.cu", m->name), arch, NVRTC_CUBIN,
                    false};
    image = nvrtc_build(ctx, &d->api.nvrtc, &job, bytes);
    if (image)
        cache_put(&d->cache, key, image, *bytes);
    return image;
}

bool cuda_compile_ahead(Context *ctx, const DeviceOptions *options, const Module *module)
{
    CudaDevice d = {.base = {.ctx = ctx}};
    size_t bytes;
    snprintf(d.base.info.arch, sizeof d.base.info.arch, "%s", options->arch);
    cache_open(&d.cache, options->cache_dir);
    void *image = get_image(&d, module, &bytes);
    cache_close(&d.cache);
    free(image);
    return image != NULL;
}

static bool check_shared(CudaDevice *d, const ModuleKernel *k)
{
    int64_t wanted = k->shared_static + k->shared_dynamic;
    if (wanted <= d->base.info.max_shared_per_block)
        return true;
    diag_error(d->base.ctx, E0617, span_none(),
               "kernel '%s' needs %lld bytes of shared memory per block, but '%s' has %lld; choose "
               "smaller tiles",
               k->name, (long long)wanted, d->base.info.name,
               (long long)d->base.info.max_shared_per_block);
    return false;
}

static bool load_kernel(CudaDevice *d, LoadedModule *l, int i)
{
    const ModuleKernel *k = &l->module->kernels[i];
    if (!check_shared(d, k) ||
        !CUDA_TRY(d, cudaLibraryGetKernel, &l->kernels[i], l->library, k->symbol))
        return false;
    return k->shared_dynamic == 0 ||
           k->shared_static + k->shared_dynamic <= SHARED_WITHOUT_ASKING ||
           CUDA_TRY(d, cudaFuncSetAttribute, l->kernels[i], CUDA_FUNC_MAX_DYNAMIC_SHARED,
                    (int)k->shared_dynamic);
}

static bool load_library(CudaDevice *d, LoadedModule *l)
{
    size_t bytes = 0;
    void *image = get_image(d, l->module, &bytes);
    if (!image)
        return false;
    bool ok = CUDA_TRY(d, cudaSetDevice, d->ordinal) &&
              CUDA_TRY(d, cudaLibraryLoadData, &l->library, image, NULL, NULL, 0, NULL, NULL, 0);
    free(image); /* the library keeps a copy */
    for (int i = 0; ok && i < l->module->n_kernels; i++)
        ok = load_kernel(d, l, i);
    for (int i = 0; ok && i < l->module->n_constants; i++)
        ok = CUDA_TRY(d, cudaLibraryGetGlobal, &l->symbols[i], &bytes, l->library,
                      l->module->constants[i].symbol);
    return ok;
}

static void free_loaded(LoadedModule *l)
{
    free(l->slots);
    free(l->pointers);
    free(l->maps);
    free(l->symbols);
    free(l->filled);
    free(l);
}

static LoadedModule *new_loaded(const Module *m)
{
    size_t most = 1;
    for (int i = 0; i < m->n_kernels; i++)
        if ((size_t)m->kernels[i].n_arguments > most)
            most = (size_t)m->kernels[i].n_arguments;
    LoadedModule *l = calloc(1, sizeof *l + (size_t)m->n_kernels * sizeof *l->kernels);
    if (!l)
        return NULL;
    l->module = m;
    l->slots = calloc(most, sizeof *l->slots);
    l->pointers = calloc(most, sizeof *l->pointers);
    l->symbols = calloc((size_t)m->n_constants + 1, sizeof *l->symbols);
    l->filled = calloc((size_t)m->n_constants + 1, sizeof *l->filled);
    l->maps = aligned_alloc(_Alignof(TensorMap), ((size_t)m->n_maps + 1) * sizeof *l->maps);
    if (l->slots && l->pointers && l->maps && l->symbols && l->filled)
        return l;
    free_loaded(l);
    return NULL;
}

LoadedModule *cuda_load(Device *device, const Module *module)
{
    CudaDevice *d = (CudaDevice *)device;
    if (!module->source)
        TIRC_BUG(device->ctx, "module '%s' has no CUDA source and was given to a GPU",
                 module->name);
    LoadedModule *l = new_loaded(module);
    if (!l) {
        diag_error(device->ctx, E0600, span_none(), "out of memory while loading '%s'",
                   module->name);
        return NULL;
    }
    if (module->n_kernels == 0 || load_library(d, l))
        return l;
    cuda_unload(device, l);
    return NULL;
}

void cuda_unload(Device *device, LoadedModule *l)
{
    CudaDevice *d = (CudaDevice *)device;
    if (!l)
        return;
    if (l->library)
        CUDA_RELEASE(d, cudaLibraryUnload, l->library);
    free_loaded(l);
}

/* ---- launching ------------------------------------------------------------------------------- */

typedef struct {
    CudaDevice *device;
    LoadedModule *loaded;
    const RunArguments *args;
} CudaRun;

static bool refuse_index(const CudaRun *r, const char *what, const char *is)
{
    diag_error(r->device->base.ctx, E0618, span_none(),
               "%s is %s, but this kernel uses 32-bit indices (at most %d); set the sizes with -D, "
               "or use 64-bit indices (--index64)",
               what, is, INT32_MAX);
    return false;
}

/* An INDEX is an int in the kernel. */
static bool put_index(const CudaRun *r, const char *name, int64_t value, uint64_t *slot)
{
    Arena *arena = r->device->base.ctx->arena;
    if (value < INT32_MIN || value > INT32_MAX)
        return refuse_index(r, arena_printf(arena, "'%s'", name),
                            arena_printf(arena, "%lld", (long long)value));
    int32_t narrow = (int32_t)value;
    memcpy(slot, &narrow, sizeof narrow);
    return true;
}

static bool put_value(const CudaRun *r, const char *name, DType type, VmValue value, uint64_t *slot)
{
    if (type == DT_INDEX)
        return put_index(r, name, value.i64, slot);
    vm_value_store(type, value, slot);
    return true;
}

static bool put_argument(const CudaRun *r, const KernelArgument *a, const VmLaunch *launch,
                         uint64_t *slot, void **pointer)
{
    const Module *m = r->loaded->module;
    *pointer = slot;
    switch (a->kind) {
    case ARG_BUFFER: *slot = r->args->buffers[a->index]; return true;
    case ARG_MAP:
        *pointer = &r->loaded->maps[a->index];
        return tensor_map_make(r->device, m, &m->maps[a->index], r->args, *pointer);
    case ARG_SCALAR:
        *pointer = (void *)(uintptr_t)r->args->scalars[a->index]; /* only read */
        return true;
    case ARG_SIZE:
        return put_value(r, m->sizes[a->index].name, a->type,
                         (VmValue){.i64 = r->args->sizes[a->index]}, slot);
    case ARG_HOST:
        return put_value(r, "a loop variable of the host part", a->type, launch->values[a->index],
                         slot);
    }
    return false;
}

static bool check_grid(const CudaRun *r, const ModuleKernel *k, const int64_t grid[3])
{
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    for (int i = 0; i < 3; i++)
        if (grid[i] < 1 || grid[i] > limit[i]) {
            diag_error(
                r->device->base.ctx, E0617, span_none(),
                "kernel '%s' would launch a grid of %lld x %lld x %lld blocks, but CUDA allows at "
                "most %lld in %c; give each block more work, or bind the loop to blockIdx.x",
                k->name, (long long)grid[0], (long long)grid[1], (long long)grid[2],
                (long long)limit[i], "xyz"[i]);
            return false;
        }
    return true;
}

static CudaDim3 dim3_of(const int64_t v[3])
{
    return (CudaDim3){(unsigned)v[0], (unsigned)v[1], (unsigned)v[2]};
}

/* The kernel's constant memory gets what it is a copy of: an input once in a run, a temp before
 * each launch. */
static bool fill_constants(const CudaRun *r, const ModuleKernel *k)
{
    LoadedModule *l = r->loaded;
    for (int i = 0; i < k->n_constants; i++) {
        int number = k->constants[i];
        const ModuleConstant *c = &l->module->constants[number];
        const void *from = (const void *)(uintptr_t)r->args->buffers[c->buffer];
        if (l->filled[number] && !c->changes)
            continue;
        if (!CUDA_TRY(r->device, cudaMemcpyAsync, l->symbols[number], from, (size_t)c->bytes,
                      CUDA_WITHIN_DEVICE, r->device->stream))
            return false;
        l->filled[number] = true;
    }
    return true;
}

static bool launch_kernel(void *user, const VmLaunch *launch)
{
    const CudaRun *r = user;
    LoadedModule *l = r->loaded;
    const ModuleKernel *k = &l->module->kernels[launch->kernel];
    if (!check_grid(r, k, launch->grid) || !fill_constants(r, k))
        return false;
    for (int i = 0; i < k->n_arguments; i++)
        if (!put_argument(r, &k->arguments[i], launch, &l->slots[i], &l->pointers[i]))
            return false;
    return CUDA_TRY(r->device, cudaLaunchKernel, l->kernels[launch->kernel], dim3_of(launch->grid),
                    dim3_of(k->block), l->pointers, (size_t)k->shared_dynamic, r->device->stream);
}

bool cuda_run(Device *device, LoadedModule *loaded, const RunArguments *args)
{
    CudaRun r = {(CudaDevice *)device, loaded, args};
    VmFault *fault = &device->fault;
    memset(fault, 0, sizeof *fault);
    memset(loaded->filled, 0, (size_t)loaded->module->n_constants * sizeof *loaded->filled);
    const ModuleLimit *broken = module_broken_limit(loaded->module, args->sizes);
    if (broken)
        return refuse_index(&r, broken->text, "larger");
    if (!CUDA_TRY(r.device, cudaSetDevice, r.device->ordinal))
        return false;
    if (vm_run_host(loaded->module, args, launch_kernel, &r, fault))
        return true;
    if (fault->kind != FAULT_STOPPED) /* else the launch has said why */
        diag_error(device->ctx, E0620, fault->span, "the host part of '%s' failed: %s",
                   loaded->module->name, fault->message);
    return false;
}
