/* einsum_fill.c - Decides what stands in the padding of operands (einsum.h), and implements
 * can_pad_einsum, which asks whether there is such padding.
 *
 *   y[i] += (a[i, k] - b[k]) * (a[i, k] - b[k]);        0 and 0: the term is 0
 *   y[i] min= a[i, k] + b[k];                           0 and inf: the term is inf
 *   y[i] += a[i, k] == b[k] ? 1 : 0;                    0 and the largest integer: the term is 0
 *   y[i] max= abs(a[i, k] - b[k]);                      0 and 0 from 0 on, or else 0 and NaN
 *
 * The update has to ignore a padded term, whatever the result is so far: the term is its neutral
 * element, or of a minimum NaN, or no less than what that starts from. The term is evaluated for
 * operands that are neutral elements of + min max *, or NaN: zeros first, which hardware fills in.
 * An element that the padding does not reach can have any value, such as infinity or NaN.
 *
 * Legal: always, for the query.
 * Invariant: the kernel stays as it is. */
#include <math.h>

#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/blocks/einsum.h"
#include "passes/schedule/blocks/term_value.h"

enum { MAX_OPERANDS = 3 }; /* for which other values than 0 are tried */

static bool is_padded_sum(const Einsum *e, int iter)
{
    return e->padded[iter] && e->block->iters[iter].kind == ITER_REDUCE;
}

/* ---- what a term is -------------------------------------------------------------------------- */

/* In the padding of some of the iterators. */
typedef struct {
    const Einsum *e;
    const bool *beyond; /* [n_iters] */
} Padding;

static bool is_reached(const Einsum *e, Expr *const *index, int rank, int iter)
{
    return exprs_use_var(index, rank, e->block->iters[iter].var);
}

static const Fill *find_fill(const Einsum *e, const Buffer *buffer, Expr *const *index)
{
    for (int i = 0; i < e->fills.n; i++)
        if (e->fills.items[i].operand->id == buffer->id &&
            einsum_are_parts(e->fills.items[i].index, index, buffer->rank))
            return &e->fills.items[i];
    return NULL;
}

static Expr *padded_element(const void *user, const Expr *load)
{
    const Padding *p = user;
    for (int i = 0; i < p->e->block->n_iters; i++)
        if (p->beyond[i] && is_reached(p->e, load->u.load.index, load->u.load.buffer->rank, i))
            return find_fill(p->e, load->u.load.buffer, load->u.load.index)->value;
    return NULL;
}

/* Of two literals of one type, -0 is less than +0. */
static bool is_less(const Expr *a, const Expr *b)
{
    if (a->kind == EX_INT)
        return type_info(a->type)->class == CLASS_UINT ? (uint64_t)a->u.i < (uint64_t)b->u.i
                                                       : a->u.i < b->u.i;
    return a->u.f < b->u.f || (a->u.f == b->u.f && signbit(a->u.f) && !signbit(b->u.f));
}

static bool is_literal(const Expr *e)
{
    return e && (e->kind == EX_INT || e->kind == EX_FLOAT);
}

/* The update of the result, which starts from `start` (NULL: not known), with the term has no
 * effect: it is the neutral element, or of a minimum NaN, or no less than what that starts from. Of
 * zeros a sum of floats that is never -0 takes both. */
static bool is_ignored(const Einsum *e, const Expr *term, const Expr *start)
{
    StoreOp op = e->update->u.store.op;
    DType type = e->update->u.store.buffer->type;
    if (!term || term->type != type || !store_updates(op))
        return false;
    if (term->kind == EX_FLOAT && isnan(term->u.f))
        return op == STORE_MIN || op == STORE_MAX;
    bool known = is_literal(start) && start->type == type && start->kind == term->kind &&
                 !(start->kind == EX_FLOAT && isnan(start->u.f));
    if (known && op == STORE_MIN)
        return !is_less(term, start);
    if (known && op == STORE_MAX)
        return !is_less(start, term);
    const Expr *neutral = reducer_neutral_from(e->s->ctx, op, type, start, span_none());
    bool any_zero = op == STORE_ADD && term->kind == EX_FLOAT && !signbit(neutral->u.f);
    return expr_equal(term, neutral) || (any_zero && term->u.f == 0);
}

/* The next set of padded iterators of the reduction, after the empty one; false: that was all. */
static bool next_padding(const Einsum *e, bool *beyond)
{
    for (int i = 0; i < e->block->n_iters; i++) {
        if (!is_padded_sum(e, i))
            continue;
        beyond[i] = !beyond[i];
        if (beyond[i])
            return true;
    }
    return false;
}

