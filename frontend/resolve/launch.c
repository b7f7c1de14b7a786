/* launch.c - Resolves the heads of launches, and checks what their threads do in roles. */
#include "frontend/resolve/internal.h"
#include "ir/copies/bulk_copy.h"
#include "ir/copies/roles.h"

/* ---- heads ---- */

static bool resolve_grid(Resolver *r, const AstStmt *s, LaunchStmt *out)
{
    if (s->u.launch.n_grid != 3 || s->u.launch.n_block != 3) {
        diag_error(r->ctx, E0216, s->u.launch.name.span,
                   "a launch has three extents each for grid(x, y, z) and block(x, y, z); write 1 "
                   "for unused ones");
        return false;
    }
    bool good = true;
    for (int i = 0; i < 3; i++) {
        const AstExpr *threads = s->u.launch.block[i];
        out->grid[i] = resolve_index(r, s->u.launch.grid[i], "an extent of the grid");
        good = good && out->grid[i];
        if (out->grid[i] && expr_has_load(out->grid[i])) {
            diag_error(r->ctx, E0226, s->u.launch.grid[i]->span,
                       "the grid must be known before the launch, so it cannot read a buffer");
            good = false;
        }
        if (!resolve_literal(r, threads, "an extent of a thread block", &out->block[i])) {
            good = false;
        } else if (out->block[i] < 1) {
            diag_error(r->ctx, E0204, threads->span,
                       "a thread block must have at least 1 thread along each axis");
            good = false;
        }
    }
    return good;
}

/* How many blocks of a launch are a cluster, and should be resident on a multiprocessor. */
static bool resolve_counts(Resolver *r, const AstStmt *s, AnnotationList said, LaunchStmt *out)
{
    for (int i = 0; i < s->u.launch.n_annotations; i++) {
        AnnotationKey key = annotation_key(said.items[i].key);
        bool cluster = key == ANNOTATION_CLUSTER;
        if ((!cluster && key != ANNOTATION_MIN_BLOCKS) || said.items[i].kind != ANNOTATION_INT ||
            said.items[i].i < 1 || (cluster && said.items[i].i > MAX_CLUSTER)) {
            diag_error(r->ctx, E0223, s->u.launch.annotations[i].key.span,
                       "a launch takes @cluster(1) to @cluster(8), and @min_blocks(n) with n > 0");
            return false;
        }
        *(cluster ? &out->cluster : &out->min_blocks) = said.items[i].i;
    }
    return true;
}

bool launch_head(Resolver *r, const AstStmt *s, AnnotationList said, LaunchStmt *out)
{
    return resolve_grid(r, s, out) && resolve_counts(r, s, said, out);
}

/* ---- roles ---- */

bool launch_role_may(Resolver *r, const AstStmt *s)
{
    SyncKind kind = s->u.barrier.kind;
    bool producers = kind == SYNC_ACQUIRE, consumers = kind == SYNC_RECEIVE || sync_releases(kind);
    bool good = r->role == IN_PRODUCER ? producers || kind == SYNC_COMMIT
                                       : !producers && (!consumers || r->role == IN_CONSUMERS);
    if (!good)
        diag_error(
            r->ctx, E0255, s->span,
            "the producer of a launch meets `acquire` and `commit`, its consumers `receive`, "
            "`release` and all that threads without roles do");
    return good;
}

static bool is_for_producer(const Stmt *s)
{
    return s->kind == ST_SEQ || s->kind == ST_FOR || s->kind == ST_IF || s->kind == ST_LET ||
           s->kind == ST_BARRIER || (stmt_is_bulk_copy(s) && !s->u.instruction.of->stores);
}

bool launch_parts_may(Resolver *r, const Stmt *producer, const Stmt *consumers)
{
    for (Cursor at = cursor_stmts(r->ctx, producer); cursor_next(&at);) {
        if (!is_for_producer(at.stmt)) {
            diag_error(r->ctx, E0255, at.stmt->span,
                       "the producer of a launch makes bulk copies only, with loops, conditions "
                       "and named values around them");
            return false;
        }
        if (at.stmt->kind == ST_INSTRUCTION)
            cursor_prune(&at);
    }
    for (Cursor at = cursor_stmts(r->ctx, consumers); cursor_next(&at);)
        if (stmt_is_bulk_copy(at.stmt) && !at.stmt->u.instruction.of->stores) {
            diag_error(r->ctx, E0255, at.stmt->span,
                       "in a launch with a producer, consumers make no bulk copies into shared "
                       "memory");
            return false;
        }
    return true;
}

