/* ir.h - Defines the intermediate representation at every level.
 *
 * A kernel is a tree of loops over blocks, after TVM's TensorIR (Feng et al., ASPLOS 2023):
 *
 *   kernel  := sizes, parameters, body
 *   stmt    := seq | for | if | block | store | temp | let | barrier | launch
 *   block   := iterators bound to expressions of the loops, predicate, init, body
 *
 * A block is the unit that schedules move. Its body uses only its iterators. If an iterator leaves
 * its domain, or the predicate is false, the instance does not exist, so guards need not be
 * written: lowering derives them. A predicate reads buffers only for iterators in their domains.
 * `init` runs once for each value of the spatial iterators before any update, also when the
 * reduction is empty.
 *
 * Levels (docs/language.md has the text of each; ir_verify checks them):
 *   program   for, if, block, temp (in `global`)
 *   scheduled the same, with loop kinds, scopes and annotations
 *   lowered   host loops around launches; inside a launch let, barrier, store, for, if, temp,
 *             instruction, roles
 *
 * Nodes are immutable once built and share structure freely: a rewrite makes new nodes along the
 * path to the change, and "unchanged" is pointer equality.  Every node carries the span of the
 * program text it comes from and the schedule step that made it. */
#ifndef TIRC_IR_IR_H
#define TIRC_IR_IR_H

#include "ir/diag.h"
#include "ir/tables/place.h"
#include "ir/tables/sync.h"
#include "ir/type.h"

/* ---- variables and buffers: identity is the pointer ------------------------------------------ */

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef enum {
    VAR_SIZE,   /* a symbolic size; at least 0 */
    VAR_SCALAR, /* a parameter without a shape */
    VAR_LOOP,   /* a loop's variable */
    VAR_ITER,   /* a block's iterator */
    VAR_LET,    /* a named value, of a block or of the lowered level */
} VarKind;

typedef struct Var {
    Name name;
    DType type;
    VarKind kind;
    uint32_t id;
    Span span;
} Var;

typedef enum { ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_TEMP } Role;

/* Chunks of an axis that change places: chunk k of `chunk` elements lies at k ^ (x / every %
 * count), where x is the subscript of axis `by`. `count` is a power of two, and rows are rounded up
 * to a multiple of chunk * count elements, so that within a row every place is taken at most once.
 * A chunk of 0: no swizzle. */
typedef struct {
    int64_t chunk, count, every;
    int by;
} Swizzle;

/* How one axis is laid out in a buffer that is not global: rows of it are `pad` elements longer
 * than the axis, and its stride is factor * k + offset for the smallest fitting k (factor 0: no
 * rule). A `fold` above 0 makes the axis circular: element x lies in place x % fold, and lives
 * until another one takes the place. Lowering checks that nothing is read after that. With
 * `choose_pad` and `choose_swizzle` lowering finds the numbers, once it knows the accesses of every
 * warp (passes/lower/access/choose_layouts.c); until then they are 0. With `quiet` nobody has asked
 * for it, and it says nothing of conflicts that stay. */
typedef struct {
    int64_t pad, align_factor, align_offset, fold;
    Swizzle swizzle;
    bool choose_pad, choose_swizzle, quiet;
} AxisLayout;

/* What additions to an element may keep (of an operand of an instruction: do); 0: all digits. */
typedef struct {
    int sums, products;
} Digits;

typedef struct Buffer {
    Name name;
    DType type;
    int rank;
    Expr *const *shape;       /* [rank], INDEX; row major */
    const AxisLayout *layout; /* [rank], or NULL where nothing is asked for */
    Digits digits;
    Scope scope;
    Role role;
    uint32_t id; /* stays the same when a schedule changes shape, scope or layout */
    const struct Buffer *copy_of; /* lowered, in `constant`: what in global memory it copies */
    /* lowered: this is the buffer with one subscript in place of several */
    const struct Buffer *view_of;
    Span span;
    Span origin; /* the schedule line that made it or chose its scope; none for the program's own */
    int step;    /* the schedule step that made it or changed it last; 0: the program */
    /* in `warp`: where a lane reads what another has written, its own register has the same bits */
    bool lanes_alike;
    bool is_weight; /* a step has proved that its elements are from 0 to 1, or NaN */
    /* of a reference: what it says of which buffer of the program; of a NEED, of which axis */
    BufferPart part;
    const struct Buffer *part_of;
    int part_axis;
} Buffer;

