/* instance.c - Builds statement instances: columns and rows for the iterations of a statement, and
 * rows that relate two instances. See model.h. */
#include "passes/analysis/dependence/model.h"

/* ---- instances ------------------------------------------------------------------------------- */

/* A loop's variable: lo + step * t for a column t >= 0, which is the variable itself for step 1. */
static Affine enter_loop(Poly *p, Env *env, const ForStmt *loop)
{
    Affine lo = poly_value(p, env, loop->lo), hi = poly_value(p, env, loop->hi), value;
    if (loop->step == 1) {
        value = poly_between(p, env, lo, hi);
    } else {
        Affine t = poly_column(p, 0, INT64_MAX, env == &p->fixed);
        poly_not_negative(p, &p->top, t);
        value = poly_add(p, lo, t, loop->step);
        if (loop->step > 0)
            poly_at_most(p, &p->top, value, hi, -1);
        else
            poly_at_most(p, &p->top, hi, value, 0);
    }
    p->inexact |= loop->kind == LOOP_BREAKS; /* data decide which of its iterations run */
    VEC_PUSH(p->ctx->arena, env, ((Meaning){loop->var, value, false}));
    return value;
}

/* A value that depends on data makes the system inexact where it is used. */
void model_enter_let(Poly *p, Env *env, const Stmt *s)
{
    bool inexact = p->inexact, lost = p->lost;
    p->lost = false;
    Meaning own = {.var = s->u.let.var, .value = poly_value(p, env, s->u.let.value)};
    own.unknown = p->lost;
    p->inexact = own.unknown ? inexact : p->inexact;
    p->lost = lost;
    VEC_PUSH(p->ctx->arena, env, own);
}

void model_enter_scope(Poly *p, Env *env, Enclosing scope)
{
    const Stmt *s = scope.stmt;
    if (s->kind == ST_FOR)
        enter_loop(p, env, &s->u.loop);
    else if (s->kind == ST_IF)
        poly_assume(p, &p->top, env, s->u.cond.cond, scope.otherwise ? HOLDS_NOT : HOLDS);
    else if (s->kind == ST_LET && type_is_int(s->u.let.var->type) && !expr_has_load(s->u.let.value))
        model_enter_let(p, env, s);
}

void model_enter(const Model *m, Poly *p)
{
    for (int i = 0; i < m->kernel->n_sizes; i++)
        if (m->kernel->sizes[i].symbolic)
            poly_size(p, m->kernel->sizes[i].var);
    for (int i = 0; i < m->kernel->n_params; i++) { /* they decide about instances, as sizes do */
        const Var *scalar = m->kernel->params[i].scalar;
        if (scalar && type_is_int(scalar->type))
            poly_size(p, scalar);
    }
    poly_assume_where(p, m->kernel);
    for (int i = 0; i < m->outer.n; i++) {
        Enclosing scope = m->outer.items[i];
        if (scope.stmt->kind == ST_IF && expr_of_sizes(scope.stmt->u.cond.cond))
            poly_assume_around(p, scope.stmt->u.cond.cond, scope.otherwise ? HOLDS_NOT : HOLDS);
        else
            model_enter_scope(p, &p->fixed, scope);
    }
}

static bool absent_in(const Unit *u, const Expr *e)
{
    for (int i = 0; i < u->n_loops; i++)
        if (u->absent[i] && expr_uses_var(e, u->loops[i]->var))
            return true;
    return false;
}

/* An expression of sizes, and of the first n loops of the unit that it runs in. */
static bool of_loops(Context *c, const Unit *unit, int n, const Expr *e)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        int i = 0;
        if (at.expr->kind != EX_VAR || at.expr->u.var->kind == VAR_SIZE)
            continue;
        while (i < n && unit->loops[i]->var != at.expr->u.var)
            i++;
        if (i == n || unit->absent[i])
            return false;
    }
    return true;
}

/* What is known of an instance that is to be built: `like` is in the same iteration of the first n
 * loops, or of the same block with the same iterators. */
typedef struct {
    const Instance *like; /* NULL: nothing */
    int n;
    bool same;
} Known;

