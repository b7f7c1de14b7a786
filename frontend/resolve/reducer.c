/* reducer.c - Resolves `reducer` declarations: their components, identities and combined values.
 *
 *   reducer argmax(value: f32, index: i32)
 *   {
 *       init (-inf, -1);
 *       combine(a, b): b.value > a.value || b.value == a.value && b.index < a.index ? b : a;
 *   }
 *
 * A declaration is resolved when a kernel first names it, and its laws are tested then
 * (reducer_laws.c). `a` and `b` are tuples of variables; a choice between whole operands is one
 * named condition, so that the components share it. */
#include <string.h>

#include "frontend/resolve/internal.h"

/* ---- projection ---- */

static AstExpr *ast_like(Resolver *r, const AstExpr *e)
{
    AstExpr *copy = ARENA_NEW(r->ctx->arena, AstExpr);
    *copy = *e;
    return copy;
}

static bool is_tuple_name(const Resolver *r, const AstExpr *e)
{
    const AstExpr *base = e->kind == AE_INDEX ? e->u.index.base : e;
    const Symbol *s = base->kind == AE_NAME ? names_find(r, base->u.name) : NULL;
    return s && s->kind == SYMBOL_TUPLE;
}

/* The expression for component `k` of the tuple that `e` stands for; NULL after an error. */
static const AstExpr *component(Resolver *r, const AstExpr *e, const Combiner *combiner, int k)
{
    if (e->kind == AE_TUPLE && e->u.list.n == combiner->n)
        return e->u.list.items[k];
    if (e->kind == AE_SELECT && combiner->n > 1) {
        AstExpr *select = ast_like(r, e);
        const AstExpr *a = component(r, e->u.select.a, combiner, k);
        const AstExpr *b = a ? component(r, e->u.select.b, combiner, k) : NULL;
        select->u.select.a = (AstExpr *)a;
        select->u.select.b = (AstExpr *)b;
        return b ? select : NULL;
    }
    if (is_tuple_name(r, e)) {
        AstExpr *field = ast_like(r, e);
        field->kind = AE_FIELD;
        field->u.field.base = (AstExpr *)e;
        field->u.field.name = (AstName){combiner->parts[k].name, e->span};
        return field;
    }
    if (combiner->n == 1 && e->kind != AE_TUPLE)
        return e;
    diag_error(r->ctx, E0246, e->span,
               "expected a tuple of %d component%s, as reducer '%.60s' has: (...), a tuple's name, "
               "or a choice c ? x : y of these",
               combiner->n, combiner->n == 1 ? "" : "s", combiner->name);
    return NULL;
}

Expr *resolve_component(Resolver *r, const AstExpr *e, const Combiner *combiner, int k)
{
    const CombinerPart *part = &combiner->parts[k];
    const AstExpr *own = component(r, e, combiner, k);
    return own ? value_widen(r, resolve_value(r, own), part->type,
                             ctx_namef(r->ctx, "component '%.60s'", part->name))
               : NULL;
}

/* ---- components ---- */

static bool resolve_part(Resolver *r, const AstReducer *ast, int k, CombinerPart *out)
{
    const AstParam *p = &ast->parts[k];
    DType type = resolve_type(r, p->type.name);
    bool good = type != DT_COUNT && !p->inout && !p->type.has_shape;
    for (int i = 0; i < k; i++)
        good = good && ast->parts[i].name.text != p->name.text;
    if (!good && type != DT_COUNT)
        diag_error(r->ctx, E0246, p->span,
                   "a component of a reducer is a name of its own and an element type, as in "
                   "value: f32");
    *out = (CombinerPart){.name = p->name.text, .type = good ? type : DT_F32};
    Var **vars[] = {&out->a, &out->b};
    const AstName *operands[] = {&ast->a, &ast->b};
    for (int i = 0; i < 2; i++)
        *vars[i] = var_new(r->ctx, ctx_namef(r->ctx, "%s.%s", operands[i]->text, p->name.text),
                           out->type, VAR_LET, p->span);
    out->self = var_new(r->ctx, p->name.text, out->type, VAR_LET, p->span);
    return good;
}

