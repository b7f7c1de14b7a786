/* model.c - Builds the polyhedral model of a tree: its statements, when each runs, and what it
 * accesses. See model.h. */
#include "passes/analysis/dependence/model.h"

#include "passes/analysis/regions/inits.h"
#include "passes/analysis/regions/region.h"

/* The iterators that the unit has use the variable. */
static bool unit_uses_var(const Unit *u, const Var *var)
{
    return u->init ? block_uses_loop(u->block, ITER_SPATIAL, var) : block_uses_var(u->block, var);
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

/* An init is ordered by the loops outside the loop that it stands before. Its place in the text
 * is that of the loop, behind the inits of earlier blocks. */
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
        u->absent[i] = !unit_uses_var(u, u->loops[i]->var);
}

/* The two are of one element, wherever the unit runs, and do the same to it: both read it, or both
 * update it by one operator. Of plain stores each counts. */
static bool same_access(const Access *a, const Access *b)
{
    bool same = a->buffer == b->buffer && a->reads && b->reads && a->writes == b->writes &&
                a->op == b->op && a->combiner == b->combiner && a->atomic == b->atomic &&
                a->awaits == b->awaits && a->block == b->block && a->path.n == b->path.n;
    for (int i = 0; i < a->path.n && same; i++)
        same = a->path.items[i].stmt == b->path.items[i].stmt &&
               a->path.items[i].otherwise == b->path.items[i].otherwise;
    for (int d = 0; same && d < a->buffer->rank; d++)
        same = expr_equal(a->index[d], b->index[d]);
    return same;
}

/* Accesses that repeat one of so many before them are dropped. */
enum { LOOK_BACK = 16 };

/* A question about pairs of accesses takes an access once: the exchanges of a warp update one
 * element five times, and read it as often. */
static void drop_repeated(AccessList *list)
{
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        bool repeated = false;
        for (int k = n - 1; k >= 0 && k >= n - LOOK_BACK && !repeated; k--)
            repeated = same_access(&list->items[k], &list->items[i]);
        if (!repeated)
            list->items[n++] = list->items[i];
    }
    list->n = n;
}

/* How much of the path leads to the innermost branch, or loop, that the access is in. */
static int depth_of_branch(const Access *x)
{
    int n = x->path.n;
    while (n > 0 && x->path.items[n - 1].stmt->kind == ST_LET)
        n--;
    return n;
}

static bool is_plain_store(const Access *x)
{
    return x->writes && !x->reads && !x->atomic && x->op == STORE_SET && !x->combiner;
}

/* The two store to one element, in both branches of a condition. */
static bool in_both_branches(const Access *a, const Access *b)
{
    int n = depth_of_branch(a);
    if (n == 0 || n != depth_of_branch(b) || !is_plain_store(a) || !is_plain_store(b) ||
        a->buffer != b->buffer || a->path.items[n - 1].stmt->kind != ST_IF)
        return false;
    bool same = a->path.items[n - 1].otherwise != b->path.items[n - 1].otherwise;
    for (int i = 0; i < n && same; i++)
        same = a->path.items[i].stmt == b->path.items[i].stmt &&
               (i == n - 1 || a->path.items[i].otherwise == b->path.items[i].otherwise);
    for (int d = 0; same && d < a->buffer->rank; d++)
        same = expr_equal(a->index[d], b->index[d]);
    return same;
}

/* Adds what follows where both branches of a condition store to an element, whatever it is: a store
 * without it. */
static void join_branches(Context *c, AccessList *list)
{
    AccessList all = {0};
    for (int i = 0; i < list->n; i++) {
        VEC_PUSH(c->arena, &all, list->items[i]);
        for (int k = all.n - 2; k >= 0; k--) {
            Access last = all.items[all.n - 1];
            if (!in_both_branches(&all.items[k], &last))
                continue;
            last.path.n = depth_of_branch(&last) - 1;
            VEC_PUSH(c->arena, &all, last);
        }
    }
    *list = all;
}

static void collect_accesses(Context *c, Unit *u)
{
    const BlockStmt *block = u->block;
    if (!u->init && block->predicate)
        access_collect_expr(c, block->predicate, NULL, &u->accesses);
    for (int i = 0; i < block->n_iters && !u->init; i++)
        access_collect_expr(c, block->iters[i].binding, NULL, &u->accesses);
    access_collect(c, u->init ? block->init : block->body, NULL, ACCESS_ANY, &u->accesses);
    for (int i = 0; i < u->accesses.n && !u->init; i++)
        u->accesses.items[i].atomic |= block->atomic && u->accesses.items[i].writes;
    drop_repeated(&u->accesses);
    join_branches(c, &u->accesses);
}

const InnerBuffer *model_inner_buffer(const Model *m, const Buffer *buffer)
{
    for (int i = 0; i < m->inside.n; i++)
        if (m->inside.items[i].buffer->id == buffer->id)
            return &m->inside.items[i];
    return NULL;
}

/* The part of a block that a unit is. */
typedef enum { UNIT_INIT, UNIT_BODY } UnitPart;

static void add_unit(Units *units, Stmt *s, UnitPart part)
{
    Context *c = units->model->ctx;
    Arena *arena = c->arena;
    const EnclosingList *path = units->path;
    Unit *u = ARENA_NEW(arena, Unit);
    u->stmt = s;
    u->block = &s->u.block;
    u->init = part == UNIT_INIT;
    u->scopes = enclosing_copy(c, path);
    u->loops = ARENA_ARRAY(arena, const ForStmt *, path->n);
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_FOR)
            u->loops[u->n_loops++] = &path->items[i].stmt->u.loop;
    u->absent = ARENA_ARRAY(arena, bool, u->n_loops);
    u->n_time = u->n_loops;
    u->order = (int64_t)units->order++ << 32;
    if (u->init)
        place_init(units, u, s);
    collect_accesses(c, u);
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
        add_unit(units, s, UNIT_INIT);
    if (s->kind == ST_BLOCK)
        add_unit(units, s, UNIT_BODY);
    if (s->kind == ST_TEMP)
        VEC_PUSH(arena, &units->model->inside,
                 ((InnerBuffer){s->u.temp, enclosing_loops(units->model->ctx, units->path)}));
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
    model_index_accesses(m);
    return m;
}
