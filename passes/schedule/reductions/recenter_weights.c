/* recenter_weights.c - Implements recenter for sums that share weights: computes these around
 * partial maxima, so that each part of the sums needs no other.
 *
 *   for i, p, j  m_rf[i, p] max= x[i, p, j];      for i, p, j  m_rf[i, p] max= x[i, p, j];
 *   for i, p     m[i] max= m_rf[i, p];            for i, p     m[i] max= m_rf[i, p];
 *   for i, k     e[i, k] = exp(x[i, k] - m[i]);   for i, k     e[i, k] = exp(x[i, k] -
 *   for i, p, j  s_rf[i, p] +=                                               m_rf[i, k / J]);
 *                    e[i, p, j] * v[p, j];   =>   for i, p, j  s_rf[i, p] += e[i, p, j] * v[p, j];
 *   for i, p     s[i] += s_rf[i, p];              for i, p     s[i] += s_rf[i, p] *
 *                                                                exp(m_rf[i, p] - m[i]);
 *
 * (x[i, p, j] stands for x[i, p * J + j].) Attention by parts of the keys needs it, so that few
 * queries keep all multiprocessors busy (Dao et al., Flash-Decoding, 2023).
 *
 * Legal: each weight has one factor exp(F(x - m)), where F multiplies and divides by what is the
 * same for all, and a partial maximum has taken x in, unless a mask makes the weight 0. The weights
 * are read by partial sums alone, each as a factor of a term; all weights of a partial sum have the
 * same partial maximum; one block adds the partial sums of a buffer. Nobody else writes any of
 * these.
 * Invariant: floating-point results change by rounding only; where all values of a row are -inf,
 * its sum is 0 instead of NaN. */
#include "passes/schedule/reductions/recenter.h"

#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/reductions/power.h"

/* A block that is a reduction of one value from its identity. */
typedef struct {
    Stmt *block;
    StmtPath path;
    Reducer r;
} Reduction;

typedef struct {
    Schedule *s;
    Span span;
    Stmt *block; /* of the weights */
    StmtPath path;
    const StoreStmt *store; /* theirs */
    PowerFactor power;
    Reduction pivots, largest; /* partial maxima, and the maxima that combine them */
    SubstList map;             /* the weights' iterators in terms of the pivots', */
    SubstList back;            /* and these in terms of those */
    Expr **pivot; /* [rank of the pivots] the element that a weight belongs to, of its iterators */
    Stmt *body;   /* of the kernel, as far as it is rebuilt */
} Weights;

/* What holds in the block at the end of the path. */
static Facts *facts_in(Weights *w, const StmtPath *path)
{
    Facts *facts = sched_facts(w->s, path);
    facts_enter(facts, path_end(path));
    return facts;
}

static const BufferElement *target_of(const Reduction *reduction)
{
    return &reduction->r.parts[0].target;
}

static bool find_reduction(Weights *w, Stmt *block, StoreOp op, Reduction *out)
{
    Context *c = w->s->ctx;
    *out = (Reduction){.block = block, .path = stmt_path_to(c, w->s->kernel->body, block)};
    return reducer_of_block(c, &block->u.block, &out->r) && !out->r.combiner && !out->r.guard &&
           out->r.from_identity && out->r.op == op;
}

/* What the block writes keeps its values: nobody else writes them. */
static bool require_only_writer(Weights *w, const Stmt *block, const Buffer *buffer)
{
    const Stmt *other = flow_other_block(w->s, w->s->kernel->body, block, buffer, ACCESS_WRITE);
    REQUIRE_AT(w->s, E0482, w->span, !other, other,
               "block '%s' writes '%s', too, so its elements are not those of block '%s' alone",
               other->u.block.name, buffer->name, block->u.block.name);
    return true;
}

/* The reduction by the same operator that alone reads the partial results, each as it is. */
static bool find_combining(Weights *w, const Reduction *parts, Reduction *out)
{
    const Buffer *buffer = target_of(parts)->buffer;
    BlockList readers = flow_blocks(w->s, w->s->kernel->body, buffer, ACCESS_READ);
    const Stmt *other = NULL;
    for (int i = 0; i < readers.n; i++)
        if (readers.items[i] != parts->block) {
            REQUIRE(w->s, E0482, w->span, !other,
                    "blocks '%s' and '%s' both read '%s'; one block has to combine its elements",
                    other->u.block.name, readers.items[i]->u.block.name, buffer->name);
            other = readers.items[i];
        }
    REQUIRE(w->s, E0482, w->span, other && buffer->role == ROLE_TEMP,
            "no block combines the elements of '%s', which is no partial result; use rfactor",
            buffer->name);
    REQUIRE(w->s, E0482, w->span,
            find_reduction(w, (Stmt *)other, parts->r.op, out) &&
                expr_is_load(out->r.parts[0].written, buffer),
            "block '%s' does not combine the elements of '%s' as they are; make partial results "
            "of both with rfactor",
            other->u.block.name, buffer->name);
    return require_only_writer(w, parts->block, buffer);
}

