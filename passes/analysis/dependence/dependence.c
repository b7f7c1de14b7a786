/* dependence.c - Answers questions about order: is it preserved, what does a loop carry, can its
 * iterations run concurrently? See dependence.h.
 *
 * A question is decided for one pair of accesses of a buffer at a time, one of which writes. Its
 * system has rows for the domains of both instances, for "the same element", for "first comes
 * before second", and for the violation (second before first in the new tree; different iterations
 * of a parallel loop). The step is legal if no pair has a solution. */
#include "ir/tuple.h"
#include "passes/analysis/dependence/model.h"
#include "passes/analysis/regions/private.h"

#include <isl/set.h>

/* ---- order kept ------------------------------------------------------------------------------ */

static const Unit *same_unit(const Model *m, const Unit *u)
{
    for (int i = 0; i < m->units.n; i++)
        if (model_unit(m, i)->block->id == u->block->id && model_unit(m, i)->init == u->init)
            return model_unit(m, i);
    return NULL;
}

static int find_loop(const Unit *u, const Var *var)
{
    for (int i = 0; i < u->n_loops; i++)
        if (u->loops[i]->var == var && !u->absent[i])
            return i;
    return -1;
}

static bool loops_all_from(const Unit *new, const Unit *old)
{
    for (int i = 0; i < new->n_loops; i++)
        if (!new->absent[i] && find_loop(old, new->loops[i]->var) < 0)
            return false;
    return true;
}

/* An instance of the block is in the same iteration of the loop before and after: the iterators
 * that speak of it are bound as they were. */
static bool loop_counts_alike(const BlockStmt *before, const BlockStmt *after, const Var *loop)
{
    for (int i = 0; i < before->n_iters; i++) {
        const Expr *old = before->iters[i].binding, *new = after->iters[i].binding;
        if ((expr_uses_var(old, loop) || expr_uses_var(new, loop)) && !expr_equal(old, new))
            return false;
    }
    return true;
}

/* Rows: `a` before and `b` after the rewrite are one instance: the same iterators, and the same
 * values of the loops that both have (a block may run more than once with equal iterators). */
static void match_instances(Poly *p, const Instance *a, const Instance *b)
{
    const BlockStmt *before = a->unit->block, *after = b->unit->block;
    for (int i = 0; i < before->n_iters; i++)
        poly_equal(p, &p->top, a->iters[i], b->iters[i]);
    for (int i = 0; i < b->unit->n_loops; i++) {
        const Var *loop = b->unit->loops[i]->var;
        int old = b->unit->absent[i] ? -1 : find_loop(a->unit, loop);
        if (old >= 0 && loop_counts_alike(before, after, loop))
            poly_equal(p, &p->top, a->loops[old], b->loops[i]);
    }
}

typedef struct {
    Poly *p;
    const Unit *a, *b;         /* before */
    const Unit *new_a, *new_b; /* after */
    const Bounds *distance;    /* of b from a */
    int n_private;             /* the first loops: the buffer belongs to one iteration of them */
    Conflict *why;             /* NULL: yes or no is enough */
} OrderPair;

/* The distance of b from a in loop `i` of the new order, where `a` comes before `b` at `level` of
 * the old one; none where that says nothing of the loop. */
static Bounds new_distance(const OrderPair *o, int level, int i)
{
    const ForStmt *loop = o->new_a->loops[i];
    int old = find_loop(o->a, loop->var);
    if (old < 0 || old != find_loop(o->b, loop->var) || old >= units_common(o->a, o->b))
        return bounds_none();
    Bounds distance = o->distance[old];
    if (old < level)
        distance = (Bounds){0, 0};
    else if (old == level && distance.min < 1)
        distance.min = 1;
    return bounds_scale(distance, (loop->step > 0) == (o->a->loops[old]->step > 0) ? 1 : -1);
}

/* Where `a` comes before `b` at `level`, it may come after it in the new order, by the distance
 * alone. */
static bool may_turn(const OrderPair *o, int level)
{
    int n = units_common(o->new_a, o->new_b);
    if (!loops_all_from(o->new_a, o->a) || !loops_all_from(o->new_b, o->b))
        return true;
    for (int i = 0; i < n; i++) {
        Bounds distance = new_distance(o, level, i);
        if (distance.min != 0)
            return distance.min < 0;
    }
    return o->new_b->order < o->new_a->order;
}

