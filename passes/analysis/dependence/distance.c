/* distance.c - Bounds the distance of two accesses that touch one element, without a system of
 * constraints.
 *
 * Most subscripts are sums of loop variables, such as by * 32 + ty, and most questions about order
 * end with the classical distance vector: for each shared loop, what the later iteration less the
 * earlier one can be. For two accesses with the same factors of shared loops, "the same element"
 * says of each dimension
 *
 *     32 * d_by + d_ty = 0,   d_by in -31..31, d_ty in -31..31
 *
 * and bounds give d_by = 0 and then d_ty = 0. Guards and other subscripts are ignored, so the
 * bounds over-approximate the distance. instances_distance is as exact as the solver. */
#include "passes/analysis/dependence/model.h"

/* Variables: the loops of side 0, then the loops of side 1. For a shared loop, the variable of
 * side 1 is its distance from side 0. */
enum { MOST_VARIABLES = 32, MOST_FIXED = 4, ROUNDS = 3 };

/* A sum that is 0 where both subscripts of a dimension are equal. */
typedef struct {
    int64_t factor[MOST_VARIABLES], constant;
    const Var *fixed[MOST_FIXED]; /* sizes and loops around the model, with their factors */
    int64_t fixed_factor[MOST_FIXED];
    int n_fixed;
    bool binding; /* at work on what an iterator is bound to, which speaks of loops */
} Gap;

typedef struct {
    const AccessOf *side[2];
    int shared, n;
    Bounds range[MOST_VARIABLES];
    bool apart; /* they touch no common element */
} Pair;

/* ---- subscripts as sums ---------------------------------------------------------------------- */

static bool gap_add_fixed(Gap *gap, const Var *var, int64_t factor)
{
    int i = 0;
    while (i < gap->n_fixed && gap->fixed[i] != var)
        i++;
    if (i == MOST_FIXED)
        return false;
    if (i == gap->n_fixed)
        gap->n_fixed++;
    gap->fixed[i] = var;
    return checked_add(gap->fixed_factor[i], factor, &gap->fixed_factor[i]);
}

static bool is_inside(const Access *access, const Var *var)
{
    for (int i = 0; i < access->path.n; i++) {
        const Stmt *s = access->path.items[i].stmt;
        if ((s->kind == ST_FOR && s->u.loop.var == var) ||
            (s->kind != ST_FOR && s->kind != ST_IF && s->u.let.var == var))
            return true;
    }
    return false;
}

/* A shared loop of side 1 is the loop of side 0 plus the distance. */
static bool gap_add_loop(const Pair *pair, Gap *gap, int side, int loop, int64_t factor)
{
    int own = side == 0 ? loop : pair->side[0]->unit->n_loops + loop;
    return checked_add(gap->factor[own], factor, &gap->factor[own]) &&
           (side == 0 || loop >= pair->shared ||
            checked_add(gap->factor[loop], factor, &gap->factor[loop]));
}

static bool gap_add(const Pair *pair, Gap *gap, int side, const Expr *e, int64_t factor);

/* An init knows nothing of reduce iterators. */
static bool gap_add_iter(const Pair *pair, Gap *gap, int side, const BlockIter *iter,
                         int64_t factor)
{
    if (pair->side[side]->unit->init && iter->kind == ITER_REDUCE)
        return false;
    gap->binding = true;
    bool added = gap_add(pair, gap, side, iter->binding, factor);
    gap->binding = false;
    return added;
}

static bool gap_add_var(const Pair *pair, Gap *gap, int side, const Var *var, int64_t factor)
{
    const Unit *u = pair->side[side]->unit;
    if (is_inside(pair->side[side]->access, var))
        return false;
    const BlockIter *iter = gap->binding ? NULL : block_iter(u->block, var);
    if (iter)
        return gap_add_iter(pair, gap, side, iter, factor);
    for (int i = 0; i < u->n_loops; i++)
        if (u->loops[i]->var == var)
            return !u->absent[i] && gap_add_loop(pair, gap, side, i, factor);
    return var->kind != VAR_ITER && var->kind != VAR_LET && gap_add_fixed(gap, var, factor);
}

/* gap += factor * e; false where that is no sum of variables. */
static bool gap_add(const Pair *pair, Gap *gap, int side, const Expr *e, int64_t factor)
{
    int64_t number;
    if (e->type != DT_INDEX)
        return false;
    if (expr_is_const(e, &number))
        return add_product(&gap->constant, number, factor);
    switch (e->kind) {
    case EX_VAR: return gap_add_var(pair, gap, side, e->u.var, factor);
    case EX_ADD:
        return gap_add(pair, gap, side, e->u.arg[0], factor) &&
               gap_add(pair, gap, side, e->u.arg[1], factor);
    case EX_SUB:
        return checked_mul(factor, -1, &number) && gap_add(pair, gap, side, e->u.arg[0], factor) &&
               gap_add(pair, gap, side, e->u.arg[1], number);
    case EX_MUL:
        for (int i = 0; i < 2; i++)
            if (expr_is_const(e->u.arg[i], &number))
                return checked_mul(factor, number, &factor) &&
                       gap_add(pair, gap, side, e->u.arg[1 - i], factor);
        return false;
    default: return false;
    }
}

