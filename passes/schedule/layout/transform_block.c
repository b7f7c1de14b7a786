/* transform_block.c - Implements transform_block_layout: replaces the iterators of a block by the
 * outputs of an index map.
 *
 *   transform_block_layout(y, [i, j] -> [i / 4, j, i % 4]):
 *
 *   for i in 8, j in 6            for i in 2, j in 6, i_1 in 4
 *       y[i, j] = ...      =>         y[i * 4 + i_1, j] = ...
 *
 * The map has to tell the iterations apart; the formula for the way back (relation.h) is what the
 * body then says in the place of its old iterators. Places of the new space that no iteration comes
 * to are left out by a condition. That each instance still runs exactly once, and after those that
 * it depends on, is asked of the same nest with the old iterators bound to the way back, where
 * instances can be told by their iterators.
 *
 * Legal: the map tells the iterations apart, and there is a formula for the way back.
 * Invariant: every instance runs exactly once, and after those that it depends on. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    const IndexMap *map;
    StmtPath *path;
    Stmt *stmt;      /* the block */
    Stmt *top;       /* the outermost of its loops */
    PointBox points; /* its iterations, in its iterators */
    Expr **to;       /* [n_to] the map's outputs, in its iterators */
    Expr **extent;   /* [n_to] */
    IterKind *kind;  /* [n_to] */
    ForStmt *loops;  /* [n_to] the new ones */
    Expr **back;     /* [n_iters] the old iterators, in the new loops' variables */
    Expr *where;     /* which places of the new space are iterations; NULL: all */
} Transform;

/* ---- the block as it is ---------------------------------------------------------------------- */

/* The loop of the innermost n on the path that iterator `i` is bound to, or -1: bindings are loops,
 * over the same range. */
static int loop_of(const Transform *t, int i)
{
    const BlockStmt *block = &t->stmt->u.block;
    const BlockIter *iter = &block->iters[i];
    int n = block->n_iters;
    for (int k = 0; k < n && t->path->n > n; k++) {
        const Stmt *loop = t->path->items[t->path->n - 1 - n + k];
        if (loop->kind != ST_FOR || !expr_is_var(iter->binding, loop->u.loop.var))
            continue;
        Context *c = t->s->ctx;
        bool same = loop->u.loop.step == 1 && loop->u.loop.kind == LOOP_SERIAL &&
                    loop->u.loop.annotations.n == 0 &&
                    expr_equal(loop->u.loop.lo, iters_to_loops(c, block, iter->lo)) &&
                    expr_equal(loop->u.loop.hi, iters_to_loops(c, block, iter->hi));
        return same ? k : -1;
    }
    return -1;
}

static bool check_block(Transform *t)
{
    Schedule *s = t->s;
    const BlockStmt *block = &t->stmt->u.block;
    Span span = t->call->transform_block_layout.block.span;
    REQUIRE(s, E0901, t->call->transform_block_layout.index_map.span,
            t->map->n_from == block->n_iters,
            "block '%s' has %d iterator%s, but the index map takes %d", block->name, block->n_iters,
            block->n_iters == 1 ? "" : "s", t->map->n_from);
    REQUIRE(s, E0905, span, !block->predicate,
            "block '%s' has a condition on loops that the step would remove; transform it before "
            "its loops are split",
            block->name);
    for (int i = 0; i < block->n_iters; i++) {
        bool own = loop_of(t, i) >= 0;
        for (int k = 0; k < i && own; k++)
            own = loop_of(t, k) != loop_of(t, i);
        REQUIRE(s, E0905, span, own,
                "iterator '%s' of block '%s' is '%s', which is not one of the %d loops around this "
                "block alone, serial with step 1 and with the iterator's range; transform the "
                "block before its loops are split, reordered with others or bound",
                block->iters[i].var->name, block->name, expr_text(s->ctx, block->iters[i].binding),
                block->n_iters);
    }
    t->top = t->path->items[t->path->n - 1 - block->n_iters];
    return true;
}

static void read_points(Transform *t)
{
    Context *c = t->s->ctx;
    t->points = block_points(c, &t->stmt->u.block);
    t->to = index_map_apply(c, t->map, exprs_of_vars(c, t->points.var, t->points.n));
}

/* Whether the range of iterator i is empty, other iterators do not decide. */
static bool is_fixed(const BlockStmt *block, int i)
{
    const BlockIter *iter = &block->iters[i];
    int64_t lo, hi;
    bool fixed = !expr_is_const(iter->lo, &lo) || !expr_is_const(iter->hi, &hi) || lo < hi;
    for (int k = 0; k < i; k++)
        fixed &= !expr_uses_var(iter->lo, block->iters[k].var) &&
                 !expr_uses_var(iter->hi, block->iters[k].var);
    return fixed;
}

