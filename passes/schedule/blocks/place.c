/* place.c - moving a block into other loops (place.h): what must hold of both places, and the nest
 * that it gets there.
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
static Name fresh_name(Schedule *s, const StmtPath *target, const char *base,
                       const BlockStmt *block, int own, const LoopList *loops)
{
    Name name = sched_fresh_loop_name(s, target, base, 0);
    for (int tries = 1;; tries++) {
        bool taken = false;
        for (int i = 0; i < block->n_iters; i++)
            taken |= i != own && block->iters[i].var->name == name;
        for (int i = 0; i < loops->n; i++)
            taken |= loops->items[i].var->name == name;
        taken |= holds_loop(s->ctx, block, name);
        if (!taken)
            return name;
        name = sched_fresh_loop_name(s, target,
                                     arena_printf(s->ctx->arena, "%.32s_%d", base, tries), 0);
    }
}

/* The loops over an axis of a part, outermost first, and its places in their terms. */
static Expr *loops_over(Schedule *s, const StmtPath *target, const BlockStmt *block,
                        const Part *part, int axis, LoopList *loops)
{
    Context *c = s->ctx;
    int n = part->n_runs ? part->n_runs[axis] : 0;
    Expr *value = part->box[axis].min;
    for (int i = n > 0 ? n - 1 : 0; i >= 0; i--) {
        Run run = n > 0 ? part->runs[axis * REGION_RUNS + i] : (Run){1, 0};
        Name name = fresh_name(s, target, arena_printf(c->arena, i > 0 ? "run%d" : "ax%d", axis),
                               block, -1, loops);
        Expr *hi = n > 0 ? expr_index(c, run.extent) : part->box[axis].extent;
        ForStmt loop = flow_loop(s, name, expr_index(c, 0), hi);
        VEC_PUSH(c->arena, loops, loop);
        value = index_add(
            c, value, index_mul(c, expr_index(c, run.stride), expr_var(c, loop.var, span_none())));
    }
    return value;
}

