/* rotate.c - Implements rotate: moves the start of each iteration to the end of the previous one.
 *
 *   for i in n {             first(0)
 *       first(i)       =>    for i in n {
 *       use(i)                   use(i)
 *   }                            if (i + 1 < n) first(i + 1)
 *                            }
 *
 * Where `first` fetches what `use` begins with, nothing waits for it at the start of an iteration
 * any more: it is under way while the last of the iteration before is computed. After
 * pipeline(inner, 2) these are the fetches that pipeline put before the inner loop; one pipeline
 * then goes on through all iterations of both loops.
 *
 * The step is another order of the same instances, which dependence_order_kept judges: in the loop
 * that runs use(t - 1) and then first(t) for t in 0..n + 1, of which the program above is the first
 * iteration, peeled, and the rest.
 *
 * Legal: the first statement of an iteration may run before the rest of the iteration before it
 * ends.
 * Invariant: every instance runs exactly once, and instances that depend on each other keep their
 * order. */
#include "passes/schedule/loops/partition.h"
#include "passes/schedule/overlap/ahead.h"

typedef struct {
    Schedule *s;
    const PrimCall *call;
    AheadLoop at;
    bool *moves;         /* [items of the body] */
    Stmt *moved, *stays; /* the statements of each kind, in their order */
} Rotate;

/* The item of the loop's body that holds the node at the end of `path`; -1 where the loop does not
 * hold it. */
static int item_of(const StmtPath *path, const Stmt *loop)
{
    int at = 0;
    while (at < path->n && path->items[at] != loop)
        at++;
    if (at + 1 >= path->n)
        return -1;
    const Stmt *body = path->items[at + 1];
    return stmt_place(body, body->kind == ST_SEQ ? path->items[at + 2] : body);
}

/* Marks the statements that hold the nodes of the call. */
static bool find_moves(Rotate *r, const Stmt *loop)
{
    Schedule *s = r->s;
    const Value *nodes = &r->call->rotate.nodes;
    r->moves = ARENA_ARRAY(s->ctx->arena, bool, stmt_items(loop->u.loop.body));
    for (int i = 0; i < nodes->u.list.n; i++) {
        StmtPath path = {0};
        const Stmt *node = sched_node(s, &nodes->u.list.items[i], &path);
        int item = item_of(&path, loop);
        REQUIRE_AT(s, E0463, r->call->span, item >= 0, loop,
                   "'%s' is not in the body of loop '%s', so rotate cannot move it to the "
                   "previous iteration",
                   stmt_label(node), stmt_label(loop));
        r->moves[item] = true;
    }
    return true;
}

static bool take_apart(Rotate *r)
{
    Context *c = r->s->ctx;
    BlockList moved = {0}, stays = {0};
    const Stmt *body = r->at.loop->u.loop.body;
    for (int i = 0; i < stmt_items(body); i++)
        VEC_PUSH(c->arena, r->moves[i] ? &moved : &stays, stmt_item(body, i));
    REQUIRE(r->s, E0463, r->call->span, stays.n > 0,
            "all statements of loop '%s' would move; at least one must remain. Name only the "
            "statements that an iteration starts with",
            r->at.loop->u.loop.var->name);
    r->moved = stmt_seq(c, moved.items, moved.n, r->at.loop->span);
    r->stays = stmt_seq(c, stays.items, stays.n, r->at.loop->span);
    return true;
}

static const Buffer *temp_in(Context *c, const Stmt *body)
{
    for (Cursor at = cursor_outer(c, body); cursor_next(&at);)
        if (at.stmt->kind == ST_TEMP)
            return at.stmt->u.temp;
    return NULL;
}

/* A temp of the body is another one in each iteration. */
static bool check_temps(const Rotate *r)
{
    const Buffer *own = ahead_own_temp(&r->at, r->moved);
    REQUIRE(r->s, E0463, r->call->span, !own,
            "temp '%s' is made anew in each iteration of loop '%s', and what moves into the "
            "iteration before would use another one; declare it outside of the loop, with an "
            "element for each iteration",
            own->name, r->at.loop->u.loop.var->name);
    const Buffer *inner = temp_in(r->s->ctx, r->moved);
    REQUIRE(r->s, E0463, r->call->span, !inner,
            "temp '%s' is declared in what would move, and there would be two of the name; declare "
            "it outside of loop '%s'",
            inner->name, r->at.loop->u.loop.var->name);
    return true;
}

static bool check_order(const Rotate *r)
{
    Context *c = r->s->ctx;
    const ForStmt *old = &r->at.loop->u.loop;
    Conflict why;
    ForStmt model = ahead_model_loop(&r->at, 1);
    Expr *one = expr_index(c, 1), *t = expr_var(c, model.var, span_none());
    Expr *late = expr_binary(c, EX_GE, t, one, span_none());
    Expr *early = expr_binary(c, EX_LT, t, old->hi, span_none());
    Stmt *stays = ahead_model(&r->at, r->stays, index_sub(c, t, one), late);
    model.body = stmt_then(c, stays, ahead_model(&r->at, r->moved, t, early));
    REQUIRE_KEPT(r->s, E0464, r->call->span, ahead_order_kept(&r->at, &model, &why), &why,
                 "an iteration of loop '%s' cannot start at the end of the previous one: %s",
                 old->var->name, why.reason);
    return true;
}

static Stmt *build_loop(const Rotate *r)
{
    Context *c = r->s->ctx;
    ForStmt loop = r->at.loop->u.loop;
    loop.body = stmt_then(c, r->stays, ahead_inside(&r->at, r->moved, 1));
    return stmt_for(c, &loop, r->at.loop->span);
}

bool prim_rotate(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    StmtPath path = {0};
    int64_t extent;
    Stmt *loop = sched_node(s, &call->rotate.loop, &path);
    if (!sched_require_serial(s, loop, call->span) || !ahead_require_range(s, loop, call->span))
        return false;
    Rotate r = {.s = s, .call = call, .at = {s, loop, &path}};
    if (!find_moves(&r, loop) || !take_apart(&r) ||
        !partition_require_inits(s, &path, r.moved, call->span))
        return false;
    *result = value_list(s, NULL, 0);
    if (loop_const_extent(&loop->u.loop, &extent) && extent <= 1)
        return true;
    r.at.loop = loop_from_zero(s, &path);
    if (!take_apart(&r) || !check_temps(&r) || !check_order(&r))
        return false;
    Stmt *first = ahead_before(&r.at, r.moved, 1);
    Stmt *body = stmt_replace(c, s->kernel->body, loop, stmt_then(c, first, build_loop(&r)));
    if (!flow_recheck_order(s, body, loop->u.loop.id, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_blocks(s, stmts_of_kind(s->ctx, first, ST_BLOCK));
    return true;
}
