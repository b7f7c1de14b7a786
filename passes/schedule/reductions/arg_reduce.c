/* arg_reduce.c - Implements arg_reduce: makes a reduction of stores under a condition on what is
 * there.
 *
 *   best = x[0]; at = 0;                  best = x[0]; at = 0;
 *   for i in N                            for i in N
 *       if x[i] > best {          =>          best_found_value, best_found_index
 *           best = x[i];                          argmax_f32= (x[i], i);
 *           at = i;                       if best_found_value > best {
 *       }                                     best = best_found_value;
 *                                             at = best_found_index; }
 *
 *   reducer argmax_f32(value: f32, index: i32)
 *   {
 *       init (-inf, 2147483647);
 *       combine(x, y): y.value > x.value || y.value == x.value && y.index < x.index ? y : x;
 *   }
 *
 * An iteration is the function  s -> v > s.best ? (v, i) : s  of what is stored.  Two of them, one
 * after the other, are the function of the one with the larger v, or of the first one where they
 * are equal; one whose v is no number changes nothing.  So the loop is the function of one of its
 * iterations, which a reduction finds, and the block applies it to what stood before the loop.
 * Nothing is said of that: it may be a NaN, which is never less, or an infinity.  With >= the last
 * one of equal values counts; in an identity the index then says that there was none, since -inf
 * >= -inf.  Without a comparison the last iteration of all counts that meets the conditions.
 *
 * What else the block stores is computed behind the loop from the index, so the tuple has two
 * components however much that is. The value alone needs no index: it is a maximum, in which -0
 * and 0 are equal.
 *
 * Legal: the conditions of the block read none of what it stores, but for one, which compares an
 * element with the value that is stored there. The elements are the same in all iterations, and no
 * other block of the loop accesses them; what the block stores beside the value is known behind
 * the loop.
 * Invariant: the elements have the same values behind the loop. */
#include "ir/implied.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/flow.h"
#include "passes/shared/combiner.h"
#include "passes/shared/guarded.h"

/* A loop that is searched: the block's iterator that is its variable. */
typedef struct {
    const ForStmt *loop;
    const BlockIter *iter;
    DType type;  /* of the component that holds it */
    Expr *none;  /* the identity, which no iteration has */
    bool upward; /* of two that are equal in all else, the one with the larger index counts */
} Position;

typedef struct {
    Schedule *s;
    Span span, loop_span;
    StmtPath path; /* to the block */
    Stmt *loop, *block;
    Facts *facts; /* that hold in the block */
    GuardedStores g;
    Expr *compare;      /* the condition on an element; NULL: there is none */
    int side;           /* which of its operands that is */
    int best;           /* which store is of that element */
    bool largest, last; /* values win that are larger; of equal ones the last */
    Expr *early, *late; /* the other conditions, in front of it and behind it, or NULL */
    VEC(Position) positions;
    Buffer *value;     /* what the reduction finds, or NULL */
    BufferElement *at; /* [positions.n], or NULL */
} ArgReduce;

/* ---- the block ------------------------------------------------------------------------------- */

static const StoreStmt *store_of(const ArgReduce *a, int k)
{
    return &a->g.stores.items[k]->u.store;
}

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
            !b->init && !b->instruction && !b->atomic && !b->annotations.n && !b->predicate,
            "block '%s' %s; arg_reduce takes plain blocks", b->name,
            b->init          ? "has an init, so it is a reduction already"
            : b->instruction ? "is an instruction"
            : b->atomic      ? "is atomic"
            : b->predicate   ? "runs under a condition of a step"
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

static bool is_position(const ArgReduce *a, const Var *var)
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
                is_position(a, iter->var) ||
                    (!uses_position(a, iter->lo) && !uses_position(a, iter->hi)),
                "the domain of iterator '%s' of block '%s' depends on a loop that is searched",
                iter->var->name, b->name);
    }
    return true;
}

/* How positions are held and ordered: in 32 bits where these are known to suffice. */
static void choose_types(ArgReduce *a)
{
    Context *c = a->s->ctx;
    for (int i = 0; i < a->positions.n; i++) {
        Position *p = &a->positions.items[i];
        int64_t least, most;
        bool known = bounds_const(a->facts, expr_var(c, p->iter->var, a->span), &least, &most);
        bool narrow = known && least > INT32_MIN && most < INT32_MAX;
        p->type = narrow ? DT_I32 : DT_I64;
        p->upward = a->last == (p->loop->step > 0);
        int64_t large = narrow ? INT32_MAX : INT64_MAX;
        int64_t small = known && least >= 0 ? -1 : narrow ? INT32_MIN : INT64_MIN;
        p->none = expr_int(c, p->type, p->upward ? small : large, a->span);
    }
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
            if (expr_is_load(at.expr, store_of(a, k)->buffer) &&
                !is_apart(a, at.expr, store_of(a, k)))
                return store_of(a, k)->buffer;
    return NULL;
}

