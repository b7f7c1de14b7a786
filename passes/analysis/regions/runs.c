/* runs.c - Computes the accessed elements of an axis where they have gaps.
 *
 *   for row in 8 ... x[w * 32 + row / 4 * 16 + row % 4]
 *       two runs of 4 elements, 16 apart; the box has 20
 *
 * The subscript is a sum of terms, each of a range of its own. A term whose factor is no larger
 * than what the smaller ones reach makes a run longer; another one begins anew, a gap away. Terms
 * that depend on each other touch less than that, never more. */
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/affine.h"
#include "passes/analysis/symbolic/mixed_radix.h"

static const Stmt *stmt_of_block(Context *c, const Stmt *root, const BlockStmt *block)
{
    for (Cursor at = cursor_stmts(c, root); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && &at.stmt->u.block == block)
            return at.stmt;
    return NULL;
}

/* One of the ranges from number `first` to before `end` is of a variable in `e`. */
static bool uses_ranges(const Facts *f, const Expr *e, int first, int end)
{
    for (int i = first; i < end; i++)
        if (f->ranges.items[i].var && expr_uses_var(e, f->ranges.items[i].var))
            return true;
    return false;
}

/* Adds a term of `n` values, no smaller than those before. False where there are too many runs. */
static bool add_term(Runs *runs, int64_t factor, int64_t n)
{
    Run *run = runs->n ? &runs->items[runs->n - 1] : NULL;
    int64_t more;
    if (!run || factor % run->stride != 0 || factor / run->stride > run->extent) {
        if (runs->n == REGION_RUNS)
            return false;
        runs->items[runs->n++] = (Run){factor, n};
        return true;
    }
    return checked_mul(factor / run->stride, n - 1, &more) &&
           checked_add(run->extent, more, &run->extent);
}

/* The terms of `form` with variables of the ranges from `first` on, as runs; `*least` is the value
 * of the rest and of their least values. */
static Runs runs_of(Facts *f, const Affine *form, int first, Expr **least)
{
    DigitList moving = {0};
    Context *c = f->c;
    Runs runs = {0};
    *least = expr_index(c, form->constant);
    for (int i = 0; i < form->n; i++) {
        Term t = form->terms[i];
        Expr *low = t.atom;
        int64_t min, max;
        if (uses_ranges(f, t.atom, first, f->ranges.n)) {
            if (t.factor <= 0 || uses_ranges(f, t.atom, 0, first) ||
                !bounds_const(f, t.atom, &min, &max))
                return runs;
            low = expr_index(c, min);
            VEC_PUSH(c->arena, &moving, ((Digit){t.factor, t.atom, {min, max}}));
        }
        *least = index_add(c, *least, index_mul(c, expr_index(c, t.factor), low));
    }
    digits_sort(&moving);
    for (int i = 0; i < moving.n; i++) {
        Digit d = moving.items[i];
        int64_t n;
        if (!checked_sub(d.range.max, d.range.min, &n) || !checked_add(n, 1, &n) ||
            !add_term(&runs, d.coefficient, n))
            return (Runs){0};
    }
    return runs;
}

/* There are fewer elements in the runs than in the box. */
static bool fewer(const Runs *runs, const Interval *box)
{
    int64_t elements = 1, extent;
    for (int i = 0; i < runs->n; i++)
        if (!checked_mul(elements, runs->items[i].extent, &elements))
            return false;
    return expr_is_const(box->extent, &extent) && elements < extent;
}

/* All accesses have the subscripts of the first, in one block. */
static bool is_one_access(const AccessList *all)
{
    for (int i = 0; i < all->n; i++)
        if (!all->items[i].block || all->items[i].block != all->items[0].block ||
            !exprs_equal(all->items[i].index, all->items[0].index, all->items[0].buffer->rank))
            return false;
    return all->n > 0;
}

Runs region_runs(Facts *facts, const RunsOf *of, int axis, const Interval *box)
{
    Context *c = facts->c;
    Stmt *s = of->stmt;
    Runs runs = {0};
    AccessList all = access_list(c, s, of->buffer, of->mode);
    if (!is_one_access(&all))
        return runs;
    const BlockStmt *block = all.items[0].block;
    const Stmt *stmt = stmt_of_block(c, s, block);
    FactsMark mark = facts_mark(facts);
    int first = facts->ranges.n;
    if (stmt && facts_enter_path(facts, s, stmt)) {
        Expr *e = simplify(facts, iters_to_loops(c, block, all.items[0].index[axis])), *least;
        Affine form = {0};
        if (!expr_has_load(e) && affine_of(c, e, PRODUCTS_EXPANDED, &form))
            runs = runs_of(facts, &form, first, &least);
        if (runs.n > 0 && (!fewer(&runs, box) || !prove_compare(facts, least, EX_EQ, box->min)))
            runs.n = 0;
    }
    facts_reset(facts, mark);
    return runs;
}
