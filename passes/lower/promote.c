/* promote.c - scalar replacement: an element that one thread keeps updating lives in a register.
 *
 *   C[i, j] = 0;                              temp C_acc: f32[1] in local;
 *   for ko in 32 {                            C_acc[0] = 0;
 *       ...                             =>    for ko in 32 { ...
 *           C[i, j] += A[i, k] * B[k, j];             C_acc[0] += A[i, k] * B[k, j]; }
 *   }                                         C[i, j] = C_acc[0];
 *
 * After Callahan, Carr and Kennedy (PLDI 1990), for one element a loop.
 *
 * Right because nobody else touches the element in the meantime: two threads that update one element in one loop are a
 * race, which binding refused. What is added is a load before and a store after the loop, by threads that
 * might not have run any update. The load is left out where the loop sets the element before it reads it. The conditions on the way to
 * the updates must therefore be the same for all threads that share the element: those that vary in the loop may not depend on the
 * thread, unless the element tells the threads apart. Both the load and the store pass the barriers of the loop, so where it has some
 * no other thread may touch the element before or after it. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Names names;
    const LaunchStmt *launch;
    Facts *facts;
    SubstList lets; /* values of the names around, in terms of axes and loops */
} Promote;

/* What all accesses of one buffer in a loop have in common. */
typedef struct {
    Promote *p;
    Buffer *buffer;
    Expr *const *index; /* of the first access */
    VarList inside;     /* variables defined in the loop */
    ExprList conds;     /* conditions around the place at work, inside the loop */
    ExprList control;   /* bounds of loops around it, likewise */
    ExprList guards;    /* invariant conditions around every access */
    ExprList varying;   /* other conditions and the bounds on the way to an access */
    SubstList lets;     /* values of the names in the loop */
    bool seen, read, written, ok;
    Span update;        /* the last statement that writes it */
    CacheHint hint;     /* of that one */
} Scan;

static bool invariant(const Scan *scan, const Expr *e)
{
    return !expr_uses_any(e, scan->inside.items, scan->inside.n) && !expr_has_load(e);
}

static void note_access(Scan *scan, Expr *const *index)
{
    Context *c = scan->p->c;
    ExprList guards = {0};
    for (int i = 0; i < scan->conds.n; i++) {
        ExprList *to = invariant(scan, scan->conds.items[i]) ? &guards : &scan->varying;
        VEC_PUSH(c->arena, to, scan->conds.items[i]);
    }
    for (int i = 0; i < scan->control.n; i++)
        VEC_PUSH(c->arena, &scan->varying, scan->control.items[i]);
    if (!scan->seen) {
        scan->seen = true;
        scan->index = index;
        scan->guards = guards;
        for (int d = 0; d < scan->buffer->rank; d++)
            scan->ok &= invariant(scan, index[d]);
    } else {
        for (int d = 0; d < scan->buffer->rank; d++)
            scan->ok &= expr_equal(index[d], scan->index[d]);
        scan->ok &= guards.n == scan->guards.n;
        for (int i = 0; i < guards.n; i++)
            scan->ok &= expr_list_has(&scan->guards, guards.items[i]);
    }
}

static bool scan_expr(Visitor *v, Expr *e)
{
    Scan *scan = v->user;
    if (e->kind == EX_LOAD && e->u.load.buffer == scan->buffer) {
        note_access(scan, e->u.load.index);
        scan->read = true;
    }
    return scan->ok;
}

static void scan_exprs(Scan *scan, Expr *e)
{
    Visitor v = {.user = scan, .expr = scan_expr};
    visit_expr(&v, e);
}

