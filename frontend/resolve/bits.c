/* bits.c - Brings INDEX numbers that are made by bit operations into the form of the analysis.
 *
 * i >> 4 is i / 16 from there on, wherever i is known to be at least 0. */
#include "frontend/resolve/internal.h"
#include "passes/shared/rebuild.h"

static bool is_of_bits(const Expr *e)
{
    OpClass class = op_info(e->kind)->class;
    return e->type == DT_INDEX && (class == OP_BITS || class == OP_SHIFT);
}

static Expr *write_node(Rewriter *w, Expr *e)
{
    return is_of_bits(e) ? simplify(w->user, e) : e;
}

static Expr *write_expr(void *user, Expr *e)
{
    Rewriter *w = user;
    return rewrite_expr(w, e);
}

static Stmt *write_stmt(void *user, Stmt *s);

/* The init runs for the spatial iterators alone. */
static Stmt *write_init(Rewriter *w, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_SPATIAL)
            facts_range(w->user, block->iters[i].var, block->iters[i].lo, block->iters[i].hi);
    return write_stmt(w, block->init);
}

static Stmt *write_block(Rewriter *w, Stmt *s)
{
    Facts *f = w->user;
    FactsMark mark = facts_mark(f);
    BlockStmt block = s->u.block;
    if (block.init)
        block.init = write_init(w, &block);
    facts_reset(f, mark);
    facts_enter(f, s);
    block.body = block_body_at_init(w->ctx, &s->u.block, block.init, write_stmt(w, block.body));
    facts_reset(f, mark);
    return stmt_stamp(stmt_block(w->ctx, &block, s->span), s);
}

static Stmt *write_stmt(void *user, Stmt *s)
{
    Rewriter *w = user;
    Stmt *written = stmt_map_exprs(w->ctx, s, write_expr, w);
    return written->kind == ST_BLOCK ? write_block(w, written)
                                     : stmt_map_inside(w->ctx, w->user, written, write_stmt, w);
}

static bool has_bits(Context *c, const Stmt *body)
{
    bool found = false;
    for (Cursor at = cursor_stmt(c, body); !found && cursor_next(&at);)
        found = at.expr && is_of_bits(at.expr);
    return found;
}

Stmt *bits_written_out(Context *c, const Kernel *kernel)
{
    if (!has_bits(c, kernel->body))
        return kernel->body;
    Rewriter w = {c, facts_of_kernel(c, kernel), write_node, NULL};
    return write_stmt(&w, kernel->body);
}
