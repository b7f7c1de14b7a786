/* place.c - compute_at and reverse_compute_at: a block moves to where its data are used, or are made.
 *
 * The moved block keeps its iterators and their domains. Its loops are made anew over the box of the buffer that is needed
 * (or was written) in one iteration of the target loop; where the box reaches beyond the domain, the instances do
 * not exist, so no guard is written here. */
#include "passes/analysis/inits.h"
#include "passes/schedule/stage.h"

/* ---- the box ----------------------------------------------------------------------------------------- */

/* The variables of bound loops on `path` whose iterations share a buffer of this scope. */
static int sharing_vars(const StmtPath *path, Scope scope, const Var **out)
{
    int n = 0;
    for (int i = 0; i < path->n; i++) {
        const Stmt *stmt = path->items[i];
        if (stmt->kind != ST_FOR || stmt->u.loop.kind != LOOP_BIND)
            continue;
        if (scope_outlives_launch(scope) ||
            (scope == SCOPE_SHARED && axis_is_thread(stmt->u.loop.axis)))
            out[n++] = stmt->u.loop.var;
    }
    return n;
}

/* Widens the box over the threads that share the buffer, within the buffer. */
static bool widen(Facts *facts, Context *c, const Var *const *vars, int n, Interval *box,
                  const Buffer *buffer)
{
    bool exact;
    Expr *one = expr_index(c, 1);
    for (int i = 0; i < buffer->rank && n > 0; i++) {
        Expr *last = simplify(facts, index_sub(c, index_add(c, box[i].min, box[i].extent), one));
        Expr *lo = bound_over(facts, box[i].min, vars, n, false, &exact);
        Expr *hi = bound_over(facts, last, vars, n, true, &exact);
        if (!lo || !hi)
            return false;
        box[i].min = simplify(facts, lo);
        box[i].extent = simplify(facts, index_add(c, index_sub(c, hi, lo), one));
        box[i] = interval_clip(facts, box[i], buffer->shape[i]);
    }
    return true;
}

bool stage_box(Schedule *s, Facts *facts, const StmtPath *loop, const Buffer *buffer, AccessMode mode, Scope scope,
               Interval *box)
{
    const Var **sharing = ARENA_ARRAY(s->ctx->arena, const Var *, loop->n + 1);
    int n = sharing_vars(loop, scope, sharing);
    Stmt *body = loop->items[loop->n - 1]->u.loop.body;
    return region_touched(facts, body, buffer, mode, 0, box) &&
           widen(facts, s->ctx, sharing, n, box, buffer);
}

/* ---- the nest ---------------------------------------------------------------------------------------- */

/* A part of a buffer: a box, and runs inside of it for the axes that have gaps. */
typedef struct {
    Interval *box;
    Run *runs;   /* [rank * REGION_RUNS] */
    int *n_runs; /* [rank]; 0, or without the array: all of the box */
} Part;

/* Registers hold only what is read: a wide access of memory may as well bring more, and threads share their copies by boxes. */
static Part part_read(Schedule *s, Facts *facts, Stmt *loop, const Buffer *buffer, Interval *box)
{
    Part part = {box, ARENA_ARRAY(s->ctx->arena, Run, buffer->rank * REGION_RUNS + 1),
                 ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1)};
    for (int axis = 0; axis < buffer->rank && buffer->scope == SCOPE_LOCAL; axis++)
        part.n_runs[axis] = region_runs(facts, loop->u.loop.body, buffer, ACCESS_READ, axis, &box[axis],
                                        &part.runs[axis * REGION_RUNS]);
    return part;
}

typedef VEC(ForStmt) LoopList;

typedef struct {
    Name name;
    bool found;
} HeldSearch;

static bool search_held(Visitor *v, Stmt *stmt)
{
    HeldSearch *search = v->user;
    search->found |= stmt->kind == ST_FOR && stmt->u.loop.var->name == search->name;
    return !search->found;
}

static bool holds_loop(const BlockStmt *block, Name name)
{
    HeldSearch search = {name, false};
    Visitor v = {.user = &search, .stmt = search_held};
    visit_stmt(&v, block->body);
    return search.found;
}

