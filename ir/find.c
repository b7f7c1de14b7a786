/* find.c - Searches trees: what a tree uses, which statements it contains, what encloses a node. */
#include <math.h>

#include "ir/instruction.h"

int expr_division_levels(const Expr *e)
{
    int deepest = 0, n = expr_operands(e);
    for (int k = 0; k < n; k++) {
        int levels = expr_division_levels(expr_operand(e, k));
        deepest = levels > deepest ? levels : deepest;
    }
    return deepest + ((e->kind == EX_DIV || e->kind == EX_MOD) && e->type == DT_INDEX);
}

StmtList enclosing_loops(Context *c, const EnclosingList *path)
{
    StmtList loops = {0};
    for (int i = 0; i < path->n; i++)
        if (path->items[i].stmt->kind == ST_FOR)
            VEC_PUSH(c->arena, &loops, (Stmt *)path->items[i].stmt);
    return loops;
}

ExprList enclosing_conds(Context *c, const EnclosingList *path)
{
    ExprList conds = {0};
    for (int i = 0; i < path->n; i++) {
        const Stmt *s = path->items[i].stmt;
        if (s->kind == ST_IF)
            VEC_PUSH(c->arena, &conds,
                     path->items[i].otherwise ? expr_unary(c, EX_NOT, s->u.cond.cond, s->span)
                                              : s->u.cond.cond);
    }
    return conds;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool expr_uses_var(const Expr *e, const Var *var)
{
    if (e->kind == EX_VAR)
        return e->u.var == var;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (expr_uses_var(expr_operand(e, k), var))
            return true;
    return false;
}

bool stmt_uses_var(Context *c, const Stmt *s, const Var *var)
{
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);)
        if (at.expr && expr_is_var(at.expr, var))
            return true;
    return false;
}

bool stmt_head_uses_var(const Stmt *s, const Var *var)
{
    int n = stmt_operands(s);
    for (int k = 0; k < n; k++)
        if (expr_uses_var(stmt_operand(s, k), var))
            return true;
    return false;
}

bool loop_uses_var(const ForStmt *loop, const Var *var)
{
    return expr_uses_var(loop->lo, var) || expr_uses_var(loop->hi, var);
}

bool iter_uses_var(const BlockIter *iter, const Var *var)
{
    return expr_uses_var(iter->lo, var) || expr_uses_var(iter->hi, var);
}

bool expr_has_load(const Expr *e)
{
    if (e->kind == EX_LOAD)
        return true;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (expr_has_load(expr_operand(e, k)))
            return true;
    return false;
}

static void add_conditions(Context *c, Expr *cond, bool reads, ExprList *out)
{
    if (cond->kind == EX_AND) {
        add_conditions(c, cond->u.arg[0], reads, out);
        add_conditions(c, cond->u.arg[1], reads, out);
    } else if (expr_has_load(cond) == reads) {
        VEC_PUSH(c->arena, out, cond);
    }
}

int block_conditions(Context *c, const BlockStmt *block, ExprList *out)
{
    int plain = 0;
    for (int reads = 0; reads < 2 && block->predicate; reads++) {
        plain = out->n;
        add_conditions(c, block->predicate, reads, out);
    }
    return plain;
}

bool expr_loads_change(const Expr *e)
{
    if (e->kind == EX_LOAD && buffer_defined(e->u.load.buffer)->role != ROLE_IN)
        return true;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (expr_loads_change(expr_operand(e, k)))
            return true;
    return false;
}

bool cursor_meets(Cursor at, const Buffer *buffer)
{
    while (cursor_next(&at)) {
        bool loads = at.expr && at.expr->kind == EX_LOAD && at.expr->u.load.buffer == buffer;
        bool stores = at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.buffer == buffer;
        bool waits = at.stmt && at.stmt->kind == ST_BARRIER && at.stmt->u.barrier.of;
        if (loads || stores || waits)
            return true;
    }
    return false;
}

bool expr_reads(const Expr *e, const Buffer *buffer)
{
    if (expr_is_load(e, buffer))
        return true;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (expr_reads(expr_operand(e, k), buffer))
            return true;
    return false;
}