static void scan_stmt(Scan *scan, const Stmt *s)
{
    Context *c = scan->p->c;
    int conds = scan->conds.n, control = scan->control.n;
    int64_t extent;
    if (s->kind == ST_FOR && loop_const_extent(&s->u.loop, &extent) && extent < 1)
        return; /* what never runs needs no register */
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n && scan->ok; i++)
            scan_stmt(scan, s->u.seq.items[i]);
        break;
    case ST_FOR:
        scan_exprs(scan, s->u.loop.lo);
        scan_exprs(scan, s->u.loop.hi);
        VEC_PUSH(c->arena, &scan->control, s->u.loop.lo);
        VEC_PUSH(c->arena, &scan->control, s->u.loop.hi);
        scan_stmt(scan, s->u.loop.body);
        break;
    case ST_IF:
        scan_exprs(scan, s->u.cond.cond);
        if (s->u.cond.otherwise) {
            Expr *negated = expr_unary(c, EX_NOT, s->u.cond.cond, s->span);
            VEC_PUSH(c->arena, &scan->conds, negated);
            scan_stmt(scan, s->u.cond.otherwise);
            scan->conds.n = conds;
        }
        cond_split(c, s->u.cond.cond, &scan->conds);
        scan_stmt(scan, s->u.cond.then);
        break;
    case ST_STORE:
        if (s->u.store.buffer == scan->buffer) {
            scan->ok &= !s->u.store.atomic && s->u.store.op != STORE_ASYNC;
            scan->written = true;
            scan->update = s->span;
            scan->hint = s->u.store.hint;
            scan->read |= s->u.store.op != STORE_SET;
            note_access(scan, s->u.store.index);
        }
        for (int d = 0; d < s->u.store.buffer->rank; d++)
            scan_exprs(scan, s->u.store.index[d]);
        scan_exprs(scan, s->u.store.value);
        break;
    case ST_LET: {
        Subst to = {s->u.let.var, s->u.let.value};
        VEC_PUSH(c->arena, &scan->lets, to);
        scan_exprs(scan, s->u.let.value);
        break;
    }
    case ST_TEMP: /* a buffer that begins in the loop has no element before it */
        scan->ok &= s->u.temp != scan->buffer;
        break;
    case ST_BLOCK:
    case ST_BARRIER:
    case ST_LAUNCH:
        break;
    }
    scan->conds.n = conds;
    scan->control.n = control;
}

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

/* The threads that share the element all run the updates or none does. */
static bool control_is_uniform(Scan *scan)
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

static bool find_barrier(Visitor *v, Stmt *s)
{
    bool *found = v->user;
    *found |= s->kind == ST_BARRIER;
    return !*found;
}

static bool has_barrier(Stmt *s)
{
    bool found = false;
    Visitor v = {.user = &found, .stmt = find_barrier};
    visit_stmt(&v, s);
    return found;
}

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

/* ---- rewriting ---------------------------------------------------------------------------------- */

typedef struct {
    const Buffer *from;
    Buffer *to;
    Expr *zero;
} Replace;

static Expr *replace_load(Rewriter *r, Expr *e)
{
    Replace *x = r->user;
    return e->kind == EX_LOAD && e->u.load.buffer == x->from
               ? expr_load(r->ctx, x->to, &x->zero, e->span)
               : e;
}

static Stmt *replace_store(Rewriter *r, Stmt *s)
{
    Replace *x = r->user;
    if (s->kind != ST_STORE || s->u.store.buffer != x->from)
        return s;
    return stmt_stamp(
        stmt_store(r->ctx, x->to, &x->zero, s->u.store.op, s->u.store.value, false, s->span), s);
}

static bool is_element_store(const Scan *scan, const Stmt *s)
{
    if (s->kind != ST_STORE || s->u.store.buffer != scan->buffer || s->u.store.op != STORE_SET ||
        s->u.store.atomic || expr_has_load(s->u.store.value))
        return false;
    for (int d = 0; d < scan->buffer->rank; d++)
        if (!expr_equal(s->u.store.index[d], scan->index[d]))
            return false;
    return true;
}

static bool touches(Context *c, Stmt *s, const Buffer *buffer)
{
    AccessList list = {0};
    access_collect(c, s, buffer, ACCESS_ANY, &list);
    return list.n > 0;
}

/* Takes a constant store of the element out of `s`, under exactly the guards of the updates; what is left in *rest
 * (NULL: nothing). NULL if `s` is no such statement. */
