/* fold.c - Decides whether the elements of an axis can share the places of a circular buffer.
 *
 *   place of x = x % fold; written in this order, e.g. in tiles of 32 with fold 64:
 *       0..31 -> 0..31    32..63 -> 32..63    64..95 -> 0..31
 *
 * Let w write element y after element x of the same place was written and before x is read. Then y
 * is at least `fold` ahead of x, or behind it. So two questions about pairs, without remainders,
 * exclude it: is an element written before one is touched that lies `fold` or more behind it?  For
 * touches that read, it says that nothing ahead has taken the place yet; for those that write, that
 * nothing behind comes back to take it.  The same holds with the direction turned, for loops that
 * run down.
 *
 * Iterations of loops bound to threads have no order, so a pair in one iteration of all serial
 * loops counts when the statements are in order, or are one statement. */
#include "passes/analysis/threads/threads.h"

typedef struct {
    Threads *t;
    Poly *p;
    const Buffer *buffer;
    int axis, n_fixed;
    int64_t fold;
    int sign; /* 1: elements are taken upwards, -1: downwards */
    Conflict *why;
} Fold;

typedef struct {
    int a, b; /* units */
    const Access *x, *y;
} FoldPair;

/* Rows: the two are in one copy of the memory, in one place, `fold` or more apart. */
static void meet_place(Fold *q, const FoldPair *pair, const ThreadInstance *a,
                       const ThreadInstance *b)
{
    Poly *p = q->p;
    int n_axes = q->buffer->scope == SCOPE_SHARED ? AXIS_THREAD_X : AXIS_COUNT;
    for (int i = 0; i < n_axes; i++)
        poly_equal(p, &p->top, a->axis[i], b->axis[i]);
    const Affine *at_x = instance_index(p, &a->at, pair->x);
    const Affine *at_y = instance_index(p, &b->at, pair->y);
    for (int i = 0; i < q->buffer->rank; i++)
        if (i == q->axis)
            poly_at_most(p, &p->top, q->sign > 0 ? at_y[i] : at_x[i],
                         q->sign > 0 ? at_x[i] : at_y[i], -q->fold);
        else if (!q->buffer->layout || !q->buffer->layout[i].fold)
            poly_equal(p, &p->top, at_x[i], at_y[i]);
}

static bool pair_kept(Fold *q, const FoldPair *pair)
{
    Poly *p = q->p;
    const char *reason = arena_printf(
        p->ctx->arena,
        "the first writes an element of '%s' at least %lld %s the one that the second %s",
        q->buffer->name, (long long)q->fold, q->sign > 0 ? "after" : "before",
        pair->y->writes ? "writes" : "reads");
    int common = units_common(thread_unit(q->t, pair->a), thread_unit(q->t, pair->b));
    bool kept = true;
    PolyMark mark = poly_mark(p);
    for (int level = q->n_fixed < common ? q->n_fixed : common; level <= common && kept; level++) {
        ThreadInstance a = thread_instance(q->t, p, pair->a);
        ThreadInstance b = thread_instance(q->t, p, pair->b);
        if (instance_precedes(p, &a.at, &b.at,
                              (Precedence){.level = level, .serial = true, .ties = true})) {
            meet_place(q, pair, &a, &b);
            kept = conflict_none(p, (AccessPair){&a.at, pair->x, &b.at, pair->y}, reason, q->why);
        }
        poly_reset(p, mark);
    }
    return kept;
}

static bool direction_kept(Fold *q)
{
    const Model *m = q->t->model;
    for (BufferAccesses x = accesses_of(m, q->buffer); accesses_next(&x);)
        for (BufferAccesses y = accesses_of(m, q->buffer); x.access->writes && accesses_next(&y);)
            if (!pair_kept(q, &(FoldPair){x.unit, y.unit, x.access, y.access}))
                return false;
    return true;
}

bool threads_fold_kept(Threads *t, const Buffer *buffer, int axis, int64_t fold, int n_fixed,
                       Conflict *why)
{
    Conflict down;
    Fold q = {t, threads_question(t), buffer, axis, n_fixed, fold, 1, why};
    if (direction_kept(&q))
        return true;
    q.sign = -1;
    q.why = &down;
    return direction_kept(&q);
}
