/* ast.h - Defines the syntax tree: the content of a file before name resolution.
 *
 * One parser reads kernels and schedules, so one tree holds both: expressions are shared,
 * statements have the kinds of a kernel's body and those of a script.  The parser keeps the two
 * apart: a kernel's body holds only kinds marked K, a script's only kinds marked S.
 *
 * Everything is allocated in the context's arena and immutable once parsed.  Names are interned in
 * the context (equal text, equal pointer).  Every node has the exact bytes that it was written
 * with. */
#ifndef TIRC_FRONTEND_SYNTAX_AST_H
#define TIRC_FRONTEND_SYNTAX_AST_H

#include "ir/ir.h"

typedef struct AstExpr AstExpr;
typedef struct AstStmt AstStmt;

/* Trees are at most this deep (expressions, statements and patterns together), so walking them
 * recursively is safe; the parser refuses more with E0109. */
#define AST_MAX_DEPTH 1000

/* A name where it is written. */
typedef struct {
    Name text;
    Span span;
} AstName;

/* ---- expressions ----------------------------------------------------------------------------- */

typedef enum {
    AE_INT,    /* 12, 0x1f: at most UINT64_MAX; scripts refuse what is above INT64_MAX */
    AE_FLOAT,  /* 1.5, 1e-3, inf, nan */
    AE_BOOL,   /* true, false */
    AE_STRING, /* "text", escapes resolved; scripts, annotations and barriers */
    AE_NAME,   /* a size, variable, buffer, script value */
    AE_FILL,   /* _ */
    AE_LIST,   /* [a, b] */
    AE_TUPLE,  /* (a, b): the values of a reducer */
    AE_RANGE,  /* a..b, half open */
    AE_MAP,    /* [i, j] -> [j, i]; scripts */
    AE_INDEX,  /* base[a, b]; items may be AE_SLICE */
    AE_SLICE,  /* lo:hi, only inside AE_INDEX; either may be NULL */
    AE_FIELD,  /* base.name, as in blockIdx.x */
    AE_CALL,   /* f(a, b, name = c); also conversions: f16(x) */
    AE_UNARY,  /* EX_NEG, EX_NOT, EX_BITNOT */
    AE_BINARY, /* EX_MUL ... EX_OR (min and max are AE_CALL) */
    AE_SELECT, /* c ? a : b */
} AstExprKind;

/* An argument of a call; name.text is NULL for one given by position. */
typedef struct {
    AstName name;
    AstExpr *value;
} AstArg;

struct AstExpr {
    AstExprKind kind;
    bool parenthesized; /* written as (e); span excludes the parentheses */
    int depth;          /* of the tree below, at least 1 */
    Span span;
    union {
        uint64_t i;
        double f;
        bool b;
        struct {
            const char *text; /* terminated; may hold NUL bytes before `length` */
            size_t length;
        } string;
        Name name;
        struct {
            AstExpr *const *items;
            int n;
        } list;
        struct {
            AstExpr *lo, *hi;
        } range, slice, map;
        struct {
            AstExpr *base;
            AstExpr *const *items;
            int n;
        } index;
        struct {
            AstExpr *base;
            AstName name;
        } field;
        struct {
            AstName callee;
            const AstArg *args;
            int n;
        } call;
        struct {
            ExprKind op;
            AstExpr *a, *b; /* b is NULL for unary */
        } op;
        struct {
            AstExpr *cond, *a, *b;
        } select;
    } u;
};

/* What an expression is made of, in the order of the text; NULL for what is left out, such as an
 * end of a slice. */
int ast_operands(const AstExpr *e);
const AstExpr *ast_operand(const AstExpr *e, int i);

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum {
#define UPDATE(e, token, op, takes) UPDATE_##e,
#include "frontend/syntax/update.def"
#undef UPDATE
    UPDATE_COUNT
} AstUpdate;
/* The elements that an update is for. */
typedef enum { TAKES_ANY, TAKES_NUMBERS, TAKES_BITS, TAKES_CONDITIONS } UpdateTakes;
typedef struct {
    const char *token;
    StoreOp op;
    UpdateTakes takes;
} AstUpdateInfo;
const AstUpdateInfo *ast_update_info(AstUpdate update);
AstUpdate ast_update_find(const char *token); /* UPDATE_COUNT if there is none */

