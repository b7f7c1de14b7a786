/* shadow.c - Manages shadow memory for a run, a launch and a block, and words the faults that it
 * detects. */
#include "runtime/sim/shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words --------------------------------------------------------------------------------- */

static const char *does(const VmInst *inst)
{
    return inst->op == VM_LOAD    ? "reads"
           : vm_is_async(inst)    ? "copies into"
           : inst->op == VM_STORE ? "writes"
                                  : "updates";
}

static const char *in_space(const VmBuffer *buffer)
{
    static const char *const space[] = {"", " in shared memory", " in local memory"};
    return buffer->part ? " in cluster memory" : space[buffer->space];
}

void vm_shadow_place(const GlobalShadow *g, int64_t element, char *to, size_t room)
{
    int rank = g->buffer->rank;
    if (rank < 2) {
        snprintf(to, room, "%lld", (long long)element);
        return;
    }
    size_t used = 0;
    int64_t below = g->elements;
    for (int axis = 0; axis < rank && used < room; axis++) {
        below /= g->dims[axis];
        int n = snprintf(to + used, room - used, axis ? ", %lld" : "[%lld",
                         (long long)(element / below));
        used += n > 0 ? (size_t)n : 0;
        element %= below;
    }
    if (used < room)
        snprintf(to + used, room - used, "]");
}

/* "element [1, 5] of 'C'", "element 37 of 's' in shared memory" */
static void name_element(const VmState *st, const VmStep *s, int64_t element, char *to, size_t room)
{
    const VmBuffer *buffer = &st->f->buffers[s->inst->c];
    const GlobalShadow *g = buffer->space == VM_GLOBAL ? s->cells : NULL;
    char where[120];
    if (g)
        vm_shadow_place(g, element, where, sizeof where);
    else
        snprintf(where, sizeof where, "%lld", (long long)element);
    snprintf(to, room, "element %s of '%s'%s", where, buffer->name, in_space(buffer));
}

static void thread_of(const VmState *st, int lane, int64_t thread[3])
{
    for (int axis = 0; axis < 3; axis++) {
        thread[axis] = lane % st->block_shape[axis];
        lane /= (int)st->block_shape[axis];
    }
}

/* What is missing between two accesses, where a barrier of the cluster could order them or not. */
static const char *missing(const VmState *st, const Party *theirs, bool far, bool of_cluster)
{
    const VmInst *other = st->steps[theirs->inst].inst;
    return theirs->in_flight    ? "nothing has waited for that copy"
           : st->produces       ? "the producer has waited for no release that follows it"
           : of_cluster         ? "no barrier of the cluster separates the two"
           : far                ? "blocks of a launch have no order"
           : theirs->parted     ? "no barrier of both separates the two"
           : vm_is_async(other) ? "no barrier follows the wait for that copy"
                                : "no barrier separates the two";
}

void vm_other(VmState *st, const Party *other)
{
    VmOther *o = &st->fault.other;
    *o = (VmOther){.known = true,
                   .span = st->f->spans[other->inst],
                   .step = st->f->steps[other->inst],
                   .does = does(&st->f->code[other->inst])};
    memcpy(o->block, other->block, sizeof o->block);
    thread_of(st, other->thread, o->thread);
}

bool vm_race(VmState *st, const VmStep *s, int64_t element, const Party *mine, const Party *theirs)
{
    const VmFunction *f = st->f;
    const VmInst *inst = &f->code[mine->inst], *other = &f->code[theirs->inst];
    bool far = memcmp(mine->block, theirs->block, sizeof mine->block) != 0;
    bool twice = f->buffers[s->inst->c].space == VM_GLOBAL && mine->inst == theirs->inst &&
                 inst->op == VM_STORE;
    char what[160];
    name_element(st, s, element, what, sizeof what);
    int64_t t[3];
    thread_of(st, theirs->thread, t);
    FaultKind kind = theirs->in_flight ? FAULT_IN_FLIGHT : twice ? FAULT_WRITTEN_TWICE : FAULT_RACE;
    bool copies = vm_is_async(other);
    vm_fault(st, &st->steps[mine->inst], kind, 0, "%s %s, %s thread (%lld, %lld, %lld)%s %s%s; %s",
             does(inst), what, copies ? "into which" : "which", (long long)t[0], (long long)t[1],
             (long long)t[2], far ? " of another block" : "", copies ? "copies" : does(other),
             copies ? "" : ", too", missing(st, theirs, far, f->buffers[s->inst->c].part > 0));
    memcpy(st->fault.block, mine->block, sizeof mine->block);
    thread_of(st, mine->thread, st->fault.thread);
    vm_other(st, theirs);
    return false;
}

