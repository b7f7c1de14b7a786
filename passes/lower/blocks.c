/* blocks.c - Lowers blocks: iterators become named values, and domains become guards.
 *
 *   for ko in 32, ki in 32                              for ko in 32
 *       block C(i in 1000 = by * 32 + ty,      =>           if (i < 1000)
 *               k in 997 = ko * 32 + ki)                        for ki in 32 {
 *       { C[i] += A[i, k]; }                                        let k = ko * 32 + ki;
 *                                                                   if (k < 997)
 *                                                                       C[i] += A[i, k]; }
 *
 * with `let i = by * 32 + ty` at the top of the launch. A value stands just inside the innermost
 * loop that it depends on, once for all blocks that use it; one that is used a single time is
 * written where it is used. A guard moves outwards as long as everything it would then cover needs
 * it and no barrier is among that: all threads have to reach a barrier.
 *
 * Inputs that decide the range of a loop are read once, before it, and by no thread for which the
 * guards that move outwards do not hold:
 *
 *   for ko in (ptr[i + 1] - ptr[i] + 31) / 32      let ptr_begin = ptr[i], ptr_end = ptr[i + 1];
 *       block y(k in ptr[i]..ptr[i + 1]       =>   for ko in (ptr_end - ptr_begin + 31) / 32 {
 *                   = ptr[i] + ko * 32 + ki)           let k = ptr_begin + ko * 32 + ki; ... } */
#include "passes/analysis/symbolic/zero_divisor.h"
#include "passes/lower/block_stores.h"
#include "passes/lower/bulk_copy.h"
#include "passes/lower/elements.h"
#include "passes/lower/lanes.h"

/* An expression as it will stand, and in terms of loops only. */
typedef struct {
    Expr *shown, *expanded;
} Form;

/* The values of a block's iterators in both forms. */
typedef struct {
    SubstList shown, expanded;
} IterForms;

/* A lowered statement that may run only where all guards hold; they are not in it yet. */
typedef struct {
    Stmt *s; /* NULL: nothing is left */
    VEC(Form) guards;
    bool barrier; /* holds one; then there are no guards */
    bool neutral; /* a declaration or a barrier: needs no guard and does not mind one less */
} Guarded;

/* A value with a name, while the loop that it depends on is open. */
typedef struct {
    Var *var;
    Expr *value;
    int depth; /* of the loop: 0 is the launch itself */
} Named;

/* An integer of an input that decides the range of an open loop. */
typedef struct {
    Var *var;
    Expr *load; /* in terms of loops, as an INDEX */
    int depth;  /* of the loop: the name is known in it */
} Bound;

typedef struct {
    Context *c;
    Facts *facts;
    StmtPath loops; /* open ones, outermost first */
    VEC(Named) named;
    VEC(Bound) bounds;
    const LaunchStmt *launch;
    bool failed;
} Blocks;

static Guarded lower(Blocks *b, Stmt *s);

/* ---- guards ---------------------------------------------------------------------------------- */

static bool has_guard(const Guarded *g, const Form *guard)
{
    for (int i = 0; i < g->guards.n; i++)
        if (expr_equal(g->guards.items[i].expanded, guard->expanded))
            return true;
    return false;
}

static void add_guard(Context *c, Guarded *g, Form guard)
{
    if (!has_guard(g, &guard))
        VEC_PUSH(c->arena, &g->guards, guard);
}

static bool same_guards(const Guarded *x, const Guarded *y)
{
    if (x->guards.n != y->guards.n)
        return false;
    for (int i = 0; i < x->guards.n; i++)
        if (!has_guard(y, &x->guards.items[i]))
            return false;
    return true;
}

/* Requires `cond` unless it is known; false where it can never hold. */
static bool require(Blocks *b, Guarded *g, Form cond)
{
    int64_t truth;
    if (prove(b->facts, cond.expanded))
        return true;
    if (expr_is_const(simplify(b->facts, cond.expanded), &truth) && !truth)
        return false;
    add_guard(b->c, g, cond);
    facts_assume(b->facts, cond.expanded);
    return true;
}

static Form compared(Context *c, ExprKind kind, Form x, Form y, Span span)
{
    return (Form){expr_binary(c, kind, x.shown, y.shown, span),
                  expr_binary(c, kind, x.expanded, y.expanded, span)};
}

