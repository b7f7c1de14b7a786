/* scan_chunks.c - Implements scan_chunks: computes a scan by chunks, one for each iteration of a
 * loop.
 *
 *   s = 0;                            for jo in 4 { total[jo] = 0; for ji in 32
 *   for jo in 4, ji in 32 {               total[jo] += x[jo * 32 + ji]; }
 *       s += x[jo * 32 + ji];         s = 0;
 *       y[jo * 32 + ji] = s;          for jo in 4 {
 *   }                           =>        before[jo] = s;
 *                                         s += total[jo]; }
 *                                     for jo in 4 {
 *                                         temp chunk;
 *                                         chunk = before[jo];
 *                                         for ji in 32 {
 *                                             chunk += x[jo * 32 + ji];
 *                                             y[jo * 32 + ji] = chunk; } }
 *
 * A scan is a loop that carries a value from one iteration to the next by an update, and reads it
 * in between. What else the loop does with the value does not matter, so a store before the update
 * makes the scan exclusive, and one behind it inclusive. The sum of a chunk is a reduction, for
 * which factor.c makes the block. The scan of the sums has the form of a scan again, and so has
 * that of each chunk: the step applies to both. (Reduce, then scan: Merrill and Grimshaw, 2009. A
 * scan of each chunk whose results are added to later would write all elements twice.)
 *
 * Legal: one block updates the value, as a reduction does; the values that it combines can be read
 * before the loop; what the loop reads of the value are elements that the block updates.
 * Invariant: each value is combined once into the sum of its chunk, and each sum into the value
 * that the next chunk starts from, in order. So it holds for reducers that are declared ordered. */
#include "passes/analysis/dependence/dependence.h"
#include "passes/analysis/threads/launch.h"
#include "passes/schedule/enter.h"
#include "passes/schedule/reductions/factor.h"

/* A component of the value as a chunk has it for itself. */
typedef struct {
    const Buffer *of;
    Buffer *buffer;
    int *axes, n; /* those of `of` that it has */
} OwnValue;

typedef struct {
    Schedule *s;
    Span span;     /* of the loop in the call */
    StmtPath path; /* to the loop */
    Stmt *loop, *update;
    Factor f; /* of the update, with an init, as if its loops held nothing else */
    Name prefix_name, chunk_name; /* of blocks */
    Buffer **before;              /* what stands before each chunk, for each component */
    OwnValue *own;                /* of a chunk, for each component */
    Stmt *totals, *prefixes;      /* the loops of the sums; the block that writes `before` */
} Scan;

/* ---- which block ----------------------------------------------------------------------------- */

/* The block updates a value that the loop carries from one iteration to the next, and that another
 * block of the loop reads. */
static bool carries_scan(const Scan *scan, const Stmt *block)
{
    Context *c = scan->s->ctx;
    if (!stmt_is_reduction(&block->u.block) || !stmt_guarded_update(block->u.block.body) ||
        (block->u.block.init && !block_reduces_over(c, &block->u.block, scan->loop->u.loop.var)))
        return false;
    BufferSet written = flow_buffers(scan->s, (Stmt *)block, ACCESS_WRITE);
    for (int i = 0; i < written.n; i++)
        if (!stmt_declares(c, scan->loop, written.items[i]) &&
            flow_other_block(scan->s, scan->loop, block, written.items[i], ACCESS_READ))
            return true;
    return false;
}

static bool find_update(Scan *scan)
{
    Schedule *s = scan->s;
    StmtList blocks = stmts_of_kind(s->ctx, scan->loop, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        Stmt *block = blocks.items[i];
        if (!carries_scan(scan, block))
            continue;
        REQUIRE(s, E0478, scan->span, !scan->update,
                "loop '%s' contains two scans, '%s' and '%s'; name the one to compute by chunks: "
                "scan_chunks(%s, %s)",
                stmt_label(scan->loop), stmt_label(scan->update), stmt_label(block),
                stmt_label(scan->loop), stmt_label(scan->update));
        scan->update = block;
    }
    REQUIRE(s, E0478, scan->span, scan->update != NULL,
            "loop '%s' contains no scan: no block in it updates a value of the iteration before "
            "(s += x[i]) that another block in it reads (y[i] = s); carry makes a scan of a loop "
            "that reads the element before (y[i] = y[i - 1] + x[i])",
            stmt_label(scan->loop));
    return true;
}

