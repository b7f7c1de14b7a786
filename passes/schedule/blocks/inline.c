/* inline.c - Implements compute_inline and reverse_compute_inline: substitutes a block into its
 * readers, or into its producer.
 *
 * Legal: a producer is one store, a function of its iterators, that nothing it reads changes before
 * its readers; a consumer reads one element of what its only producer makes.
 * Invariant: every block that stays computes what it computed. */
#include "passes/schedule/blocks/inline.h"

#include "passes/analysis/polyhedral/poly.h"
#include "passes/schedule/blocks/tie.h"

/* A value that replaces reads: `place` are the variables that stand for the subscripts. */
typedef struct {
    const Buffer *buffer;
    Var *const *place; /* [rank] */
    Expr *value;
} Inline;

static Expr *inline_load(Rewriter *r, Expr *e)
{
    const Inline *in = r->user;
    if (e->kind != EX_LOAD || e->u.load.buffer->id != in->buffer->id)
        return e;
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, in->buffer->rank + 1);
    for (int i = 0; i < in->buffer->rank; i++)
        map[i] = (Subst){in->place[i], e->u.load.index[i]};
    return expr_subst(r->ctx, in->value, map, in->buffer->rank);
}

/* The block is `buffer[its iterators] = value`, the only writer of a temp, under nothing but plain
 * loops. */
static bool is_plain_producer(Schedule *s, Span span, const IndexedBlock *of, const StmtPath *path,
                              const char *what)
{
    Stmt *block = of->block;
    Name name = block->u.block.name;
    BlockList writers = {0};
    const Stmt *store = flow_single_store(s->ctx, block);
    REQUIRE(s, E0460, span, store && store->u.store.op == STORE_SET && !block->u.block.init,
            "%s '%s' %s, so no single expression can replace its buffer", what, name,
            store ? "is a reduction" : flow_no_single_store(s->ctx, block));
    const Buffer *buffer = store->u.store.buffer;
    REQUIRE(s, E0460, span, !stmt_accesses(s->ctx, block, buffer, ACCESS_READ),
            "%s '%s' reads '%s', which it writes", what, name, buffer->name);
    REQUIRE(s, E0460, span, buffer->role == ROLE_TEMP,
            "%s '%s' writes '%s', a parameter, which must exist after the kernel", what, name,
            buffer->name);
    flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE, &writers);
    REQUIRE(s, E0460, span, writers.n == 1, "'%s' is also written by block '%s'", buffer->name,
            writers.items[writers.items[0] == block]->u.block.name);
    for (int i = 0; i < path->n; i++)
        REQUIRE(s, E0460, span, path->items[i]->kind != ST_IF, "%s '%s' is in a conditional branch",
                what, name);
    return true;
}

static bool shares_loop(const StmtPath *a, const StmtPath *b)
{
    for (int i = flow_common(a, b) - 1; i >= 0; i--)
        if (a->items[i]->kind == ST_FOR)
            return true;
    return false;
}

/* What a reader copies of elements that the block has not made yet does no harm, but the expression
 * in their place may read what is not there yet. */
static bool made_before_read(Schedule *s, Span span, const StmtPath *path, const BlockList *readers,
                             const Buffer *buffer)
{
    for (int r = 0; r < readers->n; r++) {
        StmtPath reader = {0};
        stmt_find(s->ctx, s->kernel->body, readers->items[r]->u.block.id, &reader);
        if (!shares_loop(path, &reader))
            continue;
        REQUIRE(s, E0461, span, flow_written_before_read(s, path, buffer),
                "block '%s' and others in the same loop read '%s'; could not prove that they read "
                "only elements that block '%s' has written already, so the inlined expression "
                "might read missing values",
                readers->items[r]->u.block.name, buffer->name,
                path->items[path->n - 1]->u.block.name);
        return true;
    }
    return true;
}

/* No block but the readers' own statements stands between, that writes what the block reads. */
static bool inputs_last(Schedule *s, Span span, Stmt *block, const StmtPath *path,
                        const BlockList *readers)
{
    const Buffer *overwritten;
    for (int r = 0; r < readers->n; r++) {
        StmtPath reader = {0};
        stmt_find(s->ctx, s->kernel->body, readers->items[r]->u.block.id, &reader);
        int n = flow_common(path, &reader), from = 0, to = 0;
        const Stmt *seq = path->items[n - 1];
        if (seq->kind != ST_SEQ)
            continue;
        for (int i = 0; i < seq->u.seq.n; i++) {
            from = seq->u.seq.items[i] == path->items[n] ? i : from;
            to = seq->u.seq.items[i] == reader.items[n] ? i : to;
        }
        REQUIRE(s, E0461, span, from < to, "block '%s' reads '%s' before block '%s' writes it",
                readers->items[r]->u.block.name,
                flow_single_store(s->ctx, block)->u.store.buffer->name, block->u.block.name);
        const Stmt *writer = flow_overwritten(s, (SeqRange){.seq = seq, .from = from, .to = to},
                                              block, &overwritten);
        REQUIRE(s, E0461, span, !writer,
                "block '%s' writes '%s' before block '%s' has finished, so the inlined expression "
                "would read other values",
                writer->u.block.name, overwritten->name, readers->items[r]->u.block.name);
    }
    return true;
}

