/* simplify_stmt.c - Simplifies all expressions of a statement, with the facts that hold at each.
 *
 * Facts are entered and left on the way down, so that every expression is simplified under what
 * holds in its place.  Statements that do nothing go away, with one exception: a loop without
 * iterations around the init of a reduction stays, for the init runs also when the reduction is
 * empty. */
#include "passes/analysis/symbolic/affine.h"

static Expr *simplify_expr(void *user, Expr *e)
{
    return simplify(user, e);
}

static Stmt *simplify_exprs(Facts *f, Stmt *s)
{
    return stmt_map_exprs(f->c, s, simplify_expr, f);
}

static Stmt *empty_stmt(Facts *f, const Stmt *s)
{
    return stmt_seq(f->c, NULL, 0, s->span);
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
        if (stmt_is_empty(item))
            continue;
        VEC_PUSH(f->c->arena, &items, item);
        if (item->kind == ST_LET)
            facts_enter(f, item);
    }
    facts_reset(f, mark);
    return changed ? stmt_seq_like(f->c, s, items.items, items.n) : s;
}

/* A loop of one iteration that nothing else speaks of. */
static bool is_plain(const ForStmt *loop)
{
    return loop->annotations.n == 0 && loop->kind != LOOP_BIND && loop->kind != LOOP_VECTORIZE &&
           loop->kind != LOOP_BREAKS;
}

/* `extent`, a minimum of several numbers, is positive. */
static Expr *is_positive(Context *c, Expr *extent)
{
    if (extent->kind == EX_MIN)
        return cond_and(c, is_positive(c, extent->u.arg[0]), is_positive(c, extent->u.arg[1]));
    return expr_binary(c, EX_GE, extent, expr_index(c, 1), extent->span);
}

/* A loop of one iteration at most, by its text. */
static bool is_single(const ForStmt *loop, const Expr *extent)
{
    return loop->kind == LOOP_SERIAL && is_plain(loop) && extent->kind == EX_MIN &&
           (expr_is(extent->u.arg[0], 1) || expr_is(extent->u.arg[1], 1));
}

/* In lowered text, such a loop is a condition. */
static Stmt *condition_of(Facts *f, const ForStmt *loop, Expr *extent)
{
    if (!is_single(loop, extent) || stmts_of_kind(f->c, loop->body, ST_BLOCK).n > 0)
        return NULL;
    Subst only = {loop->var, loop->lo};
    Stmt *body = stmt_subst(f->c, loop->body, &only, 1);
    return stmt_if(f->c, is_positive(f->c, extent), body, NULL, body->span);
}

static Stmt *simplify_for(Facts *f, Stmt *s)
{
    Stmt *now = simplify_exprs(f, s);
    ForStmt loop = now->u.loop;
    Expr *extent = simplify(f, loop_extent(f->c, &loop));
    int64_t min, max;
    bool known = bounds_const(f, extent, &min, &max);
    if (known && max <= 0 && !has_init(f->c, loop.body))
        return empty_stmt(f, s);
    if (known && min == 1 && max == 1 && is_plain(&loop)) {
        Subst one = {loop.var, loop.lo};
        return simplify_stmt(f, stmt_subst(f->c, loop.body, &one, 1));
    }
    Stmt *condition = condition_of(f, &loop, extent);
    if (condition)
        return simplify_stmt(f, condition);
    FactsMark mark = facts_mark(f);
    facts_enter(f, now);
    loop.body = simplify_stmt(f, loop.body);
    facts_reset(f, mark);
    if (stmt_is_empty(loop.body))
        return empty_stmt(f, s);
    return loop.body == s->u.loop.body ? now : stmt_stamp(stmt_for(f->c, &loop, s->span), s);
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
    if (cond_is_true(cond))
        return simplify_stmt(f, then);
    if (cond_is_false(cond))
        return otherwise ? simplify_stmt(f, otherwise) : empty_stmt(f, s);
    then = simplify_branch(f, cond, then);
    otherwise = simplify_branch(f, cond_negate(f->c, cond), otherwise);
    if (otherwise && stmt_is_empty(otherwise))
        otherwise = NULL;
    if (stmt_is_empty(then) && !otherwise)
        return empty_stmt(f, s);
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(f->c, cond, then, otherwise, s->span), s);
}

bool block_has_one_element(Context *c, const BlockStmt *block)
{
    const Stmt *init = stmt_single_store(block->init), *update = stmt_written_out(c, block->body);
    return init && update && init->u.store.buffer == update->u.store.buffer &&
           exprs_equal(init->u.store.index, update->u.store.index, init->u.store.buffer->rank);
}

Stmt *block_body_at_init(Context *c, const BlockStmt *old, Stmt *init, Stmt *body)
{
    BlockStmt now = {.init = init, .body = body};
    const Stmt *start = stmt_single_store(init), *update = stmt_valued_store(body);
    if (!start || !update || !block_has_one_element(c, old) || block_has_one_element(c, &now))
        return body;
    return stmt_behind_lets(c, body,
                            stmt_store_like(c, update, update->u.store.buffer, start->u.store.index,
                                            update->u.store.value));
}

static Stmt *simplify_block(Facts *f, Stmt *s)
{
    Stmt *now = simplify_exprs(f, s);
    BlockStmt block = now->u.block;
    if (block.predicate && cond_is_true(block.predicate))
        block.predicate = NULL;
    if (block.predicate && cond_is_false(block.predicate) && !block.init)
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
    if (block.predicate == now->u.block.predicate && block.init == old->init &&
        block.body == old->body)
        return now;
    return stmt_stamp(stmt_block(f->c, &block, s->span), s);
}

static Stmt *simplify_launch(Facts *f, Stmt *s)
{
    Stmt *now = simplify_exprs(f, s);
    LaunchStmt launch = now->u.launch;
    FactsMark mark = facts_mark(f);
    facts_enter(f, now);
    launch.body = simplify_stmt(f, launch.body);
    facts_reset(f, mark);
    return launch.body == s->u.launch.body ? now
                                           : stmt_stamp(stmt_launch(f->c, &launch, s->span), s);
}

static Stmt *simplify_instruction(Facts *f, Stmt *s)
{
    Stmt *now = simplify_exprs(f, s), *body = simplify_stmt(f, s->u.instruction.body);
    if (now == s && body == s->u.instruction.body)
        return s;
    return stmt_stamp(
        stmt_instruction(f->c, s->u.instruction.of, now->u.instruction.elements, body, s->span), s);
}

static Stmt *simplify_roles(Facts *f, Stmt *s)
{
    Stmt *producer = simplify_stmt(f, s->u.roles.producer);
    Stmt *consumers = simplify_stmt(f, s->u.roles.consumers);
    if (producer == s->u.roles.producer && consumers == s->u.roles.consumers)
        return s;
    return stmt_stamp(stmt_roles(f->c, producer, consumers, s->u.roles.turn, s->span), s);
}

Stmt *simplify_stmt(Facts *f, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return simplify_seq(f, s);
    case ST_FOR: return simplify_for(f, s);
    case ST_IF: return simplify_if(f, s);
    case ST_BLOCK: return simplify_block(f, s);
    case ST_LAUNCH: return simplify_launch(f, s);
    case ST_INSTRUCTION: return simplify_instruction(f, s);
    case ST_ROLES: return simplify_roles(f, s);
    default: return simplify_exprs(f, s);
    }
}
