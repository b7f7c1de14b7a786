/* ast.c - Builds the syntax tree and limits its depth.
 *
 * Every builder computes the depth of its node from its children's.  Whoever walks the tree
 * recurses, so a deeper tree than AST_MAX_DEPTH is refused here, once, and the rest of the text is
 * not read; the node then stands without its children. */
#include <string.h>

#include "frontend/syntax/internal.h"

const AstUpdateInfo *ast_update_info(AstUpdate update)
{
    static const AstUpdateInfo table[] = {
#define UPDATE(e, token, op, takes) {token, STORE_##op, TAKES_##takes},
#include "frontend/syntax/update.def"
#undef UPDATE
    };
    return &table[update];
}

AstUpdate ast_update_find(const char *token)
{
    AstUpdate update = 0;
    while (update < UPDATE_COUNT && strcmp(ast_update_info(update)->token, token) != 0)
        update++;
    return update;
}

void parse_too_deep(Parser *p, Span span)
{
    if (!p->gave_up)
        diag_error(
            p->ctx, E0109, span,
            "expressions and statements are nested too deeply; the limit is about %d levels of "
            "brackets, operators and bodies; store parts in buffers, or split the statement",
            AST_MAX_DEPTH);
    p->gave_up = true;
}

/* Sets the depth; false when the node must not have its children. */
static bool fits(Parser *p, int *depth, int child_depth, Span span)
{
    *depth = child_depth + 1;
    if (*depth <= AST_MAX_DEPTH)
        return true;
    parse_too_deep(p, span);
    *depth = 1;
    return false;
}

static int max2(int a, int b)
{
    return a > b ? a : b;
}

static int depth_of(const AstExpr *e)
{
    return e ? e->depth : 0;
}

static int depth_of_list(const AstExprList *list)
{
    int depth = 0;
    for (int i = 0; i < list->n; i++)
        depth = max2(depth, list->items[i]->depth);
    return depth;
}

/* ---- expressions ---- */

AstExpr *ast_expr(Parser *p, AstExprKind kind, Span span)
{
    AstExpr *e = ARENA_NEW(p->ctx->arena, AstExpr);
    e->kind = kind;
    e->span = span;
    e->depth = 1;
    return e;
}

/* A node above children of the given depth; a number in its place when that is too deep. */
static AstExpr *above(Parser *p, AstExprKind kind, int child_depth, Span span)
{
    AstExpr *e = ast_expr(p, kind, span);
    if (!fits(p, &e->depth, child_depth, span))
        e->kind = AE_INT;
    return e;
}

AstExpr *ast_unary(Parser *p, ExprKind op, AstExpr *a, Span span)
{
    AstExpr *e = above(p, AE_UNARY, a->depth, span);
    if (e->kind == AE_UNARY) {
        e->u.op.op = op;
        e->u.op.a = a;
    }
    return e;
}

AstExpr *ast_binary(Parser *p, ExprKind op, AstExpr *a, AstExpr *b, Span span)
{
    AstExpr *e = above(p, AE_BINARY, max2(a->depth, b->depth), span);
    if (e->kind == AE_BINARY) {
        e->u.op.op = op;
        e->u.op.a = a;
        e->u.op.b = b;
    }
    return e;
}

AstExpr *ast_select(Parser *p, AstExpr *cond, AstExpr *a, AstExpr *b, Span span)
{
    AstExpr *e = above(p, AE_SELECT, max2(cond->depth, max2(a->depth, b->depth)), span);
    if (e->kind == AE_SELECT) {
        e->u.select.cond = cond;
        e->u.select.a = a;
        e->u.select.b = b;
    }
    return e;
}

static AstExpr *items_of(Parser *p, AstExprKind kind, AstExprList items, Span span)
{
    AstExpr *e = above(p, kind, depth_of_list(&items), span);
    if (e->kind == kind) {
        e->u.list.items = items.items;
        e->u.list.n = items.n;
    }
    return e;
}

AstExpr *ast_list(Parser *p, AstExprList items, Span span)
{
    return items_of(p, AE_LIST, items, span);
}

AstExpr *ast_tuple(Parser *p, AstExprList items, Span span)
{
    return items_of(p, AE_TUPLE, items, span);
}

AstExprList ast_prepend(Parser *p, AstExpr *first, AstExprList items)
{
    AstExprList all = {0};
    VEC_PUSH(p->ctx->arena, &all, first);
    VEC_APPEND(p->ctx->arena, &all, items.items, items.n);
    return all;
}

/* AE_RANGE, AE_MAP or AE_SLICE. */
AstExpr *ast_pair(Parser *p, AstExprKind kind, AstExpr *lo, AstExpr *hi, Span span)
{
    AstExpr *e = above(p, kind, max2(depth_of(lo), depth_of(hi)), span);
    if (e->kind == AE_SLICE) {
        e->u.slice.lo = lo;
        e->u.slice.hi = hi;
    } else if (e->kind == AE_RANGE || e->kind == AE_MAP) {
        e->u.range.lo = lo;
        e->u.range.hi = hi;
    }
    return e;
}

AstExpr *ast_index(Parser *p, AstExpr *base, AstExprList items, Span span)
{
    AstExpr *e = above(p, AE_INDEX, max2(base->depth, depth_of_list(&items)), span);
    if (e->kind == AE_INDEX) {
        e->u.index.base = base;
        e->u.index.items = items.items;
        e->u.index.n = items.n;
    }
    return e;
}

AstExpr *ast_field(Parser *p, AstExpr *base, AstName name, Span span)
{
    AstExpr *e = above(p, AE_FIELD, base->depth, span);
    if (e->kind == AE_FIELD) {
        e->u.field.base = base;
        e->u.field.name = name;
    }
    return e;
}