typedef enum {
    AS_SEQ,         /* K S  { statements } */
    AS_FOR,         /* K    for i in M, j in a..b step s KIND @a body */
    AS_IF,          /* K S  if cond then [else otherwise]; in scripts both are AS_SEQ or AS_IF */
    AS_WHILE,       /* K    while cond then  (u.cond) */
    AS_BREAK,       /* K    break; */
    AS_LET,         /* K S  let pattern = value;  in kernels the pattern is a name */
    AS_STORE,       /* K    x[i, j] [atomic] op= value; */
    AS_UPDATE,      /* K    x[i], y[i] NAME= value;  with the name of a reducer */
    AS_TEMP,        /* K    temp x: f32[N] in shared pad(1, 4); */
    AS_VIEW,        /* K    view S[x, y] = A[i + x, y]; */
    AS_CALL,        /* K    call name<values>(x[i, 0:], y[j], lane = t); */
    AS_LABEL,       /* K    name: body */
    AS_BLOCK,       /* K    block name(iterators) where cond atomic @a { body } */
    AS_INIT,        /* K    init body */
    AS_BARRIER,     /* K    barrier "why"; commit "why"; wait 2 "why" instruction name; */
    AS_ROLES,       /* K    producer { body } consumers [turn n] { body } */
    AS_LAUNCH,      /* K    launch name grid(..) block(..) { body } */
    AS_INSTRUCTION, /* K    instruction name(x[i], y[j]) { body } */
    AS_EACH,        /* S    for pattern in value { body } */
    AS_TRY,         /* S    try { body } [else { otherwise }] */
    AS_ASSERT,      /* S    assert cond [, message]; */
    AS_TUNE,        /* S    tune name in value; */
    AS_EXPR,        /* S    value;  a call, as a rule */
    AS_RETURN,      /* S    return [value]; */
} AstStmtKind;

/* A pattern that a value is matched with: a name, `_` (ignored), or a list of patterns. */
typedef struct AstPattern {
    enum { AP_NAME, AP_IGNORE, AP_LIST } kind;
    Span span;
    Name name;
    const struct AstPattern *items;
    int n;
} AstPattern;

/* @key, @key(1), @key("text"), @key([1, 2]): value is NULL, AE_INT, AE_FLOAT (or a negation),
 * AE_STRING, AE_LIST of these */
typedef struct {
    AstName key;
    AstExpr *value;
} AstAnnotation;

/* One loop of AS_FOR. */
typedef struct {
    AstName name;
    Span span;        /* from the name to the end of the range */
    AstExpr *lo, *hi; /* lo is NULL in `in N` */
    AstExpr *step;    /* or NULL */
    LoopKind kind;
    AstExpr *axis; /* of LOOP_BIND: blockIdx.x */
    const AstAnnotation *annotations;
    int n_annotations;
} AstLoop;

/* One iterator of AS_BLOCK:  [reduce] name in lo..hi = binding */
typedef struct {
    AstName name;
    Span span;
    IterKind kind;
    AstExpr *lo, *hi; /* lo is NULL in `in N` */
    AstExpr *binding;
} AstIter;

/* NAME or NAME[shape]; name is an element type or a type parameter. */
typedef struct {
    AstName name;
    Span span;
    bool has_shape;
    AstExpr *const *shape;
    int rank;
} AstType;

/* Clause of a temp or parameter: pad(axis, n), fold(axis, n), sum_digits(n), ... */
typedef struct {
    AstName name;
    AstExpr *const *args;
    int n;
    Span span;
} AstLayout;

