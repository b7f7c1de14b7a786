/* factors.c - Implements the queries about sums of products: contraction, which finds the roles of
 * the loops, factors, which tells what is multiplied, and index_map, which joins loops; and
 * general_contraction, which finds these roles in reductions of any function of two elements.
 *
 *   for n, i, j, k                  contraction(y) is [[A, B], [], [n, i], [j], [k]]
 *       y[n, i, j] += A[n, i, k] * B[k, j]
 *
 *   for i, j, k                     general_contraction(y) is [[A, B], [], [i], [j], [k]]
 *       y[i, j] min= A[i, k] + B[k, j]
 *
 * Legal: always, where the arguments are of the right kind.
 * Invariant: the kernel stays as it is. */
#include "passes/analysis/polyhedral/index_map.h"
#include "passes/schedule/flow.h"

/* ---- contraction ----------------------------------------------------------------------------- */

enum { ROLE_BATCH, ROLE_ROWS, ROLE_COLUMNS, ROLE_SUMS, N_ROLES };

/* The element, converted or not, that a factor is, or is under a condition and else 0. */
static const Expr *element_of(const Expr *factor)
{
    Expr *where;
    while (factor->kind == EX_CAST)
        factor = factor->u.arg[0];
    return expr_copied(factor, &where);
}

/* The store of a block that adds products. */
static const Stmt *added_product(Context *c, const Stmt *block, const Expr *factor[2])
{
    const Stmt *store = flow_single_store(c, block);
    if (!store || store->u.store.op != STORE_ADD || store->u.store.value->kind != EX_MUL)
        return NULL;
    for (int i = 0; i < 2; i++)
        factor[i] = store->u.store.value->u.arg[i];
    return store;
}

/* The block adds products of two elements, each of which may be 0 under a condition. */
static bool adds_elements(Context *c, const Stmt *block, const Expr *factor[2])
{
    const Stmt *store = added_product(c, block, factor);
    for (int i = 0; store && i < 2; i++) {
        const Expr *load = element_of(factor[i]);
        if (!load || load->u.load.buffer->id == store->u.store.buffer->id)
            return false;
    }
    return store;
}

static const Buffer *buffer_of(const Expr *factor)
{
    return element_of(factor)->u.load.buffer;
}

/* The iterator that the loop is, from 0. */
static const BlockIter *iter_of_loop(const BlockStmt *block, const ForStmt *loop)
{
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (expr_is_var(iter->binding, loop->var) && expr_is(iter->lo, 0))
            return iter;
    }
    return NULL;
}

/* The factors of a product, and what an iterator is that leads through neither: a batch, in which
 * all products are the same, or none. */
typedef struct {
    const Expr *factor[2];
    int neither; /* ROLE_BATCH, or -1 */
} Product;

/* Which factors the iterator leads through decides its role; -1: it has none. */
static int role_of(const BlockIter *iter, const Product *p)
{
    bool first = expr_uses_var(p->factor[0], iter->var),
         second = expr_uses_var(p->factor[1], iter->var);
    if (iter->kind == ITER_REDUCE)
        return first && second ? ROLE_SUMS : -1;
    return first && second ? ROLE_BATCH : first ? ROLE_ROWS : second ? ROLE_COLUMNS : p->neither;
}

/* The loops of a block by their roles, and the role of the innermost one outside the sum. False
 * where a loop has none. */
static bool find_roles(Schedule *s, const StmtPath *path, const Product *of,
                       ValueList loops[N_ROLES], int *last)
{
    *last = -1;
    for (int i = 0; i < path->n; i++) {
        if (path->items[i]->kind != ST_FOR)
            continue;
        const BlockIter *iter = iter_of_loop(&path_end(path)->u.block, &path->items[i]->u.loop);
        int role = iter ? role_of(iter, of) : -1;
        if (role < 0)
            return false;
        VEC_PUSH(s->ctx->arena, &loops[role], value_loop(path->items[i]));
        *last = role == ROLE_SUMS ? *last : role;
    }
    return true;
}

/* What the factors are, and the loops in the given order of roles. */
static Value value_roles(Schedule *s, Value factors, const ValueList loops[N_ROLES],
                         const int order[N_ROLES])
{
    Value *parts = ARENA_ARRAY(s->ctx->arena, Value, N_ROLES + 1);
    parts[0] = factors;
    for (int i = 0; i < N_ROLES; i++)
        parts[i + 1] = value_list(s, loops[order[i]].items, loops[order[i]].n);
    return value_list(s, parts, N_ROLES + 1);
}

/* The buffers of two elements, and the loops of the block by their roles: of the innermost one
 * outside the sum, the second buffer has other elements. An empty list where a loop has no role. */
