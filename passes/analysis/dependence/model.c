/* model.c - from a tree to units and touches: what runs there, when, and what it accesses. See
 * model.h. */
#include "passes/analysis/dependence/model.h"

#include "passes/analysis/regions/inits.h"
#include "passes/analysis/regions/region.h"

/* ---- collecting the touches of a block ------------------------------------------------------- */

static const Enclosing *copy_path(Context *c, const EnclosingList *path)
{
    Enclosing *copy = ARENA_ARRAY(c->arena, Enclosing, path->n);
    for (int i = 0; i < path->n; i++)
        copy[i] = path->items[i];
    return copy;
}

/* Collecting the touches of a unit. */
typedef struct {
    Context *c;
    Unit *unit;
    EnclosingList *path; /* in the block, around the place at work */
} Toucher;

static void add_touch(Toucher *t, Touch touch)
{
    touch.inner = copy_path(t->c, t->path);
    touch.n_inner = t->path->n;
    VEC_PUSH(t->c->arena, &t->unit->touches, touch);
}

static void touch_expr(Toucher *t, Expr *e);

/* What is only evaluated where `cond` holds (or does not), as under an if. */
static void touch_under(Toucher *t, Expr *cond, bool holds, Expr *e)
{
    Context *c = t->c;
    if (!expr_has_load(e))
        return;
    const Stmt *branch = stmt_if(c, cond, stmt_seq(c, NULL, 0, cond->span), NULL, cond->span);
    VEC_PUSH(c->arena, t->path, ((Enclosing){branch, !holds}));
    touch_expr(t, e);
    t->path->n--;
}

/* The loads of an expression; the arms of ?: and the right sides of && and || only where they are
 * evaluated. */
static void touch_expr(Toucher *t, Expr *e)
{
    if (!e || !expr_has_load(e))
        return;
    if (e->kind == EX_SELECT || e->kind == EX_AND || e->kind == EX_OR) {
        touch_expr(t, e->u.arg[0]);
        touch_under(t, e->u.arg[0], e->kind != EX_OR, e->u.arg[1]);
        if (e->kind == EX_SELECT)
            touch_under(t, e->u.arg[0], false, e->u.arg[2]);
        return;
    }
    for (int i = 0; i < expr_operands(e); i++)
        touch_expr(t, expr_operand(e, i));
    if (e->kind == EX_LOAD)
        add_touch(t, (Touch){.buffer = e->u.load.buffer,
                             .index = e->u.load.index,
                             .reads = true,
                             .span = e->span});
}

static void touch_store(Toucher *t, const Stmt *s)
{
    const Unit *unit = t->unit;
    bool atomic = s->u.store.atomic || (unit->block->atomic && !unit->init);
    touch_expr(t, s->u.store.value);
    for (int i = 0; i < s->u.store.buffer->rank; i++)
        touch_expr(t, s->u.store.index[i]);
    add_touch(t, (Touch){.buffer = s->u.store.buffer,
                         .index = s->u.store.index,
                         .writes = true,
                         .reads = store_updates(s->u.store.op),
                         .op = s->u.store.op,
                         .atomic = atomic,
                         .span = s->span});
}

static void touch_stmt(Toucher *t, const Stmt *s)
{
    if (s->kind == ST_FOR) {
        touch_expr(t, s->u.loop.lo);
        touch_expr(t, s->u.loop.hi);
    }
    if (s->kind == ST_IF)
        touch_expr(t, s->u.cond.cond);
    if (s->kind == ST_STORE)
        touch_store(t, s);
    if (s->kind == ST_LET)
        touch_expr(t, s->u.let.value);
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
    VEC(int) starts;           /* the places in the text where the loops of the path start */
    const EnclosingList *path; /* around the statement at work */
} Units;

