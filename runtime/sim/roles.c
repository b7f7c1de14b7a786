/* roles.c - Runs a block whose threads have roles: a producer, which makes bulk copies, and
 * consumers, which wait for them.
 *
 * Each role is a machine of its own (VmState). They share the block's memory and take turns: each
 * runs until it has to wait for the other. If neither can go on, they wait for each other.
 *
 * Faults do not depend on the turns. Barriers say nothing between the roles, so a copy is ordered
 * behind an access of the consumers only by a release that followed the access and that the
 * producer has waited for. Each element remembers how many releases there had been at its last
 * access; a group of instructions in flight has accessed what it reads when it is complete. In the
 * other direction, a copy is in flight until the consumers receive its group (async.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/shadow.h"

/* Counters of groups of the producer's copies, from the start of the block. */
typedef struct {
    int64_t committed;
    int64_t received, released; /* by the consumers */
    int64_t known;              /* releases that the producer has waited for */
} PipeCounts;

struct VmPipe {
    PipeCounts now;
    /* [n_cells] releases before the last access by consumers, plus 1; 0: there was none since the
     * last copy. NULL: memory is not watched */
    uint32_t *accessed;
    uint32_t *landed; /* [group of instructions] likewise, when it was complete */
    uint32_t n_landed, first_landed;
};

bool vm_roles_open(VmState *st, const VmValue *inputs, const uint64_t *buffers)
{
    VmLanes first = {.shape = st->block_shape, .first = st->f->consumers, .lanes = 1};
    st->pipe = calloc(1, sizeof *st->pipe);
    st->producer = st->pipe ? vm_open_group(st->f, &first, st, inputs, buffers) : NULL;
    if (!st->producer)
        return false;
    st->producer->pipe = st->pipe;
    st->producer->produces = true;
    return true;
}

void vm_roles_close(VmState *st)
{
    vm_close(st->producer);
    if (!st->pipe || st->produces)
        return;
    free(st->pipe->accessed);
    free(st->pipe->landed);
    free(st->pipe);
}

void vm_roles_begin(VmState *st, const int64_t block[3])
{
    st->pipe->now = (PipeCounts){0};
    if (st->shadow) {
        memset(st->pipe->accessed, 0, (size_t)st->shadow->n_cells * sizeof *st->pipe->accessed);
        st->pipe->first_landed = st->shadow->flight.landed;
        st->pipe->n_landed = 0;
    }
    st->producer->in_kernel = st->in_kernel;
    st->producer->block_number = st->block_number;
    vm_begin(st->producer, block);
}

/* ---- waiting --------------------------------------------------------------------------------- */

int64_t vm_group_under_way(const VmState *producer)
{
    return producer->pipe->now.committed;
}

void vm_group_commit(VmState *producer)
{
    producer->pipe->now.committed++;
}

static bool acquire(PipeCounts *n, int most)
{
    int64_t needed = n->committed + 1 - most;
    if (n->released < needed)
        return false;
    if (n->known < needed)
        n->known = needed;
    return true;
}

static bool receive(VmState *st, PipeCounts *n)
{
    if (n->received == n->committed)
        return false;
    vm_async_land(st->producer, n->received++);
    return true;
}

static void release(PipeCounts *n, int kept)
{
    if (n->released < n->received - kept)
        n->released = n->received - kept;
}

