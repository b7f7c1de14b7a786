/* congruence.c - Solves linear congruences modulo a literal, and recognizes multiples.
 *
 *   (i + 1 - k * 2) % 5 == 0, for k      ->  k = (i * 3 + 3) % 5, and every fifth number from it on
 *   i + 1 - (i * 3 + 3) % 5 * 2          is a multiple of 5
 *
 * A remainder has the sign of its dividend here, but whether it is 0 does not depend on the sign:
 * terms may be replaced by congruent ones. */
#include "passes/analysis/symbolic/affine.h"

static int64_t floor_mod(int64_t a, int64_t m)
{
    return (a % m + m) % m;
}

/* For 0 <= a < m without a common divisor: x with a * x = 1 modulo m, by Euclid's algorithm. */
static int64_t inverse(int64_t a, int64_t m)
{
    int64_t x = 0, next = 1, r = m, low = a;
    while (low != 0) {
        int64_t quotient = r / low, x_old = x, r_old = r;
        x = next;
        r = low;
        next = x_old - quotient * next;
        low = r_old - quotient * low;
    }
    return floor_mod(x, m);
}

bool congruence_of(Facts *f, const Expr *cond, const Var *var, Congruence *out)
{
    int64_t m;
    if (cond->kind != EX_EQ || cond->u.arg[0]->kind != EX_MOD || cond->u.arg[0]->type != DT_INDEX ||
        !expr_is(cond->u.arg[1], 0) || !expr_is_const(cond->u.arg[0]->u.arg[1], &m) || m < 2 ||
        m > INT32_MAX)
        return false;
    out->modulus = m;
    return split_linear(f, cond->u.arg[0]->u.arg[0], var, &out->factor, &out->rest);
}

int64_t congruence_stride(const Congruence *g)
{
    return g->modulus / gcd64(floor_mod(g->factor, g->modulus), g->modulus);
}

/* The form with factors and a constant from 0 to m. False if a term may be below 0. */
static bool least_residue(Facts *f, const Affine *form, int64_t m, Affine *out)
{
    *out = affine_const(floor_mod(form->constant, m));
    for (int t = 0; t < form->n; t++) {
        Term term = form->terms[t];
        int64_t factor = floor_mod(term.factor, m);
        if (factor != 0 &&
            (!bounds_nonneg(f, term.atom) || !affine_push(f->c, out, factor, term.atom)))
            return false;
    }
    return true;
}

/* A number that is congruent to e, and at least 0; NULL where none is known. */
static Expr *residue(Facts *f, Expr *e, int64_t m)
{
    Affine form, least;
    return simplify_affine(f, e, &form) && least_residue(f, &form, m, &least)
               ? affine_expr(f->c, &least, e->span)
               : NULL;
}

bool congruence_solve(Facts *f, const Congruence *g, Expr **first, Expr **miss)
{
    Context *c = f->c;
    int64_t stride = congruence_stride(g), common = g->modulus / stride;
    Expr *rest = residue(f, g->rest, g->modulus);
    if (!rest)
        return false;
    int64_t unit = floor_mod(g->factor, g->modulus) / common % stride;
    Expr *times = expr_index(c, floor_mod(-inverse(unit, stride), stride));
    Expr *whole = expr_index(c, common);
    *first = index_mul(c, index_div(c, rest, whole), times);
    *first = simplify(f, index_mod(c, *first, expr_index(c, stride)));
    *miss = simplify(f, index_mod(c, rest, whole));
    return true;
}

/* factor * (x % k) is congruent to factor * x, modulo m, for a literal k or one of which a divisor
 * is known. */
static bool is_congruent_remainder(const Facts *f, const Term *term, int64_t m)
{
    int64_t k, multiple;
    if (term->atom->kind != EX_MOD)
        return false;
    if (!expr_is_const(term->atom->u.arg[1], &k))
        k = facts_common_divisor(f, term->atom->u.arg[1], m);
    return checked_mul(term->factor, k, &multiple) && multiple % m == 0;
}

/* A number that factor * atom is congruent to `factor` times, modulo m; NULL for the atom itself:
 * x of x % k, the first value of a loop in steps, the value that has a name. */
static Expr *congruent_atom(Facts *f, const Term *term, int64_t m)
{
    int64_t multiple;
    const Range *r = term->atom->kind == EX_VAR ? facts_find(f, term->atom) : NULL;
    if (is_congruent_remainder(f, term, m))
        return term->atom->u.arg[0];
    if (!r || !r->affine)
        return NULL;
    bool first = r->low_met && r->stride > 1 && checked_mul(term->factor, r->stride, &multiple) &&
                 multiple % m == 0;
    return first || affine_equal(r->low, r->high) ? r->lo : NULL;
}

/* One step of affine_congruent; *changed: there may be another. */
static bool congruent_step(Facts *f, const Affine *a, int64_t m, Affine *out, bool *changed)
{
    *out = affine_const(a->constant);
    *changed = false;
    for (int t = 0; t < a->n; t++) {
        Term term = a->terms[t];
        Expr *other = term.factor % m == 0 ? NULL : congruent_atom(f, &term, m);
        if (!(other ? affine_collect(f->c, other, term.factor, PRODUCTS_EXPANDED, out)
                    : affine_push(f->c, out, term.factor, term.atom)))
            return false;
        *changed = *changed || other;
    }
    return affine_normalize(out);
}

enum { CONGRUENT_STEPS = 4 };

bool affine_congruent(Facts *f, const Affine *a, int64_t m, Affine *out)
{
    bool changed = true;
    *out = *a;
    for (int step = 0; step < CONGRUENT_STEPS && changed; step++) {
        Affine form = *out;
        if (!congruent_step(f, &form, m, out, &changed))
            return false;
    }
    return true;
}

/* The remainder of the form modulo m, in the words of congruence_solve, is known to be 0: a loop
 * that begins at its end elsewhere says so. */
static bool has_no_remainder(Facts *f, const Affine *a, int64_t m)
{
    Affine least;
    if (!least_residue(f, a, m, &least) || least.n == 0)
        return false;
    Expr *whole = expr_index(f->c, m), *form = affine_expr(f->c, &least, span_none());
    Bounds b = bounds_of_atom(f, expr_binary(f->c, EX_MOD, form, whole, span_none()));
    return b.min == 0 && b.max == 0;
}

static bool divides_all(const Affine *a, int64_t m)
{
    bool all = a->constant % m == 0;
    for (int t = 0; all && t < a->n; t++)
        all = a->terms[t].factor % m == 0;
    return all;
}

static bool has_remainder(void *m, int64_t value)
{
    return value % *(int64_t *)m != 0;
}

bool affine_is_multiple(Facts *f, const Affine *a, int64_t m)
{
    Affine form = *a, next;
    bool changed = m > 0 && !points_find(f, a, has_remainder, &m);
    for (int step = 0; step < CONGRUENT_STEPS && changed; step++) {
        if (!congruent_step(f, &form, m, &next, &changed))
            return false;
        form = next;
        if (divides_all(&form, m) || has_no_remainder(f, &form, m))
            return true;
    }
    return false;
}
