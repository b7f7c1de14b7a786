/* lookback.c - Implements lookback: turns the scan of the sums of chunks into one whose iterations
 * can run in different blocks of the grid, which wait for the sums of those before them.
 *
 *   for p in P {             for p in P { sums[p] = 0; }    for g in P / 32 { groups[g] = 0; }
 *       before[p] = s;       for p in P {
 *       s += total[p]; }         sums[p] = word(total[p]);
 *                       =>       near = 0;
 *                                for q in 32 where p / 32 * 32 + q < p
 *                                    near += value(await(sums[p / 32 * 32 + q]));
 *                                where p % 32 == 31: groups[p / 32] = word(near + total[p]);
 *                                far = 0;
 *                                for g in P / 32 where g < p / 32
 *                                    far += value(await(groups[g]));
 *                                before[p] = s + (far + near); }
 *
 * A word holds a value of at most 32 bits and a flag, so one access publishes both, and no fence is
 * needed. Decoupled look-back (Merrill and Garland, 2016) ends at the nearest iteration that
 * already knows what stands before it, so its sums depend on time. Here a group of iterations
 * publishes its sum, and each iteration adds the same sums in the same order in every run.
 *
 * Legal: the loop is the scan of sums that scan_chunks makes, with nothing around it, and nothing
 * reads the value behind it.
 * Invariant: each word is 0, then written once, by an iteration before those that await it. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

/* The flag is bit 0 of a word, and the value is in its upper half. */
enum { VALUE_BIT = 32, WORDS_PER_GROUP = 256 };

typedef struct {
    Schedule *s;
    Span span;
    StmtPath path; /* to the block of what stands before a chunk; then: to the loop */
    Stmt *loop, *before, *update;
    const StoreStmt *copy, *sum;  /* before[p] = s; s += total[p] */
    Expr *n, *n_groups, *members; /* iterations, groups, iterations of a group */
    Buffer *sums, *groups;        /* words */
    Buffer *near, *far;           /* sums of words */
} Lookback;

/* ---- which loop ------------------------------------------------------------------------------ */

/* The loop holds two blocks of one store each, the given one first. */
static bool find_blocks(Lookback *l, const Value *before)
{
    Schedule *s = l->s;
    l->before = sched_block(s, before, &l->path);
    l->path.n--;
    while (l->path.n > 0 && l->path.items[l->path.n - 1]->kind == ST_SEQ)
        l->path.n--;
    bool in_loop = l->path.n > 0 && l->path.items[l->path.n - 1]->kind == ST_FOR;
    REQUIRE(s, E0486, l->span, in_loop,
            "block '%s' is not directly in a loop; it is the second block that scan_chunks gives",
            stmt_label(l->before));
    l->loop = l->path.items[l->path.n - 1];
    StmtList blocks = stmts_of_kind(s->ctx, l->loop, ST_BLOCK);
    bool pair = blocks.n == 2 && blocks.items[0] == l->before;
    const Stmt *copy = pair ? flow_single_store(s->ctx, blocks.items[0]) : NULL;
    const Stmt *sum = pair ? flow_single_store(s->ctx, blocks.items[1]) : NULL;
    REQUIRE(s, E0486, l->span, copy && sum,
            "loop '%s' is not the scan of the sums of chunks, which has two blocks of one store, "
            "as in  before[p] = s; s += total[p];",
            stmt_label(l->loop));
    l->update = blocks.items[1];
    l->copy = &copy->u.store;
    l->sum = &sum->u.store;
    return true;
}

/* `e` is an element of a buffer with one axis, which the block's only iterator gives: an element
 * for each iteration of the loop. */
static bool is_of_iteration(const Lookback *l, const Stmt *block, const Buffer *buffer,
                            Expr *const *index)
{
    const BlockStmt *b = &block->u.block;
    const Expr *binding = b->n_iters == 1 ? b->iters[0].binding : NULL;
    return binding && binding->kind == EX_VAR && binding->u.var == l->loop->u.loop.var &&
           !b->predicate && !b->init && buffer->rank == 1 && index[0]->kind == EX_VAR &&
           index[0]->u.var == b->iters[0].var;
}

