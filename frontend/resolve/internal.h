/* internal.h - what the parts of name and type resolution share.
 *
 *   resolve.c         the entry: sizes, parameters, what must hold of the whole kernel
 *   names.c           names in scope, and what to say about one that is not; names of blocks
 *   types.c           how types meet, convert and adapt
 *   expr.c            expressions
 *   value.c           the `let` of programs
 *   instruction.c     the instructions of a file; the entry for kernels, which see them
 *   template.c        the CUDA text of an instruction, for values of its parameters
 *   call.c            calls of instructions
 *   view.c            the views of programs: other subscripts for elements
 *   function.c        the functions of a file: their cases, and calls written out
 *   index.c           subscripts, bounds, extents: integers that shape the program
 *   where.c           what a program assumes about its arguments
 *   stmt.c            stores, loops, conditions, temporaries, the lowered statements
 *   block.c           from statements to blocks: plain, with an init, written out, data-dependent
 *
 * Every function that cannot give a result has reported why and returns NULL (or a Value without an
 * expression); callers go on with the next part so that one run reports several errors. */
#ifndef TIRC_FRONTEND_RESOLVE_INTERNAL_H
#define TIRC_FRONTEND_RESOLVE_INTERNAL_H

#include "frontend/syntax/parse.h"
#include "ir/implied.h"
#include "ir/instruction.h"
#include "passes/analysis/symbolic/simplify.h"

/* ---- names ---- */

typedef enum {
    SYMBOL_SIZE,
    SYMBOL_TYPE,
    SYMBOL_VAR,
    SYMBOL_BUFFER,
    SYMBOL_TUPLE,
    SYMBOL_VIEW
} SymbolKind;

/* What a view's subscripts stand for: the element `index` of a buffer, in terms of them. */
typedef struct {
    Var *const *params;
    int n;
    Buffer *buffer;
    Expr *const *index;
} View;

/* What the name of a tuple stands for: one buffer per component, or, in a reducer, one variable. */
typedef struct {
    const Combiner *combiner;
    Buffer *const *buffers;
    Var *const *vars;  /* of an operand of `combine`; NULL: the buffers count */
    bool started;      /* holds the identity, or what the caller put there */
    bool starts_early; /* its init stands where it is declared */
    const Stmt *first; /* the first update, if it starts early */
} Tuple;

typedef struct {
    Name name;
    SymbolKind kind;
    Span span;
    int64_t value;    /* of SYMBOL_SIZE when `var` is NULL */
    Var *var;         /* of SYMBOL_VAR, and of a symbolic SYMBOL_SIZE */
    Buffer *buffer;   /* of SYMBOL_BUFFER */
    Tuple *tuple;     /* of SYMBOL_TUPLE */
    const View *part; /* of SYMBOL_VIEW */
    Buffer *view;     /* with one subscript, once a launch has used it so */
    DType type;       /* of SYMBOL_TYPE */
    bool over;        /* out of sight, but its name is not free */
    bool is_free;     /* its name is: a value of the program */
    bool broken;      /* its declaration was refused: uses of it are passed over in silence */
} Symbol;

/* Names of blocks: each slot a name and how many blocks asked for it. */
typedef struct {
    Name *names;
    int *counts;
    int capacity, n;
} NameTable;

/* The context of a statement determines its meaning. */
typedef enum {
    MODE_PROGRAM, /* outside of any block: stores become blocks */
    MODE_BLOCK,   /* in the body of a block: statements stay as they are */
    MODE_HOST,    /* of a lowered kernel, outside of its launches */
    MODE_LAUNCH,  /* inside one */
} Mode;

/* Which role of a launch a statement belongs to. */
typedef enum { IN_NO_ROLE, IN_PRODUCER, IN_CONSUMERS } InRole;

/* The label that the next block takes. */
typedef struct {
    AstName name; /* text is NULL when there is none */
    bool used;
} Label;

