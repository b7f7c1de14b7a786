/* scan_updates.c - Implements scan_updates: computes running results of elements that data choose
 * by chunks, one for each iteration of a loop.
 *
 *   for p in 4, i in 32 {                 for k in K, p in 4
 *       pos[p, i] = count[key[p, i]];         total[k, p] = 0;
 *       count[key[p, i]] += 1;            for p in 4, i in 32
 *   }                                         total[key[p, i], p] += 1;
 *                                   =>    for k in K, p in 4 {
 *                                             before[k, p] = count[k];
 *                                             count[k] += total[k, p]; }
 *                                         for p in 4, i in 32 {
 *                                             pos[p, i] = before[key[p, i], p];
 *                                             before[key[p, i], p] += 1; }
 *
 * scan_chunks (scan_chunks.c) does that to a value that all iterations share. Here each iteration
 * updates an element of its own choice, so a chunk has a total for each element, and goes on with
 * what stands before it, in place. The scan of the totals has the form that scan_chunks gives it,
 * one for each element. (Counts of digits by chunk, scanned: Satish, Harris and Garland, Designing
 * efficient sorting algorithms for manycore GPUs, 2009.)
 *
 * An axis whose subscript is the same in the loop, such as that of a batch, gets no loop. The new
 * axis comes last: what adjacent chunks have of one element is adjacent.
 *
 * Legal: one block updates the buffer in the loop, by an operator that has an identity, and reads
 * it nowhere else. What it combines, and where, can be read before the loop. All elements have
 * values by then.
 * Invariant: before[k, p] is what element k has when chunk p begins, plus what the chunk has
 * combined so far; after the scan of the totals the buffer has what the loop leaves in it. */
#include "ir/implied.h"
#include "passes/analysis/dependence/dependence.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/enter.h"

typedef struct {
    Schedule *s;
    Span span, origin; /* of the loop in the call, and of the call */
    StmtPath path;     /* to the loop */
    StmtPath inner;    /* from there to the block */
    Stmt *loop, *node;
    const StoreStmt *store; /* the update of the block */
    Buffer *of;
    Expr **fixed; /* for each axis of `of` the subscript that all accesses have; NULL: any */
    Expr *identity;
    Buffer *total, *before;
} Scan;

/* ---- which block ----------------------------------------------------------------------------- */

/* The block updates what another one in the loop reads, at an element that data choose. */
static bool is_update(const Scan *scan, const Stmt *block)
{
    Schedule *s = scan->s;
    const Stmt *update = stmt_guarded_update(block->u.block.body);
    if (!update || update->kind != ST_STORE)
        return false;
    bool chosen = false;
    for (int d = 0; d < update->u.store.buffer->rank; d++)
        chosen |= expr_has_load(update->u.store.index[d]);
    return chosen && flow_other_block(s, scan->loop, block, update->u.store.buffer, ACCESS_READ);
}

static bool find_update(Scan *scan)
{
    Schedule *s = scan->s;
    StmtList blocks = stmts_of_kind(s->ctx, scan->loop, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        Stmt *block = blocks.items[i];
        if (!is_update(scan, block))
            continue;
        REQUIRE(s, E0532, scan->span, !scan->node,
                "loop '%s' contains two blocks that update elements which data choose, '%s' and "
                "'%s'; name one: scan_updates(%s, %s)",
                stmt_label(scan->loop), stmt_label(scan->node), stmt_label(block),
                stmt_label(scan->loop), stmt_label(scan->node));
        scan->node = block;
    }
    REQUIRE(s, E0532, scan->span, scan->node != NULL,
            "no block in loop '%s' updates an element that data choose (count[key[i]] += 1) of a "
            "buffer that another block in it reads (y[i] = count[key[i]]); scan_chunks takes a "
            "value that all iterations update",
            stmt_label(scan->loop));
    return true;
}

/* The block that is named, or the only one of the loop. */
static bool choose_update(Scan *scan, const Value *named)
{
    Schedule *s = scan->s;
    if (named->kind == VALUE_NONE)
        return find_update(scan);
    StmtPath path = {0};
    scan->node = sched_node(s, named, &path);
    REQUIRE(s, E0532, named->span, path_loop(&path, scan->loop->u.loop.id) >= 0,
            "block '%s' is not in loop '%s'", stmt_label(scan->node), stmt_label(scan->loop));
    return true;
}

/* ---- check ----------------------------------------------------------------------------------- */

