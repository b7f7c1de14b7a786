/* origin.c - Finds where the value of a store comes from: the stores that wrote what it has loaded.
 *
 * It follows the operands of an instruction backwards through the code to the loads that produced
 * them. This covers all values of straight-line code, and values computed before a loop and used in
 * it. */
#include "runtime/sim/internal.h"

#include <stdlib.h>

typedef struct {
    const VmFunction *f;
    bool *wanted; /* [registers] */
} Slice;

static void want(Slice *s, int reg)
{
    if (reg > 0)
        s->wanted[reg] = true;
}

static void want_list(Slice *s, int list, int width)
{
    for (int k = 0; k < width; k++)
        want(s, s->f->lists[list + k]);
}

/* Does the instruction make a wanted value? It is no longer wanted then. */
static bool makes(Slice *s, const VmInst *inst)
{
    bool any = false;
    int width = inst->op == VM_LOAD && inst->width > 1 ? inst->width : 1;
    for (int k = 0; k < width; k++) {
        int reg = width > 1 ? s->f->lists[inst->d + k] : inst->d;
        if (reg <= 0)
            continue;
        any |= s->wanted[reg];
        s->wanted[reg] = false;
    }
    return any;
}

static bool has_result(VmOp op)
{
    return op != VM_STORE && op != VM_ATOMIC && op != VM_CHECK && op != VM_IF && op != VM_ELSE &&
           op != VM_BREAK && op != VM_END && op != VM_BARRIER && op != VM_COMMIT && op != VM_WAIT &&
           op != VM_FORGET && op != VM_FLIGHT && op != VM_UNIT && op != VM_ROLES &&
           op != VM_ACQUIRE && op != VM_RECEIVE && op != VM_RELEASE && op != VM_RELEASE_CLUSTER &&
           op != VM_LAUNCH && op != VM_STOP;
}

static bool same_memory(const VmBuffer *a, const VmBuffer *b, bool same_function)
{
    if (a->space == VM_GLOBAL)
        return b->space == VM_GLOBAL && a->argument == b->argument;
    return same_function && a->space == b->space && a->offset == b->offset;
}

typedef struct {
    VmPlace *items;
    int n, room;
} PlaceList;

/* Notes the stores of the module, all but one, that write what the load reads. */
static void note_stores(const Module *m, VmPlace load, const VmPlace *but, PlaceList *out)
{
    const VmFunction *f = m->kernels[load.kernel].code;
    const VmBuffer *buffer = &f->buffers[f->code[load.inst].c];
    for (int k = 0; k < m->n_kernels; k++) {
        const VmFunction *other = m->kernels[k].code;
        for (int i = 0; i < other->n_code && out->n < out->room; i++) {
            VmOp op = (VmOp)other->code[i].op;
            if ((op != VM_STORE && op != VM_ATOMIC) || (k == but->kernel && i == but->inst) ||
                !same_memory(buffer, &other->buffers[other->code[i].c], other == f))
                continue;
            bool seen = false;
            for (int j = 0; j < out->n; j++)
                seen |= m->kernels[out->items[j].kernel].code->spans[out->items[j].inst].begin ==
                        other->spans[i].begin;
            if (!seen)
                out->items[out->n++] = (VmPlace){k, i};
        }
    }
}

int vm_origins(const Module *m, VmPlace store, VmPlace *places, int room)
{
    const VmFunction *f = m->kernels[store.kernel].code;
    const VmInst *inst = &f->code[store.inst];
    Slice s = {f, calloc((size_t)f->n_registers + 1, sizeof *s.wanted)};
    PlaceList out = {.items = places, .room = room};
    if (!s.wanted)
        return 0;
    if (inst->width > 1)
        want_list(&s, inst->b, inst->width);
    else
        want(&s, inst->b);
    for (int i = store.inst - 1; i >= 0; i--) {
        const VmInst *at = &f->code[i];
        if (!has_result((VmOp)at->op) || !makes(&s, at))
            continue;
        if (at->op == VM_LOAD) {
            note_stores(m, (VmPlace){store.kernel, i}, &store, &out);
            continue;
        }
        want(&s, at->a);
        want(&s, at->b);
        if (at->op == VM_SELECT || at->op == VM_CALL)
            want(&s, at->c);
    }
    free(s.wanted);
    return out.n;
}
