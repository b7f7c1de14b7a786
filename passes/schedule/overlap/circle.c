/* circle.c - Makes a buffer that each iteration of a loop fills anew a circle of the parts of some
 * iterations. */
#include "passes/schedule/overlap/circle.h"

enum { MAX_STAGES = 16 };

bool circle_stages_can(Schedule *s, const Value *stages, const Value *pending, int ahead)
{
    int64_t n = stages->u.i, before = pending->kind == VALUE_NONE ? 0 : pending->u.i;
    REQUIRE(s, E0474, stages->span, n >= 2 && n <= MAX_STAGES,
            "a pipeline has 2 to %d stages, found %lld", MAX_STAGES, (long long)n);
    REQUIRE(s, E0474, pending->span, before >= 0 && before <= n - 1 - ahead,
            "of %lld stages, one is in use%s, so 0 to %lld are left "
            "for the iterations before; found pending = %lld",
            (long long)n, ahead ? " and at least one is being filled" : "",
            (long long)n - 1 - ahead, (long long)before);
    return true;
}

/* The buffer is filled by this statement and read in the loop, nowhere else. */
bool circle_users_can(const CircleLoop *l, const Circle *a)
{
    BlockList writers = flow_blocks(l->s, l->s->kernel->body, a->buffer, ACCESS_WRITE);
    REQUIRE(
        l->s, E0472, l->call->span, writers.n == 1,
        "'%s' is written by blocks '%s' and '%s', so an iteration of '%s' has no region of its own",
        a->buffer->name, writers.items[0]->u.block.name, writers.items[1]->u.block.name,
        l->loop->u.loop.var->name);
    BlockList readers = flow_blocks(l->s, l->s->kernel->body, a->buffer, ACCESS_READ);
    BlockList inside = flow_blocks(l->s, l->loop, a->buffer, ACCESS_READ);
    for (int i = 0; i < readers.n; i++) {
        bool found = false;
        for (int k = 0; k < inside.n; k++)
            found |= inside.items[k]->u.block.id == readers.items[i]->u.block.id;
        REQUIRE(l->s, E0472, l->call->span, found,
                "block '%s' reads '%s' outside loop '%s', when most of it has been overwritten",
                readers.items[i]->u.block.name, a->buffer->name, l->loop->u.loop.var->name);
    }
    return true;
}

/* Does the expression use a loop around the pipeline that is bound to threads? */
static const Var *uses_thread(const CircleLoop *l, const Expr *e)
{
    for (int i = 0; i < l->path->n; i++) {
        const Stmt *stmt = l->path->items[i];
        if (stmt_is_bound(stmt) && axis_is_thread(stmt->u.loop.axis) &&
            expr_uses_var(e, stmt->u.loop.var))
            return stmt->u.loop.var;
    }
    return NULL;
}

static bool refuse_box(const CircleLoop *l, const Circle *a, const Interval *box, const char *what)
{
    Schedule *s = l->s;
    Name loop = l->loop->u.loop.var->name;
    sched_refuse(s, E0472, l->call->span,
                 "an iteration of '%s' fills this region of '%s', by axis: %s. %s; each iteration "
                 "must start where the previous one ended, along one axis",
                 loop, a->buffer->name, sched_box_text(s, box, a->buffer->rank), what);
    sched_note_at(s, a->item, "the buffer is filled here");
    return false;
}

/* The one axis along which the box moves, by exactly its extent; NULL, or what is wrong with it. */
static const char *find_axis(const CircleLoop *l, Circle *a, Facts *facts, const Interval *box)
{
    Context *c = l->s->ctx;
    a->axis = -1;
    for (int d = 0; d < a->buffer->rank; d++) {
        int64_t step, extent;
        Expr *rest;
        if (!split_linear(facts, box[d].min, l->loop->u.loop.var, &step, &rest))
            return "The region is not affine in the loop";
        if (step == 0)
            continue;
        if (a->axis >= 0)
            return "The region moves along two axes";
        if (!expr_is_const(box[d].extent, &extent) || extent != step)
            return arena_printf(c->arena,
                                "Along axis %d it moves by %lld per iteration, but is %s long", d,
                                (long long)step, expr_text(l->s->ctx, box[d].extent));
        const Var *thread = a->buffer->scope == SCOPE_SHARED ? uses_thread(l, rest) : NULL;
        if (thread)
            return arena_printf(c->arena, "The region depends on '%s'", thread->name);
        a->axis = d;
        a->step = step;
    }
    return a->axis < 0 ? "The region is the same in every iteration" : NULL;
}

/* What the iteration reads along the axis lies in what it fills. */
static bool check_reads(const CircleLoop *l, const Circle *a, Facts *facts, Interval got,
                        Interval made)
{
    Context *c = l->s->ctx;
    REQUIRE(l->s, E0472, l->call->span,
            prove_compare(facts, got.min, EX_GE, made.min) &&
                prove_compare(facts, index_add(c, got.min, got.extent), EX_LE,
                              index_add(c, made.min, made.extent)),
            "an iteration of '%s' fills %s elements of '%s' from %s along axis %d, but reads %s "
            "from %s; it must read only elements that it fills",
            l->loop->u.loop.var->name, expr_text(l->s->ctx, made.extent), a->buffer->name,
            expr_text(l->s->ctx, made.min), a->axis, expr_text(l->s->ctx, got.extent),
            expr_text(l->s->ctx, got.min));
    return true;
}

/* The part that one iteration fills, by the loops of the statement that fills it; where these run
 * further than the block does, because they have been fused and split, by what is read. */
bool circle_measure(const CircleLoop *l, Circle *a)
{
    Context *c = l->s->ctx;
    Facts *facts = sched_facts(l->s, l->path);
    Interval *made = ARENA_ARRAY(c->arena, Interval, a->buffer->rank + 1);
    Interval *got = ARENA_ARRAY(c->arena, Interval, a->buffer->rank + 1);
    facts_enter(facts, l->loop);
    region_reached(facts, a->item, a->buffer, ACCESS_WRITE, made);
    region_reached(facts, l->loop->u.loop.body, a->buffer, ACCESS_READ, got);
    REQUIRE(l->s, E0472, l->call->span, a->buffer->rank > 0,
            "'%s' has a single element, so the iterations of '%s' cannot fill separate regions",
            a->buffer->name, l->loop->u.loop.var->name);
    const char *wrong = find_axis(l, a, facts, made);
    if (wrong && find_axis(l, a, facts, got))
        return refuse_box(l, a, made, wrong);
    if (!wrong && !check_reads(l, a, facts, got[a->axis], made[a->axis]))
        return false;
    int64_t fold;
    REQUIRE(l->s, E0474, l->call->span, checked_mul(a->step, l->stages, &fold) && fold <= INT32_MAX,
            "%lld stages of %lld elements exceed 2147483647", (long long)l->stages,
            (long long)a->step);
    return true;
}

/* A circle of the parts that are alive at the same time. */
Buffer *circle_folded(Context *c, const Circle *a, int64_t stages)
{
    AxisLayout rule = buffer_rule(a->buffer, a->axis);
    rule.fold = a->step * stages;
    return buffer_with_rule(c, a->buffer, a->axis, rule);
}
