/* thread_groups.c - Splits a thread loop whose lanes reduce in groups, and joins what comes out.
 *
 *   for lane in 64 bind threadIdx.x            for lane_group in 16 bind threadIdx.x
 *       for j in 8                                 for lane in 4 bind threadIdx.x
 *           block y(i in 16 = lane / 4,    <=>         for j in 8
 *                   reduce k in 32                         block y(i in 16 = lane_group,
 *                       = j * 4 + lane % 4)                        reduce k in 32 = j * 4 + lane)
 *
 * Groups of W lanes, a power of two within a warp, have one element each: spatial iterators speak
 * of lane / W, and those of the reduction of lane % W. The accumulators of tensor cores are spread
 * like this: 4 lanes hold a row. On the right the inner loop alone carries the reduction, and it is
 * taken apart like any other; the nests that come out of that are joined to loops of all lanes. */
#include "passes/analysis/threads/launch.h"
#include "passes/shared/threads/thread_reduction.h"

/* ---- substitution ---------------------------------------------------------------------------- */

/* What becomes of variables, in heads of statements, and what is known of the new ones. */
typedef struct {
    Facts *facts;
    const Subst *map;
    int n;
} NewTerms;

static bool speaks_of(const NewTerms *by, const Expr *e)
{
    for (int i = 0; i < by->n; i++)
        if (expr_uses_var(e, by->map[i].var))
            return true;
    return false;
}

static Expr *in_new_terms(Context *c, const NewTerms *by, Expr *e)
{
    return speaks_of(by, e) ? simplify(by->facts, expr_subst(c, e, by->map, by->n)) : e;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A loop of lanes as a group, and a lane of it. */
typedef struct {
    Var *group, *lane;
    int64_t extent, width;
} Groups;

static Facts *facts_of_groups(Context *c, const Groups *g)
{
    Facts *f = facts_new(c);
    facts_range(f, g->group, expr_index(c, 0), expr_index(c, g->extent / g->width));
    facts_range(f, g->lane, expr_index(c, 0), expr_index(c, g->width));
    return f;
}

static Subst lane_of(Context *c, const Groups *g, Var *all)
{
    Expr *first = index_mul(c, expr_var(c, g->group, all->span), expr_index(c, g->width));
    return (Subst){all, index_add(c, first, expr_var(c, g->lane, all->span))};
}

/* No iterator of the kind speaks of `var` in the terms of groups. */
static bool iters_without(Context *c, const BlockStmt *block, IterKind kind, const Var *var,
                          const NewTerms *by)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == kind &&
            expr_uses_var(in_new_terms(c, by, block->iters[i].binding), var))
            return false;
    return true;
}

/* The lanes of the loop have the same element in groups of as many. */
static bool is_width(Context *c, const BlockStmt *block, const ForStmt *loop, Groups g)
{
    Subst map = lane_of(c, &g, loop->var);
    NewTerms by = {facts_of_groups(c, &g), &map, 1};
    return iters_without(c, block, ITER_SPATIAL, g.lane, &by) &&
           iters_without(c, block, ITER_REDUCE, g.group, &by);
}

int64_t reduction_group(Context *c, const BlockStmt *block, const Stmt *lanes)
{
    const ForStmt *loop = &lanes->u.loop;
    Groups g = {0};
    if (loop->axis != AXIS_THREAD_X || !loop_counts_from_zero(loop) ||
        !loop_const_extent(loop, &g.extent) || !lanes_fill_warps(g.extent))
        return 0;
    g.group = var_new(c, loop->var->name, DT_INDEX, VAR_LOOP, loop->var->span);
    g.lane = var_new(c, loop->var->name, DT_INDEX, VAR_LOOP, loop->var->span);
    int64_t most = g.extent < WARP ? g.extent : WARP;
    for (g.width = most; g.width > 1; g.width /= 2)
        if (is_width(c, block, loop, g))
            return g.width;
    return 0;
}

