/* pad_einsum.c - Implements pad_einsum: extends a contraction with zeros to whole tiles, so that
 * tiles need no guards.
 *
 *   pad_einsum(C, [16, 16, 16]):
 *       A_pad = A with zeros up to multiples of 16;
 *       C_pad += A_pad * B_pad, without guards for any tile of 16;
 *       C = the part of C_pad that C has.
 *
 * A temp needs no copy. As an operand that one block computes element by element it gets the zeros
 * from that block, and as a result it gets room for what nobody reads:
 *
 *   A_shared[v0, v1] = A[v0, v1]   =>   A_shared[v0, v1] = v0 < 60 && v1 < 30 ? A[v0, v1] : 0
 *
 * A block that sets its elements has no terms to add: all that its padding makes is cut off again.
 *
 * Rows whose range data decide become all rows of the loop, so that tiles of them need no guards
 * either:
 *
 *   t: block (g in E = g, i in first[g]..first[g + 1] = i)   =>   t: block (g in E = g, i in M = i)
 *
 * Legal: the block is a sum of products, or sets elements, and its subscripts are its iterators;
 * temps that get room are read by it alone. What data leave out are elements of a temp that no
 * other block sets, so that no block reads them.
 * Invariant: every element of C is what it was, since the added terms are products of zeros and a
 * sum that starts from a literal does not change by them; nothing reads what lies beyond the
 * edge. */
#include <math.h>
#include <string.h>

#include "passes/analysis/polyhedral/poly.h"
#include "passes/schedule/copies/stage.h"

/* ---- pad_einsum: what is padded -------------------------------------------------------------- */

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path;
    int top;                /* index on it of the outermost loop of the nest */
    const BlockStmt *block; /* with all rows where data decide a range */
    const Stmt *update;
    Expr **padded; /* [n_iters] the extent that an iterator gets, or NULL */
    /* [n_iters] how many zeros stand before the first element, or NULL: they stand behind the
     * last */
    Expr **shift;
    const BlockStmt *given; /* with the ranges that data decide */
} Einsum;

/* The iterator that an expression is, alone; -1. */
static int iter_of(const BlockStmt *block, const Expr *e)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(e, block->iters[i].var))
            return i;
    return -1;
}

/* The axis has an element for each value of the iterator: none, too, where its range is empty. */
static bool is_axis_of(Context *c, const Expr *extent, const BlockIter *iter)
{
    return expr_equal(extent, iter->hi) ||
           expr_equal(extent, index_max(c, iter->hi, expr_index(c, 0)));
}

static bool find_extents(Einsum *e)
{
    Schedule *s = e->s;
    const Value *padding = &e->call->pad_einsum.padding;
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    REQUIRE(s, E0831, e->call->span, padding->u.list.n == e->block->n_iters,
            "block '%s' has %d iterators, found %d paddings; give one for each, 1 for no padding",
            e->block->name, e->block->n_iters, padding->u.list.n);
    const Value *zeros = &e->call->pad_einsum.zeros;
    bool before = zeros->kind != VALUE_NONE && !strcmp(zeros->u.s, "before");
    REQUIRE_WORD(
        s, E0831, e->call->span,
        before || zeros->kind == VALUE_NONE || !strcmp(zeros->u.s, "behind"),
        "the position of zeros is 'before' or 'behind' the terms of a reduction, found '%s'",
        zeros->u.s);
    e->padded = ARENA_ARRAY(s->ctx->arena, Expr *, e->block->n_iters + 1);
    e->shift = ARENA_ARRAY(s->ctx->arena, Expr *, e->block->n_iters + 1);
    for (int i = 0; i < e->block->n_iters; i++) {
        int64_t to = padding->u.list.items[i].u.i;
        REQUIRE(s, E0831, e->call->span, to >= 1 && to <= INT32_MAX,
                "a padding is at least 1, found %lld", (long long)to);
        Expr *unit = expr_index(s->ctx, to), *hi = e->block->iters[i].hi;
        if (prove_divisible(facts, hi, to))
            continue;
        e->padded[i] = simplify(facts, index_mul(s->ctx, index_ceildiv(s->ctx, hi, unit), unit));
        if (before && e->block->iters[i].kind == ITER_REDUCE)
            e->shift[i] = simplify(facts, index_sub(s->ctx, e->padded[i], hi));
    }
    return true;
}