/* An init runs for elements without any update, too, of which no iteration tells: no part of the
 * reduction may be empty while others are not. */
static bool check_inits(const Transform *t)
{
    Context *c = t->s->ctx;
    const BlockStmt *block = &t->stmt->u.block;
    Facts *f = facts_of_kernel(c, t->s->kernel);
    for (int i = 0; i < block->n_iters && block->init; i++) {
        const BlockIter *iter = &block->iters[i];
        REQUIRE(t->s, E0907, t->call->span,
                iter->kind != ITER_REDUCE || is_fixed(block, i) ||
                    prove_compare(f, iter->lo, EX_LT, iter->hi),
                "some elements of block '%s' may have an empty range of '%s', and the new loops "
                "might skip their init; use decompose_reduction first",
                block->name, iter->var->name);
        facts_range(f, iter->var, iter->lo, iter->hi);
    }
    return true;
}

/* ---- the new space --------------------------------------------------------------------------- */

static bool find_kinds(Transform *t)
{
    const BlockStmt *block = &t->stmt->u.block;
    t->kind = ARENA_ARRAY(t->s->ctx->arena, IterKind, t->map->n_to + 1);
    for (int k = 0; k < t->map->n_to; k++) {
        const BlockIter *of_kind[2] = {NULL, NULL};
        for (int i = 0; i < block->n_iters; i++)
            if (expr_uses_var(t->to[k], block->iters[i].var))
                of_kind[block->iters[i].kind == ITER_REDUCE] = &block->iters[i];
        REQUIRE(
            t->s, E0906, t->call->transform_block_layout.index_map.span, !of_kind[0] || !of_kind[1],
            "output %d of the index map, '%s', mixes the spatial iterator '%s' with the "
            "reduction iterator '%s'",
            k, expr_text(t->s->ctx, t->map->to[k]), of_kind[0]->var->name, of_kind[1]->var->name);
        t->kind[k] = of_kind[1] ? ITER_REDUCE : ITER_SPATIAL;
    }
    return true;
}

static bool find_extents(Transform *t)
{
    Context *c = t->s->ctx;
    Facts *f = facts_of_kernel(c, t->s->kernel);
    t->extent = ARENA_ARRAY(c->arena, Expr *, t->map->n_to + 1);
    facts_points(f, &t->points);
    int wrong = box_of(f, &t->points, t->to, t->map->n_to, t->extent);
    REQUIRE(t->s, E0902, t->call->transform_block_layout.index_map.span, wrong < 0,
            "output %d of the index map, '%s', is negative or unbounded for some iteration of "
            "block '%s'",
            wrong, expr_text(t->s->ctx, t->map->to[wrong]), t->stmt->u.block.name);
    return true;
}

/* A name for output k: of the iterator that it is, or of the first that it is made of. */
static Name name_of(const Transform *t, int k)
{
    const BlockStmt *block = &t->stmt->u.block;
    for (int i = 0; i < block->n_iters; i++)
        if (expr_uses_var(t->to[k], block->iters[i].var))
            return block->iters[i].var->name;
    return ctx_name(t->s->ctx, "u");
}

/* No loop outside or in the block, no new loop before number k, and nothing else of the kernel has
 * the name; the loops between go. */
static bool is_free(const Transform *t, Name name, int k)
{
    const NameUse *use = state_name(t->s, name);
    bool taken = use && use->others > 0;
    for (int i = 0; i < t->path->n && t->path->items[i] != t->top; i++)
        taken |= t->path->items[i]->kind == ST_FOR && t->path->items[i]->u.loop.var->name == name;
    for (int i = 0; i < k; i++)
        taken |= t->loops[i].var->name == name;
    StmtList inner = stmts_of_kind(t->s->ctx, t->stmt->u.block.body, ST_FOR);
    for (int i = 0; i < inner.n; i++)
        taken |= inner.items[i]->u.loop.var->name == name;
    return !taken;
}

static void make_loops(Transform *t)
{
    Context *c = t->s->ctx;
    t->loops = ARENA_ARRAY(c->arena, ForStmt, t->map->n_to + 1);
    for (int k = 0; k < t->map->n_to; k++) {
        Name base = name_of(t, k), name = base;
        for (int i = 1; !is_free(t, name, k); i++)
            name = ctx_namef(c, "%.32s_%d", base, i);
        t->loops[k] = flow_loop(t->s, name, expr_index(c, 0), t->extent[k]);
    }
}