static Value value_operands(Schedule *s, const StmtPath *path, const Product *of)
{
    ValueList loops[N_ROLES] = {0};
    int last;
    if (!find_roles(s, path, of, loops, &last))
        return value_list(s, NULL, 0);
    int first = last == ROLE_ROWS;
    Value buffers[] = {value_buffer(buffer_of(of->factor[first])),
                       value_buffer(buffer_of(of->factor[!first]))};
    int order[] = {ROLE_BATCH, first ? ROLE_COLUMNS : ROLE_ROWS, first ? ROLE_ROWS : ROLE_COLUMNS,
                   ROLE_SUMS};
    return value_roles(s, value_list(s, buffers, 2), loops, order);
}

/* The block adds products of elements of two buffers. */
static bool is_contraction(Context *c, const Stmt *block, const Expr *factor[2])
{
    return adds_elements(c, block, factor) && buffer_of(factor[0])->id != buffer_of(factor[1])->id;
}

bool prim_contraction(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *stmt = sched_node(s, &call->contraction.block, &path);
    const Value *repeated = &call->contraction.repeated;
    bool repeats = repeated->kind == VALUE_BOOL && repeated->u.i;
    Product product = {.neither = repeats ? ROLE_BATCH : -1};
    bool two = is_contraction(s->ctx, stmt, product.factor);
    *result = two ? value_operands(s, &path, &product) : value_list(s, NULL, 0);
    return true;
}

/* ---- general contractions -------------------------------------------------------------------- */

static bool uses_iters(const Expr *e, const BlockStmt *block)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_uses_var(e, block->iters[i].var))
            return true;
    return false;
}

/* The load that the expression is, or is under a condition on iterators and else 0. */
static const Expr *element_at(const Expr *e)
{
    Expr *where;
    const Expr *load = expr_copied(e, &where);
    return where && expr_has_load(where) ? NULL : load;
}

/* Finds the two elements that a value is computed from, each of them once or several times. What
 * else it is computed from is the same in all iterations of the block. */
static bool find_two_elements(Context *c, const BlockStmt *block, const Expr *value,
                              const Expr *element[2])
{
    int n = 0;
    for (Cursor at = cursor_expr(c, value); cursor_next(&at);) {
        bool is_element = element_at(at.expr) && uses_iters(at.expr, block);
        if (!is_element && at.expr->kind == EX_VAR && uses_iters(at.expr, block))
            return false;
        if (!is_element)
            continue;
        cursor_prune(&at);
        bool known = false;
        for (int i = 0; i < n; i++)
            known |= expr_equal(element[i], at.expr);
        if (!known && n == 2)
            return false;
        if (!known)
            element[n++] = at.expr;
    }
    return n == 2;
}

/* The block updates elements by values that are computed from two elements of others. */
static bool combines_elements(Context *c, const Stmt *block, const Expr *element[2])
{
    const Stmt *store = flow_single_store(c, block);
    return store && store_updates(store->u.store.op) &&
           !expr_reads(store->u.store.value, store->u.store.buffer) &&
           find_two_elements(c, &block->u.block, store->u.store.value, element);
}

bool prim_general_contraction(Schedule *s, const PrimCall *call, Value *result)
{
    StmtPath path = {0};
    const Stmt *stmt = sched_node(s, &call->general_contraction.block, &path);
    Product of = {.neither = -1};
    bool two =
        is_contraction(s->ctx, stmt, of.factor) || combines_elements(s->ctx, stmt, of.factor);
    *result = two ? value_operands(s, &path, &of) : value_list(s, NULL, 0);
    return true;
}

/* ---- factors --------------------------------------------------------------------------------- */

/* The type of the element that a factor is, converted once or not, or 0 under a condition; "" where
 * it is computed. */
static Value type_of_factor(Schedule *s, const Expr *factor)
{
    Expr *where;
    const Expr *load = expr_copied(factor->kind == EX_CAST ? factor->u.arg[0] : factor, &where);
    const char *type = load ? type_info(load->type)->name : "";
    return (Value){.kind = VALUE_STRING, .u.s = ctx_name(s->ctx, type)};
}

bool prim_factors(Schedule *s, const PrimCall *call, Value *result)
{
    static const int in_order[] = {ROLE_BATCH, ROLE_ROWS, ROLE_COLUMNS, ROLE_SUMS};
    StmtPath path = {0};
    const Stmt *stmt = sched_node(s, &call->factors.block, &path);
    Product of = {.neither = -1};
    ValueList loops[N_ROLES] = {0};
    int last;
    *result = value_list(s, NULL, 0);
    if (!added_product(s->ctx, stmt, of.factor) || !find_roles(s, &path, &of, loops, &last) ||
        loops[ROLE_ROWS].n == 0 || loops[ROLE_COLUMNS].n == 0)
        return true;
    Value types[] = {type_of_factor(s, of.factor[0]), type_of_factor(s, of.factor[1])};
    *result = value_roles(s, value_list(s, types, 2), loops, in_order);
    return true;
}

