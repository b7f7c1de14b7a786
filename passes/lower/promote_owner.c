/* promote_owner.c - whose is the element that a loop keeps updating? Which threads share it, and what other threads do with it, in the
 * loop and beyond barriers. See promote.h. */
#include "passes/lower/promote.h"

/* ---- who owns the element ---------------------------------------------------------------------- */

static unsigned axes_of(const Expr *e)
{
    unsigned axes = e->kind == EX_AXIS ? 1u << e->u.axis : 0;
    for (int i = 0; i < expr_arity(e->kind); i++)
        axes |= axes_of(e->u.arg[i]);
    if (e->kind == EX_CALL)
        for (int i = 0; i < call_info(e->u.call.call)->arity; i++)
            axes |= axes_of(e->u.call.arg[i]);
    if (e->kind == EX_LOAD)
        for (int d = 0; d < e->u.load.buffer->rank; d++)
            axes |= axes_of(e->u.load.index[d]);
    return axes;
}

static Expr *expanded(const Promote *p, Expr *e)
{
    for (int i = p->lets.n - 1; i >= 0; i--)
        e = expr_subst(p->c, e, &p->lets.items[i], 1);
    return e;
}

static Expr *axis_extent(const Promote *p, int axis)
{
    return axis < AXIS_THREAD_X ? p->launch->grid[axis]
                                : expr_index(p->c, p->launch->block[axis - AXIS_THREAD_X]);
}

/* Different coordinates on the axes of `e` give `e` different values: e is a number in mixed radix of them, plus what is
 * the same for all. Strides are taken from small to large; each must exceed what the axes below can sum up to. */
static bool tells_apart(Promote *p, Expr *e, unsigned axes)
{
    Context *c = p->c;
    int64_t reach = 0; /* the largest sum of the axes taken so far */
    Expr *rest = simplify(p->facts, e);
    int64_t stride[AXIS_COUNT] = {0};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!(axes & (1u << axis)))
            continue;
        Var *stand_in = var_new(c, axis_name((Axis)axis), DT_INDEX, VAR_LOOP, span_none());
        Expr *linear = expr_replace_axis(c, rest, (Axis)axis, expr_var(c, stand_in, span_none()));
        if (!split_linear(p->facts, linear, stand_in, &stride[axis], &rest) || stride[axis] <= 0)
            return false;
    }
    if (axes_of(rest))
        return false;
    while (axes) {
        int least = -1;
        for (int axis = 0; axis < AXIS_COUNT; axis++)
            if ((axes & (1u << axis)) && (least < 0 || stride[axis] < stride[least]))
                least = axis;
        int64_t extent, span;
        axes &= ~(1u << least);
        if (stride[least] <= reach)
            return false;
        if (!axes)
            return true;
        if (!expr_is_const(axis_extent(p, least), &extent) ||
            !checked_mul(stride[least], extent - 1, &span) || !checked_add(reach, span, &reach))
            return false;
    }
    return true;
}

bool promote_is_uniform(Scan *scan)
{
    Promote *p = scan->p;
    unsigned axes = 0;
    for (int i = 0; i < scan->varying.n; i++) {
        Expr *e = scan->varying.items[i];
        for (int k = scan->lets.n - 1; k >= 0; k--)
            e = expr_subst(p->c, e, &scan->lets.items[k], 1);
        e = expanded(p, e);
        if (expr_has_load(e))
            return false;
        axes |= axes_of(e);
    }
    for (int d = 0; axes && d < scan->buffer->rank; d++) {
        Expr *e = expanded(p, scan->index[d]);
        unsigned here = axes_of(e);
        if ((here & axes) && tells_apart(p, e, here))
            axes &= ~here;
    }
    return axes == 0;
}

/* ---- who else touches it -------------------------------------------------------------------------- */

/* Accesses of the buffer of `scan` in the launch, outside of the loop. */
typedef struct {
    Scan *scan;
    const Var *loop;
    SubstList lets;
    bool touched; /* by other threads, perhaps, than the one whose element it is in the loop */
} Others;

/* The element is that of the loop, and no two threads of a block have it. */
static bool is_same_thread(const Others *o, Expr *const *index)
{
    Promote *p = o->scan->p;
    unsigned shared = 0;
    for (int axis = AXIS_THREAD_X; axis < AXIS_COUNT; axis++)
        shared |= p->launch->block[axis - AXIS_THREAD_X] > 1 ? 1u << axis : 0;
    for (int d = 0; d < o->scan->buffer->rank; d++) {
        Expr *mine = simplify(p->facts, expanded(p, o->scan->index[d])), *e = index[d];
        for (int i = o->lets.n - 1; i >= 0; i--)
            e = expr_subst(p->c, e, &o->lets.items[i], 1);
        if (!expr_equal(mine, simplify(p->facts, e)))
            return false;
        unsigned here = axes_of(mine);
        if ((here & shared) && tells_apart(p, mine, here))
            shared &= ~here;
    }
    return shared == 0;
}

static bool note_other_load(Visitor *v, Expr *e)
{
    Others *o = v->user;
    if (e->kind == EX_LOAD && e->u.load.buffer == o->scan->buffer && !is_same_thread(o, e->u.load.index))
        o->touched = true;
    return true;
}

static bool note_other_stmt(Visitor *v, Stmt *s)
{
    Others *o = v->user;
    if (s->kind == ST_LET)
        VEC_PUSH(o->scan->p->c->arena, &o->lets, ((Subst){s->u.let.var, s->u.let.value}));
    if (s->kind == ST_STORE && s->u.store.buffer == o->scan->buffer && !is_same_thread(o, s->u.store.index))
        o->touched = true;
    return s->kind != ST_FOR || s->u.loop.var != o->loop;
}

bool promote_passes_barriers(Scan *scan, Stmt *loop)
{
    if (!stmt_has_barrier(loop))
        return true;
    Others others = {.scan = scan, .loop = loop->u.loop.var};
    Visitor v = {&others, note_other_load, note_other_stmt};
    visit_stmt(&v, scan->p->launch->body);
    return !others.touched;
}
