/* sums.c - Reads the scan of the sums of chunks, as scan_chunks makes it, and builds new blocks.
 *
 *   before[p] = s; s += total[p]; */
#include "passes/schedule/scans/sums.h"

#include <string.h>

#include "passes/analysis/regions/reducer.h"
#include "passes/analysis/regions/region.h"
#include "passes/schedule/copies/stage.h"

bool sums_find(Sums *sums, const Value *before)
{
    Schedule *s = sums->s;
    sums->before = sched_node(s, before, &sums->path);
    sums->path.n--;
    while (sums->path.n > 0 && path_end(&sums->path)->kind == ST_SEQ)
        sums->path.n--;
    bool in_loop = sums->path.n > 0 && path_end(&sums->path)->kind == ST_FOR;
    REQUIRE(s, sums->code, sums->span, in_loop,
            "block '%s' is not directly in a loop; it is the second block that scan_chunks gives",
            stmt_label(sums->before));
    sums->loop = path_end(&sums->path);
    const Stmt *body = sums->loop->u.loop.body;
    bool pair = body->kind == ST_SEQ && body->u.seq.n == 2 &&
                body->u.seq.items[0] == sums->before && body->u.seq.items[1]->kind == ST_BLOCK;
    REQUIRE(s, sums->code, sums->span, pair,
            "loop '%s' is not the scan of the sums of chunks, which has two blocks and nothing "
            "else, as in  before[p] = s; s += total[p];",
            stmt_label(sums->loop));
    sums->update = body->u.seq.items[1];
    sched_loops_on(s, &sums->path, &sums->loops);
    return true;
}

/* ---- their values ---------------------------------------------------------------------------- */

static void make_parts(Sums *sums, int n)
{
    sums->n_parts = n;
    sums->parts = ARENA_ARRAY(sums->s->ctx->arena, SumsPart, n);
}

/* A component that an update combines with `total`. */
static bool add_part(Sums *sums, int k, const BufferElement *value, Expr *total)
{
    Context *c = sums->s->ctx;
    const BlockStmt *block = &sums->update->u.block;
    Expr *read = expr_load(c, value->buffer, value->index, sums->span);
    sums->parts[k] = (SumsPart){.value = value->buffer,
                                .read = iters_to_loops(c, block, read),
                                .total = iters_to_loops(c, block, total)};
    return total->kind == EX_LOAD;
}

/* s op= total[p], or the same of a tuple. */
static bool read_update(Sums *sums)
{
    TupleUpdate tuple;
    const Stmt *body = sums->update->u.block.body;
    bool loads = true;
    if (tuple_update_of(sums->s->ctx, body, &tuple)) {
        sums->combiner = tuple.combiner;
        make_parts(sums, tuple.combiner->n);
        for (int k = 0; k < sums->n_parts; k++)
            loads &= add_part(sums, k, &tuple.targets[k], tuple.values[k]);
        return loads;
    }
    if (body->kind != ST_STORE || !store_updates(body->u.store.op))
        return false;
    const StoreStmt *store = &body->u.store;
    sums->op = store->op;
    make_parts(sums, 1);
    return add_part(sums, 0, &(BufferElement){store->buffer, store->index}, store->value);
}

int sums_part_of(const Sums *sums, const Buffer *value)
{
    for (int k = 0; k < sums->n_parts; k++)
        if (sums->parts[k].value->id == value->id)
            return k;
    return -1;
}

/* before[p] = s, of the element that is updated. */
static bool read_copy(const Sums *sums, const Stmt *stmt)
{
    Context *c = sums->s->ctx;
    const BlockStmt *block = &sums->before->u.block;
    const StoreStmt *store = &stmt->u.store;
    bool copies = stmt->kind == ST_STORE && store->op == STORE_SET && store->value->kind == EX_LOAD;
    int k = copies ? sums_part_of(sums, store->value->u.load.buffer) : -1;
    SumsPart *part = k < 0 ? NULL : &sums->parts[k];
    if (!part || part->before || !expr_equal(part->read, iters_to_loops(c, block, store->value)))
        return false;
    part->before = store->buffer;
    part->store = ARENA_ARRAY(c->arena, Expr *, store->buffer->rank + 1);
    for (int d = 0; d < store->buffer->rank; d++)
        part->store[d] = iters_to_loops(c, block, store->index[d]);
    return true;
}

