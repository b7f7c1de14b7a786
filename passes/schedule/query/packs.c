/* packs.c - Implements the query packs: would a vectorized loop around a block compute two elements
 * at once?
 *
 * Legal: always, where the arguments are of the right kind.
 * Invariant: the kernel stays as it is. */
#include "ir/packed.h"
#include "passes/schedule/flow.h"

/* All elements that a value reads are read whatever its conditions say, or may be: data choose
 * among elements of inputs. Conditions on loops would have to agree for all lanes. */
static bool reads_early(Context *c, const Expr *value)
{
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);) {
        const Expr *e = at.expr;
        if (e->kind == EX_LOAD && e->u.load.buffer->role != ROLE_IN &&
            !expr_reads_certainly(value, e))
            return false;
        if (e->kind == EX_SELECT && !expr_has_load(e->u.arg[0]) && expr_has_load(e))
            return false;
    }
    return true;
}

/* One instruction rounds two floats to a pair. */
static bool rounds_to_half(const Expr *e)
{
    return e->kind == EX_CAST && packed_type(e->type) && e->u.arg[0]->type == DT_F32;
}

static bool has_packed_operation(Context *c, const Expr *value)
{
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);)
        if ((packed_or_chosen(at.expr) || rounds_to_half(at.expr)) && expr_has_load(at.expr))
            return true;
    return false;
}

bool prim_packs(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    const Stmt *block = sched_node(s, &call->packs.block, NULL);
    const Stmt *store = stmt_written_out(c, block->u.block.body);
    bool yes = store && !block->u.block.init && has_packed_operation(c, store->u.store.value) &&
               reads_early(c, store->u.store.value);
    *result = (Value){.kind = VALUE_BOOL, .u.i = yes};
    return true;
}
