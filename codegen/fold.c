/* fold.c - Folds long lines of C, as formatters do.
 *
 *   y[i] = x[i] > 0.0f ? first(x[i], a, b)      where brackets are fewest,
 *       : second(x[i], a, b);                   and there where operators bind least
 *   copy(&s[t][lane],                           under what the bracket opens
 *        &x[block * 4096 + t * 32 + lane]);
 *
 * Text changes only in spaces and ends of lines. A long comment goes on below itself. */
#include <string.h>

#include "codegen/fold.h"

enum {
    MOST_COLUMNS = 100,
    LAST_START = 72, /* a line that goes on starts no further right */
    STEP = 4,        /* otherwise, to the right of the statement */
    MOST_BRACKETS = 32,
    BRACKET = 10,   /* the cost of a break inside of one more bracket */
    SUBSCRIPT = 30, /* of one around a subscript */
    NO_BREAK = 1 << 20
};

/* A bracket that is open. */
typedef struct {
    int start; /* the column of what it holds */
    int chain; /* the column of the first subscript behind the same name */
    int cost;  /* of a break in it */
} Bracket;

/* A line under way. */
typedef struct {
    StrBuf *out;
    int indent, column;
    Bracket brackets[MOST_BRACKETS];
    int open;
    int chain; /* of the bracket that was closed last */
} Fold;

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct {
    const char *text; /* with the spaces around it */
    int cost;
} Operator;

/* Those that bind least come first. A line that goes on starts with its operator. */
static const Operator operators[] = {{" ? ", 1},  {" : ", 1}, {" || ", 2}, {" && ", 3}, {" == ", 5},
                                     {" != ", 5}, {" < ", 5}, {" > ", 5},  {" <= ", 5}, {" >= ", 5},
                                     {" | ", 5},  {" ^ ", 5}, {" & ", 5},  {" << ", 5}, {" >> ", 5},
                                     {" + ", 6},  {" - ", 6}, {" * ", 7},  {" / ", 7},  {" % ", 7}};

/* `at` stands behind ` = `, ` += ` and the like. */
static bool is_assigned(const char *at)
{
    return at[-2] == '=' && strchr(" +-*/%&|^", at[-3]);
}

/* What a break in front of `at` costs, apart from brackets. */
static int cost_before(const Fold *f, const char *at, const char *end)
{
    enum { WHOLE_VALUE = 4, AFTER_BRACKET = 12, AFTER_ASSIGNMENT = 15, SECOND_SUBSCRIPT = 18 };
    if (at[-1] == ']' && *at == '[')
        return SECOND_SUBSCRIPT;
    if (at[-1] == '(')
        return AFTER_BRACKET;
    if (at[-1] != ' ')
        return NO_BREAK;
    if (at[-2] == ',' || at[-2] == ';')
        return 0;
    if (is_assigned(at))
        return end - at + f->indent + STEP <= MOST_COLUMNS ? WHOLE_VALUE : AFTER_ASSIGNMENT;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strncmp(at - 1, operators[i].text, strlen(operators[i].text)) == 0)
            return operators[i].cost;
    return NO_BREAK;
}

/* The end of the string or character that begins at `at`, or `at`. */
static const char *skip_quoted(const char *at, const char *end)
{
    if (*at != '"')
        return at;
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at;
}

/* ---- code ------------------------------------------------------------------------------------ */

static int cost_inside(const Fold *f)
{
    return f->open > 0 ? f->brackets[f->open - 1].cost : 0;
}

/* Goes over a character in a column: brackets open and close. */
static void step_over(Fold *f, const char *at, int column)
{
    if (strchr("([{", *at) && f->open < MOST_BRACKETS) {
        int cost = cost_inside(f) + (*at == '[' ? SUBSCRIPT : BRACKET);
        int chain = at[0] == '[' && at[-1] == ']' ? f->chain : column;
        f->brackets[f->open++] = (Bracket){column + 1, chain, cost};
    } else if (strchr(")]}", *at) && f->open > 0) {
        f->chain = f->brackets[--f->open].chain;
    }
}

