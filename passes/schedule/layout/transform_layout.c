/* transform_layout.c - Implements transform_layout: moves each element of a buffer to the place
 * that an index map gives.
 *
 *   transform_layout(t, [i, j] -> [i / 4, j, i % 4]):      t[i, j]   =>   t[i / 4, j, i % 4]
 *
 * Everything that touches the buffer is rewritten, so all that is asked is that the map keeps
 * elements apart: then a place of the new buffer stands for one element of the old one, and no
 * dependence changes. A map that is not onto leaves padding, which nothing reads: every subscript
 * is the image of an element. Who will read it later (a tile that is taken whole) says with a pad
 * value what should be there.
 *
 * The layout of a parameter is part of the kernel's interface: the kernel records the map
 * (`relayouts`), and what compares it with its program gives the program the same layout.
 *
 * Legal: the map keeps elements of the buffer apart.
 * Invariant: every access touches the place of its element and no other. */
#include <math.h>

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/stage.h"
#include "passes/shared/relayout.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    const IndexMap *map;
    const Buffer *from;
    Buffer *to;
    PointBox elements; /* of `from`, in the map's parameters */
} Transform;

/* ---- what is asked of the buffer and of the map ---------------------------------------------- */

static bool is_ordered(const Buffer *b, const Fact *facts, int n)
{
    for (int i = 0; i < n; i++)
        if (facts[i].kind == FACT_ORDER && facts[i].subject.buffer == b)
            return true;
    return false;
}

/* The caller has its elements: nothing is known about their order, which would be another one, and
 * the kernel does not fill padding. */
static bool check_parameter(const Transform *r, Span span)
{
    Schedule *s = r->s;
    const Kernel *k = s->kernel;
    const Value *pad = &r->call->transform_layout.pad_value;
    REQUIRE(s, E0900, span,
            !is_ordered(r->from, k->facts, k->n_facts) &&
                !is_ordered(r->from, k->draws, k->n_draws),
            "the elements of '%s' are in order, as the program states or its loops need, and would "
            "not be in another layout; transform a copy (reindex_cache_read)",
            r->from->name);
    REQUIRE(
        s, E0900, r->call->transform_layout.index_map.span, r->map->n_to > 0,
        "'%s' is a parameter, and without axes it would be a scalar; keep one, as in [i] -> [0]",
        r->from->name);
    REQUIRE(s, E0904, pad->span, pad->kind == VALUE_NONE,
            "'%s' is a parameter: the padding of its new layout belongs to the caller; omit the "
            "pad value",
            r->from->name);
    return true;
}

static bool check_buffer(const Transform *r)
{
    Schedule *s = r->s;
    const Buffer *b = r->from;
    Span span = r->call->transform_layout.buffer.span;
    REQUIRE(s, E0900, span, !b->layout,
            "'%s' has padded, aligned or circular axes, which the map would replace; call "
            "transform_layout first",
            b->name);
    REQUIRE(s, E0901, r->call->transform_layout.index_map.span, r->map->n_from == b->rank,
            "'%s' has %d subscript%s, but the index map takes %d", b->name, b->rank,
            b->rank == 1 ? "" : "s", r->map->n_from);
    return b->role == ROLE_TEMP ? flow_require_fixed_shape(s, b, E0900, span)
                                : check_parameter(r, span);
}

static PointBox elements_of(Context *c, const Buffer *b, const IndexMap *map)
{
    return (PointBox){map->from, exprs_zero(c, b->rank), b->shape, b->rank};
}

static bool find_shape(Transform *r)
{
    Context *c = r->s->ctx;
    Facts *f = facts_of_kernel(c, r->s->kernel);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, r->map->n_to + 1);
    facts_points(f, &r->elements);
    int wrong = box_of(f, &r->elements, r->map->to, r->map->n_to, shape);
    REQUIRE(r->s, E0902, r->call->transform_layout.index_map.span, wrong < 0,
            "output %d of the index map, '%s', is negative or unbounded for some element of '%s'",
            wrong, expr_text(r->s->ctx, r->map->to[wrong]), r->from->name);
    r->to = buffer_copy(c, r->from);
    r->to->shape = stage_shape(r->s, shape, r->map->n_to);
    r->to->rank = r->map->n_to;
    r->to->origin = r->call->span;
    return true;
}

