/* internal.h - Declares the running virtual machine.
 *
 * A function is decoded into steps once for each thread that executes it: operands become
 * addresses, so that an instruction costs one indirect call and its loop. */
#ifndef TIRC_RUNTIME_SIM_INTERNAL_H
#define TIRC_RUNTIME_SIM_INTERNAL_H

#include "runtime/device.h"
#include "runtime/module.h"
#include "runtime/vm.h"
#include <math.h>
#include <string.h>

typedef struct VmState VmState;
typedef struct VmStep VmStep;
struct BlockShadow;
struct ModuleKernel;

/* Before a function that goes over lanes: compiled for AVX2 as well, which the loader takes where
 * the processor has it. Not under sanitizers, which are not ready yet when it chooses. */
#if defined __x86_64__ && defined __GLIBC__ && defined __GNUC__ && !defined __clang__ &&           \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define VM_LANES __attribute__((target_clones("avx2", "default")))
#else
#define VM_LANES
#endif

/* Does the work of one instruction for the lanes that run. False with st->fault filled in. */
typedef bool VmApply(VmState *st, const VmStep *s);

struct VmStep {
    VmApply *apply;    /* NULL: control */
    VmApply *observed; /* what `apply` stands before, where an observer counts */
    const VmInst *inst;
    void *d; /* registers; NULL where unused */
    const void *a, *b, *c;
    bool lanes_a, lanes_b, lanes_c; /* one value for each lane, else a single one */
    int n;                          /* how many values the instruction produces: 1 or the lanes */
    void *memory;                   /* of the buffer of a LOAD, STORE or ATOMIC */
    const int64_t *bound;           /* how many elements it has */
    int width;                      /* elements that a lane accesses, at least 1 */
    VmApply *check;                 /* of an access, before it is done; NULL: none */
    VmApply *unmarked;              /* where `check` is that of flight.c: what it stands before */
    uint32_t *marks, *held;         /* of flight.c, of the buffer */
    VmApply *unstamped;             /* where `check` is that of roles.c: what it stands before */
    uint32_t *accessed;             /* of roles.c, of the buffer */
    void *cells;                    /* what `check` knows of the buffer (shadow.h) */
    uint32_t *crowded;              /* of shared memory */
    uint8_t *vague;                 /* likewise */
    /* of a store or shuffle that such a load goes into: 1 where some value to come is undefined,
     * then [width][lanes] which */
    uint8_t *carried;
    /* of a load in memory that is watched: the store that its value goes to, and nothing else, or
     * the shuffle in front of that; of a shuffle likewise; or NULL */
    const VmStep *into;
    int part; /* of such a load: which of the elements of that store it begins with */
};

struct VmAsync;

struct VmState {
    const VmFunction *f;
    int lanes;
    int first; /* the thread of lane 0: not 0 where the block runs in groups */
    int rank;  /* of the block in its cluster */
    VmStep *steps;
    void **registers;
    uint8_t *masks; /* one row of lanes for each level of nesting; row 0 is all ones */
    bool *full;     /* [level] every lane runs */
    int level;
    uint8_t *shared, *local, *cluster;
    int64_t block[3], block_shape[3];
    int64_t block_number;       /* x fastest */
    bool in_kernel;             /* block and thread mean something */
    const VmObserver *observer; /* or NULL */
    struct BlockShadow *shadow; /* NULL: memory is not watched */
    int worker;
    int pc;             /* the next step, after a stop at a barrier */
    bool yields;        /* stops at barriers */
    bool takes_turns;   /* stops at those of clusters */
    VmLaunchFn *launch; /* of the host part, or NULL */
    void *user;
    VmValue *values; /* of the launch under way */
    VmFault fault;
    struct VmAsync *async; /* stores under way; NULL: there has been none */
    /* of a block with roles, whose consumers this state runs, or the first of those that take
     * turns: the one of its producer; and what all roles count */
    VmState *producer;
    VmState *next; /* of consumers that take turns: the next ones; or NULL */
    struct VmPipe *pipe;
    bool produces; /* it is that of a producer */
};

static inline bool vm_is_access(VmOp op)
{
    return op == VM_LOAD || op == VM_STORE || op == VM_ATOMIC;
}
/* A store whose value comes later. */
static inline bool vm_is_async(const VmInst *inst)
{
    return inst->op == VM_STORE && (inst->sub == VM_ASYNC || inst->sub == VM_MULTICAST);
}
static inline const uint8_t *vm_mask(const VmState *st)
{
    return st->masks + (size_t)st->level * (size_t)st->lanes;
}
static inline bool vm_runs(const VmState *st, int lane)
{
    return st->full[st->level] || vm_mask(st)[lane];
}
/* The first lane from `lane` on that runs, or `end`. Where one thread of many works, as in a bulk
 * copy, the others are passed over at once. */
