/* partition.c - Implements loop_partition: splits the range of a loop into consecutive loops.
 *
 *   loop_partition(i, [1, _])    for i in N     =>   for i_0 in 0..1
 *                                    S(i)                S_1(i_0)
 *                                                    for i_1 in 1..N
 *                                                        S(i_1)
 *
 * Legal: the loop is serial, and the points of the cuts lie in order. A loop around it stands for
 * as many iterations as its index says (index set splitting: Griebl, Feautrier and Lengauer, Index
 * set splitting, 2000).
 * Invariant: every instance runs exactly once, in the same order; S and its copies share the
 * instances among them. The one thing that could happen twice is the init of a reduction, which
 * runs before the outermost loop of the reduction: it stands inside the loop that is cut, or stays
 * with the first part, which then has all elements that the others update. */
#include "passes/schedule/loops/partition.h"

/* ---- copies ---------------------------------------------------------------------------------- */

static bool is_given(const Partition *p, Name name)
{
    for (int i = 0; i < p->given.n; i++)
        if (p->given.items[i] == name)
            return true;
    return false;
}

/* base_1, base_2, ... : nothing has the name. */
static Name copy_name(Partition *p, Name base)
{
    for (int i = 1;; i++) {
        Name name = ctx_namef(p->s->ctx, "%s_%d", base, i);
        const NameUse *use = state_name(p->s, name);
        if ((use && use->loops + use->others > 0) || is_given(p, name))
            continue;
        VEC_PUSH(p->s->ctx->arena, &p->given, name);
        return name;
    }
}

static Stmt *rename_block(Rewriter *r, Stmt *stmt)
{
    if (stmt->kind != ST_BLOCK)
        return stmt;
    BlockStmt block = stmt->u.block;
    block.name = copy_name(r->user, block.name);
    return stmt_stamp(stmt_block(r->ctx, &block, stmt->span), stmt);
}

/* Temps of the copy become buffers of its own; their shapes speak of the loops of the copy. */
static Stmt *copy_temps(Partition *p, Stmt *original, Stmt *copy)
{
    Context *c = p->s->ctx;
    StmtList old = stmts_of_kind(c, original, ST_FOR), new = stmts_of_kind(c, copy, ST_FOR);
    StmtList temps = stmts_of_kind(c, copy, ST_TEMP);
    Subst *map = ARENA_ARRAY(c->arena, Subst, new.n);
    for (int i = 0; i < new.n; i++)
        map[i] =
            (Subst){old.items[i]->u.loop.var, expr_var(c, new.items[i]->u.loop.var, span_none())};
    for (int i = 0; i < temps.n; i++) {
        const Buffer *from = temps.items[i]->u.temp;
        Buffer *to = buffer_subst(c, from, map, new.n);
        to->id = ctx_new_id(c);
        to->name = copy_name(p, from->name);
        copy = stmt_replace_buffer(c, copy, from, to);
    }
    return copy;
}

/* So do those outside that it does not share with other parts. */
static Stmt *copy_apart(Partition *p, Stmt *copy)
{
    Context *c = p->s->ctx;
    for (int i = 0; i < p->apart.n; i++) {
        Buffer *own = buffer_copy(c, p->apart.items[i]);
        own->id = ctx_new_id(c);
        own->name = copy_name(p, own->name);
        copy = stmt_replace_buffer(c, copy, p->apart.items[i], own);
        VEC_PUSH(c->arena, &p->own, own);
        VEC_PUSH(c->arena, &p->own_of, p->apart.items[i]);
    }
    return copy;
}

Stmt *partition_copy(Partition *p, Stmt *body)
{
    Rewriter rename = {.ctx = p->s->ctx, .user = p, .stmt = rename_block};
    Stmt *copy = stmt_clone_fresh(p->s->ctx, body);
    return rewrite_stmt(&rename, copy_apart(p, copy_temps(p, body, copy)));
}

void partition_rename(Partition *p, Stmt *loop)
{
    loop->u.loop.var->name = copy_name(p, loop->u.loop.var->name);
}

/* ---- parts ----------------------------------------------------------------------------------- */

