/* reverse_compute_inline.c - Implements reverse_compute_inline: substitutes a block into the
 * producer of what it reads.
 *
 *   for i in 10                              for i in 10
 *       t[9 - i] = x[i] + 1;         =>          t: y[9 - i] = (x[i] + 1) * 2;
 *   for j in 10
 *       y[j] = t[j] * 2;
 *
 * The element that an iteration of the producer writes decides the iteration of the block that
 * reads it (tie.h).
 *
 * Legal: each iteration of the block reads one element, which no other reads and one iteration of
 * its only producer writes, also if a condition of the producer leaves out elements that are not
 * read; at the producer's place it computes what it does now.
 * Invariant: every block that stays computes what it computed. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/blocks/inline.h"
#include "passes/schedule/blocks/tie.h"

/* A block that goes into its producer. */
typedef struct {
    Schedule *s;
    Span span;
    StmtPath path, producer_path;
    Stmt *block, *producer;
    const Buffer *between;
    Expr *const *read, *const *made; /* the subscripts at which the two access it */
    Tie tie, producer_tie;
    Subst *values; /* of the block's iterators, in terms of the producer's */
    BlockStmt fused;
    Expr *where; /* the producer's iterations for which the block has one; NULL: all */
} ReverseInline;

/* The one buffer that the block reads which is a temp with a single plain producer and no other
 * reader. */
static bool find_pair(ReverseInline *v, const PrimCall *call)
{
    Schedule *s = v->s;
    v->block = sched_node(s, &call->reverse_compute_inline.block, &v->path);
    BufferSet read = flow_buffers(s, v->block, ACCESS_READ);
    for (int i = 0; i < read.n && !v->between; i++) {
        BlockList writers = flow_blocks(s, s->kernel->body, read.items[i], ACCESS_WRITE);
        BlockList readers = flow_blocks(s, s->kernel->body, read.items[i], ACCESS_READ);
        bool updates = false; /* of its own elements, which check_blocks refuses */
        for (int k = 0; k < readers.n && writers.n == 1; k++)
            updates |= readers.items[k] == writers.items[0];
        if (read.items[i]->role != ROLE_TEMP || writers.n != 1 || readers.n != 1 + updates ||
            writers.items[0] == v->block)
            continue;
        v->between = read.items[i];
        v->producer = writers.items[0];
        stmt_find(s->ctx, s->kernel->body, v->producer->u.block.id, &v->producer_path);
    }
    REQUIRE(s, E0460, v->span, v->between,
            "block '%s' reads no temp with a single writer and no other reader",
            v->block->u.block.name);
    return true;
}

/* The same, and declares temps of the block in front of the producer. */
static bool find_pair_in_order(ReverseInline *v, const PrimCall *call)
{
    if (!find_pair(v, call))
        return false;
    if (!flow_declare_for(v->s, &v->path, &v->producer_path))
        return true;
    v->path = v->producer_path = (StmtPath){0};
    v->between = NULL;
    return find_pair(v, call);
}

/* Finds the subscripts of all reads of the buffer in the block; false where there are several. */
static bool find_read(ReverseInline *v)
{
    AccessList reads = access_list(v->s->ctx, v->block, v->between, ACCESS_READ);
    v->read = reads.items[0].index;
    for (int r = 1; r < reads.n; r++)
        if (!exprs_equal(reads.items[r].index, v->read, v->between->rank))
            return false;
    return true;
}

static Expr *at_least(Context *c, Expr *e, Expr *lo)
{
    return expr_binary(c, EX_GE, e, lo, span_none());
}

static Expr *less_than(Context *c, Expr *e, Expr *hi)
{
    return expr_binary(c, EX_LT, e, hi, span_none());
}

/* The values of the iterators of `block` in the iteration that accesses the element of `index`.
 * NULL: the element decides some iterator not, which has several. */
static Subst *values_at(Facts *f, Context *c, const BlockStmt *block, const Tie *tie,
                        Expr *const *index)
{
    Subst *at = ARENA_ARRAY(c->arena, Subst, tie->buffer->rank + 1);
    Subst *values = ARENA_ARRAY(c->arena, Subst, block->n_iters + 1);
    for (int axis = 0; axis < tie->buffer->rank; axis++)
        at[axis] = (Subst){tie->place[axis], index[axis]};
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Expr *lo = expr_subst(c, iter->lo, values, i), *hi = expr_subst(c, iter->hi, values, i);
        Expr *only = index_sub(c, hi, expr_index(c, 1)), *value = tie->back[i];
        if (!value && !prove_compare(f, lo, EX_EQ, only))
            return NULL;
        value = value ? expr_subst(c, value, at, tie->buffer->rank) : lo;
        values[i] = (Subst){iter->var, simplify(f, value)};
    }
    return values;
}

