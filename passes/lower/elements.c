/* elements.c - Finds the elements of operands that the text of a block's instruction names.
 *
 * The block has matched its instruction after each step of the schedule. Lowering matches once
 * more, when buffers have their final extents. */
#include "passes/lower/elements.h"

#include "passes/shared/unify.h"

Expr *const *instruction_elements(Context *c, Facts *facts, const Stmt *s, const Var *thread,
                                  const SubstList *value)
{
    const BlockStmt *block = &s->u.block;
    Unify u = {.c = c, .facts = facts, .of = block->instruction, .compacted = true};
    FactsMark mark = facts_mark(facts);
    u.lane = u.of->lane && thread ? unify_lane(block, thread) : NULL;
    facts_enter(facts, s);
    Subst lane = {(Var *)thread, u.lane ? expr_var(c, (Var *)u.lane, s->span) : NULL};
    bool good = unify(&u, u.lane ? stmt_subst(c, block->body, &lane, 1) : block->body);
    facts_reset(facts, mark);
    if (good && unify_aligned(&u, value->items, value->n))
        return unify_elements(&u);
    diag_error(c, u.code, s->span, "block '%s' is not what instruction '%s' computes: %s",
               block->name, u.of->kernel->name, u.why);
    return NULL;
}
