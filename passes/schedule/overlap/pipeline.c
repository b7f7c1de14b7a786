/* pipeline.c - Implements pipeline: runs copies ahead of the iteration that uses them.
 *
 *   for ko in n {                 load(0) ... load(ahead - 1)
 *       load(ko)            =>    for ko in n {
 *       use(ko)                       load(ko + ahead)      if there is such an iteration
 *   }                                 use(ko)
 *                                 }
 *
 * Of the stages, one is in use and `ahead` are being filled. `pending` more belong to the
 * iterations before: instructions that they have begun may still read them
 * (passes/lower/threads/async.c). With all others pending, nothing runs ahead: bulk stores of the
 * iterations before read them (passes/lower/threads/stores.c).
 *
 * Buffers are logical, whole arrays at this level, so loads of different iterations write different
 * elements and the step is nothing but another order, which dependence_order_kept judges: in the
 * loop that runs load(t) and use(t - ahead) for t in 0..n + ahead, of which the program above is
 * the first `ahead` iterations, peeled, and the rest. What makes it cheap is the fold
 * of the axis along which the loop moves: lowering keeps the parts of the iterations that overlap,
 * in a circle.
 *
 * Where a load goes through registers (global -> local -> shared), the part that fills registers
 * runs before the use and the part that empties them after it, so that the arithmetic hides the
 * time that memory takes.
 *
 * Legal: the loads of an iteration may run before the uses of those before it, and the buffers have
 * room for the iterations that overlap.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "ir/copies/bulk_copy.h"
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/overlap/ahead.h"
#include "passes/schedule/overlap/circle.h"

/* A statement of the loop's body that runs ahead. */
typedef struct {
    Circle circle; /* what it fills */
    Name name;     /* of its block */
    bool drains;   /* reads registers that another ahead statement has filled */
    bool stays;    /* read by ahead statements only */
    /* and that in the iteration which fills it, without anything left for later ones */
    bool used_up;
} Ahead;

typedef struct {
    Schedule *s;
    const PrimCall *call;
    AheadLoop at;
    CircleLoop loops;
    int64_t distance; /* of a copy from the iteration that uses it */
    VEC(Ahead) ahead;
    VEC(Stmt *) rest; /* the other statements of the body */
} Pipeline;

/* ---- which statements run ahead -------------------------------------------------------------- */

static const Ahead *find_ahead(const Pipeline *p, const Buffer *buffer)
{
    for (int i = 0; i < p->ahead.n; i++)
        if (p->ahead.items[i].circle.buffer->id == buffer->id)
            return &p->ahead.items[i];
    return NULL;
}

/* The one block of a statement. */
static Stmt *only_block(const Pipeline *p, Stmt *item)
{
    StmtList blocks = stmts_of_kind(p->s->ctx, item, ST_BLOCK);
    return blocks.n == 1 ? blocks.items[0] : NULL;
}

/* The block reads global memory, what the loop does not write, or registers that an ahead statement
 * before it fills. */
static bool reads_ahead(const Pipeline *p, Stmt *block, bool *drains)
{
    BufferSet reads = flow_buffers(p->s, block, ACCESS_READ);
    const Stmt *body = p->at.loop->u.loop.body;
    *drains = false;
    for (int i = 0; i < reads.n; i++) {
        const Ahead *from = find_ahead(p, reads.items[i]);
        bool filled = from && from->circle.buffer->scope == SCOPE_LOCAL && !from->drains;
        *drains |= filled;
        for (int k = 0; k < stmt_items(body) && !filled; k++) {
            BlockList writers = flow_blocks(p->s, stmt_item(body, k), reads.items[i], ACCESS_WRITE);
            if (writers.n > 0 && !scope_outlives_launch(reads.items[i]->scope))
                return false;
        }
    }
    return true;
}

/* The only store of a block, which may stand in loops of the block; NULL: there are several. */
static const Stmt *store_of(const Pipeline *p, const Stmt *block)
{
    const Stmt *body = block ? block->u.block.body : NULL;
    while (body && body->kind == ST_FOR)
        body = body->u.loop.body;
    return stmt_written_out(p->s->ctx, body);
}

static bool try_ahead(Pipeline *p, Stmt *item)
{
    Stmt *block = only_block(p, item);
    const Stmt *store = store_of(p, block);
    Ahead ahead = {.circle.item = item};
    if (!store || store->u.store.op != STORE_SET || block->u.block.init ||
        store->u.store.buffer->role != ROLE_TEMP ||
        scope_outlives_launch(store->u.store.buffer->scope) ||
        stmt_accesses(p->s->ctx, block, store->u.store.buffer, ACCESS_READ) ||
        ahead_own_temp(&p->at, block) || !reads_ahead(p, block, &ahead.drains))
        return false;
    ahead.circle.buffer = sched_buffer(p->s, store->u.store.buffer->id);
    ahead.name = block->u.block.name;
    VEC_PUSH(p->s->ctx->arena, &p->ahead, ahead);
    return true;
}

