/* bound_over.c - Bounds an expression by one without given variables.
 *
 *   by * 32 + ty  over ty in 0..32      at least by * 32, at most by * 32 + 31
 *   f % 32        over f in 0..1024     0 and 31
 *   first[g]      over g in 0..E        0 and M, where the `where` clause says first in 0..M + 1
 *   first[0]      over data             the same
 *
 * Terms that use such variables are replaced from the innermost variable out by the end of their
 * range that counts; quotients, minima and maxima are monotone, so their operands are bounded
 * instead.  The bound is `exact` if every replacement is a value that is taken, and taken
 * together with the others: each variable stands in one term, its ends are met, and its range is
 * not empty. */
#include "passes/analysis/symbolic/affine.h"

typedef struct {
    Facts *f;
    const Var *const *over;
    int n;
    bool data;     /* elements of inputs are bounded, whatever their subscripts */
    Facts outside; /* what holds in front of the ranges of the variables */
    bool exact;
    int steps; /* left */
} Over;

enum { OVER_STEPS = 64 };

static bool uses(const Over *o, const Expr *e)
{
    if (o->data && expr_has_load(e))
        return true;
    for (int k = 0; k < o->n; k++)
        if (expr_uses_var(e, o->over[k]))
            return true;
    return false;
}

static bool bound_form(Over *o, const Affine *a, End end, Affine *out);

static Expr *bound_expr(Over *o, Expr *e, End end)
{
    Affine form, out;
    if (!uses(o, e))
        return e;
    if (!simplify_affine(o->f, e, &form) || !bound_form(o, &form, end, &out))
        return NULL;
    return affine_expr(o->f->c, &out, e->span);
}

/* lo < hi follows from what was known before the range. */
static bool range_is_inhabited(Facts *f, const Range *r)
{
    Facts before = facts_outside(f, (FactsMark){(int)(r - f->ranges.items), r->conditions_before});
    Affine some;
    if (!r->affine || !affine_combine(f->c, r->high, 1, r->low, -1, &some))
        return false;
    return prove_nonneg(&before, &some);
}

static Expr *bound_variable(Over *o, Expr *atom, End end)
{
    const Range *r = facts_find(o->f, atom);
    if (!r)
        return NULL;
    bool met = end == END_LARGEST ? r->high_met : r->low_met;
    bool depends = facts_rank(o->f, r->lo) >= 0 || facts_rank(o->f, r->hi) >= 0;
    if (!met || (depends && !range_is_inhabited(o->f, r)))
        o->exact = false;
    return end == END_LARGEST ? index_sub(o->f->c, r->hi, expr_index(o->f->c, 1)) : r->lo;
}

static Expr *bound_literal(Over *o, Expr *atom, End end)
{
    Bounds b = bounds_of_atom(o->f, atom);
    o->exact = false;
    if (end == END_LARGEST ? !bounds_has_max(b) : !bounds_has_min(b))
        return NULL;
    return expr_index(o->f->c, end == END_LARGEST ? b.max : b.min);
}

/* Of an element of an input: the range that the `where` clause gives all of them. NULL: it gives
 * none. */
static Expr *bound_element(Over *o, Expr *atom, End end)
{
    const Range *r = facts_find(o->f, atom);
    if (!r && !expr_has_load(atom))
        return bound_literal(o, atom, end);
    if (!r)
        return NULL;
    o->exact = false;
    return end == END_LARGEST ? index_sub(o->f->c, r->hi, expr_index(o->f->c, 1)) : r->lo;
}

/* Also where the loops of the variables do not run: the bound may stand outside of them. */
static bool is_positive(Over *o, Expr *divisor)
{
    int64_t d;
    if (expr_is_const(divisor, &d))
        return d > 0;
    Expr *one = expr_index(o->f->c, 1);
    return !uses(o, divisor) && prove_compare(&o->outside, divisor, EX_GE, one);
}

static Expr *bound_quotient(Over *o, Expr *atom, End end)
{
    if (!is_positive(o, atom->u.arg[1]))
        return bound_literal(o, atom, end);
    Expr *x = bound_expr(o, atom->u.arg[0], end);
    return x ? index_div(o->f->c, x, atom->u.arg[1]) : NULL;
}