/* The iterators of the block at the end of the path are the loops of a perfect nest that holds it
 * alone, each from 0 to its extent; `*top` is the index of the outermost one. */
static bool is_plain_nest(const StmtPath *path, const BlockStmt *block, int *top)
{
    int n = 0;
    for (*top = path->n - 1;
         *top > 0 && path->items[*top - 1]->kind == ST_FOR && n < block->n_iters; n++)
        --*top;
    bool plain = n == block->n_iters && !block->predicate;
    for (int i = 0; i < n && plain; i++) {
        const BlockIter *iter = &block->iters[i];
        int users = 0;
        for (int k = *top; k + 1 < path->n; k++) {
            const ForStmt *loop = &path->items[k]->u.loop;
            users += loop->step == 1 && expr_is_var(iter->binding, loop->var) &&
                     expr_equal(loop->hi, iter->hi) && expr_equal(loop->lo, iter->lo);
        }
        plain = users == 1 && expr_is(iter->lo, 0);
    }
    return plain;
}

/* ---- pad_einsum: ranges that data decide ----------------------------------------------------- */

/* All that the expression reads exists. */
static bool loads_exist(Context *c, Facts *facts, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && !load_exists(facts, at.expr))
            return false;
    return true;
}

/* The loop from 0 that the iterator is, over a range of sizes; NULL: there is none. */
static const ForStmt *loop_of_sizes(const StmtPath *path, const BlockIter *iter)
{
    for (int i = 0; i < path->n; i++) {
        const ForStmt *loop = &path->items[i]->u.loop;
        if (path->items[i]->kind == ST_FOR && expr_is_var(iter->binding, loop->var) &&
            loop_counts_from_zero(loop) && expr_of_sizes(loop->hi))
            return loop;
    }
    return NULL;
}

/* The block with all rows of a loop for each range that data decide. */
static Stmt *with_all_rows(Einsum *e, const Stmt *block)
{
    BlockStmt all = block->u.block;
    BlockIter *iters = block_own_iters(e->s->ctx, &all, 0);
    for (int i = 0; i < all.n_iters; i++) {
        bool decided = expr_has_load(iters[i].lo) || expr_has_load(iters[i].hi);
        const ForStmt *loop =
            iters[i].kind == ITER_SPATIAL && decided ? loop_of_sizes(&e->path, &iters[i]) : NULL;
        if (!loop)
            continue;
        iters[i].lo = loop->lo;
        iters[i].hi = loop->hi;
    }
    e->given = &block->u.block;
    return stmt_block(e->s->ctx, &all, block->span);
}

/* All elements that the block accesses exist. */
static bool elements_exist(const Einsum *e)
{
    Context *c = e->s->ctx;
    const StoreStmt *store = &e->update->u.store;
    Facts *facts = facts_of_kernel(c, e->s->kernel);
    for (int i = 0; i < e->block->n_iters; i++)
        facts_range(facts, e->block->iters[i].var, e->block->iters[i].lo, e->block->iters[i].hi);
    return loads_exist(c, facts, store->value) &&
           loads_exist(c, facts, expr_load(c, store->buffer, store->index, e->call->span));
}

/* The iterator is a subscript of what the block writes. */
static bool leads(const Einsum *e, int iter)
{
    const StoreStmt *store = &e->update->u.store;
    for (int axis = 0; axis < store->buffer->rank; axis++)
        if (iter_of(e->block, store->index[axis]) == iter)
            return true;
    return false;
}

