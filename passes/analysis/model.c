/* model.c - from a tree to units and touches: what runs there, when, and what it accesses. See model.h. */
#include "passes/analysis/model.h"

#include "passes/analysis/inits.h"
#include "passes/analysis/region.h"

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

/* Does the init of the block run below the root? Not where the reduction begins further out. */
static bool init_is_inside(const Walk *w, Stmt *block)
{
    StmtPath path = whole_path(w, block);
    return reduction_start(w->model->ctx, &path) >= w->model->outer.n;
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
        if (s->u.block.init && init_is_inside(w, s))
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

Model *model_new(Context *c, const Kernel *kernel, const Stmt *root, Stmt *tree)
{
    Model *m = ARENA_NEW(c->arena, Model);
    m->ctx = c;
    m->kernel = kernel;
    m->root = root;
    find_root(m, kernel->body, root);
    Walk w = {.model = m};
    walk_tree(&w, tree, NULL, 0);
    model_index_touches(m);
    return m;
}
