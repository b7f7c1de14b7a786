/* lookback_blocks.c - Builds the words and blocks of a scan that looks back (lookback.c). */
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/scans/lookback.h"

/* ---- buffers --------------------------------------------------------------------------------- */

/* Words for each iteration of the loops around and each of `n`. */
static Buffer *word_buffer(const Lookback *l, const char *suffix, Expr *n)
{
    Context *c = l->of.s->ctx;
    Expr **extent = ARENA_ARRAY(c->arena, Expr *, l->of.loops.n + 1);
    for (int i = 0; i < l->of.loops.n; i++)
        extent[i] = i + 1 < l->of.loops.n ? l->of.loops.items[i]->u.loop.hi : n;
    extent[l->of.loops.n] = expr_index(c, l->n_words);
    int rank = l->of.loops.n + (l->n_words > 1);
    return buffer_new(
        c, &(Buffer){.name = sched_fresh_name(l->of.s, ctx_namef(c, "%s_%s", l->base, suffix)),
                     .type = DT_U64,
                     .shape = stage_shape(l->of.s, extent, rank),
                     .rank = rank,
                     .scope = SCOPE_GLOBAL,
                     .role = ROLE_TEMP,
                     .span = l->of.parts[0].value->span,
                     .origin = l->of.span});
}

