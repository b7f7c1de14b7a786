/* shadow.h - Records the accesses to each element, who wrote it and who read it and when, beside
 * its contents.
 *
 * Two accesses of one element by different threads, one of them a write, are a race unless
 * something orders them. Within a block only barriers do, and every thread meets every barrier, so
 * vector clocks reduce to one number: the epoch, which counts barriers. Accesses of one block are
 * ordered exactly if their epochs differ or their threads are equal; accesses of different blocks
 * of a launch never are; launches are ordered. Atomic operations do not race with each other.
 * docs/simulator.md has the formulas.
 *
 * For each element it is enough to keep the last writer and two readers (see note_reader and
 * note_global): an access that races with any earlier access of a run without faults races with one
 * of these. */
#ifndef TIRC_RUNTIME_SIM_SHADOW_H
#define TIRC_RUNTIME_SIM_SHADOW_H

#include "runtime/sim/internal.h"

/* The last access to an element, in one word: epoch, instruction, thread of the block. 0: none. */
typedef uint64_t Mark;

/* Threads are counted through the blocks of a cluster in its memory, else in a block. */
enum { THREAD_BITS = 13, INST_BITS = 19 };
static inline Mark mark_of(uint32_t epoch, int inst, int thread)
{
    return (Mark)epoch << (THREAD_BITS + INST_BITS) | (Mark)inst << THREAD_BITS | (Mark)thread;
}
static inline uint32_t mark_epoch(Mark m)
{
    return (uint32_t)(m >> (THREAD_BITS + INST_BITS));
}
static inline int mark_thread(Mark m)
{
    return (int)(m & ((1 << THREAD_BITS) - 1));
}
static inline int mark_inst(Mark m)
{
    return (int)(m >> THREAD_BITS & ((1 << INST_BITS) - 1));
}

/* The epoch of a copy that has not been waited for: later than all others, so that it is ordered
 * with nothing. */
static const uint32_t IN_FLIGHT = UINT32_MAX;
static inline bool mark_is_in_flight(Mark m)
{
    return mark_epoch(m) == IN_FLIGHT;
}

/* One element of shared memory. Epochs count on from block to block, so what an earlier block left
 * is older than the current block's first epoch and counts as none. */
typedef struct {
    Mark writer, reader[2];
} SharedCell;

/* One access of an element of global memory. The serial numbers of blocks count on from launch to
 * launch; 0: none. */
typedef struct {
    uint64_t serial;
    Mark mark;
} GlobalMark;

/* Readers, or threads that update atomically: of two blocks, or of two threads of one block. */
typedef struct {
    GlobalMark by[2];
} GlobalReaders;

enum { DEFINED = 1, VAGUE = 2 };

enum { LOCKS = 1024 };

enum { MOST_PARTS = 2, MOST_CLOCKS = 1 + MOST_PARTS };

/* A buffer in global memory. */
typedef struct {
    const ModuleBuffer *buffer;
    const int64_t *dims; /* [rank] */
    int64_t elements;
    bool defined;        /* from the start: an input, or what the host part itself works on */
    GlobalMark *writers; /* [elements]; NULL: nothing writes it */
    /* [clock][elements]; NULL: no kernel with the clock both reads and writes it */
    GlobalReaders *readers[MOST_CLOCKS];
    /* [clock][elements]; NULL: no kernel with the clock updates it atomically and accesses it
     * otherwise, too */
    GlobalReaders *updaters[MOST_CLOCKS];
    /* [elements] base + 1 of the launch that last read it as read only; NULL: none claims that */
    uint64_t *claimed;
    /* [elements] with `writers`: what was written last is a copy of what nothing had written */
    uint8_t *vague;
    int64_t written; /* elements that have been written, vague ones aside; atomic */
    uint8_t *locks;  /* [LOCKS] each of some elements */
} GlobalShadow;

/* A launch of the run: the blocks with serial numbers from base + 1 on. */
typedef struct {
    uint64_t base;
    int kernel;
    int64_t grid[3];
} ShadowLaunch;

struct VmShadow {
    const Module *module;
    int n_buffers, n_launches, launch_capacity;
    ShadowLaunch *launches; /* in order; where memory ended, only the first ones */
    GlobalShadow *buffers;  /* [n_buffers] */
    uint64_t base;          /* the serial number before the first block of the launch under way */
    uint64_t next;          /* the one of its last block */
    int64_t grid[3];
    uint8_t locks[LOCKS];
};

/* What the blocks of a cluster share. Its epochs count the barriers of clusters alone; `next` is
 * later than all so far. */