static Expr *take_init(Scan *scan, Stmt *s, const ExprList *around, Stmt **rest)
{
    Context *c = scan->p->c;
    if (s->kind == ST_STORE && is_element_store(scan, s)) {
        bool same = around->n == scan->guards.n;
        for (int i = 0; i < around->n; i++)
            same = same && expr_list_has(&scan->guards, around->items[i]);
        *rest = NULL;
        return same ? s->u.store.value : NULL;
    }
    if (s->kind == ST_IF && !s->u.cond.otherwise) {
        ExprList inner = {0};
        for (int i = 0; i < around->n; i++)
            VEC_PUSH(c->arena, &inner, around->items[i]);
        cond_split(c, s->u.cond.cond, &inner);
        Stmt *left;
        Expr *value = take_init(scan, s->u.cond.then, &inner, &left);
        *rest =
            value && left ? stmt_stamp(stmt_if(c, s->u.cond.cond, left, NULL, s->span), s) : NULL;
        return value;
    }
    if (s->kind != ST_SEQ)
        return NULL;
    for (int i = s->u.seq.n - 1; i >= 0; i--) {
        Stmt *left;
        Expr *value = take_init(scan, s->u.seq.items[i], around, &left);
        if (value) {
            *rest = stmt_replace(c, s, s->u.seq.items[i], left);
            return value;
        }
        if (touches(c, s->u.seq.items[i], scan->buffer))
            return NULL;
    }
    return NULL;
}

static Stmt *guarded(Context *c, const ExprList *guards, Stmt *s)
{
    Expr *cond = cond_join(c, guards);
    return cond ? stmt_stamp(stmt_if(c, cond, s, NULL, s->span), s) : s;
}

static void guard_unless_proved(Scan *scan, ExprKind kind, Expr *a, Expr *b)
{
    Expr *cond = expr_binary(scan->p->c, kind, a, b, span_none());
    if (!expr_list_has(&scan->guards, cond) && !prove(scan->p->facts, cond))
        VEC_PUSH(scan->p->c->arena, &scan->guards, cond);
}

/* Threads whose loop has no iterations may have no element either: the bounds of the loop then say what no condition
 * does. The load before it and the store after it need the condition. */
static void guard_element(Scan *scan)
{
    Context *c = scan->p->c;
    Facts *facts = scan->p->facts;
    FactsMark mark = facts_mark(facts);
    for (int i = 0; i < scan->guards.n; i++)
        facts_assume(facts, scan->guards.items[i]);
    for (int d = 0; d < scan->buffer->rank; d++) {
        guard_unless_proved(scan, EX_LE, expr_index(c, 0), scan->index[d]);
        guard_unless_proved(scan, EX_LT, scan->index[d], scan->buffer->shape[d]);
    }
    facts_reset(facts, mark);
}

/* A buffer whose element can live in a register for the whole of `loop`. */
static bool promotable(Promote *p, Stmt *loop, Buffer *buffer, Scan *scan)
{
    *scan = (Scan){.p = p, .buffer = buffer, .ok = true};
    VEC_PUSH(p->c->arena, &scan->inside, loop->u.loop.var);
    vars_defined_in(p->c, loop->u.loop.body, &scan->inside);
    scan_stmt(scan, loop);
    if (!scan->ok || !scan->read || !scan->written || !control_is_uniform(scan))
        return false;
    guard_element(scan);
    return true;
}

/* The start value of the element, taken from the statements before the loop; NULL if they do not say it. */
static Expr *take_start(Scan *scan, StmtList *before)
{
    ExprList nothing = {0};
    for (int i = before->n - 1; i >= 0; i--) {
        Stmt *rest = NULL;
        Expr *start = take_init(scan, before->items[i], &nothing, &rest);
        if (start && rest)
            before->items[i] = rest;
        for (int k = i; start && !rest && k + 1 < before->n; k++)
            before->items[k] = before->items[k + 1];
        before->n -= start && !rest;
        if (start)
            return start;
        if (touches(scan->p->c, before->items[i], scan->buffer))
            return NULL;
    }
    return NULL;
}

static Expr *runs_at_all(const Scan *scan, const ForStmt *l)
{
    return expr_binary(scan->p->c, l->step > 0 ? EX_LT : EX_GE, l->lo, l->hi, span_none());
}

static bool certainly_runs(const Scan *scan, const ForStmt *l)
{
    return prove(scan->p->facts, runs_at_all(scan, l));
}

/* A thread whose loop has no iterations leaves the element alone, which may be another thread's: unless its start was taken from
 * a store that came before, it is neither loaded nor stored. */
static void guard_loop(Scan *scan, const ForStmt *l)
{
    if (!certainly_runs(scan, l))
        VEC_PUSH(scan->p->c->arena, &scan->guards, simplify(scan->p->facts, runs_at_all(scan, l)));
}

