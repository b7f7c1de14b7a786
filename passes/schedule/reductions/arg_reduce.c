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
 * >= -inf.  Without a comparison the last iteration counts that meets the conditions, or the first
 * one where the block stores only once, as in at < 0 && x[i] == key.
 *
 * What else the block stores is computed behind the loop from the index, so the tuple has two
 * components however much that is. The value alone needs no index: it is a maximum, in which -0
 * and 0 are equal.
 *
 * Legal: the conditions of the block read none of what it stores, but for one, which compares an
 * element with the value that is stored there. The elements are the same in all iterations, and no
 * other block of the loop accesses them; what the block stores beside the value is known behind
 * the loop.
 * Invariant: the elements have the same values behind the loop. What they start from is stored
 * behind the loop, too, so that one launch can do all that is left. */
#include "passes/schedule/reductions/arg_reduce.h"
#include "passes/analysis/regions/reducer.h"

/* ---- the reduction --------------------------------------------------------------------------- */

/* What is found is called and lies as what it is stored to. */
static const Buffer *named_like(const ArgReduce *a)
{
    return arg_store(a, a->compare && a->best > 0 ? a->best : 0)->buffer;
}

static Buffer *new_temp(const ArgReduce *a, const char *base, const char *part, DType type)
{
    Schedule *s = a->s;
    const Buffer *like = named_like(a);
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
    const char *base = arena_printf(c->arena, "%s_found", named_like(a)->name);
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
    bool plain = !arg_needs_index(a) || (!a->compare && a->positions.n == 1);
    if (a->compare)
        a->value = new_temp(a, base, plain ? "" : "value", arg_value(a)->type);
    if (!arg_needs_index(a))
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
        values[n++] = arg_value(a);
    }
    for (int i = 0; a->at && i < a->positions.n; i++) {
        const Position *p = &a->positions.items[i];
        to[n] = a->at[i];
        values[n++] = expr_cast(c, p->type, expr_var(c, p->iter->var, a->span), a->span);
    }
    if (n > 1) {
        const Combiner *combiner = arg_reducer(a);
        *init = tuple_identities(c, combiner, to, a->span);
        return tuple_update(c, &(TupleUpdate){combiner, to, values}, a->span);
    }
    bool larger = a->value ? a->largest : a->positions.items[0].upward;
    *init = stmt_set(c, to[0], a->value ? arg_least_value(a) : a->positions.items[0].none, a->span);
    return stmt_assign(c, to[0], larger ? STORE_MAX : STORE_MIN, values[0], a->span);
}

static Stmt *make_reduction(const ArgReduce *a, const char *base)
{
    Context *c = a->s->ctx;
    BlockStmt block = a->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    for (int i = 0; i < block.n_iters; i++)
        iters[i].kind = arg_is_position(a, iters[i].var) ? ITER_REDUCE : ITER_SPATIAL;
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

/* An iteration was found, and the comparison holds. The identity wins nothing by > or <, so that it
 * needs no condition then. */
static Expr *found(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    Expr *cond = NULL;
    if (arg_asks_index(a)) {
        Expr *index = expr_load(c, a->at[0].buffer, a->at[0].index, a->span);
        cond = expr_binary(c, EX_NE, index, a->positions.items[0].none, a->span);
    }
    if (!a->compare)
        return cond_and(c, cond, a->once);
    Expr *args[2] = {a->compare->u.arg[0], a->compare->u.arg[1]};
    args[!a->side] = expr_load(c, a->value, single(c, a->value).index, a->span);
    return cond_and(c, cond, expr_binary(c, a->compare->kind, args[0], args[1], a->span));
}

/* The stores, of what was found. */
static Stmt *stores_found(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    Stmt **stores = ARENA_ARRAY(c->arena, Stmt *, a->g.stores.n);
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = arg_store(a, k);
        Expr *value = a->compare && k == a->best
                          ? expr_load(c, a->value, single(c, a->value).index, a->span)
                          : at_found(a, store->value);
        stores[k] = stmt_store_like(c, a->g.stores.items[k], store->buffer, store->index, value);
    }
    return stmt_seq(c, stores, a->g.stores.n, a->block->span);
}

/* `body` under the condition, as far as that is not known to hold. */
static Stmt *stmt_under(const ArgReduce *a, Expr *cond, Stmt *body)
{
    Context *c = a->s->ctx;
    if (cond)
        cond = simplify(facts_of_kernel(c, a->s->kernel), cond);
    return !cond || expr_is(cond, 1) ? body : stmt_if(c, cond, body, NULL, a->span);
}

