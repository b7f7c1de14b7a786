/* meet.c - Decides whether one block may write an element that another one reads.
 *
 *   h(t, i) = h(t - 1, i)       of a row t, one reads what the other does not write
 *   y(i) = h(t - 1, i)
 *
 * Instances in any iterations count, whichever comes first. Distances without a system decide
 * (distance.c): they over-approximate, so a no is certain. */
#include "passes/analysis/dependence/model.h"

bool dependence_may_meet(Context *c, const Kernel *kernel, const Stmt *writer, const Stmt *reader,
                         const Buffer *buffer)
{
    ArenaMark mark = arena_mark(c->arena);
    Model *m = model_new(c, kernel, kernel->body, kernel->body);
    bool meet = false;
    for (BufferAccesses w = accesses_of(m, buffer); !meet && accesses_next(&w);) {
        if (!w.access->writes || model_unit(m, w.unit)->stmt != writer)
            continue;
        AccessOf write = {.unit = model_unit(m, w.unit), .access = w.access};
        for (BufferAccesses r = accesses_of(m, buffer); !meet && accesses_next(&r);) {
            AccessOf read = {.unit = model_unit(m, r.unit), .access = r.access};
            meet = r.access->reads && read.unit->stmt == reader &&
                   accesses_distance(c, &write, &read) != NULL;
        }
    }
    arena_reset(c->arena, mark);
    return meet;
}
