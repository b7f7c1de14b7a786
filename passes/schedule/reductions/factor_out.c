/* factor_out.c - Implements factor_out: takes factors that all terms of a sum have in common out of
 * it, by the distributive law.
 *
 *   for i in M {                                  for i in M {
 *       o[i] = 0;                                     o_unscaled[i] = 0;
 *       for j in N                           =>       for j in N
 *           o[i] += e[i, j] / t[i] * v[j]; }              o_unscaled[i] += e[i, j] * v[j]; }
 *                                                 for i in M
 *                                                     o[i] = o_unscaled[i] / t[i];
 *
 * Softmax before a product of matrices divides each weight by the sum of its row. Taken out of the
 * product, that is one division for each result, and weights and their sum can be computed in the
 * loop of the product (rolling_update). Of a sum of products, as in a * x[j] + a * y[j], come those
 * factors that all of its addends have.
 *
 * Legal: the block is a sum that starts from 0. Common factors are made of sizes, scalars, spatial
 * iterators, and elements that nothing in the loops of the sum writes; nothing else there accesses
 * the result. Each element has a term, since a sum without terms stays 0 even if the factor is not
 * finite.
 * Invariant: integers, which wrap around, stay what they are. Floating-point results change by
 * rounding, and sums without the factor may leave the range of their type. */
#include "passes/analysis/regions/inits.h"
#include "passes/schedule/reductions/factor.h"

typedef struct {
    Factor f;
    Span span;
    int top; /* on the path: the nest of the results stands behind it */
    ExprList times, over;
    Expr *rest;            /* of a term */
    const Buffer *written; /* by the loops, in a factor that has no other fault; or NULL */
    Buffer *sum;           /* without the factors */
} FactorOut;

/* ---- check ----------------------------------------------------------------------------------- */

static bool check_sum(FactorOut *o)
{
    Factor *f = &o->f;
    Schedule *s = f->s;
    const char *why;
    f->anchor = reduction_start(s->ctx, &f->path);
    REQUIRE(s, E0868, o->span, reducer_of(s->ctx, &f->path, f->anchor, &f->r, &why),
            "block '%s' is no sum of its own: %s", f->block->name, why);
    REQUIRE(s, E0868, o->span,
            !f->r.combiner && !f->r.guard && f->r.op == STORE_ADD && f->r.from_identity,
            "block '%s' is not a sum that starts from 0 and adds a product in each iteration",
            f->block->name);
    o->top = factor_top(f);
    return true;
}

/* Made of nothing that changes from term to term. */
static bool is_fixed(const FactorOut *o, const Expr *e)
{
    for (Cursor at = cursor_expr(o->f.s->ctx, e); cursor_next(&at);) {
        const Var *var = at.expr->kind == EX_VAR ? at.expr->u.var : NULL;
        const BlockIter *iter = var ? block_iter(o->f.block, var) : NULL;
        bool changes = iter ? iter->kind != ITER_SPATIAL : var && var->kind == VAR_LOOP;
        if (changes)
            return false;
    }
    return true;
}

/* The same for all terms of an element, also behind them. */
static bool is_common(FactorOut *o, Expr *e)
{
    Context *c = o->f.s->ctx;
    if (!is_fixed(o, e))
        return false;
    AccessList reads = access_list_expr(c, e, NULL);
    for (int i = 0; i < reads.n; i++)
        if (stmt_accesses(c, o->f.path.items[o->top], reads.items[i].buffer, ACCESS_WRITE)) {
            o->written = reads.items[i].buffer;
            return false;
        }
    return true;
}

typedef enum { PART_FACTOR, PART_DIVISOR } PartKind;

static Expr *product(FactorOut *o, Expr *a, Expr *b, Span span)
{
    Expr *unit = expr_number(o->f.s->ctx, a->type, 1, o->span);
    return expr_equal(a, unit)   ? b
           : expr_equal(b, unit) ? a
                                 : expr_binary(o->f.s->ctx, EX_MUL, a, b, span);
}

