/* facts.c - Keeps the facts that hold at an expression, ranges and conditions, on two stacks.
 *
 * A range is kept in three ways: its ends as written, as expanded linear forms for proofs, and
 * as literal bounds for quick answers.  A condition is kept as written and, where it compares
 * INDEX values, as a form that is at least 0.  That a range is not empty is a condition too: it
 * says N >= 1 inside `for i in N`. */
#include "passes/analysis/symbolic/affine.h"

Facts *facts_new(Context *c)
{
    Facts *f = ARENA_NEW(c->arena, Facts);
    f->c = c;
    return f;
}

FactsMark facts_mark(const Facts *f)
{
    return (FactsMark){f->ranges.n, f->conditions.n};
}

void facts_reset(Facts *f, FactsMark mark)
{
    f->ranges.n = mark.ranges;
    f->conditions.n = mark.conditions;
}

Facts facts_outside(const Facts *f, FactsMark mark)
{
    Facts outside = *f;
    outside.ranges.n = outside.ranges.capacity = mark.ranges;
    outside.conditions.n = outside.conditions.capacity = mark.conditions;
    return outside;
}

Question facts_ask(const Facts *f)
{
    return (Question){*f, arena_mark(f->c->arena)};
}

void facts_answered(Facts *f, const Question *q)
{
    *f = q->saved;
    arena_reset(f->c->arena, q->mark);
}

/* ---- looking up ------------------------------------------------------------------------------ */

int facts_rank_var(const Facts *f, const Var *var)
{
    int k = f->ranges.n - 1;
    while (k >= 0 && f->ranges.items[k].var != var)
        k--;
    return k;
}

/* Of an axis or an element. */
static bool range_is_of(const Range *r, const Expr *e)
{
    return e->kind == EX_AXIS ? e->u.axis == r->axis
                              : r->buffer && e->u.load.buffer->id == r->buffer->id;
}

/* A conversion of integers to INDEX keeps their value. */
static const Expr *without_cast(const Expr *e)
{
    return e->kind == EX_CAST && e->type == DT_INDEX && type_is_int(e->u.arg[0]->type) ? e->u.arg[0]
                                                                                       : e;
}

static int range_index(const Facts *f, const Expr *e)
{
    e = without_cast(e);
    if (e->kind == EX_VAR)
        return facts_rank_var(f, e->u.var);
    if (e->kind != EX_AXIS && e->kind != EX_LOAD)
        return -1;
    int k = f->ranges.n - 1;
    while (k >= 0 && !range_is_of(&f->ranges.items[k], e))
        k--;
    return k;
}

const Range *facts_find(const Facts *f, const Expr *e)
{
    int k = range_index(f, e);
    return k < 0 ? NULL : &f->ranges.items[k];
}

int facts_rank(const Facts *f, const Expr *e)
{
    int rank = range_index(f, e);
    for (int k = 0, n = expr_operands(e); k < n; k++) {
        int inner = facts_rank(f, expr_operand(e, k));
        rank = inner > rank ? inner : rank;
    }
    return rank;
}

int facts_first_condition(const Facts *f)
{
    return f->conditions.n > FACTS_CONDITIONS_SEEN ? f->conditions.n - FACTS_CONDITIONS_SEEN : 0;
}

bool facts_know(const Facts *f, const Expr *cond)
{
    for (int k = f->conditions.n - 1, first = facts_first_condition(f); k >= first; k--)
        if (f->conditions.items[k].expr && expr_same(f->conditions.items[k].expr, cond))
            return true;
    return false;
}

/* What the number has in common with a literal, or with the two factors of a product. */
static int64_t common_by_factors(const Facts *f, const Expr *e, int64_t number)
{
    int64_t literal;
    if (expr_is_const(e, &literal))
        return literal != 0 ? gcd64(literal, number) : 1;
    if (e->kind != EX_MUL)
        return 1;
    int64_t first = facts_common_divisor(f, e->u.arg[0], number);
    return first * facts_common_divisor(f, e->u.arg[1], number / first);
}