/* A name for a loop around the block: of nothing on the path or in the block, no iterator of it and no loop of `loops`. */
static Name fresh_name(Schedule *s, const StmtPath *target, const char *base, const BlockStmt *block, int own, const LoopList *loops)
{
    Name name = sched_fresh_loop_name(s, target, base, 0);
    for (int tries = 1;; tries++) {
        bool taken = false;
        for (int i = 0; i < block->n_iters; i++)
            taken |= i != own && block->iters[i].var->name == name;
        for (int i = 0; i < loops->n; i++)
            taken |= loops->items[i].var->name == name;
        taken |= holds_loop(block, name);
        if (!taken)
            return name;
        name = sched_fresh_loop_name(s, target, arena_printf(s->ctx->arena, "%.32s_%d", base, tries), 0);
    }
}

/* The loops over an axis of a part, outermost first, and its places in their terms. */
static Expr *loops_over(Schedule *s, const StmtPath *target, const BlockStmt *block, const Part *part, int axis, LoopList *loops)
{
    Context *c = s->ctx;
    int n = part->n_runs ? part->n_runs[axis] : 0;
    Expr *value = part->box[axis].min;
    for (int i = n > 0 ? n - 1 : 0; i >= 0; i--) {
        Run run = n > 0 ? part->runs[axis * REGION_RUNS + i] : (Run){1, 0};
        Name name = fresh_name(s, target, arena_printf(c->arena, i > 0 ? "run%d" : "ax%d", axis), block, -1, loops);
        Expr *hi = n > 0 ? expr_index(c, run.extent) : part->box[axis].extent;
        ForStmt loop = flow_loop(s, name, expr_index(c, 0), hi);
        VEC_PUSH(c->arena, loops, loop);
        value = index_add(c, value, index_mul(c, expr_index(c, run.stride), expr_var(c, loop.var, span_none())));
    }
    return value;
}

/* New loops for a block: over the part for the iterators that index it, over their domains for the others. */
static Stmt *nest_over(Schedule *s, Facts *facts, const StmtPath *target, const Stmt *block,
                       const int *axis_of, const Part *part)
{
    Context *c = s->ctx;
    const BlockStmt *old = &block->u.block;
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, old->n_iters + 1);
    LoopList loops = {0};
    Subst *values = ARENA_ARRAY(c->arena, Subst, old->n_iters + 1);
    for (int i = 0; i < old->n_iters; i++) {
        const BlockIter *iter = &old->iters[i];
        Expr *value;
        if (axis_of[i] >= 0) {
            value = loops_over(s, target, old, part, axis_of[i], &loops);
        } else {
            ForStmt loop = flow_loop(s, fresh_name(s, target, iter->var->name, old, i, &loops),
                                     simplify(facts, expr_subst(c, iter->lo, values, i)),
                                     simplify(facts, expr_subst(c, iter->hi, values, i)));
            VEC_PUSH(c->arena, &loops, loop);
            value = expr_var(c, loop.var, block->span);
        }
        iters[i] = *iter;
        iters[i].binding = value;
        values[i] = (Subst){iter->var, value};
    }
    BlockStmt moved = *old;
    moved.iters = iters;
    Stmt *nest = stmt_block(c, &moved, block->span);
    for (int i = loops.n - 1; i >= 0; i--) {
        loops.items[i].body = nest;
        nest = stmt_for(c, &loops.items[i], block->span);
    }
    return nest;
}

/* The item of the loop's body before (after) which the nest stands: the first that touches the buffer (the last). */
static Stmt *body_with(Schedule *s, Stmt *body, const Buffer *buffer, Stmt *nest, bool before)
{
    VEC(Stmt *) items = {0};
    int n = body->kind == ST_SEQ ? body->u.seq.n : 1, at = before ? n : -1;
    for (int i = 0; i < n; i++) {
        Stmt *item = body->kind == ST_SEQ ? body->u.seq.items[i] : body;
        if (flow_touches(s, item, buffer, before ? ACCESS_READ : ACCESS_WRITE))
            at = before ? (i < at ? i : at) : i;
    }
    for (int i = 0; i < n; i++) {
        if (before && i == at)
            VEC_PUSH(s->ctx->arena, &items, nest);
        VEC_PUSH(s->ctx->arena, &items, body->kind == ST_SEQ ? body->u.seq.items[i] : body);
        if (!before && i == at)
            VEC_PUSH(s->ctx->arena, &items, nest);
    }
    return stmt_seq(s->ctx, items.items, items.n, body->span);
}