/* The identity of the update; NULL: it has none. */
static Expr *identity_of(const Scan *scan)
{
    DType type = scan->of->type;
    bool tiny = type_is_float(type) && type_info(type)->bits == 8;
    return tiny ? NULL : reducer_neutral(scan->s->ctx, scan->store->op, type, scan->node->span);
}

static bool check_block(Scan *scan)
{
    Schedule *s = scan->s;
    const BlockStmt *block = &scan->node->u.block;
    const Stmt *update = stmt_guarded_update(block->body);
    REQUIRE(s, E0532, scan->span, update && update->kind == ST_STORE,
            "block '%s' is not one update, such as count[key[i]] += 1", block->name);
    scan->store = &update->u.store;
    scan->of = update->u.store.buffer;
    scan->identity = identity_of(scan);
    REQUIRE(s, E0532, scan->span, scan->identity,
            "block '%s' updates '%s' by an operator that has no identity in its type, which totals "
            "of chunks start from",
            block->name, scan->of->name);
    REQUIRE(s, E0532, scan->span, !block->init && !block->instruction && !block->atomic,
            "block '%s' has an init, is an instruction or atomic; scan_updates takes plain updates "
            "in their order",
            block->name);
    REQUIRE(s, E0532, scan->span, !block_in_order(block),
            "the updates of block '%s' keep their order (@in_order), and this step adds in another "
            "one",
            block->name);
    return true;
}

static bool check_loop(const Scan *scan)
{
    Schedule *s = scan->s;
    const ForStmt *loop = &scan->loop->u.loop;
    if (!sched_require_serial(s, scan->loop, scan->span))
        return false;
    REQUIRE(s, E0532, scan->span,
            loop_counts_from_zero(loop) && expr_of_sizes(loop->hi) && !loop_is_while(loop),
            "the range of loop '%s' is not one of sizes that starts at 0, as that of an axis is; "
            "split the loop and use the outer one",
            stmt_label(scan->loop));
    for (int i = 1; i + 1 < scan->inner.n; i++) {
        Stmt *at = scan->inner.items[i];
        bool plain = at->kind == ST_SEQ || (at->kind == ST_FOR && !loop_is_while(&at->u.loop));
        REQUIRE(s, E0532, scan->span, plain,
                "block '%s' is under a condition in loop '%s'; move the condition into the block",
                stmt_label(scan->node), stmt_label(scan->loop));
        if (at->kind == ST_FOR && !sched_require_serial(s, at, scan->span))
            return false;
    }
    return true;
}

/* The block reads the buffer beside its update, in a value, a condition or a subscript. */
static bool reads_itself(const Scan *scan)
{
    for (Cursor at = cursor_stmt(scan->s->ctx, scan->node); cursor_next(&at);)
        if (at.expr && expr_is_load(at.expr, scan->of))
            return true;
    return false;
}

/* The buffer outlives an iteration of the loop, and nothing else in the loop writes it. */
static bool check_buffer(const Scan *scan)
{
    Schedule *s = scan->s;
    Name name = scan->of->name, loop = stmt_label(scan->loop), block = stmt_label(scan->node);
    REQUIRE(s, E0532, scan->span, !stmt_declares(s->ctx, scan->loop, scan->of),
            "'%s' is declared in loop '%s', so no value of it passes from one iteration to the "
            "next; choose an inner loop",
            name, loop);
    const Stmt *writer = flow_other_block(s, scan->loop, scan->node, scan->of, ACCESS_WRITE);
    REQUIRE(s, E0532, scan->span, !writer,
            "block '%s' writes '%s', too, in loop '%s', so its chunks do not follow from the "
            "updates of '%s' alone",
            stmt_label(writer), name, loop, block);
    REQUIRE(s, E0532, scan->span, !reads_itself(scan),
            "block '%s' reads '%s' beside its update, so its updates depend on each other", block,
            name);
    return flow_require_fixed_shape(s, scan->of, E0532, scan->span);
}

/* ---- subscripts ------------------------------------------------------------------------------ */

/* It computes with floating-point numbers, whose rounding two launches could do in different ways.
 */
static bool rounds(const Scan *scan, const Expr *e)
{
    for (Cursor at = cursor_expr(scan->s->ctx, e); cursor_next(&at);)
        if (type_is_float(at.expr->type) && at.expr->kind != EX_LOAD && at.expr->kind != EX_FLOAT &&
            at.expr->kind != EX_CAST)
            return true;
    return false;
}

static bool exprs_round(const Scan *scan, Expr *const *e, int n)
{
    for (int i = 0; i < n; i++)
        if (rounds(scan, e[i]))
            return true;
    return false;
}