/* The statement with its guards around it. */
static Stmt *materialize(Context *c, const Guarded *g)
{
    if (!g->s || g->guards.n == 0)
        return g->s;
    Expr *cond = NULL;
    int step = 0; /* the first that made one necessary */
    for (int i = 0; i < g->guards.n; i++) {
        cond = cond_and(c, cond, g->guards.items[i].shown);
        step = step ? step : g->guards.items[i].shown->step;
    }
    Stmt *guard = stmt_stamp(stmt_if(c, cond, g->s, NULL, g->s->span), g->s);
    guard->step = step ? step : guard->step;
    return guard;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The depth of the innermost loop that has read a bound which the value uses. */
static int bound_depth(const Blocks *b, const Expr *value)
{
    for (int i = b->bounds.n; i > 0; i--)
        if (expr_uses_var(value, b->bounds.items[i - 1].var))
            return b->bounds.items[i - 1].depth;
    return 0;
}

/* How many of the open loops hold the definition of everything in `value`. */
static int depth_of(const Blocks *b, const Expr *value)
{
    int least = bound_depth(b, value);
    for (int i = b->loops.n; i > least; i--)
        if (expr_uses_var(value, b->loops.items[i - 1]->u.loop.var))
            return i;
    return least;
}

/* Whether a divisor of the value can be 0 inside the outermost `n` open loops. Inner loops or a
 * condition of the block may prevent this evaluation, so facts from inner loops must not be used
 * here. */
static bool may_fail_outside(Blocks *b, Expr *value, int n)
{
    ExprList extents = {0};
    for (int i = 0; i < n; i++)
        VEC_PUSH(b->c->arena, &extents, loop_extent(b->c, &b->loops.items[i]->u.loop));
    VEC_APPEND(b->c->arena, &extents, b->launch->grid, 3);
    return may_divide_by_zero(facts_new(b->c), value, extents.items, extents.n);
}

/* Returns the replacement of an iterator with this value: the value if it is short, or if it
 * differs between the lanes of a vectorized loop, which cannot define names; otherwise a name. */
static Expr *name_value(Blocks *b, const Var *iter, Expr *value)
{
    int depth = depth_of(b, value);
    if (value->kind == EX_VAR || value->kind == EX_INT || value->kind == EX_AXIS ||
        (depth && b->loops.items[depth - 1]->u.loop.kind == LOOP_VECTORIZE))
        return value;
    for (int i = 0; i < b->named.n; i++)
        if (expr_equal(b->named.items[i].value, value))
            return expr_var(b->c, b->named.items[i].var, iter->span);
    Named named = {var_new(b->c, iter->name, DT_INDEX, VAR_LET, iter->span), value, depth};
    VEC_PUSH(b->c->arena, &b->named, named);
    return expr_var(b->c, named.var, iter->span);
}

/* The value of `var` needs a name in `s`: it stands there more than once, or in a guard. */
static bool needs_name(Context *c, const Stmt *s, const Var *var)
{
    int uses = 0;
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);) {
        uses += at.expr && expr_is_var(at.expr, var);
        bool guard = at.stmt && at.stmt->kind == ST_IF;
        if (uses > 1 || (guard && expr_uses_var(at.stmt->u.cond.cond, var)))
            return true;
    }
    return false;
}

/* Closes the names that depend on no deeper loop than the one that ends here: each becomes a let
 * before `body`, or is substituted if it is used at most once. */
static Stmt *close_names(Blocks *b, int depth, Stmt *body)
{
    Context *c = b->c;
    StmtList lets = {0};
    SubstList inlined = {0};
    int kept = 0;
    for (int i = 0; i < b->named.n; i++) {
        Named *named = &b->named.items[i];
        if (named->depth != depth) {
            b->named.items[kept++] = *named;
            continue;
        }
        if (needs_name(c, body, named->var)) {
            Span span = named->var->span.source ? named->var->span : body->span; /* a step's */
            Stmt *let = stmt_let(c, named->var, named->value, span);
            let->step = named->value->step;
            VEC_PUSH(c->arena, &lets, let);
        } else {
            Subst to = {named->var, named->value};
            VEC_PUSH(c->arena, &inlined, to);
        }
    }
    b->named.n = kept;
    if (inlined.n)
        body = stmt_subst(c, body, inlined.items, inlined.n);
    for (int i = lets.n - 1; i >= 0; i--)
        body = stmt_then(c, lets.items[i], body);
    return body;
}