/* The order is kept at all levels, by the distance alone. */
static bool distance_keeps(const OrderPair *o)
{
    for (int level = 0; level <= units_common(o->a, o->b); level++)
        if (units_may_precede(o->a, o->b, (Precedence){.level = level, .distance = o->distance}) &&
            may_turn(o, level))
            return false;
    return true;
}

/* Why the second of a pair must not run before the first, as a sentence in the arena. */
static const char *turned_reason(Context *c, const AccessPair *pair)
{
    const Access *x = pair->x, *y = pair->y;
    if (x->combiner && x->combiner == y->combiner && x->combiner->ordered)
        return arena_printf(c->arena,
                            "the second would run before the first, but reducer '%s' is ordered: "
                            "'%s' combines its values in the order of the program",
                            x->combiner->name, x->buffer->name);
    return arena_printf(c->arena, "the second would run before the first, which %s '%s' %s",
                        x->writes ? "writes the element of" : "still reads the element of",
                        x->buffer->name,
                        y->writes ? "that the second overwrites" : "that it reads");
}

/* No instance where x comes before y at `level`, and after it in the new order. */
static bool level_kept(OrderPair *o, AccessPair pair, int level)
{
    Poly *p = o->p;
    Precedence before = {.level = level, .distance = o->distance};
    if (!may_turn(o, level) || !instance_precedes(p, pair.a, pair.b, before) ||
        poly_solve(p, NULL, 0, NULL) == POLY_NONE)
        return true;
    Instance new_a = instance_new(p, o->new_a), new_b = instance_new(p, o->new_b);
    match_instances(p, pair.a, &new_a);
    match_instances(p, pair.b, &new_b);
    PolyMark mark = poly_mark(p);
    const char *reason = turned_reason(p->ctx, &pair);
    const Bounds *distance = instances_distance(p, &new_b, &new_a);
    for (int i = 0; distance && i <= units_common(o->new_a, o->new_b); i++) {
        poly_reset(p, mark);
        if (!instance_precedes(p, &new_b, &new_a, (Precedence){.level = i, .distance = distance}))
            continue;
        if (o->why ? !conflict_none(p, pair, reason, o->why)
                   : poly_solve(p, NULL, 0, NULL) != POLY_NONE)
            return false;
    }
    return true;
}

static bool accesses_kept(OrderPair *o, const Access *x, const Access *y)
{
    Poly *p = o->p;
    o->distance = accesses_distance(p->ctx, &(AccessOf){.unit = o->a, .access = x},
                                    &(AccessOf){.unit = o->b, .access = y});
    if (!o->distance || distance_keeps(o))
        return true;
    PolyMark start = poly_mark(p);
    Instance a = instance_new(p, o->a), b = instance_new(p, o->b);
    AccessPair pair = {&a, x, &b, y};
    pair_collide(p, pair);
    PolyMark mark = poly_mark(p);
    bool kept = true;
    o->distance = instances_distance(p, &a, &b);
    for (int level = o->n_private; o->distance && level <= units_common(o->a, o->b) && kept;
         level++) {
        kept = level_kept(o, pair, level);
        poly_reset(p, mark);
    }
    poly_reset(p, start);
    return kept;
}

/* x then y are updates by one operator, of one reduction or of two: they may change places, which
 * rounds differently in floats, unless a block declares their order. What else the blocks read or
 * write of the buffer are other pairs. */
static bool reduction_pair(const Unit *a, const Access *x, const Unit *b, const Access *y)
{
    return !block_in_order(a->block) && !block_in_order(b->block) && accesses_commute(x, y);
}

static bool rounds(const Access *x)
{
    return type_is_float(x->buffer->type) &&
           (x->op == STORE_ADD || x->op == STORE_MUL || x->combiner);
}

static bool has_loop(const StmtList *loops, const Var *var)
{
    for (int i = 0; i < loops->n; i++)
        if (loops->items[i]->u.loop.var == var)
            return true;
    return false;
}

/* How many of the first loops of both units a buffer is declared in, before and after the rewrite,
 * that run in order. Different iterations of these have different buffers. */
static int private_loops(const OrderPair *o, const Buffer *buffer, const Model *before,
                         const Model *after)
{
    const InnerBuffer *old = model_inner_buffer(before, buffer),
                      *new = model_inner_buffer(after, buffer);
    int n = 0;
    while (old && new &&n < old->loops.n && n < units_common(o->a, o->b) &&
           loop_has_order(&old->loops.items[n]->u.loop) &&
           has_loop(&new->loops, old->loops.items[n]->u.loop.var))
        n++;
    return n;
}

