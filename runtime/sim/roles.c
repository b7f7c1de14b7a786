/* roles.c - Runs a block whose threads have roles: a producer, which makes bulk copies, and
 * consumers, which wait for them.
 *
 * Each role is a machine of its own (VmState). They share the block's memory and take turns: each
 * runs until it has to wait for the other. If neither can go on, they wait for each other. Of
 * consumers that take turns (ping-pong), each warpgroup is a role.
 *
 * Faults do not depend on the turns. Barriers say nothing between the roles, so a copy is ordered
 * behind an access of the consumers only by a release that followed the access and that the
 * producer has waited for. Each element remembers how many releases there had been at its last
 * access; a group of instructions in flight has accessed what it reads when it is complete. In the
 * other direction, a copy is in flight until the consumers receive its group (async.c). Only those
 * who have received it may read it.
 *
 * The blocks of a cluster that share copies take turns together. A producer knows of another block
 * what its consumers have released to all. A group has landed in a block when all producers have
 * committed theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/shadow.h"

/* Of the groups of copies for one role of consumers, from the start of the block. */
typedef struct {
    int64_t received, released;
    int64_t told;  /* of these, to the producers of all blocks of the cluster */
    int64_t known; /* releases that the producer has waited for */
} ConsumerCounts;

/* Consumers stay together, or are warpgroups, which leave room for the producer's. */
enum { MOST_TURNS = 7 };

typedef struct {
    int64_t committed; /* groups of the producer's copies */
    ConsumerCounts of[MOST_TURNS];
    int met, passed; /* barriers beside the roles: by the producer, by consumers */
} PipeCounts;

/* What is remembered of the memory that a role of consumers accesses, if it is watched. */
typedef struct {
    /* [n_cells] releases before the last access, plus 1; 0: there was none since the last copy */
    uint32_t *accessed;
    uint32_t *landed; /* [group of instructions] likewise, when it was complete */
    uint32_t n_landed, first_landed;
} Watched;

struct VmPipe {
    PipeCounts now;
    VmState *producer;
    VmState *consumers[MOST_TURNS];
    Watched watched[MOST_TURNS];
    int n_consumers;
    int turn;        /* groups in a turn of one of them */
    uint8_t *owners; /* [n_cells] who has received what is copied there, plus 1; 0: nothing is */
    VmState *const *blocks; /* [n_blocks] of a cluster that share copies; none: it is alone */
    int n_blocks;
    bool tells; /* consumers release to the producers of all blocks */
};

/* ---- turns of consumers ---------------------------------------------------------------------- */

static int number_of(const VmState *consumers)
{
    return consumers->pipe->n_consumers > 1 ? consumers->first / consumers->lanes : 0;
}

static ConsumerCounts *counts_of(const VmState *consumers)
{
    return &consumers->pipe->now.of[number_of(consumers)];
}

/* The group that is number `own` of those for consumer `i`. */
static int64_t group_of(const struct VmPipe *p, int i, int64_t own)
{
    return p->n_consumers == 1 ? own
                               : (own / p->turn * p->n_consumers + i) * p->turn + own % p->turn;
}

/* Who receives a group. */
static int receiver_of(const struct VmPipe *p, int64_t group)
{
    return p->n_consumers == 1 ? 0 : (int)(group / p->turn % p->n_consumers);
}

