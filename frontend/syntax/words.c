/* words.c - Decides from its neighbours whether a word is a keyword or a name.
 *
 * Only the words that start items and statements everywhere are reserved.  `in`, `step`, `block`
 * and the like are names unless their neighbours make them keywords, so that a buffer may be called
 * `in`:
 *
 *     for r in R  out[r] = in[r];     -- only the first `in` follows a name after `for`
 *
 * Raw tokens pass through a window of PARSE_LOOKAHEAD tokens.  Where a keyword's place could also
 * hold a name, what follows decides; a name is followed by '[', ':' or an operator there.
 *
 * After a syntax error the stream skips to where the broken statement ends: its ';', the brace that
 * closes its body, or the brace that closes what is around it. */
#include <string.h>

#include "frontend/syntax/internal.h"
#include "tirc_parser.h"

static const Token *peek(Parser *p, int n)
{
    while (p->n_ahead <= n)
        p->ahead[p->n_ahead++] = lexer_next(p);
    return &p->ahead[n];
}

static Token take(Parser *p)
{
    if (p->n_ahead == 0)
        return lexer_next(p);
    Token t = p->ahead[0];
    p->n_ahead--;
    memmove(p->ahead, p->ahead + 1, sizeof *p->ahead * (size_t)p->n_ahead);
    return t;
}

/* ---- roles: each rule sees the tokens handed out so far and the raw token after the word ---- */

static bool ends_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_INT || kind == TOKEN_FLOAT || kind == TOKEN_BOOL ||
           kind == TOKEN_FILL || kind == ')' || kind == ']';
}

static bool before_statement(int kind)
{
    return ends_operand(kind) || kind == '{' || kind == '}' || kind == ';' || kind == ':' ||
           kind == TOKEN_ELSE || kind == TOKEN_INIT || kind == TOKEN_PARALLEL ||
           kind == TOKEN_VECTORIZE || kind == TOKEN_UNROLL;
}

static bool starts_body(int kind)
{
    return kind == TOKEN_NAME || kind == '{' || kind == TOKEN_FOR || kind == TOKEN_IF ||
           kind == TOKEN_LET;
}

static bool is_in(const Parser *p, int next)
{
    int b = p->before_last;
    (void)next;
    if (p->last == ']' || p->last == TOKEN_FILL)
        return true;
    return p->last == TOKEN_NAME && (b == TOKEN_FOR || b == ',' || b == '(' || b == TOKEN_TUNE ||
                                     b == TOKEN_REDUCE || b == ':' || b == TOKEN_WHERE);
}

static bool is_is(const Parser *p, int next)
{
    (void)next;
    return p->braces == 0 && (p->last == TOKEN_NAME || p->last == ']');
}

static bool is_step(const Parser *p, int next)
{
    return ends_operand(p->last) &&
           (next == TOKEN_INT || next == TOKEN_NAME || next == '-' || next == '(');
}

static bool is_bind(const Parser *p, int next)
{
    return ends_operand(p->last) && next == TOKEN_NAME;
}

static bool is_loop_kind(const Parser *p, int next)
{
    return ends_operand(p->last) && (starts_body(next) || next == '@' || next == ',');
}

static bool is_reduce(const Parser *p, int next)
{
    return (p->last == '(' || p->last == ',') && next == TOKEN_NAME;
}

static bool is_inout(const Parser *p, int next)
{
    return (p->last == '(' || p->last == ',' || p->last == TOKEN_ARROW) && next == TOKEN_NAME;
}

/* Behind a type without a shape or with one, only in the head of a kernel: `-> y: f32[N] where N >
 * 1 {`; behind `lanes 32` in that of an instruction, and behind `ordered` in that of a reducer. */
static bool is_where(const Parser *p, int next)
{
    bool behind_type = p->braces == 0 && (p->last == TOKEN_NAME || p->last == ']');
    bool behind_lanes = p->last == TOKEN_INT && p->before_last == TOKEN_LANES;
    bool behind_word = p->last == TOKEN_ORDERED;
    return (p->last == ')' || behind_type || behind_lanes || behind_word) && next != '[' &&
           next != ':' && next != '=' && next != TOKEN_UPDATE;
}

/* `x[i] atomic += 1`, and `s atomic += 1`, where a statement begins with `s`: after `for i in N` a
 * temporary may be called `atomic`. */
