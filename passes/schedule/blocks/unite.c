/* unite.c - Implements unite: makes one block of two that do the same in different iterations.
 *
 *   for i in N, j in N {                             for i in N, j in N
 *       lower: block (i = i, j in i = j)                 lower: block (i = i, j = j)
 *           y[i, j] += x[i, j];                  =>          y[i, j] += x[i, j];
 *       upper: block (i = i, j in i..N = j)
 *           y[i, j] += x[i, j];
 *   }
 *
 * Both run for some iterations of the loops around them. In those in which one runs, the other
 * would do the same, where what holds there is known: a[i, i] is a[i, j] where j is i.
 *
 * Legal: the blocks stand side by side, no iteration runs both, and a condition says in which one
 * or the other runs.
 * Invariant: every iteration of the loops runs what it ran, in the same place. */
#include "passes/schedule/blocks/normalize.h"
#include "passes/shared/rebuild.h"

typedef struct {
    Schedule *s;
    Span span;
    Normal one, two; /* two stands behind one */
    Facts *facts;    /* in the loops around both */
} Unite;

/* ---- what they do ---------------------------------------------------------------------------- */

/* Both have one value where the facts hold. */
static bool exprs_alike(Facts *f, Expr *a, Expr *b)
{
    bool leaf = a->kind != EX_LOAD && expr_operands(a) == 0;
    if (a->type == DT_INDEX && b->type == DT_INDEX)
        return prove_compare(f, a, EX_EQ, b);
    if (leaf || a->kind != b->kind || a->type != b->type || expr_operands(a) != expr_operands(b))
        return expr_equal(a, b);
    if ((a->kind == EX_LOAD && a->u.load.buffer->id != b->u.load.buffer->id) ||
        (a->kind == EX_CALL && a->u.call.call != b->u.call.call))
        return false;
    for (int i = 0; i < expr_operands(a); i++)
        if (!exprs_alike(f, expr_operand(a, i), expr_operand(b, i)))
            return false;
    return true;
}

static bool stores_alike(Facts *f, const Stmt *a, const Stmt *b)
{
    const StoreStmt *x = &a->u.store, *y = &b->u.store;
    bool alike = x->buffer->id == y->buffer->id && x->op == y->op && x->atomic == y->atomic;
    for (int i = 0; i < x->buffer->rank && alike; i++)
        alike = exprs_alike(f, x->index[i], y->index[i]);
    return alike && exprs_alike(f, x->value, y->value);
}

/* The store of the block, of loops; NULL: it is no single store. */
static Stmt *store_of(const Normal *x)
{
    const BlockStmt *b = x->block;
    bool plain = b->body->kind == ST_STORE && !b->init && !b->atomic && b->annotations.n == 0;
    return plain ? stmt_subst(x->s->ctx, b->body, block_bindings(x->s->ctx, b), b->n_iters) : NULL;
}

static void assume_all(Facts *f, const ExprList *conds)
{
    for (int i = 0; i < conds->n; i++)
        facts_assume(f, conds->items[i]);
}

/* Where the first runs, the second would do the same, or the other way round. */
static bool check_alike(const Unite *u, const Normal *runs, const Normal *other)
{
    FactsMark mark = facts_mark(u->facts);
    Stmt *a = store_of(runs), *b = store_of(other);
    for (int i = 0; i < 2; i++) {
        const Normal *x = i ? other : runs;
        REQUIRE_AT(u->s, E0909, u->span, i ? b : a, x->stmt,
                   "block '%s' is not a single store without init and annotations", x->block->name);
    }
    assume_all(u->facts, &runs->where);
    bool alike = stores_alike(u->facts, a, b);
    facts_reset(u->facts, mark);
    REQUIRE_AT(u->s, E0909, u->span, alike, runs->stmt,
               "where block '%s' runs, block '%s' would not provably store the same",
               runs->block->name, other->block->name);
    return true;
}