/* The places of updates are the same wherever they are computed. */
static bool check_places(const Scan *scan)
{
    Schedule *s = scan->s;
    bool safe = !exprs_round(scan, scan->store->index, scan->of->rank);
    for (Cursor at = cursor_stmts(s->ctx, scan->node); cursor_next(&at);)
        if (at.stmt->kind == ST_LET && rounds(scan, at.stmt->u.let.value))
            safe &= !exprs_use_var(scan->store->index, scan->of->rank, at.stmt->u.let.var) &&
                    type_is_float(at.stmt->u.let.value->type);
    REQUIRE(s, E0532, scan->span, safe,
            "a subscript of '%s' in block '%s' is computed from floating-point numbers, and two "
            "launches could round it in different ways; store it in an array first",
            scan->of->name, stmt_label(scan->node));
    return true;
}

/* Made of sizes, numbers and the loops around that of the scan. */
static bool is_outside(const Scan *scan, const Expr *e)
{
    StmtPath outer = path_joined(scan->s->ctx, &scan->path, scan->path.n - 1, (StmtPath){0});
    for (Cursor at = cursor_expr(scan->s->ctx, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD ||
            (at.expr->kind == EX_VAR &&
             (at.expr->u.var->kind == VAR_ITER || at.expr->u.var->kind == VAR_LET)))
            return false;
    return !expr_loop_outside(scan->s->ctx, e, &outer);
}

/* The subscript of the axis in all accesses of the loop, in terms of loops; NULL: there is no such.
 */
static Expr *fixed_subscript(const Scan *scan, int axis)
{
    Context *c = scan->s->ctx;
    AccessList all = access_list(c, scan->loop, scan->of, ACCESS_ANY);
    Expr *fixed = NULL;
    for (int i = 0; i < all.n; i++) {
        Expr *at = all.items[i].index[axis];
        at = all.items[i].block ? iters_to_loops(c, all.items[i].block, at) : at;
        if (!is_outside(scan, at) || (fixed && !expr_equal(fixed, at)))
            return NULL;
        fixed = at;
    }
    return fixed;
}

static bool find_fixed(Scan *scan)
{
    bool chosen = false;
    Facts *facts = sched_facts(scan->s, &scan->path);
    scan->fixed = ARENA_ARRAY(scan->s->ctx->arena, Expr *, scan->of->rank + 1);
    for (int d = 0; d < scan->of->rank; d++) {
        scan->fixed[d] = fixed_subscript(scan, d);
        chosen |= !scan->fixed[d];
        bool inside = !scan->fixed[d] || prove_inside(facts, scan->fixed[d], scan->of->shape[d]);
        REQUIRE(scan->s, E0532, scan->span, inside,
                "subscript '%s' of '%s' may be outside of the buffer where block '%s' does not "
                "run, and the scan of the totals has no condition; split loops around after the "
                "step",
                expr_text(scan->s->ctx, scan->fixed[d]), scan->of->name, stmt_label(scan->node));
    }
    REQUIRE(scan->s, E0532, scan->span, chosen,
            "all iterations of loop '%s' access one element of '%s'; scan_chunks takes such loops",
            stmt_label(scan->loop), scan->of->name);
    return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* A temp of values as the buffer has them. */
static Buffer *buffer_like(const Scan *scan, const char *suffix, Expr **shape, int rank)
{
    Context *c = scan->s->ctx;
    const Buffer *of = scan->of;
    Name name = sched_fresh_name(scan->s, arena_printf(c->arena, "%s_%s", of->name, suffix));
    return buffer_new(c, &(Buffer){.name = name,
                                   .type = of->type,
                                   .digits = of->digits,
                                   .shape = shape,
                                   .rank = rank,
                                   .scope = of->scope,
                                   .role = ROLE_TEMP,
                                   .span = of->span,
                                   .origin = scan->origin});
}

/* One with an element for each of the buffer's and each chunk. */
static Buffer *buffer_by_chunk(const Scan *scan, const char *suffix)
{
    int rank = scan->of->rank;
    Expr **shape = ARENA_ARRAY(scan->s->ctx->arena, Expr *, rank + 1);
    for (int d = 0; d < rank; d++)
        shape[d] = scan->of->shape[d];
    shape[rank] = *stage_shape(scan->s, &scan->loop->u.loop.hi, 1);
    return buffer_like(scan, suffix, shape, rank + 1);
}

/* ---- nests ----------------------------------------------------------------------------------- */

/* The loops around a new block: those around the loop of the scan, one for each free axis of the
 * buffer, and the one over chunks, the last. */
typedef struct {
    ForStmt *own;           /* [n_own] */
    const ForStmt **around; /* [n] all of them */
    int n_own, n;
    Expr **at; /* [rank + 1] subscripts, the last that of the chunk */
} Nest;

static Expr *own_loop(const Scan *scan, Nest *nest, const char *name, Expr *extent)
{
    Context *c = scan->s->ctx;
    ForStmt *loop = &nest->own[nest->n_own++];
    *loop = flow_loop(scan->s, sched_fresh_name(scan->s, name), expr_index(c, 0), extent);
    nest->around[nest->n++] = loop;
    return expr_var(c, loop->var, scan->origin);
}

static Nest nest_over(const Scan *scan)
{
    Context *c = scan->s->ctx;
    int rank = scan->of->rank;
    Nest nest = {.own = ARENA_ARRAY(c->arena, ForStmt, rank + 1),
                 .around = ARENA_ARRAY(c->arena, const ForStmt *, scan->path.n + rank + 1),
                 .at = ARENA_ARRAY(c->arena, Expr *, rank + 1)};
    for (int i = 0; i + 1 < scan->path.n; i++)
        if (scan->path.items[i]->kind == ST_FOR)
            nest.around[nest.n++] = &scan->path.items[i]->u.loop;
    for (int d = 0; d < rank; d++)
        nest.at[d] = scan->fixed[d] ? scan->fixed[d]
                                    : own_loop(scan, &nest, arena_printf(c->arena, "ax%d", d),
                                               scan->of->shape[d]);
    nest.at[rank] = own_loop(scan, &nest, scan->loop->u.loop.var->name, scan->loop->u.loop.hi);
    return nest;
}

/* A block in the outermost n loops of the nest; of an update, the last one reduces. */
static Stmt *block_in(const Scan *scan, const Nest *nest, int n, const char *suffix, Stmt *body)
{
    Context *c = scan->s->ctx;
    Name name = sched_fresh_name(scan->s, arena_printf(c->arena, "%s_%s", scan->of->name, suffix));
    return block_implied(c, &(ImpliedBlock){.loops = nest->around,
                                            .n_loops = n,
                                            .n_spatial = nest->n - 1,
                                            .name = name,
                                            .body = body,
                                            .span = scan->origin});
}

static Stmt *assign(const Scan *scan, Buffer *of, Expr *const *at, StoreOp op, Expr *value)
{
    return stmt_assign(scan->s->ctx, (BufferElement){of, at}, op, value, scan->origin);
}

static Stmt *clear_totals(const Scan *scan)
{
    Nest nest = nest_over(scan);
    Stmt *set = assign(scan, scan->total, nest.at, STORE_SET, scan->identity);
    Stmt *block = block_in(scan, &nest, nest.n, "total_clear", set);
    return stmt_in_loops(scan->s->ctx, nest.own, nest.n_own, block, scan->origin);
}

/* temp on;  on = of[k];  for p { before[k, p] = on;  on op= total[k, p]; }  of[k] = on; */
static Stmt *scan_of_totals(const Scan *scan, Stmt **prefixes)
{
    Context *c = scan->s->ctx;
    Nest nest = nest_over(scan);
    Buffer *running = buffer_like(scan, "on", NULL, 0);
    Expr *on = expr_load(c, running, NULL, scan->origin);
    Expr *old = expr_load(c, scan->of, nest.at, scan->origin);
    Expr *total = expr_load(c, scan->total, nest.at, scan->origin);
    Stmt *first = assign(scan, running, NULL, STORE_SET, old);
    Stmt *sum = assign(scan, running, NULL, scan->store->op, total);
    Stmt *last = assign(scan, scan->of, nest.at, STORE_SET, on);
    *prefixes =
        block_in(scan, &nest, nest.n, "before", assign(scan, scan->before, nest.at, STORE_SET, on));
    Stmt *both = stmt_then(c, *prefixes, block_in(scan, &nest, nest.n, "scan", sum));
    Stmt *items[4] = {stmt_temp(c, running, scan->origin),
                      block_in(scan, &nest, nest.n - 1, "start", first),
                      stmt_in_loops(c, &nest.own[nest.n_own - 1], 1, both, scan->origin),
                      block_in(scan, &nest, nest.n - 1, "end", last)};
    Stmt *row = stmt_seq(c, items, 4, scan->origin);
    return stmt_in_loops(c, nest.own, nest.n_own - 1, row, scan->origin);
}

/* ---- accesses by chunk ----------------------------------------------------------------------- */

typedef struct {
    const Buffer *from;
    Buffer *to;
    Expr *part; /* the subscript behind the others */
} ByChunk;

static Expr **chunk_index(Context *c, const ByChunk *by, Expr *const *index)
{
    int rank = by->from->rank;
    Expr **out = ARENA_ARRAY(c->arena, Expr *, rank + 1);
    for (int d = 0; d < rank; d++)
        out[d] = index[d];
    out[rank] = by->part;
    return out;
}

static Expr *in_chunk_expr(Rewriter *r, Expr *e)
{
    const ByChunk *by = r->user;
    return expr_is_load(e, by->from)
               ? expr_load_like(r->ctx, e, by->to, chunk_index(r->ctx, by, e->u.load.index))
               : e;
}

static Stmt *in_chunk_stmt(Rewriter *r, Stmt *s)
{
    const ByChunk *by = r->user;
    return s->kind == ST_STORE && s->u.store.buffer->id == by->from->id
               ? stmt_store_like(r->ctx, s, by->to, chunk_index(r->ctx, by, s->u.store.index),
                                 s->u.store.value)
               : s;
}

/* A name that none of the iterators has. */
static Name part_name(Context *c, const BlockStmt *block, Name name)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].var->name == name)
            return part_name(c, block, ctx_namef(c, "%s_", name));
    return name;
}

