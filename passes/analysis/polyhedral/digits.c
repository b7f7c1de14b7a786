/* digits.c - Inverts an index map by reading the mixed-radix digits off its outputs.
 *
 *   [i / 4, j * 4 + i % 4] at the place [a, b]:
 *       i / 4 = a,  j = b / 4,  i % 4 = b % 4,  so  i = a * 4 + b % 4
 *
 * A quotient, a remainder, or both are digits of a variable: v / from % (to / from). Where each
 * factor in a sum exceeds all smaller terms together, its terms are quotients and remainders of the
 * sum. Terms whose values are known are subtracted first. The factor may be a product of sizes:
 * i * N + j for j in N has the digits a / N and a % N. The digits of a variable, put together
 * again, are the variable. That covers splits, joins, permutations and skews, and gives the formula
 * that a person would write; relation_solve takes what is left. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/symbolic/affine.h"
#include "passes/analysis/symbolic/mixed_radix.h"

/* var / from % (to / from), of numbers and sizes; `to` NULL: no remainder is taken. */
typedef struct {
    const Var *var;
    Expr *from, *to;
    Expr *value; /* of the place's variables */
} DigitColumn;

typedef struct {
    Context *c;
    Facts *f; /* the ranges of the points */
    VEC(DigitColumn) known;
} Parts;

/* a / by, where a is a multiple of it; else NULL. */
static Expr *exact_quotient(const Parts *d, Expr *a, Expr *by)
{
    int64_t n, width;
    if (expr_is_const(a, &n) && expr_is_const(by, &width))
        return n % width == 0 ? expr_index(d->c, n / width) : NULL;
    Expr *quotient = simplify(d->f, index_div(d->c, a, by));
    Expr *again = simplify(d->f, index_mul(d->c, quotient, by));
    return expr_equal(again, simplify(d->f, a)) ? quotient : NULL;
}

static bool is_width(const Parts *d, Expr *e)
{
    int64_t number;
    if (expr_is_const(e, &number))
        return number >= 1;
    return expr_of_sizes(e) && prove_at_least(d->f, e, 1);
}

/* Reads an atom as a digit. */
static bool read_part(const Parts *d, const Expr *e, DigitColumn *out)
{
    if (e->kind == EX_VAR) {
        *out = (DigitColumn){e->u.var, expr_index(d->c, 1), NULL, NULL};
        return true;
    }
    if ((e->kind != EX_DIV && e->kind != EX_MOD) || !is_width(d, e->u.arg[1]) ||
        !read_part(d, e->u.arg[0], out))
        return false;
    Expr *place = simplify(d->f, index_mul(d->c, out->from, e->u.arg[1]));
    if (out->to && !exact_quotient(d, out->to, place))
        return false;
    if (e->kind == EX_DIV)
        out->from = place;
    else
        out->to = place;
    return true;
}

static bool same_end(const Expr *a, const Expr *b)
{
    return a && b ? expr_equal(a, b) : a == b;
}

/* A known digit that begins at `from`; one that ends at `to`, if there is. */
static const DigitColumn *find_part(const Parts *d, const DigitColumn *wanted, const Expr *from)
{
    const DigitColumn *found = NULL;
    for (int i = 0; i < d->known.n; i++) {
        const DigitColumn *digit = &d->known.items[i];
        if (digit->var == wanted->var && expr_equal(digit->from, from) &&
            (!found || same_end(digit->to, wanted->to)))
            found = digit;
    }
    return found;
}

/* The digit from known ones, or NULL. */
static Expr *assemble(const Parts *d, const DigitColumn *wanted)
{
    Expr *sum = NULL, *at = wanted->from;
    for (int step = 0; step < d->known.n && at; step++) {
        const DigitColumn *next = find_part(d, wanted, at);
        Expr *scale = next ? exact_quotient(d, at, wanted->from) : NULL;
        if (!scale)
            return NULL;
        Expr *part = index_mul(d->c, next->value, scale);
        sum = sum ? index_add(d->c, sum, part) : part;
        at = next->to;
        if (same_end(at, wanted->to))
            return sum;
    }
    return NULL;
}

/* The whole variable, or NULL. */
static Expr *assemble_all(const Parts *d, const Var *var)
{
    return assemble(d, &(DigitColumn){var, expr_index(d->c, 1), NULL, NULL});
}

/* The atom, from its digits or from the whole variable. */
static Expr *known_value(const Parts *d, Expr *atom)
{
    DigitColumn digit;
    if (!read_part(d, atom, &digit))
        return NULL;
    Expr *value = assemble(d, &digit);
    Expr *whole = value ? NULL : assemble_all(d, digit.var);
    Subst to = {(Var *)digit.var, whole};
    return whole ? expr_subst(d->c, atom, &to, 1) : value;
}

