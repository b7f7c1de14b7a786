/* epilogue.c - Implements fuse_reduction_epilogue: starts a reduction from the value that its
 * result would be combined with.
 *
 *   for i in N {                            for i in N {
 *       t[i] = 0;                               y[i] = b[i];
 *       for k in K t[i] += A[i, k]; }   =>      for k in K y[i] += A[i, k]; }
 *   for i in N y[i] = t[i] + b[i];
 *
 * TVM matches a bias, a ReLU or a clip and moves it inside. Inside a sum, a ReLU cuts every partial
 * sum, and a bias changes where floats round. So only what is exact is taken: the epilogue has the
 * reduction's own operator, and that neither rounds nor depends on the order.
 *
 * Legal: the epilogue reads the whole result once, at its own iterators, by the operator of the
 * reduction, exactly.
 * Invariant: every element of the epilogue's output has the value that it had. */
#include "passes/schedule/blocks/inline.h"

/* A block, and the iterator that each axis of a buffer has for a subscript in it. */
typedef struct {
    Stmt *block;
    int rank; /* of the buffer */
    int *axes;
} IndexedBlock;

static IndexedBlock indexed_block(Context *c, Stmt *block, int rank)
{
    return (IndexedBlock){block, rank, ARENA_ARRAY(c->arena, int, rank + 1)};
}

/* Every load of `between` in the block is at its iterators alone, each of them once; fills in the
 * axes. */
static bool reads_at_iterators(Schedule *s, const Buffer *between, IndexedBlock *at)
{
    AccessList reads = access_list(s->ctx, at->block, between, ACCESS_READ);
    int *these = ARENA_ARRAY(s->ctx->arena, int, between->rank + 1);
    for (int r = 0; r < reads.n; r++) {
        if (!flow_pure_index(&at->block->u.block, between, reads.items[r].index, these))
            return false;
        for (int axis = 0; axis < between->rank; axis++) {
            if (r > 0 && these[axis] != at->axes[axis])
                return false;
            at->axes[axis] = these[axis];
        }
    }
    return at->block->u.block.n_iters == between->rank;
}

static const BlockIter *axis_iter(IndexedBlock of, int axis)
{
    return &of.block->u.block.iters[of.axes[axis]];
}

/* Each axis' iterator of `from` in terms of that of `to`. [rank] */
static Subst *axis_map(Context *c, IndexedBlock from, IndexedBlock to)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, to.rank + 1);
    for (int axis = 0; axis < to.rank; axis++)
        map[axis] =
            (Subst){axis_iter(from, axis)->var, expr_var(c, axis_iter(to, axis)->var, span_none())};
    return map;
}

/* The iterators of both blocks run over the same ranges, axis by axis, which may speak of each
 * other. */
static bool same_domains(Schedule *s, IndexedBlock a, IndexedBlock b)
{
    Context *c = s->ctx;
    Facts *facts = facts_of_kernel(c, s->kernel);
    Subst *map = axis_map(c, b, a);
    for (int axis = 0; axis < a.rank; axis++) {
        const BlockIter *x = axis_iter(a, axis), *y = axis_iter(b, axis);
        Expr *lo = expr_subst(c, y->lo, map, a.rank), *hi = expr_subst(c, y->hi, map, a.rank);
        if (!expr_equal(simplify(facts, x->lo), simplify(facts, lo)) ||
            !expr_equal(simplify(facts, x->hi), simplify(facts, hi)))
            return false;
    }
    return true;
}

/* What the epilogue combines the sum with, by the operator of the reduction: `rest` of  sum op
 * rest.  NULL, and true, where the epilogue only copies; false where it does anything else. */
static bool epilogue_rest(const Buffer *sum, ExprKind op, Expr *value, Expr **rest)
{
    *rest = NULL;
    if (expr_is_load(value, sum))
        return true;
    if (value->kind != op)
        return false;
    int side = expr_is_load(value->u.arg[0], sum) ? 0 : 1;
    *rest = value->u.arg[1 - side];
    return expr_is_load(value->u.arg[side], sum) && !expr_reads(*rest, sum);
}

/* A reduction, and the epilogue that goes into it. */
typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path, epilogue_path;
    const Buffer *sum;
    IndexedBlock reduction, epilogue; /* by the axes of the sum */
    const Stmt *update, *store;       /* of the two */
    ExprKind op;
    Expr *rest; /* what the epilogue combines the sum with; NULL: it copies */
} Fusion;