Partition partition_new(Schedule *s, const StmtPath *path)
{
    Partition p = {.s = s, .path = *path, .facts = sched_facts(s, path)};
    p.path.items = ARENA_ARRAY(s->ctx->arena, Stmt *, path->n);
    p.path.capacity = path->n;
    for (int i = 0; i < path->n; i++)
        p.path.items[i] = path->items[i];
    if (path_end(path)->u.loop.step != 1)
        p.path.items[path->n - 1] = loop_from_zero(s, path);
    return p;
}

static bool is_carried_on(const BlockStmt *block, const StmtPath *path)
{
    for (int i = 0; i < block->n_iters; i++)
        if (block->iters[i].kind == ITER_REDUCE && path_binds(path, block->iters[i].binding))
            return true;
    return false;
}

/* A reduction with an init that a loop of the path carries on; NULL if there is none. */
static const Stmt *reduction_of(Context *c, const StmtPath *path, const Stmt *part)
{
    for (Cursor at = cursor_outer(c, part); cursor_next(&at);)
        if (at.stmt->kind == ST_BLOCK && at.stmt->u.block.init &&
            is_carried_on(&at.stmt->u.block, path))
            return at.stmt;
    return NULL;
}

bool partition_require_inits(Schedule *s, const StmtPath *path, Stmt *part, Span span)
{
    const Stmt *loop = path_end(path);
    const Stmt *reduction = reduction_of(s->ctx, path, part);
    if (!reduction)
        return true;
    sched_refuse(
        s, E0439, span,
        "block '%s' is a reduction carried by loop '%s' or an outer loop, so its init would run "
        "again for each part; separate the init first, with decompose_reduction(%s, LOOP)",
        reduction->u.block.name, stmt_label(loop), reduction->u.block.name);
    sched_note_at(s, reduction, "the reduction is now");
    return false;
}

Stmt *partition_part(Partition *p, const char *base, Expr *lo, Expr *hi, PartBody body_is)
{
    Context *c = p->s->ctx;
    Stmt *loop = path_end(&p->path);
    Name name = sched_fresh_loop_name(p->s, &p->path, base, 0);
    while (is_given(p, name))
        name = sched_fresh_loop_name(p->s, &p->path, ctx_namef(c, "%s_", name), 0);
    VEC_PUSH(c->arena, &p->given, name);
    ForStmt part = flow_loop(p->s, name, lo, hi);
    Subst to = {loop->u.loop.var, expr_var(c, part.var, span_none())};
    /* Without the range: a part of one iteration speaks of its loop, too. */
    Below below = {.s = p->s, .facts = p->facts, .map = &to, .n_map = 1};
    part.body = below_rewrite(&below, loop->u.loop.body);
    if (body_is == PART_COPIES_BODY)
        part.body = partition_copy(p, part.body);
    return stmt_for(c, &part, loop->span);
}

/* ---- inits ----------------------------------------------------------------------------------- */

/* Each iteration of the loop at the end of the path updates the same elements in the block, so that
 * the init of those of one iteration is that of all. */
static bool updates_alike(Context *c, const StmtPath *path, const Stmt *stmt)
{
    const Stmt *loop = path_end(path);
    const Var *var = loop->u.loop.var;
    const BlockStmt *block = &stmt->u.block;
    EnclosingList around = {0};
    stmt_enclosing(c, loop->u.loop.body, stmt, &around);
    for (int i = 0; i < around.n; i++)
        if (stmt_head_uses_var(around.items[i].stmt, var))
            return false;
    return !block_uses_loop(block, ITER_SPATIAL, var) && block_uses_loop(block, ITER_REDUCE, var) &&
           !(block->predicate && expr_uses_var(block->predicate, var));
}

/* The loop with reductions that it carries without their inits; NULL where the init of one has to
 * run in a later part, too. */
static Stmt *without_inits(Context *c, const StmtPath *path)
{
    Stmt *loop = path_end(path);
    for (const Stmt *at; (at = reduction_of(c, path, loop->u.loop.body));) {
        BlockStmt block = at->u.block;
        if (!updates_alike(c, path, at))
            return NULL;
        block.init = NULL;
        Stmt *updates = stmt_stamp(stmt_block(c, &block, at->span), at);
        loop = loop_with_body(c, loop, stmt_replace(c, loop->u.loop.body, at, updates));
    }
    return loop;
}

/* ---- temps outside --------------------------------------------------------------------------- */