static inline int vm_next_lane(const VmState *st, int lane, int end)
{
    if (lane >= end || vm_runs(st, lane))
        return lane;
    const uint8_t *mask = vm_mask(st), *next = memchr(mask + lane, 1, (size_t)(end - lane));
    return next ? (int)(next - mask) : end;
}

/* Fills in the fault of `lane` at the step and gives false. */
bool vm_fault(VmState *st, const VmStep *s, FaultKind kind, int lane, const char *format, ...)
    TIRC_PRINTF(5, 6);

/* The function of a step; NULL for control. `single`: of one that produces a single value, from
 * single values. See arithmetic.c, cast.c, memory.c, shuffle.c. */
VmApply *vm_arithmetic(VmOp op, VmType type, bool single);
VmApply *vm_cast(VmType from, VmType to, bool single);
VmApply *vm_call(VmType from, VmType to, int function);
VmApply *vm_convert(VmOp op); /* ROUND and BITCAST */
VmApply *vm_memory(VmOp op, DType type, bool single);
VmApply vm_fit, vm_fit_single; /* of FIT */
VmApply vm_spread;             /* of SPREAD */
VmApply vm_await;
VmApply vm_flight; /* of FLIGHT, flight.c */
VmApply vm_unit;   /* of UNIT, observe.c */
VmApply *vm_shuffle(VmType type);

/* What has just been stored is taken back until its group is waited for; COMMIT and WAIT; a block
 * begins; the end. async.c */
bool vm_async_defer(VmState *st, const VmStep *s);
VmApply *vm_async(VmOp op);
/* A load whose value goes into an asynchronous store, of a buffer that the kernel writes, too. Does
 * a copy under way read that element of the buffer with these marks? Then its load and its
 * thread. */
bool vm_async_source(VmState *st, const VmStep *load);
bool vm_async_reads(const VmState *st, const void *cells, int64_t element, int *inst, int *thread);
void vm_async_begin(VmState *st);
void vm_async_close(VmState *st);

/* ---- roles of a block (roles.c) -------------------------------------------------------------- */

/* Opens the states of the other roles beside that of the consumers, or the first of those that take
 * turns; false without memory. */
bool vm_roles_open(VmState *st, const VmValue *inputs, const uint64_t *buffers);
/* Blocks of one cluster, whose producers copy into the memory of all. The list has to stay. */
void vm_roles_join(VmState *const *blocks, int n);
void vm_roles_close(VmState *st);
void vm_roles_begin(VmState *st, const int64_t block[3]);
/* A barrier beside the roles, which consumers pass for their block; false: the producer has to wait
 * for them. */
bool vm_roles_barrier(VmState *st);
/* ACQUIRE, RECEIVE, RELEASE, RELEASE_CLUSTER. */
typedef enum { HAND_OVER_DONE, HAND_OVER_WAITS, HAND_OVER_FAULT } HandOver;
HandOver vm_hand_over(VmState *st, const VmStep *s);
/* Runs blocks of one cluster that have begun, to their ends, or to the next barrier of the cluster.
 * False with the block whose fault it is. */
bool vm_take_turns(VmState *const *blocks, int n, VmState **faulty);
/* The producer of another block that the copies of `producer` go to, too: number `i`; NULL: there
 * are no more. */
VmState *vm_roles_other(const VmState *producer, int i);
/* Such a copy may overwrite what block `to` has there. False with the fault of `st`. */
bool vm_roles_reach(VmState *st, const VmStep *s, VmState *to);
/* The number of the group that the producer's copies belong to now, and its end. */
int64_t vm_group_under_way(const VmState *producer);
void vm_group_commit(VmState *producer);
/* An element of a copy of that group has landed, in memory that is watched. */
void vm_roles_landed(VmState *producer, const VmStep *s, int64_t element, int64_t group);
/* The copies of that group have landed. async.c */
void vm_async_land(VmState *producer, int64_t group);

/* A state for blocks of `shape` threads; NULL where there is no memory. Inputs, constants and
 * thread indices are set. */
VmState *vm_open(const VmFunction *f, const int64_t shape[3], const VmValue *inputs,
                 const uint64_t *buffers);
/* Threads of a block of this shape. */
typedef struct {
    const int64_t *shape; /* [3] */
    int first, lanes;
    int rank;
    VmState *cluster; /* what has the memory of the cluster; NULL: this one */
} VmLanes;

/* The same with its producer, for all threads of a block. */
VmState *vm_open_block(const VmFunction *f, const VmLanes *of, const VmValue *inputs,
                       const uint64_t *buffers);
/* The same for `lanes` threads of the block from `first` on, with the shared memory of `block`
 * (NULL: its own). */