/* The iterator that is the loop of the scan; a new one where the block has none. */
static Var *part_of(const Scan *scan, BlockStmt *block)
{
    Context *c = scan->s->ctx;
    const ForStmt *loop = &scan->loop->u.loop;
    BlockIter *iters = block_own_iters(c, block, 1);
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(iters[i].binding, loop->var))
            return iters[i].var;
    Name name = part_name(c, block, loop->var->name);
    iters[block->n_iters++] =
        (BlockIter){.var = var_new(c, name, DT_INDEX, VAR_ITER, loop->var->span),
                    .lo = loop->lo,
                    .hi = loop->hi,
                    .binding = expr_var(c, loop->var, scan->origin),
                    .kind = ITER_SPATIAL};
    return iters[block->n_iters - 1].var;
}

/* What the block does to the buffer, it does to the element of `to` that its chunk has. */
static Stmt *block_by_chunk(const Scan *scan, const Stmt *node, Buffer *to, Name name)
{
    Context *c = scan->s->ctx;
    BlockStmt block = node->u.block;
    Var *part = part_of(scan, &block);
    ByChunk by = {scan->of, to, expr_var(c, part, scan->origin)};
    Rewriter r = {.ctx = c, .user = &by, .expr = in_chunk_expr, .stmt = in_chunk_stmt};
    block.body = rewrite_stmt(&r, block.body);
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        if (iters[i].kind == ITER_REDUCE)
            iters[i].kind = block_implied_kind(c, block.body, iters[i].var);
    block.name = name;
    return stmt_stamp(stmt_block(c, &block, node->span), node);
}

