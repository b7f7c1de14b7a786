/* bulk_copy.c - Recognizes copies of boxes of tensors, which the hardware can do. */
#include "passes/analysis/regions/bulk_copy.h"

/* The store in the nest, with the loops of several iterations in `form`; NULL: another form. */
static const Stmt *find_store(const Stmt *s, BulkForm *form)
{
    int64_t lo;
    for (; s->kind == ST_FOR; s = s->u.loop.body) {
        const ForStmt *loop = &s->u.loop;
        int64_t extent;
        if (!loop_const_extent(loop, &extent) || loop->step != 1 || !expr_is_const(loop->lo, &lo) ||
            lo != 0 || extent < 1)
            return NULL;
        if (extent == 1)
            continue;
        if (form->n == BULK_MAX_RANK)
            return NULL;
        form->extent[form->n] = extent;
        form->loops[form->n++] = loop;
    }
    return stmt_single_store(s);
}

/* The axis of the tensor along which loop `i` goes in steps of 1, if it is the only one with the
 * loop; -1: there is none. */
static int axis_of_loop(Facts *f, const BulkForm *form, int i)
{
    int axis = -1;
    for (int d = 0; d < form->load->u.load.buffer->rank; d++) {
        int64_t factor;
        Expr *rest;
        if (!expr_uses_var(form->load->u.load.index[d], form->loops[i]->var))
            continue;
        if (axis >= 0 ||
            !split_linear(f, form->load->u.load.index[d], form->loops[i]->var, &factor, &rest) ||
            factor != 1)
            return -1;
        axis = d;
    }
    return axis;
}

/* NULL: the loops go through a box of the tensor, row by row. */
static const char *box_obstacle(Context *c, Facts *f, BulkForm *form)
{
    const Buffer *from = form->load->u.load.buffer;
    for (int i = 0; i < form->n; i++) {
        const char *loop = form->loops[i]->var->name;
        form->axis[i] = axis_of_loop(f, form, i);
        if (form->axis[i] < 0)
            return arena_printf(c->arena, "goes along no axis of '%s' in steps of 1 with loop '%s'",
                                from->name, loop);
        if (i > 0 && form->axis[i] <= form->axis[i - 1])
            return arena_printf(c->arena,
                                "does not go through '%s' row by row: reorder loop '%s' and those "
                                "around it, in the order of the axes",
                                from->name, loop);
        if (form->extent[i] > BULK_MAX_EXTENT)
            return arena_printf(c->arena,
                                "copies more than %d elements along an axis with loop '%s', which "
                                "is the most; split it",
                                BULK_MAX_EXTENT, loop);
    }
    if (form->n == 0 || form->axis[form->n - 1] != from->rank - 1)
        return arena_printf(c->arena, "has no loop along the last axis of '%s'", from->name);
    return NULL;
}

static const char *copy_obstacle(Context *c, const BlockStmt *block, BulkForm *form)
{
    form->store = block->init || block->atomic ? NULL : find_store(block->body, form);
    if (!form->store || form->store->u.store.op != STORE_SET ||
        form->store->u.store.value->kind != EX_LOAD)
        return "is more than a nest of loops with literal ranges from 0 around one copy of an "
               "element";
    form->load = form->store->u.store.value;
    const Buffer *to = form->store->u.store.buffer, *from = form->load->u.load.buffer;
    if (to->scope != SCOPE_SHARED || from->scope != SCOPE_GLOBAL || from->role != ROLE_IN ||
        to->type != from->type)
        return arena_printf(c->arena,
                            "copies '%s' (%s, %s) to '%s' (%s, %s), and not an input to shared "
                            "memory, without conversion",
                            from->name, type_info(from->type)->name, scope_name(from->scope),
                            to->name, type_info(to->type)->name, scope_name(to->scope));
    if (from->rank < 1 || from->rank > BULK_MAX_RANK)
        return arena_printf(c->arena, "copies from '%s', which has %d axes and not 1 to %d",
                            from->name, from->rank, BULK_MAX_RANK);
    return NULL;
}

const char *bulk_copy_obstacle(Context *c, Facts *f, const BlockStmt *block, BulkForm *form)
{
    *form = (BulkForm){0};
    const char *why = copy_obstacle(c, block, form);
    if (!why)
        why = box_obstacle(c, f, form);
    return why ? arena_printf(c->arena, "block '%s' %s", block->name, why) : NULL;
}
