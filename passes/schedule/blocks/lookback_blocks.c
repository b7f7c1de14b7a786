/* lookback_blocks.c - Builds the words and blocks of a scan that looks back (lookback.c). */
#include <string.h>

#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/blocks/lookback.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/loops/loop.h"

/* ---- buffers --------------------------------------------------------------------------------- */

/* "best" of a tuple of best_value and best_index. */
static Name common_name(const Lookback *l)
{
    Name of = l->parts[0].value->name;
    Name component = l->combiner ? l->combiner->parts[0].name : NULL;
    size_t n = strlen(of), end = component ? strlen(component) + 1 : n;
    bool ends = component && n > end && of[n - end] == '_' && !strcmp(of + n - end + 1, component);
    return ends ? ctx_namef(l->s->ctx, "%.*s", (int)(n - end), of) : of;
}

/* Words for each iteration of the loops around and each of `n`. */
static Buffer *word_buffer(const Lookback *l, const char *suffix, Expr *n)
{
    Context *c = l->s->ctx;
    Expr **extent = ARENA_ARRAY(c->arena, Expr *, l->loops.n + 1);
    for (int i = 0; i < l->loops.n; i++)
        extent[i] = i + 1 < l->loops.n ? l->loops.items[i]->u.loop.hi : n;
    extent[l->loops.n] = expr_index(c, l->n_words);
    int rank = l->loops.n + (l->n_words > 1);
    Buffer *out = buffer_new(
        c, &(Buffer){.name = sched_fresh_name(l->s, ctx_namef(c, "%s_%s", l->base, suffix)),
                     .type = DT_U64,
                     .shape = stage_shape(l->s, extent, rank),
                     .rank = rank,
                     .scope = SCOPE_GLOBAL,
                     .role = ROLE_TEMP,
                     .span = l->parts[0].value->span});
    out->origin = l->span;
    return out;
}

static Name sum_name(const Lookback *l, int k, const char *suffix)
{
    Context *c = l->s->ctx;
    return l->combiner ? ctx_namef(c, "%s_%s_%s", l->base, suffix, l->combiner->parts[k].name)
                       : ctx_namef(c, "%s_%s", l->base, suffix);
}

static Buffer *sum_buffer(const Lookback *l, int k, const char *suffix)
{
    const Buffer *value = l->parts[k].value;
    Buffer *out =
        buffer_new(l->s->ctx, &(Buffer){.name = sched_fresh_name(l->s, sum_name(l, k, suffix)),
                                        .type = value->type,
                                        .scope = SCOPE_GLOBAL,
                                        .role = ROLE_TEMP,
                                        .span = value->span});
    out->origin = l->span;
    return out;
}