static bool order_kept(Poly *p, Model *before, const Model *after, bool *reassociates,
                       Conflict *why)
{
    for (Pairs at = pairs_all(before); pairs_next(&at);) {
        OrderPair o = {
            .p = p, .a = model_unit(before, at.a), .b = model_unit(before, at.b), .why = why};
        bool reduction = reduction_pair(o.a, at.x, o.b, at.y);
        if ((reduction && (*reassociates || !rounds(at.x))) || accesses_store_alike(at.x, at.y))
            continue;
        o.new_a = same_unit(after, o.a);
        o.new_b = same_unit(after, o.b);
        o.n_private = private_loops(&o, at.x->buffer, before, after);
        if (reduction)
            o.why = NULL;
        bool kept = !o.new_a || !o.new_b || accesses_kept(&o, at.x, at.y);
        if (!kept && !reduction)
            return false;
        *reassociates |= !kept;
    }
    return true;
}

bool dependence_order_kept(Context *c, Rewrite rewrite, bool *reassociates, Conflict *why)
{
    ArenaMark mark = arena_mark(c->arena);
    Poly *p = poly_new(c);
    Model *old = model_new(c, rewrite.kernel, rewrite.before, (Stmt *)rewrite.before);
    Model *new = model_new(c, rewrite.kernel, rewrite.before, rewrite.after);
    model_enter(old, p);
    bool kept = order_kept(p, old, new, reassociates, why);
    if (kept)
        arena_reset(c->arena, mark);
    return kept;
}

/* ---- instances kept -------------------------------------------------------------------------- */

/* The values of (sizes and outer loops, iterators) that a unit's instances have. */
static isl_set *unit_instances(Poly *p, const Unit *u, bool *exact)
{
    PolyMark mark = poly_mark(p);
    int n_fixed = p->fixed.n, n = n_fixed + u->block->n_iters;
    p->inexact = p->lost = false;
    Instance at = instance_new(p, u);
    Affine *forms = ARENA_ARRAY(p->ctx->arena, Affine, n);
    for (int i = 0; i < n; i++)
        forms[i] = i < n_fixed ? p->fixed.items[i].value : at.iters[i - n_fixed];
    isl_set *set = poly_image(p, forms, n, exact);
    poly_reset(p, mark);
    return set;
}

static const char *values_text(Poly *p, const Unit *u, const int64_t *values)
{
    StrBuf out = strbuf_new(p->ctx->arena);
    for (int i = 0, n_fixed = p->fixed.n; i < n_fixed + u->block->n_iters; i++) {
        const Var *var = i < n_fixed ? p->fixed.items[i].var : u->block->iters[i - n_fixed].var;
        point_print(&out, var->name, values[i]);
    }
    return out.text ? out.text : "";
}

/* The set `rest` (taken) of instances is empty; else says which is in it. */
static bool none_left(Poly *p, const Unit *u, isl_set *rest, const char *reason, Conflict *why)
{
    int n = p->fixed.n + u->block->n_iters;
    int64_t *values = ARENA_ARRAY(p->ctx->arena, int64_t, n);
    bool spent;
    bool some = poly_set_point(rest, values, n, &spent);
    isl_set_free(rest);
    if (spent)
        *why = conflict_of_unit(u, "", "not proved: the analysis budget was spent");
    else if (some)
        *why = conflict_of_unit(u, values_text(p, u, values), reason);
    return !spent && !some;
}

static bool runs_once(Poly *p, const Unit *u, Conflict *why)
{
    PolyMark mark = poly_mark(p);
    Instance a = instance_new(p, u), b = instance_new(p, u);
    for (int i = 0; i < u->block->n_iters; i++)
        poly_equal(p, &p->top, a.iters[i], b.iters[i]);
    poly_differ(p, &p->top, a.loops, b.loops, u->n_loops);
    int64_t *point;
    Answer answer = poly_solve(p, a.loops, u->n_loops, &point);
    const char *at = answer == POLY_SOME ? instance_text(p, &a, point) : "";
    if (answer != POLY_NONE)
        *why =
            conflict_of_unit(u, at,
                             answer == POLY_SOME ? "this instance would run more than once"
                                                 : "not proved: each instance runs exactly once");
    poly_reset(p, mark);
    return answer == POLY_NONE;
}

/* The conditions on the instances of a block before and after. */
typedef struct {
    bool all;  /* those before still run */
    bool once; /* none runs twice */
} Kept;