/* A `let` of the program, outside of blocks. */
typedef struct {
    Var *var;
    Expr *value;
    Span span;
    int nodes;    /* of the value with the values that it uses written out */
    int loops;    /* around the `let` */
    int written;  /* how many stores there were before it */
    bool reads;   /* a buffer, perhaps through other values */
    bool inlined; /* it is written out where it is used */
    const AstStmt *let;
    bool changed; /* before a use */
} ProgramValue;

/* A function for certain types of its type parameters. */
typedef struct FunctionCase {
    const AstFunction *function;
    const DType *types; /* [function->n_types] */
    Var **params;
    Expr *value; /* in terms of the parameters; NULL after an error */
    bool open;   /* its body is being resolved */
    struct FunctionCase *next;
} FunctionCase;

/* The functions of a file, and the cases that were resolved so far. */
typedef struct {
    const AstFunctionList *list; /* NULL: none */
    FunctionCase *cases;
} Functions;

typedef struct {
    int value; /* its number */
    Span span; /* the statement that uses it */
} ValueUse;

/* A reducer that the kernel has named; NULL after an error. */
typedef struct {
    Name name;
    const Combiner *combiner;
} NamedCombiner;

/* The instructions without parameters that a kernel sees. */
typedef struct {
    const Instruction *const *items;
    int n;
    /* Resolves one for values of its parameters, once for each list of them. */
    const Instruction *(*with_values)(Context *c, InstructionCases *known,
                                      const AstInstruction *ast, const SizeOverride *arguments,
                                      int n);
} InstructionList;

typedef struct Resolver {
    Context *ctx;
    const Kernel *kernel; /* so far */
    Mode mode;
    InRole role;
    VEC(Symbol) symbols;        /* innermost last */
    int loops_from;             /* loop variables below this symbol are out of sight */
    VEC(Symbol) ended;          /* temporaries whose scope is over, for messages */
    VEC(const ForStmt *) loops; /* around the current statement, outside of blocks */
    PrivateTemps temps;         /* all so far */
    bool breaks;                /* the innermost loop may end by a `break` */
    bool spelt_out;             /* in a block that is written out, or an init */
    bool reduces;               /* in the body of one that reduces: x = x + e is an update */
    StmtList moved;             /* declarations inside the next block, which stand in front of it */
    NameTable blocks;
    Label label;
    VEC(Name) labels;            /* those that blocks have taken */
    VEC(Buffer *) written;       /* by each store, in the order of the text */
    VEC(ProgramValue) values;    /* all, also those that are out of sight */
    bool stores_values;          /* some of these have to be stored: resolve the kernel again */
    VEC(ValueUse) uses;          /* of values by blocks */
    Functions *functions;        /* NULL: none */
    AstReducer *const *reducers; /* of the file */
    int n_reducers;
    VEC(NamedCombiner) combiners;        /* those that are resolved */
    AstInstruction *const *instructions; /* that calls see */
    int n_instructions;
    const InstructionList *visible; /* those without parameters, resolved */
    InstructionCases cases;         /* the others, for the values of calls so far */
} Resolver;

/* Declares a name; an error when it is taken. */
void names_add(Resolver *r, Symbol symbol);
/* Ends the scopes of all names declared since there were `n`, which are free again. */
void names_cut(Resolver *r, int n);
/* The same for the braces inside a sequence, which becomes one with it: the names stay taken, but
 * for those of the program's values, which go with the blocks that use them. */
void names_end(Resolver *r, int n);
/* The meaning of a name here; NULL: none. */
const Symbol *names_find(const Resolver *r, Name name);
/* Reports a name that means nothing here, with the nearest one that does. `what` says what was
 * looked for. */
void names_unknown(Resolver *r, AstName name, const char *what);
/* "a buffer", "a loop": for messages. */
const char *symbol_describe(const Symbol *s);

/* Counts the names that labels and written blocks claim; two claims of one name are an error. */
void block_names_claim(Resolver *r, const AstStmt *s);
/* `base`, or base_1, base_2, ... where that is taken. */
Name block_names_fresh(Resolver *r, Name base);

/* ---- types ---- */

/* An expression under resolution.  A bare literal adapts to the type of the other operand: an
 * integer (a node of type INDEX) to any number, a floating one (a node of type f64) to any float.
 * `i32(1)` is not a bare literal. */
