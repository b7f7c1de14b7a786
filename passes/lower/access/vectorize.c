/* vectorize.c - Turns vectorized loops into wide accesses where possible; unrolls the others with a
 * warning.
 *
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[i, j * 4 + v];    one load and one store of 16 bytes
 *   for v in 4 vectorize  C[i, j * 4 + v] = A[j * 4 + v, i];    A is strided: unrolls
 *
 * A loop stays vectorized if it is one wide access (wide.h), and becomes one under a condition
 * where it has a condition that all lanes agree on or pass (lanes.h). A loop gets a warning if it
 * computes 16-bit floats only lane by lane (ir/packed.h). */
#include "ir/packed.h"
#include "passes/lower/access/wide.h"

enum { MAX_SPLITS = 3 }; /* conditions that one access is split for, each inside the one before */

static Lanes lanes_of(WideCheck *v, const Stmt *s)
{
    return (Lanes){
        .c = v->c, .facts = v->facts, .lets = &v->lets, .var = s->u.loop.var, .count = v->lanes};
}

static Stmt *with_value(WideCheck *v, const Stmt *loop, Expr *value)
{
    const Stmt *store = loop->u.loop.body;
    return loop_with_body(
        v->c, loop,
        stmt_store_like(v->c, store, store->u.store.buffer, store->u.store.index, value));
}

static Stmt *unrolled(WideCheck *v, const Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.kind = LOOP_UNROLL;
    return stmt_stamp(stmt_for(v->c, &loop, s->span), s);
}

static Stmt *again(WideCheck *v, Stmt *s)
{
    ForStmt loop = s->u.loop;
    loop.id = 0;
    return stmt_clone_fresh(v->c, stmt_stamp(stmt_for(v->c, &loop, s->span), s));
}

/* Lanes 0, 1, ... of a literal number. */
static bool counts_lanes(WideCheck *v, const Stmt *s)
{
    return loop_const_extent(&s->u.loop, &v->lanes) && v->lanes > 1 &&
           loop_counts_from_zero(&s->u.loop);
}

/* An asynchronous copy that fills with a literal where all lanes agree to: the condition without
 * the variable. */
static Stmt *settle_fill(WideCheck *v, Stmt *s)
{
    const Stmt *store = s->u.loop.body;
    Expr *where, *value;
    if (store->kind != ST_STORE || store->u.store.op != STORE_ASYNC ||
        !expr_copied_or(store->u.store.value, &where) || !where ||
        !expr_uses_var(where, s->u.loop.var) || !counts_lanes(v, s))
        return s;
    Lanes l = lanes_of(v, s);
    value = store->u.store.value;
    where = lanes_agree(&l, where);
    return where
               ? with_value(v, s,
                            expr_select(v->c, where, value->u.arg[1], value->u.arg[2], value->span))
               : s;
}

/* The first selection with a wide load in an arm; NULL if there is none. */
static Expr *lazy_choice(const WideCheck *v, const Expr *value)
{
    for (Cursor at = cursor_expr(v->c, value); cursor_next(&at);)
        if (at.expr->kind == EX_SELECT && wide_is_lazy(v, at.expr))
            return at.expr;
    return NULL;
}

typedef struct {
    const Expr *from;
    Expr *to;
} Exchange;

static Expr *exchange(Rewriter *r, Expr *e)
{
    const Exchange *x = r->user;
    return e == x->from ? x->to : e;
}

static Expr *with_arm(WideCheck *v, Expr *value, const Expr *choice, int arm)
{
    Exchange x = {choice, choice->u.arg[arm]};
    return rewrite_expr(&(Rewriter){.ctx = v->c, .user = &x, .expr = exchange}, value);
}

static Stmt *as_wide(WideCheck *v, Stmt *s, int depth);

/* A guard that may differ between lanes: where all pass it the access is wide; the edge unrolls.
 *
 *   for v in 4 vectorize          if x + 3 < n
 *       if x + v < n                  for v in 4 vectorize  t[v] = w[v];
 *           t[v] = w[v];    =>    else
 *                                     for v in 4 unroll  if x + v < n  t[v] = w[v]; */
