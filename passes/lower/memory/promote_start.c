/* promote_start.c - Finds what an element holds when the loop that updates it starts: a value
 * stored before, a value to load, or one that is not needed. See promote.h. */
#include "passes/lower/memory/promote.h"

Buffer *promote_register(Promote *p, const Buffer *buffer, Span at)
{
    Context *c = p->c;
    Expr *one = expr_index(c, 1);
    return buffer_new(
        c, &(Buffer){.name = names_fresh(&p->names, ctx_namef(c, "%s_acc", buffer->name)),
                     .type = buffer->type,
                     .digits = buffer->digits,
                     .shape = &one,
                     .rank = 1,
                     .scope = SCOPE_LOCAL,
                     .role = ROLE_TEMP,
                     .span = at});
}

Stmt *promote_guarded(Context *c, const ExprList *guards, Stmt *s)
{
    Expr *cond = cond_join(c, guards);
    return cond ? stmt_stamp(stmt_if(c, cond, s, NULL, s->span), s) : s;
}

static bool is_element_store(const Scan *scan, const Stmt *s)
{
    return s->kind == ST_STORE && s->u.store.buffer == scan->buffer && s->u.store.op == STORE_SET &&
           !s->u.store.atomic && (scan->any_start || !expr_has_load(s->u.store.value)) &&
           exprs_equal(s->u.store.index, scan->index, scan->buffer->rank);
}

/* Takes a constant store of the element out of `s`, under exactly the guards of the updates; what
 * is left in *rest (NULL: nothing). NULL if `s` is no such statement. */
static Expr *take_init(Scan *scan, Stmt *s, const ExprList *around, Stmt **rest)
{
    Context *c = scan->p->c;
    if (s->kind == ST_STORE && is_element_store(scan, s)) {
        bool same = around->n == scan->guards.n;
        for (int i = 0; i < around->n; i++)
            same = same && expr_list_has(&scan->guards, around->items[i]);
        *rest = NULL;
        return same ? s->u.store.value : NULL;
    }
    if (s->kind == ST_IF && !s->u.cond.otherwise) {
        ExprList inner = {0};
        VEC_APPEND(c->arena, &inner, around->items, around->n);
        cond_split(c, s->u.cond.cond, &inner);
        Stmt *left;
        Expr *value = take_init(scan, s->u.cond.then, &inner, &left);
        *rest =
            value && left ? stmt_stamp(stmt_if(c, s->u.cond.cond, left, NULL, s->span), s) : NULL;
        return value;
    }
    if (s->kind != ST_SEQ)
        return NULL;
    for (int i = s->u.seq.n - 1; i >= 0; i--) {
        Stmt *left;
        Expr *value = take_init(scan, s->u.seq.items[i], around, &left);
        if (value) {
            *rest = stmt_replace(c, s, s->u.seq.items[i], left);
            return value;
        }
        if (stmt_accesses(scan->p->c, s->u.seq.items[i], scan->buffer, ACCESS_ANY))
            return NULL;
    }
    return NULL;
}

Expr *promote_take_start(Scan *scan, StmtList *before)
{
    ExprList nothing = {0};
    for (int i = before->n - 1; i >= 0; i--) {
        Stmt *rest = NULL;
        Expr *start = take_init(scan, before->items[i], &nothing, &rest);
        if (start && rest)
            before->items[i] = rest;
        for (int k = i; start && !rest && k + 1 < before->n; k++)
            before->items[k] = before->items[k + 1];
        before->n -= start && !rest;
        if (start)
            return start;
        if (stmt_accesses(scan->p->c, before->items[i], scan->buffer, ACCESS_ANY))
            return NULL;
    }
    return NULL;
}

static Expr *runs_at_all(const Scan *scan, const ForStmt *l)
{
    return expr_binary(scan->p->c, l->step > 0 ? EX_LT : EX_GE, l->lo, l->hi, span_none());
}

static bool certainly_runs(const Scan *scan, const ForStmt *l)
{
    return prove(scan->p->facts, runs_at_all(scan, l));
}

/* What is known of the way to the first access. */
typedef struct {
    ExprList conds;
    SubstList loops; /* each at its first iteration */
    bool runs;       /* all loops certainly have one */
} Way;

/* All conditions hold in the first iteration, or wherever the guards of the updates do. Whether
 * there is one, promote_guard_loops asks. */
