/* staged_at.c - read_at and write_at: a copy, and its place, in one step.
 *
 * read_at is cache_read for one block and then compute_at; write_at is cache_write and then reverse_compute_at. Each of the two
 * is checked as it is alone, and where the second is refused, the first has not happened either. */
#include "passes/schedule/flow.h"

/* The same call with other arguments, so that messages name the primitive that was called. */
static PrimCall part_of(const PrimCall *call, const Value *args, int n)
{
    PrimCall part = {.primitive = call->primitive, .span = call->span};
    for (int i = 0; i < n; i++)
        part.arg[i] = args[i];
    return part;
}

bool prim_read_at(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loop = &call->arg[0], *block = &call->arg[1];
    Value ignored, copy[] = {*block, call->arg[2], call->arg[3], value_list(s, block, 1)};
    PrimCall read = part_of(call, copy, 4);
    if (!prim_cache_read(s, &read, result))
        return false;
    result->span = call->span;
    Value place[] = {*result, *loop};
    PrimCall move = part_of(call, place, 2);
    return prim_compute_at(s, &move, &ignored);
}

bool prim_write_at(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Value *loop = &call->arg[0], *block = &call->arg[1];
    Stmt *stmt = sched_block(s, block, &path);
    const Buffer *buffer = sched_buffer(s, call->arg[2].u.id);
    REQUIRE(s, E0442, call->arg[2].span, stmt_touches(stmt, buffer, ACCESS_WRITE),
            "block '%s' does not write '%s'; name the buffer that it writes", stmt->u.block.name,
            buffer->name);
    Value ignored, copy[] = {*block, call->arg[3]};
    PrimCall write = part_of(call, copy, 2);
    if (!prim_cache_write(s, &write, result))
        return false;
    result->span = call->span;
    Value place[] = {*result, *loop};
    PrimCall move = part_of(call, place, 2);
    return prim_reverse_compute_at(s, &move, &ignored);
}
