/* interchange.c - Implements interchange: makes a loop of each part of a nest the loop around all
 * of it.
 *
 *   interchange(i, [i, j])
 *
 *   for i in N {                                for i_x in N {
 *       for j in i                                  divide: x[i_x] /= L[i_x, i_x];
 *           update: x[i] -= L[i, j] * x[j];  =>     for i in N
 *       divide: x[i] /= L[i, i];                        update: x[i] -= L[i, i_x] * x[i_x];
 *   }                                           }   (of i > i_x)
 *
 * Each block runs in the iteration of the new loop that has the value of the innermost of the given
 * loops around it, and the parts of an iteration run in the order of the list. That is an
 * interchange of loops with statements between them, which no sequence of fission, reorder and
 * merge makes where the steps on the way turn dependences round. The other loops keep their ranges,
 * or depend on the new one, and domains or predicates say which iterations run something: narrow
 * leaves out the others.
 *
 * Legal: the blocks run each instance once, and no dependence turns round.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "passes/schedule/loops/loop.h"
#include "passes/shared/rebuild.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    Stmt *outer;
    StmtPath path; /* to `outer` */
    int n;
    StmtPath *parts; /* [n] to the given loops */
    ForStmt loop;    /* the new one */
    Facts *facts;
    SubstList map; /* from loops of the nest to those of the part at work */
    int part;
} Interchange;

/* ---- check ----------------------------------------------------------------------------------- */

static const Stmt *given_loop(const Interchange *x, int part)
{
    return path_end(&x->parts[part]);
}

static bool is_given(const Interchange *x, const Stmt *loop)
{
    for (int k = 0; k < x->n; k++)
        if (given_loop(x, k) == loop)
            return true;
    return false;
}

/* Loops and blocks alone stand in the nest: nothing that an iteration declares or decides. */
static bool check_statements(const Interchange *x)
{
    Schedule *s = x->s;
    for (Cursor at = cursor_outer(s->ctx, x->outer); cursor_next(&at);) {
        const Stmt *stmt = at.stmt;
        REQUIRE_AT(s, E0885, x->call->span,
                   stmt->kind == ST_FOR || stmt->kind == ST_SEQ || stmt->kind == ST_BLOCK, x->outer,
                   "loop '%s' holds %s beside loops and blocks, which belongs to its iterations; "
                   "expand gives each a temp of its own, and fission takes the rest apart",
                   stmt_label(x->outer),
                   stmt->kind == ST_TEMP ? "the declaration of a temp" : "a condition");
        if (stmt->kind == ST_FOR && !sched_require_plain(s, stmt, x->call->span))
            return false;
        REQUIRE_AT(
            s, E0885, x->call->span, stmt->kind != ST_BLOCK || !stmt->u.block.init, stmt,
            "block '%s' has an init, which runs before the loops of its reduction, and these "
            "would change; decompose_reduction gives the init a block of its own first",
            stmt_label(stmt));
    }
    return true;
}

/* Each given loop is in the nest, and counts upwards one by one. */
static bool find_parts(Interchange *x)
{
    Schedule *s = x->s;
    const Value *loops = x->call->interchange.loops.u.list.items;
    if (!loop_require_distinct(s, x->call, loops, x->n))
        return false;
    for (int k = 0; k < x->n; k++) {
        const Stmt *loop = sched_node(s, &loops[k], &x->parts[k]);
        REQUIRE(s, E0885, loops[k].span, path_loop(&x->parts[k], x->outer->u.loop.id) >= 0,
                "loop '%s' is neither loop '%s' nor inside of it", stmt_label(loop),
                stmt_label(x->outer));
        REQUIRE(
            s, E0885, loops[k].span, loop->u.loop.step == 1,
            "loop '%s' has step %lld, but the values of all given loops are matched, one by one",
            stmt_label(loop), (long long)loop->u.loop.step);
    }
    return true;
}

/* The innermost of the given loops on the path to a block; NULL: there is none. */
static const Stmt *given_around(const Interchange *x, const StmtPath *path)
{
    for (int i = path->n; i-- > 0;)
        if (is_given(x, path->items[i]))
            return path->items[i];
    return NULL;
}

