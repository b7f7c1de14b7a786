/* mask.c - Implements mask: gives a block all iterations of its loops, with a value that changes
 * nothing in those that its domains leave out.
 *
 *   for i in 8, j in 8                           for i in 8, j in 8
 *       m: block (.., reduce j in i + 1 = j)  =>     m: block (.., reduce j in 8 = j)
 *           m[i] max= x[i, j]                            m[i] max= j < i + 1 ? x[i, j] : -inf
 *
 * It follows widen, and is undone by narrow(loop, masked). A range that depends on other loops, or
 * on data, so becomes a mask, as programs write it that compute whole tiles:
 *
 *   w[i, j] = exp(s[i, j] - m[i])   =>   w[i, j] = j < i + 1 ? exp(s[i, j] - m[i]) : 0
 *
 * Terms that such elements make 0 need no condition of their own: t[i] += w[i, j]. Neither do
 * products with them, y[i] += w[i, j] * v[j], where the program allows products of few digits: one
 * of 0 and an infinity may be NaN then.
 *
 * Legal: the domains that leave out iterations are those of a reduction by an operator with a
 * neutral element, or of a block that alone sets elements of a temp, each its own, so that nobody
 * reads the others. What is read without a condition exists, and is set before.
 * Invariant: every element that is read has the value that it had. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/blocks/einsum.h"

enum { FEW_DIGITS = 11 };

typedef struct {
    Schedule *s;
    Span span;
    StmtPath path;
    const BlockStmt *given;
    BlockStmt now;          /* with all iterations */
    const StoreStmt *store; /* of the block, without lets */
    Expr *neutral;
    Expr *where; /* the iterations that there were */
} Mask;

/* ---- the iterations -------------------------------------------------------------------------- */

/* The loop that the iterator is, over a range of sizes; NULL: there is none. */
static const ForStmt *loop_of(const Mask *m, const BlockIter *iter)
{
    for (int i = 0; i < m->path.n; i++) {
        const ForStmt *loop = &m->path.items[i]->u.loop;
        if (m->path.items[i]->kind == ST_FOR && expr_is_var(iter->binding, loop->var) &&
            loop->step == 1 && expr_of_sizes(loop->lo) && expr_of_sizes(loop->hi))
            return loop;
    }
    return NULL;
}

/* Adds a condition of the old domain unless it holds in all of the loop. */
static void add_condition(Mask *m, Facts *facts, ExprKind kind, const BlockIter *iter, Expr *bound)
{
    Context *c = m->s->ctx;
    Expr *cond = expr_binary(c, kind, expr_var(c, iter->var, m->span), bound, m->span);
    if (!prove(facts, cond))
        m->where = cond_and(c, m->where, cond);
}

/* Gives the iterators that leave out iterations of their loops all of them. */
static void take_all(Mask *m)
{
    Schedule *s = m->s;
    m->now = *m->given;
    BlockIter *iters = block_own_iters(s->ctx, &m->now, 0);
    IterKind kind = m->store->op == STORE_SET ? ITER_SPATIAL : ITER_REDUCE;
    for (int i = 0; i < m->now.n_iters; i++) {
        const ForStmt *loop = loop_of(m, &iters[i]);
        if (!loop || iters[i].kind != kind)
            continue;
        Facts *facts = facts_of_kernel(s->ctx, s->kernel);
        for (int k = 0; k < i; k++)
            facts_range(facts, iters[k].var, iters[k].lo, iters[k].hi);
        facts_range(facts, iters[i].var, loop->lo, loop->hi);
        add_condition(m, facts, EX_GE, &iters[i], iters[i].lo);
        add_condition(m, facts, EX_LT, &iters[i], iters[i].hi);
        iters[i].lo = loop->lo;
        iters[i].hi = loop->hi;
    }
}

