/* vm.c - Implements the entry points of the virtual machine: run a host part, a launch, a shape. */
#include "runtime/vm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/internal.h"
#include "runtime/threads.h"

const char *fault_name(FaultKind kind)
{
    static const char *const names[] = {
#define FAULT(e, name, meaning) name,
#include "runtime/fault.def"
#undef FAULT
    };
    return names[kind];
}

/* ---- arguments ----------------------------------------------------------------------------- */

VmValue *vm_inputs(const Module *m, const RunArguments *args, const VmLaunch *launch)
{
    int n = m->n_sizes + m->n_scalars, extra = launch ? launch->n_values : 0;
    VmValue *inputs = calloc((size_t)(n + extra) + 1, sizeof *inputs);
    if (!inputs)
        return NULL;
    for (int i = 0; i < m->n_sizes; i++)
        inputs[i].i64 = args->sizes[i];
    for (int i = 0; i < m->n_scalars; i++)
        inputs[m->n_sizes + i] = vm_value_load(m->scalars[i].type, args->scalars[i]);
    if (extra)
        memcpy(inputs + n, launch->values, sizeof *inputs * (size_t)extra);
    return inputs;
}

static bool no_memory(const VmFunction *f, VmFault *fault)
{
    *fault = (VmFault){.kind = FAULT_NO_MEMORY,
                       .function = f->name,
                       .message = "out of memory for the registers of a block"};
    return false;
}

/* ---- the host part ------------------------------------------------------------------------- */

bool vm_run_host(const Module *m, const RunArguments *args, VmLaunchFn *launch, void *user,
                 VmFault *fault)
{
    static const int64_t origin[3] = {0, 0, 0};
    const int64_t shape[3] = {m->host->lanes > 0 ? m->host->lanes : 1, 1, 1};
    VmValue *inputs = vm_inputs(m, args, NULL);
    VmState *st = inputs ? vm_open(m->host, shape, inputs, args->buffers) : NULL;
    free(inputs);
    if (!st)
        return no_memory(m->host, fault);
    st->launch = launch;
    st->user = user;
    bool ok = vm_run(st, origin);
    *fault = st->fault;
    vm_close(st);
    return ok;
}

bool vm_eval_shape(const VmFunction *f, const int64_t *sizes, int64_t *dims)
{
    static const int64_t one[3] = {1, 1, 1}, origin[3] = {0, 0, 0};
    VmValue *inputs = calloc((size_t)f->n_inputs + 1, sizeof *inputs);
    if (!inputs)
        return false;
    for (int i = 0; i < f->n_inputs; i++)
        inputs[i].i64 = sizes[i];
    VmState *st = vm_open(f, one, inputs, NULL);
    free(inputs);
    bool ok = st && vm_run(st, origin);
    for (int i = 0; ok && i < f->n_outputs; i++)
        dims[i] = *(const int64_t *)st->registers[f->outputs[i]];
    vm_close(st);
    return ok;
}

/* ---- a launch ------------------------------------------------------------------------------ */

/* Clusters of blocks are handed out in order. A fault stops those behind it; those before it were
 * handed out already and finish, so the first fault is found whatever the threads do. */
typedef struct {
    const Module *m;
    const RunArguments *args;
    const VmLaunch *launch;
    const VmRunOptions *options;
    const VmValue *inputs;
    int64_t clusters; /* to be run */
    int cluster;      /* blocks of each */
    pthread_mutex_t lock;
    int64_t next;      /* under the lock, as are the next two: counted among those to be run */
    int64_t first_bad; /* the number of a block */
    int workers;
    bool concurrent;
    VmFault *fault;
} Grid;

static bool grid_take(Grid *g, int64_t *cluster)
{
    pthread_mutex_lock(&g->lock);
    bool some = g->next < g->clusters;
    *cluster = g->options->clusters && some ? g->options->clusters[g->next] : g->next;
    bool more = some && *cluster * g->cluster < g->first_bad;
    g->next += more;
    pthread_mutex_unlock(&g->lock);
    return more;
}

