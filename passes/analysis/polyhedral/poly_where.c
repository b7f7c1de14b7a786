/* poly_where.c - Adds the `where` clause of a kernel to a system: conditions on sizes, ranges of
 * integer inputs, and that no buffer has a negative extent.
 *
 *   where N >= M         the row N - M >= 0
 *   where id in 0..V     a value read from `id` is a column c: the rows c >= 0, V - 1 - c >= 0 */
#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/symbolic/simplify.h"

/* The rows that `fact` says of `value`. */
static void assume_ends(Poly *p, const Fact *fact, Affine value)
{
    if (fact->lo)
        poly_at_most(p, &p->top, poly_value(p, &p->fixed, fact->lo), value,
                     fact->excludes_lo ? -1 : 0);
    if (fact->hi)
        poly_at_most(p, &p->top, value, poly_value(p, &p->fixed, fact->hi),
                     fact->excludes_hi ? -1 : 0);
}

/* A condition that is not affine, such as M * N >= 1024, is left out: what is proved without it
 * holds for more sizes. Those joined by && count one by one. */
static void assume_sizes(Poly *p, const Expr *cond)
{
    if (cond->kind == EX_AND) {
        assume_sizes(p, cond->u.arg[0]);
        assume_sizes(p, cond->u.arg[1]);
        return;
    }
    PolyMark mark = poly_mark(p);
    p->inexact = false;
    poly_assume(p, &p->top, &p->fixed, cond, HOLDS);
    if (p->inexact)
        poly_reset(p, mark);
    else
        p->inexact = mark.inexact;
}

void poly_assume_around(Poly *p, const Expr *cond, Truth truth)
{
    if (cond->kind == (truth == HOLDS ? EX_AND : EX_OR)) {
        poly_assume_around(p, cond->u.arg[0], truth);
        poly_assume_around(p, cond->u.arg[1], truth);
        return;
    }
    PolyMark mark = poly_mark(p);
    p->inexact = false;
    poly_assume(p, &p->top, &p->fixed, cond, truth);
    bool dear = p->inexact || p->top.choices.n > mark.choices;
    p->inexact = mark.inexact;
    if (dear)
        poly_reset(p, mark);
}

int poly_given(Poly *p, const Kernel *kernel, Affine *given, int most)
{
    int n = 0;
    for (int i = 0; i < kernel->n_sizes && n < most; i++)
        if (kernel->sizes[i].symbolic)
            given[n++] = poly_size(p, kernel->sizes[i].var);
    for (int i = 0; i < kernel->n_params && n < most; i++)
        if (kernel->params[i].scalar && type_is_int(kernel->params[i].scalar->type))
            given[n++] = poly_size(p, kernel->params[i].scalar);
    return n;
}

void poly_assume_where(Poly *p, const Kernel *kernel)
{
    p->kernel = kernel;
    ExprList extents = kernel_extents(p->ctx, kernel);
    for (int i = 0; i < extents.n; i++)
        assume_sizes(p, extents.items[i]);
    for (int i = 0; i < kernel->n_facts; i++) {
        const Fact *fact = &kernel->facts[i];
        const Var *scalar = fact->subject.scalar;
        p->has_order |= fact->kind == FACT_ORDER;
        if (fact->kind == FACT_SIZES)
            assume_sizes(p, fact->cond);
        else if (fact->kind == FACT_VALUES && scalar && type_is_int(scalar->type))
            assume_ends(p, fact,
                        env_find(&p->fixed, scalar) ? *env_find(&p->fixed, scalar)
                                                    : poly_size(p, scalar));
    }
}

void poly_assume_values(Poly *p, const Buffer *buffer, Affine value)
{
    buffer = buffer_defined(buffer);
    for (int i = 0; p->kernel && buffer->role == ROLE_IN && i < p->kernel->n_facts; i++) {
        const Fact *fact = &p->kernel->facts[i];
        if (fact->kind == FACT_VALUES && fact->subject.buffer &&
            fact->subject.buffer->id == buffer->id)
            assume_ends(p, fact, value);
    }
}
