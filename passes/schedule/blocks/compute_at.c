/* compute_at.c - Implements compute_at: computes, in each iteration of a loop, what the readers of
 * a block need there.
 *
 *   block B: b[i] = f(a[i])  (i in N)           for io in N / 32
 *   for io in N / 32                                for ax0 in 32
 *       for ii in 32                        =>          block B: b[io * 32 + ax0] = f(a[..])
 *           block C: c[..] = b[io * 32 + ii]        for ii in 32
 *                                                       block C: c[..] = b[io * 32 + ii]
 *
 * A block that blockize made has a tile of elements: the tiles that the part meets are computed.
 * With guarded = true, the block runs only if its reader may run in the iteration: where a tile
 * lies behind the ends of the reader's domain, the iteration reads nothing.
 *
 * Legal: the block alone makes the values of a temp, each anew, and all its readers are under the
 * loop; what it reads has the same values there.
 * Invariant: an iteration of the loop finds what it reads of the temp as it was before. */
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/blocks/place.h"
#include "passes/schedule/copies/stage.h"

/* The elements that an iteration reads, for all threads that share a buffer in `scope`. */
static bool find_box(Move *m, Scope scope)
{
    BoxOf of = {.loop = &m->target, .buffer = m->buffer, .mode = ACCESS_READ, .scope = scope};
    return stage_box(m->s, m->facts, &of, m->part.box);
}

/* Registers hold only what is read: a wide access of memory may as well bring more, and threads
 * share their copies by boxes. In global memory, each thread computes what it reads itself; but see
 * share_part. */
static bool find_part(Move *m)
{
    Scope scope = m->buffer->scope;
    if (!find_box(m, scope == SCOPE_GLOBAL ? SCOPE_LOCAL : scope))
        return false;
    if (scope == SCOPE_LOCAL)
        m->part.runs = place_runs(m, ACCESS_READ);
    return true;
}

static bool is_recomputable(const Move *m, const Stmt *store)
{
    Schedule *s = m->s;
    Stmt *block = m->block;
    const Buffer *buffer = sched_buffer(s, store->u.store.buffer->id);
    Span span = m->at_block;
    REQUIRE(s, E0452, span, buffer->role == ROLE_TEMP,
            "'%s' is an output, which must be written completely and once; only producers of temps "
            "can be computed in parts",
            buffer->name);
    const Stmt *other = flow_other_block(s, s->kernel->body, block, buffer, ACCESS_WRITE);
    REQUIRE(s, E0452, span, !other,
            "'%s' is also written by block '%s', so block '%s' is not its only producer",
            buffer->name, stmt_label(other), block->u.block.name);
    REQUIRE(s, E0452, span, flow_starts_anew(s->ctx, block, store, buffer),
            "block '%s' updates the previous contents of '%s', so running it again would change "
            "the result; initialize the reduction (%s[...] = 0) in the same loops",
            block->u.block.name, buffer->name, buffer->name);
    return true;
}

static bool consumers_are_under(const Move *m)
{
    Schedule *s = m->s;
    const Buffer *buffer = m->buffer;
    Stmt *loop = m->loop;
    BlockList readers = flow_blocks(s, s->kernel->body, buffer, ACCESS_READ);
    BlockList under = flow_blocks(s, loop, buffer, ACCESS_READ);
    REQUIRE(s, E0453, m->at_loop, under.n > 0,
            "no block in loop '%s' reads '%s'; name a loop around a block that does",
            loop->u.loop.var->name, buffer->name);
    for (int i = 0; i < readers.n; i++) {
        bool found = flow_single_store(s->ctx, readers.items[i]) &&
                     flow_single_store(s->ctx, readers.items[i])->u.store.buffer->id == buffer->id;
        for (int u = 0; u < under.n; u++)
            found |= under.items[u] == readers.items[i];
        if (found)
            continue;
        sched_refuse(s, E0453, m->at_loop,
                     "block '%s' also reads '%s', but outside loop '%s', where '%s' would be "
                     "incomplete; choose a loop around all its readers",
                     readers.items[i]->u.block.name, buffer->name, loop->u.loop.var->name,
                     buffer->name);
        sched_note_at(s, readers.items[i], "the read is here");
        return false;
    }
    return true;
}