/* ---- the partial maximum of a weight --------------------------------------------------------- */

/* The weights' iterators are those subscripts of the pivots with which both take the same x, that
 * of the pivots being the value. */
static bool map_iterators(Weights *w, const Expr *value)
{
    Context *c = w->s->ctx;
    w->map.n = 0;
    ExprList of_weights = {0}, of_pivots = {0};
    if (!power_match_integers(c, w->power.difference->u.arg[0], value, &of_weights, &of_pivots))
        return false;
    for (int i = 0; i < of_weights.n; i++) {
        const Expr *e = of_weights.items[i];
        if (e->kind == EX_VAR && block_iter(&w->block->u.block, e->u.var))
            VEC_PUSH(c->arena, &w->map, ((Subst){e->u.var, of_pivots.items[i]}));
    }
    Facts *facts = facts_in(w, &w->pivots.path);
    for (int i = 0; i < of_weights.n; i++) {
        Expr *same = expr_subst(c, of_weights.items[i], w->map.items, w->map.n);
        if (!prove_compare(facts, same, EX_EQ, of_pivots.items[i]))
            return false;
    }
    return true;
}

/* By how much the expression grows with the iterator; 0: not by a positive literal. */
static int64_t stride_of(Weights *w, Facts *facts, Expr *e, Var *iter)
{
    Context *c = w->s->ctx;
    Expr *var = expr_var(c, iter, w->span);
    Subst next = {iter, expr_binary(c, EX_ADD, var, expr_index(c, 1), w->span)};
    int64_t stride;
    Expr *grown = expr_binary(c, EX_SUB, expr_subst(c, e, &next, 1), e, w->span);
    return expr_uses_var(e, iter) && expr_is_const(simplify(facts, grown), &stride) && stride > 0
               ? stride
               : 0;
}

/* A pivots' iterator as a digit of a weights' iterator: p and j of k = p * J + j. */
static Expr *digit_of(Weights *w, const Subst *of, Var *iter)
{
    Context *c = w->s->ctx;
    Facts *facts = facts_in(w, &w->pivots.path);
    int64_t stride = stride_of(w, facts, of->value, iter), next = 0;
    if (stride == 0)
        return NULL;
    const BlockStmt *block = &w->pivots.block->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        int64_t other = stride_of(w, facts, of->value, block->iters[i].var);
        next = other > stride && (next == 0 || other < next) ? other : next;
    }
    Expr *digit = expr_var(c, of->var, w->span);
    if (stride > 1)
        digit = expr_binary(c, EX_DIV, digit, expr_index(c, stride), w->span);
    if (next > 0)
        digit = expr_binary(c, EX_MOD, digit, expr_index(c, next / stride), w->span);
    return digit;
}

/* Each iterator of the pivots in terms of those of the weights; proved below. */
static bool turn_round(Weights *w)
{
    const BlockStmt *block = &w->pivots.block->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        Expr *digit = NULL;
        for (int k = 0; k < w->map.n && !digit; k++)
            digit = digit_of(w, &w->map.items[k], block->iters[i].var);
        if (!digit)
            return false;
        VEC_PUSH(w->s->ctx->arena, &w->back, ((Subst){block->iters[i].var, digit}));
    }
    return true;
}

/* The nest runs all instances of the pivots' block, but for those that its condition leaves out.
 * The condition is one of the weights' iterators then: `where`, or NULL. */
static bool find_condition(Weights *w, Expr **where)
{
    Schedule *s = w->s;
    BlockStmt block = w->pivots.block->u.block;
    SubstList loops = {0};
    for (int i = 0; i < block.n_iters; i++)
        if (block.iters[i].binding->kind == EX_VAR)
            VEC_PUSH(s->ctx->arena, &loops,
                     ((Subst){block.iters[i].binding->u.var, w->back.items[i].value}));
    *where = block.predicate ? expr_subst(s->ctx, block.predicate, loops.items, loops.n) : NULL;
    block.predicate = NULL;
    Stmt *all = stmt_block(s->ctx, &block, w->span);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, w->pivots.block, all);
    Conflict why = {0};
    return dependence_instances_kept(s->ctx, (Rewrite){s->kernel, body, flow_whole_nest(s, all)},
                                     block.id, &why);
}

/* The instance of the pivots' block that belongs to a weight runs, and takes in its x; the only
 * other ones are those that a mask leaves out, and whose weights are 0. */
