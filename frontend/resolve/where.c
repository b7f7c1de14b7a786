/* where.c - Resolves the `where` clause of a kernel: conditions on sizes, ranges and orders of
 * inputs.
 *
 *   where N % 4 == 0, eps > 0, 0 < p <= 1, label[b] in 0..C, ptr is nondecreasing
 *
 * An item is taken apart into comparisons of two sides. Where one side is an input, the other is a
 * bound of its values; else both are of sizes. Sizes with values are constants by now, so an item
 * may turn out to be true (and is dropped) or false (and is refused). */
#include "frontend/resolve/internal.h"
#include "passes/analysis/polyhedral/poly.h"
#include "passes/analysis/symbolic/simplify.h"

#include <string.h>

typedef VEC(Fact) FactBuild;

typedef struct {
    Resolver *r;
    Kernel *kernel;
    FactBuild facts;
    int item; /* where the facts of the item at hand begin */
} WhereClause;

static bool refuse(WhereClause *w, Span span, const char *what)
{
    diag_error(w->r->ctx, E0240, span,
               "%s; a condition of 'where' compares sizes (N %% 4 == 0), gives an input a range "
               "(eps > 0, id[i] in 0..V), or states an order (ptr is nondecreasing)",
               what);
    return false;
}

static bool refuse_contradiction(WhereClause *w, Span span, const char *why)
{
    diag_error(w->r->ctx, E0241, span, "no arguments satisfy the 'where' clause: %s", why);
    return false;
}

/* ---- subjects -------------------------------------------------------------------------------- */

static DType subject_type(const Param *p)
{
    return p->buffer ? p->buffer->type : p->scalar->type;
}

static const Symbol *input_named(const WhereClause *w, Name name)
{
    const Symbol *s = names_find(w->r, name);
    bool input =
        s && ((s->kind == SYMBOL_VAR && s->var->kind == VAR_SCALAR) || s->kind == SYMBOL_BUFFER);
    return input ? s : NULL;
}

/* `x` and `x[i, j]` where x is an input. */
static const Symbol *find_subject(const WhereClause *w, const AstExpr *e)
{
    if (e->kind == AE_INDEX)
        e = e->u.index.base;
    return e->kind == AE_NAME ? input_named(w, e->u.name) : NULL;
}

/* Subscripts of a subject stand for every element: as many new names as the buffer has axes. */
static bool check_indices(WhereClause *w, const AstExpr *e, const Buffer *buffer)
{
    if (e->u.index.n != buffer->rank)
        return refuse(w, e->span,
                      "the number of subscripts differs from the number of axes of the buffer");
    for (int i = 0; i < e->u.index.n; i++) {
        const AstExpr *name = e->u.index.items[i];
        if (name->kind != AE_NAME || names_find(w->r, name->u.name))
            return refuse(w, name->span,
                          "a subscript here stands for every index, so it must be an unused name");
        for (int j = 0; j < i; j++)
            if (e->u.index.items[j]->u.name == name->u.name)
                return refuse(
                    w, name->span,
                    "two subscripts have the same name, which would restrict only a diagonal");
    }
    return true;
}