/* The stores of the first iteration, and `rest` behind them, where there is one. */
static Stmt *first_then(const ArgReduce *a, Stmt *rest)
{
    Context *c = a->s->ctx;
    Expr *exists = NULL;
    for (int i = 0; i < a->positions.n; i++) {
        const BlockIter *iter = a->positions.items[i].iter;
        exists = cond_and(c, exists, expr_binary(c, EX_LT, iter->lo, iter->hi, a->span));
    }
    Stmt **stores = ARENA_ARRAY(c->arena, Stmt *, a->g.stores.n);
    for (int k = 0; k < a->g.stores.n; k++) {
        const StoreStmt *store = arg_store(a, k);
        stores[k] = stmt_store_like(c, a->g.stores.items[k], store->buffer, store->index,
                                    simplify(a->facts, arg_at_first(a, store->value)));
    }
    Expr *meets = !a->late ? a->early : cond_and(c, a->early, a->late);
    Stmt *first = stmt_seq(c, stores, a->g.stores.n, a->span);
    if (meets)
        first = stmt_if(c, arg_at_first(a, meets), first, NULL, a->span);
    return stmt_under(a, exists, stmt_then(c, first, rest));
}

/* The block as it was, with its own handle, once for what was found. */
static Stmt *make_choice(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    BlockStmt block = a->block->u.block;
    BlockIter *iters = block_own_iters(c, &block, 0);
    int n = 0;
    for (int i = 0; i < block.n_iters; i++)
        if (!arg_is_position(a, iters[i].var)) {
            iters[n] = iters[i];
            iters[n++].kind = ITER_SPATIAL;
        }
    block.n_iters = n;
    block.body = stmt_if(c, found(a), stores_found(a), NULL, a->span);
    if (a->start)
        block.body = first_then(a, block.body);
    return stmt_block(c, &block, a->block->span);
}

/* The block stores to the buffer. */
static bool is_stored(const ArgReduce *a, const Buffer *buffer)
{
    for (int k = 0; k < a->g.stores.n; k++)
        if (arg_store(a, k)->buffer->id == buffer->id)
            return true;
    return false;
}

/* The statement, in front of the loop, is a block that only stores what the loop starts from, and
 * may stand behind the loop as it is `now`. */
static bool is_start(const ArgReduce *a, Stmt *s, const Stmt *now)
{
    Context *c = a->s->ctx;
    if (s->kind != ST_BLOCK || s->u.block.init || s->u.block.instruction)
        return false;
    BufferSet writes = flow_buffers(a->s, s, ACCESS_WRITE);
    BufferSet reads = flow_buffers(a->s, s, ACCESS_READ);
    for (int i = 0; i < writes.n; i++)
        if (!is_stored(a, writes.items[i]) || stmt_accesses(c, now, writes.items[i], ACCESS_ANY))
            return false;
    for (int i = 0; i < reads.n; i++)
        if (stmt_accesses(c, now, reads.items[i], ACCESS_WRITE))
            return false;
    return true;
}

/* The items of a sequence with the loop as it is `now`, and behind it the starts that stand
 * directly in front of it, and the choice. */
static Stmt *with_starts_behind(const ArgReduce *a, const Stmt *seq, Stmt *now)
{
    Context *c = a->s->ctx;
    int place = stmt_place(seq, a->loop), first = place;
    Stmt *const *all = seq->u.seq.items;
    while (first > 0 && (all[first - 1]->kind == ST_TEMP || is_start(a, all[first - 1], now)))
        first--;
    StmtList items = {0}, behind = {0};
    for (int i = 0; i < place; i++) {
        bool moves = i >= first && all[i]->kind == ST_BLOCK;
        VEC_PUSH(c->arena, moves ? &behind : &items, all[i]);
    }
    VEC_PUSH(c->arena, &items, now);
    VEC_PUSH(c->arena, &behind, make_choice(a));
    for (int i = 0; i < behind.n; i++)
        VEC_PUSH(c->arena, &items, behind.items[i]);
    for (int i = place + 1; i < seq->u.seq.n; i++)
        VEC_PUSH(c->arena, &items, all[i]);
    return stmt_seq(c, items.items, items.n, seq->span);
}

/* What stands in the place of `*old`, which is the loop, or the sequence with it. */
static Stmt *put_behind(const ArgReduce *a, Stmt *loop, const Stmt **old)
{
    int at = path_loop(&a->path, a->loop->u.loop.id);
    const Stmt *around = at > 0 ? a->path.items[at - 1] : NULL;
    bool among = around && around->kind == ST_SEQ;
    *old = among ? around : a->loop;
    return among ? with_starts_behind(a, around, loop) : stmt_then(a->s->ctx, loop, make_choice(a));
}

/* The body with `now` in the place of `old`, behind the declarations of what is found there: at
 * the top of the kernel, or where an iteration of the loops around it has its own. */
static Stmt *declare(const ArgReduce *a, const Stmt *old, Stmt *now)
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
    Stmt *body = stmt_replace(c, a->s->kernel->body, old, now);
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
    if (!arg_form(&a, call))
        return false;

    arg_choose_types(&a);
    const char *base = base_name(&a);
    make_temps(&a, base);
    Stmt *reduction = make_reduction(&a, base);
    const Stmt *old = NULL;
    Stmt *all = put_behind(&a, stmt_replace(c, a.loop, a.block, reduction), &old);
    Stmt *body = declare(&a, old, all);
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
    bool can = arg_form(&a, call);
    diag_forget(s->ctx, mark);
    *result = (Value){.kind = VALUE_BOOL, .span = call->span, .u.i = can};
    return true;
}
