/* format_roles.c - Decides which pieces of a text blanks divide, and where a line may break. */
#include <string.h>

#include "frontend/syntax/format_internal.h"
#include "frontend/syntax/internal.h"
#include "tirc_parser.h"

bool piece_starts_item(const Piece *p)
{
    return p->kind == TOKEN_KERNEL || p->kind == TOKEN_FN || p->kind == TOKEN_REDUCER ||
           p->kind == TOKEN_INSTRUCTION || p->kind == TOKEN_SCHEDULE || p->kind == TOKEN_PROC ||
           p->kind == TOKEN_INCLUDE;
}

/* What a token is, where its kind alone does not tell. */
typedef enum {
    IS_WORD, /* a word, number or string, and what stands like one */
    IS_OPEN, /* an opening bracket, or the `<` in front of sizes */
    IS_CLOSE,
    IS_UNARY,
    IS_BINARY,
    IS_ASSIGN,
    IS_SELECT,
    IS_COLON, /* of a declaration or label */
    IS_TIGHT, /* no blank on either side: `..`, `.`, the colon of a slice */
    IS_COMMA, /* or a semicolon */
    IS_BRACE,
    IS_AT,
    IS_ARROW,
    IS_REDUCER, /* the name in an update with a reducer: `x max= 1` for one of the program */
} TokenRole;

/* A bracket that is open. */
typedef struct {
    int piece;
    int selects; /* `?` without their `:` so far */
    bool sizes;  /* <M, N> */
} Bracket;

typedef struct {
    Pieces *pieces;
    VEC(Bracket) brackets;
    int selects;      /* outside of brackets */
    int before, last; /* the last two tokens; -1: none */
    TokenRole role;   /* of the last one */
    bool header;      /* between the word that begins an item and its parameters */
    bool reducer;     /* in a reducer */
    int braces;
} State;

static const Piece *token_at(const State *s, int i)
{
    return i >= 0 ? &s->pieces->items[i] : NULL;
}

static int kind_at(const State *s, int i)
{
    return i >= 0 ? s->pieces->items[i].kind : 0;
}

static Bracket *innermost(State *s)
{
    return s->brackets.n > 0 ? &s->brackets.items[s->brackets.n - 1] : NULL;
}

static bool ends_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_INT || kind == TOKEN_FLOAT || kind == TOKEN_BOOL ||
           kind == TOKEN_STRING || kind == TOKEN_FILL || kind == ')' || kind == ']';
}

/* The last token is the `init` of a reducer. */
static bool behind_init(const State *s)
{
    return s->reducer && kind_at(s, s->before) == '{';
}

/* ---- roles ----------------------------------------------------------------------------------- */

static TokenRole angle_role(State *s, int kind)
{
    Bracket *in = innermost(s);
    if (kind == '<' && s->header && s->brackets.n == 0)
        return IS_OPEN;
    return kind == '>' && in && in->sizes ? IS_CLOSE : IS_BINARY;
}

static TokenRole colon_role(State *s)
{
    Bracket *in = innermost(s);
    int *selects = in ? &in->selects : &s->selects;
    if (*selects > 0) {
        --*selects;
        return IS_SELECT;
    }
    return in && kind_at(s, in->piece) == '[' ? IS_TIGHT : IS_COLON;
}

static TokenRole question_role(State *s)
{
    Bracket *in = innermost(s);
    ++*(in ? &in->selects : &s->selects);
    return IS_SELECT;
}

/* The next token behind `i`; 0 at the end. */
static int kind_behind(const State *s, int i)
{
    for (i++; i < s->pieces->n; i++)
        if (!piece_is_comment(&s->pieces->items[i]))
            return s->pieces->items[i].kind;
    return 0;
}

/* `best largest= (x, i)`: a name behind an element, in front of '='. The words that make an update
 * of their own with '=' stay apart from it. */
static bool is_reducer(const State *s, int i)
{
    static const char *const updates[] = {"min", "max", "async"};
    const Piece *p = token_at(s, i);
    int last = kind_at(s, s->last);
    if (p->kind != TOKEN_NAME || p->begins || (last != TOKEN_NAME && last != ']') ||
        s->brackets.n > 0 || kind_behind(s, i) != '=')
        return false;
    for (size_t k = 0; k < sizeof updates / sizeof *updates; k++)
        if ((size_t)p->length == strlen(updates[k]) &&
            memcmp(p->text, updates[k], (size_t)p->length) == 0)
            return false;
    return true;
}

static TokenRole role_of(State *s, int i)
{
    int kind = kind_at(s, i);
    switch (kind) {
    case '(':
    case '[': return IS_OPEN;
    case ')':
    case ']': return IS_CLOSE;
    case '{':
    case '}': return IS_BRACE;
    case '<':
    case '>': return angle_role(s, kind);
    case '?': return question_role(s);
    case ':': return colon_role(s);
    case ',':
    case ';': return IS_COMMA;
    case '.':
    case TOKEN_DOTS: return IS_TIGHT;
    case '@': return IS_AT;
    case '!':
    case '~': return IS_UNARY;
    case '-': return ends_operand(kind_at(s, s->last)) && !behind_init(s) ? IS_BINARY : IS_UNARY;
    case '=':
    case TOKEN_UPDATE: return IS_ASSIGN;
    case TOKEN_ARROW: return IS_ARROW;
    default: break;
    }
    bool word = kind == TOKEN_NAME || (kind >= TOKEN_FN && kind <= TOKEN_WAIT) ||
                kind == TOKEN_INT || kind == TOKEN_FLOAT || kind == TOKEN_BOOL ||
                kind == TOKEN_STRING;
    return !word ? IS_BINARY : is_reducer(s, i) ? IS_REDUCER : IS_WORD;
}

