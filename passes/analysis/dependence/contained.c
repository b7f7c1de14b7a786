/* contained.c - Decides whether the results of a block are used only where they are made.
 *
 *   for i in 8, j in 8 {
 *       t[i, j] = x[i, j];      contained in j: each iteration reads what it has written
 *       y[i, j] = t[i, j];      not contained: y is an output
 *   }
 *
 * Such a block need not run in an iteration that reads none of its results. Distances without a
 * system decide (distance.c): they over-approximate, so a yes is certain. */
#include "passes/analysis/dependence/model.h"

/* The place of the loop among those of a unit; -1: the unit is outside of it. */
static int place_of(const Unit *u, const ForStmt *loop)
{
    for (int i = 0; i < u->n_loops; i++)
        if (u->loops[i]->id == loop->id)
            return i;
    return -1;
}

/* Each element that is written and read is so in one iteration of the loop and of those around. */
static bool meets_within(Context *c, const AccessOf *write, const AccessOf *read,
                         const ForStmt *loop)
{
    const Bounds *distance = accesses_distance(c, write, read);
    int n = place_of(write->unit, loop) + 1;
    bool within = !distance || (n > 0 && n <= units_common(write->unit, read->unit));
    for (int i = 0; distance && i < n && within; i++)
        within = distance[i].min == 0 && distance[i].max == 0;
    return within;
}

/* A condition between loops reads the buffer. */
static bool decides(Context *c, const Kernel *kernel, const Buffer *buffer)
{
    for (Cursor at = cursor_stmts(c, kernel->body); cursor_next(&at);)
        if (at.stmt->kind == ST_IF && expr_reads(at.stmt->u.cond.cond, buffer))
            return true;
    return false;
}

static bool is_contained(Model *m, const AccessOf *write, const ForStmt *loop)
{
    const Buffer *buffer = write->access->buffer;
    bool contained = buffer->role == ROLE_TEMP && !decides(m->ctx, m->kernel, buffer);
    for (BufferAccesses at = accesses_of(m, buffer); contained && accesses_next(&at);)
        contained =
            !at.access->reads ||
            meets_within(m->ctx, write,
                         &(AccessOf){.unit = model_unit(m, at.unit), .access = at.access}, loop);
    return contained;
}

bool dependence_contained(Context *c, const Kernel *kernel, const ForStmt *loop, const Stmt *block)
{
    ArenaMark mark = arena_mark(c->arena);
    Model *m = model_new(c, kernel, kernel->body, kernel->body);
    bool contained = true;
    for (int i = 0; i < m->units.n; i++) {
        const Unit *u = model_unit(m, i);
        for (int k = 0; u->stmt == block && k < u->accesses.n && contained; k++)
            contained =
                !u->accesses.items[k].writes ||
                is_contained(m, &(AccessOf){.unit = u, .access = &u->accesses.items[k]}, loop);
    }
    arena_reset(c->arena, mark);
    return contained;
}
