/* widen.c - 64 bits for the index arithmetic that needs them, and for no other.
 *
 *   let j = (block * 256 + thread) % 65536   =>   let j = index((i64(block) * 256 + thread) % 65536)
 *
 * where block * 256 does not fit an int. INDEX is an int in emitted code, so every part of an expression whose value may
 * leave 32 bits is computed as i64 from its leaves on, and comes back where it fits again. Values without literal
 * bounds come from symbolic sizes: the launcher keeps those, and the elements of every buffer, below 2^31, or the
 * kernel is lowered with index64. */
#include "passes/lower/pass.h"

typedef struct {
    Context *c;
    Facts *facts;
    SubstList wide; /* variables that became i64 */
} Widen;

static bool fits(Widen *w, Expr *e)
{
    int64_t min, max;
    return !bounds_const(w->facts, e, &min, &max) || (min >= INT32_MIN && max <= INT32_MAX);
}

static Expr *to_i64(Widen *w, Expr *e)
{
    int64_t value;
    if (e->type == DT_I64)
        return e;
    return expr_is_const(e, &value) ? expr_int(w->c, DT_I64, value, e->span)
                                    : expr_cast(w->c, DT_I64, e, e->span);
}

static Expr *widen(Widen *w, Expr *e);

/* In 64 bits if an operand or the result is, and back where the result fits. */
static Expr *widen_binary(Widen *w, Expr *e)
{
    Expr *a = widen(w, e->u.arg[0]), *b = widen(w, e->u.arg[1]);
    bool index = e->u.arg[0]->type == DT_INDEX;
    if (index && (a->type == DT_I64 || b->type == DT_I64 || (e->type == DT_INDEX && !fits(w, e)))) {
        Expr *wide = expr_binary(w->c, e->kind, to_i64(w, a), to_i64(w, b), e->span);
        return e->type == DT_INDEX && fits(w, e) ? expr_cast(w->c, DT_INDEX, wide, e->span) : wide;
    }
    return a == e->u.arg[0] && b == e->u.arg[1] ? e : expr_binary(w->c, e->kind, a, b, e->span);
}

static Expr *widen_select(Widen *w, Expr *e)
{
    Expr *cond = widen(w, e->u.arg[0]), *a = widen(w, e->u.arg[1]), *b = widen(w, e->u.arg[2]);
    if (cond == e->u.arg[0] && a == e->u.arg[1] && b == e->u.arg[2])
        return e;
    if (a->type != b->type) {
        a = to_i64(w, a);
        b = to_i64(w, b);
    }
    return expr_select(w->c, cond, a, b, e->span);
}

/* Arguments or subscripts; NULL where none changed. */
static Expr **widen_all(Widen *w, Expr *const *e, int n)
{
    bool changed = false;
    Expr **done = ARENA_ARRAY(w->c->arena, Expr *, n + 1);
    for (int i = 0; i < n; i++) {
        done[i] = widen(w, e[i]);
        changed |= done[i] != e[i];
    }
    return changed ? done : NULL;
}

/* Nothing is printed of them, but their variables are those of the text. */
static const AxisAccess *widen_axes(Widen *w, const AxisAccess *axes)
{
    Expr **index = axes ? widen_all(w, axes->index, axes->buffer->rank) : NULL;
    if (!index)
        return axes;
    AxisAccess *wide = ARENA_NEW(w->c->arena, AxisAccess);
    *wide = (AxisAccess){axes->buffer, index};
    return wide;
}

static Expr *widen_load(Widen *w, Expr *e)
{
    Expr *const *index = widen_all(w, e->u.load.index, e->u.load.buffer->rank);
    const AxisAccess *axes = widen_axes(w, e->u.load.axes);
    if (!index && axes == e->u.load.axes)
        return e;
    Expr *load = expr_load_like(w->c, e, e->u.load.buffer, index ? index : e->u.load.index);
    load->u.load.axes = axes;
    return load;
}

/* `e` with its index arithmetic widened. An INDEX comes back as INDEX, or as I64 where its value does not fit. */
static Expr *widen(Widen *w, Expr *e)
{
    Expr *a, **all;
    switch (e->kind) {
    case EX_FLOAT:
    case EX_AXIS:
        return e;
    case EX_INT:
        return e->type == DT_INDEX && !fits(w, e) ? to_i64(w, e) : e;
    case EX_VAR:
        for (int i = 0; i < w->wide.n; i++)
            if (w->wide.items[i].var == e->u.var)
                return w->wide.items[i].value;
        return e;
    case EX_LOAD:
        return widen_load(w, e);
    case EX_CALL:
        all = widen_all(w, e->u.call.arg, call_info(e->u.call.call)->arity);
        return all ? expr_call(w->c, e->u.call.call, all, e->span) : e;
    case EX_SELECT:
        return widen_select(w, e);
    case EX_CAST:
        a = widen(w, e->u.arg[0]);
        return a == e->u.arg[0] ? e : a->type == e->type ? a : expr_cast(w->c, e->type, a, e->span);
    case EX_NEG:
    case EX_NOT:
    case EX_BITNOT:
        a = widen(w, e->u.arg[0]);
        return a == e->u.arg[0] ? e : expr_unary(w->c, e->kind, a, e->span);
    default:
        return widen_binary(w, e);
    }
}

