/* turns.c - Has warpgroups of consumers take turns (ping-pong).
 *
 *   for t in n {                                    for w in 2 bind threadIdx.z
 *       for ko in 8 { receive; use(ko); release }       for t in w..n step 2 {
 *       rest(t)                                 =>          for ko in 8 { receive; ... }
 *   }                                                       rest(t)
 *                                                       }
 *
 * On the left, the 128 threads of a block do all; barriers are inserted there, and since each
 * iteration of t is a warpgroup's, they are barriers of a warpgroup. On the right, `rest` of one
 * warpgroup runs beside the loop over ko of the other. The producer stays as it is: its groups of
 * copies for an iteration of t are as many in each, so both sides know whose a group is.
 *
 * Legal: iterations of t neither meet in memory that a block's threads share, but for what the
 * producer copies for one of them, nor pass values on in registers. */
#include "passes/lower/threads/turns.h"

#include "ir/copies/bulk_copy.h"
#include "ir/copies/roles.h"
#include "passes/analysis/threads/launch.h"
#include "passes/lower/threads/clusters.h"
#include "passes/shared/roles.h"

static bool refuse(Context *c, const Stmt *loop, const char *why)
{
    diag_error(c, E0866, loop->span, "warpgroups cannot take turns in loop '%s': %s",
               loop->u.loop.var->name, why);
    return false;
}

/* The path to the loop, which is on that to the copies; one without items if it is not. */
static StmtPath path_to_marked(Context *c, const Roles *roles, const Stmt *loop)
{
    StmtPath path = {0};
    for (int i = 0; i < roles->path.n; i++) {
        VEC_PUSH(c->arena, &path, roles->path.items[i]);
        if (roles->path.items[i] == loop)
            return path;
    }
    return (StmtPath){0};
}

/* ---- threads --------------------------------------------------------------------------------- */

/* The first axis behind those that have loops, and how many threads these make; AXIS_NONE if none
 * is left. */
static Axis next_axis(Context *c, const Stmt *root, int64_t *threads)
{
    int64_t extents[3] = {1, 1, 1};
    int used = 0;
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);) {
        const ForStmt *loop = &at.stmt->u.loop;
        if (at.stmt->kind != ST_FOR || loop->kind != LOOP_BIND || !axis_is_thread(loop->axis))
            continue;
        int i = (int)(loop->axis - AXIS_THREAD_X);
        used = i + 1 > used ? i + 1 : used;
        if (!loop_const_extent(loop, &extents[i]))
            extents[i] = 0;
    }
    *threads = extents[0] * extents[1] * extents[2];
    return used < 3 ? (Axis)(AXIS_THREAD_X + used) : AXIS_NONE;
}