struct AstStmt {
    AstStmtKind kind;
    int depth; /* of the tree below, at least 1 */
    Span span;
    union {
        struct {
            AstStmt *const *items;
            int n;
        } seq;
        struct {
            const AstLoop *loops;
            int n;
            AstStmt *body;
        } loop;
        struct {
            AstExpr *cond;
            AstStmt *then, *otherwise; /* otherwise may be NULL */
        } cond;
        struct {
            AstPattern pattern;
            AstName type; /* of a kernel; text is NULL where none is written */
            AstExpr *value;
            bool stored; /* of a kernel: in a temporary (value.c) */
        } let;
        struct {
            AstName buffer;
            AstName hint;   /* text is NULL where none is written */
            bool has_index; /* x[...] = e, not x = e */
            AstExpr *const *index;
            int n;
            AstUpdate op;
            Span op_span;
            bool atomic;
            AstExpr *value;
        } store;
        struct {
            AstExpr *places; /* AE_TUPLE of AE_NAME and AE_INDEX */
            AstName reducer;
            AstExpr *value;
        } update;
        struct {
            AstName name;
            AstType type;
            AstName scope; /* text is NULL where none is written */
            const AstLayout *layout;
            int n_layout;
        } temp;
        struct {
            AstName name;
            const AstName *params;
            int n;
            AstExpr *place; /* AE_NAME or AE_INDEX */
        } view;
        struct {
            AstName name;
            AstExpr *const *values; /* of the instruction's parameters */
            int n_values;
            const AstArg *args; /* operands, and `lane` */
            int n;
        } call;
        struct {
            AstName name;
            AstStmt *body;
        } label;
        struct {
            AstName name;
            const AstIter *iters;
            int n;
            AstExpr *where; /* or NULL */
            bool atomic;
            AstName instruction; /* text is NULL where none is written */
            const AstAnnotation *annotations;
            int n_annotations;
            AstStmt *body; /* AS_SEQ */
        } block;
        AstStmt *init;
        struct {
            SyncKind kind;
            int pending;
            AstExpr *why;        /* AE_STRING */
            AstName instruction; /* text is NULL where none is written */
        } barrier;
        struct {
            AstStmt *producer, *consumers; /* AS_SEQ */
            int turn;                      /* 0 where none is written, -1: no such number */
        } roles;
        struct {
            AstName name;
            AstExpr *const *grid;
            int n_grid;
            AstExpr *const *block;
            int n_block;
            const AstAnnotation *annotations;
            int n_annotations;
            AstStmt *body; /* AS_SEQ */
        } launch;
        struct {
            AstName name;
            AstExpr *const *elements;
            int n;
            AstStmt *body; /* AS_SEQ */
        } instruction;
        struct {
            AstPattern pattern;
            AstExpr *value;
            AstStmt *body; /* AS_SEQ */
        } each;
        struct {
            AstStmt *body;      /* AS_SEQ */
            AstStmt *otherwise; /* AS_SEQ, or NULL */
        } attempt;
        struct {
            AstExpr *cond;
            AstExpr *message; /* or NULL */
        } assertion;
        struct {
            AstName name;
            AstExpr *values;
        } tune;
        AstExpr *expr;
        AstExpr *value; /* of AS_RETURN, or NULL */
    } u;
};

/* A statement of that kind stands in it: in a sequence, a loop, a branch, or behind a label. */
bool ast_has(const AstStmt *s, AstStmtKind kind);

/* ---- files ----------------------------------------------------------------------------------- */

/* <M = 1024>, <M>, <T: type = f32>, <T: type> */
typedef struct {
    AstName name;
    Span span;
    bool is_type;
    AstExpr *value;     /* default of a size: AE_INT or its negation, or NULL */
    AstName type_value; /* default of a type; text is NULL where none is written */
} AstSize;

typedef struct {
    AstName name;
    Span span;
    bool inout;
    AstType type;
    const AstLayout *clauses; /* of a kernel or an instruction: sum_digits(14), align(4) */
    int n_clauses;
} AstParam;

/* One item of a `where` clause: a condition, `value in lo..hi`, or `value is order`. */
typedef struct {
    AstExpr *value;
    AstExpr *lo, *hi; /* NULL where no range is written */
    AstExpr *types;   /* `T in [f16, bf16]`: an AE_LIST, or NULL */
    AstName order;    /* text is NULL where none is written */
    Span span;
} AstFact;

/* fn NAME<TYPES>(PARAMS) -> RESULT { let ...; return VALUE; } */
typedef struct {
    AstName name;
    Span span;
    const AstSize *types; /* is_type, without a value */
    int n_types;
    const AstParam *params; /* scalars */
    int n_params;
    AstName result;
    AstStmt *const *lets; /* AS_LET */
    int n_lets;
    AstExpr *value;
} AstFunction;