/* The kernel's body with the block taken out of its old loops, and the target loop's body replaced; in this order, because
 * the new body holds a block with the same id. */
static Stmt *moved_body(Schedule *s, const Stmt *block, const Stmt *loop, Stmt *loop_body)
{
    ForStmt changed = loop->u.loop;
    changed.body = loop_body;
    Stmt *body = flow_remove(s, s->kernel->body, block);
    Stmt *target = stmt_stamp(stmt_for(s->ctx, &changed, loop->span), loop);
    return stmt_replace(s->ctx, body, loop, target);
}

/* ---- what both have in common ------------------------------------------------------------------------ */

static Name call_block_name(const StmtPath *path)
{
    return path->items[path->n - 1]->u.block.name;
}

static bool own_loops_are_plain(Schedule *s, const PrimCall *call, const StmtPath *path, int from)
{
    for (int i = from; i < path->n; i++) {
        const Stmt *stmt = path->items[i];
        REQUIRE(s, E0451, call->arg[0].span, stmt->kind != ST_IF,
                "block '%s' stands under a condition, which would be lost", call_block_name(path));
        if (stmt->kind != ST_FOR)
            continue;
        REQUIRE(s, E0451, call->arg[0].span,
                stmt->u.loop.kind == LOOP_SERIAL && stmt->u.loop.step == 1,
                "loop '%s' of block '%s' has a kind or a step, which would be lost: the block gets new "
                "loops where it moves to. Move it first, then bind, vectorize or unroll",
                stmt->u.loop.var->name, call_block_name(path));
    }
    REQUIRE(s, E0451, call->arg[0].span, !path->items[path->n - 1]->u.block.predicate,
            "block '%s' has a condition left from a split, which speaks of loops that would be gone; move "
            "it before splitting its loops",
            call_block_name(path));
    return true;
}

/* No temp that the block touches is declared in what it leaves: below item `from` of its path. */
static bool stays_in_scope(Schedule *s, const PrimCall *call, const StmtPath *path, int from)
{
    Stmt *block = path->items[path->n - 1];
    for (int i = from; i < path->n; i++) {
        const Stmt *seq = path->items[i];
        for (int k = 0; seq->kind == ST_SEQ && k < seq->u.seq.n; k++) {
            const Stmt *item = seq->u.seq.items[k];
            REQUIRE(s, E0450, call->arg[0].span, item->kind != ST_TEMP || !flow_touches(s, block, item->u.temp, ACCESS_ANY),
                    "block '%s' touches '%s', which there is only in the loops that it would leave", call_block_name(path),
                    item->u.temp->name);
        }
    }
    return true;
}

typedef struct {
    const StmtPath *target;
    const Stmt *found;
} NameSearch;

static bool search_name(Visitor *v, Stmt *stmt)
{
    NameSearch *search = v->user;
    for (int i = 0; i < search->target->n && stmt->kind == ST_FOR; i++)
        if (search->target->items[i]->kind == ST_FOR &&
            search->target->items[i]->u.loop.var->name == stmt->u.loop.var->name)
            search->found = stmt;
    return !search->found;
}

/* The loops inside of the block (blockize) have other names than those that it comes under. */
static bool inner_names_are_free(Schedule *s, const PrimCall *call, const StmtPath *path, const StmtPath *target)
{
    NameSearch search = {target, NULL};
    Visitor v = {.user = &search, .stmt = search_name};
    visit_stmt(&v, path->items[path->n - 1]->u.block.body);
    REQUIRE(s, E0450, call->arg[1].span, !search.found,
            "a loop inside of block '%s' is called '%s', and so is one that the block would come under; name one of them "
            "differently, as in  let [other] = split(loop, [_])",
            call_block_name(path), stmt_label(search.found));
    return true;
}

