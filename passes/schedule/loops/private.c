/* private.c - Moves temporaries of a loop's body into memory that each of its iterations has for
 * itself.
 *
 *     for i in M bind blockIdx.x {          for i in M bind blockIdx.x {
 *         temp s: f32;                =>        temp s: f32 in shared;
 *
 * A temporary lives until the end of its braces, so each iteration of a loop around it has one of
 * its own. In global memory all iterations would share it; a block of the grid has its own in
 * shared memory, a thread in local memory.
 *
 * Legal: the shape is literal, and small enough.
 * Invariant: no value passes from one iteration to another, before and after. */
#include "passes/analysis/regions/private.h"
#include "passes/schedule/loops/loop.h"

Stmt *loop_with_private_temps(Schedule *s, Stmt *loop, Scope of, Axis axis)
{
    Context *c = s->ctx;
    StrBuf moved = strbuf_new(c->arena);
    strbuf_add(&moved, s->remark ? s->remark : "");
    StmtList temps = stmts_of_kind(c, loop->u.loop.body, ST_TEMP);
    for (int i = 0; i < temps.n; i++) {
        const Buffer *temp = temps.items[i]->u.temp;
        Scope scope = private_scope(temp, axis);
        if (temp->scope != of || scope == of)
            continue;
        Buffer *own = buffer_copy(c, temp);
        own->scope = scope;
        loop = stmt_replace_buffer(c, loop, temp, own);
        strbuf_addf(&moved, "%s%s is in %s memory", moved.length ? ", " : "", temp->name,
                    scope_name(scope));
    }
    if (moved.length)
        s->remark = moved.text;
    return loop;
}
