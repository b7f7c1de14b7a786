/* einsum.c - Builds the padded buffers of an einsum: copies, and temps that grow (einsum.h). */
#include "passes/schedule/blocks/einsum.h"

#include "passes/schedule/copies/filled.h"
#include "passes/schedule/copies/stage.h"

/* ---- its iterators and nest ------------------------------------------------------------------ */

int einsum_iter(const BlockStmt *block, const Expr *e)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(e, block->iters[i].var))
            return i;
    return -1;
}

bool einsum_are_parts(Expr *const *a, Expr *const *b, int rank)
{
    int64_t one, other;
    for (int axis = 0; axis < rank; axis++)
        if (!expr_equal(a[axis], b[axis]) &&
            (!expr_is_const(a[axis], &one) || !expr_is_const(b[axis], &other)))
            return false;
    return true;
}

bool einsum_is_axis(Context *c, const Expr *extent, const BlockIter *iter)
{
    return expr_equal(extent, iter->hi) ||
           expr_equal(extent, index_max(c, iter->hi, expr_index(c, 0)));
}

/* The loop goes through the iterator's values. */
static bool counts_iter(const ForStmt *loop, const BlockIter *iter)
{
    return loop->step == 1 && expr_is_var(iter->binding, loop->var) &&
           expr_equal(loop->lo, iter->lo) && expr_equal(loop->hi, iter->hi);
}

bool einsum_is_nest(const StmtPath *path, const BlockStmt *block, int *top)
{
    int n = 0;
    for (*top = path->n - 1;
         *top > 0 && path->items[*top - 1]->kind == ST_FOR && n < block->n_iters; n++)
        --*top;
    bool plain = n == block->n_iters && !block->predicate;
    for (int i = 0; i < n && plain; i++) {
        int loops = 0;
        for (int k = *top; k + 1 < path->n; k++)
            loops += counts_iter(&path->items[k]->u.loop, &block->iters[i]);
        plain = loops == 1;
    }
    return plain;
}

bool einsum_is_from_zero(const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (!expr_is(block->iters[i].lo, 0))
            return false;
    return true;
}

bool einsum_loads_exist(Context *c, Facts *facts, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && !load_exists(facts, at.expr))
            return false;
    return true;
}

bool einsum_divides_integers(const Expr *e)
{
    int64_t known;
    return (e->kind == EX_DIV || e->kind == EX_MOD) && !type_is_float(e->type) &&
           !expr_is_const(e->u.arg[1], &known);
}

/* ---- copies ---------------------------------------------------------------------------------- */

Expr **einsum_shape(Einsum *e, const Access *a)
{
    Expr **shape = ARENA_ARRAY(e->s->ctx->arena, Expr *, a->buffer->rank + 1);
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = einsum_iter(e->block, a->index[axis]);
        bool padded = iter >= 0 && e->padded[iter];
        shape[axis] = padded ? shape_extent(e->s->ctx, e->padded[iter]) : a->buffer->shape[axis];
    }
    return shape;
}

Expr **einsum_shifts(Einsum *e, const Access *a)
{
    Expr **shift = ARENA_ARRAY(e->s->ctx->arena, Expr *, a->buffer->rank + 1);
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = einsum_iter(e->block, a->index[axis]);
        shift[axis] = iter >= 0 ? e->shift[iter] : NULL;
    }
    return shift;
}

/* `cond` and that the subscript of a padded axis is no zero's. */
static Expr *not_padding(Context *c, Expr *cond, Expr *index, Expr *shift, Expr *extent)
{
    return cond_and(c, cond,
                    shift ? expr_binary(c, EX_GE, index, shift, span_none())
                          : expr_binary(c, EX_LT, index, extent, span_none()));
}

Expr *einsum_fill(const Einsum *e, const Buffer *operand)
{
    Context *c = e->s->ctx;
    DType type = operand->type;
    for (int i = 0; i < e->fills.n; i++)
        if (e->fills.items[i].operand->id == operand->id)
            return e->fills.items[i].value;
    return type_is_float(type) ? expr_float(c, type, 0, span_none())
                               : expr_int(c, type, 0, span_none());
}

