/* format_fill.c - Writes one line of a formatted text, and breaks it where it is too long.
 *
 * A line that does not fit breaks at its outermost places first, and as many parts as fit share a
 * line. Inside brackets the next line begins below the first part, elsewhere one step further in
 * than the statement. Comments up to the end of a line do not count. */
#include "frontend/syntax/format_internal.h"

#include <string.h>

typedef struct {
    const Pieces *pieces;
    StrBuf *out;
    int column;
    int indent; /* of the statement */
} Writer;

/* A run of pieces, and where it continues on a next line. */
typedef struct {
    int begin, end;
    int margin;
    int tail;    /* columns that must follow on its last line */
    bool inside; /* of brackets */
    bool first;  /* on its line: no blank stands in front of it */
} Run;

static bool has_newline(const Piece *p)
{
    return p->kind == PIECE_BLOCK_COMMENT && memchr(p->text, '\n', (size_t)p->length);
}

static int columns(const char *text, int length)
{
    int n = 0;
    for (int i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80; /* not inside of a UTF-8 character */
    return n;
}

static int width(const Piece *p)
{
    return p->kind == PIECE_LINE_COMMENT ? 0 : columns(p->text, p->length) + p->space;
}

/* The columns of the pieces on one line, up to `most`; beyond it if they do not fit on one. */
static int flat_width(const Writer *w, int begin, int end, int most)
{
    int total = 0;
    for (int i = begin; i < end && total <= most; i++) {
        const Piece *p = &w->pieces->items[i];
        if ((i > begin && p->hard) || has_newline(p))
            return most + 1;
        total += width(p) - (i == begin && p->space);
    }
    return total;
}

static bool fits(const Writer *w, int begin, int end, int used)
{
    int most = FORMAT_WIDTH - used;
    return flat_width(w, begin, end, most) <= most;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void new_line(Writer *w, int column)
{
    strbuf_addc(w->out, '\n');
    for (int i = 0; i < column; i++)
        strbuf_addc(w->out, ' ');
    w->column = column;
}

static void write_piece(Writer *w, const Piece *p, bool first, int margin)
{
    if (p->hard && !first) {
        new_line(w, p->kind == '{' ? w->indent : margin);
    } else if (p->space && !first) {
        strbuf_addc(w->out, ' ');
        w->column++;
    }
    strbuf_addn(w->out, p->text, (size_t)p->length);
    const char *line = p->text;
    for (const char *at; (at = memchr(line, '\n', (size_t)(p->text + p->length - line)));) {
        line = at + 1;
        w->column = 0;
    }
    w->column += columns(line, (int)(p->text + p->length - line));
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void write_run(Writer *w, const Run *run);

/* The end of the pieces from `at` that are one part: the next place to break of this kind. */
static int part_end(const Writer *w, const Run *run, int at, int breaks)
{
    int i = at;
    do {
        int partner = w->pieces->items[i].partner;
        i = partner ? partner : i + 1;
    } while (i < run->end && w->pieces->items[i].breaks != breaks);
    return i;
}

/* The outermost place to break, or BREAK_NEVER. */
static int outermost_break(const Writer *w, const Run *run)
{
    int least = BREAK_NEVER;
    for (int i = run->begin; i < run->end;) {
        const Piece *p = &w->pieces->items[i];
        if (i > run->begin && p->breaks && (!least || p->breaks < least))
            least = p->breaks;
        i = p->partner ? p->partner : i + 1;
    }
    return least;
}

static void write_parts(Writer *w, const Run *run, int breaks)
{
    for (int at = run->begin; at < run->end;) {
        int end = part_end(w, run, at, breaks);
        int tail = end == run->end ? run->tail : 0;
        const Piece *p = &w->pieces->items[at];
        bool opens = at == run->begin && run->first;
        if (at > run->begin && !p->hard && !fits(w, at, end, w->column + p->space + tail)) {
            new_line(w, run->margin);
            opens = true;
        }
        int begins = w->column + (opens ? 0 : p->space);
        Run part = {at, end, run->inside ? begins : run->margin, tail, run->inside, opens};
        if (p->hard && !opens)
            part.margin = run->margin;
        write_run(w, &part);
        at = end;
    }
}

/* The columns behind a bracket that closes, up to where the line can break again. */
static int tail_behind(const Writer *w, const Run *run, int close)
{
    int total = 0;
    for (int i = close; i < run->end; i++) {
        total += width(&w->pieces->items[i]);
        if (w->pieces->items[i].partner)
            return total;
    }
    return total + run->tail;
}

/* Brackets in a run without places to break outside of them. */
static void write_brackets(Writer *w, const Run *run)
{
    for (int i = run->begin; i < run->end; i++) {
        const Piece *p = &w->pieces->items[i];
        write_piece(w, p, run->first && i == run->begin, run->margin);
        if (!p->partner || p->partner == i + 1)
            continue;
        Run inner = {.begin = i + 1,
                     .end = p->partner,
                     .margin = w->column,
                     .tail = tail_behind(w, run, p->partner),
                     .inside = true,
                     .first = !w->pieces->items[i + 1].hard};
        write_run(w, &inner);
        i = p->partner - 1;
    }
}

static void write_run(Writer *w, const Run *run)
{
    int space = run->first ? 0 : w->pieces->items[run->begin].space;
    int breaks = fits(w, run->begin, run->end, w->column + space + run->tail)
                     ? BREAK_NEVER
                     : outermost_break(w, run);
    if (breaks)
        write_parts(w, run, breaks);
    else
        write_brackets(w, run);
}

void format_fill(const Pieces *pieces, int begin, int end, StrBuf *out)
{
    int indent = pieces->items[begin].indent;
    Writer w = {.pieces = pieces, .out = out, .indent = indent};
    for (; w.column < indent; w.column++)
        strbuf_addc(out, ' ');
    Run run = {.begin = begin, .end = end, .margin = indent + FORMAT_INDENT, .first = true};
    write_run(&w, &run);
}
