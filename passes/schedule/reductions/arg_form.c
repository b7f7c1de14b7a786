/* arg_form.c - Recognizes blocks that store under a condition on what is there, for arg_reduce. */
#include "ir/implied.h"
#include "passes/schedule/reductions/arg_reduce.h"

/* ---- the block ------------------------------------------------------------------------------- */

static bool find_block(ArgReduce *a, const PrimCall *call)
{
    Schedule *s = a->s;
    StmtPath outer = {0};
    a->loop = sched_node(s, &call->arg_reduce.loop, &outer);
    a->block = sched_node(s, &call->arg_reduce.block, NULL);
    StmtPath inner = stmt_path_to(s->ctx, a->loop, a->block);
    REQUIRE(s, E0540, a->span, inner.n > 0, "block '%s' is not in loop '%s'", stmt_label(a->block),
            stmt_label(a->loop));
    a->path = path_joined(s->ctx, &outer, outer.n - 1, inner);
    a->facts = sched_facts(s, &a->path);
    facts_enter(a->facts, a->block);
    return true;
}

static bool check_block(ArgReduce *a)
{
    Schedule *s = a->s;
    const BlockStmt *b = &a->block->u.block;
    REQUIRE(s, E0540, a->span,
            !b->init && !b->instruction && !b->atomic && !b->annotations.n && !b->predicate &&
                !stmt_awaits(s->ctx, b->body, NULL),
            "block '%s' %s; arg_reduce takes plain blocks", b->name,
            b->init             ? "has an init, so it is a reduction already"
            : b->instruction    ? "is an instruction"
            : b->atomic         ? "is atomic"
            : b->predicate      ? "runs under a condition of a step"
            : !b->annotations.n ? "waits for other threads"
                                : "has annotations");
    REQUIRE(s, E0540, a->span, guarded_stores(s->ctx, b->body, &a->g),
            "block '%s' does not only store under conditions without else, as in if x[i] > best { "
            "best = x[i]; at = i; }",
            b->name);
    return true;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The iterator that is the loop's variable, and the only one that depends on it; or NULL. */
static const BlockIter *iter_of(const ArgReduce *a, const ForStmt *loop)
{
    const BlockStmt *b = &a->block->u.block;
    const BlockIter *found = NULL;
    for (int i = 0; i < b->n_iters; i++) {
        if (!expr_uses_var(b->iters[i].binding, loop->var))
            continue;
        if (found || !expr_is_var(b->iters[i].binding, loop->var))
            return NULL;
        found = &b->iters[i];
    }
    return found;
}

static bool add_position(ArgReduce *a, const Stmt *loop)
{
    Schedule *s = a->s;
    const BlockIter *iter = iter_of(a, &loop->u.loop);
    if (!sched_require_serial(s, loop, a->loop_span))
        return false;
    REQUIRE(s, E0540, a->loop_span, iter,
            "loop '%s' is not the value of one iterator of block '%s' alone, so an iteration has "
            "no index",
            stmt_label(loop), stmt_label(a->block));
    VEC_PUSH(s->ctx->arena, &a->positions, ((Position){.loop = &loop->u.loop, .iter = iter}));
    return true;
}

static bool find_positions(ArgReduce *a)
{
    int first = path_loop(&a->path, a->loop->u.loop.id);
    for (int i = first; i < a->path.n; i++)
        if (a->path.items[i]->kind == ST_FOR && !add_position(a, a->path.items[i]))
            return false;
    return true;
}

bool arg_is_position(const ArgReduce *a, const Var *var)
{
    for (int i = 0; i < a->positions.n; i++)
        if (a->positions.items[i].iter->var == var)
            return true;
    return false;
}

static bool uses_position(const ArgReduce *a, const Expr *e)
{
    for (int i = 0; i < a->positions.n; i++)
        if (expr_uses_var(e, a->positions.items[i].iter->var))
            return true;
    return false;
}

/* The block behind the loop has the iterators that are none of its positions. */
static bool check_domains(const ArgReduce *a)
{
    const BlockStmt *b = &a->block->u.block;
    for (int i = 0; i < b->n_iters; i++) {
        const BlockIter *iter = &b->iters[i];
        REQUIRE(a->s, E0540, a->loop_span,
                arg_is_position(a, iter->var) ||
                    (!uses_position(a, iter->lo) && !uses_position(a, iter->hi)),
                "the domain of iterator '%s' of block '%s' depends on a loop that is searched",
                iter->var->name, b->name);
    }
    return true;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* The load is known to be of another element than the store. */
static bool is_apart(const ArgReduce *a, const Expr *load, const StoreStmt *store)
{
    Context *c = a->s->ctx;
    for (int d = 0; d < store->buffer->rank; d++)
        if (prove(a->facts, expr_binary(c, EX_NE, load->u.load.index[d], store->index[d], a->span)))
            return true;
    return false;
}

/* The buffer of an element that the block stores to, which `e` may read; NULL: it reads none. */
static const Buffer *stored_in(const ArgReduce *a, const Expr *e)
{
    for (Cursor at = cursor_expr(a->s->ctx, e); cursor_next(&at);)
        for (int k = 0; at.expr->kind == EX_LOAD && k < a->g.stores.n; k++)
            if (expr_is_load(at.expr, arg_store(a, k)->buffer) &&
                !is_apart(a, at.expr, arg_store(a, k)))
                return arg_store(a, k)->buffer;
    return NULL;
}

/* The store to the element that `e` is a load of; -1: none. */
static int store_to(const ArgReduce *a, const Expr *e)
{
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = arg_store(a, k);
        if (expr_is_load(e, store->buffer) &&
            exprs_equal(e->u.load.index, store->index, store->buffer->rank))
            return k;
    }
    return -1;
}

/* The conversion of an index to an integer keeps its value. */
static bool is_exact(const ArgReduce *a, const Expr *cast)
{
    int64_t least, most;
    const TypeInfo *info = type_info(cast->type);
    if (cast->type == DT_I64)
        return true;
    if (info->class != CLASS_INT && info->class != CLASS_UINT)
        return false;
    int bits = info->class == CLASS_INT ? info->bits - 1 : info->bits > 62 ? 62 : info->bits;
    int64_t end = (int64_t)1 << bits;
    return bounds_const(a->facts, cast->u.arg[0], &least, &most) && most < end &&
           least >= (info->class == CLASS_INT ? -end : 0);
}

/* The store of the iterator itself to an element; -1: none. */
static int store_of_position(const ArgReduce *a, const Position *p)
{
    for (int k = 0; k < a->g.stores.n; k++) {
        const Expr *e = arg_store(a, k)->value;
        if (e->kind == EX_CAST && expr_is_var(e->u.arg[0], p->iter->var) && is_exact(a, e))
            return k;
    }
    return -1;
}

/* `e` as it was in the iteration whose indices are stored; NULL: not all of them are. */
static Expr *at_stored(const ArgReduce *a, Expr *e)
{
    Context *c = a->s->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, a->positions.n);
    for (int i = 0; i < a->positions.n; i++) {
        int k = store_of_position(a, &a->positions.items[i]);
        if (k < 0)
            return NULL;
        Expr *index = expr_load(c, arg_store(a, k)->buffer, arg_store(a, k)->index, a->span);
        map[i] = (Subst){a->positions.items[i].iter->var, expr_cast(c, DT_INDEX, index, a->span)};
    }
    return expr_subst(c, e, map, a->positions.n);
}

