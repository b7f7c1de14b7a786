/* diag_render.c - Renders diagnostics as text with source lines and carets.
 *
 *     matmul.tir:3:12: error[E0203]: expected 2 subscripts for 'A', found 1
 *         3 |     C[i] = A[i];
 *           |            ^~~~
 *
 * The source may hold anything: what a terminal would not show as itself is shown as <00>, tabs
 * advance to multiples of four, and a long line is cut around the caret, so that one message is
 * never more than a few short lines.  Only the part that is shown is looked at. */
#include "ir/diag.h"

#include <stdio.h>
#include <string.h>

enum {
    TAB = 4,
    WIDTH_MAX = 100,  /* columns of source text shown */
    LEAD_MAX = 48,    /* characters kept before the caret of a line that is cut */
    NUMBER_WIDTH = 5, /* least width of the line number */
};

static const char *const RED = "\033[1;31m", *const MAGENTA = "\033[1;35m",
                         *const CYAN = "\033[1;36m", *const BOLD = "\033[1m",
                         *const RESET = "\033[0m";

/* ---- characters ------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 character at text[0], or 0 if there is none (RFC 3629); its code point in
 * *code. */
static int utf8_length(const char *text, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)text[0];
    int n = lead < 0x80   ? 1
            : lead < 0xc0 ? 0
            : lead < 0xe0 ? 2
            : lead < 0xf0 ? 3
            : lead < 0xf8 ? 4
                          : 0;
    if (n == 0 || (size_t)n > left)
        return 0;
    *code = n == 1 ? lead : lead & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (byte & 0x3fu);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least[n] || *code > 0x10ffff || surrogate ? 0 : n;
}

/* Controls, and the marks that are invisible or reorder what surrounds them. */
static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff;
}

/* Adds the character at text[0] as it is shown; its bytes in *bytes; returns its columns.  A NULL
 * `out` only measures. */
static int show_character(StrBuf *out, const char *text, size_t left, int column, int *bytes)
{
    uint32_t code = 0;
    *bytes = utf8_length(text, left, &code);
    if (*bytes == 1 && code == '\t') {
        int width = TAB - column % TAB;
        if (out)
            strbuf_addn(out, "    ", (size_t)width);
        return width;
    }
    if (*bytes > 0 && !is_hidden(code)) {
        if (out)
            strbuf_addn(out, text, (size_t)*bytes);
        return 1;
    }
    if (*bytes > 1) {
        if (out)
            strbuf_addc(out, '?');
        return 1;
    }
    *bytes = 1;
    if (out)
        strbuf_addf(out, "<%02x>", (unsigned)(unsigned char)text[0]);
    return 4;
}

/* A message or path, which may quote the source; line breaks in messages stay. */
static void show_text(StrBuf *out, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        int bytes = 1;
        if (text[i] == '\n')
            strbuf_addc(out, '\n');
        else
            show_character(out, text + i, length - i, 0, &bytes);
        i += (size_t)bytes;
    }
}

/* ---- source lines ---------------------------------------------------------------------------- */

/* Columns of text[0, length), or more than WIDTH_MAX as soon as that is certain. */
static int measure(const char *text, size_t length)
{
    int width = 0, bytes;
    for (size_t i = 0; i < length && width <= WIDTH_MAX; i += (size_t)bytes)
        width += show_character(NULL, text + i, length - i, width, &bytes);
    return width;
}

/* Where a cut line starts: LEAD_MAX characters before `caret`. */
static size_t cut_start(const char *text, size_t caret)
{
    size_t start = caret;
    for (int n = 0; n < LEAD_MAX && start > 0; n++) {
        start--;
        for (int more = 0; more < 3 && start > 0 && ((unsigned char)text[start] & 0xc0) == 0x80;
             more++)
            start--;
    }
    return start;
}

/* A line, and what is underlined of it. */
typedef struct {
    const char *text;
    size_t length, begin, end;
} Line;

/* The line in `shown` and its underline in `mark`. */
static void show_line(const Line *line, StrBuf *shown, StrBuf *mark)
{
    const char *text = line->text;
    size_t length = line->length, begin = line->begin, end = line->end;
    size_t at = measure(text, length) > WIDTH_MAX ? cut_start(text, begin) : 0;
    if (at > 0) {
        strbuf_add(shown, "...");
        strbuf_add(mark, "   ");
    }
    int column = 0, bytes;
    for (; at < length && column < WIDTH_MAX; at += (size_t)bytes) {
        int width = show_character(shown, text + at, length - at, column, &bytes);
        for (int i = 0; i < width && (at < end || at <= begin); i++)
            strbuf_addc(mark, at < begin ? ' ' : at == begin && i == 0 ? '^' : '~');
        column += width;
    }
    if (at < length)
        strbuf_add(shown, "...");
    if (begin >= length) /* just behind the text */
        strbuf_addc(mark, '^');
}

static void show_place(const Source *source, Span span, bool color, StrBuf *out)
{
    int line, column;
    source_position(source, span.begin, &line, &column);
    size_t line_begin = source->line_begin[line - 1];
    size_t line_end = line < source->n_lines ? source->line_begin[line] - 1 : source->length;
    const char *text = source->text + line_begin;
    size_t length = line_end - line_begin;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    size_t begin = span.begin - line_begin;
    size_t end = span.end > span.begin ? span.end - line_begin : begin + 1;
    StrBuf shown = strbuf_new(out->arena), mark = strbuf_new(out->arena);
    show_line(&(Line){text, length, begin, end < length ? end : length}, &shown, &mark);
    int gutter = snprintf(NULL, 0, "%*d", NUMBER_WIDTH, line);
    strbuf_addf(out, "%*d | %s\n", gutter, line, shown.text);
    strbuf_addf(out, "%*s | %s%s%s\n", gutter, "", color ? RED : "", mark.text, color ? RESET : "");
}

/* ---- messages -------------------------------------------------------------------------------- */

void diag_render(const Context *ctx, const Diag *diag, bool color, StrBuf *out)
{
    static const char *const words[] = {"error", "warning", "note"};
    const char *const paint[] = {RED, MAGENTA, CYAN};
    const Source *source = source_get(ctx, diag->span.source);
    bool placed = source && diag->span.begin <= source->length;
    if (placed) {
        int line, column;
        source_position(source, diag->span.begin, &line, &column);
        strbuf_add(out, color ? BOLD : "");
        show_text(out, source->path);
        strbuf_addf(out, ":%d:%d: %s", line, column, color ? RESET : "");
    }
    strbuf_addf(out, "%s%s", color ? paint[diag->severity] : "", words[diag->severity]);
    if (diag->severity != SEVERITY_NOTE && diag->code < ERROR_COUNT)
        strbuf_addf(out, "[%s]", error_info(diag->code)->id);
    strbuf_addf(out, ":%s ", color ? RESET : "");
    show_text(out, diag->message);
    strbuf_addc(out, '\n');
    if (placed)
        show_place(source, diag->span, color, out);
}

void diag_render_all(const Context *ctx, DiagColor color, StrBuf *out)
{
    for (const Diag *diag = ctx->first; diag; diag = diag->next)
        diag_render(ctx, diag, color == DIAG_COLORED, out);
    int more = ctx->n_errors - ctx->max_errors;
    if (more > 0)
        strbuf_addf(out, "%d more error%s not shown\n", more, more == 1 ? " is" : "s are");
}
