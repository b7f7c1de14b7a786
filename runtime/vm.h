/* vm.h - Executes the kernels of the simulator, the host part of every module, shapes, and
 * reference programs, on a virtual machine.
 *
 * One instruction does its work for all threads of a block. A register is an array with one value
 * for each thread ("lane"), or a single one where all threads agree ("uniform": loop counters,
 * block indices, sizes). Control is structured; a mask says which lanes run. Arithmetic ignores the
 * mask, because the values of inactive lanes are not used; memory, faults and barriers respect it.
 * So threads need no stacks of their own, a barrier only checks that the mask is full, and the
 * inner loops are plain loops over arrays. Host parts run with one
 * lane, and so do references but for loops whose iterations are independent (SPREAD).
 *
 * Registers hold six machine types and bool.  16- and 8-bit floats are held as the f32 of the same
 * value, small integers as i32; ROUND brings a result back to their grid, as the hardware would
 * round it (to nearest, ties to even: exact, since f32 has more than twice their digits; Figueroa,
 * "When is double rounding innocuous?", 1995). */
#ifndef TIRC_RUNTIME_VM_H
#define TIRC_RUNTIME_VM_H

#include "ir/diag.h"
#include "ir/type.h"
#include <string.h>

typedef enum { VM_F64, VM_F32, VM_I64, VM_U64, VM_I32, VM_U32, VM_BOOL, VM_TYPES } VmType;

/* The machine type that holds values of an element type. */
VmType vm_type_of(DType type);

/* One value; the member is that of its machine type. */
typedef union {
    double f64;
    float f32;
    int64_t i64;
    uint64_t u64;
    int32_t i32;
    uint32_t u32;
    uint8_t boolean;
} VmValue;

/* A value of an element type in memory (type_bytes(type) bytes, INDEX: an int64_t) as a
 * register's, and back. */
VmValue vm_value_load(DType type, const void *from);
void vm_value_store(DType type, VmValue value, void *to);
/* The value of a register of that type as the nearest f64. */
double vm_value_double(DType type, VmValue value);

typedef enum {
#define OP(e, operands, meaning) VM_##e,
#include "runtime/vm.def"
#undef OP
    VM_OPS
} VmOp;

/* What `sub` of CALL may be beside the functions of expressions: an fma that ROUND rounds as if it
 * had not been rounded. */
enum { VM_FMA_TO_ODD = CALL_COUNT };

/* What `sub` of LOAD may be, and of STORE. A block of the grid awaits the elements that another
 * block publishes. */
enum { VM_READ_ONLY = 1, VM_AWAITED = 2 };
enum { VM_ASYNC = 1, VM_PUBLISHED = 2, VM_MULTICAST = 3 };

/* What `sub` of FLIGHT says of instructions that go on behind their text: what one accesses comes
 * between BEGIN and END; those since the last commit become a group; all groups are complete but
 * for the `sub - VM_FLIGHT_WAIT` latest. Bulk stores, whose groups are their own, add OF_STORES. */
enum { VM_FLIGHT_BEGIN, VM_FLIGHT_END, VM_FLIGHT_COMMIT, VM_FLIGHT_WAIT, VM_OF_STORES = 128 };

/* What `sub` of UNIT may be. */
enum { VM_UNIT_BEGIN, VM_UNIT_END };

/* Iterations of a loop of a host part that run at once: as many as keep registers in the cache. */
enum { VM_HOST_LANES = 64 };

/* What `sub` of BARRIER may be: all blocks of the cluster meet there; only the threads of each
 * warpgroup; only those of each warp. */
enum { VM_OF_CLUSTER = 1, VM_OF_WARPGROUP = 2, VM_OF_WARP = 3 };

/* What `sub` of FOR and NEXT joins. */
enum {
    VM_LOOP_DOWN = 1,   /* the step is negative */
    VM_LOOP_BREAKS = 2, /* a BREAK may end it, so lanes end at different times */
    VM_LOOP_WHILE = 4,  /* only a BREAK ends it: to reach the bound is a fault */
};
/* The iterations of a `while` that are taken for a loop without an end. */
enum { VM_WHILE_LIMIT = 1 << 20 };

