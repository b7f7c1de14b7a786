/* thread_reduction.c - Distributes reductions across the threads of a block.
 *
 *   for k in 32 bind threadIdx.x             for t in 32 bind threadIdx.x
 *       block y(i in N = i, reduce ...)          y_part[t] = 0;
 *       { init y[i] = 0;                     for k in 32 bind threadIdx.x
 *         y[i] += A[i, ...]; }       =>          ... y_part[k] += A[i, ...];
 *                                            for t in 32 bind threadIdx.x {
 *                                                y_part[t] += shuffle_xor(y_part[t], 16);
 *                                                ... 8, 4, 2, 1 }
 *                                            for t in 32 bind threadIdx.x where t == 0
 *                                                y[i] = y_part[t];
 *
 * Each thread keeps a partial result in a register, from the identity of the operator on, so a
 * thread that has no instance of the block adds nothing; how they become one result is said in
 * thread_partials.c.
 *
 * What comes out is a program of loops and blocks like any other: whether it may run on threads,
 * and where it needs barriers, is asked of it as of any other, by the primitives that bind loops
 * and by the passes after this one.  The blocks that shuffle write local memory only, so they run
 * on every thread, whatever guards their neighbours have. */
#include "passes/shared/threads/thread_reduction.h"

/* ---- which ----------------------------------------------------------------------------------- */

bool reduction_is_across_threads(Context *c, const StmtPath *path)
{
    const Stmt *lanes;
    const BlockStmt *block = &path_end(path)->u.block;
    return block->init && !block->atomic && reduced_lanes(c, path, &lanes) > 0;
}

