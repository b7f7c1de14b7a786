/* promote_carried.c - Keeps the element that a loop stores in a register for its next iteration
 * (scalar replacement across one iteration).
 *
 *   for j in 1..N                              temp y_acc: f32[1] in local;
 *       y[j] = y[j - 1] + x[j];         =>     if 1 < N
 *                                                  y_acc[0] = y[0];
 *                                              for j in 1..N {
 *                                                  y_acc[0] = y_acc[0] + x[j];
 *                                                  y[j] = y_acc[0]; }
 *
 * This is correct because the loop has one store to the buffer, which runs in every iteration, so
 * nothing else changes the element before the next iteration reads it: other threads could only do
 * so beyond a barrier. All stores remain, so other reads of the buffer may remain, too. The element
 * before the first iteration is loaded only where the loop itself would load it.
 *
 * Both branches of a condition may store the element: `if j == 0 y[j] = a; else y[j] = b;` is read
 * as `y[j] = j == 0 ? a : b;`. */
#include "passes/lower/memory/promote.h"

typedef struct {
    Scan scan; /* its element is that of the store */
    const Stmt *loop, *store;
    EnclosingList path; /* from the loop to the store */
    Expr **previous;    /* subscripts of the element that the iteration before stored */
    const Expr *load;   /* of it */
    ExprList chosen;    /* conditions on loops and sizes under which an iteration runs it */
    Buffer *acc;
    bool passed; /* the store, in the order of the text */
} Carried;

/* Whether the loop runs the store in each of its iterations, or in none: its conditions become
 * guards. */
static bool runs_always(Carried *x)
{
    for (int i = 0; i < x->path.n; i++) {
        const Stmt *s = x->path.items[i].stmt;
        if (s->kind == ST_IF) {
            if (x->path.items[i].otherwise || !promote_is_invariant(&x->scan, s->u.cond.cond))
                return false;
            VEC_PUSH(x->scan.p->c->arena, &x->scan.guards, s->u.cond.cond);
        } else if (s != x->loop && s->kind != ST_LET) {
            return false;
        }
    }
    return true;
}

/* The one store of the buffer in the loop. */
static bool find_store(Carried *x)
{
    Context *c = x->scan.p->c;
    for (Cursor at = cursor_with_path(cursor_stmts(c, x->loop), NULL); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        if (s->kind == ST_LET)
            VEC_PUSH(c->arena, &x->scan.lets, ((Subst){s->u.let.var, s->u.let.value}));
        if (s->kind == ST_TEMP && s->u.temp == x->scan.buffer)
            return false;
        if (s->kind != ST_STORE || s->u.store.buffer != x->scan.buffer)
            continue;
        if (x->store || s->u.store.atomic || s->u.store.op == STORE_ASYNC)
            return false;
        x->store = s;
        x->path = enclosing_copy(c, &at.path);
    }
    return x->store && runs_always(x);
}

/* The subscripts of the store one iteration before. */
static Expr **previous_subscripts(const Carried *x)
{
    const Scan *scan = &x->scan;
    Context *c = scan->p->c;
    const ForStmt *l = &x->loop->u.loop;
    Expr **out = ARENA_ARRAY(c->arena, Expr *, scan->buffer->rank);
    Subst to = {l->var, expr_binary(c, EX_SUB, expr_var(c, l->var, span_none()),
                                    expr_index(c, l->step), span_none())};
    for (int d = 0; d < scan->buffer->rank; d++)
        out[d] =
            simplify(scan->p->facts,
                     expr_subst(c, promote_expanded(scan, x->store->u.store.index[d]), &to, 1));
    return out;
}

static bool is_previous(const Carried *x, const Expr *e)
{
    const Scan *scan = &x->scan;
    if (e->kind != EX_LOAD || e->u.load.buffer != scan->buffer)
        return false;
    for (int d = 0; d < scan->buffer->rank; d++)
        if (!expr_equal(simplify(scan->p->facts, promote_expanded(scan, e->u.load.index[d])),
                        x->previous[d]))
            return false;
    return true;
}