/* ---- statements ------------------------------------------------------------------------------------ */

static Stmt *widen_stmt(void *user, Stmt *s);

/* What a name stands for is known below it: its range, and that it is i64. */
static Var *define(Widen *w, Var *var, DType type)
{
    if (type == var->type)
        return var;
    Var *wide = var_new(w->c, var->name, type, var->kind, var->span);
    Subst to = {var, expr_var(w->c, wide, var->span)};
    VEC_PUSH(w->c->arena, &w->wide, to);
    return wide;
}

static Stmt *widen_let(Widen *w, Stmt *s)
{
    int64_t min, max;
    Expr *value = widen(w, s->u.let.value);
    if (s->u.let.value->type == DT_INDEX && bounds_const(w->facts, s->u.let.value, &min, &max) &&
        max < INT64_MAX)
        facts_range(w->facts, s->u.let.var, expr_index(w->c, min), expr_index(w->c, max + 1));
    if (value == s->u.let.value)
        return s;
    Var *var = define(w, s->u.let.var, value->type);
    return stmt_stamp(stmt_let(w->c, var, value, s->span), s);
}

static Stmt *widen_loop(Widen *w, Stmt *s)
{
    ForStmt loop = s->u.loop;
    FactsMark mark = facts_mark(w->facts);
    loop.lo = widen(w, loop.lo);
    loop.hi = widen(w, loop.hi);
    if (loop.lo->type != loop.hi->type) {
        loop.lo = to_i64(w, loop.lo);
        loop.hi = to_i64(w, loop.hi);
    }
    loop.var = define(w, loop.var, loop.lo->type);
    facts_enter(w->facts, s);
    loop.body = widen_stmt(w, s->u.loop.body);
    facts_reset(w->facts, mark);
    bool same = loop.lo == s->u.loop.lo && loop.hi == s->u.loop.hi && loop.body == s->u.loop.body;
    return same ? s : stmt_stamp(stmt_for(w->c, &loop, s->span), s);
}

static Stmt *widen_store(Widen *w, Stmt *s)
{
    Buffer *b = s->u.store.buffer;
    Expr **index = widen_all(w, s->u.store.index, b->rank), *value = widen(w, s->u.store.value);
    const AxisAccess *axes = widen_axes(w, s->u.store.axes);
    if (!index && value == s->u.store.value && axes == s->u.store.axes)
        return s;
    Stmt *store = stmt_store_like(w->c, s, b, index ? index : s->u.store.index, value);
    store->u.store.axes = axes;
    return store;
}

static Stmt *widen_if(Widen *w, Stmt *s)
{
    FactsMark mark = facts_mark(w->facts);
    Expr *cond = widen(w, s->u.cond.cond);
    facts_enter(w->facts, s);
    Stmt *then = widen_stmt(w, s->u.cond.then), *otherwise = s->u.cond.otherwise;
    facts_reset(w->facts, mark);
    if (otherwise)
        otherwise = widen_stmt(w, otherwise);
    if (cond == s->u.cond.cond && then == s->u.cond.then && otherwise == s->u.cond.otherwise)
        return s;
    return stmt_stamp(stmt_if(w->c, cond, then, otherwise, s->span), s);
}

static Stmt *widen_stmt(void *user, Stmt *s)
{
    Widen *w = user;
    FactsMark mark = facts_mark(w->facts);
    switch (s->kind) {
    case ST_FOR:
        return widen_loop(w, s);
    case ST_IF:
        return widen_if(w, s);
    case ST_LET:
        return widen_let(w, s);
    case ST_STORE:
        return widen_store(w, s);
    case ST_LAUNCH:
        facts_enter(w->facts, s);
        break;
    case ST_SEQ:
    case ST_TEMP:
    case ST_BARRIER:
    case ST_BLOCK:
        break;
    }
    Stmt *done = stmt_map_children(w->c, s, widen_stmt, w);
    facts_reset(w->facts, mark);
    return done;
}

Kernel *pass_widen(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Widen w = {.c = c, .facts = facts_of_kernel(c, kernel)};
    return kernel_with_body(c, kernel, widen_stmt(&w, kernel->body));
}