/* y - x as a gap of numbers and loops; false where it is no such sum. */
static bool gap_of(const Pair *pair, const Expr *x, const Expr *y, Gap *gap)
{
    if (!gap_add(pair, gap, 0, x, -1) || !gap_add(pair, gap, 1, y, 1))
        return false;
    for (int k = 0; k < gap->n_fixed; k++)
        if (gap->fixed_factor[k] != 0)
            return false;
    return true;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Returns the range of the loop's variable. */
static Bounds loop_range(const AccessOf *side, int i)
{
    const ForStmt *loop = side->unit->loops[i];
    int64_t lo, hi;
    Bounds range = bounds_none();
    bool up = loop->step > 0, known = expr_is_const(loop->lo, &lo);
    if (known && side->first && side->first[i])
        return bounds_exactly(lo);
    if (known && up)
        range.min = lo;
    if (known && !up)
        range.max = lo;
    if (expr_is_const(loop->hi, &hi) && up && hi != INT64_MIN)
        range.max = hi - 1;
    else if (expr_is_const(loop->hi, &hi) && !up)
        range.min = hi;
    return range;
}

/* Where values that a number divides may lie. */
static Bounds divided(Bounds b, int64_t d)
{
    if (d < 0) {
        b = bounds_scale(b, -1);
        d = -d;
    }
    return (Bounds){bounds_has_min(b) ? ceil_div64(b.min, d) : b.min,
                    bounds_has_max(b) ? floor_div64(b.max, d) : b.max};
}

/* The variables of a gap. */
typedef struct {
    int at[MOST_VARIABLES], n;
} Terms;

/* Bounds variable number `at` of the sum by the bounds of the others. */
static Bounds bound_by_others(const Pair *pair, const Gap *gap, const Terms *terms, int at)
{
    Bounds rest = bounds_exactly(gap->constant);
    for (int t = 0; t < terms->n; t++)
        if (terms->at[t] != at)
            rest = bounds_add_scaled(rest, pair->range[terms->at[t]], gap->factor[terms->at[t]]);
    return divided(bounds_scale(rest, -1), gap->factor[at]);
}

/* True where a bound has become narrower. */
static bool bound_by_gap(Pair *pair, const Gap *gap, const Terms *terms)
{
    bool narrower = false;
    for (int t = 0; t < terms->n && !pair->apart; t++) {
        int at = terms->at[t];
        Bounds old = pair->range[at];
        pair->range[at] = bounds_meet(old, bound_by_others(pair, gap, terms, at));
        pair->apart = pair->range[at].min > pair->range[at].max;
        narrower |= pair->range[at].min != old.min || pair->range[at].max != old.max;
    }
    return narrower;
}

/* The subscripts x and y of a dimension are equal. */
static void bound_by_dimension(Pair *pair, const Expr *x, const Expr *y)
{
    Gap gap = {.n_fixed = 0};
    Terms terms = {.n = 0};
    if (!gap_of(pair, x, y, &gap))
        return;
    for (int v = 0; v < pair->n; v++)
        if (gap.factor[v] == INT64_MIN)
            return;
        else if (gap.factor[v] != 0)
            terms.at[terms.n++] = v;
    pair->apart |= terms.n == 0 && gap.constant != 0;
    for (int round = 0; round < ROUNDS && bound_by_gap(pair, &gap, &terms); round++)
        continue;
}

static void start_ranges(Pair *pair)
{
    int n_loops = pair->side[0]->unit->n_loops;
    for (int i = 0; i < n_loops; i++)
        pair->range[i] = loop_range(pair->side[0], i);
    for (int i = n_loops; i < pair->n; i++) {
        pair->range[i] = loop_range(pair->side[1], i - n_loops);
        if (i - n_loops < pair->shared)
            pair->range[i] = bounds_add(pair->range[i], bounds_scale(pair->range[i - n_loops], -1));
    }
}

static void bound_by_subscripts(Pair *pair)
{
    const Access *x = pair->side[0]->access, *y = pair->side[1]->access;
    for (int i = 0; i < x->buffer->rank && !pair->apart; i++)
        bound_by_dimension(pair, x->index[i], y->index[i]);
}

const Bounds *accesses_distance(Context *c, const AccessOf *a, const AccessOf *b)
{
    Pair pair = {.side = {a, b},
                 .shared = units_common(a->unit, b->unit),
                 .n = a->unit->n_loops + b->unit->n_loops};
    Bounds *distance = ARENA_ARRAY(c->arena, Bounds, pair.shared + 1);
    bool few = pair.n <= MOST_VARIABLES;
    if (few) {
        start_ranges(&pair);
        bound_by_subscripts(&pair);
    }
    for (int i = 0; i < pair.shared; i++) {
        Bounds range = few ? pair.range[a->unit->n_loops + i] : bounds_none();
        distance[i] = a->unit->loops[i]->step > 0 ? range : bounds_scale(range, -1);
    }
    return pair.apart ? NULL : distance;
}
