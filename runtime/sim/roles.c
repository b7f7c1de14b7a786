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
 * other direction, a copy is in flight until the consumers receive its group (async.c).
 *
 * The blocks of a cluster that share copies take turns together. A producer knows of another block
 * what its consumers have released to all. A group has landed in a block when all producers have
 * committed theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/shadow.h"

/* Counters of groups of the producer's copies, from the start of the block. */
typedef struct {
    int64_t committed;
    int64_t received, released; /* by the consumers */
    int64_t told;               /* of these, to the producers of all blocks of the cluster */
    int64_t known;              /* releases that the producer has waited for */
    int met, passed;            /* barriers beside the roles: by the producer, by consumers */
} PipeCounts;

struct VmPipe {
    PipeCounts now;
    VmState *const *blocks; /* [n_blocks] of a cluster that share copies; none: it is alone */
    int n_blocks;
    bool tells; /* consumers release to the producers of all blocks */
    /* [n_cells] releases before the last access by consumers, plus 1; 0: there was none since the
     * last copy. NULL: memory is not watched */
    uint32_t *accessed;
    uint32_t *landed; /* [group of instructions] likewise, when it was complete */
    uint32_t n_landed, first_landed;
};

bool vm_roles_open(VmState *st, const VmValue *inputs, const uint64_t *buffers)
{
    VmLanes first = {
        .shape = st->block_shape, .first = st->f->consumers, .lanes = 1, .rank = st->rank};
    st->pipe = calloc(1, sizeof *st->pipe);
    st->producer = st->pipe ? vm_open_group(st->f, &first, st, inputs, buffers) : NULL;
    if (!st->producer)
        return false;
    st->producer->pipe = st->pipe;
    st->producer->produces = true;
    return true;
}

/* Some consumers of the cluster release to all of its producers. */
static bool tells_all(const VmState *st)
{
    for (int i = 0; i < st->f->n_code; i++)
        if (st->f->code[i].op == VM_RELEASE_CLUSTER)
            return true;
    return false;
}