static isl_set *without(isl_set *set, isl_set *part)
{
    return isl_set_subtract(isl_set_copy(set), isl_set_copy(part));
}

/* Each iterator is a loop of its own, through all of the iterator's domain, and there is nothing
 * else around the block. */
static bool runs_domain(const Unit *u)
{
    const BlockStmt *b = u->block;
    bool plain = !b->predicate && u->scopes.n == b->n_iters && u->n_loops == b->n_iters;
    for (int i = 0; i < b->n_iters && plain; i++) {
        const BlockIter *iter = &b->iters[i];
        int loop = iter->binding->kind == EX_VAR ? find_loop(u, iter->binding->u.var) : -1;
        plain = loop >= 0 && u->loops[loop]->step == 1 && expr_of_sizes(iter->lo) &&
                expr_of_sizes(iter->hi) && expr_equal(u->loops[loop]->lo, iter->lo) &&
                expr_equal(u->loops[loop]->hi, iter->hi);
        for (int k = 0; k < i; k++)
            plain = plain && b->iters[k].binding->u.var != iter->binding->u.var;
    }
    return plain;
}

/* Whatever runs after lies in the domain, and all of that ran before. */
static bool domain_ran(const Unit *before, const Unit *after)
{
    bool same = runs_domain(before) && before->block->n_iters == after->block->n_iters;
    for (int i = 0; i < before->block->n_iters && same; i++) {
        const BlockIter *old = &before->block->iters[i], *new = &after->block->iters[i];
        same = expr_equal(old->lo, new->lo) && expr_equal(old->hi, new->hi);
    }
    return same;
}

/* Each instance of `of` is one of `in`, whose loops can be computed. False may be wrong. */
static bool plainly_includes(Poly *p, const Unit *in, const Unit *of)
{
    PolyMark start = poly_mark(p);
    Instance at = instance_new(p, of);
    PolyMark mark = poly_mark(p);
    p->inexact = false;
    instance_again(p, in, &at);
    int n = p->top.rows.n - mark.rows;
    Row *rows = ARENA_ARRAY(p->ctx->arena, Row, n);
    for (int i = 0; i < n; i++)
        rows[i] = p->top.rows.items[mark.rows + i];
    p->top.rows.n = mark.rows;
    bool exact = !p->inexact && p->top.choices.n == mark.choices && p->fixed.n == mark.fixed;
    bool included = exact && poly_extend(p, rows, n, mark.columns, NULL, 0) == 0;
    poly_reset(p, start);
    return included;
}

/* The exact sets of instances decide, which takes long, and tells of one that is not kept. */
static bool sets_kept(Poly *p, const Unit *u, const Unit *new, Kept how, Conflict *why)
{
    bool exact, new_exact;
    arena_begin_lenient(p->ctx->arena);
    isl_set *old_set = unit_instances(p, u, &exact);
    isl_set *new_set = unit_instances(p, new, &new_exact);
    bool kept = true;
    if (!old_set || !new_set || !exact || !new_exact) {
        *why =
            conflict_of_unit(u, "", "not proved: bounds or bindings of the block are not affine");
        kept = false;
    }
    kept = kept &&
           (!how.all ||
            none_left(p, u, without(old_set, new_set), "this instance would no longer run", why)) &&
           none_left(p, u, without(new_set, old_set), "this instance would run, but did not before",
                     why);
    isl_set_free(old_set);
    isl_set_free(new_set);
    arena_end_lenient(p->ctx->arena);
    return kept;
}

static bool unit_kept(Poly *p, const Unit *u, const Model *after, Kept how, Conflict *why)
{
    const Unit *new = same_unit(after, u);
    if (!new) {
        *why = conflict_of_unit(u, "", "the block would not run at all");
        return false;
    }
    if (!how.all && !how.once && domain_ran(u, new))
        return true;
    bool plain = plainly_includes(p, u, new) && (!how.all || plainly_includes(p, new, u));
    return (plain || sets_kept(p, u, new, how, why)) && (!how.once || runs_once(p, new, why));
}