static bool is_atomic(const Parser *p, int next)
{
    bool element = p->last == ']' || (p->last == TOKEN_NAME && before_statement(p->before_last));
    if (element && (next == '=' || next == TOKEN_UPDATE))
        return true;
    return ends_operand(p->last) && (next == '{' || next == '@');
}

static bool is_init(const Parser *p, int next)
{
    return before_statement(p->last) && starts_body(next);
}

/* `reducer argmax(`, among the items of a file. */
static bool is_reducer(const Parser *p, int next)
{
    bool first = p->last == 0 || p->last == '}' || p->last == ';';
    return first && p->braces == 0 && p->brackets == 0 && next == TOKEN_NAME;
}

/* `reducer affine(a: f32, b: f32) ordered {`, before a clause `where`. */
static bool is_ordered(const Parser *p, int next)
{
    return p->braces == 0 && p->brackets == 0 && p->last == ')' &&
           (next == '{' || next == TOKEN_NAME);
}

/* An item of a file, a clause of a block, or a statement of a launch. */
static bool is_instruction(const Parser *p, int next)
{
    return next == TOKEN_NAME && (p->last == 0 || before_statement(p->last) ||
                                  p->last == TOKEN_ATOMIC || p->last == TOKEN_STRING);
}

/* `lanes 32`, in the head of an instruction. */
static bool is_lanes(const Parser *p, int next)
{
    return p->braces == 0 && p->brackets == 0 && next == TOKEN_INT;
}

/* `tensor(f16)`, behind it, or behind the operands, where it is refused. */
static bool is_tensor(const Parser *p, int next)
{
    bool behind_lanes = p->last == TOKEN_INT && p->before_last == TOKEN_LANES;
    return p->braces == 0 && (behind_lanes || p->last == ')') && next == '(';
}

static bool is_cuda(const Parser *p, int next)
{
    return p->braces == 0 && p->brackets == 0 && (next == TOKEN_STRING || next == TOKEN_FOR);
}

static bool is_named(const Parser *p, int next)
{
    return before_statement(p->last) && next == TOKEN_NAME;
}

/* Where an item of a file begins. */
static bool is_fn(const Parser *p, int next)
{
    return p->braces == 0 && next == TOKEN_NAME &&
           (p->last == 0 || p->last == '}' || p->last == ';');
}

static bool is_barrier(const Parser *p, int next)
{
    return before_statement(p->last) && next == TOKEN_STRING;
}

static bool is_try(const Parser *p, int next)
{
    return before_statement(p->last) && next == '{';
}

/* `while x > 0 ...`, but not `while[i] = 0`, of a buffer of that name. */
static bool is_while(const Parser *p, int next)
{
    return before_statement(p->last) && next != '[' && next != ':' && next != '=' && next != '.' &&
           next != ',' && next != ';' && next != TOKEN_UPDATE;
}

static bool is_break(const Parser *p, int next)
{
    return before_statement(p->last) && next == ';';
}

/* A statement, or a clause in the head of an instruction. */
static bool is_commit(const Parser *p, int next)
{
    return is_barrier(p, next) || is_cuda(p, next);
}

static bool is_wait(const Parser *p, int next)
{
    return (before_statement(p->last) && next == TOKEN_INT) || is_cuda(p, next);
}

/* A statement of a launch with the number of groups. */
static bool is_counted(const Parser *p, int next)
{
    return before_statement(p->last) && next == TOKEN_INT;
}

