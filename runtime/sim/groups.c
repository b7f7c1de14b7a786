/* groups.c - Runs a launch with the threads of a block in groups, which take turns at barriers.
 *
 * The machine runs all threads of a block in lockstep, which can hide a missing barrier. Here each
 * group runs from barrier to barrier before the next one starts, which reverses the order of
 * unsynchronized accesses. Each group is a machine of its own (VmState); they share the block's
 * memory. */
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

static bool turns_open(Turns *t, const ModuleKernel *kernel, int width, const VmValue *inputs,
                       const uint64_t *buffers)
{
    const int64_t *shape = kernel->block;
    int threads = (int)(shape[0] * shape[1] * shape[2]);
    t->groups = calloc((size_t)((threads + width - 1) / width), sizeof(VmState *));
    for (int first = 0; t->groups && first < threads; first += width) {
        int lanes = threads - first < width ? threads - first : width;
        VmState *st =
            vm_open_group(kernel->code, &(VmLanes){.shape = shape, .first = first, .lanes = lanes},
                          t->n ? t->groups[0] : NULL, inputs, buffers);
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

static bool run_block(Turns *t, const int64_t block[3], VmFault *fault)
{
    for (int i = 0; i < t->n; i++)
        vm_begin(t->groups[i], block);
    do {
        for (int turn = 0; turn < t->n; turn++) {
            VmState *st = group_at(t, turn);
            if (!vm_continue(st) || !stopped_together(st, group_at(t, 0))) {
                *fault = st->fault;
                return false;
            }
        }
    } while (t->groups[0]->pc >= 0);
    return true;
}

bool vm_run_kernel_in_groups(const Module *m, const RunArguments *args, const VmLaunch *launch,
                             VmGroups groups, VmFault *fault)
{
    const ModuleKernel *kernel = &m->kernels[launch->kernel];
    const int64_t *grid = launch->grid;
    int64_t blocks = grid[0] * grid[1] * grid[2];
    Turns t = {.reversed = groups.reversed};
    VmValue *inputs = vm_inputs(m, args, launch);
    bool ok = inputs && turns_open(&t, kernel, groups.width, inputs, args->buffers);
    *fault = (VmFault){.kind = ok ? FAULT_NONE : FAULT_NO_MEMORY, .function = kernel->name};
    bool falling = groups.reversed && !kernel->code->awaits;
    for (int64_t i = 0; i < blocks && ok; i++) {
        int64_t number = falling ? blocks - 1 - i : i;
        int64_t block[3] = {number % grid[0], number / grid[0] % grid[1],
                            number / grid[0] / grid[1]};
        ok = run_block(&t, block, fault);
    }
    turns_close(&t);
    free(inputs);
    return ok;
}