/* Of x % d where x >= 0: 0 and d - 1. */
static Expr *bound_symbolic_remainder(Over *o, Expr *atom, End end)
{
    Expr *d = atom->u.arg[1];
    if (d->kind == EX_INT || !is_positive(o, d) || !bounds_nonneg(o->f, atom->u.arg[0]))
        return bound_literal(o, atom, end);
    o->exact = false;
    return end == END_LARGEST ? index_sub(o->f->c, d, expr_index(o->f->c, 1))
                              : expr_index(o->f->c, 0);
}

/* x % d takes 0 and d - 1 if x runs through d values or more. */
static Expr *bound_remainder(Over *o, Expr *atom, End end)
{
    Expr *x = atom->u.arg[0];
    const Range *r = facts_find(o->f, x);
    int64_t d;
    bool runs = r && expr_is_const(atom->u.arg[1], &d) && d > 0 && r->stride == 1 &&
                r->bounds.min >= 0 && bounds_has_max(r->bounds) &&
                expr_is_const(r->lo, &(int64_t){0}) && expr_is_const(r->hi, &(int64_t){0}) &&
                r->bounds.max - r->bounds.min >= d - 1;
    bool exact = o->exact && runs;
    Expr *bound = bound_symbolic_remainder(o, atom, end);
    o->exact = exact;
    return bound;
}

static Expr *bound_minmax(Over *o, Expr *atom, End end)
{
    bool both = uses(o, atom->u.arg[0]) && uses(o, atom->u.arg[1]);
    Expr *a = bound_expr(o, atom->u.arg[0], end), *b = bound_expr(o, atom->u.arg[1], end);
    if (both)
        o->exact = false;
    if (!a || !b)
        return bound_literal(o, atom, end);
    return atom->kind == EX_MIN ? index_min(o->f->c, a, b) : index_max(o->f->c, a, b);
}

static Expr *bound_select(Over *o, Expr *atom, End end)
{
    Expr *a = bound_expr(o, atom->u.arg[1], end), *b = bound_expr(o, atom->u.arg[2], end);
    o->exact = false;
    if (!a || !b)
        return NULL;
    return end == END_LARGEST ? index_max(o->f->c, a, b) : index_min(o->f->c, a, b);
}

/* One factor varies, and the others are not negative. */
static Expr *bound_product(Over *o, Expr *atom, End end)
{
    Expr *a = atom->u.arg[0], *b = atom->u.arg[1];
    bool first = uses(o, a);
    if ((first && uses(o, b)) || !bounds_nonneg(o->f, first ? b : a))
        return bound_literal(o, atom, end);
    Expr *varying = bound_expr(o, first ? a : b, end);
    if (!varying)
        return NULL;
    return first ? index_mul(o->f->c, varying, b) : index_mul(o->f->c, a, varying);
}

static Expr *bound_atom(Over *o, Expr *atom, End end)
{
    switch (atom->kind) {
    case EX_VAR: return bound_variable(o, atom, end);
    case EX_CAST:
    case EX_LOAD: return bound_element(o, atom, end);
    case EX_DIV: return bound_quotient(o, atom, end);
    case EX_MOD: return bound_remainder(o, atom, end);
    case EX_MIN:
    case EX_MAX: return bound_minmax(o, atom, end);
    case EX_SELECT: return bound_select(o, atom, end);
    case EX_MUL: return bound_product(o, atom, end);
    default: return bound_literal(o, atom, end);
    }
}

/* The term to replace next: the innermost, and of equals one that is no plain variable. */
static int pick(const Over *o, const Affine *a)
{
    int best = -1, best_rank = -1;
    for (int t = 0; t < a->n; t++) {
        Expr *atom = a->terms[t].atom;
        if (!uses(o, atom))
            continue;
        int rank = 2 * (facts_rank(o->f, atom) + 1) + (atom->kind != EX_VAR);
        if (rank > best_rank) {
            best = t;
            best_rank = rank;
        }
    }
    return best;
}

/* The innermost of the relaxed variables in an atom. */
static const Var *innermost(const Over *o, const Expr *atom)
{
    const Var *best = NULL;
    int best_rank = -2;
    for (int k = 0; k < o->n; k++) {
        if (!expr_uses_var(atom, o->over[k]))
            continue;
        int rank = facts_rank_var(o->f, o->over[k]);
        if (rank > best_rank) {
            best = o->over[k];
            best_rank = rank;
        }
    }
    return best;
}