static bool is_certain(Scan *scan, const Way *way)
{
    Context *c = scan->p->c;
    for (int i = 0; i < way->conds.n; i++) {
        Expr *cond = promote_expanded(scan, way->conds.items[i]);
        if (!expr_list_has(&scan->guards, way->conds.items[i]) &&
            !prove(scan->p->facts, expr_subst(c, cond, way->loops.items, way->loops.n)))
            return false;
    }
    return true;
}

static First sets_first(const Scan *scan, const Way *way)
{
    for (int i = 0; i < way->conds.n; i++)
        if (!expr_list_has(&scan->guards, way->conds.items[i]))
            return FIRST_MAY_SET;
    return way->runs ? FIRST_SETS : FIRST_MAY_SET;
}

static First first_in(Scan *scan, Stmt *s, Way *way)
{
    Context *c = scan->p->c;
    if (s->kind == ST_STORE && !stmt_accesses(c, s, scan->buffer, ACCESS_READ))
        return sets_first(scan, way);
    if (s->kind == ST_IF && !s->u.cond.otherwise && !expr_reads(s->u.cond.cond, scan->buffer)) {
        cond_split(c, s->u.cond.cond, &way->conds);
        return first_in(scan, s->u.cond.then, way);
    }
    if (s->kind == ST_FOR && !expr_reads(s->u.loop.lo, scan->buffer) &&
        !expr_reads(s->u.loop.hi, scan->buffer)) {
        VEC_PUSH(c->arena, &way->loops, ((Subst){s->u.loop.var, s->u.loop.lo}));
        way->runs &= s->u.loop.kind != LOOP_BREAKS && certainly_runs(scan, &s->u.loop);
        return first_in(scan, s->u.loop.body, way);
    }
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (stmt_accesses(scan->p->c, s->u.seq.items[i], scan->buffer, ACCESS_ANY))
            return first_in(scan, s->u.seq.items[i], way);
    return is_certain(scan, way) ? FIRST_READS : FIRST_MAY_READ;
}

First promote_first_access(Scan *scan, Stmt *loop)
{
    Way way = {.runs = true};
    First first = first_in(scan, loop, &way);
    bool reads = first == FIRST_READS || first == FIRST_MAY_READ;
    return reads && !scan->read ? FIRST_MAY_SET : first;
}

bool promote_can_start(Scan *scan, Stmt *loop, const StmtList *before)
{
    StmtList trial = {0};
    First first = promote_first_access(scan, loop);
    if (first == FIRST_SETS || first == FIRST_READS || scan->buffer->role == ROLE_INOUT)
        return true;
    VEC_APPEND(scan->p->c->arena, &trial, before->items, before->n);
    Scan any = *scan;
    any.any_start = true;
    return promote_take_start(&any, &trial);
}

/* The one statement below `s` that touches the element, if it is a loop: where that has no
 * iterations, nothing does. */
static Stmt *only_loop(const Scan *scan, Stmt *s)
{
    Stmt *found = NULL;
    if (s->kind == ST_FOR)
        return s;
    if (s->kind == ST_IF && !s->u.cond.otherwise)
        return only_loop(scan, s->u.cond.then);
    for (int i = 0; s->kind == ST_SEQ && i < s->u.seq.n; i++)
        if (stmt_accesses(scan->p->c, s->u.seq.items[i], scan->buffer, ACCESS_ANY)) {
            if (found)
                return NULL;
            found = s->u.seq.items[i];
        }
    return found ? only_loop(scan, found) : NULL;
}

static void guard_first(Scan *scan, Expr *cond)
{
    ExprList *guards = &scan->guards;
    VEC_PUSH(scan->p->c->arena, guards, cond);
    for (int i = guards->n - 1; i > 0; i--)
        guards->items[i] = guards->items[i - 1];
    guards->items[0] = cond;
}

void promote_guard_loops(Scan *scan, Stmt *loop)
{
    for (Stmt *at = loop; at; at = only_loop(scan, at->u.loop.body)) {
        const ForStmt *l = &at->u.loop;
        if (!promote_is_invariant(scan, l->lo) || !promote_is_invariant(scan, l->hi) ||
            certainly_runs(scan, l))
            continue;
        Expr *runs = simplify(scan->p->facts, runs_at_all(scan, l));
        if (at == loop)
            guard_first(scan, runs); /* what stands in the loop may have no value without it */
        else
            VEC_PUSH(scan->p->c->arena, &scan->guards, runs);
    }
}
