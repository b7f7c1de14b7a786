/* specialize.c - Implements specialize: gives nests a version for sizes that meet a condition.
 *
 *   specialize(i, N % 4 == 0)    for i in N    =>    if N % 4 == 0
 *                                    S(i)                for i in N
 *                                                            S(i)
 *                                                    else
 *                                                        for i_1 in N
 *                                                            S_1(i_1)
 *
 * Legal: always, for outermost nests. Temporaries that only the nests use come into both versions.
 * Invariant: every instance runs once, in the same order, in one of the two. */
#include "passes/schedule/loops/loop.h"
#include "passes/schedule/loops/partition.h"

/* Statements of the program's outermost sequence, from < to. */
typedef struct {
    Schedule *s;
    const Stmt *body; /* a sequence, or one loop */
    int from, to;
} Nests;

/* ---- which statements ------------------------------------------------------------------------ */

static bool find_nests(Schedule *s, const PrimCall *call, Nests *n)
{
    const Value *loops = &call->specialize.loops;
    *n = (Nests){s, s->kernel->body, stmt_items(s->kernel->body), 0};
    for (int i = 0; i < loops->u.list.n; i++) {
        const Stmt *loop = sched_node(s, &loops->u.list.items[i], NULL);
        int at = stmt_place(n->body, loop);
        REQUIRE_AT(s, E0864, call->span, at >= 0, loop,
                   "loop '%s' is inside of other loops or conditions; specialize takes the "
                   "outermost loops of one sequence of statements",
                   stmt_label(loop));
        n->from = at < n->from ? at : n->from;
        n->to = at + 1 > n->to ? at + 1 : n->to;
    }
    return true;
}

/* A statement of the body that is none of the nests uses the buffer. */
static bool used_elsewhere(const Nests *n, const Buffer *buffer)
{
    for (int i = 0; i < stmt_items(n->body); i++)
        if ((i < n->from || i >= n->to) &&
            stmt_accesses(n->s->ctx, stmt_item(n->body, i), buffer, ACCESS_ANY))
            return true;
    return false;
}

static bool require_own_temps(const Nests *n, Span span)
{
    for (int i = n->from; i < n->to; i++) {
        const Stmt *item = stmt_item(n->body, i);
        REQUIRE(n->s, E0863, span, item->kind != ST_TEMP || !used_elsewhere(n, item->u.temp),
                "temp '%s' is declared between the loops and used behind them; specialize the "
                "loops that use it, too",
                item->u.temp->name);
    }
    return true;
}

/* ---- the versions ---------------------------------------------------------------------------- */

/* The nests, behind the temporaries that nothing else uses. What is left goes to `rest`, with the
 * place of the nests in it. */
static Stmt *take_out(const Nests *n, StmtList *rest, int *place)
{
    Context *c = n->s->ctx;
    StmtList own = {0};
    for (int i = 0; i < stmt_items(n->body); i++) {
        Stmt *item = stmt_item(n->body, i);
        bool before = i < n->from && item->kind == ST_TEMP && !used_elsewhere(n, item->u.temp);
        if (i == n->from)
            *place = rest->n;
        VEC_PUSH(c->arena, before || (i >= n->from && i < n->to) ? &own : rest, item);
    }
    return stmt_seq(c, own.items, own.n, n->body->span);
}

/* Handles of the loops: of the ones that were given, or of those at the same places of `copy`. */
static Value loops_in(const Nests *n, const Value *loops, const Stmt *nests, const Stmt *copy)
{
    Value *items = ARENA_ARRAY(n->s->ctx->arena, Value, loops->u.list.n);
    for (int i = 0; i < loops->u.list.n; i++) {
        int at = 0;
        while (stmt_item(nests, at)->kind != ST_FOR ||
               stmt_item(nests, at)->u.loop.id != loops->u.list.items[i].u.id)
            at++;
        items[i] = value_loop(stmt_item(copy, at));
    }
    return value_list(n->s, items, loops->u.list.n);
}

static void specialize_nests(const Nests *n, const PrimCall *call, Value *both)
{
    Context *c = n->s->ctx;
    Expr *cond = call->specialize.condition.u.sizes;
    Partition p = {.s = n->s};
    StmtList rest = {0};
    int place = 0;
    Stmt *nests = take_out(n, &rest, &place), *copy = partition_copy(&p, nests);
    for (int i = 0; i < stmt_items(copy); i++)
        if (stmt_item(copy, i)->kind == ST_FOR)
            partition_rename(&p, stmt_item(copy, i));
    Stmt *made = stmt_if(c, cond, nests, copy, n->body->span);
    Stmt **items = ARENA_ARRAY(c->arena, Stmt *, rest.n + 1);
    for (int i = 0; i <= rest.n; i++)
        items[i] = i == place ? made : rest.items[i - (i > place)];
    both[0] = loops_in(n, &call->specialize.loops, nests, nests);
    both[1] = loops_in(n, &call->specialize.loops, nests, copy);
    n->s->has_branches = true;
    sched_replace_body(n->s, stmt_seq(c, items, rest.n + 1, n->body->span));
}

/* The sizes decide the condition before a launch: 1 or 0; else -1. */
static int decided(Schedule *s, const Value *condition)
{
    if (condition->kind == VALUE_BOOL)
        return condition->u.i != 0;
    Facts *facts = facts_of_kernel(s->ctx, s->kernel);
    if (prove(facts, condition->u.sizes))
        return 1;
    return prove(facts, expr_unary(s->ctx, EX_NOT, condition->u.sizes, span_none())) ? 0 : -1;
}

bool prim_specialize(Schedule *s, const PrimCall *call, Value *result)
{
    Nests n;
    int known = decided(s, &call->specialize.condition);
    Value both[2] = {value_list(s, NULL, 0), value_list(s, NULL, 0)};
    const Value *loops = &call->specialize.loops;
    if (!loop_require_distinct(s, call, loops->u.list.items, loops->u.list.n) ||
        !find_nests(s, call, &n) || !require_own_temps(&n, call->span))
        return false;
    if (known < 0)
        specialize_nests(&n, call, both);
    else
        both[!known] = call->specialize.loops;
    *result = value_list(s, both, 2);
    return true;
}
