/* carry_choice.c - Joins two blocks that store to one element, under a condition and otherwise.
 *
 *   for j in N                         for j in N
 *       if j == 0                  =>      y[j] = j == 0 ? x[0] : y[j - 1] + x[j];
 *           y[j] = x[0];
 *       else
 *           y[j] = y[j - 1] + x[j];
 *
 * Compilers call this if-conversion. The second block stays, with the choice as its value.
 *
 * Legal: each block stores once, without a predicate. Under the condition, both are in their
 * domains and store to the same element. Iterators of the second block tell what the condition and
 * the first block need of the loops. */
#include "passes/schedule/loops/carry_choice.h"

#include "passes/shared/rebuild.h"

typedef struct {
    Schedule *s;
    Facts *facts;       /* in the loop */
    const Stmt *branch; /* if cond then ... else ... */
    const BlockStmt *then, *other;
    const StoreStmt *first, *second; /* of the blocks */
} Choice;

/* The store of a block that has nothing else; NULL for another block. */
static const StoreStmt *plain_store(Context *c, const Stmt *block)
{
    const Stmt *store = block && block->kind == ST_BLOCK ? flow_single_store(c, block) : NULL;
    if (!store || block->u.block.init || block->u.block.atomic || block->u.block.instruction ||
        block->u.block.predicate)
        return NULL;
    return &store->u.store;
}

/* Iterations under the condition are in the domains of the block. The others run the second block
 * where it is in its own. */
static bool runs_where_first(const Choice *k, const BlockStmt *block)
{
    Context *c = k->s->ctx;
    FactsMark mark = facts_mark(k->facts);
    facts_assume(k->facts, k->branch->u.cond.cond);
    ExprList domains = {0};
    block_add_domains(c, block, &domains);
    bool runs = true;
    for (int i = 0; runs && i < domains.n; i++)
        runs = prove(k->facts, domains.items[i]);
    facts_reset(k->facts, mark);
    return runs;
}

/* Where the first block runs, the second one would store to its element. */
static bool meet(const Choice *k)
{
    Context *c = k->s->ctx;
    FactsMark mark = facts_mark(k->facts);
    facts_assume(k->facts, k->branch->u.cond.cond);
    bool same = k->first->buffer->id == k->second->buffer->id;
    for (int d = 0; same && d < k->first->buffer->rank; d++)
        same = prove_compare(k->facts, iters_to_loops(c, k->then, k->first->index[d]), EX_EQ,
                             iters_to_loops(c, k->other, k->second->index[d]));
    facts_reset(k->facts, mark);
    return same;
}

/* `e`, an expression of loops, in iterators of the second block; NULL where they do not tell. */
static Expr *in_iterators(const Choice *k, const StmtPath *path, Expr *e)
{
    Context *c = k->s->ctx;
    for (int i = 0; i < k->other->n_iters; i++) {
        const BlockIter *iter = &k->other->iters[i];
        if (iter->binding->kind == EX_VAR)
            e = expr_subst(c, e,
                           &(Subst){iter->binding->u.var, expr_var(c, iter->var, span_none())}, 1);
    }
    return path_binds(path, e) ? NULL : e;
}

/* The second block with the choice as its value; NULL: there is no such. */
static Stmt *joined(const Choice *k, const StmtPath *path)
{
    Context *c = k->s->ctx;
    const Stmt *second = k->branch->u.cond.otherwise;
    const Stmt *stores[] = {flow_single_store(c, k->branch->u.cond.then),
                            flow_single_store(c, second)};
    Expr *cond = in_iterators(k, path, k->branch->u.cond.cond);
    Expr *value = in_iterators(k, path, iters_to_loops(c, k->then, stored_value(c, stores[0])));
    if (!cond || !value)
        return NULL;
    StoreStmt store = *k->second;
    store.op = STORE_SET;
    store.value = expr_select(c, cond, value, stored_value(c, stores[1]), stores[1]->span);
    BlockStmt block = *k->other;
    block.body = stmt_store(c, &store, stores[1]->span);
    return stmt_block(c, &block, second->span);
}

Stmt *loop_with_choice(Schedule *s, const StmtPath *path)
{
    Context *c = s->ctx;
    Stmt *loop = path_end(path);
    const Stmt *branch = loop->u.loop.body;
    if (branch->kind != ST_IF || !branch->u.cond.otherwise)
        return loop;
    Choice k = {.s = s, .facts = sched_facts(s, path), .branch = branch};
    k.first = plain_store(c, branch->u.cond.then);
    k.second = plain_store(c, branch->u.cond.otherwise);
    if (!k.first || !k.second)
        return loop;
    k.then = &branch->u.cond.then->u.block;
    k.other = &branch->u.cond.otherwise->u.block;
    facts_enter(k.facts, loop);
    bool one = meet(&k) && runs_where_first(&k, k.then) && runs_where_first(&k, k.other);
    Stmt *block = one ? joined(&k, path) : NULL;
    return block ? stmt_replace(c, loop, branch, block) : loop;
}