/* The condition on the element of `index` that an iteration of the block accesses it, for ties that
 * have one. */
static Expr *taken_at(Facts *f, Context *c, const Tie *tie, Expr *const *index)
{
    Subst *at = ARENA_ARRAY(c->arena, Subst, tie->buffer->rank + 1);
    for (int axis = 0; axis < tie->buffer->rank; axis++)
        at[axis] = (Subst){tie->place[axis], index[axis]};
    return simplify(f, expr_subst(c, tie->taken, at, tie->buffer->rank));
}

/* The block is one store, that reads the buffer at one place. */
static bool check_blocks(ReverseInline *v)
{
    Schedule *s = v->s;
    const BlockStmt *block = &v->block->u.block;
    if (!inline_is_producer(s, v->span, &v->producer_path, "its producer, block"))
        return false;
    REQUIRE(s, E0460, v->span,
            flow_single_store(s->ctx, v->block) && !block->init && !block->predicate &&
                find_read(v),
            "block '%s' does not read '%s' in one plain store, with the same subscripts everywhere",
            block->name, v->between->name);
    v->made = flow_single_store(s->ctx, v->producer)->u.store.index;
    return true;
}

/* What holds in a block, for expressions that keep iterators of one value by name. */
static Facts *facts_in(const ReverseInline *v, const BlockStmt *block)
{
    Facts *f = facts_of_kernel(v->s->ctx, v->s->kernel);
    for (int i = 0; i < block->n_iters; i++)
        facts_range_loosely(f, block->iters[i].var, block->iters[i].lo, block->iters[i].hi);
    return f;
}

/* An element decides the iterations that write and read it. */
static bool find_ties(ReverseInline *v)
{
    Schedule *s = v->s;
    Context *c = s->ctx;
    const BlockStmt *block = &v->block->u.block, *producer = &v->producer->u.block;
    Facts *writes = facts_in(v, producer), *reads = facts_in(v, block);
    bool decided = tie_find(s, v->producer, v->between, v->made, &v->producer_tie) &&
                   values_at(reads, c, producer, &v->producer_tie, v->read);
    REQUIRE(s, E0460, v->span, decided,
            "its producer, block '%s' writes '%s' at subscripts that do not decide its iterators, "
            "so the value of an element is unknown",
            producer->name, v->between->name);
    if (tie_find(s, v->block, v->between, v->read, &v->tie))
        v->values = values_at(writes, c, block, &v->tie, v->made);
    REQUIRE(s, E0460, v->span, v->values,
            "block '%s' reads '%s' at subscripts that do not decide its iterators: several of its "
            "iterations may read what one iteration of its producer writes",
            block->name, v->between->name);
    return true;
}

/* Every element that the block reads is one that the producer writes. */
static bool reads_what_is_made(const ReverseInline *v)
{
    Schedule *s = v->s;
    Context *c = s->ctx;
    const BlockStmt *producer = &v->producer->u.block;
    Facts *f = facts_of_kernel(c, s->kernel);
    facts_enter(f, v->block);
    Subst *at = values_at(f, c, producer, &v->producer_tie, v->read);
    bool made = !v->producer_tie.taken || prove(f, taken_at(f, c, &v->producer_tie, v->read));
    for (int i = 0; i < producer->n_iters && made && !v->producer_tie.taken; i++) {
        const BlockIter *iter = &producer->iters[i];
        made = prove(f, at_least(c, at[i].value, expr_subst(c, iter->lo, at, i))) &&
               prove(f, less_than(c, at[i].value, expr_subst(c, iter->hi, at, i)));
    }
    REQUIRE(s, E0462, v->span, made,
            "could not prove that block '%s' reads only elements of '%s' that its producer '%s' "
            "writes, and it would only run where that does",
            v->block->u.block.name, v->between->name, producer->name);
    return true;
}

/* Adds a condition to v->where, unless it holds always. */
static void add_condition(ReverseInline *v, Facts *f, Expr *condition)
{
    Expr *simple = simplify(f, condition);
    if (!prove(f, simple))
        v->where = cond_and(v->s->ctx, v->where, simple);
}

/* The producer's iterator, if the value is one alone; NULL otherwise. */
static BlockIter *iter_of(const BlockStmt *producer, BlockIter *iters, const Expr *value)
{
    for (int k = 0; k < producer->n_iters; k++)
        if (expr_is_var(value, iters[k].var))
            return &iters[k];
    return NULL;
}

/* The producer's iterations for which the block has one: a box of sizes narrows the domains,
 * anything else is a condition. */