/* Each block is in one of the given loops, and each of these is around one that no other is for. */
static bool check_blocks(const Interchange *x)
{
    Schedule *s = x->s;
    bool *used = ARENA_ARRAY(s->ctx->arena, bool, x->n);
    for (Cursor at = cursor_outer(s->ctx, x->outer); cursor_next(&at);) {
        StmtPath path = {0};
        if (at.stmt->kind != ST_BLOCK)
            continue;
        cursor_way(&at, &path);
        const Stmt *loop = given_around(x, &path);
        REQUIRE_AT(s, E0885, x->call->span, loop, at.stmt,
                   "block '%s' is in none of the given loops; name a loop for each block of loop "
                   "'%s'",
                   stmt_label(at.stmt), stmt_label(x->outer));
        for (int k = 0; k < x->n; k++)
            used[k] |= given_loop(x, k) == loop;
    }
    for (int k = 0; k < x->n; k++)
        REQUIRE(s, E0885, x->call->span, used[k],
                "the blocks in loop '%s' are all in given loops further inside",
                stmt_label(given_loop(x, k)));
    return true;
}

/* ---- the new loop ---------------------------------------------------------------------------- */

/* The loops of the nest around a given one. */
static const Var **loops_around(const Interchange *x, int part, int *n)
{
    const StmtPath *path = &x->parts[part];
    const Var **vars = ARENA_ARRAY(x->s->ctx->arena, const Var *, path->n);
    *n = 0;
    for (int i = path_loop(path, x->outer->u.loop.id); i + 1 < path->n; i++)
        if (path->items[i]->kind == ST_FOR)
            vars[(*n)++] = path->items[i]->u.loop.var;
    return vars;
}

/* A loop of the nest around a given one has no iterations: any range covers the given one. */
static bool never_runs(const Interchange *x, int part)
{
    StmtPath to = x->parts[part];
    for (int i = path_loop(&to, x->outer->u.loop.id), n = to.n; i + 1 < n; i++) {
        const ForStmt *loop = &to.items[i]->u.loop;
        to.n = i + 1;
        if (to.items[i]->kind == ST_FOR && loop->step == 1 &&
            prove(sched_facts(x->s, &to),
                  expr_binary(x->s->ctx, EX_LE, loop->hi, loop->lo, span_none())))
            return true;
    }
    return false;
}

