/* lanes.c - Translates a parallel loop of a reference to one whose iterations run in lanes.
 *
 *   parallel j in N              FOR    j' = 0 .. N
 *       if (need[j] != 0)        SPREAD j  = the next values, one a lane, and behind them N
 *           body           =>    IF     j < N
 *                                    body
 *                                END
 *                                NEXT   j', from the last of these values on
 *
 * Values that are not needed take no lane. */
#include "codegen/module/code.h"
#include "ir/implied.h"

/* Single elements that the loop stores to become each lane's own. */
static void place_own(VmCoder *k, const ForStmt *loop)
{
    for (Cursor at = cursor_stmts(k->c, loop->body); cursor_next(&at);) {
        const Buffer *buffer = at.stmt->kind == ST_STORE ? at.stmt->u.store.buffer : NULL;
        if (buffer && buffer->rank == 0)
            coder_place_own(k, buffer);
    }
}

LaneLoop coder_enter_lanes(VmCoder *k, const ForStmt *loop)
{
    bool one = true, each = false;
    const Stmt *test = loop_if_needed(loop);
    LaneLoop l = {.body = test ? test->u.cond.then : loop->body};
    k->in_lanes = false; /* a loop inside is one of each lane */
    k->f->lanes = VM_HOST_LANES;
    place_own(k, loop);
    l.lo = coder_index(k, loop->lo);
    l.hi = coder_index(k, loop->hi);
    l.next = coder_temporary(k, VM_I64, one);
    l.var = coder_temporary(k, VM_I64, each);
    l.some = coder_temporary(k, VM_BOOL, each);
    coder_define(k, loop->var, l.var.reg);
    l.open = coder_emit(
        k, (VmInst){.op = VM_FOR, .type = VM_I64, .d = l.next.reg, .a = l.lo.reg, .b = l.hi.reg});
    VmInst spread = {
        .op = VM_SPREAD, .type = VM_I64, .d = l.var.reg, .a = l.next.reg, .b = l.hi.reg};
    if (test) {
        spread.sub = 1;
        spread.c = coder_buffer(k, test->u.cond.cond->u.arg[0]->u.load.buffer);
    }
    coder_emit(k, spread);
    coder_emit(
        k, (VmInst){.op = VM_LT, .type = VM_I64, .d = l.some.reg, .a = l.var.reg, .b = l.hi.reg});
    l.inside = coder_emit(k, (VmInst){.op = VM_IF, .type = VM_BOOL, .a = l.some.reg});
    VEC_PUSH(k->c->arena, &k->loops, loop);
    return l;
}

void coder_leave_lanes(VmCoder *k, const LaneLoop *l)
{
    k->loops.n--;
    coder_patch(k, l->inside, coder_here(k));
    coder_emit(k, (VmInst){.op = VM_END, .type = VM_BOOL, .a = l->some.reg});
    int close = coder_emit(
        k,
        (VmInst){
            .op = VM_NEXT, .type = VM_I64, .d = l->next.reg, .a = coder_int(k, 1), .b = l->hi.reg});
    coder_patch(k, l->open, close);
    coder_patch(k, close, l->open);
    const Value all[] = {l->lo, l->hi, l->next, l->var, l->some};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        coder_release(k, all[i]);
    k->in_lanes = true;
}
