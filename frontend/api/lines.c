/* lines.c - Maps lines of CUDA text to their origins: the line of the program, and the schedule
 * step that made it.
 *
 *     const int i = by * 32 + ty;    // matmul.tir:4, tiled32.sched:5: split(i, [_, 32])
 *
 * Comments are aligned in one column and name files without folders; lines with only a brace get
 * none. An origin is a span of the program's text and the number of a step; this file adds their
 * names. */
#include "frontend/api/internal.h"

#include <string.h>

enum { MAX_COLUMN = 72, STEP_TEXT = 60 };

/* Fills in path, line and column of a span that has a place. */
static bool place_of(const Context *c, Span span, const char **path, int *line, int *column)
{
    if (!span.source)
        return false;
    const Source *source = source_get(c, span.source);
    *path = source->path;
    source_position(source, span.begin, line, column);
    return true;
}

tirc_origin api_origin(tirc *t, const tirc_kernel *kernel, Origin origin)
{
    const Schedule *s = kernel->schedule;
    tirc_origin out = {0};
    if (!place_of(t->ctx, origin.span, &out.path, &out.line, &out.column))
        return out;
    if (origin.step < 1 || !s || origin.step > schedule_steps(s))
        return out;
    out.step = (size_t)origin.step;
    out.step_text = schedule_step_text(s, origin.step);
    place_of(t->ctx, schedule_step_span(s, origin.step), &out.step_path, &out.step_line,
             &out.step_column);
    return out;
}

/* ---- comments -------------------------------------------------------------------------------- */

/* The name of a file without its folders. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool says_something(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" {}", line[i]))
            return true;
    return false;
}

/* The column of the comments: after the longest line that is not too long. */
static size_t comment_column(const char *text, const LineOrigins *lines)
{
    size_t column = 0;
    for (int i = 0; i < lines->n; i++) {
        size_t length = strcspn(text, "\n");
        if (lines->items[i].span.source && length > column && length <= MAX_COLUMN)
            column = length;
        text += length + (text[length] != '\0');
    }
    return column;
}

static const char *comment_text(Context *c, const tirc_origin *o)
{
    StrBuf out = strbuf_new(c->arena);
    strbuf_addf(&out, "%s:%d", base_name(o->path), o->line);
    if (o->step && o->step_path)
        strbuf_addf(&out, ", %s:%d", base_name(o->step_path), o->step_line);
    if (o->step) {
        bool whole = strlen(o->step_text) <= STEP_TEXT;
        strbuf_addf(&out, ": %.*s%s", whole ? STEP_TEXT : STEP_TEXT - 3, o->step_text,
                    whole ? "" : "...");
    }
    return cuda_comment(c, out.text);
}

typedef struct {
    const char *text;
    size_t length;
} TextLine;

static void comment_line(Context *c, const tirc_origin *o, TextLine line, size_t column,
                         StrBuf *out)
{
    strbuf_addn(out, line.text, line.length);
    if (o->path && says_something(line.text, line.length)) {
        strbuf_addf(out, "%*s  // %s", line.length < column ? (int)(column - line.length) : 0, "",
                    comment_text(c, o));
    }
    strbuf_addc(out, '\n');
}

/* ---- directives ------------------------------------------------------------------------------ */

/* What the compiler believes about the next line. */
typedef struct {
    const char *path;
    int line;
} Believed;

/* In quotes, without what compilers and assemblers would have to escape alike: they do not. */
static void quoted(const char *text, StrBuf *out)
{
    strbuf_addc(out, '"');
    for (; *text; text++)
        strbuf_addc(out, *text == '"' ? '\'' : *text == '\\' ? '/' : *text);
    strbuf_addc(out, '"');
}

static void directive_line(Context *c, Believed *b, const tirc_origin *o, TextLine line,
                           StrBuf *out)
{
    if (o->path && (b->path != o->path || b->line != o->line)) {
        strbuf_addf(out, "#line %d ", o->line);
        quoted(cuda_comment(c, o->path), out);
        strbuf_addc(out, '\n');
        *b = (Believed){o->path, o->line};
    }
    strbuf_addn(out, line.text, line.length);
    strbuf_addc(out, '\n');
    b->line++;
}

void api_annotate(tirc *t, const tirc_kernel *kernel, const CudaText *cuda, bool directives,
                  StrBuf *out)
{
    Believed believed = {0};
    const char *text = cuda->text;
    size_t column = comment_column(text, cuda->lines);
    for (int i = 0; i < cuda->lines->n; i++) {
        TextLine line = {text, strcspn(text, "\n")};
        tirc_origin o = api_origin(t, kernel, cuda->lines->items[i]);
        if (directives)
            directive_line(t->ctx, &believed, &o, line, out);
        else
            comment_line(t->ctx, &o, line, column, out);
        text += line.length + (text[line.length] != '\0');
    }
}

/* ---- the map --------------------------------------------------------------------------------- */

static bool origins(tirc *t, const tirc_kernel *lowered, const tirc_origin **lines, size_t *n)
{
    if (!api_require_lowered(t, lowered, "tirc_origins"))
        return false;
    StrBuf text = strbuf_new(t->ctx->arena);
    LineOrigins from = {0};
    t->subject = lowered->command;
    cuda_emit(t->ctx, lowered->kernel, &text, &from);
    tirc_origin *out = ARENA_ARRAY(t->ctx->arena, tirc_origin, from.n + 1);
    for (int i = 0; i < from.n; i++)
        out[i] = api_origin(t, lowered, from.items[i]);
    *lines = out;
    *n = (size_t)from.n;
    return true;
}

tirc_status tirc_origins(tirc *t, const tirc_kernel *lowered, const tirc_origin **lines, size_t *n)
{
    API_GUARDED(t, origins(t, lowered, lines, n));
}

const char *tirc_source_text(const tirc *t, const char *path)
{
    for (int i = 0; i < t->ctx->sources.n; i++)
        if (!strcmp(t->ctx->sources.items[i].path, path))
            return t->ctx->sources.items[i].text;
    return NULL;
}