static bool read_copies(const Sums *sums)
{
    const Stmt *body = sums->before->u.block.body;
    bool copies = stmt_items(body) == sums->n_parts;
    for (int k = 0; k < sums->n_parts && copies; k++)
        copies = read_copy(sums, stmt_item(body, k));
    return copies;
}

/* The sums are read before the loop stores anything: neither block changes them. */
static bool keeps_totals(const Sums *sums)
{
    Context *c = sums->s->ctx;
    for (int k = 0; k < sums->n_parts; k++) {
        const Buffer *total = sums->parts[k].total->u.load.buffer;
        if (stmt_accesses(c, sums->before, total, ACCESS_WRITE) ||
            stmt_accesses(c, sums->update, total, ACCESS_WRITE))
            return false;
    }
    return true;
}

bool sums_read(Sums *sums)
{
    bool plain = !sums->before->u.block.init && !sums->update->u.block.init;
    return plain && read_update(sums) && read_copies(sums) && keeps_totals(sums);
}

/* ---- what steps ask of them ------------------------------------------------------------------ */

bool sums_require_free(const Sums *sums)
{
    Schedule *s = sums->s;
    REQUIRE(s, sums->code, sums->span, !block_in_order(&sums->update->u.block),
            "the updates of block '%s' keep their order (@in_order), and this step adds in another "
            "one",
            stmt_label(sums->update));
    return sched_require_serial(s, sums->loop, sums->span);
}

bool sums_require_carried(const Sums *sums, const Stmt *loop)
{
    Schedule *s = sums->s;
    for (int k = 0; k < sums->n_parts; k++)
        REQUIRE(s, sums->code, sums->span, !expr_uses_var(sums->parts[k].read, loop->u.loop.var),
                "loop '%s' has an element of '%s' for each iteration, so nothing passes from one "
                "to the next",
                stmt_label(loop), sums->parts[k].value->name);
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

Name sums_name(const Sums *sums)
{
    Name of = sums->parts[0].value->name;
    Name component = sums->combiner ? sums->combiner->parts[0].name : NULL;
    size_t n = strlen(of), end = component ? strlen(component) + 1 : n;
    bool ends = component && n > end && of[n - end] == '_' && !strcmp(of + n - end + 1, component);
    return ends ? ctx_namef(sums->s->ctx, "%.*s", (int)(n - end), of) : of;
}

/* ---- new blocks ------------------------------------------------------------------------------ */

SumsIters sums_iters(const Sums *sums, int n, Var *const *at)
{
    Context *c = sums->s->ctx;
    SumsIters out = {ARENA_ARRAY(c->arena, BlockIter, n + 1), n, ARENA_ARRAY(c->arena, Subst, n),
                     n};
    for (int i = 0; i < n; i++) {
        const ForStmt *loop = &sums->loops.items[i]->u.loop;
        Var *bound = at ? at[i] : loop->var;
        out.iters[i] = (BlockIter){.var = var_new(c, bound->name, DT_INDEX, VAR_ITER, sums->span),
                                   .binding = expr_var(c, bound, sums->span),
                                   .kind = ITER_SPATIAL};
        loop_domain(c, loop, &out.iters[i].lo, &out.iters[i].hi);
        out.iters[i].lo = expr_subst(c, out.iters[i].lo, out.of_loops, i);
        out.iters[i].hi = expr_subst(c, out.iters[i].hi, out.of_loops, i);
        out.of_loops[i] = (Subst){loop->var, expr_var(c, out.iters[i].var, sums->span)};
    }
    return out;
}

Expr *sums_inside(const Sums *sums, const SumsIters *iters, Expr *e)
{
    return expr_subst(sums->s->ctx, e, iters->of_loops, iters->n_loops);
}

Expr **sums_values(const Sums *sums, const SumsIters *iters)
{
    Expr **out = ARENA_ARRAY(sums->s->ctx->arena, Expr *, sums->n_parts);
    for (int k = 0; k < sums->n_parts; k++)
        out[k] = sums_inside(sums, iters, sums->parts[k].read);
    return out;
}

Expr **sums_totals(const Sums *sums, const SumsIters *iters)
{
    Expr **out = ARENA_ARRAY(sums->s->ctx->arena, Expr *, sums->n_parts);
    for (int k = 0; k < sums->n_parts; k++)
        out[k] = sums_inside(sums, iters, sums->parts[k].total);
    return out;
}

Stmt *sums_block(const Sums *sums, const SumsIters *iters, Name name, BlockStmt of)
{
    of.name = sched_fresh_name(sums->s, name);
    of.iters = iters->iters;
    of.n_iters = iters->n;
    return stmt_block(sums->s->ctx, &of, sums->span);
}

Stmt *sums_before(const Sums *sums, const SumsIters *iters, Expr *const *values, Expr *predicate)
{
    Context *c = sums->s->ctx;
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, sums->n_parts);
    for (int k = 0; k < sums->n_parts; k++) {
        const SumsPart *part = &sums->parts[k];
        Expr **index =
            exprs_subst(c, part->store, part->before->rank, iters->of_loops, iters->n_loops);
        items[k] = stmt_set(c, (BufferElement){part->before, index}, values[k], sums->span);
    }
    BlockStmt of = sums->before->u.block;
    of.predicate = predicate;
    of.iters = iters->iters;
    of.n_iters = iters->n;
    of.instruction = NULL;
    of.body = stmt_seq(c, items, sums->n_parts, sums->span);
    return stmt_block(c, &of, sums->before->span);
}

