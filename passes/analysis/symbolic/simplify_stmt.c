/* simplify_stmt.c - Simplifies all expressions of a statement, with the facts that hold at each.
 *
 * Facts are entered and left on the way down, so that every expression is simplified under what
 * holds in its place.  Statements that do nothing go away, with one exception: a loop without
 * iterations around the init of a reduction stays, for the init runs also when the reduction is
 * empty. */
#include "passes/analysis/symbolic/affine.h"

static Stmt *empty_stmt(Facts *f, const Stmt *s)
{
    return stmt_seq(f->c, NULL, 0, s->span);
}

static bool is_empty(const Stmt *s)
{
    return s->kind == ST_SEQ && s->u.seq.n == 0;
}

static bool has_init(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_stmts(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && at.stmt->u.block.init)
            return true;
    return false;
}

static Stmt *simplify_seq(Facts *f, Stmt *s)
{
    VEC(Stmt *) items = {0};
    FactsMark mark = facts_mark(f);
    bool changed = false;
    for (int k = 0; k < s->u.seq.n; k++) {
        Stmt *item = simplify_stmt(f, s->u.seq.items[k]);
        changed = changed || item != s->u.seq.items[k];
        if (is_empty(item))
            continue;
        VEC_PUSH(f->c->arena, &items, item);
        if (item->kind == ST_LET)
            facts_enter(f, item);
    }
    facts_reset(f, mark);
    return changed ? stmt_seq(f->c, items.items, items.n, s->span) : s;
}

/* A loop of one iteration that nothing else speaks of. */
static bool is_plain(const ForStmt *loop)
{
    return loop->annotations.n == 0 && loop->kind != LOOP_BIND && loop->kind != LOOP_VECTORIZE;
}

static Stmt *simplify_for(Facts *f, Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.lo = simplify(f, loop.lo);
    loop.hi = simplify(f, loop.hi);
    Expr *extent = simplify(f, loop_extent(f->c, &loop));
    int64_t min, max;
    bool known = bounds_const(f, extent, &min, &max);
    if (known && max <= 0 && !has_init(f->c, loop.body))
        return empty_stmt(f, s);
    if (known && min == 1 && max == 1 && is_plain(&loop)) {
        Subst one = {loop.var, loop.lo};
        return simplify_stmt(f, stmt_subst(f->c, loop.body, &one, 1));
    }
    Stmt entered = *s;
    entered.u.loop = loop;
    FactsMark mark = facts_mark(f);
    facts_enter(f, &entered);
    loop.body = simplify_stmt(f, loop.body);
    facts_reset(f, mark);
    if (is_empty(loop.body))
        return empty_stmt(f, s);
    bool same = loop.lo == s->u.loop.lo && loop.hi == s->u.loop.hi && loop.body == s->u.loop.body;
    return same ? s : stmt_stamp(stmt_for(f->c, &loop, s->span), s);
}

static Stmt *simplify_branch(Facts *f, Expr *cond, Stmt *s)
{
    if (!s)
        return NULL;
    FactsMark mark = facts_mark(f);
    facts_assume(f, cond);
    Stmt *out = simplify_stmt(f, s);
    facts_reset(f, mark);
    return out;
}

static Stmt *simplify_if(Facts *f, Stmt *s)
{
    Expr *cond = simplify(f, s->u.cond.cond);
    Stmt *then = s->u.cond.then, *otherwise = s->u.cond.otherwise;
    if (cond_is(cond, true))
        return simplify_stmt(f, then);
    if (cond_is(cond, false))
        return otherwise ? simplify_stmt(f, otherwise) : empty_stmt(f, s);
    then = simplify_branch(f, cond, then);
    otherwise = simplify_branch(f, cond_negate(f->c, cond), otherwise);
    if (otherwise && is_empty(otherwise))
        otherwise = NULL;
    if (is_empty(then) && !otherwise)
        return empty_stmt(f, s);
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(f->c, cond, then, otherwise, s->span), s);
}

static bool simplify_iters(Facts *f, BlockStmt *block)
{
    BlockIter *iters = ARENA_ARRAY(f->c->arena, BlockIter, block->n_iters);
    bool changed = false;
    for (int k = 0; k < block->n_iters; k++) {
        const BlockIter *old = &block->iters[k];
        iters[k] = *old;
        iters[k].lo = simplify(f, old->lo);
        iters[k].hi = simplify(f, old->hi);
        iters[k].binding = simplify(f, old->binding);
        changed = changed || iters[k].lo != old->lo || iters[k].hi != old->hi ||
                  iters[k].binding != old->binding;
    }
    if (changed)
        block->iters = iters;
    return changed;
}

