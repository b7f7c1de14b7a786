/* rolling.c - Implements rolling_buffer: computes once what consecutive iterations both need of a
 * producer.
 *
 *   for i in 62 {                                   temp t in local fold(0, 3)
 *       for a in 3                                  for i in 62 {
 *           t[i + a] = x[i + a] * 2;       =>           for a in 3 where i < 1 || a >= 2
 *       y[i] = t[i] + t[i + 1] + t[i + 2];                  t[i + a] = x[i + a] * 2;
 *   }                                                   y[i] = ...
 *                                                   }
 *
 * compute_at leaves a producer that makes a box of its buffer in every iteration. Where the boxes
 * overlap along one axis, an iteration after the first need make only what its box has and the one
 * before had not, and the axis becomes a circle as long as a box (AxisLayout.fold). That is right
 * if an element is the same whenever it is made (the producer is a function of the element, and of
 * what the loop does not change), and if each element that is read has been made: the analysis of
 * threads says so about the program as it would be, and of the circle as well.
 *
 * Legal: an element has the same value whenever it is made, and the circle holds all that an
 * iteration reads.
 * Invariant: every read finds the value of its element. */
#include "passes/schedule/copies/stage.h"

enum { MAX_UNEVEN = 64 }; /* the longest step that is looked for */

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path; /* to the block */
    Stmt *stmt;
    Buffer *buffer;
    int *axes;   /* [rank] the iterator behind each axis */
    int loop_at; /* index of the loop on the path */
    Stmt *loop;
    int axis;
    /* how far the box moves along the axis in an iteration, and how long it is */
    int64_t step, length;
    Expr *first; /* where it begins */
    /* where that of the iteration before begins, if steps differ; `step` is the longest. NULL: they
     * do not */
    Expr *before;
} Rolling;

/* ---- the producer ---------------------------------------------------------------------------- */

/* The only writer of a temp, one store, which starts each element anew and has all its spatial
 * iterators for subscripts: then it is a function of the element. NULL, or why not. */
static const char *not_a_function(Schedule *s, Stmt *stmt, const Buffer *buffer, int *axes)
{
    const BlockStmt *block = &stmt->u.block;
    const Stmt *store = flow_single_store(s->ctx, stmt);
    int64_t lo, hi;
    BlockList writers = flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE);
    if (!store || writers.n != 1 || buffer->role != ROLE_TEMP)
        return "it is not a single store to a temp and the temp's only writer";
    if (store->u.store.op == STORE_SET ? stmt_accesses(s->ctx, stmt, buffer, ACCESS_READ)
                                       : !block->init)
        return "it updates the buffer's previous contents";
    if (!flow_pure_index(block, buffer, store->u.store.index, axes))
        return "its subscripts are not its iterators";
    for (int i = 0; i < block->n_iters; i++) {
        bool used = block->iters[i].kind == ITER_REDUCE;
        for (int d = 0; d < buffer->rank; d++)
            used |= axes[d] == i;
        bool single = expr_is_const(block->iters[i].lo, &lo) &&
                      expr_is_const(block->iters[i].hi, &hi) && hi - lo == 1;
        if (!used && !single)
            return "one of its iterators is not a subscript";
    }
    return NULL;
}

