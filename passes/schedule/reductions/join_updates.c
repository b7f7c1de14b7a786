/* join_updates.c - Implements join_updates: makes several updates of one element, which follow each
 * other in a loop, one update by all of their values.
 *
 *   for j in N {                          for j in N
 *       y[i] += a[i, j] * x[2 * j];   =>      y[i] += a[i, j] * x[2 * j] + b[i, j] * x[2 * j + 1];
 *       y[i] += b[i, j] * x[2 * j + 1];
 *   }
 *
 * Two blocks that update an element in turn keep their order. One block is a reduction, which may
 * have partial results and be shared by threads. split_terms is the way back.
 *
 * Legal: the blocks are updates by one operator, in the same iterations, and of the same element,
 * which no value reads. What stands between them neither accesses the buffer nor writes what a
 * later block reads.
 * Invariant: each element gets the same terms. Sums and products of floats round otherwise, and may
 * leave the range of their type where updates by each value do not. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/combiner.h"
#include "passes/schedule/flow.h"
#include "passes/shared/rebuild.h"

typedef struct {
    Schedule *s;
    const Stmt *seq; /* what the blocks are items of; NULL: the block is alone in its loop */
    int at;          /* the place of the block there */
    const BlockStmt *block;
    const Stmt *store; /* its update, with all values so far */
    StmtList lets;     /* of the block, in front of the update */
} Join;

/* ---- what is joined -------------------------------------------------------------------------- */

/* The update that a block is, behind its lets; NULL: it is something else. */
static const Stmt *plain_update(const Stmt *block)
{
    const BlockStmt *b = &block->u.block;
    const Stmt *store = stmt_valued_store(b->body);
    bool plain = !b->instruction && !b->atomic && b->annotations.n == 0;
    return plain && store && store_updates(store->u.store.op) && !store->u.store.atomic ? store
                                                                                        : NULL;
}

/* Maps the iterators of another block to those of the block, which have the same values and
 * domains. False: they have others, or the blocks run under other conditions. */
static bool map_iters(const Join *j, const BlockStmt *other, Subst *map)
{
    Context *c = j->s->ctx;
    const BlockStmt *block = j->block;
    bool same = other->n_iters == block->n_iters && !other->predicate == !block->predicate &&
                (!other->predicate || expr_equal(other->predicate, block->predicate));
    for (int i = 0; i < other->n_iters && same; i++) {
        const BlockIter *mine = &block->iters[i], *its = &other->iters[i];
        same = mine->kind == its->kind && expr_equal(mine->binding, its->binding) &&
               expr_equal(mine->lo, expr_subst(c, its->lo, map, i)) &&
               expr_equal(mine->hi, expr_subst(c, its->hi, map, i));
        map[i] = (Subst){its->var, expr_var(c, mine->var, its->var->span)};
    }
    return same;
}

/* The let of the block that has this value; NULL: none. */
static const Stmt *let_of(const Join *j, const Expr *value)
{
    for (int i = 0; i < j->lets.n; i++)
        if (expr_equal(j->lets.items[i]->u.let.value, value))
            return j->lets.items[i];
    return NULL;
}

/* The update of another block, whose body is in terms of the block's iterators: with the lets that
 * the block has, too, and the values of others written out. NULL: these are too long. */
static const Stmt *with_lets(const Join *j, Stmt *body)
{
    Context *c = j->s->ctx;
    int n = stmt_lets(body);
    for (int i = 0; i < n; i++) {
        const Stmt *let = body->u.seq.items[i], *own = let_of(j, let->u.let.value);
        Subst map = {let->u.let.var, own ? expr_var(c, own->u.let.var, let->span) : NULL};
        body = own ? stmt_subst(c, body, &map, 1) : body;
    }
    return stmt_written_out(c, body);
}

static bool reads(Context *c, Stmt *block, const Buffer *buffer)
{
    for (Cursor at = cursor_stmt(c, block); cursor_next(&at);)
        if (at.expr && expr_is_load(at.expr, buffer))
            return true;
    return false;
}

/* ---- what stands in the way ------------------------------------------------------------------ */

/* An item between the block and item `to` writes what that reads, beside what both update. */
static const Stmt *overwritten(const Join *j, int to, const Buffer **buffer)
{
    BufferSet read = flow_buffers(j->s, stmt_item(j->seq, to), ACCESS_READ);
    uint32_t updated = j->store->u.store.buffer->id;
    for (int i = j->at + 1; i < to; i++)
        for (int k = 0; k < read.n; k++)
            if (read.items[k]->id != updated &&
                stmt_accesses(j->s->ctx, stmt_item(j->seq, i), read.items[k], ACCESS_WRITE)) {
                *buffer = read.items[k];
                return stmt_item(j->seq, i);
            }
    return NULL;
}

/* Finds the update of another block in terms of the block. Returns why it is none of the element by
 * the operator, or NULL. */
