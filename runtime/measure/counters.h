/* counters.h - Counts the cost of each access of a kernel while the simulator runs it.
 *
 * The simulator shows every warp-wide request; here it is priced by the memory model
 * (ir/target/memory_model.h) and added to the counter of its instruction.  A Counters belongs to
 * one thread of the machine at a time; those of several threads are merged, and the result does not
 * depend on which thread ran which block. */
#ifndef TIRC_RUNTIME_MEASURE_COUNTERS_H
#define TIRC_RUNTIME_MEASURE_COUNTERS_H

#include "ir/target/memory_model.h"
#include "runtime/module.h"

typedef enum { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC } AccessOp;
const char *access_op_name(AccessOp op); /* "load" */

/* A request of one warp. */
typedef struct {
    int kernel;             /* of the module */
    int inst;               /* of the kernel's code */
    const VmBuffer *buffer; /* VM_GLOBAL or VM_SHARED */
    AccessOp op;
    int64_t block; /* its number in the grid */
    int warp;      /* in the block */
    /* addresses in bytes: from the start of the buffer in global memory, of the block's shared
     * memory */
    WarpAccess lanes;
} AccessEvent;

/* The sum over requests of what each of them costs. */
typedef struct {
    int64_t requests, lanes; /* lanes: of all requests together, those that took part */
    int64_t sectors, sectors_ideal, wavefronts, wavefronts_ideal, lines;
    /* of atomics: how often lanes that share an address wait for each other; of constant memory:
     * the words named */
    int64_t passes;
} AccessCost;
void access_cost_add(AccessCost *sum, const AccessCost *cost);

typedef struct {
    int kernel, inst; /* as in AccessEvent; requests is 0 where an instruction never ran */
    const VmBuffer *buffer;
    AccessOp op;
    bool whole; /* by instructions of several threads or bulk copies: a request is all of one */
    int bytes;  /* of a lane; of the pieces of `whole` ones */
    AccessCost cost;
    /* the first of the costliest requests, in the order of blocks and warps */
    AccessEvent worst;
    int worst_cost;
} AccessCounter;

typedef struct Counters Counters;

/* NULL without memory. */
Counters *counters_new(const Module *m);
void counters_free(Counters *c);

/* False without memory; what was counted so far stays. */
bool counters_add(Counters *c, const AccessEvent *event);
/* What follows is one access to each operand, by groups of so many lanes (VmUnit), up to its end:
 * false without memory. */
void counters_begin_unit(Counters *c, int lanes);
bool counters_end_unit(Counters *c);
/* Another instruction that is counted, done by `lanes` threads of a block. */
void counters_add_execution(Counters *c, int kernel, int inst, int lanes);
/* Another launch begins: no block has loaded anything yet. Blocks are distinguished by their
 * numbers. */
void counters_begin_launch(Counters *c);
/* Adds what `from` counted. */
void counters_merge(Counters *into, const Counters *from);

/* How many requests were added. */
int64_t counters_requests(const Counters *c);
/* The counter of an instruction. */
const AccessCounter *counters_at(const Counters *c, int kernel, int inst);
/* How often blocks executed an instruction, and how many threads did in all. */
typedef struct {
    int64_t times, lanes;
} ExecutionCount;
ExecutionCount counters_executions(const Counters *c, int kernel, int inst);
/* Bytes that a kernel's blocks must fetch from beyond the first-level cache even if it keeps all
 * that a block has loaded: 32 for each sector, once a block for loads, each time for stores and
 * atomics. */
int64_t counters_beyond_l1(const Counters *c, int kernel);

#endif
