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
 *                                before[p] = s + (far + near);
 *                                where p == P - 1: s = before[p] + total[p]; }
 *
 * words.c says what a word is; values of more than 32 bits, and tuples, have several. In
 * loops around, such as those of rows, each iteration has words of its own. Decoupled look-back
 * (Merrill and Garland, 2016) ends at the nearest iteration that already knows what stands before
 * it, so its sums depend on time. Here a group of iterations publishes its sum, and each iteration
 * adds the same sums in the same order in every run.
 *
 * The last store is left out where nothing reads the value behind the loop.
 *
 * Legal: the loop is the scan of sums that scan_chunks makes. What is read behind it starts from a
 * literal, which takes its place. An iteration of a loop around has a value of its own. No loop
 * around was entered.
 * Invariant: each word is 0, then written once, by an iteration before those that await it. */
#include "passes/schedule/scans/lookback.h"

#include "passes/schedule/flow.h"
#include "passes/schedule/loops/loop.h"

enum { CHUNKS_PER_GROUP = 256 };

/* ---- which loop ------------------------------------------------------------------------------ */

/* Each iterator is one of the loops, over all of its range. */
static bool runs_in_all(const Lookback *l, const Stmt *stmt)
{
    const BlockStmt *block = &stmt->u.block;
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        const Stmt *loop = NULL;
        for (int k = 0; k < l->of.loops.n && iter->binding->kind == EX_VAR; k++)
            if (l->of.loops.items[k]->u.loop.var == iter->binding->u.var)
                loop = l->of.loops.items[k];
        if (!loop || !expr_equal(iter->lo, loop->u.loop.lo) ||
            !expr_equal(iter->hi, loop->u.loop.hi))
            return false;
    }
    return !block->predicate;
}

/* Words are awaited in one launch, and a loop of the host would repeat it. */
static bool check_once(const Lookback *l)
{
    REQUIRE(l->of.s, E0486, l->of.span, !l->of.s->entered,
            "loop '%s' stands in a loop that was entered, which launches it again, and words say "
            "what one launch has stored; bind the scan of the sums to threads of one block instead",
            stmt_label(l->of.loop));
    return true;
}

static bool check_form(Lookback *l)
{
    Schedule *s = l->of.s;
    bool is_scan =
        sums_read(&l->of) && runs_in_all(l, l->of.before) && runs_in_all(l, l->of.update);
    REQUIRE(s, E0486, l->of.span, is_scan,
            "loop '%s' is not the scan of the sums of chunks, as in  before[p] = s; s += "
            "total[p];, with one value for each chunk",
            stmt_label(l->of.loop));
    return sums_require_free(&l->of);
}

/* Words are numbered by the loops. */
static bool check_loops(const Lookback *l)
{
    Schedule *s = l->of.s;
    for (int i = 0; i < l->of.loops.n; i++) {
        const ForStmt *loop = &l->of.loops.items[i]->u.loop;
        REQUIRE(s, E0486, l->of.span, loop_counts_from_zero(loop),
                "the values of loop '%s' are not 0, 1, 2, ...", stmt_label(l->of.loops.items[i]));
        REQUIRE(
            s, E0486, l->of.span, expr_of_sizes(loop->hi),
            "the range of loop '%s' is not one of sizes alone, but words are declared for all of "
            "its iterations",
            stmt_label(l->of.loops.items[i]));
    }
    return true;
}

/* Different iterations of the loop have different elements of the value. */
static bool has_own_value(const Lookback *l, const Stmt *loop, const SumsPart *part)
{
    for (int d = 0; d < part->value->rank; d++) {
        const Expr *at = part->read->u.load.index[d];
        if (expr_is_var(at, loop->u.loop.var))
            return true;
    }
    return stmt_declares(l->of.s->ctx, loop, part->value);
}

/* A value passes through the iterations of the loop, and not from one loop around to the next. */
static bool check_values(const Lookback *l)
{
    Schedule *s = l->of.s;
    if (!sums_require_carried(&l->of, l->of.loop))
        return false;
    for (int k = 0; k < l->of.n_parts; k++) {
        const SumsPart *part = &l->of.parts[k];
        for (int i = 0; i + 1 < l->of.loops.n; i++)
            REQUIRE(s, E0486, l->of.span, has_own_value(l, l->of.loops.items[i], part),
                    "'%s' may pass from one iteration of loop '%s' to the next; declare it in the "
                    "loop",
                    part->value->name, stmt_label(l->of.loops.items[i]));
    }
    return true;
}