/* ---- data that decide ranges ----------------------------------------------------------------- */

/* The value of a load as an INDEX, as it stands in the bounds of loops and domains. */
static bool is_loaded_index(const Expr *e)
{
    return e->kind == EX_CAST && e->type == DT_INDEX && e->u.arg[0]->kind == EX_LOAD;
}

static const Bound *find_bound(const Blocks *b, const Expr *load)
{
    for (int i = b->bounds.n - 1; i >= 0; i--)
        if (expr_equal(b->bounds.items[i].load, load))
            return &b->bounds.items[i];
    return NULL;
}

static Expr *use_bound(Rewriter *r, Expr *e)
{
    const Bound *known =
        is_loaded_index(e) ? find_bound(r->user, simplify(((Blocks *)r->user)->facts, e)) : NULL;
    return known ? expr_var(r->ctx, known->var, e->span) : e;
}

/* `e`, of a block, with the names of what the loops around it have read. */
static Expr *use_bounds(Blocks *b, Expr *e)
{
    if (!expr_has_load(e))
        return e;
    return rewrite_expr(&(Rewriter){b->c, b, use_bound, NULL}, e);
}

typedef struct {
    Blocks *b;
    const char *suffix;
} BoundNames;

static Expr *name_bound(Rewriter *r, Expr *e)
{
    BoundNames *names = r->user;
    Blocks *b = names->b;
    if (!is_loaded_index(e))
        return e;
    Expr *load = simplify(b->facts, e);
    const Bound *known = find_bound(b, load);
    if (known)
        return expr_var(b->c, known->var, e->span);
    Name name = ctx_namef(b->c, "%s_%s", e->u.arg[0]->u.load.buffer->name, names->suffix);
    Bound bound = {var_new(b->c, name, DT_INDEX, VAR_LET, e->span), load, b->loops.n + 1};
    Stmt *let = stmt_let(b->c, bound.var, load, e->span);
    facts_enter(b->facts, let);
    VEC_PUSH(b->c->arena, &b->bounds, bound);
    return expr_var(b->c, bound.var, e->span);
}

/* Names the number that the bound of a loop subtracts: its range begins there. */
static Expr *name_begins(Rewriter *r, Expr *e)
{
    BoundNames begin = {r->user, "begin"};
    Rewriter all = {r->ctx, &begin, name_bound, NULL};
    if (e->kind != EX_SUB)
        return e;
    Expr *from = rewrite_expr(&all, e->u.arg[1]);
    return from == e->u.arg[1] ? e : expr_binary(r->ctx, EX_SUB, e->u.arg[0], from, e->span);
}

/* The loop with names for what its bounds read. */
static Stmt *name_bounds(Blocks *b, Stmt *s)
{
    ForStmt loop = s->u.loop;
    if (!expr_has_load(loop.lo) && !expr_has_load(loop.hi))
        return s;
    BoundNames begin = {b, "begin"}, end = {b, "end"};
    Rewriter first = {b->c, &begin, name_bound, NULL}, differences = {b->c, b, name_begins, NULL},
             last = {b->c, &end, name_bound, NULL};
    loop.lo = rewrite_expr(&first, loop.lo);
    loop.hi = rewrite_expr(&last, rewrite_expr(&differences, loop.hi));
    return stmt_stamp(stmt_for(b->c, &loop, s->span), s);
}

/* `e` in terms of the values that have names: i + 1 for by * 32 + ty + 1. */
static Expr *in_named(const Blocks *b, Expr *e)
{
    for (int i = 0; i < b->named.n; i++) {
        const Named *named = &b->named.items[i];
        int64_t apart;
        Expr *rest = simplify(b->facts, index_sub(b->c, e, named->value));
        if (expr_is_const(rest, &apart))
            return index_add(b->c, expr_var(b->c, named->var, e->span), rest);
    }
    return e;
}

