/* run.c - Decodes a function for one thread of the machine, and executes it.
 *
 * Masks form a stack with one row for each level of divergent control; row 0 is all ones.  Control
 * on uniform registers only jumps. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/internal.h"

/* ---- decoding ------------------------------------------------------------------------------ */

static size_t type_size(VmType type)
{
    static const size_t sizes[VM_TYPES] = {8, 8, 8, 8, 4, 4, 1};
    return sizes[type];
}

static size_t align_up(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static int mask_levels(const VmFunction *f)
{
    int level = 0, most = 0;
    for (int i = 0; i < f->n_code; i++) {
        VmOp op = (VmOp)f->code[i].op;
        if (op == VM_IF || op == VM_FOR)
            level++;
        else if (op == VM_END || op == VM_NEXT)
            level--;
        if (level > most)
            most = level;
    }
    return most + 1;
}

/* Are the operands of a step single values, as most are in the host part and in references? */
static bool is_single(const VmState *st, const VmStep *s)
{
    bool single_a = st->lanes == 1 || !s->lanes_a;
    switch ((VmOp)s->inst->op) {
    case VM_LOAD:
    case VM_STORE: return st->lanes == 1 && s->width == 1 && !vm_is_async(s->inst);
    case VM_CHECK: return single_a && (st->lanes == 1 || !s->lanes_b);
    case VM_FIT: return single_a;
    default: return s->n == 1;
    }
}

static VmApply *apply_of(const VmState *st, const VmStep *s)
{
    const VmFunction *f = st->f;
    const VmInst *inst = s->inst;
    VmOp op = (VmOp)inst->op;
    bool single = is_single(st, s);
    if (vm_is_access(op) || op == VM_CHECK)
        return vm_memory(op, f->buffers[inst->c].type, single);
    if (op == VM_FIT)
        return single ? vm_fit_single : vm_fit;
    if (op == VM_SPREAD)
        return vm_spread;
    if (op == VM_AWAIT)
        return vm_await;
    if (op == VM_FORGET)
        return vm_shadow_forget;
    if (op == VM_CAST)
        return vm_cast((VmType)inst->type, f->registers[inst->d].type, single);
    if (op == VM_CALL)
        return vm_call((VmType)inst->type, f->registers[inst->d].type, inst->sub);
    if (op == VM_ROUND || op == VM_BITCAST)
        return vm_convert(op);
    if (op == VM_SHUFFLE || op == VM_SHUFFLE_LANE)
        return vm_shuffle((VmType)inst->type);
    if (op == VM_FLIGHT)
        return vm_flight;
    if (op == VM_UNIT)
        return vm_unit;
    if (op == VM_COMMIT || op == VM_WAIT)
        return vm_async(op);
    return vm_arithmetic(op, (VmType)inst->type, single);
}

static void decode_memory(VmState *st, VmStep *s, const uint64_t *buffers)
{
    const VmBuffer *b = &st->f->buffers[s->inst->c];
    s->bound = b->space == VM_GLOBAL ? st->registers[b->elements] : &b->capacity;
    if (b->space == VM_GLOBAL)
        s->memory = (void *)(uintptr_t)buffers[b->argument];
    else if (b->space == VM_SHARED)
        s->memory = b->part ? st->cluster + b->cluster_offset : st->shared + b->offset;
    else
        s->memory = st->local + b->offset * st->lanes;
    s->width = s->inst->width > 1 ? s->inst->width : 1;
    if (s->width > 1) {
        s->n = s->lanes_a || b->space == VM_LOCAL ? st->lanes : 1;
        for (int k = 0; s->inst->op == VM_STORE && k < s->width; k++) {
            bool lanes;
            vm_part(st, s->inst->b, k, &lanes);
            s->n = lanes ? st->lanes : s->n;
        }
    } else if (s->inst->op == VM_STORE)
        s->n = s->lanes_a || s->lanes_b || b->space == VM_LOCAL ? st->lanes : 1;
}

static void decode_operands(VmState *st, VmStep *s, const uint64_t *buffers)
{
    const VmRegister *registers = st->f->registers;
    const VmInst *inst = s->inst;
    s->a = st->registers[inst->a];
    s->lanes_a = !registers[inst->a].uniform;
    if (inst->width > 1) { /* its other operands are lists */
        decode_memory(st, s, buffers);
        return;
    }
    s->d = st->registers[inst->d];
    s->b = st->registers[inst->b];
    s->lanes_b = !registers[inst->b].uniform;
    s->n = registers[inst->d].uniform ? 1 : st->lanes;
    if (inst->op == VM_SPREAD) {
        s->c = NULL;
        if (inst->sub)
            decode_memory(st, s, buffers);
        s->n = st->lanes;
    } else if (vm_is_access((VmOp)inst->op)) {
        decode_memory(st, s, buffers);
    } else if (inst->op != VM_CHECK) {
        s->c = st->registers[inst->c];
        s->lanes_c = !registers[inst->c].uniform;
    }
}

static void decode(VmState *st, const uint64_t *buffers)
{
    for (int i = 0; i < st->f->n_code; i++) {
        const VmInst *inst = &st->f->code[i];
        VmStep *s = &st->steps[i];
        s->inst = inst;
        if (inst->op == VM_LAUNCH) /* its operands are no registers */
            continue;
        if (inst->op != VM_FORGET && inst->op != VM_UNIT)
            decode_operands(st, s, buffers);
        s->apply = apply_of(st, s);
    }
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Hands out parts of one allocation; with `base` NULL it only adds up. */
typedef struct {
    uint8_t *base;
    size_t used;
} Carver;

static void *carve(Carver *c, size_t size)
{
    void *part = c->base ? c->base + c->used : NULL;
    c->used += align_up(size);
    return part;
}

static void carve_all(VmState *st, Carver *c)
{
    const VmFunction *f = st->f;
    size_t lanes = (size_t)st->lanes, levels = (size_t)mask_levels(f);
    st->steps = carve(c, sizeof(VmStep) * (size_t)f->n_code);
    st->registers = carve(c, sizeof(void *) * (size_t)(f->n_registers + 1));
    for (int r = 0; r < f->n_registers; r++) {
        size_t values = f->registers[r].uniform ? 1 : lanes;
        void *part = carve(c, type_size(f->registers[r].type) * values);
        if (c->base)
            st->registers[r] = part;
    }
    st->masks = carve(c, lanes * levels);
    st->full = carve(c, levels);
    st->values = carve(c, sizeof(VmValue) * (size_t)f->n_lists);
    uint8_t *shared = carve(c, (size_t)f->shared_bytes);
    if (!st->shared)
        st->shared = shared;
    uint8_t *cluster = carve(c, (size_t)f->cluster_bytes);
    if (!st->cluster)
        st->cluster = cluster;
    st->local = carve(c, (size_t)f->local_bytes * lanes);
}

static void set_axes(VmState *st)
{
    for (int axis = 0; axis < 3; axis++) {
        int r = st->f->axes.axis[4 + axis];
        if (r < 0)
            continue;
        int64_t *values = st->registers[r], below = 1;
        for (int inner = 0; inner < axis; inner++)
            below *= st->block_shape[inner];
        for (int lane = 0; lane < st->lanes; lane++)
            values[lane] = (st->first + lane) / below % st->block_shape[axis];
    }
}

VmState *vm_open(const VmFunction *f, const int64_t shape[3], const VmValue *inputs,
                 const uint64_t *buffers)
{
    VmLanes all = {.shape = shape, .lanes = (int)(shape[0] * shape[1] * shape[2])};
    return vm_open_block(f, &all, inputs, buffers);
}

VmState *vm_open_block(const VmFunction *f, const VmLanes *of, const VmValue *inputs,
                       const uint64_t *buffers)
{
    VmLanes all = *of;
    all.lanes = f->consumers ? f->consumers / f->turns : all.lanes;
    VmState *st = vm_open_group(f, &all, NULL, inputs, buffers);
    if (!st || !f->consumers || vm_roles_open(st, inputs, buffers))
        return st;
    vm_close(st);
    return NULL;
}

VmState *vm_open_group(const VmFunction *f, const VmLanes *of, VmState *block,
                       const VmValue *inputs, const uint64_t *buffers)
{
    VmState measure = {.f = f, .lanes = of->lanes};
    Carver carver = {0};
    carve(&carver, sizeof(VmState));
    carve_all(&measure, &carver);
    carver.base = aligned_alloc(64, carver.used);
    if (!carver.base)
        return NULL;
    memset(carver.base, 0, carver.used);
    carver.used = 0;
    VmState *st = carve(&carver, sizeof(VmState));
    st->f = f;
    st->lanes = of->lanes;
    st->first = of->first;
    st->rank = of->rank;
    st->shared = block ? block->shared : NULL;
    st->cluster = of->cluster ? of->cluster->cluster : block ? block->cluster : NULL;
    memcpy(st->block_shape, of->shape, sizeof st->block_shape);
    carve_all(st, &carver);
    memset(st->masks, 1, (size_t)st->lanes);
    st->full[0] = true;
    for (int i = 0; i < f->n_constants; i++)
        memcpy(st->registers[f->constants[i].reg], &f->constants[i].value,
               type_size(f->registers[f->constants[i].reg].type));
    for (int i = 0; i < f->n_inputs; i++)
        memcpy(st->registers[f->inputs[i]], &inputs[i], type_size(f->registers[f->inputs[i]].type));
    set_axes(st);
    decode(st, buffers);
    return st;
}

void vm_close(VmState *st)
{
    if (st) {
        vm_roles_close(st);
        vm_shadow_detach(st);
        vm_async_close(st);
    }
    free(st);
}

/* ---- control ------------------------------------------------------------------------------- */

static const uint8_t *mask_row(const VmState *st, int level)
{
    return st->masks + (size_t)level * (size_t)st->lanes;
}

typedef enum { MASK_AS_IT_IS, MASK_INVERTED } MaskUse;

/* The row of the present level becomes `from` and `with` (or, inverted, not `with`). Does any lane
 * run? */
static bool mask_set(VmState *st, const uint8_t *from, const uint8_t *with, MaskUse use)
{
    uint8_t *row = st->masks + (size_t)st->level * (size_t)st->lanes;
    uint8_t any = 0, all = 1, flip = use == MASK_INVERTED;
    for (int i = 0; i < st->lanes; i++) {
        uint8_t runs = from[i] & (with[i] ^ flip);
        row[i] = runs;
        any |= runs;
        all &= runs;
    }
    st->full[st->level] = all;
    return any;
}

/* Rests the lanes whose loop variable has reached the end. Does any lane run? */
static bool mask_loop(VmState *st, const VmStep *s, const uint8_t *from)
{
    uint8_t *row = st->masks + (size_t)st->level * (size_t)st->lanes;
    const int64_t *var = s->d, *end = s->b;
    uint8_t any = 0, all = 1;
    for (int i = 0; i < st->lanes; i++) {
        int64_t bound = end[s->lanes_b ? i : 0];
        bool down = s->inst->sub & VM_LOOP_DOWN;
        uint8_t runs = from[i] & (down ? var[i] >= bound : var[i] < bound);
        row[i] = runs;
        any |= runs;
        all &= runs;
    }
    st->full[st->level] = all;
    return any;
}

static bool reached(const VmStep *s)
{
    int64_t var = *(const int64_t *)s->d, end = *(const int64_t *)s->b;
    return s->inst->sub & VM_LOOP_DOWN ? var < end : var >= end;
}

/* All lanes go through the loop together. */
static bool in_step(const VmStep *s)
{
    return s->n == 1 && !(s->inst->sub & VM_LOOP_BREAKS);
}

/* The active lanes rest until the loop ends. */
static void run_break(VmState *st, const VmStep *s)
{
    const uint8_t *now = vm_mask(st);
    for (int level = st->level - s->inst->sub; level <= st->level; level++) {
        uint8_t *row = st->masks + (size_t)level * (size_t)st->lanes;
        for (int i = 0; level < st->level && i < st->lanes; i++)
            row[i] &= !now[i];
        st->full[level] = false;
    }
    memset(st->masks + (size_t)st->level * (size_t)st->lanes, 0, (size_t)st->lanes);
}

/* A lane has gone through more iterations than a `while` that ends. */
static bool is_endless(VmState *st, const VmStep *s)
{
    const int64_t *var = s->d, *end = s->b;
    for (int i = 0; s->inst->sub & VM_LOOP_WHILE && i < st->lanes; i++)
        if (vm_runs(st, i) && var[i] >= end[s->lanes_b ? i : 0])
            return !vm_fault(st, s, FAULT_ENDLESS, i,
                             "has gone through %d iterations of this loop, more than the simulator "
                             "runs of a `while`",
                             VM_WHILE_LIMIT);
    return false;
}

/* Each gives the number of the next step; -1 after a fault. */

static int run_for(VmState *st, const VmStep *s, int pc)
{
    const int64_t *from = s->a;
    int64_t *var = s->d;
    for (int i = 0; i < s->n; i++)
        var[i] = from[s->lanes_a ? i : 0];
    if (in_step(s))
        return reached(s) ? s->inst->to + 1 : pc + 1;
    st->level++;
    if (mask_loop(st, s, mask_row(st, st->level - 1)))
        return pc + 1;
    st->level--;
    return s->inst->to + 1;
}

static int run_next(VmState *st, const VmStep *s, int pc)
{
    int64_t *var = s->d, step = *(const int64_t *)s->a;
    if (in_step(s)) {
        if (!checked_add(*var, step, var) || reached(s))
            return pc + 1;
        return s->inst->to + 1;
    }
    for (int i = 0; i < s->n; i++)
        var[i] = (int64_t)((uint64_t)var[i] + (uint64_t)step);
    if (is_endless(st, s))
        return -1;
    if (mask_loop(st, s, vm_mask(st)))
        return s->inst->to + 1;
    st->level--;
    return pc + 1;
}

static int run_if(VmState *st, const VmStep *s, int pc)
{
    const uint8_t *cond = s->a;
    bool has_else = st->f->code[s->inst->to].op == VM_ELSE;
    if (!s->lanes_a)
        return *cond ? pc + 1 : s->inst->to + (has_else ? 1 : 0);
    st->level++;
    return mask_set(st, mask_row(st, st->level - 1), cond, MASK_AS_IT_IS) ? pc + 1 : s->inst->to;
}

static int run_else(VmState *st, const VmStep *s, int pc)
{
    if (!s->lanes_a)
        return s->inst->to;
    return mask_set(st, mask_row(st, st->level - 1), vm_mask(st), MASK_INVERTED) ? pc + 1
                                                                                 : s->inst->to;
}

static bool run_launch(VmState *st, const VmStep *s)
{
    const int *list = &st->f->lists[s->inst->a];
    VmLaunch launch = {.kernel = s->inst->d, .n_values = s->inst->b - 3, .values = st->values};
    bool empty = false;
    for (int i = 0; i < s->inst->b; i++) {
        const void *reg = st->registers[list[i]];
        if (i < 3) {
            launch.grid[i] = *(const int64_t *)reg;
            empty |= launch.grid[i] <= 0;
        } else {
            memcpy(&st->values[i - 3], reg, type_size(st->f->registers[list[i]].type));
        }
    }
    if (empty || !st->launch || st->launch(st->user, &launch))
        return true;
    return vm_fault(st, s, FAULT_STOPPED, 0, "a launch was refused");
}

static bool run_barrier(VmState *st, const VmStep *s)
{
    if (st->full[st->level])
        return true;
    int lane = 0, missing = 0;
    for (int i = st->lanes - 1; i >= 0; i--)
        if (!vm_mask(st)[i]) {
            lane = i;
            missing++;
        }
    return vm_fault(st, s, FAULT_DIVERGENT_BARRIER, lane,
                    "%d of %d threads do not reach this barrier, and the others wait", missing,
                    st->lanes);
}

static void barrier_noted(VmState *st, const VmStep *s)
{
    vm_shadow_barrier(st, s->inst->sub);
    if (s->inst->sub == VM_OF_CLUSTER)
        vm_shadow_barrier_of_cluster(st);
}

bool vm_continue(VmState *st)
{
    for (int pc = st->pc;;) {
        const VmStep *s = &st->steps[pc];
        for (; s->apply; s++)
            if (!s->apply(st, s))
                return false;
        pc = (int)(s - st->steps);
        switch ((VmOp)s->inst->op) {
        case VM_FOR: pc = run_for(st, s, pc); break;
        case VM_NEXT:
            pc = run_next(st, s, pc);
            if (pc < 0)
                return false;
            break;
        case VM_BREAK:
            run_break(st, s);
            pc++;
            break;
        case VM_IF: pc = run_if(st, s, pc); break;
        case VM_ELSE: pc = run_else(st, s, pc); break;
        case VM_END:
            st->level -= s->lanes_a;
            pc++;
            break;
        case VM_BARRIER:
            if (st->produces) {
                st->pc = pc++;
                if (!vm_roles_barrier(st))
                    return true;
                break;
            }
            if (!run_barrier(st, s))
                return false;
            if (st->observer)
                vm_observe_execution(st, s);
            if (st->shadow)
                barrier_noted(st, s);
            pc++;
            if (!st->yields && !(st->takes_turns && s->inst->sub == VM_OF_CLUSTER)) {
                if (st->producer && s->inst->sub == VM_OF_CLUSTER)
                    vm_roles_barrier(st);
                break;
            }
            st->pc = pc;
            return true;
        case VM_ROLES: pc = st->produces ? pc + 1 : s->inst->to; break;
        case VM_ACQUIRE:
        case VM_RECEIVE:
        case VM_RELEASE:
        case VM_RELEASE_CLUSTER: {
            HandOver over = vm_hand_over(st, s);
            st->pc = pc;
            if (over != HAND_OVER_DONE)
                return over == HAND_OVER_WAITS;
            pc++;
            break;
        }
        case VM_LAUNCH:
            if (!run_launch(st, s))
                return false;
            pc++;
            break;
        default: st->pc = -1; return true;
        }
    }
}

void vm_begin(VmState *st, const int64_t block[3])
{
    memcpy(st->block, block, sizeof st->block);
    for (int axis = 0; axis < 3; axis++)
        if (st->f->axes.axis[axis] >= 0)
            *(int64_t *)st->registers[st->f->axes.axis[axis]] = block[axis];
    /* Elements that were never written read as NaN or an odd number. */
    memset(st->shared, 0xff, (size_t)st->f->shared_bytes);
    if (st->rank == 0 && st->first == 0)
        memset(st->cluster, 0xff, (size_t)st->f->cluster_bytes);
    memset(st->local, 0xff, (size_t)st->f->local_bytes * (size_t)st->lanes);
    st->level = 0;
    vm_async_begin(st);
    st->fault.kind = FAULT_NONE;
    if (st->shadow && !st->produces)
        vm_shadow_begin(st);
    st->pc = 0;
    if (st->producer)
        vm_roles_begin(st, block);
}

bool vm_go_on(VmState *st)
{
    VmState *faulty;
    return st->producer ? vm_take_turns(&st, 1, &faulty) : vm_continue(st);
}

bool vm_run(VmState *st, const int64_t block[3])
{
    vm_begin(st, block);
    return vm_go_on(st);
}
