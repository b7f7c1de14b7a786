/* size_limits.c - Collects the limits on the sizes of a run that 32-bit arithmetic needs.
 *
 * A limit is a sum of products of sizes: M * N + 31 * N <= 2147483647. One that follows from
 * another, term by term, is left out. */
#include "passes/lower/index/size_limits.h"

#include "passes/analysis/symbolic/affine.h"

void size_limits_add(SizeLimits *l, const SizeSum *bound)
{
    if (!bound || bound->form.n == 0)
        return;
    int kept = 0;
    for (int i = 0; i < l->items.n; i++) {
        if (size_sum_within(l->c, bound, l->items.items[i]))
            return;
        if (!size_sum_within(l->c, l->items.items[i], bound))
            l->items.items[kept++] = l->items.items[i];
    }
    l->items.n = kept;
    VEC_PUSH(l->c->arena, &l->items, bound);
}

void size_limits_give(const SizeLimits *l, Kernel *kernel)
{
    SizeLimit *limits = ARENA_ARRAY(l->c->arena, SizeLimit, l->items.n + 1);
    for (int i = 0; i < l->items.n; i++)
        limits[i] = (SizeLimit){affine_expr(l->c, &l->items.items[i]->form, span_none()),
                                l->items.items[i]->by};
    kernel->limits = limits;
    kernel->n_limits = l->items.n;
}
