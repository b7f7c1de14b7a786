/* padding.c - decompose_padding, can_decompose_padding, pad_einsum: iterations beyond the edge, on zeros.
 *
 *   for i in 66                                        for i in 66
 *       p[i] = i >= 1 && i < 65 ? x[i - 1] : 0;  =>        block p_pad(..) { p[i] = 0; }
 *                                                      for i in 66
 *                                                          block p(..) where i >= 1 && i < 65 { p[i] = x[i - 1]; }
 *
 *   pad_einsum(C, [16, 16, 16]):  A_pad = A with zeros up to multiples of 16;  C_pad += A_pad * B_pad, without guards for
 *   any tile of 16;  C = the part of C_pad that C has.
 *
 * Invariants: every element of C is what it was, since the added terms are products of zeros and a sum that starts from a literal does
 * not change by them; nothing reads what lies beyond the edge. */
#include <math.h>

#include "passes/lower/lower.h"
#include "passes/schedule/stage.h"

/* ---- decompose_padding -------------------------------------------------------------------------- */

/* The block's store, taken apart:  buffer[..] = cond ? value : fill. */
typedef struct {
    const Stmt *store;
    Expr *cond, *value, *fill;
} Padding;

static bool is_literal(const Expr *e)
{
    return e->kind == EX_INT || e->kind == EX_FLOAT || (e->kind == EX_CAST && is_literal(e->u.arg[0]));
}

static bool find_padding(Schedule *s, const Stmt *block, Span span, Padding *p)
{
    Context *c = s->ctx;
    p->store = flow_single_store(block);
    const Expr *e = p->store ? p->store->u.store.value : NULL;
    bool chosen = e && p->store->u.store.op == STORE_SET && !block->u.block.init && e->kind == EX_SELECT &&
                  !expr_has_load(e->u.arg[0]) && is_literal(e->u.arg[1]) != is_literal(e->u.arg[2]);
    REQUIRE(s, E0830, span, chosen,
            "block '%s' is not one store of a value where a condition on its iterators holds and of a literal elsewhere: "
            "p[i] = i < N ? x[i] : 0",
            block->u.block.name);
    bool fills_else = is_literal(e->u.arg[2]);
    p->cond = fills_else ? e->u.arg[0] : expr_unary(c, EX_NOT, e->u.arg[0], e->span);
    p->value = e->u.arg[fills_else ? 1 : 2];
    p->fill = e->u.arg[fills_else ? 2 : 1];
    return true;
}

/* The fill and the copy together do what the block does only if each element is written once, and nothing in the loop sees it in
 * between. */
static bool check_padding(Schedule *s, const PrimCall *call, const StmtPath *path, int anchor, const Padding *p)
{
    const Stmt *block = path->items[path->n - 1];
    Buffer *buffer = p->store->u.store.buffer;
    int *axes = ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1);
    BlockList others = {0};
    REQUIRE(s, E0830, call->span, anchor >= 0, "the loop is not around block '%s'", block->u.block.name);
    REQUIRE(s, E0830, call->span,
            flow_pure_index(&block->u.block, buffer, p->store->u.store.index, axes) &&
                block->u.block.n_iters == buffer->rank && !stmt_is_reduction(&block->u.block) && !block->u.block.predicate,
            "block '%s' does not write each element of '%s' at its own iterators, all of them, without a condition of its own",
            block->u.block.name, buffer->name);
    flow_blocks(s, path->items[anchor], buffer, ACCESS_ANY, &others);
    for (int i = 0; i < others.n; i++)
        REQUIRE(s, E0830, call->span, others.items[i] == block,
                "block '%s' in loop '%s' touches '%s', too, and would find the padding where it finds something else now; choose a "
                "loop further in",
                others.items[i]->u.block.name, stmt_label(path->items[anchor]), buffer->name);
    REQUIRE(s, E0830, call->span, !flow_touches(s, path->items[path->n - 1]->u.block.body, buffer, ACCESS_READ),
            "block '%s' reads '%s'", block->u.block.name, buffer->name);
    return true;
}

