/* sched.h - Declares the building blocks of primitives (internal to passes/schedule).
 *
 * Every primitive has the same shape, in this order:
 *   check    REQUIRE one condition a line; nothing built in the kernel, no name used up
 *   build    new subtrees from old, pure
 *   replace  exactly one sched_replace
 *   report   fill *result with handles */
#ifndef TIRC_PASSES_SCHEDULE_SCHED_H
#define TIRC_PASSES_SCHEDULE_SCHED_H

#include "ir/instruction.h"
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/simplify.h"
#include "passes/analysis/threads/launch.h"
#include "passes/schedule/schedule.h"

/* The arguments of one call, checked against the row's parameters and put in their order:
 *   optional and not given   VALUE_NONE
 *   list, or variadic        always VALUE_LIST, never empty
 *   loop, block, node        a handle that is alive
 *   buffer                   VALUE_BUFFER, alive
 *   scope, axis              VALUE_WORD; scope_find or axis_find knows it
 *   key                      VALUE_STRING, an identifier
 *   factor                   VALUE_INT of at least 1, or VALUE_FILL
 *   amount                   VALUE_INT, or the VALUE_WORD "auto"
 *   bool                     VALUE_BOOL
 *   map                      VALUE_MAP
 *   truth                    VALUE_BOOL, or VALUE_SIZES of type bool */
struct PrimCall {
    const Primitive *primitive;
    Span span;
    union {
        Value arg[PRIM_MAX_PARAMS];
        /* The same by name, for each primitive: call->split.factors. Primitives with the same
         * first parameters may read each other's. */
#define ARG(name, kind)      Value name;
#define OPT(name, kind)      Value name;
#define LIST(name, kind)     Value name;
#define OPT_LIST(name, kind) Value name;
#define REST(name, kind)     Value name;
#define NO_ARGS              Value none;
#define PRIM(name, params, returns, query, summary, before, steps, after, legal, tvm)              \
    struct {                                                                                       \
        params                                                                                     \
    } name;
#include "passes/schedule/tables/prim.def"
#undef ARG
#undef OPT
#undef LIST
#undef OPT_LIST
#undef REST
#undef NO_ARGS
#undef PRIM
    };
};

/* At most this many loops around a block: recursion over a program stays shallow. */
#define SCHED_MAX_LOOPS 128

/* ---- the state (state.c) ---- */

typedef enum { HANDLE_NONE, HANDLE_LOOP, HANDLE_BLOCK, HANDLE_BUFFER } HandleKind;

/* What is known about one id. */
typedef struct {
    HandleKind kind;
    bool alive;
    bool named;      /* the script has named this loop */
    uint32_t parent; /* the nearest loop or block above it, 0: none */
    int place;       /* where it was last seen among the statements of a seq; a hint */
    int born;        /* the step that made it; 0: the program */
    int consumed;    /* the step that removed it, when it is not alive */
    Name name;
    Buffer *buffer; /* of a buffer: as it is now */
} Handle;

/* A hash map from interned names; 0 is "absent". */
typedef struct {
    struct NameSlot {
        Name name;
        uint32_t value;
    } * slots;
    int n, capacity;
} NameMap;
/* The value of a name, 0 where it has none; and a value for it, in place of the one that it has. */
uint32_t namemap_get(const NameMap *map, Name name);
void namemap_set(Arena *arena, NameMap *map, Name name, uint32_t value);

/* How often the kernel defines a name. */
typedef struct {
    int loops;              /* loops and iterators: a name may return in another nest */
    int others;             /* sizes, scalars, buffers, blocks, lets */
    int lets;               /* of the others: in blocks, so that buffers may have their names */
    uint32_t block, buffer; /* one that has the name, or 0 */
} NameUse;

typedef struct Entered Entered; /* enter.h */

/* A call that ran. Queries are kept where their result holds loops, for the trace. */
typedef struct {
    const Primitive *primitive;
    const Value *args; /* [n_args], as in PrimCall */
    int n_args;
    Value result;
    int step; /* 0: a query */
} CallRecord;

typedef struct {
    const Kernel *kernel;   /* after the step, */
    const Entered *entered; /* and what is around it, or NULL */
    const char *text;
    const Primitive *primitive;
    Span span;
    bool reassociates;  /* floating-point additions or products run in another order than before */
    const char *remark; /* what else is worth saying of it in the trace, or NULL */
} StepRecord;