/* ---- the way back ---------------------------------------------------------------------------- */

static bool refuse_back(const Transform *t, const Relation *back)
{
    const char *clash = NULL;
    Tells tells = relation_tells(t->s->ctx, back, &clash);
    const BlockStmt *block = &t->stmt->u.block;
    Span span = t->call->transform_block_layout.index_map.span;
    if (tells == TELLS_NOT)
        return sched_refuse(
            t->s, E0903, span,
            "the index map is not injective; it maps two iterations of block '%s' to one place: %s",
            block->name, clash);
    return sched_refuse(t->s, E0903, span,
                        "for the iterators of block '%s' in the terms of the map's outputs there "
                        "is no one formula that tirc can find; the map has to be made of sums, "
                        "products with numbers, and quotients and remainders by numbers",
                        block->name);
}

/* Finds `back` and `where`. */
static bool find_back(Transform *t)
{
    Context *c = t->s->ctx;
    int n = t->points.n;
    Expr **iterators = exprs_of_vars(c, t->points.var, n);
    Var **place = ARENA_ARRAY(c->arena, Var *, t->map->n_to + 1);
    Facts *f = facts_of_kernel(c, t->s->kernel);
    for (int k = 0; k < t->map->n_to; k++) {
        place[k] = t->loops[k].var;
        facts_range(f, place[k], t->loops[k].lo, t->loops[k].hi);
    }
    t->back = ARENA_ARRAY(c->arena, Expr *, n + 1);
    if (!index_map_back(facts_of_kernel(c, t->s->kernel), &t->points, t->to, t->map->n_to, place,
                        t->back))
        return refuse_back(t, &(Relation){&t->points, t->to, iterators, t->map->n_to, n});
    for (int i = 0; i < n; i++)
        t->back[i] = simplify(f, t->back[i]);
    t->where = index_map_taken(f, t->map, &t->points, t->back, place);
    return true;
}

/* A condition of the block speaks of no loop, but of sizes, or never holds. */
static bool is_of_sizes(const Transform *t)
{
    ExprList conds = {0};
    if (t->where)
        cond_split(t->s->ctx, t->where, &conds);
    for (int i = 0; i < conds.n; i++) {
        bool of_loop = false;
        for (int k = 0; k < t->map->n_to; k++)
            of_loop |= expr_uses_var(conds.items[i], t->loops[k].var);
        if (!of_loop)
            return true;
    }
    return false;
}

/* Conditions without iterators of the reduction hold for the init, too. One that says that a range
 * is not empty has none, where no loop is left for that range. */
static bool check_empty(const Transform *t)
{
    const BlockStmt *block = &t->stmt->u.block;
    Facts *f = facts_of_kernel(t->s->ctx, t->s->kernel);
    for (int i = 0; i < block->n_iters && block->init; i++) {
        const BlockIter *iter = &block->iters[i];
        bool told = iter->kind != ITER_REDUCE || !is_fixed(block, i), lost = is_of_sizes(t);
        for (int k = 0; k < t->map->n_to && !told; k++)
            told = t->kind[k] == ITER_REDUCE && expr_uses_var(t->back[i], t->loops[k].var);
        told &= !(lost && iter->kind == ITER_REDUCE);
        REQUIRE(t->s, E0907, t->call->span, told || prove_compare(f, iter->lo, EX_LT, iter->hi),
                "the range of '%s' may be empty, and block '%s' would skip its init then; use "
                "decompose_reduction first",
                iter->var->name, block->name);
    }
    return true;
}

/* ---- the nest -------------------------------------------------------------------------------- */

static Stmt *under_loops(const Transform *t, Stmt *block)
{
    return stmt_in_loops(t->s->ctx, t->loops, t->map->n_to, block, t->stmt->span);
}

/* With the old iterators, bound to the way back. */
static Stmt *rebound(const Transform *t)
{
    BlockStmt block = t->stmt->u.block;
    BlockIter *iters = block_own_iters(t->s->ctx, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].binding = t->back[i];
    block.predicate = t->where;
    return under_loops(t, stmt_block(t->s->ctx, &block, t->stmt->span));
}

static bool reduces(const Transform *t)
{
    for (int k = 0; k < t->map->n_to; k++)
        if (t->kind[k] == ITER_REDUCE)
            return true;
    return false;
}