/* The sequence in which the block and the loop are different items, and which. */
static bool common_sequence(Schedule *s, const PrimCall *call, const StmtPath *block,
                            const StmtPath *loop, const Stmt **seq, int *block_item, int *loop_item)
{
    int n = flow_common(block, loop);
    REQUIRE(s, E0450, call->arg[1].span, n < loop->n,
            "block '%s' is already under loop '%s'", call_block_name(block),
            loop->items[loop->n - 1]->u.loop.var->name);
    *seq = block->items[n - 1];
    REQUIRE(s, E0450, call->arg[1].span, (*seq)->kind == ST_SEQ,
            "block '%s' and loop '%s' stand in different branches of a condition",
            call_block_name(block), loop->items[loop->n - 1]->u.loop.var->name);
    for (int i = (*seq)->u.seq.n - 1; i >= 0 && (*seq)->u.seq.items[i] != loop->items[n]; i--)
        REQUIRE(s, E0450, call->arg[0].span,
                (*seq)->u.seq.items[i]->kind != ST_TEMP ||
                    !flow_touches(s, block->items[block->n - 1], (*seq)->u.seq.items[i]->u.temp, ACCESS_ANY),
                "block '%s' touches '%s', which is declared behind loop '%s'", call_block_name(block),
                (*seq)->u.seq.items[i]->u.temp->name, loop->items[loop->n - 1]->u.loop.var->name);
    if (!stays_in_scope(s, call, block, n) || !inner_names_are_free(s, call, block, loop))
        return false;
    for (int i = 0; i < (*seq)->u.seq.n; i++) {
        if ((*seq)->u.seq.items[i] == block->items[n])
            *block_item = i;
        if ((*seq)->u.seq.items[i] == loop->items[n])
            *loop_item = i;
    }
    return true;
}

/* ---- compute_at -------------------------------------------------------------------------------------- */

static bool is_recomputable(Schedule *s, const PrimCall *call, Stmt *block, const Stmt *store,
                            const Buffer *buffer)
{
    Span span = call->arg[0].span;
    BlockList writers = {0};
    REQUIRE(s, E0452, span, buffer->role == ROLE_TEMP,
            "'%s' is an output, which must be written whole and once; only a producer of a temp can be "
            "computed piece by piece",
            buffer->name);
    flow_blocks(s, s->kernel->body, buffer, ACCESS_WRITE, &writers);
    REQUIRE(s, E0452, span, writers.n == 1,
            "'%s' is also written by block '%s', so block '%s' alone does not make its values",
            buffer->name, writers.items[writers.items[0] == block]->u.block.name,
            block->u.block.name);
    REQUIRE(s, E0452, span, flow_starts_anew(s, block, store, buffer),
            "block '%s' continues from what '%s' held before, so running it again would change the "
            "result; give the reduction its start (%s[...] = 0) in the same loops",
            block->u.block.name, buffer->name, buffer->name);
    return true;
}

static bool consumers_are_under(Schedule *s, const PrimCall *call, const Buffer *buffer,
                                const Stmt *loop)
{
    BlockList readers = {0}, under = {0};
    flow_blocks(s, s->kernel->body, buffer, ACCESS_READ, &readers);
    flow_blocks(s, (Stmt *)loop, buffer, ACCESS_READ, &under);
    REQUIRE(s, E0453, call->arg[1].span, under.n > 0,
            "nothing under loop '%s' reads '%s'; name a loop around a block that does",
            loop->u.loop.var->name, buffer->name);
    for (int i = 0; i < readers.n; i++) {
        bool found = flow_single_store(readers.items[i]) &&
                     flow_single_store(readers.items[i])->u.store.buffer->id == buffer->id;
        for (int u = 0; u < under.n; u++)
            found |= under.items[u] == readers.items[i];
        if (found)
            continue;
        sched_refuse(s, E0453, call->arg[1].span,
                     "block '%s' reads '%s' too, but stands outside loop '%s', where '%s' would not be "
                     "complete; choose a loop around all its readers",
                     readers.items[i]->u.block.name, buffer->name, loop->u.loop.var->name,
                     buffer->name);
        sched_note_at(s, readers.items[i], "it is read here");
        return false;
    }
    return true;
}

typedef struct {
    Schedule *s;
    const Buffer *buffer;
    const Stmt *loop, *found;
} InitSearch;

/* A reduction whose init reads the buffer, with the loop among those that the init runs before. */
static bool search_init(Visitor *v, Stmt *stmt)
{
    InitSearch *search = v->user;
    const BlockStmt *block = &stmt->u.block;
    if (stmt->kind != ST_BLOCK || search->found)
        return stmt->kind != ST_BLOCK;
    if (!block->init || !flow_touches(search->s, block->init, search->buffer, ACCESS_READ))
        return false;
    StmtPath path = {0};
    state_path(search->s, block->id, &path);
    int start = reduction_start(search->s->ctx, &path), at = 0;
    while (path.items[at] != search->loop)
        at++;
    if (start <= at)
        search->found = stmt;
    return false;
}