/* A comment of the trace: a note of the script, or an attempt that was given up. */
typedef struct {
    int call; /* the number of calls before it */
    const char *text;
} TraceComment;

/* What stood in a list before a step put another statement there (versions.c). */
typedef struct {
    Stmt **at, *before;
    int step;
} ListChange;

struct Schedule {
    Context *ctx;
    const Kernel *first, *kernel; /* as it came; as it is, or the body of a loop alone: */
    const Entered *entered;       /* what is around it, or NULL (enter.c) */
    bool lowered;                 /* nothing can be scheduled any more */
    const Primitive *running;     /* the primitive at work, or NULL */
    bool refused;                 /* the last call was, for what it would do */
    bool mistaken;                /* the last call was refused for an argument (REQUIRE_WORD) */
    bool reassociates;            /* the step at work does (StepRecord) */
    const char *remark;           /* likewise */
    InstructionFinder finder;
    LowerKernel *lower;       /* or NULL: schedule_set_lowering */
    bool has_instructions;    /* some block has, or had, an instruction */
    VEC(uint32_t) open_calls; /* the blocks of calls that did not match at first */
    bool has_distinct;        /* some block is marked so, or was */
    bool proves_distinct;     /* the step at work has marked blocks so, and left others alone */
    int step;                 /* the step at work, or the next one */
    /* ids from here on were made by the step at work, or the last one */
    uint32_t first_new_id;
    uint32_t first_id;   /* of `handles` */
    VEC(Handle) handles; /* by id - first_id */
    NameMap names;       /* name -> 1 + index of `uses` */
    VEC(NameUse) uses;
    VEC(CallRecord) calls;
    VEC(StepRecord) steps;
    VEC(Knob) knobs;
    VEC(TraceComment) comments; /* in the order of the calls */
    VEC(Stmt *) scratch;
    bool has_branches;       /* the body may have conditions outside of loops */
    VEC(Stmt *) hidden;      /* branches that the step at work does not see (branch.c) */
    VEC(Stmt **) lists;      /* long ones that are changed in place ... */
    VEC(ListChange) changes; /* ... and how, in the order of the steps */
};

/* Reads the whole kernel anew. */
void state_rebuild(Schedule *s);
/* What is known about `id`, or NULL. */
Handle *state_handle(const Schedule *s, uint32_t id);
/* The uses of a name, or NULL where the kernel never defined it. */
NameUse *state_name(const Schedule *s, Name name);
/* The block or buffer of that name, or 0. */
uint32_t state_find_block(const Schedule *s, Name name);
uint32_t state_find_buffer(const Schedule *s, Name name);
/* The loop or block `id` with the path to it, which may be NULL; NULL where it is not alive. */
Stmt *state_find(Schedule *s, uint32_t id, StmtPath *path);
/* The same of one that is alive. */
Stmt *state_path(Schedule *s, uint32_t id, StmtPath *path);
/* Another name for the variable of a loop that the last step made. */
void state_rename_loop(Schedule *s, ForStmt *loop, Name name);

/* ---- branches (branch.c) ---- */

/* Runs the primitive. Where all that it is given stands in one branch of a condition on sizes, it
 * sees no other branch, and the condition as a fact. */
bool branch_run(Schedule *s, const PrimCall *call, Value *result);

/* ---- older kernels (versions.c) ---- */

/* A node like the list `seq`, with `item` at a place of it. Long lists are changed in place: `seq`
 * shows the same. */
Stmt *versions_put(Schedule *s, const Stmt *seq, int at, Stmt *item);
/* Undoes that for all steps after `step`. */
void versions_take_back(Schedule *s, int step);
/* `kernel`, which was the present one after a step, as it was then. */
const Kernel *versions_kernel(const Schedule *s, const Kernel *kernel, int step);

/* ---- calls and their text (args.c, trace.c) ---- */

/* Checks and orders arguments. */
bool args_check(Schedule *s, const Primitive *primitive, const GivenArgs *given, PrimCall *call);
/* An axis of virtual threads: "vthread", "vthread.x". */
bool axis_is_virtual(const char *name);
/* The text of a call; `loop_name` gives the variable of a loop's handle (NULL: the loop's own name)
 * and `taken` says which words are variables and must be quoted (NULL: none). */