/* The bound of term t over its innermost variable only, since the ends of that one may use the
 * others. */
static Expr *bound_term(Over *o, const Affine *a, int t, End end)
{
    const Var *var = innermost(o, a->terms[t].atom);
    Over one = *o;
    one.over = &var;
    one.n = var ? 1 : 0;
    for (int s = 0; s < a->n && var; s++)
        if (s != t && expr_uses_var(a->terms[s].atom, var))
            one.exact = false;
    Expr *bound =
        bound_atom(&one, a->terms[t].atom, a->terms[t].factor > 0 ? end : end_opposite(end));
    o->exact = one.exact;
    o->steps = one.steps;
    return bound;
}

static bool bound_form(Over *o, const Affine *a, End end, Affine *out)
{
    Context *c = o->f->c;
    Affine now = *a;
    for (int t; (t = pick(o, &now)) >= 0;) {
        Term term = now.terms[t];
        if (--o->steps < 0)
            return false;
        Expr *bound = bound_term(o, &now, t, end);
        Affine by;
        if (!bound || !simplify_affine(o->f, bound, &by) ||
            !affine_combine(c, affine_without(c, now, t), 1, by, term.factor, &now))
            return false;
        affine_recombine(o->f, &now, term.atom->span);
    }
    *out = now;
    return true;
}

/* A condition, a second range, or the range of a variable that is not relaxed restricts relaxed
 * ones. */
static bool restricted(const Over *o)
{
    for (int k = 0; k < o->f->conditions.n; k++)
        if (!o->f->conditions.items[k].derived && uses(o, o->f->conditions.items[k].expr))
            return true;
    for (int k = 0; k < o->f->ranges.n; k++) {
        const Range *r = &o->f->ranges.items[k];
        bool relaxed = false;
        for (int v = 0; v < o->n; v++)
            relaxed = relaxed || r->var == o->over[v];
        for (int later = k + 1; relaxed && later < o->f->ranges.n; later++)
            if (o->f->ranges.items[later].var == r->var)
                return true;
        if (!relaxed && (uses(o, r->lo) || uses(o, r->hi)))
            return true;
    }
    return false;
}

/* What is known in front of the first range of a relaxed variable. */
static Facts outside_of(const Over *o)
{
    FactsMark mark = facts_mark(o->f);
    for (int k = o->f->ranges.n - 1; k >= 0; k--)
        for (int v = 0; v < o->n; v++)
            if (o->f->ranges.items[k].var == o->over[v])
                mark = (FactsMark){k, o->f->ranges.items[k].conditions_before};
    return facts_outside(o->f, mark);
}

/* Of a simplified expression. */
static Expr *bound_simple(Over *o, Expr *e, End end, bool *exact)
{
    o->steps = OVER_STEPS;
    o->outside = outside_of(o);
    o->exact = !restricted(o);
    Expr *bound = bound_expr(o, e, end);
    if (exact)
        *exact = bound && o->exact;
    return bound ? simplify(o->f, bound) : NULL;
}

Expr *least_over(Facts *f, Expr *e, const Var *const *over, int n, bool *exact)
{
    return bound_simple(&(Over){.f = f, .over = over, .n = n}, simplify(f, e), END_LEAST, exact);
}

Expr *largest_over(Facts *f, Expr *e, const Var *const *over, int n, bool *exact)
{
    return bound_simple(&(Over){.f = f, .over = over, .n = n}, simplify(f, e), END_LARGEST, exact);
}

bool range_over(Facts *f, Expr *e, const Var *const *over, int n, Expr *ends[2])
{
    Over o = {.f = f, .over = over, .n = n};
    ends[0] = bound_simple(&o, e, END_LEAST, NULL);
    ends[1] = ends[0] ? bound_simple(&o, e, END_LARGEST, NULL) : NULL;
    return ends[1] != NULL;
}

bool range_over_data(Facts *f, Expr *lo, Expr *hi, Expr *ends[2])
{
    Over o = {.f = f, .data = true};
    ends[0] = bound_simple(&o, simplify(f, lo), END_LEAST, NULL);
    ends[1] = ends[0] ? bound_simple(&o, simplify(f, hi), END_LARGEST, NULL) : NULL;
    return ends[1] != NULL;
}