/* What holds in all iterations of the block as it is now. */
static Facts *facts_now(const Mask *m)
{
    Facts *facts = facts_of_kernel(m->s->ctx, m->s->kernel);
    for (int i = 0; i < m->now.n_iters; i++)
        facts_range(facts, m->now.iters[i].var, m->now.iters[i].lo, m->now.iters[i].hi);
    return facts;
}

/* ---- terms that are neutral already ---------------------------------------------------------- */

/* The only block that writes the temp, if it sets one element of its own in each instance. */
static const StoreStmt *only_store(const Mask *m, const Buffer *buffer)
{
    const Stmt *writer = only_block_accessing(m->s->ctx, m->s->kernel->body, buffer, ACCESS_WRITE);
    const Stmt *store = writer ? flow_single_store(m->s->ctx, writer) : NULL;
    int *iters = writer ? ARENA_ARRAY(m->s->ctx->arena, int, writer->u.block.n_iters + 1) : NULL;
    bool sets = store && buffer->role == ROLE_TEMP && !writer->u.block.init &&
                store->u.store.op == STORE_SET && buffer->rank == writer->u.block.n_iters &&
                flow_pure_index(&writer->u.block, buffer, store->u.store.index, iters);
    return sets ? &store->u.store : NULL;
}

/* The element is that value wherever `where` does not hold: its writer has chosen it there. */
static bool is_chosen(const Mask *m, const Expr *load, const Expr *neutral)
{
    Context *c = m->s->ctx;
    const Buffer *buffer = load->u.load.buffer;
    const StoreStmt *store = only_store(m, buffer);
    if (!store || store->value->kind != EX_SELECT)
        return false;
    Expr *const *arg = store->value->u.arg, *cond = arg[0];
    bool first = expr_equal(arg[1], neutral);
    if (!first && !expr_equal(arg[2], neutral))
        return false;
    SubstList map = {0};
    for (int i = 0; i < buffer->rank; i++)
        VEC_PUSH(c->arena, &map, ((Subst){store->index[i]->u.var, load->u.load.index[i]}));
    cond = expr_subst(c, first ? expr_unary(c, EX_NOT, cond, m->span) : cond, map.items, map.n);
    Facts *facts = facts_now(m);
    facts_assume(facts, cond);
    return prove(facts, m->where);
}

/* A product with 0 is one of no effect: of integers, and of floats where few digits are asked
 * for. */
static bool allows_products(const Mask *m)
{
    int digits = m->store->buffer->digits.products;
    return m->store->op == STORE_ADD &&
           (!type_is_float(m->store->buffer->type) || (digits > 0 && digits <= FEW_DIGITS));
}

/* The value is neutral where `where` does not hold: an element that is, or a product with 0. */
static bool is_neutral(const Mask *m, const Expr *e, const Expr *neutral)
{
    Context *c = m->s->ctx;
    const Expr *a = e->kind == EX_CAST || e->kind == EX_MUL ? e->u.arg[0] : NULL;
    switch (e->kind) {
    case EX_LOAD: return e->type == neutral->type && is_chosen(m, e, neutral);
    case EX_CAST: /* of a float, such as 0 that was rounded */
        return type_is_float(e->type) && type_is_float(a->type) && neutral->u.f == 0 &&
               is_neutral(m, a, expr_float(c, a->type, neutral->u.f, e->span));
    case EX_MUL:
        return allows_products(m) &&
               (is_neutral(m, a, neutral) || is_neutral(m, e->u.arg[1], neutral));
    default: return false;
    }
}

/* ---- the step -------------------------------------------------------------------------------- */

static bool find_neutral(Mask *m)
{
    Context *c = m->s->ctx;
    const Stmt *init = m->given->init ? stmt_single_store(m->given->init) : NULL;
    const Expr *start = init && init->u.store.value->kind == EX_FLOAT ? init->u.store.value : NULL;
    DType type = m->store->buffer->type;
    m->neutral =
        m->store->op == STORE_SET
            ? reducer_neutral_from(c, STORE_ADD, type, expr_float(c, DT_F32, 0, m->span), m->span)
            : reducer_neutral_from(c, m->store->op, type, start, m->span);
    REQUIRE(m->s, E0879, m->span, m->neutral && type != DT_BOOL,
            "no value of block '%s' is known to change nothing", m->given->name);
    return true;
}