typedef struct {
    uint8_t op;   /* VmOp */
    uint8_t type; /* VmType of the operands */
    uint8_t sub;
    /* of a LOAD or STORE: how many elements side by side it moves as one access; 0 is 1 */
    uint8_t width;
    int32_t d, a, b, c; /* 0 where the operation has no such operand */
    int32_t to;
} VmInst;

typedef struct {
    VmType type;
    bool uniform;
} VmRegister;

typedef struct {
    int reg;
    VmValue value;
} VmConstant;

typedef enum { VM_GLOBAL, VM_SHARED, VM_LOCAL } VmSpace;

/* A buffer as a function sees it: `elements` of `type`, row after row, gaps of its layout
 * included. */
typedef struct {
    const char *name;
    DType type;
    VmSpace space;
    int argument;     /* VM_GLOBAL: the number of the module's buffer */
    int elements;     /* VM_GLOBAL: the register with the number of elements */
    int64_t capacity; /* VM_SHARED, VM_LOCAL: the number of elements */
    /* VM_SHARED: in bytes, in the block's memory; VM_LOCAL: in the memory of a lane */
    int64_t offset;
    /* VM_SHARED: of the elements, how many each block of a cluster has, in the order of their
     * ranks, and where they begin in the memory of the cluster; 0: all are the block's own */
    int64_t part, cluster_offset;
    bool constant; /* VM_GLOBAL: read through the constant cache */
    /* elements from one row to the next, and how many of them are pad; 0: it has no rows */
    int64_t row, pad;
} VmBuffer;

/* An instruction of several threads, or a bulk copy, whose code says what it computes, but not how:
 * its accesses are those of the whole operands, and its arithmetic is done by tensor cores. */
typedef struct {
    int lanes;     /* the threads that execute it together: 32, 128, or 1 */
    DType tensor;  /* the type of the elements that tensor cores multiply */
    int64_t flops; /* of tensor cores, for each thread; 0: threads do the arithmetic */
} VmUnit;

/* Registers that the machine fills in before the first instruction; -1 where a function does not
 * use one. */
typedef struct {
    /* In the order of Axis (ir/tables/place.h): blockIdx x y z, which are uniform, a rank that no
     * function uses, threadIdx x y z. */
    int axis[7];
} VmAxes;

typedef struct VmFunction {
    const char *name;
    int n_registers, n_constants, n_inputs, n_outputs, n_buffers, n_code, n_lists;
    const VmRegister *registers;
    const VmConstant *constants;
    /* registers: all sizes of the module (I64), all scalars, then the values of the launch */
    const int *inputs;
    const int *outputs; /* registers, of a shape: its dimensions (I64) */
    const VmBuffer *buffers;
    const VmInst *code; /* ends with STOP */
    /* [n_code] the program text of each instruction; of an access the buffer's own */
    const Span *spans;
    /* [n_code] the schedule step that made it; 0: the program, or lowering by itself */
    const int *steps;
    const int *lists;
    const VmUnit *units; /* c of UNIT says which */
    VmAxes axes;
    int64_t shared_bytes, local_bytes; /* of a block, of a lane */
    int64_t cluster_bytes; /* of what blocks of a cluster share: the parts of all of them */
    int cluster;           /* blocks of a cluster, adjacent along x; at least 1 in a kernel */
    /* blocks must run one after the other: for the result to be the same each time, with atomics
     * on floats, or since they wait for those before them */
    bool ordered;
    bool awaits;   /* the latter */
    int lanes;     /* of a host part with a SPREAD: VM_HOST_LANES; 0: one */
    int consumers; /* of a block with roles; 0: its threads have none */
    int turns,
        turn;    /* so many parts of these take turns, of so many groups of copies; 1: none do */
    bool shares; /* copies go to all blocks of a cluster */
} VmFunction;

/* ---- faults -------------------------------------------------------------------------------- */

typedef enum {
#define FAULT(e, name, meaning) FAULT_##e,
#include "runtime/fault.def"
#undef FAULT
    FAULT_COUNT
} FaultKind;
const char *fault_name(FaultKind kind);

