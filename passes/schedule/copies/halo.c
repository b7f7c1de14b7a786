/* halo.c - Implements cache_halo, and can_cache_halo, which asks whether it is legal: copies a
 * buffer with a halo, so that its readers need no borders.
 *
 *   cache_halo(y, x, local):
 *
 *   y[i] = x[(i + N - 1) % N]           x_local[v] = x[(v + N - 1) % N]   for v in N + 2
 *        + x[(i + 1) % N]         =>    y[i] = x_local[i] + x_local[i + 2]
 *
 * A place of the copy is a coordinate that may lie beyond the borders: the dividend of a remainder
 * without multiples of the divisor, or what max and min clamp, moved so that it starts at 0. The
 * copy applies the border, once for each place. What a thread needs of the copy is then a box
 * without gaps, and accesses of its inner part are wide, as no border changes them there.
 *
 * Along each axis, all reads have one border, or none. The readings of an axis agree:
 *
 *   wrap      e % N, or an e in 0..N: e and its coordinate differ by a multiple of N
 *   clamp     max(lo, min(hi, e)), or a part of it where the ranges imply the rest
 *   none      the coordinate is the subscript
 *
 * Choices such as i > 0 ? i - 1 : 0 are read as what they are equal to (border.h).
 *
 * Legal: the subscripts are made of iterators and sizes; each is proved to be the border of its
 * coordinate, for all iterations of the block. Nothing writes the buffer between the copy and the
 * block.
 * Invariant: every access finds the value that it found in the buffer itself. */
#include "passes/schedule/copies/border.h"
#include "passes/schedule/copies/stage.h"

typedef enum { BORDER_NONE, BORDER_WRAP, BORDER_CLAMP } BorderKind;

/* What the subscripts along an axis do with coordinates beyond the ends. */
typedef struct {
    BorderKind kind;
    Expr *divisor;  /* of a wrap */
    Expr *lo, *hi;  /* of a clamp, inclusive; NULL: none on this side */
    int64_t least;  /* of all coordinates */
    Expr *most;     /* the same */
    Expr *extent;   /* of the copy */
    Expr *possible; /* a condition on sizes without which there is no element; NULL: none */
} Border;

typedef struct {
    Schedule *s;
    Span span;
    Stmt *stmt; /* the block */
    Buffer *from;
    Facts *facts; /* in the block */
    const Var **iters;
    AccessList reads;
    Border *borders; /* [from->rank] */
} Halo;

/* ---- borders of subscripts ------------------------------------------------------------------- */

/* The subscript as a remainder, minimum or maximum, also where it is a choice. */
static Expr *read_border(const Halo *h, int axis, Expr *subscript)
{
    Context *c = h->s->ctx;
    Expr *e = simplify(h->facts, subscript);
    return border_of_choices(c, h->facts, e, h->from->shape[axis]);
}

static bool uses_iterators(const Halo *h, const Expr *e)
{
    return expr_uses_any(e, (Var *const *)h->iters, h->stmt->u.block.n_iters);
}

/* Of max(lo, e) or min(hi, e), where the bound is free of iterators: e. NULL: it is neither. */
static Expr *clamped(const Halo *h, Expr *e, Expr **bound)
{
    if (e->kind != EX_MAX && e->kind != EX_MIN)
        return NULL;
    for (int i = 0; i < 2; i++)
        if (!uses_iterators(h, e->u.arg[i]) && uses_iterators(h, e->u.arg[1 - i])) {
            *bound = e->u.arg[i];
            return e->u.arg[1 - i];
        }
    return NULL;
}

static bool is_wrap(const Halo *h, const Expr *e)
{
    return e->kind == EX_MOD && uses_iterators(h, e->u.arg[0]) && !uses_iterators(h, e->u.arg[1]);
}

/* Both are the same, or the border has none yet. */
static bool agree(Expr **have, Expr *bound)
{
    *have = *have ? *have : bound;
    return expr_equal(*have, bound);
}

