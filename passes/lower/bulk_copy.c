/* bulk_copy.c - Lowers bulk copies to instructions, which name where the box begins.
 *
 *   block t_o(...) @copy_bulk(1) {          instruction copy_bulk(t[0, 0], A[by * 128, ko * 64]) {
 *       for i in 128, k in 64         =>        for i in 128, k in 64
 *           t[i, k] = A[...];                       t[i, k] async= A[...];
 *   }                                       }
 *
 * The stores of one from shared memory stay as they are: what goes on behind its text is that it
 * reads. Updates are atomic, whether the block needs it or not. */
#include "passes/lower/bulk_copy.h"

#include "passes/lower/block_stores.h"
#include "passes/shared/bulk_place.h"
#include "passes/shared/multicast.h"

/* The element where the box begins, with `shown` in place of the block's iterators. */
static Expr *first_of_box(Context *c, const BulkForm *form, const BulkSide *side,
                          const SubstList *shown)
{
    Buffer *buffer = (Buffer *)side->buffer;
    Subst zero[BULK_MAX_RANK];
    for (int i = 0; i < form->n; i++)
        zero[i] = (Subst){form->loops[i]->var, expr_index(c, 0)};
    Expr **first = exprs_subst(c, side->index, buffer->rank, zero, form->n);
    return expr_load(c, buffer, exprs_subst(c, first, buffer->rank, shown->items, shown->n),
                     form->store->span);
}

/* The mode of the copy, and what it consists of; BULK_NONE after E0860. */
static BulkMode find_mode(Context *c, Facts *f, const Stmt *s, BulkForm *form)
{
    FactsMark mark = facts_mark(f);
    facts_enter(f, s);
    const char *why = bulk_copy_obstacle(c, f, &s->u.block, form), *misplaced = NULL;
    if (!why && form->stores != block_stores_bulk(&s->u.block))
        TIRC_BUG(c, "block '%s' copies the other way than it is marked", s->u.block.name);
    BulkMode mode = why ? BULK_NONE : bulk_place(c, f, form, &misplaced);
    facts_reset(f, mark);
    if (misplaced)
        why = arena_printf(c->arena, "block '%s' %s", s->u.block.name, misplaced);
    if (why)
        diag_error(c, E0860, s->span, "%s", why);
    return mode;
}

Stmt *bulk_copy_lower(Context *c, Facts *f, const Stmt *s, const SubstList *shown)
{
    BulkForm form;
    BulkMode mode = find_mode(c, f, s, &form);
    if (mode == BULK_NONE)
        return NULL;
    BulkKind kind = {mode, block_is_multicast(&s->u.block), form.stores};
    Expr *elements[2] = {first_of_box(c, &form, form.stores ? &form.tensor : &form.shared, shown),
                         first_of_box(c, &form, form.stores ? &form.shared : &form.tensor, shown)};
    Stmt *body = stmt_subst(c, s->u.block.body, shown->items, shown->n);
    const Instruction *of = bulk_instruction(c, kind, form.tensor.buffer->type);
    body = form.stores ? stores_made_atomic(c, body) : stores_made_async(c, body);
    return stmt_stamp(stmt_instruction(c, of, elements, body, s->span), s);
}
