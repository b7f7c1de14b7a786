/* cursor.c - Iterates over the nodes below a statement or expression in text order.
 *
 * That is outer first, and of a block its iterators, its predicate, init, body. A cursor keeps the
 * way from its root to its node as a stack of frames: a node that has children, and which of them
 * comes next. */
#include "ir/ir.h"

/* ---- children -------------------------------------------------------------------------------- */

typedef struct {
    Stmt *stmt;
    Expr *expr;
} Child;

/* NULL where there are no more. */
static Stmt *inner_stmt(const Stmt *s, int at)
{
    const BlockStmt *block = &s->u.block;
    switch (s->kind) {
    case ST_SEQ: return at < s->u.seq.n ? s->u.seq.items[at] : NULL;
    case ST_FOR: return at == 0 ? s->u.loop.body : NULL;
    case ST_IF: return at == 0 ? s->u.cond.then : at == 1 ? s->u.cond.otherwise : NULL;
    case ST_BLOCK:
        return at == 0 && block->init        ? block->init
               : at == (block->init != NULL) ? block->body
                                             : NULL;
    case ST_LAUNCH: return at == 0 ? s->u.launch.body : NULL;
    case ST_INSTRUCTION: return at == 0 ? s->u.instruction.body : NULL;
    case ST_ROLES: return at == 0 ? s->u.roles.producer : at == 1 ? s->u.roles.consumers : NULL;
    default: return NULL;
    }
}

/* The next child in the order of the text; neither where there are no more. */
static Child child_of(const CursorFrame *frame)
{
    const Stmt *s = frame->stmt;
    if (frame->next < frame->exprs)
        return (Child){.expr = s ? stmt_operand(s, frame->next)
                                 : expr_operand(frame->expr, frame->next)};
    return (Child){.stmt = s ? inner_stmt(s, frame->next - frame->exprs) : NULL};
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* The frames are filled in one by one, as they are needed. */
static Cursor cursor_at(Context *c, CursorFrame root)
{
    Cursor at;
    at.stmt = NULL;
    at.expr = NULL;
    at.path = (EnclosingList){0};
    at.ctx = c;
    at.root = root;
    at.more = NULL;
    at.depth = 0;
    at.capacity = CURSOR_FEW;
    at.stmts_only = at.blocks_closed = at.keeps_path = at.on_leaf = false;
    return at;
}

Cursor cursor_stmt(Context *c, const Stmt *root)
{
    return cursor_at(c, (CursorFrame){.stmt = (Stmt *)root});
}

Cursor cursor_stmts(Context *c, const Stmt *root)
{
    Cursor at = cursor_stmt(c, root);
    at.stmts_only = true;
    return at;
}

Cursor cursor_outer(Context *c, const Stmt *root)
{
    Cursor at = cursor_stmts(c, root);
    at.blocks_closed = true;
    return at;
}

Cursor cursor_expr(Context *c, const Expr *root)
{
    return cursor_at(c, (CursorFrame){.expr = (Expr *)root});
}

EnclosingList enclosing_copy(Context *c, const EnclosingList *path)
{
    EnclosingList copy = {0};
    for (int i = 0; i < path->n; i++)
        VEC_PUSH(c->arena, &copy, path->items[i]);
    return copy;
}

Cursor cursor_with_path(Cursor at, const EnclosingList *outer)
{
    at.keeps_path = true;
    if (outer)
        at.path = enclosing_copy(at.ctx, outer);
    at.root.n_path = at.path.n;
    return at;
}

static CursorFrame *frames_of(Cursor *at)
{
    return at->more ? at->more : at->few;
}

static void push(Cursor *at, CursorFrame frame)
{
    if (at->depth == at->capacity) {
        at->capacity *= 4;
        CursorFrame *more = ARENA_ARRAY(at->ctx->arena, CursorFrame, at->capacity);
        for (int i = 0; i < at->depth; i++)
            more[i] = frames_of(at)[i];
        at->more = more;
    }
    frames_of(at)[at->depth++] = frame;
}

static bool enter(Cursor *at, CursorFrame frame)
{
    at->stmt = frame.stmt;
    at->expr = frame.expr;
    frame.exprs = frame.stmt ? stmt_operands(frame.stmt) : expr_operands(frame.expr);
    at->on_leaf = !frame.stmt && frame.exprs == 0;
    if (at->on_leaf)
        return true;
    if (at->stmts_only)
        frame.next = frame.exprs;
    push(at, frame);
    return true;
}

/* The path of the next child, a statement: what is around its parent, and that; an item of a
 * sequence has the names before it instead. */
static void enter_path(Cursor *at, CursorFrame *parent)
{
    Arena *arena = at->ctx->arena;
    const Stmt *s = parent->stmt;
    at->path.n = parent->n_path;
    if (s->kind == ST_INSTRUCTION)
        return;
    if (s->kind != ST_SEQ) {
        VEC_PUSH(arena, &at->path, ((Enclosing){s, s->kind == ST_IF && parent->next == 2}));
        return;
    }
    const Stmt *before = parent->next > 0 ? s->u.seq.items[parent->next - 1] : NULL;
    if (before && before->kind == ST_LET)
        VEC_PUSH(arena, &at->path, ((Enclosing){before, false}));
    parent->n_path = at->path.n;
}

bool cursor_next(Cursor *at)
{
    if (at->root.stmt || at->root.expr) {
        CursorFrame root = at->root;
        at->root = (CursorFrame){0};
        return enter(at, root);
    }
    while (at->depth > 0) {
        CursorFrame *frame = &frames_of(at)[at->depth - 1];
        bool closed = at->blocks_closed && frame->stmt->kind == ST_BLOCK;
        Child child = closed ? (Child){0} : child_of(frame);
        if (child.stmt || child.expr) {
            if (at->keeps_path && child.stmt)
                enter_path(at, frame);
            frame->next++;
            return enter(
                at, (CursorFrame){.stmt = child.stmt, .expr = child.expr, .n_path = at->path.n});
        }
        at->depth--;
    }
    at->stmt = NULL;
    at->expr = NULL;
    return false;
}

void cursor_prune(Cursor *at)
{
    at->depth -= !at->on_leaf;
}

void cursor_way(const Cursor *at, StmtList *way)
{
    const CursorFrame *frames = at->more ? at->more : at->few;
    for (int i = 0; i < at->depth; i++)
        if (frames[i].stmt)
            VEC_PUSH(at->ctx->arena, way, frames[i].stmt);
}