static int anchor_of(const StmtPath *path, uint32_t loop)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.id == loop)
            return i;
    return -1;
}

bool prim_can_decompose_padding(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Padding p;
    DiagMark mark = diag_mark(s->ctx);
    Stmt *block = sched_block(s, &call->arg[0], &path);
    bool can = find_padding(s, block, call->span, &p) &&
               check_padding(s, call, &path, anchor_of(&path, call->arg[1].u.id), &p);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}

bool prim_decompose_padding(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    Padding p;
    Stmt *block = sched_block(s, &call->arg[0], &path), *nest, *copy;
    int anchor = anchor_of(&path, call->arg[1].u.id);
    if (!find_padding(s, block, call->arg[0].span, &p) || !check_padding(s, call, &path, anchor, &p))
        return false;
    BlockStmt apart = block->u.block;
    apart.init = stmt_store(c, p.store->u.store.buffer, p.store->u.store.index, STORE_SET, p.fill, false, p.store->span);
    apart.body = stmt_store(c, p.store->u.store.buffer, p.store->u.store.index, STORE_SET, p.value, false, p.store->span);
    path.items[path.n - 1] = stmt_block(c, &apart, block->span);
    if (!reduction_take_init(c, s->kernel, &path, anchor, &nest, &copy))
        return false;
    BlockStmt fill = stage_block(nest)->u.block, inside = copy->u.block;
    fill.name = sched_fresh_name(s, arena_printf(c->arena, "%s_pad", inside.name));
    nest = stmt_replace(c, nest, stage_block(nest), stmt_block(c, &fill, block->span));
    Expr *cond = simplify(sched_facts(s, &path), iters_to_loops(c, &inside, p.cond));
    inside.predicate = cond->kind == EX_INT && cond->u.i ? NULL : cond;
    Stmt *loop = path.items[anchor];
    Stmt *pair[2] = {nest, stmt_replace(c, loop, block, stmt_block(c, &inside, block->span))};
    sched_replace(s, loop, stmt_seq(c, pair, 2, loop->span));
    *result = value_block(stage_block(nest));
    return true;
}

/* ---- pad_einsum: what is padded ------------------------------------------------------------------ */

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path;
    int top;                /* index on it of the outermost loop of the nest */
    const BlockStmt *block;
    const Stmt *update;
    Expr **padded;          /* [n_iters] the extent that an iterator gets, or NULL */
} Einsum;

static bool reads(Schedule *s, Expr *e, const Buffer *b)
{
    AccessList found = {0};
    access_collect_expr(s->ctx, e, b, &found);
    return found.n > 0;
}

/* The iterator that an expression is, alone; -1. */
static int iter_of(const BlockStmt *block, const Expr *e)
{
    for (int i = 0; i < block->n_iters; i++)
        if (e->kind == EX_VAR && e->u.var == block->iters[i].var)
            return i;
    return -1;
}

static bool find_extents(Einsum *e)
{
    Schedule *s = e->s;
    const Value *padding = &e->call->arg[1];
    Facts *facts = facts_new(s->ctx);
    REQUIRE(s, E0831, e->call->span, padding->u.list.n == e->block->n_iters,
            "block '%s' has %d iterators, and there are %d paddings; give one for each, 1 for none", e->block->name,
            e->block->n_iters, padding->u.list.n);
    e->padded = ARENA_ARRAY(s->ctx->arena, Expr *, e->block->n_iters + 1);
    for (int i = 0; i < e->block->n_iters; i++) {
        int64_t to = padding->u.list.items[i].u.i;
        REQUIRE(s, E0831, e->call->span, to >= 1 && to <= INT32_MAX, "a padding is a number from 1 up, found %lld", (long long)to);
        Expr *unit = expr_index(s->ctx, to), *hi = e->block->iters[i].hi;
        if (prove_divisible(facts, hi, to))
            continue;
        e->padded[i] = simplify(facts, index_mul(s->ctx, index_ceildiv(s->ctx, hi, unit), unit));
    }
    return true;
}