/* An iterator whose range data decided; NULL: there is none. */
static const BlockIter *extended(const Einsum *e)
{
    for (int i = 0; i < e->block->n_iters; i++)
        if (e->block->iters[i].hi != e->given->iters[i].hi)
            return &e->block->iters[i];
    return NULL;
}

/* Each instance sets an element of its own, of a temp that no other block writes. */
static bool sets_alone(const Einsum *e)
{
    const Buffer *written = e->update->u.store.buffer;
    BlockList writers = flow_blocks(e->s, e->s->kernel->body, written, ACCESS_WRITE);
    bool alone = written->role == ROLE_TEMP && writers.n == 1;
    for (int i = 0; i < e->block->n_iters && alone; i++)
        alone = e->block->iters[i].kind == ITER_REDUCE || leads(e, i);
    return alone;
}

/* Nothing else sets the elements of rows that data left out, so that nobody reads them. */
static bool check_all_rows(Einsum *e)
{
    const BlockIter *rows = extended(e);
    REQUIRE(e->s, E0831, e->call->span, !rows || (sets_alone(e) && elements_exist(e)),
            "data decide the range of '%s' in block '%s', and the elements outside of it may be in "
            "use; they are not if the block alone writes '%s', a temp with each iterator as a "
            "subscript, and reads elements that exist",
            rows->var->name, e->block->name, e->update->u.store.buffer->name);
    return true;
}

/* Is the variable in `e` outside the subscripts of loads? */
static bool is_value(Context *c, const Expr *e, const Var *var)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        if (expr_is_var(at.expr, var))
            return true;
        if (at.expr->kind == EX_LOAD)
            cursor_prune(&at);
    }
    return false;
}

static bool check_nest(Einsum *e)
{
    Schedule *s = e->s;
    bool plain = is_plain_nest(&e->path, e->block, &e->top) &&
                 (e->block->init || e->update->u.store.op == STORE_SET);
    for (int i = e->top; i + 1 < e->path.n; i++)
        if (!sched_require_plain(s, e->path.items[i], e->call->span))
            return false;
    REQUIRE(s, E0831, e->call->span, plain && !e->block->predicate,
            "block '%s' is not a store or a reduction with its init, alone in one loop from 0 for "
            "each iterator; pad it before its loops are split or fused",
            e->block->name);
    return true;
}

/* Is the function of 0 a 0? */
static bool keeps_zero(CallKind call)
{
    return call == CALL_TF32 || call == CALL_TF32_RZ || call == CALL_ABS;
}

/* Beyond the edge of iterator `iter`, where everything that it is a subscript of is 0, the value is
 * 0: of floats a product of zeros only, as 0 times infinity is none. */
static bool vanishes(const Einsum *e, const Expr *value, int iter)
{
    switch (value->kind) {
    case EX_LOAD:
        for (int axis = 0; axis < value->u.load.buffer->rank; axis++)
            if (iter_of(e->block, value->u.load.index[axis]) == iter)
                return true;
        return false;
    case EX_CAST: return vanishes(e, value->u.arg[0], iter);
    case EX_CALL: return keeps_zero(value->u.call.call) && vanishes(e, value->u.call.arg[0], iter);
    case EX_MUL: {
        bool a = vanishes(e, value->u.arg[0], iter), b = vanishes(e, value->u.arg[1], iter);
        return type_is_float(value->type) ? a && b : a || b;
    }
    case EX_ADD:
    case EX_SUB: return vanishes(e, value->u.arg[0], iter) && vanishes(e, value->u.arg[1], iter);
    default: return false;
    }
}

/* Each padded iterator that is no reduction's leads to elements of its own. */
static bool check_elements(Einsum *e)
{
    for (int i = 0; i < e->block->n_iters; i++)
        REQUIRE(e->s, E0831, e->call->span,
                !e->padded[i] || e->block->iters[i].kind == ITER_REDUCE || leads(e, i),
                "iterator '%s' of block '%s' is not a subscript of '%s', so the padded iterations "
                "would update the same elements",
                e->block->iters[i].var->name, e->block->name, e->update->u.store.buffer->name);
    return true;
}