VmState *vm_open_group(const VmFunction *f, const VmLanes *of, VmState *block,
                       const VmValue *inputs, const uint64_t *buffers);
void vm_close(VmState *st);
/* Runs one block. */
bool vm_run(VmState *st, const int64_t block[3]);
/* The same in two steps: vm_continue runs to the end (st->pc is -1 then), or with st->yields to the
 * next barrier. */
void vm_begin(VmState *st, const int64_t block[3]);
bool vm_continue(VmState *st);
/* The same of a block whose threads may have roles: those of both. */
bool vm_go_on(VmState *st);

/* ---- clusters (cluster.c) -------------------------------------------------------------------- */

enum { VM_MOST_BLOCKS = 8 };
typedef struct {
    VmState *blocks[VM_MOST_BLOCKS];
    int n;
} VmCluster;
/* False where there is no memory. Close it in any case. */
bool vm_cluster_open(VmCluster *c, const struct ModuleKernel *kernel, const VmValue *inputs,
                     const uint64_t *buffers);
void vm_cluster_close(VmCluster *c);
/* vm_shadow_attach for its blocks. */
bool vm_cluster_watch(VmCluster *c, VmShadow *shadow, bool concurrent);
/* Runs the blocks of the cluster with this number. NULL, or the block with a fault. */
VmState *vm_cluster_run(VmCluster *c, int64_t number, const int64_t grid[3]);

/* Makes a state report to an observer. observe.c */
void vm_observe(VmState *st, const VmObserver *observer, int worker);
/* An access whose subscripts are in bounds, before it is done. */
void vm_observe_access(const VmState *st, const VmStep *s);
void vm_observe_execution(const VmState *st, const VmStep *s);

/* The inputs of every function of a module: sizes, scalars, then the values of a launch (may be
 * NULL). NULL without memory; the caller frees it. */
VmValue *vm_inputs(const Module *m, const RunArguments *args, const VmLaunch *launch);

/* Makes a state watch memory, for a launch whose blocks may run on several threads; `first` is
 * the first block of its cluster, which watches already, or the state itself. False where there is
 * no memory. shadow.c */
bool vm_shadow_attach(VmState *st, const VmState *first, VmShadow *shadow, bool concurrent);
void vm_shadow_detach(VmState *st);
/* A block begins; a barrier has been met, with what its `sub` says of it; a barrier of the
 * cluster. */
void vm_shadow_begin(VmState *st);
void vm_shadow_barrier(VmState *st, int sub);
void vm_shadow_barrier_of_cluster(VmState *st);
/* A block of a cluster ends. False with a fault: another one may still access its memory. */
bool vm_shadow_end(VmState *st);
/* An asynchronous store of `thread` into shared memory, from `element` on, has been waited for;
 * never will be. */
void vm_shadow_land(VmState *st, int inst, int thread, int64_t element);
void vm_shadow_drop(VmState *st, int inst, int64_t element);
/* It has read its source, by the instruction `inst`, at the latest now. */
void vm_shadow_source(VmState *st, int inst, int lane, int64_t element);
/* FORGET: a buffer that is declared in a loop begins without values in each iteration. */
bool vm_shadow_forget(VmState *st, const VmStep *s);
/* The step accesses what another block of the cluster has, which has to be there; false with the
 * fault. */
bool vm_shadow_visits(VmState *st, const VmStep *s, int rank);
/* A launch begins. */
void vm_shadow_launch(VmShadow *shadow, int kernel, const int64_t grid[3]);
/* A fault that the block found and that is a later block's; that block's number, or -1: none. */
int64_t vm_shadow_deferred(VmState *st, VmFault *fault);

/* The register of part `k` of a wide access (`list`: d of a load, b of a store), and whether it has
 * a value for each lane. */
static inline void *vm_part(const VmState *st, int list, int k, bool *lanes)
{
    int reg = st->f->lists[list + k];
    *lanes = !st->f->registers[reg].uniform;
    return st->registers[reg];
}

/* As the GPU's instructions do it (IEEE 754-2019, minimumNumber and maximumNumber): the number
 * where the other is NaN, and -0 is less than +0, so that the order of operands makes no
 * difference. */
#define VM_EXTREMES(t, T)                                                                          \
    static inline T vm_least_##t(T a, T b)                                                         \
    {                                                                                              \
        return a < b || b != b || (a == b && signbit(a)) ? a : b;                                  \
    }                                                                                              \
    static inline T vm_largest_##t(T a, T b)                                                       \
    {                                                                                              \
        return a > b || b != b || (a == b && !signbit(a)) ? a : b;                                 \
    }
VM_EXTREMES(f64, double)
VM_EXTREMES(f32, float)
#undef VM_EXTREMES

#endif
