/* access.c - the subscripted reads and writes of a piece of program, and where they stand.
 *
 * Program order: what a statement reads comes before what it writes, the inner of nested subscripts
 * first. */
#include "passes/analysis/regions/region.h"
#include "passes/analysis/symbolic/affine.h"

typedef struct {
    Context *c;
    const Buffer *buffer; /* NULL: every one */
    AccessMode mode;
    const BlockStmt *block;
    AccessList *out;
} Collector;

static void add_access(Collector *k, const Access *access)
{
    if ((access->mode & k->mode) && (!k->buffer || access->buffer->id == k->buffer->id))
        VEC_PUSH(k->c->arena, k->out, *access);
}

static void collect_expr(Collector *k, Expr *e)
{
    for (int i = 0; i < expr_operands(e); i++)
        collect_expr(k, expr_operand(e, i));
    if (e->kind == EX_LOAD)
        add_access(k, &(Access){.buffer = e->u.load.buffer,
                                .index = e->u.load.index,
                                .mode = ACCESS_READ,
                                .block = k->block,
                                .span = e->span});
}

static void collect_store(Collector *k, Stmt *s)
{
    const Buffer *buffer = s->u.store.buffer;
    for (int d = 0; d < buffer->rank; d++)
        collect_expr(k, s->u.store.index[d]);
    collect_expr(k, s->u.store.value);
    bool reads = store_updates(s->u.store.op);
    add_access(k, &(Access){.buffer = buffer,
                            .index = s->u.store.index,
                            .mode = reads ? ACCESS_ANY : ACCESS_WRITE,
                            .op = s->u.store.op,
                            .atomic = s->u.store.atomic || (k->block && k->block->atomic),
                            .block = k->block,
                            .store = s,
                            .span = s->span});
}

static void collect_stmt(Collector *k, Stmt *s);

static void collect_block(Collector *k, const BlockStmt *block)
{
    const BlockStmt *outer = k->block;
    k->block = block;
    for (int i = 0; i < block->n_iters; i++) {
        collect_expr(k, block->iters[i].lo);
        collect_expr(k, block->iters[i].hi);
        collect_expr(k, block->iters[i].binding);
    }
    if (block->predicate)
        collect_expr(k, block->predicate);
    if (block->init)
        collect_stmt(k, block->init);
    collect_stmt(k, block->body);
    k->block = outer;
}

static void collect_stmt(Collector *k, Stmt *s)
{
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            collect_stmt(k, s->u.seq.items[i]);
        break;
    case ST_FOR:
        collect_expr(k, s->u.loop.lo);
        collect_expr(k, s->u.loop.hi);
        collect_stmt(k, s->u.loop.body);
        break;
    case ST_IF:
        collect_expr(k, s->u.cond.cond);
        collect_stmt(k, s->u.cond.then);
        if (s->u.cond.otherwise)
            collect_stmt(k, s->u.cond.otherwise);
        break;
    case ST_BLOCK: collect_block(k, &s->u.block); break;
    case ST_STORE: collect_store(k, s); break;
    case ST_LET: collect_expr(k, s->u.let.value); break;
    case ST_LAUNCH: collect_stmt(k, s->u.launch.body); break;
    case ST_TEMP:
    case ST_BARRIER: break;
    }
}

void access_collect(Context *c, Stmt *s, const Buffer *buffer, AccessMode mode, AccessList *out)
{
    Collector k = {c, buffer, mode, NULL, out};
    collect_stmt(&k, s);
}

void access_collect_expr(Context *c, Expr *e, const Buffer *buffer, AccessList *out)
{
    Collector k = {c, buffer, ACCESS_READ, NULL, out};
    collect_expr(&k, e);
}

bool stmt_touches(Context *c, const Stmt *s, const Buffer *buffer, AccessMode mode)
{
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);) {
        const Stmt *store = at.stmt && at.stmt->kind == ST_STORE ? at.stmt : NULL;
        const Expr *load = at.expr && at.expr->kind == EX_LOAD ? at.expr : NULL;
        if (load && load->u.load.buffer->id == buffer->id && (mode & ACCESS_READ))
            return true;
        if (store && store->u.store.buffer->id == buffer->id &&
            ((mode & ACCESS_WRITE) || store->u.store.op != STORE_SET))
            return true;
    }
    return false;
}