/* The store to the element that `e` is a load of; -1: none. */
static int store_to(const ArgReduce *a, const Expr *e)
{
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = store_of(a, k);
        if (expr_is_load(e, store->buffer) &&
            exprs_equal(e->u.load.index, store->index, store->buffer->rank))
            return k;
    }
    return -1;
}

/* A comparison of a value with the element that it is stored to. */
static bool take_compare(ArgReduce *a, Expr *cond)
{
    bool greater = cond->kind == EX_GT || cond->kind == EX_GE;
    if (!greater && cond->kind != EX_LT && cond->kind != EX_LE)
        return false;
    for (int side = 0; side < 2; side++) {
        int k = store_to(a, cond->u.arg[side]);
        if (k < 0 || !expr_equal(store_of(a, k)->value, cond->u.arg[!side]))
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

static bool take_conditions(ArgReduce *a)
{
    Schedule *s = a->s;
    a->last = true;
    for (int i = 0; i < a->g.conds.n; i++) {
        Expr *cond = a->g.conds.items[i];
        const Buffer *reads = stored_in(a, cond);
        REQUIRE(s, E0540, a->span, !reads || (!a->compare && take_compare(a, cond)),
                "block '%s' stores where %s, which reads '%s', and is not one comparison with a "
                "value that the block stores there",
                stmt_label(a->block), expr_text(s->ctx, cond), reads->name);
        Expr **of = a->compare ? &a->late : &a->early;
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
        if (expr_awaits(at.expr) || (at.expr->kind == EX_LOAD && !load_exists(a->facts, at.expr)))
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
    const StoreStmt *store = store_of(a, k);
    Name buffer = store->buffer->name;
    REQUIRE(s, E0540, a->span, !stmt_declares(s->ctx, a->loop, store->buffer),
            "'%s' is declared in loop '%s', so each iteration has its own", buffer,
            stmt_label(a->loop));
    for (int d = 0; d < store->buffer->rank; d++)
        REQUIRE(s, E0540, a->span,
                !uses_position(a, store->index[d]) && !expr_loads_change(store->index[d]),
                "block '%s' stores to different elements of '%s' in loop '%s'",
                stmt_label(a->block), buffer, stmt_label(a->loop));
    for (int i = 0; a->compare && i < a->g.stores.n; i++)
        REQUIRE(s, E0540, a->span,
                i == a->best || store_of(a, i)->buffer->id != store_of(a, a->best)->buffer->id,
                "block '%s' stores twice to '%s', so it is not known what it compares with",
                stmt_label(a->block), store_of(a, i)->buffer->name);
    const Stmt *other = flow_other_block(s, a->loop, a->block, store->buffer, ACCESS_ANY);
    REQUIRE(s, E0540, a->loop_span, !other, "block '%s' in loop '%s' needs what '%s' is there",
            stmt_label(other), stmt_label(a->loop), buffer);
    return true;
}

/* What is stored beside the value is the same behind the loop, given the index. */
static bool check_known_behind(const ArgReduce *a, const StoreStmt *store)
{
    Schedule *s = a->s;
    for (Cursor at = cursor_expr(s->ctx, store->value); cursor_next(&at);) {
        if (at.expr->kind != EX_LOAD)
            continue;
        const Buffer *buffer = at.expr->u.load.buffer;
        REQUIRE(s, E0540, a->span,
                !stmt_declares(s->ctx, a->loop, buffer) &&
                    !flow_other_block(s, a->loop, a->block, buffer, ACCESS_WRITE),
                "block '%s' stores '%s' to '%s', which loop '%s' writes meanwhile; only the value "
                "of the comparison may depend on that",
                stmt_label(a->block), buffer->name, store->buffer->name, stmt_label(a->loop));
        REQUIRE(s, E0540, a->span, !expr_awaits(at.expr), "block '%s' waits for an element",
                stmt_label(a->block));
    }
    return true;
}

static bool check_values(const ArgReduce *a)
{
    Schedule *s = a->s;
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = store_of(a, k);
        const Buffer *reads = stored_in(a, store->value);
        REQUIRE(s, E0540, a->span, !reads,
                "block '%s' stores to '%s' what depends on '%s', which it stores, too",
                stmt_label(a->block), store->buffer->name, reads->name);
        bool is_value = a->compare && k == a->best;
        REQUIRE(s, E0540, a->span, !is_value || has_order(store->buffer->type),
                "'%s' has elements of type %s, of which no largest one can be computed",
                store->buffer->name, type_info(store->buffer->type)->name);
        if (!check_element(a, k) || (!is_value && !check_known_behind(a, store)))
            return false;
    }
    return true;
}

static bool check(ArgReduce *a, const PrimCall *call)
{
    return find_block(a, call) && check_block(a) && find_positions(a) && check_domains(a) &&
           take_conditions(a) && check_late(a) && check_values(a);
}

/* ---- the reducer ----------------------------------------------------------------------------- */

static bool needs_index(const ArgReduce *a)
{
    return !a->compare || a->g.stores.n > 1;
}

static Expr *operands(const ArgReduce *a, ExprKind kind, const CombinerPart *part)
{
    Context *c = a->s->ctx;
    return expr_binary(c, kind, expr_var(c, part->b, a->span), expr_var(c, part->a, a->span),
                       a->span);
}

/* The right operand wins, by the components from the first on, each where those before are equal:
 * y.value > x.value || y.value == x.value && y.index < x.index. */
static Expr *wins(const ArgReduce *a, const CombinerPart *parts, int n)
{
    Context *c = a->s->ctx;
    Expr *cond = NULL;
    for (int k = n - 1; k >= 0; k--) {
        int index = a->compare ? k - 1 : k;
        bool larger = index < 0 ? a->largest : a->positions.items[index].upward;
        Expr *before = operands(a, larger ? EX_GT : EX_LT, &parts[k]);
        Expr *equal = cond ? cond_and(c, operands(a, EX_EQ, &parts[k]), cond) : NULL;
        cond = equal ? expr_binary(c, EX_OR, before, equal, a->span) : before;
    }
    return cond;
}

static Expr *least_value(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    DType type = store_of(a, a->best)->buffer->type;
    Expr *start = type_is_float(type) ? expr_float(c, type, 0, a->span) : NULL;
    return reducer_neutral_from(c, a->largest ? STORE_MAX : STORE_MIN, type, start, a->span);
}

static int fill_parts(const ArgReduce *a, CombinerPart *parts)
{
    Context *c = a->s->ctx;
    int n = 0;
    if (a->compare)
        parts[n++] = combiner_part(c, "value", least_value(a));
    for (int i = 0; i < a->positions.n; i++)
        parts[n++] = combiner_part(c, arena_printf(c->arena, i ? "index_%d" : "index", i),
                                   a->positions.items[i].none);
    return n;
}

/* "argmax_f32", "last_argmin_i32", "last": what the reducer is called. */
static const char *reducer_name(const ArgReduce *a)
{
    if (!a->compare)
        return "last";
    return arena_printf(a->s->ctx->arena, "%sarg%s_%s", a->last ? "last_" : "",
                        a->largest ? "max" : "min",
                        type_info(store_of(a, a->best)->buffer->type)->name);
}

static const Combiner *reducer_for(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    CombinerPart *parts = ARENA_ARRAY(c->arena, CombinerPart, a->positions.n + 1);
    int n = fill_parts(a, parts);
    Subst *let = ARENA_NEW(c->arena, Subst);
    Expr *choice = wins(a, parts, n);
    *let = (Subst){var_new(c, "y_wins", DT_BOOL, VAR_LET, a->span), choice};
    for (int k = 0; k < n; k++)
        parts[k].value =
            expr_select(c, expr_var(c, let->var, a->span), expr_var(c, parts[k].b, a->span),
                        expr_var(c, parts[k].a, a->span), a->span);
    Combiner *out = ARENA_NEW(c->arena, Combiner);
    *out = (Combiner){.parts = parts,
                      .n = n,
                      .lets = let,
                      .n_lets = 1,
                      .choice = choice,
                      .chooses_b = true,
                      .span = a->span};
    return combiner_named(c, a->s->kernel->body, reducer_name(a), out);
}

/* ---- the reduction --------------------------------------------------------------------------- */

static Buffer *new_temp(const ArgReduce *a, const char *base, const char *part, DType type)
{
    Schedule *s = a->s;
    const Buffer *like = store_of(a, a->best)->buffer;
    const char *name = arena_printf(s->ctx->arena, *part ? "%s_%s" : "%s", base, part);
    Buffer own = {.name = sched_fresh_name(s, name),
                  .type = type,
                  .scope = like->role == ROLE_TEMP ? like->scope : SCOPE_GLOBAL,
                  .role = ROLE_TEMP,
                  .span = like->span,
                  .origin = a->span};
    return buffer_new(s->ctx, &own);
}

/* A name of which that of each component is made, and none is taken. */
static const char *base_name(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    const char *base = arena_printf(c->arena, "%s_found", store_of(a, a->best)->buffer->name);
    for (int i = 0;; i++) {
        const char *name = i ? arena_printf(c->arena, "%s_%d", base, i) : base;
        bool taken = sched_fresh_name(a->s, name) != ctx_name(c, name);
        const char *value = arena_printf(c->arena, "%s_value", name);
        taken |= sched_fresh_name(a->s, value) != ctx_name(c, value);
        for (int k = 0; k < a->positions.n; k++) {
            const char *at = arena_printf(c->arena, k ? "%s_index_%d" : "%s_index", name, k);
            taken |= sched_fresh_name(a->s, at) != ctx_name(c, at);
        }
        if (!taken)
            return name;
    }
}

static BufferElement single(Context *c, Buffer *buffer)
{
    return (BufferElement){buffer, ARENA_ARRAY(c->arena, Expr *, 1)};
}

static void make_temps(ArgReduce *a, const char *base)
{
    Context *c = a->s->ctx;
    bool plain = !needs_index(a) || (!a->compare && a->positions.n == 1);
    if (a->compare)
        a->value = new_temp(a, base, plain ? "" : "value", store_of(a, a->best)->buffer->type);
    if (!needs_index(a))
        return;
    a->at = ARENA_ARRAY(c->arena, BufferElement, a->positions.n);
    for (int i = 0; i < a->positions.n; i++) {
        const char *part = plain ? "" : arena_printf(c->arena, i ? "index_%d" : "index", i);
        a->at[i] = single(c, new_temp(a, base, part, a->positions.items[i].type));
    }
}

/* The update, and in `init` what it starts from. */
static Stmt *make_update(const ArgReduce *a, Stmt **init)
{
    Context *c = a->s->ctx;
    int n = 0;
    BufferElement *to = ARENA_ARRAY(c->arena, BufferElement, a->positions.n + 1);
    Expr **values = ARENA_ARRAY(c->arena, Expr *, a->positions.n + 1);
    if (a->value) {
        to[n] = single(c, a->value);
        values[n++] = store_of(a, a->best)->value;
    }
    for (int i = 0; a->at && i < a->positions.n; i++) {
        const Position *p = &a->positions.items[i];
        to[n] = a->at[i];
        values[n++] = expr_cast(c, p->type, expr_var(c, p->iter->var, a->span), a->span);
    }
    if (n > 1) {
        const Combiner *combiner = reducer_for(a);
        *init = tuple_identities(c, combiner, to, a->span);
        return tuple_update(c, &(TupleUpdate){combiner, to, values}, a->span);
    }
    bool larger = a->value ? a->largest : a->positions.items[0].upward;
    *init = stmt_set(c, to[0], a->value ? least_value(a) : a->positions.items[0].none, a->span);
    return stmt_assign(c, to[0], larger ? STORE_MAX : STORE_MIN, values[0], a->span);
}

static Stmt *make_reduction(const ArgReduce *a, const char *base)
{
    Context *c = a->s->ctx;
    BlockStmt block = a->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].kind = is_position(a, iters[i].var) ? ITER_REDUCE : ITER_SPATIAL;
    Stmt *update = make_update(a, &block.init);
    Expr *where = !a->late ? a->early : cond_and(c, a->early, a->late);
    block.body = where ? stmt_if(c, where, update, NULL, a->span) : update;
    block.id = 0;
    block.name = ctx_name(c, base);
    return stmt_clone_fresh(c, stmt_block(c, &block, a->block->span));
}

/* ---- behind the loop ------------------------------------------------------------------------- */

/* T(index(e)) of an `e` of type T is `e`. */
static Expr *drop_casts(Rewriter *r, Expr *e)
{
    (void)r;
    if (e->kind != EX_CAST || e->u.arg[0]->kind != EX_CAST)
        return e;
    Expr *inner = e->u.arg[0]->u.arg[0];
    return e->u.arg[0]->type == DT_INDEX && inner->type == e->type ? inner : e;
}

/* `e` in the iteration that was found. */
static Expr *at_found(const ArgReduce *a, Expr *e)
{
    Context *c = a->s->ctx;
    Subst *map = ARENA_ARRAY(c->arena, Subst, a->positions.n);
    for (int i = 0; i < a->positions.n; i++) {
        Expr *index = expr_load(c, a->at[i].buffer, a->at[i].index, a->span);
        map[i] = (Subst){a->positions.items[i].iter->var, expr_cast(c, DT_INDEX, index, a->span)};
    }
    Rewriter r = {.ctx = c, .expr = drop_casts};
    return rewrite_expr(&r, expr_subst(c, e, map, a->positions.n));
}

/* An iteration was found, and the comparison holds. A value that nothing is less than wins nothing
 * by > or <, so that an identity needs no condition then. */
static Expr *found(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    Expr *cond = NULL;
    if (a->at && a->last) {
        Expr *index = expr_load(c, a->at[0].buffer, a->at[0].index, a->span);
        cond = expr_binary(c, EX_NE, index, a->positions.items[0].none, a->span);
    }
    if (!a->compare)
        return cond;
    Expr *args[2] = {a->compare->u.arg[0], a->compare->u.arg[1]};
    args[!a->side] = expr_load(c, a->value, single(c, a->value).index, a->span);
    return cond_and(c, cond, expr_binary(c, a->compare->kind, args[0], args[1], a->span));
}

static Stmt *make_stores(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    Stmt **stores = ARENA_ARRAY(c->arena, Stmt *, a->g.stores.n);
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = store_of(a, k);
        Expr *value = a->compare && k == a->best
                          ? expr_load(c, a->value, single(c, a->value).index, a->span)
                          : at_found(a, store->value);
        stores[k] = stmt_store_like(c, a->g.stores.items[k], store->buffer, store->index, value);
    }
    return stmt_seq(c, stores, a->g.stores.n, a->block->span);
}

