/* thread_partials.c - Builds the blocks that initialize the partial results of a reduction's
 * threads and that combine them.
 *
 * Warps combine by butterflies of shuffles, after which all their lanes hold the same value;
 * several warps hand theirs over in shared memory, where all threads that need the result combine
 * them, or else the first warp. Threads that are not in whole warps along x
 * combine in shared memory, halving their number each time.
 *
 * Values of an ordered reducer are combined with their neighbours first: the butterfly starts with
 * lanes 1 apart, after which lane 2t holds 2t and 2t + 1, in this order. Lane 0 has the result of
 * all; the other lanes have combined in other orders, and nothing reads theirs.
 *
 * Where groups of lanes reduce (thread_groups.c), each does so like a warp. */
#include "passes/shared/threads/thread_reduction.h"

/* ---- blocks over all partial results --------------------------------------------------------- */

Expr *partials_iteration(Context *c, const ForStmt *loop, Var *var)
{
    Expr *from = index_sub(c, expr_var(c, var, var->span), loop->lo);
    return loop->step == 1 ? from : index_div(c, from, expr_index(c, loop->step));
}

/* The loop's name, or one like it where an iterator of the block has that. */
static Name iter_name(Apart *a, Name name)
{
    for (int i = 0; i < a->block->n_iters; i++)
        if (a->block->iters[i].var->name == name)
            return iter_name(a, ctx_namef(a->c, "%s_", name));
    return name;
}

static BlockIter iter_over(Apart *a, const ForStmt *loop, int64_t extent, Expr *binding)
{
    return (BlockIter){
        .var = var_new(a->c, iter_name(a, loop->var->name), DT_INDEX, VAR_ITER, loop->var->span),
        .lo = expr_index(a->c, 0),
        .hi = expr_index(a->c, extent),
        .binding = binding,
        .kind = ITER_SPATIAL};
}

Expr *partials_lane(Apart *a, const Place *place)
{
    Context *c = a->c;
    Expr *lane = place->lane;
    for (int i = 0; a->groups.of && i < a->dims.n; i++)
        if (a->dims.items[i]->var->name == a->groups.name)
            lane = index_add(c, index_mul(c, place->dims[i], expr_index(c, a->groups.width)), lane);
    return lane;
}

int64_t partials_lanes(const Apart *a)
{
    return a->groups.of ? a->groups.extent : a->extent;
}

/* The axis of a partial result's dimension. In shared memory the elements of a thread come first,
 * so that threads of a warp use adjacent rows, which the pad keeps in different banks. */
static int axis_of(const Apart *a, int dim)
{
    if (a->groups.of)
        return dim;
    return dim < a->outside ? dim + a->dims.n - a->outside : dim - a->outside;
}

Frame partials_open(Apart *a, const Place *place)
{
    int n = a->dims.n;
    Frame f = {.iters = ARENA_ARRAY(a->c->arena, BlockIter, n + 1),
               .index = ARENA_ARRAY(a->c->arena, Expr *, n + 1)};
    for (int i = 0; i <= n; i++) {
        int64_t extent = partials_lanes(a);
        const ForStmt *loop = i < n ? a->dims.items[i] : &a->lanes->u.loop;
        if (i < n)
            loop_const_extent(loop, &extent);
        f.iters[i] = iter_over(a, loop, extent, i < n ? place->dims[i] : partials_lane(a, place));
        f.index[i < n ? axis_of(a, i) : n] = expr_var(a->c, f.iters[i].var, loop->var->span);
    }
    f.lane = f.index[n];
    return f;
}

/* The subscripts of a buffer of partial results with another last one. */
static Expr *const *at(Apart *a, const Frame *f, Expr *last)
{
    Expr **index = ARENA_COPY(a->c->arena, Expr *, f->index, a->dims.n, 1);
    index[a->dims.n] = last;
    return index;
}

static const BufferElement *elements_of(Apart *a, PartialElement element)
{
    BufferElement *out = ARENA_ARRAY(a->c->arena, BufferElement, a->r.n);
    Expr *const *index = at(a, element.frame, element.last);
    for (int k = 0; k < a->r.n; k++)
        out[k] = (BufferElement){element.buffers[k], index};
    return out;
}