/* Each instance sets an element of its own, of a temp that no other block writes, and the elements
 * for the other iterations exist. */
static bool check_elements(const Mask *m)
{
    Schedule *s = m->s;
    const Buffer *buffer = m->store->buffer;
    Expr *at = expr_load(s->ctx, (Buffer *)buffer, m->store->index, m->span);
    REQUIRE(s, E0879, m->span,
            m->store->op != STORE_SET ||
                (only_store(m, buffer) && einsum_loads_exist(s->ctx, facts_now(m), at)),
            "elements of '%s' that block '%s' does not set may be in use, or not exist; they are "
            "free if the block alone writes '%s', a temp with each iterator as a subscript",
            buffer->name, m->given->name, buffer->name);
    return true;
}

/* Whether the term of a store has the mask, or is plain as it has no effect elsewhere anyway. */
typedef enum { TERM_MASKED, TERM_PLAIN } Term;

/* The store in all iterations. */
static Stmt *masked_store(const Mask *m, Term term)
{
    StoreStmt store = *m->store;
    if (term == TERM_MASKED)
        store.value = expr_select(m->s->ctx, m->where, store.value, m->neutral, store.value->span);
    return stmt_store(m->s->ctx, &store, m->span);
}

/* The kernel's body with the block in all iterations. */
static Stmt *with_all(const Mask *m, Stmt *block, Term term)
{
    BlockStmt all = m->now;
    all.body = masked_store(m, term);
    Stmt *now = stmt_stamp(stmt_block(m->s->ctx, &all, block->span), block);
    return stmt_replace(m->s->ctx, m->s->kernel->body, block, now);
}

/* What the block reads in all iterations has been set there. */
static bool reads_are_set(const Mask *m, Stmt *body)
{
    AccessList reads = access_list_expr(m->s->ctx, m->store->value, NULL);
    bool set = true;
    for (int i = 0; i < reads.n; i++) {
        const Buffer *read = reads.items[i].buffer;
        set &= (read->role != ROLE_TEMP && read->role != ROLE_OUT) ||
               flow_written_before_use(m->s, body, read);
    }
    return set;
}

/* Terms have no effect in the other iterations, and all that they read is there. */
static bool needs_no_condition(const Mask *m, Stmt *block)
{
    const Expr *value = m->store->value;
    return m->store->op != STORE_SET && is_neutral(m, value, m->neutral) &&
           einsum_loads_exist(m->s->ctx, facts_now(m), value) &&
           reads_are_set(m, with_all(m, block, TERM_PLAIN));
}

bool prim_mask(Schedule *s, const PrimCall *call, Value *result)
{
    (void)result;
    Mask m = {.s = s, .span = call->span};
    Stmt *block = sched_node(s, &call->mask.block, &m.path);
    const Stmt *store = flow_single_store(s->ctx, block);
    m.given = &block->u.block;
    REQUIRE(s, E0879, call->span,
            store && !m.given->instruction && !m.given->atomic &&
                (m.given->init || store->u.store.op == STORE_SET) &&
                !expr_reads(store->u.store.value, store->u.store.buffer),
            "block '%s' is not a store or a reduction with its init", m.given->name);
    m.store = &store->u.store;
    take_all(&m);
    if (!m.where) /* all ranges are whole */
        return true;
    if (!find_neutral(&m) || !check_elements(&m))
        return false;
    Stmt *body = with_all(&m, block, needs_no_condition(&m, block) ? TERM_PLAIN : TERM_MASKED);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    return true;
}