static const char *find_other(const Join *j, const Stmt *item, const Stmt **found)
{
    Context *c = j->s->ctx;
    const StoreStmt *mine = &j->store->u.store;
    const Stmt *update = item->kind == ST_BLOCK ? plain_update(item) : NULL;
    if (!update || item->u.block.init)
        return arena_printf(c->arena, "'%s' behind it accesses '%s' and is not one plain update",
                            stmt_label(item), mine->buffer->name);
    const BlockStmt *other = &item->u.block;
    if (update->u.store.op != mine->op)
        return arena_printf(c->arena, "block '%s' updates by '%s', not by '%s'", other->name,
                            store_op_token(update->u.store.op), store_op_token(mine->op));
    Subst *map = ARENA_ARRAY(c->arena, Subst, other->n_iters + 1);
    if (!map_iters(j, other, map))
        return arena_printf(c->arena, "block '%s' has other iterators or conditions", other->name);
    *found = with_lets(j, stmt_subst(c, other->body, map, other->n_iters));
    if (!*found)
        return arena_printf(c->arena, "the values of block '%s' are too long", other->name);
    bool same = (*found)->u.store.buffer->id == mine->buffer->id &&
                exprs_equal((*found)->u.store.index, mine->index, mine->buffer->rank);
    return same ? NULL : arena_printf(c->arena, "block '%s' updates another element", other->name);
}

/* Returns why item `to`, which updates the element, would read other values in the place of the
 * block, or NULL. */
static const char *what_changes(const Join *j, int to)
{
    Arena *arena = j->s->ctx->arena;
    Stmt *item = stmt_item(j->seq, to);
    const Buffer *buffer = j->store->u.store.buffer, *written = NULL;
    if (reads(j->s->ctx, item, buffer))
        return arena_printf(arena,
                            "block '%s' reads '%s', which is not updated yet where it would run",
                            item->u.block.name, buffer->name);
    const Stmt *writer = overwritten(j, to, &written);
    return writer ? arena_printf(arena, "'%s' writes '%s', which block '%s' behind it reads",
                                 stmt_label(writer), written->name, item->u.block.name)
                  : NULL;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The update by both values. */
static const Stmt *joined(const Join *j, const Stmt *other)
{
    Context *c = j->s->ctx;
    const StoreStmt *mine = &j->store->u.store;
    Expr *both = combiner_update(c, mine->op, mine->value, other->u.store.value);
    return stmt_store_like(c, j->store, mine->buffer, mine->index, both);
}

/* Takes over the updates behind the block up to the first other access of the buffer, and adds the
 * other items behind it to `rest`. Returns what ended it; NULL: the sequence. */
static const char *take_updates(Join *j, StmtList *rest)
{
    Context *c = j->s->ctx;
    const Buffer *buffer = j->store->u.store.buffer;
    const char *why = NULL;
    for (int i = j->at + 1; j->seq && i < stmt_items(j->seq); i++) {
        const Stmt *other = NULL;
        if (!why && stmt_accesses(c, stmt_item(j->seq, i), buffer, ACCESS_ANY)) {
            why = find_other(j, stmt_item(j->seq, i), &other);
            why = why ? why : what_changes(j, i);
        }
        if (other && !why)
            j->store = joined(j, other);
        else
            VEC_PUSH(c->arena, rest, stmt_item(j->seq, i));
    }
    return why;
}

/* The sequence with the block as it is now, and what stays behind it. */
static Stmt *with_joined(const Join *j, Stmt *block, const StmtList *rest)
{
    Context *c = j->s->ctx;
    StmtList all = {0};
    BlockStmt now = block->u.block;
    now.body = stmt_behind_lets(c, now.body, (Stmt *)j->store);
    for (int i = 0; i < j->at; i++)
        VEC_PUSH(c->arena, &all, stmt_item(j->seq, i));
    VEC_PUSH(c->arena, &all, stmt_stamp(stmt_block(c, &now, block->span), block));
    for (int i = 0; i < rest->n; i++)
        VEC_PUSH(c->arena, &all, rest->items[i]);
    return stmt_seq(c, all.items, all.n, j->seq->span);
}

static bool find_update(Join *j, const StmtPath *path, Span span)
{
    Stmt *block = path_end(path);
    const Stmt *parent = path->n > 1 ? path->items[path->n - 2] : NULL;
    j->block = &block->u.block;
    j->store = plain_update(block);
    REQUIRE(j->s, E0877, span, j->store,
            "block '%s' is not one plain update, such as  y[i] += x[i]", j->block->name);
    REQUIRE(j->s, E0877, span, !reads(j->s->ctx, block, j->store->u.store.buffer),
            "block '%s' reads '%s', which it updates", j->block->name,
            j->store->u.store.buffer->name);
    for (int i = 0; i < stmt_lets(j->block->body); i++)
        VEC_PUSH(j->s->ctx->arena, &j->lets, j->block->body->u.seq.items[i]);
    j->seq = parent && parent->kind == ST_SEQ ? parent : NULL;
    j->at = j->seq ? stmt_place(j->seq, block) : 0;
    return true;
}

bool prim_join_updates(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *block = sched_node(s, &call->join_updates.block, &path);
    Join j = {.s = s};
    StmtList rest = {0};
    (void)result;
    if (!find_update(&j, &path, call->span))
        return false;
    const Stmt *before = j.store;
    const char *why = take_updates(&j, &rest);
    REQUIRE(s, E0877, call->span, j.store != before, "%s",
            why ? why
                : arena_printf(s->ctx->arena, "no block behind '%s' in its loop updates '%s'",
                               j.block->name, before->u.store.buffer->name));
    Stmt *now = with_joined(&j, block, &rest);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, (Stmt *)j.seq, now);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->reassociates = reducer_rounds(before->u.store.op, before->u.store.buffer->type);
    sched_replace_body(s, body);
    return true;
}
