/* sim.c - Implements the simulated GPU as a device: its memory is the memory of this process, and
 * kernels run on the virtual machine (vm.h).
 *
 * Launches obey the limits of compute capability 9.0, so that what runs here can run there. A
 * fault stops the run, is kept in device->fault, and becomes a diagnostic at the program line that
 * it comes from. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/device.h"

enum {
    MAX_THREADS = 1024,
    MAX_GRID_YZ = 65535,
    MAX_SHARED = 232448,
    WARP = 32,
    ALIGNMENT = 256,
};

typedef struct {
    Device base;
    double marks[2];  /* in milliseconds */
    VmShadow *shadow; /* of the latest run of all blocks, or NULL */
} SimDevice;

struct LoadedModule {
    const Module *module;
};

static void sim_close(Device *d)
{
    vm_shadow_free(((SimDevice *)d)->shadow);
    free(d);
}

/* ---- memory -------------------------------------------------------------------------------- */

static DevicePtr sim_alloc(Device *d, size_t bytes)
{
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *p = rounded < bytes ? NULL : aligned_alloc(ALIGNMENT, rounded ? rounded : ALIGNMENT);
    if (!p)
        diag_error(d->ctx, E0631, span_none(),
                   "the simulator is out of memory: it needs %.1f MB for one buffer; choose "
                   "smaller sizes with -D",
                   (double)bytes / 1e6);
    return (DevicePtr)(uintptr_t)p;
}

static void sim_free(Device *d, DevicePtr p)
{
    (void)d;
    free((void *)(uintptr_t)p);
}

static bool sim_write(Device *d, DevicePtr to, const void *from, size_t bytes)
{
    (void)d;
    if (bytes)
        memcpy((void *)(uintptr_t)to, from, bytes);
    return true;
}

static bool sim_read(Device *d, void *to, DevicePtr from, size_t bytes)
{
    (void)d;
    if (bytes)
        memcpy(to, (const void *)(uintptr_t)from, bytes);
    return true;
}

static bool sim_fill(Device *d, DevicePtr to, int byte, size_t bytes)
{
    (void)d;
    if (bytes)
        memset((void *)(uintptr_t)to, byte, bytes);
    return true;
}

/* ---- running ------------------------------------------------------------------------------- */

static LoadedModule *sim_load(Device *d, const Module *module)
{
    for (int i = 0; i < module->n_kernels; i++) {
        const ModuleKernel *k = &module->kernels[i];
        int64_t threads = 1;
        for (int axis = 0; axis < 3; axis++)
            threads = k->block[axis] > 0 && k->block[axis] <= MAX_THREADS ? threads * k->block[axis]
                                                                          : MAX_THREADS + 1;
        if (threads <= MAX_THREADS && k->code->shared_bytes <= MAX_SHARED)
            continue;
        diag_error(d->ctx, E0632, span_none(),
                   "kernel '%s' has blocks of %lldx%lldx%lld threads with %lld bytes of shared "
                   "memory, but a block has at most %d threads and %d bytes",
                   k->name, (long long)k->block[0], (long long)k->block[1], (long long)k->block[2],
                   (long long)k->code->shared_bytes, MAX_THREADS, MAX_SHARED);
        return NULL;
    }
    LoadedModule *loaded = ARENA_NEW(d->ctx->arena, LoadedModule);
    loaded->module = module;
    return loaded;
}

static void sim_unload(Device *d, LoadedModule *m)
{
    (void)d;
    (void)m;
}

typedef struct {
    Device *d;
    const Module *module;
    const RunArguments *args;
    SimTake *take;
    void *user;
    VmShadow *shadow; /* of a run of all blocks */
    VmFault fault;    /* of the launch that stopped the run */
} SimRun;

struct SimLaunch {
    SimRun *run;
    const VmLaunch *launch;
};

const VmLaunch *sim_launch_of(const SimLaunch *launch)
{
    return launch->launch;
}

bool sim_run_blocks(const SimLaunch *l, const VmRunOptions *options)
{
    SimRun *run = l->run;
    return vm_run_kernel(run->module, run->args, l->launch, options, &run->fault);
}

static bool sim_launch(void *user, const VmLaunch *launch)
{
    SimRun *run = user;
    SimLaunch l = {run, launch};
    const VmRunOptions checked = {.shadow = run->shadow};
    const int64_t *grid = launch->grid;
    int cluster = run->module->kernels[launch->kernel].code->cluster;
    if (grid[0] % cluster != 0) {
        diag_error(run->d->ctx, E0632, span_none(),
                   "kernel '%s' is launched with %lld blocks along x, which are no clusters of %d",
                   run->module->kernels[launch->kernel].name, (long long)grid[0], cluster);
        return false;
    }
    if (grid[0] <= INT32_MAX && grid[1] <= MAX_GRID_YZ && grid[2] <= MAX_GRID_YZ)
        return run->take ? run->take(run->user, &l) : sim_run_blocks(&l, &checked);
    diag_error(run->d->ctx, E0632, span_none(),
               "kernel '%s' is launched with a grid of %lldx%lldx%lld blocks, but a grid has at "
               "most %dx%dx%d",
               run->module->kernels[launch->kernel].name, (long long)grid[0], (long long)grid[1],
               (long long)grid[2], INT32_MAX, MAX_GRID_YZ, MAX_GRID_YZ);
    return false;
}