/* Adds the border that a subscript has of its own. False where that is another one. */
static bool add_border(const Halo *h, Border *b, Expr *e)
{
    Expr *bound;
    if (is_wrap(h, e)) {
        bool same = b->kind != BORDER_CLAMP && agree(&b->divisor, e->u.arg[1]);
        b->kind = BORDER_WRAP;
        return same;
    }
    for (Expr *in; (in = clamped(h, e, &bound)); e = in) {
        if (b->kind == BORDER_WRAP || !agree(e->kind == EX_MAX ? &b->lo : &b->hi, bound))
            return false;
        b->kind = BORDER_CLAMP;
    }
    return true;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static bool is_divisor(const void *divisor, Expr *factor)
{
    return expr_equal(factor, divisor);
}

/* A remainder by the same divisor, which differs from its dividend by a multiple of that. */
static bool is_remainder(const void *divisor, Expr *factor)
{
    return factor->kind == EX_MOD && expr_equal(factor->u.arg[1], divisor);
}

/* `e` without multiples of the divisor, as near to 0 as its number can be. NULL: it has no such
 * form. */
static Expr *without_multiples(const Halo *h, Expr *e, Expr *divisor)
{
    Context *c = h->s->ctx;
    Expr *multiple, *rest, *inner, *others;
    int64_t by, number;
    if (split_terms(h->facts, e, is_remainder, divisor, &inner, &others) &&
        is_remainder(divisor, inner))
        e = simplify(h->facts, index_add(c, inner->u.arg[0], others));
    if (!expr_is_const(divisor, &by))
        return split_terms(h->facts, e, is_divisor, divisor, &multiple, &rest) ? rest : NULL;
    if (by <= 0 || !split_number(h->facts, e, &number, &rest))
        return NULL;
    number %= by;
    if (number < 0)
        number += by;
    return index_add(c, rest, expr_index(c, number > by / 2 ? number - by : number));
}

/* The coordinate of a subscript that is e % divisor, or lies in 0..divisor. */
static Expr *unwrapped(const Halo *h, const Border *b, Expr *e)
{
    Expr *dividend = is_wrap(h, e) ? e->u.arg[0] : e;
    bool known = is_wrap(h, e) ? prove_at_least(h->facts, dividend, 0)
                               : prove_inside(h->facts, e, b->divisor);
    return known ? without_multiples(h, dividend, b->divisor) : NULL;
}

/* The coordinate of a subscript that is max(lo, min(hi, e)), as the ranges tell. */
static Expr *unclamped(const Halo *h, const Border *b, Expr *e)
{
    Expr *bound;
    bool below = b->lo != NULL, above = b->hi != NULL;
    for (Expr *in; (in = clamped(h, e, &bound)); e = in)
        *(e->kind == EX_MAX ? &below : &above) = false;
    if (b->lo && b->hi && !prove_compare(h->facts, b->lo, EX_LE, b->hi))
        return NULL;
    bool inside = (!below || prove_compare(h->facts, b->lo, EX_LE, e)) &&
                  (!above || prove_compare(h->facts, e, EX_LE, b->hi));
    return inside ? e : NULL;
}

/* What the border is applied to. NULL: it is not known. */
static Expr *coordinate(const Halo *h, int axis, Expr *subscript)
{
    const Border *b = &h->borders[axis];
    Expr *e = read_border(h, axis, subscript);
    return b->kind == BORDER_WRAP    ? unwrapped(h, b, e)
           : b->kind == BORDER_CLAMP ? unclamped(h, b, e)
                                     : e;
}

/* ---- the box of the copy --------------------------------------------------------------------- */

static bool refuse_axis(const Halo *h, int axis, Expr *subscript, const char *why)
{
    return sched_refuse(h->s, E0924, h->span, "block '%s' reads '%s' at '%s' along axis %d, %s",
                        h->stmt->u.block.name, h->from->name, expr_text(h->s->ctx, subscript), axis,
                        why);
}

/* A sum of multiples of iterators, so that adjacent iterations need adjacent places. */
static bool is_linear(const Halo *h, Expr *at)
{
    int64_t coefficient;
    Expr *rest;
    for (int i = 0; i < h->stmt->u.block.n_iters; i++)
        if (expr_uses_var(at, h->iters[i]) &&
            !split_linear(h->facts, at, h->iters[i], &coefficient, &rest))
            return false;
    return true;
}

/* The coordinates of one read are among those of the copy. */
static bool add_range(const Halo *h, int axis, Expr *subscript)
{
    Context *c = h->s->ctx;
    Border *b = &h->borders[axis];
    Expr *ends[2], *at = coordinate(h, axis, subscript);
    int64_t least;
    if (!at)
        return refuse_axis(h, axis, subscript,
                           "which is not known to have the border of its other reads for all "
                           "iterations, or whose dividend may be negative");
    at = simplify(h->facts, at);
    if (!is_linear(h, at))
        return refuse_axis(h, axis, subscript, "whose coordinate is no sum of iterators");
    if (!range_over(h->facts, at, h->iters, h->stmt->u.block.n_iters, ends) ||
        !expr_is_const(ends[0], &least))
        return refuse_axis(h, axis, subscript, "whose coordinates have no least value");
    if (expr_has_load(ends[1]))
        return refuse_axis(h, axis, subscript, "whose largest coordinate data decide");
    b->least = b->most && b->least < least ? b->least : least;
    b->most = b->most ? index_max(c, b->most, ends[1]) : ends[1];
    return true;
}

static bool has_only_iterators(const Halo *h, Expr *subscript)
{
    return !expr_has_load(subscript) && !stage_other_var(h->s->ctx, &h->stmt->u.block, subscript);
}

static bool find_border(const Halo *h, int axis)
{
    Border *b = &h->borders[axis];
    for (int i = 0; i < h->reads.n; i++) {
        Expr *e = h->reads.items[i].index[axis];
        if (!has_only_iterators(h, e))
            return refuse_axis(h, axis, e, "which is not made of iterators and sizes");
        if (!add_border(h, b, read_border(h, axis, e)))
            return refuse_axis(h, axis, e, "but other reads have another border there");
    }
    b->extent = h->from->shape[axis];
    for (int i = 0; b->kind != BORDER_NONE && i < h->reads.n; i++)
        if (!add_range(h, axis, h->reads.items[i].index[axis]))
            return false;
    return true;
}

/* The iterations of the copy for the axis, for which the kernel's facts alone hold. */
static void find_extent(Halo *h, int axis)
{
    Context *c = h->s->ctx;
    Border *b = &h->borders[axis];
    Facts *f = facts_of_kernel(c, h->s->kernel);
    if (b->kind == BORDER_NONE)
        return;
    b->extent =
        simplify(f, index_add(c, index_sub(c, b->most, expr_index(c, b->least)), expr_index(c, 1)));
    Expr *some = NULL;
    if (b->kind == BORDER_WRAP)
        some = expr_binary(c, EX_GE, b->divisor, expr_index(c, 1), span_none());
    else if (b->lo && b->hi)
        some = expr_binary(c, EX_LE, b->lo, b->hi, span_none());
    b->possible = some && !prove(f, some) ? some : NULL;
}

static bool find_borders(Halo *h)
{
    bool any = false;
    h->borders = ARENA_ARRAY(h->s->ctx->arena, Border, h->from->rank + 1);
    for (int d = 0; d < h->from->rank; d++) {
        h->borders[d] = (Border){0};
        if (!find_border(h, d))
            return false;
        find_extent(h, d);
        any |= h->borders[d].kind != BORDER_NONE;
    }
    REQUIRE(h->s, E0924, h->span, any,
            "block '%s' reads '%s' at no subscript with a border, such as (i + 1) %% N or "
            "min(i + 1, N - 1); use cache_read",
            h->stmt->u.block.name, h->from->name);
    return true;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* How many divisors to add so that no coordinate is negative. */
static int64_t divisors_to_add(Context *c, Facts *f, const Border *b)
{
    if (b->least >= 0)
        return 0;
    bool one = prove_at_least(f, index_add(c, b->divisor, expr_index(c, b->least)), 0);
    return one ? 1 : -b->least;
}

/* The subscript of the buffer for a coordinate. */
static Expr *with_border(Context *c, Facts *f, const Border *b, Expr *at)
{
    if (b->kind == BORDER_WRAP) {
        Expr *some = index_mul(c, expr_index(c, divisors_to_add(c, f, b)), b->divisor);
        return simplify(f, index_mod(c, simplify(f, index_add(c, at, some)), b->divisor));
    }
    Expr *e = b->hi ? index_min(c, at, b->hi) : at;
    return simplify(f, b->lo ? index_max(c, e, b->lo) : e);
}

/* Conditions without which there is no element to copy. */
static Expr *existing(const Halo *h, Facts *f, Expr *const *element)
{
    Context *c = h->s->ctx;
    Expr *where = NULL;
    for (int d = 0; d < h->from->rank; d++)
        where = h->borders[d].possible ? cond_and(c, where, h->borders[d].possible) : where;
    for (int d = 0; d < h->from->rank; d++) {
        Expr *low = expr_binary(c, EX_GE, element[d], expr_index(c, 0), span_none());
        Expr *high = expr_binary(c, EX_LT, element[d], h->from->shape[d], span_none());
        where = prove(f, low) ? where : cond_and(c, where, low);
        where = prove(f, high) ? where : cond_and(c, where, high);
    }
    return where;
}

static Stmt *copy_nest(const Halo *h, Buffer *to)
{
    Context *c = h->s->ctx;
    Expr **place, **element = ARENA_ARRAY(c->arena, Expr *, h->from->rank + 1);
    StageNest nest = stage_over(h->s, to, NULL, h->stmt->span, &place);
    Facts *f = facts_of_kernel(c, h->s->kernel);
    for (int d = 0; d < to->rank; d++) {
        facts_range(f, nest.iters[d], nest.lo[d], nest.hi[d]);
        if (h->borders[d].possible)
            facts_assume(f, h->borders[d].possible);
    }
    for (int d = 0; d < to->rank; d++) {
        const Border *b = &h->borders[d];
        element[d] = with_border(c, f, b, index_add(c, place[d], expr_index(c, b->least)));
    }
    nest.block = to->name;
    nest.where = existing(h, f, element);
    nest.body = stage_copy(h->s, (BufferElement){.buffer = to, .index = place},
                           (BufferElement){.buffer = h->from, .index = element}, h->stmt->span);
    return stage_nest(h->s, &nest, h->stmt->span);
}

typedef struct {
    const Halo *h;
    Buffer *to;
} Redirect;

static Expr *redirect_load(Rewriter *r, Expr *e)
{
    const Redirect *d = r->user;
    const Buffer *from = d->h->from;
    if (!expr_is_load(e, from))
        return e;
    Expr **index = ARENA_ARRAY(r->ctx->arena, Expr *, from->rank + 1);
    for (int k = 0; k < from->rank; k++) {
        Expr *least = expr_index(r->ctx, d->h->borders[k].least);
        Expr *at = coordinate(d->h, k, e->u.load.index[k]);
        index[k] = simplify(d->h->facts, index_sub(r->ctx, at, least));
    }
    return expr_load(r->ctx, d->to, index, e->span);
}

/* ---- cache_halo ------------------------------------------------------------------------------ */

/* The block reads the buffer, in no init and no instruction, and writes it nowhere. */
static bool check_block(Halo *h, Span at)
{
    const BlockStmt *block = &h->stmt->u.block;
    Context *c = h->s->ctx;
    REQUIRE(h->s, E0442, at, stmt_accesses(c, h->stmt, h->from, ACCESS_READ),
            "block '%s' does not read '%s'; name a buffer that it reads", block->name,
            h->from->name);
    REQUIRE(h->s, E0443, at, !stmt_accesses(c, h->stmt, h->from, ACCESS_WRITE),
            "block '%s' also writes '%s', so a copy made before it would miss what it writes",
            block->name, h->from->name);
    REQUIRE(h->s, E0924, at, !block->init || !stmt_accesses(c, block->init, h->from, ACCESS_READ),
            "the init of block '%s' reads '%s', also where its reduction is empty; use "
            "decompose_reduction first",
            block->name, h->from->name);
    return flow_require_no_range(h->s, h->stmt, h->from, at) &&
           flow_require_fixed_shape(h->s, h->from, E0443, at);
}

/* In front of the block, in as few of its loops as what writes the buffer allows. */
static bool find_place(const Halo *h, StagePlace *place)
{
    BlockList users = {0};
    BufferSet staged = {0};
    VEC_PUSH(h->s->ctx->arena, &users, h->stmt);
    VEC_PUSH(h->s->ctx->arena, &staged, h->from);
    return stage_place(h->s, &users, &staged, ACCESS_WRITE, place) ||
           sched_refuse(h->s, E0443, h->span, "'%s' is written beside block '%s'", h->from->name,
                        h->stmt->u.block.name);
}

static Buffer *make_buffer(const Halo *h, Scope scope)
{
    Context *c = h->s->ctx;
    Expr **extent = ARENA_ARRAY(c->arena, Expr *, h->from->rank + 1);
    for (int d = 0; d < h->from->rank; d++)
        extent[d] = h->borders[d].extent;
    Buffer *to = stage_buffer(h->s, h->from, scope_name(scope), scope, h->span);
    to->shape = stage_shape(h->s, extent, h->from->rank);
    return to;
}

static Halo halo_of(Schedule *s, const PrimCall *call)
{
    Halo h = {.s = s, .span = call->span};
    Context *c = s->ctx;
    h.from = sched_buffer(s, call->cache_halo.buffer.u.id);
    h.stmt = sched_node(s, &call->cache_halo.block, NULL);
    h.facts = facts_of_kernel(c, s->kernel);
    facts_enter(h.facts, h.stmt);
    h.iters = ARENA_ARRAY(c->arena, const Var *, h.stmt->u.block.n_iters + 1);
    for (int i = 0; i < h.stmt->u.block.n_iters; i++)
        h.iters[i] = h.stmt->u.block.iters[i].var;
    h.reads = access_list(c, h.stmt, h.from, ACCESS_READ);
    return h;
}

static bool can_copy(Halo *h, Span at)
{
    return check_block(h, at) && find_borders(h);
}

bool prim_can_cache_halo(Schedule *s, const PrimCall *call, Value *result)
{
    Halo h = halo_of(s, call);
    DiagMark mark = diag_mark(s->ctx);
    bool can = can_copy(&h, call->span);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}

bool prim_cache_halo(Schedule *s, const PrimCall *call, Value *result)
{
    Halo h = halo_of(s, call);
    Span at = call->cache_halo.buffer.span;
    StagePlace place = {0};
    if (!can_copy(&h, at) || !find_place(&h, &place))
        return false;
    Buffer *to = make_buffer(&h, scope_find(call->cache_halo.scope.u.s));
    Stmt *nest = copy_nest(&h, to);
    Rewriter redirect = {.ctx = s->ctx, .user = &(Redirect){&h, to}, .expr = redirect_load};
    Stmt *list = stage_insert(s, &place, nest, NULL);
    list = stmt_replace(s->ctx, list, h.stmt, rewrite_stmt(&redirect, h.stmt));
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, place.parent, list);
    sched_replace_body(s, flow_declare_beside(s, body, h.from, to));
    *result = value_block(stmt_nest_block(nest));
    return true;
}