static bool is_in_loop(const StmtPath *path)
{
    for (int i = 0; i < path->n - 1; i++)
        if (path->items[i]->kind == ST_FOR)
            return true;
    return false;
}

/* Temps in memory of a launch that only an outermost loop accesses, whose iterations are
 * independent: no element that one part writes is read in another, so each part has its own, and
 * may be a launch of its own. */
static void find_apart(Partition *p, Stmt *loop)
{
    Context *c = p->s->ctx;
    Conflict why;
    Stmt *others = stmt_replace(c, p->s->kernel->body, loop, NULL);
    StmtList temps = stmts_of_kind(c, others, ST_TEMP);
    for (int i = 0; i < temps.n; i++) {
        const Buffer *b = temps.items[i]->u.temp;
        if (!scope_outlives_launch(b->scope) && stmt_accesses(c, loop, b, ACCESS_ANY) &&
            !stmt_accesses(c, others, b, ACCESS_ANY))
            VEC_PUSH(c->arena, &p->apart, b);
    }
    if (p->apart.n &&
        (is_in_loop(&p->path) ||
         !dependence_loop_is_parallel(c, p->s->kernel, loop->u.loop.id, LOOP_PARALLEL, &why)))
        p->apart.n = 0;
}

static void declare_own(const Partition *p)
{
    Stmt *body = p->s->kernel->body;
    for (int i = 0; i < p->own.n; i++)
        body = flow_declare_beside(p->s, body, p->own_of.items[i], p->own.items[i]);
    if (p->own.n)
        sched_replace_body(p->s, body);
}

/* ---- loop_partition -------------------------------------------------------------------------- */

typedef struct {
    const Value *extents;
    int n, fill; /* how many; which is _, or -1 */
} Parts;

/* A loop around stands for as many iterations as its index says. */
static bool require_count(Schedule *s, const Value *outer, const StmtPath *path)
{
    const Stmt *loop = path_end(path);
    int at = path_loop(path, outer->u.id);
    REQUIRE(s, E0541, outer->span, at >= 0 && at < path->n - 1,
            "a part of loop '%s' has as many iterations as the index of a loop around it says, and "
            "'%s' is not around it",
            stmt_label(loop), state_handle(s, outer->u.id)->name);
    const Stmt *around = path->items[at];
    Expr *index = expr_var(s->ctx, around->u.loop.var, outer->span);
    Expr *counts = expr_binary(s->ctx, EX_LE, expr_index(s->ctx, 0), index, span_none());
    REQUIRE_AT(s, E0541, outer->span, prove(sched_facts(s, path), counts), around,
               "the index of loop '%s' may be less than 0, so it is no number of iterations",
               stmt_label(around));
    return true;
}

static bool read_parts(Schedule *s, const PrimCall *call, const StmtPath *path, Parts *parts)
{
    int64_t total = 0;
    parts->extents = call->loop_partition.extents.u.list.items;
    parts->n = call->loop_partition.extents.u.list.n;
    parts->fill = -1;
    for (int i = 0; i < parts->n; i++) {
        const Value *extent = &parts->extents[i];
        if (extent->kind == VALUE_FILL) {
            REQUIRE(s, E0412, call->span, parts->fill < 0,
                    "parts %d and %d are both _, but tirc can compute only one; give the others",
                    parts->fill + 1, i + 1);
            parts->fill = i;
            continue;
        }
        if (extent->kind == VALUE_LOOP && !require_count(s, extent, path))
            return false;
        int64_t length = extent->kind == VALUE_LOOP ? 0 : extent->u.i;
        REQUIRE(s, E0415, call->span, checked_add(total, length, &total) && total <= INT32_MAX,
                "the parts together have more than 2147483647 iterations");
    }
    return true;
}

/* How many iterations the parts first..last - 1 have together; none of them is the _. */
static Expr *length_of(Context *c, const StmtPath *path, const Parts *parts, int first, int last)
{
    Expr *sum = expr_index(c, 0);
    for (int i = first; i < last; i++) {
        const Value *extent = &parts->extents[i];
        Expr *length =
            extent->kind == VALUE_INT
                ? expr_index(c, extent->u.i)
                : expr_var(c, path->items[path_loop(path, extent->u.id)]->u.loop.var, extent->span);
        sum = index_add(c, sum, length);
    }
    return sum;
}

