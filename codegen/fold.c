/* fold.c - Folds long lines of C, as formatters do.
 *
 *   y[i] = x[i] > 0.0f                          where brackets are fewest,
 *       ? first(x[i], a, b) : second(x[i]);     and there where operators bind least
 *   z[i] = 0.5f * (x[i - 1] - x[i + 1])         operators that bind more than others around them
 *       + w[i]                                  go on further to the right
 *           * (a[i] - b[i]);
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
    MIXED = 2,      /* of one at an operator that binds more than another one of its operand */
    CHOSEN = 5,     /* where that is a `?` */
    NO_BREAK = 1 << 20
};

/* A bracket that is open. */
typedef struct {
    int start;      /* the column of what it holds */
    int chain;      /* the column of the first subscript behind the same name */
    int cost;       /* of a break in it */
    bool long_item; /* the item of its list that is under way has a break */
} Bracket;

/* What stands between two commas of the same bracket. */
typedef struct {
    unsigned operators; /* bit n: some of cost n */
    int choices;        /* how many `?` */
    bool in_list;       /* the bracket has commas */
} Group;

/* A line under way. */
typedef struct {
    StrBuf *out;
    const char *line;
    int *group_of; /* by the place in the line */
    Group *groups;
    int indent, column;
    int begin; /* the column where the line of the text begins */
    Bracket brackets[MOST_BRACKETS];
    int open;
    int chain; /* of the bracket that was closed last */
} Fold;

/* ---- places ---------------------------------------------------------------------------------- */

typedef struct {
    char sign[3]; /* with a space in front and one behind */
    int cost;
} Operator;

enum { CHOICE = 1, OTHERWISE = 2 };

/* Those that bind least come first. A line that goes on starts with its operator. */
static const Operator operators[] = {
    {"?", CHOICE}, {":", OTHERWISE}, {"||", 3}, {"&&", 4}, {"==", 5}, {"!=", 5}, {"<", 5},
    {">", 5},      {"<=", 5},        {">=", 5}, {"|", 5},  {"^", 5},  {"&", 5},  {"<<", 5},
    {">>", 5},     {"+", 6},         {"-", 6},  {"*", 7},  {"/", 7},  {"%", 7}};

static bool is_sign(const char *at, const char *sign)
{
    return at[0] == sign[0] && (sign[1] ? at[1] == sign[1] && at[2] == ' ' : at[1] == ' ');
}

/* What a break in front of the operator at `at` costs; 0: there is none. */
static int operator_cost(const char *at)
{
    if (at[-1] != ' ' || !strchr("?:|&=!<>^+-*/%", *at))
        return 0;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is_sign(at, operators[i].sign))
            return operators[i].cost;
    return 0;
}

/* `at` stands behind ` = `, ` += ` and the like. */
static bool is_assigned(const char *at)
{
    return at[-1] == ' ' && at[-2] == '=' && strchr(" +-*/%&|^", at[-3]);
}

