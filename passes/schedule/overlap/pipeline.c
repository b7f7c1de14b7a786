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
 * (passes/lower/threads/async.c).
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
#include "passes/schedule/overlap/ahead.h"

enum { MAX_STAGES = 16 };

/* A statement of the loop's body that runs ahead. */
typedef struct {
    Stmt *item;
    Buffer *buffer;
    Name name;   /* of its block */
    bool drains; /* reads registers that another ahead statement has filled */
    bool stays;  /* read by ahead statements only */
    /* and that in the iteration which fills it, without anything left for later ones */
    bool used_up;
    int axis;     /* that moves with the loop ... */
    int64_t step; /* ... by this many elements an iteration */
} Ahead;

typedef struct {
    Schedule *s;
    const PrimCall *call;
    AheadLoop at;
    Stmt *loop;           /* from 0 in steps of 1 */
    const StmtPath *path; /* to the loop as it was */
    int64_t stages;
    int64_t distance; /* of a copy from the iteration that uses it */
    VEC(Ahead) ahead;
    VEC(Stmt *) rest; /* the other statements of the body */
} Pipeline;

/* ---- which statements run ahead -------------------------------------------------------------- */

static const Ahead *find_ahead(const Pipeline *p, const Buffer *buffer)
{
    for (int i = 0; i < p->ahead.n; i++)
        if (p->ahead.items[i].buffer->id == buffer->id)
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
    BufferSet reads = {0};
    flow_buffers(p->s, block, ACCESS_READ, &reads);
    const Stmt *body = p->at.loop->u.loop.body;
    *drains = false;
    for (int i = 0; i < reads.n; i++) {
        const Ahead *from = find_ahead(p, reads.items[i]);
        bool filled = from && from->buffer->scope == SCOPE_LOCAL && !from->drains;
        *drains |= filled;
        for (int k = 0; k < stmt_items(body) && !filled; k++) {
            BlockList writers = {0};
            flow_blocks(p->s, stmt_item(body, k), reads.items[i], ACCESS_WRITE, &writers);
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
    Ahead ahead = {.item = item};
    if (!store || store->u.store.op != STORE_SET || block->u.block.init ||
        store->u.store.buffer->role != ROLE_TEMP ||
        scope_outlives_launch(store->u.store.buffer->scope) ||
        stmt_accesses(p->s->ctx, block, store->u.store.buffer, ACCESS_READ) ||
        ahead_own_temp(&p->at, block) || !reads_ahead(p, block, &ahead.drains))
        return false;
    ahead.buffer = sched_buffer(p->s, store->u.store.buffer->id);
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
    Name name = p->loop->u.loop.var->name;
    const Stmt *body = p->at.loop->u.loop.body;
    for (int i = 0; i < stmt_items(body); i++)
        if (!try_ahead(p, stmt_item(body, i)))
            VEC_PUSH(p->s->ctx->arena, &p->rest, stmt_item(body, i));
    int used = 0;
    for (int i = 0; i < p->ahead.n; i++) {
        p->ahead.items[i].stays = read_ahead_only(p, p->ahead.items[i].buffer);
        used += !p->ahead.items[i].stays;
    }
    REQUIRE(p->s, E0471, p->call->span, used > 0,
            "loop '%s' has no copy to run ahead. Its body needs a block with one store to a temp "
            "in shared or local memory, which other statements read; create it with cache_read and "
            "compute_at(..., %s)",
            name, name);
    return true;
}

/* ---- what moves with the loop ---------------------------------------------------------------- */

/* The buffer is filled by this statement and read in the loop, nowhere else. */
static bool check_users(Pipeline *p, const Ahead *a)
{
    BlockList writers = {0}, readers = {0}, inside = {0};
    flow_blocks(p->s, p->s->kernel->body, a->buffer, ACCESS_WRITE, &writers);
    REQUIRE(
        p->s, E0472, p->call->span, writers.n == 1,
        "'%s' is written by blocks '%s' and '%s', so an iteration of '%s' has no region of its own",
        a->buffer->name, writers.items[0]->u.block.name, writers.items[1]->u.block.name,
        p->loop->u.loop.var->name);
    flow_blocks(p->s, p->s->kernel->body, a->buffer, ACCESS_READ, &readers);
    flow_blocks(p->s, p->loop, a->buffer, ACCESS_READ, &inside);
    for (int i = 0; i < readers.n; i++) {
        bool found = false;
        for (int k = 0; k < inside.n; k++)
            found |= inside.items[k]->u.block.id == readers.items[i]->u.block.id;
        REQUIRE(p->s, E0472, p->call->span, found,
                "block '%s' reads '%s' outside loop '%s', when most of it has been overwritten",
                readers.items[i]->u.block.name, a->buffer->name, p->loop->u.loop.var->name);
    }
    return true;
}

/* Does the expression use a loop around the pipeline that is bound to threads? */
static const Var *uses_thread(const Pipeline *p, const Expr *e)
{
    for (int i = 0; i < p->path->n; i++) {
        const Stmt *stmt = p->path->items[i];
        if (stmt->kind == ST_FOR && stmt->u.loop.kind == LOOP_BIND &&
            axis_is_thread(stmt->u.loop.axis) && expr_uses_var(e, stmt->u.loop.var))
            return stmt->u.loop.var;
    }
    return NULL;
}

static bool refuse_box(Pipeline *p, const Ahead *a, const Interval *box, const char *what)
{
    Schedule *s = p->s;
    Name loop = p->loop->u.loop.var->name;
    sched_refuse(s, E0472, p->call->span,
                 "an iteration of '%s' fills this region of '%s', by axis: %s. %s; each iteration "
                 "must start where the previous one ended, along one axis",
                 loop, a->buffer->name, sched_box_text(s, box, a->buffer->rank), what);
    sched_note_at(s, a->item, "the buffer is filled here");
    return false;
}

/* The one axis along which the box moves, by exactly its extent; NULL, or what is wrong with it. */
static const char *find_axis(Pipeline *p, Ahead *a, Facts *facts, const Interval *box)
{
    Context *c = p->s->ctx;
    a->axis = -1;
    for (int d = 0; d < a->buffer->rank; d++) {
        int64_t step, extent;
        Expr *rest;
        if (!split_linear(facts, box[d].min, p->loop->u.loop.var, &step, &rest))
            return "The region is not affine in the loop";
        if (step == 0)
            continue;
        if (a->axis >= 0)
            return "The region moves along two axes";
        if (!expr_is_const(box[d].extent, &extent) || extent != step)
            return arena_printf(c->arena,
                                "Along axis %d it moves by %lld per iteration, but is %s long", d,
                                (long long)step, expr_text(p->s->ctx, box[d].extent));
        const Var *thread = a->buffer->scope == SCOPE_SHARED ? uses_thread(p, rest) : NULL;
        if (thread)
            return arena_printf(c->arena, "The region depends on '%s'", thread->name);
        a->axis = d;
        a->step = step;
    }
    return a->axis < 0 ? "The region is the same in every iteration" : NULL;
}

/* What the iteration reads along the axis lies in what it fills. */
static bool check_reads(Pipeline *p, const Ahead *a, Facts *facts, Interval got, Interval made)
{
    Context *c = p->s->ctx;
    Expr *from = expr_binary(c, EX_GE, got.min, made.min, span_none());
    Expr *to = expr_binary(c, EX_LE, index_add(c, got.min, got.extent),
                           index_add(c, made.min, made.extent), span_none());
    REQUIRE(p->s, E0472, p->call->span, prove(facts, from) && prove(facts, to),
            "an iteration of '%s' fills %s elements of '%s' from %s along axis %d, but reads %s "
            "from %s; it must read only elements that it fills",
            p->loop->u.loop.var->name, expr_text(p->s->ctx, made.extent), a->buffer->name,
            expr_text(p->s->ctx, made.min), a->axis, expr_text(p->s->ctx, got.extent),
            expr_text(p->s->ctx, got.min));
    return true;
}

/* The part that one iteration fills, by the loops of the statement that fills it; where these run
 * further than the block does, because they have been fused and split, by what is read. */
static bool measure(Pipeline *p, Ahead *a)
{
    Context *c = p->s->ctx;
    Facts *facts = sched_facts(p->s, p->path);
    Interval *made = ARENA_ARRAY(c->arena, Interval, a->buffer->rank + 1);
    Interval *got = ARENA_ARRAY(c->arena, Interval, a->buffer->rank + 1);
    facts_enter(facts, p->loop);
    region_reached(facts, a->item, a->buffer, ACCESS_WRITE, made);
    region_reached(facts, p->loop->u.loop.body, a->buffer, ACCESS_READ, got);
    REQUIRE(p->s, E0472, p->call->span, a->buffer->rank > 0,
            "'%s' has a single element, so the iterations of '%s' cannot fill separate regions",
            a->buffer->name, p->loop->u.loop.var->name);
    const char *wrong = find_axis(p, a, facts, made);
    if (wrong && find_axis(p, a, facts, got))
        return refuse_box(p, a, made, wrong);
    if (!wrong && !check_reads(p, a, facts, got[a->axis], made[a->axis]))
        return false;
    int64_t fold;
    REQUIRE(p->s, E0474, p->call->span, checked_mul(a->step, p->stages, &fold) && fold <= INT32_MAX,
            "%lld stages of %lld elements exceed 2147483647", (long long)p->stages,
            (long long)a->step);
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
            VEC_PUSH(c->arena, &group, p->ahead.items[i].item);
    Stmt *all = stmt_seq(c, group.items, group.n, p->loop->span);
    if (group.n > 0)
        VEC_PUSH(c->arena, out, rebuild(p, all, user));
}

/* The statements of one iteration: fill registers and copy directly, use (if asked for), empty
 * registers. */
static Stmt *in_order(const Pipeline *p, Rebuild *ahead, Rebuild *use, void *user)
{
    Context *c = p->s->ctx;
    BlockList items = {0};
    Stmt *rest = stmt_seq(c, p->rest.items, p->rest.n, p->loop->span);
    add_ahead(p, STEP_FILLS, ahead, user, &items);
    if (use)
        VEC_PUSH(c->arena, &items, use(p, rest, user));
    add_ahead(p, STEP_DRAINS, ahead, user, &items);
    return stmt_seq(c, items.items, items.n, p->loop->span);
}

static Stmt *model_ahead(const Pipeline *p, Stmt *group, void *user)
{
    Expr *t = user;
    return ahead_model(&p->at, group, t,
                       expr_binary(p->s->ctx, EX_LT, t, p->loop->u.loop.hi, group->span));
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
    Schedule *s = p->s;
    Context *c = s->ctx;
    const ForStmt *old = &p->loop->u.loop;
    Conflict why;
    bool reassociates;
    Kernel *kernel =
        kernel_with_body(s->ctx, s->kernel,
                         stmt_replace(c, s->kernel->body, p->path->items[p->path->n - 1], p->loop));
    ForStmt model =
        flow_loop(s, old->var->name, old->lo, index_add(c, old->hi, expr_index(c, p->distance)));
    model.body = in_order(p, model_ahead, model_use, expr_var(c, model.var, span_none()));
    REQUIRE_KEPT(
        s, E0473, p->call->span,
        dependence_order_kept(c, (Rewrite){kernel, p->loop, stmt_for(c, &model, p->loop->span)},
                              &reassociates, &why),
        &why, "iterations of loop '%s' cannot overlap in %lld stages: %s", old->var->name,
        (long long)p->stages, why.reason);
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
    ForStmt loop = p->loop->u.loop;
    loop.body = in_order(p, move_ahead, keep, NULL);
    return stmt_for(p->s->ctx, &loop, p->loop->span);
}

static Buffer *first_buffer(const Pipeline *p, const Buffer *of)
{
    Schedule *s = p->s;
    Name name = sched_fresh_name(s, arena_printf(s->ctx->arena, "%s_first", of->name));
    Buffer *buffer = buffer_new(s->ctx, &(Buffer){.name = name,
                                                  .type = of->type,
                                                  .shape = of->shape,
                                                  .rank = of->rank,
                                                  .scope = of->scope,
                                                  .role = ROLE_TEMP,
                                                  .span = of->span});
    buffer->layout = of->layout;
    buffer->origin = p->call->span;
    return buffer;
}

/* A circle of the parts that are alive at the same time. */
static Buffer *folded(Context *c, const Ahead *a, int64_t stages)
{
    Buffer *buffer = buffer_copy(c, a->buffer);
    AxisLayout *layout = ARENA_ARRAY(c->arena, AxisLayout, buffer->rank);
    for (int d = 0; buffer->layout && d < buffer->rank; d++)
        layout[d] = buffer->layout[d];
    layout[a->axis].fold = a->step * stages;
    buffer->layout = layout;
    return buffer;
}

/* What each iteration of the loop reads of these buffers it has written itself. False after an
 * error. */
static bool find_used_up(Pipeline *p)
{
    Threads *t = NULL;
    int n_fixed = sched_loops_on(p->s, p->path, NULL);
    for (int i = 0; i < p->ahead.n; i++) {
        Ahead *a = &p->ahead.items[i];
        if (a->stays && !t && !(t = flow_threads(p->s, p->s->kernel->body, p->path, p->call->span)))
            return false;
        a->used_up = a->stays && threads_reads_covered(t, a->buffer, n_fixed);
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
    const Stmt *loop = p->path->items[p->path->n - 1];
    BufferSet own = {0};
    for (int i = 0; i < p->ahead.n; i++)
        if (p->ahead.items[i].used_up) {
            Buffer *buffer = first_buffer(p, p->ahead.items[i].buffer);
            *first = stmt_replace_buffer(c, *first, p->ahead.items[i].buffer, buffer);
            VEC_PUSH(c->arena, &own, buffer);
        }
    Stmt *items[] = {*first, build_loop(p)};
    Stmt *body = stmt_replace(c, s->kernel->body, loop, stmt_seq(c, items, 2, loop->span));
    for (int i = 0; i < p->ahead.n; i++) {
        const Ahead *a = &p->ahead.items[i];
        if (!a->stays)
            body = stmt_replace_buffer(s->ctx, body, a->buffer, folded(c, a, p->stages));
    }
    for (int i = 0; i < own.n; i++)
        body = flow_declare(s, body, (Buffer *)own.items[i]);
    return body;
}

bool prim_pipeline(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *loop = sched_loop(s, &call->pipeline.loop, &path);
    const Value *asked = &call->pipeline.pending;
    int64_t stages = call->pipeline.stages.u.i, extent;
    int64_t pending = asked->kind == VALUE_NONE ? 0 : asked->u.i;
    REQUIRE(s, E0474, call->pipeline.stages.span, stages >= 2 && stages <= MAX_STAGES,
            "a pipeline has 2 to %d stages, found %lld", MAX_STAGES, (long long)stages);
    REQUIRE(s, E0474, asked->span, pending >= 0 && pending <= stages - 2,
            "of %lld stages, one is in use and at least one is being filled, so 0 to %lld are left "
            "for the iterations before; found pending = %lld",
            (long long)stages, (long long)stages - 2, (long long)pending);
    if (!sched_require_serial(s, loop, call->span) || !ahead_require_range(s, loop, call->span))
        return false;
    *result = value_list(s, NULL, 0);
    if (loop_const_extent(&loop->u.loop, &extent) && extent <= 1)
        return true;
    Pipeline p = {.s = s,
                  .call = call,
                  .loop = loop_from_zero(s, &path),
                  .path = &path,
                  .stages = stages,
                  .distance = stages - 1 - pending};
    p.at = (AheadLoop){s, p.loop, &path};
    if (!find_stages(&p))
        return false;
    for (int i = 0; i < p.ahead.n; i++)
        if (!check_users(&p, &p.ahead.items[i]) ||
            (!p.ahead.items[i].stays && !measure(&p, &p.ahead.items[i])))
            return false;
    if (!check_order(&p) || !find_used_up(&p))
        return false;

    Stmt *first = ahead_before(&p.at, in_order(&p, keep, NULL, NULL), p.distance),
         *body = build_body(&p, &first);
    if (!flow_recheck_kinds(s, body, loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    *result = ahead_blocks(s, first);
    return true;
}
