/* evaluate.c - Evaluates integer expressions of variables with known values. */
#include "passes/analysis/symbolic/interval.h"
#include "passes/analysis/symbolic/simplify.h"

static bool divide(ExprKind kind, int64_t a, int64_t b, int64_t *value)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *value = kind == EX_DIV ? a / b : a % b;
    return true;
}

static bool eval_binary(ExprKind kind, int64_t a, int64_t b, int64_t *value)
{
    switch (kind) {
    case EX_ADD: return checked_add(a, b, value);
    case EX_SUB: return checked_sub(a, b, value);
    case EX_MUL: return checked_mul(a, b, value);
    case EX_DIV:
    case EX_MOD: return divide(kind, a, b, value);
    case EX_MIN: *value = a < b ? a : b; return true;
    case EX_MAX: *value = a > b ? a : b; return true;
    case EX_EQ: *value = a == b; return true;
    case EX_NE: *value = a != b; return true;
    case EX_LT: *value = a < b; return true;
    case EX_LE: *value = a <= b; return true;
    case EX_GT: *value = a > b; return true;
    case EX_GE: *value = a >= b; return true;
    case EX_AND: *value = a && b; return true;
    case EX_OR: *value = a || b; return true;
    default: return false;
    }
}

static bool lookup(const VarValue *env, int n, const Var *var, int64_t *value)
{
    while (n > 0 && env[n - 1].var != var)
        n--;
    if (n > 0)
        *value = env[n - 1].value;
    return n > 0;
}

bool expr_eval(const Expr *e, const VarValue *env, int n, int64_t *value)
{
    Expr *const *arg = e->u.arg;
    int64_t a, b;
    if (type_is_float(e->type))
        return false;
    if (expr_is_binary(e->kind))
        return expr_eval(arg[0], env, n, &a) && expr_eval(arg[1], env, n, &b) &&
               eval_binary(e->kind, a, b, value);
    switch (e->kind) {
    case EX_INT: *value = e->u.i; return true;
    case EX_VAR: return lookup(env, n, e->u.var, value);
    case EX_NEG: return expr_eval(arg[0], env, n, &a) && checked_sub(0, a, value);
    case EX_NOT: *value = 0; return expr_eval(arg[0], env, n, &a) && (*value = !a, true);
    case EX_SELECT:
        return expr_eval(arg[0], env, n, &a) && expr_eval(arg[a ? 1 : 2], env, n, value);
    case EX_CAST: return expr_eval(arg[0], env, n, value) && type_holds(e->type, *value);
    default: return false;
    }
}