/* The padding computes from zeros, and no integer is divided by one. */
static bool check_divisors(Einsum *e)
{
    int64_t known;
    for (Cursor at = cursor_expr(e->s->ctx, e->update->u.store.value); cursor_next(&at);) {
        const Expr *d = at.expr;
        bool divides = (d->kind == EX_DIV || d->kind == EX_MOD) && !type_is_float(d->type);
        REQUIRE(e->s, E0832, e->call->span, !divides || expr_is_const(d->u.arg[1], &known),
                "block '%s' divides integers by %s, which may be 0 in the padding", e->block->name,
                expr_text(e->s->ctx, d->u.arg[1]));
    }
    return true;
}

/* Terms of 0 do not change the sum. One of floats starts from a literal that is not -0, so it never
 * becomes -0, which 0 would change. */
static bool check_terms(Einsum *e)
{
    Schedule *s = e->s;
    const Stmt *init = e->block->init ? stmt_single_store(e->block->init) : NULL;
    const Expr *start = init ? init->u.store.value : NULL;
    bool steady = start && (!type_is_float(e->update->u.store.buffer->type) ||
                            (start->kind == EX_FLOAT && !signbit(start->u.f)));
    for (int i = 0; i < e->block->n_iters; i++) {
        if (!e->padded[i] || e->block->iters[i].kind != ITER_REDUCE)
            continue;
        REQUIRE(s, E0832, e->call->span, steady && e->update->u.store.op == STORE_ADD,
                "iterator '%s' of block '%s' can be padded only in a sum that starts from a "
                "literal, where terms of 0 have no effect",
                e->block->iters[i].var->name, e->block->name);
        REQUIRE(s, E0832, e->call->span, vanishes(e, e->update->u.store.value, i),
                "block '%s' adds %s, which may be nonzero where '%s' is padded; give each factor "
                "'%s' as a subscript (0 times infinity is not 0)",
                e->block->name, expr_text(s->ctx, e->update->u.store.value),
                e->block->iters[i].var->name, e->block->iters[i].var->name);
        REQUIRE(s, E0832, e->call->span,
                !e->shift[i] || !is_value(s->ctx, e->update->u.store.value, e->block->iters[i].var),
                "block '%s' adds %s, whose value depends on '%s' itself, so zeros before the first "
                "term would shift it; put them behind",
                e->block->name, expr_text(s->ctx, e->update->u.store.value),
                e->block->iters[i].var->name);
    }
    return true;
}

/* ---- pad_einsum: the copies ------------------------------------------------------------------ */

/* The buffer has exactly the elements that the iterators speak of; what is written has no
 * others. */
static bool check_axes(Einsum *e, const Access *a)
{
    bool written = a->buffer->id == e->update->u.store.buffer->id;
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
        REQUIRE(e->s, E0831, e->call->span,
                iter < 0 ? !written
                         : is_axis_of(e->s->ctx, a->buffer->shape[axis], &e->block->iters[iter]),
                "axis %d of '%s' has %s elements, but subscript %s of block '%s' has another "
                "range; padded axes must be used completely",
                axis, a->buffer->name, expr_text(e->s->ctx, a->buffer->shape[axis]),
                expr_text(e->s->ctx, a->index[axis]), e->block->name);
    }
    return true;
}

/* One of the padded iterators is a subscript. False, after E0831, where one is part of one. */
static bool touches_padded(Einsum *e, const Access *a, bool *touched)
{
    *touched = false;
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
        bool alone = iter >= 0;
        *touched |= alone && e->padded[iter];
        for (int i = 0; i < e->block->n_iters; i++)
            REQUIRE(e->s, E0831, e->call->span,
                    alone || !e->padded[i] ||
                        !expr_uses_var(a->index[axis], e->block->iters[i].var),
                    "subscript %s of '%s' is not just the iterator '%s', which is to be padded; "
                    "subscripts of an einsum are single iterators",
                    expr_text(e->s->ctx, a->index[axis]), a->buffer->name,
                    e->block->iters[i].var->name);
    }
    return !*touched || check_axes(e, a);
}