bool vm_overtakes(VmState *st, const VmStep *s, int64_t element, Mark with)
{
    const int64_t *block = st->block;
    Party mine = {.inst = (int)(s - st->steps), .thread = st->first},
          theirs = {mark_inst(with), mark_thread(with), {0}, mark_is_in_flight(with), false};
    memcpy(mine.block, block, sizeof mine.block);
    memcpy(theirs.block, block, sizeof theirs.block);
    return vm_race(st, s, element, &mine, &theirs);
}

static void carry(VmState *st, const VmStep *load, int lane, int64_t element)
{
    const int64_t *index = load->a;
    uint8_t *carried = load->into->carried;
    if (!carried[0])
        memset(carried, 0, 1 + st->shadow->n_carried);
    carried[0] = 1;
    carried[1 + (load->part + element - index[load->lanes_a ? lane : 0]) * st->lanes + lane] = 1;
}

bool vm_undefined(VmState *st, const VmStep *s, int lane, int64_t element, bool copied)
{
    if (s->into) {
        carry(st, s, lane, element);
        return true;
    }
    char what[160];
    name_element(st, s, element, what, sizeof what);
    return vm_fault(st, s, FAULT_UNINITIALIZED, lane, "%s %s, which %s", does(s->inst), what,
                    copied ? "holds a copy of an element that was never written"
                           : "was never written");
}

/* ---- a run --------------------------------------------------------------------------------- */

/* How a kernel, or all of a module, accesses a buffer. */
typedef struct {
    bool reads, writes, updates;
    bool claims; /* reads it as what nothing in the launch writes */
} Use;

static void note_use(const VmFunction *f, int argument, Use *use)
{
    for (int i = 0; i < f->n_code; i++) {
        VmOp op = (VmOp)f->code[i].op;
        if (!vm_is_access(op) || f->buffers[f->code[i].c].space != VM_GLOBAL ||
            f->buffers[f->code[i].c].argument != argument)
            continue;
        use->reads |= op == VM_LOAD;
        use->claims |= op == VM_LOAD && f->code[i].sub == VM_READ_ONLY;
        use->writes |= op == VM_STORE;
        use->updates |= op == VM_ATOMIC;
    }
}

static bool allot_readers(GlobalReaders *of[MOST_CLOCKS], int clocks, size_t n)
{
    bool ok = true;
    for (int i = 0; i < clocks; i++) {
        of[i] = calloc(n, sizeof *of[i]);
        ok &= of[i] != NULL;
    }
    return ok;
}

/* Which marks the kernels of the module can need for a buffer. */
static bool allot(GlobalShadow *g, const Module *m, int argument)
{
    bool written = !g->defined, claimed = false;
    int mixed = 0, updated = 0; /* clocks */
    for (int i = 0; i < m->n_kernels; i++) {
        Use use = {0};
        note_use(m->kernels[i].code, argument, &use);
        int clocks = 1 + vm_parts_of(m->kernels[i].code);
        written |= use.writes || use.updates;
        claimed |= use.claims && (use.writes || use.updates);
        if (use.reads && (use.writes || use.updates) && mixed < clocks)
            mixed = clocks;
        if (use.updates && (use.reads || use.writes) && updated < clocks)
            updated = clocks;
    }
    size_t n = (size_t)g->elements + 1;
    g->writers = written ? calloc(n, sizeof *g->writers) : NULL;
    g->vague = written ? calloc(n, sizeof *g->vague) : NULL;
    g->claimed = claimed ? calloc(n, sizeof *g->claimed) : NULL;
    return ((g->writers && g->vague) || !written) && allot_readers(g->readers, mixed, n) &&
           allot_readers(g->updaters, updated, n) && (g->claimed || !claimed);
}

static bool shadow_buffer(VmShadow *shadow, int i, const int64_t *sizes)
{
    GlobalShadow *g = &shadow->buffers[i];
    const ModuleBuffer *buffer = &shadow->module->buffers[i];
    int64_t *dims = calloc((size_t)buffer->rank + 1, sizeof *dims);
    *g = (GlobalShadow){.buffer = buffer, .dims = dims, .locks = shadow->locks};
    if (!dims)
        return false;
    Use host = {0};
    note_use(shadow->module->host, i, &host);
    g->defined = buffer->role == BUFFER_IN || buffer->role == BUFFER_INOUT || host.reads ||
                 host.writes || host.updates;
    g->elements = buffer->shape && vm_eval_shape(buffer->shape, sizes, dims) ? 1 : 0;
    for (int axis = 0; axis < buffer->rank; axis++)
        g->elements *= dims[axis];
    return allot(g, shadow->module, i);
}