/* `e` without one factor or divisor; NULL: not all of its addends have it. */
static Expr *without_part(FactorOut *o, Expr *e, const Expr *part, PartKind kind)
{
    Context *c = o->f.s->ctx;
    if (kind == PART_FACTOR && expr_equal(e, part))
        return expr_number(o->f.s->ctx, e->type, 1, o->span);
    bool sum = e->kind == EX_ADD || e->kind == EX_SUB, divides = e->kind == EX_DIV;
    if ((!sum && e->kind != EX_MUL && !divides) || (divides && !type_is_float(e->type)))
        return NULL;
    if (divides && kind == PART_DIVISOR && expr_equal(e->u.arg[1], part))
        return e->u.arg[0];
    Expr *a = without_part(o, e->u.arg[0], part, kind);
    if (divides)
        return a ? expr_binary(c, EX_DIV, a, e->u.arg[1], e->span) : NULL;
    if (a && !sum)
        return product(o, a, e->u.arg[1], e->span);
    Expr *b = a || !sum ? without_part(o, e->u.arg[1], part, kind) : NULL;
    if (!b)
        return NULL;
    return sum ? expr_binary(c, e->kind, a, b, e->span) : product(o, e->u.arg[0], b, e->span);
}

/* Moves those parts that all addends of a sum have to `out`. Returns what is left of the sum. */
static Expr *without_parts(FactorOut *o, Expr *sum, ExprList parts, PartKind kind, ExprList *out)
{
    for (int i = 0; i < parts.n; i++) {
        Expr *rest = without_part(o, sum, parts.items[i], kind);
        if (!rest)
            continue;
        VEC_PUSH(o->f.s->ctx->arena, out, parts.items[i]);
        sum = rest;
    }
    return sum;
}

static Expr *without_factors(FactorOut *o, Expr *e);

/* A sum without the factors that all of its addends have, which are among those of the first. */
static Expr *without_shared(FactorOut *o, Expr *sum)
{
    FactorOut first = *o;
    first.times = first.over = (ExprList){0};
    without_factors(&first, sum->u.arg[0]);
    o->written = first.written;
    sum = without_parts(o, sum, first.times, PART_FACTOR, &o->times);
    return without_parts(o, sum, first.over, PART_DIVISOR, &o->over);
}

/* What is left of a term without its common factors, which go to the lists; NULL: 1. */
static Expr *without_factors(FactorOut *o, Expr *e)
{
    Context *c = o->f.s->ctx;
    if (is_common(o, e)) {
        if (!expr_equal(e, expr_number(o->f.s->ctx, e->type, 1, o->span)))
            VEC_PUSH(c->arena, &o->times, e);
        return NULL;
    }
    bool divides = e->kind == EX_DIV && type_is_float(e->type);
    if (e->kind == EX_ADD || e->kind == EX_SUB)
        return without_shared(o, e);
    if (e->kind != EX_MUL && !divides)
        return e;
    Expr *a = without_factors(o, e->u.arg[0]), *b = e->u.arg[1];
    if (!divides) {
        b = without_factors(o, b);
    } else if (is_common(o, b)) {
        VEC_PUSH(c->arena, &o->over, b);
        return a;
    }
    if (!a && divides)
        a = expr_number(o->f.s->ctx, e->type, 1, o->span);
    return a && b ? expr_binary(c, e->kind, a, b, e->span) : a ? a : b;
}

static bool find_factors(FactorOut *o)
{
    Factor *f = &o->f;
    Name name = f->block->name;
    o->rest = without_factors(o, f->r.parts[0].written);
    bool found = o->times.n + o->over.n > 0;
    REQUIRE(f->s, E0868, o->span, found || !o->written,
            "a factor that the terms of block '%s' have in common is made of '%s', which the loops "
            "of the sum write",
            name, o->written->name);
    REQUIRE(f->s, E0868, o->span, found,
            "the terms of block '%s' have no factor in common: a product is expected, one of whose "
            "factors, or whose divisor, does not use the iterators of the reduction",
            name);
    o->rest = o->rest ? o->rest : expr_number(o->f.s->ctx, f->r.parts[0].written->type, 1, o->span);
    return true;
}

/* Nothing sees the result before it has its factors. */
static bool check_others(FactorOut *o)
{
    Factor *f = &o->f;
    const Buffer *result = f->r.parts[0].target.buffer;
    const Stmt *other =
        flow_other_block(f->s, (Stmt *)f->path.items[o->top], f->node, result, ACCESS_ANY);
    REQUIRE_AT(f->s, E0868, o->span, !other, other,
               "block '%s' accesses '%s' in the loops of the sum, where it has no factors yet",
               stmt_label(other), result->name);
    return true;
}

