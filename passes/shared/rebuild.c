/* rebuild.c - Rebuilds statements in small steps: other children, another loop body, conditions
 * split and joined. */
#include "passes/shared/rebuild.h"

Stmt *loop_with_body(Context *c, const Stmt *loop, Stmt *body)
{
    ForStmt copy = loop->u.loop;
    copy.body = body;
    return stmt_stamp(stmt_for(c, &copy, loop->span), loop);
}

ForStmt loop_alike(Context *c, const Stmt *loop)
{
    ForStmt out = loop->u.loop;
    out.var = var_new(c, out.var->name, out.var->type, VAR_LOOP, out.var->span);
    out.id = ctx_new_id(c);
    out.annotations = (AnnotationList){0};
    return out;
}

Stmt *loop_backwards(Context *c, const Stmt *loop)
{
    ForStmt down = loop->u.loop;
    down.lo = index_sub(c, loop->u.loop.hi, expr_index(c, 1));
    down.hi = loop->u.loop.lo;
    down.step = -1;
    return stmt_for(c, &down, loop->span);
}

BlockIter *block_own_iters(Context *c, BlockStmt *block, int more)
{
    BlockIter *iters = ARENA_COPY(c->arena, BlockIter, block->iters, block->n_iters, more + 1);
    block->iters = iters;
    return iters;
}

Stmt *stmt_in_loops(Context *c, ForStmt *loops, int n, Stmt *body, Span span)
{
    for (int i = n - 1; i >= 0; i--) {
        loops[i].body = body;
        body = stmt_for(c, &loops[i], span);
    }
    return body;
}

Stmt *stmt_then(Context *c, Stmt *s1, Stmt *s2)
{
    if (!s1)
        return s2;
    if (!s2)
        return s1;
    Stmt *items[2] = {s1, s2};
    return stmt_seq(c, items, 2, span_join(s1->span, s2->span));
}

int stmt_place(const Stmt *body, const Stmt *item)
{
    for (int i = 0; i < stmt_items(body); i++)
        if (stmt_item(body, i) == item)
            return i;
    return -1;
}

Stmt *stmt_insert(Context *c, const Stmt *body, int at, Stmt *more)
{
    StmtList items = {0};
    int n = stmt_items(body);
    for (int i = 0; i <= n; i++) {
        if (i == at)
            VEC_PUSH(c->arena, &items, more);
        if (i < n)
            VEC_PUSH(c->arena, &items, stmt_item(body, i));
    }
    return stmt_seq(c, items.items, items.n, body->span);
}

Stmt *stmt_empty(Context *c, Span span)
{
    return stmt_seq(c, NULL, 0, span);
}

/* The state of mapping a branch with the facts of its condition, or of the negation. */
typedef struct {
    Facts *facts;
    const Stmt *s;
    Stmt *(*fn)(void *user, Stmt *s);
    void *user;
    Branch next;
} Branches;

static Stmt *map_branch(void *user, Stmt *branch)
{
    Branches *b = user;
    FactsMark mark = facts_mark(b->facts);
    facts_enter_enclosing(b->facts, (Enclosing){b->s, b->next == BRANCH_ELSE});
    b->next = BRANCH_ELSE;
    Stmt *done = b->fn(b->user, branch);
    facts_reset(b->facts, mark);
    return done;
}

Stmt *stmt_map_inside(Context *c, Facts *f, Stmt *s, Stmt *(*fn)(void *user, Stmt *s), void *user)
{
    Branches branches = {f, s, fn, user, BRANCH_THEN};
    if (s->kind == ST_IF)
        return stmt_map_children(c, s, map_branch, &branches);
    FactsMark mark = facts_mark(f);
    if (s->kind == ST_FOR || s->kind == ST_LAUNCH)
        facts_enter(f, s);
    Stmt *done = stmt_map_children(c, s, fn, user);
    facts_reset(f, mark);
    return done;
}

Kernel *kernel_with_body(Context *c, const Kernel *kernel, Stmt *body)
{
    Kernel *k = ARENA_NEW(c->arena, Kernel);
    *k = *kernel;
    k->body = body;
    return k;
}

void cond_split(Context *c, Expr *cond, ExprList *out)
{
    if (cond)
        expr_chain(c, cond, EX_AND, out);
}

Expr *cond_join(Context *c, const ExprList *conds)
{
    Expr *all = NULL;
    for (int i = 0; i < conds->n; i++)
        all = cond_and(c, all, conds->items[i]);
    return all;
}

bool expr_list_has(const ExprList *list, const Expr *e)
{
    for (int i = 0; i < list->n; i++)
        if (expr_equal(list->items[i], e))
            return true;
    return false;
}

bool expr_uses_any(const Expr *e, Var *const *vars, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses_var(e, vars[i]))
            return true;
    return false;
}

static bool is_unused(Context *c, const Stmt *let, const StmtList *behind)
{
    bool unused = let->kind == ST_LET;
    for (int i = 0; i < behind->n && unused; i++)
        unused = !stmt_uses_var(c, behind->items[i], let->u.let.var);
    return unused;
}

static Stmt *drop_unused_lets(Rewriter *r, Stmt *s)
{
    StmtList kept = {0};
    if (s->kind != ST_SEQ || s->u.seq.combiner)
        return s;
    for (int i = s->u.seq.n - 1; i >= 0; i--)
        if (!is_unused(r->ctx, s->u.seq.items[i], &kept))
            VEC_PUSH(r->ctx->arena, &kept, s->u.seq.items[i]);
    if (kept.n == s->u.seq.n)
        return s;
    for (int i = 0; i < kept.n / 2; i++) {
        Stmt *first = kept.items[i];
        kept.items[i] = kept.items[kept.n - 1 - i];
        kept.items[kept.n - 1 - i] = first;
    }
    return stmt_seq(r->ctx, kept.items, kept.n, s->span);
}

Stmt *stmt_without_unused_lets(Context *c, Stmt *s)
{
    return rewrite_stmt(&(Rewriter){.ctx = c, .stmt = drop_unused_lets}, s);
}

bool exprs_use_var(Expr *const *e, int n, const Var *var)
{
    for (int i = 0; i < n; i++)
        if (expr_uses_var(e[i], var))
            return true;
    return false;
}

static bool shape_uses(const Buffer *buffer, const Subst *map, int n)
{
    for (int i = 0; i < n; i++)
        if (exprs_use_var(buffer->shape, buffer->rank, map[i].var))
            return true;
    return false;
}

Stmt *stmt_subst_shaped(Context *c, Stmt *s, const Subst *map, int n)
{
    StmtList temps = stmts_of_kind(c, s, ST_TEMP);
    s = stmt_subst(c, s, map, n);
    for (int i = 0; i < temps.n; i++) {
        const Buffer *from = temps.items[i]->u.temp;
        if (shape_uses(from, map, n))
            s = stmt_replace_buffer(c, s, from, buffer_subst(c, from, map, n));
    }
    return s;
}

StmtPath path_joined(Context *c, const StmtPath *outer, int n, StmtPath inner)
{
    StmtPath path = {0};
    VEC_APPEND(c->arena, &path, outer->items, n);
    VEC_APPEND(c->arena, &path, inner.items, inner.n);
    return path;
}

int path_loop(const StmtPath *path, uint32_t id)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.id == id)
            return i;
    return -1;
}

bool path_binds(const StmtPath *path, const Expr *e)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && expr_uses_var(e, path->items[i]->u.loop.var))
            return true;
    return false;
}