/* Nothing that the block reads changes in the loop, but what other functions make there. */
static bool check_inputs(const Rolling *r, Stmt *stmt, int depth)
{
    Schedule *s = r->s;
    const Stmt *store = flow_single_store(s->ctx, stmt);
    BufferSet reads = flow_buffers(s, stmt, ACCESS_READ);
    for (int i = 0; i < reads.n; i++) {
        const Buffer *b = reads.items[i];
        if (b->id == store->u.store.buffer->id)
            continue;
        BlockList writers = flow_blocks(s, r->loop, b, ACCESS_WRITE);
        for (int w = 0; w < writers.n; w++) {
            int *axes = ARENA_ARRAY(s->ctx->arena, int, b->rank + 1);
            const char *why = depth == 0 ? "the chain of blocks in between is too long"
                                         : not_a_function(s, writers.items[w], b, axes);
            REQUIRE(s, E0922, r->call->span, !why,
                    "block '%s' reads '%s', which block '%s' writes in loop '%s', so a later "
                    "iteration may compute another value for the same element (%s)",
                    stmt->u.block.name, b->name, writers.items[w]->u.block.name,
                    r->loop->u.loop.var->name, why);
            if (!check_inputs(r, writers.items[w], depth - 1))
                return false;
        }
    }
    return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The innermost loop around all that touches the buffer. */
static bool find_loop(Rolling *r)
{
    Schedule *s = r->s;
    Name name = r->stmt->u.block.name;
    BlockList all = flow_blocks(s, s->kernel->body, r->buffer, ACCESS_ANY);
    for (int i = r->path.n - 1; i >= 0 && !r->loop; i--) {
        if (r->path.items[i]->kind != ST_FOR)
            continue;
        BlockList inside = flow_blocks(s, r->path.items[i], r->buffer, ACCESS_ANY);
        if (inside.n == all.n && all.n > 1) {
            r->loop = r->path.items[i];
            r->loop_at = i;
        }
    }
    REQUIRE(s, E0920, r->call->rolling_buffer.block.span, r->loop,
            "no loop encloses block '%s' and all readers of '%s'; move the block into a loop of "
            "its reader with compute_at first",
            name, r->buffer->name);
    REQUIRE(s, E0920, r->call->rolling_buffer.block.span,
            r->loop->u.loop.kind == LOOP_SERIAL && r->loop->u.loop.step == 1,
            "loop '%s', which encloses block '%s' and all accesses of '%s', is not serial with "
            "step 1, so its iterations are not consecutive",
            r->loop->u.loop.var->name, name, r->buffer->name);
    return true;
}

/* The statement of the loop's body that holds the block. */
static Stmt *producer_item(const Rolling *r)
{
    Stmt *body = r->path.items[r->loop_at + 1];
    return body->kind == ST_SEQ ? r->path.items[r->loop_at + 2] : body;
}

static bool refuse_box(const Rolling *r, const Interval *box, const char *what)
{
    Schedule *s = r->s;
    return sched_refuse(
        s, E0921, r->call->span,
        "an iteration of '%s' computes this region of '%s', by axis: %s. %s; consecutive regions "
        "must overlap and move along one axis",
        r->loop->u.loop.var->name, r->buffer->name, sched_box_text(s, box, r->buffer->rank), what);
}

/* The box moves on by at most so many elements in each iteration, as i * 5 / 2 does by 2 or 3. */
static bool moves_unevenly(Rolling *r, Facts *f, const Interval *box, int64_t *step)
{
    Context *c = r->s->ctx;
    const ForStmt *loop = &r->loop->u.loop;
    Expr *var = expr_var(c, loop->var, span_none()), *one = expr_index(c, 1);
    Subst back = {loop->var, index_sub(c, var, one)};
    Expr *before = expr_subst(c, box->min, &back, 1);
    int64_t length;
    FactsMark mark = facts_mark(f);
    facts_assume(f, expr_binary(c, EX_GE, var, index_add(c, loop->lo, one), span_none()));
    bool known = expr_is_const(box->extent, &length) && prove_compare(f, before, EX_LE, box->min);
    bool found = false;
    for (*step = 1; known && !found && *step < length && *step <= MAX_UNEVEN; *step += !found) {
        Expr *most = index_add(c, before, expr_index(c, *step));
        found = prove_compare(f, box->min, EX_LE, most);
    }
    facts_reset(f, mark);
    r->before = found ? before : NULL;
    return found;
}

static bool find_axis(Rolling *r)
{
    Context *c = r->s->ctx;
    const Var *var = r->loop->u.loop.var;
    StmtPath to_loop = r->path;
    to_loop.n = r->loop_at + 1;
    Facts *facts = sched_facts(r->s, &to_loop);
    Interval *box = ARENA_ARRAY(c->arena, Interval, r->buffer->rank + 1);
    facts_enter(facts, r->loop);
    region_reached(facts, producer_item(r), r->buffer, ACCESS_WRITE, box);
    r->axis = -1;
    for (int d = 0; d < r->buffer->rank; d++) {
        int64_t step;
        Expr *rest;
        if (expr_uses_var(box[d].extent, var) ||
            (!split_linear(facts, box[d].min, var, &step, &rest) &&
             !moves_unevenly(r, facts, &box[d], &step)))
            return refuse_box(r, box, "The region is not affine in the loop");
        if (step == 0)
            continue;
        if (r->axis >= 0)
            return refuse_box(r, box, "The region moves along two axes");
        r->axis = d;
        r->step = step;
    }
    if (r->axis < 0)
        return refuse_box(
            r, box,
            "The region is the same in every iteration, so the block belongs before the loop");
    int64_t distance = r->step < 0 ? -r->step : r->step;
    if (!expr_is_const(box[r->axis].extent, &r->length) || distance >= r->length)
        return refuse_box(r, box,
                          arena_printf(c->arena, "Along axis %d it moves by %lld per iteration",
                                       r->axis, (long long)r->step));
    r->first = box[r->axis].min;
    return true;
}

static bool check_buffer(const Rolling *r)
{
    Schedule *s = r->s;
    const Buffer *b = r->buffer;
    bool circular = b->layout && b->layout[r->axis].fold > 0;
    const Value *axis = &r->call->rolling_buffer.axis;
    REQUIRE(s, E0920, r->call->rolling_buffer.block.span, b->scope != SCOPE_CONSTANT,
            "'%s' is in constant memory, which a loop of a launch cannot fill; use set_scope(%s, "
            "shared) or set_scope(%s, local) first",
            b->name, b->name, b->name);
    REQUIRE(s, E0920, r->call->rolling_buffer.block.span, !circular,
            "axis %d of '%s' is already circular", r->axis, b->name);
    REQUIRE(s, E0920, axis->span,
            axis->kind == VALUE_NONE || axis->u.i == r->axis || axis->u.i + b->rank == r->axis,
            "the regions of '%s' move along axis %d, not along axis %lld", b->name, r->axis,
            (long long)axis->u.i);
    return true;
}

/* ---- the program as it would be -------------------------------------------------------------- */

/* An instance makes something that the box of the iteration before has not. */
static Expr *is_beyond(const Rolling *r, Facts *facts)
{
    Context *c = r->s->ctx;
    Expr *at = r->stmt->u.block.iters[r->axes[r->axis]].binding;
    if (r->before)
        return expr_binary(c, EX_GE, at, index_add(c, r->before, expr_index(c, r->length)),
                           span_none());
    Expr *offset = simplify(facts, index_sub(c, at, r->first));
    if (r->step > 0)
        return expr_binary(c, EX_GE, offset, expr_index(c, r->length - r->step), span_none());
    return expr_binary(c, EX_LT, offset, expr_index(c, -r->step), span_none());
}

/* The instances that make something new: all in the first iteration; then those beyond the box
 * before. */
static Expr *is_new(const Rolling *r)
{
    Context *c = r->s->ctx;
    const ForStmt *loop = &r->loop->u.loop;
    Facts *facts = sched_facts(r->s, &r->path);
    Expr *begin = index_add(c, loop->lo, expr_index(c, 1));
    Expr *first = expr_binary(c, EX_LT, expr_var(c, loop->var, span_none()), begin, span_none());
    return simplify(facts, expr_binary(c, EX_OR, first, is_beyond(r, facts), span_none()));
}

static Stmt *made_once(const Rolling *r)
{
    Context *c = r->s->ctx;
    BlockStmt block = r->stmt->u.block;
    block.predicate = cond_and(c, block.predicate, is_new(r));
    return stmt_replace(c, r->s->kernel->body, r->stmt, stmt_block(c, &block, r->stmt->span));
}

static Stmt *folded(const Rolling *r, Stmt *body)
{
    Context *c = r->s->ctx;
    AxisLayout rule = buffer_rule(r->buffer, r->axis);
    rule.fold = r->length;
    return stmt_replace_buffer(c, body, r->buffer, buffer_with_rule(c, r->buffer, r->axis, rule));
}

/* Each element that is read was made before, in the same iteration of the loops outside, and is in
 * its place still. */
static bool check_reads(const Rolling *r, Stmt *body)
{
    Schedule *s = r->s;
    Conflict why;
    StmtPath outside = r->path;
    outside.n = r->loop_at;
    int n_fixed = sched_loops_on(s, &outside, NULL);
    Threads *t = flow_threads(s, body, &r->path, r->call->span);
    if (!t)
        return false;
    REQUIRE(s, E0923, r->call->span, threads_reads_covered(t, r->buffer, n_fixed),
            "could not prove that each element of '%s' that an iteration of '%s' reads was "
            "computed by it or an earlier one",
            r->buffer->name, r->loop->u.loop.var->name);
    REQUIRE_KEPT(s, E0923, r->call->span,
                 threads_fold_kept(t, (FoldedAxis){r->buffer, r->axis, r->length}, n_fixed, &why),
                 &why, "in a circular buffer of %lld elements, %s", (long long)r->length,
                 why.reason);
    return true;
}

/* Where an element of the circle lies: its subscript on the axis modulo the length. */
static Expr *const *circular_index(const Rolling *r, Expr *const *index)
{
    Context *c = r->s->ctx;
    Expr **out = ARENA_COPY(c->arena, Expr *, index, r->buffer->rank, 0);
    out[r->axis] = index_mod(c, index[r->axis], expr_index(c, r->length));
    return out;
}

static Expr *circular_load(Rewriter *rewriter, Expr *e)
{
    const Rolling *r = rewriter->user;
    bool circular = expr_is_load(e, r->buffer);
    return circular ? expr_load(rewriter->ctx, e->u.load.buffer, circular_index(r, e->u.load.index),
                                e->span)
                    : e;
}

static Stmt *circular_store(Rewriter *rewriter, Stmt *stmt)
{
    const Rolling *r = rewriter->user;
    if (stmt->kind != ST_STORE || stmt->u.store.buffer->id != r->buffer->id)
        return stmt;
    StoreStmt store = stmt->u.store;
    store.index = circular_index(r, store.index);
    return stmt_store(rewriter->ctx, &store, stmt->span);
}

/* Global memory has no circular axes: the subscripts say the place in the circle. */
static Stmt *written_out(const Rolling *r, Stmt *body)
{
    Context *c = r->s->ctx;
    Rewriter places = {.ctx = c, .user = (void *)r, .expr = circular_load, .stmt = circular_store};
    Buffer *circle = buffer_with_extent(c, r->buffer, r->axis, expr_index(c, r->length));
    return stmt_replace_buffer(c, rewrite_stmt(&places, body), r->buffer, circle);
}

enum { MAX_CHAIN = 16 };

bool prim_rolling_buffer(Schedule *s, const PrimCall *call, Value *result)
{
    Rolling r = {.s = s, .call = call};
    r.stmt = sched_node(s, &call->rolling_buffer.block, &r.path);
    const Stmt *store = flow_single_store(s->ctx, r.stmt);
    REQUIRE(s, E0920, call->rolling_buffer.block.span, store, "block '%s' %s", r.stmt->u.block.name,
            flow_no_single_store(s->ctx, r.stmt));
    r.buffer = sched_buffer(s, store->u.store.buffer->id);
    r.axes = ARENA_ARRAY(s->ctx->arena, int, r.buffer->rank + 1);
    const char *why = not_a_function(s, r.stmt, r.buffer, r.axes);
    REQUIRE(s, E0920, call->rolling_buffer.block.span, !why,
            "block '%s' may compute another value for an element each time it runs: %s",
            r.stmt->u.block.name, why);
    if (!find_loop(&r))
        return false;
    int64_t extent;
    if (loop_const_extent(&r.loop->u.loop, &extent) && extent <= 1)
        return true;
    if (!find_axis(&r) || !check_buffer(&r) || !check_inputs(&r, r.stmt, MAX_CHAIN))
        return false;
    Stmt *made = made_once(&r), *body = folded(&r, made);
    if (!flow_recheck_kinds(s, body, r.loop->u.loop.id, call->span) || !check_reads(&r, body))
        return false;
    (void)result;
    if (scope_outlives_launch(r.buffer->scope)) {
        body = written_out(&r, made);
        if (!flow_recheck_all(s, body, call->span))
            return false;
    }
    sched_replace_body(s, body);
    return true;
}
