/* reverse_compute_at.c - Implements reverse_compute_at: runs, in each iteration of a loop, the
 * instances of a block whose inputs are ready there.
 *
 *   for io in N / 32                            for io in N / 32
 *       for ii in 32                                for ii in 32
 *           block B: b[io * 32 + ii] = ...  =>          block B: b[io * 32 + ii] = ...
 *   block C: c[i] = f(b[i])  (i in N)               for ax0 in 32
 *                                                       block C: c[..] = f(b[io * 32 + ax0])
 *
 * Legal: what the loop writes decides which iterations of the block come under it, each once, and
 * they run in an order that keeps their dependences.
 * Invariant: every instance of the block runs exactly once. */
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/blocks/place.h"
#include "passes/schedule/copies/stage.h"

/* How a read tells the block's iterators. */
typedef enum { TIE_PLAIN, TIE_FORMULA, TIE_TILES, TIES } TieKind;

/* Ties the block to what the loop writes by one of its reads. */
static bool ties(Move *m, const Access *read, TieKind kind)
{
    Schedule *s = m->s;
    int *iters = ARENA_ARRAY(s->ctx->arena, int, read->buffer->rank + 1);
    m->buffer = read->buffer;
    if (!stmt_accesses(s->ctx, m->loop, read->buffer, ACCESS_WRITE))
        return false;
    bool plain = flow_pure_index(&m->block->u.block, read->buffer, read->index, iters);
    if (kind == TIE_TILES)
        return tie_find_tiles(s, m->block, read, &m->tie);
    return plain == (kind == TIE_PLAIN) &&
           tie_find(s, m->block, read->buffer, read->index, &m->tie);
}

/* Finds a buffer that is written under the loop, and that the block reads at subscripts that decide
 * its iterators: at the iterators themselves if there is such a read. */
static bool find_made(Move *m)
{
    AccessList reads = access_list(m->s->ctx, m->block, NULL, ACCESS_READ);
    for (TieKind kind = TIE_PLAIN; kind < TIES; kind++)
        for (int r = 0; r < reads.n; r++)
            if (ties(m, &reads.items[r], kind))
                return true;
    return false;
}

/* An init runs for elements without any update, too, which no instance of the block stands for:
 * where there may be some, as the range of a reduction is empty for these or conditions leave their
 * updates out, it is not known that the loops of the new place go through them. */
static bool can_move(const Move *m)
{
    Schedule *s = m->s;
    const BlockStmt *block = &m->block->u.block;
    const BlockIter *empty = block->init ? reduction_empty_for_some(s->ctx, block) : NULL;
    REQUIRE(s, E0456, m->at_block, !empty,
            "some elements of block '%s' may have an empty range of '%s', and whether their init "
            "runs in the loop is unknown; use decompose_reduction first",
            block->name, empty->var->name);
    Conflict why;
    REQUIRE_KEPT(s, E0456, m->at_block,
                 !block->init || flow_runs_whole(s, path_end(&m->path), &why), &why,
                 "block '%s' does not run over the full domains of its iterators, so some elements "
                 "may have their init alone, and whether that runs in the loop is unknown; use "
                 "decompose_reduction first",
                 block->name);
    return true;
}

/* The condition under which the one writer of the buffer under the loop runs, where the loops on
 * the path decide it; NULL: none. An iteration that makes nothing has nothing to consume. */
static Expr *producer_condition(const Move *m)
{
    const Stmt *writer = only_block_accessing(m->s->ctx, m->loop, m->buffer, ACCESS_WRITE);
    Expr *cond = writer ? writer->u.block.predicate : NULL;
    return cond && expr_loop_outside(m->s->ctx, cond, &m->target) ? NULL : cond;
}

static bool find_tie(Move *m)
{
    Schedule *s = m->s;
    REQUIRE(s, E0453, m->at_loop, find_made(m),
            "block '%s' has no read of a buffer that loop '%s' writes whose subscripts decide its "
            "iterators, so the instances of one iteration are unknown",
            m->block->u.block.name, m->loop->u.loop.var->name);
    return true;
}

static bool find_part(Move *m)
{
    if (!region_reached(m->facts, m->loop->u.loop.body, m->buffer, ACCESS_WRITE, m->part.box))
        return false;
    m->part.runs = place_runs(m, ACCESS_WRITE);
    return true;
}

static bool rewrite_is_kept(const Move *m, Rewrite rewrite, Conflict *why)
{
    Schedule *s = m->s;
    return dependence_instances_kept(s->ctx, rewrite, m->block->u.block.id, why) &&
           dependence_order_kept(s->ctx, rewrite, &s->reassociates, why);
}

/* The place on the path of the innermost loop around both places; -1 if there is none. */
static int common_loop(const Move *m)
{
    int i = place_common(m) - 1;
    while (i >= 0 && m->path.items[i]->kind != ST_FOR)
        i--;
    return i;
}

