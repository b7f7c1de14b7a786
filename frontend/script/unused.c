/* unused.c - Warns of parameters of a schedule that its script does not use: setting them changes
 * nothing. */
#include "frontend/script/internal.h"

static bool expr_names(const AstExpr *e, Name name);

static bool any_names(AstExpr *const *items, int n, Name name)
{
    for (int i = 0; i < n; i++)
        if (expr_names(items[i], name))
            return true;
    return false;
}

static bool argument_names(const AstArg *args, int n, Name name)
{
    for (int i = 0; i < n; i++)
        if (expr_names(args[i].value, name))
            return true;
    return false;
}

/* The expression, which may be NULL, has the name somewhere. */
static bool expr_names(const AstExpr *e, Name name)
{
    if (!e)
        return false;
    switch (e->kind) {
    case AE_NAME: return e->u.name == name;
    case AE_LIST:
    case AE_TUPLE: return any_names(e->u.list.items, e->u.list.n, name);
    case AE_RANGE: return expr_names(e->u.range.lo, name) || expr_names(e->u.range.hi, name);
    case AE_MAP: return expr_names(e->u.map.lo, name) || expr_names(e->u.map.hi, name);
    case AE_SLICE: return expr_names(e->u.slice.lo, name) || expr_names(e->u.slice.hi, name);
    case AE_INDEX:
        return expr_names(e->u.index.base, name) || any_names(e->u.index.items, e->u.index.n, name);
    case AE_FIELD: return expr_names(e->u.field.base, name);
    case AE_CALL: return argument_names(e->u.call.args, e->u.call.n, name);
    case AE_UNARY:
    case AE_BINARY: return expr_names(e->u.op.a, name) || expr_names(e->u.op.b, name);
    case AE_SELECT:
        return expr_names(e->u.select.cond, name) || expr_names(e->u.select.a, name) ||
               expr_names(e->u.select.b, name);
    default: return false;
    }
}

/* The same for a statement. `tune NAME in` lists the values of a parameter, and does not use it. */
static bool stmt_names(const AstStmt *s, Name name)
{
    if (!s)
        return false;
    switch (s->kind) {
    case AS_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            if (stmt_names(s->u.seq.items[i], name))
                return true;
        return false;
    case AS_IF:
        return expr_names(s->u.cond.cond, name) || stmt_names(s->u.cond.then, name) ||
               stmt_names(s->u.cond.otherwise, name);
    case AS_LET: return expr_names(s->u.let.value, name);
    case AS_EACH: return expr_names(s->u.each.value, name) || stmt_names(s->u.each.body, name);
    case AS_TRY:
        return stmt_names(s->u.attempt.body, name) || stmt_names(s->u.attempt.otherwise, name);
    case AS_ASSERT:
        return expr_names(s->u.assertion.cond, name) || expr_names(s->u.assertion.message, name);
    case AS_TUNE: return expr_names(s->u.tune.values, name);
    case AS_EXPR: return expr_names(s->u.expr, name);
    case AS_RETURN: return expr_names(s->u.value, name);
    default: return false;
    }
}

void script_warn_unused(Context *c, const AstSchedule *schedule)
{
    for (int i = 0; i < schedule->n_params; i++) {
        const AstScriptParam *param = &schedule->params[i];
        bool used = stmt_names(schedule->body, param->pattern.name);
        for (int k = 0; k < schedule->n_params && !used; k++)
            used = expr_names(schedule->params[k].value, param->pattern.name);
        if (!used)
            diag_warning(c, W0001, param->pattern.span,
                         "parameter '%.60s' of schedule '%.60s' is not used", param->pattern.name,
                         schedule->name.text);
    }
}