HandOver vm_hand_over(VmState *st, const VmStep *s)
{
    PipeCounts *n = &st->pipe->now;
    if (!st->full[st->level]) {
        vm_fault(st, s, FAULT_DIVERGENT_BARRIER, 0, "not all consumers reach this");
        return HAND_OVER_FAULT;
    }
    bool done = true;
    switch ((VmOp)s->inst->op) {
    case VM_ACQUIRE: done = acquire(n, s->inst->sub); break;
    case VM_RECEIVE: done = receive(st, n); break;
    default: release(n, s->inst->sub); break;
    }
    return done ? HAND_OVER_DONE : HAND_OVER_WAITS;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static long long group_awaited(const VmState *st)
{
    const PipeCounts *n = &st->pipe->now;
    return st->produces ? n->committed - st->steps[st->pc].inst->sub : n->received;
}

/* Neither role can go on, and one waits at least. */
static bool deadlock(VmState *st)
{
    VmState *producer = st->producer, *waits = st->pc >= 0 ? st : producer;
    const VmState *other = waits == st ? producer : st;
    const char *who = waits == st ? "a group of copies that the producer has not begun"
                                  : "the consumers to release a group of copies";
    vm_fault(waits, &waits->steps[waits->pc], FAULT_DEADLOCK, 0, "waits for %s (group %lld)", who,
             group_awaited(waits));
    size_t used = strlen(waits->fault.message), room = sizeof waits->fault.message - used;
    if (other->pc < 0)
        snprintf(waits->fault.message + used, room, ", and %s ended",
                 waits == st ? "the producer has" : "they have");
    else
        snprintf(waits->fault.message + used, room,
                 ", while the producer waits for the consumers to release group %lld",
                 group_awaited(other));
    st->fault = waits->fault;
    return false;
}

bool vm_take_turns(VmState *st)
{
    VmState *const turns[] = {st->producer, st};
    while (st->pc >= 0 || st->producer->pc >= 0) {
        PipeCounts before = st->pipe->now;
        int at[] = {st->producer->pc, st->pc};
        for (int i = 0; i < 2; i++) {
            if (turns[i]->pc < 0 || vm_continue(turns[i]))
                continue;
            st->fault = turns[i]->fault;
            return false;
        }
        bool stands = at[0] == st->producer->pc && at[1] == st->pc &&
                      memcmp(&before, &st->pipe->now, sizeof before) == 0;
        if (stands)
            return deadlock(st);
    }
    return true;
}

/* ---- watched memory -------------------------------------------------------------------------- */

static uint32_t stamp(const VmState *st)
{
    return (uint32_t)st->pipe->now.released + 1;
}

bool vm_roles_watch_open(VmState *st)
{
    st->pipe->accessed = calloc((size_t)st->shadow->n_cells + 1, sizeof *st->pipe->accessed);
    return st->pipe->accessed;
}

void vm_roles_landed(VmState *producer, const VmStep *s, int64_t element)
{
    for (int k = 0; k < s->width; k++)
        s->accessed[element + k] = stamp(producer);
}

/* Groups of instructions up to number `until` are complete. */
bool vm_roles_complete(VmState *st, uint32_t until)
{
    struct VmPipe *p = st->pipe;
    uint32_t n = until - p->first_landed;
    if (n <= p->n_landed)
        return true;
    uint32_t *landed = realloc(p->landed, (size_t)n * sizeof *landed);
    if (!landed)
        return false;
    p->landed = landed;
    while (p->n_landed < n)
        landed[p->n_landed++] = stamp(st);
    return true;
}

/* An access by consumers. What an instruction in flight reads is accessed until it is complete. */
static bool note_access(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    for (int lane = 0; lane < st->lanes && !st->shadow->flight.under_way; lane++)
        for (int k = 0; k < s->width && vm_runs(st, lane); k++)
            s->accessed[index[s->lanes_a ? lane : 0] + k] = stamp(st);
    return s->unstamped(st, s);
}

/* The consumers have released the element since their last access, as the producer knows. */
static bool is_released(const VmState *st, const VmStep *s, int64_t element)
{
    const struct VmPipe *p = st->pipe;
    const uint32_t *flight = s->marks;
    uint32_t known = (uint32_t)p->now.known, group = flight ? flight[element] : 0;
    if (s->accessed[element] > known)
        return false;
    if (!flight || group < p->first_landed)
        return true;
    return group - p->first_landed < p->n_landed && p->landed[group - p->first_landed] <= known;
}

static bool copy_element(VmState *st, const VmStep *s, int64_t element)
{
    SharedCell *cell = &((SharedCell *)s->cells)[element];
    Mark mine = mark_of(IN_FLIGHT, (int)(s - st->steps), st->first);
    bool in_flight = mark_is_in_flight(cell->writer);
    if (in_flight || !is_released(st, s, element))
        return vm_overtakes(st, s, element,
                            !in_flight && cell->reader[0] ? cell->reader[0] : cell->writer);
    *cell = (SharedCell){.writer = mine};
    s->crowded[element] = 0;
    s->accessed[element] = 0;
    return true;
}

static bool copy_into(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    for (int k = 0; k < s->width; k++) {
        int64_t element = *index + k;
        if (!copy_element(st, s, element))
            return false;
        s->vague[element] = vm_carries(st, s, 0, k);
    }
    vm_has_stored(s);
    return true;
}

void vm_roles_watch(VmState *st, VmStep *s, int64_t cells)
{
    const Flight *f = &st->shadow->flight;
    s->accessed = st->pipe->accessed + cells;
    if (st->produces) {
        s->marks = f->shared ? f->shared + cells : NULL;
        s->check = copy_into;
        return;
    }
    s->unstamped = s->check;
    s->check = note_access;
}