Expr *const *partials_load(Apart *a, PartialElement element)
{
    return reducer_load(a->c, &a->r, elements_of(a, element));
}

/* The element becomes the values. */
static Stmt *partials_set(Apart *a, PartialElement element, Expr *const *values)
{
    ReducerStore to = {elements_of(a, element), values};
    return stmt_stamp(reducer_set(a->c, &a->r, to), a->lanes);
}

Stmt *partials_update(Apart *a, PartialElement element, Expr *const *values)
{
    ReducerStore to = {elements_of(a, element), values};
    return stmt_stamp(reducer_update(a->c, &a->r, to), a->lanes);
}

/* The block `what` of the reduction. */
static Stmt *close_frame(Apart *a, const Frame *f, const char *what, Expr *predicate, Stmt *body)
{
    BlockStmt block = {.name =
                           names_fresh(&a->names, ctx_namef(a->c, "%s_%s", a->block->name, what)),
                       .iters = f->iters,
                       .n_iters = a->dims.n + 1,
                       .predicate = predicate,
                       .body = body};
    return stmt_stamp(stmt_block(a->c, &block, a->r.update->span), a->lanes);
}

ForStmt partials_loop(Apart *a, const ForStmt *loop)
{
    ForStmt copy = *loop;
    if (copy.kind != LOOP_BIND && copy.kind != LOOP_UNROLL)
        copy.kind = LOOP_SERIAL;
    copy.var = var_new(a->c, loop->var->name, DT_INDEX, VAR_LOOP, loop->var->span);
    copy.id = ctx_new_id(a->c);
    copy.annotations = (AnnotationList){0};
    return copy;
}

/* The loops over all partial results around what `stage` makes there. */
static Stmt *nest(Apart *a, Stmt *(*stage)(Apart *a, const Place *place, int64_t n), int64_t n)
{
    Context *c = a->c;
    int dims = a->dims.n;
    ForStmt lanes = partials_loop(a, &a->lanes->u.loop);
    ForStmt *loops = ARENA_ARRAY(c->arena, ForStmt, dims + 1);
    Place place = {ARENA_ARRAY(c->arena, Expr *, dims + 1),
                   partials_iteration(c, &lanes, lanes.var)};
    for (int i = 0; i < dims; i++) {
        loops[i] = *a->dims.items[i];
        if (i >= a->outside)
            loops[i] = partials_loop(a, a->dims.items[i]);
        place.dims[i] = partials_iteration(c, &loops[i], loops[i].var);
    }
    Stmt *s = stage(a, &place, n);
    for (int i = dims - 1; i >= a->outside; i--) {
        loops[i].body = s;
        s = stmt_stamp(stmt_for(c, &loops[i], s->span), a->lanes);
    }
    lanes.body = s;
    return stmt_stamp(stmt_for(c, &lanes, s->span), a->lanes);
}

static Buffer *partials_buffer(Apart *a, const Buffer *like, Name name)
{
    Buffer own = *like;
    own.name = names_fresh(&a->names, name);
    Buffer *b = buffer_new(a->c, &own);
    VEC_PUSH(a->c->arena, &a->temps, b);
    return b;
}

/* Rows of partial results in shared memory get the pad that keeps their columns apart. */
static const AxisLayout *rows_apart(Apart *a, int rank, Scope scope)
{
    if (scope != SCOPE_SHARED || rank < 2)
        return NULL;
    AxisLayout *layout = ARENA_ARRAY(a->c->arena, AxisLayout, rank);
    layout[rank - 1] = (AxisLayout){.choose_pad = true, .quiet = true};
    return layout;
}

Buffer *const *partials_buffers(Apart *a, const char *suffix, int64_t last, Scope scope)
{
    Expr **shape = ARENA_ARRAY(a->c->arena, Expr *, a->dims.n + 1);
    Buffer **out = ARENA_ARRAY(a->c->arena, Buffer *, a->r.n);
    for (int i = 0; i < a->dims.n; i++) {
        int64_t extent = 0;
        loop_const_extent(a->dims.items[i], &extent);
        shape[axis_of(a, i)] = shape_extent(a->c, expr_index(a->c, extent));
    }
    shape[a->dims.n] = expr_index(a->c, last);
    for (int k = 0; k < a->r.n; k++) {
        const Buffer *of = a->r.parts[k].target.buffer;
        Buffer like = {.type = of->type,
                       .shape = shape,
                       .rank = a->dims.n + 1,
                       .scope = scope,
                       .role = ROLE_TEMP,
                       .layout = rows_apart(a, a->dims.n + 1, scope),
                       .lanes_alike = scope == SCOPE_WARP,
                       .span = of->span};
        out[k] = partials_buffer(a, &like, ctx_namef(a->c, "%s_%s", of->name, suffix));
    }
    return out;
}

