/* runs.c - Computes the accessed elements of an axis where they have gaps.
 *
 *   for row in 8 ... x[w * 32 + row / 4 * 16 + row % 4]
 *       two runs of 4 elements, 16 apart; the box has 20
 *
 * The subscript is a sum of terms, each of a range of its own. A term whose factor is no larger
 * than what the smaller ones reach makes a run longer; another one begins anew, a gap away. Terms
 * that depend on each other touch less than that, never more. Accesses that are constants apart
 * have the same terms and one more, which has to make runs longer, as those of parts of elements
 * do: x[2 * i] and x[2 * i + 1]. */
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

/* What an access touches: `least`, and terms of ranges of their own, the smallest factor first. */
typedef struct {
    DigitList moving;
    Expr *least;
    Runs runs;
} Touched;

/* The terms of `form` with variables of the ranges from `first` on; the value of the rest and of
 * their least values is `least`. */
static bool touched_by(Facts *f, const Affine *form, int first, Touched *out)
{
    Context *c = f->c;
    *out = (Touched){.least = expr_index(c, form->constant)};
    for (int i = 0; i < form->n; i++) {
        Term t = form->terms[i];
        Expr *low = t.atom;
        int64_t min, max;
        if (uses_ranges(f, t.atom, first, f->ranges.n)) {
            if (t.factor <= 0 || uses_ranges(f, t.atom, 0, first) ||
                !bounds_const(f, t.atom, &min, &max))
                return false;
            low = expr_index(c, min);
            VEC_PUSH(c->arena, &out->moving, ((Digit){t.factor, t.atom, {min, max}}));
        }
        out->least = index_add(c, out->least, index_mul(c, expr_index(c, t.factor), low));
    }
    digits_sort(&out->moving);
    return true;
}

static Runs runs_of(const DigitList *moving)
{
    Runs runs = {0};
    for (int i = 0; i < moving->n; i++) {
        Digit d = moving->items[i];
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

static bool access_touches(Facts *facts, const RunsOf *of, const Access *access, int axis,
                           Touched *out)
{
    Context *c = facts->c;
    const Stmt *stmt = access->block ? stmt_of_block(c, of->stmt, access->block) : NULL;
    FactsMark mark = facts_mark(facts);
    int first = facts->ranges.n;
    bool known = stmt && facts_enter_path(facts, of->stmt, stmt);
    if (known) {
        Expr *e = simplify(facts, iters_to_loops(c, access->block, access->index[axis]));
        Affine form = {0};
        known = !expr_has_load(e) && affine_of(c, e, PRODUCTS_EXPANDED, &form) &&
                touched_by(facts, &form, first, out);
    }
    facts_reset(facts, mark);
    return known;
}

static bool same_terms(const DigitList *a, const DigitList *b)
{
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) {
        const Digit *x = &a->items[i], *y = &b->items[i];
        same = x->coefficient == y->coefficient && x->range.min == y->range.min &&
               x->range.max == y->range.max;
    }
    return same;
}

/* How far apart accesses with the same terms are. */
typedef struct {
    int64_t low, high, step; /* step 0: there is one place */
} Apart;

static bool add_place(Facts *facts, const Touched *all, const Touched *one, Apart *apart)
{
    int64_t at;
    Expr *from = simplify(facts, index_sub(facts->c, one->least, all->least));
    if (!same_terms(&all->moving, &one->moving) || !expr_is_const(from, &at))
        return false;
    apart->low = at < apart->low ? at : apart->low;
    apart->high = at > apart->high ? at : apart->high;
    apart->step = gcd64(apart->step, at);
    return true;
}

/* What all accesses touch: with a term more where they are apart. */
static bool touched_by_all(Facts *facts, const RunsOf *of, int axis, Touched *all)
{
    Context *c = facts->c;
    AccessList accesses = access_list(c, of->stmt, of->buffer, of->mode);
    Apart apart = {0};
    int64_t distance;
    for (int i = 0; i < accesses.n; i++) {
        Touched one;
        if (!access_touches(facts, of, &accesses.items[i], axis, i == 0 ? all : &one) ||
            (i > 0 && !add_place(facts, all, &one, &apart)))
            return false;
    }
    if (accesses.n == 0 || !checked_sub(apart.high, apart.low, &distance))
        return false;
    all->runs = runs_of(&all->moving);
    if (apart.step == 0)
        return true;
    int alone = all->runs.n;
    Digit between = {apart.step, NULL, {0, distance / apart.step}};
    VEC_PUSH(c->arena, &all->moving, between);
    digits_sort(&all->moving);
    all->least = index_add(c, all->least, expr_index(c, apart.low));
    all->runs = runs_of(&all->moving);
    return all->runs.n == alone;
}

Runs region_runs(Facts *facts, const RunsOf *of, int axis, const Interval *box)
{
    Touched all;
    if (!touched_by_all(facts, of, axis, &all))
        return (Runs){0};
    bool gaps =
        all.runs.n > 0 && fewer(&all.runs, box) && prove_compare(facts, all.least, EX_EQ, box->min);
    return gaps ? all.runs : (Runs){0};
}
