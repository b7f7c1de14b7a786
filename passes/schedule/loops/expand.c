/* expand.c - Implements expand: declares the temporaries of a loop's body outside of the loop, with
 * an element for each iteration.
 *
 *   for i in M {                             temp s: f32[M];
 *       temp s: f32;                         for i in M {
 *       for k in K                     =>        for k in K
 *           s += x[i, k];                            s[i] += x[i, k];
 *       y[i] = s;                                y[i] = s[i];
 *   }                                        }
 *
 * Compilers call this scalar expansion. A fission of the loop may then cut between the writers of a
 * temporary and its readers, since no iteration overwrites the value of another.
 *
 * Kinds of loops stay right: two accesses touch one element where they did before, since they come
 * from one iteration.
 *
 * A list of temporaries leaves out the others.
 *
 * Legal: the number of iterations is made of sizes, and so are the shapes of the temporaries.
 * Invariant: each iteration has the same elements for itself, before and after. */
#include "passes/schedule/loops/loop.h"

typedef struct {
    Schedule *s;
    Span span;
    const Value *temps; /* those that are meant, or none: all */
    Stmt *loop;
    Facts *facts;           /* that hold around it */
    Expr *lo, *hi, *extent; /* of the loop's values */
    const Buffer *from;     /* a temporary of the body ... */
    Buffer *to;             /* ... and with an axis for the iterations */
    Var *at;                /* the iterator that is the loop, in the block at work */
} Expand;

/* ---- check ----------------------------------------------------------------------------------- */

static bool check_range(Expand *e, const StmtPath *path)
{
    Context *c = e->s->ctx;
    loop_domain(c, &e->loop->u.loop, &e->lo, &e->hi);
    const Var *around = expr_loop_var(c, e->lo);
    around = around ? around : expr_loop_var(c, e->hi);
    REQUIRE(e->s, E0485, e->span, !around,
            "the range of loop '%s' depends on loop '%s', so it has no one number of iterations; "
            "widen makes the range independent",
            stmt_label(e->loop), around->name);
    REQUIRE(e->s, E0485, e->span, !expr_has_load(e->lo) && !expr_has_load(e->hi),
            "data decide the range of loop '%s', and shapes are made of sizes; expand a loop "
            "around it",
            stmt_label(e->loop));
    e->facts = sched_facts(e->s, path);
    Expr *extent = simplify(e->facts, index_sub(c, e->hi, e->lo));
    e->extent = shape_extent(c, index_at_least(e->facts, extent, 0));
    return true;
}

static bool is_meant(const Expand *e, const Buffer *temp)
{
    for (int i = 0; e->temps->kind != VALUE_NONE && i < e->temps->u.list.n; i++)
        if (e->temps->u.list.items[i].u.id == temp->id)
            return true;
    return e->temps->kind == VALUE_NONE;
}

/* A temporary of the body that all iterations would share, if they ran at once. */
static bool is_shared(const Expand *e, const Stmt *item)
{
    return item->kind == ST_TEMP && item->u.temp->scope == SCOPE_GLOBAL &&
           is_meant(e, item->u.temp);
}

/* The temporaries of a statement in the body, also under conditions. */
static void find_shared(const Expand *e, Stmt *s, StmtList *out)
{
    if (s->kind == ST_TEMP && is_shared(e, s))
        VEC_PUSH(e->s->ctx->arena, out, s);
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        find_shared(e, s->u.seq.items[i], out);
    if (s->kind == ST_IF)
        find_shared(e, s->u.cond.then, out);
    if (s->kind == ST_IF && s->u.cond.otherwise)
        find_shared(e, s->u.cond.otherwise, out);
}

static StmtList shared_temps(const Expand *e)
{
    StmtList temps = {0};
    find_shared(e, e->loop->u.loop.body, &temps);
    return temps;
}

static bool is_declared(const StmtList *temps, const Value *temp)
{
    for (int i = 0; i < temps->n; i++)
        if (temps->items[i]->u.temp->id == temp->u.id)
            return true;
    return false;
}

static bool check_temps(const Expand *e, const StmtList *temps)
{
    for (int i = 0; i < temps->n; i++)
        if (!flow_require_fixed_shape(e->s, temps->items[i]->u.temp, E0485, e->span))
            return false;
    REQUIRE_AT(e->s, E0485, e->span, temps->n, e->loop,
               "loop '%s' declares no temporary in global memory, so there is nothing to expand",
               stmt_label(e->loop));
    for (int i = 0; e->temps->kind != VALUE_NONE && i < e->temps->u.list.n; i++) {
        const Value *temp = &e->temps->u.list.items[i];
        REQUIRE_AT(e->s, E0485, temp->span, is_declared(temps, temp), e->loop,
                   "loop '%s' does not declare '%s' in global memory", stmt_label(e->loop),
                   sched_buffer(e->s, temp->u.id)->name);
    }
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* Its name, unless something else of the kernel has it as well, beside a block, and lets in
 * blocks. */
static Name name_outside(const Expand *e, const Buffer *temp)
{
    const NameUse *use = state_name(e->s, temp->name);
    bool alone = use->loops == 0 && use->others - use->lets == 1 + (use->block != 0);
    return alone ? temp->name : sched_fresh_name(e->s, temp->name);
}

static Buffer *expanded(const Expand *e, const Buffer *temp)
{
    Context *c = e->s->ctx;
    Buffer *to = buffer_copy(c, temp);
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, temp->rank + 1);
    shape[0] = e->extent;
    for (int i = 0; i < temp->rank; i++)
        shape[i + 1] = temp->shape[i];
    to->shape = shape;
    to->rank++;
    to->name = name_outside(e, temp);
    to->origin = e->span;
    return to;
}