typedef struct {
    SharedCell *cells;
    uint32_t *crowded;
    uint8_t *vague;
    int64_t n_cells;
    uint32_t first_epoch, next;
    /* of the cluster under way: the last access to the part of a block by another one, and whether
     * the block has ended */
    Mark touched[VM_MOST_BLOCKS];
    bool ended[VM_MOST_BLOCKS];
} ClusterShadow;

/* Groups of what goes on behind its text (flight.c): the one that executions now belong to, of
 * which all before `landed` are complete. */
typedef struct {
    uint32_t group, landed;
    const VmStep *latest; /* of the block, that took off; NULL: none */
    uint32_t taken_off;   /* its group */
    /* of bulk stores, from the first group of the block on: the epoch of the wait for each */
    uint32_t first, *waited, n_waited;
} FlightQueue;
/* Those of instructions and of bulk stores, and for each element the last group that has it in
 * flight: that of instructions which reads it in shared memory, and of stores; and that of
 * instructions which writes it in local memory, and which reads it there. */
typedef struct {
    FlightQueue instructions, stores;
    FlightQueue *under_way; /* that of the execution under way, or NULL */
    /* [n_cells], [n_cells], [n_defined], [n_defined]; NULL: the kernel has nothing of the kind */
    uint32_t *shared, *stored, *local, *held;
    uint16_t *storer; /* [n_cells] the thread of the last store that reads the element */
} Flight;

/* Shared memory as parts of the block see it, where barriers of warps or warpgroups order only some
 * threads: as if those of a part were one thread, and only barriers that join parts counted
 * (parts.c). */
typedef struct {
    int threads;       /* of a part */
    SharedCell *cells; /* [n_cells], as those of the block */
    uint32_t *crowded; /* [n_cells] */
    uint32_t epoch;    /* the block's, at the last barrier that joined parts */
} PartShadow;

/* The shadow memory of one block. */
typedef struct BlockShadow {
    VmShadow *global;
    SharedCell *cells; /* of all shared buffers */
    /* [cells] the epoch in which two threads have read the element, so that another reader changes
     * nothing */
    uint32_t *crowded;
    uint8_t *vague; /* [cells] as of global memory */
    int64_t n_cells;
    /* local memory, element by element, lane beside lane: DEFINED, VAGUE, or nothing wrote it */
    uint8_t *defined;
    int64_t n_defined;
    size_t n_carried;             /* width times lanes of the widest access */
    uint32_t epoch, first_epoch;  /* now; of the block */
    PartShadow parts[MOST_PARTS]; /* [n_parts] the last one of warpgroups */
    int n_parts;                  /* 0: all barriers are of the block */
    ClusterShadow *cluster;       /* that of the first block */
    bool owns_cluster;
    uint32_t cluster_epoch; /* now */
    uint64_t serial;        /* of the block */
    Flight flight;
    /* of consumers that take turns, but the first of them: the shadow that has all but their own
     * epochs, local memory and instructions in flight; NULL: it is this one */
    struct BlockShadow *lender;
    uint32_t latest;  /* epoch of all who have this shadow */
    bool concurrent;  /* other threads of the machine run blocks of this launch */
    VmFault deferred; /* a race with a later block, which is that block's fault */
    int64_t deferred_block;
} BlockShadow;

static inline bool mark_is_atomic(const VmState *st, Mark m)
{
    return st->f->code[mark_inst(m)].op == VM_ATOMIC;
}

/* The checks of an access, by operation; NULL: nothing to check. Each comes before the access and
 * gives false with a fault. */
VmApply *vm_shadow_shared(VmOp op);
VmApply *vm_shadow_global(const GlobalShadow *g, VmOp op, bool written /* by the kernel */);
VmApply *vm_shadow_local(VmOp op);

/* Allots marks for the instructions of the kernel, if it has some; false where memory ends. */
bool vm_flight_open(VmState *st);
/* Puts the checks of flight.c before that of an access; `cells` are those before its buffer. */
void vm_flight_watch(VmState *st, VmStep *s, int64_t cells);
/* A bulk store reads the element. Threads have written it in front of a barrier, which has a fence
 * for the asynchronous proxy in front of it; false with a fault. shadow_shared.c */
bool vm_fenced(VmState *st, const VmStep *s, int lane, int64_t element);
/* A block begins: nothing is in flight. Its epochs have restarted. */
void vm_flight_begin(BlockShadow *b);
void vm_flight_restart(BlockShadow *b);
/* It ends: a bulk store that nothing has waited for is a fault. */
bool vm_flight_end(VmState *st);
void vm_flight_close(BlockShadow *b);