/* What an init reads must be there before the reduction's loops begin. */
static bool inits_come_after(Schedule *s, const PrimCall *call, const Buffer *buffer, Stmt *loop)
{
    InitSearch search = {s, buffer, loop, NULL};
    Visitor v = {&search, NULL, search_init};
    visit_stmt(&v, loop->u.loop.body);
    REQUIRE(s, E0450, call->arg[1].span, !search.found,
            "the init of block '%s' reads '%s', and it runs before the loops of its reduction, of which loop '%s' is one or "
            "stands inside of one; choose a loop further out, or use decompose_reduction first",
            search.found->u.block.name, buffer->name, loop->u.loop.var->name);
    return true;
}

/* In an iteration of the loops around both, the block computes nothing that it did not compute there before: what it reads may
 * not be made yet. */
static bool runs_no_more(Schedule *s, const PrimCall *call, const StmtPath *path, int common, Stmt *body)
{
    const Stmt *block = path->items[path->n - 1];
    Stmt *before = s->kernel->body, *after = body;
    StmtPath now = {0};
    for (int i = 0; i < common; i++)
        if (path->items[i]->kind == ST_FOR && stmt_find(s->ctx, body, path->items[i]->u.loop.id, &now)) {
            before = path->items[i]->u.loop.body;
            after = now.items[now.n - 1]->u.loop.body;
            now.n = 0;
        }
    Conflict why;
    if (dependence_instances_within(s->ctx, s->kernel, before, flow_whole_nest(s, block), block->u.block.id, &why) ||
        dependence_instances_within(s->ctx, s->kernel, before, after, block->u.block.id, &why))
        return true;
    sched_refuse(s, E0450, call->arg[1].span, "block '%s' would compute what it does not compute where it stands: %s",
                 block->u.block.name, why.reason);
    sched_note_conflict(s, &why);
    return false;
}

