/* digits.c - Inverts an index map by reading the mixed-radix digits off its outputs.
 *
 *   [i / 4, j * 4 + i % 4] at the place [a, b]:
 *       i / 4 = a,  j = b / 4,  i % 4 = b % 4,  so  i = a * 4 + b % 4
 *
 * A quotient, a remainder, or both are digits of a variable: v / from % (to / from). Digits whose
 * factors in a sum are further apart than all smaller terms together are the quotients and
 * remainders of the sum; what is known already is taken away first. The digits of a variable, put
 * together again, are the variable. That covers splits, joins, permutations and skews, and gives
 * the formula that a person would write; relation_solve takes what is left. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/analysis/symbolic/affine.h"

/* var / from % (to / from); to 0: no remainder is taken. */
typedef struct {
    const Var *var;
    int64_t from, to;
    Expr *value; /* of the place's variables */
} Digit;

typedef struct {
    Context *c;
    Facts *f; /* the ranges of the points */
    VEC(Digit) known;
} Digits;

/* Reads an atom as a digit. */
static bool read_digit(const Expr *e, Digit *out)
{
    int64_t by, place;
    if (e->kind == EX_VAR) {
        *out = (Digit){e->u.var, 1, 0, NULL};
        return true;
    }
    if ((e->kind != EX_DIV && e->kind != EX_MOD) || !expr_is_const(e->u.arg[1], &by) || by <= 0 ||
        !read_digit(e->u.arg[0], out) || !checked_mul(out->from, by, &place) ||
        (out->to > 0 && out->to % place != 0))
        return false;
    if (e->kind == EX_DIV)
        out->from = place;
    else
        out->to = place;
    return true;
}

/* A known digit that begins at `from`; one that ends at `to`, if there is. */
static const Digit *find_digit(const Digits *d, const Var *var, int64_t from, int64_t to)
{
    const Digit *found = NULL;
    for (int i = 0; i < d->known.n; i++) {
        const Digit *digit = &d->known.items[i];
        if (digit->var == var && digit->from == from && (!found || digit->to == to))
            found = digit;
    }
    return found;
}

/* The digit from known ones, or NULL. */
static Expr *assemble(const Digits *d, const Digit *wanted)
{
    Expr *sum = NULL;
    int64_t at = wanted->from;
    do {
        const Digit *next = find_digit(d, wanted->var, at, wanted->to);
        if (!next || (next->to != 0 && next->to <= at))
            return NULL;
        Expr *part = index_mul(d->c, next->value, expr_index(d->c, at / wanted->from));
        sum = sum ? index_add(d->c, sum, part) : part;
        at = next->to;
    } while (at != wanted->to && at != 0);
    return at == wanted->to ? sum : NULL;
}

/* The atom, from its digits or from the whole variable. */
static Expr *known_value(const Digits *d, Expr *atom)
{
    Digit digit;
    if (!read_digit(atom, &digit))
        return NULL;
    Expr *value = assemble(d, &digit);
    Expr *whole = value ? NULL : assemble(d, &(Digit){digit.var, 1, 0, NULL});
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

static bool learn(Digits *d, const Expr *atom, Expr *value)
{
    Digit digit;
    if (!read_digit(atom, &digit))
        return false;
    digit.value = value;
    VEC_PUSH(d->c->arena, &d->known, digit);
    return true;
}

/* Terms by their factors, the smallest first. */
static void sort_terms(Term *terms, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && terms[k].factor < terms[k - 1].factor; k--) {
            Term term = terms[k];
            terms[k] = terms[k - 1];
            terms[k - 1] = term;
        }
}

/* All terms before number n together are from 0 to below its factor. */
static bool is_apart(const Digits *d, const Term *terms, int n)
{
    Expr *low = expr_index(d->c, 0);
    int64_t min, max;
    for (int i = 0; i < n; i++)
        low =
            index_add(d->c, low, index_mul(d->c, terms[i].atom, expr_index(d->c, terms[i].factor)));
    return terms[0].factor > 0 && bounds_const(d->f, low, &min, &max) && min >= 0 &&
           max < terms[n].factor;
}

/* The terms are digits of the number `rest`. */
static bool take_apart(Digits *d, Term *terms, int n, Expr *rest)
{
    sort_terms(terms, n);
    if (n == 1 && terms[0].factor < 0) {
        rest = index_sub(d->c, expr_index(d->c, 0), rest);
        return learn(d, terms[0].atom, index_div(d->c, rest, expr_index(d->c, -terms[0].factor)));
    }
    for (int i = 1; i < n; i++)
        if (!is_apart(d, terms, i))
            return false;
    for (int i = n - 1; i >= 0; i--) {
        Expr *factor = expr_index(d->c, terms[i].factor);
        if (!learn(d, terms[i].atom, index_div(d->c, rest, factor)))
            return false;
        rest = i > 0 ? index_mod(d->c, rest, factor) : rest;
    }
    return n > 0;
}

/* Learns what the output says beside what is known; false where that is nothing. */
static bool read_output(Digits *d, Expr *output, Var *place)
{
    Affine form;
    Expr *rest = expr_var(d->c, place, span_none());
    if (!simplify_affine(d->f, output, &form))
        return false;
    Term *open = ARENA_ARRAY(d->c->arena, Term, form.n + 1);
    int n = 0;
    for (int i = 0; i < form.n; i++) {
        Expr *value = known_value(d, form.terms[i].atom);
        if (value)
            rest = without(d->c, rest, form.terms[i].factor, value);
        else
            open[n++] = form.terms[i];
    }
    rest = without(d->c, rest, form.constant, expr_index(d->c, 1));
    int known = d->known.n;
    if (take_apart(d, open, n, rest))
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
    Digits d = {.c = c, .f = f};
    bool *done = ARENA_ARRAY(c->arena, bool, n + 1);
    for (bool progress = true; progress;) {
        progress = false;
        for (int k = 0; k < n; k++)
            if (!done[k] && read_output(&d, to[k], place[k]))
                progress = done[k] = true;
    }
    for (int i = 0; i < box->n; i++) {
        Digit all = {box->var[i], 1, 0, NULL};
        back[i] = assemble(&d, &all);
        if (!back[i])
            back[i] = only_value(f, box, i);
        if (!back[i])
            return false;
    }
    return true;
}