/* The block of the totals, as it would stand in the loop. */
static Stmt *block_of_totals(const Scan *scan)
{
    return stmt_clone_fresh(scan->s->ctx,
                            block_by_chunk(scan, scan->node, scan->total, scan->total->name));
}

/* The loops from that of the scan to its block, with another body. */
static Stmt *copied_loops(const Scan *scan, Stmt *body)
{
    Context *c = scan->s->ctx;
    for (int i = scan->inner.n - 2; i >= 0; i--) {
        const Stmt *at = scan->inner.items[i];
        if (at->kind != ST_FOR)
            continue;
        ForStmt loop = loop_alike(c, at);
        Subst to = {at->u.loop.var, expr_var(c, loop.var, at->u.loop.var->span)};
        loop.body = stmt_subst(c, body, &to, 1);
        body = stmt_for(c, &loop, scan->node->span);
    }
    return body;
}

/* The loop, whose chunks go on from what stands before them. */
static bool loop_of_chunks(const Scan *scan, Stmt **out)
{
    Schedule *s = scan->s;
    Context *c = s->ctx;
    BlockList users = flow_blocks(s, scan->loop, scan->of, ACCESS_ANY);
    *out = scan->loop;
    for (int i = 0; i < users.n; i++) {
        Stmt *user = users.items[i];
        REQUIRE(s, E0532, scan->span, !user->u.block.instruction,
                "block '%s', which reads '%s', is an instruction; tensorize it after the step",
                stmt_label(user), scan->of->name);
        Stmt *now = block_by_chunk(scan, user, scan->before, user->u.block.name);
        *out = stmt_replace(c, *out, user, now);
    }
    REQUIRE(s, E0532, scan->span, !stmt_accesses(c, *out, scan->of, ACCESS_ANY),
            "'%s' decides in loop '%s' which iterations or blocks run", scan->of->name,
            stmt_label(scan->loop));
    return true;
}

