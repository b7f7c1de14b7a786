/* region.c - Computes the box of a buffer that a piece of program accesses.
 *
 *   for ty in 0..32, d in -1..2
 *       ... x[by * 32 + ty + d] ...        box of x:  by * 32 - 1, 34 elements
 *
 * Every subscript is put in terms of loops (iterators and lets replaced by what they stand for),
 * then bounded over the variables defined inside.  A box holds all that is touched where every
 * block instance exists; it may reach outside the buffer where domains cut instances off,
 * because its size has to be a literal for a buffer to be allocated, and the domains keep the
 * accesses inside. */
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/affine.h"

typedef struct {
    Facts *f;
    FactsMark outside; /* what holds around the statement */
    const Buffer *buffer;
    AccessMode mode;
    VEC(const Var *) over;
    VEC(Subst) map;   /* iterators and lets, in terms of loops */
    int n_conditions; /* of blocks around, among the facts */
    Interval *box;
    bool *whole; /* [rank]: nothing better than the whole dimension is known */
    bool any;
} Walk;

/* A literal in the place of an extent that is at most that. */
static Expr *extent_literal(Facts *f, Expr *extent)
{
    int64_t min, max;
    if (extent->kind == EX_INT || !bounds_const(f, extent, &min, &max))
        return extent;
    return expr_index(f->c, max > 0 ? max : 1);
}

static Interval interval_between(Facts *f, Expr *min, Expr *end)
{
    Expr *extent = simplify(f, index_sub(f->c, end, min));
    return (Interval){min, extent_literal(f, extent)};
}

/* The smallest interval that holds both. */
static Interval interval_hull(Facts *f, Interval a, Interval b)
{
    Context *c = f->c;
    Expr *min = simplify(f, index_min(c, a.min, b.min));
    Expr *end =
        simplify(f, index_max(c, index_add(c, a.min, a.extent), index_add(c, b.min, b.extent)));
    return interval_between(f, min, end);
}

static Expr *in_loops(Walk *w, Expr *e)
{
    return w->map.n > 0 ? expr_subst(w->f->c, e, w->map.items, w->map.n) : e;
}

static bool proved_at_most(Facts *f, Expr *e, int64_t value)
{
    return prove_compare(f, e, EX_LE, expr_index(f->c, value));
}

/* Conditions know more than the ranges of loops where a loop runs further than its block:
 *   min + x / 33 for x in 768, where x < 528 */
static void narrow(Walk *w, Expr *e, Interval *box)
{
    int64_t extent, d = 1;
    Facts *f = w->f;
    if (w->n_conditions == 0 || !expr_is_const(box->extent, &extent))
        return;
    Expr *above = simplify(f, index_sub(f->c, e, box->min));
    if (above->kind == EX_DIV && expr_is_const(above->u.arg[1], &d) && d > 0)
        above = above->u.arg[0];
    int64_t low = 0, high = extent - 1; /* above / d is at most high */
    while (low < high) {
        int64_t middle = low + (high - low) / 2, most;
        bool below = checked_mul(middle, d, &most) && checked_add(most, d - 1, &most) &&
                     proved_at_most(f, above, most);
        low = below ? low : middle + 1;
        high = below ? middle : high;
    }
    box->extent = expr_index(f->c, high + 1);
}

/* The bounds of loops hold none. */
static bool has_cast(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_CAST)
            return true;
    return false;
}

bool interval_over(Facts *f, Expr *e, const Var *const *over, int n, Interval *out)
{
    Expr *ends[2];
    if (expr_has_load(e) || !range_over(f, e, over, n, ends) || has_cast(f->c, ends[0]) ||
        has_cast(f->c, ends[1]))
        return false;
    *out = interval_between(f, ends[0], index_add(f->c, ends[1], expr_index(f->c, 1)));
    return true;
}

static bool subscript_interval(Walk *w, Expr *e, Interval *out)
{
    e = simplify(w->f, in_loops(w, e));
    if (!interval_over(w->f, e, w->over.items, w->over.n, out))
        return false;
    narrow(w, e, out);
    return true;
}

/* That inner loops run cannot be assumed for the hull: other accesses may happen when they do
 * not. */
static void touch(Walk *w, const Access *access)
{
    Facts outside = facts_outside(w->f, w->outside);
    for (int d = 0; d < w->buffer->rank; d++) {
        Interval one;
        if (w->whole[d])
            continue;
        if (!subscript_interval(w, access->index[d], &one))
            w->whole[d] = true;
        else
            w->box[d] = w->any ? interval_hull(&outside, w->box[d], one) : one;
    }
    w->any = true;
}

/* ---- walking down to the accesses ------------------------------------------------------------ */

static void touch_all(Walk *w, const AccessList *list)
{
    for (int k = 0; k < list->n; k++)
        touch(w, &list->items[k]);
}