/* A reduction under the loop whose init reads the buffer and runs before the loop; NULL if there is
 * none. */
static const Stmt *init_before(Schedule *s, const Buffer *buffer, const Stmt *loop)
{
    for (Cursor at = cursor_outer(s->ctx, loop->u.loop.body); cursor_next(&at);) {
        StmtPath path = {0};
        int place = 0;
        if (at.stmt->kind != ST_BLOCK || !at.stmt->u.block.init ||
            !stmt_accesses(s->ctx, at.stmt->u.block.init, buffer, ACCESS_READ))
            continue;
        state_path(s, at.stmt->u.block.id, &path);
        while (path.items[place] != loop)
            place++;
        if (reduction_start(s->ctx, &path) <= place)
            return at.stmt;
    }
    return NULL;
}

/* What an init reads must be there before the reduction's loops begin. */
static bool inits_come_after(const Move *m)
{
    Schedule *s = m->s;
    const Stmt *block = init_before(s, m->buffer, m->loop);
    REQUIRE(s, E0458, m->at_loop, !block,
            "the init of block '%s' reads '%s', and runs before the loops of its reduction, which "
            "include or enclose loop '%s'; choose an outer loop, or use decompose_reduction first",
            block->u.block.name, m->buffer->name, m->loop->u.loop.var->name);
    return true;
}

/* In an iteration of the loops around both, the block computes nothing that it did not compute
 * there before: what it reads may not be made yet. */
static bool runs_no_more(const Move *m)
{
    Schedule *s = m->s;
    const StmtPath *path = &m->path;
    const Stmt *block = m->block;
    Stmt *before = s->kernel->body, *after = m->body;
    for (int i = 0; i < place_common(m); i++) {
        const Stmt *old = path->items[i];
        Stmt *now = old->kind == ST_FOR ? stmt_find(s->ctx, m->body, old->u.loop.id, NULL) : NULL;
        before = now ? old->u.loop.body : before;
        after = now ? now->u.loop.body : after;
    }
    Conflict why;
    REQUIRE_KEPT(
        s, E0459, m->at_loop,
        dependence_instances_within(s->ctx, (Rewrite){s->kernel, before, flow_whole_nest(s, block)},
                                    block->u.block.id, &why) ||
            dependence_instances_within(s->ctx, (Rewrite){s->kernel, before, after},
                                        block->u.block.id, &why),
        &why, "block '%s' would compute elements that it does not compute at its present place: %s",
        block->u.block.name, why.reason);
    return true;
}

/* Where loops around both places say which values the block makes (place_kept_by), it makes no
 * others later: what the loop reads is of the same iteration. */
static bool made_in_iteration(const Move *m)
{
    Schedule *s = m->s;
    StmtPath path = m->path;
    int innermost = -1;
    for (int i = 0; i < m->block->u.block.n_iters; i++) {
        int kept = place_kept_by(m, i);
        innermost = kept > innermost ? kept : innermost;
    }
    if (innermost < 0)
        return true;
    path.n = innermost + 1;
    REQUIRE(s, E0454, m->at_block, flow_written_in_iteration(s, s->kernel->body, &path, m->buffer),
            "could not prove that each iteration of loop '%s' writes all elements of '%s' that it "
            "reads; the moved block would compute those alone that an iteration needs itself",
            stmt_label(path.items[innermost]), m->buffer->name);
    return true;
}

static bool find_iterations(Move *m, const Stmt *store)
{
    AccessList writes = access_list(m->s->ctx, m->block, m->buffer, ACCESS_WRITE);
    bool found = flow_single_store(m->s->ctx, m->block)
                     ? tie_find(m->s, m->block, m->buffer, store->u.store.index, &m->tie)
                     : tie_find_tiles(m->s, m->block, &writes.items[0], &m->tie);
    REQUIRE(m->s, E0455, m->at_block, found,
            "the subscripts at which block '%s' writes '%s' do not decide its iterators by a "
            "formula that tirc can find, so the iterations that produce an element are unknown",
            m->block->u.block.name, m->buffer->name);
    return true;
}

