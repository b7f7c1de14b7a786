/* compact.c - Shrinks buffers of blocks, warps and threads to the part in use, and moves them to
 * where it is used.
 *
 *   temp S: f32[1024, 1024] in shared;              for ko in 32 {
 *   for ko in 32 {                          =>          temp S: f32[32, 32] in shared;
 *       S[by * 32 + y, ko * 32 + x] = ...               S[y, x] = ...
 *       ... S[by * 32 + ty, ko * 32 + ki] ...           ... S[ty, ki] ...
 *   }                                               }
 *
 * The allocation moves to the lowest common ancestor of the accesses, and its shape is the box that
 * they access there for fixed outer loops. Shared memory belongs to all threads of a block, so
 * loops bound to threads always count as inside; registers belong to one thread, so these loops
 * count as outside. Memory of a warp belongs to the threads along threadIdx.x.
 *
 * A serial loop may stay outside only if each of its iterations reads only what it has written
 * (flow.c); otherwise the allocation moves out of the loop.
 *
 * A thread's registers may be spread evenly over the box, elements 0, 16, 32 and 48 of it, or the
 * first 4 of every 32: then only those are kept (spread.c).
 *
 * A global temp stays where it is, and shrinks if half of it is not in use.
 *
 * An axis with a fold (a pipelined buffer) is circular with that many places: its subscripts become
 * remainders. The pass re-checks the order of reads and writes, because later steps may have
 * changed it. */
#include "passes/lower/memory/spread.h"

typedef struct {
    Context *c;
    const Kernel *kernel;
    Stmt *body; /* the kernel's, rewritten for one buffer after the other */
    bool failed;
} Compact;

/* The place of an allocation, and the loops of the launch around it. */
typedef struct {
    StmtPath path; /* from the body to the place */
    int root;      /* index of the launch root; path.n if the place is outside launches */
} Place;

static const char *scope_of(const Buffer *b)
{
    return scope_name(b->scope);
}

static bool find_place(Compact *k, const Stmt *at, Place *place)
{
    place->path = stmt_path_to(k->c, k->body, at);
    if (place->path.n == 0)
        return false;
    for (place->root = 0; place->root < place->path.n; place->root++)
        if (stmt_is_launch_root(k->c, place->path.items[place->root]))
            return true;
    return false;
}

static void refuse_launches(Compact *k, const Buffer *b)
{
    diag_error(k->c, E0502, buffer_span(b),
               "'%s' is in %s memory, which lasts for one launch, but several launches use it",
               b->name, scope_of(b));
    diag_note(k->c, buffer_span(b),
              "keep it in global memory with set_scope, or move its accesses into one bound loop "
              "with compute_at");
    k->failed = true;
}

static void refuse_carried(Compact *k, const Buffer *b, const Stmt *loop)
{
    diag_error(k->c, E0502, buffer_span(b),
               "'%s' is in %s memory, which lasts for one launch, but an iteration of the host "
               "loop '%s' may read what an earlier one wrote",
               b->name, scope_of(b), loop->u.loop.var->name);
    diag_note(k->c, loop->span, "keep it in global memory, or bind a loop outside '%s'",
              loop->u.loop.var->name);
    k->failed = true;
}

/* ---- the box --------------------------------------------------------------------------------- */

/* The iterations of the loop share memory of the scope. */
static bool is_shared_along(Scope scope, const Stmt *s)
{
    return stmt_is_bound(s) && scope_shared_along(scope, s->u.loop.axis);
}

/* Bound loops inside have a copy of the memory for each iteration. */
static bool has_own_parts(Context *c, const Stmt *s, Scope scope)
{
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);)
        if (stmt_is_bound(at.stmt) && !is_shared_along(scope, at.stmt))
            return true;
    return false;
}

/* The loops around `place` whose iterations share the memory, copied around `s`: the region of what
 * all that share a copy touch. */
static Stmt *under_shared_loops(Compact *k, const Place *place, Scope scope, Stmt *s)
{
    for (int i = place->path.n - 2; i >= place->root; i--)
        if (is_shared_along(scope, place->path.items[i]))
            s = loop_with_body(k->c, place->path.items[i], s);
    return s;
}

