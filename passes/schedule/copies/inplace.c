/* inplace.c - Implements cache_inplace: makes a block that reads and writes one buffer, or all such
 * blocks of a loop, work on a copy.
 *
 *   cache_inplace(x, x, shared, i):        for i in 4 {
 *                                              x_shared[i * 8 .. i * 8 + 8] = x[...];
 *   for i in 4, j in 8              =>         for j in 8
 *       x[i * 8 + j] *= 2;                         x_shared[i * 8 + j] *= 2;
 *                                              x[...] = x_shared[i * 8 .. i * 8 + 8];
 *                                          }
 *
 * Between the two copies nothing but the block, or the blocks, touches the buffer. The copy holds
 * all that they touch there, and may hold more; what goes back is what they have written: the
 * others' elements are not written, not even as they were. Iterations that run at the same time and
 * touch each other's part are refused by their kinds.
 *
 * Legal: nothing but the blocks touches the buffer in the loop, and iterations of loops that run at
 * the same time touch parts of their own.
 * Invariant: the buffer holds what it held after each iteration of the loop. */
#include "passes/schedule/copies/stage.h"
#include "passes/schedule/enter.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    StmtPath path;
    Stmt *block;
    bool together;   /* all blocks of the loop that access the buffer use the copy */
    BlockList users; /* those that do */
    Buffer *from, *to;
    StagePlace place;
    const Stmt *loop; /* whose body the copies stand in; NULL: around everything */
    StmtPath at;      /* to the loop */
    Interval *box;    /* what is copied in */
    Interval *back;   /* what is copied back */
} InPlace;

/* The outermost place where the block is alone with the buffer: around the block itself it always
 * is. */
static void place_outside(InPlace *p)
{
    Schedule *s = p->s;
    BufferSet staged = {0};
    StmtPath at = {0};
    VEC_PUSH(s->ctx->arena, &staged, p->from);
    stage_place(s, &p->users, &staged, ACCESS_ANY, &p->place);
    for (int i = 0; i < p->path.n && p->path.items[i] != p->place.parent; i++)
        VEC_PUSH(s->ctx->arena, &at, p->path.items[i]);
    Facts *facts = sched_facts(s, &at);
    Stmt *item = stmt_item(p->place.parent, p->place.first);
    region_touched(facts, item, p->from, ACCESS_ANY, p->box);
    region_touched(facts, item, p->from, ACCESS_WRITE, p->back);
}

static bool holds_user(const InPlace *p, Stmt *item)
{
    for (int i = 0; i < p->users.n; i++)
        if (stmt_find(p->s->ctx, item, p->users.items[i]->u.block.id, NULL))
            return true;
    return false;
}

/* What one iteration of the loop accesses. */
static bool box_inside(const InPlace *p, Facts *facts, AccessMode mode, Interval *box)
{
    BoxOf of = {.loop = &p->at, .buffer = p->from, .mode = mode, .scope = p->to->scope};
    return stage_box(p->s, facts, &of, box);
}

/* No other block in the loop accesses the buffer. */
static bool check_others(const InPlace *p)
{
    const Stmt *other =
        p->together ? NULL
                    : flow_other_block(p->s, p->loop->u.loop.body, p->block, p->from, ACCESS_ANY);
    REQUIRE(p->s, E0914, p->call->cache_inplace.loop.span, !other,
            "block '%s' also accesses '%s' in loop '%s', and would not see the values in the copy; "
            "together = true has all blocks of the loop use it",
            stmt_label(other), p->from->name, p->loop->u.loop.var->name);
    return true;
}

/* In the loop's body, where the users are alone with the buffer. */
static bool place_inside(InPlace *p)
{
    Span span = p->call->cache_inplace.loop.span;
    Name loop = p->loop->u.loop.var->name;
    Stmt *body = p->loop->u.loop.body;
    p->place = (StagePlace){.parent = body, .first = -1, .last = -1};
    for (int i = 0; i < stmt_items(body); i++)
        if (holds_user(p, stmt_item(body, i))) {
            p->place.first = p->place.first < 0 ? i : p->place.first;
            p->place.last = i;
        }
    REQUIRE(p->s, E0914, span, stmt_find(p->s->ctx, body, p->block->u.block.id, NULL),
            "loop '%s' does not enclose block '%s'", loop, p->block->u.block.name);
    if (!check_others(p))
        return false;
    Facts *facts = sched_facts(p->s, &p->at);
    facts_enter(facts, p->loop);
    REQUIRE(p->s, E0455, span,
            box_inside(p, facts, ACCESS_ANY, p->box) && box_inside(p, facts, ACCESS_WRITE, p->back),
            "no bounds found for the region of '%s' that one iteration of loop '%s' accesses",
            p->from->name, loop);
    return true;
}

static Stmt *copy_nest(const InPlace *p, Name block, Buffer *to, Buffer *from, const Interval *box)
{
    Name name = sched_fresh_name(p->s, block);
    return stage_copy_box(
        p->s, p->block,
        &(BoxCopy){.block = name, .to = to, .from = from, .box = box, .span = p->block->span});
}

/* The list with the users at work on the copy. */
static Stmt *with_copy(const InPlace *p, Stmt *list)
{
    Context *c = p->s->ctx;
    for (int i = 0; i < p->users.n; i++) {
        Stmt *user = p->users.items[i];
        list = stmt_replace(c, list, user, stmt_replace_buffer(c, user, p->from, p->to));
    }
    return list;
}

