/* loop.c - Implements reorder and add_unit_loop, and helpers for primitives that reshape loop nests
 * (loop.h).
 *
 *   reorder(j, i)       for i in E0, j in E1  =>   for j in E1, i in E0
 *
 * Legal: ranges stay free of loops that come inside, and no dependence turns around.
 * Invariant: every instance of a block runs exactly once, and instances that depend on each other
 * keep their order. */
#include <string.h>

#include "passes/schedule/loops/loop.h"

/* ---- shared ---------------------------------------------------------------------------------- */

bool sched_require_plain(Schedule *s, const Stmt *stmt, Span span)
{
    const ForStmt *loop = &stmt->u.loop;
    if (!sched_require_serial(s, stmt, span))
        return false;
    REQUIRE(s, E0411, span, loop->annotations.n == 0,
            "loop '%s' has the annotation '%s', which would be lost; unannotate it first, and "
            "annotate the results",
            loop->var->name, loop->annotations.items[0].key);
    return true;
}

/* The most loops on a path below `stmt`, itself included. */
static int loops_below(const Stmt *stmt)
{
    int most = 0;
    if (stmt->kind == ST_FOR)
        return 1 + loops_below(stmt->u.loop.body);
    if (stmt->kind == ST_SEQ)
        for (int i = 0; i < stmt->u.seq.n; i++) {
            int below = loops_below(stmt->u.seq.items[i]);
            most = below > most ? below : most;
        }
    if (stmt->kind == ST_IF) {
        most = loops_below(stmt->u.cond.then);
        int other = stmt->u.cond.otherwise ? loops_below(stmt->u.cond.otherwise) : 0;
        most = other > most ? other : most;
    }
    return most;
}

bool loop_require_depth(Schedule *s, const StmtPath *path, int added, Span span)
{
    const Stmt *node = path_end(path);
    int depth = sched_loops_on(s, path, NULL) - (node->kind == ST_FOR) + loops_below(node);
    REQUIRE(s, E0431, span, depth + added <= SCHED_MAX_LOOPS,
            "a block in '%s' would have %d loops around it, but the limit is %d; fuse some first",
            stmt_label(node), depth + added, SCHED_MAX_LOOPS);
    return true;
}

Stmt *loop_offset(Schedule *s, Facts *facts, const Stmt *old, ForStmt loop, Expr *by)
{
    Context *c = s->ctx;
    loop.var = var_new(c, loop.var->name, DT_INDEX, VAR_LOOP, loop.var->span);
    facts_enter(facts, stmt_for(c, &loop, old->span));
    Subst subst = {old->u.loop.var, index_sub(c, expr_var(c, loop.var, span_none()), by)};
    Below below = {.s = s, .facts = facts, .map = &subst, .n_map = 1};
    loop.body = below_rewrite(&below, loop.body);
    return stmt_for(c, &loop, old->span);
}

bool loop_require_distinct(Schedule *s, const PrimCall *call, const Value *loops, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            REQUIRE(s, E0418, call->span, loops[i].u.id != loops[j].u.id,
                    "duplicate loop '%s'; name each loop once",
                    state_handle(s, loops[i].u.id)->name);
    return true;
}

/* ---- reorder --------------------------------------------------------------------------------- */

/* The loops of one path from the outermost to the innermost that are named. */
typedef struct {
    Stmt **loops;
    int n;
    StmtPath path; /* to the innermost */
} Chain;

/* The deepest of the loops, with its path. */
static Stmt *deepest(Schedule *s, const Value *loops, int n, StmtPath *path)
{
    Stmt *found = NULL;
    for (int i = 0; i < n; i++) {
        StmtPath at = {0};
        Stmt *loop = sched_node(s, &loops[i], &at);
        if (at.n > path->n) {
            *path = at;
            found = loop;
        }
    }
    return found;
}

static bool find_chain(Schedule *s, const PrimCall *call, const Value *loops, int n, Chain *chain)
{
    Stmt *inner = deepest(s, loops, n, &chain->path);
    int top = chain->path.n - 1;
    for (int i = 0; i < n; i++) {
        int at = path_loop(&chain->path, loops[i].u.id);
        Name name = state_handle(s, loops[i].u.id)->name;
        REQUIRE_AT(s, E0416, call->span, at >= 0, inner, "loops '%s' and '%s' are not nested", name,
                   stmt_label(inner));
        top = at < top ? at : top;
    }
    chain->loops = &chain->path.items[top];
    chain->n = chain->path.n - top;
    for (int i = 1; i < chain->n; i++)
        REQUIRE_AT(s, E0416, call->span, chain->loops[i]->kind == ST_FOR, chain->loops[i - 1],
                   "statements other than loops stand between loops '%s' and '%s'",
                   stmt_label(chain->loops[0]), stmt_label(inner));
    return true;
}