void call_print(const Schedule *s, const CallRecord *call, const Name *loop_names,
                const NameMap *taken, StrBuf *out);
/* Adds a comment to the trace, after the calls so far. */
void trace_comment(Schedule *s, const char *text);

/* Whether a step would be accepted now; it is taken back, and its diagnostics are forgotten. The
 * arguments are those of PrimCall. */
bool sched_would_accept(Schedule *s, const PrimCall *call);

/* ---- what primitives use ---- */

/* One line per precondition: diagnoses and leaves the primitive.
 *   REQUIRE(s, E0412, call->span, loop->kind == LOOP_SERIAL, "...", ...)
 * _AT shows a loop or block as it is now, _KEPT the conflict that the condition has found. _WORD is
 * for arguments that are wrong in any program, such as a misspelt option: `try` does not catch
 * these. */
#define REQUIRE(s, code, span, condition, ...)                                                     \
    REQUIRE_OR_NOTE(s, code, span, condition, (void)0, __VA_ARGS__)
#define REQUIRE_AT(s, code, span, condition, node, ...)                                            \
    REQUIRE_OR_NOTE(s, code, span, condition, sched_note_now((s), (node)), __VA_ARGS__)
#define REQUIRE_KEPT(s, code, span, condition, why, ...)                                           \
    REQUIRE_OR_NOTE(s, code, span, condition, sched_note_conflict((s), (why)), __VA_ARGS__)
#define REQUIRE_WORD(s, code, span, condition, ...)                                                \
    REQUIRE_OR_NOTE(s, code, span, condition, (s)->mistaken = true, __VA_ARGS__)
#define REQUIRE_OR_NOTE(s, code, span, condition, note, ...)                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            sched_refuse((s), (code), (span), __VA_ARGS__);                                        \
            note;                                                                                  \
            return false;                                                                          \
        }                                                                                          \
    } while (0)
/* Whether the GPUs that the kernel is for have what others have from `first` on; refuses if not. */
bool sched_require_target(Schedule *s, Span span, Target first, const char *what);
/* An error that names the primitive at work; always returns false. */
bool sched_refuse(Schedule *s, ErrorCode code, Span span, const char *format, ...)
    TIRC_PRINTF(4, 5);
/* A note that shows the loop or block in the program as it is now, its line underlined. */
void sched_note_at(Schedule *s, const Stmt *node, const char *format, ...) TIRC_PRINTF(3, 4);
/* The same of one that an error names. */
void sched_note_now(Schedule *s, const Stmt *node);
/* Notes for the two instances of a conflict. */
void sched_note_conflict(Schedule *s, const Conflict *why);

/* The loop or block behind a handle with the path to it from the kernel's body, which may be NULL.
 * Arguments are checked to be alive before a primitive runs, so this does not fail for them. */
Stmt *sched_node(Schedule *s, const Value *node, StmtPath *path);
/* The buffer with this id, among parameters and temps. */
Buffer *sched_buffer(Schedule *s, uint32_t id);

/* Replaces `old` (by pointer) in the kernel's body by `new`; the only way a primitive changes the
 * kernel. `old` is a loop, a block, or a sequence with one among its items. */
void sched_replace(Schedule *s, const Stmt *old, Stmt *new_node);
/* The whole body at once, for changes in several places. */
void sched_replace_body(Schedule *s, Stmt *body);
/* The body and the parameters. */
void sched_replace_interface(Schedule *s, const Kernel *kernel);
/* Facts that hold at `path`'s last node. */
Facts *sched_facts(Schedule *s, const StmtPath *path);
/* `base`, or base_1, base_2 ... : no loop, let, buffer, size, scalar or block of the kernel has the
 * name. */
Name sched_fresh_name(Schedule *s, const char *base);
/* A name for iterator k of a new block: "v0", or another if a size, scalar or buffer has it. */
Name sched_iter_name(Schedule *s, int k);
/* The same for a loop that will stand on `path` in place of its last node: loops of other nests may
 * have the name. `except` is a loop that may have it too (0: none). A `base` that is too long to
 * read is cut. */
