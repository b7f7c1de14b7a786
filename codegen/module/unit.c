/* unit.c - Brackets the code of an instruction of several threads, or of a bulk copy. */
#include "codegen/module/code.h"
#include "ir/instruction.h"

static int64_t operations_of(const Expr *e)
{
    bool is_one = e->kind == EX_ADD || e->kind == EX_SUB || e->kind == EX_MUL;
    int64_t n = is_one && e->type != DT_INDEX;
    for (int i = 0; e->kind != EX_LOAD && i < expr_operands(e); i++)
        n += operations_of(expr_operand(e, i));
    return n;
}

static int64_t iterations(const EnclosingList *path)
{
    int64_t n = 1, extent;
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_FOR &&
            loop_const_extent(&path->items[i].stmt->u.loop, &extent))
            n *= extent;
    return n;
}

/* How many additions, subtractions and multiplications one of its threads does. */
static int64_t operations(Context *c, const Instruction *of)
{
    int64_t n = 0;
    for (Cursor at = cursor_with_path(cursor_stmts(c, of->body), NULL); cursor_next(&at);)
        if (at.stmt->kind == ST_STORE)
            n += iterations(&at.path) *
                 (operations_of(at.stmt->u.store.value) + store_updates(at.stmt->u.store.op));
    return n;
}

static void bracket(VmCoder *k, int what)
{
    coder_emit(k,
               (VmInst){.op = VM_UNIT, .type = VM_BOOL, .sub = (uint8_t)what, .c = k->units.n - 1});
}

void coder_begin_unit(VmCoder *k, const Instruction *of)
{
    VmUnit unit = {.lanes = of->bulk ? 1 : (int)of->lanes,
                   .tensor = of->tensor,
                   .flops = of->passes ? of->passes * operations(k->c, of) : 0};
    VEC_PUSH(k->c->arena, &k->units, unit);
    bracket(k, VM_UNIT_BEGIN);
}

void coder_end_unit(VmCoder *k)
{
    bracket(k, VM_UNIT_END);
}
