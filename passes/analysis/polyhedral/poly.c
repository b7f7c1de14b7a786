/* poly.c - Builds systems of constraints: columns, rows and choices, and linear forms over the
 * columns. See poly.h. */
#include "passes/analysis/polyhedral/poly_memo.h"

#include <isl/ctx.h>
#include <isl/options.h>
#include <stdlib.h>

/* Enough for hundreds of ordinary questions; a few seconds when all of it is spent. */
#define OPERATIONS_PER_QUESTION 200000ul
/* The same for our own work, in numbers of rows looked at. */
#define WORK_PER_QUESTION INT64_C(400000000)

static void free_solver(struct PolySolver *solver)
{
    if (solver->isl)
        isl_ctx_free(solver->isl);
    memo_free(solver->memo);
    free(solver);
}

static const struct PolySolver *context_solver(Context *c)
{
    if (!c->solver) {
        struct PolySolver *solver = c->solver = calloc(1, sizeof *solver);
        c->solver_free = free_solver;
        if (solver) {
            solver->isl = isl_ctx_alloc();
            solver->memo = memo_new(c);
        }
        if (!solver || !solver->isl || !solver->memo)
            ctx_fatal(c, FATAL_OUT_OF_MEMORY, "out of memory in the dependence analysis");
        isl_options_set_on_error(solver->isl, ISL_ON_ERROR_CONTINUE);
    }
    return c->solver;
}

Poly *poly_new(Context *c)
{
    Poly *p = ARENA_NEW(c->arena, Poly);
    p->ctx = c;
    p->isl = context_solver(c)->isl;
    p->memo = context_solver(c)->memo;
    isl_ctx_reset_error(p->isl);
    isl_ctx_reset_operations(p->isl);
    isl_ctx_set_max_operations(p->isl, OPERATIONS_PER_QUESTION);
    c->solver->work_left = WORK_PER_QUESTION;
    return p;
}

PolyMark poly_mark(const Poly *p)
{
    return (PolyMark){.columns = p->columns.n,
                      .rows = p->top.rows.n,
                      .choices = p->top.choices.n,
                      .quotients = p->quotients.n,
                      .extremes = p->extremes.n,
                      .products = p->products.n,
                      .squares = p->squares.n,
                      .quadratics = p->quadratics.n,
                      .elements = p->elements.n,
                      .fixed = p->fixed.n,
                      .raised = p->raised.n,
                      .inexact = p->inexact,
                      .lost = p->lost};
}

void poly_reset(Poly *p, PolyMark mark)
{
    p->columns.n = mark.columns;
    p->top.rows.n = mark.rows;
    p->top.choices.n = mark.choices;
    p->quotients.n = mark.quotients;
    p->extremes.n = mark.extremes;
    p->products.n = mark.products;
    p->squares.n = mark.squares;
    p->quadratics.n = mark.quadratics;
    p->elements.n = mark.elements;
    p->fixed.n = mark.fixed;
    while (p->raised.n > mark.raised) {
        Raised last = p->raised.items[--p->raised.n];
        p->columns.items[last.column].min = last.min;
    }
    p->inexact = mark.inexact;
    p->lost = mark.lost;
}

PolyPart poly_begin(const Poly *p)
{
    return (PolyPart){*p, arena_mark(p->ctx->arena)};
}

/* Lists that have grown since are forgotten with their memory; columns that were raised may stand
 * in the old list or in the new one. */
void poly_end(Poly *p, const PolyPart *part)
{
    const Raised *raised = p->raised.items;
    int n_raised = p->raised.n;
    *p = part->before;
    while (n_raised-- > p->raised.n)
        if (raised[n_raised].column < p->columns.n)
            p->columns.items[raised[n_raised].column].min = raised[n_raised].min;
    arena_reset(p->ctx->arena, part->arena);
}

void poly_end_work(Poly *p, const PolyPart *part)
{
    bool inexact = p->inexact, lost = p->lost;
    poly_end(p, part);
    p->inexact = inexact;
    p->lost = lost;
}

void poly_raise(Poly *p, int column, int64_t min)
{
    Column *raised = &p->columns.items[column];
    if (raised->min >= min)
        return;
    VEC_PUSH(p->ctx->arena, &p->raised, ((Raised){column, raised->min}));
    raised->min = min;
    Affine form = poly_term(p, 1, column);
    form.constant = -min;
    poly_not_negative(p, &p->top, form);
}

void poly_raise_positive(Poly *p, Affine size)
{
    if (size.n == 0 || !affine_is_fixed(p, size))
        return;
    if (size.n == 1 && size.terms[0].factor > 0)
        poly_raise(p, size.terms[0].column, ceil_div64(1 - size.constant, size.terms[0].factor));
    else
        poly_at_most(p, &p->top, affine_const(1), size, 0);
}