/* Something other than the loop reads the value, or the caller of the kernel. */
static bool is_read(const Lookback *l, const Buffer *value)
{
    BlockList readers = flow_blocks(l->of.s, l->of.s->kernel->body, value, ACCESS_READ);
    for (int i = 0; i < readers.n; i++)
        if (readers.items[i] != l->of.before && readers.items[i] != l->of.update)
            return true;
    return value->role != ROLE_TEMP;
}

static void find_readers(Lookback *l)
{
    for (int k = 0; k < l->of.n_parts; k++)
        l->is_read |= is_read(l, l->of.parts[k].value);
}

/* The block runs when the loop has ended, which runs once. */
static bool is_behind(const Lookback *l, const Stmt *block)
{
    Stmt *body = l->of.s->kernel->body;
    StmtPath loop = stmt_path_to(l->of.s->ctx, body, l->of.loop),
             other = stmt_path_to(l->of.s->ctx, body, block);
    int at = 0;
    for (; at < loop.n && at < other.n && loop.items[at] == other.items[at]; at++)
        if (loop.items[at]->kind == ST_FOR)
            return false;
    const Stmt *both = loop.items[at - 1];
    return at < loop.n && at < other.n && both->kind == ST_SEQ &&
           stmt_place(both, other.items[at]) > stmt_place(both, loop.items[at]);
}

/* The last chunk can store the value where no other one reads what that starts from. */
static bool check_end(const Lookback *l, const BlockList *starts)
{
    const Buffer *value = l->of.parts[0].value;
    REQUIRE(l->of.s, E0486, l->of.span, !l->is_read || starts->n > 0,
            "'%s' is read behind the scan, or an output, and does not start from one literal "
            "number: all chunks would read its start while the last one stores its end",
            value->name);
    return true;
}

/* ---- where they start ------------------------------------------------------------------------ */

/* The block stores literals to components of the value and does nothing else. */
static bool only_starts(const Lookback *l, const Stmt *block)
{
    for (Cursor at = cursor_stmts(l->of.s->ctx, block->u.block.body); cursor_next(&at);) {
        if (at.stmt->kind == ST_SEQ)
            continue;
        const StoreStmt *store = &at.stmt->u.store;
        if (at.stmt->kind != ST_STORE)
            return false;
        int k = sums_part_of(&l->of, store->buffer);
        bool literal = store->value->kind == EX_FLOAT || store->value->kind == EX_INT;
        if (k < 0 || store->op != STORE_SET || !literal ||
            (l->parts[k].start && !expr_equal(l->parts[k].start, store->value)))
            return false;
        l->parts[k].start = store->value;
    }
    return true;
}

static void add_start(const Lookback *l, Stmt *block, BlockList *starts)
{
    for (int i = 0; i < starts->n; i++)
        if (starts->items[i] == block)
            return;
    VEC_PUSH(l->of.s->ctx->arena, starts, block);
}

/* The blocks that give the value its start, one for all components or several, where that is one
 * literal for each component: it then takes the place of the value. None otherwise. */
static BlockList find_starts(const Lookback *l)
{
    BlockList starts = {0};
    bool all = true;
    for (int k = 0; k < l->of.n_parts; k++) {
        BlockList writers =
            flow_blocks(l->of.s, l->of.s->kernel->body, l->of.parts[k].value, ACCESS_WRITE);
        for (int i = 0; i < writers.n && all; i++) {
            if (writers.items[i] == l->of.update || is_behind(l, writers.items[i]))
                continue;
            all = only_starts(l, writers.items[i]);
            add_start(l, writers.items[i], &starts);
        }
    }
    for (int k = 0; k < l->of.n_parts; k++)
        all &= l->parts[k].start != NULL;
    for (int k = 0; k < l->of.n_parts && !all; k++)
        l->parts[k].start = NULL;
    return all ? starts : (BlockList){0};
}

