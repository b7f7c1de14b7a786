/* fault.c - Describes the fault of a thread: which thread, where, and what it did. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/sim/internal.h"

bool vm_fault(VmState *st, const VmStep *s, FaultKind kind, int lane, const char *format, ...)
{
    VmFault *fault = &st->fault;
    fault->kind = kind;
    fault->span = st->f->spans[s - st->steps];
    fault->step = st->f->steps[s - st->steps];
    fault->function = st->f->name;
    fault->in_kernel = st->in_kernel;
    fault->other.known = false;
    /* A uniform operation is attributed to the first active lane. */
    while (kind != FAULT_DIVERGENT_BARRIER && kind != FAULT_DIVERGENT_SHUFFLE &&
           lane + 1 < st->lanes && !vm_runs(st, lane))
        lane++;
    int64_t rest = st->first + lane;
    for (int axis = 0; axis < 3; axis++) {
        fault->block[axis] = st->block[axis];
        fault->thread[axis] = rest % st->block_shape[axis];
        rest /= st->block_shape[axis];
    }
    va_list args;
    va_start(args, format);
    vsnprintf(fault->message, sizeof fault->message, format, args);
    va_end(args);
    return false;
}
