/* observe.c - Notifies an observer of the actions of a block, warp by warp. */
#include <string.h>

#include "runtime/sim/internal.h"

enum { WARP = 32 };

static const int64_t *indices(const VmStep *s)
{
    return s->a;
}

/* The lanes of the warp from `first` on that run. */
static uint32_t active_lanes(const VmState *st, int first)
{
    uint32_t active = 0;
    for (int i = 0; i < WARP && first + i < st->lanes; i++)
        active |= (uint32_t)vm_runs(st, first + i) << i;
    return active;
}

/* The number of the element in the memory of the block that has it. */
static int64_t in_block(const VmBuffer *buffer, int64_t element)
{
    return buffer->part ? element % buffer->part : element;
}

void vm_observe_access(const VmState *st, const VmStep *s)
{
    const VmBuffer *buffer = &st->f->buffers[s->inst->c];
    if (!st->observer->request || buffer->space == VM_LOCAL)
        return;
    int size = type_bytes(buffer->type);
    int64_t base = buffer->space == VM_SHARED ? buffer->offset : 0;
    VmRequest r = {.function = st->f,
                   .inst = (int)(s - st->steps),
                   .buffer = buffer,
                   .op = (VmOp)s->inst->op,
                   .bytes = size * s->width,
                   .block = st->block_number,
                   .worker = st->worker};
    for (int first = 0; first < st->lanes; first += WARP) {
        r.warp = (st->first + first) / WARP;
        r.active = active_lanes(st, first);
        if (!r.active)
            continue;
        for (int i = 0; i < WARP && first + i < st->lanes; i++)
            r.address[i] = base + in_block(buffer, indices(s)[s->lanes_a ? first + i : 0]) * size;
        st->observer->request(st->observer->user, &r);
    }
}

void vm_observe_execution(const VmState *st, const VmStep *s)
{
    if (!st->observer->executed)
        return;
    VmExecution e = {.function = st->f,
                     .inst = (int)(s - st->steps),
                     .block = st->block_number,
                     .worker = st->worker};
    for (int i = 0; i < st->lanes; i++)
        e.lanes += vm_runs(st, i);
    st->observer->executed(st->observer->user, &e);
}

static bool observed(VmState *st, const VmStep *s)
{
    vm_observe_execution(st, s);
    return s->observed(st, s);
}

/* Only who looks on wants to know of it. */
bool vm_unit(VmState *st, const VmStep *s)
{
    if (st->observer)
        vm_observe_execution(st, s);
    return true;
}

int vm_flops(const VmInst *inst)
{
    if (inst->type != VM_F32 && inst->type != VM_F64)
        return 0;
    switch ((VmOp)inst->op) {
    case VM_ADD:
    case VM_SUB:
    case VM_MUL:
    case VM_DIV:
    case VM_MOD:
    case VM_MIN:
    case VM_MAX: return 1;
    case VM_ATOMIC: return inst->sub != VM_MOVE;
    case VM_CALL: return function_flops(inst->sub);
    default: return 0;
    }
}

void vm_observe(VmState *st, const VmObserver *observer, int worker)
{
    st->observer = observer;
    st->worker = worker;
    if (st->producer)
        vm_observe(st->producer, observer, worker);
    if (st->next)
        vm_observe(st->next, observer, worker);
    for (int i = 0; i < st->f->n_code; i++) {
        VmStep *s = &st->steps[i];
        if (!s->apply || vm_flops(s->inst) == 0)
            continue;
        s->observed = s->apply;
        s->apply = observed;
    }
}