/* Fills in how many iterations a group has: of few iterations half, so that there are groups. */
static bool choose_group(Lookback *l, const Value *group)
{
    Schedule *s = l->of.s;
    int64_t members = group->kind == VALUE_NONE ? CHUNKS_PER_GROUP : group->u.i, n;
    REQUIRE(s, E0486, group->span, members >= 2, "a group has at least two chunks, not %lld",
            (long long)members);
    l->n = l->of.loop->u.loop.hi;
    if (expr_is_const(l->n, &n)) {
        REQUIRE(s, E0486, l->of.span, n > 2,
                "loop '%s' has %lld iterations, of which none would look back to a group of two; "
                "make the chunks smaller",
                stmt_label(l->of.loop), (long long)n);
        members = members < (n + 1) / 2 ? members : (n + 1) / 2;
    }
    l->members = expr_index(s->ctx, members);
    return true;
}

/* Gives each component its words. */
static void number_words(Lookback *l)
{
    l->parts = ARENA_ARRAY(l->of.s->ctx->arena, LookbackPart, l->of.n_parts);
    for (int k = 0; k < l->of.n_parts; k++) {
        l->parts[k].first_word = l->n_words;
        l->n_words += words_of(l->of.parts[k].value->type);
    }
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The body of the kernel with the words declared and cleared in front. */
static Stmt *with_words(const Lookback *l, Stmt *body, Stmt *const clears[2])
{
    Context *c = l->of.s->ctx;
    StmtList items = {0};
    int n = stmt_items(body), at = 0;
    for (; at < n && stmt_item(body, at)->kind == ST_TEMP; at++)
        VEC_PUSH(c->arena, &items, stmt_item(body, at));
    VEC_PUSH(c->arena, &items, stmt_temp(c, l->sums, l->of.span));
    VEC_PUSH(c->arena, &items, stmt_temp(c, l->groups, l->of.span));
    VEC_PUSH(c->arena, &items, clears[0]);
    VEC_PUSH(c->arena, &items, clears[1]);
    for (; at < n; at++)
        VEC_PUSH(c->arena, &items, stmt_item(body, at));
    return stmt_seq(c, items.items, items.n, body->span);
}

/* There is a last chunk, which stores the value before anything else reads it. */
static bool is_overwritten(const Lookback *l)
{
    int64_t n;
    bool all = expr_is_const(l->n, &n);
    for (int k = 0; k < l->of.n_parts && all; k++) {
        BlockList readers =
            flow_blocks(l->of.s, l->of.s->kernel->body, l->of.parts[k].value, ACCESS_READ);
        for (int i = 0; i < readers.n && all; i++)
            all = readers.items[i] == l->of.before || readers.items[i] == l->of.update ||
                  is_behind(l, readers.items[i]);
    }
    return all && l->of.loops.n == 1;
}

/* The body without the value and the blocks that start it, unless they are read. */
static Stmt *without_value(const Lookback *l, Stmt *body, const BlockList *starts)
{
    if (l->is_read && !is_overwritten(l))
        return body;
    for (int i = 0; i < starts->n; i++)
        body = flow_remove(l->of.s, body, starts->items[i]);
    for (int k = 0; k < l->of.n_parts && starts->n > 0 && !l->is_read; k++)
        if (!stmt_accesses(l->of.s->ctx, body, l->of.parts[k].value, ACCESS_ANY))
            body = flow_undeclare(l->of.s, body, l->of.parts[k].value);
    return body;
}

bool prim_lookback(Schedule *s, const PrimCall *call, Value *result)
{
    Lookback l = {.of = {.s = s, .span = call->lookback.before.span, .code = E0486}};
    if (!sums_find(&l.of, &call->lookback.before) || !check_once(&l) || !check_loops(&l) ||
        !check_form(&l) || !check_values(&l) || !choose_group(&l, &call->lookback.group))
        return false;

    number_words(&l);
    find_readers(&l);
    BlockList starts = find_starts(&l);
    if (!check_end(&l, &starts))
        return false;
    lookback_buffers(&l);
    Stmt *clears[2] = {words_clear(s, l.sums, l.of.span), words_clear(s, l.groups, l.of.span)};
    Stmt *block[5];
    for (int i = 0; i < 2; i++)
        block[i] = stmts_of_kind(s->ctx, clears[i], ST_BLOCK).items[0];
    Stmt *loop = lookback_loop(&l, block + 2);
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, l.of.loop, loop);
    body = with_words(&l, without_value(&l, body, &starts), clears);
    if (!flow_recheck_kinds(s, body, l.of.loop->u.loop.id, call->span))
        return false;
    s->reassociates = sums_round(&l.of);
    sched_replace_body(s, body);
    *result = value_blocks(s, (StmtList){block, 5, 5});
    return true;
}
