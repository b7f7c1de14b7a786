/* prove.c - Proves that a linear form is never negative.
 *
 * A small search in the manner of Fourier and Motzkin: subtract what is known to be non-
 * negative, or replace the innermost term by the end of its range that makes the form smallest,
 * until literal bounds decide.  A budget of steps bounds the work; running out of it means "not
 * proved".
 *
 *   (N + 31) / 32 * 32 - N >= 0      32 * q >= N + 31 - 31, so the form is at least 0
 *   i < N  |-  N - i - 1 >= 0        the form minus the condition is 0 */
#include "passes/analysis/symbolic/affine.h"

/* ---- eliminating one term -------------------------------------------------------------------- */

/* by[n++] = k * e + constant, expanded. */
static void offer(Facts *f, Elimination *out, Expr *e, int64_t k, int64_t constant)
{
    Affine form;
    if (affine_of(f->c, e, PRODUCTS_EXPANDED, &form) &&
        affine_combine(f->c, form, k, affine_const(constant), 1, &out->by[out->n]))
        out->n++;
}

/* k * atom >= k * (the literal end that counts). */
static void offer_literal(Facts *f, Elimination *out, const Term *t)
{
    Bounds b = bounds_of_atom(f, t->atom);
    int64_t end = t->factor > 0 ? b.min : b.max, value;
    bool known = t->factor > 0 ? bounds_has_min(b) : bounds_has_max(b);
    if (known && checked_mul(end, t->factor, &value)) {
        if (out->scale != 1 && !checked_mul(value, out->scale, &value))
            return;
        out->by[out->n++] = (Affine){.constant = value};
    }
}

static void offer_range(Facts *f, Elimination *out, const Term *t)
{
    const Range *r = facts_find(f, t->atom);
    const Affine *end = r && r->affine ? (t->factor > 0 ? &r->low : &r->high) : NULL;
    if (end && affine_combine(f->c, *end, t->factor, affine_const(0), 1, &out->by[out->n]))
        out->n++;
}

/* rest + x / d >= 0  follows from  d * rest + x >= 0, and  rest - x / d >= 0  from
 * d * rest - x + d - 1 >= 0 if x >= 0, and else without the d - 1. */
static void offer_symbolic_quotient(Facts *f, Elimination *out, const Term *t)
{
    Context *c = f->c;
    Affine d, x, *times = ARENA_NEW(c->arena, Affine);
    bool sign = t->factor == 1 || t->factor == -1;
    if (!sign || !bounds_nonneg(f, t->atom->u.arg[1]) ||
        !affine_of(c, t->atom->u.arg[1], PRODUCTS_EXPANDED, &d) ||
        !affine_of(c, t->atom->u.arg[0], PRODUCTS_EXPANDED, &x))
        return;
    bool below = t->factor < 0 && bounds_nonneg(f, t->atom->u.arg[0]);
    if (affine_combine(c, x, t->factor, d, below, &x) &&
        checked_sub(x.constant, below, &x.constant)) {
        *times = d;
        out->times = times;
        out->by[out->n++] = x;
    }
}

/* x - (d - 1) <= d * (x / d) <= x for x >= 0; up to d - 1 above x otherwise; x where it is a
 * multiple of d. For the sign of a form with factor 1 or -1, integers between these do not count:
 * rest - x / d >= 0 follows from d * rest - x + d - 1 >= 0. */
static void offer_quotient(Facts *f, Aim aim, Elimination *out, const Term *t)
{
    Expr *x = t->atom->u.arg[0];
    int64_t d, slack = 0;
    if (aim == AIM_SIGN && !expr_is_const(t->atom->u.arg[1], &d))
        offer_symbolic_quotient(f, out, t);
    if (!expr_is_const(t->atom->u.arg[1], &d) || d <= 0)
        return;
    if (!facts_divisible(f, x, d) && (t->factor > 0 || !bounds_nonneg(f, x))) {
        if (!checked_mul(t->factor > 0 ? -t->factor : t->factor, d - 1, &slack))
            return;
    }
    if (aim == AIM_SIGN && (t->factor == 1 || t->factor == -1))
        slack += d - 1;
    int64_t g = gcd64(t->factor, d);
    /* scale * factor * q  =  (scale * factor / d) * (d * q)  with  scale = d / g. */
    if (g > 0 && t->factor != INT64_MIN) {
        out->scale = d / g;
        offer(f, out, x, t->factor / g, slack / g);
    }
}

