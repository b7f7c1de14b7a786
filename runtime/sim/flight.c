/* flight.c - Detects accesses to what an instruction in flight still reads or has not written yet.
 *
 * An instruction that goes on behind its text (instruction.h) is simulated where it begins, and so
 * is a bulk store, whose groups are counted by themselves. Until
 * its group has been waited for, a write to what it reads in shared memory is a fault, and so are
 * a write of another instruction or statement to the local memory that it reads, and any access to
 * that which it writes. Each element
 * remembers the last group that did so, and a group is complete once a number has passed its own,
 * so that a wait costs nothing. A bulk store also has to find a barrier between it and what
 * threads have written, and a wait before the block ends. It reads until its thread has waited for
 * it, so other threads write there behind a barrier that follows the wait. */
#include "runtime/sim/shadow.h"

#include <stdlib.h>
#include <string.h>

bool vm_flight_open(VmState *st)
{
    BlockShadow *b = st->shadow;
    bool some = false;
    for (int i = 0; i < st->f->n_code; i++)
        some |= st->f->code[i].op == VM_FLIGHT;
    if (!some)
        return true;
    b->flight.shared = calloc((size_t)b->n_cells + 1, sizeof *b->flight.shared);
    b->flight.stored = calloc((size_t)b->n_cells + 1, sizeof *b->flight.stored);
    b->flight.local = calloc((size_t)b->n_defined + 1, sizeof *b->flight.local);
    b->flight.held = calloc((size_t)b->n_defined + 1, sizeof *b->flight.held);
    b->flight.storer = calloc((size_t)b->n_cells + 1, sizeof *b->flight.storer);
    return b->flight.shared && b->flight.stored && b->flight.local && b->flight.held &&
           b->flight.storer;
}

void vm_flight_close(BlockShadow *b)
{
    free(b->flight.shared);
    free(b->flight.stored);
    free(b->flight.local);
    free(b->flight.held);
    free(b->flight.storer);
    free(b->flight.stores.waited);
}

void vm_flight_begin(BlockShadow *b)
{
    FlightQueue *queues[] = {&b->flight.instructions, &b->flight.stores};
    for (int i = 0; i < 2; i++) {
        queues[i]->landed = ++queues[i]->group;
        queues[i]->latest = NULL;
        queues[i]->first = queues[i]->landed;
        queues[i]->n_waited = 0;
    }
}

void vm_flight_restart(BlockShadow *b)
{
    for (uint32_t i = 0; i < b->flight.stores.n_waited; i++)
        b->flight.stores.waited[i] = 0;
}

/* Threads wait now for the groups of stores before `until`. */
static bool note_wait(BlockShadow *b, uint32_t until)
{
    FlightQueue *q = &b->flight.stores;
    uint32_t n = until - q->first;
    if (n <= q->n_waited)
        return true;
    uint32_t *waited = realloc(q->waited, (size_t)n * sizeof *waited);
    if (!waited)
        return false;
    q->waited = waited;
    while (q->n_waited < n)
        waited[q->n_waited++] = b->epoch;
    return true;
}

/* All threads of the block are behind the last wait for stores. */
static bool is_settled(const BlockShadow *b)
{
    const FlightQueue *q = &b->flight.stores;
    return q->n_waited == 0 || q->waited[q->n_waited - 1] < vm_block_epoch(b);
}

bool vm_flight_end(VmState *st)
{
    const FlightQueue *q = &st->shadow->flight.stores;
    if (!q->latest || q->taken_off < q->landed)
        return true;
    return vm_fault(st, q->latest, FAULT_IN_FLIGHT, 0,
                    "the block ends while a bulk store still reads '%s'; nothing has waited for "
                    "its group",
                    st->f->buffers[q->latest->inst->c].name);
}