static bool is_named(const Value *loops, int n, const Stmt *loop)
{
    for (int i = 0; i < n; i++)
        if (loops[i].u.id == loop->u.loop.id)
            return true;
    return false;
}

/* The chain in its new order: named loops take the places of named loops. */
static Stmt **new_order(Schedule *s, const Chain *chain, const Value *loops, int n)
{
    Stmt **order = ARENA_ARRAY(s->ctx->arena, Stmt *, chain->n);
    for (int i = 0, next = 0; i < chain->n; i++) {
        order[i] = chain->loops[i];
        if (is_named(loops, n, chain->loops[i]))
            order[i] = chain->path.items[path_loop(&chain->path, loops[next++].u.id)];
    }
    return order;
}

static bool check_ranges(Schedule *s, const PrimCall *call, Stmt **order, int n)
{
    for (int i = 0; i < n; i++)
        for (int inner = i + 1; inner < n; inner++)
            REQUIRE(s, E0417, call->span,
                    !loop_uses_var(&order[i]->u.loop, order[inner]->u.loop.var),
                    "the range of loop '%s' depends on loop '%s', which must stay outside it",
                    stmt_label(order[i]), stmt_label(order[inner]));
    return true;
}

static Stmt *build_order(Schedule *s, const Chain *chain, Stmt **order)
{
    Stmt *body = chain->loops[chain->n - 1]->u.loop.body;
    for (int i = chain->n - 1; i >= 0; i--) {
        ForStmt loop = order[i]->u.loop;
        loop.body = body;
        body = stmt_for(s->ctx, &loop, order[i]->span);
        if (order[i]->step) /* what made a loop says more about it than what moved it */
            stmt_stamp(body, order[i]);
    }
    return body;
}

bool prim_reorder(Schedule *s, const PrimCall *call, Value *result)
{
    const Value *loops = call->reorder.loops.u.list.items;
    int n = call->reorder.loops.u.list.n;
    Chain chain = {0};
    if (!loop_require_distinct(s, call, loops, n) || !find_chain(s, call, loops, n, &chain))
        return false;
    *result = (Value){.kind = VALUE_NONE};
    Stmt **order = new_order(s, &chain, loops, n);
    if (memcmp(order, chain.loops, sizeof *order * (size_t)chain.n) == 0)
        return true;
    if (!check_ranges(s, call, order, chain.n))
        return false;
    Stmt *nest = build_order(s, &chain, order);
    Conflict why = {0};
    StmtPath path = {0};
    state_path(s, chain.loops[0]->u.loop.id, &path);
    const Kernel *kernel = sched_kernel_around(s, s->kernel, &path);
    REQUIRE_KEPT(s, E0419, call->span,
                 dependence_order_kept(s->ctx, (Rewrite){kernel, chain.loops[0], nest},
                                       &s->reassociates, &why),
                 &why, "the new order would swap two dependent iterations");
    sched_replace(s, chain.loops[0], nest);
    return true;
}

/* ---- add_unit_loop --------------------------------------------------------------------------- */

/* The value of the iteration, if a loop around has it. */
static bool find_value(Schedule *s, const PrimCall *call, const StmtPath *path, Expr **at)
{
    const Value *given = &call->add_unit_loop.at;
    if (given->kind == VALUE_NONE)
        return true;
    const ForStmt *loop = &sched_node(s, given, NULL)->u.loop;
    REQUIRE(s, E0926, given->span,
            path_loop(path, loop->id) >= 0 && path_loop(path, loop->id) < path->n - 1,
            "loop '%s' is not around '%s'", loop->var->name, stmt_label(path_end(path)));
    *at = expr_var(s->ctx, loop->var, span_none());
    return true;
}

bool prim_add_unit_loop(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    Stmt *node = sched_node(s, &call->add_unit_loop.node, &path);
    if (!loop_require_depth(s, &path, 1, call->span))
        return false;
    Name name = sched_fresh_loop_name(s, &path, "u", 0);
    Expr *at = expr_index(s->ctx, 0);
    if (!find_value(s, call, &path, &at))
        return false;
    ForStmt unit = flow_loop(s, name, at, index_add(s->ctx, at, expr_index(s->ctx, 1)));
    unit.body = node;
    Stmt *loop = stmt_for(s->ctx, &unit, node->span);
    sched_replace(s, node, loop);
    *result = value_loop(loop);
    return true;
}