static bool is_listed(const char *at)
{
    return at[-1] == ' ' && (at[-2] == ',' || at[-2] == ';');
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

/* Finds the groups of the line. */
static void find_groups(Fold *f, const char *end)
{
    size_t n = (size_t)(end - f->line);
    int open = 0, made = 0, *within = ARENA_ARRAY(f->out->arena, int, n + 1);
    f->group_of = ARENA_ARRAY(f->out->arena, int, n + 1);
    f->groups = ARENA_ARRAY(f->out->arena, Group, 2 * n + 2);
    for (const char *at = f->line + f->indent; at < end; at++) {
        at = skip_quoted(at, end);
        bool inside = at - f->line > STEP; /* so that something stands in front */
        int cost = inside ? operator_cost(at) : 0;
        if (strchr(")]}", *at) && open > 0)
            open--;
        if (inside && (is_assigned(at) || is_listed(at))) {
            f->groups[within[open]].in_list |= at[-2] == ',';
            within[open] = ++made;
            f->groups[made].in_list = at[-2] == ',';
        }
        Group *group = &f->groups[within[open]];
        f->group_of[at - f->line] = within[open];
        group->operators |= 1u << cost;
        group->choices += cost == CHOICE;
        if (strchr("([{", *at))
            within[++open] = ++made;
    }
}

static const Group *group_at(const Fold *f, const char *at)
{
    return &f->groups[f->group_of[at - f->line]];
}

/* How many kinds of operators around the one at `at` bind less. */
static int level_at(const Fold *f, const char *at)
{
    int cost = operator_cost(at), level = 0;
    for (int less = 1; less < (cost == OTHERWISE ? CHOICE : cost); less++)
        level += less != OTHERWISE && (group_at(f, at)->operators >> less & 1);
    return level;
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* The least cost of the operators behind `from` in the group of `at`. */
static int least_behind(const Fold *f, const char *from, const char *at, const char *end)
{
    int least = operator_cost(at);
    for (const char *to = from + 1; to < end; to++) {
        int cost = f->group_of[to - f->line] == f->group_of[at - f->line] ? operator_cost(to) : 0;
        least = cost && cost < least ? cost : least;
    }
    return least;
}

/* What a break at the operator costs on a line that begins at `from`. In a chain of choices, each
 * has a line; else the two values of a choice stay together. */
static int break_at_operator(const Fold *f, const char *from, const char *at, const char *end)
{
    int cost = operator_cost(at), least = least_behind(f, from, at, end);
    if (cost > OTHERWISE)
        return least == cost ? cost : cost + (least > OTHERWISE ? MIXED : CHOSEN);
    if (group_at(f, at)->choices < 2)
        return cost;
    return cost == CHOICE ? OTHERWISE : CHOICE;
}

/* Has the group operators of several kinds? */
static bool is_mixed(const Group *group)
{
    unsigned kinds = group->operators & ~(1u << OTHERWISE | 1u);
    return (kinds & (kinds - 1)) != 0;
}

/* What a break behind ` = ` costs: less where the rest then fits, or where operators of several
 * kinds would otherwise hang from what stands on the left. */
static int break_at_value(const Fold *f, const char *at, const char *end)
{
    enum { WHOLE_VALUE = 4, MIXED_VALUE = 8, VALUE = 15 };
    if (end - at + f->indent + STEP <= MOST_COLUMNS)
        return WHOLE_VALUE;
    return is_mixed(group_at(f, at)) ? MIXED_VALUE : VALUE;
}

/* What a break in front of `at` costs, apart from brackets, on a line that begins at `from`. */
static int cost_before(const Fold *f, const char *from, const char *at, const char *end)
{
    enum { AFTER_BRACKET = 12, SECOND_SUBSCRIPT = 18 };
    if (at[-1] == ']' && *at == '[')
        return SECOND_SUBSCRIPT;
    if (at[-1] == '(')
        return AFTER_BRACKET;
    if (is_listed(at))
        return 0;
    if (is_assigned(at))
        return break_at_value(f, at, end);
    return operator_cost(at) ? break_at_operator(f, from, at, end) : NO_BREAK;
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
        f->brackets[f->open++] = (Bracket){column + 1, chain, cost, false};
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
        int cost =
            to - at > STEP ? cost_before(&ahead, at, to, end) + cost_inside(&ahead) : NO_BREAK;
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
    f->begin = f->column = column;
}

/* Where what is in the same bracket goes on: under its start, if that is not too far to the
 * right. */
static int column_inside(Fold *f, const char *at)
{
    if (f->open == 0)
        return f->indent + STEP;
    int *start = &f->brackets[f->open - 1].start;
    int around = f->open > 1 ? f->brackets[f->open - 2].start : f->begin;
    if (at[-1] == '(' || *start > LAST_START)
        *start = around + STEP <= LAST_START ? around + STEP : f->indent + 2 * STEP;
    return *start;
}

/* Where the code from `at` on goes on. */
static int next_column(Fold *f, const char *at)
{
    if (at[-1] == ']')
        return f->chain <= LAST_START ? f->chain : f->indent + STEP;
    int column = column_inside(f, at);
    if (!operator_cost(at))
        return column;
    int levels = level_at(f, at) + (f->open > 0 && group_at(f, at)->in_list);
    return column + levels * STEP <= LAST_START ? column + levels * STEP : column;
}

/* Items of lists that are open have a break now; the next item has none. */
static void note_break(Fold *f, const char *at)
{
    for (int i = 0; i < f->open; i++)
        f->brackets[i].long_item = true;
    if (f->open > 0 && (is_listed(at) || at[-1] == '('))
        f->brackets[f->open - 1].long_item = false;
}

/* The comma behind an item with a break, after which the next item begins a line; NULL: there is
 * none. */
static const char *after_long_item(const Fold *f, const char *at, const char *end)
{
    Fold ahead = *f;
    for (const char *to = at; to < end && ahead.open > 0; to++) {
        if (to > at && is_listed(to) && to[-2] == ',' && ahead.open <= f->open &&
            ahead.brackets[ahead.open - 1].long_item)
            return to;
        const char *quoted = skip_quoted(to, end);
        if (quoted == to)
            step_over(&ahead, to, 0);
        to = quoted;
    }
    return NULL;
}

static void fold_code(Fold *f, const char *at, const char *end)
{
    const char *to = at;
    while (to) {
        bool fits = end - at + f->column <= MOST_COLUMNS;
        const char *item = after_long_item(f, at, end);
        to = item && item - at + f->column <= MOST_COLUMNS ? item
             : fits                                        ? NULL
                                                           : best_break(f, at, end);
        if (!to)
            break;
        put(f, at, to[-1] == ' ' ? to - 1 : to);
        note_break(f, to);
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
    Fold f = {.out = out, .line = line};
    if (end - line <= MOST_COLUMNS || *line == '#' || end[-1] == '\\') {
        strbuf_addn(out, line, (size_t)(end - line));
        return;
    }
    while (line + f.indent < end && line[f.indent] == ' ')
        f.begin = ++f.indent;
    const char *comment = comment_of(line, end), *code_end = comment;
    while (comment < end && code_end > line && code_end[-1] == ' ')
        code_end--;
    find_groups(&f, code_end);
    put(&f, line, line + f.indent);
    fold_code(&f, line + f.indent, code_end);
    strbuf_addn(out, code_end, (size_t)(comment - code_end));
    f.column += (int)(comment - code_end);
    if (comment < end)
        fold_comment(&f, comment, end);
}