Expr *iters_to_loops(Context *c, const BlockStmt *block, Expr *e)
{
    if (block->n_iters == 0)
        return e;
    Subst *map = ARENA_ARRAY(c->arena, Subst, block->n_iters);
    for (int k = 0; k < block->n_iters; k++)
        map[k] = (Subst){block->iters[k].var, block->iters[k].binding};
    return expr_subst(c, e, map, block->n_iters);
}

static bool uses_only(const Expr *e, const Expr *known)
{
    if (e->kind == EX_VAR)
        return expr_uses_var(known, e->u.var);
    bool ok = true;
    for (int k = 0; k < expr_operands(e); k++)
        ok = ok && uses_only(expr_operand(e, k), known);
    return ok;
}

/* How far a reduce iterator is into its domain, where that takes no other loops than its value;
 * else the value, which differs from it by what is the same in the whole reduction. */
static Expr *reduce_position(Context *c, const BlockStmt *block, const BlockIter *iter)
{
    int64_t lo;
    if (expr_is_const(iter->lo, &lo))
        return iter->binding;
    Expr *start = iters_to_loops(c, block, iter->lo);
    Expr *position = simplify(facts_new(c), index_sub(c, iter->binding, start));
    return uses_only(position, iter->binding) ? position : iter->binding;
}

bool block_uses_loop(const BlockStmt *block, IterKind kind, const Var *loop)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == kind && expr_uses_var(block->iters[i].binding, loop))
            return true;
    return false;
}

bool block_reduces_over(Context *c, const BlockStmt *block, const Var *loop)
{
    for (int k = 0; k < block->n_iters; k++) {
        const BlockIter *iter = &block->iters[k];
        if (iter->kind == ITER_REDUCE && expr_uses_var(iter->binding, loop) &&
            expr_uses_var(reduce_position(c, block, iter), loop))
            return true;
    }
    return false;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The statements directly below s that are no items of a seq. */
static int inner_stmts(const Stmt *s, Stmt *out[2])
{
    int n = 0;
    switch (s->kind) {
    case ST_FOR: out[n++] = s->u.loop.body; break;
    case ST_IF:
        out[n++] = s->u.cond.then;
        if (s->u.cond.otherwise)
            out[n++] = s->u.cond.otherwise;
        break;
    case ST_BLOCK:
        if (s->u.block.init)
            out[n++] = s->u.block.init;
        out[n++] = s->u.block.body;
        break;
    case ST_LAUNCH: out[n++] = s->u.launch.body; break;
    default: break;
    }
    return n;
}

bool facts_enter_path(Facts *f, Stmt *root, const Stmt *target)
{
    EnclosingList around = {0};
    if (!stmt_enclosing(f->c, root, target, &around))
        return false;
    for (int i = 0; i < around.n; i++)
        facts_enter_enclosing(f, around.items[i]);
    return true;
}

/* s itself reads or writes the buffer, apart from the statements below it. */
static bool touches_itself(Context *c, const Stmt *s, const Buffer *buffer)
{
    switch (s->kind) {
    case ST_FOR: return expr_reads(s->u.loop.lo, buffer) || expr_reads(s->u.loop.hi, buffer);
    case ST_IF: return expr_reads(s->u.cond.cond, buffer);
    case ST_BLOCK:
    case ST_STORE:
    case ST_LET: return stmt_touches(c, s, buffer, ACCESS_ANY);
    default: return false;
    }
}

/* A block is not looked into: nothing can be placed inside it. */
Stmt *lowest_common_ancestor(Context *c, Stmt *root, const Buffer *buffer)
{
    if (touches_itself(c, root, buffer))
        return root;
    if (root->kind == ST_BLOCK)
        return NULL;
    Stmt *inner[2], *const *items = inner, *found = NULL;
    int n = inner_stmts(root, inner);
    if (root->kind == ST_SEQ) {
        items = root->u.seq.items;
        n = root->u.seq.n;
    }
    for (int k = 0; k < n; k++) {
        Stmt *below = lowest_common_ancestor(c, items[k], buffer);
        if (below && found)
            return root;
        found = below ? below : found;
    }
    return found;
}
