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

static bool is_element_of(const Expr *e, const Buffer *b)
{
    return e->kind == EX_LOAD && e->u.load.buffer->id == b->id;
}

/* What the epilogue combines the sum with, by the operator of the reduction: `rest` of  sum op
 * rest.  NULL, and true, where the epilogue only copies; false where it does anything else. */
static bool epilogue_rest(const Buffer *sum, ExprKind op, Expr *value, Expr **rest)
{
    *rest = NULL;
    if (is_element_of(value, sum))
        return true;
    if (value->kind != op)
        return false;
    int side = is_element_of(value->u.arg[0], sum) ? 0 : 1;
    *rest = value->u.arg[1 - side];
    return is_element_of(value->u.arg[side], sum) && !expr_reads(*rest, sum);
}

static bool refuse_epilogue(Schedule *s, const PrimCall *call, Name name, ExprKind op,
                            const Expr *value)
{
    if (op == EX_ADD &&
        (value->kind == EX_MAX || value->kind == EX_MIN || value->kind == EX_SELECT))
        sched_refuse(
            s, E0821, call->fuse_reduction_epilogue.epilogue.span,
            "block '%s' applies %s to the complete sum; inside the reduction it would clip partial "
            "sums: for the terms 1, -2, 3 the sum is 2, but max(0, ...) after each step gives 1, "
            "0, 3; move it after the reduction with reverse_compute_at instead",
            name,
            value->kind == EX_SELECT ? "a condition"
            : value->kind == EX_MAX  ? "max"
                                     : "min");
    else
        sched_refuse(s, E0821, call->fuse_reduction_epilogue.epilogue.span,
                     "block '%s' does more than combine the result of the reduction with another "
                     "value by the reduction's own '%s', so it does not commute with the "
                     "reduction; move it after the reduction with reverse_compute_at instead",
                     name, op_info(op)->token);
    return false;
}

/* Sums and products of floats round at each step: begun with the bias they are other numbers, and
 * no error bound of the program covers that. */
static bool require_exact(Schedule *s, const PrimCall *call, ExprKind op, const Expr *rest,
                          DType type)
{
    bool rounds = type_is_float(type) && (op == EX_ADD || op == EX_MUL);
    REQUIRE(s, E0820, call->fuse_reduction_epilogue.epilogue.span, !rest || !rounds,
            "%s of %s round, so a reduction that starts from '%s' gives other results than one "
            "that ends with it: in f32, (1 + 1) + 16777216 is 16777218, but (16777216 + 1) + 1 is "
            "16777216; move the epilogue after the reduction with reverse_compute_at instead",
            op == EX_ADD ? "sums" : "products", type_info(type)->name, sched_text(s, rest));
    return true;
}

/* The reduction writes one temp in one update with an init of the same element; the epilogue reads
 * it and nothing else does. */
static bool epilogue_fits(Schedule *s, const PrimCall *call, Stmt *reduction, Stmt *epilogue,
                          const Buffer *sum)
{
    Span span = call->span;
    Name name = reduction->u.block.name;
    const Stmt *update = flow_single_store(reduction);
    const Stmt *init = stmt_single_store(reduction->u.block.init);
    BlockList readers = {0}, writers = {0};
    REQUIRE(
        s, E0822, span,
        sum && sum->role == ROLE_TEMP && update && update->u.store.op != STORE_SET && init &&
            init->u.store.op == STORE_SET && init->u.store.buffer->id == sum->id &&
            !expr_reads(update->u.store.value, sum),
        "block '%s' is not a reduction with one update into a temp and an init of the same element",
        name);
    flow_blocks(s, s->kernel->body, sum, ACCESS_READ, &readers);
    flow_blocks(s, s->kernel->body, sum, ACCESS_WRITE, &writers);
    for (int i = 0; i < readers.n; i++)
        REQUIRE(s, E0822, span, readers.items[i] == epilogue || readers.items[i] == reduction,
                "block '%s' also reads '%s', which the fusion would remove",
                readers.items[i]->u.block.name, sum->name);
    REQUIRE(s, E0822, span, writers.n == 1,
            "%d blocks write '%s'; the reduction must be its only writer", writers.n, sum->name);
    REQUIRE(s, E0822, span,
            stmt_accesses(s->ctx, epilogue, sum, ACCESS_READ) && flow_single_store(epilogue) &&
                flow_single_store(epilogue)->u.store.op == STORE_SET && !epilogue->u.block.init &&
                !epilogue->u.block.predicate && !reduction->u.block.predicate &&
                flow_single_store(epilogue)->u.store.buffer->type == sum->type,
            "block '%s' is not a single plain store, of the type of '%s', that reads it",
            epilogue->u.block.name, sum->name);
    return true;
}