Name sched_fresh_loop_name(Schedule *s, const StmtPath *path, const char *base, uint32_t except);

/* `kernel` with nothing but the outermost nest on `path` into it: what is asked about a loop on the
 * path or below then costs what the nest holds, and not the whole program. */
Kernel *sched_kernel_around(Schedule *s, const Kernel *kernel, const StmtPath *path);

/* The loops on `path`, outermost first, and how many there are. `loops` may be NULL. */
int sched_loops_on(Schedule *s, const StmtPath *path, StmtPath *loops);
/* A block that a loop is a reduction loop of (one of its reduce iterators uses it), or NULL
 * (kind.c). */
const BlockStmt *sched_reduced_by(Context *c, const Stmt *loop);
/* "C", for a loop or block of the kernel: the name that messages show. */
Name stmt_label(const Stmt *node);
/* "4 elements from i * 4, ...": the box, axis by axis. */
const char *sched_box_text(Schedule *s, const Interval *box, int rank);

/* Refuses (E0410) a loop that has a kind. */
bool sched_require_serial(Schedule *s, const Stmt *loop, Span span);
/* Refuses (E0410, E0411) a loop that has a kind or annotations, so that others can take its
 * place. */
bool sched_require_plain(Schedule *s, const Stmt *loop, Span span);
/* The number of iterations of the last node of `path`, simplified under the facts of its place. */
Expr *sched_extent(Schedule *s, const StmtPath *path);

/* How the bodies of loops are rewritten when their variables are replaced (subst.c). */
typedef struct {
    Schedule *s;
    Facts *facts;     /* what holds at the body, ranges of the new loops included */
    const Subst *map; /* old variables -> values */
    int n_map;
    Expr *guard;   /* a condition that blocks need, or NULL; on the new variables */
    Expr *end;     /* with a guard: the first value of map[0].var that the guard forbids ... */
    int direction; /* ... and 1 or -1: it forbids values above or below, too */
} Below;
/* The statement with variables replaced in bounds, conditions, bindings and predicates, each
 * simplified where it changed. A block gets the guard as a predicate unless the domains of its
 * iterators exclude what it forbids. */
Stmt *below_rewrite(Below *b, Stmt *stmt);
/* The body of `narrow` for a loop of the same variable that comes to have the range lo..hi around
 * the one that it has: iterations that were not there run nothing. `facts` hold in the loop with
 * the wider range (widen.c). */
Stmt *loop_guard_range(Schedule *s, Facts *facts, const ForStmt *narrow, Expr *lo, Expr *hi);
/* The serial loop at the end of `path` as one from 0 in steps of 1, under the same id; itself if it
 * is one. */
Stmt *loop_from_zero(Schedule *s, const StmtPath *path);

/* The blocks with an instruction (instructions.c). */
StmtList sched_instructions(Schedule *s);
/* Finds the calls of the program that a schedule has to make executions of: steps may leave them
 * what they are, and lowering checks them. */
void sched_open_calls(Schedule *s);
/* Those `before` a step are still instructions, and all that the step has made or changed match
 * theirs; false after E0849. */
bool sched_check_instructions(Schedule *s, const StmtList *before, Span span);

/* The blocks that are marked as storing to distinct elements (marks.c). */
StmtList sched_distinct(Schedule *s);
/* Behind a step: drops the marks of blocks that are not what they were `before` it. */
void sched_drop_distinct(Schedule *s, const StmtList *before);

/* Results of primitives: handles, a number, a list (copied). */
Value value_loop(const Stmt *loop);
Value value_block(const Stmt *block);
Value value_buffer(const Buffer *buffer);
Value value_int(int64_t i);
typedef VEC(Value) ValueList;
Value value_list(Schedule *s, const Value *items, int n);
Value value_blocks(Schedule *s, StmtList blocks);
/* The loops of the path, outermost first. */
ValueList value_loops(Schedule *s, const StmtPath *path);

/* The primitives: bool prim_NAME(Schedule *, const PrimCall *, Value *). */
#define PRIM(name, params, returns, query, summary, before, steps, after, legal, tvm)              \
    bool prim_##name(Schedule *s, const PrimCall *call, Value *result);
#include "passes/schedule/tables/prim.def"
#undef PRIM

#endif
