/* groups.c - Runs a launch with the threads of a block in groups, which take turns at barriers.
 *
 * The machine runs all threads of a block in lockstep, which can hide a missing barrier. Here each
 * group runs from barrier to barrier before the next one starts, which reverses the order of
 * unsynchronized accesses. Each group is a machine of its own (VmState); they share the block's
 * memory. Consumers of a block with roles stay together, beside their producer (roles.c). */
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/internal.h"

typedef struct {
    VmState **groups;
    int n;
    bool reversed;
} Turns;

static VmState *group_at(const Turns *t, int turn)
{
    return t->groups[t->reversed ? t->n - 1 - turn : turn];
}

/* What all groups of a launch are opened with. */
typedef struct {
    const ModuleKernel *kernel;
    const VmValue *inputs;
    const uint64_t *buffers;
} Opening;

/* The groups of the block with this rank; `cluster` is a group of the first one, or NULL. */
static bool turns_open(Turns *t, const Opening *with, int width, int rank, VmState *cluster)
{
    const int64_t *shape = with->kernel->block;
    int threads = (int)(shape[0] * shape[1] * shape[2]);
    t->groups = calloc((size_t)((threads + width - 1) / width), sizeof(VmState *));
    if (t->groups && with->kernel->code->consumers) {
        VmLanes all = {.shape = shape, .lanes = threads, .rank = rank, .cluster = cluster};
        VmState *st = vm_open_block(with->kernel->code, &all, with->inputs, with->buffers);
        if (!st)
            return false;
        st->takes_turns = true;
        t->groups[t->n++] = st;
        return true;
    }
    for (int first = 0; t->groups && first < threads; first += width) {
        VmLanes of = {.shape = shape, .first = first, .rank = rank, .cluster = cluster};
        of.lanes = threads - first < width ? threads - first : width;
        VmState *st = vm_open_group(with->kernel->code, &of, t->n ? t->groups[0] : NULL,
                                    with->inputs, with->buffers);
        if (!st)
            return false;
        st->in_kernel = st->yields = true;
        t->groups[t->n++] = st;
    }
    return t->groups;
}

static void turns_close(Turns *t)
{
    for (int i = 0; i < t->n; i++)
        vm_close(t->groups[i]);
    free(t->groups);
}

/* All groups must stop at the same barrier as the first. */
static bool stopped_together(VmState *st, const VmState *first)
{
    if (st->pc == first->pc)
        return true;
    VmState *waits = st->pc < 0 ? (VmState *)first : st;
    return vm_fault(st, &st->steps[waits->pc - 1], FAULT_DIVERGENT_BARRIER, 0,
                    "threads from %d on stop elsewhere than threads from %d on", st->first,
                    first->first);
}

/* It has ended, or stops at a barrier of the cluster. */
static bool has_turned(const VmState *st)
{
    return st->pc < 0 || st->steps[st->pc - 1].inst->sub == VM_OF_CLUSTER;
}

static bool run_block(Turns *t, VmFault *fault)
{
    do {
        for (int turn = 0; turn < t->n; turn++) {
            VmState *st = group_at(t, turn);
            if (!vm_continue(st) || !stopped_together(st, group_at(t, 0))) {
                *fault = st->fault;
                return false;
            }
        }
    } while (!has_turned(t->groups[0]));
    return true;
}

/* The blocks of one cluster, one after the other from barrier to barrier of the cluster; those with
 * roles together. */
typedef struct {
    Turns blocks[VM_MOST_BLOCKS];
    VmState *with_roles[VM_MOST_BLOCKS];
    int n;
    bool reversed; /* clusters and their blocks in falling order, where none awaits one before it */
} TurnsOfCluster;

static bool cluster_open(TurnsOfCluster *c, const Opening *with, VmGroups groups)
{
    const VmFunction *code = with->kernel->code;
    *c = (TurnsOfCluster){.n = code->cluster, .reversed = groups.reversed && !code->awaits};
    for (int rank = 0; rank < c->n; rank++) {
        Turns *t = &c->blocks[rank];
        t->reversed = groups.reversed;
        if (!turns_open(t, with, groups.width, rank, rank ? c->blocks[0].groups[0] : NULL))
            return false;
        c->with_roles[rank] = t->groups[0];
    }
    vm_roles_join(c->with_roles, c->n);
    return true;
}

static void cluster_close(TurnsOfCluster *c)
{
    for (int rank = c->n - 1; rank >= 0; rank--) /* the first has the memory of all */
        turns_close(&c->blocks[rank]);
}

static void cluster_begin(TurnsOfCluster *c, int64_t number, const int64_t grid[3])
{
    for (int rank = 0; rank < c->n; rank++) {
        int64_t block = number * c->n + rank;
        int64_t at[3] = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
        for (int i = 0; i < c->blocks[rank].n; i++)
            vm_begin(c->blocks[rank].groups[i], at);
    }
}

static bool run_roles(TurnsOfCluster *c, VmFault *fault)
{
    VmState *faulty;
    if (vm_take_turns(c->with_roles, c->n, &faulty))
        return true;
    *fault = faulty->fault;
    return false;
}

static bool run_cluster(TurnsOfCluster *c, VmFault *fault)
{
    bool roles = c->with_roles[0]->producer;
    do {
        if (roles && !run_roles(c, fault))
            return false;
        for (int i = 0; i < c->n && !roles; i++)
            if (!run_block(&c->blocks[c->reversed ? c->n - 1 - i : i], fault))
                return false;
    } while (c->blocks[0].groups[0]->pc >= 0);
    return true;
}

bool vm_run_kernel_in_groups(const Module *m, const RunArguments *args, const VmLaunch *launch,
                             VmGroups groups, VmFault *fault)
{
    const ModuleKernel *kernel = &m->kernels[launch->kernel];
    const int64_t *grid = launch->grid;
    int64_t clusters = grid[0] * grid[1] * grid[2] / kernel->code->cluster;
    TurnsOfCluster c = {0};
    VmValue *inputs = vm_inputs(m, args, launch);
    bool ok = inputs && cluster_open(&c, &(Opening){kernel, inputs, args->buffers}, groups);
    *fault = (VmFault){.kind = ok ? FAULT_NONE : FAULT_NO_MEMORY, .function = kernel->name};
    for (int64_t i = 0; i < clusters && ok; i++) {
        cluster_begin(&c, c.reversed ? clusters - 1 - i : i, grid);
        ok = run_cluster(&c, fault);
    }
    cluster_close(&c);
    free(inputs);
    return ok;
}