/* ---- where they run -------------------------------------------------------------------------- */

static Expr *negated(Context *c, Expr *cond)
{
    return expr_unary(c, EX_NOT, cond, cond->span);
}

/* If a holds, then b does. */
static bool implies(const Unite *u, Expr *a, Expr *b)
{
    FactsMark mark = facts_mark(u->facts);
    facts_assume(u->facts, a);
    bool holds = prove(u->facts, b);
    facts_reset(u->facts, mark);
    return holds;
}

/* No iteration runs both. */
static bool check_apart(const Unite *u)
{
    FactsMark mark = facts_mark(u->facts);
    bool apart = false;
    assume_all(u->facts, &u->one.where);
    for (int i = 0; i < u->two.where.n; i++)
        apart |= prove(u->facts, negated(u->s->ctx, u->two.where.items[i]));
    facts_reset(u->facts, mark);
    REQUIRE(u->s, E0909, u->span, apart,
            "an iteration might run both '%s' and '%s', which would be one run then",
            u->one.block->name, u->two.block->name);
    return true;
}

/* Adds that a or b holds, unless it is known. False: no single condition says so. */
static bool add_either(const Unite *u, Expr *a, Expr *b, ExprList *out)
{
    Context *c = u->s->ctx;
    if (implies(u, negated(c, a), b))
        return true;
    Expr *either = implies(u, a, b) ? b : implies(u, b, a) ? a : NULL;
    if (either && !expr_list_has(out, either))
        VEC_PUSH(c->arena, out, either);
    return either != NULL;
}

/* One or the other runs: each condition of one, or each of the other. */
static bool find_where(const Unite *u, ExprList *out)
{
    const ExprList *a = &u->one.where, *b = &u->two.where;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < b->n; k++)
            REQUIRE(u->s, E0909, u->span, add_either(u, a->items[i], b->items[k], out),
                    "no condition is found that says where '%s' or '%s' runs: %s, or %s",
                    u->one.block->name, u->two.block->name, expr_text(u->s->ctx, a->items[i]),
                    expr_text(u->s->ctx, b->items[k]));
    return true;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The blocks are adjacent statements. */
static bool check_places(Unite *u)
{
    const StmtPath *a = &u->one.path, *b = &u->two.path;
    const Stmt *seq = a->n > 1 ? a->items[a->n - 2] : NULL;
    REQUIRE(u->s, E0909, u->span,
            seq && a->n == b->n && seq == b->items[b->n - 2] && seq->kind == ST_SEQ &&
                stmt_place(seq, u->two.stmt) == stmt_place(seq, u->one.stmt) + 1,
            "block '%s' does not stand directly behind block '%s'; merge their loops first",
            u->two.block->name, u->one.block->name);
    return true;
}

bool prim_unite(Schedule *s, const PrimCall *call, Value *result)
{
    Context *c = s->ctx;
    ExprList where = {0};
    Unite u = {.s = s, .span = call->span};
    u.one = u.two = (Normal){.s = s, .span = call->span};
    if (!normal_find(&u.one, &call->unite.first) || !normal_find(&u.two, &call->unite.second) ||
        !check_places(&u))
        return false;
    u.facts = sched_facts(s, &u.one.path);
    Normal *kept = u.one.n >= u.two.n ? &u.one : &u.two, *gone = kept == &u.one ? &u.two : &u.one;
    if (!check_alike(&u, gone, kept) || !check_apart(&u) || !find_where(&u, &where))
        return false;
    kept->where = where;
    Stmt *now = normal_build(kept);
    Stmt *body = now ? stmt_replace(c, s->kernel->body, kept->stmt, now) : NULL;
    body = body ? stmt_replace(c, body, gone->stmt, NULL) : NULL;
    if (!body || !flow_recheck_all(s, body, call->span))
        return false;
    sched_replace_body(s, body);
    *result = value_block(now);
    return true;
}