/* before[p] = s; s op= total[p]. */
static bool is_scan_of_sums(const Lookback *l)
{
    const Expr *value = l->copy->value, *total = l->sum->value;
    return l->copy->op == STORE_SET && store_updates(l->sum->op) && value->kind == EX_LOAD &&
           total->kind == EX_LOAD && value->u.load.buffer == l->sum->buffer &&
           total->u.load.buffer->id != l->sum->buffer->id && l->sum->buffer->rank == 0 &&
           is_of_iteration(l, l->before, l->copy->buffer, l->copy->index) &&
           is_of_iteration(l, l->update, total->u.load.buffer, total->u.load.index);
}

static bool check_form(const Lookback *l)
{
    Schedule *s = l->s;
    int64_t lo;
    const ForStmt *loop = &l->loop->u.loop;
    REQUIRE(s, E0486, l->span, sched_loops_on(s, &l->path, NULL) == 1,
            "loop '%s' is in another loop, whose iterations would need flags of their own; only a "
            "scan of one row looks back",
            stmt_label(l->loop));
    REQUIRE(s, E0486, l->span, is_scan_of_sums(l),
            "loop '%s' is not the scan of the sums of chunks, as in  before[p] = s; s += "
            "total[p];, with one number for each chunk",
            stmt_label(l->loop));
    REQUIRE(s, E0486, l->span, !block_in_order(&l->update->u.block),
            "the updates of block '%s' keep their order (@in_order), and blocks that look back add "
            "in another one",
            stmt_label(l->update));
    REQUIRE(s, E0486, l->span, expr_is_const(loop->lo, &lo) && lo == 0 && loop->step == 1,
            "the values of loop '%s' are not 0, 1, 2, ...", stmt_label(l->loop));
    REQUIRE(s, E0486, l->span, type_info(l->sum->buffer->type)->bits <= VALUE_BIT,
            "'%s' is %s, but a word of 64 bits holds a flag and a value of at most 32",
            l->sum->buffer->name, type_info(l->sum->buffer->type)->name);
    return sched_require_serial(s, l->loop, l->span);
}