/* Data decide the domain of the iterator, and `like`, which exists in the same iteration of the
 * first n loops, has the same one: its own then holds, too. */
static bool shares_domain(Context *c, const Instance *at, const BlockIter *iter, Known k)
{
    const BlockStmt *mine = at->unit->block, *other = k.like->unit->block;
    Expr *lo = iters_to_loops(c, mine, iter->lo), *hi = iters_to_loops(c, mine, iter->hi);
    for (const Unit *const *u = (const Unit *const[]){at->unit, k.like->unit, NULL}; *u; u++)
        if (!of_loops(c, *u, k.n, lo) || !of_loops(c, *u, k.n, hi) ||
            !of_loops(c, *u, k.n, iter->binding))
            return false;
    for (int i = 0; i < other->n_iters; i++) {
        const BlockIter *its = &other->iters[i];
        if (!(k.like->unit->init && its->kind == ITER_REDUCE) &&
            expr_equal(its->binding, iter->binding) &&
            expr_equal(iters_to_loops(c, other, its->lo), lo) &&
            expr_equal(iters_to_loops(c, other, its->hi), hi))
            return true;
    }
    return false;
}

/* The domain of iterator i holds because that of `like` does: data decide it, so that its bounds
 * would be unknown numbers. */
static bool domain_holds(Context *c, const Instance *at, int i, Known k)
{
    const BlockIter *iter = &at->unit->block->iters[i];
    if (!k.like || (!expr_has_load(iter->lo) && !expr_has_load(iter->hi)))
        return false;
    if (!k.same)
        return shares_domain(c, at, iter, k);
    const BlockIter *old = &k.like->unit->block->iters[i];
    return expr_equal(iter->lo, old->lo) && expr_equal(iter->hi, old->hi);
}

/* Values and domains of the iterators; an init knows nothing of reduce iterators. */
static void enter_iters(Poly *p, Instance *at, Known k)
{
    const BlockStmt *b = at->unit->block;
    Affine *iters = ARENA_ARRAY(p->ctx->arena, Affine, b->n_iters);
    for (int i = 0; i < b->n_iters; i++) {
        const BlockIter *iter = &b->iters[i];
        if (at->unit->init && iter->kind == ITER_REDUCE) {
            iters[i] = affine_const(0);
            continue;
        }
        iters[i] = poly_value(p, &at->env, iter->binding);
    }
    for (int i = 0; i < b->n_iters; i++) {
        const BlockIter *iter = &b->iters[i];
        if (at->unit->init && iter->kind == ITER_REDUCE)
            continue;
        if (!domain_holds(p->ctx, at, i, k)) {
            poly_at_most(p, &p->top, poly_value(p, &at->env, iter->lo), iters[i], 0);
            Affine hi = poly_value(p, &at->env, iter->hi);
            poly_at_most(p, &p->top, iters[i], hi, -1);
            poly_quotient_below(p, iters[i], hi);
        }
        VEC_PUSH(p->ctx->arena, &at->env, ((Meaning){iter->var, iters[i], false}));
    }
    at->iters = iters;
}

/* The conjuncts of a condition that an init has values for. */
static void assume_known(Poly *p, const Instance *at, const Expr *cond)
{
    if (cond->kind == EX_AND) {
        assume_known(p, at, cond->u.arg[0]);
        assume_known(p, at, cond->u.arg[1]);
    } else if (!absent_in(at->unit, cond)) {
        poly_assume(p, &p->top, &at->env, cond, HOLDS);
    }
}

static void assume_branch(Poly *p, const Instance *at, Enclosing branch)
{
    const Expr *cond = branch.stmt->u.cond.cond;
    if (!branch.otherwise)
        assume_known(p, at, cond);
    else if (!absent_in(at->unit, cond))
        poly_assume(p, &p->top, &at->env, cond, HOLDS_NOT);
}