/* The shape of the accessed buffer, with the axes that padded iterators are subscripts of as long
 * as those become. */
static Expr **padded_shape(Einsum *e, const Access *a)
{
    Expr **shape = ARENA_ARRAY(e->s->ctx->arena, Expr *, a->buffer->rank + 1);
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
        bool padded = iter >= 0 && e->padded[iter];
        shape[axis] = padded ? shape_extent(e->s->ctx, e->padded[iter]) : a->buffer->shape[axis];
    }
    return shape;
}

/* How many zeros stand before the elements on each axis of the accessed buffer; NULL where they
 * stand behind, or there are none. */
static Expr **shifts_of(Einsum *e, const Access *a)
{
    Expr **shift = ARENA_ARRAY(e->s->ctx->arena, Expr *, a->buffer->rank + 1);
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
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

/* The value where the condition holds, and 0 elsewhere. */
static Expr *or_zero(Context *c, Expr *inside, Expr *value, Span span)
{
    Expr *where;
    const Expr *copied = expr_copied(value, &where);
    Expr *zero = type_is_float(value->type) ? expr_float(c, value->type, 0, span_none())
                                            : expr_int(c, value->type, 0, span_none());
    if (copied && where) /* 0 elsewhere as it is */
        return expr_select(c, cond_and(c, inside, where), value->u.arg[1], value->u.arg[2], span);
    return expr_select(c, inside, value, zero, span);
}

/* to[v] = from[v] over the shape of `to`; if it pads (`shift` is not NULL), with zeros where that
 * is larger. */
static Stmt *copy_between(Einsum *e, Expr *const *shift, Buffer *to, Buffer *from, Name name)
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
        value = or_zero(c, inside, value, e->call->span);
    nest.block = name;
    nest.body = stmt_set(c, (BufferElement){to, index}, value, e->call->span);
    return stage_nest(e->s, &nest, e->call->span);
}

/* The nest that ends in the block at the end of the path, with iterators as long as they become
 * (NULL: as they are). */
static Stmt *padded_nest(Context *c, const StmtPath *path, int top, Stmt *block,
                         Expr *const *extent)
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

/* ---- pad_einsum: temps that grow ------------------------------------------------------------- */

/* A temp of the einsum that needs no padded copy. */
typedef struct {
    const Buffer *from;
    Buffer *to;          /* with room behind its edges */
    Stmt *nest, *filled; /* of an operand: the nest that computes it, and what that becomes */
} Growth;

/* The nest is in the same sequence as the einsum's, and before it. */
static bool stands_before(const Einsum *e, const StmtPath *path, int top)
{
    const Stmt *seq = e->top > 0 ? e->path.items[e->top - 1] : NULL;
    if (!seq || top == 0 || seq->kind != ST_SEQ || path->items[top - 1] != seq)
        return false;
    for (int i = 0; i < seq->u.seq.n && seq->u.seq.items[i] != e->path.items[e->top]; i++)
        if (seq->u.seq.items[i] == path->items[top])
            return true;
    return false;
}

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
        !is_plain_nest(path, &block->u.block, top) || !stands_before(e, path, *top))
        return false;
    for (int k = *top; k + 1 < path->n; k++)
        if (path->items[k]->u.loop.kind != LOOP_SERIAL || path->items[k]->u.loop.annotations.n)
            return false;
    for (int axis = 0; axis < operand->rank; axis++)
        if (!is_axis_of(s->ctx, operand->shape[axis], &block->u.block.iters[axes[axis]]))
            return false;
    return true;
}

/* What the iterators of an operand's producer become. */
typedef struct {
    const BlockStmt *block;
    Expr **extent; /* [n_iters] NULL: as it was */
    bool *beyond;  /* [n_iters] elements beyond the edge are those that its value has there */
    Expr *value;   /* of an element, before it moves */
    Expr *exists;  /* where it does, as far as that is not known; NULL: everywhere */
} Filling;

