/* unused.c - Warns of parameters of a schedule that its script does not use: setting them changes
 * nothing. */
#include "frontend/script/internal.h"

/* The expression, which may be NULL, has the name somewhere. */
static bool expr_names(const AstExpr *e, Name name)
{
    if (!e || e->kind == AE_NAME)
        return e && e->u.name == name;
    for (int i = 0; i < ast_operands(e); i++)
        if (expr_names(ast_operand(e, i), name))
            return true;
    return false;
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