/* What the first statement of a loop that touches the element does. */
typedef enum {
    FIRST_READS,   /* needs its value, or may do so */
    FIRST_MAY_SET, /* sets it, where conditions allow it and the loop runs */
    FIRST_SETS,    /* sets it wherever the guards of the updates hold: what it was before does not matter */
} First;

static First first_in(Scan *scan, Stmt *s, ExprList *around)
{
    Context *c = scan->p->c;
    if (s->kind == ST_STORE) {
        AccessList reads = {0};
        access_collect(c, s, scan->buffer, ACCESS_READ, &reads);
        bool runs = true;
        for (int i = 0; i < around->n; i++)
            runs = runs && expr_list_has(&scan->guards, around->items[i]);
        return reads.n > 0 ? FIRST_READS : runs ? FIRST_SETS : FIRST_MAY_SET;
    }
    if (s->kind == ST_IF && !s->u.cond.otherwise) {
        cond_split(c, s->u.cond.cond, around);
        return first_in(scan, s->u.cond.then, around);
    }
    if (s->kind == ST_FOR) {
        First first = first_in(scan, s->u.loop.body, around);
        return first == FIRST_SETS && !certainly_runs(scan, &s->u.loop) ? FIRST_MAY_SET : first;
    }
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (touches(c, s->u.seq.items[i], scan->buffer))
            return first_in(scan, s->u.seq.items[i], around);
    return FIRST_READS;
}

static First first_access(Scan *scan, Stmt *loop)
{
    ExprList around = {0};
    return first_in(scan, loop, &around);
}

/* Is there a value for the register to start with that the program itself would read? An element that may not have one before the
 * loop must not be loaded. */
static bool can_start(Scan *scan, Stmt *loop, const StmtList *before)
{
    StmtList trial = {0};
    for (int i = 0; i < before->n; i++)
        VEC_PUSH(scan->p->c->arena, &trial, before->items[i]);
    return first_access(scan, loop) != FIRST_MAY_SET || take_start(scan, &trial);
}

/* The load before the loop (if there is one) finds what the first read in it would, and the store after it comes in time for those
 * who read behind it, though barriers of the loop lie between. */
static bool passes_barriers(Scan *scan, Stmt *loop)
{
    if (!has_barrier(loop))
        return true;
    Others others = {.scan = scan, .loop = loop->u.loop.var};
    Visitor v = {&others, note_other_load, note_other_stmt};
    visit_stmt(&v, scan->p->launch->body);
    return !others.touched;
}

/* Keeps the element of `scan` in a register during `loop`; what comes before it goes to `before`, what comes after to
 * `after`. */
static Stmt *promote(Scan *scan, Stmt *loop, StmtList *before, StmtList *after)
{
    Promote *p = scan->p;
    Context *c = p->c;
    Span at = loop->span;
    Expr *one = expr_index(c, 1), *zero = expr_index(c, 0);
    Expr *start = take_start(scan, before);
    Buffer *acc = buffer_new(c, names_fresh(&p->names, ctx_namef(c, "%s_acc", scan->buffer->name)),
                             scan->buffer->type, &one, 1, SCOPE_LOCAL, ROLE_TEMP, at);
    if (!start)
        guard_loop(scan, &loop->u.loop);
    Expr *first = start ? start : expr_load(c, scan->buffer, scan->index, at);
    if (!start)
        first->u.load.hint = cache_hint_info(scan->hint)->load ? scan->hint : HINT_NONE;
    Stmt *init = stmt_stamp(stmt_store(c, acc, &zero, STORE_SET, first, false,
                                       first->span.source ? first->span : at),
                            loop);
    VEC_PUSH(c->arena, before, stmt_stamp(stmt_temp(c, acc, at), loop));
    if (start)
        VEC_PUSH(c->arena, before, init);
    else if (first_access(scan, loop) == FIRST_READS)
        VEC_PUSH(c->arena, before, guarded(c, &scan->guards, init));
    Stmt *last = stmt_store(c, scan->buffer, scan->index, STORE_SET, expr_load(c, acc, &zero, at),
                            false, scan->update);
    last->u.store.hint = scan->hint;
    VEC_PUSH(c->arena, after, guarded(c, &scan->guards, stmt_stamp(last, loop)));
    Replace x = {scan->buffer, acc, zero};
    Rewriter r = {.ctx = c, .user = &x, .expr = replace_load, .stmt = replace_store};
    return rewrite_stmt(&r, loop);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    VEC(Buffer *) found;
} Stored;

