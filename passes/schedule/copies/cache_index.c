/* cache_index.c - Implements cache_index: computes repeated index arithmetic of a block once and
 * stores it.
 *
 *   for i in 8, j in 6                           at[i] = i * 3 % 8      for all i
 *       y[i, j] = x[i * 3 % 8, j];       =>      y[i, j] = x[at[i], j]
 *
 * Kept are subscripts of reads that multiply, divide, take remainders or convert floats, of the
 * block's iterators and sizes alone; each gets a buffer with those iterators for subscripts, as
 * wide as its values. Subscripts of what the block writes stay: with them in memory, nobody could
 * say any more that each element is written once. So do those by which an update reads what it
 * writes, and those of reads that decide ranges, which may only read inputs.
 *
 * Legal: the subscripts speak of iterators with literal domains and of sizes alone.
 * Invariant: every read has the subscript that it had. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/stage.h"

/* An expression, where it is used, and what keeps it. */
typedef struct {
    Expr *e;
    int uses;
    Buffer *buffer;
    Expr *const *index;
} Kept;

typedef struct {
    Schedule *s;
    const PrimCall *call;
    Stmt *stmt;
    Scope scope;
    VEC(Kept) kept;
    VEC(const Expr *) in_ranges; /* loads */
    bool collecting;             /* else replacing */
} Keeper;

/* ---- what is worth it ------------------------------------------------------------------------ */

/* It divides whole numbers by what may be 0 for some iteration. */
static bool may_divide_by_zero_here(Facts *facts, Expr *e)
{
    return (e->kind == EX_DIV || e->kind == EX_MOD) && !type_is_float(e->type) &&
           (e->type != DT_INDEX || !prove_at_least(facts, e->u.arg[1], 1));
}

/* The expression multiplies, divides or converts floats, and is made of iterators, at least one,
 * and sizes alone. */
static bool is_worth(const Keeper *k, Expr *e)
{
    Context *c = k->s->ctx;
    bool arithmetic = false, iter = false;
    Facts *facts = facts_of_kernel(c, k->s->kernel);
    PointBox points = stage_points(k->s, &k->stmt->u.block, &e, 1);
    facts_points(facts, &points);
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        ExprKind kind = at.expr->kind;
        bool own = kind == EX_VAR && block_iter(&k->stmt->u.block, at.expr->u.var);
        if (kind == EX_LOAD || (kind == EX_VAR && !own && at.expr->u.var->kind != VAR_SIZE) ||
            may_divide_by_zero_here(facts, at.expr))
            return false;
        iter |= own;
        arithmetic |= kind == EX_MUL || kind == EX_DIV || kind == EX_MOD ||
                      (kind == EX_CAST && type_is_float(at.expr->u.arg[0]->type));
    }
    return arithmetic && iter;
}

static Kept *find_kept(Keeper *k, const Expr *e)
{
    for (int i = 0; i < k->kept.n; i++)
        if (expr_equal(k->kept.items[i].e, e))
            return &k->kept.items[i];
    return NULL;
}

/* A subscript of a read. */
static Expr *visit_subscript(Keeper *k, Expr *e)
{
    Context *c = k->s->ctx;
    Kept *kept = find_kept(k, e);
    if (k->collecting && (kept || is_worth(k, e))) {
        if (!kept) {
            Kept one = {.e = e};
            VEC_PUSH(c->arena, &k->kept, one);
            kept = &k->kept.items[k->kept.n - 1];
        }
        kept->uses++;
    }
    if (k->collecting || !kept || !kept->buffer)
        return e;
    return expr_cast(c, DT_INDEX, expr_load(c, kept->buffer, kept->index, e->span), e->span);
}

static void add_loads(Keeper *k, const Expr *range)
{
    if (!range)
        return;
    for (Cursor at = cursor_expr(k->s->ctx, range); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD)
            VEC_PUSH(k->s->ctx->arena, &k->in_ranges, at.expr);
}

/* The loads in ranges of loops, in domains, and in predicates. */
static void find_ranges(Keeper *k)
{
    for (Cursor at = cursor_stmts(k->s->ctx, k->stmt); cursor_next(&at);) {
        if (at.stmt->kind == ST_FOR) {
            add_loads(k, at.stmt->u.loop.lo);
            add_loads(k, at.stmt->u.loop.hi);
        }
        for (int i = 0; at.stmt->kind == ST_BLOCK && i < at.stmt->u.block.n_iters; i++) {
            add_loads(k, at.stmt->u.block.iters[i].lo);
            add_loads(k, at.stmt->u.block.iters[i].hi);
            add_loads(k, at.stmt->u.block.iters[i].binding);
        }
        if (at.stmt->kind == ST_BLOCK)
            add_loads(k, at.stmt->u.block.predicate);
    }
}

static bool is_in_range(const Keeper *k, const Expr *load)
{
    for (int i = 0; i < k->in_ranges.n; i++)
        if (k->in_ranges.items[i] == load)
            return true;
    return false;
}

static bool is_own(const Keeper *k, const Buffer *buffer)
{
    for (int i = 0; i < k->kept.n; i++)
        if (k->kept.items[i].buffer == buffer)
            return true;
    return false;
}

