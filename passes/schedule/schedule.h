/* schedule.h - Represents a kernel under a schedule: primitives, handles, the trace.
 *
 * A Schedule owns the current kernel of one context and changes it only through primitives, each a
 * row of prim.def. A primitive checks its conditions, builds, replaces once, and reports; a refused
 * one leaves the kernel as it was. Loops, blocks and buffers are spoken of by ids, which survive
 * rewrites; an id that a step has consumed says which. */
#ifndef TIRC_PASSES_SCHEDULE_SCHEDULE_H
#define TIRC_PASSES_SCHEDULE_SCHEDULE_H

#include "ir/ir.h"

typedef enum {
    VALUE_NONE,
    VALUE_INT,
    VALUE_BOOL,   /* in i */
    VALUE_FLOAT,  /* 0.5: for annotations */
    VALUE_STRING, /* "text" */
    /* a bare or dotted name that is no variable: shared, blockIdx.x, the block or buffer C */
    VALUE_WORD,
    VALUE_FILL, /* _ */
    VALUE_LIST,
    VALUE_LOOP, /* a handle, in id */
    VALUE_BLOCK,
    VALUE_BUFFER,
    VALUE_MAP,   /* [i, j] -> [j, i] */
    VALUE_SIZES, /* N / 4, N % 4 == 0: an expression of symbolic sizes, in sizes */
} ValueKind;

typedef struct Value {
    ValueKind kind;
    Span span; /* where the script computed it */
    union {
        int64_t i;
        double f;
        Name s;
        uint32_t id;
        const struct IndexMap *map; /* passes/analysis/polyhedral/index_map.h */
        Expr *sizes;
        struct {
            const struct Value *items;
            int n;
            /* values at all levels, and levels; 1 for a list without lists */
            unsigned total : 24, depth : 8;
        } list;
    } u;
} Value;
const char *value_kind_name(ValueKind kind); /* "a loop", "a list" */
/* A list of these items, which it keeps. Its total and its depth are at most what they can hold. */
Value value_of_items(const Value *items, int n, Span span);

/* One parameter of a primitive, as prim.def has it. */
typedef enum {
    PARAM_LOOP,
    PARAM_BLOCK,
    PARAM_BUFFER,
    PARAM_INT,
    PARAM_BOOL,
    PARAM_SCOPE,
    PARAM_AXIS,
    PARAM_KEY,
    PARAM_TEXT,   /* a string */
    PARAM_FACTOR, /* an integer >= 1, or _ */
    PARAM_LENGTH, /* the same, or a loop */
    PARAM_AMOUNT, /* an integer, or auto: tirc chooses */
    PARAM_NODE,   /* a loop or a block */
    PARAM_NEST,   /* a loop or a list of loops */
    PARAM_MAP,    /* an index map */
    PARAM_TRUTH,  /* a truth value, or a condition on symbolic sizes */
    PARAM_ANY,
} ParamKind;
typedef struct {
    const char *name;
    ParamKind kind;
    bool list;     /* a list of them; a list of one may be written without brackets */
    bool variadic; /* takes all remaining positional arguments, or one list */
    bool optional;
} PrimParam;

typedef struct Schedule Schedule;
typedef struct PrimCall PrimCall;

typedef struct Primitive {
    const char *name;
    const PrimParam *params;
    int n_params;
    const char *result;  /* "loops", "block", "" ... in words */
    const char *summary; /* one line */
    /* the body of a small kernel, a script, what it makes of the body; or "" for queries */
    const char *before, *steps, *after;
    const char *legal; /* when it is legal; what it refuses */
    const char *tvm;   /* the counterpart in TVM's Schedule, or "" */
    bool is_query;     /* changes nothing */
    bool (*run)(Schedule *s, const PrimCall *call, Value *result);
} Primitive;

#define PRIM_MAX_PARAMS 6

/* All primitives, in the order of prim.def. */
const Primitive *primitive_table(int *n);
const Primitive *primitive_find(const char *name);
/* "split(loop, factors...)": how the primitive is called. */
void primitive_usage(const Primitive *primitive, StrBuf *out);

