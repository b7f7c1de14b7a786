/* pad_einsum.c - Implements pad_einsum: extends a contraction to whole tiles, with zeros or other
 * values for which padded terms have no effect, so that tiles need no guards.
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
 * As an operand that is longer already, such as what a step before has padded, it needs no padding
 * but that of terms. What is computed from such elements may stay so beyond an edge of the result:
 *
 *   w[v0, v1] = exp(s[v0, v1] - m[v0])   =>   w[v0, v1] = v1 < 30 ? exp(s[v0, v1] - m[v0]) : 0
 *
 * A block that sets its elements has no terms to add: all that its padding makes is cut off again.
 *
 * Rows whose range data or other iterators decide become all rows of the loop, so that tiles of
 * them need no guards either:
 *
 *   t: block (g in E = g, i in first[g]..first[g + 1] = i)   =>   t: block (g in E = g, i in M = i)
 *   t: block (i in N = i, j in i + 1 = j)                    =>   t: block (i in N = i, j in N = j)
 *
 * Padding along a reduction has values for which terms have no effect, as 0 has in a sum of
 * products, and inf in a minimum of sums (einsum_fill.c).
 *
 * Legal: there are such values, or the block sets elements, and its subscripts are its iterators;
 * temps that get room are read by it alone. What such ranges leave out are elements of a temp that
 * no other block sets, so that no block reads them.
 * Invariant: every element of C is what it was, since the added terms are the neutral element of
 * the update for what it starts from; nothing reads what lies beyond the edge. */
#include <string.h>

#include "passes/schedule/blocks/einsum.h"
#include "passes/schedule/copies/filled.h"
#include "passes/schedule/copies/stage.h"

/* ---- what is padded -------------------------------------------------------------------------- */

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

/* ---- ranges that leave out rows of a loop ---------------------------------------------------- */

/* The loop that the iterator is, over a range of sizes; NULL: there is none. */
static const ForStmt *loop_of_sizes(const StmtPath *path, const BlockIter *iter)
{
    for (int i = 0; i < path->n; i++) {
        const ForStmt *loop = &path->items[i]->u.loop;
        if (path->items[i]->kind == ST_FOR && expr_is_var(iter->binding, loop->var) &&
            loop->step == 1 && expr_of_sizes(loop->lo) && expr_of_sizes(loop->hi))
            return loop;
    }
    return NULL;
}