static void grid_report(Grid *g, int64_t block, const VmFault *fault)
{
    pthread_mutex_lock(&g->lock);
    if (block < g->first_bad) {
        g->first_bad = block;
        *g->fault = *fault;
    }
    pthread_mutex_unlock(&g->lock);
}

static int grid_join(Grid *g)
{
    pthread_mutex_lock(&g->lock);
    int worker = g->workers++;
    pthread_mutex_unlock(&g->lock);
    return worker;
}

/* What the blocks of a cluster found that is the fault of later ones. */
static void report_deferred(Grid *g, const VmCluster *c)
{
    VmFault fault;
    for (int i = 0; i < c->n; i++) {
        int64_t later = vm_shadow_deferred(c->blocks[i], &fault);
        if (later >= 0)
            grid_report(g, later, &fault);
    }
}

static void *grid_work(void *user)
{
    Grid *g = user;
    const ModuleKernel *kernel = &g->m->kernels[g->launch->kernel];
    VmCluster cluster;
    bool ok = vm_cluster_open(&cluster, kernel, g->inputs, g->args->buffers);
    if (!ok ||
        (g->options->shadow && !vm_cluster_watch(&cluster, g->options->shadow, g->concurrent))) {
        VmFault fault;
        no_memory(kernel->code, &fault);
        grid_report(g, 0, &fault);
        vm_cluster_close(&cluster);
        return NULL;
    }
    int worker = g->options->observer ? grid_join(g) : 0;
    for (int i = 0; i < cluster.n && g->options->observer; i++)
        vm_observe(cluster.blocks[i], g->options->observer, worker);
    for (int64_t number; grid_take(g, &number);) {
        const VmState *bad = vm_cluster_run(&cluster, number, g->launch->grid);
        if (bad)
            grid_report(g, bad->block_number, &bad->fault);
        report_deferred(g, &cluster);
    }
    vm_cluster_close(&cluster);
    return NULL;
}

static int worker_count(const VmFunction *f, int64_t clusters, int threads)
{
    int cores = threads > 0 ? threads : threads_usable();
    if (f->ordered)
        return 1;
    if (cores > VM_WORKERS)
        cores = VM_WORKERS;
    return cores < clusters ? cores : (int)clusters;
}

bool vm_run_kernel(const Module *m, const RunArguments *args, const VmLaunch *launch,
                   const VmRunOptions *options, VmFault *fault)
{
    static const VmRunOptions plain = {0};
    const VmFunction *code = m->kernels[launch->kernel].code;
    *fault = (VmFault){.kind = FAULT_NONE};
    Grid g = {.m = m, .args = args, .launch = launch, .fault = fault, .first_bad = INT64_MAX};
    g.options = options ? options : &plain;
    g.cluster = code->cluster;
    g.clusters = g.options->clusters
                     ? g.options->n_clusters
                     : launch->grid[0] * launch->grid[1] * launch->grid[2] / code->cluster;
    VmValue *inputs = vm_inputs(m, args, launch);
    int workers = worker_count(code, g.clusters, g.options->threads), started = 0;
    pthread_t *others = calloc((size_t)workers, sizeof *others);
    if (!inputs || !others) {
        free(inputs);
        free(others);
        return no_memory(code, fault);
    }
    g.inputs = inputs;
    g.concurrent = workers > 1;
    if (g.options->shadow)
        vm_shadow_launch(g.options->shadow, launch->kernel, launch->grid);
    pthread_mutex_init(&g.lock, NULL);
    while (started < workers - 1 && pthread_create(&others[started], NULL, grid_work, &g) == 0)
        started++;
    grid_work(&g);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    pthread_mutex_destroy(&g.lock);
    free(others);
    free(inputs);
    return fault->kind == FAULT_NONE;
}
