/* mask.c - Finds conditions without which a value changes nothing that it is combined with.
 *
 *   w[i, j] = exp((j <= i ? s[i, j] : -inf) - m[i]);      0 unless j <= i,
 *   y[i] += w[i, j] * v[j];                               and so is w[i, j] * v[j]
 *
 * In floating point these are limits: 0 * infinity and -inf - -inf are no numbers. A mask says that
 * such terms should not count, so that "or NaN" is what its user wants. */
#include "passes/analysis/regions/mask.h"

#include <math.h>

#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/simplify.h"

enum { MAX_TEMPS = 8 }; /* that hand a value on, from one block to the next */

typedef struct {
    Context *c;
    const Kernel *kernel;
    int temps; /* looked through so far */
} Mask;

static bool is_zero(const Expr *e)
{
    return (e->kind == EX_FLOAT && e->u.f == 0) || (e->kind == EX_INT && e->u.i == 0);
}

static bool is_infinity(const Expr *e)
{
    return e->kind == EX_FLOAT && isinf(e->u.f);
}

/* Types of 8 bits differ in what they make of an infinity. */
static bool has_infinity(DType type)
{
    return type_is_float(type) && type_info(type)->bits > 8;
}

/* The same number, 0 or an infinity, in another type. */
static Expr *number_of(Context *c, DType type, const Expr *number)
{
    return type_is_float(type)
               ? expr_float(c, type, is_zero(number) ? 0 : number->u.f, number->span)
               : expr_int(c, type, 0, number->span);
}

static bool is_neutral(const Expr *e, const Expr *neutral)
{
    return is_zero(neutral) ? is_zero(e) : expr_equal(e, neutral);
}

/* The value is positive, +0 or NaN. */
static bool is_not_negative(const Expr *e)
{
    const Expr *a = expr_arity(e->kind) > 0 ? e->u.arg[0] : NULL;
    switch (e->kind) {
    case EX_INT: return e->u.i >= 0;
    case EX_FLOAT: return !signbit(e->u.f);
    case EX_VAR: return e->u.var->kind == VAR_SIZE;
    case EX_CAST: return is_not_negative(a);
    case EX_ADD:
    case EX_MUL:
    case EX_DIV: return is_not_negative(a) && is_not_negative(e->u.arg[1]);
    case EX_CALL:
        if (e->u.call.call == CALL_SQRT || e->u.call.call == CALL_RSQRT)
            return is_not_negative(e->u.call.arg[0]);
        return call_is_power(e->u.call.call) || e->u.call.call == CALL_ABS;
    default: return false;
    }
}

/* Adds the comparisons of indices that follow from a condition that holds, or does not. */
static void add_comparisons(Context *c, Expr *cond, Truth holds, ExprList *out)
{
    static const ExprKind negated[] = {
        [EX_LT] = EX_GE, [EX_LE] = EX_GT, [EX_GT] = EX_LE, [EX_GE] = EX_LT};
    Expr *const *arg = cond->u.arg;
    if (cond->kind == EX_NOT) {
        add_comparisons(c, arg[0], holds ? HOLDS_NOT : HOLDS, out);
    } else if (cond->kind == (holds ? EX_AND : EX_OR)) {
        add_comparisons(c, arg[0], holds, out);
        add_comparisons(c, arg[1], holds, out);
    } else if (cond->kind >= EX_LT && cond->kind <= EX_GE && arg[0]->type == DT_INDEX) {
        Expr *other = expr_binary(c, negated[cond->kind], arg[0], arg[1], cond->span);
        VEC_PUSH(c->arena, out, holds ? cond : other);
    }
}

static void find(Mask *m, const Expr *e, const Expr *neutral, ExprList *out);

