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

bool async_copies_can(Context *c, Stmt *root)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const BlockStmt *block = &blocks.items[i]->u.block;
        const char *obstacle = block_is_async(block) ? async_copy_obstacle(c, block) : NULL;
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