/* The block's only store, which may be in loops and conditions (blockize); NULL: it has several, or
 * updates what its loops start. */
static const Stmt *only_store(Context *c, const Stmt *block)
{
    const Stmt *single = flow_single_store(c, block);
    StmtList stores = stmts_of_kind(c, block->u.block.body, ST_STORE);
    bool plain = stores.n == 1 && stores.items[0]->u.store.op == STORE_SET && !block->u.block.init;
    return single || !plain ? single : stores.items[0];
}

static bool can_move(const Move *m)
{
    Schedule *s = m->s;
    const Stmt *store = only_store(s->ctx, m->block);
    REQUIRE(
        s, E0452, m->at_block, store != NULL,
        "block '%s' %s; compute_at needs a block of a single store, which sets an element if it "
        "is in a loop",
        m->block->u.block.name, flow_no_single_store(s->ctx, m->block));
    return is_recomputable(m, store);
}

static bool find_tie(Move *m)
{
    const Stmt *store = only_store(m->s->ctx, m->block);
    m->buffer = sched_buffer(m->s, store->u.store.buffer->id);
    return consumers_are_under(m) && inits_come_after(m) && find_iterations(m, store) &&
           made_in_iteration(m);
}

/* The block alone in its loops. */
static Stmt *alone(Schedule *s, const StmtPath *path)
{
    Stmt *body = path_end(path);
    for (int i = path->n - 2; i >= 0; i--)
        if (path->items[i]->kind == ST_FOR)
            body = loop_with_body(s->ctx, path->items[i], body);
    return body;
}

/* The loops of the new place follow the iterators, and may add the floats of a reduction in another
 * order than the old ones. */
static bool keeps_order(Schedule *s, const StmtPath *path, Span span)
{
    Stmt *block = path_end(path), *before = alone(s, path);
    bool reassociates = false;
    Conflict why;
    if (!block->u.block.init ||
        !type_is_float(flow_single_store(s->ctx, block)->u.store.buffer->type))
        return true;
    bool kept = dependence_order_kept(
        s->ctx,
        (Rewrite){kernel_with_body(s->ctx, s->kernel, before), before, flow_whole_nest(s, block)},
        &reassociates, &why);
    REQUIRE_KEPT(s, E0419, span, kept || !block_in_order(&block->u.block), &why,
                 "block '%s' would update its elements in another order, and is declared @in_order",
                 block->u.block.name);
    s->reassociates |= !kept || reassociates;
    return true;
}

static bool kinds_are_kept(const Move *m)
{
    DiagMark mark = diag_mark(m->s->ctx);
    bool kept =
        flow_recheck_block(m->s, m->body, m->loop->u.loop.id, &m->block->u.block, m->at_loop);
    diag_forget(m->s->ctx, mark);
    return kept;
}

/* Where threads would write the same elements in global memory, they compute all that they read
 * together. */
static void share_part(Move *m)
{
    Stmt *own = m->body;
    if (m->buffer->scope != SCOPE_GLOBAL || kinds_are_kept(m) || !find_box(m, SCOPE_GLOBAL))
        return;
    place_build(m, NULL);
    if (!kinds_are_kept(m))
        m->body = own;
}

/* ---- guarded --------------------------------------------------------------------------------- */

/* The reader's domain along an iterator holds for some iteration of the loops in m->loop: both ends
 * where they are easiest to meet. NULL: they always are, or other iterators or data decide them. */
