/* thread_change.c - Finds what a step has changed in a launch, so that questions about the rest are
 * not asked again.
 *
 * The launch was legal before the step. Binding a loop to an axis that the launch has already
 * changes only which thread runs the units in the loop; a buffer that moves to other memory changes
 * only the units that access it; a block that runs elsewhere, or in the place of others, changes
 * only its own. What threads do with a buffer depends on the units that access it, on their order
 * and on the coordinates that the launch has: a buffer that no changed unit accesses is used as
 * before. */
#include "passes/analysis/threads/threads.h"

/* The launch has the axis without the loop, with as many coordinates. Else the loop adds
 * coordinates, which units outside of it may get, too. */
static bool had_axis(const Threads *t, const ForStmt *bound)
{
    bool had = false;
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = thread_unit(t, i);
        for (int k = 0; k < u->n_loops; k++) {
            const ForStmt *loop = u->loops[k];
            if (loop->kind != LOOP_BIND || loop->axis != bound->axis || loop->id == bound->id)
                continue;
            if (!expr_equal(loop->lo, bound->lo) || !expr_equal(loop->hi, bound->hi))
                return false;
            had = true;
        }
    }
    return had;
}

static bool is_changed(const Unit *u, LaunchChange change)
{
    if (change.block && u->block->id == change.block->id)
        return true;
    for (int k = 0; change.bound && k < u->n_loops; k++)
        if (u->loops[k]->id == change.bound->id)
            return true;
    for (int i = 0; change.moved && i < u->accesses.n; i++)
        if (u->accesses.items[i].buffer->id == change.moved->id)
            return true;
    return false;
}

void threads_mark_changes(Threads *t, LaunchChange change)
{
    Arena *arena = t->ctx->arena;
    bool is_root = change.bound && t->model->root->u.loop.id == change.bound->id;
    bool any = change.bound || change.moved || change.block;
    if (!any || is_root || (change.bound && !had_axis(t, change.bound)))
        return;
    t->changed = ARENA_ARRAY(arena, bool, t->model->units.n);
    for (int i = 0; i < t->model->units.n; i++) {
        const AccessList *accesses = &thread_unit(t, i)->accesses;
        t->changed[i] = is_changed(thread_unit(t, i), change);
        for (int k = 0; t->changed[i] && k < accesses->n; k++)
            VEC_PUSH(arena, &t->used_anew, accesses->items[k].buffer);
    }
}

bool threads_unit_changed(const Threads *t, int unit)
{
    return !t->changed || t->changed[unit];
}

bool threads_loop_changed(const Threads *t, int unit, int at)
{
    for (int i = 0; i < t->model->units.n; i++)
        if (threads_unit_changed(t, i) &&
            units_common(thread_unit(t, i), thread_unit(t, unit)) > at)
            return true;
    return false;
}

bool threads_use_changed(const Threads *t, const Buffer *buffer)
{
    bool changed = !t->changed;
    for (int i = 0; i < t->used_anew.n && !changed; i++)
        changed = t->used_anew.items[i]->id == buffer->id;
    return changed;
}