/* The other one of two accesses that clash; the one that copied what nothing had written, which was
 * read. */
typedef struct {
    bool known;
    Span span;
    int step;
    int64_t block[3], thread[3];
    const char *does; /* "reads", "writes", "updates" */
} VmOther;

typedef struct {
    FaultKind kind;
    Span span;            /* of the program */
    int step;             /* of the schedule; 0: the program */
    const char *function; /* the kernel, or the module for its host part */
    bool in_kernel;       /* block and thread say something */
    int64_t block[3], thread[3];
    char message[320]; /* what, which buffer, which element, which thread */
    VmOther other;
} VmFault;

/* ---- running ------------------------------------------------------------------------------- */

struct Module;
struct RunArguments;

/* A launch as the host part asks for it. */
typedef struct {
    int kernel; /* number in the module */
    int64_t grid[3];
    int n_values;
    /* for the kernel's ARG_HOST arguments; of the machine type of their element type */
    const VmValue *values;
} VmLaunch;

/* Starts a kernel; false stops the host part. */
typedef bool VmLaunchFn(void *user, const VmLaunch *launch);

/* Runs the host part of a module: loops, conditions and launches, each of which calls `launch`
 * (never called with a grid of no blocks; may be NULL where there are none). Buffers that the host
 * part itself accesses (those of references) are addresses of this process. False with `fault`
 * filled in: FAULT_STOPPED when `launch` returned false. */
bool vm_run_host(const struct Module *m, const struct RunArguments *args, VmLaunchFn *launch,
                 void *user, VmFault *fault);

/* The request of one warp for one LOAD, STORE or ATOMIC. A vectorized access is one request of its
 * full width. Local memory, which represents registers, makes no requests. */
typedef struct {
    const VmFunction *function;
    int inst;               /* function->spans[inst], steps[inst] and code[inst] say which */
    const VmBuffer *buffer; /* of the function; its space is VM_GLOBAL or VM_SHARED */
    VmOp op;                /* VM_LOAD, VM_STORE or VM_ATOMIC */
    int bytes;              /* of a lane: the element's size times the width */
    uint32_t active;        /* bit i: lane i takes part; not 0 */
    /* in bytes, of the active lanes: from the start of the buffer, which is aligned to 256 bytes,
     * in global memory; from the start of the block's memory in shared memory */
    int64_t address[32];
    int64_t block; /* in the grid, x fastest */
    int warp;      /* in the block */
    int worker;    /* which thread of the machine calls, 0 .. VM_WORKERS - 1 */
} VmRequest;

/* One BARRIER, UNIT or floating-point instruction, executed. */
typedef struct {
    const VmFunction *function;
    int inst;
    int64_t block;
    int lanes; /* how many threads of the block execute it */
    int worker;
} VmExecution;

enum { VM_WORKERS = 256 };

/* Looks on while kernels run. Called by several threads of the machine at once, each for blocks of
 * its own: `worker` distinguishes them. Either may be NULL. */
typedef struct {
    void *user;
    void (*request)(void *user, const VmRequest *request);
    void (*executed)(void *user, const VmExecution *execution);
} VmObserver;

/* Floating-point operations that a thread does in this instruction: 1 for arithmetic, minimum,
 * maximum and functions, 2 for fma, 0 for what moves, compares or converts. */
int vm_flops(const VmInst *inst);

/* The shadow memory of a run: who wrote and read each element, over all launches. Detects races,
 * undefined reads, writes to inputs, and missing outputs. */
typedef struct VmShadow VmShadow;
/* For one run of a module with these arguments, whose outputs and temps hold nothing yet. NULL
 * without memory. */
VmShadow *vm_shadow_new(const struct Module *m, const struct RunArguments *args);
void vm_shadow_free(VmShadow *shadow);
/* An instruction of a module. */
typedef struct {
    int kernel, inst;
} VmPlace;

/* An element of a buffer of a module. */
typedef struct {
    const struct Module *module;
    int buffer;
    int64_t element;
} VmElement;

