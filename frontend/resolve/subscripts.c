/* subscripts.c - Reads the subscripts of an element in the CUDA text of an instruction.
 *
 *   {a[2]}                                            a literal element
 *   {s[lane % 16, lane / 16 * 8]}                     each thread of a warp names its own
 *
 * A subscript is made of numbers and `lane` by + * / % and parentheses, and lies below the extent
 * of its axis for every lane. */
#include <ctype.h>
#include <string.h>

#include "frontend/resolve/internal.h"
#include "passes/analysis/symbolic/simplify.h"

typedef struct {
    Context *c;
    const Instruction *of;
    const char *at;
    int depth; /* of parentheses */
} Reader;

static Expr *read_sum(Reader *t);

static char next(Reader *t)
{
    while (*t->at == ' ' || *t->at == '\t')
        t->at++;
    return *t->at;
}

static bool take(Reader *t, char c)
{
    bool found = next(t) == c;
    t->at += found;
    return found;
}

static Expr *read_number(Reader *t)
{
    int64_t value = 0;
    while (isdigit((unsigned char)*t->at) && value < INT32_MAX)
        value = value * 10 + (*t->at++ - '0');
    return expr_index(t->c, value);
}

static Expr *read_lane(Reader *t)
{
    size_t length = strlen("lane");
    if (!t->of->lane || strncmp(t->at, "lane", length) != 0 ||
        isalnum((unsigned char)t->at[length]) || t->at[length] == '_')
        return NULL;
    t->at += length;
    return expr_var(t->c, t->of->lane, t->of->lane->span);
}

static Expr *read_factor(Reader *t)
{
    if (isdigit((unsigned char)next(t)))
        return read_number(t);
    if (!take(t, '('))
        return read_lane(t);
    Expr *inner = ++t->depth < AST_MAX_DEPTH ? read_sum(t) : NULL;
    t->depth--;
    return inner && take(t, ')') ? inner : NULL;
}

/* Divisors are positive numbers. */
static Expr *read_product(Reader *t)
{
    int64_t divisor;
    Expr *left = read_factor(t);
    while (left && next(t) && strchr("*/%", *t->at)) {
        char op = *t->at++;
        Expr *right = read_factor(t);
        if (!right || (op != '*' && (!expr_is_const(right, &divisor) || divisor < 1)))
            return NULL;
        left = op == '*'   ? index_mul(t->c, left, right)
               : op == '/' ? index_div(t->c, left, right)
                           : index_mod(t->c, left, right);
    }
    return left;
}

static Expr *read_sum(Reader *t)
{
    Expr *left = read_product(t);
    while (left && take(t, '+')) {
        Expr *right = read_product(t);
        left = right ? index_add(t->c, left, right) : NULL;
    }
    return left;
}

/* It is below the extent for every lane. */
static bool is_inside(const Reader *t, Expr *subscript, const Expr *extent)
{
    Facts *facts = facts_new(t->c);
    int64_t value, end;
    for (int64_t lane = 0; lane < t->of->lanes; lane++) {
        Subst to = {t->of->lane, expr_index(t->c, lane)};
        Expr *at = t->of->lane ? expr_subst(t->c, subscript, &to, 1) : subscript;
        if (!expr_is_const(simplify(facts, at), &value) || !expr_is_const(extent, &end) ||
            value >= end)
            return false;
    }
    return true;
}

const char *element_subscripts(Context *c, const Instruction *of, const Buffer *buffer,
                               const char *at, Expr **out)
{
    Reader t = {.c = c, .of = of, .at = at};
    for (int i = 0; i < buffer->rank; i++) {
        if (!take(&t, i ? ',' : '[') || !(out[i] = read_sum(&t)) ||
            !is_inside(&t, out[i], buffer->shape[i]))
            return NULL;
    }
    return take(&t, ']') ? t.at : NULL;
}