/* The loops and ifs from the kernel's body down to a block of the tree. */
static StmtPath whole_path(const Units *units, Stmt *block)
{
    Arena *arena = units->model->ctx->arena;
    const EnclosingList *outer = &units->model->outer;
    StmtPath path = {0};
    for (int i = 0; i < outer->n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)outer->items[i].stmt);
    for (int i = 0; i < units->path->n; i++)
        VEC_PUSH(arena, &path, (Stmt *)(uintptr_t)units->path->items[i].stmt);
    VEC_PUSH(arena, &path, block);
    return path;
}

/* Does the init of the block run below the root? Not where the reduction begins further out. */
static bool init_is_inside(const Units *units, Stmt *block)
{
    StmtPath path = whole_path(units, block);
    return reduction_start(units->model->ctx, &path) >= units->model->outer.n;
}

/* An init is ordered by the loops outside the one that it stands before, and stands where that loop
 * does; behind those of blocks that come before its own. */
static void place_init(const Units *units, Unit *u, Stmt *block)
{
    StmtPath path = whole_path(units, block);
    for (int i = 0, at = units->model->outer.n; i < u->n_loops; at++) {
        if (path.items[at]->kind != ST_FOR)
            continue;
        if (reduction_starts_at(units->model->ctx, u->block, &path, at)) {
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
    EnclosingList nothing = {0};
    Toucher t = {c, u, &nothing};
    if (!u->init) {
        touch_expr(&t, u->block->predicate);
        for (int i = 0; i < u->block->n_iters; i++)
            touch_expr(&t, u->block->iters[i].binding);
    }
    Stmt *body = u->init ? u->block->init : u->block->body;
    for (Cursor at = cursor_with_path(cursor_outer(c, body), NULL); cursor_next(&at);) {
        t.path = &at.path;
        touch_stmt(&t, at.stmt);
    }
    u->idempotent = !reads_own_writes(u);
}

static void add_unit(Units *units, Stmt *s, bool init)
{
    Context *c = units->model->ctx;
    Arena *arena = c->arena;
    const EnclosingList *path = units->path;
    Unit *u = ARENA_NEW(arena, Unit);
    u->stmt = s;
    u->block = &s->u.block;
    u->init = init;
    u->scopes = copy_path(c, path);
    u->n_scopes = path->n;
    u->loops = ARENA_ARRAY(arena, const ForStmt *, path->n);
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_FOR)
            u->loops[u->n_loops++] = &path->items[i].stmt->u.loop;
    u->absent = ARENA_ARRAY(arena, bool, u->n_loops);
    u->n_time = u->n_loops;
    u->order = (int64_t)units->order++ << 32;
    if (init)
        place_init(units, u, s);
    for (int i = 0; i < u->n_loops; i++)
        u->repeats |= !u->absent[i] && !iters_use(u->block, u->loops[i]->var, init);
    touch_unit(c, u);
    VEC_PUSH(arena, &units->model->units, u);
}

static void collect_units(Units *units, Stmt *s)
{
    Arena *arena = units->model->ctx->arena;
    if (s->kind == ST_FOR) {
        units->starts.n = 0;
        for (int i = 0; i < units->path->n; i++)
            units->starts.n += units->path->items[i].stmt->kind == ST_FOR;
        VEC_PUSH(arena, &units->starts, units->order++);
    }
    if (s->kind == ST_BLOCK && s->u.block.init && init_is_inside(units, s))
        add_unit(units, s, true);
    if (s->kind == ST_BLOCK)
        add_unit(units, s, false);
    if (s->kind == ST_TEMP)
        VEC_PUSH(arena, &units->model->inside, s->u.temp);
}

Model *model_new(Context *c, const Kernel *kernel, const Stmt *root, Stmt *tree)
{
    Model *m = ARENA_NEW(c->arena, Model);
    m->ctx = c;
    m->kernel = kernel;
    m->root = root;
    stmt_enclosing(c, kernel->body, root, &m->outer);
    Units units = {.model = m};
    for (Cursor at = cursor_with_path(cursor_outer(c, tree), NULL); cursor_next(&at);) {
        units.path = &at.path;
        collect_units(&units, at.stmt);
    }
    model_index_touches(m);
    return m;
}