static bool resolve_identities(Resolver *r, const AstReducer *ast, Combiner *out,
                               CombinerPart *parts)
{
    bool good = true;
    for (int k = 0; k < out->n; k++) {
        Expr *e = parts[k].identity = resolve_component(r, ast->identities, out, k);
        if (e && e->kind != EX_INT && e->kind != EX_FLOAT)
            diag_error(r->ctx, E0246, ast->identities->span,
                       "component '%.60s' of 'init' must be a literal, such as 0 or -inf",
                       parts[k].name);
        good = good && e && (e->kind == EX_INT || e->kind == EX_FLOAT);
    }
    return good;
}

static bool resolve_conditions(Resolver *r, const AstReducer *ast, Combiner *out)
{
    Expr **conditions = ARENA_ARRAY(r->ctx->arena, Expr *, ast->n_facts + 1);
    int outside = r->symbols.n;
    bool good = true;
    for (int k = 0; k < out->n; k++) { /* also `index`, which is a type elsewhere */
        Symbol part = {.name = out->parts[k].name,
                       .kind = SYMBOL_VAR,
                       .span = ast->parts[k].span,
                       .var = out->parts[k].self};
        VEC_PUSH(r->ctx->arena, &r->symbols, part);
    }
    for (int i = 0; good && i < ast->n_facts; i++) {
        const AstFact *fact = &ast->facts[i];
        good = !fact->lo && !fact->types && !fact->order.text;
        if (!good)
            diag_error(r->ctx, E0246, fact->span,
                       "the `where` clause of a reducer holds conditions on its components, such "
                       "as count >= 0");
        else
            conditions[i] = resolve_condition(r, fact->value, "the `where` clause of a reducer");
        good = good && conditions[i];
    }
    names_cut(r, outside);
    out->conditions = conditions;
    out->n_conditions = ast->n_facts;
    return good;
}

/* ---- combined values ---- */

static void add_operand(Resolver *r, const Combiner *combiner, AstName name, Var *const *vars)
{
    Tuple *tuple = ARENA_NEW(r->ctx->arena, Tuple);
    *tuple = (Tuple){.combiner = combiner, .vars = vars};
    names_add(r,
              (Symbol){.name = name.text, .kind = SYMBOL_TUPLE, .span = name.span, .tuple = tuple});
}

static void add_operands(Resolver *r, const AstReducer *ast, const Combiner *combiner)
{
    Var **a = ARENA_ARRAY(r->ctx->arena, Var *, combiner->n),
        **b = ARENA_ARRAY(r->ctx->arena, Var *, combiner->n);
    for (int k = 0; k < combiner->n; k++) {
        a[k] = combiner->parts[k].a;
        b[k] = combiner->parts[k].b;
    }
    add_operand(r, combiner, ast->a, a);
    add_operand(r, combiner, ast->b, b);
}

static Var *add_let(Resolver *r, AstName name, Expr *value, SubstList *lets)
{
    Var *var = var_new(r->ctx, name.text, value ? value->type : DT_BOOL, VAR_LET, name.span);
    names_add(r, (Symbol){.name = name.text,
                          .kind = SYMBOL_VAR,
                          .span = name.span,
                          .var = var,
                          .broken = !value});
    VEC_PUSH(r->ctx->arena, lets, ((Subst){var, value}));
    return var;
}

static bool resolve_lets(Resolver *r, const AstReducer *ast, SubstList *lets)
{
    bool good = true;
    for (int i = 0; i < ast->n_lets; i++) {
        const AstStmt *s = ast->lets[i];
        Value v = resolve_value(r, s->u.let.value);
        DType type = s->u.let.type.text ? resolve_type(r, s->u.let.type) : DT_COUNT;
        Expr *value = s->u.let.type.text && type == DT_COUNT ? NULL
                      : type == DT_COUNT                     ? value_settle(r, v)
                                                             : value_widen(r, v, type, "the value");
        add_let(r, (AstName){s->u.let.pattern.name, s->u.let.pattern.span}, value, lets);
        good = good && value;
    }
    return good;
}

static bool names_operand(const AstExpr *e, AstName operand)
{
    return e->kind == AE_NAME && e->u.name == operand.text;
}

