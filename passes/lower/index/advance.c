/* advance.c - Turns addresses into 64-bit sums: those of asynchronous copies advance with a loop,
 * those of stores in unrolled code share a base.
 *
 *   for ko in 128
 *       s[x] async= A[(by * 64 + y) * 4096 + ko * 32 + x + 96]
 *   =>
 *   for ko in 128
 *       s[x] async= A[i64((by * 64 + y) * 4096 + x) + i64(ko) * 32 + 96]
 *
 * The instruction takes an address. For an int subscript, the compiler computes and extends an
 * address for each copy, with a multiplication in the pipe that the arithmetic needs. A 64-bit sum
 * of loop-invariant parts, of multiples of serial loop variables, and of parts that are constant
 * after unrolling becomes one address that advances, with offsets in the instructions.
 *
 * For an unrolled store, the compiler must discover for each copy that the addresses differ by a
 * constant. For the 32 copies of a tile of sgemm this took an eighth of its time. */
#include "passes/lower/pass.h"

enum { OFTEN = 16 }; /* copies of a store, from which on their addresses cost the compiler time */

/* The three summands of a subscript. */
typedef struct {
    Expr *stays;  /* INDEX */
    Expr *moves;  /* I64; NULL: nothing */
    Expr *offset; /* INDEX: what is a number once loops are written out */
} Address;

static Expr *to_i64(StoreWalk *w, Expr *e)
{
    return expr_cast(w->c, DT_I64, e, e->span);
}

/* The factor is a number once loops are written out: `each`, `each / 2`. */
static bool becomes_number(const void *user, Expr *factor)
{
    const StoreWalk *w = user;
    for (Cursor at = cursor_expr(w->c, factor); cursor_next(&at);) {
        ExprKind kind = at.expr->kind;
        bool number = kind != EX_VAR && kind != EX_AXIS && kind != EX_LOAD && kind != EX_CALL;
        for (int i = 0; i < w->loops.n && kind == EX_VAR && !number; i++)
            number =
                w->loops.items[i]->var == at.expr->u.var && loop_is_written_out(w->loops.items[i]);
        if (!number)
            return false;
    }
    return true;
}

/* Takes the multiples of the loop's variable out of what stays. */
static bool take_loop(StoreWalk *w, const ForStmt *loop, Address *at)
{
    Context *c = w->c;
    int64_t coefficient;
    Expr *rest;
    if (!expr_uses_var(at->stays, loop->var))
        return true;
    if (loop_is_written_out(loop) ||
        !split_linear(w->facts, at->stays, loop->var, &coefficient, &rest))
        return false;
    Expr *var = to_i64(w, expr_var(c, loop->var, at->stays->span));
    Expr *term =
        coefficient == 1
            ? var
            : expr_binary(c, EX_MUL, var, expr_int(c, DT_I64, coefficient, var->span), var->span);
    at->stays = rest;
    at->moves = at->moves ? expr_binary(c, EX_ADD, at->moves, term, var->span) : term;
    return true;
}

/* The summands of a subscript; false where it is none of literal steps. */
static bool take_apart(StoreWalk *w, Expr *e, Address *at)
{
    int64_t number;
    *at = (Address){.stays = expr_subst(w->c, e, w->lets.items, w->lets.n)};
    if (e->type != DT_INDEX ||
        !split_terms(w->facts, at->stays, becomes_number, w, &at->offset, &at->stays))
        return false;
    for (int i = 0; i < w->loops.n; i++)
        if (!take_loop(w, w->loops.items[i], at))
            return false;
    if (!split_number(w->facts, at->stays, &number, &at->stays))
        return false;
    at->offset = simplify(w->facts, index_add(w->c, at->offset, expr_index(w->c, number)));
    return true;
}

static Expr *sum_of(StoreWalk *w, const Address *at, Span span)
{
    Context *c = w->c;
    int64_t number;
    Expr *sum = to_i64(w, at->stays);
    if (at->moves)
        sum = expr_binary(c, EX_ADD, sum, at->moves, span);
    if (!expr_is_const(at->offset, &number))
        return expr_binary(c, EX_ADD, sum, to_i64(w, at->offset), span);
    return number == 0 ? sum : expr_binary(c, EX_ADD, sum, expr_int(c, DT_I64, number, span), span);
}

static Expr *advance_load(Rewriter *r, Expr *e)
{
    StoreWalk *w = r->user;
    const Buffer *b = e->kind == EX_LOAD ? e->u.load.buffer : NULL;
    if (!b || b->scope != SCOPE_GLOBAL || b->rank != 1)
        return e;
    Address at;
    if (!take_apart(w, e->u.load.index[0], &at) || !at.moves)
        return e;
    Expr *index = sum_of(w, &at, e->span);
    Expr *load = expr_load_like(w->c, e, e->u.load.buffer, &index);
    load->u.load.axes = axes_subst(w->c, e->u.load.axes, w->lets.items, w->lets.n);
    return load;
}

/* How often what stands here is written out; OFTEN where that is more. */
static int64_t copies_here(const StoreWalk *w)
{
    int64_t copies = 1, extent;
    for (int i = 0; i < w->loops.n && copies < OFTEN; i++)
        if (w->loops.items[i]->kind == LOOP_UNROLL &&
            loop_const_extent(w->loops.items[i], &extent) && extent > 0)
            copies *= extent < OFTEN ? extent : OFTEN;
    return copies < OFTEN ? copies : OFTEN;
}

static Stmt *advance_store(StoreWalk *w, Stmt *s)
{
    Rewriter r = {.ctx = w->c, .user = w, .expr = advance_load};
    const Buffer *b = s->u.store.buffer;
    Address at;
    int64_t number;
    if (s->u.store.op == STORE_ASYNC) {
        Expr *value = rewrite_expr(&r, s->u.store.value);
        return value == s->u.store.value
                   ? s
                   : stmt_store_like(w->c, s, s->u.store.buffer, s->u.store.index, value);
    }
    if (b->scope != SCOPE_GLOBAL || b->rank != 1 || copies_here(w) < OFTEN ||
        !take_apart(w, s->u.store.index[0], &at) || expr_is_const(at.stays, &number) ||
        expr_is_const(at.offset, &number))
        return s;
    Expr *index = sum_of(w, &at, s->span);
    Stmt *store = stmt_store_like(w->c, s, s->u.store.buffer, &index, s->u.store.value);
    store->u.store.axes = axes_subst(w->c, s->u.store.axes, w->lets.items, w->lets.n);
    return store;
}

Kernel *pass_advance_addresses(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    return stores_map(&(StoreWalk){.c = c, .store = advance_store}, kernel);
}