/* The value of an element in terms of its subscripts: the block's, at the iteration that stores
 * it. */
static bool find_value(Schedule *s, Span span, const Stmt *block, const Stmt *store, Inline *in)
{
    const BlockStmt *b = &block->u.block;
    const Buffer *buffer = store->u.store.buffer;
    Subst *at = ARENA_ARRAY(s->ctx->arena, Subst, b->n_iters + 1);
    Tie tie;
    bool tied = tie_find(s, block, buffer, store->u.store.index, &tie) && tie.covers;
    for (int i = 0; i < b->n_iters && tied; i++) {
        tied = tie.back[i] != NULL;
        at[i] = (Subst){b->iters[i].var, tie.back[i]};
    }
    REQUIRE(s, E0460, span, tied,
            "the subscripts at which block '%s' writes '%s' do not decide its iterators for each "
            "element, so the value of an element is unknown",
            b->name, buffer->name);
    *in = (Inline){buffer, tie.place, expr_subst(s->ctx, store->u.store.value, at, b->n_iters)};
    return true;
}

bool prim_compute_inline(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Context *c = s->ctx;
    Span span = call->compute_inline.block.span;
    Stmt *block = sched_block(s, &call->compute_inline.block, &path);
    const Stmt *store = flow_single_store(c, block);
    IndexedBlock of = indexed_block(c, block, store ? store->u.store.buffer->rank : 0);
    BlockList readers = {0};
    Inline in;
    if (!is_plain_producer(s, span, &of, &path, "block"))
        return false;
    const Buffer *buffer = store->u.store.buffer;
    REQUIRE(s, E0460, span, !block->u.block.predicate,
            "block '%s' has a condition; where it is false, the expression may be undefined; "
            "inline the block before its loops are split",
            block->u.block.name);
    flow_blocks(s, s->kernel->body, buffer, ACCESS_READ, &readers);
    if (!find_value(s, span, block, store, &in) || !inputs_last(s, span, block, &path, &readers) ||
        !made_before_read(s, span, &path, &readers, buffer))
        return false;

    Stmt *body = flow_remove(s, s->kernel->body, block);
    Rewriter r = {.ctx = c, .user = &in, .expr = inline_load};
    body = flow_undeclare(s, rewrite_stmt(&r, body), buffer);
    sched_replace_body(s, body);
    (void)result;
    return true;
}

/* ---- reverse_compute_inline ------------------------------------------------------------------ */

/* The one buffer that the block reads which is a temp with a single plain producer and no other
 * reader. */
static Stmt *find_producer(Schedule *s, Stmt *block, const Buffer **between)
{
    BufferSet read = {0};
    flow_buffers(s, block, ACCESS_READ, &read);
    for (int i = 0; i < read.n; i++) {
        BlockList writers = {0}, readers = {0};
        flow_blocks(s, s->kernel->body, read.items[i], ACCESS_WRITE, &writers);
        flow_blocks(s, s->kernel->body, read.items[i], ACCESS_READ, &readers);
        if (read.items[i]->role == ROLE_TEMP && writers.n == 1 && readers.n == 1 &&
            writers.items[0] != block) {
            *between = read.items[i];
            return writers.items[0];
        }
    }
    return NULL;
}

IndexedBlock indexed_block(Context *c, Stmt *block, int rank)
{
    return (IndexedBlock){block, rank, ARENA_ARRAY(c->arena, int, rank + 1)};
}

bool inline_reads_at_iterators(Schedule *s, const Buffer *between, IndexedBlock *at)
{
    AccessList reads = {0};
    access_collect(s->ctx, at->block, between, ACCESS_READ, &reads);
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

Subst *inline_axis_map(Context *c, IndexedBlock from, IndexedBlock to)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, to.rank + 1);
    for (int axis = 0; axis < to.rank; axis++)
        map[axis] =
            (Subst){axis_iter(from, axis)->var, expr_var(c, axis_iter(to, axis)->var, span_none())};
    return map;
}