/* Adds the accesses of a statement that contains no statements. */
static void walk_leaf(Walk *w, Stmt *s)
{
    AccessList list = access_list(w->f->c, s, w->buffer, w->mode);
    touch_all(w, &list);
}

static void walk_expr(Walk *w, Expr *e)
{
    if (!(w->mode & ACCESS_READ) || !expr_has_load(e))
        return;
    AccessList list = access_list_expr(w->f->c, e, w->buffer);
    touch_all(w, &list);
}

static void walk(Walk *w, Stmt *s);

static void walk_for(Walk *w, Stmt *s)
{
    ForStmt *loop = &s->u.loop;
    walk_expr(w, loop->lo);
    walk_expr(w, loop->hi);
    FactsMark mark = facts_mark(w->f);
    Stmt entered = *s;
    entered.u.loop.lo = in_loops(w, loop->lo);
    entered.u.loop.hi = in_loops(w, loop->hi);
    bool unbounded = expr_has_load(entered.u.loop.lo) || expr_has_load(entered.u.loop.hi);
    if (!unbounded)
        facts_enter(w->f, &entered);
    int n_over = w->over.n;
    VEC_PUSH(w->f->c->arena, &w->over, loop->var);
    walk(w, loop->body);
    w->over.n = n_over;
    facts_reset(w->f, mark);
}

static void walk_block(Walk *w, const BlockStmt *block)
{
    int n_map = w->map.n;
    if (block->predicate)
        walk_expr(w, block->predicate);
    for (int k = 0; k < block->n_iters; k++)
        walk_expr(w, block->iters[k].binding);
    for (int k = 0; k < block->n_iters; k++) {
        Subst one = {block->iters[k].var, in_loops(w, block->iters[k].binding)};
        VEC_PUSH(w->f->c->arena, &w->map, one);
    }
    if (block->init)
        walk(w, block->init);
    bool known = block->predicate && !expr_has_load(block->predicate);
    FactsMark mark = facts_mark(w->f);
    if (known)
        facts_assume(w->f, in_loops(w, block->predicate));
    w->n_conditions += known;
    walk(w, block->body);
    w->n_conditions -= known;
    facts_reset(w->f, mark);
    w->map.n = n_map;
}

static void walk_seq(Walk *w, Stmt *s)
{
    int n_map = w->map.n;
    for (int k = 0; k < s->u.seq.n; k++) {
        Stmt *item = s->u.seq.items[k];
        walk(w, item);
        if (item->kind == ST_LET) {
            Subst one = {item->u.let.var, in_loops(w, item->u.let.value)};
            VEC_PUSH(w->f->c->arena, &w->map, one);
        }
    }
    w->map.n = n_map;
}

static void walk(Walk *w, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: walk_seq(w, s); break;
    case ST_FOR: walk_for(w, s); break;
    case ST_IF:
        walk_expr(w, s->u.cond.cond);
        walk(w, s->u.cond.then);
        if (s->u.cond.otherwise)
            walk(w, s->u.cond.otherwise);
        break;
    case ST_BLOCK: walk_block(w, &s->u.block); break;
    default: walk_leaf(w, s);
    }
}

/* ---- the box --------------------------------------------------------------------------------- */

Interval interval_clip(Facts *f, Interval box, Expr *shape)
{
    Context *c = f->c;
    Interval whole = {expr_index(c, 0), shape};
    int64_t min, extent, size, end;
    if (prove_compare(f, box.extent, EX_GE, shape))
        return whole;
    if (!expr_is_const(box.min, &min) || !expr_is_const(box.extent, &extent) ||
        !expr_is_const(shape, &size) || !checked_add(min, extent, &end))
        return box;
    int64_t low = min > 0 ? min : 0, high = end < size ? end : size;
    if (high <= low)
        return box;
    return (Interval){expr_index(c, low), expr_index(c, high - low)};
}

bool region_reached(Facts *facts, Stmt *s, const Buffer *buffer, AccessMode mode, Interval *box)
{
    Walk w = {.f = facts, .buffer = buffer, .mode = mode, .box = box};
    w.outside = facts_mark(facts);
    w.whole = ARENA_ARRAY(facts->c->arena, bool, buffer->rank > 0 ? buffer->rank : 1);
    walk(&w, s);
    for (int d = 0; w.any && d < buffer->rank; d++)
        if (w.whole[d])
            box[d] = (Interval){expr_index(facts->c, 0), buffer->shape[d]};
    return w.any;
}

bool region_touched(Facts *facts, Stmt *s, const Buffer *buffer, AccessMode mode, Interval *box)
{
    if (!region_reached(facts, s, buffer, mode, box))
        return false;
    for (int d = 0; d < buffer->rank; d++)
        box[d] = interval_clip(facts, box[d], buffer->shape[d]);
    return true;
}