/* A number that divides both, of all that divide the numbers of `x` the largest that is known to
 * divide `d`. */
static int64_t common_divisor(Facts *f, Expr *x, const Expr *d)
{
    Affine form;
    return affine_of(f->c, x, PRODUCTS_KEPT, &form)
               ? facts_common_divisor(f, d, gcd64(affine_gcd(form), form.constant))
               : 1;
}

/* x % d <= d - g  for a g > 0 that divides both. */
static void offer_remainder(Facts *f, Elimination *out, const Term *t)
{
    offer_literal(f, out, t);
    Expr *divisor = t->atom->u.arg[1];
    int64_t d, gap;
    if (t->factor > 0 || !bounds_nonneg(f, divisor))
        return;
    if (!expr_is_const(divisor, &d) &&
        checked_mul(t->factor, -common_divisor(f, t->atom->u.arg[0], divisor), &gap))
        offer(f, out, divisor, t->factor, gap);
    if (bounds_nonneg(f, t->atom->u.arg[0]))
        offer(f, out, t->atom->u.arg[0], t->factor, 0);
}

static void offer_minmax(Facts *f, Elimination *out, const Term *t)
{
    bool lower = (t->atom->kind == EX_MIN) == (t->factor > 0);
    offer(f, out, t->atom->u.arg[0], t->factor, 0);
    offer(f, out, t->atom->u.arg[1], t->factor, 0);
    out->all = lower;
    if (lower && out->n < 2)
        out->n = 0;
}

/* What may replace one of the factors of a product, or the factors x / d and d of it. */
typedef struct {
    int at, divisor; /* their numbers; -1: no divisor */
    Affine by;
} Factor;

/* x / d * d <= x, or x - d + 1 <= x / d * d: a quotient whose divisor is another factor. */
static bool end_of_quotient(Facts *f, const ExprList *factors, bool most, Factor *out)
{
    Affine x, d;
    const Expr *quotient = factors->items[out->at];
    for (int k = 0; k < factors->n; k++)
        if (expr_same(factors->items[k], quotient->u.arg[1]))
            out->divisor = k;
    return out->divisor >= 0 && affine_of(f->c, quotient->u.arg[0], PRODUCTS_EXPANDED, &x) &&
           affine_of(f->c, quotient->u.arg[1], PRODUCTS_EXPANDED, &d) &&
           affine_combine(f->c, x, 1, d, most ? 0 : -1, &out->by) &&
           (most || checked_add(out->by.constant, 1, &out->by.constant));
}

static bool literal_end(Facts *f, const Expr *factor, bool most, Affine *out)
{
    Bounds b = bounds_of_atom(f, (Expr *)factor);
    *out = affine_const(most ? b.max : b.min);
    return most ? bounds_has_max(b) : bounds_has_min(b);
}

/* The end of a factor that makes the product large (`most`) or small: of a variable that of its
 * range, 0 <= x % d <= d - 1, and the literal bounds of a quotient, as of (thread / 2) * N. */
static bool end_of_factor(Facts *f, const ExprList *factors, bool most, Factor *out)
{
    const Expr *factor = factors->items[out->at];
    const Range *r = facts_find(f, factor);
    if (r && r->affine) {
        out->by = most ? r->high : r->low;
        return true;
    }
    if ((factor->kind != EX_MOD && factor->kind != EX_DIV) || !bounds_nonneg(f, factor->u.arg[0]) ||
        !bounds_nonneg(f, factor->u.arg[1]))
        return false;
    if (factor->kind == EX_DIV) {
        if (end_of_quotient(f, factors, most, out))
            return true;
        out->divisor = -1;
        return literal_end(f, factor, most, &out->by);
    }
    out->by = affine_const(0);
    return !most || (affine_of(f->c, factor->u.arg[1], PRODUCTS_EXPANDED, &out->by) &&
                     checked_sub(out->by.constant, 1, &out->by.constant));
}