bool block_has_one_element(const BlockStmt *block)
{
    const Stmt *init = stmt_single_store(block->init), *update = stmt_single_store(block->body);
    bool one = init && update && init->u.store.buffer == update->u.store.buffer;
    for (int d = 0; one && d < init->u.store.buffer->rank; d++)
        one = expr_equal(init->u.store.index[d], update->u.store.index[d]);
    return one;
}

Stmt *block_body_at_init(Context *c, const BlockStmt *old, Stmt *init, Stmt *body)
{
    BlockStmt now = {.init = init, .body = body};
    const Stmt *start = stmt_single_store(init), *update = stmt_single_store(body);
    if (!start || !update || !block_has_one_element(old) || block_has_one_element(&now))
        return body;
    return stmt_store_like(c, update, update->u.store.buffer, start->u.store.index,
                           update->u.store.value);
}

static Stmt *simplify_block(Facts *f, Stmt *s)
{
    BlockStmt block = s->u.block;
    bool changed = simplify_iters(f, &block);
    if (block.predicate)
        block.predicate = simplify(f, block.predicate);
    if (block.predicate && cond_is(block.predicate, true))
        block.predicate = NULL;
    if (block.predicate && cond_is(block.predicate, false) && !block.init)
        return empty_stmt(f, s);
    FactsMark mark = facts_mark(f);
    if (block.init) {
        facts_enter_init(f, &block);
        block.init = simplify_stmt(f, block.init);
        facts_reset(f, mark);
    }
    facts_enter_block(f, &block);
    const BlockStmt *old = &s->u.block;
    block.body = block_body_at_init(f->c, old, block.init, simplify_stmt(f, block.body));
    facts_reset(f, mark);
    if (!changed && block.predicate == old->predicate && block.init == old->init &&
        block.body == old->body)
        return s;
    return stmt_stamp(stmt_block(f->c, &block, s->span), s);
}

static Stmt *simplify_store(Facts *f, Stmt *s)
{
    int rank = s->u.store.buffer->rank;
    Expr **index = ARENA_ARRAY(f->c->arena, Expr *, rank > 0 ? rank : 1);
    Expr *value = simplify(f, s->u.store.value);
    bool changed = value != s->u.store.value;
    for (int k = 0; k < rank; k++) {
        index[k] = simplify(f, s->u.store.index[k]);
        changed = changed || index[k] != s->u.store.index[k];
    }
    if (!changed)
        return s;
    return stmt_store_like(f->c, s, s->u.store.buffer, index, value);
}

static Stmt *simplify_launch(Facts *f, Stmt *s)
{
    LaunchStmt launch = s->u.launch;
    bool changed = false;
    for (int k = 0; k < 3; k++) {
        launch.grid[k] = simplify(f, launch.grid[k]);
        changed = changed || launch.grid[k] != s->u.launch.grid[k];
    }
    Stmt entered = *s;
    entered.u.launch = launch;
    FactsMark mark = facts_mark(f);
    facts_enter(f, &entered);
    launch.body = simplify_stmt(f, launch.body);
    facts_reset(f, mark);
    if (!changed && launch.body == s->u.launch.body)
        return s;
    return stmt_stamp(stmt_launch(f->c, &launch, s->span), s);
}

Stmt *simplify_stmt(Facts *f, Stmt *s)
{
    Expr *value;
    switch (s->kind) {
    case ST_SEQ: return simplify_seq(f, s);
    case ST_FOR: return simplify_for(f, s);
    case ST_IF: return simplify_if(f, s);
    case ST_BLOCK: return simplify_block(f, s);
    case ST_STORE: return simplify_store(f, s);
    case ST_LET:
        value = simplify(f, s->u.let.value);
        return value == s->u.let.value
                   ? s
                   : stmt_stamp(stmt_let(f->c, s->u.let.var, value, s->span), s);
    case ST_LAUNCH: return simplify_launch(f, s);
    case ST_TEMP:
    case ST_BARRIER: return s;
    }
    return s;
}