/* The outputs tell the parameters. */
static Relation way_back(const Transform *r)
{
    return (Relation){&r->elements, r->map->to,
                      exprs_of_vars(r->s->ctx, r->map->from, r->map->n_from), r->map->n_to,
                      r->map->n_from};
}

static bool check_apart(const Transform *r)
{
    Relation back = way_back(r);
    const char *clash = NULL;
    Tells tells = relation_tells(r->s->ctx, &back, &clash);
    Span span = r->call->transform_layout.index_map.span;
    REQUIRE(r->s, E0903, span, tells != TELLS_NOT,
            "the index map is not injective; it maps two elements of '%s' to one place: %s",
            r->from->name, clash);
    REQUIRE(r->s, E0903, span, tells == TELLS,
            "could not prove that the index map is injective on '%s'; use sums, products with "
            "numbers, and quotients and remainders by numbers",
            r->from->name);
    return true;
}

/* ---- the padding ----------------------------------------------------------------------------- */

static bool fits(DType type, int64_t i)
{
    const TypeInfo *info = type_info(type);
    bool is_unsigned = info->class == CLASS_UINT || type == DT_BOOL;
    int bits = type == DT_BOOL ? 1 : info->bits - !is_unsigned;
    if (bits >= 63)
        return !is_unsigned || i >= 0;
    return i < (int64_t)1 << bits && i >= (is_unsigned ? 0 : -((int64_t)1 << bits));
}

static Expr *pad_literal(Schedule *s, const Value *v, const Buffer *b)
{
    bool word = v->kind == VALUE_STRING || v->kind == VALUE_WORD;
    Context *c = s->ctx;
    if (v->kind == VALUE_INT && type_is_float(b->type))
        return expr_float(c, b->type, (double)v->u.i, v->span);
    if (v->kind == VALUE_FLOAT && type_is_float(b->type))
        return expr_float(c, b->type, type_round(b->type, v->u.f), v->span);
    if (v->kind == VALUE_INT && fits(b->type, v->u.i))
        return expr_int(c, b->type, v->u.i, v->span);
    if (word && type_is_float(b->type) && v->u.s == ctx_name(c, "inf"))
        return expr_float(c, b->type, (double)INFINITY, v->span);
    if (word && type_is_float(b->type) && v->u.s == ctx_name(c, "-inf"))
        return expr_float(c, b->type, -(double)INFINITY, v->span);
    return NULL;
}

/* No element comes to the place: a condition on `at`, the variables of a place. False where that is
 * not known. */
static bool find_padding(const Transform *r, Var *const *at, Expr **padding)
{
    Context *c = r->s->ctx;
    Expr **element = ARENA_ARRAY(c->arena, Expr *, r->from->rank + 1);
    Facts *f = facts_of_kernel(c, r->s->kernel);
    if (!index_map_back(facts_of_kernel(c, r->s->kernel), &r->elements, r->map->to, r->map->n_to,
                        at, element))
        return false;
    for (int i = 0; i < r->to->rank; i++)
        facts_range(f, at[i], expr_index(c, 0), r->to->shape[i]);
    Expr *taken = index_map_taken(f, r->map, &r->elements, element, at);
    *padding = taken ? simplify(f, expr_unary(c, EX_NOT, taken, span_none())) : NULL;
    return true;
}

/* The value at the place of `index`: a literal, or what an index map gives. NULL: it is neither, or
 * may not fit the type. */
