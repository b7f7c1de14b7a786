/* place.c - Moves a block into other loops (place.h): checks both places and builds the new nest.
 *
 * The moved block keeps its iterators and their domains. Its loops are made anew over the part of
 * the buffer that is needed (or was written) in one iteration of the target loop; where the part
 * reaches beyond the domain, the instances do not exist, so no guard is written here. */
#include "passes/schedule/blocks/place.h"

/* ---- the nest -------------------------------------------------------------------------------- */

typedef VEC(ForStmt) LoopList;

static bool holds_loop(Context *c, const BlockStmt *block, Name name)
{
    for (Cursor at = cursor_stmts(c, block->body); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && at.stmt->u.loop.var->name == name)
            return true;
    return false;
}

/* A name for a loop around the block: of nothing on the path or in the block, no iterator of it and
 * no loop of `loops`. */
static Name fresh_name(const Move *m, const char *base, int own, const LoopList *loops)
{
    const BlockStmt *block = &m->block->u.block;
    Name name = sched_fresh_loop_name(m->s, &m->target, base, 0);
    for (int tries = 1;; tries++) {
        bool taken = false;
        for (int i = 0; i < block->n_iters; i++)
            taken |= i != own && block->iters[i].var->name == name;
        for (int i = 0; i < loops->n; i++)
            taken |= loops->items[i].var->name == name;
        taken |= holds_loop(m->s->ctx, block, name);
        if (!taken)
            return name;
        const char *next = arena_printf(m->s->ctx->arena, "%.32s_%d", base, tries);
        name = sched_fresh_loop_name(m->s, &m->target, next, 0);
    }
}

/* Whether a loop of so many iterations is left out (preserve_unit_loops = false). */
static bool is_left_out(const Move *m, const Expr *extent)
{
    const Value *kept = &m->call->compute_at.preserve_unit_loops;
    return kept->kind != VALUE_NONE && !kept->u.i && expr_is(extent, 1);
}

/* The iteration of a new loop over 0..extent, unless that is left out. */
static Expr *iteration_of(const Move *m, const char *base, Expr *extent, LoopList *loops)
{
    Context *c = m->s->ctx;
    if (is_left_out(m, extent))
        return expr_index(c, 0);
    ForStmt loop = flow_loop(m->s, fresh_name(m, base, -1, loops), expr_index(c, 0), extent);
    VEC_PUSH(c->arena, loops, loop);
    return expr_var(c, loop.var, m->block->span);
}

/* The loops over an axis of a part, outermost first, and its places in their terms. */
static Expr *loops_over(const Move *m, int axis, LoopList *loops)
{
    Context *c = m->s->ctx;
    const Part *part = &m->part;
    Runs runs = part->runs ? part->runs[axis] : (Runs){0};
    Expr *value = part->box[axis].min;
    for (int i = runs.n > 0 ? runs.n - 1 : 0; i >= 0; i--) {
        Run run = runs.n > 0 ? runs.items[i] : (Run){1, 0};
        const char *base = arena_printf(c->arena, i > 0 ? "run%d" : "ax%d", axis);
        Expr *hi = runs.n > 0 ? expr_index(c, run.extent) : part->box[axis].extent;
        Expr *at = iteration_of(m, base, hi, loops);
        value = index_add(c, value, index_mul(c, expr_index(c, run.stride), at));
    }
    return value;
}

/* The loops over the axes that `back` speaks of, and have none yet; at[axis]: the places there. */
static void loops_over_places(const Move *m, const Expr *back, Subst *at, LoopList *loops)
{
    for (int axis = 0; axis < m->buffer->rank; axis++)
        if (!at[axis].value && expr_uses_var(back, m->tie.place[axis]))
            at[axis] = (Subst){m->tie.place[axis], loops_over(m, axis, loops)};
}

/* The same for the axes that say which elements there are, unless the part has one place there. */
static void loops_over_taken(const Move *m, Subst *at, LoopList *loops)
{
    for (int axis = 0; axis < m->buffer->rank; axis++) {
        bool one = expr_is(m->part.box[axis].extent, 1);
        if (!one && !at[axis].value && expr_uses_var(m->tie.taken, m->tie.place[axis]))
            at[axis] = (Subst){m->tie.place[axis], loops_over(m, axis, loops)};
    }
}

