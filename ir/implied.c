/* implied.c - Derives the block that a plain statement stands for.
 *
 *     for i in M, j in N, k in K          block C(i in M = i, j in N = j, reduce k in K = k) {
 *         C[i, j] += A[i, k] * B[k, j];       C[i, j] += A[i, k] * B[k, j];
 *                                         }
 *
 * The parser makes the block on the right of the statement on the left, and the printer omits what
 * the parser would restore. Both use this file, so they cannot disagree. */
#include "ir/ir.h"

void loop_domain(Context *c, const ForStmt *loop, Expr **lo, Expr **hi)
{
    if (loop->step > 0) {
        *lo = loop->lo;
        *hi = loop->hi;
        return;
    }
    int64_t first;
    const Expr *last = loop->lo;
    *lo = loop->hi;
    if (expr_is_const(last, &first) && first < INT64_MAX)
        *hi = expr_int(c, DT_INDEX, first + 1, last->span);
    else if (last->kind == EX_SUB && expr_is_const(last->u.arg[1], &first) && first == 1)
        *hi = last->u.arg[0];
    else
        *hi = expr_binary(c, EX_ADD, loop->lo, expr_index(c, 1), last->span);
}

static bool is_of_loops(const Expr *e)
{
    bool index = e->kind == EX_VAR && (e->u.var->kind == VAR_SIZE || e->u.var->kind == VAR_LOOP ||
                                       e->u.var->kind == VAR_ITER);
    if (!index && (e->kind == EX_VAR || e->kind == EX_LOAD || e->kind == EX_CALL ||
                   (e->type != DT_INDEX && e->type != DT_BOOL)))
        return false;
    int n = expr_operands(e);
    for (int k = 0; k < n; k++)
        if (!is_of_loops(expr_operand(e, k)))
            return false;
    return true;
}

bool value_is_inline(const Expr *value)
{
    enum { MOST_NODES = 200 };
    return expr_nodes(value, MOST_NODES) <= MOST_NODES && is_of_loops(value);
}

static bool subscripts_use(const Stmt *store, const Var *var)
{
    for (int i = 0; i < store->u.store.buffer->rank; i++)
        if (expr_uses_var(store->u.store.index[i], var))
            return true;
    return false;
}

/* The subscripts use the variable, or a value that depends on it. */
static bool element_uses(Context *c, const Stmt *store, const Stmt *body, const Var *var)
{
    int n = body->kind == ST_SEQ ? body->u.seq.n - 1 : 0;
    bool *depends = ARENA_ARRAY(c->arena, bool, n + 1);
    for (int k = 0; k < n; k++) {
        const Stmt *let = body->u.seq.items[k];
        depends[k] = expr_uses_var(let->u.let.value, var);
        for (int i = 0; !depends[k] && i < k; i++)
            depends[k] =
                depends[i] && expr_uses_var(let->u.let.value, body->u.seq.items[i]->u.let.var);
        if (depends[k] && subscripts_use(store, let->u.let.var))
            return true;
    }
    return subscripts_use(store, var);
}

IterKind block_implied_kind(Context *c, const Stmt *body, const Var *var)
{
    const Stmt *store = stmt_valued_store(body);
    bool update = store && store->u.store.op != STORE_SET;
    return update && !element_uses(c, store, body, var) ? ITER_REDUCE : ITER_SPATIAL;
}

Name block_implied_name(const Stmt *body)
{
    switch (body->kind) {
    case ST_STORE: return body->u.store.buffer->name;
    case ST_FOR: return block_implied_name(body->u.loop.body);
    case ST_IF: {
        Name name = block_implied_name(body->u.cond.then);
        return name || !body->u.cond.otherwise ? name : block_implied_name(body->u.cond.otherwise);
    }
    case ST_SEQ:
        for (int i = 0; i < body->u.seq.n; i++) {
            Name name = block_implied_name(body->u.seq.items[i]);
            if (name)
                return name;
        }
        return NULL;
    case ST_BLOCK:
    case ST_TEMP:
    case ST_LET:
    case ST_BARRIER:
    case ST_LAUNCH: return NULL;
    }
    return NULL;
}

/* The iterators of the loops around `body` (both in terms of the loops), and in map[n_loops] what
 * replaces the loops' variables in the block. */
static BlockIter *implied_iters(Context *c, const ForStmt *const *loops, int n_loops,
                                const Stmt *body, Subst *map)
{
    BlockIter *iters = ARENA_ARRAY(c->arena, BlockIter, n_loops);
    for (int i = 0; i < n_loops; i++) {
        Var *loop = loops[i]->var;
        Expr *lo, *hi;
        loop_domain(c, loops[i], &lo, &hi);
        iters[i].var = var_new(c, loop->name, DT_INDEX, VAR_ITER, loop->span);
        iters[i].lo = expr_subst(c, lo, map, i);
        iters[i].hi = expr_subst(c, hi, map, i);
        iters[i].binding = expr_var(c, loop, loop->span);
        iters[i].kind = block_implied_kind(c, body, loop);
        map[i] = (Subst){loop, expr_var(c, iters[i].var, loop->span)};
    }
    return iters;
}

Stmt *block_implied(Context *c, const ImpliedBlock *of)
{
    Subst *map = ARENA_ARRAY(c->arena, Subst, of->n_loops);
    BlockIter *iters = implied_iters(c, of->loops, of->n_loops, of->body, map);
    BlockStmt block = {
        .name = of->name ? of->name : block_implied_name(of->body),
        .iters = iters,
        .n_iters = of->n_loops,
        .init = of->init ? stmt_subst(c, of->init, map, of->n_loops) : NULL,
        .body = stmt_subst(c, of->body, map, of->n_loops),
    };
    return stmt_block(c, &block, of->span);
}
