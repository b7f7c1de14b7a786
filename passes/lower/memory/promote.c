/* promote.c - Replaces an element that one thread keeps updating by a register (scalar
 * replacement).
 *
 *   C[i, j] = 0;                              temp C_acc: f32[1] in local;
 *   for ko in 32 {                            C_acc[0] = 0;
 *       ...                             =>    for ko in 32 { ...
 *           C[i, j] += A[i, k] * B[k, j];             C_acc[0] += A[i, k] * B[k, j]; }
 *   }                                         C[i, j] = C_acc[0];
 *
 * After Callahan, Carr and Kennedy (PLDI 1990), for one element a loop.
 *
 * This is correct because no other thread accesses the element during the loop: two threads that
 * update one element in one loop are a race, which bind refuses. The pass adds a load before and
 * a store after the loop, also for threads that might not run any update, and omits the load if
 * the loop sets the element before it reads it. Conditions around the updates must therefore be
 * the same for all threads that share the element: conditions that vary in the loop must not
 * depend on the thread or on data, unless the element determines the thread. The load and the
 * store cross the barriers of the loop, so if it has any, no other thread may access the element
 * before or after the loop. */
#include "passes/lower/memory/promote.h"

/* ---- rewriting ------------------------------------------------------------------------------- */

typedef struct {
    const Buffer *from;
    Buffer *to;
    Expr *zero;
} Replace;

static Expr *replace_load(Rewriter *r, Expr *e)
{
    Replace *x = r->user;
    return e->kind == EX_LOAD && e->u.load.buffer == x->from
               ? expr_load(r->ctx, x->to, &x->zero, e->span)
               : e;
}

static Stmt *replace_store(Rewriter *r, Stmt *s)
{
    Replace *x = r->user;
    if (s->kind != ST_STORE || s->u.store.buffer != x->from)
        return s;
    return stmt_stamp(stmt_assign(r->ctx, (BufferElement){x->to, &x->zero}, s->u.store.op,
                                  s->u.store.value, s->span),
                      s);
}

static void guard_unless_proved(Scan *scan, ExprKind kind, Expr *a, Expr *b)
{
    Expr *cond = expr_binary(scan->p->c, kind, a, b, span_none());
    if (!expr_list_has(&scan->guards, cond) && !prove(scan->p->facts, cond))
        VEC_PUSH(scan->p->c->arena, &scan->guards, cond);
}

/* Threads whose loop has no iterations may have no element either: the bounds of the loop then say
 * what no condition does. The load before it and the store after it need the condition. */
static void guard_element(Scan *scan)
{
    Context *c = scan->p->c;
    Facts *facts = scan->p->facts;
    FactsMark mark = facts_mark(facts);
    for (int i = 0; i < scan->guards.n; i++)
        facts_assume(facts, scan->guards.items[i]);
    for (int d = 0; d < scan->buffer->rank; d++) {
        guard_unless_proved(scan, EX_LE, expr_index(c, 0), scan->index[d]);
        guard_unless_proved(scan, EX_LT, scan->index[d], scan->buffer->shape[d]);
    }
    facts_reset(facts, mark);
}

/* A buffer whose element can live in a register for the whole of `loop`. */
static bool promotable(Promote *p, Stmt *loop, Buffer *buffer, Scan *scan)
{
    *scan = (Scan){.p = p, .buffer = buffer};
    VEC_PUSH(p->c->arena, &scan->inside, loop->u.loop.var);
    vars_defined_in(p->c, loop->u.loop.body, &scan->inside);
    if (!promote_scan(scan, loop) || !promote_is_uniform(scan))
        return false;
    guard_element(scan);
    return true;
}

/* Keeps the element of `scan` in a register during `loop`; statements to run before it go to
 * `before`, those to run after it to `after`. */