static bool named_update(Scan *scan, const Value *block)
{
    Schedule *s = scan->s;
    StmtPath path = {0};
    scan->update = sched_node(s, block, &path);
    REQUIRE(s, E0478, block->span, path_loop(&path, scan->loop->u.loop.id) >= 0,
            "block '%s' is not in loop '%s'", stmt_label(scan->update), stmt_label(scan->loop));
    return true;
}

/* The block of the scan: `named`, or the only one of the loop. */
static bool choose_update(Scan *scan, const Value *named)
{
    Schedule *s = scan->s;
    if (named->kind == VALUE_NONE ? !find_update(scan) : !named_update(scan, named))
        return false;
    Name name = scan->update->u.block.name;
    REQUIRE(s, E0478, scan->span, !scan->update->u.block.init,
            "block '%s' contains its init, so no value stands before loop '%s' that the chunks "
            "could start from; separate it first: decompose_reduction(%s, %s)",
            name, stmt_label(scan->loop), name, stmt_label(scan->loop));
    return true;
}

/* The value outlives an iteration of the loop, and nothing else in the loop writes it. */
static bool check_value(const Scan *scan)
{
    Schedule *s = scan->s;
    Name loop = stmt_label(scan->loop), block = stmt_label(scan->update);
    BufferSet written = flow_buffers(s, scan->update, ACCESS_WRITE);
    for (int k = 0; k < written.n; k++) {
        const Buffer *value = written.items[k];
        REQUIRE(s, E0478, scan->span, !stmt_declares(s->ctx, scan->loop, value),
                "'%s' is declared in loop '%s', so no value of it passes from one iteration to the "
                "next; choose an inner loop",
                value->name, loop);
        const Stmt *writer =
            flow_other_block(scan->s, scan->loop, scan->update, value, ACCESS_WRITE);
        REQUIRE(s, E0478, scan->span, !writer,
                "block '%s' writes '%s', too, in loop '%s', so its chunks do not follow from the "
                "updates of '%s' alone",
                stmt_label(writer), value->name, loop, block);
    }
    return true;
}

/* ---- the update as a reduction --------------------------------------------------------------- */

/* The literal that every other block stores to the element, whatever comes after; NULL: there is no
 * such. */
static Expr *start_of(const Scan *scan, const Buffer *buffer)
{
    Context *c = scan->s->ctx;
    Expr *start = NULL;
    BlockList writers = flow_blocks(scan->s, scan->s->kernel->body, buffer, ACCESS_WRITE);
    for (int i = 0; i < writers.n; i++) {
        const Stmt *block = writers.items[i], *store = flow_single_store(c, block);
        if (block == scan->update)
            continue;
        if (!store || block->u.block.init || store->u.store.op != STORE_SET ||
            store->u.store.value->kind != EX_FLOAT ||
            (start && !expr_equal(start, store->u.store.value)))
            return NULL;
        start = store->u.store.value;
    }
    return buffer->role == ROLE_INOUT ? NULL : start;
}

/* The init of a reduction that stores `value` to all that an update writes: of a tuple its
 * identity. */
static Stmt *init_of(const Scan *scan, const Stmt *update)
{
    Context *c = scan->s->ctx;
    TupleUpdate tuple;
    if (tuple_update_of(c, update, &tuple))
        return tuple_identities(c, tuple.combiner, tuple.targets, update->span);
    StoreStmt store = update->u.store;
    Expr *start = start_of(scan, store.buffer);
    store.value = start ? start : reducer_neutral(c, store.op, store.buffer->type, update->span);
    store.op = STORE_SET;
    store.atomic = false;
    return store.value ? stmt_store(c, &store, update->span) : NULL;
}