/* `c ? b : a` of more than one component. */
static bool is_choice(const AstReducer *ast)
{
    const AstExpr *e = ast->value;
    if (e->kind != AE_SELECT || ast->n < 2)
        return false;
    const AstExpr *x = e->u.select.a, *y = e->u.select.b;
    return (names_operand(x, ast->a) && names_operand(y, ast->b)) ||
           (names_operand(x, ast->b) && names_operand(y, ast->a));
}

static bool resolve_choice(Resolver *r, const AstReducer *ast, Combiner *out, CombinerPart *parts,
                           SubstList *lets)
{
    Context *c = r->ctx;
    Expr *cond = resolve_condition(r, ast->value->u.select.cond, "the condition of a selection");
    if (!cond)
        return false;
    out->choice = cond;
    out->chooses_b = names_operand(ast->value->u.select.a, ast->b);
    Name winner = out->chooses_b ? out->b : out->a;
    AstName name = {ctx_namef(c, "%s_wins", winner), ast->value->span};
    Var *var = add_let(r, name, cond, lets);
    for (int k = 0; k < out->n; k++) {
        Expr *a = expr_var(c, parts[k].a, ast->value->span),
             *b = expr_var(c, parts[k].b, ast->value->span);
        parts[k].value = expr_select(c, expr_var(c, var, ast->value->span), out->chooses_b ? b : a,
                                     out->chooses_b ? a : b, ast->value->span);
    }
    return true;
}

static bool resolve_combine(Resolver *r, const AstReducer *ast, Combiner *out, CombinerPart *parts)
{
    SubstList lets = {0};
    add_operands(r, ast, out);
    bool good = resolve_lets(r, ast, &lets);
    if (good && is_choice(ast))
        good = resolve_choice(r, ast, out, parts, &lets);
    else
        for (int k = 0; good && k < out->n; k++)
            good = (parts[k].value = resolve_component(r, ast->value, out, k)) != NULL;
    out->lets = lets.items;
    out->n_lets = lets.n;
    return good;
}

/* ---- declarations ---- */

/* A declaration sees no kernel: only its own names. */
static const Combiner *declare(Context *c, const AstReducer *ast)
{
    int errors = c->n_errors;
    Resolver r = {.ctx = c, .mode = MODE_BLOCK};
    Combiner *out = ARENA_NEW(c->arena, Combiner);
    CombinerPart *parts = ARENA_ARRAY(c->arena, CombinerPart, ast->n);
    *out = (Combiner){.name = ast->name.text,
                      .a = ast->a.text,
                      .b = ast->b.text,
                      .parts = parts,
                      .n = ast->n,
                      .ordered = ast->ordered,
                      .span = ast->name.span};
    bool good = true;
    for (int k = 0; k < ast->n; k++)
        good = resolve_part(&r, ast, k, &parts[k]) && good;
    good = good && resolve_identities(&r, ast, out, parts) && resolve_conditions(&r, ast, out) &&
           resolve_combine(&r, ast, out, parts);
    return good && c->n_errors == errors && reducer_obeys_laws(c, out) ? out : NULL;
}

const AstReducer *reducer_find(const Resolver *r, Name name)
{
    for (int i = 0; i < r->n_reducers; i++)
        if (r->reducers[i]->name.text == name)
            return r->reducers[i];
    return NULL;
}

const Combiner *resolve_reducer(Resolver *r, AstName name)
{
    for (int i = 0; i < r->combiners.n; i++)
        if (r->combiners.items[i].name == name.text)
            return r->combiners.items[i].combiner;
    const AstReducer *ast = reducer_find(r, name.text);
    if (!ast) {
        const char **words = ARENA_ARRAY(r->ctx->arena, const char *, r->n_reducers + 1);
        for (int i = 0; i < r->n_reducers; i++)
            words[i] = r->reducers[i]->name.text;
        const char *near = diag_suggest(name.text, words, r->n_reducers);
        diag_error(r->ctx, E0246, name.span, "unknown reducer '%.60s'%s%s%s", name.text,
                   near ? "; did you mean '" : "; declare it with reducer NAME(...) { ... }",
                   near ? near : "", near ? "'?" : "");
        if (near)
            diag_remedy(r->ctx, name.span, name.text, near);
        return NULL;
    }
    NamedCombiner own = {name.text, declare(r->ctx, ast)};
    VEC_PUSH(r->ctx->arena, &r->combiners, own);
    return own.combiner;
}