/* The origin of a node. */
typedef struct {
    Span span; /* of the program */
    int step;  /* of the schedule; 0: the program itself */
} Origin;

/* ---- expressions ----------------------------------------------------------------------------- */

typedef enum {
#define LEAF(e)                             EX_##e,
#define UNARY(e, token, precedence)         EX_##e,
#define BINARY(e, token, precedence, class) EX_##e,
#include "ir/tables/expr.def"
#undef LEAF
#undef UNARY
#undef BINARY
    EX_COUNT
} ExprKind;

typedef enum {
    OP_LEAF,
    OP_UNARY,
    OP_ARITH,
    OP_COMPARE,
    OP_LOGIC,
    OP_BITS,
    OP_SHIFT,
    OP_LANES
} OpClass;
typedef struct {
    const char *token;
    int precedence;
    OpClass class;
} OpInfo;
const OpInfo *op_info(ExprKind kind);
bool expr_is_unary(ExprKind kind);
bool expr_is_binary(ExprKind kind);

/* The subscripts that an access had before a pass put others in their place: one for all axes
 * (flatten), or those of where the element lies (swizzle). What they may be is what the buffer's
 * shape says. Texts do not show them. */
typedef struct {
    const Buffer *buffer;
    Expr *const *index; /* [buffer->rank] */
} AxisAccess;

/* There are many of them: 48 bytes each. */
struct Expr {
    ExprKind kind : 16;
    DType type : 16;
    CacheHint hint; /* of a LOAD; lowered */
    bool is_hex;    /* an INT that was written as 0x1f */
    Span span;
    int step; /* the schedule step that made it; 0: the program */
    union {
        int64_t i; /* INT: the value (for u64, its bits) */
        double f;  /* FLOAT */
        Var *var;  /* VAR */
        Axis axis; /* AXIS */
        struct {   /* LOAD */
            Buffer *buffer;
            Expr *const *index;     /* [buffer->rank], INDEX */
            const AxisAccess *axes; /* lowered; NULL: `index` is what it has always been */
        } load;
        /* unary: arg[0]; binary: arg[0], arg[1]; SELECT: condition, a, b; CAST: arg[0] */
        Expr *arg[3];
        struct { /* CALL */
            CallKind call;
            Expr *const *arg; /* [arity] */
        } call;
    } u;
};

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum {
    ST_SEQ, /* statements in order */
    ST_FOR, /* one loop */
    /* a condition on sizes, loops and scalars at program level; anything when lowered */
    ST_IF,
    ST_BLOCK,       /* the unit of scheduling */
    ST_STORE,       /* buffer[index] op value */
    ST_TEMP,        /* a buffer for the rest of the enclosing seq */
    ST_LET,         /* a named value for the rest of the enclosing seq (in blocks and launches) */
    ST_BARRIER,     /* what a thread waits for (lowered) */
    ST_LAUNCH,      /* a kernel launch (lowered) */
    ST_INSTRUCTION, /* one execution of a tensor instruction (lowered) */
    ST_BREAK,       /* ends the innermost loop around it, a LOOP_BREAKS in the body of a block */
    ST_ROLES,       /* what the producer of a launch does, and its consumers (lowered) */
} StmtKind;

typedef enum {
    LOOP_SERIAL,
    LOOP_PARALLEL,
    LOOP_VECTORIZE,
    LOOP_UNROLL,
    LOOP_BIND,
    LOOP_BREAKS, /* serial; a `break` may end it, so data decide how many iterations it has */
} LoopKind;
const char *loop_kind_name(LoopKind kind);

/* How a store combines with what is there. */
typedef enum {
    STORE_SET,
    STORE_ADD,
    STORE_MUL,
    STORE_MIN,
    STORE_MAX,
    STORE_AND,
    STORE_OR,
    STORE_XOR,
    STORE_ASYNC, /* lowered: sets the element at some time before the next wait for it ends */
} StoreOp;
const char *store_op_token(StoreOp op); /* "=", "+=", "min=" */
/* The operator of an update of elements of `type`: EX_ADD for `+=`, EX_AND for `&=` of truth
 * values. EX_COUNT for a plain store. */
ExprKind store_op_kind(StoreOp op, DType type);
/* The new value depends on the old one. */
static inline bool store_updates(StoreOp op)
{
    return op != STORE_SET && op != STORE_ASYNC;
}