bool expr_of_sizes(const Expr *e)
{
    if (e->kind == EX_VAR)
        return e->u.var->kind == VAR_SIZE;
    bool ok = e->kind == EX_INT || expr_is_unary(e->kind) || expr_is_binary(e->kind);
    for (int i = 0; i < expr_arity(e->kind); i++)
        ok = ok && expr_of_sizes(e->u.arg[i]);
    return ok;
}

bool expr_awaits(const Expr *e)
{
    return e->kind == EX_CALL && e->u.call.call == CALL_AWAIT;
}

bool stmt_awaits(Context *c, const Stmt *s, const Buffer *buffer)
{
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);)
        if (at.expr && expr_awaits(at.expr) &&
            (!buffer || at.expr->u.call.arg[0]->u.load.buffer->id == buffer->id))
            return true;
    return false;
}

const Var *expr_loop_var(Context *c, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);)
        if (at.expr->kind == EX_VAR && at.expr->u.var->kind == VAR_LOOP)
            return at.expr->u.var;
    return NULL;
}

bool expr_is_zero(const Expr *e)
{
    return (e->kind == EX_FLOAT && e->u.f == 0 && !signbit(e->u.f)) ||
           (e->kind == EX_INT && e->u.i == 0);
}

const Expr *expr_copied_or(const Expr *value, Expr **where)
{
    *where = NULL;
    if (value->kind == EX_SELECT &&
        (value->u.arg[2]->kind == EX_FLOAT || value->u.arg[2]->kind == EX_INT)) {
        *where = value->u.arg[0];
        value = value->u.arg[1];
    }
    return value->kind == EX_LOAD ? value : NULL;
}

const Expr *expr_copied(const Expr *value, Expr **where)
{
    const Expr *load = expr_copied_or(value, where);
    return !*where || expr_is_zero(value->u.arg[2]) ? load : NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

StmtList stmts_of_kind(Context *c, const Stmt *root, StmtKind kind)
{
    StmtList found = {0};
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);)
        if (at.stmt->kind == kind)
            VEC_PUSH(c->arena, &found, at.stmt);
    return found;
}

static bool declares(Cursor at, const Buffer *buffer)
{
    while (cursor_next(&at))
        if (at.stmt->kind == ST_TEMP && at.stmt->u.temp->id == buffer->id)
            return true;
    return false;
}

bool stmt_declares(Context *c, const Stmt *s, const Buffer *buffer)
{
    return declares(cursor_outer(c, s), buffer);
}

bool stmt_declares_inside(Context *c, const Stmt *s, const Buffer *buffer)
{
    return declares(cursor_stmts(c, s), buffer);
}

StmtList blocks_that(Context *c, const Stmt *root, BlockTest *is)
{
    StmtList found = {0};
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && is(&at.stmt->u.block))
            VEC_PUSH(c->arena, &found, at.stmt);
    return found;
}

bool stmt_is_marked(const Stmt *s, AnnotationKey key)
{
    return s->kind == ST_FOR && annotation_find(s->u.loop.annotations, key);
}

StmtList loops_marked(Context *c, const Stmt *root, AnnotationKey key)
{
    StmtList found = {0};
    for (Cursor at = cursor_outer(c, root); cursor_next(&at);)
        if (stmt_is_marked(at.stmt, key))
            VEC_PUSH(c->arena, &found, at.stmt);
    return found;
}

Stmt *block_with_init(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && at.stmt->u.block.init)
            return at.stmt;
    return NULL;
}