/* The iterators are the loops of a perfect nest that holds the block alone, each from 0 to its extent. */
static bool check_nest(Einsum *e)
{
    Schedule *s = e->s;
    int n = 0;
    for (e->top = e->path.n - 1; e->top > 0 && e->path.items[e->top - 1]->kind == ST_FOR && n < e->block->n_iters; n++)
        e->top--;
    for (int i = e->top; i + 1 < e->path.n; i++)
        if (!sched_require_plain(s, e->path.items[i], e->call->span))
            return false;
    bool trivial = n == e->block->n_iters && !e->block->predicate && e->block->init;
    for (int i = 0; i < n && trivial; i++) {
        const BlockIter *iter = &e->block->iters[i];
        int64_t lo;
        int users = 0;
        for (int k = e->top; k + 1 < e->path.n; k++) {
            const ForStmt *loop = &e->path.items[k]->u.loop;
            users += loop->step == 1 && iter->binding->kind == EX_VAR && iter->binding->u.var == loop->var &&
                     expr_equal(loop->hi, iter->hi) && expr_equal(loop->lo, iter->lo);
        }
        trivial = users == 1 && expr_is_const(iter->lo, &lo) && lo == 0;
    }
    REQUIRE(s, E0831, e->call->span, trivial,
            "block '%s' is not a reduction with its init, alone in one loop from 0 for each of its iterators; pad it before its loops are "
            "split or fused",
            e->block->name);
    return true;
}

/* Beyond the edge of iterator `iter`, where everything that it is a subscript of is 0, the value is 0: of floats a product of
 * zeros only, as 0 times infinity is none. */
static bool vanishes(const Einsum *e, const Expr *value, int iter)
{
    switch (value->kind) {
    case EX_LOAD:
        for (int axis = 0; axis < value->u.load.buffer->rank; axis++)
            if (iter_of(e->block, value->u.load.index[axis]) == iter)
                return true;
        return false;
    case EX_CAST:
        return vanishes(e, value->u.arg[0], iter);
    case EX_MUL: {
        bool a = vanishes(e, value->u.arg[0], iter), b = vanishes(e, value->u.arg[1], iter);
        return type_is_float(value->type) ? a && b : a || b;
    }
    case EX_ADD:
    case EX_SUB:
        return vanishes(e, value->u.arg[0], iter) && vanishes(e, value->u.arg[1], iter);
    default:
        return false;
    }
}

/* Terms of 0 do not change the sum. One of floats starts from a literal that is not -0, so it never becomes -0, which 0 would change. */
static bool check_terms(Einsum *e)
{
    Schedule *s = e->s;
    const Stmt *init = e->block->init;
    while (init->kind == ST_SEQ && init->u.seq.n == 1)
        init = init->u.seq.items[0];
    const Expr *start = init->kind == ST_STORE ? init->u.store.value : NULL;
    bool steady = start && (!type_is_float(e->update->u.store.buffer->type) || (start->kind == EX_FLOAT && !signbit(start->u.f)));
    for (int i = 0; i < e->block->n_iters; i++) {
        if (!e->padded[i] || e->block->iters[i].kind != ITER_REDUCE)
            continue;
        REQUIRE(s, E0832, e->call->span, steady && e->update->u.store.op == STORE_ADD,
                "iterator '%s' of block '%s' can only be padded in a sum that starts from a literal, because there terms of 0 change "
                "nothing",
                e->block->iters[i].var->name, e->block->name);
        REQUIRE(s, E0832, e->call->span, vanishes(e, e->update->u.store.value, i),
                "block '%s' adds %s, which need not be 0 where '%s' is beyond its edge and its operands are padded with 0: each "
                "factor has to have '%s' as a subscript (0 times infinity is not 0)",
                e->block->name, sched_text(s, e->update->u.store.value), e->block->iters[i].var->name,
                e->block->iters[i].var->name);
    }
    return true;
}