/* Starts scheduling `kernel` (program or scheduled level). Lives in the context's arena. */
Schedule *schedule_new(Context *c, const Kernel *kernel);
/* The whole program as it is now, also while the schedule sees a part of it (enter): the next step
 * may change it in place. What schedule_kernel_after gives lasts. */
const Kernel *schedule_kernel(const Schedule *s);
/* What the next step sees: the body of a loop that was entered, of which that is a size. */
const Kernel *schedule_entered_kernel(const Schedule *s);
Context *schedule_context(const Schedule *s);

/* An instruction by its name, with values for its parameters: integers and types. */
typedef struct {
    Name name;
    const Value *arguments;
    int n_arguments;
    Span span; /* of the call */
} InstructionCall;
/* Where tensorize finds instructions that have parameters, or are not declared beside the kernel.
 * `find` returns NULL, with the nearest name in *near (NULL: none), or after diagnostics of the
 * declaration or of the arguments. */
typedef struct {
    void *user;
    const Instruction *(*find)(void *user, const Kernel *kernel, const InstructionCall *call,
                               const char **near);
} InstructionFinder;
void schedule_set_finder(Schedule *s, InstructionFinder finder);

/* Whether lowering accepts a kernel: NULL, with diagnostics, where it does not. */
typedef Kernel *LowerKernel(Context *c, const Kernel *kernel);
/* How the query `lowers` asks; without it, the answer is true. */
void schedule_set_lowering(Schedule *s, LowerKernel *lower);

/* The arguments of a call as they are given. */
typedef struct {
    const Value *args;
    const Name *names; /* [n] that they are given by; NULL: by their position */
    int n;
    Span span; /* of the call */
} GivenArgs;

/* Calls a primitive with evaluated arguments. On refusal: false, errors in the context, the kernel
 * unchanged. */
bool schedule_call(Schedule *s, const Primitive *primitive, const GivenArgs *given, Value *result);

/* Gives a loop that the last step made the name of the script's variable (kept unique on its path).
 * The first variable that holds a new loop names it; for every other loop this does nothing. */
void schedule_name_loop(Schedule *s, uint32_t loop, Name name);
/* The name of a loop, block or buffer. */
Name schedule_name_of(const Schedule *s, const Value *handle);

/* How many primitive calls that changed the kernel have run; the kernel after call `step` (0: as it
 * came); and the call's text ("split(i, [_, 32])"). For --print-after, round trips and
 * provenance. */
int schedule_steps(const Schedule *s);
const Kernel *schedule_kernel_after(const Schedule *s, int step);
const char *schedule_step_text(const Schedule *s, int step);
const char *schedule_step_name(const Schedule *s, int step);
Span schedule_step_span(const Schedule *s, int step);
/* The step changed the order of floating-point additions or products, and with it how they
 * round. */
bool schedule_step_reassociates(const Schedule *s, int step);
/* What else the trace says of the step, such as how many iterations a guard leaves idle; NULL for
 * nothing. */
const char *schedule_step_remark(const Schedule *s, int step);

/* The last call was refused since a condition of its primitive does not hold; false where its
 * arguments were wrong. */
bool schedule_refused(const Schedule *s);

/* A state of the schedule to go back to. */
typedef struct {
    const Kernel *kernel;
    const struct Entered *entered;
    uint32_t first_new_id;
    int steps, calls, knobs, comments;
} ScheduleMark;
ScheduleMark schedule_mark(const Schedule *s);
/* Takes back all steps since the mark. The trace shows `why`, the error of the refused step (or
 * NULL). */
void schedule_go_back(Schedule *s, const ScheduleMark *mark, const char *why);

/* What a script leaves open: the value that this run took, and all that it may take, the default
 * first. */
typedef struct {
    Name name;
    Value value, choices; /* choices is a list */
} Knob;
void schedule_add_knob(Schedule *s, Knob knob);
const Knob *schedule_knobs(const Schedule *s, int *n);

/* The calls that ran as a schedule that runs again to the same kernel. */
void schedule_trace(const Schedule *s, Name schedule_name, StrBuf *out);

#endif
