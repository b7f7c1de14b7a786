/* promote_owner.c - Finds which threads share the element that a loop keeps updating. It also finds
 * what other threads do with the element, in the loop and beyond barriers. See promote.h. */
#include "passes/analysis/symbolic/mixed_radix.h"
#include "passes/lower/memory/promote.h"

/* ---- who owns the element -------------------------------------------------------------------- */

static unsigned axes_of(const Expr *e)
{
    unsigned axes = e->kind == EX_AXIS ? 1u << e->u.axis : 0;
    for (int i = 0; i < expr_operands(e); i++)
        axes |= axes_of(expr_operand(e, i));
    return axes;
}

static Expr *axis_extent(const Promote *p, int axis)
{
    return launch_extent(p->c, p->launch, (Axis)axis);
}

/* The coordinates and loops that an expression depends on, except loops inside the one that is
 * being examined. */
typedef struct {
    Scan *scan;
    unsigned axes;
    VarList loops;
} Parts;

static void add_parts(Parts *parts, const Expr *e)
{
    Context *c = parts->scan->p->c;
    const VarList *inside = &parts->scan->inside;
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && at.expr->u.var->kind == VAR_LOOP &&
            !expr_uses_any(at.expr, inside->items, inside->n) &&
            !expr_uses_any(at.expr, parts->loops.items, parts->loops.n))
            VEC_PUSH(c->arena, &parts->loops, at.expr->u.var);
    parts->axes |= axes_of(e);
}

/* Splits the digit of `var` off *rest. */
static bool take_digit(Promote *p, Var *var, Bounds range, Expr **rest, DigitList *digits)
{
    Digit digit = {.value = expr_var(p->c, var, span_none()), .range = range};
    if (!split_linear(p->facts, *rest, var, &digit.coefficient, rest) || digit.coefficient <= 0)
        return false;
    VEC_PUSH(p->c->arena, digits, digit);
    return true;
}

static Bounds axis_range(const Promote *p, int axis)
{
    int64_t extent;
    return expr_is_const(axis_extent(p, axis), &extent) ? (Bounds){0, extent - 1} : bounds_none();
}

static Bounds loop_range(Promote *p, Var *loop)
{
    Bounds range;
    bool known = bounds_const(p->facts, expr_var(p->c, loop, span_none()), &range.min, &range.max);
    return known ? range : bounds_none();
}

/* `e` is injective in its coordinates and loops: a mixed-radix number of them, plus a value that is
 * the same for all. */
static bool is_injective(Promote *p, Expr *e, const Parts *parts)
{
    Context *c = p->c;
    DigitList digits = {0};
    Expr *rest = simplify(p->facts, e);
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!(axes_of(rest) & (1u << axis)))
            continue;
        Var *stand_in = var_new(c, axis_name((Axis)axis), DT_INDEX, VAR_LOOP, span_none());
        rest = expr_replace_axis(c, rest, (Axis)axis, expr_var(c, stand_in, span_none()));
        if (!take_digit(p, stand_in, axis_range(p, axis), &rest, &digits))
            return false;
    }
    for (int i = 0; i < parts->loops.n; i++) {
        Var *loop = parts->loops.items[i];
        if (expr_uses_var(rest, loop) && !take_digit(p, loop, loop_range(p, loop), &rest, &digits))
            return false;
    }
    return axes_of(rest) == 0 && digits_are_apart(&digits);
}

/* Drops the parts that `e` determines. */
static void drop_parts_of(Scan *scan, Expr *e, Parts *parts)
{
    Parts here = {.scan = scan};
    add_parts(&here, e);
    if (!is_injective(scan->p, e, &here))
        return;
    parts->axes &= ~here.axes;
    for (int i = 0; i < here.loops.n; i++)
        for (int k = 0; k < parts->loops.n; k++)
            if (parts->loops.items[k] == here.loops.items[i])
                parts->loops.items[k--] = parts->loops.items[--parts->loops.n];
}

/* The subscripts of the element in row-major order. One element has one number, so the element
 * determines what the number does, such as a fused loop: f / N * N + f % N. */
static Expr *element_number(const Scan *scan)
{
    Context *c = scan->p->c;
    Expr *number = expr_index(c, 0);
    for (int d = 0; d < scan->buffer->rank; d++) {
        Expr *row = expr_binary(c, EX_MUL, number, scan->buffer->shape[d], span_none());
        number = expr_binary(c, EX_ADD, row,
                             expr_expand(scan->p->c, scan->index[d], &scan->p->lets), span_none());
    }
    return number;
}

/* A coordinate that subscripts take apart: what stands for a / by and a % by. */
typedef struct {
    Axis axis;
    const Expr *by;
    Var *quotient, *rest;
} SplitAxis;

static bool is_part(const SplitAxis *x, const Expr *e)
{
    return (e->kind == EX_DIV || e->kind == EX_MOD) && e->u.arg[0]->kind == EX_AXIS &&
           e->u.arg[0]->u.axis == x->axis && (!x->by || expr_equal(e->u.arg[1], x->by));
}

static Expr *replace_part(Rewriter *r, Expr *e)
{
    SplitAxis *x = r->user;
    if (!is_part(x, e))
        return e;
    x->by = e->u.arg[1];
    return expr_var(r->ctx, e->kind == EX_DIV ? x->quotient : x->rest, e->span);
}