static bool instances_kept(Context *c, Rewrite rewrite, uint32_t block, Kept how, Conflict *why)
{
    ArenaMark mark = arena_mark(c->arena);
    Poly *p = poly_new(c);
    Model *old = model_new(c, rewrite.kernel, rewrite.before, (Stmt *)rewrite.before);
    Model *new = model_new(c, rewrite.kernel, rewrite.before, rewrite.after);
    model_enter(old, p);
    bool kept = true;
    for (int i = 0; i < old->units.n && kept; i++)
        if (!old->units.items[i]->init && (block == 0 || old->units.items[i]->block->id == block))
            kept = unit_kept(p, old->units.items[i], new, how, why);
    if (kept)
        arena_reset(c->arena, mark);
    return kept;
}

bool dependence_instances_kept(Context *c, Rewrite rewrite, uint32_t block, Conflict *why)
{
    return instances_kept(c, rewrite, block, (Kept){.all = true, .once = true}, why);
}

bool dependence_instances_within(Context *c, Rewrite rewrite, uint32_t block, Conflict *why)
{
    return instances_kept(c, rewrite, block, (Kept){0}, why);
}

/* ---- one loop -------------------------------------------------------------------------------- */

/* Each iteration of the root loop has a buffer of its own: one declared inside. Where the
 * iterations are to become threads, it has to be one that a thread can have. */
static bool is_inside(const Model *m, const Buffer *buffer, bool threads)
{
    return (!threads || private_scope(buffer, AXIS_THREAD_X) == SCOPE_LOCAL) &&
           model_inner_buffer(m, buffer);
}

/* No x in an iteration of the root loop and y in a later one touch the same element. */
static bool accesses_carry_none(Poly *p, const Pairs *at, const char *reason, Conflict *why)
{
    const Unit *a = model_unit(at->model, at->a), *b = model_unit(at->model, at->b);
    const Bounds *distance = accesses_distance(p->ctx, &(AccessOf){.unit = a, .access = at->x},
                                               &(AccessOf){.unit = b, .access = at->y});
    if (!distance || distance[0].max <= 0)
        return true;
    unit_assume_runs(p, a);
    unit_assume_runs(p, b);
    Instance at_a = instance_new(p, a), at_b = instance_new(p, b);
    AccessPair pair = {&at_a, at->x, &at_b, at->y};
    pair_collide(p, pair);
    instance_precedes(p, &at_a, &at_b, (Precedence){.level = 0});
    return conflict_none(p, pair, reason, why);
}

typedef struct {
    bool atomic_counts;    /* atomic updates by one operator may collide */
    bool reduction_counts; /* so may all updates of one block by one operator */
    bool reduction_seen;
    bool threads; /* the iterations are to run on threads */
    const char *reason;
} CarryQuestion;

/* The pair may meet in different iterations. */
static bool may_carry(const CarryQuestion *q, const Pairs *at)
{
    return !is_inside(at->model, at->x->buffer, q->threads) &&
           !(q->atomic_counts && at->x->atomic && at->y->atomic && accesses_commute(at->x, at->y));
}

static bool carries_none(Context *c, const Kernel *kernel, Stmt *loop, CarryQuestion *q,
                         Conflict *why)
{
    Poly *p = poly_new(c);
    /* what is parallel gets bound next, which asks more about the same pairs */
    c->solver->work_left /= 8;
    Model *m = model_new(c, kernel, loop, loop);
    model_enter(m, p);
    for (Pairs at = pairs_all(m); pairs_next(&at);) {
        const Unit *a = model_unit(m, at.a), *b = model_unit(m, at.b);
        if (units_common(a, b) == 0 || !may_carry(q, &at))
            continue;
        PolyPart part = poly_begin(p);
        bool none = accesses_carry_none(p, &at, q->reason, why);
        if (!none && !(q->reduction_counts && reduction_pair(a, at.x, b, at.y)))
            return false;
        q->reduction_seen |= !none;
        poly_end(p, &part);
    }
    return true;
}

/* No x of unit a comes before a y of unit b, an init, and touches the same element. */
static bool access_comes_after(Poly *p, const Pairs *at, Conflict *why)
{
    const Unit *a = model_unit(at->model, at->a), *b = model_unit(at->model, at->b);
    Instance at_a = instance_new(p, a), at_b = instance_new(p, b);
    AccessPair pair = {&at_a, at->x, &at_b, at->y};
    pair_collide(p, pair);
    const char *reason = arena_printf(
        p->ctx->arena, "the second, an init, would run before the first, which %s the element",
        at->x->writes ? "writes" : "still reads");
    return conflict_none_before(p, pair, (Precedence){.level = 0}, reason, why);
}

