/* bounds.c - literal bounds of expressions by interval arithmetic.
 *
 * Every operation that would overflow gives up the side that it was computing, so bounds are
 * always true. */
#include "passes/analysis/symbolic/affine.h"

static Bounds bounds_between(int64_t min, int64_t max)
{
    return (Bounds){true, true, min, max};
}

static Bounds bounds_join(Bounds a, Bounds b)
{
    return (Bounds){a.has_min && b.has_min, a.has_max && b.has_max, a.min < b.min ? a.min : b.min,
                    a.max > b.max ? a.max : b.max};
}

static void bounds_at_least(Bounds *b, int64_t min)
{
    if (!b->has_min || b->min < min)
        b->min = min;
    b->has_min = true;
}

static void bounds_at_most(Bounds *b, int64_t max)
{
    if (!b->has_max || b->max > max)
        b->max = max;
    b->has_max = true;
}

static Bounds bounds_scale(Bounds a, int64_t k)
{
    Bounds out = {0};
    if (k < 0) {
        out.has_max = a.has_min && checked_mul(a.min, k, &out.max);
        out.has_min = a.has_max && checked_mul(a.max, k, &out.min);
    } else {
        out.has_min = a.has_min && checked_mul(a.min, k, &out.min);
        out.has_max = a.has_max && checked_mul(a.max, k, &out.max);
    }
    return out;
}

static Bounds bounds_add(Bounds a, Bounds b)
{
    Bounds out = {0};
    out.has_min = a.has_min && b.has_min && checked_add(a.min, b.min, &out.min);
    out.has_max = a.has_max && b.has_max && checked_add(a.max, b.max, &out.max);
    return out;
}

/* Products of two numbers of which nothing is known but that neither is negative stay so. */
static Bounds bounds_mul(Bounds a, Bounds b)
{
    if (a.has_min && a.min >= 0 && b.has_min && b.min >= 0) {
        Bounds out = {0};
        out.has_min = true;
        if (!checked_mul(a.min, b.min, &out.min))
            out.min = 0;
        out.has_max = a.has_max && b.has_max && checked_mul(a.max, b.max, &out.max);
        return out;
    }
    if (!a.has_min || !a.has_max || !b.has_min || !b.has_max)
        return (Bounds){0};
    Bounds low = bounds_scale(b, a.min), high = bounds_scale(b, a.max);
    if (!low.has_min || !low.has_max || !high.has_min || !high.has_max)
        return (Bounds){0};
    return bounds_join(low, high);
}

/* Atoms in atoms are looked into only so far: every question stays cheap, also of hostile
 * programs. */
static Bounds bounds_expr(Facts *f, Expr *e)
{
    enum { DEPTH = 8 };
    Affine form;
    Bounds b = {0};
    if (f->depth == DEPTH)
        return b;
    f->depth++;
    if (affine_of(f->c, e, PRODUCTS_EXPANDED, &form))
        b = bounds_of_affine(f, &form);
    f->depth--;
    return b;
}

bool bounds_nonneg(Facts *f, Expr *e)
{
    Bounds b = bounds_expr(f, e);
    return b.has_min && b.min >= 0;
}

/* Truncating division is monotone in the dividend for a positive divisor. */
static Bounds bounds_div(Facts *f, Expr *e)
{
    Bounds a = bounds_expr(f, e->u.arg[0]), b = bounds_expr(f, e->u.arg[1]);
    Bounds out = {0};
    int64_t d;
    if (expr_is_const(e->u.arg[1], &d) && d > 0) {
        out = (Bounds){a.has_min, a.has_max, a.min / d, a.max / d};
    } else if (a.has_min && a.min >= 0 && b.has_min && b.min >= 0) {
        out = (Bounds){true, a.has_max, 0, a.max};
    }
    return out;
}

/* The remainder has the sign of the dividend, and is no larger. */
static Bounds bounds_mod(Facts *f, Expr *e)
{
    Bounds a = bounds_expr(f, e->u.arg[0]), b = bounds_expr(f, e->u.arg[1]);
    Bounds out = {0};
    int64_t d;
    if (expr_is_const(e->u.arg[1], &d) && d > 0 && facts_divisible(f, e->u.arg[0], d))
        return bounds_between(0, 0);
    if (b.has_min && b.min >= 0 && b.has_max && b.max > 0)
        out = bounds_between(1 - b.max, b.max - 1);
    if (a.has_min && a.min >= 0) {
        bounds_at_least(&out, 0);
        if (a.has_max)
            bounds_at_most(&out, a.max);
    }
    return out;
}

Bounds bounds_minmax(ExprKind kind, Bounds a, Bounds b)
{
    Bounds out = {0};
    if (kind == EX_MIN) {
        if (a.has_min && b.has_min)
            bounds_at_least(&out, a.min < b.min ? a.min : b.min);
        if (a.has_max)
            bounds_at_most(&out, a.max);
        if (b.has_max)
            bounds_at_most(&out, b.max);
    } else {
        if (a.has_max && b.has_max)
            bounds_at_most(&out, a.max > b.max ? a.max : b.max);
        if (a.has_min)
            bounds_at_least(&out, a.min);
        if (b.has_min)
            bounds_at_least(&out, b.min);
    }
    return out;
}

