/* neighbours.c - which units of a model can meet at all: an index of their touches by buffer and
 * first subscript.
 *
 * Kernels with thousands of blocks, such as an unrolled program has, ask for all pairs of accesses
 * that meet; going through all pairs there are would take longer than answering. */
#include "passes/analysis/dependence/model.h"

#include <stdlib.h>

bool touches_meet(const Touch *a, const Touch *b)
{
    if (a->buffer->id != b->buffer->id || !(a->writes || b->writes))
        return false;
    int64_t x, y;
    for (int i = 0; i < a->buffer->rank; i++)
        if (expr_is_const(a->index[i], &x) && expr_is_const(b->index[i], &y) && x != y)
            return false;
    return true;
}

bool touches_commute(const Touch *a, const Touch *b)
{
    return a->writes && b->writes && a->reads && b->reads && a->op == b->op;
}

static TouchRef touch_ref(const Touch *touch, int unit)
{
    TouchRef ref = {.buffer = touch->buffer->id, .unit = unit};
    ref.literal = touch->buffer->rank > 0 && expr_is_const(touch->index[0], &ref.first);
    return ref;
}

/* By buffer, then literal subscripts in order, then the others, then units. */
static int compare_refs(const void *a, const void *b)
{
    const TouchRef *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->literal != y->literal)
        return x->literal ? -1 : 1;
    if (x->literal && x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

void model_index_touches(Model *m)
{
    Arena *arena = m->ctx->arena;
    for (int i = 0; i < m->units.n; i++)
        for (int k = 0; k < m->units.items[i]->touches.n; k++) {
            const Touch *touch = &m->units.items[i]->touches.items[k];
            VEC_PUSH(arena, &m->all, touch_ref(touch, i));
            if (touch->writes)
                VEC_PUSH(arena, &m->writes, touch_ref(touch, i));
        }
    if (m->all.n > 0)
        qsort(m->all.items, (size_t)m->all.n, sizeof *m->all.items, compare_refs);
    if (m->writes.n > 0)
        qsort(m->writes.items, (size_t)m->writes.n, sizeof *m->writes.items, compare_refs);
    m->met = ARENA_ARRAY(arena, int, m->units.n);
}

/* The place of the first entry that is not before `ref`. */
static int refs_from(const TouchRefs *refs, const TouchRef *ref)
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

/* Adds the units of the entries from `from` on that have its buffer and, with `same`, its
 * literal. */
static void add_met(Model *m, const TouchRefs *refs, TouchRef from, bool same, UnitList *out)
{
    for (int at = refs_from(refs, &from); at < refs->n; at++) {
        const TouchRef *ref = &refs->items[at];
        if (ref->buffer != from.buffer ||
            (same && (ref->literal != from.literal || (ref->literal && ref->first != from.first))))
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
    for (int k = 0; k < u->touches.n; k++) {
        const TouchRefs *refs = u->touches.items[k].writes ? &m->all : &m->writes;
        TouchRef from = touch_ref(&u->touches.items[k], 0);
        if (from.literal) {
            add_met(m, refs, from, true, &out);
            from.literal = false;
        } else {
            from.literal = true;
            from.first = INT64_MIN;
        }
        add_met(m, refs, from, false, &out);
    }
    if (out.n > 0)
        qsort(out.items, (size_t)out.n, sizeof *out.items, compare_ints);
    return out;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

Pairs pairs_all(Model *m)
{
    return (Pairs){.model = m, .a = -1, .last = m->units.n - 1};
}

Pairs pairs_of(Model *m, int a, int b)
{
    return (Pairs){.model = m, .a = a, .b = b, .last = a};
}

static bool next_touches(Pairs *at)
{
    const Unit *a = at->model->units.items[at->a], *b = at->model->units.items[at->b];
    for (; at->at_x < a->touches.n; at->at_x++, at->at_y = 0)
        while (at->at_y < b->touches.n) {
            at->x = &a->touches.items[at->at_x];
            at->y = &b->touches.items[at->at_y++];
            if (touches_meet(at->x, at->y))
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
    while (at->a < 0 || !next_touches(at))
        if (!next_units(at))
            return false;
    return true;
}

Touches touches_of(const Model *m, const Buffer *buffer)
{
    return (Touches){.model = m, .buffer = buffer};
}

bool touches_next(Touches *at)
{
    for (; at->unit < at->model->units.n; at->unit++, at->at = 0) {
        const Unit *u = at->model->units.items[at->unit];
        while (at->at < u->touches.n) {
            at->touch = &u->touches.items[at->at++];
            if (at->touch->buffer->id == at->buffer->id)
                return true;
        }
    }
    return false;
}