/* The value where the condition holds, and elsewhere the padding. */
static Expr *or_fill(Context *c, Expr *inside, Expr *value, Expr *fill, Span span)
{
    Expr *where;
    const Expr *copied = expr_copied(value, &where);
    if (copied && where && expr_equal(value->u.arg[2], fill)) /* so it is elsewhere already */
        return expr_select(c, cond_and(c, inside, where), value->u.arg[1], fill, span);
    return expr_select(c, inside, value, fill, span);
}

Stmt *einsum_copy(Einsum *e, Expr *const *shift, Buffer *to, Buffer *from, Name name)
{
    Context *c = e->s->ctx;
    Expr **index, **at = ARENA_ARRAY(c->arena, Expr *, to->rank + 1), *inside = NULL;
    StageNest nest = stage_over(e->s, to, NULL, e->call->span, &index);
    for (int axis = 0; axis < to->rank; axis++) {
        at[axis] = shift && shift[axis] ? index_sub(c, index[axis], shift[axis]) : index[axis];
        if (shift && !expr_equal(to->shape[axis], from->shape[axis]))
            inside = not_padding(c, inside, index[axis], shift[axis], from->shape[axis]);
    }
    Expr *value = expr_load(c, from, at, e->call->span);
    if (inside)
        value = or_fill(c, inside, value, einsum_fill(e, from), e->call->span);
    nest.block = name;
    nest.body = stmt_set(c, (BufferElement){to, index}, value, e->call->span);
    return stage_nest(e->s, &nest, e->call->span);
}

Stmt *einsum_nest(Context *c, const StmtPath *path, int top, Stmt *block, Expr *const *extent)
{
    BlockStmt padded = block->u.block;
    BlockIter *iters = block_own_iters(c, &padded, 0);
    for (int i = 0; i < padded.n_iters; i++)
        iters[i].hi = extent[i] ? extent[i] : iters[i].hi;
    Stmt *nest = stmt_block(c, &padded, block->span);
    for (int k = path->n - 2; k >= top; k--) {
        ForStmt loop = path->items[k]->u.loop;
        for (int i = 0; i < padded.n_iters; i++)
            if (extent[i] && iters[i].binding->u.var == loop.var)
                loop.hi = extent[i];
        loop.body = nest;
        nest = stmt_for(c, &loop, path->items[k]->span);
    }
    return nest;
}

/* ---- temps that grow ------------------------------------------------------------------------- */

/* Another block than the einsum reads the operand. */
static bool has_other_readers(Einsum *e, const Buffer *operand)
{
    BlockList readers = flow_blocks(e->s, e->s->kernel->body, operand, ACCESS_READ);
    return readers.n != 1 || readers.items[0] != path_end(&e->path);
}

/* The block that computes an operand: the only one that writes it, each element once, in a nest of
 * plain loops before the einsum. `moves`: its elements get other places, so that nobody else may
 * read them. */
static bool find_producer(Einsum *e, const Buffer *operand, bool moves, StmtPath *path, int *top)
{
    Schedule *s = e->s;
    int *axes = ARENA_ARRAY(s->ctx->arena, int, operand->rank + 1);
    BlockList writers = flow_blocks(s, s->kernel->body, operand, ACCESS_WRITE);
    if (writers.n != 1 || writers.items[0] == path_end(&e->path) ||
        (moves && has_other_readers(e, operand)))
        return false;
    const Stmt *block = writers.items[0], *store = flow_single_store(s->ctx, block);
    if (!store || store->u.store.op != STORE_SET || block->u.block.init ||
        block->u.block.n_iters != operand->rank ||
        !flow_pure_index(&block->u.block, operand, store->u.store.index, axes) ||
        expr_reads(store->u.store.value, operand) ||
        !stmt_find(s->ctx, s->kernel->body, block->u.block.id, path) ||
        !einsum_is_nest(path, &block->u.block, top) || !einsum_is_from_zero(&block->u.block) ||
        !filled_stands_before((NestPlace){path, *top}, (NestPlace){&e->path, e->top}))
        return false;
    for (int k = *top; k + 1 < path->n; k++)
        if (path->items[k]->u.loop.kind != LOOP_SERIAL || path->items[k]->u.loop.annotations.n)
            return false;
    for (int axis = 0; axis < operand->rank; axis++)
        if (!einsum_is_axis(s->ctx, operand->shape[axis], &block->u.block.iters[axes[axis]]))
            return false;
    return true;
}

