/* pick.c - Implements pick: runs the one iteration of a loop that a condition leaves.
 *
 *   for i in N, k in K                       for i in N
 *       block (.., k in K = k) {                 block (..) {
 *           if at[i] == k               =>           if at[i] >= 0 && at[i] < K
 *               sum[k] += x[i];                          sum[at[i]] += x[i];
 *       }                                        }
 *
 * In all others the block does nothing, so that the loop costs what it has iterations, and one
 * update takes part in all of its elements.
 *
 * Legal: the block is one store under conditions, alone in a serial loop, or in loops of it whose
 * ranges stay. The loop gives values to one iterator, over all of its domain, and decides nothing
 * else. A condition says that the iterator is an integer that neither it nor the loops further in
 * change, and that reads nothing that the block writes.
 * Invariant: each store runs in the iterations in which it ran, in the same order. */
#include "ir/implied.h"
#include "passes/analysis/regions/data_range.h"
#include "passes/schedule/flow.h"

typedef struct {
    Schedule *s;
    Span span;
    Stmt *block, *loop;
    StmtPath path; /* of the loop */
    int iter;      /* the block's iterator that the loop gives values to */
    ExprList conds;
    Stmt *inner;            /* what stands under them */
    Expr *equation, *value; /* the condition, and what it says that the iterator is; an INDEX */
} Pick;

static bool is_plain(const ForStmt *loop)
{
    return loop->kind == LOOP_SERIAL && loop->step == 1 && loop->annotations.n == 0;
}

/* The loop holds the block alone, in loops that do not depend on it. */
static bool holds_block_alone(const Pick *p)
{
    const ForStmt *loop = &p->loop->u.loop;
    const Stmt *s = loop->body;
    while (s->kind == ST_FOR && is_plain(&s->u.loop) && !loop_uses_var(&s->u.loop, loop->var))
        s = s->u.loop.body;
    return is_plain(loop) && s == p->block;
}

static bool is_plain_block(const BlockStmt *b)
{
    return !b->init && !b->instruction && !b->atomic && b->annotations.n == 0;
}

/* Finds the iterator whose value is the loop's, and that nothing else depends on it. */
static bool find_iter(Pick *p)
{
    const BlockStmt *b = &p->block->u.block;
    const Var *var = p->loop->u.loop.var;
    p->iter = -1;
    for (int i = 0; i < b->n_iters; i++)
        if (expr_is_var(b->iters[i].binding, var) && p->iter < 0)
            p->iter = i;
        else if (expr_uses_var(b->iters[i].binding, var))
            return false;
    if (p->iter < 0 || (b->predicate && expr_uses_var(b->predicate, var)))
        return false;
    for (int i = 0; i < b->n_iters; i++)
        if (i != p->iter && iter_uses_var(&b->iters[i], b->iters[p->iter].var))
            return false;
    return true;
}

/* The loop takes each value of the iterator's domain, and no other. */
static bool covers_domain(const Pick *p)
{
    Context *c = p->s->ctx;
    const BlockIter *iter = &p->block->u.block.iters[p->iter];
    const ForStmt *loop = &p->loop->u.loop;
    Facts *f = sched_facts(p->s, &p->path);
    return prove_compare(f, iters_to_loops(c, &p->block->u.block, iter->lo), EX_EQ, loop->lo) &&
           prove_compare(f, iters_to_loops(c, &p->block->u.block, iter->hi), EX_EQ, loop->hi);
}

/* Splits the body into its conditions and what stands under them. */
static void take_conditions(Pick *p)
{
    Stmt *s = p->block->u.block.body;
    for (; s->kind == ST_IF && !s->u.cond.otherwise; s = s->u.cond.then)
        cond_split(p->s->ctx, s->u.cond.cond, &p->conds);
    p->inner = s;
}

/* `e` is the iterator, or as a number of another type, which has all of its values. */
static bool is_iter(const Pick *p, const Expr *e)
{
    const BlockIter *iter = &p->block->u.block.iters[p->iter];
    if (e->kind != EX_CAST)
        return expr_is_var(e, iter->var);
    Facts *f = facts_of_kernel(p->s->ctx, p->s->kernel);
    for (int i = 0; i < p->iter; i++)
        facts_range(f, p->block->u.block.iters[i].var, p->block->u.block.iters[i].lo,
                    p->block->u.block.iters[i].hi);
    Bounds type = bounds_of_type(e->type);
    int64_t lo, hi, unused;
    return type_is_int(e->type) && expr_is_var(e->u.arg[0], iter->var) &&
           bounds_const(f, iter->lo, &lo, &unused) && bounds_const(f, iter->hi, &unused, &hi) &&
           lo >= type.min && (!bounds_has_max(type) || hi - 1 <= type.max);
}

/* `e` has one value for all iterations of the loop and of those further in. */
static bool is_fixed(const Pick *p, Expr *e)
{
    const BlockStmt *b = &p->block->u.block;
    for (const Stmt *s = p->loop; s->kind == ST_FOR; s = s->u.loop.body)
        for (int i = 0; i < b->n_iters; i++)
            if (expr_uses_var(b->iters[i].binding, s->u.loop.var) &&
                expr_uses_var(e, b->iters[i].var))
                return false;
    AccessList reads = access_list_expr(p->s->ctx, e, NULL);
    for (int i = 0; i < reads.n; i++)
        if (stmt_accesses(p->s->ctx, p->inner, reads.items[i].buffer, ACCESS_WRITE))
            return false;
    return true;
}

