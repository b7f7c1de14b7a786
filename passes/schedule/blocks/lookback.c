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
 * lookback_words.c says what a word is; values of more than 32 bits, and tuples, have several. In
 * loops around, such as those of rows, each iteration has words of its own. Decoupled look-back
 * (Merrill and Garland, 2016) ends at the nearest iteration that already knows what stands before
 * it, so its sums depend on time. Here a group of iterations publishes its sum, and each iteration
 * adds the same sums in the same order in every run.
 *
 * Legal: the loop is the scan of sums that scan_chunks makes, and nothing reads the value behind
 * it. An iteration of a loop around has a value of its own.
 * Invariant: each word is 0, then written once, by an iteration before those that await it. */
#include "passes/schedule/blocks/lookback.h"
#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/regions/reducer.h"
#include "passes/analysis/regions/region.h"
#include "passes/schedule/blocks/lookback.h"
#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

enum { CHUNKS_PER_GROUP = 256 };

/* ---- which loop ------------------------------------------------------------------------------ */

/* The loop holds two blocks, the given one first, and nothing else. */
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
    const Stmt *body = l->loop->u.loop.body;
    bool pair = body->kind == ST_SEQ && body->u.seq.n == 2 && body->u.seq.items[0] == l->before &&
                body->u.seq.items[1]->kind == ST_BLOCK;
    REQUIRE(s, E0486, l->span, pair,
            "loop '%s' is not the scan of the sums of chunks, which has two blocks and nothing "
            "else, as in  before[p] = s; s += total[p];",
            stmt_label(l->loop));
    l->update = body->u.seq.items[1];
    sched_loops_on(s, &l->path, &l->loops);
    return true;
}

/* ---- their values ---------------------------------------------------------------------------- */

static void make_parts(Lookback *l, int n)
{
    l->n_parts = n;
    l->parts = ARENA_ARRAY(l->s->ctx->arena, LookbackPart, n);
}

/* A component that an update combines with `total`. */
static bool add_part(Lookback *l, int k, const TupleElement *value, Expr *total)
{
    Context *c = l->s->ctx;
    const BlockStmt *block = &l->update->u.block;
    Expr *read = expr_load(c, value->buffer, value->index, l->span);
    l->parts[k] = (LookbackPart){.value = value->buffer,
                                 .read = iters_to_loops(c, block, read),
                                 .total = iters_to_loops(c, block, total),
                                 .first_word = l->n_words};
    l->n_words += words_of(value->buffer->type);
    return total->kind == EX_LOAD;
}

/* s op= total[p], or the same of a tuple. */
static bool read_update(Lookback *l)
{
    TupleUpdate tuple;
    const Stmt *body = l->update->u.block.body;
    bool loads = true;
    if (tuple_update_of(l->s->ctx, body, &tuple)) {
        l->combiner = tuple.combiner;
        make_parts(l, tuple.combiner->n);
        for (int k = 0; k < l->n_parts; k++)
            loads &= add_part(l, k, &tuple.targets[k], tuple.values[k]);
        return loads;
    }
    if (body->kind != ST_STORE || !store_updates(body->u.store.op))
        return false;
    const StoreStmt *store = &body->u.store;
    l->op = store->op;
    make_parts(l, 1);
    return add_part(l, 0, &(TupleElement){store->buffer, store->index}, store->value);
}

static LookbackPart *part_of(const Lookback *l, const Buffer *value)
{
    for (int k = 0; k < l->n_parts; k++)
        if (l->parts[k].value->id == value->id)
            return &l->parts[k];
    return NULL;
}

/* before[p] = s, of the element that is updated. */
static bool read_copy(const Lookback *l, const Stmt *stmt)
{
    Context *c = l->s->ctx;
    const BlockStmt *block = &l->before->u.block;
    const StoreStmt *store = &stmt->u.store;
    LookbackPart *part =
        stmt->kind == ST_STORE && store->op == STORE_SET && store->value->kind == EX_LOAD
            ? part_of(l, store->value->u.load.buffer)
            : NULL;
    if (!part || part->before || !expr_equal(part->read, iters_to_loops(c, block, store->value)))
        return false;
    part->before = store->buffer;
    part->store = ARENA_ARRAY(c->arena, Expr *, store->buffer->rank + 1);
    for (int d = 0; d < store->buffer->rank; d++)
        part->store[d] = iters_to_loops(c, block, store->index[d]);
    return true;
}

