/* format_internal.h - Declares the pieces of a text that the parts of the formatter share.
 *
 *   format.c         the entry: reads pieces, finds where lines begin, checks the result
 *   format_roles.c   blanks between pieces, and where a line may break
 *   format_fill.c    writes one line, broken where it is too long */
#ifndef TIRC_FRONTEND_SYNTAX_FORMAT_INTERNAL_H
#define TIRC_FRONTEND_SYNTAX_FORMAT_INTERNAL_H

#include "frontend/syntax/format.h"

enum { FORMAT_WIDTH = 100, FORMAT_INDENT = 4 };

/* The kinds of pieces that are no tokens. */
enum { PIECE_LINE_COMMENT = -1, PIECE_BLOCK_COMMENT = -2 };

/* The places where a line may break, the outermost first. */
typedef enum {
    BREAK_NEVER,
    BREAK_CLAUSE, /* in a header: in front of parameters, outputs, and the `where` of a block */
    BREAK_ITEM,   /* after a comma */
    BREAK_MAP,    /* in front of the arrow of a map */
    BREAK_SELECT,
    BREAK_OPERATOR, /* in front of an operator: this and its precedence */
} Break;

/* A token or comment. */
typedef struct {
    int kind; /* of the token, or PIECE_... */
    const char *text;
    int length;
    int newlines;   /* in the source, between it and the piece in front */
    bool begins;    /* a line */
    bool own_blank; /* an empty line stands in front of it */
    bool hard;      /* the line must break in front of it */
    bool space;     /* a blank divides it from the piece in front */
    int indent;     /* in columns, of the line that it begins */
    int breaks;     /* Break: the line may break in front of it */
    int partner;    /* of an opening bracket: its closing one; else 0 */
} Piece;

typedef struct {
    Context *ctx;
    Piece *items;
    int n;
} Pieces;

static inline bool piece_is_comment(const Piece *p)
{
    return p->kind < 0;
}

/* The token is a word that begins an item of a file. */
bool piece_starts_item(const Piece *p);
/* Sets `space`, `breaks` and `partner` of all pieces; those that begin lines are known. */
void format_roles(Pieces *pieces);
/* Writes the pieces from `begin` to `end`, which are one line or a line too long for one. */
void format_fill(const Pieces *pieces, int begin, int end, StrBuf *out);

#endif