/* An operand's producer, and how it fills the grown temp: with elements or zeros. */
typedef struct {
    const BlockStmt *block;
    const StoreStmt *store;
    NestPlace nest;
    Expr **extent;   /* [n_iters] what they become; NULL: as it was */
    bool *beyond;    /* [n_iters] elements beyond the edge are those that the value has there */
    Expr **shift;    /* [rank] einsum_shifts */
    SubstList moved; /* iterators of axes with a shift */
    Expr **copied;   /* [rank] where elements beyond the edge are those of the value; or NULL */
    Expr *exists;    /* where the value does, as far as that is not known; NULL: everywhere */
} Filling;

/* The elements that the value is computed from are there before its own nest runs, and exist
 * wherever the conditions hold. */
static bool reads_existing(const Einsum *e, const Filling *f, Expr *cond)
{
    Expr *where;
    Facts *facts = facts_of_kernel(e->s->ctx, e->s->kernel);
    const Expr *copied = expr_copied(f->store->value, &where);
    for (Cursor at = cursor_expr(e->s->ctx, f->store->value); cursor_next(&at);)
        if (einsum_divides_integers(at.expr) ||
            (at.expr->kind == EX_LOAD && !filled_before(e->s, f->nest, at.expr->u.load.buffer)))
            return false;
    for (int i = 0; i < f->block->n_iters; i++) {
        const BlockIter *iter = &f->block->iters[i];
        facts_range(facts, iter->var, iter->lo, f->beyond[i] ? f->extent[i] : iter->hi);
    }
    if (copied && where)
        facts_assume(facts, where);
    if (f->exists)
        facts_assume(facts, f->exists);
    if (cond)
        facts_assume(facts, cond);
    return einsum_loads_exist(e->s->ctx, facts, copied ? copied : f->store->value);
}

/* Beyond the edge of iterator `i`, for results that are cut off, the value needs no zeros where the
 * condition holds. */
static bool needs_no_zeros(const Einsum *e, Filling *f, int i, const Expr *index, Expr *cond)
{
    f->beyond[i] = e->block->iters[einsum_iter(e->block, index)].kind == ITER_SPATIAL;
    return f->beyond[i] = f->beyond[i] && reads_existing(e, f, cond);
}

/* The subscripts with the iterator are not beyond the ends of their axes. NULL: there is none, or
 * one is not linear in it. */
static Expr *before_ends(Context *c, const Expr *load, const Var *iter)
{
    Facts *none = facts_new(c);
    Expr *cond = NULL;
    for (int axis = 0; axis < load->u.load.buffer->rank; axis++) {
        Expr *index = load->u.load.index[axis], *rest;
        int64_t steps;
        if (!expr_uses_var(index, iter))
            continue;
        if (!split_linear(none, index, iter, &steps, &rest))
            return NULL;
        cond = cond_and(c, cond,
                        expr_binary(c, EX_LT, index, load->u.load.buffer->shape[axis], load->span));
    }
    return cond;
}

/* Where the value of iterator `i` beyond its edge is an element, for results that are cut off:
 * zeros elsewhere are those that the hardware writes. NULL: all beyond the edge needs zeros.
 *
 *   i + u < H ? x[i + u] : 0    for    i < H - 2 ? x[i + u] : 0 */
static Expr *element_exists(const Einsum *e, Filling *f, int i, const Expr *index)
{
    Expr *where;
    const Expr *load = expr_copied(f->store->value, &where);
    Expr *cond = load ? before_ends(e->s->ctx, load, f->block->iters[i].var) : NULL;
    return cond && needs_no_zeros(e, f, i, index, cond) ? cond : NULL;
}

