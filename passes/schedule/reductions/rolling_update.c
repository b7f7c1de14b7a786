/* rolling_update.c - Implements rolling_update: adds up terms around a maximum while it is found,
 * so that one pass over the data is enough for a softmax and for what is summed with its weights.
 *
 *   for j  m max= x[j];                    for j {
 *   for j  s += exp(x[j] - m) * v[j];          m_before = m;
 *                                    =>        m max= x[j];
 *                                              m_scale = m_before == -inf ? 1
 *                                                                         : exp(m_before - m);
 *                                              s *= m_scale;
 *                                              s += exp(x[j] - max(m, -FLT_MAX)) * v[j]; }
 *
 * In each iteration the sum is one around the maximum so far. Since exp(a - c) = exp(a - b) exp(b -
 * c), a factor moves it to the next center. No term exceeds the maximum so far, so that nothing
 * overflows. (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al.,
 * FlashAttention, 2022; Zhao et al., Neptune, 2025, has the primitive.)
 *
 * The maximum may also be combined from partial results of the loop, as rfactor makes them, by a
 * nest that stands behind it: it runs in each iteration then. A block of a loop of its own may
 * compute the weights exp(x[j] - m) for several sums.
 *
 * Legal: the loops have the same range, and meet in nothing but the maximum, the weights, and data
 * that nobody writes; each weight has the form exp(F(x - m)), where F multiplies and divides by
 * what is the same for all, and the maximum has taken x in by then, unless a mask makes the weight
 * 0; each term has one weight as a factor; sums start from 0.
 * Invariant: floating-point results change by rounding only; where all values of a row are -inf,
 * its sum is 0 instead of NaN. */
#include "passes/analysis/regions/data_range.h"
#include "passes/schedule/reductions/rolling.h"
#include "passes/shared/reductions.h"

/* ---- the loops ------------------------------------------------------------------------------- */

static bool check_loop(Rolling *r, const StmtPath *path)
{
    const Stmt *first = path_end(&r->loop), *loop = path_end(path);
    if (!sched_require_plain(r->s, loop, r->span))
        return false;
    REQUIRE(
        r->s, E0867, r->span, path->n > 1 && path->items[path->n - 2] == r->seq,
        "loops '%s' and '%s' are not statements of one sequence; bring them into one with merge "
        "of the loops around them",
        stmt_label(first), stmt_label(loop));
    REQUIRE(r->s, E0867, r->span,
            loop->u.loop.step == first->u.loop.step &&
                expr_equal(loop->u.loop.lo, first->u.loop.lo) &&
                expr_equal(loop->u.loop.hi, first->u.loop.hi),
            "loops '%s' and '%s' have different ranges; split both by the same factor",
            stmt_label(first), stmt_label(loop));
    return true;
}

/* The loops in the order of the text, that of the maximum first. */
static bool find_loops(Rolling *r, const PrimCall *call)
{
    const Value *loops = call->rolling_update.loops.u.list.items;
    r->n = call->rolling_update.loops.u.list.n - 1;
    REQUIRE(r->s, E0867, r->span, r->n > 0,
            "the loop of the maximum and the loop of a sum are expected, or of several sums");
    if (!loop_require_distinct(r->s, call, loops, r->n + 1))
        return false;
    r->parts = ARENA_ARRAY(r->s->ctx->arena, RollingPart, r->n);
    sched_node(r->s, &loops[0], &r->loop);
    r->seq = r->loop.n > 1 ? r->loop.items[r->loop.n - 2] : NULL;
    REQUIRE(r->s, E0867, r->span, r->seq && r->seq->kind == ST_SEQ,
            "loop '%s' stands alone in its place, without a loop of a sum behind it",
            stmt_label(path_end(&r->loop)));
    if (!check_loop(r, &r->loop))
        return false;
    int last = stmt_place(r->seq, path_end(&r->loop));
    for (int k = 0; k < r->n; k++) {
        RollingPart *part = &r->parts[k];
        *part = (RollingPart){0};
        sched_node(r->s, &loops[k + 1], &part->loop);
        if (!check_loop(r, &part->loop))
            return false;
        int place = stmt_place(r->seq, path_end(&part->loop));
        REQUIRE(r->s, E0867, r->span, place > last,
                "loop '%s' does not stand behind the loops before it in the call; name the loop of "
                "the maximum first, and the others in the order of the program",
                stmt_label(path_end(&part->loop)));
        last = place;
    }
    return true;
}

