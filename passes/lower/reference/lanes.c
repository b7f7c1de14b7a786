/* lanes.c - Finds loops of a reference whose iterations a machine of many lanes may run at once.
 *
 *   for i in M, j in N {                    parallel j in N {
 *       C[i, j] = 0;                            C[i, j] = 0;
 *       for k in K               =>             for k in K
 *           C[i, j] += r;                           C[i, j] += r;
 *   }                                       }
 *
 * The rule is so simple that it shares nothing with the analysis of dependences, which references
 * are to check: each buffer that the loop stores to has an axis at which every access in the loop
 * has the loop's variable itself, so that iterations share no element. Or it is a single element
 * that is used only there, and that each iteration sets before all else, so that lanes may have
 * one each. Every element still gets the same terms in the same order. */
#include "ir/implied.h"
#include "passes/lower/reference/reference.h"

/* A loop of fewer iterations fills too few lanes; one of as many fills enough. */
enum { FEW = 8, ENOUGH = 64 };

typedef struct {
    Context *c;
    const Kernel *kernel;
    VarValues env;
    int64_t wanted; /* indices of each axis */
} Lanes;

/* ---- independent iterations ------------------------------------------------------------------ */

/* How many accesses of the buffer there are. */
static int accesses(Context *c, const Stmt *s, const Buffer *buffer)
{
    int n = 0;
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);)
        n += (at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.buffer->id == buffer->id) ||
             (at.expr && expr_is_load(at.expr, buffer));
    return n;
}

/* Does every access of the buffer have the variable at this axis? */
static bool runs_along(Context *c, const Stmt *s, const Buffer *buffer, int axis, const Var *var)
{
    for (Cursor at = cursor_stmt(c, s); cursor_next(&at);) {
        Expr *const *index = NULL;
        if (at.stmt && at.stmt->kind == ST_STORE && at.stmt->u.store.buffer->id == buffer->id)
            index = at.stmt->u.store.index;
        if (at.expr && expr_is_load(at.expr, buffer))
            index = at.expr->u.load.index;
        if (index && (!expr_is_var(index[axis], var)))
            return false;
    }
    return true;
}

/* Does what `s` does to the single element of the buffer begin by setting it? */
static bool sets_first(Context *c, const Stmt *s, const Buffer *buffer)
{
    int all = accesses(c, s, buffer);
    switch (s->kind) {
    case ST_SEQ:
        for (int i = 0; i < s->u.seq.n; i++) {
            const Stmt *item = s->u.seq.items[i];
            int here = accesses(c, item, buffer);
            if (here > 0)
                return (item->kind == ST_STORE || here == all) && sets_first(c, item, buffer);
        }
        return false;
    case ST_IF:
        return accesses(c, s->u.cond.then, buffer) == all && sets_first(c, s->u.cond.then, buffer);
    case ST_FOR:
        return accesses(c, s->u.loop.body, buffer) == all && sets_first(c, s->u.loop.body, buffer);
    case ST_STORE: return s->u.store.op == STORE_SET && all == 1;
    default: return false;
    }
}

static bool is_own(const Lanes *l, const Stmt *body, const Buffer *buffer)
{
    return buffer->role == ROLE_TEMP && buffer->rank == 0 &&
           accesses(l->c, body, buffer) == accesses(l->c, l->kernel->body, buffer) &&
           sets_first(l->c, body, buffer);
}

/* Do data decide about it? Names of values outside of the body are the same for all lanes. */
static bool is_of_data(Context *c, const Expr *e, const Stmt *body)
{
    for (Cursor at = cursor_expr(c, e); cursor_next(&at);) {
        if (at.expr->kind == EX_LOAD)
            return true;
        if (at.expr->kind != EX_VAR || at.expr->u.var->kind != VAR_LET)
            continue;
        for (Cursor let = cursor_stmts(c, body); cursor_next(&let);)
            if (let.stmt->kind == ST_LET && let.stmt->u.let.var == at.expr->u.var &&
                is_of_data(c, let.stmt->u.let.value, body))
                return true;
    }
    return false;
}

/* Lanes would wait for the one with most iterations of a loop whose number data decide. */
static bool goes_in_step(Context *c, const ForStmt *loop, const Stmt *body)
{
    return loop->kind == LOOP_SERIAL && !is_of_data(c, loop->lo, body) &&
           !is_of_data(c, loop->hi, body);
}

