/* stores.c - Decides what waits for bulk stores (see barriers.c).
 *
 *   for p in n {                          for p in n {
 *                                             wait 1; barrier
 *       write t[p % 2]                        write t[p % 2]
 *       store t[p % 2]          =>            barrier
 *   }                                         store t[p % 2]; commit
 *                                         }
 *                                         wait 0
 *
 * A bulk store reads shared memory behind its text. What writes there waits for it, in front of the
 * statement that does and not at the end of an iteration, so that the stores of an iteration
 * overlap with what the next one does before. One thread has made the store and can wait for it, so
 * a barrier follows. A barrier also stands between a write and a store of the same thread: it has
 * the fence in front of it that the asynchronous proxy needs. At the end, the thread waits for all
 * its stores: the memory of a block ends with its threads.
 *
 * The tensor is written behind the text, too, and no wait of the launch says when others may see
 * it. So nothing else in the launch accesses it, and each element is stored once. Updates that are
 * atomic have no order to keep: other bulk stores may update the same elements by the same
 * operator, and so may later iterations. */
#include "passes/lower/threads/stores.h"

#include "passes/lower/threads/async.h"

StmtList stores_among(Context *c, const StmtList *blocks)
{
    StmtList stores = {0};
    for (int i = 0; i < blocks->n; i++)
        if (block_stores_bulk(&blocks->items[i]->u.block))
            VEC_PUSH(c->arena, &stores, blocks->items[i]);
    return stores;
}

StmtList stores_below(Context *c, const Stmt *s)
{
    StmtList blocks = stmts_of_kind(c, s, ST_BLOCK);
    return stores_among(c, &blocks);
}

/* ---- what is stored -------------------------------------------------------------------------- */

static const StoreStmt *what_stores(Context *c, const Stmt *block)
{
    return &stmts_of_kind(c, block->u.block.body, ST_STORE).items[0]->u.store;
}

static const char *does_to(Context *c, const Stmt *block)
{
    return what_stores(c, block)->op == STORE_SET ? "stores" : "updates";
}

/* Both are bulk stores that update atomically, by one operator. */
static bool may_collide(Context *c, const Stmt *a, const Stmt *b)
{
    return a->u.block.atomic && b->u.block.atomic && block_stores_bulk(&b->u.block) &&
           what_stores(c, a)->op == what_stores(c, b)->op;
}

/* No other block of the launch accesses what the block stores. */
static bool alone(Context *c, Stmt *root, const Stmt *store)
{
    const Buffer *tensor = what_stores(c, store)->buffer;
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        if (blocks.items[i] == store || !stmt_accesses(c, blocks.items[i], tensor, ACCESS_ANY) ||
            may_collide(c, store, blocks.items[i]))
            continue;
        diag_error(c, E0860, store->span,
                   "block '%s' %s a box of '%s', which block '%s' of the same launch accesses, "
                   "too; let threads do it, or give the other block a launch of its own",
                   store->u.block.name, does_to(c, store), tensor->name,
                   blocks.items[i]->u.block.name);
        return false;
    }
    return true;
}

/* No iteration of a loop around stores again what an earlier one has stored. */
static bool once(Context *c, Stmt *root, const Stmt *store, Threads *t)
{
    StmtList self = {0};
    Hazard hazard;
    VEC_PUSH(c->arena, &self, (Stmt *)store);
    StmtPath path = stmt_path_to(c, root, store);
    for (int i = 0; i < path.n; i++) {
        const Stmt *loop = path.items[i];
        BlockPairs pairs = {&self, &self, loop, SYNC_THREADS};
        if (loop->kind != ST_FOR || loop->u.loop.kind == LOOP_BIND ||
            !threads_meet(t, &pairs, loop, INT32_MAX, &hazard))
            continue;
        bool updates = what_stores(c, store)->op != STORE_SET;
        diag_error(c, E0860, store->span,
                   "block '%s' %s elements of '%s' in an iteration of loop '%s' and again in a "
                   "later one, and nothing keeps their order; %s",
                   store->u.block.name, does_to(c, store), hazard.buffer->name,
                   loop->u.loop.var->name,
                   updates ? arena_printf(c->arena,
                                          "make the updates atomic with atomic(%s), or update "
                                          "elements behind the loop",
                                          store->u.block.name)
                           : "store them behind the loop");
        return false;
    }
    return true;
}

bool stores_can(Context *c, Stmt *root, Threads *t)
{
    StmtList stores = stores_below(c, root);
    for (int i = 0; i < stores.n; i++)
        if (!alone(c, root, stores.items[i]) || !once(c, root, stores.items[i], t))
            return false;
    return true;
}

/* ---- what is written where they read --------------------------------------------------------- */