void lookback_buffers(Lookback *l)
{
    Context *c = l->s->ctx;
    l->base = common_name(l);
    l->n_groups = simplify(facts_of_kernel(c, l->s->kernel), index_ceildiv(c, l->n, l->members));
    l->sums = word_buffer(l, "sums", l->n);
    l->groups = word_buffer(l, "groups", l->n_groups);
    for (int k = 0; k < l->n_parts; k++) {
        l->parts[k].near = sum_buffer(l, k, "near");
        l->parts[k].far = sum_buffer(l, k, "far");
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The iterators of a new block: one for each loop, and one more that the block may add. */
typedef struct {
    BlockIter *iters;
    int n;
    Subst *of_loops;
} Iters;

static BlockIter new_iter(const Lookback *l, const ForStmt *loop, IterKind kind)
{
    Context *c = l->s->ctx;
    return (BlockIter){.var = var_new(c, loop->var->name, DT_INDEX, VAR_ITER, l->span),
                       .lo = expr_index(c, 0),
                       .hi = loop->hi,
                       .binding = expr_var(c, loop->var, l->span),
                       .kind = kind};
}

static Iters new_iters(const Lookback *l)
{
    Context *c = l->s->ctx;
    int n = l->loops.n;
    Iters out = {ARENA_ARRAY(c->arena, BlockIter, n + 1), n, ARENA_ARRAY(c->arena, Subst, n)};
    for (int i = 0; i < n; i++) {
        const ForStmt *loop = &l->loops.items[i]->u.loop;
        out.iters[i] = new_iter(l, loop, ITER_SPATIAL);
        out.of_loops[i] = (Subst){loop->var, expr_var(c, out.iters[i].var, l->span)};
    }
    return out;
}

/* An expression of the loops in terms of the iterators. */
static Expr *inside(const Lookback *l, const Iters *iters, Expr *e)
{
    return expr_subst(l->s->ctx, e, iters->of_loops, l->loops.n);
}

/* The number of the chunk, and the value of the iterator that the block adds. */
static Expr *chunk_of(const Lookback *l, const Iters *iters)
{
    return iters->of_loops[l->loops.n - 1].value;
}

static Expr *added_to(const Lookback *l, const Iters *iters)
{
    return expr_var(l->s->ctx, iters->iters[l->loops.n].var, l->span);
}

static Stmt *block_of(const Lookback *l, const Iters *iters, Name name, BlockStmt of)
{
    of.name = sched_fresh_name(l->s, name);
    of.iters = iters->iters;
    of.n_iters = iters->n;
    return stmt_block(l->s->ctx, &of, l->span);
}

/* The subscripts of word `number` at `at`. */
static Expr **word_index(const Lookback *l, const Iters *iters, Expr *at, int number)
{
    Context *c = l->s->ctx;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, l->loops.n + 1);
    for (int i = 0; i + 1 < l->loops.n; i++)
        index[i] = iters->of_loops[i].value;
    index[l->loops.n - 1] = at;
    index[l->loops.n] = expr_index(c, number);
    return index;
}

static Stmt *store_to(const Lookback *l, Buffer *buffer, Expr *const *index, Expr *value)
{
    return stmt_store(
        l->s->ctx, &(StoreStmt){.buffer = buffer, .index = index, .op = STORE_SET, .value = value},
        l->span);
}

static Stmt *in_order(const Lookback *l, const StmtList *items)
{
    return items->n == 1 ? items->items[0] : stmt_seq(l->s->ctx, items->items, items->n, l->span);
}

Stmt *lookback_clear(const Lookback *l, Buffer *words)
{
    Context *c = l->s->ctx;
    Expr **index;
    StageNest nest = stage_over(c, words, NULL, l->span, &index);
    nest.block = sched_fresh_name(l->s, ctx_namef(c, "%s_clear", words->name));
    nest.body = store_to(l, words, index, expr_int(c, DT_U64, 0, span_none()));
    return stage_nest(l->s, &nest, l->span);
}

/* Stores the words of `values` [n_parts] at `at`. */
static void add_words(const Lookback *l, const Iters *iters, BufferElement to, Expr *const *values,
                      StmtList *out)
{
    Context *c = l->s->ctx;
    for (int k = 0; k < l->n_parts; k++)
        for (int w = 0; w < words_of(values[k]->type); w++)
            VEC_PUSH(c->arena, out,
                     store_to(l, to.buffer,
                              word_index(l, iters, to.index[0], l->parts[k].first_word + w),
                              word_of(c, values[k], w)));
}

static Expr *reads(const Lookback *l, Buffer *scalar)
{
    return expr_load(l->s->ctx, scalar, NULL, l->span);
}

/* total[p]. */
static Expr **totals(const Lookback *l, const Iters *iters)
{
    Expr **out = ARENA_ARRAY(l->s->ctx->arena, Expr *, l->n_parts);
    for (int k = 0; k < l->n_parts; k++)
        out[k] = inside(l, iters, l->parts[k].total);
    return out;
}

/* sums[p] = words(total[p]); */
static Stmt *publish(const Lookback *l)
{
    Iters iters = new_iters(l);
    Expr *at = chunk_of(l, &iters);
    StmtList items = {0};
    add_words(l, &iters, (BufferElement){l->sums, &at}, totals(l, &iters), &items);
    return block_of(l, &iters, l->sums->name, (BlockStmt){.body = in_order(l, &items)});
}

/* targets = targets op values. */
static Stmt *combine_into(const Lookback *l, const TupleElement *targets, Expr *const *values)
{
    Context *c = l->s->ctx;
    if (l->combiner)
        return tuple_update(c, &(TupleUpdate){l->combiner, targets, values}, l->span);
    return stmt_store(
        c,
        &(StoreStmt){
            .buffer = targets->buffer, .index = targets->index, .op = l->op, .value = values[0]},
        l->span);
}

/* a op b, of all components. */
static Expr **combined(const Lookback *l, Expr *const *a, Expr *const *b)
{
    Context *c = l->s->ctx;
    const Combiner *of = l->combiner;
    Expr **out = ARENA_ARRAY(c->arena, Expr *, l->n_parts);
    SubstList map = {0};
    for (int k = 0; of && k < of->n; k++) {
        VEC_PUSH(c->arena, &map, ((Subst){of->parts[k].a, a[k]}));
        VEC_PUSH(c->arena, &map, ((Subst){of->parts[k].b, b[k]}));
    }
    for (int i = 0; of && i < of->n_lets; i++) {
        Expr *value = expr_subst(c, of->lets[i].value, map.items, map.n);
        VEC_PUSH(c->arena, &map, ((Subst){of->lets[i].var, value}));
    }
    for (int k = 0; k < l->n_parts; k++)
        out[k] = of ? expr_subst(c, of->parts[k].value, map.items, map.n)
                    : reducer_combine(c, &(Reducer){.op = l->op}, a[k], b[k]);
    return out;
}

/* What an iteration adds up: words[first + q] for q in n, up to the first that is not `before`. */
typedef struct {
    Buffer *words;
    Expr *n;
    bool of_group; /* words of the iterations of its group, else of the groups */
} Look;

static Buffer *sum_of(const Look *look, const LookbackPart *part)
{
    return look->of_group ? part->near : part->far;
}

static Expr **sums_of(const Lookback *l, const Look *look)
{
    Expr **out = ARENA_ARRAY(l->s->ctx->arena, Expr *, l->n_parts);
    for (int k = 0; k < l->n_parts; k++)
        out[k] = reads(l, sum_of(look, &l->parts[k]));
    return out;
}

static Expr *loop_value(const Lookback *l)
{
    return expr_var(l->s->ctx, l->loop->u.loop.var, l->span);
}

/* groups[p / m] = words(near op total[p]), in the last iteration of the group. */
static Stmt *publish_group(const Lookback *l, const Look *near)
{
    Context *c = l->s->ctx;
    Iters iters = new_iters(l);
    Expr *p = loop_value(l), *one = expr_index(c, 1);
    iters.iters[iters.n++] =
        (BlockIter){.var = var_new(c, ctx_namef(c, "group"), DT_INDEX, VAR_ITER, l->span),
                    .lo = expr_index(c, 0),
                    .hi = l->n_groups,
                    .binding = index_div(c, p, l->members),
                    .kind = ITER_SPATIAL};
    Expr *at = added_to(l, &iters);
    StmtList items = {0};
    add_words(l, &iters, (BufferElement){l->groups, &at},
              combined(l, sums_of(l, near), totals(l, &iters)), &items);
    Expr *is_last =
        expr_binary(c, EX_EQ, index_mod(c, p, l->members), index_sub(c, l->members, one), l->span);
    return block_of(l, &iters, l->groups->name,
                    (BlockStmt){.predicate = is_last, .body = in_order(l, &items)});
}

/* The number of word `q`; and the condition that it belongs to what comes before iteration `p`. */
static Expr *word_number(const Lookback *l, const Look *look, Expr *p, Expr *q)
{
    Context *c = l->s->ctx;
    Expr *first = index_mul(c, index_div(c, p, l->members), l->members);
    return look->of_group ? index_add(c, first, q) : q;
}

static Expr *comes_before(const Lookback *l, const Look *look, Expr *p, Expr *q)
{
    Context *c = l->s->ctx;
    Expr *end = look->of_group ? p : index_div(c, p, l->members);
    return expr_binary(c, EX_LT, word_number(l, look, p, q), end, l->span);
}

/* sum op= value(await(words[at])); */
static Stmt *add_awaited(const Lookback *l, const Look *look, const Iters *iters, Expr *at)
{
    Context *c = l->s->ctx;
    Expr **values = ARENA_ARRAY(c->arena, Expr *, l->n_parts);
    TupleElement *sums = ARENA_ARRAY(c->arena, TupleElement, l->n_parts);
    for (int k = 0; k < l->n_parts; k++) {
        const LookbackPart *part = &l->parts[k];
        Expr *elements[2];
        for (int w = 0; w < words_of(part->value->type); w++)
            elements[w] =
                expr_load(c, look->words, word_index(l, iters, at, part->first_word + w), l->span);
        values[k] = value_of_words(c, part->value->type, elements);
        sums[k] = (TupleElement){sum_of(look, part), NULL};
    }
    return combine_into(l, sums, values);
}

static Stmt *init_sums(const Lookback *l, const Look *look)
{
    Context *c = l->s->ctx;
    StmtList items = {0};
    for (int k = 0; k < l->n_parts; k++) {
        Buffer *sum = sum_of(look, &l->parts[k]);
        Expr *start = l->combiner ? l->combiner->parts[k].identity
                                  : reducer_neutral(c, l->op, sum->type, l->span);
        VEC_PUSH(c->arena, &items, store_to(l, sum, NULL, start));
    }
    return in_order(l, &items);
}

/* for q in n  where ...  sum op= value(await(words[...])); */
static Stmt *look_back(const Lookback *l, const Look *look, Stmt **block)
{
    Context *c = l->s->ctx;
    Name name = ctx_namef(c, "%s", look->of_group ? "member" : "group");
    ForStmt loop = flow_loop(l->s, name, expr_index(c, 0), look->n);
    Iters iters = new_iters(l);
    iters.iters[iters.n++] = new_iter(l, &loop, ITER_REDUCE);
    Expr *at = word_number(l, look, chunk_of(l, &iters), added_to(l, &iters));
    Expr *q = expr_var(c, loop.var, l->span);
    BlockStmt of = {.predicate = comes_before(l, look, loop_value(l), q),
                    .init = init_sums(l, look),
                    .body = add_awaited(l, look, &iters, at)};
    Name sum = ctx_namef(c, "%s_%s", l->base, look->of_group ? "near" : "far");
    *block = block_of(l, &iters, l->combiner ? sum : sum_of(look, &l->parts[0])->name, of);
    loop.body = *block;
    return stmt_for(c, &loop, l->span);
}

/* before[p] = s op (far op near), by the block that has done so. */
static Stmt *start_of_chunk(const Lookback *l, const Look *near, const Look *far)
{
    Context *c = l->s->ctx;
    Iters iters = new_iters(l);
    Expr **value = ARENA_ARRAY(c->arena, Expr *, l->n_parts);
    for (int k = 0; k < l->n_parts; k++)
        value[k] = l->parts[k].start ? l->parts[k].start : inside(l, &iters, l->parts[k].read);
    Expr **start = combined(l, value, combined(l, sums_of(l, far), sums_of(l, near)));
    StmtList items = {0};
    for (int k = 0; k < l->n_parts; k++) {
        const LookbackPart *part = &l->parts[k];
        Expr **index = ARENA_ARRAY(c->arena, Expr *, part->before->rank + 1);
        for (int d = 0; d < part->before->rank; d++)
            index[d] = inside(l, &iters, part->store[d]);
        VEC_PUSH(c->arena, &items, store_to(l, part->before, index, start[k]));
    }
    BlockStmt of = l->before->u.block;
    of.iters = iters.iters;
    of.n_iters = iters.n;
    of.instruction = NULL;
    of.body = in_order(l, &items);
    return stmt_block(c, &of, l->before->span);
}

/* ---- together ------------------------------------------------------------------------------ */

Stmt *lookback_loop(const Lookback *l, Stmt **block)
{
    Context *c = l->s->ctx;
    Look near = {l->sums, l->members, true}, far = {l->groups, l->n_groups, false};
    StmtList items = {0};
    for (int k = 0; k < l->n_parts; k++) {
        VEC_PUSH(c->arena, &items, stmt_temp(c, l->parts[k].near, l->span));
        VEC_PUSH(c->arena, &items, stmt_temp(c, l->parts[k].far, l->span));
    }
    block[0] = publish(l);
    VEC_PUSH(c->arena, &items, block[0]);
    VEC_PUSH(c->arena, &items, look_back(l, &near, &block[1]));
    VEC_PUSH(c->arena, &items, publish_group(l, &near));
    VEC_PUSH(c->arena, &items, look_back(l, &far, &block[2]));
    VEC_PUSH(c->arena, &items, start_of_chunk(l, &near, &far));
    return loop_with_body(c, l->loop, stmt_seq(c, items.items, items.n, l->loop->span));
}
