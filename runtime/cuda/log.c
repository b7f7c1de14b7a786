/* log.c - Turns a compiler's log into diagnostics that point into the emitted source.
 *
 *   matmul.cu(3): error: identifier "x" is undefined      =>   matmul.cu:3:5: error[E0604]: ...
 * with the line below
 *
 * NVRTC's front end names a line; ptxas does not, and is quoted as it is. Where ptxas says that
 * the architecture has no such instruction, the schedule is for other GPUs (E0607); all else is a
 * bug. */
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/nvrtc.h"

enum { MAX_SHOWN = 10 };

typedef struct {
    Context *ctx;
    const NvrtcJob *job;
    uint32_t source; /* the emitted text, registered for its lines to be shown */
    int shown;
    ErrorCode code;
} LogReport;

/* The text of line `line` (from 1) without the blanks at its ends. */
static Span line_span(const LogReport *r, long line)
{
    const Source *source = source_get(r->ctx, r->source);
    if (line < 1 || line > source->n_lines)
        return span_none();
    size_t begin = source->line_begin[line - 1];
    size_t end = line < source->n_lines ? source->line_begin[line] : source->length;
    while (end > begin && strchr(" \t\r\n", source->text[end - 1]))
        end--;
    while (begin < end && strchr(" \t", source->text[begin]))
        begin++;
    return (Span){r->source, (uint32_t)begin, (uint32_t)end};
}

/* ptxas speaks of the architecture: "Feature 'cp.async' requires .target sm_80 or higher". */
static bool is_of_target(const char *message)
{
    return strstr(message, "requires .target ") || strstr(message, "not supported on .target ") ||
           strstr(message, "cannot be compiled for architecture ");
}

static void show_first(LogReport *r, Span span, const char *message)
{
    const char *said = strstr(message, ": "); /* behind a place in PTX */
    r->code = is_of_target(message) ? E0607 : E0604;
    if (r->code == E0607)
        diag_error(
            r->ctx, E0607, span,
            "'%s' uses what '%s' does not have: %s; choose a schedule without it, or another "
            "architecture (--arch)",
            r->job->name, r->job->arch, said ? said + 2 : message);
    else
        diag_error(r->ctx, E0604, span, "NVRTC rejected the CUDA text that tirc generated: %s",
                   message);
}

static void show(LogReport *r, Span span, const char *message)
{
    if (r->shown++ == 0)
        show_first(r, span, message);
    else if (r->shown <= MAX_SHOWN && r->code != E0607) /* which has one reason again and again */
        diag_note(r->ctx, span, "%s", message);
}

/* A line "NAME(LINE): error: MESSAGE", also "catastrophic error"; ptxas has no place but says
 * "error". */
static void read_line(LogReport *r, const char *text)
{
    size_t name = strlen(r->job->name);
    const char *error = strstr(text, "error");
    if (!error)
        return;
    if (strncmp(text, r->job->name, name) == 0 && text[name] == '(') {
        char *end;
        long line = strtol(text + name + 1, &end, 10);
        const char *message = strchr(error, ':');
        if (*end == ')' && message && end < error) {
            show(r, line_span(r, line), message + 1 + strspn(message + 1, " "));
            return;
        }
    }
    if (strncmp(text, "ptxas", 5) == 0 || strncmp(text, "nvrtc: ", 7) == 0)
        show(r, span_none(), text);
}

void nvrtc_report_log(Context *ctx, const NvrtcJob *job, const char *log)
{
    LogReport r = {.ctx = ctx, .job = job};
    r.source = source_add(ctx, job->name, job->source, strlen(job->source));
    for (const char *rest = log; *rest;) {
        size_t length = strcspn(rest, "\n");
        read_line(&r, arena_strndup(ctx->arena, rest, length));
        rest += length + (rest[length] == '\n');
    }
    if (r.shown == 0)
        show(&r, span_none(), *log ? log : "no reason given");
    if (r.code == E0607)
        return;
    if (r.shown > MAX_SHOWN)
        diag_note(ctx, span_none(), "and %d more", r.shown - MAX_SHOWN);
    diag_note(ctx, span_none(),
              "this is a bug in tirc: please report it with the program and the schedule");
}
