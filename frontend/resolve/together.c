/* together.c - Joins assignments with their updates where other statements share a loop with these.
 *
 *     a = 0;                           for j in N {
 *     b = 0;                               { init a = 0; a += x[j]; }
 *     for j in N {               =>        { init b = 0; b += x[j] * y[j]; }
 *         a += x[j];                   }
 *         b += x[j] * y[j];
 *     }
 *
 * An assignment is the init of an update if no other statement from the assignment to the end of
 * the loops accesses the element, as c[i, 1] is another one than c[i, 0]. block.c joins an update
 * that is alone in its loops. A label on the assignment keeps the two apart. */
#include "frontend/resolve/internal.h"
#include "passes/analysis/regions/region.h"

/* An assignment, and the update that it belongs to. */
typedef struct {
    Resolver *r;
    const Stmt *first;
    const Stmt *set; /* the store of `first` */
    Stmt *update;    /* a block */
} Pair;

bool is_plain_assignment(const AstStmt *s)
{
    return s->kind == AS_STORE && s->u.store.op == UPDATE_SET;
}

/* Returns whether the value of an assignment is the same wherever it stands. */
static bool is_fixed(Context *c, const Expr *value)
{
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);)
        if (at.expr->kind == EX_LOAD)
            return false;
    return true;
}

static bool find_assignment(Pair *p, const Stmt *s)
{
    const Stmt *set = s->kind == ST_BLOCK ? s->u.block.body : NULL;
    p->first = s;
    p->set = set;
    return set && set->kind == ST_STORE && set->u.store.op == STORE_SET && !s->u.block.init &&
           !s->u.block.predicate && is_fixed(p->r->ctx, set->u.store.value);
}

/* The statement may access the element that is set. */
static bool may_access(const Pair *p, const Stmt *s)
{
    const StoreStmt *set = &p->set->u.store;
    return stmt_may_access(p->r->ctx, s, (BufferElement){set->buffer, set->index}, ACCESS_ANY);
}

/* Finds the only block in a nest that may access the element; false where a condition stands in the
 * way, or another one may access it. */
static bool find_update(Pair *p, Stmt *nest)
{
    Context *c = p->r->ctx;
    p->update = NULL;
    for (Cursor at = cursor_outer(c, nest); cursor_next(&at);) {
        if (at.stmt->kind != ST_BLOCK || !may_access(p, at.stmt))
            continue;
        if (p->update)
            return false;
        p->update = at.stmt;
    }
    if (!p->update)
        return false;
    StmtPath way = stmt_path_to(c, nest, p->update);
    for (int i = 0; i < way.n; i++)
        if (way.items[i]->kind == ST_IF)
            return false;
    return true;
}

/* Maps the assignment's iterators to those of the update; false where a loop around both is another
 * one, or a loop around the update alone chooses elements. */
static bool map_iters(const Pair *p, Subst *map)
{
    const BlockStmt *first = &p->first->u.block, *update = &p->update->u.block;
    if (update->n_iters <= first->n_iters)
        return false;
    for (int i = 0; i < update->n_iters; i++) {
        if (i >= first->n_iters && update->iters[i].kind != ITER_REDUCE)
            return false;
        if (i < first->n_iters && !expr_equal(first->iters[i].binding, update->iters[i].binding))
            return false;
        if (i < first->n_iters)
            map[i] = (Subst){first->iters[i].var,
                             expr_var(p->r->ctx, update->iters[i].var, p->first->span)};
    }
    return true;
}

/* Returns whether the init, in terms of the update's iterators, sets the element of the update. */
static bool sets_element(const Pair *p, const Stmt *init)
{
    const Stmt *update = stmt_guarded_update(p->update->u.block.body);
    return !p->update->u.block.init && update && update->kind == ST_STORE &&
           update->u.store.buffer == init->u.store.buffer &&
           exprs_equal(update->u.store.index, init->u.store.index, init->u.store.buffer->rank);
}

static bool is_labelled(const Resolver *r, Name name)
{
    for (int i = 0; i < r->labels.n; i++)
        if (r->labels.items[i] == name)
            return true;
    return false;
}

/* The update with its init. It starts again in each iteration of the loops around both. */
static Stmt *joined(const Pair *p, Stmt *init)
{
    Context *c = p->r->ctx;
    BlockStmt block = p->update->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, block.n_iters);
    for (int i = 0; i < block.n_iters; i++) {
        iters[i] = block.iters[i];
        iters[i].kind = i < p->first->u.block.n_iters ? ITER_SPATIAL : ITER_REDUCE;
    }
    block.iters = iters;
    block.init = init;
    if (!is_labelled(p->r, block.name))
        block.name = p->first->u.block.name;
    return stmt_block(c, &block, p->update->span);
}

/* Moves the assignment at `i` to its update in a nest behind it; returns whether it did. */
static bool join(Resolver *r, StmtList *seq, int i)
{
    Pair p = {.r = r};
    if (!find_assignment(&p, seq->items[i]))
        return false;
    int at = i + 1;
    while (at < seq->n && !may_access(&p, seq->items[at]))
        at++;
    if (at == seq->n || seq->items[at]->kind != ST_FOR || !find_update(&p, seq->items[at]))
        return false;
    Subst *map = ARENA_ARRAY(r->ctx->arena, Subst, p.update->u.block.n_iters + 1);
    if (!map_iters(&p, map))
        return false;
    Stmt *init = stmt_subst(r->ctx, (Stmt *)p.set, map, p.first->u.block.n_iters);
    if (!sets_element(&p, init))
        return false;
    seq->items[at] = stmt_replace(r->ctx, seq->items[at], p.update, joined(&p, init));
    return true;
}

void join_updates(Resolver *r, StmtList *seq, const bool *plain)
{
    int n = 0;
    for (int i = 0; i < seq->n; i++)
        if (!plain[i] || !join(r, seq, i))
            seq->items[n++] = seq->items[i];
    seq->n = n;
}
