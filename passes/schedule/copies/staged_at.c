/* staged_at.c - Implements read_at and write_at: makes and places a copy in one step.
 *
 * read_at is cache_read for one block and then compute_at; write_at is cache_write and then
 * reverse_compute_at. Each of the two is checked as it is alone, in the name of the primitive that
 * was called, and where the second is refused, the first has not happened either.
 *
 * Legal: each of the two steps is legal in its turn.
 * Invariant: that of the two steps; where the second is refused, nothing has changed. */
#include "passes/schedule/flow.h"

/* The copy stands in the loop already, since what it copies is made there. */
static bool is_there(Schedule *s, const Value *block, const Value *loop)
{
    StmtPath path = {0};
    (void)sched_node(s, block, &path);
    return path_loop(&path, loop->u.id) >= 0;
}

bool prim_read_at(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loop = &call->read_at.loop, *block = &call->read_at.block;
    Value ignored;
    PrimCall read = {call->primitive, call->span,
                     .cache_read = {.block = *block,
                                    .buffer = call->read_at.buffer,
                                    .scope = call->read_at.scope,
                                    .consumers = value_list(s, block, 1)}};
    if (!prim_cache_read(s, &read, result))
        return false;
    result->span = call->span;
    if (is_there(s, result, loop))
        return true;
    PrimCall move = {call->primitive, call->span, .compute_at = {.block = *result, .loop = *loop}};
    return prim_compute_at(s, &move, &ignored);
}

bool prim_write_at(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loop = &call->write_at.loop, *block = &call->write_at.block;
    Stmt *stmt = sched_node(s, block, NULL);
    const Buffer *buffer = sched_buffer(s, call->write_at.buffer.u.id);
    REQUIRE(s, E0442, call->write_at.buffer.span, stmt_accesses(s->ctx, stmt, buffer, ACCESS_WRITE),
            "block '%s' does not write '%s'; name the buffer that it writes", stmt->u.block.name,
            buffer->name);
    Value ignored;
    PrimCall write = {call->primitive, call->span,
                      .cache_write = {.block = *block, .scope = call->write_at.scope}};
    if (!prim_cache_write(s, &write, result))
        return false;
    result->span = call->span;
    if (is_there(s, result, loop))
        return true;
    PrimCall move = {call->primitive, call->span,
                     .reverse_compute_at = {.block = *result, .loop = *loop}};
    return prim_reverse_compute_at(s, &move, &ignored);
}
