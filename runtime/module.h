/* module.h - Represents a compiled kernel as data: its launches, their arguments and their order.
 *
 * Made by codegen/, executed here. Knows no IR: sizes, shapes and grids are small programs of the
 * virtual machine (vm.h), which runs the host part for every device and the kernels of the
 * simulator. */
#ifndef TIRC_RUNTIME_MODULE_H
#define TIRC_RUNTIME_MODULE_H

#include "ir/type.h"
#include "runtime/vm.h"

typedef enum { BUFFER_IN, BUFFER_OUT, BUFFER_INOUT, BUFFER_TEMP } BufferRole;

/* The values that an input may have. An end of integers that is open is INT64_MIN or INT64_MAX. */
typedef struct {
    /* integers: registers: sizes in, the least and the greatest value out; NULL: floats */
    const VmFunction *ends;
    double lo, hi;                                 /* floats */
    bool has_lo, has_hi, excludes_lo, excludes_hi; /* floats */
    Order order;                                   /* of all elements; ORDER_COUNT: none */
} ModuleValues;

/* An item of the program's `where` clause. */
typedef struct {
    const char *text; /* as in the program */
    Span span;
    const VmFunction *cond; /* on sizes: one output, not 0 where it holds; else NULL */
    int buffer, scalar;     /* the other is -1: what it is about, in the tables */
    ModuleValues values;
} ModuleFact;

typedef struct {
    const char *name;
    DType type;
    BufferRole role;
    int rank;
    const VmFunction *shape;    /* registers: sizes in, `rank` dimensions out */
    const ModuleValues *values; /* that random data are drawn from; NULL: any */
    bool partial;               /* of an output: a run need not write every element */
    /* of a reference: what it says of which buffer of the program; of a NEED, of which axis */
    BufferPart part;
    const char *part_of;
    int part_axis;
} ModuleBuffer;

typedef struct {
    const char *name;
    DType type;
    const ModuleValues *values; /* as of a buffer */
} ModuleScalar;

typedef struct {
    const char *name;
    bool symbolic;
    int64_t value; /* of a constant */
} ModuleSize;

/* The limits on the sizes that 32-bit indices need. */
typedef struct {
    const char *text; /* "M * N + 31" */
    /* registers: sizes in, one output, which is at most INT32_MAX; it saturates */
    const VmFunction *value;
} ModuleLimit;

/* A box of a tensor that the hardware copies: what a tensor map is made of. */
enum { MAP_MAX_RANK = 5 };
typedef struct {
    int buffer;
    int64_t box[MAP_MAX_RANK]; /* [rank of the buffer] in elements */
    int span;                  /* of the swizzle in bytes; 0: none */
    DType type;                /* of an element, as the hardware takes it */
} ModuleMap;

/* The kind of one kernel argument. */
typedef enum { ARG_BUFFER, ARG_MAP, ARG_SCALAR, ARG_SIZE, ARG_HOST } ArgumentKind;
typedef struct {
    ArgumentKind kind;
    int index;  /* into buffers, maps, scalars, sizes, or the values that the launch passes */
    DType type; /* of a value */
} KernelArgument;

/* An array in constant memory: it holds what a buffer holds when a kernel that reads it is
 * launched. */
typedef struct {
    const char *symbol; /* in the source */
    int buffer;         /* what it is a copy of */
    int64_t bytes;
    /* the buffer is a temp, which kernels write; else an input, which stays the same in a run */
    bool changes;
} ModuleConstant;

typedef struct ModuleKernel {
    const char *name;   /* in the program */
    const char *symbol; /* of the __global__ function in the source */
    int64_t block[3];
    int64_t shared_static;  /* bytes declared in the source */
    int64_t shared_dynamic; /* bytes asked for at launch */
    int barriers;           /* in the source */
    int n_arguments;
    const KernelArgument *arguments;
    int n_constants;        /* that it reads */
    const int *constants;   /* into the module's */
    const VmFunction *code; /* the kernel for the simulator */
} ModuleKernel;

typedef struct Module {
    const char *name;
    const char *source; /* CUDA C, as --emit cuda prints it; NULL for a reference program */
    int n_sizes, n_scalars, n_buffers, n_maps, n_constants, n_kernels, n_facts, n_limits;
    const ModuleSize *sizes;
    const ModuleScalar *scalars;
    const ModuleFact *facts;
    const ModuleBuffer *buffers; /* parameters in order, then temps in global memory */
    const ModuleMap *maps;
    const ModuleConstant *constants;
    const ModuleKernel *kernels;
    const ModuleLimit *limits; /* of the sizes of a run */
    /* loops, conditions and launches; may compute by itself (a reference) */
    const VmFunction *host;
} Module;

/* The first limit that the sizes (of all sizes of the module) break; NULL where they keep all. */
const ModuleLimit *module_broken_limit(const Module *m, const int64_t *sizes);

#endif