typedef struct {
    Expr *e;      /* NULL after an error */
    bool literal; /* bare */
    bool huge;    /* an integer literal above INT64_MAX: only u64 and floats hold it */
} Value;

/* The common type of two operands, by C's usual arithmetic conversions. */
DType type_common(DType a, DType b);
/* The type that one operand of arithmetic is promoted to. */
DType type_promote(DType t);

/* The expression with its own type: f32 for a floating literal. */
Expr *value_settle(Resolver *r, Value v);
/* The expression as `type`: literals take it if they fit, other expressions are converted. NULL
 * after an error. */
Expr *value_convert(Resolver *r, Value v, DType type);
/* Converts where the language does so implicitly (a store, an argument); an error if a value could
 * be lost. `to` says what the value is for. */
Expr *value_widen(Resolver *r, Value v, DType type, const char *to);
/* Whether integers of 8 and 16 bits keep their type or are promoted to i32. */
typedef enum { SMALL_STAY, SMALL_PROMOTE } SmallTypes;

/* Converts both to their common type; false after an error. */
bool values_unify(Resolver *r, Value a, Value b, SmallTypes small, Expr *out[2]);

/* ---- expressions ---- */

/* With the type that it has by itself; .e is NULL after an error. */
Value resolve_value(Resolver *r, const AstExpr *e);
/* As the type of this name, converted as a store would; with its own where none is written. `what`
 * names it in messages. */
Expr *resolve_as(Resolver *r, const AstExpr *e, AstName type, const char *what);
/* Resolves the functions without type parameters, for the errors of those that nothing calls. */
void resolve_functions(Resolver *r);
/* As INDEX: an extent or bound. `what` names it in messages. */
Expr *resolve_index(Resolver *r, const AstExpr *e, const char *what);
/* As INDEX; inside a launch i64 stays what it is: lowering computes the subscripts of buffers with
 * 2^31 elements or more in 64 bits. */
Expr *resolve_subscript(Resolver *r, const AstExpr *e);
/* An integer as INDEX, all of whose operations give what their types hold; NULL where that is not
 * proved. */
Expr *expr_exact(Facts *f, Context *c, Expr *e);
/* As INDEX with operations on literals carried out, checked for overflow and division by zero. */
Expr *resolve_bound(Resolver *r, const AstExpr *e, const char *what);
/* The same, but what is an i64 stays one: the bounds of loops in launches. */
Expr *resolve_wide_bound(Resolver *r, const AstExpr *e, const char *what);
/* As a condition, of type bool. */
Expr *resolve_condition(Resolver *r, const AstExpr *e, const char *what);
/* A literal integer. */
bool resolve_literal(Resolver *r, const AstExpr *e, const char *what, int64_t *out);
/* Is it sum_digits(n) or product_digits(n)? */
bool clause_is_of_digits(const AstLayout *clause);
/* Such a clause of a buffer that is written; false after an error. */
bool resolve_digits(Resolver *r, const AstLayout *clause, Buffer *buffer);
/* Subscripts of a buffer, as many as it has axes; or one in a launch for global memory, which makes
 * *accessed the flat view. */
Expr **resolve_subscripts(Resolver *r, Buffer **accessed, AstExpr *const *items, int n, Span span);
typedef enum { HINTED_LOAD, HINTED_STORE } HintedAccess;

/* The cache hint that `name` in `buffer.name[...]` stands for; false after an error. */
bool resolve_hint(Resolver *r, AstName name, const Buffer *buffer, HintedAccess access,
                  CacheHint *hint);
/* The name of the type nearest to an unknown type name; NULL if none is near. */
const char *resolve_nearest_type(const char *word);
/* The element type that a name stands for; DT_COUNT after an error. */
DType resolve_type(Resolver *r, AstName name);
/* The shape of a buffer: extents at least 1, a size that fits; NULL after an error. */
Expr **resolve_shape(Resolver *r, const AstType *type, DType element);

/* The `where` clause of a kernel whose sizes and parameters are declared; false after an error. */
bool resolve_where(Resolver *r, const AstKernel *k, Kernel *kernel);