static Stmt *promote(Scan *scan, Stmt *loop, StmtList *before, StmtList *after)
{
    Promote *p = scan->p;
    Context *c = p->c;
    Span at = loop->span;
    Expr *zero = expr_index(c, 0), *start = promote_take_start(scan, before);
    Buffer *acc = promote_register(p, scan->buffer, at);
    if (!start)
        promote_guard_loops(scan, loop);
    Expr *first = start ? start : expr_load(c, scan->buffer, scan->index, at);
    if (!start)
        first->hint = cache_hint_info(scan->hint)->load ? scan->hint : HINT_NONE;
    Stmt *init = stmt_stamp(
        stmt_set(c, (BufferElement){acc, &zero}, first, first->span.source ? first->span : at),
        loop);
    VEC_PUSH(c->arena, before, stmt_stamp(stmt_temp(c, acc, at), loop));
    if (start)
        VEC_PUSH(c->arena, before, init);
    else if (promote_first_access(scan, loop) != FIRST_SETS)
        VEC_PUSH(c->arena, before, promote_guarded(c, &scan->guards, init));
    Stmt *last = stmt_set(c, (BufferElement){scan->buffer, scan->index},
                          expr_load(c, acc, &zero, at), scan->update);
    last->u.store.hint = scan->hint;
    VEC_PUSH(c->arena, after, promote_guarded(c, &scan->guards, stmt_stamp(last, loop)));
    Replace x = {scan->buffer, acc, zero};
    Rewriter r = {.ctx = c, .user = &x, .expr = replace_load, .stmt = replace_store};
    return rewrite_stmt(&r, loop);
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef VEC(Buffer *) BufferList;

/* The buffers that the loop writes, except local memory. */
static BufferList stored_in(Context *c, const Stmt *loop)
{
    BufferList found = {0};
    for (Cursor at = cursor_stmts(c, loop); cursor_next(&at);) {
        bool known = at.stmt->kind != ST_STORE || at.stmt->u.store.buffer->scope == SCOPE_LOCAL;
        for (int i = 0; i < found.n && !known; i++)
            known = found.items[i] == at.stmt->u.store.buffer;
        if (!known)
            VEC_PUSH(c->arena, &found, at.stmt->u.store.buffer);
    }
    return found;
}

static Stmt *walk(void *user, Stmt *s);

static void walk_loop(Promote *p, Stmt *loop, StmtList *out)
{
    Context *c = p->c;
    BufferList stored = {0};
    StmtList after = {0};
    if (loop->u.loop.kind != LOOP_VECTORIZE)
        stored = stored_in(c, loop);
    for (int i = 0; i < stored.n; i++) {
        Scan scan;
        if (promotable(p, loop, stored.items[i], &scan) && promote_can_start(&scan, loop, out) &&
            promote_passes_barriers(&scan, loop))
            loop = promote(&scan, loop, out, &after);
        else
            loop = promote_carried(p, loop, stored.items[i], out);
    }
    VEC_PUSH(c->arena, out, walk(p, loop));
    VEC_APPEND(c->arena, out, after.items, after.n);
}

/* The items of a sequence, or a single statement. */
static Stmt *walk_items(Promote *p, Stmt *s)
{
    Context *c = p->c;
    int n = stmt_items(s), lets = p->lets.n;
    FactsMark mark = facts_mark(p->facts);
    StmtList out = {0};
    for (int i = 0; i < n; i++) {
        Stmt *item = stmt_item(s, i);
        if (item->kind == ST_LET) {
            Subst to = {item->u.let.var, item->u.let.value};
            VEC_PUSH(c->arena, &p->lets, to);
            facts_enter(p->facts, item);
        }
        if (item->kind == ST_FOR)
            walk_loop(p, item, &out);
        else
            VEC_PUSH(c->arena, &out, walk(p, item));
    }
    p->lets.n = lets;
    facts_reset(p->facts, mark);
    bool same = out.n == n;
    for (int i = 0; same && i < n; i++)
        same = out.items[i] == stmt_item(s, i);
    return same ? s : stmt_seq(c, out.items, out.n, s->span);
}

static Stmt *walk_body(void *user, Stmt *s)
{
    if (s->kind == ST_INSTRUCTION) /* stays whole */
        return s;
    return s->kind == ST_SEQ || s->kind == ST_FOR ? walk_items(user, s) : walk(user, s);
}

/* Below a statement of a launch. */
static Stmt *walk(void *user, Stmt *s)
{
    Promote *p = user;
    return stmt_map_inside(p->c, p->facts, s, walk_body, p);
}

static Stmt *walk_host(void *user, Stmt *s)
{
    Promote *p = user;
    if (s->kind != ST_LAUNCH)
        return stmt_map_children(p->c, s, walk_host, p);
    p->launch = &s->u.launch;
    return walk(p, s);
}

Kernel *pass_promote_accumulators(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Promote p = {.c = c, .names = names_of_kernel(c, kernel), .facts = facts_of_kernel(c, kernel)};
    return kernel_with_body(c, kernel, walk_host(&p, kernel->body));
}
