/* check_awaits.c - Checks that blocks of a grid which await what others store can all go on.
 *
 * A block awaits an element until it is not 0. That ends, and gives what an earlier block has
 * stored, if
 * - blocks start in the order of blockIdx, so that those which are awaited run: the hardware starts
 *   them from 0 on, along x first, then y, then z (CUB's scans and the split-K kernels of CUTLASS
 *   rely on it). So no bound loop has a `remap`;
 * - the element is 0 when the launch starts: a block of the program clears the whole buffer before,
 *   and nothing else outside of the launch stores to it, nor does the launch run again.
 * The bindings are checked elsewhere (thread_bind.c): each element is stored once, by a block that
 * starts before those that await it. */
#include "passes/lower/pass.h"

typedef struct {
    LaunchWalk *w;
    const Stmt *root;
    const Stmt *awaiting; /* a block of the launch */
    const Buffer *buffer;
} Awaited;

static bool refuse(const Awaited *a, const char *why)
{
    a->w->failed = true;
    diag_error(a->w->c, E0522, a->awaiting->span,
               "block '%s' awaits elements of '%s', which other blocks of the grid store, but %s",
               a->awaiting->u.block.name, a->buffer->name, why);
    return false;
}

/* Another launch stores what is awaited, or stores it, too. */
static bool refuse_store(const Awaited *a, const BlockStmt *block)
{
    Context *c = a->w->c;
    if (stmt_accesses(c, a->root, a->buffer, ACCESS_WRITE))
        return refuse(a, arena_printf(c->arena,
                                      "block '%s', in another launch, stores more than 0 to it, "
                                      "too; use a temp that one block sets to 0 before",
                                      block->name));
    a->w->failed = true;
    diag_error(c, E0522, a->awaiting->span,
               "block '%s' awaits elements of '%s', which block '%s' stores in another launch; a "
               "launch awaits only what it stores itself: merge the loops of both blocks, and bind "
               "the merged loop",
               a->awaiting->u.block.name, a->buffer->name, block->name);
    return false;
}

/* ---- an order of blocks ---------------------------------------------------------------------- */

static bool has_order(const Awaited *a)
{
    for (Cursor at = cursor_outer(a->w->c, a->root); cursor_next(&at);) {
        const ForStmt *loop = at.stmt->kind == ST_FOR ? &at.stmt->u.loop : NULL;
        if (loop && loop->kind == LOOP_BIND && axis_is_block(loop->axis) &&
            annotations_remap(loop->annotations))
            return refuse(a, "with remap, they do not start in the order of blockIdx; leave the "
                             "grid as it is");
    }
    return true;
}

/* ---- cleared before -------------------------------------------------------------------------- */

static bool is_zero(const StoreStmt *store)
{
    return store->op == STORE_SET && expr_is(store->value, 0);
}

/* The block stores to every element: each subscript is an iterator of its own over the axis. */
static bool stores_all(const Awaited *a, const BlockStmt *block)
{
    const StoreStmt *store = &block->body->u.store;
    Facts *facts = a->w->facts;
    bool all = block->n_iters == store->buffer->rank && !block->predicate;
    for (int d = 0; d < store->buffer->rank && all; d++) {
        const BlockIter *iter = &block->iters[d];
        all = expr_is_var(store->index[d], iter->var) && expr_is(iter->lo, 0) &&
              prove_compare(facts, iter->hi, EX_EQ, store->buffer->shape[d]);
    }
    return all;
}

/* What is around the launch. */
static EnclosingList around_launch(const Awaited *a)
{
    Cursor at = cursor_with_path(cursor_outer(a->w->c, a->w->kernel->body), NULL);
    while (cursor_next(&at))
        if (at.stmt == a->root)
            break;
    return enclosing_copy(a->w->c, &at.path);
}

static bool has_branch(const EnclosingList *path, const Enclosing *branch)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt == branch->stmt && path->items[i].otherwise == branch->otherwise)
            return true;
    return false;
}

/* All conditions on the path are around the launch, too. */
static bool runs_with_launch(const Awaited *a, const EnclosingList *path)
{
    EnclosingList around = around_launch(a);
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_IF && !has_branch(&around, &path->items[i]))
            return false;
    return true;
}

/* What stands outside of the launch stores 0, and before it to all elements whenever it runs. */
static bool is_cleared(const Awaited *a)
{
    Context *c = a->w->c;
    bool before = true, all = false;
    Cursor at = cursor_with_path(cursor_outer(c, a->w->kernel->body), NULL);
    while (cursor_next(&at)) {
        const BlockStmt *block = at.stmt->kind == ST_BLOCK ? &at.stmt->u.block : NULL;
        if (at.stmt == a->root) {
            before = false;
            cursor_prune(&at);
        }
        if (!block || !stmt_accesses(c, at.stmt, a->buffer, ACCESS_WRITE))
            continue;
        if (block->init || block->body->kind != ST_STORE || !is_zero(&block->body->u.store))
            return refuse_store(a, block);
        all |= before && runs_with_launch(a, &at.path) && stores_all(a, block);
    }
    return all || refuse(a, "no block sets all of it to 0 before the launch, so elements may hold "
                            "values of an earlier one; clear it first");
}

/* ---- all launches ---------------------------------------------------------------------------- */

/* A loop of the host is around the launch; a condition there runs it once, or not at all. */
static bool is_repeated(const Awaited *a)
{
    StmtPath path = stmt_path_to(a->w->c, a->w->nest, a->root);
    for (int i = 0; i + 1 < path.n; i++)
        if (path.items[i]->kind == ST_FOR)
            return true;
    return false;
}

static bool check(const Awaited *a)
{
    if (is_repeated(a))
        return refuse(a, "a loop of the host repeats the launch, so that elements hold values of "
                         "the iteration before; await only in a loop that is in no other");
    return has_order(a) && is_cleared(a);
}

static bool runs_in_grid(Context *c, const Stmt *root)
{
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);)
        if (stmt_is_bound(at.stmt) && axis_is_block(at.stmt->u.loop.axis))
            return true;
    return false;
}

static Stmt *check_root(LaunchWalk *w, Stmt *root)
{
    StmtList blocks =
        runs_in_grid(w->c, root) ? stmts_of_kind(w->c, root, ST_BLOCK) : (StmtList){0};
    for (int i = 0; i < blocks.n; i++) {
        AccessList all = access_list(w->c, blocks.items[i], NULL, ACCESS_READ);
        for (int k = 0; k < all.n; k++) {
            Awaited a = {w, root, blocks.items[i], all.items[k].buffer};
            if (all.items[k].awaits && !check(&a))
                return NULL;
        }
    }
    return root;
}

bool awaits_proved(Context *c, const Kernel *kernel)
{
    if (!stmt_awaits(c, kernel->body, NULL))
        return true;
    LaunchWalk w = {.c = c, .kernel = kernel, .root = check_root};
    launch_roots_map(&w, kernel->body);
    return !w.failed;
}