/* Terms have no effect in the padding of any of the iterators, or of several. */
static bool fills_fit(const Einsum *e, const Expr *start)
{
    Context *c = e->s->ctx;
    bool *beyond = ARENA_ARRAY(c->arena, bool, e->block->n_iters + 1);
    Padding p = {e, beyond};
    while (next_padding(e, beyond))
        if (!is_ignored(e, term_value(c, e->update->u.store.value, padded_element, &p), start))
            return false;
    return true;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static const StoreOp with_neutral[] = {STORE_ADD, STORE_MIN, STORE_MAX, STORE_MUL};
enum { CANDIDATES = sizeof with_neutral / sizeof *with_neutral + 1 };

/* A value of the type: 0, the largest, the least, 1, or NaN. */
static Expr *candidate(const Einsum *e, DType type, int number)
{
    Context *c = e->s->ctx;
    bool is_float = type_is_float(type);
    if (number == CANDIDATES - 1 && is_float)
        return expr_float(c, type, NAN, span_none());
    Expr *start = is_float ? expr_float(c, type, 0, span_none()) : NULL;
    bool zero = type == DT_BOOL || number == CANDIDATES - 1;
    return reducer_neutral_from(c, with_neutral[zero ? 0 : number], type, start, span_none());
}

/* The elements with padded iterators of the reduction in their subscripts, with zeros. */
static void find_operands(Einsum *e)
{
    AccessList reads = access_list_expr(e->s->ctx, e->update->u.store.value, NULL);
    for (int i = 0; i < reads.n; i++) {
        const Buffer *buffer = reads.items[i].buffer;
        bool padded = false;
        for (int k = 0; k < e->block->n_iters; k++)
            padded |= is_padded_sum(e, k) && is_reached(e, reads.items[i].index, buffer->rank, k);
        if (padded && !find_fill(e, buffer, reads.items[i].index))
            VEC_PUSH(e->s->ctx->arena, &e->fills,
                     ((Fill){buffer, reads.items[i].index, candidate(e, buffer->type, 0)}));
    }
}

/* Gives operands values for which terms have no effect. False: none was found. */
static bool choose(Einsum *e, const Expr *start)
{
    int tries = 1;
    for (int i = 0; i < e->fills.n && e->fills.n <= MAX_OPERANDS; i++)
        tries *= CANDIDATES;
    for (int n = 0; n < tries; n++) {
        for (int i = e->fills.n - 1, rest = n; i >= 0; i--, rest /= CANDIDATES)
            e->fills.items[i].value =
                candidate(e, e->fills.items[i].operand->type, rest % CANDIDATES);
        if (fills_fit(e, start))
            return true;
    }
    return false;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Is the variable in `e` outside the subscripts of loads? */
static bool is_value(Context *c, const Expr *e, const Var *var)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        if (expr_is_var(at.expr, var))
            return true;
        if (at.expr->kind == EX_LOAD)
            cursor_prune(&at);
    }
    return false;
}

/* The first padded iterator of the reduction; -1: there is none. */
static int first_padded(const Einsum *e)
{
    for (int i = 0; i < e->block->n_iters; i++)
        if (is_padded_sum(e, i))
            return i;
    return -1;
}

bool einsum_find_fills(Einsum *e)
{
    Schedule *s = e->s;
    const StoreStmt *update = &e->update->u.store;
    int first = first_padded(e);
    if (first < 0)
        return true;
    const Stmt *init = e->block->init ? stmt_single_store(e->block->init) : NULL;
    find_operands(e);
    REQUIRE(s, E0832, e->call->span, choose(e, init ? init->u.store.value : NULL),
            "no values of padded elements make %s, a term of block '%s', one that '%s' ignores; "
            "give each element '%s' as a subscript (others may be infinite), and start from a "
            "literal",
            expr_text(s->ctx, update->value), e->block->name, store_op_token(update->op),
            e->block->iters[first].var->name);
    for (int i = 0; i < e->block->n_iters; i++)
        REQUIRE(s, E0832, e->call->span,
                !is_padded_sum(e, i) || !e->shift[i] ||
                    !is_value(s->ctx, update->value, e->block->iters[i].var),
                "block '%s' adds %s, whose value depends on '%s' itself, so padding before the "
                "first term would shift it; put it behind",
                e->block->name, expr_text(s->ctx, update->value), e->block->iters[i].var->name);
    return true;
}

/* What the reduction starts from; a sum that goes on from others is computed apart, from 0. */
static const Expr *start_of(Context *c, const BlockStmt *block, const StoreStmt *update)
{
    const Stmt *init = block->init ? stmt_single_store(block->init) : NULL;
    DType type = update->buffer->type;
    if (init && is_literal(init->u.store.value))
        return init->u.store.value;
    return update->op == STORE_ADD && type_is_float(type) ? expr_float(c, type, 0, span_none())
                                                          : NULL;
}

bool prim_can_pad_einsum(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    const Stmt *stmt = sched_node(s, &call->can_pad_einsum.block, NULL);
    Einsum e = {.s = s, .block = &stmt->u.block, .update = flow_single_store(c, stmt)};
    *result = (Value){.kind = VALUE_BOOL};
    if (!e.update)
        return true;
    e.padded = ARENA_ARRAY(c->arena, Expr *, e.block->n_iters + 1);
    for (int i = 0; i < e.block->n_iters; i++)
        if (e.block->iters[i].kind == ITER_REDUCE)
            e.padded[i] = e.block->iters[i].hi;
    find_operands(&e);
    result->u.i = first_padded(&e) >= 0 && choose(&e, start_of(c, e.block, &e.update->u.store));
    return true;
}