bool vm_flight(VmState *st, const VmStep *s)
{
    if (!st->shadow)
        return true;
    Flight *f = &st->shadow->flight;
    int what = s->inst->sub & ~VM_OF_STORES;
    FlightQueue *q = s->inst->sub & VM_OF_STORES ? &f->stores : &f->instructions;
    uint32_t pending = (uint32_t)(what - VM_FLIGHT_WAIT);
    switch (what) {
    case VM_FLIGHT_BEGIN: f->under_way = q; return true;
    case VM_FLIGHT_END: f->under_way = NULL; return true;
    case VM_FLIGHT_COMMIT: q->group++; return true;
    default: break;
    }
    if (q->group - q->landed > pending)
        q->landed = q->group - pending;
    bool noted = q == &f->stores ? note_wait(st->shadow, q->landed)
                                 : !st->pipe || vm_roles_complete(st, q->landed);
    return noted || vm_fault(st, s, FAULT_STOPPED, 0, "out of memory for instructions in flight");
}

/* One access, and the groups that it belongs to or that may stand against it. */
typedef struct {
    FlightQueue *queue;
    uint32_t *marks;
    bool takes_off; /* it belongs to them */
    bool written;   /* they write the element; else they read it */
} FlightAccess;

static bool refuse(VmState *st, const VmStep *s, FlightAccess of, int lane, int64_t element)
{
    bool stores = of.queue == &st->shadow->flight.stores;
    const VmBuffer *buffer = &st->f->buffers[s->inst->c];
    return vm_fault(st, s, FAULT_IN_FLIGHT, lane,
                    "%s element %lld of '%s', which %s %s; nothing has waited for its group",
                    s->inst->op == VM_LOAD ? "reads" : "writes", (long long)element, buffer->name,
                    stores ? "a bulk store" : "an instruction in flight",
                    of.written ? "writes" : "reads");
}

/* A barrier of both threads stands between the wait for group `mark` of stores, by the thread that
 * made it, and this access to an element that it has read. */
static bool is_behind_wait(const BlockShadow *b, uint32_t mark, int storer, int thread)
{
    const FlightQueue *q = &b->flight.stores;
    if (mark < q->first || thread == storer)
        return true;
    Mark mine = mark_of(b->epoch, 0, thread), wait = mark_of(q->waited[mark - q->first], 0, storer);
    return clock_that_clashes(b, mine, wait) < 0;
}

static bool is_free(VmState *st, const VmStep *s, FlightAccess of, int lane, int64_t element)
{
    const BlockShadow *b = st->shadow;
    if (of.queue != &b->flight.stores)
        return true;
    int storer = b->flight.storer[of.marks - b->flight.stored + element];
    if (is_behind_wait(b, of.marks[element], storer, st->first + lane))
        return true;
    return vm_fault(st, s, FAULT_IN_FLIGHT, lane,
                    "writes element %lld of '%s', which a bulk store of another thread reads; no "
                    "barrier of both follows the wait for its group",
                    (long long)element, st->f->buffers[s->inst->c].name);
}

static void take_off(const VmStep *s, FlightQueue *q)
{
    q->taken_off = q->group;
    q->latest = s;
}

/* The elements of a lane; the marks of those that lanes have of their own lie side by side. */
static bool visit(VmState *st, const VmStep *s, FlightAccess of, int lane)
{
    const int64_t *index = s->a;
    int64_t first = index[s->lanes_a ? lane : 0];
    bool stores = of.queue == &st->shadow->flight.stores;
    bool local = st->f->buffers[s->inst->c].space == VM_LOCAL;
    int64_t step = local ? st->lanes : 1;
    uint32_t *mark = of.marks + (local ? lane : 0) + first * step;
    uint16_t *storer =
        stores ? st->shadow->flight.storer + (of.marks - st->shadow->flight.stored) : NULL;
    for (int i = 0; i < s->width; i++, mark += step) {
        if (!of.takes_off && *mark >= of.queue->landed)
            return refuse(st, s, of, lane, first + i);
        if (!of.takes_off && !is_free(st, s, of, lane, first + i))
            return false;
        if (of.takes_off && stores && !vm_fenced(st, s, lane, first + i))
            return false;
        if (of.takes_off && stores)
            storer[first + i] = (uint16_t)(st->first + lane);
        if (of.takes_off)
            *mark = of.queue->group;
    }
    if (of.takes_off)
        take_off(s, of.queue);
    return true;
}

