/* shadow_global.c - Detects races between the threads of a launch, undefined reads and forbidden
 * writes in global memory.
 *
 * Blocks run on several threads of the machine, so an element's marks are read and changed under
 * a lock. The second of two racing blocks finds the race, and which one is second depends on
 * timing. The fault is attributed to the block with the higher number, so that reports are
 * deterministic. */
#include "runtime/sim/shadow.h"

enum { ELEMENTS_PER_LOCK = 64 };

/* One access under way. */
typedef struct {
    VmState *st;
    const VmStep *s;
    GlobalShadow *g;
    GlobalMark mine;
    uint64_t base; /* marks up to this serial number are of earlier launches */
    int n_clocks;
    uint8_t *lock; /* held, or NULL */
} Access;

static Access access_of(VmState *st, const VmStep *s)
{
    const BlockShadow *b = st->shadow;
    Mark mark = mark_of(b->epoch, (int)(s - st->steps), st->first);
    return (Access){.st = st,
                    .s = s,
                    .g = s->cells,
                    .mine = {b->serial, mark},
                    .base = b->global->base,
                    .n_clocks = 1 + b->n_parts};
}

/* ---- locks --------------------------------------------------------------------------------- */

static void release(Access *a)
{
    if (a->lock)
        __atomic_store_n(a->lock, 0, __ATOMIC_RELEASE);
    a->lock = NULL;
}

/* Makes the marks of an element this thread's until the lock of another one is taken. */
static void hold(Access *a, int64_t element)
{
    if (!a->st->shadow->concurrent)
        return;
    uint8_t *lock = &a->g->locks[element / ELEMENTS_PER_LOCK % LOCKS];
    if (lock == a->lock)
        return;
    release(a);
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        ;
    a->lock = lock;
}

/* ---- conflicts ----------------------------------------------------------------------------- */

/* By the clock: by that of threads, any two blocks do. */
static bool clashes(const Access *a, GlobalMark theirs, int clock)
{
    if (theirs.serial <= a->base)
        return false;
    return theirs.serial != a->mine.serial
               ? clock == 0
               : marks_clash(clock_of(a->st->shadow, clock), a->mine.mark, theirs.mark);
}

static Party party_of(const VmShadow *shadow, GlobalMark m)
{
    int64_t number = (int64_t)(m.serial - shadow->base - 1);
    const int64_t *grid = shadow->grid;
    return (Party){mark_inst(m.mark),
                   mark_thread(m.mark),
                   {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]},
                   false,
                   false};
}

/* Keeps the fault for the other block. */
static void defer(VmState *st, uint64_t serial)
{
    BlockShadow *b = st->shadow->lender ? st->shadow->lender : st->shadow;
    int64_t number = (int64_t)(serial - b->global->base - 1);
    if (b->deferred_block < 0 || number < b->deferred_block) {
        b->deferred_block = number;
        b->deferred = st->fault;
    }
    st->fault.kind = FAULT_NONE;
}

/* A race with a later block is that block's, and this one goes on. */
static bool conflict(Access *a, int64_t element, GlobalMark with, int clock)
{
    const VmShadow *shadow = a->st->shadow->global;
    Party mine = party_of(shadow, a->mine), theirs = party_of(shadow, with);
    theirs.parted = clock > 0;
    if (with.serial <= a->mine.serial)
        return vm_race(a->st, a->s, element, &mine, &theirs);
    vm_race(a->st, a->s, element, &theirs, &mine);
    defer(a->st, with.serial);
    return true;
}

/* Keeps readers of two blocks if there are two, else the latest readers of one block, from two
 * threads, or parts, if there are two in this epoch. A later writer that races with any reader also
 * races with one of these. */
static void note_global(const Access *a, GlobalReaders *r, Clock clock)
{
    GlobalMark *one = &r->by[0], *two = &r->by[1];
    if (one->serial <= a->base) {
        *one = a->mine;
        *two = (GlobalMark){0};
    } else if (one->serial != a->mine.serial) {
        if (two->serial <= a->base || two->serial == one->serial)
            *two = a->mine;
    } else if (two->serial > a->base && two->serial != one->serial) {
        return; /* two blocks already, this one among them */
    } else if (mark_epoch(one->mark) < clock.epoch) {
        *one = a->mine;
        *two = (GlobalMark){0};
    } else if (!clock_joins(clock, one->mark, a->mine.mark) && two->serial <= a->base) {
        *two = a->mine;
    }
}