void vm_roles_join(VmState *const *blocks, int n)
{
    for (int i = 0; i < n && blocks[i]->pipe && blocks[i]->f->shares; i++) {
        blocks[i]->pipe->blocks = blocks;
        blocks[i]->pipe->n_blocks = n;
        blocks[i]->pipe->tells = tells_all(blocks[i]);
    }
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
        st->pipe->first_landed = st->shadow->flight.instructions.landed;
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

static bool acquire(VmState *st, int most)
{
    struct VmPipe *p = st->pipe;
    int64_t needed = p->now.committed + 1 - most;
    if (p->now.released < needed)
        return false;
    for (int i = 0; i < p->n_blocks && p->tells; i++)
        if (p->blocks[i]->pipe->now.told < needed)
            return false;
    if (p->now.known < needed)
        p->now.known = needed;
    return true;
}

static bool receive(VmState *st)
{
    struct VmPipe *p = st->pipe;
    if (p->now.received == p->now.committed)
        return false;
    for (int i = 0; i < p->n_blocks; i++)
        if (p->now.received >= p->blocks[i]->pipe->now.committed)
            return false;
    vm_async_land(st->producer, p->now.received++);
    return true;
}

static void release(PipeCounts *n, int kept)
{
    if (n->released < n->received - kept)
        n->released = n->received - kept;
}

/* The mbarriers of other blocks are there. */
static bool release_to_all(VmState *st, const VmStep *s)
{
    struct VmPipe *p = st->pipe;
    release(&p->now, s->inst->sub);
    p->now.told = p->now.released;
    for (int i = 0; i < p->n_blocks; i++)
        if (!vm_shadow_visits(st, s, p->blocks[i]->rank))
            return false;
    return true;
}

bool vm_roles_barrier(VmState *st)
{
    PipeCounts *n = &st->pipe->now;
    if (!st->produces)
        n->passed++;
    else if (n->met == n->passed)
        return false;
    else
        n->met++;
    return true;
}

HandOver vm_hand_over(VmState *st, const VmStep *s)
{
    if (!st->full[st->level]) {
        vm_fault(st, s, FAULT_DIVERGENT_BARRIER, 0, "not all consumers reach this");
        return HAND_OVER_FAULT;
    }
    switch ((VmOp)s->inst->op) {
    case VM_ACQUIRE: return acquire(st, s->inst->sub) ? HAND_OVER_DONE : HAND_OVER_WAITS;
    case VM_RECEIVE: return receive(st) ? HAND_OVER_DONE : HAND_OVER_WAITS;
    case VM_RELEASE: release(&st->pipe->now, s->inst->sub); return HAND_OVER_DONE;
    default: return release_to_all(st, s) ? HAND_OVER_DONE : HAND_OVER_FAULT;
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static long long group_awaited(const VmState *st)
{
    const PipeCounts *n = &st->pipe->now;
    return st->produces ? n->committed - st->steps[st->pc].inst->sub : n->received;
}

static bool waits(const VmState *st)
{
    VmOp op = st->pc < 0 ? VM_STOP : (VmOp)st->steps[st->pc].inst->op;
    return op == VM_ACQUIRE || op == VM_RECEIVE;
}

/* No role can go on, and `st`, of block `block`, waits. */
static bool deadlock(VmState *block, VmState *st)
{
    const VmState *other = st == block ? block->producer : block;
    const char *who = st == block ? "a group of copies that the producer has not begun"
                                  : "the consumers to release a group of copies";
    vm_fault(st, &st->steps[st->pc], FAULT_DEADLOCK, 0, "waits for %s (group %lld)", who,
             group_awaited(st));
    size_t used = strlen(st->fault.message), room = sizeof st->fault.message - used;
    if (other->pc < 0)
        snprintf(st->fault.message + used, room, ", and %s ended",
                 st == block ? "the producer has" : "they have");
    else if (st == block)
        snprintf(st->fault.message + used, room,
                 ", while the producer waits for the consumers to release group %lld",
                 group_awaited(other));
    block->fault = st->fault;
    return false;
}

/* The roles of all blocks, and which have come to a barrier of the cluster, or their end. */
typedef struct {
    VmState *roles[2 * VM_MOST_BLOCKS];
    bool rests[2 * VM_MOST_BLOCKS];
    int n;
} Turns;

/* A producer stands at a barrier until the consumers of its block have passed it. */
static bool stands(const VmState *st)
{
    const PipeCounts *n = &st->pipe->now;
    return st->produces && st->steps[st->pc].inst->op == VM_BARRIER && n->met == n->passed;
}

static bool goes_on(const Turns *t, int i)
{
    const VmState *st = t->roles[i];
    return !t->rests[i] && st->pc >= 0 && !stands(st);
}

/* Each role goes on until it waits. False with a fault; `moved`: some have gone on. */
static bool take_turn(Turns *t, int i, bool *moved)
{
    VmState *st = t->roles[i];
    PipeCounts before = st->pipe->now;
    int at = st->pc;
    if (!vm_continue(st))
        return false;
    t->rests[i] = st->pc < 0 || (!st->produces && !waits(st));
    *moved |= t->rests[i] || at != st->pc || memcmp(&before, &st->pipe->now, sizeof before) != 0;
    return true;
}

bool vm_take_turns(VmState *const *blocks, int n, VmState **faulty)
{
    Turns t = {.n = 2 * n};
    for (int i = 0; i < t.n; i++)
        t.roles[i] = i % 2 ? blocks[i / 2] : blocks[i / 2]->producer;
    for (int i = 0; i < n; i++)
        if (blocks[i]->pc > 0) /* behind the barrier where it stopped */
            vm_roles_barrier(blocks[i]);
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < t.n; i++) {
            *faulty = blocks[i / 2];
            if (!goes_on(&t, i) || take_turn(&t, i, &moved))
                continue;
            (*faulty)->fault = t.roles[i]->fault;
            return false;
        }
    }
    for (int i = t.n - 1; i >= 0; i--) {
        *faulty = blocks[i / 2];
        if (goes_on(&t, i))
            return deadlock(*faulty, t.roles[i]);
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

/* The consumers have released the element since their last access: the producer of the copy knows
 * of so many releases of theirs. */
static bool is_released(const VmState *st, const VmStep *s, int64_t element, uint32_t known)
{
    const struct VmPipe *p = st->pipe;
    const uint32_t *flight = s->marks;
    uint32_t group = flight ? flight[element] : 0;
    if (s->accessed[element] > known)
        return false;
    if (!flight || group < p->first_landed)
        return true;
    return group - p->first_landed < p->n_landed && p->landed[group - p->first_landed] <= known;
}

static bool copy_element(VmState *st, const VmStep *s, int64_t element, uint32_t known)
{
    SharedCell *cell = &((SharedCell *)s->cells)[element];
    Mark mine = mark_of(IN_FLIGHT, (int)(s - st->steps), st->first);
    bool in_flight = mark_is_in_flight(cell->writer);
    if (in_flight || !is_released(st, s, element, known))
        return vm_overtakes(st, s, element,
                            !in_flight && cell->reader[0] ? cell->reader[0] : cell->writer);
    *cell = (SharedCell){.writer = mine};
    vm_parts_forget(st->shadow, cell);
    s->crowded[element] = 0;
    s->accessed[element] = 0;
    return true;
}

static bool copy_into(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    for (int k = 0; k < s->width; k++) {
        int64_t element = *index + k;
        if (!copy_element(st, s, element, (uint32_t)st->pipe->now.known))
            return false;
        s->vague[element] = vm_carries(st, s, 0, k);
    }
    vm_has_stored(s);
    return true;
}

VmState *vm_roles_other(const VmState *producer, int i)
{
    const struct VmPipe *p = producer->pipe;
    int own = 0;
    while (own < p->n_blocks && p->blocks[own]->producer != producer)
        own++;
    i += i >= own;
    return i < p->n_blocks ? p->blocks[i]->producer : NULL;
}

bool vm_roles_reach(VmState *st, const VmStep *s, VmState *to)
{
    const int64_t *index = s->a;
    const VmStep *its = &to->steps[s - st->steps];
    uint32_t known = st->pipe->tells ? (uint32_t)st->pipe->now.known : 0;
    if (!st->shadow)
        return true;
    if (!vm_shadow_visits(st, s, to->rank))
        return false;
    for (int k = 0; k < s->width; k++) {
        if (!copy_element(to, its, *index + k, known)) {
            st->fault = to->fault;
            memcpy(st->fault.block, st->block, sizeof st->fault.block);
            return false;
        }
        its->vague[*index + k] = s->vague[*index + k];
    }
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