/* Ranges may speak of other iterators. */
bool inline_same_domains(Schedule *s, IndexedBlock a, IndexedBlock b)
{
    Context *c = s->ctx;
    Facts *facts = facts_of_kernel(c, s->kernel);
    Subst *map = inline_axis_map(c, b, a);
    for (int axis = 0; axis < a.rank; axis++) {
        const BlockIter *x = axis_iter(a, axis), *y = axis_iter(b, axis);
        Expr *lo = expr_subst(c, y->lo, map, a.rank), *hi = expr_subst(c, y->hi, map, a.rank);
        if (!expr_equal(simplify(facts, x->lo), simplify(facts, lo)) ||
            !expr_equal(simplify(facts, x->hi), simplify(facts, hi)))
            return false;
    }
    return true;
}

static bool proved_at_most(Schedule *s, Facts *facts, Expr *a, Expr *b)
{
    return prove(facts, expr_binary(s->ctx, EX_LE, a, b, span_none()));
}

/* The ranges of `part` are of sizes alone and lie within those of `whole`, axis by axis. */
static bool within_domains(Schedule *s, IndexedBlock part, IndexedBlock whole)
{
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    for (int axis = 0; axis < part.rank; axis++) {
        const BlockIter *x = axis_iter(part, axis), *y = axis_iter(whole, axis);
        if (!expr_of_sizes(x->lo) || !expr_of_sizes(x->hi) || !expr_of_sizes(y->lo) ||
            !expr_of_sizes(y->hi) || !proved_at_most(s, facts, y->lo, x->lo) ||
            !proved_at_most(s, facts, x->hi, y->hi))
            return false;
    }
    return true;
}

/* The iterators of the producer, which run over what the block does. */
static const BlockIter *iters_over(Context *c, IndexedBlock maker, IndexedBlock user)
{
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, maker.rank + 1);
    for (int axis = 0; axis < maker.rank; axis++) {
        BlockIter *iter = &iters[maker.axes[axis]];
        *iter = *axis_iter(maker, axis);
        iter->lo = axis_iter(user, axis)->lo;
        iter->hi = axis_iter(user, axis)->hi;
    }
    return iters;
}

bool inline_runs_whole(Schedule *s, Name what, const Stmt *block, Span span)
{
    Conflict why;
    REQUIRE_KEPT(
        s, E0462, span, flow_runs_whole(s, block, &why), &why,
        "block '%s' does not run over the full domains of its iterators, but '%s' would: %s",
        block->u.block.name, what, why.reason);
    return true;
}

/* The producer computes each element once, and so will the block in its place. */
static bool producer_runs_once(Schedule *s, Name what, const Stmt *producer, Span span)
{
    Conflict why;
    REQUIRE_KEPT(s, E0462, span, flow_runs_once(s, producer, &why), &why,
                 "block '%s' would run in the place of its producer '%s', which does not compute "
                 "each element exactly once: %s",
                 what, producer->u.block.name, why.reason);
    return true;
}

/* The block's store moves up to its producer: nothing from there to the block may write what it
 * reads, or touch what it writes. */
bool inline_order_kept(Schedule *s, Span span, const StmtPath *block_path,
                       const StmtPath *producer_path, Stmt *block)
{
    Stmt *producer = producer_path->items[producer_path->n - 1];
    Buffer *written = flow_written(s, block);
    int n = flow_common(block_path, producer_path);
    const Stmt *seq = block_path->items[n - 1];
    BufferSet read = {0};
    BlockList others = {0};
    flow_buffers(s, block, ACCESS_READ, &read);
    bool between = false;
    for (int i = 0; seq->kind == ST_SEQ && i < seq->u.seq.n; i++) {
        Stmt *item = seq->u.seq.items[i];
        between |= item == producer_path->items[n];
        for (int b = 0; between && b < read.n; b++)
            flow_blocks(s, item, read.items[b], ACCESS_WRITE, &others);
        if (between)
            flow_blocks(s, item, written, ACCESS_ANY, &others);
        between &= item != block_path->items[n];
    }
    for (int i = 0; i < others.n; i++)
        REQUIRE(s, E0461, span, others.items[i] == block || others.items[i] == producer,
                "block '%s' is between producer and consumer and accesses data of block '%s', so "
                "that block cannot move up",
                others.items[i]->u.block.name, block->u.block.name);
    return true;
}

/* Where the producer reads what the block writes, all of it was read before any was written. Now
 * each point reads the element that it writes itself, and no other point writes that. */
static bool stays_in_place(Schedule *s, const BlockStmt *fused)
{
    const Stmt *store = stmt_written_out(s->ctx, fused->body);
    if (!store)
        return false;
    const Buffer *written = store->u.store.buffer;
    int *iters = ARENA_ARRAY(s->ctx->arena, int, written->rank + 1);
    if (!expr_reads(store->u.store.value, written))
        return true;
    return !flow_reads_other_element(s->ctx, store) &&
           flow_pure_index(fused, written, store->u.store.index, iters) &&
           written->rank == fused->n_iters;
}