/* An expression of places, where they are those of the new loops. */
static Expr *at_places(const Move *m, Expr *e, const Subst *at)
{
    int rank = m->buffer->rank, n = 0;
    Subst *known = ARENA_ARRAY(m->s->ctx->arena, Subst, rank + 1);
    for (int axis = 0; axis < rank; axis++) {
        Expr *only = m->part.box[axis].min; /* an axis without a loop */
        known[n++] = at[axis].value ? at[axis] : (Subst){m->tie.place[axis], only};
    }
    return expr_subst(m->s->ctx, e, known, n);
}

/* The block's own condition, of iterators that were loops: of what they are in the new ones. */
static Expr *own_condition(const Move *m, const BlockIter *moved)
{
    Context *c = m->s->ctx;
    const BlockStmt *block = &m->block->u.block;
    Subst *now = ARENA_ARRAY(c->arena, Subst, block->n_iters + 1);
    int n = 0;
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].binding->kind == EX_VAR)
            now[n++] = (Subst){block->iters[i].binding->u.var, moved[i].binding};
    return block->predicate ? expr_subst(c, block->predicate, now, n) : NULL;
}

/* An expression of new loops. */
static Expr *simplified_in(const Move *m, const LoopList *loops, Expr *e)
{
    FactsMark mark = facts_mark(m->facts);
    for (int i = 0; i < loops->n; i++)
        facts_range(m->facts, loops->items[i].var, loops->items[i].lo, loops->items[i].hi);
    e = simplify(m->facts, e);
    facts_reset(m->facts, mark);
    return e;
}

/* Which instances run: those of elements of the buffer, and under `cond`. */
static Expr *condition_of(const Move *m, const LoopList *loops, const Subst *at, Expr *cond)
{
    Context *c = m->s->ctx;
    int64_t always;
    Expr *taken = m->tie.taken ? simplified_in(m, loops, at_places(m, m->tie.taken, at)) : NULL;
    if (taken && !(expr_is_const(taken, &always) && always))
        cond = cond_and(c, taken, cond);
    return cond;
}

/* A loop over the domain of an iterator that no subscript decides. */
static Expr *loop_over_domain(const Move *m, int i, const Subst *values, LoopList *loops)
{
    Context *c = m->s->ctx;
    const BlockIter *iter = &m->block->u.block.iters[i];
    Expr *lo = simplify(m->facts, expr_subst(c, iter->lo, values, i)),
         *hi = simplify(m->facts, expr_subst(c, iter->hi, values, i));
    if (is_left_out(m, simplify(m->facts, index_sub(c, hi, lo))))
        return lo;
    ForStmt loop = flow_loop(m->s, fresh_name(m, iter->var->name, i, loops), lo, hi);
    VEC_PUSH(c->arena, loops, loop);
    return expr_var(c, loop.var, m->block->span);
}

/* A loop over the values of an iterator for which the block has elements in the part. */
static Expr *loop_over_tiles(const Move *m, int i, LoopList *loops)
{
    Context *c = m->s->ctx;
    Interval tiles = m->part.tiles[i];
    const char *base = arena_printf(c->arena, "ax%d", i);
    return index_add(c, tiles.min, iteration_of(m, base, tiles.extent, loops));
}

int place_kept_by(const Move *m, int i)
{
    const BlockIter *iter = &m->block->u.block.iters[i];
    int common = place_common(m), innermost = -1;
    if (m->tie.back[i] || iter->kind != ITER_SPATIAL)
        return -1;
    for (int k = 0; k < m->path.n; k++) {
        const Stmt *loop = m->path.items[k];
        if (loop->kind != ST_FOR || !expr_uses_var(iter->binding, loop->u.loop.var))
            continue;
        if (k >= common)
            return -1;
        innermost = k;
    }
    return innermost;
}

/* The new loops for iterator i, and its value in them; `at` as for loops_over_places. */
static Expr *loops_for(const Move *m, int i, const Subst *values, Subst *at, LoopList *loops)
{
    Expr *back = m->tie.back[i];
    if (place_kept_by(m, i) >= 0)
        return m->block->u.block.iters[i].binding;
    if (!back)
        return loop_over_domain(m, i, values, loops);
    if (m->tie.tiles)
        return loop_over_tiles(m, i, loops);
    loops_over_places(m, back, at, loops);
    Expr *value = at_places(m, back, at);
    bool digit = back->kind == EX_DIV || back->kind == EX_MOD;
    return digit ? simplified_in(m, loops, value) : value;
}

/* The block in new loops: over the part for the iterators that index it, over their domains for the
 * others. */