/* The path to the first reduction across threads; empty if there is none. */
static StmtPath next_across_threads(Context *c, const Stmt *body)
{
    StmtPath path = {0};
    for (Cursor at = cursor_outer(c, body); cursor_next(&at); path.n = 0) {
        if (at.stmt->kind != ST_BLOCK)
            continue;
        cursor_way(&at, &path);
        if (reduction_is_across_threads(c, &path))
            break;
    }
    return path;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The block with `n` iterators of the frame after its own. */
static BlockStmt with_frame(Apart *a, const Frame *f, int n)
{
    BlockStmt block = *a->block;
    BlockIter *iters = block_own_iters(a->c, &block, n);
    for (int i = 0; i < n; i++)
        iters[block.n_iters++] = f->iters[i];
    return block;
}

static Stmt *update(Apart *a)
{
    const Stmt *old = path_end(&a->path);
    Place place = partials_place(a);
    Frame f = partials_open(a, &place);
    BlockStmt block = with_frame(a, &f, a->dims.n + 1);
    block.init = NULL;
    Expr **values = ARENA_ARRAY(a->c->arena, Expr *, a->r.n);
    for (int k = 0; k < a->r.n; k++)
        values[k] = a->r.parts[k].value;
    Stmt *add = partials_update(a, (PartialElement){a->part, &f, f.lane}, values);
    block.body = stmt_replace(a->c, block.body, a->r.update, add);
    return stmt_stamp(stmt_block(a->c, &block, old->span), old);
}

/* Of the stores, those to memory that lanes share, on the first lane alone. */
static Stmt *shared_on_first(Apart *a, Stmt *stores, Expr *first)
{
    Context *c = a->c;
    Stmt *all = NULL;
    StmtList each = stmts_of_kind(c, stores, ST_STORE);
    for (int i = 0; i < each.n; i++) {
        Stmt *s = each.items[i];
        bool own = s->u.store.buffer->scope == SCOPE_LOCAL;
        all = stmt_then(c, all, own ? s : stmt_if(c, first, s, NULL, s->span));
    }
    return all;
}

/* The nest that stores results, on the thread of lane 0, or their copies on each lane. */
static Stmt *on_lane(Apart *a, Stmt *stores, BlockIter lane)
{
    Context *c = a->c;
    Stmt *old = stmt_nest_block(stores);
    ForStmt lanes = partials_loop(a, &a->lanes->u.loop);
    BlockStmt block = old->u.block;
    Place place = {ARENA_ARRAY(c->arena, Expr *, a->dims.n + 1),
                   partials_iteration(c, &lanes, lanes.var)};
    for (int i = 0; i < a->dims.n; i++)
        place.dims[i] = block.iters[block.n_iters - a->dims.n + i].binding;
    lane.binding = partials_lane(a, &place);
    BlockIter *iters = block_own_iters(c, &block, 1);
    iters[block.n_iters++] = lane;
    Expr *zero = expr_index(c, 0);
    if (a->result == RESULT_FIRST_LANE) {
        Expr *first = expr_binary(c, EX_EQ, place.lane, zero, old->span);
        block.predicate = cond_and(c, block.predicate, first);
    } else {
        Expr *in_group = index_mod(c, expr_var(c, lane.var, old->span), expr_index(c, a->extent));
        Expr *first = expr_binary(c, EX_EQ, in_group, zero, old->span);
        block.body = shared_on_first(a, block.body, first);
        block.lanes_alike = (int)a->extent;
    }
    lanes.body = stmt_replace(c, stores, old, stmt_stamp(stmt_block(c, &block, old->span), old));
    return stmt_stamp(stmt_for(c, &lanes, stores->span), a->lanes);
}

/* The reduction's own elements become the results. */
static Stmt *store_results(Apart *a, Expr *const *results)
{
    Context *c = a->c;
    Expr **values = ARENA_ARRAY(c->arena, Expr *, a->r.n);
    for (int k = 0; k < a->r.n; k++)
        values[k] = a->r.from_identity ? results[k]
                                       : reducer_combine(c, &a->r, a->r.parts[k].start, results[k]);
    return reducer_set(c, &a->r, (ReducerStore){reducer_targets(a->c, &a->r), values});
}

/* They become what they start from. */
static Stmt *store_starts(Apart *a)
{
    Expr **values = ARENA_ARRAY(a->c->arena, Expr *, a->r.n);
    for (int k = 0; k < a->r.n; k++)
        values[k] = a->r.parts[k].start;
    return reducer_set(a->c, &a->r, (ReducerStore){reducer_targets(a->c, &a->r), values});
}

/* The iterators of `block` that are spatial, by those of its init. */
static SubstList to_iters(Context *c, const BlockStmt *block, const BlockStmt *init)
{
    SubstList map = {0};
    for (int i = 0; i < block->n_iters; i++) {
        if (block->iters[i].kind != ITER_SPATIAL)
            continue;
        Var *to = init->iters[map.n].var;
        VEC_PUSH(c->arena, &map, ((Subst){block->iters[i].var, expr_var(c, to, to->span)}));
    }
    return map;
}

/* A loop over the warps, unrolled. */
static ForStmt over_warps(Apart *a, Span span)
{
    Context *c = a->c;
    return (ForStmt){.var = var_new(c, names_fresh(&a->names, "warp"), DT_INDEX, VAR_LOOP, span),
                     .lo = expr_index(c, 0),
                     .hi = expr_index(c, a->warps),
                     .step = 1,
                     .kind = LOOP_UNROLL,
                     .axis = AXIS_NONE,
                     .id = ctx_new_id(c)};
}

/* `stores`, which is the init of `block`, and after it the values that the warps have handed over.
 * All threads that have a copy of the result combine them, so in one order. */
static Stmt *then_combine(Apart *a, const BlockStmt *block, const Frame *f, Stmt *stores)
{
    Context *c = a->c;
    Stmt *old = stmt_nest_block(stores);
    ForStmt warps = over_warps(a, old->span);
    BlockStmt each = old->u.block;
    SubstList map = to_iters(c, block, &each);
    Var *warp = var_new(c, warps.var->name, DT_INDEX, VAR_ITER, old->span);
    BlockIter *iters = block_own_iters(c, &each, 1);
    iters[each.n_iters++] =
        (BlockIter){warp, warps.lo, warps.hi, expr_var(c, warps.var, old->span), ITER_REDUCE};
    PartialElement handed = {a->red, f, expr_var(c, warp, old->span)};
    ReducerStore to = {reducer_targets(a->c, &a->r), partials_load(a, handed)};
    each.init = each.body;
    each.body = stmt_stamp(stmt_subst(c, reducer_update(c, &a->r, to), map.items, map.n), old);
    warps.body = stmt_stamp(stmt_block(c, &each, old->span), old);
    return stmt_replace(c, stores, old, stmt_stamp(stmt_for(c, &warps, old->span), old));
}

/* The result goes where the block would have made it: the place of its init, which has the same
 * instances. What is in shared memory is stored by the thread that a block without a loop of lanes
 * runs on, or by every thread into its own copy, as is what is in memory of the warp. */
static Stmt *finish(Apart *a)
{
    Context *c = a->c;
    Stmt *old = path_end(&a->path), *stores, *rest;
    Place place = partials_place(a);
    Frame f = partials_open(a, &place);
    bool lane = a->result == RESULT_FIRST_LANE || a->result == RESULT_EACH_LANE;
    PartialElement result_at = {a->result == RESULT_SHARED ? a->red : a->part, &f,
                                lane ? f.lane : expr_index(c, 0)};
    BlockStmt block = with_frame(a, &f, a->dims.n);
    bool combines = a->result == RESULT_SHARED && a->warps > 1;
    block.init =
        stmt_stamp(combines ? store_starts(a) : store_results(a, partials_load(a, result_at)), old);
    Stmt *with_init = stmt_stamp(stmt_block(c, &block, old->span), old);
    StmtPath path = path_joined(c, &a->path, a->path.n - 1, (StmtPath){&with_init, 1, 1});
    if (!reduction_take_init(
            c, &(ReductionPlace){.kernel = a->kernel, .path = &path, .anchor = a->anchor}, &stores,
            &rest))
        TIRC_BUG(c, "the results of block '%s' have no place", a->block->name);
    BlockStmt named = stmt_nest_block(stores)->u.block;
    named.name = names_fresh(&a->names, ctx_namef(c, "%s_result", a->block->name));
    Stmt *result = stmt_stamp(stmt_block(c, &named, old->span), old);
    stores = stmt_replace(c, stores, stmt_nest_block(stores), result);
    if (combines)
        return then_combine(a, &block, &f, stores);
    return lane ? on_lane(a, stores, f.iters[a->dims.n]) : stores;
}

/* One launch holds it all, also where only threads are bound: then it has one block. */
static Stmt *in_one_launch(Apart *a, Stmt *s)
{
    for (int i = 0; i < a->anchor; i++)
        if (stmt_is_bound(a->path.items[i]))
            return s;
    ForStmt grid = {
        .var = var_new(a->c, names_fresh(&a->names, "grid"), DT_INDEX, VAR_LOOP, s->span),
        .lo = expr_index(a->c, 0),
        .hi = expr_index(a->c, 1),
        .step = 1,
        .kind = LOOP_BIND,
        .axis = AXIS_BLOCK_X,
        .body = s,
    };
    return stmt_stamp(stmt_for(a->c, &grid, s->span), a->lanes);
}

static Kernel *take_apart(Apart *a)
{
    Context *c = a->c;
    Stmt *anchor = a->path.items[a->anchor], *block = path_end(&a->path);
    a->result = reduction_result_place(a);
    a->part = partials_buffers(a, "part", partials_lanes(a),
                               a->result == RESULT_WARP ? SCOPE_WARP : SCOPE_LOCAL);
    Stmt *all = partials_start(a);
    all = stmt_then(c, all, stmt_replace(c, anchor, block, update(a)));
    all = stmt_then(c, all, partials_combine(a));
    all = in_one_launch(a, stmt_then(c, all, finish(a)));
    Stmt *body = stmt_replace(c, a->kernel->body, anchor, all);
    for (int i = a->temps.n - 1; i >= 0; i--)
        body =
            stmt_then(c, stmt_stamp(stmt_temp(c, a->temps.items[i], body->span), a->lanes), body);
    Kernel *apart = kernel_with_body(c, a->kernel, body);
    return a->groups.of ? reduction_join_groups(a, apart) : apart;
}

const Kernel *thread_reductions_apart(Context *c, const Kernel *kernel, ThreadReduction *refused)
{
    *refused = (ThreadReduction){0};
    Names names = {0};
    for (;;) {
        Apart a = {.c = c, .kernel = kernel, .path = next_across_threads(c, kernel->body)};
        if (a.path.n == 0)
            return kernel;
        a.block = &path_end(&a.path)->u.block;
        reduced_lanes(c, &a.path, &a.lanes);
        const Stmt *lanes = a.lanes;
        a.names = names.c ? names : names_of_kernel(c, kernel);
        if (reduction_uses(c, a.block, ITER_SPATIAL, lanes))
            reduction_split_groups(&a, reduction_group(c, a.block, lanes));
        while (!reduction_uses(c, a.block, ITER_REDUCE, a.path.items[a.anchor]))
            a.anchor++;
        if (!reduction_check(&a)) {
            *refused = (ThreadReduction){a.block, lanes, a.why};
            return NULL;
        }
        kernel = take_apart(&a);
        names = a.names;
    }
}