/* Decides what stands beyond the edge of an axis that grows to `extent`, where the einsum reads it
 * at `index`: elements, if results are cut off there and the value has them, or else zeros. */
static void fill_axis(const Einsum *e, Filling *f, int axis, Expr *extent, const Expr *index)
{
    Context *c = e->s->ctx;
    Expr *own = f->store->index[axis];
    int i = einsum_iter(f->block, own);
    f->extent[i] = extent;
    if (f->shift[axis])
        VEC_PUSH(c->arena, &f->moved, ((Subst){own->u.var, index_sub(c, own, f->shift[axis])}));
    if (needs_no_zeros(e, f, i, index, NULL))
        return;
    f->copied[axis] = element_exists(e, f, i, index);
    if (f->copied[axis])
        f->exists = cond_and(c, f->exists, f->copied[axis]);
}

/* Where the filled temp has values, and no zeros; NULL: everywhere. */
static Expr *has_value(Context *c, const Filling *f)
{
    Expr *inside = NULL;
    for (int axis = 0; axis < f->store->buffer->rank; axis++) {
        Expr *own = f->store->index[axis];
        int i = einsum_iter(f->block, own);
        if (f->copied[axis])
            inside =
                cond_and(c, inside, expr_subst(c, f->copied[axis], f->moved.items, f->moved.n));
        else if (f->extent[i] && !f->beyond[i])
            inside = not_padding(c, inside, own, f->shift[axis], f->block->iters[i].hi);
    }
    return inside;
}

/* The producer's nest over all of the grown temp, with zeros where that is larger and terms
 * count. */
static Stmt *zero_filled(Einsum *e, const StmtPath *path, int top, const Growth *g, const Access *a)
{
    Context *c = e->s->ctx;
    Stmt *block = path_end(path);
    const Stmt *store = flow_single_store(c, block);
    Filling f = {.block = &block->u.block,
                 .store = &store->u.store,
                 .nest = {path, top},
                 .extent = ARENA_ARRAY(c->arena, Expr *, block->u.block.n_iters + 1),
                 .beyond = ARENA_ARRAY(c->arena, bool, block->u.block.n_iters + 1),
                 .shift = einsum_shifts(e, a),
                 .copied = ARENA_ARRAY(c->arena, Expr *, g->from->rank + 1)};
    for (int axis = 0; axis < g->from->rank; axis++)
        if (!expr_equal(g->to->shape[axis], g->from->shape[axis]))
            fill_axis(e, &f, axis, g->to->shape[axis], a->index[axis]);
    Expr *inside = has_value(c, &f);
    Expr *value = expr_subst(c, f.store->value, f.moved.items, f.moved.n);
    if (inside)
        value = or_fill(c, inside, value, einsum_fill(e, g->from), e->call->span);
    BlockStmt filled = block->u.block;
    filled.body = stmt_set(c, (BufferElement){f.store->buffer, f.store->index}, value, store->span);
    return einsum_nest(c, path, top, stmt_block(c, &filled, block->span), f.extent);
}

/* The shape of the buffer may change: no row of it is a circle, or in chunks that change places. */
static bool may_grow(const Buffer *b)
{
    for (int axis = 0; axis < b->rank && b->layout; axis++)
        if (b->layout[axis].fold || buffer_is_swizzled(b, axis))
            return false;
    return b->role == ROLE_TEMP;
}

bool einsum_growth(Einsum *e, const Access *a, bool written, Growth *g)
{
    Schedule *s = e->s;
    StmtPath path = {0};
    Expr **shift = einsum_shifts(e, a);
    bool moves = false;
    int top;
    for (int axis = 0; axis < a->buffer->rank; axis++)
        moves |= shift[axis] != NULL;
    if (!may_grow(a->buffer) || (!written && !find_producer(e, a->buffer, moves, &path, &top)))
        return false;
    *g = (Growth){.from = sched_buffer(s, a->buffer->id)};
    g->to = buffer_copy(s->ctx, g->from);
    g->to->shape = einsum_shape(e, a);
    if (!written) {
        g->nest = path.items[top];
        g->filled = zero_filled(e, &path, top, g, a);
    }
    return true;
}