/* The access with this mark in the memory of a cluster, to what block `st` has of it, comes after
 * the block has ended, or may. Gives false with the fault. */
bool vm_outlived(VmState *st, Mark access);

/* Of roles.c: allots what it remembers of elements; puts its checks before that of an access to
 * shared memory; groups of instructions before `until` are
 * complete. False without memory. */
bool vm_roles_watch_open(VmState *st);
void vm_roles_watch(VmState *st, VmStep *s, int64_t cells);
bool vm_roles_complete(VmState *st, uint32_t until);
/* The fault of a copy of the producer into an element that the access `with` has not done with. */
bool vm_overtakes(VmState *st, const VmStep *s, int64_t element, Mark with);

/* The barriers that threads of a block count, or its parts as if these were threads. */
typedef struct {
    uint32_t epoch; /* now */
    int threads;    /* that count as one */
} Clock;

/* Clock 0 is that of the threads of the block, the others are those of its parts. */
static inline Clock clock_of(const BlockShadow *b, int i)
{
    return i == 0 ? (Clock){b->epoch, 1} : (Clock){b->parts[i - 1].epoch, b->parts[i - 1].threads};
}
/* Threads of one part count as one. */
static inline bool clock_joins(Clock c, Mark x, Mark y)
{
    return mark_thread(x) / c.threads == mark_thread(y) / c.threads;
}
/* Did another thread leave this mark in the present epoch, or any a copy that is under way? */
static inline bool marks_clash(Clock c, Mark mine, Mark theirs)
{
    return mark_epoch(theirs) >= c.epoch &&
           (!clock_joins(c, theirs, mine) || mark_is_in_flight(theirs));
}
/* The first clock of the block by which the two clash, or -1. */
static inline int clock_that_clashes(const BlockShadow *b, Mark mine, Mark theirs)
{
    for (int i = 0; i <= b->n_parts; i++)
        if (marks_clash(clock_of(b, i), mine, theirs))
            return i;
    return -1;
}

/* Of parts.c: how many sizes of parts barriers of the kernel order. */
int vm_parts_of(const VmFunction *f);
/* Allots the marks of parts; false without memory. */
bool vm_parts_open(BlockShadow *b, const VmFunction *f);
void vm_parts_close(BlockShadow *b);
/* A barrier has begun the epoch that the block is in; epochs have restarted. */
void vm_parts_barrier(BlockShadow *b, int sub);
void vm_parts_restart(BlockShadow *b);
/* The cell of a part that stands beside one of the block. */
static inline SharedCell *part_cell(const BlockShadow *b, int part, const SharedCell *of)
{
    return b->parts[part].cells + (of - b->cells);
}
/* No part knows of accesses of the element any more. */
void vm_parts_forget(BlockShadow *b, const SharedCell *of);
/* A copy into it has landed. */
void vm_parts_land(BlockShadow *b, const SharedCell *of, int inst, int thread);
/* The epoch that counts the barriers of the whole block alone. */
static inline uint32_t vm_block_epoch(const BlockShadow *b)
{
    return b->n_parts ? b->parts[b->n_parts - 1].epoch : b->epoch;
}

/* One of the two accesses of a race. */
typedef struct {
    int inst, thread;
    int64_t block[3];
    bool in_flight; /* a copy that nothing has waited for */
    bool parted;    /* a barrier between the two is not one of both threads */
} Party;

/* A race in an element of the buffer that step `s` accesses, as the fault of `mine`. Both give
 * false. */
bool vm_race(VmState *st, const VmStep *s, int64_t element, const Party *mine, const Party *theirs);
/* The fault is about this access, too. */
void vm_other(VmState *st, const Party *other);
/* An element in words: its number, or its subscripts. */
void vm_shadow_place(const GlobalShadow *g, int64_t element, char *to, size_t room);
/* Handles the read of an element that is undefined or holds a copy of an undefined element. A load
 * that is part of a copy passes the mark on to its store; every other read is a fault. */
bool vm_undefined(VmState *st, const VmStep *s, int lane, int64_t element, bool copied);

/* Does the store take what nothing has written, as part `k` of the lane's access? */
static inline bool vm_carries(const VmState *st, const VmStep *s, int lane, int k)
{
    return s->carried && s->carried[0] && s->carried[1 + k * st->lanes + lane];
}

static inline void vm_has_stored(const VmStep *s)
{
    if (s->carried)
        s->carried[0] = 0;
}

/* Sets `into` of the loads that only copy. False where there is no memory. copies.c */
bool vm_find_copies(VmState *st);

#endif
