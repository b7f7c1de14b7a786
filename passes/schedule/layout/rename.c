/* rename.c - Implements rename: gives what a block writes to a temporary a buffer of its own.
 *
 *   for j in N  t[j] = x[j];                 for j in N  t[j] = x[j];
 *   for j in N  t[j] = exp(t[j] - m);   =>   for j in N  t_1[j] = exp(t[j] - m);
 *   for j in N  y[j] = t[j];                 for j in N  y[j] = t_1[j];
 *
 * A program that computes in place needs one buffer for several values, one after the other. With a
 * buffer for each, no value overwrites another, so that loops may be cut or moved between them
 * (Cytron and Ferrante, 1987: What's in a name?).
 *
 * Legal: the block is one store, an update of each element once, or a reduction with its init, of a
 * temporary. A load that its elements may reach is one that finds no others: what else writes such
 * an element does so before the block, or behind the load, and the block has written all that the
 * load reads. (Conditions and ranges between blocks read no temporaries.)
 * Invariant: every load finds the value that it found before. */
#include "passes/schedule/combiner.h"
#include "passes/schedule/flow.h"

/* Loads of a block with the same subscripts. */
typedef struct {
    Stmt *block;
    Expr *const *index;
} Loads;

typedef struct {
    Schedule *s;
    Span span;
    Stmt *block;
    Buffer *from, *to;
    bool updates; /* it changes each element once */
    BlockList writers;
    VEC(Loads) moved; /* those that find what the block writes */
} Rename;

/* ---- what the block writes ------------------------------------------------------------------- */

static bool check_block(Rename *r)
{
    Schedule *s = r->s;
    const BlockStmt *b = &r->block->u.block;
    const Stmt *store = flow_single_store(s->ctx, r->block);
    REQUIRE(s, E0931, r->span,
            store && store->u.store.op != STORE_ASYNC && !b->instruction && !b->atomic,
            "block '%s' is not one store, or a reduction", b->name);
    r->from = store->u.store.buffer;
    r->updates = store->u.store.op != STORE_SET && !b->init;
    REQUIRE(s, E0931, r->span, r->from->role == ROLE_TEMP,
            "'%s' is a parameter, whose elements the caller finds", r->from->name);
    REQUIRE(s, E0931, r->span, !stmt_awaits(s->ctx, s->kernel->body, r->from),
            "elements of '%s' are awaited, so they have to be cleared before", r->from->name);
    r->writers = flow_blocks(s, s->kernel->body, r->from, ACCESS_WRITE);
    REQUIRE(s, E0931, r->span, r->writers.n > 1, "no other block writes '%s'", r->from->name);
    return true;
}

/* An update that runs once for each element is a store of what was there, and more. */
static bool check_update(Rename *r)
{
    Schedule *s = r->s;
    Conflict why = {0};
    const Reach again = {r->block, r->block, r->from, NULL};
    REQUIRE_KEPT(s, E0931, r->span,
                 !r->updates || !dependence_may_reach(s->ctx, s->kernel, &again, &why), &why,
                 "block '%s' goes on from what '%s' has before", r->block->u.block.name,
                 r->from->name);
    return true;
}

/* ---- who reads it ---------------------------------------------------------------------------- */

static bool is_moved(const Rename *r, uint32_t block, Expr *const *index)
{
    for (int i = 0; i < r->moved.n; i++)
        if (r->moved.items[i].block->u.block.id == block &&
            exprs_equal(r->moved.items[i].index, index, r->from->rank))
            return true;
    return false;
}

/* Adds the loads of a block that may find what the block writes. */
static void add_moved(Rename *r, Stmt *reader)
{
    Schedule *s = r->s;
    AccessList reads = access_list(s->ctx, reader, r->from, ACCESS_READ);
    for (int i = 0; i < reads.n; i++) {
        Conflict why = {0};
        const Reach reach = {r->block, reader, r->from, reads.items[i].index};
        if (reads.items[i].load && !is_moved(r, reader->u.block.id, reach.index) &&
            dependence_may_reach(s->ctx, s->kernel, &reach, &why))
            VEC_PUSH(s->ctx->arena, &r->moved, ((Loads){reader, reach.index}));
    }
}