void unit_assume_runs(Poly *p, const Unit *unit)
{
    for (int i = 0; i < unit->block->n_iters; i++) {
        const BlockIter *iter = &unit->block->iters[i];
        if ((unit->init && iter->kind == ITER_REDUCE) || !expr_of_sizes(iter->lo) ||
            !expr_of_sizes(iter->hi))
            continue;
        Affine extent =
            poly_add(p, poly_value(p, &p->fixed, iter->hi), poly_value(p, &p->fixed, iter->lo), -1);
        poly_raise_positive(p, extent);
    }
}

/* Maps a value of the loop's variable to a form that grows from iteration to iteration. */
static Affine turn_of(Poly *p, const ForStmt *loop, Affine value)
{
    return loop->step > 0 ? value : poly_add(p, affine_const(0), value, -1);
}

/* A loop of an instance: fresh, or in the same iteration as that of `like`. */
static void add_loop(Poly *p, Instance *at, const ForStmt *loop, const Instance *like)
{
    int i = at->n_loops++;
    at->loops[i] = at->turns[i] = affine_const(0);
    if (at->unit->absent[i])
        return;
    if (like)
        VEC_PUSH(p->ctx->arena, &at->env, ((Meaning){loop->var, like->loops[i], false}));
    at->loops[i] = like ? like->loops[i] : enter_loop(p, &at->env, loop);
    at->turns[i] = turn_of(p, loop, at->loops[i]);
}

static Instance build(Poly *p, const Unit *unit, Known k)
{
    Arena *arena = p->ctx->arena;
    Instance at = {.unit = unit,
                   .loops = ARENA_ARRAY(arena, Affine, unit->n_loops),
                   .turns = ARENA_ARRAY(arena, Affine, unit->n_loops)};
    for (int i = 0; i < unit->scopes.n; i++) {
        Enclosing scope = unit->scopes.items[i];
        if (scope.stmt->kind == ST_IF)
            assume_branch(p, &at, scope);
        if (scope.stmt->kind == ST_FOR)
            add_loop(p, &at, &scope.stmt->u.loop, at.n_loops < k.n ? k.like : NULL);
    }
    if (unit->block->predicate)
        assume_known(p, &at, unit->block->predicate);
    enter_iters(p, &at, k);
    return at;
}

Instance instance_new(Poly *p, const Unit *unit)
{
    return build(p, unit, (Known){0});
}

Instance instance_within(Poly *p, const Unit *unit, const Instance *like, int n_shared)
{
    return build(p, unit, (Known){.like = like, .n = n_shared});
}

Instance instance_again(Poly *p, const Unit *unit, const Instance *like)
{
    Instance at = build(p, unit, (Known){.like = like, .same = true});
    for (int i = 0; i < unit->block->n_iters; i++)
        poly_equal(p, &p->top, at.iters[i], like->iters[i]);
    return at;
}

/* What is known where an instance accesses an element. */
static Env env_of_access(Poly *p, const Instance *at, const Access *access)
{
    Env env = {0};
    VEC_APPEND(p->ctx->arena, &env, at->env.items, at->env.n);
    for (int i = 0; i < access->path.n; i++)
        model_enter_scope(p, &env, access->path.items[i]);
    return env;
}

/* The subscript of one axis. */
static Affine index_of_axis(Poly *p, const Env *env, const Access *access, int i)
{
    bool before = p->inexact;
    p->inexact = false;
    Affine index = poly_value(p, env, access->index[i]);
    if (p->inexact) {
        poly_not_negative(p, &p->top, index);
        poly_at_most(p, &p->top, index, poly_value(p, &p->fixed, access->buffer->shape[i]), -1);
    }
    p->inexact |= before;
    return index;
}