/* The block with all rows of a loop for each range that is another one. */
static Stmt *with_all_rows(Einsum *e, const Stmt *block)
{
    BlockStmt all = block->u.block;
    BlockIter *iters = block_own_iters(e->s->ctx, &all, 0);
    for (int i = 0; i < all.n_iters; i++) {
        const ForStmt *loop =
            iters[i].kind == ITER_SPATIAL ? loop_of_sizes(&e->path, &iters[i]) : NULL;
        if (!loop || (expr_equal(loop->lo, iters[i].lo) && expr_equal(loop->hi, iters[i].hi)))
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
    return einsum_loads_exist(c, facts, store->value) &&
           einsum_loads_exist(c, facts, expr_load(c, store->buffer, store->index, e->call->span));
}

/* What the block reads has values everywhere: in more iterations it reads more of it. */
static bool operands_are_set(const Einsum *e)
{
    bool set = true;
    for (Cursor at = cursor_expr(e->s->ctx, e->update->u.store.value); cursor_next(&at);) {
        const Buffer *read = at.expr->kind == EX_LOAD ? at.expr->u.load.buffer : NULL;
        set &= !read || read->role == ROLE_IN || read->role == ROLE_INOUT ||
               filled_before(e->s, (NestPlace){&e->path, e->top}, read);
    }
    return set;
}

/* The iterator is a subscript of what the block writes. */
static bool leads(const Einsum *e, int iter)
{
    const StoreStmt *store = &e->update->u.store;
    for (int axis = 0; axis < store->buffer->rank; axis++)
        if (einsum_iter(e->block, store->index[axis]) == iter)
            return true;
    return false;
}

/* An iterator whose range was decided so; NULL: there is none. */
static const BlockIter *extended(const Einsum *e)
{
    for (int i = 0; i < e->block->n_iters; i++)
        if (e->block->iters[i].lo != e->given->iters[i].lo ||
            e->block->iters[i].hi != e->given->iters[i].hi)
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

/* Nothing else sets the elements of rows that were left out, so that nobody reads them. */
static bool check_all_rows(Einsum *e)
{
    const BlockIter *rows = extended(e);
    REQUIRE(e->s, E0831, e->call->span,
            !rows || (sets_alone(e) && elements_exist(e) && operands_are_set(e)),
            "the range of '%s' in block '%s' leaves out iterations of its loop, and the elements "
            "of these may be in use; they are not if the block alone writes '%s', a temp with "
            "each iterator as a subscript, and reads elements that exist and are set",
            rows->var->name, e->block->name, e->update->u.store.buffer->name);
    return true;
}

static bool pads(const Einsum *e)
{
    for (int i = 0; i < e->block->n_iters; i++)
        if (e->padded[i])
            return true;
    return false;
}

/* Padded axes are used completely, so the iterators that lead to them start at 0. */
static bool check_nest(Einsum *e)
{
    Schedule *s = e->s;
    bool plain = einsum_is_nest(&e->path, e->block, &e->top) &&
                 (e->block->init || e->update->u.store.op == STORE_SET) &&
                 (!pads(e) || einsum_is_from_zero(e->block));
    for (int i = e->top; i + 1 < e->path.n; i++)
        if (!sched_require_plain(s, e->path.items[i], e->call->span))
            return false;
    REQUIRE(s, E0831, e->call->span, plain && !e->block->predicate,
            "block '%s' is not a store or a reduction with its init, alone in one loop from 0 for "
            "each iterator; pad it before its loops are split or fused",
            e->block->name);
    return true;
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
    for (Cursor at = cursor_expr(e->s->ctx, e->update->u.store.value); cursor_next(&at);) {
        const Expr *d = at.expr;
        REQUIRE(e->s, E0832, e->call->span, !einsum_divides_integers(d),
                "block '%s' divides integers by %s, which may be 0 in the padding", e->block->name,
                expr_text(e->s->ctx, d->u.arg[1]));
    }
    return true;
}

/* ---- the copies ------------------------------------------------------------------------------ */

/* An operand is longer than the iterator on this axis, and all of it is set. Beyond the edge of a
 * padded iterator it has all that terms need: their padding where it is an operand of theirs. */
static bool has_room(const Einsum *e, const Access *a, int axis, int iter)
{
    const BlockIter *of = &e->block->iters[iter];
    if (!filled_before(e->s, (NestPlace){&e->path, e->top}, a->buffer))
        return false;
    return !e->padded[iter] ||
           (!e->shift[iter] &&
            expr_equal(a->buffer->shape[axis], shape_extent(e->s->ctx, e->padded[iter])) &&
            (of->kind == ITER_SPATIAL ||
             filled_with(e->s, a->buffer, (AxisPart){axis, of->hi, e->padded[iter]},
                         einsum_fill(e, a->buffer))));
}

/* The buffer has the elements that the iterators speak of; what is written has no others. */
static bool check_axes(Einsum *e, const Access *a)
{
    bool written = a->buffer->id == e->update->u.store.buffer->id;
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = einsum_iter(e->block, a->index[axis]);
        Expr *extent = a->buffer->shape[axis];
        bool fits = iter < 0 ? !written || expr_is(extent, 1)
                             : einsum_is_axis(e->s->ctx, extent, &e->block->iters[iter]) ||
                                   (!written && has_room(e, a, axis, iter));
        REQUIRE(e->s, E0831, e->call->span, fits,
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
        int iter = einsum_iter(e->block, a->index[axis]);
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

/* ---- the step -------------------------------------------------------------------------------- */

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
    pad->shape = einsum_shape(e, a);
    VEC_PUSH(c->arena, &p->temps, stmt_temp(c, pad, e->call->span));
    p->block = stmt_replace_buffer(c, p->block, from, pad);
    if (written) {
        Name crop = sched_fresh_name(s, arena_printf(c->arena, "%s_crop", from->name));
        VEC_PUSH(c->arena, &p->after, einsum_copy(e, NULL, from, pad, crop));
        return;
    }
    Stmt *nest = einsum_copy(e, einsum_shifts(e, a), pad, from, pad->name);
    VEC_PUSH(c->arena, &p->before, nest);
    VEC_PUSH(c->arena, &p->blocks, value_block(stmt_nest_block(nest)));
}

/* The operand has what the padded iterators speak of. */
static bool has_all(Einsum *e, const Access *a)
{
    Expr **shape = einsum_shape(e, a);
    bool all = a->buffer->id != e->update->u.store.buffer->id;
    for (int axis = 0; axis < a->buffer->rank && all; axis++)
        all = expr_equal(shape[axis], a->buffer->shape[axis]);
    return all;
}

/* All accesses of the block to the buffer have the subscripts of this one, or are of other parts of
 * the same element. */
static bool check_one_subscript(Einsum *e, const AccessList *all, const Access *a)
{
    for (int k = 0; k < all->n; k++)
        REQUIRE(e->s, E0831, e->call->span,
                all->items[k].buffer->id != a->buffer->id ||
                    einsum_are_parts(all->items[k].index, a->index, a->buffer->rank),
                "block '%s' accesses '%s' at different subscripts; an einsum accesses each "
                "buffer at one subscript, but for numbers",
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
        REQUIRE(e->s, E0831, e->call->span, !touched || !stmt_awaits(c, p->block, a->buffer),
                "block '%s' awaits elements of '%s', and none comes for the padding; run this step "
                "before publish",
                e->block->name, a->buffer->name);
        for (int k = 0; k < done.n; k++)
            known |= done.items[k]->id == a->buffer->id;
        if (!touched || known || has_all(e, a))
            continue;
        VEC_PUSH(c->arena, &done, a->buffer);
        if (!einsum_growth(e, a, written, &growth)) {
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
    VEC_PUSH(c->arena, &items, einsum_nest(c, &e->path, e->top, p->block, e->padded));
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
        !einsum_find_fills(&e) || !check_divisors(&e) || !pad_buffers(&e, &p))
        return false;
    sched_replace_body(s, put_together(&e, &p));
    for (int i = 0; i < p.after.n; i++)
        VEC_PUSH(c->arena, &p.blocks, value_block(stmt_nest_block(p.after.items[i])));
    *result = value_list(s, p.blocks.items, p.blocks.n);
    return true;
}