static void refuse_bound(Blocks *b, const Expr *load, Span span)
{
    diag_error(b->c, E0519, span,
               "%s decides which iterations run here, but it is not known to be inside '%s' where "
               "the threads read it",
               expr_text(b->c, load), load->u.load.buffer->name);
    b->failed = true;
}

/* A load in what decides the range of a block, which no loop around it has read, that is not known
 * to find an element here; NULL: there is none. */
static const Expr *missing_load(Blocks *b, const Expr *e)
{
    for (Cursor at = cursor_expr(b->c, e); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD && !load_exists(b->facts, at.expr))
            return at.expr;
    return NULL;
}

/* Refuses a load of `e` that is not known to find an element here. */
static void require_loads(Blocks *b, const Expr *e, Span span)
{
    const Expr *missing = missing_load(b, e);
    if (missing)
        refuse_bound(b, missing, span);
}

/* True where all that the guard reads exists behind the guards of `before`. */
static bool reads_exist(Blocks *b, const Guarded *before, const Form *guard)
{
    if (!expr_has_load(guard->expanded))
        return true;
    FactsMark mark = facts_mark(b->facts);
    for (int i = 0; i < before->guards.n; i++)
        facts_assume(b->facts, before->guards.items[i].expanded);
    const Expr *missing = missing_load(b, guard->expanded);
    facts_reset(b->facts, mark);
    return !missing;
}

/* Guards what the bound reads on an axis. Another bound of the loop is no part of a guard. */
static void guard_axis(Blocks *b, Guarded *g, const Bound *bound, int axis)
{
    const Expr *load = bound->load->u.arg[0];
    Expr *zero = expr_index(b->c, 0), *extent = load->u.load.buffer->shape[axis];
    Form at = {in_named(b, load->u.load.index[axis]), load->u.load.index[axis]};
    if (bound_depth(b, at.expanded) == bound->depth)
        return;
    require(b, g, compared(b->c, EX_GE, at, (Form){zero, zero}, load->span));
    require(b, g, compared(b->c, EX_LT, at, (Form){extent, extent}, load->span));
}

/* A loop has no iterations where its bounds would be read outside of their buffers: guards say so
 * where its blocks have none in common that does. Threads reach a barrier together. */
static void guard_bounds(Blocks *b, int first, Guarded *g)
{
    FactsMark mark = facts_mark(b->facts);
    for (int i = 0; i < g->guards.n; i++)
        facts_assume(b->facts, g->guards.items[i].expanded);
    for (int i = b->bounds.n - 1; i >= first && !g->barrier; i--) /* ptr[i + 1], then ptr[i] */
        for (int axis = 0; axis < b->bounds.items[i].load->u.arg[0]->u.load.buffer->rank; axis++)
            guard_axis(b, g, &b->bounds.items[i], axis);
    facts_reset(b->facts, mark);
}

/* Before the loop `s`, the names of what its bounds read: those from number `first` on. The
 * `guards` hold there. */