/* ---- functions (function.c) ---- */

/* The operations that a call may have when it is written out: calls of calls grow exponentially. */
enum { FUNCTION_NODES = 2000 };

/* Refuses functions that share a name, or have that of a built-in function or a type. */
void functions_check_names(Resolver *r);
/* The function of this name; NULL: there is none. */
const AstFunction *function_find(const Resolver *r, Name name);
/* The case of a function for these types. If it is new, it is open: its parameters are in scope in
 * *body, where its value is still to be found. */
FunctionCase *function_open(Resolver *r, const AstFunction *f, const DType *types, Resolver *body);
/* The same for these arguments; NULL after an error. */
FunctionCase *function_case(Resolver *r, const AstExpr *call, const AstFunction *f,
                            const Value *args, Resolver *body);
/* The call of a case whose value is known, written out: the value with the arguments in the place
 * of the parameters. NULL after an error. */
/* Refuses a function, or a call at `span`, that is too large to be written out. */
void function_too_large(Resolver *r, const AstFunction *f, Span span);
Expr *function_write_out(Resolver *r, const AstExpr *call, const FunctionCase *of,
                         const Value *args);

/* ---- values (value.c) ---- */

/* Declares a value of the program: `let var = value;`, outside of blocks. */
void value_declare(Resolver *r, const AstStmt *let, Var *var, Expr *value);
/* The statement is a `let` whose value the blocks that use it compute. */
bool value_is_of_uses(const AstStmt *s);
/* The statements that keep the value of a `let` in a temporary. */
Stmt *value_store(Resolver *r, const AstStmt *let, Expr *value);
/* The statement that declares a temp here. */
Stmt *declare_temp(Resolver *r, Buffer *temp, Span span);
/* The value that `var` names, if it is written out where it is used. */
bool value_named(Resolver *r, const Var *var, Value *out);
/* Whether the expression reads a buffer, by itself or through the values that it uses. */
bool value_reads_data(Resolver *r, const Expr *e);
/* The same for one buffer. */
bool value_uses_buffer(Resolver *r, const Expr *e, const Buffer *buffer);
/* A condition, bound or extent outside of blocks, with values that read no buffer written out; NULL
 * stays NULL. */
Expr *value_in_control(Resolver *r, Expr *e);
/* The same for the bound of a loop, which may read inputs. */
Expr *value_in_range(Resolver *r, Expr *e);
/* The body of a block, behind the values that it uses as values of its own. */
Stmt *values_bind(Resolver *r, Stmt *body);
/* The init of a block, with the values that it uses written out. */
Stmt *values_write_out(Resolver *r, Stmt *init);
/* Refuses values that `s`, just resolved, uses and that are not what their `let` says any more. */
void values_check(Resolver *r, const Stmt *s);
/* The same at the end of a loop in `loops` others, for the uses in it, of which the first has this
 * number: its later iterations see what earlier ones wrote. */
void values_check_loop(Resolver *r, int loops, int first_use);

/* ---- views (view.c) ---- */

/* Declares a view; an empty statement, or NULL after an error. */
Stmt *resolve_view(Resolver *r, const AstStmt *s);
/* Where a view has its element `at`, in subscripts of its buffer. */
Expr **view_element(Context *c, const View *part, Expr *const *at);
/* The subscripts of a view's buffer for those of the view; NULL after an error. */
Expr **view_subscripts(Resolver *r, const Symbol *view, AstExpr *const *items, int n, Span span);

/* ---- statements ---- */

/* Resolves one statement. */
Stmt *resolve_stmt(Resolver *r, const AstStmt *s);
/* A body with a scope of its own. */
Stmt *resolve_body(Resolver *r, const AstStmt *s);
/* A `let`: a statement in blocks and launches, an empty one elsewhere; NULL after an error. */
Stmt *resolve_let(Resolver *r, const AstStmt *s);
/* A store as it stands, outside of any block. */
Stmt *resolve_store(Resolver *r, const AstStmt *s);
bool resolve_annotations(Resolver *r, const AstAnnotation *items, int n, AnnotationList *out);

