/* tail.c - Implements split(i, factors, tail = pad): extends a loop to whole tiles, without guards.
 *
 *   temp t: f32[100];          temp t: f32[128];
 *   for i in 100         =>    for io in 4, ii in 32
 *       t[i] = 2;                  block t(i in 128 = io * 32 + ii) { t[i] = 2; }
 *
 * The iterations beyond the end run, and must not be seen: they only write elements that a temp
 * gets for them, behind its end, where nothing looks that is not beyond the end as well; and what
 * they read is there. */
#include "passes/schedule/loops/tail.h"

typedef struct {
    Schedule *s;
    const ForStmt *loop;
    Expr *end; /* what the loop and its iterators get */
    Span span;
    TailBuffers grown;
    int n_made; /* of those, by blocks before the one at hand */
    bool failed;
} Tail;

static void refuse(Tail *t, const Stmt *block, const char *why)
{
    sched_refuse(t->s, E0811, t->span,
                 "iterations of loop '%s' past its end would have an effect: %s; use tail = guard "
                 "or peel, or pad its inputs first (pad_einsum)",
                 t->loop->var->name, why);
    sched_note_now(t->s, block);
    t->failed = true;
}

/* The iterator that is the loop, over all of it; -1 where the loop is in the block in any other
 * way. */
static int iter_of_loop(const Tail *t, const BlockStmt *block)
{
    int found = -1;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!expr_uses_var(iter->binding, t->loop->var))
            continue;
        if (found >= 0 || iter->binding->kind != EX_VAR || iter->kind != ITER_SPATIAL ||
            !expr_equal(iter->lo, t->loop->lo) || !expr_equal(iter->hi, t->loop->hi))
            return -1;
        found = i;
    }
    for (int i = found + 1; i < block->n_iters && found >= 0; i++)
        if (iter_uses_var(&block->iters[i], block->iters[found].var))
            return -1;
    return block->predicate && expr_uses_var(block->predicate, t->loop->var) ? -1 : found;
}

static bool is_grown(const Tail *t, const Buffer *b, int axis)
{
    for (int i = 0; i < t->grown.n; i++)
        if (t->grown.items[i].from->id == b->id && t->grown.items[i].axis == axis)
            return true;
    return false;
}

/* A write at the iterator alone, on an axis of a temp that ends where the loop does: the axis
 * grows. */
static void check_write(Tail *t, const Stmt *block, const Access *a, const Var *iter)
{
    Context *c = t->s->ctx;
    for (int axis = 0; axis < a->buffer->rank && a->buffer->role == ROLE_TEMP && !a->buffer->layout;
         axis++) {
        if (!expr_is_var(a->index[axis], iter) || !expr_equal(a->buffer->shape[axis], t->loop->hi))
            continue;
        if (!is_grown(t, a->buffer, axis))
            VEC_PUSH(c->arena, &t->grown,
                     ((TailBuffer){sched_buffer(t->s, a->buffer->id), axis, NULL}));
        return;
    }
    refuse(
        t, block,
        a->buffer->role != ROLE_TEMP
            ? arena_printf(c->arena, "they would write '%s', which is not a temp", a->buffer->name)
            : arena_printf(c->arena,
                           "they would write elements of temp '%s' that others may read: no axis "
                           "has '%s' alone as subscript and the same end",
                           a->buffer->name, iter->name));
}

/* A block of the loop before this one has written the buffer. */
static bool is_made(const Tail *t, const Buffer *b)
{
    for (int i = 0; i < t->n_made; i++)
        if (t->grown.items[i].from->id == b->id)
            return true;
    return false;
}

/* What the iterations beyond the end read is there. An update reads what it writes, and beyond the
 * end only an init of the block's own has written that. */