static void report_fault(Device *d, const VmFault *f)
{
    if (f->kind == FAULT_NEVER_WRITTEN) {
        diag_error(d->ctx, E0630, f->span, "%s: %s", fault_name(f->kind), f->message);
        return;
    }
    if (!f->in_kernel) {
        diag_error(d->ctx, E0630, f->span, "%s: in the host part of '%s', %s", fault_name(f->kind),
                   f->function, f->message);
        return;
    }
    diag_error(d->ctx, E0630, f->span,
               "%s: thread (%lld, %lld, %lld) of block (%lld, %lld, %lld) of kernel '%s': %s",
               fault_name(f->kind), (long long)f->thread[0], (long long)f->thread[1],
               (long long)f->thread[2], (long long)f->block[0], (long long)f->block[1],
               (long long)f->block[2], f->function, f->message);
    const VmOther *o = &f->other;
    if (o->known)
        diag_note(d->ctx, o->span,
                  "thread (%lld, %lld, %lld) of block (%lld, %lld, %lld) %s it here",
                  (long long)o->thread[0], (long long)o->thread[1], (long long)o->thread[2],
                  (long long)o->block[0], (long long)o->block[1], (long long)o->block[2], o->does);
}

static bool no_notes(Device *d)
{
    diag_error(d->ctx, E0631, span_none(),
               "the simulator is out of memory for its record of each element; choose smaller "
               "sizes with -D");
    return false;
}

bool sim_run_with(Device *d, LoadedModule *m, const RunArguments *args, SimTake *take, void *user)
{
    SimRun run = {.d = d, .module = m->module, .args = args, .take = take, .user = user};
    VmFault fault;
    SimDevice *sim = (SimDevice *)d;
    d->fault = (VmFault){.kind = FAULT_NONE};
    vm_shadow_free(sim->shadow);
    sim->shadow = NULL;
    if (!take && !(run.shadow = vm_shadow_new(m->module, args)))
        return no_notes(d);
    bool ok = vm_run_host(m->module, args, sim_launch, &run, &fault) &&
              (!run.shadow || vm_shadow_complete(run.shadow, &fault));
    sim->shadow = run.shadow;
    if (ok)
        return true;
    d->fault = fault.kind == FAULT_STOPPED ? run.fault : fault;
    if (d->fault.kind != FAULT_NONE) /* else a launch was refused, with a diagnostic */
        report_fault(d, &d->fault);
    return false;
}

static bool sim_run(Device *d, LoadedModule *m, const RunArguments *args)
{
    return sim_run_with(d, m, args, NULL, NULL);
}

static bool sim_writer(Device *d, const VmElement *element, VmFault *who, VmPlace *store)
{
    const VmShadow *shadow = ((SimDevice *)d)->shadow;
    return shadow && vm_shadow_writer(shadow, element, who, store);
}

static bool sim_sync(Device *d)
{
    (void)d;
    return true;
}

/* ---- time ---------------------------------------------------------------------------------- */

static bool sim_mark(Device *d, int which)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ((SimDevice *)d)->marks[which] = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
    return true;
}

static bool sim_elapsed(Device *d, double *ms)
{
    const SimDevice *sim = (const SimDevice *)d;
    *ms = sim->marks[1] - sim->marks[0];
    return true;
}

static bool sim_flush(Device *d)
{
    (void)d;
    return true;
}

Device *device_open_sim(Context *ctx, const DeviceOptions *options)
{
    static const DeviceOps ops = {
        .close = sim_close,
        .alloc = sim_alloc,
        .free = sim_free,
        .write = sim_write,
        .read = sim_read,
        .fill = sim_fill,
        .load = sim_load,
        .unload = sim_unload,
        .run = sim_run,
        .sync = sim_sync,
        .mark = sim_mark,
        .elapsed = sim_elapsed,
        .flush_l2 = sim_flush,
        .writer = sim_writer,
    };
    SimDevice *sim = calloc(1, sizeof *sim);
    if (!sim) {
        diag_error(ctx, E0600, span_none(), "out of memory for the simulator");
        return NULL;
    }
    sim->base.ops = &ops;
    sim->base.ctx = ctx;
    DeviceInfo *info = &sim->base.info;
    strcpy(info->name, "simulator");
    info->kind = DEVICE_SIM;
    const char *arch = options && options->arch ? options->arch : "sm_90a";
    strncpy(info->arch, arch, sizeof info->arch - 1);
    info->multiprocessors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    info->warp_size = WARP;
    info->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    info->max_shared_per_block = MAX_SHARED;
    return &sim->base;
}
