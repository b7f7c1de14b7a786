/* inputs.c - Collects what a kernel states about one of its inputs into one range. */
#include "codegen/inputs.h"

static Expr *shifted(Context *c, Expr *e, int64_t by)
{
    int64_t value, sum;
    if (by == 0)
        return e;
    if (expr_is_const(e, &value) && checked_add(value, by, &sum))
        return expr_index(c, sum);
    return expr_binary(c, by < 0 ? EX_SUB : EX_ADD, e, expr_index(c, by < 0 ? -by : by), e->span);
}

static Expr *either(Context *c, ExprKind kind, Expr *a, Expr *b)
{
    return a ? expr_binary(c, kind, a, b, b->span) : b;
}

static void add_integers(Context *c, const Fact *fact, InputValues *v)
{
    if (fact->lo)
        v->least = either(c, EX_MAX, v->least, shifted(c, fact->lo, fact->excludes_lo));
    if (fact->hi)
        v->greatest =
            either(c, EX_MIN, v->greatest, shifted(c, fact->hi, -(int64_t)fact->excludes_hi));
}

static void add_floats(const Fact *fact, InputValues *v)
{
    if (fact->lo && (!v->has_lo || fact->lo->u.f >= v->lo)) {
        v->excludes_lo =
            fact->excludes_lo || (v->has_lo && v->excludes_lo && v->lo == fact->lo->u.f);
        v->lo = fact->lo->u.f;
        v->has_lo = true;
    }
    if (fact->hi && (!v->has_hi || fact->hi->u.f <= v->hi)) {
        v->excludes_hi =
            fact->excludes_hi || (v->has_hi && v->excludes_hi && v->hi == fact->hi->u.f);
        v->hi = fact->hi->u.f;
        v->has_hi = true;
    }
}

static bool is_about(const Fact *fact, const Param *p)
{
    return fact->kind != FACT_SIZES &&
           (p->buffer ? fact->subject.buffer && fact->subject.buffer->id == p->buffer->id
                      : fact->subject.scalar == p->scalar);
}

static void add_facts(Context *c, const Fact *facts, int n, const Param *p, InputValues *v)
{
    DType type = p->buffer ? p->buffer->type : p->scalar->type;
    for (int i = 0; i < n; i++) {
        if (!is_about(&facts[i], p))
            continue;
        v->limited = true;
        if (facts[i].kind == FACT_ORDER)
            v->order =
                v->order == ORDER_COUNT || facts[i].order > v->order ? facts[i].order : v->order;
        else if (type_is_float(type))
            add_floats(&facts[i], v);
        else
            add_integers(c, &facts[i], v);
    }
}

InputValues input_values(Context *c, const Fact *facts, int n, const Param *param)
{
    InputValues v = {.order = ORDER_COUNT};
    add_facts(c, facts, n, param, &v);
    return v;
}

InputValues input_draw(Context *c, const Kernel *kernel, const Param *param)
{
    InputValues v = {.order = ORDER_COUNT};
    add_facts(c, kernel->facts, kernel->n_facts, param, &v);
    add_facts(c, kernel->draws, kernel->n_draws, param, &v);
    return v;
}