/* start op rest, where start may be what changes nothing. */
static Expr *started_from(Context *c, ExprKind op, Expr *start, Expr *rest)
{
    int64_t value;
    if (expr_is_const(start, &value) && value == (op == EX_MUL) && (op == EX_ADD || op == EX_MUL))
        return rest;
    return expr_binary(c, op, start, rest, rest->span);
}

bool prim_fuse_reduction_epilogue(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, epilogue_path = {0};
    Context *c = s->ctx;
    Stmt *reduction = sched_block(s, &call->fuse_reduction_epilogue.reduction, &path),
         *epilogue = sched_block(s, &call->fuse_reduction_epilogue.epilogue, &epilogue_path);
    const Buffer *sum = flow_written(s, reduction);
    Expr *rest;
    if (!epilogue_fits(s, call, reduction, epilogue, sum))
        return false;
    int n = sum->rank, *made = ARENA_ARRAY(c->arena, int, n + 1),
        *used = ARENA_ARRAY(c->arena, int, n + 1);
    const Stmt *update = flow_single_store(reduction), *store = flow_single_store(epilogue);
    ExprKind op = store_op_kind(update->u.store.op, sum->type);
    bool pure = flow_pure_index(&reduction->u.block, sum, update->u.store.index, made);
    for (int axis = 0; axis < n && pure; axis++)
        pure = reduction->u.block.iters[made[axis]].kind == ITER_SPATIAL;
    REQUIRE(s, E0822, call->span,
            pure && inline_reads_at_iterators(s, epilogue, sum, used) &&
                inline_same_domains(s, (IndexedBlock){.block = reduction, .axes = made},
                                    (IndexedBlock){.block = epilogue, .axes = used}, n),
            "blocks '%s' and '%s' do not access '%s' at their own iterators over the same ranges",
            reduction->u.block.name, epilogue->u.block.name, sum->name);
    REQUIRE(s, E0461, call->span,
            !stmt_accesses(s->ctx, reduction, store->u.store.buffer, ACCESS_ANY),
            "block '%s' reads '%s', which block '%s' writes after the reduction, so it would read "
            "partial results",
            reduction->u.block.name, store->u.store.buffer->name, epilogue->u.block.name);
    if (!epilogue_rest(sum, op, store->u.store.value, &rest))
        return refuse_epilogue(s, call, epilogue->u.block.name, op, store->u.store.value);
    if (!require_exact(s, call, op, rest, sum->type) ||
        !inline_runs_whole(s, reduction->u.block.name, epilogue,
                           call->fuse_reduction_epilogue.epilogue.span) ||
        !inline_order_kept(s, call->fuse_reduction_epilogue.reduction.span, &epilogue_path, &path,
                           epilogue))
        return false;

    Subst *map = ARENA_ARRAY(c->arena, Subst, n + 1);
    for (int axis = 0; axis < n; axis++)
        map[axis] = (Subst){epilogue->u.block.iters[used[axis]].var,
                            expr_var(c, reduction->u.block.iters[made[axis]].var, span_none())};
    Expr **index = ARENA_ARRAY(c->arena, Expr *, store->u.store.buffer->rank + 1);
    for (int axis = 0; axis < store->u.store.buffer->rank; axis++)
        index[axis] = expr_subst(c, store->u.store.index[axis], map, n);
    const Stmt *init = stmt_single_store(reduction->u.block.init);
    Expr *start = init->u.store.value;
    if (rest)
        start = started_from(c, op, start, expr_subst(c, rest, map, n));
    BlockStmt fused = reduction->u.block;
    fused.init = stmt_store(
        c,
        &(StoreStmt){
            .buffer = store->u.store.buffer, .index = index, .op = STORE_SET, .value = start},
        init->span);
    fused.body = stmt_store(c,
                            &(StoreStmt){.buffer = store->u.store.buffer,
                                         .index = index,
                                         .op = update->u.store.op,
                                         .value = update->u.store.value},
                            update->span);
    fused.body->u.store.atomic = update->u.store.atomic;
    Stmt *body =
        stmt_replace(c, s->kernel->body, reduction, stmt_block(c, &fused, reduction->span));
    sched_replace_body(s, flow_undeclare(s, flow_remove(s, body, epilogue), sum));
    *result = value_block(reduction);
    return true;
}
