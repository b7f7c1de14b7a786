/* value.c - Gives the values of a program, its `let`s, to the blocks that use them.
 *
 *     for b in B, d in D {                    for b in B, d in D
 *         let row = id[b];                        block y(b in B = b, d in D = d) {
 *         y[b, d] = table[row, d];       =>           let row = id[b];
 *     }                                               y[b, d] = table[row, d];
 *                                                 }
 *
 * A value of loops and sizes alone is written out where it is used, so that loops, conditions and
 * proofs see it. Any other value is computed by each block that uses it, when the block begins.
 * That is what the program says as long as nothing in between writes a buffer that the value
 * reads. Where something does, the value is kept in a temporary, and the kernel is resolved again:
 *
 *     let old = x[i];                         temp old: f32;
 *     x[i] = y[i];                   =>       old = x[i];
 *     y[i] = old;                             x[i] = y[i];
 *                                             y[i] = old;
 */
#include "frontend/resolve/internal.h"

/* A value of more nodes is not written out: values of values grow exponentially. */
enum { MOST_NODES = 1000 };

typedef VEC(int) ValueSet;

/* ---- the values that an expression uses ---- */

/* The number of the value that `var` names; -1: it is none of the program's. */
static int value_of_var(const Resolver *r, const Var *var)
{
    int lo = 0, hi = r->values.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (r->values.items[mid].var->id < var->id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->values.n && r->values.items[lo].var == var ? lo : -1;
}

static int value_of_expr(const Resolver *r, const Expr *e)
{
    return e->kind == EX_VAR && e->u.var->kind == VAR_LET ? value_of_var(r, e->u.var) : -1;
}

static void add_value(Resolver *r, ValueSet *set, int value)
{
    for (int i = 0; i < set->n; i++)
        if (set->items[i] == value)
            return;
    VEC_PUSH(r->ctx->arena, set, value);
}

static void collect(Resolver *r, Cursor at, ValueSet *set)
{
    while (cursor_next(&at)) {
        int value = at.expr ? value_of_expr(r, at.expr) : -1;
        if (value >= 0)
            add_value(r, set, value);
    }
}

/* With the values that these values use, in the order of their declarations. */
static ValueSet values_used(Resolver *r, Cursor at)
{
    ValueSet set = {0};
    collect(r, at, &set);
    for (int i = 0; i < set.n; i++)
        collect(r, cursor_expr(r->ctx, r->values.items[set.items[i]].value), &set);
    for (int i = 1; i < set.n; i++)
        for (int k = i; k > 0 && set.items[k - 1] > set.items[k]; k--) {
            int later = set.items[k - 1];
            set.items[k - 1] = set.items[k];
            set.items[k] = later;
        }
    return set;
}

/* ---- declarations ---- */

/* The number of nodes with all values written out, or a number above MOST_NODES. */
static int count_nodes(const Resolver *r, const Expr *e)
{
    int value = value_of_expr(r, e), nodes = value < 0 ? 1 : r->values.items[value].nodes;
    for (int k = 0; k < expr_operands(e) && nodes <= MOST_NODES; k++)
        nodes += count_nodes(r, expr_operand(e, k));
    return nodes;
}

void value_declare(Resolver *r, const AstStmt *let, Var *var, Expr *value)
{
    ProgramValue own = {.let = let,
                        .var = var,
                        .value = value,
                        .span = var->span,
                        .nodes = count_nodes(r, value),
                        .loops = r->loops.n,
                        .written = r->written.n,
                        .reads = value_reads_data(r, value),
                        .inlined = value_is_inline(value)};
    VEC_PUSH(r->ctx->arena, &r->values, own);
}

bool value_is_of_uses(const AstStmt *s)
{
    return s->kind == AS_LET && !s->u.let.stored;
}

/* ---- uses ---- */

bool value_named(Resolver *r, const Var *var, Value *out)
{
    int value = var->kind == VAR_LET ? value_of_var(r, var) : -1;
    if (value < 0 || !r->values.items[value].inlined)
        return false;
    Expr *e = r->values.items[value].value;
    *out = (Value){.e = e, .literal = e->kind == EX_INT && e->type == DT_INDEX};
    return true;
}

bool value_reads_data(Resolver *r, const Expr *e)
{
    if (expr_has_load(e))
        return true;
    for (Cursor at = cursor_expr(r->ctx, e); cursor_next(&at);) {
        int value = value_of_expr(r, at.expr);
        if (value >= 0 &&
            (r->values.items[value].reads || r->values.items[value].nodes > MOST_NODES))
            return true;
    }
    return false;
}

static Expr *write_out(Rewriter *w, Expr *e)
{
    Resolver *r = w->user;
    int value = value_of_expr(r, e);
    return value < 0 ? e : rewrite_expr(w, r->values.items[value].value);
}

Expr *value_in_control(Resolver *r, Expr *e)
{
    if (!e || r->mode != MODE_PROGRAM || value_reads_data(r, e))
        return e;
    return rewrite_expr(&(Rewriter){r->ctx, r, write_out, NULL}, e);
}

Expr *value_in_range(Resolver *r, Expr *e)
{
    if (!e || r->mode != MODE_PROGRAM || count_nodes(r, e) > MOST_NODES)
        return e;
    Expr *whole = rewrite_expr(&(Rewriter){r->ctx, r, write_out, NULL}, e);
    return expr_loads_change(whole) ? e : whole;
}

bool value_uses_buffer(Resolver *r, const Expr *e, const Buffer *buffer)
{
    bool reads = expr_reads(e, buffer);
    ValueSet set = values_used(r, cursor_expr(r->ctx, e));
    for (int i = 0; i < set.n && !reads; i++)
        reads = expr_reads(r->values.items[set.items[i]].value, buffer);
    return reads;
}

Stmt *values_bind(Resolver *r, Stmt *body)
{
    Context *c = r->ctx;
    ValueSet set = values_used(r, cursor_stmt(c, body));
    if (set.n == 0)
        return body;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, set.n + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, set.n);
    for (int i = 0; i < set.n; i++) {
        const ProgramValue *v = &r->values.items[set.items[i]];
        Var *own = var_new(c, v->var->name, v->var->type, VAR_LET, v->span);
        items[i] = stmt_let(c, own, expr_subst(c, v->value, map, i), v->span);
        map[i] = (Subst){v->var, expr_var(c, own, v->span)};
    }
    items[set.n] = stmt_subst(c, body, map, set.n);
    return stmt_seq(c, items, set.n + 1, body->span);
}

