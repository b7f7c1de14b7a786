/* written.c - Copies what a block writes: builds a nest behind the block that visits the elements
 * that it has written, and copies each (stage.h).
 *
 *   for i in 4                                  for i in 4
 *       for j in 8                                  for j in 8
 *           B: t[i * 8 + j] = ...       =>              B: t_copy[i * 8 + j] = ...
 *       ... reads t ...                             for ax0 in 8
 *                                                       t[i * 8 + ax0] = t_copy[i * 8 + ax0];
 *                                                   ... reads t ...
 *
 * Where the block runs for all values of its iterators before the place of the copy, the copy has
 * plain loops over those. Elsewhere it has the block's own loops and conditions behind the place,
 * without those that no stored element depends on. */
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/combiner.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/loops/loop.h"

/* The copy of a block's stores. */
typedef struct {
    Schedule *s;
    const WrittenCopy *copy;
    const StmtPath *path;
    const BlockStmt *block;
    int first;    /* the item of the path that the copy stands behind */
    bool *used;   /* [n_iters] the iterators that the elements depend on */
    Expr *exists; /* on loops: the block writes anything; NULL where it does */
    BlockStmt made;
} Written;

/* ---- what is copied -------------------------------------------------------------------------- */

static Stmt *kept_items(const Written *w, const Stmt *seq);

/* The copy of the element that a store sets. A partial result is combined with what an init stores,
 * or with what the element has. */
static Stmt *copy_of(const Written *w, const Stmt *store)
{
    const WrittenCopy *copy = w->copy;
    Context *c = w->s->ctx;
    Expr *value = expr_load(c, copy->from, store->u.store.index, store->span);
    StoreOp op = copy->start ? copy->start->op : STORE_SET;
    if (copy->start && copy->start->init) {
        value = combiner_update(c, op, store->u.store.value, value);
        op = STORE_SET;
    }
    StoreStmt out = {.buffer = copy->to, .index = store->u.store.index, .op = op, .value = value};
    return stmt_store(c, &out, store->span);
}

/* Both are the copy of one element. */
static bool same_copy(const Stmt *a, const Stmt *b)
{
    return a->kind == ST_STORE && b->kind == ST_STORE &&
           exprs_equal(a->u.store.index, b->u.store.index, a->u.store.buffer->rank);
}

/* The stores to the buffer in `s`, as copies, under the same conditions; NULL: none. */
static Stmt *kept(const Written *w, const Stmt *s)
{
    Context *c = w->s->ctx;
    Stmt *then, *otherwise;
    switch (s->kind) {
    case ST_STORE:
        if (s->u.store.buffer->id != w->copy->written->id)
            return NULL;
        return copy_of(w, s);
    case ST_SEQ: return kept_items(w, s);
    case ST_IF:
        then = kept(w, s->u.cond.then);
        otherwise = s->u.cond.otherwise ? kept(w, s->u.cond.otherwise) : NULL;
        if (then && otherwise && same_copy(then, otherwise))
            return then;
        if (!then && otherwise)
            return stmt_if(c, expr_unary(c, EX_NOT, s->u.cond.cond, s->span), otherwise, NULL,
                           s->span);
        return then ? stmt_if(c, s->u.cond.cond, then, otherwise, s->span) : NULL;
    case ST_FOR: {
        ForStmt loop = s->u.loop;
        loop.body = kept(w, loop.body);
        return loop.body ? stmt_for(c, &loop, s->span) : NULL;
    }
    default: return NULL;
    }
}

static Stmt *kept_items(const Written *w, const Stmt *seq)
{
    VEC(Stmt *) items = {0};
    for (int i = 0; i < seq->u.seq.n; i++) {
        Stmt *item = kept(w, seq->u.seq.items[i]);
        bool again = false;
        for (int k = 0; k < items.n && item; k++)
            again |= same_copy(items.items[k], item);
        if (item && !again)
            VEC_PUSH(w->s->ctx->arena, &items, item);
    }
    return items.n > 0 ? stmt_seq(w->s->ctx, items.items, items.n, seq->span) : NULL;
}

