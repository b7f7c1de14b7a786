/* internal.h - Declares the state of a running script (internal to frontend/script). */
#ifndef TIRC_FRONTEND_SCRIPT_INTERNAL_H
#define TIRC_FRONTEND_SCRIPT_INTERNAL_H

#include "frontend/script/script.h"
#include "frontend/syntax/parse.h"

typedef struct Binding {
    Name name;
    Value value;
    struct Binding *next;   /* outwards */
    struct Binding *hidden; /* the next of those outwards that share its bucket */
} Binding;

enum { NAME_BUCKETS = 256 };

/* A proc being called: its names, and who called it. */
typedef struct Frame {
    const AstProc *proc;           /* NULL: the schedule itself */
    const AstFile *file;           /* whose procs and includes are seen */
    Span call;                     /* where the caller called it */
    Binding *names;                /* innermost first; a proc does not see its caller's */
    Binding *bucket[NAME_BUCKETS]; /* the innermost of each, by script_bucket */
    bool returned;
    Value result;
    struct Frame *caller;
} Frame;

typedef struct {
    Context *c;
    const Kernel *kernel; /* as it came: for its sizes */
    Schedule *schedule;
    Frame *frame;
    Binding *spare; /* of names that are forgotten, for the next ones */
    const AstSchedule *ast;
    const ScriptSetting *settings;
    int n_settings;
    int64_t budget;  /* steps left */
    int depth;       /* expressions and statements that are under way, one inside another */
    int calls;       /* of procs, likewise */
    VEC(Span) sites; /* of the steps so far, in the schedule itself */
    InstructionCases instructions; /* that it has asked for */
} Script;

/* Evaluation; false after a diagnostic. */
bool script_eval(Script *s, const AstExpr *e, Value *out);
bool script_call(Script *s, const AstExpr *call, Value *out);
bool script_block(Script *s, const AstStmt *body);
/* An integer as a value. */
Value script_number(int64_t i, Span span);
/* The range as its first value and how many there are, which count as steps. */
bool script_range(Script *s, const AstExpr *e, int64_t *from, int64_t *n);
/* [i, j] -> [i / 4, j, i % 4] (map.c). */
bool script_map(Script *s, const AstExpr *e, Value *out);
/* The expression of sizes as a value: a number or a truth value where it is known (sizes.c). */
Value script_sizes(Script *s, Expr *e, Span span);
/* The operators of scripts for them. */
bool script_sizes_binary(Script *s, const AstExpr *e, const Value *a, const Value *b, Value *out);
bool script_sizes_unary(Script *s, const AstExpr *e, const Value *a, Value *out);
/* Refuses (E0313) an expression of sizes as `what`, which must be known. */
bool script_no_value(Script *s, const Value *value, const char *what);
/* Takes `value` apart into the names of `pattern`; loops that the last step made get the names. */
bool script_bind_pattern(Script *s, const AstPattern *pattern, const Value *value);
/* A name of the frame, which hides an older one until its scope ends. */
void script_bind(Script *s, Name name, const Value *value);
/* Forgets the names of the frame that were bound since `outer` was the innermost. */
void script_unbind(Script *s, Binding *outer);
/* The slot of a name in the current frame. */
Binding **script_bucket(const Script *s, Name name);
/* The binding of a name; NULL: none. */
const Binding *script_lookup(const Script *s, Name name);

/* An error in the script, with a note for every call on the way to it. Always false. */
bool script_error(Script *s, ErrorCode code, Span span, const char *format, ...) TIRC_PRINTF(4, 5);
/* The notes alone, for errors that others report. */
void script_note_callers(Script *s);
/* Counts steps of work; false once the budget is spent. */
bool script_spend(Script *s, int64_t steps, Span span);
/* An expression or a statement begins; it ends with s->depth--. False where too many are under
 * way. */
bool script_enter(Script *s, Span span);

/* The value as an integer or a truth; false after a diagnostic that names `what`. */
bool script_int(Script *s, const Value *value, const char *what, int64_t *out);
bool script_bool(Script *s, const Value *value, const char *what, bool *out);

enum {
    SCRIPT_BUDGET = 8000000,
    SCRIPT_CALL = 100,   /* steps that a call counts as: it takes so much more memory than a sum */
    SCRIPT_CALLS = 100,  /* of procs, one inside another */
    SCRIPT_DEPTH = 2000, /* two texts of AST_MAX_DEPTH; what bounds the stack */
};

/* tune NAME in VALUES; binds the name, unless it is a parameter, and records the decision
 * (tune.c). */
bool script_tune(Script *s, const AstStmt *stmt);
/* Every setting is of a parameter or of a name that some `tune` declares; false after E0312. */
bool script_check_settings(Script *s);
/* Warns of parameters that the script does not use (unused.c). */
void script_warn_unused(Context *c, const AstSchedule *schedule);
/* The value of --set for the name, or NULL. */
const Value *script_setting(const Script *s, Name name);

/* The same kind and value; handles by what they name. */
bool script_value_equal(const Value *a, const Value *b);

/* The instruction of a call; NULL, with the nearest name or after diagnostics (instruction.c). */
const Instruction *script_find_instruction(void *script, const Kernel *kernel,
                                           const InstructionCall *call, const char **near);
/* The declaration of an instruction, beside the kernel or as procs are found; NULL: none. */
const AstInstruction *script_find_declaration(Context *c, const AstFile *file, const Kernel *kernel,
                                              Name name);
/* The proc `name` seen from `file`: in it, in what it includes, then in the library. */
const AstProc *script_find_proc(Context *c, const AstFile *file, Name name, const AstFile **where);

#endif
