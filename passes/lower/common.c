/* common.c - Finds launches, axes, names and stores for the lowering passes. */
#include "passes/lower/pass.h"

/* ---- searching ------------------------------------------------------------------------------- */

bool stmt_has_barrier(Context *c, const Stmt *s)
{
    return stmts_of_kind(c, s, ST_BARRIER).n > 0;
}

void vars_defined_in(Context *c, const Stmt *s, VarList *out)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR)
            VEC_PUSH(c->arena, out, at.stmt->u.loop.var);
        else if (at.stmt->kind == ST_LET)
            VEC_PUSH(c->arena, out, at.stmt->u.let.var);
}

Expr *expr_expand(Context *c, Expr *e, const SubstList *names)
{
    for (int i = names->n - 1; i >= 0; i--)
        e = expr_subst(c, e, &names->items[i], 1);
    return e;
}

const AxisAccess *axes_subst(Context *c, const AxisAccess *axes, const Subst *map, int n)
{
    if (!axes || n == 0)
        return axes;
    AxisAccess *replaced = ARENA_NEW(c->arena, AxisAccess);
    *replaced = (AxisAccess){axes->buffer, exprs_subst(c, axes->index, axes->buffer->rank, map, n)};
    return replaced;
}

typedef struct {
    Axis axis;
    Expr *value;
} AxisValue;

static Expr *replace_axis(Rewriter *r, Expr *e)
{
    const AxisValue *x = r->user;
    return e->kind == EX_AXIS && e->u.axis == x->axis ? x->value : e;
}

Expr *expr_replace_axis(Context *c, Expr *e, Axis axis, Expr *value)
{
    AxisValue x = {axis, value};
    return rewrite_expr(&(Rewriter){.ctx = c, .user = &x, .expr = replace_axis}, e);
}

Span buffer_span(const Buffer *b)
{
    return b->origin.source ? b->origin : b->span;
}

int64_t buffer_bytes(Context *c, const Buffer *b)
{
    int64_t bytes, *strides = ARENA_ARRAY(c->arena, int64_t, b->rank + 1);
    bool known =
        buffer_strides(b, strides, &bytes) && checked_mul(bytes, type_bytes(b->type), &bytes);
    return known ? bytes : INT64_MAX / 2;
}

typedef struct {
    Context *c;
    Scope scope;
} ToAxes;

static Stmt *to_axes(void *user, Stmt *s)
{
    const ToAxes *x = user;
    Context *c = x->c;
    Stmt *done = stmt_map_children(c, s, to_axes, user);
    if (!stmt_is_bound(done) || scope_shared_along(x->scope, done->u.loop.axis))
        return done;
    const ForStmt *loop = &done->u.loop;
    Expr *at = index_mul(c, expr_axis(c, loop->axis), expr_index(c, loop->step));
    Subst to = {loop->var, index_add(c, loop->lo, at)};
    return loop_with_body(c, done, stmt_subst(c, loop->body, &to, 1));
}

Expr *launch_extent(Context *c, const LaunchStmt *launch, Axis axis)
{
    if (axis_is_thread(axis))
        return expr_index(c, launch->block[axis - AXIS_THREAD_X]);
    return axis == AXIS_RANK ? expr_index(c, 1) : launch->grid[axis];
}

const Var *launch_coordinate(const LaunchStmt *launch, Axis axis)
{
    for (int i = 0; i < stmt_items(launch->body); i++) {
        const Stmt *s = stmt_item(launch->body, i);
        if (s->kind == ST_LET && s->u.let.value->kind == EX_AXIS && s->u.let.value->u.axis == axis)
            return s->u.let.var;
    }
    return NULL;
}

Stmt *bound_to_axes(Context *c, Stmt *s, Scope scope)
{
    ToAxes x = {c, scope};
    return to_axes(&x, s);
}

void axis_facts(Facts *f, Context *c, Stmt *s)
{
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);)
        if (stmt_is_bound(at.stmt))
            facts_axis(f, at.stmt->u.loop.axis, loop_extent(c, &at.stmt->u.loop));
}

/* ---- launches -------------------------------------------------------------------------------- */

bool stmt_is_launch_root(Context *c, const Stmt *s)
{
    switch (s->kind) {
    case ST_FOR: return s->u.loop.kind == LOOP_BIND || !stmt_bound_loop(c, s);
    case ST_IF: return !stmt_bound_loop(c, s);
    case ST_ROLES:
    case ST_BLOCK: return true;
    case ST_SEQ:
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER:
    case ST_INSTRUCTION:
    case ST_BREAK:
    case ST_LAUNCH: return false;
    }
    return false;
}

static Stmt *walk_host(void *user, Stmt *s)
{
    LaunchWalk *w = user;
    if (w->failed)
        return s;
    Stmt *outside = w->nest, *done;
    if (!outside && s->kind != ST_SEQ)
        w->nest = s;
    if (stmt_is_launch_root(w->c, s)) {
        FactsMark mark = facts_mark(w->facts);
        done = w->root(w, s);
        w->failed |= !done;
        facts_reset(w->facts, mark);
    } else {
        done = stmt_map_inside(w->c, w->facts, s, walk_host, w);
    }
    w->nest = outside;
    return done;
}

Stmt *launch_roots_map(LaunchWalk *w, Stmt *s)
{
    w->facts = facts_of_kernel(w->c, w->kernel);
    Stmt *done = walk_host(w, s);
    return w->failed ? NULL : done;
}

/* ---- stores and what is around them ---------------------------------------------------------- */

bool loop_is_written_out(const ForStmt *loop)
{
    return loop->kind == LOOP_UNROLL || loop->kind == LOOP_VECTORIZE;
}

static void note_let(StoreWalk *w, const Stmt *s)
{
    Expr *value = expr_subst(w->c, s->u.let.value, w->lets.items, w->lets.n);
    for (int i = 0; i < w->loops.n && value->type == DT_INDEX && !expr_has_load(value); i++)
        if (expr_uses_var(value, w->loops.items[i]->var)) {
            VEC_PUSH(w->c->arena, &w->lets, ((Subst){s->u.let.var, value}));
            return;
        }
}

static Stmt *walk_stores(void *user, Stmt *s)
{
    StoreWalk *w = user;
    if (s->kind == ST_STORE)
        return w->store(w, s);
    if (s->kind == ST_LET) { /* known to what follows in its sequence */
        VEC_PUSH(w->c->arena, &w->names, s);
        note_let(w, s);
    }
    if (s->kind == ST_LET || stmt_is_bulk_copy(s))
        return s;
    int names = w->names.n, lets = w->lets.n, loops = w->loops.n;
    if (s->kind == ST_FOR)
        VEC_PUSH(w->c->arena, &w->loops, &s->u.loop);
    Stmt *done = stmt_map_inside(w->c, w->facts, s, walk_stores, w);
    w->loops.n = loops;
    w->names.n = names;
    w->lets.n = lets;
    return done;
}

Kernel *stores_map(StoreWalk *w, const Kernel *kernel)
{
    w->facts = facts_of_kernel(w->c, kernel);
    Stmt *body = walk_stores(w, kernel->body);
    return kernel_with_body(w->c, kernel,
                            body == kernel->body ? body : drop_unused_names(w->c, body));
}