static Stmt *peel_edge(WideCheck *v, Stmt *s, int depth)
{
    Lanes l = lanes_of(v, s);
    const Stmt *guarded = s->u.loop.body;
    Expr *all = guarded->u.cond.otherwise ? NULL : lanes_all(&l, guarded->u.cond.cond);
    Stmt *wide = all ? as_wide(v, loop_with_body(v->c, s, guarded->u.cond.then), depth) : NULL;
    return wide ? stmt_stamp(stmt_if(v->c, all, wide, again(v, unrolled(v, s)), s->span), s) : NULL;
}

/* A value that reads memory under a condition: one access for each answer where all lanes agree,
 * and else as an edge.
 *
 *   for v in 4 vectorize                  if x < n  for v in 4 vectorize  t[v] = w[v];
 *       t[v] = x < n ? w[v] : 0;    =>    else      for v in 4 vectorize  t[v] = 0; */
static Stmt *split_choice(WideCheck *v, Stmt *s, int depth)
{
    Expr *value = s->u.loop.body->u.store.value;
    Expr *choice = lazy_choice(v, value);
    if (!choice)
        return NULL;
    Lanes l = lanes_of(v, s);
    Expr *agree = lanes_agree(&l, choice->u.arg[0]),
         *all = agree ? agree : lanes_all(&l, choice->u.arg[0]);
    Stmt *wide = all ? as_wide(v, with_value(v, s, with_arm(v, value, choice, 1)), depth) : NULL;
    if (!wide)
        return NULL;
    Stmt *rest = again(v, s), *other = NULL;
    if (agree) {
        rest = again(v, with_value(v, s, with_arm(v, value, choice, 2)));
        other = as_wide(v, rest, depth);
    }
    return stmt_stamp(stmt_if(v->c, all, wide, other ? other : unrolled(v, rest), s->span), s);
}

/* A let of the loop that is the same for all lanes, and that no store of the loop changes. */
static bool lanes_share(const Stmt *let, const Stmt *loop, const Stmt *store)
{
    const Expr *value = let->u.let.value;
    return !expr_uses_var(value, loop->u.loop.var) && !expr_reads(value, store->u.store.buffer);
}

/* Values in front of the store: those that the lanes share go before the loop, the others are
 * written out.
 *
 *   for v in 4 vectorize {                        let row = id[b];
 *       let row = id[b];                    =>    for v in 4 vectorize
 *       let a = x[row, j * 4 + v];                    y[b, j * 4 + v] = x[row, j * 4 + v] * 2;
 *       y[b, j * 4 + v] = a * 2;
 *   } */
static Stmt *as_wide_behind_lets(WideCheck *v, Stmt *s, int depth)
{
    Context *c = v->c;
    Stmt *rest = s->u.loop.body;
    const Stmt *store = stmt_valued_store(rest);
    StmtList items = {0};
    while (rest->kind == ST_SEQ) {
        Stmt *let = rest->u.seq.items[0];
        Subst value = {let->u.let.var, let->u.let.value};
        rest = stmt_seq(c, rest->u.seq.items + 1, rest->u.seq.n - 1, rest->span);
        if (lanes_share(let, s, store))
            VEC_PUSH(c->arena, &items, let);
        else
            rest = stmt_subst(c, rest, &value, 1);
    }
    Stmt *wide = as_wide(v, loop_with_body(c, s, rest), depth);
    if (wide)
        VEC_PUSH(c->arena, &items, wide);
    return wide ? stmt_seq(c, items.items, items.n, s->span) : NULL;
}

/* A loop that is wide as it is written, as it is simplified later, where a choice between lanes may
 * turn an element that is the same for all of them into one of each:
 *
 *   v < 1 ? a : x[max(v - 1, 0)]    x[0], then x[v - 1] */
