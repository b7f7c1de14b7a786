/* roles.c - Decides whether a loop can give its bulk copies to a producer. */
#include "passes/shared/roles.h"

#include "ir/copies/bulk_copy.h"
#include "passes/analysis/regions/region.h"
#include "passes/analysis/threads/launch.h"

static bool holds(Context *c, const Stmt *loop, const Stmt *block)
{
    for (Cursor at = cursor_outer(c, loop); cursor_next(&at);)
        if (at.stmt == block)
            return true;
    return false;
}

/* The statement sends threads of a loop of `path` different ways: that loop. */
static const Stmt *divides(const Stmt *s, const StmtPath *path)
{
    for (int i = 0; i < path->n; i++) {
        const Var *var = path->items[i]->kind == ST_FOR ? path->items[i]->u.loop.var : NULL;
        bool uses = var && s->kind == ST_FOR  ? loop_uses_var(&s->u.loop, var)
                    : var && s->kind == ST_IF ? expr_uses_var(s->u.cond.cond, var)
                                              : false;
        if (uses && stmt_is_thread_loop(path->items[i]))
            return path->items[i];
    }
    return NULL;
}

/* Both roles go through the iterations by themselves, one after the other. */
static const char *loops_obstacle(Context *c, const StmtPath *path)
{
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i];
        bool bound = i + 1 < path->n && stmt_is_bound(s);
        if (s->kind == ST_FOR && s->u.loop.kind != LOOP_SERIAL && !bound)
            return arena_printf(c->arena, "loop '%s' is not serial", s->u.loop.var->name);
    }
    return NULL;
}

/* Another block writes what the copy fills, reads it outside of the loop, or has the hardware read
 * it, behind the end of an iteration. */
static const char *crossing_obstacle(Context *c, const StmtPath *path, const Stmt *copy)
{
    const Stmt *root = path->items[0], *loop = path_end(path);
    const Buffer *target = stmts_of_kind(c, copy->u.block.body, ST_STORE).items[0]->u.store.buffer;
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++) {
        const Stmt *block = blocks.items[i];
        bool writes =
            !block_is_bulk(&block->u.block) && stmt_accesses(c, block, target, ACCESS_WRITE);
        bool outside = !holds(c, loop, block) && stmt_accesses(c, block, target, ACCESS_ANY);
        bool stores =
            block_stores_bulk(&block->u.block) && stmt_accesses(c, block, target, ACCESS_READ);
        if (writes || outside || stores)
            return arena_printf(
                c->arena, "block '%s' %s '%s'%s, which block '%s' copies", block->u.block.name,
                writes    ? "writes"
                : outside ? "accesses"
                          : "is a bulk store of",
                target->name, outside ? " outside of the loop" : "", copy->u.block.name);
    }
    return NULL;
}

/* All threads go one way to the copy. */
static const char *copy_obstacle(Context *c, const StmtPath *path, Stmt *copy)
{
    StmtPath way = stmt_path_to(c, path->items[0], copy);
    for (int i = 0; i < way.n; i++) {
        const Stmt *by = divides(way.items[i], &way);
        if (by)
            return arena_printf(c->arena, "threads of loop '%s' go different ways to block '%s'",
                                by->u.loop.var->name, copy->u.block.name);
    }
    return crossing_obstacle(c, path, copy);
}

/* How many groups of copies the statements below the loop make; a refusal where that differs. */
static const char *count_groups(Context *c, const Stmt *loop, int64_t *groups)
{
    StmtList found = loops_marked(c, loop->u.loop.body, ANNOTATION_SPECIALIZE_WARPS);
    if (found.n == 0)
        return "no loop in it has a producer; apply specialize_warps to one first";
    const Stmt *copies = found.items[found.n - 1];
    StmtPath way = stmt_path_to(c, loop->u.loop.body, copies);
    *groups = 1;
    for (int i = 0; i < way.n; i++) {
        const Stmt *s = way.items[i];
        int64_t extent = 1;
        if (s->kind == ST_IF || (s->kind == ST_FOR && s->u.loop.kind != LOOP_BIND &&
                                 !loop_const_extent(&s->u.loop, &extent)))
            return s->kind == ST_IF
                       ? "a condition decides whether an iteration has copies"
                       : arena_printf(c->arena,
                                      "loop '%s' has no literal number of iterations, so turns "
                                      "may have different numbers of groups of copies",
                                      s->u.loop.var->name);
        if (!checked_mul(*groups, extent, groups) || *groups > MAX_TURN)
            return arena_printf(c->arena, "a turn has more than %d groups of copies", MAX_TURN);
    }
    return NULL;
}

const char *turns_obstacle(Context *c, const StmtPath *path, int64_t *groups)
{
    const Stmt *loop = path_end(path);
    StmtList blocks = stmts_of_kind(c, path->items[0], ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (!holds(c, loop, blocks.items[i]))
            return arena_printf(c->arena, "block '%s' is outside of it",
                                blocks.items[i]->u.block.name);
    return count_groups(c, loop, groups);
}

const char *roles_obstacle(Context *c, const StmtPath *path)
{
    const Stmt *loop = path_end(path);
    const char *obstacle = loops_obstacle(c, path);
    int copies = 0;
    StmtList blocks = stmts_of_kind(c, path->items[0], ST_BLOCK);
    for (int i = 0; i < blocks.n && !obstacle; i++) {
        if (!block_is_bulk(&blocks.items[i]->u.block))
            continue;
        copies++;
        obstacle = holds(c, loop, blocks.items[i])
                       ? copy_obstacle(c, path, blocks.items[i])
                       : arena_printf(c->arena, "block '%s' is a bulk copy outside of the loop",
                                      blocks.items[i]->u.block.name);
    }
    if (obstacle || copies)
        return obstacle;
    return arena_printf(c->arena,
                        "loop '%s' has no bulk copy; apply copy_bulk to what it copies first",
                        loop->u.loop.var->name);
}
