/* model.c - from a tree to units and touches, and from units to instances.  See model.h. */
#include "passes/analysis/model.h"

#include "passes/analysis/inits.h"
#include "passes/analysis/region.h"

#include <stdlib.h>
#include <string.h>

/* ---- collecting the touches of a block ------------------------------------------------------- */

typedef struct {
    Model *model;
    Unit *unit;
    VEC(Step) path; /* from the root, or in a block's body, to here */
    int order;
} Walk;

static const Step *copy_path(Walk *w)
{
    Step *copy = ARENA_ARRAY(w->model->ctx->arena, Step, w->path.n);
    for (int i = 0; i < w->path.n; i++)
        copy[i] = w->path.items[i];
    return copy;
}

static void add_touch(Walk *w, Touch touch)
{
    touch.inner = copy_path(w);
    touch.n_inner = w->path.n;
    VEC_PUSH(w->model->ctx->arena, &w->unit->touches, touch);
}

static void push_scope(Walk *w, const Stmt *s, bool otherwise)
{
    VEC_PUSH(w->model->ctx->arena, &w->path, ((Step){s, otherwise}));
}

static void touch_expr(Walk *w, Expr *e);

/* What is only evaluated where `cond` holds (or does not), as under an if. */
static void touch_under(Walk *w, Expr *cond, bool holds, Expr *e)
{
    int depth = w->path.n;
    if (!expr_has_load(e))
        return;
    Context *c = w->model->ctx;
    push_scope(w, stmt_if(c, cond, stmt_seq(c, NULL, 0, cond->span), NULL, cond->span), !holds);
    touch_expr(w, e);
    w->path.n = depth;
}

/* The loads of an expression; the arms of ?: and the right sides of && and || only where they are evaluated. */
static void touch_expr(Walk *w, Expr *e)
{
    if (!e || !expr_has_load(e))
        return;
    if (e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR) {
        touch_expr(w, e->u.arg[0]);
        touch_under(w, e->u.arg[0], e->kind != EX_OR, e->u.arg[1]);
        if (e->kind == EX_SELECT)
            touch_under(w, e->u.arg[0], false, e->u.arg[2]);
        return;
    }
    if (e->kind == EX_LOAD) {
        for (int i = 0; i < e->u.load.buffer->rank; i++)
            touch_expr(w, e->u.load.index[i]);
        add_touch(w, (Touch){.buffer = e->u.load.buffer,
                             .index = e->u.load.index,
                             .reads = true,
                             .span = e->span});
        return;
    }
    Expr *const *args = e->kind == EX_CALL ? e->u.call.arg : e->u.arg;
    int n = e->kind == EX_CALL ? call_info(e->u.call.call)->arity : expr_arity(e->kind);
    for (int i = 0; i < n; i++)
        touch_expr(w, args[i]);
}

static void touch_store(Walk *w, const Stmt *s)
{
    bool atomic = s->u.store.atomic || (w->unit->block->atomic && !w->unit->init);
    touch_expr(w, s->u.store.value);
    for (int i = 0; i < s->u.store.buffer->rank; i++)
        touch_expr(w, s->u.store.index[i]);
    add_touch(w, (Touch){.buffer = s->u.store.buffer,
                         .index = s->u.store.index,
                         .writes = true,
                         .reads = store_updates(s->u.store.op),
                         .op = s->u.store.op,
                         .atomic = atomic,
                         .span = s->span});
}

static void touch_body(Walk *w, Stmt *s)
{
    int depth = w->path.n;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++) {
            touch_body(w, s->u.seq.items[i]);
            if (s->u.seq.items[i]->kind == ST_LET)
                push_scope(w, s->u.seq.items[i], false);
        }
        break;
    case ST_FOR:
        touch_expr(w, s->u.loop.lo);
        touch_expr(w, s->u.loop.hi);
        push_scope(w, s, false);
        touch_body(w, s->u.loop.body);
        break;
    case ST_IF:
        touch_expr(w, s->u.cond.cond);
        push_scope(w, s, false);
        touch_body(w, s->u.cond.then);
        w->path.items[depth].otherwise = true;
        if (s->u.cond.otherwise)
            touch_body(w, s->u.cond.otherwise);
        break;
    case ST_STORE:
        touch_store(w, s);
        break;
    case ST_LET:
        touch_expr(w, s->u.let.value);
        break;
    default:
        break;
    }
    w->path.n = depth;
}

