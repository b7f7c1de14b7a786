/* arg_reducer.c - Makes the reducers of arg_reduce: the larger or smaller value wins, of equal ones
 * the first or the last in the order of the loops. */
#include "passes/analysis/regions/reducer.h"
#include "passes/schedule/combiner.h"
#include "passes/schedule/reductions/arg_reduce.h"

/* In 32 bits where these are known to suffice. */
void arg_choose_types(ArgReduce *a)
{
    Context *c = a->s->ctx;
    for (int i = 0; i < a->positions.n; i++) {
        Position *p = &a->positions.items[i];
        int64_t least, most;
        bool known = bounds_const(a->facts, expr_var(c, p->iter->var, a->span), &least, &most);
        bool narrow = known && least > INT32_MIN && most < INT32_MAX;
        p->type = narrow ? DT_I32 : DT_I64;
        p->upward = a->last == (p->loop->step > 0);
        int64_t large = narrow ? INT32_MAX : INT64_MAX;
        int64_t small = known && least >= 0 ? -1 : narrow ? INT32_MIN : INT64_MIN;
        p->none = expr_int(c, p->type, p->upward ? small : large, a->span);
    }
}

bool arg_needs_index(const ArgReduce *a)
{
    return !a->compare || a->best < 0 || a->g.stores.n > 1;
}

static Expr *operands(const ArgReduce *a, ExprKind kind, const CombinerPart *part)
{
    Context *c = a->s->ctx;
    return expr_binary(c, kind, expr_var(c, part->b, a->span), expr_var(c, part->a, a->span),
                       a->span);
}

/* The right operand wins, by the components from the first on, each where those before are equal:
 * y.value > x.value || y.value == x.value && y.index < x.index. */
static Expr *wins(const ArgReduce *a, const CombinerPart *parts, int n)
{
    Context *c = a->s->ctx;
    Expr *cond = NULL;
    for (int k = n - 1; k >= 0; k--) {
        int index = a->compare ? k - 1 : k;
        bool larger = index < 0 ? a->largest : a->positions.items[index].upward;
        Expr *before = operands(a, larger ? EX_GT : EX_LT, &parts[k]);
        Expr *equal = cond ? cond_and(c, operands(a, EX_EQ, &parts[k]), cond) : NULL;
        cond = equal ? expr_binary(c, EX_OR, before, equal, a->span) : before;
    }
    return cond;
}

Expr *arg_least_value(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    DType type = arg_value(a)->type;
    Expr *start = type_is_float(type) ? expr_float(c, type, 0, a->span) : NULL;
    return reducer_neutral_from(c, a->largest ? STORE_MAX : STORE_MIN, type, start, a->span);
}

static int fill_parts(const ArgReduce *a, CombinerPart *parts)
{
    Context *c = a->s->ctx;
    int n = 0;
    if (a->compare)
        parts[n++] = combiner_part(c, "value", arg_least_value(a));
    for (int i = 0; i < a->positions.n; i++)
        parts[n++] = combiner_part(c, arena_printf(c->arena, i ? "index_%d" : "index", i),
                                   a->positions.items[i].none);
    return n;
}

/* "argmax_f32", "last_argmin_i32", "first": what the reducer is called. */
static const char *reducer_name(const ArgReduce *a)
{
    if (!a->compare)
        return a->last ? "last" : "first";
    return arena_printf(a->s->ctx->arena, "%sarg%s_%s", a->last ? "last_" : "",
                        a->largest ? "max" : "min", type_info(arg_value(a)->type)->name);
}

const Combiner *arg_reducer(const ArgReduce *a)
{
    Context *c = a->s->ctx;
    CombinerPart *parts = ARENA_ARRAY(c->arena, CombinerPart, a->positions.n + 1);
    int n = fill_parts(a, parts);
    Subst *let = ARENA_NEW(c->arena, Subst);
    Expr *choice = wins(a, parts, n);
    *let = (Subst){var_new(c, ctx_name(c, "y_wins"), DT_BOOL, VAR_LET, a->span), choice};
    for (int k = 0; k < n; k++)
        parts[k].value =
            expr_select(c, expr_var(c, let->var, a->span), expr_var(c, parts[k].b, a->span),
                        expr_var(c, parts[k].a, a->span), a->span);
    Combiner *out = ARENA_NEW(c->arena, Combiner);
    *out = (Combiner){.parts = parts,
                      .n = n,
                      .lets = let,
                      .n_lets = 1,
                      .choice = choice,
                      .chooses_b = true,
                      .span = a->span};
    return combiner_named(a->s, reducer_name(a), out);
}