static void check_simplified(WideCheck *v, Stmt *s)
{
    Stmt *simple = simplify_stmt(v->facts, s);
    if (simple != s && simple->kind == ST_FOR && simple->u.loop.body->kind == ST_STORE)
        wide_check(v, simple);
}

/* Returns the loop as wide accesses, under conditions if needed; NULL, with the reason, if that
 * is impossible: the one of the accesses where conditions alone are no obstacle. Nested conditions
 * are followed for a few levels only, because each doubles the text. */
static Stmt *as_wide(WideCheck *v, Stmt *s, int depth)
{
    if (s->u.loop.body->kind == ST_SEQ && stmt_written_out(v->c, s->u.loop.body))
        return as_wide_behind_lets(v, s, depth);
    s = settle_fill(v, s);
    wide_check(v, s);
    if (!v->why)
        check_simplified(v, s);
    if (!v->why)
        return s;
    Stmt *body = s->u.loop.body, *split = NULL;
    if (depth < MAX_SPLITS && counts_lanes(v, s) && body->kind == ST_IF)
        split = peel_edge(v, s, depth + 1);
    else if (depth < MAX_SPLITS && counts_lanes(v, s) && body->kind == ST_STORE)
        split = split_choice(v, s, depth + 1);
    v->loop = s;
    return split;
}

static const char *operator_name(const Expr *e)
{
    return e->kind == EX_CALL ? call_info(e->u.call.call)->name : op_info(e->kind)->token;
}

/* The first operation on 16-bit floats that has no packed form, where no other one has; else
 * NULL. */
static const Expr *unpacked_operation(WideCheck *v, const Stmt *loop)
{
    const Expr *missing = NULL;
    for (Cursor at = cursor_stmt(v->c, loop->u.loop.body); cursor_next(&at);) {
        if (at.expr && packed_or_chosen(at.expr))
            return NULL;
        if (at.expr && !missing && packed_is_missing(at.expr))
            missing = at.expr;
    }
    return missing;
}

/* Arithmetic on 16-bit floats computes two lanes at once only where the GPU has an instruction. */
static void warn_of_unpacked(WideCheck *v, const Stmt *loop)
{
    const Expr *e = unpacked_operation(v, loop);
    if (!e)
        return;
    diag_warning(v->c, W0004, loop->span, "'%s' of %s is not packed", operator_name(e),
                 type_info(e->type)->name);
    diag_note(v->c, loop->span,
              "each lane computes it in f32 and converts the result; + - *, min, max, abs, "
              "negation and comparisons have packed instructions");
}

static Stmt *vectorize_loop(WideCheck *v, Stmt *s)
{
    Stmt *wide = as_wide(v, s, 0);
    if (wide) {
        warn_of_unpacked(v, s);
        return wide;
    }
    diag_warning(v->c, E0511, s->span, "loop not vectorized: %s", v->why);
    diag_note(v->c, s->span, "loop '%s' is unrolled instead; %s", s->u.loop.var->name, v->remedy);
    return unrolled(v, s);
}

static Stmt *walk(void *user, Stmt *s)
{
    WideCheck *v = user;
    int lets = v->lets.n, around = v->around.n;
    if (s->kind == ST_LET) {
        Subst to = {s->u.let.var, s->u.let.value};
        VEC_PUSH(v->c->arena, &v->lets, to);
        return s;
    }
    if (s->kind == ST_FOR)
        VEC_PUSH(v->c->arena, &v->around, s);
    Stmt *done = stmt_map_inside(v->c, v->facts, s, walk, v);
    v->lets.n = lets;
    v->around.n = around;
    if (done->kind == ST_FOR && done->u.loop.kind == LOOP_VECTORIZE)
        done = vectorize_loop(v, done);
    return done;
}

Kernel *pass_vectorize(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    WideCheck v = {.c = c, .facts = facts_of_kernel(c, kernel)};
    return names_settle(c, kernel_with_body(c, kernel, walk(&v, kernel->body)));
}