/* ---- the maximum ----------------------------------------------------------------------------- */

/* The block takes the maximum of a value and an element of its own, and its init stands apart. */
static bool find_taking(Rolling *r, Stmt *block)
{
    Schedule *s = r->s;
    r->taking = stmt_path_to(s->ctx, s->kernel->body, block);
    r->taken = flow_single_store(s->ctx, block);
    REQUIRE(s, E0867, r->span, r->taken && r->taken->u.store.op == STORE_MAX,
            "block '%s' does not take a maximum: m[i] max= x[i, j]", block->u.block.name);
    REQUIRE(s, E0867, r->span, !block->u.block.init,
            "the init of block '%s' has to stand in front of loop '%s'; move it there with "
            "decompose_reduction",
            block->u.block.name, stmt_label(path_end(&r->loop)));
    return true;
}

/* The nest holds no other block. */
static bool holds_alone(Context *c, const Stmt *nest, const Stmt *block)
{
    StmtList blocks = stmts_of_kind(c, (Stmt *)nest, ST_BLOCK);
    return blocks.n == 1 && blocks.items[0] == block;
}

/* The maximum is found in the loop, or combined behind it from what one block of it writes. */
static bool find_maximum(Rolling *r, const PrimCall *call)
{
    Schedule *s = r->s;
    Stmt *loop = path_end(&r->loop);
    r->maximum = sched_node(s, &call->rolling_update.maximum, &r->path);
    Name name = r->maximum->u.block.name;
    r->largest = flow_written(s, r->maximum);
    REQUIRE(s, E0867, r->span,
            r->largest && (r->largest->type == DT_F32 || r->largest->type == DT_F64),
            "block '%s' does not write one buffer of f32 or f64", name);
    if (flow_common(&r->path, &r->loop) == r->loop.n)
        return find_taking(r, r->maximum);
    int depth = r->loop.n - 1, place;
    r->combine = flow_common(&r->path, &r->loop) == depth ? r->path.items[depth] : NULL;
    place = r->combine ? stmt_place(r->seq, r->combine) : -1;
    REQUIRE(s, E0867, r->span,
            place > stmt_place(r->seq, loop) &&
                place < stmt_place(r->seq, path_end(&r->parts[0].loop)) &&
                holds_alone(s->ctx, r->combine, r->maximum),
            "block '%s' stands neither in loop '%s' nor alone in a nest right behind it", name,
            stmt_label(loop));
    const Stmt *store = flow_single_store(s->ctx, r->maximum);
    const Expr *part = store ? store->u.store.value : NULL;
    REQUIRE(s, E0867, r->span,
            part && part->kind == EX_LOAD && r->maximum->u.block.init &&
                store->u.store.op == STORE_MAX,
            "block '%s' does not combine partial maxima: m[i] max= m_rf[i, p]", name);
    Stmt *taking = only_block_accessing(r->s->ctx, loop, part->u.load.buffer, ACCESS_WRITE);
    REQUIRE(s, E0867, r->span, taking, "no single block of loop '%s' writes '%s'", stmt_label(loop),
            part->u.load.buffer->name);
    return find_taking(r, taking);
}

/* ---- what meets ------------------------------------------------------------------------------ */

/* What the loops may hand to each other: the maximum, and weights. */
static bool is_handed_over(const Rolling *r, const Buffer *buffer)
{
    for (int k = 0; k < r->n; k++)
        if (!rolling_is_sum(&r->parts[k]) && rolling_written_by(&r->parts[k])->id == buffer->id)
            return true;
    return buffer->id == r->largest->id;
}

/* A buffer that one of the statements writes and the other one accesses, but for those that loops
 * hand over if both roll; or NULL. */