/* Iterators tell the iterations apart of all loops around the block behind a place on its path. */
static bool are_counted(const Move *m, int place, Conflict *why)
{
    const BlockStmt *block = &m->block->u.block;
    for (int i = place + 1; i < m->path.n; i++)
        if (m->path.items[i]->kind == ST_FOR &&
            !block_uses_var(block, m->path.items[i]->u.loop.var)) {
            *why = (Conflict){.first = block,
                              .reason = "it runs in each iteration of a loop that none of its "
                                        "iterators counts"};
            return false;
        }
    return true;
}

/* Everything runs as before, or does so in each iteration of the loops around both places: there, a
 * block that does not depend on these loops runs once. An init may stand before them. */
static bool runs_as_before(const Move *m, Conflict *why)
{
    Schedule *s = m->s;
    int common = common_loop(m);
    const Stmt *loop = common < 0 ? NULL : m->path.items[common];
    if (are_counted(m, -1, why) &&
        rewrite_is_kept(m, (Rewrite){s->kernel, s->kernel->body, m->body}, why))
        return true;
    if (!loop || !are_counted(m, common, why) || block_with_init(s->ctx, loop->u.loop.body))
        return false;
    Stmt *after = stmt_find(s->ctx, m->body, loop->u.loop.id, NULL)->u.loop.body;
    return rewrite_is_kept(m, (Rewrite){s->kernel, loop->u.loop.body, after}, why);
}

/* A loop around the block in its new place, but not around its init in the old one, that no
 * iterator counts and that may have no iteration; NULL: there is none. */
static const Stmt *loop_that_may_skip(const Move *m)
{
    Context *c = m->s->ctx;
    StmtPath path = {0};
    Facts *f = facts_of_kernel(c, m->s->kernel);
    int start = reduction_start(c, &m->path);
    stmt_find(c, m->body, m->block->u.block.id, &path);
    for (int i = 0; i < path.n - 1; i++) {
        const Stmt *s = path.items[i];
        const BlockStmt *block = &path_end(&path)->u.block;
        int old = s->kind == ST_FOR ? path_loop(&m->path, s->u.loop.id) : -1;
        if (s->kind == ST_FOR && path_loop(&m->target, s->u.loop.id) >= 0 &&
            (old < 0 || old >= start) && !block_uses_var(block, s->u.loop.var) &&
            !prove_at_least(f, loop_extent(c, &s->u.loop), 1))
            return s;
        facts_enter_item(f, &path, i);
    }
    return NULL;
}

/* An init runs also where its reduction is empty: then no instance of the block requires the loops
 * around it to run. If it always is, no instance tells either which elements these loops have to go
 * through. */
static bool init_still_runs(const Move *m)
{
    const BlockStmt *block = &m->block->u.block;
    if (!block->init || !reduction_may_be_empty(m->s->ctx, block))
        return true;
    const Stmt *loop = loop_that_may_skip(m);
    REQUIRE(m->s, E0456, m->at_loop, !loop,
            "loop '%s' may have no iteration, and then the init of block '%s' would not run there; "
            "use decompose_reduction first, and move the updates alone",
            stmt_label(loop), block->name);
    const BlockIter *empty = reduction_empty_for_all(m->s->ctx, block);
    REQUIRE(m->s, E0456, m->at_block, !empty,
            "the range of '%s' is empty, so block '%s' runs its init alone, and no instance tells "
            "where; use decompose_reduction first",
            empty->var->name, block->name);
    return true;
}

static bool has_gaps(const Move *m)
{
    bool gaps = false;
    for (int axis = 0; axis < m->buffer->rank; axis++)
        gaps = gaps || m->part.runs[axis].n > 0;
    return gaps;
}

/* The block runs as before for the elements that the loop writes, or else for those of their box:
 * between the runs of a tile there may be elements that no iteration writes. */
static bool keeps_meaning(Move *m)
{
    Schedule *s = m->s;
    Conflict why;
    Expr *cond = producer_condition(m);
    bool kept = runs_as_before(m, &why);
    if (!kept && has_gaps(m)) {
        m->part.runs = NULL;
        place_build(m, NULL);
        kept = runs_as_before(m, &why);
    }
    if (!kept && cond) {
        place_build(m, cond);
        kept = runs_as_before(m, &why);
    }
    REQUIRE_KEPT(s, E0456, m->at_loop, kept, &why,
                 "inside loop '%s', block '%s' would not run as it does now: %s",
                 m->loop->u.loop.var->name, m->block->u.block.name, why.reason);
    return init_still_runs(m);
}

bool prim_reverse_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    static const MoveSide side = {ACCESS_WRITE, can_move, find_tie, find_part, keeps_meaning};
    (void)result;
    return place_block(s, call, &side);
}