static bool refuse_epilogue(const Fusion *f)
{
    Schedule *s = f->s;
    Span span = f->call->fuse_reduction_epilogue.epilogue.span;
    Name name = f->epilogue.block->u.block.name;
    const Expr *value = f->store->u.store.value;
    ExprKind op = f->op;
    if (op == EX_ADD &&
        (value->kind == EX_MAX || value->kind == EX_MIN || value->kind == EX_SELECT))
        sched_refuse(
            s, E0821, span,
            "block '%s' applies %s to the complete sum; inside the reduction it would clip partial "
            "sums: for the terms 1, -2, 3 the sum is 2, but max(0, ...) after each step gives 1, "
            "0, 3; move it after the reduction with reverse_compute_at instead",
            name,
            value->kind == EX_SELECT ? "a condition"
            : value->kind == EX_MAX  ? "max"
                                     : "min");
    else
        sched_refuse(s, E0821, span,
                     "block '%s' does more than combine the result of the reduction with another "
                     "value by the reduction's own '%s', so it does not commute with the "
                     "reduction; move it after the reduction with reverse_compute_at instead",
                     name, op_info(op)->token);
    return false;
}

/* Sums and products of floats round at each step: begun with the bias they are other numbers, and
 * no error bound of the program covers that. */
static bool require_exact(const Fusion *f)
{
    bool rounds = type_is_float(f->sum->type) && (f->op == EX_ADD || f->op == EX_MUL);
    REQUIRE(f->s, E0820, f->call->fuse_reduction_epilogue.epilogue.span, !f->rest || !rounds,
            "%s of %s round, so a reduction that starts from '%s' gives other results than one "
            "that ends with it: in f32, (1 + 1) + 16777216 is 16777218, but (16777216 + 1) + 1 is "
            "16777216; move the epilogue after the reduction with reverse_compute_at instead",
            f->op == EX_ADD ? "sums" : "products", type_info(f->sum->type)->name,
            expr_text(f->s->ctx, f->rest));
    return true;
}

/* The reduction writes one temp in one update with an init of the same element; the epilogue reads
 * it and nothing else does. */
static bool check_blocks(Fusion *f)
{
    Schedule *s = f->s;
    Span span = f->call->span;
    Stmt *reduction = f->reduction.block, *epilogue = f->epilogue.block;
    const Buffer *sum = f->sum;
    const Stmt *update = flow_single_store(s->ctx, reduction),
               *store = flow_single_store(s->ctx, epilogue);
    const Stmt *init = stmt_single_store(reduction->u.block.init);
    REQUIRE(
        s, E0822, span,
        sum && sum->role == ROLE_TEMP && update && update->u.store.op != STORE_SET && init &&
            init->u.store.op == STORE_SET && init->u.store.buffer->id == sum->id &&
            !expr_reads(update->u.store.value, sum),
        "block '%s' is not a reduction with one update into a temp and an init of the same element",
        reduction->u.block.name);
    BlockList readers = flow_blocks(s, s->kernel->body, sum, ACCESS_READ);
    BlockList writers = flow_blocks(s, s->kernel->body, sum, ACCESS_WRITE);
    for (int i = 0; i < readers.n; i++)
        REQUIRE(s, E0822, span, readers.items[i] == epilogue || readers.items[i] == reduction,
                "block '%s' also reads '%s', which the fusion would remove",
                readers.items[i]->u.block.name, sum->name);
    REQUIRE(s, E0822, span, writers.n == 1,
            "%d blocks write '%s'; the reduction must be its only writer", writers.n, sum->name);
    REQUIRE(s, E0822, span,
            stmt_accesses(s->ctx, epilogue, sum, ACCESS_READ) && store &&
                store->u.store.op == STORE_SET && !epilogue->u.block.init &&
                !epilogue->u.block.predicate && !reduction->u.block.predicate &&
                store->u.store.buffer->type == sum->type,
            "block '%s' is not a single plain store, of the type of '%s', that reads it",
            epilogue->u.block.name, sum->name);
    f->update = update;
    f->store = store;
    f->op = store_op_kind(update->u.store.op, sum->type);
    return true;
}