/* The functions of a file. */
typedef struct {
    AstFunction *const *items;
    int n;
} AstFunctionList;

/* reducer NAME(parts) [ordered] { init identities; combine(a, b) { lets; return value; } }, where
 * `combine(a, b): value;` has no lets. */
typedef struct {
    AstName name;
    Span span;
    const AstParam *parts;
    int n;
    bool ordered;
    const AstFact *facts;
    int n_facts;
    AstExpr *identities;
    AstName a, b;
    AstStmt *const *lets; /* AS_LET */
    int n_lets;
    AstExpr *value;
} AstReducer;

/* An operand of an instruction: a parameter, and in which memory. */
typedef struct {
    AstParam param;
    AstName scope; /* text is NULL where none is written */
} AstOperand;

/* Lines of the CUDA text of an instruction, once or for each iteration of a loop. */
typedef struct {
    AstExpr *const *texts; /* AE_STRING */
    int n;
    const AstLoop *loop; /* its name and range; NULL: once */
} AstTemplatePart;

/* tensor(type, passes) */
typedef struct {
    AstName type; /* its text is NULL where none is written */
    uint64_t passes;
    Span span;
} AstTensor;

/* instruction NAME<sizes>(operands) -> outputs lanes N tensor(type) where facts cuda "..." "..."
 * commit "..." wait "..." { body } */
typedef struct {
    AstName name;
    Span span;
    const AstSize *sizes; /* its parameters */
    int n_sizes;
    const AstOperand *operands; /* before the arrow */
    int n_operands;
    const AstOperand *outputs;
    int n_outputs;
    uint64_t lanes; /* 1 where none are written */
    Span lanes_span;
    AstTensor tensor;
    const AstFact *facts; /* about the parameters */
    int n_facts;
    const AstTemplatePart *template;
    int n_parts;
    const AstExpr *commit, *wait;     /* AE_STRING, or NULL */
    AstStmt *body;                    /* AS_SEQ */
    const AstFunctionList *functions; /* of its file */
    AstReducer *const *reducers;      /* of its file */
    int n_reducers;
} AstInstruction;

typedef struct {
    AstName name;
    Span span;
    const AstSize *sizes;
    int n_sizes;
    const AstParam *params; /* before the arrow */
    int n_params;
    const AstParam *outputs;
    int n_outputs;
    const AstFact *facts;
    int n_facts;
    AstStmt *body;                    /* AS_SEQ */
    const AstFunctionList *functions; /* of its file */
    AstReducer *const *reducers;      /* of its file */
    int n_reducers;
    AstInstruction *const *instructions; /* of its file */
    int n_instructions;
    const AstName *calls; /* the instructions that its body calls */
    int n_calls;
} AstKernel;

/* A parameter of a schedule (a name, always with a value) or of a proc (a pattern, with or
 * without). */
typedef struct {
    AstPattern pattern;
    AstExpr *value; /* the default, or NULL */
} AstScriptParam;

/* schedule NAME for KERNEL, ...(params) body;  KERNEL `any` fits every kernel */
typedef struct {
    AstName name;
    const AstName *kernels;
    int n_kernels;
    Span span;
    const AstScriptParam *params;
    int n_params;
    AstStmt *body; /* AS_SEQ */
} AstSchedule;

typedef struct {
    AstName name;
    Span span;
    const AstScriptParam *params;
    int n_params;
    AstStmt *body; /* AS_SEQ */
} AstProc;

typedef struct {
    AstExpr *path; /* AE_STRING */
    Span span;
} AstInclude;

/* The items of a file, each kind in the order of the text. */
typedef struct {
    uint32_t source;
    AstKernel *const *kernels;
    AstReducer *const *reducers;
    AstInstruction *const *instructions;
    AstSchedule *const *schedules;
    AstProc *const *procs;
    AstInclude *const *includes;
    const AstFunctionList *functions;
    int n_kernels, n_reducers, n_instructions, n_schedules, n_procs, n_includes;
} AstFile;

#endif