static Stmt *close_bounds(Blocks *b, int first, const Guarded *guards, Stmt *s)
{
    Context *c = b->c;
    FactsMark mark = facts_mark(b->facts);
    for (int i = 0; i < guards->guards.n; i++)
        facts_assume(b->facts, guards->guards.items[i].expanded);
    while (b->bounds.n > first) {
        Bound bound = b->bounds.items[--b->bounds.n];
        Expr *load = bound.load->u.arg[0];
        const Buffer *buffer = load->u.load.buffer;
        if (!load_exists(b->facts, load))
            refuse_bound(b, load, s->span);
        Expr **index = ARENA_ARRAY(c->arena, Expr *, buffer->rank + 1);
        for (int d = 0; d < buffer->rank; d++)
            index[d] = in_named(b, load->u.load.index[d]);
        load = expr_load_like(c, load, load->u.load.buffer, index);
        Expr *value = expr_cast(c, DT_INDEX, load, load->span);
        s = stmt_then(c, stmt_let(c, bound.var, value, load->span), s);
    }
    facts_reset(b->facts, mark);
    return s;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Requires those of the conditions from number `from` to `to`. */
static bool require_conditions(Blocks *b, Guarded *g, const ExprList *conds, int from, int to)
{
    for (int i = from; i < to; i++) {
        Expr *cond = simplify(b->facts, use_bounds(b, conds->items[i]));
        require_loads(b, cond, cond->span);
        if (!require(b, g, (Form){cond, cond}))
            return false;
    }
    return true;
}

/* A bound of a domain, in which iterators occur that are known. */
static Form end_of_domain(Blocks *b, Expr *end, const IterForms *known)
{
    Form out;
    out.expanded = use_bounds(b, expr_subst(b->c, end, known->expanded.items, known->expanded.n));
    out.shown = expr_has_load(end) ? out.expanded
                                   : expr_subst(b->c, end, known->shown.items, known->shown.n);
    require_loads(b, out.expanded, end->span);
    return out;
}

static bool require_domain(Blocks *b, Guarded *g, const BlockIter *iter, Form value,
                           const IterForms *known)
{
    Form lo = end_of_domain(b, iter->lo, known), hi = end_of_domain(b, iter->hi, known);
    return require(b, g, compared(b->c, EX_GE, value, lo, iter->var->span)) &&
           require(b, g, compared(b->c, EX_LT, value, hi, iter->var->span));
}

/* What is proved of an iterator helps to prove that an element exists: f / N < K says 1 <= K. */
static void assume_domain(Blocks *b, const BlockIter *iter, Form value, const IterForms *known)
{
    Form lo = end_of_domain(b, iter->lo, known), hi = end_of_domain(b, iter->hi, known);
    facts_assume(b->facts, compared(b->c, EX_GE, value, lo, iter->var->span).expanded);
    facts_assume(b->facts, compared(b->c, EX_LT, value, hi, iter->var->span).expanded);
}

/* The value of an iterator. It gets no name where that would stand outside of what keeps it from
 * failing. */
static Form value_of_iter(Blocks *b, const BlockStmt *block, const BlockIter *iter)
{
    Expr *value = simplify(b->facts, use_bounds(b, iter->binding));
    require_loads(b, value, iter->binding->span);
    int depth = depth_of(b, value);
    bool moves_out = block->predicate || depth < b->loops.n;
    bool stays = expr_has_load(value) || (moves_out && may_fail_outside(b, value, depth));
    return (Form){stays ? value : name_value(b, iter->var, value), value};
}

/* Finds the values of all iterators, and requires their domains; false where no instance exists. */
static bool require_iters(Blocks *b, Guarded *g, const BlockStmt *block, IterForms *iters)
{
    Context *c = b->c;
    bool reads = block->predicate && expr_has_load(block->predicate);
    for (int i = 0; i < block->n_iters; i++)
        reads |= expr_has_load(block->iters[i].lo) || expr_has_load(block->iters[i].hi);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Form value = value_of_iter(b, block, iter);
        c->step = iter->binding->step; /* what made the binding is why it may leave the domain */
        bool exists = require_domain(b, g, iter, value, iters);
        c->step = 0;
        if (!exists)
            return false;
        if (reads)
            assume_domain(b, iter, value, iters);
        VEC_PUSH(c->arena, &iters->shown, ((Subst){iter->var, value.shown}));
        VEC_PUSH(c->arena, &iters->expanded, ((Subst){iter->var, value.expanded}));
    }
    return true;
}

/* The instruction of the block, with the block's body. NULL after an error. */
static Stmt *place_instruction(Blocks *b, const Stmt *s, const IterForms *iters)
{
    Context *c = b->c;
    const BlockStmt *block = &s->u.block;
    const Instruction *of = block->instruction;
    const SubstList *shown = &iters->shown;
    Expr *const *named =
        block->elements
            ? block->elements
            : instruction_elements(c, b->facts, s, launch_coordinate(b->launch, AXIS_THREAD_X),
                                   &iters->expanded);
    b->failed |= !named;
    if (!named)
        return NULL;
    Expr **elements = exprs_subst(c, named, of->n_elements, shown->items, shown->n);
    Stmt *body = stmt_subst(c, block->body, shown->items, shown->n);
    return stmt_stamp(stmt_instruction(c, of, elements, body, s->span), s);
}