static bool collect_stored(Visitor *v, Stmt *s)
{
    Stored *stored = v->user;
    if (s->kind != ST_STORE || s->u.store.buffer->scope == SCOPE_LOCAL)
        return true;
    for (int i = 0; i < stored->found.n; i++)
        if (stored->found.items[i] == s->u.store.buffer)
            return true;
    VEC_PUSH(stored->c->arena, &stored->found, s->u.store.buffer);
    return true;
}

static Stmt *walk(void *user, Stmt *s);

static void walk_loop(Promote *p, Stmt *loop, StmtList *out)
{
    Context *c = p->c;
    Stored stored = {.c = c};
    StmtList after = {0};
    if (loop->u.loop.kind != LOOP_VECTORIZE) {
        Visitor v = {.user = &stored, .stmt = collect_stored};
        visit_stmt(&v, loop);
    }
    for (int i = 0; i < stored.found.n; i++) {
        Scan scan;
        if (promotable(p, loop, stored.found.items[i], &scan) && can_start(&scan, loop, out) &&
            passes_barriers(&scan, loop))
            loop = promote(&scan, loop, out, &after);
    }
    VEC_PUSH(c->arena, out, walk(p, loop));
    for (int i = 0; i < after.n; i++)
        VEC_PUSH(c->arena, out, after.items[i]);
}

/* The items of a sequence, or a single statement. */
static Stmt *walk_items(Promote *p, Stmt *s)
{
    Context *c = p->c;
    Stmt *const *items = s->kind == ST_SEQ ? s->u.seq.items : &s;
    int n = s->kind == ST_SEQ ? s->u.seq.n : 1, lets = p->lets.n;
    FactsMark mark = facts_mark(p->facts);
    StmtList out = {0};
    for (int i = 0; i < n; i++) {
        Stmt *item = items[i];
        if (item->kind == ST_LET) {
            Subst to = {item->u.let.var, item->u.let.value};
            VEC_PUSH(c->arena, &p->lets, to);
            facts_enter(p->facts, item);
        }
        if (item->kind == ST_FOR)
            walk_loop(p, item, &out);
        else
            VEC_PUSH(c->arena, &out, walk(p, item));
    }
    p->lets.n = lets;
    facts_reset(p->facts, mark);
    bool same = out.n == n;
    for (int i = 0; same && i < n; i++)
        same = out.items[i] == items[i];
    return same ? s : stmt_seq(c, out.items, out.n, s->span);
}

static Stmt *walk_body(void *user, Stmt *s)
{
    return s->kind == ST_SEQ || s->kind == ST_FOR ? walk_items(user, s) : walk(user, s);
}

static Stmt *walk_if(Promote *p, Stmt *s)
{
    FactsMark mark = facts_mark(p->facts);
    facts_assume(p->facts, s->u.cond.cond);
    Stmt *then = walk_body(p, s->u.cond.then);
    facts_reset(p->facts, mark);
    Stmt *otherwise = s->u.cond.otherwise ? walk_body(p, s->u.cond.otherwise) : NULL;
    if (then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(p->c, s->u.cond.cond, then, otherwise, s->span), s);
}

/* Below a statement of a launch. */
static Stmt *walk(void *user, Stmt *s)
{
    Promote *p = user;
    if (s->kind == ST_IF)
        return walk_if(p, s);
    FactsMark mark = facts_mark(p->facts);
    if (s->kind == ST_FOR)
        facts_enter(p->facts, s);
    Stmt *done = stmt_map_children(p->c, s, walk_body, p);
    facts_reset(p->facts, mark);
    return done;
}

static Stmt *walk_host(void *user, Stmt *s)
{
    Promote *p = user;
    if (s->kind != ST_LAUNCH)
        return stmt_map_children(p->c, s, walk_host, p);
    FactsMark mark = facts_mark(p->facts);
    p->launch = &s->u.launch;
    facts_enter(p->facts, s);
    Stmt *done = stmt_map_children(p->c, s, walk_body, p);
    facts_reset(p->facts, mark);
    return done;
}

Kernel *pass_promote_accumulators(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Promote p = {.c = c, .names = names_of_kernel(c, kernel), .facts = facts_new(c)};
    return kernel_with_body(c, kernel, walk_host(&p, kernel->body));
}