static Expr *const *element(const Expand *e, Expr *const *index)
{
    Context *c = e->s->ctx;
    Expr **out = ARENA_ARRAY(c->arena, Expr *, e->to->rank);
    Expr *at = index_sub(c, expr_var(c, e->at, span_none()), e->lo);
    out[0] = simplify(facts_new(c), at);
    for (int i = 0; i < e->from->rank; i++)
        out[i + 1] = index[i];
    return out;
}

static Expr *expand_load(Rewriter *r, Expr *load)
{
    const Expand *e = r->user;
    if (!expr_is_load(load, e->from))
        return load;
    return expr_load(r->ctx, e->to, element(e, load->u.load.index), load->span);
}

static Stmt *expand_store(Rewriter *r, Stmt *stmt)
{
    const Expand *e = r->user;
    if (stmt->kind != ST_STORE || stmt->u.store.buffer->id != e->from->id)
        return stmt;
    return stmt_store_like(r->ctx, stmt, e->to, element(e, stmt->u.store.index),
                           stmt->u.store.value);
}

/* The iterator has no other values than the loop. */
static bool stays_in_loop(const Expand *e, const BlockIter *iter)
{
    return prove_compare(e->facts, iter->lo, EX_GE, e->lo) &&
           prove_compare(e->facts, iter->hi, EX_LE, e->hi);
}

/* The iterator that is the loop, over all its values or fewer, or NULL. An element that the block
 * writes differs between these, so they are not of one reduction. */
static Var *iterator_of_loop(const Expand *e, const BlockStmt *block, bool writes)
{
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if ((iter->kind == ITER_SPATIAL || !writes) &&
            expr_is_var(iter->binding, e->loop->u.loop.var) && stays_in_loop(e, iter))
            return iter->var;
    }
    return NULL;
}

/* The loop's name, unless an iterator of the block has it. */
static Name iterator_name(const Expand *e, const BlockStmt *block)
{
    Name name = e->loop->u.loop.var->name;
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].var->name == name)
            return sched_fresh_name(e->s, name);
    return name;
}

/* Gives the block such an iterator, which leaves its init where it is. */
static Var *add_iterator(const Expand *e, BlockStmt *block, IterKind kind)
{
    Context *c = e->s->ctx;
    Var *var = var_new(c, iterator_name(e, block), DT_INDEX, VAR_ITER, e->span);
    Expr *binding = expr_var(c, e->loop->u.loop.var, e->span);
    BlockIter *iters = block_own_iters(c, block, 1);
    iters[block->n_iters++] = (BlockIter){var, e->lo, e->hi, binding, kind};
    return var;
}

static Stmt *expand_block(Rewriter *r, Stmt *stmt)
{
    Expand *e = r->user;
    if (stmt->kind != ST_BLOCK || !stmt_accesses(r->ctx, stmt, e->from, ACCESS_ANY))
        return stmt;
    BlockStmt block = stmt->u.block;
    Rewriter inner = {.ctx = r->ctx, .user = e, .expr = expand_load, .stmt = expand_store};
    bool writes = stmt_accesses(r->ctx, stmt, e->from, ACCESS_WRITE);
    bool reduced = !writes && block_uses_loop(&block, ITER_REDUCE, e->loop->u.loop.var);
    e->at = iterator_of_loop(e, &block, writes);
    if (!e->at)
        e->at = add_iterator(e, &block, reduced ? ITER_REDUCE : ITER_SPATIAL);
    if (block.init)
        block.init = rewrite_stmt(&inner, block.init);
    Stmt *body = rewrite_stmt(&inner, block.body);
    block.body = block_body_at_init(r->ctx, &stmt->u.block, block.init, body);
    return stmt_block(r->ctx, &block, stmt->span);
}

/* The body without these temporaries, which are added to `out` as they are outside. */
static Stmt *expand_body(Expand *e, const StmtList *temps, StmtList *out)
{
    Context *c = e->s->ctx;
    Stmt *body = e->loop->u.loop.body;
    for (int i = 0; i < temps->n; i++) {
        Stmt *temp = temps->items[i];
        e->from = temp->u.temp;
        e->to = expanded(e, e->from);
        body = stmt_replace(c, body, temp, NULL);
        body = rewrite_stmt(&(Rewriter){.ctx = c, .user = e, .stmt = expand_block}, body);
        VEC_PUSH(c->arena, out, stmt_temp(c, e->to, temp->span));
    }
    return body;
}

bool prim_expand(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    StmtList items = {0};
    Expand e = {.s = s, .span = call->expand.loop.span, .temps = &call->expand.temps};
    e.loop = sched_node(s, &call->expand.loop, &path);
    StmtList temps = shared_temps(&e);
    if (!sched_require_serial(s, e.loop, e.span) || !check_range(&e, &path) ||
        !check_temps(&e, &temps))
        return false;

    Stmt *inside = expand_body(&e, &temps, &items);
    VEC_PUSH(c->arena, &items, loop_with_body(c, e.loop, inside));
    Stmt *now = stmt_seq(c, items.items, items.n, e.loop->span);
    Stmt *body = stmt_replace(c, s->kernel->body, e.loop, now);
    sched_replace_body(s, body);
    (void)result;
    return true;
}
