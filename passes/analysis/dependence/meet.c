/* meet.c - Decides whether one block may write an element that another one reads.
 *
 *   h(t, i) = h(t - 1, i)       of a row t, one reads what the other does not write
 *   y(i) = h(t - 1, i)
 *
 * Instances in any iterations count, whichever comes first. Distances without a system decide most
 * pairs (distance.c): they over-approximate, so a no is certain. Others have a system. */
#include "passes/analysis/dependence/model.h"

/* Instances of both may access one element. */
static bool may_collide(Model *m, Poly *p, const AccessOf *write, const AccessOf *read)
{
    if (!accesses_distance(p->ctx, write, read))
        return false;
    PolyPart part = poly_begin(p);
    model_enter(m, p);
    Instance a = instance_new(p, write->unit), b = instance_new(p, read->unit);
    pair_collide(p, (AccessPair){&a, write->access, &b, read->access});
    bool may = poly_solve(p, NULL, 0, NULL) != POLY_NONE;
    poly_end(p, &part);
    return may;
}

bool dependence_may_meet(Context *c, const Kernel *kernel, const Stmt *writer, const Stmt *reader,
                         const Buffer *buffer)
{
    Poly *p = poly_new(c);
    ArenaMark mark = arena_mark(c->arena);
    Model *m = model_new(c, kernel, kernel->body, kernel->body);
    bool meet = false;
    for (BufferAccesses w = accesses_of(m, buffer); !meet && accesses_next(&w);) {
        if (!w.access->writes || model_unit(m, w.unit)->stmt != writer)
            continue;
        AccessOf write = {.unit = model_unit(m, w.unit), .access = w.access};
        for (BufferAccesses r = accesses_of(m, buffer); !meet && accesses_next(&r);) {
            AccessOf read = {.unit = model_unit(m, r.unit), .access = r.access};
            meet = r.access->reads && read.unit->stmt == reader && may_collide(m, p, &write, &read);
        }
    }
    arena_reset(c->arena, mark);
    return meet;
}