/* Without a _ the parts must reach the end of the loop. */
static bool require_end(Schedule *s, const PrimCall *call, const StmtPath *path, const Parts *parts)
{
    if (parts->fill >= 0)
        return true;
    Context *c = s->ctx;
    const Stmt *loop = path_end(path);
    Expr *extent = sched_extent(s, path), *length = length_of(c, path, parts, 0, parts->n);
    Expr *reached = expr_binary(c, EX_LE, extent, length, span_none());
    REQUIRE_AT(s, E0438, call->span, prove(sched_facts(s, path), reached), loop,
               "the parts together have %s iterations, but loop '%s' has %s; write _ for the part "
               "that takes the remaining ones",
               expr_text(c, length), stmt_label(loop), expr_text(c, extent));
    return true;
}

/* Where part i begins. Parts that find nothing left are empty: each cut stays within lo..hi. */
static Expr *cut_at(const Partition *p, const Parts *parts, int i)
{
    Context *c = p->s->ctx;
    const ForStmt *loop = &path_end(&p->path)->u.loop;
    if (i == 0)
        return loop->lo;
    if (i == parts->n)
        return loop->hi;
    if (parts->fill < 0 || i <= parts->fill) {
        Expr *from_start = index_add(c, loop->lo, length_of(c, &p->path, parts, 0, i));
        return simplify(p->facts, index_min(c, from_start, loop->hi));
    }
    Expr *from_end = index_sub(c, loop->hi, length_of(c, &p->path, parts, i, parts->n));
    return simplify(p->facts, index_max(c, from_end, cut_at(p, parts, parts->fill)));
}

/* The loop of the parts behind the first: all of it, or, where that has iterations wherever there
 * are any, without the inits that stay there. NULL after a refusal. */
static Stmt *later_loop(const Partition *p, const Parts *parts, Span span)
{
    Stmt *loop = path_end(&p->path);
    Stmt *updates = parts->fill == 0 ? NULL : without_inits(p->s->ctx, &p->path);
    if (updates)
        return updates;
    return partition_require_inits(p->s, &p->path, loop->u.loop.body, span) ? loop : NULL;
}

/* The parts, one after the other. NULL after a refusal. */
static Stmt *make_parts(Partition *p, const Parts *parts, Span span, Value *values)
{
    Context *c = p->s->ctx;
    Stmt **last = &p->path.items[p->path.n - 1], *later = later_loop(p, parts, span);
    const char *label = stmt_label(*last);
    if (!later)
        return NULL;
    Stmt **loops = ARENA_ARRAY(c->arena, Stmt *, parts->n);
    int original = parts->fill < 0 ? 0 : parts->fill;
    for (int i = 0; i < parts->n; i++) {
        const char *name = arena_printf(c->arena, "%.24s_%d", label, i);
        *last = i == 1 ? later : *last;
        loops[i] = partition_part(p, name, cut_at(p, parts, i), cut_at(p, parts, i + 1),
                                  i != original ? PART_COPIES_BODY : PART_SHARES_BODY);
        values[i] = value_loop(loops[i]);
    }
    return stmt_seq(c, loops, parts->n, later->span);
}

bool prim_loop_partition(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Parts parts = {0};
    Stmt *loop = sched_node(s, &call->loop_partition.loop, &path);
    if (!sched_require_plain(s, loop, call->span) || !read_parts(s, call, &path, &parts) ||
        !require_end(s, call, &path, &parts))
        return false;
    *result = value_list(s, &call->loop_partition.loop, 1);
    if (parts.n == 1)
        return true;
    Partition p = partition_new(s, &path);
    find_apart(&p, loop);
    Value *values = ARENA_ARRAY(s->ctx->arena, Value, parts.n);
    Stmt *made = make_parts(&p, &parts, call->span, values);
    if (!made)
        return false;
    bool inits = reduction_of(s->ctx, &path, loop->u.loop.body) != NULL;
    Stmt *body = inits ? stmt_replace(s->ctx, s->kernel->body, loop, made) : NULL;
    if (body && !flow_recheck_all(s, body, call->span))
        return false;
    sched_replace(s, loop, made);
    declare_own(&p);
    *result = value_list(s, values, parts.n);
    return true;
}