/* Is the buffer used up by ahead statements? */
static bool read_ahead_only(const Pipeline *p, const Buffer *buffer)
{
    for (int i = 0; i < p->rest.n; i++)
        if (stmt_accesses(p->s->ctx, p->rest.items[i], buffer, ACCESS_READ))
            return false;
    return true;
}

static bool find_stages(Pipeline *p)
{
    Name name = p->at.loop->u.loop.var->name;
    const Stmt *body = p->at.loop->u.loop.body;
    for (int i = 0; i < stmt_items(body); i++)
        if (!try_ahead(p, stmt_item(body, i)))
            VEC_PUSH(p->s->ctx->arena, &p->rest, stmt_item(body, i));
    int used = 0;
    for (int i = 0; i < p->ahead.n; i++) {
        p->ahead.items[i].stays = read_ahead_only(p, p->ahead.items[i].circle.buffer);
        used += !p->ahead.items[i].stays;
    }
    REQUIRE(p->s, E0471, p->call->span, used > 0,
            "loop '%s' has no copy to run ahead. Its body needs a block with one store to a temp "
            "in shared or local memory, which other statements read; create it with cache_read and "
            "compute_at(..., %s)",
            name, name);
    return true;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* What becomes of a group of statements. */
typedef Stmt *Rebuild(const Pipeline *p, Stmt *group, void *user);

typedef enum { STEP_FILLS, STEP_DRAINS } CopyStep;

static void add_ahead(const Pipeline *p, CopyStep step, Rebuild *rebuild, void *user,
                      BlockList *out)
{
    Context *c = p->s->ctx;
    BlockList group = {0};
    for (int i = 0; i < p->ahead.n; i++)
        if (p->ahead.items[i].drains == (step == STEP_DRAINS))
            VEC_PUSH(c->arena, &group, p->ahead.items[i].circle.item);
    Stmt *all = stmt_seq(c, group.items, group.n, p->at.loop->span);
    if (group.n > 0)
        VEC_PUSH(c->arena, out, rebuild(p, all, user));
}

/* The statements of one iteration: fill registers and copy directly, use (if asked for), empty
 * registers. */
static Stmt *in_order(const Pipeline *p, Rebuild *ahead, Rebuild *use, void *user)
{
    Context *c = p->s->ctx;
    BlockList items = {0};
    Stmt *rest = stmt_seq(c, p->rest.items, p->rest.n, p->at.loop->span);
    add_ahead(p, STEP_FILLS, ahead, user, &items);
    if (use)
        VEC_PUSH(c->arena, &items, use(p, rest, user));
    add_ahead(p, STEP_DRAINS, ahead, user, &items);
    return stmt_seq(c, items.items, items.n, p->at.loop->span);
}

static Stmt *model_ahead(const Pipeline *p, Stmt *group, void *user)
{
    Expr *t = user;
    return ahead_model(&p->at, group, t,
                       expr_binary(p->s->ctx, EX_LT, t, p->at.loop->u.loop.hi, group->span));
}

static Stmt *model_use(const Pipeline *p, Stmt *group, void *user)
{
    Context *c = p->s->ctx;
    Expr *t = user, *late = expr_index(c, p->distance);
    return ahead_model(&p->at, group, index_sub(c, t, late),
                       expr_binary(c, EX_GE, t, late, group->span));
}

/* The order of the pipeline as one loop with the same blocks, for the question whether it is
 * kept. */
static bool check_order(Pipeline *p)
{
    Conflict why;
    ForStmt model = ahead_model_loop(&p->at, p->distance);
    model.body = in_order(p, model_ahead, model_use, expr_var(p->s->ctx, model.var, span_none()));
    REQUIRE_KEPT(p->s, E0473, p->call->span, ahead_order_kept(&p->at, &model, &why), &why,
                 "iterations of loop '%s' cannot overlap in %lld stages: %s",
                 p->at.loop->u.loop.var->name, (long long)p->loops.stages, why.reason);
    return true;
}

/* ---- the program ----------------------------------------------------------------------------- */

static Stmt *move_ahead(const Pipeline *p, Stmt *group, void *user)
{
    (void)user;
    return ahead_inside(&p->at, group, p->distance);
}

static Stmt *keep(const Pipeline *p, Stmt *group, void *user)
{
    (void)p;
    (void)user;
    return group;
}

static Stmt *build_loop(const Pipeline *p)
{
    ForStmt loop = p->at.loop->u.loop;
    if (p->distance > 0)
        loop.body = in_order(p, move_ahead, keep, NULL);
    else
        loop.annotations = annotations_mark(p->s->ctx, loop.annotations, ANNOTATION_OVERLAP_STORES);
    return stmt_for(p->s->ctx, &loop, p->at.loop->span);
}

static Buffer *first_buffer(const Pipeline *p, const Buffer *of)
{
    Buffer *buffer = stage_buffer(p->s, of, "first", of->scope, p->call->span);
    buffer->layout = of->layout;
    return buffer;
}

/* What each iteration of the loop reads of these buffers it has written itself. False after an
 * error. */
static bool find_used_up(Pipeline *p)
{
    Threads *t = NULL;
    int n_fixed = sched_loops_on(p->s, p->loops.path, NULL);
    for (int i = 0; i < p->ahead.n; i++) {
        Ahead *a = &p->ahead.items[i];
        if (a->stays && !t &&
            !(t = flow_threads(p->s, p->s->kernel->body, p->loops.path, p->call->span)))
            return false;
        a->used_up = a->stays && threads_reads_covered(t, a->circle.buffer, n_fixed);
    }
    return true;
}

/* The kernel's body with the pipeline in place of the loop. What an iteration fills and uses up is
 * no circle: before the loop it gets a buffer of its own. What stays for later iterations is where
 * they look for it. */
static Stmt *build_body(const Pipeline *p, Stmt **first)
{
    Schedule *s = p->s;
    Context *c = s->ctx;
    const Stmt *loop = path_end(p->loops.path);
    BufferSet own = {0};
    for (int i = 0; i < p->ahead.n; i++)
        if (p->ahead.items[i].used_up) {
            Buffer *buffer = first_buffer(p, p->ahead.items[i].circle.buffer);
            *first = stmt_replace_buffer(c, *first, p->ahead.items[i].circle.buffer, buffer);
            VEC_PUSH(c->arena, &own, buffer);
        }
    Stmt *items[] = {*first, build_loop(p)};
    Stmt *body = stmt_replace(c, s->kernel->body, loop, stmt_seq(c, items, 2, loop->span));
    for (int i = 0; i < p->ahead.n; i++) {
        const Ahead *a = &p->ahead.items[i];
        if (!a->stays)
            body = stmt_replace_buffer(s->ctx, body, a->circle.buffer,
                                       circle_folded(c, &a->circle, p->loops.stages));
    }
    for (int i = 0; i < own.n; i++)
        body = flow_declare(s, body, (Buffer *)own.items[i]);
    return body;
}

bool prim_pipeline(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_node(s, &call->pipeline.loop, &path);
    const Value *asked = &call->pipeline.pending;
    int64_t stages = call->pipeline.stages.u.i, extent;
    int64_t pending = asked->kind == VALUE_NONE ? 0 : asked->u.i;
    /* a bulk store reads what it needs behind its iteration */
    bool stores = blocks_that(s->ctx, loop, block_stores_bulk).n > 0;
    if (!circle_stages_can(s, &call->pipeline.stages, asked, stores ? 0 : 1))
        return false;
    if (!sched_require_serial(s, loop, call->span) || !ahead_require_range(s, loop, call->span))
        return false;
    *result = value_list(s, NULL, 0);
    if (loop_const_extent(&loop->u.loop, &extent) && extent <= 1)
        return true;
    Stmt *from_zero = loop_from_zero(s, &path);
    Pipeline p = {.s = s,
                  .call = call,
                  .at = {s, from_zero, &path},
                  .loops = {s, call, from_zero, &path, stages},
                  .distance = stages - 1 - pending};
    if (!find_stages(&p))
        return false;
    for (int i = 0; i < p.ahead.n; i++)
        if (!circle_users_can(&p.loops, &p.ahead.items[i].circle) ||
            (!p.ahead.items[i].stays && !circle_measure(&p.loops, &p.ahead.items[i].circle)))
            return false;
    Stmt *first = stmt_empty(s->ctx, call->span);
    if (p.distance > 0) {
        if (!check_order(&p) || !find_used_up(&p))
            return false;
        first = ahead_before(&p.at, in_order(&p, keep, NULL, NULL), p.distance);
    }
    Stmt *body = build_body(&p, &first);
    if (!flow_recheck_order(s, body, loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_blocks(s, stmts_of_kind(s->ctx, first, ST_BLOCK));
    return true;
}