static bool reads_own_writes(const Unit *u)
{
    for (int i = 0; i < u->touches.n; i++)
        for (int j = 0; j < u->touches.n; j++)
            if (u->touches.items[i].writes && u->touches.items[j].reads &&
                u->touches.items[i].buffer == u->touches.items[j].buffer)
                return true;
    return false;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool iters_use(const BlockStmt *b, const Var *var, bool spatial_only)
{
    for (int i = 0; i < b->n_iters; i++)
        if ((!spatial_only || b->iters[i].kind == ITER_SPATIAL) &&
            expr_uses_var(b->iters[i].binding, var))
            return true;
    return false;
}

/* The loops and ifs from the kernel's body down to a block of the tree. */
static StmtPath whole_path(const Walk *w, Stmt *block)
{
    Arena *arena = w->model->ctx->arena;
    StmtPath path = {0};
    for (int i = 0; i < w->model->outer.n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)w->model->outer.items[i].stmt);
    for (int i = 0; i < w->path.n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)w->path.items[i].stmt);
    VEC_PUSH(arena, &path, block);
    return path;
}

/* An init is ordered by the loops outside the one that it stands before, and stands where that loop does. */
static void place_init(const Walk *w, Unit *u, Stmt *block, const int *loop_order)
{
    StmtPath path = whole_path(w, block);
    for (int i = 0, at = w->model->outer.n; i < u->n_loops; at++) {
        if (path.items[at]->kind != ST_FOR)
            continue;
        if (reduction_starts_at(w->model->ctx, u->block, &path, at)) {
            u->n_time = i;
            u->order = loop_order[i];
            break;
        }
        i++;
    }
    for (int i = u->n_time; i < u->n_loops; i++)
        u->absent[i] = !iters_use(u->block, u->loops[i]->var, true);
}

/* loop_order[i]: the place in the text where the i-th loop of w->path starts. */
static Unit *add_unit(Walk *w, Stmt *s, bool init, const int *loop_order)
{
    Arena *arena = w->model->ctx->arena;
    Unit *u = ARENA_NEW(arena, Unit);
    u->stmt = s;
    u->block = &s->u.block;
    u->init = init;
    u->scopes = copy_path(w);
    u->n_scopes = w->path.n;
    u->loops = ARENA_ARRAY(arena, const ForStmt *, w->path.n);
    for (int i = 0; i < w->path.n; i++)
        if (w->path.items[i].stmt->kind == ST_FOR)
            u->loops[u->n_loops++] = &w->path.items[i].stmt->u.loop;
    u->absent = ARENA_ARRAY(arena, bool, u->n_loops);
    u->n_time = u->n_loops;
    u->order = w->order++;
    if (init)
        place_init(w, u, s, loop_order);
    for (int i = 0; i < u->n_loops; i++)
        u->repeats |= !u->absent[i] && !iters_use(u->block, u->loops[i]->var, init);
    VEC_PUSH(arena, &w->model->units, u);
    return u;
}

static void fill_unit(Walk *w, Unit *u, Stmt *body)
{
    Walk inner = {.model = w->model, .unit = u};
    if (!u->init) {
        touch_expr(&inner, u->block->predicate);
        for (int i = 0; i < u->block->n_iters; i++)
            touch_expr(&inner, u->block->iters[i].binding);
    }
    touch_body(&inner, body);
    u->idempotent = !reads_own_writes(u);
}

static void walk_tree(Walk *w, Stmt *s, int *loop_order, int n_loops)
{
    int depth = w->path.n;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            walk_tree(w, s->u.seq.items[i], loop_order, n_loops);
        break;
    case ST_FOR: {
        int *inner = ARENA_ARRAY(w->model->ctx->arena, int, n_loops + 1);
        if (n_loops > 0)
            memcpy(inner, loop_order, sizeof(int) * (size_t)n_loops);
        inner[n_loops] = w->order++;
        push_scope(w, s, false);
        walk_tree(w, s->u.loop.body, inner, n_loops + 1);
        break;
    }
    case ST_IF:
        push_scope(w, s, false);
        walk_tree(w, s->u.cond.then, loop_order, n_loops);
        w->path.items[depth].otherwise = true;
        if (s->u.cond.otherwise)
            walk_tree(w, s->u.cond.otherwise, loop_order, n_loops);
        break;
    case ST_BLOCK:
        if (s->u.block.init)
            fill_unit(w, add_unit(w, s, true, loop_order), s->u.block.init);
        fill_unit(w, add_unit(w, s, false, loop_order), s->u.block.body);
        break;
    case ST_TEMP:
        VEC_PUSH(w->model->ctx->arena, &w->model->inside, s->u.temp);
        break;
    default:
        break;
    }
    w->path.n = depth;
}

