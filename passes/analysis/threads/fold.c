/* fold.c - Decides whether the elements of an axis can share the places of a circular buffer.
 *
 *   place of x = x % fold; written in this order, e.g. in tiles of 32 with fold 64:
 *       0..31 -> 0..31    32..63 -> 32..63    64..95 -> 0..31
 *
 * A violation writes element y after element x of the same place was written and before x is read.
 * Then y is at least `fold` ahead of x, or behind it. Two questions about pairs, without
 * remainders, exclude this: is an element written before an access to one that lies `fold` or more
 * behind it? For reads, the answer excludes an early overwrite; for writes, a late one. Loops that
 * run down have the same question with the direction reversed.
 *
 * Iterations of loops bound to threads have no order, so a pair in one iteration of all serial
 * loops counts when the statements are in order, or are one statement. */
#include "passes/analysis/threads/threads.h"

typedef struct {
    Threads *t;
    Poly *p;
    FoldedAxis of;
    int n_fixed;
    int sign; /* 1: elements are taken upwards, -1: downwards */
    Conflict *why;
} Fold;

/* Rows: the two are in one copy of the memory. */
static void share_copy(Fold *q, const ThreadInstance *a, const ThreadInstance *b)
{
    for (Axis i = 0; i < AXIS_COUNT; i++)
        if (!scope_shared_along(q->of.buffer->scope, i))
            poly_equal(q->p, &q->p->top, a->axis[i], b->axis[i]);
}

/* Rows: the two are in one place of it, `fold` or more apart. */
static void share_place(Fold *q, AccessPair pair)
{
    Poly *p = q->p;
    const Buffer *buffer = q->of.buffer;
    const Affine *x = instance_index(p, pair.a, pair.x), *y = instance_index(p, pair.b, pair.y);
    for (int i = 0; i < buffer->rank; i++)
        if (i == q->of.axis)
            poly_at_most(p, &p->top, q->sign > 0 ? y[i] : x[i], q->sign > 0 ? x[i] : y[i],
                         -q->of.fold);
        else if (!buffer->layout || !buffer->layout[i].fold)
            poly_equal(p, &p->top, x[i], y[i]);
}

static bool pair_kept(Fold *q, const BufferAccesses *x, const BufferAccesses *y)
{
    Poly *p = q->p;
    const char *reason = arena_printf(
        p->ctx->arena,
        "the first writes an element of '%s' at least %lld %s the one that the second %s",
        q->of.buffer->name, (long long)q->of.fold, q->sign > 0 ? "after" : "before",
        y->access->writes ? "writes" : "reads");
    int common = units_common(thread_unit(q->t, x->unit), thread_unit(q->t, y->unit));
    bool kept = true;
    PolyMark mark = poly_mark(p);
    for (int level = q->n_fixed < common ? q->n_fixed : common; level <= common && kept; level++) {
        ThreadInstance a = thread_instance(q->t, p, x->unit);
        ThreadInstance b = thread_instance(q->t, p, y->unit);
        AccessPair pair = {&a.at, x->access, &b.at, y->access};
        if (instance_precedes(p, &a.at, &b.at,
                              (Precedence){.level = level, .serial = true, .ties = true})) {
            share_copy(q, &a, &b);
            share_place(q, pair);
            kept = conflict_none(p, pair, reason, q->why);
        }
        poly_reset(p, mark);
    }
    return kept;
}

/* Elements with different literal subscripts may share a place, so that these are not the pairs of
 * accesses that meet. */
static bool direction_kept(Fold *q)
{
    const Model *m = q->t->model;
    for (BufferAccesses x = accesses_of(m, q->of.buffer); accesses_next(&x);)
        for (BufferAccesses y = accesses_of(m, q->of.buffer);
             x.access->writes && accesses_next(&y);)
            if (!pair_kept(q, &x, &y))
                return false;
    return true;
}

bool threads_fold_kept(Threads *t, FoldedAxis folded, int n_fixed, Conflict *why)
{
    Conflict down;
    Fold q = {t, threads_question(t), folded, n_fixed, 1, why};
    if (direction_kept(&q))
        return true;
    q.sign = -1;
    q.why = &down;
    return direction_kept(&q);
}