VmShadow *vm_shadow_new(const Module *m, const RunArguments *args)
{
    VmShadow *shadow = calloc(1, sizeof *shadow);
    if (!shadow)
        return NULL;
    shadow->module = m;
    shadow->n_buffers = m->n_buffers;
    shadow->buffers = calloc((size_t)m->n_buffers + 1, sizeof *shadow->buffers);
    bool ok = shadow->buffers != NULL;
    for (int i = 0; i < m->n_buffers && ok; i++)
        ok = shadow_buffer(shadow, i, args->sizes);
    if (ok)
        return shadow;
    vm_shadow_free(shadow);
    return NULL;
}

void vm_shadow_free(VmShadow *shadow)
{
    for (int i = 0; shadow && shadow->buffers && i < shadow->n_buffers; i++) {
        GlobalShadow *g = &shadow->buffers[i];
        free((void *)g->dims);
        free(g->writers);
        free(g->vague);
        for (int k = 0; k < MOST_CLOCKS; k++) {
            free(g->readers[k]);
            free(g->updaters[k]);
        }
        free(g->claimed);
    }
    if (shadow) {
        free(shadow->buffers);
        free(shadow->launches);
    }
    free(shadow);
}

static void split_number(int64_t number, const int64_t extent[3], int64_t at[3])
{
    for (int axis = 0; axis < 3; axis++) {
        at[axis] = number % extent[axis];
        number /= extent[axis];
    }
}

bool vm_shadow_writer(const VmShadow *shadow, const VmElement *of, VmFault *who, VmPlace *store)
{
    if (shadow->module != of->module)
        return false;
    const GlobalShadow *g = &shadow->buffers[of->buffer];
    GlobalMark writer = {0};
    if (g->writers && of->element < g->elements)
        writer = g->writers[of->element];
    const ShadowLaunch *launch = NULL;
    for (int i = 0; i < shadow->n_launches && shadow->launches[i].base < writer.serial; i++)
        launch = &shadow->launches[i];
    if (!launch || (int64_t)(writer.serial - launch->base) >
                       launch->grid[0] * launch->grid[1] * launch->grid[2])
        return false;
    const ModuleKernel *kernel = &shadow->module->kernels[launch->kernel];
    int inst = mark_inst(writer.mark);
    *who = (VmFault){.span = kernel->code->spans[inst],
                     .step = kernel->code->steps[inst],
                     .function = kernel->name,
                     .in_kernel = true};
    *store = (VmPlace){launch->kernel, inst};
    split_number((int64_t)(writer.serial - launch->base - 1), launch->grid, who->block);
    split_number(mark_thread(writer.mark), kernel->block, who->thread);
    return true;
}

/* The last instruction of the module that writes the buffer. */
static void find_writer(const Module *m, int argument, VmFault *fault)
{
    for (int k = 0; k < m->n_kernels; k++) {
        const VmFunction *f = m->kernels[k].code;
        for (int i = 0; i < f->n_code; i++) {
            VmOp op = (VmOp)f->code[i].op;
            if ((op != VM_STORE && op != VM_ATOMIC) ||
                f->buffers[f->code[i].c].argument != argument ||
                f->buffers[f->code[i].c].space != VM_GLOBAL)
                continue;
            fault->span = f->spans[i];
            fault->step = f->steps[i];
            fault->function = f->name;
        }
    }
}

bool vm_shadow_complete(const VmShadow *shadow, VmFault *fault)
{
    for (int i = 0; i < shadow->module->n_buffers; i++) {
        const GlobalShadow *g = &shadow->buffers[i];
        if (g->defined || g->buffer->partial || g->buffer->role != BUFFER_OUT ||
            g->written == g->elements)
            continue;
        int64_t first = 0;
        while (g->writers[first].serial != 0)
            first++;
        char where[120];
        vm_shadow_place(g, first, where, sizeof where);
        *fault = (VmFault){.kind = FAULT_NEVER_WRITTEN, .function = shadow->module->name};
        find_writer(shadow->module, i, fault);
        snprintf(fault->message, sizeof fault->message,
                 "element %s of output '%s' was never written (and %lld more of its %lld elements)",
                 where, g->buffer->name, (long long)(g->elements - g->written - 1),
                 (long long)g->elements);
        return false;
    }
    return true;
}

