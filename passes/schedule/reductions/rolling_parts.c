/* rolling_parts.c - Finds the sums and weights that rolling_update brings into the loop of a
 * maximum, and proves that the maximum has taken in what they subtract it from. */
#include <math.h>

#include "passes/schedule/reductions/rolling.h"

bool rolling_is_sum(const RollingPart *part)
{
    return part->store->u.store.op == STORE_ADD;
}

const Buffer *rolling_written_by(const RollingPart *part)
{
    return part->store->u.store.buffer;
}

/* ---- the sums -------------------------------------------------------------------------------- */

/* Finds the factor that depends on the maximum. */
static bool find_power(Rolling *r, RollingPart *part)
{
    if (!power_factor_of(r->s->ctx, part->store->u.store.value, r->largest, &part->power))
        return false;
    part->row = (Expr **)part->power.center->u.load.index;
    return true;
}

/* The subscripts of the element are literals and other iterators, all that are spatial among them:
 * one instance belongs to each element. */
static bool is_element_of_its_own(const BlockStmt *block, const StoreStmt *store)
{
    int found = 0, spatial = 0;
    int64_t literal;
    for (int i = 0; i < block->n_iters; i++) {
        bool is_spatial = block->iters[i].kind == ITER_SPATIAL, used = false;
        spatial += is_spatial;
        for (int k = 0; k < store->buffer->rank && is_spatial && !used; k++)
            used = expr_is_var(store->index[k], block->iters[i].var);
        found += used;
    }
    for (int k = 0; k < store->buffer->rank; k++)
        if (store->index[k]->kind != EX_VAR && !expr_is_const(store->index[k], &literal))
            return false;
    return found == spatial;
}

/* The weight that a term of the sum has as a factor, and the row of that. */
static bool find_weight(Rolling *r, RollingPart *part)
{
    Context *c = r->s->ctx;
    const RollingPart *weights = part->weights;
    const StoreStmt *made = &weights->store->u.store;
    const Expr *load = power_innermost_factor(c, part->store->u.store.value, made->buffer, NULL);
    if (!expr_is_load(load, made->buffer))
        return false;
    SubstList map = {0};
    for (int i = 0; i < made->buffer->rank; i++)
        if (made->index[i]->kind == EX_VAR)
            VEC_PUSH(c->arena, &map, ((Subst){made->index[i]->u.var, load->u.load.index[i]}));
    Facts *facts = sched_facts(r->s, &part->path);
    facts_enter(facts, part->block);
    part->row = exprs_subst(c, weights->row, r->largest->rank, map.items, map.n);
    for (int i = 0; i < r->largest->rank; i++)
        part->row[i] = simplify(facts, part->row[i]);
    return true;
}

/* All terms of an element subtract the same maximum. */
static bool has_one_row(Rolling *r, const RollingPart *part)
{
    int64_t literal;
    for (int i = 0; i < r->largest->rank; i++) {
        const Expr *at = part->row[i];
        const BlockIter *iter =
            at->kind == EX_VAR ? block_iter(&part->block->u.block, at->u.var) : NULL;
        if (!expr_is_const(at, &literal) && (!iter || iter->kind != ITER_SPATIAL))
            return false;
    }
    return true;
}

/* The block of the loop that reads the maximum, or weights that an earlier part computes. */
static bool find_block(Rolling *r, int k)
{
    RollingPart *part = &r->parts[k];
    Stmt *loop = path_end(&part->loop);
    const Buffer *read = r->largest;
    part->block = only_block_accessing(r->s->ctx, loop, read, ACCESS_ANY);
    for (int i = 0; i < k && !part->block; i++) {
        if (rolling_is_sum(&r->parts[i]))
            continue;
        part->weights = &r->parts[i];
        part->block =
            only_block_accessing(r->s->ctx, loop, rolling_written_by(part->weights), ACCESS_ANY);
    }
    REQUIRE(r->s, E0867, r->span, part->block,
            "no single block of loop '%s' reads '%s', or weights that are computed from it",
            stmt_label(loop), read->name);
    part->path = stmt_path_to(r->s->ctx, r->s->kernel->body, part->block);
    return true;
}