/* A copy of a box of a tensor, with its hint. NULL after an error. */
static Stmt *place_bulk_copy(Blocks *b, Stmt *s, const IterForms *iters)
{
    const BlockStmt *block = &s->u.block;
    Stmt *copy = bulk_copy_lower(b->c, b->facts, s, &iters->shown);
    b->failed |= !copy;
    return copy && block_is_bulk(block) ? block_hints_apply(b->c, block, copy) : copy;
}

/* The statements of the block's body, with the values of its iterators. */
static Stmt *place_stores(Blocks *b, const Stmt *s, const IterForms *iters)
{
    Context *c = b->c;
    const BlockStmt *block = &s->u.block;
    Stmt *body = stmt_subst(c, block->body, iters->shown.items, iters->shown.n);
    body = updates_dissolved(c, body);
    if (block->atomic)
        body = stores_made_atomic(c, body);
    else if (block_is_async(block))
        body = stores_made_async(c, body);
    return block_hints_apply(c, block, body);
}

static Guarded lower_block(Blocks *b, Stmt *s)
{
    const BlockStmt *block = &s->u.block;
    Guarded g = {0};
    IterForms iters = {0};
    ExprList conds = {0};
    FactsMark mark = facts_mark(b->facts);
    int plain = block_conditions(b->c, block, &conds);
    bool exists = require_conditions(b, &g, &conds, 0, plain) &&
                  require_iters(b, &g, block, &iters) &&
                  require_conditions(b, &g, &conds, plain, conds.n);
    facts_reset(b->facts, mark);
    if (!exists)
        return (Guarded){.neutral = true};
    g.s = block->instruction                                 ? place_instruction(b, s, &iters)
          : block_is_bulk(block) || block_stores_bulk(block) ? place_bulk_copy(b, s, &iters)
                                                             : place_stores(b, s, &iters);
    return g;
}

/* ---- control --------------------------------------------------------------------------------- */

/* A guard that all iterations of a loop agree on (lanes.h): the first one speaks for the others. */
static bool guard_for_all(Blocks *b, const ForStmt *loop, Form *guard)
{
    int64_t count;
    SubstList none = {0};
    if (loop->kind == LOOP_BIND || !loop_const_extent(loop, &count) || !loop_counts_from_zero(loop))
        return false;
    Lanes lanes = {.c = b->c, .facts = b->facts, .lets = &none, .var = loop->var, .count = count};
    Expr *first = lanes_agree(&lanes, guard->expanded);
    if (first)
        *guard = (Form){first, first};
    return first != NULL;
}

/* The guard, in the innermost open loop, cannot stand outside of it; one that can is written in
 * terms of what is known there. */
static bool guard_stays(Blocks *b, const ForStmt *loop, Form *guard)
{
    return (expr_uses_var(guard->expanded, loop->var) && !guard_for_all(b, loop, guard)) ||
           may_fail_outside(b, guard->expanded, b->loops.n - 1) ||
           bound_depth(b, guard->expanded) == b->loops.n;
}

static Guarded lower_for(Blocks *b, Stmt *s)
{
    Context *c = b->c;
    FactsMark mark = facts_mark(b->facts);
    int n_bounds = b->bounds.n;
    s = name_bounds(b, s);
    facts_enter(b->facts, s);
    VEC_PUSH(c->arena, &b->loops, s);
    Guarded inner = lower(b, s->u.loop.body);
    Guarded outer = {.barrier = inner.barrier}, rest = {.s = inner.s};
    bool *stays = ARENA_ARRAY(c->arena, bool, inner.guards.n + 1);
    for (int i = 0; i < inner.guards.n; i++)
        stays[i] = guard_stays(b, &s->u.loop, &inner.guards.items[i]);
    facts_reset(b->facts, mark);
    for (int i = 0; i < inner.guards.n; i++) {
        Form guard = inner.guards.items[i];
        bool outside = !stays[i] && reads_exist(b, &outer, &guard);
        add_guard(c, outside ? &outer : &rest, guard);
    }
    Stmt *body = materialize(c, &rest);
    body = close_names(b, b->loops.n, body ? body : stmt_empty(c, s->span));
    b->loops.n--;
    if (!inner.s) {
        b->bounds.n = n_bounds;
        return (Guarded){.neutral = true};
    }
    ForStmt loop = s->u.loop;
    loop.body = body;
    if (loop.kind == LOOP_PARALLEL)
        loop.kind = LOOP_SERIAL;
    guard_bounds(b, n_bounds, &outer);
    outer.s = close_bounds(b, n_bounds, &outer, stmt_stamp(stmt_for(c, &loop, s->span), s));
    return outer;
}