static void check_read(Tail *t, const Stmt *block, const Access *a, const Var *iter)
{
    Context *c = t->s->ctx;
    if (a->writes && !block->u.block.init) {
        refuse(t, block,
               arena_printf(c->arena, "they would update uninitialized elements of '%s'",
                            a->buffer->name));
        return;
    }
    for (int axis = 0; axis < a->buffer->rank && a->awaits; axis++)
        if (expr_uses_var(a->index[axis], iter)) {
            refuse(t, block,
                   arena_printf(c->arena, "they would await elements of '%s' that nobody stores",
                                a->buffer->name));
            return;
        }
    for (int axis = 0; axis < a->buffer->rank && !a->writes; axis++)
        if (expr_uses_var(a->index[axis], iter) && is_grown(t, a->buffer, axis) &&
            !is_made(t, a->buffer)) {
            refuse(t, block,
                   arena_printf(c->arena, "they would read uninitialized elements of '%s'",
                                a->buffer->name));
            return;
        }
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        if (!expr_uses_var(a->index[axis], iter) || is_grown(t, a->buffer, axis))
            continue;
        Expr *inside = expr_binary(c, EX_GE, a->buffer->shape[axis], t->end, span_none());
        if (a->index[axis]->kind == EX_VAR && prove(facts_of_kernel(c, t->s->kernel), inside))
            continue;
        refuse(t, block,
               arena_printf(
                   c->arena,
                   "they would read %s[.. %s ..], past the end of axis %d, which has %s elements",
                   a->buffer->name, expr_text(t->s->ctx, a->index[axis]), axis,
                   expr_text(t->s->ctx, a->buffer->shape[axis])));
        return;
    }
}

static Stmt *padded_block(Rewriter *r, Stmt *stmt)
{
    Tail *t = r->user;
    if (stmt->kind != ST_BLOCK || t->failed)
        return stmt;
    Context *c = r->ctx;
    BlockStmt block = stmt->u.block;
    int at = iter_of_loop(t, &block);
    if (at < 0) {
        refuse(t, stmt,
               arena_printf(c->arena, "the loop is not a complete spatial iterator of block '%s'",
                            block.name));
        return stmt;
    }
    t->n_made = t->grown.n;
    AccessList all = access_list(c, stmt, NULL, ACCESS_ANY);
    for (int i = 0; i < all.n && !t->failed; i++)
        if (all.items[i].writes)
            check_write(t, stmt, &all.items[i], block.iters[at].var);
    for (int i = 0; i < all.n && !t->failed; i++)
        if (all.items[i].reads)
            check_read(t, stmt, &all.items[i], block.iters[at].var);
    block_own_iters(c, &block, 0)[at].hi = t->end;
    return stmt_block(c, &block, stmt->span);
}

/* A temp stands in the loop, or a condition or range that changes with its variable. */
static bool body_depends_on(Context *c, const ForStmt *loop)
{
    for (Cursor at = cursor_outer(c, loop->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        if (s->kind == ST_TEMP || (s->kind != ST_BLOCK && stmt_head_uses_var(s, loop->var)))
            return true;
    }
    return false;
}

Stmt *tail_padded(Schedule *s, Stmt *loop, Expr *end, Span span, TailBuffers *grown)
{
    Tail t = {.s = s, .loop = &loop->u.loop, .end = end, .span = span};
    bool plain = loop_counts_from_zero(&loop->u.loop) && !body_depends_on(s->ctx, &loop->u.loop);
    if (!plain) {
        sched_refuse(s, E0811, span,
                     "loop '%s' cannot be padded: it must run from 0 with step 1, and no temp, "
                     "condition or range inside may depend on it; use tail = guard or peel",
                     stmt_label(loop));
        return NULL;
    }
    Rewriter r = {.ctx = s->ctx, .user = &t, .stmt = padded_block};
    ForStmt padded = loop->u.loop;
    padded.body = rewrite_stmt(&r, loop->u.loop.body);
    padded.hi = end;
    *grown = t.grown;
    return t.failed ? NULL : stmt_for(s->ctx, &padded, loop->span);
}

Stmt *tail_grow(Schedule *s, Stmt *body, const TailBuffers *grown, Expr *end)
{
    Context *c = s->ctx;
    for (int i = 0; i < grown->n; i++) {
        const TailBuffer *g = &grown->items[i];
        const Buffer *now = g->from;
        for (int before = 0; before < i; before++)
            now = grown->items[before].from->id == g->from->id ? grown->items[before].to : now;
        Buffer *to = buffer_copy(c, now);
        Expr **shape = ARENA_ARRAY(c->arena, Expr *, to->rank);
        for (int axis = 0; axis < to->rank; axis++)
            shape[axis] = axis == g->axis ? shape_extent(c, end) : now->shape[axis];
        to->shape = shape;
        grown->items[i].to = to;
        body = stmt_replace_buffer(c, body, now, to);
    }
    return body;
}
