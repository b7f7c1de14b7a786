/* neighbours.c - Finds which statements of a model can access the same element, with an index of
 * accesses by buffer and first subscript.
 *
 * A kernel can have thousands of blocks (an unrolled program has). Testing every pair of accesses
 * would take longer than answering the questions about the pairs that meet. */
#include "passes/analysis/dependence/model.h"

#include <stdlib.h>

#include "ir/tuple.h"

/* The two access one buffer, one of them writes, and no pair of literal subscripts differs. */
static bool accesses_meet(const Access *a, const Access *b)
{
    if (a->buffer->id != b->buffer->id || !(a->writes || b->writes))
        return false;
    int64_t x, y;
    for (int i = 0; i < a->buffer->rank; i++)
        if (expr_is_const(a->index[i], &x) && expr_is_const(b->index[i], &y) && x != y)
            return false;
    return true;
}

bool accesses_commute(const Access *a, const Access *b)
{
    return a->writes && b->writes && a->reads && b->reads && a->op == b->op &&
           a->combiner == b->combiner && !(a->combiner && a->combiner->ordered);
}

static AccessRef access_ref(const Access *access, int unit)
{
    AccessRef ref = {.buffer = access->buffer->id, .unit = unit};
    ref.literal = access->buffer->rank > 0 && expr_is_const(access->index[0], &ref.first);
    return ref;
}

/* Orders by buffer, then literal subscripts, then the other subscripts, then units. */
static int compare_refs(const void *a, const void *b)
{
    const AccessRef *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->literal != y->literal)
        return x->literal ? -1 : 1;
    if (x->literal && x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

void model_index_accesses(Model *m)
{
    Arena *arena = m->ctx->arena;
    for (int i = 0; i < m->units.n; i++)
        for (int k = 0; k < m->units.items[i]->accesses.n; k++) {
            const Access *access = &m->units.items[i]->accesses.items[k];
            VEC_PUSH(arena, &m->all, access_ref(access, i));
            if (access->writes)
                VEC_PUSH(arena, &m->writes, access_ref(access, i));
        }
    if (m->all.n > 0)
        qsort(m->all.items, (size_t)m->all.n, sizeof *m->all.items, compare_refs);
    if (m->writes.n > 0)
        qsort(m->writes.items, (size_t)m->writes.n, sizeof *m->writes.items, compare_refs);
    m->met = ARENA_ARRAY(arena, int, m->units.n);
}

/* The place of the first entry that is not before `ref`. */
static int refs_from(const AccessRefs *refs, const AccessRef *ref)
{
    int low = 0, high = refs->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_refs(&refs->items[middle], ref) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the units of the entries from `from` to `to`. */
static void add_met(Model *m, const AccessRefs *refs, AccessRef from, AccessRef to, UnitList *out)
{
    for (int at = refs_from(refs, &from); at < refs->n; at++) {
        const AccessRef *ref = &refs->items[at];
        if (compare_refs(ref, &to) > 0)
            break;
        if (m->met[ref->unit] == m->stamp)
            continue;
        m->met[ref->unit] = m->stamp;
        VEC_PUSH(m->ctx->arena, out, ref->unit);
    }
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

UnitList model_neighbours(Model *m, int unit)
{
    UnitList out = {0};
    const Unit *u = m->units.items[unit];
    m->stamp++;
    for (int k = 0; k < u->accesses.n; k++) {
        const AccessRefs *refs = u->accesses.items[k].writes ? &m->all : &m->writes;
        AccessRef from = access_ref(&u->accesses.items[k], 0);
        AccessRef to = from, any = {.buffer = from.buffer}, last = any;
        to.unit = last.unit = m->units.n;
        if (from.literal)
            add_met(m, refs, from, to, &out);
        else
            any = (AccessRef){.buffer = from.buffer, .literal = true, .first = INT64_MIN};
        add_met(m, refs, any, last, &out);
    }
    if (out.n > 0)
        qsort(out.items, (size_t)out.n, sizeof *out.items, compare_ints);
    return out;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

Pairs pairs_all(Model *m)
{
    return (Pairs){.model = m, .a = -1, .b = -1, .last = m->units.n - 1};
}

Pairs pairs_with(Model *m, int a)
{
    return (Pairs){.model = m, .a = a - 1, .b = -1, .last = a};
}

Pairs pairs_of(Model *m, int a, int b)
{
    return (Pairs){.model = m, .a = a, .b = b, .last = a};
}

static bool next_accesses(Pairs *at)
{
    const Unit *a = at->model->units.items[at->a], *b = at->model->units.items[at->b];
    for (; at->at_x < a->accesses.n; at->at_x++, at->at_y = 0)
        while (at->at_y < b->accesses.n) {
            at->x = &a->accesses.items[at->at_x];
            at->y = &b->accesses.items[at->at_y++];
            if (accesses_meet(at->x, at->y))
                return true;
        }
    return false;
}

static bool next_units(Pairs *at)
{
    while (at->at_b == at->met.n) {
        if (at->a >= at->last)
            return false;
        at->met = model_neighbours(at->model, ++at->a);
        at->at_b = 0;
    }
    at->b = at->met.items[at->at_b++];
    at->at_x = at->at_y = 0;
    return true;
}

bool pairs_next(Pairs *at)
{
    while (at->b < 0 || !next_accesses(at))
        if (!next_units(at))
            return false;
    return true;
}

BufferAccesses accesses_of(const Model *m, const Buffer *buffer)
{
    return (BufferAccesses){.model = m, .buffer = buffer};
}

bool accesses_next(BufferAccesses *at)
{
    for (; at->unit < at->model->units.n; at->unit++, at->at = 0) {
        const Unit *u = at->model->units.items[at->unit];
        while (at->at < u->accesses.n) {
            at->access = &u->accesses.items[at->at++];
            if (at->access->buffer->id == at->buffer->id)
                return true;
        }
    }
    return false;
}