static Stmt *nest_of(const Move *m, Expr *cond)
{
    Context *c = m->s->ctx;
    BlockStmt moved = m->block->u.block;
    BlockIter *iters = block_own_iters(c, &moved, 0);
    LoopList loops = {0};
    Subst *values = ARENA_ARRAY(c->arena, Subst, moved.n_iters + 1);
    Subst *at = ARENA_ARRAY(c->arena, Subst, m->buffer->rank + 1);
    for (int i = 0; i < moved.n_iters; i++) {
        iters[i].binding = loops_for(m, i, values, at, &loops);
        values[i] = (Subst){iters[i].var, iters[i].binding};
    }
    if (m->tie.taken)
        loops_over_taken(m, at, &loops);
    cond = condition_of(m, &loops, at, cond);
    Expr *own = own_condition(m, iters);
    moved.predicate = cond ? cond_and(c, own, cond) : own;
    Stmt *block = stmt_block(c, &moved, m->block->span);
    return stmt_in_loops(c, loops.items, loops.n, block, m->block->span);
}

/* Which item of the loop's body the nest comes before, where no place is given: the first that
 * reads the buffer, or the one after the last that writes it. */
static int place_in(const Move *m)
{
    Stmt *body = m->loop->u.loop.body;
    int at = 0, n = stmt_items(body);
    if (m->side->loop_does == ACCESS_READ) {
        while (at < n && !stmt_accesses(m->s->ctx, stmt_item(body, at), m->buffer, ACCESS_READ))
            at++;
        return at;
    }
    at = n;
    while (at > 0 && !stmt_accesses(m->s->ctx, stmt_item(body, at - 1), m->buffer, ACCESS_WRITE))
        at--;
    return at;
}

/* The statement number `index` of a body, not counting declarations of temps, as an item. */
static int item_of_statement(Stmt *body, int64_t index)
{
    int at = 0, n = stmt_items(body);
    while (at < n && (index > 0 || stmt_item(body, at)->kind == ST_TEMP))
        index -= stmt_item(body, at++)->kind != ST_TEMP;
    return index > 0 ? -1 : at;
}

/* Finds m->item: before the first item of the loop that reads the buffer, or after the last that
 * writes it, or where `index` says. */
static bool find_item(Move *m)
{
    const Value *index = &m->call->compute_at.index;
    int near = place_in(m), at = near;
    bool reads = m->side->loop_does == ACCESS_READ;
    if (index->kind != VALUE_NONE)
        at = index->u.i < 0 ? -1 : item_of_statement(m->loop->u.loop.body, index->u.i);
    REQUIRE(m->s, E0469, index->span, at >= 0 && (reads ? at <= near : at >= near),
            "place %lld in loop '%s' is %s; leave out the index to place the block %s",
            (long long)index->u.i, m->loop->u.loop.var->name,
            at < 0  ? "none of its statements"
            : reads ? "behind a statement that reads what the block makes"
                    : "before a statement that makes what the block reads",
            reads ? "before the first reader" : "behind the last writer");
    m->item = at;
    return true;
}

/* The block leaves its old loops first, because the new body holds a block with the same id. */
void place_build(Move *m, Expr *cond)
{
    Schedule *s = m->s;
    ForStmt changed = m->loop->u.loop;
    changed.body = stmt_insert(s->ctx, changed.body, m->item, nest_of(m, cond));
    Stmt *body = flow_remove(s, s->kernel->body, m->block);
    Stmt *target = stmt_stamp(stmt_for(s->ctx, &changed, m->loop->span), m->loop);
    m->body = stmt_replace(s->ctx, body, m->loop, target);
}

int place_common(const Move *m)
{
    return flow_common(&m->path, &m->target);
}

/* ---- may it move ----------------------------------------------------------------------------- */

static Name block_name(const Move *m)
{
    return m->block->u.block.name;
}

static Name loop_name(const Move *m)
{
    return m->loop->u.loop.var->name;
}

/* The block has a condition on the loop, which is not one on an iterator. */
static bool is_decided_by(const Move *m, const Stmt *loop)
{
    const BlockStmt *block = &m->block->u.block;
    bool is_iter = false;
    for (int i = 0; i < block->n_iters; i++)
        is_iter |= expr_is_var(block->iters[i].binding, loop->u.loop.var);
    return block->predicate && !is_iter && expr_uses_var(block->predicate, loop->u.loop.var);
}