/* What holds at the place, but for the loops whose iterations share memory of the scope. */
static void enter_path(Facts *f, const Place *place, Scope scope)
{
    for (int i = 0; i + 1 < place->path.n; i++) {
        const Stmt *s = place->path.items[i];
        bool known = s->kind == ST_FOR || s->kind == ST_IF;
        if (known && !is_shared_along(scope, s))
            facts_enter_item(f, &place->path, i);
    }
}

static bool refuse_unbounded(Compact *k, const Buffer *b, int axis)
{
    diag_error(k->c, E0512, buffer_span(b),
               "'%s' is in %s memory, which needs constant sizes, but the part of its axis %d in "
               "use has no constant bound",
               b->name, scope_of(b), axis);
    diag_note(k->c, buffer_span(b),
              "split the loops along this axis by constants and compute_at the inner ones, or keep "
              "the buffer in global "
              "memory");
    k->failed = true;
    return false;
}

/* ---- folded axes ----------------------------------------------------------------------------- */

static int64_t fold_of(const Buffer *b, int axis)
{
    return b->layout ? b->layout[axis].fold : 0;
}

static bool is_folded(const Buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (fold_of(b, d) > 0)
            return true;
    return false;
}

/* The launch around the place, and how many loops of it stand around the place. */
static Threads *launch_of(Compact *k, const Place *place, int *n_loops)
{
    *n_loops = 0;
    for (int i = place->root; i + 1 < place->path.n; i++)
        *n_loops += place->path.items[i]->kind == ST_FOR;
    Kernel *now = kernel_with_body(k->c, k->kernel, k->body);
    return threads_model(k->c, now, place->path.items[place->root]);
}

static bool refuse_fold(Compact *k, const Buffer *b, int axis, const Conflict *why)
{
    diag_error(
        k->c, E0513, buffer_span(b),
        "axis %d of '%s' is circular with %lld elements, but in the current order of statements "
        "%s%s%s",
        axis, b->name, (long long)fold_of(b, axis), why->reason, *why->first_at ? ": at " : "",
        *why->first_at ? arena_printf(k->c->arena, "%s, and at %s", why->first_at, why->second_at)
                       : "");
    diag_note(k->c, why->first_span, "the first access");
    diag_note(k->c, why->second_span,
              "the second access; call pipeline after the steps that move, reorder or fuse what it "
              "pipelines");
    k->failed = true;
    return false;
}

/* The layout without the folds, which the subscripts have taken over. */
static const AxisLayout *unfolded_layout(Context *c, const Buffer *b)
{
    AxisLayout *layout = ARENA_COPY(c->arena, AxisLayout, b->layout, b->rank, 1);
    for (int d = 0; d < b->rank; d++)
        layout[d].fold = 0;
    return layout;
}

/* The smallest literal extents that hold the box, which becomes a whole axis where a symbol is the
 * bound of the part in use. */
static bool literal_extents(Compact *k, Facts *f, const Buffer *b, Interval *box, Expr **shape)
{
    for (int d = 0; d < b->rank; d++) {
        int64_t min, max;
        Expr *extent = simplify(f, box[d].extent);
        bool bounded = expr_is_const(extent, &max) || bounds_const(f, extent, &min, &max);
        if (!bounded && !expr_is_const(b->shape[d], &max))
            return refuse_unbounded(k, b, d);
        if (!bounded)
            box[d] = (Interval){.min = expr_index(k->c, 0), .extent = b->shape[d]};
        shape[d] = shape_extent(k->c, expr_index(k->c, max));
    }
    return true;
}

/* ---- rebasing -------------------------------------------------------------------------------- */

/* the first two only look at subscripts */
typedef enum { REBASE_SUGGEST, REBASE_MEASURE, REBASE } RebaseStep;

/* What the first step has found at a block or an access, for the next ones: they come by the same
 * places in the same order, and know the same there. */
typedef struct {
    VEC(ExprList) domains; /* of each block, in canonical form */
    VEC(Expr **) offsets;  /* of each access, [rank], NULL: not asked for yet */
    int block, access;     /* where the step at work is */
} Found;

typedef struct {
    Context *c;
    Facts *facts;
    const Buffer *from;
    Buffer *to;
    Interval *box;
    int64_t *fold;  /* [rank], 0 where an axis is no circle */
    Spread *spread; /* [rank] which elements of the box are used */
    RebaseStep step;
    SpreadSearch *searches; /* [rank] in the first two steps; of axes that are wanted */
    /* [rank] there: the last element of the box, 0 where an axis is not searched */
    const int64_t *last;
    const BlockStmt *block; /* the one at work, or NULL */
    bool by_axes;           /* the box is in terms of the axes of bound loops inside the place */
    SubstList bound;        /* bound loops inside the place, to their axes; of own coordinates */
    StmtList ways;          /* statements down to the blocks that access the buffer */
    Found found;
} Rebase;