/* The unit that is the init of the block; -1 where that runs outside of the model. */
static int init_unit(const Model *m, const Stmt *block)
{
    for (int i = 0; i < m->units.n; i++)
        if (m->units.items[i]->init && model_unit(m, i)->stmt == block)
            return i;
    return -1;
}

/* Nothing of unit `a` comes before the init and touches the same element. */
static bool unit_comes_after(Poly *p, Model *m, int a, int init, Conflict *why)
{
    for (Pairs at = pairs_of(m, a, init); pairs_next(&at);) {
        PolyPart part = poly_begin(p);
        if (!access_comes_after(p, &at, why))
            return false;
        poly_end(p, &part);
    }
    return true;
}

bool dependence_init_may_run_first(Context *c, const Kernel *kernel, Stmt *loop, const Stmt *block,
                                   Conflict *why)
{
    ArenaMark mark = arena_mark(c->arena);
    Poly *p = poly_new(c);
    Model *m = model_new(c, kernel, loop, loop);
    model_enter(m, p);
    int init = init_unit(m, block);
    bool first = true;
    for (int i = 0; i < m->units.n && init >= 0 && first; i++)
        first = unit_comes_after(p, m, i, init, why);
    if (first)
        arena_reset(c->arena, mark);
    return first;
}

/* The values of the loops. An instance that has none of one of them runs for each of its values. */
static Affine *values_of_loops(Poly *p, const Instance *at, const InitNest *nest)
{
    Affine *values = ARENA_ARRAY(p->ctx->arena, Affine, nest->n_loops + 1);
    for (int i = 0; i < nest->n_loops; i++) {
        int loop = find_loop(at->unit, nest->loops[i]);
        values[i] = loop < 0 ? poly_unknown(p) : at->loops[loop];
    }
    return values;
}

bool dependence_inits_meet_within(Context *c, const InitNest *nest, const Stmt *a, const Stmt *b,
                                  Conflict *why)
{
    Poly *p = poly_new(c);
    Model *m = model_new(c, nest->kernel, nest->root, nest->root);
    model_enter(m, p);
    int first = init_unit(m, a), second = init_unit(m, b);
    if (first < 0 || second < 0)
        return true;
    for (Pairs at = pairs_of(m, first, second); pairs_next(&at);) {
        PolyPart part = poly_begin(p);
        Instance at_a = instance_new(p, model_unit(m, first)),
                 at_b = instance_new(p, model_unit(m, second));
        AccessPair pair = {&at_a, at.x, &at_b, at.y};
        pair_collide(p, pair);
        poly_differ(p, &p->top, values_of_loops(p, &at_a, nest), values_of_loops(p, &at_b, nest),
                    nest->n_loops);
        if (!conflict_none(p, pair, "the two would no longer run completely one after the other",
                           why))
            return false;
        poly_end(p, &part);
    }
    return true;
}

static Stmt *find_loop_in(Context *c, const Kernel *kernel, uint32_t id)
{
    Stmt *loop = stmt_find(c, kernel->body, id, NULL);
    if (!loop)
        TIRC_BUG(c, "dependence question about loop %u, which is not in the kernel", id);
    return loop;
}

bool dependence_loop_carries_none(Context *c, const Kernel *kernel, uint32_t loop_id,
                                  bool *only_reduction, Conflict *why)
{
    ArenaMark mark = arena_mark(c->arena);
    Stmt *loop = find_loop_in(c, kernel, loop_id);
    CarryQuestion q = {.reduction_counts = true, .threads = true};
    q.reason = arena_printf(c->arena, "iterations of loop '%s' depend on earlier ones",
                            loop->u.loop.var->name);
    bool none = carries_none(c, kernel, loop, &q, why);
    *only_reduction = q.reduction_seen;
    if (none)
        arena_reset(c->arena, mark);
    return none;
}

bool dependence_loop_is_parallel(Context *c, const Kernel *kernel, uint32_t loop_id, LoopKind kind,
                                 Conflict *why)
{
    ArenaMark mark = arena_mark(c->arena);
    Stmt *loop = find_loop_in(c, kernel, loop_id);
    CarryQuestion q = {.atomic_counts = kind == LOOP_PARALLEL};
    q.reason = arena_printf(
        c->arena, "iterations of loop '%s' would run %s, so these two accesses would have no order",
        loop->u.loop.var->name,
        kind == LOOP_PARALLEL ? "at the same time" : "together as one vector operation");
    bool none = carries_none(c, kernel, loop, &q, why);
    if (none)
        arena_reset(c->arena, mark);
    return none;
}