/* Fills in w->used: the iterators of the copies, and those that their domains depend on. */
static void find_used(Written *w, const Stmt *body)
{
    Context *c = w->s->ctx;
    int n = w->block->n_iters;
    w->used = ARENA_ARRAY(c->arena, bool, n + 1);
    for (int i = n - 1; i >= 0; i--) {
        const Var *var = w->block->iters[i].var;
        w->used[i] = stmt_uses_var(c, body, var);
        for (int later = i + 1; later < n; later++)
            w->used[i] |= w->used[later] && iter_uses_var(&w->block->iters[later], var);
    }
}

/* The writer starts a reduction in front of the loop at this place of its path, or further out. */
static bool is_started(const Written *w, int depth)
{
    const Stmt *loop = w->path->items[depth];
    return loop->kind == ST_FOR && w->block->init &&
           (block_uses_loop(w->block, ITER_REDUCE, loop->u.loop.var) ||
            reduction_starts_at(w->s->ctx, w->block, w->path, depth));
}

/* The conjuncts that say which elements the writer has; NULL: none. Those on a loop of a reduction
 * that the writer starts say which terms there are: it has its elements without any. */
static Expr *on_elements(const Written *w, Expr *cond)
{
    Context *c = w->s->ctx;
    ExprList all = {0}, kept = {0};
    cond_split(c, cond, &all);
    for (int i = 0; i < all.n; i++) {
        bool terms = false;
        for (int k = 0; k < w->path->n - 1; k++)
            terms |= is_started(w, k) && expr_uses_var(all.items[i], w->path->items[k]->u.loop.var);
        if (!terms)
            VEC_PUSH(c->arena, &kept, all.items[i]);
    }
    return cond_join(c, &kept);
}

/* Fills in w->made: the block of the copy, with the writer's bindings. */
static bool make_block(Written *w)
{
    Schedule *s = w->s;
    Context *c = s->ctx;
    const WrittenCopy *copy = w->copy;
    const Stmt *writer = path_end(w->path), *store = flow_single_store(c, writer);
    const Stmt *init = copy->start && copy->start->init ? copy->start->init : w->block->init;
    Stmt *body = init ? kept(w, init) : NULL;
    body = body ? body : kept(w, store ? store : w->block->body);
    find_used(w, body);
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, w->block->n_iters + 1);
    Subst *map = ARENA_ARRAY(c->arena, Subst, w->block->n_iters + 1);
    int n = 0;
    for (int i = 0; i < w->block->n_iters; i++) {
        const BlockIter *old = &w->block->iters[i];
        if (!w->used[i])
            continue;
        REQUIRE(s, copy->refusal, copy->at, old->kind == ITER_SPATIAL,
                "the elements of '%s' that block '%s' writes depend on its reduction iterator '%s'",
                copy->written->name, w->block->name, old->var->name);
        iters[n] = *old;
        iters[n].var = var_new(c, old->var->name, DT_INDEX, VAR_ITER, old->var->span);
        iters[n].lo = expr_subst(c, old->lo, map, n);
        iters[n].hi = expr_subst(c, old->hi, map, n);
        map[n] = (Subst){old->var, expr_var(c, iters[n].var, writer->span)};
        n++;
    }
    w->made = (BlockStmt){.name = copy->name, .iters = iters, .n_iters = n};
    w->made.predicate = w->block->predicate ? on_elements(w, w->block->predicate) : NULL;
    w->made.body = stmt_clone_fresh(c, stmt_subst(c, body, map, n));
    return true;
}

/* path->items[i + 1] is in the branch of path->items[i] for a condition that does not hold. */
static bool is_otherwise(const StmtPath *path, int i)
{
    return path->items[i]->kind == ST_IF && path->items[i]->u.cond.then != path->items[i + 1];
}

/* What holds below path->items[i]. */
static void enter(Facts *f, const StmtPath *path, int i)
{
    if (!is_otherwise(path, i))
        facts_enter(f, path->items[i]);
}

