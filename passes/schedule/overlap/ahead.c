/* ahead.c - Moves statements to an earlier iteration than their own.
 *
 *   for i in n {             S_first(0) ... S_first(k - 1)        ahead_before
 *       S(i)           =>    for i in n {
 *   }                            if (i + k < n) S(i + k)           ahead_inside
 *                            }
 *
 * Which statements may do so, and where in the body they stand then, is the business of the
 * primitives. */
#include "passes/schedule/overlap/ahead.h"

bool ahead_require_range(Schedule *s, const Stmt *loop, Span span)
{
    REQUIRE_AT(
        s, E0464, span, !expr_has_load(loop->u.loop.lo) && !expr_has_load(loop->u.loop.hi), loop,
        "data decide the range of loop '%s', so no condition on sizes and loops says whether "
        "an iteration has a later one; split the loop by a number, and use the inner one",
        stmt_label(loop));
    return true;
}

const Buffer *ahead_own_temp(const AheadLoop *a, const Stmt *group)
{
    const Stmt *body = a->loop->u.loop.body;
    for (int i = 0; i < stmt_items(body); i++) {
        const Stmt *item = stmt_item(body, i);
        if (item->kind == ST_TEMP && stmt_accesses(a->s->ctx, group, item->u.temp, ACCESS_ANY))
            return item->u.temp;
    }
    return NULL;
}

static Stmt *first_name(Rewriter *r, Stmt *stmt)
{
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    block.name = sched_fresh_name(r->user, arena_printf(r->ctx->arena, "%s_first", block.name));
    return stmt_stamp(stmt_block(r->ctx, &block, stmt->span), stmt);
}

/* A loop of unknown extent may not have the first iterations: then the domains of blocks leave them
 * out, or a condition does. */
static Stmt *first_copies(const AheadLoop *a, Facts *facts, const Subst *to, Stmt *group)
{
    Context *c = a->s->ctx;
    const ForStmt *loop = &a->loop->u.loop;
    Below below = {.s = a->s, .facts = facts, .map = to, .n_map = 1};
    int64_t extent;
    if (!loop_const_extent(loop, &extent)) {
        below.guard = expr_binary(c, EX_LT, to->value, loop->hi, span_none());
        below.end = loop->hi;
        below.direction = 1;
    }
    Rewriter r = {.ctx = c, .user = a->s, .stmt = first_name};
    return rewrite_stmt(&r, stmt_clone_fresh(c, below_rewrite(&below, group)));
}

Stmt *ahead_before(const AheadLoop *a, Stmt *group, int64_t n)
{
    Schedule *s = a->s;
    Context *c = s->ctx;
    const ForStmt *loop = &a->loop->u.loop;
    Facts *facts = sched_facts(s, a->path);
    int64_t extent;
    n = loop_const_extent(loop, &extent) && extent < n ? extent : n;
    if (n == 1) {
        Subst to = {loop->var, expr_index(c, 0)};
        return first_copies(a, facts, &to, group);
    }
    Name name = sched_fresh_loop_name(s, a->path,
                                      arena_printf(c->arena, "%.24s_first", loop->var->name), 0);
    ForStmt first = flow_loop(s, name, expr_index(c, 0), expr_index(c, n));
    Subst to = {loop->var, expr_var(c, first.var, span_none())};
    facts_range(facts, first.var, first.lo, first.hi);
    first.body = first_copies(a, facts, &to, group);
    return stmt_for(c, &first, a->loop->span);
}

Stmt *ahead_inside(const AheadLoop *a, Stmt *group, int64_t by)
{
    Context *c = a->s->ctx;
    const ForStmt *loop = &a->loop->u.loop;
    Facts *facts = sched_facts(a->s, a->path);
    facts_enter(facts, a->loop);
    Expr *later = index_add(c, expr_var(c, loop->var, span_none()), expr_index(c, by));
    Expr *exists = expr_binary(c, EX_LT, later, loop->hi, group->span);
    Expr *cond = simplify(facts, exists);
    facts_assume(facts, exists);
    Subst to = {loop->var, later};
    Below below = {.s = a->s, .facts = facts, .map = &to, .n_map = 1};
    return stmt_if(c, cond, below_rewrite(&below, group), NULL, group->span);
}

Stmt *ahead_model(const AheadLoop *a, Stmt *group, Expr *value, Expr *cond)
{
    Context *c = a->s->ctx;
    Subst to = {a->loop->u.loop.var, value};
    ForStmt same = a->loop->u.loop;
    same.lo = value;
    same.hi = index_add(c, value, expr_index(c, 1));
    same.body = stmt_subst(c, group, &to, 1);
    return stmt_if(c, cond, stmt_for(c, &same, group->span), NULL, group->span);
}

ForStmt ahead_model_loop(const AheadLoop *a, int64_t by)
{
    Context *c = a->s->ctx;
    const ForStmt *old = &a->loop->u.loop;
    return flow_loop(a->s, old->var->name, old->lo, index_add(c, old->hi, expr_index(c, by)));
}

bool ahead_order_kept(const AheadLoop *a, const ForStmt *model, Conflict *why)
{
    Schedule *s = a->s;
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, path_end(a->path), a->loop);
    Rewrite rewrite = {kernel_with_body(s->ctx, s->kernel, body), a->loop,
                       stmt_for(s->ctx, model, a->loop->span)};
    return dependence_order_kept(s->ctx, rewrite, &s->reassociates, why);
}
