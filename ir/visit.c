/* visit.c - going through trees: visitors, walks, searches, paths.  What rebuilds is rewrite.c's.
 *
 * The order is that of the text: outer first; of a block its iterators, its predicate, init,
 * body. */
#include <math.h>

#include "ir/ir.h"

/* ---- visiting -------------------------------------------------------------------------------- */

int expr_division_levels(const Expr *e)
{
    int deepest = 0, n = expr_operands(e);
    for (int k = 0; k < n; k++) {
        int levels = expr_division_levels(expr_operand(e, k));
        deepest = levels > deepest ? levels : deepest;
    }
    return deepest + ((e->kind == EX_DIV || e->kind == EX_MOD) && e->type == DT_INDEX);
}

static void visit_exprs(Visitor *v, Expr *const *items, int n)
{
    for (int i = 0; i < n; i++)
        visit_expr(v, items[i]);
}

void visit_expr(Visitor *v, Expr *e)
{
    if (!v->expr || !v->expr(v, e))
        return;
    int n = expr_operands(e);
    for (int i = 0; i < n; i++)
        visit_expr(v, expr_operand(e, i));
}

static void visit_block(Visitor *v, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++) {
        visit_expr(v, block->iters[i].lo);
        visit_expr(v, block->iters[i].hi);
        visit_expr(v, block->iters[i].binding);
    }
    if (block->predicate)
        visit_expr(v, block->predicate);
    if (block->init)
        visit_stmt(v, block->init);
    visit_stmt(v, block->body);
}