/* The last check of a move, and the move. */
static bool finish_move(Schedule *s, const PrimCall *call, const Stmt *loop, Stmt *body)
{
    if (!flow_recheck_kinds(s, flow_kernel_with(s, body), loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    return true;
}

/* Which axis of the buffer each iterator of the block is the subscript of, -1: of none. */
static bool find_axes(Schedule *s, const PrimCall *call, const BlockStmt *block, const Buffer *buffer, const Stmt *store, int *axis_of)
{
    int *axes = ARENA_ARRAY(s->ctx->arena, int, buffer->rank + 1);
    REQUIRE(s, E0455, call->arg[0].span, flow_pure_index(block, buffer, store->u.store.index, axes),
            "block '%s' does not write '%s' at its iterators alone, so which iterations make an element "
            "is not known",
            block->name, buffer->name);
    for (int i = 0; i < block->n_iters; i++)
        axis_of[i] = -1;
    for (int axis = 0; axis < buffer->rank; axis++)
        axis_of[axes[axis]] = axis;
    return true;
}

/* The block alone in its loops. */
static Stmt *alone(Schedule *s, const StmtPath *path)
{
    Stmt *body = path->items[path->n - 1];
    for (int i = path->n - 2; i >= 0; i--)
        if (path->items[i]->kind == ST_FOR) {
            ForStmt loop = path->items[i]->u.loop;
            loop.body = body;
            body = stmt_for(s->ctx, &loop, path->items[i]->span);
        }
    return body;
}

/* The loops of the new place follow the iterators, and may add the floats of a reduction in another order than the old ones. */
static void note_order(Schedule *s, const StmtPath *path)
{
    Stmt *block = path->items[path->n - 1], *before = alone(s, path);
    bool reassociates = false;
    Conflict why;
    if (!block->u.block.init || !type_is_float(flow_single_store(block)->u.store.buffer->type))
        return;
    bool kept = dependence_order_kept(s->ctx, flow_kernel_with(s, before), before, flow_whole_nest(s, block), &reassociates, &why);
    s->reassociates |= !kept || reassociates;
}

bool prim_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, target = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->arg[0], &path);
    Stmt *loop = sched_loop(s, &call->arg[1], &target);
    const Stmt *store = flow_single_store(block), *seq;
    const Buffer *overwritten;
    int block_item = 0, loop_item = 0;
    REQUIRE(s, E0452, call->arg[0].span, store != NULL,
            "block '%s' holds more than one store, so tirc does not know how to compute a part of it",
            block->u.block.name);
    Buffer *buffer = sched_buffer(s, store->u.store.buffer->id);
    if (!common_sequence(s, call, &path, &target, &seq, &block_item, &loop_item) ||
        !is_recomputable(s, call, block, store, buffer) ||
        !consumers_are_under(s, call, buffer, loop) ||
        !inits_come_after(s, call, buffer, loop) ||
        !own_loops_are_plain(s, call, &path, flow_common(&path, &target)))
        return false;
    REQUIRE(s, E0450, call->arg[1].span, block_item < loop_item,
            "loop '%s' runs before block '%s' in the program", loop->u.loop.var->name,
            block->u.block.name);
    const Stmt *writer =
        flow_overwritten(s, seq, block_item, loop_item, block, &overwritten);
    REQUIRE(s, E0454, call->arg[0].span, !writer,
            "block '%s' writes '%s', which block '%s' reads, before loop '%s' is done, so the block would "
            "read other values there",
            writer->u.block.name, overwritten->name, block->u.block.name,
            loop->u.loop.var->name);
    int *axis_of = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    if (!find_axes(s, call, &block->u.block, buffer, store, axis_of))
        return false;

    Facts *facts = sched_facts(s, &target);
    facts_enter(facts, loop);
    Interval *box = ARENA_ARRAY(c->arena, Interval, buffer->rank + 1);
    REQUIRE(s, E0455, call->arg[1].span,
            stage_box(s, facts, &target, buffer, ACCESS_READ, buffer->scope, box),
            "the part of '%s' that one iteration of loop '%s' reads has no bounds that tirc can find",
            buffer->name, loop->u.loop.var->name);
    Part part = part_read(s, facts, loop, buffer, box);
    Stmt *nest = nest_over(s, facts, &target, block, axis_of, &part);
    Stmt *body = moved_body(s, block, loop, body_with(s, loop->u.loop.body, buffer, nest, true));
    if (!runs_no_more(s, call, &path, flow_common(&path, &target), body))
        return false;
    note_order(s, &path);
    (void)result;
    return finish_move(s, call, loop, body);
}

/* ---- reverse_compute_at ------------------------------------------------------------------------------ */

/* A buffer that the block reads at its iterators alone and that is written under the loop; axis_of filled in. */
static const Buffer *made_under(Schedule *s, Stmt *block, Stmt *loop, int *axis_of)
{
    AccessList reads = {0};
    int n = block->u.block.n_iters;
    access_collect(s->ctx, block, NULL, ACCESS_READ, &reads);
    for (int r = 0; r < reads.n; r++) {
        const Buffer *b = reads.items[r].buffer;
        int *axes = ARENA_ARRAY(s->ctx->arena, int, b->rank + 1);
        if (!flow_touches(s, loop, b, ACCESS_WRITE) ||
            !flow_pure_index(&block->u.block, b, reads.items[r].index, axes))
            continue;
        for (int i = 0; i < n; i++)
            axis_of[i] = -1;
        for (int axis = 0; axis < b->rank; axis++)
            axis_of[axes[axis]] = axis;
        return b;
    }
    return NULL;
}

/* An init runs for elements without any update, too, which no instance of the block stands for: where there may be some among
 * others, it is not known that the loops of the new place go through them. */
static bool inits_are_kept(Schedule *s, const PrimCall *call, const BlockStmt *block)
{
    const BlockIter *empty = block->init ? reduction_empty_for_some(s->ctx, block) : NULL;
    REQUIRE(s, E0456, call->arg[0].span, !empty,
            "some elements of block '%s' may have no value of '%s' to reduce, only an init, and whether that runs under "
            "the loop is not known; use decompose_reduction first",
            block->name, empty->var->name);
    return true;
}

typedef struct {
    const StmtPath *path;
    bool inner; /* a loop that is not on the path */
} LoopSearch;