/* A block that goes into its producer. */
typedef struct {
    Schedule *s;
    Span span;
    StmtPath path, producer_path;
    const Buffer *between;
    IndexedBlock producer, block; /* by the axes of that buffer */
    bool same;                    /* their domains are */
} ReverseInline;

static bool writes_at_iterators(Schedule *s, Span span, const IndexedBlock *of)
{
    const Stmt *block = of->block, *store = flow_single_store(s->ctx, block);
    const Buffer *buffer = store->u.store.buffer;
    REQUIRE(s, E0460, span,
            flow_pure_index(&block->u.block, buffer, store->u.store.index, of->axes) &&
                block->u.block.n_iters == buffer->rank,
            "its producer, block '%s' does not write '%s' with each of its iterators as one "
            "subscript, so the value of an element is unknown",
            block->u.block.name, buffer->name);
    return true;
}

static bool find_pair(ReverseInline *v, const PrimCall *call)
{
    Schedule *s = v->s;
    Stmt *block = sched_block(s, &call->reverse_compute_inline.block, &v->path);
    Stmt *producer = find_producer(s, block, &v->between);
    REQUIRE(s, E0460, v->span, producer != NULL,
            "block '%s' reads no temp with a single writer and no other reader",
            block->u.block.name);
    stmt_find(s->ctx, s->kernel->body, producer->u.block.id, &v->producer_path);
    v->producer = indexed_block(s->ctx, producer, v->between->rank);
    v->block = indexed_block(s->ctx, block, v->between->rank);
    return true;
}

static bool check_pair(ReverseInline *v)
{
    Schedule *s = v->s;
    const BlockStmt *block = &v->block.block->u.block, *producer = &v->producer.block->u.block;
    if (!is_plain_producer(s, v->span, &v->producer, &v->producer_path, "its producer, block") ||
        !writes_at_iterators(s, v->span, &v->producer))
        return false;
    REQUIRE(s, E0460, v->span,
            flow_single_store(s->ctx, v->block.block) && !block->init && !block->predicate &&
                !producer->predicate && inline_reads_at_iterators(s, v->between, &v->block),
            "block '%s' does not read '%s' in one plain store, with each iterator as one subscript",
            block->name, v->between->name);
    REQUIRE(s, E0460, v->span,
            !stmt_accesses(s->ctx, v->block.block, flow_written(s, v->block.block), ACCESS_READ),
            "block '%s' reads its own output, in the order of its own loops, which differs from "
            "its producer's",
            block->name);
    v->same = inline_same_domains(s, v->producer, v->block);
    REQUIRE(s, E0462, v->span, v->same || within_domains(s, v->block, v->producer),
            "block '%s' and its producer '%s' have different domains, and the consumer's is not "
            "provably a box inside the producer's",
            block->name, producer->name);
    return inline_runs_whole(s, producer->name, v->block.block, v->span) &&
           producer_runs_once(s, block->name, v->producer.block, v->span);
}

/* The block's store, in the place of its producer's. */
static BlockStmt build_in_producer(const ReverseInline *v)
{
    Context *c = v->s->ctx;
    int n = v->between->rank;
    Var **iters = ARENA_ARRAY(c->arena, Var *, n + 1);
    for (int axis = 0; axis < n; axis++)
        iters[axis] = axis_iter(v->producer, axis)->var;
    Inline in = {v->between, iters, flow_single_store(c, v->producer.block)->u.store.value};
    Rewriter r = {.ctx = c, .user = &in, .expr = inline_load};
    BlockStmt fused = v->producer.block->u.block;
    if (!v->same)
        fused.iters = iters_over(c, v->producer, v->block);
    Subst *map = inline_axis_map(c, v->block, v->producer);
    fused.body = rewrite_stmt(&r, stmt_subst(c, v->block.block->u.block.body, map, n));
    return fused;
}

bool prim_reverse_compute_inline(Schedule *s, const PrimCall *call, Value *result)
{
    ReverseInline v = {.s = s, .span = call->reverse_compute_inline.block.span};
    if (!find_pair(&v, call) || !check_pair(&v))
        return false;
    Stmt *block = v.block.block, *producer = v.producer.block;
    BlockStmt fused = build_in_producer(&v);
    REQUIRE(s, E0461, v.span, stays_in_place(s, &fused),
            "block '%s' reads elements of block '%s' before they are written, and would then read "
            "some after",
            producer->u.block.name, block->u.block.name);
    if (!inline_order_kept(s, v.span, &v.path, &v.producer_path, block))
        return false;
    Stmt *body =
        stmt_replace(s->ctx, s->kernel->body, producer, stmt_block(s->ctx, &fused, producer->span));
    sched_replace_body(s, flow_undeclare(s, flow_remove(s, body, block), v.between));
    (void)result;
    return true;
}