/* What `suffix` says of the value, or of component `k` of a tuple. */
static Name part_name(const Sums *sums, int k, const char *suffix)
{
    Context *c = sums->s->ctx;
    Name base = sums_name(sums);
    return sums->combiner ? ctx_namef(c, "%s_%s_%s", base, suffix, sums->combiner->parts[k].name)
                          : ctx_namef(c, "%s_%s", base, suffix);
}

Buffer *sums_buffer(const Sums *sums, int k, const char *suffix, const Buffer *shaped)
{
    Schedule *s = sums->s;
    const Buffer *value = sums->parts[k].value;
    return buffer_new(s->ctx, &(Buffer){.name = sched_fresh_name(s, part_name(sums, k, suffix)),
                                        .type = value->type,
                                        .shape = stage_shape(s, shaped->shape, shaped->rank),
                                        .rank = shaped->rank,
                                        .scope = shaped->scope,
                                        .role = ROLE_TEMP,
                                        .span = value->span,
                                        .origin = sums->span});
}

/* ---- their operator -------------------------------------------------------------------------- */

Expr *sums_identity(const Sums *sums, int k)
{
    return sums->combiner
               ? sums->combiner->parts[k].identity
               : reducer_neutral(sums->s->ctx, sums->op, sums->parts[k].value->type, sums->span);
}

Expr **sums_combined(const Sums *sums, Expr *const *a, Expr *const *b)
{
    Context *c = sums->s->ctx;
    const Combiner *of = sums->combiner;
    Expr **out = ARENA_ARRAY(c->arena, Expr *, sums->n_parts);
    SubstList map = {0};
    for (int k = 0; of && k < of->n; k++) {
        VEC_PUSH(c->arena, &map, ((Subst){of->parts[k].a, a[k]}));
        VEC_PUSH(c->arena, &map, ((Subst){of->parts[k].b, b[k]}));
    }
    for (int i = 0; of && i < of->n_lets; i++) {
        Expr *value = expr_subst(c, of->lets[i].value, map.items, map.n);
        VEC_PUSH(c->arena, &map, ((Subst){of->lets[i].var, value}));
    }
    for (int k = 0; k < sums->n_parts; k++)
        out[k] = of ? expr_subst(c, of->parts[k].value, map.items, map.n)
                    : reducer_combine(c, &(Reducer){.op = sums->op}, a[k], b[k]);
    return out;
}

Stmt *sums_combine_into(const Sums *sums, const BufferElement *targets, Expr *const *values)
{
    Context *c = sums->s->ctx;
    if (sums->combiner)
        return tuple_update(c, &(TupleUpdate){sums->combiner, targets, values}, sums->span);
    return stmt_assign(c, *targets, sums->op, values[0], sums->span);
}

bool sums_round(const Sums *sums)
{
    bool any = false;
    for (int k = 0; k < sums->n_parts; k++)
        any |= sums->combiner ? type_is_float(sums->parts[k].value->type)
                              : reducer_rounds(sums->op, sums->parts[k].value->type);
    return any;
}