/* Neither operand below 0: no bit is set above the highest of both. */
static Bounds bounds_xor(Facts *f, Expr *e)
{
    Bounds a = bounds_expr(f, e->u.arg[0]), b = bounds_expr(f, e->u.arg[1]), out = {0};
    if (!a.has_min || a.min < 0 || !b.has_min || b.min < 0)
        return out;
    bounds_at_least(&out, 0);
    int64_t mask = 0, both = a.max | b.max;
    while (a.has_max && b.has_max && mask < both)
        mask = mask * 2 + 1;
    if (a.has_max && b.has_max)
        bounds_at_most(&out, mask);
    return out;
}

Bounds bounds_of_type(DType type)
{
    const TypeInfo *info = type_info(type);
    if (info->class == CLASS_BOOL)
        return bounds_between(0, 1);
    if (info->class == CLASS_UINT && info->bits < 64)
        return bounds_between(0, ((int64_t)1 << info->bits) - 1);
    if (info->class == CLASS_INT && info->bits < 64)
        return bounds_between(-((int64_t)1 << (info->bits - 1)),
                              ((int64_t)1 << (info->bits - 1)) - 1);
    return (Bounds){0};
}

static Bounds bounds_by_structure(Facts *f, Expr *atom)
{
    const Range *range = facts_find(f, atom);
    switch (atom->kind) {
    case EX_VAR:
        if (range)
            return range->bounds;
        return (Bounds){.has_min = atom->u.var->kind == VAR_SIZE, .min = 0};
    case EX_AXIS: return range ? range->bounds : (Bounds){.has_min = true, .min = 0};
    case EX_MUL: return bounds_mul(bounds_expr(f, atom->u.arg[0]), bounds_expr(f, atom->u.arg[1]));
    case EX_DIV: return bounds_div(f, atom);
    case EX_MOD: return bounds_mod(f, atom);
    case EX_MIN:
    case EX_MAX:
        return bounds_minmax(atom->kind, bounds_expr(f, atom->u.arg[0]),
                             bounds_expr(f, atom->u.arg[1]));
    case EX_BITXOR: return bounds_xor(f, atom);
    case EX_SELECT:
        return bounds_join(bounds_expr(f, atom->u.arg[1]), bounds_expr(f, atom->u.arg[2]));
    case EX_CAST: return range ? range->bounds : bounds_of_type(atom->u.arg[0]->type);
    case EX_LOAD: return range ? range->bounds : (Bounds){0};
    default: return (Bounds){0};
    }
}

/* factor * atom + constant >= 0. */
static void bounds_refine(Bounds *b, int64_t factor, int64_t constant)
{
    if (factor == INT64_MIN || constant == INT64_MIN)
        return;
    if (factor > 0) {
        int64_t k = -constant;
        bounds_at_least(b, k / factor + (k % factor > 0));
    } else {
        int64_t k = -factor;
        bounds_at_most(b, constant / k - (constant % k < 0));
    }
}

Bounds bounds_of_atom(Facts *f, Expr *atom)
{
    Bounds b = bounds_by_structure(f, atom);
    for (int k = f->conditions.n - 1; k >= facts_first_condition(f); k--) {
        const Condition *known = &f->conditions.items[k];
        if (known->affine && known->form.n == 1 && expr_order(known->form.terms[0].atom, atom) == 0)
            bounds_refine(&b, known->form.terms[0].factor, known->form.constant);
    }
    return b;
}

Bounds bounds_of_affine(Facts *f, const Affine *a)
{
    Bounds sum = bounds_between(a->constant, a->constant);
    for (int t = 0; t < a->n && (sum.has_min || sum.has_max); t++)
        sum =
            bounds_add(sum, bounds_scale(bounds_of_atom(f, a->terms[t].atom), a->terms[t].factor));
    return sum;
}

/* The greatest literal that scale * a is found to be at least, by replacing terms from the
 * innermost out. */
static Bounds bounds_below(Facts *f, Affine a)
{
    enum { STEPS = 16 };
    Bounds best = bounds_of_affine(f, &a);
    int64_t scale = 1;
    best.has_max = false;
    for (int step = 0; step < STEPS; step++) {
        Elimination how;
        Affine next;
        int t = eliminate_pick(f, &a, false, &how);
        if (t < 0 || !checked_mul(scale, how.scale, &scale) ||
            !eliminate_apply(f->c, &a, t, &how, 0, &next))
            break;
        a = next;
        Bounds now = bounds_of_affine(f, &a);
        if (now.has_min)
            bounds_at_least(&best, now.min / scale + (now.min % scale > 0));
    }
    return best;
}

Bounds bounds_tight(Facts *f, const Affine *a)
{
    Affine up = {0};
    if (a->n == 0)
        return bounds_between(a->constant, a->constant);
    Bounds out = bounds_below(f, *a);
    if (affine_push_scaled(f->c, &up, a, -1) && affine_normalize(&up)) {
        Bounds below = bounds_below(f, up);
        out.has_max = below.has_min && checked_mul(below.min, -1, &out.max);
    }
    return out;
}

bool bounds_const(Facts *f, Expr *e, int64_t *min, int64_t *max)
{
    Question q = facts_ask(f);
    Affine form;
    Bounds b = {0};
    if (simplify_affine(f, e, &form) &&
        affine_of(f->c, affine_expr(f->c, &form, e->span), PRODUCTS_EXPANDED, &form))
        b = bounds_tight(f, &form);
    facts_answered(f, &q);
    if (!b.has_min || !b.has_max)
        return false;
    *min = b.min;
    *max = b.max;
    return true;
}