static bool find_load(Carried *x, const Expr *e);

/* The same in one side of a choice that data do not decide; it is loaded where the choice holds. */
static bool find_chosen(Carried *x, Expr *cond, const Expr *e)
{
    if (expr_has_load(promote_expanded(&x->scan, cond)) || !find_load(x, e))
        return false;
    VEC_PUSH(x->scan.p->c->arena, &x->chosen, cond);
    return true;
}

/* Each of the two sides of a choice evaluates one; if only some iterations do, reads_previous
 * refuses the two. */
static bool find_in_both(Carried *x, const Expr *choice)
{
    int chosen = x->chosen.n;
    if (find_load(x, choice->u.arg[1]) && find_load(x, choice->u.arg[2]))
        return true;
    x->chosen.n = chosen;
    return false;
}

/* Finds a load of the previous element that `e` evaluates in every iteration, or in those that a
 * choice leaves. */
static bool find_load(Carried *x, const Expr *e)
{
    if (is_previous(x, e)) {
        x->load = e;
        return true;
    }
    if (e->kind == EX_SELECT)
        return find_load(x, e->u.arg[0]) || find_in_both(x, e) ||
               find_chosen(x, e->u.arg[0], e->u.arg[1]) ||
               find_chosen(x, expr_unary(x->scan.p->c, EX_NOT, e->u.arg[0], e->span), e->u.arg[2]);
    int n = e->kind == EX_AND || e->kind == EX_OR ? 1 : expr_operands(e);
    for (int i = 0; i < n; i++)
        if (find_load(x, expr_operand(e, i)))
            return true;
    return false;
}

/* The store, or a value that is named before it in its sequences, has such a load. */
static bool reads_previous(Carried *x)
{
    bool found = find_load(x, x->store->u.store.value);
    for (int i = 0; i < x->path.n && !found; i++)
        found = x->path.items[i].stmt->kind == ST_LET &&
                find_load(x, x->path.items[i].stmt->u.let.value);
    int loads = 0;
    for (Cursor at = cursor_stmt(x->scan.p->c, x->loop); cursor_next(&at);)
        loads += at.expr && is_previous(x, at.expr);
    return found && (x->chosen.n == 0 || loads == 1); /* others may run elsewhere */
}

static Expr *use_register(Rewriter *r, Expr *e)
{
    Carried *x = r->user;
    Expr *zero = expr_index(r->ctx, 0);
    return !x->passed && is_previous(x, e) ? expr_load(r->ctx, x->acc, &zero, e->span) : e;
}

/* The store sets the register first, then the element. */
static Stmt *set_both(Rewriter *r, Stmt *s)
{
    Carried *x = r->user;
    Context *c = r->ctx;
    Expr *zero = expr_index(c, 0);
    if (s->kind != ST_STORE || s->u.store.buffer != x->scan.buffer)
        return s;
    x->passed = true;
    StoreStmt store = s->u.store;
    if (store_updates(store.op))
        store.value =
            expr_binary(c, store_op_kind(store.op, store.buffer->type),
                        expr_load(c, store.buffer, store.index, s->span), store.value, s->span);
    StoreStmt keep = {.buffer = x->acc, .index = &zero, .op = STORE_SET, .value = store.value};
    store.op = STORE_SET;
    store.value = expr_load(c, x->acc, &zero, s->span);
    Stmt *both[2] = {stmt_stamp(stmt_store(c, &keep, s->span), s),
                     stmt_stamp(stmt_store(c, &store, s->span), s)};
    return stmt_seq(c, both, 2, s->span);
}

/* `e` in the first iteration, in terms of what is around the loop. */
static Expr *at_first(const Carried *x, Expr *e)
{
    Context *c = x->scan.p->c;
    const ForStmt *l = &x->loop->u.loop;
    Subst first = {l->var, l->lo};
    e = expr_expand(c, e, &x->scan.lets);
    return simplify(x->scan.p->facts, expr_subst(c, e, &first, 1));
}