/* The block loses nothing when it leaves its own loops: no condition, no kind or step of a loop. */
static bool own_loops_are_plain(const Move *m)
{
    Schedule *s = m->s;
    for (int i = place_common(m); i < m->path.n; i++) {
        const Stmt *stmt = m->path.items[i];
        REQUIRE(s, E0451, m->at_block, stmt->kind != ST_IF,
                "block '%s' is in a conditional branch, and would lose its condition",
                block_name(m));
        if (stmt->kind != ST_FOR)
            continue;
        REQUIRE(s, E0451, m->at_block, stmt->u.loop.kind == LOOP_SERIAL && stmt->u.loop.step == 1,
                "loop '%s' of block '%s' has a kind or a step that the move would discard, because "
                "the block gets new loops. Move it first, then bind, vectorize or unroll",
                stmt->u.loop.var->name, block_name(m));
        REQUIRE(s, E0451, m->at_block, !is_decided_by(m, stmt),
                "block '%s' has a condition from a split, on loop '%s', which the move would "
                "remove; move it before splitting its loops",
                block_name(m), stmt->u.loop.var->name);
    }
    return true;
}

/* A condition on loops around both stays. The elements that are read in an iteration of these have
 * to be made in it, too: it may not hold in the one that makes them. */
static bool common_condition_stays(const Move *m)
{
    Schedule *s = m->s;
    const Expr *predicate = m->block->u.block.predicate;
    const Stmt *loop = NULL;
    StmtPath common = m->path;
    common.n = 0;
    for (int i = 0; predicate && i < place_common(m); i++)
        if (m->path.items[i]->kind == ST_FOR) {
            common.n = i + 1;
            loop = expr_uses_var(predicate, m->path.items[i]->u.loop.var) ? m->path.items[i] : loop;
        }
    REQUIRE(s, E0451, m->at_block,
            !loop || flow_written_in_iteration(s, s->kernel->body, &common, m->buffer),
            "block '%s' has a condition on loop '%s', which is around both, and elements of '%s' "
            "may be read in another iteration of it than the one that makes them",
            block_name(m), stmt_label(loop), m->buffer->name);
    return true;
}

/* No temp that the block touches is declared in what it leaves. */
static bool stays_in_scope(const Move *m)
{
    Schedule *s = m->s;
    for (int i = place_common(m); i < m->path.n; i++) {
        const Stmt *seq = m->path.items[i];
        for (int k = 0; seq->kind == ST_SEQ && k < seq->u.seq.n; k++) {
            const Stmt *item = seq->u.seq.items[k];
            REQUIRE(s, E0465, m->at_block,
                    item->kind != ST_TEMP ||
                        !stmt_accesses(s->ctx, m->block, item->u.temp, ACCESS_ANY),
                    "block '%s' accesses '%s', which is declared in the loops that it would leave",
                    block_name(m), item->u.temp->name);
        }
    }
    return true;
}

static bool has_loop_called(const StmtPath *path, Name name)
{
    for (int i = 0; i < path->n; i++)
        if (path->items[i]->kind == ST_FOR && path->items[i]->u.loop.var->name == name)
            return true;
    return false;
}

/* The loops inside of the block (blockize) have other names than those that it comes under. */
static bool inner_names_are_free(const Move *m)
{
    Schedule *s = m->s;
    for (Cursor at = cursor_stmts(s->ctx, m->block->u.block.body); cursor_next(&at);)
        REQUIRE(s, E0466, m->at_loop,
                at.stmt->kind != ST_FOR || !has_loop_called(&m->target, at.stmt->u.loop.var->name),
                "a loop inside block '%s' and a loop around its new place are both named '%s'; "
                "rename one of them, as in  let [other] = split(loop, [_])",
                block_name(m), stmt_label(at.stmt));
    return true;
}

/* Temps that the block touches are declared before it reaches its new place. */
static bool temps_come_before(const Move *m)
{
    Schedule *s = m->s;
    const Stmt *loop = m->target.items[place_common(m)];
    for (int i = m->seq->u.seq.n - 1; i >= 0 && m->seq->u.seq.items[i] != loop; i--) {
        const Stmt *item = m->seq->u.seq.items[i];
        REQUIRE(s, E0465, m->at_block,
                item->kind != ST_TEMP || !stmt_accesses(s->ctx, m->block, item->u.temp, ACCESS_ANY),
                "block '%s' accesses '%s', which is declared after loop '%s'", block_name(m),
                item->u.temp->name, loop_name(m));
    }
    return true;
}