static void note_readers(const Access *a, GlobalReaders *const of[MOST_CLOCKS], int64_t element)
{
    for (int k = 0; k < a->n_clocks && of[k]; k++)
        note_global(a, &of[k][element], clock_of(a->st->shadow, k));
}

static bool check_readers(Access *a, GlobalReaders *const of[MOST_CLOCKS], int64_t element)
{
    for (int k = 0; k < a->n_clocks && of[k]; k++)
        for (int i = 0; i < 2; i++)
            if (clashes(a, of[k][element].by[i], k) &&
                !conflict(a, element, of[k][element].by[i], k))
                return false;
    return true;
}

/* One mark is enough for all clocks: accesses before the last write are ordered with it. */
static bool check_writer(Access *a, int64_t element)
{
    GlobalMark writer = a->g->writers[element];
    for (int k = 0; k < a->n_clocks; k++)
        if (clashes(a, writer, k))
            return (a->s->inst->op == VM_ATOMIC && mark_is_atomic(a->st, writer.mark)) ||
                   conflict(a, element, writer, k);
    return true;
}

static bool is_defined(const GlobalShadow *g, int64_t element)
{
    return g->defined || (g->writers[element].serial != 0 && !g->vague[element]);
}

typedef enum { WRITER_KNOWN, WRITER_VAGUE } WriterPlace;

static void note_writer(Access *a, int64_t element, WriterPlace place)
{
    GlobalShadow *g = a->g;
    bool was_vague = g->writers[element].serial == 0 || g->vague[element];
    if (was_vague != (place == WRITER_VAGUE))
        __atomic_fetch_add(&g->written, place == WRITER_VAGUE ? -1 : 1, __ATOMIC_RELAXED);
    g->writers[element] = a->mine;
    g->vague[element] = place == WRITER_VAGUE;
}

/* ---- claims -------------------------------------------------------------------------------- */

/* A load that claims that nothing in the launch writes the element; races with other threads are
 * found before. */
static bool claim(Access *a, int lane, int64_t element)
{
    char where[120];
    if (a->g->writers[element].serial <= a->base) {
        if (a->g->claimed)
            a->g->claimed[element] = a->base + 1;
        return true;
    }
    vm_shadow_place(a->g, element, where, sizeof where);
    return vm_fault(a->st, a->s, FAULT_READ_ONLY, lane,
                    "reads element %s of '%s' as read-only, but has written it in this launch",
                    where, a->g->buffer->name);
}

static bool is_unclaimed(Access *a, int lane, int64_t element)
{
    char where[120];
    if (!a->g->claimed || a->g->claimed[element] != a->base + 1)
        return true;
    vm_shadow_place(a->g, element, where, sizeof where);
    return vm_fault(a->st, a->s, FAULT_READ_ONLY, lane,
                    "writes element %s of '%s', which was read as read-only in this launch", where,
                    a->g->buffer->name);
}

/* ---- elements ------------------------------------------------------------------------------ */

typedef bool CheckElement(Access *a, int lane, int64_t element);

/* Nothing in the launch writes the buffer. */
static bool read_defined(Access *a, int lane, int64_t element)
{
    return is_defined(a->g, element) ||
           vm_undefined(a->st, a->s, lane, element, a->g->vague[element]);
}

static bool read_element(Access *a, int lane, int64_t element)
{
    GlobalShadow *g = a->g;
    if (!check_writer(a, element))
        return false;
    if (!is_defined(g, element))
        return vm_undefined(a->st, a->s, lane, element, g->vague[element]);
    if (!check_readers(a, g->updaters, element))
        return false;
    note_readers(a, g->readers, element);
    return a->s->inst->sub != VM_READ_ONLY || claim(a, lane, element);
}

/* What a block awaits, its writer has stored before. */
static bool await_element(Access *a, int lane, int64_t element)
{
    return is_defined(a->g, element) ||
           vm_undefined(a->st, a->s, lane, element, a->g->vague[element]);
}

/* A copy of this block that nothing has waited for may read the element after this write. */
static bool is_copied_from(const Access *a, int64_t element)
{
    int inst, thread;
    if (!a->g->readers[0] || !vm_async_reads(a->st, a->g, element, &inst, &thread))
        return false;
    Party mine = party_of(a->st->shadow->global, a->mine), theirs = mine;
    theirs.inst = inst;
    theirs.thread = thread;
    theirs.in_flight = true;
    vm_race(a->st, a->s, element, &mine, &theirs);
    return true;
}

