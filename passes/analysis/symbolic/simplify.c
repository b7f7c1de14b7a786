/* simplify.c - Rewrites INDEX and boolean expressions to a canonical form.
 *
 * INDEX arithmetic is collected into a linear form whose atoms are simplified first, and written
 * out again; conditions go through compare.c, quotients and remainders through divmod.c.  A part
 * whose numbers do not fit is left as it is.  What comes out equal to what went in is returned
 * as the same pointer, and its scratch is released. */
#include "passes/analysis/symbolic/affine.h"

static bool collect(Facts *f, Expr *e, int64_t scale, Affine *out);

bool simplify_affine(Facts *f, Expr *e, Affine *out)
{
    *out = (Affine){0};
    if (!collect(f, e, 1, out) || !affine_normalize(out))
        return false;
    affine_recombine(f, out, e->span);
    return true;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static Expr *simplify_operand(void *user, Expr *e)
{
    return simplify_once(user, e);
}

static Expr *with_operands(Facts *f, Expr *e)
{
    return expr_map_children(f->c, e, simplify_operand, f);
}

/* Each branch is simplified under its condition. */
static Expr *simplify_select(Facts *f, Expr *e)
{
    Expr *cond = simplify_bool(f, e->u.arg[0]);
    if (cond->kind == EX_INT)
        return simplify_once(f, e->u.arg[cond->u.i ? 1 : 2]);
    FactsMark mark = facts_mark(f);
    facts_assume_canonical(f, cond);
    Expr *a = simplify_once(f, e->u.arg[1]);
    facts_reset(f, mark);
    facts_assume_canonical(f, cond_negate(f->c, cond));
    Expr *b = simplify_once(f, e->u.arg[2]);
    facts_reset(f, mark);
    if (expr_same(a, b))
        return a;
    if (cond == e->u.arg[0] && a == e->u.arg[1] && b == e->u.arg[2])
        return e;
    return expr_select(f->c, cond, a, b, e->span);
}

static bool value_fits(Facts *f, Expr *e, DType type)
{
    Bounds b = bounds_tight_expr(f, e);
    return bounds_are_finite(b) && type_holds(type, b.min) && type_holds(type, b.max);
}

/* Casts that keep every value: of literals, to the same type, and to INDEX and back (which has 64
 * bits where it runs). */
static Expr *simplify_cast(Facts *f, Expr *e)
{
    Expr *inner = simplify_once(f, e->u.arg[0]);
    int64_t value;
    if (inner->type == e->type)
        return inner;
    bool integers = type_is_int(inner->type) && type_is_int(e->type);
    if (integers && expr_is_const(inner, &value) && inner->type != DT_U64 &&
        type_holds(e->type, value))
        return expr_int(f->c, e->type, value, e->span);
    bool back = integers && inner->kind == EX_CAST && inner->u.arg[0]->type == DT_INDEX &&
                e->type == DT_INDEX;
    if (back && (inner->type == DT_I64 || value_fits(f, inner->u.arg[0], inner->type)))
        return inner->u.arg[0];
    return inner == e->u.arg[0] ? e : expr_cast(f->c, e->type, inner, e->span);
}

/* ---- minima and maxima ----------------------------------------------------------------------- */

/* a >= b everywhere (for a maximum, a <= b), so that a may go. */
static bool dominated(Facts *f, Expr *a, Expr *b, ExprKind kind)
{
    Affine x, y, d;
    int64_t sign = kind == EX_MIN ? 1 : -1;
    return affine_of(f->c, a, PRODUCTS_EXPANDED, &x) && affine_of(f->c, b, PRODUCTS_EXPANDED, &y) &&
           affine_combine(f->c, x, sign, y, -sign, &d) && prove_nonneg(f, &d);
}

/* The operands of nested minima, simplified. */
static void flatten_simplified(Facts *f, Expr *e, ExprKind kind, ExprList *out)
{
    if (e->kind == kind) {
        flatten_simplified(f, e->u.arg[0], kind, out);
        flatten_simplified(f, e->u.arg[1], kind, out);
    } else {
        expr_chain(f->c, simplify_once(f, e), kind, out);
    }
}

/* Inserts in order; drops dominated operands. */
static void insert_candidate(Facts *f, ExprList *list, Expr *e, ExprKind kind)
{
    enum { COMPARED = 8 };
    int n = 0;
    for (int k = 0; k < list->n && k < COMPARED; k++)
        if (dominated(f, e, list->items[k], kind))
            return;
    for (int k = 0; k < list->n; k++)
        if (k >= COMPARED || !dominated(f, list->items[k], e, kind))
            list->items[n++] = list->items[k];
    list->n = n;
    VEC_PUSH(f->c->arena, list, e);
    for (int k = list->n - 1; k > 0 && expr_order(list->items[k - 1], e) > 0; k--) {
        list->items[k] = list->items[k - 1];
        list->items[k - 1] = e;
    }
}

static Expr *simplify_minmax(Facts *f, Expr *e)
{
    ExprList operands = {0}, left = {0};
    flatten_simplified(f, e, e->kind, &operands);
    for (int k = 0; k < operands.n; k++)
        insert_candidate(f, &left, operands.items[k], e->kind);
    Expr *out = left.items[0];
    for (int k = 1; k < left.n; k++)
        out = expr_binary(f->c, e->kind, out, left.items[k], e->span);
    return out;
}

/* ---- INDEX arithmetic ------------------------------------------------------------------------ */

static bool collect_product(Facts *f, Expr *e, int64_t scale, Affine *out)
{
    Affine a, b;
    return simplify_affine(f, e->u.arg[0], &a) && simplify_affine(f, e->u.arg[1], &b) &&
           affine_push_product(f->c, out, &a, &b, scale, PRODUCTS_KEPT, e->span);
}

/* 0 divided by anything is 0: where that is 0 as well there is no iteration to compute it for, and
 * lowering may have moved it out of the loop that says so. */
static bool collect_quotient(Facts *f, Expr *e, int64_t scale, Affine *out)
{
    Affine a, b;
    if (!simplify_affine(f, e->u.arg[0], &a))
        return false;
    if (a.n == 0 && a.constant == 0)
        return true;
    return simplify_affine(f, e->u.arg[1], &b) &&
           affine_push_quotient(f, out, &a, &b, e->kind == EX_MOD, scale, e->span);
}

static bool collect_bits(Facts *f, Expr *e, int64_t scale, Affine *out)
{
    Expr *bits = with_operands(f, e), *plain = bits_as_arithmetic(f, bits);
    return plain ? collect(f, plain, scale, out) : affine_push(f->c, out, scale, bits);
}

/* out += scale * e, simplified. */
static bool collect(Facts *f, Expr *e, int64_t scale, Affine *out)
{
    int64_t negated;
    const Range *range;
    switch (e->kind) {
    case EX_ADD: return collect(f, e->u.arg[0], scale, out) && collect(f, e->u.arg[1], scale, out);
    case EX_SUB:
        return checked_mul(scale, -1, &negated) && collect(f, e->u.arg[0], scale, out) &&
               collect(f, e->u.arg[1], negated, out);
    case EX_NEG: return checked_mul(scale, -1, &negated) && collect(f, e->u.arg[0], negated, out);
    case EX_MUL: return collect_product(f, e, scale, out);
    case EX_DIV:
    case EX_MOD: return collect_quotient(f, e, scale, out);
    case EX_MIN:
    case EX_MAX: return affine_collect(f->c, simplify_minmax(f, e), scale, PRODUCTS_KEPT, out);
    case EX_SELECT: return affine_collect(f->c, simplify_select(f, e), scale, PRODUCTS_KEPT, out);
    case EX_CAST: return affine_collect(f->c, simplify_cast(f, e), scale, PRODUCTS_KEPT, out);
    case EX_SHL:
    case EX_SHR:
    case EX_BITAND:
    case EX_BITOR:
    case EX_BITXOR: return collect_bits(f, e, scale, out);
    case EX_VAR:
    case EX_AXIS:
        range = facts_find(f, e);
        return affine_collect(f->c, range && range->value ? range->value : e, scale, PRODUCTS_KEPT,
                              out);
    default: return affine_push(f->c, out, scale, with_operands(f, e));
    }
}

static Expr *simplify_index(Facts *f, Expr *e)
{
    Affine form;
    if (e->kind == EX_INT || !simplify_affine(f, e, &form))
        return e;
    if (form.n == 1 && form.constant == 0 && form.terms[0].factor == 1)
        return expr_settle(form.terms[0].atom, e);
    return expr_settle(affine_expr(f->c, &form, e->span), e);
}

static bool is_one(const Expr *e)
{
    return e->kind == EX_FLOAT && e->u.f == 1.0;
}

/* A product of floats: that with 1 is the other factor, bit for bit. */
static Expr *simplify_product(Facts *f, Expr *e)
{
    Expr *product = with_operands(f, e), *a = product->u.arg[0], *b = product->u.arg[1];
    return is_one(a) ? b : is_one(b) ? a : product;
}

Expr *simplify_once(Facts *f, Expr *e)
{
    if (e->kind == EX_INT || e->kind == EX_FLOAT)
        return e;
    if (e->type == DT_INDEX)
        return simplify_index(f, e);
    OpClass class = op_info(e->kind)->class;
    if (e->kind == EX_SELECT)
        return simplify_select(f, e);
    if (e->kind == EX_CAST)
        return simplify_cast(f, e);
    if (class == OP_LOGIC || class == OP_COMPARE || e->kind == EX_NOT)
        return simplify_bool(f, e);
    if (e->type == DT_BOOL && e->kind == EX_VAR)
        return facts_know(f, e) ? expr_true(f->c) : e;
    if (e->kind == EX_MUL && type_is_float(e->type))
        return simplify_product(f, e);
    return with_operands(f, e);
}

/* What is simplified once stays as it is, but for products of forms, which may cancel in turn. */
static bool has_product(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_MUL && at.expr->type == DT_INDEX &&
            at.expr->u.arg[0]->kind != EX_INT && at.expr->u.arg[1]->kind != EX_INT)
            return true;
    return false;
}