/* The range of the new loop: the values that the given ones have in any iteration. */
static bool find_range(Interchange *x)
{
    Context *c = x->s->ctx;
    Facts *facts = sched_facts(x->s, &x->path);
    for (int k = 0; k < x->n; k++) {
        int n;
        bool exact;
        const ForStmt *loop = &given_loop(x, k)->u.loop;
        const Var **vars = loops_around(x, k, &n);
        Facts *inside = sched_facts(x->s, &x->parts[k]);
        Expr *lo = least_over(inside, loop->lo, vars, n, &exact);
        Expr *hi = largest_over(inside, loop->hi, vars, n, &exact);
        if ((!lo || !hi) && never_runs(x, k))
            lo = hi = expr_index(c, 0);
        REQUIRE_AT(x->s, E0885, x->call->span, lo && hi, given_loop(x, k),
                   "no range independent of the loops around is known that covers loop '%s'",
                   loop->var->name);
        x->loop.lo = k ? index_min(c, x->loop.lo, lo) : lo;
        x->loop.hi = k ? index_max(c, x->loop.hi, hi) : hi;
    }
    Name name = sched_fresh_loop_name(x->s, &x->path,
                                      ctx_namef(c, "%.24s_x", stmt_label(given_loop(x, 0))), 0);
    x->loop = flow_loop(x->s, name, simplify(facts, x->loop.lo), simplify(facts, x->loop.hi));
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

static Stmt *part_of(Interchange *x, Stmt *stmt, const Stmt *given);

static Stmt *part_of_seq(Interchange *x, const Stmt *seq, const Stmt *given)
{
    Context *c = x->s->ctx;
    Stmt *all = NULL;
    for (int i = 0; i < seq->u.seq.n; i++) {
        Stmt *item = part_of(x, seq->u.seq.items[i], given);
        all = item && all ? stmt_then(c, all, item) : item ? item : all;
    }
    return all;
}

/* The body of the given loop in the new one, which has more iterations. */
static Stmt *part_in_new_loop(Interchange *x, const Stmt *old)
{
    Context *c = x->s->ctx;
    ForStmt own = old->u.loop;
    own.var = x->loop.var;
    own.lo = expr_subst(c, own.lo, x->map.items, x->map.n);
    own.hi = expr_subst(c, own.hi, x->map.items, x->map.n);
    VEC_PUSH(c->arena, &x->map, ((Subst){old->u.loop.var, expr_var(c, own.var, old->span)}));
    own.body = part_of(x, old->u.loop.body, old);
    x->map.n--;
    return own.body ? loop_guard_range(x->s, x->facts, &own, x->loop.lo, x->loop.hi) : NULL;
}

static Stmt *part_in_loop(Interchange *x, const Stmt *old, const Stmt *given)
{
    Context *c = x->s->ctx;
    ForStmt loop = loop_alike(c, old);
    loop.lo = simplify(x->facts, expr_subst(c, loop.lo, x->map.items, x->map.n));
    loop.hi = simplify(x->facts, expr_subst(c, loop.hi, x->map.items, x->map.n));
    FactsMark mark = facts_mark(x->facts);
    facts_enter(x->facts, stmt_for(c, &loop, old->span));
    VEC_PUSH(c->arena, &x->map, ((Subst){old->u.loop.var, expr_var(c, loop.var, old->span)}));
    loop.body = part_of(x, old->u.loop.body, given);
    x->map.n--;
    facts_reset(x->facts, mark);
    return loop.body ? stmt_stamp(stmt_for(c, &loop, old->span), old) : NULL;
}

/* The blocks of the part at work in their loops; `given` is the innermost given loop around. NULL:
 * there are none. */
static Stmt *part_of(Interchange *x, Stmt *stmt, const Stmt *given)
{
    const Stmt *own = given_loop(x, x->part);
    switch (stmt->kind) {
    case ST_SEQ: return part_of_seq(x, stmt, given);
    case ST_FOR:
        if (stmt == own)
            return part_in_new_loop(x, stmt);
        return part_in_loop(x, stmt, is_given(x, stmt) ? stmt : given);
    case ST_BLOCK: return given == own ? stmt_subst(x->s->ctx, stmt, x->map.items, x->map.n) : NULL;
    default: return NULL;
    }
}

static Stmt *build(Interchange *x)
{
    Context *c = x->s->ctx;
    Span span = x->call->span;
    Stmt **parts = ARENA_ARRAY(c->arena, Stmt *, x->n);
    x->facts = sched_facts(x->s, &x->path);
    facts_enter(x->facts, stmt_for(c, &x->loop, span));
    for (x->part = 0; x->part < x->n; x->part++)
        parts[x->part] = part_of(x, x->outer, NULL);
    x->loop.body = stmt_seq(c, parts, x->n, span);
    return stmt_for(c, &x->loop, span);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Both nests have the same iterations; instances that run again have no single place in them. */
static bool require_instances(const Interchange *x, Stmt *now)
{
    Schedule *s = x->s;
    Conflict why = {0};
    REQUIRE_KEPT(s, E0885, x->call->span,
                 dependence_instances_kept(s->ctx, (Rewrite){s->kernel, x->outer, now}, 0, &why),
                 &why, "not every instance would run once: %s", why.reason);
    return true;
}

static bool require_order(const Interchange *x, Stmt *now)
{
    Schedule *s = x->s;
    Conflict why = {0};
    REQUIRE_KEPT(
        s, E0886, x->call->span,
        dependence_order_kept(s->ctx, (Rewrite){s->kernel, x->outer, now}, &s->reassociates, &why),
        &why, "the step would swap two dependent instances");
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, x->outer, now);
    return flow_recheck_order(s, body, x->loop.id, x->call->span);
}

bool prim_interchange(Schedule *s, const PrimCall *call, Value *result)
{
    Interchange x = {.s = s, .call = call, .n = call->interchange.loops.u.list.n};
    x.parts = ARENA_ARRAY(s->ctx->arena, StmtPath, x.n);
    x.outer = sched_node(s, &call->interchange.outer, &x.path);
    if (!find_parts(&x) || !check_statements(&x) || !check_blocks(&x) || !find_range(&x))
        return false;
    Stmt *now = build(&x);
    if (!require_instances(&x, now) || !require_order(&x, now))
        return false;
    sched_replace(s, x.outer, now);
    *result = value_loop(now);
    return true;
}