/* Both branches keep their guards: what one needs is of no use to the other. */
static Guarded lower_if_else(Blocks *b, Stmt *s)
{
    Context *c = b->c;
    Expr *cond = s->u.cond.cond;
    FactsMark mark = facts_mark(b->facts);
    facts_assume(b->facts, cond);
    Guarded then = lower(b, s->u.cond.then);
    facts_reset(b->facts, mark);
    facts_assume(b->facts, expr_unary(c, EX_NOT, cond, s->span));
    Guarded otherwise = lower(b, s->u.cond.otherwise);
    facts_reset(b->facts, mark);
    Stmt *yes = materialize(c, &then), *no = materialize(c, &otherwise);
    if (!yes && !no)
        return (Guarded){.neutral = true, .barrier = then.barrier || otherwise.barrier};
    Stmt *both = stmt_if(c, cond, yes ? yes : stmt_empty(c, s->span), no, s->span);
    return (Guarded){.s = stmt_stamp(both, s), .barrier = then.barrier || otherwise.barrier};
}

/* The condition is a guard like others. */
static Guarded lower_if(Blocks *b, Stmt *s)
{
    Context *c = b->c;
    Guarded g = {0}, inner = {.neutral = true};
    ExprList conds = {0};
    FactsMark mark = facts_mark(b->facts);
    cond_split(c, s->u.cond.cond, &conds);
    bool exists = true;
    for (int i = 0; i < conds.n && exists; i++)
        exists = require(b, &g, (Form){conds.items[i], conds.items[i]});
    if (exists)
        inner = lower(b, s->u.cond.then);
    facts_reset(b->facts, mark);
    if (!inner.s)
        return (Guarded){.neutral = true};
    g.s = inner.s;
    for (int i = 0; i < inner.guards.n; i++)
        add_guard(c, &g, inner.guards.items[i]);
    if (inner.barrier)
        return (Guarded){.s = materialize(c, &g), .barrier = true};
    return g;
}

/* The guards that every item needs, if none of them is or holds a barrier. */
static Guarded common_guards(Blocks *b, const Guarded *items, int n)
{
    Guarded all = {0};
    const Guarded *first = NULL;
    for (int i = 0; i < n; i++) {
        all.barrier |= items[i].barrier;
        if (!first && !items[i].neutral)
            first = &items[i];
    }
    all.neutral = !first;
    for (int k = 0; first && !all.barrier && k < first->guards.n; k++) {
        const Form *guard = &first->guards.items[k];
        bool common = reads_exist(b, &all, guard);
        for (int i = 0; i < n && common; i++)
            common = items[i].neutral || has_guard(&items[i], guard);
        if (common)
            add_guard(b->c, &all, *guard);
    }
    return all;
}

/* The item with those of its guards that are not among the others. */
static Guarded with_other_guards(Context *c, const Guarded *item, const Guarded *others)
{
    Guarded rest = {.s = item->s};
    for (int k = 0; k < item->guards.n; k++)
        if (!has_guard(others, &item->guards.items[k]))
            add_guard(c, &rest, item->guards.items[k]);
    return rest;
}

/* The guards that every item needs move to the sequence; neighbours with the same guards share one
 * if. */
static Guarded join_items(Blocks *b, const Guarded *items, int n, Span span)
{
    Context *c = b->c;
    StmtList out = {0};
    Guarded all = common_guards(b, items, n), group = {0};
    for (int i = 0; i < n; i++) {
        Guarded rest = with_other_guards(c, &items[i], &all);
        if (group.s && rest.s && group.guards.n && same_guards(&group, &rest)) {
            group.s = stmt_then(c, group.s, rest.s);
            continue;
        }
        if (group.s)
            VEC_PUSH(c->arena, &out, materialize(c, &group));
        group = rest;
    }
    if (group.s)
        VEC_PUSH(c->arena, &out, materialize(c, &group));
    all.s = out.n ? stmt_seq(c, out.items, out.n, span) : NULL;
    return all;
}