AstExpr *ast_call(Parser *p, AstName callee, ArgList args, Span span)
{
    int depth = 0;
    for (int i = 0; i < args.n; i++)
        depth = max2(depth, args.items[i].value->depth);
    AstExpr *e = above(p, AE_CALL, depth, span);
    if (e->kind == AE_CALL) {
        e->u.call.callee = callee;
        e->u.call.args = args.items;
        e->u.call.n = args.n;
    }
    return e;
}

/* ---- statements ---- */

int ast_depth(const AstStmt *s)
{
    return s ? s->depth : 0;
}

/* A statement that is too deep keeps its children: the text is refused, so the tree is not
 * traversed. */
AstStmt *ast_stmt(Parser *p, AstStmtKind kind, int child_depth, Span span)
{
    AstStmt *s = ARENA_NEW(p->ctx->arena, AstStmt);
    s->kind = kind;
    s->span = span;
    fits(p, &s->depth, child_depth, span);
    return s;
}

AstStmt *ast_seq(Parser *p, AstStmtList items, Span span)
{
    int depth = 0;
    for (int i = 0; i < items.n; i++)
        depth = max2(depth, items.items[i]->depth);
    AstStmt *s = ast_stmt(p, AS_SEQ, depth, span);
    s->u.seq.items = items.items;
    s->u.seq.n = items.n;
    return s;
}

AstStmt *ast_update(Parser *p, AstExpr *places, AstName reducer, AstExpr *value, Span span)
{
    AstStmt *s = ast_stmt(p, AS_UPDATE, 0, span);
    s->u.update.places = places;
    s->u.update.reducer = reducer;
    s->u.update.value = value;
    return s;
}

AstStmt *ast_conditional(Parser *p, AstStmtKind kind, AstExpr *cond, AstStmt *then, Span span)
{
    AstStmt *s = ast_stmt(p, kind, then->depth, span);
    s->u.cond.cond = cond;
    s->u.cond.then = then;
    return s;
}

AstStmt *ast_if_else(Parser *p, AstExpr *cond, AstStmt *then, AstStmt *otherwise, Span span)
{
    AstStmt *s = ast_stmt(p, AS_IF, max2(then->depth, otherwise->depth), span);
    s->u.cond.cond = cond;
    s->u.cond.then = then;
    s->u.cond.otherwise = otherwise;
    return s;
}

AstStmt *ast_try_else(Parser *p, AstStmt *body, AstStmt *otherwise, Span span)
{
    AstStmt *s = ast_stmt(p, AS_TRY, max2(body->depth, otherwise->depth), span);
    s->u.attempt.body = body;
    s->u.attempt.otherwise = otherwise;
    return s;
}

AstStmt *ast_roles(Parser *p, AstStmt *producer, AstStmt *consumers, Span span)
{
    AstStmt *s = ast_stmt(p, AS_ROLES, max2(producer->depth, consumers->depth), span);
    s->u.roles.producer = producer;
    s->u.roles.consumers = consumers;
    return s;
}

AstStmt *ast_barrier(Parser *p, SyncKind kind, int64_t pending, AstExpr *why, Span span)
{
    AstStmt *s = ast_stmt(p, AS_BARRIER, 0, span);
    s->u.barrier.kind = kind;
    s->u.barrier.pending = pending < 0 || pending > MAX_PENDING ? MAX_PENDING : (int)pending;
    s->u.barrier.why = why;
    return s;
}

/* ---- walking --------------------------------------------------------------------------------- */

int ast_operands(const AstExpr *e)
{
    switch (e->kind) {
    case AE_LIST:
    case AE_TUPLE: return e->u.list.n;
    case AE_INDEX: return 1 + e->u.index.n;
    case AE_CALL: return e->u.call.n;
    case AE_FIELD:
    case AE_UNARY: return 1;
    case AE_RANGE:
    case AE_MAP:
    case AE_SLICE:
    case AE_BINARY: return 2;
    case AE_SELECT: return 3;
    default: return 0;
    }
}

const AstExpr *ast_operand(const AstExpr *e, int i)
{
    switch (e->kind) {
    case AE_LIST:
    case AE_TUPLE: return e->u.list.items[i];
    case AE_INDEX: return i > 0 ? e->u.index.items[i - 1] : e->u.index.base;
    case AE_CALL: return e->u.call.args[i].value;
    case AE_FIELD: return e->u.field.base;
    case AE_RANGE: return i > 0 ? e->u.range.hi : e->u.range.lo;
    case AE_MAP: return i > 0 ? e->u.map.hi : e->u.map.lo;
    case AE_SLICE: return i > 0 ? e->u.slice.hi : e->u.slice.lo;
    case AE_UNARY:
    case AE_BINARY: return i > 0 ? e->u.op.b : e->u.op.a;
    case AE_SELECT: return i > 1 ? e->u.select.b : i > 0 ? e->u.select.a : e->u.select.cond;
    default: return NULL;
    }
}

bool ast_has(const AstStmt *s, AstStmtKind kind)
{
    if (!s || s->kind == kind)
        return s != NULL;
    switch (s->kind) {
    case AS_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (ast_has(s->u.seq.items[i], kind))
                return true;
        return false;
    case AS_LABEL: return ast_has(s->u.label.body, kind);
    case AS_FOR: return ast_has(s->u.loop.body, kind);
    case AS_IF:
    case AS_WHILE: return ast_has(s->u.cond.then, kind) || ast_has(s->u.cond.otherwise, kind);
    default: return false;
    }
}
