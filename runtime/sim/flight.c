/* flight.c - Detects accesses to what an instruction in flight still reads or has not written yet.
 *
 * An instruction that goes on behind its text (instruction.h) is simulated where it begins. Until
 * its group has been waited for, a write to what it reads in shared memory is a fault, and so is
 * any access of another instruction or statement to the local memory that it writes. Each element
 * remembers the last group that did so, and a group is complete once a number has passed its own,
 * so that a wait costs nothing. */
#include "runtime/sim/shadow.h"

#include <stdlib.h>

bool vm_flight_open(VmState *st)
{
    BlockShadow *b = st->shadow;
    bool some = false;
    for (int i = 0; i < st->f->n_code; i++)
        some |= st->f->code[i].op == VM_FLIGHT;
    if (!some)
        return true;
    b->flight.shared = calloc((size_t)b->n_cells + 1, sizeof *b->flight.shared);
    b->flight.local = calloc((size_t)b->n_defined + 1, sizeof *b->flight.local);
    return b->flight.shared && b->flight.local;
}

void vm_flight_close(BlockShadow *b)
{
    free(b->flight.shared);
    free(b->flight.local);
}

void vm_flight_begin(BlockShadow *b)
{
    b->flight.landed = ++b->flight.group;
}

bool vm_flight(VmState *st, const VmStep *s)
{
    if (!st->shadow)
        return true;
    Flight *f = &st->shadow->flight;
    uint32_t pending = (uint32_t)(s->inst->sub - VM_FLIGHT_WAIT);
    switch (s->inst->sub) {
    case VM_FLIGHT_BEGIN:
    case VM_FLIGHT_END: f->under_way = s->inst->sub == VM_FLIGHT_BEGIN; return true;
    case VM_FLIGHT_COMMIT: f->group++; return true;
    default: break;
    }
    if (f->group - f->landed > pending)
        f->landed = f->group - pending;
    return !st->pipe || vm_roles_complete(st, f->landed) ||
           vm_fault(st, s, FAULT_STOPPED, 0, "out of memory for instructions in flight");
}

static bool refuse(VmState *st, const VmStep *s, int lane, int64_t element)
{
    const VmBuffer *buffer = &st->f->buffers[s->inst->c];
    return vm_fault(
        st, s, FAULT_IN_FLIGHT, lane,
        "%s element %lld of '%s', which an instruction in flight %s; nothing has waited "
        "for its group",
        s->inst->op == VM_LOAD ? "reads" : "writes", (long long)element, buffer->name,
        buffer->space == VM_LOCAL ? "writes" : "reads");
}

/* What the execution under way reads in shared memory or writes in local memory is in flight from
 * now on. Others may read the former. */
static bool check(VmState *st, const VmStep *s)
{
    const Flight *f = &st->shadow->flight;
    const int64_t *index = s->a;
    bool local = st->f->buffers[s->inst->c].space == VM_LOCAL, loads = s->inst->op == VM_LOAD;
    bool takes_off = f->under_way && local != loads;
    bool harmless = f->under_way ? !takes_off : !local && loads;
    for (int lane = 0; lane < st->lanes && !harmless; lane++) {
        if (!vm_runs(st, lane))
            continue;
        for (int i = 0; i < s->width; i++) {
            int64_t element = index[s->lanes_a ? lane : 0] + i;
            uint32_t *mark = &s->marks[local ? element * st->lanes + lane : element];
            if (takes_off)
                *mark = f->group;
            else if (*mark >= f->landed)
                return refuse(st, s, lane, element);
        }
    }
    return s->unmarked(st, s);
}

void vm_flight_watch(VmState *st, VmStep *s, int64_t cells)
{
    const Flight *f = &st->shadow->flight;
    if (!f->shared)
        return;
    s->marks = (st->f->buffers[s->inst->c].space == VM_LOCAL ? f->local : f->shared) + cells;
    s->unmarked = s->check;
    s->check = check;
}