static bool read_copies(const Lookback *l)
{
    const Stmt *body = l->before->u.block.body;
    bool is_seq = body->kind == ST_SEQ;
    if ((is_seq ? body->u.seq.n : 1) != l->n_parts)
        return false;
    for (int k = 0; k < l->n_parts; k++)
        if (!read_copy(l, is_seq ? body->u.seq.items[k] : body))
            return false;
    return true;
}

/* The sums are read before the loop stores anything: neither block changes them. */
static bool keeps_totals(const Lookback *l)
{
    Context *c = l->s->ctx;
    for (int k = 0; k < l->n_parts; k++) {
        const Buffer *total = l->parts[k].total->u.load.buffer;
        if (stmt_accesses(c, l->before, total, ACCESS_WRITE) ||
            stmt_accesses(c, l->update, total, ACCESS_WRITE))
            return false;
    }
    return true;
}

/* Each iterator is one of the loops, over all of its range. */
static bool runs_in_all(const Lookback *l, const Stmt *stmt)
{
    const BlockStmt *block = &stmt->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        const Stmt *loop = NULL;
        for (int k = 0; k < l->loops.n && iter->binding->kind == EX_VAR; k++)
            if (l->loops.items[k]->u.loop.var == iter->binding->u.var)
                loop = l->loops.items[k];
        if (!loop || !expr_equal(iter->lo, loop->u.loop.lo) ||
            !expr_equal(iter->hi, loop->u.loop.hi))
            return false;
    }
    return !block->predicate && !block->init;
}

static bool check_form(Lookback *l)
{
    Schedule *s = l->s;
    bool is_scan = read_update(l) && read_copies(l) && keeps_totals(l) &&
                   runs_in_all(l, l->before) && runs_in_all(l, l->update);
    REQUIRE(s, E0486, l->span, is_scan,
            "loop '%s' is not the scan of the sums of chunks, as in  before[p] = s; s += "
            "total[p];, with one value for each chunk",
            stmt_label(l->loop));
    REQUIRE(s, E0486, l->span, !block_in_order(&l->update->u.block),
            "the updates of block '%s' keep their order (@in_order), and blocks that look back add "
            "in another one",
            stmt_label(l->update));
    return sched_require_serial(s, l->loop, l->span);
}

/* Words are numbered by the loops. */
static bool check_loops(const Lookback *l)
{
    Schedule *s = l->s;
    for (int i = 0; i < l->loops.n; i++) {
        const ForStmt *loop = &l->loops.items[i]->u.loop;
        REQUIRE(s, E0486, l->span, loop_counts_from_zero(loop),
                "the values of loop '%s' are not 0, 1, 2, ...", stmt_label(l->loops.items[i]));
        REQUIRE(
            s, E0486, l->span, expr_of_sizes(loop->hi),
            "the range of loop '%s' is not one of sizes alone, but words are declared for all of "
            "its iterations",
            stmt_label(l->loops.items[i]));
    }
    return true;
}

/* Different iterations of the loop have different elements of the value. */
static bool has_own_value(const Lookback *l, const Stmt *loop, const LookbackPart *part)
{
    for (int d = 0; d < part->value->rank; d++) {
        const Expr *at = part->read->u.load.index[d];
        if (at->kind == EX_VAR && at->u.var == loop->u.loop.var)
            return true;
    }
    return stmt_declares(l->s->ctx, loop, part->value);
}

/* A value passes through the iterations of the loop, and not from one loop around to the next. */
static bool check_values(const Lookback *l)
{
    Schedule *s = l->s;
    for (int k = 0; k < l->n_parts; k++) {
        const LookbackPart *part = &l->parts[k];
        REQUIRE(s, E0486, l->span, !expr_uses_var(part->read, l->loop->u.loop.var),
                "loop '%s' has an element of '%s' for each iteration, so nothing passes from one "
                "to the next",
                stmt_label(l->loop), part->value->name);
        for (int i = 0; i + 1 < l->loops.n; i++)
            REQUIRE(s, E0486, l->span, has_own_value(l, l->loops.items[i], part),
                    "'%s' may pass from one iteration of loop '%s' to the next; declare it in the "
                    "loop",
                    part->value->name, stmt_label(l->loops.items[i]));
    }
    return true;
}