/* Lowering is no step: there, a rewritten expression keeps its step. */
Expr *simplify(Facts *f, Expr *e)
{
    enum { PASSES = 4 };
    int step = f->c->step;
    bool again = true;
    if (step == 0)
        f->c->step = e->step;
    for (int pass = 0; pass < PASSES && again; pass++) {
        Question q = facts_ask(f);
        Expr *before = e;
        e = simplify_once(f, before);
        if (e == before)
            facts_answered(f, &q);
        again = e != before && has_product(f->c, e);
    }
    f->c->step = step;
    return e;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool prove(Facts *f, Expr *cond)
{
    Question q = facts_ask(f);
    bool proved = cond_is_true(simplify_once(f, cond));
    facts_answered(f, &q);
    return proved;
}

bool prove_compare(Facts *f, Expr *a, ExprKind kind, Expr *b)
{
    return prove(f, expr_binary(f->c, kind, a, b, a->span));
}

bool prove_at_least(Facts *f, Expr *e, int64_t least)
{
    return prove_compare(f, e, EX_GE, expr_index(f->c, least));
}

bool prove_inside(Facts *f, Expr *e, Expr *end)
{
    return prove_at_least(f, e, 0) && prove_compare(f, e, EX_LT, end);
}

Expr *index_at_least(Facts *f, Expr *e, int64_t least)
{
    return prove_at_least(f, e, least) ? e
                                       : simplify(f, index_max(f->c, e, expr_index(f->c, least)));
}

bool load_exists(Facts *f, const Expr *load)
{
    const Buffer *buffer = load->u.load.buffer;
    bool exists = true;
    for (int i = 0; i < buffer->rank && exists; i++)
        exists = prove_inside(f, load->u.load.index[i], buffer->shape[i]);
    return exists;
}

static bool term_divisible(Facts *f, int64_t factor, Expr *atom, int64_t by, int depth);

/* A factor of the product is a multiple of `by`: (i * 16 + j * 4) * N is one of 4. */
static bool product_divisible(Facts *f, const Expr *atom, int64_t by, int depth)
{
    bool found = false;
    for (int k = 0; atom->kind == EX_MUL && depth > 0 && k < 2 && !found; k++) {
        Affine form;
        found = affine_of(f->c, atom->u.arg[k], PRODUCTS_KEPT, &form) && form.constant % by == 0;
        for (int t = 0; found && t < form.n; t++)
            found = term_divisible(f, form.terms[t].factor, form.terms[t].atom, by, depth - 1);
    }
    return found;
}

/* factor * atom is a multiple of `by`; a loop's variable is its first value and a multiple of its
 * step. */
static bool term_divisible(Facts *f, int64_t factor, Expr *atom, int64_t by, int depth)
{
    int64_t rest = by / gcd64(factor, by);
    if (rest == 1 || facts_divisible(f, atom, rest) || product_divisible(f, atom, rest, depth))
        return true;
    const Range *r = facts_find(f, atom);
    int64_t stride;
    Affine start;
    if (!r || depth == 0 || r->stride <= 1 || !checked_mul(factor, r->stride, &stride) ||
        stride % by != 0 || !r->low_met || !affine_of(f->c, r->lo, PRODUCTS_KEPT, &start))
        return false;
    bool all = (start.constant % by) * (factor % by) % by == 0;
    for (int t = 0; t < start.n && all; t++) {
        int64_t k;
        all = checked_mul(start.terms[t].factor, factor, &k) &&
              term_divisible(f, k, start.terms[t].atom, by, depth - 1);
    }
    return all;
}

bool affine_terms_divisible(Facts *f, const Affine *a, int64_t by)
{
    enum { DEPTH = 4 };
    bool all = true;
    for (int t = 0; t < a->n && all; t++)
        all = term_divisible(f, a->terms[t].factor, a->terms[t].atom, by, DEPTH);
    return all;
}

bool prove_divisible(Facts *f, Expr *e, int64_t by)
{
    enum { LARGEST = 1 << 30 };
    if (by == 0 || by == INT64_MIN)
        return false;
    by = by < 0 ? -by : by;
    if (by > LARGEST)
        return false;
    Question q = facts_ask(f);
    Affine simple, form;
    bool all = simplify_affine(f, e, &simple) && affine_congruent(f, &simple, by, &form) &&
               form.constant % by == 0 && affine_terms_divisible(f, &form, by);
    facts_answered(f, &q);
    return all;
}

bool split_linear(Facts *f, Expr *e, const Var *var, int64_t *coefficient, Expr **rest)
{
    Affine form, others;
    int64_t factor = 0;
    if (!simplify_affine(f, e, &form))
        return false;
    others = (Affine){.constant = form.constant};
    for (int t = 0; t < form.n; t++) {
        Expr *atom = form.terms[t].atom;
        if (expr_is_var(atom, var))
            factor = form.terms[t].factor;
        else if (expr_uses_var(atom, var) ||
                 !affine_push(f->c, &others, form.terms[t].factor, atom))
            return false;
    }
    *coefficient = factor;
    *rest = affine_expr(f->c, &others, e->span);
    return true;
}

bool split_number(Facts *f, Expr *e, int64_t *number, Expr **rest)
{
    Affine form;
    if (!simplify_affine(f, e, &form))
        return false;
    *number = form.constant;
    form.constant = 0;
    *rest = affine_expr(f->c, &form, e->span);
    return true;
}

bool split_terms(Facts *f, Expr *e, bool (*chooses)(const void *user, Expr *factor),
                 const void *user, Expr **chosen, Expr **rest)
{
    Affine form;
    if (!simplify_affine(f, e, &form))
        return false;
    Affine some = {.constant = 0}, others = {.constant = form.constant};
    for (int t = 0; t < form.n; t++) {
        Affine *to = chooses(user, form.terms[t].atom) ? &some : &others;
        if (!affine_push(f->c, to, form.terms[t].factor, form.terms[t].atom))
            return false;
    }
    *chosen = affine_expr(f->c, &some, e->span);
    *rest = affine_expr(f->c, &others, e->span);
    return true;
}
