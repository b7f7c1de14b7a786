/* cluster.c - Proves that blocks of a cluster write only their own part of its memory: elements
 * whose first subscript is their rank. */
#include "passes/analysis/threads/threads.h"

/* The unit writes the element in the memory of the block that it runs in. */
static bool writes_own_part(Threads *t, Poly *p, int unit, const Access *x)
{
    PolyMark mark = poly_mark(p);
    unit_assume_runs(p, thread_unit(t, unit));
    ThreadInstance at = thread_first_run(t, p, unit);
    poly_differ(p, &p->top, &instance_index(p, &at.at, x)[0], &at.axis[AXIS_RANK], 1);
    bool own = poly_solve(p, NULL, 0, NULL) == POLY_NONE;
    poly_reset(p, mark);
    return own;
}

const Access *threads_foreign_write(Threads *t)
{
    Poly *p = threads_question(t);
    for (int i = 0; i < t->model->units.n; i++) {
        const Unit *u = thread_unit(t, i);
        for (int k = 0; k < u->accesses.n; k++) {
            const Access *x = &u->accesses.items[k];
            if (x->writes && x->buffer->scope == SCOPE_CLUSTER && x->buffer->rank > 0 &&
                !writes_own_part(t, p, i, x))
                return x;
        }
    }
    return NULL;
}