/* Both access the sum at their own iterators, and run over the same ranges of them. */
static bool check_axes(Fusion *f)
{
    Context *c = f->s->ctx;
    const BlockStmt *reduction = &f->reduction.block->u.block;
    int n = f->sum->rank;
    f->reduction = indexed_block(c, f->reduction.block, n);
    f->epilogue = indexed_block(c, f->epilogue.block, n);
    bool pure = flow_pure_index(reduction, f->sum, f->update->u.store.index, f->reduction.axes);
    for (int axis = 0; axis < n && pure; axis++)
        pure = reduction->iters[f->reduction.axes[axis]].kind == ITER_SPATIAL;
    REQUIRE(f->s, E0822, f->call->span,
            pure && reads_at_iterators(f->s, f->sum, &f->epilogue) &&
                same_domains(f->s, f->reduction, f->epilogue),
            "blocks '%s' and '%s' do not access '%s' at their own iterators over the same ranges",
            reduction->name, f->epilogue.block->u.block.name, f->sum->name);
    return true;
}

static bool check_order(const Fusion *f)
{
    Schedule *s = f->s;
    const Stmt *reduction = f->reduction.block;
    const Buffer *out = f->store->u.store.buffer;
    REQUIRE(s, E0461, f->call->span, !stmt_accesses(s->ctx, reduction, out, ACCESS_ANY),
            "block '%s' reads '%s', which block '%s' writes after the reduction, so it would read "
            "partial results",
            reduction->u.block.name, out->name, f->epilogue.block->u.block.name);
    return true;
}

/* start op rest, where start may be what changes nothing. */
static Expr *started_from(Context *c, ExprKind op, Expr *start, Expr *rest)
{
    if ((op == EX_ADD && expr_is(start, 0)) || (op == EX_MUL && expr_is(start, 1)))
        return rest;
    return expr_binary(c, op, start, rest, rest->span);
}

static Stmt *store_to(Context *c, const Stmt *like, const StoreStmt *to, Expr *value)
{
    StoreStmt store = *to;
    store.op = like->u.store.op;
    store.value = value;
    store.atomic = like->u.store.atomic;
    return stmt_store(c, &store, like->span);
}

/* The reduction, which makes what the epilogue has made. */
static Stmt *build_fused(const Fusion *f)
{
    Context *c = f->s->ctx;
    int n = f->sum->rank;
    const StoreStmt *store = &f->store->u.store;
    Subst *map = axis_map(c, f->epilogue, f->reduction);
    Expr **index = exprs_subst(c, store->index, store->buffer->rank, map, n);
    const Stmt *init = stmt_single_store(f->reduction.block->u.block.init);
    Expr *start = init->u.store.value;
    if (f->rest)
        start = started_from(c, f->op, start, expr_subst(c, f->rest, map, n));
    BlockStmt fused = f->reduction.block->u.block;
    StoreStmt to = {.buffer = store->buffer, .index = index};
    fused.init = store_to(c, init, &to, start);
    fused.body = store_to(c, f->update, &to, f->update->u.store.value);
    return stmt_block(c, &fused, f->reduction.block->span);
}

bool prim_fuse_reduction_epilogue(Schedule *s, const PrimCall *call, Value *result)
{
    Fusion f = {.s = s, .call = call};
    const Value *first = &call->fuse_reduction_epilogue.reduction,
                *second = &call->fuse_reduction_epilogue.epilogue;
    Stmt *reduction = f.reduction.block = sched_node(s, first, &f.path);
    Stmt *epilogue = f.epilogue.block = sched_node(s, second, &f.epilogue_path);
    f.sum = flow_written(s, reduction);
    if (!check_blocks(&f) || !check_axes(&f) || !check_order(&f))
        return false;
    if (!epilogue_rest(f.sum, f.op, f.store->u.store.value, &f.rest))
        return refuse_epilogue(&f);
    if (!require_exact(&f) ||
        !inline_runs_whole(s, reduction->u.block.name, epilogue, second->span) ||
        !inline_order_kept(s, first->span, &f.epilogue_path, &f.path, epilogue))
        return false;
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, reduction, build_fused(&f));
    sched_replace_body(s, flow_undeclare(s, flow_remove(s, body, epilogue), f.sum));
    *result = value_block(reduction);
    return true;
}