static bool has_taken_in(Weights *w, Expr *exists)
{
    Context *c = w->s->ctx;
    const BlockStmt *block = &w->pivots.block->u.block;
    Facts *of_pivots = facts_in(w, &w->pivots.path), *facts = facts_in(w, &w->path);
    Expr *where;
    if (!find_condition(w, &where))
        return false;
    if (w->power.where)
        facts_assume(facts, w->power.where);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        Expr *back = w->back.items[i].value;
        Expr *there = expr_subst(c, back, w->map.items, w->map.n);
        Expr *lo = expr_subst(c, iter->lo, w->back.items, w->back.n);
        Expr *hi = expr_subst(c, iter->hi, w->back.items, w->back.n);
        if (!prove_compare(of_pivots, there, EX_EQ, expr_var(c, iter->var, w->span)) ||
            !prove_compare(facts, lo, EX_LE, back) || !prove_compare(facts, back, EX_LT, hi))
            return false;
    }
    return (!exists || prove(facts, expr_subst(c, exists, w->back.items, w->back.n))) &&
           (!where || prove(facts, where));
}

/* The partial maximum is one of those that the weight's own maximum combines. */
static bool is_of_own_maximum(Weights *w)
{
    const BufferElement *made = target_of(&w->largest);
    const Expr *part = w->largest.r.parts[0].written;
    Facts *facts = facts_in(w, &w->path);
    for (int a = 0; a < made->buffer->rank; a++) {
        Expr *own = w->power.center->u.load.index[a], *same = made->index[a];
        for (int k = 0; k < target_of(&w->pivots)->buffer->rank; k++)
            if (expr_equal(part->u.load.index[k], made->index[a]))
                same = w->pivot[k];
        if (!prove_compare(facts, own, EX_EQ, same))
            return false;
    }
    return true;
}

/* The pivots take x in, or x where a condition holds: `exists ? x : -inf`. */
static bool find_taken(Weights *w, Expr **exists)
{
    Expr *value = w->pivots.r.parts[0].written;
    *exists = NULL;
    if (map_iterators(w, value))
        return true;
    if (value->kind != EX_SELECT || !expr_equal(value->u.arg[2], w->pivots.r.parts[0].identity))
        return false;
    *exists = value->u.arg[0];
    return map_iterators(w, value->u.arg[1]);
}

static bool find_pivot(Weights *w)
{
    Context *c = w->s->ctx;
    Expr *exists;
    bool found = find_taken(w, &exists) && turn_round(w) && has_taken_in(w, exists);
    if (found) {
        const BufferElement *made = target_of(&w->pivots);
        w->pivot = exprs_subst(c, made->index, made->buffer->rank, w->back.items, w->back.n);
        found = is_of_own_maximum(w);
    }
    REQUIRE(w->s, E0482, w->span, found,
            "it is not proved which element of '%s' has taken in what a weight of block '%s' "
            "subtracts the maximum from; split the loop of the maximum into parts of a literal "
            "length",
            target_of(&w->pivots)->buffer->name, w->block->u.block.name);
    return true;
}

/* ---- the weights ----------------------------------------------------------------------------- */

static bool find_weights(Weights *w, const PrimCall *call)
{
    Schedule *s = w->s;
    w->block = sched_node(s, &call->recenter.sums, &w->path);
    const Stmt *store = flow_single_store(s->ctx, w->block);
    w->store = &store->u.store;
    StmtPath path = {0};
    Stmt *pivots = sched_node(s, &call->recenter.pivots, &path);
    REQUIRE(s, E0482, w->span,
            find_reduction(w, pivots, STORE_MAX, &w->pivots) &&
                (target_of(&w->pivots)->buffer->type == DT_F32 ||
                 target_of(&w->pivots)->buffer->type == DT_F64),
            "block '%s' does not find maxima of f32 or f64 from -inf on", pivots->u.block.name);
    if (!find_combining(w, &w->pivots, &w->largest))
        return false;
    const Buffer *largest = target_of(&w->largest)->buffer;
    int *axes = ARENA_ARRAY(s->ctx->arena, int, w->store->buffer->rank + 1);
    REQUIRE(s, E0482, w->span,
            w->store->buffer->role == ROLE_TEMP && w->store->buffer->type == largest->type &&
                flow_pure_index(&w->block->u.block, w->store->buffer, w->store->index, axes) &&
                power_factor_of(s->ctx, w->store->value, largest, &w->power),
            "block '%s' does not compute weights e[i, k] of the type of '%s', with one factor "
            "exp(x - %s), in which the difference may be multiplied or divided by what is the same "
            "for all",
            w->block->u.block.name, largest->name, largest->name);
    return require_only_writer(w, w->largest.block, largest) &&
           require_only_writer(w, w->block, w->store->buffer);
}