static const char *threads_obstacle(Context *c, const Stmt *root, Axis *axis)
{
    int64_t threads;
    *axis = next_axis(c, root, &threads);
    if (threads != ROLE_WARPGROUP)
        return arena_printf(c->arena,
                            "an iteration takes %lld threads, and a turn is that of a warpgroup of "
                            "%d",
                            (long long)threads, ROLE_WARPGROUP);
    return *axis == AXIS_NONE ? "loops are bound to threadIdx.z, so no axis is left to count "
                                "warpgroups"
                              : NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Registers that one iteration may have from another. */
static const char *registers_obstacle(Context *c, const Stmt *loop)
{
    for (Cursor at = cursor_stmt(c, loop); cursor_next(&at);) {
        const Buffer *b = at.stmt && at.stmt->kind == ST_STORE  ? at.stmt->u.store.buffer
                          : at.expr && at.expr->kind == EX_LOAD ? at.expr->u.load.buffer
                                                                : NULL;
        if (b && b->scope == SCOPE_LOCAL && !stmt_declares_inside(c, loop, b))
            return arena_printf(c->arena, "'%s' keeps values in registers from one to the next",
                                b->name);
    }
    return NULL;
}

/* Different iterations meet in shared or global memory. */
static const char *meeting_obstacle(Context *c, const Roles *roles, const StmtPath *path)
{
    StmtList users = {0};
    for (int i = 0; i < roles->all.n; i++)
        if (!block_is_bulk(&roles->all.items[i]->u.block))
            VEC_PUSH(c->arena, &users, roles->all.items[i]);
    for (int i = 0; i < path->n; i++) {
        const Stmt *carrier = path->items[i];
        BlockPairs pairs = {&users, &users, carrier, SYNC_THREADS};
        Hazard hazard;
        if (carrier->kind == ST_FOR && carrier->u.loop.kind != LOOP_BIND &&
            threads_meet(roles->threads, &pairs, carrier, INT32_MAX, &hazard))
            return arena_printf(c->arena, "two of them access one element of '%s'",
                                hazard.buffer->name);
    }
    return NULL;
}

/* ---- the launch ------------------------------------------------------------------------------ */

static const char *obstacle_of(Context *c, Stmt *root, Roles *roles)
{
    const Stmt *loop = roles->turns;
    StmtPath path = path_to_marked(c, roles, loop);
    if (path.n == 0)
        return "it does not contain the loop whose copies have warps of their own";
    if (clusters_loop(c, root) || clusters_used(c, root))
        return "its launch has clusters of blocks";
    if (loop->u.loop.kind != LOOP_SERIAL || !loop_counts_from_zero(&loop->u.loop))
        return "it is not serial, from 0 in steps of 1";
    const char *obstacle = turns_obstacle(c, &path, &roles->turn);
    obstacle = obstacle ? obstacle : threads_obstacle(c, root, &roles->turns_axis);
    obstacle = obstacle ? obstacle : registers_obstacle(c, loop);
    return obstacle ? obstacle : meeting_obstacle(c, roles, &path);
}

bool turns_find(Context *c, Stmt *root, Roles *roles)
{
    StmtList marked = loops_marked(c, root, ANNOTATION_PING_PONG);
    if (marked.n == 0)
        return true;
    if (marked.n > 1)
        return refuse(c, marked.items[1], "they do so in another loop of the launch already");
    roles->turns = marked.items[0];
    if (!roles->loop)
        return refuse(c, roles->turns, "no copies of its launch have warps of their own");
    roles->warpgroups = (int)annotation_int(roles->turns->u.loop.annotations, ANNOTATION_PING_PONG);
    const char *obstacle = obstacle_of(c, root, roles);
    if (obstacle)
        return refuse(c, roles->turns, obstacle);
    while (roles->turn % roles->room != 0) /* turns begin at the same place */
        roles->room--;
    return true;
}

bool turns_in_launches(Context *c, Stmt *body)
{
    for (Cursor at = cursor_with_path(cursor_outer(c, body), NULL); cursor_next(&at);) {
        bool inside = !stmt_is_marked(at.stmt, ANNOTATION_PING_PONG);
        for (int i = 0; i < at.path.n && !inside; i++)
            inside = stmt_is_bound(at.path.items[i].stmt);
        if (!inside)
            return refuse(c, at.stmt, "it is a loop of the host, with no loop over blocks around");
    }
    return true;
}

/* ---- dealing --------------------------------------------------------------------------------- */

typedef struct {
    Context *c;
    const Roles *roles;
} Deal;

/* The first warpgroup begins with the first iteration, the next one with the second. */
static Stmt *dealt(const Deal *d, const Stmt *s)
{
    Context *c = d->c;
    ForStmt loop = s->u.loop;
    ForStmt over = {.kind = LOOP_BIND,
                    .axis = d->roles->turns_axis,
                    .var = var_new(c, ctx_name(c, "warpgroup"), DT_INDEX, VAR_LOOP, s->span),
                    .lo = expr_index(c, 0),
                    .hi = expr_index(c, d->roles->warpgroups),
                    .step = 1};
    loop.annotations = annotations_without(
        c, loop.annotations, ctx_name(c, annotation_info(ANNOTATION_PING_PONG)->name));
    loop.lo = expr_var(c, over.var, s->span);
    loop.step = d->roles->warpgroups;
    over.body = stmt_stamp(stmt_for(c, &loop, s->span), s);
    return stmt_stamp(stmt_for(c, &over, s->span), s);
}

static Stmt *deal(void *user, Stmt *s)
{
    const Deal *d = user;
    if (s->kind == ST_FOR && s->u.loop.id == d->roles->turns->u.loop.id)
        return dealt(d, s);
    return stmt_map_children(d->c, s, deal, user);
}

Stmt *turns_dealt(Context *c, const Roles *roles, Stmt *consumers)
{
    Deal d = {c, roles};
    return roles->turns ? deal(&d, consumers) : consumers;
}
