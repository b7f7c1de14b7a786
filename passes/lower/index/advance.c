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
#include "ir/copies/bulk_copy.h"
#include "passes/lower/pass.h"

enum { OFTEN = 16 }; /* copies of a store, from which on their addresses cost the compiler time */

typedef struct {
    Context *c;
    Facts *facts;
    VEC(const ForStmt *) loops; /* around the place, in the launch; outermost first */
    SubstList lets;             /* names for what uses one of them */
} Advance;

/* The three summands of a subscript. */
typedef struct {
    Expr *stays;  /* INDEX */
    Expr *moves;  /* I64; NULL: nothing */
    Expr *offset; /* INDEX: what is a number once loops are written out */
} Address;

static Expr *to_i64(Advance *a, Expr *e)
{
    return expr_cast(a->c, DT_I64, e, e->span);
}

static bool is_written_out(const ForStmt *loop)
{
    return loop->kind == LOOP_UNROLL || loop->kind == LOOP_VECTORIZE;
}

/* The factor is a number once loops are written out: `each`, `each / 2`. */
static bool becomes_number(const void *user, Expr *factor)
{
    const Advance *a = user;
    for (Cursor at = cursor_expr(a->c, factor); cursor_next(&at);) {
        ExprKind kind = at.expr->kind;
        bool number = kind != EX_VAR && kind != EX_AXIS && kind != EX_LOAD && kind != EX_CALL;
        for (int i = 0; i < a->loops.n && kind == EX_VAR && !number; i++)
            number = a->loops.items[i]->var == at.expr->u.var && is_written_out(a->loops.items[i]);
        if (!number)
            return false;
    }
    return true;
}

/* Takes the multiples of the loop's variable out of what stays. */
static bool take_loop(Advance *a, const ForStmt *loop, Address *at)
{
    Context *c = a->c;
    int64_t coefficient;
    Expr *rest;
    if (!expr_uses_var(at->stays, loop->var))
        return true;
    if (is_written_out(loop) || !split_linear(a->facts, at->stays, loop->var, &coefficient, &rest))
        return false;
    Expr *var = to_i64(a, expr_var(c, loop->var, at->stays->span));
    Expr *term =
        coefficient == 1
            ? var
            : expr_binary(c, EX_MUL, var, expr_int(c, DT_I64, coefficient, var->span), var->span);
    at->stays = rest;
    at->moves = at->moves ? expr_binary(c, EX_ADD, at->moves, term, var->span) : term;
    return true;
}

/* The summands of a subscript; false where it is none of literal steps. */
static bool take_apart(Advance *a, Expr *e, Address *at)
{
    int64_t number;
    *at = (Address){.stays = expr_subst(a->c, e, a->lets.items, a->lets.n)};
    if (e->type != DT_INDEX ||
        !split_terms(a->facts, at->stays, becomes_number, a, &at->offset, &at->stays))
        return false;
    for (int i = 0; i < a->loops.n; i++)
        if (!take_loop(a, a->loops.items[i], at))
            return false;
    if (!split_number(a->facts, at->stays, &number, &at->stays))
        return false;
    at->offset = simplify(a->facts, index_add(a->c, at->offset, expr_index(a->c, number)));
    return true;
}

static Expr *sum_of(Advance *a, const Address *at, Span span)
{
    Context *c = a->c;
    int64_t number;
    Expr *sum = to_i64(a, at->stays);
    if (at->moves)
        sum = expr_binary(c, EX_ADD, sum, at->moves, span);
    if (!expr_is_const(at->offset, &number))
        return expr_binary(c, EX_ADD, sum, to_i64(a, at->offset), span);
    return number == 0 ? sum : expr_binary(c, EX_ADD, sum, expr_int(c, DT_I64, number, span), span);
}

static Expr *advance_load(Rewriter *r, Expr *e)
{
    Advance *a = r->user;
    const Buffer *b = e->kind == EX_LOAD ? e->u.load.buffer : NULL;
    if (!b || b->scope != SCOPE_GLOBAL || b->rank != 1)
        return e;
    Address at;
    if (!take_apart(a, e->u.load.index[0], &at) || !at.moves)
        return e;
    Expr *index = sum_of(a, &at, e->span);
    Expr *load = expr_load_like(a->c, e, e->u.load.buffer, &index);
    load->u.load.axes = axes_subst(a->c, e->u.load.axes, a->lets.items, a->lets.n);
    return load;
}

/* A name for something that moves: subscripts see through it. */
static void note_let(Advance *a, const Stmt *s)
{
    Expr *value = expr_subst(a->c, s->u.let.value, a->lets.items, a->lets.n);
    for (int i = 0; i < a->loops.n; i++)
        if (expr_uses_var(value, a->loops.items[i]->var)) {
            Subst to = {s->u.let.var, value};
            VEC_PUSH(a->c->arena, &a->lets, to);
            return;
        }
}

/* How often what stands here is written out; OFTEN where that is more. */
static int64_t copies_here(const Advance *a)
{
    int64_t copies = 1, extent;
    for (int i = 0; i < a->loops.n && copies < OFTEN; i++)
        if (a->loops.items[i]->kind == LOOP_UNROLL &&
            loop_const_extent(a->loops.items[i], &extent) && extent > 0)
            copies *= extent < OFTEN ? extent : OFTEN;
    return copies < OFTEN ? copies : OFTEN;
}

static Stmt *walk_store(Advance *a, Stmt *s)
{
    Rewriter r = {.ctx = a->c, .user = a, .expr = advance_load};
    const Buffer *b = s->u.store.buffer;
    Address at;
    int64_t number;
    if (s->u.store.op == STORE_ASYNC) {
        Expr *value = rewrite_expr(&r, s->u.store.value);
        return value == s->u.store.value
                   ? s
                   : stmt_store_like(a->c, s, s->u.store.buffer, s->u.store.index, value);
    }
    if (b->scope != SCOPE_GLOBAL || b->rank != 1 || copies_here(a) < OFTEN ||
        !take_apart(a, s->u.store.index[0], &at) || expr_is_const(at.stays, &number) ||
        expr_is_const(at.offset, &number))
        return s;
    Expr *index = sum_of(a, &at, s->span);
    Stmt *store = stmt_store_like(a->c, s, s->u.store.buffer, &index, s->u.store.value);
    store->u.store.axes = axes_subst(a->c, s->u.store.axes, a->lets.items, a->lets.n);
    return store;
}

static Stmt *walk(void *user, Stmt *s)
{
    Advance *a = user;
    if (s->kind == ST_STORE)
        return walk_store(a, s);
    if (s->kind == ST_LET) { /* known to what follows in its sequence */
        note_let(a, s);
        return s;
    }
    if (stmt_is_bulk_copy(s))
        return s;
    int lets = a->lets.n, loops = a->loops.n;
    if (s->kind == ST_FOR)
        VEC_PUSH(a->c->arena, &a->loops, &s->u.loop);
    Stmt *done = stmt_map_inside(a->c, a->facts, s, walk, a);
    a->loops.n = loops;
    a->lets.n = lets;
    return done;
}

Kernel *pass_advance_addresses(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Advance a = {.c = c, .facts = facts_of_kernel(c, kernel)};
    Stmt *body = walk(&a, kernel->body);
    return kernel_with_body(c, kernel, body == kernel->body ? body : drop_unused_names(c, body));
}