/* A comparison of a value with the element that it is stored to, or with the value at the index
 * that is stored: x[i] > best, x[i] > x[at]. */
static bool take_compare(ArgReduce *a, Expr *cond)
{
    bool greater = cond->kind == EX_GT || cond->kind == EX_GE;
    if (!greater && cond->kind != EX_LT && cond->kind != EX_LE)
        return false;
    for (int side = 0; side < 2; side++) {
        Expr *old = cond->u.arg[side], *value = cond->u.arg[!side];
        int k = store_to(a, old);
        Expr *at = k < 0 && !stored_in(a, value) ? at_stored(a, value) : NULL;
        if (k < 0 ? !at || !expr_equal(at, old) : !expr_equal(arg_store(a, k)->value, value))
            continue;
        a->compare = cond;
        a->side = side;
        a->best = k;
        a->largest = greater == (side == 1);
        a->last = cond->kind == EX_GE || cond->kind == EX_LE;
        return true;
    }
    return false;
}

/* The same of the one operand of a || b that reads what is stored; the others are the start. */
static bool take_choice(ArgReduce *a, Expr *cond)
{
    Context *c = a->s->ctx;
    ExprList any = {0};
    expr_chain(c, cond, EX_OR, &any);
    for (int i = 0; i < any.n; i++) {
        Expr *e = any.items[i];
        if (!stored_in(a, e))
            a->start = a->start ? expr_binary(c, EX_OR, a->start, e, a->span) : e;
        else if (a->compare || !take_compare(a, e))
            return false;
    }
    return a->compare != NULL;
}

