/* widen.c - Implements widen: makes the range of a loop independent of the loops around it.
 *
 *   widen(j, i)    for i in 8            =>   for i in 8
 *                      for j in i + 1             for j in 8
 *                          S(i, j)                    S(i, j)  where j < i + 1
 *
 * A grid has one size, and threads have one number: a triangle is bound as the rectangle around it.
 * So are rows between elements of an input, where the `where` clause says how large these can be.
 * With `from`, the range starts there, also where no loop around decides it: tiles then begin at
 * aligned elements.  Without either, the range becomes one that no data decide.
 *
 * Legal: the range is bounded by one that is free of the loops around, or of data, and starts at
 * `from` or later.
 * Invariant: every instance runs exactly once, in the same order. Iterations that were not there
 * run nothing: the domains of blocks say so, or else a predicate does. */
#include "passes/schedule/flow.h"

/* The loops from `over` inwards to the end of the path, itself left out. NULL where the loop is not
 * inside `over`. */
static const Var **loops_between(Schedule *s, const StmtPath *path, uint32_t over, int *n)
{
    const Var **vars = ARENA_ARRAY(s->ctx->arena, const Var *, path->n);
    *n = 0;
    for (int i = 0; i + 1 < path->n; i++)
        if (path->items[i]->kind == ST_FOR && (*n > 0 || path->items[i]->u.loop.id == over))
            vars[(*n)++] = path->items[i]->u.loop.var;
    return *n > 0 ? vars : NULL;
}

static bool depends_on(const ForStmt *loop, const Var *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (loop_uses_var(loop, vars[i]))
            return true;
    return false;
}

/* One of these loops has no iterations: a range of none then covers the loop inside. */
static bool never_runs(const StmtPath *path, const Var *const *vars, int n)
{
    for (int i = 0; i + 1 < path->n; i++) {
        const ForStmt *loop = &path->items[i]->u.loop;
        bool between = false;
        for (int k = 0; k < n && path->items[i]->kind == ST_FOR; k++)
            between |= vars[k] == loop->var;
        int64_t lo, hi;
        if (between && expr_is_const(loop->lo, &lo) && expr_is_const(loop->hi, &hi) && hi <= lo &&
            loop->step == 1)
            return true;
    }
    return false;
}

typedef enum { SIDE_LOWER, SIDE_UPPER } RangeSide;

typedef struct {
    Expr *bound, *wide;
    RangeSide side;
} RangeEnd;

/* The body of a loop with `wide` for its upper or its lower bound. */
static Stmt *guard_side(Schedule *s, Facts *facts, Var *var, Stmt *body, const RangeEnd *end)
{
    Context *c = s->ctx;
    ExprKind reaches = end->side == SIDE_UPPER ? EX_GE : EX_LE;
    if (prove(facts, expr_binary(c, reaches, end->bound, end->wide, span_none())))
        return body;
    Subst same = {var, expr_var(c, var, span_none())};
    Below below = {.s = s,
                   .facts = facts,
                   .map = &same,
                   .n_map = 1,
                   .direction = end->side == SIDE_UPPER ? 1 : -1};
    below.guard = expr_binary(c, end->side == SIDE_UPPER ? EX_LT : EX_GE, same.value, end->bound,
                              span_none());
    below.end = end->side == SIDE_UPPER ? end->bound : index_sub(c, end->bound, expr_index(c, 1));
    return below_rewrite(&below, body);
}

Stmt *loop_guard_range(Schedule *s, Facts *facts, const ForStmt *narrow, Expr *lo, Expr *hi)
{
    Stmt *body = guard_side(s, facts, narrow->var, narrow->body,
                            &(RangeEnd){.bound = narrow->lo, .wide = lo, .side = SIDE_LOWER});
    return guard_side(s, facts, narrow->var, body,
                      &(RangeEnd){.bound = narrow->hi, .wide = hi, .side = SIDE_UPPER});
}

static Stmt *build_widen(Schedule *s, const StmtPath *path, const ForStmt *narrow, Expr *lo,
                         Expr *hi)
{
    Context *c = s->ctx;
    const Stmt *old = path_end(path);
    ForStmt loop = *narrow;
    loop.lo = lo;
    loop.hi = hi;
    Facts *facts = sched_facts(s, path);
    facts_enter(facts, stmt_for(c, &loop, old->span));
    loop.body = loop_guard_range(s, facts, narrow, lo, hi);
    return stmt_for(c, &loop, old->span);
}