/* How many of the first `n` groups are for consumer `i`. */
static int64_t own_of(const struct VmPipe *p, int i, int64_t n)
{
    if (p->n_consumers == 1 || n <= 0)
        return n;
    int64_t round = (int64_t)p->turn * p->n_consumers, rest = n % round - i * p->turn;
    return n / round * p->turn + (rest < 0 ? 0 : rest > p->turn ? p->turn : rest);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The other warpgroups of consumers that take turns; `st` runs the first one. */
static bool open_consumers(VmState *st, const VmValue *inputs, const uint64_t *buffers)
{
    struct VmPipe *p = st->pipe;
    p->consumers[0] = st;
    for (p->n_consumers = 1; p->n_consumers < st->f->turns; p->n_consumers++) {
        VmLanes of = {.shape = st->block_shape,
                      .first = p->n_consumers * st->lanes,
                      .lanes = st->lanes,
                      .rank = st->rank};
        VmState *other = vm_open_group(st->f, &of, st, inputs, buffers);
        if (!other)
            return false;
        other->pipe = p;
        p->consumers[p->n_consumers - 1]->next = other;
        p->consumers[p->n_consumers] = other;
    }
    return true;
}

bool vm_roles_open(VmState *st, const VmValue *inputs, const uint64_t *buffers)
{
    VmLanes first = {
        .shape = st->block_shape, .first = st->f->consumers, .lanes = 1, .rank = st->rank};
    st->pipe = calloc(1, sizeof *st->pipe);
    if (!st->pipe || !open_consumers(st, inputs, buffers))
        return false;
    st->producer = vm_open_group(st->f, &first, st, inputs, buffers);
    if (!st->producer)
        return false;
    st->pipe->turn = st->f->turn;
    st->pipe->producer = st->producer;
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
    struct VmPipe *p = st->pipe;
    if (!p || st->produces || st != p->consumers[0])
        return;
    vm_close(st->producer);
    for (int i = 1; i < p->n_consumers; i++)
        vm_close(p->consumers[i]);
    for (int i = 0; i < MOST_TURNS; i++) {
        free(p->watched[i].accessed);
        free(p->watched[i].landed);
    }
    free(p->owners);
    free(p);
}

/* Another role of the block whose first consumers `st` runs. */
static void begin_role(const VmState *st, VmState *role, const int64_t block[3])
{
    role->in_kernel = st->in_kernel;
    role->block_number = st->block_number;
    vm_begin(role, block);
}

void vm_roles_begin(VmState *st, const int64_t block[3])
{
    struct VmPipe *p = st->pipe;
    p->now = (PipeCounts){0};
    for (int i = 0; i < p->n_consumers; i++) {
        Watched *w = &p->watched[i];
        if (i > 0)
            begin_role(st, p->consumers[i], block);
        if (!st->shadow)
            continue;
        memset(w->accessed, 0, (size_t)st->shadow->n_cells * sizeof *w->accessed);
        w->first_landed = p->consumers[i]->shadow->flight.instructions.landed;
        w->n_landed = 0;
    }
    if (st->shadow)
        memset(p->owners, 0, (size_t)st->shadow->n_cells);
    begin_role(st, st->producer, block);
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
    for (int i = 0; i < p->n_consumers; i++)
        if (p->now.of[i].released < own_of(p, i, needed))
            return false;
    for (int i = 0; i < p->n_blocks && p->tells; i++)
        if (p->blocks[i]->pipe->now.of[0].told < needed)
            return false;
    for (int i = 0; i < p->n_consumers; i++)
        if (p->now.of[i].known < own_of(p, i, needed))
            p->now.of[i].known = own_of(p, i, needed);
    return true;
}

static bool receive(VmState *st)
{
    struct VmPipe *p = st->pipe;
    ConsumerCounts *n = counts_of(st);
    int64_t group = group_of(p, number_of(st), n->received);
    if (group >= p->now.committed)
        return false;
    for (int i = 0; i < p->n_blocks; i++)
        if (group >= p->blocks[i]->pipe->now.committed)
            return false;
    vm_async_land(p->producer, group);
    n->received++;
    return true;
}

static void release(ConsumerCounts *n, int kept)
{
    if (n->released < n->received - kept)
        n->released = n->received - kept;
}

/* The mbarriers of other blocks are there. */
static bool release_to_all(VmState *st, const VmStep *s)
{
    struct VmPipe *p = st->pipe;
    release(&p->now.of[0], s->inst->sub);
    p->now.of[0].told = p->now.of[0].released;
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
    case VM_RELEASE: release(counts_of(st), s->inst->sub); return HAND_OVER_DONE;
    default: return release_to_all(st, s) ? HAND_OVER_DONE : HAND_OVER_FAULT;
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static long long group_awaited(const VmState *st)
{
    const struct VmPipe *p = st->pipe;
    return st->produces ? p->now.committed - st->steps[st->pc].inst->sub
                        : group_of(p, number_of(st), counts_of(st)->received);
}

static bool waits(const VmState *st)
{
    VmOp op = st->pc < 0 ? VM_STOP : (VmOp)st->steps[st->pc].inst->op;
    return op == VM_ACQUIRE || op == VM_RECEIVE;
}

/* No role can go on, and `st`, of block `block`, waits. */
static bool deadlock(VmState *block, VmState *st)
{
    const struct VmPipe *p = block->pipe;
    const VmState *producer = block->producer;
    long long group = group_awaited(st->produces || producer->pc < 0 ? st : producer);
    int i = receiver_of(p, group);
    bool gone = st->produces ? p->consumers[i]->pc < 0 : producer->pc < 0;
    char who[40] = "the consumers";
    if (p->n_consumers > 1)
        snprintf(who, sizeof who, "warpgroup %d", i);
    if (st->produces)
        vm_fault(st, &st->steps[st->pc], FAULT_DEADLOCK, 0,
                 "waits for %s to release a group of copies (group %lld)%s", who, group,
                 !gone                ? ""
                 : p->n_consumers > 1 ? ", and it has ended"
                                      : ", and they have ended");
    else if (gone)
        vm_fault(
            st, &st->steps[st->pc], FAULT_DEADLOCK, 0,
            "waits for a group of copies that the producer has not begun (group %lld), and the "
            "producer has ended",
            group_awaited(st));
    else
        vm_fault(st, &st->steps[st->pc], FAULT_DEADLOCK, 0,
                 "waits for a group of copies that the producer has not begun (group %lld), while "
                 "the producer waits for %s to release group %lld%s",
                 group_awaited(st), who, group, p->consumers[i]->pc < 0 ? ", which has ended" : "");
    block->fault = st->fault;
    return false;
}

/* The roles of all blocks, of which blocks, and which have come to a barrier of the cluster, or
 * their end. */
enum { MOST_ROLES = 2 * VM_MOST_BLOCKS + MOST_TURNS };
typedef struct {
    VmState *roles[MOST_ROLES], *block[MOST_ROLES];
    bool rests[MOST_ROLES];
    int n;
} Turns;

static void add_role(Turns *t, VmState *role, VmState *of)
{
    t->roles[t->n] = role;
    t->block[t->n++] = of;
}

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
    return st->pc >= 0 || st->produces || st == t->block[i] || vm_shadow_end(st);
}

bool vm_take_turns(VmState *const *blocks, int n, VmState **faulty)
{
    Turns t = {0};
    for (int i = 0; i < n; i++) {
        add_role(&t, blocks[i]->producer, blocks[i]);
        for (int k = 0; k < blocks[i]->pipe->n_consumers; k++)
            add_role(&t, blocks[i]->pipe->consumers[k], blocks[i]);
        if (blocks[i]->pc > 0) /* behind the barrier where it stopped */
            vm_roles_barrier(blocks[i]);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < t.n; i++) {
            *faulty = t.block[i];
            if (!goes_on(&t, i) || take_turn(&t, i, &moved))
                continue;
            (*faulty)->fault = t.roles[i]->fault;
            return false;
        }
    }
    for (int i = t.n - 1; i >= 0; i--) {
        *faulty = t.block[i];
        if (goes_on(&t, i))
            return deadlock(*faulty, t.roles[i]);
    }
    return true;
}