static Expr *visit_load(Rewriter *r, Expr *e)
{
    Keeper *k = r->user;
    if (e->kind != EX_LOAD || is_own(k, e->u.load.buffer) || is_in_range(k, e) ||
        stmt_accesses(r->ctx, k->stmt, e->u.load.buffer, ACCESS_WRITE))
        return e;
    Buffer *buffer = e->u.load.buffer;
    Expr **index = ARENA_ARRAY(r->ctx->arena, Expr *, buffer->rank + 1);
    for (int d = 0; d < buffer->rank; d++)
        index[d] = visit_subscript(k, e->u.load.index[d]);
    return k->collecting ? e : expr_load(r->ctx, buffer, index, e->span);
}

static Stmt *visit_block(Keeper *k)
{
    return rewrite_stmt(&(Rewriter){.ctx = k->s->ctx, .user = k, .expr = visit_load}, k->stmt);
}

/* ---- what keeps it --------------------------------------------------------------------------- */

/* The narrower of two types that holds every value. */
static DType type_for(Facts *f, Expr *e)
{
    int64_t min, max;
    bool small = bounds_const(f, e, &min, &max) && min >= INT32_MIN && max <= INT32_MAX;
    return small ? DT_I32 : DT_I64;
}

/* The nest that fills a buffer with the values of kept->e, for all values of the iterators that it
 * is made of. NULL where these may be below 0, and are no subscripts. */
static Stmt *keep(Keeper *k, Kept *kept)
{
    Schedule *s = k->s;
    Context *c = s->ctx;
    PointBox points = stage_points(s, &k->stmt->u.block, &kept->e, 1);
    int n = points.n;
    Expr **old = ARENA_ARRAY(c->arena, Expr *, n + 1),
         **index = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, n + 1), **hi = ARENA_ARRAY(c->arena, Expr *, n + 1);
    Var **var = ARENA_ARRAY(c->arena, Var *, n + 1);
    Subst *to = ARENA_ARRAY(c->arena, Subst, n + 1);
    Facts *f = facts_of_kernel(c, k->s->kernel);
    facts_points(f, &points);
    for (int i = 0; i < n; i++) {
        old[i] = expr_var(c, points.var[i], span_none());
        var[i] = var_new(c, points.var[i]->name, DT_INDEX, VAR_ITER, kept->e->span);
        index[i] = expr_var(c, var[i], kept->e->span);
        lo[i] = expr_subst(c, points.lo[i], to, i);
        hi[i] = expr_subst(c, points.hi[i], to, i);
        to[i] = (Subst){points.var[i], index[i]};
    }
    if (box_of(f, &points, old, n, shape) >= 0)
        return NULL;
    Name name = sched_fresh_name(s, arena_printf(c->arena, "%s_index", k->stmt->u.block.name));
    Buffer *b = buffer_new(c, &(Buffer){.name = name,
                                        .type = type_for(f, kept->e),
                                        .shape = stage_shape(s, shape, n),
                                        .rank = n,
                                        .scope = k->scope,
                                        .role = ROLE_TEMP,
                                        .span = kept->e->span,
                                        .origin = k->call->span});
    Expr *value = expr_cast(c, b->type, expr_subst(c, kept->e, to, n), kept->e->span);
    Stmt *store = stmt_set(c, (BufferElement){b, index}, value, kept->e->span);
    kept->buffer = b;
    kept->index = old;
    return stage_nest(s, &(StageNest){name, n, var, lo, hi, NULL, store, NULL}, k->stmt->span);
}

bool prim_cache_index(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Keeper k = {.s = s, .call = call, .collecting = true};
    int64_t least = call->cache_index.uses.kind == VALUE_NONE ? 1 : call->cache_index.uses.u.i;
    k.stmt = sched_node(s, &call->cache_index.block, NULL);
    k.scope = scope_find(call->cache_index.scope.u.s);
    find_ranges(&k);
    visit_block(&k);
    k.collecting = false;
    VEC(Value) blocks = {0};
    BlockList users = {0};
    BufferSet none = {0};
    Stmt *body = s->kernel->body;
    VEC_PUSH(c->arena, &users, k.stmt);
    for (int i = 0; i < k.kept.n; i++) {
        Kept *kept = &k.kept.items[i];
        Stmt *nest = kept->uses >= least ? keep(&k, kept) : NULL;
        if (!nest)
            continue;
        StagePlace place = {0};
        VEC_PUSH(c->arena, &blocks, value_block(stmt_nest_block(nest)));
        stage_place(s, &users, &none, ACCESS_ANY, &place);
        body = stmt_replace(c, s->kernel->body, place.parent, stage_insert(s, &place, nest, NULL));
        sched_replace_body(s, flow_declare(s, body, kept->buffer));
    }
    REQUIRE(s, E0915, call->cache_index.block.span, blocks.n > 0,
            "no read subscript of block '%s' multiplies, divides, takes a remainder or converts "
            "floats of its iterators%s; not cached are subscripts of writes and in ranges, those "
            "that read memory, and those of iterators whose ranges depend on data",
            k.stmt->u.block.name,
            least > 1 ? arena_printf(c->arena, ", at least %lld times", (long long)least) : "");
    body = stmt_replace(c, s->kernel->body, k.stmt, visit_block(&k));
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_list(s, blocks.items, blocks.n);
    return true;
}
