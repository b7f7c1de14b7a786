/* async.c - Groups asynchronous copies and decides which groups to wait for (see barriers.c).
 *
 *   for ko in n {                                          for ko in n {
 *       if (ko + 3 < n) { copy A(ko + 3); copy B(ko + 3) }      ...
 *       use(ko)                                       =>        commit
 *   }                                                           use(ko)
 *                                                               wait 2; barrier
 *                                                           }
 *
 * Consecutive copies form one group, committed after the outermost statement that contains nothing
 * else, so that every iteration commits one group, even if a condition leaves it empty. A wait for
 * copies that have no group yet commits them first. A barrier at the end of such an iteration
 * leaves as many of the latest groups in flight as there are iterations between a copy and the
 * first access that can conflict with it. */
#include "passes/lower/threads/async.h"

#include "ir/copies/bulk_copy.h"
#include "passes/analysis/regions/async_copy.h"

bool async_only(Context *c, const Stmt *s)
{
    bool any = false;
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);) {
        bool copies = at.stmt->kind == ST_BLOCK && block_is_async(&at.stmt->u.block);
        if (!copies && (at.stmt->kind == ST_BLOCK || at.stmt->kind == ST_BARRIER))
            return false;
        any |= copies;
    }
    return any;
}

Stmt *async_commit(Context *c, const Stmt *copies)
{
    return stmt_stamp(stmt_commit(c, "the copies above are one group", copies->span), copies);
}

static bool is_commit(const Stmt *s)
{
    return s->kind == ST_BARRIER && s->u.barrier.kind == SYNC_COMMIT;
}

/* Does every run of `body` close a group? */
static bool always_commits(const Stmt *body)
{
    bool commits = is_commit(body);
    for (int i = 0; body->kind == ST_SEQ && i < body->u.seq.n; i++)
        commits |= is_commit(body->u.seq.items[i]);
    return commits;
}

int async_pending(Threads *t, const BlockPairs *pairs, const Stmt *counted, const Stmt *body)
{
    Hazard hazard;
    int pending = 0;
    while (always_commits(body) && pending < MAX_PENDING &&
           !threads_meet(t, pairs, counted, pending + 1, &hazard))
        pending++;
    return pending;
}

/* One thread starts a bulk copy: the one whose coordinates are all 0, which also says that a group
 * is complete. */
static bool bulk_copy_can(Context *c, Stmt *root, const Stmt *block)
{
    StmtPath path = {0};
    stmt_path_to(c, root, block, &path);
    for (Axis axis = AXIS_THREAD_X; axis <= AXIS_THREAD_Z; axis++) {
        bool every = false;
        const Stmt *loop = thread_loop(c, &path, axis, &every);
        if (!loop)
            continue;
        diag_error(c, E0860, block->span,
                   "one thread starts a bulk copy, but those of loop '%s' on %s share the "
                   "iterations of block '%s'; make the copy in a loop that is not bound to threads",
                   loop->u.loop.var->name, axis_name(axis), block->u.block.name);
        return false;
    }
    return true;
}

bool async_has_bulk(Context *c, const Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (block_is_bulk(&blocks.items[i]->u.block))
            return true;
    return false;
}

bool async_groups_can(Context *c, const Stmt *root, const Stmt *done)
{
    if (!async_has_bulk(c, root) || copy_groups(done) <= MAX_PENDING)
        return true;
    diag_error(c, E0860, root->span,
               "more than %d groups of copies could be under way here at a time, and each needs an "
               "mbarrier while a bulk copy may be in it; let each iteration use what it has copied",
               MAX_PENDING);
    return false;
}

bool async_copies_can(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        bool bulk = block_is_bulk(block);
        if (bulk && !bulk_copy_can(c, root, blocks.items[i]))
            return false;
        const char *obstacle =
            block_is_async(block) && !bulk ? async_copy_obstacle(c, block) : NULL;
        if (!obstacle)
            continue;
        diag_error(c, E0440, blocks.items[i]->span, "%s", obstacle);
        diag_note(c, blocks.items[i]->span,
                  "a step after copy_async changed the block; apply copy_async only to blocks that "
                  "still copy at the end");
        return false;
    }
    return true;
}
