/* privatize.c - Implements privatize: gives each iteration of a loop a copy of what it updates.
 *
 *   for p in 4, i in 64                         for p in 4 {
 *       hist[color[p * 64 + i]] += 1;               temp hist_private: i32[256];
 *                                       =>          for ax0 in 256
 *                                                       hist_private[ax0] = 0;
 *                                                   for i in 64
 *                                                       hist_private[color[p * 64 + i]] += 1;
 *                                                   for ax0 in 256
 *                                                       hist[ax0] += hist_private[ax0]; }
 *
 * Legal: below the loop there is one block, whose stores all update one buffer by one operator that
 * is associative and commutative and has an identity, and which reads nothing of that buffer. Every
 * element has a value before the loop, since all are updated behind it.
 * Invariant: each value is combined with one copy, and each copy with the buffer. The copying
 * blocks cover what an iteration of the loop may update. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/enter.h"

typedef struct {
    Schedule *s;
    Span span;
    StmtPath path; /* to the loop */
    Stmt *loop, *block;
    Buffer *buffer; /* that the block updates */
    StoreOp op;
    Buffer *copy;
    const Interval *box; /* the elements that an iteration may update; NULL: all */
} Privatize;

/* ---- check ----------------------------------------------------------------------------------- */

/* Below the loop there is one block and nothing but loops. */
static bool find_block(Privatize *p)
{
    Stmt *at = p->loop;
    while (at->kind == ST_FOR)
        at = at->u.loop.body;
    REQUIRE(p->s, E0475, p->span, at->kind == ST_BLOCK,
            "loop '%s' does not contain exactly one block in a nest of loops, so its iterations "
            "have no single result to keep a copy of",
            stmt_label(p->loop));
    p->block = at;
    const Var *depends = expr_loop_var(p->s->ctx, p->loop->u.loop.lo);
    depends = depends ? depends : expr_loop_var(p->s->ctx, p->loop->u.loop.hi);
    REQUIRE(p->s, E0475, p->span, !depends,
            "the range of loop '%s' depends on loop '%s'; split the loop and use the outer one "
            "of the two",
            stmt_label(p->loop), depends->name);
    return true;
}

static bool check_store(Privatize *p, const StoreStmt *store)
{
    Name block = p->block->u.block.name, buffer = store->buffer->name;
    REQUIRE(p->s, E0476, p->span,
            reducer_neutral(p->s->ctx, store->op, store->buffer->type, p->span) != NULL,
            "block '%s' stores to '%s' by '%s', which has no identity that a copy could start from",
            block, buffer, store_op_token(store->op));
    REQUIRE(p->s, E0476, p->span, !p->buffer || p->buffer->id == store->buffer->id,
            "block '%s' updates both '%s' and '%s'; fission the loop so that each has a block",
            block, p->buffer->name, buffer);
    REQUIRE(p->s, E0476, p->span, !p->buffer || p->op == store->op,
            "block '%s' updates '%s' by '%s' and by '%s', whose order matters", block, buffer,
            store_op_token(p->op), store_op_token(store->op));
    p->buffer = store->buffer;
    p->op = store->op;
    return true;
}

/* A load of the buffer in the loop. */
static bool reads_buffer(const Privatize *p)
{
    for (Cursor at = cursor_stmt(p->s->ctx, p->loop); cursor_next(&at);)
        if (at.expr && expr_is_load(at.expr, p->buffer))
            return true;
    return false;
}

/* Fills in what the block updates. */
static bool find_update(Privatize *p)
{
    const BlockStmt *block = &p->block->u.block;
    REQUIRE(p->s, E0476, p->span, !block->init,
            "block '%s' initializes what it updates; use rfactor, which gives each iteration a "
            "result of its own",
            block->name);
    REQUIRE(p->s, E0476, p->span, !block_in_order(block),
            "the updates of block '%s' keep their order (@in_order), and copies add up apart",
            block->name);
    for (Cursor at = cursor_stmts(p->s->ctx, block->body); cursor_next(&at);) {
        REQUIRE(p->s, E0476, p->span, at.stmt->kind != ST_SEQ || !at.stmt->u.seq.combiner,
                "block '%s' updates a tuple, and privatize takes a single buffer", block->name);
        if (at.stmt->kind == ST_STORE && !check_store(p, &at.stmt->u.store))
            return false;
    }
    REQUIRE(p->s, E0476, p->span, !reads_buffer(p),
            "block '%s' updates '%s' and also reads it elsewhere, where a copy has other values",
            block->name, p->buffer->name);
    return flow_require_fixed_shape(p->s, p->buffer, E0476, p->span);
}

/* ---- build ----------------------------------------------------------------------------------- */

static const Interval *updated_box(Privatize *p)
{
    BoxOf of = {&p->path, p->buffer, ACCESS_WRITE, p->copy->scope};
    Interval *box = ARENA_ARRAY(p->s->ctx->arena, Interval, p->buffer->rank + 1);
    Facts *facts = sched_facts(p->s, &p->path);
    facts_enter(facts, p->loop);
    return stage_box(p->s, facts, &of, box) ? box : NULL;
}