typedef struct {
    const ArgReduce *a;
    bool others; /* something else is read */
} Stored;

static Expr *put_stored(Rewriter *r, Expr *e)
{
    Stored *stored = r->user;
    int k = store_to(stored->a, e);
    stored->others |= e->kind == EX_LOAD && k < 0;
    return k < 0 ? e : arg_store(stored->a, k)->value;
}

/* The same of i32(j), whose range decides a comparison with a literal: i32(j) < 0 never holds. */
static bool is_decided(const ArgReduce *a, const Expr *behind)
{
    Context *c = a->s->ctx;
    if (op_info(behind->kind)->class != OP_COMPARE)
        return false;
    const Expr *value = behind->u.arg[0];
    int64_t number;
    if (value->kind != EX_CAST || value->u.arg[0]->type != DT_INDEX || !is_exact(a, value) ||
        !expr_is_const(behind->u.arg[1], &number))
        return false;
    Expr *exact = expr_binary(c, behind->kind, value->u.arg[0], expr_index(c, number), a->span);
    return prove(a->facts, expr_unary(c, EX_NOT, exact, a->span));
}

/* A condition on elements alone, which does not hold any more once the block has stored to them:
 * at[i] < 0, where the block stores an index. */
static bool take_once(ArgReduce *a, Expr *cond)
{
    Context *c = a->s->ctx;
    Stored stored = {.a = a};
    Rewriter r = {.ctx = c, .user = &stored, .expr = put_stored};
    Expr *behind = rewrite_expr(&r, cond);
    if (stored.others || uses_position(a, cond) ||
        !(is_decided(a, behind) || prove(a->facts, expr_unary(c, EX_NOT, behind, a->span))))
        return false;
    a->once = cond;
    a->last = false;
    return true;
}

static bool take_conditions(ArgReduce *a)
{
    Schedule *s = a->s;
    a->last = true;
    for (int i = 0; i < a->g.conds.n; i++) {
        Expr *cond = a->g.conds.items[i];
        const Buffer *reads = stored_in(a, cond);
        REQUIRE(s, E0540, a->span,
                !reads || (!a->compare && !a->once && (take_once(a, cond) || take_choice(a, cond))),
                "block '%s' stores where %s, which reads '%s', and is not one comparison with a "
                "value that the block stores there",
                stmt_label(a->block), expr_text(s->ctx, cond), reads->name);
        Expr **of = a->compare || a->once ? &a->late : &a->early;
        if (!reads)
            *of = cond_and(s->ctx, *of, cond);
    }
    return true;
}