/* The block as it was, with its own handle, once for what was found. */
static Stmt *make_choice(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    BlockStmt block = a->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    int n = 0;
    for (int i = 0; i < block.n_iters; i++)
        if (!is_position(a, iters[i].var)) {
            iters[n] = iters[i];
            iters[n++].kind = ITER_SPATIAL;
        }
    block.n_iters = n;
    block.body = stmt_if(c, found(a), make_stores(a), NULL, a->span);
    return stmt_block(c, &block, a->block->span);
}

/* The body with `now` in the place of the loop, behind the declarations of what is found there: at
 * the top of the kernel, or where an iteration of the loops around it has its own. */
static Stmt *declare(const ArgReduce *a, Stmt *now)
{
    Context *c = a->s->ctx;
    StmtPath around = a->path;
    around.n = path_loop(&a->path, a->loop->u.loop.id);
    bool inside = sched_loops_on(a->s, &around, NULL) > 0;
    StmtList temps = {0};
    if (a->value)
        VEC_PUSH(c->arena, &temps, stmt_temp(c, a->value, a->span));
    for (int i = 0; a->at && i < a->positions.n; i++)
        VEC_PUSH(c->arena, &temps, stmt_temp(c, a->at[i].buffer, a->span));
    if (inside)
        now = stmt_then(c, stmt_seq(c, temps.items, temps.n, a->span), now);
    Stmt *body = stmt_replace(c, a->s->kernel->body, a->loop, now);
    for (int i = 0; !inside && i < temps.n; i++)
        body = flow_declare(a->s, body, temps.items[i]->u.temp);
    return body;
}