/* ---- to groups ------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    NewTerms by;
} Renaming;

static Expr *rename_expr(void *user, Expr *e)
{
    const Renaming *r = user;
    return in_new_terms(r->c, &r->by, e);
}

static Stmt *rename_heads(void *user, Stmt *s)
{
    const Renaming *r = user;
    return stmt_map_children(r->c, stmt_map_exprs(r->c, s, rename_expr, user), rename_heads, user);
}

static ForStmt over(Context *c, const ForStmt *like, Var *var, int64_t extent)
{
    ForStmt loop = *like;
    loop.var = var;
    loop.hi = expr_index(c, extent);
    return loop;
}

void reduction_split_groups(Apart *a, int64_t width)
{
    Context *c = a->c;
    const Stmt *old = a->lanes;
    const ForStmt *loop = &old->u.loop;
    Groups g = {.width = width};
    loop_const_extent(loop, &g.extent);
    a->groups = (LaneGroups){
        .of = loop->var,
        .name = names_fresh(&a->names, ctx_namef(c, "%s_group", loop->var->name)),
        .lane = names_fresh(&a->names, loop->var->name),
        .extent = g.extent,
        .width = width,
    };
    g.group = var_new(c, a->groups.name, DT_INDEX, VAR_LOOP, loop->var->span);
    g.lane = var_new(c, a->groups.lane, DT_INDEX, VAR_LOOP, loop->var->span);
    Subst map = lane_of(c, &g, loop->var);
    Renaming r = {c, {facts_of_groups(c, &g), &map, 1}};
    ForStmt groups = over(c, loop, g.group, g.extent / width), lanes = over(c, loop, g.lane, width);
    lanes.id = ctx_new_id(c);
    lanes.body = rename_heads(&r, loop->body);
    Stmt *inner = stmt_stamp(stmt_for(c, &lanes, old->span), old);
    groups.body = inner;
    Stmt *outer = stmt_stamp(stmt_for(c, &groups, old->span), old);
    uint32_t block = a->block->id;
    a->kernel = kernel_with_body(c, a->kernel, stmt_replace(c, a->kernel->body, old, outer));
    a->path = (StmtPath){0};
    a->block = &stmt_find(c, a->kernel->body, block, &a->path)->u.block;
    a->lanes = inner;
}

/* ---- back to lanes --------------------------------------------------------------------------- */

/* The loops of a nest that become one of all lanes. */
typedef struct {
    const Apart *a;
    Var *all;        /* its variable */
    SubstList terms; /* those of the others, by it */
} Joining;

/* One of the two loops, or a copy of it, which has its name. */
static bool is_named(const Stmt *s, Name name)
{
    return s->kind == ST_FOR && s->u.loop.var->name == name;
}

static bool is_part(const Apart *a, const Stmt *s)
{
    return is_named(s, a->groups.name) || is_named(s, a->groups.lane);
}

static void join_loop(Joining *j, const Stmt *s)
{
    Context *c = j->a->c;
    Expr *all = expr_var(c, j->all, s->span), *width = expr_index(c, j->a->groups.width);
    Expr *value =
        is_named(s, j->a->groups.name) ? index_div(c, all, width) : index_mod(c, all, width);
    VEC_PUSH(c->arena, &j->terms, ((Subst){s->u.loop.var, value}));
}

static Stmt *join_inner(void *user, Stmt *s)
{
    Joining *j = user;
    if (!is_part(j->a, s))
        return stmt_map_children(j->a->c, s, join_inner, user);
    join_loop(j, s);
    return join_inner(user, s->u.loop.body);
}

static Stmt *join(void *user, Stmt *s)
{
    const Apart *a = user;
    Context *c = a->c;
    if (!is_part(a, s))
        return stmt_map_children(c, s, join, user);
    ForStmt loop = s->u.loop;
    Joining j = {.a = a, .all = var_new(c, a->groups.of->name, DT_INDEX, VAR_LOOP, loop.var->span)};
    join_loop(&j, s);
    Stmt *body = join_inner(&j, loop.body);
    loop = over(c, &loop, j.all, a->groups.extent);
    Renaming r = {c, {facts_new(c), j.terms.items, j.terms.n}};
    facts_range(r.by.facts, loop.var, loop.lo, loop.hi);
    loop.body = rename_heads(&r, body);
    return stmt_stamp(stmt_for(c, &loop, s->span), s);
}

Kernel *reduction_join_groups(const Apart *a, Kernel *kernel)
{
    return kernel_with_body(a->c, kernel, join((void *)a, kernel->body));
}