/* Nobody else uses the weights, whose center changes. */
static bool check_weights(Rolling *r, const RollingPart *part)
{
    Schedule *s = r->s;
    const Buffer *weights = rolling_written_by(part);
    BlockList all = flow_blocks(s, s->kernel->body, weights, ACCESS_ANY);
    for (int i = 0; i < all.n; i++) {
        StmtPath path = stmt_path_to(s->ctx, s->kernel->body, all.items[i]);
        bool rolls = false;
        for (int k = 0; k < r->n; k++)
            rolls = rolls || flow_common(&path, &r->parts[k].loop) == r->parts[k].loop.n;
        REQUIRE(s, E0867, r->span, rolls && weights->role == ROLE_TEMP,
                "block '%s' also accesses the weights '%s', which are around the maximum so far",
                all.items[i]->u.block.name, weights->name);
    }
    return true;
}

/* The sum starts from 0, which no factor changes: in the sequence, in front of its loop, one block
 * sets its elements to that. */
static bool check_start(Rolling *r, const RollingPart *part)
{
    Schedule *s = r->s;
    const Buffer *buffer = rolling_written_by(part);
    BlockList writers = {0};
    for (int i = 0; i < stmt_place(r->seq, path_end(&part->loop)); i++) {
        BlockList found = flow_blocks(s, r->seq->u.seq.items[i], buffer, ACCESS_WRITE);
        for (int k = 0; k < found.n; k++)
            VEC_PUSH(s->ctx->arena, &writers, found.items[k]);
    }
    const Stmt *start = writers.n == 1 ? flow_single_store(s->ctx, writers.items[0]) : NULL;
    const Expr *value = start ? start->u.store.value : NULL;
    bool zero =
        value && start->u.store.op == STORE_SET && value->kind == EX_FLOAT && value->u.f == 0;
    REQUIRE(s, E0867, r->span, zero && buffer->role != ROLE_INOUT,
            "'%s' does not start from 0 in front of loop '%s', and what it starts from would be "
            "multiplied, too; add that afterwards",
            buffer->name, stmt_label(path_end(&part->loop)));
    return true;
}

bool rolling_find_part(Rolling *r, int k)
{
    Schedule *s = r->s;
    RollingPart *part = &r->parts[k];
    if (!find_block(r, k))
        return false;
    const BlockStmt *block = &part->block->u.block;
    part->store = flow_single_store(s->ctx, part->block);
    const StoreStmt *store = part->store ? &part->store->u.store : NULL;
    REQUIRE(s, E0867, r->span,
            store && (store->op == STORE_ADD || (store->op == STORE_SET && !part->weights)) &&
                store->buffer->type == r->largest->type && is_element_of_its_own(block, store),
            "block '%s' neither adds to an element of its own, t[i] += ..., nor computes weights, "
            "e[i, j] = ..., of the type of '%s'",
            block->name, r->largest->name);
    REQUIRE(s, E0867, r->span, !block->init,
            "the init of block '%s' has to stand in front of loop '%s'; move it there with "
            "decompose_reduction",
            block->name, stmt_label(path_end(&part->loop)));
    bool weighs = !part->weights && find_power(r, part);
    REQUIRE(s, E0867, r->span, part->weights ? find_weight(r, part) : weighs,
            "block '%s' does not have one factor exp(x - %s), in which the difference may be "
            "multiplied or divided by what is the same for all terms",
            block->name, r->largest->name);
    REQUIRE(s, E0867, r->span, !rolling_is_sum(part) || has_one_row(r, part),
            "the terms of an element of block '%s' subtract several elements of '%s'", block->name,
            r->largest->name);
    return rolling_is_sum(part) ? check_start(r, part) : check_weights(r, part);
}

/* ---- what the maximum has taken in ----------------------------------------------------------- */

/* The subscripts of the maximum, of the iterators of the block that takes elements in. Those of a
 * nest that combines partial results are iterators, as are the subscripts of these. */
static bool add_target(Rolling *r, ExprList *out)
{
    Context *c = r->s->ctx;
    const Stmt *store = r->combine ? flow_single_store(c, r->maximum) : r->taken;
    const BlockStmt *block = &r->maximum->u.block;
    const Expr *part = store->u.store.value;
    int *of = ARENA_ARRAY(c->arena, int, r->largest->rank + 1);
    int *from = ARENA_ARRAY(c->arena, int, r->combine ? part->u.load.buffer->rank + 1 : 1);
    if (r->combine && (!flow_pure_index(block, r->largest, store->u.store.index, of) ||
                       !flow_pure_index(block, part->u.load.buffer, part->u.load.index, from)))
        return false;
    for (int i = 0; i < r->largest->rank; i++) {
        int at = i;
        for (int k = 0; r->combine && k < part->u.load.buffer->rank; k++)
            if (from[k] == of[i])
                at = k;
        VEC_PUSH(c->arena, out, r->taken->u.store.index[at]);
    }
    return true;
}