Place partials_place(Apart *a)
{
    Place place = {.dims = ARENA_ARRAY(a->c->arena, Expr *, a->dims.n + 1)};
    for (int i = 0; i < a->dims.n; i++)
        place.dims[i] = partials_iteration(a->c, a->dims.items[i], a->dims.items[i]->var);
    place.lane = partials_iteration(a->c, &a->lanes->u.loop, a->lanes->u.loop.var);
    return place;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static Stmt *start(Apart *a, const Place *place, int64_t n)
{
    (void)n;
    Frame f = partials_open(a, place);
    return close_frame(
        a, &f, "start", NULL,
        partials_set(a, (PartialElement){a->part, &f, f.lane}, reducer_identities(a->c, &a->r)));
}

/* n lanes, a power of two, combine: afterwards each has the result of all, or of an ordered reducer
 * the first. */
static Stmt *butterfly(Apart *a, const Frame *f, int64_t n)
{
    Stmt *all = NULL;
    PartialElement mine = {a->part, f, f->lane};
    bool ordered = reducer_is_ordered(&a->r);
    for (int64_t step = 1; step < n; step *= 2) {
        int64_t apart = ordered ? step : n / 2 / step;
        Expr *const *own = partials_load(a, mine);
        Expr **other = ARENA_ARRAY(a->c->arena, Expr *, a->r.n);
        for (int k = 0; k < a->r.n; k++)
            other[k] = expr_binary(a->c, EX_SHUFFLE_XOR, own[k], expr_index(a->c, apart),
                                   a->r.update->span);
        all = stmt_then(a->c, all, partials_update(a, mine, other));
    }
    return all;
}

static Stmt *combine_warp(Apart *a, const Place *place, int64_t n)
{
    Frame f = partials_open(a, place);
    return close_frame(a, &f, "combine", NULL, butterfly(a, &f, n));
}

/* Each warp combines, and its first lane hands the result over. */
static Stmt *combine_and_share(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Stmt *warp = combine_warp(a, place, n);
    Frame f = partials_open(a, place);
    Expr *number = index_div(c, f.lane, expr_index(c, WARP));
    Stmt *share = partials_set(a, (PartialElement){a->red, &f, number},
                               partials_load(a, (PartialElement){a->part, &f, f.lane}));
    Expr *first = expr_binary(c, EX_EQ, index_mod(c, place->lane, expr_index(c, WARP)),
                              expr_index(c, 0), a->block->body->span);
    return stmt_then(c, warp, close_frame(a, &f, "share", first, share));
}

/* Every warp combines what the n warps have handed over. */
static Stmt *combine_shared(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = partials_open(a, place);
    Expr *lane = index_mod(c, f.lane, expr_index(c, WARP));
    Expr *const *shared = partials_load(a, (PartialElement){a->red, &f, lane});
    Expr **theirs = ARENA_ARRAY(c->arena, Expr *, a->r.n);
    for (int k = 0; k < a->r.n; k++)
        theirs[k] = n < WARP
                        ? expr_select(c, expr_binary(c, EX_LT, lane, expr_index(c, n), lane->span),
                                      shared[k], a->r.parts[k].identity, lane->span)
                        : shared[k];
    int64_t lanes = 1;
    while (lanes < n)
        lanes *= 2;
    Stmt *take = partials_set(a, (PartialElement){a->part, &f, f.lane}, theirs);
    return close_frame(a, &f, "combine", NULL, stmt_then(c, take, butterfly(a, &f, lanes)));
}

static Stmt *spread(Apart *a, const Place *place, int64_t n)
{
    (void)n;
    Frame f = partials_open(a, place);
    Expr *const *mine = partials_load(a, (PartialElement){a->part, &f, f.lane});
    return close_frame(a, &f, "share", NULL,
                       partials_set(a, (PartialElement){a->red, &f, f.lane}, mine));
}

/* Threads below n combine the values of the threads n further on, if these exist. */
static Stmt *halve(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = partials_open(a, place);
    Expr *const *other =
        partials_load(a, (PartialElement){a->red, &f, index_add(c, f.lane, expr_index(c, n))});
    int64_t below = n < a->extent - n ? n : a->extent - n;
    Expr *low = expr_binary(c, EX_LT, place->lane, expr_index(c, below), a->r.update->span);
    return close_frame(a, &f, "combine", low,
                       partials_update(a, (PartialElement){a->red, &f, f.lane}, other));
}

/* Of every 2n threads the first combines the value of the thread n further on, if there is one. */
static Stmt *join_neighbours(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Span span = a->r.update->span;
    Frame f = partials_open(a, place);
    Expr *const *other =
        partials_load(a, (PartialElement){a->red, &f, index_add(c, f.lane, expr_index(c, n))});
    Expr *first = expr_binary(c, EX_EQ, index_mod(c, place->lane, expr_index(c, 2 * n)),
                              expr_index(c, 0), span);
    Expr *exists = expr_binary(c, EX_LT, place->lane, expr_index(c, a->extent - n), span);
    return close_frame(a, &f, "combine", cond_and(c, first, exists),
                       partials_update(a, (PartialElement){a->red, &f, f.lane}, other));
}

/* Each warp hands over its result in shared memory. */
static Stmt *share_warps(Apart *a)
{
    a->warps = a->extent <= WARP ? 1 : a->extent / WARP;
    a->red = partials_buffers(a, a->warps > 1 ? "warps" : "total", a->warps, SCOPE_SHARED);
    return nest(a, combine_and_share, a->extent / a->warps);
}

/* The partial results of whole warps become one, which all their threads have. */
static Stmt *combine_warps(Apart *a)
{
    if (a->extent <= WARP)
        return nest(a, combine_warp, a->extent);
    Stmt *warps = share_warps(a);
    return stmt_then(a->c, warps, nest(a, combine_shared, a->warps));
}

/* The same of any threads; element 0 has the result. */
static Stmt *combine_threads(Apart *a)
{
    int64_t most = 1;
    while (2 * most < a->extent)
        most *= 2;
    a->red = partials_buffers(a, "threads", a->extent, SCOPE_SHARED);
    Stmt *all = nest(a, spread, 0);
    for (int64_t step = 1; step <= most; step *= 2)
        all = stmt_then(a->c, all,
                        reducer_is_ordered(&a->r) ? nest(a, join_neighbours, step)
                                                  : nest(a, halve, most / step));
    return all;
}

Stmt *partials_start(Apart *a)
{
    return nest(a, start, 0);
}

/* The first of n lanes sends its values to all of them. */
static Stmt *send_first(Apart *a, const Place *place, int64_t n)
{
    Context *c = a->c;
    Frame f = partials_open(a, place);
    Expr *width = expr_index(c, n), *first = expr_index(c, 0);
    if (a->groups.of)
        first = index_mul(c, index_div(c, f.lane, width), width);
    PartialElement mine = {a->part, &f, f.lane};
    Expr *const *own = partials_load(a, mine);
    Expr **sent = ARENA_ARRAY(c->arena, Expr *, a->r.n);
    for (int k = 0; k < a->r.n; k++)
        sent[k] = expr_binary(c, EX_SHUFFLE, own[k], first, a->r.update->span);
    return close_frame(a, &f, "send", NULL, partials_set(a, mine, sent));
}

/* All lanes that read a result in memory of the warp, or have a copy of that of their group, need
 * the same bits. A butterfly computes `x op y` in one lane and `y op x` in another: these are the
 * same for an operator, but a combiner can choose one of two equal values by their order, or round
 * the products of a sum differently where they are contracted. */
Stmt *partials_combine(Apart *a)
{
    if (!reduction_whole_warps(a))
        return combine_threads(a);
    if (a->result == RESULT_SHARED)
        return share_warps(a);
    Stmt *all = combine_warps(a);
    bool read = a->result == RESULT_WARP || a->result == RESULT_EACH_LANE;
    return read && a->r.combiner ? stmt_then(a->c, all, nest(a, send_first, a->extent)) : all;
}
