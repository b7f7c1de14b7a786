/* vectorize.c - Implements vectorize: splits a long loop into vectors, vectorizes the inner one.
 *
 * Legal: no iteration depends on another, and the body is one block.
 * Invariant: every instance of a block runs exactly once. */
#include "passes/schedule/loops/loop.h"

/* The most elements of the stores below that 16 bytes hold; 0 where there are none. */
static int64_t lanes_of(Schedule *s, const Stmt *loop)
{
    int64_t lanes = 0;
    for (Cursor at = cursor_stmts(s->ctx, loop->u.loop.body); cursor_next(&at);) {
        int bytes = at.stmt->kind == ST_STORE ? type_bytes(at.stmt->u.store.buffer->type) : 0;
        if (bytes > 0 && (lanes == 0 || MAX_VECTOR / bytes < lanes))
            lanes = MAX_VECTOR / bytes;
    }
    return lanes;
}

/* Splits a loop of more iterations than a vector has elements; the inner loop takes its place. */
static bool split_for_vector(Schedule *s, const PrimCall *call, int64_t lanes, Stmt **loop,
                             StmtPath *path)
{
    Value factors[2] = {{.kind = VALUE_FILL, .span = call->span}, value_int(lanes)}, loops;
    PrimCall split = {
        call->primitive, call->span,
        .split = {.loop = call->vectorize.loop, .factors = value_list(s, factors, 2)}};
    if (!prim_split(s, &split, &loops))
        return false;
    *path = (StmtPath){0};
    *loop = sched_node(s, &loops.u.list.items[1], path);
    return true;
}

bool prim_vectorize(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->vectorize.loop, &path);
    int64_t extent, lanes = lanes_of(s, loop);
    if (!loop_make_serial(s, &loop, &path, call->span))
        return false;
    bool is_long = expr_is_const(sched_extent(s, &path), &extent) && extent > MAX_VECTOR;
    if (is_long && lanes > 1 && extent % lanes == 0 &&
        !split_for_vector(s, call, lanes, &loop, &path))
        return false;
    *result = (Value){.kind = VALUE_NONE};
    return loop_vectorize(s, loop, &path, call->span);
}