/* Without the loop nothing adds up the value. */
static bool check_unread(const Lookback *l)
{
    Schedule *s = l->s;
    BlockList readers = {0};
    flow_blocks(s, s->kernel->body, l->sum->buffer, ACCESS_READ, &readers);
    for (int i = 0; i < readers.n; i++)
        REQUIRE(s, E0486, l->span, readers.items[i] == l->before || readers.items[i] == l->update,
                "block '%s' reads '%s', which has no value behind a scan that looks back",
                stmt_label(readers.items[i]), l->sum->buffer->name);
    REQUIRE(s, E0486, l->span, l->sum->buffer->role == ROLE_TEMP,
            "'%s' is an output, which has no value behind a scan that looks back",
            l->sum->buffer->name);
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static Expr *u64(Context *c, int64_t value)
{
    return expr_int(c, DT_U64, value, span_none());
}

/* A value with the flag. */
static Expr *word_of(const Lookback *l, Expr *value)
{
    Context *c = l->s->ctx;
    DType bits = type_of_bits(type_info(value->type)->bits);
    Expr *held = value->type == bits ? value : expr_bitcast(c, bits, value, l->span);
    Expr *high =
        expr_binary(c, EX_SHL, expr_cast(c, DT_U64, held, l->span), u64(c, VALUE_BIT), l->span);
    return expr_binary(c, EX_BITOR, high, u64(c, 1), l->span);
}

/* The value in a word, once it is there. */
static Expr *awaited(const Lookback *l, Buffer *words, Expr *at)
{
    Context *c = l->s->ctx;
    DType type = l->sum->buffer->type, bits = type_of_bits(type_info(type)->bits);
    Expr *element = expr_load(c, words, &at, l->span);
    Expr *word = expr_call(c, CALL_AWAIT, &element, l->span);
    Expr *held =
        expr_cast(c, bits, expr_binary(c, EX_SHR, word, u64(c, VALUE_BIT), l->span), l->span);
    return type == bits ? held : expr_bitcast(c, type, held, l->span);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Iterators that are called like the loops or values that they are bound to. */
static BlockIter iter_of(const Lookback *l, Name name, IterKind kind, Expr *binding, Expr *extent)
{
    Context *c = l->s->ctx;
    return (BlockIter){.var = var_new(c, name, DT_INDEX, VAR_ITER, l->span),
                       .lo = expr_index(c, 0),
                       .hi = extent,
                       .binding = binding,
                       .kind = kind};
}

static Expr *value_of(const Lookback *l, const BlockIter *iter)
{
    return expr_var(l->s->ctx, iter->var, l->span);
}

static Expr *loop_value(const Lookback *l, const ForStmt *loop)
{
    return expr_var(l->s->ctx, loop->var, l->span);
}

/* The iterator of the number of a chunk, in the loop. */
static BlockIter chunk_iter(const Lookback *l)
{
    const ForStmt *loop = &l->loop->u.loop;
    return iter_of(l, loop->var->name, ITER_SPATIAL, loop_value(l, loop), l->n);
}

static Stmt *store_to(const Lookback *l, const StoreStmt *store)
{
    return stmt_store(l->s->ctx, store, l->span);
}

static Stmt *in_loop(const Lookback *l, ForStmt *loop, Stmt *body)
{
    loop->body = body;
    return stmt_for(l->s->ctx, loop, l->span);
}

/* for p in n { words[p] = 0; } */
static Stmt *clear(const Lookback *l, Buffer *words, Expr *n, Stmt **block)
{
    Context *c = l->s->ctx;
    ForStmt loop = flow_loop(l->s, words->name, expr_index(c, 0), n);
    loop.var = var_new(c, l->loop->u.loop.var->name, DT_INDEX, VAR_LOOP, l->span);
    BlockIter at = iter_of(l, loop.var->name, ITER_SPATIAL, loop_value(l, &loop), n);
    Expr *index = value_of(l, &at);
    BlockStmt of = {
        .name = sched_fresh_name(l->s, ctx_namef(c, "%s_clear", words->name)),
        .iters = &at,
        .n_iters = 1,
        .body = store_to(l, &(StoreStmt){.buffer = words, .index = &index, .value = u64(c, 0)})};
    *block = stmt_block(c, &of, l->span);
    return in_loop(l, &loop, *block);
}

/* total[p] in terms of the iterator. */
static Expr *total_at(const Lookback *l, const BlockIter *chunk)
{
    Expr *at = value_of(l, chunk);
    return expr_load(l->s->ctx, l->sum->value->u.load.buffer, &at, l->span);
}

/* sums[p] = word(total[p]); */
static Stmt *publish(const Lookback *l)
{
    Context *c = l->s->ctx;
    BlockIter chunk = chunk_iter(l);
    Expr *at = value_of(l, &chunk);
    BlockStmt of = {.name = sched_fresh_name(l->s, l->sums->name),
                    .iters = &chunk,
                    .n_iters = 1,
                    .body = store_to(l, &(StoreStmt){.buffer = l->sums,
                                                     .index = &at,
                                                     .value = word_of(l, total_at(l, &chunk))})};
    return stmt_block(c, &of, l->span);
}

static Expr *reads(const Lookback *l, Buffer *scalar)
{
    return expr_load(l->s->ctx, scalar, NULL, l->span);
}

static Expr *combined(const Lookback *l, Expr *a, Expr *b)
{
    return reducer_combine(l->s->ctx, &(Reducer){.op = l->sum->op}, a, b);
}

/* groups[p / m] = word(near op total[p]), in the last iteration of the group. */
static Stmt *publish_group(const Lookback *l)
{
    Context *c = l->s->ctx;
    Expr *p = loop_value(l, &l->loop->u.loop), *one = expr_index(c, 1);
    BlockIter iters[2] = {chunk_iter(l), iter_of(l, ctx_namef(c, "group"), ITER_SPATIAL,
                                                 index_div(c, p, l->members), l->n_groups)};
    Expr *at = value_of(l, &iters[1]);
    Expr *value = combined(l, reads(l, l->near), total_at(l, &iters[0]));
    BlockStmt of = {
        .name = sched_fresh_name(l->s, l->groups->name),
        .iters = iters,
        .n_iters = 2,
        .predicate = expr_binary(c, EX_EQ, index_mod(c, p, l->members),
                                 index_sub(c, l->members, one), l->span),
        .body = store_to(
            l, &(StoreStmt){.buffer = l->groups, .index = &at, .value = word_of(l, value)})};
    return stmt_block(c, &of, l->span);
}

/* What an iteration adds up: words[first + q] for q in n, up to the first that is not `before`. */
typedef struct {
    Buffer *sum, *words;
    Expr *n;
    bool of_group; /* words of the iterations of its group, else of the groups */
} Look;

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

/* for q in n  where ...  sum op= value(await(words[...])); */
static Stmt *look_back(const Lookback *l, const Look *look, Stmt **block)
{
    Context *c = l->s->ctx;
    ForStmt loop = flow_loop(l->s, look->sum->name, expr_index(c, 0), look->n);
    loop.var = var_new(c, ctx_namef(c, "%s", look->of_group ? "member" : "group"), DT_INDEX,
                       VAR_LOOP, l->span);
    Expr *p = loop_value(l, &l->loop->u.loop), *q = loop_value(l, &loop);
    BlockIter iters[2] = {chunk_iter(l), iter_of(l, loop.var->name, ITER_REDUCE, q, look->n)};
    Expr *at = word_number(l, look, value_of(l, &iters[0]), value_of(l, &iters[1]));
    StoreStmt sum = {.buffer = look->sum, .op = l->sum->op, .value = awaited(l, look->words, at)};
    StoreStmt init = {.buffer = look->sum,
                      .value = reducer_neutral(c, sum.op, sum.buffer->type, l->span)};
    BlockStmt of = {.name = sched_fresh_name(l->s, look->sum->name),
                    .iters = iters,
                    .n_iters = 2,
                    .predicate = comes_before(l, look, p, q),
                    .init = store_to(l, &init),
                    .body = store_to(l, &sum)};
    *block = stmt_block(c, &of, l->span);
    return in_loop(l, &loop, *block);
}

/* before[p] = s op (far op near), by the block that has done so. */
static Stmt *start_of_chunk(const Lookback *l)
{
    Context *c = l->s->ctx;
    BlockStmt of = l->before->u.block;
    StoreStmt store = *l->copy;
    Expr *sums = combined(l, reads(l, l->far), reads(l, l->near));
    store.value = combined(l, store.value, sums);
    of.body = store_to(l, &store);
    return stmt_block(c, &of, l->before->span);
}

/* ---- the step -------------------------------------------------------------------------------- */

static Buffer *new_buffer(const Lookback *l, const char *suffix, DType type, Expr *extent)
{
    Context *c = l->s->ctx;
    Name of = l->sum->buffer->name;
    Buffer *out =
        buffer_new(c, &(Buffer){.name = sched_fresh_name(l->s, ctx_namef(c, "%s_%s", of, suffix)),
                                .type = type,
                                .shape = extent ? stage_shape(l->s, &extent, 1) : NULL,
                                .rank = extent != NULL,
                                .scope = SCOPE_GLOBAL,
                                .role = ROLE_TEMP,
                                .span = l->sum->buffer->span});
    out->origin = l->span;
    return out;
}

/* Fills in how many iterations a group has: of few iterations half, so that there are groups. */
static bool choose_group(Lookback *l, const Value *group)
{
    Schedule *s = l->s;
    int64_t members = group->kind == VALUE_NONE ? WORDS_PER_GROUP : group->u.i, n;
    REQUIRE(s, E0486, group->span, members >= 2, "a group has at least two chunks, not %lld",
            (long long)members);
    l->n = l->loop->u.loop.hi;
    if (expr_is_const(l->n, &n)) {
        REQUIRE(s, E0486, l->span, n > 2,
                "loop '%s' has %lld iterations, of which none would look back to a group of two; "
                "make the chunks smaller",
                stmt_label(l->loop), (long long)n);
        members = members < (n + 1) / 2 ? members : (n + 1) / 2;
    }
    l->members = expr_index(s->ctx, members);
    return true;
}

static void make_buffers(Lookback *l)
{
    Context *c = l->s->ctx;
    DType type = l->sum->buffer->type;
    l->n_groups = simplify(facts_of_kernel(c, l->s->kernel), index_ceildiv(c, l->n, l->members));
    l->sums = new_buffer(l, "sums", DT_U64, l->n);
    l->groups = new_buffer(l, "groups", DT_U64, l->n_groups);
    l->near = new_buffer(l, "near", type, NULL);
    l->far = new_buffer(l, "far", type, NULL);
}

/* The body of the kernel with the words declared and cleared in front. */
static Stmt *with_words(const Lookback *l, Stmt *body, Stmt *const clears[2])
{
    Context *c = l->s->ctx;
    StmtList items = {0};
    bool is_seq = body->kind == ST_SEQ;
    int n = is_seq ? body->u.seq.n : 1, at = 0;
    for (; is_seq && at < n && body->u.seq.items[at]->kind == ST_TEMP; at++)
        VEC_PUSH(c->arena, &items, body->u.seq.items[at]);
    VEC_PUSH(c->arena, &items, stmt_temp(c, l->sums, l->span));
    VEC_PUSH(c->arena, &items, stmt_temp(c, l->groups, l->span));
    VEC_PUSH(c->arena, &items, clears[0]);
    VEC_PUSH(c->arena, &items, clears[1]);
    for (; at < n; at++)
        VEC_PUSH(c->arena, &items, is_seq ? body->u.seq.items[at] : body);
    return stmt_seq(c, items.items, items.n, body->span);
}

bool prim_lookback(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    Lookback l = {.s = s, .span = call->lookback.before.span};
    if (!find_blocks(&l, &call->lookback.before) || !check_form(&l) || !check_unread(&l) ||
        !choose_group(&l, &call->lookback.group))
        return false;

    make_buffers(&l);
    Stmt *block[5];
    Stmt *clears[2] = {clear(&l, l.sums, l.n, &block[0]),
                       clear(&l, l.groups, l.n_groups, &block[1])};
    block[2] = publish(&l);
    Stmt *items[7] = {stmt_temp(c, l.near, l.span), stmt_temp(c, l.far, l.span), block[2]};
    items[3] = look_back(&l, &(Look){l.near, l.sums, l.members, true}, &block[3]);
    items[4] = publish_group(&l);
    items[5] = look_back(&l, &(Look){l.far, l.groups, l.n_groups, false}, &block[4]);
    items[6] = start_of_chunk(&l);
    Stmt *loop = loop_with_body(c, l.loop, stmt_seq(c, items, 7, l.loop->span));
    Stmt *body = stmt_replace(c, s->kernel->body, l.loop, loop);
    s->reassociates = reducer_rounds(l.sum->op, l.sum->buffer->type);
    sched_replace_body(s, with_words(&l, body, clears));
    Value out[5];
    for (int i = 0; i < 5; i++)
        out[i] = value_block(block[i]);
    *result = value_list(s, out, 5);
    return true;
}