static Expr *easiest_domain(const Move *m, const BlockStmt *reader, int i, const VarList *inner)
{
    Context *c = m->s->ctx;
    const BlockIter *iter = &reader->iters[i];
    const Var *const *over = (const Var *const *)inner->items;
    Expr *at = simplify(m->facts, iter->binding), *cond = NULL;
    Expr *least = least_over(m->facts, at, over, inner->n, NULL);
    Expr *most = largest_over(m->facts, at, over, inner->n, NULL);
    if (expr_has_load(iter->lo) || expr_has_load(iter->hi) || expr_has_load(iter->binding))
        return NULL;
    for (int k = 0; k < i; k++)
        if (expr_uses_var(iter->lo, reader->iters[k].var) ||
            expr_uses_var(iter->hi, reader->iters[k].var))
            return NULL;
    if (least && !prove_compare(m->facts, least, EX_LT, iter->hi))
        cond = expr_binary(c, EX_LT, least, iter->hi, m->at_loop);
    if (most && !prove_compare(m->facts, most, EX_GE, iter->lo))
        cond = cond_and(c, cond, expr_binary(c, EX_GE, most, iter->lo, m->at_loop));
    return cond;
}

/* A condition that holds in each iteration of m->loop in which the reader runs. Where the range of
 * its reduction is empty, its init may read, so only the other iterators count. */
static Expr *where_read(const Move *m, const Stmt *reader)
{
    Context *c = m->s->ctx;
    FactsMark mark = facts_mark(m->facts);
    EnclosingList around = {0};
    VarList inner = {0};
    Expr *cond = NULL;
    stmt_enclosing(c, m->loop->u.loop.body, reader, &around);
    for (int i = 0; i < around.n; i++)
        if (around.items[i].stmt->kind == ST_FOR) {
            VEC_PUSH(c->arena, &inner, around.items[i].stmt->u.loop.var);
            facts_enter(m->facts, around.items[i].stmt);
        }
    for (int i = 0; i < reader->u.block.n_iters; i++)
        if (reader->u.block.iters[i].kind == ITER_SPATIAL) {
            Expr *domain = easiest_domain(m, &reader->u.block, i, &inner);
            cond = domain ? cond_and(c, cond, domain) : cond;
        }
    facts_reset(m->facts, mark);
    return cond;
}

/* The block under that condition, if one is asked for: the values of an iteration are its own, in
 * registers, so they are read in the same iteration or not at all. */
static bool guard_by_reader(Move *m)
{
    const Value *guarded = &m->call->compute_at.guarded;
    if (guarded->kind == VALUE_NONE || !guarded->u.i)
        return true;
    BlockList readers = flow_blocks(m->s, m->loop, m->buffer, ACCESS_READ);
    REQUIRE(
        m->s, E0873, guarded->span, m->buffer->scope == SCOPE_LOCAL && readers.n == 1,
        "'%s' is in %s memory and has %d reader%s in loop '%s'; a guarded block makes values in "
        "local memory for a single reader",
        m->buffer->name, scope_name(m->buffer->scope), readers.n, readers.n == 1 ? "" : "s",
        m->loop->u.loop.var->name);
    Expr *cond = where_read(m, readers.items[0]);
    if (cond)
        place_build(m, cond);
    return true;
}

/* Nothing that the block reads in its new place changes between its old one and the end of the
 * loop. */
static bool reads_stay(const Move *m)
{
    Schedule *s = m->s;
    const Buffer *overwritten;
    const Kernel *moved = kernel_with_body(s->ctx, s->kernel, m->body);
    Stmt *block = stmt_find(s->ctx, m->body, m->block->u.block.id, NULL);
    const Stmt *writer =
        flow_overwritten(s, (SeqRange){.seq = m->seq, .from = m->block_item, .to = m->loop_item},
                         (BlockIn){moved, block}, &overwritten);
    REQUIRE(s, E0454, m->at_block, !writer,
            "block '%s' writes '%s', an input of block '%s', before loop '%s' has finished, so the "
            "moved block would read other values",
            writer->u.block.name, overwritten->name, m->block->u.block.name,
            m->loop->u.loop.var->name);
    return true;
}

static bool keeps_meaning(Move *m)
{
    if (!guard_by_reader(m))
        return false;
    share_part(m);
    return reads_stay(m) && runs_no_more(m) && keeps_order(m->s, &m->path, m->at_block);
}

bool prim_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    static const MoveSide side = {ACCESS_READ, can_move, find_tie, find_part, keeps_meaning};
    (void)result;
    return place_block(s, call, &side);
}
