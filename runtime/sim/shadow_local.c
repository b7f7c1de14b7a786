/* shadow_local.c - Detects undefined reads in local memory. A thread's own memory cannot race. */
#include "runtime/sim/shadow.h"

/* The flag of an element of lane 0, those of the others beside it. */
static uint8_t *flags(const VmState *st, const VmStep *s, int64_t element)
{
    return (uint8_t *)s->cells + element * st->lanes;
}

static bool all_defined(const uint8_t *defined, const uint8_t *mask, int lanes)
{
    uint8_t missing = 0;
    for (int i = 0; i < lanes; i++)
        missing |= (uint8_t)(mask[i] & ~defined[i]);
    return !missing;
}

static bool read_each(VmState *st, const VmStep *s, int plus)
{
    const int64_t *index = s->a;
    for (int lane = 0; lane < st->lanes; lane++) {
        if (!vm_runs(st, lane)) /* its subscript is any number */
            continue;
        int64_t element = index[s->lanes_a ? lane : 0] + plus;
        uint8_t flag = flags(st, s, element)[lane];
        if (!(flag & DEFINED) && !vm_undefined(st, s, lane, element, flag & VAGUE))
            return false;
    }
    return true;
}

VM_LANES static bool read_local(VmState *st, const VmStep *s)
{
    for (int k = 0; k < s->width; k++) {
        int64_t first = *(const int64_t *)s->a + k;
        if (!s->lanes_a && all_defined(flags(st, s, first), vm_mask(st), st->lanes))
            continue;
        if (!read_each(st, s, k))
            return false;
    }
    return true;
}

VM_LANES static bool write_local(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    const uint8_t *mask = vm_mask(st);
    for (int k = 0; k < s->width; k++) {
        if (s->lanes_a) {
            for (int lane = 0; lane < st->lanes; lane++)
                if (mask[lane])
                    flags(st, s, index[lane] + k)[lane] = DEFINED;
        } else {
            uint8_t *defined = flags(st, s, *index + k);
            for (int lane = 0; lane < st->lanes; lane++)
                defined[lane] |= mask[lane];
        }
        for (int lane = 0; lane < st->lanes && s->carried && s->carried[0]; lane++)
            if (vm_runs(st, lane) && vm_carries(st, s, lane, k))
                flags(st, s, index[s->lanes_a ? lane : 0] + k)[lane] = VAGUE;
    }
    vm_has_stored(s);
    return true;
}

static bool update_local(VmState *st, const VmStep *s)
{
    return (s->inst->sub == VM_MOVE || read_local(st, s)) && write_local(st, s);
}

VmApply *vm_shadow_local(VmOp op)
{
    return op == VM_LOAD ? read_local : op == VM_STORE ? write_local : update_local;
}