/* The innermost factor that has an end; false: there is none. */
static bool pick_factor(Facts *f, const ExprList *factors, bool most, Factor *best)
{
    int best_rank = -2;
    for (int k = 0; k < factors->n; k++) {
        Factor one = {.at = k, .divisor = -1};
        int rank = facts_rank(f, factors->items[k]);
        if (rank > best_rank && end_of_factor(f, factors, most, &one)) {
            *best = one;
            best_rank = rank;
        }
    }
    return best_rank > -2;
}

/* Of a product, one factor is replaced by its end, if the others are not negative. */
static void offer_product(Facts *f, Elimination *out, const Term *t)
{
    Context *c = f->c;
    ExprList factors = {0}, others = {0};
    Factor best;
    Affine product = {0}, rest;
    expr_chain(c, t->atom, EX_MUL, &factors);
    if (!pick_factor(f, &factors, t->factor < 0, &best))
        return;
    for (int k = 0; k < factors.n; k++) {
        if (k == best.at || k == best.divisor)
            continue;
        if (!bounds_nonneg(f, factors.items[k]))
            return;
        VEC_PUSH(c->arena, &others, factors.items[k]);
    }
    Expr *left = product_build(c, &others, span_none());
    if (affine_of(c, left ? left : expr_index(c, 1), PRODUCTS_EXPANDED, &rest) &&
        affine_push_product(c, &product, &best.by, &rest, t->factor, PRODUCTS_EXPANDED,
                            span_none()) &&
        affine_normalize(&product))
        out->by[out->n++] = product;
}

/* Returns what may replace term number `at`. */
static bool eliminations_of(Facts *f, const Affine *a, int at, Aim aim, Elimination *out)
{
    const Term *t = &a->terms[at];
    *out = (Elimination){.term = at, .scale = 1};
    if (t->factor == INT64_MIN)
        return false;
    switch (t->atom->kind) {
    case EX_VAR:
    case EX_AXIS: offer_range(f, out, t); break;
    case EX_DIV:
        offer_quotient(f, aim, out, t);
        if (!out->times)
            offer_literal(f, out, t);
        break;
    case EX_MOD: offer_remainder(f, out, t); break;
    case EX_MIN:
    case EX_MAX: offer_minmax(f, out, t); break;
    case EX_SELECT:
        offer(f, out, t->atom->u.arg[1], t->factor, 0);
        offer(f, out, t->atom->u.arg[2], t->factor, 0);
        out->all = true;
        if (out->n < 2)
            out->n = 0;
        break;
    case EX_MUL: offer_product(f, out, t); break;
    default: offer_range(f, out, t); offer_literal(f, out, t);
    }
    return out->n > 0;
}

/* A term whose ends must all be examined: min(a, b) >= min(c, d) needs a choice of c or d for a,
 * and one for b. */
static bool eliminate_branch(Facts *f, const Affine *a, Elimination *out)
{
    for (int t = 0; t < a->n; t++) {
        ExprKind kind = a->terms[t].atom->kind;
        bool may_branch = kind == EX_MIN || kind == EX_MAX || kind == EX_SELECT;
        if (may_branch && eliminations_of(f, a, t, AIM_SIGN, out) && out->all)
            return true;
    }
    return false;
}

/* Of terms with the same variables, remainders go before quotients: their ends are literal, and
 * what takes the place of a quotient is tight only where no other term is left. */
static int looseness(ExprKind kind)
{
    return kind == EX_VAR || kind == EX_AXIS ? 0 : kind == EX_DIV ? 1 : 2;
}