/* A value attached to a loop or block by `annotate`. */
typedef struct Annotation {
    Name key; /* NULL in a list */
    enum { ANNOTATION_INT, ANNOTATION_FLOAT, ANNOTATION_STRING, ANNOTATION_LIST } kind;
    int64_t i;
    double f;
    Name string;
    const struct Annotation *list;
    int n_list;
} Annotation;

typedef struct {
    const Annotation *items;
    int n;
} AnnotationList; /* at most one of a key */

/* The keys that tirc reads (annotation.def). */
typedef enum {
#define ANNOTATION(key, name, primitive, least, most) ANNOTATION_##key,
#include "ir/tables/annotation.def"
#undef ANNOTATION
    ANNOTATION_KEYS
} AnnotationKey;
typedef struct {
    const char *name;      /* of a family: what its names begin with, and ends in _ */
    const char *primitive; /* whose mark it is, or NULL */
    int64_t least, most;   /* of an integer value */
} AnnotationInfo;
const AnnotationInfo *annotation_info(AnnotationKey key);
/* The key called `name`; ANNOTATION_KEYS if tirc does not read it. */
AnnotationKey annotation_key(const char *name);
/* What follows the family's name in the key of `a`; NULL where it is not of the family. */
const char *annotation_member(const Annotation *a, AnnotationKey family);
/* The annotation of that key, which is no family, or NULL. */
const Annotation *annotation_find(AnnotationList list, AnnotationKey key);
/* Its value, which is at least 1; 0 where there is none, or none that is allowed. */
int64_t annotation_int(AnnotationList list, AnnotationKey key);
/* Its blocks start in another order than row by row (remap). */
bool annotations_remap(AnnotationList list);
/* A list without the key; with another annotation, in the place of one of its key; with a
 * primitive's mark. */
AnnotationList annotations_without(Context *c, AnnotationList list, Name key);
AnnotationList annotations_with(Context *c, AnnotationList list, Annotation added);
AnnotationList annotations_mark(Context *c, AnnotationList list, AnnotationKey key);

/* A variable and its replacement. */
typedef struct {
    Var *var;
    Expr *value;
} Subst;

typedef struct Combiner Combiner; /* ir/tuple.h */
typedef struct Instruction Instruction;

typedef enum { ITER_SPATIAL, ITER_REDUCE } IterKind;

/* An iterator takes the value of `binding` (an expression of the loops) and exists for values in
 * lo <= v < hi (expressions of sizes and of iterators before it). */
typedef struct {
    Var *var;
    Expr *lo, *hi;
    Expr *binding;
    IterKind kind;
} BlockIter;

typedef struct {
    Var *var;
    Expr *lo, *hi; /* lo, lo + step, ... while < hi (step > 0), or while >= hi (step < 0) */
    int64_t step;
    LoopKind kind;
    Axis axis; /* of LOOP_BIND */
    uint32_t id;
    AnnotationList annotations;
    Stmt *body;
} ForStmt;

typedef struct {
    Name name;
    uint32_t id;
    const BlockIter *iters;
    int n_iters;
    Expr *predicate; /* on loops, or NULL */
    Stmt *init;      /* NULL unless it is a reduction block with one */
    Stmt *body;      /* stores, ifs, lets and, where control depends on data, loops */
    bool atomic;     /* its updates may collide */
    const Instruction *instruction; /* whose body matches the block's (unify.h); NULL: none */
    Expr *const *elements; /* that its template names, where the body has shuffles; or NULL */
    int lanes_alike;       /* in groups of so many along x, lanes store the same; 0: not known */
    AnnotationList annotations;
} BlockStmt;

typedef struct {
    Name name;          /* of the emitted function */
    Expr *grid[3];      /* x, y, z: of sizes and host loops */
    int64_t block[3];   /* x, y, z */
    int64_t cluster;    /* how many adjacent blocks along x are a cluster; 0: blocks are alone */
    int64_t min_blocks; /* that a multiprocessor should have room for at a time; 0: not said */
    Stmt *body;
} LaunchStmt;

/* An element of a buffer. */
typedef struct {
    Buffer *buffer;
    Expr *const *index; /* [buffer->rank], INDEX */
} BufferElement;

typedef struct {
    Buffer *buffer;
    Expr *const *index;
    StoreOp op;
    Expr *value;
    bool atomic;
    CacheHint hint;         /* lowered */
    const AxisAccess *axes; /* lowered, as of a load */
} StoreStmt;