/* All lanes access the same elements of their local memory, whose marks lie side by side; false
 * where one may be in flight, which visit finds. */
static bool visit_side_by_side(VmState *st, const VmStep *s, FlightAccess of)
{
    const int64_t *index = s->a;
    uint32_t *marks = of.marks + index[0] * st->lanes, latest = 0;
    int64_t n = (int64_t)s->width * st->lanes;
    if (of.takes_off) {
        for (int64_t i = 0; i < n; i++)
            marks[i] = of.queue->group;
        take_off(s, of.queue);
        return true;
    }
    for (int64_t i = 0; i < n; i++)
        latest = marks[i] > latest ? marks[i] : latest;
    return latest < of.queue->landed;
}

/* The same for an element of shared memory for each lane. */
static void take_off_each(const VmState *st, const VmStep *s, FlightAccess of)
{
    const int64_t *index = s->a;
    for (int lane = 0; lane < st->lanes; lane++)
        of.marks[index[lane]] = of.queue->group;
    take_off(s, of.queue);
}

static bool visit_lanes(VmState *st, const VmStep *s, FlightAccess of)
{
    bool local = st->f->buffers[s->inst->c].space == VM_LOCAL;
    bool stores = of.queue == &st->shadow->flight.stores;
    if (!local && !stores && of.takes_off && s->lanes_a && s->width == 1 && st->full[st->level]) {
        take_off_each(st, s, of);
        return true;
    }
    if (local && !stores && !s->lanes_a && st->full[st->level] && visit_side_by_side(st, s, of))
        return true;
    int n = st->lanes;
    for (int lane = vm_next_lane(st, 0, n); lane < n; lane = vm_next_lane(st, lane + 1, n)) {
        if (!visit(st, s, of, lane))
            return false;
        if (!local && !stores && !s->lanes_a)
            break; /* the others access the same elements */
    }
    return true;
}

static bool visit_all(VmState *st, const VmStep *s, FlightAccess of)
{
    bool landed = of.queue->taken_off < of.queue->landed;
    if (of.queue == &st->shadow->flight.stores)
        landed &= is_settled(st->shadow);
    return (landed && !of.takes_off) || visit_lanes(st, s, of);
}

/* What the execution under way reads, or writes in local memory, is in flight from now on. Others
 * may read the former. */
static bool check(VmState *st, const VmStep *s)
{
    Flight *f = &st->shadow->flight;
    bool local = st->f->buffers[s->inst->c].space == VM_LOCAL, loads = s->inst->op == VM_LOAD;
    bool executes = f->under_way == &f->instructions, stores = f->under_way == &f->stores;
    FlightAccess of = {&f->instructions, s->marks, executes && local != loads, local};
    FlightAccess held = {local ? &f->instructions : &f->stores, s->held,
                         loads && (local ? executes : stores), false};
    if ((of.takes_off || (!executes && (local || !loads))) && !visit_all(st, s, of))
        return false;
    if ((held.takes_off || (!loads && !(local && executes))) && !visit_all(st, s, held))
        return false;
    return s->unmarked(st, s);
}

void vm_flight_watch(VmState *st, VmStep *s, int64_t cells)
{
    const Flight *f = &st->shadow->flight;
    bool local = st->f->buffers[s->inst->c].space == VM_LOCAL;
    if (!f->shared)
        return;
    s->marks = (local ? f->local : f->shared) + cells;
    s->held = (local ? f->held : f->stored) + cells;
    s->unmarked = s->check;
    s->check = check;
}