Stmt *place_nest(Schedule *s, Facts *facts, const StmtPath *target, const Stmt *block,
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

/* A body as items of a sequence, which it is or has one of. */
static int body_items(const Stmt *body)
{
    return body->kind == ST_SEQ ? body->u.seq.n : 1;
}

static Stmt *body_item(Stmt *body, int i)
{
    return body->kind == ST_SEQ ? body->u.seq.items[i] : body;
}

/* The items of the loop's body, with the nest in front of item `at`. */
static Stmt *body_with(Schedule *s, Stmt *body, int at, Stmt *nest)
{
    VEC(Stmt *) items = {0};
    int n = body_items(body);
    for (int i = 0; i <= n; i++) {
        if (i == at)
            VEC_PUSH(s->ctx->arena, &items, nest);
        if (i < n)
            VEC_PUSH(s->ctx->arena, &items, body_item(body, i));
    }
    return stmt_seq(s->ctx, items.items, items.n, body->span);
}

/* The block leaves its old loops first, because the new body holds a block with the same id. */
static Stmt *moved_body(Schedule *s, const Stmt *block, const Stmt *loop, int at, Stmt *nest)
{
    ForStmt changed = loop->u.loop;
    changed.body = body_with(s, changed.body, at, nest);
    Stmt *body = flow_remove(s, s->kernel->body, block);
    Stmt *target = stmt_stamp(stmt_for(s->ctx, &changed, loop->span), loop);
    return stmt_replace(s->ctx, body, loop, target);
}

Stmt *place_before_readers(Schedule *s, const Stmt *block, const Stmt *loop, const Buffer *buffer,
                           Stmt *nest)
{
    Stmt *body = loop->u.loop.body;
    int at = 0;
    while (at < body_items(body) && !stmt_touches(body_item(body, at), buffer, ACCESS_READ))
        at++;
    return moved_body(s, block, loop, at, nest);
}

Stmt *place_after_writers(Schedule *s, const Stmt *block, const Stmt *loop, const Buffer *buffer,
                          Stmt *nest)
{
    Stmt *body = loop->u.loop.body;
    int at = body_items(body);
    while (at > 0 && !stmt_touches(body_item(body, at - 1), buffer, ACCESS_WRITE))
        at--;
    return moved_body(s, block, loop, at, nest);
}

/* ---- may it move ----------------------------------------------------------------------------- */

static Name call_block_name(const StmtPath *path)
{
    return path->items[path->n - 1]->u.block.name;
}

bool place_own_loops_plain(Schedule *s, const PrimCall *call, const StmtPath *path, int from)
{
    for (int i = from; i < path->n; i++) {
        const Stmt *stmt = path->items[i];
        REQUIRE(s, E0451, call->compute_at.block.span, stmt->kind != ST_IF,
                "block '%s' stands under a condition, which would be lost", call_block_name(path));
        if (stmt->kind != ST_FOR)
            continue;
        REQUIRE(s, E0451, call->compute_at.block.span,
                stmt->u.loop.kind == LOOP_SERIAL && stmt->u.loop.step == 1,
                "loop '%s' of block '%s' has a kind or a step, which would be lost: the block gets "
                "new loops where it moves to. Move it first, then bind, vectorize or unroll",
                stmt->u.loop.var->name, call_block_name(path));
    }
    REQUIRE(s, E0451, call->compute_at.block.span, !path->items[path->n - 1]->u.block.predicate,
            "block '%s' has a condition left from a split, which speaks of loops that would be "
            "gone; move it before splitting its loops",
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
            REQUIRE(s, E0465, call->compute_at.block.span,
                    item->kind != ST_TEMP || !stmt_touches(block, item->u.temp, ACCESS_ANY),
                    "block '%s' touches '%s', which there is only in the loops that it would leave",
                    call_block_name(path), item->u.temp->name);
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
static bool inner_names_are_free(Schedule *s, const PrimCall *call, const StmtPath *path,
                                 const StmtPath *target)
{
    for (Cursor at = cursor_stmts(s->ctx, path->items[path->n - 1]->u.block.body);
         cursor_next(&at);)
        REQUIRE(s, E0466, call->compute_at.loop.span,
                at.stmt->kind != ST_FOR || !has_loop_called(target, at.stmt->u.loop.var->name),
                "a loop inside of block '%s' is called '%s', and so is one that the block would "
                "come under; name one of them differently, as in  let [other] = split(loop, [_])",
                call_block_name(path), stmt_label(at.stmt));
    return true;
}

bool place_sequence(Schedule *s, const PrimCall *call, const StmtPath *block, const StmtPath *loop,
                    const Stmt **seq, int *block_item, int *loop_item)
{
    int n = flow_common(block, loop);
    REQUIRE(s, E0467, call->compute_at.loop.span, n < loop->n,
            "block '%s' is already under loop '%s'", call_block_name(block),
            loop->items[loop->n - 1]->u.loop.var->name);
    *seq = block->items[n - 1];
    REQUIRE(s, E0468, call->compute_at.loop.span, (*seq)->kind == ST_SEQ,
            "block '%s' and loop '%s' stand in different branches of a condition",
            call_block_name(block), loop->items[loop->n - 1]->u.loop.var->name);
    for (int i = (*seq)->u.seq.n - 1; i >= 0 && (*seq)->u.seq.items[i] != loop->items[n]; i--)
        REQUIRE(s, E0465, call->compute_at.block.span,
                (*seq)->u.seq.items[i]->kind != ST_TEMP ||
                    !stmt_touches(block->items[block->n - 1], (*seq)->u.seq.items[i]->u.temp,
                                  ACCESS_ANY),
                "block '%s' touches '%s', which is declared behind loop '%s'",
                call_block_name(block), (*seq)->u.seq.items[i]->u.temp->name,
                loop->items[loop->n - 1]->u.loop.var->name);
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

bool place_finish(Schedule *s, const PrimCall *call, const Stmt *loop, Stmt *body)
{
    if (!flow_recheck_kinds(s, flow_kernel_with(s, body), loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    return true;
}
