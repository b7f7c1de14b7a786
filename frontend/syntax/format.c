/* format.c - Formats programs and schedules: splits a text into tokens and comments, decides which
 * of them begin lines, and checks that the result has the same tokens and comments.
 *
 * Braces and semicolons end lines. The bodies of `for` and `if` that have no braces begin lines of
 * their own; the syntax tree tells where. A comment stays on its own line, or behind the token that
 * it follows. */
#include "frontend/syntax/format_internal.h"

#include <string.h>

#include "frontend/syntax/internal.h"
#include "frontend/syntax/parse.h"
#include "tirc_parser.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

typedef VEC(Piece) PieceList;

/* A body of a `for` or `if` without braces. */
typedef struct {
    uint32_t begin, end;
} Body;
typedef VEC(Body) BodyList;

static int count_newlines(const char *text, const char *end)
{
    int n = 0;
    for (; text < end; text++)
        n += *text == '\n';
    return n;
}

static int trimmed(const char *text, size_t length)
{
    while (length > 0 && strchr(" \t\r\f\v", text[length - 1]))
        length--;
    return (int)length;
}

/* The comment that begins at `at`. */
static Piece read_comment(const char *at, const char *end)
{
    Piece piece = {.kind = PIECE_LINE_COMMENT, .text = at};
    if (at[1] == '/') {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        piece.length = trimmed(at, (size_t)((stop ? stop : end) - at));
        return piece;
    }
    const char *stop = at + 2;
    while (stop + 2 < end && (stop[0] != '*' || stop[1] != '/'))
        stop++;
    piece.kind = PIECE_BLOCK_COMMENT;
    piece.length = (int)(stop + 2 - at);
    return piece;
}

/* Adds the comments between two tokens; returns the newlines behind the last one. */
static int add_comments(Context *c, const char *text, const char *end, PieceList *out)
{
    for (;;) {
        const char *at = text;
        while (at < end && *at != '/')
            at++;
        int newlines = count_newlines(text, at);
        if (at >= end)
            return newlines;
        Piece piece = read_comment(at, end);
        piece.newlines = newlines;
        VEC_PUSH(c->arena, out, piece);
        text = at + piece.length;
    }
}

static void read_pieces(Context *c, uint32_t source, PieceList *out)
{
    const Source *s = source_get(c, source);
    Parser p = {.ctx = c, .source = source};
    uint32_t end = 0;
    lexer_open(&p, s->text, s->length);
    for (;;) {
        Token t = words_next(&p);
        uint32_t begin = t.kind == TOKEN_END ? (uint32_t)s->length : t.span.begin;
        int newlines = add_comments(c, s->text + end, s->text + begin, out);
        if (t.kind == TOKEN_END)
            break;
        end = t.span.end;
        Piece piece = {.kind = t.kind,
                       .text = s->text + begin,
                       .length = (int)(end - begin),
                       .newlines = newlines};
        VEC_PUSH(c->arena, out, piece);
    }
    lexer_close(&p);
}

/* ---- bodies without braces ------------------------------------------------------------------- */

static void add_bodies(Context *c, const AstStmt *s, BodyList *out);

static void add_body(Context *c, const AstStmt *s, BodyList *out)
{
    if (s->kind != AS_SEQ) {
        Body body = {s->span.begin, s->span.end};
        VEC_PUSH(c->arena, out, body);
    }
    add_bodies(c, s, out);
}

static void add_bodies(Context *c, const AstStmt *s, BodyList *out)
{
    switch (s->kind) {
    case AS_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            add_bodies(c, s->u.seq.items[i], out);
        return;
    case AS_FOR: add_body(c, s->u.loop.body, out); return;
    case AS_WHILE: add_body(c, s->u.cond.then, out); return;
    case AS_IF:
        add_body(c, s->u.cond.then, out);
        if (s->u.cond.otherwise && s->u.cond.otherwise->kind == AS_IF)
            add_bodies(c, s->u.cond.otherwise, out);
        else if (s->u.cond.otherwise)
            add_body(c, s->u.cond.otherwise, out);
        return;
    case AS_LABEL: add_bodies(c, s->u.label.body, out); return;
    case AS_INIT: add_bodies(c, s->u.init, out); return;
    case AS_BLOCK: add_bodies(c, s->u.block.body, out); return;
    case AS_LAUNCH: add_bodies(c, s->u.launch.body, out); return;
    case AS_INSTRUCTION: add_bodies(c, s->u.instruction.body, out); return;
    case AS_ROLES:
        add_bodies(c, s->u.roles.producer, out);
        add_bodies(c, s->u.roles.consumers, out);
        return;
    default: return; /* those of scripts have braces */
    }
}