/* ---- watched memory -------------------------------------------------------------------------- */

static uint32_t stamp(const struct VmPipe *p, int consumer)
{
    return (uint32_t)p->now.of[consumer].released + 1;
}

bool vm_roles_watch_open(VmState *st)
{
    struct VmPipe *p = st->pipe;
    size_t n = (size_t)st->shadow->n_cells + 1;
    bool good = true;
    for (int i = 0; i < p->n_consumers; i++) {
        p->watched[i].accessed = calloc(n, sizeof *p->watched[i].accessed);
        good &= p->watched[i].accessed != NULL;
    }
    p->owners = calloc(n, sizeof *p->owners);
    return good && p->owners;
}

/* The first cell of the step's buffer among those of the block. */
static int64_t cells_before(const VmStep *s, const struct VmPipe *p, int consumer)
{
    return s->accessed - p->watched[consumer].accessed;
}

void vm_roles_landed(VmState *producer, const VmStep *s, int64_t element, int64_t group)
{
    struct VmPipe *p = producer->pipe;
    int to = receiver_of(p, group);
    int64_t cell = cells_before(s, p, 0) + element;
    for (int k = 0; k < s->width; k++) {
        p->watched[to].accessed[cell + k] = stamp(p, to);
        p->owners[cell + k] = (uint8_t)(to + 1);
    }
}