/* ---- index_map ------------------------------------------------------------------------------- */

/* The iterator counts from 0. */
static Expr *join_iter(Schedule *s, Expr *joined, const BlockIter *iter)
{
    Context *c = s->ctx;
    Expr *value = index_sub(c, expr_var(c, iter->var, span_none()), iter->lo);
    Expr *extent = index_sub(c, iter->hi, iter->lo);
    return joined ? index_add(c, index_mul(c, joined, extent), value) : value;
}

/* The iterator that the loop is, from a number of sizes. */
static const BlockIter *iter_from_sizes(const BlockStmt *block, const ForStmt *loop)
{
    for (int i = 0; i < block->n_iters; i++)
        if (expr_is_var(block->iters[i].binding, loop->var) && expr_of_sizes(block->iters[i].lo))
            return &block->iters[i];
    return NULL;
}

/* The adjacent iterators that are the digits of a fused loop, from *first on; 0: it is no such. */
static int digits_of_loop(Schedule *s, const BlockStmt *block, const ForStmt *loop, int *first)
{
    Context *c = s->ctx;
    Facts *f = facts_of_kernel(c, s->kernel);
    Expr *joined = NULL, *var = expr_var(c, loop->var, span_none());
    int n = 0;
    facts_range(f, loop->var, loop->lo, loop->hi);
    for (int i = 0; i < block->n_iters; i++) {
        const BlockIter *iter = &block->iters[i];
        if (!expr_uses_var(iter->binding, loop->var))
            continue;
        if (!expr_is(iter->lo, 0) || (n > 0 && i != *first + n))
            return 0;
        joined =
            n > 0 ? index_add(c, index_mul(c, joined, iter->hi), iter->binding) : iter->binding;
        *first = n > 0 ? *first : i;
        n++;
    }
    return n > 0 && expr_equal(simplify(f, joined), simplify(f, var)) ? n : 0;
}

/* *out = *out * extent + iterator, for the iterator that the loop is, or those that it joins. */
static bool join_loop(Schedule *s, const PrimCall *call, const Value *value, Expr **out)
{
    const BlockStmt *block = &sched_node(s, &call->index_map.block, NULL)->u.block;
    const ForStmt *loop = &sched_node(s, value, NULL)->u.loop;
    const BlockIter *iter = iter_from_sizes(block, loop);
    int first = iter ? (int)(iter - block->iters) : 0,
        n = iter ? 1 : digits_of_loop(s, block, loop, &first);
    REQUIRE(
        s, E0905, call->index_map.groups.span, n > 0,
        "loop '%s' is not an iterator of block '%s' that starts at a number of sizes, or several "
        "from 0 that are fused; make the map before the loops of the block are split",
        loop->var->name, block->name);
    for (int i = first; i < first + n; i++)
        *out = join_iter(s, *out, &block->iters[i]);
    return true;
}

static bool join_group(Schedule *s, const PrimCall *call, const Value *group, Expr **out)
{
    const Value *loops = group->kind == VALUE_LIST ? group->u.list.items : group;
    int n = group->kind == VALUE_LIST ? group->u.list.n : 1;
    *out = NULL;
    for (int i = 0; i < n; i++)
        if (!join_loop(s, call, &loops[i], out))
            return false;
    *out = *out ? simplify(facts_of_kernel(s->ctx, s->kernel), *out) : expr_index(s->ctx, 0);
    return true;
}

bool prim_index_map(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    const BlockStmt *block = &sched_node(s, &call->index_map.block, NULL)->u.block;
    const Value *groups = &call->index_map.groups;
    Var **from = ARENA_ARRAY(c->arena, Var *, block->n_iters + 1);
    Expr **to = ARENA_ARRAY(c->arena, Expr *, groups->u.list.n + 1);
    for (int i = 0; i < block->n_iters; i++)
        from[i] = block->iters[i].var;
    for (int k = 0; k < groups->u.list.n; k++)
        if (!join_group(s, call, &groups->u.list.items[k], &to[k]))
            return false;
    IndexMap *map = ARENA_NEW(c->arena, IndexMap);
    *map = (IndexMap){from, block->n_iters, to, groups->u.list.n};
    *result = (Value){.kind = VALUE_MAP};
    result->u.map = map;
    return true;
}