/* The path to the update through loops alone, with the update as a reduction. */
static bool make_reduction(Scan *scan)
{
    Schedule *s = scan->s;
    Context *c = s->ctx;
    Factor *f = &scan->f;
    const Stmt *update = stmt_guarded_update(scan->update->u.block.body);
    BlockStmt block = scan->update->u.block;
    StmtPath inner = stmt_path_to(c, scan->loop, scan->update);
    *f = (Factor){.s = s, .loop = scan->loop, .anchor = scan->path.n - 1};
    f->path = path_joined(c, &scan->path, f->anchor, (StmtPath){0});
    for (int i = 0; i + 1 < inner.n; i++) {
        Stmt *at = inner.items[i];
        REQUIRE(s, E0478, scan->span, at->kind == ST_FOR || at->kind == ST_SEQ,
                "block '%s' is under a condition in loop '%s'; move the condition into the value "
                "that it combines (s += c ? x[i] : 0)",
                stmt_label(scan->update), stmt_label(scan->loop));
        if (at->kind == ST_FOR && !sched_require_serial(s, at, scan->span))
            return false;
        if (at->kind == ST_FOR)
            VEC_PUSH(c->arena, &f->path, at);
    }
    block.init = update ? init_of(scan, update) : NULL;
    REQUIRE(s, E0476, scan->span, block.init != NULL,
            "block '%s' cannot be computed by chunks: it is not a single update, such as s += x[i]",
            stmt_label(scan->update));
    f->node = stmt_block(c, &block, scan->update->span);
    f->block = &f->node->u.block;
    VEC_PUSH(c->arena, &f->path, f->node);
    return factor_check_reducer(f, scan->span) && factor_check_loops(f, scan->span);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A copy of the loops from the anchor to the block, with a body. */
static Stmt *copied_loops(const Factor *f, Stmt *body)
{
    Context *c = f->s->ctx;
    for (int i = f->path.n - 2; i >= f->anchor; i--) {
        ForStmt loop = loop_alike(c, f->path.items[i]);
        Var *old = f->path.items[i]->u.loop.var;
        Subst to = {old, expr_var(c, loop.var, old->span)};
        loop.body = stmt_subst(c, body, &to, 1);
        body = stmt_for(c, &loop, f->node->span);
    }
    return body;
}

/* `body` with buffers beside those of the value. */
static Stmt *declare(const Scan *scan, Stmt *body, Buffer *const *buffers)
{
    for (int k = scan->f.r.n - 1; k >= 0; k--)
        body = flow_declare_beside(scan->s, body, scan->f.r.parts[k].target.buffer, buffers[k]);
    return body;
}

/* A temp of an iteration of the loop that the block reads; NULL: none. */
static const Buffer *temp_read(const Scan *scan, Stmt *block)
{
    StmtList temps = stmts_of_kind(scan->s->ctx, scan->loop, ST_TEMP);
    for (int i = 0; i < temps.n; i++)
        if (stmt_accesses(scan->s->ctx, block, temps.items[i]->u.temp, ACCESS_READ))
            return temps.items[i]->u.temp;
    return NULL;
}

/* The sums of all chunks can be computed before the loop: what they read is not written in it
 * before. */
static bool check_order(const Scan *scan, Stmt *block)
{
    Schedule *s = scan->s;
    Context *c = s->ctx;
    const Buffer *temp = temp_read(scan, block);
    REQUIRE(s, E0479, scan->span, !temp,
            "the sums of the chunks of '%s' are computed before loop '%s', but what block '%s' "
            "combines is read from '%s', which an iteration of the loop computes",
            scan->f.r.parts[0].target.buffer->name, stmt_label(scan->loop),
            stmt_label(scan->update), temp->name);
    Conflict why = {0};
    bool reassociates = false;
    Stmt *inside = stmt_replace(c, scan->loop, scan->update, stmt_then(c, block, scan->update));
    Stmt *apart[2] = {scan->totals, scan->loop};
    Stmt *body = stmt_replace(c, s->kernel->body, scan->loop, inside);
    const Kernel *kernel = kernel_with_body(c, s->kernel, declare(scan, body, scan->f.rf));
    Rewrite rewrite = {kernel, inside, stmt_seq(c, apart, 2, block->span)};
    REQUIRE_KEPT(s, E0479, scan->span, dependence_order_kept(c, rewrite, &reassociates, &why), &why,
                 "the sums of the chunks of '%s' are computed before loop '%s', but what block "
                 "'%s' combines depends on earlier iterations",
                 scan->f.r.parts[0].target.buffer->name, stmt_label(scan->loop),
                 stmt_label(scan->update));
    return true;
}

/* The block updates an element of the buffer in each of its iterations, also where its condition
 * does not hold. */
static bool is_element(const Scan *scan, const BufferElement *target)
{
    Facts *facts = sched_facts(scan->s, &scan->f.path);
    facts_enter(facts, scan->f.node);
    return load_exists(facts, expr_load(scan->s->ctx, target->buffer, target->index, scan->span));
}

/* Each value that comes before the first chunk is there, and has been written: behind a condition
 * the loop may have read none. */
static bool check_values(const Scan *scan, Stmt *body)
{
    Schedule *s = scan->s;
    for (int k = 0; scan->f.r.guard && k < scan->f.r.n; k++) {
        const Buffer *of = scan->f.r.parts[k].target.buffer;
        REQUIRE(s, E0478, scan->span, is_element(scan, &scan->f.r.parts[k].target),
                "block '%s' updates elements of '%s' behind a condition that keeps it inside of "
                "the buffer; the scan of the sums has no such condition",
                stmt_label(scan->update), of->name);
        REQUIRE(s, E0478, scan->span, enter_has_values(s, body, of),
                "some elements of '%s' may have no value before loop '%s', which reads them only "
                "behind a condition; initialize all of '%s' first",
                of->name, stmt_label(scan->loop), of->name);
    }
    return true;
}

/* What the loop, as it is in `body`, reads of its own values has been written in the same
 * iteration. */
static bool check_reads(const Scan *scan, Stmt *body)
{
    Schedule *s = scan->s;
    StmtPath path = {0};
    stmt_find(s->ctx, body, scan->loop->u.loop.id, &path);
    for (int k = 0; k < scan->f.r.n; k++)
        REQUIRE(s, E0478, scan->span,
                flow_written_in_iteration(s, body, &path, scan->own[k].buffer),
                "loop '%s' reads elements of '%s' that are not known to be those that block '%s' "
                "updates in it, so they may be of earlier chunks",
                stmt_label(scan->loop), scan->f.r.parts[k].target.buffer->name,
                stmt_label(scan->update));
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A block for each value of `part`, an iterator that is bound to `loop`. */
typedef struct {
    Name name;
    IterKind kind; /* of the iterator, and of those of loops that carry the value to the scan */
    Var *part;
    const ForStmt *loop;
    Stmt *body;
} PartBlock;

/* That block, which has the iterators of `bottom`, the end of a nest of factor_spread, besides. */
static Stmt *part_block(const Scan *scan, const Stmt *bottom, const PartBlock *of)
{
    Context *c = scan->s->ctx;
    const Factor *f = &scan->f;
    BlockStmt block = bottom->u.block;
    BlockIter *iters = block_own_iters(c, &block, f->n_outer + 1);
    SubstList map = {0};
    for (int i = 0; i < f->n_spatial; i++)
        VEC_PUSH(c->arena, &map,
                 ((Subst){f->iters.items[i].var, expr_var(c, iters[i].var, bottom->span)}));
    for (int i = 0; i < f->n_outer; i++) {
        BlockIter outer = f->iters.items[f->n_spatial + i];
        outer.lo = expr_subst(c, outer.lo, map.items, map.n);
        outer.hi = expr_subst(c, outer.hi, map.items, map.n);
        outer.kind = of->kind;
        iters[block.n_iters++] = outer;
    }
    BlockIter part = {.var = of->part, .kind = of->kind};
    loop_domain(c, of->loop, &part.lo, &part.hi);
    part.binding = expr_var(c, of->loop->var, bottom->span);
    iters[block.n_iters++] = part;
    block.name = of->name;
    block.id = 0;
    block.body = of->body;
    return stmt_clone_fresh(c, stmt_block(c, &block, bottom->span));
}

/* The stores  to[k] = from[k], of elements. */
static Stmt *copies(const Scan *scan, const BufferElement *to, const BufferElement *from)
{
    Context *c = scan->s->ctx;
    const Reducer *r = &scan->f.r;
    return reducer_set(c, r, (ReducerStore){to, reducer_load(c, r, from)});
}

/* The nest that scans the sums: before[part] = value; value op= total[part]. */
static Stmt *scan_of_totals(Scan *scan)
{
    Schedule *s = scan->s;
    Context *c = s->ctx;
    Factor *f = &scan->f;
    Span span = f->r.update->span;
    Var *part = var_new(c, f->part->name, DT_INDEX, VAR_ITER, span);
    Stmt *copy = copies(scan, factor_elements(f, scan->before, part), reducer_targets(c, &f->r));
    Stmt *both = stmt_then(c, copy, factor_update_by(f, part)), *bottom;
    Stmt *nest = factor_spread(f, f->anchor, both, &bottom);
    if (!nest)
        return NULL;
    ForStmt loop = loop_alike(c, f->loop);
    Stmt *const *items = bottom->u.block.body->u.seq.items;
    Stmt *first = stmt_seq(c, items, f->r.n, span);
    PartBlock before = {scan->prefix_name, ITER_SPATIAL, part, &loop, first};
    PartBlock sum = {factor_name(f, "scan"), ITER_REDUCE, part, &loop, items[f->r.n]};
    scan->prefixes = part_block(scan, bottom, &before);
    loop.body = stmt_then(c, scan->prefixes, part_block(scan, bottom, &sum));
    return stmt_replace(c, nest, bottom, stmt_for(c, &loop, span));
}

/* The subscript is the same in all iterations of the loop, and in all accesses of `buffer` there:
 * its axis needs no place in the value of a chunk. */
static bool is_fixed(const Scan *scan, const Buffer *buffer, int axis, const Expr *subscript)
{
    Context *c = scan->s->ctx;
    const Factor *f = &scan->f;
    for (int i = f->anchor; i + 1 < f->path.n; i++)
        if (expr_uses_var(subscript, f->path.items[i]->u.loop.var))
            return false;
    BlockList users = flow_blocks(scan->s, scan->loop, buffer, ACCESS_ANY);
    for (int i = 0; i < users.n; i++) {
        AccessList all = access_list(c, users.items[i], buffer, ACCESS_ANY);
        for (int n = 0; n < all.n; n++)
            if (!expr_equal(subscript,
                            iters_to_loops(c, &users.items[i]->u.block, all.items[n].index[axis])))
                return false;
    }
    return true;
}

/* The buffer of a chunk's own value of one component. */
static OwnValue own_value(const Scan *scan, int k, Span origin)
{
    Context *c = scan->s->ctx;
    const Factor *f = &scan->f;
    const BufferElement *target = &f->r.parts[k].target;
    OwnValue own = {.of = target->buffer,
                    .axes = ARENA_ARRAY(c->arena, int, target->buffer->rank + 1)};
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, target->buffer->rank + 1);
    for (int d = 0; d < target->buffer->rank; d++) {
        Expr *at = iters_to_loops(c, f->block, target->index[d]);
        if (is_fixed(scan, target->buffer, d, at))
            continue;
        shape[own.n] = target->buffer->shape[d];
        own.axes[own.n++] = d;
    }
    own.buffer = factor_buffer(f, k, scan->chunk_name,
                               &(Buffer){.shape = shape, .rank = own.n, .origin = origin});
    return own;
}

static Expr **own_index(Context *c, const OwnValue *own, Expr *const *index)
{
    Expr **out = ARENA_ARRAY(c->arena, Expr *, own->n + 1);
    for (int i = 0; i < own->n; i++)
        out[i] = index[own->axes[i]];
    return out;
}

static Expr *use_own_expr(Rewriter *r, Expr *e)
{
    const OwnValue *own = r->user;
    if (!expr_is_load(e, own->of))
        return e;
    return expr_load_like(r->ctx, e, own->buffer, own_index(r->ctx, own, e->u.load.index));
}

static Stmt *use_own_stmt(Rewriter *r, Stmt *s)
{
    const OwnValue *own = r->user;
    if (s->kind != ST_STORE || s->u.store.buffer->id != own->of->id)
        return s;
    return stmt_store_like(r->ctx, s, own->buffer, own_index(r->ctx, own, s->u.store.index),
                           s->u.store.value);
}

/* The body, where each iteration of the loop has a value of its own: iterators of the update that
 * are the loop give elements, and carry nothing. */
static Stmt *update_of_chunk(const Scan *scan, Stmt *body)
{
    Context *c = scan->s->ctx;
    Stmt *update = stmt_find(c, body, scan->update->u.block.id, NULL);
    BlockStmt block = update->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    bool changed = false;
    for (int i = 0; i < block.n_iters; i++)
        if (iters[i].kind == ITER_REDUCE && expr_is_var(iters[i].binding, scan->loop->u.loop.var)) {
            iters[i].kind = ITER_SPATIAL;
            changed = true;
        }
    if (!changed)
        return body;
    return stmt_replace(c, body, update, stmt_stamp(stmt_block(c, &block, update->span), update));
}

/* The loop in which each chunk starts from what stands before it, and goes on with a value of its
 * own. */
static Stmt *scan_of_chunks(Scan *scan, Span origin)
{
    Context *c = scan->s->ctx;
    Factor *f = &scan->f;
    Span span = f->r.update->span;
    Var *part = var_new(c, f->part->name, DT_INDEX, VAR_ITER, span);
    BufferElement *to = reducer_targets(c, &f->r);
    Stmt *body = scan->loop->u.loop.body, *bottom;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, f->r.n + 2);
    for (int k = 0; k < f->r.n; k++) {
        OwnValue *own = &scan->own[k];
        *own = own_value(scan, k, origin);
        Rewriter r = {.ctx = c, .user = own, .expr = use_own_expr, .stmt = use_own_stmt};
        body = rewrite_stmt(&r, body);
        to[k] = (BufferElement){own->buffer, own_index(c, own, to[k].index)};
        items[k] = stmt_temp(c, own->buffer, span);
    }
    body = update_of_chunk(scan, body);
    Stmt *start = copies(scan, to, factor_elements(f, scan->before, part));
    Stmt *nest = factor_spread(f, f->anchor, start, &bottom);
    if (!nest)
        return NULL;
    PartBlock first = {scan->chunk_name, ITER_SPATIAL, part, &scan->loop->u.loop,
                       bottom->u.block.body};
    items[f->r.n] = stmt_replace(c, nest, bottom, part_block(scan, bottom, &first));
    items[f->r.n + 1] = body;
    return loop_with_body(c, scan->loop, stmt_seq(c, items, f->r.n + 2, span));
}