static Expr *pad_value(const Transform *r, const PointBox *places, Expr *const *index)
{
    Context *c = r->s->ctx;
    const Value *v = &r->call->transform_layout.pad_value;
    DType type = r->from->type;
    int64_t least, largest;
    if (v->kind != VALUE_MAP)
        return pad_literal(r->s, v, r->from);
    if (v->u.map->n_from != r->to->rank || v->u.map->n_to != 1)
        return NULL;
    Facts *f = facts_of_kernel(c, r->s->kernel);
    facts_points(f, places);
    Expr *value = simplify(f, index_map_apply(c, v->u.map, index)[0]);
    bool known = bounds_const(f, value, &least, &largest) && type != DT_BOOL;
    if (!type_is_float(type) && !(known && fits(type, least) && fits(type, largest)))
        return NULL;
    return expr_cast(c, type, value, v->span);
}

/* A nest that stores the pad value to every place that no element comes to; *nest stays NULL where
 * there is none. */
static bool pad_nest(const Transform *r, Stmt **nest)
{
    Schedule *s = r->s;
    Context *c = s->ctx;
    const Value *v = &r->call->transform_layout.pad_value;
    Expr **index, *padding;
    StageNest fill = stage_over(r->s, r->to, NULL, v->span, &index);
    PointBox places = {fill.iters, fill.lo, fill.hi, fill.n};
    Expr *value = pad_value(r, &places, index);
    REQUIRE(s, E0904, v->span, value,
            "a pad value of '%s' is a number of its type, %s%s, or an index map from all new "
            "subscripts to such a number",
            r->from->name, type_info(r->from->type)->name,
            type_is_float(r->from->type) ? ", \"inf\" or \"-inf\"" : "");
    REQUIRE(s, E0904, v->span, find_padding(r, fill.iters, &padding),
            "no formula found for the padding of the new layout, so it cannot be filled; omit the "
            "pad value");
    if (!padding)
        return true;
    fill.block = sched_fresh_name(s, arena_printf(c->arena, "%s_pad", r->from->name));
    fill.where = padding;
    fill.body = stmt_set(c, (BufferElement){r->to, index}, value, v->span);
    *nest = stage_nest(s, &fill, r->call->span);
    return true;
}

/* `body` with the nest before the first statement that touches the buffer, under all loops around
 * all that do. */
static Stmt *with_padding(const Transform *r, Stmt *body, Stmt *nest)
{
    Context *c = r->s->ctx;
    Stmt *at = lowest_common_ancestor(c, body, r->to);
    if (!nest || !at)
        return body;
    StagePlace place = {.parent = at};
    while (at->kind == ST_SEQ &&
           !stmt_accesses(r->s->ctx, at->u.seq.items[place.first], r->to, ACCESS_ANY))
        place.first = ++place.last;
    return stmt_replace(c, body, at, stage_insert(r->s, &place, nest, NULL));
}

/* ---- the interface --------------------------------------------------------------------------- */

/* The caller has to know: the trace says it. */
static bool give_parameter(const Transform *r, const Relayout *relayout)
{
    Schedule *s = r->s;
    const Kernel *kernel = relayout_parameter(s->ctx, s->kernel, relayout);
    if (!flow_recheck_all(s, kernel->body, r->call->span))
        return false;
    sched_replace_interface(s, kernel);
    s->remark = arena_printf(s->ctx->arena, "the caller's '%s' is in this layout", r->from->name);
    return true;
}

bool prim_transform_layout(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->transform_layout.buffer.u.id);
    Transform r = {
        .s = s, .call = call, .map = call->transform_layout.index_map.u.map, .from = buffer};
    Stmt *nest = NULL;
    if (!check_buffer(&r))
        return false;
    r.elements = elements_of(s->ctx, buffer, r.map);
    if (!find_shape(&r) || !check_apart(&r))
        return false;
    if (call->transform_layout.pad_value.kind != VALUE_NONE && !pad_nest(&r, &nest))
        return false;
    Relayout relayout = {buffer, r.to, r.map->from, r.map->to};
    if (buffer->role != ROLE_TEMP)
        return give_parameter(&r, &relayout);
    Stmt *body = with_padding(&r, relayout_body(s->ctx, s->kernel, &relayout), nest);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    if (nest)
        *result = value_block(stmt_nest_block(nest));
    return true;
}