struct Stmt {
    StmtKind kind;
    Span span;
    int step;
    union {
        struct {
            Stmt *const *items;
            int n;
            const Combiner *combiner; /* of an update of a tuple, else NULL */
        } seq;
        ForStmt loop;
        struct {
            Expr *cond;
            Stmt *then, *otherwise; /* otherwise may be NULL */
        } cond;
        BlockStmt block;
        StoreStmt store;
        Buffer *temp;
        struct {
            Var *var;
            Expr *value;
        } let;
        struct {
            SyncKind kind;
            int pending;           /* where sync_counts says so */
            const Instruction *of; /* COMMIT, WAIT: its executions; NULL: asynchronous stores */
            const char *why;       /* what it orders, in words */
        } barrier;
        LaunchStmt launch;
        struct { /* run at the same time: by one more thread, and by those of the block */
            Stmt *producer, *consumers;
            int turn; /* so many groups are for one warpgroup, then for the next; 0: for all */
        } roles;
        struct {
            const Instruction *of;
            Expr *const *elements; /* [of->n_elements], loads: what the template names */
            Stmt *body;            /* what it computes; CUDA text shows the template instead */
        } instruction;
    } u;
};

/* A size parameter: `value` where it is a compile-time constant, else `var` stays symbolic. */
typedef struct {
    Name name;
    bool symbolic;
    int64_t value;
    Var *var;
    Span span;
} Size;

/* A parameter: a buffer, or a scalar. */
typedef struct {
    Buffer *buffer;
    Var *scalar;
} Param;

typedef enum {
    FACT_SIZES,  /* a condition on sizes */
    FACT_VALUES, /* a range of a scalar, or of each element of a buffer */
    FACT_ORDER,  /* an order of the elements of a buffer */
} FactKind;

/* An assumption that the program makes about its arguments: one item of its `where` clause. Inputs
 * and inouts may be constrained; a fact about an inout holds when the kernel starts. */
typedef struct {
    FactKind kind;
    Span span;
    Expr *cond;    /* SIZES: a condition on sizes alone */
    Param subject; /* VALUES, ORDER */
    /* VALUES: INDEX expressions of sizes, or literals of the floating type; NULL: no bound */
    Expr *lo, *hi;
    bool excludes_lo, excludes_hi;
    Order order; /* ORDER */
} Fact;

/* A limit on the sizes of a run that keeps the 32-bit index arithmetic of a lowered kernel exact:
 * sum / by <= INT32_MAX, where `sum` adds products of sizes and nonnegative numbers. */
typedef struct {
    Expr *sum;
    int64_t by;
} SizeLimit;

/* A parameter whose layout a schedule has changed: the element that the caller of the program has
 * at the subscripts `at` of `from` lies at `place` in `to`. */
typedef struct {
    const Buffer *from; /* as the program declares it */
    Buffer *to;
    Var *const *at;     /* [from->rank] */
    Expr *const *place; /* [to->rank], of `at` and sizes */
} Relayout;

/* A temp of the program that a schedule has given a narrower type (unsafe_set_dtype). */
typedef struct {
    const Buffer *from; /* as the program declares it */
    DType type;
} Retype;

typedef struct Kernel {
    Name name;
    Span span;
    const Size *sizes;
    int n_sizes;
    const Param *params; /* in order: inputs, then outputs */
    int n_params;
    int n_outputs;     /* how many of the last params stand after `->` */
    const Fact *facts; /* of the `where` clause, in order */
    int n_facts;
    /* what random inputs obey besides: derived from the program (regions/draws.h), no part of its
     * text */
    const Fact *draws;
    int n_draws;
    Stmt *body;
    /* lowered: found by the pass `widen`; no part of the text, from which they follow */
    const SizeLimit *limits;
    int n_limits;
    /* scheduled: other layouts of parameters, at most one of each; no part of the text */
    const Relayout *relayouts;
    int n_relayouts;
    const Retype *retypes; /* scheduled: at most one of a temp, no part of the text */
    int n_retypes;
    /* scheduled: a step has made scans of linear recurrences, which may then be computed by
     * composed functions; no part of the text */
    bool composes;
    /* declared beside it; schedules may name them. Its text holds those that its blocks use. */
    const Instruction *const *instructions;
    int n_instructions;
} Kernel;