static bool resolve_subject(WhereClause *w, const AstExpr *e, Param *out)
{
    const Symbol *s = find_subject(w, e);
    *out = (Param){.buffer = s->kind == SYMBOL_BUFFER ? s->buffer : NULL,
                   .scalar = s->kind == SYMBOL_VAR ? s->var : NULL};
    if (s->broken)
        return false;
    if (out->buffer && out->buffer->role == ROLE_OUT)
        return refuse(w, e->span, "this is an output, and has no values before the kernel runs");
    if (subject_type(out) == DT_BOOL)
        return refuse(w, e->span, "a bool cannot have a range");
    if (e->kind == AE_INDEX && !out->buffer)
        return refuse(w, e->span, "a scalar has no subscripts");
    return e->kind != AE_INDEX || check_indices(w, e, out->buffer);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Of floating values: a literal in their type. */
static Expr *resolve_float_bound(WhereClause *w, const AstExpr *e, DType type)
{
    Value v = resolve_value(w->r, e);
    Expr *number = v.e && v.literal ? value_convert(w->r, v, type) : NULL;
    if (!v.e || (v.literal && !number))
        return NULL;
    if (!v.literal || number->kind != EX_FLOAT || number->u.f != number->u.f) {
        refuse(w, e->span, "a bound of floating-point values must be a number");
        return NULL;
    }
    return number;
}

static Expr *resolve_end(WhereClause *w, const AstExpr *e, DType type)
{
    if (type_is_float(type))
        return resolve_float_bound(w, e, type);
    Expr *end = resolve_bound(w->r, e, "a bound");
    if (end && !expr_of_sizes(end)) {
        refuse(w, e->span, "a bound of an input must be a number or an expression of sizes");
        return NULL;
    }
    return end;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* The range of the item at hand about the same input that lacks the end that `fact` has; NULL if
 * there is none. */
static Fact *other_half(WhereClause *w, const Fact *fact)
{
    for (int i = w->item; i < w->facts.n; i++) {
        Fact *f = &w->facts.items[i];
        if (f->kind == FACT_VALUES && f->subject.buffer == fact->subject.buffer &&
            f->subject.scalar == fact->subject.scalar && (fact->lo ? !f->lo : !f->hi) &&
            !(fact->lo && fact->hi))
            return f;
    }
    return NULL;
}

static void add_values(WhereClause *w, Fact fact)
{
    Fact *half = other_half(w, &fact);
    if (!half) {
        VEC_PUSH(w->r->ctx->arena, &w->facts, fact);
    } else if (fact.lo) {
        half->lo = fact.lo;
        half->excludes_lo = fact.excludes_lo;
    } else {
        half->hi = fact.hi;
        half->excludes_hi = fact.excludes_hi;
    }
}

/* subject OP bound. */
static bool resolve_values(WhereClause *w, const AstExpr *subject, ExprKind op,
                           const AstExpr *bound, Span span)
{
    Fact fact = {.kind = FACT_VALUES, .span = span};
    if (!resolve_subject(w, subject, &fact.subject))
        return false;
    if (op == EX_NE)
        return refuse(w, span, "'!=' does not define a range");
    Expr *end = resolve_end(w, bound, subject_type(&fact.subject));
    if (!end)
        return false;
    if (op != EX_LT && op != EX_LE)
        fact.lo = end;
    if (op != EX_GT && op != EX_GE)
        fact.hi = end;
    fact.excludes_lo = op == EX_GT;
    fact.excludes_hi = op == EX_LT;
    add_values(w, fact);
    return true;
}

static ExprKind mirrored(ExprKind op)
{
    switch (op) {
    case EX_LT: return EX_GT;
    case EX_LE: return EX_GE;
    case EX_GT: return EX_LT;
    case EX_GE: return EX_LE;
    default: return op;
    }
}

/* A condition that no input takes part in. */
static bool resolve_sizes_fact(WhereClause *w, const AstExpr *e)
{
    Fact fact = {.kind = FACT_SIZES,
                 .span = e->span,
                 .cond = resolve_condition(w->r, e, "a condition of 'where'")};
    if (!fact.cond)
        return false;
    if (!expr_of_sizes(fact.cond))
        return refuse(w, e->span, "this combines an input with other operands");
    VEC_PUSH(w->r->ctx->arena, &w->facts, fact);
    return true;
}

static bool is_comparison(const AstExpr *e)
{
    return e->kind == AE_BINARY && op_info(e->u.op.op)->class == OP_COMPARE;
}

static bool resolve_comparison(WhereClause *w, const AstExpr *e, AstExpr *a, AstExpr *b)
{
    bool left = find_subject(w, a) != NULL, right = find_subject(w, b) != NULL;
    if (left && right)
        return refuse(w, e->span, "this compares two inputs");
    if (left || right)
        return resolve_values(w, left ? a : b, left ? e->u.op.op : mirrored(e->u.op.op),
                              left ? b : a, e->span);
    AstExpr pair = *e;
    pair.u.op.a = a;
    return resolve_sizes_fact(w, &pair);
}

/* `a < b < c` is a < b and b < c. */
static bool resolve_condition_item(WhereClause *w, const AstExpr *e)
{
    if (e->kind == AE_BINARY && e->u.op.op == EX_AND) {
        bool left = resolve_condition_item(w, e->u.op.a);
        return resolve_condition_item(w, e->u.op.b) && left;
    }
    if (!is_comparison(e))
        return resolve_sizes_fact(w, e);
    AstExpr *a = e->u.op.a;
    bool chain = is_comparison(a) && !a->parenthesized;
    if (chain && !resolve_condition_item(w, a))
        return false;
    return resolve_comparison(w, e, chain ? a->u.op.b : a, e->u.op.b);
}

/* `value in lo..hi`: lo <= value < hi. */
static bool resolve_in(WhereClause *w, const AstFact *f)
{
    if (find_subject(w, f->value))
        return resolve_values(w, f->value, EX_GE, f->lo, f->span) &&
               resolve_values(w, f->value, EX_LT, f->hi, f->span);
    AstExpr low = {.kind = AE_BINARY, .span = f->span, .u.op = {EX_GE, f->value, f->lo}};
    AstExpr high = {.kind = AE_BINARY, .span = f->span, .u.op = {EX_LT, f->value, f->hi}};
    return resolve_sizes_fact(w, &low) && resolve_sizes_fact(w, &high);
}

static bool refuse_order(WhereClause *w, AstName name)
{
    StrBuf all = strbuf_new(w->r->ctx->arena);
    for (int i = 0; i < ORDER_COUNT; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", order_name((Order)i));
    diag_error(w->r->ctx, E0240, name.span, "unknown order '%.60s'; elements can be %s", name.text,
               all.text);
    return false;
}

static bool resolve_order(WhereClause *w, const AstFact *f)
{
    Fact fact = {.kind = FACT_ORDER, .span = f->span, .order = order_find(f->order.text)};
    if (fact.order == ORDER_COUNT)
        return refuse_order(w, f->order);
    if (!find_subject(w, f->value))
        return refuse(w, f->value->span, "only the elements of an input can have an order");
    if (!resolve_subject(w, f->value, &fact.subject))
        return false;
    bool integers = fact.order == ORDER_NONDECREASING || fact.order == ORDER_INCREASING ||
                    type_is_int(subject_type(&fact.subject));
    if (!fact.subject.buffer || fact.subject.buffer->rank != 1 || !integers)
        return refuse(w, f->value->span,
                      integers ? "only a buffer with one axis can have an order"
                               : "only integers can be distinct or a permutation");
    VEC_PUSH(w->r->ctx->arena, &w->facts, fact);
    return true;
}

/* `T in [f16, bf16]`: a type parameter is one of these types. */
static bool resolve_types(WhereClause *w, const AstFact *f)
{
    const AstExpr *name = f->value;
    const Symbol *s = name->kind == AE_NAME ? names_find(w->r, name->u.name) : NULL;
    bool found = false;
    if (!s || s->kind != SYMBOL_TYPE || f->types->kind != AE_LIST)
        return refuse(w, f->span,
                      "`in` takes a range a..b, or a type parameter and types, as in "
                      "T in [f16, bf16]");
    for (int i = 0; i < f->types->u.list.n; i++) {
        const AstExpr *e = f->types->u.list.items[i];
        if (e->kind != AE_NAME)
            return refuse(w, e->span, "this is not the name of a type");
        DType type = resolve_type(w->r, (AstName){e->u.name, e->span});
        if (type == DT_COUNT)
            return false;
        found |= type == s->type;
    }
    return found || s->broken ||
           refuse_contradiction(w, f->span,
                                arena_printf(w->r->ctx->arena, "'%.60s' is %s here", s->name,
                                             type_info(s->type)->name));
}

static bool resolve_item(WhereClause *w, const AstFact *f)
{
    if (f->types)
        return resolve_types(w, f);
    if (f->order.text)
        return resolve_order(w, f);
    return f->lo ? resolve_in(w, f) : resolve_condition_item(w, f->value);
}

/* ---- the clause as a whole ------------------------------------------------------------------- */

/* Drops conditions that are true for the constants of the kernel; false where one is false. */
static bool settle_sizes(WhereClause *w)
{
    Facts *facts = facts_new(w->r->ctx);
    int n = 0;
    for (int i = 0; i < w->facts.n; i++) {
        Fact fact = w->facts.items[i];
        Expr *cond = fact.kind == FACT_SIZES ? simplify(facts, fact.cond) : NULL;
        if (cond && cond->kind == EX_INT && cond->u.i == 0)
            return refuse_contradiction(w, fact.span, "this is false for these sizes");
        if (!cond || cond->kind != EX_INT)
            w->facts.items[n++] = fact;
    }
    w->facts.n = n;
    return true;
}

/* Some sizes satisfy all conditions up to number n. */
static bool sizes_exist(WhereClause *w, int n)
{
    Poly *p = poly_new(w->r->ctx);
    for (int i = 0; i < n; i++)
        if (w->facts.items[i].kind == FACT_SIZES)
            poly_assume(p, &p->top, &p->fixed, w->facts.items[i].cond, HOLDS);
    return poly_solve(p, NULL, 0, NULL) != POLY_NONE;
}

/* The number of a bound, which is a literal. */
static bool end_number(const Expr *e, double *number)
{
    int64_t i;
    if (e && e->kind == EX_FLOAT)
        *number = e->u.f;
    else if (e && expr_is_const(e, &i))
        *number = (double)i;
    else
        return false;
    return true;
}

/* No value is above the lower end of one and below the upper end of the other. */
static bool leaves_nothing(const Fact *low, const Fact *high)
{
    double lo, hi;
    if (!end_number(low->lo, &lo) || !end_number(high->hi, &hi))
        return false;
    double slack =
        type_is_float(subject_type(&low->subject)) ? 0 : low->excludes_lo + high->excludes_hi;
    return lo + slack > hi || (lo == hi && (low->excludes_lo || high->excludes_hi));
}

static bool check_ranges(WhereClause *w)
{
    for (int i = 0; i < w->facts.n; i++)
        for (int j = 0; j < w->facts.n; j++) {
            const Fact *a = &w->facts.items[i], *b = &w->facts.items[j];
            bool same = a->kind == FACT_VALUES && b->kind == FACT_VALUES &&
                        a->subject.buffer == b->subject.buffer &&
                        a->subject.scalar == b->subject.scalar;
            if (same && leaves_nothing(a, b))
                return refuse_contradiction(w, (i > j ? a : b)->span, "this range is empty");
        }
    return true;
}

bool resolve_where(Resolver *r, const AstKernel *k, Kernel *kernel)
{
    WhereClause w = {.r = r, .kernel = kernel};
    bool good = true;
    for (int i = 0; i < k->n_facts; i++) {
        w.item = w.facts.n;
        good = resolve_item(&w, &k->facts[i]) && good;
    }
    good = good && settle_sizes(&w) && check_ranges(&w);
    for (int n = 1; good && n <= w.facts.n; n++)
        if (w.facts.items[n - 1].kind == FACT_SIZES && !sizes_exist(&w, n))
            good = refuse_contradiction(
                &w, w.facts.items[n - 1].span,
                "no sizes satisfy this together with the preceding conditions");
    kernel->facts = w.facts.items;
    kernel->n_facts = w.facts.n;
    return good;
}
