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
#include "ir/copies/bulk_copy.h"
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;
    VEC(const ForStmt *) loops; /* around the place, in the launch; outermost first */
    SubstList lets;             /* names of what uses one of them */
} Quotients;

static bool becomes_number(const Quotients *q, const Var *var)
{
    for (int i = 0; i < q->loops.n; i++)
        if (q->loops.items[i]->var == var)
            return q->loops.items[i]->kind == LOOP_UNROLL ||
                   q->loops.items[i]->kind == LOOP_VECTORIZE;
    return false;
}

/* How many variables stay in the text of `e`. */
static int variables_of(const Quotients *q, const Expr *e)
{
    ExprList seen = {0};
    for (Cursor at = cursor_expr(q->c, e); cursor_next(&at);) {
        bool counts = at.expr->kind == EX_AXIS || at.expr->kind == EX_LOAD ||
                      (at.expr->kind == EX_VAR && !becomes_number(q, at.expr->u.var));
        for (int i = 0; i < seen.n && counts; i++)
            counts = !expr_equal(seen.items[i], at.expr);
        if (counts)
            VEC_PUSH(q->c->arena, &seen, at.expr);
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

static bool divides_with_fewer(const Quotients *q, const Expr *e, int variables)
{
    int64_t by;
    for (Cursor at = cursor_expr(q->c, e); cursor_next(&at);)
        if (is_division(at.expr, &by) && variables_of(q, at.expr) >= variables)
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
static int64_t common_divisor(const Quotients *q, Expr *e, int64_t by)
{
    int64_t common = 1;
    for (int64_t left = by, p = 2; left > 1; left /= p) {
        p = prime_factor(left, p);
        common *= prove_divisible(q->facts, e, common * p) ? p : 1;
    }
    return common;
}

static bool is_natural(const Quotients *q, Expr *e)
{
    int64_t least, most;
    return bounds_const(q->facts, e, &least, &most) && least >= 0;
}

/* (ko * 16 + each) / 24 = (ko * 2 + each / 8) / 3, where `each` becomes a number */
static Expr *divide_numbers(const Quotients *q, Expr *e)
{
    Context *c = q->c;
    int64_t by, common, zero;
    Expr *number, *rest;
    if (!is_division(e, &by) || !split_terms(q->facts, e->u.arg[0], is_number, q, &number, &rest) ||
        expr_is_const(number, &zero) || !is_natural(q, number) || !is_natural(q, e->u.arg[0]) ||
        (common = common_divisor(q, rest, by)) == 1)
        return e;
    Expr *unit = expr_index(c, common), *units = expr_index(c, by / common);
    Expr *whole =
        simplify(q->facts, index_add(c, index_div(c, rest, unit), index_div(c, number, unit)));
    return e->kind == EX_DIV ? index_div(c, whole, units)
                             : index_add(c, index_mul(c, index_mod(c, whole, units), unit),
                                         simplify(q->facts, index_mod(c, number, unit)));
}

/* The same, where x % 24 / 8 = x / 8 % 3. */
static Expr *divide(Rewriter *r, Expr *e)
{
    Quotients *q = r->user;
    int64_t by, of;
    Expr *x = e->kind == EX_DIV ? e->u.arg[0] : e;
    if (x->kind != EX_MOD || x == e || !is_division(e, &by) || !is_division(x, &of) || of % by != 0)
        return divide_numbers(q, e);
    Expr *whole = divide_numbers(q, index_div(q->c, x->u.arg[0], e->u.arg[1]));
    return index_mod(q->c, whole, expr_index(q->c, of / by));
}

/* The value changes between iterations of a loop that is not written out. */
static bool changes_with_loop(const Quotients *q, const Expr *value)
{
    for (int i = 0; i < q->loops.n; i++)
        if (q->loops.items[i]->kind == LOOP_SERIAL && expr_uses_var(value, q->loops.items[i]->var))
            return true;
    return false;
}

static Expr *move_outwards(Rewriter *r, Expr *e)
{
    Quotients *q = r->user;
    int64_t by;
    if (!is_division(e, &by))
        return e;
    Rewriter divides = {.ctx = q->c, .user = q, .expr = divide};
    Expr *value = expr_subst(q->c, e, q->lets.items, q->lets.n);
    if (!changes_with_loop(q, value))
        return e;
    Expr *moved = rewrite_expr(&divides, simplify(q->facts, value));
    return divides_with_fewer(q, moved, variables_of(q, value)) ? moved : e;
}

static Expr *move_in(void *user, Expr *e)
{
    Quotients *q = user;
    return rewrite_expr(&(Rewriter){.ctx = q->c, .user = q, .expr = move_outwards}, e);
}

/* A name for something that changes with a loop: quotients see through it. */
static void note_let(Quotients *q, const Stmt *s)
{
    Expr *value = expr_subst(q->c, s->u.let.value, q->lets.items, q->lets.n);
    for (int i = 0; i < q->loops.n && value->type == DT_INDEX && !expr_has_load(value); i++)
        if (expr_uses_var(value, q->loops.items[i]->var)) {
            Subst to = {s->u.let.var, value};
            VEC_PUSH(q->c->arena, &q->lets, to);
            return;
        }
}

static Stmt *walk(void *user, Stmt *s)
{
    Quotients *q = user;
    if (s->kind == ST_STORE)
        return s->u.store.op == STORE_ASYNC ? stmt_map_exprs(q->c, s, move_in, q) : s;
    if (s->kind == ST_LET) { /* known to what follows in its sequence */
        facts_enter(q->facts, s);
        note_let(q, s);
    }
    if (s->kind == ST_LET || stmt_is_bulk_copy(s))
        return s;
    int lets = q->lets.n, loops = q->loops.n;
    if (s->kind == ST_FOR)
        VEC_PUSH(q->c->arena, &q->loops, &s->u.loop);
    Stmt *done = stmt_map_inside(q->c, q->facts, s, walk, q);
    q->loops.n = loops;
    q->lets.n = lets;
    return done;
}

Kernel *pass_move_quotients(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Quotients q = {.c = c, .facts = facts_of_kernel(c, kernel)};
    Stmt *body = walk(&q, kernel->body);
    return kernel_with_body(c, kernel, body == kernel->body ? body : drop_unused_names(c, body));
}