bool eliminate_pick(Facts *f, const Affine *a, Aim aim, Elimination *out)
{
    int best_rank = -4;
    bool found = false;
    for (int t = 0; t < a->n; t++) {
        Expr *atom = a->terms[t].atom;
        int rank = 3 * facts_rank(f, atom) + looseness(atom->kind);
        Elimination how;
        if (rank <= best_rank || !eliminations_of(f, a, t, aim, &how) || how.all)
            continue;
        found = true;
        best_rank = rank;
        *out = how;
    }
    return found;
}

bool eliminate_apply(Context *c, const Affine *a, const Elimination *how, int k, Affine *out)
{
    Affine rest = affine_without(c, *a, how->term);
    if (!how->times)
        return affine_combine(c, rest, how->scale, how->by[k], 1, out);
    Affine scaled = {0};
    return affine_push_product(c, &scaled, &rest, how->times, 1, PRODUCTS_EXPANDED, span_none()) &&
           affine_normalize(&scaled) && affine_combine(c, scaled, 1, how->by[k], 1, out);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* A form that is not proved at a depth, which took so many steps. */
typedef struct {
    Affine form;
    int depth, steps;
} Failed;

typedef struct {
    Facts *f;
    int steps; /* left */
    VEC(Failed) failed;
} Search;

enum { SEARCH_STEPS = 60, SEARCH_DEPTH = 12, SEARCH_CONDITIONS = 2, SEARCH_OPEN_STEPS = 12 };

typedef bool SearchFn(Search *s, const Affine *a, int depth);
static SearchFn search_nonneg;

/* Searches on with each end in the place of the term: one that is proved is enough, or all must
 * be. */
static bool search_ends(Search *s, const Affine *a, const Elimination *how, int depth,
                        SearchFn *search_on)
{
    for (int k = 0; k < how->n; k++) {
        Affine less;
        bool proved = eliminate_apply(s->f->c, a, how, k, &less) && search_on(s, &less, depth + 1);
        if (proved != how->all)
            return proved;
    }
    return how->all;
}

/* less = a multiple of `a` minus one of the condition, so that the condition's term t goes away. */
static bool subtract_condition(Context *c, const Affine *a, const Affine *known, int t,
                               Affine *less)
{
    int k = affine_find(*a, &known->terms[t]);
    int64_t have = k < 0 ? 0 : a->terms[k].factor, want = known->terms[t].factor;
    if (have == 0 || (have < 0) != (want < 0) || have == INT64_MIN || want == INT64_MIN)
        return false;
    int64_t g = gcd64(have, want);
    return affine_combine(c, *a, (want < 0 ? -want : want) / g, *known,
                          (have < 0 ? have : -have) / g, less);
}

static bool bounds_nonnegative(Search *s, const Affine *a, int depth)
{
    (void)depth;
    return bounds_of_affine(s->f, a).min >= 0;
}

/* Subtracts each condition in turn; the rest is proved by its literal bounds, or by searching
 * on. */
static bool search_conditions(Search *s, const Affine *a, int depth, SearchFn *prove_less)
{
    for (int k = s->f->conditions.n - 1, first = facts_first_condition(s->f); k >= first; k--) {
        const Condition *known = &s->f->conditions.items[k];
        for (int t = 0; known->affine && t < known->form.n; t++) {
            Affine less;
            if (subtract_condition(s->f->c, a, &known->form, t, &less) &&
                prove_less(s, &less, depth + 1))
                return true;
        }
    }
    return false;
}

static bool search_elimination(Search *s, const Affine *a, int depth)
{
    Elimination how;
    return (eliminate_branch(s->f, a, &how) || eliminate_pick(s->f, a, AIM_SIGN, &how)) &&
           search_ends(s, a, &how, depth, search_nonneg);
}

/* The innermost term without a literal bound on the side that counts; false: there is none. */
static bool pick_open(Facts *f, const Affine *a, Elimination *out)
{
    int best_rank = -1;
    bool found = false;
    for (int t = 0; t < a->n; t++) {
        Bounds b = bounds_of_atom(f, a->terms[t].atom);
        int rank = facts_rank(f, a->terms[t].atom);
        Elimination how;
        if ((a->terms[t].factor > 0 ? bounds_has_min(b) : bounds_has_max(b)) ||
            (found && rank <= best_rank) || !eliminations_of(f, a, t, AIM_SIGN, &how))
            continue;
        found = true;
        best_rank = rank;
        *out = how;
    }
    return found;
}

/* Replaces only terms without a literal bound. The bounds of the digits of a split loop, `v / 4 *
 * 16 + v % 4`, are tighter than those of a replacement.
 *
 *   by <= q - 1,  v < 8   |-   32 * q - by * 32 - v / 4 * 16 - v % 4 - 13 >= 0 */
static bool search_open(Search *s, const Affine *a, int depth)
{
    Elimination how;
    Bounds b = bounds_of_affine(s->f, a);
    if (bounds_has_min(b) || depth > SEARCH_DEPTH || --s->steps < 0)
        return b.min >= 0;
    return pick_open(s->f, a, &how) && search_ends(s, a, &how, depth, search_open);
}

/* Conditions that are subtracted in another order leave the same form. It fails again, by as many
 * steps: what is found does not depend on whether they are taken. */
static bool fails_again(Search *s, const Affine *a, int depth)
{
    for (int i = 0; i < s->failed.n; i++)
        if (s->failed.items[i].depth == depth && affine_equal(s->failed.items[i].form, *a)) {
            s->steps -= s->failed.items[i].steps;
            return true;
        }
    return false;
}

static bool search_further(Search *s, const Affine *a, int depth)
{
    return search_conditions(s, a, depth, bounds_nonnegative) || search_elimination(s, a, depth) ||
           (depth <= SEARCH_CONDITIONS && search_conditions(s, a, depth, search_nonneg));
}

/* A form has the sign of what is left without a common factor. */
static bool search_nonneg(Search *s, const Affine *a, int depth)
{
    Affine reduced;
    int64_t common = affine_gcd(*a);
    if (a->n == 0)
        return a->constant >= 0;
    if (common > 1) {
        reduced = affine_divide(s->f->c, *a, common);
        a = &reduced;
    }
    Bounds b = bounds_of_affine(s->f, a);
    if (b.min >= 0 || b.max < 0)
        return b.min >= 0;
    int before = s->steps;
    if (depth > SEARCH_DEPTH || fails_again(s, a, depth) || --s->steps < 0)
        return false;
    if (search_further(s, a, depth))
        return true;
    VEC_PUSH(s->f->c->arena, &s->failed, ((Failed){*a, depth, before - s->steps}));
    return false;
}

/* Some variable of the expression has no range, or one with symbolic ends. */
static bool has_symbolic_range(const Facts *f, const Expr *e)
{
    const Range *r = facts_find(f, e);
    int64_t value;
    int n = expr_operands(e);
    if (r && r->affine && affine_equal(r->low, r->high))
        return has_symbolic_range(f, r->lo);
    if (n == 0 && !expr_is_const(e, &value))
        return !r || !r->affine || r->low.n + r->high.n > 0;
    for (int k = 0; k < n; k++)
        if (has_symbolic_range(f, expr_operand(e, k)))
            return true;
    return false;
}

/* Puts literal bounds in the place of all terms but those with symbolic ranges. Each of them has
 * its bound whatever the others are, and a quotient that is left alone is replaced without loss.
 *
 *   v < 128, turn < (709 - at) / 132   |-   4351 - (turn * 132 + at) / 17 * 128 - v >= 0 */
static bool search_without_literals(Search *s, const Affine *a, int depth)
{
    Affine rest = {.constant = a->constant}, literal = {0};
    for (int t = 0; t < a->n; t++) {
        const Term *term = &a->terms[t];
        Affine *to = has_symbolic_range(s->f, term->atom) ? &rest : &literal;
        if (!affine_push(s->f->c, to, term->factor, term->atom))
            return false;
    }
    Bounds b = bounds_of_affine(s->f, &literal);
    return rest.n > 0 && literal.n > 0 && bounds_has_min(b) &&
           checked_add(rest.constant, b.min, &rest.constant) && search_nonneg(s, &rest, depth);
}

/* ---- polynomials ----------------------------------------------------------------------------- */

/* Multiplied out, a product of sums has negative terms, which no bound of a single term allows for.
 * A variable goes with all that it is multiplied by: where that has one sign, the form is least at
 * one end of the variable's range.
 *
 *   n >= 0, H >= 3, W >= 3   |-   n * H * W - 2 * n * H - 2 * n * W + 4 * n >= 0
 *
 * since n is multiplied by H * W - 2 * H - 2 * W + 4, which is at least W - 2 as W - 2 >= 0. */
enum { POLYNOMIAL_STEPS = 24, POLYNOMIAL_DEPTH = 3, POLYNOMIAL_VARIABLES = 16 };

/* a = factor * var + rest. */
typedef struct {
    Expr *var;
    Affine factor, rest;
} Factored;

/* Adds a variable to the first n, behind those that stand further in; the number of all. */
static int add_variable(Facts *f, Expr *var, Expr **out, int n)
{
    int at = n, rank = facts_rank(f, var);
    for (int i = 0; i < n; i++)
        if (expr_same(out[i], var))
            return n;
    for (; at > 0 && facts_rank(f, out[at - 1]) < rank; at--)
        out[at] = out[at - 1];
    out[at] = var;
    return n + 1;
}

/* Collects the variables among the factors of all terms, the innermost first, sizes last. */
static int variables_of(Facts *f, const Affine *a, Expr **out)
{
    int n = 0;
    for (int t = 0; t < a->n; t++) {
        ExprList factors = {0};
        expr_chain(f->c, a->terms[t].atom, EX_MUL, &factors);
        for (int k = 0; k < factors.n; k++)
            if (factors.items[k]->kind == EX_VAR && n < POLYNOMIAL_VARIABLES)
                n = add_variable(f, factors.items[k], out, n);
    }
    return n;
}

/* False where the variable is multiplied by itself, or is part of another atom. */
static bool factor_out(Context *c, const Affine *a, Factored *out)
{
    out->factor = (Affine){0};
    out->rest = affine_const(a->constant);
    for (int t = 0; t < a->n; t++) {
        Term term = a->terms[t];
        Expr *left = product_divide(c, term.atom, out->var);
        if (expr_uses_var(left ? left : term.atom, out->var->u.var) ||
            !affine_push(c, left ? &out->factor : &out->rest, term.factor, left ? left : term.atom))
            return false;
    }
    return affine_normalize(&out->factor) && affine_normalize(&out->rest);
}

/* The end of the variable's range where a form with it is least, if that grows with it (`low`) or
 * falls. False: none is known. */
static bool end_of_variable(Facts *f, Expr *var, bool low, Affine *out)
{
    const Range *r = facts_find(f, var);
    Bounds b = bounds_of_atom(f, var);
    if (r && r->affine) {
        *out = low ? r->low : r->high;
        return true;
    }
    *out = affine_const(low ? b.min : b.max);
    return low ? bounds_has_min(b) : bounds_has_max(b);
}

static bool polynomial_nonneg(Search *s, const Affine *a, int depth);

static bool polynomial_nonpos(Search *s, const Affine *a, int depth)
{
    Affine opposite;
    return affine_combine(s->f->c, *a, -1, affine_const(0), 0, &opposite) &&
           polynomial_nonneg(s, &opposite, depth);
}

/* out = the form at the end of the variable where it is least. */
static bool at_least_end(Search *s, const Affine *a, Expr *var, int depth, Affine *out)
{
    Context *c = s->f->c;
    Factored form = {.var = var};
    Affine end, product = {0};
    if (!factor_out(c, a, &form))
        return false;
    bool up = polynomial_nonneg(s, &form.factor, depth + 1);
    return (up || polynomial_nonpos(s, &form.factor, depth + 1)) &&
           end_of_variable(s->f, var, up, &end) &&
           affine_push_product(c, &product, &form.factor, &end, 1, PRODUCTS_EXPANDED,
                               span_none()) &&
           affine_normalize(&product) && affine_combine(c, product, 1, form.rest, 1, out);
}

static bool polynomial_nonneg(Search *s, const Affine *a, int depth)
{
    Affine now = *a;
    for (bool less = true; less;) {
        Expr *var[POLYNOMIAL_VARIABLES];
        if (bounds_of_affine(s->f, &now).min >= 0)
            return true;
        if (depth > POLYNOMIAL_DEPTH)
            return false;
        less = false;
        for (int k = 0, n = variables_of(s->f, &now, var); k < n && !less && --s->steps >= 0; k++) {
            Affine next;
            less = at_least_end(s, &now, var[k], depth, &next);
            now = less ? next : now;
        }
    }
    return false;
}

bool affine_is_expanded_product(const Affine *a)
{
    bool product = false, negative = false;
    for (int t = 0; t < a->n; t++) {
        product |= a->terms[t].atom->kind == EX_MUL;
        negative |= a->terms[t].factor < 0;
    }
    return product && negative;
}

static bool search_polynomial(Facts *f, const Affine *a)
{
    Search search = {.f = f, .steps = POLYNOMIAL_STEPS};
    return affine_is_expanded_product(a) && polynomial_nonneg(&search, a, 0);
}

/* ---- conditions times factors ---------------------------------------------------------------- */

enum { SCALED_STEPS = 60 };

/* Subtracts the condition times what the product of term m has besides the condition's term t. */
static bool search_scaled_by(Search *s, const Affine *a, const Affine *known, int t, int m)
{
    Context *c = s->f->c;
    Affine by, scaled = {0}, less;
    Expr *atom = a->terms[m].atom;
    Expr *rest = atom->kind == EX_MUL ? product_divide(c, atom, known->terms[t].atom) : NULL;
    if (!rest || !bounds_nonneg(s->f, rest) || !affine_of(c, rest, PRODUCTS_EXPANDED, &by) ||
        !affine_push_product(c, &scaled, known, &by, 1, PRODUCTS_EXPANDED, span_none()) ||
        !affine_normalize(&scaled))
        return false;
    for (int u = 0; u < scaled.n; u++)
        if (expr_same(scaled.terms[u].atom, atom))
            return subtract_condition(c, a, &scaled, u, &less) && search_nonneg(s, &less, 0);
    return false;
}

/* A guard of a row says of its elements what it says times the length of rows.
 *
 *   by * 64 + t < N, j < H   |-   N * H - by * 64 * H - t * H - j - 1 >= 0 */
static bool search_scaled(Facts *f, const Affine *a)
{
    Search search = {.f = f, .steps = SCALED_STEPS};
    if (!f->scales || !affine_is_expanded_product(a))
        return false;
    for (int k = f->conditions.n - 1, first = facts_first_condition(f); k >= first; k--) {
        const Condition *known = &f->conditions.items[k];
        for (int t = 0; known->affine && t < known->form.n; t++)
            for (int m = 0; m < a->n; m++)
                if (search_scaled_by(&search, a, &known->form, t, m))
                    return true;
    }
    return false;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void facts_scale(Facts *f)
{
    f->scales = true;
}

bool prove_nonneg(Facts *f, const Affine *a)
{
    Question q = facts_ask(f);
    Search search = {.f = f, .steps = SEARCH_STEPS}, open = {.f = f, .steps = SEARCH_OPEN_STEPS},
           few = {.f = f, .steps = SEARCH_STEPS};
    Affine expanded = {.constant = a->constant};
    bool fits = true;
    for (int t = 0; t < a->n && fits; t++)
        fits = affine_collect(f->c, a->terms[t].atom, a->terms[t].factor, PRODUCTS_EXPANDED,
                              &expanded);
    bool proved = fits && affine_normalize(&expanded) &&
                  (bounds_nonnegative(&search, &expanded, 0) ||
                   (!points_refute(f, &expanded) &&
                    (search_open(&open, &expanded, 0) || search_nonneg(&search, &expanded, 0) ||
                     search_without_literals(&few, &expanded, 0) ||
                     search_polynomial(f, &expanded) || search_scaled(f, &expanded))));
    facts_answered(f, &q);
    return proved;
}
