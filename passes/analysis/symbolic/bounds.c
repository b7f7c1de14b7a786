/* bounds.c - Bounds expressions by literals, with interval arithmetic. */
#include "passes/analysis/symbolic/affine.h"

/* Its linear form is the expression itself. */
static bool is_atom(const Expr *e)
{
    switch (e->kind) {
    case EX_INT:
    case EX_ADD:
    case EX_SUB:
    case EX_NEG:
    case EX_MUL: return false;
    default: return true;
    }
}

/* Atoms in atoms are looked into only so far: every question stays cheap, also of hostile
 * programs. A product of sums is bounded as such where its terms have no bounds: (H - 2) * W. */
static Bounds bounds_expr(Facts *f, Expr *e)
{
    enum { DEPTH = 8 };
    Affine form;
    Bounds b = bounds_none();
    if (f->depth == DEPTH)
        return b;
    f->depth++;
    if (is_atom(e)) {
        b = bounds_of_atom(f, e);
    } else if (affine_of(f->c, e, PRODUCTS_EXPANDED, &form)) {
        b = bounds_of_affine(f, &form);
        if (!bounds_has_min(b) && affine_is_expanded_product(&form) &&
            affine_of(f->c, e, PRODUCTS_KEPT, &form))
            b = bounds_meet(b, bounds_of_affine(f, &form));
    }
    f->depth--;
    return b;
}

bool bounds_nonneg(Facts *f, Expr *e)
{
    return bounds_expr(f, e).min >= 0;
}

static Bounds bounds_binary(Facts *f, Expr *e)
{
    Bounds a = bounds_expr(f, e->u.arg[0]), b = bounds_expr(f, e->u.arg[1]);
    int64_t d;
    switch (e->kind) {
    case EX_MUL: return bounds_multiply(a, b);
    case EX_DIV: return bounds_divide(a, b);
    case EX_MOD:
        if (expr_is_const(e->u.arg[1], &d) && d > 0 && facts_divisible(f, e->u.arg[0], d))
            return bounds_exactly(0);
        return bounds_remainder(a, b);
    case EX_BITXOR: return bounds_bits(e->kind, a, b);
    default: return bounds_minmax(e->kind, a, b);
    }
}

static Bounds bounds_by_structure(Facts *f, Expr *atom)
{
    const Range *range = facts_find(f, atom);
    switch (atom->kind) {
    case EX_VAR:
        if (range)
            return range->bounds;
        return atom->u.var->kind == VAR_SIZE ? (Bounds){0, INT64_MAX} : bounds_none();
    case EX_AXIS: return range ? range->bounds : (Bounds){0, INT64_MAX};
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX:
    case EX_BITXOR: return bounds_binary(f, atom);
    case EX_SELECT:
        return bounds_join(bounds_expr(f, atom->u.arg[1]), bounds_expr(f, atom->u.arg[2]));
    case EX_CAST:
        return bounds_meet(range ? range->bounds : bounds_none(),
                           bounds_of_type(atom->u.arg[0]->type));
    case EX_LOAD: return range ? range->bounds : bounds_none();
    default: return bounds_none();
    }
}

/* Returns the bounds of the atom that factor * atom + constant >= 0 implies. */
static Bounds bounds_from(int64_t factor, int64_t constant)
{
    if (factor == INT64_MIN || constant == INT64_MIN)
        return bounds_none();
    return factor > 0 ? (Bounds){ceil_div64(-constant, factor), INT64_MAX}
                      : (Bounds){INT64_MIN, floor_div64(constant, -factor)};
}

Bounds bounds_of_atom(Facts *f, Expr *atom)
{
    Bounds b = bounds_by_structure(f, atom);
    for (int k = f->conditions.n - 1, first = facts_first_condition(f); k >= first; k--) {
        const Condition *known = &f->conditions.items[k];
        if (known->affine && known->form.n == 1 && expr_same(known->form.terms[0].atom, atom))
            b = bounds_meet(b, bounds_from(known->form.terms[0].factor, known->form.constant));
    }
    return b;
}

Bounds bounds_of_affine(Facts *f, const Affine *a)
{
    Bounds sum = bounds_exactly(a->constant);
    for (int t = 0; t < a->n && (bounds_has_min(sum) || bounds_has_max(sum)); t++)
        sum = bounds_add_scaled(sum, bounds_of_atom(f, a->terms[t].atom), a->terms[t].factor);
    return sum;
}

/* The greatest literal that `a` is found to be at least, by replacing terms from the innermost
 * out. */
static int64_t least_of(Facts *f, Affine a)
{
    enum { STEPS = 16 };
    int64_t best = bounds_of_affine(f, &a).min, scale = 1;
    for (int step = 0; step < STEPS; step++) {
        Elimination how;
        Affine next;
        if (!eliminate_pick(f, &a, AIM_BOUND, &how) || !checked_mul(scale, how.scale, &scale) ||
            !eliminate_apply(f->c, &a, &how, 0, &next))
            break;
        a = next;
        int64_t now = bounds_of_affine(f, &a).min;
        if (now != INT64_MIN && ceil_div64(now, scale) > best)
            best = ceil_div64(now, scale);
    }
    return best;
}

Bounds bounds_tight(Facts *f, const Affine *a)
{
    Affine up;
    if (a->n == 0)
        return bounds_exactly(a->constant);
    Bounds out = {least_of(f, *a), INT64_MAX};
    if (affine_combine(f->c, *a, -1, affine_const(0), 1, &up))
        out.max = bounds_scale((Bounds){least_of(f, up), INT64_MAX}, -1).max;
    return out;
}

Bounds bounds_tight_expr(Facts *f, Expr *e)
{
    Affine form;
    return affine_of(f->c, e, PRODUCTS_EXPANDED, &form) ? bounds_tight(f, &form) : bounds_none();
}

bool bounds_const(Facts *f, Expr *e, int64_t *min, int64_t *max)
{
    Question q = facts_ask(f);
    Affine form;
    Bounds b = bounds_none();
    if (simplify_affine(f, e, &form))
        b = bounds_tight_expr(f, affine_expr(f->c, &form, e->span));
    facts_answered(f, &q);
    if (!bounds_are_finite(b))
        return false;
    *min = b.min;
    *max = b.max;
    return true;
}