/* ---- building (build.c) ---------------------------------------------------------------------- */
/* Builders check the types they are given with TIRC_BUG: names and types of user input are resolved
 * by frontend/.  Arrays are copied.  No builder simplifies; passes/analysis does.  The one
 * exception keeps text and tree the same: the NEG of a literal (of a type with negative values) is
 * a negative literal.  So `-1` is one literal in text, too.  Floating literals are rounded to their
 * type.  A loop or block whose id is 0 gets a fresh one. */

Expr *expr_int(Context *c, DType type, int64_t value, Span span);
Expr *expr_index(Context *c, int64_t value); /* an INDEX literal */
Expr *expr_bool(Context *c, bool value);
Expr *expr_true(Context *c);
Expr *expr_false(Context *c);
Expr *expr_float(Context *c, DType type, double value, Span span);
/* A small integer of any type: 0 or 0.0. */
Expr *expr_number(Context *c, DType type, int value, Span span);
Expr *expr_var(Context *c, Var *var, Span span);
Expr *expr_axis(Context *c, Axis axis);
Expr *expr_load(Context *c, Buffer *buffer, Expr *const *index, Span span);
/* The load `like` from another place: with its span, step and hint, in one buffer with its axes. */
Expr *expr_load_like(Context *c, const Expr *like, Buffer *buffer, Expr *const *index);
Expr *expr_unary(Context *c, ExprKind kind, Expr *a, Span span);
Expr *expr_binary(Context *c, ExprKind kind, Expr *a, Expr *b, Span span);
Expr *expr_select(Context *c, Expr *cond, Expr *a, Expr *b, Span span);
Expr *expr_cast(Context *c, DType type, Expr *a, Span span);
Expr *expr_call(Context *c, CallKind call, Expr *const *args, Span span);
Expr *expr_bitcast(Context *c, DType type, Expr *a, Span span); /* the bits of `a` */
/* The call `like` with other arguments of the same type. */
Expr *expr_call_like(Context *c, const Expr *like, Expr *const *args);

Stmt *stmt_seq(Context *c, Stmt *const *items, int n, Span span); /* flattens; one item is itself */
/* A sequence of these items that is an update of a tuple where `like` is one. */
Stmt *stmt_seq_like(Context *c, const Stmt *like, Stmt *const *items, int n);
Stmt *stmt_for(Context *c, const ForStmt *loop, Span span);
Stmt *stmt_if(Context *c, Expr *cond, Stmt *then, Stmt *otherwise, Span span);
Stmt *stmt_block(Context *c, const BlockStmt *block, Span span);
/* The value that a store leaves in its element: for `x += v` the expression x + v. */
Expr *stored_value(Context *c, const Stmt *store);
Stmt *stmt_store(Context *c, const StoreStmt *store, Span span);
/* `to = value`, and `to op value`. */
Stmt *stmt_set(Context *c, BufferElement to, Expr *value, Span span);
Stmt *stmt_assign(Context *c, BufferElement to, StoreOp op, Expr *value, Span span);
/* The store `like` of another value to another place: with its operator, span, step and hint,
 * atomic if that is, and with its axes if it is the same buffer. */
Stmt *stmt_store_like(Context *c, const Stmt *like, Buffer *buffer, Expr *const *index,
                      Expr *value);
Stmt *stmt_temp(Context *c, Buffer *buffer, Span span);
Stmt *stmt_let(Context *c, Var *var, Expr *value, Span span);
Stmt *stmt_barrier(Context *c, SyncKind kind, const char *why, Span span);
Stmt *stmt_break(Context *c, Span span);
/* Of executions of `of`; NULL: of asynchronous stores. */
Stmt *stmt_commit(Context *c, const Instruction *of, const char *why, Span span);
Stmt *stmt_wait(Context *c, const Instruction *of, int pending, const char *why, Span span);
/* ACQUIRE, RECEIVE, RELEASE or RELEASE_CLUSTER. */
Stmt *stmt_hand_over(Context *c, SyncKind kind, int pending, const char *why, Span span);
Stmt *stmt_roles(Context *c, Stmt *producer, Stmt *consumers, int turn, Span span);
Stmt *stmt_launch(Context *c, const LaunchStmt *launch, Span span);
Stmt *stmt_instruction(Context *c, const Instruction *of, Expr *const *elements, Stmt *body,
                       Span span);

/* `to`, just built, gets the step of `from`: it is the same statement with other parts, and the
 * step at work did not make it. NULL stays NULL. */