static void find_where(ReverseInline *v)
{
    Context *c = v->s->ctx;
    const BlockStmt *block = &v->block->u.block, *producer = &v->producer->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, producer->n_iters + 1);
    Facts *f = facts_of_kernel(c, v->s->kernel);
    facts_enter(f, v->producer);
    for (int k = 0; k < producer->n_iters; k++)
        iters[k] = producer->iters[k];
    if (v->tie.taken)
        add_condition(v, f, taken_at(f, c, &v->tie, v->made));
    for (int i = 0; i < block->n_iters && !v->tie.taken; i++) {
        Expr *value = v->values[i].value;
        Expr *lo = expr_subst(c, block->iters[i].lo, v->values, i),
             *hi = expr_subst(c, block->iters[i].hi, v->values, i);
        BlockIter *iter = iter_of(producer, iters, value);
        bool whole = prove(f, at_least(c, value, lo)) && prove(f, less_than(c, value, hi));
        if (!whole && iter && expr_of_sizes(lo) && expr_of_sizes(hi) && expr_of_sizes(iter->lo) &&
            expr_of_sizes(iter->hi)) {
            iter->lo = lo;
            iter->hi = hi;
        } else if (!whole) {
            add_condition(v, f, at_least(c, value, lo));
            add_condition(v, f, less_than(c, value, hi));
        }
    }
    v->fused = *producer;
    v->fused.iters = iters;
}

/* ---- the order ------------------------------------------------------------------------------- */

bool inline_runs_whole(Schedule *s, Name what, const Stmt *block, Span span)
{
    Conflict why;
    REQUIRE_KEPT(
        s, E0462, span, flow_runs_whole(s, block, &why), &why,
        "block '%s' does not run over the full domains of its iterators, but '%s' would: %s",
        block->u.block.name, what, why.reason);
    return true;
}

/* The item of a sequence declares nothing that the block reads or writes, and others than the two
 * blocks do not write there what it reads, or touch what it writes. */
static bool lets_pass(Schedule *s, Span span, Stmt *item, Stmt *block, const Stmt *producer)
{
    BufferSet read = flow_buffers(s, block, ACCESS_READ);
    for (int b = 0; b <= read.n; b++) {
        const Buffer *buffer = b < read.n ? read.items[b] : flow_written(s, block);
        REQUIRE(s, E0461, span, !stmt_declares(s->ctx, item, buffer),
                "'%s', which block '%s' %s, is declared behind producer '%s', so that block "
                "cannot move up; declare it before the producer",
                buffer->name, block->u.block.name, b < read.n ? "reads" : "writes",
                producer->u.block.name);
        BlockList others = flow_blocks(s, item, buffer, b < read.n ? ACCESS_WRITE : ACCESS_ANY);
        for (int k = 0; k < others.n; k++)
            REQUIRE(s, E0461, span, others.items[k] == block || others.items[k] == producer,
                    "block '%s' is between producer and consumer and accesses data of block "
                    "'%s', so that block cannot move up",
                    stmt_label(others.items[k]), block->u.block.name);
    }
    return true;
}

/* The block's store moves up to its producer, through all that stands from there to the block. */
bool inline_order_kept(Schedule *s, Span span, const StmtPath *block_path,
                       const StmtPath *producer_path, Stmt *block)
{
    int n = flow_common(block_path, producer_path);
    const Stmt *seq = block_path->items[n - 1];
    bool between = false;
    for (int i = 0; seq->kind == ST_SEQ && i < seq->u.seq.n; i++) {
        Stmt *item = seq->u.seq.items[i];
        between |= item == producer_path->items[n];
        if (between && !lets_pass(s, span, item, block, path_end(producer_path)))
            return false;
        between &= item != block_path->items[n];
    }
    return true;
}

/* An expression of the producer's iterators, in terms of its loops. */
static Expr *in_loops(const ReverseInline *v, Expr *e)
{
    return iters_to_loops(v->s->ctx, &v->producer->u.block, e);
}

/* The kernel's body with the block beside its producer, in the same loops. */
static Stmt *side_by_side(const ReverseInline *v)
{
    Context *c = v->s->ctx;
    BlockStmt moved = v->block->u.block;
    BlockIter *iters = block_own_iters(c, &moved, 0);
    for (int i = 0; i < moved.n_iters; i++)
        iters[i].binding = in_loops(v, v->values[i].value);
    moved.predicate = v->where ? in_loops(v, v->where) : NULL;
    Stmt *both[] = {v->producer, stmt_block(c, &moved, v->block->span)};
    Stmt *body = flow_remove(v->s, v->s->kernel->body, v->block);
    return stmt_replace(c, body, v->producer, stmt_seq(c, both, 2, v->producer->span));
}

/* Iterations of the block depend on each other or on the producer's other iterations: their order
 * in the producer's loops must be the one that they have. */