/* Rewrites `e` in terms of axes, and back: a box of registers uses axes, because several loops may
 * be bound to one. */
static Expr *to_axes(Rebase *r, Expr *e)
{
    return expr_subst(r->c, e, r->bound.items, r->bound.n);
}

static Expr *from_axes(Rebase *r, Expr *e)
{
    for (int i = r->bound.n - 1; i >= 0; i--) {
        const Expr *axis = r->bound.items[i].value;
        if (axis->kind == EX_AXIS)
            e = expr_replace_axis(r->c, e, axis->u.axis,
                                  expr_var(r->c, r->bound.items[i].var, span_none()));
    }
    return e;
}

static void enter_bound(Rebase *r, const ForStmt *loop)
{
    Expr *at = index_mul(r->c, expr_axis(r->c, loop->axis), expr_index(r->c, loop->step));
    Subst to = {loop->var, index_add(r->c, loop->lo, at)};
    VEC_PUSH(r->c->arena, &r->bound, to);
}

static Expr *rebase_spread(Rebase *r, int d, Expr *offset)
{
    switch (r->step) {
    case REBASE_SUGGEST: spread_suggest(r->c, &r->searches[d], offset, r->last[d]); return offset;
    case REBASE_MEASURE: spread_measure(r->c, r->facts, &r->searches[d], offset); return offset;
    case REBASE: break;
    }
    return spread_pack(r->c, r->facts, r->spread[d], offset);
}

/* A quotient or remainder, which may be a constant in terms of loops, and so a register. */
static bool divides(const Rebase *r, const Expr *at)
{
    for (Cursor part = cursor_expr(r->c, at); cursor_next(&part);)
        if (part.expr->kind == EX_DIV || part.expr->kind == EX_MOD)
            return r->from->scope == SCOPE_LOCAL;
    return false;
}

/* A subscript relative to the box, or the place in the circle. */
static Expr *offset_of(Rebase *r, int d, Expr *index)
{
    Expr *at = r->block ? iters_to_loops(r->c, r->block, index) : index;
    Expr *offset = index_sub(r->c, to_axes(r, at), r->box[d].min);
    if (r->fold[d] > 0)
        offset = index_mod(r->c, offset, expr_index(r->c, r->fold[d]));
    return simplify(r->facts, offset);
}

/* An axis whose box starts at 0 keeps its subscripts, but for quotients. */
static Expr *const *rebase_index(Rebase *r, Expr *const *index)
{
    Arena *arena = r->c->arena;
    Expr **out = ARENA_ARRAY(arena, Expr *, r->from->rank + 1);
    if (r->found.access == r->found.offsets.n)
        VEC_PUSH(arena, &r->found.offsets, ARENA_ARRAY(arena, Expr *, r->from->rank + 1));
    Expr **offsets = r->found.offsets.items[r->found.access++];
    for (int d = 0; d < r->from->rank; d++) {
        bool dense = r->step == REBASE ? r->spread[d].period == 1 : r->last[d] == 0;
        out[d] = index[d];
        if (expr_is(r->box[d].min, 0) && r->fold[d] == 0 && dense && !divides(r, index[d]))
            continue;
        Expr *offset = offsets[d] ? offsets[d] : offset_of(r, d, index[d]);
        if (!expr_has_load(index[d])) /* each step rebases a load in a subscript in its own way */
            offsets[d] = offset;
        out[d] = from_axes(r, dense ? offset : rebase_spread(r, d, offset));
    }
    return out;
}

static Expr *rebase_load(Rewriter *rewriter, Expr *e)
{
    Rebase *r = rewriter->user;
    if (e->kind != EX_LOAD || e->u.load.buffer != r->from)
        return e;
    return expr_load_like(r->c, e, r->to, rebase_index(r, e->u.load.index));
}

static Stmt *rebase_store(Rewriter *rewriter, Stmt *s)
{
    Rebase *r = rewriter->user;
    if (s->kind != ST_STORE || s->u.store.buffer != r->from)
        return s;
    return stmt_store_like(r->c, s, r->to, rebase_index(r, s->u.store.index), s->u.store.value);
}