void lookback_buffers(Lookback *l)
{
    Context *c = l->of.s->ctx;
    l->base = sums_name(&l->of);
    l->group = sched_fresh_loop_name(l->of.s, &l->of.path, "group", 0);
    l->n_groups = simplify(facts_of_kernel(c, l->of.s->kernel), index_ceildiv(c, l->n, l->members));
    l->sums = word_buffer(l, "sums", l->n);
    l->groups = word_buffer(l, "groups", l->n_groups);
    for (int k = 0; k < l->of.n_parts; k++) {
        l->parts[k].near = sums_buffer(&l->of, k, "near", &(Buffer){.scope = SCOPE_GLOBAL});
        l->parts[k].far = sums_buffer(&l->of, k, "far", &(Buffer){.scope = SCOPE_GLOBAL});
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static BlockIter new_iter(const Lookback *l, const ForStmt *loop, IterKind kind)
{
    Context *c = l->of.s->ctx;
    return (BlockIter){.var = var_new(c, loop->var->name, DT_INDEX, VAR_ITER, l->of.span),
                       .lo = expr_index(c, 0),
                       .hi = loop->hi,
                       .binding = expr_var(c, loop->var, l->of.span),
                       .kind = kind};
}

static SumsIters new_iters(const Lookback *l)
{
    return sums_iters(&l->of, l->of.loops.n, NULL);
}

/* The number of the chunk, and the value of the iterator that the block adds. */
static Expr *chunk_of(const Lookback *l, const SumsIters *iters)
{
    return iters->of_loops[l->of.loops.n - 1].value;
}

static Expr *added_to(const Lookback *l, const SumsIters *iters)
{
    return expr_var(l->of.s->ctx, iters->iters[l->of.loops.n].var, l->of.span);
}

/* The subscripts of word `number` at `at`. */
static Expr **word_index(const Lookback *l, const SumsIters *iters, Expr *at, int number)
{
    Context *c = l->of.s->ctx;
    Expr **index = ARENA_ARRAY(c->arena, Expr *, l->of.loops.n + 1);
    for (int i = 0; i + 1 < l->of.loops.n; i++)
        index[i] = iters->of_loops[i].value;
    index[l->of.loops.n - 1] = at;
    index[l->of.loops.n] = expr_index(c, number);
    return index;
}

/* Word `number` at `to`, whose subscript is that along the loop. */
static Stmt *set_word(const Lookback *l, const SumsIters *iters, BufferElement to, int number,
                      Expr *value)
{
    to.index = word_index(l, iters, to.index[0], number);
    return stmt_set(l->of.s->ctx, to, value, l->of.span);
}

static Stmt *in_order(const Lookback *l, const StmtList *items)
{
    return stmt_seq(l->of.s->ctx, items->items, items->n, l->of.span);
}

/* Stores the words of `values` [n_parts] at `at`. */
static void add_words(const Lookback *l, const SumsIters *iters, BufferElement to,
                      Expr *const *values, StmtList *out)
{
    Context *c = l->of.s->ctx;
    for (int k = 0; k < l->of.n_parts; k++)
        for (int w = 0; w < words_of(values[k]->type); w++)
            VEC_PUSH(c->arena, out,
                     set_word(l, iters, to, l->parts[k].first_word + w, word_of(c, values[k], w)));
}

static Expr *reads(const Lookback *l, Buffer *scalar)
{
    return expr_load(l->of.s->ctx, scalar, NULL, l->of.span);
}

/* sums[p] = words(total[p]); */
static Stmt *publish(const Lookback *l)
{
    SumsIters iters = new_iters(l);
    Expr *at = chunk_of(l, &iters);
    StmtList items = {0};
    add_words(l, &iters, (BufferElement){l->sums, &at}, sums_totals(&l->of, &iters), &items);
    return sums_block(&l->of, &iters, l->sums->name, (BlockStmt){.body = in_order(l, &items)});
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
    Expr **out = ARENA_ARRAY(l->of.s->ctx->arena, Expr *, l->of.n_parts);
    for (int k = 0; k < l->of.n_parts; k++)
        out[k] = reads(l, sum_of(look, &l->parts[k]));
    return out;
}

static Expr *loop_value(const Lookback *l)
{
    return expr_var(l->of.s->ctx, l->of.loop->u.loop.var, l->of.span);
}

/* groups[p / m] = words(near op total[p]), in the last iteration of the group. */
static Stmt *publish_group(const Lookback *l, const Look *near)
{
    Context *c = l->of.s->ctx;
    SumsIters iters = new_iters(l);
    Expr *p = loop_value(l), *one = expr_index(c, 1);
    iters.iters[iters.n++] =
        (BlockIter){.var = var_new(c, l->group, DT_INDEX, VAR_ITER, l->of.span),
                    .lo = expr_index(c, 0),
                    .hi = l->n_groups,
                    .binding = index_div(c, p, l->members),
                    .kind = ITER_SPATIAL};
    Expr *at = added_to(l, &iters);
    StmtList items = {0};
    add_words(l, &iters, (BufferElement){l->groups, &at},
              sums_combined(&l->of, sums_of(l, near), sums_totals(&l->of, &iters)), &items);
    Expr *is_last = expr_binary(c, EX_EQ, index_mod(c, p, l->members),
                                index_sub(c, l->members, one), l->of.span);
    return sums_block(&l->of, &iters, l->groups->name,
                      (BlockStmt){.predicate = is_last, .body = in_order(l, &items)});
}

/* The number of word `q`; and the condition that it belongs to what comes before iteration `p`. */
static Expr *word_number(const Lookback *l, const Look *look, Expr *p, Expr *q)
{
    Context *c = l->of.s->ctx;
    Expr *first = index_mul(c, index_div(c, p, l->members), l->members);
    return look->of_group ? index_add(c, first, q) : q;
}

static Expr *comes_before(const Lookback *l, const Look *look, Expr *p, Expr *q)
{
    Context *c = l->of.s->ctx;
    Expr *end = look->of_group ? p : index_div(c, p, l->members);
    return expr_binary(c, EX_LT, word_number(l, look, p, q), end, l->of.span);
}

/* sum op= value(await(words[at])); */
static Stmt *add_awaited(const Lookback *l, const Look *look, const SumsIters *iters, Expr *at)
{
    Context *c = l->of.s->ctx;
    Expr **values = ARENA_ARRAY(c->arena, Expr *, l->of.n_parts);
    BufferElement *sums = ARENA_ARRAY(c->arena, BufferElement, l->of.n_parts);
    for (int k = 0; k < l->of.n_parts; k++) {
        const LookbackPart *part = &l->parts[k];
        DType type = l->of.parts[k].value->type;
        Expr *elements[2];
        for (int w = 0; w < words_of(type); w++)
            elements[w] = expr_load(c, look->words, word_index(l, iters, at, part->first_word + w),
                                    l->of.span);
        values[k] = value_of_words(c, type, elements);
        sums[k] = (BufferElement){sum_of(look, part), NULL};
    }
    return sums_combine_into(&l->of, sums, values);
}

static Stmt *init_sums(const Lookback *l, const Look *look)
{
    Context *c = l->of.s->ctx;
    StmtList items = {0};
    for (int k = 0; k < l->of.n_parts; k++) {
        BufferElement sum = {sum_of(look, &l->parts[k]), NULL};
        VEC_PUSH(c->arena, &items, stmt_set(c, sum, sums_identity(&l->of, k), l->of.span));
    }
    return in_order(l, &items);
}

/* for q in n  where ...  sum op= value(await(words[...])); */
static Stmt *look_back(const Lookback *l, const Look *look, Stmt **block)
{
    Context *c = l->of.s->ctx;
    Name name =
        look->of_group ? sched_fresh_loop_name(l->of.s, &l->of.path, "member", 0) : l->group;
    ForStmt loop = flow_loop(l->of.s, name, expr_index(c, 0), look->n);
    SumsIters iters = new_iters(l);
    iters.iters[iters.n++] = new_iter(l, &loop, ITER_REDUCE);
    Expr *at = word_number(l, look, chunk_of(l, &iters), added_to(l, &iters));
    Expr *q = expr_var(c, loop.var, l->of.span);
    BlockStmt of = {.predicate = comes_before(l, look, loop_value(l), q),
                    .init = init_sums(l, look),
                    .body = add_awaited(l, look, &iters, at)};
    Name sum = ctx_namef(c, "%s_%s", l->base, look->of_group ? "near" : "far");
    *block =
        sums_block(&l->of, &iters, l->of.combiner ? sum : sum_of(look, &l->parts[0])->name, of);
    loop.body = *block;
    return stmt_for(c, &loop, l->of.span);
}

/* before[p] = s op (far op near), by the block that has done so. */
static Stmt *start_of_chunk(const Lookback *l, const Look *near, const Look *far)
{
    SumsIters iters = new_iters(l);
    Expr **value = sums_values(&l->of, &iters);
    for (int k = 0; k < l->of.n_parts; k++)
        value[k] = l->parts[k].start ? l->parts[k].start : value[k];
    Expr **start =
        sums_combined(&l->of, value, sums_combined(&l->of, sums_of(l, far), sums_of(l, near)));
    return sums_before(&l->of, &iters, start, l->of.before->u.block.predicate);
}

/* s = before[p] op total[p], in the last iteration. */
static Stmt *end_of_value(const Lookback *l)
{
    Context *c = l->of.s->ctx;
    SumsIters iters = new_iters(l);
    StmtList items = {0};
    Expr **before = ARENA_ARRAY(c->arena, Expr *, l->of.n_parts);
    Expr **value = sums_values(&l->of, &iters);
    for (int k = 0; k < l->of.n_parts; k++) {
        const SumsPart *part = &l->of.parts[k];
        Expr *at = expr_load(c, part->before, part->store, l->of.span);
        before[k] = sums_inside(&l->of, &iters, at);
    }
    Expr **end = sums_combined(&l->of, before, sums_totals(&l->of, &iters));
    for (int k = 0; k < l->of.n_parts; k++)
        VEC_PUSH(c->arena, &items,
                 stmt_set(c, (BufferElement){l->of.parts[k].value, value[k]->u.load.index}, end[k],
                          l->of.span));
    Expr *last = index_sub(c, l->n, expr_index(c, 1));
    Expr *is_last = expr_binary(c, EX_EQ, loop_value(l), last, l->of.span);
    return sums_block(&l->of, &iters, ctx_namef(c, "%s_end", l->base),
                      (BlockStmt){.predicate = is_last, .body = in_order(l, &items)});
}

/* ---- together ------------------------------------------------------------------------------ */

Stmt *lookback_loop(const Lookback *l, Stmt **block)
{
    Context *c = l->of.s->ctx;
    Look near = {l->sums, l->members, true}, far = {l->groups, l->n_groups, false};
    StmtList items = {0};
    for (int k = 0; k < l->of.n_parts; k++) {
        VEC_PUSH(c->arena, &items, stmt_temp(c, l->parts[k].near, l->of.span));
        VEC_PUSH(c->arena, &items, stmt_temp(c, l->parts[k].far, l->of.span));
    }
    block[0] = publish(l);
    VEC_PUSH(c->arena, &items, block[0]);
    VEC_PUSH(c->arena, &items, look_back(l, &near, &block[1]));
    VEC_PUSH(c->arena, &items, publish_group(l, &near));
    VEC_PUSH(c->arena, &items, look_back(l, &far, &block[2]));
    VEC_PUSH(c->arena, &items, start_of_chunk(l, &near, &far));
    if (l->is_read)
        VEC_PUSH(c->arena, &items, end_of_value(l));
    return loop_with_body(c, l->of.loop, stmt_seq(c, items.items, items.n, l->of.loop->span));
}
