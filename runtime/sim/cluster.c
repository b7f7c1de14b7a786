/* cluster.c - Runs the blocks of a cluster, which take turns at the barriers of the cluster.
 *
 * Each block is a machine of its own (VmState); they share the cluster's memory. A launch without
 * clusters has clusters of one block. */
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/internal.h"

bool vm_cluster_open(VmCluster *c, const ModuleKernel *kernel, const VmValue *inputs,
                     const uint64_t *buffers)
{
    const int64_t *shape = kernel->block;
    VmLanes all = {.shape = shape, .lanes = (int)(shape[0] * shape[1] * shape[2])};
    *c = (VmCluster){.n = kernel->code->cluster};
    for (; all.rank < c->n; all.rank++) {
        all.cluster = c->blocks[0];
        VmState *st = vm_open_block(kernel->code, &all, inputs, buffers);
        if (!st)
            return false;
        st->in_kernel = true;
        st->takes_turns = c->n > 1;
        c->blocks[all.rank] = st;
    }
    vm_roles_join(c->blocks, c->n);
    return true;
}

void vm_cluster_close(VmCluster *c)
{
    for (int i = c->n - 1; i >= 0; i--) /* the first has the memory of all */
        vm_close(c->blocks[i]);
}

bool vm_cluster_watch(VmCluster *c, VmShadow *shadow, bool concurrent)
{
    for (int i = 0; i < c->n; i++)
        if (!vm_shadow_attach(c->blocks[i], c->blocks[0], shadow, concurrent))
            return false;
    return true;
}

/* All blocks stop at the same barrier, or end, as the first. */
static bool stopped_together(VmState *st, const VmState *first)
{
    if (st->pc == first->pc)
        return true;
    VmState *waits = st->pc < 0 ? (VmState *)first : st;
    return vm_fault(st, &st->steps[waits->pc - 1], FAULT_DIVERGENT_BARRIER, 0,
                    "block %d of the cluster stops elsewhere than block 0", st->rank);
}

/* From the start, or a barrier of the cluster, to the next one. Blocks with roles have come there
 * together. */
static bool turn(VmCluster *c, VmState *st)
{
    return (st->producer || vm_go_on(st)) && stopped_together(st, c->blocks[0]) &&
           (st->pc >= 0 || vm_shadow_end(st));
}

VmState *vm_cluster_run(VmCluster *c, int64_t number, const int64_t grid[3])
{
    for (int i = 0; i < c->n; i++) {
        int64_t block = number * c->n + i;
        int64_t at[3] = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
        c->blocks[i]->block_number = block;
        vm_begin(c->blocks[i], at);
    }
    do {
        VmState *faulty;
        if (c->blocks[0]->producer && !vm_take_turns(c->blocks, c->n, &faulty))
            return faulty;
        for (int i = 0; i < c->n; i++)
            if (!turn(c, c->blocks[i]))
                return c->blocks[i];
    } while (c->blocks[0]->pc >= 0);
    return NULL;
}