/* Beside roles, a launch has only what both see, and barriers of the cluster, which all meet. */
static bool roles_alone(Resolver *r, const Stmt *body)
{
    const Stmt *roles = NULL;
    bool alone = true;
    for (Cursor at = cursor_stmts(r->ctx, body); cursor_next(&at);)
        if (at.stmt->kind == ST_ROLES)
            roles = at.stmt;
    for (int i = 0; i < stmt_items(body); i++) {
        const Stmt *item = stmt_item(body, i);
        bool shared = item->kind == ST_TEMP && scope_is_shared(item->u.temp->scope);
        bool meets = item->kind == ST_BARRIER && item->u.barrier.kind == SYNC_CLUSTER;
        alone &= item == roles || item->kind == ST_LET || shared || meets;
    }
    if (roles && !alone)
        diag_error(r->ctx, E0255, roles->span,
                   "a launch with roles has nothing beside them but named values, temps in shared "
                   "or cluster memory, and barriers of the cluster");
    return !roles || alone;
}

/* The producer's warpgroup finds a place behind the consumers. */
static bool roles_stand(Resolver *r, const LaunchStmt *launch)
{
    bool fit = roles_fit(launch);
    for (int i = 0; i < stmt_items(launch->body) && !fit; i++)
        if (stmt_item(launch->body, i)->kind == ST_ROLES) {
            diag_error(
                r->ctx, E0255, stmt_item(launch->body, i)->span,
                "the consumers must fill warps of %d threads, and the extents of their block "
                "but for the last divide %d, so that a warpgroup can stand behind them",
                ROLE_WARP, ROLE_WARPGROUP);
            return false;
        }
    return true;
}

static bool refuse_turns(Resolver *r, const Stmt *roles, const char *why)
{
    diag_error(r->ctx, E0255, roles->span, "consumers take turns %s", why);
    return false;
}

/* Consumers that take turns are warpgroups, which nothing but what they share with the producer
 * joins. Their turns begin with the same mbarriers (codegen/cuda/roles.c). */
static bool turns_may(Resolver *r, const LaunchStmt *launch, const Stmt *roles)
{
    int groups = copy_groups(launch->body);
    if (!roles || !roles->u.roles.turn)
        return true;
    if (roles->u.roles.turn < 0 || roles->u.roles.turn % groups != 0)
        return refuse_turns(
            r, roles,
            arena_printf(r->ctx->arena,
                         "of 1 to %d groups, a multiple of those under way at a time, %d here",
                         MAX_TURN, groups));
    if (!roles_are_warpgroups(launch))
        return refuse_turns(r, roles,
                            arena_printf(r->ctx->arena,
                                         "if the last extent of their block counts warpgroups of "
                                         "%d threads",
                                         ROLE_WARPGROUP));
    if (launch->cluster)
        return refuse_turns(r, roles, "only in a launch without @cluster");
    for (Cursor at = cursor_stmts(r->ctx, roles->u.roles.consumers); cursor_next(&at);)
        if (at.stmt->kind == ST_BARRIER && sync_meets(at.stmt->u.barrier.kind) &&
            !sync_is_part(at.stmt->u.barrier.kind))
            return refuse_turns(r, at.stmt, "and meet at barriers of a warpgroup or a warp only");
    return true;
}

static bool is_of_cluster(const Stmt *s)
{
    return s->kind == ST_BARRIER ? s->u.barrier.kind == SYNC_RELEASE_CLUSTER
                                 : stmt_is_bulk_copy(s) && s->u.instruction.of->multicast;
}

/* The roles of blocks of a cluster copy to all of them, and release to all. */
static bool cluster_may(Resolver *r, const LaunchStmt *launch)
{
    for (Cursor at = cursor_stmts(r->ctx, launch->body); cursor_next(&at);) {
        if (at.stmt->kind == ST_ROLES && launch->cluster) {
            cursor_prune(&at);
        } else if (is_of_cluster(at.stmt)) {
            diag_error(r->ctx, E0255, at.stmt->span,
                       "copies to all blocks of a cluster, and releases to their producers, are "
                       "made by the roles of a launch with @cluster");
            return false;
        }
    }
    return true;
}

/* Warps and warpgroups that meet are whole. */
static bool parts_whole(Resolver *r, const LaunchStmt *launch)
{
    for (Cursor at = cursor_stmts(r->ctx, launch->body); cursor_next(&at);) {
        SyncKind kind = at.stmt->kind == ST_BARRIER ? at.stmt->u.barrier.kind : SYNC_THREADS;
        int threads = kind == SYNC_WARP ? ROLE_WARP : ROLE_WARPGROUP;
        if (!sync_is_part(kind) || roles_consumers(launch) % threads == 0)
            continue;
        diag_error(r->ctx, E0503, at.stmt->span,
                   "this is a barrier of the %d threads of a %s, and the %lld threads of the block "
                   "are no multiple of that",
                   threads, sync_word(kind), (long long)roles_consumers(launch));
        return false;
    }
    return true;
}

bool launch_roles_may(Resolver *r, const LaunchStmt *launch)
{
    return parts_whole(r, launch) && roles_alone(r, launch->body) && roles_stand(r, launch) &&
           cluster_may(r, launch) && turns_may(r, launch, roles_in(launch->body));
}
