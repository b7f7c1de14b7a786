/* conflict.c - Describes a solution of a system, two clashing iterations, in terms of the program.
 *
 * The numbers shown are the smallest that clash: sizes first, then the loops of the first instance,
 * then of the second. The loops around both whose iterations differ follow where the iterators do
 * not show them, or are the same in both: "i = 3, j = 0 (in tile = 1)". */
#include "passes/analysis/dependence/model.h"
#include "passes/analysis/regions/region.h"

#include <string.h>

const char *hazard_text(HazardKind kind)
{
    static const char *const text[HAZARD_KINDS] = {
        [HAZARD_RAW] = "write then read",
        [HAZARD_WAR] = "read then write",
        [HAZARD_WAW] = "write then write",
    };
    return text[kind];
}

HazardKind accesses_hazard(const Access *x, const Access *y)
{
    if (x->writes && y->writes)
        return HAZARD_WAW;
    return x->writes ? HAZARD_RAW : HAZARD_WAR;
}

static StrBuf sizes_text(Poly *p, const int64_t *point)
{
    StrBuf out = strbuf_new(p->ctx->arena);
    for (int i = 0; i < p->fixed.n; i++)
        if (p->fixed.items[i].var->kind == VAR_SIZE)
            point_print(&out, p->fixed.items[i].var->name,
                        affine_at(p->fixed.items[i].value, point));
    return out;
}

/* Sizes, then the loops of the unit. */
static const char *loops_text(Poly *p, const Instance *at, const int64_t *point)
{
    StrBuf out = sizes_text(p, point);
    for (int i = 0; i < at->unit->n_loops; i++)
        if (!at->unit->absent[i])
            point_print(&out, at->unit->loops[i]->var->name, affine_at(at->loops[i], point));
    return out.text ? out.text : "";
}

const char *instance_text(Poly *p, const Instance *at, const int64_t *point)
{
    StrBuf out = sizes_text(p, point);
    const Unit *u = at->unit;
    for (int i = 0; i < u->block->n_iters; i++)
        if (!u->init || u->block->iters[i].kind == ITER_SPATIAL)
            point_print(&out, u->block->iters[i].var->name, affine_at(at->iters[i], point));
    return out.text ? out.text : "";
}

/* The iterators of its block, which tell where it is; its loops where there are none. Never empty:
 * that stands for no instance at all. */
static const char *place_text(Poly *p, const Instance *at, const int64_t *point)
{
    const char *text = instance_text(p, at, point);
    text = *text ? text : loops_text(p, at, point);
    return *text ? text : "its only instance";
}

static const char *element_text(Poly *p, const Access *x, const Affine *index, const int64_t *point)
{
    StrBuf out = strbuf_new(p->ctx->arena);
    strbuf_addf(&out, "%s[", x->buffer->name);
    for (int i = 0; i < x->buffer->rank; i++)
        strbuf_addf(&out, "%s%lld", i ? ", " : "", (long long)affine_at(index[i], point));
    strbuf_addc(&out, ']');
    return out.text;
}

bool conflict_none_before(Poly *p, AccessPair pair, Precedence by, const char *reason,
                          Conflict *why)
{
    const Instance *first = by.back ? pair.b : pair.a, *second = by.back ? pair.a : pair.b;
    PolyMark mark = poly_mark(p);
    bool none = true;
    for (; by.level <= units_common(first->unit, second->unit) && none; by.level++) {
        none = !instance_precedes(p, first, second, by) || conflict_none(p, pair, reason, why);
        poly_reset(p, mark);
    }
    return none;
}

Conflict conflict_of_unit(const Unit *u, const char *at, const char *reason)
{
    return (Conflict){.first = u->block,
                      .second = u->block,
                      .first_span = u->stmt->span,
                      .second_span = u->stmt->span,
                      .first_at = at,
                      .second_at = at,
                      .element = "",
                      .reason = reason};
}

void conflict_unproved(AccessPair pair, const char *reason, Conflict *why)
{
    *why = (Conflict){.first = pair.a->unit->block,
                      .second = pair.b->unit->block,
                      .buffer = pair.x->buffer,
                      .first_span = pair.x->span,
                      .second_span = pair.y->span,
                      .kind = accesses_hazard(pair.x, pair.y),
                      .first_at = "",
                      .second_at = "",
                      .element = pair.x->buffer->name,
                      .reason = reason};
}