Stmt *stmt_bound_loop(Context *c, const Stmt *s)
{
    for (Cursor at = cursor_outer(c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.kind == LOOP_BIND)
            return at.stmt;
    return NULL;
}

const Stmt *stmt_single_store(const Stmt *s)
{
    while (s && s->kind == ST_SEQ && s->u.seq.n == 1)
        s = s->u.seq.items[0];
    return s && s->kind == ST_STORE ? s : NULL;
}

int stmt_lets(const Stmt *body)
{
    return body->kind == ST_SEQ && !body->u.seq.combiner && body->u.seq.n > 0 ? body->u.seq.n - 1
                                                                              : 0;
}

const Stmt *stmt_behind_values(const Stmt *s)
{
    if (!s || s->kind != ST_SEQ || s->u.seq.combiner)
        return s;
    for (int i = 0; i < s->u.seq.n - 1; i++)
        if (s->u.seq.items[i]->kind != ST_LET)
            return NULL;
    return s->u.seq.n > 0 ? s->u.seq.items[s->u.seq.n - 1] : NULL;
}

const Stmt *stmt_valued_store(const Stmt *s)
{
    return stmt_single_store(stmt_behind_values(s));
}

const Stmt *stmt_valued_update(const Stmt *s)
{
    s = stmt_behind_values(s);
    bool update = s && (s->kind == ST_SEQ ? s->u.seq.combiner != NULL
                                          : s->kind == ST_STORE && s->u.store.op != STORE_SET);
    return update ? s : NULL;
}

const Stmt *stmt_guarded_update(const Stmt *s)
{
    s = stmt_behind_values(s);
    while (s && s->kind == ST_IF && !s->u.cond.otherwise)
        s = stmt_behind_values(s->u.cond.then);
    return stmt_valued_update(s);
}

int expr_nodes(const Expr *e, int most)
{
    int nodes = 1, n = expr_operands(e);
    for (int k = 0; k < n && nodes <= most; k++)
        nodes += expr_nodes(expr_operand(e, k), most - nodes);
    return nodes;
}

static bool store_is_short(const Stmt *store)
{
    enum { MOST_NODES = 2000 };
    for (int k = 0; k < stmt_operands(store); k++)
        if (expr_nodes(stmt_operand(store, k), MOST_NODES) > MOST_NODES)
            return false;
    return true;
}

const Stmt *stmt_written_out(Context *c, const Stmt *s)
{
    const Stmt *store = stmt_valued_store(s);
    if (!store || s->kind != ST_SEQ)
        return store;
    for (int k = s->u.seq.n - 2; store && k >= 0; k--) {
        const Stmt *let = s->u.seq.items[k];
        Subst value = {let->u.let.var, let->u.let.value};
        store = stmt_subst(c, (Stmt *)store, &value, 1);
        store = store_is_short(store) ? store : NULL;
    }
    return store;
}

Stmt *stmt_behind_lets(Context *c, const Stmt *body, Stmt *store)
{
    int n = stmt_lets(body) + 1;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, n);
    for (int k = 0; k < n - 1; k++)
        items[k] = body->u.seq.items[k];
    items[n - 1] = store;
    return stmt_seq(c, items, n, body->span);
}

Stmt *stmt_nest_block(Stmt *nest)
{
    while (nest->kind != ST_BLOCK)
        nest = nest->kind == ST_FOR ? nest->u.loop.body : nest->u.cond.then;
    return nest;
}

const Var *expr_loop_outside(Context *c, const Expr *e, const StmtPath *path)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        bool on_path = at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LOOP;
        for (int i = 0; i < path->n && !on_path; i++)
            on_path =
                path->items[i]->kind == ST_FOR && path->items[i]->u.loop.var == at.expr->u.var;
        if (!on_path)
            return at.expr->u.var;
    }
    return NULL;
}

Stmt *path_end(const StmtPath *path)
{
    return path->items[path->n - 1];
}

Stmt *stmt_find(Context *c, Stmt *root, uint32_t id, StmtPath *path)
{
    if (path)
        path->n = 0;
    for (Cursor at = cursor_stmts(c, root); cursor_next(&at);)
        if ((at.stmt->kind == ST_FOR && at.stmt->u.loop.id == id) ||
            (at.stmt->kind == ST_BLOCK && at.stmt->u.block.id == id)) {
            if (path)
                cursor_way(&at, path);
            return at.stmt;
        }
    return NULL;
}

StmtPath stmt_path_to(Context *c, Stmt *root, const Stmt *node)
{
    StmtPath path = {0};
    for (Cursor at = cursor_stmts(c, root); path.n == 0 && cursor_next(&at);)
        if (at.stmt == node)
            cursor_way(&at, &path);
    return path;
}

bool stmt_enclosing(Context *c, Stmt *root, const Stmt *node, EnclosingList *around)
{
    for (Cursor at = cursor_with_path(cursor_stmts(c, root), around); cursor_next(&at);)
        if (at.stmt == node) {
            *around = at.path;
            return true;
        }
    return false;
}
