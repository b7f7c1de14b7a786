/* model.c - from a tree to units and touches: what runs there, when, and what it accesses. See
 * model.h. */
#include "passes/analysis/model.h"

#include "passes/analysis/inits.h"
#include "passes/analysis/region.h"

/* ---- collecting the touches of a block ------------------------------------------------------- */

static const Enclosing *copy_path(const Walker *w)
{
    Enclosing *copy = ARENA_ARRAY(w->ctx->arena, Enclosing, w->path.n);
    for (int i = 0; i < w->path.n; i++)
        copy[i] = w->path.items[i];
    return copy;
}

/* The walk goes through a body of the unit. */
static void add_touch(Walker *w, Touch touch)
{
    Unit *unit = w->user;
    touch.inner = copy_path(w);
    touch.n_inner = w->path.n;
    VEC_PUSH(w->ctx->arena, &unit->touches, touch);
}

static void touch_expr(Walker *w, Expr *e);

/* What is only evaluated where `cond` holds (or does not), as under an if. */
static void touch_under(Walker *w, Expr *cond, bool holds, Expr *e)
{
    int depth = w->path.n;
    if (!expr_has_load(e))
        return;
    Context *c = w->ctx;
    const Stmt *branch = stmt_if(c, cond, stmt_seq(c, NULL, 0, cond->span), NULL, cond->span);
    VEC_PUSH(c->arena, &w->path, ((Enclosing){branch, !holds}));
    touch_expr(w, e);
    w->path.n = depth;
}

/* The loads of an expression; the arms of ?: and the right sides of && and || only where they are
 * evaluated. */
static void touch_expr(Walker *w, Expr *e)
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
    for (int i = 0; i < expr_operands(e); i++)
        touch_expr(w, expr_operand(e, i));
    if (e->kind == EX_LOAD)
        add_touch(w, (Touch){.buffer = e->u.load.buffer,
                             .index = e->u.load.index,
                             .reads = true,
                             .span = e->span});
}

static void touch_store(Walker *w, const Stmt *s)
{
    const Unit *unit = w->user;
    bool atomic = s->u.store.atomic || (unit->block->atomic && !unit->init);
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

static bool touch_stmt(Walker *w, Stmt *s)
{
    if (s->kind == ST_FOR) {
        touch_expr(w, s->u.loop.lo);
        touch_expr(w, s->u.loop.hi);
    }
    if (s->kind == ST_IF)
        touch_expr(w, s->u.cond.cond);
    if (s->kind == ST_STORE)
        touch_store(w, s);
    if (s->kind == ST_LET)
        touch_expr(w, s->u.let.value);
    return true;
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

/* Collecting the units of a model. */
typedef struct {
    Model *model;
    int32_t order;
    VEC(int) starts; /* the places in the text where the loops of the path start */
} Units;

/* The loops and ifs from the kernel's body down to a block of the tree. */
static StmtPath whole_path(const Walker *w, Stmt *block)
{
    Arena *arena = w->ctx->arena;
    const EnclosingList *outer = &((Units *)w->user)->model->outer;
    StmtPath path = {0};
    for (int i = 0; i < outer->n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)outer->items[i].stmt);
    for (int i = 0; i < w->path.n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)w->path.items[i].stmt);
    VEC_PUSH(arena, &path, block);
    return path;
}

/* Does the init of the block run below the root? Not where the reduction begins further out. */
static bool init_is_inside(const Walker *w, Stmt *block)
{
    StmtPath path = whole_path(w, block);
    return reduction_start(w->ctx, &path) >= ((Units *)w->user)->model->outer.n;
}

/* An init is ordered by the loops outside the one that it stands before, and stands where that loop
 * does; behind those of blocks that come before its own. */
static void place_init(const Walker *w, Unit *u, Stmt *block)
{
    const Units *units = w->user;
    StmtPath path = whole_path(w, block);
    for (int i = 0, at = units->model->outer.n; i < u->n_loops; at++) {
        if (path.items[at]->kind != ST_FOR)
            continue;
        if (reduction_starts_at(w->ctx, u->block, &path, at)) {
            u->n_time = i;
            u->order = ((int64_t)units->starts.items[i] << 32) + units->order;
            break;
        }
        i++;
    }
    for (int i = u->n_time; i < u->n_loops; i++)
        u->absent[i] = !iters_use(u->block, u->loops[i]->var, true);
}

static void touch_unit(Context *c, Unit *u)
{
    Walker w = {.ctx = c, .user = u, .stmt = touch_stmt};
    if (!u->init) {
        touch_expr(&w, u->block->predicate);
        for (int i = 0; i < u->block->n_iters; i++)
            touch_expr(&w, u->block->iters[i].binding);
    }
    walk_stmt(&w, u->init ? u->block->init : u->block->body);
    u->idempotent = !reads_own_writes(u);
}

static void add_unit(Walker *w, Stmt *s, bool init)
{
    Arena *arena = w->ctx->arena;
    Units *units = w->user;
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
    u->order = (int64_t)units->order++ << 32;
    if (init)
        place_init(w, u, s);
    for (int i = 0; i < u->n_loops; i++)
        u->repeats |= !u->absent[i] && !iters_use(u->block, u->loops[i]->var, init);
    touch_unit(w->ctx, u);
    VEC_PUSH(arena, &units->model->units, u);
}

static bool collect_units(Walker *w, Stmt *s)
{
    Units *units = w->user;
    if (s->kind == ST_FOR) {
        units->starts.n = 0;
        for (int i = 0; i < w->path.n; i++)
            units->starts.n += w->path.items[i].stmt->kind == ST_FOR;
        VEC_PUSH(w->ctx->arena, &units->starts, units->order++);
    }
    if (s->kind == ST_BLOCK && s->u.block.init && init_is_inside(w, s))
        add_unit(w, s, true);
    if (s->kind == ST_BLOCK)
        add_unit(w, s, false);
    if (s->kind == ST_TEMP)
        VEC_PUSH(w->ctx->arena, &units->model->inside, s->u.temp);
    return true;
}

Model *model_new(Context *c, const Kernel *kernel, const Stmt *root, Stmt *tree)
{
    Model *m = ARENA_NEW(c->arena, Model);
    m->ctx = c;
    m->kernel = kernel;
    m->root = root;
    stmt_enclosing(c, kernel->body, root, &m->outer);
    Units units = {.model = m};
    Walker w = {.ctx = c, .user = &units, .stmt = collect_units};
    walk_stmt(&w, tree);
    model_index_touches(m);
    return m;
}