/* The subscripts of `x` may be any element. */
static bool unknown_index(Poly *p, const Instance *at, const Access *x)
{
    bool before = p->inexact;
    p->inexact = false;
    instance_index(p, at, x);
    bool unknown = p->inexact && x->buffer->rank > 0;
    p->inexact = before;
    return unknown;
}

/* At this point instance `a` runs before `b` in the program. */
static bool runs_before(const Instance *a, const Instance *b, const int64_t *point)
{
    int common = units_common(a->unit, b->unit);
    for (int i = 0; i < common; i++) {
        int64_t at_a = affine_at(a->turns[i], point), at_b = affine_at(b->turns[i], point);
        if (at_a != at_b)
            return at_a < at_b;
    }
    return a->unit->order < b->unit->order;
}

/* Solves `p`, with the smallest sizes first, then loops of a, then loops of b. */
static Answer smallest_point(Poly *p, const Instance *a, const Instance *b, int64_t **point)
{
    Arena *arena = p->ctx->arena;
    VEC(Affine) first = {0};
    for (int i = 0; i < p->fixed.n; i++)
        VEC_PUSH(arena, &first, p->fixed.items[i].value);
    VEC_APPEND(arena, &first, a->loops, a->unit->n_loops);
    VEC_APPEND(arena, &first, b->loops, b->unit->n_loops);
    return poly_solve(p, first.items, first.n, point);
}

/* The place of `at`, and the loops around both that have another iteration in `other`: `all`, or
 * those that the iterators do not show. */
static const char *place_in_loops(Poly *p, const Instance *at, const Instance *other, bool all,
                                  const int64_t *point)
{
    StrBuf apart = strbuf_new(p->ctx->arena);
    const Unit *u = at->unit, *v = other->unit;
    for (int i = 0; i < u->n_loops && i < v->n_loops && u->loops[i] == v->loops[i]; i++)
        if (!u->absent[i] && !v->absent[i] &&
            (all || !block_uses_var(u->block, u->loops[i]->var)) &&
            affine_at(at->loops[i], point) != affine_at(other->loops[i], point))
            point_print(&apart, u->loops[i]->var->name, affine_at(at->loops[i], point));
    const char *place = place_text(p, at, point);
    if (instance_text(p, at, point)[0] == '\0' && !all)
        return place;
    return apart.length ? arena_printf(p->ctx->arena, "%s (in %s)", place, apart.text) : place;
}

/* The two instances at a point, at which the pair has the order of the program. */
static void describe_point(Poly *p, AccessPair pair, const int64_t *point, Conflict *why)
{
    bool all = strcmp(place_text(p, pair.a, point), place_text(p, pair.b, point)) == 0;
    why->first_at = place_in_loops(p, pair.a, pair.b, all, point);
    why->second_at = place_in_loops(p, pair.b, pair.a, all, point);
}

bool conflict_none(Poly *p, AccessPair pair, const char *reason, Conflict *why)
{
    Context *c = p->ctx;
    Answer answer = poly_solve(p, NULL, 0, NULL);
    if (answer == POLY_NONE)
        return true;
    PolyMark mark = poly_mark(p);
    if (unknown_index(p, pair.a, pair.x) || unknown_index(p, pair.b, pair.y))
        reason = arena_printf(
            c->arena,
            "%s; a subscript of '%s' is not affine in loops and sizes, so it can be any element",
            reason, pair.x->buffer->name);
    poly_reset(p, mark);
    conflict_unproved(pair, reason, why);
    int64_t *point;
    const Affine *index = instance_index(p, pair.a, pair.x);
    if (answer == POLY_SOME && smallest_point(p, pair.a, pair.b, &point) == POLY_SOME) {
        const char *element = element_text(p, pair.x, index, point);
        if (runs_before(pair.b, pair.a, point)) /* where the question was about both orders */
            pair = (AccessPair){pair.b, pair.y, pair.a, pair.x};
        conflict_unproved(pair, reason, why);
        describe_point(p, pair, point, why);
        why->element = element;
    } else {
        why->reason = arena_printf(c->arena,
                                   "%s (not proved: the analysis budget was spent before such "
                                   "iterations were found or excluded)",
                                   reason);
    }
    poly_reset(p, mark);
    return false;
}