/* ---- pad_einsum: the copies ---------------------------------------------------------------------- */

/* The buffer has exactly the elements that the iterators speak of; what is written has no others. */
static bool check_axes(Einsum *e, const Access *a)
{
    bool written = a->buffer->id == e->update->u.store.buffer->id;
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
        REQUIRE(e->s, E0831, e->call->span, iter < 0 ? !written : expr_equal(a->buffer->shape[axis], e->block->iters[iter].hi),
                "axis %d of '%s' has %s elements, and subscript %s of block '%s' takes other ones; what is padded is used whole", axis,
                a->buffer->name, sched_text(e->s, a->buffer->shape[axis]), sched_text(e->s, a->index[axis]), e->block->name);
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
                    alone || !e->padded[i] || !expr_uses_var(a->index[axis], e->block->iters[i].var),
                    "subscript %s of '%s' is more than the iterator '%s', which is to be padded; an einsum has "
                    "iterators alone as subscripts",
                    sched_text(e->s, a->index[axis]), a->buffer->name, e->block->iters[i].var->name);
    }
    return !*touched || check_axes(e, a);
}

/* The axes of `of` that padded iterators are subscripts of, as long as those become. */
static Buffer *padded_buffer(Einsum *e, const Access *a)
{
    Context *c = e->s->ctx;
    Buffer *to = stage_buffer(e->s, a->buffer, "pad", SCOPE_GLOBAL, e->call->span);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, to->rank + 1);
    for (int axis = 0; axis < to->rank; axis++) {
        int iter = iter_of(e->block, a->index[axis]);
        shape[axis] = iter >= 0 && e->padded[iter] ? e->padded[iter] : a->buffer->shape[axis];
    }
    to->shape = shape;
    return to;
}

/* to[v] = from[v] over the shape of `to`; if it pads, with zeros where that is larger. */
static Stmt *copy_between(Einsum *e, bool pads, Buffer *to, Buffer *from, Name name)
{
    Context *c = e->s->ctx;
    int n = to->rank;
    Var **vars = ARENA_ARRAY(c->arena, Var *, n + 1);
    Expr **index = ARENA_ARRAY(c->arena, Expr *, n + 1), **lo = ARENA_ARRAY(c->arena, Expr *, n + 1), *inside = NULL;
    for (int axis = 0; axis < n; axis++) {
        vars[axis] = var_new(c, ctx_namef(c, "v%d", axis), DT_INDEX, VAR_ITER, e->call->span);
        index[axis] = expr_var(c, vars[axis], span_none());
        lo[axis] = expr_index(c, 0);
        if (pads && !expr_equal(to->shape[axis], from->shape[axis]))
            inside = cond_and(c, inside, expr_binary(c, EX_LT, index[axis], from->shape[axis], span_none()));
    }
    Expr *value = expr_load(c, from, index, e->call->span);
    if (inside) {
        Expr *zero = type_is_float(to->type) ? expr_float(c, to->type, 0, span_none()) : expr_int(c, to->type, 0, span_none());
        value = expr_select(c, inside, value, zero, e->call->span);
    }
    StageNest nest = {.block = name, .n = n, .iters = vars, .lo = lo, .hi = to->shape,
                      .body = stmt_store(c, to, index, STORE_SET, value, false, e->call->span)};
    return stage_nest(e->s, &nest, e->call->span);
}