/* All elements have their values when the einsum runs: an input, or a temp that one block before it
 * sets. */
static bool is_filled(const Einsum *e, const Buffer *from)
{
    Context *c = e->s->ctx;
    StmtPath path = {0};
    BlockList writers = flow_blocks(e->s, e->s->kernel->body, from, ACCESS_WRITE);
    const Stmt *store = writers.n == 1 ? flow_single_store(c, writers.items[0]) : NULL;
    if (from->role != ROLE_TEMP || !store || store->u.store.op != STORE_SET)
        return from->role == ROLE_IN;
    const BlockStmt *block = &writers.items[0]->u.block;
    int *axes = ARENA_ARRAY(c->arena, int, from->rank + 1);
    bool all = !block->predicate && block->n_iters == from->rank &&
               flow_pure_index(block, from, store->u.store.index, axes);
    for (int axis = 0; axis < from->rank && all; axis++)
        all = expr_is(block->iters[axes[axis]].lo, 0) &&
              is_axis_of(c, from->shape[axis], &block->iters[axes[axis]]);
    return all && stmt_find(c, e->s->kernel->body, block->id, &path) && path.n > e->top &&
           stands_before(e, &path, e->top);
}

/* The value copies an element that is there before the einsum, and exists wherever the conditions
 * hold. */
static bool copies_existing(const Einsum *e, const Filling *f, Expr *cond)
{
    Expr *where;
    Facts *facts = facts_of_kernel(e->s->ctx, e->s->kernel);
    const Expr *load = expr_copied(f->value, &where);
    if (!load || !is_filled(e, load->u.load.buffer))
        return false;
    for (int i = 0; i < f->block->n_iters; i++) {
        const BlockIter *iter = &f->block->iters[i];
        facts_range(facts, iter->var, iter->lo, f->beyond[i] ? f->extent[i] : iter->hi);
    }
    if (where)
        facts_assume(facts, where);
    if (f->exists)
        facts_assume(facts, f->exists);
    if (cond)
        facts_assume(facts, cond);
    return loads_exist(e->s->ctx, facts, load);
}

/* Beyond the edge of iterator `i`, for results that are cut off, the value needs no zeros where the
 * condition holds. */
static bool needs_no_zeros(const Einsum *e, Filling *f, int i, const Expr *index, Expr *cond)
{
    f->beyond[i] = e->block->iters[iter_of(e->block, index)].kind == ITER_SPATIAL;
    return f->beyond[i] = f->beyond[i] && copies_existing(e, f, cond);
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
    const Expr *load = expr_copied(f->value, &where);
    Expr *cond = load ? before_ends(e->s->ctx, load, f->block->iters[i].var) : NULL;
    return cond && needs_no_zeros(e, f, i, index, cond) ? cond : NULL;
}

/* The producer's nest over all of the grown temp, with zeros where that is larger and terms
 * count. */