static bool has_loop(const Parts *parts, const Var *loop)
{
    for (int i = 0; i < parts->loops.n; i++)
        if (parts->loops.items[i] == loop)
            return true;
    return false;
}

/* Subscripts that determine both parts of a coordinate determine it, and what stands beside them:
 * block % N and block / N * 256 + thread determine the block and the thread. */
static void drop_split(Scan *scan, Axis axis, Parts *parts)
{
    Context *c = scan->p->c;
    SplitAxis x = {.axis = axis,
                   .quotient = var_new(c, axis_name(axis), DT_INDEX, VAR_LOOP, span_none()),
                   .rest = var_new(c, axis_name(axis), DT_INDEX, VAR_LOOP, span_none())};
    Rewriter r = {.ctx = c, .user = &x, .expr = replace_part};
    Parts left = {.scan = scan, .axes = parts->axes};
    VEC_APPEND(c->arena, &left.loops, parts->loops.items, parts->loops.n);
    VEC_PUSH(c->arena, &left.loops, x.quotient);
    VEC_PUSH(c->arena, &left.loops, x.rest);
    for (int d = 0; d < scan->buffer->rank; d++)
        drop_parts_of(
            scan, rewrite_expr(&r, expr_expand(scan->p->c, scan->index[d], &scan->p->lets)), &left);
    if (has_loop(&left, x.quotient) || has_loop(&left, x.rest))
        return;
    parts->axes = left.axes & ~(1u << axis);
    parts->loops = left.loops;
}

/* Drops the parts that the element of `scan` determines: threads and iterations that differ in
 * these have different elements. */
static void drop_determined(Scan *scan, Parts *parts)
{
    for (int d = 0; d < scan->buffer->rank; d++)
        drop_parts_of(scan, expr_expand(scan->p->c, scan->index[d], &scan->p->lets), parts);
    drop_parts_of(scan, element_number(scan), parts);
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        if (parts->axes & (1u << axis))
            drop_split(scan, (Axis)axis, parts);
}

/* The coordinates of threads that may share an element: those of a block have its shared memory. */
static unsigned axes_of_sharers(const Promote *p, const Buffer *buffer)
{
    unsigned axes = 0;
    int64_t extent;
    int first = buffer->scope == SCOPE_SHARED ? AXIS_THREAD_X : 0;
    for (int axis = first; axis < AXIS_COUNT; axis++)
        if (!expr_is_const(axis_extent(p, axis), &extent) || extent > 1)
            axes |= 1u << axis;
    return axes;
}

bool promote_is_uniform(Scan *scan)
{
    Promote *p = scan->p;
    Parts varying = {.scan = scan},
          threads = {.scan = scan, .axes = axes_of_sharers(p, scan->buffer)};
    bool data = false;
    for (int i = 0; i < scan->varying.n; i++) {
        Expr *e = promote_expanded(scan, scan->varying.items[i]);
        data |= expr_has_load(e);
        add_parts(&varying, e);
    }
    drop_determined(scan, &varying);
    drop_determined(scan, &threads);
    return (!data && varying.axes == 0 && varying.loops.n == 0) || threads.axes == 0;
}

/* ---- who else touches it --------------------------------------------------------------------- */

/* The element is that of the loop, and no two threads of a block have it. */
static bool is_same_thread(Scan *scan, const SubstList *lets, Expr *const *index)
{
    Promote *p = scan->p;
    unsigned shared = 0;
    for (int axis = AXIS_THREAD_X; axis < AXIS_COUNT; axis++)
        shared |= p->launch->block[axis - AXIS_THREAD_X] > 1 ? 1u << axis : 0;
    for (int d = 0; d < scan->buffer->rank; d++) {
        Expr *mine = simplify(p->facts, expr_expand(p->c, scan->index[d], &p->lets));
        if (!expr_equal(mine, simplify(p->facts, expr_expand(p->c, index[d], lets))))
            return false;
        Parts here = {.scan = scan};
        add_parts(&here, mine);
        if ((here.axes & shared) && is_injective(p, mine, &here))
            shared &= ~here.axes;
    }
    Parts all = {.scan = scan, .axes = shared};
    drop_parts_of(scan, element_number(scan), &all);
    return all.axes == 0;
}

bool promote_passes_barriers(Scan *scan, Stmt *loop)
{
    if (!stmt_has_barrier(scan->p->c, loop))
        return true;
    SubstList lets = {0};
    for (Cursor at = cursor_stmt(scan->p->c, scan->p->launch->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        Expr *const *index = NULL;
        if (s && s->kind == ST_LET)
            VEC_PUSH(scan->p->c->arena, &lets, ((Subst){s->u.let.var, s->u.let.value}));
        else if (s && s->kind == ST_FOR && s->u.loop.var == loop->u.loop.var)
            cursor_prune(&at);
        else if (s && s->kind == ST_STORE && s->u.store.buffer == scan->buffer)
            index = s->u.store.index;
        else if (at.expr && at.expr->kind == EX_LOAD && at.expr->u.load.buffer == scan->buffer)
            index = at.expr->u.load.index;
        if (index && !is_same_thread(scan, &lets, index))
            return false;
    }
    return true;
}