bool prim_scan_chunks(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Scan scan = {.s = s, .span = call->scan_chunks.loop.span};
    Factor *f = &scan.f;
    scan.loop = sched_node(s, &call->scan_chunks.loop, &scan.path);
    if (!choose_update(&scan, &call->scan_chunks.block) || !check_value(&scan) ||
        !make_reduction(&scan) || !factor_find_iters(f, scan.span))
        return false;

    f->name = factor_name(f, "total");
    f->rf = factor_buffers(f, f->name, call->span);
    scan.prefix_name = factor_name(f, "before");
    scan.before = factor_buffers(f, scan.prefix_name, call->span);
    scan.chunk_name = factor_name(f, "chunk");
    scan.own = ARENA_ARRAY(c->arena, OwnValue, f->r.n);
    Stmt *block = factor_block(f);
    scan.totals = copied_loops(f, block);
    if (!check_order(&scan, block))
        return false;
    Stmt *prefixes = scan_of_totals(&scan), *chunks = scan_of_chunks(&scan, call->span);
    if (!prefixes || !chunks)
        return false;
    Stmt *parts[3] = {scan.totals, prefixes, chunks};
    Stmt *body =
        stmt_replace(c, s->kernel->body, scan.loop, stmt_seq(c, parts, 3, scan.loop->span));
    body = declare(&scan, declare(&scan, body, scan.before), f->rf);
    if (!check_reads(&scan, body) || !check_values(&scan, body) ||
        !flow_recheck_kinds(s, body, scan.loop->u.loop.id, call->span))
        return false;
    s->reassociates = f->r.rounds;
    sched_replace_body(s, body);
    Value out[2] = {value_block(block), value_block(scan.prefixes)};
    *result = value_list(s, out, 2);
    return true;
}