/* ---- a launch ------------------------------------------------------------------------------ */

static void note_launch(VmShadow *shadow, int kernel, const int64_t grid[3])
{
    if (shadow->n_launches == shadow->launch_capacity) {
        int capacity = shadow->launch_capacity ? 2 * shadow->launch_capacity : 8;
        ShadowLaunch *launches = realloc(shadow->launches, (size_t)capacity * sizeof *launches);
        if (!launches)
            return;
        shadow->launches = launches;
        shadow->launch_capacity = capacity;
    }
    shadow->launches[shadow->n_launches++] =
        (ShadowLaunch){.base = shadow->next, .kernel = kernel, .grid = {grid[0], grid[1], grid[2]}};
}

void vm_shadow_launch(VmShadow *shadow, int kernel, const int64_t grid[3])
{
    note_launch(shadow, kernel, grid);
    memcpy(shadow->grid, grid, sizeof shadow->grid);
    shadow->base = shadow->next;
    shadow->next += (uint64_t)(grid[0] * grid[1] * grid[2]);
}

/* Cells before those of buffer `b`; buffers at one place are one. */
static int64_t cells_before(const VmFunction *f, int b)
{
    int64_t n = 0;
    for (int i = 0; i < b; i++) {
        const VmBuffer *other = &f->buffers[i];
        if (other->space != f->buffers[b].space || !other->part != !f->buffers[b].part)
            continue;
        if (other->offset == f->buffers[b].offset)
            return n;
        n += other->capacity;
    }
    return n;
}

typedef enum { OF_THREADS, OF_CLUSTER } Sharing;

static int64_t cells_of(const VmFunction *f, VmSpace space, Sharing sharing)
{
    int64_t n = 0;
    for (int i = 0; i < f->n_buffers; i++)
        if (f->buffers[i].space == space && (f->buffers[i].part > 0) == (sharing == OF_CLUSTER))
            n += f->buffers[i].capacity;
    return n;
}

/* Results have to be defined when they are written, and so has what the host part works on. */
static void restrict_copy(BlockShadow *b, const VmFunction *f, VmStep *s)
{
    const VmStep *store = s->into->into ? s->into->into : s->into; /* behind a shuffle */
    const VmBuffer *to = &f->buffers[store->inst->c];
    if (to->space != VM_GLOBAL)
        return;
    const GlobalShadow *g = &b->global->buffers[to->argument];
    if (g->defined || g->buffer->role != BUFFER_TEMP)
        s->into = NULL;
}

static void watch(VmState *st, VmStep *s)
{
    BlockShadow *b = st->shadow;
    int number = s->inst->c;
    const VmBuffer *buffer = &st->f->buffers[number];
    VmOp op = (VmOp)s->inst->op;
    if (s->into)
        restrict_copy(b, st->f, s);
    if (buffer->space == VM_GLOBAL) {
        GlobalShadow *g = &b->global->buffers[buffer->argument];
        Use use = {0};
        note_use(st->f, buffer->argument, &use);
        s->cells = g;
        s->check = vm_shadow_global(g, op, use.writes || use.updates);
    } else if (buffer->part) {
        s->cells = b->cluster->cells + cells_before(st->f, number);
        s->crowded = b->cluster->crowded + cells_before(st->f, number);
        s->vague = b->cluster->vague + cells_before(st->f, number);
        s->check = vm_shadow_shared(op);
    } else if (buffer->space == VM_SHARED) {
        s->cells = b->cells + cells_before(st->f, number);
        s->crowded = b->crowded + cells_before(st->f, number);
        s->vague = b->vague + cells_before(st->f, number);
        s->check = vm_shadow_shared(op);
        if (!st->produces)
            vm_flight_watch(st, s, cells_before(st->f, number));
        if (st->pipe)
            vm_roles_watch(st, s, cells_before(st->f, number));
    } else {
        s->cells = b->defined + cells_before(st->f, number) * st->lanes;
        s->check = vm_shadow_local(op);
        vm_flight_watch(st, s, cells_before(st->f, number) * st->lanes);
    }
}

static int widest(const VmFunction *f)
{
    int width = 1;
    for (int i = 0; i < f->n_code; i++)
        width = f->code[i].width > width ? f->code[i].width : width;
    return width;
}

/* Copies may overlap: a vector loads all of its elements before it stores them. Several loads may
 * go into one store. */
