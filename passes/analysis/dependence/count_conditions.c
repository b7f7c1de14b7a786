/* count_conditions.c - Decides what conditions of one statement imply for another.
 *
 *   if x[i] > 0 && i < M               x[i] > 0 holds, and i < M does;
 *       y[count] = x[i];               so the term  x[i] > 0 ? 1 : 0  is 1
 *
 * Conditions are compared as they stand, part by part. A part that reads a buffer counts if nothing
 * writes the buffer in between. Of floats, `!(a > b)` is not `a <= b`, since NaN is neither. */
#include "passes/analysis/dependence/count_conditions.h"

#include "passes/analysis/regions/data_range.h"
#include "passes/analysis/symbolic/affine.h"

static bool compares_integers(const Expr *e)
{
    return op_info(e->kind) && op_info(e->kind)->class == OP_COMPARE &&
           type_is_int(e->u.arg[0]->type) && type_is_int(e->u.arg[1]->type);
}

void known_add(Context *c, KnownList *list, Expr *cond, Truth truth)
{
    if (cond->kind == EX_NOT) {
        known_add(c, list, cond->u.arg[0], !truth);
    } else if (cond->kind == (truth ? EX_AND : EX_OR)) {
        known_add(c, list, cond->u.arg[0], truth);
        known_add(c, list, cond->u.arg[1], truth);
    } else {
        if (!truth && compares_integers(cond)) {
            cond = expr_binary(c, compare_opposite(cond->kind), cond->u.arg[0], cond->u.arg[1],
                               cond->span);
            truth = HOLDS;
        }
        VEC_PUSH(c->arena, list, ((Known){cond, truth}));
    }
}

/* What the expression reads has not been written in between. */
static bool is_stable(const Conditions *of, const Expr *e)
{
    for (Cursor at = cursor_expr(of->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && !of->is_stable(of->user, at.expr->u.load.buffer))
            return false;
    return true;
}

static bool is_known(const Conditions *of, const Known *wanted)
{
    for (int i = 0; i < of->known.n; i++) {
        const Known *known = &of->known.items[i];
        if (known->truth == wanted->truth && expr_equal(known->cond, wanted->cond))
            return is_stable(of, wanted->cond);
    }
    return false;
}

bool conditions_imply(const Conditions *of, Expr *cond, Truth truth)
{
    Expr *const *arg = cond->u.arg;
    if (cond->kind == EX_INT)
        return (cond->u.i != 0) == (truth == HOLDS);
    if (cond->kind == EX_NOT)
        return conditions_imply(of, arg[0], !truth);
    if (cond->kind == (truth ? EX_AND : EX_OR))
        return conditions_imply(of, arg[0], truth) && conditions_imply(of, arg[1], truth);
    KnownList wanted = {0};
    known_add(of->c, &wanted, cond, truth);
    if (is_known(of, &wanted.items[0]))
        return true;
    return cond->kind == (truth ? EX_OR : EX_AND) &&
           (conditions_imply(of, arg[0], truth) || conditions_imply(of, arg[1], truth));
}

/* ---- terms ----------------------------------------------------------------------------------- */

/* The expression below casts that keep all values. */
static const Expr *without_casts(const Conditions *of, const Expr *e)
{
    while (e->kind == EX_CAST && type_is_int(e->type) && type_is_int(e->u.arg[0]->type)) {
        Bounds range = term_range(of->kernel, e->u.arg[0]);
        bool kept = bounds_are_finite(range) && type_holds(e->type, range.min) &&
                    type_holds(e->type, range.max);
        if (!kept)
            break;
        e = e->u.arg[0];
    }
    return e;
}

/* What the `where` clause says of the elements of an input. */
static Bounds element_range(const Kernel *kernel, const Buffer *buffer)
{
    Bounds range = bounds_of_type(buffer->type);
    for (int i = 0; i < kernel->n_facts && buffer->role == ROLE_IN; i++) {
        const Fact *fact = &kernel->facts[i];
        int64_t end;
        if (fact->kind != FACT_VALUES || !fact->subject.buffer ||
            fact->subject.buffer->id != buffer->id)
            continue;
        if (fact->lo && expr_is_const(fact->lo, &end) && end >= range.min)
            range.min = end + fact->excludes_lo;
        if (fact->hi && expr_is_const(fact->hi, &end) && end <= range.max)
            range.max = end - fact->excludes_hi;
    }
    return range;
}

Bounds term_range(const Kernel *kernel, const Expr *e)
{
    Bounds range = data_range(e);
    if (e->kind == EX_SELECT)
        return bounds_join(term_range(kernel, e->u.arg[1]), term_range(kernel, e->u.arg[2]));
    if (e->kind == EX_LOAD && type_is_int(e->type))
        return element_range(kernel, e->u.load.buffer);
    if (e->kind == EX_CAST && type_is_int(e->type) && type_is_int(e->u.arg[0]->type)) {
        Bounds of = term_range(kernel, e->u.arg[0]);
        bool fits =
            bounds_are_finite(of) && type_holds(e->type, of.min) && type_holds(e->type, of.max);
        return fits ? of : range;
    }
    return range;
}

/* A known comparison of the term with a number says that it is at least 1; or that it is 0. */
static bool compared(const Conditions *of, const Expr *term, bool zero)
{
    for (int i = 0; i < of->known.n; i++) {
        const Expr *e = of->known.items[i].cond;
        int64_t n;
        if (of->known.items[i].truth == HOLDS_NOT || !compares_integers(e) ||
            !expr_is_const(without_casts(of, e->u.arg[1]), &n) ||
            !expr_equal(without_casts(of, e->u.arg[0]), without_casts(of, term)))
            continue;
        bool one = (e->kind == EX_GT && n >= 0) || (e->kind == EX_GE && n >= 1) ||
                   (e->kind == EX_EQ && n >= 1) || (e->kind == EX_NE && n == 0);
        bool none = (e->kind == EX_EQ && n == 0) || (e->kind == EX_LT && n <= 1) ||
                    (e->kind == EX_LE && n <= 0);
        if ((zero ? none : one) && is_stable(of, e))
            return true;
    }
    return false;
}

/* The term, or each of its values that the conditions allow, is 0, or else at least 1. */
static bool has_value(const Conditions *of, Expr *term, bool zero)
{
    if (term->kind == EX_SELECT) {
        Expr *const *arg = term->u.arg;
        bool never = conditions_imply(of, arg[0], HOLDS_NOT);
        bool always = conditions_imply(of, arg[0], HOLDS);
        return (never || has_value(of, arg[1], zero)) && (always || has_value(of, arg[2], zero));
    }
    Bounds range = term_range(of->kernel, term);
    return (zero ? range.min == 0 && range.max == 0 : range.min >= 1) || compared(of, term, zero);
}

bool conditions_count(const Conditions *of, Expr *term)
{
    bool zero = false;
    return has_value(of, term, zero);
}

bool conditions_leave_out(const Conditions *of, Expr *term)
{
    bool zero = true;
    return has_value(of, term, zero);
}