/* The nest itself with its iterators as long as they become. */
static Stmt *padded_nest(Einsum *e, Stmt *block)
{
    Context *c = e->s->ctx;
    BlockStmt padded = block->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, padded.n_iters + 1);
    for (int i = 0; i < padded.n_iters; i++) {
        iters[i] = padded.iters[i];
        iters[i].hi = e->padded[i] ? e->padded[i] : iters[i].hi;
    }
    padded.iters = iters;
    Stmt *nest = stmt_block(c, &padded, block->span);
    for (int k = e->path.n - 2; k >= e->top; k--) {
        ForStmt loop = e->path.items[k]->u.loop;
        for (int i = 0; i < padded.n_iters; i++)
            if (e->padded[i] && iters[i].binding->u.var == loop.var)
                loop.hi = e->padded[i];
        loop.body = nest;
        nest = stmt_for(c, &loop, e->path.items[k]->span);
    }
    return nest;
}

bool prim_pad_einsum(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Einsum e = {.s = s, .call = call};
    Stmt *block = sched_block(s, &call->arg[0], &e.path);
    e.block = &block->u.block;
    e.update = flow_single_store(block);
    REQUIRE(s, E0831, call->span, e.update && e.update->u.store.op != STORE_SET, "block '%s' is not one update, as C[i, j] += ...",
            e.block->name);
    REQUIRE(s, E0831, call->span, !reads(s, e.update->u.store.value, e.update->u.store.buffer),
            "block '%s' reads '%s', which it writes", e.block->name, e.update->u.store.buffer->name);
    if (!find_extents(&e) || !check_nest(&e) || !check_terms(&e))
        return false;
    AccessList all = {0};
    access_collect(c, block, NULL, ACCESS_ANY, &all);
    VEC(Stmt *) items = {0}, after = {0}, temps = {0};
    VEC(Value) blocks = {0};
    VEC(const Buffer *) done = {0};
    Stmt *now = block;
    for (int i = 0; i < all.n; i++) {
        const Access *a = &all.items[i];
        bool touched, known = false, written = a->buffer->id == e.update->u.store.buffer->id;
        if (!touches_padded(&e, a, &touched))
            return false;
        for (int k = 0; k < done.n; k++)
            known |= done.items[k]->id == a->buffer->id;
        for (int k = 0; k < all.n && touched; k++)
            for (int axis = 0; axis < a->buffer->rank && all.items[k].buffer->id == a->buffer->id; axis++)
                REQUIRE(s, E0831, call->span, expr_equal(all.items[k].index[axis], a->index[axis]),
                        "block '%s' touches '%s' at different subscripts; an einsum touches each buffer at one", e.block->name,
                        a->buffer->name);
        if (!touched || known)
            continue;
        VEC_PUSH(c->arena, &done, a->buffer);
        Buffer *from = sched_buffer(s, a->buffer->id), *pad = padded_buffer(&e, a);
        VEC_PUSH(c->arena, &temps, stmt_temp(c, pad, call->span));
        now = stmt_replace_buffer(c, now, from, pad);
        Stmt *nest = written ? copy_between(&e, false, from, pad, sched_fresh_name(s, arena_printf(c->arena, "%s_crop", from->name)))
                             : copy_between(&e, true, pad, from, pad->name);
        if (written) {
            VEC_PUSH(c->arena, &after, nest);
            continue;
        }
        VEC_PUSH(c->arena, &items, nest);
        VEC_PUSH(c->arena, &blocks, value_block(stage_block(nest)));
    }
    VEC_PUSH(c->arena, &items, padded_nest(&e, now));
    for (int i = 0; i < after.n; i++) {
        VEC_PUSH(c->arena, &items, after.items[i]);
        VEC_PUSH(c->arena, &blocks, value_block(stage_block(after.items[i])));
    }
    Stmt *body = stmt_replace(c, s->kernel->body, e.path.items[e.top], stmt_seq(c, items.items, items.n, block->span));
    for (int i = 0; i < temps.n; i++)
        body = flow_declare(s, body, temps.items[i]->u.temp);
    sched_replace_body(s, body);
    *result = value_list(s, blocks.items, blocks.n);
    return true;
}