/* Records the loops and ifs on the way from `s` to `root`; true if it is below. */
static bool find_root(Model *m, const Stmt *s, const Stmt *root)
{
    if (s == root)
        return true;
    int depth = m->outer.n;
    bool found = false;
    if (s->kind == ST_SEQ) {
        for (int i = 0; i < s->u.seq.n && !found; i++)
            found = find_root(m, s->u.seq.items[i], root);
    } else if (s->kind == ST_FOR) {
        VEC_PUSH(m->ctx->arena, &m->outer, ((Step){s, false}));
        found = find_root(m, s->u.loop.body, root);
    } else if (s->kind == ST_IF) {
        VEC_PUSH(m->ctx->arena, &m->outer, ((Step){s, false}));
        found = find_root(m, s->u.cond.then, root);
        if (!found && s->u.cond.otherwise) {
            m->outer.items[depth].otherwise = true;
            found = find_root(m, s->u.cond.otherwise, root);
        }
    }
    if (!found)
        m->outer.n = depth;
    return found;
}

/* ---- which units can meet -------------------------------------------------------------------- */

static TouchRef touch_ref(const Touch *touch, int unit)
{
    TouchRef ref = {.buffer = touch->buffer->id, .unit = unit};
    ref.literal = touch->buffer->rank > 0 && expr_is_const(touch->index[0], &ref.first);
    return ref;
}