static bool make_carriers(VmState *st)
{
    for (int i = 0; i < st->f->n_code; i++) {
        if (!st->steps[i].into)
            continue;
        VmStep *store = &st->steps[st->steps[i].into - st->steps];
        if (store->carried)
            continue;
        store->carried = calloc(1 + st->shadow->n_carried, 1);
        if (!store->carried)
            return false;
    }
    return true;
}

/* The memory of the cluster, which the first block of it watches for all. */
static ClusterShadow *cluster_shadow(const VmFunction *f)
{
    ClusterShadow *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->n_cells = cells_of(f, VM_SHARED, OF_CLUSTER);
    k->next = 1;
    k->cells = calloc((size_t)k->n_cells + 1, sizeof *k->cells);
    k->crowded = calloc((size_t)k->n_cells + 1, sizeof *k->crowded);
    k->vague = calloc((size_t)k->n_cells + 1, 1);
    return k;
}

static void cluster_shadow_free(ClusterShadow *k)
{
    free(k->cells);
    free(k->crowded);
    free(k->vague);
    free(k);
}

static bool watch_all(VmState *st)
{
    if (!vm_find_copies(st) || !make_carriers(st))
        return false;
    for (int i = 0; i < st->f->n_code; i++)
        if (vm_is_access((VmOp)st->f->code[i].op) || st->f->code[i].op == VM_FORGET)
            watch(st, &st->steps[i]);
    return true;
}

/* Of consumers that take turns. Only barriers of their own separate what their threads do. */
static bool attach_consumers(VmState *st, const VmState *first)
{
    BlockShadow *b = malloc(sizeof *b);
    if (!b)
        return false;
    *b = *first->shadow;
    st->shadow = b;
    b->lender = first->shadow;
    b->flight = (Flight){0};
    b->owns_cluster = false;
    b->defined = calloc((size_t)b->n_defined + 1, 1);
    return b->defined && vm_flight_open(st) && watch_all(st);
}

/* The roles of a block share what is known of its memory. */
static bool attach_roles(VmState *st)
{
    if (!st->producer)
        return true;
    st->producer->shadow = st->shadow;
    if (!vm_roles_watch_open(st) || !watch_all(st->producer))
        return false;
    for (VmState *other = st->next; other; other = other->next)
        if (!attach_consumers(other, st))
            return false;
    return true;
}

bool vm_shadow_attach(VmState *st, const VmState *first, VmShadow *shadow, bool concurrent)
{
    BlockShadow *b = calloc(1, sizeof *b);
    if (!b)
        return false;
    st->shadow = b;
    b->global = shadow;
    b->concurrent = concurrent;
    b->deferred_block = -1;
    b->n_cells = cells_of(st->f, VM_SHARED, OF_THREADS);
    b->n_defined = cells_of(st->f, VM_LOCAL, OF_THREADS) * st->lanes;
    b->owns_cluster = first == st;
    b->cluster = b->owns_cluster ? cluster_shadow(st->f) : first->shadow->cluster;
    if (!b->cluster || !b->cluster->cells || !b->cluster->crowded || !b->cluster->vague)
        return false;
    b->cells = calloc((size_t)b->n_cells + 1, sizeof *b->cells);
    b->crowded = calloc((size_t)b->n_cells + 1, sizeof *b->crowded);
    b->vague = calloc((size_t)b->n_cells + 1, 1);
    b->defined = calloc((size_t)b->n_defined + 1, 1);
    b->n_carried = (size_t)(widest(st->f) * st->lanes);
    return b->cells && b->crowded && b->vague && b->defined && vm_flight_open(st) &&
           vm_parts_open(b, st->f) && attach_roles(st) && watch_all(st);
}

void vm_shadow_detach(VmState *st)
{
    BlockShadow *b = st->shadow;
    if (!b)
        return;
    for (int i = 0; i < st->f->n_code; i++)
        free(st->steps[i].carried);
    st->shadow = NULL;
    if (st->produces)
        return;
    free(b->defined);
    vm_flight_close(b);
    if (b->lender) {
        free(b);
        return;
    }
    free(b->cells);
    free(b->crowded);
    free(b->vague);
    vm_parts_close(b);
    if (b->owns_cluster && b->cluster)
        cluster_shadow_free(b->cluster);
    free(b);
}

int64_t vm_shadow_deferred(VmState *st, VmFault *fault)
{
    BlockShadow *b = st->shadow;
    int64_t number = b ? b->deferred_block : -1;
    if (number >= 0) {
        *fault = b->deferred;
        b->deferred_block = -1;
    }
    return number;
}