/* What the other block writes never stands between the block and a load that finds its elements. */
static bool check_writer(Rename *r, Stmt *other)
{
    Schedule *s = r->s;
    Conflict why = {0};
    const Stmt *store = flow_single_store(s->ctx, other);
    const Reach over = {r->block, other, r->from, NULL};
    if (!dependence_may_reach(s->ctx, s->kernel, &over, &why))
        return true;
    REQUIRE_AT(s, E0931, r->span, store && (store->u.store.op == STORE_SET || other->u.block.init),
               other, "block '%s' updates elements that block '%s' writes", other->u.block.name,
               r->block->u.block.name);
    for (int i = 0; i < r->moved.n; i++) {
        const Loads *loads = &r->moved.items[i];
        const Reach reach = {other, loads->block, r->from, loads->index};
        REQUIRE_KEPT(
            s, E0931, r->span, !dependence_may_reach(s->ctx, s->kernel, &reach, &why), &why,
            "block '%s' may find elements of '%s' that block '%s' writes, or those of "
            "block '%s'",
            loads->block->u.block.name, r->from->name, r->block->u.block.name, other->u.block.name);
    }
    return true;
}

static bool check_readers(Rename *r)
{
    Schedule *s = r->s;
    BlockList readers = flow_blocks(s, s->kernel->body, r->from, ACCESS_READ);
    for (int i = 0; i < readers.n; i++)
        add_moved(r, readers.items[i]);
    REQUIRE(s, E0931, r->span, r->moved.n > 0, "no block reads what block '%s' writes",
            r->block->u.block.name);
    for (int i = 0; i < r->writers.n; i++)
        if (r->writers.items[i] != r->block && !check_writer(r, r->writers.items[i]))
            return false;
    return true;
}

/* ---- the step -------------------------------------------------------------------------------- */

typedef struct {
    const Rename *rename;
    const BlockStmt *in;
} Renaming;

static Expr *renamed_load(Rewriter *w, Expr *e)
{
    const Renaming *n = w->user;
    const Rename *r = n->rename;
    return expr_is_load(e, r->from) && is_moved(r, n->in->id, e->u.load.index)
               ? expr_load(w->ctx, r->to, e->u.load.index, e->span)
               : e;
}

static Stmt *renamed_store(Rewriter *w, Stmt *stmt)
{
    const Renaming *n = w->user;
    const Rename *r = n->rename;
    if (stmt->kind != ST_STORE || n->in->id != r->block->u.block.id)
        return stmt;
    StoreStmt store = stmt->u.store;
    store.buffer = r->to;
    if (r->updates) {
        Expr *before = expr_load(w->ctx, r->from, store.index, stmt->span);
        store.value = combiner_update(w->ctx, store.op, before, store.value);
        store.op = STORE_SET;
    }
    return stmt_stamp(stmt_store(w->ctx, &store, stmt->span), stmt);
}

static Stmt *renamed_block(Rewriter *w, Stmt *stmt)
{
    if (stmt->kind != ST_BLOCK)
        return stmt;
    Renaming in = {w->user, &stmt->u.block};
    Rewriter inner = {.ctx = w->ctx, .user = &in, .expr = renamed_load, .stmt = renamed_store};
    return rewrite_stmt(&inner, stmt);
}

static Buffer *own_buffer(Rename *r)
{
    Buffer like = *r->from;
    like.name = sched_fresh_name(r->s, like.name);
    like.origin = r->span;
    return buffer_new(r->s->ctx, &like);
}

bool prim_rename(Schedule *s, const PrimCall *call, Value *result)
{
    Rename r = {.s = s, .span = call->span, .block = sched_node(s, &call->rename.block, NULL)};
    if (!check_block(&r) || !check_update(&r) || !check_readers(&r))
        return false;
    r.to = own_buffer(&r);
    Rewriter rewriter = {.ctx = s->ctx, .user = &r, .stmt = renamed_block};
    Stmt *body = rewrite_stmt(&rewriter, s->kernel->body);
    body = flow_declare_beside(s, body, r.from, r.to);
    REQUIRE(s, E0931, call->span, flow_written_before_use(s, body, r.to),
            "blocks may read elements of '%s' that block '%s' does not write before", r.from->name,
            r.block->u.block.name);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_buffer(r.to);
    return true;
}