/* The value is computed wherever the conditions beside the comparison hold; those behind it, where
 * that does not hold, too. So these must not need it. */
static bool runs_anywhere(const ArgReduce *a, const Expr *e)
{
    for (Cursor at = cursor_expr(a->s->ctx, e); cursor_next(&at);) {
        bool divides = at.expr->kind == EX_DIV || at.expr->kind == EX_MOD;
        if (divides && !type_is_float(at.expr->type) && at.expr->u.arg[1]->kind != EX_INT)
            return false;
        if (at.expr->kind == EX_LOAD && !load_exists(a->facts, at.expr))
            return false;
    }
    return true;
}

static bool check_late(const ArgReduce *a)
{
    REQUIRE(a->s, E0540, a->span, !a->late || runs_anywhere(a, a->late),
            "block '%s' asks %s behind its comparison, and it is not known that this can be asked "
            "where that does not hold; write it in front",
            stmt_label(a->block), expr_text(a->s->ctx, a->late));
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool has_order(DType type)
{
    bool tiny = type_is_float(type) && type_info(type)->bits == 8;
    return type != DT_BOOL && type != DT_INDEX && !tiny;
}

static bool check_element(const ArgReduce *a, int k)
{
    Schedule *s = a->s;
    const StoreStmt *store = arg_store(a, k);
    Name buffer = store->buffer->name;
    REQUIRE(s, E0540, a->span, !stmt_declares(s->ctx, a->loop, store->buffer),
            "'%s' is declared in loop '%s', so each iteration has its own", buffer,
            stmt_label(a->loop));
    for (int d = 0; d < store->buffer->rank; d++)
        REQUIRE(s, E0540, a->span,
                !uses_position(a, store->index[d]) && !expr_loads_change(store->index[d]),
                "block '%s' stores to different elements of '%s' in loop '%s'",
                stmt_label(a->block), buffer, stmt_label(a->loop));
    for (int i = 0; (a->compare || a->once) && i < a->g.stores.n; i++)
        REQUIRE(s, E0540, a->span, i == k || arg_store(a, i)->buffer->id != store->buffer->id,
                "block '%s' stores twice to '%s', so it is not known what it compares with",
                stmt_label(a->block), buffer);
    const Stmt *other = flow_other_block(s, a->loop, a->block, store->buffer, ACCESS_ANY);
    REQUIRE(s, E0540, a->loop_span, !other, "block '%s' in loop '%s' needs what '%s' is there",
            stmt_label(other), stmt_label(a->loop), buffer);
    return true;
}

/* The value is the same behind the loop, given the index. */
static bool check_known_behind(const ArgReduce *a, const Expr *value)
{
    Schedule *s = a->s;
    for (Cursor at = cursor_expr(s->ctx, value); cursor_next(&at);) {
        if (at.expr->kind != EX_LOAD)
            continue;
        const Buffer *buffer = at.expr->u.load.buffer;
        REQUIRE(s, E0540, a->span,
                !stmt_declares(s->ctx, a->loop, buffer) &&
                    !flow_other_block(s, a->loop, a->block, buffer, ACCESS_WRITE),
                "block '%s' needs '%s' behind loop '%s', which writes it meanwhile; only the value "
                "of a comparison with what is stored may depend on that",
                stmt_label(a->block), buffer->name, stmt_label(a->loop));
    }
    return true;
}

static bool check_compared(const ArgReduce *a)
{
    if (!a->compare)
        return true;
    DType type = arg_value(a)->type;
    REQUIRE(a->s, E0540, a->span, has_order(type),
            "block '%s' compares values of type %s, of which no largest one can be computed",
            stmt_label(a->block), type_info(type)->name);
    return (a->best >= 0 && !a->start) || check_known_behind(a, arg_value(a));
}

/* The block behind the loop compares with the element also where nothing was searched, unless it
 * asks for the index first. So there has to be one. */
static bool check_exists(const ArgReduce *a)
{
    Schedule *s = a->s;
    if (!a->compare || arg_asks_index(a))
        return true;
    StmtPath around = a->path;
    around.n = path_loop(&a->path, a->loop->u.loop.id) + 1;
    Facts *outside = sched_facts(s, &around);
    const BlockStmt *b = &a->block->u.block;
    for (int i = 0; i < b->n_iters; i++)
        if (!arg_is_position(a, b->iters[i].var))
            facts_range(outside, b->iters[i].var, b->iters[i].lo, b->iters[i].hi);
    Expr *element = a->compare->u.arg[a->side];
    REQUIRE(s, E0540, a->span, load_exists(outside, element),
            "block '%s' compares with %s, of which it is not known that it exists where loop '%s' "
            "has no iterations",
            stmt_label(a->block), expr_text(s->ctx, element), stmt_label(a->loop));
    return true;
}

static bool check_values(const ArgReduce *a)
{
    Schedule *s = a->s;
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = arg_store(a, k);
        const Buffer *reads = stored_in(a, store->value);
        REQUIRE(s, E0540, a->span, !reads,
                "block '%s' stores to '%s' what depends on '%s', which it stores, too",
                stmt_label(a->block), store->buffer->name, reads->name);
        bool is_value = a->compare && k == a->best;
        if (!check_element(a, k) || (!is_value && !check_known_behind(a, store->value)))
            return false;
    }
    return true;
}