/* ---- blanks ---------------------------------------------------------------------------------- */

/* The bracket belongs to the operand in front of it: a call, a subscript, parameters, sizes. */
static bool is_postfix(const State *s, int i)
{
    if (kind_at(s, i) == '<' || s->role == IS_CLOSE)
        return true;
    return ends_operand(kind_at(s, s->last)) && !behind_init(s);
}

/* `1 .x` and `1. ..n` would read as other numbers without the blank. */
static bool would_merge(const State *s, int i)
{
    const Piece *last = token_at(s, s->last);
    int kind = kind_at(s, i);
    return (kind == '.' && last->kind == TOKEN_INT) || (kind == '.' && last->kind == TOKEN_FLOAT) ||
           (kind == TOKEN_DOTS && last->text[last->length - 1] == '.');
}

static bool space_in_front(const State *s, int i, TokenRole role)
{
    if (s->last < 0)
        return false;
    if (s->role == IS_TIGHT || s->role == IS_OPEN || s->role == IS_UNARY || s->role == IS_AT ||
        s->role == IS_REDUCER)
        return false;
    switch (role) {
    case IS_TIGHT: return would_merge(s, i);
    case IS_CLOSE:
    case IS_COMMA:
    case IS_COLON: return false;
    case IS_OPEN: return !is_postfix(s, i);
    default: return true;
    }
}

/* ---- breaks ---------------------------------------------------------------------------------- */

/* Operators that bind more loosely come first. */
static int operator_break(int kind)
{
    static const int loosest_first[][6] = {
        {TOKEN_OR},
        {TOKEN_AND},
        {'|'},
        {'^'},
        {'&'},
        {TOKEN_EQ, TOKEN_NE},
        {'<', TOKEN_LE, '>', TOKEN_GE},
        {TOKEN_SHL, TOKEN_SHR},
        {'+', '-'},
        {'*', '/', '%'},
    };
    for (size_t row = 0; row < sizeof loosest_first / sizeof *loosest_first; row++)
        for (int k = 0; k < 6 && loosest_first[row][k]; k++)
            if (loosest_first[row][k] == kind)
                return BREAK_OPERATOR + (int)row;
    return BREAK_NEVER;
}

static int break_in_front(const State *s, int i, TokenRole role)
{
    if (kind_at(s, s->last) == ',')
        return BREAK_ITEM;
    if (role == IS_ARROW)
        return s->brackets.n == 0 && s->braces == 0 ? BREAK_CLAUSE : BREAK_MAP;
    bool parameters = role == IS_OPEN && kind_at(s, i) == '(' && s->brackets.n == 0;
    if (kind_at(s, i) == TOKEN_WHERE || (parameters && s->braces == 0))
        return BREAK_CLAUSE;
    if (role == IS_SELECT)
        return BREAK_SELECT;
    return role == IS_BINARY ? operator_break(kind_at(s, i)) : BREAK_NEVER;
}

/* A line does not break beside a comment inside it: the comment would seem to have its own line. */
static bool beside_comment(const State *s, int i)
{
    return i > 0 && piece_is_comment(&s->pieces->items[i - 1]) && !s->pieces->items[i].hard;
}

static bool hugs(int kind)
{
    return kind == ')' || kind == ']' || kind == ',' || kind == ';';
}

/* Comments in a line have blanks around them, but for brackets and commas. */
static void space_comments(Pieces *pieces)
{
    for (int i = 1; i < pieces->n; i++) {
        Piece *p = &pieces->items[i];
        const Piece *before = &pieces->items[i - 1];
        if (p->kind == PIECE_BLOCK_COMMENT)
            p->space = before->kind != '(' && before->kind != '[';
        else if (p->kind == PIECE_LINE_COMMENT)
            p->space = true;
        else if (piece_is_comment(before))
            p->space = !hugs(p->kind);
    }
}

/* ---- all pieces ------------------------------------------------------------------------------ */

static void open_or_close(State *s, int i, TokenRole role)
{
    if (role == IS_OPEN) {
        Bracket bracket = {.piece = i, .sizes = kind_at(s, i) == '<'};
        VEC_PUSH(s->pieces->ctx->arena, &s->brackets, bracket);
    } else if (role == IS_CLOSE && s->brackets.n > 0) {
        s->pieces->items[s->brackets.items[--s->brackets.n].piece].partner = i;
    }
    if (role == IS_BRACE)
        s->braces += kind_at(s, i) == '{' ? 1 : -1;
}

static void step(State *s, int i)
{
    Piece *p = &s->pieces->items[i];
    if (p->begins)
        s->selects = 0;
    if (s->braces == 0 && piece_starts_item(p)) {
        s->header = p->kind == TOKEN_KERNEL || p->kind == TOKEN_FN || p->kind == TOKEN_INSTRUCTION;
        s->reducer = p->kind == TOKEN_REDUCER;
    }
    TokenRole role = role_of(s, i);
    p->space = space_in_front(s, i, role);
    p->breaks = beside_comment(s, i) ? BREAK_NEVER : break_in_front(s, i, role);
    if (role == IS_OPEN && p->kind == '(')
        s->header = false;
    open_or_close(s, i, role);
    s->before = s->last;
    s->last = i;
    s->role = role;
}

void format_roles(Pieces *pieces)
{
    State s = {.pieces = pieces, .before = -1, .last = -1};
    for (int i = 0; i < pieces->n; i++)
        if (!piece_is_comment(&pieces->items[i]))
            step(&s, i);
    space_comments(pieces);
}