Stmt *stmt_stamp(Stmt *to, const Stmt *from);

/* A fresh variable; names need not be unique (see ir_verify for what must be). */
Var *var_new(Context *c, Name name, DType type, VarKind kind, Span span);
/* A fresh buffer that is like this one, with an id of its own. */
Buffer *buffer_new(Context *c, const Buffer *like);
/* The buffer with one subscript, row major, as launches access global memory. It has no definition
 * of its own, and prints as `buffer[subscript]`. A buffer with one subscript is its own view. */
Buffer *buffer_flat_view(Context *c, Buffer *buffer);
/* The defined buffer: the one behind a view, or the buffer itself. */
static inline const Buffer *buffer_defined(const Buffer *buffer)
{
    return buffer->view_of ? buffer->view_of : buffer;
}
Buffer *buffer_copy(Context *c, const Buffer *buffer); /* the same id; to be changed before use */
/* A copy with another extent of an axis; with another rule for its layout. */
Buffer *buffer_with_extent(Context *c, const Buffer *buffer, int axis, Expr *extent);
Buffer *buffer_with_rule(Context *c, const Buffer *buffer, int axis, AxisLayout rule);
/* What each block has of a buffer in the memory of a cluster: it without its first axis, in shared
 * memory. Another buffer: itself. */
const Buffer *buffer_of_block(Context *c, const Buffer *buffer);
/* How an axis is laid out; all 0 where nothing is asked for. */
AxisLayout buffer_rule(const Buffer *buffer, int axis);
/* An id that no loop, block or buffer of the context has. */
uint32_t ctx_new_id(Context *c);

/* The types that a binary operator takes: what expr_binary checks and ir_verify demands. */
bool expr_binary_accepts(ExprKind kind, DType a, DType b);

/* ---- reading --------------------------------------------------------------------------------- */

bool expr_is_const(const Expr *e, int64_t *value); /* an integer literal */
bool expr_is(const Expr *e, int64_t value);        /* that integer literal */
bool expr_is_integer_choice(const Expr *e);        /* of literals: c ? 1 : d ? 0 : -1 */
/* The variable itself; an element of the buffer. */
static inline bool expr_is_var(const Expr *e, const Var *var)
{
    return e->kind == EX_VAR && e->u.var == var;
}
static inline bool expr_is_load(const Expr *e, const Buffer *buffer)
{
    return e->kind == EX_LOAD && e->u.load.buffer->id == buffer->id;
}
/* How many of u.arg are used; 0 for the other leaves. */
static inline int expr_arity(ExprKind kind)
{
    static const unsigned char arities[] = {
#define LEAF(e)                             EX_##e == EX_SELECT ? 3 : EX_##e == EX_CAST,
#define UNARY(e, token, precedence)         1,
#define BINARY(e, token, precedence, class) 2,
#include "ir/tables/expr.def"
#undef LEAF
#undef UNARY
#undef BINARY
    };
    return arities[kind];
}
/* How deep quotients and remainders of indices stand in each other; what texts may have of that. */
int expr_division_levels(const Expr *e);
enum { EXPR_MAX_DIVISIONS = 32 };
/* How many operands an expression has, arguments of calls and subscripts of loads among them, and
 * each. */
static inline int expr_operands(const Expr *e)
{
    if (e->kind == EX_CALL)
        return call_info(e->u.call.call)->arity;
    return e->kind == EX_LOAD ? e->u.load.buffer->rank : expr_arity(e->kind);
}
static inline Expr *expr_operand(const Expr *e, int k)
{
    if (e->kind == EX_CALL)
        return e->u.call.arg[k];
    return e->kind == EX_LOAD ? e->u.load.index[k] : e->u.arg[k];
}
/* A body as a list of statements: the items of a sequence, or the one statement that it is. */
int stmt_items(const Stmt *body);
Stmt *stmt_item(const Stmt *body, int i);
/* A sequence without items. */
static inline bool stmt_is_empty(const Stmt *s)
{
    return s->kind == ST_SEQ && s->u.seq.n == 0;
}
/* How many expressions a statement has, none of those of statements below it, and each. */
int stmt_operands(const Stmt *s);
Expr *stmt_operand(const Stmt *s, int k);
bool expr_equal(const Expr *a, const Expr *b);           /* structure; variables by identity */
bool exprs_equal(Expr *const *a, Expr *const *b, int n); /* one by one */
/* Structure with variables and buffers matched by position of definition and by name. */
bool kernel_equal(const Kernel *a, const Kernel *b);
bool stmt_is_reduction(const BlockStmt *block); /* has a reduce iterator */
/* Declared so: the updates of each element keep their order, also where only rounding tells. */
bool block_in_order(const BlockStmt *block);
/* Marked so: instances that differ in so many of the last iterators alone never store to one
 * element. 0: not marked. */