static bool depends_on_order(const ReverseInline *v)
{
    Context *c = v->s->ctx;
    const Stmt *store = flow_single_store(c, v->block);
    const Buffer *written = store->u.store.buffer;
    const BlockStmt *block = &v->block->u.block;
    Facts *f = facts_of_kernel(c, v->s->kernel);
    Tie own;
    facts_enter(f, v->block);
    return stmt_accesses(c, v->producer, written, ACCESS_READ) ||
           flow_reads_other_element(c, store) ||
           !tie_find(v->s, v->block, written, store->u.store.index, &own) ||
           !values_at(f, c, block, &own, store->u.store.index);
}

/* The producer's iterations for which the block has one, if their domains alone say which, run once
 * each: a condition of the producer leaves others out. */
static bool needed_run_once(const ReverseInline *v)
{
    Schedule *s = v->s;
    Stmt *needed = stmt_block(s->ctx, &v->fused, v->producer->span);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, v->producer, needed);
    Conflict why;
    return !v->where && !depends_on_order(v) &&
           dependence_instances_kept(s->ctx, (Rewrite){s->kernel, flow_whole_nest(s, needed), body},
                                     needed->u.block.id, &why);
}

/* The producer computes each element once, and so will the block in its place: one that computes
 * its elements from themselves has to do that now. */
static bool both_run_once(const ReverseInline *v)
{
    Schedule *s = v->s;
    Conflict why;
    REQUIRE_KEPT(s, E0462, v->span, flow_runs_once(s, v->producer, &why) || needed_run_once(v),
                 &why,
                 "block '%s' would run in the place of its producer '%s', which does not compute "
                 "each element exactly once: %s",
                 v->block->u.block.name, v->producer->u.block.name, why.reason);
    const Buffer *written = flow_single_store(s->ctx, v->block)->u.store.buffer;
    REQUIRE_KEPT(s, E0462, v->span,
                 !stmt_accesses(s->ctx, v->block, written, ACCESS_READ) ||
                     flow_runs_once(s, v->block, &why),
                 &why,
                 "block '%s' changes each element of '%s' more than once, and would only once in "
                 "the place of its producer '%s': %s",
                 v->block->u.block.name, written->name, v->producer->u.block.name, why.reason);
    return true;
}

static bool keeps_order(const ReverseInline *v)
{
    Schedule *s = v->s;
    Conflict why;
    Rewrite beside = {s->kernel, s->kernel->body, side_by_side(v)};
    REQUIRE_KEPT(s, E0461, v->span,
                 !depends_on_order(v) ||
                     dependence_order_kept(s->ctx, beside, &s->reassociates, &why),
                 &why, "in the loops of '%s', block '%s' would run in another order: %s",
                 v->producer->u.block.name, v->block->u.block.name, why.reason);
    return inline_order_kept(s, v->span, &v->path, &v->producer_path, v->block);
}

/* ---- the rewrite ----------------------------------------------------------------------------- */

static Expr *put_value(Rewriter *r, Expr *e)
{
    const ReverseInline *v = r->user;
    bool read = expr_is_load(e, v->between);
    return read ? flow_single_store(r->ctx, v->producer)->u.store.value : e;
}

/* The expression that takes the place of reads of the buffer. */
static bool is_bounded(const ReverseInline *v)
{
    const Stmt *store = flow_single_store(v->s->ctx, v->producer);
    return inline_is_bounded(v->s, v->span, v->between, store->u.store.value);
}

/* The block's store, in the place of its producer's. */
static Stmt *build_in_producer(ReverseInline *v)
{
    Context *c = v->s->ctx;
    const BlockStmt *block = &v->block->u.block;
    Rewriter r = {.ctx = c, .user = v, .expr = put_value};
    Expr *where = v->where ? in_loops(v, v->where) : NULL;
    if (where)
        v->fused.predicate = cond_and(c, v->fused.predicate, where);
    v->fused.body = rewrite_stmt(&r, stmt_subst(c, block->body, v->values, block->n_iters));
    return stmt_block(c, &v->fused, v->producer->span);
}

bool prim_reverse_compute_inline(Schedule *s, const PrimCall *call, Value *result)
{
    ReverseInline v = {.s = s, .span = call->reverse_compute_inline.block.span};
    (void)result;
    if (!find_pair_in_order(&v, call) || !check_blocks(&v) || !find_ties(&v) ||
        !reads_what_is_made(&v) || !inline_runs_whole(s, v.producer->u.block.name, v.block, v.span))
        return false;
    find_where(&v);
    if (!is_bounded(&v) || !both_run_once(&v) || !keeps_order(&v))
        return false;
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, v.producer, build_in_producer(&v));
    sched_replace_body(s, flow_undeclare(s, flow_remove(s, body, v.block), v.between));
    return true;
}
