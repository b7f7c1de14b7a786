/* diag.h - Declares the context of one use of the library: memory, sources, messages.
 *
 * A Context is the only state there is: no globals, nothing printed, no exit.  Every refusal is a
 * Diag with a stable code (errors.def), a place, a message that says what was expected, what was
 * found, why it matters and what to do, and notes that may point elsewhere. */
#ifndef TIRC_IR_DIAG_H
#define TIRC_IR_DIAG_H

#include <setjmp.h>

#include "ir/support.h"

/* A range of bytes in a source.  source 0 means "no place". */
typedef struct {
    uint32_t source, begin, end;
} Span;

static inline Span span_none(void)
{
    return (Span){0, 0, 0};
}
/* The smallest span that holds both; a span with no place gives the other, and so does, to the
 * first, a span in another source. */
Span span_join(Span a, Span b);

typedef enum {
#define ERROR(code, status, title, explanation, program, schedule) code,
#include "ir/tables/errors.def"
#undef ERROR
    ERROR_COUNT
} ErrorCode;

/* The status of a call after an error, as tirc_status in tirc.h. */
typedef enum {
    STATUS_REFUSED,     /* the input is refused */
    STATUS_USAGE,       /* the call makes no sense */
    STATUS_UNAVAILABLE, /* something outside is missing or failed */
    STATUS_WRONG,       /* the result is wrong */
    STATUS_BUG,         /* tirc broke its own rules */
} ErrorStatus;

/* A row of errors.def: what `tirc --explain` prints.  `program` and `schedule` show the error
 * (NULL where only the environment can). */
typedef struct {
    const char *id;
    ErrorStatus status;
    const char *title, *explanation, *program, *schedule;
} ErrorInfo;
const ErrorInfo *error_info(ErrorCode code);
/* The code called `id` ("E0101"), or ERROR_COUNT. */
ErrorCode error_find(const char *id);

typedef enum { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE } Severity;

typedef struct Diag {
    Severity severity;
    ErrorCode code; /* of the error or warning; notes repeat it */
    Span span;
    const char *message;
    Span wrong;         /* what `remedy` replaces */
    const char *remedy; /* a text that may mend the error; or NULL */
    struct Diag *next;
} Diag;

typedef struct {
    const char *path; /* as the user gave it */
    const char *text; /* terminated; may hold NUL bytes before `length` */
    size_t length;
    const uint32_t *line_begin; /* offset of each line's first byte */
    int n_lines;
} Source;

typedef enum {
    FATAL_NONE,
    FATAL_OUT_OF_MEMORY, /* the context's memory limit, or the machine's */
    FATAL_BUG,           /* tirc broke its own rules */
} FatalKind;

/* An architecture of GPUs: its compute capability without the dot, and perhaps 'a' or 'f' for
 * features that later ones lack. */
typedef struct {
    int number;
    char feature; /* or 0 */
} Target;

typedef struct Context {
    Arena *arena; /* everything that lives as long as the context */
    Interner *names;
    VEC(Source) sources; /* Span.source is 1 + the index */
    Diag *first, *last;
    int n_errors, n_warnings;
    int max_errors;   /* stop collecting after this many */
    uint32_t next_id; /* of loops, blocks, buffers and variables */
    /* The schedule step at work, 0: none. Every constructor stamps it on the node that it makes, as
     * LLVM's builders do with the line of the source: the context is the builder of all nodes, and
     * as a parameter the step would go through each function that may build one. */
    int step;
    /* What lasts as long as the context and would be made again for each call otherwise. Only the
     * folder that makes one, at its first use, looks inside: passes/analysis, frontend/. */
    struct PolySolver *solver;
    void (*solver_free)(struct PolySolver *);
    struct ScriptFiles *script_files; /* schedule files read so far */
    Target target;                    /* what schedules are for */
    jmp_buf *guard;                   /* where ctx_fatal unwinds to */
    FatalKind fatal;
    const char *fatal_message;
    char fatal_text[256];  /* where fatal_message is kept: there may be no memory left */
    const char *bug_state; /* the program text to save with a bug report, or NULL */
} Context;

/* memory_limit in bytes, 0 for none.  NULL when there is no memory at all. */
Context *ctx_new(size_t memory_limit);
void ctx_free(Context *ctx);

/* Unwinds to ctx->guard.  Every entry of the public library sets one; with none it can only
 * abort. */
TIRC_NORETURN void ctx_fatal(Context *ctx, FatalKind kind, const char *format, ...)
    TIRC_PRINTF(3, 4);
#define TIRC_BUG(ctx, ...) ctx_fatal((ctx), FATAL_BUG, __VA_ARGS__)

/* The one copy of a text that this context has: names are compared by pointer. */
Name ctx_name(Context *ctx, const char *text);
Name ctx_namef(Context *ctx, const char *format, ...) TIRC_PRINTF(2, 3);

/* Registers `length` bytes of text (copied) under `path`; returns its source number. Texts of 2 GiB
 * and more are fatal: readers of files refuse them first. */
uint32_t source_add(Context *ctx, const char *path, const char *text, size_t length);
const Source *source_get(const Context *ctx, uint32_t source);
/* Line and column (both from 1, columns in bytes) of an offset. */
void source_position(const Source *source, uint32_t offset, int *line, int *column);

/* Records an error, warning or note.  Notes belong to the last error or warning.  After max_errors
 * errors nothing is stored any more, but all are counted. */
void diag_error(Context *ctx, ErrorCode code, Span span, const char *format, ...) TIRC_PRINTF(4, 5);
void diag_warning(Context *ctx, ErrorCode code, Span span, const char *format, ...)
    TIRC_PRINTF(4, 5);
void diag_note(Context *ctx, Span span, const char *format, ...) TIRC_PRINTF(3, 4);

/* The last error would go away if `wrong`, which is written at `span`, read `right`; for editors.
 * Nothing is recorded if something else is written there. */
void diag_remedy(Context *ctx, Span span, const char *wrong, const char *right);

/* A place to come back to: what an attempt that failed has reported can be forgotten. */
typedef struct {
    Diag *last;
    int n_errors, n_warnings;
} DiagMark;
DiagMark diag_mark(const Context *ctx);
void diag_forget(Context *ctx, DiagMark mark);

/* Text of one diagnostic as the command prints it: file:line:column, severity, code, message, the
 * source line with a caret.  Long lines are cut around the caret. */
void diag_render(const Context *ctx, const Diag *diag, bool color, StrBuf *out);
typedef enum { DIAG_PLAIN, DIAG_COLORED } DiagColor;

/* All of them, in order, and how many more there were. */
void diag_render_all(const Context *ctx, DiagColor color, StrBuf *out);

/* The word in `words` nearest to `word`, or NULL when none is within a third of its length in edits
 * (a letter put in, left out, changed, or swapped with its neighbour). */
const char *diag_suggest(const char *word, const char *const *words, int n_words);

#endif
