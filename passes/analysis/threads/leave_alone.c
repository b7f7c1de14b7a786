/* leave_alone.c - Proves that elements are read-only: nothing in the launch writes what a block
 * reads. */
#include "passes/analysis/threads/threads.h"

/* Nothing writes what the unit reads with `x`. */
static bool read_alone(Threads *t, Poly *p, const Unit *reader, const Access *x, Conflict *why)
{
    for (BufferAccesses y = accesses_of(t->model, x->buffer); accesses_next(&y);) {
        if (!y.access->writes || !accesses_meet(x, y.access))
            continue;
        PolyMark mark = poly_mark(p);
        Instance a = instance_new(p, reader), b = instance_new(p, thread_unit(t, y.unit));
        AccessPair pair = {&a, x, &b, y.access};
        pair_collide(p, pair);
        if (!conflict_none(p, pair, "read-only data may come from a cache that does not see writes",
                           why))
            return false;
        poly_reset(p, mark);
    }
    return true;
}

bool threads_leave_alone(Threads *t, uint32_t block,
                         bool (*asked)(void *user, const Buffer *buffer), void *user, Conflict *why)
{
    Poly *p = threads_question(t);
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = thread_unit(t, i);
        for (int k = 0; k < u->accesses.n && u->block->id == block; k++) {
            const Access *x = &u->accesses.items[k]; /* an update's load goes with its store */
            if (x->reads && !x->writes && asked(user, x->buffer) && !read_alone(t, p, u, x, why))
                return false;
        }
    }
    return true;
}