static void find_selected(Mask *m, const Expr *e, const Expr *neutral, ExprList *out)
{
    Expr *const *arg = e->u.arg;
    if (is_neutral(arg[2], neutral)) {
        add_comparisons(m->c, arg[0], HOLDS, out);
        find(m, arg[1], neutral, out);
    } else if (is_neutral(arg[1], neutral)) {
        add_comparisons(m->c, arg[0], HOLDS_NOT, out);
        find(m, arg[2], neutral, out);
    }
}

/* The only block that writes the temp, if it stores one value to an element of its own. */
static const BlockStmt *only_writer(Mask *m, const Buffer *buffer, const StoreStmt **store)
{
    const Stmt *found = only_block_accessing(m->c, m->kernel->body, buffer, ACCESS_WRITE);
    const Stmt *set =
        found && !found->u.block.init ? stmt_written_out(m->c, found->u.block.body) : NULL;
    if (buffer->role != ROLE_TEMP || !set || set->u.store.op != STORE_SET)
        return NULL;
    *store = &set->u.store;
    return &found->u.block;
}

static bool uses_iters(const Expr *e, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_uses_var(e, block->iters[i].var))
            return true;
    return false;
}

/* The element of a temp is what its writer has stored, whose iterators the subscripts tell. */
static void find_stored(Mask *m, const Expr *load, const Expr *neutral, ExprList *out)
{
    const StoreStmt *store;
    const Buffer *buffer = load->u.load.buffer;
    const BlockStmt *block = m->temps < MAX_TEMPS ? only_writer(m, buffer, &store) : NULL;
    if (!block)
        return;
    ExprList conds = {0};
    SubstList map = {0};
    m->temps++;
    find(m, store->value, neutral, &conds);
    m->temps--;
    for (int i = 0; i < buffer->rank; i++)
        if (store->index[i]->kind == EX_VAR)
            VEC_PUSH(m->c->arena, &map, ((Subst){store->index[i]->u.var, load->u.load.index[i]}));
    for (int i = 0; i < conds.n; i++) {
        Expr *cond = expr_subst(m->c, conds.items[i], map.items, map.n);
        if (!uses_iters(cond, block))
            VEC_PUSH(m->c->arena, out, cond);
    }
}

/* A product with 0, or of an infinity and what does not change its sign. */
static void find_in_product(Mask *m, const Expr *e, const Expr *neutral, ExprList *out)
{
    for (int i = 0; i < (e->kind == EX_DIV ? 1 : 2); i++)
        if (is_zero(neutral) || is_not_negative(e->u.arg[1 - i]))
            find(m, e->u.arg[i], neutral, out);
}

static void find(Mask *m, const Expr *e, const Expr *neutral, ExprList *out)
{
    Context *c = m->c;
    bool zero = is_zero(neutral), infinite = is_infinity(neutral);
    if (e->type != neutral->type)
        return;
    switch (e->kind) {
    case EX_SELECT: find_selected(m, e, neutral, out); break;
    case EX_LOAD: find_stored(m, e, neutral, out); break;
    case EX_MUL:
    case EX_DIV:
        if (zero || infinite)
            find_in_product(m, e, neutral, out);
        break;
    case EX_ADD:
    case EX_SUB:
        if (infinite)
            find(m, e->u.arg[0], neutral, out);
        if (infinite && e->kind == EX_ADD)
            find(m, e->u.arg[1], neutral, out);
        break;
    case EX_CAST:
        if (zero || (infinite && has_infinity(e->u.arg[0]->type)))
            find(m, e->u.arg[0], number_of(c, e->u.arg[0]->type, neutral), out);
        break;
    case EX_CALL:
        if (zero && call_is_power(e->u.call.call))
            find(m, e->u.call.arg[0], expr_float(c, e->type, -INFINITY, e->span), out);
        break;
    default: break;
    }
}

void mask_conditions(Context *c, const Kernel *kernel, const Expr *value, const Expr *neutral,
                     ExprList *out)
{
    Mask m = {.c = c, .kernel = kernel};
    find(&m, value, neutral, out);
}