/* Assumes the ranges of the loops inside a block. */
static void enter_loops(Facts *f, Context *c, const Stmt *body)
{
    for (Cursor at = cursor_stmts(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR)
            facts_enter(f, at.stmt);
}

static bool leads_to_access(const Rebase *r, const Stmt *s)
{
    for (int i = 0; i < r->ways.n; i++)
        if (r->ways.items[i] == s)
            return true;
    return false;
}

static void find_ways(Rebase *r, Stmt *root)
{
    for (Cursor at = cursor_outer(r->c, root); cursor_next(&at);) {
        StmtList way = {0};
        if (at.stmt->kind != ST_BLOCK || !stmt_accesses(r->c, at.stmt, r->from, ACCESS_ANY))
            continue;
        cursor_way(&at, &way);
        for (int i = 0; i < way.n; i++)
            if (!leads_to_access(r, way.items[i]))
                VEC_PUSH(r->c->arena, &r->ways, way.items[i]);
    }
}

static void assume_domains(Rebase *r, const BlockStmt *block)
{
    ExprList domains = {0}, *found;
    bool known = r->found.block < r->found.domains.n;
    if (!known) {
        block_add_domains(r->c, block, &domains);
        VEC_PUSH(r->c->arena, &r->found.domains, domains);
    }
    found = &r->found.domains.items[r->found.block++];
    for (int i = 0; i < found->n; i++) {
        if (!known)
            found->items[i] = facts_canonical(r->facts, found->items[i]);
        facts_assume_canonical(r->facts, found->items[i]);
    }
}

static Stmt *rebase(void *user, Stmt *s)
{
    Rebase *r = user;
    FactsMark mark = facts_mark(r->facts);
    Stmt *done;
    if (!leads_to_access(r, s))
        return s;
    if (s->kind == ST_BLOCK) {
        BlockStmt block = s->u.block;
        Rewriter rewriter = {.ctx = r->c, .user = r, .expr = rebase_load, .stmt = rebase_store};
        assume_domains(r, &s->u.block);
        enter_loops(r->facts, r->c, block.body);
        r->block = &s->u.block;
        block.body = rewrite_stmt(&rewriter, block.body);
        r->block = NULL;
        done = block.body == s->u.block.body ? s : stmt_stamp(stmt_block(r->c, &block, s->span), s);
    } else {
        int bound = r->bound.n;
        if (s->kind == ST_FOR || (s->kind == ST_IF && !s->u.cond.otherwise))
            facts_enter(r->facts, s);
        if (stmt_is_bound(s) && r->by_axes && !is_shared_along(r->from->scope, s))
            enter_bound(r, &s->u.loop);
        done = stmt_map_children(r->c, s, rebase, r);
        r->bound.n = bound;
    }
    facts_reset(r->facts, mark);
    return done;
}

static Stmt *rebase_all(Rebase *r, Stmt *root)
{
    r->found.block = r->found.access = 0;
    return rebase(r, root);
}

/* Registers: makes the shape as small as the subscripts allow. */
static void find_spreads(Rebase *r, Stmt *at, Expr **shape)
{
    int rank = r->from->rank;
    bool any = false;
    int64_t *last = ARENA_ARRAY(r->c->arena, int64_t, rank + 1);
    r->searches = ARENA_ARRAY(r->c->arena, SpreadSearch, rank + 1);
    for (int d = 0; d < rank; d++) {
        r->spread[d] = (Spread){1, 1};
        r->searches[d] = (SpreadSearch){0};
        bool wanted = r->from->scope == SCOPE_LOCAL && r->fold[d] == 0;
        last[d] = wanted && expr_is_const(shape[d], &last[d]) ? last[d] - 1 : 0;
        any = any || last[d] > 0;
    }
    if (!any)
        return;
    r->last = last;
    for (r->step = REBASE_SUGGEST; r->step < REBASE; r->step++) {
        for (int d = 0; d < rank && r->step == REBASE_MEASURE; d++)
            spread_close(&r->searches[d]);
        rebase_all(r, at);
    }
    for (int d = 0; d < rank; d++) {
        r->spread[d] = spread_choose(&r->searches[d], last[d]);
        if (last[d] > 0)
            shape[d] = expr_index(r->c, spread_extent(r->spread[d], last[d]));
    }
}

/* The launch has lanes that share the memory of a warp (count_lanes in warp.c). */
static bool has_lanes(Compact *k, const Place *place)
{
    int first = place->root < place->path.n ? place->root : place->path.n - 1;
    for (Cursor at = cursor_outer(k->c, place->path.items[first]); cursor_next(&at);) {
        const ForStmt *loop = &at.stmt->u.loop;
        int64_t extent;
        if (at.stmt->kind == ST_FOR && loop->kind == LOOP_BIND && loop->axis == AXIS_THREAD_X &&
            !(loop_const_extent(loop, &extent) && extent == 1))
            return true;
    }
    return false;
}

/* What says where the box lies. In memory that lanes share it begins with what is written, so that
 * they find their own elements there whatever is read beside it under a condition: a shuffle needs
 * a proof that the element exists. */
static AccessMode mode_of_box(Compact *k, const Place *place, const Buffer *b)
{
    const Stmt *at = path_end(&place->path);
    bool written = b->scope == SCOPE_WARP && stmt_accesses(k->c, at, b, ACCESS_WRITE);
    return written && has_lanes(k, place) ? ACCESS_WRITE : ACCESS_ANY;
}

/* The box within the buffer. That of a warp's memory stays whole: where it begins says which lane
 * has which elements. A thread's registers keep a box of the whole length where it begins at
 * a place of the thread's: subscripts relative to that may have gaps that spread.c can close. */
static void clip_box(Context *c, Facts *f, const Buffer *b, Interval *box)
{
    for (int d = 0; d < b->rank && b->scope != SCOPE_WARP; d++) {
        int64_t min;
        bool own = b->scope == SCOPE_LOCAL && !expr_is_const(box[d].min, &min) &&
                   expr_equal(simplify(f, box[d].extent), b->shape[d]);
        if (!own)
            box[d] = interval_clip(f, box[d], b->shape[d]);
    }
    if (b->scope == SCOPE_CLUSTER && b->rank > 0) /* ranks keep their numbers */
        box[0] = (Interval){expr_index(c, 0), b->shape[0]};
}

/* The hardware reads whole boxes of the buffer, also where they end behind a tensor. */
static bool is_stored_in_bulk(Context *c, const Stmt *root, const Buffer *b)
{
    StmtList blocks = stmts_of_kind(c, root, ST_BLOCK);
    for (int i = 0; i < blocks.n; i++)
        if (block_stores_bulk(&blocks.items[i]->u.block) &&
            stmt_accesses(c, blocks.items[i], b, ACCESS_READ))
            return true;
    return false;
}

/* ---- one buffer ------------------------------------------------------------------------------ */

/* Each execution of the place reads only what it has written. */
static bool reads_its_own(Compact *k, const Place *place, const Buffer *b)
{
    int n_loops;
    if (place->root >= place->path.n)
        return false;
    ArenaMark mark = arena_mark(k->c->arena);
    Threads *t = launch_of(k, place, &n_loops);
    bool own = threads_reads_covered(t, b, n_loops);
    arena_reset(k->c->arena, mark);
    return own;
}

/* A producer fills the circular buffer for later iterations of the loop while consumers use it, or
 * bulk stores of earlier ones read it while it is filled. */
static bool overlap(const Stmt *loop, const Buffer *b)
{
    return is_folded(b) &&
           (annotation_find(loop->u.loop.annotations, ANNOTATION_SPECIALIZE_WARPS) ||
            annotation_find(loop->u.loop.annotations, ANNOTATION_OVERLAP_STORES));
}

/* The innermost place around the accesses whose loops outside carry nothing from one iteration to
 * the next. */
static bool choose_place(Compact *k, Buffer *b, Stmt *ancestor, Place *place)
{
    if (!find_place(k, ancestor, place)) {
        refuse_launches(k, b);
        return false;
    }
    for (;;) {
        int loop = place->path.n - 2;
        while (loop >= 0 && (place->path.items[loop]->kind != ST_FOR ||
                             place->path.items[loop]->u.loop.kind == LOOP_BIND))
            loop--;
        if (loop < 0 || (!overlap(place->path.items[loop], b) && reads_its_own(k, place, b)))
            return true;
        if (loop < place->root) {
            refuse_carried(k, b, place->path.items[loop]);
            return false;
        }
        place->path.n = loop + 1;
    }
}

/* Folded axes that are longer than their circle get it as their box: extents the fold, subscripts
 * from 0. */
static bool fold_box(Compact *k, Facts *f, const Place *place, const Rebase *r)
{
    const Buffer *b = r->from;
    Interval *box = r->box;
    for (int d = 0; d < b->rank; d++) {
        Conflict why;
        int n_loops;
        if (fold_of(b, d) == 0 ||
            prove_compare(f, box[d].extent, EX_LE, expr_index(k->c, fold_of(b, d))))
            continue;
        r->fold[d] = fold_of(b, d);
        ArenaMark mark = arena_mark(k->c->arena);
        Threads *t = launch_of(k, place, &n_loops);
        if (!threads_fold_kept(t, (FoldedAxis){b, d, r->fold[d]}, n_loops, &why))
            return refuse_fold(k, b, d, &why);
        arena_reset(k->c->arena, mark);
        box[d] = (Interval){expr_index(k->c, 0), expr_index(k->c, r->fold[d])};
    }
    return true;
}

/* A thread's box may be longer than the buffer: it begins in front of it, or ends behind it. */
static bool leaves_buffer(Facts *f, const Buffer *b, const Interval *box)
{
    bool any = false;
    for (int d = 0; d < b->rank; d++) {
        int64_t extent, size;
        if (!expr_is_const(simplify(f, box[d].extent), &extent) ||
            !expr_is_const(b->shape[d], &size))
            return false;
        any |= extent > size;
    }
    return any && b->scope == SCOPE_LOCAL && !is_folded(b);
}

static int64_t elements_of(const Buffer *b, Expr *const *shape)
{
    int64_t n = 1, extent;
    for (int d = 0; d < b->rank; d++)
        n = expr_is_const(shape[d], &extent) && checked_mul(n, extent, &n) ? n : INT64_MAX;
    return n;
}

/* The box, if fewer of its elements are in use than of the one within the buffer, and its shape. */
static Expr **smaller(Rebase *r, Stmt *at, Interval *box, Expr **shape)
{
    Rebase other = *r;
    Expr **whole = ARENA_ARRAY(r->c->arena, Expr *, r->from->rank + 1);
    other.box = box;
    other.found = (Found){0}; /* offsets are relative to the box */
    other.spread = ARENA_ARRAY(r->c->arena, Spread, r->from->rank + 1);
    for (int d = 0; d < r->from->rank; d++)
        whole[d] = simplify(r->facts, box[d].extent);
    find_spreads(&other, at, whole);
    if (elements_of(r->from, whole) >= elements_of(r->from, shape))
        return shape;
    *r = other;
    return whole;
}

static Rebase rebase_new(Context *c, const Buffer *from)
{
    return (Rebase){.c = c,
                    .from = from,
                    .to = buffer_copy(c, from),
                    .box = ARENA_ARRAY(c->arena, Interval, from->rank + 1),
                    .fold = ARENA_ARRAY(c->arena, int64_t, from->rank + 1),
                    .spread = ARENA_ARRAY(c->arena, Spread, from->rank + 1)};
}

/* What holds at the place for all that share memory of the scope. */
static Facts *facts_at(const Compact *k, const Rebase *r, const Place *place, Scope scope)
{
    Facts *f = facts_of_kernel(k->c, k->kernel);
    enter_path(f, place, scope);
    if (r->by_axes)
        axis_facts(f, k->c, path_end(&place->path));
    return f;
}

/* The box that is in use below the place, clipped to the buffer, and `*whole` of it. False where
 * none is known. */
static bool find_box(Compact *k, Facts *f, const Place *place, const Rebase *r, Interval **whole)
{
    Context *c = k->c;
    const Buffer *b = r->from;
    Stmt *at = path_end(&place->path);
    Stmt *measured = r->by_axes ? bound_to_axes(c, at, b->scope) : at;
    measured = under_shared_loops(k, place, b->scope, measured);
    if (!region_reached(f, measured, b, mode_of_box(k, place, b), r->box))
        return false;
    *whole = ARENA_COPY(c->arena, Interval, r->box, b->rank, 1);
    if (!is_stored_in_bulk(c, at, b))
        clip_box(c, f, b, r->box);
    return true;
}

/* Declares the buffer at the lowest place around all accesses, as large as the part in use. */
static void compact_buffer(Compact *k, Stmt *temp)
{
    Context *c = k->c;
    Buffer *b = temp->u.temp;
    Place place = {0};
    k->body = stmt_replace(c, k->body, temp, NULL);
    if (access_list(c, k->body, b, ACCESS_ANY).n == 0 ||
        !choose_place(k, b, lowest_common_ancestor(c, k->body, b), &place))
        return;
    Stmt *at = path_end(&place.path);
    Rebase r = rebase_new(c, b);
    r.by_axes = !scope_is_shared(b->scope) || has_own_parts(c, at, b->scope);
    Facts *f = facts_at(k, &r, &place, b->scope);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, b->rank + 1);
    Interval *whole;
    if (!find_box(k, f, &place, &r, &whole) || !fold_box(k, f, &place, &r) ||
        !literal_extents(k, f, b, r.box, shape))
        return;
    r.facts = facts_at(k, &r, &place, SCOPE_LOCAL);
    find_ways(&r, at);
    find_spreads(&r, at, shape);
    if (leaves_buffer(f, b, whole))
        shape = smaller(&r, at, whole, shape);
    r.to->shape = shape;
    if (is_folded(b))
        r.to->layout = unfolded_layout(c, b);
    r.step = REBASE;
    Stmt *done = rebase_all(&r, at);
    done = stmt_then(c, stmt_stamp(stmt_temp(c, r.to, temp->span), temp), done);
    k->body = stmt_replace(c, k->body, at, done);
}