int block_distinct(const BlockStmt *block);
bool loop_is_serpentine(const ForStmt *loop);
/* A loop that is bound to an axis. */
static inline bool stmt_is_bound(const Stmt *s)
{
    return s->kind == ST_FOR && s->u.loop.kind == LOOP_BIND;
}
/* Iterations run one after the other, also among the threads of a block. */
static inline bool loop_has_order(const ForStmt *loop)
{
    return loop->kind == LOOP_SERIAL || loop->kind == LOOP_UNROLL;
}
/* The distance in elements between neighbours along each axis, with the buffer's layout, and the
 * number of elements that it takes, gaps included (layout.c). False where an extent is no literal
 * or the product does not fit. */
bool buffer_strides(const Buffer *buffer, int64_t *strides /* [rank] */, int64_t *elements);
/* The offset of an element in elements, for these strides; it includes swizzles, but not folds. */
int64_t buffer_offset(const Buffer *buffer, const int64_t *strides, const int64_t *index);
bool buffer_is_swizzled(const Buffer *buffer, int axis); /* chunks of the axis change places */
int buffer_row_axis(const Buffer *buffer); /* the last with more than one element, or the first */
/* How many digits additions to an element keep; 0 where they are exact or not of floats. */
int buffer_sum_digits(const Buffer *buffer);
bool swizzle_equal(const Swizzle *x, const Swizzle *y);
/* Describes the error in the swizzle of an axis; NULL if it is valid. */
const char *swizzle_error(Context *c, const Buffer *buffer, int axis, const Swizzle *swizzle);
/* The literal number of iterations, if lo and hi are literals and no `break` ends it. */
bool loop_const_extent(const ForStmt *loop, int64_t *extent);
/* Its values are 0, 1, 2, ...: it starts at a literal 0, and its step is 1. */
bool loop_counts_from_zero(const ForStmt *loop);
/* The half-open range that holds a loop's values: lo..hi; of a downward loop hi..lo + 1, where `n -
 * 1` and literals lose or take the 1 instead of gaining an addition. */
void loop_domain(Context *c, const ForStmt *loop, Expr **lo, Expr **hi);

typedef VEC(Expr *) ExprList;
typedef VEC(Stmt *) StmtList;
typedef VEC(Subst) SubstList;

/* ---- text, checks (print/, verify.c) -------------------------------------------------------- */

/* The kernel as .tir text that parses back to an equal kernel, behind the reducers and instructions
 * that it uses. */
void print_kernel(Context *c, const Kernel *kernel, StrBuf *out);
void print_stmt(Context *c, const Stmt *s, int indent, StrBuf *out);
void print_expr(const Expr *e, StrBuf *out);
/* With commas between them. */
void print_exprs(Expr *const *items, int n, StrBuf *out);
const char *expr_text(Context *c, const Expr *e);
/* The shortest text that reads back as `value` in its type. */
void print_float(DType type, double value, StrBuf *out);
void print_fact(const Fact *fact, StrBuf *out);
/* "text", with escapes. */
void print_string(const char *text, StrBuf *out);

typedef enum { LEVEL_PROGRAM, LEVEL_SCHEDULED, LEVEL_LOWERED } Level;
/* The level the kernel's nodes belong to: lowered if there is a launch; scheduled if a loop or
 * block shows what only schedules write. */
Level kernel_level(Context *c, const Kernel *kernel);
/* Checks the invariants of a level: scoping (a name means one thing on a path; a variable is
 * defined once and above its uses), types, ranks, iterator bindings, which kinds may stand where.
 * NULL when all hold, else what is broken, in words. */
const char *ir_verify(Context *c, const Kernel *kernel);
/* Each name is defined where it is used, in every build; else it is a bug in tirc. */
void ir_demand(Context *c, const Kernel *kernel);

#include "ir/rewrite.h"
#include "ir/search.h"
#include "ir/tuple.h"

#endif
