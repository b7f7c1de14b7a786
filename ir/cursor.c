/* cursor.c - Iterates over the nodes below a statement or expression in text order.
 *
 * That is outer first, and of a block its iterators, its predicate, init, body. A cursor keeps the
 * way from its root to its node as a stack of frames: a node that has children, and which of them
 * comes next. A leaf, which has none to visit, gets no frame. */
#include "ir/ir.h"

/* ---- children -------------------------------------------------------------------------------- */

/* The statements directly below it. */
static int inner_stmts(const Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ: return s->u.seq.n;
    case ST_FOR:
    case ST_LAUNCH:
    case ST_INSTRUCTION: return 1;
    case ST_IF: return 1 + (s->u.cond.otherwise != NULL);
    case ST_BLOCK: return 1 + (s->u.block.init != NULL);
    case ST_ROLES: return 2;
    default: return 0;
    }
}

static Stmt *inner_stmt(const Stmt *s, int at)
{
    const BlockStmt *block = &s->u.block;
    switch (s->kind) {
    case ST_SEQ: return s->u.seq.items[at];
    case ST_FOR: return s->u.loop.body;
    case ST_IF: return at == 0 ? s->u.cond.then : s->u.cond.otherwise;
    case ST_BLOCK: return at == 0 && block->init ? block->init : block->body;
    case ST_LAUNCH: return s->u.launch.body;
    case ST_INSTRUCTION: return s->u.instruction.body;
    default: return at == 0 ? s->u.roles.producer : s->u.roles.consumers;
    }
}

/* ---- starting -------------------------------------------------------------------------------- */

typedef enum { ALL_NODES, STMTS, OUTER_STMTS } CursorNodes;

/* The frames are filled in one by one, as they are needed. */
static Cursor cursor_at(Context *c, CursorFrame root, CursorNodes nodes)
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
    at.stmts_only = nodes != ALL_NODES;
    at.blocks_closed = nodes == OUTER_STMTS;
    at.keeps_path = at.on_leaf = false;
    return at;
}

Cursor cursor_stmt(Context *c, const Stmt *root)
{
    return cursor_at(c, (CursorFrame){.stmt = (Stmt *)root}, ALL_NODES);
}

Cursor cursor_stmts(Context *c, const Stmt *root)
{
    return cursor_at(c, (CursorFrame){.stmt = (Stmt *)root}, STMTS);
}

Cursor cursor_outer(Context *c, const Stmt *root)
{
    return cursor_at(c, (CursorFrame){.stmt = (Stmt *)root}, OUTER_STMTS);
}

Cursor cursor_expr(Context *c, const Expr *root)
{
    return cursor_at(c, (CursorFrame){.expr = (Expr *)root}, ALL_NODES);
}

EnclosingList enclosing_copy(Context *c, const EnclosingList *path)
{
    EnclosingList copy = {0};
    VEC_APPEND(c->arena, &copy, path->items, path->n);
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

/* ---- moving ---------------------------------------------------------------------------------- */

static CursorFrame *frames_of(Cursor *at)
{
    return at->more ? at->more : at->few;
}

static void add_frames(Cursor *at)
{
    at->capacity *= 4;
    CursorFrame *more = ARENA_ARRAY(at->ctx->arena, CursorFrame, at->capacity);
    for (int i = 0; i < at->depth; i++)
        more[i] = frames_of(at)[i];
    at->more = more;
}

static CursorFrame *push(Cursor *at)
{
    if (at->depth == at->capacity)
        add_frames(at);
    return &frames_of(at)[at->depth++];
}

static bool enter_expr(Cursor *at, Expr *e)
{
    int operands = expr_operands(e);
    at->stmt = NULL;
    at->expr = e;
    at->on_leaf = operands == 0;
    if (operands > 0)
        *push(at) = (CursorFrame){.expr = e, .exprs = operands, .children = operands};
    return true;
}

/* A block whose statements are left out is a leaf. */
static bool enter_stmt(Cursor *at, Stmt *s)
{
    bool closed = at->blocks_closed && s->kind == ST_BLOCK;
    int operands = at->stmts_only ? 0 : stmt_operands(s);
    int children = closed ? 0 : operands + inner_stmts(s);
    at->stmt = s;
    at->expr = NULL;
    at->on_leaf = children == 0;
    if (children > 0)
        *push(at) =
            (CursorFrame){.stmt = s, .exprs = operands, .children = children, .n_path = at->path.n};
    return true;
}

/* The path of child number `child` of the statements of the parent: what is around that, and it; an
 * item of a sequence has the names before it instead. */
static void enter_path(Cursor *at, CursorFrame *parent, int child)
{
    Arena *arena = at->ctx->arena;
    const Stmt *s = parent->stmt;
    at->path.n = parent->n_path;
    if (s->kind == ST_INSTRUCTION)
        return;
    if (s->kind != ST_SEQ) {
        VEC_PUSH(arena, &at->path, ((Enclosing){s, s->kind == ST_IF && child == 1}));
        return;
    }
    const Stmt *before = child > 0 ? s->u.seq.items[child - 1] : NULL;
    if (before && before->kind == ST_LET)
        VEC_PUSH(arena, &at->path, ((Enclosing){before, false}));
    parent->n_path = at->path.n;
}

static bool enter_root(Cursor *at)
{
    Stmt *stmt = at->root.stmt;
    Expr *expr = at->root.expr;
    at->root = (CursorFrame){0};
    at->stmt = NULL;
    at->expr = NULL;
    return stmt ? enter_stmt(at, stmt) : expr && enter_expr(at, expr);
}

/* Without a frame: at the root, or behind the last node. */
bool cursor_next(Cursor *at)
{
    for (CursorFrame *frames = frames_of(at); at->depth > 0; at->depth--) {
        CursorFrame *frame = &frames[at->depth - 1];
        if (frame->next == frame->children)
            continue;
        int next = frame->next++;
        Stmt *s = frame->stmt;
        if (next < frame->exprs)
            return enter_expr(at, s ? stmt_operand(s, next) : expr_operand(frame->expr, next));
        if (at->keeps_path)
            enter_path(at, frame, next - frame->exprs);
        return enter_stmt(at, inner_stmt(s, next - frame->exprs));
    }
    return enter_root(at);
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
    if (at->on_leaf && at->stmt)
        VEC_PUSH(at->ctx->arena, way, at->stmt);
}