/* The element that a store or update names, if it may be written; NULL after an error. */
Buffer *resolve_target(Resolver *r, const AstExpr *place, Expr *const **index);

/* ---- reducers (reducer.c, reducer_laws.c) ---- */

/* The declaration of this name, or NULL. */
const AstReducer *reducer_find(const Resolver *r, Name name);
/* The reducer of this name; NULL after an error. */
const Combiner *resolve_reducer(Resolver *r, AstName name);
/* Component `k` of an expression for a tuple, as its type; NULL after an error. */
Expr *resolve_component(Resolver *r, const AstExpr *e, const Combiner *combiner, int k);
/* Tests that the reducer is associative and commutative, and that its init is the identity; false
 * after an error that shows a counterexample. */
bool reducer_obeys_laws(Context *c, const Combiner *combiner);

/* ---- instructions (instruction.c, call.c) ---- */

/* resolve_kernel, of a kernel that sees these instructions (resolve.c). */
Kernel *resolve_kernel_with(Context *c, const AstKernel *kernel, const InstructionList *all,
                            const SizeOverride *overrides, int n_overrides);
/* The sizes and type parameters of a kernel, as names; false after errors (resolve.c). */
bool resolve_sizes(Resolver *r, const AstKernel *k, const SizeOverride *overrides, int n,
                   Kernel *kernel);
/* A line of an instruction's template, and where it comes from. */
typedef struct {
    const char *text;
    const AstExpr *from;
} TemplateLine;
typedef VEC(TemplateLine) TemplateLineList;
/* The lines for the parameters of the instruction, which the resolver has as names; false after
 * E0249 (template.c). */
bool template_lines(Resolver *r, const AstInstruction *ast, TemplateLineList *out);

/* ---- elements in the template of an instruction (subscripts.c) ---- */

/* Reads "[1, lane % 8]", subscripts of an operand; what follows them, or NULL if they are none. */
const char *element_subscripts(Context *c, const Instruction *of, const Buffer *buffer,
                               const char *at, Expr **out);
/* A call of an instruction; NULL after an error. */
Stmt *resolve_instruction_call(Resolver *r, const AstStmt *s);
/* The instruction that the kernel sees under this name; NULL after E0250 (stmt.c). */
const Instruction *resolve_instruction_name(Resolver *r, AstName name);

/* ---- launches (launch.c) ---- */

/* Grid and block of a launch, and what its annotations say; false after an error. */
bool launch_head(Resolver *r, const AstStmt *s, AnnotationList said, LaunchStmt *out);
/* In roles: the barrier is one that its role may meet; bulk copies are the producer's, all else
 * that touches memory is the consumers'; the launch has nothing beside its roles, and a place for
 * the producer. False after E0255. */
bool launch_role_may(Resolver *r, const AstStmt *barrier);
bool launch_parts_may(Resolver *r, const Stmt *producer, const Stmt *consumers);
bool launch_roles_may(Resolver *r, const LaunchStmt *launch);

/* ---- tuples (tuple.c, tuple_field.c) ---- */

/* Declares the buffers of a tuple, which are like `like` but for name, type and shape; NULL after
 * an error. */
Tuple *resolve_tuple(Resolver *r, AstName name, const AstType *type, const Buffer *like);
/* Stores the identity to the elements of a tuple, where it is declared. */
Stmt *tuple_start(Resolver *r, const Tuple *tuple);
/* The tuple that an expression such as `x` or `x[i]` names, or NULL; and its subscripts (NULL after
 * an error). */
const Symbol *tuple_find(const Resolver *r, const AstExpr *place);
Expr **tuple_index(Resolver *r, const AstExpr *place, const Symbol *s);
/* `e`, an AE_FIELD, is a component of a tuple; and which value it has (NULL after an error). */
bool is_tuple_field(const Resolver *r, const AstExpr *e);
Expr *resolve_tuple_field(Resolver *r, const AstExpr *e);
/* The value of a tuple of one component. */
Expr *resolve_single_tuple(Resolver *r, const AstExpr *place);
/* An AS_UPDATE as it stands, outside of any block, and the init that goes before it, if any. */
Stmt *resolve_update(Resolver *r, const AstStmt *s, Stmt **init);
/* The init for `s`, a condition around the first update of a tuple; NULL if it starts earlier. */
Stmt *tuple_guarded_init(Resolver *r, Stmt *s);

