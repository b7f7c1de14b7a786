/* sizes.c - Evaluates expressions of symbolic sizes in scripts: N / 4, N % 4 == 0 && M > 64.
 *
 * They have no value before a launch, so they stay expressions, for `specialize`. What the `where`
 * clause decides becomes a number or a truth value. */
#include "frontend/script/internal.h"
#include "passes/analysis/symbolic/simplify.h"

Value script_sizes(Script *s, Expr *e, Span span)
{
    Facts *facts = facts_of_kernel(s->c, s->kernel);
    Value value = {.kind = VALUE_SIZES, .span = span};
    int64_t known;
    value.u.sizes = e;
    bool is_known = expr_is_const(simplify(facts, e), &known);
    if (!is_known && e->type == DT_BOOL) {
        known = prove(facts, e);
        is_known = known || prove(facts, expr_unary(s->c, EX_NOT, e, span));
    }
    if (is_known)
        value = (Value){
            .kind = e->type == DT_BOOL ? VALUE_BOOL : VALUE_INT, .span = span, .u.i = known};
    return value;
}

bool script_no_value(Script *s, const Value *value, const char *what)
{
    return script_error(s, E0313, value->span,
                        "%s must be known here, but '%s' has no value before a launch; set the "
                        "sizes with -D, or use `specialize`",
                        what, expr_text(s->c, value->u.sizes));
}

/* An operand as an expression of `type`; NULL after an error. */
static Expr *operand(Script *s, const AstExpr *e, const Value *value, DType type)
{
    bool conditions = type == DT_BOOL, sizes = value->kind == VALUE_SIZES;
    if (sizes && value->u.sizes->type == type)
        return value->u.sizes;
    if (value->kind == (conditions ? VALUE_BOOL : VALUE_INT))
        return expr_int(s->c, type, value->u.i, value->span);
    script_error(s, E0319, value->span, "'%s' of sizes takes %s, found %s",
                 op_info(e->u.op.op)->token, conditions ? "conditions" : "integers and sizes",
                 sizes ? expr_text(s->c, value->u.sizes) : value_kind_name(value->kind));
    return NULL;
}

/* Sizes may be 0, and a launch must not divide by that. */
static bool check_divisor(Script *s, Expr *divisor, Span span)
{
    Facts *facts = facts_of_kernel(s->c, s->kernel);
    if (prove_compare(facts, divisor, EX_GE, expr_index(s->c, 1)))
        return true;
    return script_error(s, E0319, span,
                        "the divisor '%s' may be less than 1; say in the `where` clause that it is "
                        "not",
                        expr_text(s->c, divisor));
}

bool script_sizes_binary(Script *s, const AstExpr *e, const Value *a, const Value *b, Value *out)
{
    ExprKind op = e->u.op.op;
    OpClass class = op_info(op)->class;
    DType type = class == OP_LOGIC ? DT_BOOL : DT_INDEX;
    if (class != OP_LOGIC && class != OP_ARITH && class != OP_COMPARE)
        return script_error(s, E0319, e->span, "sizes take + - * / %% and comparisons, not '%s'",
                            op_info(op)->token);
    Expr *left = operand(s, e, a, type), *right = left ? operand(s, e, b, type) : NULL;
    if (!right)
        return false;
    if ((op == EX_DIV || op == EX_MOD) && !check_divisor(s, right, e->u.op.b->span))
        return false;
    Expr *made = expr_binary(s->c, op, left, right, e->span);
    if (expr_division_levels(made) > EXPR_MAX_DIVISIONS)
        return script_error(s, E0319, e->span,
                            "quotients and remainders are nested more than %d levels deep",
                            EXPR_MAX_DIVISIONS);
    *out = script_sizes(s, made, e->span);
    return true;
}

bool script_sizes_unary(Script *s, const AstExpr *e, const Value *a, Value *out)
{
    if (e->u.op.op != EX_NOT && e->u.op.op != EX_NEG)
        return script_error(s, E0319, e->span, "sizes take - and !, not '%s'",
                            op_info(e->u.op.op)->token);
    Expr *of = operand(s, e, a, e->u.op.op == EX_NOT ? DT_BOOL : DT_INDEX);
    if (!of)
        return false;
    *out = script_sizes(s, expr_unary(s->c, e->u.op.op, of, e->span), e->span);
    return true;
}
