/* quotients.c - Writes quotients and remainders in asynchronous copies in terms of outer loops.
 *
 *   for ko in 30                                for ko in 30
 *       for each in 32 unroll {                     for each in 32 unroll
 *           let k = ko * 32 + each;       =>            s[each] async= x[ko / 10, each];
 *           s[each] async= x[k / 320, k % 32];
 *       }
 *
 * So an iteration of ko divides once, and not once for each element. The compiler of CUDA does not
 * know the ranges of names, such as that of a thread.
 *
 * A quotient that changes with a loop is replaced if those in its place use fewer variables.
 * Variables of unrolled loops do not count: they become numbers, as in (ko * 2 + each / 8) / 3.
 * Other stores wait for their values, and gain nothing. */
#include "passes/lower/pass.h"

static bool becomes_number(const StoreWalk *w, const Var *var)
{
    for (int i = 0; i < w->loops.n; i++)
        if (w->loops.items[i]->var == var)
            return loop_is_written_out(w->loops.items[i]);
    return false;
}

/* How many variables stay in the text of `e`. */
static int variables_of(const StoreWalk *w, const Expr *e)
{
    ExprList seen = {0};
    for (Cursor at = cursor_expr(w->c, e); cursor_next(&at);) {
        bool counts = at.expr->kind == EX_AXIS || at.expr->kind == EX_LOAD ||
                      (at.expr->kind == EX_VAR && !becomes_number(w, at.expr->u.var));
        for (int i = 0; i < seen.n && counts; i++)
            counts = !expr_equal(seen.items[i], at.expr);
        if (counts)
            VEC_PUSH(w->c->arena, &seen, at.expr);
    }
    return seen.n;
}

static bool is_number(const void *user, Expr *factor)
{
    return variables_of(user, factor) == 0;
}

static bool is_division(const Expr *e, int64_t *by)
{
    return e->type == DT_INDEX && (e->kind == EX_DIV || e->kind == EX_MOD) &&
           expr_is_const(e->u.arg[1], by) && *by > 0;
}

static bool divides_with_fewer(const StoreWalk *w, const Expr *e, int variables)
{
    int64_t by;
    for (Cursor at = cursor_expr(w->c, e); cursor_next(&at);)
        if (is_division(at.expr, &by) && variables_of(w, at.expr) >= variables)
            return false;
    return true;
}

/* The least prime factor of n; none is below p. */
static int64_t prime_factor(int64_t n, int64_t p)
{
    while (p * p <= n && n % p != 0)
        p++;
    return n % p == 0 ? p : n;
}

/* The largest divisor of `by` that divides `e`. */
static int64_t common_divisor(const StoreWalk *w, Expr *e, int64_t by)
{
    int64_t common = 1;
    for (int64_t left = by, p = 2; left > 1; left /= p) {
        p = prime_factor(left, p);
        common *= prove_divisible(w->facts, e, common * p) ? p : 1;
    }
    return common;
}

static bool is_natural(const StoreWalk *w, Expr *e)
{
    int64_t least, most;
    return bounds_const(w->facts, e, &least, &most) && least >= 0;
}

/* (ko * 16 + each) / 24 = (ko * 2 + each / 8) / 3, where `each` becomes a number */
static Expr *divide_numbers(const StoreWalk *w, Expr *e)
{
    Context *c = w->c;
    int64_t by, common, zero;
    Expr *number, *rest;
    if (!is_division(e, &by) || !split_terms(w->facts, e->u.arg[0], is_number, w, &number, &rest) ||
        expr_is_const(number, &zero) || !is_natural(w, number) || !is_natural(w, e->u.arg[0]) ||
        (common = common_divisor(w, rest, by)) == 1)
        return e;
    Expr *unit = expr_index(c, common), *units = expr_index(c, by / common);
    Expr *whole =
        simplify(w->facts, index_add(c, index_div(c, rest, unit), index_div(c, number, unit)));
    return e->kind == EX_DIV ? index_div(c, whole, units)
                             : index_add(c, index_mul(c, index_mod(c, whole, units), unit),
                                         simplify(w->facts, index_mod(c, number, unit)));
}

/* The same, where x % 24 / 8 = x / 8 % 3. */
static Expr *divide(Rewriter *r, Expr *e)
{
    StoreWalk *w = r->user;
    int64_t by, of;
    Expr *x = e->kind == EX_DIV ? e->u.arg[0] : e;
    if (x->kind != EX_MOD || x == e || !is_division(e, &by) || !is_division(x, &of) || of % by != 0)
        return divide_numbers(w, e);
    Expr *whole = divide_numbers(w, index_div(w->c, x->u.arg[0], e->u.arg[1]));
    return index_mod(w->c, whole, expr_index(w->c, of / by));
}

/* The value changes between iterations of a loop that is not written out. */
static bool changes_with_loop(const StoreWalk *w, const Expr *value)
{
    for (int i = 0; i < w->loops.n; i++)
        if (w->loops.items[i]->kind == LOOP_SERIAL && expr_uses_var(value, w->loops.items[i]->var))
            return true;
    return false;
}

static Expr *move_outwards(Rewriter *r, Expr *e)
{
    StoreWalk *w = r->user;
    int64_t by;
    if (!is_division(e, &by))
        return e;
    Rewriter divides = {.ctx = w->c, .user = w, .expr = divide};
    Expr *value = expr_subst(w->c, e, w->lets.items, w->lets.n);
    if (!changes_with_loop(w, value))
        return e;
    Expr *moved = rewrite_expr(&divides, simplify(w->facts, value));
    return divides_with_fewer(w, moved, variables_of(w, value)) ? moved : e;
}

static Expr *move_in(void *user, Expr *e)
{
    StoreWalk *w = user;
    return rewrite_expr(&(Rewriter){.ctx = w->c, .user = w, .expr = move_outwards}, e);
}

static Stmt *move_in_store(StoreWalk *w, Stmt *s)
{
    FactsMark mark = facts_mark(w->facts);
    if (s->u.store.op != STORE_ASYNC)
        return s;
    for (int i = 0; i < w->names.n; i++)
        facts_enter(w->facts, w->names.items[i]);
    Stmt *moved = stmt_map_exprs(w->c, s, move_in, w);
    facts_reset(w->facts, mark);
    return moved;
}

Kernel *pass_move_quotients(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    return stores_map(&(StoreWalk){.c = c, .store = move_in_store}, kernel);
}