/* ---- order ----------------------------------------------------------------------------------- */

static Stmt *declare(const Scan *scan, Stmt *body)
{
    body = flow_declare_beside(scan->s, body, scan->of, scan->total);
    return flow_declare_beside(scan->s, body, scan->of, scan->before);
}

/* A temp of an iteration of the loop that the block reads; NULL: none. */
static const Buffer *temp_read(const Scan *scan)
{
    StmtList temps = stmts_of_kind(scan->s->ctx, scan->loop, ST_TEMP);
    for (int i = 0; i < temps.n; i++)
        if (stmt_accesses(scan->s->ctx, scan->node, temps.items[i]->u.temp, ACCESS_READ))
            return temps.items[i]->u.temp;
    return NULL;
}

/* The totals can be computed before the loop: what they read is not written in it before. */
static bool check_order(const Scan *scan, Stmt *block, Stmt *totals)
{
    Schedule *s = scan->s;
    Context *c = s->ctx;
    const Buffer *temp = temp_read(scan);
    REQUIRE(s, E0533, scan->span, !temp,
            "the totals of '%s' are computed before loop '%s', but what block '%s' combines, or "
            "where, is read from '%s', which an iteration of the loop computes",
            scan->of->name, stmt_label(scan->loop), stmt_label(scan->node), temp->name);
    Conflict why = {0};
    bool reassociates = false;
    Stmt *inside = stmt_replace(c, scan->loop, scan->node, stmt_then(c, block, scan->node));
    Stmt *body = stmt_replace(c, s->kernel->body, scan->loop, inside);
    const Kernel *kernel = kernel_with_body(c, s->kernel, declare(scan, body));
    Stmt *apart[2] = {totals, scan->loop};
    Rewrite rewrite = {kernel, inside, stmt_seq(c, apart, 2, block->span)};
    REQUIRE_KEPT(s, E0533, scan->span, dependence_order_kept(c, rewrite, &reassociates, &why), &why,
                 "the totals of '%s' are computed before loop '%s', but what block '%s' combines, "
                 "or where, depends on earlier iterations",
                 scan->of->name, stmt_label(scan->loop), stmt_label(scan->node));
    return true;
}

/* ---- the step -------------------------------------------------------------------------------- */

static bool find(Scan *scan, const PrimCall *call)
{
    scan->loop = sched_node(scan->s, &call->scan_updates.loop, &scan->path);
    if (!choose_update(scan, &call->scan_updates.block) || !check_block(scan))
        return false;
    scan->inner = stmt_path_to(scan->s->ctx, scan->loop, scan->node);
    if (!check_loop(scan) || !check_buffer(scan) || !check_places(scan) || !find_fixed(scan))
        return false;
    scan->total = buffer_by_chunk(scan, "total");
    scan->before = buffer_by_chunk(scan, "before");
    return true;
}

bool prim_scan_updates(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Scan scan = {.s = s, .span = call->scan_updates.loop.span, .origin = call->span};
    if (!find(&scan, call))
        return false;

    Stmt *block = block_of_totals(&scan), *totals = copied_loops(&scan, block);
    if (!check_order(&scan, block, totals))
        return false;
    Stmt *prefixes, *chunks;
    Stmt *parts[4] = {clear_totals(&scan), totals, scan_of_totals(&scan, &prefixes)};
    if (!loop_of_chunks(&scan, &chunks))
        return false;
    parts[3] = chunks;
    Stmt *body =
        stmt_replace(c, s->kernel->body, scan.loop, stmt_seq(c, parts, 4, scan.loop->span));
    body = declare(&scan, body);
    REQUIRE(s, E0532, scan.span, enter_has_values(s, body, scan.of),
            "some elements of '%s' may have no value before loop '%s'; initialize all of '%s' "
            "first",
            scan.of->name, stmt_label(scan.loop), scan.of->name);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->reassociates = reducer_rounds(scan.store->op, scan.of->type);
    sched_replace_body(s, body);
    Value out[2] = {value_block(block), value_block(prefixes)};
    *result = value_list(s, out, 2);
    return true;
}