/* In the order of the text. */
static void add_items(Context *c, const AstFile *file, BodyList *out)
{
    int k = 0, i = 0;
    while (k < file->n_kernels || i < file->n_instructions) {
        bool kernel = i == file->n_instructions ||
                      (k < file->n_kernels &&
                       file->kernels[k]->span.begin < file->instructions[i]->span.begin);
        add_bodies(c, kernel ? file->kernels[k++]->body : file->instructions[i++]->body, out);
    }
}

/* ---- where lines begin ----------------------------------------------------------------------- */

typedef struct {
    Pieces *pieces;
    const char *text; /* of the source */
    const BodyList *bodies;
    int next_body;
    VEC(uint32_t) open; /* the ends of the bodies around; 0 for a brace */
    int braces;
    int item;  /* the word that began the item of the file */
    bool loop; /* a loop in the CUDA text of an instruction is open */
} Lines;

static uint32_t offset_of(const Lines *l, const Piece *p)
{
    return (uint32_t)(p->text - l->text);
}

/* The bodies that end in front of the piece; whether there were any. */
static bool close_bodies(Lines *l, const Piece *p)
{
    bool any = false;
    while (l->open.n > 0 && l->open.items[l->open.n - 1] != 0 &&
           l->open.items[l->open.n - 1] <= offset_of(l, p)) {
        l->open.n--;
        any = true;
    }
    return any;
}

static bool open_body(Lines *l, const Piece *p)
{
    if (l->next_body >= l->bodies->n || l->bodies->items[l->next_body].begin != offset_of(l, p))
        return false;
    VEC_PUSH(l->pieces->ctx->arena, &l->open, l->bodies->items[l->next_body].end);
    l->next_body++;
    return true;
}

/* The braces of kernels, functions and `combine` have lines of their own. */
static bool is_outer_brace(const Lines *l, const Piece *p)
{
    return p->kind == '{' && !l->loop &&
           (l->braces == 0 || (l->item == TOKEN_REDUCER && l->braces == 1));
}

/* A line of the CUDA text of an instruction begins, or a loop over some of them; or such a loop
 * ends. */
static bool in_template(Lines *l, const Piece *p, int last)
{
    if (l->item != TOKEN_INSTRUCTION || l->braces > l->loop)
        return false;
    l->loop |= p->kind == TOKEN_FOR;
    return last != TOKEN_CUDA &&
           (p->kind == TOKEN_STRING || p->kind == TOKEN_FOR || (p->kind == '}' && l->loop));
}

static void set_line(Lines *l, Piece *p, const Piece *before)
{
    int last = before ? before->kind : ';';
    bool closed = close_bodies(l, p), body = open_body(l, p);
    if (piece_starts_item(p) && l->braces == 0)
        l->item = p->kind;
    if (p->kind == '}' && l->open.n > 0) {
        l->open.n--;
        l->braces--;
    }
    bool where = (p->kind == TOKEN_WHERE || p->kind == TOKEN_CUDA || p->kind == TOKEN_COMMIT ||
                  p->kind == TOKEN_WAIT) &&
                 l->braces == 0;
    bool template = in_template(l, p, last);
    bool looped = template && p->kind == TOKEN_STRING && l->loop && l->braces == 0;
    if (l->loop && (looped || p->kind == '}'))
        l->loop = false;
    bool ended = last == ';' || last == '{' || last == '}';
    p->begins = body || where || template || ended || p->kind == '}' || p->kind == TOKEN_ELSE ||
                is_outer_brace(l, p);
    if (p->kind == TOKEN_ELSE && last == '}' && !closed)
        p->begins = false;
    if (p->kind == TOKEN_IF && last == TOKEN_ELSE)
        p->begins = false;
    p->indent = FORMAT_INDENT * (l->open.n + where + 2 * template + looped);
    p->own_blank =
        p->begins && (last == ';' || last == '}') && p->kind != '}' && p->kind != TOKEN_ELSE;
    if (p->kind == '{') {
        uint32_t brace = 0;
        VEC_PUSH(l->pieces->ctx->arena, &l->open, brace);
        l->braces++;
    }
}

/* ---- comments -------------------------------------------------------------------------------- */

/* The comments from `begin` to the token at `end`, which begins a line: those behind the token in
 * front stay there, the others get lines like that of the token. */
static void place_between_lines(Pieces *pieces, int begin, int end)
{
    const Piece *next = end < pieces->n ? &pieces->items[end] : NULL;
    int indent = next ? next->indent + (next->kind == '}' ? FORMAT_INDENT : 0) : 0;
    bool behind = begin > 0;
    for (int i = begin; i < end; i++) {
        Piece *p = &pieces->items[i];
        behind = behind && p->newlines == 0;
        p->begins = !behind && (i == 0 || p->newlines > 0);
        p->indent = indent;
        p->own_blank = p->begins && i > 0 && pieces->items[i - 1].kind != '{';
    }
}

