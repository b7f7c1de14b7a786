/* transform_layout.c - Implements transform_layout: moves each element of a temp to the place that
 * an index map gives.
 *
 *   transform_layout(t, [i, j] -> [i / 4, j, i % 4]):      t[i, j]   =>   t[i / 4, j, i % 4]
 *
 * Everything that touches the buffer is rewritten, so all that is asked is that the map keeps
 * elements apart: then a place of the new buffer stands for one element of the old one, and no
 * dependence changes. A map that is not onto leaves padding, which nothing reads: every subscript
 * is the image of an element. Who will read it later (a tile that is taken whole) says with a pad
 * value what should be there.
 *
 * Legal: the map keeps elements of the buffer, a temp, apart.
 * Invariant: every access touches the place of its element and no other. */
#include <math.h>

#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/copies/stage.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    const IndexMap *map;
    const Buffer *from;
    Buffer *to;
    PointBox elements; /* of `from`, in the map's parameters */
    Facts *facts;      /* the block's, while it is rewritten */
} Relayout;

/* ---- what is asked of the buffer and of the map ---------------------------------------------- */

static bool check_buffer(const Relayout *r)
{
    Schedule *s = r->s;
    const Buffer *b = r->from;
    Span span = r->call->transform_layout.buffer.span;
    const char *remedy = b->role == ROLE_IN ? "reindex_cache_read" : "reindex_cache_write";
    REQUIRE(s, E0900, span, b->role == ROLE_TEMP,
            "'%s' is a parameter, whose row-major layout belongs to the caller. %s(block, %s, "
            "global, index_map) gives its blocks a copy with a layout of its own; cache_read and "
            "cache_write give them a copy that transform_layout can change",
            b->name, remedy, b->name);
    REQUIRE(s, E0900, span, !b->layout,
            "'%s' has padded, aligned or circular axes, which the map would replace; call "
            "transform_layout first",
            b->name);
    REQUIRE(s, E0901, r->call->transform_layout.index_map.span, r->map->n_from == b->rank,
            "'%s' has %d subscript%s, but the index map takes %d", b->name, b->rank,
            b->rank == 1 ? "" : "s", r->map->n_from);
    return flow_require_fixed_shape(s, b, E0900, span);
}

static PointBox elements_of(Context *c, const Buffer *b, const IndexMap *map)
{
    Expr **lo = ARENA_ARRAY(c->arena, Expr *, b->rank + 1);
    for (int i = 0; i < b->rank; i++)
        lo[i] = expr_index(c, 0);
    return (PointBox){map->from, lo, b->shape, b->rank};
}

static bool find_shape(Relayout *r)
{
    Context *c = r->s->ctx;
    Facts *f = facts_of_kernel(c, r->s->kernel);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, r->map->n_to + 1);
    facts_points(f, &r->elements);
    int wrong = box_of(f, &r->elements, r->map->to, r->map->n_to, shape);
    REQUIRE(r->s, E0902, r->call->transform_layout.index_map.span, wrong < 0,
            "output %d of the index map, '%s', is negative or unbounded for some element of '%s'",
            wrong, sched_text(r->s, r->map->to[wrong]), r->from->name);
    r->to = buffer_copy(c, r->from);
    r->to->shape = stage_shape(r->s, shape, r->map->n_to);
    r->to->rank = r->map->n_to;
    r->to->origin = r->call->span;
    return true;
}

static Expr **parameters(Context *c, const IndexMap *map)
{
    Expr **out = ARENA_ARRAY(c->arena, Expr *, map->n_from + 1);
    for (int i = 0; i < map->n_from; i++)
        out[i] = expr_var(c, map->from[i], span_none());
    return out;
}

/* The outputs tell the parameters. */
static Relation way_back(const Relayout *r)
{
    return (Relation){&r->elements, r->map->to, parameters(r->s->ctx, r->map), r->map->n_to,
                      r->map->n_from};
}

static bool check_apart(const Relayout *r)
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

/* ---- the accesses ---------------------------------------------------------------------------- */

static Expr *const *relayout_index(Relayout *r, Expr *const *index)
{
    Expr **out = index_map_apply(r->s->ctx, r->map, index);
    for (int i = 0; i < r->map->n_to; i++)
        out[i] = simplify(r->facts, out[i]);
    return out;
}

static Expr *relayout_load(Rewriter *rewriter, Expr *e)
{
    Relayout *r = rewriter->user;
    if (e->kind != EX_LOAD || e->u.load.buffer->id != r->from->id)
        return e;
    return expr_load(rewriter->ctx, r->to, relayout_index(r, e->u.load.index), e->span);
}

static Stmt *relayout_store(Rewriter *rewriter, Stmt *stmt)
{
    Relayout *r = rewriter->user;
    if (stmt->kind != ST_STORE || stmt->u.store.buffer->id != r->from->id)
        return stmt;
    Stmt *store = stmt_store(rewriter->ctx,
                             &(StoreStmt){.buffer = r->to,
                                          .index = relayout_index(r, stmt->u.store.index),
                                          .op = stmt->u.store.op,
                                          .value = stmt->u.store.value},
                             stmt->span);
    store->u.store.atomic = stmt->u.store.atomic;
    return store;
}