/* sum - coefficient * e */
static Expr *without(Context *c, Expr *sum, int64_t coefficient, Expr *e)
{
    if (coefficient < 0)
        return index_add(c, sum, index_mul(c, e, expr_index(c, -coefficient)));
    return index_sub(c, sum, index_mul(c, e, expr_index(c, coefficient)));
}

static bool learn(Parts *d, const Expr *atom, Expr *value)
{
    DigitColumn digit;
    if (!read_part(d, atom, &digit))
        return false;
    digit.value = value;
    VEC_PUSH(d->c->arena, &d->known, digit);
    return true;
}

/* The digit, whose values are counted from 0 on. */
static Digit digit_of(const Parts *d, Term t)
{
    Digit digit = {t.factor, t.atom, bounds_none()};
    int64_t min, max;
    if (bounds_const(d->f, t.atom, &min, &max) && min >= 0)
        digit.range = (Bounds){0, max};
    return digit;
}

/* The digits are those of the number `rest`. */
static bool take_apart(Parts *d, DigitList *digits, Expr *rest)
{
    Context *c = d->c;
    int n = digits->n;
    Digit *digit = digits->items;
    if (n == 1 && digit->coefficient < 0) {
        rest = index_sub(c, expr_index(c, 0), rest);
        return learn(d, digit->value, index_div(c, rest, expr_index(c, -digit->coefficient)));
    }
    if (!digits_are_apart(digits))
        return false;
    for (int i = n - 1; i >= 0; i--) {
        Expr *factor = expr_index(c, digit[i].coefficient);
        if (!learn(d, digit[i].value, index_div(c, rest, factor)))
            return false;
        rest = i > 0 ? index_mod(c, rest, factor) : rest;
    }
    return n > 0;
}

/* The sizes among the factors of a term, with its number, in *width, and what they are multiplied
 * by. NULL: there are none, or nothing else. */
static Expr *take_width(Context *c, const Term *term, Expr **width)
{
    ExprList factors = {0}, sizes = {0};
    expr_chain(c, term->atom, EX_MUL, &factors);
    for (int i = 0; i < factors.n; i++)
        if (expr_of_sizes(factors.items[i]))
            VEC_PUSH(c->arena, &sizes, factors.items[i]);
    if (term->factor < 1 || sizes.n == 0 || sizes.n == factors.n)
        return NULL;
    Expr *product = product_build(c, &sizes, term->atom->span);
    *width = index_mul(c, product, expr_index(c, term->factor));
    return product_divide(c, term->atom, product);
}

static bool read_value(Parts *d, Expr *output, Expr *rest);

/* `rest` is the form upper * width + low, for low in 0..width: its quotient and its remainder. */
static bool read_row(Parts *d, const Affine *form, Expr *rest)
{
    Context *c = d->c;
    for (int i = 0; i < form->n; i++) {
        Affine without = affine_without(c, *form, i);
        Expr *width, *low = affine_expr(c, &without, span_none());
        Expr *upper = take_width(c, &form->terms[i], &width);
        if (upper && prove_inside(d->f, low, width))
            return read_value(d, low, index_mod(c, rest, width)) &&
                   read_value(d, upper, index_div(c, rest, width));
    }
    return false;
}

/* Learns the values that the output determines, which is `rest`; false if there are none. */
static bool read_value(Parts *d, Expr *output, Expr *rest)
{
    Affine form;
    if (!simplify_affine(d->f, output, &form))
        return false;
    DigitList open = {0};
    for (int i = 0; i < form.n; i++) {
        Expr *value = known_value(d, form.terms[i].atom);
        if (value)
            rest = without(d->c, rest, form.terms[i].factor, value);
        else
            VEC_PUSH(d->c->arena, &open, digit_of(d, form.terms[i]));
    }
    rest = without(d->c, rest, form.constant, expr_index(d->c, 1));
    int known = d->known.n;
    if (take_apart(d, &open, rest))
        return true;
    d->known.n = known;
    if (open.n == form.n && form.constant == 0 && read_row(d, &form, rest))
        return true;
    d->known.n = known;
    return false;
}

/* The value of a variable that has one only, which no output need say. */
static Expr *only_value(Facts *f, const PointBox *box, int i)
{
    Expr *value = simplify(f, expr_var(f->c, box->var[i], span_none()));
    return value->kind == EX_INT ? value : NULL;
}

bool digits_solve(Context *c, Facts *f, const PointBox *box, Expr *const *to, int n,
                  Var *const *place, Expr **back)
{
    Parts d = {.c = c, .f = f};
    bool *done = ARENA_ARRAY(c->arena, bool, n + 1);
    for (bool progress = true; progress;) {
        progress = false;
        for (int k = 0; k < n; k++)
            if (!done[k] && read_value(&d, to[k], expr_var(c, place[k], span_none())))
                progress = done[k] = true;
    }
    for (int i = 0; i < box->n; i++) {
        back[i] = assemble_all(&d, box->var[i]);
        if (!back[i])
            back[i] = only_value(f, box, i);
        if (!back[i])
            return false;
    }
    return true;
}