/* The block with a body that only says which elements of a row it is about. */
Stmt *rolling_with_body(Context *c, const Stmt *block, Stmt *body)
{
    BlockStmt b = block->u.block;
    b.init = NULL;
    b.body = body;
    return stmt_block(c, &b, block->span);
}

static bool is_lowest(const Expr *e)
{
    return e->kind == EX_FLOAT && isinf(e->u.f) && signbit(e->u.f);
}

/* The value that a mask hides elsewhere, c ? x : -inf, and where it does not; the value itself
 * where there is no mask. */
static const Expr *taken_value(Context *c, const Expr *e, Expr **where)
{
    if (e->kind != EX_SELECT)
        return e;
    Expr *const *arg = e->u.arg;
    bool first = is_lowest(arg[1]);
    if (first == is_lowest(arg[2]))
        return e;
    *where = cond_and(c, *where, first ? expr_unary(c, EX_NOT, arg[0], e->span) : arg[0]);
    return taken_value(c, arg[first ? 2 : 1], where);
}

/* What the block takes in is what the terms subtract the maximum from, of the same elements. A mask
 * of the maximum may be one of the terms, too. */
static bool match_taken(Rolling *r, const RollingPart *part, ExprList *wrote, ExprList *read,
                        Expr **where)
{
    Context *c = r->s->ctx;
    const Expr *taken = r->taken->u.store.value, *from = part->power.difference->u.arg[0];
    int n_wrote = wrote->n, n_read = read->n;
    if (power_match_integers(c, taken, from, wrote, read))
        return true;
    wrote->n = n_wrote;
    read->n = n_read;
    return power_match_integers(c, taken_value(c, taken, where), from, wrote, read);
}

/* A store in an if, where there is a condition. */
static Stmt *store_where(Context *c, const StoreStmt *store, Expr *where, Span span)
{
    Stmt *stmt = stmt_store(c, store, span);
    return where ? stmt_if(c, where, stmt, NULL, span) : stmt;
}

/* Each iteration of the loop takes in what the sum's terms subtract the maximum from: a model in
 * which the one writes the elements of a row, and the other reads them. */
bool rolling_takes_in(Rolling *r, const RollingPart *part)
{
    Schedule *s = r->s;
    Context *c = s->ctx;
    ExprList wrote = {0}, read = {0};
    Expr *where = NULL;
    if (!add_target(r, &wrote))
        return false;
    for (int i = 0; i < r->largest->rank; i++)
        VEC_PUSH(c->arena, &read, part->row[i]);
    if (!match_taken(r, part, &wrote, &read, &where))
        return false;
    Expr **shape = ARENA_ARRAY(c->arena, Expr *, wrote.n + 1);
    for (int i = 0; i < wrote.n; i++)
        shape[i] = expr_index(c, INT32_MAX);
    Buffer *seen = buffer_new(c, &(Buffer){.name = sched_fresh_name(s, "seen"),
                                           .type = DT_F32,
                                           .shape = shape,
                                           .rank = wrote.n,
                                           .scope = SCOPE_GLOBAL,
                                           .role = ROLE_TEMP,
                                           .span = r->span});
    StoreStmt take = {
        .buffer = seen, .index = wrote.items, .value = expr_float(c, DT_F32, 0, r->span)};
    StoreStmt use = part->store->u.store;
    use.value = expr_cast(c, use.buffer->type, expr_load(c, seen, read.items, r->span), r->span);
    Stmt *using = store_where(c, &use, part->power.where, r->span);
    ForStmt loop = path_end(&r->loop)->u.loop;
    Subst to = {path_end(&part->loop)->u.loop.var, expr_var(c, loop.var, r->span)};
    Stmt *taking = path_end(&r->taking);
    Stmt *parts[2] = {
        stmt_replace(c, loop.body, taking,
                     rolling_with_body(c, taking, store_where(c, &take, where, r->span))),
        stmt_subst(c,
                   stmt_replace(c, path_end(&part->loop)->u.loop.body, part->block,
                                rolling_with_body(c, part->block, using)),
                   &to, 1)};
    loop.body = stmt_seq(c, parts, 2, r->span);
    Stmt *model = stmt_for(c, &loop, r->span);
    Stmt *body = flow_declare(s, stmt_replace(c, s->kernel->body, path_end(&r->loop), model), seen);
    StmtPath path = stmt_path_to(c, body, model);
    return flow_written_in_iteration(s, body, &path, seen);
}