/* After the run: returns the last writer of the element as the span, step, function, block and
 * thread of a fault. False if nothing wrote it, or the run was of another module. */
bool vm_shadow_writer(const VmShadow *shadow, const VmElement *of, VmFault *who, VmPlace *store);
/* The stores, at most `room`, of other places of the text, that write what the store has loaded to
 * make its value. How many. */
int vm_origins(const struct Module *m, VmPlace store, VmPlace *places, int room);
/* After the run: has every element of every output been written? */
bool vm_shadow_complete(const VmShadow *shadow, VmFault *fault);

typedef struct {
    int threads; /* of the machine; 0: one for each core */
    /* only these clusters, ascending: block (x fastest) / VmFunction.cluster; NULL: all */
    const int64_t *clusters;
    int64_t n_clusters;
    const VmObserver *observer; /* or NULL */
    VmShadow *shadow;           /* or NULL: no checks but those of subscripts and barriers */
} VmRunOptions;

/* Runs the blocks of a launch; `options` may be NULL. The result does not depend on the number of
 * threads. False with the fault of the first block (in x, y, z order) that has one. */
bool vm_run_kernel(const struct Module *m, const struct RunArguments *args, const VmLaunch *launch,
                   const VmRunOptions *options, VmFault *fault);

/* Threads of a block in groups of `width`: a divisor or multiple of 32 where the kernel exchanges
 * values within warps. */
typedef struct {
    int width;
    bool reversed; /* blocks in falling order, where none awaits those before it */
} VmGroups;

/* The same, for tests of lowering: threads run in groups, one group after the other from barrier to
 * barrier, and blocks one after the other. What the threads of a
 * block order by barriers alone must not change the result. */
bool vm_run_kernel_in_groups(const struct Module *m, const struct RunArguments *args,
                             const VmLaunch *launch, VmGroups groups, VmFault *fault);

/* Evaluates a shape for sizes: f->n_outputs dimensions. False on a fault (a division by zero). */
bool vm_eval_shape(const VmFunction *f, const int64_t *sizes, int64_t *dims);

/* ---- functions ----------------------------------------------------------------------------- */

/* The value of a function of call.def for the arguments x; a truth value is 0 or 1. x has three
 * elements, of which the function uses as many as it takes. */
double function_f64(int function, const double *x);
float function_f32(int function, const float *x);
/* Of integers of 32 or 64 bits, of type `type`. */
int64_t function_integer(int function, DType type, const int64_t *x);
/* The bits of a value of type `from` as a value of type `to`, which has the same width. */
VmValue function_bitcast(DType from, DType to, VmValue x);
/* How many floating-point operations a call counts as. */
int function_flops(int function);

/* ---- 16- and 8-bit floats ------------------------------------------------------------------ */

/* To nearest, ties to even. Overflow gives infinity in f16 and bf16 and the largest finite value
 * in the 8-bit types, where infinities go too (cvt.rn and cvt.rn.satfinite of the PTX ISA). NaN
 * stays NaN. */
uint16_t f16_from_f32(float x);
uint16_t bf16_from_f32(float x);
uint8_t f8e4m3_from_f32(float x);
uint8_t f8e5m2_from_f32(float x);
float f32_from_f8e4m3(uint8_t bits);
float f32_from_f8e5m2(uint8_t bits);
/* Without branches, since the machine reads many at once. The fraction and the exponent move to
 * their places; the product, which is exact, makes up for the other bias. */
static inline float f32_from_f16(uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fff, moved = magnitude << 13;
    float x;
    memcpy(&x, &moved, sizeof x);
    x *= 0x1p112f;
    memcpy(&moved, &x, sizeof x);
    moved |= (uint32_t)(bits & 0x8000) << 16 | (magnitude >= 0x7c00 ? 0x7f800000 : 0);
    memcpy(&x, &moved, sizeof x);
    return x;
}
static inline float f32_from_bf16(uint16_t bits)
{
    uint32_t moved = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &moved, sizeof x);
    return x;
}
/* x as the nearest value of a floating type, in one rounding, overflow as above; f64 and f32
 * included. */
double float_round(DType type, double x);

#endif