static const Buffer *meets(const Rolling *r, const Stmt *a, const Stmt *b, bool both_roll)
{
    for (int way = 0; way < 2; way++) {
        const Stmt *from = way ? b : a, *to = way ? a : b;
        AccessList writes = access_list(r->s->ctx, from, NULL, ACCESS_WRITE);
        for (int i = 0; i < writes.n; i++) {
            const Buffer *buffer = writes.items[i].buffer;
            if (!(both_roll && is_handed_over(r, buffer)) &&
                stmt_accesses(r->s->ctx, to, buffer, ACCESS_ANY))
                return buffer;
        }
    }
    return NULL;
}

static bool is_rolling(const Rolling *r, const Stmt *item)
{
    for (int k = 0; k < r->n; k++)
        if (item == path_end(&r->parts[k].loop))
            return true;
    return item == path_end(&r->loop) || item == r->combine;
}

/* The loops meet those before them in what they hand over alone. What stands between them runs in
 * front of all, or behind all if it meets one before it. */
static bool check_meetings(Rolling *r)
{
    Stmt *const *items = r->seq->u.seq.items;
    r->from = stmt_place(r->seq, path_end(&r->loop));
    r->to = stmt_place(r->seq, path_end(&r->parts[r->n - 1].loop));
    r->behind = ARENA_ARRAY(r->s->ctx->arena, bool, r->to - r->from + 1);
    for (int i = r->from + 1; i <= r->to; i++) {
        bool rolls = is_rolling(r, items[i]);
        for (int k = r->from; k < i && items[i] != r->combine; k++) {
            bool behind = r->behind[k - r->from];
            if (!behind && !is_rolling(r, items[k]))
                continue;
            const Buffer *met = meets(r, items[k], items[i], rolls && !behind);
            REQUIRE_AT(r->s, E0867, r->span, !met || !rolls, items[i],
                       "'%s' is written by one of '%s' and '%s', and accessed by the other: their "
                       "order would change",
                       met->name, stmt_label(items[k]), stmt_label(items[i]));
            r->behind[i - r->from] |= met != NULL;
        }
    }
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* A nest inside of the loop, in the place of block `of` and called `name`, that runs the store for
 * the values of its spatial iterators. */
static Stmt *nest_of(Rolling *r, const StmtPath *of, int anchor, Name name, const StoreStmt *store)
{
    Context *c = r->s->ctx;
    BlockStmt block = path_end(of)->u.block;
    block.init = stmt_store(c, store, r->span);
    Stmt *with_init = stmt_block(c, &block, r->span), *nest, *rest;
    StmtPath path = path_joined(c, of, of->n - 1, (StmtPath){&with_init, 1, 1});
    ReductionPlace place = {.kernel = r->s->kernel, .path = &path, .anchor = anchor};
    if (!reduction_take_init(c, &place, &nest, &rest))
        return NULL;
    Stmt *made = stmt_nest_block(nest);
    block = made->u.block;
    block.name = name;
    return stmt_replace(c, nest, made, stmt_block(c, &block, r->span));
}

static Buffer *beside(Rolling *r, const char *suffix)
{
    Context *c = r->s->ctx;
    Buffer like = *r->largest;
    like.name = sched_fresh_name(r->s, arena_printf(c->arena, "%s_%s", like.name, suffix));
    like.role = ROLE_TEMP;
    like.origin = r->span;
    return buffer_new(c, &like);
}

/* The nest that keeps the maximum as it is before an iteration. */
static Stmt *keep_before(Rolling *r)
{
    Context *c = r->s->ctx;
    if (r->combine) {
        Stmt *nest =
            stmt_replace_buffer(c, stmt_clone_fresh(c, (Stmt *)r->combine), r->largest, r->before);
        Stmt *made = stmt_nest_block(nest);
        BlockStmt block = made->u.block;
        block.name = r->before->name;
        return stmt_replace(c, nest, made, stmt_block(c, &block, r->span));
    }
    Expr *const *index = r->taken->u.store.index;
    return nest_of(r, &r->path, r->loop.n - 1, r->before->name,
                   &(StoreStmt){.buffer = r->before,
                                .index = index,
                                .value = expr_load(c, r->largest, index, r->span)});
}

/* The nest that computes what moves a sum from the maximum before an iteration to the present
 * one. */
static Stmt *compute_scale(Rolling *r)
{
    Context *c = r->s->ctx;
    const RollingPart *part = &r->parts[0];
    const Stmt *store = flow_single_store(c, r->maximum);
    Expr *const *index = store->u.store.index;
    Expr *before = expr_load(c, r->before, index, r->span);
    Expr *now = expr_load(c, r->largest, index, r->span);
    return nest_of(r, &r->path, r->loop.n - 1, r->scale->name,
                   &(StoreStmt){.buffer = r->scale,
                                .index = index,
                                .value = power_shift(c, &part->power, before, now, r->span)});
}

static Stmt *rescale(Rolling *r, const RollingPart *part)
{
    Context *c = r->s->ctx;
    const StoreStmt *store = &part->store->u.store;
    Name name = sched_fresh_name(r->s, arena_printf(c->arena, "%s_moved", store->buffer->name));
    Expr *factor = expr_load(c, r->scale, part->row, r->span);
    Expr *value =
        expr_binary(c, EX_MUL, expr_load(c, store->buffer, store->index, r->span), factor, r->span);
    return nest_of(r, &part->path, part->loop.n - 1, name,
                   &(StoreStmt){.buffer = store->buffer, .index = store->index, .value = value});
}

/* The part's store, around a center that is finite. */
static const Stmt *with_center(Rolling *r, const RollingPart *part)
{
    Context *c = r->s->ctx;
    StoreStmt store = part->store->u.store;
    store.value = power_around(c, store.value, &part->power, (Expr *)part->power.center, r->span);
    return stmt_store(c, &store, part->store->span);
}

/* The body of the part's loop, in that of the maximum. */
static Stmt *in_loop(Rolling *r, const RollingPart *part)
{
    Context *c = r->s->ctx;
    const Stmt *store = part->weights ? part->store : with_center(r, part);
    Stmt *block = stmt_stamp(rolling_with_body(c, part->block, (Stmt *)store), part->block);
    Stmt *body = stmt_replace(c, path_end(&part->loop)->u.loop.body, part->block, block);
    Subst to = {path_end(&part->loop)->u.loop.var,
                expr_var(c, path_end(&r->loop)->u.loop.var, r->span)};
    return stmt_subst(c, body, &to, 1);
}

static Stmt *rolling_loop(Rolling *r)
{
    Context *c = r->s->ctx;
    Stmt *loop = path_end(&r->loop);
    Stmt *before = keep_before(r), *scale = before ? compute_scale(r) : NULL;
    if (!scale)
        return NULL;
    Stmt *body = stmt_then(c, before, loop->u.loop.body);
    body = stmt_then(c, stmt_then(c, body, (Stmt *)r->combine), scale);
    for (int k = 0; k < r->n; k++) {
        Stmt *moved = rolling_is_sum(&r->parts[k]) ? rescale(r, &r->parts[k]) : NULL;
        if (rolling_is_sum(&r->parts[k]) && !moved)
            return NULL;
        body = stmt_then(c, stmt_then(c, body, moved), in_loop(r, &r->parts[k]));
    }
    return loop_with_body(c, loop, body);
}

/* The sequence with one loop. */
static Stmt *new_seq(Rolling *r, Stmt *loop)
{
    Context *c = r->s->ctx;
    VEC(Stmt *) items = {0};
    for (int i = 0; i < r->from; i++)
        VEC_PUSH(c->arena, &items, r->seq->u.seq.items[i]);
    for (int behind = 0; behind < 2; behind++) {
        for (int i = r->from; i <= r->to; i++)
            if (!is_rolling(r, r->seq->u.seq.items[i]) && r->behind[i - r->from] == behind)
                VEC_PUSH(c->arena, &items, r->seq->u.seq.items[i]);
        if (!behind)
            VEC_PUSH(c->arena, &items, loop);
    }
    for (int i = r->to + 1; i < r->seq->u.seq.n; i++)
        VEC_PUSH(c->arena, &items, r->seq->u.seq.items[i]);
    return stmt_seq(c, items.items, items.n, r->seq->span);
}

/* F is the same for all. */
static bool check_scale(Rolling *r, const RollingPart *part)
{
    Context *c = r->s->ctx;
    const RollingPart *first = &r->parts[0];
    Expr *zero = expr_float(c, r->largest->type, 0, r->span);
    REQUIRE(r->s, E0867, r->span,
            part->weights ||
                expr_equal(power_exchange(c, part->power.call, part->power.difference, zero),
                           power_exchange(c, first->power.call, first->power.difference, zero)),
            "blocks '%s' and '%s' take exp of different multiples of the difference to '%s'",
            first->block->u.block.name, part->block->u.block.name, r->largest->name);
    return true;
}

static bool check_taken(Rolling *r, const RollingPart *part)
{
    REQUIRE(
        r->s, E0867, r->span, part->weights || rolling_takes_in(r, part),
        "it is not proved that an iteration of loop '%s' takes in what block '%s' subtracts '%s' "
        "from, in the same iteration: both have to go through the same elements in the same tiles",
        stmt_label(path_end(&r->loop)), part->block->u.block.name, r->largest->name);
    return true;
}

/* What the difference is multiplied by in a weight exp(F(x - m)) is not negative. */
static bool keeps_sign(const RollingPart *part, const Expr *e)
{
    if (e == part->power.difference)
        return true;
    bool left = expr_reads(e->u.arg[0], part->power.center->u.load.buffer);
    return float_is_not_negative(e->u.arg[left]) && keeps_sign(part, e->u.arg[!left]);
}

/* No x exceeds the maximum so far, so no weight exceeds 1. */
static Stmt *mark_weights(Rolling *r, Stmt *body)
{
    for (int k = 0; k < r->n; k++) {
        const RollingPart *part = &r->parts[k];
        if (rolling_is_sum(part) ||
            power_unmasked(part->store->u.store.value, r->largest) != part->power.call ||
            !keeps_sign(part, part->power.call->u.call.arg[0]))
            continue;
        Buffer *weights = buffer_copy(r->s->ctx, rolling_written_by(part));
        weights->is_weight = true;
        body = stmt_replace_buffer(r->s->ctx, body, rolling_written_by(part), weights);
    }
    return body;
}

/* The weights of a sum are computed in the same iteration, around the same center. */
static bool check_computed(Rolling *r, Stmt *body, const Stmt *loop, const RollingPart *part)
{
    StmtPath path = stmt_path_to(r->s->ctx, body, loop);
    REQUIRE(r->s, E0867, r->span,
            !part->weights ||
                flow_written_in_iteration(r->s, body, &path, rolling_written_by(part->weights)),
            "it is not proved that an iteration of loop '%s' computes the weights that block '%s' "
            "reads in the same iteration",
            stmt_label(loop), part->block->u.block.name);
    return true;
}

bool prim_rolling_update(Schedule *s, const PrimCall *call, Value *result)
{
    Rolling r = {.s = s, .span = call->span};
    if (!find_loops(&r, call) || !find_maximum(&r, call))
        return false;
    for (int k = 0; k < r.n; k++)
        if (!rolling_find_part(&r, k) || !check_scale(&r, &r.parts[k]) ||
            !check_taken(&r, &r.parts[k]))
            return false;
    if (!check_meetings(&r))
        return false;
    r.before = beside(&r, "before");
    r.scale = beside(&r, "scale");
    Stmt *loop = rolling_loop(&r);
    if (!loop)
        return false;
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, r.seq, new_seq(&r, loop));
    for (int k = 0; k < r.n; k++)
        if (!check_computed(&r, body, loop, &r.parts[k]))
            return false;
    body = flow_declare_beside(s, body, r.largest, r.before);
    body = flow_declare_beside(s, body, r.largest, r.scale);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->reassociates = true;
    sched_replace_body(s, mark_weights(&r, body));
    *result = value_loop(loop);
    return true;
}