const Affine *instance_index(Poly *p, const Instance *at, const Access *access)
{
    Env env = env_of_access(p, at, access);
    int rank = access->buffer->rank;
    Affine *index = ARENA_ARRAY(p->ctx->arena, Affine, rank);
    for (int i = 0; i < rank; i++)
        index[i] = index_of_axis(p, &env, access, i);
    return index;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

int units_common(const Unit *a, const Unit *b)
{
    int n = 0;
    while (n < a->n_time && n < b->n_time && a->loops[n] == b->loops[n])
        n++;
    return n;
}

const Bounds *instances_distance(Poly *p, const Instance *a, const Instance *b)
{
    int n = units_common(a->unit, b->unit);
    Affine *apart = ARENA_ARRAY(p->ctx->arena, Affine, n);
    Bounds *distance = ARENA_ARRAY(p->ctx->arena, Bounds, n + 1);
    for (int i = 0; i < n; i++)
        apart[i] = poly_add(p, b->turns[i], a->turns[i], -1);
    return poly_ranges(p, apart, n, distance) ? distance : NULL;
}

const Bounds *distance_reversed(Context *c, const Bounds *distance, int n)
{
    Bounds *reversed = ARENA_ARRAY(c->arena, Bounds, n + 1);
    for (int i = 0; i < n; i++)
        reversed[i] = bounds_scale(distance[i], -1);
    return reversed;
}

/* The loop has an order of iterations that counts. */
static bool compares_loop(const Unit *u, int i, Precedence by)
{
    return !(by.any && by.any[i]) && (!by.serial || loop_has_order(u->loops[i]));
}

/* The known distances leave this order. */
static bool distance_allows(const Unit *a, const Unit *b, Precedence by)
{
    if (!by.distance)
        return true;
    for (int i = by.from; i < by.level; i++)
        if (compares_loop(a, i, by) && (by.distance[i].min > 0 || by.distance[i].max < 0))
            return false;
    return by.level == units_common(a, b) || by.distance[by.level].max > 0;
}

/* The orders that do not depend on iterations. */
static bool text_allows(const Unit *a, const Unit *b, Precedence by)
{
    if (by.level < units_common(a, b))
        return by.carried || compares_loop(a, by.level, by);
    return a->order < b->order || (by.ties && a->order == b->order);
}

bool units_may_precede(const Unit *a, const Unit *b, Precedence by)
{
    return text_allows(a, b, by) && distance_allows(a, b, by);
}

bool instance_precedes(Poly *p, const Instance *a, const Instance *b, Precedence by)
{
    if (!units_may_precede(a->unit, b->unit, by))
        return false;
    for (int i = by.from; i < by.level; i++)
        if (compares_loop(a->unit, i, by))
            poly_equal(p, &p->top, a->turns[i], b->turns[i]);
    if (by.level < units_common(a->unit, b->unit))
        poly_at_most(p, &p->top, a->turns[by.level], b->turns[by.level], -1);
    return true;
}

Affine instance_first_turn(Poly *p, const Instance *at, int i)
{
    const ForStmt *loop = at->unit->loops[i];
    return turn_of(p, loop, poly_value(p, &at->env, loop->lo));
}

/* Rows: two stores to one element by a block that is marked are of one instance, or of two that
 * differ in an iterator that the mark is not about. Outside of global memory, iterations of a loop
 * may share an element that is several of the program's, so the mark does not count there. */
static void be_one_of_distinct(Poly *p, AccessPair pair)
{
    const Unit *u = pair.a->unit;
    int n = block_distinct(u->block), first = u->block->n_iters - n;
    if (n == 0 || u->init || pair.b->unit->init || u->block->id != pair.b->unit->block->id ||
        !pair.x->writes || !pair.y->writes || pair.x->buffer->scope != SCOPE_GLOBAL)
        return;
    Conj *one = &p->top;
    if (first > 0) {
        Conj **which = poly_choice(p, &p->top, 2);
        poly_differ(p, which[0], pair.a->iters, pair.b->iters, first);
        one = which[1];
    }
    for (int i = first; i < u->block->n_iters; i++)
        poly_equal(p, one, pair.a->iters[i], pair.b->iters[i]);
}

void pair_collide(Poly *p, AccessPair pair)
{
    Env at_x = env_of_access(p, pair.a, pair.x), at_y = env_of_access(p, pair.b, pair.y);
    for (int i = 0; i < pair.x->buffer->rank; i++)
        poly_equal(p, &p->top, index_of_axis(p, &at_x, pair.x, i),
                   index_of_axis(p, &at_y, pair.y, i));
    be_one_of_distinct(p, pair);
}