/* A block over the box: `to` op= the value that `from` has, or the identity (NULL). */
static Stmt *over_box(const Privatize *p, const char *suffix, StoreStmt store, const Buffer *from)
{
    Schedule *s = p->s;
    Context *c = s->ctx;
    Expr **index;
    StageNest nest = stage_over(s, p->buffer, NULL, p->span, &index);
    nest.box = p->box;
    nest.block = sched_fresh_name(s, arena_printf(c->arena, "%s_%s", p->buffer->name, suffix));
    store.index = index;
    store.value = from ? expr_load(c, (Buffer *)from, index, p->span)
                       : reducer_neutral(c, p->op, p->buffer->type, p->span);
    nest.body = stmt_store(c, &store, p->span);
    return stage_nest(s, &nest, p->span);
}

/* The loop, or one below it, decides the condition. */
static bool decided_inside(const Privatize *p, const Expr *cond)
{
    for (const Stmt *at = p->loop; at->kind == ST_FOR; at = at->u.loop.body)
        if (expr_uses_var(cond, at->u.loop.var))
            return true;
    return false;
}

/* What the iterations must satisfy to update anything, as far as loops around the loop decide it
 * and the domains of `add`, the block at the end of `nest`, leave it open; NULL: nothing. */
static Expr *exists_outside(const Privatize *p, Stmt *nest, const BlockStmt *add)
{
    Context *c = p->s->ctx;
    const BlockStmt *update = &p->block->u.block;
    ExprList conds = {0}, kept = {0};
    block_add_domains(c, update, &conds);
    cond_split(c, update->predicate, &conds);
    Facts *facts = sched_facts(p->s, &p->path);
    for (Stmt *at = nest; at->kind == ST_FOR; at = at->u.loop.body)
        facts_enter(facts, at);
    block_assume_domains(facts, c, add);
    for (int i = 0; i < conds.n; i++)
        if (!decided_inside(p, conds.items[i]) && !prove(facts, conds.items[i]))
            VEC_PUSH(c->arena, &kept, conds.items[i]);
    return cond_join(c, &kept);
}

/* The update of the buffer by the copy, which each iteration of the loop makes that updates it. */
static Stmt *add_copy(const Privatize *p)
{
    Context *c = p->s->ctx;
    const ForStmt *loop = &p->loop->u.loop;
    StoreStmt store = {.buffer = p->buffer, .op = p->op};
    Stmt *nest = over_box(p, "add", store, p->copy), *bottom = stmt_nest_block(nest);
    Expr *lo, *hi;
    loop_domain(c, loop, &lo, &hi);
    BlockStmt block = bottom->u.block;
    block.predicate = exists_outside(p, nest, &block);
    BlockIter *iters = block_own_iters(c, &block, 1);
    iters[block.n_iters++] = (BlockIter){var_new(c, loop->var->name, DT_INDEX, VAR_ITER, p->span),
                                         lo, hi, expr_var(c, loop->var, p->span), ITER_REDUCE};
    return stmt_replace(c, nest, bottom, stmt_block(c, &block, p->span));
}

/* The loop with a copy in each iteration. */
static Stmt *with_copy(Privatize *p, Stmt *clear, Stmt *add)
{
    Context *c = p->s->ctx;
    ForStmt loop = p->loop->u.loop;
    Stmt *update = stmt_replace_buffer(c, loop.body, p->buffer, p->copy);
    Stmt *items[] = {stmt_temp(c, p->copy, p->span), clear, update, add};
    loop.body = stmt_seq(c, items, 4, p->loop->span);
    return stmt_for(c, &loop, p->loop->span);
}

bool prim_privatize(Schedule *s, const PrimCall *call, Value *result)
{
    Privatize p = {.s = s, .span = call->privatize.loop.span};
    p.loop = sched_node(s, &call->privatize.loop, &p.path);
    if (!sched_require_serial(s, p.loop, p.span) || !find_block(&p) || !find_update(&p))
        return false;

    p.copy = stage_buffer(s, p.buffer, "private", SCOPE_GLOBAL, call->span);
    p.box = updated_box(&p);
    Stmt *clear = over_box(&p, "clear", (StoreStmt){.buffer = p.copy, .op = STORE_SET}, NULL);
    Stmt *add = add_copy(&p);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, p.loop, with_copy(&p, clear, add));
    REQUIRE(s, E0476, p.span, enter_has_values(s, body, p.buffer),
            "some elements of '%s' may have no value before loop '%s', and all are updated behind "
            "it; initialize the whole buffer first",
            p.buffer->name, stmt_label(p.loop));
    if (!flow_recheck_kinds(s, body, p.loop->u.loop.id, call->span))
        return false;
    s->reassociates = reducer_rounds(p.op, p.buffer->type);
    sched_replace_body(s, body);
    Value blocks[] = {value_block(stmt_nest_block(clear)), value_block(stmt_nest_block(add))};
    *result = value_list(s, blocks, 2);
    return true;
}