/* Loads what the first iteration reads, where it runs and reads it. */
static void load_first(Carried *x, StmtList *before)
{
    Context *c = x->scan.p->c;
    Facts *facts = x->scan.p->facts;
    Stmt *loop = (Stmt *)x->loop;
    Expr *zero = expr_index(c, 0);
    VEC_PUSH(c->arena, before, stmt_stamp(stmt_temp(c, x->acc, loop->span), loop));
    promote_guard_loops(&x->scan, loop);
    for (int i = 0; i < x->chosen.n; i++) {
        Expr *cond = at_first(x, x->chosen.items[i]);
        if (prove(facts, expr_unary(c, EX_NOT, cond, cond->span)))
            return;
        if (!prove(facts, cond))
            VEC_PUSH(c->arena, &x->scan.guards, cond);
    }
    Stmt *first =
        stmt_set(c, (BufferElement){x->acc, &zero}, at_first(x, (Expr *)x->load), x->load->span);
    VEC_PUSH(c->arena, before, promote_guarded(c, &x->scan.guards, stmt_stamp(first, loop)));
}

static Stmt *carry(Promote *p, Stmt *loop, Buffer *buffer, StmtList *before)
{
    Carried x = {.scan = {.p = p, .buffer = buffer}, .loop = loop};
    VEC_PUSH(p->c->arena, &x.scan.inside, loop->u.loop.var);
    vars_defined_in(p->c, loop->u.loop.body, &x.scan.inside);
    if (loop->u.loop.kind == LOOP_BREAKS || stmt_has_barrier(p->c, loop) || !find_store(&x))
        return loop;
    x.previous = previous_subscripts(&x);
    if (!reads_previous(&x))
        return loop;
    x.acc = promote_register(p, buffer, loop->span);
    load_first(&x, before);
    Rewriter r = {.ctx = p->c, .user = &x, .expr = use_register, .stmt = set_both};
    return rewrite_stmt(&r, loop);
}

/* ---- stores in both branches ---------------------------------------------------------------- */

/* The store of a value under conditions without `else`, which are added to `conds`. */
static const Stmt *store_under(Context *c, const Stmt *s, ExprList *conds)
{
    for (; s->kind == ST_IF && !s->u.cond.otherwise; s = s->u.cond.then)
        VEC_PUSH(c->arena, conds, s->u.cond.cond);
    return s->kind == ST_STORE && s->u.store.op == STORE_SET ? s : NULL;
}

/* One store of `cond ? a : b` for stores of a and b in one element under the same conditions. */
static Stmt *join_branches(Rewriter *r, Stmt *s)
{
    Context *c = r->ctx;
    const Buffer *buffer = r->user;
    ExprList conds = {0}, others = {0};
    if (s->kind != ST_IF || !s->u.cond.otherwise)
        return s;
    const Stmt *a = store_under(c, s->u.cond.then, &conds);
    const Stmt *b = store_under(c, s->u.cond.otherwise, &others);
    if (!a || !b || a->u.store.buffer != buffer || b->u.store.buffer != buffer ||
        !exprs_equal(a->u.store.index, b->u.store.index, buffer->rank) || conds.n != others.n ||
        !exprs_equal(conds.items, others.items, conds.n))
        return s;
    Expr *value =
        expr_select(c, s->u.cond.cond, a->u.store.value, b->u.store.value, a->u.store.value->span);
    Stmt *store = stmt_store_like(c, a, (Buffer *)buffer, a->u.store.index, value);
    return promote_guarded(c, &conds, stmt_stamp(store, a));
}

Stmt *promote_carried(Promote *p, Stmt *loop, Buffer *buffer, StmtList *before)
{
    Stmt *carried = carry(p, loop, buffer, before);
    if (carried != loop)
        return carried;
    Rewriter r = {.ctx = p->c, .user = buffer, .stmt = join_branches};
    Stmt *joined = rewrite_stmt(&r, loop);
    carried = carry(p, joined, buffer, before);
    return carried != joined ? carried : loop;
}