void visit_stmt(Visitor *v, Stmt *s)
{
    if (v->stmt && !v->stmt(v, s))
        return;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            visit_stmt(v, s->u.seq.items[i]);
        return;
    case ST_FOR:
        visit_expr(v, s->u.loop.lo);
        visit_expr(v, s->u.loop.hi);
        visit_stmt(v, s->u.loop.body);
        return;
    case ST_IF:
        visit_expr(v, s->u.cond.cond);
        visit_stmt(v, s->u.cond.then);
        if (s->u.cond.otherwise)
            visit_stmt(v, s->u.cond.otherwise);
        return;
    case ST_BLOCK: visit_block(v, &s->u.block); return;
    case ST_STORE:
        visit_exprs(v, s->u.store.index, s->u.store.buffer->rank);
        visit_expr(v, s->u.store.value);
        return;
    case ST_LET: visit_expr(v, s->u.let.value); return;
    case ST_LAUNCH:
        visit_exprs(v, s->u.launch.grid, 3);
        visit_stmt(v, s->u.launch.body);
        return;
    case ST_TEMP:
    case ST_BARRIER: return;
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

static void walk_branch(Walker *w, const Stmt *s, Branch branch_of, Stmt *branch)
{
    VEC_PUSH(w->ctx->arena, &w->path, ((Enclosing){s, branch_of == BRANCH_ELSE}));
    walk_stmt(w, branch);
    w->path.n--;
}

static void walk_items(Walker *w, const Stmt *s)
{
    int depth = w->path.n;
    for (int i = 0; i < s->u.seq.n; i++) {
        walk_stmt(w, s->u.seq.items[i]);
        if (s->u.seq.items[i]->kind == ST_LET)
            VEC_PUSH(w->ctx->arena, &w->path, ((Enclosing){s->u.seq.items[i], false}));
    }
    w->path.n = depth;
}

void walk_stmt(Walker *w, Stmt *s)
{
    if (!w->stmt(w, s))
        return;
    switch (s->kind) {
    case ST_SEQ: walk_items(w, s); return;
    case ST_FOR: walk_branch(w, s, BRANCH_THEN, s->u.loop.body); return;
    case ST_IF:
        walk_branch(w, s, BRANCH_THEN, s->u.cond.then);
        if (s->u.cond.otherwise)
            walk_branch(w, s, BRANCH_ELSE, s->u.cond.otherwise);
        return;
    case ST_LAUNCH: walk_branch(w, s, BRANCH_THEN, s->u.launch.body); return;
    case ST_BLOCK:
    case ST_STORE:
    case ST_LET:
    case ST_TEMP:
    case ST_BARRIER: return;
    }
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
        if (at.expr && at.expr->kind == EX_VAR && at.expr->u.var == var)
            return true;
    return false;
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

bool expr_reads(const Expr *e, const Buffer *buffer)
{
    if (e->kind == EX_LOAD && e->u.load.buffer->id == buffer->id)
        return true;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (expr_reads(expr_operand(e, k), buffer))
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

static bool is_zero(const Expr *e)
{
    return (e->kind == EX_FLOAT && e->u.f == 0 && !signbit(e->u.f)) ||
           (e->kind == EX_INT && e->u.i == 0);
}

const Expr *expr_copied(const Expr *value, Expr **where)
{
    *where = NULL;
    if (value->kind == EX_SELECT && is_zero(value->u.arg[2])) {
        *where = value->u.arg[0];
        value = value->u.arg[1];
    }
    return value->kind == EX_LOAD ? value : NULL;
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

Stmt *stmt_nest_block(Stmt *nest)
{
    while (nest->kind != ST_BLOCK)
        nest = nest->kind == ST_FOR ? nest->u.loop.body : nest->u.cond.then;
    return nest;
}

/* What a path leads to: a node, or the loop or block with an id. */
typedef struct {
    const Stmt *node;
    uint32_t id;
} Target;

static bool is_target(const Stmt *s, Target target)
{
    return s == target.node || (s->kind == ST_FOR && s->u.loop.id == target.id) ||
           (s->kind == ST_BLOCK && s->u.block.id == target.id);
}

static bool find_below(Context *c, Stmt *s, Target target, StmtPath *path)
{
    VEC_PUSH(c->arena, path, s);
    if (is_target(s, target))
        return true;
    bool found = false;
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n && !found; i++)
            found = find_below(c, s->u.seq.items[i], target, path);
        break;
    case ST_FOR: found = find_below(c, s->u.loop.body, target, path); break;
    case ST_IF:
        found = find_below(c, s->u.cond.then, target, path) ||
                (s->u.cond.otherwise && find_below(c, s->u.cond.otherwise, target, path));
        break;
    case ST_BLOCK:
        found = (s->u.block.init && find_below(c, s->u.block.init, target, path)) ||
                find_below(c, s->u.block.body, target, path);
        break;
    case ST_LAUNCH: found = find_below(c, s->u.launch.body, target, path); break;
    case ST_STORE:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER: break;
    }
    if (!found)
        path->n--;
    return found;
}

bool stmt_find(Context *c, Stmt *root, uint32_t id, StmtPath *path)
{
    path->n = 0;
    return find_below(c, root, (Target){.id = id}, path);
}

bool stmt_path_to(Context *c, Stmt *root, const Stmt *node, StmtPath *path)
{
    path->n = 0;
    return find_below(c, root, (Target){.node = node}, path);
}

bool stmt_enclosing(Context *c, Stmt *root, const Stmt *node, EnclosingList *around)
{
    StmtPath path = {0};
    if (!stmt_path_to(c, root, node, &path))
        return false;
    for (int i = 0; i + 1 < path.n; i++) {
        const Stmt *s = path.items[i], *next = path.items[i + 1];
        if (s->kind != ST_SEQ)
            VEC_PUSH(c->arena, around,
                     ((Enclosing){s, s->kind == ST_IF && next != s->u.cond.then}));
        for (int k = 0; s->kind == ST_SEQ && s->u.seq.items[k] != next; k++)
            if (s->u.seq.items[k]->kind == ST_LET)
                VEC_PUSH(c->arena, around, ((Enclosing){s->u.seq.items[k], false}));
    }
    return true;
}