/* Loops one iteration after the other, and stores to the copy that read nothing of it. */
static Stmt *only_write(Rewriter *r, Stmt *stmt)
{
    const InPlace *p = r->user;
    if (stmt->kind == ST_FOR && stmt->u.loop.kind != LOOP_SERIAL) {
        ForStmt loop = stmt->u.loop;
        loop.kind = LOOP_SERIAL;
        loop.axis = AXIS_NONE;
        return stmt_for(r->ctx, &loop, stmt->span);
    }
    if (stmt->kind != ST_STORE || stmt->u.store.buffer->id != p->to->id)
        return stmt;
    Expr *value = expr_load(r->ctx, p->from, stmt->u.store.index, stmt->span);
    return stmt_set(r->ctx, (BufferElement){p->to, stmt->u.store.index}, value, stmt->span);
}

/* The block writes each element that is copied back: in a program without the copy in, where the
 * block does nothing but write, the copy back would read what is there. */
static bool check_written(InPlace *p, Stmt *out)
{
    Schedule *s = p->s;
    Context *c = s->ctx;
    Rewriter r = {.ctx = c, .user = p, .stmt = only_write};
    Stmt *list = rewrite_stmt(&r, with_copy(p, stage_insert(s, &p->place, NULL, out)));
    const Kernel *kernel = kernel_with_body(
        s->ctx, s->kernel, stmt_replace(c, s->kernel->body, p->place.parent, list));
    REQUIRE(
        s, E0914, p->call->cache_inplace.buffer.span,
        threads_reads_covered(threads_model(c, kernel, list), p->to, 0),
        "block '%s' writes only some elements of the region of '%s' that would be copied back%s",
        p->block->u.block.name, p->from->name,
        p->loop ? "; choose a loop whose iterations write whole boxes" : "");
    return true;
}

static bool check_block(const InPlace *p)
{
    bool reads = stmt_accesses(p->s->ctx, p->block, p->from, ACCESS_READ);
    bool writes = stmt_accesses(p->s->ctx, p->block, p->from, ACCESS_WRITE);
    REQUIRE(p->s, E0914, p->call->cache_inplace.buffer.span, reads && writes,
            "block '%s' only %s '%s'; use %s instead", p->block->u.block.name,
            reads    ? "reads"
            : writes ? "writes"
                     : "runs beside",
            p->from->name, writes ? "cache_write" : "cache_read");
    bool starts = p->block->u.block.init &&
                  stmt_accesses(p->s->ctx, p->block->u.block.init, p->from, ACCESS_WRITE);
    REQUIRE(p->s, E0914, p->call->cache_inplace.buffer.span, !starts,
            "block '%s' initializes '%s' itself, so copy-in is useless; use cache_write instead",
            p->block->u.block.name, p->from->name);
    REQUIRE(p->s, E0914, p->call->cache_inplace.buffer.span,
            enter_program_role(p->s, p->from) == ROLE_INOUT,
            "'%s' is not an inout parameter, so unwritten elements would be copied; use cache_read "
            "or cache_write instead",
            p->from->name);
    return true;
}

/* Finds the loop, and the blocks that use the copy. */
static bool find_users(InPlace *p)
{
    Schedule *s = p->s;
    const Value *loop = &p->call->cache_inplace.loop, *together = &p->call->cache_inplace.together;
    if (loop->kind != VALUE_NONE)
        p->loop = sched_node(s, loop, &p->at);
    p->together = together->kind == VALUE_BOOL && together->u.i;
    REQUIRE(s, E0914, together->span, p->loop || !p->together,
            "together needs a loop, all of whose blocks use the copy");
    if (p->together)
        p->users = flow_blocks(s, p->loop->u.loop.body, p->from, ACCESS_ANY);
    else
        VEC_PUSH(s->ctx->arena, &p->users, p->block);
    return true;
}

bool prim_cache_inplace(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    InPlace p = {.s = s, .call = call};
    Scope scope = scope_find(call->cache_inplace.scope.u.s);
    p.block = sched_node(s, &call->cache_inplace.block, &p.path);
    p.from = sched_buffer(s, call->cache_inplace.buffer.u.id);
    if (!check_block(&p))
        return false;
    p.to = stage_buffer(s, p.from, scope_name(scope), scope, call->span);
    p.box = ARENA_ARRAY(c->arena, Interval, p.from->rank + 1);
    p.back = ARENA_ARRAY(c->arena, Interval, p.from->rank + 1);
    if (!find_users(&p))
        return false;
    if (!p.loop)
        place_outside(&p);
    else if (!place_inside(&p))
        return false;
    Stmt *in = copy_nest(&p, p.to->name, p.to, p.from, p.box);
    Stmt *out = copy_nest(&p, arena_printf(c->arena, "%s_back", p.to->name), p.from, p.to, p.back);
    Stmt *list = stage_insert(s, &p.place, in, out);
    Stmt *body = stmt_replace(c, s->kernel->body, p.place.parent, with_copy(&p, list));
    body = flow_declare_beside(s, body, p.from, p.to);
    if (!flow_recheck_all(s, body, call->span) || !check_written(&p, out))
        return false;
    sched_replace_body(s, body);
    Value blocks[] = {value_block(stmt_nest_block(in)), value_block(stmt_nest_block(out))};
    *result = value_list(s, blocks, 2);
    return true;
}