/* Fills in w->exists: no loop of the reduction is empty, behind the place of the copy. */
static void find_existence(Written *w, Facts *f)
{
    Context *c = w->s->ctx;
    FactsMark mark = facts_mark(f);
    for (int i = w->first; i < w->path->n - 1; i++) {
        const Stmt *at = w->path->items[i];
        if (at->kind == ST_FOR && block_uses_loop(w->block, ITER_REDUCE, at->u.loop.var)) {
            Expr *extent = loop_extent(c, &at->u.loop);
            if (!prove_at_least(f, extent, 1))
                w->exists = cond_and(c, w->exists,
                                     expr_binary(c, EX_GT, extent, expr_index(c, 0), at->span));
        }
        enter(f, w->path, i);
    }
    facts_reset(f, mark);
}

/* Adds to w->exists that the iterators which no element depends on have values: steps give loops
 * more iterations than there are values, and in those nothing is written. An init writes its
 * elements in any case. */
static void find_instances(Written *w)
{
    Context *c = w->s->ctx;
    Facts *f = sched_facts(w->s, w->path);
    for (int i = 0; i < w->block->n_iters; i++) {
        const BlockIter *iter = &w->block->iters[i];
        ExprList domain = {0};
        if (!w->used[i] && (iter->kind == ITER_SPATIAL || !w->block->init))
            iter_add_domain(c, w->block, iter, &domain);
        for (int k = 0; k < domain.n; k++)
            if (!prove(f, domain.items[k]))
                w->exists = cond_and(c, w->exists, domain.items[k]);
    }
}

/* That the ranges of the iterators which no element depends on are not empty: for all values of the
 * others, the block writes their element then. NULL: they are not. */
static Expr *find_ranges(const Written *w)
{
    Context *c = w->s->ctx;
    Facts *f = facts_of_kernel(c, w->s->kernel);
    Expr *all = NULL;
    for (int i = 0; i < w->block->n_iters; i++) {
        const BlockIter *iter = &w->block->iters[i];
        bool writes = !w->used[i] && (iter->kind == ITER_SPATIAL || !w->block->init);
        Expr *some = expr_binary(c, EX_LT, iter->lo, iter->hi, w->copy->at);
        if (writes && !prove(f, some))
            all = cond_and(c, all, some);
        facts_range(f, iter->var, iter->lo, iter->hi);
    }
    return all;
}

/* ---- the loops around it --------------------------------------------------------------------- */

/* Some loop around the place says which elements the block writes, or whether it runs. */
static bool is_part(const Written *w)
{
    for (int i = 0; i < w->first; i++) {
        const Stmt *around = w->path->items[i];
        if (around->kind != ST_FOR)
            continue;
        const Var *var = around->u.loop.var;
        for (int k = 0; k < w->block->n_iters; k++)
            if (w->used[k] && expr_uses_var(w->block->iters[k].binding, var))
                return true;
        for (int k = w->first; k < w->path->n - 1; k++)
            if (stmt_head_uses_var(w->path->items[k], var))
                return true;
    }
    return false;
}

/* How many loops of the path there are from item `from` to before item `to`. */
static int loops_between(const StmtPath *path, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += path->items[i]->kind == ST_FOR;
    return n;
}

/* The copies below the loop path->items[depth], in one like it; alone where they are the same in
 * all its iterations and the writer runs in some. NULL after a refusal. */
static Stmt *in_loop(const Written *w, Facts *f, int depth, Stmt *inner)
{
    Context *c = w->s->ctx;
    const Stmt *old = w->path->items[depth];
    const Var *var = old->u.loop.var;
    bool started = is_started(w, depth), used = stmt_uses_var(c, inner, var);
    Expr *extent = loop_extent(c, &old->u.loop);
    if (!used && (started || prove_at_least(f, extent, 1)))
        return inner;
    if (started) {
        sched_refuse(w->s, w->copy->refusal, w->copy->at,
                     "which elements block '%s' writes depends on loop '%s' of its reduction",
                     w->block->name, var->name);
        return NULL;
    }
    const char *name = arena_printf(c->arena, "ax%d", loops_between(w->path, w->first, depth));
    ForStmt loop = flow_loop(w->s, sched_fresh_name(w->s, name), old->u.loop.lo, old->u.loop.hi);
    loop.step = old->u.loop.step;
    Subst map = {old->u.loop.var, expr_var(c, loop.var, old->span)};
    loop.body = stmt_subst(c, inner, &map, 1);
    return stmt_for(c, &loop, old->span);
}