/* ---- loops (loop.c) ---- */

/* A loop whose body is being resolved. */
typedef struct {
    ForStmt loop;
    bool good;          /* no error so far */
    bool data;          /* data decide how often it runs: it becomes one block */
    bool breaks;        /* those around it may end by a `break` */
    int symbols, loops; /* how many there were outside */
    int uses;           /* of values, before it */
    Mode mode;          /* outside */
    Span span;
} OpenLoop;
/* Loop number `i` of `s`, an AS_FOR; then what its body sees, with `open` where it is until
 * loop_close; then the loop with its body (NULL: an error), in a block with this label where it has
 * to be one. */
OpenLoop loop_open(Resolver *r, const AstStmt *s, int i);
void loop_enter(Resolver *r, OpenLoop *open);
Stmt *loop_close(Resolver *r, OpenLoop *open, Stmt *body, Label *label);
/* A condition around statements. */
typedef struct {
    Expr *cond; /* NULL after an error */
    bool data;  /* it reads a buffer, so it is in one block with all below it */
    Mode mode;  /* outside */
    Span span;
} OpenIf;
/* `s`, an AS_IF; then the statement, which is in no block, with its branches (NULL: an error). */
OpenIf if_open(Resolver *r, const AstStmt *s);
Stmt *if_close(Resolver *r, const OpenIf *open, Stmt *then, Stmt *otherwise);
/* A `for` with its body, and an `if` with its branches; NULL after an error. */
Stmt *resolve_for(Resolver *r, const AstStmt *s);
Stmt *resolve_if(Resolver *r, const AstStmt *s);
/* A `while` with its body, and a `break`. */
Stmt *resolve_while(Resolver *r, const AstStmt *s);
Stmt *resolve_break(Resolver *r, const AstStmt *s);

/* ---- blocks (block.c) ---- */

/* The kind that loop number `i` of those around has for the block of `body`. */
IterKind loop_implied_kind(const Resolver *r, const Stmt *body, int i);

/* The init of a block, which runs again in each iteration of the first `n_loops` loops. */
typedef struct {
    Stmt *stmt;
    int n_loops;
} BlockInit;
/* The block of a statement under the enclosing loops (the first n_loops of them), with an init or
 * NULL; the statement itself where stores need no block.  `label` is the label to take, or NULL for
 * none. */
Stmt *block_wrap(Resolver *r, const BlockInit *init, Stmt *body, int n_loops, Label *label);
Stmt *resolve_written_block(Resolver *r, const AstStmt *s);
/* The block under the enclosing loops whose body is what an instruction computes. */
Stmt *block_of_instruction(Resolver *r, const Instruction *of, Stmt *body);
/* `init S` followed by `next`: a reduction block. */
Stmt *resolve_init(Resolver *r, const AstStmt *s, const AstStmt *next);
/* Whether `first`, an assignment, and `next`, an update of the same buffer in loops of its own, may
 * be one reduction; and what they are, the first and the last of `items` with values in between:
 * one statement or two. */
bool reduction_is_possible(Context *c, const AstStmt *first, const AstStmt *next);
Stmt *resolve_reduction(Resolver *r, AstStmt *const *items, int n);

/* ---- bit operations of INDEX numbers (bits.c) ---- */

/* The kernel's body, with those that can be in other arithmetic. */
Stmt *bits_written_out(Context *c, const Kernel *kernel);

/* ---- updates that share loops (together.c) ---- */

/* Whether a statement of the text is an assignment without a label. */
bool is_plain_assignment(const AstStmt *s);
/* Makes those statements of a sequence that are `plain` assignments the inits of updates that share
 * loops with other statements. */
void join_updates(Resolver *r, StmtList *seq, const bool *plain);

#endif