static bool is_independent(const Lanes *l, const ForStmt *loop)
{
    if (!goes_in_step(l->c, loop, loop->body) || loop->step != 1)
        return false;
    for (Cursor at = cursor_stmts(l->c, loop->body); cursor_next(&at);) {
        const Stmt *s = at.stmt;
        if (s->kind == ST_FOR
                ? !goes_in_step(l->c, &s->u.loop, loop->body)
                : s->kind != ST_SEQ && s->kind != ST_IF && s->kind != ST_LET && s->kind != ST_STORE)
            return false;
        if (s->kind != ST_STORE)
            continue;
        const Buffer *buffer = s->u.store.buffer;
        bool found = is_own(l, loop->body, buffer);
        for (int axis = 0; !found && axis < buffer->rank; axis++)
            found = runs_along(l->c, loop->body, buffer, axis, loop->var);
        if (!found)
            return false;
    }
    return true;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* 0: not known. */
static int64_t iterations(const Lanes *l, const ForStmt *loop)
{
    int64_t lo, hi;
    if (!expr_eval(loop->lo, l->env.items, l->env.n, &lo) ||
        !expr_eval(loop->hi, l->env.items, l->env.n, &hi) || hi <= lo)
        return 0;
    int64_t n = (hi - lo) / loop->step;
    return loop_if_needed(loop) && n > l->wanted ? l->wanted : n;
}

/* In the body, loops that are inside of it have values. */
static void enter(Lanes *l, const ForStmt *loop)
{
    int64_t lo = 0, hi = 0;
    bool known = expr_eval(loop->lo, l->env.items, l->env.n, &lo) &&
                 expr_eval(loop->hi, l->env.items, l->env.n, &hi);
    VarValue middle = {loop->var, known ? lo + (hi - lo) / 2 : 0};
    VEC_PUSH(l->c->arena, &l->env, middle);
}

/* The most iterations of an independent loop below `s`; 0: there is none. */
static int64_t most_below(Lanes *l, const Stmt *s)
{
    int64_t most = 0;
    for (Cursor at = cursor_stmts(l->c, s); cursor_next(&at);)
        if (at.stmt->kind == ST_FOR && is_independent(l, &at.stmt->u.loop)) {
            int64_t n = iterations(l, &at.stmt->u.loop);
            most = n > most ? n : most;
        }
    return most;
}

/* The loop that is all of the body, under conditions; or NULL. */
static const ForStmt *only_loop(const ForStmt *loop)
{
    const Stmt *s = loop->body;
    while (s->kind == ST_IF && !s->u.cond.otherwise)
        s = s->u.cond.then;
    return s->kind == ST_FOR ? &s->u.loop : NULL;
}

/* Rows of a matrix lie further apart than the elements of one, so the inner one of two loops is
 * taken where nothing stands between them. */
static bool is_chosen(Lanes *l, const ForStmt *loop)
{
    int64_t n = iterations(l, loop);
    if (n < FEW || !is_independent(l, loop))
        return false;
    int mark = l->env.n;
    enter(l, loop);
    const ForStmt *inner = only_loop(loop);
    bool better = inner && is_independent(l, inner)
                      ? iterations(l, inner) >= (n < ENOUGH ? n : ENOUGH)
                      : n < ENOUGH && n < most_below(l, loop->body);
    l->env.n = mark;
    return !better;
}

static Stmt *mark(void *user, Stmt *s)
{
    Lanes *l = user;
    if (s->kind == ST_BLOCK) {
        BlockStmt block = s->u.block;
        block.body = mark(l, block.body);
        return stmt_block(l->c, &block, s->span);
    }
    if (s->kind != ST_FOR)
        return stmt_map_children(l->c, s, mark, l);
    ForStmt loop = s->u.loop;
    if (is_chosen(l, &loop)) {
        loop.kind = LOOP_PARALLEL;
        return stmt_for(l->c, &loop, s->span);
    }
    enter(l, &loop);
    loop.body = mark(l, loop.body);
    l->env.n--;
    return stmt_for(l->c, &loop, s->span);
}

Kernel *reference_in_lanes(Context *c, const Kernel *reference, const int64_t *sizes,
                           int64_t wanted)
{
    Lanes l = {
        .c = c, .kernel = reference, .wanted = wanted, .env = size_values(c, reference, sizes)};
    Kernel *out = ARENA_NEW(c->arena, Kernel);
    *out = *reference;
    out->body = mark(&l, reference->body);
    return out;
}