static Stmt *zero_filled(Einsum *e, const StmtPath *path, int top, const Growth *g, const Access *a)
{
    Context *c = e->s->ctx;
    Stmt *block = path_end(path);
    const Stmt *store = flow_single_store(c, block);
    Filling f = {.block = &block->u.block,
                 .extent = ARENA_ARRAY(c->arena, Expr *, block->u.block.n_iters + 1),
                 .beyond = ARENA_ARRAY(c->arena, bool, block->u.block.n_iters + 1),
                 .value = store->u.store.value};
    Subst *moved = ARENA_ARRAY(c->arena, Subst, g->from->rank + 1);
    Expr **shift = shifts_of(e, a), **exists = ARENA_ARRAY(c->arena, Expr *, g->from->rank + 1);
    int n_moved = 0;
    for (int axis = 0; axis < g->from->rank; axis++) {
        Expr *index = store->u.store.index[axis];
        int i = iter_of(f.block, index);
        if (expr_equal(g->to->shape[axis], g->from->shape[axis]))
            continue;
        f.extent[i] = g->to->shape[axis];
        if (shift[axis])
            moved[n_moved++] = (Subst){index->u.var, index_sub(c, index, shift[axis])};
        if (needs_no_zeros(e, &f, i, a->index[axis], NULL))
            continue;
        exists[axis] = element_exists(e, &f, i, a->index[axis]);
        f.exists = exists[axis] ? cond_and(c, f.exists, exists[axis]) : f.exists;
    }
    Expr *inside = NULL, *value = expr_subst(c, f.value, moved, n_moved);
    for (int axis = 0; axis < g->from->rank; axis++) {
        int i = iter_of(f.block, store->u.store.index[axis]);
        if (exists[axis])
            inside = cond_and(c, inside, expr_subst(c, exists[axis], moved, n_moved));
        else if (f.extent[i] && !f.beyond[i])
            inside = not_padding(c, inside, store->u.store.index[axis], shift[axis],
                                 f.block->iters[i].hi);
    }
    BlockStmt filled = block->u.block;
    filled.body = stmt_set(c, (BufferElement){store->u.store.buffer, store->u.store.index},
                           inside ? or_zero(c, inside, value, e->call->span) : value, store->span);
    return padded_nest(c, path, top, stmt_block(c, &filled, block->span), f.extent);
}

/* The shape of the buffer may change: no row of it is a circle, or in chunks that change places. */
static bool may_grow(const Buffer *b)
{
    for (int axis = 0; axis < b->rank && b->layout; axis++)
        if (b->layout[axis].fold || buffer_is_swizzled(b, axis))
            return false;
    return b->role == ROLE_TEMP;
}

/* Can the temp behind this access have what is beyond the edge itself? */
static bool find_growth(Einsum *e, const Access *a, bool written, Growth *g)
{
    Schedule *s = e->s;
    StmtPath path = {0};
    Expr **shift = shifts_of(e, a);
    bool moves = false;
    int top;
    for (int axis = 0; axis < a->buffer->rank; axis++)
        moves |= shift[axis] != NULL;
    if (!may_grow(a->buffer) || (!written && !find_producer(e, a->buffer, moves, &path, &top)))
        return false;
    *g = (Growth){.from = sched_buffer(s, a->buffer->id)};
    g->to = buffer_copy(s->ctx, g->from);
    g->to->shape = padded_shape(e, a);
    if (!written) {
        g->nest = path.items[top];
        g->filled = zero_filled(e, &path, top, g, a);
    }
    return true;
}

/* ---- pad_einsum: the step -------------------------------------------------------------------- */

/* What the step makes. */
typedef struct {
    VEC(Stmt *) before, after, temps;
    VEC(Growth) grown;
    VEC(Value) blocks;
    Stmt *block; /* of the einsum, on padded buffers */
} Padded;

/* A padded operand or result beside the buffer, with the nest that copies. */
static void add_copy(Einsum *e, const Access *a, bool written, Padded *p)
{
    Schedule *s = e->s;
    Context *c = s->ctx;
    Buffer *from = sched_buffer(s, a->buffer->id),
           *pad = stage_buffer(s, from, "pad", SCOPE_GLOBAL, e->call->span);
    pad->shape = padded_shape(e, a);
    VEC_PUSH(c->arena, &p->temps, stmt_temp(c, pad, e->call->span));
    p->block = stmt_replace_buffer(c, p->block, from, pad);
    if (written) {
        Name crop = sched_fresh_name(s, arena_printf(c->arena, "%s_crop", from->name));
        VEC_PUSH(c->arena, &p->after, copy_between(e, NULL, from, pad, crop));
        return;
    }
    Stmt *nest = copy_between(e, shifts_of(e, a), pad, from, pad->name);
    VEC_PUSH(c->arena, &p->before, nest);
    VEC_PUSH(c->arena, &p->blocks, value_block(stmt_nest_block(nest)));
}