/* The token shares the line of a comment in front of it that begins one. */
static void join_comment(Pieces *pieces, int at)
{
    Piece *p = &pieces->items[at];
    const Piece *before = at > 0 ? &pieces->items[at - 1] : NULL;
    if (!before || before->kind != PIECE_BLOCK_COMMENT || p->newlines > 0)
        return;
    int first = at - 1;
    while (first > 0 && !pieces->items[first].begins && piece_is_comment(&pieces->items[first]))
        first--;
    p->begins = !pieces->items[first].begins;
}

static void place_inside_line(Pieces *pieces, int begin, int end)
{
    for (int i = begin; i <= end; i++) {
        bool after_line = i > begin && pieces->items[i - 1].kind == PIECE_LINE_COMMENT;
        bool after_any = i > begin && pieces->items[i].newlines > 0;
        bool own = i < end && pieces->items[i].newlines > 0;
        pieces->items[i].hard = after_line || after_any || own;
    }
}

static void place_comments(Pieces *pieces)
{
    for (int i = 0; i <= pieces->n; i++) {
        int begin = i;
        while (i < pieces->n && piece_is_comment(&pieces->items[i]))
            i++;
        if (begin == i)
            continue;
        if (i == pieces->n || pieces->items[i].begins) {
            place_between_lines(pieces, begin, i);
            if (i < pieces->n)
                join_comment(pieces, i);
        } else {
            place_inside_line(pieces, begin, i);
        }
    }
}

/* ---- blank lines ----------------------------------------------------------------------------- */

/* One empty line stands in front of each item and its comments, and where the text has any between
 * statements; not between includes. */
static void set_blank_lines(Pieces *pieces)
{
    int item = 0;
    for (int i = 0; i < pieces->n; i++) {
        Piece *p = &pieces->items[i];
        if (p->begins)
            p->own_blank = p->own_blank && p->newlines > 1 && i > 0;
        if (!piece_starts_item(p) || p->indent > 0)
            continue;
        int first = i;
        while (first > 0 && piece_is_comment(&pieces->items[first - 1]))
            first--;
        while (!pieces->items[first].begins)
            first++;
        bool includes = p->kind == TOKEN_INCLUDE && item == TOKEN_INCLUDE;
        if (first > 0 && item && !includes)
            pieces->items[first].own_blank = true;
        item = p->kind;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void find_lines(Pieces *pieces, const Source *s, const BodyList *bodies)
{
    Lines l = {.pieces = pieces, .text = s->text, .bodies = bodies};
    const Piece *before = NULL;
    for (int i = 0; i < pieces->n; i++) {
        Piece *p = &pieces->items[i];
        if (piece_is_comment(p))
            continue;
        set_line(&l, p, before);
        before = p;
    }
    place_comments(pieces);
    set_blank_lines(pieces);
}

static void write_lines(const Pieces *pieces, StrBuf *out)
{
    for (int i = 0; i < pieces->n;) {
        int end = i + 1;
        while (end < pieces->n && !pieces->items[end].begins)
            end++;
        if (pieces->items[i].own_blank)
            strbuf_addc(out, '\n');
        format_fill(pieces, i, end, out);
        strbuf_addc(out, '\n');
        i = end;
    }
}

static bool same_piece(const Piece *a, const Piece *b)
{
    return a->kind == b->kind && a->length == b->length &&
           memcmp(a->text, b->text, (size_t)a->length) == 0;
}

/* The result must read as the same tokens and comments. */
static void check_result(Context *c, const Pieces *before, const StrBuf *result)
{
    PieceList after = {0};
    read_pieces(c, source_add(c, "formatted", result->text, result->length), &after);
    bool same = after.n == before->n;
    for (int i = 0; same && i < after.n; i++)
        same = same_piece(&before->items[i], &after.items[i]);
    if (!same)
        TIRC_BUG(c, "formatting changed the tokens of the text");
}

bool format_text(Context *c, uint32_t source, StrBuf *out)
{
    const AstFile *file = parse_text(c, source);
    BodyList bodies = {0};
    PieceList list = {0};
    if (!file)
        return false;
    add_items(c, file, &bodies);
    read_pieces(c, source, &list);
    Pieces pieces = {c, list.items, list.n};
    StrBuf text = strbuf_new(c->arena);
    find_lines(&pieces, source_get(c, source), &bodies);
    format_roles(&pieces);
    write_lines(&pieces, &text);
    check_result(c, &pieces, &text);
    strbuf_addn(out, text.text, text.length);
    return true;
}
