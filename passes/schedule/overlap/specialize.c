/* specialize.c - Implements specialize_warps, which gives the bulk copies of a loop to a thread of
 * its own, and ping_pong, which has warpgroups take turns in a loop around.
 *
 * The step makes the buffers circles of `stages` parts, and says in an annotation of the loop that
 * its copies are a producer's. What the program means does not change: lowering splits the loop
 * (passes/lower/threads/roles.c), and lets the producer run ahead as far as the circles have room.
 * ping_pong leaves an annotation, too (passes/lower/threads/turns.c).
 *
 * Legal: nothing but what the copies fill crosses between them and the other statements, and that
 * within an iteration.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "ir/copies/bulk_copy.h"
#include "passes/schedule/overlap/ahead.h"
#include "passes/schedule/overlap/circle.h"
#include "passes/shared/roles.h"

/* From the outermost bound loop on: what will be a launch, or the loop alone. */
static StmtPath path_in_launch(Schedule *s, const StmtPath *path)
{
    StmtPath inside = {0};
    for (int i = 0; i < path->n; i++) {
        const Stmt *at = path->items[i];
        if (inside.n || (stmt_is_bound(at)) || i + 1 == path->n)
            VEC_PUSH(s->ctx->arena, &inside, (Stmt *)at);
    }
    return inside;
}

/* The kernel's body with a circle in place of each buffer that the loop's copies fill; NULL after a
 * refusal. */
static Stmt *fold_buffers(const CircleLoop *l, Stmt *body)
{
    Schedule *s = l->s;
    const Stmt *items = l->loop->u.loop.body;
    for (int i = 0; i < stmt_items(items); i++) {
        StmtList blocks = stmts_of_kind(s->ctx, stmt_item(items, i), ST_BLOCK);
        for (int k = 0; k < blocks.n; k++) {
            if (!block_is_bulk(&blocks.items[k]->u.block))
                continue;
            BufferSet filled = flow_buffers(s, blocks.items[k], ACCESS_WRITE);
            Circle circle = {.item = stmt_item(items, i),
                             .buffer = sched_buffer(s, filled.items[0]->id)};
            if (circle.buffer->scope != SCOPE_SHARED) {
                diag_error(s->ctx, E0861, l->call->span,
                           "block '%s' copies to '%s' (%s), and a bulk copy to shared memory; "
                           "set_scope(%s, shared)",
                           blocks.items[k]->u.block.name, circle.buffer->name,
                           scope_name(circle.buffer->scope), circle.buffer->name);
                return NULL;
            }
            if (!circle_users_can(l, &circle) || !circle_measure(l, &circle))
                return NULL;
            body = stmt_replace_buffer(s->ctx, body, circle.buffer,
                                       circle_folded(s->ctx, &circle, l->stages));
        }
    }
    return body;
}

static Stmt *marked(Context *c, const Stmt *loop, AnnotationKey key, int64_t value)
{
    ForStmt marked = loop->u.loop;
    Annotation mark = {
        .key = ctx_name(c, annotation_info(key)->name), .kind = ANNOTATION_INT, .i = value};
    marked.annotations = annotations_with(c, marked.annotations, mark);
    return stmt_for(c, &marked, loop->span);
}

bool prim_specialize_warps(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->specialize_warps.loop, &path);
    const Value *pending = &call->specialize_warps.pending;
    int64_t held = 1 + (pending->kind == VALUE_NONE ? 0 : pending->u.i), extent;
    *result = (Value){.kind = VALUE_NONE};
    if (!circle_stages_can(s, &call->specialize_warps.stages, pending, 1) ||
        !sched_require_serial(s, loop, call->span) || !ahead_require_range(s, loop, call->span))
        return false;
    StmtPath inside = path_in_launch(s, &path);
    const char *obstacle = roles_obstacle(s->ctx, &inside);
    REQUIRE(s, E0861, call->span, !obstacle, "%s", obstacle);
    if (loop_const_extent(&loop->u.loop, &extent) && extent <= 1)
        return true;
    Stmt *from_zero = loop_from_zero(s, &path);
    CircleLoop l = {s, call, from_zero, &path, call->specialize_warps.stages.u.i};
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, loop,
                              marked(s->ctx, from_zero, ANNOTATION_SPECIALIZE_WARPS, held));
    body = fold_buffers(&l, body);
    if (!body)
        return false;
    sched_replace_body(s, body);
    return true;
}

bool prim_ping_pong(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->ping_pong.loop, &path);
    const Value *given = &call->ping_pong.warpgroups;
    const AnnotationInfo *info = annotation_info(ANNOTATION_PING_PONG);
    int64_t warpgroups = given->kind == VALUE_NONE ? 2 : given->u.i, groups, extent;
    *result = (Value){.kind = VALUE_NONE};
    REQUIRE(s, E0866, given->span, warpgroups >= info->least && warpgroups <= info->most,
            "%d to %d warpgroups take turns, found %lld", (int)info->least, (int)info->most,
            (long long)warpgroups);
    if (!sched_require_serial(s, loop, call->span))
        return false;
    StmtPath inside = path_in_launch(s, &path);
    const char *obstacle = turns_obstacle(s->ctx, &inside, &groups);
    REQUIRE(s, E0866, call->span, !obstacle, "warpgroups cannot take turns in loop '%s': %s",
            stmt_label(loop), obstacle);
    if (loop_const_extent(&loop->u.loop, &extent) && extent <= 1)
        return true;
    sched_replace(s, loop,
                  marked(s->ctx, loop_from_zero(s, &path), ANNOTATION_PING_PONG, warpgroups));
    return true;
}