/* Groups of instructions up to number `until` are complete. */
bool vm_roles_complete(VmState *st, uint32_t until)
{
    Watched *w = &st->pipe->watched[number_of(st)];
    uint32_t n = until - w->first_landed;
    if (n <= w->n_landed)
        return true;
    uint32_t *landed = realloc(w->landed, (size_t)n * sizeof *landed);
    if (!landed)
        return false;
    w->landed = landed;
    while (w->n_landed < n)
        landed[w->n_landed++] = stamp(st->pipe, number_of(st));
    return true;
}

/* The element is a copy that others have received. */
static bool is_of_others(VmState *st, const VmStep *s, int lane, int64_t element)
{
    int me = number_of(st), owner = st->pipe->owners[cells_before(s, st->pipe, me) + element];
    if (owner == 0 || owner == me + 1)
        return false;
    Mark copy = ((SharedCell *)s->cells)[element].writer;
    Party by = {.inst = mark_inst(copy), .thread = mark_thread(copy)};
    memcpy(by.block, st->block, sizeof by.block);
    vm_fault(st, s, FAULT_RACE, lane,
             "%s element %lld of '%s', which is copied for warpgroup %d; this one has not received "
             "it",
             s->inst->op == VM_LOAD ? "reads" : "writes", (long long)element,
             st->f->buffers[s->inst->c].name, owner - 1);
    vm_other(st, &by);
    return true;
}

/* An access by consumers. What an instruction in flight reads is accessed until it is complete. */
static bool note_access(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    bool turns = st->pipe->n_consumers > 1;
    uint32_t now = stamp(st->pipe, number_of(st));
    for (int lane = 0; lane < st->lanes && (turns || !st->shadow->flight.under_way); lane++)
        for (int k = 0; k < s->width && vm_runs(st, lane); k++) {
            int64_t element = index[s->lanes_a ? lane : 0] + k;
            if (turns && is_of_others(st, s, lane, element))
                return false;
            if (!st->shadow->flight.under_way)
                s->accessed[element] = now;
        }
    return s->unstamped(st, s);
}

/* Consumer `i` has released the cell since its last access: the producer of the copy knows of so
 * many releases. */
static bool is_released(const struct VmPipe *p, int i, int64_t cell, int64_t known)
{
    const Watched *w = &p->watched[i];
    const uint32_t *flight = p->consumers[i]->shadow->flight.shared;
    uint32_t group = flight ? flight[cell] : 0;
    if (w->accessed[cell] > known)
        return false;
    if (!flight || group < w->first_landed)
        return true;
    return group - w->first_landed < w->n_landed && w->landed[group - w->first_landed] <= known;
}

static bool copy_element(VmState *st, const VmStep *s, int64_t element, const ConsumerCounts *by)
{
    const struct VmPipe *p = st->pipe;
    SharedCell *cell = &((SharedCell *)s->cells)[element];
    int64_t number = cells_before(s, p, 0) + element;
    Mark mine = mark_of(IN_FLIGHT, (int)(s - st->steps), st->first);
    bool in_flight = mark_is_in_flight(cell->writer), free = !in_flight;
    for (int i = 0; i < p->n_consumers; i++)
        free = free && is_released(p, i, number, by ? by[i].known : 0);
    if (!free)
        return vm_overtakes(st, s, element,
                            !in_flight && cell->reader[0] ? cell->reader[0] : cell->writer);
    *cell = (SharedCell){.writer = mine};
    vm_parts_forget(st->shadow, cell);
    s->crowded[element] = 0;
    for (int i = 0; i < p->n_consumers; i++)
        p->watched[i].accessed[number] = 0;
    p->owners[number] = 0;
    return true;
}

static bool copy_into(VmState *st, const VmStep *s)
{
    const int64_t *index = s->a;
    for (int k = 0; k < s->width; k++) {
        int64_t element = *index + k;
        if (!copy_element(st, s, element, st->pipe->now.of))
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
    const ConsumerCounts *known = st->pipe->tells ? st->pipe->now.of : NULL;
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
    s->accessed = st->pipe->watched[st->produces ? 0 : number_of(st)].accessed + cells;
    if (st->produces) {
        s->check = copy_into;
        return;
    }
    s->unstamped = s->check;
    s->check = note_access;
}