static Guarded lower_items(Blocks *b, Stmt *const *items, int n, Span span)
{
    Guarded *parts = ARENA_ARRAY(b->c->arena, Guarded, n + 1);
    for (int i = 0; i < n; i++)
        parts[i] = lower(b, items[i]);
    return join_items(b, parts, n, span);
}

/* No guard may stand around a role: they have barriers. */
static Guarded lower_roles(Blocks *b, Stmt *s)
{
    Context *c = b->c;
    Guarded producer = lower(b, s->u.roles.producer), consumers = lower(b, s->u.roles.consumers);
    Stmt *copies = materialize(c, &producer), *rest = materialize(c, &consumers);
    Stmt *roles = stmt_roles(c, copies ? copies : stmt_empty(c, s->span),
                             rest ? rest : stmt_empty(c, s->span), s->u.roles.turn, s->span);
    return (Guarded){.s = stmt_stamp(roles, s), .barrier = true, .neutral = true};
}

static Guarded lower(Blocks *b, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return lower_items(b, s->u.seq.items, s->u.seq.n, s->span);
    case ST_FOR: return lower_for(b, s);
    case ST_IF: return s->u.cond.otherwise ? lower_if_else(b, s) : lower_if(b, s);
    case ST_BLOCK: return lower_block(b, s);
    case ST_BARRIER: return (Guarded){.s = s, .barrier = true, .neutral = true};
    case ST_ROLES: return lower_roles(b, s);
    case ST_TEMP:
    case ST_LET: return (Guarded){.s = s, .neutral = true};
    case ST_STORE:
    case ST_INSTRUCTION:
    case ST_BREAK:
    case ST_LAUNCH: break;
    }
    return (Guarded){.s = s};
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The declarations at the top of a launch stay there, and names of the launch follow them. */
static Stmt *lower_launch(Blocks *b, Stmt *s)
{
    Context *c = b->c;
    LaunchStmt launch = s->u.launch;
    FactsMark mark = facts_mark(b->facts);
    b->launch = &s->u.launch;
    facts_enter(b->facts, s);
    Stmt *const *items = &launch.body;
    int n = 1, top = 0;
    if (launch.body->kind == ST_SEQ) {
        items = launch.body->u.seq.items;
        n = launch.body->u.seq.n;
    }
    while (top < n && (items[top]->kind == ST_LET || items[top]->kind == ST_TEMP))
        facts_enter(b->facts, items[top++]);
    Guarded rest = lower_items(b, items + top, n - top, launch.body->span);
    Stmt *body = materialize(c, &rest);
    body = close_names(b, 0, body ? body : stmt_empty(c, s->span));
    while (top > 0)
        body = stmt_then(c, items[--top], body);
    facts_reset(b->facts, mark);
    launch.body = body;
    return stmt_stamp(stmt_launch(c, &launch, s->span), s);
}

static Stmt *lower_host(void *user, Stmt *s)
{
    Blocks *b = user;
    if (s->kind == ST_LAUNCH)
        return lower_launch(b, s);
    if (s->kind == ST_FOR && (expr_has_load(s->u.loop.lo) || expr_has_load(s->u.loop.hi))) {
        diag_error(b->c, E0520, s->span,
                   "data decide the range of loop '%s', which stands outside the bound loops, so "
                   "it would run on the host; bind a loop around it",
                   s->u.loop.var->name);
        b->failed = true;
    }
    Stmt *done = stmt_map_inside(b->c, b->facts, s, lower_host, b);
    if (done && done->kind == ST_FOR && done->u.loop.kind != LOOP_SERIAL) {
        ForStmt loop = done->u.loop;
        loop.kind = LOOP_SERIAL;
        done = stmt_stamp(stmt_for(b->c, &loop, s->span), s);
    }
    return done;
}

Kernel *pass_lower_blocks(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Blocks b = {.c = c, .facts = facts_of_kernel(c, kernel)};
    Stmt *body = lower_host(&b, kernel->body);
    if (b.failed)
        return NULL;
    return names_settle(c, kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span)));
}