/* ---- build ----------------------------------------------------------------------------------- */

static Stmt *store_sum(FactorOut *o, StoreOp op, Expr *value)
{
    StoreStmt store = {
        .buffer = o->sum, .index = o->f.r.parts[0].target.index, .op = op, .value = value};
    return stmt_store(o->f.s->ctx, &store, o->f.r.update->span);
}

static Stmt *block_of(FactorOut *o, Stmt *init, Stmt *body)
{
    BlockStmt block = *o->f.block;
    block.name = o->f.name;
    block.id = 0;
    block.init = init;
    block.body = body;
    return stmt_block(o->f.s->ctx, &block, o->f.node->span);
}

/* The result: the sum times the factors, and divided by the divisors. */
static Stmt *store_result(FactorOut *o)
{
    Context *c = o->f.s->ctx;
    BufferElement target = o->f.r.parts[0].target;
    Expr *value = expr_load(c, o->sum, target.index, o->span);
    for (int i = 0; i < o->times.n; i++)
        value = expr_binary(c, EX_MUL, value, o->times.items[i], o->span);
    for (int i = 0; i < o->over.n; i++)
        value = expr_binary(c, EX_DIV, value, o->over.items[i], o->span);
    StoreStmt store = {.buffer = target.buffer, .index = target.index, .value = value};
    return stmt_store(c, &store, o->f.r.update->span);
}

static Stmt *nest_of_results(FactorOut *o)
{
    Context *c = o->f.s->ctx;
    Stmt *bottom, *nest = factor_spread(&o->f, o->top, store_result(o), &bottom);
    if (!nest)
        return NULL;
    BlockStmt block = bottom->u.block;
    block.name = o->f.block->name;
    block.id = o->f.block->id;
    return stmt_replace(c, nest, bottom, stmt_block(c, &block, o->f.node->span));
}

static Stmt *new_body(FactorOut *o, Stmt *sum, Stmt *results)
{
    Schedule *s = o->f.s;
    Stmt *top = (Stmt *)o->f.path.items[o->top];
    Stmt *pair[2] = {stmt_replace(s->ctx, top, o->f.node, sum), results};
    Stmt *body = stmt_replace(s->ctx, s->kernel->body, top, stmt_seq(s->ctx, pair, 2, top->span));
    return flow_declare_beside(s, body, o->f.r.parts[0].target.buffer, o->sum);
}

/* Each result is made of terms: in a model in which these set the element, none is read unset. */
static bool check_terms(FactorOut *o, Stmt *results)
{
    Stmt *model = new_body(o, block_of(o, NULL, store_sum(o, STORE_SET, o->rest)), results);
    REQUIRE(o->f.s, E0868, o->span, flow_written_before_use(o->f.s, model, o->sum),
            "it is not proved that each sum of block '%s' has a term: one without terms is 0, "
            "whatever the factor; sizes are at least 1 if a where clause says so",
            o->f.block->name);
    return true;
}

bool prim_factor_out(Schedule *s, const PrimCall *call, Value *result)
{
    FactorOut o = {.f = {.s = s}, .span = call->factor_out.block.span};
    o.f.node = sched_node(s, &call->factor_out.block, &o.f.path);
    o.f.block = &o.f.node->u.block;
    if (!check_sum(&o) || !find_factors(&o) || !check_others(&o))
        return false;
    const ReducerPart *part = &o.f.r.parts[0];
    const Buffer *of = part->target.buffer;
    o.f.name = factor_name(&o.f, "unscaled");
    o.sum = factor_buffer(&o.f, 0, o.f.name,
                          &(Buffer){.shape = of->shape, .rank = of->rank, .origin = call->span});
    Stmt *results = nest_of_results(&o);
    if (!results || !check_terms(&o, results))
        return false;
    Stmt *sum =
        block_of(&o, store_sum(&o, STORE_SET, part->start), store_sum(&o, STORE_ADD, o.rest));
    Stmt *body = new_body(&o, sum, results);
    if (!flow_recheck_all(s, body, call->span))
        return false;
    s->reassociates = o.f.r.rounds;
    sched_replace_body(s, body);
    *result = value_block(sum);
    return true;
}
