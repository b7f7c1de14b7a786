/* code.h - Builds a function of the virtual machine (internal to codegen).
 *
 * A VmCoder holds one function under way.  Expressions give registers: a variable's own, a
 * constant's, or a temporary that the caller gives back when it has used it, so that a long body
 * needs few registers and stays in the cache. What depends on sizes alone (extents of buffers)
 * goes into a prologue. */
#ifndef TIRC_CODEGEN_MODULE_CODE_H
#define TIRC_CODEGEN_MODULE_CODE_H

#include "codegen/codegen.h"
#include "codegen/launch_use.h"
#include "codegen/vector.h"

typedef struct {
    const Var *var;
    int reg;
} VarRegister;

/* A buffer as this function has met it. */
typedef struct {
    const Buffer *buffer;
    int *extents;     /* registers, [rank] */
    int64_t *strides; /* literal, or NULL: row major over the extents */
} CodedBuffer;

/* The value of an expression. */
typedef struct {
    int reg;
    bool temporary; /* to be given back */
} Value;

/* A vectorized loop under way: its wide loads are done, and one lane after the other is computed
 * from them. */
typedef struct {
    const VectorPlan *plan; /* NULL: none */
    const Value *loaded;    /* [loads][lanes] */
    int lane;
} WideLane;

/* Temporaries that are free, by type and uniformity. */
typedef struct {
    VEC(int) of[VM_TYPES][2];
} SpareRegisters;

typedef VEC(VmInst) VmInstList;
typedef VEC(Span) SpanList;
typedef struct {
    VmInstList insts;
    SpanList spans; /* of each instruction ... */
    VEC(int) steps; /* ... and its schedule step */
} CodeList;

/* The element that was computed last, in code without branches since: buffers of one shape share
 * it. */
typedef struct {
    const Buffer *buffer; /* NULL: none */
    Expr *const *index;
    Value at;
} LastElement;

/* A load in the subscripts of an access that are checked: the one that is executed has it, too, and
 * it is done once. */
typedef struct {
    const Expr *load;
    Value value;
} SubscriptLoad;

typedef struct {
    Context *c;
    const Kernel *kernel;
    const Module *module;       /* its buffer, size and scalar tables */
    const uint32_t *buffer_ids; /* of the module's buffers */
    VmFunction *f;
    CodeList prologue, body, *code; /* `code` is the one that is written */
    VEC(VmRegister) registers;
    VEC(VmConstant) constants;
    VEC(int) inputs, lists;
    VEC(VmUnit) units;
    SpareRegisters spare;
    LastElement last;
    VEC(SubscriptLoad) subscript_loads; /* of the accesses at work */
    bool in_subscripts;                 /* that are checked: loads are kept */
    WideLane wide;
    bool multicast; /* at work on a copy to all blocks of a cluster */
    VEC(VarRegister) vars;
    VEC(VmBuffer) buffers;
    VEC(CodedBuffer) coded;     /* parallel to buffers */
    VEC(const ForStmt *) loops; /* around the statement at work */
    int opened;                 /* the FOR of the innermost of them */
    Origin at;                  /* of the statement or access at work */
    const LaunchUse *launches;  /* of a host part, in program order */
    int n_launches;             /* met so far */
    const LaunchStmt *inside;   /* the launch whose kernel it is; NULL: a host part */
    bool in_lanes;              /* a host part: parallel loops run in lanes */
    bool fits;                  /* index arithmetic is checked to be that of ints */
} VmCoder;

/* coder.c: registers, instructions, the function as a whole. A function begins, and is finished;
 * `buffer_ids` are those of the module's buffers, in its order, or NULL where it has none. */
VmCoder *coder_new(Context *c, const Kernel *kernel, const Module *module,
                   const uint32_t *buffer_ids, const char *name);
const VmFunction *coder_finish(VmCoder *k);
/* One value for each lane, or a single one that all agree on. */
typedef enum { REGISTER_OF_LANES, REGISTER_UNIFORM } RegisterShape;

int coder_register(VmCoder *k, VmType type, RegisterShape shape); /* for the function's life */
/* A register that is free again once it is released; releasing any other value does nothing. */
Value coder_temporary(VmCoder *k, VmType type, bool uniform);
void coder_release(VmCoder *k, Value v);
/* A register that holds the number from the start; one for all places that want it. */
int coder_constant(VmCoder *k, VmType type, VmValue value);
int coder_int(VmCoder *k, int64_t value); /* an I64 constant */
/* The register of a variable: from where it is defined. */
void coder_define(VmCoder *k, const Var *var, int reg);
int coder_variable(VmCoder *k, const Var *var);
/* What is written between the two runs before the body, in registers of its own. */
SpareRegisters coder_enter_prologue(VmCoder *k);
void coder_leave_prologue(VmCoder *k, SpareRegisters spare);
/* The register in which a size, scalar or loop of the host comes in. */
int coder_input(VmCoder *k, const Var *var, VmType type);
/* Whether a register has one value for all lanes; and its type. */
bool coder_uniform(const VmCoder *k, int reg);
VmType coder_type(const VmCoder *k, int reg);
/* Appends; returns the instruction's place, for `to` to be filled in. */
int coder_emit(VmCoder *k, VmInst inst);
void coder_patch(VmCoder *k, int inst, int to);
int coder_here(const VmCoder *k); /* the place of the next instruction */
/* Registers as a list; returns its place in `lists`. */
int coder_list(VmCoder *k, const Value *values, int n);

/* buffer.c: the number of a buffer in the function, and an element's place in it, checked axis
 * by axis. */
int coder_buffer(VmCoder *k, const Buffer *buffer);
void coder_place_temp(VmCoder *k, const Buffer *buffer);
/* One in the memory of each lane. */
void coder_place_own(VmCoder *k, const Buffer *buffer);
Value coder_element(VmCoder *k, const Buffer *buffer, Expr *const *index);
void coder_forget_element(VmCoder *k);
/* Checks the subscripts that an access of `buffer` had before they became one, axis by axis; NULL:
 * nothing. What the checks have loaded is known until the access ends. */
int coder_begin_access(VmCoder *k, const Buffer *buffer, const AxisAccess *axes);
void coder_end_access(VmCoder *k, int begun);

/* expr.c */
Value coder_expr(VmCoder *k, const Expr *e);
/* A fault unless the register, an INDEX, holds what an int can; nothing where that is not asked
 * for. */
void coder_fit(VmCoder *k, int reg);
/* An INDEX or integer expression as an I64. */
Value coder_index(VmCoder *k, const Expr *e);
typedef struct {
    int d, a, b;
} CombineRegisters;

/* d = a op b in an element type, rounded to it. */
void coder_combine(VmCoder *k, VmOp op, DType type, CombineRegisters r);

/* vector.c: a vectorized loop as wide accesses; false where it is none. */
bool coder_vector_loop(VmCoder *k, const ForStmt *loop);

/* A loop in lanes under way: registers, and the instructions to be patched. */
typedef struct {
    const Stmt *body; /* what stands between its beginning and its end */
    Value lo, hi, next, var, some;
    int open, inside;
} LaneLoop;

/* lanes.c: the beginning of a parallel loop in lanes, and its end. */
LaneLoop coder_enter_lanes(VmCoder *k, const ForStmt *loop);
void coder_leave_lanes(VmCoder *k, const LaneLoop *l);

/* unit.c: around the code of an instruction of several threads, or of a bulk copy. */
void coder_begin_unit(VmCoder *k, const Instruction *of);
void coder_end_unit(VmCoder *k);

/* stmt.c */
void coder_stmt(VmCoder *k, const Stmt *s);

#endif
