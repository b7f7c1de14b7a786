/* leave_alone.c - Proves that elements are read-only: nothing in the launch writes what a block
 * reads. */
#include "passes/analysis/threads/threads.h"

/* The second access does not write what the first one reads. */
static bool read_alone(Poly *p, const Pairs *at, Conflict *why)
{
    PolyPart part = poly_begin(p);
    Instance a = instance_new(p, model_unit(at->model, at->a)),
             b = instance_new(p, model_unit(at->model, at->b));
    AccessPair pair = {&a, at->x, &b, at->y};
    pair_collide(p, pair);
    bool alone = conflict_none(
        p, pair, "read-only data may come from a cache that does not see writes", why);
    if (alone)
        poly_end(p, &part);
    return alone;
}

bool threads_leave_alone(Threads *t, uint32_t block,
                         bool (*asked)(void *user, const Buffer *buffer), void *user, Conflict *why)
{
    Poly *p = threads_question(t);
    for (int i = 0; i < t->model->units.n; i++)
        for (Pairs at = pairs_with(t->model, i);
             thread_unit(t, i)->block->id == block && pairs_next(&at);) {
            bool reads = at.x->reads && !at.x->writes; /* an update's load goes with its store */
            if (reads && asked(user, at.x->buffer) && !read_alone(p, &at, why))
                return false;
        }
    return true;
}