typedef enum { PART_BODY, PART_INIT } BlockPart;

/* The init or the body; an init knows nothing of reduction iterators, which it runs without. */
static Stmt *relayout_part(Relayout *r, const BlockStmt *block, Stmt *part, BlockPart which)
{
    if (!part)
        return NULL;
    r->facts = facts_of_kernel(r->s->ctx, r->s->kernel);
    for (int i = 0; i < block->n_iters; i++)
        if (which != PART_INIT || block->iters[i].kind == ITER_SPATIAL)
            facts_range_loosely(r->facts, block->iters[i].var, block->iters[i].lo,
                                block->iters[i].hi);
    Rewriter inner = {.ctx = r->s->ctx, .user = r, .expr = relayout_load, .stmt = relayout_store};
    return rewrite_stmt(&inner, part);
}

static Stmt *relayout_stmt(Rewriter *rewriter, Stmt *stmt)
{
    Relayout *r = rewriter->user;
    if (stmt->kind == ST_TEMP && stmt->u.temp->id == r->from->id)
        return stmt_temp(rewriter->ctx, r->to, stmt->span);
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    block.init = relayout_part(r, &stmt->u.block, block.init, PART_INIT);
    block.body = block_body_at_init(rewriter->ctx, &stmt->u.block, block.init,
                                    relayout_part(r, &stmt->u.block, block.body, PART_BODY));
    bool same = block.init == stmt->u.block.init && block.body == stmt->u.block.body;
    return same ? stmt : stmt_block(rewriter->ctx, &block, stmt->span);
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
static bool find_padding(const Relayout *r, Var *const *at, Expr **padding)
{
    Context *c = r->s->ctx;
    Expr **element = ARENA_ARRAY(c->arena, Expr *, r->from->rank + 1);
    Facts *f = facts_of_kernel(c, r->s->kernel);
    if (!index_map_back(c, &r->elements, r->map->to, r->map->n_to, at, element))
        return false;
    for (int i = 0; i < r->to->rank; i++)
        facts_range(f, at[i], expr_index(c, 0), r->to->shape[i]);
    Expr *taken = index_map_taken(f, r->map, &r->elements, element, at);
    *padding = taken ? simplify(f, expr_unary(c, EX_NOT, taken, span_none())) : NULL;
    return true;
}

/* The value at the place of `index`: a literal, or what an index map gives. NULL: it is neither, or
 * may not fit the type. */
static Expr *pad_value(const Relayout *r, const PointBox *places, Expr *const *index)
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
static bool pad_nest(const Relayout *r, Stmt **nest)
{
    Schedule *s = r->s;
    Context *c = s->ctx;
    const Value *v = &r->call->transform_layout.pad_value;
    Expr **index, *padding;
    StageNest fill = stage_over(c, r->to, NULL, v->span, &index);
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
    fill.body = stmt_store(
        c, &(StoreStmt){.buffer = r->to, .index = index, .op = STORE_SET, .value = value}, v->span);
    *nest = stage_nest(s, &fill, r->call->span);
    return true;
}

/* `body` with the nest before the first statement that touches the buffer, under all loops around
 * all that do. */
static Stmt *with_padding(const Relayout *r, Stmt *body, Stmt *nest)
{
    Context *c = r->s->ctx;
    Stmt *at = lowest_common_ancestor(c, body, r->to);
    if (!nest || !at)
        return body;
    StagePlace place = {at, 0, 0};
    while (at->kind == ST_SEQ &&
           !stmt_accesses(r->s->ctx, at->u.seq.items[place.first], r->to, ACCESS_ANY))
        place.first = ++place.last;
    return stmt_replace(c, body, at, stage_insert(r->s, &place, nest, NULL));
}

bool prim_transform_layout(Schedule *s, const PrimCall *call, Value *result)
{
    Buffer *buffer = sched_buffer(s, call->transform_layout.buffer.u.id);
    Relayout r = {
        .s = s, .call = call, .map = call->transform_layout.index_map.u.map, .from = buffer};
    Stmt *nest = NULL;
    if (!check_buffer(&r))
        return false;
    r.elements = elements_of(s->ctx, buffer, r.map);
    if (!find_shape(&r) || !check_apart(&r))
        return false;
    if (call->transform_layout.pad_value.kind != VALUE_NONE && !pad_nest(&r, &nest))
        return false;
    Rewriter rewriter = {.ctx = s->ctx, .user = &r, .stmt = relayout_stmt};
    Stmt *body = with_padding(&r, rewrite_stmt(&rewriter, s->kernel->body), nest);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    if (nest)
        *result = value_block(stmt_nest_block(nest));
    return true;
}
