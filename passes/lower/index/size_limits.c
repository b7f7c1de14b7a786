/* size_limits.c - Collects the limits on the sizes of a run that 32-bit arithmetic needs.
 *
 * A limit is a sum of products of sizes: M * N + 31 * N <= 2147483647. One that follows from
 * another, term by term, is left out. */
#include "passes/lower/index/size_limits.h"

#include "passes/analysis/symbolic/affine.h"

void size_limits_add(SizeLimits *l, const SizeSum *bound)
{
    bool varies = false;
    for (int i = 0; bound && i < bound->n; i++)
        varies |= bound->terms[i].degree > 0;
    if (!varies)
        return;
    int kept = 0;
    for (int i = 0; i < l->items.n; i++) {
        if (size_sum_within(bound, l->items.items[i]))
            return;
        if (!size_sum_within(l->items.items[i], bound))
            l->items.items[kept++] = l->items.items[i];
    }
    l->items.n = kept;
    VEC_PUSH(l->c->arena, &l->items, bound);
}

/* A common multiple of the denominators; 0 where it does not fit. */
static int64_t common_denominator(const SizeSum *p)
{
    int64_t by = 1;
    for (int i = 0; i < p->n; i++)
        if (!checked_mul(by / gcd64(by, p->terms[i].den), p->terms[i].den, &by))
            return 0;
    return by;
}

/* num / den * by, or, for a `by` of 0, num / den, rounded up. */
static bool whole_factor(const SizeTerm *t, int64_t by, int64_t *factor)
{
    if (by)
        return checked_mul(t->num, by / t->den, factor);
    *factor = t->num / t->den + (t->num % t->den != 0);
    return true;
}

static Expr *term_expr(Context *c, const SizeTerm *t, int64_t factor)
{
    Expr *product = expr_index(c, factor);
    for (int i = 0; i < t->degree; i++)
        product = i == 0 && factor == 1
                      ? expr_var(c, (Var *)t->sizes[0], span_none())
                      : index_mul(c, product, expr_var(c, (Var *)t->sizes[i], span_none()));
    return product;
}

/* The terms as one sum, those of many sizes first; NULL where a factor does not fit. */
static Expr *sum_expr(Context *c, const SizeSum *p, int64_t by)
{
    Expr *sum = NULL;
    for (int degree = SIZE_SUM_DEGREE; degree >= 0; degree--)
        for (int i = 0; i < p->n; i++) {
            const SizeTerm *t = &p->terms[i];
            int64_t factor;
            if (t->degree != degree)
                continue;
            if (!whole_factor(t, by, &factor))
                return NULL;
            Expr *term = term_expr(c, t, factor);
            sum = sum ? index_add(c, sum, term) : term;
        }
    return sum;
}

static SizeLimit limit_of(Context *c, const SizeSum *p)
{
    int64_t by = common_denominator(p);
    Expr *sum = by ? sum_expr(c, p, by) : NULL;
    return sum ? (SizeLimit){sum, by} : (SizeLimit){sum_expr(c, p, 0), 1};
}

void size_limits_give(const SizeLimits *l, Kernel *kernel)
{
    SizeLimit *limits = ARENA_ARRAY(l->c->arena, SizeLimit, l->items.n + 1);
    for (int i = 0; i < l->items.n; i++)
        limits[i] = limit_of(l->c, l->items.items[i]);
    kernel->limits = limits;
    kernel->n_limits = l->items.n;
}
