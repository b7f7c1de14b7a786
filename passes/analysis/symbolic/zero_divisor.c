/* zero_divisor.c - Decides whether a divisor can be 0 in an iteration that runs. Puts 0 for the
 * divisor, or for one of its variables the value that makes it 0, and checks whether some extent is
 * empty then. */
#include "passes/analysis/symbolic/zero_divisor.h"

#include "passes/analysis/symbolic/affine.h"

typedef struct {
    Facts *f;
    Expr *const *extents;
    int n;
} ZeroSearch;

static Var *first_var(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR)
            return at.expr->u.var;
    return NULL;
}

static bool is_empty(Context *c, Expr *extent)
{
    int64_t count;
    return expr_is_const(simplify(facts_new(c), extent), &count) && count <= 0;
}

static Expr *put_zero(Rewriter *r, Expr *e)
{
    return expr_equal(e, r->user) ? expr_index(r->ctx, 0) : e;
}

/* Some extent has the divisor as a factor, as those of fused loops have: where it is 0, the loop is
 * empty. */
static bool divides_extent(const ZeroSearch *search, Expr *divisor)
{
    Context *c = search->f->c;
    Rewriter r = {.ctx = c, .user = divisor, .expr = put_zero};
    for (int i = 0; i < search->n; i++)
        if (is_empty(c, rewrite_expr(&r, search->extents[i])))
            return true;
    return false;
}

static bool some_loop_is_empty(const ZeroSearch *search, Var *var, Expr *value)
{
    Context *c = search->f->c;
    Subst to = {var, value};
    for (int i = 0; i < search->n; i++)
        if (is_empty(c, expr_subst(c, search->extents[i], &to, 1)))
            return true;
    return false;
}

static bool is_safe(const ZeroSearch *search, Expr *divisor)
{
    Context *c = search->f->c;
    Var *var = first_var(c, divisor);
    int64_t coefficient;
    Expr *rest;
    if (prove_compare(search->f, divisor, EX_NE, expr_index(c, 0)) ||
        divides_extent(search, divisor))
        return true;
    return var && split_linear(search->f, divisor, var, &coefficient, &rest) &&
           (coefficient == 1 || coefficient == -1) &&
           some_loop_is_empty(search, var, index_mul(c, expr_index(c, -coefficient), rest));
}

bool may_divide_by_zero(Facts *f, Expr *e, Expr *const *extents, int n)
{
    ZeroSearch search = {f, extents, n};
    for (Cursor at = cursor_expr(f->c, e); cursor_next(&at);)
        if ((at.expr->kind == EX_DIV || at.expr->kind == EX_MOD) &&
            !is_safe(&search, at.expr->u.arg[1]))
            return true;
    return false;
}