/* ---- the first iteration --------------------------------------------------------------------- */

Expr *arg_at_first(const ArgReduce *a, Expr *e)
{
    Context *c = a->s->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, a->positions.n);
    for (int i = 0; i < a->positions.n; i++)
        map[i] = (Subst){a->positions.items[i].iter->var, a->positions.items[i].iter->lo};
    return expr_subst(c, e, map, a->positions.n);
}

/* The start does not hold behind the first iteration of the loop: one of the conditions that it
 * joins does not. */
static bool is_first_only(const ArgReduce *a, const Position *p)
{
    Context *c = a->s->ctx;
    FactsMark mark = facts_mark(a->facts);
    ExprList all = {0};
    cond_split(c, a->start, &all);
    Expr *at = expr_var(c, p->iter->var, a->span);
    facts_assume(a->facts, expr_binary(c, EX_GT, at, p->iter->lo, a->span));
    bool never = false;
    for (int i = 0; i < all.n && !never; i++)
        never = prove(a->facts, expr_unary(c, EX_NOT, all.items[i], a->span));
    facts_reset(a->facts, mark);
    return never;
}

/* The start holds in the first iteration of all, and in no other. */
static bool check_start(const ArgReduce *a)
{
    bool first = true;
    for (int i = 0; a->start && i < a->positions.n; i++) {
        const Position *p = &a->positions.items[i];
        first = first && iter_is_loop(p->iter, &p->loop, 1) && !uses_position(a, p->iter->lo) &&
                !uses_position(a, p->iter->hi) && is_first_only(a, p);
    }
    for (int i = path_loop(&a->path, a->loop->u.loop.id); i < a->path.n; i++)
        first = first && (!a->start || a->path.items[i]->kind != ST_IF);
    REQUIRE(a->s, E0540, a->span,
            !a->start || (first && a->best >= 0 && prove(a->facts, arg_at_first(a, a->start))),
            "block '%s' stores where %s, which is not known to hold in the first iteration of loop "
            "'%s', and only there",
            stmt_label(a->block), expr_text(a->s->ctx, a->start), stmt_label(a->loop));
    return true;
}

bool arg_form(ArgReduce *a, const PrimCall *call)
{
    return find_block(a, call) && check_block(a) && find_positions(a) && check_domains(a) &&
           take_conditions(a) && check_late(a) && check_values(a) && check_exists(a) &&
           check_compared(a) && check_start(a);
}