/* By buffer, then literal subscripts in order, then the others, then units. */
static int compare_refs(const void *a, const void *b)
{
    const TouchRef *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->literal != y->literal)
        return x->literal ? -1 : 1;
    if (x->literal && x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static void index_touches(Model *m)
{
    Arena *arena = m->ctx->arena;
    for (int i = 0; i < m->units.n; i++)
        for (int k = 0; k < m->units.items[i]->touches.n; k++) {
            const Touch *touch = &m->units.items[i]->touches.items[k];
            VEC_PUSH(arena, &m->all, touch_ref(touch, i));
            if (touch->writes)
                VEC_PUSH(arena, &m->writes, touch_ref(touch, i));
        }
    if (m->all.n > 0)
        qsort(m->all.items, (size_t)m->all.n, sizeof *m->all.items, compare_refs);
    if (m->writes.n > 0)
        qsort(m->writes.items, (size_t)m->writes.n, sizeof *m->writes.items, compare_refs);
    m->met = ARENA_ARRAY(arena, int, m->units.n);
}

/* The place of the first entry that is not before `ref`. */
static int refs_from(const TouchRefs *refs, const TouchRef *ref)
{
    int low = 0, high = refs->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_refs(&refs->items[middle], ref) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the units of the entries from `from` on that have its buffer and, with `same`, its literal. */
static void add_met(Model *m, const TouchRefs *refs, TouchRef from, bool same, UnitList *out)
{
    for (int at = refs_from(refs, &from); at < refs->n; at++) {
        const TouchRef *ref = &refs->items[at];
        if (ref->buffer != from.buffer ||
            (same && (ref->literal != from.literal || (ref->literal && ref->first != from.first))))
            break;
        if (m->met[ref->unit] == m->stamp)
            continue;
        m->met[ref->unit] = m->stamp;
        VEC_PUSH(m->ctx->arena, out, ref->unit);
    }
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

UnitList model_neighbours(Model *m, int unit)
{
    UnitList out = {0};
    const Unit *u = m->units.items[unit];
    m->stamp++;
    for (int k = 0; k < u->touches.n; k++) {
        const TouchRefs *refs = u->touches.items[k].writes ? &m->all : &m->writes;
        TouchRef from = touch_ref(&u->touches.items[k], 0);
        if (from.literal) {
            add_met(m, refs, from, true, &out);
            from.literal = false;
        } else {
            from.literal = true;
            from.first = INT64_MIN;
        }
        add_met(m, refs, from, false, &out);
    }
    if (out.n > 0)
        qsort(out.items, (size_t)out.n, sizeof *out.items, compare_ints);
    return out;
}

Model *model_new(Context *c, const Kernel *kernel, const Stmt *root, Stmt *tree)
{
    Model *m = ARENA_NEW(c->arena, Model);
    m->ctx = c;
    m->kernel = kernel;
    m->root = root;
    find_root(m, kernel->body, root);
    Walk w = {.model = m};
    walk_tree(&w, tree, NULL, 0);
    index_touches(m);
    return m;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A loop's variable: lo + step * t for a column t >= 0, which is the variable itself for step 1. */
static Affine enter_loop(Poly *p, Env *env, const ForStmt *loop, bool fixed)
{
    Affine lo = poly_value(p, env, loop->lo), hi = poly_value(p, env, loop->hi), value;
    int64_t lo_min, lo_max, hi_min, hi_max;
    affine_range(p, lo, &lo_min, &lo_max);
    affine_range(p, hi, &hi_min, &hi_max);
    if (loop->step == 1) {
        value = poly_column(p, lo_min, hi_max == INT64_MAX ? hi_max : hi_max - 1, fixed);
        poly_at_most(p, &p->top, lo, value, 0);
    } else {
        Affine t = poly_column(p, 0, INT64_MAX, fixed);
        poly_row(p, &p->top, t, false);
        value = poly_add(p, lo, t, loop->step);
    }
    if (loop->step > 0)
        poly_at_most(p, &p->top, value, hi, -1);
    else
        poly_at_most(p, &p->top, hi, value, 0);
    VEC_PUSH(p->ctx->arena, env, ((Meaning){loop->var, value}));
    return value;
}

static Affine know_loop(Poly *p, Env *env, const ForStmt *loop, Affine value)
{
    VEC_PUSH(p->ctx->arena, env, ((Meaning){loop->var, value}));
    return value;
}

void model_enter_scope(Poly *p, Env *env, Step scope, bool fixed)
{
    const Stmt *s = scope.stmt;
    if (s->kind == ST_FOR)
        enter_loop(p, env, &s->u.loop, fixed);
    else if (s->kind == ST_IF)
        poly_assume(p, &p->top, env, s->u.cond.cond, !scope.otherwise);
    else if (type_is_int(s->u.let.var->type))
        VEC_PUSH(p->ctx->arena, env, ((Meaning){s->u.let.var, poly_value(p, env, s->u.let.value)}));
}

void model_enter(const Model *m, Poly *p)
{
    for (int i = 0; i < m->kernel->n_sizes; i++)
        if (m->kernel->sizes[i].symbolic)
            poly_size(p, m->kernel->sizes[i].var);
    for (int i = 0; i < m->outer.n; i++)
        model_enter_scope(p, &p->fixed, m->outer.items[i], true);
}

static bool absent_in(const Unit *u, const Expr *e)
{
    for (int i = 0; i < u->n_loops; i++)
        if (u->absent[i] && expr_uses_var(e, u->loops[i]->var))
            return true;
    return false;
}

/* Values and domains of the iterators; an init knows nothing of reduce iterators. */
static void enter_iters(Poly *p, Instance *at)
{
    const BlockStmt *b = at->unit->block;
    Affine *iters = ARENA_ARRAY(p->ctx->arena, Affine, b->n_iters);
    for (int i = 0; i < b->n_iters; i++) {
        const BlockIter *iter = &b->iters[i];
        if (at->unit->init && iter->kind == ITER_REDUCE) {
            iters[i] = affine_const(0);
            continue;
        }
        iters[i] = poly_value(p, &at->env, iter->binding);
    }
    for (int i = 0; i < b->n_iters; i++) {
        const BlockIter *iter = &b->iters[i];
        if (at->unit->init && iter->kind == ITER_REDUCE)
            continue;
        poly_at_most(p, &p->top, poly_value(p, &at->env, iter->lo), iters[i], 0);
        poly_at_most(p, &p->top, iters[i], poly_value(p, &at->env, iter->hi), -1);
        VEC_PUSH(p->ctx->arena, &at->env, ((Meaning){iter->var, iters[i]}));
    }
    at->iters = iters;
}

/* The conjuncts of a condition that an init has values for. */
static void assume_known(Poly *p, const Instance *at, const Expr *cond, bool holds)
{
    if (holds && cond->kind == EX_AND) {
        assume_known(p, at, cond->u.arg[0], true);
        assume_known(p, at, cond->u.arg[1], true);
    } else if (!absent_in(at->unit, cond)) {
        poly_assume(p, &p->top, &at->env, cond, holds);
    }
}

static bool of_sizes(const Expr *e)
{
    if (e->kind == EX_VAR)
        return e->u.var->kind == VAR_SIZE;
    bool ok = e->kind == EX_INT || expr_is_unary(e->kind) || expr_is_binary(e->kind);
    for (int i = 0; i < expr_arity(e->kind); i++)
        ok = ok && of_sizes(e->u.arg[i]);
    return ok;
}

void unit_assume_runs(Poly *p, const Unit *unit)
{
    for (int i = 0; i < unit->block->n_iters; i++) {
        const BlockIter *iter = &unit->block->iters[i];
        if ((unit->init && iter->kind == ITER_REDUCE) || !of_sizes(iter->lo) || !of_sizes(iter->hi))
            continue;
        Affine extent = poly_add(p, poly_value(p, &p->fixed, iter->hi),
                                 poly_value(p, &p->fixed, iter->lo), -1);
        if (extent.n != 1 || extent.terms[0].factor != 1)
            continue;
        poly_raise(p, extent.terms[0].column, 1 - extent.constant);
    }
}

Instance instance_new(Poly *p, const Unit *unit)
{
    return instance_within(p, unit, NULL, 0);
}

Instance instance_within(Poly *p, const Unit *unit, const Affine *shared, int n_shared)
{
    Instance at = {.unit = unit};
    Affine *loops = ARENA_ARRAY(p->ctx->arena, Affine, unit->n_loops);
    int n = 0;
    for (int i = 0; i < unit->n_scopes; i++) {
        Step scope = unit->scopes[i];
        if (scope.stmt->kind == ST_IF)
            assume_known(p, &at, scope.stmt->u.cond.cond, !scope.otherwise);
        if (scope.stmt->kind != ST_FOR)
            continue;
        const ForStmt *loop = &scope.stmt->u.loop;
        loops[n] = unit->absent[n] ? affine_const(0)
                   : n < n_shared  ? know_loop(p, &at.env, loop, shared[n])
                                   : enter_loop(p, &at.env, loop, false);
        n++;
    }
    at.loops = loops;
    if (unit->block->predicate)
        assume_known(p, &at, unit->block->predicate, true);
    enter_iters(p, &at);
    return at;
}

const Affine *instance_index(Poly *p, const Instance *at, const Touch *touch)
{
    Env env = {0};
    for (int i = 0; i < at->env.n; i++)
        VEC_PUSH(p->ctx->arena, &env, at->env.items[i]);
    for (int i = 0; i < touch->n_inner; i++)
        model_enter_scope(p, &env, touch->inner[i], false);
    int rank = touch->buffer->rank;
    Affine *index = ARENA_ARRAY(p->ctx->arena, Affine, rank);
    for (int i = 0; i < rank; i++) {
        bool before = p->inexact;
        p->inexact = false;
        index[i] = poly_value(p, &env, touch->index[i]);
        if (p->inexact) {
            poly_row(p, &p->top, index[i], false);
            poly_at_most(p, &p->top, index[i], poly_value(p, &p->fixed, touch->buffer->shape[i]),
                         -1);
        }
        p->inexact |= before;
    }
    return index;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

int units_common(const Unit *a, const Unit *b)
{
    int n = 0;
    while (n < a->n_time && n < b->n_time && a->loops[n] == b->loops[n])
        n++;
    return n;
}

bool instance_before(Poly *p, Conj *into, const Instance *a, const Instance *b, int level)
{
    int common = units_common(a->unit, b->unit);
    if (level == common && a->unit->order >= b->unit->order)
        return false;
    for (int i = 0; i < level && i < common; i++)
        poly_equal(p, into, a->loops[i], b->loops[i]);
    if (level == common)
        return true;
    bool up = a->unit->loops[level]->step > 0;
    const Affine *first = up ? &a->loops[level] : &b->loops[level];
    const Affine *then = up ? &b->loops[level] : &a->loops[level];
    poly_at_most(p, into, *first, *then, -1);
    return true;
}

bool touches_meet(const Touch *a, const Touch *b)
{
    if (a->buffer->id != b->buffer->id || !(a->writes || b->writes))
        return false;
    int64_t x, y;
    for (int i = 0; i < a->buffer->rank; i++)
        if (expr_is_const(a->index[i], &x) && expr_is_const(b->index[i], &y) && x != y)
            return false;
    return true;
}

bool touches_commute(const Touch *a, const Touch *b)
{
    return a->writes && b->writes && a->reads && b->reads && a->op == b->op;
}

void instances_collide(Poly *p, const Instance *a, const Touch *x, const Instance *b,
                       const Touch *y)
{
    const Affine *at_x = instance_index(p, a, x), *at_y = instance_index(p, b, y);
    for (int i = 0; i < x->buffer->rank; i++)
        poly_equal(p, &p->top, at_x[i], at_y[i]);
}