/* The best place to break the code from `at` on, or NULL. */
static const char *best_break(const Fold *f, const char *at, const char *end)
{
    const char *best = NULL;
    int least = NO_BREAK;
    Fold ahead = *f;
    for (const char *to = at; to < end && to - at + f->column <= MOST_COLUMNS; to++) {
        const char *quoted = skip_quoted(to, end);
        int cost = to - at > STEP ? cost_before(f, to, end) + cost_inside(&ahead) : NO_BREAK;
        if (cost <= least && cost < NO_BREAK) {
            least = cost;
            best = to;
        }
        if (quoted == to)
            step_over(&ahead, to, f->column + (int)(to - at));
        to = quoted;
    }
    return best;
}

static void put(Fold *f, const char *at, const char *end)
{
    for (const char *to = at; to < end; to++) {
        const char *quoted = skip_quoted(to, end);
        if (quoted == to)
            step_over(f, to, f->column + (int)(to - at));
        to = quoted;
    }
    strbuf_addn(f->out, at, (size_t)(end - at));
    f->column += (int)(end - at);
}

static void new_line(Fold *f, int column)
{
    strbuf_add(f->out, "\n");
    for (int i = 0; i < column; i++)
        strbuf_add(f->out, " ");
    f->column = column;
}

/* Where the code from `at` on goes on: under what is in the same bracket, if that is not too far to
 * the right. */
static int next_column(Fold *f, const char *at)
{
    if (f->open == 0 || at[-1] == ']')
        return at[-1] == ']' && f->chain <= LAST_START ? f->chain : f->indent + STEP;
    int *start = &f->brackets[f->open - 1].start;
    int around = f->open > 1 ? f->brackets[f->open - 2].start : f->indent;
    if (at[-1] == '(' || *start > LAST_START)
        *start = around + STEP <= LAST_START ? around + STEP : f->indent + 2 * STEP;
    return *start;
}

static void fold_code(Fold *f, const char *at, const char *end)
{
    const char *to = NULL;
    while (end - at + f->column > MOST_COLUMNS && (to = best_break(f, at, end))) {
        put(f, at, to[-1] == ' ' ? to - 1 : to);
        new_line(f, next_column(f, to));
        at = to;
    }
    put(f, at, end);
}

/* ---- comments -------------------------------------------------------------------------------- */

/* Adds `// ...` in lines below each other. */
static void fold_comment(Fold *f, const char *at, const char *end)
{
    int column = f->column;
    while (end - at + f->column > MOST_COLUMNS) {
        const char *to = at + (MOST_COLUMNS - f->column);
        while (to > at && *to != ' ')
            to--;
        if (to <= at + strlen("//"))
            break;
        strbuf_addn(f->out, at, (size_t)(to - at));
        new_line(f, column);
        strbuf_add(f->out, "//");
        f->column += 2;
        at = to;
    }
    strbuf_addn(f->out, at, (size_t)(end - at));
}

/* Where the comment of a line begins, or `end`. */
static const char *comment_of(const char *line, const char *end)
{
    for (const char *at = line; at + 1 < end; at++) {
        at = skip_quoted(at, end);
        if (at[0] == '/' && at[1] == '/')
            return at;
    }
    return end;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void fold_line(StrBuf *out, const char *line, const char *end)
{
    Fold f = {.out = out};
    if (end - line <= MOST_COLUMNS || *line == '#' || end[-1] == '\\') {
        strbuf_addn(out, line, (size_t)(end - line));
        return;
    }
    while (line + f.indent < end && line[f.indent] == ' ')
        f.indent++;
    const char *comment = comment_of(line, end), *code_end = comment;
    while (comment < end && code_end > line && code_end[-1] == ' ')
        code_end--;
    put(&f, line, line + f.indent);
    fold_code(&f, line + f.indent, code_end);
    strbuf_addn(out, code_end, (size_t)(comment - code_end));
    f.column += (int)(comment - code_end);
    if (comment < end)
        fold_comment(&f, comment, end);
}