int64_t facts_common_divisor(const Facts *f, const Expr *e, int64_t number)
{
    int64_t largest = common_by_factors(f, e, number);
    for (int k = f->conditions.n - 1, first = facts_first_condition(f); k >= first; k--) {
        const Expr *cond = f->conditions.items[k].expr;
        int64_t divisor;
        if (cond && cond->kind == EX_EQ && cond->u.arg[0]->kind == EX_MOD &&
            expr_is(cond->u.arg[1], 0) && expr_is_const(cond->u.arg[0]->u.arg[1], &divisor) &&
            gcd64(divisor, number) > largest && expr_same(cond->u.arg[0]->u.arg[0], e))
            largest = gcd64(divisor, number);
    }
    return largest;
}

bool facts_divisible(const Facts *f, const Expr *e, int64_t by)
{
    return facts_common_divisor(f, e, by) == by;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* The form of the same sign whose number is a multiple, too, if all terms are multiples of one:
 *
 *   N % 4 == 0   |-   N - 4 * i - 1 >= 0   =>   N - 4 * i - 4 >= 0 */
static Affine rounded(Facts *f, Affine form)
{
    enum { LARGEST = 16 };
    for (int64_t by = LARGEST; by > 1; by /= 2)
        if (form.constant % by != 0 && affine_terms_divisible(f, &form, by)) {
            form.constant = floor_div64(form.constant, by) * by;
            return form;
        }
    return form;
}

/* Remembers that form >= 0, unless it says nothing. Without a condition it is derived, from a range
 * or a definition. */
static void push_form(Facts *f, Expr *cond, Affine form)
{
    if (form.n == 0)
        return;
    Condition known = {
        .expr = cond, .affine = true, .derived = cond == NULL, .form = rounded(f, form)};
    VEC_PUSH(f->c->arena, &f->conditions, known);
}

/* a - b - slack >= 0 holds; nothing is learnt where numbers do not fit. */
static void push_difference(Facts *f, Expr *cond, Expr *a, Expr *b, int64_t slack)
{
    Affine x, y, d;
    if (affine_of(f->c, a, PRODUCTS_EXPANDED, &x) && affine_of(f->c, b, PRODUCTS_EXPANDED, &y) &&
        affine_combine(f->c, x, 1, y, -1, &d) && checked_sub(d.constant, slack, &d.constant))
        push_form(f, cond, d);
}

static void push_opaque(Facts *f, Expr *cond)
{
    Condition known = {.expr = cond};
    VEC_PUSH(f->c->arena, &f->conditions, known);
}

static void assume_comparison(Facts *f, Expr *cond)
{
    Expr *a = cond->u.arg[0], *b = cond->u.arg[1];
    switch (cond->kind) {
    case EX_LT: push_difference(f, cond, b, a, 1); break;
    case EX_LE: push_difference(f, cond, b, a, 0); break;
    case EX_GT: push_difference(f, cond, a, b, 1); break;
    case EX_GE: push_difference(f, cond, a, b, 0); break;
    case EX_EQ:
        push_difference(f, cond, a, b, 0);
        push_difference(f, cond, b, a, 0);
        break;
    default: push_opaque(f, cond);
    }
}

void facts_assume_canonical(Facts *f, Expr *cond)
{
    Expr *inner = cond->kind == EX_NOT ? cond->u.arg[0] : NULL;
    if (cond->kind == EX_AND) {
        facts_assume_canonical(f, cond->u.arg[0]);
        facts_assume_canonical(f, cond->u.arg[1]);
    } else if (inner && inner->kind == EX_OR) {
        facts_assume_canonical(f, cond_negate(f->c, inner->u.arg[0]));
        facts_assume_canonical(f, cond_negate(f->c, inner->u.arg[1]));
    } else if (cond->kind == EX_INT || expr_loads_change(cond)) {
        return; /* what memory holds may change while the condition is remembered */
    } else if (op_info(cond->kind)->class == OP_COMPARE && cond->u.arg[0]->type == DT_INDEX) {
        assume_comparison(f, cond);
    } else {
        push_opaque(f, cond);
    }
}

Expr *facts_canonical(Facts *f, Expr *cond)
{
    bool outer = f->assuming;
    f->assuming = true;
    Expr *canonical = simplify_once(f, cond);
    f->assuming = outer;
    return canonical;
}

void facts_assume(Facts *f, Expr *cond)
{
    facts_assume_canonical(f, facts_canonical(f, cond));
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static Bounds range_bounds(Facts *f, const Range *r)
{
    return (Bounds){bounds_tight(f, &r->low).min, bounds_tight(f, &r->high).max};
}

/* The one value left, if there is one. */
static Expr *range_value(Facts *f, const Range *r)
{
    if (r->affine && affine_equal(r->low, r->high))
        return r->lo;
    if (bounds_are_exact(r->bounds))
        return expr_index(f->c, r->bounds.min);
    return NULL;
}

const Range *facts_before(const Facts *f, const Range *r)
{
    for (int k = f->ranges.n - 1; k >= 0; k--) {
        const Range *known = &f->ranges.items[k];
        if (known->var == r->var && known->axis == r->axis && known->buffer == r->buffer)
            return known;
    }
    return NULL;
}

/* The range has forms and bounds by its ends, which are no literals. */
static void measure_range(Facts *f, Range *r)
{
    Context *c = f->c;
    r->affine = affine_of(c, r->lo, PRODUCTS_EXPANDED, &r->low) &&
                affine_of(c, r->hi, PRODUCTS_EXPANDED, &r->high) &&
                checked_sub(r->high.constant, 1, &r->high.constant);
    r->bounds = r->affine ? range_bounds(f, r) : bounds_none();
    if (expr_loads_change(r->lo) || expr_loads_change(r->hi))
        r->affine = false; /* what memory holds may change while the range is remembered */
}

/* An empty range adds no fact: code that never runs keeps its variables. Others use them to see
 * the purpose of a loop (whether it carries a reduction, say). */
static void push_range(Facts *f, Range *r, Expr *lo, Expr *hi)
{
    Context *c = f->c;
    r->lo = simplify_once(f, lo);
    r->hi = simplify_once(f, hi);
    int64_t first, end;
    bool literal = expr_is_const(r->lo, &first) && expr_is_const(r->hi, &end);
    if (literal && end <= first)
        return;
    r->conditions_before = f->conditions.n;
    if (literal) {
        r->affine = true;
        r->low = affine_const(first);
        r->high = affine_const(end - 1);
        r->bounds = (Bounds){first, end - 1};
    } else {
        measure_range(f, r);
    }
    const Range *before = facts_before(f, r);
    if (before)
        r->bounds = bounds_meet(r->bounds, before->bounds);
    r->value = range_value(f, r);
    VEC_PUSH(c->arena, &f->ranges, *r);
    Affine some;
    if (!literal && r->affine && !r->buffer && affine_combine(c, r->high, 1, r->low, -1, &some))
        push_form(f, NULL, some);
}

static Range range_of(const Var *var, Axis axis)
{
    return (Range){.var = var, .axis = axis, .stride = 1, .low_met = true, .high_met = true};
}

void facts_range(Facts *f, const Var *var, Expr *lo, Expr *hi)
{
    Range r = range_of(var, AXIS_NONE);
    push_range(f, &r, lo, hi);
}

bool facts_range_is_literal(const Facts *f, const Var *var)
{
    const Range *range = facts_find(f, expr_var(f->c, (Var *)var, span_none()));
    int64_t lo, hi;
    return range && expr_is_const(range->lo, &lo) && expr_is_const(range->hi, &hi) && lo < hi;
}

void facts_axis(Facts *f, Axis axis, Expr *extent)
{
    Range r = range_of(NULL, axis);
    push_range(f, &r, expr_index(f->c, 0), extent);
}

/* Of a value that gets a name: a min or max is followed into its operands, once. */
static Bounds defined_bounds(Facts *f, Expr *value)
{
    if (value->kind != EX_MIN && value->kind != EX_MAX)
        return bounds_tight_expr(f, value);
    return bounds_minmax(value->kind, bounds_tight_expr(f, value->u.arg[0]),
                         bounds_tight_expr(f, value->u.arg[1]));
}

/* var = value, for a let. */
static void define(Facts *f, const Var *var, Expr *value)
{
    Affine form;
    if (var->type != DT_INDEX || !affine_of(f->c, value, PRODUCTS_EXPANDED, &form))
        return;
    Range r = range_of(var, AXIS_NONE);
    r.lo = value;
    r.hi = index_add(f->c, value, expr_index(f->c, 1));
    r.conditions_before = f->conditions.n;
    r.bounds = defined_bounds(f, value);
    r.low = r.high = form;
    r.affine = !expr_loads_change(value);
    VEC_PUSH(f->c->arena, &f->ranges, r);
    if (!r.affine)
        return;
    Expr *self = expr_var(f->c, (Var *)var, span_none());
    push_difference(f, NULL, self, value, 0);
    push_difference(f, NULL, value, self, 0);
}

/* ---- the `where` clause ---------------------------------------------------------------------- */

static bool same_subject(const Fact *a, const Fact *b)
{
    return a->kind == b->kind && a->subject.buffer == b->subject.buffer &&
           a->subject.scalar == b->subject.scalar;
}

/* All ranges of the subject of fact number `at` as one, where that is the first of them. */
static bool whole_range(const Kernel *kernel, int at, Fact *whole)
{
    *whole = kernel->facts[at];
    for (int i = 0; i < kernel->n_facts; i++) {
        const Fact *fact = &kernel->facts[i];
        if (!same_subject(fact, whole))
            continue;
        if (i < at)
            return false;
        if (!whole->lo) {
            whole->lo = fact->lo;
            whole->excludes_lo = fact->excludes_lo;
        }
        if (!whole->hi) {
            whole->hi = fact->hi;
            whole->excludes_hi = fact->excludes_hi;
        }
    }
    return true;
}

/* Only integers take part in proofs. Elements of an inout change while the kernel runs. A
 * missing end is that of the type. */
static void assume_values(Facts *f, const Fact *fact)
{
    Context *c = f->c;
    Range r = {.var = fact->subject.scalar,
               .axis = AXIS_NONE,
               .buffer = fact->subject.buffer,
               .stride = 1};
    DType type = r.buffer ? r.buffer->type : r.var->type;
    if (!type_is_int(type) || (r.buffer && r.buffer->role != ROLE_IN))
        return;
    Bounds limits = bounds_of_type(type);
    Expr *one = expr_index(c, 1);
    Expr *lo = fact->lo ? fact->lo : expr_index(c, limits.min);
    Expr *hi =
        fact->hi ? fact->hi : expr_index(c, bounds_has_max(limits) ? limits.max + 1 : INT64_MAX);
    push_range(f, &r, fact->excludes_lo ? index_add(c, lo, one) : lo,
               fact->hi && !fact->excludes_hi ? index_add(c, hi, one) : hi);
}

ExprList kernel_extents(Context *c, const Kernel *kernel)
{
    ExprList conds = {0};
    for (int i = 0; i < kernel->n_params; i++) {
        const Buffer *buffer = kernel->params[i].buffer;
        for (int axis = 0; buffer && axis < buffer->rank; axis++) {
            Expr *extent = buffer->shape[axis];
            if (extent->kind != EX_INT && extent->kind != EX_VAR)
                VEC_PUSH(c->arena, &conds,
                         expr_binary(c, EX_GE, extent, expr_index(c, 0), extent->span));
        }
    }
    return conds;
}

/* No launch has a buffer with a negative extent. */
static void assume_extents(Facts *f, const Kernel *kernel)
{
    ExprList conds = kernel_extents(f->c, kernel);
    for (int i = 0; i < conds.n; i++)
        if (!bounds_nonneg(f, conds.items[i]->u.arg[0]))
            facts_assume(f, conds.items[i]);
}

Facts *facts_of_kernel(Context *c, const Kernel *kernel)
{
    Facts *f = facts_new(c);
    for (int i = 0; i < kernel->n_facts; i++)
        if (kernel->facts[i].kind == FACT_SIZES)
            facts_assume(f, kernel->facts[i].cond);
    assume_extents(f, kernel);
    Fact whole;
    for (int i = 0; i < kernel->n_facts; i++)
        if (kernel->facts[i].kind == FACT_VALUES && whole_range(kernel, i, &whole))
            assume_values(f, &whole);
    return f;
}

/* ---- entering statements --------------------------------------------------------------------- */

/* The last value of a loop with literal bounds is known; else the end of the range may be
 * missed. */
static void enter_loop(Facts *f, const ForStmt *loop)
{
    Context *c = f->c;
    if (loop->var->type != DT_INDEX)
        return; /* computed in 64 bits, which canonical forms do not look into */
    Range r = range_of(loop->var, AXIS_NONE);
    r.stride = loop->step > 0 ? loop->step : loop->step == INT64_MIN ? 1 : -loop->step;
    int64_t lo, hi, extent, way, last;
    bool known = loop_const_extent(loop, &extent) && extent > 0 && expr_is_const(loop->lo, &lo) &&
                 checked_mul(extent - 1, loop->step, &way) && checked_add(lo, way, &last) &&
                 checked_add(loop->step > 0 ? last : lo, 1, &hi);
    if (known) {
        push_range(f, &r, expr_index(c, loop->step > 0 ? lo : last), expr_index(c, hi));
    } else if (loop->step > 0) {
        r.high_met = loop->step == 1;
        push_range(f, &r, loop->lo, loop->hi);
    } else {
        r.low_met = loop->step == -1;
        push_range(f, &r, loop->hi, index_add(c, loop->lo, expr_index(c, 1)));
    }
}

void facts_enter_init(Facts *f, const BlockStmt *block)
{
    for (int k = 0; k < block->n_iters; k++)
        if (block->iters[k].kind == ITER_SPATIAL)
            facts_range(f, block->iters[k].var, block->iters[k].lo, block->iters[k].hi);
}

void facts_enter_block(Facts *f, const BlockStmt *block)
{
    for (int k = 0; k < block->n_iters; k++)
        facts_range(f, block->iters[k].var, block->iters[k].lo, block->iters[k].hi);
    if (block->predicate)
        facts_assume(f, block->predicate);
}

static void enter_launch(Facts *f, const LaunchStmt *launch)
{
    for (int k = 0; k < 3; k++) {
        facts_axis(f, (Axis)(AXIS_BLOCK_X + k), launch->grid[k]);
        facts_axis(f, (Axis)(AXIS_THREAD_X + k), expr_index(f->c, launch->block[k]));
    }
}

void facts_enter_enclosing(Facts *f, Enclosing around)
{
    if (around.otherwise)
        facts_assume(f, expr_unary(f->c, EX_NOT, around.stmt->u.cond.cond, around.stmt->span));
    else
        facts_enter(f, around.stmt);
}

void facts_enter_item(Facts *f, const StmtPath *path, int i)
{
    const Stmt *s = path->items[i];
    bool otherwise = s->kind == ST_IF && path->items[i + 1] == s->u.cond.otherwise;
    facts_enter_enclosing(f, (Enclosing){s, otherwise});
}

void facts_enter(Facts *f, const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: enter_loop(f, &s->u.loop); break;
    case ST_BLOCK: facts_enter_block(f, &s->u.block); break;
    case ST_IF: facts_assume(f, s->u.cond.cond); break;
    case ST_LET: define(f, s->u.let.var, s->u.let.value); break;
    case ST_LAUNCH: enter_launch(f, &s->u.launch); break;
    default: break;
    }
}
