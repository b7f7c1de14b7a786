/* leave_alone.c - elements that a block reads and that nothing in its launch writes, at whatever
 * time. */
#include "passes/analysis/threads.h"

static bool apart(Threads *t, Poly *p, const Unit *reader, const Touch *x, const Unit *writer,
                  const Touch *y, Conflict *why)
{
    if (!y->writes || x->buffer->id != y->buffer->id || !touches_meet(x, y))
        return true;
    PolyMark mark = poly_mark(p);
    Instance a = instance_new(p, reader), b = instance_new(p, writer);
    instances_collide(p, &a, x, &b, y);
    bool none = conflict_none(p, &a, x, &b, y,
                              "what is only read may come from a cache that sees no writes", why);
    if (none)
        poly_reset(p, mark);
    (void)t;
    return none;
}

bool threads_leave_alone(Threads *t, uint32_t block,
                         bool (*asked)(void *user, const Buffer *buffer), void *user, Conflict *why)
{
    Poly *p = poly_new(t->ctx);
    model_enter(t->model, p);
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = thread_unit(t, i);
        for (int k = 0; k < u->touches.n && u->block->id == block; k++) {
            const Touch *x = &u->touches.items[k];
            if (!x->reads || x->writes ||
                !asked(user, x->buffer)) /* the load of an update goes with its store */
                continue;
            for (int j = 0; j < t->model->units.n; j++)
                for (int l = 0; l < thread_unit(t, j)->touches.n; l++)
                    if (!apart(t, p, u, x, thread_unit(t, j), &thread_unit(t, j)->touches.items[l],
                               why))
                        return false;
        }
    }
    return true;
}