/* ---- affine forms ---------------------------------------------------------------------------- */

Affine poly_term(Poly *p, int64_t factor, int column)
{
    Term *term = ARENA_NEW(p->ctx->arena, Term);
    *term = (Term){column, factor, NULL};
    return (Affine){.terms = term, .n = 1};
}

static Affine add_column(Poly *p, Column column)
{
    VEC_PUSH(p->ctx->arena, &p->columns, column);
    return poly_term(p, 1, p->columns.n - 1);
}

Affine poly_column(Poly *p, int64_t min, int64_t max, bool fixed)
{
    return add_column(p, (Column){.min = min, .max = max, .fixed = fixed});
}

Affine poly_fixed_column(Poly *p, int64_t min, int64_t max)
{
    return add_column(p, (Column){.min = min, .max = max, .fixed = true});
}

Affine poly_free_column(Poly *p, int64_t min, int64_t max)
{
    return add_column(p, (Column){.min = min, .max = max});
}

Affine poly_between(Poly *p, const Env *env, Affine lo, Affine hi)
{
    Affine extent = poly_add(p, hi, lo, -1);
    if (extent.n == 0 && extent.constant == 1)
        return lo;
    Bounds below = bounds_add(affine_range(p, hi), bounds_exactly(-1));
    Affine column = poly_column(p, affine_range(p, lo).min, below.max, env == &p->fixed);
    poly_at_most(p, &p->top, lo, column, 0);
    poly_at_most(p, &p->top, column, hi, -1);
    return column;
}

Affine poly_unknown(Poly *p)
{
    p->inexact = p->lost = true;
    return poly_free_column(p, INT64_MIN, INT64_MAX);
}

Affine poly_add(Poly *p, Affine a, Affine b, int64_t factor)
{
    Affine sum;
    p->ctx->solver->work_left -=
        40 + a.n + b.n; /* the overhead of a sum is that of some 40 numbers */
    if (factor != 0 && b.n > 0)
        return affine_combine(p->ctx, a, 1, b, factor, &sum) ? sum : poly_unknown(p);
    return add_product(&a.constant, b.constant, factor) ? a : poly_unknown(p);
}

bool affine_is_fixed(const Poly *p, Affine a)
{
    for (int i = 0; i < a.n; i++)
        if (!p->columns.items[a.terms[i].column].fixed)
            return false;
    return true;
}

Bounds affine_range(const Poly *p, Affine a)
{
    Bounds sum = bounds_exactly(a.constant);
    for (int i = 0; i < a.n; i++) {
        const Column *column = &p->columns.items[a.terms[i].column];
        sum = bounds_add_scaled(sum, (Bounds){column->min, column->max}, a.terms[i].factor);
    }
    return sum;
}

/* ---- constraints ----------------------------------------------------------------------------- */

void poly_not_negative(Poly *p, Conj *into, Affine form)
{
    if (form.n > 0 || form.constant < 0)
        VEC_PUSH(p->ctx->arena, &into->rows, ((Row){.form = form}));
}

void poly_zero(Poly *p, Conj *into, Affine form)
{
    if (form.n > 0 || form.constant != 0)
        VEC_PUSH(p->ctx->arena, &into->rows, ((Row){.form = form, .equal = true}));
}

void poly_at_most(Poly *p, Conj *into, Affine a, Affine b, int64_t offset)
{
    Affine gap = poly_add(p, b, a, -1);
    if (checked_add(gap.constant, offset, &gap.constant))
        poly_not_negative(p, into, gap);
    else
        p->inexact = p->lost = true;
}

void poly_equal(Poly *p, Conj *into, Affine a, Affine b)
{
    poly_zero(p, into, poly_add(p, a, b, -1));
}

Conj **poly_choice(Poly *p, Conj *into, int n)
{
    Conj **alternatives = ARENA_ARRAY(p->ctx->arena, Conj *, n);
    for (int i = 0; i < n; i++)
        alternatives[i] = ARENA_NEW(p->ctx->arena, Conj);
    VEC_PUSH(p->ctx->arena, &into->choices, ((Choice){alternatives, n}));
    return alternatives;
}

void poly_differ(Poly *p, Conj *into, const Affine *a, const Affine *b, int n)
{
    int n_possible = 0;
    for (int i = 0; i < n; i++)
        n_possible += !affine_equal(a[i], b[i]);
    Conj **alternative = poly_choice(p, into, 2 * n_possible);
    for (int i = 0; i < n; i++) {
        if (affine_equal(a[i], b[i]))
            continue;
        poly_at_most(p, *alternative++, a[i], b[i], -1);
        poly_at_most(p, *alternative++, b[i], a[i], -1);
    }
}