Stmt *values_write_out(Resolver *r, Stmt *init)
{
    int nodes = 0;
    for (Cursor at = cursor_stmt(r->ctx, init); cursor_next(&at) && nodes <= MOST_NODES;) {
        int value = at.expr ? value_of_expr(r, at.expr) : -1;
        nodes += value < 0 ? 1 : r->values.items[value].nodes;
    }
    Rewriter w = {r->ctx, r, write_out, NULL};
    return nodes > MOST_NODES ? values_bind(r, init) : rewrite_stmt(&w, init);
}

/* ---- a value is that of its `let` ---- */

/* A value of loops has no type that a buffer can have. */
static void refuse_changed(Resolver *r, const ProgramValue *v, const Buffer *buffer, Span use)
{
    diag_error(r->ctx, E0242, use,
               "'%.60s' reads '%.60s', which is written between the 'let' and this use, and has no "
               "type that it could be stored as; write one: let %.60s: i32 = ...;",
               v->var->name, buffer->name, v->var->name);
    diag_note(r->ctx, v->span, "'%.60s' is declared here", v->var->name);
}

/* Marks a value to be stored if a write from its `let` up to number `end` is of a buffer that it
 * reads. */
static void check_unchanged(Resolver *r, ProgramValue *v, Span use, int end)
{
    for (int k = v->written; k < end && !v->changed; k++) {
        if (!expr_reads(v->value, r->written.items[k]))
            continue;
        v->changed = true;
        if (v->var->type == DT_INDEX) {
            refuse_changed(r, v, r->written.items[k], use);
            return;
        }
        ((AstStmt *)(uintptr_t)v->let)->u.let.stored = true;
        r->stores_values = true;
    }
}

void values_check(Resolver *r, const Stmt *s)
{
    ValueSet set = values_used(r, cursor_stmt(r->ctx, s));
    int own = 0;
    for (Cursor at = cursor_stmts(r->ctx, s); set.n > 0 && cursor_next(&at);)
        own += at.stmt->kind == ST_STORE;
    for (int i = 0; i < set.n; i++) {
        check_unchanged(r, &r->values.items[set.items[i]], s->span, r->written.n - own);
        VEC_PUSH(r->ctx->arena, &r->uses, ((ValueUse){set.items[i], s->span}));
    }
}

void values_check_loop(Resolver *r, int loops, int first_use)
{
    for (int i = first_use; i < r->uses.n; i++) {
        ProgramValue *v = &r->values.items[r->uses.items[i].value];
        if (v->loops == loops)
            check_unchanged(r, v, r->uses.items[i].span, r->written.n);
    }
}