static const Stmt *inside_bound(const Stmt *s)
{
    while (stmt_is_bound(s))
        s = s->u.loop.body;
    return s;
}

EarlierStores stores_of_earlier(Context *c, const Stmt *loop, const Stmt *body)
{
    const Stmt *inner = inside_bound(body);
    EarlierStores e = {.c = c, .left = INT32_MAX, .in_items = inner->kind == ST_SEQ};
    if (inside_bound(loop->u.loop.body) != inner)
        return e;
    e.stores = stores_below(c, body);
    e.loop = e.stores.n ? loop : NULL;
    for (int i = 0; e.in_items && i < inner->u.seq.n; i++)
        e.apart |= async_only(c, inner->u.seq.items[i], FLIGHT_STORES);
    return e;
}

/* Of earlier iterations of the loop, stores read what `item` writes, at most `distance` iterations
 * of `counted` before. */
static bool meet_earlier(Threads *t, const EarlierStores *e, const Stmt *item, const Stmt *counted,
                         int64_t distance)
{
    Hazard hazard;
    StmtList blocks = stmts_of_kind(e->c, item, ST_BLOCK);
    BlockPairs pairs = {&e->stores, &blocks, e->loop, SYNC_THREADS};
    return threads_meet(t, &pairs, counted, distance, &hazard);
}

/* The item, a loop with all of the stores, waits for those of its own earlier iterations before it
 * writes, and so many groups later that those of earlier iterations of the loop around it are
 * complete, too. */
static bool waits_itself(Threads *t, const EarlierStores *e, const Stmt *item)
{
    if (item->kind != ST_FOR || item->u.loop.kind == LOOP_BIND)
        return false;
    EarlierStores own = stores_of_earlier(e->c, item, item->u.loop.body);
    const Stmt *seq = inside_bound(item->u.loop.body);
    Hazard hazard;
    bool waits = false;
    for (int i = 0; own.apart && own.stores.n == e->stores.n && i < seq->u.seq.n && !waits; i++) {
        waits = stores_await_earlier(t, &own, seq->u.seq.items[i], &hazard);
        if (!waits && meet_earlier(t, e, seq->u.seq.items[i], e->loop, INT32_MAX))
            return false;
    }
    return waits && !meet_earlier(t, e, item, item, own.left);
}

bool stores_await_earlier(Threads *t, EarlierStores *e, const Stmt *item, Hazard *hazard)
{
    if (!e->loop)
        return false;
    StmtList blocks = stmts_of_kind(e->c, item, ST_BLOCK);
    BlockPairs pairs = {&e->stores, &blocks, e->loop, SYNC_THREADS};
    if (!threads_meet(t, &pairs, e->loop, INT32_MAX, hazard) || waits_itself(t, e, item))
        return false;
    int pending = e->apart ? async_apart(t, &pairs, e->loop) : 0;
    if (pending >= e->left)
        return false;
    e->left = pending;
    return true;
}

bool stores_meet(Context *c, Threads *t, const StmtList *stores, const Stmt *item, Hazard *hazard)
{
    StmtList blocks = stores->n ? stmts_of_kind(c, item, ST_BLOCK) : (StmtList){0};
    BlockPairs pairs = {stores, &blocks, NULL, SYNC_THREADS};
    return stores->n && threads_meet(t, &pairs, NULL, INT32_MAX, hazard);
}

/* ---- the end --------------------------------------------------------------------------------- */

static Stmt *with_wait(Context *c, Stmt *root, const StmtList *stores)
{
    Stmt *store = stores->items[0];
    Stmt *wait = stmt_wait(c, bulk_stores(c), 0, "all stores", store->span);
    return stmt_then(c, root, stmt_stamp(wait, store));
}

static Stmt *end_of_bound(Context *c, Stmt *root, const StmtList *stores)
{
    if (!stmt_is_bound(root))
        return with_wait(c, root, stores);
    return loop_with_body(c, root, end_of_bound(c, root->u.loop.body, stores));
}

/* The same for both branches of a condition around the whole launch. */
static Stmt *end_of_branches(Context *c, Stmt *root, const StmtList *stores)
{
    Stmt *otherwise = root->u.cond.otherwise;
    return stmt_stamp(stmt_if(c, root->u.cond.cond, stores_end(c, root->u.cond.then, stores),
                              otherwise ? stores_end(c, otherwise, stores) : NULL, root->span),
                      root);
}

/* Inside the loops that make the launch: those that are bound, or the outermost one. */
Stmt *stores_end(Context *c, Stmt *root, const StmtList *stores)
{
    if (!stores->n)
        return root;
    if (root->kind == ST_IF)
        return end_of_branches(c, root, stores);
    if (root->kind != ST_FOR)
        return with_wait(c, root, stores);
    return loop_with_body(c, root, end_of_bound(c, root->u.loop.body, stores));
}