/* Without the loop nothing adds up the value. */
static bool check_unread(const Lookback *l)
{
    Schedule *s = l->s;
    for (int k = 0; k < l->n_parts; k++) {
        const Buffer *value = l->parts[k].value;
        BlockList readers = {0};
        flow_blocks(s, s->kernel->body, value, ACCESS_READ, &readers);
        for (int i = 0; i < readers.n; i++)
            REQUIRE(s, E0486, l->span,
                    readers.items[i] == l->before || readers.items[i] == l->update,
                    "block '%s' reads '%s', which has no value behind a scan that looks back",
                    stmt_label(readers.items[i]), value->name);
        REQUIRE(s, E0486, l->span, value->role == ROLE_TEMP,
                "'%s' is an output, which has no value behind a scan that looks back", value->name);
    }
    return true;
}

/* ---- where they start ------------------------------------------------------------------------ */

/* The block stores literals to components of the value and does nothing else. */
static bool only_starts(const Lookback *l, const Stmt *block)
{
    for (Cursor at = cursor_stmts(l->s->ctx, block->u.block.body); cursor_next(&at);) {
        if (at.stmt->kind == ST_SEQ)
            continue;
        const StoreStmt *store = &at.stmt->u.store;
        if (at.stmt->kind != ST_STORE)
            return false;
        LookbackPart *part = part_of(l, store->buffer);
        bool literal = store->value->kind == EX_FLOAT || store->value->kind == EX_INT;
        if (!part || store->op != STORE_SET || !literal ||
            (part->start && !expr_equal(part->start, store->value)))
            return false;
        part->start = store->value;
    }
    return true;
}

/* The blocks that give the value its start, where that is one literal for each component: it then
 * takes the place of the value. None otherwise. */
static BlockList find_starts(const Lookback *l)
{
    Context *c = l->s->ctx;
    BlockList starts = {0};
    bool all = true;
    for (int k = 0; k < l->n_parts; k++) {
        BlockList writers = {0};
        flow_blocks(l->s, l->s->kernel->body, l->parts[k].value, ACCESS_WRITE, &writers);
        for (int i = 0; i < writers.n && all; i++) {
            if (writers.items[i] == l->update)
                continue;
            all = only_starts(l, writers.items[i]);
            if (k == 0)
                VEC_PUSH(c->arena, &starts, writers.items[i]);
        }
    }
    for (int k = 0; k < l->n_parts; k++)
        all &= l->parts[k].start != NULL;
    for (int k = 0; k < l->n_parts && !all; k++)
        l->parts[k].start = NULL;
    return all ? starts : (BlockList){0};
}

/* Fills in how many iterations a group has: of few iterations half, so that there are groups. */
static bool choose_group(Lookback *l, const Value *group)
{
    Schedule *s = l->s;
    int64_t members = group->kind == VALUE_NONE ? CHUNKS_PER_GROUP : group->u.i, n;
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

/* ---- the step -------------------------------------------------------------------------------- */

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

/* The body without the value and the blocks that start it. */
static Stmt *without_value(const Lookback *l, Stmt *body, const BlockList *starts)
{
    for (int i = 0; i < starts->n; i++)
        body = flow_remove(l->s, body, starts->items[i]);
    for (int k = 0; k < l->n_parts && starts->n > 0; k++)
        body = flow_undeclare(l->s, body, l->parts[k].value);
    return body;
}

static bool rounds(const Lookback *l)
{
    bool any = false;
    for (int k = 0; k < l->n_parts; k++)
        any |= l->combiner ? type_is_float(l->parts[k].value->type)
                           : reducer_rounds(l->op, l->parts[k].value->type);
    return any;
}

bool prim_lookback(Schedule *s, const PrimCall *call, Value *result)
{
    Lookback l = {.s = s, .span = call->lookback.before.span};
    if (!find_blocks(&l, &call->lookback.before) || !check_loops(&l) || !check_form(&l) ||
        !check_values(&l) || !check_unread(&l) || !choose_group(&l, &call->lookback.group))
        return false;

    BlockList starts = find_starts(&l);
    lookback_buffers(&l);
    Stmt *clears[2] = {lookback_clear(&l, l.sums), lookback_clear(&l, l.groups)};
    Stmt *block[5];
    for (int i = 0; i < 2; i++)
        block[i] = stmts_of_kind(s->ctx, clears[i], ST_BLOCK).items[0];
    Stmt *loop = lookback_loop(&l, block + 2);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, l.loop, loop);
    body = with_words(&l, without_value(&l, body, &starts), clears);
    if (!flow_recheck_kinds(s, body, l.loop->u.loop.id, call->span))
        return false;
    s->reassociates = rounds(&l);
    sched_replace_body(s, body);
    Value out[5];
    for (int i = 0; i < 5; i++)
        out[i] = value_block(block[i]);
    *result = value_list(s, out, 5);
    return true;
}
