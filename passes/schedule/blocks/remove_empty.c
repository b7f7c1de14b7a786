/* remove_empty.c - Implements remove_empty: removes a loop in which no block ever runs.
 *
 *   for i in 8, j in 8..16                       (nothing)
 *       block y(i in 8 = i, j in i = j) {    =>
 *           y[i, j] = 0;
 *       }
 *
 * Where cuts of a range leave parts of a triangle, some of them have nothing of it.
 *
 * Legal: no block of the loop has an instance or runs an init.
 * Invariant: what never ran is gone. */
#include "passes/schedule/flow.h"

/* What the loop writes has another writer, for a program that never writes what it reads or returns
 * does not read back. */
static bool check_writers(Schedule *s, Stmt *loop, Stmt *rest, Span span)
{
    BufferSet written = flow_buffers(s, loop, ACCESS_WRITE);
    for (int i = 0; i < written.n; i++)
        REQUIRE(s, E0925, span, stmt_accesses(s->ctx, rest, written.items[i], ACCESS_WRITE),
                "nothing but loop '%s' says what '%s' is", stmt_label(loop),
                written.items[i]->name);
    return true;
}

bool prim_remove_empty(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->remove_empty.loop, &path);
    StmtList blocks = stmts_of_kind(s->ctx, loop, ST_BLOCK);
    REQUIRE(s, E0925, call->span, blocks.n < stmts_of_kind(s->ctx, s->kernel->body, ST_BLOCK).n,
            "loop '%s' is all of the program", stmt_label(loop));
    for (int i = 0; i < blocks.n; i++)
        REQUIRE_AT(s, E0925, call->span, dependence_never_runs(s->ctx, s->kernel, blocks.items[i]),
                   blocks.items[i], "block '%s' in loop '%s' may run", stmt_label(blocks.items[i]),
                   stmt_label(loop));
    Stmt *rest = flow_remove_end(s, s->kernel->body, &path);
    if (!check_writers(s, loop, rest, call->span))
        return false;
    sched_replace_body(s, rest);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}