/* Finds the sequence in which block and loop are different items, and which. */
static bool find_sequence(Move *m)
{
    Schedule *s = m->s;
    int n = place_common(m);
    REQUIRE(s, E0467, m->at_loop, n < m->target.n, "block '%s' is already in loop '%s'",
            block_name(m), loop_name(m));
    m->seq = m->path.items[n - 1];
    REQUIRE(s, E0468, m->at_loop, m->seq->kind == ST_SEQ,
            "block '%s' and loop '%s' are in different branches of a condition", block_name(m),
            loop_name(m));
    m->block_item = stmt_place(m->seq, m->path.items[n]);
    m->loop_item = stmt_place(m->seq, m->target.items[n]);
    return temps_come_before(m) && stays_in_scope(m) && inner_names_are_free(m);
}

/* What makes the buffer runs before what reads it. */
static bool makers_come_first(const Move *m)
{
    Schedule *s = m->s;
    bool reads = m->side->loop_does == ACCESS_READ;
    REQUIRE(s, E0450, m->at_loop,
            reads ? m->block_item < m->loop_item : m->block_item > m->loop_item,
            "loop '%s' runs %s block '%s' in the program", loop_name(m), reads ? "before" : "after",
            block_name(m));
    return true;
}

/* The values of each iterator for the elements of the part. */
static bool find_tiles(Move *m)
{
    Context *c = m->s->ctx;
    Facts *f = m->facts;
    const BlockStmt *block = &m->block->u.block;
    FactsMark mark = facts_mark(f);
    bool found = true;
    m->part.tiles = ARENA_ARRAY(c->arena, Interval, block->n_iters + 1);
    for (int axis = 0; axis < m->buffer->rank; axis++) {
        Interval box = m->part.box[axis];
        facts_range(f, m->tie.place[axis], box.min, index_add(c, box.min, box.extent));
    }
    for (int i = 0; i < block->n_iters && found; i++)
        found = !m->tie.back[i] ||
                interval_over(f, simplify(f, m->tie.back[i]), (const Var *const *)m->tie.place,
                              m->buffer->rank, &m->part.tiles[i]);
    facts_reset(f, mark);
    return found;
}

static bool find_part(Move *m)
{
    Schedule *s = m->s;
    m->facts = sched_facts(s, &m->target);
    facts_enter(m->facts, m->loop);
    m->part.box = ARENA_ARRAY(s->ctx->arena, Interval, m->buffer->rank + 1);
    REQUIRE(s, E0455, m->at_loop, m->side->find_part(m) && (!m->tie.tiles || find_tiles(m)),
            "the part of '%s' that one iteration of loop '%s' %s has no bounds that tirc can find",
            m->buffer->name, loop_name(m), m->side->loop_does == ACCESS_READ ? "reads" : "writes");
    return true;
}

Runs *place_runs(const Move *m, AccessMode mode)
{
    Runs *runs = ARENA_ARRAY(m->s->ctx->arena, Runs, m->buffer->rank + 1);
    RunsOf of = {m->loop->u.loop.body, m->buffer, mode};
    for (int axis = 0; axis < m->buffer->rank; axis++)
        runs[axis] = region_runs(m->facts, &of, axis, &m->part.box[axis]);
    return runs;
}

/* ---- the move -------------------------------------------------------------------------------- */

static void find_move(Move *m)
{
    m->path = m->target = (StmtPath){0};
    m->block = sched_node(m->s, &m->call->compute_at.block, &m->path);
    m->loop = sched_node(m->s, &m->call->compute_at.loop, &m->target);
}

bool place_block(Schedule *s, const PrimCall *call, const MoveSide *side)
{
    Move m = {.s = s, .call = call, .side = side};
    m.at_block = call->compute_at.block.span;
    m.at_loop = call->compute_at.loop.span;
    find_move(&m);
    if (flow_declare_for(s, &m.path, &m.target))
        find_move(&m);
    if (!find_sequence(&m) || !side->can_move(&m) || !own_loops_are_plain(&m) ||
        !makers_come_first(&m) || !side->find_tie(&m) || !common_condition_stays(&m) ||
        !find_part(&m) || !find_item(&m))
        return false;

    place_build(&m, NULL);
    if (!side->keeps_meaning(&m) ||
        !flow_recheck_block(s, m.body, m.loop->u.loop.id, &m.block->u.block, call->span))
        return false;

    sched_replace_body(s, m.body);
    return true;
}