/* All accesses of the block to the buffer have the subscripts of this one. */
static bool check_one_subscript(Einsum *e, const AccessList *all, const Access *a)
{
    for (int k = 0; k < all->n; k++)
        for (int axis = 0; axis < a->buffer->rank && all->items[k].buffer->id == a->buffer->id;
             axis++)
            REQUIRE(e->s, E0831, e->call->span,
                    expr_equal(all->items[k].index[axis], a->index[axis]),
                    "block '%s' accesses '%s' at different subscripts; an einsum accesses each "
                    "buffer at one subscript",
                    e->block->name, a->buffer->name);
    return true;
}

static bool pad_buffers(Einsum *e, Padded *p)
{
    Context *c = e->s->ctx;
    VEC(const Buffer *) done = {0};
    AccessList all = access_list(c, p->block, NULL, ACCESS_ANY);
    for (int i = 0; i < all.n; i++) {
        const Access *a = &all.items[i];
        bool touched, known = false, written = a->buffer->id == e->update->u.store.buffer->id;
        Growth growth;
        if (!touches_padded(e, a, &touched) || (touched && !check_one_subscript(e, &all, a)))
            return false;
        for (int k = 0; k < done.n; k++)
            known |= done.items[k]->id == a->buffer->id;
        if (!touched || known)
            continue;
        VEC_PUSH(c->arena, &done, a->buffer);
        if (!find_growth(e, a, written, &growth)) {
            add_copy(e, a, written, p);
            continue;
        }
        VEC_PUSH(c->arena, &p->grown, growth);
        if (!written)
            VEC_PUSH(c->arena, &p->blocks, value_block(stmt_nest_block(growth.filled)));
    }
    return true;
}

static Stmt *put_together(Einsum *e, const Padded *p)
{
    Schedule *s = e->s;
    Context *c = s->ctx;
    VEC(Stmt *) items = {0};
    VEC_APPEND(c->arena, &items, p->before.items, p->before.n);
    VEC_PUSH(c->arena, &items, padded_nest(c, &e->path, e->top, p->block, e->padded));
    VEC_APPEND(c->arena, &items, p->after.items, p->after.n);
    Stmt *body = stmt_replace(c, s->kernel->body, e->path.items[e->top],
                              stmt_seq(c, items.items, items.n, p->block->span));
    for (int i = 0; i < p->temps.n; i++)
        body = flow_declare(s, body, p->temps.items[i]->u.temp);
    for (int i = 0; i < p->grown.n; i++)
        if (p->grown.items[i].filled)
            body = stmt_replace(c, body, p->grown.items[i].nest, p->grown.items[i].filled);
    for (int i = 0; i < p->grown.n; i++)
        body = stmt_replace_buffer(c, body, p->grown.items[i].from, p->grown.items[i].to);
    return body;
}

bool prim_pad_einsum(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Einsum e = {.s = s, .call = call};
    Padded p = {.block = sched_node(s, &call->pad_einsum.block, &e.path)};
    p.block = with_all_rows(&e, p.block);
    e.block = &p.block->u.block;
    e.update = flow_single_store(c, p.block);
    REQUIRE(s, E0831, call->span, e.update, "block '%s' is not one store, as C[i, j] += ...",
            e.block->name);
    REQUIRE(s, E0831, call->span, !expr_reads(e.update->u.store.value, e.update->u.store.buffer),
            "block '%s' reads its output '%s'", e.block->name, e.update->u.store.buffer->name);
    if (!find_extents(&e) || !check_nest(&e) || !check_all_rows(&e) || !check_elements(&e) ||
        !check_terms(&e) || !check_divisors(&e) || !pad_buffers(&e, &p))
        return false;
    sched_replace_body(s, put_together(&e, &p));
    for (int i = 0; i < p.after.n; i++)
        VEC_PUSH(c->arena, &p.blocks, value_block(stmt_nest_block(p.after.items[i])));
    *result = value_list(s, p.blocks.items, p.blocks.n);
    return true;
}