/* A reduction of one value, of which no iterator is left, is its init and its update in turn. */
static void merge_init(Context *c, BlockStmt *block)
{
    if (!block->init)
        return;
    VEC(Stmt *) items = {0};
    const Stmt *body = block->body;
    bool several = body->kind == ST_SEQ && !body->u.seq.combiner;
    VEC_PUSH(c->arena, &items, block->init);
    for (int i = 0; several && i < body->u.seq.n; i++)
        VEC_PUSH(c->arena, &items, body->u.seq.items[i]);
    if (!several)
        VEC_PUSH(c->arena, &items, block->body);
    block->body = stmt_seq(c, items.items, items.n, body->span);
    block->init = NULL;
}

static Expr *simplify_expr(void *facts, Expr *e)
{
    return simplify(facts, e);
}

static Stmt *simplify_exprs(Rewriter *r, Stmt *stmt)
{
    return stmt_map_exprs(r->ctx, stmt, simplify_expr, r->user);
}

/* A block keeps its statements where it, or a loop inside it that writes a buffer, provably never
 * runs: what it writes is not to look as if nothing wrote it. */
static Stmt *simplified(Context *c, Stmt *block)
{
    Facts *facts = facts_new(c);
    Stmt *simple = simplify_stmt(facts, block);
    AccessList writes = access_list(c, block, NULL, ACCESS_WRITE);
    for (int i = 0; i < writes.n; i++)
        if (!stmt_accesses(c, simple, writes.items[i].buffer, ACCESS_WRITE))
            return rewrite_stmt(&(Rewriter){c, facts, NULL, simplify_exprs}, block);
    return simple;
}

/* With iterators of its own for the outputs. */
static Stmt *transformed(const Transform *t)
{
    Context *c = t->s->ctx;
    BlockStmt block = t->stmt->u.block;
    int n = t->map->n_to;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, n + 1);
    Subst *places = ARENA_ARRAY(c->arena, Subst, n + 1);
    Subst *old = ARENA_ARRAY(c->arena, Subst, block.n_iters + 1);
    for (int k = 0; k < n; k++) {
        const ForStmt *loop = &t->loops[k];
        Var *var = var_new(c, loop->var->name, DT_INDEX, VAR_ITER, t->stmt->span);
        iters[k] =
            (BlockIter){var, loop->lo, loop->hi, expr_var(c, loop->var, span_none()), t->kind[k]};
        places[k] = (Subst){loop->var, expr_var(c, var, span_none())};
    }
    for (int i = 0; i < block.n_iters; i++)
        old[i] = (Subst){block.iters[i].var, expr_subst(c, t->back[i], places, n)};
    if (block.init)
        block.init = stmt_subst(c, block.init, old, block.n_iters);
    block.body = stmt_subst(c, block.body, old, block.n_iters);
    if (!reduces(t))
        merge_init(c, &block);
    block.iters = iters;
    block.n_iters = n;
    block.predicate = t->where;
    return under_loops(t, simplified(c, stmt_block(c, &block, t->stmt->span)));
}

static bool check_order(const Transform *t, Stmt *nest)
{
    Schedule *s = t->s;
    const BlockStmt *block = &t->stmt->u.block;
    Conflict why;
    const Kernel *kernel = sched_kernel_around(s, s->kernel, t->path);
    REQUIRE_KEPT(
        s, E0907, t->call->span,
        dependence_instances_kept(s->ctx, (Rewrite){kernel, t->top, nest}, block->id, &why) &&
            dependence_order_kept(s->ctx, (Rewrite){kernel, t->top, nest}, &s->reassociates, &why),
        &why, "block '%s' would not run as it does now: %s", block->name,
        why.reason ? why.reason : "dependent iterations are swapped");
    return true;
}

bool prim_transform_block_layout(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *block = sched_node(s, &call->transform_block_layout.block, &path);
    Transform t = {.s = s,
                   .call = call,
                   .map = call->transform_block_layout.index_map.u.map,
                   .path = &path,
                   .stmt = block};
    if (!check_block(&t))
        return false;
    read_points(&t);
    if (!check_inits(&t) || !find_kinds(&t) || !find_extents(&t))
        return false;
    make_loops(&t);
    if (!find_back(&t) || !check_empty(&t) || !check_order(&t, rebound(&t)))
        return false;
    Stmt *nest = transformed(&t);
    sched_replace(s, t.top, nest);
    Value *loops = ARENA_ARRAY(s->ctx->arena, Value, t.map->n_to + 1);
    for (int k = 0; k < t.map->n_to; k++, nest = nest->u.loop.body)
        loops[k] = value_loop(nest);
    *result = value_list(s, loops, t.map->n_to);
    return true;
}