/* What the block behind the loop reads has been written, also where nothing was searched. */
static bool check_started(const ArgReduce *a, Stmt *body)
{
    for (int i = -1; i < (a->at ? a->positions.n : 0); i++) {
        const Buffer *found = i < 0 ? a->value : a->at[i].buffer;
        REQUIRE(a->s, E0540, a->span, !found || flow_written_before_use(a->s, body, found),
                "a condition in loop '%s' leaves out the start of the reduction of block '%s'",
                stmt_label(a->loop), stmt_label(a->block));
    }
    return true;
}

bool prim_arg_reduce(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    ArgReduce a = {.s = s, .span = call->span, .loop_span = call->arg_reduce.loop.span};
    if (!check(&a, call))
        return false;

    choose_types(&a);
    const char *base = base_name(&a);
    make_temps(&a, base);
    Stmt *reduction = make_reduction(&a, base);
    Stmt *all = stmt_then(c, stmt_replace(c, a.loop, a.block, reduction), make_choice(&a));
    Stmt *body = declare(&a, all);
    if (!check_started(&a, body) || !flow_recheck_kinds(s, body, a.loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(reduction);
    return true;
}

/* ---- the question ---------------------------------------------------------------------------- */

bool prim_can_arg_reduce(Schedule *s, const PrimCall *call, Value *result)
{
    ArgReduce a = {.s = s, .span = call->span, .loop_span = call->can_arg_reduce.loop.span};
    DiagMark mark = diag_mark(s->ctx);
    bool can = check(&a, call);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}