/* The range of a loop that covers `narrow` for all iterations of n loops around it. False after
 * E0497. */
static bool find_range(Schedule *s, const PrimCall *call, const StmtPath *path, ForStmt *range)
{
    int n = 0;
    bool exact;
    Facts *facts = sched_facts(s, path);
    const Value *over = &call->widen.over;
    const Var **vars = over->kind == VALUE_NONE ? NULL : loops_between(s, path, over->u.id, &n);
    Expr *lo = least_over(facts, range->lo, vars, n, &exact);
    Expr *hi = largest_over(facts, range->hi, vars, n, &exact);
    if ((!lo || !hi) && never_runs(path, vars, n))
        lo = hi = expr_index(s->ctx, 0);
    REQUIRE_AT(s, E0497, call->span, lo && hi, path_end(path),
               "no range independent of loop '%s' is known that covers loop '%s'; the bounds "
               "of a widened loop must be affine in loops, sizes, and elements of inputs that a "
               "'where' clause bounds, as in 'first in 0..N + 1'",
               stmt_label(sched_node(s, over, NULL)), stmt_label(path_end(path)));
    range->lo = simplify(facts, lo);
    range->hi = simplify(facts, hi);
    return true;
}

static bool reads_data(const ForStmt *loop)
{
    return expr_has_load(loop->lo) || expr_has_load(loop->hi);
}

/* The range of a loop that covers `range` whatever data are. False after E0497. */
static bool find_range_of_data(Schedule *s, const PrimCall *call, const StmtPath *path,
                               ForStmt *range)
{
    Expr *ends[2];
    Facts *facts = sched_facts(s, path);
    REQUIRE_AT(s, E0497, call->span, range_over_data(facts, range->lo, range->hi, ends),
               path_end(path),
               "data decide the range of loop '%s', and no range is known that covers it; the "
               "elements that are its ends need a 'where' clause, as in 'first in 0..N + 1'",
               stmt_label(path_end(path)));
    range->lo = ends[0];
    range->hi = ends[1];
    return true;
}

/* Makes the range start at `from`. False after E0497. */
static bool start_from(Schedule *s, const PrimCall *call, const StmtPath *path, ForStmt *range)
{
    if (call->widen.from.kind == VALUE_NONE)
        return true;
    Expr *from = expr_index(s->ctx, call->widen.from.u.i);
    REQUIRE(s, E0497, call->widen.from.span, call->widen.from.u.i >= 0,
            "a range starts at 0 or later, found %lld", (long long)call->widen.from.u.i);
    REQUIRE_AT(s, E0497, call->widen.from.span,
               prove_compare(sched_facts(s, path), from, EX_LE, range->lo), path_end(path),
               "loop '%s' may start before %lld, and its range would not have all iterations",
               stmt_label(path_end(path)), (long long)call->widen.from.u.i);
    range->lo = from;
    return true;
}

bool prim_widen(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    StmtPath path = {0};
    int n = 0;
    Stmt *stmt = sched_node(s, &call->widen.loop, &path);
    bool alone = call->widen.over.kind == VALUE_NONE;
    const Var **vars = alone ? NULL : loops_between(s, &path, call->widen.over.u.id, &n);
    if (!sched_require_plain(s, stmt, call->span))
        return false;
    REQUIRE(s, E0416, call->span, alone || vars, "loop '%s' is not inside loop '%s'",
            stmt_label(stmt), stmt_label(sched_node(s, &call->widen.over, NULL)));
    bool from = call->widen.from.kind != VALUE_NONE;
    bool of_data = alone && !from && reads_data(&stmt->u.loop);
    if (!depends_on(&stmt->u.loop, vars, n) && !from && !of_data)
        return true;
    const ForStmt *narrow = &stmt->u.loop;
    if (narrow->step != 1)
        narrow = &loop_from_zero(s, &path)->u.loop;
    ForStmt range = *narrow;
    if ((of_data && !find_range_of_data(s, call, &path, &range)) ||
        (!alone && !find_range(s, call, &path, &range)) || !start_from(s, call, &path, &range))
        return false;
    sched_replace(s, stmt, build_widen(s, &path, narrow, range.lo, range.hi));
    return true;
}