static const struct {
    const char *word;
    int kind;
    bool (*is_keyword)(const Parser *p, int next);
} words[] = {
    {"in", TOKEN_IN, is_in},
    {"step", TOKEN_STEP, is_step},
    {"bind", TOKEN_BIND, is_bind},
    {"parallel", TOKEN_PARALLEL, is_loop_kind},
    {"vectorize", TOKEN_VECTORIZE, is_loop_kind},
    {"unroll", TOKEN_UNROLL, is_loop_kind},
    {"reduce", TOKEN_REDUCE, is_reduce},
    {"inout", TOKEN_INOUT, is_inout},
    {"is", TOKEN_IS, is_is},
    {"where", TOKEN_WHERE, is_where},
    {"atomic", TOKEN_ATOMIC, is_atomic},
    {"init", TOKEN_INIT, is_init},
    {"reducer", TOKEN_REDUCER, is_reducer},
    {"ordered", TOKEN_ORDERED, is_ordered},
    {"instruction", TOKEN_INSTRUCTION, is_instruction},
    {"lanes", TOKEN_LANES, is_lanes},
    {"tensor", TOKEN_TENSOR, is_tensor},
    {"cuda", TOKEN_CUDA, is_cuda},
    {"block", TOKEN_BLOCK, is_named},
    {"temp", TOKEN_TEMP, is_named},
    {"view", TOKEN_VIEW, is_named},
    {"call", TOKEN_CALL, is_named},
    {"launch", TOKEN_LAUNCH, is_named},
    {"fn", TOKEN_FN, is_fn},
    {"barrier", TOKEN_BARRIER, is_barrier},
    {"commit", TOKEN_COMMIT, is_commit},
    {"acquire", TOKEN_ACQUIRE, is_counted},
    {"receive", TOKEN_RECEIVE, is_barrier},
    {"release", TOKEN_RELEASE, is_counted},
    {"producer", TOKEN_PRODUCER, is_try},
    {"wait", TOKEN_WAIT, is_wait},
    {"try", TOKEN_TRY, is_try},
    {"while", TOKEN_WHILE, is_while},
    {"break", TOKEN_BREAK, is_break},
};

/* `reduce in 0..K` names an iterator `reduce`; `reduce in in 0..K` reduces over `in`. */
static bool word_is_name_before_in(Parser *p)
{
    return strcmp(peek(p, 0)->value.name, "in") == 0 &&
           !(peek(p, 1)->kind == TOKEN_NAME && strcmp(peek(p, 1)->value.name, "in") == 0);
}

static int word_role(Parser *p, const Token *t)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!word_is(words[i].word, t->value.name))
            continue;
        int next = peek(p, 0)->kind;
        if (words[i].kind == TOKEN_REDUCE && next == TOKEN_NAME && word_is_name_before_in(p))
            return TOKEN_NAME;
        return words[i].is_keyword(p, next) ? words[i].kind : TOKEN_NAME;
    }
    return TOKEN_NAME;
}

/* ---- after an error ---- */

static Token end_of_statement(Token at)
{
    at.kind = ';';
    return at;
}

static Token skip_statement(Parser *p)
{
    p->resync = false;
    for (;;) {
        const Token *next = peek(p, 0);
        if (next->kind == TOKEN_END)
            return take(p);
        if (next->kind == TOKEN_KERNEL || next->kind == TOKEN_SCHEDULE ||
            next->kind == TOKEN_PROC) {
            p->gave_up = p->braces > 0 || p->resync_open > 0;
            return end_of_statement(*next);
        }
        if (next->kind == '}' && p->resync_open == 0)
            return take(p);
        Token t = take(p);
        if (t.kind == '(')
            p->resync_parens++;
        else if (t.kind == ')' && p->resync_parens > 0)
            p->resync_parens--;
        else if (t.kind == '{')
            p->resync_open++;
        else if (t.kind == ';' && p->resync_open == 0 && p->resync_parens == 0)
            return t;
        else if (t.kind == '}' && --p->resync_open == 0 && peek(p, 0)->kind != TOKEN_ELSE)
            return end_of_statement(t);
    }
}

/* ---- the stream ---- */

static void count_open(Parser *p, const Token *t)
{
    if (t->kind == '{')
        p->braces++;
    else if (t->kind == '}' && p->braces > 0)
        p->braces--;
    else if (t->kind == '(' || t->kind == '[')
        p->brackets++;
    else if ((t->kind == ')' || t->kind == ']') && p->brackets > 0)
        p->brackets--;
    if (p->braces + p->brackets > AST_MAX_DEPTH)
        parse_too_deep(p, t->span);
}

Token words_next(Parser *p)
{
    Token t = p->resync ? skip_statement(p) : take(p);
    if (t.kind == TOKEN_NAME)
        t.kind = word_role(p, &t);
    count_open(p, &t);
    if (p->gave_up)
        t.kind = TOKEN_END;
    p->before_last = p->last;
    p->before_span = p->last_span;
    p->last = t.kind;
    p->last_span = t.span;
    return t;
}