bool vm_shadow_forget(VmState *st, const VmStep *s)
{
    const VmBuffer *buffer = &st->f->buffers[s->inst->c];
    if (!st->shadow || buffer->part)
        return true;
    if (buffer->space == VM_SHARED) {
        SharedCell *cells = s->cells;
        for (int64_t i = 0; i < buffer->capacity; i++)
            if (!mark_is_in_flight(cells[i].writer))
                cells[i].writer = 0;
        return true;
    }
    const uint8_t *mask = vm_mask(st);
    for (int64_t i = 0; i < buffer->capacity; i++)
        for (int lane = 0; lane < st->lanes; lane++)
            ((uint8_t *)s->cells)[i * st->lanes + lane] &= (uint8_t)!mask[lane];
    return true;
}

/* ---- a block ------------------------------------------------------------------------------- */

/* Restarts the epochs, which have run out: marks of earlier blocks are cleared, and earlier marks
 * of this block move to its first epoch. */
static void rebase(BlockShadow *b)
{
    for (int64_t i = 0; i < b->n_cells; i++) {
        Mark writer = b->cells[i].writer;
        bool written = mark_epoch(writer) >= b->first_epoch;
        Mark kept = mark_is_in_flight(writer) ? writer : mark_of(1, mark_inst(writer), 0);
        b->cells[i] = (SharedCell){.writer = written ? kept : 0};
        b->crowded[i] = 0;
    }
    b->first_epoch = 1;
    b->epoch = b->latest = 2;
    vm_parts_restart(b);
    vm_flight_restart(b);
}

void vm_shadow_barrier(VmState *st, int sub)
{
    BlockShadow *b = st->shadow, *all = b->lender ? b->lender : b;
    if (++b->epoch == IN_FLIGHT)
        rebase(b);
    all->latest = all->latest < b->epoch ? b->epoch : all->latest;
    vm_parts_barrier(b, sub);
}

/* ---- a cluster ----------------------------------------------------------------------------- */

/* Its first block begins. Epochs that run out restart, without what earlier clusters left. */
static void begin_cluster(ClusterShadow *k)
{
    if (k->next > UINT32_MAX / 2) {
        memset(k->cells, 0, sizeof *k->cells * (size_t)k->n_cells);
        memset(k->crowded, 0, sizeof *k->crowded * (size_t)k->n_cells);
        k->next = 1;
    }
    k->first_epoch = k->next++;
    memset(k->touched, 0, sizeof k->touched);
    memset(k->ended, 0, sizeof k->ended);
}

void vm_shadow_barrier_of_cluster(VmState *st)
{
    BlockShadow *b = st->shadow;
    if (++b->cluster_epoch == b->cluster->next)
        b->cluster->next++;
}

bool vm_shadow_end(VmState *st)
{
    BlockShadow *b = st->shadow;
    if (!b)
        return true;
    Mark touched = b->cluster->touched[st->rank];
    b->cluster->ended[st->rank] = true;
    return vm_flight_end(st) &&
           (touched == 0 || mark_epoch(touched) < b->cluster_epoch || vm_outlived(st, touched));
}

/* It begins like the first of the consumers that take turns. */
static void begin_as(BlockShadow *b, const BlockShadow *first)
{
    b->cluster_epoch = first->cluster_epoch;
    b->epoch = first->epoch;
    b->first_epoch = first->first_epoch;
    memcpy(b->parts, first->parts, sizeof b->parts);
}

static void begin_epochs(VmState *st)
{
    BlockShadow *b = st->shadow;
    if (b->owns_cluster)
        begin_cluster(b->cluster);
    b->cluster_epoch = b->cluster->first_epoch;
    b->epoch = b->latest;
    vm_shadow_barrier(st, 0);
    b->first_epoch = b->epoch;
    if (st->producer) /* what a role finds is older than what it does */
        vm_shadow_barrier(st, 0);
}

void vm_shadow_begin(VmState *st)
{
    BlockShadow *b = st->shadow;
    if (b->lender)
        begin_as(b, b->lender);
    else
        begin_epochs(st);
    b->serial = b->global->base + (uint64_t)st->block_number + 1;
    for (int i = 0; i < st->f->n_code; i++)
        vm_has_stored(&st->steps[i]);
    memset(b->defined, 0, (size_t)b->n_defined);
    vm_flight_begin(b);
}