/* The block with another value for the element that it stores. */
static void set_value(Weights *w, Stmt *of, const BufferElement *element, StoreOp op, Expr *value)
{
    BlockStmt block = of->u.block;
    block.body = stmt_assign(w->s->ctx, *element, op, value, of->span);
    w->body = stmt_replace(w->s->ctx, w->body, of, stmt_block(w->s->ctx, &block, of->span));
}

static void move_weights(Weights *w)
{
    Context *c = w->s->ctx;
    Expr *pivot = expr_load(c, target_of(&w->pivots)->buffer, w->pivot, w->span);
    Expr *value =
        power_exchange(c, w->store->value, w->power.center, power_finite_center(c, pivot, w->span));
    BufferElement element = {w->store->buffer, w->store->index};
    set_value(w, w->block, &element, STORE_SET, value);
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* The element of a buffer that belongs to a weight, of the iterators of the block that combines the
 * partial sums; NULL if it is not the same for all terms of one of these. */
static Expr *in_total(Weights *w, const Reduction *sums, const Reduction *total, const Expr *weight,
                      const BufferElement *of)
{
    Context *c = w->s->ctx;
    SubstList read = {0}, combined = {0};
    for (int k = 0; k < w->store->buffer->rank; k++)
        VEC_PUSH(c->arena, &read, ((Subst){w->store->index[k]->u.var, weight->u.load.index[k]}));
    const BufferElement *made = target_of(sums);
    const Expr *part = total->r.parts[0].written;
    for (int k = 0; k < made->buffer->rank; k++)
        if (made->index[k]->kind == EX_VAR)
            VEC_PUSH(c->arena, &combined, ((Subst){made->index[k]->u.var, part->u.load.index[k]}));
    Facts *facts = facts_in(w, &sums->path);
    const BlockStmt *block = &sums->block->u.block;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, of->buffer->rank + 1);
    for (int k = 0; k < of->buffer->rank; k++) {
        Expr *of_sums = simplify(facts, expr_subst(c, of->index[k], read.items, read.n));
        index[k] = expr_subst(c, of_sums, combined.items, combined.n);
        for (int i = 0; i < block->n_iters; i++)
            if (expr_uses_var(index[k], block->iters[i].var))
                return NULL;
    }
    return expr_load(c, of->buffer, index, w->span);
}

/* Moves partial sums of terms with the weights from their own centers to the common one. */
static bool move_sums(Weights *w, Stmt *block)
{
    Schedule *s = w->s;
    Context *c = s->ctx;
    Reduction sums, total;
    bool adds = find_reduction(w, block, STORE_ADD, &sums);
    const Expr *weight =
        adds ? power_innermost_factor(c, sums.r.parts[0].written, w->store->buffer, NULL) : NULL;
    REQUIRE(s, E0482, w->span,
            adds && expr_is_load(weight, w->store->buffer) &&
                target_of(&sums)->buffer->type == w->store->buffer->type,
            "block '%s' reads the weights '%s', and does not add up terms with one of them as a "
            "factor",
            block->u.block.name, w->store->buffer->name);
    if (!find_combining(w, &sums, &total))
        return false;
    Buffer *pivots = target_of(&w->pivots)->buffer;
    Expr *pivot = in_total(w, &sums, &total, weight, &(BufferElement){pivots, w->pivot});
    Expr *center =
        in_total(w, &sums, &total, weight,
                 &(BufferElement){w->power.center->u.load.buffer, w->power.center->u.load.index});
    REQUIRE(s, E0482, w->span, pivot && center,
            "it is not proved that all weights of a partial sum of block '%s' have one element of "
            "'%s'; split the loops of both by the same factor",
            block->u.block.name, pivots->name);
    Expr *shift = power_shift(c, &w->power, pivot, center, w->span);
    Expr *part = total.r.parts[0].written;
    set_value(w, total.block, target_of(&total), STORE_ADD,
              expr_binary(c, EX_MUL, part, shift, w->span));
    return true;
}

bool recenter_is_of_weights(Schedule *s, const Stmt *block)
{
    const Stmt *store = flow_single_store(s->ctx, block);
    return store && !block->u.block.init && store->u.store.op == STORE_SET;
}

bool recenter_weights(Schedule *s, const PrimCall *call)
{
    Weights w = {.s = s, .span = call->span, .body = s->kernel->body};
    if (!find_weights(&w, call) || !find_pivot(&w))
        return false;
    BlockList readers = flow_blocks(s, s->kernel->body, w.store->buffer, ACCESS_READ);
    for (int i = 0; i < readers.n; i++)
        if (!move_sums(&w, readers.items[i]))
            return false;
    move_weights(&w);
    if (!flow_recheck_all(s, w.body, call->span))
        return false;
    s->reassociates = true;
    sched_replace_body(s, w.body);
    return true;
}
