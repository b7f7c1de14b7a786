/* simplify_text.h - INDEX and boolean expressions from text, for the tests of analysis/.
 *
 * Names are variables of a World, made when they are first met: one letter in capitals is a
 * size, all else a loop variable.  C's operators and precedence, min(a, b) and max(a, b). */
#ifndef TIRC_TESTS_SIMPLIFY_TEXT_H
#define TIRC_TESTS_SIMPLIFY_TEXT_H

#include <ctype.h>
#include <string.h>

#include "passes/analysis/symbolic/simplify.h"

enum { WORLD_VARS = 32 };

typedef struct {
    Context *c;
    Facts *f;
    Var *vars[WORLD_VARS];
    int n_vars;
    const char *at; /* of the text being read */
} World;

static inline Var *world_var(World *w, const char *text)
{
    Name name = ctx_name(w->c, text);
    for (int k = 0; k < w->n_vars; k++)
        if (w->vars[k]->name == name)
            return w->vars[k];
    VarKind kind = isupper((unsigned char)text[0]) ? VAR_SIZE : VAR_LOOP;
    return w->vars[w->n_vars++] = var_new(w->c, name, DT_INDEX, kind, span_none());
}

static inline bool text_take(World *w, const char *token)
{
    while (*w->at == ' ')
        w->at++;
    size_t n = strlen(token);
    if (strncmp(w->at, token, n) != 0)
        return false;
    /* `<` is not the begin of `<=` or `<<`, nor `!` of `!=`, nor `|` of `||`. */
    if (n == 1 && strchr("<>!", token[0]) && w->at[1] == '=')
        return false;
    if (n == 1 && strchr("<>|&", token[0]) && w->at[1] == token[0])
        return false;
    w->at += n;
    return true;
}

static inline Expr *text_level(World *w, int level);

static inline Expr *text_primary(World *w)
{
    if (text_take(w, "(")) {
        Expr *e = text_level(w, 0);
        text_take(w, ")");
        return e;
    }
    if (text_take(w, "-"))
        return expr_unary(w->c, EX_NEG, text_primary(w), span_none());
    if (text_take(w, "!"))
        return expr_unary(w->c, EX_NOT, text_primary(w), span_none());
    if (isdigit((unsigned char)*w->at)) {
        char *end;
        int64_t value = strtoll(w->at, &end, 10);
        w->at = end;
        return expr_index(w->c, value);
    }
    char name[32];
    int n = 0;
    while (isalnum((unsigned char)*w->at) || *w->at == '_')
        name[n++] = *w->at++;
    name[n] = 0;
    bool is_min = strcmp(name, "min") == 0;
    if (!is_min && strcmp(name, "max") != 0)
        return expr_var(w->c, world_var(w, name), span_none());
    text_take(w, "(");
    Expr *a = text_level(w, 0);
    text_take(w, ",");
    Expr *b = text_level(w, 0);
    text_take(w, ")");
    return expr_binary(w->c, is_min ? EX_MIN : EX_MAX, a, b, span_none());
}

/* Operators from the loosest to the tightest; a longer one before its prefix. */
static inline Expr *text_level(World *w, int level)
{
    static const struct {
        const char *token;
        ExprKind kind;
        int level;
    } ops[] = {{"||", EX_OR, 1},    {"&&", EX_AND, 2}, {"|", EX_BITOR, 3}, {"^", EX_BITXOR, 4},
               {"&", EX_BITAND, 5}, {"==", EX_EQ, 6},  {"!=", EX_NE, 6},   {"<=", EX_LE, 7},
               {">=", EX_GE, 7},    {"<", EX_LT, 7},   {">", EX_GT, 7},    {"<<", EX_SHL, 8},
               {">>", EX_SHR, 8},   {"+", EX_ADD, 9},  {"-", EX_SUB, 9},   {"*", EX_MUL, 10},
               {"/", EX_DIV, 10},   {"%", EX_MOD, 10}};
    if (level == 11)
        return text_primary(w);
    Expr *e = text_level(w, level + 1);
    if (level == 0 && text_take(w, "?")) {
        Expr *a = text_level(w, 0);
        text_take(w, ":");
        return expr_select(w->c, e, a, text_level(w, 0), span_none());
    }
    for (size_t k = 0; k < sizeof ops / sizeof *ops;) {
        if (ops[k].level == level && text_take(w, ops[k].token)) {
            e = expr_binary(w->c, ops[k].kind, e, text_level(w, level + 1), span_none());
            k = 0;
        } else {
            k++;
        }
    }
    return e;
}

static inline Expr *text_expr(World *w, const char *text)
{
    w->at = text;
    return text_level(w, 0);
}

static inline const char *text_of(World *w, const Expr *e)
{
    StrBuf out = strbuf_new(w->c->arena);
    print_expr(e, &out);
    return out.text;
}

/* lo <= name < hi. */
static inline void world_range(World *w, const char *name, const char *lo, const char *hi)
{
    Expr *low = text_expr(w, lo), *high = text_expr(w, hi);
    facts_range(w->f, world_var(w, name), low, high);
}

static inline void world_let(World *w, const char *name, const char *value)
{
    facts_enter(w->f, stmt_let(w->c, (Var *)world_var(w, name), text_expr(w, value), span_none()));
}

static inline World world_new(void)
{
    World w = {.c = ctx_new(0)};
    w.f = facts_new(w.c);
    return w;
}

#endif