/* Other blocks that await the element find it 0 until it is stored. */
static bool is_cleared(const Access *a, int lane, int64_t element)
{
    const uint64_t *memory = a->s->memory;
    const int64_t *grid = a->st->shadow->global->grid;
    char where[120];
    if (grid[0] * grid[1] * grid[2] == 1 || (is_defined(a->g, element) && memory[element] == 0))
        return true;
    vm_shadow_place(a->g, element, where, sizeof where);
    return vm_fault(a->st, a->s, FAULT_STALE, lane,
                    "stores element %s of '%s', which others await, but which was not 0 before",
                    where, a->g->buffer->name);
}

static bool write_element(Access *a, int lane, int64_t element)
{
    const GlobalShadow *g = a->g;
    if (is_copied_from(a, element) || !check_writer(a, element) ||
        !check_readers(a, g->readers, element) || !check_readers(a, g->updaters, element))
        return false;
    if (!is_unclaimed(a, lane, element) ||
        (a->s->inst->sub == VM_PUBLISHED && !is_cleared(a, lane, element)))
        return false;
    const int64_t *index = a->s->a;
    note_writer(a, element,
                vm_carries(a->st, a->s, lane, (int)(element - index[a->s->lanes_a ? lane : 0]))
                    ? WRITER_VAGUE
                    : WRITER_KNOWN);
    return true;
}

/* An exchange defines its element; other updates need it defined. */
static bool update_element(Access *a, int lane, int64_t element)
{
    GlobalShadow *g = a->g;
    bool defined = is_defined(g, element);
    if (is_copied_from(a, element))
        return false;
    if (!defined && a->s->inst->sub != VM_MOVE)
        return vm_undefined(a->st, a->s, lane, element, g->vague[element]);
    if (!check_writer(a, element) || !check_readers(a, g->readers, element) ||
        !is_unclaimed(a, lane, element))
        return false;
    note_readers(a, g->updaters, element);
    if (!defined)
        note_writer(a, element, WRITER_KNOWN);
    return true;
}

/* ---- accesses ------------------------------------------------------------------------------ */

static bool each_lane(VmState *st, const VmStep *s, CheckElement *check)
{
    Access a = access_of(st, s);
    const int64_t *index = s->a;
    bool ok = true;
    int n = st->lanes;
    for (int lane = vm_next_lane(st, 0, n); lane < n && ok; lane = vm_next_lane(st, lane + 1, n))
        for (int k = 0; k < s->width && ok; k++) {
            int64_t element = index[s->lanes_a ? lane : 0] + k;
            hold(&a, element);
            a.mine.mark += (Mark)lane;
            ok = check(&a, lane, element);
            a.mine.mark -= (Mark)lane;
        }
    release(&a);
    return ok;
}

static bool read_only_here(VmState *st, const VmStep *s)
{
    const GlobalShadow *g = s->cells;
    if (__atomic_load_n(&g->written, __ATOMIC_RELAXED) == g->elements)
        return true;
    return each_lane(st, s, read_defined);
}

static bool read_global(VmState *st, const VmStep *s)
{
    if (s->inst->sub == VM_AWAITED)
        return each_lane(st, s, await_element);
    return each_lane(st, s, read_element) &&
           (!s->into || !vm_is_async(s->into->inst) || vm_async_source(st, s));
}

void vm_shadow_source(VmState *st, int inst, int lane, int64_t element)
{
    Access a = access_of(st, &st->steps[inst]);
    a.mine.mark += (Mark)lane;
    for (int k = 0; k < a.s->width && a.g->readers[0]; k++) {
        hold(&a, element + k);
        note_readers(&a, a.g->readers, element + k);
    }
    release(&a);
}

static bool write_global(VmState *st, const VmStep *s)
{
    bool ok = each_lane(st, s, write_element);
    vm_has_stored(s);
    return ok;
}

static bool update_global(VmState *st, const VmStep *s)
{
    return each_lane(st, s, update_element);
}

static bool write_input(VmState *st, const VmStep *s)
{
    const GlobalShadow *g = s->cells;
    return vm_fault(st, s, FAULT_READ_ONLY, 0, "writes '%s', which is an input", g->buffer->name);
}

VmApply *vm_shadow_global(const GlobalShadow *g, VmOp op, bool written)
{
    if (op != VM_LOAD && g->buffer->role == BUFFER_IN)
        return write_input;
    if (op == VM_STORE)
        return write_global;
    if (op == VM_ATOMIC)
        return update_global;
    if (written)
        return read_global;
    return g->writers ? read_only_here : NULL;
}