/* The copies in the loops and conditions of the writer from path->items[depth] on. */
static Stmt *in_own_loops(const Written *w, Facts *f, int depth)
{
    Context *c = w->s->ctx;
    Stmt *at = w->path->items[depth];
    if (depth == w->path->n - 1)
        return stmt_block(c, &w->made, at->span);
    FactsMark mark = facts_mark(f);
    enter(f, w->path, depth);
    Stmt *inner = in_own_loops(w, f, depth + 1);
    facts_reset(f, mark);
    if (!inner || (at->kind != ST_FOR && at->kind != ST_IF))
        return inner;
    if (at->kind == ST_FOR)
        return in_loop(w, f, depth, inner);
    Expr *cond = at->u.cond.cond;
    if (is_otherwise(w->path, depth))
        cond = expr_unary(c, EX_NOT, cond, at->span);
    cond = on_elements(w, cond);
    return cond ? stmt_if(c, cond, inner, NULL, at->span) : inner;
}

/* The copies in loops over the domains of the writer's iterators. */
static Stmt *in_whole_loops(const Written *w)
{
    PointBox all = block_points(w->s->ctx, &w->made);
    StageNest nest = {w->made.name, all.n, all.var, all.lo, all.hi, w->exists, w->made.body, NULL};
    return stage_nest(w->s, &nest, path_end(w->path)->span);
}

/* What the nest reads beside the copied buffer is what the writer read: nothing that runs between
 * changes it, and no let of the writer is meant. */
static bool reads_the_same(const Written *w, const StagePlace *place, Stmt *nest)
{
    Schedule *s = w->s;
    for (Cursor at = cursor_stmt(s->ctx, nest); cursor_next(&at);) {
        if (!at.expr)
            continue;
        REQUIRE(s, w->copy->refusal, w->copy->at,
                at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LET,
                "which elements block '%s' writes depends on '%s', a let, which the copy cannot "
                "use",
                w->block->name, at.expr->u.var->name);
        if (at.expr->kind != EX_LOAD || at.expr->u.load.buffer->id == w->copy->from->id)
            continue;
        const Buffer *read = at.expr->u.load.buffer;
        bool written = false;
        for (int i = place->first; i <= place->last; i++)
            written |= stmt_accesses(s->ctx, stmt_item(place->parent, i), read, ACCESS_WRITE);
        REQUIRE(s, w->copy->refusal, w->copy->at, !written,
                "which elements block '%s' writes depends on '%s', which is written before the "
                "copy would read it again",
                w->block->name, read->name);
    }
    return true;
}

int stage_place_on(const StmtPath *path, const StagePlace *place)
{
    int at = 0;
    while (path->items[at] != place->parent)
        at++;
    return at + (place->parent->kind == ST_SEQ);
}

Stmt *stage_copy_written(Schedule *s, const WrittenCopy *copy, const StmtPath *path,
                         const StagePlace *place)
{
    Conflict why;
    const Stmt *writer = path_end(path);
    Written w = {.s = s, .copy = copy, .path = path, .block = &writer->u.block};
    w.first = stage_place_on(path, place);
    if (!make_block(&w))
        return NULL;
    Facts *f = facts_of_kernel(s->ctx, s->kernel);
    for (int i = 0; i < w.first; i++)
        enter(f, path, i);
    if (copy->start && !copy->start->init)
        find_existence(&w, f);
    find_instances(&w);
    Expr *all = cond_and(s->ctx, w.exists, find_ranges(&w));
    bool plain = !w.block->predicate && (!all || expr_of_sizes(all));
    bool whole = plain && !is_part(&w) && flow_runs_whole(s, writer, &why);
    if (whole)
        w.exists = all;
    else
        w.made.predicate = cond_and(s->ctx, w.made.predicate, w.exists);
    Stmt *nest = whole ? in_whole_loops(&w) : in_own_loops(&w, f, w.first);
    return nest && reads_the_same(&w, place, nest) ? nest : NULL;
}