/* Of known sizes, half or more is not in use: such as partial results of the last tiles of a
 * matrix. Of others, axes have a known number of elements in each iteration of the host's loops
 * around: those of a step of a program. */
static bool is_worth_shrinking(const Buffer *b, Expr *const *shape)
{
    int64_t extent;
    bool shrinks = false;
    if (elements_of(b, b->shape) != INT64_MAX)
        return elements_of(b, shape) <= elements_of(b, b->shape) / 2;
    for (int d = 0; d < b->rank; d++) {
        bool same = expr_equal(shape[d], b->shape[d]);
        if (!same && !expr_is_const(shape[d], &extent))
            return false;
        shrinks |= !same;
    }
    return shrinks;
}

/* Where on the path to its declaration a temp in global memory has elements for: what stands around
 * it, but all of a loop whose iterations run at the same time, as those have one buffer. */
static int place_of_global(const StmtPath *path)
{
    int place = 0;
    while (place + 2 < path->n &&
           (path->items[place]->kind != ST_FOR || loop_has_order(&path->items[place]->u.loop)))
        place++;
    return place;
}

/* A temp of the host's as large as the part in use where it is declared. */
static void shrink_global(Compact *k, Stmt *temp)
{
    Context *c = k->c;
    Buffer *b = temp->u.temp;
    StmtPath path = stmt_path_to(c, k->body, temp);
    int place = place_of_global(&path);
    Stmt *at = path.items[place];
    Facts *f = facts_of_kernel(c, k->kernel);
    for (int i = 0; i < place; i++)
        facts_enter_item(f, &path, i);
    Rebase r = rebase_new(c, b);
    r.facts = f;
    r.step = REBASE;
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, b->rank + 1);
    if (!region_touched(f, at, b, ACCESS_ANY, r.box))
        return;
    for (int d = 0; d < b->rank; d++) {
        shape[d] = shape_extent(c, simplify(f, r.box[d].extent));
        r.spread[d] = (Spread){1, 1};
    }
    if (!is_worth_shrinking(b, shape))
        return;
    r.to->shape = shape;
    find_ways(&r, at);
    Stmt *done = rebase_all(&r, at);
    done = stmt_replace(c, done, temp, stmt_stamp(stmt_temp(c, r.to, temp->span), temp));
    k->body = stmt_replace(c, k->body, at, done);
}

Kernel *pass_compact_buffers(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    StmtList temps = stmts_of_kind(c, kernel->body, ST_TEMP);
    Compact k = {.c = c, .kernel = kernel, .body = kernel->body};
    for (int i = temps.n - 1; i >= 0; i--) /* each goes in front, so the first ends up first */
        if (!scope_outlives_launch(temps.items[i]->u.temp->scope))
            compact_buffer(&k, temps.items[i]);
        else if (temps.items[i]->u.temp->scope == SCOPE_GLOBAL)
            shrink_global(&k, temps.items[i]);
    return k.failed ? NULL : kernel_with_body(c, kernel, k.body);
}