static bool search_inner(Visitor *v, Expr *e)
{
    LoopSearch *search = v->user;
    bool on_path = e->kind != EX_VAR || e->u.var->kind != VAR_LOOP;
    for (int i = 0; i < search->path->n && !on_path; i++)
        on_path = search->path->items[i]->kind == ST_FOR && search->path->items[i]->u.loop.var == e->u.var;
    search->inner |= !on_path;
    return !search->inner;
}

/* The condition under which the one writer of the buffer under the loop runs, where the loops on the path decide it; NULL: none.
 * An iteration that makes nothing has nothing to consume. */
static Expr *producer_condition(Schedule *s, const StmtPath *target, const Buffer *buffer)
{
    BlockList writers = {0};
    LoopSearch search = {target, false};
    Visitor v = {.user = &search, .expr = search_inner};
    flow_blocks(s, target->items[target->n - 1], buffer, ACCESS_WRITE, &writers);
    Expr *cond = writers.n == 1 ? writers.items[0]->u.block.predicate : NULL;
    if (cond)
        visit_expr(&v, cond);
    return search.inner ? NULL : cond;
}

static Stmt *under_condition(Schedule *s, Stmt *nest, Expr *cond)
{
    Stmt *old = stage_block(nest);
    BlockStmt block = old->u.block;
    block.predicate = cond_and(s->ctx, block.predicate, cond);
    return stmt_replace(s->ctx, nest, old, stmt_block(s->ctx, &block, old->span));
}

static bool runs_as_before(Schedule *s, const Stmt *block, Stmt *body, Conflict *why)
{
    return dependence_instances_kept(s->ctx, s->kernel, s->kernel->body, body, block->u.block.id, why) &&
           dependence_order_kept(s->ctx, s->kernel, s->kernel->body, body, &s->reassociates, why);
}

bool prim_reverse_compute_at(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0}, target = {0};
    Context *c = s->ctx;
    Stmt *block = sched_block(s, &call->arg[0], &path);
    Stmt *loop = sched_loop(s, &call->arg[1], &target);
    const Stmt *seq;
    Conflict why;
    int block_item = 0, loop_item = 0;
    if (!common_sequence(s, call, &path, &target, &seq, &block_item, &loop_item) ||
        !own_loops_are_plain(s, call, &path, flow_common(&path, &target)))
        return false;
    REQUIRE(s, E0450, call->arg[1].span, block_item > loop_item,
            "loop '%s' runs after block '%s' in the program", loop->u.loop.var->name,
            block->u.block.name);
    if (!inits_are_kept(s, call, &block->u.block))
        return false;
    int *axis_of = ARENA_ARRAY(c->arena, int, block->u.block.n_iters + 1);
    const Buffer *buffer = made_under(s, block, loop, axis_of);
    REQUIRE(s, E0453, call->arg[1].span, buffer != NULL,
            "block '%s' reads nothing at its iterators alone that loop '%s' writes, so what it could do in "
            "one iteration is not known",
            block->u.block.name, loop->u.loop.var->name);
    Facts *facts = sched_facts(s, &target);
    facts_enter(facts, loop);
    Interval *box = ARENA_ARRAY(c->arena, Interval, buffer->rank + 1);
    REQUIRE(s, E0455, call->arg[1].span,
            region_reached(facts, loop->u.loop.body, buffer, ACCESS_WRITE, 0, box),
            "the part of '%s' that one iteration of loop '%s' writes has no bounds that tirc can find",
            buffer->name, loop->u.loop.var->name);

    Stmt *nest = nest_over(s, facts, &target, block, axis_of, &(Part){.box = box});
    Stmt *body = moved_body(s, block, loop, body_with(s, loop->u.loop.body, buffer, nest, false));
    Expr *cond = producer_condition(s, &target, buffer);
    bool kept = runs_as_before(s, block, body, &why);
    if (!kept && cond) {
        nest = under_condition(s, nest, cond);
        body = moved_body(s, block, loop, body_with(s, loop->u.loop.body, buffer, nest, false));
        kept = runs_as_before(s, block, body, &why);
    }
    if (!kept) {
        sched_refuse(s, E0456, call->arg[1].span,
                     "under loop '%s', block '%s' would not do what it does now: %s",
                     loop->u.loop.var->name, block->u.block.name, why.reason);
        sched_note_conflict(s, &why);
        return false;
    }
    (void)result;
    return finish_move(s, call, loop, body);
}