/* The number before a conversion to a type that has all of its values. */
static Expr *before_cast(Expr *e)
{
    while (e->kind == EX_CAST && type_is_int(e->type) && type_is_int(e->u.arg[0]->type) &&
           type_has_values(e->type, e->u.arg[0]))
        e = e->u.arg[0];
    return e;
}

/* Finds the condition, in front of all others on the iterator: what these read may not exist where
 * the domain does not have the value. */
static bool find_equation(Pick *p)
{
    Context *c = p->s->ctx;
    const Var *iter = p->block->u.block.iters[p->iter].var;
    for (int i = 0; i < p->conds.n; i++) {
        Expr *cond = p->conds.items[i];
        for (int side = 0; cond->kind == EX_EQ && side < 2; side++) {
            Expr *value = before_cast(cond->u.arg[1 - side]);
            if (type_is_int(value->type) && is_iter(p, cond->u.arg[side]) && is_fixed(p, value)) {
                p->equation = cond;
                p->value = expr_cast(c, DT_INDEX, value, value->span);
                return true;
            }
        }
        if (expr_uses_var(cond, iter))
            return false;
    }
    return false;
}

/* Finds what picks the iteration, for whatever stands under the conditions. Refuses with E0814. */
static bool check_loop(Pick *p)
{
    const ForStmt *loop = &p->loop->u.loop;
    Name name = stmt_label(p->block), var = loop->var->name;
    REQUIRE_AT(p->s, E0814, p->span, holds_block_alone(p), p->loop,
               "loop '%s' does not hold block '%s' alone, in plain loops", var, name);
    REQUIRE(p->s, E0814, p->span, is_plain_block(&p->block->u.block),
            "block '%s' is no plain block: it has an init, an instruction or annotations, or is "
            "atomic",
            name);
    take_conditions(p);
    REQUIRE_AT(p->s, E0814, p->span, find_iter(p), p->loop,
               "loop '%s' does not give one iterator of block '%s' its values, and decides nothing "
               "else",
               var, name);
    REQUIRE(
        p->s, E0814, p->span, find_equation(p),
        "no condition of block '%s' says that '%s' is a value, which neither loops from '%s' on "
        "change nor the block",
        name, var, var);
    REQUIRE_AT(p->s, E0814, p->span, covers_domain(p), p->loop,
               "loop '%s' does not give its iterator of block '%s' all values of the domain", var,
               name);
    return true;
}

static bool check(Pick *p)
{
    if (!check_loop(p))
        return false;
    REQUIRE(p->s, E0814, p->span, p->inner->kind == ST_STORE,
            "block '%s' is not one store under conditions; separate gives each store a block",
            stmt_label(p->block));
    return true;
}

/* The conditions of the store, of which one becomes that the domain has the value. */
static Expr *new_condition(const Pick *p, const Subst *value)
{
    Context *c = p->s->ctx;
    const BlockIter *iter = &p->block->u.block.iters[p->iter];
    Facts *f = facts_of_kernel(c, p->s->kernel);
    Expr *all = NULL;
    for (int i = 0; i < p->conds.n; i++) {
        Expr *cond = p->conds.items[i];
        if (cond != p->equation) {
            all = cond_and(c, all, expr_subst(c, cond, value, 1));
            continue;
        }
        Expr *ends[] = {expr_binary(c, EX_GE, p->value, iter->lo, cond->span),
                        expr_binary(c, EX_LT, p->value, iter->hi, cond->span)};
        for (int k = 0; k < 2; k++)
            all = prove(f, ends[k]) ? all : cond_and(c, all, ends[k]);
    }
    return all;
}

static Stmt *build_block(const Pick *p)
{
    Context *c = p->s->ctx;
    BlockStmt block = p->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    Subst value = {iters[p->iter].var, p->value};
    Expr *cond = new_condition(p, &value);
    Stmt *store = stmt_subst(c, p->inner, &value, 1);
    block.body = cond ? stmt_if(c, cond, store, NULL, p->block->span) : store;
    block.n_iters--;
    for (int i = p->iter; i < block.n_iters; i++)
        iters[i] = iters[i + 1];
    for (int i = 0; i < block.n_iters; i++) /* those of a sum may choose elements now */
        if (iters[i].kind == ITER_REDUCE)
            iters[i].kind = block_implied_kind(c, block.body, iters[i].var);
    return stmt_stamp(stmt_block(c, &block, p->block->span), p->block);
}

bool prim_pick(Schedule *s, const PrimCall *call, Value *result)
{
    Pick p = {.s = s, .span = call->span, .block = sched_node(s, &call->pick.block, NULL)};
    p.loop = sched_node(s, &call->pick.loop, &p.path);
    if (!check(&p))
        return false;
    Stmt *inner = stmt_replace(s->ctx, p.loop->u.loop.body, p.block, build_block(&p));
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, p.loop, inner);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = (Value){.kind = VALUE_NONE};
    return true;
}

bool prim_can_pick(Schedule *s, const PrimCall *call, Value *result)
{
    Pick p = {.s = s, .span = call->span, .block = sched_node(s, &call->pick.block, NULL)};
    p.loop = sched_node(s, &call->pick.loop, &p.path);
    DiagMark mark = diag_mark(s->ctx);
    bool can = check_loop(&p);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}
